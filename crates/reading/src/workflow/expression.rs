//! Reads GitHub's expressions: what they are made of, what they may come to, and those whose value is known.

use std::borrow::Cow;

use crate::documents::{Document, Format, Plain};

/// Deeper expressions are not read; GitHub's own limit is 50.
const MAX_DEPTH: usize = 64;
/// Longer chains of one sign are not read.
const MAX_CHAIN: usize = 512;

/// The expression between `${{` and `}}`, or in an `if`.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    Literal(Literal),
    /// `github.event.issue['title']`
    Path(Path),
    /// A part of something that is no path: `fromJSON(x).y`
    Part {
        of: Box<Self>,
        path: Vec<Segment>,
    },
    Call {
        function: String,
        arguments: Vec<Self>,
    },
    Not(Box<Self>),
    Binary {
        operator: Operator,
        left: Box<Self>,
        right: Box<Self>,
    },
}

/// Value that is written out.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    Null,
    Flag(bool),
    Number(f64),
    Text(String),
}

/// A context with the way into it; all names are in lower case, as GitHub does not tell them apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    pub context: String,
    pub segments: Vec<Segment>,
}

/// Step into a context.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    Name(String),
    /// `*`, a position, or an index that is computed.
    Any,
}

/// Sign between two expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    And,
    Or,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Expression {
    /// Parses what stands between the marks; `None` where GitHub would refuse it.
    pub fn parse(text: &str) -> Option<Self> {
        let tokens = tokens(text)?;
        let mut parser = Parser { tokens: &tokens, at: 0, depth: 0 };
        let expression = parser.binary(0)?;
        (parser.at == tokens.len()).then_some(expression)
    }

    /// Returns the value, where constants decide it.
    pub fn constant(&self) -> Option<Literal> {
        match self {
            Self::Literal(literal) => Some(literal.clone()),
            Self::Path(_) | Self::Part { .. } => None,
            Self::Not(inner) => Some(Literal::Flag(!inner.truth()?)),
            Self::Call { function, arguments } => constant_call(function, arguments),
            Self::Binary { operator: Operator::And, left, right } => {
                if left.truth()? {
                    right.constant()
                } else {
                    left.constant()
                }
            }
            Self::Binary { operator: Operator::Or, left, right } => {
                if left.truth()? {
                    left.constant()
                } else {
                    right.constant()
                }
            }
            Self::Binary { operator, left, right } => {
                compare(*operator, &left.constant()?, &right.constant()?).map(Literal::Flag)
            }
        }
    }

    /// Returns whether the value counts as true, where that is known: `x && false` never does.
    pub fn truth(&self) -> Option<bool> {
        match self {
            Self::Not(inner) => inner.truth().map(|truth| !truth),
            Self::Call { function, .. } if function == "always" => Some(true),
            Self::Binary { operator: Operator::And, left, right } => match (left.truth(), right.truth()) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                (Some(true) | None, None) | (None, Some(true)) => None,
            },
            Self::Binary { operator: Operator::Or, left, right } => match (left.truth(), right.truth()) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                (Some(false) | None, None) | (None, Some(false)) => None,
            },
            Self::Literal(_)
            | Self::Path(_)
            | Self::Part { .. }
            | Self::Call { .. }
            | Self::Binary { .. } => self.constant().map(|value| value.is_true()),
        }
    }

    /// Returns the paths whose text may be, or be part of, what the expression comes to. What is only compared or
    /// tested is none.
    pub fn sources(&self) -> Vec<&Path> {
        let leaves = self.leaves().into_iter();
        leaves.filter_map(|leaf| if let Self::Path(path) = leaf { Some(path) } else { None }).collect()
    }

    /// Returns the literals and paths whose text may be, or be part of, what the expression comes to.
    pub fn leaves(&self) -> Vec<&Self> {
        let mut found = Vec::new();
        let mut pending = vec![self];
        while let Some(next) = pending.pop() {
            match next {
                Self::Not(_) => {}
                Self::Literal(_) | Self::Path(_) => found.push(next),
                Self::Part { of, .. } => pending.push(of),
                Self::Call { function, arguments } => {
                    if !is_test(function) {
                        pending.extend(arguments.iter().rev());
                    }
                }
                Self::Binary { operator: Operator::And, left, right } => match left.truth() {
                    Some(false) => {}
                    Some(true) | None => pending.push(right),
                },
                Self::Binary { operator: Operator::Or, left, right } => match left.truth() {
                    Some(true) => pending.push(left),
                    Some(false) => pending.push(right),
                    None => pending.extend([right.as_ref(), left.as_ref()]),
                },
                Self::Binary { .. } => {}
            }
        }
        found
    }

    /// Returns all paths, those that are only compared too, in order.
    pub fn paths(&self) -> Vec<&Path> {
        let mut found = Vec::new();
        let mut pending = vec![self];
        while let Some(next) = pending.pop() {
            match next {
                Self::Literal(_) => {}
                Self::Path(path) => found.push(path),
                Self::Part { of, .. } => pending.push(of),
                Self::Not(inner) => pending.push(inner),
                Self::Call { arguments, .. } => pending.extend(arguments.iter().rev()),
                Self::Binary { left, right, .. } => pending.extend([right.as_ref(), left.as_ref()]),
            }
        }
        found
    }
}

/// Functions that come to true or false, or to a digest.
fn is_test(function: &str) -> bool {
    matches!(
        function,
        "contains" | "startswith" | "endswith" | "hashfiles" | "success" | "failure" | "cancelled" | "always"
    )
}

impl Literal {
    /// Returns whether the value counts as true.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Flag(flag) => *flag,
            Self::Number(number) => *number != 0.0 && !number.is_nan(),
            Self::Text(text) => !text.is_empty(),
        }
    }

    /// Returns the text that stands in a value in the place of the expression.
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            Self::Null => Cow::Borrowed(""),
            Self::Flag(flag) => Cow::Borrowed(if *flag { "true" } else { "false" }),
            Self::Number(number) => Cow::Owned(number.to_string()),
            Self::Text(text) => Cow::Borrowed(text),
        }
    }

    fn number(&self) -> f64 {
        match self {
            Self::Null => 0.0,
            Self::Flag(flag) => f64::from(u8::from(*flag)),
            Self::Number(number) => *number,
            Self::Text(text) if text.trim().is_empty() => 0.0,
            Self::Text(text) => number(text.trim()).unwrap_or(f64::NAN),
        }
    }
}

impl Path {
    /// Returns whether this is the path of these names, or a part of its value. `*` stands for any one segment.
    pub fn is_within(&self, names: &[&str]) -> bool {
        let Some((context, names)) = names.split_first() else { return true };
        self.context == *context
            && self.segments.len() >= names.len()
            && self.segments.iter().zip(names).all(|(segment, name)| match segment {
                Segment::Name(own) => *name == "*" || own == name,
                Segment::Any => true,
            })
    }

    /// Returns the name at a position behind the context.
    pub fn name(&self, position: usize) -> Option<&str> {
        match self.segments.get(position)? {
            Segment::Name(name) => Some(name),
            Segment::Any => None,
        }
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.context)?;
        for segment in &self.segments {
            match segment {
                Segment::Name(name) => write!(formatter, ".{name}")?,
                Segment::Any => formatter.write_str(".*")?,
            }
        }
        Ok(())
    }
}

fn constant_call(function: &str, arguments: &[Expression]) -> Option<Literal> {
    if function == "always" {
        return Some(Literal::Flag(true));
    }
    let values: Option<Vec<Literal>> = arguments.iter().map(Expression::constant).collect();
    let values = values?;
    let texts: Vec<Cow<'_, str>> = values.iter().map(Literal::to_text).collect();
    let (first, others) = texts.split_first()?;
    match function {
        "contains" | "startswith" | "endswith" => {
            let (text, part) = (first.to_lowercase(), others.first()?.to_lowercase());
            Some(Literal::Flag(match function {
                "contains" => text.contains(&part),
                "startswith" => text.starts_with(&part),
                _ => text.ends_with(&part),
            }))
        }
        "format" => format_text(first, others).map(Literal::Text),
        "fromjson" => {
            let document = Document::parse(Format::Json, first).ok()?;
            match document.root().plain()? {
                Plain::Null => Some(Literal::Null),
                Plain::Flag(flag) => Some(Literal::Flag(flag)),
                Plain::Number(digits) => number(digits).map(Literal::Number),
                Plain::Text(text) => Some(Literal::Text(text.to_owned())),
                Plain::Code(_) => None,
            }
        }
        _ => None,
    }
}

/// Puts texts in the places of `{0}`, `{1}`; doubled braces stand for themselves.
fn format_text(pattern: &str, texts: &[Cow<'_, str>]) -> Option<String> {
    let mut formatted = String::new();
    let mut rest = pattern;
    while let Some(at) = rest.find(['{', '}']) {
        formatted.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix(brace) {
            formatted.push_str(brace);
            rest = behind;
        } else {
            let (number, behind) = rest.split_once('}')?;
            formatted.push_str(texts.get(number.parse::<usize>().ok()?)?);
            rest = behind;
        }
    }
    formatted.push_str(rest);
    Some(formatted)
}

/// Compares as GitHub does: texts without regard to case, values of different types as numbers.
fn compare(operator: Operator, left: &Literal, right: &Literal) -> Option<bool> {
    use std::cmp::Ordering;
    let ordering = match (left, right) {
        (Literal::Text(left), Literal::Text(right)) => Some(left.to_lowercase().cmp(&right.to_lowercase())),
        (left, right) => left.number().partial_cmp(&right.number()),
    };
    Some(match operator {
        Operator::And | Operator::Or => return None,
        Operator::Equal => ordering == Some(Ordering::Equal),
        Operator::Unequal => ordering != Some(Ordering::Equal),
        Operator::Less => ordering == Some(Ordering::Less),
        Operator::LessOrEqual => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
        Operator::Greater => ordering == Some(Ordering::Greater),
        Operator::GreaterOrEqual => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
    })
}

fn number(text: &str) -> Option<f64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = digits.strip_prefix(prefix) {
            return u32::from_str_radix(digits, radix).ok().map(|number| sign * f64::from(number));
        }
    }
    let is_decimal = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    if is_decimal { digits.parse::<f64>().ok().map(|number| sign * number) } else { None }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Literal(Literal),
    Name(String),
    Sign(&'static str),
}

const SIGNS: &[&str] =
    &["&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")", "[", "]", ",", ".", "*"];

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut found: Vec<Token> = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let behind_dot = found.last() == Some(&Token::Sign("."));
        let length = if first == '\'' {
            let (literal, length) = string(rest)?;
            found.push(Token::Literal(Literal::Text(literal)));
            length
        } else if first.is_alphabetic() || first == '_' {
            let length = word_length(rest, |next| next.is_alphanumeric() || matches!(next, '_' | '-'));
            let name = rest[..length].to_owned();
            found.push(if behind_dot { Token::Name(name) } else { keyword(name) });
            length
        } else if first.is_ascii_digit() || is_number_sign(rest) {
            let length = word_length(rest, |next| next.is_alphanumeric() || matches!(next, '.' | '-' | '+'));
            found.push(Token::Literal(Literal::Number(number(&rest[..length])?)));
            length
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign))?;
            found.push(Token::Sign(sign));
            sign.len()
        };
        rest = rest[length..].trim_start();
    }
    Some(found)
}

fn is_number_sign(text: &str) -> bool {
    let mut characters = text.chars();
    matches!(characters.next(), Some('-' | '+' | '.'))
        && characters.next().is_some_and(|next| next.is_ascii_digit())
}

fn word_length(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|next: char| !belongs(next)).unwrap_or(text.len())
}

fn keyword(name: String) -> Token {
    match name.as_str() {
        "true" => Token::Literal(Literal::Flag(true)),
        "false" => Token::Literal(Literal::Flag(false)),
        "null" => Token::Literal(Literal::Null),
        "NaN" => Token::Literal(Literal::Number(f64::NAN)),
        "Infinity" => Token::Literal(Literal::Number(f64::INFINITY)),
        _ => Token::Name(name),
    }
}

/// Reads `'…'`, in which a quote is doubled, and returns its length with quotes.
fn string(text: &str) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut at = 1;
    loop {
        let end = at + text[at..].find('\'')?;
        value.push_str(&text[at..end]);
        if !text[end + 1..].starts_with('\'') {
            return Some((value, end + 1));
        }
        value.push('\'');
        at = end + 2;
    }
}

struct Parser<'e> {
    tokens: &'e [Token],
    at: usize,
    depth: usize,
}

/// Signs between expressions, the loosest first.
const LEVELS: &[&[(&str, Operator)]] = &[
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[("==", Operator::Equal), ("!=", Operator::Unequal)],
    &[
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
];

impl Parser<'_> {
    fn accept(&mut self, sign: &str) -> bool {
        let is_next = matches!(self.tokens.get(self.at), Some(Token::Sign(next)) if *next == sign);
        self.at += usize::from(is_next);
        is_next
    }

    fn binary(&mut self, level: usize) -> Option<Expression> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        let mut length = 0;
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.accept(sign)) {
            length += 1;
            if length > MAX_CHAIN {
                return None;
            }
            let right = self.binary(level + 1)?;
            left = Expression::Binary { operator: *operator, left: Box::new(left), right: Box::new(right) };
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<Expression> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let expression = if self.accept("!") {
            Expression::Not(Box::new(self.unary()?))
        } else {
            let value = self.value()?;
            self.access(value)?
        };
        self.depth -= 1;
        Some(expression)
    }

    fn value(&mut self) -> Option<Expression> {
        if self.accept("(") {
            let inner = self.binary(0)?;
            return self.accept(")").then_some(inner);
        }
        let token = self.tokens.get(self.at)?.clone();
        self.at += 1;
        match token {
            Token::Literal(literal) => Some(Expression::Literal(literal)),
            Token::Sign(_) => None,
            Token::Name(name) if self.accept("(") => {
                let mut arguments = Vec::new();
                while !self.accept(")") {
                    if !arguments.is_empty() && !self.accept(",") {
                        return None;
                    }
                    arguments.push(self.binary(0)?);
                }
                Some(Expression::Call { function: name.to_lowercase(), arguments })
            }
            Token::Name(name) => {
                Some(Expression::Path(Path { context: name.to_lowercase(), segments: Vec::new() }))
            }
        }
    }

    /// Reads `.name`, `.*` and `[…]` behind a value.
    fn access(&mut self, value: Expression) -> Option<Expression> {
        let mut segments = Vec::new();
        loop {
            if self.accept(".") {
                match self.tokens.get(self.at)? {
                    Token::Name(name) => segments.push(Segment::Name(name.to_lowercase())),
                    Token::Sign("*") => segments.push(Segment::Any),
                    Token::Sign(_) | Token::Literal(_) => return None,
                }
                self.at += 1;
            } else if self.accept("[") {
                if self.accept("*") {
                    segments.push(Segment::Any);
                } else {
                    segments.push(match self.binary(0)?.constant() {
                        Some(Literal::Text(name)) => Segment::Name(name.to_lowercase()),
                        Some(Literal::Null | Literal::Flag(_) | Literal::Number(_)) | None => Segment::Any,
                    });
                }
                if !self.accept("]") {
                    return None;
                }
            } else {
                break;
            }
        }
        if segments.is_empty() {
            return Some(value);
        }
        if let Expression::Path(mut path) = value {
            path.segments.append(&mut segments);
            return Some(Expression::Path(path));
        }
        Some(Expression::Part { of: Box::new(value), path: segments })
    }
}

#[cfg(test)]
#[path = "expression_tests.rs"]
mod tests;
