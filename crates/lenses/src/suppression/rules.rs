//! Rules that a suppression names: one that silences less than another is no new suppression in its place.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::pattern::Pattern;

/// A suppression with the rules that it silences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Silenced {
    /// The mark with its rules, which tells it from others.
    pub(super) text: String,
    /// Checker that reads the mark: its first word.
    tool: String,
    /// Names of the rules; empty for all of them.
    rules: BTreeSet<String>,
}

/// Checker of an annotation of Java or Kotlin.
const ANNOTATION: &str = "annotation";

/// Checkers of types in Python.
const TYPE_CHECKERS: &[&str] = &["type", "ty", "pyright", "basedpyright", "pyre", "pytype", "mypy"];

/// Checkers of one kind, which take over from each other under other names of rules.
const FAMILIES: &[&[&str]] =
    &[TYPE_CHECKERS, &["noqa", "pylint", "ruff"], &["eslint", "oxlint", "biome", "tslint", "flint", "deno"]];

/// Tools whose findings are all about security.
const SECURITY_TOOLS: &[&str] = &["nosec", "nosem", "nosemgrep"];

/// Names that stand for many rules.
const GROUPS: &[&str] = &[
    "all",
    "cargo",
    "complexity",
    "correctness",
    "future_incompatible",
    "keyword_idents",
    "let_underscore",
    "nonstandard_style",
    "nursery",
    "pedantic",
    "perf",
    "restriction",
    "rust_2018_idioms",
    "style",
    "suspicious",
    "unused",
    "warnings",
];

/// Departments of RuboCop's, each of many cops.
const DEPARTMENTS: &[&str] = &[
    "Bundler",
    "Capybara",
    "FactoryBot",
    "Gemspec",
    "Layout",
    "Lint",
    "Metrics",
    "Migration",
    "Minitest",
    "Naming",
    "Performance",
    "RSpec",
    "Rails",
    "Security",
    "Sorbet",
    "Style",
];

/// Returns whether the name of a rule stands for many: a group of Clippy or Biome, a department of RuboCop's, the
/// beginning of codes, a name with a star.
fn is_group(tool: &str, rule: &str) -> bool {
    // For Java and Kotlin this is one rule: of what nothing uses.
    if tool == ANNOTATION && rule == "unused" {
        return false;
    }
    let name = ["clippy::", "rustdoc::"].iter().find_map(|lints| rule.strip_prefix(lints)).unwrap_or(rule);
    GROUPS.contains(&name.to_lowercase().as_str())
        || name.contains('*')
        || is_prefix(name)
        || tool == "biome" && name.starts_with("lint") && name.matches('/').count() < 2
        || tool == "rubocop" && DEPARTMENTS.contains(&name)
}

/// Returns whether a code has fewer digits than one of a rule, as `F`, `E9` and `PLR0` have.
fn is_prefix(code: &str) -> bool {
    let digits = code.trim_start_matches(|letter: char| letter.is_ascii_uppercase());
    let of_a_rule = if code.starts_with("PL") { 4 } else { 3 };
    (1..=5).contains(&(code.len() - digits.len()))
        && digits.len() < of_a_rule
        && digits.chars().all(|digit| digit.is_ascii_digit())
}

/// Codes about security: of gosec, flake8-bandit, Bandit (those of flake8-bugbear begin with 0 and 9), .NET, Dlint and
/// Pylint.
static SECURITY_CODES: Pattern = Pattern::new(
    r"^(?:[GS]\d{3,}|B[1-7]\d\d|CA2100|CA23\d\d|CA[35]\d\d\d|DUO\d+|SYSLIB0011|W012[23])(?::|$)",
);

/// Parts of names about security, in small letters.
const SECURITY_WORDS: &[&str] = &[
    "danger",
    "eval",
    "exec-used",
    "gosec",
    "inject",
    "insecure",
    "no-new-func",
    "no-script-url",
    "security",
    "trustall",
    "unsafe_code",
    "xss",
];

/// Parts of the names that Find Security Bugs has.
const SECURITY_BUGS: &[&str] = &["CIPHER", "DIGEST", "TRAVERSAL", "TRUST", "XXE"];

/// Returns whether a rule is about what an attacker could use.
fn is_about_security(rule: &str) -> bool {
    let name = rule.to_lowercase();
    SECURITY_CODES.is_match(rule)
        || SECURITY_WORDS.iter().any(|word| name.contains(word))
        || SECURITY_BUGS.iter().any(|word| rule.contains(word))
}

/// Words that are no rules: of attributes, of conditions, and of the mark itself.
const NO_RULES: &[&str] = &["justification", "line", "next-line", "reason", "value"];

impl Silenced {
    /// Reads the rules behind a mark.
    pub(super) fn new(text: &str, mark: Range<usize>, is_comment: bool) -> Self {
        let (own, after) = (&text[mark.clone()], &text[mark.end..]);
        let listed = list(own, after, is_comment);
        let names = listed.split(|sign: char| !sign.is_alphanumeric() && !"_-/@:.*".contains(sign));
        let names = names.map(|name| name.trim_matches([':', '.', '-']).to_owned());
        let names = names.filter(|name| {
            let is_name = name == "*" || name.contains(char::is_alphanumeric);
            is_name && !NO_RULES.contains(&name.to_lowercase().as_str())
        });
        let rules: BTreeSet<String> = match own.to_lowercase().ends_with("noqa") {
            // Other words than codes are read as none.
            true => names.filter(|name| is_code(name)).map(|name| name.to_uppercase()).collect(),
            false => names.collect(),
        };
        let tool = match is_comment {
            true => first_word(own),
            false if own.starts_with('@') => ANNOTATION.to_owned(),
            false => "attribute".to_owned(),
        };
        let text = format!("{own}{}", listed.trim_end());
        Self { text, tool, rules }
    }

    /// Returns whether this names each rule that it silences, and none of them stands for many or for security: the names
    /// tell a reader what is wrong there.
    pub(super) fn is_narrow(&self) -> bool {
        !SECURITY_TOOLS.contains(&self.tool.as_str())
            // A word behind a space may be one of a sentence.
            && !["nolint: ", "nolint "].iter().any(|apart| self.text.contains(apart))
            && !self.rules.is_empty()
            && self.rules.iter().all(|rule| !is_group(&self.tool, rule) && !is_about_security(rule))
    }

    /// Returns the summary of a suppression that gives no reason, by whether it names a rule.
    pub(super) fn missing(&self) -> &'static str {
        match self.rules.is_empty() {
            true => "warning is suppressed without its rule or a reason",
            false => "warning is suppressed without a reason",
        }
    }

    /// Returns whether what this silenced includes what another one does, or another checker takes over with rules that
    /// it names.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let is_same = self.tool == other.tool;
        let mut families = FAMILIES.iter();
        if !is_same
            && !families.any(|tools| [self, other].iter().all(|own| tools.contains(&own.tool.as_str())))
        {
            return false;
        }
        self.rules.is_empty()
            || !other.rules.is_empty() && other.rules.is_subset(&self.rules)
            || !is_same && other.is_narrow()
    }
}

/// Marks of tools that silence all of a line: words behind them are a reason at most.
const NAMING_NONE: &[&str] = &["@ts-expect-error", "@ts-ignore", "NOPMD"];

/// Returns whether a word is the code of a rule or the beginning of codes.
fn is_code(word: &str) -> bool {
    let digits = word.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let letters = word.len() - digits.len();
    match digits.is_empty() {
        true => letters <= 4 && word.chars().all(|letter| letter.is_ascii_uppercase()),
        false => letters > 0 && digits.chars().all(|digit| digit.is_ascii_digit()),
    }
}

/// Returns the list of rules behind a mark, as it is written.
fn list<'t>(mark: &str, after: &'t str, is_comment: bool) -> &'t str {
    if !is_comment {
        // An attribute's arguments end with its bracket, its reason is none of them; a pragma has no brackets.
        let ends: &[&str] = match mark.starts_with("#pragma") {
            true => &["//", "/*"],
            false => &["reason", "justification", "Justification", ")"],
        };
        let end = ends.iter().filter_map(|end| after.find(end)).min();
        return &after[..end.unwrap_or(after.len())];
    }
    if NAMING_NONE.contains(&mark) || mark == "NOSONAR" && !after.starts_with('(') {
        return "";
    }
    let lists_by_blanks = ["lint-disable", "lint-ignore", "biome-ignore", "rubocop", "swiftlint", "lint:"];
    let names_one =
        ["phpstan-ignore", "psalm-suppress", "phpcs:ignore", "lint:ignore", "// ignore:", "//ignore:"];
    if names_one.iter().any(|tool| mark.ends_with(tool)) {
        let start = after.len() - after.trim_start().len();
        let end = after[start..].find(char::is_whitespace).map(|end| start + end);
        return &after[..end.unwrap_or(after.len())];
    }
    if mark.ends_with("eslint") || lists_by_blanks.iter().any(|tool| mark.contains(tool)) {
        let end = ["--", "*/", ": "].iter().filter_map(|end| after.find(end)).min();
        // A list of settings has colons of its own.
        let end = if mark.ends_with("eslint") { after.find("*/") } else { end };
        return &after[..end.unwrap_or(after.len())];
    }
    // Bandit separates the names of its tests by blanks, and a reason may stand in their place.
    if mark.ends_with("nosec") {
        let is_name = |word: &str| {
            word.strip_prefix('B').is_none_or(|digits| digits.chars().all(|digit| digit.is_ascii_digit()))
                && word.chars().all(|sign| sign == 'B' || sign.is_ascii_digit())
        };
        let names = after
            .split_inclusive([' ', ',', ':'])
            .take_while(|word| is_name(word.trim_end_matches([' ', ',', ':'])));
        return &after[..names.map(str::len).sum()];
    }
    let opening: &[char] = match TYPE_CHECKERS.contains(&first_word(mark).as_str()) {
        true => &['=', '['],
        false => &[':', '=', '(', '['],
    };
    match after.trim_start().starts_with(opening) {
        true => &after[..after.len() - behind_rules(after).len()],
        false => "",
    }
}

fn first_word(mark: &str) -> String {
    let word = mark.trim_start_matches(|sign: char| !sign.is_alphanumeric());
    let end = word.find(|sign: char| !sign.is_alphanumeric()).unwrap_or(word.len());
    word[..end].to_lowercase()
}

/// Returns the text behind the names of rules that a suppression lists.
pub(super) fn behind_rules(after: &str) -> &str {
    let rest = after.trim_start();
    let Some(mut rest) = rest.strip_prefix([':', '=', '(', '[']) else { return rest };
    loop {
        rest = rest.trim_start();
        let name_end = rest.find(|character: char| character.is_whitespace() || ",;)]#".contains(character));
        rest = &rest[name_end.unwrap_or(rest.len())..];
        match rest.trim_start().strip_prefix(',') {
            Some(next) => rest = next,
            None => return rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mark ends where its rules or its reason begin.
    fn silenced(text: &str, mark: &str) -> Silenced {
        let start = text.find(mark).expect("the mark");
        Silenced::new(text, start..start + mark.len(), !mark.contains(['[', '@']) || mark.starts_with("@ts"))
    }

    #[test]
    fn a_suppression_is_told_from_others_by_its_rules() {
        for (text, mark, expected) in [
            ("x  # noqa: F401, E402  # why", "# noqa", "E402 F401"),
            ("x  # noqa", "# noqa", ""),
            ("x  # type: ignore[misc] it lags behind", "# type: ignore", "misc"),
            ("// eslint-disable-next-line no-eval, a/b -- why", "eslint-disable-next-line", "a/b no-eval"),
            ("/* eslint-disable */", "eslint-disable", ""),
            ("//nolint:gosec,lll // why", "//nolint", "gosec lll"),
            ("// @ts-ignore it lags", "@ts-ignore", ""),
            ("x  # nosec B101, B102 why", "# nosec", "B101 B102"),
            ("x  # nosec because it is", "# nosec", ""),
            ("// biome-ignore lint/a/b: why", "biome-ignore", "lint/a/b"),
            ("x  # noqa: because", "# noqa", ""),
            ("// @ts-ignore: why", "@ts-ignore", ""),
            ("// @ts-ignore (x)", "@ts-ignore", ""),
            ("x  # type: ignore: why", "# type: ignore", ""),
            ("//lint:ignore * it is slow", "//lint:ignore", "*"),
            ("// NOLINT(bugprone-*)", "NOLINT", "bugprone-*"),
            ("#[allow(dead_code, clippy::x, reason = \"a\")]", "#[allow(", "clippy::x dead_code"),
            ("@SuppressWarnings(value = {\"a\", \"b\"})", "@SuppressWarnings", "a b"),
        ] {
            let rules: Vec<String> = silenced(text, mark).rules.into_iter().collect();
            assert_eq!(rules.join(" "), expected, "{text}");
        }
    }

    #[test]
    fn a_narrow_suppression_names_its_rules() {
        for (text, mark, expected) in [
            ("x  # noqa: F401", "# noqa", true),
            ("x  # noqa", "# noqa", false),
            ("x  # noqa: F", "# noqa", false),
            ("x  # noqa: S602", "# noqa", false),
            ("x  # type: ignore[misc]", "# type: ignore", true),
            ("x  # type: ignore", "# type: ignore", false),
            ("x  # nosec B602", "# nosec", false),
            ("// eslint-disable-next-line no-console", "eslint-disable-next-line", true),
            ("// eslint-disable-next-line no-console, no-eval", "eslint-disable-next-line", false),
            ("// eslint-disable-next-line", "eslint-disable-next-line", false),
            ("// @ts-ignore", "@ts-ignore", false),
            ("//nolint:gosec", "//nolint", false),
            ("//nolint:errcheck", "//nolint", true),
            ("#[allow(dead_code)]", "#[allow(", true),
            ("#[allow(clippy::all)]", "#[allow(", false),
            ("#[allow(unsafe_code)]", "#[allow(", false),
            ("@SuppressWarnings(\"unchecked\")", "@SuppressWarnings", true),
            ("@SuppressWarnings(\"unused\")", "@SuppressWarnings", true),
            ("@Suppress(\"unused\")", "@Suppress", true),
            ("@SuppressWarnings({\"unused\", \"all\"})", "@SuppressWarnings", false),
            ("#[allow(unused)]", "#[allow", false),
            ("x  # noqa: E9", "# noqa", false),
            ("x  # noqa: PLR0", "# noqa", false),
            ("x  # noqa: PLR0913, ASYNC100, B008", "# noqa", true),
            ("x  # noqa: B602", "# noqa", false),
            ("x  # noqa: DUO105", "# noqa", false),
            ("x  # pylint: disable=exec-used", "# pylint: disable", false),
            ("x  # pylint: disable=W0122", "# pylint: disable", false),
            ("x  # pylint: disable=fixme", "# pylint: disable", true),
            ("// @ts-ignore [x]", "@ts-ignore", false),
            ("//nolint: x", "//nolint", false),
            ("//nolint : x", "//nolint", false),
            ("//lint:ignore * it is slow", "//lint:ignore", false),
            ("//lint:ignore SA1019 it is slow", "//lint:ignore", true),
            ("// biome-ignore lint:", "biome-ignore", false),
            ("// biome-ignore lint/suspicious:", "biome-ignore", false),
            ("// biome-ignore lint/a/b:", "biome-ignore", true),
            ("// eslint-disable-next-line no-new-func", "eslint-disable-next-line", false),
            ("# rubocop:disable Lint", "rubocop:disable", false),
            ("# rubocop:disable Lint/UselessAssignment", "rubocop:disable", true),
            ("#[allow(rustdoc::all)]", "#[allow(", false),
            ("@SuppressFBWarnings(\"PATH_TRAVERSAL_IN\")", "@SuppressFBWarnings", false),
            ("@SuppressLint(\"TrustAllX509TrustManager\")", "@SuppressLint", false),
            ("// @phpstan-ignore argument.type", "@phpstan-ignore", true),
            ("// @phpstan-ignore-next-line", "@phpstan-ignore-next-line", false),
        ] {
            assert_eq!(silenced(text, mark).is_narrow(), expected, "{text}");
        }
    }

    #[test]
    fn one_that_silences_less_is_covered() {
        for (old, new, mark, expected) in [
            ("# noqa: A, B", "# noqa: A", "# noqa", true),
            ("# noqa", "# noqa: A", "# noqa", true),
            ("# noqa: A", "# noqa: B", "# noqa", false),
            ("# noqa: A", "# noqa", "# noqa", false),
        ] {
            assert_eq!(silenced(old, mark).covers(&silenced(new, mark)), expected, "{old} {new}");
        }
        let old = silenced("# type: ignore[misc]", "# type: ignore");
        assert!(old.covers(&silenced("# pyright: ignore[reportCallIssue]", "# pyright: ignore")));
        assert!(!old.covers(&silenced("# pyright: ignore", "# pyright: ignore")));
        let bare = silenced("# type: ignore", "# type: ignore");
        assert!(bare.covers(&silenced("# pyright: ignore", "# pyright: ignore")));
        assert!(!old.covers(&silenced("# noqa", "# noqa")));
        let old = silenced("# pylint: disable=fixme", "# pylint: disable");
        for (new, expected) in [("# noqa", false), ("# noqa: S602", false), ("# noqa: FIX002", true)] {
            assert_eq!(old.covers(&silenced(new, "# noqa")), expected, "{new}");
        }
        let old = silenced("#[allow(a)]", "#[allow(");
        assert!(old.covers(&silenced("#[expect(a)]", "#[expect(")));
        assert!(!old.covers(&silenced("#[expect(b)]", "#[expect(")));
        assert!(
            silenced("// @ts-ignore", "@ts-ignore")
                .covers(&silenced("// @ts-expect-error", "@ts-expect-error"))
        );
    }
}
