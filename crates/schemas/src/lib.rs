//! Every schema of this version, embedded as published in `schemas/v1`, with validators made from them at build time.
//!
//! A crate of its own, because compiling the validators takes longer than all contracts, and nothing else changes them.

use serde_json::Value;

/// A published schema with its validator.
#[derive(Clone, Copy)]
pub struct Schema {
    /// The name, which is also the `schemaVersion` of what it describes: `final-verdict.v1`.
    pub name: &'static str,
    /// The file's text.
    pub text: &'static str,
    faults: fn(&Value) -> Vec<SchemaFault>,
}

/// One way in which a value does not match its schema.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SchemaFault {
    /// A JSON pointer into the value.
    pub pointer: String,
    /// A JSON pointer into the schema.
    pub schema_pointer: String,
    /// Description of the mismatch, without the value's own text.
    pub message: String,
}

impl Schema {
    /// Returns every mismatch, sorted by pointer; empty when the value is valid.
    #[must_use]
    pub fn faults(&self, value: &Value) -> Vec<SchemaFault> {
        let mut faults = (self.faults)(value);
        faults.sort();
        faults
    }
}

/// Returns the schema with a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Schema> {
    ALL.iter().find(|schema| schema.name == name)
}

macro_rules! schemas {
    ($($validator:ident = $name:literal, $path:literal;)*) => {
        /// Every schema, by name.
        pub static ALL: &[Schema] = &[$(
            Schema { name: $name, text: include_str!(concat!("../", $path)), faults: $validator::faults },
        )*];

        $(
            #[jsonschema::validator(path = $path, pattern_options = { engine = regex })]
            struct $validator;

            impl $validator {
                fn faults(value: &Value) -> Vec<SchemaFault> {
                    if Self::is_valid(value) {
                        return Vec::new();
                    }
                    Self::iter_errors(value)
                        .map(|error| SchemaFault {
                            pointer: error.instance_path().as_str().to_owned(),
                            schema_pointer: error.schema_path().as_str().to_owned(),
                            message: error.masked().to_string(),
                        })
                        .collect()
                }
            }
        )*
    };
}

schemas! {
    CalibrationSchema = "calibration.v1", "../../schemas/v1/calibration.v1.schema.json";
    ChangeSensitivitySchema = "change-sensitivity.v1", "../../schemas/v1/change-sensitivity.v1.schema.json";
    ChangeSetSchema = "change-set.v1", "../../schemas/v1/change-set.v1.schema.json";
    CoverageSchema = "coverage.v1", "../../schemas/v1/coverage.v1.schema.json";
    CrossCheckSchema = "cross-check.v1", "../../schemas/v1/cross-check.v1.schema.json";
    DeltaSchema = "delta.v1", "../../schemas/v1/delta.v1.schema.json";
    DispatchEnvelopeSchema = "dispatch-envelope.v1", "../../schemas/v1/dispatch-envelope.v1.schema.json";
    DispatchResultSchema = "dispatch-result.v1", "../../schemas/v1/dispatch-result.v1.schema.json";
    DriftReportSchema = "drift-report.v1", "../../schemas/v1/drift-report.v1.schema.json";
    DriveSessionSchema = "drive-session.v1", "../../schemas/v1/drive-session.v1.schema.json";
    ErrorSchema = "error.v1", "../../schemas/v1/error.v1.schema.json";
    ExecutionAuditSchema = "execution-audit.v1", "../../schemas/v1/execution-audit.v1.schema.json";
    FeatureListSchema = "feature-list.v1", "../../schemas/v1/feature-list.v1.schema.json";
    FinalVerdictSchema = "final-verdict.v1", "../../schemas/v1/final-verdict.v1.schema.json";
    GateRecordSchema = "gate-record.v1", "../../schemas/v1/gate-record.v1.schema.json";
    HashesSchema = "hashes.v1", "../../schemas/v1/hashes.v1.schema.json";
    LensPlanListSchema = "lens-plan-list.v1", "../../schemas/v1/lens-plan-list.v1.schema.json";
    LensPlanSchema = "lens-plan.v1", "../../schemas/v1/lens-plan.v1.schema.json";
    LensResultListSchema = "lens-result-list.v1", "../../schemas/v1/lens-result-list.v1.schema.json";
    LensResultSchema = "lens-result.v1", "../../schemas/v1/lens-result.v1.schema.json";
    ManifestSchema = "manifest.v1", "../../schemas/v1/manifest.v1.schema.json";
    MetricsSchema = "metrics.v1", "../../schemas/v1/metrics.v1.schema.json";
    ObserverLedgerSchema = "observer-ledger.v1", "../../schemas/v1/observer-ledger.v1.schema.json";
    PolicySchema = "policy.v1", "../../schemas/v1/policy.v1.schema.json";
    QaReportSchema = "qa-report.v1", "../../schemas/v1/qa-report.v1.schema.json";
    RecordedExecutionSchema = "recorded-execution.v1", "../../schemas/v1/recorded-execution.v1.schema.json";
    RecordedGatesSchema = "recorded-gates.v1", "../../schemas/v1/recorded-gates.v1.schema.json";
    RecordedInputsSchema = "recorded-inputs.v1", "../../schemas/v1/recorded-inputs.v1.schema.json";
    RecordedLookupsSchema = "recorded-lookups.v1", "../../schemas/v1/recorded-lookups.v1.schema.json";
    RecordedRepliesSchema = "recorded-replies.v1", "../../schemas/v1/recorded-replies.v1.schema.json";
    RecordingSchema = "recording.v1", "../../schemas/v1/recording.v1.schema.json";
    RegistrySchema = "registry.v1", "../../schemas/v1/registry.v1.schema.json";
    RubricDecisionsSchema = "rubric-decisions.v1", "../../schemas/v1/rubric-decisions.v1.schema.json";
    RubricDraftSchema = "rubric-draft.v1", "../../schemas/v1/rubric-draft.v1.schema.json";
    RubricSchema = "rubric.v1", "../../schemas/v1/rubric.v1.schema.json";
    ShardPartSchema = "shard-part.v1", "../../schemas/v1/shard-part.v1.schema.json";
    SkillInputSchema = "skill-input.v1", "../../schemas/v1/skill-input.v1.schema.json";
    SkillResultSchema = "skill-result.v1", "../../schemas/v1/skill-result.v1.schema.json";
    StatementSchema = "statement.v1", "../../schemas/v1/statement.v1.schema.json";
    StoryBindingsSchema = "story-bindings.v1", "../../schemas/v1/story-bindings.v1.schema.json";
    TraceSchema = "trace.v1", "../../schemas/v1/trace.v1.schema.json";
    UpgradeSchema = "upgrade.v1", "../../schemas/v1/upgrade.v1.schema.json";
    WaiversSchema = "waivers.v1", "../../schemas/v1/waivers.v1.schema.json";
    WorkflowStateSchema = "workflow-state.v1", "../../schemas/v1/workflow-state.v1.schema.json";
}
