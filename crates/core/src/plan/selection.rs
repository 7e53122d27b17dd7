//! Which changed files concern a lens, and how sure that is (S003-39).

use super::{Candidate, Need};
use crate::classify::PathSet;
use qa_contracts::codes::Code;
use qa_contracts::v1::{ChangedFile, SensitivityTier};

/// A path that matches a trigger.
const MATCH: u8 = 60;
/// A trigger that names more than a kind of file.
const PLACE: u8 = 20;
/// A symbol near the change that the lens asks for, or a lens that asks for none.
const SYMBOL: u8 = 20;
/// From here on a file is selected.
const SURE: u8 = 80;

pub(super) struct Selection {
    /// Positions in the change set, ascending.
    pub(super) files: Vec<usize>,
    /// The highest score of any file, 0 when none matches.
    pub(super) confidence: u8,
    pub(super) codes: Vec<Code>,
}

/// Selects the files that score high enough. When files match and none is sure, or the change is sensitive, all that
/// match are looked at and the plan says so; when none matches, the lens is not applicable, which is not a reason to
/// look everywhere.
pub(super) fn select(
    candidate: &Candidate<'_>,
    files: &[ChangedFile],
    ignore: &PathSet,
    tier: SensitivityTier,
) -> Selection {
    let scored: Vec<(usize, u8)> = files
        .iter()
        .enumerate()
        .filter(|(index, file)| {
            let matches = candidate.triggers.matches(&file.path)
                || file.old_path.as_ref().is_some_and(|old| candidate.triggers.matches(old));
            matches && !ignore.matches(&file.path) && (candidate.need)(*index, file) != Need::Nothing
        })
        .map(|(index, file)| (index, score(candidate, file)))
        .collect();
    let confidence = scored.iter().map(|(_, score)| *score).max().unwrap_or(0);
    if scored.is_empty() {
        return Selection { files: Vec::new(), confidence, codes: vec![Code::LensNotApplicable] };
    }
    let sure: Vec<usize> =
        scored.iter().filter(|(_, score)| *score >= SURE).map(|(index, _)| *index).collect();
    let broad = sure.is_empty() || tier >= SensitivityTier::High;
    if broad && sure.len() < scored.len() {
        let files = scored.into_iter().map(|(index, _)| index).collect();
        return Selection { files, confidence, codes: vec![Code::PlanConfidenceLowBroadScan] };
    }
    Selection { files: sure, confidence, codes: Vec::new() }
}

fn score(candidate: &Candidate<'_>, file: &ChangedFile) -> u8 {
    let by_symbol = candidate.symbols.is_empty()
        || file
            .hunks
            .iter()
            .flat_map(|hunk| hunk.symbols.iter())
            .any(|symbol| candidate.symbols.contains(&symbol));
    let in_place = candidate.lens.triggers.iter().any(|glob| !glob.starts_with('*') && glob.contains('/'));
    MATCH + if by_symbol { SYMBOL } else { 0 } + if in_place { PLACE } else { 0 }
}
