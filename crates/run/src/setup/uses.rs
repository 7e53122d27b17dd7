//! Reads which workflows run the action, and as which commit; and the owners of a path.

use super::{PULL_REQUEST_EVENTS, is_ours};
use qa_lenses::is_gate;
use qa_reading::codeowners::CodeOwners;
use qa_reading::documents::{Document, Format};
use qa_reading::workflow::{Job, Reference, Step, Value, Workflow};

/// A commit of the action's repository, as `uses` of a step names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionPin {
    /// `owner/qa-skill`.
    repository: String,
    /// Forty lower-case hexadecimal digits.
    commit: String,
}

impl ActionPin {
    /// Parses `OWNER/qa-skill@COMMIT`, with the full id of the commit.
    ///
    /// # Errors
    /// The part that is wrong, as the end of a sentence.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (repository, commit) =
            text.split_once('@').ok_or("it has no `@`; expected OWNER/qa-skill@COMMIT")?;
        let (owner, name) =
            repository.split_once('/').ok_or("it has no owner; expected OWNER/qa-skill@COMMIT")?;
        let is_owner = (1..=39).contains(&owner.len())
            && owner.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !is_owner {
            return Err("the owner is no account of GitHub, which has letters, digits and `-`");
        }
        if !is_gate(name) {
            return Err("the repository is not called qa-skill, which is how its steps are recognised");
        }
        let is_commit = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_commit {
            return Err("the commit is not its full id of 40 hexadecimal digits; a tag or a branch can move");
        }
        Ok(Self { repository: repository.to_owned(), commit: commit.to_ascii_lowercase() })
    }

    /// Returns `owner/qa-skill`.
    #[must_use]
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Returns the commit's full id.
    #[must_use]
    pub fn commit(&self) -> &str {
        &self.commit
    }
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
    let on_pull_requests = PULL_REQUEST_EVENTS.iter().any(|name| workflow.trigger(name).is_some());
    let on_schedule = workflow.trigger("schedule").is_some();
    for step in workflow.jobs.iter().flat_map(|job: &Job<'_>| &job.steps).filter(|step| is_ours(step, false))
    {
        let command = command_of(step);
        let replays = command == "drift-check" || command.is_empty() && on_schedule && !on_pull_requests;
        found.replays |= replays;
        found.judges |= on_pull_requests && matches!(command.as_str(), "" | "check" | "aggregate");
        found.action = found.action.take().or_else(|| pin_of(step));
    }
    found
}

fn command_of(step: &Step<'_>) -> String {
    let command = step.input("command").and_then(Value::constant);
    command.map(|text| text.trim().to_owned()).unwrap_or_default()
}

fn pin_of(step: &Step<'_>) -> Option<ActionPin> {
    let text = step.uses.and_then(Value::constant)?;
    match Reference::parse(&text)? {
        Reference::Remote { name, reference } => ActionPin::parse(&format!("{name}@{reference}")).ok(),
        Reference::Image(_) | Reference::Local(_) => None,
    }
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
        for (text, part) in [
            ("acme/qa-skill".to_owned(), "no `@`"),
            (format!("qa-skill@{SHA}"), "no owner"),
            (format!("ac me/qa-skill@{SHA}"), "no account"),
            (format!("acme\n/qa-skill@{SHA}"), "no account"),
            (format!("acme/other@{SHA}"), "not called qa-skill"),
            (format!("acme/qa-skill/sub@{SHA}"), "not called qa-skill"),
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
    fn the_last_rule_decides_about_owners() {
        let text = "* @all\n/.qa-skill/ @sec @two\n";
        assert_eq!(owners_of(text, ".qa-skill/policy.toml"), ["@sec", "@two"]);
        assert_eq!(owners_of(text, "a"), ["@all"]);
        assert_eq!(owners_of("", "a"), [""; 0]);
    }
}
