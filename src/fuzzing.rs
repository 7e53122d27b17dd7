//! Promises of the readers of foreign bytes, for any bytes: `fuzz/` searches counterexamples, tests run the seeds.
//!
//! A function panics if a promise is broken, and returns whether the reader accepted the bytes.

use std::path::Path;

use qa_contracts::strict_json;
use qa_core::policy::{Overrides, Policy};
use qa_core::{canonical, diff, policy::file, secrets};
use qa_gates::contract::{ImportEnd, Output, Places, ReportFile, Source, Tool};

pub use crate::git::fuzzing::{pack_protocol, tree};

/// Limits of an archive, small enough for thousands of tries.
const CAPS: crate::store::Caps = crate::store::Caps {
    archive_bytes: 1 << 16,
    entries: 20,
    file_bytes: 1 << 16,
    total_bytes: 1 << 17,
    ratio: 20,
    free_bytes: 1 << 14,
};

/// Checks that lines outside of the hunks are the same in both versions. A NUL separates the versions.
pub fn diff(bytes: &[u8]) -> bool {
    let middle = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (old, new) = (&bytes[..middle], bytes.get(middle + 1..).unwrap_or_default());
    // Small enough that seeds are compared as a whole, too.
    let found = diff::diff_file(old, new, 200);
    let (old, new): (Vec<&[u8]>, Vec<&[u8]>) = (lines(old), lines(new));
    let (mut next_old, mut next_new) = (0, 0);
    for hunk in &found.hunks {
        let (from_old, from_new) =
            (first_line(hunk.old_start, hunk.old_lines), first_line(hunk.new_start, hunk.new_lines));
        assert_eq!(old[next_old..from_old], new[next_new..from_new], "before {hunk:?}");
        (next_old, next_new) = (from_old + index(hunk.old_lines), from_new + index(hunk.new_lines));
    }
    assert_eq!(old[next_old..], new[next_new..], "after the last hunk");
    let text = &found.text.text;
    let mut end = 0;
    for cut in found.text.cuts.iter().flat_map(|cut| [cut.before, cut.removed, cut.added, cut.after]) {
        assert!(cut >= end && text.is_char_boundary(cut as usize), "{:?} of {text:?}", found.text.cuts);
        end = cut;
    }
    assert_eq!(end as usize, text.len());
    !found.hunks.is_empty()
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Returns the index of a range's first line; in a unified diff an empty range names the line before it.
fn first_line(start: u64, count: u64) -> usize {
    index(if count == 0 { start } else { start - 1 })
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("a text in memory has no more lines")
}

/// Checks that spans are sorted, disjoint and on character boundaries, and that masking keeps every place. `{{+}}` is
/// removed first, so that seeds hold no token that a scanner would report.
pub fn secrets(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).replace("{{+}}", "");
    let spans = secrets::find(&text);
    let mut end = 0;
    for span in &spans {
        assert!(span.start >= end && span.start < span.end && span.end <= text.len(), "{spans:?}");
        assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end), "{spans:?}");
        end = span.end;
    }
    let masked = secrets::masked(text.clone());
    assert_eq!(masked.len(), text.len());
    assert!(spans.iter().all(|span| !masked[span.start..span.end].contains(char::is_alphanumeric)));
    assert!(masked.match_indices('\n').eq(text.match_indices('\n')));
    !spans.is_empty()
}

/// Checks that what is read is what any reader of JSON reads, and that its canonical form stays as it is.
pub fn strict_json(bytes: &[u8]) -> bool {
    let Ok(value) = strict_json::parse(bytes) else { return false };
    let other: serde_json::Value = serde_json::from_slice(bytes).expect("strict JSON is JSON");
    assert_eq!(value, other);
    let form = canonical::to_vec(&value).expect("what JSON can say has a canonical form");
    let again = strict_json::parse(&form).expect("canonical JSON is strict");
    assert_eq!(canonical::to_vec(&again).expect("it was written before"), form);
    true
}

/// Checks that a policy and waivers are read or refused, and the same way each time.
pub fn policy(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let registry = qa_lenses::registry();
    let read = Policy::parse(Some(text), &Overrides::default(), &registry);
    assert_eq!(read, Policy::parse(Some(text), &Overrides::default(), &registry));
    let waivers = file::parse_waivers(text, &registry);
    read.is_ok() || waivers.is_ok()
}

/// Checks for every tool and format that a report with faults is not a pass, and is read the same way each time.
pub fn gate_report(bytes: &[u8]) -> bool {
    let mut accepted = false;
    for tool in qa_gates::ALL {
        for format in tool.spec().formats {
            let reports = [ReportFile { path: "report", bytes }];
            let source = Source::Import { format: *format, reports: &reports, end: ImportEnd::Unknown };
            accepted |= judge(*tool, source);
        }
    }
    accepted
}

fn judge(tool: &dyn Tool, source: Source<'_>) -> bool {
    let places = Places { roots: &["/work/repo"], directory: "", module: "" };
    let output = Output { gate: tool.spec().gates[0], source, places };
    let first = qa_gates::judge::judge(tool, &output);
    assert_eq!(first, qa_gates::judge::judge(tool, &output), "{}", tool.spec().id);
    let Ok(judged) = first else { return false };
    assert!(!(judged.passed && judged.report.totals.has_faults()), "{}: {judged:?}", tool.spec().id);
    true
}

/// Checks that an archive is unpacked into one new directory within its limits, or leaves nothing.
pub fn archive(bytes: &[u8]) -> bool {
    let home = tempfile::tempdir().expect("a temporary directory can be made");
    let (file, scratch) = (home.path().join("a.zip"), home.path().join("scratch"));
    std::fs::write(&file, bytes).expect("a file can be written");
    std::fs::create_dir(&scratch).expect("a directory can be made");
    let unpacked = crate::store::unpack(&file, CAPS, &scratch);
    assert_eq!(names(home.path()), ["a.zip", "scratch"]);
    let Ok(directory) = unpacked else {
        assert_eq!(names(&scratch), [""; 0]);
        return false;
    };
    assert_eq!(names(&scratch).len(), 1);
    assert!(size(directory.path()) <= CAPS.total_bytes);
    true
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a directory can be read");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Returns the bytes of all files below a directory, none of which may be a link.
fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).expect("a directory can be read");
    let mut total = 0;
    for entry in entries {
        let path = entry.expect("an entry").path();
        let metadata = std::fs::symlink_metadata(&path).expect("an entry has metadata");
        assert!(metadata.is_file() || metadata.is_dir(), "{}", path.display());
        total += if metadata.is_dir() { size(&path) } else { metadata.len() };
    }
    total
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// Name and function of a target.
    type Target = (&'static str, fn(&[u8]) -> bool);
    const TARGETS: &[Target] = &[
        ("archive", archive),
        ("diff", diff),
        ("gate_report", gate_report),
        ("pack_protocol", pack_protocol),
        ("policy", policy),
        ("secrets", secrets),
        ("strict_json", strict_json),
        ("tree", tree),
    ];
    /// Places of a seed that are cut at and changed, at most.
    const PLACES: usize = 40;

    fn folder(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(name)
    }

    fn seeds(target: &str) -> Vec<Vec<u8>> {
        let folder = folder("seeds").join(target);
        names(&folder).iter().map(|name| std::fs::read(folder.join(name)).unwrap()).collect()
    }

    #[test]
    fn every_target_has_seeds_and_a_program() {
        let targets: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names(&folder("seeds")), targets);
        assert_eq!(
            names(&folder("fuzz_targets")),
            targets.iter().map(|name| format!("{name}.rs")).collect::<Vec<_>>()
        );
        for (name, _) in TARGETS {
            let program = std::fs::read_to_string(folder("fuzz_targets").join(format!("{name}.rs"))).unwrap();
            assert!(program.contains(&format!("qa_skill::fuzzing::{name}(")), "{name}");
        }
    }

    #[test]
    fn readers_accept_seeds_and_refuse_some() {
        for (name, check) in TARGETS {
            let accepted: Vec<bool> = seeds(name).iter().map(|seed| check(seed)).collect();
            assert!(accepted.contains(&true) && accepted.contains(&false), "{name}: {accepted:?}");
        }
    }

    #[test]
    fn readers_keep_their_promises_for_seeds_cut_and_changed_anywhere() {
        for (name, check) in TARGETS {
            for seed in seeds(name) {
                for at in (0..seed.len()).step_by(seed.len() / PLACES + 1) {
                    check(&seed[..at]);
                    for mask in [0x01, 0x20, 0x80, 0xff] {
                        let mut changed = seed.clone();
                        changed[at] ^= mask;
                        check(&changed);
                    }
                }
            }
        }
    }
}
