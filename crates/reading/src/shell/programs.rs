//! Programs that run other programs, and the shells that run a script.

use std::collections::BTreeMap;

use super::words::{Decoded, Word, joined};
use super::{Command, Options};
use crate::names::joins;

/// The program that runs a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interpreter {
    /// A shell of the Bourne family with its settings.
    Shell(Options),
    /// PowerShell, cmd, Python or another program: the script is no shell script.
    Other,
}

const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"];

/// A program that runs the program that its arguments name.
struct Wrapper {
    name: &'static str,
    /// Options that have their value in the next word.
    valued: &'static [&'static str],
    /// Words between the options and the program.
    operands: usize,
}

const WRAPPERS: &[Wrapper] = &[
    wrapper("builtin", &[], 0),
    wrapper("chronic", &[], 0),
    wrapper("command", &[], 0),
    wrapper("coproc", &[], 0),
    wrapper("doas", &["-u", "-C"], 0),
    wrapper("env", &["-u", "--unset", "-C", "--chdir"], 0),
    wrapper("exec", &["-a"], 0),
    wrapper("ionice", &["-c", "-n"], 0),
    wrapper("nice", &["-n"], 0),
    wrapper("nohup", &[], 0),
    wrapper("setsid", &[], 0),
    wrapper("stdbuf", &["-i", "-o", "-e"], 0),
    wrapper("sudo", &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-r", "-t", "--user", "--group"], 0),
    wrapper("time", &["-f", "-o", "--format", "--output"], 0),
    wrapper("timeout", &["-s", "--signal", "-k", "--kill-after"], 1),
    wrapper("xargs", &["-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s", "--max-args", "--max-procs"], 0),
];

const fn wrapper(name: &'static str, valued: &'static [&'static str], operands: usize) -> Wrapper {
    Wrapper { name, valued, operands }
}

/// Name of a program without its folder.
pub(super) fn base_name(word: &Word) -> Option<&str> {
    word.constant()?.rsplit('/').next()
}

/// Returns the position of the program behind wrappers and their options.
pub(super) fn behind_wrappers(words: &[Word]) -> usize {
    let mut at = 0;
    while let Some(name) = words.get(at).and_then(base_name)
        && let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name)
    {
        let mut next = at + 1;
        while let Some(word) = words.get(next) {
            let text = word.text();
            if text == "--" {
                next += 1;
                break;
            }
            let is_assignment = matches!(name, "env" | "sudo" | "doas") && is_assignment(text);
            if !is_assignment && !text.starts_with('-') {
                break;
            }
            next += 1 + usize::from(wrapper.valued.contains(&text));
        }
        next += wrapper.operands;
        // Without a program behind it, the wrapper itself is the program: `exec 3>&1`, `command -v make`.
        let asks =
            name == "command" && words.get(at + 1).is_some_and(|word| word.text().to_lowercase() == "-v");
        if next >= words.len() || asks {
            break;
        }
        at = next;
    }
    at
}

fn is_assignment(text: &str) -> bool {
    let Some((name, _)) = text.split_once('=') else { return false };
    !name.is_empty() && name.chars().all(joins)
}

/// Changes settings as the arguments of `set`, or the options of a shell, do.
pub(super) fn apply_options<'w>(words: impl Iterator<Item = &'w str>, options: &mut Options) {
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        let Some(on) = word.starts_with('-').then_some(true).or(word.starts_with('+').then_some(false))
        else {
            break;
        };
        if word == "-" || word.starts_with("--") {
            // Options of a shell, such as `--norc`; for `set` what follows `--` has no sign.
            continue;
        }
        for letter in word[1..].chars() {
            match letter {
                'e' => options.errexit = on,
                'u' => options.nounset = on,
                'n' => options.noexec = on,
                'o' => match words.next() {
                    Some("errexit") => options.errexit = on,
                    Some("pipefail") => options.pipefail = on,
                    Some("nounset") => options.nounset = on,
                    Some("noexec") => options.noexec = on,
                    Some(_) | None => {}
                },
                _ => {}
            }
        }
    }
}

impl Interpreter {
    /// Reads a command line that runs a script: a shebang without its `#!`, or the `shell` of a workflow, where the
    /// bare names `bash` and `sh` stand for GitHub's own command lines.
    pub fn of_command(command: &str) -> Self {
        let words: Vec<&str> = command.split_whitespace().collect();
        let mut words = words.as_slice();
        while let [first, rest @ ..] = words
            && (base(first) == "env" || !rest.is_empty() && (is_assignment(first) || *first == "-S"))
        {
            words = rest;
        }
        let Some((first, rest)) = words.split_first() else { return Self::Other };
        let name = base(first);
        if !SHELLS.contains(&name.strip_suffix(".exe").unwrap_or(name)) {
            return Self::Other;
        }
        let mut options = Options::default();
        if command.trim() == "bash" {
            options.errexit = true;
            options.pipefail = true;
        } else if command.trim() == "sh" {
            options.errexit = true;
        }
        apply_options(rest.iter().copied(), &mut options);
        Self::Shell(options)
    }

    /// Reads the first line of a script; none where it is no shebang.
    pub fn of_shebang(text: &str) -> Option<Self> {
        let line = text.strip_prefix("#!")?.lines().next()?.trim();
        // A bare name here has no options: only a workflow gives it some.
        Some(Self::of_command(&format!("{line} -")))
    }
}

fn base(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// A script that a command hands to a shell, with the settings of that shell.
pub(super) struct Inner {
    pub(super) text: Decoded,
    pub(super) options: Options,
    /// True if it comes from a file that the script writes, or from a pipe.
    pub(super) is_written: bool,
}

/// Texts that commands before handed on, by where a shell finds them.
#[derive(Debug, Default)]
pub(super) struct Handed {
    /// Text that the stage before in a pipeline prints.
    pub(super) piped: Option<Decoded>,
    /// Texts of files that the script writes itself.
    pub(super) files: BTreeMap<String, Decoded>,
}

impl Handed {
    /// Keeps the text of a file that a command writes.
    pub(super) fn note_file(&mut self, command: &Command) {
        let Some(text) = printed(command) else { return };
        let redirected = command
            .redirections
            .iter()
            .filter(|redirection| matches!(redirection.operator.as_str(), ">" | ">>" | ">|"))
            .map(|redirection| &redirection.target);
        let is_tee = command.program() == Some("tee");
        let named = command.arguments().iter().filter(|word| is_tee && !word.text().starts_with('-'));
        for file in redirected.chain(named).filter_map(Word::constant) {
            self.files.insert(file.trim_start_matches("./").to_owned(), text.clone());
        }
    }

    /// Takes the text of the file that a command runs: `sh file`, `. file`, `./file`. A file is read once, however often
    /// it runs.
    fn take_file(&mut self, command: &Command) -> Option<Decoded> {
        let name = command.program()?;
        let file = match SHELLS.contains(&name) || matches!(name, "." | "source") {
            true => command.arguments().iter().find(|word| !word.text().starts_with(['-', '+']))?,
            false => command.effective().first().filter(|word| word.text().contains('/'))?,
        };
        self.files.remove(file.constant()?.trim_start_matches("./"))
    }
}

/// Returns whether an argument of `echo` or `printf` is a text, and neither an option nor a format.
fn is_printed(argument: &Word) -> bool {
    !argument.text().starts_with(['-', '%'])
}

/// Returns the text that a command prints as it is written: a heredoc of `cat`, the argument of `echo`.
pub(super) fn printed(command: &Command) -> Option<Decoded> {
    match command.program()? {
        "cat" | "tee" => input(command),
        "echo" | "printf" => {
            command.arguments().iter().rfind(|word| is_printed(word)).map(|word| word.decoded.clone())
        }
        _ => None,
    }
}

/// Returns the scripts that a command hands to a shell: by `-c`, `eval`, a heredoc, a here-string, a pipe, or a file
/// that the script writes.
pub(super) fn inner_scripts(command: &Command, handed: &mut Handed) -> Vec<Inner> {
    let mut found = Vec::new();
    let words = command.effective();
    match command.program() {
        Some("eval") => {
            return vec![Inner { text: joined(&words[1..]), options: command.options, is_written: false }];
        }
        // Its first argument runs later, as a script of its own.
        Some("trap") => return found,
        // Without a command the shell of the other machine reads the input.
        Some("ssh") if !has_remote_command(words) => {
            let options = Options::default();
            found.extend(input(command).map(|text| Inner { text, options, is_written: false }));
            return found;
        }
        Some(_) | None => {}
    }
    if let Some(text) = handed.take_file(command) {
        return vec![Inner { text, options: Options::default(), is_written: true }];
    }
    for at in 0..words.len() {
        let name = base_name(&words[at]);
        let is_shell = name.is_some_and(|name| SHELLS.contains(&name) || name == "su" && at == 0);
        if !is_shell {
            continue;
        }
        let rest = &words[at + 1..];
        let flags =
            rest.iter().take_while(|word| word.text().starts_with(['-', '+']) || word.text() == "pipefail");
        let flags: Vec<&str> = flags.map(Word::text).collect();
        // It prints this and reads nothing.
        if flags.iter().any(|flag| matches!(*flag, "--help" | "--version")) {
            continue;
        }
        let mut options = Options::default();
        apply_options(flags.iter().copied(), &mut options);
        let has_text = flags.iter().any(|flag| is_command_flag(flag));
        match rest.get(flags.len()) {
            Some(text) if has_text => {
                found.push(Inner { text: text.decoded.clone(), options, is_written: false });
                break;
            }
            // `bash -s a b` and `bash <<EOF` read their input; `bash file` does not.
            file if file.is_none() || flags.contains(&"-s") => {
                let own = input(command);
                let is_written = own.is_none();
                let read = own.or_else(|| handed.piped.take());
                found.extend(read.map(|text| Inner { text, options, is_written }));
            }
            Some(_) | None => {}
        }
    }
    found
}

/// Returns whether a call of `ssh` names a command behind the host.
fn has_remote_command(words: &[Word]) -> bool {
    const WITH_VALUE: &[&str] = &[
        "-B", "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-p", "-Q",
        "-R", "-S", "-W", "-w",
    ];
    let mut is_value = false;
    let mut names = 0;
    for word in words.iter().skip(1).map(Word::text) {
        if std::mem::take(&mut is_value) {
            continue;
        }
        is_value = WITH_VALUE.contains(&word);
        names += usize::from(!word.starts_with('-'));
    }
    names > 1
}

fn is_command_flag(flag: &str) -> bool {
    flag.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains('c'))
}

/// Text that a command reads from its standard input.
fn input(command: &Command) -> Option<Decoded> {
    command.redirections.iter().rev().find_map(|redirection| match redirection.operator.as_str() {
        "<<" | "<<-" => redirection.heredoc.clone(),
        "<<<" => Some(redirection.target.decoded.clone()),
        _ => None,
    })
}
