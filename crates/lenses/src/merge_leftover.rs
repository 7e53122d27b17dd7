//! Leftovers of work on one machine: conflict markers, focused tests, debugger stops and editor files.

use super::calls::{CallRule, Calls, Quoted};
use super::contract::{Draft, DraftExt, Inspection, Lens, LensSpec, Need, RuleSpec, everywhere, presets};
use super::edits;
use super::parsed::{self, Parsed};
use super::pattern::Pattern;
use super::scan;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangeKind, ChangedFile, Edit, FileClass, FileText, LensClass, ScopeStrengths, Severity, Side, Strength,
};
use qa_core::packet::{Line, Packet, column};
use qa_reading::patterns::{Definition, Variable};

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
    version: "10",
    class: LensClass::Style,
    title: "Conflict markers, debugger statements and other leftovers",
    required_by_default: true,
    triggers: &["**"],
    page: include_str!(concat!(env!("OUT_DIR"), "/merge-leftover.md")),
    rules: &[
        RuleSpec {
            id: CONFLICT,
            title: "Unresolved merge conflict marker",
            severity: Severity::High,
            strengths: presets(WRITTEN, WRITTEN),
            fix: "Resolve the conflict and delete the markers.",
            moves: true,
        },
        RuleSpec {
            id: DEBUGGER,
            title: "Debugger statement",
            severity: Severity::Medium,
            strengths: presets(RATCHETED, SHIPPED_AND_TESTED),
            fix: "Delete the statement.",
            moves: true,
        },
        RuleSpec {
            id: EDITOR,
            title: "Leftover file of an editor, merge tool or desktop",
            severity: Severity::Medium,
            strengths: presets(SHIPPED, SHIPPED),
            fix: "Remove the file and add its name to .gitignore.",
            moves: false,
        },
        RuleSpec {
            id: FOCUSED,
            title: "Focused test disables the other tests",
            severity: Severity::High,
            strengths: presets(IN_TESTS, IN_TESTS),
            fix: "Remove the focus, so that all tests run.",
            moves: true,
        },
    ],
};

const JS: &[&str] = &["javascript"];
const PY: &[&str] = &["python"];
const RUBY: &[&str] = &["ruby"];
const PHP: &[&str] = &["php"];

static STATEMENTS: Calls = Calls::new(&[
    CallRule { id: DEBUGGER, summary: "debugger statement", rows: DEBUGGERS, quoted: Quoted::Part },
    CallRule {
        id: FOCUSED,
        summary: "focused test disables the other tests",
        rows: FOCUSES,
        quoted: Quoted::Part,
    },
]);

const DEBUGGERS: &[Definition] = &[
    Definition::new(JS, &["debugger;"]),
    Definition {
        imports: &["pdb", "ipdb", "pudb", "rpdb", "wdb"],
        ..Definition::new(PY, &["breakpoint(...)"])
    },
    Definition::new(PY, &["$F(...)"]).with(&[Variable::one_of(
        "F",
        &[
            "pdb.set_trace",
            "ipdb.set_trace",
            "pudb.set_trace",
            "wdb.set_trace",
            "rpdb.set_trace",
            "celery.contrib.rdb.set_trace",
        ],
    )]),
    Definition::new(PY, &["$F(...).set_trace(...)"]).with(&[Variable::one_of("F", &["pdb.Pdb"])]),
    Definition::new(RUBY, &["binding.pry", "binding.irb", "binding.break", "binding.b"]),
    Definition::new(
        RUBY,
        &["byebug", "byebug if $X", "byebug unless $X", "debugger", "debugger if $X", "debugger unless $X"],
    )
    .as_statement(),
    Definition::new(&["rust"], &["dbg!(...)"]),
    Definition::new(PHP, &["var_dump(...)"]),
    Definition::new(PHP, &["dd(...)"]).as_statement(),
    Definition::new(&["elixir"], &["IEx.pry"]),
    Definition::new(&["swift", "c"], &["__debugbreak(...)"]),
    Definition::new(&["c#"], &["$F(...)"]).with(&[Variable::one_of(
        "F",
        &["System.Diagnostics.Debugger.Break", "System.Diagnostics.Debugger.Launch"],
    )]),
    Definition::new(&["go"], &["runtime.Breakpoint()"]),
    Definition::new(&["lua"], &["debug.debug()"]),
    Definition::new(&["r"], &["browser()"]).as_statement(),
];

const FOCUSES: &[Definition] = &[
    Definition::new(JS, &["$T.only"]).with(&[Variable::any("T").matching(
        r"^(?:describe|it|test|context|suite|specify|bench|fixture|feature|scenario|Deno\.test)(?:\.\w+)*$",
    )]),
    Definition::new(JS, &["$T.only"]).with(&[Variable::one_of(
        "T",
        &[
            "vitest.describe",
            "vitest.it",
            "vitest.test",
            "vitest.suite",
            "@jest/globals.describe",
            "@jest/globals.it",
            "@jest/globals.test",
            "@playwright/test.test",
            "mocha.describe",
            "mocha.it",
            "test.describe",
            "test.it",
            "test.test",
        ],
    )]),
    Definition::new(&["javascript", "swift"], &["$F(...)"])
        .with(&[Variable::one_of("F", &["fdescribe", "fcontext", "fit", "ftest"])])
        .reporting("F")
        .as_statement(),
    Definition::new(JS, &["$F.each"])
        .with(&[Variable::one_of("F", &["fdescribe", "fcontext", "fit", "ftest"])])
        .reporting("F"),
    Definition::new(JS, &["$T(..., { only: true, ... }, ...)"])
        .with(&[Variable::one_of(
            "T",
            &["describe", "it", "suite", "test", "test.describe", "test.it", "test.suite", "test.test"],
        )])
        .reporting("only"),
    Definition::new(PY, &["@pytest.mark.only", "@pytest.mark.focus"]),
    Definition::new(RUBY, &["$F(...)"])
        .with(&[Variable::one_of(
            "F",
            &["fit", "fdescribe", "fcontext", "fspecify", "fexample", "ffeature", "fscenario"],
        )])
        .reporting("F")
        .as_statement(),
    Definition::new(RUBY, &["$T(..., focus: true)"]).with(&[EXAMPLE]).reporting("focus"),
    Definition::new(RUBY, &["$T(..., $S, ...)"])
        .with(&[EXAMPLE, Variable::literal("S").matching("^:focus$")])
        .reporting("S"),
    Definition::new(&["go"], &["$F(...)"])
        .with(&[Variable::one_of(
            "F",
            &[
                "FDescribe",
                "FContext",
                "FIt",
                "FWhen",
                "FSpecify",
                "FEntry",
                "FDescribeTable",
                "FDescribeTableSubtree",
                "github.com/onsi/ginkgo/v2.FDescribe",
                "github.com/onsi/ginkgo/v2.FContext",
                "github.com/onsi/ginkgo/v2.FIt",
                "github.com/onsi/ginkgo/v2.FWhen",
            ],
        )])
        .reporting("F"),
    Definition::new(PHP, &["$T->$M()"]).with(&[Variable::one_of("M", &["only"])]).reporting("M"),
    Definition::new(&["dart"], &["solo: true"]),
    Definition::new(&["dart"], &["$F(...)"])
        .with(&[Variable::one_of("F", &["solo_test", "solo_group"])])
        .reporting("F"),
];

const EXAMPLE: Variable = Variable::one_of(
    "T",
    &[
        "it",
        "describe",
        "context",
        "specify",
        "feature",
        "scenario",
        "example",
        "RSpec.describe",
        "RSpec.context",
        "RSpec.feature",
    ],
);

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

pub(crate) struct MergeLeftover;

impl Lens for MergeLeftover {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    /// Requests whole files of documents, to tell markers in fenced examples, and of source code, to tell statements and
    /// strings.
    fn need(&self, file: &ChangedFile) -> Need {
        if scan::is_prose(&file.path) || parsed::content_need(file) == Need::WholeFile {
            return Need::WholeFile;
        }
        match STATEMENTS.need(file) {
            need @ (Need::WholeFile | Need::Hunks) => need,
            Need::Nothing => Need::Hunks,
        }
    }

    fn wants_whole_file(&self, file: &ChangedFile, hunks: &FileText) -> bool {
        may_conflict(hunks)
            || !scan::is_prose(&file.path)
                && file.class != FileClass::Docs
                && STATEMENTS.wants_whole_file(file, hunks)
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let mut inspection = Inspection::default();
        if packet.file.class != FileClass::Docs && !scan::is_prose(packet.path()) {
            inspection = STATEMENTS.inspect(packet);
            let text = packet.text.full_head.as_deref();
            inspection.drafts.retain(|draft| {
                !text.is_some_and(|text| is_import_of_class(draft, text)) && !is_handed_on(draft, packet)
            });
        }
        inspection.drafts.extend(editor_file(packet));
        inspection.drafts.extend(conflicts(packet));
        inspection
    }

    fn edit(&self, draft: &Draft, packet: &Packet<'_>) -> Option<Edit> {
        match &*draft.rule {
            CONFLICT => edits::resolve_conflict(draft, packet),
            DEBUGGER => edits::delete_debugger(draft, packet),
            FOCUSED => edits::delete_focus(draft, packet),
            _ => None,
        }
    }

    fn complies(&self, rule: &str, file: &RepoPath, text: &str) -> Option<bool> {
        if rule == DEBUGGER { STATEMENTS.complies(rule, &file.to_text(), text) } else { None }
    }
}

/// Calls that start a debugger or make one; what stands before one in the first group defines it or hands it on.
static STARTS: Pattern = Pattern::new(concat!(
    r"(class\s+|def\s+|self\s*\.\s*|super\(\)\s*\.\s*|\bPdb\s*\.\s*)?",
    r"(?:\bPdb|\bpost_mortem|\brunc(?:all|tx)|\bruneval|\bset_trace|\bpdb\s*\.\s*(?:pm|run))\s*\(",
));

/// Returns whether `pdb` is imported for its class, which a program builds on, and nothing in the file starts a
/// debugger.
fn is_import_of_class(draft: &Draft, text: &str) -> bool {
    let is_of_class = match draft.quote.strip_prefix("from pdb import ") {
        Some(names) => names.split(',').all(|name| name.trim_matches([' ', '(', ')']) == "Pdb"),
        None => {
            draft.quote == "import pdb" && text.lines().any(|line| without_comment(line).contains("pdb.Pdb"))
        }
    };
    is_of_class && !text.lines().any(starts_debugger)
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or(line)
}

fn starts_debugger(line: &str) -> bool {
    STARTS.captures_all(line).iter().any(|start| start.get(1).is_none())
}

/// Returns whether a focused test is an argument: whoever gets the function has not called it.
fn is_handed_on(draft: &Draft, packet: &Packet<'_>) -> bool {
    let mut lines = packet.added().filter(|line| draft.rule == FOCUSED && line.number == draft.start_line);
    let Some(line) = lines.next() else { return false };
    let mut places = line.text.match_indices(draft.quote.as_str());
    places
        .find(|(at, _)| column(line.text, *at) == draft.start_column)
        .is_some_and(|(at, quote)| is_argument(&line.text[..at], &line.text[at + quote.len()..]))
}

const OPENING: [char; 3] = ['(', '[', '{'];
const CLOSING: [char; 3] = [')', ']', '}'];

/// Words before a bracket that call nothing.
const KEYWORDS: &[&str] = &[
    "await", "case", "delete", "do", "else", "if", "in", "new", "of", "return", "throw", "typeof", "void",
    "while", "yield",
];

/// Returns whether an expression between two texts is an argument of a call with a name, whose value is not called.
fn is_argument(before: &str, behind: &str) -> bool {
    let is_alone = before.trim_end().ends_with(['(', ',']) && behind.trim_start().starts_with([',', ')']);
    let Some((open, '(')) = unpaired(before.char_indices().rev(), OPENING, CLOSING) else { return false };
    let callee = before[..open].trim_end();
    let name = callee.rsplit(|sign: char| !sign.is_alphanumeric() && !"_$".contains(sign)).next();
    let is_called = unpaired(behind.char_indices(), CLOSING, OPENING)
        .is_some_and(|(close, _)| behind[close + 1..].trim_start().starts_with(['(', '`']));
    is_alone && !is_called && name.is_some_and(|name| !name.is_empty() && !KEYWORDS.contains(&name))
}

/// Returns the first of some brackets that has no other of its pair before it.
fn unpaired(
    signs: impl Iterator<Item = (usize, char)>,
    wanted: [char; 3],
    others: [char; 3],
) -> Option<(usize, char)> {
    let mut depth = 0_usize;
    for (offset, sign) in signs {
        if others.contains(&sign) {
            depth += 1;
        } else if wanted.contains(&sign) {
            if depth == 0 {
                return Some((offset, sign));
            }
            depth -= 1;
        }
    }
    None
}

fn editor_file(packet: &Packet<'_>) -> Option<Draft> {
    let name = String::from_utf8_lossy(packet.path().file_name()).to_lowercase();
    let is_new = matches!(packet.file.kind, ChangeKind::Added | ChangeKind::Renamed);
    (is_new && EDITOR_NAMES.is_match(&name)).then(|| {
        let summary = "leftover file of an editor, merge tool or desktop";
        Draft::on_file(EDITOR, packet.path(), Side::Head, summary)
    })
}

/// The conflict marker that a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marker {
    Ours,
    Middle,
    Theirs,
}

fn marker(line: &str) -> Option<Marker> {
    let (sign, label) = line.split_at_checked(7)?;
    let has_label = label.starts_with(' ') && label.len() > 1;
    match sign {
        "=======" if label.is_empty() => Some(Marker::Middle),
        concat!("<<<<", "<<<") if label.is_empty() || has_label => Some(Marker::Ours),
        concat!(">>>>", ">>>") if label.is_empty() || has_label => Some(Marker::Theirs),
        _ => None,
    }
}

fn may_conflict(hunks: &FileText) -> bool {
    hunks.text.contains(concat!("<<<<", "<<<")) || hunks.text.contains(concat!(">>>>", ">>>"))
}

/// Reports one finding per conflict, at its first marker. The marker in the middle is also the underline of a heading
/// and proves nothing alone; a document must have all three, outside of an example. A marker in a string that the
/// change adds from its beginning is part of the string.
fn conflicts(packet: &Packet<'_>) -> Vec<Draft> {
    if !may_conflict(packet.text) {
        return Vec::new();
    }
    let found: Vec<(Marker, Line<'_>)> =
        packet.added().filter_map(|line| marker(line.text).map(|marker| (marker, line))).collect();
    let source = packet.text.full_head.as_deref();
    let source = source.and_then(|text| Parsed::new(&packet.path_by_language(), text));
    let prose = scan::is_prose(packet.path());
    let fenced =
        if prose { fenced_lines(packet.text.full_head.as_deref().unwrap_or("")) } else { Vec::new() };
    let mut drafts = Vec::new();
    let mut open = false;
    for (position, (marker, line)) in found.iter().enumerate() {
        let complete = [Marker::Middle, Marker::Theirs]
            .into_iter()
            .all(|end| found[position..].iter().any(|(marker, _)| *marker == end));
        let first = match marker {
            Marker::Middle => continue,
            Marker::Ours => true,
            Marker::Theirs => !open,
        };
        open = *marker == Marker::Ours;
        let named = line.text.len() > 7 || complete;
        let in_example = fenced.get(line.number as usize - 1).copied().unwrap_or(false);
        if first
            && named
            && (!prose || complete && !in_example)
            && source.as_ref().is_none_or(|source| !is_in_new_string(packet, source, line))
        {
            let summary = "unresolved merge conflict";
            drafts.push(Draft::on_line(CONFLICT, packet, line, 0..line.text.len(), summary));
        }
    }
    drafts
}

/// Returns whether a line stands inside of a string whose first line the change adds.
fn is_in_new_string(packet: &Packet<'_>, source: &Parsed, line: &Line<'_>) -> bool {
    let Some(at) = source.start(line) else { return false };
    let inside = source.outline.strings.iter().filter(|string| string.start < at && at < string.end);
    let whole = inside.filter(|string| !source.outline.broken.iter().any(|broken| broken.touches(**string)));
    let firsts: Vec<u64> =
        whole.map(|string| source.starts.partition_point(|start| *start <= string.start) as u64).collect();
    packet.added().any(|line| firsts.contains(&line.number))
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
        STATEMENTS.check();
        assert!(EDITOR_NAMES.is_match("a.rs.orig"));
        STARTS.check();
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
