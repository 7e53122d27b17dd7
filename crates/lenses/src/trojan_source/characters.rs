//! Characters that reorder, hide or do not show, and the places where a script or an emoji needs them.

use crate::scan::{Kind, Parts};

/// Embeddings, overrides, isolates and marks.
pub(super) fn is_bidi_control(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
}

/// Controls that move the cursor, erase or recolour on a terminal. Tab, line end and form feed are layout.
pub(super) fn is_hiding_control(character: char) -> bool {
    character.is_control() && !matches!(character, '\t' | '\n' | '\u{c}')
}

/// Letters that are written from right to left.
pub(super) fn is_right_to_left(character: char) -> bool {
    matches!(character, '\u{590}'..='\u{60b}' | '\u{60d}'..='\u{61b}' | '\u{61d}'..='\u{8ff}'
        | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// Returns whether controls beside right-to-left letters are typography. Prose may isolate and embed as long as it
/// closes what it opens; code may only have marks, inside strings and comments. An override never is.
pub(super) fn bidi_belongs(text: &str, offsets: &[usize], prose: bool, parts: &Parts) -> bool {
    if prose {
        return is_balanced(text);
    }
    offsets.iter().all(|offset| {
        let is_mark = text[*offset..].starts_with(['\u{200e}', '\u{200f}', '\u{61c}']);
        is_mark && parts.kind_at(*offset) != Kind::Code
    })
}

/// Isolates around a placeholder, as translation files have them, and nothing else.
pub(super) fn is_balanced_isolation(text: &str) -> bool {
    let mut controls = text.chars().filter(|&character| is_bidi_control(character));
    controls.all(|control| matches!(control, '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}'))
        && is_balanced(text)
}

fn is_balanced(text: &str) -> bool {
    let mut open = Vec::new();
    for character in text.chars() {
        match character {
            '\u{202d}' | '\u{202e}' => return false,
            '\u{202a}' | '\u{202b}' => open.push('\u{202c}'),
            '\u{2066}'..='\u{2068}' => open.push('\u{2069}'),
            '\u{202c}' | '\u{2069}' if open.pop() != Some(character) => return false,
            _ => {}
        }
    }
    open.is_empty()
}

/// Returns the offsets of characters that do not show and that nothing around them needs.
pub(super) fn invisible(text: &str, first_line: bool, parts: &Parts) -> Vec<usize> {
    let mut found = Vec::new();
    let mut before: Option<char> = None;
    let mut flag = false;
    for (offset, character) in text.char_indices() {
        // The letters of a flag's name are invisible and follow a black flag.
        flag = character == '\u{1f3f4}' || flag && matches!(character, '\u{e0020}'..='\u{e007f}');
        let belongs = match character {
            _ if flag => true,
            '\u{feff}' => first_line && offset == 0,
            '\u{200c}' | '\u{200d}' => {
                let after = text[offset + character.len_utf8()..].chars().next();
                joins_letters(before, after, parts.kind_at(offset)) || joins_emoji(before, after)
            }
            '\u{fe00}'..='\u{fe0f}' => before.is_some_and(takes_variation),
            '\u{e0100}'..='\u{e01ef}' => before.is_some_and(is_ideograph),
            '\u{180b}'..='\u{180f}' => before.is_some_and(|letter| matches!(letter, '\u{1800}'..='\u{18af}')),
            '\u{115f}' | '\u{1160}' => {
                let after = text[offset + character.len_utf8()..].chars().next();
                before.or(after).is_some_and(is_conjoining)
            }
            other => !is_invisible(other),
        };
        if !belongs {
            found.push(offset);
        }
        before = Some(character);
    }
    outside_tables(text, &found)
}

/// Returns those of some offsets that are in no table. ASCII ends one, but for the hyphen of a range.
fn outside_tables(text: &str, invisible: &[usize]) -> Vec<usize> {
    let mut outside = Vec::new();
    let mut start = 0;
    let runs = if invisible.is_empty() { "" } else { text };
    for run in runs.split(|sign: char| sign.is_ascii() && sign != '-') {
        let end = start + run.len();
        let [first, behind] = [start, end].map(|edge| invisible.partition_point(|offset| *offset < edge));
        let inside = &invisible[first..behind];
        if !inside.is_empty() && !is_table(run, start, inside) {
            outside.extend_from_slice(inside);
        }
        start = end + 1;
    }
    outside
}

/// Returns whether a run lists characters in the order of their numbers, as the class of a generated pattern does: what
/// does not show between them is there one of many and hides nothing.
fn is_table(run: &str, start: usize, invisible: &[usize]) -> bool {
    const FEWEST: usize = 64;
    let listed: Vec<(usize, char)> = run.char_indices().filter(|(_, sign)| !sign.is_ascii()).collect();
    let mut edges = [listed.first(), listed.last()].into_iter().flatten();
    listed.len() >= FEWEST
        && invisible.len() * 8 <= listed.len()
        && listed.is_sorted_by(|(_, one), (_, next)| one < next)
        && !edges.any(|(offset, sign)| {
            invisible.contains(&(start + offset)) && !is_end_of_range(run, *offset, *sign)
        })
}

/// Returns whether a hyphen joins a character of a table to another one.
fn is_end_of_range(run: &str, offset: usize, sign: char) -> bool {
    run[..offset].ends_with('-') || run[offset + sign.len_utf8()..].starts_with('-')
}

fn is_invisible(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{34f}' | '\u{17b4}' | '\u{17b5}' | '\u{200b}' | '\u{2028}' | '\u{2029}'
        | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}')
}

fn joins_letters(before: Option<char>, after: Option<char>, kind: Kind) -> bool {
    let [before, after] = [before, after].map(|letter| {
        letter.is_some_and(|letter| {
            matches!(letter, '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{f00}'..='\u{109f}'
    | '\u{1780}'..='\u{18af}' | '\u{a840}'..='\u{a8ff}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
    | '\u{11000}'..='\u{114df}')
        })
    });
    match kind {
        Kind::Code => before && after,
        Kind::Text | Kind::Comment => before,
    }
}

fn joins_emoji(before: Option<char>, after: Option<char>) -> bool {
    before.is_some_and(|sign| is_emoji(sign) || sign == '\u{fe0f}') && after.is_some_and(is_emoji)
}

fn is_emoji(sign: char) -> bool {
    matches!(sign, '\u{203c}'..='\u{3299}' | '\u{1f000}'..='\u{1faff}' | '©' | '®')
}

fn takes_variation(sign: char) -> bool {
    is_emoji(sign)
        || matches!(sign, '0'..='9' | '#' | '*')
        || is_ideograph(sign)
        || matches!(sign, '\u{1000}'..='\u{109f}' | '\u{1820}'..='\u{18af}' | '\u{a840}'..='\u{a87f}')
}

fn is_ideograph(sign: char) -> bool {
    matches!(sign, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn is_conjoining(sign: char) -> bool {
    matches!(sign, '\u{1100}'..='\u{115e}' | '\u{1161}'..='\u{11ff}')
}
