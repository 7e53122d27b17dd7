//! Room and memory that no listing shows, of deleted files and files in memory, and the shared memory of commands.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

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
    Outcome::from_output(&program.bare_command().output().unwrap())
}

fn layers(yard: &Yard) -> Value {
    yard.run(&[], &[]).expect(0).json()["layers"].take()
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
fn files_in_directories_that_may_not_be_listed_count_by_the_room_that_is_lost() {
    let script = |mode: &str| {
        format!(
            "import os, time\n\
             os.mkdir('closed')\n\
             file = os.open('closed/x', os.O_CREAT | os.O_RDWR)\n\
             os.chmod('closed', {mode})\n\
             os.posix_fallocate(file, 0, 512 << 20)\n\
             os.close(file)\n\
             time.sleep(60)\n"
        )
    };
    every_way(|yard, before| {
        for mode in ["0o000", "0o400", "0o100"] {
            stopped(&run_under(yard, before, &["--disk", "64"], &script(mode)), "disk");
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
        Outcome::from_output(&child.wait_with_output().unwrap()).expect(0);
    });
}

/// One test, since what hides counts by what the machine has, and neighbours that end take from that.
#[test]
fn files_in_memory_count_also_where_they_cannot_be_looked_at() {
    let nameless = "import os, time\n\
        file = os.memfd_create('x')\n\
        os.posix_fallocate(file, 0, 192 << 20)\n\
        time.sleep(60)\n";
    let let_go_of = "import mmap, time\n\
        view = mmap.mmap(-1, 192 << 20)\n\
        for start in range(0, 192 << 20, 8 << 20):\n\
        \x20   view[start:start + (8 << 20)] = bytes(8 << 20)\n\
        \x20   view.madvise(mmap.MADV_DONTNEED, start, 8 << 20)\n\
        time.sleep(60)\n";
    let on_its_way = "import array, os, socket, time\n\
        here, there = socket.socketpair()\n\
        file = os.memfd_create('x')\n\
        os.posix_fallocate(file, 0, 192 << 20)\n\
        here.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [file]))])\n\
        os.close(file)\n\
        time.sleep(60)\n";
    let mapped = "import mmap, os, time\n\
        file = os.memfd_create('x')\n\
        os.posix_fallocate(file, 0, 192 << 20)\n\
        view = mmap.mmap(file, 4096)\n\
        os.closerange(file, 64)\n\
        time.sleep(60)\n";
    let hidden = "import ctypes, os, time\n\
        ctypes.CDLL(None).prctl(4, 0)\n\
        file = os.memfd_create('x')\n\
        os.posix_fallocate(file, 0, 192 << 20)\n\
        time.sleep(60)\n";
    every_way(|yard, before| {
        for script in [nameless, let_go_of, on_its_way, mapped, hidden] {
            stopped(&run_under(yard, before, &["--memory", "48"], script), "memory");
        }
    });
}

#[test]
fn files_in_memory_below_the_limit_pass_beside_those_of_others() {
    // A file counts once, also where it is mapped. Together the two commands have more than the limit of one.
    let script = "import mmap, os, time\n\
        file = os.memfd_create('x')\n\
        os.posix_fallocate(file, 0, 40 << 20)\n\
        view = mmap.mmap(file, 40 << 20)\n\
        view[:] = bytes(len(view))\n\
        time.sleep(2.5)\n";
    every_way(|yard, before| {
        let start = || {
            let program = yard.fence(&["--memory", "72"], &["python3", "-c", script]).under(before);
            let mut command = program.bare_command();
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        for child in [start(), start()] {
            Outcome::from_output(&child.wait_with_output().unwrap()).expect(0);
        }
    });
}

#[test]
fn shared_memory_of_its_own_is_empty_and_leaves_that_of_the_machine_alone() {
    if !can_be(As::Root) {
        return;
    }
    let yard = Yard::new(As::Root);
    if layers(&yard)["sharedMemory"] != "own" {
        eprintln!("SKIPPED: there are no mount namespaces here");
        return;
    }
    let theirs = format!("/dev/shm/others-{}", yard.directory.path().metadata().unwrap().ino());
    fs::write(&theirs, "x").unwrap();
    let script =
        "ls -A /dev/shm; echo x > /dev/shm/mine; mount 2> /dev/null; df -m --output=size /dev/shm | tail -1";
    // Mounts of the machine are shared as those of systemd are, so that what is mounted anywhere could arrive here.
    let compare =
        "before=$(cat /proc/self/mountinfo); \"$@\"; [ \"$before\" = \"$(cat /proc/self/mountinfo)\" ]";
    let machine = ["unshare", "--mount", "--propagation", "shared", "sh", "-c", compare, "sh"];
    let program = yard.fence(&["--memory", "96"], &["sh", "-c", script]).under(machine);
    let outcome = Outcome::from_output(&program.bare_command().output().unwrap());
    fs::remove_file(&theirs).unwrap();
    let document = outcome.expect(0).json();
    let printed = document["stdout"]["text"].as_str().unwrap();
    assert_eq!(printed.lines().last().unwrap().trim(), "96", "{printed}");
    assert!(!printed.contains("others-"), "{printed}");
    assert!(!Path::new("/dev/shm/mine").exists());
}

#[test]
fn where_nothing_can_be_mounted_shared_memory_beyond_the_limit_is_none() {
    if !can_be(As::Root) {
        return;
    }
    let yard = Yard::new(As::Root);
    let [unshare, mount] = if cfg!(target_arch = "x86_64") { [272, 165] } else { [97, 40] };
    // A kernel that only pretends must neither change the machine nor open its shared memory.
    for (call, answer) in [(unshare, 1), (unshare, 0), (mount, 1), (mount, 0)] {
        let cripple = [yard.tool("cripple"), call.to_string(), answer.to_string()];
        let run = |options: &[&str], script: &str| {
            let program = yard.fence(options, &["sh", "-c", script]).under(&cripple);
            Outcome::from_output(&program.bare_command().output().unwrap()).expect(0).json()
        };
        let script = "( echo x > /dev/shm/qa-$$ ) 2> /dev/null && rm /dev/shm/qa-$$ && echo there; true";
        let document = run(&[], script);
        assert_eq!(document["layers"]["sharedMemory"], "machine", "{document}");
        assert_eq!(document["stdout"]["text"], "there\n", "nothing is promised");
        let size = file_system_size("/dev/shm");
        let document = run(&["--memory", "48"], script);
        let expected = if size <= 48 << 20 { "there\n" } else { "" };
        assert_eq!(document["stdout"]["text"], expected, "{document}");
    }
}

/// Returns the size of a file system in bytes.
fn file_system_size(path: &str) -> u64 {
    let output = std::process::Command::new("df").args(["-B1", "--output=size", path]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().last().unwrap().trim().parse().unwrap()
}
