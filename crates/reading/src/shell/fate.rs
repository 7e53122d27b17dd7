//! Follows the status of a command to the end of its script: where a failure is lost.

use super::Options;
use super::list::{Operand, Operator, flatten, span_of};
use crate::syntax::Span;
use crate::tree::Node;

/// Reason why a failure leaves a script successful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// `cmd || true`: what runs instead always succeeds.
    OrElse,
    /// `cmd || other`: something else is tried instead.
    Fallback,
    /// `cmd && other` before the end of a script, where `set -e` ignores the left side.
    AndLeft,
    /// `cmd | tee`: the last stage gives a pipeline its status.
    Pipe,
    /// `! cmd`
    Negated,
    /// `cmd &` without a `wait` for it.
    Background,
    /// `if cmd`, where no branch fails.
    Condition,
    /// `while cmd`, `until cmd`
    LoopCondition,
    /// A later command gives the status, and `set -e` was never in force.
    Followed,
    /// A later command gives the status after `set +e`.
    ErrexitOff,
    /// `set -e` is ignored inside of a construct whose own status counts.
    ErrexitIgnored,
    /// `echo $(cmd)`, `local x=$(cmd)`, `<(cmd)`: another command gives the status.
    Substitution,
    /// `trap 'exit 0' EXIT`
    Trap,
}

/// A loss with the place of what causes it: `|| true` without the sign, the `set +e`, the command behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    pub loss: Loss,
    pub span: Span,
}

/// None where a failure shows.
pub(super) type Fate = Option<Lost>;

/// The constructs around a command that decide what its failure does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context {
    /// If the construct fails as a whole.
    pub(super) status: Fate,
    /// If `set -e` does not apply inside, the loss that follows.
    pub(super) ignored: Fate,
    /// If the shell ends with a failure.
    pub(super) exit: Fate,
    /// If the construct succeeds, where that differs from success of the script.
    pub(super) success: Option<Fate>,
}

impl Context {
    pub(super) const TOP: Self = Self { status: None, ignored: None, exit: None, success: None };

    /// Fate of a failure that nothing inside of the construct deals with.
    pub(super) fn fate(self, options: Options) -> Fate {
        self.status?;
        if options.errexit { self.ignored.or(self.exit) } else { self.status }
    }

    /// Inside of a shell of its own, which has this status.
    pub(super) fn subshell(self, status: Fate) -> Self {
        Self { status, exit: status, success: None, ..self }
    }

    /// Inside of a construct that tests the status, which then has this fate.
    pub(super) fn tested(self, fate: Fate, by: Span) -> Self {
        let ignored = fate.or(Some(Lost { loss: Loss::ErrexitIgnored, span: by }));
        Self { status: fate, ignored, ..self }
    }

    /// Inside of `! cmd`.
    pub(super) fn negated(self, by: Span, options: Options) -> Self {
        let fate = self.success.unwrap_or(Some(Lost { loss: Loss::Negated, span: by }));
        Self { success: Some(self.fate(options)), ..self.tested(fate, by) }
    }

    /// Left of an operator, whose right side is given.
    pub(super) fn left_of(self, right: &Operand<'_>, options: Options, source: &str) -> Self {
        let span = right.span();
        let outcome = outcome_of(right, source, 0);
        match right.operator {
            Operator::And => {
                let success = match outcome {
                    Outcome::Exits => Some(self.exit),
                    Outcome::Fails => Some(self.fate(options)),
                    Outcome::Succeeds | Outcome::Unknown => None,
                };
                let ignored = Some(Lost { loss: Loss::AndLeft, span });
                Self { ignored: self.ignored.or(ignored), success, ..self }
            }
            Operator::Or => {
                let fate = match outcome {
                    Outcome::Exits => self.exit,
                    Outcome::Fails => self.fate(options),
                    Outcome::Succeeds => self.success.unwrap_or(Some(Lost { loss: Loss::OrElse, span })),
                    Outcome::Unknown => Some(Lost { loss: Loss::Fallback, span }),
                };
                Self { success: self.success, ..self.tested(fate, span) }
            }
        }
    }

    /// Inside of the condition of a branch: `then` runs if it succeeds, and `otherwise` if it fails.
    pub(super) fn condition(self, then: Outcome, otherwise: Outcome, options: Options, span: Span) -> Self {
        let [success, failure] = [then, otherwise].map(|outcome| match outcome {
            Outcome::Exits => self.exit,
            Outcome::Fails => self.fate(options),
            Outcome::Succeeds | Outcome::Unknown => Some(Lost { loss: Loss::Condition, span }),
        });
        Self { success: Some(success), ..self.tested(failure, span) }
    }
}

/// Status of a command as far as the script says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Succeeds,
    Fails,
    /// Fails and ends the shell.
    Exits,
    Unknown,
}

/// Deeper constructs have an unknown outcome.
const MAX_DEPTH: usize = 12;

fn outcome_of(operand: &Operand<'_>, source: &str, depth: usize) -> Outcome {
    let Some(stage) = operand.stages.last() else { return Outcome::Unknown };
    let outcome = outcome(stage.node, source, depth + 1);
    match (operand.negated, outcome) {
        (None, outcome) => outcome,
        (Some(_), Outcome::Succeeds) => Outcome::Fails,
        (Some(_), Outcome::Fails) => Outcome::Succeeds,
        (Some(_), Outcome::Exits | Outcome::Unknown) => outcome,
    }
}

/// Returns the status of a statement.
pub(super) fn outcome(node: Node<'_>, source: &str, depth: usize) -> Outcome {
    if depth > MAX_DEPTH {
        return Outcome::Unknown;
    }
    match node.word() {
        "command" => command_outcome(node, source),
        "variable_assignment" | "variable_assignments" | "declaration_command" | "unset_command" => {
            if span_of(node).of(source).contains(['$', '`']) {
                Outcome::Unknown
            } else {
                Outcome::Succeeds
            }
        }
        "compound_statement" => block_outcome(node, source, depth),
        // An exit leaves the subshell alone.
        "subshell" => {
            let inside = block_outcome(node, source, depth);
            if inside == Outcome::Exits { Outcome::Fails } else { inside }
        }
        "list" | "pipeline" | "negated_command" | "redirected_statement" => {
            let operands = flatten(node);
            let mut result = Outcome::Succeeds;
            for operand in &operands {
                let own = outcome_of(operand, source, depth);
                result = match (operand.operator, result, own) {
                    (_, Outcome::Exits, _) => Outcome::Exits,
                    (Operator::And, Outcome::Succeeds, own) => own,
                    (Operator::And, Outcome::Fails, _) => Outcome::Fails,
                    (Operator::And, Outcome::Unknown, Outcome::Fails | Outcome::Exits) => Outcome::Fails,
                    (Operator::Or, Outcome::Succeeds, _) => Outcome::Succeeds,
                    (Operator::Or, Outcome::Fails, own) => own,
                    (Operator::Or, Outcome::Unknown, Outcome::Succeeds) => Outcome::Succeeds,
                    (Operator::And | Operator::Or, Outcome::Unknown, _) => Outcome::Unknown,
                };
            }
            result
        }
        _ => Outcome::Unknown,
    }
}

/// Returns the status of a list of statements: that of the last one, unless one before ends the shell.
pub(super) fn block_outcome(node: Node<'_>, source: &str, depth: usize) -> Outcome {
    let mut result = Outcome::Unknown;
    for child in node.named_children() {
        if matches!(child.word(), "comment" | "heredoc_body") {
            continue;
        }
        result = outcome(child, source, depth + 1);
        if result == Outcome::Exits || is_successful_exit(child, source) {
            break;
        }
    }
    result
}

fn words<'t>(node: Node<'_>, source: &'t str) -> Vec<&'t str> {
    span_of(node).of(source).split_whitespace().collect()
}

fn is_successful_exit(node: Node<'_>, source: &str) -> bool {
    node.word() == "command" && matches!(words(node, source).as_slice(), ["exit" | "return", "0", ..])
}

fn command_outcome(node: Node<'_>, source: &str) -> Outcome {
    match words(node, source).as_slice() {
        ["exit" | "return", "0", ..] => Outcome::Succeeds,
        // Without a number it is the status of the command before, which failed.
        ["exit" | "return", ..] => Outcome::Exits,
        ["false", ..] => Outcome::Fails,
        ["true" | ":" | "echo" | "printf", ..] => Outcome::Succeeds,
        _ => Outcome::Unknown,
    }
}
