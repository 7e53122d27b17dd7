//! Coroutines that are never awaited, so that they never run.

use super::contract::{Draft, DraftExt, Inspection, Lens, LensSpec, Need, everywhere, presets, text_rule};
use super::parsed::Parsed;
use qa_contracts::v1::{ChangedFile, FileText, LensClass, ScopeStrengths, Severity, Strength};
use qa_core::classify;
use qa_core::packet::Packet;
use qa_reading::names::joins;
use qa_reading::syntax::{Language, Span};

const NEVER_RUNS: &str = "forgotten-await/coroutine-never-runs";

const OFF: ScopeStrengths = everywhere(Strength::Off);
const ADVISE: ScopeStrengths = ScopeStrengths { product: Strength::Advise, test: Strength::Advise, ..OFF };

static SPEC: LensSpec = LensSpec {
    id: "forgotten-await",
    version: "1",
    class: LensClass::Style,
    title: "Coroutines that are never awaited",
    required_by_default: true,
    triggers: &["**/*.py"],
    page: include_str!(concat!(env!("OUT_DIR"), "/forgotten-await.md")),
    rules: &[text_rule(
        NEVER_RUNS,
        "Coroutine is never awaited",
        Severity::High,
        presets(ADVISE, ScopeStrengths { product: Strength::Block, ..ADVISE }),
        "Await the call, or keep it as a task.",
    )],
};

pub(crate) struct ForgottenAwait;

impl Lens for ForgottenAwait {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        let python = Language::from_path(&classify::path_by_language(file)) == Some(Language::Python);
        if python { Need::WholeFile } else { Need::Hunks }
    }

    /// Returns whether added lines call something, or define something asynchronous.
    fn wants_whole_file(&self, _file: &ChangedFile, hunks: &FileText) -> bool {
        hunks.text.lines().any(may_tell)
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let path = packet.path_by_language();
        let file = packet.text.full_head.as_deref().filter(|text| text.contains("async def "));
        let file = file.filter(|_| packet.added().any(|line| may_tell(line.text)));
        let python = Language::from_path(&path) == Some(Language::Python);
        let Some(file) = file.filter(|_| python).and_then(|text| Parsed::new(&path, text)) else {
            return Inspection::default();
        };
        let mut drafts = Vec::new();
        for dropped in &file.outline.dropped_coroutines {
            let places = [
                (dropped.call, "coroutine is never awaited"),
                (dropped.definition, "a function is now asynchronous, and one of its calls is never awaited"),
            ];
            drafts.extend(
                places.into_iter().find_map(|(span, summary)| on_added_line(&file, packet, span, summary)),
            );
        }
        Inspection { drafts, facts: Vec::new() }
    }
}

/// Returns whether a line may have a call as a statement, or the definition of an asynchronous function.
fn may_tell(line: &str) -> bool {
    let line = line.trim_start();
    let name = line.strip_prefix("self.").unwrap_or(line);
    let end = name.find(|character: char| !joins(character));
    end.is_some_and(|end| end > 0 && name[end..].starts_with('(')) || line.starts_with("async def ")
}

/// Reports a place on the added line that it begins on.
fn on_added_line(file: &Parsed, packet: &Packet<'_>, span: Span, summary: &str) -> Option<Draft> {
    packet.added().find_map(|line| {
        let start = file.start(&line)?;
        let begin = span.start.checked_sub(start).filter(|begin| *begin < line.text.len())?;
        let end = (span.end - start).min(line.text.len());
        Some(Draft::on_line(NEVER_RUNS, packet, &line, begin..end, summary))
    })
}
