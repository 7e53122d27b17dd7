//! Makes text and paths of a report fit to be kept: nothing of the machine, of the clock or of the terminal stays.

use crate::contract::Places;
use qa_contracts::ids::RepoPath;
use qa_core::escape::visible;
use qa_core::{masking, secrets};

/// The longest message kept, in characters.
pub(crate) const MAX_MESSAGE: usize = 2_000;
/// The longest name kept, in characters.
pub(crate) const MAX_NAME: usize = 500;

/// Where runners keep a checkout: below these, two components of one name are the root of the repository.
const TWICE: &[&str] = &["/home/runner/work", "/Users/runner/work", "/__w", "/runner/_work", "C:/a", "D:/a"];
/// Where the root of the repository is in a container of a runner.
const WORKSPACES: &[&str] = &["/github/workspace"];

/// A message: lines stay, colours, control characters and places of this machine go.
pub(crate) fn message(text: &str, places: &Places<'_>) -> String {
    let plain = without_escapes(head(text, 8 * MAX_MESSAGE)).replace("\r\n", "\n");
    let lines: Vec<String> = plain.trim().split('\n').map(|line| visible(line.trim_end())).collect();
    kept(&without_addresses(&without_roots(&lines.join("\n"), places)), MAX_MESSAGE)
}

/// A name: one line.
pub(crate) fn name(text: &str, places: &Places<'_>) -> String {
    let plain = without_escapes(head(text, 8 * MAX_NAME));
    let words: Vec<&str> = plain.split_whitespace().collect();
    kept(&without_addresses(&without_roots(&visible(&words.join(" ")), places)), MAX_NAME)
}

/// The last lines of what a tool printed, for a person who asks why there is no result.
pub(crate) fn tail(stdout: &[u8], stderr: &[u8], places: &Places<'_>) -> String {
    let stream = if stderr.trim_ascii().is_empty() { stdout } else { stderr };
    let start = stream.len().saturating_sub(4 * MAX_MESSAGE);
    let text = without_escapes(&String::from_utf8_lossy(&stream[start..]));
    let lines: Vec<String> = text.lines().map(|line| visible(line.trim_end())).collect();
    // The calls that led to an error of node say less than the lines above them.
    let is_call = |line: &str| line.starts_with(' ') && line.trim_start().starts_with("at ");
    let kept: Vec<&str> =
        lines.iter().map(String::as_str).filter(|line| !line.is_empty() && !is_call(line)).collect();
    let last = kept[kept.len().saturating_sub(10)..].join("\n");
    if last.is_empty() { "it printed nothing".to_owned() } else { message(&last, places) }
}

/// The beginning of a text, at most so many bytes: what is looked at costs no more than what is kept is worth.
pub(crate) fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// Returns a text without its secrets, cut. The report is masked before it is read; what it has in several pieces, such as
/// lines of a test's output, is whole only here.
fn kept(text: &str, limit: usize) -> String {
    let text = secrets::masked(text.to_owned());
    if text.chars().count() <= limit {
        return text;
    }
    let mut kept: String = text.chars().take(limit - 1).collect();
    kept.push('…');
    kept
}

/// Removes terminal sequences: `ESC [ … letter`, `ESC ] … BEL`, and `ESC` with one sign.
pub(super) fn without_escapes(text: &str) -> String {
    if !text.contains(['\u{1b}', '\u{9b}']) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        let opening = match character {
            '\u{1b}' => rest.next(),
            '\u{9b}' => Some('['),
            other => {
                out.push(other);
                continue;
            }
        };
        match opening {
            Some('[') => drop(rest.by_ref().find(|end| ('\u{40}'..='\u{7e}').contains(end))),
            Some(']') => drop(rest.by_ref().find(|end| *end == '\u{7}' || *end == '\u{1b}' || *end == '\n')),
            Some(_) | None => {}
        }
    }
    out
}

/// Addresses in memory differ from run to run.
fn without_addresses(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("0x") {
        let digits = rest[at + 2..].bytes().take_while(u8::is_ascii_hexdigit).count();
        out.push_str(&rest[..at + 2]);
        out.push_str(if digits >= 8 { "…" } else { &rest[at + 2..at + 2 + digits] });
        rest = &rest[at + 2 + digits..];
    }
    out + rest
}

/// Removes the root of the repository from the paths of a text.
fn without_roots(text: &str, places: &Places<'_>) -> String {
    let mut roots: Vec<&str> = places.roots.iter().map(|root| root.trim_end_matches('/')).collect();
    roots.extend(WORKSPACES);
    roots.sort_by_key(|root| std::cmp::Reverse(root.len()));
    let mut text = text.to_owned();
    for root in roots.into_iter().filter(|root| !root.is_empty()) {
        if text.contains(root) {
            text = text.replace(&format!("{root}/"), "");
        }
    }
    for above in TWICE {
        while let Some((start, length)) = find_twice(&text, above) {
            text.replace_range(start..start + length, "");
        }
    }
    text
}

/// The first `above/NAME/NAME/` of a text.
fn find_twice(text: &str, above: &str) -> Option<(usize, usize)> {
    text.match_indices(above).find_map(|(start, _)| {
        let below = text[start + above.len()..].strip_prefix('/')?;
        let (name, rest) = below.split_once('/')?;
        let again = rest.strip_prefix(name)?.starts_with('/') && !name.is_empty();
        again.then_some((start, above.len() + 2 * (name.len() + 1) + 1))
    })
}

/// The path of a report as a path of the repository; `None` when it is outside of it or no usable path.
pub(crate) fn path(text: &str, places: &Places<'_>) -> Option<RepoPath> {
    if text.trim().is_empty() {
        return None;
    }
    let text = forward(text);
    let text = if is_drive(text.trim_start_matches('/')) { text.trim_start_matches('/') } else { &text };
    let relative = if text.starts_with('/') || is_drive(text) {
        below_root(text, places)?
    } else if places.directory.is_empty() {
        text.to_owned()
    } else {
        format!("{}/{text}", places.directory)
    };
    let mut components: Vec<&str> = Vec::new();
    for component in relative.split('/') {
        match component {
            "" | "." => {}
            ".." => drop(components.pop()?),
            other => components.push(other),
        }
    }
    let path = RepoPath::from_bytes(components.join("/").as_bytes()).ok()?;
    Some(masking::masked_name(&path).unwrap_or(path))
}

/// As [`path`], of an address: `file:` or relative, with percent signs for what an address cannot have.
pub(crate) fn address(text: &str, places: &Places<'_>) -> Option<RepoPath> {
    let local = text.strip_prefix("file://localhost/").map(|rest| format!("/{rest}"));
    let local = local
        .or_else(|| text.strip_prefix("file://").map(str::to_owned))
        .or_else(|| text.strip_prefix("file:").map(str::to_owned));
    if local.is_none() && text.contains("://") {
        return None;
    }
    path(&percent_decoded(local.as_deref().unwrap_or(text))?, places)
}

/// Reports made on Windows separate with backslashes, which hardly any path of git has.
fn forward(text: &str) -> String {
    text.replace('\\', "/")
}

fn is_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && &bytes[1..3] == b":/"
}

fn below_root(text: &str, places: &Places<'_>) -> Option<String> {
    let roots =
        places.roots.iter().map(|root| forward(root)).chain(WORKSPACES.iter().map(|&root| root.into()));
    let below = |root: String| {
        let root = root.trim_end_matches('/');
        text.strip_prefix(root)?.strip_prefix('/').filter(|_| !root.is_empty()).map(str::to_owned)
    };
    // The longest root leaves the shortest path.
    let stated = roots.filter_map(below).min_by_key(String::len);
    stated.or_else(|| {
        TWICE.iter().find_map(|above| {
            let (start, length) = find_twice(text, above)?;
            (start == 0).then(|| text[length..].to_owned())
        })
    })
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: Places<'static> = Places { roots: &["/tmp/w1/"], directory: "packages/a", module: "" };

    #[test]
    fn paths_are_of_the_repository_or_nothing() {
        let cases: &[(&str, Option<&str>)] = &[
            ("src/a.ts", Some("packages/a/src/a.ts")),
            ("./src//a.ts", Some("packages/a/src/a.ts")),
            ("../b/x.ts", Some("packages/b/x.ts")),
            ("../../../x.ts", None),
            ("/tmp/w1/src/a.ts", Some("src/a.ts")),
            ("/tmp/w1/../../etc/passwd", None),
            ("/tmp/w12/src/a.ts", None),
            ("/etc/passwd", None),
            ("/github/workspace/src/a.ts", Some("src/a.ts")),
            ("/home/runner/work/demo/demo/src/a.ts", Some("src/a.ts")),
            ("/home/runner/work/demo/other/src/a.ts", None),
            ("/home/runner/work/demo/demonstration/a.ts", None),
            ("D:\\a\\demo\\demo\\src\\a.ts", Some("src/a.ts")),
            ("src\\a.ts", Some("packages/a/src/a.ts")),
            ("a%20b.ts", Some("packages/a/a%20b.ts")),
            (".git/config", None),
            ("/tmp/w1", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let found = path(text, &PLACES).map(|path| path.to_text().into_owned());
            assert_eq!(found.as_deref(), *expected, "{text}");
        }
    }

    #[test]
    fn addresses_are_decoded_and_then_paths() {
        let cases: &[(&str, Option<&str>)] = &[
            ("file:///D:/a/demo/demo/src/a.ts", Some("src/a.ts")),
            ("file:///tmp/w1/a%20b.ts", Some("a b.ts")),
            ("file://localhost/tmp/w1/a.ts", Some("a.ts")),
            ("src/a%2Db.ts", Some("packages/a/src/a-b.ts")),
            ("file:///tmp/w1/%2e%2e/a.ts", None),
            ("https://example.com/a.ts", None),
            ("a%zz", None),
        ];
        for (text, expected) in cases {
            assert_eq!(address(text, &PLACES).map(|path| path.to_string()).as_deref(), *expected, "{text}");
        }
    }

    #[test]
    fn messages_say_nothing_of_the_machine_or_to_the_terminal() {
        let text = "\u{1b}[31mred\u{1b}[0m at /tmp/w1/src/a.ts\r\n\u{1b}]0;title\u{7}<X at 0x7f3a00112233> 0x1f \u{8}\u{202e}\n\
                    /home/runner/work/demo/demo/a.ts";
        assert_eq!(message(text, &PLACES), "red at src/a.ts\n<X at 0x…> 0x1f \\u{8}\\u{202e}\na.ts");
        assert_eq!(message(&"é".repeat(MAX_MESSAGE + 1), &PLACES).chars().count(), MAX_MESSAGE);
        assert_eq!(name("a\n b\tc", &PLACES), "a b c");
    }
}
