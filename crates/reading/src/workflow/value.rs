//! Values of a workflow: their text with constants in the place of expressions, and the way back into the file.

use std::borrow::Cow;

use super::expression::{Expression, Path};
use crate::documents::Node;
use crate::shell::{Decoded, Interpreter, Script, embedded};
use crate::syntax::Span;

/// A value of a workflow: a scalar, a list or a map.
#[derive(Debug, Clone, Copy)]
pub struct Value<'d> {
    node: Node<'d>,
}

/// A member of a map such as `with` or `env`.
#[derive(Debug, Clone, Copy)]
pub struct Member<'d> {
    pub name: &'d str,
    pub name_span: Span,
    pub value: Value<'d>,
}

/// Text of a scalar with the places of its parts in the file. `${{ … }}` of a constant has its value in its place.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Template {
    text: Decoded,
    /// Expressions that are no constants, in order.
    pub expressions: Vec<Embedded>,
    /// Place in the file behind the value.
    end: usize,
}

/// `${{ … }}` in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// Place in [`Template::text`], marks included.
    pub span: Span,
    /// `None` where GitHub would refuse the expression.
    pub expression: Option<Expression>,
}

/// Condition of a job or a step.
#[derive(Debug, Clone, Copy)]
pub struct Condition<'d> {
    pub value: Value<'d>,
}

/// Script of a step, with what runs it.
#[derive(Debug, Clone, Copy)]
pub struct Run<'d> {
    pub value: Value<'d>,
    /// `shell` of the step, the job or the workflow.
    pub shell: Option<Value<'d>>,
    pub interpreter: Interpreter,
}

/// Script of a step, parsed; its places are those of the template's text.
#[derive(Debug, Clone)]
pub struct ParsedRun {
    pub template: Template,
    pub script: Script,
}

impl<'d> Value<'d> {
    /// Returns a value of a document.
    pub fn new(node: Node<'d>) -> Self {
        Self { node }
    }

    /// Returns the value in the document.
    pub fn node(self) -> Node<'d> {
        self.node
    }

    /// Place where the value is named; of an alias, its own.
    pub fn span(self) -> Span {
        self.node.span()
    }

    /// Place of the value's text, which differs from [`Value::span`] for an alias.
    pub fn definition(self) -> Span {
        self.node.definition()
    }

    /// Returns the text of a scalar in which no expression is left: constants count as their value.
    pub fn constant(self) -> Option<Cow<'d, str>> {
        let text = self.node.text()?;
        if !text.contains("${{") {
            return Some(Cow::Borrowed(text));
        }
        let template = self.template()?;
        if template.expressions.is_empty() { Some(Cow::Owned(template.text.text)) } else { None }
    }

    /// Returns true or false where a constant says so.
    pub fn flag(self) -> Option<bool> {
        let text = self.constant()?;
        let word = text.trim();
        if word.eq_ignore_ascii_case("true") {
            Some(true)
        } else if word.eq_ignore_ascii_case("false") {
            Some(false)
        } else {
            None
        }
    }

    /// Returns the text of a scalar with its expressions.
    pub fn template(self) -> Option<Template> {
        let source = self.node.placed_text()?;
        Some(Template { end: self.definition().end, ..Template::new(source) })
    }

    /// Returns the scalar itself, or those of a list.
    pub fn scalars(self) -> Vec<Self> {
        match self.node.text() {
            Some(_) => vec![self],
            None => self.node.items().filter(|item| item.text().is_some()).map(Self::new).collect(),
        }
    }

    /// Returns the value of a member of a map.
    pub fn get(self, name: &str) -> Option<Self> {
        self.node.get(name).map(Self::new)
    }

    /// Returns the items of a list that a map has under a name: the combinations of a matrix.
    pub(super) fn combinations(self, name: &str) -> impl Iterator<Item = Self> + use<'d> {
        self.node.get(name).into_iter().flat_map(|list| list.items()).map(Self::new)
    }

    /// Returns the members of a map, in the order of the text.
    pub fn members(self) -> impl Iterator<Item = Member<'d>> {
        self.node.entries().map(|entry| Member {
            name: entry.key,
            name_span: entry.key_span,
            value: Self::new(entry.value),
        })
    }
}

impl Template {
    fn new(source: Decoded) -> Self {
        let mut template = Self::default();
        let mut at = 0;
        for span in embedded(&source.text) {
            template.text.append(&source.slice(at, span.start));
            let inside = &source.text[span.start + 3..span.end - 2];
            let expression = Expression::parse(inside);
            let constant = expression.as_ref().and_then(Expression::constant);
            let begin = template.text.text.len();
            match constant {
                Some(value) => template.push_constant(&value.to_text(), &source, span),
                None => {
                    template.text.append(&source.slice(span.start, span.end));
                    let span = Span { start: begin, end: template.text.text.len() };
                    template.expressions.push(Embedded { span, expression });
                }
            }
            at = span.end;
        }
        template.text.append(&source.slice(at, source.text.len()));
        template
    }

    /// Adds the value of an expression, all of which stands where the expression stands.
    fn push_constant(&mut self, value: &str, source: &Decoded, span: Span) {
        for (at, character) in value.char_indices() {
            let length = character.len_utf8();
            let is_last = at + length == value.len() && length <= 2;
            let offset = if is_last { span.end - length } else { span.start };
            self.text.push(&value[at..at + length], source.source_of(offset));
        }
    }

    /// Returns the text; expressions that are no constants are as written.
    pub fn text(&self) -> &str {
        &self.text.text
    }

    /// Returns the place in the file of a place in the text.
    pub fn place(&self, span: Span) -> Span {
        let start = self.text.source_of(span.start).min(self.end);
        if span.end <= span.start {
            return Span { start, end: start };
        }
        let last = self.text.text.floor_char_boundary(span.end - 1).max(span.start);
        // A block ends with a line end, also where the file has none.
        let end = (self.text.source_of(last) + (span.end - last)).min(self.end);
        Span { start, end: end.max(start) }
    }
}

impl<'d> Condition<'d> {
    /// Returns whether the condition holds, where constants decide it. Text beside `${{ … }}` makes it a text, which
    /// counts as true.
    pub fn constant(self) -> Option<bool> {
        let text = self.value.node.text()?;
        match self.expression() {
            Some(expression) => expression.truth(),
            None if text.trim().is_empty() => Some(true),
            None if has_text_beside(text.trim()) => Some(true),
            None => None,
        }
    }

    /// Returns the condition as one expression; `None` where it is a text with expressions in it, or no expression.
    pub fn expression(self) -> Option<Expression> {
        let text = self.value.node.text()?;
        let trimmed = text.trim();
        let inside = match embedded(trimmed).as_slice() {
            [] => trimmed,
            [only] if only.start == 0 && only.end == trimmed.len() => &trimmed[3..trimmed.len() - 2],
            [_, ..] => return None,
        };
        Expression::parse(inside)
    }

    /// Returns every path that the condition names.
    pub fn paths(self) -> Vec<Path> {
        if let Some(expression) = self.expression() {
            return expression.paths().into_iter().cloned().collect();
        }
        let template = self.value.template().unwrap_or_default();
        let expressions = template.expressions.iter().filter_map(|embedded| embedded.expression.as_ref());
        expressions.flat_map(Expression::paths).cloned().collect()
    }
}

/// Returns whether a text has anything but white space beside its expressions, of which it has one.
fn has_text_beside(text: &str) -> bool {
    let spans = embedded(text);
    let begins = std::iter::once(0).chain(spans.iter().map(|span| span.end));
    let ends = spans.iter().map(|span| span.start).chain([text.len()]);
    !spans.is_empty() && begins.zip(ends).any(|(begin, end)| !text[begin..end].trim().is_empty())
}

impl Run<'_> {
    /// Returns the script with its expressions.
    pub fn template(&self) -> Template {
        self.value.template().unwrap_or_default()
    }

    /// Parses the script as the shell that runs it; `None` for PowerShell, Python and the like.
    pub fn parse(&self) -> Option<ParsedRun> {
        let Interpreter::Shell(options) = self.interpreter else { return None };
        let template = self.template();
        let expressions: Vec<Span> = template.expressions.iter().map(|embedded| embedded.span).collect();
        let script = Script::parse_template(template.text(), options, &expressions);
        Some(ParsedRun { template, script })
    }
}
