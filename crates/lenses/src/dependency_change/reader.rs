//! Readers of the files that decide about dependencies, and the comparison of their two versions.

use std::collections::{BTreeMap, BTreeSet};

use super::commands::Commands;
use super::manifests::{Kind, Manifest};
use super::{Finding, Place, REPEATED, locks, nuget};
use qa_contracts::ids::RepoPath;
use qa_reading::documents::ReadError;
use qa_reading::packages::{LockFormat, Lockfile, Repeated, lockfile};

/// Reader of one file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reader {
    Commands(Commands),
    Lock(LockFormat),
    Manifest(&'static Kind),
}

impl Reader {
    /// Returns the reader of a file by its path.
    pub(super) fn for_path(path: &RepoPath) -> Option<Self> {
        let path = path.to_text();
        let name = path.rsplit('/').next().unwrap_or(&path);
        if let Some(format) = LockFormat::from_file_name(name) {
            return Some(Self::Lock(format));
        }
        let path = path.to_lowercase();
        let commands = Commands::for_path(&path).map(Self::Commands);
        commands.or_else(|| Kind::for_path(&path).map(Self::Manifest))
    }

    /// Compares two versions of a file.
    ///
    /// # Errors
    /// The head cannot be read, or one of the two exceeds a limit. What cannot be read at the base had nothing in it
    /// that head could repeat.
    pub(super) fn compare(self, base: Option<&str>, head: &str) -> Result<Vec<Finding>, ReadError> {
        match self {
            // yarn takes an empty file for the mark of a project.
            Self::Lock(_) if base.is_none() && head.trim().is_empty() => Ok(Vec::new()),
            Self::Lock(format) => {
                let new = lockfile(format, head)?;
                let old = base.map(|base| readable(lockfile(format, base))).transpose()?.flatten();
                let mut findings =
                    repetitions(old.as_ref().map(|old| old.repeated.as_slice()), &new.repeated);
                match &old {
                    Some(Lockfile { packages, .. }) => {
                        findings.extend(locks::compare(format, packages, &new.packages));
                    }
                    None if base.is_none() => findings.extend(locks::unprotected(&new.packages)),
                    None => {}
                }
                Ok(findings)
            }
            Self::Manifest(kind) => {
                let old = base.map(|base| readable(kind.parse(base))).transpose()?.flatten();
                let mut findings = new_claims(old.unwrap_or_default(), kind.parse(head)?);
                if kind.is_of_nuget() {
                    findings.extend(nuget::lost(base.unwrap_or_default(), head));
                }
                Ok(findings)
            }
            Self::Commands(commands) => {
                let [old, new] = [base.unwrap_or_default(), head]
                    .map(|text| Manifest { claims: commands.claims(text), ..Manifest::default() });
                Ok(new_claims(old, new))
            }
        }
    }
}

/// Returns none for a text with a wrong syntax, which is no base to compare with.
fn readable<T>(read: Result<T, ReadError>) -> Result<Option<T>, ReadError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(ReadError::Syntax { .. }) => Ok(None),
        Err(error @ (ReadError::TooLarge | ReadError::TooDeep)) => Err(error),
    }
}

fn new_claims(base: Manifest, head: Manifest) -> Vec<Finding> {
    let known: BTreeSet<(&str, &str)> =
        base.claims.iter().map(|claim| (claim.rule, claim.identity.as_str())).collect();
    let mut findings = repetitions(Some(&base.repeated), &head.repeated);
    for claim in head.claims.iter().filter(|claim| !known.contains(&(claim.rule, claim.identity.as_str()))) {
        findings.push(Finding::new(claim.rule, claim.summary, vec![Place::head(claim.span)]));
    }
    findings
}

/// Returns the keys that head has twice more often than the base.
fn repetitions(base: Option<&[Repeated]>, head: &[Repeated]) -> Vec<Finding> {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for repeated in base.into_iter().flatten() {
        *known.entry(&repeated.name).or_default() += 1;
    }
    let mut findings = Vec::new();
    for repeated in head {
        let left = known.entry(&repeated.name).or_default();
        if *left > 0 {
            *left -= 1;
            continue;
        }
        let places = vec![Place::head(repeated.last), Place::head(repeated.first)];
        let summary = "duplicate key or package, and tools differ in which one they use";
        findings.push(Finding::new(REPEATED, summary, places).with("key", repeated.name.clone()));
    }
    findings
}
