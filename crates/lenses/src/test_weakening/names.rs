//! Names of the tests of a file in each language, and the line on which each begins.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::needs::Needs;
use super::skips::Off;
use crate::idioms::{Idiom, Place, Table};
use crate::pattern::Pattern;
use crate::scan::{Kind, Scanner};
use qa_reading::syntax::{Branch, Span};

/// A test and the lines up to the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) name: String,
    /// The line of the name, as a position in the lines given.
    pub(super) at: usize,
    /// The line of what marks it as a test; the line of the name where that tells.
    pub(super) mark: usize,
    /// The position after its last line.
    pub(super) end: usize,
    /// Position of the line that ends the test before others of its body.
    pub(super) cut: Option<usize>,
    /// The mark that skips it.
    pub(super) off: Option<Off>,
    /// The mark that skips it in runs that ask for that, by a flag or a variable of the environment, or that do not ask for it.
    pub(super) asked_for: Option<Off>,
    /// Its condition to run that nothing fulfils by itself.
    pub(super) needs: Option<Needs>,
    /// Set where no runner is known to collect it and nothing else switches it off.
    pub(super) is_hidden: bool,
    /// The marks that skip its subtests.
    pub(super) nested: Vec<Off>,
    /// Place of its statements in the text; empty where its lines alone are known.
    pub(super) body: Span,
    /// Parts that need not run for the test to pass.
    pub(super) branches: Vec<Branch>,
}

const fn by_name(languages: &'static [&'static str], literal: &'static str, pattern: &'static str) -> Idiom {
    Idiom { languages, literal, pattern, place: Place::Anywhere }
}

static NAMED: &[Idiom] = &[
    by_name(&["python"], "def test", r"^\s*(?:async\s+)?def\s+(test\w*)\s*\("),
    by_name(
        &["javascript", "typescript"],
        "(",
        r#"^\s*(?:await\s+)?[xf]?(?:it|test|specify|Deno\.test)(?:\.\w+)*(?:\([^"'`]*\))?\s*\(\s*["'`]([^"'`]+)"#,
    ),
    // The end of a table and the name behind it.
    by_name(&["javascript", "typescript"], "(", r#"^\s*(?:\]\s*\)|`)\s*\(\s*["'`]([^"'`]+)"#),
    by_name(&["go"], "func ", r"^func\s+((?:Test|Fuzz|Example)(?:[^a-z\W]\w*)?)\s*\("),
    by_name(&["java", "scala", "kotlin"], "void test", r"^\s*public\s+void\s+(test\w*)\s*\("),
    by_name(&["ruby"], "it ", r#"^\s*[xf]?(?:it|specify|scenario)\s+["']([^"']+)"#),
    by_name(&["ruby"], "it(", r#"^\s*[xf]?it\(\s*["']([^"']+)"#),
    by_name(&["ruby", "elixir"], "test ", r#"^\s*test\s+["']([^"']+)"#),
    by_name(&["ruby"], "def test_", r"^\s*def\s+(test_\w+)"),
    by_name(&["php"], "function test", r"\bfunction\s+(test\w+)\s*\("),
    by_name(&["php"], "('", r"^\s*(?:it|test)\(\s*'([^']+)"),
    by_name(&["swift"], "func test", r"\bfunc\s+(test\w+)\s*\("),
    by_name(
        &["c", "c++"],
        "(",
        r#"^\s*(?:TEMPLATE_)?(?:TEST_CASE|SCENARIO)(?:_METHOD\s*\(\s*[\w:]+\s*,|\s*\()\s*"([^"]+)"#,
    ),
    by_name(&["c", "c++"], "TEST", r#"^\s*(?:TYPED_)?TEST(?:_F|_P|_CASE)?\s*\(\s*([^)]+?)\s*\)"#),
    by_name(&["dart"], "(", r#"^\s*test(?:Widgets)?\(\s*["']([^"']+)"#),
    by_name(&["scala"], "test(", r#"^\s*test\(\s*"([^"]+)"#),
    by_name(&["lua"], "it(", r#"^\s*it\(\s*["']([^"']+)"#),
];
static NAMES: LazyLock<Table> = LazyLock::new(|| Table::new(NAMED));

/// Marks above a test whose own line does not tell, with a text that is in every such line, and the pattern that takes
/// the name from its line.
static MARKED: [(&[&str], &str, Pattern, Pattern); 6] = [
    (
        &["rust"],
        "#[",
        Pattern::new(r"^\s*#\[(?:\w+::)*(?:test|rstest|test_case|proptest|quickcheck|wasm_bindgen_test)\b"),
        Pattern::new(r"\bfn\s+(\w+)"),
    ),
    (
        &["java", "kotlin", "scala", "groovy"],
        "@",
        Pattern::new(r"^\s*@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\b"),
        Pattern::new(r"(?:\bvoid\s+|\bfun\s+`?|\bdef\s+)([\w ]+?)`?\s*\("),
    ),
    (
        &["c#"],
        "[",
        Pattern::new(r"^\s*\[(?:Test|TestCase|Fact|Theory|TestMethod|DataTestMethod)\b"),
        Pattern::new(r"\b(?:void|Task|ValueTask)\s+(\w+)\s*\("),
    ),
    (&["swift"], "@Test", Pattern::new(r"^\s*@Test\b"), Pattern::new(r"\bfunc\s+(\w+)\s*\(")),
    (
        &["php"],
        "est",
        Pattern::new(r"(?:#\[Test\]|^\s*\*\s*@test\b)"),
        Pattern::new(r"\bfunction\s+(\w+)\s*\("),
    ),
    // A call that is broken before the name.
    (
        &["javascript", "typescript"],
        "(",
        Pattern::new(
            r#"^\s*(?:await\s+)?[xf]?(?:it|test|specify|Deno\.test)(?:\.\w+)*(?:\([^"'`]*\))?\s*\(\s*$"#,
        ),
        Pattern::new(r#"^\s*["'`]([^"'`]+)"#),
    ),
];

/// Maximum lines between a mark and the name: more attributes and comments.
const MARK_REACH: usize = 8;

/// Returns whether tests of a language are known by name.
pub(super) fn knows(language: Option<&str>) -> bool {
    NAMES.knows(language) || marked_as(language).is_some()
}

fn marked_as(
    language: Option<&str>,
) -> Option<&'static (&'static [&'static str], &'static str, Pattern, Pattern)> {
    MARKED.iter().find(|(languages, ..)| language.is_some_and(|own| languages.contains(&own)))
}

/// Returns the tests in lines of one file, in order.
pub(super) fn tests<'a>(language: Option<&str>, lines: impl Iterator<Item = &'a str>) -> Vec<Test> {
    let own = marked_as(language);
    let mut scanner = Scanner::new(language, true);
    let mut found: Vec<Test> = Vec::new();
    let mut marked: Option<usize> = None;
    let mut mark_of_name = None;
    let mut count = 0;
    let lines: Vec<&str> = lines.collect();
    for (at, line) in lines.iter().copied().enumerate() {
        count = at + 1;
        let parts = scanner.line(line);
        let first = line.len() - line.trim_start().len();
        let plain = parts.kind_at(first) == Kind::Code && !line.is_empty();
        let mut name =
            plain.then(|| NAMES.find(language, line, &parts).map(|span| line[span].to_owned())).flatten();
        if plain && name.is_none() && line.contains("TEST") {
            let joined = joined_macro(language, &lines[at..]);
            name = joined.and_then(|line| Some(line[NAMES.find(language, &line, &parts)?].to_owned()));
        }
        if matches!(language, Some("c" | "c++")) {
            // A test that is switched off by its name has the same name otherwise.
            name = name.map(|name| name.replace("DISABLED_", ""));
        }
        if let Some((_, literal, mark, names)) = own {
            let name_may_come = plain && marked.is_some();
            if let Some(captures) = name_may_come.then(|| names.captures(line)).flatten() {
                name = name.or_else(|| captures.get(1).map(|name| name.as_str().to_owned()));
                mark_of_name = marked.take();
            } else if line.contains(*literal) && mark.is_match(line) && (plain || language == Some("php")) {
                marked = Some(at);
                // The name may stand on the line of the mark.
                if let Some(captures) = names.captures(line) {
                    name = captures.get(1).map(|name| name.as_str().to_owned());
                    marked = None;
                }
            }
            marked = marked.filter(|mark| at - mark < MARK_REACH);
        }
        let mark_of_name = mark_of_name.take();
        if let Some(name) = name {
            if let Some(last) = found.last_mut() {
                last.end = at;
            }
            let mark = mark_of_name.unwrap_or(at);
            found.push(Test {
                name,
                at,
                mark,
                end: at + 1,
                cut: None,
                off: None,
                asked_for: None,
                needs: None,
                is_hidden: false,
                nested: Vec::new(),
                body: Span::default(),
                branches: Vec::new(),
            });
        }
    }
    if let Some(last) = found.last_mut() {
        last.end = count;
    }
    found
}

/// Returns the first of some lines with the next, where the arguments of a macro of C++ go on there.
fn joined_macro(language: Option<&str>, lines: &[&str]) -> Option<String> {
    let [first, next, ..] = lines else { return None };
    let goes_on = matches!(language, Some("c" | "c++")) && first.trim_end().ends_with(['(', ',']);
    goes_on.then(|| format!("{} {}", first.trim_end(), next.trim_start()))
}

/// Returns the words of a name, without those that are in any test's name.
pub(super) fn words_of_name(name: &str) -> BTreeSet<String> {
    const FILLERS: &[&str] = &[
        "test", "tests", "testing", "it", "should", "when", "with", "without", "and", "or", "the", "an",
        "of", "for", "in", "to", "is", "are", "not", "does", "do", "can", "that", "if", "on", "as", "be",
        "by",
    ];
    let mut words = BTreeSet::new();
    let mut word = String::new();
    let mut was_lower = false;
    for character in name.chars().chain([' ']) {
        let begins = character.is_uppercase() && was_lower;
        if begins || !character.is_alphanumeric() {
            let whole = std::mem::take(&mut word);
            if whole.len() > 1 && !FILLERS.contains(&whole.as_str()) {
                words.insert(whole);
            }
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        was_lower = character.is_lowercase() || character.is_numeric();
    }
    words
}

/// Returns the number of characters that two names share at both ends.
pub(super) fn alike(left: &str, right: &str) -> usize {
    let from_start = left.chars().zip(right.chars());
    let from_end = left.chars().rev().zip(right.chars().rev());
    from_start.take_while(|(left, right)| left == right).count()
        + from_end.take_while(|(left, right)| left == right).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_split_into_what_it_says() {
        let cases: &[(&str, &[&str])] = &[
            ("test_loads_the_file", &["file", "loads"]),
            ("TestCommandPrintsUTF8", &["command", "prints", "utf8"]),
            ("testDateSerialization", &["date", "serialization"]),
            ("should parse `a.b` twice", &["parse", "twice"]),
        ];
        for (name, expected) in cases {
            assert_eq!(
                words_of_name(name).iter().map(String::as_str).collect::<Vec<_>>(),
                *expected,
                "{name}"
            );
        }
    }

    #[test]
    fn tests_are_found_by_name_in_each_language() {
        NAMES.check();
        MARKED.iter().for_each(|(_, _, mark, name)| {
            mark.check();
            name.check();
        });
        let cases: &[(&str, &str, &[&str])] = &[
            (
                "python",
                "class T:\n    async def test_a(self):\n        pass\ndef helper(): pass",
                &["test_a"],
            ),
            (
                "typescript",
                "it('does a', () => {\ntest.each([1])(\"b\", f)\nmodel.test('c')",
                &["does a", "b"],
            ),
            (
                "typescript",
                "test.runIf(\n  !a,\n)(\ntest.runIf(!a)(\n  'does c',\n  f)\ntest.each([\n  1,\n])('d', f)\nf(\n  'e')",
                &["does c", "d"],
            ),
            ("go", "func TestA(t *testing.T) {\nfunc helper() {", &["TestA"]),
            (
                "rust",
                "#[test]\n#[ignore]\nfn a() {}\nfn b() {}\n#[tokio::test]\nasync fn c() {}",
                &["a", "c"],
            ),
            ("java", "@Test\npublic void a() {\n}\nvoid b() {", &["a"]),
            ("ruby", "it \"does a\" do\ndef test_b", &["does a", "test_b"]),
            ("c++", "TEST_F(Suite,\n       Name) {\n  f(TEST,\n    1);", &["Suite, Name"]),
            (
                "c++",
                "TEST(Suite, Name) {\nTEST_F(Suite, DISABLED_Other) {\nTEST_CASE(\"adds\", \"[cart]\") {",
                &["Suite, Name", "Suite, Other", "adds"],
            ),
        ];
        for (language, text, expected) in cases {
            let found: Vec<String> =
                tests(Some(language), text.lines()).into_iter().map(|test| test.name).collect();
            assert_eq!(found, *expected, "{language}");
        }
    }
}
