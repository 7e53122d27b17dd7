//! GitHub's size limits of texts, and the cut of longer ones with a notice.

/// Limit of a summary, a text or a comment, in bytes.
pub(super) const MAX_TEXT: usize = 65_535;
/// Limit of an annotation's message and of its details, in bytes.
pub(super) const MAX_MESSAGE: usize = 64 << 10;
/// Limit of a title, in bytes.
pub(super) const MAX_TITLE: usize = 255;

const NOTICE: &str = "… cut off at GitHub's size limit. The complete report is in the run's artifact.";
/// Distance to the limit within which a text is cut at the end of a line.
const NEAR: usize = 4096;

/// Cuts Markdown to at most [`MAX_TEXT`] bytes.
pub(super) fn markdown(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    const CLOSING: &str = "\n</details>";
    let room = MAX_TEXT - NOTICE.len() - CLOSING.len() - 4;
    let kept = &text[..text.floor_char_boundary(room)];
    let kept = match kept.rfind('\n') {
        Some(end) if end + NEAR > room => &kept[..end],
        Some(_) | None => kept,
    };
    // Closes a folded part, so that the notice is visible.
    let open = kept.matches("<details>").count() > kept.matches("</details>").count();
    format!("{kept}{}\n\n{NOTICE}\n", if open { CLOSING } else { "" })
}

/// Cuts plain text to at most `limit` bytes.
pub(super) fn plain(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let notice = if limit > 4 * NOTICE.len() { format!("\n{NOTICE}") } else { "…".to_owned() };
    format!("{}{notice}", &text[..text.floor_char_boundary(limit - notice.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_not_touched() {
        let text = "é".repeat(32_767);
        assert_eq!(markdown(&text), text);
        assert_eq!(plain("abc", 3), "abc");
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters_and_says_so() {
        for text in ["é".repeat(40_000), "line of text €\n".repeat(6000), format!("x{}", "𝄞".repeat(20_000))]
        {
            let cut = markdown(&text);
            assert!(cut.len() <= MAX_TEXT && cut.len() > MAX_TEXT - 5000, "{}", cut.len());
            assert!(cut.ends_with("run's artifact.\n"), "{}", &cut[cut.len() - 200..]);
            let cut = plain(&text, MAX_TEXT);
            assert!(cut.len() <= MAX_TEXT && cut.ends_with("run's artifact."), "{}", cut.len());
            let cut = plain(&text, MAX_TITLE);
            assert!(cut.len() <= MAX_TITLE && cut.ends_with('…'), "{cut}");
        }
    }

    #[test]
    fn the_notice_is_not_folded_away() {
        let text = format!("<details>a</details>\n<details><summary>b</summary>\n{}", "row\n".repeat(20_000));
        let cut = markdown(&text);
        assert!(cut.contains("row\n</details>\n\n…"), "{}", &cut[cut.len() - 200..]);
        assert!(cut.len() <= MAX_TEXT);
    }
}
