//! Verdict of a job that looks at the results of the jobs it needs, for given results.

use std::collections::BTreeMap;

use qa_reading::shell::{Command, Interpreter, Options, Script, Surrounding, Word};
use qa_reading::workflow::{Condition, Expression, Job, Literal, Member, Path, Run, Segment, Step, Value};

use super::aggregates::ALLS_GREEN;
use super::conditions::Known;
use super::github::is_on;
use super::names::is_harmless;
use super::{guards, truth};
use crate::pattern::Pattern;

/// Verdict of a job, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Passes,
    /// A program that is not known gets the results.
    Unclear,
    /// A condition that is not known decides whether it fails.
    Likely,
    Fails,
}

/// Results of the jobs of a workflow, by their ids.
#[derive(Debug)]
pub(super) struct Results<'a> {
    pub(super) by_job: Vec<(&'a str, &'static str)>,
    pub(super) known: &'a Known,
}

/// Place that a condition belongs to, by which GitHub's status functions look at other jobs or at other steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Job,
    Step,
}

/// Signs by which a program of another language fails.
static FAILS: Pattern = Pattern::new(r"\b(?:assert|exit|Exit|process\.exit|raise|setFailed|throw)\b");

/// `$NAME` or `${NAME}`
static VARIABLE: Pattern = Pattern::new(r"\$(?:\{(\w+)\}|(\w+))");

/// `for NAME in WORDS`
static LOOP: Pattern = Pattern::new(r"\bfor (\w+) in ([^;\n$`]+)");

impl Results<'_> {
    /// Returns the verdict of a job.
    pub(super) fn verdict(&self, job: &Job<'_>) -> Verdict {
        if !self.runs(job) || job.continue_on_error.is_some_and(|value| is_on(value, self.known)) {
            return Verdict::Passes;
        }
        let verdicts = job.steps.iter().map(|step| self.verdict_of_step(job, step));
        let called = job.uses.map(|_| Verdict::Unclear);
        verdicts.chain(called).max().unwrap_or(Verdict::Passes)
    }

    /// Returns whether a job runs, as far as that is known.
    pub(super) fn runs(&self, job: &Job<'_>) -> bool {
        let expression = job.condition.and_then(Condition::expression);
        if !expression.as_ref().is_some_and(asks_for_status) {
            let is_unread = job.condition.is_some() && expression.is_none();
            let has_lost = job.needs.iter().filter_map(|need| need.constant()).any(|id| {
                self.by_job.iter().any(|(own, result)| *own == id.as_ref() && *result != "success")
            });
            if has_lost && !is_unread {
                return false;
            }
        }
        expression.is_none_or(|expression| self.truth(&expression, Level::Job) != Some(false))
    }

    /// Returns the verdict of one step of a job that runs.
    pub(super) fn verdict_of_step(&self, job: &Job<'_>, step: &Step<'_>) -> Verdict {
        let condition = step.condition.and_then(Condition::expression);
        let holds = match (&condition, step.condition) {
            (Some(condition), _) => self.truth(condition, Level::Step),
            (None, Some(_)) => None,
            (None, None) => Some(true),
        };
        if holds == Some(false) || step.continue_on_error.is_some_and(|value| is_on(value, self.known)) {
            return Verdict::Passes;
        }
        let own = [&condition, &job.condition.and_then(Condition::expression)];
        let is_conditional = own.into_iter().flatten().any(looks_at_results);
        let env: Vec<&Member<'_>> = job.env.iter().chain(&step.env).collect();
        let has_results = is_conditional || env.iter().any(|member| names_results(member.value));
        let ran = step.run.map(|run| self.verdict_of_script(run, &env, has_results));
        let used = step.uses.map(|uses| self.verdict_of_action(uses, step, has_results));
        let verdict = ran.or(used).unwrap_or(Verdict::Passes);
        if holds.is_none() { verdict.min(Verdict::Likely) } else { verdict }
    }

    fn verdict_of_action(&self, uses: Value<'_>, step: &Step<'_>, has_results: bool) -> Verdict {
        let has_results = has_results || step.with.iter().any(|member| names_results(member.value));
        let name = uses.constant().unwrap_or_default();
        if name.starts_with(ALLS_GREEN) {
            let looks = step.input("jobs").is_some_and(names_results);
            let has_lost = self.by_job.iter().any(|(_, result)| *result != "success");
            return if looks && has_lost { Verdict::Fails } else { Verdict::Passes };
        }
        let script = step.input("script").and_then(|script| script.node().text()).unwrap_or_default();
        match step.input("script") {
            _ if !has_results => Verdict::Passes,
            Some(_) => verdict_of_program(script),
            None => Verdict::Unclear,
        }
    }

    fn verdict_of_script(&self, run: Run<'_>, env: &[&Member<'_>], has_results: bool) -> Verdict {
        let has_results = has_results || names_results(run.value);
        let text = self.text_of(run.value);
        let Interpreter::Shell(options) = run.interpreter else {
            return if has_results { verdict_of_program(&text) } else { Verdict::Passes };
        };
        let mut variables: BTreeMap<String, String> = BTreeMap::new();
        for member in env.iter().filter(|member| names_results(member.value)) {
            variables.insert(member.name.to_owned(), self.text_of(member.value));
        }
        let mut text = with_variables(&text, &variables);
        let assigned = assigned(&text, options);
        text = with_variables(&text, &assigned);
        let looped: BTreeMap<String, String> = LOOP
            .captures_all(&text)
            .into_iter()
            .filter_map(|groups| {
                let words: Vec<&str> = groups.get(2)?.as_str().split_whitespace().collect();
                let lost = words.iter().find(|word| matches!(**word, "failure" | "skipped"));
                Some((groups.get(1)?.as_str().to_owned(), (*lost.or(words.first())?).to_owned()))
            })
            .collect();
        verdict_of_commands(&with_variables(&text, &looped), options, has_results)
    }

    /// Returns a text with the values of its expressions, and with a variable for those that are not known.
    fn text_of(&self, value: Value<'_>) -> String {
        let template = value.template().unwrap_or_default();
        let mut text = String::new();
        let mut end = 0;
        for embedded in &template.expressions {
            text.push_str(&template.text()[end..embedded.span.start]);
            let known =
                embedded.expression.as_ref().map(|expression| self.with_values(expression, Level::Step));
            match known.and_then(|expression| expression.constant()) {
                Some(value) => text.push_str(&value.to_text()),
                None => text.push_str("$UNKNOWN"),
            }
            end = embedded.span.end;
        }
        text.push_str(&template.text()[end..]);
        text
    }

    fn truth(&self, expression: &Expression, level: Level) -> Option<bool> {
        self.known.truth_for_proposals(&self.with_values(expression, level))
    }

    /// Returns an expression with the results of jobs in the place of the contexts and functions that tell them.
    fn with_values(&self, expression: &Expression, level: Level) -> Expression {
        match expression {
            Expression::Path(path) => match self.result_of(path) {
                Some(result) => text(result.to_owned()),
                None => expression.clone(),
            },
            Expression::Call { function, arguments } => self.call(function, arguments, level),
            Expression::Not(inner) => Expression::Not(Box::new(self.with_values(inner, level))),
            Expression::Binary { operator, left, right } => {
                let [left, right] = [left, right].map(|side| Box::new(self.with_values(side, level)));
                Expression::Binary { operator: *operator, left, right }
            }
            Expression::Literal(_) | Expression::Part { .. } => expression.clone(),
        }
    }

    fn call(&self, function: &str, arguments: &[Expression], level: Level) -> Expression {
        let has_lost = level == Level::Job && self.by_job.iter().any(|(_, result)| *result == "failure");
        let results: Vec<&str> = self.by_job.iter().map(|(_, result)| *result).collect();
        match (function, arguments) {
            ("always", _) => flag(true),
            ("cancelled", _) => flag(false),
            ("failure", _) => flag(has_lost),
            ("success", _) => flag(!has_lost),
            ("contains", [Expression::Path(path), Expression::Literal(Literal::Text(part))])
                if is_all_results(path) =>
            {
                flag(results.iter().any(|result| result.eq_ignore_ascii_case(part)))
            }
            ("join", [Expression::Path(path), rest @ ..]) if is_all_results(path) => {
                let separator = rest.first().and_then(Expression::constant);
                let separator = separator.map_or_else(|| ",".to_owned(), |own| own.to_text().into_owned());
                text(results.join(&separator))
            }
            ("tojson", [Expression::Path(path)]) if is_all_results(path) => {
                let lines: Vec<String> = results.iter().map(|result| format!("  \"{result}\"")).collect();
                text(format!("[\n{}\n]", lines.join(",\n")))
            }
            ("tojson", [Expression::Path(path)]) if path.context == "needs" && path.segments.is_empty() => {
                let lines = self.by_job.iter().map(|(id, result)| {
                    format!("  \"{id}\": {{\n    \"result\": \"{result}\",\n    \"outputs\": {{}}\n  }}")
                });
                text(format!("{{\n{}\n}}", lines.collect::<Vec<_>>().join(",\n")))
            }
            _ => {
                let arguments = arguments.iter().map(|argument| self.with_values(argument, level));
                Expression::Call { function: function.to_owned(), arguments: arguments.collect() }
            }
        }
    }

    fn result_of(&self, path: &Path) -> Option<&'static str> {
        if path.context != "needs" || path.segments.len() != 2 || path.name(1) != Some("result") {
            return None;
        }
        let id = path.name(0)?;
        self.by_job.iter().find(|(own, _)| own.eq_ignore_ascii_case(id)).map(|(_, result)| *result)
    }
}

fn flag(value: bool) -> Expression {
    Expression::Literal(Literal::Flag(value))
}

fn text(value: String) -> Expression {
    Expression::Literal(Literal::Text(value))
}

/// Returns whether a path is `needs.*.result`.
fn is_all_results(path: &Path) -> bool {
    path.context == "needs" && path.segments.first() == Some(&Segment::Any) && path.name(1) == Some("result")
}

/// Returns whether a path tells results of jobs, and not their outputs.
fn tells_results(path: &Path) -> bool {
    path.context == "needs" && path.name(1).is_none_or(|name| name == "result")
}

/// Returns whether a condition asks for the status of jobs, so that it decides alone whether a job runs.
fn asks_for_status(expression: &Expression) -> bool {
    match expression {
        Expression::Call { function, arguments } => {
            matches!(function.as_str(), "always" | "cancelled" | "failure" | "success")
                || arguments.iter().any(asks_for_status)
        }
        Expression::Not(inner) => asks_for_status(inner),
        Expression::Binary { left, right, .. } => asks_for_status(left) || asks_for_status(right),
        Expression::Part { of, .. } => asks_for_status(of),
        Expression::Literal(_) | Expression::Path(_) => false,
    }
}

fn looks_at_results(expression: &Expression) -> bool {
    expression.paths().into_iter().any(tells_results)
}

/// Returns whether a text has an expression that tells results of jobs.
fn names_results(value: Value<'_>) -> bool {
    let expressions = value.template().unwrap_or_default().expressions;
    let mut parsed = expressions.iter().filter_map(|embedded| embedded.expression.as_ref());
    parsed.any(looks_at_results)
}

/// Returns a script with the values of variables in their places; a value with quotes stays a variable.
fn with_variables(script: &str, variables: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    let mut end = 0;
    for groups in VARIABLE.captures_all(script) {
        let (Some(whole), Some(name)) = (groups.get(0), groups.get(1).or(groups.get(2))) else { continue };
        let value = variables.get(name.as_str()).filter(|value| !value.contains(['"', '\n']));
        text.push_str(&script[end..whole.start()]);
        text.push_str(value.map_or(whole.as_str(), String::as_str));
        end = whole.end();
    }
    text.push_str(&script[end..]);
    text
}

/// Returns the variables that a script sets once, to a text that is written out.
fn assigned(text: &str, options: Options) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for command in &Script::parse(text, options).commands {
        for assignment in &command.assignments {
            let value = assignment.value.text();
            let is_once = text.matches(&format!("{}=", assignment.name)).count() == 1;
            if is_once && command.effective().is_empty() && !value.contains(['$', '`']) {
                found.insert(assignment.name.clone(), value.to_owned());
            }
        }
    }
    found
}

/// Returns the verdict of a program of another language than a shell's, which is written out in the workflow.
fn verdict_of_program(text: &str) -> Verdict {
    static CALLS_OTHERS: Pattern =
        Pattern::new(r"\b(?:Error|exec|import|require|spawn|subprocess|throw)\b|\./");
    match (FAILS.is_match(text), CALLS_OTHERS.is_match(text)) {
        (true, _) => Verdict::Likely,
        (false, true) => Verdict::Unclear,
        (false, false) => Verdict::Passes,
    }
}

/// Returns the verdict of a script of a shell.
fn verdict_of_commands(text: &str, options: Options, has_results: bool) -> Verdict {
    let script = Script::parse(text, options);
    let mut verdict = Verdict::Passes;
    for command in &script.commands {
        let words: Vec<&str> = command.effective().iter().map(Word::text).collect();
        let Some(program) = words.first() else { continue };
        let reached = is_reached(&script, text, command);
        if reached == Some(false) {
            continue;
        }
        let counts = command.lost.is_none();
        let own = match (*program, &words[1..]) {
            ("exit", [] | ["0" | ""]) => Verdict::Passes,
            ("exit", [code]) if code.contains('$') => Verdict::Likely,
            ("exit" | "false", _) => Verdict::Fails,
            ("return", [code, ..]) if *code != "0" => Verdict::Likely,
            _ if !counts => Verdict::Passes,
            ("test" | "[" | "[[", _) => match truth::of_list(command.span.of(text)) {
                Some(true) => Verdict::Passes,
                Some(false) => Verdict::Fails,
                None if has_results => Verdict::Likely,
                None => Verdict::Passes,
            },
            _ if !has_results => Verdict::Passes,
            ("jq", options)
                if !options.iter().any(|word| word.starts_with("-e") || *word == "--exit-status") =>
            {
                Verdict::Passes
            }
            ("cmp" | "diff" | "egrep" | "expr" | "grep" | "jq" | "rg", _) => Verdict::Likely,
            _ if is_harmless(&words.join(" ")) => Verdict::Passes,
            _ => match FAILS.is_match(command.span.of(text)) {
                true => Verdict::Likely,
                false => Verdict::Unclear,
            },
        };
        verdict = verdict.max(if reached.is_none() { own.min(Verdict::Likely) } else { own });
        if reached == Some(true) && guards::end(&script, command).is_some() {
            break;
        }
    }
    verdict
}

/// Returns whether a script comes to one of its commands, where the constructs around that decide it.
fn is_reached(script: &Script, text: &str, command: &Command) -> Option<bool> {
    let mut reached = Some(true);
    for (surrounding, span) in script.surroundings(command) {
        let own = match surrounding {
            Surrounding::AndRight => truth::of_last_list(&text[..span.end]),
            Surrounding::OrRight => truth::of_last_list(&text[..span.end]).map(|holds| !holds),
            Surrounding::Branch => branch(text, span.start, span.of(text)),
            Surrounding::LoopBody => Some(true),
            Surrounding::Function(_) => None,
            Surrounding::Substitution => Some(false),
            Surrounding::Pipeline { .. }
            | Surrounding::AndLeft
            | Surrounding::OrLeft
            | Surrounding::Negated
            | Surrounding::Background
            | Surrounding::IfCondition
            | Surrounding::LoopCondition
            | Surrounding::Subshell
            | Surrounding::Interpreted => Some(true),
        };
        match own {
            Some(false) => return Some(false),
            None => reached = None,
            Some(true) => {}
        }
    }
    reached
}

/// Returns whether a branch is taken: one of `if` and `elif` by its condition, one of `else` by that right before it.
fn branch(text: &str, start: usize, statement: &str) -> Option<bool> {
    if statement.starts_with("if ") || statement.starts_with("elif ") {
        return condition_of(statement);
    }
    let before = text.get(..start).filter(|_| statement.starts_with("else"))?;
    let at = before.rfind("if ")?;
    let words: Vec<&str> = before[at..].split(|sign: char| sign.is_whitespace() || sign == ';').collect();
    let is_own = !words.contains(&"fi");
    condition_of(&before[at..]).filter(|_| is_own).map(|holds| !holds)
}

fn condition_of(statement: &str) -> Option<bool> {
    let condition = statement.split_once("if ")?.1;
    let end = condition.find([';', '\n']).unwrap_or(condition.len());
    truth::of_list(&condition[..end])
}
