//! Classes of tests that xUnit no longer finds, since it runs public ones alone.

use super::{TEST_SKIPPED, whole};
use crate::contract::{Draft, DraftExt};
use crate::pattern::Pattern;
use qa_core::packet::Packet;

/// Declaration of a class, with its modifiers and its name.
static CLASS: Pattern = Pattern::new(r"^\s*((?:\w+\s+)*)class\s+(\w+)");
/// Attribute of a test of xUnit.
static TEST: Pattern = Pattern::new(r"\[(?:\w+\.)*(?:Fact|Theory)\b");

/// Reports classes that were public, in a file with tests of xUnit.
pub(super) fn hidden(packet: &Packet<'_>, head: &str) -> Vec<Draft> {
    if packet.file.language.as_deref() != Some("c#") || !TEST.is_match(head) {
        return Vec::new();
    }
    let mut drafts = Vec::new();
    for line in packet.added() {
        let Some(class) = CLASS.captures(line.text) else { continue };
        if is_public(&class[1]) {
            continue;
        }
        let mut removed = packet.removed().filter_map(|line| CLASS.captures(line.text));
        if removed.any(|old| old[2] == class[2] && is_public(&old[1])) && has_tests(head, line.number) {
            let summary = "class of tests is not public any more, and xUnit runs public ones alone";
            drafts.push(Draft::on_line(TEST_SKIPPED, packet, &line, whole(line.text), summary));
        }
    }
    drafts
}

fn is_public(modifiers: &str) -> bool {
    modifiers.split_whitespace().any(|word| word == "public")
}

/// Returns whether a test stands below a line, before the next class that is not nested.
fn has_tests(head: &str, number: u64) -> bool {
    let above = usize::try_from(number).unwrap_or(usize::MAX);
    let lines = head.lines().skip(above);
    lines
        .take_while(|line| line.starts_with(char::is_whitespace) || !CLASS.is_match(line))
        .any(|line| TEST.is_match(line))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_pattern_compiles() {
        super::CLASS.check();
        super::TEST.check();
    }
}
