//! Places of hits in a version of a file: two in one hunk of one function may be the same hit, rewritten.

use std::cell::OnceCell;
use std::sync::Arc;

use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangedFile, FileText};
use qa_core::classify;
use qa_core::findings::Operand;
use qa_lenses::contract::{Draft, Lens};
use qa_reading::syntax::{Language, Outline, parse_once};

/// The head version of a changed file, which is the base's in a reversed change.
pub(super) struct Places<'f> {
    file: &'f ChangedFile,
    text: &'f FileText,
    /// Parsed when a hit first asks for it.
    parsed: OnceCell<Option<Parsed>>,
}

struct Parsed {
    outline: Arc<Outline>,
    /// Offset of each line.
    starts: Vec<usize>,
}

impl Parsed {
    fn new(file: &ChangedFile, text: &FileText) -> Option<Self> {
        let text = text.full_head.as_deref()?;
        let language = Language::from_path(&classify::path_by_language(file))?;
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Some(Self { outline: parse_once(language, text, None), starts })
    }
}

impl<'f> Places<'f> {
    pub(super) fn new(file: &'f ChangedFile, text: &'f FileText) -> Self {
        Self { file, text, parsed: OnceCell::new() }
    }

    /// Returns the operand of a draft, or `None` where it has none or where its function is not known. `path` is the
    /// file's at head.
    pub(super) fn operand(&self, lens: &dyn Lens, draft: &Draft, path: &RepoPath) -> Option<Operand> {
        let text = lens.operand(draft)?;
        let hunk = self.file.hunks.iter().position(|hunk| {
            hunk.new_start <= draft.start_line && draft.start_line < hunk.new_start + hunk.new_lines
        })?;
        let parsed = self.parsed.get_or_init(|| Parsed::new(self.file, self.text)).as_ref()?;
        let line = usize::try_from(draft.start_line.checked_sub(1)?).ok()?;
        let definition = parsed.outline.definitions_around(*parsed.starts.get(line)?)?;
        Some(Operand { rule_id: draft.rule.to_string(), file: path.clone(), hunk, definition, text })
    }
}
