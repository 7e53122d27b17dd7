//! Reads requirements and constraints as pip does: names, specifiers, hashes, addresses and options.

use crate::documents::ReadError;
use crate::lines::Part;
use crate::shell::Decoded;
use crate::syntax::Span;

/// A line of a requirements file, joined with those that it goes on in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    /// An option for the whole file: `-r other.txt`, `--index-url https://…`.
    Option {
        name: Part,
        value: Option<Part>,
        span: Span,
    },
    Package(Package),
}

/// A requirement of one package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Name as written; none for an address or a path without one.
    pub name: Option<Part>,
    /// Extras in brackets.
    pub extras: Vec<Part>,
    /// Version specifiers as written: `>=1,<2`.
    pub specifier: Option<Part>,
    /// Address or path: behind `@`, of a git repository, or of an archive.
    pub address: Option<Part>,
    /// Condition behind `;`.
    pub marker: Option<Part>,
    pub hashes: Vec<Part>,
    /// `-e`
    pub editable: bool,
    pub span: Span,
}

const VALUED: &[&str] = &[
    "-r",
    "--requirement",
    "-c",
    "--constraint",
    "-e",
    "--editable",
    "-i",
    "--index-url",
    "--extra-index-url",
    "-f",
    "--find-links",
    "--no-binary",
    "--only-binary",
    "--trusted-host",
    "--use-feature",
    "--hash",
    "--config-settings",
    "--global-option",
    "--install-option",
];

/// Reads a file.
///
/// # Errors
/// An option without its value, or a line that begins as no requirement does.
pub fn requirements(text: &str) -> Result<Vec<Requirement>, ReadError> {
    let mut found = Vec::new();
    for logical in logical_lines(text) {
        let words = words(&logical);
        let (Some(first), Some(last)) = (words.first(), words.last()) else { continue };
        let span = Span { start: first.span.start, end: last.span.end };
        match first.text.as_str() {
            "-e" | "--editable" => {
                let Some(address) = words.get(1) else { return Err(no_value(first)) };
                let mut package = package(&words[1..], span)?;
                package.editable = true;
                package.address = package.address.or(Some(address.clone()));
                found.push(Requirement::Package(package));
            }
            option if option.starts_with('-') => options(&words, span, &mut found)?,
            _ => found.push(Requirement::Package(package(&words, span)?)),
        }
    }
    Ok(found)
}

fn no_value(option: &Part) -> ReadError {
    let message = format!("`{}` has no value", option.text);
    ReadError::Syntax { message, at: option.span.start }
}

/// Reads options in a row, with values behind `=`, a blank, or a short name.
fn options(words: &[Part], span: Span, found: &mut Vec<Requirement>) -> Result<(), ReadError> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        let (name, mut value) = split_option(word);
        if value.is_none() && VALUED.contains(&name.text.as_str()) {
            value = Some(words.get(at).ok_or_else(|| no_value(&name))?.clone());
            at += 1;
        }
        found.push(Requirement::Option { name, value, span });
    }
    Ok(())
}

fn split_option(word: &Part) -> (Part, Option<Part>) {
    let text = word.text.as_str();
    let (name, value) = match text.split_once('=') {
        Some((name, value)) if text.starts_with("--") => (name, value),
        // `-rother.txt`
        _ if !text.starts_with("--") && text.len() > 2 && text.is_char_boundary(2) => text.split_at(2),
        _ => return (word.clone(), None),
    };
    (part_of(word, name), Some(part_of(word, value)))
}

/// Part of a word, at its place.
fn part_of(word: &Part, text: &str) -> Part {
    let start = (text.as_ptr() as usize).wrapping_sub(word.text.as_ptr() as usize);
    let end = start.wrapping_add(text.len());
    if start <= end && end <= word.text.len() { word.slice(start..end) } else { Part::new(text, word.span) }
}

fn package(words: &[Part], span: Span) -> Result<Package, ReadError> {
    let mut package = Package {
        name: None,
        extras: Vec::new(),
        specifier: None,
        address: None,
        marker: None,
        hashes: Vec::new(),
        editable: false,
        span,
    };
    let options = words.iter().position(|word| word.text.starts_with("--")).unwrap_or(words.len());
    let mut read = Vec::new();
    super::requirements::options(&words[options..], span, &mut read)?;
    for option in read {
        if let Requirement::Option { name, value: Some(value), .. } = option
            && name.text == "--hash"
        {
            package.hashes.push(value);
        }
    }
    let Some(first) = words.first() else { return Ok(package) };
    let own = &words[..options];
    let marker = own.iter().position(|word| word.text.contains(';'));
    // A marker begins behind `;`, which may end a word; in an address a blank has to stand before it.
    let is_address = is_address(&first.text);
    let marker = marker.filter(|at| !is_address || own[*at].text.starts_with(';'));
    let mut body: Vec<Part> = own[..marker.unwrap_or(own.len())].to_vec();
    if let Some(at) = marker {
        let (before, after) = own[at].text.split_once(';').unwrap_or((&own[at].text, ""));
        if !before.is_empty() {
            body.push(part_of(&own[at], before));
        }
        let mut text = after.to_owned();
        for word in &own[at + 1..] {
            text.push(' ');
            text.push_str(&word.text);
        }
        let last = own.last().unwrap_or(&own[at]);
        package.marker = Some(Part::new(text.trim(), Span { start: own[at].span.start, ..last.span }));
    }
    if is_address {
        package.address = body.first().cloned();
        let named = first.text.split_once("#egg=").or(first.text.split_once("&egg="));
        package.name = named.map(|(_, name)| part_of(first, name.split(['&', '[']).next().unwrap_or(name)));
        return Ok(package);
    }
    read_name(&body, &mut package)?;
    Ok(package)
}

/// Reads `name[extra] >=1,<2` or `name @ address`.
fn read_name(body: &[Part], package: &mut Package) -> Result<(), ReadError> {
    let Some(first) = body.first() else { return Ok(()) };
    let behind = first.text.trim_start_matches(|next: char| {
        next.is_alphanumeric() || matches!(next, '.' | '-' | '_' | '$' | '{' | '}')
    });
    let end = first.text.len() - behind.len();
    if end == 0 {
        let message = format!("expected a name before `{}`", first.text);
        return Err(ReadError::Syntax { message, at: first.span.start });
    }
    package.name = Some(part_of(first, &first.text[..end]));
    let mut rest: Vec<Part> = Vec::new();
    if end < first.text.len() {
        rest.push(part_of(first, &first.text[end..]));
    }
    rest.extend_from_slice(&body[1..]);
    let Some(last) = rest.last() else { return Ok(()) };
    let joined: String = rest.iter().map(|part| part.text.as_str()).collect();
    let mut text = joined.as_str();
    if let Some((extras, behind)) = text.strip_prefix('[').and_then(|inside| inside.split_once(']')) {
        let span = Span { start: place_in(&rest, 1), end: place_in(&rest, extras.len() + 1) };
        package.extras = extras.split(',').map(|extra| Part::new(extra.trim(), span)).collect();
        text = behind;
    }
    let offset = joined.len() - text.len();
    if let Some(address) = text.strip_prefix('@') {
        let span = Span { start: place_in(&rest, offset + 1), ..last.span };
        package.address = Some(Part::new(address, span));
    } else if !text.is_empty() {
        let span = Span { start: place_in(&rest, offset), ..last.span };
        package.specifier = Some(Part::new(text.trim_matches(['(', ')']), span));
    }
    Ok(())
}

/// Place of a byte of the joined text of parts.
fn place_in(parts: &[Part], offset: usize) -> usize {
    let mut before = 0;
    for part in parts {
        if offset < before + part.text.len() {
            let at = offset - before;
            return part.slice(at..part.text.len()).span.start;
        }
        before += part.text.len();
    }
    parts.last().map(|last| last.span.end).unwrap_or_default()
}

fn is_address(text: &str) -> bool {
    let is_file = [".whl", ".zip", ".tar.gz", ".tgz"].iter().any(|end| text.ends_with(end));
    let before = text.split("://").next().unwrap_or(text);
    let is_url = before.len() < text.len() && !before.contains('@');
    is_url || text.starts_with(['.', '/']) || is_file && !text.contains('@')
}

/// Joins lines that end with a backslash, and drops comments.
fn logical_lines(text: &str) -> Vec<Decoded> {
    let mut found = Vec::new();
    let mut open = Decoded::default();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let begin = start;
        start += line.len();
        let content = line.trim_end_matches(['\n', '\r']);
        let content_at = content.len() - content.trim_start_matches('\u{feff}').len();
        let content = &content[content_at..];
        let is_comment = content.trim_start().starts_with('#');
        let joined = content.strip_suffix('\\').filter(|_| !is_comment);
        open.push(without_comment(joined.unwrap_or(content)), begin + content_at);
        if joined.is_none() {
            found.push(std::mem::take(&mut open));
        }
    }
    found.push(open);
    found
}

/// Cuts a comment, which begins the line or follows a blank.
fn without_comment(line: &str) -> &str {
    let mut signs = line.match_indices('#').map(|(at, _)| at);
    match signs.find(|at| line[..*at].chars().next_back().is_none_or(char::is_whitespace)) {
        Some(at) => &line[..at],
        None => line,
    }
}

fn words(logical: &Decoded) -> Vec<Part> {
    let mut found = Vec::new();
    let text = logical.text.as_str();
    let mut at = 0;
    for word in text.split(char::is_whitespace) {
        if !word.is_empty() {
            let start = logical.source_of(at);
            let end = logical.source_of(at + word.len() - 1) + 1;
            // The last byte may be the last of several of one character.
            found.push(Part::new(word, Span { start, end: end.max(start) }));
        }
        let blank = text[at + word.len()..].chars().next();
        at += word.len() + blank.map(char::len_utf8).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(requirement: &Requirement) -> String {
        match requirement {
            Requirement::Option { name, value, .. } => {
                let words = [Some(name), value.as_ref()].into_iter().flatten().map(|part| part.text.as_str());
                words.collect::<Vec<_>>().join(" ")
            }
            Requirement::Package(package) => {
                let mut words = Vec::new();
                words.extend(package.editable.then(|| "-e".to_owned()));
                words.extend(package.name.iter().map(|name| name.text.clone()));
                words.extend(package.extras.iter().map(|extra| format!("[{}]", extra.text)));
                words.extend(package.specifier.iter().map(|specifier| specifier.text.clone()));
                words.extend(package.address.iter().map(|address| format!("<{}>", address.text)));
                words.extend(package.marker.iter().map(|marker| format!("; {}", marker.text)));
                words.extend(package.hashes.iter().map(|hash| format!("#{}", hash.text)));
                words.join(" ")
            }
        }
    }

    #[test]
    fn every_form_that_pip_reads() {
        for (text, expected) in [
            ("a==1.0\n", vec!["a ==1.0"]),
            ("a == 1.0  # why", vec!["a ==1.0"]),
            ("a[x, y]>=1,<2; python_version < '3.9'", vec!["a [x] [y] >=1,<2 ; python_version < '3.9'"]),
            ("a==1 \\\n    --hash=sha256:x \\\n    --hash sha256:y\n", vec!["a ==1 #sha256:x #sha256:y"]),
            ("a @ https://h/a.whl", vec!["a <https://h/a.whl>"]),
            ("a@git+https://h/a@c", vec!["a <git+https://h/a@c>"]),
            ("git+https://h/a@c#egg=a&x", vec!["a <git+https://h/a@c#egg=a&x>"]),
            ("https://h/a.tar.gz ; x", vec!["<https://h/a.tar.gz> ; x"]),
            ("./a.whl", vec!["<./a.whl>"]),
            ("-e .", vec!["-e <.>"]),
            (
                "-r a.txt\n-c=b\n--index-url=https://i\n-i https://j\n--pre\n-fx",
                vec!["-r a.txt", "-c =b", "--index-url https://i", "-i https://j", "--pre", "-f x"],
            ),
            ("# c\n\n", vec![]),
        ] {
            let read = requirements(text).unwrap();
            assert_eq!(read.iter().map(rendered).collect::<Vec<_>>(), expected, "{text}");
        }
        for text in ["--index-url\n", "==1\n", "-e\n"] {
            assert!(requirements(text).is_err(), "{text}");
        }
    }
}
