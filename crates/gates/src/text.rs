//! Cleans text and paths of a report: removes terminal escapes, memory addresses and the machine's own paths.

use std::ops::Range;

use crate::report::{Places, ReportedPath};
use qa_contracts::ids::RepoPath;
use qa_core::escape::visible;
use qa_core::{masking, secrets};

/// Maximum length of a message, in characters.
pub(crate) const MAX_MESSAGE: usize = 2_000;
/// Maximum length of a name, in characters.
pub(crate) const MAX_NAME: usize = 500;

/// Workspace directories of CI runners, which check a repository out at `NAME/NAME` below them.
const RUNNER_WORKSPACES: &[&str] =
    &["/home/runner/work", "/Users/runner/work", "/__w", "/runner/_work", "C:/a", "D:/a"];
/// Roots of the repository in containers of CI runners.
const CONTAINER_ROOTS: &[&str] = &["/github/workspace"];

/// Returns a message without colours, control characters, memory addresses and the repository's root. Keeps its lines.
pub(crate) fn message(text: &str, places: &Places<'_>) -> String {
    let plain = without_escapes(head(text, 8 * MAX_MESSAGE)).replace("\r\n", "\n");
    let lines: Vec<String> = plain.trim().split('\n').map(|line| visible(line.trim_end())).collect();
    mask_and_truncate(&without_addresses(&without_roots(&lines.join("\n"), places)), MAX_MESSAGE)
}

/// Returns a name as one line, cleaned like a [`message`].
pub(crate) fn name(text: &str, places: &Places<'_>) -> String {
    let plain = without_escapes(head(text, 8 * MAX_NAME));
    let words: Vec<&str> = plain.split_whitespace().collect();
    mask_and_truncate(&without_addresses(&without_roots(&visible(&words.join(" ")), places)), MAX_NAME)
}

/// Returns whether a name is the path of a file in JavaScript or TypeScript.
pub(crate) fn is_script(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let known = ["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"];
    known.contains(&extension) && !name.contains(' ')
}

/// Maximum number of lines that explain a missing result.
const MOST_LINES: usize = 10;

/// Returns lines that a tool printed, to explain a missing result: the last error with what follows it, and at least the last
/// ten lines. Prefers standard error.
pub(crate) fn tail(stdout: &[u8], stderr: &[u8], places: &Places<'_>) -> String {
    let stream = if stderr.trim_ascii().is_empty() { stdout } else { stderr };
    let start = stream.len().saturating_sub(4 * MAX_MESSAGE);
    let text = without_escapes(&String::from_utf8_lossy(&stream[start..]));
    let lines: Vec<String> = text.lines().map(|line| visible(line.trim_end())).collect();
    let useful: Vec<&str> =
        lines.iter().map(String::as_str).filter(|line| !line.is_empty() && !is_stack_frame(line)).collect();
    let last = useful.len().saturating_sub(MOST_LINES);
    let error = useful.iter().rposition(|line| names_error(line));
    let mut shown: Vec<&str> = error.map(|position| useful[position]).into_iter().collect();
    for (position, line) in useful.iter().enumerate().skip(error.unwrap_or(last).min(last)).take(MOST_LINES) {
        if Some(position) != error {
            shown.push(line);
        }
    }
    let last = shown.join("\n");
    if last.is_empty() { "it printed nothing".to_owned() } else { message(&last, places) }
}

/// Returns whether a line begins with the name of an error, such as `TypeError: x is not a function`.
fn names_error(line: &str) -> bool {
    match line.split_once(':') {
        Some((name, _)) => !name.contains(' ') && (name.ends_with("Error") || name.ends_with("Exception")),
        None => false,
    }
}

/// Returns whether a line is a frame of a JavaScript stack, which says less than the error above it.
fn is_stack_frame(line: &str) -> bool {
    line.starts_with(' ') && line.trim_start().starts_with("at ")
}

/// Returns the beginning of a text, at most `limit` bytes, to bound the cost of cleaning it.
pub(crate) fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// Masks secrets in a text and truncates it to `limit` characters. The report is masked before it is parsed, but a
/// secret in several pieces, such as lines of a test's output, is complete only here.
fn mask_and_truncate(text: &str, limit: usize) -> String {
    let text = secrets::masked(text.to_owned());
    if text.chars().count() <= limit {
        return text;
    }
    let mut truncated: String = text.chars().take(limit - 1).collect();
    truncated.push('…');
    truncated
}

/// Removes terminal escape sequences: `ESC [ … letter`, `ESC ] … BEL`, and `ESC` with one character.
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

/// Removes memory addresses, which differ from run to run.
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
    roots.extend(CONTAINER_ROOTS);
    roots.sort_by_key(|root| std::cmp::Reverse(root.len()));
    let mut text = text.to_owned();
    for root in roots.into_iter().filter(|root| !root.is_empty()) {
        if text.contains(root) {
            text = text.replace(&format!("{root}/"), "");
        }
    }
    for workspace in RUNNER_WORKSPACES {
        while let Some(root) = find_checkout(&text, workspace) {
            text.replace_range(root, "");
        }
    }
    text
}

/// Finds the first `WORKSPACE/NAME/NAME/` in a text.
fn find_checkout(text: &str, workspace: &str) -> Option<Range<usize>> {
    text.match_indices(workspace).find_map(|(start, _)| {
        let below = text[start + workspace.len()..].strip_prefix('/')?;
        let (name, rest) = below.split_once('/')?;
        let is_repeated = rest.strip_prefix(name)?.starts_with('/') && !name.is_empty();
        let end = start + workspace.len() + 2 * (name.len() + 1) + 1;
        is_repeated.then_some(start..end)
    })
}

/// Converts a path of a report to one relative to the repository. Returns `None` if it is outside or invalid.
pub(crate) fn path(text: &str, places: &Places<'_>) -> Option<RepoPath> {
    if text.trim().is_empty() {
        return None;
    }
    let text = with_forward_slashes(text);
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

/// Like [`path`], but keeps a path outside of the repository as the report writes it.
pub(crate) fn reported_path(text: &str, places: &Places<'_>) -> Option<ReportedPath> {
    reported(path(text, places), text, places)
}

/// Like [`uri_path`], but keeps a URI outside of the repository as the report writes it.
pub(crate) fn reported_uri(text: &str, places: &Places<'_>) -> Option<ReportedPath> {
    reported(uri_path(text, places), text, places)
}

fn reported(path: Option<RepoPath>, text: &str, places: &Places<'_>) -> Option<ReportedPath> {
    match path {
        Some(path) => Some(ReportedPath::Repository(path)),
        None => Some(name(text, places)).filter(|name| !name.is_empty()).map(ReportedPath::Elsewhere),
    }
}

/// Converts a percent-encoded URI, `file:` or relative, to a path relative to the repository.
pub(crate) fn uri_path(text: &str, places: &Places<'_>) -> Option<RepoPath> {
    let local = text.strip_prefix("file://localhost/").map(|rest| format!("/{rest}"));
    let local = local
        .or_else(|| text.strip_prefix("file://").map(str::to_owned))
        .or_else(|| text.strip_prefix("file:").map(str::to_owned));
    if local.is_none() && text.contains("://") {
        return None;
    }
    path(&percent_decoded(local.as_deref().unwrap_or(text))?, places)
}

/// Replaces backslashes, which separate paths in reports from Windows and are rare in paths of git.
fn with_forward_slashes(text: &str) -> String {
    text.replace('\\', "/")
}

fn is_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && &bytes[1..3] == b":/"
}

/// Strips the repository's root from an absolute path.
fn below_root(text: &str, places: &Places<'_>) -> Option<String> {
    let given = places.roots.iter().map(|root| with_forward_slashes(root));
    let roots = given.chain(CONTAINER_ROOTS.iter().map(|&root| root.to_owned()));
    // The longest root leaves the shortest path.
    let below = roots.filter_map(|root| strip_root(text, &root)).min_by_key(|path| path.len());
    if let Some(path) = below {
        return Some(path.to_owned());
    }
    for workspace in RUNNER_WORKSPACES {
        if let Some(root) = find_checkout(text, workspace)
            && root.start == 0
        {
            return Some(text[root.end..].to_owned());
        }
    }
    None
}

fn strip_root<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let root = root.trim_end_matches('/');
    if root.is_empty() { None } else { path.strip_prefix(root)?.strip_prefix('/') }
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
    fn an_explanation_begins_at_the_last_error() {
        let stack = (1..20).map(|number| format!("{number}| code\n")).collect::<String>();
        let printed = format!("Starting\nTypeError: early\nmore\nError: late\n{stack}");
        let said = tail(b"ignored", printed.as_bytes(), &PLACES);
        assert!(said.starts_with("Error: late\n1| code\n") && said.ends_with("9| code"), "{said}");
        let said = tail(stack.as_bytes(), b" \n", &PLACES);
        assert!(said.starts_with("10| code\n") && said.ends_with("19| code"), "{said}");
        let short = "at a.py:3\nError: first\nand what it means";
        assert_eq!(tail(b"", short.as_bytes(), &PLACES), "Error: first\nat a.py:3\nand what it means");
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
            assert_eq!(uri_path(text, &PLACES).map(|path| path.to_string()).as_deref(), *expected, "{text}");
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
