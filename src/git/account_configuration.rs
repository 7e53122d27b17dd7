//! Adds the configuration outside the repository to a checkout, for content that is not committed.

use std::fs;
use std::path::Path;

use git2::{ConfigLevel, Repository};

use super::error::GitError;
use super::guard;
use super::open::OpenRepository;
use super::uncommitted::{Surroundings, shown, unreadable};

/// Condition of an include that libgit2 does not know.
const CONDITION: &[u8] = b"hasconfig:";

/// Adds the configuration of the machine and of the account, which nothing else here reads: it has line ends, ignored files
/// and filters.
pub(super) fn add_configuration(
    opened: &OpenRepository,
    repository: &Repository,
    surroundings: &Surroundings,
) -> Result<(), GitError> {
    let mut text = String::new();
    if let Some(account) = &surroundings.account {
        let [ignore, attributes] = ["ignore", "attributes"].map(|name| quoted(&account.join(name)));
        text.push_str(&format!("[core]\n\texcludesFile = {ignore}\n\tattributesFile = {attributes}\n"));
    }
    for file in [repository.commondir().join("config"), repository.path().join("config.worktree")] {
        check_conditions(&file)?;
    }
    for file in surroundings.configuration.iter().filter(|file| has_configuration(file)) {
        guard::check_configuration(file)?;
        check_conditions(file)?;
        text.push_str(&format!("[include]\n\tpath = {}\n", quoted(file)));
    }
    let path = opened.store.path().join("account");
    fs::write(&path, text).map_err(|error| GitError::NoScratch(error.to_string()))?;
    let added = repository.config().and_then(|mut config| config.add_file(&path, ConfigLevel::Global, false));
    added.map_err(|error| unreadable(&error))?;
    check_rules(repository)
}

/// Fails if the ignore rules or attributes that the configuration names are no regular file.
fn check_rules(repository: &Repository) -> Result<(), GitError> {
    let configuration = repository.config().map_err(|error| unreadable(&error))?;
    let named = ["core.excludesFile", "core.attributesFile"].map(|key| configuration.get_path(key));
    named.into_iter().flatten().try_for_each(|path| guard::check_rules(&path))
}

fn has_configuration(file: &Path) -> bool {
    file.exists() && file != Path::new("/dev/null")
}

/// Fails if a configuration includes others by a condition that libgit2 does not know.
fn check_conditions(file: &Path) -> Result<(), GitError> {
    let Ok(text) = fs::read(file) else { return Ok(()) };
    if !text.to_ascii_lowercase().windows(CONDITION.len()).any(|part| part == CONDITION) {
        return Ok(());
    }
    Err(GitError::NotCommittable {
        problem: format!(
            "{} has an `includeIf` with `hasconfig`",
            shown(file.display().to_string().as_bytes())
        ),
        hint: "stage the files with `git add`, which reads it, and judge what is staged with --staged",
    })
}

/// Quotes a path as a value of git's configuration.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
