//! Virtual environments of Python as toolchains: the installation that one was made from, and copies that work elsewhere.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use super::toolchains::copy_except;

/// File that makes a directory a virtual environment.
const MARKER: &str = "pyvenv.cfg";
/// Size limit of the files that are read here, in bytes.
const MAX_BYTES: u64 = 64 << 10;
/// Directories of an installation's libraries.
const LIBRARIES: &[&str] = &["lib", "lib64"];
/// Packages of the installation, which a virtual environment has no access to unless it asks for them.
const SITE_PACKAGES: &str = "site-packages";

/// Installation of Python that a virtual environment uses. Only the interpreter and its libraries are provided: the
/// directory that holds them may be a home.
pub(super) struct BaseInstallation {
    /// The interpreter, without links.
    pub(super) executable: PathBuf,
    /// Existing directories of its libraries, without links.
    libraries: Vec<PathBuf>,
    has_site_packages: bool,
}

/// Copy of a base installation.
pub(super) struct CopiedBase {
    /// Directory of the whole copy.
    pub(super) directory: PathBuf,
    /// Directory with the interpreter's shared library, which the interpreter names by its original path.
    pub(super) shared_libraries: Option<PathBuf>,
}

impl BaseInstallation {
    /// Returns the base installation of a virtual environment. Returns `None` if the directory is none, or if its
    /// interpreter does not exist.
    pub(super) fn find(source: &Path) -> Option<Self> {
        let config = read_text(&source.join(MARKER))?;
        let executable = source.join("bin/python").canonicalize().ok()?;
        let home = PathBuf::from(setting(&config, "home")?);
        let prefix = home.parent()?;
        let is_library = |path: &PathBuf| has_standard_library(path);
        let libraries = LIBRARIES
            .iter()
            .filter_map(|name| prefix.join(name).canonicalize().ok())
            .filter(is_library)
            .collect();
        let has_site_packages =
            setting(&config, "include-system-site-packages").is_some_and(|value| value == "true");
        Some(Self { executable, libraries, has_site_packages })
    }

    /// Returns the paths that the interpreter needs.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.executable).chain(&self.libraries)
    }

    /// Copies the interpreter with its libraries, and lets the copy `environment` of the virtual environment `source` use
    /// it.
    pub(super) fn copy(
        &self,
        source: &Path,
        environment: &Path,
        directory: PathBuf,
    ) -> io::Result<CopiedBase> {
        let bin = directory.join("bin");
        fs::DirBuilder::new().mode(0o755).recursive(true).create(&bin)?;
        let executable = bin.join(self.executable.file_name().unwrap_or("python".as_ref()));
        fs::copy(&self.executable, &executable)?;
        let left_out = if self.has_site_packages { "" } else { SITE_PACKAGES };
        for library in &self.libraries {
            let place = directory.join(library.file_name().unwrap_or("lib".as_ref()));
            if !place.exists() {
                copy_except(library, &place, left_out)?;
            }
        }
        relocate(source, environment, &self.executable, &executable)?;
        let shared_libraries = link_shared_libraries(&directory)?;
        Ok(CopiedBase { directory, shared_libraries })
    }
}

/// Returns whether a directory is a virtual environment.
pub(super) fn is_virtual_environment(directory: &Path) -> bool {
    directory.join(MARKER).is_file()
}

/// Returns whether a directory of libraries holds Python's own, as the interpreter itself looks for it.
fn has_standard_library(directory: &Path) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    entries.flatten().any(|entry| {
        entry.file_name().to_string_lossy().starts_with("python3") && entry.path().join("os.py").is_file()
    })
}

/// Returns a setting of `pyvenv.cfg`.
fn setting<'t>(config: &'t str, name: &str) -> Option<&'t str> {
    config.lines().filter_map(|line| line.split_once('=')).find_map(|(key, value)| {
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim()).filter(|value| !value.is_empty())
    })
}

fn read_text(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = fs::File::open(path).ok()?;
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Replaces the paths of the original in a copy: the links to the interpreter, the first lines of scripts and `home`.
fn relocate(source: &Path, environment: &Path, interpreter: &Path, copied: &Path) -> io::Result<()> {
    let home = copied.parent().unwrap_or(copied).display().to_string();
    let config = environment.join(MARKER);
    let text = fs::read_to_string(&config)?;
    let is_home = |line: &&str| setting(line, "home").is_some();
    let mut lines: Vec<String> = text.lines().filter(|line| !is_home(line)).map(str::to_owned).collect();
    lines.insert(0, format!("home = {home}"));
    fs::write(&config, lines.join("\n") + "\n")?;
    for entry in fs::read_dir(environment.join("bin"))? {
        let path = entry?.path();
        let metadata = fs::symlink_metadata(&path)?;
        if metadata.is_symlink() {
            if fs::read_link(&path)?.is_absolute()
                && path.canonicalize().is_ok_and(|real| real == interpreter)
            {
                fs::remove_file(&path)?;
                symlink(copied, &path)?;
            }
        } else if let Some(named) = script_interpreter(&path)
            && named.parent().is_some_and(|bin| bin.canonicalize().is_ok_and(|bin| bin == source.join("bin")))
        {
            let script = fs::read(&path)?;
            let end = script.iter().position(|byte| *byte == b'\n').unwrap_or(script.len());
            let name = named.file_name().unwrap_or("python".as_ref());
            let first = format!("#!{}", environment.join("bin").join(name).display());
            fs::write(&path, [first.as_bytes(), &script[end..]].concat())?;
        }
    }
    Ok(())
}

/// Makes a directory with links to the shared library of the interpreter, if it has one. Other libraries beside it are not
/// for other programs.
fn link_shared_libraries(directory: &Path) -> io::Result<Option<PathBuf>> {
    let libraries = directory.join("lib");
    let shared = directory.join("shared");
    let Ok(entries) = fs::read_dir(&libraries) else { return Ok(None) };
    let mut found = None;
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with("libpython") {
            fs::DirBuilder::new().mode(0o755).recursive(true).create(&shared)?;
            symlink(entry.path(), shared.join(entry.file_name()))?;
            found = Some(shared.clone());
        }
    }
    Ok(found)
}

/// Returns the interpreter that a script's first line names, or `None` for a program of another kind.
pub(super) fn script_interpreter(path: &Path) -> Option<PathBuf> {
    let mut first = Vec::new();
    fs::File::open(path).ok()?.take(512).read_to_end(&mut first).ok()?;
    let line = first.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    line.split_whitespace().next().map(PathBuf::from)
}
