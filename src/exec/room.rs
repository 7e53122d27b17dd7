//! Directories for one plan's commands: its tree and its private directory, outside every checkout.
//!
//! A file lock shows whether the process that made a room still runs, so the next one removes rooms that a crash left.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};

use super::output::Intake;
use super::remove::remove_tree;
use qa_run::commands::Captured;

const PREFIX: &str = "qa-skill-room-";
const LOCK: &str = ".lock";

/// Directories of one plan, removed when this is dropped.
pub(crate) struct Room {
    /// The plan's private directory, which others may enter and not list.
    pub(crate) private: PathBuf,
    /// An empty directory for its tree.
    pub(crate) tree: PathBuf,
    lock_path: PathBuf,
    _lock: File,
}

impl Room {
    /// Makes a room in a directory that every user may enter, such as `/tmp`, and removes rooms of ended processes.
    pub(crate) fn make(scratch: &Path) -> io::Result<Self> {
        sweep(scratch)?;
        for number in 0.. {
            let name = format!("{PREFIX}{}-{number}", std::process::id());
            let lock_path = scratch.join(format!("{name}{LOCK}"));
            let lock = match open_lock(&lock_path, true) {
                Ok(lock) => lock,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            // A concurrent sweep may have removed the file as abandoned; then the next number is tried.
            if lock.try_lock().is_err() || !is_lock_at(&lock_path, &lock) {
                continue;
            }
            let private = scratch.join(name);
            let tree = private.join("tree");
            let made = DirBuilder::new().mode(0o711).create(&private);
            match made.and_then(|()| DirBuilder::new().mode(0o700).create(&tree)) {
                Ok(()) => return Ok(Self { private, tree, lock_path, _lock: lock }),
                Err(error) => {
                    fs::remove_file(&lock_path)?;
                    return Err(error);
                }
            }
        }
        Err(io::Error::other("no unused directory name was found"))
    }

    /// Reads a file that a command wrote to the tree; returns `None` if it does not exist. Links are not followed, since a
    /// command may have made any part of the path one.
    pub(crate) fn read_output_file(&self, path: &str, max_bytes: u64) -> io::Result<Option<Captured>> {
        let tree = File::open(&self.tree)?;
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let how = OpenHow::new().flags(flags).resolve(
            ResolveFlag::RESOLVE_BENEATH
                | ResolveFlag::RESOLVE_NO_SYMLINKS
                | ResolveFlag::RESOLVE_NO_MAGICLINKS,
        );
        let file = match openat2(&tree, path, how) {
            Ok(file) => File::from(file),
            Err(nix::errno::Errno::ENOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut intake = Intake::new(file, max_bytes);
        let mut buffer = vec![0; 64 << 10];
        while intake.pipe.is_some() {
            if intake.take_some(&mut buffer)? {
                return Err(io::Error::other("it is too large"));
            }
        }
        Ok(Some(intake.finish()))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // A directory that cannot be removed keeps its lock file, so that the next sweep tries again.
        if remove_tree(&self.private).is_ok() {
            let _left_for_the_next_sweep = fs::remove_file(&self.lock_path);
        }
    }
}

fn open_lock(path: &Path, new: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(new).mode(0o600);
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

/// Returns whether an open lock is still the file at a path.
fn is_lock_at(path: &Path, lock: &File) -> bool {
    match (fs::symlink_metadata(path), lock.metadata()) {
        (Ok(at_path), Ok(open)) => (open.dev(), open.ino()) == (at_path.dev(), at_path.ino()),
        _ => false,
    }
}

/// Removes the rooms of ended processes.
fn sweep(scratch: &Path) -> io::Result<()> {
    let us = nix::unistd::geteuid().as_raw();
    for entry in fs::read_dir(scratch)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(name) =
            name.filter(|name| name.starts_with(PREFIX)).and_then(|name| name.strip_suffix(LOCK))
        else {
            continue;
        };
        let is_own_lock =
            matches!(fs::symlink_metadata(&path), Ok(metadata) if metadata.is_file() && metadata.uid() == us);
        if !is_own_lock {
            continue;
        }
        let Ok(lock) = open_lock(&path, false) else { continue };
        if lock.try_lock().is_err() {
            continue;
        }
        let room = scratch.join(name);
        let removed = match fs::symlink_metadata(&room) {
            Ok(metadata) if metadata.is_dir() && metadata.uid() == us => remove_tree(&room).is_ok(),
            Ok(_) => false,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if removed && is_lock_at(&path, &lock) {
            let _another_sweep_was_faster = fs::remove_file(&path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_room_and_its_lock_go_away_together() {
        let scratch = tempfile::tempdir().unwrap();
        let room = Room::make(scratch.path()).unwrap();
        fs::write(room.tree.join("file"), "x").unwrap();
        drop(room);
        assert_eq!(names(scratch.path()), [""; 0]);
    }

    #[test]
    fn what_a_dead_process_left_is_swept_and_what_a_living_one_has_is_not() {
        let scratch = tempfile::tempdir().unwrap();
        let living = Room::make(scratch.path()).unwrap();
        for name in ["dead", "dead-without-room"] {
            fs::write(scratch.path().join(format!("{PREFIX}{name}{LOCK}")), "").unwrap();
        }
        fs::create_dir_all(scratch.path().join(format!("{PREFIX}dead/tree/deep"))).unwrap();
        let other = Room::make(scratch.path()).unwrap();
        assert!(living.tree.is_dir() && other.tree.is_dir());
        assert_eq!(names(scratch.path()).len(), 4, "{:?}", names(scratch.path()));
    }

    #[test]
    fn only_a_plain_file_in_the_tree_is_taken() {
        use std::os::unix::fs::symlink;
        let scratch = tempfile::tempdir().unwrap();
        let victim = scratch.path().join("victim");
        fs::create_dir(&victim).unwrap();
        fs::write(victim.join("report"), "secret").unwrap();
        let room = Room::make(scratch.path()).unwrap();
        fs::create_dir(room.tree.join("sub")).unwrap();
        fs::write(room.tree.join("sub/report"), "12345").unwrap();
        symlink(victim.join("report"), room.tree.join("link")).unwrap();
        symlink(&victim, room.tree.join("way")).unwrap();
        nix::unistd::mkfifo(&room.tree.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let taken = room.read_output_file("sub/report", 3).unwrap().unwrap();
        assert_eq!((taken.kept.as_slice(), taken.bytes), (&b"123"[..], 5));
        assert!(room.read_output_file("sub/none", 9).unwrap().is_none());
        for path in ["link", "way/report", "../victim/report", "sub", "pipe", "/etc/hostname"] {
            assert!(room.read_output_file(path, 9).is_err(), "{path}");
        }
    }

    #[test]
    fn a_link_in_the_place_of_a_room_is_not_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let victim = tempfile::tempdir().unwrap();
        fs::write(victim.path().join("file"), "x").unwrap();
        fs::write(scratch.path().join(format!("{PREFIX}1{LOCK}")), "").unwrap();
        std::os::unix::fs::symlink(victim.path(), scratch.path().join(format!("{PREFIX}1"))).unwrap();
        std::os::unix::fs::symlink(
            victim.path().join("file"),
            scratch.path().join(format!("{PREFIX}2{LOCK}")),
        )
        .unwrap();
        drop(Room::make(scratch.path()).unwrap());
        assert!(victim.path().join("file").is_file());
    }
}
