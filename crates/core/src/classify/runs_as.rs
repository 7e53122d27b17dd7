//! Decides by name, place and mode how a file is used, and so how its bytes have to be read.

use super::{
    ASSET_EXTENSIONS, CONFIG_EXTENSIONS, INFRA_DIRS, Parts, class, is_infra,
    languages::language_of_extension, parts,
};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangedFile, FileClass, Side};

/// Extensions of files that an interpreter or a build tool runs and that have no language in [`super::languages`].
const SCRIPT_EXTENSIONS: &[&str] = &[
    "am",
    "applescript",
    "asp",
    "aspx",
    "awk",
    "bzl",
    "cgi",
    "clj",
    "cmake",
    "coffee",
    "command",
    "csh",
    "ejs",
    "el",
    "erb",
    "expect",
    "fcgi",
    "gdb",
    "groovy",
    "gyp",
    "gypi",
    "hbs",
    "hcl",
    "hta",
    "ipynb",
    "j2",
    "jinja",
    "jl",
    "jsp",
    "ksh",
    "m4",
    "mak",
    "mk",
    "nim",
    "nu",
    "phtml",
    "psd1",
    "psm1",
    "pyw",
    "ru",
    "scm",
    "sed",
    "service",
    "star",
    "svg",
    "tcl",
    "tcsh",
    "tmpl",
    "tpl",
    "vbs",
    "vim",
    "wsf",
];
/// Names of files that an interpreter or a build tool runs, and of those that a service obeys.
const SCRIPT_NAMES: &[&str] = &[
    "authorized_keys",
    "build",
    "configure",
    "crontab",
    "entrypoint",
    "gemfile",
    "go.mod",
    "meson.build",
    "pkgbuild",
    "workspace",
];
/// Directories whose files are run by their names where these have no extension.
const SCRIPT_DIRS: &[&str] = &["bin", "debian", "script", "scripts", "tools"];
/// Extensions of compiled programs, libraries and archives that a loader, a virtual machine or an installer takes.
const COMPILED_EXTENSIONS: &[&str] = &[
    "exe", "dll", "so", "dylib", "a", "o", "lib", "class", "jar", "war", "pyc", "pyd", "wasm", "node", "msi",
    "com", "scr", "apk", "deb", "rpm", "ko",
];
/// Directories whose files git or a hook manager runs whatever they are called.
const HOOK_DIRS: &[&str] = &[".husky", ".githooks", ".git-hooks", "githooks", "git-hooks", "hooks"];
/// Languages that run as text, so that a name such as `install.sh.png` still is a script's.
const INTERPRETED: &[&str] =
    &["javascript", "lua", "perl", "php", "python", "r", "ruby", "shell", "typescript"];

/// Use that a file's name, place and mode show, and so the way its bytes have to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsAs {
    /// Text for an interpreter, a compiler or a build tool.
    Script,
    /// Text that a program reads as settings; the target of a link too.
    Configuration,
    /// Program by its executable bit or its directory alone.
    Executable,
    /// Compiled code by its extension.
    Compiled,
    /// No use that the name, the place or the mode shows.
    Nothing,
}

/// Returns the use of a file; `mode` is git's, in octal.
pub fn runs_as(path: &RepoPath, mode: Option<&str>) -> RunsAs {
    if mode == Some("120000") {
        return RunsAs::Configuration;
    }
    let parts = parts(path);
    let extension = parts.extension.as_str();
    if is_compiled_name(&parts) {
        RunsAs::Compiled
    } else if is_script_name(&parts) {
        RunsAs::Script
    } else if mode == Some("100755") || is_in_script_dir(&parts) {
        RunsAs::Executable
    } else if CONFIG_EXTENSIONS.contains(&extension) || class(path) == FileClass::Config {
        RunsAs::Configuration
    } else {
        RunsAs::Nothing
    }
}

fn is_in_script_dir(parts: &Parts) -> bool {
    let is_script_dir = |directory: &String| SCRIPT_DIRS.contains(&directory.as_str());
    parts.extension.is_empty() && parts.directories.iter().any(is_script_dir)
}

/// Returns the use of one version of a changed file.
pub fn runs_as_at(file: &ChangedFile, side: Side) -> RunsAs {
    match side {
        Side::Base => runs_as(file.old_path.as_ref().unwrap_or(&file.path), file.old_mode.as_deref()),
        Side::Head => runs_as(&file.path, file.new_mode.as_deref()),
    }
}

/// Returns whether a file's name is that of compiled code.
pub fn has_compiled_name(path: &RepoPath) -> bool {
    is_compiled_name(&parts(path))
}

fn is_compiled_name(parts: &Parts) -> bool {
    COMPILED_EXTENSIONS.contains(&parts.extension.as_str()) || parts.name.contains(".so.")
}

fn is_script_name(parts: &Parts) -> bool {
    let extension = parts.extension.as_str();
    if language_of_extension(extension).is_some() || SCRIPT_EXTENSIONS.contains(&extension) || is_infra(parts)
    {
        return true;
    }
    if SCRIPT_NAMES.contains(&parts.name.as_str()) {
        return true;
    }
    let mut inner = parts.name.split('.').skip(1);
    if inner.any(|part| part.len() > 1 && is_interpreted(part)) {
        return true;
    }
    !ASSET_EXTENSIONS.contains(&extension)
        && parts.directories.iter().any(|directory| {
            INFRA_DIRS.contains(&directory.as_str()) || HOOK_DIRS.contains(&directory.as_str())
        })
}

fn is_interpreted(extension: &str) -> bool {
    match language_of_extension(extension) {
        Some(language) => INTERPRETED.contains(&language),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_place_and_mode_show_what_may_run_a_file() {
        let cases = [
            ("src/main.rs", "100644", RunsAs::Script),
            ("tests/test_login.py", "100644", RunsAs::Script),
            ("tests/Makefile", "100644", RunsAs::Script),
            (".github/workflows/ci.yml", "100644", RunsAs::Script),
            (".husky/pre-commit", "100644", RunsAs::Script),
            ("install.sh.png", "100644", RunsAs::Script),
            ("rules.mk", "100644", RunsAs::Script),
            ("tests/data/settings.json", "100644", RunsAs::Configuration),
            (".npmrc", "100644", RunsAs::Configuration),
            ("requirements.txt", "100644", RunsAs::Configuration),
            ("logo.png", "120000", RunsAs::Configuration),
            ("bin/run", "100755", RunsAs::Executable),
            ("logo.png", "100755", RunsAs::Executable),
            ("lib/native.so", "100755", RunsAs::Compiled),
            ("lib/libz.so.1", "100644", RunsAs::Compiled),
            ("wrapper.jar", "100644", RunsAs::Compiled),
            ("bin/run", "100644", RunsAs::Executable),
            ("scripts/deploy", "100644", RunsAs::Executable),
            ("configure", "100644", RunsAs::Script),
            ("bin/data.bin", "100644", RunsAs::Nothing),
            ("lib/run", "100644", RunsAs::Nothing),
            ("logo.png", "100644", RunsAs::Nothing),
            (".github/logo.png", "100644", RunsAs::Nothing),
            ("icon.m.png", "100644", RunsAs::Nothing),
            ("sh", "100644", RunsAs::Nothing),
        ];
        for (name, mode, expected) in cases {
            let path = RepoPath::from_bytes(name.as_bytes()).unwrap();
            assert_eq!(runs_as(&path, Some(mode)), expected, "{name} {mode}");
        }
    }
}
