//! Runs the program without the test's own environment.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

/// Time limit of the program, which then ends with exit 124.
const DEADLINE_SECONDS: &str = "120";
/// Limit of the program's address space.
const ADDRESS_SPACE: &str = "--as=4294967296";

/// A command line being put together.
#[derive(Clone)]
pub(crate) struct Program {
    before: Vec<OsString>,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    directory: Option<OsString>,
    binary: Option<OsString>,
}

/// Exit code and output of the program.
pub(crate) struct Outcome {
    pub(crate) exit: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// The program with arguments.
pub(crate) fn qa_skill<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Program {
    Program {
        before: Vec::new(),
        arguments: arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect(),
        environment: Vec::new(),
        directory: None,
        binary: None,
    }
}

impl Program {
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    pub(crate) fn args<const N: usize>(self, arguments: [&str; N]) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    pub(crate) fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    pub(crate) fn within(mut self, directory: &Path) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Leaves an argument out.
    pub(crate) fn without(mut self, argument: &str) -> Self {
        self.arguments.retain(|word| word != argument);
        self
    }

    /// Runs a copy of the program, in a place of the test's choice.
    pub(crate) fn with_binary(mut self, binary: &Path) -> Self {
        self.binary = Some(binary.into());
        self
    }

    /// Puts another program before this one, such as `taskset`.
    pub(crate) fn under(mut self, before: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.before.extend(before.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// Runs this copy of the program as another person.
    pub(crate) fn by_user(mut self, user: u32, binary: &Path) -> Self {
        self.binary = Some(binary.into());
        let ids = ["--reuid", "--regid"].map(|option| format!("{option}={user}"));
        self.under(["setpriv".to_owned(), "--clear-groups".to_owned()].into_iter().chain(ids))
    }

    /// The command, bounded in time and memory.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", DEADLINE_SECONDS, "prlimit", ADDRESS_SPACE]);
        self.finish(command)
    }

    /// The command by itself, so that signals reach it.
    pub(crate) fn bare_command(&self) -> Command {
        let mut command = Command::new("env");
        command.args(["--"]);
        self.finish(command)
    }

    fn finish(&self, mut command: Command) -> Command {
        let image = in_another_programs_place().filter(|_| self.arguments.is_empty());
        let binary = self.binary.clone().or(image).unwrap_or_else(|| env!("CARGO_BIN_EXE_qa-skill").into());
        command.args(&self.before).arg(binary).args(&self.arguments);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").stdin(Stdio::null());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }

    /// Runs it to its end. A crash, a signal or a broken deadline fails the test here.
    pub(crate) fn run(&self) -> Outcome {
        let outcome = Outcome::from_output(&self.command().output().unwrap());
        assert!(
            [0, 1, 2, 3, 4].contains(&outcome.exit),
            "{:?} ended with {}: {}",
            self.arguments,
            outcome.exit,
            outcome.stderr
        );
        outcome
    }
}

/// Returns how to start a process in a PID namespace of its own, if this machine allows that.
pub(crate) fn own_pids() -> Option<&'static [&'static str]> {
    let options: &[&str] = &["unshare", "--pid", "--fork", "--kill-child"];
    let tried = Command::new(options[0]).args(&options[1..]).arg("true").output();
    let possible = matches!(tried, Ok(output) if output.status.success());
    if !possible {
        eprintln!("skipped: processes cannot have ids of their own here, which takes root");
        let root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0;
        assert!(!root || std::env::var_os("CI").is_none(), "root in CI has no reason to skip this");
    }
    possible.then_some(options)
}

/// Returns the program that runs as a step instead, for example in the image (scripts/as-runner.sh).
pub(crate) fn in_another_programs_place() -> Option<OsString> {
    std::env::var_os("QA_SKILL_BINARY")
}

impl Outcome {
    pub(crate) fn from_output(output: &std::process::Output) -> Self {
        super::kept::keep_document(&output.stdout);
        Self {
            exit: output.status.code().unwrap_or(-1),
            stdout: output.stdout.clone(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).unwrap()
    }

    /// The stable code of the failure on standard error, whatever lines stand before it.
    pub(crate) fn code(&self) -> &str {
        let code = self.stderr.lines().find_map(|line| line.strip_prefix("error[")?.split_once(']'));
        code.unwrap_or_default().0
    }

    /// Expects an exit code and shows what was said otherwise.
    #[track_caller]
    pub(crate) fn expect(self, exit: i32) -> Self {
        assert_eq!(self.exit, exit, "stdout:\n{}\nstderr:\n{}", self.text(), self.stderr);
        self
    }

    /// Expects a failure with a code and a way out.
    #[track_caller]
    pub(crate) fn expect_code(self, exit: i32, code: &str) -> Self {
        let outcome = self.expect(exit);
        assert_eq!(outcome.code(), code, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("\n  help: "), "{}", outcome.stderr);
        outcome
    }
}
