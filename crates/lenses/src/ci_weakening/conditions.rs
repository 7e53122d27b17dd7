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
}

/// Events of proposed changes.
const PROPOSALS: &[&str] = &["merge_group", "pull_request", "pull_request_target"];

/// Names of the person who made a change, in the context `github`.
const ACTORS: &[&str] = &["actor", "actor_id", "triggering_actor"];

/// Returns whether a context is the person who made the change.
fn is_actor(path: &Path) -> bool {
    let [Segment::Name(name)] = path.segments.as_slice() else { return false };
    path.context == "github" && ACTORS.contains(&name.as_str())
}

/// Words that stand for nobody and nothing.
const NOTHING: &[&str] = &["disabled", "never", "nobody", "none"];

impl Known {
    /// Returns what a condition does to what it is for.
    pub(super) fn effect_of(&self, condition: Condition<'_>) -> Option<Effect> {
        if condition.constant() == Some(false) {
            return Some(Effect::Never);
        }
        let expression = condition.expression()?;
        if self.truth(&expression) == Some(false) {
            return Some(Effect::Never);
        }
        let proposals = self.events.iter().filter(|event| PROPOSALS.contains(&event.as_str()));
        let events: BTreeSet<String> = proposals.cloned().collect();
        let for_proposals = Self { events, matrix: self.matrix.clone() };
        let is_lost = !for_proposals.events.is_empty() && for_proposals.truth(&expression) == Some(false);
        let is_about_actor = expression.paths().into_iter().any(is_actor);
        let is_open = is_about_actor && self.truth(&expression).is_none();
        if is_lost || is_open { Some(Effect::Sometimes) } else { None }
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
            Expression::Literal(_)
            | Expression::Path(_)
            | Expression::Part { .. }
            | Expression::Call { .. }
            | Expression::Binary { .. } => expression.truth(),
        }
    }

    fn is_equal(&self, left: &Expression, right: &Expression) -> Option<bool> {
        let (path, text) = match (left, right) {
            (Expression::Path(path), Expression::Literal(Literal::Text(text)))
            | (Expression::Literal(Literal::Text(text)), Expression::Path(path)) => (path, text),
            _ => {
                let equal = Expression::Binary {
                    operator: Operator::Equal,
                    left: Box::new(left.clone()),
                    right: Box::new(right.clone()),
                };
                return equal.truth();
            }
        };
        let last = text.rsplit('/').next().unwrap_or(text).to_lowercase();
        if NOTHING.contains(&last.as_str()) && path.context == "github" {
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
