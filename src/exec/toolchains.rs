//! Tools and packages that an earlier step installed: provides them to commands and finds programs in them.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::order::{PATH, broken};
use super::room::Room;
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
            installed.push(Toolchain { source, inside, copied });
        }
        let checkout = checkout.canonicalize().map_err(|error| broken("find the checkout", &error))?;
        Ok(Self { installed, checkout })
    }

    /// Provides the toolchains to a room whose tree is written.
    pub(crate) fn provide(&self, room: &Room) -> Result<Provided, SandboxError> {
        let mut provided = Provided {
            readable: Vec::new(),
            path: String::new(),
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
            let place = if toolchain.copied {
                let place = match in_tree {
                    Some(place) => place,
                    None => make_copy_directory(room, number, &toolchain.source)
                        .map_err(|error| broken("copy a toolchain", &error))?,
                };
                copy(&toolchain.source, &place).map_err(|error| broken("copy a toolchain", &error))?;
                if !place.starts_with(&room.tree) {
                    provided.readable.push(place.clone());
                }
                place
            } else {
                check_enterable(&toolchain.source)?;
                if let Some(place) = in_tree {
                    symlink(&toolchain.source, place).map_err(|error| broken("link a toolchain", &error))?;
                }
                provided.readable.push(toolchain.source.clone());
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
}

impl Provided {
    /// Finds a program by its plain name. Programs in the checkout or the commit's tree are skipped: the author of the change
    /// may have written them.
    pub(crate) fn find(&self, program: &str) -> Option<PathBuf> {
        if program.is_empty() || program.contains('/') {
            return None;
        }
        self.programs.iter().map(|directory| directory.join(program)).find(|path| self.is_tool(path))
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

/// Copies a directory, with links as links, readable for everybody.
fn copy(source: &Path, place: &Path) -> io::Result<()> {
    let mut pending = vec![(source.to_owned(), place.to_owned())];
    while let Some((from, to)) = pending.pop() {
        fs::DirBuilder::new().mode(0o755).create(&to)?;
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            let (kind, from, to) = (entry.file_type()?, entry.path(), to.join(entry.file_name()));
            if kind.is_dir() {
                pending.push((from, to));
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
    if super::order::identity() == Identity::Own {
        return Ok(());
    }
    for part in source.ancestors() {
        let metadata = fs::metadata(part).map_err(|error| broken("inspect a toolchain", &error))?;
        if metadata.mode() & 0o001 == 0 {
            let message = format!(
                "the toolchain {} is below {}, which not every user may enter; declare it with provide = \"copy\"",
                source.display(),
                part.display()
            );
            return Err(SandboxError::Order(message));
        }
    }
    Ok(())
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
                assert_eq!(provided.find(missing), None, "{missing}");
            }
            assert!(provided.find("sh").is_some());
            assert!(!provided.path.contains(yard.room.tree.to_str().unwrap()), "{}", provided.path);
            let there = yard.room.tree.join("node_modules");
            assert_eq!(fs::symlink_metadata(&there).unwrap().is_symlink(), !copied);
            super::super::remove::remove_tree(&there).unwrap();
        }
        assert_eq!(provide(&yard, &[]).unwrap().find("eslint"), None);
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
        assert_eq!(provide(&yard, &[("not-there", false)]).unwrap().find("eslint"), None);
        // The tree has no directory for it, so no project of the commit could use it.
        program(&yard.checkout.join("web/node_modules/.bin/tsc"));
        assert_eq!(provide(&yard, &[("web/node_modules", false)]).unwrap().find("tsc"), None);
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
