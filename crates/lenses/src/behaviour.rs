//! Holds the version of a lens to its behaviour: where a case of its page gives other findings than it did, the version
//! is another one too.
//!
//! `tests/corpus/behaviour.txt` has a line for each case: the lens, its version, and digests of the case's files and of
//! its findings. `UPDATE_CORPUS=1` writes it, but never where a version had to be raised.

use std::collections::BTreeMap;

use super::ALL;
use super::corpus::{Case, cases_of};
use qa_core::canonical;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/behaviour.txt");

/// A case as it was recorded: the version of its lens, and the digest of its findings.
struct Recorded<'t> {
    version: &'t str,
    findings: &'t str,
}

/// Returns the first digits of a text's digest.
fn short_digest(text: &str) -> String {
    canonical::sha256(text.as_bytes()).as_str()[..12].to_owned()
}

fn files_digest(case: &Case) -> String {
    short_digest(&format!("{:?} {:?}", case.files, case.policy))
}

/// Returns the digest of a lens's own findings in a case.
fn findings_digest(case: &Case, lens: &str) -> String {
    let own = format!(" {lens}/");
    let mut lines: Vec<&str> =
        case.expect.iter().map(String::as_str).filter(|line| line.contains(&own)).collect();
    lines.sort_unstable();
    short_digest(&lines.join("\n"))
}

#[test]
fn a_lens_that_finds_something_else_has_another_version() {
    let text = std::fs::read_to_string(FILE).unwrap_or_default();
    let mut recorded: BTreeMap<(&str, &str), Recorded<'_>> = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let &[lens, version, files, findings] = &words[..] else { panic!("four words: {line}") };
        recorded.insert((lens, files), Recorded { version, findings });
    }
    let (mut now, mut unraised) = (BTreeMap::new(), Vec::new());
    for lens in ALL {
        let (id, version) = (lens.spec().id, lens.spec().version);
        for case in cases_of(*lens) {
            let (files, findings) = (files_digest(&case), findings_digest(&case, id));
            let before = recorded.get(&(id, files.as_str()));
            if before.is_some_and(|before| before.version == version && before.findings != findings) {
                unraised.push(format!("{id} {version}: {}", case.title));
            }
            now.insert((id, files.clone()), format!("{id} {version} {files} {findings}\n"));
        }
    }
    assert!(
        unraised.is_empty(),
        "raise the version of the lens, it finds other things:\n{}",
        unraised.join("\n")
    );
    let now: String = now.into_values().collect();
    if std::env::var_os("UPDATE_CORPUS").is_some() {
        std::fs::write(FILE, &now).unwrap();
        return;
    }
    assert!(now == text, "cases or versions changed; UPDATE_CORPUS=1 writes {FILE}");
}
