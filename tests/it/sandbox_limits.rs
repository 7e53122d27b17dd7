//! What commands may use, and that nothing of them is left.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::support::Outcome;
use crate::support::fence::{As, Yard, can_be};

/// Both ways to be fenced in.
fn everywhere(test: impl Fn(&Yard)) {
    for user in [As::Root, As::Nobody] {
        if can_be(user) {
            test(&Yard::new(user));
        }
    }
}

#[track_caller]
fn stopped(outcome: &Outcome, by: &str) {
    assert_eq!(outcome.exit, 1, "{}{}", outcome.text(), outcome.stderr);
    assert_eq!(outcome.json()["stopped"], by, "{}", outcome.text());
}

/// Processes of private users, of all fences.
fn private_processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        let owner = entry.metadata().ok()?.uid();
        (60_578..=61_183).contains(&owner).then_some(number)
    });
    numbers.collect()
}

#[test]
fn a_command_that_ignores_everything_ends_with_its_time() {
    everywhere(|yard| {
        let script = "trap '' TERM INT HUP QUIT PIPE; while :; do sleep 1; done";
        stopped(&yard.run(&["--timeout", "1"], &["sh", "-c", script]), "timed-out");
    });
}

#[test]
fn a_flood_of_output_ends_the_command_and_its_beginning_is_kept() {
    everywhere(|yard| {
        let outcome = yard.run(&["--output", "4"], &["yes"]);
        stopped(&outcome, "output");
        let stdout = &outcome.json()["stdout"];
        assert_eq!(stdout["keptBytes"], 4096);
        assert_eq!(stdout["text"], "y\n".repeat(2048));
        let bytes = stdout["bytes"].as_u64().unwrap();
        assert!((16 * 4096..=(16 * 4096) + (64 << 10)).contains(&bytes), "{bytes}");
    });
}

#[test]
fn output_over_its_limit_is_cut_visibly_and_hashed_whole() {
    everywhere(|yard| {
        let outcome =
            yard.run(&["--output", "1"], &["sh", "-c", "printf '%02000d' 7; printf '%02000d' 8 >&2"]);
        let document = outcome.expect(0).json();
        for (name, digit) in [("stdout", '7'), ("stderr", '8')] {
            let whole = format!("{}{digit}", "0".repeat(1999));
            assert_eq!(document[name]["bytes"], 2000);
            assert_eq!(document[name]["keptBytes"], 1024);
            assert_eq!(document[name]["sha256"], crate::support::sha256(whole.as_bytes()));
        }
    });
}

#[test]
fn a_full_disk_is_not_reached() {
    everywhere(|yard| {
        let fill = "cat /dev/zero > big & wait";
        stopped(&yard.run(&["--disk", "64"], &["sh", "-c", fill]), "disk");
        let many = "i=0; while :; do i=$((i+1)); : > $i; done";
        stopped(&yard.run(&["--disk", "8"], &["sh", "-c", many]), "disk");
    });
}

#[test]
fn memory_over_its_limit_ends_the_command() {
    everywhere(|yard| {
        let script = "import mmap, time; m = [bytearray(b'x') * (300 << 20)]; time.sleep(60)";
        stopped(&yard.run(&["--memory", "150"], &["python3", "-c", script]), "memory");
    });
}

#[test]
fn a_huge_file_a_core_and_open_files_without_end_are_refused() {
    everywhere(|yard| {
        let script = "ulimit -c; dd if=/dev/zero of=sparse bs=1 count=1 seek=1T 2>/dev/null || echo refused; \
                      ulimit -n";
        let printed = yard.prints(&[], &["sh", "-c", script]);
        let lines: Vec<&str> = printed.lines().collect();
        assert_eq!(lines[..2], ["0", "refused"], "{printed}");
        assert!(lines[2].parse::<u64>().unwrap() <= 4096, "{printed}");
    });
}

#[test]
fn a_fork_bomb_is_bounded_and_gone() {
    everywhere(|yard| {
        let script = "import os, time\n\
            count = 0\n\
            try:\n\
            \x20   while True:\n\
            \x20       if os.fork() == 0:\n\
            \x20           time.sleep(600)\n\
            \x20       count += 1\n\
            except OSError:\n\
            \x20   print(count)\n";
        let outcome = yard.run(&["--processes", "60"], &["python3", "-c", script]).expect(0);
        let document = outcome.json();
        let count: u64 = document["stdout"]["text"].as_str().unwrap().trim().parse().unwrap();
        assert!((10..=70).contains(&count), "{count}");
        assert_eq!(document["leftBehind"], true);
    });
}

#[test]
fn a_hundred_storms_of_processes_leave_none() {
    if !can_be(As::Root) {
        return;
    }
    let yard = Yard::new(As::Root);
    let storm = yard.tool("storm");
    let outcome = yard.run(&["--times", "100", "--processes", "64"], &[&storm, "16"]).expect(0);
    assert_eq!(outcome.json()["leftBehind"], true);
    let before = private_processes();
    // Other tests have commands of their own; none of these is a storm.
    let storms = before.iter().filter(|process| {
        fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|name| name.trim() == "storm")
    });
    assert_eq!(storms.count(), 0);
}

#[test]
fn as_nobody_daemons_are_found_in_the_family() {
    let yard = Yard::new(As::Nobody);
    let script = "for i in 1 2 3; do (setsid sh -c 'setsid sleep 600 & setsid sleep 600 &' &) ; done; exit 5";
    let outcome = yard.run(&[], &["sh", "-c", script]).expect(1);
    assert_eq!(outcome.json()["exit"]["code"], 5);
    assert_eq!(outcome.json()["leftBehind"], true);
}

/// Waits until no process has a word among its arguments. The test's own time limit is what ends this otherwise.
fn until_gone(word: &str) {
    let has = |entry: fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())
    };
    while fs::read_dir("/proc").unwrap().flatten().any(has) {
        std::thread::yield_now();
    }
}

#[test]
fn when_the_program_is_killed_its_command_ends_too() {
    everywhere(|yard| {
        let word = format!("6{}", yard.directory.path().metadata().unwrap().ino());
        let script = "setsid sleep $0 & echo started >&2; sleep $0";
        let mut command = yard.fence(&[], &["sh", "-c", script, &word]).bare_command();
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let running = || {
            let entries = fs::read_dir("/proc").unwrap().flatten();
            let names = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
            names.filter(|line| *line == format!("sleep\0{word}\0").as_bytes()).count()
        };
        while running() < 2 {
            std::thread::yield_now();
        }
        // The first is `timeout`, its child is the program.
        let program = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
        let killed = std::process::Command::new("kill").args(["-9", program.trim()]).status().unwrap();
        assert!(killed.success());
        child.wait().unwrap();
        until_gone(&word);
    });
}

#[test]
fn what_is_left_in_shared_memory_is_removed() {
    if !can_be(As::Root) {
        return;
    }
    let yard = Yard::new(As::Root);
    let name = format!("/dev/shm/qa-{}", yard.directory.path().metadata().unwrap().ino());
    let script = format!("mkdir -p {name}/a && echo x > {name}/a/b && cat {name}/a/b");
    assert_eq!(yard.prints(&[], &["sh", "-c", &script]), "x\n");
    assert!(fs::symlink_metadata(&name).is_err());
}

#[test]
fn a_tree_of_any_depth_and_mode_is_removed() {
    everywhere(|yard| {
        let script = "import os\n\
            for place in (os.environ['HOME'], os.getcwd()):\n\
            \x20   os.chdir(place)\n\
            \x20   for i in range(3000):\n\
            \x20       os.mkdir('d' * 20); os.chdir('d' * 20)\n\
            \x20   os.chmod('.', 0)\n";
        // It may be stopped before it is deep: what cannot be measured counts as full.
        yard.run(&[], &["python3", "-c", script]);
        let left: Vec<_> =
            fs::read_dir(yard.path("scratch")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.is_empty(), "{left:?}");
    });
}

#[test]
fn an_order_that_cannot_be_carried_out_says_why() {
    let yard = Yard::new(As::Nobody);
    let cases: [(&[&str], &[&str], &str); 7] = [
        (&[], &["no-such-program"], "no-such-program"),
        (&[], &["./tool"], "neither a name nor an absolute path"),
        (&["--cwd", "../.."], &["true"], "outside the worktree"),
        (&["--cwd", "missing"], &["true"], "not a directory"),
        (&["--readable", "/"], &["true"], "not a plain absolute path"),
        (&["--readable", "/no/such/toolchain"], &["true"], "/no/such/toolchain"),
        (&["--env", "PATH=bin:/usr/bin"], &["true"], "PATH"),
    ];
    for (options, command, expected) in cases {
        let outcome = yard.run(options, command).expect_code(3, "EXECUTION_DENIED");
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    }
}

/// Waits until a command in each of so many rooms has made a file in its tree; the trees.
fn trees_with(scratch: &Path, name: &str, count: usize) -> Vec<PathBuf> {
    loop {
        let rooms = fs::read_dir(scratch).unwrap().flatten().map(|entry| entry.path().join("tree"));
        let trees: Vec<PathBuf> = rooms.filter(|tree| tree.join(name).exists()).collect();
        if trees.len() == count {
            return trees;
        }
        std::thread::yield_now();
    }
}

/// Two commands at once: each leaves a word wherever it may write, then looks for the other's. How open the word in
/// shared memory is, is said; elsewhere it is as open as can be. The words before are those of the program. What each
/// found.
fn two_at_once(yard: &Yard, before: &[String], in_shared_memory: &str) -> [Vec<String>; 2] {
    let script = "for place in \"$HOME\" \"${TMPDIR:-/tmp}\" .; do\n\
        \x20   ( umask 0; mkdir \"$place/$0\" && echo \"$0\" > \"$place/$0/word\" )\n\
        done\n\
        ( umask $3; mkdir /dev/shm/$0 && echo \"$0\" > /dev/shm/$0/word ) 2> /dev/null\n\
        : > planted\n\
        while [ ! -e go ]; do sleep 0.05; done\n\
        grep -rsal \"$1\" \"$2\" /tmp /dev/shm \"$HOME\" . | sed 's/-[0-9].*//'\n\
        cat /proc/[0-9]*/environ /proc/[0-9]*/cwd/*/word 2> /dev/null | grep -sa \"$1\"\n\
        for place in \"$2\"/qa-skill-room-*/* /dev/shm; do\n\
        \x20   ( echo x > \"$place/$1/word\" ) 2> /dev/null && echo \"written\"\n\
        done\n\
        echo over";
    let scratch = yard.path("scratch");
    let number = yard.directory.path().metadata().unwrap().ino();
    let words = [format!("first-{number}"), format!("second-{number}")];
    let start = |own: usize| {
        let (own, other) = (words[own].as_str(), words[1 - own].as_str());
        let arguments = ["sh", "-c", script, own, other, scratch.to_str().unwrap(), in_shared_memory];
        let mut command = yard.fence(&[], &arguments).under(before).bare_command();
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let both = [start(0), start(1)];
    let trees = trees_with(&scratch, "planted", 2);
    for word in &words {
        assert!(trees.iter().any(|tree| tree.join(word).join("word").exists()), "{word} can be seen outside");
    }
    for tree in &trees {
        fs::write(tree.join("go"), "").unwrap();
    }
    let found = both.map(|child| {
        let outcome = Outcome::from_output(&child.wait_with_output().unwrap()).expect(0);
        let printed = outcome.json()["stdout"]["text"].as_str().unwrap().to_owned();
        printed.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    assert!(words.iter().all(|word| !Path::new("/dev/shm").join(word).exists()));
    found
}

#[test]
fn two_commands_at_once_have_nothing_of_one_another() {
    everywhere(|yard| {
        assert_eq!(two_at_once(yard, &[], "077"), [["over"], ["over"]]);
    });
}

#[test]
fn what_a_command_opens_to_everybody_in_shared_memory_of_its_own_nobody_sees() {
    if !can_be(As::Root) {
        return;
    }
    let yard = Yard::new(As::Root);
    let layers = yard.run(&[], &[]).expect(0).json()["layers"].take();
    if layers["sharedMemory"] != "own" {
        eprintln!("SKIPPED: root may not mount here");
        return;
    }
    assert_eq!(two_at_once(&yard, &[], "0"), [["over"], ["over"]]);
}

#[test]
fn what_a_command_opens_to_everybody_in_shared_memory_of_the_machine_another_can_see() {
    if !can_be(As::Root) {
        return;
    }
    let may_not_mount = ["setpriv", "--bounding-set=-sys_admin"].map(str::to_owned);
    let found = two_at_once(&Yard::new(As::Root), &may_not_mount, "0");
    // Whoever is first may change what the other looks for.
    let shared = |line: &String| line.starts_with("/dev/shm/") || line == "written" || line == "over";
    assert!(found.iter().flatten().all(shared), "{found:?}");
    assert!(found.iter().flatten().any(|line| line.starts_with("/dev/shm/")), "{found:?}");
}

#[test]
fn when_the_supervisor_is_killed_nothing_of_its_command_is_left() {
    everywhere(|yard| {
        let word = format!("7{}", yard.directory.path().metadata().unwrap().ino());
        // The second `setsid` leads a session already, so it forks and its parent ends: an orphan before anything is
        // killed. What stands last goes on, or the supervisor would clear up by itself.
        let script = "setsid setsid sleep $0 & : > planted; sleep $0";
        let mut command = yard.fence(&[], &["sh", "-c", script, &word]).bare_command();
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        trees_with(&yard.path("scratch"), "planted", 1);
        let child_of = |process: &str| {
            let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap();
            children.split_whitespace().next().unwrap().to_owned()
        };
        // The first is `timeout`, then the program, then the supervisor.
        let supervisor = child_of(&child_of(&child.id().to_string()));
        let line = fs::read(format!("/proc/{supervisor}/cmdline")).unwrap();
        assert!(!line.windows(word.len()).any(|part| part == word.as_bytes()), "it is not the command");
        assert!(std::process::Command::new("kill").args(["-9", &supervisor]).status().unwrap().success());
        let outcome = Outcome::from_output(&child.wait_with_output().unwrap());
        assert_eq!(outcome.exit, 3, "{}{}", outcome.text(), outcome.stderr);
        until_gone(&word);
        yard.run(&[], &["true"]).expect(0);
        assert_eq!(fs::read_dir(yard.path("scratch")).unwrap().count(), 0);
    });
}
