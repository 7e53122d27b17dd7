//! Writes run directories as a zip whose bytes depend on their files and on nothing else.

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

/// Size of the buffer for a file. It is always filled, so that the compressor gets the same chunks on every machine.
const BLOCK_BYTES: usize = 256 << 10;
/// Part of the format: another level gives other bytes.
const LEVEL: i64 = 6;

/// An archive that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packed {
    pub(crate) bytes: u64,
    pub(crate) sha256: Sha256Hex,
}

/// Writes directories to `target`, each under its own name, the entries in the order of their names' bytes. The time is
/// 1980-01-01, the method deflate at one level, the mode 0644, and there are no other fields, so the same files give the
/// same bytes on every machine. A file that holds a secret ends it, and what was written then is no archive.
pub(crate) fn pack(
    directories: &[&Path],
    secrets: &[Secret],
    target: &mut File,
) -> Result<Packed, ArchiveError> {
    let mut files = Vec::new();
    for directory in directories {
        let name = directory.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| unfit(directory, "it has no name that an archive can hold"))?;
        list(directory, name, &mut files)?;
    }
    files.sort();
    if files.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err(unfit(directories[0], "two directories have the same name"));
    }
    let needles = needles(secrets);
    let finders: Vec<Finder<'_>> = needles.iter().map(Finder::new).collect();
    let written = |error| ArchiveError::Write { path: "the archive".to_owned(), source: error };
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(LEVEL))
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644)
        .system(System::Unix);
    let mut writer = ZipWriter::new(BufWriter::new(&mut *target));
    for (name, path) in &files {
        writer.start_file(name.as_str(), options).map_err(|error| written(error.into()))?;
        copy(path, &finders, &mut writer)?;
    }
    let mut inner = writer.finish().map_err(|error| written(error.into()))?;
    inner.flush().map_err(written)?;
    drop(inner);
    measure(target).map_err(written)
}

fn unfit(path: &Path, reason: &'static str) -> ArchiveError {
    ArchiveError::Unfit { path: display_path(path), reason }
}

/// Adds every file below a directory with its name in the archive. A link could bring in anything, so it ends the list.
fn list(directory: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> Result<(), ArchiveError> {
    let failed = |error| ArchiveError::Read { path: display_path(directory), source: error };
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
        let name = entry.file_name();
        let name = name.to_str().filter(|name| super::unpack::is_plain(name));
        let name = name.ok_or_else(|| unfit(&path, "its name is not one that a run writes"))?;
        let name = format!("{prefix}/{name}");
        if kind.is_dir() {
            list(&path, &name, files)?;
        } else if kind.is_file() {
            files.push((name, path));
        } else {
            return Err(unfit(&path, "it is neither a file nor a directory"));
        }
    }
    Ok(())
}

/// A secret as it is, and as it stands inside a JSON string.
fn needles(secrets: &[Secret]) -> Vec<Vec<u8>> {
    let mut needles: Vec<Vec<u8>> = Vec::new();
    for secret in secrets {
        let quoted = serde_json::to_string(secret.expose()).expect("a text can be written as JSON");
        needles.push(secret.expose().as_bytes().to_vec());
        needles.push(quoted.as_bytes()[1..quoted.len() - 1].to_vec());
    }
    needles.sort();
    needles.dedup();
    needles
}

/// Copies a file block by block and looks for the needles, also across the edges of blocks.
fn copy(path: &Path, finders: &[Finder<'_>], to: &mut impl Write) -> Result<(), ArchiveError> {
    let failed = |error| ArchiveError::Read { path: display_path(path), source: error };
    let overlap = finders.iter().map(|finder| finder.needle().len() - 1).max().unwrap_or(0);
    let file = File::open(path).map_err(failed)?;
    let mut window = Vec::new();
    loop {
        let kept = window.len();
        (&file).take(BLOCK_BYTES as u64).read_to_end(&mut window).map_err(failed)?;
        if window.len() == kept {
            return Ok(());
        }
        if finders.iter().any(|finder| finder.find(&window).is_some()) {
            return Err(ArchiveError::Secret { path: display_path(path) });
        }
        to.write_all(&window[kept..])
            .map_err(|error| ArchiveError::Write { path: "the archive".to_owned(), source: error })?;
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
