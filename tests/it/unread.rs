//! Files whose content is not text: a PASS counts them, and says so wherever it is read.

use serde_json::Value;

use crate::support::{Files, Repo};

/// A limit that keeps the files of these tests small.
const LIMIT: (&str, &str) = (".qa-skill/policy.toml", "[limits]\nmax-blob-bytes = 4096\n");

/// Bytes that are no text, over the limit.
fn picture(seed: u8) -> Vec<u8> {
    [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(), [0, 1, 2, 200, 210, seed].repeat(1000)].concat()
}

/// Judges a change of a file, which passes, and returns what each surface says.
fn passed(base: &[(&str, &[u8])], head: &[(&str, &[u8])]) -> [String; 4] {
    let files = |entries: &[(&str, &[u8])]| {
        entries.iter().fold(Files::from_texts(&[LIMIT]), |files, (path, bytes)| files.with(path, bytes))
    };
    let repo = Repo::new();
    repo.change(&files(base), &files(head));
    let outcome = repo.judge().run().expect(0);
    let run = repo.run_dir();
    run.verify().arg("--repo").arg(repo.path()).run().expect(0);
    let verdict: Value = run.json("final-verdict.json");
    let text = |file: &str| String::from_utf8(run.bytes(file)).unwrap();
    [
        outcome.text(),
        verdict["rationale"][0].as_str().unwrap().to_owned(),
        text("summary.md"),
        text("report.html"),
    ]
}

#[test]
fn a_pass_counts_the_files_whose_content_is_not_text() {
    let (one, other) = (&picture(1)[..], &picture(2)[..]);
    let (small, text) = (&one[..64], &b"x\n"[..]);
    for (name, base, head) in [
        ("a small picture", &[][..], &[("logo.png", small)][..]),
        ("a large picture", &[], &[("logo.png", one)]),
        ("another picture", &[("logo.png", one)], &[("logo.png", other)]),
        ("a picture in place of text", &[("logo.png", text)], &[("logo.png", small)]),
    ] {
        for text in passed(base, head) {
            assert!(text.contains("; 1 binary file was not read"), "{name}: {text}");
        }
    }
    let [text, ..] = passed(&[], &[("a.png", one), ("b.png", other)]);
    assert!(text.contains("; 2 binary files were not read"), "{text}");
}

#[test]
fn a_pass_says_nothing_of_binary_files_whose_bytes_the_change_does_not_bring() {
    let (one, text) = (&picture(1)[..], &b"x\n"[..]);
    for (name, base, head) in [
        ("a picture that goes", &[("logo.png", one)][..], &[("x", text)][..]),
        ("a picture that becomes text", &[("logo.png", one)], &[("logo.png", text)]),
        ("a picture that moves", &[("a.png", one)], &[("b.png", one)]),
    ] {
        for text in passed(base, head) {
            assert!(!text.contains("not read"), "{name}: {text}");
        }
    }
}

#[test]
fn a_script_in_an_encoding_that_makes_another_program_is_no_pass() {
    for (path, start) in [
        ("tool.py", &b"# coding: utf-7\n"[..]),
        ("bin/tool", b"#!/usr/bin/env python3\n# coding: unicode_escape\n"),
        ("run.ps1", b"\xff\xfe\0\0"),
    ] {
        let repo = Repo::new();
        let base = Files::from_texts(&[("z", "z\n")]);
        repo.change(&base, &base.clone().with(path, [start, b"import os\n"].concat()));
        repo.judge().run().expect(3);
        let run = repo.run_dir();
        let errors = run.json("final-verdict.json")["errorCodes"].to_string();
        assert!(errors.contains("ENCODING_UNREAD"), "{path}: {errors}");
        run.verify().run().expect(0);
        run.verify().arg("--repo").arg(repo.path()).run().expect(0);
    }
    // A name for what the bytes are anyway changes nothing.
    for start in [&b"# -*- coding: utf-8 -*-\n"[..], b"# coding: latin-1\n"] {
        let repo = Repo::new();
        let base = Files::from_texts(&[("z", "z\n")]);
        repo.change(&base, &base.clone().with("tool.py", [start, b"import os\n"].concat()));
        repo.judge().run().expect(0);
    }
}
