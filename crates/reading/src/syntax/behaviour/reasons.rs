//! Reasons that comments give for doing nothing.

/// Functions that end something, whose failure changes nothing any more, in small letters without underscores.
const CLEANUPS: &[&str] = &[
    "abort",
    "aclose",
    "cancel",
    "cleanup",
    "close",
    "closeall",
    "destroy",
    "disconnect",
    "dispose",
    "kill",
    "release",
    "remove",
    "removeall",
    "removedirall",
    "removefile",
    "rm",
    "rmdir",
    "rmsync",
    "rmtree",
    "rollback",
    "shutdown",
    "stop",
    "teardown",
    "terminate",
    "unlink",
    "unlinksync",
];
/// Names of series of numbered documents.
const SERIES: &[&str] = &[
    "ADR", "BIP", "CVE", "CWE", "ECMA", "EIP", "GH", "GHSA", "ISO", "JEP", "JSR", "PEP", "POSIX", "RFC",
    "issue", "issues",
];
/// Fewer letters are no name that is told from a word.
const SHORTEST_NAME: usize = 4;

/// Returns whether a function ends something, by its name.
pub(super) fn is_cleanup(name: &str) -> bool {
    let letters: String = name.chars().filter(|sign| *sign != '_').flat_map(char::to_lowercase).collect();
    CLEANUPS.contains(&letters.as_str())
}

/// Returns whether a comment names something that its reason can be looked up in: an issue, an address, a standard, an
/// error code of the system, or a name that other code of the file has. Names that `is_own` accepts are no such name:
/// the code that the comment excuses has them.
pub fn cites(comment: &str, text: &str, is_own: impl Fn(&str) -> bool) -> bool {
    if !gives_reason(comment) {
        return false;
    }
    let comment = comment.trim_start_matches(['#', '/', '*', '!', ' ', '\t']);
    let mut before = "";
    for word in comment.split_whitespace() {
        let is_marked = word.contains('`');
        let word = word.trim_matches(|sign: char| !sign.is_alphanumeric() && !"#_()".contains(sign));
        if is_reference(before, word) {
            return true;
        }
        before = word;
        let name = word.trim_end_matches("()");
        let last = name.rsplit(['.', ':', '#']).next().unwrap_or(name);
        let is_name = last.len() >= SHORTEST_NAME && (is_marked || name != word || is_joined(name));
        if is_name && !is_own(last) && stands_twice(text, last) {
            return true;
        }
    }
    false
}

/// Returns whether a word is the address or the number of something that is written down elsewhere.
fn is_reference(before: &str, word: &str) -> bool {
    let parentheses = ['(', ')'];
    let (before, word) = (before.trim_matches(parentheses), word.trim_matches(parentheses));
    let numbered =
        word.trim_matches(['(', ')']).rsplit_once('#').is_some_and(|(_, number)| is_number(number));
    let series = word.rsplit_once('-').is_some_and(|(series, number)| {
        let is_series = series.starts_with(|first: char| first.is_ascii_uppercase())
            && series.chars().all(|sign| sign.is_ascii_uppercase() || sign.is_ascii_digit() || sign == '-');
        is_series && series.len() >= 2 && is_number(number)
    });
    let attached = SERIES.iter().any(|series| word.strip_prefix(series).is_some_and(is_number));
    let is_next = SERIES.contains(&before) && word.starts_with(|first: char| first.is_ascii_digit());
    // `ENOENT`, `EPIPE`
    let is_code = word.len() > SHORTEST_NAME
        && word.starts_with('E')
        && word.bytes().all(|sign| sign.is_ascii_uppercase());
    word.contains("://") || numbered || series || attached || is_next || is_code
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|sign| sign.is_ascii_digit())
}

/// Returns whether a word is joined of several, as names of code are.
fn is_joined(word: &str) -> bool {
    let inside = word.trim_matches('_');
    let mut pairs = inside.as_bytes().windows(2);
    let has_hump = pairs.any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let parts: Vec<&str> = inside.split(['.', ':']).filter(|part| !part.is_empty()).collect();
    let is_path = parts.len() > 1 && parts.iter().all(|part| part.len() >= SHORTEST_NAME - 1);
    has_hump || inside.contains('_') || is_path
}

fn is_of_name(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

/// Returns whether a name stands in a text more than once, as a whole word.
fn stands_twice(text: &str, name: &str) -> bool {
    let places = text.match_indices(name).filter(|(at, _)| {
        !text[at + name.len()..].starts_with(is_of_name) && !text[..*at].ends_with(is_of_name)
    });
    places.take(2).count() == 2
}

/// Returns whether a comment says more than that nothing is done.
pub fn gives_reason(comment: &str) -> bool {
    const EMPTY: &[&str] = &[
        "all",
        "any",
        "error",
        "errors",
        "exception",
        "exceptions",
        "failure",
        "failures",
        "for",
        "ignore",
        "ignored",
        "it",
        "nothing",
        "now",
        "noop",
        "pass",
        "pylint",
        "silently",
        "skip",
        "swallow",
        "the",
        "this",
        "noqa",
        "eslint",
        "disable",
        "todo",
        "handle",
        "later",
        "do",
    ];
    let words = comment.split(|sign: char| !sign.is_alphanumeric()).filter(|word| word.len() > 1);
    words.filter(|word| !EMPTY.contains(&word.to_lowercase().as_str())).count() >= 3
}

#[cfg(test)]
mod tests {
    use super::cites;

    #[test]
    fn reasons_that_can_be_looked_up_are_told_from_others() {
        let text = "fn main() { read_cache(); KernelBuffer::new(); charge(); }\n// KernelBuffer, read_cache, charge, gone_name\n";
        for (comment, expected) in [
            ("# The service is known to be unreliable here.", false),
            ("# This is the expected behaviour by design.", false),
            ("// nobody reads the result, see #1234", true),
            ("// the server answers twice, see https://example.com/a", true),
            ("# a closed stream has no buffer (RFC 9110)", true),
            ("# fails for links, PROJ-12", true),
            ("// ENOENT: the cache is made by the next call", true),
            ("// `KernelBuffer` writes by itself", true),
            ("// read_cache makes the file again", true),
            ("// gone_name makes the file again", false),
            ("// charge() may fail for good reasons", false),
            ("#3 attempts are enough for everybody", false),
            ("# e.g. by somebody else's hand", false),
            ("# TODO", false),
        ] {
            assert_eq!(cites(comment, text, |name| name == "charge"), expected, "{comment}");
        }
    }
}
