//! Computes the pointers that Git LFS commits in the place of files, so that its program is not run.

use std::fs::{self, Metadata};
use std::io::Read;
use std::path::Path;

use qa_core::canonical;

/// Size from which a file is no pointer of Git LFS, in bytes.
const LFS_POINTER_BYTES: u64 = 1024;
/// First line of a pointer of Git LFS.
const LFS_VERSION: &str = "version https://git-lfs.github.com/spec/v1\n";

/// Returns what Git LFS commits in the place of a file. An empty file and a pointer stay as they are.
pub(super) fn lfs_pointer(full: &Path, found: &Metadata) -> std::io::Result<Vec<u8>> {
    let mut file = fs::File::open(full)?;
    if found.len() < LFS_POINTER_BYTES {
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        if text.is_empty() || text.starts_with(LFS_VERSION.as_bytes()) {
            return Ok(text);
        }
        return Ok(pointer(canonical::sha256(&text).as_str(), text.len() as u64));
    }
    let (mut hasher, mut bytes, mut buffer) = (canonical::Hasher::default(), 0, vec![0; 64 << 10]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(pointer(hasher.finish().as_str(), bytes)),
            read => {
                hasher.update(&buffer[..read]);
                bytes += read as u64;
            }
        }
    }
}

fn pointer(sha256: &str, bytes: u64) -> Vec<u8> {
    format!("{LFS_VERSION}oid sha256:{sha256}\nsize {bytes}\n").into_bytes()
}
