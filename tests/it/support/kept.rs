//! Keeps the documents that the sources of `tests/it/members.rs` leave, where somebody asks for them.

use std::path::{Path, PathBuf};

use super::sha256;

/// The variable that names the directory for them.
pub(crate) const KEEP: &str = "QA_SKILL_TEST_DOCUMENTS";
/// The variable in which nextest names the test of a process.
pub(crate) const TEST: &str = "NEXTEST_TEST_NAME";

/// Tests of `tests/it` whose documents `members.rs` looks at.
pub(crate) const SOURCES: &[&str] = &[
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

/// Returns the directory for documents; `None` where nobody asks for those of this process.
fn directory() -> Option<PathBuf> {
    let directory = std::env::var_os(KEEP).map(PathBuf::from)?;
    let is_source = std::env::var(TEST).is_ok_and(|test| SOURCES.contains(&test.as_str()));
    (is_source || std::env::var_os(TEST).is_none()).then_some(directory)
}

/// Members by one of which a document shows what it is.
const MARKS: [&str; 3] = ["\"schemaVersion\"", "\"current_state\"", "\"predicateType\""];

/// Keeps a document if it shows what it is.
pub(crate) fn keep_document(bytes: &[u8]) {
    let Some(directory) = directory() else { return };
    let has = |mark: &str| bytes.windows(mark.len()).any(|window| window == mark.as_bytes());
    if bytes.starts_with(b"{") && MARKS.into_iter().any(has) {
        std::fs::write(directory.join(sha256(bytes)), bytes).unwrap();
    }
}

/// Keeps all documents below a directory.
pub(crate) fn keep_documents(below: &Path) {
    if directory().is_none() {
        return;
    }
    let mut pending = vec![below.to_owned()];
    while let Some(path) = pending.pop() {
        // A test may have taken the right to look.
        let Ok(entries) = std::fs::read_dir(&path) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_symlink() || path.ends_with(".git") {
                continue;
            }
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|ending| ending == "json") {
                std::fs::read(&path).iter().for_each(|bytes| keep_document(bytes));
            }
        }
    }
}
