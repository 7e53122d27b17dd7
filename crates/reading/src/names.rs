//! Names in the text of code.

use crate::syntax::Span;

/// Returns whether a character may be part of a name, so that a name beside it is another one.
pub fn joins(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns the places of a name in a text, in order, without those that are parts of longer names.
pub fn places<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = Span> + use<'t> {
    let all = text.match_indices(name).map(|(start, found)| Span { start, end: start + found.len() });
    all.filter(|place| !text[..place.start].ends_with(joins) && !text[place.end..].starts_with(joins))
}

#[cfg(test)]
mod tests {
    use super::places;

    #[test]
    fn a_name_has_no_letters_beside_it() {
        for (text, expected) in
            [("a + b.a", vec![0, 6]), ("ab a_ éa 1a", vec![]), ("(a)$a", vec![1, 4]), ("", vec![])]
        {
            let found: Vec<usize> = places(text, "a").map(|place| place.start).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
