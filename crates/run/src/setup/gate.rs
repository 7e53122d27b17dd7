//! Checks of one step that runs the action, with its job and workflow.

use super::{Observation, Place, Setup, check_name, place, problem};
use qa_reading::glob;
use qa_reading::syntax::Span;
use qa_reading::workflow::{Access, Job, Permissions, Reference, Step, Trigger, Value, Workflow};

/// Events of pull requests that start a gate.
pub(super) const PULL_REQUEST_EVENTS: [&str; 2] = ["pull_request", "pull_request_target"];

/// Step that runs the action, with its job and workflow.
pub(super) struct Gate<'g, 'd> {
    pub(super) path: &'g str,
    pub(super) text: &'g str,
    pub(super) workflow: &'g Workflow<'d>,
    pub(super) job: &'g Job<'d>,
    pub(super) step: &'g Step<'d>,
}

impl Gate<'_, '_> {
    pub(super) fn place(&self, span: Span) -> Place {
        place(self.path, self.text, span)
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
    pub(super) fn triggers(&self) -> impl Iterator<Item = &Trigger<'_>> {
        PULL_REQUEST_EVENTS.iter().filter_map(|name| self.workflow.trigger(name))
    }

    pub(super) fn input(&self, name: &str) -> Option<String> {
        Some(self.step.input(name)?.constant()?.trim().to_owned()).filter(|text| !text.is_empty())
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.input(name)?.parse().ok()
    }

    fn is_on(&self, input: &str) -> bool {
        self.input(input).as_deref() == Some("true")
    }

    pub(super) fn check(&self, setup: &Setup<'_>, found: &mut Vec<Observation>) {
        self.check_required(setup, found);
        self.check_triggers(setup, found);
        self.check_inputs(found);
        self.check_skips(found);
        let mut needed = vec![("contents", Access::Read), ("checks", Access::Write)];
        // The observer finds the turn before by its artifact.
        needed.extend(setup.policy.observer.as_ref().map(|_| ("actions", Access::Read)));
        self.check_permissions(&needed, found);
        self.check_concurrency(found);
    }

    /// Checks a step of the second stage, whose check run is the only check of the head that it has.
    pub(super) fn check_second_stage(&self, setup: &Setup<'_>, found: &mut Vec<Observation>) {
        let name = self.input("check-name").unwrap_or_else(|| setup.reviews_check_name.to_owned());
        if let Ok(rules) = &setup.branch
            && !rules.required.contains_key(&name)
        {
            found.push(self.problem(
                "reviews-not-required",
                self.job.id_span,
                format!("the check run `{name}` of the second stage is not a required status check of the default branch"),
                "add it to the required status checks, with GitHub Actions as its source",
            ));
        }
        self.check_inputs(found);
        let needed = ["contents", "actions", "pull-requests"].map(|scope| (scope, Access::Read));
        self.check_permissions(&[&needed[..], &[("checks", Access::Write)]].concat(), found);
    }

    /// Checks that a step before a second stage leaves models to that.
    pub(super) fn check_first_stage(&self, found: &mut Vec<Observation>) {
        if self.is_on("no-model") {
            return;
        }
        found.push(self.problem(
            "first-stage-asks",
            self.step.value.span(),
            "the first stage sends requests to models too, where it has a key, and the second stage sends them again",
            "set `no-model: true` in the first stage, and give the key to the second alone",
        ));
    }

    pub(super) fn check_pin(&self, found: &mut Vec<Observation>) {
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
        let (place, name) = (self.job.id_span, check_name(self.job));
        let own_name = self.input("check-name").unwrap_or_else(|| setup.check_name.to_owned());
        if own_name == name || rules.required.contains_key(&own_name) {
            let message = format!(
                "the check run `{own_name}` is required, which any job with `checks: write` can make"
            );
            found.push(self.problem(
                "check-run-required",
                place,
                message,
                "require the job instead, under another name",
            ));
        } else if self.job.strategy.is_some_and(|strategy| strategy.get("matrix").is_some()) {
            let message = format!("the job has a matrix, so no check is named `{name}`");
            found.push(self.problem("matrix", place, message, "run the action in a job without a matrix"));
        } else if let Some(is_bound) = rules.required.get(&name) {
            if !is_bound {
                let message = format!("any app may report the required check `{name}`");
                found.push(self.problem(
                    "not-bound",
                    place,
                    message,
                    "choose GitHub Actions as the source of the check",
                ));
            }
        } else {
            let message = format!("the job `{name}` is not a required status check of the default branch");
            let fix = "add it to the required status checks of a ruleset or of the branch protection";
            found.push(self.problem("not-required", place, message, fix));
        }
    }

    /// Inputs that choose what is judged, or by which lenses, take the choice from the base's policy and the event.
    fn check_inputs(&self, found: &mut Vec<Observation>) {
        let chosen = ["base", "head", "lenses"].iter().filter_map(|name| self.step.input(name));
        let computed = ["command", "mode", "preset"].iter().filter_map(|name| self.step.input(name));
        let computed = computed.filter(|value| value.constant().is_none());
        let weak = self.step.input("preset").filter(|_| self.input("preset").as_deref() == Some("advisory"));
        for value in chosen
            .filter(|value| value.constant().is_none_or(|text| !text.trim().is_empty()))
            .chain(computed)
            .chain(weak)
        {
            let message =
                "the input chooses what is judged or how, in place of the event and the base's policy";
            found.push(self.problem("input-chosen", value.span(), message, "leave the input out"));
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
        let branch = setup.branch.as_ref().map_or("", |rules| rules.branch.as_str());
        let queued = self.workflow.trigger("merge_group");
        for trigger in
            self.triggers().chain(queued).filter(|trigger| !branch.is_empty() && !admits(trigger, branch))
        {
            let message = format!("the filter of branches keeps the workflow from `{branch}`");
            found.push(self.problem(
                "branches-filtered",
                trigger.name_span,
                message,
                "leave the filter out, or name the branch",
            ));
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

    fn check_permissions(&self, needed: &[(&str, Access)], found: &mut Vec<Observation>) {
        let Some(permissions) = self.job.permissions.as_ref().or(self.workflow.permissions.as_ref()) else {
            let message =
                "the job has no `permissions`, so its token has whatever the repository gives by default";
            let fix = "give the job `contents: read` and `checks: write`";
            found.push(self.problem("permissions", self.job.id_span, message, fix));
            return;
        };
        let place = permissions.value.span();
        for &(scope, access) in needed {
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
        let writes_to_pull = self.is_on("comment") || self.is_on("suggestions");
        useful.extend(writes_to_pull.then_some("pull-requests"));
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
            let group = concurrency.get("group").unwrap_or(concurrency);
            let text = group.node().text().unwrap_or_default().replace("github.ref_type", "");
            let words = ["github.ref", "github.run_id", "github.sha", "merge_group"];
            if !words.iter().any(|word| text.contains(word)) {
                found.push(self.problem(
                    "merge-group-cancelled",
                    group.span(),
                    "a newer run cancels that of a merge group in this concurrency group, and it leaves the queue",
                    "put `${{ github.ref }}` into the name of the group",
                ));
            }
        }
    }
}

/// Returns whether the filters of a trigger admit a branch: the last pattern that matches decides.
fn admits(trigger: &Trigger<'_>, branch: &str) -> bool {
    let mut admitted = trigger.filter("branches").is_empty();
    for pattern in trigger.filter("branches") {
        match pattern.strip_prefix('!') {
            Some(pattern) => admitted &= !glob::matches(pattern, branch),
            None => admitted |= glob::matches(pattern, branch),
        }
    }
    admitted && !trigger.filter("branches-ignore").iter().any(|pattern| glob::matches(pattern, branch))
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
