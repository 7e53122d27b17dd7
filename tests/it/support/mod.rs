//! Repositories made object by object, the program run in a clean environment, and run directories read back.

pub(crate) mod answers;
pub(crate) mod canaries;
pub(crate) mod confirming;
pub(crate) mod fake_github;
#[cfg(target_os = "linux")]
pub(crate) mod fence;
mod forge;
pub(crate) mod git_http;
pub(crate) mod github_shapes;
mod hold;
pub(crate) mod hub;
pub(crate) mod injections;
pub(crate) mod kept;
pub(crate) mod kinds;
pub(crate) mod origin;
pub(crate) mod parts;
pub(crate) mod prism;
mod program;
mod repo;
pub(crate) mod reviews;
mod run_dir;
pub(crate) mod server;
pub(crate) mod step;
pub(crate) mod surfaces;
pub(crate) mod world;

pub(crate) use forge::{archive, canonical, follow_differences, rekey, repair, sha256, tamper, write_json};
pub(crate) use program::{Outcome, Program, in_another_programs_place, own_pids, qa_skill};
pub(crate) use repo::{Files, GIT_FILES, Repo, change, git};
pub(crate) use run_dir::{RunDir, copy_tree, runs_in};
pub(crate) use server::{Response, Server};

/// Returns the names of all output formats. A new one is then part of every test that tries them all.
pub(crate) fn formats() -> Vec<&'static str> {
    qa_formats::ALL.iter().map(|format| format.spec().id).collect()
}

/// Returns the name of each format that a run directory keeps, and its file there.
pub(crate) fn rendered_files() -> Vec<(&'static str, &'static str)> {
    let specs = qa_formats::ALL.iter().map(|format| format.spec());
    specs.filter_map(|spec| Some((spec.id, spec.file?))).collect()
}

/// A fresh directory that goes away with the test.
pub(crate) fn temp() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("qa-").tempdir().unwrap()
}

/// A line that a merge leaves behind; spelled out in no file, so that the tool can judge its own repository.
pub(crate) fn marker() -> String {
    format!("{} HEAD\n", "<".repeat(7))
}

/// A whole conflict.
pub(crate) fn conflict() -> String {
    format!("{}ours\n{}\ntheirs\n{} topic\n", marker(), "=".repeat(7), ">".repeat(7))
}

/// A token that looks like a real one and is none.
pub(crate) fn token() -> String {
    format!("gh{}{}", "p_", "9Jx2kQ7vTzR4mWc8Ld1Yb6HnPf3Gs5Ae0UoK")
}

/// Another one of the same kind and length.
pub(crate) fn other_token() -> String {
    format!("gh{}{}", "p_", "Zq8Wm3RtK5vXc1Lp7Nd9Hs2Jf6Gb4Ya0UeTo")
}

/// A generator that gives the same numbers everywhere (xorshift).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Lines with a token each, no two alike.
pub(crate) fn tokens(lines: usize) -> String {
    let alphabet = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut random = Random(7);
    let mut text = String::new();
    for _ in 0..lines {
        text.push_str("t = \"gh");
        text.push_str("p_");
        text.extend((0..36).map(|_| char::from(*random.pick(alphabet))));
        text.push_str("\"\n");
    }
    text
}

/// A change that fails, judged, with a recording that has text and a masked secret in it.
pub(crate) fn judged() -> Repo {
    let repo = change(
        &[("a.py", "a = 1\nb = 2\nc = 3\n"), ("config.py", "x = 1\n")],
        &[
            ("a.py", &format!("a = 1\nb = 5\nc = 3\n{}", conflict())),
            ("config.py", &format!("x = \"{}\"\n", token())),
        ],
    );
    repo.judge().run().expect(1);
    repo
}
