//! Finds the includes of a git configuration, by git's own syntax: comments, quotes, escapes and values of several lines.

/// Returns the paths of all includes, as written, whether or not their conditions hold.
pub(super) fn included_paths(configuration: &[u8]) -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    let mut is_include = false;
    let text = configuration.strip_prefix(b"\xef\xbb\xbf").unwrap_or(configuration);
    let mut lines = text.split(|byte| *byte == b'\n');
    while let Some(line) = lines.next() {
        let mut rest = line.trim_ascii();
        // A section and its first member may share a line.
        while let Some(header) = rest.strip_prefix(b"[") {
            is_include = header.to_ascii_lowercase().starts_with(b"include");
            rest = header[header_end(header)..].trim_ascii_start();
        }
        if rest.starts_with(b"#") || rest.starts_with(b";") {
            continue;
        }
        let Some(sign) = rest.iter().position(|byte| *byte == b'=') else { continue };
        let (key, value) = (rest[..sign].trim_ascii(), rest[sign + 1..].trim_ascii_start());
        let value = read_value(value, &mut lines);
        if is_include && key.eq_ignore_ascii_case(b"path") {
            paths.push(value);
        }
    }
    paths
}

/// Returns the offset behind the bracket that ends a section's header; a bracket in quotes does not.
fn header_end(header: &[u8]) -> usize {
    let mut is_quoted = false;
    let mut at = 0;
    while at < header.len() {
        match header[at] {
            b'"' => is_quoted = !is_quoted,
            b'\\' => at += 1,
            b']' if !is_quoted => return at + 1,
            _ => {}
        }
        at += 1;
    }
    header.len()
}

/// Returns the value that begins with `line`, and consumes its continuation lines.
fn read_value<'t>(mut line: &'t [u8], lines: &mut impl Iterator<Item = &'t [u8]>) -> Vec<u8> {
    let mut value = Vec::new();
    let mut is_quoted = false;
    // The end of the value, without blanks before a comment.
    let mut end = 0;
    loop {
        let mut goes_on = false;
        let mut bytes = line.trim_ascii_end().iter().copied();
        while let Some(byte) = bytes.next() {
            match byte {
                b'"' => is_quoted = !is_quoted,
                b'#' | b';' if !is_quoted => break,
                b'\\' => match bytes.next() {
                    Some(b'n') => value.push(b'\n'),
                    Some(b't') => value.push(b'\t'),
                    Some(b'b') => value.push(8),
                    Some(other) => value.push(other),
                    None => goes_on = true,
                },
                other => value.push(other),
            }
            if is_quoted || !byte.is_ascii_whitespace() {
                end = value.len();
            }
        }
        if !goes_on {
            break;
        }
        let Some(next) = lines.next() else { break };
        line = next;
    }
    value.truncate(end);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_as_git_reads_it() {
        let cases: &[(&str, &[&str])] = &[
            ("[include]\n\tpath = a\n", &["a"]),
            ("[Include]\r\n\tPATH=a\r\n", &["a"]),
            ("[includeIf \"gitdir:**\"] path = a\n", &["a"]),
            ("[includeIf \"gitdir:[x]=\\\"y/\"] path = a\n", &["a"]),
            ("\u{feff}[include] path = a]b\n", &["a]b"]),
            ("[include]\npath = ~/a ; a comment\n", &["~/a"]),
            ("[include]\npath = \"a\"b # a comment\n", &["ab"]),
            ("[include]\npath = \" a;b \" \n", &[" a;b "]),
            ("[include]\npath = \"a\\\"b\"\n", &["a\"b"]),
            ("[include]\npath = a\\\nb\npath = c\n", &["ab", "c"]),
            ("[include]\nx = a\\\n[core]\npath = c\n", &["c"]),
            ("[include]\n# x = a\\\npath = c\n", &["c"]),
            ("[core]\npath = a\n# [include]\npath = b\n", &[]),
            ("[include]\npath = a\\", &["a"]),
            ("[include]\npath\n", &[]),
        ];
        for (text, expected) in cases {
            let found = included_paths(text.as_bytes());
            let found: Vec<_> = found.iter().map(|path| String::from_utf8_lossy(path)).collect();
            assert_eq!(found, *expected, "{text:?}");
        }
    }
}
