//! Generated repositories: a history, a topic branch, and a change that several rules find something in.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use git2::Oid;

use crate::determinism::{lines, utf16};
use crate::support::{Files, Random, Repo, RunDir, conflict, other_token, token};

/// When the first commit of a history is made; the next ones follow an hour apart.
const FIRST: i64 = 1_714_564_800;

/// A change and the run that every other run of it has to equal.
pub(super) struct Change {
    pub(super) repo: PathBuf,
    pub(super) base: String,
    pub(super) head: String,
    /// Commits from the tip of either branch to a commit below the merge base.
    pub(super) depth: usize,
    pub(super) reference: RunDir,
    /// Removes the repository with the value.
    _home: Home,
}

/// A repository of which only the directory is used from now on, so that threads may share it.
struct Home(#[expect(dead_code, reason = "removes the directory when it is dropped")] std::sync::Mutex<Repo>);

/// A file that differs between base and head; a side without bytes does not have it.
struct Plant {
    path: &'static [u8],
    base: Option<Vec<u8>>,
    head: Option<Vec<u8>>,
}

fn plant(path: &'static (impl AsRef<[u8]> + ?Sized), base: &str, head: &str) -> Plant {
    let bytes = |text: &str| (!text.is_empty()).then(|| text.as_bytes().to_vec());
    Plant { path: path.as_ref(), base: bytes(base), head: bytes(head) }
}

/// Files to draw from: what rules find, encodings, renames, binaries and unusual paths.
fn plants() -> Vec<Plant> {
    let workflow = |action: &str| format!("on: push\njobs:\n  a:\n    steps:\n      - uses: {action}\n");
    let pinned = workflow(&format!("actions/checkout@{}", "1".repeat(40)));
    let secrets = format!("KEY = \"{}\"\nOTHER = \"{}\"\n", token(), other_token());
    let skipped = "import pytest\n\n@pytest.mark.skip\ndef test_a():\n    assert True\n";
    let mut plants = vec![
        plant("src/config.py", "KEY = 1\n", &secrets),
        plant("src/bidi.rs", "// plain\n", "// \u{202e} } \u{2066}\n"),
        plant("src/debug.py", "value = 1\n", "value = 1\nbreakpoint()\n"),
        plant("src/call.py", "import requests\n", "import requests\nrequests.get(url, verify=False)\n"),
        plant("src/importer.py", "", "from src.nowhere import thing\n"),
        plant("web/app.js", "export const a = 1;\n", "import b from './gone.js';\nexport const a = b;\n"),
        plant("package.json", "{\"dependencies\":{}}\n", "{\"dependencies\":{\"left\":\"*\"}}\n"),
        plant("tests/test_a.py", "def test_a():\n    assert 1 == 1\n", skipped),
        plant(".github/workflows/ci.yml", &pinned, &workflow("actions/checkout@main")),
        plant(".gitattributes", "", "* -diff -text binary\n"),
        plant("docs/crlf.txt", "one\r\ntwo\r\n", "one\r\nthree\r\n"),
        plant("docs/no-final-newline", "one", "two"),
        plant("src/gone.py", "print('gone')\n", ""),
        plant("with space/and 'quotes' \"\".txt", "one\n", "two\n"),
        plant("-rf", "one\n", "two\n"),
        plant("tab\there\nand line", "one\n", "two\n"),
        plant("escape\u{1b}[31m.txt", "one\n", "two\n"),
        plant("\u{fc}n\u{ef}c\u{f6}d\u{e9}/\u{65e5}\u{672c}.txt", "one\n", "two\n"),
        plant("u\u{308}.txt", "", "decomposed\n"),
        plant(b"latin-\xe9.txt", "one\n", "two\n"),
        plant("CASE.txt", "one\n", "two\n"),
        plant("case.txt", "three\n", "four\n"),
    ];
    let bytes = |path: &'static str, base: &[u8], head: &[u8]| Plant {
        path: path.as_bytes(),
        base: Some(base.to_vec()),
        head: Some(head.to_vec()),
    };
    plants.push(bytes("docs/utf16.txt", &utf16("one\ntwo\n"), &utf16("one\nthree\n")));
    plants
}

/// Both sides of a drawn change. It always fails, by a conflict marker.
fn sides(random: &mut Random) -> (Files, Files) {
    let mut base = Files::from_texts(&[("README.md", "# A project\n")])
        .with("lib/exact.js", lines("exact", 30))
        .with("lib/inexact.go", lines("inexact", 40))
        .with("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
        .mode("100644", "tool.sh", "#!/bin/sh\n")
        .mode("120000", "link", "src/a0.rs");
    let mut head = base
        .clone()
        .without("lib/exact.js")
        .without("lib/inexact.go")
        .with("lib/exact-moved.js", lines("exact", 30))
        .with("lib/inexact-moved.go", lines("inexact", 37) + "let other = 1;\n")
        .with("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\x0eIHDR")
        .with("src/conflict.py", conflict())
        .mode("100755", "tool.sh", "#!/bin/sh\n")
        .mode("120000", "link", "src/a1.rs");
    for plant in plants().into_iter().filter(|_| random.below(4) > 0) {
        if let Some(bytes) = plant.base {
            base = base.with(plant.path, bytes);
        }
        if let Some(bytes) = plant.head {
            head = head.with(plant.path, bytes);
        }
    }
    // More files than one worker takes at a time.
    for number in 0..random.below(60) {
        let path = format!("src/a{number}.rs");
        base = base.with(&path, lines("a", 40));
        head = head.with(&path, lines("a", 20) + &format!("breakpoint({number});\n") + &lines("b", 20));
    }
    (base, head)
}

/// Commits with a file more each, on top of one another.
fn grow(repo: &Repo, files: &mut Files, tip: Option<Oid>, name: &str, count: usize) -> Option<Oid> {
    (0..count).fold(tip, |tip, number| {
        let path = format!("history/{name}-{number}.txt");
        *files = files.clone().with(&path, format!("{name} {number}\n"));
        Some(commit(repo, files, tip))
    })
}

fn commit(repo: &Repo, files: &Files, tip: Option<Oid>) -> Oid {
    let time = tip.map_or(FIRST, |tip| repo.git.find_commit(tip).unwrap().time().seconds() + 3600);
    repo.commit_at(repo.tree(files), tip.as_slice(), time)
}

/// Generates a repository and judges its change once.
pub(super) fn generate(random: &mut Random) -> Change {
    let repo = Repo::new();
    // Other users read it too.
    std::fs::set_permissions(repo.beside("."), PermissionsExt::from_mode(0o755)).unwrap();
    let (mut base, head) = sides(random);
    let common = grow(&repo, &mut base.clone(), None, "early", 1 + random.below(10));
    let fork = commit(&repo, &base, common);
    let (on_main, on_topic) = (random.below(3), random.below(3));
    let main = grow(&repo, &mut base, Some(fork), "main", on_main).unwrap();
    let topic = grow(&repo, &mut head.clone(), Some(fork), "topic", on_topic);
    let topic = commit(&repo, &head, topic);
    repo.reference("refs/heads/main", main);
    repo.reference("refs/heads/topic", topic);
    repo.judge().run().expect(1);
    let reference = repo.run_dir();
    reference.verify().run().expect(0);
    Change {
        repo: repo.path(),
        base: main.to_string(),
        head: topic.to_string(),
        depth: on_main.max(on_topic) + 3,
        reference,
        _home: Home(std::sync::Mutex::new(repo)),
    }
}

#[test]
fn a_generated_change_has_findings_of_several_rules_and_renames() {
    let change = generate(&mut super::Amounts::BOUNDED.for_change(0));
    let findings = change.reference.findings();
    let rules: std::collections::BTreeSet<&str> =
        findings.iter().filter_map(|finding| finding.split(' ').next()).collect();
    assert!(rules.len() >= 6, "{rules:?}");
    let set = change.reference.json("change-set.json");
    assert_eq!((&set["renames"]["exact"], &set["renames"]["inexact"]), (&1.into(), &1.into()));
    assert!(set["files"].as_array().unwrap().iter().any(|file| file["text"] == false));
}
