//! Finds GitHub's expressions in a text, which are replaced before any shell reads it.

use crate::syntax::Span;

/// Places of `${{ … }}` in a text, marks included; one without an end is none.
pub fn embedded(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find("${{").map(|start| at + start) {
        let Some(end) = end_of_embedded(text, start + 3) else { break };
        found.push(Span { start, end });
        at = end;
    }
    found
}

/// Place behind the `}}` that ends an expression; one inside of a string does not.
fn end_of_embedded(text: &str, begin: usize) -> Option<usize> {
    let mut in_string = false;
    let bytes = text.as_bytes();
    for at in begin..bytes.len() {
        match bytes[at] {
            b'\'' => in_string = !in_string,
            b'}' if !in_string && bytes.get(at + 1) == Some(&b'}') => return Some(at + 2),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_in_a_string_end_no_expression() {
        let text = "a ${{ '}}' }} b ${{ c }}${{ d";
        let spans: Vec<&str> = embedded(text).iter().map(|span| span.of(text)).collect();
        assert_eq!(spans, ["${{ '}}' }}", "${{ c }}"]);
    }
}
