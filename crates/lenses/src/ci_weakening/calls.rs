//! Calls by name: the targets of make and just, the scripts of a package, the environments of tox, and files.

use super::commands::Variable;
use super::files::Kind;
use crate::pattern::Pattern;
use qa_reading::shell::{Command, Word};

/// Targets, scripts and workflows that a command calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    /// A unit of the same file.
    Unit(String),
    /// All of a file, by its path.
    File(String),
    /// A unit of a list of commands; the first one where the name is empty.
    Listed { list: Kind, directory: String, name: String },
}

/// Options that have their value in the next word.
const VALUED: &[&str] = &[
    "-C",
    "-f",
    "-j",
    "--cwd",
    "--dir",
    "--directory",
    "--file",
    "--filter",
    "--jobs",
    "--prefix",
    "--workspace",
    "-w",
    "-F",
    "-c",
];
/// Those of them that name a directory.
const DIRECTORIES: &[&str] = &["-C", "--cwd", "--dir", "--directory", "--prefix"];

/// Programs that run another one in an environment, each with those that call by name.
const RUNNERS: &[(&[&str], &[&str])] = &[
    (
        &["hatch", "pdm", "pipenv", "pipx", "poetry", "python", "python3", "uv", "uvx"],
        &["just", "make", "nox", "poe", "task", "tox"],
    ),
    (&["bunx", "npx", "pnpm", "yarn"], &["lerna", "nx", "turbo"]),
];

/// Returns what a command calls.
pub(super) fn calls(words: &[&str], directory: &str) -> Vec<Call> {
    let mut runners =
        RUNNERS.iter().filter(|(own, _)| words.first().is_some_and(|first| own.contains(first)));
    let caller = runners.find_map(|(_, callers)| words.iter().position(|word| callers.contains(word)));
    let words = &words[caller.unwrap_or_default()..];
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let name = program.rsplit('/').next().unwrap_or(program);
    match name {
        "make" | "gmake" => listed_calls(Kind::Make, arguments, directory),
        "just" => listed_calls(Kind::Just, arguments, directory),
        "task" | "go-task" => listed_calls(Kind::Task, arguments, directory),
        "tox" => environments(arguments, directory),
        "nox" => sessions(arguments, directory),
        "hatch" | "pdm" | "poe" => named_commands(name, arguments, directory),
        "lerna" | "nx" | "turbo" => tasks(arguments, directory),
        "npm" | "pnpm" | "yarn" | "bun" => scripts(arguments, directory),
        "run-s" | "run-p" | "npm-run-all" => listed_calls(Kind::Package, arguments, directory),
        "bash" | "sh" | "zsh" | "source" | "." => {
            let file = arguments.iter().find(|word| !word.starts_with(['-', '+']));
            file.map(|file| Call::File(joined(directory, file))).into_iter().collect()
        }
        _ if program.contains('/') => vec![Call::File(joined(directory, program))],
        _ => Vec::new(),
    }
}

/// Operands of a command, with the directory that its options name.
struct Operands<'w> {
    names: Vec<&'w str>,
    directory: String,
}

fn operands<'w>(words: &[&'w str], directory: &str) -> Operands<'w> {
    let mut found = Operands { names: Vec::new(), directory: directory.to_owned() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (*word, None),
        };
        if !option.starts_with('-') {
            if value.is_none() {
                found.names.push(word);
            }
            continue;
        }
        let value = if VALUED.contains(&option) { value.or_else(|| words.next().copied()) } else { value };
        if let Some(value) = value.filter(|_| DIRECTORIES.contains(&option)) {
            found.directory = joined(directory, value);
        }
    }
    found
}

/// Returns the directory that a command works in: one that an option names, or a manifest's.
pub(super) fn directory_of(words: &[&str], directory: &str) -> String {
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (*word, None),
        };
        let value = value.or_else(|| words.peek().map(|next| **next));
        match (option, value) {
            ("--manifest-path", Some(path)) => {
                return joined(
                    directory,
                    path.rsplit_once('/').map(|(folder, _)| folder).unwrap_or_default(),
                );
            }
            (option, Some(path)) if DIRECTORIES.contains(&option) => return joined(directory, path),
            _ => {}
        }
    }
    directory.to_owned()
}

/// Returns a directory below another one; the other one where it cannot be told.
pub(super) fn joined(directory: &str, below: &str) -> String {
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in below.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name if name.contains('$') => return directory.to_owned(),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// Returns the environments of tox that a variable chooses for a command, as `-e` does.
pub(super) fn environment_of_tox<'v>(command: &'v Command, around: &'v [Variable]) -> Option<&'v str> {
    let mut words = command.effective().iter().map(Word::text);
    if !words.clone().any(|word| word == "tox") || words.any(|word| word == "-e") {
        return None;
    }
    let own = command.assignments.iter().map(|own| (own.name.as_str(), own.value.text()));
    let around = around.iter().map(|own| (own.name.as_str(), own.value.as_str()));
    let chosen = own.chain(around).find(|(name, _)| matches!(*name, "TOXENV" | "TOX_ENV"))?;
    Some(chosen.1)
}

fn listed_calls(list: Kind, arguments: &[&str], directory: &str) -> Vec<Call> {
    let Operands { mut names, directory } = operands(arguments, directory);
    if names.is_empty() && list != Kind::Package {
        names.push("");
    }
    listed(list, &directory, names.into_iter())
}

fn environments(arguments: &[&str], directory: &str) -> Vec<Call> {
    let mut names = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match *word {
            "-e" => names.extend(words.next().map(|value| value.split(',')).into_iter().flatten()),
            "--" => break,
            _ => {}
        }
    }
    if names.is_empty() {
        names.push("");
    }
    listed(Kind::Tox, directory, names.into_iter())
}

/// Sessions of nox, without the version or the parameters behind their names.
fn sessions(arguments: &[&str], directory: &str) -> Vec<Call> {
    let named = arguments.iter().position(|word| matches!(*word, "-e" | "-s" | "--session" | "--sessions"));
    let names = named.map(|at| &arguments[at + 1..]).unwrap_or_default();
    let names = names.iter().take_while(|word| !word.starts_with('-'));
    static VERSION: Pattern = Pattern::new(r"-?\$.*$|\(.*$|-(?:(?:pypy|python)-?|py)?\d[\d.]*t?$");
    let names = names.map(|name| VERSION.find(name).map(|version| &name[..version.start()]).unwrap_or(name));
    let mut names: Vec<&str> = names.collect();
    if named.is_none() {
        names.push("");
    }
    listed(Kind::Nox, directory, names.into_iter())
}

/// Commands that the project's own table has by name.
fn named_commands(caller: &str, arguments: &[&str], directory: &str) -> Vec<Call> {
    let words = operands(arguments, directory).names;
    let name = match (caller, words.as_slice()) {
        ("poe", [name, ..]) => format!("poe {name}"),
        ("pdm", ["run", name, ..]) => format!("pdm {name}"),
        ("hatch", ["run", name, ..]) => match name.split_once(':') {
            Some((environment, name)) => format!("hatch {environment} {name}"),
            None => format!("hatch default {name}"),
        },
        _ => return Vec::new(),
    };
    listed(Kind::Tox, directory, [name.as_str()].into_iter())
}

/// Scripts that a runner of a workspace calls in its packages.
fn tasks(arguments: &[&str], directory: &str) -> Vec<Call> {
    let words = operands(arguments, directory).names;
    let names = words.iter().copied().filter(|word| !matches!(*word, "affected" | "run" | "run-many"));
    listed(Kind::Package, directory, names)
}

fn listed<'n>(list: Kind, directory: &str, names: impl Iterator<Item = &'n str>) -> Vec<Call> {
    let calls =
        names.map(|name| Call::Listed { list, directory: directory.to_owned(), name: name.to_owned() });
    calls.collect()
}

/// Scripts of a package, with those that run before and behind them.
fn scripts(arguments: &[&str], directory: &str) -> Vec<Call> {
    let Operands { names, directory } = operands(arguments, directory);
    let name = match names.as_slice() {
        ["run" | "run-script", name, ..] => *name,
        ["t" | "tst", ..] => "test",
        ["run" | "run-script" | "install" | "ci" | "i" | "add" | "exec" | "dlx" | "x"] | [] => {
            return Vec::new();
        }
        [name, ..] => *name,
    };
    [format!("pre{name}"), name.to_owned(), format!("post{name}")]
        .map(|name| Call::Listed { list: Kind::Package, directory: directory.clone(), name })
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_names_its_targets() {
        for (command, expected) in [
            ("make -j2 test lint", ":test :lint"),
            ("make -C a", "a:"),
            ("npm run build", ":prebuild :build :postbuild"),
            ("npm --prefix web test", "web:pretest web:test web:posttest"),
            ("tox -e py,lint", ":py :lint"),
            ("uv run --locked tox run -e py", ":py"),
            ("python -m tox", ":"),
            ("nox -s tests-3.12 tests-pypy3.11 lint(x) --verbose", ":tests :tests :lint"),
            ("pipx run nox --sessions tests lint", ":tests :lint"),
            ("uv run nox", ":"),
            ("hatch run cov", ":hatch default cov"),
            ("hatch run test:cov -- -q", ":hatch test cov"),
            ("poetry run poe check", ":poe check"),
            ("pdm run lint", ":pdm lint"),
            ("hatch build", ""),
            ("npx turbo run test lint --filter=a", ":test :lint"),
            ("remake test", ""),
            ("bash -eu ci/x.sh a", "ci/x.sh"),
            ("./ci/x.sh", "ci/x.sh"),
        ] {
            let words: Vec<&str> = command.split(' ').collect();
            let calls = calls(&words, "").into_iter().map(|call| match call {
                Call::Unit(name) | Call::File(name) => name,
                Call::Listed { directory, name, .. } => format!("{directory}:{name}"),
            });
            assert_eq!(calls.collect::<Vec<_>>().join(" "), expected, "{command}");
        }
    }
}
