//! Whether a file begins with a notice about its licence.

use super::sighting::{Sighting, Source};
use qa_contracts::v1::ConventionFamily;

/// The file has one.
pub(crate) const PRESENT: &str = "present";
/// How far from the beginning it may stand.
const MOST_LINES: usize = 40;

pub(super) fn sightings(source: &Source<'_>, all: &mut Vec<Sighting>) {
    // A file with nothing in it has nothing to license, and these two hold nothing but words about a package.
    let of_package = ["package-info.java", "module-info.java"].iter().any(|name| source.path.ends_with(name));
    if source.text.trim().is_empty() || of_package {
        return;
    }
    let value = if has_header(source.text) { PRESENT } else { "absent" };
    all.push(source.sighting(ConventionFamily::LicenceHeader, "", value, "", None));
}

/// Whether the comments at the beginning speak of a licence.
pub(crate) fn has_header(text: &str) -> bool {
    // The middle of a block comment need not begin with a mark.
    let mut inside = false;
    for line in text.lines().take(MOST_LINES) {
        if !inside && !is_blank_or_comment(line) {
            return false;
        }
        let lower = line.to_ascii_lowercase();
        if ["copyright", "spdx-license-identifier", "licensed under"].iter().any(|word| lower.contains(word))
        {
            return true;
        }
        inside = (inside || line.contains("/*")) && !line.contains("*/");
    }
    false
}

fn is_blank_or_comment(line: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}').trim_start();
    line.is_empty() || ["//", "#", "/*", "*", "--", "\"\"\""].iter().any(|mark| line.starts_with(mark))
}
