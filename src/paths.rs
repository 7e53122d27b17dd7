//! Paths to write to: in a checkout a commit can put a link in the place of any component.

use std::io;
use std::path::Path;

/// Refuses a path that leads through a link, or to one, below the current directory or in a checkout. What stands elsewhere
/// is as the person who named the path wants it.
pub(crate) fn refuse_links(path: &Path) -> io::Result<()> {
    let current = std::env::current_dir()?;
    let full = std::path::absolute(path)?;
    let is_checkout = |directory: &&Path| std::fs::symlink_metadata(directory.join(".git")).is_ok();
    let checkout = full.ancestors().skip(1).filter(is_checkout).last();
    let current = full.starts_with(&current).then_some(current.as_path());
    let Some(mut place) =
        checkout.into_iter().chain(current).min_by_key(|place| place.as_os_str().len()).map(Path::to_owned)
    else {
        return Ok(());
    };
    let below = full.strip_prefix(&place).map_err(io::Error::other)?.to_owned();
    for component in below.components() {
        place.push(component);
        match std::fs::symlink_metadata(&place) {
            Ok(found) if found.is_symlink() => {
                let name = qa_core::masking::sanitize_cut(&place.display().to_string(), 300);
                return Err(io::Error::other(format!("{name} is a link, and a commit can bring one")));
            }
            Ok(_) => {}
            // What is not there yet is made here.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
