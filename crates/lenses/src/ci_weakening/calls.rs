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

/// Programs that run another one in an environment, and those of them that call by name.
const RUNNERS: &[&str] = &["hatch", "pdm", "pipenv", "pipx", "poetry", "python", "python3", "uv", "uvx"];
const CALLERS: &[&str] = &["just", "make", "nox", "poe", "task", "tox"];

/// Returns what a command calls.
pub(super) fn calls(words: &[&str], directory: &str) -> Vec<Call> {
    let is_runner = words.first().is_some_and(|first| RUNNERS.contains(first));
    let caller = words.iter().position(|word| CALLERS.contains(word)).filter(|_| is_runner);
    let (before, words) = words.split_at(caller.unwrap_or_default());
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let name = program.rsplit('/').next().unwrap_or(program);
    match name {
        "make" | "gmake" => listed_calls(Kind::Make, arguments, directory),
        "just" => listed_calls(Kind::Just, arguments, directory),
        "task" | "go-task" => listed_calls(Kind::Task, arguments, directory),
        "tox" => environments(arguments, directory),
        "hatch" | "nox" | "pdm" | "poe" => {
            const MOVES: &[&str] = &["--directory", "--project"];
            let moves = before.iter().any(|word| MOVES.iter().any(|option| word.starts_with(option)));
            let named = Named::new(name, arguments).filter(|_| !moves);
            named.map(|named| named.calls(directory)).unwrap_or_default()
        }
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

/// Returns the environments of tox or Hatch, or the sessions of nox, that a variable chooses for a command, as the words of
/// an option; none where an option of the command chooses.
pub(super) fn chosen_by_variable(command: &Command, around: &[Variable]) -> Vec<String> {
    const CHOICES: &[(&str, &[&str], &[&str])] = &[
        ("tox", &["TOXENV", "TOX_ENV"], &["-e"]),
        ("nox", &["NOXSESSION"], &["-s", "-e", "--session"]),
        ("hatch", &["HATCH_ENV"], &["--env", "-e"]),
    ];
    let words: Vec<&str> = command.effective().iter().map(Word::text).collect();
    let Some((tool, names, options)) = CHOICES.iter().find(|(tool, ..)| words.contains(tool)) else {
        return Vec::new();
    };
    let is_chosen = words.iter().any(|word| match *tool {
        "nox" => options.iter().any(|option| word.starts_with(option)),
        _ => options.contains(word) || word.starts_with("--env="),
    });
    let own = command.assignments.iter().map(|own| (own.name.as_str(), own.value.text()));
    let around = around.iter().map(|own| (own.name.as_str(), own.value.as_str()));
    let chosen = own.chain(around).find(|(name, _)| names.contains(name)).filter(|_| !is_chosen);
    let Some((_, value)) = chosen else { return Vec::new() };
    let values = if *tool == "nox" { value.split(',').collect() } else { vec![value] };
    std::iter::once(options[0]).chain(values).map(str::to_owned).collect()
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

/// Sessions or commands of a project that a call names, with what it hands on to them.
struct Named<'w> {
    list: Kind,
    names: Vec<String>,
    more: Vec<&'w str>,
}

impl<'w> Named<'w> {
    /// Reads the arguments of a caller; `None` where they leave it open what runs.
    fn new(caller: &str, arguments: &[&'w str]) -> Option<Self> {
        match caller {
            "nox" => Self::of_nox(arguments),
            _ => Self::of_table(caller, arguments),
        }
    }

    /// Reads the names of sessions, without the version or the parameters behind them.
    fn of_nox(arguments: &[&'w str]) -> Option<Self> {
        const HARMLESS: &[&str] = &[
            "--error-on-external-run",
            "--error-on-missing-interpreters",
            "--force-color",
            "--no-color",
            "--no-install",
            "--no-venv",
            "--non-interactive",
            "--reuse-existing-virtualenvs",
            "--stop-on-first-error",
            "--verbose",
            "-N",
            "-R",
            "-r",
            "-v",
            "-x",
        ];
        const VALUED: &[&str] =
            &["--db", "--default-venv-backend", "--force-python", "--force-pythons", "--report", "-db"];
        static VERSION: Pattern = Pattern::new(r"-\$.*$|\(.*$|-(?:(?:pypy|python)-?|py)?\d[\d.]*t?$");
        let end = arguments.iter().position(|word| *word == "--").unwrap_or(arguments.len());
        let (own, more) = arguments.split_at(end);
        let mut names: Vec<&str> = Vec::new();
        let (mut is_chosen, mut may_be_name, mut is_value) = (false, false, false);
        for word in own {
            let (option, value) = match word.split_once('=').filter(|_| word.starts_with('-')) {
                Some((option, value)) => (option, Some(value)),
                None => (*word, None),
            };
            if std::mem::take(&mut is_value) {
                continue;
            }
            match option {
                "-e" | "-s" | "--session" | "--sessions" => {
                    (is_chosen, may_be_name) = (true, true);
                    names.extend(value);
                }
                _ if VALUED.contains(&option) => is_value = value.is_none(),
                _ if HARMLESS.contains(&option) => may_be_name = false,
                _ if may_be_name && !word.starts_with('-') => names.push(word),
                _ => return None,
            }
        }
        let names = names.into_iter().map(|name| match VERSION.find(name) {
            Some(version) => name[..version.start()].to_owned(),
            None => name.to_owned(),
        });
        let mut names: Vec<String> = names.collect();
        if names.iter().any(|name| name.is_empty() || name.contains('$')) {
            return None;
        }
        if !is_chosen {
            names.push(String::new());
        }
        Some(Self { list: Kind::Nox, names, more: more.iter().skip(1).copied().collect() })
    }

    /// Reads the name of a command of the project's own table.
    fn of_table(caller: &str, arguments: &[&'w str]) -> Option<Self> {
        let mut words = arguments.to_vec();
        let mut environment = "default";
        if let Some(at) = words.iter().position(|word| caller == "hatch" && matches!(*word, "--env" | "-e")) {
            environment = *words.get(at + 1)?;
            words.drain(at..at + 2);
        }
        let mut words = words.into_iter().peekable();
        if caller != "poe" {
            words.next_if_eq(&"run")?;
        }
        let name = words.next().filter(|name| !name.starts_with(['-', '+']))?;
        let name = match (caller, name.split_once(':')) {
            ("hatch", Some((environment, name))) => format!("hatch {environment} {name}"),
            ("hatch", None) => format!("hatch {environment} {name}"),
            _ => format!("{caller} {name}"),
        };
        let more = words.filter(|word| *word != "--").collect();
        Some(Self { list: Kind::Tox, names: vec![name], more })
    }

    fn calls(&self, directory: &str) -> Vec<Call> {
        listed(self.list, directory, self.names.iter().map(String::as_str))
    }
}

/// Returns the words that a command hands on to the sessions or commands that it calls by name.
pub(super) fn handed_on(words: &[&str]) -> Vec<String> {
    let at = words.iter().position(|word| matches!(*word, "hatch" | "nox" | "pdm" | "poe"));
    let named = at.and_then(|at| Named::new(words[at], &words[at + 1..]));
    named.map(|named| named.more.iter().map(|word| (*word).to_owned()).collect()).unwrap_or_default()
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
            ("nox --session=tests", ":tests"),
            ("nox -s tests-$PYTHON", ":tests"),
            ("nox -s $SESSION", ""),
            ("nox -k lint", ""),
            ("nox -s tests --install-only", ""),
            ("uv run --directory docs poe check", ""),
            ("poe --dry-run check", ""),
            ("hatch -e docs run build", ":hatch docs build"),
            ("pipx run nox --sessions tests lint", ":tests :lint"),
            ("uv run nox", ":"),
            ("hatch run cov", ":hatch default cov"),
            ("hatch run test:cov -- -q", ":hatch test cov"),
            ("poetry run poe check", ":poe check"),
            ("pdm run lint", ":pdm lint"),
            ("hatch build", ""),
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
