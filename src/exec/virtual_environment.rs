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
    /// Returns the base installation of a virtual environment. Returns `None` if the directory is none, if its interpreter
    /// does not exist, or if a part that a copy has to change is a link to elsewhere.
    pub(super) fn find(source: &Path) -> Option<Self> {
        if !is_virtual_environment(source) {
            return None;
        }
        let config = read_text(&source.join(MARKER))?;
        let executable = source.join("bin/python").canonicalize().ok()?;
        let home = PathBuf::from(setting(&config, "home")?);
        let prefix = home.parent()?;
        let libraries = LIBRARIES
            .iter()
            .filter_map(|name| prefix.join(name).canonicalize().ok())
            .filter(|path| has_standard_library(path))
            .collect();
        let has_site_packages =
            setting(&config, "include-system-site-packages").is_some_and(|value| value == "true");
        Some(Self { executable, libraries, has_site_packages })
    }

    /// Returns the paths that the interpreter needs.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.executable).chain(&self.libraries)
    }

    /// Copies the interpreter with its libraries to a directory, and lets the copy `environment` of the virtual environment use
    /// them.
    pub(super) fn copy(&self, environment: &Path, directory: PathBuf) -> io::Result<CopiedBase> {
        let bin = directory.join("bin");
        fs::DirBuilder::new().mode(0o755).recursive(true).create(&bin)?;
        let executable = bin.join(self.executable.file_name().unwrap_or("python".as_ref()));
        fs::copy(&self.executable, &executable)?;
        let left_out = (!self.has_site_packages).then_some(SITE_PACKAGES);
        for library in &self.libraries {
            let place = directory.join(library.file_name().unwrap_or("lib".as_ref()));
            if !place.exists() {
                copy_except(library, &place, left_out)?;
            }
        }
        self.relocate(environment, &bin, &executable)?;
        let shared_libraries = link_shared_libraries(&directory)?;
        Ok(CopiedBase { directory, shared_libraries })
    }

    /// Replaces the paths of the installation in a copied environment: `home` and the links to the interpreter.
    fn relocate(&self, environment: &Path, bin: &Path, executable: &Path) -> io::Result<()> {
        let config = environment.join(MARKER);
        let text = fs::read_to_string(&config)?;
        let others = text.lines().filter(|line| setting(line, "home").is_none());
        let lines: Vec<String> =
            std::iter::once(format!("home = {}", bin.display())).chain(others.map(str::to_owned)).collect();
        fs::write(&config, lines.join("\n") + "\n")?;
        for entry in fs::read_dir(environment.join("bin"))? {
            let path = entry?.path();
            let is_absolute = fs::read_link(&path).is_ok_and(|target| target.is_absolute());
            if is_absolute && path.canonicalize().is_ok_and(|real| real == self.executable) {
                fs::remove_file(&path)?;
                symlink(executable, &path)?;
            }
        }
        Ok(())
    }
}

/// Returns whether a directory is a virtual environment, whose parts are no links.
pub(super) fn is_virtual_environment(directory: &Path) -> bool {
    let marker = fs::symlink_metadata(directory.join(MARKER));
    let programs = fs::symlink_metadata(directory.join("bin"));
    marker.is_ok_and(|marker| marker.is_file()) && programs.is_ok_and(|programs| programs.is_dir())
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

/// Lets the scripts of the copy `environment` of the virtual environment `source` be executed by the copy's interpreter.
pub(super) fn relocate_scripts(source: &Path, environment: &Path) -> io::Result<()> {
    for entry in fs::read_dir(environment.join("bin"))? {
        let path = entry?.path();
        if !fs::symlink_metadata(&path)?.is_file() {
            continue;
        }
        let Some(interpreter) = script_interpreter(&path) else { continue };
        let directory = interpreter.parent().and_then(|directory| directory.canonicalize().ok());
        if directory != Some(source.join("bin")) {
            continue;
        }
        let script = fs::read(&path)?;
        let end = script.iter().position(|byte| *byte == b'\n').unwrap_or(script.len());
        let name = interpreter.file_name().unwrap_or("python".as_ref());
        let first = format!("#!{}", environment.join("bin").join(name).display());
        fs::write(&path, [first.as_bytes(), &script[end..]].concat())?;
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
    first_line(path)?.split_whitespace().next().map(PathBuf::from)
}

/// Returns the program that a script has `env` look up on `PATH`, as in `#!/usr/bin/env python3`.
pub(super) fn program_of_env(path: &Path) -> Option<String> {
    let line = first_line(path)?;
    let mut words = line.split_whitespace();
    let is_env = Path::new(words.next()?).file_name()? == "env";
    words.find(|word| is_env && !word.starts_with('-') && !word.contains('=')).map(str::to_owned)
}

/// Returns the first line of a script, without `#!`.
fn first_line(path: &Path) -> Option<String> {
    let mut first = Vec::new();
    fs::File::open(path).ok()?.take(512).read_to_end(&mut first).ok()?;
    let line = first.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    String::from_utf8(line.to_vec()).ok()
}
