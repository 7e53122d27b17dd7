//! Counts what a change may not add where the base has hardly any of it.

use super::{ESCAPED, RETRIED, UNFINISHED};
use crate::contract::Census;
use crate::pattern::Pattern;
use qa_contracts::ids::RepoPath;
use qa_core::classify;

static RETRIES: Pattern =
    Pattern::new(r"(?i)\bflaky\b|\bretr(?:y|ies|ying)(?:Times|Test)?\s*[(:]|RepeatedIfExceptions|\[Retry");
static UNWRITTEN: Pattern = Pattern::new(
    r"(?i)not[ _]?(?:yet[ _]?)?implemented|\btodo!|(?-i:\bTODO\()|unimplemented!|in a real (?:implementation|app)|your code here",
);
static TYPESCRIPT: Pattern =
    Pattern::new(r"[:<,|]\s*any\b|\w!(?:[.\[),;]|$)|\bas any\b|\bas unknown as\b|@ts-(?:ignore|nocheck)");
static PYTHON: Pattern = Pattern::new(r"\bAny\b|# type: ignore");
static GO: Pattern = Pattern::new(r"\bany\b|\binterface\{\}|\bunsafe\.");
static RUST: Pattern = Pattern::new(r"\bunsafe\b|\btransmute\b|\bdyn (?:std::any::)?Any\b");
static JAVA: Pattern = Pattern::new(r"\bObject \w+\s*[,)=;]|<Object>|\(Object\)");
static KOTLIN: Pattern = Pattern::new(r":\s*Any\b|\bas Any\b|!!");
static CSHARP: Pattern = Pattern::new(r"\w!(?:[.\[),;]|$)|\bdynamic \w|\bobject\??\s+\w+\s*[,)=;]");
static PHP: Pattern = Pattern::new(r"\bmixed\b");

/// Heads of functions.
static FUNCTIONS: Pattern = Pattern::new(
    r"(?m)\b(?:def|fn|fun|func|function)\s+\w|=>|\b(?:internal|private|protected|public)\b[^;=\n]*\(|^\s+\w[\w ]*\([^)\n]*\)[^;\n]*\{$",
);
/// Heads of tests.
static TESTS: Pattern = Pattern::new(
    r#"\bdef test|\bfunc Test|@(?:Parameterized)?Test\b|\[(?:Fact|Test|TestCase|TestMethod|Theory)\b|#\[(?:\w+::)?test\b|\b(?:it|specify|test)\s*[("']|\bfunction test"#,
);

/// Counts the functions or tests of a base file, and those without what a rule reports; there are none in a file that a
/// rule has nothing to say about.
pub(super) fn census(rule: &str, file: &RepoPath, text: &str) -> Census {
    let Some(language) = classify::language(file) else { return Census::default() };
    let (places, faults) = match rule {
        RETRIED => (&TESTS, Some(&RETRIES)),
        UNFINISHED => (&FUNCTIONS, Some(&UNWRITTEN)),
        ESCAPED => (&FUNCTIONS, escapes(language)),
        _ => return Census::default(),
    };
    faults.map(|faults| counted(text, places, faults)).unwrap_or_default()
}

/// Counts places in a text, and those that no fault stands for.
fn counted(text: &str, places: &Pattern, faults: &Pattern) -> Census {
    let faults = faults.count(text) as u64;
    let support = (places.count(text) as u64).max(faults);
    Census { support, complying: support - faults }
}

/// Returns the ways around the types of a language.
fn escapes(language: &str) -> Option<&'static Pattern> {
    Some(match language {
        "c#" => &CSHARP,
        "go" => &GO,
        "java" => &JAVA,
        "kotlin" => &KOTLIN,
        "php" => &PHP,
        "python" => &PYTHON,
        "rust" => &RUST,
        "typescript" => &TYPESCRIPT,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_and_tests_of_a_base_file_are_counted_with_their_faults() {
        for pattern in [
            &RETRIES,
            &UNWRITTEN,
            &FUNCTIONS,
            &TESTS,
            &TYPESCRIPT,
            &PYTHON,
            &GO,
            &RUST,
            &JAVA,
            &KOTLIN,
            &CSHARP,
            &PHP,
        ] {
            pattern.check();
        }
        for (rule, path, text, support, complying) in [
            (ESCAPED, "src/a.ts", "function f(a: any) {}\nconst g = (b: number) => b;", 2, 1),
            (ESCAPED, "src/a.js", "function f(a) {}", 0, 0),
            (ESCAPED, "a.go", "func F(v any) {}", 1, 0),
            (RETRIED, "tests/test_a.py", "@pytest.mark.flaky(reruns=3)\ndef test_a(): pass", 1, 0),
            (RETRIED, "tests/test_a.py", "def test_retried(): pass", 1, 1),
            (UNFINISHED, "a.rs", "fn todo() { todo!() }", 1, 0),
            (UNFINISHED, "a.rs", "fn todo() {}", 1, 1),
        ] {
            let file = RepoPath::from_bytes(path.as_bytes()).unwrap();
            let found = census(rule, &file, text);
            assert_eq!(found, Census { support, complying }, "{path}: {text}");
        }
    }
}
