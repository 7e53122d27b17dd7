//! From two blobs to hunks: decoding, the rule for binary content, the line diff and the text lenses see.

mod coding;
mod hunks;
mod text;

pub use coding::is_recoded;
pub use hunks::{ALGORITHM, FileDiff, diff_file};
pub use text::{Content, SNIFFED_BYTES, content, is_compiled, lossy};
