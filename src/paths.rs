//! Paths to write to, checked for links that a commit can bring into a checkout.

use std::io::{self, Write};
use std::path::Path;

/// Fails on a path with a link in any component below the current directory or in a checkout. Links elsewhere are those of
/// the person who named the path.
pub(crate) fn refuse_links(path: &Path) -> io::Result<()> {
    refuse_links_from(path, &std::env::current_dir()?)
}

/// Fails on a path with a link in any component below a directory or in a checkout, wherever the program is started.
pub(crate) fn refuse_links_from(path: &Path, directory: &Path) -> io::Result<()> {
    let full = std::path::absolute(path)?;
    let checkout = full.ancestors().skip(1).filter(|directory| is_checkout(directory)).last();
    let directory = full.starts_with(directory).then_some(directory);
    let Some(mut place) =
        checkout.into_iter().chain(directory).min_by_key(|place| place.as_os_str().len()).map(Path::to_owned)
    else {
        return Ok(());
    };
    let below = full.strip_prefix(&place).map_err(io::Error::other)?.to_owned();
    for component in below.components() {
        place.push(component);
        match std::fs::symlink_metadata(&place) {
            Ok(metadata) if metadata.is_symlink() => {
                let name = qa_core::masking::sanitize_cut(&place.display().to_string(), 300);
                return Err(io::Error::other(format!("{name} is a link, which a commit can bring")));
            }
            Ok(_) => {}
            // The rest of the path is created here.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes a file whole: a temporary file beside it takes its place. A file that was there gives it its permissions, and its
/// owner where the process may, such as root in a container over the checkout of a person.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory =
        path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Created with the permissions that the umask leaves, not with those of a temporary file.
    let mut file = tempfile::Builder::new()
        .prefix(".qa-skill-")
        .make_in(directory, |path| std::fs::File::create_new(path))?;
    if let Ok(replaced) = std::fs::metadata(path) {
        keep_owner_and_permissions(file.as_file(), &replaced)?;
    }
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Gives a file the owner, the group and the permissions of another one. An owner or a group that the process may not give
/// is left out, and with it the bits that run a program as its owner.
#[cfg(unix)]
fn keep_owner_and_permissions(file: &std::fs::File, replaced: &std::fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    const PERMISSIONS: u32 = 0o777;
    let owner = (replaced.uid(), replaced.gid());
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != owner && fchown(file, Some(owner.0), Some(owner.1)).is_err() {
        let _may_not_be_ours_to_give = fchown(file, None, Some(owner.1));
    }
    let own = file.metadata()?;
    let mut permissions = replaced.permissions();
    if (own.uid(), own.gid()) != owner {
        permissions.set_mode(permissions.mode() & PERMISSIONS);
    }
    file.set_permissions(permissions)
}

#[cfg(not(unix))]
fn keep_owner_and_permissions(file: &std::fs::File, replaced: &std::fs::Metadata) -> io::Result<()> {
    file.set_permissions(replaced.permissions())
}

fn is_checkout(directory: &Path) -> bool {
    std::fs::symlink_metadata(directory.join(".git")).is_ok()
}

/// Maximum number of entries of a listing.
const MAX_LISTED: usize = 500_000;

/// Returns the paths, from `root`, of what is no directory in a directory of it and below, without following links and
/// without git's own directory. Links are among them and names that are not UTF-8, which nobody can read as a report, so
/// that they are refused and not passed over. A directory that does not exist has none.
pub(crate) fn list_files(root: &Path, directory: &str) -> std::io::Result<Vec<String>> {
    let mut full = root.to_owned();
    for part in directory.split('/').filter(|part| !part.is_empty()) {
        full.push(part);
        match std::fs::symlink_metadata(&full) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Ok(Vec::new()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        }
    }
    let mut files = Vec::new();
    let mut open = vec![(full, directory.to_owned())];
    let mut seen = 0;
    while let Some((full, shown)) = open.pop() {
        for entry in std::fs::read_dir(&full)? {
            let entry = entry?;
            seen += 1;
            if seen > MAX_LISTED {
                return Err(std::io::Error::other(format!("there are more than {MAX_LISTED}")));
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if shown.is_empty() { name.clone() } else { format!("{shown}/{name}") };
            if !entry.file_type()?.is_dir() {
                files.push(path);
            } else if name != ".git" {
                open.push((entry.path(), path));
            }
        }
    }
    files.sort();
    Ok(files)
}
