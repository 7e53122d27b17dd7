//! Single bits flipped in a stored run and in its archive: every one is noticed.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Amounts;
use super::changes::generate;
use crate::drift::packed;
use crate::support::{Outcome, Random, RunDir, qa_skill, temp};

/// Expects that a program ended with a code and without the words of a success.
pub(super) fn refused(outcome: &Outcome) -> Result<(), String> {
    if [3, 4].contains(&outcome.exit) && !outcome.code().is_empty() && outcome.stdout.is_empty() {
        return Ok(());
    }
    Err(format!("exit code {}: {}{}", outcome.exit, outcome.text(), outcome.stderr))
}

/// Flips one bit and returns its place.
fn flip(random: &mut Random, bytes: &mut [u8]) -> String {
    let (byte, bit) = (random.below(bytes.len()), random.below(8));
    bytes[byte] ^= 1 << bit;
    format!("bit {bit} of byte {byte}")
}

fn flip_in_directory(random: &mut Random, stored: &RunDir) -> Result<(), String> {
    let home = temp();
    let run = stored.copy_to(&home.path().join(stored.0.file_name().unwrap()));
    // The manifest as often as all other files: nothing vouches for it but itself.
    let names = run.files();
    let name = if random.below(2) == 0 { "hashes.json" } else { random.pick(&names) };
    let mut bytes = run.bytes(name);
    let place = flip(random, &mut bytes);
    std::fs::write(run.path(name), bytes).unwrap();
    refused(&run.verify().run()).map_err(|fault| format!("{place} of {name}: {fault}"))
}

/// Returns the files of an archive by name, unless it cannot be read.
fn contents(archive: &[u8]) -> Option<BTreeMap<String, Vec<u8>>> {
    let mut zip = zip::ZipArchive::new(Cursor::new(archive)).ok()?;
    let mut files = BTreeMap::new();
    for index in 0..zip.len() {
        let mut file = zip.by_index(index).ok()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        let name = file.name().ok()?.into_owned();
        files.insert(name, bytes);
    }
    Some(files)
}

/// Flips a bit of the archive. Returns false where the flip is accepted because every file and name is read as before: in
/// times and attributes, and in the header before each entry, which repeats what the directory at the end says. The
/// digest of the whole archive, which an artifact's listing has, covers those too.
fn flip_in_archive(random: &mut Random, archive: &[u8]) -> Result<bool, String> {
    let home = temp();
    let path = home.path().join("run.zip");
    let mut bytes = archive.to_vec();
    let place = flip(random, &mut bytes);
    std::fs::write(&path, &bytes).unwrap();
    let outcome = qa_skill(["drift-check"]).arg(&path).env("RUNNER_TEMP", home.path()).run();
    if outcome.exit != 0 {
        let noticed = [3, 4].contains(&outcome.exit) && !outcome.code().is_empty();
        return if noticed { Ok(true) } else { Err(format!("{place} of the archive: {}", outcome.stderr)) };
    }
    if contents(&bytes) == contents(archive) {
        return Ok(false);
    }
    Err(format!("{place} of the archive: other contents are accepted: {}", outcome.text()))
}

#[test]
fn every_flipped_bit_is_noticed() {
    let amounts = Amounts::from_environment();
    let change = generate(&mut amounts.for_change(0));
    let archive = packed(&change.reference);
    let without_effect = AtomicUsize::new(0);
    amounts.for_each("flips", amounts.flips, |random, case| {
        if case % 5 > 0 {
            return flip_in_directory(random, &change.reference);
        }
        if !flip_in_archive(random, &archive)? {
            without_effect.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    });
    println!("{} flips in the archive change no file in it", without_effect.into_inner());
}
