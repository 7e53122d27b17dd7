//! Finds secrets in a text and masks them, before anything else of the program sees the text.

mod assignment;
mod cloud;
mod detector;
mod forge;
mod header;
mod joined;
mod plausible;
mod private_key;
mod rules;
mod scan;
mod service;
mod spelled;
#[cfg(test)]
mod tests;
mod url;
mod vendor;
mod words;

pub use detector::{Detector, Kind};

/// Masked bytes of a secret in a text, without the public prefix of its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecretSpan {
    /// Offset of the first masked byte.
    pub start: usize,
    /// Offset of the byte after the last.
    pub end: usize,
    /// Id of the detector.
    pub detector: &'static str,
}

/// Returns every secret in a text: sorted, disjoint, on character boundaries. Where candidates overlap, the most specific
/// one covers all of them.
///
/// The cost is linear in any text, because each detector reads a bounded number of bytes around a keyword.
pub fn find(text: &str) -> Vec<SecretSpan> {
    find_with(text, &[])
}

/// Like [`find`], with spans that are known to be secret although the text alone does not show it.
pub fn find_with(text: &str, known: &[SecretSpan]) -> Vec<SecretSpan> {
    scan::find(text, known)
}

/// Overwrites secrets with `*`, byte for byte, so that offsets and line numbers stay the same.
pub fn mask(text: &mut String, spans: &[SecretSpan]) {
    let mut bytes = std::mem::take(text).into_bytes();
    for span in spans {
        for byte in &mut bytes[span.start..span.end] {
            if !matches!(*byte, b'\n' | b'\r') {
                *byte = b'*';
            }
        }
    }
    *text = String::from_utf8(bytes).expect("spans begin and end on character boundaries");
}

/// Returns a text with its secrets masked.
pub fn masked(mut text: String) -> String {
    let spans = find(&text);
    mask(&mut text, &spans);
    text
}

/// Returns whether a text between two secrets joins them: they are pieces of one.
pub fn joins_pieces(between: &str) -> bool {
    joined::is_seam(between.as_bytes())
}

/// Returns the detector with an id.
pub fn detector(id: &str) -> Option<&'static Detector> {
    rules::all().find(|detector| detector.id == id)
}
