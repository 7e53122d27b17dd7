//! Text that anyone may choose, and the scripts that it may become a part of.

use qa_reading::workflow::{Expression, Path, Step, Value};

use super::model::{Scope, uses_action};

/// Texts that whoever opens an issue, a pull request, a comment or a branch may choose.
const CHOSEN: &[Chosen] = &[
    line("github.head_ref"),
    line("github.event.issue.title"),
    lines("github.event.issue.body"),
    line("github.event.pull_request.title"),
    lines("github.event.pull_request.body"),
    line("github.event.pull_request.head.ref"),
    line("github.event.pull_request.head.label"),
    line("github.event.pull_request.head.repo.default_branch"),
    line("github.event.pull_request.head.repo.description"),
    line("github.event.pull_request.head.repo.homepage"),
    lines("github.event.comment.body"),
    lines("github.event.review.body"),
    lines("github.event.review_comment.body"),
    line("github.event.discussion.title"),
    lines("github.event.discussion.body"),
    line("github.event.pages.*.page_name"),
    lines("github.event.commits.*.message"),
    line("github.event.commits.*.author.email"),
    line("github.event.commits.*.author.name"),
    lines("github.event.head_commit.message"),
    line("github.event.head_commit.author.email"),
    line("github.event.head_commit.author.name"),
    line("github.event.head_commit.committer.email"),
    line("github.event.head_commit.committer.name"),
    line("github.event.changes.title.from"),
    lines("github.event.changes.body.from"),
    line("github.event.workflow_run.head_branch"),
    line("github.event.workflow_run.display_title"),
    lines("github.event.workflow_run.head_commit.message"),
    line("github.event.workflow_run.head_commit.author.email"),
    line("github.event.workflow_run.head_commit.author.name"),
    line("github.event.workflow_run.head_repository.description"),
    line("github.event.workflow_run.pull_requests.*.head.ref"),
];

/// A path of the event to a text that anyone may choose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chosen {
    path: &'static str,
    /// True if the text may have several lines.
    pub(crate) has_lines: bool,
}

const fn line(path: &'static str) -> Chosen {
    Chosen { path, has_lines: false }
}

const fn lines(path: &'static str) -> Chosen {
    Chosen { path, has_lines: true }
}

/// Inputs of actions that run them as scripts, whatever the action.
const SCRIPTS: &[&str] = &["script", "inlineScript"];

/// Inputs that one action runs as a script.
const SCRIPTS_OF: &[(&str, &[&str])] = &[
    ("addnab/docker-run-action", &["run"]),
    ("cypress-io/github-action", &["build", "command", "install-command", "start"]),
    ("mikefarah/yq", &["cmd"]),
    ("nick-fields/retry", &["command"]),
];

/// Returns the texts of a step that are run as scripts.
pub(crate) fn scripts<'d>(step: &Step<'d>) -> impl Iterator<Item = Value<'d>> + use<'d> {
    let own = SCRIPTS_OF.iter().filter(|(action, _)| uses_action(step, action)).flat_map(|(_, names)| *names);
    let names = SCRIPTS.iter().filter(|_| step.uses.is_some()).chain(own);
    let given: Vec<_> = names.filter_map(|name| step.input(name)).collect();
    step.run.map(|run| run.value).into_iter().chain(given)
}

/// Returns the path to a chosen text that an expression takes its value from.
pub(crate) fn chosen_source(expression: &Expression, scope: &Scope<'_, '_>) -> Option<Path> {
    let whole = calls(expression, "tojson");
    scope.sources(expression).into_iter().find(|path| chosen(path, whole).is_some())
}

/// Returns whether a path names a chosen text, or an object with one in it.
pub(crate) fn is_chosen(path: &Path) -> bool {
    chosen(path, true).is_some()
}

/// Returns the text that a path names, or that is a part of the object that it names where `toJSON` writes all of it.
pub(crate) fn chosen(path: &Path, whole: bool) -> Option<Chosen> {
    CHOSEN.iter().copied().find(|chosen| {
        let names: Vec<&str> = chosen.path.split('.').collect();
        path.is_within(&names) || whole && is_part_of(&names, path)
    })
}

fn is_part_of(names: &[&str], path: &Path) -> bool {
    let prefix = names.get(..=path.segments.len());
    prefix.is_some_and(|prefix| path.is_within(prefix))
}

fn calls(expression: &Expression, name: &str) -> bool {
    match expression {
        Expression::Literal(_) | Expression::Path(_) => false,
        Expression::Part { of, .. } => calls(of, name),
        Expression::Not(inner) => calls(inner, name),
        Expression::Call { function, arguments } => {
            function == name || arguments.iter().any(|argument| calls(argument, name))
        }
        Expression::Binary { left, right, .. } => calls(left, name) || calls(right, name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_an_expression_decides() {
        let cases = [
            ("github.head_ref", true),
            ("github.event.issue['title']", true),
            ("github.event.commits[0].message", true),
            ("join(github.event.commits.*.message, ' ')", true),
            ("toJSON(github.event.comment.body)", true),
            ("toJson(github.event)", true),
            ("toJson(github.event.commits)", true),
            ("toJson(github.event.inputs)", false),
            ("github.event", false),
            ("github.event_name == 'push' && 'a' || github.head_ref", true),
            ("github.head_ref == 'main'", false),
            ("contains(github.event.issue.body, 'x')", false),
            ("github.head_ref && 'a' || 'b'", false),
            ("github.event.pull_request.head.sha", false),
            ("github.event.number", false),
        ];
        for (text, expected) in cases {
            let expression = Expression::parse(text).expect(text);
            let whole = calls(&expression, "tojson");
            let is_chosen = expression.sources().into_iter().any(|path| chosen(path, whole).is_some());
            assert_eq!(is_chosen, expected, "{text}");
        }
    }
}
