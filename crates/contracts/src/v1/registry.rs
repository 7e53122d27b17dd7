//! The skill registry and manifest: the lenses and rules of this binary, derived from its own tables (S003-18, 19).

use serde::{Deserialize, Serialize};

use super::{LensClass, Severity, Strength};
use crate::artifact::schema_tag;

schema_tag! {
    /// Names the schema of [`Registry`].
    RegistryTag = "registry.v1";
    /// Names the schema of [`SkillManifest`].
    SkillManifestTag = "manifest.v1";
}

/// A rule's strength in each scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScopeStrengths {
    /// In what ships.
    pub product: Strength,
    /// In tests.
    pub test: Strength,
    /// In documentation.
    pub docs: Strength,
    /// In generated files.
    pub generated: Strength,
    /// In vendored files.
    pub vendored: Strength,
}

/// A rule's strengths in each preset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PresetStrengths {
    /// Under `default`.
    pub default: ScopeStrengths,
    /// Under `guarded`.
    pub guarded: ScopeStrengths,
    /// Under `advisory`.
    pub advisory: ScopeStrengths,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RegistryRule {
    /// The id: lens and pattern, `merge-leftover/conflict-marker`.
    pub rule_id: String,
    /// One sentence.
    pub title: String,
    /// Severity of its findings.
    pub severity: Severity,
    /// Strengths of the rule, by preset and class of file.
    pub strengths: PresetStrengths,
}

/// One lens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RegistryLens {
    /// Id of the lens.
    pub lens_id: String,
    /// The version; a change of results changes it.
    pub lens_version: String,
    /// Class of the lens.
    pub lens_class: LensClass,
    /// One sentence.
    pub title: String,
    /// True if PASS needs it unless the policy overrides it.
    pub required_by_default: bool,
    /// The globs that select files for it.
    pub triggers: Vec<String>,
    /// Its rules, by id.
    pub rules: Vec<RegistryRule>,
}

/// All lenses and rules of the binary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Registry {
    /// The schema's name.
    pub schema_version: RegistryTag,
    /// The skill, as in the manifest.
    pub skill_id: String,
    /// The lenses, by id.
    pub lenses: Vec<RegistryLens>,
}

/// The skill's description for agents that use the binary as a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SkillManifest {
    /// The schema's name.
    pub schema_version: SkillManifestTag,
    /// Id of the skill.
    pub skill_id: String,
    /// The version of the binary.
    pub version: String,
    /// One sentence.
    pub description: String,
    /// The command to run.
    pub entrypoint: Vec<String>,
    /// The schema of what it prints with `--format json`.
    pub result_schema: String,
    /// Path of the registry file.
    pub registry: String,
    /// The lens classes it supports.
    pub supported_lens_classes: Vec<LensClass>,
}
