//! Reads pipelines of other vendors than GitHub: all have maps with scripts in them, and keys that soften what is below.

use qa_reading::documents::{Document, Format, Node, ReadError};
use qa_reading::shell::Options;
use qa_reading::syntax::Span;

use super::calls::{Call, joined};
use super::commands::{Effect, Mark, Step, Surroundings, names_of_checks, steps};
use super::files::Kind;
use super::guards;
use super::source::Source;
use super::triggers::Triggers;
use crate::pattern::Pattern;

/// Keys of scripts.
const SCRIPTS: &[&str] = &[
    "bash",
    "before_build",
    "before_install",
    "before_script",
    "before_test",
    "build_script",
    "cmd",
    "cmds",
    "command",
    "commands",
    "install",
    "powershell",
    "ps",
    "pwsh",
    "run",
    "script",
    "test_script",
];

/// Keys below which nothing is run, or nothing whose failure counts.
const IGNORED: &[&str] = &[
    "after_failure",
    "after_script",
    "after_success",
    "artifacts",
    "cache",
    "env",
    "environment",
    "inputs",
    "on_failure",
    "outputs",
    "parameters",
    "services",
    "variables",
];

/// Settings in force at a node.
#[derive(Debug, Clone, Default)]
struct Scope {
    /// Names of the maps around it.
    path: Vec<String>,
    marks: Vec<Mark>,
    around: Surroundings,
}

struct Reader {
    kind: Kind,
    source: Source,
}

/// Reads a pipeline, a list of tasks or a list of hooks.
///
/// # Errors
/// A text that is no YAML.
pub(super) fn parse(kind: Kind, text: &str) -> Result<Source, ReadError> {
    let document = Document::parse(Format::Yaml, text)?;
    let mut reader = Reader { kind, source: Source::default() };
    for root in document.roots() {
        if kind == Kind::Pipeline {
            reader.source.triggers = Triggers::of_pipeline(root);
        }
        // Aliases may stand for more values than anybody can visit.
        root.leaves()?;
        let strict = Options { errexit: true, ..Options::default() };
        let around = Surroundings { shell: Some(strict), ..Surroundings::default() };
        let mut scope = Scope { around, ..Scope::default() };
        // `workflow` of GitLab is for all jobs beside it.
        scope.marks.extend(root.get("workflow").map(Scope::marks_of).unwrap_or_default());
        reader.walk(root, &scope);
        if kind == Kind::Circle {
            reader.mark_called(root);
        }
    }
    Ok(reader.source)
}

impl Reader {
    fn walk(&mut self, node: Node<'_>, outer: &Scope) {
        for item in node.items() {
            match item.text() {
                Some(name) if self.kind == Kind::Circle => self.circle_step(name, item, outer),
                Some(_) => {}
                None => self.walk(item, outer),
            }
        }
        if !node.is_map() {
            return;
        }
        let mut scope = outer.clone();
        // The list of hooks itself says which of them do not run.
        if self.kind != Kind::HookList {
            scope.enter(node);
        }
        let name = self.unit_name(&scope);
        if !name.is_empty() {
            let is_called = self.is_called(&scope);
            self.source.unit(&name).is_called = is_called;
        }
        for entry in node.entries() {
            let is_text =
                entry.value.text().is_some() || entry.value.items().any(|item| item.text().is_some());
            if IGNORED.contains(&entry.key) && !scope.path.is_empty() {
                continue;
            }
            let is_task = self.kind == Kind::Task && scope.path.last().is_some_and(|name| name == "tasks");
            if is_text && is_task {
                let mut inner = scope.clone();
                inner.path.push(entry.key.to_owned());
                self.script(entry.value, &inner);
            } else if SCRIPTS.contains(&entry.key) && is_text {
                self.script(entry.value, &scope);
            } else if entry.key == "task" && is_text {
                self.task(node, entry.value, &scope);
            } else if matches!(entry.key, "extends" | "deps") && is_text {
                for name in entry.value.texts() {
                    self.call(name, entry.value.span(), &scope);
                }
            } else {
                let mut inner = scope.clone();
                inner.path.push(entry.key.to_owned());
                self.walk(entry.value, &inner);
                if self.kind == Kind::Circle && !is_text {
                    self.circle_step(entry.key, entry.value, &scope);
                }
            }
        }
    }

    /// Name of the job that a place belongs to.
    fn unit_name(&self, scope: &Scope) -> String {
        let names = scope.path.iter().map(String::as_str);
        if matches!(self.kind, Kind::Circle | Kind::Task) {
            return match (self.kind, names.take(2).collect::<Vec<_>>().as_slice()) {
                (Kind::Task, ["tasks", name]) => (*name).to_owned(),
                (_, [_]) => String::new(),
                (_, names) => names.join(" "),
            };
        }
        let own = names.filter(|name| !matches!(*name, "steps" | "script" | "step" | "task"));
        own.collect::<Vec<_>>().join(" ")
    }

    /// Returns whether a unit runs only where something calls it.
    fn is_called(&self, scope: &Scope) -> bool {
        let first = scope.path.first().map(String::as_str).unwrap_or_default();
        self.kind == Kind::Task
            || self.kind == Kind::Pipeline && first.starts_with('.')
            || self.kind == Kind::Circle && first == "commands"
    }

    /// Marks the jobs of CircleCI that run only where a workflow names them.
    fn mark_called(&mut self, root: Node<'_>) {
        if root.get("workflows").is_none() {
            return;
        }
        for unit in &mut self.source.units {
            unit.is_called |= unit.name.starts_with("jobs ");
        }
    }

    /// A step that names a command or a job of the file, or of an orb.
    fn circle_step(&mut self, name: &str, node: Node<'_>, scope: &Scope) {
        let list = match scope.path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["workflows", _, "jobs", ..] => "jobs",
            ["jobs" | "commands", _, "steps", ..] => "commands",
            _ => return,
        };
        if name == "run" {
            return;
        }
        let unit = self.unit_name(scope);
        let step = Step {
            text: format!("{list} {name}"),
            checks: names_of_checks(&format!("uses {name}")),
            calls: vec![Call::Unit(format!("{list} {name}"))],
            marks: scope.marks.clone(),
            span: node.span(),
            ..Step::default()
        };
        self.source.unit(&unit).steps.push(step);
    }

    /// A task of Azure, or one that another task of a list runs.
    fn task(&mut self, node: Node<'_>, name: Node<'_>, scope: &Scope) {
        let Some(reference) = name.text() else { return };
        if self.kind == Kind::Task {
            return self.call(reference, name.span(), scope);
        }
        let task = reference.split('@').next().unwrap_or(reference);
        let inputs = ["command", "arguments", "goals", "tasks"];
        let inputs = inputs.iter().filter_map(|input| node.at(&["inputs", input])).filter_map(Node::text);
        let inputs: Vec<&str> = inputs.collect();
        let unit = self.unit_name(scope);
        self.source.unit(&unit).steps.push(Step {
            text: format!("task {task} {}", inputs.join(" ")),
            checks: names_of_checks(&format!("uses {task} {}", inputs.join(" "))),
            marks: scope.marks.clone(),
            span: name.span(),
            ..Step::default()
        });
        if let Some(script) = node.at(&["inputs", "script"]) {
            self.script(script, scope);
        }
    }

    fn call(&mut self, name: &str, span: Span, scope: &Scope) {
        let unit = self.unit_name(scope);
        let calls = vec![Call::Unit(name.to_owned())];
        let text = format!("extends {name}");
        let step = Step { text, calls, span, marks: scope.marks.clone(), ..Step::default() };
        self.source.unit(&unit).steps.push(step);
    }

    /// A script, or the items of one that is a list.
    fn script(&mut self, node: Node<'_>, scope: &Scope) {
        if node.tag() == Some("!reference") {
            if let Some(name) = node.texts().first() {
                self.call(name, node.span(), scope);
            }
            return;
        }
        let parts: Vec<Node<'_>> = if node.text().is_some() { vec![node] } else { node.items().collect() };
        let mut text = String::new();
        let mut lines = Lines { begins: Vec::new() };
        for part in parts {
            if part.tag() == Some("!reference") {
                self.script(part, scope);
            }
            let Some(line) = part.text() else {
                self.walk(part, scope);
                continue;
            };
            lines.begins.push((text.len(), part));
            text.push_str(line);
            text.push('\n');
        }
        let mut around = scope.around.clone();
        around.expansions = expansions(self.kind, &text);
        let unit = self.unit_name(scope);
        for mut step in steps(&text, &around) {
            for span in step.spans() {
                *span = lines.place_of_span(*span);
            }
            step.marks.extend(scope.marks.iter().copied());
            self.source.unit(&unit).steps.push(step);
        }
    }
}

impl Scope {
    /// Takes over what a map says of all that is below it.
    fn enter(&mut self, node: Node<'_>) {
        self.marks.extend(Self::marks_of(node));
        for key in ["working_directory", "workingDirectory"] {
            if let Some(directory) = node.get(key).and_then(Node::text) {
                self.around.directory = joined("", directory);
            }
        }
    }
}

impl Scope {
    fn marks_of(node: Node<'_>) -> Vec<Mark> {
        let marks = node.entries().filter_map(|entry| {
            let effect = softens(entry.key, entry.value)?;
            let span = Span { start: entry.key_span.start, end: entry.value.span().end };
            Some(Mark { effect, span })
        });
        marks.collect()
    }
}

/// Returns what a member of a map does to the commands below the map.
fn softens(key: &str, value: Node<'_>) -> Option<Effect> {
    let text = value.text().unwrap_or_default();
    let (effect, is_softened) = match key {
        "continueOnError" | "allow_failure" | "allow_failures" | "ignore_failure" | "ignore_failures"
        | "ignoreFailure" | "ignore_error" => {
            (Effect::Ignored, value.flag() == Some(true) || value.get("exit_codes").is_some())
        }
        "soft_fail" => (Effect::Ignored, value.flag() == Some(true) || value.items().next().is_some()),
        "background" => (Effect::Ignored, value.flag() == Some(true)),
        "failure" => (Effect::Ignored, text == "ignore"),
        "on-fail" => (Effect::Ignored, value.get("strategy").and_then(Node::text) == Some("ignore")),
        "if" | "condition" | "only_if" => (Effect::Never, is_never(value)),
        "enabled" => (Effect::Never, value.flag() == Some(false)),
        "skip" => (Effect::Never, value.flag() == Some(true)),
        "shell" => (Effect::Never, guards::is_idle(text.split_whitespace().next().unwrap_or_default())),
        "when" | "trigger" => {
            let is_off = matches!(text, "never" | "manual" | "on_fail" | "on_failure");
            (Effect::Never, is_off || value.flag() == Some(false))
        }
        "only" => (Effect::Never, names_no_change(value)),
        "except" => {
            let names = value.get("refs").unwrap_or(value).texts();
            (Effect::Never, names.iter().any(|name| matches!(*name, "branches" | "merge_requests")))
        }
        "rules" => {
            let never_runs = |rule: Node<'_>| {
                matches!(rule.get("when").and_then(Node::text), Some("never" | "manual"))
                    || rule.get("if").is_some_and(is_never)
            };
            (Effect::Never, value.items().next().is_some() && value.items().all(never_runs))
        }
        _ => return None,
    };
    is_softened.then_some(effect)
}

/// Returns whether a list of GitLab's references is for none that a change goes by.
fn names_no_change(value: Node<'_>) -> bool {
    const NO_CHANGE: &[&str] = &["api", "chat", "never", "pipelines", "schedules", "tags", "triggers", "web"];
    let names = value.get("refs").unwrap_or(value).texts();
    !names.is_empty() && names.iter().all(|name| NO_CHANGE.contains(name))
}

/// Returns whether a condition never holds.
fn is_never(value: Node<'_>) -> bool {
    static EQUAL: Pattern = Pattern::new(
        r#"^(?:eq\(\s*'([^']*)'\s*,\s*'([^']*)'\s*\)|["']([^"']*)["']\s*==\s*["']([^"']*)["'])$"#,
    );
    static NOBODY: Pattern = Pattern::new(r#"==\s*["'](?:disabled|never|nobody|none)["']$|^failed\(\)$"#);
    let Some(text) = value.text().map(str::trim) else { return false };
    let is_unequal = EQUAL.captures(text).is_some_and(|groups| {
        let side = |first: usize, second: usize| {
            groups.get(first).or(groups.get(second)).map(|found| found.as_str().to_owned())
        };
        side(1, 3) != side(2, 4)
    });
    value.flag() == Some(false) || matches!(text, "never" | "never()") || is_unequal || NOBODY.is_match(text)
}

/// Places that the vendor replaces before the shell reads a script: `<< parameters.x >>`.
fn expansions(kind: Kind, text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut at = 0;
    while kind == Kind::Circle
        && let Some(start) = text[at..].find("<<").map(|start| at + start)
        && let Some(end) = text[start..].find(">>").map(|end| start + end + 2)
    {
        if !text[start..end].contains('\n') {
            found.push(Span { start, end });
        }
        at = end;
    }
    found
}

/// The lines of a script, by the offset at which each begins in the joined text.
struct Lines<'d> {
    begins: Vec<(usize, Node<'d>)>,
}

impl Lines<'_> {
    fn source_offset(&self, at: usize) -> usize {
        match self.begins.iter().rev().find(|(begin, _)| *begin <= at) {
            Some((begin, node)) => node.place_of(at - begin),
            None => 0,
        }
    }

    fn place_of_span(&self, span: Span) -> Span {
        let start = self.source_offset(span.start);
        Span { start, end: self.source_offset(span.end.saturating_sub(1).max(span.start)).max(start) + 1 }
    }
}
