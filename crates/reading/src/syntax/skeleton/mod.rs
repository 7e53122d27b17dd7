//! A text without what its functions do: whoever asks what a file offers to others need not have that parsed.

mod ecma;
mod python;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::outline::{Import, ImportedName, Outline, Span, Symbol};
use super::{Language, memo};

/// As [`super::parse`], as far as a module's own names, its imports and what it does to its names reach. What stands
/// inside of functions and classes alone is left out: comments, strings, loops, tests. It follows from the text alone,
/// so that an outline of the whole which is at hand does not come in its place.
pub fn parse_surface(language: Language, text: &str) -> Arc<Outline> {
    surface(language, text).map_or_else(|| memo::parse_once(language, text), Arc::new)
}

/// As [`super::parse`], as far as what is around some places reaches: where they stand in loops, functions, comments and
/// strings. What stands inside of other functions, classes and the like may be left out, and tests are.
pub fn parse_around(language: Language, text: &str, places: &[(usize, usize)]) -> Arc<Outline> {
    around(language, text, places).map_or_else(|| memo::parse_once(language, text), Arc::new)
}

/// Null where something else may have a part in what is done at a place again and again.
fn around(language: Language, text: &str, places: &[(usize, usize)]) -> Option<Outline> {
    let has = |body: &Body, (start, end): &(usize, usize)| body.start <= *end && *start <= body.end;
    let mut bodies = read(language, text, ecma::bodies_outside_loops, python::bodies)?;
    // Bodies of Python are those of functions and classes alone, and a loop may have some beside the place.
    let is_python = language == Language::Python;
    if is_python && !places.iter().all(|place| bodies.iter().any(|body| has(body, place))) {
        return None;
    }
    bodies.retain(|body| !places.iter().any(|place| has(body, place)));
    parse_without(language, text, &bodies)
}

/// The outline of a text without bodies; null where it may say something else than one of the whole.
fn surface(language: Language, text: &str) -> Option<Outline> {
    let mut bodies = bodies(language, text)?;
    let mut outline = parse_without(language, text, &bodies)?;
    let erased: Vec<Vec<String>> = erased(&outline.imports).map(own_names).collect();
    if erased.is_empty() {
        return Some(outline);
    }
    // Whether an import brings types alone hangs on its use, also in bodies.
    let names = erased.iter().flatten().map(String::as_str).collect();
    let used = ecma::used(text, names, &bodies)?;
    let is_value = |name: &String| used.values.contains(name.as_str());
    let open = erased.iter().filter(|own| !own.iter().any(is_value)).flatten();
    let telling: BTreeSet<usize> = open.flat_map(|name| used.bodies_with(name)).collect();
    if !telling.is_empty() {
        let mut position = 0..;
        bodies.retain(|_| position.next().is_some_and(|position| !telling.contains(&position)));
        outline = parse_without(language, text, &bodies)?;
    }
    for import in outline.imports.iter_mut().filter(|import| import.erased) {
        import.erased = !own_names(import).iter().any(is_value);
    }
    Some(outline)
}

fn erased(imports: &[Import]) -> impl Iterator<Item = &Import> {
    imports.iter().filter(|import| import.erased)
}

/// What an import's names are called in its file.
fn own_names(import: &Import) -> Vec<String> {
    let names = import.names.iter().map(|name| name.alias.as_ref().unwrap_or(&name.name));
    names.chain(&import.alias).cloned().collect()
}

/// Null where nothing would be left out, or the rest is broken.
fn parse_without(language: Language, text: &str, bodies: &[Body]) -> Option<Outline> {
    if bodies.is_empty() {
        return None;
    }
    let skeleton = Skeleton::new(text, bodies);
    let outline = memo::parse_once(language, &skeleton.text);
    outline.broken.is_empty().then(|| skeleton.put_back(&outline))
}

/// The bodies that can be left out; null where it cannot be told which.
fn bodies(language: Language, text: &str) -> Option<Vec<Body>> {
    read(language, text, ecma::bodies, python::bodies)
}

fn read(
    language: Language,
    text: &str,
    ecma: fn(&str) -> Option<Vec<Body>>,
    python: fn(&str) -> Option<Vec<Body>>,
) -> Option<Vec<Body>> {
    // The readers go by bytes and take what is beyond ASCII for parts of words.
    let is_odd_space =
        |character: char| !character.is_ascii() && (character.is_whitespace() || character == '\u{feff}');
    if !text.is_ascii() && text.contains(is_odd_space) {
        return None;
    }
    match language {
        Language::JavaScript | Language::Tsx | Language::TypeScript => ecma(text),
        Language::Python => python(text),
        Language::Go | Language::Java | Language::Rust => None,
    }
}

/// The inside of a function, a class, a type or an object, in bytes, and what stands there instead, which is no longer.
struct Body {
    start: usize,
    end: usize,
    instead: String,
}

/// Keeps the outermost of bodies that end one after the other.
fn keep(bodies: &mut Vec<Body>, body: Body) {
    while bodies.last().is_some_and(|last| last.start >= body.start) {
        bodies.pop();
    }
    bodies.push(body);
}

/// A text without its bodies. A parser takes its time over spaces as well, so none stand for them.
struct Skeleton {
    text: String,
    /// Where something is left out, and how many bytes up to there.
    gaps: Vec<(usize, usize)>,
}

impl Skeleton {
    fn new(text: &str, bodies: &[Body]) -> Self {
        let mut skeleton = Self { text: String::with_capacity(text.len() / 2), gaps: Vec::new() };
        let mut end = 0;
        for body in bodies {
            skeleton.text.push_str(&text[end..body.start]);
            skeleton.text.push_str(&body.instead);
            end = body.end;
            skeleton.gaps.push((skeleton.text.len(), end - skeleton.text.len()));
        }
        skeleton.text.push_str(&text[end..]);
        skeleton
    }

    /// What an outline of the skeleton says, where it stands in the text.
    fn put_back(&self, outline: &Outline) -> Outline {
        let symbol = |symbol: &Symbol| Symbol {
            span: self.span(symbol.span),
            name_span: self.span(symbol.name_span),
            ..symbol.clone()
        };
        let name = |name: &ImportedName| ImportedName { span: self.span(name.span), ..name.clone() };
        let import = |import: &Import| Import {
            span: self.span(import.span),
            module_span: self.span(import.module_span),
            names: import.names.iter().map(name).collect(),
            ..import.clone()
        };
        let spans = |spans: &[Span]| spans.iter().map(|span| self.span(*span)).collect();
        Outline {
            symbols: outline.symbols.iter().map(symbol).collect(),
            imports: outline.imports.iter().map(import).collect(),
            comments: spans(&outline.comments),
            strings: spans(&outline.strings),
            loops: spans(&outline.loops),
            functions: spans(&outline.functions),
            asynchronous: spans(&outline.asynchronous),
            waits_in_turn: spans(&outline.waits_in_turn),
            dynamic: outline.dynamic,
            relocates: outline.relocates,
            module: outline.module,
            ..Outline::default()
        }
    }

    fn span(&self, span: Span) -> Span {
        let start = self.place(span.start);
        // What ends where something is left out ends before it.
        let end = if span.end > span.start { self.place(span.end - 1) + 1 } else { start };
        Span { start, end }
    }

    fn place(&self, at: usize) -> usize {
        let before = self.gaps.partition_point(|(gap, _)| *gap <= at);
        at + before.checked_sub(1).map_or(0, |last| self.gaps[last].1)
    }
}

fn is_part_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::super::pieces::{programs, texts};
    use super::super::{Span, Symbol, parse};
    use super::*;

    /// What others can ask a file for, by everything that stands in it or by its surface.
    fn offered(language: Language, outline: &Outline) -> (Vec<(String, Span)>, Vec<Import>, [bool; 3]) {
        let own = |symbol: &&Symbol| symbol.top_level && (symbol.exported || language == Language::Python);
        let names = outline.symbols.iter().filter(own).map(|symbol| (symbol.name.clone(), symbol.name_span));
        (names.collect(), outline.imports.clone(), [outline.dynamic, outline.relocates, outline.module])
    }

    const PYTHON: &[&str] = &[
        "def f():",
        "    def g(self, a={}):",
        "async def h(",
        "):",
        "class C:",
        "    class D:",
        "    x = 1",
        "        return [",
        "]",
        "    global k",
        "        from a import b",
        "import c",
        "    \"\"\"what it does",
        "def i(): pass\"\"\"",
        "'''",
        "        f'{x:{y}} {z['def']!r:>{w}} {{' ",
        "    if (m := 1):",
        "if n:",
        "    else:",
        "# comment",
        "    s = rf\"\\{t}\" \\",
        "    exec('o = 1')",
        "try: p = 2",
        "    'it''s'; q = 3",
        "@r",
        "",
        "\tu()",
        "    def v(): __path__ = 1",
        "        setattr(w, \"__name__\", x)",
    ];
    const ECMA: &[&str] = &[
        "export function a() {",
        "function b(c = {}): Promise<{ d: 1 }> {",
        "export const e = async (f): Promise<void> => {",
        "export default class extends g(h) {",
        "  i() { return /[{]/.test(j) }",
        "  get k(): l.M[] {",
        "if (n) {",
        "} else {",
        "}",
        "})",
        "};",
        "describe('o', () => {",
        "export const { p, q: [r] } = s(function () {",
        "export { t } from './t'",
        "import u, { v } from './v'",
        "module.exports = { w() {} }",
        "const x = require('x')",
        "await import('y')",
        "f(`}${z => {",
        "}`)",
        "// it's {",
        "/* ) {",
        "*/",
        "const s = '{'",
        "x = y / 2",
        "x = (y) / 2; '/'",
        "export type A = (b: C) => { d: E }",
        "export namespace F { export function g(): H {",
        "} }",
        "export let i = j ? (k) : { l: 1 }",
        "switch (m) { case (n): {",
        "import.meta.o(async () => {",
        "import { k, L } from './k'",
        "\u{feff}export { k }",
        "let \\u0061b = c",
        "  return (k) / L / 2",
        "  return (k) / require('r') / 2",
        "x++ / k / 2; y! / L / 2",
        "  m(x: Map<string, L>) {",
        "  n(x: number, L: string): void",
        "  k() // it",
        "  o = p.k(1) || L.q(2)",
        "const { p, /* c */ q } = r",
        "export const { p, /* c */ q } = r",
        "export interface R {",
        "declare class S {",
        "  k(1)",
        "  k(): void",
        "  m: L = k",
        "  n(k, 2) ?? new L",
        "  o(p, k(1), [L(2)])",
        "  q: k(1), r: L.s.t(2)",
        "  const u = { v, k() {} }, w = L(3)",
        "  x = (y: L, z = k(1)) => L(2)",
        "  k?(a: L): b",
        "  return c as L || d",
        "  e = f as k | L ?? (g satisfies L) && h",
        "  this.#k(1), this.#L.m(2)",
        "  n?",
        "  k(o as typeof L || p) {",
    ];

    #[test]
    fn what_is_easily_misread_is_said_as_a_parse_of_all_of_it_says_it() {
        let cases: &[(Language, &str)] = &[
            (
                Language::TypeScript,
                "import { S } from './s'\nexport function f(x) {\n  return (x + 1) / S / 2\n}\n",
            ),
            (
                Language::TypeScript,
                "import { S } from './s'\nexport class C {\n  m(x: Map<string, S>): void {}\n}\n",
            ),
            (
                Language::TypeScript,
                "import { S } from './s'\nexport interface C {\n  S()\n  m(x: a, S: b): void\n}\n",
            ),
            (
                Language::TypeScript,
                "import { S } from './s'\nexport class C {\n  S() // it\n  { return 1 }\n}\n",
            ),
            (Language::TypeScript, "\u{feff}import { S } from './s'\nexport function f() {\n  S(1)\n}\n"),
            (Language::JavaScript, "export function f(x) {\n  return (x) / require('m').y / 2\n}\n"),
            (Language::JavaScript, "(function (root) {\n  root.a = 1\n  module.exports = root\n})(this)\n"),
            (Language::JavaScript, "if (a) {\n  const { b, // why\n    c } = d\n}\nexport const e = 1\n"),
            (
                Language::JavaScript,
                "export const { a: { b }, c: [{ d }] = [{}] } = f({ g() { return 1 } })\n",
            ),
            (Language::Python, "def f(g):\n    setattr(g, \"__name__\", \"x\")\n    return g\ny = 1\n"),
            (Language::Python, "class C:\n    def f(self):\n        global g\n        g = 1\n\n    h = 2\n"),
            (Language::Python, "def f():\n    return f'{a[\"}\"]}' f\"{b:{'c'}}\"\nd = 1\n"),
        ];
        for (language, text) in cases {
            let (whole, surface) = (parse(*language, text), parse_surface(*language, text));
            assert!(whole.broken.is_empty(), "{text}");
            assert_eq!(offered(*language, &surface), offered(*language, &whole), "{text}");
        }
        // None of it would be tried if bodies were never found.
        let text = "import { S } from './s'\nexport function f(x: number) {\n  return S.t(x) + x\n}\n";
        let found = bodies(Language::TypeScript, text).unwrap();
        assert!(Skeleton::new(text, &found).text.ends_with("{}\n"));
    }

    #[test]
    fn a_surface_says_what_a_parse_of_all_of_it_says() {
        for (language, pieces) in
            [(Language::Python, PYTHON), (Language::TypeScript, ECMA), (Language::JavaScript, ECMA)]
        {
            let (mut compared, mut shorter) = (0, 0);
            for text in texts(pieces, 1) {
                let whole = parse(language, &text);
                if !whole.broken.is_empty() {
                    continue;
                }
                let surface = parse_surface(language, &text);
                assert_eq!(offered(language, &surface), offered(language, &whole), "{text}");
                compared += 1;
                shorter += usize::from(super::surface(language, &text).is_some());
            }
            assert!(compared > 1_000 && shorter > 40, "{compared} {shorter}");
        }
    }

    /// What lenses ask of the places of a line.
    fn told_of(outline: &Outline, (start, end): (usize, usize)) -> Vec<[bool; 5]> {
        let within = |spans: &[Span], at| spans.iter().any(|span| span.start <= at && at < span.end);
        let of = |at| {
            let waits = outline.waits_in_turn.iter().any(|span| span.start == at);
            let (comment, string) = (within(&outline.comments, at), within(&outline.strings, at));
            [comment, string, outline.repeats(at).is_some(), outline.is_asynchronous(at), waits]
        };
        (start..end).map(of).collect()
    }

    const LOOPS: &[&str] = &[
        "async function a(b) {\n@}",
        "const c = async (d) => {\n@}",
        "class E { async f(g) {\n@} }",
        "for (const h of await i()) {\n@}",
        "for (const j of k) {\n@}",
        "while (await l()) {\n@}",
        "do {\n@} while (c)",
        "for (const s of k) if (t) {\n@} else await m(s)",
        "if (t) {\n@}",
        "if (t) {\n@} else {\n@}",
        "if (w) { break }",
        "if (x) { continue }",
        "try {\n@} catch { o = 1 }",
        "k.forEach(async (s) => {\n@})",
        "await m(h)",
        "const n = await m(j)",
        "o = await p(o)",
        "q.push(await p(j))",
        "new RegExp('r')",
        "const { y } = require('z')",
        "await import(h)",
        "exports(o)",
        "return u // {",
        "o = `${v(() => {\n@})}` /* while */",
    ];
    const PYTHON_LOOPS: &[&str] = &[
        "async def a(b):",
        "    async def c(d):",
        "class E:",
        "    async def f(self):",
        "        for g in await h():",
        "            await i(g)",
        "    for j in k:",
        "        await l(j)",
        "        m = await l(m)",
        "        time.sleep(1)",
        "    n = [await o(p) for p in q]",
        "    re.compile('r')",
        "for s in t:",
        "    u(lambda: s)",
        "    \"\"\"for v in w:",
        "\"\"\"",
        "    # for x in y:",
        "    import z",
        "        if a: break",
        "        def b(c): m = 1",
        "        global m",
        "",
    ];

    #[test]
    fn around_a_line_is_what_a_parse_of_all_of_it_says() {
        let cases: [(Language, Vec<String>); 3] = [
            (Language::Python, texts(PYTHON_LOOPS, 1).collect()),
            (Language::TypeScript, programs(LOOPS).collect()),
            (Language::JavaScript, programs(LOOPS).collect()),
        ];
        for (language, texts) in cases {
            let (mut compared, mut shorter) = (0, 0);
            for text in texts {
                let whole = parse(language, &text);
                if !whole.broken.is_empty() {
                    continue;
                }
                let mut start = 0;
                for line in text.split('\n') {
                    let place = (start, start + line.len());
                    let told = parse_around(language, &text, &[place]);
                    assert_eq!(told_of(&told, place), told_of(&whole, place), "{line}\n---\n{text}");
                    compared += 1;
                    shorter += usize::from(told.functions.len() < whole.functions.len());
                    start += line.len() + 1;
                }
            }
            assert!(compared > 1_000 && shorter > 20, "{compared} {shorter}");
        }
    }
}
