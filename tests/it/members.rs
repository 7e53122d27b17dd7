//! Every member of a published schema says something: over the documents of many tests it takes two values, or a table says
//! why it has one.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::consistency::{World, everything};
use crate::drift::nightly;
use crate::gates_run::{EXECUTION, Scene, kinds};
use crate::proofs::rows;
use crate::support::answers::{self, CHAT, MESSAGES, RESPONSES, answer};
use crate::support::kept::KEEP;
use crate::support::{Files, Repo, Response, Server, qa_skill, reviews, runs_in, temp};

/// Tests whose documents are looked at.
const SOURCES: &[&str] = &[
    "action::a_head_that_moved_meanwhile_gets_no_result_of_the_old_one",
    "baseline::a_step_takes_the_run_of_the_push_and_of_nothing_else",
    "baseline::only_what_the_base_does_not_report_blocks",
    "baseline_commands::a_command_that_passed_on_the_base_does_not_run_there_again",
    "calibrate::the_policy_is_the_one_in_force_now_and_its_gates_are_left_out",
    "callers::a_missing_member_that_the_base_used_as_well_is_not_new",
    "callers::callers_in_untouched_files_are_found_and_replayed_without_the_repository",
    "canaries::no_secret_of_a_pull_request_reaches_github",
    "canaries::the_middle_of_a_private_key_is_found_and_masked",
    "cli::a_failure_of_a_command_that_prints_json_is_json",
    "cli::a_run_without_options_works_from_inside_the_checkout",
    "cli::every_listed_schema_is_printed_as_json",
    "cli::json_on_standard_output_is_the_stored_result_and_nothing_else",
    "consistency::a_draft_quotes_no_secret_that_its_length_cuts",
    "consistency::a_frozen_version_is_never_written_again",
    "consistency::a_later_draft_has_the_next_version_and_says_what_moved",
    "consistency::a_model_is_asked_about_the_rubric_and_may_name_its_conventions_alone",
    "consistency::decisions_reject_soften_and_reword_conventions",
    "consistency::hostile_repositories_are_drafted_without_harm",
    "consistency::shards_hold_a_change_to_the_rubric_as_one_process_does",
    "delta::after_a_rebase_the_only_earlier_run_is_meant_and_a_link_is_not_followed",
    "delta::findings_are_new_still_open_or_resolved_since_the_nearest_verdict",
    "drift::each_way_of_not_being_the_same_has_its_own_outcome",
    "drift::the_nightly_form_fetches_what_is_recent_and_its_own_and_replays_it",
    "drift::two_runs_of_one_key_are_compared_and_only_the_machine_may_differ",
    "drift::what_another_engine_wrote_in_another_form_is_not_called_damaged",
    "drive::a_change_that_passes_needs_no_turn_and_a_goal_needs_one",
    "drive::a_drive_that_was_killed_goes_on_and_has_the_history_of_one_that_was_not",
    "drive::a_good_agent_ends_in_a_pass_that_verifies_and_can_be_taken",
    "drive::a_hostile_agent_harms_nothing_and_ends",
    "drive::an_agent_reaches_neither_the_checkout_nor_the_machine_nor_variables_that_are_not_its_own",
    "drive::an_agent_that_says_it_is_done_is_not_believed",
    "drive::no_cheat_finishes",
    "drive::settings_of_the_policy_bound_the_agent",
    "drive_coordinator::a_person_sees_the_plan_before_the_turn_and_has_it_made_anew",
    "drive_coordinator::a_plan_that_is_none_leaves_the_choice_to_the_rule_and_widens_nothing",
    "drive_local::a_manual_drive_waits_for_a_person_whose_word_reaches_the_agent_and_the_session",
    "drive_local::new_files_that_ignore_rules_name_are_left_out_and_said",
    "drive_local::safe_edits_are_an_agent_alone_and_before_another",
    "features::a_feature_that_comes_after_all_others_passed_is_set_as_well",
    "gates::a_report_about_the_base_that_names_another_commit_excuses_nothing_and_is_told",
    "gates::a_warning_is_told_and_blocks_nothing",
    "gates::without_the_report_of_an_optional_gate_only_best_effort_passes",
    "gates_command::a_command_of_the_policy_decides_by_all_of_its_reports",
    "gates_features::a_label_names_the_feature_and_a_replay_needs_no_event",
    "gates_features::a_trailer_that_names_no_feature_by_its_number_is_an_error",
    "gates_limits::a_command_over_a_limit_of_the_policy_is_stopped_and_proves_nothing",
    "gates_limits::a_command_starts_no_more_processes_than_the_policy_lets_it",
    "gates_limits::fixes_are_three_of_a_gate_and_ten_in_all",
    "gates_pictures::a_link_and_an_old_picture_are_not_taken",
    "gates_pictures::a_picture_is_kept_with_its_digest_and_shown_with_its_test_and_step",
    "gates_pictures::twenty_pictures_are_kept_and_the_rest_is_listed",
    "gates_record::a_record_has_the_end_of_its_command_and_the_step_ends_alike",
    "gates_record::a_record_names_its_commit_so_that_no_clock_decides",
    "gates_record::a_record_of_another_report_has_the_version_that_its_tool_prints",
    "gates_record::a_record_of_something_else_is_no_result",
    "gates_run::a_policy_that_lets_more_run_or_runs_less_is_reported_as_weaker",
    "gates_run::a_secret_across_the_end_of_what_is_kept_of_an_output_is_kept_nowhere",
    "gates_run::a_toolchain_that_is_committed_is_refused",
    "gates_run::code_of_a_fork_is_run_only_where_the_policy_says_so_and_never_beside_secrets",
    "gates_run::shards_run_nothing_and_the_one_that_joins_them_does",
    "gates_run::what_kept_a_tool_from_looking_is_not_excused_by_the_base",
    "gates_run::what_the_base_says_too_is_not_held_against_the_change",
    "gates_run::whoever_is_not_root_runs_tools_too_or_is_told_why_not",
    "gates_story::a_change_does_not_choose_the_feature_that_it_is_judged_by",
    "gates_story::a_feature_fails_is_mended_passes_is_proposed_and_does_not_get_lost",
    "gates_story::a_file_of_the_repository_binds_tests_to_steps",
    "gates_story::a_test_that_checks_nothing_shows_no_step",
    "git::every_kind_of_change_is_told_apart",
    "landing::submodules_links_and_binary_files_that_go_back_are_part_of_the_change",
    "limits::a_bound_of_hunks_files_or_lines_leaves_the_rest_out_with_its_reason",
    "limits::too_many_pairs_of_moved_files_are_not_compared_and_that_is_said",
    "lookups::a_package_that_no_manifest_names_is_found_and_replayed_without_the_repository",
    "lookups::what_is_recorded_is_the_same_for_any_number_of_workers",
    "lookups::what_was_asked_is_recorded_and_replays_without_the_repository",
    "members::a_later_rubric_is_stored",
    "members::a_picture_of_a_command_is_stored",
    "members::changes_of_other_kinds_are_stored",
    "members::commands_of_other_settings_are_stored",
    "members::reports_of_nights_are_stored",
    "members::reviews_of_other_settings_are_stored",
    "members::stories_of_another_feature_are_stored",
    "members::what_reviews_said_before_is_stored",
    "observe::a_ledger_is_printed_as_a_table_as_itself_and_as_a_page",
    "observer::a_deferred_review_is_asked_nothing_is_recorded_and_replays",
    "phases::a_wait_is_a_line_and_stands_in_the_metrics_and_the_last_line",
    "policy::a_file_that_a_boundary_excepts_may_import_what_others_may_not",
    "policy::a_finding_blocks_by_the_strength_of_its_rule_or_by_its_severity",
    "policy::a_ratchet_blocks_where_enough_files_of_the_base_keep_the_rule",
    "policy::the_name_of_the_repository_is_in_the_key_and_the_number_of_workers_is_not",
    "replay::a_missing_recording_is_named",
    "replay::verify_says_what_was_judged_against_what_and_under_which_policy",
    "reviews::a_large_change_is_asked_about_in_parts_that_follow_from_the_change_alone",
    "reviews::a_model_that_does_not_see_the_canary_did_not_look",
    "reviews::a_proven_finding_counts_by_its_rule_in_each_dialect_and_is_derived_again_without_the_model",
    "reviews::an_answer_is_kept_for_whoever_has_the_key_and_an_outage_is_not",
    "reviews::by_default_a_finding_advises_and_no_finding_is_no_noise",
    "reviews::secrets_of_a_change_do_not_leave_the_machine",
    "reviews::what_a_budget_does_not_allow_is_not_asked",
    "reviews::what_a_model_was_not_shown_is_not_reviewed",
    "reviews::what_reviews_may_cost_is_told_before_anything_is_asked",
    "reviews::what_was_found_stays_while_its_hunk_does",
    "reviews_confirm::a_finding_that_both_models_reject_advises",
    "reviews_confirm::a_finding_that_the_second_model_upholds_blocks",
    "reviews_confirm::findings_over_the_bound_and_over_the_budget_block_unasked",
    "reviews_confirm::without_a_key_for_the_second_model_a_finding_blocks",
    "reviews_live::a_model_is_held_against_what_it_said_and_no_run_turns_red",
    "reviews_live::a_model_that_does_not_say_what_it_used_is_said_to",
    "reviews_live::a_replay_without_a_recorded_answer_asks_nobody_and_does_not_pass",
    "reviews_live::a_stored_run_does_not_say_where_a_key_goes",
    "reviews_live::what_a_model_never_says_twice_is_no_drift",
    "shards::a_part_that_hides_what_a_lens_found_does_not_pass",
    "stage::a_stage_for_reviews_plans_no_gate_and_requires_every_review",
    "turns_lost::a_pull_request_whose_ledger_is_lost_passes_only_where_none_is_required_or_a_person_starts_again",
    "turns_reviews::a_finding_does_not_vanish_while_its_hunk_stays",
    "turns_reviews::a_finding_that_answers_tell_in_other_words_stays_one_of_those",
    "upgrade::the_difference_is_told_by_rule_and_change",
    "upgrade::the_same_program_says_the_same",
    "upgrade::the_workflow_of_init_says_how_its_pin_moves",
    "verdict::a_file_that_guards_something_is_not_let_go_by_a_rename_into_other_peoples_code",
    "verdict::a_required_lens_that_was_not_asked_for_keeps_the_run_from_passing",
    "verdict::a_waiver_counts_only_on_the_base_for_its_evidence_and_until_its_day",
    "verdict::what_is_over_a_limit_is_listed_and_nothing_passes",
    "workflow::a_story_from_the_first_push_to_a_list_that_passes_is_told_right_at_each_step",
    "workflow::without_write_nothing_is_stored_and_json_is_the_state_itself",
];

/// Files that people write, whose members have tests of what they do, and the manifest, which there is one of.
const OTHERS: &[&str] = &[
    "feature-list.v1",
    "manifest.v1",
    "policy.v1",
    "rubric-decisions.v1",
    "story-bindings.v1",
    "waivers.v1",
];

/// Values of a member, by `Type.member`.
type Values = BTreeMap<String, BTreeSet<String>>;

/// The documents of all schemas, with what is known of their members.
struct Members {
    /// Members that the schemas have, but for constants.
    declared: BTreeSet<String>,
    seen: Values,
}

/// Returns the name of the type that a schema describes: `LensPlan` for `lens-plan.v1`.
fn type_name(schema: &str) -> String {
    let words = schema.split('.').next().unwrap().split('-');
    words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

/// A schema, and the node of it that describes a value.
#[derive(Clone, Copy)]
struct Place<'a> {
    schema: &'a Value,
    node: &'a Value,
    /// The type that the node belongs to.
    owner: &'a str,
}

impl<'a> Place<'a> {
    fn at(self, node: &'a Value) -> Self {
        Self { node, ..self }
    }

    /// Follows a reference.
    fn resolved(self) -> Self {
        match self.node["$ref"].as_str().and_then(|target| target.strip_prefix('#')) {
            Some(pointer) => {
                let node = self.schema.pointer(pointer).expect("references lead somewhere");
                Self { node, owner: pointer.rsplit('/').next().unwrap(), ..self }
            }
            None => self,
        }
    }

    fn choices(self) -> impl Iterator<Item = Self> {
        let choices =
            ["anyOf", "oneOf"].into_iter().filter_map(move |name| self.node[name].as_array()).flatten();
        choices.map(move |choice| self.at(choice).resolved())
    }

    fn is_constant(self) -> bool {
        let place = self.resolved();
        let one = place.node["enum"].as_array().is_some_and(|words| words.len() == 1);
        place.node.get("const").is_some() || one
    }
}

impl Members {
    fn declare(&mut self, schema: &Value, owner: &str, node: &Value) {
        for (name, member) in node["properties"].as_object().into_iter().flatten() {
            if !(Place { schema, node: member, owner }).is_constant() {
                self.declared.insert(format!("{owner}.{name}"));
            }
        }
    }

    /// Notes the values of all members of a document.
    fn note(&mut self, place: Place<'_>, value: &Value) {
        let place = place.resolved();
        for choice in place.choices().filter(|_| !value.is_null()) {
            self.note(choice, value);
        }
        for item in value.as_array().into_iter().flatten().filter(|_| place.node["items"].is_object()) {
            self.note(place.at(&place.node["items"]), item);
        }
        let properties = &place.node["properties"];
        for (name, value) in value.as_object().into_iter().flatten() {
            match properties.get(name) {
                Some(member) => {
                    self.see(&format!("{}.{name}", place.owner), value);
                    self.note(place.at(member), value);
                }
                None if place.node["additionalProperties"].is_object() => {
                    self.note(place.at(&place.node["additionalProperties"]), value);
                }
                None => {}
            }
        }
        let members = properties.as_object().into_iter().flatten();
        for (name, _) in members.filter(|(name, _)| value.is_object() && value.get(name.as_str()).is_none()) {
            self.see(&format!("{}.{name}", place.owner), &"absent".into());
        }
    }

    fn see(&mut self, member: &str, value: &Value) {
        let values = self.seen.entry(member.to_owned()).or_default();
        match value {
            Value::Array(items) if items.is_empty() => {
                values.insert("[]".to_owned());
            }
            Value::Array(items) => items.iter().for_each(|item| self.see(member, item)),
            Value::Object(members) => {
                values.insert(if members.is_empty() { "{}" } else { "{…}" }.to_owned());
            }
            // A few are enough, and a recorded text may be long.
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                if values.len() < 3 {
                    values.insert(value.to_string().chars().take(60).collect());
                }
            }
        }
    }

    /// Members that were seen with one value at most. A member that is another type's only is looked at there.
    fn constant(&self) -> BTreeMap<String, String> {
        let all = self.declared.iter().filter_map(|member| {
            let values: Vec<&str> = self.seen.get(member).into_iter().flatten().map(String::as_str).collect();
            let is_constant = values.len() < 2 && values != ["{…}"];
            is_constant.then(|| (member.clone(), values.join("")))
        });
        all.collect()
    }
}

#[test]
fn every_member_of_an_artifact_takes_two_values() {
    let kept = temp();
    let mut tests = Command::new(std::env::current_exe().unwrap());
    let ran = tests.arg("--exact").args(SOURCES).env(KEEP, kept.path()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    let schemas: Vec<_> =
        qa_contracts::schema::ALL.iter().filter(|schema| !OTHERS.contains(&schema.name)).collect();
    let mut members = Members { declared: BTreeSet::new(), seen: Values::new() };
    let parsed: BTreeMap<&str, Value> =
        schemas.iter().map(|schema| (schema.name, serde_json::from_str(schema.text).unwrap())).collect();
    for (name, schema) in &parsed {
        members.declare(schema, &type_name(name), schema);
        for (owner, node) in schema["$defs"].as_object().into_iter().flatten() {
            members.declare(schema, owner, node);
        }
    }
    for entry in std::fs::read_dir(kept.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        // A test damages some of them.
        let Ok(document) = serde_json::from_slice::<Value>(&bytes) else { continue };
        let name = if document.get("current_state").is_some() {
            Some("workflow-state.v1")
        } else if document.get("predicateType").is_some() {
            Some("statement.v1")
        } else {
            document["schemaVersion"].as_str()
        };
        let Some(name) = name else { continue };
        let Some((name, schema)) = parsed.get_key_value(name) else { continue };
        if qa_contracts::schema::find(name).unwrap().faults(&document).is_empty() {
            members.note(Place { schema, node: schema, owner: &type_name(name) }, &document);
        }
    }
    let constant = members.constant();
    let listed: BTreeMap<String, Vec<String>> =
        rows("tests/proofs/constant-members.txt").into_iter().collect();
    let mut faults = Vec::new();
    for (member, value) in &constant {
        if listed.get(member).is_none_or(Vec::is_empty) {
            let seen = if value.is_empty() { "is in no document" } else { value };
            faults.push(format!("{member}: {seen}"));
        }
    }
    let varying = listed.keys().filter(|member| !constant.contains_key(*member));
    faults.extend(varying.map(|member| format!("{member} is not constant")));
    assert!(faults.is_empty(), "{} of {}\n{}\n", faults.len(), members.declared.len(), faults.join("\n"));
}

fn policy_of(path: &str, policy: &str, text: &str) -> Files {
    Files::from_texts(&[(".qa-skill/policy.toml", policy), (path, text)])
}

/// Models with settings that no other test has, and a review in parts, each of which finds something.
#[test]
fn reviews_of_other_settings_are_stored() {
    let own = "model = \"ours\"\ncapabilities = { sampling = \"never\", efforts = [\"low\", \"high\"], max-output-tokens = 9000 }";
    for (surface, settings, provider) in [
        (MESSAGES, "auth-scheme = \"x-api-key\"\nservice-tier = \"auto\"\neffort = \"low\"", ""),
        (CHAT, "seed = 7", ""),
        (RESPONSES, &format!("{own}\neffort = \"high\""), ""),
        (MESSAGES, "endpoint = \"anthropic\"", "without a key"),
    ] {
        let server = Server::start(move |_| {
            let mut answer = answer(surface, &json!({"findings": [reviews::finding()]}).to_string());
            answer["reasoning"] = json!({"effort": "high"});
            answer["system_fingerprint"] = json!("fp_1");
            answer["model"] = if surface == RESPONSES { json!("ours") } else { answer["model"].clone() };
            Response::json(200, &answer).header("x-request-id", "req_1")
        });
        let review = "[lenses.review-security]\nmodel = \"review\"\n";
        let policy = format!("{review}{}", answers::policy(surface, &server.url(), settings));
        let large: String = (0..2000).map(|line| format!("value_{line} = {line}\n")).collect();
        let mut files = vec![("app.py", reviews::FAULT)];
        files.extend(["one.py", "two.py", "three.py"].map(|path| (path, large.as_str())));
        let repo = reviews::repository(&policy, &files);
        let program = if provider.is_empty() { reviews::run(&repo) } else { repo.judge() };
        program.run();
        let plans = repo.run_dir().json("lens-plan.json").to_string();
        assert!(plans.contains("part-002"), "{plans}");
    }
}

/// Commands with a network, in a project below the root, over their time, and of a report with a version.
#[test]
fn commands_of_other_settings_are_stored() {
    let lint = "[gates.lint]\nrun = [\"ruff\"]\n";
    let network = EXECUTION.replace("exec_sandboxed_network_off", "exec_sandboxed").replace("= 60", "= 2");
    let policy = format!("{network}{lint}");
    for (says, code) in [("sleep 9\n", "EXECUTION_TIMEOUT"), ("kill -9 $$\n", "EXECUTION_EXIT_NONZERO")] {
        let tree = |text: &str| {
            let files = policy_of("sub/a.py", &policy, text).with("sub/pyproject.toml", "[tool.ruff]\n");
            files.with("sub/says", says)
        };
        let Some(scene) = Scene::from_files(&tree("a = 1\n"), &tree("a = 2\n")) else { return };
        scene.judge().expect(3);
        assert!(scene.codes().contains(&code.to_owned()), "{:?}", scene.codes());
    }
}

/// A command whose test leaves a picture.
#[test]
fn a_picture_of_a_command_is_stored() {
    let policy = format!("{EXECUTION}[gates.browser_tests]\nrun = [\"playwright\"]\n");
    let picture =
        json!([{"name": "screenshot", "contentType": "image/png", "path": "/github/workspace/shot.png"}]);
    let report = kinds()[3].passes.replace("\"attachments\":[]", &format!("\"attachments\":{picture}"));
    let says = format!("printf '\\211PNG\\r\\n\\032\\n' > shot.png\n{report}");
    let tree = |text: &str| {
        let files = policy_of("src/a.py", &policy, text).with("says", &says).with("playwright.config.js", "");
        files.with("package.json", "{\"devDependencies\": {\"@playwright/test\": \"1\"}}")
    };
    let Some(scene) = Scene::from_files(&tree("a = 1\n"), &tree("a = 2\n")) else { return };
    scene.judge().expect(0);
    let execution = scene.repo.run_dir().json("recordings/execution.json");
    assert!(execution["commands"][0]["pictures"][0]["sha256"].is_string(), "{execution}");
}

/// The step of another feature, bound to a test of a project below the root that checks nothing.
#[test]
fn stories_of_another_feature_are_stored() {
    let policy = "[lenses.feature-guard]\nenabled = false\nrequired = false\n[gates.story_validation]\n\
        reports = [{ path = \"reports/web.xml\", tool = \"pytest\", directory = \"web\", record = \"optional\" }]\n";
    let list = json!([{"id": 7, "description": "It is sent", "steps": ["Step 1: send it"], "passes": false}]);
    let base = policy_of("web/m.py", policy, "a = 1\n")
        .with("feature_list.json", list.to_string())
        .with("workflow-state.json", crate::gates_story::state("QA_READY", "qa").replace("42", "7"))
        .with("stories/7.json", "{ \"1\": \"web/test_m.py::test_sends\" }")
        .with("web/test_m.py", "def test_sends():\n    pass\n");
    let repo = Repo::new();
    repo.change(&base, &base.clone().with("web/m.py", "a = 2\n"));
    std::fs::create_dir(repo.path().join("reports")).unwrap();
    let case = "<testcase classname=\"test_m\" name=\"test_sends\" file=\"test_m.py\"/>";
    let report = format!("<testsuite name=\"pytest\" tests=\"1\">{case}</testsuite>");
    std::fs::write(repo.path().join("reports/web.xml"), report).unwrap();
    let said = repo.judge().run().expect(1).text();
    assert!(said.contains("passes and checks nothing"), "{said}");
}

/// A ratchet of another rule and language, a waiver of somebody else, and imports of every form.
#[test]
fn changes_of_other_kinds_are_stored() {
    let ratchet = "[limits]\nmax-blob-bytes = 100000\n[rules.\"merge-leftover/debugger-statement\"]\nstrength = \"ratchet\"\n\
        [rules.\"blocking-call/in-async-function\"]\nstrength = \"ratchet\"\n";
    let waiver = "[[waiver]]\nrule = \"secret-token/provider-token\"\nevidence-hash = \"@\"\nowner = \"bob\"\nreason = \"another\"\nexpires = \"2031-02-03\"\n";
    let key = format!("key = \"{}\"\n", crate::support::token());
    let other = "export * from \"./third\";\nexport function late() {\n  return require(\"./third\");\n}\nimport { used } from \"./used\";\n";
    let python = "from app.used import *\n\ntry:\n    import app.third\nexcept ImportError:\n    pass\n\n\ndef late():\n    import app.fourth\n";
    let base = policy_of("src/used.ts", ratchet, "export const used = 1;\n")
        .with("src/third.ts", "export const third = 3;\n")
        .with("src/data.json", "{}\n")
        .with("app/used.py", "a = 1\n")
        .with("app/__init__.py", "")
        .with("app/other.py", python)
        .with("src/other.ts", other);
    let head = base
        .clone()
        .with("src/used.ts", "import { late } from \"./other\";\nimport data from \"./data.json\";\nimport gone from \"./gone\";\nexport const used = late(data, gone);\ndebugger;\n")
        .with("app/used.py", "from app.other import late\n\na = late()\n")
        .with("app/slow.py", "import time\n\n\nasync def load():\n    time.sleep(1)\n")
        .with("test/used.test.ts", "describe.only(\"used\", () => {\n  it(\"is\", () => expect(1).toBe(1));\n});\n")
        .with("config.py", key);
    let repo = Repo::new();
    repo.change(&base, &head);
    repo.judge().run().expect(1);
    let verdict = repo.run_dir().json("final-verdict.json");
    let blocking = verdict["blockingFindings"].as_array().unwrap().iter();
    let token = { blocking }.find(|finding| finding["ruleId"] == "secret-token/provider-token").unwrap();
    let waived = waiver.replace('@', token["evidenceHash"].as_str().unwrap());
    let with = |files: &Files| files.clone().with(".qa-skill/waivers.toml", &waived);
    repo.change(&with(&base), &with(&head));
    repo.judge().run();
    assert_eq!(runs_in(&repo.beside("out")).len(), 2);
    // What was found before is compared with what is found of another kind.
    let clean = repo.commit(repo.tree(&base), &[repo.tip("topic")]);
    repo.reference("refs/heads/topic", clean);
    repo.judge().arg("--since").arg(repo.beside("out")).run();
    // Each change of the history by itself, and one that changes nothing.
    let conflicts = head.clone().with("b.toml", crate::support::conflict());
    let large = base.clone().with("src/used.ts", "export const used = 1;\n".repeat(5000));
    let trees = [&base, &base, &head, &conflicts, &large].map(|files| repo.tree(files));
    let more = trees.into_iter().zip(1..).fold(clean, |parent, (tree, number)| {
        repo.commit_saying(&format!("Change number {number}"), tree, &[parent])
    });
    repo.reference("refs/heads/topic", more);
    for preset in ["default", "guarded"] {
        let calibrate =
            qa_skill(["calibrate", "--head", "topic", "--preset", preset, "--format", "json", "--repo"]);
        let cost = calibrate.arg(repo.path()).run().expect(0).json();
        assert!(!cost["blocked"].as_array().unwrap().is_empty(), "{cost}");
    }
}

/// A finding that comes late, and what is kept of each answer for the next push.
#[test]
fn what_reviews_said_before_is_stored() {
    let says = Arc::new(Mutex::new(Vec::new()));
    let said = Arc::clone(&says);
    let server = Server::start(move |_| reviews::findings(CHAT, &said.lock().unwrap()));
    let review = reviews::reviewing(CHAT, &server.url(), "samples = 2");
    let policy = format!("[lenses.review-performance]\nmodel = \"review\"\n{review}");
    let text = format!("{}extra = find(\"x\")\nmore = find(extra)\n", reviews::FAULT);
    let repo = reviews::repository(&policy, &[("app.py", &text)]);
    let out = repo.beside("out");
    let judge = || reviews::run(&repo).args(["--pull-request", "7", "--since"]).arg(&out).run();
    judge().expect(0);
    let mut late =
        reviews::model_finding("review-security/path-traversal", "app.py", 7, "more = find(extra)");
    (late["severity"], late["suggestion"]) = (json!("low"), json!("Check the name."));
    late["summary"] = json!("The name is a path.");
    says.lock().unwrap().push(late);
    let files = Files::from_texts(&[(".qa-skill/policy.toml", &policy), ("app.py", &text)]);
    let push = |path: &str| {
        let next = repo.commit(repo.tree(&files.clone().with(path, "b = 1\n")), &[repo.tip("topic")]);
        repo.reference("refs/heads/topic", next);
        judge();
    };
    push("b.py");
    let delta: Value = serde_json::from_slice(&std::fs::read(out.join("runs/delta.json")).unwrap()).unwrap();
    assert_eq!(delta["new"][0]["late"], true, "{delta}");
    push("c.py");
}

/// A second version of a rubric, of a later commit.
#[test]
fn a_later_rubric_is_stored() {
    let mut world = World::held(&[]);
    let broken = "def readItem(itemCount):\n    return itemCount\n";
    world.change(&[("src/app/lateItem.py", broken)], &[]);
    let repo = &world.repo;
    let later = repo.commit_at(repo.tree_at_tip("main"), &[repo.tip("main")], 1_800_000_000);
    repo.reference("refs/heads/main", later);
    let draft = world.drafted("again");
    world.approve(&draft, &everything()).expect(0);
    assert!(world.repo.path().join(".qa-skill/rubrics/2.json").exists());
}

/// Reports of nights, with conventions that hold no longer, and a list of artifacts that ends too early.
#[test]
fn reports_of_nights_are_stored() {
    for files in [
        crate::consistency::fallen(),
        crate::consistency::fallen().with("src/app/more.py", "def readMore():\n    pass\n"),
    ] {
        let repo = Repo::new();
        repo.reference("refs/heads/topic", repo.commit(repo.tree(&files), &[]));
        let server = Server::start(|_| Response::json(200, &json!({"total_count": 0, "artifacts": []})));
        let name = format!("acme/of-{}", repo.tip("topic"));
        let night = nightly(&server, &repo.path()).env("GITHUB_REPOSITORY", name).args(["--format", "json"]);
        let night = night.run().expect(0);
        assert!(!night.json()["rubric"]["fallen"].as_array().unwrap().is_empty(), "{}", night.text());
    }
}
