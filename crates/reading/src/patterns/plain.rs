//! Reads a text of a language without a grammar here as names, strings, calls and brackets.

use crate::syntax::Span;

/// Deepest nesting of brackets; deeper ones do not nest.
const MAX_DEPTH: usize = 200;
/// Most arguments of a call to which a block is added.
const MOST_BLOCKS: usize = 32;

/// Spelling of a language as far as this reader needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Style {
    C,
    CSharp,
    Dart,
    Elixir,
    Kotlin,
    Lua,
    R,
    Scala,
    Swift,
}

impl Style {
    pub(super) fn for_ending(ending: &str) -> Option<Self> {
        Some(match ending {
            "c" | "cc" | "cpp" | "cxx" | "h" | "hh" | "hpp" | "hxx" | "ipp" | "m" | "mm" => Self::C,
            "cs" => Self::CSharp,
            "dart" => Self::Dart,
            "ex" | "exs" => Self::Elixir,
            "kt" | "kts" => Self::Kotlin,
            "lua" => Self::Lua,
            "r" | "R" => Self::R,
            "scala" => Self::Scala,
            "swift" => Self::Swift,
            _ => return None,
        })
    }

    pub(super) fn for_language(name: &str) -> Option<Self> {
        Some(match name {
            "c" => Self::C,
            "c#" => Self::CSharp,
            "dart" => Self::Dart,
            "elixir" => Self::Elixir,
            "kotlin" => Self::Kotlin,
            "lua" => Self::Lua,
            "r" => Self::R,
            "scala" => Self::Scala,
            "swift" => Self::Swift,
            _ => return None,
        })
    }

    fn line_comment(self) -> &'static str {
        match self {
            Self::C | Self::CSharp | Self::Dart | Self::Kotlin | Self::Scala | Self::Swift => "//",
            Self::Elixir | Self::R => "#",
            Self::Lua => "--",
        }
    }

    fn block_comment(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::C | Self::CSharp | Self::Dart | Self::Kotlin | Self::Scala | Self::Swift => {
                Some(("/*", "*/"))
            }
            Self::Elixir | Self::R => None,
            Self::Lua => Some(("--[[", "]]")),
        }
    }

    /// Mark in a string before an expression, given what stands before the string's quote.
    fn interpolation(self, prefix: u8) -> Option<&'static str> {
        match self {
            Self::C | Self::Lua | Self::R => None,
            Self::CSharp => (prefix == b'$').then_some("{"),
            Self::Dart | Self::Kotlin => Some("$"),
            Self::Elixir => Some("#{"),
            Self::Scala => prefix.is_ascii_alphabetic().then_some("$"),
            Self::Swift => Some("\\("),
        }
    }

    /// Returns whether a statement ends where its line does.
    fn ends_at_lines(self) -> bool {
        match self {
            Self::Elixir | Self::Kotlin | Self::Lua | Self::R | Self::Scala | Self::Swift => true,
            Self::C | Self::CSharp | Self::Dart => false,
        }
    }

    /// Returns whether a block in braces behind a call is its last argument.
    fn has_trailing_blocks(self) -> bool {
        matches!(self, Self::Kotlin | Self::Scala | Self::Swift)
    }
}

/// Kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Name,
    /// A child, and a name behind a dot.
    Member,
    /// A callee, and arguments.
    Call,
    Text,
    /// A string with expressions in it.
    Template,
    Literal,
    /// A name, and a child.
    Pair,
    /// An assignment: the target, and the value.
    Assign,
    /// Brackets with what stands in them, or several nodes that are one argument.
    Group,
    Symbol,
}

#[derive(Debug)]
pub(super) struct Data {
    pub(super) kind: Kind,
    pub(super) span: Span,
    /// The name of a member or a pair.
    pub(super) name: Span,
    pub(super) children: Vec<usize>,
}

/// The nodes of a text.
#[derive(Debug)]
pub(super) struct PlainTree {
    pub(super) nodes: Vec<Data>,
    /// The group around everything.
    pub(super) root: usize,
}

impl PlainTree {
    /// Returns the tree of a text without anything to read.
    pub(super) fn empty() -> Self {
        let span = Span::default();
        Self { nodes: vec![Data { kind: Kind::Group, span, name: span, children: Vec::new() }], root: 0 }
    }
}

pub(super) fn parse(style: Style, text: &str) -> PlainTree {
    let mut reader = Reader { style, text, at: 0, depth: 0, nodes: Vec::new() };
    let mut children = Vec::new();
    while reader.at < text.len() {
        children.extend(reader.items(|byte| byte == b')' || byte == b']' || byte == b'}'));
        reader.at += 1;
    }
    let root = reader.push(Kind::Group, Span { start: 0, end: text.len() }, Span::default(), children);
    PlainTree { nodes: reader.nodes, root }
}

struct Reader<'t> {
    style: Style,
    text: &'t str,
    at: usize,
    depth: usize,
    nodes: Vec<Data>,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

impl Reader<'_> {
    fn push(&mut self, kind: Kind, span: Span, name: Span, children: Vec<usize>) -> usize {
        self.nodes.push(Data { kind, span, name, children });
        self.nodes.len() - 1
    }

    fn leaf(&mut self, kind: Kind, start: usize) -> usize {
        let span = Span { start, end: self.at };
        self.push(kind, span, span, Vec::new())
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn rest(&self) -> &[u8] {
        &self.text.as_bytes()[self.at.min(self.text.len())..]
    }

    fn skip_space(&mut self) {
        while self.at < self.text.len() {
            if self.byte(self.at).is_ascii_whitespace() {
                self.at += 1;
            } else if !self.skip_comment() {
                return;
            }
        }
    }

    fn skip_comment(&mut self) -> bool {
        if let Some((open, close)) = self.style.block_comment()
            && self.rest().starts_with(open.as_bytes())
        {
            let inside = self.at + open.len();
            self.at = match memchr::memmem::find(&self.text.as_bytes()[inside..], close.as_bytes()) {
                Some(length) => inside + length + close.len(),
                None => self.text.len(),
            };
            return true;
        }
        if self.rest().starts_with(self.style.line_comment().as_bytes()) {
            self.at += memchr::memchr(b'\n', self.rest()).unwrap_or(self.rest().len());
            return true;
        }
        false
    }

    /// Reads up to a closing bracket, which is left to the caller.
    fn items(&mut self, closes: impl Fn(u8) -> bool) -> Vec<usize> {
        let mut items = Vec::new();
        // Start of the statement that is being read.
        let mut begin = 0;
        loop {
            let from = self.at;
            self.skip_space();
            let ends = self.at >= self.text.len() || closes(self.byte(self.at));
            let breaks = self.style.ends_at_lines() && self.text[from..self.at].contains('\n');
            if ends || breaks || matches!(self.byte(self.at), b',' | b';') {
                self.join_assignment(&mut items, begin);
                begin = items.len();
            }
            if ends {
                return items;
            }
            if let Some(item) = self.item() {
                items.push(item);
            }
        }
    }

    fn is_sign(&self, item: usize, sign: &str) -> bool {
        self.nodes[item].span.of(self.text) == sign
    }

    /// Makes one node of the last nodes if they are a name, `=` or `+=`, and a value.
    fn join_assignment(&mut self, items: &mut Vec<usize>, begin: usize) {
        let Some(length) = items.iter().skip(begin).position(|item| self.is_sign(*item, "=")) else { return };
        let sign = begin + length;
        let before = &items[begin..sign];
        let before = match before {
            [before @ .., plus] if self.is_sign(*plus, "+") => before,
            before => before,
        };
        let (Some(left), Some(first)) = (before.last().copied(), items.get(sign + 1).copied()) else {
            return;
        };
        let is_named = matches!(self.nodes[left].kind, Kind::Name | Kind::Member | Kind::Call);
        if !is_named || self.is_sign(first, "=") || self.is_sign(first, ">") {
            return;
        }
        let at = begin + before.len() - 1;
        let value = items.split_off(sign + 1);
        let span =
            Span { start: self.nodes[left].span.start, end: self.nodes[value[value.len() - 1]].span.end };
        let value = self.join(value);
        items.truncate(at);
        let assignment = self.push(Kind::Assign, span, Span::default(), vec![left, value]);
        items.push(assignment);
    }

    /// Reads one node, or passes over a separator.
    fn item(&mut self) -> Option<usize> {
        let (start, first) = (self.at, self.byte(self.at));
        match first {
            b',' | b';' => {
                self.at += 1;
                None
            }
            b'"' | b'\'' | b'`' => Some(self.quoted(start)),
            b'(' | b'[' | b'{' => {
                let children = self.brackets();
                let span = Span { start, end: self.at };
                let group = self.push(Kind::Group, span, Span::default(), children);
                Some(self.chain(group))
            }
            b'0'..=b'9' => {
                while is_word(self.byte(self.at))
                    || self.byte(self.at) == b'.' && self.byte(self.at + 1).is_ascii_digit()
                {
                    self.at += 1;
                }
                Some(self.leaf(Kind::Literal, start))
            }
            _ if is_word(first) => Some(self.word(start)),
            _ => {
                self.at += 1;
                Some(self.leaf(Kind::Symbol, start))
            }
        }
    }

    fn word(&mut self, start: usize) -> usize {
        while is_word(self.byte(self.at)) {
            self.at += 1;
        }
        let word = &self.text[start..self.at];
        if matches!(self.byte(self.at), b'"') && word.len() <= 3 {
            return self.quoted(start);
        }
        if matches!(word, "true" | "false" | "nil" | "null" | "NULL" | "None" | "TRUE" | "FALSE") {
            return self.leaf(Kind::Literal, start);
        }
        if word == "new" && self.byte(self.at).is_ascii_whitespace() {
            self.skip_space();
            if is_word(self.byte(self.at)) {
                let start = self.at;
                return self.word(start);
            }
        }
        let name = self.leaf(Kind::Name, start);
        self.chain(name)
    }

    /// Reads what hangs on a node: members and arguments.
    fn chain(&mut self, first: usize) -> usize {
        let mut node = first;
        loop {
            let (start, from) = (self.nodes[node].span.start, self.at);
            self.skip_space();
            let gap = self.text[from..self.at].contains('\n');
            let dots: &[&str] = match self.style {
                Style::C => &["->", "::", "."],
                Style::Kotlin | Style::Swift | Style::Dart => &["?.", "!!.", "!.", "::", "."],
                Style::CSharp | Style::Elixir | Style::Scala => &["?.", "."],
                Style::Lua => &[".", ":"],
                Style::R => &["::", "$"],
            };
            let dot = dots.iter().find(|dot| self.rest().starts_with(dot.as_bytes()));
            let name = dot
                .map(|dot| self.at + dot.len())
                .filter(|at| is_word(self.byte(*at)) && !self.byte(*at).is_ascii_digit());
            if let Some(name) = name {
                self.at = name;
                while is_word(self.byte(self.at)) {
                    self.at += 1;
                }
                let span = Span { start, end: self.at };
                node = self.push(Kind::Member, span, Span { start: name, end: self.at }, vec![node]);
                continue;
            }
            let is_block = self.byte(self.at) == b'{' && self.style.has_trailing_blocks() && !gap;
            if is_block && self.nodes[node].kind != Kind::Group {
                let open = self.at;
                let children = self.brackets();
                let block = Span { start: open, end: self.at };
                let block = self.push(Kind::Group, block, Span::default(), children);
                node = self.call(node, vec![block]);
                continue;
            }
            self.at = from;
            if self.skip_type_arguments()
                || self.byte(self.at) == b'(' && self.nodes[node].kind != Kind::Group
            {
                let arguments = self.brackets();
                node = self.call(node, arguments);
                continue;
            }
            return node;
        }
    }

    /// Makes a call, or gives a call that ends here one more argument.
    fn call(&mut self, callee: usize, arguments: Vec<usize>) -> usize {
        let span = Span { start: self.nodes[callee].span.start, end: self.at };
        let is_block = self.byte(span.end.saturating_sub(1)) == b'}';
        let of_callee = &self.nodes[callee];
        if is_block && of_callee.kind == Kind::Call && of_callee.children.len() < MOST_BLOCKS {
            let mut children = self.nodes[callee].children.clone();
            children.extend(arguments);
            return self.push(Kind::Call, span, Span::default(), children);
        }
        let mut children = vec![callee];
        children.extend(arguments);
        self.push(Kind::Call, span, Span::default(), children)
    }

    /// Passes over `<T>` before an opening parenthesis.
    fn skip_type_arguments(&mut self) -> bool {
        const LONGEST: usize = 80;
        if self.byte(self.at) != b'<' {
            return false;
        }
        let rest = &self.rest()[..self.rest().len().min(LONGEST)];
        let end = rest.iter().position(|byte| !is_word(*byte) && !b"<>., ?[]".contains(byte));
        let end = end.unwrap_or(rest.len());
        let is_call = rest.get(end) == Some(&b'(') && end > 0 && rest[end - 1] == b'>';
        if is_call {
            self.at += end;
        }
        is_call
    }

    /// Reads brackets and what stands in them. Between parentheses and in square brackets commas part arguments.
    fn brackets(&mut self) -> Vec<usize> {
        let close = match self.byte(self.at) {
            b'(' => b')',
            b'[' => b']',
            _ => b'}',
        };
        self.at += 1;
        if self.depth >= MAX_DEPTH {
            return Vec::new();
        }
        self.depth += 1;
        let children = match close {
            b'}' => self.items(|byte| byte == b'}'),
            _ => self.arguments(close),
        };
        self.depth -= 1;
        self.at = (self.at + 1).min(self.text.len());
        children
    }

    fn arguments(&mut self, close: u8) -> Vec<usize> {
        let mut arguments = Vec::new();
        let mut parts: Vec<usize> = Vec::new();
        loop {
            self.skip_space();
            let ends = self.at >= self.text.len() || self.byte(self.at) == close;
            if ends || self.byte(self.at) == b',' {
                arguments.extend(self.argument(std::mem::take(&mut parts)));
                if ends {
                    return arguments;
                }
                self.at += 1;
            } else if self.byte(self.at) == b'}' {
                // A bracket was not closed.
                arguments.extend(self.argument(parts));
                return arguments;
            } else if let Some(part) = self.item() {
                parts.push(part);
            }
        }
    }

    /// Joins the nodes of one argument.
    fn argument(&mut self, parts: Vec<usize>) -> Option<usize> {
        let (first, last) = (*parts.first()?, *parts.last()?);
        let span = Span { start: self.nodes[first].span.start, end: self.nodes[last].span.end };
        if let [name, mark, value @ ..] = &parts[..]
            && self.nodes[*name].kind == Kind::Name
            && matches!(self.nodes[*mark].span.of(self.text), ":" | "=")
            && !value.is_empty()
            && self.nodes[value[0]].span.of(self.text) != "="
        {
            let name = self.nodes[*name].span;
            let value = self.join(value.to_vec());
            return Some(self.push(Kind::Pair, span, name, vec![value]));
        }
        Some(self.join(parts))
    }

    /// Makes one node of several.
    fn join(&mut self, parts: Vec<usize>) -> usize {
        match parts[..] {
            [one] => one,
            [first, .., last] => {
                let span = Span { start: self.nodes[first].span.start, end: self.nodes[last].span.end };
                self.push(Kind::Group, span, Span::default(), parts)
            }
            [] => self.leaf(Kind::Symbol, self.at),
        }
    }

    /// Reads a string whose prefix begins at a place; `at` is its quote.
    fn quoted(&mut self, start: usize) -> usize {
        let quote = self.byte(self.at);
        let mark = [quote; 3];
        let is_long = self.rest().starts_with(&mark);
        let prefix = if self.at > 0 { self.byte(self.at - 1) } else { 0 };
        let is_raw = prefix == b'@';
        let inside = self.at + if is_long { 3 } else { 1 };
        let mut end = inside;
        while end < self.text.len() {
            let byte = self.byte(end);
            if byte == b'\\' && !is_raw {
                end += 1;
            } else if is_long && self.text.as_bytes()[end..].starts_with(&mark) || !is_long && byte == quote {
                break;
            } else if byte == b'\n' && !is_long && quote != b'`' {
                // An apostrophe, or a string that does not end.
                self.at += 1;
                return self.leaf(Kind::Symbol, start);
            }
            end += 1;
        }
        let end = end.min(self.text.len());
        self.at = (end + if is_long { 3 } else { 1 }).min(self.text.len());
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        let content = self.text.get(inside..end).unwrap_or("");
        let is_template = self.style.interpolation(prefix).is_some_and(|mark| content.contains(mark));
        self.leaf(if is_template { Kind::Template } else { Kind::Text }, start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(style: Style, text: &str) -> String {
        let tree = parse(style, text);
        fn show(tree: &PlainTree, text: &str, id: usize) -> String {
            let node = &tree.nodes[id];
            let inside: Vec<String> = node.children.iter().map(|id| show(tree, text, *id)).collect();
            let inside = inside.join(" ");
            match node.kind {
                Kind::Name | Kind::Literal | Kind::Text | Kind::Template | Kind::Symbol => {
                    node.span.of(text).to_owned()
                }
                Kind::Member => format!("{inside}.{}", node.name.of(text)),
                Kind::Call => format!("call({inside})"),
                Kind::Pair => format!("{}:{inside}", node.name.of(text)),
                Kind::Assign => format!("set({inside})"),
                Kind::Group => format!("[{inside}]"),
            }
        }
        show(&tree, text, tree.root)
    }

    #[test]
    fn names_calls_and_brackets_are_read() {
        let cases = [
            (Style::CSharp, "new A.B(x, y: 1) // z()", "[call(A.B x y:1)]"),
            (Style::CSharp, "f<T>(a + b, \"x\")", "[call(f [a + b] \"x\")]"),
            (Style::Kotlin, "a.b { x, _ -> true }", "[call(a.b [x _ - > true])]"),
            (Style::Elixir, "require IEx; IEx.pry", "[require IEx IEx.pry]"),
            (Style::Dart, "test('a', () {}, solo: true);", "[call(test 'a' [[] []] solo:true)]"),
            (Style::C, "/* f() */ a->b(c[0]);", "[call(a.b [c [0]])]"),
            (Style::Lua, "debug.debug() -- x()", "[call(debug.debug)]"),
            (Style::Scala, "s\"a $b\" 'x' it's", "[s\"a $b\" 'x' it 's]"),
            (Style::Swift, "f(\n  a\n)}) g()", "[call(f a) call(g)]"),
            (Style::Dart, "f(a: b: c)", "[call(f a:[b : c])]"),
            (Style::CSharp, "a.B += (x, y) =>\n true; c = 1", "[set(a.B [[x y] = > true]) set(c 1)]"),
            (Style::CSharp, "if (a == b) { c = d, E = 1 }", "[if [[a = = b]] [set(c d) set(E 1)]]"),
            (Style::Kotlin, "val a = f()\nb { x -> y }", "[val set(a call(f)) call(b [x - > y])]"),
        ];
        for (style, text, expected) in cases {
            assert_eq!(rendered(style, text), expected, "{text}");
        }
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        for text in
            ["(((", "\"", "'\\", "/*", "é'é", "f<", "a.", "a::", "}{)(", "\"\"\"é", "@\"\\", "x(\u{1f600}"]
        {
            for style in [Style::C, Style::CSharp, Style::Kotlin, Style::Lua, Style::R] {
                parse(style, text);
            }
        }
        parse(Style::C, &"(".repeat(100_000));
    }
}
