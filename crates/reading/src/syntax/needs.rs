//! Conditions of a build under which tests are left out unless somebody gives a word: features, macros and symbols.

use super::Language;
use super::constants;
use super::outline::Span;
use super::spelled::{Argument, Form, Spelled, Value, parts};
use super::test_blocks::{body_of, statements};
use super::test_cases::{Mark, MarkKind, Reader, Visited};
use super::uncollected::head;
use super::walk::span;
use crate::names::joins;
use crate::tree::Node;

/// Path of a mark with the words that have to be given, each an argument: `feature:slow`.
pub const NEEDS: &str = "needs";
/// Deeper conditions are not looked at.
const MAX_DEPTH: usize = 40;

/// Size of the longest handler that is looked at, in bytes.
const LONGEST_HANDLER: usize = 1_000;
/// Words of `cfg` that tell the platform or the kind of the build.
const CFG_WORDS: &[&str] = &[
    "clippy",
    "coverage",
    "coverage_nightly",
    "debug_assertions",
    "doc",
    "docsrs",
    "doctest",
    "fuzzing",
    "kani",
    "loom",
    "miri",
    "overflow_checks",
    "panic",
    "proc_macro",
    "relocation_model",
    "rust_analyzer",
    "rustfmt",
    "test",
    "true",
    "ub_checks",
    "unix",
    "wasi",
    "wasm",
    "windows",
];
/// Begins of macros and symbols that compilers, platforms and libraries define.
const GIVEN: &[&str] = &[
    "ABSL_",
    "ANDROID",
    "APPLE",
    "ARCH",
    "BOOST_",
    "BROWSER",
    "BSD",
    "CI",
    "CODE_ANALYSIS",
    "CYGWIN",
    "DEBUG",
    "FMT_",
    "GTEST_",
    "HAVE_",
    "IOS",
    "LIBRESSL_",
    "LINUX",
    "MAC",
    "MINGW",
    "MONO",
    "MSC_VER",
    "NDEBUG",
    "NET",
    "OPENSSL_",
    "OS",
    "PLATFORM",
    "QT_",
    "Q_",
    "RELEASE",
    "SIZEOF_",
    "TARGET_",
    "TIZEN",
    "TRACE",
    "TVOS",
    "UNITY_",
    "WIN",
    "linux",
    "unix",
];

impl Reader<'_> {
    /// Returns the mark of what a block between directives of a preprocessor needs.
    pub(super) fn needs_of_directive(&self, node: Node<'_>) -> Option<Mark> {
        let words = words_of_directive(self.language, self.text, node)?;
        let place = node.field("condition").or_else(|| node.field("name"))?;
        Some(needs(words, Span { start: node.start_byte(), end: place.end_byte() }))
    }

    /// Visits what stands between directives; all of it but for what stands there otherwise needs a word.
    pub(super) fn visit_directive(&mut self, node: Node<'_>, needs: Mark, marks: &[Mark], depth: usize) {
        let alternative = node.field("alternative");
        let needing = [std::slice::from_ref(&needs), marks].concat();
        for child in node.named_children() {
            let marks = if Some(child) == alternative { marks } else { needing.as_slice() };
            self.visit(&Visited { node: child, parent: Some(node), above: &[] }, marks, depth + 1);
        }
    }

    /// Returns the mark of modules of Python without which a handler skips: `try: import a` and `except ImportError`.
    pub(super) fn needs_of_imports(&self, statement: Node<'_>) -> Option<Mark> {
        let body = statement.field("body").filter(|_| self.language == Language::Python)?;
        let handler = statement.named_children().find(|child| {
            let caught =
                child.word() == "except_clause" && span(*child).of(self.text).len() < LONGEST_HANDLER;
            caught
                && ["ImportError", "ModuleNotFoundError"]
                    .iter()
                    .any(|word| self.text_of(*child).contains(word))
        })?;
        let block = handler.named_children().find(|child| child.word() == "block")?;
        let runs = self.marks_of_body(block);
        let mut runs = runs.iter().flat_map(|mark| mark.spelled.iter());
        if !runs.any(|run| run.form == Form::Run && (self.speller.asks)(self.language, Form::Run, &run.path))
        {
            return None;
        }
        let imports = body
            .named_children()
            .filter(|import| matches!(import.word(), "import_from_statement" | "import_statement"));
        let modules =
            imports.filter_map(|import| import.field("module_name").or_else(|| import.field("name")));
        let modules = modules.map(|module| self.text_of(module).split([' ', '.']).next().unwrap_or_default());
        let words: Vec<String> =
            modules.filter(|word| !word.is_empty()).map(|word| format!("module:{word}")).collect();
        let place = Span { start: statement.start_byte(), end: body.end_byte() };
        (!words.is_empty()).then(|| needs(words, place))
    }

    /// Gives a condition of JUnit that names a method of the file the value that the method returns.
    pub(super) fn with_conditions(&self, annotation: Node<'_>, mut spelled: Vec<Spelled>) -> Vec<Spelled> {
        let is_jvm = matches!(self.language, Language::Java | Language::Kotlin);
        for mark in spelled.iter_mut().filter(|_| is_jvm) {
            let last = mark.path.rsplit('.').next().unwrap_or(&mark.path);
            let argument = mark.arguments.iter_mut().flatten().next();
            let Some(argument) = argument.filter(|_| matches!(last, "DisabledIf" | "EnabledIf")) else {
                continue;
            };
            let Some(name) = argument.value.text.clone().filter(|name| is_method(name)) else { continue };
            let returned = self.returned_by(annotation, &name);
            let value = returned.map(|returned| self.speller.value(returned)).unwrap_or_default();
            argument.value.constant = value.constant;
            argument.value.reads_environment = value.reads_environment;
        }
        spelled
    }

    /// Returns the expression that a method of the file gives, if that is all it does.
    fn returned_by<'n>(&self, inside: Node<'n>, name: &str) -> Option<Node<'n>> {
        let root = std::iter::successors(Some(inside), Node::parent).last()?;
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            let is_method = matches!(node.word(), "function_declaration" | "method_declaration");
            if is_method && node.field("name").is_some_and(|own| self.text_of(own) == name) {
                let all = statements(body_of(node)?);
                let [only] = all.as_slice() else { return None };
                let is_return = only.word().starts_with("return");
                return if is_return { parts(*only).last().copied() } else { Some(*only) };
            }
            stack.extend(node.named_children());
        }
        None
    }

    /// Returns the mark of a class that other files have to extend for its tests to run: one that is abstract.
    pub(super) fn needs_of_class(&self, node: Node<'_>) -> Option<Mark> {
        let is_open = matches!(self.language, Language::CSharp | Language::Java | Language::Php);
        let name = node.field("name").filter(|_| is_open && node.word() == "class_declaration")?;
        let before = &self.text[node.start_byte()..name.start_byte()];
        let is_abstract = before.split_whitespace().any(|word| word == "abstract");
        let is_extended = self.is_named_elsewhere(self.text_of(name));
        (is_abstract && !is_extended)
            .then(|| needs(vec![format!("class:{}", self.text_of(name))], head(node)))
    }
}

/// Returns whether the text of a condition of JUnit names a method, and is no expression.
fn is_method(text: &str) -> bool {
    !matches!(text, "true" | "false")
        && text.chars().all(|sign| sign.is_alphanumeric() || "_.#".contains(sign))
}

/// Returns the words that the condition of a directive needs; `None` where it may hold without.
pub(super) fn words_of_directive(language: Language, text: &str, node: Node<'_>) -> Option<Vec<String>> {
    let is_c = matches!(language, Language::C | Language::Cpp);
    let kind = if is_c { "macro" } else { "symbol" };
    if !is_c && language != Language::CSharp {
        return None;
    }
    let mut words = Vec::new();
    let value = match node.word() {
        "preproc_ifdef" => {
            let name = node.field("name")?;
            let directive = &text[node.start_byte()..name.start_byte()];
            let value = symbol(span(name).of(text), &mut words);
            if directive.contains("ifndef") { value.map(|value| !value) } else { value }
        }
        "preproc_if" => condition(text, node.field("condition")?, &mut words, 0),
        _ => None,
    };
    let is_defined = words.iter().any(|word| text.contains(&format!("#define {word}")));
    let is_left_out = value == Some(false) && !words.is_empty() && !is_defined;
    is_left_out.then(|| words.into_iter().map(|word| format!("{kind}:{word}")).collect())
}

/// Returns the value of a condition of a preprocessor where none of the words is given that only a build gives.
fn condition(text: &str, node: Node<'_>, words: &mut Vec<String>, depth: usize) -> Option<bool> {
    if depth > MAX_DEPTH {
        return None;
    }
    let parts: Vec<Node<'_>> = node.named_children().filter(|child| !child.is_comment()).collect();
    let written = span(node).of(text);
    match (node.word(), parts.as_slice()) {
        ("identifier", _) | ("preproc_defined", []) => symbol(written, words),
        ("preproc_defined", [name, ..]) => symbol(span(*name).of(text), words),
        ("boolean_literal" | "number_literal" | "integer_literal", _) => {
            Some(!matches!(written.trim(), "0" | "false"))
        }
        ("parenthesized_expression", [inner, ..]) => condition(text, *inner, words, depth + 1),
        ("unary_expression" | "prefix_unary_expression", [inner, ..]) if written.starts_with('!') => {
            let mut own = Vec::new();
            condition(text, *inner, &mut own, depth + 1).map(|value| !value)
        }
        ("binary_expression", [left, right]) => {
            let operator = text[left.end_byte()..right.start_byte()].trim();
            let mut sides = [*left, *right].map(|side| condition(text, side, words, depth + 1));
            match operator {
                "&&" => and(sides[0].take(), sides[1].take()),
                "||" => or(sides[0].take(), sides[1].take()),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Notes a macro or symbol that nobody gives by itself, so that it is not set.
fn symbol(word: &str, words: &mut Vec<String>) -> Option<bool> {
    if word.starts_with('_') || GIVEN.iter().any(|begin| word.starts_with(begin)) {
        return None;
    }
    words.push(word.to_owned());
    Some(false)
}

/// Returns the words that a predicate of `cfg` needs: features, and words that no compiler sets.
pub(super) fn words_of_cfg(tokens: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let value = cfg(tokens.trim(), &mut words, 0);
    (value == Some(false) && !words.is_empty()).then_some(words)
}

/// Returns the predicates that an operator of `cfg` is applied to, where it is the outermost one.
fn inside<'t>(tokens: &'t str, operator: &str) -> Option<&'t str> {
    tokens.strip_prefix(operator)?.strip_prefix('(')?.strip_suffix(')')
}

fn cfg(tokens: &str, words: &mut Vec<String>, depth: usize) -> Option<bool> {
    if depth > MAX_DEPTH {
        return None;
    }
    if let Some(all) = inside(tokens, "all") {
        let values = constants::arguments(all).map(|part| cfg(part, words, depth + 1));
        return values.fold(Some(true), and);
    }
    if let Some(any) = inside(tokens, "any") {
        let values = constants::arguments(any).map(|part| cfg(part, words, depth + 1));
        return values.fold(Some(false), or);
    }
    if let Some(not) = inside(tokens, "not") {
        return cfg(not.trim_end_matches(','), &mut Vec::new(), depth + 1).map(|value| !value);
    }
    if let Some((key, value)) = tokens.split_once('=') {
        let value = value.trim().trim_matches('"');
        return match key.trim() {
            "feature" => {
                words.push(format!("feature:{value}"));
                Some(false)
            }
            _ => None,
        };
    }
    if let Some(known) = constants::cfg(tokens) {
        return Some(known);
    }
    if CFG_WORDS.contains(&tokens) || !tokens.chars().all(joins) {
        return None;
    }
    words.push(format!("cfg:{tokens}"));
    Some(false)
}

/// Joins two values, of which one may not be known.
pub(super) fn and(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), other) => other,
        (None, _) => None,
    }
}

/// Returns whether one of two values holds, of which one may not be known.
pub(super) fn or(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    and(left.map(|value| !value), right.map(|value| !value)).map(|value| !value)
}

/// Returns the mark of words that have to be given.
pub(super) fn needs(words: Vec<String>, place: Span) -> Mark {
    Mark::new(MarkKind::Attribute, place, vec![spelled(words, place)])
}

/// Spells words that have to be given.
pub(super) fn spelled(words: Vec<String>, place: Span) -> Spelled {
    let arguments = words
        .into_iter()
        .map(|word| Argument { name: String::new(), value: Value { text: Some(word), ..Value::default() } });
    Spelled { form: Form::Mark, path: NEEDS.to_owned(), arguments: Some(arguments.collect()), span: place }
}

#[cfg(test)]
mod tests {
    use super::words_of_cfg;

    #[test]
    fn predicates_need_what_no_build_has_by_itself() {
        for (predicate, expected) in [
            ("feature=\"slow\"", Some("feature:slow")),
            ("all(test,feature=\"slow\")", Some("feature:slow")),
            ("all(unix,feature=\"slow\")", Some("feature:slow")),
            ("never", Some("cfg:never")),
            ("not(not(never))", None),
            ("any(test,feature=\"slow\")", None),
            ("any(unix,feature=\"slow\")", None),
            ("not(feature=\"slow\")", None),
            ("all(test,target_os=\"linux\")", None),
            ("unix", None),
            ("any()", None),
        ] {
            assert_eq!(
                words_of_cfg(predicate).map(|words| words.join(",")).as_deref(),
                expected,
                "{predicate}"
            );
        }
    }
}
