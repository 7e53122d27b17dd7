//! Tells whether the next run could read head's policy and waivers, from the change alone.
//!
//! A base whose policy cannot be read ends every run, so the preview must not show such a head as one without a policy.

use qa_contracts::ids::RepoPath;
use qa_contracts::limits::MAX_POLICY_BYTES;
use qa_contracts::v1::{ChangeSet, ChangedFile, Registry};
use qa_core::policy::{POLICY_PATH, WAIVERS_PATH, file};

/// Directory of policy and waivers.
const DIRECTORY: &str = ".qa-skill";

/// Texts of head's policy and waivers; `None` where there is none or it could not be read.
pub(crate) struct HeadTexts<'a> {
    pub(crate) policy: Option<&'a str>,
    /// Only where the change touches them.
    pub(crate) waivers: Option<&'a str>,
}

/// Returns whether a change touches the policy, the waivers or what they stand in.
pub(crate) fn is_touched(change_set: &ChangeSet) -> bool {
    let paths = change_set.files.iter().flat_map(|file| [Some(&file.path), file.old_path.as_ref()]);
    paths.flatten().any(|path| {
        path.as_bytes() == DIRECTORY.as_bytes()
            || is_below(path, DIRECTORY) && path.as_bytes().ends_with(b".toml")
            || is_below(path, POLICY_PATH)
            || is_below(path, WAIVERS_PATH)
    })
}

/// Returns why the next run would refuse head's files. What is wrong with a policy's text is another's to say.
pub(crate) fn fault(change_set: &ChangeSet, head: &HeadTexts<'_>, registry: &Registry) -> Option<String> {
    if at_head(change_set, DIRECTORY).is_some() {
        return Some(format!("{DIRECTORY} is not a directory"));
    }
    for (path, text) in [(POLICY_PATH, head.policy), (WAIVERS_PATH, head.waivers)] {
        if change_set.files.iter().any(|file| is_below(&file.path, path) && file.new_mode.is_some()) {
            return Some(format!("{path} is not a regular file"));
        }
        let Some(file) = at_head(change_set, path) else { continue };
        if !matches!(file.new_mode.as_deref(), Some("100644" | "100755")) {
            return Some(format!("{path} is not a regular file"));
        }
        if text.is_none() {
            return Some(format!("{path} is not UTF-8, or it is larger than {MAX_POLICY_BYTES} bytes"));
        }
    }
    let error = file::parse_waivers(head.waivers?, registry).err()?;
    Some(format!("{WAIVERS_PATH}: {error}"))
}

/// Returns the changed file at a path, if head has it.
fn at_head<'c>(change_set: &'c ChangeSet, path: &str) -> Option<&'c ChangedFile> {
    let found = change_set.files.iter().find(|file| file.path.as_bytes() == path.as_bytes());
    found.filter(|file| file.new_mode.is_some())
}

fn is_below(path: &RepoPath, directory: &str) -> bool {
    matches!(path.as_bytes().strip_prefix(directory.as_bytes()), Some([b'/', ..]))
}
