//! Statements of the functions around changed places in one form for every grammar: what each binds, reads, calls and
//! tests. Rules about what becomes of a value read this form and know no grammar.

mod events;
mod statements;
#[cfg(test)]
mod tests;
mod tests_for_null;

use crate::syntax::{Language, Span, is_function, parse_tree_once};
use statements::Builder;

/// A function with a body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Body {
    pub span: Span,
    /// Its own name; empty for a closure.
    pub name: String,
    pub parameters: Vec<String>,
    /// Declared result as it is written, where the grammar has a field for it.
    pub result: String,
    /// Callee that a closure is an argument of.
    pub passed_to: Option<PassedTo>,
    pub is_generator: bool,
    pub is_asynchronous: bool,
    /// Set for the statements of a file outside of functions.
    pub is_module: bool,
    pub block: Block,
}

/// The call that a closure is an argument of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedTo {
    pub callee: String,
    /// False where the call is a statement.
    pub is_result_used: bool,
}

/// Statements that run one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    pub statements: Vec<Statement>,
}

/// The kind of a statement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StatementKind {
    #[default]
    Plain,
    /// A call and nothing else.
    Call,
    Defer,
    /// A function or a class, which does nothing where it stands.
    Definition,
    If,
    /// `break`, `continue` and the like.
    Jump,
    Label,
    Loop,
    Return,
    /// A block, or a statement that has one and runs it once.
    Scope,
    Switch,
    Throw,
    Try,
}

/// A statement, with the blocks inside of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statement {
    pub kind: StatementKind,
    pub span: Span,
    /// Uses of names in the order of evaluation, without those in `blocks`.
    pub events: Vec<Event>,
    /// Calls, without those in `blocks`.
    pub calls: Vec<Call>,
    pub bind: Option<Bind>,
    /// Condition that is about nothing but a name being null.
    pub null_test: Option<NullTest>,
    /// Set for a jump that stays in the loop.
    pub is_continue: bool,
    /// Text of what a loop iterates over.
    pub over: String,
    /// Texts of the returned values.
    pub returned: Vec<String>,
    /// For an `if` the consequence and then the alternative.
    pub blocks: Vec<Block>,
}

/// A use of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub name: String,
    pub act: Act,
    pub span: Span,
    /// Callee that the name, or a member of it, is an argument of.
    pub argument_of: Option<String>,
    /// False where an operand before decides if it happens.
    pub is_certain: bool,
    /// Set inside of a closure or a definition, which runs later.
    pub is_nested: bool,
}

/// Use that code makes of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    Called,
    Indexed,
    /// The member's name, and true if it is called.
    Member(String, bool),
    /// Like `Member`, with an operator that lets null through.
    OptionalMember,
    Read,
    Written,
}

/// A call, with the callee as it is written and without white space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub callee: String,
    /// Texts of the arguments.
    pub arguments: Vec<String>,
    pub span: Span,
    pub fate: Fate,
    pub is_nested: bool,
}

/// Destination of the result of a call, awaits passed over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Fate {
    /// Argument of this callee.
    Argument(String),
    /// The value of [`Statement::bind`].
    Bound,
    /// The call is a statement.
    Dropped,
    /// The text of the index.
    Indexed(String),
    /// The member's name, and true if it is called.
    Member(String, bool),
    #[default]
    Other,
}

/// A statement that gives names values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bind {
    /// Names in their order; empty for what is no plain name.
    pub targets: Vec<Target>,
    pub value: Value,
    /// Callee of the value, where it is a call; awaits are passed over.
    pub callee: String,
    pub value_span: Span,
    /// Set for an operator such as `+=`.
    pub is_compound: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    pub name: String,
    pub span: Span,
}

/// The form of a bound value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Value {
    Call,
    Construction,
    /// A generator expression.
    Generator,
    #[default]
    Other,
}

/// A condition that asks if a name is null.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NullTest {
    pub name: String,
    /// True if the name is null where the condition holds.
    pub is_null: bool,
    /// False for a test such as `!x`, which other values pass too.
    pub is_exact: bool,
    /// True if nothing else is part of the condition.
    pub is_whole: bool,
}

impl Body {
    /// Parses the functions of a text that touch one of some spans, which are in order and apart, outer functions first,
    /// and the file's own statements where the language runs them. Returns `None` for a text that is too large or takes
    /// too long; a function that could not be parsed as a whole is left out.
    pub fn parse_touching(language: Language, text: &str, spans: &[Span]) -> Option<Vec<Self>> {
        let tree = parse_tree_once(language, text)?;
        let builder = Builder { language, text };
        let mut bodies: Vec<Self> = builder.module(tree.root_node()).into_iter().collect();
        let mut cursor = tree.walk();
        let mut above = Vec::new();
        loop {
            let node = cursor.node();
            let place = Span { start: node.start_byte(), end: node.end_byte() };
            let touches = touches_one_of(spans, place);
            if touches && node.is_named() && is_function(node.word()) {
                bodies.extend(builder.body(node, &above));
            }
            if touches && cursor.goto_first_child() {
                above.push(node);
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return Some(bodies);
                }
                above.pop();
            }
        }
    }

    /// Returns every use of names in the function.
    pub fn events(&self) -> Vec<&Event> {
        self.block.events()
    }

    /// Returns every call in the function.
    pub fn calls(&self) -> Vec<&Call> {
        let mut calls = Vec::new();
        self.block.visit(&mut |statement| calls.extend(&statement.calls));
        calls
    }

    /// Returns the bind whose value is a call.
    pub fn bind_of(&self, call: &Call) -> Option<&Bind> {
        let mut found = None;
        self.block.visit(&mut |statement| {
            let bind = statement.bind.as_ref().filter(|bind| bind.value_span == call.span);
            found = found.or(bind);
        });
        found
    }

    /// Returns the blocks of the function, outer ones first, with true for those that run inside of a `try`.
    pub fn blocks(&self) -> Vec<(&Block, bool)> {
        let mut found = vec![(&self.block, false)];
        let mut at = 0;
        while let Some(&(block, is_tried)) = found.get(at) {
            for statement in &block.statements {
                let is_tried = is_tried || statement.kind == StatementKind::Try;
                found.extend(statement.blocks.iter().map(|block| (block, is_tried)));
            }
            at += 1;
        }
        found
    }
}

/// Returns whether a place touches one of some spans, which are in order and apart.
fn touches_one_of(spans: &[Span], place: Span) -> bool {
    let next = spans.partition_point(|span| span.end < place.start);
    spans.get(next).is_some_and(|span| span.touches(place))
}

impl Block {
    fn visit<'b>(&'b self, then: &mut dyn FnMut(&'b Statement)) {
        for statement in &self.statements {
            then(statement);
            for block in &statement.blocks {
                block.visit(then);
            }
        }
    }

    /// Returns every use of names in the block.
    pub fn events(&self) -> Vec<&Event> {
        let mut events = Vec::new();
        self.visit(&mut |statement| events.extend(&statement.events));
        events
    }

    /// Returns true if control does not leave the block at its end.
    pub fn exits(&self) -> bool {
        let last = self.statements.iter().rev().find(|statement| statement.kind != StatementKind::Definition);
        last.is_some_and(|last| last.kind.exits())
    }
}

impl StatementKind {
    /// Returns true if nothing behind the statement runs.
    pub fn exits(self) -> bool {
        matches!(self, Self::Jump | Self::Return | Self::Throw)
    }
}

impl Statement {
    /// Returns every use of names in the statement and the blocks inside of it.
    pub fn all_events(&self) -> Vec<&Event> {
        let mut events: Vec<&Event> = self.events.iter().collect();
        events.extend(self.blocks.iter().flat_map(Block::events));
        events
    }
}
