//! Packs run directories into a zip whose bytes depend on their files only.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use memchr::memmem::Finder;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, System, ZipWriter};

use super::ArchiveError;
use crate::store::display_path;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::secret::Secret;
use qa_core::canonical::Hasher;

/// Size of the buffer for a file. It is always filled, so that the compressor gets the same blocks on every machine.
const BLOCK_BYTES: usize = 256 << 10;
/// Compression level. Another level gives other bytes, so it is part of the format.
const LEVEL: i64 = 6;

/// An archive that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packed {
    pub(crate) bytes: u64,
    pub(crate) sha256: Sha256Hex,
}

/// Packs directories into `target`, each under its own name, with entries sorted by name. Every entry has the time
/// 1980-01-01, the method deflate, the mode 0644 and no further fields, so the same files give the same bytes on every
/// machine. Fails on a file that holds a secret; `target` is no valid archive then.
pub(crate) fn pack(
    directories: &[&Path],
    secrets: &[Secret],
    target: &mut File,
) -> Result<Packed, ArchiveError> {
    let mut files = Vec::new();
    for directory in directories {
        let name = directory.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| unfit(directory, "its name is not valid in an archive"))?;
        list_files(directory, name, &mut files)?;
    }
    files.sort();
    if files.windows(2).any(|pair| pair[0].name == pair[1].name) {
        return Err(unfit(directories[0], "two directories have the same name"));
    }
    let needles = needles(secrets);
    let finders: Vec<Finder<'_>> = needles.iter().map(|needle| Finder::new(needle.as_bytes())).collect();
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(LEVEL))
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644)
        .system(System::Unix);
    let mut writer = ZipWriter::new(BufWriter::new(&mut *target));
    for ArchiveFile { name, path } in &files {
        writer.start_file(name.as_str(), options).map_err(|error| not_written(error.into()))?;
        copy_file(path, &finders, &mut writer)?;
    }
    let mut inner = writer.finish().map_err(|error| not_written(error.into()))?;
    inner.flush().map_err(not_written)?;
    drop(inner);
    measure(target).map_err(not_written)
}

/// A file to pack.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ArchiveFile {
    /// Name in the archive.
    name: String,
    path: PathBuf,
}

fn not_written(error: std::io::Error) -> ArchiveError {
    ArchiveError::Write { path: "the archive".to_owned(), source: error }
}

fn not_read(path: &Path, error: std::io::Error) -> ArchiveError {
    ArchiveError::Read { path: display_path(path), source: error }
}

fn unfit(path: &Path, reason: &'static str) -> ArchiveError {
    ArchiveError::Unfit { path: display_path(path), reason }
}

/// Adds every file below a directory with its name in the archive. Fails on a link, which could lead to any file.
fn list_files(directory: &Path, prefix: &str, files: &mut Vec<ArchiveFile>) -> Result<(), ArchiveError> {
    for entry in fs::read_dir(directory).map_err(|error| not_read(directory, error))? {
        let entry = entry.map_err(|error| not_read(directory, error))?;
        let kind = entry.file_type().map_err(|error| not_read(directory, error))?;
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_str().filter(|name| super::unpack::is_plain(name));
        let name = name.ok_or_else(|| unfit(&path, "a run has no file of this name"))?;
        let name = format!("{prefix}/{name}");
        if kind.is_dir() {
            list_files(&path, &name, files)?;
        } else if kind.is_file() {
            files.push(ArchiveFile { name, path });
        } else {
            return Err(unfit(&path, "it is neither a file nor a directory"));
        }
    }
    Ok(())
}

/// Returns each secret as it is and as it is escaped in a JSON string.
fn needles(secrets: &[Secret]) -> BTreeSet<String> {
    let mut needles = BTreeSet::new();
    for secret in secrets {
        let quoted = serde_json::to_string(secret.expose()).expect("a text can be written as JSON");
        needles.insert(secret.expose().to_owned());
        needles.insert(quoted[1..quoted.len() - 1].to_owned());
    }
    needles
}

/// Copies a file block by block. Fails if it contains a needle, also one across the edges of blocks.
fn copy_file(path: &Path, finders: &[Finder<'_>], to: &mut impl Write) -> Result<(), ArchiveError> {
    let overlap = finders.iter().map(|finder| finder.needle().len() - 1).max().unwrap_or(0);
    let file = File::open(path).map_err(|error| not_read(path, error))?;
    let mut window = Vec::new();
    loop {
        let kept = window.len();
        (&file).take(BLOCK_BYTES as u64).read_to_end(&mut window).map_err(|error| not_read(path, error))?;
        if window.len() == kept {
            return Ok(());
        }
        if finders.iter().any(|finder| finder.find(&window).is_some()) {
            return Err(ArchiveError::Secret { path: display_path(path) });
        }
        to.write_all(&window[kept..]).map_err(not_written)?;
        window.drain(..window.len() - overlap.min(window.len()));
    }
}

fn measure(file: &mut File) -> std::io::Result<Packed> {
    let (mut hasher, mut bytes) = (Hasher::default(), 0);
    let mut block = vec![0; BLOCK_BYTES];
    file.seek(SeekFrom::Start(0))?;
    loop {
        match file.read(&mut block)? {
            0 => return Ok(Packed { bytes, sha256: hasher.finish() }),
            count => {
                hasher.update(&block[..count]);
                bytes += count as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(at: &Path, files: &[(&str, &[u8])]) -> PathBuf {
        let root = at.join("key");
        for (name, bytes) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        root
    }

    fn packed(directory: &Path, secrets: &[Secret]) -> Result<(Packed, Vec<u8>), ArchiveError> {
        let mut file = tempfile::tempfile().unwrap();
        let packed = pack(&[directory], secrets, &mut file)?;
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        Ok((packed, bytes))
    }

    /// More than one block, and not the same everywhere.
    fn long() -> Vec<u8> {
        (0..200_000u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
    }

    #[test]
    fn the_bytes_are_the_published_ones() {
        let home = tempfile::tempdir().unwrap();
        let root = tree(home.path(), &[("b.json", b"{}\n"), ("a/x.txt", &[b'x'; 5000]), ("a.txt", b"")]);
        let (packed, bytes) = packed(&root, &[]).unwrap();
        assert_eq!(
            (packed.bytes, packed.sha256.clone()),
            (bytes.len() as u64, qa_core::canonical::sha256(&bytes))
        );
        // The size says that no field was added, and the digest that the compressor still gives the same bytes.
        assert_eq!(packed.bytes, 339);
        assert_eq!(
            packed.sha256.as_str(),
            "86dcb958781ef73e22dbe052e99eaf8efa6bd781462ed38c7fe334eec1905e0a"
        );
        let names: Vec<&[u8]> = [b"key/a.txt".as_slice(), b"key/a/x.txt", b"key/b.json"].to_vec();
        let places: Vec<Option<usize>> =
            names.iter().map(|name| memchr::memmem::find(&bytes, name)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
    }

    #[test]
    fn times_modes_and_the_order_of_creation_are_not_in_it() {
        use std::os::unix::fs::PermissionsExt;
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let bytes = long();
        let first = tree(one.path(), &[("a.json", &bytes), ("recordings/0.json", b"1"), ("z", b"")]);
        let second = tree(two.path(), &[("z", b""), ("recordings/0.json", b"1"), ("a.json", &bytes)]);
        fs::set_permissions(second.join("a.json"), PermissionsExt::from_mode(0o755)).unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_234_567_890);
        File::options().write(true).open(second.join("z")).unwrap().set_modified(old).unwrap();
        assert_eq!(packed(&first, &[]).unwrap(), packed(&second, &[]).unwrap());
    }

    #[test]
    fn a_secret_anywhere_ends_it_even_across_the_edge_of_a_block() {
        let home = tempfile::tempdir().unwrap();
        let secret = Secret::new("s3cr\"et-value").unwrap();
        for place in
            [0, BLOCK_BYTES - 13, BLOCK_BYTES - 12, BLOCK_BYTES - 1, BLOCK_BYTES, 3 * BLOCK_BYTES - 5]
        {
            for text in [&b"s3cr\"et-value"[..], b"s3cr\\\"et-value"] {
                let mut bytes = vec![b'.'; 3 * BLOCK_BYTES + 100];
                bytes[place..place + text.len()].copy_from_slice(text);
                let root = tree(home.path(), &[("a.json", b"{}"), ("b.json", &bytes)]);
                let error = packed(&root, std::slice::from_ref(&secret)).unwrap_err();
                assert!(
                    matches!(&error, ArchiveError::Secret { path } if path.ends_with("b.json")),
                    "{error}"
                );
                assert!(!error.to_string().contains("s3cr"), "{error}");
                assert!(packed(&root, &Secret::new("other").into_iter().collect::<Vec<_>>()).is_ok());
            }
        }
    }

    #[test]
    fn a_link_or_a_strange_name_is_not_archived() {
        let home = tempfile::tempdir().unwrap();
        let root = tree(home.path(), &[("a.json", b"{}")]);
        std::os::unix::fs::symlink("/etc/passwd", root.join("b.json")).unwrap();
        assert!(matches!(packed(&root, &[]), Err(ArchiveError::Unfit { .. })));
        fs::remove_file(root.join("b.json")).unwrap();
        fs::write(root.join("b\\c"), "").unwrap();
        assert!(matches!(packed(&root, &[]), Err(ArchiveError::Unfit { .. })));
    }
}
