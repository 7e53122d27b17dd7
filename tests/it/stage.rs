//! The stage of a run: with `--stage reviews` reviews decide beside rules, and no gate is judged.

use serde_json::{Value, json};

use crate::support::answers::CHAT;
use crate::support::reviews::{self, findings, reviewing};
use crate::support::{Outcome, Repo, RunDir, Server, conflict, qa_skill, repair, tamper};

/// A gate without a report, which a run of the whole policy does not pass.
const GATE: &str = "[gates.unit_tests]\nreports = [{ tool = \"pytest\", path = \"reports/junit.xml\" }]\n";

fn without_findings() -> Server {
    Server::start(|_| findings(CHAT, &[]))
}

/// A change that a model reviews beside a gate. `settings` are those of the review.
fn reviewed(top: &str, settings: &str, model: &Server) -> Repo {
    let policy = format!("{top}\n{GATE}{}", reviewing(CHAT, &model.url(), settings));
    reviews::repository(&policy, &[("app.py", reviews::FAULT)])
}

fn judge(repo: &Repo, options: &[&str], out: &str) -> Outcome {
    let program = reviews::run(repo).without("--out").without(repo.beside("out").to_str().unwrap());
    options.iter().fold(program.arg("--out").arg(repo.beside(out)), |program, word| program.arg(word)).run()
}

fn run_in(repo: &Repo, out: &str) -> RunDir {
    RunDir::only(&repo.beside(out))
}

/// Derives a run again from its recording and from the repository.
fn replays(run: &RunDir, repo: &Repo) -> String {
    run.verify().run().expect(0);
    run.verify().args(["--repo", repo.path().to_str().unwrap()]).run().expect(0).text()
}

fn lens_ids(run: &RunDir) -> Vec<Value> {
    let plans = run.json("lens-plan.json");
    plans["lensPlans"].as_array().unwrap().iter().map(|plan| plan["lensId"].clone()).collect()
}

#[test]
fn a_stage_for_reviews_plans_no_gate_and_requires_every_review() {
    let model = without_findings();
    for top in ["mode = \"best_effort\"", "mode = \"strict\""] {
        let repo = reviewed(top, "required = false", &model);
        judge(&repo, &[], "whole").expect(3);
        assert!(lens_ids(&run_in(&repo, "whole")).contains(&json!("unit_tests")));
        judge(&repo, &["--stage", "reviews"], "stage").expect(0);
        let run = run_in(&repo, "stage");
        assert!(!lens_ids(&run).contains(&json!("unit_tests")));
        let required = run.json("final-verdict.json")["requiredLensIds"].clone();
        assert!(required.as_array().unwrap().contains(&json!("review-security")), "{required}");
        assert_eq!(run.json("input.normalized.json")["overrides"]["stage"], "reviews");
        assert_eq!(run.json("trace.json")["configPreimage"]["overrides"]["stage"], "reviews");
        let levels = &run.json("statement.intoto.json")["predicate"]["verifiedLevels"];
        assert_eq!(levels, &json!(["urn:qa-skill:level:rules", "urn:qa-skill:level:reviews"]));
        let said = replays(&run, &repo);
        assert!(said.contains("stage=reviews"), "{said}");

        // Without its reply an optional review passes in no mode.
        let outcome = judge(&repo, &["--stage", "reviews", "--no-model"], "unanswered").expect(3);
        assert!(outcome.text().contains("LENS_REQUIRED_FAILED"), "{}", outcome.text());
        replays(&run_in(&repo, "unanswered"), &repo);
    }
}

#[test]
fn a_stage_for_reviews_fails_by_rules_and_by_reviews_and_never_passes_without_one() {
    let model = Server::start(|_| findings(CHAT, &[reviews::finding()]));
    let blocking = "[rules.\"review-security/injection\"]\nstrength = \"block\"\n";
    let repo = reviewed("", &format!("required = false\n{blocking}"), &model);
    judge(&repo, &["--stage", "reviews"], "found").expect(1);
    replays(&run_in(&repo, "found"), &repo);

    let policy = reviewing(CHAT, &without_findings().url(), "required = false");
    let repo = reviews::repository(&policy, &[("app.py", &conflict())]);
    judge(&repo, &["--stage", "reviews", "--no-model"], "rule").expect(1);

    for policy in [
        "",
        "[lenses.review-security]\nenabled = false\nmodel = \"review\"\n[models.review]\nprovider = \"openai-codex\"\nmodel = \"gpt-4.1-2025-04-14\"\n",
    ] {
        let repo = reviews::repository(policy, &[("app.py", reviews::FAULT)]);
        judge(&repo, &[], "whole").expect(0);
        let outcome = judge(&repo, &["--stage", "reviews"], "stage").expect(3);
        assert!(outcome.text().contains("the policy of the base enables none"), "{}", outcome.text());
        replays(&run_in(&repo, "stage"), &repo);
    }
}

#[test]
fn a_recorded_stage_that_was_edited_is_no_proof() {
    let model = without_findings();
    let repo = reviewed("mode = \"best_effort\"", "required = false", &model);
    judge(&repo, &["--stage", "reviews"], "stage").expect(0);
    let run = run_in(&repo, "stage");
    for (file, pointer) in
        [("input.normalized.json", "/overrides"), ("trace.json", "/configPreimage/overrides")]
    {
        let copy = run.copy_to(&repo.beside("edited"));
        tamper(&copy, file, pointer, json!({"mode": null, "preset": null}));
        repair(&copy, false);
        copy.verify().run().expect(4);
        std::fs::remove_dir_all(&copy.0).unwrap();
    }
}

#[test]
fn the_stage_is_an_option_of_whatever_plans_a_run() {
    let model = without_findings();
    let repo = reviewed("mode = \"best_effort\"", "required = false", &model);
    let sides = ["--base", "main", "--head", "topic", "--stage", "reviews"];
    let words = |command: &str| {
        let program = qa_skill([command, "--repo"]).arg(repo.path()).env("OPENAI_API_KEY", reviews::KEY);
        sides.iter().fold(program, |program, word| program.arg(word))
    };
    let plans = words("plan").run().expect(0).text();
    assert!(plans.contains("review-security") && !plans.contains("unit_tests"), "{plans}");
    let parts = repo.beside("parts");
    words("run").args(["--shard", "1/1", "--out"]).arg(&parts).run().expect(0);
    let joined = repo.beside("joined");
    words("aggregate").arg("--parts").arg(&parts).arg("--out").arg(&joined).run().expect(0);
    let whole = repo.beside("whole");
    words("run").arg("--out").arg(&whole).run().expect(0);
    let digests = [&joined, &whole].map(|root| RunDir::only(root).run_digest());
    assert_eq!(digests[0], digests[1]);

    // The document of the run judges the same stage, and no other option chooses another one.
    let input = RunDir::only(&whole).path("input.normalized.json");
    let program = qa_skill(["run", "--repo"]).arg(repo.path()).env("OPENAI_API_KEY", reviews::KEY);
    program.arg("--input").arg(&input).arg("--out").arg(repo.beside("again")).run().expect(0);
    assert_eq!(run_in(&repo, "again").run_digest(), digests[0]);
    words("run").arg("--input").arg(&input).run().expect(2);
}
