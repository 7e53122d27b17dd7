//! What commands inside the fence can get at: by trying, as root, as nobody, without the fence, and where a layer of it
//! is missing.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::support::fence::{As, Outside, Yard, can_be, hits, link_artifacts};
use crate::support::{Files, Repo, temp};

/// What has to work, or tools do not.
const CONTROLS: &[&str] = &[
    "memory_file",
    "pair_of_sockets",
    "semaphore_file",
    "start_thread",
    "write_here",
    "write_null",
    "write_temporary",
];
/// What can be seen from inside by everybody: that a file is there, and how a program was called.
const RESIDUALS: &[&str] = &["read_command_line", "stat_file"];
/// What besides can be done to files and processes of the same user, where there is no other.
const RESIDUALS_AS_NOBODY: &[&str] =
    &["bind_victim", "change_mode", "change_owner", "change_times", "list_open_files"];
/// What `--network` is there for.
const NETWORK: &[&str] = &[
    "bind_tcp",
    "connect_fast_open",
    "connect_mptcp",
    "connect_tcp",
    "make_netlink",
    "make_sctp",
    "make_tcp6",
    "make_udp6",
    "send_udp",
];

fn set<'a>(lists: &[&[&'a str]]) -> BTreeSet<&'a str> {
    lists.iter().flat_map(|list| list.iter().copied()).collect()
}

/// The attempts that worked inside the fence, and whether anybody was connected.
fn attempt_inside(user: As, options: &[&str]) -> (String, bool) {
    let yard = Yard::new(user);
    let outside = Outside::lay(&yard);
    let tool = yard.tool("probes");
    let arguments = outside.arguments();
    let mut command = vec![tool.as_str()];
    command.extend(arguments.iter().map(String::as_str));
    (yard.prints(options, &command), outside.was_connected())
}

#[test]
fn inside_nothing_works_but_to_look_at_what_everybody_can_see() {
    if !can_be(As::Root) {
        return;
    }
    let (printed, connected) = attempt_inside(As::Root, &[]);
    assert_eq!(hits(&printed).into_iter().collect::<BTreeSet<_>>(), set(&[CONTROLS, RESIDUALS]), "{printed}");
    assert!(!connected);
}

#[test]
fn as_nobody_files_of_the_same_user_can_be_marked_and_no_more() {
    let (printed, connected) = attempt_inside(As::Nobody, &[]);
    let mut expected = set(&[CONTROLS, RESIDUALS, RESIDUALS_AS_NOBODY]);
    // It belongs to all programs of the user.
    expected.remove("semaphore_file");
    assert_eq!(hits(&printed).into_iter().collect::<BTreeSet<_>>(), expected, "{printed}");
    assert!(!connected);
}

#[test]
fn with_network_the_internet_is_reached_and_nothing_of_the_machine() {
    if !can_be(As::Root) {
        return;
    }
    let (printed, connected) = attempt_inside(As::Root, &["--network"]);
    let found: BTreeSet<&str> = hits(&printed).into_iter().collect();
    // Which kinds of internet the kernel speaks is its own business.
    let needed = set(&[CONTROLS, RESIDUALS, &["bind_tcp", "connect_tcp", "send_udp"]]);
    let allowed = set(&[CONTROLS, RESIDUALS, NETWORK]);
    assert!(found.is_superset(&needed) && found.is_subset(&allowed), "{printed}");
    assert!(connected);
}

#[test]
fn without_the_fence_the_same_attempts_work() {
    if !can_be(As::Root) {
        return;
    }
    let yard = Yard::new(As::Root);
    let outside = Outside::lay(&yard);
    let work = yard.path("work");
    fs::create_dir(&work).unwrap();
    // In a mount namespace, so that what is mounted goes away; with an open file, so that there is one to inherit.
    let script = "exec 9< /dev/null; exec unshare --mount \"$@\"";
    let output = Command::new("sh")
        .args(["-c", script, "sh", &yard.tool("probes")])
        .args(outside.arguments())
        .current_dir(&work)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let found: BTreeSet<&str> = hits(&printed).into_iter().collect();
    let all: BTreeSet<&str> = printed.lines().filter_map(|line| line.split(' ').next()).collect();
    // What a kernel may not have, or root may not have, or a test has not: a terminal.
    let depends = set(&[&[
        "add_key",
        "add_swap",
        "connect_mptcp",
        "count_events",
        "fault_in_user",
        "fault_in_user_mode",
        "find_key",
        "load_bpf",
        "load_kernel",
        "load_module",
        "make_crypto",
        "make_sctp",
        "make_tcp6",
        "make_udp6",
        "make_vsock",
        "newer_call",
        "open_terminal",
        "raise_process_limit",
        "rings",
        "secret_memory",
        "set_attribute_newly",
        "set_core_pattern",
        "socket_of_32_bits",
        "socket_of_x32",
        "type_into_terminal",
    ]]);
    let failed: Vec<&&str> = all.difference(&found).filter(|name| !depends.contains(**name)).collect();
    assert!(failed.is_empty(), "{failed:?}\n{printed}");
    assert!(outside.was_connected());
}

#[test]
fn where_a_layer_is_missing_or_only_pretends_no_command_runs() {
    const ENOSYS: i32 = 38;
    const EPERM: i32 = 1;
    // Each call as the kernel numbers it, on both architectures where they differ.
    let x86 = cfg!(target_arch = "x86_64");
    let number = |on_x86: u32, elsewhere: u32| if x86 { on_x86 } else { elsewhere };
    let only_root = ["setresuid", "setgroups", "setresgid"];
    let calls = [
        ("landlock_create_ruleset", 444, vec![ENOSYS, EPERM]),
        ("landlock_add_rule", 445, vec![ENOSYS, EPERM, 0]),
        ("landlock_restrict_self", 446, vec![ENOSYS, EPERM, 0]),
        ("seccomp", number(317, 277), vec![ENOSYS, EPERM, 0]),
        ("close_range", 436, vec![ENOSYS, EPERM]),
        ("setsid", number(112, 157), vec![EPERM]),
        ("prctl", number(157, 167), vec![EPERM, 0]),
        ("prlimit64", number(302, 261), vec![EPERM]),
        ("setresuid", number(117, 147), vec![EPERM, 0]),
        ("setresgid", number(119, 149), vec![EPERM]),
        ("setgroups", number(116, 159), vec![EPERM]),
    ];
    for user in [As::Root, As::Nobody] {
        if !can_be(user) {
            continue;
        }
        let yard = Yard::new(user);
        let cripple = yard.tool("cripple");
        for (call, number, answers) in &calls {
            if user == As::Nobody && only_root.contains(call) {
                continue;
            }
            for answer in answers {
                let words = [cripple.clone(), number.to_string(), answer.to_string()];
                let program = yard.fence(&[], &["touch", "started"]).under(words);
                let outcome = crate::support::Outcome::from_output(&program.bare_command().output().unwrap());
                let outcome = outcome.expect_code(3, "EXECUTION_DENIED");
                assert!(outcome.stdout.is_empty(), "{call} {answer}: {}", outcome.text());
            }
        }
        // The wrapper alone takes nothing away.
        let program = yard.fence(&[], &["true"]).under([cripple, "1023".to_owned(), "1".to_owned()]);
        crate::support::Outcome::from_output(&program.bare_command().output().unwrap()).expect(0);
    }
}

#[test]
fn no_token_in_reach_of_the_program_is_in_reach_of_the_command() {
    for user in [As::Root, As::Nobody] {
        if !can_be(user) {
            continue;
        }
        let yard = Yard::new(user);
        let outside = Outside::lay(&yard);
        let canary = "tok-canary-31415926";
        let places = [
            yard.write("outside/runner_temp/credentials", 0o644, canary),
            yard.write("outside/checkout/.git/config", 0o644, canary),
            yard.write("outside/checkout/README", 0o666, canary),
            yard.write("outside/private", 0o600, canary),
            yard.write("outside/file_commands/env", 0o666, canary),
        ];
        let script = format!(
            "env; set; cat {} {}/* /proc/*/environ /proc/*/cmdline /proc/$PPID/fd/* < /dev/null; \
             grep -ra tok-can[a] {} /root /home /etc /dev/shm /run /opt /var; true",
            places.iter().map(|path| path.to_str().unwrap()).collect::<Vec<_>>().join(" "),
            outside.directory.display(),
            yard.directory.path().display(),
        );
        let file = yard.path("outside/open-file");
        fs::write(&file, canary).unwrap();
        // In its environment and open in it.
        let open = ["sh", "-c", "exec 9< \"$0\"; exec \"$@\"", file.to_str().unwrap()];
        let program = yard.fence(&["--timeout", "60"], &["sh", "-c", &script]).under(open);
        let program = program.env("GITHUB_TOKEN", canary).env("INPUT_TOKEN", canary);
        let program = program.env("GITHUB_ENV", &places[4]);
        let outcome =
            crate::support::Outcome::from_output(&program.bare_command().output().unwrap()).expect(0);
        assert!(!outcome.text().contains(canary), "{}", outcome.text());
        assert!(!outcome.stderr.contains(canary), "{}", outcome.stderr);
        assert_eq!(fs::read_to_string(&places[4]).unwrap(), canary);
    }
}

#[test]
fn what_a_command_prints_is_data_to_the_runner() {
    let yard = Yard::new(As::Nobody);
    let script = r"printf '::error file=a::b\n::set-output name=a::b\n::add-mask::a\n::stop-commands::a\n'
        printf '::save-state name=a::b\n::add-matcher::a\n##[error]a\n  ::warning::a\n\r::debug::a\n'
        printf '\033[31mred ##[add-mask]a\n' >&2";
    let json = yard.run(&[], &["sh", "-c", script]).expect(0);
    let people = yard.fence(&[], &["sh", "-c", script]).without("--json");
    let people = crate::support::Outcome::from_output(&people.bare_command().output().unwrap()).expect(0);
    for outcome in [json, people] {
        let all = format!("{}\n{}", outcome.text(), outcome.stderr);
        assert!(all.contains("::error file=a::b"), "{all}");
        let obeyed = |line: &str| line.trim_start().starts_with("::") || line.contains("##[");
        assert!(!all.split(['\n', '\r']).any(obeyed), "{all}");
        assert!(!all.contains('\x1b'), "{all}");
    }
}

#[test]
fn artifact_directories_that_are_links_leave_their_targets_untouched() {
    let repo = Repo::new();
    let victim = temp();
    let target = victim.path().to_str().unwrap();
    let head = Files::new().with("file", "x").mode("120000", ".qa-skill", target).mode(
        "120000",
        ".worktrees",
        target,
    );
    repo.change(&Files::new(), &head);
    link_artifacts(&repo.path(), victim.path());
    let yard = Yard::new(As::Root);
    if !can_be(As::Root) {
        return;
    }
    let path = repo.path();
    let options = ["--repo", path.to_str().unwrap(), "--rev", "topic"];
    let script = "ls -A; echo x > .qa-skill/file; echo x > .worktrees/file; mkdir -p .worktrees/qa-skill";
    let outcome = yard.run(&options, &["sh", "-c", script]);
    assert_eq!(outcome.json()["stdout"]["text"], "file\n");
    let left: Vec<_> = fs::read_dir(victim.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["file"]);
    assert_eq!(fs::read(victim.path().join("file")).unwrap(), b"untouched");
}

#[test]
fn the_self_test_alone_names_the_layers() {
    for (user, identity) in [(As::Root, "private-uid"), (As::Nobody, "own-uid")] {
        if !can_be(user) {
            continue;
        }
        let layers = Yard::new(user).run(&[], &[]).expect(0).json()["layers"].take();
        assert_eq!(layers["identity"], identity);
        assert_eq!(layers["seccomp"], true);
        assert!(layers["landlockAbi"].as_u64() >= Some(3), "{layers}");
        let residuals = layers["residuals"].as_array().unwrap();
        // Shared memory depends on what root may do on a machine.
        let bounded = layers["sharedMemory"] != "machine";
        assert_eq!(residuals.is_empty(), user == As::Root && bounded, "{layers}");
    }
}
