//! Conditions of workflows that never hold, or hold for no pull request, by what is known of their contexts.

use std::collections::{BTreeMap, BTreeSet};

use qa_reading::workflow::{Condition, Expression, Literal, Operator, Path, Segment};

use super::commands::Effect;

/// Contexts whose values are known.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// Events that the workflow runs for; none for an action.
    pub(super) events: BTreeSet<String>,
    pub(super) matrix: BTreeMap<String, Vec<String>>,
    /// Names that every leg of the matrix has a value for.
    pub(super) whole: BTreeSet<String>,
}

/// Events of proposed changes.
const PROPOSALS: &[&str] = &["merge_group", "pull_request", "pull_request_target"];

/// Names of the person who made a change, in the context `github`.
const ACTORS: &[&str] = &["actor", "actor_id", "triggering_actor"];

/// Parts of a pull request that its author writes, in the event.
const WRITTEN: &[&str] = &[
    "assignees",
    "author_association",
    "body",
    "labels",
    "milestone",
    "requested_reviewers",
    "title",
    "user",
];

/// Other contexts that the author of a change chooses.
const CHOSEN: &[&[&str]] = &[
    &["github", "head_ref"],
    &["github", "event", "label"],
    &["github", "event", "sender"],
    &["github", "event", "pull_request", "head", "ref"],
    &["github", "event", "pull_request", "head", "label"],
];

/// Parts of the event of a proposed change that are always set.
const SET: &[&str] =
    &["base", "created_at", "head", "html_url", "id", "node_id", "number", "state", "title", "url", "user"];

/// Parts of events that no proposed change has.
const OF_OTHER_EVENTS: &[&str] = &[
    "base_ref",
    "check_run",
    "check_suite",
    "client_payload",
    "comment",
    "commits",
    "compare",
    "created",
    "deleted",
    "forced",
    "head_commit",
    "issue",
    "pusher",
    "ref",
    "release",
    "schedule",
    "workflow_run",
];

/// Returns whether a context is the repository that a pull request comes from.
fn is_origin(path: &Path) -> bool {
    ["repo", "user"].iter().any(|name| path.is_within(&["github", "event", "pull_request", "head", name]))
}

/// Returns an expression for a pull request that comes from a fork, or from the repository itself.
fn with_origin(expression: &Expression, is_fork: bool) -> Expression {
    match expression {
        Expression::Path(path) if is_origin(path) && path.name(4) == Some("fork") => {
            Expression::Literal(Literal::Flag(is_fork))
        }
        Expression::Binary { operator: operator @ (Operator::Equal | Operator::Unequal), left, right }
            if compares_origin(left, right) =>
        {
            Expression::Literal(Literal::Flag((*operator == Operator::Unequal) == is_fork))
        }
        Expression::Binary { operator, left, right } => {
            let [left, right] = [left, right].map(|side| Box::new(with_origin(side, is_fork)));
            Expression::Binary { operator: *operator, left, right }
        }
        Expression::Not(inner) => Expression::Not(Box::new(with_origin(inner, is_fork))),
        Expression::Call { function, arguments } => Expression::Call {
            function: function.clone(),
            arguments: arguments.iter().map(|argument| with_origin(argument, is_fork)).collect(),
        },
        Expression::Literal(_) | Expression::Path(_) | Expression::Part { .. } => expression.clone(),
    }
}

/// Returns whether two expressions are the name of the repository that a pull request comes from, and one that is written
/// out.
fn compares_origin(left: &Expression, right: &Expression) -> bool {
    compared_with_text(left, right).is_some_and(|path| is_origin(path) && path.name(4) != Some("fork"))
}

/// Returns the context that a comparison holds against a text that is written out.
fn compared_with_text<'e>(left: &'e Expression, right: &'e Expression) -> Option<&'e Path> {
    match (left, right) {
        (Expression::Path(path), Expression::Literal(Literal::Text(_)))
        | (Expression::Literal(Literal::Text(_)), Expression::Path(path)) => Some(path),
        _ => None,
    }
}

/// Returns whether a context is what the author of a change chooses, or a variable that stands in no file.
fn is_chosen(path: &Path) -> bool {
    let is_written = WRITTEN.iter().any(|name| path.is_within(&["github", "event", "pull_request", name]));
    let is_actor = ACTORS.iter().any(|name| path.is_within(&["github", name]));
    is_written || is_actor || path.context == "vars" || CHOSEN.iter().any(|names| path.is_within(names))
}

/// Accounts that update dependencies. Nobody else acts by these names.
const BOTS: &[&str] = &["dependabot-preview[bot]", "dependabot[bot]", "pre-commit-ci[bot]", "renovate[bot]"];

/// Returns whether an expression compares the author of a change with one of these accounts. The actor of an event may be
/// a bot that pushes to somebody else's change.
fn compares_with_bot(left: &Expression, right: &Expression) -> bool {
    let (path, name) = match (left, right) {
        (Expression::Path(path), Expression::Literal(Literal::Text(name)))
        | (Expression::Literal(Literal::Text(name)), Expression::Path(path)) => (path, name),
        _ => return false,
    };
    path.is_within(&["github", "event", "pull_request", "user", "login"]) && BOTS.contains(&name.as_str())
}

/// Returns whether an expression says that the author of a change is not one of these accounts.
fn excludes_bot(expression: &Expression) -> bool {
    match expression {
        Expression::Binary { operator: Operator::Unequal, left, right } => compares_with_bot(left, right),
        Expression::Not(inner) => matches!(
            &**inner,
            Expression::Binary { operator: Operator::Equal, left, right } if compares_with_bot(left, right)
        ),
        Expression::Literal(_)
        | Expression::Path(_)
        | Expression::Part { .. }
        | Expression::Call { .. }
        | Expression::Binary { .. } => false,
    }
}

/// Returns an expression for a change of anybody else, with the exclusions of these accounts replaced by `true`.
fn without_bots(expression: Expression) -> Expression {
    if excludes_bot(&expression) {
        return Expression::Literal(Literal::Flag(true));
    }
    match expression {
        Expression::Binary { operator: operator @ (Operator::And | Operator::Or), left, right } => {
            let [left, right] = [left, right].map(|side| Box::new(without_bots(*side)));
            Expression::Binary { operator, left, right }
        }
        Expression::Literal(_)
        | Expression::Path(_)
        | Expression::Part { .. }
        | Expression::Call { .. }
        | Expression::Not(_)
        | Expression::Binary { .. } => expression,
    }
}

/// Words that stand for nobody and nothing.
const NOTHING: &[&str] = &["disabled", "never", "nobody", "none"];

impl Known {
    /// Returns what a condition does to what it is for.
    pub(super) fn effect_of(&self, condition: Condition<'_>) -> Option<Effect> {
        if condition.constant() == Some(false) {
            return Some(Effect::Never);
        }
        let expression = without_bots(condition.expression()?);
        if !expression.paths().into_iter().any(is_origin) {
            return self.effect_of_expression(&expression);
        }
        let [fork, own] = [true, false].map(|is_fork| with_origin(&expression, is_fork));
        let of_fork = self.effect_of_expression(&fork);
        // What comes from the repository itself may be checked when it is pushed.
        let pushed = Self { events: ["push".to_owned()].into(), ..self.clone() };
        let is_pushed = self.events.contains("push") && pushed.truth(&own) == Some(true);
        let of_own = self.effect_of_expression(&own).filter(|_| !is_pushed);
        match (of_fork, of_own) {
            (None, None) => None,
            (Some(Effect::Never), Some(Effect::Never)) => Some(Effect::Never),
            (Some(_), _) | (_, Some(_)) => Some(Effect::Sometimes),
        }
    }

    fn effect_of_expression(&self, expression: &Expression) -> Option<Effect> {
        if self.truth(expression) == Some(false) {
            return Some(Effect::Never);
        }
        match self.truth_for_proposals(expression) {
            Some(true) => None,
            Some(false) => Some(Effect::Sometimes),
            None => expression.paths().into_iter().any(is_chosen).then_some(Effect::Sometimes),
        }
    }

    /// Returns whether an expression by which failures are ignored holds for proposed changes, or for most legs.
    pub(super) fn holds_mostly(&self, expression: &Expression) -> bool {
        let mut matrix = self.matrix.clone();
        matrix.retain(|name, _| self.whole.contains(name));
        let known = Self { matrix, ..self.clone() };
        match known.truth_for_proposals(expression) {
            Some(holds) => return holds,
            None if expression.paths().into_iter().any(is_chosen) => return true,
            None => {}
        }
        known.matrix.iter().any(|(name, values)| {
            let legs = values.iter().map(|value| {
                let matrix = [(name.clone(), vec![value.clone()])].into();
                Self { matrix, ..known.clone() }.truth_for_proposals(expression)
            });
            legs.filter(|holds| *holds == Some(true)).count() * 2 > values.len()
        })
    }

    /// Returns whether an expression holds for proposed changes, or for the events there are where none of them is one.
    pub(super) fn truth_for_proposals(&self, expression: &Expression) -> Option<bool> {
        let proposals = self.events.iter().filter(|event| PROPOSALS.contains(&event.as_str()));
        let events: BTreeSet<String> = proposals.cloned().collect();
        match events.is_empty() {
            true => self.truth(expression),
            false => Self { events, ..self.clone() }.truth(expression),
        }
    }

    /// Returns whether all events are proposed changes, which have a number of their own for a branch.
    fn is_for_proposals(&self) -> bool {
        !self.events.is_empty() && self.events.iter().all(|event| event == "pull_request")
    }

    /// Returns the value of a context, where it is known for all events: nobody merges a draft, and only a manual run has
    /// inputs.
    fn known_value(&self, path: &Path) -> Option<Literal> {
        let are_proposals = self.events.iter().all(|event| PROPOSALS.contains(&event.as_str()));
        let has_no_inputs = !self.events.is_empty() && are_proposals;
        let is_input = path.context == "inputs" || path.is_within(&["github", "event", "inputs"]);
        let is_of_other = OF_OTHER_EVENTS.iter().any(|name| path.is_within(&["github", "event", name]));
        let is_merge = ["merged", "merged_at", "merged_by"]
            .iter()
            .any(|name| path.is_within(&["github", "event", "pull_request", name]));
        if path.is_within(&["github", "event", "pull_request", "draft"]) {
            Some(Literal::Flag(false))
        } else if (is_input || is_of_other || is_merge) && has_no_inputs {
            Some(Literal::Null)
        } else {
            None
        }
    }

    /// Returns whether a context is set for all events, to a value that is not known.
    fn is_set(&self, path: &Path) -> bool {
        let is_part = path.name(2).is_none_or(|name| path.segments.len() == 3 && SET.contains(&name));
        let is_pull_request = path.is_within(&["github", "event", "pull_request"]) && is_part;
        let is_ref = ["base_ref", "head_ref"].iter().any(|name| path.is_within(&["github", name]));
        let is_number = path.is_within(&["github", "event", "number"]);
        self.are_pull_requests() && (is_pull_request || is_ref || is_number)
    }

    /// Returns whether all events have a pull request.
    fn are_pull_requests(&self) -> bool {
        let mut events = self.events.iter();
        !self.events.is_empty()
            && events.all(|event| matches!(event.as_str(), "pull_request" | "pull_request_target"))
    }

    /// Returns whether two expressions are a context that is set, and a value that stands for none.
    fn compares_set(&self, left: &Expression, right: &Expression) -> bool {
        match (left, right) {
            (Expression::Path(path), Expression::Literal(value))
            | (Expression::Literal(value), Expression::Path(path)) => self.is_set(path) && !value.is_true(),
            _ => false,
        }
    }

    /// Returns an expression with the contexts that are known replaced by their values.
    fn with_values(&self, expression: &Expression) -> Expression {
        let known = match expression {
            Expression::Path(path) => self.known_value(path),
            Expression::Literal(_)
            | Expression::Part { .. }
            | Expression::Call { .. }
            | Expression::Not(_)
            | Expression::Binary { .. } => None,
        };
        known.map_or_else(|| expression.clone(), Expression::Literal)
    }

    /// Returns whether a call holds, which looks at what the name of a proposed change begins with.
    fn truth_of_call(&self, function: &str, arguments: &[Expression]) -> Option<bool> {
        let [Expression::Path(path), Expression::Literal(Literal::Text(text))] = arguments else {
            return None;
        };
        let is_ref = path.is_within(&["github", "ref"]) && text.starts_with("refs/");
        let is_other = is_ref && !text.starts_with("refs/pull") && self.is_for_proposals();
        (function == "startswith" && is_other).then_some(false)
    }

    /// Returns whether an expression holds, where the values of its contexts decide it.
    fn truth(&self, expression: &Expression) -> Option<bool> {
        match expression {
            Expression::Not(inner) => self.truth(inner).map(|holds| !holds),
            // Conditions are evaluated for a run in which nothing fails or is cancelled.
            Expression::Call { function, .. } if matches!(function.as_str(), "failure" | "cancelled") => {
                Some(false)
            }
            Expression::Binary { operator: Operator::And, left, right } => {
                match (self.truth(left), self.truth(right)) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), Some(true)) => Some(true),
                    (Some(true) | None, None) | (None, Some(true)) => None,
                }
            }
            Expression::Binary { operator: Operator::Or, left, right } => {
                match (self.truth(left), self.truth(right)) {
                    (Some(true), _) | (_, Some(true)) => Some(true),
                    (Some(false), Some(false)) => Some(false),
                    (Some(false) | None, None) | (None, Some(false)) => None,
                }
            }
            Expression::Binary { operator: Operator::Equal, left, right } => self.is_equal(left, right),
            Expression::Binary { operator: Operator::Unequal, left, right } => {
                self.is_equal(left, right).map(|holds| !holds)
            }
            Expression::Path(path) if self.is_set(path) => Some(true),
            Expression::Path(_) => self.with_values(expression).truth(),
            Expression::Call { function, arguments } => {
                self.truth_of_call(function, arguments).or_else(|| expression.truth())
            }
            Expression::Literal(_) | Expression::Part { .. } | Expression::Binary { .. } => {
                expression.truth()
            }
        }
    }

    fn is_equal(&self, left: &Expression, right: &Expression) -> Option<bool> {
        if self.compares_set(left, right) {
            return Some(false);
        }
        let (path, text) = match (left, right) {
            (Expression::Path(path), Expression::Literal(Literal::Text(text)))
            | (Expression::Literal(Literal::Text(text)), Expression::Path(path)) => (path, text),
            _ => {
                let equal = Expression::Binary {
                    operator: Operator::Equal,
                    left: Box::new(self.with_values(left)),
                    right: Box::new(self.with_values(right)),
                };
                return equal.truth();
            }
        };
        let last = text.rsplit('/').next().unwrap_or(text).to_lowercase();
        if NOTHING.contains(&last.as_str()) && path.context == "github" {
            return Some(false);
        }
        if let Some(value) = self.known_value(path) {
            let (left, right) = (
                Box::new(Expression::Literal(value)),
                Box::new(Expression::Literal(Literal::Text(text.clone()))),
            );
            return Expression::Binary { operator: Operator::Equal, left, right }.truth();
        }
        let is_branch = path.is_within(&["github", "ref"]) && !text.starts_with("refs/pull/")
            || path.is_within(&["github", "ref_name"]) && !text.ends_with("/merge");
        if is_branch && self.is_for_proposals() {
            return Some(false);
        }
        let values = self.values_of(path)?;
        let equal = values.iter().filter(|value| value.eq_ignore_ascii_case(text)).count();
        if equal == 0 {
            Some(false)
        } else if equal == values.len() {
            Some(true)
        } else {
            None
        }
    }

    /// Returns the values that a context may have; none where they are not known.
    fn values_of(&self, path: &Path) -> Option<Vec<String>> {
        let [Segment::Name(name)] = path.segments.as_slice() else { return None };
        let values: Vec<String> = match (path.context.as_str(), name.as_str()) {
            // A workflow that another one calls has that one's event.
            ("github", "event_name") if !self.events.contains("workflow_call") => {
                self.events.iter().cloned().collect()
            }
            ("github", "ref_type") if self.is_for_proposals() => vec!["branch".to_owned()],
            ("runner", "os") => ["Linux", "Windows", "macOS"].map(str::to_owned).to_vec(),
            ("matrix", name) => {
                let mut own = self.matrix.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
                own.next().map(|(_, values)| values.clone())?
            }
            _ => return None,
        };
        let is_written = values.iter().all(|value| !value.contains("${{"));
        if values.is_empty() || !is_written { None } else { Some(values) }
    }
}
