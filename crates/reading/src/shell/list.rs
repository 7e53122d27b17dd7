//! Flattens `a | b && c || d > e <<EOF` into operands and stages, which the grammar nests in several ways.

use crate::syntax::Span;
use crate::tree::Node;

/// Sign before an operand of a list; the first one counts as right of `&&`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    And,
    Or,
}

/// A pipeline between `&&` and `||`.
#[derive(Debug)]
pub(super) struct Operand<'n> {
    pub(super) operator: Operator,
    /// Place of `!`.
    pub(super) negated: Option<Span>,
    pub(super) stages: Vec<Stage<'n>>,
}

/// A command of a pipeline with the redirections that the grammar puts around it.
#[derive(Debug)]
pub(super) struct Stage<'n> {
    pub(super) node: Node<'n>,
    pub(super) redirects: Vec<Node<'n>>,
}

impl Operand<'_> {
    pub(super) fn span(&self) -> Span {
        let first = self.stages.first().map(|stage| span_of(stage.node)).unwrap_or_default();
        let last = self.stages.last().map(|stage| span_of(stage.node)).unwrap_or_default();
        Span { start: self.negated.unwrap_or(first).start, end: last.end }
    }
}

pub(super) fn span_of(node: Node<'_>) -> Span {
    Span { start: node.start_byte(), end: node.end_byte() }
}

#[derive(Clone, Copy)]
enum Join {
    Operand(Operator),
    Stage,
}

/// Returns the operands of a statement, one with one stage for anything but a list or a pipeline.
pub(super) fn flatten(root: Node<'_>) -> Vec<Operand<'_>> {
    let mut operands: Vec<Operand<'_>> = Vec::new();
    let mut join = Join::Operand(Operator::And);
    let mut negated = None;
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        match node.word() {
            "&&" => join = Join::Operand(Operator::And),
            "||" => join = Join::Operand(Operator::Or),
            "|" | "|&" => join = Join::Stage,
            "!" => negated = Some(span_of(node)),
            "list" | "pipeline" | "negated_command" => push_children(node, &mut pending),
            "redirected_statement" if node.field("body").is_some() => {
                push_children(node, &mut pending);
            }
            "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                let stage = operands.last_mut().and_then(|operand| operand.stages.last_mut());
                if let Some(stage) = stage {
                    stage.redirects.push(node);
                }
                if node.word() == "heredoc_redirect" {
                    push_children(node, &mut pending);
                }
            }
            "heredoc_start" | "heredoc_body" | "heredoc_end" | "<<" | "<<-" | "file_descriptor"
            | "comment" => {}
            _ => {
                let stage = Stage { node, redirects: Vec::new() };
                match (join, operands.last_mut()) {
                    (Join::Stage, Some(operand)) => operand.stages.push(stage),
                    (Join::Operand(operator), _) => {
                        operands.push(Operand { operator, negated: negated.take(), stages: vec![stage] });
                    }
                    (Join::Stage, None) => {
                        let operator = Operator::And;
                        operands.push(Operand { operator, negated: negated.take(), stages: vec![stage] });
                    }
                }
                join = Join::Stage;
            }
        }
    }
    operands
}

fn push_children<'n>(node: Node<'n>, pending: &mut Vec<Node<'n>>) {
    let begin = pending.len();
    pending.extend(node.children());
    pending[begin..].reverse();
}
