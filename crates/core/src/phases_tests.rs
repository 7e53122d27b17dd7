//! The table of moves, cell by cell, and sequences of events.

use super::*;
use std::collections::BTreeSet;

/// The 18 edges of S001-9, each with the events that take it.
const EDGES: &str = "
idle awaiting_goal_entry Opened
awaiting_goal_entry awaiting_goal_entry Edited
awaiting_goal_entry launching GoalSubmitted
launching active Ready
active awaiting_coordinator PlanSubmitted
active paused_manual Paused
active transient_recovery TransientFailure
active idle Completed Stopped
awaiting_coordinator awaiting_diagnostics Approved
awaiting_coordinator paused_manual Rejected
awaiting_diagnostics awaiting_review ResultsReady
awaiting_review active Continued
awaiting_review paused_manual Held
paused_manual active Resumed
paused_manual awaiting_coordinator PlanSubmitted
transient_recovery active Retried
transient_recovery paused_manual RetriesExhausted
transient_recovery idle Stopped
";

fn target(phase: RunPhase, event: RunEvent) -> Option<&'static str> {
    EDGES.lines().find_map(|line| {
        let mut words = line.split(' ');
        let (from, to) = (words.next()?, words.next()?);
        (from == phase.as_str() && words.any(|word| word == format!("{event:?}"))).then_some(to)
    })
}

fn follow(phase: RunPhase, events: &[RunEvent]) -> RunPhase {
    events.iter().fold(phase, |phase, event| next(phase, *event).unwrap())
}

#[test]
fn every_cell_of_the_table_moves_or_is_refused_with_its_code() {
    let (mut moves, mut edges) = (0, BTreeSet::new());
    for phase in RunPhase::ALL {
        for event in RunEvent::ALL {
            match (target(*phase, *event), next(*phase, *event)) {
                (Some(expected), Ok(to)) => {
                    assert_eq!(to.as_str(), expected, "{phase} {event:?}");
                    moves += 1;
                    edges.insert((*phase, to));
                }
                (None, Err(refused)) => {
                    assert_eq!(refused, ForbiddenMove { phase: *phase, event: *event });
                    assert_eq!(refused.code().as_str(), "PHASE_MOVE_FORBIDDEN");
                }
                (expected, got) => panic!("{phase} {event:?}: {got:?}, expected {expected:?}"),
            }
        }
    }
    assert_eq!((RunPhase::ALL.len(), RunEvent::ALL.len(), moves, edges.len()), (9, 17, 19, 18));
}

#[test]
fn a_wait_leads_to_recovery_and_back_from_wherever_requests_are_sent() {
    for phase in RunPhase::ALL {
        let sends = [RunPhase::Active, RunPhase::AwaitingDiagnostics, RunPhase::AwaitingReview];
        let Some(Detour { there, back }) = detour(*phase) else {
            assert!(!sends.contains(phase), "{phase}");
            continue;
        };
        let waiting = follow(*phase, there);
        assert_eq!(waiting, RunPhase::TransientRecovery);
        assert_eq!(follow(waiting, back), *phase);
    }
}

#[test]
fn each_class_of_codes_has_its_end() {
    let running = [RunPhase::Active, RunPhase::AwaitingDiagnostics, RunPhase::AwaitingReview];
    for code in Code::ALL {
        for phase in RunPhase::ALL {
            let end = follow(*phase, way_out(*phase, *code));
            let is_stopped = code.is_withdrawn();
            if running.contains(phase) {
                let expected = match code.class() {
                    CodeClass::UserRecoverable => RunPhase::PausedManual,
                    CodeClass::Transient if !is_stopped => RunPhase::PausedManual,
                    CodeClass::Transient
                    | CodeClass::Notice
                    | CodeClass::Degradation
                    | CodeClass::Terminal => RunPhase::Idle,
                };
                assert_eq!(end, expected, "{phase} {code}");
            }
            if *phase == RunPhase::TransientRecovery {
                assert_eq!(end == RunPhase::Idle, is_stopped, "{code}");
            }
            if [RunPhase::AwaitingGoalEntry, RunPhase::Launching].contains(phase) {
                assert_eq!(end, *phase, "a fault of the settings ends the run where it is");
            }
        }
    }
}

/// A thousand random sequences of a hundred events: each event moves along an edge or changes nothing.
#[test]
fn random_events_never_leave_the_table() {
    let mut state: u64 = 42;
    let mut visited = BTreeSet::new();
    for _ in 0..1000 {
        let mut phase = RunPhase::Idle;
        for _ in 0..100 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let event = RunEvent::ALL[(state >> 33) as usize % RunEvent::ALL.len()];
            match (next(phase, event), target(phase, event)) {
                (Ok(to), Some(expected)) => {
                    assert_eq!(to.as_str(), expected);
                    phase = to;
                }
                (Err(_), None) => {}
                (got, expected) => panic!("{phase} {event:?}: {got:?}, expected {expected:?}"),
            }
            visited.insert(phase);
        }
    }
    assert_eq!(visited.len(), RunPhase::ALL.len());
}
