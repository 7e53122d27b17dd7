//! Container images that a job runs in or beside, and whether a digest names each.

use std::collections::BTreeMap;

use qa_reading::workflow::{Job, Value};

use super::{Found, IMAGE};
use crate::workflows::model::{Model, text_of, values_of};

/// Name of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Image {
    /// Registry and repository, without tag and digest.
    pub(super) name: String,
    /// True if a digest names one content for ever.
    pub(super) pinned: bool,
}

/// Reads the name of an image; `None` for one that is computed, and for one of the machine itself: a job made it.
pub(super) fn image(value: &str) -> Option<Image> {
    let value = value.strip_prefix("docker://").unwrap_or(value);
    let own = value.strip_prefix("localhost").is_some_and(|rest| rest.starts_with([':', '/']));
    if value.is_empty() || value.contains("${{") || own {
        return None;
    }
    let (tagged, digest) = value.split_once('@').unwrap_or((value, ""));
    // A colon before a slash belongs to a port.
    let name = match tagged.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        Some(_) | None => tagged,
    };
    Some(Image { name: name.to_owned(), pinned: digest.starts_with("sha256:") })
}

/// Returns every image of a workflow's jobs, of the services beside them, and of a Docker action. An expression may
/// choose between several.
fn images<'d>(model: &Model<'d>) -> Vec<(Value<'d>, Image)> {
    let mut found = Vec::new();
    match model {
        Model::Workflow(_) | Model::Agentic(_) => {
            for job in model.groups().iter().filter_map(|group| group.job) {
                let services = job.services.iter().map(|service| service.container);
                let values = job.container.into_iter().chain(services).filter_map(|own| own.image);
                found.extend(values.flat_map(|value| images_of(value, Some(job))));
            }
        }
        Model::Action(action) => {
            let values = action.image.filter(|image| text_of(*image).starts_with("docker://"));
            found.extend(values.into_iter().flat_map(|value| images_of(value, None)));
        }
        Model::Unrelated => {}
    }
    found
}

fn images_of<'d>(value: Value<'d>, job: Option<&Job<'d>>) -> Vec<(Value<'d>, Image)> {
    values_of(value, job).iter().filter_map(|text| Some((value, image(text)?))).collect()
}

/// Finds images that head takes by a name and the base by its digest, or not at all. Another version is nothing new.
pub(super) fn audit(base: Option<&Model<'_>>, head: &Model<'_>, found: &mut Vec<Found>) {
    let mut before: BTreeMap<String, bool> = BTreeMap::new();
    for (_, image) in base.map(images).unwrap_or_default() {
        *before.entry(image.name).or_default() |= !image.pinned;
    }
    for (value, image) in images(head).into_iter().filter(|(_, image)| !image.pinned) {
        let summary = match before.get(&image.name) {
            Some(true) => continue,
            Some(false) => "container image is no longer pinned by digest",
            None => "container image is not pinned by digest",
        };
        found.push(Found::new(IMAGE, value, image.name, summary));
    }
}

/// Returns for each image whether it is pinned.
pub(super) fn census(model: &Model<'_>) -> impl Iterator<Item = bool> {
    images(model).into_iter().map(|(_, image)| image.pinned)
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
            let expected = expected.map(|(name, pinned)| Image { name: name.to_owned(), pinned });
            assert_eq!(image(value), expected, "{value}");
        }
    }
}
