//! Commands, variables and options by which other commands check less: tests that are deleted first, options in the
//! environment, a dry run of make.

use qa_reading::shell::{Command, Word};
use qa_reading::syntax::Span;

use super::calls::joined;
use super::commands::{Effect, Mark};
use super::names::names_of_checks;
use super::writers::repairs_before_it_judges;
use crate::pattern::Pattern;
use crate::selection::Selection;

/// Effect of a command on the commands behind it, in the same job.
#[derive(Debug, Clone)]
pub(super) struct Later {
    pub(super) cause: Cause,
    pub(super) span: Span,
}

/// The reason for which commands check less.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cause {
    Effect(Effect),
    /// A path of tests is deleted or replaced, if the repository has it.
    Replaced(String),
}

/// A variable of the environment by which checks look at less.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) name: String,
    pub(super) mark: Mark,
}

impl Setting {
    /// Reads a variable; most of them change no check.
    pub(super) fn new(name: &str, value: &str, span: Span) -> Option<Self> {
        let effect = effect_of_variable(name, value)?;
        Some(Self { name: name.to_owned(), mark: Mark { effect, span } })
    }
}

/// Paths of tests.
static TESTS: Pattern = Pattern::new(
    r"(?:^|/)(?:tests?|specs?|__tests__|e2e|testing)(?:/|$)|(?:^|/)test_[^/]*$|[._-](?:tests?|spec)\.\w+$",
);

/// Directories among tests that hold what a run leaves or needs, and no tests.
static BESIDE_TESTS: Pattern = Pattern::new(
    r"(?:^|/)(?:_?_?snapshots_?_?|__pycache__|cache|coverage|data|fixtures?|logs?|out(?:put)?|reports?|results?|screenshots|te?mp|videos)(?:/|$)|\.(?:log|o|pyc|snap|tmp|xml)$",
);

/// Words that only print what a runner would do.
const LISTERS: &[&str] = &["--listenvs", "--notest", "--showconfig", "-l", "-n"];

/// Letters of options of make that have a value, which may stand behind them in the same word.
const VALUED_LETTERS: &[char] = &['C', 'E', 'I', 'O', 'W', 'f', 'j', 'l', 'o'];

/// Longest time limit, in seconds, in which no check is expected to end.
const TINY_LIMIT: f64 = 5.0;

/// Returns what an option of a program that calls others by name does to all of them.
pub(super) fn effect_of_option(program: &str, option: &str) -> Option<Effect> {
    match program {
        "gmake" | "make" => effect_on_recipes(option),
        "tox" if LISTERS.contains(&option) => Some(Effect::Partial),
        _ => None,
    }
}

/// Returns what an option of make does to its recipes: print them only, or ignore that they fail.
fn effect_on_recipes(option: &str) -> Option<Effect> {
    if let Some(name) = option.strip_prefix("--") {
        return match name {
            "dry-run" | "just-print" | "question" | "recon" | "touch" => Some(Effect::Never),
            "ignore-errors" => Some(Effect::Ignored),
            _ => None,
        };
    }
    let letters = option.strip_prefix('-')?;
    let letters = letters.split(VALUED_LETTERS).next().unwrap_or_default();
    letters_of_make(letters)
}

fn letters_of_make(letters: &str) -> Option<Effect> {
    let is_word = letters.bytes().all(|letter| letter.is_ascii_alphabetic());
    if !is_word || letters.is_empty() {
        None
    } else if letters.contains(['n', 'q', 't']) {
        Some(Effect::Never)
    } else if letters.contains('i') {
        Some(Effect::Ignored)
    } else {
        None
    }
}

/// Tools with the variables of the environment that hold their options.
const OPTIONS: &[(&str, &str)] =
    &[("GOFLAGS", "go"), ("MAVEN_ARGS", "mvn"), ("PYTEST_ADDOPTS", "pytest"), ("SPEC_OPTS", "rspec")];

/// Returns what a variable of the environment does to the checks that commands call.
fn effect_of_variable(name: &str, value: &str) -> Option<Effect> {
    let value = value.trim();
    let words: Vec<&str> = value.split_whitespace().collect();
    if let Some((_, tool)) = OPTIONS.iter().find(|(own, _)| *own == name) {
        if repairs_before_it_judges(&format!("{tool} {value}")) {
            return Some(Effect::Repaired);
        }
        let chosen = Selection::of_options(tool, &words);
        let narrowed = Selection::of_options(tool, &[]).narrowed_by(&chosen);
        return (!narrowed.is_empty()).then_some(Effect::Partial);
    }
    match name {
        "MAKEFLAGS" | "GNUMAKEFLAGS" => effect_of_makeflags(&words),
        // A shell runs this file before each script.
        "BASH_ENV" => is_local_file(value).then_some(Effect::Never),
        "DYLD_INSERT_LIBRARIES" | "LD_PRELOAD" => is_in_directory(value).then_some(Effect::Answered),
        // Programs of the first directory take the place of all others of their names.
        "PATH" => is_own_programs(value).then_some(Effect::Answered),
        "NODE_OPTIONS" => preloads(&words, &["-r", "--require", "--import", "--loader"]),
        "RUBYOPT" => preloads(&words, &["-r"]),
        "PYTHONOPTIMIZE" if !matches!(value, "" | "0") => Some(Effect::Partial),
        // Runners of tests write what is missing where this is no CI.
        NO_CI if is_off(value) => Some(Effect::Partial),
        "INSTA_FORCE_PASS" if !is_off(value) => Some(Effect::Ignored),
        "INSTA_UPDATE" => matches!(value, "always" | "force").then_some(Effect::Repaired),
        "MACROTEST" | "SNAPSHOTS" | "TRYBUILD" | "TRYCMD" => {
            (value == "overwrite").then_some(Effect::Repaired)
        }
        _ if REWRITES.is_match(name) && !is_off(value) => Some(Effect::Repaired),
        "GTEST_FILTER" if !matches!(value, "" | "*") => Some(Effect::Partial),
        _ => None,
    }
}

/// Variable of every CI, which tells runners of tests that nobody looks at what they write.
pub(super) const NO_CI: &str = "CI";
/// Variables by which tests write what they expect.
static REWRITES: Pattern = Pattern::new(
    r"^(?:\w+_)?(?:BLESS|(?:ACCEPT|BLESS|GENERATE|OVERWRITE|RECORD|RECREATE|REFRESH|REGEN|REGENERATE|REWRITE|UPDATE|WRITE)_(?:\w+_)?(?:APPROVALS|APPROVED|BASELINES?|CASSETTES?|EXPECT|EXPECTED|EXPECTATIONS|FIXTURES?|GOLD|GOLDENS?|REFERENCES?|SNAPS?|SNAPSHOTS?|TESTDATA)(?:_?FILES)?|(?:GOLDENS?|SNAPSHOTS?)_(?:OVERWRITE|UPDATE))$",
);

fn is_off(value: &str) -> bool {
    matches!(value.to_lowercase().as_str(), "" | "0" | "false" | "never" | "no" | "none" | "off")
}

/// Returns what the first words of make's own variable do: letters without a dash, or options.
fn effect_of_makeflags(words: &[&str]) -> Option<Effect> {
    let first = words.first().filter(|word| !word.starts_with('-')).and_then(|word| letters_of_make(word));
    words.iter().filter_map(|word| effect_on_recipes(word)).chain(first).max()
}

/// Returns whether a value is a file of the repository, or one that a step has written beside it.
fn is_local_file(value: &str) -> bool {
    let is_path = value.contains('/') || value.ends_with(".sh");
    is_path && !value.contains(['$', '~', ' ']) && !value.starts_with("/etc/")
}

/// Returns whether a search path begins with a directory of the repository that no package manager fills.
fn is_own_programs(value: &str) -> bool {
    const INSTALLED: &[&str] = &["node_modules", "vendor", "venv", ".venv", ".tox", "target", "build"];
    let first = value.split(':').next().unwrap_or_default().trim();
    let is_relative = !first.is_empty() && !first.starts_with(['/', '$', '~']);
    is_relative && !first.split('/').any(|part| INSTALLED.contains(&part))
}

/// Returns whether a name is that of a file beside the caller, and not that of a package.
fn is_in_directory(name: &str) -> bool {
    name.starts_with("./") || name.starts_with("../")
}

/// Returns the effect of options that load a file of the repository into every program.
fn preloads(words: &[&str], options: &[&str]) -> Option<Effect> {
    let mut before = "";
    for word in words {
        let value = options.iter().find_map(|option| word.strip_prefix(option));
        let value = value.map(|value| value.trim_start_matches('='));
        if value.is_some_and(is_in_directory) || options.contains(&before) && is_in_directory(word) {
            return Some(Effect::Answered);
        }
        before = word;
    }
    None
}

/// Returns what a time limit around a command does, if no check can end in it.
pub(super) fn effect_of_limit(command: &Command) -> Option<Effect> {
    let before = command.words.len() - command.effective().len();
    let words = command.words.get(..before)?;
    let at = words.iter().position(|word| word.text() == "timeout")?;
    let mut words = words[at + 1..].iter().map(Word::text);
    let mut limit = words.next()?;
    while limit.starts_with('-') {
        // The value of these options is no limit.
        if matches!(limit, "-k" | "-s" | "--kill-after" | "--signal") {
            words.next()?;
        }
        limit = words.next()?;
    }
    let limit = seconds(limit)?;
    let words: Vec<&str> = command.effective().iter().map(Word::text).collect();
    if asks_for_health(&words.join(" ")) {
        return None;
    }
    (limit > 0.0 && limit <= TINY_LIMIT).then_some(Effect::Partial)
}

/// Returns whether a command asks a service how it is, and checks nothing else.
fn asks_for_health(text: &str) -> bool {
    static HEALTH: Pattern =
        Pattern::new(r"(?i)\b(?:alive|health|healthcheck|healthz|liveness|ping|readiness|ready)\b");
    let names = names_of_checks(text);
    HEALTH.is_match(&text.replace('_', "-"))
        && names.iter().all(|name| matches!(name.as_str(), "check" | "checks"))
}

/// Returns the seconds of a duration as `timeout` reads it.
fn seconds(text: &str) -> Option<f64> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(number) => (number, text.chars().next_back()),
        None => (text, None),
    };
    let factor = match unit {
        Some('m') => 60.0,
        Some('h') => 3600.0,
        Some('d') => 86_400.0,
        Some(_) | None => 1.0,
    };
    number.parse::<f64>().ok().map(|number| number * factor)
}

/// Returns what a command does to the commands behind it.
pub(super) fn later(command: &Command, directory: &str) -> Vec<Later> {
    let words: Vec<&str> = command.effective().iter().map(Word::text).collect();
    let causes: Vec<Cause> = match words.as_slice() {
        ["rm" | "rmdir" | "unlink", operands @ ..] | ["git", "rm", operands @ ..] => {
            replaced(operands, directory)
        }
        ["git", "checkout", operands @ ..] => from_other_commit(operands, directory),
        ["git", "restore", operands @ ..] => {
            let other = operands.iter().any(|word| word.starts_with("--source") || *word == "-s");
            if other { replaced(operands, directory) } else { Vec::new() }
        }
        ["find", rest @ ..] => deleted(rest),
        ["go", "env", "-w", settings @ ..] => settings.iter().copied().filter_map(setting).collect(),
        ["echo" | "printf", .., text] if writes_environment(command) => setting(text).into_iter().collect(),
        _ => Vec::new(),
    };
    causes.into_iter().map(|cause| Later { cause, span: command.span }).collect()
}

fn setting(text: &str) -> Option<Cause> {
    let (name, value) = text.trim_matches(['"', '\'']).split_once('=')?;
    effect_of_variable(name, value).map(Cause::Effect)
}

fn writes_environment(command: &Command) -> bool {
    let mut targets = command.redirections.iter().map(|redirection| redirection.target.text());
    targets.any(|target| target.trim_matches(['{', '}', '$', '"']).ends_with("GITHUB_ENV"))
}

/// Returns the paths of tests among the operands of a command that takes them away.
fn replaced(operands: &[&str], directory: &str) -> Vec<Cause> {
    let paths = operands.iter().filter(|word| !word.starts_with('-') && holds_tests(word));
    paths.map(|path| Cause::Replaced(joined(directory, before_pattern(path)))).collect()
}

/// Returns whether a path is one of tests, and not of what lies beside them.
fn holds_tests(path: &str) -> bool {
    TESTS.is_match(path) && !BESIDE_TESTS.is_match(path)
}

/// Returns the part of a path that no pattern makes another one.
fn before_pattern(path: &str) -> &str {
    match path.find(['*', '?', '[', '{']) {
        Some(at) => path[..at].rsplit_once('/').map(|(directory, _)| directory).unwrap_or_default(),
        None => path,
    }
}

/// Returns the paths of tests that `git checkout` takes from another commit.
fn from_other_commit(operands: &[&str], directory: &str) -> Vec<Cause> {
    let Some(dashes) = operands.iter().position(|word| *word == "--") else { return Vec::new() };
    let commit = operands[..dashes].iter().rev().find(|word| !word.starts_with('-'));
    match commit {
        Some(commit) if *commit != "HEAD" => replaced(&operands[dashes + 1..], directory),
        Some(_) | None => Vec::new(),
    }
}

/// Returns whether `find` deletes files of tests by their names.
fn deleted(words: &[&str]) -> Vec<Cause> {
    let deletes = words.contains(&"-delete") || words.windows(2).any(|pair| pair == ["-exec", "rm"]);
    let mut names = words.windows(2).filter(|pair| matches!(pair[0], "-name" | "-path" | "-iname"));
    let is_about_tests = names.any(|pair| holds_tests(&pair[1].replace('*', "a")));
    if deletes && is_about_tests { vec![Cause::Effect(Effect::Partial)] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_make_checks_smaller_are_told_from_others() {
        TESTS.check();
        BESIDE_TESTS.check();
        REWRITES.check();
        for (name, value, expected) in [
            ("PYTEST_ADDOPTS", "--co", true),
            ("PYTEST_ADDOPTS", "-k none", true),
            ("PYTEST_ADDOPTS", "--color=yes -v", false),
            ("GOFLAGS", "-run=NONE", true),
            ("GOFLAGS", "-run=^$", true),
            ("GOFLAGS", "-mod=mod", false),
            ("GOFLAGS", "-race -v", false),
            ("MAKEFLAGS", "n", true),
            ("MAKEFLAGS", "--dry-run", true),
            ("MAKEFLAGS", "-i", true),
            ("MAKEFLAGS", "-j4", false),
            ("MAKEFLAGS", "-j4 --output-sync=target", false),
            ("MAKEFLAGS", "--no-print-directory", false),
            ("BASH_ENV", "./fake.sh", true),
            ("BASH_ENV", "/tmp/fake.sh", true),
            ("BASH_ENV", "$HOME/.bashrc", false),
            ("ENV", "envs/test.env", false),
            ("NODE_OPTIONS", "--max-old-space-size=4096", false),
            ("NODE_OPTIONS", "--require ./quiet.js", true),
            ("NODE_OPTIONS", "--import=./quiet.mjs", true),
            ("NODE_OPTIONS", "--require ts-node/register", false),
            ("NODE_OPTIONS", "--experimental-vm-modules", false),
            ("RUBYOPT", "-r./quiet", true),
            ("RUBYOPT", "-W:deprecated", false),
            ("SPEC_OPTS", "--dry-run", true),
            ("SPEC_OPTS", "--format progress", false),
            ("PYTHONOPTIMIZE", "1", true),
            ("CI", "true", false),
            ("CI", "false", true),
            ("UPDATE_GOLDEN", "1", true),
            ("UPDATE_GOLDEN", "0", false),
            ("APP_UPDATE_ALL_SNAPSHOTS", "true", true),
            ("SNAPSHOT_UPDATE", "yes", true),
            ("UPDATE_DEPENDENCIES", "1", false),
            ("UPDATE_GOLDEN_FILES", "1", true),
            ("RUSTC_BLESS", "1", true),
            ("PYTEST_ADDOPTS", "--snapshot-update", true),
            ("TRYCMD", "overwrite", true),
            ("INSTA_FORCE_PASS", "1", true),
            ("INSTA_UPDATE", "always", true),
            ("INSTA_UPDATE", "no", false),
        ] {
            assert_eq!(effect_of_variable(name, value).is_some(), expected, "{name}={value}");
        }
    }

    #[test]
    fn options_of_make_count_wherever_they_stand_in_a_word() {
        for (option, expected) in [
            ("-n", Some(Effect::Never)),
            ("-sn", Some(Effect::Never)),
            ("-t", Some(Effect::Never)),
            ("--dry-run", Some(Effect::Never)),
            ("-i", Some(Effect::Ignored)),
            ("-ki", Some(Effect::Ignored)),
            ("-k", None),
            ("-j4", None),
            ("-fninja.mk", None),
            ("-C", None),
            ("--no-print-directory", None),
            ("test", None),
        ] {
            assert_eq!(effect_of_option("make", option), expected, "{option}");
        }
        assert_eq!(effect_of_option("tox", "--notest"), Some(Effect::Partial));
        assert_eq!(effect_of_option("tox", "-e"), None);
    }
}
