//! Signs that something other than a fetch wrote to a checkout's object store. They are told and decide nothing: the
//! hash of every object that is read is verified.

use std::path::Path;

use super::guard;
use super::open::OpenRepository;

/// Beyond this many loose objects the exact number says nothing more.
const MAX_COUNTED: usize = 1000;
const REMEDY: &str =
    "every object that is read has its hash verified; `objects: server` judges what the server sends";

impl OpenRepository {
    /// Sentences about objects of the checkout that a fetch from the server would not have brought.
    pub(crate) fn unfetched_objects(&self) -> Vec<String> {
        let objects = self.checkout().commondir().join("objects");
        let mut told = Vec::new();
        if names_a_directory(&objects.join("info/alternates")) {
            told.push(format!("the checkout borrows objects of other directories (alternates); {REMEDY}"));
        }
        // A fetch writes either: few objects as loose ones, more as a pack.
        let loose = loose_objects(&objects);
        if loose > 0 && has_pack(&objects) {
            let number = if loose > MAX_COUNTED { format!("over {MAX_COUNTED}") } else { loose.to_string() };
            told.push(format!("the checkout has {number} loose objects beside its packs; {REMEDY}"));
        }
        told
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
    let is_fan = |name: &String| name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let directories = names_in(objects).filter(is_fan);
    directories.flat_map(|name| names_in(&objects.join(name))).take(MAX_COUNTED + 1).count()
}

fn has_pack(objects: &Path) -> bool {
    names_in(&objects.join("pack")).any(|name| name.ends_with(".pack"))
}
