//! `qa-skill schema`: prints the schemas, the registry and the manifest.

use super::exit::Failure;
use qa_contracts::schema;
use qa_contracts::v1::{LensClass, SkillManifest};
use qa_core::canonical;
use qa_core::nearest::nearest;

/// Returns a schema, the registry or the manifest by its name; without a name, the list of names.
pub(crate) fn document(name: Option<&str>) -> Result<Vec<u8>, Failure> {
    match name {
        None => {
            let mut names: Vec<&str> = schema::ALL.iter().map(|schema| schema.name).collect();
            names.extend(["manifest", "registry"]);
            names.sort_unstable();
            Ok(format!("{}\n", names.join("\n")).into_bytes())
        }
        Some("registry") => pretty(&qa_lenses::registry()),
        Some("manifest") => pretty(&manifest()),
        Some(name) => match schema::find(name).or_else(|| schema::find(&format!("{name}.v1"))) {
            Some(schema) => Ok(schema.text.as_bytes().to_vec()),
            None => {
                let near =
                    nearest(name, schema::ALL.iter().map(|schema| schema.name.trim_end_matches(".v1")));
                let suggestion = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
                let name = qa_core::masking::sanitize_cut(name, 80);
                Err(Failure::usage(
                    format!("there is no schema `{name}`"),
                    format!("{suggestion}`qa-skill schema` lists all names"),
                ))
            }
        },
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn manifest() -> SkillManifest {
    SkillManifest {
        schema_version: Default::default(),
        skill_id: "qa-skill".to_owned(),
        version: qa_run::keys::ENGINE_VERSION.to_owned(),
        description: env!("CARGO_PKG_DESCRIPTION").to_owned(),
        entrypoint: owned(&["qa-skill", "run", "--format", "json"]),
        result_schema: "skill-result.v1".to_owned(),
        registry: "skill/registry.v1.json".to_owned(),
        supported_lens_classes: LensClass::ALL.to_vec(),
    }
}

/// Renders a value as indented JSON; equal values give equal bytes.
fn pretty<T: serde::Serialize>(value: &T) -> Result<Vec<u8>, Failure> {
    let canonical = canonical::to_vec(value).expect("names and words have a canonical form");
    let value: serde_json::Value = serde_json::from_slice(&canonical).expect("it was just written");
    let mut text = serde_json::to_vec_pretty(&value).expect("a value can be written");
    text.push(b'\n');
    Ok(text)
}
