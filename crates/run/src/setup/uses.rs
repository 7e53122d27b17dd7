//! Reads which workflows run the action, and as which commit; and the owners of a path.

use super::{PULL_REQUEST_EVENTS, is_ours};
use qa_lenses::is_gate;
use qa_reading::codeowners::CodeOwners;
use qa_reading::documents::{Document, Format};
use qa_reading::workflow::{
    Condition, Expression, Job, Literal, Path, Reference, Step, Trigger, Value, Workflow,
};

/// A commit of the action's repository, as `uses` of a step names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionPin {
    /// `owner/qa-skill`.
    repository: String,
    /// Forty lower-case hexadecimal digits.
    commit: String,
    /// Version that a comment behind the commit names, for people and for tools that update pins.
    version: Option<String>,
}

impl ActionPin {
    /// Parses `OWNER/qa-skill@COMMIT`, with the full id of the commit; `# vX.Y.Z` may follow, as in a workflow.
    ///
    /// # Errors
    /// The part that is wrong, as the end of a sentence.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (text, version) = match text.split_once('#') {
            Some((uses, version)) => (uses.trim_end(), Some(version.trim())),
            None => (text, None),
        };
        if version.is_some_and(|version| !is_version(version)) {
            return Err("what follows `#` is no version; expected `# vX.Y.Z`");
        }
        let (repository, commit) =
            text.split_once('@').ok_or("it has no `@`; expected OWNER/qa-skill@COMMIT")?;
        let (owner, name) =
            repository.split_once('/').ok_or("it has no owner; expected OWNER/qa-skill@COMMIT")?;
        let is_owner = (1..=39).contains(&owner.len())
            && owner.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !is_owner {
            return Err("the owner is no account of GitHub, which has letters, digits and `-`");
        }
        if name.contains('/') || !is_gate(name) {
            return Err("the repository is not called qa-skill, which is how its steps are recognised");
        }
        let is_commit = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_commit {
            return Err("the commit is not its full id of 40 hexadecimal digits; a tag or a branch can move");
        }
        Ok(Self {
            repository: repository.to_owned(),
            commit: commit.to_ascii_lowercase(),
            version: version.map(str::to_owned),
        })
    }

    /// Returns `owner/qa-skill`.
    #[must_use]
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Returns the version that a comment names.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Returns the text of `uses` with the version as a comment, if there is one.
    #[must_use]
    pub fn with_version(&self) -> String {
        let comment = self.version.as_ref().map(|version| format!(" # {version}"));
        format!("{self}{}", comment.unwrap_or_default())
    }

    /// Returns the commit's full id.
    #[must_use]
    pub fn commit(&self) -> &str {
        &self.commit
    }
}

/// Returns whether a comment behind a commit can be a version.
fn is_version(text: &str) -> bool {
    (1..=60).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-+_".contains(&byte))
}

impl std::fmt::Display for ActionPin {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}@{}", self.repository, self.commit)
    }
}

/// Facts about a workflow that setting up the gate depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkflowUse {
    /// True if a step runs the action on pull requests.
    pub judges: bool,
    /// True if a step replays stored verdicts.
    pub replays: bool,
    /// Commit of the action, if a step names one.
    pub action: Option<ActionPin>,
    /// True if it runs for merge groups.
    pub serves_merge_queue: bool,
}

/// Reads a workflow; one that cannot be parsed does not run, so it uses nothing.
#[must_use]
pub fn workflow_use(text: &str) -> WorkflowUse {
    let mut found = WorkflowUse::default();
    let Ok(document) = Document::parse(Format::Yaml, text) else { return found };
    let Ok(workflow) = Workflow::parse(&document) else { return found };
    found.serves_merge_queue = workflow.trigger("merge_group").is_some();
    let on_schedule = workflow.trigger("schedule").is_some();
    for job in &workflow.jobs {
        for step in job.steps.iter().filter(|step| is_ours(step, false)) {
            let command = command_of(step);
            let on_pull_requests = runs_on_pull_requests(&workflow, job, step);
            found.replays |= match command.as_deref() {
                Some("drift-check") => true,
                Some("") => on_schedule && !on_pull_requests,
                Some(_) | None => false,
            };
            let is_verdict = matches!(command.as_deref(), Some("" | "check" | "aggregate"));
            // A shard has no verdict.
            found.judges |= on_pull_requests && is_verdict && step.input("shard").is_none();
            found.action = found.action.take().or_else(|| pin_of(step));
        }
    }
    found
}

/// Returns the command of a step, empty where it names none; `None` where an expression computes it.
fn command_of(step: &Step<'_>) -> Option<String> {
    match step.input("command") {
        Some(command) => Some(command.constant()?.trim().to_owned()),
        None => Some(String::new()),
    }
}

/// Returns whether an open pull request may start a step, as far as triggers and conditions say.
fn runs_on_pull_requests(workflow: &Workflow<'_>, job: &Job<'_>, step: &Step<'_>) -> bool {
    let triggers = PULL_REQUEST_EVENTS.iter().filter_map(|name| workflow.trigger(name));
    let mut open = triggers.filter(|trigger| starts_while_open(trigger));
    open.any(|trigger| {
        let conditions = [job.condition, step.condition];
        conditions.into_iter().flatten().all(|condition| may_hold(condition, trigger.name))
    })
}

fn starts_while_open(trigger: &Trigger<'_>) -> bool {
    let types = trigger.filter("types");
    types.is_empty() || types.iter().any(|name| *name != "closed")
}

/// Returns false for a condition that is false whenever this event of a pull request starts the workflow.
fn may_hold(condition: Condition<'_>, event: &str) -> bool {
    match condition.expression() {
        Some(expression) => at_event(&expression, event).truth() != Some(false),
        None => condition.constant() != Some(false),
    }
}

/// Returns an expression with what an event of a pull request decides written out.
fn at_event(expression: &Expression, event: &str) -> Expression {
    match expression {
        Expression::Path(path) => match known_at_event(path, event) {
            Some(text) => Expression::Literal(Literal::Text(text.to_owned())),
            None => expression.clone(),
        },
        Expression::Not(inner) => Expression::Not(Box::new(at_event(inner, event))),
        Expression::Call { function, arguments } => Expression::Call {
            function: function.clone(),
            arguments: arguments.iter().map(|argument| at_event(argument, event)).collect(),
        },
        Expression::Binary { operator, left, right } => Expression::Binary {
            operator: *operator,
            left: Box::new(at_event(left, event)),
            right: Box::new(at_event(right, event)),
        },
        Expression::Literal(_) | Expression::Part { .. } => expression.clone(),
    }
}

fn known_at_event<'e>(path: &Path, event: &'e str) -> Option<&'e str> {
    match (path.context.as_str(), path.segments.len(), path.name(0)) {
        ("github", 1, Some("event_name")) => Some(event),
        // A pull request of any number is no branch; the other event has the ref of the base.
        ("github", 1, Some("ref")) if event == "pull_request" => Some("refs/pull/0/merge"),
        _ => None,
    }
}

fn pin_of(step: &Step<'_>) -> Option<ActionPin> {
    let text = step.uses.and_then(Value::constant)?;
    match Reference::parse(&text)? {
        Reference::Remote { name, reference } => ActionPin::parse(&format!("{name}@{reference}")).ok(),
        Reference::Image(_) | Reference::Local(_) => None,
    }
}

/// Returns whether a word is an owner as GitHub knows them: a user, a team or a mail address, without blanks.
#[must_use]
pub fn is_owner(text: &str) -> bool {
    match text.split_once('@') {
        Some(("", name)) => match name.split_once('/') {
            Some((organisation, team)) => is_word(organisation) && is_word(team),
            None => is_word(name),
        },
        Some((user, host)) => is_word(user) && is_word(host) && host.contains('.'),
        None => false,
    }
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte))
}

/// Returns the owners of a path by the text of CODEOWNERS, in their order.
#[must_use]
pub fn owners_of(codeowners: &str, path: &str) -> Vec<String> {
    let owners = CodeOwners::parse(codeowners);
    let rules = owners.rules_of(path);
    rules.iter().flat_map(|rule| &rule.owners).map(|owner| owner.text.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA: &str = "3d3c42e5aac5ba805825da76410c181273ba90b1";

    #[test]
    fn a_pin_is_an_owner_our_name_and_a_full_commit() {
        let upper = SHA.to_ascii_uppercase();
        for text in [format!("acme/qa-skill@{SHA}"), format!("acme/qa-skill@{upper}")] {
            assert_eq!(ActionPin::parse(&text).unwrap().to_string(), format!("acme/qa-skill@{SHA}"));
        }
        let pin = ActionPin::parse(&format!("acme/qa-skill@{SHA} # v1.2.0-rc.1")).unwrap();
        assert_eq!(pin.with_version(), format!("acme/qa-skill@{SHA} # v1.2.0-rc.1"));
        for (text, part) in [
            ("acme/qa-skill".to_owned(), "no `@`"),
            (format!("qa-skill@{SHA}"), "no owner"),
            (format!("ac me/qa-skill@{SHA}"), "no account"),
            (format!("acme\n/qa-skill@{SHA}"), "no account"),
            (format!("acme/other@{SHA}"), "not called qa-skill"),
            (format!("acme/qa-skill/sub@{SHA}"), "not called qa-skill"),
            (format!("acme/sub/qa-skill@{SHA}"), "not called qa-skill"),
            (format!("acme/qa-skill@{SHA} # v1 of it"), "no version"),
            (format!("acme/qa-skill@{SHA} #"), "no version"),
            ("acme/qa-skill@v1".to_owned(), "full id"),
            (format!("acme/qa-skill@{SHA}0"), "full id"),
            (format!("acme/qa-skill@{} ", &SHA[1..]), "full id"),
            ("OWNER/qa-skill@COMMIT".to_owned(), "full id"),
        ] {
            let error = ActionPin::parse(&text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    fn workflow(on: &str, step: &str) -> String {
        format!("on: {on}\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - {step}\n")
    }

    #[test]
    fn workflows_judge_replay_or_do_something_else() {
        let pinned = format!("uses: acme/qa-skill@{SHA}");
        let replay = format!("{{ uses: acme/qa-skill@{SHA}, with: {{ command: drift-check }} }}");
        for (on, step, judges, replays, is_pinned) in [
            ("pull_request", pinned.as_str(), true, false, true),
            ("[pull_request, merge_group]", "uses: acme/QA-Skill@v1", true, false, false),
            ("pull_request", "uses: docker://ghcr.io/acme/qa-skill@sha256:0", true, false, false),
            ("pull_request", "uses: acme/other@v1", false, false, false),
            ("push", pinned.as_str(), false, false, true),
            ("{ schedule: [{ cron: '1 2 * * *' }] }", pinned.as_str(), false, true, true),
            ("workflow_dispatch", replay.as_str(), false, true, true),
            ("pull_request", replay.as_str(), false, true, true),
        ] {
            let found = workflow_use(&workflow(on, step));
            let expected = (judges, replays, is_pinned);
            assert_eq!((found.judges, found.replays, found.action.is_some()), expected, "{on} {step}");
            assert_eq!(found.serves_merge_queue, on.contains("merge_group"));
        }
        assert_eq!(workflow_use("on: [\n"), WorkflowUse::default());
    }

    #[test]
    fn a_job_that_no_open_pull_request_starts_judges_none() {
        let uses = format!("uses: acme/qa-skill@{SHA}");
        let both = "{ pull_request: , push: , schedule: [{ cron: '1 2 * * *' }] }";
        let with = |job: &str, step: &str, on: &str| {
            let text =
                format!("on: {on}\njobs:\n  a:\n    runs-on: x\n{job}    steps:\n      - {uses}\n{step}");
            let found = workflow_use(&text);
            (found.judges, found.replays)
        };
        for (condition, expected) in [
            ("github.event_name == 'schedule'", (false, true)),
            ("${{ github.event_name == 'push' }}", (false, true)),
            ("github.event_name != 'pull_request'", (false, true)),
            ("github.ref == 'refs/heads/main' && success()", (false, true)),
            ("false", (false, true)),
            ("github.event_name == 'pull_request'", (true, false)),
            ("github.event_name == 'push' || github.actor != 'bot'", (true, false)),
            ("!github.event.pull_request.draft", (true, false)),
            ("always()", (true, false)),
        ] {
            assert_eq!(with(&format!("    if: \"{condition}\"\n"), "", both), expected, "job: {condition}");
            assert_eq!(with("", &format!("        if: \"{condition}\"\n"), both), expected, "{condition}");
        }
        // The ref of the other event is that of the base.
        let main = "    if: github.ref == 'refs/heads/main'\n";
        assert!(with(main, "", "pull_request_target").0);
        assert!(!with("", "", "{ pull_request: { types: [closed] } }").0);
        assert!(with("", "", "{ pull_request: { types: [closed, opened] } }").0);
        for (inputs, judges) in [
            ("{ shard: 1/2 }", false),
            ("{ command: plan }", false),
            ("{ command: '${{ inputs.command }}' }", false),
            ("{ command: aggregate }", true),
            ("{ command: '' }", true),
        ] {
            assert_eq!(with("", &format!("        with: {inputs}\n"), "pull_request").0, judges, "{inputs}");
        }
    }

    #[test]
    fn an_owner_is_a_user_a_team_or_an_address() {
        for (text, expected) in [
            ("@sam", true),
            ("@acme/security", true),
            ("sam@example.com", true),
            ("sam", false),
            ("@", false),
            ("@a/", false),
            ("@a/b/c", false),
            ("@sam @kim", false),
            ("@sam\n* @kim", false),
            ("sam@host", false),
            ("a@b@c.d", false),
            ("@sam#", false),
        ] {
            assert_eq!(is_owner(text), expected, "{text:?}");
        }
    }

    #[test]
    fn the_last_rule_decides_about_owners() {
        let text = "* @all\n/.qa-skill/ @sec @two\n";
        assert_eq!(owners_of(text, ".qa-skill/policy.toml"), ["@sec", "@two"]);
        assert_eq!(owners_of(text, "a"), ["@all"]);
        assert_eq!(owners_of("", "a"), [""; 0]);
    }
}
