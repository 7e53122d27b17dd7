//! Reads Makefiles: rules with their recipes as shell, and variables.

use crate::lines::Part;
use crate::shell::{Decoded, Options, Script};
use crate::syntax::Span;

/// A rule; both branches of a conditional count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub targets: Vec<Part>,
    pub prerequisites: Vec<Part>,
    pub recipe: Vec<RecipeLine>,
    pub span: Span,
}

/// A line of a recipe, with those that it goes on in: a script of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipeLine {
    /// Text for the shell: `$$` is `$`; variables of make are as written.
    pub script: Decoded,
    /// Places of make's variables and functions in the script.
    pub expansions: Vec<Span>,
    /// `-`: a failure is ignored.
    pub ignores_failure: bool,
    /// `@`: the line is not printed.
    pub silent: bool,
    /// `+`: runs in a dry run as well.
    pub always: bool,
    /// Place of the line with its signs.
    pub span: Span,
}

/// `name := value`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: Part,
    /// `=`, `:=`, `?=`, `+=`, `!=`, or `define`.
    pub operator: String,
    pub value: Part,
    /// Target that the value is for.
    pub target: Option<Part>,
}

/// The rules and variables of a file, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Makefile {
    pub rules: Vec<Rule>,
    pub variables: Vec<Variable>,
    /// Files of `include`.
    pub includes: Vec<Part>,
    /// Lines that are none of these.
    pub broken: Vec<Span>,
}

impl Makefile {
    /// Reads a Makefile.
    pub fn parse(text: &str) -> Self {
        let mut reader = Reader {
            text,
            at: text.len() - text.trim_start_matches('\u{feff}').len(),
            prefix: '\t',
            in_rule: false,
            read: Self::default(),
        };
        while reader.statement() {}
        reader.read.join_recipes();
        reader.read
    }

    /// Makes one script of every recipe, if `.ONESHELL` asks for it.
    fn join_recipes(&mut self) {
        if self.rules_of(".ONESHELL").next().is_none() {
            return;
        }
        for rule in &mut self.rules {
            let mut lines = std::mem::take(&mut rule.recipe).into_iter();
            let Some(mut whole) = lines.next() else { continue };
            for line in lines {
                whole.script.push("\n", line.span.start.saturating_sub(1));
                let shift = whole.script.text.len();
                whole.script.append(&line.script);
                let moved = line.expansions.iter();
                whole
                    .expansions
                    .extend(moved.map(|span| Span { start: span.start + shift, end: span.end + shift }));
                whole.span.end = line.span.end;
            }
            rule.recipe.push(whole);
        }
    }

    /// Returns the rules of a target.
    pub fn rules_of<'m>(&'m self, target: &'m str) -> impl Iterator<Item = &'m Rule> {
        self.rules.iter().filter(move |rule| rule.targets.iter().any(|own| own.text == target))
    }

    /// Settings of the shell that runs recipes, by `.SHELLFLAGS`.
    pub fn options(&self) -> Options {
        let flags = self.variables.iter().rev().find(|variable| variable.name.text == ".SHELLFLAGS");
        let words = flags.map(|flags| flags.value.text.as_str()).unwrap_or_default();
        crate::shell::options_of(words.split_whitespace())
    }

    /// Returns whether failures of a target's recipes are ignored, by `.IGNORE`.
    pub fn ignores_failures_of(&self, target: &str) -> bool {
        self.rules_of(".IGNORE").any(|rule| {
            rule.prerequisites.is_empty() || rule.prerequisites.iter().any(|own| own.text == target)
        })
    }
}

impl RecipeLine {
    /// Parses the script; places are those of the script.
    pub fn parse(&self, options: Options) -> Script {
        Script::parse_template(&self.script.text, options, &self.expansions)
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// Sign before lines of recipes.
    prefix: char,
    /// True behind a rule, where a line with the prefix belongs to its recipe.
    in_rule: bool,
    read: Makefile,
}

const DIRECTIVES: &[&str] = &[
    "ifeq", "ifneq", "ifdef", "ifndef", "else", "endif", "endef", "export", "unexport", "vpath", "undefine",
    "load",
];

impl<'t> Reader<'t> {
    /// Reads a line with those that it goes on in; the place is that of its first byte.
    fn line(&mut self) -> Option<(&'t str, usize)> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let mut length = 0;
        loop {
            let line = rest[length..].split_inclusive('\n').next()?;
            length += line.len();
            let line = line.trim_end_matches(['\n', '\r']);
            let escapes = line.len() - line.trim_end_matches('\\').len();
            if escapes % 2 == 0 || length == rest.len() {
                break;
            }
        }
        let start = self.at;
        self.at += length;
        Some((rest[..length].trim_end_matches(['\n', '\r']), start))
    }

    fn statement(&mut self) -> bool {
        let Some((line, start)) = self.line() else { return false };
        if self.in_rule && line.starts_with(self.prefix) {
            let start = start + self.prefix.len_utf8();
            let recipe = self.recipe_line(&line[self.prefix.len_utf8()..], start);
            if let (Some(rule), Some(recipe)) = (self.read.rules.last_mut(), recipe) {
                rule.span.end = recipe.span.end;
                rule.recipe.push(recipe);
            }
            return true;
        }
        let content = without_comment(line);
        let content = content.trim_end();
        let lead = content.len() - content.trim_start().len();
        let (content, start) = (content.trim_start(), start + lead);
        let span = Span { start, end: start + content.len() };
        if content.is_empty() {
            return true;
        }
        let first = content.split_whitespace().next().unwrap_or(content);
        self.in_rule &= DIRECTIVES.contains(&first);
        if matches!(first, "include" | "-include" | "sinclude") {
            self.read.includes.extend(words(&content[first.len()..], start + first.len()));
        } else if first == "define" {
            self.define(&content[first.len()..], start + first.len());
        } else if let Some(variable) = variable(content, start) {
            if variable.name.text == ".RECIPEPREFIX" {
                self.prefix = variable.value.text.chars().next().unwrap_or('\t');
            }
            self.read.variables.push(variable);
        } else if let Some(colon) = rule_colon(content) {
            self.rule(content, start, colon);
        } else if !DIRECTIVES.contains(&first) && !first.starts_with("$(") && !first.starts_with("${") {
            self.read.broken.push(span);
        }
        true
    }

    fn define(&mut self, rest: &str, start: usize) {
        let Some(mut name) = words(rest, start).into_iter().find(|word| word.text != "override") else {
            return;
        };
        name.text = name.text.trim_end_matches(['=', ':', '?', '+']).to_owned();
        let begin = self.at;
        let mut end = begin;
        while let Some((line, _)) = self.line() {
            if line.trim() == "endef" {
                break;
            }
            end = self.at;
        }
        let span = Span { start: begin, end };
        let value = Part::new(span.of(self.text), span);
        self.read.variables.push(Variable { name, operator: "define".to_owned(), value, target: None });
    }

    fn rule(&mut self, content: &str, start: usize, colon: usize) {
        let targets = words(&content[..colon], start);
        let colons = content[colon..].len() - content[colon..].trim_start_matches([':', '&']).len();
        let behind = colon + colons;
        let (needs, command) = match content[behind..].split_once(';') {
            Some((needs, command)) => (needs, Some(command)),
            None => (&content[behind..], None),
        };
        // A variable of a target ends no rule before it and begins none.
        if let (Some(mut variable), None) = (variable(needs, start + behind), command) {
            variable.target = targets.into_iter().next();
            self.read.variables.push(variable);
            return;
        }
        let mut prerequisites = words(needs, start + behind);
        prerequisites.retain(|word| word.text != "|");
        let span = Span { start, end: start + content.len() };
        let mut rule = Rule { targets, prerequisites, recipe: Vec::new(), span };
        if let Some(command) = command {
            let at = start + content.len() - command.len();
            rule.recipe.extend(self.recipe_line(command, at));
        }
        self.read.rules.push(rule);
        self.in_rule = true;
    }

    /// Reads a line of a recipe without its prefix; none where it is empty.
    fn recipe_line(&self, line: &str, start: usize) -> Option<RecipeLine> {
        let body = line.trim_start_matches([' ', '\t', '-', '@', '+']);
        let signs = &line[..line.len() - body.len()];
        if body.trim().is_empty() {
            return None;
        }
        let mut script = Decoded::default();
        let mut expansions = Vec::new();
        let base = start + signs.len();
        let mut at = 0;
        while let Some(found) = body[at..].find(['$', '\n']).map(|found| at + found) {
            script.push(&body[at..found], base + at);
            at = found;
            let rest = &body[found..];
            let begin = script.text.len();
            let length = if rest.starts_with('\n') {
                // The prefix of a line that goes on is no part of it.
                script.push("\n", base + found);
                if self.text[base + found + 1..].starts_with(self.prefix) {
                    1 + self.prefix.len_utf8()
                } else {
                    1
                }
            } else if rest.starts_with("$$") {
                script.push("$", base + found + 1);
                2
            } else {
                let length = expansion_length(rest);
                script.push(&rest[..length], base + found);
                expansions.push(Span { start: begin, end: begin + length });
                length
            };
            at += length;
        }
        script.push(&body[at..], base + at);
        Some(RecipeLine {
            script,
            expansions,
            ignores_failure: signs.contains('-'),
            silent: signs.contains('@'),
            always: signs.contains('+'),
            span: Span { start, end: start + line.len() },
        })
    }
}

/// Length of `$(…)`, `${…}` or `$x`, parentheses inside counted.
fn expansion_length(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    let (open, close) = match characters.next() {
        Some((_, '(')) => ('(', ')'),
        Some((_, '{')) => ('{', '}'),
        Some((at, other)) => return at + other.len_utf8(),
        None => return text.len(),
    };
    let mut depth = 1usize;
    for (at, character) in characters {
        if character == open {
            depth += 1;
        } else if character == close {
            depth -= 1;
            if depth == 0 {
                return at + 1;
            }
        }
    }
    text.len()
}

/// Cuts a comment that no backslash escapes.
fn without_comment(line: &str) -> &str {
    let mut signs = line.match_indices('#').map(|(at, _)| at);
    match signs.find(|at| !line[..*at].ends_with('\\')) {
        Some(at) => &line[..at],
        None => line,
    }
}

/// Reads `name := value`, also behind `export` and `override`.
fn variable(content: &str, start: usize) -> Option<Variable> {
    let equals = find_outside(content, '=')?;
    let mut left = &content[..equals];
    let colon = find_outside(left, ':');
    left = left.trim_end_matches([':', '?', '+', '!']);
    // `target: x=y` is no assignment of a variable called `target: x`.
    if colon.is_some_and(|colon| colon < left.len()) {
        return None;
    }
    let operator = &content[left.len()..=equals];
    let name = words(left, start).into_iter().next_back()?;
    let modifiers = words(left, start).len() - 1;
    let is_modified = words(left, start)[..modifiers]
        .iter()
        .all(|word| matches!(word.text.as_str(), "export" | "override" | "private" | "unexport"));
    if !is_modified {
        return None;
    }
    let value = content[equals + 1..].trim();
    let begin = start + content.len() - content[equals + 1..].trim_start().len();
    let value = Part::new(value, Span { start: begin, end: begin + value.len() });
    Some(Variable { name, operator: operator.trim().to_owned(), value, target: None })
}

/// Place of the colon that ends the targets of a rule.
fn rule_colon(content: &str) -> Option<usize> {
    find_outside(content, ':').filter(|at| *at > 0)
}

/// First place of a sign outside of variables.
fn find_outside(text: &str, sign: char) -> Option<usize> {
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        if character == sign {
            return Some(at);
        }
        at += if character == '$' { expansion_length(&text[at..]) } else { character.len_utf8() };
    }
    None
}

/// Splits at blanks outside of variables.
fn words(text: &str, start: usize) -> Vec<Part> {
    let mut found = Vec::new();
    let (mut begin, mut at) = (None, 0);
    while let Some(character) = text[at..].chars().next() {
        let is_blank = character.is_whitespace() || text[at..].starts_with("\\\n");
        if is_blank {
            found.extend(begin.take().map(|begin: usize| word(text, begin, at, start)));
        } else if begin.is_none() {
            begin = Some(at);
        }
        at += if character == '$' { expansion_length(&text[at..]) } else { character.len_utf8() };
    }
    found.extend(begin.map(|begin| word(text, begin, text.len(), start)));
    found
}

fn word(text: &str, begin: usize, end: usize, start: usize) -> Part {
    Part::new(&text[begin..end], Span { start: start + begin, end: start + end })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(parts: &[Part]) -> String {
        parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    fn rendered(text: &str) -> Vec<String> {
        let makefile = Makefile::parse(text);
        let mut lines = Vec::new();
        for rule in &makefile.rules {
            lines.push(format!("{}: {}", joined(&rule.targets), joined(&rule.prerequisites)));
            for recipe in &rule.recipe {
                let sign = if recipe.ignores_failure { "-" } else { "" };
                lines.push(format!("  {sign}{}", recipe.script.text));
            }
        }
        for Variable { name, operator, value, target } in &makefile.variables {
            let target = target.as_ref().map(|target| format!("{}: ", target.text)).unwrap_or_default();
            lines.push(format!("{target}{} {operator} {}", name.text, value.text));
        }
        lines.extend(makefile.broken.iter().map(|span| format!("broken {}", span.of(text))));
        lines
    }

    #[test]
    fn rules_recipes_and_variables() {
        for (text, expected) in [
            (
                "a b: c d | e ; x\n\t-@y $$z\n\n# c\n\t# only\n",
                vec!["a b: c d e", "  x", "  -y $z", "  # only"],
            ),
            ("a: \\\n  b\n\tx \\\n\t  y\n", vec!["a: b", "  x \\\n  y"]),
            (
                "A := 1 # c\nexport B ?= $(C:x=y)\na: D += 2\nE::=3\n",
                vec!["A := 1", "B ?= $(C:x=y)", "a: D += 2", "E ::= 3"],
            ),
            ("define A\nx: y\nendef\n", vec!["A define x: y\n"]),
            ("ifeq ($(A),b)\na:: b\nendif\n$(B): c\n$(eval x)\n", vec!["a: b", "$(B): c"]),
            (".RECIPEPREFIX = >\na:\n>x\n", vec!["a: ", "  x", ".RECIPEPREFIX = >"]),
            ("a\n", vec!["broken a"]),
            (
                "ifdef A\n\tB = 1\nendif\na:\n\tx\nifdef A\n\ty\nendif\nC = 1\n\tD = 2\n",
                vec!["a: ", "  x", "  y", "B = 1", "C = 1", "D = 2"],
            ),
            (
                ".ONESHELL:\na:\n\tif x; then\n\t$(Y)\n\tfi\n",
                vec![".ONESHELL: ", "a: ", "  if x; then\n$(Y)\nfi"],
            ),
        ] {
            assert_eq!(rendered(text), expected, "{text}");
        }
    }

    #[test]
    fn recipes_are_shell_with_variables_of_make() {
        let text = ".SHELLFLAGS := -eu -o pipefail -c\ntest:\n\t@$(PYTHON) -m pytest $${X} $(if a,$(b c)) || \\\n\t  true\n";
        let read = Makefile::parse(text);
        let recipe = &read.rules_of("test").next().unwrap().recipe[0];
        let script = recipe.parse(read.options());
        assert!(read.options().pipefail && script.broken.is_empty());
        let words: Vec<&str> = script.commands[0].words.iter().map(crate::shell::Word::text).collect();
        assert_eq!(words, ["$(PYTHON)", "-m", "pytest", "${X}", "$(if a,$(b c))"]);
        assert_eq!(script.commands[0].lost.unwrap().loss, crate::shell::Loss::OrElse);
        let place = recipe.script.source_of(script.commands[1].span.start);
        assert!(text[place..].starts_with("true"));
    }
}
