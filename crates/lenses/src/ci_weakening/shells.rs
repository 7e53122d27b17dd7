//! Command lines that run the script of a step, as far as they run it.

use qa_reading::shell::{Command, Options, Script, Word};

use super::commands::Effect;

/// Programs that print or read the file of a script and do not run it.
const READERS: &[&str] = &[
    ":",
    "[",
    "base64",
    "basename",
    "cat",
    "chmod",
    "cksum",
    "cmp",
    "cp",
    "cut",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "expr",
    "file",
    "find",
    "grep",
    "gzip",
    "head",
    "hexdump",
    "less",
    "ln",
    "logger",
    "ls",
    "md5sum",
    "mkdir",
    "more",
    "mv",
    "nl",
    "od",
    "paste",
    "printf",
    "readlink",
    "realpath",
    "rev",
    "rm",
    "sed",
    "seq",
    "sha1sum",
    "sha256sum",
    "shasum",
    "shellcheck",
    "shfmt",
    "shuf",
    "sleep",
    "sort",
    "split",
    "stat",
    "strings",
    "sum",
    "sync",
    "tac",
    "tail",
    "tar",
    "tee",
    "test",
    "touch",
    "tr",
    "true",
    "truncate",
    "uniq",
    "unlink",
    "wc",
    "xxd",
    "zip",
];

const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "mksh", "sh", "zsh"];

/// Programs that run the program behind them.
const WRAPPERS: &[&str] = &[
    "builtin", "busybox", "command", "doas", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf",
    "sudo", "time",
];

/// Interpreters of other languages with the options by which they run another text, or only read the file.
const INTERPRETERS: &[(&str, &[&str])] = &[
    ("node", &["--check", "--eval", "--print", "-c", "-e", "-p"]),
    ("perl", &["-E", "-c", "-e"]),
    ("php", &["-l", "-r"]),
    ("python", &["-c", "-m"]),
    ("python3", &["-c", "-m"]),
    ("ruby", &["-c", "-e"]),
];

/// Returns what the command line that a step names as its shell does to the script `{0}`.
pub(super) fn effect_of_shell(line: &str) -> Option<Effect> {
    let words = words(line);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.iter().take(2).any(|word| READERS.contains(&base(word))) {
        return Some(Effect::Never);
    }
    let script = words.iter().position(|word| word.contains("{0}"))?;
    let behind = words[script].split("{0}").nth(1).unwrap_or_default();
    if behind.contains(['|', ';', '&'])
        || words[script + 1..].iter().any(|word| word.contains(['|', ';', '&']))
    {
        return Some(Effect::Ignored);
    }
    effect_of_words(&words, script)
}

/// Returns what the words of a command do to the script that the word at a position names.
fn effect_of_words(words: &[&str], script: usize) -> Option<Effect> {
    let program = words.iter().find(|word| !is_before_program(word)).map(|word| base(word))?;
    if READERS.contains(&program) {
        return Some(Effect::Never);
    }
    if let Some((_, other)) = INTERPRETERS.iter().find(|(name, _)| *name == program) {
        let runs_other = words[..script].iter().any(|word| other.contains(word));
        return (runs_other && words[script] == "{0}").then_some(Effect::Never);
    }
    // Behind a shell stand its options; with an operand or a command before the script it runs that instead.
    let at = words[..script].iter().rposition(|word| SHELLS.contains(&base(word)))?;
    let mut options = words[at + 1..script].iter();
    let mut runs_text = false;
    while let Some(option) = options.next() {
        let letters = option.strip_prefix(['-', '+']).unwrap_or_default();
        let is_long = letters.starts_with('-');
        let prints = matches!(letters, "-version" | "-help") || !is_long && letters.contains(['n', 's']);
        let takes_text = !is_long && letters.contains('c');
        runs_text |= takes_text;
        if letters.is_empty() || prints || takes_text && words[script] == "{0}" {
            return Some(Effect::Never);
        }
        if letters.ends_with('o') && !is_long {
            options.next();
        }
    }
    if runs_text { effect_of_text(words[script]) } else { None }
}

/// Returns what a text that a shell runs does to the script that it names.
fn effect_of_text(text: &str) -> Option<Effect> {
    let script = Script::parse(text, Options::default());
    if !script.broken.is_empty() {
        return None;
    }
    let mut runners = script.commands.iter().filter(|command| runs_script(command, text));
    match runners.next() {
        Some(command) if command.lost.is_some() => Some(Effect::Ignored),
        Some(_) => None,
        None => Some(Effect::Never),
    }
}

/// Returns whether a command runs the script that it names.
fn runs_script(command: &Command, text: &str) -> bool {
    let words: Vec<&str> = command.effective().iter().map(Word::text).collect();
    let Some(first) = words.first() else { return false };
    if !command.span.of(text).contains("{0}") || READERS.contains(&base(first)) {
        return false;
    }
    let script = words.iter().position(|word| word.contains("{0}"));
    matches!(*first, "." | "eval" | "source")
        || script.is_none_or(|script| effect_of_words(&words, script).is_none())
}

/// Returns whether a word may stand before the program that a command line names.
fn is_before_program(word: &str) -> bool {
    WRAPPERS.contains(&base(word)) || word.starts_with('-') || word.contains('=')
}

fn base(word: &str) -> &str {
    word.rsplit(['/', '\\']).next().unwrap_or_default()
}

/// Splits a command line at blanks that stand in no quotes, and takes the quotes away.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for character in line.chars() {
        match quote {
            Some(open) if open == character => quote = None,
            Some(_) => word.push(character),
            None if matches!(character, '"' | '\'') => quote = Some(character),
            None if character.is_whitespace() => words.push(std::mem::take(&mut word)),
            None => word.push(character),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_that_run_the_script_are_told_from_others() {
        for (line, expected) in [
            ("bash", None),
            ("bash -leo pipefail {0}", None),
            ("bash -c \"PACKAGE=none; . {0}\"", None),
            ("bash -c 'source env.sh && bash -e {0}'", None),
            ("bash -c \"bash -e < {0}\"", None),
            ("nix develop --command bash -e {0}", None),
            ("docker run --rm -v .:/w image bash {0}", None),
            ("msys2 {0}", None),
            ("sudo {0}", None),
            ("python {0}", None),
            ("pwsh -command \". '{0}'\"", None),
            ("micromamba run -n base {0}", None),
            ("wc -l {0}", Some(Effect::Never)),
            ("/usr/bin/env sha256sum {0}", Some(Effect::Never)),
            ("sudo -E wc {0}", Some(Effect::Never)),
            ("bash -c \"true {0}\"", Some(Effect::Never)),
            ("bash -c 'exit 0 # {0}'", Some(Effect::Never)),
            ("sh -ec \"cat {0}\"", Some(Effect::Never)),
            ("bash -c true {0}", Some(Effect::Never)),
            ("bash -n {0}", Some(Effect::Never)),
            ("python -m py_compile {0}", Some(Effect::Never)),
            ("node --check {0}", Some(Effect::Never)),
            ("bash {0} || true", Some(Effect::Ignored)),
            ("bash -c \"{0} || true\"", Some(Effect::Ignored)),
        ] {
            assert_eq!(effect_of_shell(line), expected, "{line}");
        }
    }
}
