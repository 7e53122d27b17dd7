//! Finds the most likely cause of a difference, from the preimages of two keys: causes that explain others come first.

use std::path::Path;

use crate::store::intact_trace;
use qa_contracts::v1::{ConfigPreimage, ExecutionKeyPreimage, Mover, SelectedLens};
use qa_core::masking::sanitize_cut;
use qa_run::keys::{ENGINE_VERSION, source_hash};

/// Both preimages of a key.
#[derive(Clone, Copy)]
pub(crate) struct Preimages<'a> {
    pub(crate) key: &'a ExecutionKeyPreimage,
    pub(crate) config: &'a ConfigPreimage,
}

/// Cause of a difference, with a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) mover: Mover,
    pub(crate) detail: String,
}

impl Cause {
    pub(super) fn new(mover: Mover, detail: impl Into<String>) -> Self {
        Self { mover, detail: detail.into() }
    }

    /// Returns true if another version of the engine or of a lens made the recorded run.
    pub(crate) fn is_other_engine(&self) -> bool {
        matches!(self.mover, Mover::Engine | Mover::LensVersion)
    }
}

/// The engine that made a run, if it is not this one.
pub(crate) struct OtherEngine {
    pub(crate) version: String,
    pub(crate) detail: String,
}

/// Returns the other engine that made a directory this engine cannot read, or `None` if the directory is damaged: its
/// files are not those of its manifest, or this engine made it.
pub(crate) fn other_engine(path: &Path) -> Option<OtherEngine> {
    let trace = intact_trace(path)?;
    let config = trace.get("configPreimage")?;
    let version = sanitize_cut(config.get("engineVersion")?.as_str()?, 80);
    let detail = if version != ENGINE_VERSION {
        format!("made by another engine version: {version} → {ENGINE_VERSION}")
    } else if config.get("sourceHash").and_then(|hash| hash.as_str()) != Some(source_hash().as_str()) {
        format!("made by another engine build of version {version}: its sources differ")
    } else {
        return None;
    };
    Some(OtherEngine { version, detail })
}

/// Returns the cause of the difference between two preimages, or `None` if the keys are equal.
pub(crate) fn key_cause(recorded: Preimages<'_>, derived: Preimages<'_>) -> Option<Cause> {
    let (was, is) = (recorded.config, derived.config);
    if was.engine_version != is.engine_version {
        let versions = format!("{} → {}", was.engine_version, is.engine_version);
        return Some(Cause::new(Mover::Engine, format!("made by another engine version: {versions}")));
    }
    if let Some(versions) =
        lens_versions(&recorded.key.selected_lens_versions, &derived.key.selected_lens_versions)
    {
        return Some(Cause::new(Mover::LensVersion, format!("made by another lens version: {versions}")));
    }
    if was.source_hash != is.source_hash {
        let version = &is.engine_version;
        let detail = format!("made by another engine build of version {version}: its sources differ");
        return Some(Cause::new(Mover::Engine, detail));
    }
    if was.policy_hash != is.policy_hash {
        return Some(Cause::new(Mover::Policy, "the policy differs from the recorded one"));
    }
    if was.waivers_hash != is.waivers_hash {
        return Some(Cause::new(Mover::Policy, "the waivers differ from the recorded ones"));
    }
    let same = was == is && recorded.key == derived.key;
    (!same).then(|| Cause::new(Mover::Input, "the commits or options differ from the recorded ones"))
}

/// Lists the lenses whose versions differ. A lens that is in one list only was switched by the policy or an option, or is new
/// in another engine; other members of the preimages show each of these.
fn lens_versions(was: &[SelectedLens], is: &[SelectedLens]) -> Option<String> {
    let changed: Vec<String> = was
        .iter()
        .filter_map(|lens| {
            let now = is.iter().find(|other| other.lens_id == lens.lens_id)?;
            let (id, from, to) = (&lens.lens_id, &lens.lens_version, &now.lens_version);
            (from != to).then(|| format!("{id} {from} → {to}"))
        })
        .collect();
    (!changed.is_empty()).then(|| changed.join(", "))
}

/// Returns the cause by the file of the first difference, for equal keys.
pub(super) fn mover_of_file(file: &str, pointer: &str) -> Mover {
    if file == "recordings/inputs.json"
        && (pointer.starts_with("/basePolicy") || pointer.starts_with("/baseWaivers"))
    {
        return Mover::Policy;
    }
    if file.starts_with("recordings/") || file == "change-set.json" {
        return Mover::Input;
    }
    Mover::Unexplained
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_contracts::ids::{CommitId, Sha256Hex};
    use qa_contracts::v1::{InputOverrides, RunMode};

    fn preimages() -> (ExecutionKeyPreimage, ConfigPreimage) {
        let sha = |digit: &str| Sha256Hex::parse(&digit.repeat(64)).unwrap();
        let commit = CommitId::parse(&"1".repeat(40)).unwrap();
        let lens = |id: &str| SelectedLens { lens_id: id.to_owned(), lens_version: "1".to_owned() };
        let key = ExecutionKeyPreimage {
            repo_id: "o/r".to_owned(),
            base_sha: commit.clone(),
            head_sha: commit.clone(),
            selected_lens_versions: vec![lens("a"), lens("b")],
            provider_adapter_versions: Vec::new(),
            run_mode: RunMode::Strict,
            config_hash: sha("0"),
        };
        let config = ConfigPreimage {
            engine_version: "1.0.0".to_owned(),
            source_hash: sha("5"),
            merge_base_sha: commit,
            other_merge_bases: Vec::new(),
            landing_tree: None,
            policy_hash: sha("1"),
            rubric_hash: None,
            waivers_hash: sha("2"),
            registry_hash: sha("3"),
            schema_set_hash: sha("4"),
            diff_algorithm: "myers".to_owned(),
            requested_lens_ids: None,
            overrides: InputOverrides::default(),
            gate_reports_hash: None,
            observer: None,
        };
        (key, config)
    }

    type Change = fn(&mut ExecutionKeyPreimage, &mut ConfigPreimage);

    #[test]
    fn the_cause_that_explains_the_others_is_named() {
        let cases: &[(Change, Mover, &str)] = &[
            (|_, config| config.engine_version = "0.9.0".to_owned(), Mover::Engine, "0.9.0 → 1.0.0"),
            (
                |key, _| key.selected_lens_versions[1].lens_version = "0".to_owned(),
                Mover::LensVersion,
                "b 0 → 1",
            ),
            (
                |_, config| config.source_hash = config.policy_hash.clone(),
                Mover::Engine,
                "another engine build",
            ),
            (|_, config| config.policy_hash = config.registry_hash.clone(), Mover::Policy, "the policy"),
            (|_, config| config.waivers_hash = config.registry_hash.clone(), Mover::Policy, "the waivers"),
            (|key, _| key.repo_id = "other".to_owned(), Mover::Input, "the commits or options"),
            (
                |_, config| config.requested_lens_ids = Some(Vec::new()),
                Mover::Input,
                "the commits or options",
            ),
        ];
        let (key, config) = preimages();
        let is = Preimages { key: &key, config: &config };
        assert_eq!(key_cause(is, is), None);
        // Whatever an earlier case changed, a later one does not hide.
        let (mut was_key, mut was_config) = (key.clone(), config.clone());
        for (change, mover, detail) in cases.iter().rev() {
            for stacked in [false, true] {
                let (mut key, mut config) = (key.clone(), config.clone());
                let (key, config) =
                    if stacked { (&mut was_key, &mut was_config) } else { (&mut key, &mut config) };
                change(key, config);
                let cause = key_cause(Preimages { key, config }, is).unwrap();
                assert!(cause.mover == *mover && cause.detail.contains(detail), "{cause:?}");
            }
        }
    }

    #[test]
    fn with_one_key_the_file_says_what_moved() {
        assert_eq!(mover_of_file("recordings/inputs.json", "/basePolicy"), Mover::Policy);
        assert_eq!(mover_of_file("recordings/inputs.json", "/headPolicy"), Mover::Input);
        assert_eq!(mover_of_file("recordings/00000.json", "/files/0/text"), Mover::Input);
        assert_eq!(mover_of_file("change-set.json", "/files/0/oldId"), Mover::Input);
        assert_eq!(mover_of_file("final-verdict.json", "/status"), Mover::Unexplained);
    }
}
