//! Tests that mock what they are named after.

use super::rows::MOCKS;
use crate::contract::Inspection;
use crate::pattern::Pattern;
use qa_core::packet::Packet;
use qa_reading::syntax::{Language, parse_once};

/// Mock whose factory takes the original module as a parameter, or that only spies on it.
static PARTIAL: Pattern =
    Pattern::new(r"(?:mock|doMock)\([^)]*,\s*(?:async\s*)?\(?\s*\w+\s*(?::[^)]*)?\)?\s*=>|\bspy:\s*true");

/// Returns the mocks of the code that a test file is named after.
pub(super) fn inspect(packet: &Packet<'_>) -> Inspection {
    let path = packet.path().to_text();
    let (Some(text), Some(language)) =
        (packet.text.full_head.as_deref(), Language::from_path(&packet.path_by_language()))
    else {
        return Inspection::default();
    };
    let mut found = MOCKS.inspect(packet);
    if found.drafts.is_empty() {
        return found;
    }
    let subject = subject_of(&path);
    // A module that is mocked in part is called as a whole elsewhere.
    let is_partial =
        ["requireActual", "importActual", "importOriginal", "wraps="].iter().any(|word| text.contains(word))
            || PARTIAL.is_match(text);
    let outline = parse_once(language, text, None);
    let mut at = 0;
    let starts: Vec<usize> = text
        .split_inclusive('\n')
        .map(|line| {
            let start = at;
            at += line.len();
            start
        })
        .collect();
    found.drafts.retain(|draft| {
        let target = draft.quote.trim_matches(['"', '\'', '`']);
        if is_partial || subject.is_empty() {
            return false;
        }
        if language != Language::Python {
            let last = target.rsplit('/').next().unwrap_or(target);
            return target.starts_with('.') && last.split('.').next().is_some_and(|stem| stem == subject);
        }
        let line = usize::try_from(draft.start_line.saturating_sub(1)).unwrap_or(usize::MAX);
        let around =
            starts.get(line).and_then(|start| outline.definitions_around(*start)).unwrap_or_default();
        let test = around.rsplit('.').next().unwrap_or_default();
        let Some((module, name)) = target.rsplit_once('.') else { return false };
        let tested = test.strip_prefix("test_").unwrap_or_default();
        let is_tested = tested == name || tested.strip_prefix(name).is_some_and(|rest| rest.starts_with('_'));
        is_tested && module.split('.').any(|part| part == subject)
    });
    found
}

/// Returns the name of the code that a file of tests is about; empty where its name does not tell.
fn subject_of(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name);
    stem.strip_prefix("test_").or(stem.strip_suffix("_test")).unwrap_or(stem)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_test_file_is_named_after_its_subject() {
        for (path, expected) in [
            ("tests/test_cart.py", "cart"),
            ("src/cart.test.ts", "cart"),
            ("src/__tests__/cart.spec.js", "cart"),
        ] {
            assert_eq!(super::subject_of(path), expected, "{path}");
        }
    }
}
