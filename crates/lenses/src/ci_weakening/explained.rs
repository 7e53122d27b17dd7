//! Checks that look at less, or in another directory, because what they looked at is renamed, deleted or moved.

use qa_contracts::v1::Side;

use super::tree::Check;
use super::{ChangeSet, calls};

impl ChangeSet<'_> {
    /// Returns the words by which a check looks at less, as its command has them, without those that follow from what is
    /// renamed or deleted.
    pub(super) fn unexplained(&self, base: &Check, head: &Check, words: &[String]) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        if self.have_moved(base, head, words) {
            return found;
        }
        for word in words.iter().filter(|word| !self.is_about_moved_module(base, head, word)) {
            let selection = if word.starts_with("without ") { &base.selection } else { &head.selection };
            let written = selection.as_written(word);
            if !found.iter().any(|known| known == written) {
                found.push(written.to_owned());
            }
        }
        found
    }

    /// Returns whether words name a module that is new at head, in the place of one that is gone there.
    fn is_about_moved_module(&self, base: &Check, head: &Check, words: &str) -> bool {
        let Some(part) = words.strip_prefix("-pl ") else { return false };
        if let Some(left_out) = part.strip_prefix('!') {
            let old: Vec<&str> = base.selection.modules_left_out().collect();
            let gained = head.selection.modules_left_out().filter(|module| !old.contains(module)).count();
            let gone = old.iter().filter(|module| self.is_gone(base, module)).count();
            return self.is_new(head, left_out) && gained <= gone;
        }
        let old: Vec<&str> = base.selection.modules().collect();
        let new: Vec<&str> = head.selection.modules().collect();
        let mut lost = old.iter().filter(|module| !new.contains(module));
        let mut gained = new.iter().filter(|module| !old.contains(module));
        !old.is_empty()
            && lost.all(|module| self.is_gone(base, module))
            && gained.all(|module| self.is_new(head, module))
    }

    /// Returns whether a part below the directory of a check is there at the base and no longer at head.
    fn is_gone(&self, base: &Check, part: &str) -> bool {
        let path = calls::joined(&base.directory, part);
        self.lookups.is_present(Side::Base, &path) && !self.lookups.is_present(Side::Head, &path)
    }

    /// Returns whether a part below the directory of a check is not there at the base.
    fn is_new(&self, head: &Check, part: &str) -> bool {
        !self.lookups.is_present(Side::Base, &calls::joined(&head.directory, part))
    }

    /// Returns whether the parts that a check no longer names are gone, so that it looks at others.
    fn have_moved(&self, base: &Check, head: &Check, words: &[String]) -> bool {
        let is_about_parts = words.iter().all(|word| head.selection.has_operand(word));
        let mut lost = base.selection.operands().filter(|part| !head.selection.has_operand(part)).peekable();
        is_about_parts && lost.peek().is_some() && lost.all(|part| self.is_gone(base, part))
    }

    /// Returns whether what a check looks at went from one directory to another: its manifest did.
    pub(super) fn has_moved(&self, old: &str, new: &str) -> bool {
        const MANIFESTS: &[&str] = &[
            "build.gradle",
            "build.gradle.kts",
            "Cargo.toml",
            "composer.json",
            "Gemfile",
            "go.mod",
            "Makefile",
            "package.json",
            "pom.xml",
            "pyproject.toml",
            "setup.py",
        ];
        let has = |side, directory: &str, name: &str| {
            self.lookups.is_present(side, &calls::joined(directory, name))
        };
        MANIFESTS.iter().any(|name| {
            has(Side::Base, old, name) && !has(Side::Head, old, name) && has(Side::Head, new, name)
        })
    }
}
