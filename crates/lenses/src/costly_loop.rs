//! Work that a loop does again and again though once, or all at once, would do.

use std::sync::LazyLock;

use super::contract::{Census, Draft, Inspection, Lens, LensSpec, Need, everywhere, presets, text_rule};
use super::idioms::{Idiom, Table, code};
use super::parsed::{self, Parsed};
use super::scan;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangedFile, FileText, LensClass, PresetStrengths, ScopeStrengths, Severity, Strength,
};
use qa_core::classify;
use qa_core::packet::{Line, Packet};

const REGEX: &str = "costly-loop/regex-compiled";
const WAITS: &str = "costly-loop/awaited-in-turn";

const OFF: ScopeStrengths = everywhere(Strength::Off);
const BY_DEFAULT: ScopeStrengths = ScopeStrengths { product: Strength::Ratchet, ..OFF };
const RATCHET: PresetStrengths = presets(BY_DEFAULT, ScopeStrengths { test: Strength::Advise, ..BY_DEFAULT });
/// What is written out in full is the same in every turn, so where somebody asks for more it is certain enough.
const CERTAIN: PresetStrengths =
    presets(BY_DEFAULT, ScopeStrengths { product: Strength::Block, test: Strength::Advise, ..OFF });

static SPEC: LensSpec = LensSpec {
    id: "costly-loop",
    version: "1",
    class: LensClass::Performance,
    title: "Work that a loop does again and again",
    required_by_default: true,
    triggers: parsed::CODE,
    trigger_symbols: &[],
    page: include_str!("../../../tests/corpus/lenses/costly-loop.md"),
    rules: &[
        text_rule(
            WAITS,
            "A loop waits for one call after the other though none needs another",
            Severity::Low,
            RATCHET,
            "Start all of them and wait for them together, or say in a comment why they have to go in turn.",
        ),
        text_rule(
            REGEX,
            "A regular expression that never changes is compiled in a loop",
            Severity::Medium,
            CERTAIN,
            "Compile it once, before the loop or as a constant.",
        ),
    ],
};

static REGEXES: LazyLock<Table> = LazyLock::new(|| {
    const IDIOMS: &[Idiom] = &[
        code(&["python"], "compile", r#"(?:^|[^\w.])((?:re|regex)\.compile\(\s*(?:r|b|rb|br|u)?["'])"#),
        code(
            &["javascript", "typescript"],
            "RegExp",
            r#"(?:^|[^\w.$])(new\s+RegExp\(\s*(?:"[^"]*"|'[^']*'|`[^`$]*`|String\.raw`[^`$]*`)\s*[,)])"#,
        ),
        code(&["go"], "regexp", r#"(?:^|[^\w.])(regexp\.(?:MustCompile|Compile)(?:POSIX)?\(\s*["`])"#),
        code(&["rust"], "Regex", r##"(?:^|[^\w])((?:Regex|RegexBuilder|RegexSet)::new\(\s*(?:b?r#*)?")"##),
        code(&["java"], "Pattern", r#"(?:^|[^\w.])(Pattern\.compile\(\s*")"#),
    ];
    Table::new(IDIOMS)
});

/// The lens.
pub(crate) struct CostlyLoop;

impl Lens for CostlyLoop {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        parsed::need(file)
    }

    /// Whether added lines have something that costs; the loop around it may be older.
    fn wants_whole_file(&self, file: &ChangedFile, hunks: &FileText) -> bool {
        let language = classify::language(&file.path);
        let may_wait = matches!(language, Some("javascript" | "typescript" | "python"));
        REGEXES.may_match(language, &hunks.text) || (may_wait && hunks.text.contains("await "))
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let nothing = Inspection::default();
        let Some(text) = &packet.text.full_head else { return nothing };
        let name = classify::language(packet.path());
        // Other lenses may have wanted the whole file.
        let first = first_loop(name, text);
        let waits =
            |line: &Line<'_>| line.text.contains("await") && first.is_some_and(|first| first <= line.number);
        let costs = |line: &Line<'_>| REGEXES.may_match(name, line.text) || waits(line);
        if !packet.added().any(|line| costs(&line)) {
            return nothing;
        }
        let concerned = || packet.added().filter(costs);
        let Some(file) = Parsed::around(&packet.path().to_text(), text, concerned()) else { return nothing };
        let source = Source { name, file };
        let mut drafts = Vec::new();
        for line in concerned() {
            drafts.extend(source.on_line(packet, &line));
        }
        Inspection { drafts, facts: Vec::new() }
    }

    /// Every place counts: where a regular expression is compiled, and each loop that could wait.
    fn census(&self, rule: &str, file: &RepoPath, text: &str) -> Census {
        let name = classify::language(file);
        let may_wait = || text.contains("await ") && first_loop(name, text).is_some();
        if rule == REGEX && !REGEXES.may_match(name, text) || rule == WAITS && !may_wait() {
            return Census::default();
        }
        let Some(file) = Parsed::of(&file.to_text(), text) else { return Census::default() };
        let source = Source { name, file };
        if rule == REGEX {
            return source.regexes().map(|at| source.file.outline.repeats(at).is_none()).collect();
        }
        let waits = text.match_indices("await ").map(|(at, _)| at);
        let in_code = waits.filter(|at| source.file.is_sound(*at));
        in_code.map(|at| !source.file.outline.waits_in_turn.iter().any(|span| span.start == at)).collect()
    }
}

/// The first line that something in a loop over something may stand on: where there is none, nothing waits in turn, and
/// nothing need be parsed.
fn first_loop(name: Option<&str>, text: &str) -> Option<u64> {
    let is_part = |character: char| character.is_alphanumeric() || "_$".contains(character);
    let is_word =
        |at: &usize| !text[..*at].ends_with(is_part) && !text[at + "for".len()..].starts_with(is_part);
    let mut words = text.match_indices("for").map(|(at, _)| at).filter(is_word);
    if name == Some("python") {
        // A comprehension waits before it says over what.
        return words.next().map(|_| 1);
    }
    let opens = |at: &usize| {
        let is_space = |character: char| character.is_whitespace() || character == '\u{feff}';
        let rest = text[at + "for".len()..].trim_start_matches(is_space);
        rest.starts_with(['(', '/']) || rest.starts_with("await")
    };
    let first = words.find(opens)?;
    Some(1 + text[..first].matches('\n').count() as u64)
}

/// A parsed file, and the name that idioms know its language by.
struct Source<'t> {
    name: Option<&'t str>,
    file: Parsed<'t>,
}

impl Source<'_> {
    fn regexes(&self) -> impl Iterator<Item = usize> {
        let mut scanner = scan::Scanner::new(self.name, true);
        self.file.text.lines().zip(&self.file.starts).filter_map(move |(line, start)| {
            let found = REGEXES.find(self.name, line, &scanner.line(line))?;
            Some(start + found.start).filter(|at| self.file.is_sound(*at))
        })
    }

    fn on_line(&self, packet: &Packet<'_>, line: &Line<'_>) -> Vec<Draft> {
        let Some(start) = self.file.start(line) else { return Vec::new() };
        let mut drafts = Vec::new();
        let mut scanner = scan::Scanner::new(self.name, true);
        if let Some(found) = REGEXES.find(self.name, line.text, &scanner.line(line.text)) {
            let at = start + found.start;
            if self.file.is_sound(at) && self.file.outline.repeats(at).is_some() {
                let summary = "a regular expression that never changes is compiled in a loop";
                drafts.push(Draft::on_line(REGEX, packet, line, found, summary));
            }
        }
        let here = start..start + line.text.len();
        for span in self.file.outline.waits_in_turn.iter().filter(|span| here.contains(&span.start)) {
            if !self.file.is_sound(span.start) {
                continue;
            }
            let end = span.end.min(here.end);
            let summary = "a loop waits for one call after the other though none needs another";
            drafts.push(Draft::on_line(WAITS, packet, line, span.start - start..end - start, summary));
        }
        drafts
    }
}

#[cfg(test)]
mod tests {
    use super::first_loop;

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
