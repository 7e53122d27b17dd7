//! Checks of a repository's setup: ways around the gate in its workflows, owners and branch rules. Pure; the caller reads
//! the files and asks the API.

use std::collections::BTreeSet;

use qa_core::policy::Policy;
use qa_reading::codeowners::CodeOwners;
use qa_reading::documents::{Document, Format};
use qa_reading::ignore::{IgnoreDialect, ignore_patterns};
use qa_reading::syntax::Span;
use qa_reading::workflow::{Access, Job, Permissions, Reference, Step, Trigger, Value, Workflow};

/// Directory of workflows.
pub const WORKFLOWS: &str = ".github/workflows";
/// Places of CODEOWNERS, the first that is there counts.
pub const CODEOWNERS: [&str; 3] = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];
/// Name of the action's repository.
const ACTION: &str = "qa-skill";
/// Default of the input `since-days` of a drift check.
const DEFAULT_SINCE_DAYS: u64 = 7;
/// Events of pull requests that start a gate.
const PULL_REQUEST_EVENTS: [&str; 2] = ["pull_request", "pull_request_target"];

/// Content of a repository that its setup is checked by.
pub struct Setup<'a> {
    /// Path and text of each workflow; no text where it cannot be read.
    pub workflows: &'a [(String, Option<String>)],
    pub codeowners: Option<&'a str>,
    pub policy: &'a Policy,
    /// Name of the check run that the action makes; no rule may require it.
    pub check_name: &'a str,
    /// Rules of the default branch, or the reason why they could not be read.
    pub branch: Result<BranchRules, String>,
    /// Tells whether git ignores a path.
    pub is_ignored: &'a dyn Fn(&str) -> bool,
}

/// Requirements of the rules of a branch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BranchRules {
    /// Names of required status checks.
    pub required: BTreeSet<String>,
    pub has_merge_queue: bool,
}

/// Outcome of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// Stable name of the check.
    pub id: &'static str,
    pub kind: Kind,
    pub place: Option<Place>,
    pub message: String,
    pub fix: &'static str,
}

/// Line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub path: String,
    /// From 1.
    pub line: usize,
}

/// Kind of an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A change can pass around the gate, or the gate can give no verdict.
    Problem,
    /// The files or the API could not be read, so there may be a problem.
    Unseen,
}

/// Step that runs the action, with its job and workflow.
struct Gate<'g, 'd> {
    path: &'g str,
    text: &'g str,
    workflow: &'g Workflow<'d>,
    job: &'g Job<'d>,
    step: &'g Step<'d>,
}

/// Checks a setup. Empty where nothing is wrong and everything could be seen.
pub fn check(setup: &Setup<'_>) -> Vec<Observation> {
    let mut survey = Survey::default();
    for (path, text) in setup.workflows {
        if !survey.inspect_workflow(setup, path, text.as_deref()) {
            survey.found.push(unread(path));
        }
    }
    survey.check_gates();
    let mut found = survey.found;
    check_owners(setup, &mut found);
    check_reports(setup, &mut found);
    if let Err(reason) = &setup.branch {
        found.push(Observation {
            id: "branch-rules",
            kind: Kind::Unseen,
            place: None,
            message: format!("whether the job is a required status check could not be read: {reason}"),
            fix: "set GITHUB_TOKEN and GITHUB_REPOSITORY, or look below Settings, Rules of the repository",
        });
    }
    found
}

/// Observations of all workflows, and what is compared between them.
#[derive(Default)]
struct Survey {
    found: Vec<Observation>,
    /// Number of steps that judge pull requests.
    gates: usize,
    /// Days for which those steps keep runs, where they say.
    retentions: Vec<Retention>,
    /// Greatest age of runs that a nightly replay reads, in days.
    replayed_days: Option<u64>,
}

struct Retention {
    days: u64,
    place: Place,
}

impl Survey {
    /// Inspects the steps of a workflow that run the action. Returns false if the workflow cannot be read.
    fn inspect_workflow(&mut self, setup: &Setup<'_>, path: &str, text: Option<&str>) -> bool {
        let Some(text) = text else { return false };
        let Ok(document) = Document::parse(Format::Yaml, text) else { return false };
        let Ok(workflow) = Workflow::parse(&document) else { return false };
        for job in &workflow.jobs {
            for step in job.steps.iter().filter(|step| is_ours(step)) {
                self.inspect_step(setup, &Gate { path, text, workflow: &workflow, job, step });
            }
        }
        true
    }

    fn inspect_step(&mut self, setup: &Setup<'_>, gate: &Gate<'_, '_>) {
        gate.check_pin(&mut self.found);
        match gate.input("command").as_deref() {
            Some("drift-check") => {
                let days = gate.number("since-days").unwrap_or(DEFAULT_SINCE_DAYS);
                self.replayed_days = self.replayed_days.max(Some(days));
            }
            Some("plan" | "features") => {}
            // A shard has no verdict.
            _ if gate.step.input("shard").is_some() => {}
            _ if gate.triggers().next().is_some() => {
                self.gates += 1;
                gate.check(setup, &mut self.found);
                if let Some(days) = gate.number("retention-days") {
                    self.retentions.push(Retention { days, place: gate.place(gate.step.value.span()) });
                }
            }
            _ => {}
        }
    }

    /// Checks that there is a gate, and that runs are kept until the nightly replay reads them.
    fn check_gates(&mut self) {
        if self.gates == 0 {
            self.found.push(problem(
                "not-used",
                None,
                "no workflow runs the action on pull requests",
                "add the workflow that the README shows, on the default branch",
            ));
        }
        let Some(replayed) = self.replayed_days else { return };
        for Retention { days, place } in self.retentions.drain(..).filter(|kept| kept.days < replayed) {
            self.found.push(problem(
                "retention-short",
                Some(place),
                format!("runs are kept for {days} days and replayed for {replayed}"),
                "raise `retention-days` to `since-days` of the nightly replay, or leave it out",
            ));
        }
    }
}

fn problem(
    id: &'static str,
    place: Option<Place>,
    message: impl Into<String>,
    fix: &'static str,
) -> Observation {
    Observation { id, kind: Kind::Problem, place, message: message.into(), fix }
}

fn unread(path: &str) -> Observation {
    Observation {
        id: "workflow-unread",
        kind: Kind::Unseen,
        place: Some(Place { path: path.to_owned(), line: 1 }),
        message: "the workflow cannot be read".to_owned(),
        fix: "correct the file; GitHub does not run it either",
    }
}

/// Returns whether a step runs the action: from a repository of its name, from its image, or from its own repository.
fn is_ours(step: &Step<'_>) -> bool {
    let Some(text) = step.uses.and_then(Value::constant) else { return false };
    match Reference::parse(&text) {
        Some(Reference::Remote { name, .. }) => name.rsplit('/').next() == Some(ACTION),
        Some(Reference::Image(image)) => {
            image.split(['@', ':']).next().and_then(|name| name.rsplit('/').next()) == Some(ACTION)
        }
        Some(Reference::Local(path)) => path.is_empty(),
        None => false,
    }
}

impl Gate<'_, '_> {
    fn place(&self, span: Span) -> Place {
        let before = self.text.get(..span.start).unwrap_or_default();
        Place { path: self.path.to_owned(), line: before.matches('\n').count() + 1 }
    }

    fn problem(
        &self,
        id: &'static str,
        span: Span,
        message: impl Into<String>,
        fix: &'static str,
    ) -> Observation {
        problem(id, Some(self.place(span)), message, fix)
    }

    /// Returns the events of pull requests that start the workflow.
    fn triggers(&self) -> impl Iterator<Item = &Trigger<'_>> {
        PULL_REQUEST_EVENTS.iter().filter_map(|name| self.workflow.trigger(name))
    }

    fn input(&self, name: &str) -> Option<String> {
        Some(self.step.input(name)?.constant()?.trim().to_owned()).filter(|text| !text.is_empty())
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.input(name)?.parse().ok()
    }

    fn is_on(&self, input: &str) -> bool {
        self.input(input).as_deref() == Some("true")
    }

    /// Name of the job's status check.
    fn name(&self) -> String {
        let name = self.job.name.and_then(Value::constant);
        name.map_or_else(|| self.job.id.to_owned(), |name| name.into_owned())
    }

    fn check(&self, setup: &Setup<'_>, found: &mut Vec<Observation>) {
        self.check_required(setup, found);
        self.check_triggers(setup, found);
        self.check_skips(found);
        self.check_permissions(found);
        self.check_concurrency(found);
    }

    fn check_pin(&self, found: &mut Vec<Observation>) {
        let uses = self.step.uses.expect("a step of ours has one");
        let text = uses.constant().unwrap_or_default();
        let is_pinned = match Reference::parse(&text) {
            Some(Reference::Remote { reference, .. }) => is_commit(reference),
            Some(Reference::Image(image)) => image.contains("@sha256:"),
            Some(Reference::Local(_)) | None => true,
        };
        if !is_pinned {
            found.push(self.problem(
                "not-pinned",
                uses.span(),
                format!("`{text}` is not pinned to a commit or a digest"),
                "name the 40 digits of the commit of a release, whose action names its image by digest",
            ));
        }
    }

    fn check_required(&self, setup: &Setup<'_>, found: &mut Vec<Observation>) {
        let Ok(rules) = &setup.branch else { return };
        let (place, name) = (self.job.id_span, self.name());
        let own_name = self.input("check-name").unwrap_or_else(|| setup.check_name.to_owned());
        if rules.required.contains(&own_name) && own_name != name {
            found.push(self.problem(
                "check-run-required",
                place,
                format!(
                    "the check run `{own_name}` is required, which any job with `checks: write` can make"
                ),
                "require the job instead",
            ));
        } else if !rules.required.contains(&name) {
            found.push(self.problem(
                "not-required",
                place,
                format!("the job `{name}` is not a required status check of the default branch"),
                "add it to the required status checks of a ruleset or of the branch protection",
            ));
        }
    }

    fn check_triggers(&self, setup: &Setup<'_>, found: &mut Vec<Observation>) {
        for trigger in self.triggers() {
            let place = trigger.name_span;
            let types = trigger.filter("types");
            let skips_drafts = self.mentions_drafts();
            let needed = ["opened", "synchronize", "reopened", "ready_for_review"];
            for event in needed {
                let is_default = types.is_empty() && event != "ready_for_review";
                let is_needed = event != "ready_for_review" || skips_drafts;
                if is_needed && !is_default && !types.contains(&event) {
                    found.push(self.problem(
                        if event == "ready_for_review" { "draft-ready" } else { "event-missing" },
                        place,
                        format!("the workflow does not start when a pull request is `{event}`"),
                        "add the word to `types`, or leave `types` out where drafts are judged too",
                    ));
                }
            }
            for filter in
                ["paths", "paths-ignore"].into_iter().filter(|name| !trigger.filter(name).is_empty())
            {
                found.push(self.problem(
                    "paths-filtered",
                    place,
                    format!("`{filter}` keeps the workflow from other changes, whose required check then waits forever"),
                    "leave the filter out; a run without anything to judge takes a second",
                ));
            }
        }
        let queue = setup.branch.as_ref().is_ok_and(|rules| rules.has_merge_queue);
        if queue && self.workflow.trigger("merge_group").is_none() {
            found.push(self.problem(
                "merge-group-missing",
                self.job.id_span,
                "the default branch has a merge queue, and the workflow does not start for it",
                "add `merge_group:` to `on`",
            ));
        }
    }

    fn mentions_drafts(&self) -> bool {
        let conditions = [self.job.condition, self.step.condition];
        let paths = conditions.into_iter().flatten().flat_map(|condition| condition.paths());
        paths.into_iter().any(|path| (0..4).any(|position| path.name(position) == Some("draft")))
    }

    /// A required check takes a job that is skipped for one that passed.
    fn check_skips(&self, found: &mut Vec<Observation>) {
        let fix = "let the job run always; GitHub counts a skipped job as a passed check";
        for (part, condition) in [("job", self.job.condition), ("step", self.step.condition)] {
            let Some(condition) = condition else { continue };
            if condition.constant() == Some(true) || always_runs(condition.value) {
                continue;
            }
            let id = if self.mentions_drafts() { "draft-skipped" } else { "condition" };
            let place = condition.value.span();
            found.push(self.problem(
                id,
                place,
                format!("where its condition is false the {part} is skipped, and the check passes"),
                fix,
            ));
        }
        let runs_anyway = self.job.condition.is_some_and(|condition| always_runs(condition.value));
        if let (Some(needed), false) = (self.job.needs.first(), runs_anyway) {
            let message = "when a job that it needs fails the job is skipped, and the check passes";
            found.push(self.problem(
                "skipped-by-needs",
                needed.span(),
                message,
                "add `if: ${{ !cancelled() }}` to the job",
            ));
        }
        for flag in [self.job.continue_on_error, self.step.continue_on_error].into_iter().flatten() {
            if flag.flag() != Some(false) {
                let message = "`continue-on-error` lets the check pass when the verdict is FAIL";
                found.push(self.problem("failure-ignored", flag.span(), message, "remove it"));
            }
        }
    }

    fn check_permissions(&self, found: &mut Vec<Observation>) {
        let Some(permissions) = self.job.permissions.as_ref().or(self.workflow.permissions.as_ref()) else {
            let message =
                "the job has no `permissions`, so its token has whatever the repository gives by default";
            let fix = "give the job `contents: read` and `checks: write`";
            found.push(self.problem("permissions", self.job.id_span, message, fix));
            return;
        };
        let place = permissions.value.span();
        for (scope, access) in [("contents", Access::Read), ("checks", Access::Write)] {
            if granted(permissions, scope) < access {
                let word = if access == Access::Read { "read" } else { "write" };
                let message = format!("the job lacks `{scope}: {word}`");
                found.push(self.problem(
                    "permission-missing",
                    place,
                    message,
                    "add it to the `permissions` of the job",
                ));
            }
        }
        let mut useful = vec!["checks"];
        useful.extend(self.is_on("comment").then_some("pull-requests"));
        useful.extend(self.is_on("upload-sarif").then_some("security-events"));
        useful.extend(self.is_on("open-issue").then_some("issues"));
        let all = (permissions.all == Some(Access::Write)).then_some("every scope");
        let scopes = permissions.writes().map(|grant| grant.scope).filter(|scope| !useful.contains(scope));
        for scope in all.into_iter().chain(scopes) {
            let message = format!("the job's token may write {scope}, which the action does not need");
            found.push(self.problem(
                "permission-excess",
                place,
                message,
                "remove it, or move what needs it to a job of its own",
            ));
        }
    }

    /// A merge group that is cancelled leaves the queue.
    fn check_concurrency(&self, found: &mut Vec<Observation>) {
        if self.workflow.trigger("merge_group").is_none() {
            return;
        }
        for concurrency in [self.workflow.concurrency, self.job.concurrency].into_iter().flatten() {
            let cancels = concurrency.get("cancel-in-progress");
            let group = concurrency.get("group").and_then(|group| group.node().text().map(str::to_owned));
            let is_own = group.is_some_and(|group| {
                ["github.ref", "github.sha", "github.run_id", "merge_group"]
                    .iter()
                    .any(|word| group.contains(word))
            });
            if let Some(cancels) = cancels.filter(|cancels| cancels.flag() == Some(true) && !is_own) {
                found.push(self.problem(
                    "merge-group-cancelled",
                    cancels.span(),
                    "a newer run cancels that of a merge group, which then leaves the queue",
                    "write `cancel-in-progress: ${{ github.event_name == 'pull_request' }}`",
                ));
            }
        }
    }
}

/// Returns whether a condition holds whatever became of the jobs and steps before.
fn always_runs(condition: Value<'_>) -> bool {
    let text = condition.node().text().unwrap_or_default();
    let text: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    let inside = text.strip_prefix("${{").and_then(|text| text.strip_suffix("}}")).unwrap_or(&text);
    ["always()", "!cancelled()"].contains(&inside)
}

fn granted(permissions: &Permissions<'_>, scope: &str) -> Access {
    let own = permissions.grants.iter().find(|grant| grant.scope == scope).map(|grant| grant.access);
    own.or(permissions.all).unwrap_or(Access::None)
}

fn is_commit(reference: &str) -> bool {
    reference.len() == 40 && reference.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether the lists of ignored paths of a commit name a path; `text_at` gives the text of a file.
pub fn is_ignored(path: &str, text_at: &dyn Fn(&str) -> Option<String>) -> bool {
    let ends = path.match_indices('/').map(|(at, _)| at + 1);
    let mut ignored = false;
    for start in std::iter::once(0).chain(ends) {
        let Some(text) = text_at(&format!("{}.gitignore", &path[..start])) else { continue };
        for pattern in ignore_patterns(IgnoreDialect::Git, &text) {
            if pattern.matches(&path[start..]) {
                ignored = !pattern.negated;
            }
        }
    }
    ignored
}

fn check_owners(setup: &Setup<'_>, found: &mut Vec<Observation>) {
    let owners = CodeOwners::parse(setup.codeowners.unwrap_or_default());
    let workflows = setup.workflows.iter().map(|(path, _)| path.as_str());
    for path in [".qa-skill/policy.toml"].into_iter().chain(workflows) {
        if owners.rules_of(path).iter().all(|rule| rule.owners.is_empty()) {
            let message =
                format!("`{path}` has no code owner, so any reviewer may approve a change of the gate");
            found.push(problem(
                "unowned",
                None,
                message,
                "name owners of `/.qa-skill/` and `/.github/` in CODEOWNERS, and require their review",
            ));
        }
    }
}

fn check_reports(setup: &Setup<'_>, found: &mut Vec<Observation>) {
    let reports = setup.policy.gates.values().flat_map(|gate| &gate.reports);
    let paths: BTreeSet<&str> = reports.map(|report| report.path.as_str()).collect();
    for path in paths.into_iter().filter(|path| !(setup.is_ignored)(path)) {
        let message = format!("git does not ignore the report `{path}`, so a change could commit one");
        found.push(problem("report-not-ignored", None, message, "add the path to .gitignore"));
    }
}
