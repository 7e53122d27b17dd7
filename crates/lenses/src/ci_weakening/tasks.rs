//! Commands that tasks of Rake, Thor, nox and Invoke hand to a shell: a check that looks at less than before, or whose
//! failure nobody looks at any more.

use std::collections::BTreeMap;

use qa_contracts::v1::{ChangedFile, Side};
use qa_reading::syntax::Span;
use serde::{Deserialize, Serialize};

use super::OWN;
use super::names::names_of_checks;
use super::writers::only_writes;
use super::{NARROWED_TASK, SOFTENED};
use crate::changes::Change;
use crate::contract::{Draft, Fact, Lookups};
use crate::pattern::Pattern;
use crate::selection::Selection;
use qa_core::packet::Packet;

/// A task, with its name.
static RUBY_TASK: Pattern =
    Pattern::new(r#"^\s*(?:task[\s(]+["':]?(\w+)|def\s+(\w+)|namespace[\s(]+["':]?(\w+))"#);
static PYTHON_TASK: Pattern = Pattern::new(r"^\s*(?:async\s+)?def\s+(\w+)");
/// A command that a task of Ruby runs: the function, then the command.
static RUBY_RUN: Pattern =
    Pattern::new(r#"(?:^|[\s(!])(?:Kernel\.)?(exec|run|sh|system)[\s(]+(?:"([^"]+)"|'([^']+)')([^\n]*)"#);
/// A command that a task of Python runs, as one text or as words.
static PYTHON_RUN: Pattern = Pattern::new(
    r#"\b(?:c|context|ctx|s|sess|session)\.(run)\((?:\s|#[^\n]*\n)*((?:f?["'][^"'\n]*["'](?:\s|#[^\n]*\n|,)*)+)"#,
);
static WORD: Pattern = Pattern::new(r#"["']([^"'\n]*)["']"#);
/// Word in the place of those that code puts together.
pub(super) const COMPUTED: &str = "$@";
/// Words around a call of `system` that look at its result.
static LOOKS: Pattern =
    Pattern::new(r"\b(?:abort|and|exception|exit|fail|if|or|raise|return|unless)\b|[!&|=?]");
/// Words of a call whose failure is no failure.
static WARNS: Pattern = Pattern::new(r"\bwarn\s*=\s*True|\bsuccess_codes\s*=\s*\[[^\]]*[1-9]|\brescue\b");

/// Number of characters of the arguments of a call that are read.
const LONGEST_ARGUMENTS: usize = 1_000;

/// A changed file with tasks.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TaskFile {
    tasks: Change,
}

/// A command of a task.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) words: Vec<String>,
    pub(super) is_ignored: bool,
    pub(super) span: Span,
    /// Arguments of the call that are no words of the command.
    pub(super) rest: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskLanguage {
    Python,
    Ruby,
}

fn language_of(path: &str) -> Option<TaskLanguage> {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    match name.as_str() {
        "rakefile" | "rakefile.rb" | "thorfile" => Some(TaskLanguage::Ruby),
        "noxfile.py" | "tasks.py" => Some(TaskLanguage::Python),
        _ if name.ends_with(".rake") || name.ends_with(".thor") => Some(TaskLanguage::Ruby),
        _ => None,
    }
}

/// Returns whether a file has tasks, at the base and at head.
pub(super) fn has_tasks(file: &ChangedFile) -> bool {
    language_of(&file.path.to_text()).is_some()
}

/// Returns the fact about a changed file with tasks.
pub(super) fn fact(packet: &Packet<'_>) -> Fact {
    Fact::new(&TaskFile { tasks: Change::new(packet, OWN) }, None)
}

/// Returns the checks of tasks that are weaker at head.
pub(super) fn drafts(facts: &[Fact], lookups: &dyn Lookups) -> Vec<Draft> {
    let files = facts.iter().filter_map(Fact::read::<TaskFile>);
    files.flat_map(|file| weakened(&file.tasks, lookups).unwrap_or_default()).collect()
}

fn weakened(change: &Change, lookups: &dyn Lookups) -> Option<Vec<Draft>> {
    let (old_path, path) = (change.path(Side::Base)?, change.path(Side::Head)?);
    let (old_language, language) = (language_of(old_path)?, language_of(path)?);
    let old = task_commands(old_language, &lookups.text(Side::Base, old_path)?);
    let mut new = task_commands(language, &lookups.text(Side::Head, path)?);
    let mut drafts = Vec::new();
    for (task, old) in &old {
        let Some(new) = new.get_mut(task) else { continue };
        for old in old {
            drafts.extend(weaker(old, new, change, lookups));
        }
    }
    Some(drafts)
}

/// Returns how a check of a task is weaker, where the same task still runs its tool; the command at head is taken.
fn weaker(old: &Run, new: &mut Vec<Run>, change: &Change, lookups: &dyn Lookups) -> Option<Draft> {
    let same = new.iter().position(|new| new.words == old.words);
    let selection = selected(old);
    let at = same.or_else(|| new.iter().position(|new| is_of_tool(new, &selection)))?;
    let run = new.remove(at);
    let command = old.words.join(" ");
    let is_check = !names_of_checks(&command).is_empty() && !only_writes(&command);
    if !is_check || old.is_ignored {
        return None;
    }
    if run.is_ignored {
        let summary = "failure of a task's check is now ignored";
        return change.on_line(SOFTENED, Side::Head, Some(run.span), summary, lookups);
    }
    let words = selection.narrowed_by(&selected(&run));
    // Other commands of the task may look at the rest.
    let is_split = new.iter().any(|new| is_of_tool(new, &selection));
    if words.is_empty() || is_split {
        return None;
    }
    let draft = change.on_line(SOFTENED, Side::Head, Some(run.span), NARROWED_TASK, lookups)?;
    Some(draft.with("words", words))
}

/// Returns whether a command is one of the tool of another.
fn is_of_tool(run: &Run, other: &Selection) -> bool {
    !other.tool().is_empty() && selected(run).tool() == other.tool()
}

fn selected(run: &Run) -> Selection {
    Selection::of_command(&run.words.iter().map(String::as_str).collect::<Vec<&str>>())
}

/// Returns the commands of each task of a text.
pub(super) fn task_commands(language: TaskLanguage, text: &str) -> BTreeMap<String, Vec<Run>> {
    let mut found: BTreeMap<String, Vec<Run>> = BTreeMap::new();
    let (task, run) = match language {
        TaskLanguage::Python => (&PYTHON_TASK, &PYTHON_RUN),
        TaskLanguage::Ruby => (&RUBY_TASK, &RUBY_RUN),
    };
    let (mut name, mut at) = (String::new(), 0);
    let calls = run.captures_all(text);
    let mut calls = calls.iter().peekable();
    for line in text.split_inclusive('\n') {
        at += line.len();
        if let Some(own) = task.captures(line).as_ref().and_then(|found| found.first_group()) {
            name = own.as_str().to_owned();
        }
        while let Some(call) = calls.next_if(|call| call.get(1).is_some_and(|call| call.start() < at)) {
            let before = &text[at - line.len()..call.get(1).map_or(at, |call| call.start())];
            let is_comment = before.trim_start().starts_with('#');
            let own = read_run(language, call, before, text).filter(|_| !is_comment);
            found.entry(name.clone()).or_default().extend(own);
        }
    }
    found
}

fn read_run(
    language: TaskLanguage,
    call: &crate::pattern::Groups<'_>,
    before: &str,
    text: &str,
) -> Option<Run> {
    let function = call.get(1)?;
    let (command, behind) = match language {
        TaskLanguage::Ruby => {
            let rest = call.get(4)?;
            (call.get(2).or(call.get(3))?.as_str().to_owned(), Span { start: rest.start(), end: rest.end() })
        }
        TaskLanguage::Python => {
            let mut words: Vec<String> =
                WORD.captures_all(&call[2]).iter().map(|word| word[1].to_owned()).collect();
            let behind = arguments_behind(text, call.get(2)?.end());
            // What people add on the command line is nothing where CI runs the task.
            let mut rest = behind.of(text).split(',').map(str::trim);
            let is_computed = rest.any(|word| word.starts_with('*') && !word.ends_with(".posargs"));
            words.extend(is_computed.then(|| COMPUTED.to_owned()));
            (words.join(" "), behind)
        }
    };
    let rest = behind.of(text).split('#').next().unwrap_or_default();
    let is_last_of_shell = function.as_str() == "system" && !LOOKS.is_match(rest) && !LOOKS.is_match(before);
    // A result that the lines behind it look at is `$?`.
    let looks_later =
        text[behind.end..].lines().take(3).any(|line| line.contains("$?") || line.contains("$CHILD_STATUS"));
    Some(Run {
        words: command.split_whitespace().map(str::to_owned).collect(),
        is_ignored: is_last_of_shell && !looks_later || WARNS.is_match(rest),
        span: Span { start: function.start(), end: behind.start },
        rest: behind,
    })
}

/// Returns the arguments of a call from a place on.
fn arguments_behind(text: &str, start: usize) -> Span {
    let mut open = 1_usize;
    let end = text[start..].char_indices().take(LONGEST_ARGUMENTS).find(|(_, sign)| {
        match sign {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        open == 0
    });
    // One that is never closed is no longer than any other.
    let end = end.or_else(|| text[start..].char_indices().nth(LONGEST_ARGUMENTS));
    Span { start, end: end.map_or(text.len(), |(at, _)| start + at) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_tasks_are_read_with_what_looks_at_their_results() {
        for pattern in [&RUBY_TASK, &PYTHON_TASK, &RUBY_RUN, &PYTHON_RUN, &WORD, &LOOKS, &WARNS] {
            pattern.check();
        }
        for (language, text, expected) in [
            (TaskLanguage::Ruby, "task :spec do\n  sh \"rspec spec\"\nend\n", "spec: rspec spec"),
            (TaskLanguage::Ruby, "def spec\n  exec \"rspec spec\"\nend\n", "spec: rspec spec"),
            (TaskLanguage::Ruby, "def spec\n  system \"rspec spec\"\nend\n", "spec: rspec spec (ignored)"),
            (TaskLanguage::Ruby, "def spec\n  system(\"rspec\") || abort\nend\n", "spec: rspec"),
            (TaskLanguage::Ruby, "def spec\n  exit 1 unless system \"rspec\"\nend\n", "spec: rspec"),
            (TaskLanguage::Ruby, "def spec\n  system(\"rspec\", exception: true)\nend\n", "spec: rspec"),
            (TaskLanguage::Ruby, "def spec\n  # sh \"rspec\"\nend\n", ""),
            (
                TaskLanguage::Python,
                "def tests(session):\n    session.run(\"pytest\", \"tests\")\n",
                "tests: pytest tests",
            ),
            (
                TaskLanguage::Python,
                "def tests(session):\n    session.run(\"pytest\", *ARGS, *session.posargs)\n",
                "tests: pytest $@",
            ),
            (
                TaskLanguage::Python,
                "@task\ndef test(c):\n    c.run(\"pytest tests\", warn=True)\n",
                "test: pytest tests (ignored)",
            ),
        ] {
            let found = task_commands(language, text);
            let found = found.iter().flat_map(|(task, runs)| runs.iter().map(move |run| (task, run)));
            let found: Vec<String> = found
                .map(|(task, run)| {
                    let ignored = if run.is_ignored { " (ignored)" } else { "" };
                    format!("{task}: {}{ignored}", run.words.join(" "))
                })
                .collect();
            assert_eq!(found.join("\n"), expected, "{text}");
        }
    }
}
