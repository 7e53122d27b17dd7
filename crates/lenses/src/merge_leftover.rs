//! What was meant to stay on one machine: conflict markers, focused tests, debugger stops and editor files.

use std::sync::LazyLock;

use super::contract::{Draft, Inspection, Lens, LensSpec, Need, RuleSpec, everywhere, presets};
use super::idioms::{Idiom, Table, code};
use super::pattern::Pattern;
use super::scan;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangeKind, ChangedFile, FileClass, FileText, LensClass, ScopeStrengths, Severity, Side, Strength,
};
use qa_core::classify;
use qa_core::packet::{Line, Packet};

const CONFLICT: &str = "merge-leftover/conflict-marker";
const DEBUGGER: &str = "merge-leftover/debugger-statement";
const EDITOR: &str = "merge-leftover/editor-file";
const FOCUSED: &str = "merge-leftover/focused-test";

const WRITTEN: ScopeStrengths =
    ScopeStrengths { generated: Strength::Advise, vendored: Strength::Advise, ..everywhere(Strength::Block) };
const RATCHETED: ScopeStrengths =
    ScopeStrengths { product: Strength::Ratchet, test: Strength::Advise, ..everywhere(Strength::Off) };
const SHIPPED: ScopeStrengths = ScopeStrengths { product: Strength::Block, ..everywhere(Strength::Advise) };
const IN_TESTS: ScopeStrengths = ScopeStrengths {
    product: Strength::Advise,
    test: Strength::Block,
    docs: Strength::Advise,
    generated: Strength::Off,
    vendored: Strength::Off,
};
const SHIPPED_AND_TESTED: ScopeStrengths =
    ScopeStrengths { product: Strength::Block, test: Strength::Block, ..everywhere(Strength::Off) };

static SPEC: LensSpec = LensSpec {
    id: "merge-leftover",
    version: "1",
    class: LensClass::Style,
    title: "What was meant to stay on one machine",
    required_by_default: true,
    triggers: &["**"],
    trigger_symbols: &[],
    page: include_str!("../../../tests/corpus/lenses/merge-leftover.md"),
    rules: &[
        RuleSpec {
            id: CONFLICT,
            title: "A marker of a merge conflict that was never resolved",
            severity: Severity::High,
            strengths: presets(WRITTEN, WRITTEN),
            fix: "Resolve the conflict and delete the markers.",
            moves: true,
        },
        RuleSpec {
            id: DEBUGGER,
            title: "A statement that stops in a debugger or dumps a value",
            severity: Severity::Medium,
            strengths: presets(RATCHETED, SHIPPED_AND_TESTED),
            fix: "Delete the statement.",
            moves: true,
        },
        RuleSpec {
            id: EDITOR,
            title: "A file that an editor, a merge tool or a desktop left behind",
            severity: Severity::Medium,
            strengths: presets(SHIPPED, SHIPPED),
            fix: "Remove the file and add its name to .gitignore.",
            moves: false,
        },
        RuleSpec {
            id: FOCUSED,
            title: "A test that runs alone and so switches off the others",
            severity: Severity::High,
            strengths: presets(IN_TESTS, IN_TESTS),
            fix: "Remove the focus, so that all tests run.",
            moves: true,
        },
    ],
};

const JS: &[&str] = &["javascript", "typescript", "html"];

static DEBUGGER_IDIOMS: &[Idiom] = &[
    code(JS, "debugger", r"(?:^|[\s;{}()])(debugger)\s*(?:;|$|\})"),
    code(&["python"], "breakpoint", r"(?:^|[\s;:])(breakpoint\s*\()"),
    code(
        &["python"],
        "set_trace",
        r"\b((?:pdb|ipdb|pudb|wdb|rpdb|celery\.contrib\.rdb|rdb)\.set_trace\s*\()",
    ),
    code(&["python"], "import", r"^\s*(?:import|from)\s+((?:i?pdb|pudb|ipdb|rpdb|wdb)\b)"),
    code(&["ruby", "html"], "binding.", r"(?:^|[\s;(])(binding\.(?:pry|irb|break|b))\b"),
    code(&["ruby"], "byebug", r"^\s*(byebug)\s*(?:$|;|#|if\b|unless\b)"),
    code(&["ruby"], "debugger", r"^\s*(debugger)\s*(?:$|;|#|if\b|unless\b)"),
    code(&["rust"], "dbg!", r"(?:^|[^\w])(dbg!\s*[(\[{])"),
    code(&["php"], "dump", r"(?:^|[\s;{@])(var_dump\s*\()"),
    code(&["php"], "dd(", r"^\s*(dd\()"),
    code(&["elixir"], "IEx", r"\b(IEx\.pry)\b"),
    code(&["swift", "c", "c++", "objective-c"], "__debugbreak", r"\b(__debugbreak\s*\()"),
    code(&["c#"], "Debugger", r"\b(Debugger\.(?:Break|Launch)\s*\()"),
    code(&["go"], "runtime.Breakpoint", r"\b(runtime\.Breakpoint\s*\()"),
    code(&["lua"], "debug.debug", r"\b(debug\.debug\s*\()"),
    code(&["r"], "browser(", r"^\s*(browser\(\))"),
];
static DEBUGGERS: LazyLock<Table> = LazyLock::new(|| Table::new(DEBUGGER_IDIOMS));

static FOCUS_IDIOMS: &[Idiom] = &[
    code(
        JS,
        ".only",
        r"(?:^|[^.\w])((?:describe|it|test|context|suite|specify|bench|fixture|feature|scenario|Deno\.test)(?:\.\w+)*\.only)(?:\.\w+)*\s*(?:[(<`]|$)",
    ),
    code(
        &["javascript", "typescript", "swift"],
        "f",
        r"^\s*((?:fdescribe|fcontext|fit|ftest))(?:\.each)?\s*\(",
    ),
    code(JS, "only", r"\b(?:test|it|describe|suite)\s*\(.*[{,]\s*(only\s*:\s*true)\b"),
    code(&["python"], "mark", r"^\s*(@pytest\.mark\.(?:only|focus))\b"),
    code(
        &["ruby"],
        "f",
        r#"^\s*((?:fit|fdescribe|fcontext|fspecify|fexample|ffeature|fscenario))(?:\s+["'A-Z]|\()"#,
    ),
    code(
        &["ruby"],
        "focus",
        r"^\s*(?:RSpec\.)?(?:it|describe|context|specify|feature|scenario|example)\b.*[,(\s](:focus\b|focus:\s*true\b|:focus\s*=>\s*true\b)",
    ),
    code(
        &["go"],
        "F",
        r"(?:^|[^\w.])((?:FDescribe|FContext|FIt|FWhen|FSpecify|FEntry|FDescribeTable|FDescribeTableSubtree))\s*\(",
    ),
    code(&["java", "kotlin", "scala", "groovy"], "@IgnoreRest", r"^\s*(@IgnoreRest)\b"),
    code(&["php"], "->only()", r"(->only\(\))\s*(?:;|->)"),
    code(&["dart"], "solo", r"(?:\b(solo\s*:\s*true)\b|^\s*((?:solo_test|solo_group))\s*\()"),
];
static FOCUSES: LazyLock<Table> = LazyLock::new(|| Table::new(FOCUS_IDIOMS));

static EDITOR_NAMES: Pattern = Pattern::new(concat!(
    r"^\.ds_store$",
    r"|^thumbs\.db$",
    r"|^desktop\.ini$",
    r"|\.(?:orig|rej)$",
    r"|^\..*\.sw[a-p]$",
    r"|[^~]~$",
    r"|^\.#",
    r"|^#.*#$",
    r"|\.(?:backup|base|local|remote)\.\d+(?:\.[^.]+)?$",
    r"|_(?:backup|base|local|remote)_\d+(?:\.[^.]+)?$",
    r"|^core\.\d+$",
    r"|^vgcore\.\d+$",
    r"|^hs_err_pid\d+\.log$",
    r"|^(?:npm|yarn|pnpm|lerna)-(?:debug|error)\.log",
));

/// The lens.
pub(crate) struct MergeLeftover;

impl Lens for MergeLeftover {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    /// Only the whole of a document tells whether a marker stands in a fenced example.
    fn need(&self, file: &ChangedFile) -> Need {
        if scan::is_prose(&file.path) { Need::WholeFile } else { Need::Hunks }
    }

    fn wants_whole_file(&self, _file: &ChangedFile, hunks: &FileText) -> bool {
        may_conflict(hunks)
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let mut drafts = Vec::new();
        drafts.extend(editor_file(packet));
        drafts.extend(conflicts(packet));
        if packet.file.class != FileClass::Docs && !scan::is_prose(packet.path()) {
            drafts.extend(statements(packet, DEBUGGER, &DEBUGGERS, "a statement left from debugging"));
            drafts.extend(statements(packet, FOCUSED, &FOCUSES, "a focused test switches off the others"));
        }
        Inspection { drafts, facts: Vec::new() }
    }

    fn complies(&self, rule: &str, file: &RepoPath, text: &str) -> Option<bool> {
        let language = classify::language(file);
        if rule != DEBUGGER || !DEBUGGERS.knows(language) {
            return None;
        }
        let mut scanner = scan::Scanner::new(language, true);
        Some(!text.lines().any(|line| DEBUGGERS.find(language, line, &scanner.line(line)).is_some()))
    }
}

fn editor_file(packet: &Packet<'_>) -> Option<Draft> {
    let name = String::from_utf8_lossy(packet.path().file_name()).to_lowercase();
    let is_new = matches!(packet.file.kind, ChangeKind::Added | ChangeKind::Renamed);
    (is_new && EDITOR_NAMES.is_match(&name)).then(|| {
        let summary = "an editor, a merge tool or a desktop left this file behind";
        Draft::on_file(EDITOR, packet.path(), Side::Head, summary)
    })
}

fn statements(packet: &Packet<'_>, rule: &'static str, table: &Table, summary: &str) -> Vec<Draft> {
    let language = packet.file.language.as_deref();
    packet
        .hunks()
        .filter(|hunk| table.may_match(language, &packet.text.text[hunk.added_span()]))
        .flat_map(|hunk| scan::added(language, hunk))
        .filter_map(|(line, parts)| {
            let span = table.find(language, line.text, &parts)?;
            Some(Draft::on_line(rule, packet, &line, span, summary))
        })
        .collect()
}

/// What a line says in a merge that stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marker {
    Ours,
    Middle,
    Theirs,
}

fn marker(line: &str) -> Option<Marker> {
    let named = |sign: &str| {
        line.strip_prefix(sign).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ') && rest.len() > 1)
    };
    if line == "=======" {
        Some(Marker::Middle)
    } else if named(concat!("<<<<", "<<<")) {
        Some(Marker::Ours)
    } else if named(concat!(">>>>", ">>>")) {
        Some(Marker::Theirs)
    } else {
        None
    }
}

fn may_conflict(hunks: &FileText) -> bool {
    hunks.text.contains(concat!("<<<<", "<<<")) || hunks.text.contains(concat!(">>>>", ">>>"))
}

/// One finding per conflict, at the marker that stands first. The marker in the middle is a heading's underline
/// elsewhere and proves nothing alone; a document must show all three, outside of an example.
fn conflicts(packet: &Packet<'_>) -> Vec<Draft> {
    if !may_conflict(packet.text) {
        return Vec::new();
    }
    let found: Vec<(Marker, Line<'_>)> =
        packet.added().filter_map(|line| marker(line.text).map(|marker| (marker, line))).collect();
    let prose = scan::is_prose(packet.path());
    let fenced =
        if prose { fenced_lines(packet.text.full_head.as_deref().unwrap_or("")) } else { Vec::new() };
    let mut drafts = Vec::new();
    let mut open = false;
    for (position, (marker, line)) in found.iter().enumerate() {
        let rest = || found[position..].iter().map(|(marker, _)| *marker);
        let complete = rest().any(|next| next == Marker::Middle) && rest().any(|next| next == Marker::Theirs);
        let first = match marker {
            Marker::Middle => continue,
            Marker::Ours => true,
            Marker::Theirs => !open,
        };
        open = *marker == Marker::Ours;
        let named = line.text.len() > 7 || complete;
        let in_example = fenced.get(line.number as usize - 1).copied().unwrap_or(false);
        if first && named && (!prose || complete && !in_example) {
            let summary = "a conflict of a merge was never resolved";
            drafts.push(Draft::on_line(CONFLICT, packet, line, 0..line.text.len(), summary));
        }
    }
    drafts
}

/// For each line of a document, whether it stands in a fenced example.
fn fenced_lines(text: &str) -> Vec<bool> {
    let mut open: Option<&str> = None;
    text.lines()
        .map(|line| {
            let fence = ["```", "~~~", "----"].into_iter().find(|fence| line.trim_start().starts_with(fence));
            match (open, fence) {
                (Some(begun), Some(fence)) if begun == fence => open = None,
                (None, Some("----")) if line.trim_end() != "----" => {}
                (None, Some(fence)) => open = Some(fence),
                _ => {}
            }
            open.is_some()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        DEBUGGERS.check();
        FOCUSES.check();
        assert!(EDITOR_NAMES.is_match("a.rs.orig"));
    }

    #[test]
    fn a_file_without_debugger_statements_complies() {
        let path = RepoPath::from_bytes(b"a.py").unwrap();
        let cases = [("x = 1\n", true), ("breakpoint()\n", false), ("# breakpoint()\n", true)];
        for (text, expected) in cases {
            assert_eq!(MergeLeftover.complies(DEBUGGER, &path, text), Some(expected), "{text}");
        }
        assert_eq!(MergeLeftover.complies(CONFLICT, &path, ""), None);
    }
}
