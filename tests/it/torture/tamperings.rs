//! Everything but flipped bits that can be done to a run directory: each is noticed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::Amounts;
use super::changes::generate;
use super::flips::refused;
use crate::support::{Outcome, Random, RunDir, temp};

/// A way to damage one file of a run. Returns false where the file is as it was.
type Damage = fn(&RunDir, &str, &mut Random) -> bool;

const DAMAGES: &[(&str, Damage)] = &[
    ("cut short", |run, name, random| {
        rewrite(run, name, |bytes| bytes[..random.below(bytes.len())].to_vec())
    }),
    ("a byte appended", |run, name, random| {
        rewrite(run, name, |bytes| [bytes, &[*random.pick(b"\n \0}]x")]].concat())
    }),
    ("a byte inserted", |run, name, random| {
        rewrite(run, name, |bytes| {
            let at = random.below(bytes.len());
            [&bytes[..at], b" ", &bytes[at..]].concat()
        })
    }),
    ("a byte removed", |run, name, random| {
        rewrite(run, name, |bytes| {
            let at = random.below(bytes.len());
            [&bytes[..at], &bytes[at + 1..]].concat()
        })
    }),
    ("a block of zeros", |run, name, random| {
        rewrite(run, name, |bytes| {
            let (start, mut zeroed) = (random.below(bytes.len()), bytes.to_vec());
            zeroed[start..].iter_mut().take(4096).for_each(|byte| *byte = 0);
            zeroed
        })
    }),
    ("a byte order mark", |run, name, _| rewrite(run, name, |bytes| [b"\xef\xbb\xbf", bytes].concat())),
    ("line ends of another system", |run, name, _| {
        rewrite(run, name, |bytes| String::from_utf8_lossy(bytes).replace('\n', "\r\n").into_bytes())
    }),
    ("indented", |run, name, _| rewrite(run, name, indented)),
    ("a member twice", |run, name, _| rewrite(run, name, with_first_member_twice)),
    ("members in another order", |run, name, _| rewrite(run, name, with_first_member_last)),
    ("swapped with another file", swap),
    ("removed", |run, name, _| fs::remove_file(run.path(name)).is_ok()),
    ("renamed", |run, name, _| fs::rename(run.path(name), run.path(&format!("{name}.old"))).is_ok()),
    ("copied beside", |run, name, _| fs::copy(run.path(name), run.path(&format!("{name}.old"))).is_ok()),
    ("in another case", |run, name, _| fs::rename(run.path(name), run.path(&name.to_uppercase())).is_ok()),
    ("a link to itself elsewhere", |run, name, _| {
        let elsewhere = run.0.with_file_name("elsewhere");
        fs::rename(run.path(name), &elsewhere).is_ok() && symlink(elsewhere, run.path(name)).is_ok()
    }),
    ("a directory", |run, name, _| {
        fs::remove_file(run.path(name)).is_ok() && fs::create_dir(run.path(name)).is_ok()
    }),
    ("a pipe", |run, name, _| {
        fs::remove_file(run.path(name)).unwrap();
        std::process::Command::new("mkfifo").arg(run.path(name)).status().unwrap().success()
    }),
    ("an empty directory beside it", |run, name, _| fs::create_dir(run.path(&format!("{name}.d"))).is_ok()),
    ("a hidden file beside it", |run, name, _| {
        let hidden = Path::new(name).with_file_name(".hidden");
        fs::write(run.0.join(hidden), "").is_ok()
    }),
    ("under the key of another run", rename_run),
    ("its directory a link", link_directory),
];

fn rewrite(run: &RunDir, name: &str, change: impl FnOnce(&[u8]) -> Vec<u8>) -> bool {
    let before = run.bytes(name);
    let after = change(&before);
    fs::write(run.path(name), &after).unwrap();
    before != after
}

fn indented(bytes: &[u8]) -> Vec<u8> {
    let value = serde_json::from_slice::<serde_json::Value>(bytes);
    value.map_or_else(|_| bytes.to_vec(), |value| serde_json::to_vec_pretty(&value).unwrap())
}

/// Splits an object after its first member, where that is a text or an array of the last level.
fn first_member(bytes: &[u8]) -> Option<(String, String)> {
    let text = std::str::from_utf8(bytes).ok()?.strip_prefix("{\"")?;
    let mut ends = text.match_indices(",\"").map(|(at, _)| at);
    let end = ends.find(|end| {
        let member = format!("{{\"{}}}", &text[..*end]);
        serde_json::from_str::<serde_json::Value>(&member).is_ok()
    })?;
    Some((format!("\"{}", &text[..end]), text[end + 1..].to_owned()))
}

fn with_first_member_twice(bytes: &[u8]) -> Vec<u8> {
    first_member(bytes)
        .map_or(bytes.to_vec(), |(first, rest)| format!("{{{first},{first},{rest}").into_bytes())
}

fn with_first_member_last(bytes: &[u8]) -> Vec<u8> {
    let Some((first, rest)) = first_member(bytes) else { return bytes.to_vec() };
    let inner = rest.trim_end().strip_suffix('}').unwrap();
    format!("{{{inner},{first}}}\n").into_bytes()
}

fn swap(run: &RunDir, name: &str, random: &mut Random) -> bool {
    let names = run.files();
    let other = random.pick(&names);
    let (left, right) = (run.bytes(name), run.bytes(other));
    fs::write(run.path(name), &right).unwrap();
    fs::write(run.path(other), &left).unwrap();
    left != right
}

fn rename_run(run: &RunDir, _: &str, random: &mut Random) -> bool {
    let name = run.0.file_name().unwrap().to_str().unwrap();
    let at = random.below(64);
    let digit = if &name[at..=at] == "0" { "1" } else { "0" };
    let other = format!("{}{digit}{}", &name[..at], &name[at + 1..]);
    fs::rename(&run.0, run.0.with_file_name(other)).is_ok()
}

/// Moves `recordings` out of the run and puts a link in its place.
fn link_directory(run: &RunDir, _: &str, _: &mut Random) -> bool {
    let elsewhere = run.0.with_file_name("elsewhere");
    fs::rename(run.path("recordings"), &elsewhere).is_ok()
        && symlink(elsewhere, run.path("recordings")).is_ok()
}

/// Verifies the only directory of a key below a directory, whatever its name is now.
fn verify_below(home: &Path) -> Outcome {
    let named = |path: &Path| path.file_name().is_some_and(|name| name.len() == 64);
    let mut paths = fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path());
    RunDir(paths.find(|path| named(path)).unwrap()).verify().run()
}

fn tamper(random: &mut Random, stored: &RunDir, (damage, apply): (&str, Damage)) -> Result<(), String> {
    let home = temp();
    let run = stored.copy_to(&home.path().join(stored.0.file_name().unwrap()));
    let names = run.files();
    let name = if random.below(3) == 0 { "hashes.json" } else { random.pick(&names) };
    if !apply(&run, name, random) {
        return Ok(());
    }
    refused(&verify_below(home.path())).map_err(|fault| format!("{name} {damage}: {fault}"))
}

#[test]
fn every_tampering_with_a_run_directory_is_noticed() {
    let amounts = Amounts::from_environment();
    let change = generate(&mut amounts.for_change(0));
    amounts.for_each("tamperings", amounts.tamperings, |random, case| {
        tamper(random, &change.reference, DAMAGES[case % DAMAGES.len()])
    });
}
