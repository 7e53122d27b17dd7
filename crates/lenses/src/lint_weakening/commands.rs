//! Numbers of coverage and quality in commands that ask for less than before.

use std::borrow::Cow;

use super::THRESHOLD;
use crate::contract::{Draft, DraftExt};
use crate::pattern::Pattern;
use qa_contracts::v1::{ChangedFile, FileClass};
use qa_core::packet::{HunkView, Line, Packet};
use qa_reading::escapes::unescaped;

static NUMBER: Pattern = Pattern::new(
    r#"(?:^|[\s"',{\[/-])(fail[_-]under(?:-lines|-functions|-regions)?|cov-fail-under|minimum_coverage|coverage_threshold|max-warnings|COVERAGE_(?:MIN|THRESHOLD)\w*|MIN(?:IMUM)?_COVERAGE\w*|min-msi|p(?:roperty)?:(?:Threshold|MutationScore))["']?(?:\s*[:=]\s*|\s+)["']?(\d+(?:\.\d+)?)"#,
);

/// A number with the option that it belongs to.
struct Threshold {
    option: String,
    number: f64,
    span: std::ops::Range<usize>,
}

/// Returns whether a file holds commands that CI runs: a definition of CI or a list of commands.
pub(super) fn has_commands(file: &ChangedFile) -> bool {
    let name = String::from_utf8_lossy(file.path.file_name()).to_lowercase();
    file.class == FileClass::Infra || matches!(name.as_str(), "noxfile.py" | "package.json" | "tox.ini")
}

/// Pairs the numbers of a hunk by option and order, and reports those that ask for less.
pub(super) fn lowered(packet: &Packet<'_>, hunk: &HunkView<'_>) -> Vec<Draft> {
    let mut old: Vec<Threshold> = hunk.removed().filter_map(|line| threshold(&line)).collect();
    let mut drafts = Vec::new();
    for line in hunk.added() {
        let Some(new) = threshold(&line) else { continue };
        let Some(position) = old.iter().position(|before| before.option == new.option) else { continue };
        let before = old.remove(position).number;
        let is_tolerance = new.option.contains("warnings");
        if if is_tolerance { new.number > before } else { new.number < before } {
            let summary = "quality threshold is lowered";
            let draft = Draft::on_line(THRESHOLD, packet, &line, new.span, summary);
            drafts.push(draft.with("before", before.to_string()));
        }
    }
    drafts
}

fn threshold(line: &Line<'_>) -> Option<Threshold> {
    let is_escaped = line.text.contains("\\u");
    let text = if is_escaped { Cow::Owned(unescaped(line.text)) } else { Cow::Borrowed(line.text) };
    let captures = NUMBER.captures(&text)?;
    let option = captures[1].to_owned();
    // Columns of a text without its escapes are none of the line.
    let span = if is_escaped { 0..line.text.len() } else { captures.get(2)?.range() };
    Some(Threshold { option, number: captures[2].parse().ok()?, span })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        NUMBER.check();
    }
}
