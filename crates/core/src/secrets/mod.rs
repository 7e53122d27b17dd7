//! Finds secrets in a text and masks them, before anything else of the program sees the text.

mod assignment;
mod cloud;
mod forge;
mod header;
mod plausible;
mod private_key;
mod rules;
mod scan;
mod service;
mod spelled;
#[cfg(test)]
mod tests;
mod url;
mod words;

pub use rules::{Detector, Kind};

/// Where a secret stands in a text, in bytes: exactly what is masked, without the public prefix of its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecretSpan {
    /// The first masked byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// The detector's id.
    pub detector: &'static str,
}

/// Every secret in a text: sorted, disjoint, on character boundaries.
///
/// The cost is linear in the text whatever it says: each detector looks only at a bounded number of bytes around a
/// keyword.
pub fn find(text: &str) -> Vec<SecretSpan> {
    scan::find(text)
}

/// Overwrites secrets with `*`, byte for byte, so that every offset and line number stays what it was.
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

/// The detector of that id.
pub fn detector(id: &str) -> Option<&'static Detector> {
    rules::all().find(|detector| detector.id == id)
}
