//! Scopes of changed files: a name only claims that a file is vendored or generated, and the base has to show it.

use std::collections::BTreeMap;

use super::ports::{BlobRead, Objects, PortError};
use qa_contracts::ids::{BlobId, CommitId, RepoPath};
use qa_contracts::v1::{FileClass, Scope, ScopeReason};
use qa_core::classify::{self, Attributes, Evidence, ScopeGlobs, ScopedBy};

/// Largest `.gitattributes` that is read.
const MAX_ATTRIBUTES_BYTES: u64 = 256 << 10;
/// Largest file that is searched for a marker; of larger ones the beginning is.
const MAX_MARKED_BYTES: u64 = 1 << 20;
/// Number of neighbours of the base that are searched for a marker.
const MAX_NEIGHBOURS: usize = 3;
/// Configuration of a generator, in the root of the base.
const GENERATORS: &[&str] = &["buf.gen.yaml", "buf.gen.yml"];

/// Scopes by the policy, by names and by what the base holds.
pub(super) struct BaseScopes<'a> {
    objects: &'a dyn Objects,
    base: &'a CommitId,
    globs: &'a ScopeGlobs,
    attributes: Attributes,
    /// Directories that the base has or has not.
    directories: BTreeMap<String, bool>,
}

impl<'a> BaseScopes<'a> {
    pub(super) fn new(objects: &'a dyn Objects, base: &'a CommitId, globs: &'a ScopeGlobs) -> Self {
        // Attributes that cannot be read make nothing vendored or generated.
        let attributes = text_at(objects, base, ".gitattributes").unwrap_or_default();
        let attributes = Attributes::parse(&attributes);
        Self { objects, base, globs, attributes, directories: BTreeMap::new() }
    }

    /// Returns the scope of a path and the reason; `old` is the version that the change starts from.
    pub(super) fn scope(
        &mut self,
        path: &RepoPath,
        old: Option<&BlobId>,
        class: FileClass,
    ) -> Result<(Scope, ScopeReason), PortError> {
        let (scope, evidence) = match self.globs.scoped_by(path, class) {
            ScopedBy::Policy(scope) => return Ok((scope, ScopeReason::Policy)),
            ScopedBy::Use => return Ok((Scope::Product, ScopeReason::Executed)),
            ScopedBy::Name { scope, evidence } => (scope, evidence),
        };
        for claimed in [Scope::Vendored, Scope::Generated] {
            if self.attributes.claims(path, claimed) == Some(true) {
                return Ok((claimed, ScopeReason::Attributes));
            }
        }
        let is_denied = self.attributes.claims(path, scope) == Some(false);
        let shown = match evidence {
            Evidence::NotNeeded => Some(ScopeReason::Name),
            Evidence::Directory(directory) => {
                self.has_directory(directory)?.then_some(ScopeReason::Directory)
            }
            Evidence::Marker { ending } => self.is_marked(path, old, ending)?.then_some(ScopeReason::Marker),
            Evidence::Presence => old.map(|_| ScopeReason::Marker),
        };
        let shown = shown.filter(|reason| *reason == ScopeReason::Name || !is_denied);
        Ok(match shown {
            Some(reason) => (scope, reason),
            None => (classify::scope_without_claim(path, class), ScopeReason::Unproven),
        })
    }

    fn has_directory(&mut self, directory: String) -> Result<bool, PortError> {
        if let Some(known) = self.directories.get(&directory) {
            return Ok(*known);
        }
        let is_there = self.objects.is_tracked_at(self.base, &directory)?;
        self.directories.insert(directory, is_there);
        Ok(is_there)
    }

    /// Returns whether a version that the change starts from is marked or, of a new file, a neighbour of its kind in the
    /// base, or whether the base configures a generator.
    fn is_marked(&self, path: &RepoPath, old: Option<&BlobId>, ending: &str) -> Result<bool, PortError> {
        if let Some(old) = old {
            return self.has_marker(old);
        }
        for generator in GENERATORS {
            if self.objects.is_tracked_at(self.base, generator)? {
                return Ok(true);
            }
        }
        let path = path.to_text();
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let neighbours = self.objects.files_in(self.base, directory)?;
        let of_kind = neighbours.iter().filter(|(name, _)| name.to_lowercase().ends_with(ending));
        for (_, id) in of_kind.take(MAX_NEIGHBOURS) {
            if self.has_marker(id)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has_marker(&self, id: &BlobId) -> Result<bool, PortError> {
        let bytes = match self.objects.reader()?.blob(id, MAX_MARKED_BYTES)? {
            BlobRead::Content(bytes) => bytes,
            BlobRead::TooLarge { start, .. } => start,
        };
        Ok(classify::is_marked_generated(&bytes))
    }
}

fn text_at(objects: &dyn Objects, commit: &CommitId, path: &str) -> Option<String> {
    let id = objects.file_at(commit, path).ok()??;
    match objects.reader().ok()?.blob(&id, MAX_ATTRIBUTES_BYTES).ok()? {
        BlobRead::Content(bytes) => String::from_utf8(bytes).ok(),
        BlobRead::TooLarge { .. } => None,
    }
}
