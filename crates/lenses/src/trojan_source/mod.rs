//! Text that is displayed differently from its content: reordered, invisible, look-alike and hidden characters.

mod characters;
mod decoded;
mod homoglyphs;

use std::collections::BTreeSet;

use super::contract::{Draft, DraftExt, Inspection, Lens, LensSpec, Need, RuleSpec, everywhere, presets};
use super::edits;
use super::parsed::{self, Parsed};
use super::scan::{self, Kind, Parts};
use qa_contracts::v1::{
    ChangeKind, ChangedFile, Edit, FileClass, FileText, LensClass, PresetStrengths, Scope, ScopeStrengths,
    Severity, Side, Strength,
};
use qa_core::classify;
use qa_core::packet::{Line, Packet};
use qa_reading::syntax::Span;

const BIDI: &str = "trojan-source/bidi-control";
const PATH: &str = "trojan-source/hidden-path";
const HIDDEN: &str = "trojan-source/hidden-text";
const INVISIBLE: &str = "trojan-source/invisible-character";
const PROSE: &str = "trojan-source/invisible-in-prose";
const MIXED: &str = "trojan-source/mixed-script-identifier";

/// Begins an escape sequence of a terminal.
const ESCAPE: char = '\u{1b}';
/// Minimum blanks before more text that count as an attempt to push it off the screen.
const OFF_SCREEN: usize = 200;

const BLOCK: PresetStrengths = presets(everywhere(Strength::Block), everywhere(Strength::Block));
/// Minified and vendored files hold such characters in tables and patterns.
const WRITTEN: ScopeStrengths =
    ScopeStrengths { generated: Strength::Advise, vendored: Strength::Advise, ..everywhere(Strength::Block) };
/// Recorded terminal output and drawn tables are common in tests and documents.
const SHIPPED: ScopeStrengths =
    ScopeStrengths { product: Strength::Block, generated: Strength::Off, ..everywhere(Strength::Advise) };

static SPEC: LensSpec = LensSpec {
    id: "trojan-source",
    version: "7",
    class: LensClass::Security,
    title: "Text that is displayed differently from its content",
    required_by_default: true,
    triggers: &["**"],
    page: include_str!(concat!(env!("OUT_DIR"), "/trojan-source.md")),
    rules: &[
        RuleSpec {
            id: BIDI,
            title: "Bidirectional control character",
            severity: Severity::Critical,
            strengths: BLOCK,
            fix: "Remove the control character, or write it as an escape sequence.",
            moves: true,
        },
        RuleSpec {
            id: PATH,
            title: "Path has invisible or confusable characters",
            severity: Severity::High,
            strengths: BLOCK,
            fix: "Rename the file with plain characters.",
            moves: false,
        },
        RuleSpec {
            id: HIDDEN,
            title: "Text is hidden by control characters, encodings or whitespace",
            severity: Severity::High,
            strengths: presets(SHIPPED, SHIPPED),
            fix: "Use escape sequences for control characters, break the line, and write code without an encoding.",
            moves: true,
        },
        RuleSpec {
            id: INVISIBLE,
            title: "Invisible character in code",
            severity: Severity::High,
            strengths: presets(WRITTEN, WRITTEN),
            fix: "Delete the character, or write it as an escape sequence.",
            moves: true,
        },
        RuleSpec {
            id: PROSE,
            title: "Invisible character in prose or test data",
            severity: Severity::Low,
            strengths: presets(everywhere(Strength::Advise), everywhere(Strength::Advise)),
            fix: "Delete the character unless the text needs it.",
            moves: true,
        },
        RuleSpec {
            id: MIXED,
            title: "Identifier mixes scripts to imitate another name",
            severity: Severity::High,
            strengths: presets(WRITTEN, WRITTEN),
            fix: "Spell the name with letters of one script.",
            moves: true,
        },
    ],
};

pub(crate) struct TrojanSource;

impl Lens for TrojanSource {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    /// Only the whole of a source file tells which text belongs to a test.
    fn need(&self, file: &ChangedFile) -> Need {
        parsed::content_need(file)
    }

    fn wants_whole_file(&self, _file: &ChangedFile, hunks: &FileText) -> bool {
        hunks.text.contains(ESCAPE)
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let mut drafts = Vec::new();
        drafts.extend(hidden_path(packet));
        let setting = Setting::new(packet);
        let source = packet.text.full_head.as_deref().filter(|text| text.contains(ESCAPE));
        let source = source.and_then(|text| Parsed::new(&packet.path_by_language(), text));
        if setting.data && packet.text.text.contains(char::REPLACEMENT_CHARACTER) {
            return Inspection { drafts, facts: Vec::new() };
        }
        let mut names = homoglyphs::Names::default();
        let language = packet.file.language.as_deref();
        for hunk in packet.hunks() {
            if decoded::is_suspect(language, &packet.text.text[hunk.added_span()]) {
                for (line, parts) in scan::added(language, hunk) {
                    let found = decoded::find(language, line.number, line.text, &parts);
                    drafts.extend(
                        found.map(|(span, summary)| Draft::on_line(HIDDEN, packet, &line, span, summary)),
                    );
                }
            }
            if !is_suspect(&packet.text.text[hunk.added_span()]) {
                continue;
            }
            if setting.reads_names {
                names.learn(hunk.before().chain(hunk.added()).chain(hunk.after()).map(|line| line.text));
            }
            for (line, parts) in scan::added(language, hunk) {
                if is_suspect(line.text) {
                    drafts.extend(on_line(packet, &setting, source.as_ref(), &line, &parts));
                    if setting.reads_names {
                        names.look_at(&line, &parts, setting.markup, setting.test);
                    }
                }
            }
        }
        drafts.extend(names.suspects().into_iter().map(|suspect| {
            let summary = "identifier mixes scripts to imitate another name";
            Draft::on_line(MIXED, packet, &suspect.line, suspect.span, summary)
                .with("reads as", suspect.reads_as)
        }));
        Inspection { drafts, facts: Vec::new() }
    }

    fn edit(&self, draft: &Draft, packet: &Packet<'_>) -> Option<Edit> {
        edits::escape_characters(draft, packet)
    }
}

/// The properties of a file that decide how its lines are read.
struct Setting {
    prose: bool,
    /// Set for files not known to be written by people: bytes that are no text make it data, such as drawings.
    data: bool,
    test: bool,
    locale: bool,
    markup: bool,
    reads_names: bool,
}

impl Setting {
    fn new(packet: &Packet<'_>) -> Self {
        let prose = packet.file.class == FileClass::Docs || scan::is_prose(packet.path());
        Self {
            prose,
            data: matches!(packet.file.class, FileClass::Unknown | FileClass::Asset),
            test: packet.file.scope == Scope::Test,
            locale: is_locale(&packet.path().to_text()),
            markup: packet.file.language.as_deref() == Some("html"),
            reads_names: !prose,
        }
    }
}

/// Files of translations, by the names that translation tools use.
fn is_locale(path: &str) -> bool {
    const FOLDERS: &[&str] = &["locale", "locales", "i18n", "l10n", "lang", "langs", "translations", "lproj"];
    const ENDINGS: &[&str] = &["po", "pot", "ftl", "xlf", "xliff", "arb", "strings", "stringsdict", "resx"];
    let lower = path.to_lowercase();
    lower.split('/').any(|part| FOLDERS.contains(&part) || part.ends_with(".lproj"))
        || lower.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

/// Returns whether a text may have a finding: plain text has none.
fn is_suspect(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().any(|&byte| byte >= 0x7f || byte < 0x20 && byte != b'\n' && byte != b'\t')
        || bytes.len() > OFF_SCREEN && text.lines().any(|line| off_screen(line).is_some())
}

/// Returns whether all of some characters begin escapes of a terminal in strings of a test: output that it expects.
fn is_expected_output(source: &Parsed, line: &Line<'_>, found: &Marked) -> bool {
    let Some(start) = source.start(line) else { return false };
    found.offsets.iter().all(|offset| {
        let at = start + offset;
        line.text[*offset..].starts_with(ESCAPE)
            && is_in(&source.outline.strings, at)
            && is_in(&source.outline.tests, at)
    })
}

fn is_in(spans: &[Span], at: usize) -> bool {
    spans.iter().any(|span| span.start < at && at < span.end)
}

fn on_line(
    packet: &Packet<'_>,
    setting: &Setting,
    source: Option<&Parsed>,
    line: &Line<'_>,
    parts: &Parts,
) -> Vec<Draft> {
    let mut drafts = Vec::new();
    let text = line.text;
    if let Some(found) = Marked::collect(text, characters::is_bidi_control)
        && !(text.chars().any(characters::is_right_to_left)
            && characters::bidi_belongs(text, &found.offsets, setting.prose || setting.locale, parts))
        && !(setting.locale && characters::is_balanced_isolation(text))
    {
        // Data of tests is no code that somebody reads.
        let rule = if setting.test && is_json_data(packet) { PROSE } else { BIDI };
        drafts.push(found.draft(rule, packet, line, "bidirectional control character reorders the text"));
    }
    if let Some(found) = Marked::collect(text, characters::is_hiding_control) {
        let is_expected = source.is_some_and(|source| is_expected_output(source, line, &found));
        let rule = if is_expected { PROSE } else { HIDDEN };
        drafts.push(found.draft(rule, packet, line, "control character hides text"));
    } else if let Some(span) = off_screen(text).filter(|_| !setting.prose) {
        let summary = "text is pushed off the screen by whitespace";
        drafts.push(Draft::on_line(HIDDEN, packet, line, span, summary));
    }
    let hidden = characters::invisible(text, line.number == 1, parts);
    let (prose, code): (Vec<usize>, Vec<usize>) = hidden.into_iter().partition(|offset| {
        setting.prose || setting.locale || setting.test && parts.kind_at(*offset) != Kind::Code
    });
    if let Some(found) = Marked::new(text, code) {
        drafts.push(found.draft(INVISIBLE, packet, line, "invisible character in code"));
    } else if let Some(found) = Marked::new(text, prose) {
        drafts.push(found.draft(PROSE, packet, line, "invisible character in text"));
    }
    drafts
}

/// Returns whether a file is JSON that no tool takes for its settings or runs commands of.
fn is_json_data(packet: &Packet<'_>) -> bool {
    const SETTINGS: &[&str] = &["config", "manifest", "package", "settings"];
    const OF_TOOLS: &[&str] = &[
        "angular.json",
        "biome.json",
        "cypress.json",
        "lerna.json",
        "nest-cli.json",
        "nodemon.json",
        "nx.json",
        "project.json",
        "renovate.json",
        "turbo.json",
        "vercel.json",
    ];
    let name = String::from_utf8_lossy(packet.path().file_name()).to_lowercase();
    name.ends_with(".json")
        && !name.starts_with('.')
        && !classify::is_manifest(&name)
        && !classify::is_lockfile(&name)
        && !SETTINGS.iter().any(|word| name.contains(word))
        && !OF_TOOLS.contains(&name.as_str())
        && packet.file.class != FileClass::Infra
}

/// The characters of one line that a rule is about.
struct Marked {
    offsets: Vec<usize>,
    end: usize,
    names: BTreeSet<String>,
}

impl Marked {
    fn collect(text: &str, wanted: fn(char) -> bool) -> Option<Self> {
        Self::new(text, text.char_indices().filter(|(_, c)| wanted(*c)).map(|(offset, _)| offset).collect())
    }

    fn new(text: &str, offsets: Vec<usize>) -> Option<Self> {
        let characters: Vec<char> =
            offsets.iter().filter_map(|offset| text[*offset..].chars().next()).collect();
        let names = characters.iter().map(|character| format!("U+{:04X}", *character as u32)).collect();
        let end = *offsets.last()? + characters.last()?.len_utf8();
        Some(Self { offsets, end, names })
    }

    fn draft(self, rule: &'static str, packet: &Packet<'_>, line: &Line<'_>, summary: &str) -> Draft {
        let first = self.offsets.first().copied().unwrap_or(0);
        Draft::on_line(rule, packet, line, first..self.end, summary)
            .with("characters", self.names.into_iter().collect::<Vec<_>>())
    }
}

/// Returns the text that stands behind so many blanks that no one scrolls to it.
fn off_screen(text: &str) -> Option<std::ops::Range<usize>> {
    let mut blanks = 0;
    for (offset, byte) in text.bytes().enumerate() {
        match byte {
            b' ' => blanks += 1,
            b'\t' => blanks += 4,
            _ if blanks >= OFF_SCREEN => return Some(offset..text.trim_end().len()),
            _ => blanks = 0,
        }
    }
    None
}

/// Judges the name of a file that is new or renamed.
fn hidden_path(packet: &Packet<'_>) -> Option<Draft> {
    if !matches!(packet.file.kind, ChangeKind::Added | ChangeKind::Renamed) {
        return None;
    }
    let path = packet.path().to_text();
    if path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    let has_controls = path.chars().any(|character| {
        characters::is_bidi_control(character) || character.is_control() || character == '\u{2028}'
    });
    let summary = if has_controls || !characters::invisible(&path, false, &Parts::default()).is_empty() {
        "path has invisible characters"
    } else if path.split('/').any(|part| part.trim() != part) {
        "path component begins or ends with whitespace"
    } else if path.split('/').any(homoglyphs::imitates) {
        "path component mixes scripts to imitate another name"
    } else {
        return None;
    };
    Some(Draft::on_file(PATH, packet.path(), Side::Head, summary))
}
