//! Drives whose turns a model plans, on loopback: it chooses among what is offered, and whatever it answers, the gate decides.

use std::collections::VecDeque;
use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::drive::{Scene, end_reason};
use crate::support::answers::{SURFACES, answer, policy};
use crate::support::reviews::{KEY, has_no_key, packet};
use crate::support::server::Request;
use crate::support::{Program, Response, Server, change, qa_skill, token};

const PRODUCT: &str = "def add(a, b):\n    return a + b\n";
const FAULT: &str = "def add(a, b):\n    breakpoint()\n    return a + b\n";
/// A script that mends the first finding of its envelope.
const MEND_FIRST: &str = "cat >&2\nfile=$(grep -o '\"file\":\"[^\"]*\"' $QA_SKILL_ENVELOPE | head -1 | cut -d'\"' -f4)\n\
                          sed -i /breakpoint/d $file";

/// A model that answers questions about plans with one text after another, and about edits by the file that they are about.
fn model(surface: &str, plans: &[String]) -> Server {
    let (surface, left) = (surface.to_owned(), Arc::new(Mutex::new(VecDeque::from(plans.to_vec()))));
    Server::start(move |request| {
        if !is_about_plan(request) {
            return Response::json(200, &answer(&surface, &mend(&packet(request))));
        }
        let mut left = left.lock().unwrap();
        let text = if left.len() > 1 { left.pop_front().unwrap() } else { left[0].clone() };
        match text.strip_prefix("status ") {
            Some(status) => Response::json(status.parse().unwrap(), &json!({"error": {"message": "no"}})),
            None => Response::json(200, &answer(&surface, &text)),
        }
    })
}

fn is_about_plan(request: &Request) -> bool {
    String::from_utf8_lossy(&request.body).contains("You plan the next turn")
}

/// Removes the debugger statement of the file that a question shows.
fn mend(packet: &str) -> String {
    let path = packet.lines().find_map(|line| line.strip_prefix("file: ")).unwrap();
    let edit = json!({"kind": "replace", "path": path, "find": "    breakpoint()\n", "text": ""});
    json!({"edits": [edit], "outcome": "done", "summary": format!("Mended {path}.")}).to_string()
}

fn plan(tasks: &[&str], finished: bool) -> String {
    let mut plan = json!({
        "action": format!("Mend {}.", tasks.join(" and ")), "expected": "It is gone.", "finished": finished,
        "reasoning": "<b>It</b> comes first.", "tasks": tasks,
    });
    if tasks.is_empty() {
        plan.as_object_mut().unwrap().remove("tasks");
    }
    plan.to_string()
}

fn settings(surface: &str, model: &Server, more: &str) -> String {
    let model = policy(surface, &model.url(), "");
    format!("preset = \"guarded\"\n[drive]\nmodel = \"review\"\ncoordinator = \"review\"\n{more}\n{model}")
}

/// A change with a debugger statement in each of two files, and a program as agent.
fn scene(policy: &str, script: &str) -> Scene {
    let base = [(".qa-skill/policy.toml", policy), ("src/a.py", PRODUCT), ("src/b.py", PRODUCT)];
    let head = [base[0], ("src/a.py", FAULT), ("src/b.py", FAULT), ("src/c.py", "VALUE = 1\n")];
    Scene::of(&base, &head, script)
}

/// A change that passes, whose drive has a goal.
fn goal_scene(policy: &str, script: &str) -> Scene {
    let base = [(".qa-skill/policy.toml", policy), ("src/a.py", PRODUCT)];
    Scene::of(&base, &[base[0], base[1], ("src/c.py", "VALUE = 1\n")], script)
}

fn with_key(program: Program) -> Program {
    program.env("OPENAI_API_KEY", KEY).env("ANTHROPIC_API_KEY", KEY)
}

/// The drive whose edits the model gives as well.
fn drive_with_model(scene: &Scene) -> Program {
    let program =
        qa_skill(["drive", "--fix", "--base", "main", "--head", "topic", "--agent", "builtin:model"]);
    with_key(program.arg("--repo").arg(scene.repo.path()).arg("--out").arg(scene.repo.beside("out")))
}

/// The files of the findings that each turn was about.
fn files(session: &Value) -> Vec<Vec<&str>> {
    let tasks = session["bootstrap"]["tasks"].as_array().unwrap();
    let file = |id: &Value| {
        let task = tasks.iter().find(|task| task["findingId"] == *id).unwrap();
        task["file"].as_str().unwrap()
    };
    let turns = session["turns"].as_array().unwrap().iter();
    turns.map(|turn| turn["tasks"].as_array().unwrap().iter().map(file).collect()).collect()
}

fn bases(session: &Value) -> Vec<&str> {
    let turns = session["turns"].as_array().unwrap().iter();
    turns.map(|turn| turn["plan"]["basis"].as_str().unwrap()).collect()
}

fn asked(model: &Server, is_plan: bool) -> Vec<Request> {
    model.requests().into_iter().filter(|request| is_about_plan(request) == is_plan).collect()
}

#[test]
fn a_model_plans_turns_in_every_dialect_and_the_plan_is_shown() {
    for surface in SURFACES {
        let model = model(surface, &[plan(&["finding-02"], false), plan(&["finding-01"], false)]);
        let scene = scene(&settings(surface, &model, ""), "exit 9");
        let outcome = drive_with_model(&scene).run().expect(0);
        has_no_key(&outcome, &scene.repo.beside("out"));
        let session = scene.session();
        assert_eq!(end_reason(&session), "passed");
        assert_eq!(files(&session), [["src/b.py"], ["src/a.py"]]);
        assert_eq!(bases(&session), ["answer", "answer"]);
        scene.verify().args(["--expect", "pass"]).run().expect(0);
        let about_plans = asked(&model, true);
        assert_eq!((about_plans.len(), asked(&model, false).len()), (2, 2));
        let second = packet(&about_plans[1]);
        assert!(
            second.contains("turn 1: accepted, 1 findings") && second.contains("Mended src/b.py."),
            "{second}"
        );
        let edits = packet(&asked(&model, false)[0]);
        assert!(
            edits.contains("plan, which allows nothing: Mend finding-02. Expected: It is gone."),
            "{edits}"
        );
        for turn in session["turns"].as_array().unwrap() {
            assert!(turn["plan"]["costMicroUsd"].as_u64().unwrap() > 0, "{turn}");
            assert_eq!(turn["plan"]["tokens"], json!({"input": 1000, "output": 100}));
            assert_eq!(turn["tokens"], json!({"input": 1000, "output": 100}));
        }
        let line = "plan: by review, 1 finding: Mend finding-02. Expected: It is gone.\n";
        assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
        let status = scene.status().expect(0).text();
        assert!(status.contains("models: 2 plans with review, 0 by the rule; 4000 tokens sent"), "{status}");
        let show = |format: &str| {
            let program = qa_skill(["drive", "--status"]).arg(scene.directory()).args(["--format", format]);
            program.run().expect(0).text()
        };
        let (markdown, page) = (show("markdown"), show("html"));
        assert!(markdown.contains("planned by review, 1 finding: Mend finding\\-02."), "{markdown}");
        assert!(markdown.contains("- Models: 2 plans with review, 0 by the rule"), "{markdown}");
        assert!(
            page.contains("<dt>Planned</dt>") && page.contains("&lt;b&gt;It&lt;/b&gt; comes first."),
            "{page}"
        );
    }
}

#[test]
fn a_plan_that_is_none_leaves_the_choice_to_the_rule_and_widens_nothing() {
    let widens = |member: &str, value: Value| {
        let mut widened: Value = serde_json::from_str(&plan(&["finding-01"], false)).unwrap();
        widened[member] = value;
        widened.to_string()
    };
    for (text, basis) in [
        ("I would begin with the tests.".to_owned(), "answer_invalid"),
        (String::new(), "answer_invalid"),
        (plan(&["finding-03"], false), "answer_invalid"),
        (widens("writable", json!(["**"])), "answer_invalid"),
        (widens("command", json!("rm -r .github")), "answer_invalid"),
        ("status 400".to_owned(), "request_failed"),
    ] {
        let model = model(SURFACES[0], std::slice::from_ref(&text));
        let scene = scene(&settings(SURFACES[0], &model, ""), "sed -i /breakpoint/d src/a.py src/b.py");
        let outcome = with_key(scene.drive(&["--fix"])).run().expect(0);
        assert!(outcome.stderr.contains("plan: by the rule and not by review: "), "{}", outcome.stderr);
        let session = scene.session();
        assert_eq!(
            (bases(&session), files(&session)),
            (vec![basis], vec![vec!["src/a.py", "src/b.py"]]),
            "{text}"
        );
        has_no_key(&outcome, &scene.repo.beside("out"));
        scene.verify().args(["--expect", "pass"]).run().expect(0);
    }
}

#[test]
fn a_plan_is_asked_for_only_where_the_money_that_is_left_covers_it() {
    let model = model(SURFACES[0], &[plan(&["finding-02"], false)]);
    let policy = settings(SURFACES[0], &model, "max-cost-micro-usd = 10");
    let scene = scene(&policy, "sed -i /breakpoint/d src/a.py src/b.py");
    with_key(scene.drive(&["--fix"])).run().expect(0);
    assert_eq!((bases(&scene.session()), model.requests().len()), (vec!["no_money"], 0));
    scene.verify().run().expect(0);
    // Without a bound there is money for every question.
    let mut edited = scene.session();
    edited["start"]["limits"]["maxCostMicroUsd"] = Value::Null;
    scene.write_session(&edited);
    scene.verify().run().expect_code(4, "DETERMINISM_DRIFT_DETECTED");

    fs::remove_dir_all(scene.repo.beside("out")).unwrap();
    drive_with_model(&scene).run().expect(1);
    assert_eq!(end_reason(&scene.session()), "cost");
    assert_eq!(model.requests().len(), 0);
    scene.verify().run().expect(0);
}

#[test]
fn a_drive_that_was_killed_after_its_plan_was_stored_asks_for_no_other() {
    let model = model(SURFACES[0], &[plan(&["finding-02"], false), plan(&["finding-01"], false)]);
    let scene = scene(&settings(SURFACES[0], &model, ""), MEND_FIRST);
    // The head is stored, the plan is, and the turn is not any more.
    let killed = with_key(scene.drive(&["--fix"])).env("QA_FAULTS", "kill:drive-session:3");
    assert_ne!(killed.command().output().unwrap().status.code(), Some(0));
    let stored = scene.session();
    assert_eq!((&stored["plan"]["basis"], &stored["turns"]), (&json!("answer"), &json!([])));
    assert!(scene.status().expect(0).text().contains("plan: by review, 1 finding: Mend finding-02."));
    scene.verify().run().expect(0);
    with_key(scene.drive(&["--fix"])).run().expect(0);
    let session = scene.session();
    assert_eq!(session["turns"][0]["plan"], stored["plan"]);
    assert_eq!(
        (session["plan"].clone(), files(&session)),
        (Value::Null, vec![vec!["src/b.py"], vec!["src/a.py"]])
    );
    assert_eq!(model.requests().len(), 2);
    scene.verify().run().expect(0);
}

#[test]
fn a_recorded_plan_is_held_to_its_answer() {
    let model = model(SURFACES[0], &[plan(&["finding-02"], false), plan(&["finding-01"], false)]);
    let scene = scene(&settings(SURFACES[0], &model, ""), MEND_FIRST);
    with_key(scene.drive(&["--fix"])).run().expect(0);
    let whole = scene.session();
    let verified = scene.verify().arg("--repo").arg(scene.repo.path()).run().expect(0).text();
    assert!(verified.contains("what agents did and models answered is taken as recorded"), "{verified}");
    let other = whole["bootstrap"]["tasks"][0]["findingId"].clone();
    let edits: [(&str, Value, &str); 5] = [
        ("/turns/0/plan/tasks/0", other, "turn 1: its plan does not follow"),
        ("/turns/0/plan/answer", json!(plan(&["finding-01"], false)), "turn 1: its plan does not follow"),
        ("/turns/1/plan/finished", json!(true), "turn 2: its plan does not follow"),
        ("/turns/1/plan", Value::Null, "turn 2: it has no plan"),
        ("/turns/0/plan/costMicroUsd", json!(0), "turn 1: its digest is another"),
    ];
    for (pointer, value, reason) in edits {
        let mut edited = whole.clone();
        *edited.pointer_mut(pointer).unwrap() = value;
        scene.write_session(&edited);
        let refused = scene.verify().run().expect_code(4, "DETERMINISM_DRIFT_DETECTED").stderr;
        assert!(refused.contains(reason), "{reason}: {refused}");
    }
}

#[test]
fn a_goal_is_not_reached_because_the_plan_says_so() {
    let model = model(SURFACES[0], &[plan(&[], true), plan(&["finding-01"], true)]);
    // It leaves a fault, and says in each turn that it is done.
    let policy = settings(SURFACES[0], &model, "");
    let fault = "[ -f src/d.py ] || printf 'def new(a):\\n    breakpoint()\\n    return a\\n' > src/d.py";
    let scene = goal_scene(&policy, fault);
    with_key(scene.drive(&["--goal", "Add a function"])).run().expect(1);
    let session = scene.session();
    assert_eq!(end_reason(&session), "no_progress");
    let turns = session["turns"].as_array().unwrap();
    assert!(turns.iter().all(|turn| turn["plan"]["finished"] == true), "{turns:?}");
    scene.verify().args(["--expect", "fail"]).run().expect(0);
    let mut forged = session.clone();
    forged["end"] = json!({"reason": "passed", "message": "the tree passes the gate, and the plan says that the goal is reached"});
    scene.write_session(&forged);
    scene.verify().run().expect_code(4, "DETERMINISM_DRIFT_DETECTED");
}

#[test]
fn a_goal_is_reached_where_the_gate_and_the_plan_agree() {
    let blocked = "printf 'LEFT = 1\\n' > src/d.py\nid=$(grep -o '\"envelopeId\":\"[0-9a-f]*\"' $QA_SKILL_ENVELOPE | cut -d'\"' -f4)\n\
                   printf '{\"schemaVersion\":\"dispatch-result.v1\",\"envelopeId\":\"%s\",\"outcome\":\"blocked\",\"summary\":\"s\",\"expected\":\"\"}\\n' $id";
    let model = model(SURFACES[0], &[plan(&[], true)]);
    let scene = goal_scene(&settings(SURFACES[0], &model, ""), blocked);
    // The first plan says so as well, before anything was done.
    with_key(scene.drive(&["--goal", "Add a constant"])).run().expect(0);
    let session = scene.session();
    let end = session["end"]["message"].as_str().unwrap();
    assert_eq!(end, "the tree passes the gate, and the plan says that the goal is reached");
    assert_eq!((session["turns"].as_array().unwrap().len(), &session["plan"]["finished"]), (1, &json!(true)));
    scene.verify().args(["--expect", "pass"]).run().expect(0);
    let mut forged = session.clone();
    forged["plan"] = Value::Null;
    scene.write_session(&forged);
    let refused = scene.verify().run().expect_code(4, "DETERMINISM_DRIFT_DETECTED").stderr;
    assert!(refused.contains("its end is Passed, and another turn follows"), "{refused}");
}

#[test]
fn a_person_sees_the_plan_before_the_turn_and_has_it_made_anew() {
    let model = model(SURFACES[0], &[plan(&["finding-02"], false), plan(&["finding-01"], false)]);
    let scene = scene(&settings(SURFACES[0], &model, ""), MEND_FIRST);
    let manual = |options: &[&str]| {
        with_key(scene.drive(&[&["--fix", "--continue", "manual"], options].concat())).run()
    };
    let waits = manual(&[]).expect(3).text();
    assert!(waits.contains("plan: by review, 1 finding: Mend finding-02."), "{waits}");
    manual(&["--edit", "Begin with a.py."]).expect(3);
    let session = scene.session();
    assert_eq!(files(&session), [["src/a.py"]]);
    assert!(packet(&asked(&model, true)[1]).contains("note of the person who drives: Begin with a.py.\n"));
    // Both questions count.
    let tokens = &session["turns"][0]["plan"]["tokens"];
    assert_eq!(*tokens, json!({"input": 2000, "output": 200}));
    scene.verify().run().expect(0);
    manual(&["--approve"]).expect(0);
    assert_eq!(asked(&model, true).len(), 3);
    scene.verify().args(["--expect", "pass"]).run().expect(0);
}

#[test]
fn a_model_for_plans_gets_no_secret_and_is_named_by_the_policy() {
    let secret = token();
    let model = model(SURFACES[0], &[plan(&["finding-01"], false)]);
    let policy = settings(SURFACES[0], &model, "");
    let script = format!("echo 'I saw {secret}'; exit 0");
    let base = [(".qa-skill/policy.toml", policy.as_str()), ("src/a.py", PRODUCT)];
    let fault = format!("{FAULT}\nKEY = \"{secret}\"\n");
    let leaking = Scene::of(&base, &[base[0], ("src/a.py", &fault), ("src/c.py", "VALUE = 1\n")], &script);
    with_key(leaking.drive(&["--fix"])).run().expect(1);
    assert!(asked(&model, true).len() > 1);
    for request in model.requests() {
        assert!(!String::from_utf8_lossy(&request.body).contains(&secret), "a secret was sent");
    }
    let unset =
        leaking.drive(&["--fix"]).env("OPENAI_API_KEY", "").run().expect_code(3, "PROVIDER_AUTH_ERROR");
    assert!(unset.stderr.contains("OPENAI_API_KEY is not set"), "{}", unset.stderr);
    // Safe edits need no plan, and no key.
    let program = qa_skill(["drive", "--fix", "--base", "main", "--head", "topic", "--agent", "builtin:fix"]);
    let out = leaking.repo.beside("other");
    program.arg("--repo").arg(leaking.repo.path()).arg("--out").arg(out).run().expect(1);
    let policy = [(".qa-skill/policy.toml", "[drive]\ncoordinator = \"none\"\n"), ("src/a.py", PRODUCT)];
    let unknown = change(&policy, &[policy[0], ("src/a.py", FAULT)]);
    let program = qa_skill(["drive", "--fix", "--base", "main", "--head", "topic", "--agent", "builtin:fix"]);
    let refused = program.arg("--repo").arg(unknown.path()).run().expect_code(2, "POLICY_INVALID");
    assert!(refused.stderr.contains("drive.coordinator names `none`"), "{}", refused.stderr);
}
