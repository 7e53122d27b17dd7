//! Contract of a lens: a description, and pure functions from the change to drafts of findings.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;

use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangedFile, Edit, FileText, LensClass, MentionKind, ModuleOutline, ModuleSurface, PlacedImport,
    PlacedUse, PresetStrengths, RecordedMentions, RegistryRule, Rubric, Severity, Side,
};
pub use qa_contracts::v1::{Draft, Fact};
use qa_core::findings::{ALSO_ON_LINES, EXPRESSION, identity};
use qa_core::packet::{Line, Packet, column, line_start};
pub(crate) use qa_core::plan::Need;
use qa_core::policy::Policy;
pub use qa_core::policy::{everywhere, presets};
use qa_reading::syntax::Span;

/// A lens as the registry, the planner and the documentation know it.
#[derive(Debug)]
pub struct LensSpec {
    /// Kebab-case; the file in snake_case and the corpus page have the same name.
    pub id: &'static str,
    /// Changed whenever the same input may give another result; it is part of the execution key.
    pub version: &'static str,
    /// Class, as the registry and the documentation show it.
    pub class: LensClass,
    /// Title in one sentence.
    pub title: &'static str,
    /// True if PASS needs the lens unless the policy says otherwise.
    pub required_by_default: bool,
    /// Globs over paths; a file matches when one does.
    pub triggers: &'static [&'static str],
    /// The rules, by id.
    pub rules: &'static [RuleSpec],
    /// The documentation, which is the corpus page without its cases, as `build.rs` writes it:
    /// `include_str!(concat!(env!("OUT_DIR"), "/<id>.md"))`.
    pub page: &'static str,
}

/// A rule of a lens.
#[derive(Debug)]
pub struct RuleSpec {
    /// `lens-id/pattern-found`.
    pub id: &'static str,
    /// Pattern that the rule finds, in one sentence.
    pub title: &'static str,
    /// Severity of findings whose draft sets none.
    pub severity: Severity,
    /// Strengths of its findings in each preset.
    pub strengths: PresetStrengths,
    /// Remedy for a finding, in one or two sentences.
    pub fix: &'static str,
    /// True if the same text removed elsewhere in the change makes a finding pre-existing. Set for rules about what
    /// added text says, not for rules about the act of changing.
    pub moves: bool,
}

impl RuleSpec {
    /// Its entry in the registry.
    pub(crate) fn registered(&self) -> RegistryRule {
        RegistryRule {
            rule_id: self.id.to_owned(),
            title: self.title.to_owned(),
            severity: self.severity,
            strengths: self.strengths,
        }
    }
}

/// A rule about the act of changing.
pub(crate) const fn rule(
    id: &'static str,
    title: &'static str,
    severity: Severity,
    strengths: PresetStrengths,
    fix: &'static str,
) -> RuleSpec {
    RuleSpec { id, title, severity, strengths, fix, moves: false }
}

/// A rule about what added text says: the same text moved within the change is nothing new.
pub(crate) const fn text_rule(
    id: &'static str,
    title: &'static str,
    severity: Severity,
    strengths: PresetStrengths,
    fix: &'static str,
) -> RuleSpec {
    RuleSpec { moves: true, ..rule(id, title, severity, strengths, fix) }
}

/// Result of inspecting one file.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Inspection {
    /// Findings.
    pub drafts: Vec<Draft>,
    /// Facts for `conclude`.
    pub facts: Vec<Fact>,
}

/// Number of places of a base file that a ratcheted rule applies to, and how many of them comply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Census {
    pub support: u64,
    pub complying: u64,
}

impl Census {
    /// Number of files that one with a rare place counts as, so that a single one shows that the base means it.
    const RARE: u64 = 50;

    /// Counts a file for a rule about places that hardly any file has.
    pub(crate) fn of_rare(has_place: bool) -> Self {
        if has_place { Self { support: Self::RARE, complying: 0 } } else { Self { support: 1, complying: 1 } }
    }
}

impl FromIterator<bool> for Census {
    fn from_iter<I: IntoIterator<Item = bool>>(places: I) -> Self {
        places.into_iter().fold(Self::default(), |census, complies| Self {
            support: census.support + 1,
            complying: census.complying + u64::from(complies),
        })
    }
}

/// A lens.
///
/// The scheduler calls `need` while planning, `inspect` once for each planned file, from any thread and in any order,
/// then `conclude` once with the facts in path order. An implementer keeps no state, reads nothing but the arguments,
/// returns the same for the same, and reports only on hunks the packet includes.
pub trait Lens: Sync {
    /// Returns its id, version and rules.
    fn spec(&self) -> &'static LensSpec;

    /// Returns the amount of a file's content that the lens needs. Files are read before plans are made, so this is
    /// called for files outside the triggers too; the lens must not ask for the whole of those.
    fn need(&self, _file: &ChangedFile) -> Need {
        Need::Hunks
    }

    /// Asked about files whose `need` is the whole file, once their hunks are known: whether the whole versions can add
    /// anything. To read, mask and record them costs more than all else about a file, so a lens says no where its hunks
    /// already show that they cannot.
    fn wants_whole_file(&self, _file: &ChangedFile, _hunks: &FileText) -> bool {
        true
    }

    /// Looks at one file.
    fn inspect(&self, packet: &Packet<'_>) -> Inspection;

    /// As [`Lens::inspect`], which it is for all but the one lens that holds files to the frozen rubric.
    fn inspect_by(&self, packet: &Packet<'_>, _rubric: Option<&Rubric>) -> Inspection {
        self.inspect(packet)
    }

    /// Looks at what all files gave together.
    fn conclude(&self, _facts: &[Fact]) -> Vec<Draft> {
        Vec::new()
    }

    /// As [`Lens::conclude`], for what can only be said beside files that did not change, or with the base's policy.
    fn look_up(&self, _facts: &[Fact], _policy: &Policy, _lookups: &dyn Lookups) -> Vec<Draft> {
        Vec::new()
    }

    /// Returns whether a whole base file complies with a ratcheted rule, or `None` if the rule does not apply to it.
    fn complies(&self, _rule: &str, _file: &RepoPath, _text: &str) -> Option<bool> {
        None
    }

    /// Returns the part of a hit that stays when its receiver or its function is replaced, or `None` where only the same
    /// text is the same fault. A finding whose rule had one with the same part on a removed line of the same hunk and
    /// function is pre-existing.
    fn operand(&self, _draft: &Draft) -> Option<String> {
        None
    }

    /// Returns the edit that mends a hit, or `None` where only a person can. The packet is that of the hit's file. Whoever
    /// calls refuses an edit of lines with a masked secret, so a lens need not look for them.
    fn edit(&self, _draft: &Draft, _packet: &Packet<'_>) -> Option<Edit> {
        None
    }

    /// Returns the advice for a hit that the advice of its rule does not fit.
    fn fix(&self, _draft: &Draft) -> Option<&'static str> {
        None
    }

    /// Counts the places of a base file for a ratcheted rule. By default the file is one place; a lens counts finer if
    /// a repository has few files of a kind.
    fn census(&self, rule: &str, file: &RepoPath, text: &str) -> Census {
        self.complies(rule, file, text).into_iter().collect()
    }
}

/// Queries about the trees of the merge base and head. Every response is recorded, and a replay reads it from the
/// record, so a lens queries little, and only if the change gives a reason to. If a query fails, the run fails
/// afterwards, and the value that is returned until then claims the least.
pub trait Lookups: Sync {
    /// Returns whether a path exists or is below something that is not a directory.
    fn is_present(&self, side: Side, path: &str) -> bool;

    /// The names of the regular files of a directory, sorted; none when there is no such directory.
    fn files_in(&self, side: Side, directory: &str) -> Vec<String>;

    /// Returns the definitions and imports of a file, or `None` if it is no regular file that could be read.
    fn outline(&self, side: Side, path: &str) -> Option<Arc<ModuleOutline>>;

    /// The imports of a file as they are written; null when it is no regular file that could be read. It costs far less
    /// than an outline. Every import of that is among them, as one that has to resolve unless it is known that it need
    /// not, and some may only look like imports: what is said of one is to be held against the outline first.
    fn imports(&self, side: Side, path: &str) -> Option<Arc<[PlacedImport]>>;

    /// Definitions of a file with their parameters; `None` when it is no regular file that could be read.
    fn surface(&self, side: Side, path: &str) -> Option<Arc<ModuleSurface>>;

    /// Uses of some words in a file that are names of other files; `None` when it is no regular file that could be read.
    fn uses(&self, side: Side, path: &str, words: &[String]) -> Option<Arc<[PlacedUse]>>;

    /// Text of a file, secrets masked; none when it is no regular file of text that is small enough to be read.
    fn text(&self, side: Side, path: &str) -> Option<Arc<str>>;

    /// Which files have one of some words.
    fn mentions(&self, side: Side, kind: MentionKind, words: &[String]) -> RecordedMentions;

    /// Told by a lens that it is about to ask for the outlines of most of these files, so that they can be made at the
    /// same time. It changes no answer and records nothing.
    fn expect_outlines(&self, _side: Side, _paths: &[&str]) {}

    /// As [`Self::expect_outlines`], for imports.
    fn expect_imports(&self, _side: Side, _paths: &[&str]) {}

    /// Told by a lens that leaves something out because it would have to ask for too much. The verdict says so.
    fn stop_short(&self);
}

/// Constructors of drafts that quote a text. Lenses call them.
pub trait DraftExt {
    /// Makes a draft about columns of one line at head, given byte offsets inside the line's text.
    fn on_line(
        rule: &'static str,
        packet: &Packet<'_>,
        line: &Line<'_>,
        span: Range<usize>,
        summary: impl Into<String>,
    ) -> Draft {
        Draft {
            start_line: line.number,
            end_line: line.number,
            start_column: column(line.text, span.start),
            end_column: column(line.text, span.end),
            quote: line.text[span].to_owned(),
            ..Draft::on_file(rule, packet.path(), Side::Head, summary)
        }
    }

    /// Makes a draft about columns of a removed line.
    fn on_base_line(
        rule: &'static str,
        packet: &Packet<'_>,
        line: &Line<'_>,
        span: Range<usize>,
        summary: impl Into<String>,
    ) -> Draft {
        Draft {
            file: packet.file.old_path.as_ref().unwrap_or(&packet.file.path).clone(),
            side: Side::Base,
            ..Self::on_line(rule, packet, line, span, summary)
        }
    }

    /// Makes a draft about a place in a text; of a place over several lines, the first line is quoted.
    fn on_text(
        rule: &'static str,
        file: &RepoPath,
        side: Side,
        text: &str,
        span: Span,
        summary: impl Into<String>,
    ) -> Draft {
        let line_start = line_start(text, span.start);
        let line = text[line_start..].lines().next().unwrap_or("");
        let columns =
            span.start - line_start..(span.end - line_start).min(line.len()).max(span.start - line_start);
        let number = text[..line_start].matches('\n').count() as u64 + 1;
        Draft {
            start_line: number,
            end_line: number,
            start_column: column(line, columns.start),
            end_column: column(line, columns.end),
            quote: line[columns].to_owned(),
            ..Draft::on_file(rule, file, side, summary)
        }
    }
}

impl DraftExt for Draft {}

/// Choice of the drafts in one file that [`fold`] merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alike {
    /// All of them.
    Rule,
    /// Those that quote the same text.
    Quote,
}

impl Alike {
    /// Returns what the drafts have in common that become one with this one.
    fn key(self, draft: &Draft) -> (RepoPath, String) {
        let quote = match self {
            Self::Quote => identity(&draft.quote, draft.detail.get(EXPRESSION)),
            Self::Rule => String::new(),
        };
        (draft.file.clone(), quote)
    }
}

/// Merges drafts of a rule that are alike within a file: the first stays and lists the lines of the others, so that fifty
/// equal findings do not hide everything else.
pub(crate) fn fold(drafts: &mut Vec<Draft>, rule: &str, alike: Alike) {
    let mut lines: BTreeMap<(RepoPath, String), Vec<u64>> = BTreeMap::new();
    for draft in drafts.iter().filter(|draft| draft.rule == rule) {
        lines.entry(alike.key(draft)).or_default().push(draft.start_line);
    }
    lines.values_mut().for_each(|lines| lines.sort_unstable());
    drafts.retain_mut(|draft| {
        let others = if draft.rule == rule { lines.get(&alike.key(draft)) } else { None };
        let Some([first, rest @ ..]) = others.map(Vec::as_slice).filter(|lines| lines.len() > 1) else {
            return true;
        };
        draft.summary = format!("{}, and {} more in this file", draft.summary, rest.len());
        draft.detail.insert(ALSO_ON_LINES.into(), rest.into());
        draft.start_line == *first
    });
}
