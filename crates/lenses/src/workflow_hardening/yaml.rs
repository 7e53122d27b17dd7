//! Reads the YAML of workflows into a tree with lines: by indentation, and without ever refusing a text.

/// One key with its value, or one item of a list.
#[derive(Debug, Default, Clone)]
pub(super) struct Node<'t> {
    /// The key; empty for an item of a list and for the root.
    pub(super) key: &'t str,
    /// The line of the key or of the dash, from 1.
    pub(super) line: u64,
    /// The scalar, line by line.
    pub(super) text: Vec<Piece<'t>>,
    /// The nodes below, by position, in order.
    below: Vec<usize>,
}

/// A scalar's part of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece<'t> {
    /// The line, from 1.
    pub(super) line: u64,
    /// Where it begins in its line, in bytes.
    pub(super) start: usize,
    /// The text, without quotes around it.
    pub(super) text: &'t str,
}

/// A document. Node 0 is the root; what is broken or written in a way that workflows are not becomes text of the node
/// before it, so that nothing is lost and nothing stops.
#[derive(Debug)]
pub(super) struct Document<'t> {
    nodes: Vec<Node<'t>>,
}

/// More levels than any workflow has; deeper ones stay on this level.
const MAX_DEPTH: usize = 64;

/// A scalar that goes on over several lines.
enum Open {
    None,
    /// `|` or `>`: goes on while lines are indented more than this.
    Block(usize),
    /// A quoted scalar: goes on to the quote.
    Quote(char),
    /// `[` or `{`: goes on to its end; how many are open.
    Flow(usize),
}

struct Reader<'t> {
    nodes: Vec<Node<'t>>,
    /// The open nodes and the columns they begin at.
    stack: Vec<(usize, usize)>,
    /// The nodes that flow brackets opened.
    flow: Vec<usize>,
    open: Open,
}

/// Reads a text.
pub(super) fn read(text: &str) -> Document<'_> {
    let mut reader = Reader {
        nodes: vec![Node { line: 1, ..Node::default() }],
        stack: Vec::new(),
        flow: Vec::new(),
        open: Open::None,
    };
    for (number, line) in (1..).zip(text.lines()) {
        reader.line(number, line);
    }
    Document { nodes: reader.nodes }
}

impl<'t> Reader<'t> {
    fn last(&mut self) -> &mut Node<'t> {
        let at = self.nodes.len() - 1;
        &mut self.nodes[at]
    }

    fn line(&mut self, number: u64, line: &'t str) {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let trimmed = line.trim();
        match self.open {
            Open::Block(own) if trimmed.is_empty() || indent > own => {
                let text = line.trim_end();
                let start = indent.min(text.len());
                self.last().text.push(Piece { line: number, start, text: &text[start..] });
                return;
            }
            Open::Quote(quote) => {
                let end = closing(trimmed, quote);
                let piece = &trimmed[..end.unwrap_or(trimmed.len())];
                self.last().text.push(Piece {
                    line: number,
                    start: line.len() - line.trim_start().len(),
                    text: piece,
                });
                if end.is_some() {
                    self.open = Open::None;
                }
                return;
            }
            Open::Flow(_) => {
                self.flow_line(number, line, indent);
                return;
            }
            Open::Block(_) | Open::None => self.open = Open::None,
        }
        if trimmed.is_empty() || trimmed.starts_with('#') || trimmed == "---" || trimmed == "..." {
            return;
        }
        self.entry(number, line, indent);
    }

    /// Items, then a key with its value, or text that goes on.
    fn entry(&mut self, number: u64, line: &'t str, indent: usize) {
        let mut at = indent;
        let mut begun = false;
        loop {
            let rest = &line[at..];
            if rest == "-" || rest.starts_with("- ") {
                self.begin(at, true, "", number);
                begun = true;
                at += 1 + (rest.len() - 1 - rest[1..].trim_start().len());
                if at >= line.len() {
                    return;
                }
                continue;
            }
            break;
        }
        let rest = &line[at..];
        if rest.starts_with('#') {
            return;
        }
        match key(rest) {
            Some((name, value)) => {
                self.begin(at, false, name, number);
                self.value(number, line, at + value, at);
            }
            // An item that is a scalar, or a plain scalar that goes on.
            None if begun => self.value(number, line, at, indent),
            None => {
                let text = without_comment(rest);
                self.last().text.push(Piece { line: number, start: at, text });
            }
        }
    }

    /// Opens a node at a column, below the innermost node that begins further left. Items may stand at the column of
    /// the key they belong to.
    fn begin(&mut self, column: usize, item: bool, key: &'t str, line: u64) {
        while let Some((node, own)) = self.stack.last() {
            let holds_items = item && *own == column && !self.nodes[*node].key.is_empty();
            if *own < column || holds_items {
                break;
            }
            self.stack.pop();
        }
        let parent = self.stack.last().map_or(0, |(node, _)| *node);
        let node = self.add(parent, key, line);
        if self.stack.len() < MAX_DEPTH {
            self.stack.push((node, column));
        }
    }

    fn add(&mut self, parent: usize, key: &'t str, line: u64) -> usize {
        self.nodes.push(Node { key, line, ..Node::default() });
        let node = self.nodes.len() - 1;
        self.nodes[parent].below.push(node);
        node
    }

    fn value(&mut self, number: u64, line: &'t str, from: usize, column: usize) {
        let mut rest = line[from..].trim_start();
        // An anchor or a tag in front of the value.
        while rest.starts_with(['&', '!']) {
            rest = rest.split_once(' ').map_or("", |(_, rest)| rest.trim_start());
        }
        let start = line.len() - rest.len();
        match rest.chars().next() {
            None | Some('#') => {}
            Some('|' | '>') => self.open = Open::Block(column),
            Some(quote @ ('"' | '\'')) => {
                let end = closing(&rest[1..], quote);
                let text = &rest[1..end.map_or(rest.trim_end().len(), |end| end + 1)];
                self.last().text.push(Piece { line: number, start: start + 1, text });
                if end.is_none() {
                    self.open = Open::Quote(quote);
                }
            }
            Some('[' | '{') => {
                let node = self.nodes.len() - 1;
                self.flow = vec![node];
                self.open = Open::Flow(0);
                self.flow_line(number, line, start);
            }
            Some(_) => {
                let text = without_comment(rest);
                self.last().text.push(Piece { line: number, start, text });
            }
        }
    }

    /// Part of a flow collection: every piece between commas and brackets becomes a node.
    fn flow_line(&mut self, number: u64, line: &'t str, from: usize) {
        let Open::Flow(mut depth) = self.open else { return };
        let bytes = line.as_bytes();
        let mut at = from;
        let mut begin = from;
        while at < bytes.len() {
            match bytes[at] {
                quote @ (b'"' | b'\'')
                    if line[begin..at].trim().is_empty() || line[begin..at].trim_end().ends_with(':') =>
                {
                    at += closing(&line[at + 1..], char::from(quote))
                        .map_or(line.len() - at - 1, |end| end + 1);
                }
                b'$' if line[at..].starts_with("${{") => {
                    at += line[at..].find("}}").map_or(line.len() - at - 1, |end| end + 1);
                }
                b'#' if at > 0 && bytes[at - 1].is_ascii_whitespace() => break,
                b'[' | b'{' => {
                    let opened = self.piece(number, line, begin, at);
                    depth += 1;
                    if depth > 1 && self.flow.len() < MAX_DEPTH {
                        let parent = *self.flow.last().expect("a flow has its root");
                        let node = opened.unwrap_or_else(|| self.add(parent, "", number));
                        self.flow.push(node);
                    }
                    begin = at + 1;
                }
                b']' | b'}' => {
                    let _piece = self.piece(number, line, begin, at);
                    depth = depth.saturating_sub(1);
                    if self.flow.len() > 1 {
                        self.flow.pop();
                    }
                    begin = at + 1;
                    if depth == 0 {
                        self.open = Open::None;
                        return;
                    }
                }
                b',' => {
                    let _piece = self.piece(number, line, begin, at);
                    begin = at + 1;
                }
                _ => {}
            }
            at += 1;
        }
        let _piece = self.piece(number, line, begin, at.min(line.len()));
        self.open = Open::Flow(depth);
    }

    fn piece(&mut self, number: u64, line: &'t str, from: usize, to: usize) -> Option<usize> {
        let raw = &line[from..to];
        let text = raw.trim();
        if text.is_empty() {
            return None;
        }
        let start = from + (raw.len() - raw.trim_start().len());
        let parent = *self.flow.last().expect("a flow has its root");
        let (name, value) = key(text).map_or(("", 0), |(name, value)| (name, value));
        let node = self.add(parent, name, number);
        let rest = text[value..].trim_start();
        if !rest.is_empty() {
            let quoted = rest.trim_matches(['"', '\'']);
            let lead = rest.len() - rest.trim_start_matches(['"', '\'']).len();
            let start = start + (text.len() - rest.len()) + lead.min(rest.len());
            self.nodes[node].text.push(Piece { line: number, start, text: quoted });
        }
        Some(node)
    }
}

/// The key of `key: value` and where the value begins.
fn key(text: &str) -> Option<(&str, usize)> {
    if let Some(quote) = text.chars().next().filter(|first| matches!(first, '"' | '\'')) {
        let end = closing(&text[1..], quote)? + 1;
        let after = &text[end + 1..];
        let ends = after.trim_start().strip_prefix(':')?;
        return (ends.is_empty() || ends.starts_with([' ', '\t']))
            .then(|| (&text[1..end], text.len() - ends.len()));
    }
    let mut from = 0;
    while let Some(found) = text[from..].find(':') {
        let at = from + found;
        let after = &text[at + 1..];
        if after.is_empty() || after.starts_with([' ', '\t']) {
            let name = text[..at].trim_end();
            // A sentence with a colon in it is no key, and neither is an expression.
            let plain = !name.contains(" #") && !name.contains("${{") && !name.starts_with(['{', '[', '`']);
            return plain.then_some((name, at + 1));
        }
        from = at + 1;
    }
    None
}

/// Where a quoted text ends, given what follows the opening quote.
fn closing(text: &str, quote: char) -> Option<usize> {
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if character == '\\' && quote == '"' {
            characters.next();
        } else if character == quote {
            if quote == '\'' && characters.peek().is_some_and(|(_, next)| *next == '\'') {
                characters.next();
            } else {
                return Some(at);
            }
        }
    }
    None
}

fn without_comment(text: &str) -> &str {
    text.find(" #").map_or(text, |at| &text[..at]).trim_end()
}

impl<'t> Document<'t> {
    pub(super) fn root(&self) -> &Node<'t> {
        &self.nodes[0]
    }

    /// The nodes right below.
    pub(super) fn below<'a>(
        &'a self,
        node: &'a Node<'t>,
    ) -> impl Iterator<Item = &'a Node<'t>> + use<'a, 't> {
        node.below.iter().map(|&at| &self.nodes[at])
    }

    /// The first node of a key right below.
    pub(super) fn get<'a>(&'a self, node: &'a Node<'t>, key: &str) -> Option<&'a Node<'t>> {
        self.below(node).find(|below| below.key == key)
    }

    /// Along keys.
    pub(super) fn at<'a>(&'a self, node: &'a Node<'t>, keys: &[&str]) -> Option<&'a Node<'t>> {
        keys.iter().try_fold(node, |node, key| self.get(node, key))
    }

    /// A node and all nodes below it, in the order of the text.
    pub(super) fn all<'a>(&'a self, node: &'a Node<'t>) -> Vec<&'a Node<'t>> {
        let mut found = Vec::new();
        let mut pending = vec![node];
        while let Some(next) = pending.pop() {
            found.push(next);
            pending.extend(next.below.iter().rev().map(|&at| &self.nodes[at]));
        }
        found
    }
}

impl Node<'_> {
    /// The scalar on one line; empty when there is none or it has several.
    pub(super) fn scalar(&self) -> &str {
        match self.text.as_slice() {
            [only] => only.text,
            _ => "",
        }
    }

    /// Whether a part of the scalar contains a text.
    pub(super) fn contains(&self, text: &str) -> bool {
        self.text.iter().any(|piece| piece.text.contains(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree as text: each node's key and scalar, indented.
    fn shown(text: &str) -> String {
        let document = read(text);
        let mut out = String::new();
        let mut pending: Vec<(usize, &Node<'_>)> = vec![(0, document.root())];
        while let Some((depth, node)) = pending.pop() {
            if depth > 0 {
                let scalar: Vec<&str> = node.text.iter().map(|piece| piece.text).collect();
                let name = if node.key.is_empty() { "-" } else { node.key };
                out += &format!("{}{name}@{} {}\n", " ".repeat(depth - 1), node.line, scalar.join("|"));
                for piece in &node.text {
                    let line = text.lines().nth(piece.line as usize - 1).unwrap();
                    assert!(line[piece.start..].starts_with(piece.text), "{piece:?}");
                }
            }
            let below: Vec<_> = document.below(node).collect();
            pending.extend(below.into_iter().rev().map(|node| (depth + 1, node)));
        }
        out
    }

    #[test]
    fn a_workflow_becomes_a_tree_with_lines() {
        let text = "on: [push, 'pull_request']\njobs:\n  a: # job\n    steps:\n    - uses: x/y@v1 # why\n      with: {ref: \"${{ a.b }}\", n: 1}\n    - run: |\n        one: two\n\n        - three\n      if: >-\n        a\n        && b\n  b:\n    runs-on: c\n";
        let expected = "on@1 \n -@1 push\n -@1 pull_request\njobs@2 \n a@3 \n  steps@4 \n   -@5 \n    uses@5 x/y@v1\n    with@6 \n     ref@6 ${{ a.b }}\n     n@6 1\n   -@7 \n    run@7 one: two||- three\n    if@11 a|&& b\n b@14 \n  runs-on@15 c\n";
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn lists_may_be_indented_and_flows_may_have_several_lines() {
        let text = "a:\n  - b\n  - c: d\n    e: f\ng: [\n  h, # x\n  {i: j}\n]\nk: \"l\n  m\"\nn: o\n";
        let expected =
            "a@1 \n -@2 b\n -@3 \n  c@3 d\n  e@4 f\ng@5 \n -@6 h\n -@7 \n  i@7 j\nk@9 l|m\nn@11 o\n";
        assert_eq!(shown(text), expected);
    }

    #[test]
    fn what_is_broken_stops_nothing() {
        let deep = format!("{}a", "- ".repeat(50_000));
        for text in [
            "a: [b",
            "a: \"b",
            "{{{{",
            "\t- x: y",
            "a: b: c: d",
            ": x",
            "- - - -",
            "a:\n b\n  c\nd",
            &deep,
            "]]}}",
            "'",
            "a: '",
            "é: [é, 'é",
        ] {
            let document = read(text);
            assert!(!document.all(document.root()).is_empty());
        }
    }
}
