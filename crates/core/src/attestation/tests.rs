//! Levels of verdicts, files that are read, and members that are compared.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::*;
use crate::canonical;
use qa_contracts::codes::Code;
use qa_contracts::limits::MAX_ATTESTATION_BYTES;
use qa_contracts::v1::{EffectiveModel, ReviewUsage, RunStage, UsageMetrics};

/// A run with a plan of each kind, all complete.
struct Run {
    change_set: ChangeSet,
    config: ConfigPreimage,
    result: SkillResult,
}

fn digest(word: &str) -> Sha256Hex {
    canonical::sha256(word.as_bytes())
}

fn plan(ordinal: u64, lens: &str) -> Value {
    json!({
        "schemaVersion": "lens-plan.v1", "planOrdinal": ordinal, "lensId": lens, "subLensId": null, "lensVersion": "1",
        "lensClass": "security", "required": true, "blockingPolicy": "rule_defined", "providerBindingId": "builtin",
        "permissionProfileId": "read_only", "changedFiles": ["a.py"], "fullContextFiles": [], "omittedFiles": [],
        "scopeDigest": digest("scope"), "executionCommands": [], "maxInputTokens": 0, "maxOutputTokens": 0,
        "maxCostUsd": null, "overflowPolicy": "stop", "omittedHunks": [], "planningCodes": [], "review": null
    })
}

fn result(ordinal: u64, lens: &str) -> Value {
    json!({
        "schemaVersion": "lens-result.v1", "planOrdinal": ordinal, "lensId": lens, "subLensId": null,
        "lensVersion": "1", "status": "completed", "degraded": false, "findings": [], "evidenceSummary": [],
        "usage": UsageMetrics::NONE, "errorCodes": [], "warningCodes": [], "executionAudit": null,
        "adapterResponseHash": digest("response"), "review": null
    })
}

fn audit() -> Value {
    let end = json!({
        "ordinal": 0, "exitCode": 0, "timedOut": false, "stdoutSha256": digest("out"), "stderrSha256": digest("err"),
        "attempt": 1, "command": ["pytest"], "toolVersion": null, "stdoutNormalizedSha256": digest("out"),
        "stderrNormalizedSha256": digest("err"), "capped": false
    });
    json!({
        "schemaVersion": "execution-audit.v1", "permissionProfileId": "exec_sandboxed", "worktreePath": null,
        "commands": [end],
        "layers": {"landlockAbi": 4, "seccomp": true, "identity": "own-uid", "residuals": []}
    })
}

impl Run {
    fn new() -> Self {
        let lenses = ["shortcut", "unit_tests", "review-security"];
        let numbered = || (0..).zip(lenses);
        let mut results: Vec<Value> = numbered().map(|(ordinal, lens)| result(ordinal, lens)).collect();
        results[2]["review"] = json!({
            "requestHash": digest("request"), "unverified": 0, "confirmations": [], "canaryFound": null,
            "samples": [{
                "code": null, "findings": 0, "effective": EffectiveModel::default(), "usage": ReviewUsage::default()
            }]
        });
        let id = |digit: &str| digit.repeat(40);
        let config = json!({
            "engineVersion": "1.2.3", "sourceHash": digest("sources"), "mergeBaseSha": id("b"), "otherMergeBases": [],
            "landingTree": null, "policyHash": digest("policy"), "waiversHash": digest("waivers"), "rubricHash": null,
            "registryHash": digest("registry"), "schemaSetHash": digest("schemas"), "diffAlgorithm": "histogram",
            "requestedLensIds": null, "overrides": {"mode": null, "preset": null}, "gateReportsHash": null
        });
        let verdict = json!({
            "schemaVersion": "final-verdict.v1", "status": "PASS", "degraded": false, "rationale": [],
            "requiredLensIds": [], "missingRequiredLensIds": [], "failedRequiredLensIds": [], "blockingFindings": [],
            "errorCodes": [], "aggregateUsage": UsageMetrics::NONE, "conclusion": "pass", "warningCodes": [],
            "vacuous": false, "policyPreview": null
        });
        let change_set = json!({
            "schemaVersion": "change-set.v1", "baseSha": id("b"), "mergeBaseSha": id("b"), "otherMergeBases": [],
            "landing": "change", "landingTree": null, "headSha": id("c"), "headTree": id("d"), "baseTime": 0,
            "renames": {"exact": 0, "inexact": 0, "notCompared": 0}, "files": []
        });
        let plans: Vec<Value> = numbered().map(|(ordinal, lens)| plan(ordinal, lens)).collect();
        let result = json!({
            "schemaVersion": "skill-result.v1", "executionKey": digest("key"), "normalizedInputHash": digest("input"),
            "lensPlans": plans, "lensResults": results, "finalVerdict": verdict
        });
        Self {
            change_set: serde_json::from_value(change_set).unwrap(),
            config: serde_json::from_value(config).unwrap(),
            result: serde_json::from_value(result).unwrap(),
        }
    }

    fn statement(&self) -> Option<Statement> {
        self.statement_of("acme/shop")
    }

    fn statement_of(&self, repo_id: &str) -> Option<Statement> {
        let Self { change_set, config, result } = self;
        statement(&Judgement { repo_id, change_set, config, result, run_digest: &digest("run") })
    }

    /// The verdict and the names of the levels.
    fn levels(&self) -> String {
        let VerificationSummary { verification_result, verified_levels, .. } =
            self.statement().unwrap().predicate;
        let names: Vec<&str> = verified_levels.iter().map(|level| level.name()).collect();
        format!("{verification_result:?} {}", names.join(" ")).trim_end().to_owned()
    }
}

#[test]
fn each_level_says_what_completed_and_a_failure_has_none() {
    type Edit = fn(&mut Run);
    let cases: [(&str, Edit); 18] = [
        ("Passed complete rules gates-reported reviews", |_| {}),
        ("Passed complete rules gates-executed reviews", |run| {
            run.result.lens_results[1].execution_audit = Some(serde_json::from_value(audit()).unwrap());
        }),
        ("Failed FAILED", |run| run.result.final_verdict.conclusion = Conclusion::Fail),
        ("Failed FAILED", |run| run.result.final_verdict.conclusion = Conclusion::CouldNotComplete),
        // A verdict that passes beside a deferred plan is a defect, and no statement repeats it.
        ("Failed FAILED", |run| run.result.lens_plans[2].planning_codes.push(Code::CadenceDeferred)),
        ("Passed", |run| run.result.final_verdict.vacuous = true),
        ("Passed rules gates-reported reviews", |run| run.result.final_verdict.degraded = true),
        ("Passed", |run| run.config.requested_lens_ids = Some(vec!["shortcut".to_owned()])),
        ("Passed complete rules reviews", |run| {
            run.result.lens_results[1].adapter_response_hash = canonical::digest(&json!([])).unwrap();
        }),
        ("Passed gates-reported reviews", |run| {
            run.result.lens_results[0].status = LensStatus::Degraded;
        }),
        ("Passed gates-reported reviews", |run| run.result.lens_results[0].degraded = true),
        ("Passed rules reviews", |run| run.result.lens_results[1].status = LensStatus::Failed),
        ("Passed rules gates-reported", |run| drop(run.result.lens_results.remove(2))),
        ("Passed rules reviews", |run| {
            run.config.overrides.stage = Some(RunStage::Reviews);
            run.result.lens_plans.remove(1);
        }),
        ("Passed complete rules gates-reported", |run| run.result.lens_results[2].review = None),
        ("Passed complete rules gates-reported", |run| {
            run.result.lens_results[2].review.as_mut().unwrap().samples[0].code = Some(Code::ProviderTimeout);
        }),
        ("Passed complete rules gates-reported", |run| run.result.lens_plans[2].changed_files.clear()),
        ("Passed complete rules", |run| run.result.lens_plans.truncate(1)),
    ];
    for (expected, edit) in cases {
        let mut run = Run::new();
        edit(&mut run);
        assert_eq!(run.levels(), expected);
    }
}

#[test]
fn a_statement_names_what_was_judged_and_needs_the_tree_of_the_head() {
    let mut run = Run::new();
    run.change_set.landing_tree = TreeId::parse(&"e".repeat(40)).ok();
    let statement = run.statement_of("acme/a shop?").unwrap();
    assert_eq!(
        serde_json::to_value(&statement).unwrap(),
        json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [
                {"name": "head", "digest": {"gitCommit": "c".repeat(40)}},
                {"name": "tree", "digest": {"gitTree": "d".repeat(40)}},
                {"name": "merged-tree", "digest": {"gitTree": "e".repeat(40)}},
            ],
            "predicateType": "https://slsa.dev/verification_summary/v1",
            "predicate": {
                "verifier": {
                    "id": "urn:qa-skill:verifier",
                    "version": {"qa-skill": "1.2.3", "qa-skill-sources": digest("sources")}
                },
                "resourceUri": "urn:qa-skill:repository:acme/a%20shop%3F",
                "policy": {
                    "uri": format!("urn:qa-skill:policy:{}", "b".repeat(40)),
                    "digest": {"sha256": digest("policy")}
                },
                "inputAttestations": [{
                    "uri": format!("urn:qa-skill:run:{}", digest("key")), "digest": {"sha256": digest("run")}
                }],
                "verificationResult": "PASSED",
                "verifiedLevels": [
                    "urn:qa-skill:level:complete", "urn:qa-skill:level:rules", "urn:qa-skill:level:gates-reported",
                    "urn:qa-skill:level:reviews"
                ],
                "slsaVersion": "1.1"
            }
        })
    );
    run.change_set.head_tree = None;
    assert_eq!(run.statement(), None);
}

fn envelope(statement: &Value) -> Value {
    json!({
        "payloadType": "application/vnd.in-toto+json",
        "payload": STANDARD.encode(statement.to_string()),
        "signatures": [{"sig": "MEUC", "keyid": ""}]
    })
}

fn bundle(statement: &Value) -> Value {
    json!({
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {"certificate": {"rawBytes": "MIIG"}, "tlogEntries": []},
        "dsseEnvelope": envelope(statement)
    })
}

#[test]
fn a_statement_is_read_from_each_form_of_a_file() {
    let statement = serde_json::to_value(Run::new().statement().unwrap()).unwrap();
    let indented = serde_json::to_string_pretty(&statement).unwrap();
    let one = bundle(&statement).to_string();
    for text in [statement.to_string(), indented, envelope(&statement).to_string(), format!("{one}\n")] {
        assert_eq!(read(text.as_bytes()).unwrap(), std::slice::from_ref(&statement), "{text}");
    }
    let several = format!("{one}\n\n{one}\n");
    assert_eq!(read(several.as_bytes()).unwrap(), [statement.clone(), statement]);
}

#[test]
fn what_is_no_attestation_is_refused_with_its_reason() {
    let statement = serde_json::to_value(Run::new().statement().unwrap()).unwrap();
    let edited = |document: &Value, pointer: &str, to: Value| {
        let mut document = document.clone();
        *document.pointer_mut(pointer).unwrap() = to;
        document.to_string()
    };
    let whole = bundle(&statement);
    let twice = r#"{"_type":"https://in-toto.io/Statement/v1","_type":"https://in-toto.io/Statement/v1"}"#;
    let in_payload = edited(&whole, "/dsseEnvelope/payload", STANDARD.encode(twice).into());
    let mut both = statement.clone();
    both["payloadType"] = whole["dsseEnvelope"]["payloadType"].clone();
    both["payload"] = whole["dsseEnvelope"]["payload"].clone();
    let cases = [
        (both.to_string(), "it is a statement and has another one as its payload"),
        (String::new(), "it is not JSON: EOF"),
        (twice.to_owned(), "it is not JSON: key \"_type\" appears twice"),
        ("[".repeat(70), "it is not JSON: nesting is deeper"),
        (" ".repeat(MAX_ATTESTATION_BYTES + 1), "it has more than 1048576 bytes"),
        ("null".to_owned(), "it is not an in-toto statement of version 1"),
        ("[]".to_owned(), "it is not an in-toto statement of version 1"),
        (
            edited(&statement, "/_type", json!("https://in-toto.io/Statement/v0.1")),
            "it is not an in-toto statement",
        ),
        (
            edited(&statement, "/predicateType", json!("https://slsa.dev/provenance/v1")),
            "its predicate is https://slsa.dev/provenance/v1, and not",
        ),
        (
            edited(&whole, "/dsseEnvelope/payloadType", json!("text/plain")),
            "its payload is text/plain, and that",
        ),
        (edited(&whole, "/dsseEnvelope/payloadType", Value::Null), "its payload is absent, and that"),
        (edited(&whole, "/dsseEnvelope/payload", json!("a-b_")), "its payload is not in base64"),
        (edited(&whole, "/dsseEnvelope/payload", json!(7)), "its payload is not in base64"),
        (edited(&whole, "/dsseEnvelope/payload", json!("")), "it is not JSON: EOF"),
        (in_payload, "it is not JSON: key \"_type\" appears twice"),
        (format!("{whole}\n{whole}\n{{"), "it is not JSON: trailing characters"),
        (format!("{whole}\n{{}}\n"), "it is not an in-toto statement of version 1"),
    ];
    for (text, expected) in cases {
        let error = read(text.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}, and not {expected}");
    }
}

#[test]
fn the_first_difference_is_named_by_its_property() {
    let of_run = Run::new().statement().unwrap();
    let same = serde_json::to_value(&of_run).unwrap();
    assert_eq!(first_difference(&same, &of_run), None);
    let edits: [(&str, &str, Value); 14] = [
        ("repository", "/predicate/resourceUri", json!("urn:qa-skill:repository:acme/other")),
        ("head", "/subject/0/digest/gitCommit", json!("0".repeat(40))),
        ("list of subjects", "/subject/0/name", json!("tree")),
        ("tree", "/subject/1/digest/gitTree", json!("0".repeat(40))),
        ("list of subjects", "/subject", json!([same["subject"][0], same["subject"][1], null])),
        ("head", "/subject", json!([])),
        ("policy", "/predicate/policy/digest/sha256", json!("0".repeat(64))),
        ("execution key", "/predicate/inputAttestations/0/uri", json!("urn:qa-skill:run:0")),
        ("run digest", "/predicate/inputAttestations/0/digest/sha256", json!("0".repeat(64))),
        ("verdict", "/predicate/verificationResult", json!("FAILED")),
        ("list of levels", "/predicate/verifiedLevels", json!(["urn:qa-skill:level:complete"])),
        ("verifier", "/predicate/verifier/version/qa-skill", json!("9")),
        ("predicate", "/predicate/slsaVersion", json!("1.0")),
        ("statement", "/predicateType", json!("https://slsa.dev/verification_summary/v2")),
    ];
    for (name, pointer, to) in edits {
        let mut other = same.clone();
        *other.pointer_mut(pointer).unwrap() = to;
        assert_eq!(first_difference(&other, &of_run).map(|found| found.name), Some(name), "{pointer}");
    }
    let mut more = same.clone();
    more["predicate"]["timeVerified"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(first_difference(&more, &of_run).map(|found| found.name), Some("predicate"));
}

#[test]
fn a_statement_about_the_file_has_to_name_it_by_its_digest() {
    let of_run = Run::new().statement().unwrap();
    let mut bytes = canonical::to_vec(&of_run).unwrap();
    bytes.push(b'\n');
    let mut attested = serde_json::to_value(&of_run).unwrap();
    let file = json!({"name": "statement.intoto.json", "digest": {"sha256": canonical::sha256(&bytes)}});
    let other = json!({"name": "other", "digest": {"sha256": digest("other")}});
    for subjects in [json!([file]), json!([other, file])] {
        attested["subject"] = subjects;
        assert_eq!(first_difference(&attested, &of_run), None);
    }
    for (subjects, name) in [
        (json!([other]), "digest of the statement"),
        (
            json!([{"name": "x", "digest": {"sha256": file["digest"]["sha256"], "gitCommit": "0".repeat(40)}}]),
            "head",
        ),
        (json!([other, {"name": "head", "digest": {"gitCommit": "c".repeat(40)}}]), "head"),
    ] {
        attested["subject"] = subjects;
        assert_eq!(first_difference(&attested, &of_run).map(|found| found.name), Some(name));
    }
    attested["subject"] = json!([file]);
    attested["predicate"]["verificationResult"] = json!("FAILED");
    assert_eq!(first_difference(&attested, &of_run).map(|found| found.name), Some("verdict"));
}
