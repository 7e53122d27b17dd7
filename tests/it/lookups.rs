//! What a lens asks about files that did not change is found, recorded, replayed and not to be forged.

use serde_json::{Value, json};

use crate::support::{Repo, change, qa_skill, repair, tamper, temp};

const COMMAND: &str = "from .load import load\n\n\ndef run():\n    return load()\n";

/// A function is renamed, and a file that the change does not touch imports it.
fn left_behind() -> Repo {
    let before = "def load():\n    return 1\n";
    let after = "def load_all():\n    return 1\n";
    change(
        &[("app/__init__.py", ""), ("app/load.py", before), ("app/command.py", COMMAND)],
        &[("app/__init__.py", ""), ("app/load.py", after), ("app/command.py", COMMAND)],
    )
}

/// The findings of the lens in a run.
fn findings(run: &crate::support::RunDir) -> Vec<Value> {
    let results = run.json("lens-results.json");
    let findings = &results["lensResults"][run.position("unresolved-import")]["findings"];
    findings.as_array().unwrap().clone()
}

/// Another answer in the record, with every digest made to fit, is noticed with the repository and without.
fn assert_forged(copy: &crate::support::RunDir, repo: &Repo, pointer: &str, to: Value) {
    tamper(copy, "recordings/lookups.json", pointer, to);
    repair(copy, false);
    for repository in [None, Some(repo.path())] {
        let program = copy.verify();
        let outcome = match &repository {
            Some(path) => program.arg("--repo").arg(path).run(),
            None => program.run(),
        };
        assert!([3, 4].contains(&outcome.exit), "{pointer} {repository:?}: {}", outcome.text());
    }
}

#[test]
fn a_caller_that_the_change_does_not_touch_is_found() {
    let repo = left_behind();
    let said = repo.judge().run().expect(1).text();
    assert!(said.contains("note: imported by: app/command.py:1"), "{said}");
    let run = repo.run_dir();
    for page in ["summary.md", "report.html", "results.sarif"] {
        assert!(
            String::from_utf8(run.bytes(page)).unwrap().to_lowercase().contains("imported by: app/command"),
            "{page}"
        );
    }
    let found = findings(&run);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["ruleId"], "unresolved-import/left-behind");
    assert_eq!((&found[0]["file"], &found[0]["startLine"]), (&json!("app/load.py"), &json!(1)));
    assert!(found[0].to_string().contains("app/command.py:1"), "{}", found[0]);
    assert_eq!(found[0]["blocking"], true);
}

#[test]
fn what_was_asked_is_recorded_and_replays_without_the_repository() {
    let repo = left_behind();
    repo.judge().run().expect(1);
    let run = repo.run_dir();
    let asked = run.json("recordings/lookups.json");
    assert!(asked["modules"].as_array().unwrap().iter().any(|module| module["path"] == "app/command.py"));
    run.verify().arg("--repo").arg(repo.path()).run().expect(0);
    let elsewhere = temp();
    let copy = run.copy_to(&elsewhere.path().join("copy"));
    drop(repo);
    copy.verify().run().expect(0);
}

#[test]
fn a_forged_answer_is_caught() {
    let repo = left_behind();
    repo.judge().run().expect(1);
    let run = repo.run_dir();
    let asked = run.json("recordings/lookups.json");
    let modules = asked["modules"].as_array().unwrap();
    let command = modules.iter().position(|module| module["path"] == "app/command.py").unwrap();
    let elsewhere = temp();
    let cases = [
        (format!("/modules/{command}/outline"), Value::Null),
        ("/modules".to_owned(), json!([])),
        ("/directories".to_owned(), json!([])),
        ("/mentions/0/paths".to_owned(), json!([])),
    ];
    for (number, (pointer, to)) in cases.iter().enumerate() {
        let copy = run.copy_to(&elsewhere.path().join(number.to_string()));
        assert_forged(&copy, &repo, pointer, to.clone());
    }
    let copy = run.copy_to(&elsewhere.path().join("removed"));
    std::fs::remove_file(copy.path("recordings/lookups.json")).unwrap();
    repair(&copy, false);
    let outcome = copy.verify().run();
    assert!([3, 4].contains(&outcome.exit), "{}", outcome.text());
}

#[test]
fn a_change_that_asks_nothing_records_nothing() {
    let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    repo.judge().run().expect(0);
    let run = repo.run_dir();
    assert_eq!(findings(&run), Vec::<Value>::new());
    let files = run.files();
    let asked = files.iter().find(|name| *name == "recordings/lookups.json").map(|name| run.json(name));
    let mentions = asked.map(|asked| asked["mentions"].clone());
    assert!(mentions.is_none_or(|mentions| mentions == json!([])), "the name is still there");
}

#[test]
fn shards_leave_the_question_to_the_one_who_joins_them() {
    let repo = left_behind();
    repo.judge().run().expect(1);
    let single = repo.run_dir();
    let program =
        |command: &str| qa_skill([command, "--base", "main", "--head", "topic", "--repo"]).arg(repo.path());
    let parts = repo.beside("parts");
    program("run").arg("--out").arg(&parts).arg("--shard").arg("1/1").run().expect(0);
    let joined = repo.beside("joined");
    program("aggregate").arg("--out").arg(&joined).arg("--parts").arg(&parts).run().expect(1);
    assert_eq!(crate::support::RunDir::only(&joined).digests(), single.digests());
}

#[test]
fn a_package_that_no_manifest_names_is_found_and_replayed_without_the_repository() {
    let manifest = "{\n  \"dependencies\": {\n    \"express\": \"^4.18.0\"\n  }\n}\n";
    let repo = change(
        &[("package.json", manifest), ("src/a.js", "export const a = 1;\n")],
        &[("package.json", manifest), ("src/a.js", "import pad from \"left-pad\";\nexport const a = pad;\n")],
    );
    repo.judge().run().expect(1);
    let run = repo.run_dir();
    let results = run.json("lens-results.json");
    let findings = &results["lensResults"][run.position("phantom-dependency")]["findings"];
    assert_eq!(findings[0]["ruleId"], "phantom-dependency/undeclared-package");
    assert_eq!((&findings[0]["startLine"], &findings[0]["blocking"]), (&json!(1), &json!(true)));
    let elsewhere = temp();
    let copy = run.copy_to(&elsewhere.path().join("copy"));
    drop(repo);
    copy.verify().run().expect(0);
}

#[test]
fn a_boundary_of_the_base_holds_although_head_takes_it_away() {
    let policy = "[[import-boundary]]\nfrom = [\"core/**\"]\nmust-not-import = [\"app/**\"]\nreason = \"the core comes first\"\n";
    let view = ("app/view.ts", "export const view = 1;\n");
    let repo = change(
        &[(".qa-skill/policy.toml", policy), view],
        &[
            (".qa-skill/policy.toml", "mode = \"strict\"\n"),
            view,
            ("core/model.ts", "import { view } from \"../app/view\";\nexport const model = view;\n"),
        ],
    );
    repo.judge().run().expect(1);
    let run = repo.run_dir();
    let results = run.json("lens-results.json");
    let findings = &results["lensResults"][run.position("import-boundary")]["findings"];
    assert_eq!(findings[0]["ruleId"], "import-boundary/forbidden-edge");
    assert_eq!(findings[0]["evidence"]["reason"], "the core comes first");
    let weakened = run.json("final-verdict.json")["policyPreview"]["weakened"].to_string();
    assert!(weakened.contains("import-boundary.core/**"), "{weakened}");
    run.verify().arg("--repo").arg(repo.path()).run().expect(0);
}

#[test]
fn a_boundary_that_cannot_be_read_is_an_error_of_the_policy() {
    let boundaries = [
        "from = [\"/core\"]\nmust-not-import = [\"app/**\"]\nreason = \"r\"\n",
        "from = [\"core/**\"]\nmust-not-import = [\"app/{\"]\nreason = \"r\"\n",
        "from = [\"core/**\"]\nmust-not-import = [\"app/**\"]\n",
    ];
    for boundary in boundaries {
        let policy = format!("[[import-boundary]]\n{boundary}");
        let repo = change(&[(".qa-skill/policy.toml", &policy), ("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
        let outcome = repo.judge().run();
        assert_eq!(outcome.exit, 2, "{boundary}: {}", outcome.text());
    }
}

#[test]
fn what_would_ask_for_too_much_is_left_out_and_said() {
    let defined = |names: std::ops::Range<u32>| -> String {
        names.map(|number| format!("def load_{number}():\n    return {number}\n\n\n")).collect()
    };
    let command = "from .load import load_0\n\n\ndef run():\n    return load_0()\n";
    let files = |load: &str| {
        let files = [("app/__init__.py", ""), ("app/load.py", load), ("app/command.py", command)];
        files.map(|(path, text)| (path, text.to_owned()))
    };
    let judged = |gone: u32| {
        let (before, after) = (files(&defined(0..90)), files(&defined(gone..90)));
        let side = |files: &[(&'static str, String)]| {
            files.iter().fold(crate::support::Files::new(), |all, (path, text)| all.with(path, text))
        };
        let repo = Repo::new();
        repo.change(&side(&before), &side(&after));
        repo
    };
    let few = judged(60);
    few.judge().run().expect(1);
    assert_eq!(findings(&few.run_dir()).len(), 1);
    assert!(!few.run_dir().json("final-verdict.json")["warningCodes"].to_string().contains("LOOKUP_LIMITED"));

    let many = judged(61);
    let said = many.judge().run();
    let run = many.run_dir();
    assert!(findings(&run).is_empty());
    assert!(said.text().contains("LOOKUP_LIMITED"), "{}", said.text());
    let summary = String::from_utf8(run.bytes("summary.md")).unwrap();
    for words in ["the verdict stands on what was found", "no setting raises this limit"] {
        assert!(summary.contains(words), "{summary}");
    }
    assert!(run.json("final-verdict.json")["warningCodes"].to_string().contains("LOOKUP_LIMITED"));
    run.verify().run().expect(0);
    run.verify().arg("--repo").arg(many.path()).run().expect(0);
}

#[test]
fn what_files_import_is_recorded_replayed_and_not_to_be_forged() {
    let order = |more: &str| format!("{more}export const order = () => 1;\n");
    let address = "import { order } from \"./order\";\nexport const address = () => order();\n";
    let repo = change(
        &[("src/order.js", &order("")), ("src/address.js", address)],
        &[
            ("src/order.js", &order("import { address } from \"./address\";\nexport { address };\n")),
            ("src/address.js", address),
        ],
    );
    repo.judge().args(["--preset", "guarded"]).run().expect(1);
    let run = repo.run_dir();
    let results = run.json("lens-results.json");
    let findings = &results["lensResults"][run.position("dependency-cycle")]["findings"];
    assert_eq!(findings[0]["ruleId"], "dependency-cycle/newly-closed");
    let asked = run.json("recordings/lookups.json");
    let imports = asked["imports"].as_array().unwrap();
    let read = imports.iter().position(|each| each["side"] == "head" && each["path"] == "src/address.js");
    let elsewhere = temp();
    let pointers = [format!("/imports/{}/imports", read.unwrap()), "/imports".to_owned()];
    for (number, pointer) in pointers.iter().enumerate() {
        let copy = run.copy_to(&elsewhere.path().join(number.to_string()));
        assert_forged(&copy, &repo, pointer, json!([]));
    }
    let copy = run.copy_to(&elsewhere.path().join("copy"));
    drop(repo);
    copy.verify().run().expect(0);
}

#[test]
fn what_is_recorded_is_the_same_for_any_number_of_workers() {
    // Files in a ring of which one import is for types alone, files that import a name which goes, and a file that
    // imports much that does not lead back.
    let ring = |number: usize, more: &str| {
        let next = (number + 1) % 12;
        let kind = if number == 7 { "type " } else { "" };
        let text = format!(
            "import {kind}{{ f{next} }} from \"./f{next}\";\n{more}export function f{number}() {{\n  return f{next}(f{next});\n}}\n"
        );
        (format!("src/f{number}.ts"), text)
    };
    let name = |text: &str| ("src/name.ts".to_owned(), text.to_owned());
    let users = (0..8).map(|number| {
        let text = format!("import {{ old }} from \"./name\";\nexport const u{number} = old;\n");
        (format!("src/u{number}.ts"), text)
    });
    let mut base: Vec<(String, String)> = (0..12).map(|number| ring(number, "")).chain(users).collect();
    let mut head = base.clone();
    base.push(name("export const old = 1;\n"));
    head.push(name("export const young = 1;\n"));
    // The way back is found before what stands beside it is asked for.
    let beside = (
        "src/f0.ts".to_owned(),
        format!("import {{ x }} from \"./x\";\nexport const y = x;\n{}", ring(0, "").1),
    );
    let more: String = (0..8).map(|user| format!("import {{ u{user} }} from \"./u{user}\";\n")).collect();
    let more = format!("{more}import {{ f0, f1 as gone }} from \"./f0\";\nexport const at = [f0, f0()];\n");
    head[2] = ring(2, &more);
    for side in [&mut base, &mut head] {
        side[0] = beside.clone();
        side.push(("src/x.ts".to_owned(), "export const x = 1;\n".to_owned()));
    }
    fn borrowed(files: &[(String, String)]) -> Vec<(&str, &str)> {
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect()
    }
    let repo = change(&borrowed(&base), &borrowed(&head));
    let judged = |jobs: &str| {
        let out = repo.beside(jobs);
        let program =
            qa_skill(["run", "--base", "main", "--head", "topic", "--preset", "guarded", "--jobs", jobs]);
        program.arg("--out").arg(&out).arg("--repo").arg(repo.path()).run().expect(1);
        let run = crate::support::RunDir::only(&out);
        (run.bytes("recordings/lookups.json"), run.bytes("lens-results.json"), run)
    };
    let (asked, found, run) = judged("1");
    let lookups = run.json("recordings/lookups.json");
    for list in ["imports", "modules"] {
        assert!(lookups[list].as_array().is_some_and(|asked| asked.len() > 8), "{list}: {lookups}");
    }
    let results = String::from_utf8(found.clone()).unwrap();
    for rule in
        ["dependency-cycle/newly-closed", "unresolved-import/left-behind", "unresolved-import/missing-name"]
    {
        assert!(results.contains(rule), "{rule}: {results}");
    }
    for jobs in ["2", "5"] {
        let (asked_again, found_again, _) = judged(jobs);
        assert_eq!(asked_again, asked, "{jobs}");
        assert_eq!(found_again, found, "{jobs}");
    }
}
