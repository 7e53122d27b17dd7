//! Every schema of this version, embedded as published in `schemas/v1`, with validators made from them at build time.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::*;
    use std::path::PathBuf;

    /// Documents that people write, where a member may be absent.
    const HAND_WRITTEN: [&str; 6] = [
        "feature-list.v1",
        "policy.v1",
        "rubric-decisions.v1",
        "story-bindings.v1",
        "waivers.v1",
        "workflow-state.v1",
    ];

    fn generated() -> Vec<(&'static str, serde_json::Value)> {
        macro_rules! schemas {
            ($($name:literal => $type:ty,)*) => {
                vec![$(($name, {
                    let mut schema = schemars::SchemaGenerator::default().into_root_schema_for::<$type>().to_value();
                    schema["$id"] = concat!("urn:qa-skill:schema:", $name).into();
                    schema["title"] = $name.into();
                    words(&mut schema);
                    if !HAND_WRITTEN.contains(&$name) {
                        require_all_members(&mut schema);
                    }
                    schema
                }),)*]
            };
        }
        schemas! {
            "calibration.v1" => Calibration,
            "change-sensitivity.v1" => ChangeSensitivity,
            "change-set.v1" => ChangeSet,
            "coverage.v1" => Coverage,
            "cross-check.v1" => CrossCheck,
            "delta.v1" => Delta,
            "dispatch-envelope.v1" => DispatchEnvelope,
            "dispatch-result.v1" => DispatchResult,
            "drift-report.v1" => DriftReport,
            "drive-session.v1" => DriveSession,
            "error.v1" => CommandError,
            "execution-audit.v1" => ExecutionAudit,
            "feature-list.v1" => FeatureList,
            "final-verdict.v1" => FinalVerdict,
            "gate-record.v1" => GateRecord,
            "hashes.v1" => Hashes,
            "lens-plan-list.v1" => LensPlanList,
            "lens-plan.v1" => LensPlan,
            "lens-result-list.v1" => LensResultList,
            "lens-result.v1" => LensResult,
            "manifest.v1" => SkillManifest,
            "metrics.v1" => Metrics,
            "observer-ledger.v1" => ObserverLedger,
            "policy.v1" => PolicyFile,
            "qa-report.v1" => QaReport,
            "recorded-execution.v1" => RecordedExecution,
            "recorded-gates.v1" => RecordedGates,
            "recorded-inputs.v1" => RecordedInputs,
            "recorded-lookups.v1" => RecordedLookups,
            "recorded-replies.v1" => RecordedReplies,
            "recording.v1" => Recording,
            "registry.v1" => Registry,
            "rubric-decisions.v1" => RubricDecisions,
            "rubric-draft.v1" => RubricDraft,
            "rubric.v1" => Rubric,
            "shard-part.v1" => ShardPart,
            "skill-input.v1" => SkillInput,
            "skill-result.v1" => SkillResult,
            "statement.v1" => Statement,
            "story-bindings.v1" => StoryBindings,
            "trace.v1" => Trace,
            "upgrade.v1" => Upgrade,
            "waivers.v1" => WaiverFile,
            "workflow-state.v1" => WorkflowState,
        }
    }

    /// Requires every member of every object but those marked `x-optional`: one that may be null is written as null
    /// (S003-84). A member that only one setting of the policy brings may be absent, so that other runs stay as they are.
    fn require_all_members(schema: &mut Value) {
        match schema {
            Value::Object(members) => {
                let names = members.get("properties").and_then(Value::as_object).map(|properties| {
                    let required = properties.iter().filter(|(_, member)| member["x-optional"] != true);
                    required.map(|(name, _)| name.clone().into()).collect::<Vec<Value>>()
                });
                if let Some(names) = names.filter(|names| !names.is_empty()) {
                    members.insert("required".to_owned(), names.into());
                }
                members.values_mut().for_each(require_all_members);
            }
            Value::Array(items) => items.iter_mut().for_each(require_all_members),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// A word list is an enumeration; what each word means may be explained better later without a new schema.
    fn words(schema: &mut Value) {
        let listed = schema.get("oneOf").and_then(Value::as_array).and_then(|choices| {
            choices.iter().map(|choice| choice.get("const").cloned()).collect::<Option<Vec<Value>>>()
        });
        match schema {
            Value::Object(members) => {
                if let Some(listed) = listed {
                    members.remove("oneOf");
                    members.insert("type".to_owned(), "string".into());
                    members.insert("enum".to_owned(), listed.into());
                }
                members.values_mut().for_each(words);
            }
            Value::Array(items) => items.iter_mut().for_each(words),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn directory() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schemas/v1")
    }

    #[test]
    fn every_schema_file_is_embedded_under_its_name() {
        let mut files: Vec<String> = std::fs::read_dir(directory())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let embedded: Vec<String> = ALL.iter().map(|schema| format!("{}.schema.json", schema.name)).collect();
        assert_eq!(files, embedded);
    }

    #[test]
    fn a_member_nobody_declared_is_a_fault_with_its_pointer() {
        let mut value = serde_json::json!({"schemaVersion": "coverage.v1", "fullCells": 0, "incompleteCells": 0, "rows": []});
        let schema = find("coverage.v1").unwrap();
        assert_eq!(schema.faults(&value), []);
        value["fullCells"] = (-1).into();
        value["extra"] = true.into();
        let pointers: Vec<String> = schema.faults(&value).into_iter().map(|fault| fault.pointer).collect();
        assert_eq!(pointers, ["", "/fullCells"]);
    }

    #[test]
    fn a_member_that_may_be_null_may_not_be_absent() {
        let usage = |members: Value| {
            let verdict = serde_json::json!({
                "schemaVersion": "final-verdict.v1", "status": "PASS", "degraded": false, "rationale": [],
                "requiredLensIds": [], "missingRequiredLensIds": [], "failedRequiredLensIds": [],
                "blockingFindings": [], "errorCodes": [], "aggregateUsage": members, "conclusion": "pass",
                "warningCodes": [], "vacuous": false, "policyPreview": null
            });
            find("final-verdict.v1").unwrap().faults(&verdict).len()
        };
        let null = serde_json::json!({
            "inputTokens": null, "outputTokens": null, "totalTokens": null, "costUsd": null,
            "unavailableReason": "MISSING_USAGE_DATA"
        });
        assert_eq!((usage(null), usage(serde_json::json!({}))), (0, 5));
    }

    #[test]
    fn volatile_members_are_the_ones_the_schema_marks() {
        use crate::artifact::Artifact;
        fn check<T: Artifact>() {
            let schema: Value = serde_json::from_str(find(T::SCHEMA).unwrap().text).unwrap();
            let marked: std::collections::BTreeSet<&str> = schema["properties"]
                .as_object()
                .unwrap()
                .iter()
                .filter(|(_, member)| member["x-volatile"] == true)
                .map(|(name, _)| name.as_str())
                .collect();
            assert_eq!(marked, T::VOLATILE.iter().copied().collect(), "{}", T::SCHEMA);
        }
        check::<SkillInput>();
        check::<LensPlanList>();
        check::<LensResultList>();
        check::<FinalVerdict>();
        check::<SkillResult>();
        check::<ChangeSet>();
        check::<Coverage>();
        check::<CrossCheck>();
        check::<ChangeSensitivity>();
        check::<Metrics>();
        check::<Trace>();
        check::<Hashes>();
        check::<Recording>();
        check::<RecordedInputs>();
        check::<RecordedGates>();
        check::<QaReport>();
    }

    #[test]
    fn published_schemas_are_those_of_the_types() {
        for (name, schema) in generated() {
            let path = directory().join(format!("{name}.schema.json"));
            let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
            if std::env::var_os("UPDATE_SCHEMAS").is_some() {
                std::fs::create_dir_all(directory()).unwrap();
                std::fs::write(&path, &text).unwrap();
            }
            let published = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(
                published == text,
                "{name} differs; UPDATE_SCHEMAS=1 writes it, a released schema must not change"
            );
        }
    }
}
