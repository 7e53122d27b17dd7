//! Parts that removed lines name and head no longer has, so that the lines cannot come back as they were.

use std::collections::BTreeSet;

use qa_contracts::v1::{Edit, Side};

use super::ChangeSet;
use super::calls::{Call, calls, joined};
use crate::changes::Change;
use crate::contract::Draft;

/// Member of the evidence that lists them.
const MISSING: &str = "missingAtHead";
/// Most words of removed lines that are looked up.
const MAX_WORDS: usize = 200;

/// Returns whether an edit brings back a line that names a part that head does not have.
pub(super) fn names_missing_part(edit: &Edit, draft: &Draft) -> bool {
    let parts = draft.detail.get(MISSING).and_then(|parts| parts.as_array());
    let mut parts = parts.into_iter().flatten().filter_map(|part| part.as_str());
    parts.any(|part| {
        edit.replacements.iter().any(|replacement| words_of(&replacement.text).any(|word| word == part))
    })
}

/// Words of a text that may name a file, a module or a target.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(separates_words).map(|word| word.trim_start_matches("./").trim_end_matches('/'));
    words.filter(|word| word.contains(char::is_alphanumeric) && !word.contains('$'))
}

/// Returns whether a sign of a configuration or a script ends the name of a part.
fn separates_words(sign: char) -> bool {
    sign.is_whitespace() || "\"'`=,;:()[]{}<>|&!".contains(sign)
}

impl ChangeSet<'_> {
    /// Adds to a draft the parts that the removed lines of its file name and that head no longer has.
    pub(super) fn with_missing_parts(&mut self, draft: Draft) -> Draft {
        let path = draft.file.to_text().into_owned();
        let change = self.changes.iter().find(|change| change.path(draft.side) == Some(&*path));
        let Some(path) = change.and_then(|change| change.path(Side::Base)) else { return draft };
        if !self.missing.contains_key(path) {
            let parts = change.map(|change| self.missing_parts(change, path)).unwrap_or_default();
            self.missing.insert(path.to_owned(), parts);
        }
        match self.missing.get(path) {
            Some(parts) if !parts.is_empty() => draft.with(MISSING, parts.clone()),
            _ => draft,
        }
    }

    fn missing_parts(&mut self, change: &Change, path: &str) -> Vec<String> {
        let Some(text) = self.lookups.text(Side::Base, path) else { return Vec::new() };
        let own = path.rsplit_once('/').map(|(directory, _)| directory).unwrap_or_default();
        let mut found = BTreeSet::new();
        let lines = change.removed_lines(&text);
        let words: BTreeSet<&str> = lines.iter().flat_map(|line| words_of(line)).collect();
        for word in words.into_iter().take(MAX_WORDS) {
            if ["", own].iter().any(|directory| self.is_missing(&joined(directory, word))) {
                found.insert(word.to_owned());
            }
        }
        for line in lines {
            found.extend(self.missing_targets(line, path));
        }
        found.into_iter().collect()
    }

    fn is_missing(&self, path: &str) -> bool {
        self.lookups.is_present(Side::Base, path) && !self.lookups.is_present(Side::Head, path)
    }

    /// Returns the targets and scripts that a line calls and that head does not list.
    fn missing_targets(&mut self, line: &str, path: &str) -> Vec<String> {
        let words: Vec<&str> = words_of(line).collect();
        let mut found = Vec::new();
        for start in 0..words.len() {
            for call in calls(&words[start..], "") {
                let Call::Listed { name, .. } = &call else { continue };
                if words.contains(&name.as_str())
                    && self.base.has_target(&call, path)
                    && !self.head.has_target(&call, path)
                {
                    found.push(name.clone());
                }
            }
        }
        found
    }
}
