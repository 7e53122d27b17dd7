//! Parts of code that never run, whatever the code is given.

use super::Language;
use super::branches::{otherwise_of, then_of};
use super::rust_text;
use super::spelled::{Speller, parts};
use super::uncollected::is_empty;
use crate::names::{joins, places};
use crate::tree::Node;

/// A part that never runs.
pub(super) struct Dead<'n> {
    /// The place that decides so.
    pub(super) condition: Node<'n>,
    pub(super) part: Node<'n>,
}

/// Kinds of nodes whose children are statements, or are one.
pub(super) const BLOCKS: &[&str] = &[
    "block",
    "block_body",
    "body_statement",
    "compound_statement",
    "expression_statement",
    "program",
    "statement_block",
    "statement_list",
    "statements",
    "then",
];

/// Methods that run a function for each member of what they are called on.
const EACH: &[&str] =
    &["ForEach", "each", "each_with_index", "flatMap", "forEach", "forEachIndexed", "for_each", "map"];

impl Speller<'_> {
    /// Returns the parts of a node that never run.
    pub(super) fn dead<'n>(&self, node: Node<'n>) -> Vec<Dead<'n>> {
        match node.word() {
            "if" | "if_expression" | "if_modifier" | "if_statement" | "preproc_if" | "unless"
            | "unless_modifier" => self.dead_branches(node),
            "binary"
            | "binary_expression"
            | "boolean_operator"
            | "conditional"
            | "conditional_expression"
            | "ternary_expression" => self.dead_operands(node),
            "until" | "until_modifier" | "while" | "while_expression" | "while_modifier"
            | "while_statement" => self.dead_loop(node).into_iter().collect(),
            "enhanced_for_statement"
            | "for"
            | "for_range_loop"
            | "for_expression"
            | "for_in_statement"
            | "for_statement"
            | "foreach_statement" => self.loop_over_nothing(node).into_iter().collect(),
            "call" | "call_expression" | "invocation_expression" | "method_invocation" => {
                self.call_for_nothing(node).into_iter().collect()
            }
            "expression_statement" | "lambda" => self.unused_statement(node).into_iter().collect(),
            "assignment" if !matches!(self.language, Language::Python | Language::Ruby) => Vec::new(),
            "assignment_expression" if self.language != Language::Php => Vec::new(),
            "assignment"
            | "assignment_expression"
            | "init_declarator"
            | "let_declaration"
            | "property_declaration"
            | "short_var_declaration"
            | "variable_declarator" => self.unused_value(node).into_iter().collect(),
            "function_declaration"
            | "function_definition"
            | "function_item"
            | "generator_function_declaration"
            | "local_function_statement"
            | "method" => self.unused_function(node).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the truth value of an expression that has the same in every run.
    pub(super) fn truth(&self, expression: Node<'_>) -> Option<bool> {
        let of_rust = (self.language == Language::Rust).then(|| rust_text::truth(&self.squashed(expression)));
        of_rust.flatten().or_else(|| self.constant(expression))
    }

    /// Returns the truth value of the condition of a node that has the same in every run.
    pub(super) fn value_of_condition(&self, node: Node<'_>) -> Option<bool> {
        let condition = node.field("condition")?;
        self.truth(condition).or_else(|| self.constant_of_bound(node, condition))
    }

    fn squashed(&self, node: Node<'_>) -> String {
        self.text_of(node).split_whitespace().collect()
    }

    fn dead_branches<'n>(&self, node: Node<'n>) -> Vec<Dead<'n>> {
        let Some(condition) = node.field("condition") else { return Vec::new() };
        let value = self.value_of_condition(node).map(|value| value ^ node.word().starts_with("unless"));
        let otherwise = otherwise_of(node);
        let parts: Vec<Node<'n>> = match value {
            Some(true) => otherwise.into_iter().collect(),
            Some(false) if node.word() == "preproc_if" => {
                let inside = node.named_children();
                inside.filter(|child| *child != condition && Some(*child) != otherwise).collect()
            }
            Some(false) => then_of(node).into_iter().collect(),
            None => Vec::new(),
        };
        parts.into_iter().map(|part| Dead { condition, part }).collect()
    }

    /// Returns the operands of `a && b`, and the values of `a ? b : c`, that are never asked for.
    fn dead_operands<'n>(&self, node: Node<'n>) -> Vec<Dead<'n>> {
        let Some(chosen) = self.chosen(node, 0) else { return Vec::new() };
        let all = parts(node);
        let condition = match all.as_slice() {
            [left, _] => Some(*left).filter(|left| self.constant(*left).is_some()),
            [then, middle, _] => Some(if self.language == Language::Python { *middle } else { *then }),
            _ => None,
        };
        let Some(condition) = condition.filter(|_| chosen != node) else { return Vec::new() };
        let unused = all.into_iter().filter(|part| *part != chosen && *part != condition);
        unused.map(|part| Dead { condition, part }).collect()
    }

    fn dead_loop<'n>(&self, node: Node<'n>) -> Option<Dead<'n>> {
        let condition = node.field("condition")?;
        let goes_on = self.truth(condition)? ^ node.word().starts_with("until");
        Some(Dead { condition, part: node.field("body").filter(|_| !goes_on)? })
    }

    /// Returns the body of a loop that goes through nothing, or whose condition never holds.
    fn loop_over_nothing<'n>(&self, node: Node<'n>) -> Option<Dead<'n>> {
        let list = ["right", "value", "collection"].iter().find_map(|field| node.field(field));
        let list = list.or_else(|| {
            let clause = node.named_children().find(|child| child.word() == "range_clause");
            // These have no name for the list.
            let is_of_php = self.language == Language::Php && node.word() == "foreach_statement";
            let position = if is_of_php { 0 } else { 1 };
            let by_place =
                node.named_child(position).filter(|_| is_of_php || self.language == Language::Kotlin);
            clause.and_then(|clause| clause.field("right")).or(by_place)
        });
        let body = node.field("body").or_else(|| node.named_children().last())?;
        if let Some(condition) = list.filter(|list| self.is_nothing(*list)) {
            return Some(Dead { condition, part: body });
        }
        let clause = node.named_children().find(|child| child.word() == "for_clause").unwrap_or(node);
        let statement = clause.field("condition").or_else(|| {
            // Go has a condition in the place of a list.
            node.named_children().next().filter(|_| self.language == Language::Go && clause == node)
        })?;
        let condition = match statement.word() {
            "expression_statement" => statement.named_child(0)?,
            _ => statement,
        };
        let first = ["init", "initializer"].iter().find_map(|field| clause.field(field));
        let is_never = self.truth(condition) == Some(false)
            || first.is_some_and(|first| !self.may_begin(first, condition));
        is_never.then_some(Dead { condition, part: body })
    }

    /// Returns whether a loop that counts may have a first turn: `i = 0; i < 0` has none.
    fn may_begin(&self, first: Node<'_>, condition: Node<'_>) -> bool {
        let condition = self.squashed(condition);
        let condition = condition.trim_end_matches(';');
        let end = condition.find(['<', '>', '!']).unwrap_or(condition.len());
        let (name, rest) = condition.split_at(end);
        let limit = rest.trim_start_matches(['<', '>', '=', '!']);
        let (sign, limit) = (&rest[..rest.len() - limit.len()], limit.parse::<i64>());
        let first = self.squashed(first).replace(":=", "=");
        // A declaration has its type right before the name.
        let given = first.split_once('=').filter(|(before, _)| before.ends_with(name));
        let given = given.and_then(|(_, value)| value.trim_end_matches(';').parse::<i64>().ok());
        let (Some(given), Ok(limit), false) = (given, limit, name.is_empty()) else { return true };
        match sign {
            "<" => given < limit,
            "<=" => given <= limit,
            ">" => given > limit,
            ">=" => given >= limit,
            "!=" | "!==" => given != limit,
            _ => true,
        }
    }

    /// Returns a call that runs its function for each member of nothing.
    fn call_for_nothing<'n>(&self, node: Node<'n>) -> Option<Dead<'n>> {
        let function = ["function", "name", "method"].iter().find_map(|field| node.field(field));
        let function = function.or_else(|| node.named_child(0))?;
        let object =
            ["object", "expression", "value", "operand"].iter().find_map(|field| function.field(field));
        let object = node.field("receiver").or_else(|| node.field("object")).or(object);
        let object =
            object.or_else(|| function.named_child(0).filter(|_| function.word() == "navigation_expression"));
        let path = self.text_of(function);
        let name = path.rsplit(['.', '?', ' ', '\n']).next().unwrap_or(path);
        let name = name.split('(').next().unwrap_or(name);
        let is_statement = node.parent().is_some_and(|parent| BLOCKS.contains(&parent.word()));
        let block = node.field("block").filter(|_| is_statement && matches!(path, "lambda" | "proc"));
        if let Some(part) = block.filter(|_| self.language == Language::Ruby) {
            return Some(Dead { condition: node, part });
        }
        let times = match name {
            "repeat" => Some(self.squashed(node)).filter(|text| text.starts_with("repeat(0)")),
            "times" | "upto" => object.map(|object| self.squashed(object)).filter(|times| times == "0"),
            _ => None,
        };
        let is_each = EACH.contains(&name) && object.is_some_and(|object| self.is_nothing(object));
        let given = ["block", "arguments"].iter().find_map(|field| node.field(field));
        let part = given.or_else(|| node.named_children().last())?;
        (is_each || times.is_some()).then_some(Dead { condition: node, part })
    }

    /// Returns whether an expression is a collection or a range without members.
    fn is_nothing(&self, node: Node<'_>) -> bool {
        const NOTHING: &[&str] = &[
            "Array.Empty()",
            "Collections.emptyList()",
            "Collections.emptySet()",
            "Enumerable.Empty()",
            "List.of()",
            "Set.of()",
            "Stream.empty()",
            "Vec::new()",
            "array()",
            "emptyArray()",
            "emptyList()",
            "emptySequence()",
            "emptySet()",
            "listOf()",
            "setOf()",
            "std::iter::empty()",
            "vec![]",
        ];
        if is_empty(self.text, node, &Default::default()) {
            return true;
        }
        if node.byte_range().len() > LONGEST_COLLECTION {
            return false;
        }
        let text = self.squashed(node);
        let text = without_types(&text);
        let text = text.trim_start_matches(['(', '&']).trim_end_matches(')');
        let call = format!("{text})");
        let makes = self.text_of(node).trim_start_matches(['(', '&', ' ']).starts_with("new ");
        let is_made = makes && ["[0]", "[]{}"].iter().any(|end| text.ends_with(end))
            || text.starts_with("[]") && text.ends_with("{}")
            || text == "[]";
        is_made || NOTHING.contains(&text) || NOTHING.contains(&call.as_str()) || self.is_empty_range(text)
    }

    /// Returns whether a text is a range of numbers without members.
    fn is_empty_range(&self, text: &str) -> bool {
        let is_closed = matches!(self.language, Language::Kotlin | Language::Ruby);
        let signs = [("..=", true), ("..<", false), ("...", false), ("until", false), ("..", is_closed)];
        let Some((sign, has_last)) = signs.into_iter().find(|(sign, _)| text.contains(sign)) else {
            return false;
        };
        let ends = text.split_once(sign).map(|(first, last)| (first.parse::<i64>(), last.parse::<i64>()));
        matches!(ends, Some((Ok(first), Ok(last))) if first > last || first == last && !has_last)
    }

    /// Returns a function that a statement makes and nothing calls.
    fn unused_statement<'n>(&self, node: Node<'n>) -> Option<Dead<'n>> {
        if node.word() == "lambda" {
            let is_statement = node.parent().is_some_and(|parent| BLOCKS.contains(&parent.word()));
            let of_ruby = self.language == Language::Ruby && is_statement;
            return of_ruby.then_some(Dead { condition: node, part: node });
        }
        let mut inner = node.named_child(0)?;
        while matches!(inner.word(), "parenthesized_expression" | "unary_expression") {
            inner = inner.named_children().last()?;
        }
        is_function(inner.word()).then_some(Dead { condition: inner, part: inner })
    }

    /// Returns the function that is the value of a name which its block does not use.
    fn unused_value<'n>(&self, node: Node<'n>) -> Option<Dead<'n>> {
        let value = ["value", "right"].iter().find_map(|field| node.field(field));
        let mut value = value.or_else(|| node.named_children().last())?;
        if value.word() == "expression_list" && value.named_child_count() == 1 {
            value = value.named_child(0)?;
        }
        let makes = value.word() == "call"
            && value.field("block").is_some()
            && value.field("method").is_some_and(|name| matches!(self.text_of(name), "lambda" | "proc"));
        if !is_function(value.word()) && !makes {
            return None;
        }
        let name = ["name", "pattern", "left", "declarator"].iter().find_map(|field| node.field(field));
        let name =
            name.or_else(|| node.named_children().find(|child| child.word() == "variable_declaration"))?;
        let name = self.text_of(name).split(':').next().unwrap_or_default().trim();
        let block = around(node)?;
        if name == "_" {
            return Some(Dead { condition: value, part: value });
        }
        let is_plain = name.chars().all(|sign| joins(sign) || sign == '$');
        // An assignment may be one to a name of any block around.
        let block = if node.word().starts_with("assignment") { self.text } else { self.text_of(block) };
        (is_plain && is_only_mentioned(block, name)).then_some(Dead { condition: value, part: value })
    }

    /// Returns a function inside of another one that nothing calls by its name.
    fn unused_function<'n>(&self, node: Node<'n>) -> Option<Dead<'n>> {
        let mut outer = node.parent()?;
        // What stands above a function may call it.
        let is_marked = outer.word() == "decorated_definition"
            || node.prev_named_sibling().is_some_and(|before| before.word() == "attribute_item")
            || node.named_children().any(|child| matches!(child.word(), "attribute_list" | "modifiers"));
        if is_marked {
            return None;
        }
        while !is_definition(outer.word()) {
            outer = outer.parent().filter(|outer| !is_group(outer.word()))?;
        }
        let condition = node.field("name")?;
        let name = self.text_of(condition);
        // Ruby defines such a function for the whole class.
        let text = if self.language == Language::Ruby { self.text } else { self.text_of(outer) };
        let is_unused = !name.to_lowercase().starts_with("test") && is_only_mentioned(text, name);
        is_unused.then_some(Dead { condition, part: node })
    }
}

/// Returns whether nothing in a text but its definition uses the function of a name, or only in ways that call nothing: it
/// is thrown away, or an assertion says that it is there.
fn is_only_mentioned(text: &str, name: &str) -> bool {
    const BEFORE: &[&str] = &[
        "_ =",
        "_ :=",
        "del",
        "void",
        "callable(",
        "expect(",
        "NotNil(t,",
        "NotNull(",
        "partial(",
        "OnceFunc(",
    ];
    let mut uses = places(text, name).skip(1);
    uses.all(|place| {
        let before = text[..place.start].trim_end();
        let is_called = text[place.end..].starts_with(['(', '.', '?', '!']);
        let is_alone = text[..place.start].rsplit('\n').next().is_some_and(|line| line.trim().is_empty());
        // The last argument of a call may stand on a line of its own, and so may the value of a block.
        let is_begin = !before.ends_with(['(', '[', ',', '=', '&', '|', '+', '?', '>']);
        let rest = text[place.end..].trim_start_matches(' ');
        let next = rest.trim_start();
        let is_value = next.starts_with([')', ']', '}', '.', ',', '?']) || next.starts_with("end");
        let is_end = rest.starts_with(';') || rest.starts_with('\n') && !is_value;
        let is_line = is_alone && is_begin && is_end;
        !is_called && (BEFORE.iter().any(|word| before.ends_with(word)) || is_line)
    })
}

/// Longest text of a collection that is compared with those of empty ones, in bytes.
const LONGEST_COLLECTION: usize = 80;

/// Returns the block that a declaration stands in, inside of a function.
fn around(node: Node<'_>) -> Option<Node<'_>> {
    let mut around = node.parent()?;
    while !BLOCKS.contains(&around.word()) || around.word() == "expression_statement" {
        around = around.parent().filter(|around| !is_group(around.word()))?;
    }
    (around.word() != "program").then_some(around)
}

/// Returns whether nodes of a kind are functions that run only where something calls them.
fn is_function(kind: &str) -> bool {
    matches!(
        kind,
        "anonymous_function"
            | "anonymous_method_expression"
            | "arrow_function"
            | "closure_expression"
            | "func_literal"
            | "function_expression"
            | "lambda"
            | "lambda_expression"
            | "lambda_literal"
    )
}

/// Returns whether nodes of a kind group functions that others may call.
fn is_group(kind: &str) -> bool {
    kind.contains("class")
        || matches!(
            kind,
            "do_block" | "impl_item" | "mod_item" | "module" | "object_declaration" | "object_literal"
        )
}

/// Returns whether nodes of a kind are functions.
fn is_definition(kind: &str) -> bool {
    let has_name = ["function", "method", "constructor"].iter().any(|word| kind.contains(word))
        && ["declaration", "definition", "_item"].iter().any(|end| kind.ends_with(end));
    has_name || is_function(kind) || matches!(kind, "method" | "singleton_method")
}

/// Returns a text without what stands between `<` and `>`.
fn without_types(text: &str) -> String {
    let mut depth = 0_usize;
    let kept = text.chars().filter(|sign| {
        depth += usize::from(*sign == '<');
        let is_kept = depth == 0;
        depth -= usize::from(*sign == '>' && depth > 0);
        is_kept
    });
    kept.collect()
}
