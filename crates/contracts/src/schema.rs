//! The published schemas, held against the types that they describe.

pub use qa_schemas::{ALL, Schema, SchemaFault, find};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::*;
    use serde_json::Value;
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
