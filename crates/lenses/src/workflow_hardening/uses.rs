//! Which code a workflow takes from elsewhere, and whether it says exactly which.

use std::collections::BTreeMap;

use super::yaml::{Document, Node};
use super::{FIRST_PARTY, Found, LOOSENED, UNPINNED};

/// What `uses:` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Used<'t> {
    /// Owner, repository and path, or the image.
    pub(super) name: &'t str,
    /// What stands behind the `@`, or behind the colon of an image.
    reference: &'t str,
    /// Whether that names one content for ever.
    pinned: bool,
}

/// Workflows that check by which tag they were called and refuse a commit.
const ONLY_BY_TAG: &[&str] = &["slsa-framework/slsa-github-generator/.github/workflows/"];

/// Reads a value of `uses:`; none for what is part of the repository itself, what cannot be pinned and what is
/// no reference.
pub(super) fn used(value: &str) -> Option<Used<'_>> {
    if let Some(image) = value.strip_prefix("docker://") {
        let (name, reference) =
            image.rsplit_once('@').or_else(|| image.rsplit_once(':')).unwrap_or((image, ""));
        return Some(Used { name, reference, pinned: reference.starts_with("sha256:") });
    }
    if value.starts_with(['.', '$'])
        || ONLY_BY_TAG.iter().any(|name| value.starts_with(name))
        || value.contains("${{")
    {
        return None;
    }
    let (name, reference) = value.split_once('@')?;
    let hex = reference.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.contains('/').then_some(Used { name, reference, pinned: hex && matches!(reference.len(), 40 | 64) })
}

/// Whether the people who run the platform wrote it.
fn is_first_party(name: &str) -> bool {
    name.split_once('/').is_some_and(|(owner, _)| matches!(owner, "actions" | "github"))
}

/// Every `uses:` with its node.
pub(super) fn all<'a, 't>(document: &'a Document<'t>) -> Vec<(&'a Node<'t>, Used<'t>)> {
    let nodes = document.all(document.root()).into_iter().filter(|node| node.key == "uses");
    nodes.filter_map(|node| Some((node, used(piece(node)?)?))).collect()
}

fn piece<'t>(node: &Node<'t>) -> Option<&'t str> {
    match node.text.as_slice() {
        [only] => Some(only.text),
        _ => None,
    }
}

/// How often each name is used, pinned and not.
fn counts<'t>(document: &Document<'t>) -> BTreeMap<&'t str, (usize, usize)> {
    let mut counts = BTreeMap::new();
    for (_, used) in all(document) {
        let (pinned, named) = counts.entry(used.name).or_insert((0, 0));
        *(if used.pinned { pinned } else { named }) += 1;
    }
    counts
}

/// What head takes by a name that base took by commit, or not at all. A tag that follows a tag is nothing new.
pub(super) fn look<'t>(base: Option<&Document<'_>>, head: &Document<'t>, found: &mut Vec<Found<'t>>) {
    let before: BTreeMap<&str, (usize, usize)> = base.map(counts).unwrap_or_default();
    let after = counts(head);
    for (node, used) in all(head).into_iter().filter(|(_, used)| !used.pinned) {
        let (was_pinned, was_named) = before.get(used.name).copied().unwrap_or_default();
        let (is_pinned, is_named) = after.get(used.name).copied().unwrap_or_default();
        let piece = node.text[0];
        if is_pinned < was_pinned && is_named > was_named {
            let summary = "an action was pinned to a commit and follows a name from now on";
            found.push(Found::new(LOOSENED, piece, summary));
        } else if was_named == 0 || is_named > was_named && used.reference.is_empty() {
            let first = is_first_party(used.name);
            let rule = if first { FIRST_PARTY } else { UNPINNED };
            let summary = if used.name.contains("/.github/workflows/") {
                "a workflow of another repository is called by a name that can move"
            } else {
                "an action is used by a name that can move"
            };
            found.push(Found::new(rule, piece, summary));
        }
    }
}

/// How much of what a workflow takes from elsewhere is pinned. The platform's own actions count: whoever pins them too
/// pins everything.
pub(super) fn census(document: &Document<'_>) -> impl Iterator<Item = bool> {
    all(document).into_iter().map(|(_, used)| used.pinned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_commit_or_a_digest_is_a_pin() {
        let commit = "a".repeat(40);
        let cases = [
            (format!("a/b@{commit}"), Some(true)),
            (format!("a/b/c@{commit}"), Some(true)),
            ("a/b@v1".to_owned(), Some(false)),
            ("a/b@abcdef1".to_owned(), Some(false)),
            ("./a".to_owned(), None),
            ("$/a".to_owned(), None),
            ("slsa-framework/slsa-github-generator/.github/workflows/a.yml@v2.1.0".to_owned(), None),
            ("docker://alpine:3".to_owned(), Some(false)),
            ("docker://alpine@sha256:00".to_owned(), Some(true)),
            ("a/b".to_owned(), None),
        ];
        for (value, expected) in cases {
            assert_eq!(used(&value).map(|used| used.pinned), expected, "{value}");
        }
    }
}
