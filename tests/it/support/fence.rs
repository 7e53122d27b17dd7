//! Runs commands in the sandbox, with targets of attacks outside of it.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use super::{Outcome, Program, qa_skill, temp};

/// User of the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum As {
    Root,
    /// A user without the right to change users.
    Nobody,
}

/// User id without rights, that of jobs on GitHub's machines.
const NOBODY: u32 = 1001;

/// Returns whether tests can run as a user. If not, prints a notice, and fails in CI.
pub(crate) fn can_be(user: As) -> bool {
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    // Any user but root has no rights already.
    let can = root || user == As::Nobody;
    if !can {
        eprintln!("SKIPPED: only root can change users");
        assert!(std::env::var_os("CI").is_none(), "CI runs this as root");
    }
    can
}

/// Returns the arguments before a program that make it run as a user.
pub(crate) fn becoming(user: As) -> Vec<String> {
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if user == As::Root || !root {
        return Vec::new();
    }
    let id = NOBODY.to_string();
    ["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups", "--"].map(str::to_owned).to_vec()
}

/// Returns a directory that everybody may read, with the compiled C programs.
pub(crate) fn compiled_probes() -> &'static Path {
    static PROBES: OnceLock<PathBuf> = OnceLock::new();
    PROBES.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fence");
        fs::create_dir_all(&directory).unwrap();
        let lock = fs::File::create(directory.join("lock")).unwrap();
        lock.lock().unwrap();
        for name in ["probes", "cripple", "storm"] {
            compile(name, &directory.join(name));
        }
        directory
    })
}

fn compile(name: &str, program: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/probes/{name}.c"));
    if modified(program) > modified(&source) {
        return;
    }
    let output = Command::new("cc")
        .args(["-static", "-O1", "-Wall", "-Wextra", "-Werror", "-o"])
        .args([program, &source])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn modified(path: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// Directory of one test that everybody may enter, with copies of programs that everybody may run.
pub(crate) struct Yard {
    pub(crate) directory: tempfile::TempDir,
    user: As,
}

impl Yard {
    pub(crate) fn new(user: As) -> Self {
        let directory = temp();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let scratch = directory.path().join("scratch");
        fs::create_dir(&scratch).unwrap();
        fs::set_permissions(&scratch, fs::Permissions::from_mode(0o1777)).unwrap();
        Self { directory, user }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// One of the C programs, where the fence lets it be run from.
    pub(crate) fn tool(&self, name: &str) -> String {
        let place = self.path("tools").join(name);
        place_copy(&compiled_probes().join(name), &place);
        place.to_str().unwrap().to_owned()
    }

    /// A copy of the program that everybody may run.
    pub(crate) fn binary(&self) -> PathBuf {
        let binary = self.path("bin/qa-skill");
        place_copy(Path::new(env!("CARGO_BIN_EXE_qa-skill")), &binary);
        binary
    }

    /// `qa-skill sandbox` in an empty tree; the command follows.
    pub(crate) fn fence(&self, options: &[&str], command: &[&str]) -> Program {
        let binary = self.binary();
        fs::create_dir_all(self.path("tools")).unwrap();
        let mut before: Vec<String> = ["timeout", "--kill-after=5", "100"].map(str::to_owned).to_vec();
        before.extend(becoming(self.user));
        let mut all = vec!["sandbox", "--json"];
        if !options.contains(&"--repo") {
            all.push("--empty");
        }
        all.extend(options);
        let program = qa_skill(all).with_binary(&binary).under(before);
        let program = program.arg("--scratch").arg(self.path("scratch"));
        let program = program.arg("--readable").arg(self.path("tools")).arg("--");
        command.iter().fold(program, |program, word| program.arg(word))
    }

    /// Runs a command in the fence to its end; the document, and the exit code of the program.
    pub(crate) fn run(&self, options: &[&str], command: &[&str]) -> Outcome {
        let outcome = Outcome::from_output(&self.fence(options, command).bare_command().output().unwrap());
        assert!([0, 1, 2, 3].contains(&outcome.exit), "{}: {}", outcome.exit, outcome.stderr);
        outcome
    }

    /// Runs a command that has to succeed, and returns its output.
    #[track_caller]
    pub(crate) fn prints(&self, options: &[&str], command: &[&str]) -> String {
        let outcome = self.run(options, command);
        assert_eq!(outcome.exit, 0, "{}{}", outcome.text(), outcome.stderr);
        outcome.json()["stdout"]["text"].as_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, name: &str, mode: u32, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    /// Gives everything of a directory to whoever runs the program.
    fn hand_over(&self, directory: &Path) {
        if self.user == As::Nobody && can_change_owners() {
            let owner = format!("{NOBODY}:{NOBODY}");
            assert!(Command::new("chown").arg("-R").arg(owner).arg(directory).status().unwrap().success());
        }
    }
}

fn can_change_owners() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

fn place_copy(from: &Path, to: &Path) {
    if to.exists() {
        return;
    }
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    if fs::hard_link(from, to).is_err() {
        fs::copy(from, to).unwrap();
    }
}

/// Targets outside the sandbox, with open permissions: files, sockets, a process with a secret.
pub(crate) struct Outside {
    pub(crate) directory: PathBuf,
    victim: Child,
    tcp: TcpListener,
    canary: String,
    _listeners: (UnixListener, UnixListener, UnixDatagram),
}

impl Outside {
    pub(crate) fn lay(yard: &Yard) -> Self {
        let directory = yard.path("outside");
        for name in ["bait", "to-unlink", "to-rename", "to-take", "file_commands/set_env"] {
            yard.write(&format!("outside/{name}"), 0o666, "x");
        }
        yard.write("outside/world", 0o644, "x");
        yard.write("outside/secret", 0o600, "x");
        yard.write("outside/tool", 0o755, "#!/bin/sh\necho run_file hit\n");
        for open in [&directory, &directory.join("file_commands")] {
            fs::set_permissions(open, fs::Permissions::from_mode(0o777)).unwrap();
        }
        let canary = format!("canary-{}", directory.parent().unwrap().file_name().unwrap().to_str().unwrap());
        let (socket, datagrams) = (directory.join("socket"), directory.join("datagrams"));
        let abstract_name = SocketAddr::from_abstract_name(&canary).unwrap();
        let listeners = (
            UnixListener::bind(&socket).unwrap(),
            UnixListener::bind_addr(&abstract_name).unwrap(),
            UnixDatagram::bind(&datagrams).unwrap(),
        );
        for open in [&socket, &datagrams] {
            fs::set_permissions(open, fs::Permissions::from_mode(0o666)).unwrap();
        }
        yard.hand_over(&directory);
        let mut words = becoming(yard.user);
        words.extend(["sleep", "300"].map(str::to_owned));
        let victim = Command::new(&words[0])
            .args(&words[1..])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("TOKEN", &canary)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        Self { directory, victim, tcp, canary, _listeners: listeners }
    }

    /// The arguments of `probes`.
    pub(crate) fn arguments(&self) -> [String; 4] {
        [
            self.directory.to_str().unwrap().to_owned(),
            self.victim.id().to_string(),
            self.tcp.local_addr().unwrap().port().to_string(),
            self.canary.clone(),
        ]
    }

    /// Returns whether a client connected.
    pub(crate) fn was_connected(&self) -> bool {
        self.tcp.set_nonblocking(true).unwrap();
        self.tcp.accept().is_ok()
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.victim.kill().unwrap();
        self.victim.wait().unwrap();
    }
}

/// The names of attempts that worked, in order.
pub(crate) fn hits(printed: &str) -> Vec<&str> {
    assert!(printed.lines().count() > 110, "{printed}");
    printed.lines().filter_map(|line| line.strip_suffix(" hit")).collect()
}

/// Makes the artifact directories of a checkout links to somewhere else.
pub(crate) fn link_artifacts(checkout: &Path, victim: &Path) {
    for name in [".qa-skill", ".worktrees"] {
        symlink(victim, checkout.join(name)).unwrap();
    }
    fs::File::create(victim.join("file")).unwrap().write_all(b"untouched").unwrap();
}
