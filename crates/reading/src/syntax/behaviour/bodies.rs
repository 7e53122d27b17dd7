//! Bodies that do nothing: empty ones, those that give a constant, and those that only say that they are to be written.

use super::super::branches::{otherwise_of, then_of};
use super::super::outline::Span;
use super::super::walk::span;
use super::{Language, Reader, names};
use crate::tree::Node;

/// Deeper values are no constants.
const MAX_DEPTH: usize = 6;
/// Statements of a body that are looked at: a longer one acts.
const MOST_STATEMENTS: usize = 6;

/// The work of a body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Effect {
    #[default]
    Acts,
    /// It gives what is written out, the same in every call.
    Constant,
    Nothing,
    /// It fails with words that it is not written yet.
    Unimplemented,
}

/// Functions that write to a log.
const LOGS: &[&str] = &[
    "debug",
    "debugPrint",
    "eprintln",
    "error",
    "info",
    "log",
    "print",
    "println",
    "puts",
    "trace",
    "warn",
    "warning",
];
/// Objects that logs are written to; an empty word stands for a function of no object.
const LOGGERS: &[&str] =
    &["", "console", "fmt", "log", "logger", "logging", "this.logger", "self.logger", "LOG", "tracing"];

/// Ways to read a setting of the process.
const SETTINGS: &[&str] = &[
    "Boolean.getBoolean(",
    "Deno.env",
    "ENV.fetch(",
    "ENV[",
    "GetEnvironmentVariable(",
    "System.getProperty(",
    "System.getenv(",
    "env::var(",
    "environ",
    "getenv(",
    "import.meta.env",
    "os.Getenv(",
    "os.LookupEnv(",
    "process.env",
];

/// Functions that make an empty value, or wrap one.
const MAKERS: &[&str] = &[
    "BTreeMap::new",
    "Collections.emptyList",
    "Collections.emptyMap",
    "Collections.emptySet",
    "Default::default",
    "HashMap::new",
    "HashSet::new",
    "List.of",
    "Map.of",
    "Ok",
    "Optional.empty",
    "Optional.of",
    "Promise.resolve",
    "Set.of",
    "Some",
    "String::new",
    "Task.FromResult",
    "Vec::new",
    "bytes",
    "defaultdict",
    "dict",
    "emptyList",
    "emptyMap",
    "emptySet",
    "frozenset",
    "list",
    "listOf",
    "mapOf",
    "set",
    "str",
    "tuple",
    "Map",
    "Set",
    "ArrayList",
    "HashMap",
];

impl Reader<'_> {
    /// Returns the effect of a body, and the statement that it is read from.
    pub(super) fn effect(&self, body: Node<'_>) -> (Effect, Span) {
        let mut statements = statements(body);
        // Statements behind the first one that always leaves the function do not run.
        if let Some(last) = statements.iter().position(|statement| self.leaves(*statement)) {
            statements.truncate(last + 1);
        }
        if statements.len() > MOST_STATEMENTS {
            return (Effect::Acts, span(body));
        }
        if let Some(refusal) = statements.iter().find(|statement| self.is_refusal(**statement)) {
            let is_alone = statements
                .iter()
                .all(|other| other == refusal || self.is_idle(*other) || self.is_log(*other));
            if is_alone {
                return (Effect::Unimplemented, span(*refusal));
            }
        }
        let acting: Vec<Node<'_>> = statements
            .iter()
            .copied()
            .filter(|statement| !self.is_idle(*statement) && !self.is_log(*statement))
            .collect();
        match acting.as_slice() {
            [] => (Effect::Nothing, statements.last().map(|last| span(*last)).unwrap_or(span(body))),
            [only] if self.gives_constant(*only) || self.always_leaves(*only) => {
                (Effect::Constant, span(*only))
            }
            _ => (Effect::Acts, span(body)),
        }
    }

    /// Returns the condition that all work of a body depends on and that reads a setting of the process.
    pub(super) fn switched_by(&self, body: Node<'_>) -> Option<Span> {
        let mut acting = statements(body).into_iter().filter(|statement| !self.is_idle(*statement));
        let (Some(only), None) = (acting.next(), acting.next()) else { return None };
        let branch = inner(only);
        let is_branch = matches!(branch.word(), "if" | "if_expression" | "if_statement");
        let condition =
            branch.field("condition").filter(|_| is_branch && branch.field("alternative").is_none())?;
        let text = self.squashed(self.text_of(condition));
        let is_turned = text.starts_with(['!', '(']) && text.trim_start_matches('(').starts_with('!')
            || ["!=", "isnot", "not", "none", "null"].iter().any(|word| text.to_lowercase().contains(word));
        let reads = SETTINGS.iter().any(|setting| text.contains(setting));
        (reads && !is_turned).then(|| span(condition))
    }

    /// Returns the statement that leaves a body before others of it, whatever happens or unless a setting asks for them.
    pub(super) fn cut(&self, body: Node<'_>) -> Option<Span> {
        let all = statements(body);
        let at = all.iter().position(|statement| self.cuts(*statement))?;
        (at + 1 < all.len()).then(|| span(all[at]))
    }

    fn cuts(&self, statement: Node<'_>) -> bool {
        let branch = inner(statement);
        if is_return(branch) || self.always_leaves(branch) {
            return true;
        }
        let then = match branch.word() {
            "if" | "if_expression" | "if_modifier" | "if_statement" | "unless" | "unless_modifier" => {
                then_of(branch)
            }
            _ => None,
        };
        let condition = branch.field("condition").map(|condition| self.squashed(self.text_of(condition)));
        let is_asked_for =
            condition.is_some_and(|text| SETTINGS.iter().any(|setting| text.contains(setting)));
        let last = then.filter(|_| is_asked_for && otherwise_of(branch).is_none()).map(|then| {
            let inside = statements(then);
            inside.last().copied().unwrap_or(then)
        });
        last.is_some_and(is_return)
    }

    /// Returns whether a statement returns a constant or nothing, whatever stands around it.
    fn leaves(&self, statement: Node<'_>) -> bool {
        if self.always_leaves(statement) {
            return true;
        }
        is_return(statement)
            && (inner(statement).named_children().next().is_none() || self.gives_constant(statement))
    }

    /// Returns whether a statement is a branch that always runs and leaves the function: `if (true) { return 0; }`.
    fn always_leaves(&self, statement: Node<'_>) -> bool {
        let branch = inner(statement);
        let is_branch = matches!(branch.word(), "if" | "if_expression" | "if_statement");
        let condition = branch.field("condition").filter(|_| is_branch);
        let is_true = condition.is_some_and(|condition| {
            matches!(self.text_of(condition).trim_matches(['(', ')', ' ']), "1" | "True" | "true")
        });
        let inside = then_of(branch).filter(|_| is_true).map(statements).unwrap_or_default();
        inside.last().is_some_and(|last| inner(*last).word().starts_with("return") && self.leaves_with(*last))
    }

    /// Returns whether a statement returns a constant or nothing.
    fn leaves_with(&self, statement: Node<'_>) -> bool {
        inner(statement).named_children().next().is_none() || self.gives_constant(statement)
    }

    /// Returns whether a statement is a branch that never runs: `if False:`, `if (false) { … }`.
    fn never_runs(&self, statement: Node<'_>) -> bool {
        let branch = inner(statement);
        let is_branch = matches!(branch.word(), "if" | "if_expression" | "if_statement");
        let condition =
            branch.field("condition").filter(|_| is_branch && branch.field("alternative").is_none());
        condition.is_some_and(|condition| {
            let text = self.text_of(condition);
            matches!(text.trim_matches(['(', ')', ' ']), "0" | "False" | "false")
        })
    }

    /// Returns the documentation that a body of Python begins with.
    pub(super) fn documentation(&self, body: Node<'_>) -> Option<Span> {
        let first = *statements(body).first()?;
        (self.language == Language::Python && is_text(first)).then(|| span(first))
    }

    /// Returns whether a statement does nothing.
    pub(super) fn is_idle(&self, statement: Node<'_>) -> bool {
        let text = self.text_of(statement).trim().trim_end_matches(';');
        is_text(statement)
            || self.never_runs(statement)
            || matches!(text, "" | "pass" | "..." | "return" | "{}" | "()")
            || matches!(statement.word(), "empty_statement" | "comment" | "delete_statement")
            || text.strip_prefix("_ =").or(text.strip_prefix("let _ =")).is_some_and(is_name)
            || text.strip_prefix("void ").is_some_and(is_name)
    }

    /// Returns whether a statement writes to a log and does nothing else.
    pub(super) fn is_log(&self, statement: Node<'_>) -> bool {
        let call = inner(statement);
        let Some(callee) = names::callee(self.text, call) else { return false };
        let head = self.squashed(self.text_of(call));
        let head = head.split(['(', '!']).next().unwrap_or_default();
        let object = head.rsplit_once('.').map(|(object, _)| object).unwrap_or_default();
        let last = callee.to_lowercase();
        LOGS.iter()
            .any(|log| last == log.to_lowercase() || last == format!("{log}f") || last == format!("{log}ln"))
            && LOGGERS.iter().any(|logger| {
                object.eq_ignore_ascii_case(logger)
                    || object.ends_with(&format!(".{logger}")) && !logger.is_empty()
            })
    }

    /// Returns whether a statement leaves the function with a constant.
    pub(super) fn gives_constant(&self, statement: Node<'_>) -> bool {
        let value = inner(statement);
        match value.word() {
            "return" | "return_expression" | "return_statement" | "jump_expression" => {
                let given: Vec<Node<'_>> =
                    value.named_children().filter(|child| !child.is_comment()).collect();
                !given.is_empty() && given.iter().all(|given| self.is_constant(*given, 0))
            }
            _ => statement.word() != "expression_statement" && self.is_constant(value, 0),
        }
    }

    /// Returns whether a value is written out.
    pub(super) fn is_constant(&self, node: Node<'_>, depth: usize) -> bool {
        if depth > MAX_DEPTH {
            return false;
        }
        let kind = node.word();
        let parts: Vec<Node<'_>> = node.named_children().filter(|child| !child.is_comment()).collect();
        if kind.contains("string") || kind.contains("char_literal") || kind == "raw_string_literal" {
            return !parts
                .iter()
                .any(|part| part.word().contains("interpolation") || part.word().contains("substitution"));
        }
        if kind.contains("template") {
            return !self.text_of(node).contains("${");
        }
        match kind {
            "identifier" | "constant" | "name" => {
                matches!(
                    self.text_of(node),
                    "NULL" | "None" | "Nil" | "nil" | "null" | "nullptr" | "true" | "false" | "undefined"
                )
            }
            "boolean" | "integer" | "float" | "number" | "true" | "false" | "none" | "null" | "nil"
            | "undefined" | "unit_expression" => true,
            "argument_list"
            | "array"
            | "array_creation_expression"
            | "array_expression"
            | "dictionary"
            | "expression_list"
            | "hash"
            | "initializer_list"
            | "list"
            | "literal_value"
            | "object"
            | "set"
            | "tuple"
            | "tuple_expression"
            | "value_arguments" => parts.iter().all(|part| self.is_constant(*part, depth + 1)),
            // Their value is that of the last part.
            "assignment"
            | "assignment_expression"
            | "comma_expression"
            | "named_expression"
            | "sequence_expression" => parts.last().is_some_and(|part| self.is_constant(*part, depth + 1)),
            "arguments"
            | "argument"
            | "literal_element"
            | "parenthesized_expression"
            | "reference_expression"
            | "return"
            | "unary_expression"
            | "unary_operator"
            | "unary"
            | "value_argument" => parts.iter().all(|part| self.is_constant(*part, depth + 1)),
            "keyed_element" | "pair" => parts.last().is_some_and(|value| self.is_constant(*value, depth + 1)),
            "await" | "await_expression" | "composite_literal" => {
                parts.last().is_some_and(|value| self.is_constant(*value, depth + 1))
            }
            "as_expression" | "satisfies_expression" | "type_cast_expression" => {
                parts.first().is_some_and(|value| self.is_constant(*value, depth + 1))
            }
            "array_element_initializer" => parts.iter().all(|part| self.is_constant(*part, depth + 1)),
            _ if kind.ends_with("_literal") => {
                parts.is_empty() || parts.iter().all(|part| self.is_constant(*part, depth + 1))
            }
            _ => self.makes_constant(node, depth),
        }
    }

    /// Returns whether a call makes an empty value, or wraps a constant. A comprehension or a block stands in the place of
    /// arguments in some languages.
    fn makes_constant(&self, node: Node<'_>, depth: usize) -> bool {
        const COMPUTES: &[&str] = &[
            "annotated_lambda",
            "block",
            "block_argument",
            "call_suffix",
            "do_block",
            "generator_expression",
            "lambda_literal",
        ];
        if names::callee(self.text, node).is_none() {
            return false;
        }
        let arguments = node
            .named_children()
            .filter(|child| child.word().contains("argument") && !child.word().contains("type"));
        let head = self.squashed(self.text_of(node));
        let head = head.split(['(', '!']).next().unwrap_or_default().trim_start_matches("new");
        let head = head.split('<').next().unwrap_or(head);
        MAKERS.contains(&head)
            && !node.named_children().any(|child| COMPUTES.contains(&child.word()))
            && arguments.into_iter().all(|list| self.is_constant(list, depth + 1))
    }

    /// Returns whether a statement fails with words that the function is not written yet.
    pub(super) fn is_refusal(&self, statement: Node<'_>) -> bool {
        let node = inner(statement);
        let text = self.text_of(node);
        let fails = match node.word() {
            "raise_statement" | "throw_expression" | "throw_statement" | "throw" => true,
            "macro_invocation" | "call" | "call_expression" | "return_statement" | "return_expression" => {
                const WORDS: &[&str] = &[
                    "todo!",
                    "unimplemented!",
                    "panic!",
                    "panic(",
                    "TODO(",
                    "raise ",
                    "raise(",
                    "abort(",
                    "return errors.New(",
                    "return nil, errors.New(",
                    "return fmt.Errorf(",
                    "return nil, fmt.Errorf(",
                    "return Err(",
                    "Err(",
                    "return Promise.reject(",
                ];
                WORDS.iter().any(|word| text.starts_with(word))
            }
            _ => false,
        };
        fails && says_unwritten(text)
    }
}

/// Returns whether the words of a failure say that something is not written yet.
fn says_unwritten(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "notimplemented",
        "unimplemented",
        "implementme",
        "notyetimplemented",
        "notyetsupported",
        "tobeimplemented",
        "unsupportedoperationexception",
    ];
    let letters: String =
        text.chars().filter(|sign| sign.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    text.starts_with("todo!")
        || text.starts_with("TODO(")
        || text.contains("TODO")
        || WORDS.iter().any(|word| letters.contains(word))
}

fn is_name(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text.chars().all(|sign| sign.is_alphanumeric() || "_, &".contains(sign))
}

/// Returns whether a statement is a string alone.
fn is_text(statement: Node<'_>) -> bool {
    statement.word() == "expression_statement"
        && statement.named_child_count() == 1
        && statement.named_child(0).is_some_and(|only| only.word().contains("string"))
}

/// Returns whether a statement leaves the function.
fn is_return(statement: Node<'_>) -> bool {
    inner(statement).word().starts_with("return")
}

/// Returns the expression of a statement.
pub(super) fn inner(statement: Node<'_>) -> Node<'_> {
    match statement.word() {
        "expression_statement" | "await" | "await_expression" => {
            statement.named_child(0).map(inner).unwrap_or(statement)
        }
        _ => statement,
    }
}

/// Returns the statements of a body without comments; an expression is one by itself.
pub(super) fn statements(body: Node<'_>) -> Vec<Node<'_>> {
    let is_block = matches!(
        body.word(),
        "arrow_expression_clause"
            | "block"
            | "block_body"
            | "body_statement"
            | "compound_statement"
            | "constructor_body"
            | "statement_block"
            | "statement_list"
            | "statements"
            | "then"
    );
    if !is_block {
        return vec![body];
    }
    let inside = body.named_children().filter(|child| !child.is_comment());
    inside
        .flat_map(|child| match child.word() {
            "statement_list" | "statements" => statements(child),
            _ => vec![child],
        })
        .collect()
}
