//! Reads GitHub's workflows and actions as jobs and steps, with the place of every value.
//!
//! The model holds what the platform would execute: aliases and merge keys are followed, expressions of constants
//! count as their value, and how the YAML is written makes no difference.

mod expression;
#[cfg(test)]
mod tests;
mod value;

pub use crate::shell::embedded;
pub use expression::{Expression, Literal, Operator, Path, Segment};
pub use value::{Condition, Embedded, Member, ParsedRun, Run, Template, Value};

use crate::documents::{Document, Node, ReadError};
use crate::shell::{Interpreter, Options};
use crate::syntax::Span;

/// Most values of one file, those that aliases repeat included.
pub const MAX_VALUES: usize = 1 << 18;
/// Most bytes of scripts of one file, those that aliases repeat included.
pub const MAX_SCRIPT_BYTES: usize = 16 << 20;

/// A file in `.github/workflows`.
#[derive(Debug, Clone)]
pub struct Workflow<'d> {
    pub value: Value<'d>,
    pub name: Option<Value<'d>>,
    pub triggers: Vec<Trigger<'d>>,
    pub permissions: Option<Permissions<'d>>,
    pub env: Vec<Member<'d>>,
    /// `defaults`, for scripts whose job and step have no settings of their own.
    pub defaults: Defaults<'d>,
    pub concurrency: Option<Value<'d>>,
    pub jobs: Vec<Job<'d>>,
}

/// An action, as `action.yml` defines it.
#[derive(Debug, Clone)]
pub struct Action<'d> {
    pub value: Value<'d>,
    pub name: Option<Value<'d>>,
    pub inputs: Vec<Member<'d>>,
    pub outputs: Vec<Member<'d>>,
    /// `composite`, `docker`, `node24`.
    pub using: Value<'d>,
    /// Steps of a composite action.
    pub steps: Vec<Step<'d>>,
    /// Image of a Docker action, or the path of its Dockerfile.
    pub image: Option<Value<'d>>,
    /// Environment of a Docker action.
    pub env: Vec<Member<'d>>,
    /// Scripts of a JavaScript action and entry points of a Docker action: `main`, `pre`, `post` and the like.
    pub entry_points: Vec<Member<'d>>,
}

/// An event that starts a workflow.
#[derive(Debug, Clone, Copy)]
pub struct Trigger<'d> {
    pub name: &'d str,
    pub name_span: Span,
    /// Filters and inputs.
    pub options: Option<Value<'d>>,
}

/// Rights of the token.
#[derive(Debug, Clone)]
pub struct Permissions<'d> {
    pub value: Value<'d>,
    /// `write-all`, `read-all`
    pub all: Option<Access>,
    pub grants: Vec<Grant<'d>>,
}

/// `contents: write`
#[derive(Debug, Clone, Copy)]
pub struct Grant<'d> {
    pub scope: &'d str,
    pub access: Access,
    pub scope_span: Span,
    pub value: Value<'d>,
}

/// Extent of a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    None,
    Read,
    Write,
}

/// Settings of `run` that hold where a step has none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Defaults<'d> {
    pub shell: Option<Value<'d>>,
    pub working_directory: Option<Value<'d>>,
}

/// A job of a workflow.
#[derive(Debug, Clone)]
pub struct Job<'d> {
    pub id: &'d str,
    pub id_span: Span,
    pub value: Value<'d>,
    pub name: Option<Value<'d>>,
    /// Ids of the jobs that run before.
    pub needs: Vec<Value<'d>>,
    pub condition: Option<Condition<'d>>,
    pub permissions: Option<Permissions<'d>>,
    pub runs_on: Option<Value<'d>>,
    pub environment: Option<Value<'d>>,
    pub concurrency: Option<Value<'d>>,
    pub outputs: Vec<Member<'d>>,
    pub env: Vec<Member<'d>>,
    pub defaults: Defaults<'d>,
    pub strategy: Option<Value<'d>>,
    pub continue_on_error: Option<Value<'d>>,
    pub timeout_minutes: Option<Value<'d>>,
    pub container: Option<Container<'d>>,
    pub services: Vec<Service<'d>>,
    /// The workflow that the job calls.
    pub uses: Option<Value<'d>>,
    /// Inputs of the called workflow.
    pub with: Vec<Member<'d>>,
    pub secrets: Option<Secrets<'d>>,
    pub steps: Vec<Step<'d>>,
}

/// An image that a job runs in or beside.
#[derive(Debug, Clone, Copy)]
pub struct Container<'d> {
    pub value: Value<'d>,
    pub image: Option<Value<'d>>,
}

/// A container beside a job.
#[derive(Debug, Clone, Copy)]
pub struct Service<'d> {
    pub id: &'d str,
    pub id_span: Span,
    pub container: Container<'d>,
}

/// Secrets that a called workflow gets.
#[derive(Debug, Clone)]
pub enum Secrets<'d> {
    /// `secrets: inherit`
    Inherited(Value<'d>),
    Named(Vec<Member<'d>>),
}

/// A step of a job or of a composite action.
#[derive(Debug, Clone)]
pub struct Step<'d> {
    pub value: Value<'d>,
    pub id: Option<Value<'d>>,
    pub name: Option<Value<'d>>,
    pub condition: Option<Condition<'d>>,
    pub uses: Option<Value<'d>>,
    pub run: Option<Run<'d>>,
    pub with: Vec<Member<'d>>,
    pub env: Vec<Member<'d>>,
    pub working_directory: Option<Value<'d>>,
    pub continue_on_error: Option<Value<'d>>,
    pub timeout_minutes: Option<Value<'d>>,
}

/// Code that `uses` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference<'t> {
    /// A path of the same repository: `./path`, or `$/path` from the repository of the workflow itself.
    Local(&'t str),
    /// `docker://image`, without the scheme.
    Image(&'t str),
    /// `owner/repository/path@reference`
    Remote { name: &'t str, reference: &'t str },
}

impl<'d> Workflow<'d> {
    /// Reads a workflow.
    ///
    /// # Errors
    /// A file that GitHub refuses because jobs or steps are none, or in which aliases stand for too much.
    pub fn parse(document: &'d Document<'d>) -> Result<Self, ReadError> {
        let root = single_root(document)?;
        let jobs = root.get("jobs").ok_or_else(|| error(root, "the workflow has no `jobs`"))?;
        Self::parse_members(root, Some(jobs))
    }

    /// Reads the front matter of an agentic workflow, whose jobs are only those beside the agent's.
    ///
    /// # Errors
    /// Front matter in which jobs or steps are none, or in which aliases stand for too much.
    pub fn parse_agentic(document: &'d Document<'d>) -> Result<Self, ReadError> {
        let root = single_root(document)?;
        Self::parse_members(root, root.get("jobs"))
    }

    fn parse_members(root: Value<'d>, jobs: Option<Value<'d>>) -> Result<Self, ReadError> {
        let mut reader = Reader::default();
        let defaults = Defaults::new(root);
        Ok(Self {
            value: root,
            name: root.get("name"),
            triggers: reader.triggers(root)?,
            permissions: reader.permissions(root)?,
            env: reader.members(root, "env")?,
            defaults,
            concurrency: root.get("concurrency"),
            jobs: jobs.map(|jobs| reader.jobs(jobs, defaults)).transpose()?.unwrap_or_default(),
        })
    }

    /// Returns the trigger of an event.
    pub fn trigger(&self, name: &str) -> Option<&Trigger<'d>> {
        self.triggers.iter().find(|trigger| trigger.name == name)
    }
}

impl<'d> Action<'d> {
    /// Reads an action; `None` for a file that is none, as it has no `runs.using`.
    ///
    /// # Errors
    /// An action that GitHub refuses because steps are none, or in which aliases stand for too much.
    pub fn parse(document: &'d Document<'d>) -> Result<Option<Self>, ReadError> {
        const ENTRY_POINTS: &[&str] =
            &["main", "pre", "post", "entrypoint", "pre-entrypoint", "post-entrypoint"];
        let Ok(root) = single_root(document) else { return Ok(None) };
        let Some(runs) = root.get("runs") else { return Ok(None) };
        let Some(using) = runs.get("using") else { return Ok(None) };
        let mut reader = Reader::default();
        let mut entry_points = reader.count_members(runs)?;
        entry_points.retain(|member| ENTRY_POINTS.contains(&member.name));
        Ok(Some(Self {
            value: root,
            name: root.get("name"),
            inputs: reader.members(root, "inputs")?,
            outputs: reader.members(root, "outputs")?,
            using,
            steps: reader.steps(runs, Defaults::default(), RunsOn::Unknown)?,
            image: runs.get("image"),
            env: reader.members(runs, "env")?,
            entry_points,
        }))
    }
}

impl Trigger<'_> {
    /// Returns the texts of a filter, such as `branches`, `tags`, `paths` or `types`.
    pub fn filter(&self, name: &str) -> Vec<&str> {
        let filter = self.options.and_then(|options| options.get(name));
        filter.map(|filter| filter.node().texts()).unwrap_or_default()
    }
}

impl<'d> Permissions<'d> {
    /// Returns the rights that let the token write.
    pub fn writes(&self) -> impl Iterator<Item = &Grant<'d>> {
        self.grants.iter().filter(|grant| grant.access == Access::Write)
    }
}

impl<'d> Job<'d> {
    /// Returns the labels of the machine that the job asks for, and its group.
    pub fn labels(&self) -> Vec<Value<'d>> {
        let Some(runs_on) = self.runs_on else { return Vec::new() };
        let mut labels = runs_on.scalars();
        for name in ["labels", "group"] {
            labels.extend(runs_on.get(name).into_iter().flat_map(Value::scalars));
        }
        labels
    }
}

impl<'d> Job<'d> {
    /// Returns the values that a key of the matrix takes: those of its list, without those that are excluded alone, and
    /// those of combinations that are included.
    pub fn matrix_values(&self, key: &str) -> Vec<Value<'d>> {
        let Some(matrix) = self.strategy.and_then(|strategy| strategy.get("matrix")) else {
            return Vec::new();
        };
        let excluded =
            matrix.combinations("exclude").filter(|combination| combination.members().count() == 1);
        let excluded: Vec<_> = excluded.filter_map(|one| one.get(key)?.constant()).collect();
        let mut values = matrix.get(key).map(Value::scalars).unwrap_or_default();
        values.retain(|value| value.constant().is_none_or(|text| !excluded.contains(&text)));
        values.extend(matrix.combinations("include").filter_map(|combination| combination.get(key)));
        values
    }
}

impl<'d> Step<'d> {
    /// Returns an input of the action. GitHub does not tell upper from lower case in their names.
    pub fn input(&self, name: &str) -> Option<Value<'d>> {
        let member = self.with.iter().rev().find(|member| member.name.eq_ignore_ascii_case(name));
        member.map(|member| member.value)
    }
}

impl<'t> Reference<'t> {
    /// Reads a value of `uses`; `None` for what is computed and for what GitHub would refuse.
    pub fn parse(text: &'t str) -> Option<Self> {
        if text.contains("${{") {
            return None;
        }
        if let Some(image) = text.strip_prefix("docker://") {
            return Some(Self::Image(image));
        }
        if let Some(path) = text.strip_prefix("$/").or_else(|| text.strip_prefix("./")) {
            return Some(Self::Local(path));
        }
        if text.starts_with('.') {
            return Some(Self::Local(text));
        }
        let (name, reference) = text.split_once('@')?;
        name.contains('/').then_some(Self::Remote { name, reference })
    }
}

impl<'d> Defaults<'d> {
    fn new(owner: Value<'d>) -> Self {
        match owner.get("defaults").and_then(|defaults| defaults.get("run")) {
            Some(run) => Self { shell: run.get("shell"), working_directory: run.get("working-directory") },
            None => Self::default(),
        }
    }

    fn or(self, outer: Self) -> Self {
        Self {
            shell: self.shell.or(outer.shell),
            working_directory: self.working_directory.or(outer.working_directory),
        }
    }
}

/// System of the machine, as far as it decides which shell runs scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunsOn {
    Windows,
    Unknown,
}

/// Counts what is read, since aliases may stand for more than a file holds.
#[derive(Debug, Default)]
struct Reader {
    values: usize,
    script_bytes: usize,
}

impl Reader {
    fn count(&mut self, values: usize) -> Result<(), ReadError> {
        self.values += values;
        if self.values > MAX_VALUES { Err(ReadError::TooLarge) } else { Ok(()) }
    }

    fn count_members<'d>(&mut self, map: Value<'d>) -> Result<Vec<Member<'d>>, ReadError> {
        self.count(1)?;
        let most = MAX_VALUES - self.values + 1;
        let members: Vec<Member<'d>> = map.members().take(most).collect();
        self.count(members.len())?;
        Ok(members)
    }

    fn members<'d>(&mut self, owner: Value<'d>, name: &str) -> Result<Vec<Member<'d>>, ReadError> {
        match owner.get(name) {
            Some(map) => self.count_members(map),
            None => Ok(Vec::new()),
        }
    }

    fn items<'d>(&mut self, list: Value<'d>) -> Result<Vec<Value<'d>>, ReadError> {
        let most = MAX_VALUES - self.values + 1;
        let items: Vec<Value<'d>> = list.node().items().take(most).map(Value::new).collect();
        self.count(items.len())?;
        Ok(items)
    }

    fn triggers<'d>(&mut self, root: Value<'d>) -> Result<Vec<Trigger<'d>>, ReadError> {
        let Some(on) = root.get("on") else { return Ok(Vec::new()) };
        let mut triggers = Vec::new();
        if on.node().is_map() {
            for member in self.count_members(on)? {
                let options =
                    Some(member.value).filter(|value| value.node().is_map() || value.node().is_list());
                triggers.push(Trigger { name: member.name, name_span: member.name_span, options });
            }
            return Ok(triggers);
        }
        let names = if on.node().is_list() { self.items(on)? } else { vec![on] };
        for value in names {
            if let Some(name) = value.node().text().filter(|name| !name.is_empty()) {
                triggers.push(Trigger { name, name_span: value.definition(), options: None });
            }
        }
        Ok(triggers)
    }

    fn permissions<'d>(&mut self, owner: Value<'d>) -> Result<Option<Permissions<'d>>, ReadError> {
        let Some(value) = owner.get("permissions") else { return Ok(None) };
        let all = match value.constant().as_deref() {
            Some("write-all") => Some(Access::Write),
            Some("read-all") => Some(Access::Read),
            Some(_) | None => None,
        };
        let mut grants = Vec::new();
        for member in self.count_members(value)? {
            let access = match member.value.constant().as_deref() {
                Some("write") => Access::Write,
                Some("read") => Access::Read,
                Some(_) | None => Access::None,
            };
            let (scope, scope_span) = (member.name, member.name_span);
            grants.push(Grant { scope, access, scope_span, value: member.value });
        }
        Ok(Some(Permissions { value, all, grants }))
    }

    fn jobs<'d>(&mut self, jobs: Value<'d>, outer: Defaults<'d>) -> Result<Vec<Job<'d>>, ReadError> {
        if !jobs.node().is_map() {
            return Err(error(jobs, "`jobs` is no map"));
        }
        let mut read = Vec::new();
        for member in self.count_members(jobs)? {
            read.push(self.job(member, outer)?);
        }
        Ok(read)
    }

    fn job<'d>(&mut self, member: Member<'d>, outer: Defaults<'d>) -> Result<Job<'d>, ReadError> {
        let value = member.value;
        if !value.node().is_map() {
            return Err(error(value, "a job is no map"));
        }
        let defaults = Defaults::new(value).or(outer);
        let mut job = Job {
            id: member.name,
            id_span: member.name_span,
            value,
            name: value.get("name"),
            needs: value.get("needs").map(Value::scalars).unwrap_or_default(),
            condition: condition(value),
            permissions: self.permissions(value)?,
            runs_on: value.get("runs-on"),
            environment: value.get("environment"),
            concurrency: value.get("concurrency"),
            outputs: self.members(value, "outputs")?,
            env: self.members(value, "env")?,
            defaults,
            strategy: value.get("strategy"),
            continue_on_error: value.get("continue-on-error"),
            timeout_minutes: value.get("timeout-minutes"),
            container: value.get("container").map(Container::new),
            services: Vec::new(),
            uses: scalar(value, "uses")?,
            with: self.members(value, "with")?,
            secrets: self.secrets(value)?,
            steps: Vec::new(),
        };
        self.count(job.needs.len())?;
        for service in self.members(value, "services")? {
            let container = Container::new(service.value);
            job.services.push(Service { id: service.name, id_span: service.name_span, container });
        }
        let labels = job.labels();
        let mut labels = labels.iter().filter_map(|label| label.constant());
        let is_windows = labels.any(|label| label.to_ascii_lowercase().contains("windows"));
        let runs_on = if is_windows { RunsOn::Windows } else { RunsOn::Unknown };
        job.steps = self.steps(value, defaults, runs_on)?;
        Ok(job)
    }

    fn secrets<'d>(&mut self, job: Value<'d>) -> Result<Option<Secrets<'d>>, ReadError> {
        let Some(secrets) = job.get("secrets") else { return Ok(None) };
        if secrets.constant().as_deref() == Some("inherit") {
            return Ok(Some(Secrets::Inherited(secrets)));
        }
        Ok(Some(Secrets::Named(self.count_members(secrets)?)))
    }

    fn steps<'d>(
        &mut self,
        owner: Value<'d>,
        defaults: Defaults<'d>,
        runs_on: RunsOn,
    ) -> Result<Vec<Step<'d>>, ReadError> {
        let Some(steps) = owner.get("steps") else { return Ok(Vec::new()) };
        if !steps.node().is_list() {
            return Err(error(steps, "`steps` is no list"));
        }
        let mut read = Vec::new();
        for step in self.items(steps)? {
            read.push(self.step(step, defaults, runs_on)?);
        }
        Ok(read)
    }

    fn step<'d>(
        &mut self,
        value: Value<'d>,
        defaults: Defaults<'d>,
        runs_on: RunsOn,
    ) -> Result<Step<'d>, ReadError> {
        if !value.node().is_map() {
            return Err(error(value, "a step is no map"));
        }
        let script = scalar(value, "run")?;
        let text = script.and_then(|script| script.node().text());
        self.script_bytes += text.unwrap_or_default().len();
        if self.script_bytes > MAX_SCRIPT_BYTES {
            return Err(ReadError::TooLarge);
        }
        let shell = value.get("shell").or(defaults.shell);
        let interpreter = interpreter(shell, runs_on);
        Ok(Step {
            value,
            id: value.get("id"),
            name: value.get("name"),
            condition: condition(value),
            uses: scalar(value, "uses")?,
            run: script.map(|value| Run { value, shell, interpreter }),
            with: self.members(value, "with")?,
            env: self.members(value, "env")?,
            working_directory: value.get("working-directory").or(defaults.working_directory),
            continue_on_error: value.get("continue-on-error"),
            timeout_minutes: value.get("timeout-minutes"),
        })
    }
}

/// Returns what runs a script. A shell that an expression chooses may be one, so the script counts as a shell's.
fn interpreter(shell: Option<Value<'_>>, runs_on: RunsOn) -> Interpreter {
    // Without a setting GitHub runs `bash -e`, and PowerShell on Windows.
    let unset = Options { errexit: true, ..Options::default() };
    let Some(shell) = shell else {
        return match runs_on {
            RunsOn::Windows => Interpreter::Other,
            RunsOn::Unknown => Interpreter::Shell(unset),
        };
    };
    match shell.constant() {
        Some(command) => Interpreter::of_command(&command),
        None => Interpreter::Shell(unset),
    }
}

impl<'d> Container<'d> {
    fn new(value: Value<'d>) -> Self {
        let image = if value.node().is_map() { value.get("image") } else { Some(value) };
        Self { value, image: image.filter(|image| image.node().text().is_some()) }
    }
}

fn condition(owner: Value<'_>) -> Option<Condition<'_>> {
    owner.get("if").map(|value| Condition { value })
}

/// Returns a member that has to be a scalar.
fn scalar<'d>(owner: Value<'d>, name: &str) -> Result<Option<Value<'d>>, ReadError> {
    match owner.get(name) {
        Some(value) if value.node().text().is_none() => Err(error(value, &format!("`{name}` is no text"))),
        value => Ok(value),
    }
}

/// Returns the only document of a file, which has to be a map.
fn single_root<'d>(document: &'d Document<'d>) -> Result<Value<'d>, ReadError> {
    let root = Value::new(document.root());
    if let Some(second) = document.roots().nth(1) {
        return Err(error(Value::new(second), "the file holds more than one document"));
    }
    if !root.node().is_map() {
        return Err(error(root, "the file is no map"));
    }
    Ok(root)
}

fn error(value: Value<'_>, message: &str) -> ReadError {
    let node: Node<'_> = value.node();
    ReadError::Syntax { message: message.to_owned(), at: node.span().start }
}
