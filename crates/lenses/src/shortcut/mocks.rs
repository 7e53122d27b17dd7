//! Tests that mock what they are named after.

use super::rows::MOCKS;
use crate::contract::Inspection;
use crate::pattern::Pattern;
use qa_core::packet::Packet;
use qa_reading::names::places;
use qa_reading::syntax::{Language, Outline, parse_once, without_comment};

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
        let Some(test) = starts.get(line).and_then(|start| test_at(text, &outline, *start)) else {
            return false;
        };
        let Some((module, name)) = target.rsplit_once('.') else { return false };
        let tested = test.name.strip_prefix("test_").unwrap_or_default();
        let is_tested = tested == name || tested.strip_prefix(name).is_some_and(|rest| rest.starts_with('_'));
        let is_of_module = module.split('.').any(|part| part == subject);
        let mut imports = outline.imports.iter();
        // A test may be named after a function that begins with the name of what it depends on.
        let is_imported = imports.any(|import| import.module == module && import.has_name(name))
            && is_called_while_mocked(&test, starts[line], name);
        is_tested && (is_of_module || is_imported)
    });
    found
}

/// A function of Python.
struct Test<'t> {
    name: &'t str,
    start: usize,
    body: &'t str,
}

/// Returns the function that a line stands in, or stands above as a decorator.
fn test_at<'t>(text: &'t str, outline: &Outline, line: usize) -> Option<Test<'t>> {
    static DEFINED: Pattern = Pattern::new(r"(?m)^([ \t]*)(?:async )?def (\w+)");
    let is_decorator = text[line..].trim_start_matches([' ', '\t']).starts_with('@');
    let all = DEFINED.captures_all(text);
    let mut heads =
        all.iter().filter_map(|groups| Some((groups.get(0)?.start(), groups.get(1)?, groups.get(2)?)));
    let (start, indent, name) = if is_decorator {
        heads.find(|(start, ..)| line <= *start)?
    } else {
        let around = outline.definitions_around(line)?;
        let own = around.rsplit('.').next().unwrap_or_default();
        heads.rfind(|(start, _, name)| *start <= line && name.as_str() == own)?
    };
    let depth = indent.as_str().len();
    let rest = &text[start..];
    let lines = rest.split_inclusive('\n').skip(1);
    let inside = lines.take_while(|line| line.trim().is_empty() || indentation(line) > depth);
    let length: usize = rest.split_inclusive('\n').take(1).chain(inside).map(str::len).sum();
    Some(Test { name: name.as_str(), start, body: &rest[..length] })
}

/// Returns whether a test calls a function by its name in the block of the `with` that mocks it, and nowhere else. The
/// target of the mock is on the line that begins at an offset.
fn is_called_while_mocked(test: &Test<'_>, target: usize, name: &str) -> bool {
    let mut at = test.start;
    let lines: Vec<(usize, &str)> = test
        .body
        .split_inclusive('\n')
        .map(|line| {
            let start = at;
            at += line.len();
            (start, without_comment(line.trim_end()).trim_end())
        })
        .collect();
    let Some(first) = lines.iter().rposition(|(start, line)| *start <= target && opens_with(line)) else {
        return false;
    };
    let Some(length) = lines[first..].iter().position(|(_, line)| line.ends_with(':')) else { return false };
    let (head, below) = lines[first..].split_at(length + 1);
    let depth = indentation(head[0].1);
    let inside = below.iter().take_while(|(_, line)| line.is_empty() || indentation(line) > depth).count();
    let (block, behind) = below.split_at(inside);
    let above = lines[..first].get(1..).unwrap_or_default();
    // The mock may call the function itself, or take its name.
    let others = ["side_effect", "wraps", &format!(" as {name}")];
    let is_plain = !head.iter().any(|(_, line)| others.iter().any(|word| line.contains(word)));
    is_plain && calls(block, name) > 0 && calls(above, name) + calls(behind, name) == 0
}

fn opens_with(line: &str) -> bool {
    line.trim_start().trim_start_matches("async ").starts_with("with ")
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Counts the calls of a function in lines without comments, outside of texts, that are no methods.
fn calls(lines: &[(usize, &str)], name: &str) -> usize {
    let called = lines.iter().flat_map(|(_, line)| places(line, name).map(move |place| (line, place)));
    let own = called.filter(|(line, place)| {
        let before = &line[..place.start];
        let is_text = before.matches(['"', '\'']).count() % 2 == 1;
        line[place.end..].starts_with('(') && !before.ends_with('.') && !is_text
    });
    own.count()
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
