//! Removes directories that a command filled, at any depth and with any modes.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Removes a directory and everything below it, if it exists. No process may be running in it.
///
/// Moves each directory up to the top first, so that paths stay short at any depth.
pub(super) fn remove_tree(top: &Path) -> io::Result<()> {
    match fs::symlink_metadata(top) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return fs::remove_file(top),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    let mut pending = vec![top.to_owned()];
    let mut moved = 0_u64;
    while let Some(directory) = pending.last().cloned() {
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700))?;
        let mut inner_directories = Vec::new();
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                inner_directories.push(entry.path());
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        if directory != top {
            for inner in &inner_directories {
                let place = unused(top, &mut moved);
                fs::set_permissions(inner, fs::Permissions::from_mode(0o700))?;
                fs::rename(inner, &place)?;
                pending.insert(1, place);
            }
            fs::remove_dir(&directory)?;
            pending.pop();
        } else if inner_directories.is_empty() {
            fs::remove_dir(top)?;
            pending.pop();
        } else {
            pending.extend(inner_directories);
        }
    }
    Ok(())
}

fn unused(top: &Path, moved: &mut u64) -> std::path::PathBuf {
    loop {
        *moved += 1;
        let place = top.join(format!("moved-{moved}"));
        if fs::symlink_metadata(&place).is_err() {
            return place;
        }
    }
}
