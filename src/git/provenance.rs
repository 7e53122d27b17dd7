//! Detects signs that something other than a fetch wrote to a checkout's object store. They are reported only: the hash of
//! every object that is read is verified.

use std::path::Path;

use super::guard;
use super::open::OpenRepository;

/// Maximum number of loose objects that are counted.
const MAX_COUNTED: usize = 1000;
const REMEDY: &str =
    "the hash of every object that is read is verified; `objects: server` judges objects of the server only";

impl OpenRepository {
    /// Describes objects of the checkout that a fetch does not write.
    pub(crate) fn unfetched_objects(&self) -> Vec<String> {
        let objects = self.checkout().commondir().join("objects");
        let mut notices = Vec::new();
        if names_a_directory(&objects.join("info/alternates")) {
            notices.push(format!("the checkout uses objects of other directories (alternates); {REMEDY}"));
        }
        // A fetch writes either: few objects as loose ones, more as a pack.
        let loose = loose_objects(&objects);
        if loose > 0 && has_pack(&objects) {
            let number = if loose > MAX_COUNTED { format!("over {MAX_COUNTED}") } else { loose.to_string() };
            notices.push(format!("the checkout has {number} loose objects beside its packs; {REMEDY}"));
        }
        notices
    }
}

fn names_a_directory(list: &Path) -> bool {
    let text = guard::read_list(list).unwrap_or_default();
    guard::alternates(&text).next().is_some()
}

fn names_in(directory: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok())
}

fn loose_objects(objects: &Path) -> usize {
    let directories = names_in(objects).filter(|name| is_fan_out(name));
    directories.flat_map(|name| names_in(&objects.join(name))).take(MAX_COUNTED + 1).count()
}

/// Returns whether a directory's name is that of loose objects: two hexadecimal digits.
fn is_fan_out(name: &str) -> bool {
    name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn has_pack(objects: &Path) -> bool {
    names_in(&objects.join("pack")).any(|name| name.ends_with(".pack"))
}
