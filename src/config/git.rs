//! Variables and files by which git knows the account, for content that is not committed.

use std::ffi::OsString;
use std::path::PathBuf;

/// Configuration of the machine, unless a variable names another.
const SYSTEM_FILE: &str = "/etc/gitconfig";

/// Returns the index of a running `git commit`. A hook of `git commit --all`, and of one with paths, finds there what will be
/// committed, and not in the repository's own index.
pub(crate) fn index_file() -> Option<PathBuf> {
    variable("GIT_INDEX_FILE").map(PathBuf::from)
}

/// Returns git's configuration files outside the repository, in the order in which git reads them.
pub(crate) fn git_configuration_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let is_off =
        |value: OsString| ["0", "false", "no", "off"].iter().any(|word| value.eq_ignore_ascii_case(word));
    if variable("GIT_CONFIG_NOSYSTEM").is_none_or(is_off) {
        files.push(std::env::var_os("GIT_CONFIG_SYSTEM").unwrap_or_else(|| SYSTEM_FILE.into()).into());
    }
    // An empty variable names no file.
    match std::env::var_os("GIT_CONFIG_GLOBAL") {
        Some(file) => files.push(file.into()),
        None => {
            files.extend(git_account_directory().map(|directory| directory.join("config")));
            files.extend(std::env::home_dir().map(|home| home.join(".gitconfig")));
        }
    }
    files
}

/// Returns the account's home directory.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}

/// Returns the directory with the account's ignore rules and attributes.
pub(crate) fn git_account_directory() -> Option<PathBuf> {
    let base = match variable("XDG_CONFIG_HOME") {
        Some(base) => PathBuf::from(base),
        None => std::env::home_dir()?.join(".config"),
    };
    Some(base.join("git"))
}

/// Returns a variable that is set and not empty.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
