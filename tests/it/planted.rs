//! Objects, refs and files that an earlier step of a job plants in the checkout to change what is judged or by which
//! policy.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid};

use serde_json::json;

use crate::support::origin::Origin;
use crate::support::server::Server;
use crate::support::step::{Step, faulty as faulty_topic, listing};
use crate::support::{Files, Outcome, Repo, conflict, git, qa_skill};

/// The file of a loose object.
fn loose(repo: &Repo, id: Oid) -> PathBuf {
    let id = id.to_string();
    repo.path().join(".git/objects").join(&id[..2]).join(&id[2..])
}

/// Puts the content of one object under the id of another.
fn plant(repo: &Repo, id: Oid, content: Oid) {
    let victim = loose(repo, id);
    std::fs::set_permissions(&victim, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::copy(loose(repo, content), &victim).unwrap();
}

/// A change that adds a conflict marker below a policy, which fails.
fn faulty() -> Repo {
    let policy = "version = 1\npreset = \"default\"\n";
    let base = Files::from_texts(&[("a.py", "a = 1\n"), (".qa-skill/policy.toml", policy)]);
    let repo = Repo::new();
    repo.change(&base, &base.clone().with("a.py", format!("a = 1\n{}", conflict())));
    repo
}

#[test]
fn an_object_under_an_id_that_is_not_its_hash_is_refused() {
    faulty().judge().run().expect(1);
    type Tamper<'a> = &'a dyn Fn(&Repo);
    let cases: &[(&str, Tamper<'_>)] = &[
        ("the changed file", &|repo| plant(repo, repo.blob_at_tip("topic", "a.py"), repo.blob(b"a = 2\n"))),
        ("the tree of head", &|repo| plant(repo, repo.tree_at_tip("topic"), repo.tree_at_tip("main"))),
        ("the commit of head", &|repo| {
            let clean = repo.commit(repo.tree_at_tip("main"), &[repo.tip("main")]);
            plant(repo, repo.tip("topic"), clean);
        }),
        ("the base's policy", &|repo| {
            let lax = repo.blob(b"version = 1\npreset = \"advisory\"\n");
            plant(repo, repo.blob_at_tip("main", ".qa-skill/policy.toml"), lax);
        }),
        ("the commit of the base", &|repo| {
            let same = repo.commit(repo.tree_at_tip("topic"), &[]);
            plant(repo, repo.tip("main"), same);
        }),
        ("a blob where a tree belongs", &|repo| {
            plant(repo, repo.tree_at_tip("topic"), repo.write(ObjectType::Blob, b"x"));
        }),
    ];
    for (what, tamper) in cases {
        let repo = faulty();
        tamper(&repo);
        let outcome = repo.judge().run();
        assert_eq!((outcome.exit, outcome.code()), (3, "OBJECT_HASH_MISMATCH"), "{what}: {}", outcome.stderr);
    }
}

/// Writes a loose object whose header claims another size than its content has.
fn plant_size(repo: &Repo, id: Oid, claimed: usize, content: &[u8]) {
    use std::io::Write;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(format!("blob {claimed}\0").as_bytes()).unwrap();
    encoder.write_all(content).unwrap();
    let path = loose(repo, id);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::write(&path, encoder.finish().unwrap()).unwrap();
}

#[test]
fn a_size_that_an_object_claims_is_not_believed() {
    let content = format!("a = 1\n{}", conflict());
    for claimed in [9 << 20, 400 << 20, 3 << 30] {
        // Under such a policy a file that is too large to be read would leave a pass.
        let policy = "version = 1\n[limits]\nallow-omitted = true\n";
        let base = Files::from_texts(&[("a.py", "a = 1\n"), (".qa-skill/policy.toml", policy)]);
        let repo = Repo::new();
        repo.change(&base, &base.clone().with("a.py", &content).with("b.py", "b = 1\n"));
        plant_size(&repo, repo.blob_at_tip("topic", "a.py"), claimed, content.as_bytes());
        let outcome = repo.judge().run();
        assert_eq!(outcome.exit, 3, "{claimed}: {}{}", outcome.text(), outcome.stderr);
    }
    let large = "a = 1\n".repeat(2 << 20);
    let repo = faulty();
    plant_size(&repo, repo.blob_at_tip("topic", "a.py"), 6, large.as_bytes());
    repo.judge().run().expect(3);
}

#[test]
fn a_packed_object_with_another_hash_is_refused() {
    let repo = faulty();
    let (victim, clean) = (repo.blob_at_tip("topic", "a.py"), repo.blob(b"a = 2\n"));
    // A pack whose index names the clean content by the faulty file's id.
    let pack = repo.path().join(".git/objects/pack");
    let name = pack_of(&repo, clean);
    let index = pack.join(format!("pack-{name}.idx"));
    let mut bytes = std::fs::read(&index).unwrap();
    let at = bytes.windows(20).position(|window| window == clean.as_bytes()).unwrap();
    bytes[at..at + 20].copy_from_slice(victim.as_bytes());
    // The fan-out table says how many ids begin with at most each byte.
    for first in 0..256 {
        let count = u32::from(first >= usize::from(victim.as_bytes()[0]));
        bytes[8 + first * 4..12 + first * 4].copy_from_slice(&count.to_be_bytes());
    }
    std::fs::set_permissions(&index, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::write(&index, bytes).unwrap();
    std::fs::remove_file(loose(&repo, victim)).unwrap();
    repo.judge().run().expect_code(3, "OBJECT_HASH_MISMATCH");
}

/// Packs one object and returns the pack's name.
fn pack_of(repo: &Repo, id: Oid) -> String {
    let list = repo.beside("ids");
    std::fs::write(&list, format!("{id}\n")).unwrap();
    let script = format!("git pack-objects -q .git/objects/pack/pack < '{}'", list.display());
    let output = std::process::Command::new("sh").current_dir(repo.path()).args(["-c", &script]).output();
    String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
}

/// `main` and `topic` both took a conflict marker in from `old`; only what `topic` did itself may be judged, and it is
/// clean. Returns the three commits.
fn forked() -> (Repo, [Oid; 3]) {
    let repo = Repo::new();
    let clean = Files::from_texts(&[("a.py", "a = 1\n")]);
    let marked = clean.clone().with("old.txt", conflict());
    let old = repo.commit_at(repo.tree(&clean), &[], 1_714_000_000);
    let fork = repo.commit_at(repo.tree(&clean), &[old], 1_714_000_100);
    let main = repo.commit_at(repo.tree(&clean.clone().with("b.py", "b = 1\n")), &[fork], 1_714_000_200);
    let topic = repo.commit_at(repo.tree(&marked), &[fork], 1_714_000_300);
    repo.reference("refs/heads/main", main);
    repo.reference("refs/heads/topic", topic);
    (repo, [fork, main, topic])
}

/// Judges and expects what stands in the commits themselves: the fault is found from the true merge base.
fn expect_true_ancestry(what: &str, repo: &Repo, fork: Oid) {
    let outcome = repo.judge().run();
    assert_eq!(outcome.exit, 1, "{what}: {}{}", outcome.text(), outcome.stderr);
    assert_eq!(repo.run_dir().json("change-set.json")["mergeBaseSha"], fork.to_string(), "{what}");
}

#[test]
fn ancestry_follows_from_commits_and_from_nothing_beside_them() {
    let (repo, [fork, ..]) = forked();
    expect_true_ancestry("untouched", &repo, fork);

    // Head would be an ancestor of the base, so that nothing has changed.
    let (repo, [fork, main, topic]) = forked();
    std::fs::create_dir_all(repo.path().join(".git/info")).unwrap();
    std::fs::write(repo.path().join(".git/info/grafts"), format!("{main} {topic}\n")).unwrap();
    expect_true_ancestry("grafts", &repo, fork);

    let (repo, [fork, main, topic]) = forked();
    let liar = repo.commit(repo.tree_at_tip("main"), &[topic]);
    repo.reference(&format!("refs/replace/{main}"), liar);
    expect_true_ancestry("a replacement", &repo, fork);

    let (repo, [fork, main, topic]) = forked();
    git(&repo.path(), &["commit-graph", "write", "--reachable"]);
    forge_graph(&repo.path().join(".git/objects/info/commit-graph"), main, topic);
    expect_true_ancestry("a commit-graph", &repo, fork);

    let (repo, [fork, main, _]) = forked();
    std::fs::write(repo.path().join(".git/shallow"), format!("{main}\n")).unwrap();
    let outcome = repo.judge().run().expect_code(3, "BASE_REF_RESOLUTION_FAILED");
    assert!(outcome.stderr.contains("shallow"), "{fork}: {}", outcome.stderr);
}

/// Makes a commit-graph say that one commit's parent is another. The format: an 8-byte header, a table of chunks of 12
/// bytes each, and in `CDAT` for each commit, in the order of `OIDL`, a tree's id and the positions of two parents.
fn forge_graph(path: &Path, commit: Oid, parent: Oid) {
    let mut bytes = std::fs::read(path).unwrap();
    let chunk = |bytes: &[u8], name: &[u8; 4]| {
        let table = bytes[8..].chunks(12).take(usize::from(bytes[6]));
        let entry = table.into_iter().find(|entry| &entry[..4] == name).unwrap().to_vec();
        usize::try_from(u64::from_be_bytes(entry[4..].try_into().unwrap())).unwrap()
    };
    let (ids, data) = (chunk(&bytes, b"OIDL"), chunk(&bytes, b"CDAT"));
    let ids: Vec<Vec<u8>> = bytes[ids..data].chunks(20).map(<[u8]>::to_vec).collect();
    let position = |id: Oid| ids.iter().position(|known| known == id.as_bytes()).unwrap();
    let at = data + position(commit) * 36 + 20;
    let parent = u32::try_from(position(parent)).unwrap().to_be_bytes();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
    bytes[at..at + 4].copy_from_slice(&parent);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_shallow_clone_that_cannot_be_certain_of_its_merge_base_is_not_judged() {
    // The true merge base is `late`; the clone is cut above it and knows only the older `root`.
    let repo = Repo::new();
    let files = |text: &str| repo.tree(&Files::from_texts(&[("a.py", text)]));
    let root = repo.commit_at(files("1\n"), &[], 1_714_000_000);
    let late = repo.commit_at(files("2\n"), &[root], 1_714_000_100);
    let hidden = repo.commit_at(files("3\n"), &[late], 1_714_000_200);
    let main = repo.commit_at(files("4\n"), &[hidden, root], 1_714_000_300);
    let topic = repo.commit_at(files("5\n"), &[late, root], 1_714_000_400);
    repo.reference("refs/heads/main", main);
    repo.reference("refs/heads/topic", topic);
    repo.judge().run().expect(0);
    std::fs::write(repo.path().join(".git/shallow"), format!("{hidden}\n")).unwrap();
    repo.judge().run().expect_code(3, "BASE_REF_RESOLUTION_FAILED");
}

#[test]
fn a_linked_worktree_of_a_shallow_clone_is_judged() {
    let repo = Repo::new();
    let mut topic = repo.commit(repo.tree(&Files::from_texts(&[("a.py", "a = 0\n")])), &[]);
    for text in ["a = 1\n", "a = 2\n"] {
        topic = repo.commit(repo.tree(&Files::from_texts(&[("a.py", text)])), &[topic]);
    }
    repo.reference("refs/heads/topic", topic);
    let (clone, linked) = (repo.beside("clone"), repo.beside("linked"));
    let url = format!("file://{}", repo.path().display());
    let clone_text = clone.display().to_string();
    git(&repo.path(), &["clone", "-q", "--depth=2", "--branch=topic", &url, &clone_text]);
    git(&clone, &["worktree", "add", "-q", "--detach", &linked.display().to_string()]);
    let out = repo.beside("out");
    let judged = qa_skill(["run", "--base", "HEAD~1", "--head", "HEAD"]).arg("--repo").arg(&linked);
    judged.arg("--out").arg(out).run().expect(0);
}

#[test]
fn a_name_that_stands_for_two_commits_is_refused() {
    // A tag that looks like the remote branch, on head itself: nothing would have changed.
    let repo = faulty();
    let (main, topic) = (repo.tip("main"), repo.tip("topic"));
    repo.reference("refs/remotes/origin/main", main);
    let judge = |base: &str| {
        let program = qa_skill(["run", "--head", "refs/heads/topic", "--base", base]).arg("--repo");
        program.arg(repo.path()).arg("--out").arg(repo.beside("out")).run()
    };
    judge("origin/main").expect(1);
    for planted in [
        "refs/tags/origin/main",
        "refs/heads/origin/main",
        "refs/origin/main",
        "refs/remotes/origin/main/HEAD",
    ] {
        let packed = repo.path().join(".git/packed-refs");
        // Packed, because a file cannot stand below another.
        std::fs::write(&packed, format!("# pack-refs with: peeled fully-peeled \n{topic} {planted}\n"))
            .unwrap();
        let outcome = judge("origin/main").expect_code(3, "REF_AMBIGUOUS");
        assert!(outcome.stderr.contains(planted), "{planted}: {}", outcome.stderr);
        judge("origin/main~0").expect_code(3, "REF_AMBIGUOUS");
        judge("refs/remotes/origin/main").expect(1);
        std::fs::remove_file(packed).unwrap();
    }
    // The same commit under two names is no question.
    repo.reference("refs/tags/origin/main", main);
    judge("origin/main").expect(1);
    // A branch may look like an abbreviated id; a full id means itself.
    repo.reference(&format!("refs/heads/{}", &main.to_string()[..10]), topic);
    judge(&main.to_string()[..10]).expect_code(3, "REF_AMBIGUOUS");
    repo.reference(&format!("refs/heads/{main}"), topic);
    judge(&main.to_string()).expect(1);
}

/// An advisory policy, by which nothing would block.
const LAX: &str = "version = 1\npreset = \"advisory\"\n";

/// A pull request that fails, in a checkout where a step came before ours.
struct Job {
    origin: Origin,
    server: Server,
}

impl Job {
    fn new() -> Self {
        let origin = Origin::with_topic(&faulty_topic());
        let server = origin.serve();
        Self { origin, server }
    }

    fn step(&self, depth: u32) -> Step<'_> {
        Step::on_pull_request(&self.origin, &self.server, depth)
    }

    /// A commit of the checkout that nobody pushed, with a lax policy, and a merge of head into it.
    fn planted(&self, step: &Step<'_>) -> [Oid; 2] {
        let checkout = git2::Repository::open(&step.checkout).unwrap();
        let who = git2::Signature::now("a", "a@example.com").unwrap();
        let base =
            checkout.find_commit(self.origin.base).or_else(|_| checkout.find_commit(self.origin.merge));
        let base = base.unwrap();
        let mut index = git2::Index::new().unwrap();
        index.read_tree(&base.tree().unwrap()).unwrap();
        let policy = index_entry(checkout.blob(LAX.as_bytes()).unwrap(), ".qa-skill/policy.toml");
        index.add(&policy).unwrap();
        let tree = checkout.find_tree(index.write_tree_to(&checkout).unwrap()).unwrap();
        let base = checkout.commit(None, &who, &who, "lax", &tree, &[&base]).unwrap();
        let head = git2::Commit::clone(&checkout.find_commit(self.origin.head).unwrap());
        let parents = [&checkout.find_commit(base).unwrap(), &head];
        let merge = checkout.commit(None, &who, &who, "merge", &tree, &parents).unwrap();
        [base, merge]
    }
}

fn index_entry(id: Oid, path: &str) -> git2::IndexEntry {
    let zero = git2::IndexTime::new(0, 0);
    git2::IndexEntry {
        ctime: zero,
        mtime: zero,
        dev: 0,
        ino: 0,
        mode: 0o100_644,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.into(),
    }
}

#[test]
fn no_ref_of_the_checkout_decides_what_a_step_judges() {
    let job = Job::new();
    let step = job.step(0);
    let [base, merge] = job.planted(&step);
    let checkout = git2::Repository::open(&step.checkout).unwrap();
    for name in ["refs/remotes/origin/main", "refs/heads/main", "refs/tags/main", "refs/tags/origin/main"] {
        checkout.reference(name, base, true, "plant").unwrap();
    }
    checkout.set_head_detached(merge).unwrap();
    let true_base = job.origin.base.to_string();
    let judged = |step: &Step<'_>, input: &str| {
        let _from_before = std::fs::remove_dir_all(step.checkout.join(".qa-skill"));
        step.program().env("INPUT_BASE", input).run().expect(1);
        assert_eq!(step.run_dir().json("change-set.json")["baseSha"], true_base, "{input}");
    };
    for input in ["", "main", "origin/main", "refs/heads/main", "refs/remotes/origin/main", "HEAD~1"] {
        judged(&step, input);
    }
    // Neither do they where the merge commit is not that of this head, and the server has to say.
    let _from_before = std::fs::remove_dir_all(step.checkout.join(".qa-skill"));
    step.program().env("GITHUB_SHA", job.origin.head.to_string()).run().expect(1);
    assert_eq!(step.run_dir().json("change-set.json")["baseSha"], true_base);
    // A name that only the checkout has is none.
    checkout.reference("refs/heads/lax", base, true, "plant").unwrap();
    let outcome = step.program().env("INPUT_BASE", "lax").run();
    outcome.expect_code(3, "BASE_REF_CONFIGURED_NOT_FOUND");
    // A branch and a tag of the server may differ.
    job.origin.repo.reference("refs/tags/main", job.origin.head);
    step.program().env("INPUT_BASE", "main").run().expect_code(3, "REF_AMBIGUOUS");
}

#[test]
fn a_rewritten_event_is_refused_or_does_not_matter() {
    let job = Job::new();
    let mut step = job.step(0);
    let honest = step.event.clone();
    let [base, _] = job.planted(&step);
    let forge = |step: &mut Step<'_>, pointer: &str, value: serde_json::Value| {
        step.event = honest.clone();
        *step.event.pointer_mut(pointer).unwrap() = value;
    };
    // Head is its own base, so nothing has changed.
    forge(&mut step, "/pull_request/head/sha", json!(job.origin.base.to_string()));
    step.run().expect_code(3, "HEAD_SUPERSEDED");
    forge(&mut step, "/pull_request/number", json!(8));
    step.run().expect_code(2, "EVENT_UNUSABLE");
    // The base that the payload names is not asked for.
    forge(&mut step, "/pull_request/base/sha", json!(base.to_string()));
    step.run().expect(1);
    assert_eq!(step.run_dir().json("change-set.json")["baseSha"], job.origin.base.to_string());
    // A pull request that only claims to be closed is judged.
    forge(&mut step, "/action", json!("closed"));
    step.run().expect(1);
    // A push that names itself as what it replaced, or its own branch as the default one, is measured against the
    // server's default branch.
    let head = job.origin.head.to_string();
    for default_branch in ["main", "topic"] {
        let event = json!({"before": head, "after": head, "repository": {"default_branch": default_branch}});
        let mut push = Step::on_pull_request_in(step.checkout.clone(), &job.origin, &job.server);
        (push.name, push.git_ref, push.event) = ("push", "refs/heads/topic", event);
        push.run().expect(1);
    }
    forge(&mut step, "/pull_request/base/ref", json!("lax"));
    step.program().env("GITHUB_BASE_REF", "main").run().expect_code(2, "EVENT_UNUSABLE");
}

#[test]
fn objects_of_the_server_alone_give_the_same_run() {
    let job = Job::new();
    for depth in [1, 0] {
        let step = job.step(depth);
        step.run().expect(1);
        let expected = step.run_dir().digests();
        std::fs::remove_dir_all(step.checkout.join(".qa-skill")).unwrap();
        // Not one object of the checkout is read.
        for path in listing(&step.checkout.join(".git/objects")) {
            if path.is_file() {
                std::fs::remove_file(path).unwrap();
            }
        }
        step.program().env("INPUT_OBJECTS", "server").run().expect(1);
        assert_eq!(step.run_dir().digests(), expected, "depth {depth}");
    }
    let step = Step::on_pull_request_in(job.origin.repo.beside("checkout-0"), &job.origin, &job.server);
    let offline = step.program().env("INPUT_OBJECTS", "server").env("GITHUB_SERVER_URL", "");
    offline.run().expect_code(3, "BASE_REF_RESOLUTION_FAILED");
}

#[test]
fn a_planted_object_in_a_checkout_is_no_object_of_the_server() {
    let job = Job::new();
    let step = job.step(0);
    let objects = step.checkout.join(".git/objects");
    let victim = |id: Oid| objects.join(&id.to_string()[..2]).join(&id.to_string()[2..]);
    let checkout = git2::Repository::open(&step.checkout).unwrap();
    let (fault, clean) = (job.origin.repo.blob(conflict().as_bytes()), checkout.blob(b"clean\n").unwrap());
    assert!(victim(fault).is_file(), "a small fetch leaves loose objects");
    std::fs::set_permissions(victim(fault), std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::copy(victim(clean), victim(fault)).unwrap();
    step.run().expect_code(3, "OBJECT_HASH_MISMATCH");
    assert_eq!(step.output("verdict"), "could-not-complete");
    step.program().env("INPUT_OBJECTS", "server").run().expect(1);
}

#[test]
fn a_checkout_that_more_than_a_fetch_wrote_to_is_told_of() {
    let job = Job::new();
    let step = job.step(0);
    let told = |step: &Step<'_>| {
        let _from_before = std::fs::remove_dir_all(step.checkout.join(".qa-skill"));
        let text = step.run().expect(1).text();
        (text.contains("loose objects beside its packs"), text.contains("alternates"))
    };
    assert_eq!(told(&step), (false, false));
    git(&step.checkout, &["repack", "-q", "-a", "-d"]);
    git(&step.checkout, &["prune-packed"]);
    assert_eq!(told(&step), (false, false));
    let other = job.origin.repo.path().join(".git/objects");
    std::fs::write(step.checkout.join(".git/objects/info/alternates"), format!("{}\n", other.display()))
        .unwrap();
    git2::Repository::open(&step.checkout).unwrap().blob(b"a step wrote this\n").unwrap();
    assert_eq!(told(&step), (true, true));
}

/// A repository whose `topic` adds a directory that is itself a bare repository, with a clean `main` and `topic`.
fn with_a_planted_layout() -> Repo {
    let planted = Repo::new();
    let clean = Files::from_texts(&[("a.py", "a = 1\n")]);
    planted.change(&clean, &clean.clone().with("a.py", "a = 2\n"));
    let repo = Repo::new();
    let service = repo.path().join("service");
    git(&repo.path(), &["clone", "-q", "--bare", planted.path().to_str().unwrap(), "service"]);
    // Git commits no empty directory, and libgit2 wants these.
    for directory in ["refs", "objects/info"] {
        std::fs::write(service.join(directory).join("keep"), "").unwrap();
    }
    git(&repo.path(), &["add", "-f", "service"]);
    git(&repo.path(), &["-c", "user.name=a", "-c", "user.email=a@a", "commit", "-qm", "a"]);
    repo
}

#[test]
fn a_committed_repository_layout_is_not_taken_for_the_repository() {
    let repo = with_a_planted_layout();
    let judge = qa_skill(["run", "--base", "main", "--head", "topic", "--repo"]);
    let judge = judge.arg(repo.path().join("service")).arg("--out").arg(repo.beside("out"));
    judge.run().expect_code(3, "REPOSITORY_UNSAFE");
}

#[test]
fn a_step_in_a_directory_that_a_change_made_a_submodule_judges_nothing_else() {
    let job = Job::new();
    let step = job.step(0);
    let planted = faulty();
    let id = planted.tip("main").to_string();
    git(&step.checkout, &["clone", "-q", planted.path().to_str().unwrap(), "service"]);
    git(&step.checkout, &["update-index", "--add", "--cacheinfo", &format!("160000,{id},service")]);
    git(&step.checkout, &["-c", "user.name=a", "-c", "user.email=a@a", "commit", "-qm", "a"]);
    let outcome = step.program().env("INPUT_WORKING-DIRECTORY", "service").run();
    assert_eq!(outcome.exit, 3, "{}{}", outcome.text(), outcome.stderr);
    assert!(outcome.text().contains("REPOSITORY_UNSAFE"), "{}", outcome.text());
}

#[test]
fn a_bare_repository_that_nobody_tracks_is_judged() {
    let repo = faulty();
    let bare = repo.beside("outer");
    std::fs::create_dir_all(&bare).unwrap();
    git(&bare, &["init", "-q"]);
    git(&bare, &["clone", "-q", "--bare", repo.path().to_str().unwrap(), "inner"]);
    let judge = qa_skill(["run", "--base", "main", "--head", "topic", "--repo"]);
    judge.arg(bare.join("inner")).arg("--out").arg(repo.beside("out")).run().expect(1);
}

#[test]
fn a_variable_that_only_looks_like_an_input_is_none() {
    let job = Job::new();
    let step = job.step(0);
    let expected = key(&step.program().run());
    for (name, value) in [
        ("INPUT_Preset", "advisory"),
        ("input_preset", "advisory"),
        ("Input_Mode", "best_effort"),
        ("INPUT_Lenses", "merge-leftover"),
        ("INPUT_Base", "HEAD"),
        ("GITHUB_Event_Path", "/dev/null"),
        ("github_api_url", "http://127.0.0.1:1"),
    ] {
        let outcome = step.program().env(name, value).run().expect(1);
        assert_eq!(key(&outcome), expected, "{name}");
    }
}

#[test]
fn certificates_that_the_environment_names_are_refused() {
    let job = Job::new();
    let step = job.step(0);
    for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
        let outcome = step.program().env(name, "/tmp/mine.pem").run().expect(2);
        assert!(outcome.text().contains(name), "{}", outcome.text());
    }
}

/// The execution key, which follows from everything that decides a verdict and names the run's directory.
fn key(outcome: &Outcome) -> String {
    let text = outcome.text();
    let command = text.lines().find(|line| line.starts_with("  verify ")).unwrap();
    command.rsplit('/').next().unwrap().to_owned()
}
