//! Room that no listing shows: deleted files that are still open.

use std::fs;
use std::process::Stdio;

use crate::support::Outcome;
use crate::support::fence::{As, Yard, can_be};

/// Takes from root what a container has not by default: it may neither mount nor trace.
const AS_IN_A_CONTAINER: &[&str] = &["setpriv", "--bounding-set=-sys_admin,-sys_ptrace"];

/// Each way to be fenced in, and the words before the program that make it so.
fn every_way(test: impl Fn(&Yard, &[&str])) {
    if can_be(As::Root) {
        test(&Yard::new(As::Root), &[]);
        test(&Yard::new(As::Root), AS_IN_A_CONTAINER);
    }
    test(&Yard::new(As::Nobody), &[]);
}

/// Runs a script of Python in the fence.
fn run_under(yard: &Yard, before: &[&str], options: &[&str], script: &str) -> Outcome {
    let program = yard.fence(options, &["python3", "-c", script]).under(before);
    Outcome::of(&program.bare_command().output().unwrap())
}

#[track_caller]
fn stopped(outcome: &Outcome, by: &str) {
    assert_eq!(outcome.json()["stopped"], by, "{}{}", outcome.text(), outcome.stderr);
    assert_eq!(outcome.exit, 1);
}

#[test]
fn deleted_files_that_are_open_count() {
    let plain = "import os, time\n\
        file = os.open('gone', os.O_CREAT | os.O_RDWR)\n\
        os.unlink('gone')\n\
        os.posix_fallocate(file, 0, 192 << 20)\n\
        time.sleep(60)\n";
    let nameless = "import os, time\n\
        file = os.open('.', os.O_TMPFILE | os.O_RDWR)\n\
        os.posix_fallocate(file, 0, 192 << 20)\n\
        time.sleep(60)\n";
    every_way(|yard, before| {
        for script in [plain, nameless] {
            stopped(&run_under(yard, before, &["--disk", "64"], script), "disk");
        }
    });
}

#[test]
fn deleted_files_that_cannot_be_looked_at_count_by_the_room_that_is_lost() {
    let on_its_way = "import array, os, socket, time\n\
        here, there = socket.socketpair()\n\
        file = os.open('gone', os.O_CREAT | os.O_RDWR)\n\
        os.unlink('gone')\n\
        os.posix_fallocate(file, 0, 512 << 20)\n\
        here.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [file]))])\n\
        os.close(file)\n\
        time.sleep(60)\n";
    let mapped = "import mmap, os, time\n\
        file = os.open('gone', os.O_CREAT | os.O_RDWR)\n\
        os.unlink('gone')\n\
        os.posix_fallocate(file, 0, 512 << 20)\n\
        view = mmap.mmap(file, 4096)\n\
        os.closerange(file, 64)\n\
        time.sleep(60)\n";
    let hidden = "import ctypes, os, time\n\
        ctypes.CDLL(None).prctl(4, 0)\n\
        file = os.open('gone', os.O_CREAT | os.O_RDWR)\n\
        os.unlink('gone')\n\
        os.posix_fallocate(file, 0, 512 << 20)\n\
        time.sleep(60)\n";
    every_way(|yard, before| {
        for script in [on_its_way, mapped, hidden] {
            stopped(&run_under(yard, before, &["--disk", "64"], script), "disk");
        }
    });
}

#[test]
fn what_others_write_beside_a_command_is_not_its_own() {
    every_way(|yard, before| {
        let script = "import os, time\n\
            file = os.open('gone', os.O_CREAT | os.O_RDWR)\n\
            os.unlink('gone')\n\
            os.posix_fallocate(file, 0, 8 << 20)\n\
            open('started', 'w').close()\n\
            while not os.path.exists('go'): time.sleep(0.05)\n\
            time.sleep(1.5)\n";
        let program = yard.fence(&["--disk", "16"], &["python3", "-c", script]).under(before);
        let mut command = program.bare_command();
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let tree = loop {
            let rooms = fs::read_dir(yard.path("scratch")).unwrap().flatten();
            let mut trees = rooms.map(|room| room.path().join("tree"));
            if let Some(tree) = trees.find(|tree| tree.join("started").exists()) {
                break tree;
            }
            std::thread::yield_now();
        };
        fs::write(yard.path("neighbour"), vec![b'x'; 64 << 20]).unwrap();
        fs::write(tree.join("go"), "").unwrap();
        Outcome::of(&child.wait_with_output().unwrap()).expect(0);
    });
}
