//! Tools and packages that an earlier step installed: provides them to commands and finds programs in them.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::inside::SYSTEM;
use super::order::{PATH, broken};
use super::room::Room;
use super::virtual_environment::{
    BaseInstallation, CopiedBase, is_virtual_environment, program_of_env, relocate_scripts,
    script_interpreter,
};
use qa_contracts::v1::{PolicyToolchain, ToolchainMode};
use qa_run::commands::{Identity, SandboxError};

/// Directories of programs in a toolchain: in one of Node's packages, and in every other.
const PROGRAMS: &[&str] = &[".bin", "bin"];

/// An installed toolchain.
struct Toolchain {
    source: PathBuf,
    /// Path in the tree, from its root; `None` for one elsewhere on the machine.
    inside: Option<String>,
    copied: bool,
    /// Installation that it was made from, if it is a virtual environment.
    base: Option<BaseInstallation>,
}

/// The declared toolchains that are installed.
pub(crate) struct Toolchains {
    installed: Vec<Toolchain>,
    /// Checkout, whose programs outside of toolchains may come from the change.
    checkout: PathBuf,
}

/// Toolchains of one workspace.
pub(crate) struct Provided {
    /// Paths outside the tree that commands may read and execute.
    pub(crate) readable: Vec<PathBuf>,
    /// `PATH` for commands.
    pub(crate) path: String,
    /// `LD_LIBRARY_PATH` for commands: shared libraries of copied interpreters.
    pub(crate) library_path: String,
    /// Search path of programs.
    programs: Vec<PathBuf>,
    /// Directories that a resolved program may be in.
    trusted: Vec<PathBuf>,
    checkout: PathBuf,
    tree: PathBuf,
}

impl Toolchains {
    /// Finds the declared toolchains. One that is not installed is skipped: a command that needs its programs reports them.
    pub(crate) fn find(declared: &[PolicyToolchain], checkout: &Path) -> Result<Self, SandboxError> {
        let mut installed = Vec::new();
        for PolicyToolchain { path, provide } in declared {
            let (inside, source) = match path.strip_prefix('/') {
                Some(_) => (None, PathBuf::from(path)),
                None => (Some(path.clone()), checkout.join(path)),
            };
            // A link in the checkout could lead to files of the change.
            let first = if inside.is_some() { checkout.components().count() + 1 } else { usize::MAX };
            let parts: Vec<_> = source.components().collect();
            let mut exists = true;
            for end in first.min(parts.len())..=parts.len() {
                let part: PathBuf = parts[..end].iter().collect();
                match fs::symlink_metadata(&part) {
                    Ok(metadata) if metadata.is_symlink() && inside.is_some() => {
                        return Err(refused(path, "is reached through a link"));
                    }
                    Ok(_) => {}
                    Err(_) => exists = false,
                }
            }
            if !exists {
                continue;
            }
            let source = source.canonicalize().map_err(|error| broken("find a toolchain", &error))?;
            if !source.is_dir() {
                return Err(refused(path, "is not a directory"));
            }
            let copied = match provide {
                None | Some(ToolchainMode::ReadOnly) => false,
                Some(ToolchainMode::Copy) => true,
            };
            let base = BaseInstallation::find(&source);
            installed.push(Toolchain { source, inside, copied, base });
        }
        let checkout = checkout.canonicalize().map_err(|error| broken("find the checkout", &error))?;
        Ok(Self { installed, checkout })
    }

    /// Returns whether a toolchain or the system has a program. Which of them a room has follows from its tree.
    pub(crate) fn may_have(&self, program: &str) -> bool {
        let own = self.installed.iter().flat_map(|own| PROGRAMS.iter().map(|bin| own.source.join(bin)));
        own.chain(PATH.split(':').map(PathBuf::from)).any(|bin| bin.join(program).is_file())
    }

    /// Provides the toolchains to a room whose tree is written.
    pub(crate) fn provide(&self, room: &Room) -> Result<Provided, SandboxError> {
        let mut provided = Provided {
            readable: Vec::new(),
            path: String::new(),
            library_path: String::new(),
            programs: Vec::new(),
            trusted: Vec::new(),
            checkout: self.checkout.clone(),
            tree: room.tree.clone(),
        };
        let mut on_path = Vec::new();
        for (number, toolchain) in self.installed.iter().enumerate() {
            let in_tree = match &toolchain.inside {
                // The commit has no such directory, so it has no project that uses the toolchain.
                Some(inside) if !parent_is_plain(&room.tree, inside) => continue,
                Some(inside) => Some(room.tree.join(inside)),
                None => None,
            };
            if matches!(&in_tree, Some(place) if fs::symlink_metadata(place).is_ok()) {
                let message = format!(
                    "the commit has a file at the path of the toolchain {}",
                    toolchain.source.display()
                );
                return Err(SandboxError::Order(message));
            }
            let base = toolchain.base.as_ref().filter(|base| !self.is_of_change(base, room));
            let place = if toolchain.copied {
                let place = match in_tree {
                    Some(place) => place,
                    None => make_copy_directory(room, number, &toolchain.source)
                        .map_err(|error| broken("copy a toolchain", &error))?,
                };
                let interpreter = room.private.join(format!("interpreter-{number}"));
                provided
                    .add_copy(&toolchain.source, base, &place, interpreter)
                    .map_err(|error| broken("copy a toolchain", &error))?;
                place
            } else {
                provided.add_in_place(&toolchain.source, base)?;
                if let Some(place) = in_tree {
                    symlink(&toolchain.source, place).map_err(|error| broken("link a toolchain", &error))?;
                }
                toolchain.source.clone()
            };
            for programs in PROGRAMS.iter().map(|name| place.join(name)).filter(|path| path.is_dir()) {
                if !toolchain.copied {
                    on_path.extend(programs.to_str().map(str::to_owned));
                }
                provided.programs.push(programs);
            }
            provided.trusted.push(place);
        }
        provided.programs.extend(PATH.split(':').map(PathBuf::from));
        on_path.push(PATH.to_owned());
        provided.path = on_path.join(":");
        Ok(provided)
    }

    /// Returns whether the change may have written a part of an installation.
    fn is_of_change(&self, base: &BaseInstallation, room: &Room) -> bool {
        base.paths().any(|path| path.starts_with(&self.checkout) || path.starts_with(&room.tree))
    }
}

impl Provided {
    /// Lets commands read a toolchain in its place, and the base installation of a virtual environment as far as they can
    /// enter it. Programs that need the rest of it are refused when they are looked for.
    fn add_in_place(&mut self, source: &Path, base: Option<&BaseInstallation>) -> Result<(), SandboxError> {
        check_enterable(source)?;
        self.readable.push(source.to_owned());
        let paths = base.into_iter().flat_map(BaseInstallation::paths);
        let enterable = paths.filter(|path| !is_of_system(path) && closed_directory(path).is_none());
        self.readable.extend(enterable.cloned());
        Ok(())
    }

    /// Copies a toolchain. A copied virtual environment uses a copy of its base installation, unless that is part of the
    /// system.
    fn add_copy(
        &mut self,
        source: &Path,
        base: Option<&BaseInstallation>,
        place: &Path,
        interpreter: PathBuf,
    ) -> io::Result<()> {
        copy(source, place)?;
        if !place.starts_with(&self.tree) {
            self.readable.push(place.to_owned());
        }
        // The copy is looked at again: what was a file may have become a link since.
        let Some(base) = base.filter(|_| is_virtual_environment(place)) else { return Ok(()) };
        relocate_scripts(source, place)?;
        if base.paths().all(|path| is_of_system(path)) {
            return Ok(());
        }
        let CopiedBase { directory, shared_libraries } = base.copy(place, interpreter)?;
        self.readable.push(directory);
        if let Some(path) = shared_libraries.as_deref().and_then(Path::to_str) {
            let separator = if self.library_path.is_empty() { "" } else { ":" };
            self.library_path.push_str(&format!("{separator}{path}"));
        }
        Ok(())
    }

    /// Finds a program by its plain name. Programs in the checkout or the commit's tree are skipped: the author of the change
    /// may have written them. Fails if commands may not execute it or its interpreter.
    pub(crate) fn find(&self, program: &str) -> Result<PathBuf, SandboxError> {
        let is_plain = !program.is_empty() && !program.contains('/');
        let mut places = self.programs.iter().map(|directory| directory.join(program)).filter(|_| is_plain);
        let Some(found) = places.find(|path| self.is_tool(path)) else {
            let reason = "it is in no declared toolchain and in no directory of the system".to_owned();
            return Err(SandboxError::NotStarted { program: program.to_owned(), reason });
        };
        self.check_executable(&found, &found)?;
        if let Some(interpreter) = script_interpreter(&found) {
            self.check_executable(&found, &interpreter)?;
        }
        if let Some(interpreter) = program_of_env(&found) {
            self.check_on_path(&found, &interpreter)?;
        }
        Ok(found)
    }

    /// Fails if `interpreter`, which a script looks up by itself, is in no directory of the commands' `PATH`.
    fn check_on_path(&self, program: &Path, interpreter: &str) -> Result<(), SandboxError> {
        if self.path.split(':').any(|directory| Path::new(directory).join(interpreter).exists()) {
            return Ok(());
        }
        let is_copied = self.programs.iter().any(|directory| directory.join(interpreter).exists());
        let way_out = match is_copied {
            true => "declare its toolchain without provide = \"copy\", whose programs scripts do not find",
            false => "declare the toolchain that has it under [[execution.toolchains]]",
        };
        let program = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
        let reason =
            format!("{program} needs `{interpreter}`, which is not on the PATH of commands; {way_out}");
        Err(SandboxError::Order(reason))
    }

    /// Fails if `path`, a program or its interpreter, does not exist or is where commands may not execute it.
    fn check_executable(&self, program: &Path, path: &Path) -> Result<(), SandboxError> {
        let Ok(real) = path.canonicalize() else {
            let reason = format!(
                "its interpreter {} does not exist here; install the toolchain on the machine, or in the container, where commands run",
                path.display()
            );
            return Err(SandboxError::NotStarted { program: program.display().to_string(), reason });
        };
        // An interpreter that is a link reads the configuration beside the link as well.
        let beside = path.parent().and_then(|directory| directory.canonicalize().ok());
        let Some(closed_off) = beside.into_iter().chain([real]).find(|path| !self.is_readable(path)) else {
            return Ok(());
        };
        let toolchain = self.trusted.iter().find(|place| program.starts_with(place));
        let environment = toolchain.filter(|place| is_virtual_environment(place));
        let way_out = match (closed_directory(&closed_off), environment) {
            (Some(closed), Some(environment)) => format!(
                "is below {}, which not every user may enter; declare the toolchain {} with provide = \"copy\"",
                closed.display(),
                environment.display()
            ),
            (Some(closed), None) => format!(
                "is below {}, which not every user may enter; install it elsewhere, and declare its directory under [[execution.toolchains]]",
                closed.display()
            ),
            (None, _) => format!(
                "is in no toolchain; declare {} under [[execution.toolchains]]",
                installation_of(&closed_off).display()
            ),
        };
        let program = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
        Err(SandboxError::Order(format!("{program} needs {}, which {way_out}", closed_off.display())))
    }

    fn is_readable(&self, path: &Path) -> bool {
        is_of_system(path) || self.readable.iter().chain([&self.tree]).any(|place| path.starts_with(place))
    }

    /// Returns whether a path is an executable that the change cannot have written.
    fn is_tool(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        let Ok(metadata) = fs::metadata(&real) else { return false };
        let is_executable = metadata.is_file() && metadata.permissions().mode() & 0o111 != 0;
        let is_of_change = real.starts_with(&self.checkout) || real.starts_with(&self.tree);
        is_executable && (!is_of_change || self.trusted.iter().any(|place| real.starts_with(place)))
    }
}

fn refused(path: &str, reason: &str) -> SandboxError {
    SandboxError::Order(format!("the toolchain {path} {reason}"))
}

/// Returns whether the parent directory of a path of the tree exists, without links on the way.
fn parent_is_plain(tree: &Path, inside: &str) -> bool {
    let mut place = tree.to_owned();
    let above = Path::new(inside).parent().unwrap_or(Path::new(""));
    above.components().all(|part| {
        place.push(part);
        matches!(fs::symlink_metadata(&place), Ok(metadata) if metadata.is_dir())
    })
}

/// Makes a directory of the room for a copy outside the tree, and returns the path of the copy.
fn make_copy_directory(room: &Room, number: usize, source: &Path) -> io::Result<PathBuf> {
    let place = room.private.join(format!("toolchain-{number}"));
    fs::DirBuilder::new().mode(0o755).create(&place)?;
    Ok(place.join(source.file_name().unwrap_or("toolchain".as_ref())))
}

/// Returns the directory to declare for a program, or for the directory of one: the one above its `bin`, or else its own.
fn installation_of(program: &Path) -> &Path {
    let directory = program.parent().unwrap_or(program);
    let is_bin = directory.file_name().is_some_and(|name| PROGRAMS.iter().any(|bin| name == *bin));
    match directory.parent() {
        Some(above) if is_bin && above.parent().is_some() => above,
        Some(_) | None => directory,
    }
}

/// Returns whether commands may read a path without any toolchain.
fn is_of_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}

/// Copies a directory, with links as links, readable for everybody.
fn copy(source: &Path, place: &Path) -> io::Result<()> {
    copy_except(source, place, None)
}

/// Copies a directory like [`copy`], except directories named `left_out`, at any depth.
pub(super) fn copy_except(source: &Path, place: &Path, left_out: Option<&str>) -> io::Result<()> {
    let mut pending = vec![(source.to_owned(), place.to_owned())];
    while let Some((from, to)) = pending.pop() {
        fs::DirBuilder::new().mode(0o755).create(&to)?;
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            let (kind, from, to) = (entry.file_type()?, entry.path(), to.join(entry.file_name()));
            if kind.is_dir() {
                if left_out.is_none_or(|name| from.file_name() != Some(name.as_ref())) {
                    pending.push((from, to));
                }
            } else if kind.is_symlink() {
                symlink(fs::read_link(&from)?, to)?;
            } else if kind.is_file() {
                fs::copy(&from, &to)?;
                let mode = fs::metadata(&from)?.permissions().mode();
                let run = if mode & 0o100 != 0 { 0o755 } else { 0o644 };
                fs::set_permissions(&to, fs::Permissions::from_mode(run))?;
            }
        }
    }
    Ok(())
}

/// Fails if commands, which run as another user, cannot enter a directory.
fn check_enterable(source: &Path) -> Result<(), SandboxError> {
    let Some(closed) = closed_directory(source) else { return Ok(()) };
    let message = format!(
        "the toolchain {} is below {}, which not every user may enter; declare it with provide = \"copy\"",
        source.display(),
        closed.display()
    );
    Err(SandboxError::Order(message))
}

/// Returns the nearest directory of a path, or the path itself, that commands cannot enter because they run as another user.
fn closed_directory(path: &Path) -> Option<&Path> {
    if super::order::identity() == Identity::Own {
        return None;
    }
    path.ancestors().find(|part| !fs::metadata(part).is_ok_and(|metadata| metadata.mode() & 0o001 != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Yard {
        _scratch: tempfile::TempDir,
        checkout: PathBuf,
        room: Room,
    }

    fn yard() -> Yard {
        let scratch = tempfile::tempdir().unwrap();
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let checkout = scratch.path().join("checkout");
        fs::create_dir(&checkout).unwrap();
        let room = Room::make(scratch.path()).unwrap();
        Yard { checkout: checkout.canonicalize().unwrap(), room, _scratch: scratch }
    }

    fn program(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn provide(yard: &Yard, declared: &[(&str, bool)]) -> Result<Provided, SandboxError> {
        let declared: Vec<_> = declared
            .iter()
            .map(|(path, copied)| PolicyToolchain {
                path: (*path).to_owned(),
                provide: copied.then_some(ToolchainMode::Copy),
            })
            .collect();
        Toolchains::find(&declared, &yard.checkout)?.provide(&yard.room)
    }

    #[test]
    fn programs_come_from_declared_toolchains_and_the_system_and_from_nowhere_else() {
        let yard = yard();
        program(&yard.checkout.join("node_modules/.bin/eslint"));
        program(&yard.checkout.join("tools/lookalike"));
        program(&yard.room.tree.join("bin/planted"));
        // A package of the workspace itself, which npm links to.
        symlink("../../tools/lookalike", yard.checkout.join("node_modules/.bin/lookalike")).unwrap();
        for copied in [false, true] {
            let yard_of = || provide(&yard, &[("node_modules", copied)]).unwrap();
            let provided = yard_of();
            let found = provided.find("eslint").unwrap();
            let expected = if copied {
                yard.room.tree.join("node_modules/.bin/eslint")
            } else {
                yard.checkout.join("node_modules/.bin/eslint")
            };
            assert_eq!(found, expected);
            for missing in ["lookalike", "planted", "../eslint", "bin/planted", "", "no-such-program"] {
                assert!(provided.find(missing).is_err(), "{missing}");
            }
            assert!(provided.find("sh").is_ok());
            assert!(!provided.path.contains(yard.room.tree.to_str().unwrap()), "{}", provided.path);
            let there = yard.room.tree.join("node_modules");
            assert_eq!(fs::symlink_metadata(&there).unwrap().is_symlink(), !copied);
            super::super::remove::remove_tree(&there).unwrap();
        }
        assert!(provide(&yard, &[]).unwrap().find("eslint").is_err());
    }

    #[test]
    fn a_toolchain_that_the_change_could_have_made_is_refused() {
        let yard = yard();
        program(&yard.checkout.join("real/.bin/eslint"));
        symlink("real", yard.checkout.join("node_modules")).unwrap();
        assert!(provide(&yard, &[("node_modules", false)]).is_err());
        program(&yard.room.tree.join("real/.bin/eslint"));
        assert!(provide(&yard, &[("real", false)]).is_err());
        assert!(provide(&yard, &[("real", true)]).is_err());
        assert!(provide(&yard, &[("not-there", false)]).unwrap().find("eslint").is_err());
        // The tree has no directory for it, so no project of the commit could use it.
        program(&yard.checkout.join("web/node_modules/.bin/tsc"));
        assert!(provide(&yard, &[("web/node_modules", false)]).unwrap().find("tsc").is_err());
    }

    /// A virtual environment at `place` whose interpreter is in an installation beside the checkout.
    fn environment(yard: &Yard, place: &Path, mode: u32) -> PathBuf {
        let installation = yard.checkout.parent().unwrap().join("installation");
        program(&installation.join("bin/python3.11"));
        fs::create_dir_all(installation.join("lib/python3.11/site-packages/other")).unwrap();
        for file in ["lib/python3.11/os.py", "lib/libpython3.11.so.1.0", ".secret"] {
            fs::write(installation.join(file), "").unwrap();
        }
        fs::set_permissions(&installation, fs::Permissions::from_mode(mode)).unwrap();
        let bin = installation.join("bin");
        fs::create_dir_all(place.join("bin")).unwrap();
        fs::write(place.join("pyvenv.cfg"), format!("home = {}\nversion = 3.11\n", bin.display())).unwrap();
        symlink(bin.join("python3.11"), place.join("bin/python3")).unwrap();
        symlink("python3", place.join("bin/python")).unwrap();
        let script = format!("#!{}\nimport pytest\n", place.join("bin/python3").display());
        program(&place.join("bin/pytest"));
        fs::write(place.join("bin/pytest"), script).unwrap();
        installation
    }

    #[test]
    fn the_interpreter_of_a_virtual_environment_and_its_libraries_are_readable() {
        let yard = yard();
        let place = yard.checkout.join(".venv");
        let installation = environment(&yard, &place, 0o755);
        let provided = provide(&yard, &[(".venv", false)]).unwrap();
        assert_eq!(provided.find("pytest").unwrap(), place.join("bin/pytest"));
        let expected = [place, installation.join("bin/python3.11"), installation.join("lib")];
        assert_eq!(provided.readable, expected);
        assert_eq!(provided.library_path, "");
    }

    #[test]
    fn an_interpreter_that_commands_cannot_execute_is_named_with_a_way_out() {
        let yard = yard();
        let place = yard.checkout.join(".venv");
        let installation = environment(&yard, &place, 0o700);
        if super::super::order::identity() == Identity::Private {
            let refused = provide(&yard, &[(".venv", false)]).unwrap().find("pytest").unwrap_err();
            let expected = format!("declare the toolchain {} with provide = \"copy\"", place.display());
            assert!(refused.to_string().ends_with(&expected), "{refused}");
        }
        // No virtual environment, so nobody knows what the interpreter needs.
        fs::set_permissions(&installation, fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(place.join("pyvenv.cfg")).unwrap();
        let refused = provide_again(&yard).find("pytest").unwrap_err();
        let expected = format!("declare {} under [[execution.toolchains]]", installation.display());
        assert!(refused.to_string().ends_with(&expected), "{refused}");
        fs::remove_dir_all(&installation).unwrap();
        let missing = provide_again(&yard).find("pytest").unwrap_err();
        assert!(matches!(missing, SandboxError::NotStarted { .. }), "{missing}");
        assert!(missing.to_string().contains("does not exist here"), "{missing}");
    }

    fn provide_again(yard: &Yard) -> Provided {
        let link = yard.room.tree.join(".venv");
        if fs::symlink_metadata(&link).is_ok() {
            fs::remove_file(link).unwrap();
        }
        provide(yard, &[(".venv", false)]).unwrap()
    }

    #[test]
    fn an_interpreter_that_the_change_may_have_written_is_not_provided() {
        let yard = yard();
        let place = yard.checkout.join(".venv");
        let installation = environment(&yard, &place, 0o755);
        let planted = yard.checkout.join("planted");
        fs::rename(&installation, &planted).unwrap();
        fs::remove_file(place.join("bin/python3")).unwrap();
        symlink(planted.join("bin/python3.11"), place.join("bin/python3")).unwrap();
        fs::write(place.join("pyvenv.cfg"), format!("home = {}/bin\n", planted.display())).unwrap();
        let provided = provide(&yard, &[(".venv", false)]).unwrap();
        assert_eq!(provided.readable, [place]);
        assert!(provided.find("pytest").is_err());
    }

    #[test]
    fn a_copied_virtual_environment_uses_a_copy_of_its_interpreter() {
        let yard = yard();
        environment(&yard, &yard.checkout.join(".venv"), 0o700);
        let provided = provide(&yard, &[(".venv", true)]).unwrap();
        let (place, copied) = (yard.room.tree.join(".venv"), yard.room.private.join("interpreter-0"));
        assert_eq!(provided.find("pytest").unwrap(), place.join("bin/pytest"));
        let script = fs::read_to_string(place.join("bin/pytest")).unwrap();
        assert_eq!(script, format!("#!{}\nimport pytest\n", place.join("bin/python3").display()));
        assert_eq!(place.join("bin/python").canonicalize().unwrap(), copied.join("bin/python3.11"));
        let config = fs::read_to_string(place.join("pyvenv.cfg")).unwrap();
        assert_eq!(config, format!("home = {}\nversion = 3.11\n", copied.join("bin").display()));
        assert!(copied.join("lib/python3.11/os.py").exists());
        assert!(!copied.join("lib/python3.11/site-packages").exists());
        assert_eq!(provided.library_path, copied.join("shared").to_str().unwrap());
        assert!(copied.join("shared/libpython3.11.so.1.0").exists());
    }

    #[test]
    fn a_link_in_a_virtual_environment_leads_nothing_to_be_written_elsewhere() {
        for part in ["pyvenv.cfg", "bin"] {
            let yard = yard();
            let place = yard.checkout.join(".venv");
            environment(&yard, &place, 0o755);
            let elsewhere = yard.checkout.parent().unwrap().join("elsewhere");
            fs::rename(place.join(part), &elsewhere).unwrap();
            symlink(&elsewhere, place.join(part)).unwrap();
            let file = if part == "bin" { elsewhere.join("pytest") } else { elsewhere.clone() };
            let before = fs::read_to_string(&file).unwrap();
            provide(&yard, &[(".venv", true)]).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), before, "{part}");
            assert!(!yard.room.private.join("interpreter-0").exists(), "{part}");
        }
    }

    #[test]
    fn a_copied_virtual_environment_of_the_system_keeps_its_interpreter() {
        let yard = yard();
        let place = yard.checkout.join(".venv");
        environment(&yard, &place, 0o755);
        fs::remove_file(place.join("bin/python3")).unwrap();
        symlink("/bin/sh", place.join("bin/python3")).unwrap();
        fs::write(place.join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
        let provided = provide(&yard, &[(".venv", true)]).unwrap();
        let copied = yard.room.tree.join(".venv");
        assert_eq!(provided.find("pytest").unwrap(), copied.join("bin/pytest"));
        let script = fs::read_to_string(copied.join("bin/pytest")).unwrap();
        assert!(script.starts_with(&format!("#!{}\n", copied.join("bin/python3").display())), "{script}");
        assert_eq!(fs::read_link(copied.join("bin/python3")).unwrap(), Path::new("/bin/sh"));
        assert_eq!(provided.readable, [""; 0].map(PathBuf::from));
    }

    #[test]
    fn a_toolchain_elsewhere_is_copied_where_nobody_else_may_enter() {
        let yard = yard();
        let home = yard.checkout.parent().unwrap().join("home");
        program(&home.join("tool/bin/check"));
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
        let path = home.join("tool").to_str().unwrap().to_owned();
        let provided = provide(&yard, &[(&path, true)]).unwrap();
        assert!(provided.find("check").unwrap().starts_with(&yard.room.private));
        if super::super::order::identity() == Identity::Private {
            let refused = provide(&yard, &[(&path, false)]).err().unwrap().to_string();
            assert!(refused.contains("copy"), "{refused}");
        }
    }
}
