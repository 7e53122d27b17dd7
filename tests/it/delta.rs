//! What moved since an earlier run: told beside the runs, and decided by nothing.

use serde_json::{Value, json};

use crate::support::{Files, Repo, change, conflict};

const CLEAN: &str = "a = 1\n";

/// Commits files on top of a commit, as the new head.
fn push(repo: &Repo, parent: &str, files: &[(&str, &str)]) {
    let parent = repo.git.revparse_single(parent).unwrap().id();
    let commit = repo.commit(repo.tree(&Files::from_texts(files)), &[parent]);
    repo.reference("refs/heads/topic", commit);
}

/// What a run tells, and what it leaves.
fn since(repo: &Repo) -> (String, Value) {
    let outcome = repo.judge().arg("--since").arg(repo.beside("out")).run();
    let told = outcome.stderr.lines().find(|line| line.starts_with("since ")).unwrap_or("").to_owned();
    let delta =
        std::fs::read(repo.beside("out/runs").join("delta.json")).unwrap_or_else(|_| b"null".to_vec());
    (told, serde_json::from_slice(&delta).unwrap())
}

fn files(delta: &Value, member: &str) -> Vec<String> {
    let all = delta[member].as_array().unwrap();
    all.iter().map(|finding| finding["file"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn findings_are_new_still_open_or_resolved_since_the_nearest_verdict() {
    let conflict = conflict();
    let (first, second) = (format!("{CLEAN}{conflict}"), format!("{CLEAN}b = 2\n{conflict}"));
    let base = [("a.py", CLEAN), ("b.py", CLEAN), ("c.py", CLEAN)];
    let repo = change(&base, &[("a.py", &first), ("b.py", &first), ("c.py", CLEAN)]);
    let (told, delta) = since(&repo);
    assert_eq!((told.as_str(), delta), ("", Value::Null), "there is nothing earlier");
    let head = repo.git.revparse_single("topic").unwrap().id().to_string();
    push(&repo, "topic", &[("a.py", CLEAN), ("b.py", &second), ("c.py", &first)]);
    let (told, delta) = since(&repo);
    assert_eq!(delta["since"]["headSha"], head.as_str());
    let short = &head[..12];
    assert!(told.starts_with(&format!("since {short}: ")), "{told}");
    for (member, file) in [("new", "c.py"), ("stillOpen", "b.py"), ("resolved", "a.py")] {
        let found = files(&delta, member);
        assert!(!found.is_empty() && found.iter().all(|found| found == file), "{member}: {found:?}");
    }
    assert_eq!(delta["historyRewritten"], false);
    // A rebase leaves several earlier runs and no ancestor among them: nobody can say which was meant.
    push(&repo, "main", &[("a.py", CLEAN), ("b.py", CLEAN), ("c.py", CLEAN), ("d.py", CLEAN)]);
    assert_eq!(since(&repo).0, "");
}

#[test]
fn after_a_rebase_the_only_earlier_run_is_meant_and_a_link_is_not_followed() {
    let faulty = format!("{CLEAN}{}", conflict());
    let repo = change(&[("a.py", CLEAN)], &[("a.py", &faulty)]);
    repo.judge().run().expect(1);
    let victim = repo.beside("victim");
    std::fs::write(&victim, "precious").unwrap();
    std::os::unix::fs::symlink(&victim, repo.beside("out/runs").join("delta.json")).unwrap();
    push(&repo, "main", &[("a.py", "a = 3\n")]);
    let (told, delta) = since(&repo);
    assert!(told.contains(", whose history was rewritten: 0 new, 0 still open, "), "{told}");
    assert_eq!((&delta["historyRewritten"], &delta["new"]), (&json!(true), &json!([])));
    assert_eq!(std::fs::read_to_string(victim).unwrap(), "precious");
}
