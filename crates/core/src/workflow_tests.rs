//! Every pair of phases, every event in every phase, and random sequences of events.

use super::*;
use WorkflowPhase::{Complete, Dev, DevFeedback, DevReady, Initializer, Qa, QaPassed, QaReady, Start};
use proptest::prelude::*;

const NOW: &str = "2025-12-07T10:30:00Z";

const EVENTS: [WorkflowEvent; 8] = [
    WorkflowEvent::FeaturesListed,
    WorkflowEvent::Push,
    WorkflowEvent::PullRequest,
    WorkflowEvent::DraftPullRequest,
    WorkflowEvent::Verdict(QaStatus::Passed),
    WorkflowEvent::Verdict(QaStatus::Failed),
    WorkflowEvent::Verdict(QaStatus::Error),
    WorkflowEvent::AllFeaturesPass,
];

fn at(phase: WorkflowPhase) -> WorkflowState {
    WorkflowState { current_state: phase, next_agent: agent(phase), qa_retries: 2, ..start(NOW) }
}

#[test]
fn of_all_81_pairs_of_phases_eleven_are_steps_and_the_others_errors_that_name_both() {
    let legal = [
        (Start, Initializer),
        (Initializer, DevReady),
        (DevReady, Dev),
        (Dev, QaReady),
        (QaReady, Qa),
        (Qa, QaPassed),
        (Qa, DevFeedback),
        (QaPassed, DevReady),
        (QaPassed, Complete),
        (DevFeedback, Dev),
        (Complete, DevReady),
    ];
    let mut pairs = 0;
    for &from in WorkflowPhase::ALL {
        for &to in WorkflowPhase::ALL {
            pairs += 1;
            let moved = transition(&at(from), to, NOW, WorkflowTrigger::Push);
            if legal.contains(&(from, to)) {
                let moved = moved.unwrap();
                assert_eq!((moved.current_state, moved.next_agent), (to, agent(to)));
                let step = WorkflowStep {
                    from,
                    to,
                    timestamp: NOW.to_owned(),
                    triggered_by: Some(WorkflowTrigger::Push),
                };
                assert_eq!(moved.history, [step]);
            } else {
                let error = moved.unwrap_err();
                assert_eq!(error.to_string(), format!("the workflow does not go from {from} to {to}"));
                assert_eq!(error.code(), Code::WorkflowInvalidTransition);
            }
        }
    }
    assert_eq!(pairs, 81);
}

#[test]
fn each_phase_has_its_agent() {
    let agents: Vec<&str> = WorkflowPhase::ALL.iter().map(|phase| agent(*phase).as_str()).collect();
    assert_eq!(agents, ["initializer", "initializer", "dev", "dev", "qa", "qa", "dev", "dev", "dev"]);
}

#[test]
fn an_event_leads_through_these_phases_and_no_others() {
    use WorkflowEvent::{AllFeaturesPass, DraftPullRequest, FeaturesListed, PullRequest, Push, Verdict};
    // Phases that each event leads through, from each phase in the order of the contract; `!` is an error.
    let table: [(WorkflowEvent, [&str; 9]); 8] = [
        (FeaturesListed, ["INITIALIZER DEV_READY", "DEV_READY", "", "", "", "", "", "", ""]),
        (
            Push,
            [
                "INITIALIZER DEV_READY DEV QA_READY",
                "DEV_READY DEV QA_READY",
                "DEV QA_READY",
                "QA_READY",
                "",
                "",
                "DEV_READY DEV QA_READY",
                "DEV QA_READY",
                "DEV_READY DEV QA_READY",
            ],
        ),
        (
            PullRequest,
            [
                "INITIALIZER DEV_READY DEV QA_READY",
                "DEV_READY DEV QA_READY",
                "DEV QA_READY",
                "QA_READY",
                "",
                "",
                "DEV_READY DEV QA_READY",
                "DEV QA_READY",
                "DEV_READY DEV QA_READY",
            ],
        ),
        (
            DraftPullRequest,
            [
                "INITIALIZER DEV_READY DEV",
                "DEV_READY DEV",
                "DEV",
                "",
                "",
                "",
                "DEV_READY DEV",
                "DEV",
                "DEV_READY DEV",
            ],
        ),
        (Verdict(QaStatus::Passed), ["!", "!", "!", "!", "QA QA_PASSED", "QA_PASSED", "", "!", "!"]),
        (Verdict(QaStatus::Failed), ["!", "!", "!", "!", "QA DEV_FEEDBACK", "DEV_FEEDBACK", "!", "", "!"]),
        (Verdict(QaStatus::Error), ["!", "!", "!", "!", "QA", "", "!", "!", "!"]),
        (AllFeaturesPass, ["!", "!", "!", "!", "!", "!", "COMPLETE", "!", ""]),
    ];
    for (event, expected) in table {
        for (phase, expected) in WorkflowPhase::ALL.iter().zip(expected) {
            let found = derive(*phase, event).map_or("!".to_owned(), |steps| {
                steps.iter().map(|step| step.as_str()).collect::<Vec<_>>().join(" ")
            });
            assert_eq!(found, expected, "{event:?} in {phase}");
        }
    }
}

#[test]
fn retries_count_until_qa_passes_or_the_feature_changes() {
    let mut state = choose(start(NOW), 42);
    let mut seen = Vec::new();
    let failed = [WorkflowEvent::Push, WorkflowEvent::Verdict(QaStatus::Failed)];
    let passed = [WorkflowEvent::Push, WorkflowEvent::Verdict(QaStatus::Passed)];
    for round in [failed, failed, passed, failed] {
        for event in round {
            state = advance(&state, event, NOW).unwrap();
        }
        seen.push(state.qa_retries);
    }
    assert_eq!(seen, [1, 2, 0, 1]);
    assert_eq!(choose(state.clone(), 42).qa_retries, 1);
    assert_eq!(choose(state, 43).qa_retries, 0);
}

#[test]
fn a_push_after_a_pass_leaves_the_whole_chain_with_what_triggered_it() {
    let passed = advance(&at(Qa), WorkflowEvent::Verdict(QaStatus::Passed), NOW).unwrap();
    let later = "2025-12-08T00:00:00Z";
    let pushed = advance(&passed, WorkflowEvent::Push, later).unwrap();
    let chain: Vec<_> = pushed.history[1..]
        .iter()
        .map(|step| (step.from, step.to, step.timestamp.as_str(), step.triggered_by))
        .collect();
    let push = Some(WorkflowTrigger::Push);
    assert_eq!(
        chain,
        [(QaPassed, DevReady, later, push), (DevReady, Dev, later, push), (Dev, QaReady, later, push)]
    );
    assert_eq!((pushed.last_transition.as_str(), pushed.next_agent), (later, WorkflowAgent::Qa));
}

#[test]
fn the_example_of_the_contract_is_read_and_written_as_it_is() {
    let example = r#"{"current_state":"QA_READY","next_agent":"qa","current_feature_id":42,"qa_retries":0,"last_transition":"2025-12-07T10:30:00Z","history":[{"from":"DEV","to":"QA_READY","timestamp":"2025-12-07T10:30:00Z"}]}"#;
    let state = parse_state(example.as_bytes()).unwrap();
    assert_eq!(serde_json::to_string(&state).unwrap(), example);
    assert_eq!(parse_state(&serde_json::to_vec(&start(NOW)).unwrap()).unwrap(), start(NOW));
}

#[test]
fn a_state_that_no_steps_lead_to_is_refused() {
    let state = |phase: &str, agent: &str, history: &str| {
        format!(
            r#"{{"current_state":"{phase}","next_agent":"{agent}","current_feature_id":null,"qa_retries":0,"last_transition":"","history":[{history}]}}"#
        )
    };
    let step = |from: &str, to: &str| format!(r#"{{"from":"{from}","to":"{to}","timestamp":""}}"#);
    let cases = [
        (state("QA", "dev", ""), "/next_agent: in QA it is qa and not dev"),
        (state("QA_PASSED", "dev", ""), "/history: nothing leads to QA_PASSED"),
        (state("COMPLETE", "dev", ""), "/history: nothing leads to COMPLETE"),
        (
            state("QA_PASSED", "dev", &step("DEV", "QA_PASSED")),
            "/history/0: the workflow does not go from DEV to QA_PASSED",
        ),
        (
            state("QA_PASSED", "dev", &step("DEV", "QA_READY")),
            "/history/0: it leads to QA_READY, and what follows begins at QA_PASSED",
        ),
        (state("DONE", "dev", ""), "/current_state: "),
        (state("QA", "qa", "").replace("\"qa_retries\":0", "\"qa_retries\":-1"), "/qa_retries: "),
        (state("QA", "qa", "").replace("{\"cur", "{\"note\":1,\"cur"), ": "),
        (
            state("QA", "qa", "").replace("{\"cur", "{\"qa_retries\":1,\"cur"),
            "key \"qa_retries\" appears twice",
        ),
        ("[]".to_owned(), ": "),
        (String::new(), "EOF"),
    ];
    for (text, expected) in cases {
        let error = parse_state(text.as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error} for {text}");
        assert_eq!(error.code(), Code::WorkflowStateInvalid);
    }
}

#[test]
fn a_report_says_what_its_gates_say_or_it_is_refused() {
    let report = |status: &str, gates: &str| {
        format!(r#"{{"feature_id":42,"status":{status},"gates":{gates},"summary":"1 of 2 gates passed"}}"#)
    };
    let cases = [
        (r#""PASSED""#, r#"{"lint":{"passed":true},"unit_tests":{"passed":true}}"#, Ok(QaStatus::Passed)),
        (r#""FAILED""#, r#"{"lint":{"passed":true},"unit_tests":{"passed":false}}"#, Ok(QaStatus::Failed)),
        (r#""ERROR""#, "{}", Ok(QaStatus::Error)),
        (r#""PASSED""#, "{}", Err("/status: it says something else than the gates")),
        (
            r#""PASSED""#,
            r#"{"lint":{"passed":false}}"#,
            Err("/status: it says something else than the gates"),
        ),
        (
            r#""PASSED""#,
            r#"{"lint":{"passed":"true"}}"#,
            Err("/status: it says something else than the gates"),
        ),
        (r#""PASSED""#, r#"{"lint":{}}"#, Err("/status: it says something else than the gates")),
        // Another lens fails the run.
        (r#""FAILED""#, r#"{"lint":{"passed":true}}"#, Ok(QaStatus::Failed)),
        (r#""passed""#, r#"{"lint":{"passed":true}}"#, Err("/status: it is not PASSED, FAILED or ERROR")),
        ("null", "{}", Err("/status: it is not PASSED, FAILED or ERROR")),
        (r#""FAILED""#, "[]", Err("/gates: it is not an object")),
    ];
    for (status, gates, expected) in cases {
        let found = parse_report(report(status, gates).as_bytes());
        let found = found.map(|said| (said.status, said.feature_id)).map_err(|error| error.to_string());
        assert_eq!(
            found,
            expected.map(|verdict| (verdict, Some(42))).map_err(str::to_owned),
            "{status} {gates}"
        );
    }
    for text in ["", "null", "{\"status\":\"ERROR\",\"status\":\"PASSED\",\"gates\":{}}"] {
        assert!(parse_report(text.as_bytes()).is_err(), "{text}");
    }
    let other_id = report(r#""ERROR""#, "{}").replace("42", "4.5");
    assert!(parse_report(other_id.as_bytes()).is_err());
}

#[test]
fn a_time_is_written_in_utc() {
    assert_eq!(crate::calendar::timestamp(1_765_103_400), NOW);
}

proptest! {
    #[test]
    fn no_sequence_of_events_leaves_the_table_or_passes_without_a_verdict(
        events in prop::collection::vec(0..EVENTS.len(), 0..40),
    ) {
        let mut state = start(NOW);
        for event in events.into_iter().map(|index| EVENTS[index]) {
            let Ok(next) = advance(&state, event, NOW) else { continue };
            if next.current_state == QaPassed && state.current_state != QaPassed {
                prop_assert_eq!(event, WorkflowEvent::Verdict(QaStatus::Passed));
            }
            if state.current_state == Complete && next != state {
                prop_assert_eq!(next.history[state.history.len()].to, DevReady);
            }
            prop_assert!(next.history.starts_with(&state.history));
            // Reading holds the whole history to the table.
            prop_assert_eq!(&parse_state(&serde_json::to_vec(&next).unwrap()).unwrap(), &next);
            state = next;
        }
    }
}
