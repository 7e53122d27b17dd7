//! Archives that nobody should take, written by hand or by another writer's options.

use std::io::Cursor;
use std::path::PathBuf;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

const SMALL: Caps = Caps {
    archive_bytes: 1 << 20,
    entries: 5,
    file_bytes: 100_000,
    total_bytes: 250_000,
    ratio: 20,
    free_bytes: 50_000,
};

fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        if name.ends_with('/') {
            writer.add_directory(*name, SimpleFileOptions::default()).unwrap();
        } else {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
    }
    writer.finish().unwrap().into_inner()
}

struct Tried {
    home: tempfile::TempDir,
    result: Result<TempDir, ArchiveError>,
}

fn take(bytes: &[u8]) -> Tried {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("a.zip");
    fs::write(&path, bytes).unwrap();
    fs::create_dir(home.path().join("scratch")).unwrap();
    let result = unpack(&path, SMALL, &home.path().join("scratch"));
    Tried { home, result }
}

#[track_caller]
fn refuses(bytes: &[u8], reason: &str) {
    let tried = take(bytes);
    let error = tried.result.expect_err("the archive was taken").to_string();
    assert!(error.contains(reason), "{error}");
    let left: Vec<PathBuf> =
        fs::read_dir(tried.home.path().join("scratch")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, Vec::<PathBuf>::new());
}

/// Changes every occurrence of a name in the archive to another of the same length.
fn renamed(mut bytes: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut found = 0;
    while let Some(at) = memchr::memmem::find(&bytes, from.as_bytes()) {
        bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
        found += 1;
    }
    assert_eq!(found, 2, "once in the entry, once in the directory");
    bytes
}

/// Overwrites bytes of the first central record.
fn central(mut bytes: Vec<u8>, at: usize, with: &[u8]) -> Vec<u8> {
    let record = memchr::memmem::find(&bytes, b"PK\x01\x02").unwrap();
    bytes[record + at..record + at + with.len()].copy_from_slice(with);
    bytes
}

#[test]
fn a_plain_archive_comes_out_as_it_went_in() {
    let taken = take(&archive(&[("key/", b""), ("key/a.json", b"{}\n"), ("key/r/0.json", b"")]));
    let directory = taken.result.unwrap();
    assert_eq!(fs::read(directory.path().join("key/a.json")).unwrap(), b"{}\n");
    assert_eq!(fs::read(directory.path().join("key/r/0.json")).unwrap(), b"");
}

#[test]
fn names_that_lead_elsewhere_or_mean_two_things_are_refused() {
    for name in [
        "/etc/passwd",
        "../a",
        "a/../../b",
        "a/..",
        "./a",
        "a//b",
        "a\\b",
        "..\\a",
        "C:a",
        "a\0b",
        "a\nb",
        "é",
        "\u{202e}a",
        "a b",
        "~/a/*",
    ] {
        refuses(&archive(&[(name, b"x")]), "a run has no file of this name");
    }
    refuses(&archive(&[("a/b/c/d/e/f/g/h/i", b"")]), "too deep");
    refuses(&archive(&[(&"a".repeat(301), b"")]), "too long");
}

#[test]
fn two_entries_of_one_name_are_refused() {
    refuses(
        &renamed(archive(&[("k/one", b"1"), ("k/two", b"2")]), "k/two", "k/one"),
        "two entries of the same name",
    );
    for pair in [
        ["k/one", "k/ONE"],
        ["k/one", "k/one/two"],
        ["k/one/two", "k/one"],
        ["k/one/two", "K/ONE"],
        ["k/one", "K/two"],
        ["k/one", "k/one/"],
        ["k/one/", "k/one"],
    ] {
        refuses(&archive(&pair.map(|name| (name, &b""[..]))), "collides");
    }
}

#[test]
fn links_encryption_and_unknown_methods_are_refused() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.add_symlink("k/a", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    refuses(&writer.finish().unwrap().into_inner(), "neither a file");
    let plain = archive(&[("k/a", b"text")]);
    for kind in [0o020_000u32, 0o010_000, 0o060_000, 0o140_000, 0o040_000] {
        refuses(&central(plain.clone(), 38, &((kind | 0o644) << 16).to_le_bytes()), "neither a file");
    }
    refuses(&central(plain.clone(), 8, &[1, 0]), "");
    for method in [9u16, 12, 14, 93, 95, 98, 99] {
        refuses(&central(plain.clone(), 10, &method.to_le_bytes()), "");
    }
}

#[test]
fn bombs_end_before_they_fill_anything() {
    let zeros = |count: usize| vec![0; count];
    refuses(&archive(&[("k/a", &zeros(100_001))]), "larger than 100000");
    let many: Vec<(String, Vec<u8>)> = (0..3).map(|number| (format!("k/{number}"), zeros(90_000))).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
    refuses(&archive(&many), "times the archive");
    // Not compressed, so that only the sum is too much.
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, bytes) in &many {
        writer.start_file(*name, stored).unwrap();
        writer.write_all(bytes).unwrap();
    }
    refuses(&writer.finish().unwrap().into_inner(), "more than 250000");
    let names: Vec<String> = (0..6).map(|number| format!("k/{number}")).collect();
    let entries: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    refuses(&archive(&entries), "more than 5 entries");
    refuses(&zeros((1 << 20) + 1), "larger than 1048576");
}

#[test]
fn a_size_that_is_a_lie_is_found_while_reading() {
    // Says one byte and holds 90,000.
    let lying = central(archive(&[("k/a", &[7; 90_000])]), 24, &1u32.to_le_bytes());
    refuses(&lying, "");
    let lying = central(archive(&[("k/a", b"text")]), 24, &3u32.to_le_bytes());
    refuses(&lying, "");
}

#[test]
fn what_is_cut_damaged_or_not_an_archive_is_refused() {
    let whole = archive(&[("k/a.json", &b"{\"a\": 1, \"b\": [1, 2, 3]}".repeat(20))]);
    for length in 0..whole.len() {
        refuses(&whole[..length], "");
    }
    refuses(&[&whole[..], b"more"].concat(), "data follows");
    refuses(&[b"before", &whole[..]].concat(), "not directly before its end record");
    refuses(b"<html>Sign in</html> and some more text", "does not end with");
    let data = 30 + "k/a.json".len();
    for bit in 0..8 {
        let mut damaged = whole.clone();
        damaged[data + 10] ^= 1 << bit;
        refuses(&damaged, "");
    }
}

#[test]
fn only_a_regular_file_is_an_archive() {
    let home = tempfile::tempdir().unwrap();
    let real = home.path().join("a.zip");
    fs::write(&real, archive(&[("k/a", b"")])).unwrap();
    let link = home.path().join("b.zip");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    assert!(unpack(&link, SMALL, home.path()).is_err());
    assert!(unpack(home.path(), SMALL, home.path()).is_err());
}
