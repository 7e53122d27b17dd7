//! Python: calls of the file's own coroutine functions that nothing waits for, keeps or hands on, so that they never run.

use std::collections::{BTreeMap, BTreeSet};

use super::outline::{DroppedCoroutine, Span};
use super::walk::{Found, has_word, span};
use crate::tree::Node;

/// Deeper nodes are not looked at.
const MAX_DEPTH: usize = 1_000;

/// A node that has its own names: everything bound inside is bound there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    Module,
    Class(Span),
    Function(Span),
}

impl Scope {
    /// Returns the size of a scope that has a name's function in it; `None` for a scope that a bare name at a place does
    /// not reach.
    fn size_around(self, place: Span) -> Option<usize> {
        match self {
            Self::Function(around) if around.start <= place.start && place.end <= around.end => {
                Some(around.end - around.start)
            }
            Self::Module => Some(usize::MAX),
            Self::Function(_) | Self::Class(_) => None,
        }
    }
}

/// The surroundings of a node.
#[derive(Debug, Clone, Copy)]
struct Around {
    scope: Scope,
    /// The class around, also outside of a function.
    class: Option<Span>,
    /// Set where the innermost function is asynchronous.
    asynchronous: bool,
    /// Set where a test expects an error or a warning from this code.
    expected: bool,
}

/// A node on the way down, with the field of its parent that it is, and what is around the nodes inside of it.
struct Step<'n> {
    node: Node<'n>,
    field: Option<&'n str>,
    inside: Around,
}

/// A definition of a function.
#[derive(Debug, Clone, Copy)]
struct Definition {
    scope: Scope,
    name: Span,
    /// Set where a call certainly returns a coroutine: the result of a decorator is unknown, and a generator returns
    /// something else.
    coroutine: bool,
}

/// A call that is a statement, in an asynchronous function.
struct Call<'t> {
    name: &'t str,
    /// The class whose method it names, by `self`.
    class: Option<Span>,
    span: Span,
}

#[derive(Default)]
struct Names<'t> {
    methods: BTreeMap<(Span, &'t str), Vec<Definition>>,
    functions: BTreeMap<&'t str, Vec<Definition>>,
    /// Classes that may make something else of their methods.
    remade: BTreeSet<Span>,
    /// Names that stand somewhere as more than what is read, called or handed on, and may mean something else.
    unsure: BTreeSet<&'t str>,
    calls: Vec<Call<'t>>,
}

/// Functions of one name in one file; where there are more, none is looked at.
const MOST_OF_A_NAME: usize = 64;

/// Records the calls of a file whose coroutine is not awaited. Records none where a name is ambiguous or the file could
/// not be parsed as a whole.
pub(super) fn note(found: &mut Found<'_>, root: Node<'_>) {
    if !found.text.contains("async def ") || !found.outline.broken.is_empty() || !may_drop(found.text) {
        return;
    }
    let names = read_names(found, root);
    for call in names.calls.iter().filter(|call| !names.unsure.contains(call.name)) {
        let definition = match call.class {
            Some(class) => names.method(class, call.name),
            None => names.function(call).filter(|_| !found.outline.dynamic),
        };
        if let Some(definition) = definition.filter(|definition| definition.coroutine) {
            let dropped = DroppedCoroutine { call: call.span, definition: definition.name };
            found.outline.dropped_coroutines.push(dropped);
        }
    }
}

/// Returns whether a statement of a text may begin with the name of an asynchronous function, by the text alone. In nearly
/// all files none does, and to read the names of a file costs a walk over all of it.
fn may_drop(text: &str) -> bool {
    let mut names = BTreeSet::new();
    for (at, word) in text.match_indices("async") {
        let behind = &text[at + word.len()..];
        if behind.starts_with('\\') || behind.trim_start_matches(BLANKS).starts_with('\\') {
            return true;
        }
        let Some(rest) = behind.trim_start_matches(BLANKS).strip_prefix("def") else { continue };
        let name = first_word(rest.trim_start_matches(BLANKS));
        // A name on another line.
        if name.is_empty() {
            return true;
        }
        names.insert(name);
    }
    let behind = text.match_indices(['\n', '\r', ';', ':']).map(|(at, _)| &text[at + 1..]);
    std::iter::once(text).chain(behind).any(|statement| {
        let statement = statement.trim_start_matches(BLANKS);
        let first = first_word(statement);
        let rest = statement[first.len()..].trim_start_matches(BLANKS);
        match first {
            "" => false,
            "self" if rest.starts_with('\\') => true,
            "self" => rest.strip_prefix('.').is_some_and(|member| {
                let member = member.trim_start_matches(BLANKS);
                member.starts_with('\\') || names.contains(first_word(member))
            }),
            _ => names.contains(first),
        }
    })
}

const BLANKS: &[char] = &[' ', '\t', '\u{c}'];

/// Returns the name that a text begins with; empty for none.
fn first_word(text: &str) -> &str {
    let end = text.find(|sign: char| !sign.is_alphanumeric() && sign != '_');
    &text[..end.unwrap_or(text.len())]
}

impl Names<'_> {
    fn method(&self, class: Span, name: &str) -> Option<Definition> {
        let own = self.methods.get(&(class, name)).filter(|_| !self.remade.contains(&class))?;
        only(own.iter())
    }

    /// Returns the function that a name means at a place: that of the innermost scope around it.
    fn function(&self, call: &Call<'_>) -> Option<Definition> {
        let all = self.functions.get(call.name).filter(|all| all.len() <= MOST_OF_A_NAME)?;
        let innermost = all.iter().filter_map(|definition| definition.scope.size_around(call.span)).min()?;
        only(all.iter().filter(|definition| definition.scope.size_around(call.span) == Some(innermost)))
    }
}

fn only<'d>(mut definitions: impl Iterator<Item = &'d Definition>) -> Option<Definition> {
    let first = definitions.next()?;
    definitions.next().is_none().then_some(*first)
}

fn read_names<'t>(found: &Found<'t>, root: Node<'_>) -> Names<'t> {
    let mut names = Names::default();
    let mut cursor = root.walk();
    let outside = Around { scope: Scope::Module, class: None, asynchronous: false, expected: false };
    let mut steps: Vec<Step<'_>> = Vec::new();
    loop {
        let (node, field) = (cursor.node(), cursor.field_name());
        if node.word() == "identifier" && !is_harmless(&steps, field) {
            names.unsure.insert(found.text(node));
        }
        let inside = match steps.last() {
            Some(step) => enter(found, &mut names, node, step),
            None => outside,
        };
        if steps.len() < MAX_DEPTH && cursor.goto_first_child() {
            steps.push(Step { node, field, inside });
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return names;
            }
            steps.pop();
        }
    }
}

/// Notes what a node defines or calls; gives what is around the nodes inside of it.
fn enter<'t>(found: &Found<'t>, names: &mut Names<'t>, node: Node<'_>, parent: &Step<'_>) -> Around {
    let around = parent.inside;
    let decorated = parent.node.word() == "decorated_definition";
    match node.word() {
        "function_definition" => {
            let asynchronous = has_word(node, "async");
            if let Some(name) = node.field("name") {
                let coroutine = asynchronous && !decorated && !found.text(node).contains("yield");
                let definition = Definition { scope: around.scope, name: span(name), coroutine };
                let name = found.text(name);
                let same = match around.scope {
                    Scope::Class(class) => names.methods.entry((class, name)).or_default(),
                    Scope::Module | Scope::Function(_) => names.functions.entry(name).or_default(),
                };
                same.push(definition);
            }
            Around { scope: Scope::Function(span(node)), asynchronous, ..around }
        }
        "lambda" => Around { scope: Scope::Function(span(node)), asynchronous: false, ..around },
        "class_definition" => {
            let bases = found.field_text(node, "superclasses");
            if decorated || bases.contains("metaclass") && !bases.contains("ABCMeta") {
                names.remade.insert(span(node));
            }
            let class = span(node);
            Around { scope: Scope::Class(class), class: Some(class), asynchronous: false, ..around }
        }
        "with_statement" => {
            let head = node.named_children().next().map(|clause| found.text(clause)).unwrap_or_default();
            let expects = ["raises", "Raises", "warns", "Warns"].iter().any(|word| head.contains(word));
            Around { expected: around.expected || expects, ..around }
        }
        "expression_statement" if around.asynchronous && !around.expected => {
            names.calls.extend(bare_call(found, node, around));
            around
        }
        _ => around,
    }
}

fn bare_call<'t>(found: &Found<'t>, statement: Node<'_>, around: Around) -> Option<Call<'t>> {
    let alone = statement.named_child_count() == 1;
    let call = statement.named_child(0).filter(|call| alone && call.word() == "call")?;
    let function = call.field("function")?;
    let (name, class) = match function.word() {
        "identifier" => (function, None),
        "attribute" => {
            let of = function.field("object").filter(|of| found.text(*of) == "self");
            (of.and(function.field("attribute"))?, Some(around.class?))
        }
        _ => return None,
    };
    Some(Call { name: found.text(name), class, span: span(call) })
}

/// Returns whether a name is defined as a function, read, called or passed on here, and not rebound.
fn is_harmless(steps: &[Step<'_>], field: Option<&str>) -> bool {
    let [.., parent] = steps else { return true };
    match parent.node.word() {
        "function_definition" => field == Some("name"),
        // The object before a dot is read; the attribute behind it may be set.
        "attribute" if field == Some("attribute") => {
            let above = steps.iter().rev().nth(1).map(|step| step.node.word());
            above.is_some_and(|above| above == "attribute" || is_read(above, parent.field))
        }
        "attribute" => true,
        kind => is_read(kind, field),
    }
}

fn is_read(kind: &str, field: Option<&str>) -> bool {
    match kind {
        "argument_list"
        | "await"
        | "binary_operator"
        | "boolean_operator"
        | "comparison_operator"
        | "conditional_expression"
        | "decorator"
        | "expression_list"
        | "expression_statement"
        | "interpolation"
        | "keyword_argument"
        | "list"
        | "not_operator"
        | "pair"
        | "parenthesized_expression"
        | "return_statement"
        | "set"
        | "subscript"
        | "tuple" => true,
        "call" => field == Some("function"),
        "assignment" => field == Some("right"),
        "default_parameter" => field == Some("value"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Language, parse};

    fn dropped(text: &str) -> Vec<String> {
        let outline = parse(Language::Python, text);
        outline.dropped_coroutines.iter().map(|dropped| dropped.call.of(text).to_owned()).collect()
    }

    #[test]
    fn calls_are_found_wherever_a_statement_may_begin() {
        for (call, expected) in [
            ("f()", "f()"),
            ("if a: f()", "f()"),
            ("a; f()", "f()"),
            ("f ()", "f ()"),
            ("\tf()", "f()"),
            ("if a:\\\n        f()", "f()"),
            ("self . m()", "self . m()"),
            ("self.\\\n    m()", "self.\\\n    m()"),
            ("self\\\n    .m()", "self\\\n    .m()"),
            ("with a: self.m()", "self.m()"),
        ] {
            let text = format!(
                "async def f(): pass\nclass A:\n  async  def m(self): pass\n  async def g(self):\n    {call}\n"
            );
            assert_eq!(dropped(&text), [expected], "{call}");
            assert!(super::may_drop(&text), "{call}");
        }
        assert!(!super::may_drop(
            "async def f(): pass\nasync def g():\n    await f()\n    a = f()\n    self.a.f()\n"
        ));
    }

    #[test]
    fn a_name_means_the_function_of_the_innermost_scope_around() {
        let outer = "async def f():\n    pass\n\n\n";
        for (inner, expected) in [("async def f():", &["f()"][..]), ("def f():", &[])] {
            let text =
                format!("{outer}def g():\n    {inner}\n        pass\n\n    async def h():\n        f()\n");
            assert_eq!(dropped(&text), expected, "{inner}");
        }
        let elsewhere = "def g():\n    async def f():\n        pass\n\n\nasync def h():\n    f()\n";
        assert_eq!(dropped(elsewhere), [""; 0]);
    }

    #[test]
    fn a_method_is_that_of_the_class_around() {
        for (head, own, expected) in [
            ("class B(Base)", "async def", &["self.f()"][..]),
            ("class B(Base)", "def", &[]),
            ("class B(metaclass=ABCMeta)", "async def", &["self.f()"]),
            ("class B(metaclass=Blocking)", "async def", &[]),
            ("@blocking\nclass B", "async def", &[]),
        ] {
            let text = format!(
                "class A:\n    async def f(self):\n        pass\n\n\n{head}:\n    {own} f(self):\n        pass\n\n    async def g(self):\n        self.f()\n"
            );
            assert_eq!(dropped(&text), expected, "{head} {own}");
        }
    }

    #[test]
    fn where_a_name_may_mean_something_else_nothing_is_said() {
        let with =
            |more: &str| format!("async def f():\n    pass\n\n\n{more}\n\n\nasync def g():\n    f()\n");
        assert_eq!(dropped(&with("x = [f, f()]\nh(f, key=f)\ny = f.name if f else x.f()")), ["f()"]);
        for more in [
            "f = wrap(f)",
            "from a import f",
            "from a import b as f",
            "from a import *",
            "import f",
            "def g(f):\n    pass",
            "def g(f=1):\n    pass",
            "def g(*f):\n    pass",
            "for f in fs:\n    pass",
            "for a, f in fs:\n    pass",
            "with a as f:\n    pass",
            "del f",
            "x = [f for f in fs]",
            "(f := 1)",
            "x.f = 1",
            "globals()['f'] = 1",
            "if x:\n    def f():\n        pass",
            "broken(",
        ] {
            assert_eq!(dropped(&with(more)), [""; 0], "{more}");
        }
    }

    #[test]
    fn only_a_call_that_is_a_statement_of_an_asynchronous_function_counts() {
        const OUTER: &str = "async def f():\n    pass\n\n\n";
        assert_eq!(dropped(&format!("{OUTER}async def g():\n    if x:\n        f(1)\n")), ["f(1)"]);
        for lines in [
            "def g():\n    f()",
            "f()",
            "async def g():\n    await f()",
            "async def g():\n    return f()",
            "async def g():\n    x = f()",
            "async def g():\n    x.append(f())",
            "async def g():\n    f().send(None)",
            "async def g():\n    f(), f()",
            "async def g():\n    h(lambda: f())",
            "async def g():\n    def h():\n        f()",
            "async def g():\n    with raises(TypeError):\n        f(1)",
        ] {
            assert_eq!(dropped(&format!("{OUTER}{lines}\n")), [""; 0], "{lines}");
        }
    }
}
