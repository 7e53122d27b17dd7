//! The form of an expression: what rules compare, whatever the grammar calls it.

use super::kinds::{self, Class};
use super::{Expression, LONGEST_CHAIN};
use crate::escapes::unescaped;
use crate::syntax::Language;

/// An operator between two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    And,
    BitAnd,
    BitOr,
    BitXor,
    Coalesce,
    Divide,
    Equal,
    Greater,
    GreaterEqual,
    /// `is` of Python, `===` of Kotlin.
    Identical,
    In,
    InstanceOf,
    Less,
    LessEqual,
    Minus,
    NotEqual,
    NotIdentical,
    NotIn,
    Or,
    Plus,
    Remainder,
    /// Any other.
    Other,
}

/// The form of an expression with the parts that rules look at.
#[derive(Debug, Clone, PartialEq)]
pub enum Form<'t> {
    Assert,
    Assign {
        target: Expression<'t>,
        value: Expression<'t>,
        is_plain: bool,
    },
    Await(Expression<'t>),
    Binary {
        left: Expression<'t>,
        operator: Operator,
        right: Expression<'t>,
    },
    /// A call, or an object that is made: the receiver, the last name and whether it is made by `new`.
    Call {
        object: Option<Expression<'t>>,
        name: &'t str,
        is_new: bool,
    },
    /// Several comparisons in a row, as Python has them.
    Chain,
    Character(&'t str),
    /// An `if` with its branches, or a ternary.
    Choice,
    Class,
    Declare {
        target: Expression<'t>,
        value: Expression<'t>,
    },
    Defer(Expression<'t>),
    Finally,
    For,
    Function,
    Handler,
    Index {
        object: Expression<'t>,
        index: Expression<'t>,
    },
    List,
    Member {
        object: Expression<'t>,
        name: &'t str,
    },
    Name(&'t str),
    Null,
    Number(&'t str),
    Pair {
        name: Expression<'t>,
        value: Expression<'t>,
    },
    Record,
    Regex,
    Statement(Expression<'t>),
    Statements,
    Switch,
    /// A string with expressions in it.
    Template,
    /// A string by its value.
    Text(String),
    Throw,
    Truth(bool),
    Tuple,
    Unary {
        operator: &'t str,
        operand: Expression<'t>,
    },
    Update(Expression<'t>),
    Other,
}

impl Operator {
    fn of(language: Language, word: &str) -> Self {
        match word {
            "&&" | "and" => Self::And,
            "||" | "or" => Self::Or,
            "??" | "?:" => Self::Coalesce,
            "&" => Self::BitAnd,
            "|" => Self::BitOr,
            "^" => Self::BitXor,
            "==" => Self::Equal,
            "!=" | "<>" => Self::NotEqual,
            "===" if language == Language::Kotlin => Self::Identical,
            "!==" if language == Language::Kotlin => Self::NotIdentical,
            // `===` of Ruby is a match.
            "===" if language == Language::Ruby => Self::Other,
            "===" => Self::Equal,
            "!==" => Self::NotEqual,
            "is" => Self::Identical,
            "is not" => Self::NotIdentical,
            "<" => Self::Less,
            "<=" => Self::LessEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterEqual,
            "+" => Self::Plus,
            "." if language == Language::Php => Self::Plus,
            "-" => Self::Minus,
            "/" => Self::Divide,
            "%" => Self::Remainder,
            "in" => Self::In,
            "not in" => Self::NotIn,
            "instanceof" => Self::InstanceOf,
            _ => Self::Other,
        }
    }

    /// Returns whether it compares its operands.
    pub fn is_comparison(self) -> bool {
        matches!(
            self,
            Self::Equal
                | Self::Greater
                | Self::GreaterEqual
                | Self::Identical
                | Self::Less
                | Self::LessEqual
                | Self::NotEqual
                | Self::NotIdentical
        )
    }

    /// Returns whether it asks for equality or its opposite, by value or by identity.
    pub fn is_equality(self) -> bool {
        matches!(self, Self::Equal | Self::NotEqual | Self::Identical | Self::NotIdentical)
    }
}

impl Form<'_> {
    /// Returns whether it is a literal without a sign.
    pub(super) fn is_literal(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Text(_) | Self::Truth(_) | Self::Null | Self::Character(_))
    }
}

impl PartialEq for Expression<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl<'t> Expression<'t> {
    pub(super) fn class(self) -> Class {
        kinds::class(self.language, self.node)
    }

    /// Returns the form of the expression inside of parentheses.
    pub fn form(self) -> Form<'t> {
        let inside = self.unwrapped();
        inside.own_form().unwrap_or(Form::Other)
    }

    /// Returns the form, or `None` where the node lacks a part.
    fn own_form(self) -> Option<Form<'t>> {
        Some(match self.class() {
            Class::Assert => Form::Assert,
            Class::Assign => self.assign()?,
            Class::Await => Form::Await(*self.children().last()?),
            Class::Binary => self.binary()?,
            Class::Call => self.call()?,
            Class::Character => Form::Character(self.source()),
            Class::Choice => Form::Choice,
            Class::TypeBody => Form::Class,
            Class::Compare => self.compare()?,
            Class::Declare => self.declare()?,
            Class::Defer => Form::Defer(*self.children().last()?),
            Class::Finally => Form::Finally,
            Class::For => Form::For,
            Class::Function => Form::Function,
            Class::Handler => Form::Handler,
            Class::Index => self.index()?,
            Class::List => Form::List,
            Class::Member => self.member()?,
            Class::Name => self.name(),
            Class::Null => Form::Null,
            Class::Number => Form::Number(self.source()),
            Class::Pair => self.pair()?,
            Class::Record => Form::Record,
            Class::Regex => Form::Regex,
            Class::Statement => Form::Statement(self.children().first()?.unwrapped()),
            Class::Statements => Form::Statements,
            Class::Switch => Form::Switch,
            Class::Text => self.text_form(),
            Class::Throw => Form::Throw,
            Class::Truth => Form::Truth(self.source().eq_ignore_ascii_case("true")),
            Class::Tuple => Form::Tuple,
            Class::Unary => self.unary()?,
            Class::Update => Form::Update(*self.children().first()?),
            Class::Other => Form::Other,
        })
    }

    fn name(self) -> Form<'t> {
        match (self.language, self.source()) {
            (Language::Kotlin, "null") => Form::Null,
            (Language::JavaScript | Language::TypeScript | Language::Tsx, "undefined") => Form::Null,
            (Language::Kotlin, "true") => Form::Truth(true),
            (Language::Kotlin, "false") => Form::Truth(false),
            (_, name) => Form::Name(name),
        }
    }

    /// Returns the first word or sign between two operands.
    pub(super) fn sign(self) -> &'t str {
        if let Some(operator) = self.field("operator") {
            return operator.source();
        }
        let sign = self.node.children().find(|child| !child.is_named());
        sign.map(|sign| self.with(sign).source()).unwrap_or_default()
    }

    fn assign(self) -> Option<Form<'t>> {
        let target = self.field("left")?.unwrapped();
        let value = self.field("right")?.unwrapped();
        Some(Form::Assign { target, value, is_plain: self.sign() == "=" })
    }

    fn binary(self) -> Option<Form<'t>> {
        let (left, right) = (self.field("left")?, self.field("right")?);
        let operator = Operator::of(self.language, self.sign());
        Some(Form::Binary { left: left.unwrapped(), operator, right: right.unwrapped() })
    }

    fn compare(self) -> Option<Form<'t>> {
        let [left, right] = self.children()[..] else { return Some(Form::Chain) };
        let sign = self.text.get(left.span().end..right.span().start)?;
        let words: Vec<&str> = sign.split_whitespace().filter(|word| !"()\\".contains(word)).collect();
        let operator = Operator::of(self.language, &words.join(" "));
        Some(Form::Binary { left: left.unwrapped(), operator, right: right.unwrapped() })
    }

    fn call(self) -> Option<Form<'t>> {
        let is_new = matches!(self.word(), "new_expression" | "object_creation_expression");
        let named = self.first_field(&["method", "name"]);
        if let Some(name) = named.filter(|_| !is_new) {
            let object = self.first_field(&["receiver", "object", "scope"]).map(Self::unwrapped);
            return Some(Form::Call { object, name: name.source(), is_new });
        }
        let callee = self.first_field(&["function", "constructor", "type"]);
        let callee = callee.or_else(|| self.children().first().copied())?.unwrapped();
        // A call of what a call returns; the form of that one is not needed, and the chain may be long.
        if callee.class() == Class::Call && !is_new {
            return Some(Form::Call { object: None, name: "", is_new });
        }
        let form = callee.form();
        let (object, name) = if let Form::Name(name) = form {
            (None, name)
        } else if let Form::Member { object, name } = form {
            (Some(object), name)
        } else if is_new {
            (None, callee.bare_type())
        } else {
            (None, "")
        };
        Some(Form::Call { object, name, is_new })
    }

    /// Returns the last name of a type without its arguments.
    fn bare_type(self) -> &'t str {
        let bare = self.source().split(['<', '(']).next().unwrap_or_default();
        bare.rsplit(['.', ':', '\\']).next().unwrap_or_default()
    }

    fn declare(self) -> Option<Form<'t>> {
        if self.word() == "property_declaration" && self.language != Language::Kotlin {
            return None;
        }
        let target = self.first_field(&["name", "pattern", "declarator", "left"]);
        let value = self.first_field(&["value", "right"]);
        if let (Some(target), Some(value)) = (target, value) {
            return Some(Form::Declare { target: target.unwrapped(), value: value.unwrapped() });
        }
        // Kotlin and C# have no field for the value.
        match self.children()[..] {
            [target, .., value] if matches!(self.language, Language::Kotlin | Language::CSharp) => {
                Some(Form::Declare { target: target.unwrapped(), value: value.unwrapped() })
            }
            _ => None,
        }
    }

    fn index(self) -> Option<Form<'t>> {
        let object = self.first_field(&["object", "value", "operand", "array", "argument", "expression"]);
        let index = self.first_field(&["index", "subscript", "indices"]);
        let (object, index) = match (object, index, self.children()[..].as_ref()) {
            (Some(object), Some(index), _) => (object, index),
            (_, _, [object, index]) => (*object, *index),
            _ => return None,
        };
        let index = match (index.word(), index.children()[..].as_ref()) {
            ("bracketed_argument_list" | "subscript_argument_list", [only]) => *only,
            ("bracketed_argument_list" | "subscript_argument_list" | "slice", _) => return None,
            _ => index,
        };
        Some(Form::Index { object: object.unwrapped(), index: index.unwrapped() })
    }

    fn member(self) -> Option<Form<'t>> {
        let children = self.children();
        let name = self.first_field(&["attribute", "property", "field", "name"]);
        let name = name.or_else(|| children.last().copied())?;
        let object =
            self.first_field(&["object", "operand", "value", "argument", "expression", "path", "scope"]);
        let Some(object) = object.or_else(|| children.first().copied().filter(|first| *first != name)) else {
            return Some(Form::Name(name.source()));
        };
        let name = name.unwrapped();
        let bound = (name.word() == "member_binding_expression").then(|| name.children().first().copied());
        Some(Form::Member { object: object.unwrapped(), name: bound.flatten().unwrap_or(name).source() })
    }

    fn pair(self) -> Option<Form<'t>> {
        let name = self.first_field(&["key", "name", "field"]);
        let value = self.field("value");
        if let (Some(name), Some(value)) = (name, value) {
            return Some(Form::Pair { name: name.unwrapped(), value: value.unwrapped() });
        }
        let [name, value] = self.children()[..] else { return None };
        Some(Form::Pair { name: name.unwrapped(), value: value.unwrapped() })
    }

    fn unary(self) -> Option<Form<'t>> {
        let operand = self.first_field(&["argument", "operand"]);
        let operand = operand.or_else(|| self.children().last().copied())?;
        let operator = self.sign();
        // `x!!` and `x++` of Kotlin.
        if matches!(operator, "++" | "--") {
            return Some(Form::Update(operand.unwrapped()));
        }
        let operator = if operator == "not" { "!" } else { operator };
        Some(Form::Unary { operator, operand: operand.unwrapped() })
    }

    fn text_form(self) -> Form<'t> {
        let children = self.children();
        let is_mixed = children.iter().any(|child| {
            matches!(
                child.word(),
                "interpolation"
                    | "template_substitution"
                    | "variable_name"
                    | "member_access_expression"
                    | "subscript_expression"
                    | "dynamic_variable_name"
                    | "interpolated_expression"
                    | "interpolated_identifier"
            ) || child.class() == Class::Call
        });
        if is_mixed {
            return Form::Template;
        }
        // Between single quotes a backslash is one in these languages.
        let is_plain =
            matches!(self.language, Language::Php | Language::Ruby) && self.source().starts_with('\'');
        match self.source().get(1..self.source().len().saturating_sub(1)) {
            Some(inside) if is_plain => Form::Text(inside.to_owned()),
            _ => Form::Text(value_of_string(self.source())),
        }
    }

    /// Returns the value of a string, or `None` for anything else.
    pub fn text_value(self) -> Option<String> {
        if let Form::Text(text) = self.form() { Some(text) } else { None }
    }

    /// Returns the value of strings that stand one after the other or are joined, or `None` for anything else.
    pub fn joined_text(self) -> Option<String> {
        let inside = self.unwrapped();
        if inside.word() == "concatenated_string" {
            return inside.children().iter().map(|part| part.text_value()).collect();
        }
        let mut parts = Vec::new();
        let mut rest = inside;
        for _ in 0..LONGEST_CHAIN {
            let form = rest.form();
            if let Form::Text(text) = form {
                parts.push(text);
                parts.reverse();
                return Some(parts.concat());
            }
            let Form::Binary { left, operator: Operator::Plus, right } = form else { return None };
            parts.push(right.text_value()?);
            rest = left;
        }
        None
    }
}

/// Returns the value of a string literal.
fn value_of_string(source: &str) -> String {
    let inside = source.trim_start_matches(|sign: char| sign.is_alphabetic() || "$@#".contains(sign));
    let prefix = &source[..source.len() - inside.len()];
    let is_raw = prefix.contains(['r', 'R', '@']) || inside.starts_with('`');
    let long = ["\"\"\"", "'''"].into_iter().find(|quotes| inside.starts_with(quotes));
    let length = match long {
        Some(_) if inside.len() >= 6 => 3,
        _ => 1,
    };
    let inside = inside.trim_end_matches('#');
    let value = inside.get(length..inside.len().saturating_sub(length)).unwrap_or_default();
    if is_raw { value.to_owned() } else { unescaped(value) }
}
