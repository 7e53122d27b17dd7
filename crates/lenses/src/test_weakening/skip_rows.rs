//! Names and calls by which frameworks skip a test, for languages whose files have a syntax tree.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use qa_reading::syntax::{Argument, Form, Language, Mark, NEEDS, Spelled, is_ci_variable};

use Form::{Assigned, Deleted, Mark as Marked, Option as Given, Run};

/// Way to skip a test, as a row of the table.
struct Row {
    languages: &'static [&'static str],
    forms: &'static [Form],
    /// Dotted names: `|` separates alternatives for one part, `*` ends the beginning of one, `+` stands for
    /// any one part and `**` for any parts.
    path: &'static str,
    when: When,
}

/// Condition on the arguments under which the row skips; names an argument, which is otherwise the first.
#[derive(Debug, Clone, Copy)]
enum When {
    Always,
    /// There is an argument.
    HasArgument,
    /// The argument holds in every run.
    Holds(&'static str),
    /// The argument never holds.
    Fails(&'static str),
    /// There is no argument, or it holds in every run.
    HoldsOrNone,
    /// There is no argument, or it is a text.
    NoneOrText,
    /// There is no argument, or it is zero.
    ZeroOrNone,
    /// An argument of this name is given, and is not false.
    Named(&'static str),
    /// An argument of this name is false or zero.
    NamedZero(&'static str),
    /// There is no condition, or it is about more than the platform.
    NoPlatform(&'static str),
    /// The argument is a mark that skips.
    Marks,
    /// The value is a list that is empty or leaves something out.
    Drops,
    /// The condition matches any text, or that of a variable which every run of a CI sets.
    MatchesAll,
    /// A variable of the environment, or a property of the process, has to be set.
    AskedFor,
    /// A module has to be installed.
    Installed,
}

use When::{
    Always, AskedFor, Drops, Fails, HasArgument, Holds, HoldsOrNone, Installed, Marks, MatchesAll, Named,
    NamedZero, NoPlatform, NoneOrText, ZeroOrNone,
};

const JS: &[&str] = &["javascript", "typescript"];
const JVM: &[&str] = &["java", "kotlin"];
const PYTHON: &[&str] = &["python"];
const CSHARP: &[&str] = &["c#"];
const RUBY: &[&str] = &["ruby"];
const PHP: &[&str] = &["php"];
const GO: &[&str] = &["go"];
const RUST: &[&str] = &["rust"];
const C: &[&str] = &["c", "c++"];

const fn row(
    languages: &'static [&'static str],
    forms: &'static [Form],
    path: &'static str,
    when: When,
) -> Row {
    Row { languages, forms, path, when }
}

static ROWS: &[Row] = &[
    // Behind a condition on what a run asks for. In other languages such a test counts as emptied.
    row(&["c", "c#", "c++", "go", "java", "kotlin", "php", "python", "rust"], &[Run], "return", Always),
    row(JS, &[Marked], "xit|xdescribe|xtest|xcontext|xspecify|xsuite|xscenario|xfeature.**", Always),
    row(
        JS,
        &[Marked],
        "describe|fdescribe|it|fit|test|context|suite|specify|bench|QUnit|Deno.**.skip|todo|fixme|ignore|failing|fails|pending.**",
        Always,
    ),
    row(JS, &[Marked], "**.skipIf", Holds("")),
    row(JS, &[Marked], "**.runIf", Fails("")),
    row(JS, &[Given], "skip|ignore|todo|fails|fixme|failing|pending", Holds("")),
    row(JS, &[Run], "describe|it|test.**.skip|fixme|fail", HoldsOrNone),
    row(JS, &[Run], "test.info().skip|fixme|fail", HoldsOrNone),
    row(JS, &[Run], "this|self|t|ctx|context|c|task|tc|testContext|assert.skip|todo", Always),
    row(JS, &[Run], "this.**.skip", Always),
    row(JS, &[Run], "this|t|ctx|context.skip.call|apply", Always),
    row(JS, &[Run], "skip", NoneOrText),
    row(JS, &[Run], "pending", NoneOrText),
    row(JS, &[Run], "**.process.exit|reallyExit", ZeroOrNone),
    row(JS, &[Run], "Deno|Bun.exit", ZeroOrNone),
    row(PYTHON, &[Marked], "**.mark.skip", Always),
    row(PYTHON, &[Marked], "**.mark.xfail", NoPlatform("condition")),
    row(PYTHON, &[Marked], "**.mark.skipif", Holds("condition")),
    row(PYTHON, &[Marked], "**.unittest.**.skip|expectedFailure", Always),
    row(PYTHON, &[Marked], "skip|expectedFailure|nottest", Always),
    row(PYTHON, &[Marked], "**.nose.**.nottest", Always),
    row(PYTHON, &[Marked], "**.skipIf|skip_if", Holds("condition")),
    row(PYTHON, &[Marked], "**.skipUnless|skip_unless", Fails("condition")),
    row(PYTHON, &[Run], "**.pytest.skip|xfail", Always),
    row(PYTHON, &[Run], "**.pytest.skip|xfail.**.Exception", Always),
    row(PYTHON, &[Run], "**.outcomes.skip|xfail", Always),
    row(PYTHON, &[Run], "**.importorskip", Installed),
    row(PYTHON, &[Run], "**.pytest.exit", NamedZero("returncode")),
    row(PYTHON, &[Run], "**.self|cls|?.skipTest", Always),
    row(PYTHON, &[Run], "**.SkipTest|Skipped", Always),
    row(PYTHON, &[Run], "**.assume", Fails("")),
    row(PYTHON, &[Run], "**.os._exit", ZeroOrNone),
    row(PYTHON, &[Run], "sys.exit", ZeroOrNone),
    row(PYTHON, &[Run], "exit|quit|SystemExit", ZeroOrNone),
    row(PYTHON, &[Assigned], "**.__test__", Fails("")),
    row(PYTHON, &[Assigned], "**.__unittest_skip__", Holds("")),
    row(PYTHON, &[Assigned], "skip|todo", NoneOrText),
    row(PYTHON, &[Assigned], "**.collect_ignore|collect_ignore_glob", Always),
    row(PYTHON, &[Run], "**.collect_ignore|collect_ignore_glob.append|extend|insert", Always),
    row(PYTHON, &[Run], "**.add_marker|applymarker", Marks),
    row(PYTHON, &[Run], "pytest_*.items.clear|pop|remove", Always),
    row(PYTHON, &[Run], "pytest_*.**.pytest_deselected", Always),
    row(PYTHON, &[Run], "pytest_*.returns", Always),
    row(PYTHON, &[Assigned], "pytest_*.items|items[*", Drops),
    row(PYTHON, &[Deleted], "pytest_*.items|items[*", Always),
    row(PYTHON, &[Assigned], "pytest_*.**.exitstatus", Fails("")),
    // `outcome = yield` sets a name of its own.
    row(PYTHON, &[Assigned], "pytest_*.**.+.outcome", Always),
    row(PYTHON, &[Run], "pytest_runtest*.**.force_result", Always),
    row(PYTHON, &[Assigned], "pytest_ignore_collect|pytest_pyfunc_call|pytest_runtest*", Always),
    row(GO, &[Marked], "go:build", Fails("")),
    row(GO, &[Marked], "P*|X*", Always),
    row(GO, &[Marked], "**.Pending", Always),
    row(GO, &[Run], "t|b|f|tb|T()|?.Skip|SkipNow|Skipf", Always),
    row(GO, &[Run], "**.T()|TB().Skip|SkipNow|Skipf", Always),
    // Of Ginkgo, which wants to be told why.
    row(GO, &[Run], "Skip", HasArgument),
    row(GO, &[Run], "ginkgo.Skip", Always),
    row(GO, &[Run], "os|syscall.Exit", ZeroOrNone),
    row(RUST, &[Marked], "ignore", Always),
    row(RUST, &[Marked], "cfg", Fails("")),
    row(RUST, &[Run], "**.process.exit", ZeroOrNone),
    row(JVM, &[Marked], "**.Disabled|Ignore|Ignored", Always),
    row(JVM, &[Marked], "**.Test|BeforeClass|BeforeMethod", NamedZero("enabled")),
    row(JVM, &[Marked], "**.DisabledIf", Holds("")),
    row(JVM, &[Marked], "**.EnabledIf", Fails("")),
    row(JVM, &[Marked], "**.DisabledIfSystemProperty|DisabledIfEnvironmentVariable", MatchesAll),
    row(JVM, &[Marked], "**.DisabledIfEnvironmentVariable|EnabledIfEnvironmentVariable", AskedFor),
    row(JVM, &[Marked], "**.EnabledIfSystemProperty", AskedFor),
    row(JVM, &[Run], "**.assumeTrue|assume|assumeNotNull|assumingThat", Fails("")),
    row(JVM, &[Run], "**.assumeFalse", Holds("")),
    row(JVM, &[Run], "**.Assumptions.abort", Always),
    row(JVM, &[Run], "abort", Always),
    row(
        JVM,
        &[Run],
        "**.AssumptionViolatedException|SkipException|TestAbortedException|TestSkippedException",
        Always,
    ),
    row(JVM, &[Run], "**.System.exit", ZeroOrNone),
    row(JVM, &[Run], "exitProcess", ZeroOrNone),
    row(CSHARP, &[Marked], "**.Ignore|IgnoreAttribute|Explicit|ExplicitAttribute", Always),
    row(CSHARP, &[Marked], "**", Named("Skip|Ignore|IgnoreReason|Explicit")),
    row(CSHARP, &[Run], "**.Assert.Ignore|Inconclusive|Skip|Pass", Always),
    row(CSHARP, &[Run], "**.Assert.SkipWhen", Holds("")),
    row(CSHARP, &[Run], "**.Assert.SkipUnless", Fails("")),
    row(CSHARP, &[Run], "**.Assume.That", Fails("")),
    row(CSHARP, &[Run], "**.Skip.If", Holds("")),
    row(CSHARP, &[Run], "**.Skip.IfNot", Fails("")),
    row(
        CSHARP,
        &[Run],
        "**.IgnoreException|InconclusiveException|SkipException|AssertInconclusiveException",
        Always,
    ),
    row(CSHARP, &[Run], "**.Environment.Exit", ZeroOrNone),
    row(RUBY, &[Marked], "xit|xdescribe|xcontext|xspecify|xexample|xscenario|xfeature|skip|pending", Always),
    row(RUBY, &[Marked], "RSpec.xdescribe|xcontext", Always),
    row(RUBY, &[Given], "skip|pending|unless", Holds("")),
    row(RUBY, &[Given], "if", Fails("")),
    row(RUBY, &[Run], "next", Always),
    row(RUBY, &[Run], "skip|pending|omit|pend", Always),
    row(RUBY, &[Run], "self.skip|pending|omit|pend", Always),
    row(RUBY, &[Run], "omit_if|skip_if", Holds("")),
    row(RUBY, &[Run], "omit_unless|skip_unless", Fails("")),
    row(RUBY, &[Run], "**.SkipDeclaredInExample|Skip", Always),
    row(RUBY, &[Run], "**.SkipDeclaredInExample|Skip.new", Always),
    row(RUBY, &[Run], "exit|exit!", HoldsOrNone),
    row(PHP, &[Marked], "**.skip|todo", HoldsOrNone),
    row(PHP, &[Marked], "**.skipOnCi", Always),
    row(PHP, &[Marked], "todo", Always),
    row(PHP, &[Run], "**.markTestSkipped|markTestIncomplete", Always),
    row(PHP, &[Run], "**.Skipped*|Incomplete*", Always),
    row(PHP, &[Run], "exit|die", ZeroOrNone),
    row(C, &[Marked], "DISABLED_*", Always),
    row(C, &[Run], "GTEST_SKIP|GTEST_SKIP_|SKIP", Always),
    row(C, &[Run], "exit|_exit|quick_exit", ZeroOrNone),
    row(C, &[Run], "std.exit|_Exit|quick_exit", ZeroOrNone),
];

/// Returns the first name or call of a mark by which a framework skips.
pub(super) fn skip<'m>(language: Option<&str>, mark: &'m Mark) -> Option<&'m Spelled> {
    mark.spelled.iter().find(|spelled| skips(language, spelled))
}

/// Returns the first name or call of a mark that skips by a variable of the environment.
pub(super) fn asked_for<'m>(language: Option<&str>, mark: &'m Mark) -> Option<&'m Spelled> {
    mark.spelled.iter().find(|spelled| rows_of(language, spelled).any(|row| row.when.is_asked_for(spelled)))
}

/// Returns what a mark needs somebody to give, each word behind its kind.
pub(super) fn needed(language: Option<&str>, mark: &Mark) -> Vec<String> {
    let mut words = Vec::new();
    for spelled in mark.spelled.iter() {
        let given = spelled.arguments.iter().flatten().filter_map(|argument| argument.value.text.as_deref());
        if spelled.path == NEEDS {
            words.extend(given.map(str::to_owned));
        } else if rows_of(language, spelled).any(|row| matches!(row.when, Installed)) {
            words.extend(given.take(1).map(|module| format!("module:{module}")));
        }
    }
    words
}

/// Returns whether a path that is called or set may skip, by its last name.
pub(super) fn asks(language: Language, form: Form, path: &str) -> bool {
    let language = match language {
        Language::C | Language::Cpp => "c",
        Language::CSharp => "c#",
        Language::Go => "go",
        Language::Java | Language::Kotlin => "java",
        Language::JavaScript | Language::Tsx | Language::TypeScript => "javascript",
        Language::Php => "php",
        Language::Python => "python",
        Language::Ruby => "ruby",
        Language::Rust => "rust",
    };
    rows(language, form, path).next().is_some()
}

/// The rows of one language by the last name of their paths: most names are in none.
#[derive(Default)]
struct Ends {
    named: BTreeMap<&'static str, Vec<&'static Row>>,
    /// Rows whose last name may be one of many.
    open: Vec<&'static Row>,
}

static ENDS: LazyLock<BTreeMap<&str, Ends>> = LazyLock::new(|| {
    let mut all: BTreeMap<&str, Ends> = BTreeMap::new();
    for row in ROWS {
        for language in row.languages {
            let ends = all.entry(language).or_default();
            for last in last_name(row.path).split('|') {
                // Of the beginning of a name, or of any names.
                match last.ends_with('*') {
                    true => ends.open.push(row),
                    false => ends.named.entry(last).or_default().push(row),
                }
            }
        }
    }
    all
});

/// Returns the rows whose last name may be that of a path.
fn rows(language: &str, form: Form, path: &str) -> impl Iterator<Item = &'static Row> {
    let (ends, last) = (ENDS.get(language), last_name(path));
    let named = ends.and_then(|ends| ends.named.get(last)).into_iter().flatten();
    let open = ends.map(|ends| &ends.open).into_iter().flatten();
    let open = open.filter(move |row| match last_name(row.path) {
        "**" => true,
        end => is_part(end, last),
    });
    named.chain(open).copied().filter(move |row| row.forms.contains(&form))
}

fn last_name(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn skips(language: Option<&str>, spelled: &Spelled) -> bool {
    rows_of(language, spelled).any(|row| row.when.applies(language, spelled))
}

/// Returns the rows whose path is that of a name or call.
fn rows_of<'s>(language: Option<&'s str>, spelled: &'s Spelled) -> impl Iterator<Item = &'static Row> + 's {
    let rows = language.into_iter().flat_map(|language| rows(language, spelled.form, &spelled.path));
    rows.filter(|row| {
        let [pattern, parts] =
            [row.path, spelled.path.as_str()].map(|path| path.split('.').collect::<Vec<&str>>());
        is_path(&pattern, &parts)
    })
}

fn is_path(pattern: &[&str], parts: &[&str]) -> bool {
    match (pattern, parts) {
        ([], []) => true,
        (["**", rest @ ..], _) => {
            is_path(rest, parts) || parts.split_first().is_some_and(|(_, others)| is_path(pattern, others))
        }
        ([first, rest @ ..], [part, others @ ..]) => is_part(first, part) && is_path(rest, others),
        ([], [_, ..]) | ([_, ..], []) => false,
    }
}

fn is_part(pattern: &str, part: &str) -> bool {
    pattern.split('|').any(|alternative| match alternative.strip_suffix('*') {
        // A word of a framework goes on with a capital letter.
        Some(beginning) => part
            .strip_prefix(beginning)
            .is_some_and(|rest| beginning.len() > 1 || rest.starts_with(|first: char| first.is_uppercase())),
        None => alternative == part || alternative == "+",
    })
}

impl When {
    fn applies(self, language: Option<&str>, spelled: &Spelled) -> bool {
        let given = spelled.arguments.as_deref().unwrap_or_default();
        match self {
            Always => true,
            HasArgument => !given.is_empty(),
            Holds(name) => argument(given, name).is_some_and(holds),
            Fails(name) => argument(given, name).is_some_and(fails),
            HoldsOrNone => given.first().is_none_or(holds),
            NoneOrText => given.first().is_none_or(|first| first.value.text.is_some()),
            ZeroOrNone => given.first().is_none_or(|first| is_zero(language, first)),
            Named(names) => given.iter().any(|argument| {
                names.split('|').any(|name| name == argument.name) && argument.value.constant != Some(false)
            }),
            NamedZero(name) => {
                let second = given.get(1).filter(|second| second.name.is_empty() && name == "returncode");
                let mut named = given.iter().filter(|argument| argument.name == name).chain(second);
                named.any(|argument| argument.value.constant == Some(false))
            }
            NoPlatform(name) => argument(given, name).is_none_or(|condition| {
                !condition.value.is_platform && condition.value.constant != Some(false)
            }),
            Marks => given.first().is_some_and(|first| {
                let path: Vec<&str> = first.value.path.split('.').collect();
                is_path(&["**", "mark", "skip|xfail"], &path)
                    || matches!(first.value.text.as_deref(), Some("skip" | "xfail"))
            }),
            Drops => given
                .first()
                .is_some_and(|first| first.value.constant == Some(false) || first.value.is_filtered),
            MatchesAll => {
                let matched = given.iter().filter(|argument| argument.name == "matches");
                let mut texts = matched.filter_map(|argument| argument.value.text.as_deref());
                texts.any(|text| match text {
                    ".*" | ".+" | "(?s).*" => true,
                    "" | "^$" | "0" | "false" => false,
                    _ => given.iter().any(is_of_ci),
                })
            }
            AskedFor | Installed => false,
        }
    }

    /// Returns whether the row skips by a variable of the environment, where it does not skip in every run.
    fn is_asked_for(self, spelled: &Spelled) -> bool {
        let given = spelled.arguments.as_deref().unwrap_or_default();
        let condition = match self {
            AskedFor => return !given.iter().any(|argument| is_of_platform(argument) || is_of_ci(argument)),
            Holds(name) | Fails(name) => argument(given, name),
            HoldsOrNone => given.first(),
            Always | Drops | HasArgument | Installed | Marks | MatchesAll | Named(_) | NamedZero(_)
            | NoPlatform(_) | NoneOrText | ZeroOrNone => None,
        };
        condition.is_some_and(|condition| condition.value.reads_environment)
    }
}

/// Returns the argument of a name, or else the first without one.
fn argument<'a>(given: &'a [Argument], name: &str) -> Option<&'a Argument> {
    let named = given.iter().find(|argument| !name.is_empty() && argument.name == name);
    named.or_else(|| given.first().filter(|first| first.name.is_empty() || name.is_empty()))
}

/// Returns whether the property that a condition of JUnit names tells the platform or the version of the language.
fn is_of_platform(argument: &Argument) -> bool {
    let name = argument.value.text.as_deref().filter(|_| argument.name == "named").unwrap_or_default();
    ["java.", "os.", "sun."].iter().any(|begin| name.starts_with(begin))
}

/// Returns whether a condition of JUnit names a variable that every run of a CI sets.
fn is_of_ci(argument: &Argument) -> bool {
    argument.name == "named" && argument.value.text.as_deref().is_some_and(is_ci_variable)
}

fn holds(argument: &Argument) -> bool {
    match argument.value.text.as_deref() {
        // A few frameworks evaluate a string as the condition.
        Some("False" | "false" | "0" | "#{false}" | "${false}") => false,
        _ => argument.value.constant == Some(true),
    }
}

fn fails(argument: &Argument) -> bool {
    matches!(argument.value.text.as_deref(), Some("False" | "false" | "0" | "#{false}" | "${false}"))
        || argument.value.constant == Some(false)
}

/// Returns whether an exit code is the one of success. Zero is true in Ruby.
fn is_zero(language: Option<&str>, argument: &Argument) -> bool {
    argument.value.constant == Some(language == Some("ruby"))
}

#[cfg(test)]
mod tests {
    use super::is_path;

    #[test]
    fn a_path_matches_by_its_parts() {
        for (pattern, path, expected) in [
            ("**.mark.skip", "pytest.mark.skip", true),
            ("**.mark.skip", "mark.skip", true),
            ("**.mark.skip", "remark.skip", false),
            ("it|test.**.skip.**", "it.concurrent.skip.each", true),
            ("it|test.**.skip.**", "emit.skip", false),
            ("P*", "PDescribe", true),
            ("P*", "Parse", false),
            ("pytest_*.**.+.outcome", "pytest_a.outcome", false),
            ("pytest_*.**.+.outcome", "pytest_a.report.outcome", true),
            ("DISABLED_*", "DISABLED_adds", true),
        ] {
            let [pattern_parts, parts] = [pattern, path].map(|text| text.split('.').collect::<Vec<&str>>());
            assert_eq!(is_path(&pattern_parts, &parts), expected, "{pattern} {path}");
        }
    }
}
