//! Tests of the observer's notes: guidance, attempts, and that nothing of a change is obeyed.

use super::*;
use crate::check_run::CheckReport;
use crate::sample::{self, Sample};
use qa_contracts::ids::{CommitId, RepoPath};
use qa_core::ledger::{JudgedTurn, append, incomplete_lenses, judged_findings};

/// Returns the ledger after some pushes that touched every file and left the findings of a sample.
fn ledger(sample: &Sample, mode: ObserverMode, pushes: u64) -> ObserverLedger {
    let results = &sample.result.lens_results;
    let files = results.iter().flat_map(|result| &result.findings).map(|finding| finding.file.clone());
    let touched = files.collect();
    let commit = |number: u64| CommitId::parse(&format!("{number:040x}")).unwrap();
    let id = Sha256Hex::parse(&"1".repeat(64)).unwrap();
    let turn = |number| JudgedTurn {
        repo_id: "acme/shop".to_owned(),
        pull_request: Some(7),
        mode: if number == pushes { mode } else { ObserverMode::Cadence },
        base_sha: commit(1000),
        merge_bases: vec![commit(1000)],
        head_sha: commit(number),
        execution_key: id.clone().into(),
        run_digest: id.clone(),
        conclusion: sample.result.final_verdict.conclusion,
        deferred: Default::default(),
        cost_micro_usd: None,
        findings: judged_findings(results, &touched),
        incomplete: incomplete_lenses(results),
        due: true,
        has_diff: true,
        cooldown: 1,
    };
    let first = append(None, &turn(1));
    (2..=pushes).fold(first, |ledger, number| append(Some(&ledger), &turn(number)))
}

fn notes(sample: &Sample, mode: ObserverMode, pushes: u64) -> ObserverNotes {
    ObserverNotes::new(&sample.report(false), &ledger(sample, mode, pushes), Some(3))
}

#[test]
fn a_failed_check_is_guided_and_another_is_not() {
    use ObserverMode::{Bootstrap, Cadence, CrossCheck};
    for (sample, mode, expected) in [
        (sample::fail(), Cadence, true),
        (sample::fail(), CrossCheck, true),
        (sample::fail(), Bootstrap, false),
        (sample::incomplete(), Cadence, true),
        (sample::pass(), Cadence, false),
        (sample::pass(), CrossCheck, false),
    ] {
        let notes = notes(&sample, mode, 1);
        let guides = |text: &str| text.contains("Observer guidance: ");
        let found = [&notes.text, &notes.markdown, &notes.guidance].map(|text| guides(text));
        assert_eq!(found, [expected; 3], "{mode} {}", notes.text);
        assert_eq!(notes.guidance.is_empty(), !expected);
    }
}

#[test]
fn guidance_names_place_title_and_fix_of_the_first_three() {
    let text = notes(&sample::fail(), ObserverMode::Cadence, 1).text;
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("Observer guidance: ")).unwrap();
    assert_eq!(
        lines[at + 1],
        "  - src/config.rs:13:20: a GitHub token is added. Fix: Revoke the token now, it is known to everyone who can read \
         this branch. Then read it from the environment."
    );
    assert_eq!(lines.len(), at + 3, "two block: {text}");

    let notes = notes(&sample::large(10, 400), ObserverMode::Cadence, 1);
    assert_eq!(notes.text.matches("  - ").count(), 3, "{}", notes.text);
    assert_eq!(notes.guidance.matches(',').count(), 2, "{}", notes.guidance);
}

#[test]
fn what_could_not_be_completed_is_guided_by_its_codes() {
    let notes = notes(&sample::incomplete(), ObserverMode::CrossCheck, 1);
    let hint = Code::ContextBoundExceeded.hint();
    assert!(notes.text.contains(&format!("  - CONTEXT_BOUND_EXCEEDED: {hint}\n")), "{}", notes.text);
    let codes = "CONTEXT_BOUND_EXCEEDED, CROSS_CHECK_FAILED, LENS_REQUIRED_FAILED";
    assert_eq!(notes.guidance, format!("Observer guidance: {codes}"));

    let mut waiting = sample::incomplete();
    waiting.result.final_verdict.error_codes = vec![Code::CadenceDeferred];
    assert_eq!(self::notes(&waiting, ObserverMode::Cadence, 1).guidance, "", "what waits is nothing to mend");
}

#[test]
fn findings_that_attempts_left_open_are_named_from_the_second_on() {
    let sample = sample::fail();
    let told = |pushes| notes(&sample, ObserverMode::Cadence, pushes).text;
    assert!(!told(1).contains("attempts"), "{}", told(1));
    assert!(told(2).contains("a GitHub token is added (open after two attempts). Fix: "), "{}", told(2));
    assert!(!told(2).contains("a person should look"), "{}", told(2));
    assert!(told(4).contains("(open after four attempts)"), "{}", told(4));
    assert!(told(4).contains("The same findings stay open: a person should look."), "{}", told(4));

    // Beyond the first three, and without guidance, they have a list of their own.
    let many = notes(&sample::large(10, 400), ObserverMode::Cadence, 2).text;
    let list = many.split_once("Observer: attempts left these findings open.\n").unwrap().1;
    assert_eq!(list.matches("(open after two attempts)\n").count(), 3, "{list}");
    assert!(list.ends_with(" more findings\n"), "{list}");
    let bootstrap = notes(&sample, ObserverMode::Bootstrap, 2).text;
    assert!(bootstrap.contains("a GitHub token is added (open after two attempts)\n"), "{bootstrap}");
}

#[test]
fn the_update_is_the_first_line_where_its_window_ends() {
    let sample = sample::fail();
    for (pushes, expected) in [(1, false), (2, false), (3, true), (4, false), (6, true)] {
        let notes = notes(&sample, ObserverMode::Cadence, pushes);
        assert_eq!(notes.text.starts_with("QA update, turns "), expected, "{pushes}: {}", notes.text);
        assert_eq!(notes.qa_update.is_empty(), !expected);
        let update = markdown(&notes.qa_update);
        assert!(notes.markdown.starts_with(&update), "{}", notes.markdown);
    }
    let text = notes(&sample::pass(), ObserverMode::CrossCheck, 3).text;
    let lines: Vec<&str> = text.lines().take(2).collect();
    assert!(lines[0].starts_with("QA update") && lines[1] == "Cross-check successful.", "{text}");
}

#[test]
fn texts_of_a_change_are_neither_markup_nor_commands_and_short() {
    let mut sample = sample::fail();
    for finding in sample.result.lens_results.iter_mut().flat_map(|result| &mut result.findings) {
        (finding.summary, finding.fix) = (sample::HOSTILE.repeat(40), sample::HOSTILE.repeat(40));
        finding.file = RepoPath::from_bytes(sample::HOSTILE_PATH.as_bytes()).unwrap();
    }
    let notes = notes(&sample, ObserverMode::Cadence, 3);
    for bad in ["\n::", "##[", "\u{1b}", "\u{202e}", "\u{9b}", "\u{200b}"] {
        assert!(!notes.text.contains(bad) && !notes.markdown.contains(bad), "{bad:?}: {}", notes.text);
    }
    for bad in ["<script", "](http", "![", " @team", "#1"] {
        assert!(!notes.markdown.contains(bad), "{bad}: {}", notes.markdown);
    }
    for output in [&notes.qa_update, &notes.review_request, &notes.guidance] {
        assert!(!output.is_empty() && output.len() < 1500, "{output}");
        assert!(!output.contains(|sign: char| "`$\"'\\;|&<>(){}!*?~#%\n".contains(sign)), "{output}");
    }
    assert!(notes.markdown.len() < 8000, "{}", notes.markdown.len());

    let check = CheckReport::with_notes(&sample.report(false), &notes.markdown);
    assert!(check.summary.starts_with(&notes.markdown), "{}", check.summary);
    let large = sample::large(300, 3000);
    let check = CheckReport::with_notes(&large.report(false), &"x".repeat(8000));
    assert!(check.summary.len() < 65_535, "{}", check.summary.len());
    assert_eq!(CheckReport::with_notes(&large.report(false), ""), CheckReport::new(&large.report(false)));
}
