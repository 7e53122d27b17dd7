//! Deletes imports that a change adds and that nothing uses once a mark is gone.

use super::{RawLine, added_lines, replace_lines};
use crate::mentions::joins;
use qa_contracts::v1::Replacement;
use qa_core::packet::Packet;

/// Deletes the added import of a name that nothing but some lines uses. `None` where there is none, or the rest of the
/// file is not known.
pub(super) fn unused_import(packet: &Packet<'_>, lines: &[RawLine<'_>]) -> Option<Replacement> {
    let text = packet.text.full_head.as_deref()?;
    let language = packet.file.language.as_deref();
    let import = added_lines(packet).find(|line| {
        let Some(name) = imported_name(language, line.text.trim()) else { return false };
        let own: usize = lines.iter().map(|line| uses(line.text, name)).sum();
        own > 0 && uses(text, name) == own + uses(line.text, name)
    })?;
    replace_lines(packet, &[import], "")
}

/// Returns the only name that a line imports.
fn imported_name<'l>(language: Option<&str>, line: &'l str) -> Option<&'l str> {
    let name = match language? {
        "java" | "kotlin" | "scala" => {
            let path = line.strip_prefix("import ")?.trim_end_matches(';').trim();
            path.trim_start_matches("static ").rsplit('.').next()?
        }
        "python" => match line.strip_prefix("from ") {
            Some(rest) => rest.split_once(" import ")?.1.trim(),
            None => line.strip_prefix("import ")?.trim(),
        },
        _ => return None,
    };
    (!name.is_empty() && name.chars().all(joins)).then_some(name)
}

/// Returns the number of times that a text has a name.
fn uses(text: &str, name: &str) -> usize {
    let found = text.match_indices(name);
    found
        .filter(|(at, _)| !text[..*at].ends_with(joins) && !text[at + name.len()..].starts_with(joins))
        .count()
}
