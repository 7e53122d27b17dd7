//! Conditions around and before a command that decide whether it runs, and the program that its name stands for.

use std::collections::{BTreeMap, BTreeSet};

use qa_reading::shell::{Command, Script, Surrounding, Word};
use qa_reading::syntax::Span;

use super::calls::joined;
use super::commands::{Effect, Mark, Variable, is_another_attempt};
use super::names::names_of_checks;

/// Programs that do nothing with what they are given.
const IDLE: &[&str] = &[":", "cat", "echo", "false", "printf", "test", "true", "yes"];

/// Ways to name the root of a checkout before a path.
const ROOTS: &[&str] = &[
    "$GITHUB_WORKSPACE",
    "${GITHUB_WORKSPACE}",
    "${{ github.workspace }}",
    "$PWD",
    "${PWD}",
    "$(pwd)",
    "`pwd`",
];

/// Returns what the constructs around a command do to it: keep it from running, or make that hang on something.
pub(super) fn guard(script: &Script, text: &str, command: &Command) -> Option<Effect> {
    let effects = script.surroundings(command).filter_map(|(surrounding, span)| match surrounding {
        Surrounding::Function(name) => {
            let may_call = |other: &&Command| !other.is_written || command.is_written;
            let mut callers = script.commands.iter().filter(may_call);
            let is_called = callers.any(|other| other.program() == Some(name.as_str()));
            if is_called { None } else { Some(Effect::Never) }
        }
        Surrounding::Branch => branch(span.of(text), command),
        Surrounding::OrRight | Surrounding::AndRight if span.of(text).starts_with("exit") => {
            Some(Effect::Never)
        }
        Surrounding::OrRight => match constant(span.of(text)) {
            Some(true) => Some(Effect::Never),
            // Another attempt at the same check.
            None if !is_another_attempt(&checks_of(command), span.of(text)) => Some(Effect::Sometimes),
            None | Some(false) => None,
        },
        Surrounding::AndRight => match constant(span.of(text)) {
            Some(false) => Some(Effect::Never),
            None if is_question(span.of(text)) && is_lost(script, span) => Some(Effect::Sometimes),
            None | Some(true) => None,
        },
        Surrounding::LoopBody => loop_body(span.of(text)),
        Surrounding::Pipeline { .. }
        | Surrounding::AndLeft
        | Surrounding::OrLeft
        | Surrounding::Negated
        | Surrounding::Background
        | Surrounding::IfCondition
        | Surrounding::LoopCondition
        | Surrounding::Subshell
        | Surrounding::Substitution
        | Surrounding::Interpreted => None,
    });
    effects.max()
}

/// Returns the words that name what a command checks.
fn checks_of(command: &Command) -> BTreeSet<String> {
    let words: Vec<&str> = command.effective().iter().map(Word::text).collect();
    names_of_checks(&words.join(" "))
}

/// Returns the effect of a branch on a command in it. One beside which the other branch fails, or runs the same program,
/// has none.
fn branch(statement: &str, command: &Command) -> Option<Effect> {
    let condition = ["if ", "elif "].iter().find_map(|word| statement.strip_prefix(word)).unwrap_or_default();
    let condition = condition.split([';', '\n']).next().unwrap_or_default();
    let otherwise = statement.split_once("else").map(|(_, otherwise)| otherwise).unwrap_or_default();
    let program = command.program().unwrap_or_default();
    let is_covered = otherwise.contains("exit 1") || !program.is_empty() && otherwise.contains(program);
    match constant(condition) {
        Some(false) => Some(Effect::Never),
        None if !is_covered || !statement.starts_with("if ") => Some(Effect::Sometimes),
        None | Some(true) => None,
    }
}

fn loop_body(statement: &str) -> Option<Effect> {
    let mut words = statement.split_whitespace();
    let first = words.next().unwrap_or_default();
    if first == "for" {
        let is_empty = words.nth(1).is_some_and(|word| word == "in;");
        return if is_empty { Some(Effect::Never) } else { None };
    }
    let condition = statement[first.len()..].split([';', '\n']).next().unwrap_or_default();
    match constant(condition).map(|holds| holds == (first == "while")) {
        Some(true) => None,
        Some(false) => Some(Effect::Never),
        None => Some(Effect::Sometimes),
    }
}

/// Returns whether a text asks for something and does nothing.
fn is_question(text: &str) -> bool {
    let text = text.trim_start_matches(['!', ' ']);
    let words = ["[", "((", "test ", "grep ", "which ", "command -v ", "type ", "git diff "];
    words.iter().any(|word| text.starts_with(word))
}

/// Returns whether the script goes on after the failure of a command in a place.
fn is_lost(script: &Script, place: Span) -> bool {
    let mut commands = script.commands.iter();
    let inside = commands.find(|command| place.start <= command.span.start && command.span.end <= place.end);
    inside.is_some_and(|command| command.lost.is_some())
}

/// Returns what a command does to all that stands behind it: it ends the script, always or under a condition.
pub(super) fn end(script: &Script, command: &Command) -> Option<Effect> {
    let words: Vec<&str> = command.effective().iter().map(Word::text).collect();
    let is_replaced =
        command.words.first().is_some_and(|word| word.text() == "exec") && command.program() != Some("exec");
    let is_end = is_replaced || words.first() == Some(&"exit");
    if !is_end {
        return None;
    }
    let mut is_conditional = false;
    for (surrounding, _) in script.surroundings(command) {
        match surrounding {
            Surrounding::AndRight | Surrounding::OrRight | Surrounding::Branch => is_conditional = true,
            Surrounding::Pipeline { .. }
            | Surrounding::AndLeft
            | Surrounding::OrLeft
            | Surrounding::Negated
            | Surrounding::Background
            | Surrounding::IfCondition
            | Surrounding::LoopCondition
            | Surrounding::LoopBody
            | Surrounding::Function(_)
            | Surrounding::Subshell
            | Surrounding::Substitution
            | Surrounding::Interpreted => return None,
        }
    }
    match (is_conditional, words.as_slice()) {
        (false, _) => Some(Effect::Never),
        (true, ["exit"] | ["exit", "0"]) => Some(Effect::Sometimes),
        (true, _) => None,
    }
}

/// Names that a script gives to other programs.
#[derive(Debug, Default)]
pub(super) struct Shadows {
    /// Programs by their names, and variables with their sign, with the places that make others of them.
    names: BTreeMap<String, Span>,
    /// Directories of the repository in which programs are looked for first.
    pub(super) directories: Vec<Directory>,
    variables: Vec<Variable>,
}

/// A directory of the repository in which a script looks for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) path: String,
    pub(super) span: Span,
    /// True if it holds for the steps behind the script too.
    pub(super) persists: bool,
}

impl Shadows {
    /// Takes over what a command says of the names behind it.
    pub(super) fn note(&mut self, command: &Command, directory: &str) {
        for assignment in &command.assignments {
            let value = assignment.value.text();
            if matches!(command.program(), None | Some("export")) {
                let (name, value) = (assignment.name.clone(), value.to_owned());
                self.variables.push(Variable { name, value });
            }
            if assignment.name == "PATH" {
                self.note_path(value, assignment.span, directory, false);
            } else if is_idle(value.split_whitespace().next().unwrap_or_default()) {
                self.names.insert(format!("${}", assignment.name), assignment.span);
            }
        }
        let words: Vec<&str> = command.effective().iter().map(Word::text).collect();
        match words.as_slice() {
            ["alias", definitions @ ..] => {
                for (name, value) in definitions.iter().filter_map(|text| text.split_once('=')) {
                    if !value.split_whitespace().any(|word| word == name) {
                        self.names.insert(name.to_owned(), command.span);
                    }
                }
            }
            ["hash", "-p", _, name] => drop(self.names.insert((*name).to_owned(), command.span)),
            ["cp" | "ln" | "mv" | "install", operands @ ..] => {
                let operands: Vec<&&str> = operands.iter().filter(|word| !word.starts_with('-')).collect();
                if let [source, target] = operands.as_slice()
                    && is_idle(source)
                {
                    self.names.insert(base(target).to_owned(), command.span);
                }
            }
            ["echo" | "printf" | "cat" | "tee", arguments @ ..] => {
                for redirection in &command.redirections {
                    let target = redirection.target.text();
                    let value = arguments.last().and_then(|word| word.strip_prefix("PATH="));
                    if let Some(value) = value.filter(|_| target.contains("GITHUB_ENV")) {
                        self.note_path(value, command.span, directory, true);
                    } else if target.trim_matches(['{', '}', '$', '"']).ends_with("GITHUB_PATH") {
                        let path = arguments.last().copied().unwrap_or_default();
                        self.note_path(path, command.span, directory, true);
                    } else if target.contains("bin/") {
                        self.names.insert(base(target).to_owned(), command.span);
                    }
                }
            }
            _ => {}
        }
    }

    /// Keeps the directories of the repository that stand before all others.
    fn note_path(&mut self, value: &str, span: Span, directory: &str, persists: bool) {
        for entry in value.split(':').take_while(|entry| !matches!(*entry, "$PATH" | "${PATH}")) {
            let in_root = ROOTS.iter().find_map(|root| entry.strip_prefix(root));
            let is_elsewhere = entry.starts_with(['/', '~', '$', '`']);
            let path = match in_root {
                Some(rest) => joined("", rest),
                None if is_elsewhere || entry.is_empty() => continue,
                None => joined(directory, entry),
            };
            self.directories.push(Directory { path, span, persists });
        }
    }

    /// Returns the variables that the script has set.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|own| (own.name.as_str(), own.value.as_str()))
    }

    /// Returns the place that makes another program of what a command calls.
    pub(super) fn mark(&self, command: &Command) -> Option<Mark> {
        let name = command.effective().first()?.text().replace(['{', '}'], "");
        self.names.get(&name).map(|span| Mark { effect: Effect::Never, span: *span })
    }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns whether a program does nothing with what it is given.
pub(super) fn is_idle(program: &str) -> bool {
    IDLE.contains(&base(program))
}

/// Returns whether a command always succeeds or always fails, where it is written out.
pub(super) fn constant(text: &str) -> Option<bool> {
    let text = text.trim().trim_end_matches(';').trim();
    if let Some(rest) = text.strip_prefix("! ") {
        return constant(rest).map(|holds| !holds);
    }
    if let Some(inner) = text.strip_prefix("((").and_then(|rest| rest.strip_suffix("))")) {
        return inner.trim().parse::<i64>().ok().map(|number| number != 0);
    }
    for (open, close) in [("{ ", "}"), ("(", ")")] {
        if let Some(inner) = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)) {
            return constant(inner);
        }
    }
    if text.contains(['\n', ';', '|', '&']) {
        return None;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let words = match words.as_slice() {
        ["builtin" | "command" | "env" | "exec", rest @ ..] => rest,
        words => words,
    };
    let is_plain = !text.contains(['$', '`', '*', '?']);
    Some(match words {
        [first, ..] if matches!(base(first), "true" | ":" | "echo" | "printf") => true,
        [first, ..] if base(first) == "false" => false,
        ["[" | "[[", inner @ .., "]" | "]]"] | ["test", inner @ ..] if is_plain => return comparison(inner),
        _ => return None,
    })
}

/// Returns the result of a test without expansions.
fn comparison(words: &[&str]) -> Option<bool> {
    let is_set = |word: &str| !word.trim_matches(['"', '\'']).is_empty();
    if let [left, operator, right] = words {
        let numbers = left.parse::<i64>().ok().zip(right.parse::<i64>().ok());
        return match (*operator, numbers) {
            ("=" | "==" | "-eq", _) => Some(left == right),
            ("!=" | "-ne", _) => Some(left != right),
            ("-gt", Some((left, right))) => Some(left > right),
            ("-ge", Some((left, right))) => Some(left >= right),
            ("-lt", Some((left, right))) => Some(left < right),
            ("-le", Some((left, right))) => Some(left <= right),
            _ => None,
        };
    }
    match words {
        [word] | ["-n", word] => Some(is_set(word)),
        ["-z", word] => Some(!is_set(word)),
        _ => None,
    }
}
