//! Histories whose merge brings more than the change since one merge base shows: what lands is what is judged.

use git2::Oid;
use serde_json::{Value, json};

use crate::support::origin::Origin;
use crate::support::step::{Step, clean};
use crate::support::{Files, Outcome, Repo, repair, token};

const START: i64 = 1_714_000_000;
const SECRET: &str = "secret-token/provider-token app.py:1";

/// Commits of a repository, each a minute after the one before.
struct History {
    repo: Repo,
    time: std::cell::Cell<i64>,
}

impl History {
    fn new() -> Self {
        Self { repo: Repo::new(), time: START.into() }
    }

    fn commit(&self, files: &Files, parents: &[Oid]) -> Oid {
        self.time.set(self.time.get() + 60);
        self.repo.commit_at(self.repo.tree(files), parents, self.time.get())
    }

    fn judge(&self, main: Oid, topic: Oid) -> Outcome {
        self.repo.reference("refs/heads/main", main);
        self.repo.reference("refs/heads/topic", topic);
        self.repo.judge().run()
    }

    /// Judges, and holds the run to its recording and to the repository.
    fn judged(&self, main: Oid, topic: Oid, exit: i32) {
        self.judge(main, topic).expect(exit);
        let run = self.repo.run_dir();
        run.verify().run().expect(0);
        run.verify().arg("--repo").arg(self.repo.path()).run().expect(0);
    }

    fn landing(&self) -> Value {
        self.repo.run_dir().json("change-set.json")["landing"].clone()
    }

    fn errors(&self) -> Value {
        self.repo.run_dir().json("final-verdict.json")["errorCodes"].clone()
    }

    fn warnings(&self) -> Value {
        self.repo.run_dir().json("final-verdict.json")["warningCodes"].clone()
    }

    fn changed(&self) -> Vec<String> {
        self.repo.run_dir().changed().into_keys().collect()
    }
}

fn leaky() -> Files {
    Files::from_texts(&[("z", "z\n")]).with("app.py", format!("T = \"{}\"\n", token()))
}

fn fixed() -> Files {
    leaky().with("app.py", "import os\nT = os.environ[\"T\"]\n")
}

/// The commits of two branches that were merged into each other.
struct CrissCross {
    fix: Oid,
    work: Oid,
    main: Oid,
}

/// `main` removes a secret while `topic` adds a file, and `main` merges `topic`; the merge into `topic` is left to do.
fn criss_cross(history: &History, leaky: &Files, fixed: &Files) -> CrissCross {
    let root = history.commit(leaky, &[]);
    let fix = history.commit(fixed, &[root]);
    let work = history.commit(&leaky.clone().with("work.py", "w = 1\n"), &[root]);
    let main = history.commit(&fixed.clone().with("work.py", "w = 1\n"), &[fix, work]);
    CrissCross { fix, work, main }
}

#[test]
fn a_fix_that_a_criss_cross_merge_drops_is_judged_as_it_lands() {
    let history = History::new();
    let CrissCross { fix, work, main } = criss_cross(&history, &leaky(), &fixed());
    // Since the newest merge base, `work`, the topic only adds a file: its merge took nothing from `main`.
    let files = leaky().with("work.py", "w = 1\n").with("more.py", "m = 1\n");
    let topic = history.commit(&files, &[work, fix]);
    history.judged(main, topic, 1);
    let run = history.repo.run_dir();
    assert_eq!(run.findings(), [SECRET]);
    assert_eq!(history.changed(), ["app.py", "more.py"]);
    assert!(history.warnings().as_array().unwrap().contains(&json!("LANDING_JUDGED")));

    let change_set = run.json("change-set.json");
    assert_eq!(
        json!([change_set["mergeBaseSha"], change_set["otherMergeBases"], change_set["landing"]]),
        json!([work.to_string(), [fix.to_string()], "merge"])
    );
    // `git merge-tree` has the same tree.
    let tree = std::process::Command::new("git")
        .args(["merge-tree", "--write-tree", "main", "topic"])
        .current_dir(history.repo.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(tree.stdout).unwrap().trim(), change_set["landingTree"]);
    let merged = json!({"name": "merged-tree", "digest": {"gitTree": change_set["landingTree"]}});
    assert_eq!(run.json("statement.intoto.json")["subject"][2], merged);
    let verified = run.verify().run().expect(0).text();
    for (name, text) in [
        ("verify", verified),
        ("terminal", history.judge(main, topic).text()),
        ("markdown", String::from_utf8(run.bytes("summary.md")).unwrap()),
        ("html", String::from_utf8(run.bytes("report.html")).unwrap()),
        ("json", run.json("skill-result.json").to_string()),
    ] {
        // Lines are wrapped in the terminal.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for merge_base in [fix, work] {
            assert!(text.contains(&merge_base.to_string()), "{name} names {merge_base}: {text}");
        }
    }
}

#[test]
fn a_criss_cross_merge_that_keeps_everything_is_judged_by_its_change() {
    let history = History::new();
    let CrissCross { fix, work, main } = criss_cross(&history, &leaky(), &fixed());
    let topic = history.commit(&fixed().with("work.py", "w = 1\n").with("more.py", "m = 1\n"), &[work, fix]);
    history.judged(main, topic, 0);
    assert_eq!(history.landing(), "change");
}

#[test]
fn a_criss_cross_merge_that_conflicts_is_not_judged() {
    let history = History::new();
    let CrissCross { fix, work, main } = criss_cross(&history, &leaky(), &fixed());
    let main = history.commit(&fixed().with("work.py", "w = 2\n"), &[main]);
    let topic = history.commit(&leaky().with("work.py", "w = 3\n"), &[work, fix]);
    history.judged(main, topic, 3);
    assert_eq!((history.landing(), history.errors()), (json!("conflict"), json!(["LANDING_UNKNOWN"])));
}

#[test]
fn merge_bases_that_conflict_leave_no_pass() {
    let history = History::new();
    let text = |value: &str| Files::from_texts(&[("a.py", value)]);
    let root = history.commit(&text("a = 0\n"), &[]);
    let one = history.commit(&text("a = 1\n"), &[root]);
    let two = history.commit(&text("a = 2\n"), &[root]);
    let main = history.commit(&text("a = 1\n"), &[one, two]);
    let topic = history.commit(&text("a = 2\n").with("b.py", "b = 1\n"), &[two, one]);
    history.judged(main, topic, 3);
    assert_eq!(history.errors(), json!(["LANDING_UNKNOWN"]));
}

#[test]
fn a_fix_that_an_octopus_merge_drops_is_judged_as_it_lands() {
    let history = History::new();
    let root = history.commit(&leaky(), &[]);
    let fix = history.commit(&fixed(), &[root]);
    let one = history.commit(&leaky().with("one.py", "o = 1\n"), &[root]);
    let two = history.commit(&leaky().with("two.py", "t = 1\n"), &[root]);
    let both = |files: Files| files.with("one.py", "o = 1\n").with("two.py", "t = 1\n");
    let main = history.commit(&both(fixed()), &[fix, one, two]);
    let topic = history.commit(&both(leaky()), &[two, one, fix]);
    history.judged(main, topic, 1);
    assert_eq!(history.repo.run_dir().findings(), [SECRET]);
    let others = history.repo.run_dir().json("change-set.json")["otherMergeBases"].clone();
    assert_eq!(others.as_array().unwrap().len(), 2);
}

#[test]
fn a_merge_that_is_reverted_on_either_side_shows_all_that_lands() {
    // On the base: what was reverted there does not land again, and the change does not claim it.
    let history = History::new();
    let root = history.commit(&fixed(), &[]);
    let work = history.commit(&fixed().with("work.py", "w = 1\n"), &[root]);
    let main = history.commit(&fixed().with("work.py", "w = 1\n"), &[root, work]);
    let main = history.commit(&fixed(), &[main]);
    let topic = history.commit(&fixed().with("work.py", "w = 1\n").with("more.py", "m = 1\n"), &[work]);
    history.judged(main, topic, 0);
    assert_eq!((history.landing(), history.changed()), (json!("change"), vec!["more.py".to_owned()]));

    // On the topic: the fix is merged into it and reverted there.
    let history = History::new();
    let root = history.commit(&leaky(), &[]);
    let fix = history.commit(&fixed(), &[root]);
    let work = history.commit(&leaky().with("work.py", "w = 1\n"), &[root]);
    let merge = history.commit(&fixed().with("work.py", "w = 1\n"), &[work, fix]);
    let topic = history.commit(&leaky().with("work.py", "w = 1\n"), &[merge]);
    let main = history.commit(&fixed().with("z", "y\n"), &[fix]);
    history.judged(main, topic, 1);
    assert_eq!(history.repo.run_dir().findings(), [SECRET]);
}

#[test]
fn submodules_links_and_binary_files_that_go_back_are_part_of_the_change() {
    let history = History::new();
    let module = |text: &str| history.commit(&Files::from_texts(&[("m", text)]), &[]);
    let (old, new) = (module("1\n"), module("2\n"));
    let base = |module: Oid, link: &str, bytes: &[u8]| {
        Files::from_texts(&[("z", "z\n")])
            .object("160000", "module", module)
            .mode("120000", "link", link)
            .with("logo.png", bytes)
    };
    let before = base(old, "z", b"\x89PNG\r\n\x1a\n\0\0\0");
    let after = base(new, "work.py", b"\x89PNG\r\n\x1a\n\0\0\x01");
    let CrissCross { fix, work, main } = criss_cross(&history, &before, &after);
    let topic = history.commit(&before.clone().with("work.py", "w = 1\n"), &[work, fix]);
    // Since `work` nothing changed at all.
    history.judge(main, topic);
    assert_eq!(
        (history.landing(), history.changed().join(" ")),
        (json!("merge"), "link logo.png module".into())
    );
}

#[test]
fn a_change_that_lands_under_another_name_is_judged_there() {
    let workflow = "on: pull_request\npermissions: {}\njobs:\n  t:\n    runs-on: ubuntu-24.04\n    steps:\n    - run: make test\n";
    let open = workflow.replace("on: pull_request", "on: pull_request_target").replace("{}", "write-all");
    let history = History::new();
    let files = Files::from_texts(&[("z", "z\n")]);
    let root = history.commit(&files.clone().with("docs/e.yml", workflow), &[]);
    let main = history.commit(&files.clone().with(".github/workflows/e.yml", workflow), &[root]);
    let topic = history.commit(&files.with("docs/e.yml", &open), &[root]);
    history.judged(main, topic, 1);
    assert_eq!(
        (history.landing(), history.changed()),
        (json!("merge"), vec![".github/workflows/e.yml".to_owned()])
    );
}

#[test]
fn a_base_that_went_on_changes_nothing_where_both_sides_merge() {
    let history = History::new();
    let lines = |first: &str, last: &str| format!("{first}\n{}{last}\n", "x = 0\n".repeat(20));
    let app = |first: &str, last: &str| Files::from_texts(&[("z", "z\n")]).with("app.py", lines(first, last));
    let root = history.commit(&app("a = 1", "b = 1"), &[]);
    let main = history.commit(&app("a = 2", "b = 1"), &[root]);
    let topic = history.commit(&app("a = 1", "b = 2"), &[root]);
    history.judged(main, topic, 0);
    assert_eq!((history.landing(), history.changed()), (json!("change"), vec!["app.py".to_owned()]));
    let warnings = history.warnings().to_string();
    assert!(!warnings.contains("LANDING"), "{warnings}");
}

#[test]
fn a_conflict_is_told_and_the_change_is_judged() {
    let history = History::new();
    let root = history.commit(&Files::from_texts(&[("a.py", "a = 1\n")]), &[]);
    let main = history.commit(&Files::from_texts(&[("a.py", "a = 2\n")]), &[root]);
    let topic = history.commit(&Files::from_texts(&[("a.py", "a = 3\n")]), &[root]);
    history.judged(main, topic, 0);
    assert_eq!(history.landing(), "conflict");
    assert!(history.warnings().as_array().unwrap().contains(&json!("LANDING_CONFLICT")));
}

#[test]
fn several_merge_bases_need_all_of_the_history() {
    let history = History::new();
    let CrissCross { fix, work, main } = criss_cross(&history, &leaky(), &fixed());
    let topic = history.commit(&leaky().with("work.py", "w = 1\n"), &[work, fix]);
    let shallow = history.repo.path().join(".git/shallow");
    std::fs::write(shallow, format!("{fix}\n{work}\n")).unwrap();
    history.judge(main, topic).expect_code(3, "BASE_REF_RESOLUTION_FAILED");
}

#[test]
fn what_the_test_merge_of_a_pull_request_brings_is_judged() {
    let mut origin = Origin::with_topic(&clean());
    // The server's merge holds what neither side shows: a rename that only it follows, for example.
    let files = clean().with("docs/a.md", "step 6\n").with("app.py", format!("T = \"{}\"\n", token()));
    origin.merge = origin.repo.commit_at(origin.repo.tree(&files), &[origin.base, origin.head], START + 3600);
    origin.repo.reference(&origin.merge_ref, origin.merge);
    let server = origin.serve();
    for depth in [1, 0] {
        let step = Step::on_pull_request(&origin, &server, depth);
        step.run().expect(1);
        let run = step.run_dir();
        assert_eq!(run.findings(), [SECRET], "depth {depth}");
        assert_eq!(run.json("change-set.json")["landing"], "merge");
        run.verify().run().expect(0);
        run.verify().arg("--repo").arg(origin.repo.path()).run().expect(0);
    }
}

#[test]
fn a_commit_that_is_no_merge_of_base_and_head_does_not_say_what_lands() {
    let history = History::new();
    let CrissCross { fix, work, main } = criss_cross(&history, &leaky(), &fixed());
    let topic = history.commit(&leaky().with("work.py", "w = 1\n"), &[work, fix]);
    history.judged(main, topic, 1);
    let planted = history.commit(&fixed().with("work.py", "w = 1\n"), &[main, work]);
    let run = history.repo.run_dir();
    let path = run.path("input.normalized.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replace("\"testMergeSha\":null", &format!("\"testMergeSha\":\"{planted}\""));
    std::fs::write(&path, text).unwrap();
    repair(&run, false);
    run.verify().arg("--repo").arg(history.repo.path()).run().expect(0);
}
