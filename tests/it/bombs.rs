//! Files that an earlier step of a job plants in a git directory and that take far more memory to read than git ever
//! writes: they are refused before they are read.

use std::fs::File;
use std::path::{Path, PathBuf};

use git2::Oid;

use crate::support::{Files, GIT_FILES, Repo, git, qa_skill};

/// Memory that a run may write to: enough for an honest one, and a fraction of what a planted file would take.
const MEMORY: &str = "--data=805306368";
/// Size of a planted file, in bytes. It has no blocks on the disk.
const SPARSE_BYTES: u64 = 3 << 30;
/// Size that a planted object has once it is inflated, in bytes.
const INFLATED_BYTES: usize = 2 << 30;

fn changed() -> Repo {
    let base = Files::from_texts(&[("a.py", "a = 1\n"), ("docs/a.md", "a\n")]);
    let repo = Repo::new();
    repo.change(&base, &base.clone().with("a.py", "a = 2\n"));
    repo
}

fn loose(repo: &Repo, id: Oid) -> PathBuf {
    let id = id.to_string();
    repo.path().join(".git/objects").join(&id[..2]).join(&id[2..])
}

/// Writes a file of zeros that takes no room on the disk, behind what it begins with.
fn plant_sparse(path: &Path, begin: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _was_a_file = std::fs::remove_file(path);
    std::fs::write(path, begin).unwrap();
    File::options().write(true).open(path).unwrap().set_len(SPARSE_BYTES).unwrap();
}

/// Deflates bytes into blocks that can be repeated.
fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut blocks = Vec::with_capacity(bytes.len() + 1024);
    let mut deflate = flate2::Compress::new(flate2::Compression::fast(), false);
    deflate.compress_vec(bytes, &mut blocks, flate2::FlushCompress::Full).unwrap();
    blocks
}

/// Plants a loose object that inflates to zeros, whatever size its header claims.
fn plant_bomb(repo: &Repo, id: Oid, kind: &str, claimed: usize) {
    const CHUNK: usize = 1 << 20;
    let mut file = vec![0x78, 0x01];
    file.extend(deflated(format!("{kind} {claimed}\0").as_bytes()));
    file.extend(deflated(&[0; CHUNK]).repeat(INFLATED_BYTES / CHUNK));
    let path = loose(repo, id);
    let _was_a_file = std::fs::remove_file(&path);
    std::fs::write(path, file).unwrap();
}

/// Plants a loose object in the notation of a pack, whose content may be longer than its header claims.
fn plant_packlike_bomb(repo: &Repo, id: Oid) {
    const CHUNK: usize = 1 << 20;
    // A tree of ten bytes.
    let mut file = vec![0x2a, 0x78, 0x01];
    file.extend(deflated(&[0; CHUNK]).repeat(INFLATED_BYTES / CHUNK));
    let path = loose(repo, id);
    let _was_a_file = std::fs::remove_file(&path);
    std::fs::write(path, file).unwrap();
}

/// Judges with little memory, which has to end with a code.
fn refused(repo: &Repo, code: &str, what: &str) {
    let outcome = repo.judge().under(["prlimit", MEMORY]).run();
    assert_eq!((outcome.exit, outcome.code()), (3, code), "{what}: {}", outcome.stderr);
    assert!(outcome.stderr.contains("delete the checkout and fetch again"), "{what}: {}", outcome.stderr);
}

#[test]
fn little_memory_is_enough_for_an_honest_run() {
    changed().judge().under(["prlimit", MEMORY]).run().expect(0);
}

#[test]
fn a_file_that_is_larger_than_git_writes_it_is_refused_before_it_is_read() {
    for name in GIT_FILES {
        let repo = changed();
        plant_sparse(&repo.path().join(".git").join(name), b"");
        refused(&repo, "REPOSITORY_UNSAFE", name);
    }
}

#[test]
fn files_of_a_repository_around_are_bounded_too() {
    for name in ["index", "packed-refs", "refs/heads/topic"] {
        let repo = changed();
        git(&repo.path(), &["clone", "-q", "--bare", ".", "inner"]);
        plant_sparse(&repo.path().join(".git").join(name), b"");
        let judged = qa_skill(["run", "--base", "main", "--head", "topic", "--repo"]);
        let judged = judged.arg(repo.path().join("inner")).under(["prlimit", MEMORY]);
        judged.run().expect_code(3, "REPOSITORY_UNSAFE");
    }
    let repo = changed();
    git(&repo.path(), &["clone", "-q", "--bare", ".", "inner"]);
    plant_bomb(&repo, repo.tree_at_tip("topic"), "tree", INFLATED_BYTES);
    let judged = qa_skill(["run", "--base", "main", "--head", "topic", "--repo"]);
    judged.arg(repo.path().join("inner")).under(["prlimit", MEMORY]).run().expect_code(3, "TREE_MALFORMED");
}

type Victim = fn(&Repo) -> Oid;

#[test]
fn a_loose_object_that_is_larger_than_its_kind_is_refused_before_it_is_read() {
    let victims: [(&str, &str, Victim); 6] = [
        ("tree", "TREE_MALFORMED", |repo| repo.tree_at_tip("topic")),
        ("tree", "TREE_MALFORMED", |repo| repo.tree_at_tip("main")),
        ("commit", "OBJECT_MISSING", |repo| repo.tip("topic")),
        ("commit", "OBJECT_MISSING", |repo| repo.tip("main")),
        ("tag", "OBJECT_MISSING", |repo| repo.tip("topic")),
        ("blob", "OBJECT_MISSING", |repo| repo.blob_at_tip("topic", "a.py")),
    ];
    for (kind, code, victim) in victims {
        let repo = changed();
        plant_bomb(&repo, victim(&repo), kind, INFLATED_BYTES);
        refused(&repo, code, kind);
    }
}

#[test]
fn a_loose_object_that_is_longer_than_its_header_claims_is_refused_before_it_is_read() {
    let victims: [Victim; 4] = [
        |repo| repo.tree_at_tip("topic"),
        |repo| repo.tip("main"),
        |repo| repo.blob_at_tip("topic", "a.py"),
        |repo| repo.blob_at_tip("main", "docs/a.md"),
    ];
    for (number, victim) in victims.into_iter().enumerate() {
        let tree = [&b"tree 10\0"[..], &[b'x'; 100]].concat();
        let begins: [&[u8]; 4] = [
            b"",
            &[0x2a, 0x78, 0x01],
            &[&[0x78, 0x01][..], &deflated(b"tree 10\0")].concat(),
            &[&[0x78, 0x01][..], &deflated(&tree)].concat(),
        ];
        for (begin, bytes) in begins.into_iter().enumerate() {
            let repo = changed();
            plant_sparse(&loose(&repo, victim(&repo)), bytes);
            refused(&repo, "REPOSITORY_UNSAFE", &format!("victim {number} begins in way {begin}"));
        }
        let repo = changed();
        plant_packlike_bomb(&repo, victim(&repo));
        refused(&repo, "REPOSITORY_UNSAFE", &format!("victim {number} in the notation of a pack"));
    }
}

#[test]
fn a_commit_of_the_history_that_inflates_without_end_is_refused() {
    let repo = Repo::new();
    let tree = |text: &str| repo.tree(&Files::from_texts(&[("a.py", text)]));
    let root = repo.commit(tree("a = 1\n"), &[]);
    let fork = repo.commit(tree("a = 2\n"), &[root]);
    repo.reference("refs/heads/main", repo.commit(tree("a = 3\n"), &[fork]));
    repo.reference("refs/heads/topic", repo.commit(tree("a = 4\n"), &[fork]));
    plant_bomb(&repo, fork, "commit", INFLATED_BYTES);
    refused(&repo, "OBJECT_MISSING", "the merge base");
}

/// A repository whose base and head changed one file in two ways, so that a merge is made of all their trees.
fn diverged(more: impl FnOnce(&Repo) -> Files) -> Repo {
    let repo = Repo::new();
    let more = more(&repo);
    let text = |first: &str, last: &str| format!("{first}\n{}{last}\n", "b\n".repeat(20));
    let tree = |text: String, more: &Files| repo.tree(&more.clone().with("a.txt", text));
    let root = repo.commit(tree(text("a", "c"), &Files::new()), &[]);
    repo.reference("refs/heads/main", repo.commit(tree(text("main", "c"), &Files::new()), &[root]));
    repo.reference("refs/heads/topic", repo.commit(tree(text("a", "topic"), &more), &[root]));
    repo
}

#[test]
fn a_merge_of_more_entries_than_a_repository_has_is_refused() {
    diverged(|_| Files::new()).judge().under(["prlimit", MEMORY]).run().expect(0);
    // Eight levels of ten directories stand for a hundred million files.
    let repo = diverged(|repo| {
        let names: Vec<String> = (0..10).map(|number| format!("d{number}")).collect();
        let below = (0..8).fold(repo.tree(&Files::from_texts(&[("x", "x\n")])), |below, _| {
            repo.raw_tree(names.iter().map(|name| ("40000", name.as_bytes(), below)))
        });
        Files::new().object("40000", "bomb", below)
    });
    repo.judge().under(["prlimit", MEMORY]).run().expect_code(3, "TREE_MALFORMED");
}
