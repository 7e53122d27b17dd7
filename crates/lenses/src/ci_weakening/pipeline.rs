//! Reads pipelines of other vendors than GitHub: all have maps with scripts in them, and keys that soften what is below.

use std::collections::BTreeSet;

use qa_reading::documents::{Document, Format, Node, ReadError};
use qa_reading::shell::{Options, Script};
use qa_reading::syntax::Span;

use super::calls::{Call, joined};
use super::commands::{Effect, Mark, Step, Surroundings, steps};
use super::files::Kind;
use super::names::names_of_checks;
use super::source::Source;
use super::triggers::Triggers;
use super::{guards, rules};
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
    /// Places at which a job takes over what another one says.
    settings: Vec<Span>,
}

struct Reader<'d> {
    kind: Kind,
    root: Node<'d>,
    source: Source,
}

/// Most templates that a job is read with.
const MAX_TEMPLATES: usize = 32;

/// Reads a pipeline, a list of tasks or a list of hooks.
///
/// # Errors
/// A text that is no YAML.
pub(super) fn parse(kind: Kind, text: &str) -> Result<Source, ReadError> {
    let document = Document::parse(Format::Yaml, text)?;
    let mut reader = Reader { kind, root: document.root(), source: Source::default() };
    for root in document.roots() {
        reader.root = root;
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

impl<'d> Reader<'d> {
    fn walk(&mut self, node: Node<'d>, outer: &Scope) {
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
        let templates = self.templates(node);
        scope.take_over(node, &templates);
        let first = self.before_script(node, &templates, &scope);
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
                self.script(entry.value, None, &inner);
            } else if SCRIPTS.contains(&entry.key) && is_text {
                self.script(entry.value, first.filter(|_| entry.key == "script"), &scope);
            } else if entry.key == "task" && is_text {
                self.task(node, entry.value, &scope);
            } else if matches!(entry.key, "extends" | "deps") && is_text {
                let mut inner = scope.clone();
                inner.marks.extend(first.into_iter().flat_map(ends_of));
                for name in entry.value.texts() {
                    self.call(name, entry.value.span(), &inner);
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

    /// Returns the jobs of which a job of GitLab takes over what it does not say itself, the nearest first.
    fn templates(&self, node: Node<'d>) -> Vec<Node<'d>> {
        let mut found = Vec::new();
        let mut names: BTreeSet<&str> = BTreeSet::new();
        let mut pending = if self.kind == Kind::Pipeline { vec![node] } else { Vec::new() };
        while let Some(next) = pending.pop() {
            if found.len() >= MAX_TEMPLATES {
                break;
            }
            found.push(next);
            let extends = next.get("extends").map(Node::texts).unwrap_or_default();
            let new = extends.into_iter().filter(|name| names.insert(name));
            pending.extend(new.take(MAX_TEMPLATES).filter_map(|name| self.root.get(name)));
        }
        found.into_iter().skip(1).collect()
    }

    /// Returns the script that runs before that of a job, in the same shell.
    fn before_script(&self, node: Node<'d>, templates: &[Node<'d>], scope: &Scope) -> Option<Node<'d>> {
        if self.kind != Kind::Pipeline || node.get("script").or(node.get("extends")).is_none() {
            return None;
        }
        let own = std::iter::once(&node).chain(templates).find_map(|own| own.get("before_script"));
        let common = [&["default", "before_script"][..], &["before_script"]];
        let common = common.into_iter().filter(|_| !scope.path.is_empty());
        own.or_else(|| common.filter_map(|path| self.root.at(path)).next())
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
    fn task(&mut self, node: Node<'d>, name: Node<'_>, scope: &Scope) {
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
            self.script(script, None, scope);
        }
    }

    fn call(&mut self, name: &str, span: Span, scope: &Scope) {
        let unit = self.unit_name(scope);
        let calls = vec![Call::Unit(name.to_owned())];
        let text = format!("extends {name}");
        let settings = scope.settings.clone();
        let step = Step { text, calls, span, settings, marks: scope.marks.clone(), ..Step::default() };
        self.source.unit(&unit).steps.push(step);
    }

    /// A script, or the items of one that is a list, with the script that runs before it.
    fn script(&mut self, node: Node<'d>, first: Option<Node<'d>>, scope: &Scope) {
        if node.tag() == Some("!reference") {
            if let Some(name) = node.texts().first() {
                self.call(name, node.span(), scope);
            }
            return;
        }
        let (mut text, mut lines) = first.map(lines_of).unwrap_or_default();
        let begin = text.len();
        for part in parts_of(node) {
            if part.tag() == Some("!reference") {
                self.script(part, None, scope);
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
            if step.span.start < begin {
                continue;
            }
            step.settings.extend(scope.settings.iter().copied());
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
    /// Takes over what a job does not say itself and the jobs say that it extends.
    fn take_over(&mut self, node: Node<'_>, templates: &[Node<'_>]) {
        let mut own: BTreeSet<&str> = node.entries().map(|entry| entry.key).collect();
        for template in templates {
            self.marks.extend(Self::marks_without(*template, &own));
            own.extend(template.entries().map(|entry| entry.key));
        }
        if !templates.is_empty() {
            self.settings.extend(node.get("extends").map(Node::span));
        }
    }

    fn marks_of(node: Node<'_>) -> Vec<Mark> {
        Self::marks_without(node, &BTreeSet::new())
    }

    /// Returns what the members of a map do to all that is below it, but for those of some names.
    fn marks_without(node: Node<'_>, names: &BTreeSet<&str>) -> Vec<Mark> {
        let marks = node.entries().filter(|entry| !names.contains(entry.key)).filter_map(|entry| {
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
        "rules" => return rules::effect(value),
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
pub(super) fn is_never(value: Node<'_>) -> bool {
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

/// Returns a script, or the items of one that is a list.
fn parts_of(node: Node<'_>) -> Vec<Node<'_>> {
    if node.text().is_some() { vec![node] } else { node.items().collect() }
}

/// Returns the text of a script, without what it takes from elsewhere.
fn lines_of(node: Node<'_>) -> (String, Lines<'_>) {
    let (mut text, mut lines) = (String::new(), Lines::default());
    for part in parts_of(node) {
        let Some(line) = part.text() else { continue };
        lines.begins.push((text.len(), part));
        text.push_str(line);
        text.push('\n');
    }
    (text, lines)
}

/// Returns the places of a script behind which nothing runs.
fn ends_of(node: Node<'_>) -> Vec<Mark> {
    let (text, lines) = lines_of(node);
    let script = Script::parse(&text, Options { errexit: true, ..Options::default() });
    let ends = script.commands.iter().filter_map(|command| {
        let effect = guards::end(&script, command)?;
        Some(Mark { effect, span: lines.place_of_span(command.span) })
    });
    ends.collect()
}

/// The lines of a script, by the offset at which each begins in the joined text.
#[derive(Default)]
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
