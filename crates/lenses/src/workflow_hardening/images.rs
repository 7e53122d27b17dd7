//! Which container images a job runs in or beside, and whether each says exactly which.

use std::collections::BTreeMap;

use super::yaml::{Document, Node, Piece};
use super::{Found, IMAGE};

/// What names an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Image<'t> {
    /// Registry and repository, without tag and digest.
    name: &'t str,
    /// Whether a digest names one content for ever.
    pinned: bool,
}

/// Reads the name of an image; none for what is computed, and for what the machine itself serves: a job made it.
fn image(value: &str) -> Option<Image<'_>> {
    let value = value.strip_prefix("docker://").unwrap_or(value);
    let own = value.strip_prefix("localhost").is_some_and(|rest| rest.starts_with([':', '/']));
    if value.is_empty() || value.contains("${{") || own {
        return None;
    }
    let (tagged, digest) = value.split_once('@').unwrap_or((value, ""));
    // A colon before a slash belongs to a port.
    let name = tagged.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')).map_or(tagged, |(name, _)| name);
    Some(Image { name, pinned: digest.starts_with("sha256:") })
}

/// Every image of a workflow's jobs: what the job runs in, and the services beside it.
fn all<'t>(document: &Document<'t>) -> Vec<(Piece<'t>, Image<'t>)> {
    let jobs = document.get(document.root(), "jobs");
    let jobs = jobs.into_iter().flat_map(|jobs| document.below(jobs));
    let nodes = jobs.flat_map(|job| {
        let own = document.get(job, "container");
        let services = document.get(job, "services").into_iter().flat_map(|all| document.below(all));
        let inside = own.into_iter().chain(services).filter_map(|node| document.get(node, "image"));
        own.into_iter().chain(inside).collect::<Vec<&Node<'t>>>()
    });
    let only = |node: &Node<'t>| match node.text.as_slice() {
        [only] => Some((*only, image(only.text)?)),
        _ => None,
    };
    nodes.filter_map(only).collect()
}

/// What head takes by a name that base took by its digest, or not at all. Another version is nothing new.
pub(super) fn look<'t>(base: Option<&Document<'_>>, head: &Document<'t>, found: &mut Vec<Found<'t>>) {
    let mut before: BTreeMap<&str, bool> = BTreeMap::new();
    for (_, image) in base.map(all).unwrap_or_default() {
        *before.entry(image.name).or_default() |= !image.pinned;
    }
    for (piece, image) in all(head).into_iter().filter(|(_, image)| !image.pinned) {
        let summary = match before.get(image.name) {
            Some(true) => continue,
            Some(false) => "an image was pinned to a digest and follows a name from now on",
            None => "a job uses an image by a name that can move",
        };
        found.push(Found::new(IMAGE, piece, summary));
    }
}

/// Which images are pinned.
pub(super) fn census(document: &Document<'_>) -> impl Iterator<Item = bool> {
    all(document).into_iter().map(|(_, image)| image.pinned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_digest_is_a_pin_and_a_port_is_no_tag() {
        let cases = [
            ("node", Some(("node", false))),
            ("node:20", Some(("node", false))),
            ("ghcr.io/a/b:1@sha256:00", Some(("ghcr.io/a/b", true))),
            ("registry.test:5000/a/b", Some(("registry.test:5000/a/b", false))),
            ("registry.test:5000/a/b:1", Some(("registry.test:5000/a/b", false))),
            ("docker://alpine:3", Some(("alpine", false))),
            ("localhost:5000/a", None),
            ("localhost.test/a", Some(("localhost.test/a", false))),
            ("node:${{ matrix.node }}", None),
            ("", None),
        ];
        for (value, expected) in cases {
            assert_eq!(image(value), expected.map(|(name, pinned)| Image { name, pinned }), "{value}");
        }
    }
}
