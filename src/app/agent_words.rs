//! Agents that options and inputs name, in the form in which a session records them.

use std::path::{Component, Path, PathBuf};

use super::exit::Failure;
use qa_core::drive::builtin;
use qa_core::escape::visible;

/// Agents of a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedAgents {
    /// True if `builtin:fix` is among them.
    pub(super) builtin_fix: bool,
    /// Program and arguments of the other one; empty without another one.
    pub(super) words: Vec<String>,
    /// That program as it was named, for messages; empty without one.
    pub(super) named: String,
}

impl NamedAgents {
    /// Parses commands. A program with a slash is recorded by its path in the checkout at `root`, so that jobs with other workspaces
    /// name it alike, or by its absolute path if it is elsewhere. Looks at no file.
    pub(super) fn parse(commands: &[String], root: &Path) -> Result<Self, Failure> {
        let (builtin, programs): (Vec<&String>, Vec<&String>) =
            commands.iter().partition(|command| *command == builtin::NAME);
        if builtin.len() > 1 || programs.len() > 1 {
            return Err(Failure::usage(
                "--agent names more than one program",
                "name one program, and builtin:fix beside it where safe edits go first",
            ));
        }
        let words = match programs.first() {
            Some(command) => words(command, root)?,
            None => Vec::new(),
        };
        let named = programs.first().and_then(|command| command.split_whitespace().next());
        let named = named.unwrap_or_default().to_owned();
        Ok(Self { builtin_fix: !builtin.is_empty(), words, named })
    }
}

/// Splits the input `agent` into commands, one a line.
pub(super) fn commands(lines: &str) -> Vec<String> {
    lines.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn words(command: &str, root: &Path) -> Result<Vec<String>, Failure> {
    if command.trim() == builtin::MODEL {
        return Ok(vec![builtin::MODEL.to_owned()]);
    }
    if command.contains(['"', '\'', '\\']) {
        let hint = "put the command in a script, and name that";
        return Err(Failure::usage("--agent has quotes, and its words are separated by spaces alone", hint));
    }
    let mut words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    let Some(program) = words.first_mut() else {
        return Err(Failure::usage("--agent names no program", "name a program, such as --agent ./agent.sh"));
    };
    if program.contains('/') {
        let path = plain(Path::new(program.as_str())).map_err(|_| no_program(program))?;
        let recorded = match path.strip_prefix(root) {
            Ok(inside) => Path::new(".").join(inside),
            Err(_) => path,
        };
        *program = recorded.to_str().ok_or_else(|| no_program(program))?.to_owned();
    }
    Ok(words)
}

/// Returns the path of a recorded program; `None` for a name that is looked for among programs of the system and of toolchains.
#[cfg(target_os = "linux")]
pub(super) fn program_path(recorded: &str, root: &Path) -> Option<PathBuf> {
    let path = Path::new(recorded);
    match path.strip_prefix(".") {
        Ok(inside) => Some(root.join(inside)),
        Err(_) => path.is_absolute().then(|| path.to_owned()),
    }
}

/// Returns an absolute path without `.` and `..`. Links in it stay.
pub(super) fn plain(path: &Path) -> std::io::Result<PathBuf> {
    let mut plain = PathBuf::new();
    for part in std::path::absolute(path)?.components() {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    Ok(plain)
}

/// Returns the failure of an agent that names no program.
pub(super) fn no_program(name: &str) -> Failure {
    let hint = "name a file that exists with a slash, such as ./agent.sh, or a program of the system or of a toolchain \
                that the policy declares";
    Failure::usage(format!("there is no program {}", visible(name)), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_the_checkout_are_recorded_without_its_place() {
        let root = std::env::current_dir().unwrap();
        let parse = |lines: &str| match NamedAgents::parse(&commands(lines), &root) {
            Ok(agents) => Ok((agents.builtin_fix, agents.words)),
            Err(_) => Err(()),
        };
        let named = |builtin_fix: bool, words: &[&str]| {
            Ok((builtin_fix, words.iter().map(|word| (*word).to_owned()).collect()))
        };
        assert_eq!(parse("./agent.sh -v"), named(false, &["./agent.sh", "-v"]));
        assert_eq!(parse(" builtin:fix\n\n tools/../bin/x \n"), named(true, &["./bin/x"]));
        assert_eq!(parse("/opt/../usr/x"), named(false, &["/usr/x"]));
        assert_eq!(parse("node a/b"), named(false, &["node", "a/b"]));
        assert_eq!(parse("builtin:model"), named(false, &["builtin:model"]));
        for refused in ["a\nb", "builtin:fix\nbuiltin:fix", "sh -c 'x'"] {
            assert_eq!(parse(refused), Err(()), "{refused}");
        }
    }
}
