//! Paths to write to: below the current directory a commit can put a link in the place of any component.

use std::io;
use std::path::Path;

/// Refuses a path that leads through a link, or to one, below the current directory. What stands outside of it is as the
/// person who named the path wants it.
pub(crate) fn refuse_links(path: &Path) -> io::Result<()> {
    let mut place = std::env::current_dir()?;
    let full = std::path::absolute(path)?;
    let Ok(below) = full.strip_prefix(&place) else { return Ok(()) };
    let below = below.to_owned();
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
