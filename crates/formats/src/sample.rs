//! Runs for tests of formats: a failing one full of hostile text, one that could not complete, and a clean one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::contract::{BaseChoice, Report, TerminalStyle};
use qa_contracts::codes::Code;
use qa_contracts::ids::{BlobId, CommitId, ExecutionKey, RepoPath, Sha256Hex};
use qa_contracts::v1::*;
use qa_core::canonical::sha256;
use qa_core::pictures::{Picture, Screenshot};

/// Text that tries everything on every surface.
pub(crate) const HOSTILE: &str = "\u{1b}[31m\u{202e}::error::x\n##[add-mask]y <script>alert(1)</script> \
     ![x](https://evil.example/?d=1) @team #1 www.evil.example a|b `c` </td>]]>\u{9b}\u{200b}";

/// The hostile path.
pub(crate) const HOSTILE_PATH: &str =
    "src/\u{202e}a\n::error file=x::<script>![x](https:evil) @team|`b`\u{1b}[31m%2e.rs";

/// Owned parts of a report.
pub(crate) struct Sample {
    pub(crate) input: SkillInput,
    pub(crate) result: SkillResult,
    pub(crate) change_set: ChangeSet,
    pub(crate) coverage: Coverage,
    pub(crate) cross_check: CrossCheck,
    pub(crate) sensitivity: ChangeSensitivity,
    pub(crate) registry: Registry,
    pub(crate) texts: BTreeMap<RepoPath, FileText>,
    pub(crate) screenshots: Vec<Screenshot>,
}

impl Sample {
    pub(crate) fn report(&self, color: bool) -> Report<'_> {
        Report {
            input: &self.input,
            result: &self.result,
            change_set: &self.change_set,
            coverage: &self.coverage,
            cross_check: &self.cross_check,
            sensitivity: &self.sensitivity,
            registry: &self.registry,
            texts: &self.texts,
            screenshots: &self.screenshots,
            base: Some(BaseChoice { reason: "by origin/HEAD".to_owned(), codes: &[] }),
            links: None,
            since_push: None,
            run_directory: Some(".qa-skill/runs/8f14e45fceea"),
            replayed: false,
            terminal: TerminalStyle { color, width: 100 },
        }
    }
}

/// Every variant by name.
pub(crate) fn all() -> Vec<(&'static str, Sample)> {
    vec![("fail", fail()), ("incomplete", incomplete()), ("pass", pass()), ("large", large(300, 3000))]
}

/// A failing run.
pub(crate) fn fail() -> Sample {
    let mut findings =
        vec![blocking(), ratcheted(), advised(), pre_existing(), waived(), on_base(), hostile()];
    findings.sort_by(|a, b| (&a.rule_id, &a.file).cmp(&(&b.rule_id, &b.file)));
    let mut sample = assemble(findings, Conclusion::Fail);
    sample.result.final_verdict.rationale =
        vec!["secret-token completed with 2 blocking findings".into(), HOSTILE.into()];
    sample.result.final_verdict.warning_codes = vec![Code::PolicyChangedInPr, Code::WaiverExpired];
    sample.result.final_verdict.policy_preview = Some(PolicyPreview {
        conclusion: Some(Conclusion::Pass),
        blocking_findings: 0,
        error: None,
        weakened: vec![WeakenedSetting {
            name: "rules.secret-token/github-token.product".into(),
            base: "block".into(),
            head: HOSTILE.into(),
        }],
    });
    sample
}

/// A run that could not be completed.
pub(crate) fn incomplete() -> Sample {
    let mut sample = assemble(vec![advised()], Conclusion::CouldNotComplete);
    let verdict = &mut sample.result.final_verdict;
    verdict.rationale = vec!["required lens secret-token did not complete".into()];
    verdict.failed_required_lens_ids = vec!["secret-token".into()];
    verdict.missing_required_lens_ids = vec!["merge-leftover".into()];
    verdict.error_codes = vec![Code::ContextBoundExceeded, Code::CrossCheckFailed, Code::LensRequiredFailed];
    verdict.degraded = true;
    let result = &mut sample.result.lens_results[0];
    (result.status, result.degraded) = (LensStatus::Failed, true);
    result.error_codes = vec![Code::BlobTooLarge, Code::ContextBoundExceeded];
    sample.result.lens_plans[0].omitted_hunks = vec![
        OmittedHunk { file: path("src/config.rs"), hunk_ordinal: None, reason: OmissionReason::BlobTooLarge },
        OmittedHunk { file: path(HOSTILE_PATH), hunk_ordinal: Some(4), reason: OmissionReason::LineLimit },
    ];
    sample.cross_check.passed = false;
    sample.cross_check.items[0].outcome = ItemOutcome::Failed;
    sample.cross_check.items[0].detail = format!("2 planned hunks have no cell {HOSTILE}");
    for row in &mut sample.coverage.rows {
        row.cells[0].status = if row.hunks > 1 { CoverageStatus::Partial } else { CoverageStatus::Omitted };
        row.cells[0].inspected_hunks = row.hunks / 2;
        row.cells[0].code = Some(Code::ContextBoundExceeded);
        sample.coverage.full_cells -= 1;
        sample.coverage.incomplete_cells += 1;
    }
    sample
}

/// A clean run.
pub(crate) fn pass() -> Sample {
    assemble(Vec::new(), Conclusion::Pass)
}

pub(crate) fn large(files: usize, findings: usize) -> Sample {
    let all = (0..findings).map(|index| {
        let mut finding = if index % 40 == 0 { blocking() } else { advised() };
        finding.file = path(&format!("src/gen/file_{:05}.rs", index % files));
        finding.finding_id = digest(&format!("large {index}"));
        finding
    });
    let mut sample = assemble(all.collect(), Conclusion::Fail);
    let template = path("src/config.rs");
    let at = sample.change_set.files.iter().position(|file| file.path == template).unwrap();
    for index in 0..files {
        let name = path(&format!("src/gen/file_{index:05}.rs"));
        let mut file = sample.change_set.files[at].clone();
        file.path = name.clone();
        sample.change_set.files.push(file);
        sample.texts.insert(name.clone(), sample.texts[&template].clone());
        let mut row = sample.coverage.rows[at].clone();
        row.file = name;
        if index % 3 == 0 {
            row.cells[0].status = CoverageStatus::Partial;
            row.cells[0].inspected_hunks = 1;
            row.cells[0].code = Some(Code::ContextBoundExceeded);
        }
        sample.coverage.rows.push(row);
    }
    sample
}

fn assemble(findings: Vec<Finding>, conclusion: Conclusion) -> Sample {
    let change_set = change_set();
    let blocking: Vec<Finding> = findings.iter().filter(|finding| finding.blocking).cloned().collect();
    let lenses = ["secret-token", "debug-leftover"];
    let mut by_lens: BTreeMap<&str, Vec<Finding>> = lenses.map(|lens| (lens, Vec::new())).into();
    for finding in findings {
        let lens = if finding.lens_id == "secret-token" { "secret-token" } else { "debug-leftover" };
        by_lens.entry(lens).or_default().push(finding);
    }
    let results = lenses.iter().enumerate().map(|(ordinal, lens)| LensResult {
        schema_version: LensResultTag::V1,
        plan_ordinal: ordinal as u64,
        lens_id: (*lens).into(),
        sub_lens_id: None,
        lens_version: "1".into(),
        status: LensStatus::Completed,
        degraded: false,
        findings: by_lens[lens].clone(),
        evidence_summary: vec!["looked at 3 files".into()],
        usage: UsageMetrics::NONE,
        error_codes: Vec::new(),
        warning_codes: Vec::new(),
        execution_audit: None,
        adapter_response_hash: digest(lens),
        review: None,
    });
    let result = SkillResult {
        schema_version: SkillResultTag::V1,
        execution_key: ExecutionKey::from(digest("key")),
        normalized_input_hash: digest("input"),
        lens_plans: lenses.iter().enumerate().map(|(ordinal, lens)| plan(ordinal as u64, lens)).collect(),
        lens_results: results.collect(),
        final_verdict: verdict(blocking, conclusion),
    };
    let rows = change_set.files.iter().map(|file| CoverageRow {
        file: file.path.clone(),
        blob: file.new_blob.clone(),
        hunks: file.hunks.len() as u64,
        cells: (0..2)
            .map(|plan_ordinal| CoverageCell {
                plan_ordinal,
                status: CoverageStatus::Full,
                inspected_hunks: file.hunks.len() as u64,
                code: None,
            })
            .collect(),
        gates: Vec::new(),
    });
    let rows: Vec<CoverageRow> = rows.collect();
    Sample {
        input: input(),
        result,
        coverage: Coverage {
            schema_version: CoverageTag::V1,
            full_cells: rows.len() as u64 * 2,
            incomplete_cells: 0,
            rows,
        },
        cross_check: cross_check(),
        sensitivity: sensitivity(&change_set),
        registry: registry(),
        texts: texts(&change_set),
        screenshots: screenshots(),
        change_set,
    }
}

fn verdict(blocking: Vec<Finding>, conclusion: Conclusion) -> FinalVerdict {
    FinalVerdict {
        schema_version: FinalVerdictTag::V1,
        status: if conclusion == Conclusion::Pass { VerdictStatus::Pass } else { VerdictStatus::Fail },
        degraded: false,
        rationale: Vec::new(),
        required_lens_ids: vec!["secret-token".into()],
        missing_required_lens_ids: Vec::new(),
        failed_required_lens_ids: Vec::new(),
        blocking_findings: blocking,
        error_codes: Vec::new(),
        aggregate_usage: UsageMetrics::NONE,
        conclusion,
        warning_codes: Vec::new(),
        vacuous: false,
        policy_preview: None,
    }
}

fn finding(rule: &str, file: &str, line: u64, columns: (u64, u64), quote: &str) -> Finding {
    let lens = rule.split('/').next().unwrap_or(rule);
    let evidence: BTreeMap<String, Value> = [
        ("quote".to_owned(), json!(quote)),
        ("side".to_owned(), json!("head")),
        ("startColumn".to_owned(), json!(columns.0)),
        ("endColumn".to_owned(), json!(columns.1)),
    ]
    .into();
    Finding {
        finding_id: digest(&format!("{rule} {file} {quote}")),
        lens_id: lens.into(),
        sub_lens_id: None,
        rule_id: rule.into(),
        severity: Severity::Low,
        blocking: false,
        file: path(file),
        start_line: line,
        end_line: line,
        summary: "a debugging call is left in the code".into(),
        evidence,
        evidence_hash: digest(&format!("evidence {rule} {file} {line} {quote}")),
        origin: FindingOrigin::Introduced,
        scope: Scope::Product,
        strength: Strength::Advise,
        ratchet: None,
        waiver: None,
        fix: "Remove the call, or log through the project's logger.".into(),
        edit: None,
        codes: Vec::new(),
    }
}

fn blocking() -> Finding {
    Finding {
        severity: Severity::Critical,
        blocking: true,
        strength: Strength::Block,
        summary: "a GitHub token is added".into(),
        fix: "Revoke the token now, it is known to everyone who can read this branch. Then read it from the \
              environment."
            .into(),
        ..finding("secret-token/github-token", "src/config.rs", 13, (20, 60), &"*".repeat(40))
    }
}

fn ratcheted() -> Finding {
    Finding {
        severity: Severity::Medium,
        blocking: true,
        strength: Strength::Ratchet,
        ratchet: Some(RatchetEvidence {
            theta_permille: 985,
            min_support: 20,
            support: 132,
            complying: 131,
            holds: true,
        }),
        summary: "`unwrap` on a value that comes from outside".into(),
        fix: "Return the error.".into(),
        ..finding("debug-leftover/unwrap", "src/config.rs", 14, (36, 45), ".unwrap()")
    }
}

fn advised() -> Finding {
    Finding {
        severity: Severity::Medium,
        ..finding("debug-leftover/dbg", "src/config.rs", 31, (5, 16), "dbg!(&url);")
    }
}

fn pre_existing() -> Finding {
    Finding {
        origin: FindingOrigin::PreExisting,
        strength: Strength::Block,
        ..finding("debug-leftover/todo", "src/config.rs", 32, (0, 0), "    // TODO: retry")
    }
}

fn waived() -> Finding {
    Finding {
        strength: Strength::Block,
        severity: Severity::High,
        waiver: Some(AppliedWaiver {
            owner: "platform".into(),
            reason: format!("a test key {HOSTILE}"),
            expires: "2027-01-31".into(),
        }),
        ..finding("secret-token/private-key", "src/config.rs", 12, (5, 12), "let url")
    }
}

fn on_base() -> Finding {
    let mut finding = finding("debug-leftover/deleted-test", "tests/old.rs", 2, (1, 14), "fn it_works()");
    finding.evidence.insert("side".into(), json!("base"));
    Finding { summary: "a test is deleted".into(), scope: Scope::Test, severity: Severity::High, ..finding }
}

fn hostile() -> Finding {
    let line = HOSTILE.replace('\n', "\r");
    let mut finding = finding("debug-leftover/dbg", HOSTILE_PATH, 1, (3, 20), &line[2..19]);
    finding.evidence.insert("quote".into(), json!(line));
    finding.evidence.insert("importedBy".into(), json!([HOSTILE, HOSTILE_PATH]));
    let message = format!("said {HOSTILE}\n::error::{HOSTILE}\n  {HOSTILE}");
    finding.evidence.insert("message".into(), json!(message));
    finding.summary = format!("text from a file: {HOSTILE}");
    finding.fix = format!("Remove {HOSTILE}");
    finding
}

pub(crate) fn plan(ordinal: u64, lens: &str) -> LensPlan {
    LensPlan {
        schema_version: LensPlanTag::V1,
        plan_ordinal: ordinal,
        lens_id: lens.into(),
        sub_lens_id: None,
        lens_version: "1".into(),
        lens_class: if ordinal == 0 { LensClass::Security } else { LensClass::Style },
        required: ordinal == 0,
        blocking_policy: BlockingPolicy::RuleDefined,
        provider_binding_id: "builtin".into(),
        permission_profile_id: PermissionProfileId::ReadOnly,
        changed_files: vec![path("src/config.rs")],
        full_context_files: Vec::new(),
        omitted_files: Vec::new(),
        scope_digest: digest("scope"),
        execution_commands: Vec::new(),
        max_input_tokens: 0,
        max_output_tokens: 0,
        max_cost_usd: None,
        overflow_policy: OverflowPolicy::Stop,
        omitted_hunks: Vec::new(),
        planning_codes: Vec::new(),
        review: None,
    }
}

fn input() -> SkillInput {
    SkillInput {
        schema_version: SkillInputTag::V1,
        repo_id: "acme/shop".into(),
        repo_root: "/volatile/root".into(),
        vcs: "git".into(),
        base_ref: Some("volatile-base".into()),
        head_ref: "volatile-head".into(),
        run_mode: RunMode::Strict,
        requested_lens_ids: None,
        max_concurrency: 4,
        allow_execution_lens_classes: Vec::new(),
        permission_profiles: Vec::new(),
        default_permission_profile_id: PermissionProfileId::ReadOnly,
        artifact_root: "/volatile/artifacts".into(),
        run_budget_max_tokens: 0,
        run_budget_max_cost_usd: None,
        provider_bindings: Vec::new(),
        config_hash: digest("config"),
        base_sha: commit('a'),
        merge_base_sha: commit('b'),
        other_merge_bases: Vec::new(),
        landing_tree: None,
        test_merge_sha: None,
        head_sha: commit('c'),
        preset: Preset::Default,
        overrides: InputOverrides::default(),
        settings: Vec::new(),
    }
}

fn change_set() -> ChangeSet {
    let config_hunks = vec![hunk(0, (12, 1), (12, 3)), hunk(1, (28, 0), (31, 2))];
    let mut files = vec![
        file("src/config.rs", ChangeKind::Modified, config_hunks),
        file("tests/old.rs", ChangeKind::Deleted, vec![hunk(2, (1, 4), (0, 0))]),
        file(HOSTILE_PATH, ChangeKind::Added, vec![hunk(3, (0, 0), (1, 2))]),
        file("assets/logo.png", ChangeKind::Added, Vec::new()),
    ];
    files.sort_by(|a, b| a.path.cmp(&b.path));
    ChangeSet {
        schema_version: ChangeSetTag::V1,
        base_sha: commit('a'),
        merge_base_sha: commit('b'),
        other_merge_bases: Vec::new(),
        landing: Landing::Change,
        landing_tree: None,
        head_sha: commit('c'),
        head_tree: None,
        base_time: 1_790_000_000,
        renames: RenameSummary { exact: 0, inexact: 0, not_compared: 0 },
        files,
    }
}

fn hunk(ordinal: u64, (old_start, old_lines): (u64, u64), (new_start, new_lines): (u64, u64)) -> Hunk {
    Hunk { ordinal, old_start, old_lines, new_start, new_lines, section: "fn load()".into() }
}

fn file(name: &str, kind: ChangeKind, hunks: Vec<Hunk>) -> ChangedFile {
    let blob = |digit: char| BlobId::parse(&digit.to_string().repeat(40)).ok();
    ChangedFile {
        path: path(name),
        old_path: None,
        kind,
        old_mode: (kind != ChangeKind::Added).then(|| "100644".into()),
        new_mode: (kind != ChangeKind::Deleted).then(|| "100644".into()),
        old_blob: blob('d').filter(|_| kind != ChangeKind::Added),
        new_blob: blob('e').filter(|_| kind != ChangeKind::Deleted),
        class: FileClass::Source,
        scope: Scope::Product,
        scope_reason: ScopeReason::Name,
        language: Some("rust".into()),
        text: !hunks.is_empty(),
        hunks,
        codes: Vec::new(),
    }
}

fn texts(change_set: &ChangeSet) -> BTreeMap<RepoPath, FileText> {
    let hostile = format!("{}\nplain\n", HOSTILE.replace('\n', "\r"));
    let token = format!("    let token = \"…\"{};\n", "*".repeat(40));
    let added = format!(
        "    let url = \"https://example.com\";\n{token}    let port = env(\"PORT\")?.parse().unwrap();\n"
    );
    let parts: [(&str, Vec<[&str; 4]>); 3] = [
        (
            "src/config.rs",
            vec![
                [
                    "fn load() -> Result<Config> {\n",
                    "    let url = env(\"URL\")?;\n",
                    &added,
                    "    Ok(Config { url, port })\n}\n",
                ],
                ["\n", "", "    dbg!(&url);\n    // TODO: retry\n", "\tconnect(url)\n}\n"],
            ],
        ),
        ("tests/old.rs", vec![["", "#[test]\nfn it_works() {\n    assert!(true);\n}\n", "", ""]]),
        (HOSTILE_PATH, vec![["", "", &hostile, ""]]),
    ];
    let names: BTreeSet<&RepoPath> = change_set.files.iter().map(|file| &file.path).collect();
    let build = |hunks: &Vec<[&str; 4]>| {
        let mut text = String::new();
        let mut cuts = Vec::new();
        for hunk in hunks {
            let ends = hunk.map(|part| {
                text.push_str(part);
                text.len() as u32
            });
            cuts.push(HunkCuts { before: ends[0], removed: ends[1], added: ends[2], after: ends[3] });
        }
        FileText { text, cuts, full_base: None, full_head: None, secrets: Vec::new() }
    };
    parts
        .iter()
        .map(|(name, hunks)| (path(name), build(hunks)))
        .filter(|(name, _)| names.contains(name))
        .collect()
}

fn cross_check() -> CrossCheck {
    let item = |item: &str, direction, outcome, detail: &str| CrossCheckItem {
        item: item.into(),
        direction,
        outcome,
        detail: detail.into(),
    };
    CrossCheck {
        schema_version: CrossCheckTag::V1,
        passed: true,
        items: vec![
            item("every-planned-hunk-has-a-cell", Direction::FalsePass, ItemOutcome::Passed, "8 cells of 8"),
            item("quotes-stand-in-added-lines", Direction::FalseFail, ItemOutcome::Passed, "2 quotes of 2"),
            item("commands-are-audited", Direction::FalsePass, ItemOutcome::NotApplicable, "no commands"),
        ],
    }
}

fn sensitivity(change_set: &ChangeSet) -> ChangeSensitivity {
    ChangeSensitivity {
        schema_version: ChangeSensitivityTag::V1,
        score: 64,
        tier: SensitivityTier::High,
        bucket: SizeBucket::Small,
        changed_files: change_set.files.len() as u64,
        changed_lines: 12,
        files: change_set
            .files
            .iter()
            .map(|file| FileSensitivity {
                file: file.path.clone(),
                score: 40 + file.hunks.len() as u8 * 10,
                tier: SensitivityTier::Moderate,
                reasons: vec![
                    SensitivityReason { reason: "touches-configuration".into(), points: 35 },
                    SensitivityReason { reason: "has-tests".into(), points: -10 },
                ],
                hunk_scores: vec![40; file.hunks.len()],
            })
            .collect(),
    }
}

fn registry() -> Registry {
    use qa_core::policy::{everywhere, presets};
    let rule = |id: &str, title: &str, severity| RegistryRule {
        rule_id: id.into(),
        title: title.into(),
        severity,
        strengths: presets(everywhere(Strength::Block), everywhere(Strength::Block)),
    };
    let lens = |id: &str, lens_class, rules| RegistryLens {
        lens_id: id.into(),
        lens_version: "1".into(),
        lens_class,
        title: "Looks at what is left behind".into(),
        required_by_default: true,
        triggers: vec!["**".into()],
        rules,
    };
    Registry {
        schema_version: RegistryTag::V1,
        skill_id: "qa-skill".into(),
        lenses: vec![
            lens(
                "debug-leftover",
                LensClass::Style,
                vec![
                    rule("debug-leftover/dbg", "a debugging call is left in the code", Severity::Medium),
                    rule("debug-leftover/deleted-test", "a test is deleted", Severity::High),
                    rule("debug-leftover/todo", "a note to self is left in the code", Severity::Info),
                    rule("debug-leftover/unwrap", "a panic on outside input", Severity::Medium),
                ],
            ),
            lens(
                "secret-token",
                LensClass::Security,
                vec![
                    rule("secret-token/github-token", "a GitHub token", Severity::Critical),
                    rule("secret-token/private-key", "a private key", Severity::High),
                ],
            ),
        ],
    }
}

fn digest(text: &str) -> Sha256Hex {
    sha256(text.as_bytes())
}

fn commit(digit: char) -> CommitId {
    CommitId::parse(&digit.to_string().repeat(40)).unwrap()
}

fn path(text: &str) -> RepoPath {
    RepoPath::from_bytes(text.as_bytes()).unwrap()
}

/// A picture of a test with a hostile name, and one that is not there.
fn screenshots() -> Vec<Screenshot> {
    let there = Picture::from_bytes(b"\x89PNG\r\n\x1a\nnothing more".to_vec());
    let gone = Err(format!("it is not there {HOSTILE}"));
    let pictures = [("test-results/<b>/failed.png", there), ("test-results/gone.png", gone)];
    let of_a_test = |(name, picture)| Screenshot {
        path: path(name),
        test: format!("cart.spec.js > counts {HOSTILE}"),
        steps: vec!["feature 1 step 2".to_owned()],
        picture,
    };
    pictures.map(of_a_test).into()
}
