//! Holds the version of a lens to its behaviour: where a case of its page gives other findings than it did, the version
//! is another one too.
//!
//! `tests/corpus/behaviour.txt` has the version of each lens, and for each case digests of its files and of its findings. `UPDATE_CORPUS=1` writes it, but never where a version had to be raised.

use std::collections::BTreeMap;

use super::ALL;
use super::corpus::{Case, cases_of};
use qa_core::canonical;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/behaviour.txt");

/// Version of a lens, and digests of the findings by those of the files, of its cases.
#[derive(Default)]
struct Recorded<'t> {
    version: &'t str,
    findings: BTreeMap<&'t str, &'t str>,
}

/// Parses the file: a line for each lens, and below it one for each of its cases.
fn parse(text: &str) -> BTreeMap<&str, Recorded<'_>> {
    let mut lenses: BTreeMap<&str, Recorded<'_>> = BTreeMap::new();
    let mut lens = "";
    for line in text.lines() {
        let (first, second) = line.trim_start().split_once(' ').expect("two words");
        if line.starts_with(' ') {
            lenses.entry(lens).or_default().findings.insert(first, second);
        } else {
            lens = first;
            lenses.entry(lens).or_default().version = second;
        }
    }
    lenses
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
    let recorded = parse(&text);
    let (mut now, mut unraised) = (String::new(), Vec::new());
    for lens in ALL {
        let (id, version) = (lens.spec().id, lens.spec().version);
        let before = recorded.get(id).filter(|before| before.version == version);
        let mut cases = BTreeMap::new();
        for case in cases_of(*lens) {
            let (files, findings) = (files_digest(&case), findings_digest(&case, id));
            let old = before.and_then(|before| before.findings.get(files.as_str()));
            if old.is_some_and(|old| *old != findings) {
                unraised.push(format!("{id} {version}: {}", case.title));
            }
            cases.insert(files, findings);
        }
        now += &format!("{id} {version}\n");
        now.extend(cases.iter().map(|(files, findings)| format!("  {files} {findings}\n")));
    }
    assert!(
        unraised.is_empty(),
        "raise the version of the lens, it finds other things:\n{}",
        unraised.join("\n")
    );
    if std::env::var_os("UPDATE_CORPUS").is_some() {
        std::fs::write(FILE, &now).unwrap();
        return;
    }
    assert!(now == text, "cases or versions changed; UPDATE_CORPUS=1 writes {FILE}");
}
