//! Deletes imports that a change adds and that nothing uses once a mark is gone.

use super::{RawLine, added_lines, replace_lines};
use qa_contracts::v1::Replacement;
use qa_core::packet::Packet;
use qa_reading::names::{joins, places};

/// Deletes the added import of a name that nothing but some lines uses. `None` where there is none, or the rest of the
/// file is not known.
pub(super) fn unused_import(packet: &Packet<'_>, lines: &[RawLine<'_>]) -> Option<Replacement> {
    let text = packet.text.full_head.as_deref()?;
    let language = packet.file.language.as_deref();
    let import = added_lines(packet).find(|line| {
        let Some(name) = imported_name(language, line.text.trim()) else { return false };
        let own: usize = lines.iter().map(|line| places(line.text, name).count()).sum();
        own > 0 && places(text, name).count() == own + places(line.text, name).count()
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
