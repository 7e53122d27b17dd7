//! Writes edited files to the working tree: none, unless each of them has the bytes that were judged.

use std::fs;
use std::path::Path;

use super::proposal::EditedFile;
use crate::app::console::write_failure;
use crate::app::exit::Failure;
use crate::git::to_path;
use crate::paths::{refuse_links, replace_file};
use qa_contracts::codes::Code;

/// Writes files whole, with their permissions and owners.
pub(super) fn write_files(root: &Path, files: &[EditedFile]) -> Result<(), Failure> {
    for file in files {
        check(root, file)?;
    }
    for file in files {
        let path = root.join(to_path(file.path.as_bytes()));
        replace_file(&path, &file.new).map_err(|error| write_failure(&file.path.to_string(), &error))?;
    }
    Ok(())
}

/// Fails unless a file is there without a link on the way, and has the bytes that were judged.
fn check(root: &Path, file: &EditedFile) -> Result<(), Failure> {
    let path = root.join(to_path(file.path.as_bytes()));
    let problem = match fs::symlink_metadata(&path) {
        Err(error) => Some(error.to_string()),
        Ok(found) if !found.is_file() => Some("it is not a regular file".to_owned()),
        Ok(_) => match refuse_links(&path).and_then(|()| fs::read(&path)) {
            Err(error) => Some(error.to_string()),
            Ok(bytes) if bytes != file.old => Some("it has other content than was judged".to_owned()),
            Ok(_) => None,
        },
    };
    match problem {
        Some(problem) => Err(Failure::with_code(
            Code::EditTargetChanged,
            format!("failed to edit {}: {problem}; nothing was written", file.path),
        )),
        None => Ok(()),
    }
}
