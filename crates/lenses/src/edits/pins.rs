//! Pins what a workflow names by a version to the commit that the base pins the same version to.

use std::collections::BTreeSet;

use super::{added_line, edit, replace_part};
use crate::contract::Draft;
use qa_contracts::v1::{Edit, EditSafety};
use qa_core::packet::Packet;

/// Replaces the version that a `uses` names by the commit that the base names for it, with the version as a comment. `None`
/// where the base does not say the commit, or says two: no commit is guessed.
pub(crate) fn pin_as_before(draft: &Draft, packet: &Packet<'_>) -> Option<Edit> {
    let line = added_line(draft, packet)?;
    let columns = super::columns_of(draft, line.text)?;
    let value = line.text[columns.clone()].trim_matches(['"', '\'']);
    let (name, version) = value.split_once('@')?;
    let base = packet.text.full_base.as_deref()?;
    let mut commits: BTreeSet<&str> =
        base.lines().filter_map(|line| commit_of(line, name, version)).collect();
    let commit = commits.pop_first().filter(|_| commits.is_empty())?;
    let behind = line.text[columns.end..].trim_matches(['"', '\'', ' ', '\t']);
    let start = columns.start + line.text[columns.clone()].find('@')? + 1;
    let end = line.text.trim_end().len();
    let closing = line.text[start + version.len()..end].trim_end();
    // A comment that stands there already is somebody's word about the version.
    behind.is_empty().then_some(())?;
    let text = format!("{commit}{closing} # {version}");
    let replacement = replace_part(packet, &line, start..end, &text);
    edit(
        EditSafety::Safe,
        &format!("Pin {} to the commit that the base has for it", plain(value)),
        vec![replacement],
    )
}

/// Returns a name of an action for a title.
fn plain(value: &str) -> String {
    let is_plain = |sign: &char| sign.is_ascii_alphanumeric() || "-_./@".contains(*sign);
    value.chars().filter(is_plain).take(100).collect()
}

/// Returns the commit that a line pins a version of an action to: `uses: NAME@COMMIT # VERSION`.
fn commit_of<'l>(line: &'l str, name: &str, version: &str) -> Option<&'l str> {
    let (code, comment) = line.split_once(" #")?;
    let used = code.trim().trim_start_matches("- ").trim_start().strip_prefix("uses:")?.trim();
    let (own, commit) = used.trim_matches(['"', '\'']).split_once('@')?;
    let is_commit = matches!(commit.len(), 40 | 64) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    let says = comment.split_whitespace().next().map(|word| word.trim_start_matches("tag="));
    (own.eq_ignore_ascii_case(name) && is_commit && says == Some(version)).then_some(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_counts_for_the_version_beside_it_alone() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let cases = [
            (format!("      - uses: a/b@{commit} # v4.1.2"), Some(commit)),
            (format!("        uses: \"A/b@{commit}\"  # tag=v4.1.2 of May"), Some(commit)),
            (format!("      - uses: a/b@{commit} # v4"), None),
            (format!("      - uses: a/b@{commit}"), None),
            (format!("      - uses: a/bc@{commit} # v4.1.2"), None),
            ("      - uses: a/b@v4.1.2 # v4.1.2".to_owned(), None),
            (format!("      # - uses: a/b@{commit} # v4.1.2"), None),
        ];
        for (line, expected) in cases {
            assert_eq!(commit_of(&line, "a/b", "v4.1.2"), expected, "{line}");
        }
    }
}
