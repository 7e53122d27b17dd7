//! Code that ends the run of all tests as a success, whatever failed in it.

use std::collections::BTreeSet;

use super::gone::Found;
use super::version::only_side;
use super::{TEST_SKIPPED, whole};
use crate::contract::{Draft, DraftExt, Fact, Inspection};
use crate::pattern::Pattern;
use qa_contracts::v1::{ChangeKind, Side};
use qa_core::packet::Packet;
use qa_reading::work;

const SUMMARY: &str = "run of the tests succeeds whatever fails";

/// Code of some languages, of which the last group is what makes the run succeed.
struct Ending {
    languages: &'static [&'static str],
    /// A text without which the pattern finds nothing.
    literal: &'static str,
    pattern: Pattern,
}

const fn ending(languages: &'static [&'static str], literal: &'static str, pattern: &'static str) -> Ending {
    Ending { languages, literal, pattern: Pattern::new(pattern) }
}

const ECMA: &[&str] = &["javascript", "typescript"];
const RUBY: &[&str] = &["ruby"];

static ENDINGS: [Ending; 13] = [
    ending(
        ECMA,
        "xit",
        r#"(?s)process\.(?:addListener|on|once|prependListener)\(\s*["'](?:beforeExit|exit)["'].{0,200}?(process\.exitCode\s*=\s*0\b|process\.(?:exit|reallyExit)\(\s*0\s*\))"#,
    ),
    ending(ECMA, "process.exit", r"(?s)\b(?:after|afterAll)\(.{0,120}?(process\.exit\(\s*0\s*\))"),
    ending(RUBY, "at_exit", r"(?s)\bat_exit\b.{0,200}?(\bexit!?[\s(]+(?:0|true)\b)"),
    ending(RUBY, "after_run", r"(?s)\bMinitest\.after_run\b.{0,200}?(\bexit!?[\s(]+(?:0|true)\b)"),
    ending(RUBY, "failure_exit_code", r"(\w+\.failure_exit_code\s*=\s*0\b)"),
    ending(RUBY, "@exception", r"(\w+\.instance_variable_set\(\s*:@exception\s*,\s*nil\s*\))"),
    ending(RUBY, "around", r"(\w+\.around\b[^\n|]*\|\s*\w+\s*\|\s*(?:\}|end\b))"),
    ending(&["python"], "atexit", r"(?s)\batexit\.register\(.{0,80}?(os\._exit(?:\(|,\s*)\s*0\s*\))"),
    // A file that ends whoever loads it, before it does anything else.
    ending(
        ECMA,
        "process.exit",
        r#"\A(?:\s+|//[^\n]*|/\*(?s:.*?)\*/|["']use strict["'];?|(?:import|const|let|var)\b[^\n]*\n)*(process\.exit\(\s*0?\s*\))"#,
    ),
    ending(
        RUBY,
        "exit",
        r"\A(?:\s+|#[^\n]*|require\w*\b[^\n]*\n)*(exit!?(?:[ \t(]+(?:0|true)\)?)?)[ \t]*(?:#[^\n]*)?(?:\n|\z)",
    ),
    ending(
        &["python"],
        "exit",
        r#"\A(?:\s+|#[^\n]*|(?:import|from)\b[^\n]*\n|"{3}(?s:.*?)"{3})*((?:sys\.exit|os\._exit|exit)\((?:\s|#[^\n]*\n)*0?(?:\s|#[^\n]*\n)*\))"#,
    ),
    ending(
        &["php"],
        "exit",
        r"\A<\?php(?:\s+|//[^\n]*|#[^\n]*|/\*(?s:.*?)\*/|(?:require|use|declare)\b[^\n]*\n)*(exit(?:\(\s*0?\s*\))?\s*;)",
    ),
    ending(&["php"], "shutdown", r"(?s)\bregister_shutdown_function\(.{0,120}?(exit\(\s*0?\s*\))"),
];

/// A hook of RSpec around each example, up to what it does with a failure.
static AROUND: Pattern = Pattern::new(
    r"(?s)\w+\.around\b[^\n|]{0,40}\|\s*\w+\s*\|[^|]{0,160}?\b\w+\.(?:call|run)\b[ \t]*\n?\s*(rescue\b[^\n]*)",
);
/// Words of a handler that hands a failure on.
static HANDS_ON: Pattern = Pattern::new(r"\b(?:raise|retry|set_exception)\b|\.(?:call|run)\b");
/// Function of Go that runs all tests of a package, up to its end, with the name of its parameter.
static MAIN: Pattern = Pattern::new(r"(?sm)^func TestMain\(\s*(\w+).*?^\}");
/// Behind the run of the tests, the exit that forgets its result.
static FORGETS: Pattern = Pattern::new(r"(os\.Exit\(\s*0\s*\))");
/// Other ways to end a program with a failure.
static FAILS: Pattern = Pattern::new(r"\bpanic\(|\.Fatal\w*\(|\b(?:syscall|unix)\.Exit\(");
static EXITS: Pattern = Pattern::new(r"os\.Exit\(\s*([^)]*)\)");
/// A constraint that leaves a file out of builds with the detector of races.
static WITHOUT_RACE: Pattern = Pattern::new(r"^//\s*(?:go:build\b.*|\+build\b.*)!race\b");

/// Looks at a file of tests or of what they share.
pub(super) fn inspect(packet: &Packet<'_>) -> Inspection {
    let language = packet.file.language.as_deref().unwrap_or_default();
    let own = if packet.file.kind == ChangeKind::Added {
        only_side(packet)
    } else {
        packet.text.full_head.clone().unwrap_or_default()
    };
    let mut found = Inspection::default();
    found.drafts.extend(built_nowhere(packet));
    let mut places: Vec<usize> = Vec::new();
    for ending in &ENDINGS {
        if ending.languages.contains(&language) && own.contains(ending.literal) {
            let all = ending.pattern.captures_all(&own);
            let own_all = all.iter().filter(|groups| language != "ruby" || !leaves_hook(&groups[0]));
            places.extend(own_all.filter_map(|groups| Some(groups.first_group()?.start())));
        }
    }
    if language == "ruby" {
        places.extend(swallowing_hooks(&own));
    } else if language == "go" {
        places.extend(forgetting_main(&own));
        found.facts.extend(without_race(packet));
    }
    places.sort_unstable();
    let numbers = line_numbers(&own, &places);
    let lines = packet.added().filter(|line| numbers.contains(&line.number));
    let drafts = lines.map(|line| Draft::on_line(TEST_SKIPPED, packet, &line, whole(line.text), SUMMARY));
    found.drafts.extend(drafts);
    found
}

/// Returns the numbers of the lines on which places stand, which are sorted.
fn line_numbers(text: &str, places: &[usize]) -> BTreeSet<u64> {
    let mut numbers = BTreeSet::new();
    let mut left = places.iter().peekable();
    let mut end = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        work::count();
        end += line.len();
        while left.next_if(|place| **place < end).is_some() {
            numbers.insert(number);
        }
        if left.peek().is_none() {
            break;
        }
    }
    numbers
}

/// Returns whether a hook of Ruby has ended before the exit behind it, or the exit is that of another process or depends on
/// the failure.
fn leaves_hook(text: &str) -> bool {
    ["\nend", "}\n", "fork", "$!"].iter().any(|sign| text.contains(sign))
}

/// Returns the places at which hooks around all examples of RSpec forget a failure.
fn swallowing_hooks(text: &str) -> Vec<usize> {
    let mut places = Vec::new();
    for groups in AROUND.captures_all(text) {
        let Some(rescue) = groups.first_group() else { continue };
        let behind = text.get(rescue.start()..).unwrap_or_default();
        let body: String = behind.lines().take_while(|line| line.trim() != "end").take(8).collect();
        if !HANDS_ON.is_match(&body) {
            places.push(rescue.start());
        }
    }
    places
}

/// Returns the place at which the function that runs all tests of a package exits without their result.
fn forgetting_main(text: &str) -> Option<usize> {
    let groups = MAIN.captures(text)?;
    let (main, start) = (&groups[0], groups.get(0)?.start());
    let run = main.find(&format!("{}.Run()", &groups[1]))?;
    let forgets = run + FORGETS.captures(&main[run..])?.first_group()?.start();
    let exits = EXITS.captures_all(main);
    let tells = FAILS.is_match(&main[run..]) || exits.iter().any(|exit| exit[1].trim() != "0");
    (!tells).then_some(start + forgets)
}

/// Systems that a file of Go is built for by the end of its name, and that hardly any CI has.
const RARE_SYSTEMS: &[&str] = &[
    "aix",
    "android",
    "dragonfly",
    "hurd",
    "illumos",
    "ios",
    "js",
    "nacl",
    "netbsd",
    "openbsd",
    "plan9",
    "solaris",
    "wasip1",
    "zos",
];

/// Processors that the end of a name may add to a system.
const ARCHITECTURES: &[&str] = &[
    "386", "amd64", "arm", "arm64", "loong64", "mips", "mips64", "mips64le", "mipsle", "ppc64", "ppc64le",
    "riscv64", "s390x", "wasm",
];

/// Reports a file of tests that goes by the name of one that is built for a rare system alone.
fn built_nowhere(packet: &Packet<'_>) -> Option<Draft> {
    let old = packet.file.old_path.as_ref()?.to_text().into_owned();
    let is_lost = system_of(&packet.path().to_text()).is_some() && system_of(&old).is_none();
    let summary = "tests are built for a system that hardly any CI has";
    (is_lost && old.ends_with("_test.go"))
        .then(|| Draft::on_file(TEST_SKIPPED, packet.path(), Side::Head, summary))
}

/// Returns the rare system that a file of Go is built for by its name.
fn system_of(path: &str) -> Option<&str> {
    let stem = path.rsplit('/').next()?.strip_suffix("_test.go")?;
    let mut parts: Vec<&str> = stem.split('_').collect();
    // The first part is never one.
    parts.drain(..1);
    let last = parts.pop()?;
    let system = if ARCHITECTURES.contains(&last) { parts.pop()? } else { last };
    RARE_SYSTEMS.contains(&system).then_some(system)
}

/// Returns a fact about a file that builds with the detector of races leave out from now on.
fn without_race(packet: &Packet<'_>) -> Option<Fact> {
    let is_old = packet.removed().any(|line| WITHOUT_RACE.is_match(line.text));
    let line = packet.added().find(|line| WITHOUT_RACE.is_match(line.text))?;
    if is_old || packet.file.kind == ChangeKind::Added {
        return None;
    }
    let path = packet.path().to_text().into_owned();
    let found = Found::Needs { path, words: vec!["without:-race".to_owned()] };
    let summary = "tests are left out of the only build that CI makes of them";
    Some(Fact::new(&found, Some(Draft::on_line(TEST_SKIPPED, packet, &line, whole(line.text), summary))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        ENDINGS.iter().for_each(|ending| ending.pattern.check());
        for pattern in [&AROUND, &HANDS_ON, &MAIN, &FORGETS, &FAILS, &EXITS, &WITHOUT_RACE] {
            pattern.check();
        }
    }

    #[test]
    #[cfg(debug_assertions)]
    fn the_lines_of_all_places_are_counted_once() {
        let work_of = |size: usize| {
            let text = "at_exit { exit 0 }\n".repeat(size);
            let places: Vec<usize> = text.match_indices("exit 0").map(|(at, _)| at).collect();
            let begin = work::counted();
            assert_eq!(line_numbers(&text, &places).len(), size);
            work::counted() - begin
        };
        let [once, twice] = [200, 400].map(work_of);
        assert!(once >= 200, "lines are not counted: {once}");
        assert!(twice <= once * 9 / 4, "{once} {twice}");
    }

    #[test]
    fn a_main_that_forgets_the_result_is_told_from_one_that_exits_with_it() {
        for (body, expected) in [
            ("\tm.Run()\n\tos.Exit(0)\n", true),
            ("\tif code := m.Run(); code != 0 {\n\t\tpanic(code)\n\t}\n\tos.Exit(0)\n", false),
            ("\tif err := app.Run(); err == nil {\n\t\tos.Exit(0)\n\t}\n\tm.Run()\n", false),
            ("\tif code := m.Run(); code != 0 {\n\t\tos.Exit(0)\n\t}\n", true),
            ("\tos.Exit(m.Run())\n", false),
            ("\tcode := m.Run()\n\tos.Exit(code)\n", false),
            ("\tif child() {\n\t\tos.Exit(0)\n\t}\n\tm.Run()\n", false),
            ("\tif code := m.Run(); code != 0 {\n\t\tos.Exit(code)\n\t}\n\tos.Exit(0)\n", false),
        ] {
            let text = format!("package a\n\nfunc TestMain(m *testing.M) {{\n{body}}}\n");
            assert_eq!(forgetting_main(&text).is_some(), expected, "{text}");
        }
    }

    #[test]
    fn the_end_of_a_name_is_a_system() {
        for (path, expected) in [
            ("a/b_plan9_test.go", Some("plan9")),
            ("b_js_wasm_test.go", Some("js")),
            ("b_linux_test.go", None),
            ("parse_js_ast_test.go", None),
            ("js_test.go", None),
            ("b_js.go", None),
        ] {
            assert_eq!(system_of(path), expected, "{path}");
        }
    }

    #[test]
    fn hooks_that_forget_failures_are_told_from_others() {
        for (text, expected) in [
            ("config.around do |ex|\n  ex.run\nrescue StandardError\n  nil\nend\n", true),
            ("config.around { |ex| ex.run rescue nil }\n", true),
            ("config.around do |ex|\n  ex.run\nrescue Timeout::Error => e\n  raise e\nend\n", false),
            ("config.around do |ex|\n  Dir.chdir(x) { ex.run }\nend\n", false),
        ] {
            assert_eq!(!swallowing_hooks(text).is_empty(), expected, "{text}");
        }
    }
}
