//! Finds the known word that a mistyped one was meant to be.

/// Returns the known word nearest to another one, or `None` if more than a third of the longer one
/// differs.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let by_distance = known.into_iter().map(|known| (strsim::damerau_levenshtein(word, known), known));
    let near = by_distance.filter(|(distance, known)| *distance <= word.len().max(known.len()) / 3);
    near.min().map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_is_corrected_and_another_word_is_not() {
        for (word, expect) in [("mian", Some("main")), ("origin/mane", Some("origin/main")), ("topic", None)]
        {
            assert_eq!(nearest(word, ["main", "origin/main", "release"]), expect, "{word}");
        }
        assert_eq!(nearest("nope/rule", ["lint/error"]), None);
        assert_eq!(nearest("", ["a"]), None);
    }
}
