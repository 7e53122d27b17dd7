//! A run in parts gives what one process gives, and parts that are not all there give nothing.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Files, Program, Repo, RunDir, conflict, copy_tree, qa_skill, token};

/// A change of thirty files, some with findings, one of them moved between files of different shards.
fn wide() -> Repo {
    let mut base = Files::new();
    let mut head = Files::new();
    for number in 0..30 {
        let path = format!("src/{number:02}.py");
        base = base.with(&path, format!("value = {number}\n"));
        head = head.with(&path, format!("value = {}\n", number * 3 + 1));
    }
    base = base.with("src/03.py", format!("value = 3\nkey = \"{}\"\n", token()));
    head = head
        .with("src/27.py", format!("value = 4\nkey = \"{}\"\n", token()))
        .with("src/11.py", conflict())
        .with("tests/test_a.py", "def test_a():\n    assert True\n");
    base =
        base.with("tests/test_a.py", "def test_a():\n    assert one()\n\ndef test_b():\n    assert two()\n");
    let repo = Repo::new();
    repo.change(&base, &head);
    repo
}

fn shard(repo: &Repo, number: u64, of: u64) -> Program {
    with_root(repo, "run", &format!("parts-{of}")).arg("--shard").arg(format!("{number}/{of}"))
}

fn with_root(repo: &Repo, command: &str, root: &str) -> Program {
    qa_skill([command, "--base", "main", "--head", "topic", "--preset", "guarded", "--repo"])
        .arg(repo.path())
        .arg("--out")
        .arg(repo.beside(root))
}

fn aggregate(repo: &Repo, parts: &str, root: &str) -> Program {
    with_root(repo, "aggregate", root).arg("--parts").arg(repo.beside(parts))
}

/// The files of all parts below an artifact root.
fn part_files(repo: &Repo, root: &str) -> Vec<PathBuf> {
    let keys = std::fs::read_dir(repo.beside(root).join("parts")).unwrap();
    let key = keys.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(key).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn joined_parts_are_the_run_of_one_process_byte_for_byte() {
    let repo = wide();
    let exit = with_root(&repo, "run", "single").run().exit;
    let single = RunDir::only(&repo.beside("single"));
    for of in [1, 3, 33] {
        for number in (1..=of).rev() {
            shard(&repo, number, of).run().expect(0);
        }
        let root = format!("joined-{of}");
        aggregate(&repo, &format!("parts-{of}"), &root).run().expect(exit);
        let joined = RunDir::only(&repo.beside(&root));
        assert_eq!(joined.digests(), single.digests(), "{of} shards");
        assert_eq!(joined.0.file_name(), single.0.file_name());
        qa_skill(["verify"]).arg(&joined.0).arg("--repo").arg(repo.path()).run().expect(0);
    }
    assert_eq!(exit, 1);
}

#[test]
fn a_matrix_has_no_more_shards_than_files_and_covers_them_all() {
    let repo = wide();
    let plan = |shards: &str| {
        qa_skill(["plan", "--base", "main", "--head", "topic", "--shards", shards, "--repo"])
            .arg(repo.path())
            .run()
    };
    for (asked, given) in [("1", 1), ("4", 4), ("256", 31)] {
        let outcome = plan(asked).expect(0);
        assert_eq!(outcome.text().lines().count(), 1, "one line, for an output");
        let rows = outcome.json()["include"].as_array().unwrap().clone();
        assert_eq!(rows.len(), given);
        assert_eq!(rows.iter().map(|row| row["files"].as_u64().unwrap()).sum::<u64>(), 31);
        assert_eq!(rows[0]["shard"], json!(format!("1/{given}")));
    }
    for wrong in ["0", "257"] {
        plan(wrong).expect(2);
    }
}

#[test]
fn a_part_that_is_lost_or_foreign_or_twice_there_is_no_verdict() {
    let repo = wide();
    for number in 1..=3 {
        shard(&repo, number, 3).run().expect(0);
    }
    shard(&repo, 1, 2).run().expect(0);
    let files = part_files(&repo, "parts-3");
    let spoil = |name: &str, change: &dyn Fn(&PathBuf)| {
        let place = repo.beside(name);
        copy_tree(&repo.beside("parts-3"), &place);
        change(&place);
        let outcome = aggregate(&repo, name, &format!("out-{name}")).run();
        assert!(!repo.beside(&format!("out-{name}")).join("runs").exists(), "{name}");
        outcome
    };
    let inside =
        |root: &PathBuf, file: &PathBuf| root.join(file.strip_prefix(repo.beside("parts-3")).unwrap());

    let lost = spoil("lost", &|root| std::fs::remove_file(inside(root, &files[1])).unwrap());
    let lost = lost.expect_code(3, "SHARD_MISSING");
    assert!(lost.stderr.contains("part 2/3"), "{}", lost.stderr);
    let twice = spoil("twice", &|root| {
        std::fs::copy(&files[1], root.join("again.json")).unwrap();
    });
    twice.expect_code(3, "SHARD_MISSING");
    let mixed = spoil("mixed", &|root| {
        std::fs::copy(&part_files(&repo, "parts-2")[0], root.join("other.json")).unwrap();
    });
    mixed.expect_code(3, "SHARD_MISSING");
    let empty = spoil("empty", &|root| {
        std::fs::remove_dir_all(root).unwrap();
        std::fs::create_dir(root).unwrap();
    });
    empty.expect_code(3, "SHARD_MISSING");
    let cut = spoil("cut", &|root| {
        let file = inside(root, &files[1]);
        let bytes = std::fs::read(&file).unwrap();
        std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    });
    cut.expect_code(3, "ARTIFACT_SCHEMA_INVALID");

    repo.change(&Files::from_texts(&[("a.py", "a = 1\n")]), &Files::from_texts(&[("a.py", "a = 2\n")]));
    aggregate(&repo, "parts-3", "other-key").run().expect_code(3, "SHARD_MISSING");
}

#[test]
fn a_part_that_hides_something_behind_a_large_change_does_not_pass() {
    // The self-test of a run in one process ends long before the last file.
    let large =
        |seed: usize| (0..20_000).map(|line| format!("value_{line} = {}\n", line * seed)).collect::<String>();
    let repo = Repo::new();
    let base = Files::from_texts(&[("src/a.py", &large(3)), ("src/z.py", "value = 1\n")]);
    repo.change(&base, &Files::from_texts(&[("src/a.py", &large(5)), ("src/z.py", &conflict())]));
    with_root(&repo, "run", "single").run().expect(1);
    shard(&repo, 1, 1).run().expect(0);
    let path = part_files(&repo, "parts-1").remove(0);
    let mut part: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    for outcome in part["files"][1]["outcomes"].as_array_mut().unwrap() {
        outcome["drafts"] = json!([]);
        outcome["facts"] = json!([]);
    }
    let mut bytes = serde_json_canonicalizer::to_vec(&part).unwrap();
    bytes.push(b'\n');
    std::fs::write(&path, bytes).unwrap();
    let outcome = aggregate(&repo, "parts-1", "joined").run().expect(3);
    assert!(outcome.text().contains("CROSS_CHECK_FAILED"), "{}", outcome.text());
}

#[test]
fn a_part_that_hides_what_a_lens_found_does_not_pass() {
    let repo = wide();
    for number in 1..=2 {
        shard(&repo, number, 2).run().expect(0);
    }
    let forge = |name: &str, change: &dyn Fn(&mut Value)| {
        for path in part_files(&repo, "parts-2") {
            let mut part: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            for file in part["files"].as_array_mut().unwrap() {
                change(file);
            }
            let place = repo.beside(name);
            std::fs::create_dir_all(&place).unwrap();
            let mut bytes = serde_json_canonicalizer::to_vec(&part).unwrap();
            bytes.push(b'\n');
            std::fs::write(place.join(path.file_name().unwrap()), bytes).unwrap();
        }
        aggregate(&repo, name, &format!("out-{name}")).run()
    };
    let silent = forge("silent", &|file| {
        for outcome in file["outcomes"].as_array_mut().unwrap() {
            outcome["drafts"] = json!([]);
            outcome["facts"] = json!([]);
        }
    });
    assert_eq!(silent.exit, 3, "the second look repeats lenses: {}", silent.text());
    assert!(silent.text().contains("CROSS_CHECK_FAILED"), "{}", silent.text());
    let panicked = forge("panicked", &|file| {
        for outcome in file["outcomes"].as_array_mut().unwrap() {
            outcome["panicked"] = json!(true);
        }
    });
    assert_eq!(panicked.exit, 3, "a lens that ended unexpectedly has no result: {}", panicked.text());
    assert!(panicked.text().contains("LENS_PANICKED"), "{}", panicked.text());
    let dropped = forge("dropped", &|file| {
        file["outcomes"].as_array_mut().unwrap().pop();
    });
    dropped.expect_code(3, "SHARD_MISSING");
    let foreign = forge("foreign", &|file| {
        for outcome in file["outcomes"].as_array_mut().unwrap() {
            for draft in outcome["drafts"].as_array_mut().unwrap() {
                draft["rule"] = json!("nobody/knows");
            }
        }
    });
    foreign.expect_code(3, "ARTIFACT_SCHEMA_INVALID");
    let change_facts = |file: &mut Value, change: &dyn Fn(&mut Value)| {
        let outcomes = file["outcomes"].as_array_mut().unwrap().iter_mut();
        outcomes.flat_map(|outcome| outcome["facts"].as_array_mut().unwrap()).for_each(change);
    };
    let foreign_fact = forge("foreign-fact", &|file| {
        change_facts(file, &|fact| {
            if !fact["draft"].is_null() {
                fact["draft"]["rule"] = json!("nobody/knows");
            }
        });
    });
    foreign_fact.expect_code(3, "ARTIFACT_SCHEMA_INVALID");
    let untyped = forge("untyped", &|file| change_facts(file, &|fact| fact["kind"] = json!("added")));
    untyped.expect_code(3, "ARTIFACT_SCHEMA_INVALID");
}

#[test]
fn a_single_file_is_counted_in_the_singular() {
    let repo = Repo::new();
    let base = Files::from_texts(&[("a.py", "value = 1\n")]);
    repo.change(&base, &base.clone().with("a.py", format!("key = \"{}\"\n", token())));
    let part = shard(&repo, 1, 1).run().expect(0).text();
    assert!(part.contains(": 1 file, no verdict; "), "{part}");
    with_root(&repo, "run", "single").run().expect(1);
    let text = RunDir::only(&repo.beside("single")).verify().run().expect(0).text();
    assert!(text.contains("the recording masks secrets in 1 file; "), "{text}");
}
