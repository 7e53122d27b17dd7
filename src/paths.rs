//! Paths to write to, checked for links that a commit can bring into a checkout.

use std::io;
use std::path::Path;

/// Fails on a path with a link in any component below the current directory or in a checkout. Links elsewhere are those of
/// the person who named the path.
pub(crate) fn refuse_links(path: &Path) -> io::Result<()> {
    let current = std::env::current_dir()?;
    let full = std::path::absolute(path)?;
    let checkout = full.ancestors().skip(1).filter(|directory| is_checkout(directory)).last();
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

fn is_checkout(directory: &Path) -> bool {
    std::fs::symlink_metadata(directory.join(".git")).is_ok()
}
