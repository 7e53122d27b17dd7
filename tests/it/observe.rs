//! The ledger of a pull request: printed in each format, refused where it was tampered with, and held against a run.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::parts::part;
use crate::support::{Repo, RunDir, change, conflict, qa_skill, runs_in};
use qa_contracts::ids::{CommitId, ExecutionKey, Sha256Hex};
use qa_contracts::v1::{Conclusion, ObserverLedger, ObserverMode};
use qa_core::canonical;
use qa_core::ledger::{JudgedFinding, JudgedTurn, append};

fn hex(number: u64) -> Sha256Hex {
    canonical::digest(&number).unwrap()
}

fn commit(number: u64) -> CommitId {
    CommitId::parse(&hex(number).as_str()[..40]).unwrap()
}

fn finding(number: u64) -> JudgedFinding {
    let lens = if number.is_multiple_of(2) { "shortcut" } else { "unit_tests" };
    JudgedFinding { finding_id: hex(number), lens_id: lens.to_owned(), blocking: true, touched: true }
}

/// The turn of a run directory, with findings of the test's own.
fn turn(run: &RunDir, findings: &[u64]) -> JudgedTurn {
    let (hashes, change_set) = (run.json("hashes.json"), run.json("change-set.json"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let member = |name: &str| CommitId::parse(&text(&change_set[name])).unwrap();
    JudgedTurn {
        repo_id: text(&run.json("input.normalized.json")["repoId"]),
        // A run of a terminal records no pull request.
        pull_request: None,
        // A run outside of the observer is one of everything.
        mode: ObserverMode::CrossCheck,
        base_sha: member("baseSha"),
        merge_bases: vec![member("mergeBaseSha")],
        head_sha: member("headSha"),
        execution_key: ExecutionKey::parse(&text(&hashes["executionKey"])).unwrap(),
        run_digest: Sha256Hex::parse(&text(&hashes["runDigest"])).unwrap(),
        conclusion: Conclusion::Fail,
        deferred: Default::default(),
        cost_micro_usd: Some(1500),
        findings: findings.iter().map(|number| finding(*number)).collect(),
        incomplete: Default::default(),
        due: true,
        has_diff: true,
        cooldown: 1,
    }
}

/// A pull request with thirteen turns before the one of a run.
fn story(run: &RunDir) -> ObserverLedger {
    let pushes: [&[u64]; 13] =
        [&[1, 2], &[2, 3], &[1, 3], &[3], &[3, 4], &[4], &[4], &[], &[4, 5], &[5, 6], &[6], &[6, 7], &[6]];
    let mut ledger = None;
    for (number, findings) in (1..).zip(pushes) {
        let mut turn = turn(run, findings);
        turn.head_sha = commit(number);
        (turn.execution_key, turn.run_digest) = (hex(number).into(), hex(number));
        match number {
            1 => turn.cost_micro_usd = None,
            2 => turn.conclusion = Conclusion::CouldNotComplete,
            8 => turn.conclusion = Conclusion::Pass,
            _ => {}
        }
        turn.mode = match number {
            1 => ObserverMode::Bootstrap,
            3 => ObserverMode::CrossCheck,
            _ => ObserverMode::Cadence,
        };
        if number == 10 {
            turn.deferred = ["gate:unit_tests", "review-security"].map(str::to_owned).into();
        }
        ledger = Some(append(ledger.as_ref(), &turn));
    }
    append(ledger.as_ref(), &turn(run, &[]))
}

/// A ledger of a pull request at its limit: more findings than are followed, merge bases and deferred plans than are listed.
fn crowded(run: &RunDir) -> ObserverLedger {
    let mut ledger = None;
    for number in 1..16 {
        let findings: Vec<u64> = (number * 10_000..number * 10_000 + 800).collect();
        let mut turn = turn(run, &findings);
        turn.mode = ObserverMode::Cadence;
        (turn.repo_id, turn.pull_request, turn.cooldown) = ("acme/shop".to_owned(), Some(7), 4);
        (turn.base_sha, turn.head_sha) = (commit(100), commit(number));
        turn.merge_bases = (100..109).map(commit).collect();
        turn.conclusion = if number == 1 { Conclusion::Pass } else { Conclusion::Fail };
        turn.cost_micro_usd = Some(number);
        turn.deferred = (0..40).map(|number| format!("review-{number}")).collect();
        if number == 15 {
            turn.incomplete.insert("shortcut".to_owned());
        }
        ledger = Some(append(ledger.as_ref(), &turn));
    }
    ledger.unwrap()
}

fn judged() -> Repo {
    let repo = change(&[("a.py", "a = 1\n")], &[("a.py", &format!("a = 2\n{}", conflict()))]);
    repo.judge().run().expect(1);
    repo
}

fn store(repo: &Repo, name: &str, ledger: &ObserverLedger) -> PathBuf {
    let mut bytes = canonical::to_vec(ledger).unwrap();
    bytes.push(b'\n');
    let path = repo.beside(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn observe(path: &PathBuf) -> crate::support::Program {
    qa_skill(["observe", "--ledger"]).arg(path)
}

#[test]
fn a_ledger_is_printed_as_a_table_as_itself_and_as_a_page() {
    let repo = judged();
    let run = repo.run_dir();
    for (name, ledger) in [("story.json", story(&run)), ("crowded.json", crowded(&run))] {
        let path = store(&repo, name, &ledger);
        let table = observe(&path).run().expect(0).text();
        for entry in &ledger.entries {
            let head = &entry.turn.head_sha.as_str()[..10];
            assert!(
                table.contains(&format!("{:>5} {:<11} {head} ", entry.turn.number, entry.turn.mode.as_str())),
                "{table}"
            );
        }
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        let json = observe(&path).args(["--format", "json"]).run().expect(0).stdout;
        assert_eq!(json, std::fs::read(&path).unwrap(), "the ledger itself");
        let page = observe(&path).args(["--format", "html"]).run().expect(0).text();
        assert!(page.starts_with("<!DOCTYPE html>") && page.contains("id=\"time-line\""), "{page}");
    }
    observe(&repo.beside("story.json")).args(["--format", "pdf"]).run().expect(2);
}

#[test]
fn a_ledger_that_is_missing_invalid_or_tampered_with_is_refused_by_its_code() {
    let repo = judged();
    let run = repo.run_dir();
    let path = store(&repo, "ledger.json", &story(&run));
    let good = std::fs::read_to_string(&path).unwrap();
    observe(&repo.beside("nowhere.json")).run().expect_code(3, "LEDGER_MISSING");
    observe(&repo.path()).run().expect_code(3, "LEDGER_INVALID");
    let pipe = repo.beside("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    observe(&pipe).run().expect_code(3, "LEDGER_INVALID");
    let turned = good.replace("\"conclusion\":\"fail\"", "\"conclusion\":\"pass\"");
    assert_ne!(turned, good);
    for (text, code) in [
        ("{}\n".to_owned(), "LEDGER_INVALID"),
        (good.replace("\"entries\"", "\"\\u202eentries\""), "LEDGER_INVALID"),
        (format!(" {good}"), "LEDGER_INVALID"),
        (" ".repeat(400_000), "LEDGER_INVALID"),
        (turned, "LEDGER_CHAIN_BROKEN"),
        (good.replace("\"compactedTurns\":4", "\"compactedTurns\":5"), "LEDGER_CHAIN_BROKEN"),
    ] {
        std::fs::write(&path, &text).unwrap();
        let refused = observe(&path).run().expect_code(3, code);
        assert!(refused.stdout.is_empty() && !refused.stderr.contains('\u{202e}'), "{}", refused.stderr);
        // A run does not verify with it either.
        run.verify().arg("--ledger").arg(&path).run().expect_code(3, code);
    }
}

#[test]
fn verify_holds_the_last_turn_of_a_ledger_against_the_run() {
    let repo = judged();
    let run = repo.run_dir();
    let ledger = story(&run);
    let path = store(&repo, "ledger.json", &ledger);
    let digest = &ledger.entries.last().unwrap().digest;
    let said = run.verify().arg("--ledger").arg(&path).run().expect(0).text();
    assert!(
        said.contains(&format!("ledger         the run is turn 14, whose digest is {digest}\n")),
        "{said}"
    );
    type Edit = fn(&mut JudgedTurn, CommitId);
    let differences: [(&str, Edit); 10] = [
        ("repository", |turn, _| turn.repo_id = "acme/other".to_owned()),
        ("pull request", |turn, _| turn.pull_request = Some(8)),
        ("execution key", |turn, _| turn.execution_key = hex(1).into()),
        ("run digest", |turn, _| turn.run_digest = hex(1)),
        ("base", |turn, other| turn.base_sha = other),
        ("merge base", |turn, other| turn.merge_bases.push(other)),
        ("head", |turn, other| turn.head_sha = other),
        ("mode", |turn, _| turn.mode = ObserverMode::Bootstrap),
        ("list of deferred plans", |turn, _| {
            turn.deferred.insert("review-security".to_owned());
        }),
        ("conclusion", |turn, _| turn.conclusion = Conclusion::Pass),
    ];
    for (name, edit) in differences {
        let mut other = turn(&run, &[]);
        edit(&mut other, commit(1));
        let path = store(&repo, "other.json", &append(None, &other));
        let refused = run.verify().arg("--ledger").arg(&path).run().expect_code(4, "EXPECTATION_UNMET");
        let message = format!("the {name} of turn 1 of the ledger is ");
        assert!(refused.stderr.contains(&message) && refused.stdout.is_empty(), "{}", refused.stderr);
    }
}

/// A ledger is made beside a run: it is no file of one, and a run's key and digest know nothing of it.
#[test]
fn a_ledger_among_the_runs_changes_no_run() {
    let repo = judged();
    let run = repo.run_dir();
    let (digest, name) = (run.run_digest(), run.0.clone());
    let ledger = story(&run);
    store(&repo, "out/runs/observer-ledger.json", &ledger);
    run.verify().run().expect(0);
    repo.judge().run().expect(1);
    assert_eq!(runs_in(&repo.beside("out")), [name]);
    assert_eq!(repo.run_dir().run_digest(), digest);
}

/// Opens a page in each width and colour scheme, with all its details, and prints the widths that its content takes.
const MEASURE: &str = "\
const [modules, executablePath, page] = process.argv.slice(1);
const { chromium } = require(`${modules}/playwright`);
(async () => {
  const browser = await chromium.launch({ executablePath });
  const widths = [];
  for (const width of [360, 1200]) for (const colorScheme of ['light', 'dark']) {
    const tab = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
    await tab.goto(`file://${page}`);
    widths.push(await tab.evaluate(() => {
      document.querySelectorAll('details').forEach((details) => { details.open = true; });
      const tables = [...document.querySelectorAll('.scroll')];
      const hidden = tables.filter((table) => table.scrollWidth > table.clientWidth).length;
      return [document.documentElement.scrollWidth, hidden];
    }));
  }
  await browser.close();
  console.log(JSON.stringify(widths));
})();
";

#[test]
fn the_page_has_nothing_to_scroll_sideways_on_a_narrow_screen() {
    let repo = judged();
    let run = repo.run_dir();
    for ledger in [story(&run), crowded(&run)] {
        let path = store(&repo, "ledger.json", &ledger);
        let page = repo.beside("page.html");
        std::fs::write(&page, observe(&path).args(["--format", "html"]).run().expect(0).stdout).unwrap();
        let Some(widths) = measured(&page) else { return };
        assert_eq!(widths, serde_json::json!([[360, 0], [360, 0], [1200, 0], [1200, 0]]));
    }
}

/// Returns for each width of a window what a page takes, and how many of its tables are wider than their place. `None` where
/// no browser is installed.
pub(crate) fn measured(page: &Path) -> Option<Value> {
    let modules = part("target/foreign/node/node_modules")?;
    let program = part("target/foreign/browser")?;
    let mut node = std::process::Command::new("node");
    let output = node.args(["-e", MEASURE]).arg(&modules).arg(&program).arg(page).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}
