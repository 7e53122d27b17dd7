//! The execution key and what goes into it (S003-97, C-22, D-1).

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::inputs::{Inputs, PolicyInForce, Ports};
use super::plans::reviews;
use super::reviews::Reviews;
use qa_contracts::ids::{ExecutionKey, Sha256Hex};
use qa_contracts::v1::{
    AdapterId, BoundAdapter, ConfigPreimage, ExecutionKeyPreimage, PolicyCommand, ProviderBinding, Registry,
    SelectedLens,
};
use qa_core::canonical;
use qa_core::diff;
use qa_core::plan::BUILTIN_BINDING;
use qa_core::policy::Policy;

/// The version of this engine.
pub const ENGINE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The digest over the sources of everything that judges; `build.rs` computes it.
const SOURCE_HASH: &str = env!("QA_SKILL_SOURCE_HASH");

/// The version of this engine, with the digest over its sources.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), " (sources ", env!("QA_SKILL_SOURCE_HASH"), ")");

/// Returns the digest over the sources of everything that judges. Builds of the same sources have the same, whatever
/// they are built for.
pub fn source_hash() -> Sha256Hex {
    Sha256Hex::parse(SOURCE_HASH).expect("build.rs prints a digest")
}

/// Digest over the schemas of a run without titles and descriptions, so that better wording changes no key. A test
/// computes it again, and writes it under `UPDATE_SCHEMAS=1`.
const SCHEMA_SET_HASH: &str = include_str!("../../../schemas/run-schemas.sha256");

/// Returns the digest over the contracts that a run is written against.
pub fn schema_set_hash() -> Sha256Hex {
    Sha256Hex::parse(SCHEMA_SET_HASH.trim_end()).expect("a test compares the digest with the schemas")
}

/// An execution key and its preimages.
pub struct Keyed {
    pub key: ExecutionKey,
    pub preimage: ExecutionKeyPreimage,
    pub config: ConfigPreimage,
    /// Models and adapters that plans are bound to.
    pub bindings: Vec<ProviderBinding>,
}

/// Computes the execution key of a run.
pub fn key(inputs: &Inputs, ports: &Ports<'_>) -> Keyed {
    let policy = &inputs.in_force.policy;
    let config = config_preimage(inputs);
    let reviews = reviews(inputs, ports);
    let preimage = ExecutionKeyPreimage {
        repo_id: inputs.repo_id.clone(),
        base_sha: inputs.change_set.base_sha.clone(),
        head_sha: inputs.change_set.head_sha.clone(),
        selected_lens_versions: selected_lenses(
            &inputs.registry,
            policy,
            inputs.overrides.lens_ids.as_deref(),
        ),
        provider_adapter_versions: adapters(&reviews),
        run_mode: policy.mode,
        config_hash: canonical::digest(&config).expect("settings have a canonical form"),
    };
    Keyed { key: execution_key(&preimage), preimage, config, bindings: bindings(&reviews) }
}

/// Returns the preimage of the configuration hash.
fn config_preimage(inputs: &Inputs) -> ConfigPreimage {
    let PolicyInForce { policy, waivers, rubric, .. } = &inputs.in_force;
    let reports = (&inputs.gates, readers(policy));
    ConfigPreimage {
        engine_version: ENGINE_VERSION.to_owned(),
        source_hash: source_hash(),
        merge_base_sha: inputs.change_set.merge_base_sha.clone(),
        other_merge_bases: inputs.change_set.other_merge_bases.clone(),
        landing_tree: inputs.change_set.landing_tree.clone(),
        policy_hash: settings_hash(policy),
        waivers_hash: settings_hash(waivers),
        registry_hash: settings_hash(&inputs.registry),
        schema_set_hash: schema_set_hash(),
        diff_algorithm: diff::ALGORITHM.to_owned(),
        requested_lens_ids: inputs.overrides.lens_ids.clone(),
        overrides: inputs.overrides.recorded(),
        rubric_hash: rubric.as_ref().map(|rubric| rubric.rubric_hash.clone()),
        observer: inputs.observer.clone(),
        gate_reports_hash: (!policy.gates.is_empty()).then(|| settings_hash(&reports)),
    }
}

/// Returns the digest of settings that are part of a key.
pub fn settings_hash<T: Serialize>(settings: &T) -> Sha256Hex {
    canonical::digest(settings).expect("settings have a canonical form")
}

/// Returns the tools that parse the reports of gates, with their versions, by id.
fn readers(policy: &Policy) -> BTreeMap<&'static str, &'static str> {
    let wanted = policy
        .gates
        .values()
        .flat_map(|gate| {
            let reports = gate.reports.iter().map(|report| report.tool.as_str());
            let commands = gate.commands.iter().map(PolicyCommand::tool_id);
            reports.chain(commands).chain(gate.run.iter().map(String::as_str))
        })
        .filter_map(qa_gates::find);
    wanted.map(|tool| (tool.spec().id, tool.spec().version)).collect()
}

/// Returns the adapter of plans that use no model (C-28).
fn builtin_adapter() -> BoundAdapter {
    BoundAdapter { adapter_id: AdapterId::Builtin, adapter_version: "2".to_owned() }
}

/// Returns the adapters that plans are bound to, by id.
fn adapters(reviews: &Reviews<'_>) -> Vec<BoundAdapter> {
    let bound = reviews.models().into_values().map(|model| BoundAdapter {
        adapter_id: model.binding.adapter_id,
        adapter_version: model.binding.adapter_version.clone(),
    });
    let all: BTreeSet<BoundAdapter> = bound.chain([builtin_adapter()]).collect();
    all.into_iter().collect()
}

/// Returns the lenses that a run selects, by id.
fn selected_lenses(registry: &Registry, policy: &Policy, requested: Option<&[String]>) -> Vec<SelectedLens> {
    let selected: BTreeSet<SelectedLens> = registry
        .lenses
        .iter()
        .filter(|lens| policy.lenses.get(&lens.lens_id).is_some_and(|settings| settings.enabled))
        .filter(|lens| requested.is_none_or(|requested| requested.contains(&lens.lens_id)))
        .map(|lens| SelectedLens { lens_id: lens.lens_id.clone(), lens_version: lens.lens_version.clone() })
        .collect();
    selected.into_iter().collect()
}

/// Computes the key of a preimage.
pub fn execution_key(preimage: &ExecutionKeyPreimage) -> ExecutionKey {
    canonical::digest(preimage).expect("ids and names have a canonical form").into()
}

/// Returns the bindings of plans: the built-in one, and that of every model that a review uses.
fn bindings(reviews: &Reviews<'_>) -> Vec<ProviderBinding> {
    let models = reviews.models().into_values().map(|model| model.binding.clone());
    std::iter::once(builtin_binding()).chain(models).collect()
}

fn builtin_binding() -> ProviderBinding {
    ProviderBinding {
        binding_id: BUILTIN_BINDING.to_owned(),
        adapter_id: AdapterId::Builtin,
        adapter_version: builtin_adapter().adapter_version,
        model_id: "none".to_owned(),
        temperature: 0,
        top_p: 1,
        max_tokens: 0,
        seed: None,
        timeout_ms: 0,
        retry_max: 2,
        retry_backoff_ms: vec![500, 1500],
        model: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use qa_contracts::schema;

    /// Schemas of documents that are made of runs or beside them. They change no run.
    const BESIDE_RUNS: &[&str] = &[
        "delta.v1",
        "dispatch-envelope.v1",
        "dispatch-result.v1",
        "drift-report.v1",
        "drive-session.v1",
        "error.v1",
        "manifest.v1",
        "observer-ledger.v1",
        "rubric-decisions.v1",
        "rubric-draft.v1",
        "shard-part.v1",
        "statement.v1",
    ];

    /// Removes the members that explain a schema to people. A property may have the name of one, but is no string.
    fn remove_wording(schema: &mut Value) {
        match schema {
            Value::Object(members) => {
                members.retain(|name, value| {
                    !(matches!(name.as_str(), "title" | "description") && value.is_string())
                });
                members.values_mut().for_each(remove_wording);
            }
            Value::Array(items) => items.iter_mut().for_each(remove_wording),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn hash_of(schemas: &[(&str, Value)]) -> String {
        canonical::digest(schemas).unwrap().as_str().to_owned()
    }

    #[test]
    fn the_digest_of_the_schemas_is_that_of_their_meaning() {
        let of_runs = schema::ALL.iter().filter(|schema| !BESIDE_RUNS.contains(&schema.name));
        let mut schemas: Vec<(&str, Value)> =
            of_runs.map(|schema| (schema.name, serde_json::from_str(schema.text).unwrap())).collect();
        schemas.iter_mut().for_each(|(_, schema)| remove_wording(schema));
        let hash = hash_of(&schemas);
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/run-schemas.sha256");
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            std::fs::write(path, format!("{hash}\n")).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap().trim_end(), hash);

        // A description counts for nothing, everything else does.
        schemas[0].1["description"] = "in other words".into();
        remove_wording(&mut schemas[0].1);
        assert_eq!(hash_of(&schemas), hash);
        schemas[0].1["type"] = "array".into();
        assert_ne!(hash_of(&schemas), hash);
    }
}
