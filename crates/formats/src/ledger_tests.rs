//! Tests of the table, with two ledgers that the page is tested with too: the life of a pull request, and one at its limit.

use super::*;
use crate::sample::HOSTILE;
use qa_contracts::ids::{CommitId, Sha256Hex};
use qa_contracts::v1::ObserverMode;
use qa_core::ledger::{JudgedFinding, JudgedTurn, append};

fn id(number: u64) -> Sha256Hex {
    Sha256Hex::parse(&format!("{number:064x}")).unwrap()
}

fn turn(head: u64, findings: &[u64]) -> JudgedTurn {
    let finding = |number: &u64| JudgedFinding {
        finding_id: id(*number),
        lens_id: if number.is_multiple_of(2) { "shortcut" } else { "unit_tests" }.to_owned(),
        blocking: !number.is_multiple_of(3),
        touched: true,
    };
    let commit = |number: u64| CommitId::parse(&format!("{number:040x}")).unwrap();
    JudgedTurn {
        repo_id: "acme/shop".to_owned(),
        pull_request: Some(7),
        mode: if head == 1 { ObserverMode::Bootstrap } else { ObserverMode::Cadence },
        base_sha: commit(1),
        merge_bases: vec![commit(1)],
        head_sha: commit(head + 15),
        execution_key: id(head).into(),
        run_digest: id(head),
        conclusion: if findings.is_empty() { Conclusion::Pass } else { Conclusion::Fail },
        deferred: ["gate:browser_tests", "review-security"].map(str::to_owned).into(),
        cost_micro_usd: Some(0),
        findings: findings.iter().map(finding).collect(),
        incomplete: Default::default(),
        due: true,
        has_diff: true,
        cooldown: 1,
    }
}

/// The life of a pull request with twelve pushes.
pub(crate) fn story() -> ObserverLedger {
    let pushes: [&[u64]; 12] =
        [&[1, 2], &[1, 2, 3], &[2, 3], &[2, 3], &[2, 4], &[4, 5], &[4], &[4], &[4], &[7, 9], &[9], &[]];
    let mut ledger = None;
    for (head, findings) in (1..).zip(pushes) {
        let mut turn = turn(head, findings);
        match head {
            6 => turn.conclusion = Conclusion::CouldNotComplete,
            10 => turn.cost_micro_usd = None,
            11 => turn.deferred.clear(),
            12 => {
                turn.deferred.clear();
                turn.mode = ObserverMode::CrossCheck;
                turn.cost_micro_usd = Some(12_300);
            }
            _ => {}
        }
        ledger = Some(append(ledger.as_ref(), &turn));
    }
    ledger.unwrap()
}

/// A ledger that is at its limit, with a hostile name.
pub(crate) fn crowded() -> ObserverLedger {
    let mut ledger = None;
    for head in 1..30 {
        let findings: Vec<u64> = (head * 10_000..head * 10_000 + 3000).collect();
        let mut turn = turn(head, &findings);
        turn.repo_id = HOSTILE.to_owned();
        turn.pull_request = None;
        turn.deferred = (0..60).map(|number| format!("review-{number}")).collect();
        ledger = Some(append(ledger.as_ref(), &turn));
    }
    ledger.unwrap()
}

#[test]
fn a_ledger_is_a_table_of_its_turns() {
    let expected = "\
ledger of acme/shop, pull request 7: PASS after 12 turns

 turn mode        head       verdict             new  open resolved deferred
      2 turns before these: 0 passed, 2 failed, 0 could not complete; 3 new, 0
      reopened, 0 resolved
    3 cadence     0000000000 fail                  0     2        1        2
      deferred: gate:browser_tests, review-security
      1 blocking finding still open after up to 3 turns that touched the file
";
    let text = text(&story());
    assert!(text.starts_with(expected), "{text}");
    assert!(
        text.contains("\n    6 cadence     0000000000 could not complete    1     2        1        2\n"),
        "{text}"
    );
    let end = "   12 cross-check 0000000000 pass                  0     0        1        0\n\n\
               cost of models: 0.0123 USD, unknown for 1 turn\n";
    assert!(text.ends_with(end), "{text}");
    assert!(
        text.contains("a person should look: 1 blocking finding still open after up to 4 turns"),
        "{text}"
    );
}

#[test]
fn no_line_of_the_table_is_wider_than_a_terminal_and_none_is_hostile() {
    for ledger in [story(), crowded()] {
        let text = text(&ledger);
        for line in text.lines() {
            let is_word = !line.trim().contains(' ');
            assert!(line.chars().count() <= WIDTH || is_word, "{line}");
            assert!(!line.starts_with("::") && !line.contains('\u{1b}'), "{line}");
        }
    }
    let text = text(&crowded());
    assert!(text.contains("and 28 more\n"), "{text}");
    assert!(text.contains("were removed to keep the ledger in its limit"), "{text}");
    assert!(text.contains("are counted and not listed"), "{text}");
}
