//! Selects the changed files that concern a lens, with a confidence score (S003-39).

use super::{Candidate, Need};
use crate::classify::PathSet;
use qa_contracts::codes::Code;
use qa_contracts::v1::{ChangedFile, SensitivityTier};

/// Score of a path that matches a trigger.
const MATCH: u8 = 60;
/// Score of a trigger with a directory, which says more than a kind of file.
const PLACE: u8 = 20;
/// Score of a trigger symbol near the change, or of a lens without trigger symbols.
const SYMBOL: u8 = 20;
/// Minimum score of a selected file.
const SURE: u8 = 80;

pub(super) struct Selection {
    /// Positions in the change set, ascending.
    pub(super) files: Vec<usize>,
    /// The highest score of any file, 0 when none matches.
    pub(super) confidence: u8,
    pub(super) codes: Vec<Code>,
}

/// Selects the files that score high enough. When files match and none is sure, or the change is sensitive, all matching
/// files are selected with the code `PLAN_CONFIDENCE_LOW_BROAD_SCAN`; when none matches, the lens is not applicable.
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
            let mut paths = std::iter::once(&file.path).chain(&file.old_path);
            paths.any(|path| candidate.triggers.matches(path))
                && !ignore.matches(&file.path)
                && (candidate.need)(*index, file) != Need::Nothing
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
