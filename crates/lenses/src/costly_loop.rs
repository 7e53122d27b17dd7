//! Work repeated in loops that could run once, or all at once.

use super::calls::{CallRule, Calls, Quoted};
use super::contract::{
    Census, Draft, DraftExt, Inspection, Lens, LensSpec, Need, everywhere, presets, text_rule,
};
use super::parsed::{self, Parsed};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangedFile, FileText, LensClass, PresetStrengths, ScopeStrengths, Severity, Strength,
};
use qa_core::classify;
use qa_core::packet::{Line, Packet};
use qa_reading::patterns::{Context, Definition, Variable};

const REGEX: &str = "costly-loop/regex-compiled";
const WAITS: &str = "costly-loop/awaited-in-turn";

const OFF: ScopeStrengths = everywhere(Strength::Off);
const BY_DEFAULT: ScopeStrengths = ScopeStrengths { product: Strength::Ratchet, ..OFF };
const RATCHET: PresetStrengths = presets(BY_DEFAULT, ScopeStrengths { test: Strength::Advise, ..BY_DEFAULT });
/// A literal argument is the same in every turn, which is certain enough to block in `guarded`.
const CERTAIN: PresetStrengths =
    presets(BY_DEFAULT, ScopeStrengths { product: Strength::Block, test: Strength::Advise, ..OFF });

static SPEC: LensSpec = LensSpec {
    id: "costly-loop",
    version: "7",
    class: LensClass::Performance,
    title: "Work repeated in loops",
    required_by_default: true,
    triggers: parsed::CODE,
    page: include_str!(concat!(env!("OUT_DIR"), "/costly-loop.md")),
    rules: &[
        text_rule(
            WAITS,
            "Independent calls are awaited one by one in a loop",
            Severity::Low,
            RATCHET,
            "Start all calls and await them together, or explain in a comment why their order matters.",
        ),
        text_rule(
            REGEX,
            "Constant regular expression is compiled in a loop",
            Severity::Medium,
            CERTAIN,
            "Compile it once, before the loop or as a constant.",
        ),
    ],
};

const ROWS: [Definition; 6] = [
    Definition::new(&["python"], &["$F($X, ...)"])
        .with(&[Variable::one_of("F", &["re.compile", "regex.compile"]), Variable::literal("X")]),
    Definition::new(&["javascript"], &["new RegExp($X, ...)"]).with(&[Variable::literal("X")]),
    Definition::new(&["javascript"], &["new RegExp($X, ...)"])
        .with(&[Variable::any("X").matching(r"^String\.raw`[^`$]*`$")]),
    Definition::new(&["go"], &["$F($X)"]).with(&[
        Variable::one_of(
            "F",
            &["regexp.Compile", "regexp.CompilePOSIX", "regexp.MustCompile", "regexp.MustCompilePOSIX"],
        ),
        Variable::literal("X"),
    ]),
    Definition::new(&["rust"], &["$F($X)"]).with(&[
        Variable::one_of(
            "F",
            &[
                "regex::Regex::new",
                "regex::RegexBuilder::new",
                "regex::RegexSet::new",
                "regex::bytes::Regex::new",
                "fancy_regex::Regex::new",
            ],
        ),
        Variable::literal("X"),
    ]),
    Definition::new(&["java"], &["Pattern.compile($X, ...)"])
        .using(&["import java.util.regex.Pattern;"])
        .with(&[Variable::literal("X")]),
];

/// Demands of every row that a loop repeats the match.
const fn in_loops(mut rows: [Definition; 6]) -> [Definition; 6] {
    let mut at = 0;
    while at < rows.len() {
        rows[at] = rows[at].inside(&[Context::Loop]);
        at += 1;
    }
    rows
}

const fn rule(rows: &'static [Definition]) -> CallRule {
    let summary = "constant regular expression is compiled in a loop";
    CallRule { id: REGEX, summary, rows, quoted: Quoted::Call }
}

static REGEXES: Calls = Calls::new(&[rule(&ROWS)]);
static REGEXES_IN_LOOPS: Calls = Calls::new(&[rule(&ROWS_IN_LOOPS)]);
const ROWS_IN_LOOPS: [Definition; 6] = in_loops(ROWS);

pub(crate) struct CostlyLoop;

impl Lens for CostlyLoop {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        parsed::context_need(file)
    }

    /// Requests whole files, since the loop around a call may be unchanged.
    fn wants_whole_file(&self, file: &ChangedFile, hunks: &FileText) -> bool {
        let language = file.language.as_deref();
        let may_wait = matches!(language, Some("javascript" | "typescript" | "python"));
        REGEXES_IN_LOOPS.wants_whole_file(file, hunks) || may_wait && hunks.text.contains("await ")
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let Some(text) = &packet.text.full_head else { return Inspection::default() };
        let mut inspection = REGEXES_IN_LOOPS.inspect(packet);
        let Some(first) = first_loop(packet.file.language.as_deref(), text) else { return inspection };
        let mut lines =
            packet.added().filter(|line| first <= line.number && line.text.contains("await")).peekable();
        if lines.peek().is_none() {
            return inspection;
        }
        if let Some(file) = Parsed::new(&packet.path_by_language(), text) {
            inspection.drafts.extend(lines.flat_map(|line| waits_on(&file, packet, &line)));
        }
        inspection
    }

    /// Counts the compiled regular expressions, or the awaits that could be in a loop.
    fn census(&self, rule: &str, file: &RepoPath, text: &str) -> Census {
        let path = file.to_text();
        if rule == REGEX {
            let all = REGEXES.search(&path, text).matches.len() as u64;
            let in_loops = match all {
                0 => 0,
                _ => REGEXES_IN_LOOPS.search(&path, text).matches.len() as u64,
            };
            return Census { support: all, complying: all.saturating_sub(in_loops) };
        }
        let may_wait = text.contains("await ") && first_loop(classify::language(file), text).is_some();
        let Some(file) = Parsed::new(&path, text).filter(|_| may_wait) else { return Census::default() };
        let waits = text.match_indices("await ").map(|(at, _)| at);
        let in_code = waits.filter(|at| file.is_sound(*at));
        in_code.map(|at| !file.outline.waits_in_turn.iter().any(|span| span.start == at)).collect()
    }
}

/// Returns the first line that may be in a loop over something. Without one nothing waits in turn, and nothing has to
/// be parsed.
fn first_loop(name: Option<&str>, text: &str) -> Option<u64> {
    let mut words = text.match_indices("for").map(|(at, _)| at).filter(|&at| {
        !text[..at].ends_with(is_part_of_word) && !text[at + "for".len()..].starts_with(is_part_of_word)
    });
    if name == Some("python") {
        // A comprehension waits before it says over what.
        return words.next().map(|_| 1);
    }
    let first = words.find(|at| {
        let rest = text[at + "for".len()..]
            .trim_start_matches(|character: char| character.is_whitespace() || character == '\u{feff}');
        rest.starts_with(['(', '/']) || rest.starts_with("await")
    })?;
    Some(1 + text[..first].matches('\n').count() as u64)
}

fn is_part_of_word(character: char) -> bool {
    character.is_alphanumeric() || "_$".contains(character)
}

/// Reports the waits in turn that begin on a line.
fn waits_on(file: &Parsed, packet: &Packet<'_>, line: &Line<'_>) -> Vec<Draft> {
    let Some(start) = file.start(line) else { return Vec::new() };
    let here = start..start + line.text.len();
    let waits = file.outline.waits_in_turn.iter();
    let waits = waits.filter(|span| here.contains(&span.start) && file.is_sound(span.start));
    let summary = "independent calls are awaited one by one in a loop";
    waits
        .map(|span| {
            let end = span.end.min(here.end);
            Draft::on_line(WAITS, packet, line, span.start - start..end - start, summary)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{REGEXES, REGEXES_IN_LOOPS, first_loop};

    #[test]
    fn every_pattern_compiles() {
        REGEXES.check();
        REGEXES_IN_LOOPS.check();
    }

    #[test]
    fn nothing_is_looked_for_before_the_first_loop() {
        let cases = [
            ("f()\nfor (const a of b) {", Some(2)),
            ("for(a in b)", Some(1)),
            ("\n\nfor await (const a of b) {", Some(3)),
            ("for/**/(;;)", Some(1)),
            ("for\n  (;;)", Some(1)),
            ("// wait for it\nlist.forEach(f)\nfor (;;) {", Some(3)),
            ("list.forEach(f)", None),
            ("while (a) { await b }", None),
            ("format(a)\n_for(b)", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(first_loop(Some("typescript"), text), expected, "{text}");
        }
        assert_eq!(first_loop(Some("python"), "\n[await f(a) for a in b]"), Some(1));
        assert_eq!(first_loop(Some("python"), "\nawait format(a)"), None);
    }
}
