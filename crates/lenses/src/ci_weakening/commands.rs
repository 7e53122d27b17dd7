//! Reads a script as commands: what each checks, what it calls, and what makes its failure count for nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::command_words::listed_before;
use crate::selection::Selection;
use crate::successors;
use qa_reading::shell::{Command, Interpreter, Loss, Options, Script, Surrounding, Word};
use qa_reading::syntax::Span;

use super::calls::{Call, calls, chosen_by_variable, directory_of, handed_on, joined};
use super::differences::{has_failure, is_about_presence};
use super::environment::Environment;
use super::foreign::{foreign, unread};
use super::guards::{self, Directory, Shadows};
use super::later::{Later, NO_CI, Setting, effect_of_limit, later};
use super::names::{is_harmless, names_of_checks};
use super::options::softens;
use super::shards::with_known_shards;
use super::writers::only_writes;

/// A command of a job, of a target, of a script or of a hook.
#[derive(Debug, Clone, Default)]
pub(super) struct Step {
    /// Words of the command, parted by blanks, without what softens it.
    pub(super) text: String,
    /// Words that name what it checks; none for one that checks nothing.
    pub(super) checks: BTreeSet<String>,
    pub(super) calls: Vec<Call>,
    /// Words that it hands on to the sessions or commands that it calls by name.
    pub(super) more: Vec<String>,
    pub(super) marks: Vec<Mark>,
    pub(super) span: Span,
    /// Places of settings that decide what it checks: its matrix, its working directory.
    pub(super) settings: Vec<Span>,
    pub(super) does_nothing: bool,
    /// Parts of the repository that it looks at, below its directory.
    pub(super) selection: Selection,
    pub(super) directory: String,
    /// Directories of the repository in which its program is looked for first.
    pub(super) first_on_path: Vec<Directory>,
    /// True for a command of a text that a script writes to a file or a pipe.
    pub(super) is_written: bool,
    /// Effects on the commands behind it.
    pub(super) later: Vec<Later>,
    /// Effect of the commands before it in the same unit.
    pub(super) earlier: Vec<Later>,
}

impl Step {
    /// Returns whether a variable of the environment that makes checks look at less does so to this command, and its own
    /// options do not show it.
    pub(super) fn is_lessened_by(&self, variable: &str) -> bool {
        const TESTS: &[&str] = &["e2e", "jest", "playwright", "test", "tests", "vitest"];
        let runs_tests = TESTS.iter().any(|name| self.checks.contains(*name));
        let is_check = !(self.checks.is_empty() && self.calls.is_empty());
        is_check
            && (variable != NO_CI || runs_tests)
            && !(self.calls.is_empty() && self.selection.reads(variable))
    }

    /// Places in its script, to be moved to those in the file.
    pub(super) fn spans(&mut self) -> impl Iterator<Item = &mut Span> {
        let directories = self.first_on_path.iter_mut().map(|directory| &mut directory.span);
        let later = self.later.iter_mut().map(|later| &mut later.span);
        let marks = self.marks.iter_mut().map(|mark| &mut mark.span);
        marks.chain(directories).chain(later).chain([&mut self.span])
    }
}

/// A place that softens a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark {
    pub(super) effect: Effect,
    pub(super) span: Span,
}

/// Effect of a mark on a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effect {
    /// It puts right a part of what it finds, and fails for the rest.
    Repaired,
    /// It runs where a condition holds.
    Sometimes,
    /// A part of it is left out, as `-DskipTests` does for a build.
    Partial,
    /// A program of the repository may answer for it.
    Answered,
    /// Its failure passes for a success in a part of the runs.
    Excused,
    /// Its failure is what passes, which a new check may be for.
    Inverted,
    /// A step before it puts right, or takes away, what it looks for.
    Forestalled,
    /// No step before it makes what it compares.
    Baseless,
    /// Its failure passes for a success.
    Ignored,
    /// It does not run.
    Never,
}

/// Context of a script.
#[derive(Debug, Clone, Default)]
pub(super) struct Surroundings {
    /// Settings of the shell; none for another language.
    pub(super) shell: Option<Options>,
    pub(super) directory: String,
    /// Values of the matrix by name.
    pub(super) matrix: BTreeMap<String, Vec<String>>,
    pub(super) matrix_span: Span,
    /// Places that another program replaces before the shell reads them.
    pub(super) expansions: Vec<Span>,
    /// Variables of the environment.
    pub(super) variables: Vec<Variable>,
    /// Spelling of these variables.
    pub(super) environment: Environment,
}

/// A variable with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) value: String,
}

/// Reads a script. Places are those of the script.
pub(super) fn steps(text: &str, around: &Surroundings) -> Vec<Step> {
    let Some(options) = around.shell else { return foreign(text, around) };
    let script = Script::parse_template(text, options, &around.expansions);
    let directory = around.directory.clone();
    let functions = functions(&script);
    let mut reader = Reader {
        around,
        text,
        script: &script,
        directory,
        left: Vec::new(),
        ends: Vec::new(),
        settings: Vec::new(),
        outputs: BTreeMap::new(),
        shadows: Shadows::default(),
        functions,
    };
    let mut steps = reader.steps();
    for broken in &script.broken {
        steps.extend(unread(text, *broken, &script, around));
    }
    steps
}

struct Reader<'a> {
    around: &'a Surroundings,
    text: &'a str,
    script: &'a Script,
    directory: String,
    /// Directories to come back to behind subshells.
    left: Vec<Left>,
    /// Places behind which nothing runs, or not always.
    ends: Vec<Mark>,
    /// Variables set so far by which checks look at less.
    settings: Vec<Setting>,
    /// Outputs of commands by the variables that have them.
    outputs: BTreeMap<&'a str, &'a str>,
    shadows: Shadows,
    functions: BTreeMap<&'a str, Function>,
}

/// A directory that a subshell left.
struct Left {
    directory: String,
    /// End of the subshell.
    until: usize,
}

/// A function of a script.
struct Function {
    span: Span,
    /// Set where none of its commands could fail a check.
    is_idle: bool,
}

/// Returns the functions of a script by name.
fn functions(script: &Script) -> BTreeMap<&str, Function> {
    let mut functions: BTreeMap<&str, Function> = BTreeMap::new();
    for command in &script.commands {
        for (surrounding, span) in script.surroundings(command) {
            if let Surrounding::Function(name) = surrounding {
                let function = functions.entry(name).or_insert(Function { span, is_idle: true });
                function.is_idle &= is_idle(command);
            }
        }
    }
    functions
}

impl Reader<'_> {
    fn steps(&mut self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        let script = self.script;
        let interpreters: BTreeSet<usize> =
            script.commands.iter().filter_map(|inner| inner.interpreted_by).collect();
        for (position, command) in script.commands.iter().enumerate() {
            let is_interpreter = interpreters.contains(&position);
            let end = guards::end(script, command);
            self.enter_directory(command);
            self.shadows.note(command, &self.directory);
            let given = command.assignments.iter().map(|own| (own.name.as_str(), own.value.text()));
            self.outputs.extend(given.filter(|(_, value)| value.starts_with("$(")));
            if matches!(command.program(), None | Some("export")) {
                self.settings.extend(settings_of(command));
            }
            if !command.effective().is_empty() && (!is_interpreter || command.program() == Some("eval")) {
                let before = steps.last_mut().filter(|step| !step.checks.is_empty() && self.ends.is_empty());
                let words: Vec<&str> = command.effective().iter().map(Word::text).collect();
                if let (Some(before), Some(Effect::Never), ["exit", "0"]) = (before, end, words.as_slice()) {
                    before.marks.push(Mark { effect: Effect::Ignored, span: command.span });
                }
                steps.extend(self.variants(command));
            }
            self.ends.extend(end.map(|effect| Mark { effect, span: command.span }));
        }
        steps
    }

    /// Follows `cd`, up to the end of the subshell that it stands in.
    fn enter_directory(&mut self, command: &Command) {
        while let Some(left) = self.left.pop_if(|left| left.until <= command.span.start) {
            self.directory = left.directory;
        }
        let words: Vec<&str> = command.effective().iter().map(Word::text).collect();
        let ["cd" | "pushd", directory, ..] = words.as_slice() else { return };
        let subshell = self
            .script
            .surroundings(command)
            .find_map(|(surrounding, span)| matches!(surrounding, Surrounding::Subshell).then_some(span));
        if let Some(subshell) = subshell {
            self.left.push(Left { directory: self.directory.clone(), until: subshell.end });
        }
        let path = directory.trim_start_matches(['$', '"']);
        let is_root = path.starts_with("GITHUB_WORKSPACE") || path.starts_with("CI_PROJECT_DIR");
        self.directory = if is_root { String::new() } else { joined(&self.directory, directory) };
    }

    /// Returns a command once for each of the values of the matrix that make it check something else.
    fn variants(&self, command: &Command) -> Vec<Step> {
        let mut words: Vec<Spelled> = command.effective().iter().map(|word| self.spelled(word)).collect();
        let chosen = chosen_by_variable(command, &self.around.variables);
        words.extend(chosen.into_iter().map(|text| Spelled { text, span: command.span }));
        if command.words.first().is_some_and(|word| word.text() == "xargs") {
            let listed = self.text.get(..command.span.start).and_then(listed_before);
            words.extend(listed.map(|text| Spelled { text, span: command.span }));
        }
        if words.first().is_some_and(|first| matches!(first.text.as_str(), "[" | "[[" | "test")) {
            for (name, output) in &self.outputs {
                for word in &mut words {
                    word.text = word.text.replace(&format!("${{{name}}}"), output);
                    word.text = word.text.replace(&format!("${name}"), output);
                }
            }
        }
        let mut step = step_of(&words, &self.directory, &self.around.matrix);
        let (mut first, rest) = match step.split_first_mut() {
            Some((first, rest)) => (std::mem::take(first), rest.to_vec()),
            None => return Vec::new(),
        };
        first.span = command.span;
        let marks = self.marks(command, &first);
        first.later = later(command, &self.directory);
        let mut all = vec![first];
        all.extend(rest);
        for step in &mut all {
            step.span = command.span;
            step.first_on_path = self.shadows.directories.clone();
            let own = variables_of(command).map(|(name, value, _)| (name, value));
            let around = self.around.variables.iter().map(|own| (own.name.as_str(), own.value.as_str()));
            for (name, value) in around.chain(self.shadows.variables()).chain(own) {
                step.selection.add_variable(name, value);
            }
            step.is_written = command.is_written;
            step.marks.extend(marks.iter().copied());
            let own = settings_of(command);
            let settings = self.settings.iter().chain(&own);
            let settings = settings.filter(|setting| step.is_lessened_by(&setting.name));
            let settings: Vec<Mark> = settings.map(|setting| setting.mark).collect();
            step.marks.extend(settings);
        }
        all
    }

    fn spelled(&self, word: &Word) -> Spelled {
        let text = self.around.environment.spell(word, self.script, self.text);
        Spelled { text, span: word.span }
    }

    /// Returns the place of a function of a name around a command.
    fn function_around(&self, command: &Command, name: &str) -> Option<Span> {
        self.script.surroundings(command).find_map(|(surrounding, span)| {
            let is_named = matches!(surrounding, Surrounding::Function(own) if own == name);
            is_named.then_some(span)
        })
    }

    /// Returns the function of the script that a command calls by the name of a program, where it checks nothing.
    fn idle_function(&self, command: &Command) -> Option<Span> {
        let name = command.program()?;
        let function = self.functions.get(name).filter(|function| function.is_idle)?;
        self.function_around(command, name).is_none().then_some(function.span)
    }

    fn marks(&self, command: &Command, step: &Step) -> Vec<Mark> {
        let mut marks = Vec::new();
        marks.extend(self.ends.iter().copied());
        if command.options.noexec {
            marks.push(Mark { effect: Effect::Never, span: command.span });
        }
        let guard = guards::guard(self.script, self.text, command);
        let guard = guard.filter(|effect| *effect == Effect::Never || !step.checks.is_empty());
        marks.extend(guard.map(|effect| Mark { effect, span: command.span }));
        marks.extend(self.shadows.mark(command));
        let limit = effect_of_limit(command).filter(|_| !step.checks.is_empty());
        marks.extend(limit.map(|effect| Mark { effect, span: command.span }));
        if command.words.first().is_some_and(|word| word.text() == "coproc") {
            marks.push(Mark { effect: Effect::Ignored, span: command.span });
        }
        marks.extend(self.idle_function(command).map(|span| Mark { effect: Effect::Never, span }));
        let Some(lost) = command.lost else { return marks };
        let is_check = !step.checks.is_empty();
        // A test that succeeds where there is an output leads to the failure itself.
        let is_reported = is_check && is_about_presence(&step.text) && has_failure(lost.span.of(self.text));
        if is_reported || !is_check && is_harmless(&step.text) {
            return marks;
        }
        let is_soft = match lost.loss {
            Loss::OrElse | Loss::ErrexitOff | Loss::Trap => true,
            Loss::AndLeft
            | Loss::Background
            | Loss::Condition
            | Loss::Followed
            | Loss::ErrexitIgnored
            | Loss::LoopCondition
            | Loss::Negated
            | Loss::Pipe
            | Loss::Substitution => is_check,
            // Another attempt at the same check is no way around it.
            Loss::Fallback => is_check && !is_another_attempt(&step.checks, lost.span.of(self.text)),
        };
        let effect = if lost.loss == Loss::Negated { Effect::Inverted } else { Effect::Ignored };
        if is_soft {
            marks.push(Mark { effect, span: lost.span });
        }
        marks
    }
}

/// Returns the variables that a command sets by which checks look at less.
fn settings_of(command: &Command) -> Vec<Setting> {
    variables_of(command).filter_map(|(name, value, span)| Setting::new(name, value, span)).collect()
}

/// Returns the variables that a command sets for itself, also by `env NAME=value tool`.
fn variables_of(command: &Command) -> impl Iterator<Item = (&str, &str, Span)> {
    let own = command.assignments.iter().map(|own| (own.name.as_str(), own.value.text(), own.span));
    let before = command.words.len() - command.effective().len();
    let words = command.words.iter().take(before).filter_map(|word| {
        let (name, value) = word.text().split_once('=')?;
        Some((name, value, word.span))
    });
    own.chain(words)
}

/// Returns whether a text checks what a command checks.
pub(super) fn is_another_attempt(checks: &BTreeSet<String>, text: &str) -> bool {
    // What puts right what a check found is no other attempt.
    let mut commands = text.split([';', '&', '|', '(', ')', '{', '}', '\n']);
    if commands.any(|command| only_writes(command.trim())) {
        return false;
    }
    let names = names_of_checks(text);
    checks.iter().any(|word| successors::cover(&names, word))
}

/// Returns whether a command does nothing that could fail a check.
fn is_idle(command: &Command) -> bool {
    let words: Vec<&str> = command.effective().iter().map(Word::text).collect();
    is_harmless(&words.join(" "))
}

/// A word with its place.
#[derive(Debug, Clone)]
pub(super) struct Spelled {
    pub(super) text: String,
    pub(super) span: Span,
}

/// Returns the step of a command, or several where a matrix makes it check several things.
pub(super) fn step_of(
    words: &[Spelled],
    directory: &str,
    matrix: &BTreeMap<String, Vec<String>>,
) -> Vec<Step> {
    let mut own = Vec::new();
    let mut marks = Vec::new();
    for (position, word) in words.iter().enumerate() {
        match softens(words, position) {
            Some(effect) => marks.push(Mark { effect, span: word.span }),
            None => own.push(word.text.as_str()),
        }
    }
    let text = own.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    let does_nothing = matches!(own.as_slice(), ["true" | ":" | "echo" | "printf", ..] | ["exit", "0"]);
    let known = with_known_shards(&own, matrix);
    let selection = Selection::of_command(&known.iter().map(|word| &**word).collect::<Vec<&str>>());
    let mut found: Vec<Step> = Vec::new();
    let variants = spelled_out(&text, matrix);
    let is_one = variants.len() == 1;
    for variant in variants {
        let words: Vec<&str> = variant.split_whitespace().collect();
        let checks = names_of_checks(&variant);
        let calls = calls(&words, directory);
        if found.iter().any(|step| step.checks == checks && step.calls == calls) {
            continue;
        }
        let name = match is_one {
            true => text.clone(),
            false => format!("{text} {}", checks.iter().cloned().collect::<Vec<_>>().join(" ")),
        };
        let marks = marks.clone();
        let selection = selection.clone();
        let directory = directory_of(&words, directory);
        found.push(Step {
            text: name,
            checks,
            calls,
            more: handed_on(&words),
            marks,
            does_nothing,
            selection,
            directory,
            ..Step::default()
        });
    }
    found
}

/// Most texts that a matrix makes of one command.
pub(super) const MAX_VARIANTS: usize = 64;

/// Replaces what a matrix replaces.
pub(super) fn spelled_out(text: &str, matrix: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut texts = vec![text.to_owned()];
    for (name, values) in matrix {
        let spellings = [format!("${{{{ matrix.{name} }}}}"), format!("${{{{matrix.{name}}}}}")];
        let Some(spelling) = spellings.iter().find(|spelling| text.contains(spelling.as_str())) else {
            continue;
        };
        let with_values = texts
            .iter()
            .flat_map(|text| values.iter().map(move |value| text.replace(spelling.as_str(), value)));
        texts = with_values.take(MAX_VARIANTS).collect();
    }
    texts
}

/// Returns the settings of the shell that a workflow or a shebang names; none for another language.
pub(super) fn shell_of(interpreter: Interpreter) -> Option<Options> {
    match interpreter {
        Interpreter::Shell(options) => Some(options),
        Interpreter::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strict() -> Surroundings {
        let shell = Some(Options { errexit: true, ..Options::default() });
        Surroundings { shell, ..Surroundings::default() }
    }

    #[test]
    fn a_failure_that_is_kept_is_no_mark() {
        for (text, expected) in [
            ("cargo test || true", "true"),
            ("cargo test || {\n  true\n}", "{\n  true\n}"),
            ("set +e\ncargo test\necho done", "set +e"),
            ("set +e\ncargo test\nstatus=$?\necho done\nexit $status", ""),
            ("set +e\ncargo test; code=$?\nif [ $code -ne 0 ]; then exit 1; fi", ""),
            ("set +e\ncargo test\nr=$?\nif (( r != 0 )); then\n  echo failed\n  exit 1\nfi", ""),
            ("cargo test || rc=$?\necho done\nexit ${rc:-0}", ""),
            ("cargo test || failed=1\necho done\nexit $failed", ""),
            ("set +e\ncargo test\nstatus=$?\necho $status", "set +e"),
            ("set +e\ncargo test\nstatus=$?\nstatus=0\nexit $status", "set +e"),
            ("set +e\ncargo test\nr=$?\nif [ $r -ne 0 ]; then echo bad; fi\nexit 0", "set +e"),
            ("cargo test || rc=$?\necho $rc", "rc=$?"),
            ("cargo test || rc=0\nexit $rc", "rc=0"),
            ("cargo test --no-verify-access", ""),
            ("cargo test || cargo test", ""),
            ("cargo test | tee log", "tee log"),
            ("set -o pipefail\ncargo test | tee log", ""),
            ("cargo test | tee log\nexit ${PIPESTATUS[0]}", ""),
            ("cargo test | tee log\necho ${PIPESTATUS[0]}", "tee log"),
            ("cargo test | tee log\nrc=${PIPESTATUS[0]}\nexit $rc", ""),
            ("! cargo test", "!"),
            ("until cargo test; do sleep 1; done", ""),
            ("until cargo test; do break; done", "until cargo test; do break; done"),
            ("[ 1 = 1 ] || cargo test", "cargo test"),
            ("[ 1 = 2 ] || cargo test", ""),
            ("if [ a = b ]; then cargo test; fi", "cargo test"),
            ("cargo() { :; }\ncargo test", "cargo() { :; }"),
            ("cargo() { command cargo \"$@\"; }\ncargo test", ""),
            ("cargo test\nif [ $? -ne 0 ]; then echo no; fi", ""),
            ("set +e\ncargo test\nif [ $? -ne 0 ]; then echo no; fi", "set +e"),
            ("set +e\ncargo test\nif [ $? -ne 0 ]; then exit 1; fi", ""),
            ("set +e\ncargo test\nprintf $?", "set +e"),
            ("if [ -n \"$(git status -s)\" ]; then exit 1; fi", ""),
            (
                "if [ -n \"$(git status -s)\" ]; then echo no; fi",
                "if [ -n \"$(git status -s)\" ]; then echo no; fi",
            ),
            ("CHANGES=$(git status -s)\nif [ -n \"$CHANGES\" ]; then exit 1; fi", ""),
            ("c=$(git status -s)\nif [ -n \"$c\" ]; then\n  echo \"$c\"\n  exit 1\nfi\n", ""),
            ("CHANGES=$(git status -s)\n[ -z \"$CHANGES\" ] || true", "true"),
            ("black --check . || black .", "black ."),
            ("cargo test\nexit 0", "exit 0"),
            ("grep -q x y || true", ""),
            ("npx vitest --passWithNoTests", "--passWithNoTests"),
            ("gem install rack --version '< 3.2'", ""),
            ("dotnet tool install -g tool --version 1.2.3 && tool", ""),
            ("cargo install cargo-nextest --version v0.9", ""),
            ("helm upgrade app chart --version \"$VERSION\"", ""),
            ("cargo test --version", "--version"),
            ("pytest --version 1.2", "--version"),
            ("./deploy --version", "--version"),
            ("./deploy --version --now", "--version"),
            ("./deploy --version now", "--version"),
        ] {
            let steps = steps(text, &strict());
            let marks = steps.iter().flat_map(|step| &step.marks).map(|mark| mark.span.of(text));
            assert_eq!(marks.collect::<Vec<_>>().join(" "), expected, "{text}");
        }
    }

    #[test]
    fn a_matrix_is_spelled_out_where_it_decides_what_is_checked() {
        let mut around = strict();
        around.matrix.insert("task".to_owned(), vec!["lint".to_owned(), "test".to_owned()]);
        around.matrix.insert("python".to_owned(), vec!["3.8".to_owned(), "3.9".to_owned()]);
        assert_eq!(steps("make ${{ matrix.task }}", &around).len(), 2);
        assert_eq!(steps("pytest -k ${{ matrix.python }}", &around).len(), 1);
    }
}
