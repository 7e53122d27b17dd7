//! Computes the digest over the sources of everything that judges, which enters every execution key.
//!
//! The same sources give the same digest, wherever and for whatever machine they are built. Tests are in it too: a list of
//! what to leave out could leave out too much.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use sha2::{Digest, Sha256};

fn main() -> io::Result<()> {
    let crates = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo")).join("..");
    println!("cargo::rerun-if-changed={}", crates.display());
    let mut sources = BTreeMap::new();
    // The versions and features of what is linked in.
    for name in ["Cargo.lock", "Cargo.toml"] {
        let path = crates.join("..").join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        sources.insert(name.to_owned(), path);
    }
    add_sources(&crates, "crates", &mut sources)?;
    let mut digest = Sha256::new();
    for (name, path) in sources {
        let bytes = fs::read(path)?;
        // Lengths keep apart what two files hold.
        digest.update(format!("{name} {}\n", bytes.len()));
        digest.update(bytes);
    }
    let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=QA_SKILL_SOURCE_HASH={hex}");
    Ok(())
}

/// Adds the files below a directory by their path, without what editors leave there.
fn add_sources(directory: &Path, name: &str, sources: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy().into_owned();
        let name = format!("{name}/{file}");
        if entry.file_type()?.is_dir() {
            add_sources(&entry.path(), &name, sources)?;
        } else if !file.starts_with('.') && !file.ends_with('~') {
            sources.insert(name, entry.path());
        }
    }
    Ok(())
}
