//! The shape of a node: what patterns compare, whatever the grammar calls it.

use std::borrow::Cow;

use super::Code;
use super::grammar::{Grammar, Role};
use super::plain::{self, PlainTree};
use crate::escapes::{code_point, unescaped};
use crate::syntax::Span;

/// Longest chain of names, strings or operators that is followed.
pub(super) const LONGEST_CHAIN: usize = 64;

/// A node of either kind of tree.
#[derive(Debug, Clone, Copy)]
pub(super) enum Node<'t> {
    Parsed(crate::tree::Node<'t>),
    Plain(&'t PlainTree, usize),
}

/// A name with a place.
#[derive(Debug, Clone)]
pub(super) struct Word<'t> {
    pub(super) text: Cow<'t, str>,
    pub(super) span: Span,
}

/// The callee of a call.
#[derive(Debug, Clone)]
pub(super) enum Callee<'t> {
    Node(Node<'t>),
    /// A method of an object, where the grammar has no node for both.
    Method(Option<Node<'t>>, Word<'t>),
}

/// The kind of a node, with the parts that patterns compare.
#[derive(Debug, Clone)]
pub(super) enum Shape<'t> {
    Name(Cow<'t, str>),
    Member(Node<'t>, Word<'t>),
    Call(Callee<'t>, Vec<Node<'t>>),
    /// A string without expressions in it, by its value.
    Text(String),
    /// A string with expressions in it.
    Template,
    /// A number, a truth value, nothing.
    Literal(Cow<'t, str>),
    Pair(Word<'t>, Node<'t>),
    Assign(Node<'t>, Node<'t>),
    /// Entries in braces.
    Record(Vec<Node<'t>>),
    List(Vec<Node<'t>>),
    /// Anything else: the kind's name, the operator where it has one, and the named children.
    Other(&'t str, &'t str, Vec<Node<'t>>),
}

impl<'t> Code<'t> {
    pub(super) fn span(&self, node: Node<'_>) -> Span {
        match node {
            Node::Parsed(node) => Span { start: node.start_byte(), end: node.end_byte() },
            Node::Plain(tree, id) => tree.nodes[id].span,
        }
    }

    pub(super) fn node_text(&self, node: Node<'_>) -> &'t str {
        self.span(node).of(self.text)
    }

    /// Returns the named children without comments.
    pub(super) fn children(&self, node: Node<'t>) -> Vec<Node<'t>> {
        match node {
            Node::Parsed(node) => {
                let named = node.named_children();
                named.filter(|child| self.role_of(*child) != Role::Skip).map(Node::Parsed).collect()
            }
            Node::Plain(tree, id) => {
                tree.nodes[id].children.iter().map(|id| Node::Plain(tree, *id)).collect()
            }
        }
    }

    fn role_of(&self, node: crate::tree::Node<'_>) -> Role {
        self.parsed.grammar.roles().role(node.kind_id())
    }

    /// Returns the role of a node; a plain tree has none but by shape.
    pub(super) fn role(&self, node: Node<'_>) -> Role {
        match node {
            Node::Parsed(node) => self.role_of(node),
            Node::Plain(..) => Role::Other,
        }
    }

    /// Returns the node that parentheses, casts and the like stand for.
    pub(super) fn unwrapped(&self, mut node: Node<'t>) -> Node<'t> {
        for _ in 0..LONGEST_CHAIN {
            let Node::Parsed(parsed) = node else { return node };
            let role = self.role_of(parsed);
            let inside = if let Role::Wrap(field) = role {
                if field.is_empty() { self.only_child(parsed) } else { parsed.field(field) }
            } else if role == Role::WrapLast {
                self.last_child(parsed)
            } else if role == Role::Unary {
                self.dereferenced(parsed)
            } else if matches!(role, Role::PairChildren | Role::Pair(_, "")) && self.named_count(parsed) == 1
            {
                self.only_child(parsed)
            } else {
                None
            };
            match inside {
                Some(inside) => node = Node::Parsed(inside),
                None => return node,
            }
        }
        node
    }

    fn named_count(&self, node: crate::tree::Node<'t>) -> usize {
        node.named_children().filter(|child| self.role_of(*child) != Role::Skip).count()
    }

    /// Returns the first named child. A list of several expressions stands for itself.
    fn only_child(&self, node: crate::tree::Node<'t>) -> Option<crate::tree::Node<'t>> {
        if node.word() == "expression_list" && node.named_child_count() > 1 {
            return None;
        }
        let mut named = node.named_children();
        named.find(|child| self.role_of(*child) != Role::Skip)
    }

    fn last_child(&self, node: crate::tree::Node<'t>) -> Option<crate::tree::Node<'t>> {
        node.named_children().filter(|child| self.role_of(*child) != Role::Skip).last()
    }

    /// `&x` and `*x` are as good as `x` here.
    fn dereferenced(&self, node: crate::tree::Node<'t>) -> Option<crate::tree::Node<'t>> {
        let operator = node.child(0).filter(|operator| matches!(operator.word(), "&" | "*"));
        operator.and(self.last_child(node))
    }

    pub(super) fn shape(&self, node: Node<'t>) -> Shape<'t> {
        let node = self.unwrapped(node);
        match node {
            Node::Plain(tree, id) => self.plain_shape(tree, id),
            Node::Parsed(parsed) => self.parsed_shape(parsed).unwrap_or_else(|| self.other(parsed)),
        }
    }

    fn other(&self, node: crate::tree::Node<'t>) -> Shape<'t> {
        let operator = node.field("operator");
        let operator = operator.map(|operator| self.node_text(Node::Parsed(operator))).unwrap_or_default();
        Shape::Other(node.word(), operator, self.children(Node::Parsed(node)))
    }

    fn word(&self, node: crate::tree::Node<'t>) -> Word<'t> {
        let text = self.node_text(Node::Parsed(node));
        Word { text: decoded_name(text), span: self.span(Node::Parsed(node)) }
    }

    /// Returns the shape by the kind's role, or `None` where the node lacks a part.
    fn parsed_shape(&self, node: crate::tree::Node<'t>) -> Option<Shape<'t>> {
        let own_text = self.node_text(Node::Parsed(node));
        Some(match self.role_of(node) {
            Role::Name => Shape::Name(decoded_name(own_text)),
            Role::Dotted => self.dotted(node),
            Role::Member(object, name) => match field(node, object) {
                Some(object) => Shape::Member(object, self.word(node.field(name)?)),
                None => Shape::Name(decoded_name(self.node_text(field(node, name)?))),
            },
            Role::MemberPair => {
                let children = self.children(Node::Parsed(node));
                let [object, name] = children[..] else { return None };
                let span = self.span(name);
                Shape::Member(object, Word { text: Cow::Borrowed(self.node_text(name)), span })
            }
            Role::Index(object, index) => {
                let index = field(node, index)?;
                let name = self.text_value(index)?;
                let span = self.span(index);
                Shape::Member(field(node, object)?, Word { text: Cow::Owned(name), span })
            }
            Role::Call(callee, arguments) => {
                let arguments = self.arguments(node.field(arguments));
                let callee = field(node, callee)?;
                match self.read_attribute(callee, &arguments) {
                    Some(member) => member,
                    None if self.is_dictionary(callee, &arguments) => Shape::Record(arguments),
                    None => Shape::Call(Callee::Node(callee), arguments),
                }
            }
            Role::CallFirst => self.call_first(node)?,
            Role::Method(object, name) => self.method(node, field(node, object), node.field(name)?),
            Role::Command => self.command(node)?,
            Role::Macro => self.macro_call(node)?,
            Role::Text => self.string(node),
            Role::Texts => match self.joined(self.children(Node::Parsed(node))) {
                Some(text) => Shape::Text(text),
                None => Shape::Template,
            },
            Role::Literal => Shape::Literal(Cow::Borrowed(own_text)),
            Role::Pair(name, value) => {
                let value = match value {
                    "" => self.last_child(node)?,
                    value => node.field(value)?,
                };
                Shape::Pair(self.pair_name(node.field(name)?), Node::Parsed(value))
            }
            Role::PairChildren => {
                let children = self.children(Node::Parsed(node));
                let [Node::Parsed(name), value] = children[..] else { return None };
                Shape::Pair(self.pair_name(name), value)
            }
            Role::Shorthand => Shape::Pair(self.word(node), Node::Parsed(node)),
            Role::Assign(left, right) => Shape::Assign(field(node, left)?, field(node, right)?),
            Role::Binary => match self.concatenated(node) {
                Some(text) => Shape::Text(text),
                None => return None,
            },
            Role::Unary => Shape::Literal(Cow::Borrowed(self.negated(node)?)),
            Role::List => Shape::List(self.children(Node::Parsed(node))),
            Role::Record => Shape::Record(self.children(Node::Parsed(node))),
            Role::Skip | Role::Wrap(_) | Role::WrapLast | Role::Other => return None,
        })
    }

    /// `dict(name=value)` of Python has the same entries as `{"name": value}`.
    fn is_dictionary(&self, callee: Node<'t>, arguments: &[Node<'t>]) -> bool {
        self.parsed.grammar == Grammar::Python
            && self.node_text(callee) == "dict"
            && arguments.iter().all(|argument| self.is_pair(*argument))
    }

    /// `getattr(object, "name")` of Python is a member.
    fn read_attribute(&self, callee: Node<'t>, arguments: &[Node<'t>]) -> Option<Shape<'t>> {
        let [object, name, ..] = arguments else { return None };
        if self.parsed.grammar != Grammar::Python || self.node_text(callee) != "getattr" {
            return None;
        }
        let text = Cow::Owned(self.text_value(*name)?);
        Some(Shape::Member(*object, Word { text, span: self.span(*name) }))
    }

    /// Returns the value of a negated constant: `!1`, `!true`, `not False`.
    fn negated(&self, node: crate::tree::Node<'t>) -> Option<&'static str> {
        let operator = node.child(0)?;
        if !matches!(self.node_text(Node::Parsed(operator)), "!" | "not") {
            return None;
        }
        let Shape::Literal(value) = self.shape(Node::Parsed(self.last_child(node)?)) else { return None };
        let is_true = match value.as_ref() {
            "true" | "True" | "1" => true,
            "false" | "False" | "0" => false,
            _ => return None,
        };
        Some(match (is_true, self.parsed.grammar) {
            (true, Grammar::Python) => "False",
            (false, Grammar::Python) => "True",
            (true, _) => "false",
            (false, _) => "true",
        })
    }

    /// `a.b.c`: the last name is a member of the names before.
    fn dotted(&self, node: crate::tree::Node<'t>) -> Shape<'t> {
        let text = self.node_text(Node::Parsed(node));
        Shape::Name(Cow::Owned(text.trim_start_matches('\\').replace('\\', ".")))
    }

    fn arguments(&self, list: Option<crate::tree::Node<'t>>) -> Vec<Node<'t>> {
        let Some(list) = list else { return Vec::new() };
        match list.word() {
            "argument_list" | "arguments" | "token_tree" => {
                let arguments = self.children(Node::Parsed(list)).into_iter();
                arguments.flat_map(|argument| self.spread(argument)).collect()
            }
            _ => vec![Node::Parsed(list)],
        }
    }

    /// Returns the arguments that a dictionary in `**{…}` of Python stands for; any other argument stands for itself.
    fn spread(&self, argument: Node<'t>) -> Vec<Node<'t>> {
        let Node::Parsed(node) = argument else { return vec![argument] };
        if node.word() != "dictionary_splat" {
            return vec![argument];
        }
        let Some(inside) = self.last_child(node).map(|inside| self.shape(Node::Parsed(inside))) else {
            return vec![argument];
        };
        if let Shape::Record(pairs) = inside {
            return pairs;
        }
        vec![argument]
    }

    fn call_first(&self, node: crate::tree::Node<'t>) -> Option<Shape<'t>> {
        let callee = self.only_child(node)?;
        let list = node.named_children().find(|child| child.word() == "arguments");
        Some(Shape::Call(Callee::Node(Node::Parsed(callee)), self.arguments(list)))
    }

    fn method(
        &self,
        node: crate::tree::Node<'t>,
        object: Option<Node<'t>>,
        name: crate::tree::Node<'t>,
    ) -> Shape<'t> {
        let word = self.word(name);
        match (node.field("arguments"), object) {
            (None, Some(object)) => Shape::Member(object, word),
            (list, object) => Shape::Call(Callee::Method(object, word), self.arguments(list)),
        }
    }

    /// Returns a command of a shell: the program is named by the last part of its path.
    fn command(&self, node: crate::tree::Node<'t>) -> Option<Shape<'t>> {
        let name = node.field("name")?;
        let mut word = self.word(name);
        if let Cow::Borrowed(text) = word.text {
            word.text = Cow::Borrowed(text.rsplit('/').next().unwrap_or(text));
        }
        let arguments = node.fields("argument").map(Node::Parsed).collect();
        Some(Shape::Call(Callee::Method(None, word), arguments))
    }

    /// A macro is called by its name with `!`; its arguments are tokens.
    fn macro_call(&self, node: crate::tree::Node<'t>) -> Option<Shape<'t>> {
        let name = node.field("macro")?;
        let last = self.node_text(Node::Parsed(name)).rsplit("::").next().unwrap_or("");
        let word = Word { text: Cow::Owned(format!("{last}!")), span: self.span(Node::Parsed(name)) };
        let tokens = node.named_children().find(|child| child.word() == "token_tree");
        Some(Shape::Call(Callee::Method(None, word), self.arguments(tokens)))
    }

    fn pair_name(&self, name: crate::tree::Node<'t>) -> Word<'t> {
        let node = self.unwrapped(Node::Parsed(name));
        let text = match self.text_value(node) {
            Some(text) => Cow::Owned(text),
            None => decoded_name(self.node_text(node).trim_start_matches(':')),
        };
        Word { text, span: self.span(node) }
    }

    fn string(&self, node: crate::tree::Node<'t>) -> Shape<'t> {
        const PIECES: &[&str] =
            &["content", "fragment", "escape", "start", "end", "literal", "heredoc_beginning"];
        let is_constant = node.named_children().all(|child| {
            let is_body = matches!(child.word(), "heredoc_body" | "nowdoc_body");
            is_body && child.named_child_count() <= 1
                || PIECES.iter().any(|piece| child.word().contains(piece))
        });
        if !is_constant {
            return Shape::Template;
        }
        Shape::Text(value(self.node_text(Node::Parsed(node))))
    }

    /// Returns the value of a string, or `None` for anything else.
    pub(super) fn text_value(&self, node: Node<'t>) -> Option<String> {
        if let Shape::Text(text) = self.shape(node) { Some(text) } else { None }
    }

    /// Returns the value of a string or of a constant, or the text of anything else.
    pub(super) fn value(&self, node: Node<'t>) -> String {
        let shape = self.shape(node);
        if let Shape::Text(text) = shape {
            return text;
        }
        if let Shape::Literal(text) = shape {
            return text.into_owned();
        }
        self.node_text(self.unwrapped(node)).to_owned()
    }

    /// Returns the value of strings that stand one after the other.
    fn joined(&self, parts: Vec<Node<'t>>) -> Option<String> {
        if parts.len() > LONGEST_CHAIN {
            return None;
        }
        let texts = parts.into_iter().map(|part| self.text_value(part));
        texts.collect::<Option<Vec<String>>>().map(|texts| texts.concat())
    }

    /// Returns the value of strings joined by `+`, or by `.` in PHP.
    fn concatenated(&self, node: crate::tree::Node<'t>) -> Option<String> {
        let mut parts = Vec::new();
        let mut left = node;
        for _ in 0..LONGEST_CHAIN {
            let operator = left.field("operator").or_else(|| left.child(1))?;
            if !matches!(self.node_text(Node::Parsed(operator)), "+" | ".") {
                return None;
            }
            let right = left.field("right").filter(|right| self.role_of(*right) != Role::Binary)?;
            parts.push(self.text_value(Node::Parsed(right))?);
            let next = left.field("left")?;
            if self.role_of(next) == Role::Binary {
                left = next;
                continue;
            }
            parts.push(self.text_value(Node::Parsed(next))?);
            parts.reverse();
            return Some(parts.concat());
        }
        None
    }

    fn plain_shape(&self, tree: &'t PlainTree, id: usize) -> Shape<'t> {
        let data = &tree.nodes[id];
        let text = data.span.of(self.text);
        let children: Vec<Node<'t>> = data.children.iter().map(|id| Node::Plain(tree, *id)).collect();
        let name = Word { text: Cow::Borrowed(data.name.of(self.text)), span: data.name };
        match data.kind {
            plain::Kind::Name => Shape::Name(Cow::Borrowed(text)),
            plain::Kind::Member => Shape::Member(children[0], name),
            plain::Kind::Call => Shape::Call(Callee::Node(children[0]), children[1..].to_vec()),
            plain::Kind::Text => Shape::Text(value(text)),
            plain::Kind::Template => Shape::Template,
            plain::Kind::Literal => Shape::Literal(Cow::Borrowed(text)),
            plain::Kind::Pair => Shape::Pair(name, children[0]),
            plain::Kind::Assign => Shape::Assign(children[0], children[1]),
            plain::Kind::Group => {
                let bracket = text.get(..1).filter(|bracket| ["(", "[", "{"].contains(bracket));
                Shape::Other("group", bracket.unwrap_or(""), children)
            }
            plain::Kind::Symbol => Shape::Other("symbol", text, Vec::new()),
        }
    }
}

/// Returns the value of a string as it is written: without prefix and quotes, usual escapes resolved.
pub(super) fn value(written: &str) -> String {
    let Some(open) = written.find(['"', '\'', '`']) else { return written.to_owned() };
    let (prefix, quoted) = written.split_at(open);
    // A word of a shell may have quotes anywhere.
    if prefix.len() > 4 || prefix.contains([' ', '=', '-', '/']) {
        return written.to_owned();
    }
    let quote = quoted.chars().next().unwrap_or('"');
    let run = quoted.chars().take_while(|character| *character == quote).count();
    let marks = if run >= 3 { 3 } else { 1 };
    let Some(inside) = quoted.get(marks..) else { return String::new() };
    let end = match inside.rfind(quote) {
        Some(last) => (last + 1).saturating_sub(marks),
        None => inside.len(),
    };
    let inside = inside.get(..end).unwrap_or("");
    let is_raw = prefix.contains(['r', 'R', '@']) || !inside.contains('\\');
    if is_raw { inside.to_owned() } else { unescaped(inside) }
}

/// Returns a name without the escapes that JavaScript and Java allow in it: `inner\u0048TML` is `innerHTML`.
pub(super) fn decoded_name(name: &str) -> Cow<'_, str> {
    if !name.contains("\\u") {
        return Cow::Borrowed(name);
    }
    let mut decoded = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find("\\u") {
        decoded.push_str(&rest[..at]);
        rest = &rest[at + 2..];
        match code_point(rest.trim_start_matches('u')) {
            Some((character, behind)) => {
                decoded.push(character);
                rest = behind;
            }
            None => decoded.push_str("\\u"),
        }
    }
    Cow::Owned(decoded + rest)
}

/// Returns a field of a node.
fn field<'t>(node: crate::tree::Node<'t>, name: &str) -> Option<Node<'t>> {
    node.field(name).map(Node::Parsed)
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn a_string_has_the_same_value_in_every_spelling() {
        for written in [
            "'-c'",
            "\"-c\"",
            "`-c`",
            "r\"-c\"",
            "r#\"-c\"#",
            "\"\"\"-c\"\"\"",
            "b'-c'",
            "@\"-c\"",
            "-c",
            "\"\\x2dc\"",
            "'\\u002dc'",
            "\"-\\\nc\"",
        ] {
            assert_eq!(value(written), "-c", "{written}");
        }
        for (written, expected) in
            [("''", ""), ("\"\"", ""), ("\"", ""), ("r'\\n'", "\\n"), ("'a\\'b'", "a'b")]
        {
            assert_eq!(value(written), expected, "{written}");
        }
    }
}
