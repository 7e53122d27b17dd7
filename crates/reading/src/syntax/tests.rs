//! Tests of outlines on common code in each language, and of the parser on texts made to stop it.

use proptest::prelude::*;

use super::*;

const ALL: &[Language] = &[
    Language::C,
    Language::CSharp,
    Language::Cpp,
    Language::Go,
    Language::Java,
    Language::JavaScript,
    Language::Kotlin,
    Language::Php,
    Language::Python,
    Language::Ruby,
    Language::Rust,
    Language::Tsx,
    Language::TypeScript,
];

fn line_of(text: &str, span: Span) -> usize {
    text[..span.start].matches('\n').count() + 1
}

/// Returns an outline as lines that a person can compare.
fn rendered(text: &str, outline: &Outline) -> Vec<String> {
    let mut lines = Vec::new();
    for symbol in &outline.symbols {
        let mut words = vec![format!("{:?} {}", symbol.kind, symbol.name)];
        words.extend(symbol.exported.then(|| "exported".to_owned()));
        words.extend((!symbol.top_level).then(|| "nested".to_owned()));
        words.extend(symbol.conditional.then(|| "conditional".to_owned()));
        assert!(
            symbol.kind == SymbolKind::Imported
                || symbol.name_span.of(text) == symbol.name
                || symbol.name == "default"
        );
        lines.push(format!("{}: {}", line_of(text, symbol.name_span), words.join(" ")));
    }
    for import in &outline.imports {
        let mut words = vec![format!("{:?} {}", import.kind, import.module)];
        for name in &import.names {
            assert!(name.name == "default" || name.span.of(text).trim_matches('"') == name.name);
            words.push(match &name.alias {
                Some(alias) => format!("{} as {alias}", name.name),
                None => name.name.clone(),
            });
        }
        words.extend(import.alias.iter().map(|alias| format!("itself as {alias}")));
        words.extend(import.star.then(|| "*".to_owned()));
        words.extend(import.type_only.then(|| "for types".to_owned()));
        words.extend(import.conditional.then(|| "conditional".to_owned()));
        words.extend(import.guarded.then(|| "guarded".to_owned()));
        words.extend((!import.top_level).then(|| "nested".to_owned()));
        lines.push(format!("{}: {}", line_of(text, import.span), words.join(", ")));
    }
    lines.extend(outline.tests.iter().map(|span| format!("{}: a test", line_of(text, *span))));
    lines.extend(outline.comments.iter().map(|span| format!("{}: a comment", line_of(text, *span))));
    lines.extend(outline.broken.iter().map(|span| format!("{}: broken", line_of(text, *span))));
    lines.extend(outline.dynamic.then(|| "dynamic".to_owned()));
    lines
}

#[track_caller]
pub(super) fn check(language: Language, text: &str, expected: &str) {
    let outline = parse(language, text);
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(rendered(text, &outline), expected, "{text}");
}

#[test]
fn a_python_module_binds_names_however_it_does() {
    check(
        Language::Python,
        r#"from __future__ import annotations
import os.path
import numpy as np
from .base import (
    Handler,  # the usual one
    Result as Outcome,
)
from .. import sibling
from ..pkg.mod import *
try:
    import ujson as json
except ImportError as error:
    json = None
if TYPE_CHECKING:
    from .types import Shape
LIMIT, (low, *rest) = 1, (2, 3)
size: int = 3
class Reader(Base):
    field = 1
    def read(self):
        from .late import helper
        global _cache
        return [entry for entry in self]
def test_reads():
    pass
with open("x") as handle:
    for row in handle:
        if (count := len(row)) > 3:
            text = f"{row} from .not import code"
"#,
        "2: Imported os exported
         3: Imported np exported
         5: Imported Handler exported
         6: Imported Outcome exported
         8: Imported sibling exported
         11: Imported json exported conditional
         12: Variable error exported conditional
         13: Variable json exported conditional
         15: Imported Shape exported conditional
         16: Variable LIMIT exported
         16: Variable low exported
         16: Variable rest exported
         17: Variable size exported
         18: Class Reader exported
         19: Variable field nested
         20: Method read nested
         21: Imported helper nested
         22: Variable _cache
         24: Function test_reads exported
         26: Variable handle exported
         27: Variable row exported
         28: Variable count exported conditional
         29: Variable text exported conditional
         2: Static os.path
         3: Static numpy, itself as np
         4: Static .base, Handler, Result as Outcome
         8: Static .., sibling
         9: Static ..pkg.mod, *
         11: Static ujson, itself as json, conditional, guarded
         15: Static .types, Shape, for types, conditional
         21: Static .late, helper, nested
         24: a test
         5: a comment
         dynamic",
    );
}

#[test]
fn what_a_python_module_conjures_is_called_dynamic() {
    for text in [
        "def __getattr__(name):\n    pass\n",
        "globals()['a'] = 1\n",
        "__getattr__, names = attach(__name__)\n",
        "__path__ = []\n",
        "sys.modules[__name__] = X()\n",
        "def f():\n    exec(text)\n",
        "vars()['a'] = 1\n",
        "setattr(import_module(__name__), name, 1)\n",
    ] {
        assert!(parse(Language::Python, text).dynamic, "{text}");
    }
    for text in [
        "class A:\n    def __getattr__(self, name):\n        pass\n",
        "x = path\n",
        "def f(name):\n    return sys.modules.get(name)\n",
        "def f(place):\n    exec(text, place.__dict__)\n",
        "def f(self):\n    setattr(self, name, vars(self))\n",
    ] {
        assert!(!parse(Language::Python, text).dynamic, "{text}");
    }
}

#[test]
fn a_package_whose_modules_may_be_elsewhere_is_told_from_one_with_names_of_its_own_making() {
    for text in [
        "__path__ = extend_path(__path__, __name__)\n",
        "sys.modules['a.b'] = b\n",
        "sys.meta_path.append(f)\n",
    ] {
        assert!(parse(Language::Python, text).relocates, "{text}");
    }
    for text in ["def __getattr__(name):\n    pass\n", "from .a import *\n", "globals()['a'] = 1\n"] {
        let outline = parse(Language::Python, text);
        assert!(outline.dynamic && !outline.relocates, "{text}");
    }
}

#[test]
fn a_typescript_module_exports_and_imports_in_every_form() {
    check(
        Language::TypeScript,
        r#"import main, { type Shape, draw as paint } from "./shapes.js";
import * as colours from '../colours';
import type { Point } from "./point";
import legacy = require("./legacy");
import "./side-effect";
export const one = 1, { two, three: four } = pair;
export function five(): void { const inner = 1; }
export default class Six {}
export interface Seven { method(): void }
export type Eight = string;
export enum Nine { A }
export abstract class Ten { run() {} }
const local = 1;
export { local, local as renamed };
export { other } from "./other";
export * from "./all";
export * as space from "./space";
async function load() {
  const module = await import("./lazy");
  return require(`./computed/${module}`);
}
"#,
        "6: Variable one exported
         6: Variable two exported
         6: Variable four exported
         7: Function five exported
         7: Variable inner nested conditional
         8: Variable default exported
         8: Class Six
         9: Interface Seven exported
         9: Method method nested
         10: Type Eight exported
         11: Enum Nine exported
         12: Class Ten exported
         12: Method run nested
         13: Variable local
         14: Imported local exported
         14: Imported renamed exported
         15: Imported other exported
         17: Imported space exported
         18: Function load
         19: Variable module nested conditional
         1: Static ./shapes.js, default as main, Shape, draw as paint
         2: Static ../colours, itself as colours
         3: Static ./point, Point, for types
         4: Static ./legacy, itself as legacy
         5: Static ./side-effect
         15: Reexport ./other, other
         16: Reexport ./all, *
         17: Reexport ./space, itself as space
         19: Call ./lazy, conditional, nested",
    );
}

#[test]
fn common_js_and_ambient_modules_are_called_dynamic() {
    for text in ["exports.a = 1;", "module.exports = { a };", "Object.defineProperty(exports, 'a', {});"] {
        assert!(parse(Language::JavaScript, text).dynamic, "{text}");
    }
    for text in
        ["export = thing;", "declare module 'x' { export const a: number }", "declare global { var a: 1 }"]
    {
        assert!(parse(Language::TypeScript, text).dynamic, "{text}");
    }
    assert!(!parse(Language::TypeScript, "export declare const a: number;").dynamic);
}

#[test]
fn a_namespace_in_a_namespace_is_the_outer_name() {
    check(Language::TypeScript, "export namespace Outer.Inner {}\n", "1: Module Outer exported");
}

#[test]
fn scripts_are_told_from_modules() {
    assert!(!parse(Language::JavaScript, "const a = 1;").module);
    assert!(parse(Language::JavaScript, "export const a = 1;").module);
}

#[test]
fn tsx_and_jsx_are_read_as_code() {
    let text = "import { Box } from './box';\nexport const Page = () => <Box title=\"import x from './y'\">text</Box>;\n";
    let expected = "2: Variable Page exported\n1: Static ./box, Box";
    check(Language::Tsx, text, expected);
    check(Language::JavaScript, text, expected);
}

#[test]
fn a_rust_file_has_items_use_leaves_and_module_files() {
    check(
        Language::Rust,
        r#"//! About.
use std::collections::{BTreeMap as Map, btree_map::{self, Entry}};
pub(crate) use crate::core::plan;
use super::*;
mod inner;
#[cfg(unix)]
mod unix;
mod here { pub fn nested() {} }
pub struct Point { x: u32 }
enum Kind { A, B }
impl Point { pub fn new() -> Self { use crate::late::Thing; todo!() } }
pub trait Draw { fn draw(&self); }
const LIMIT: usize = 3;
macro_rules! twice { () => {} }
#[cfg(test)]
mod tests {
    #[test]
    fn it_works() {}
}
"#,
        "2: Imported Map
         2: Imported btree_map
         2: Imported Entry
         3: Imported plan exported
         5: Module inner
         7: Module unix conditional
         8: Module here
         8: Function nested exported nested
         9: Struct Point exported
         10: Enum Kind
         11: Function new exported nested
         11: Imported Thing nested
         12: Trait Draw exported
         12: Function draw nested
         13: Constant LIMIT
         14: Macro twice
         16: Module tests conditional
         18: Function it_works nested conditional
         2: Static std::collections, BTreeMap as Map
         2: Static std::collections::btree_map, self
         2: Static std::collections::btree_map, Entry
         3: Reexport crate::core, plan
         4: Static super, *
         5: File inner
         7: File unix, conditional
         11: Static crate::late, Thing, nested
         16: a test
         18: a test
         1: a comment
         dynamic",
    );
}

#[test]
fn macros_that_make_items_are_called_dynamic() {
    for text in
        ["bitflags! { struct A: u8 {} }", "#[derive_more::everything]\npub struct A;", "include!(\"x.rs\");"]
    {
        assert!(parse(Language::Rust, text).dynamic, "{text}");
    }
    assert!(!parse(Language::Rust, "#[derive(Debug)]\npub struct A;\nfn f() { vec![1]; }").dynamic);
}

#[test]
fn a_go_file_has_the_names_of_its_package() {
    check(
        Language::Go,
        r#"package server
import (
	"fmt"
	api "example.com/mod/api"
	_ "example.com/mod/driver"
)
const Version, minor = "1", 2
var (
	Default = New()
)
type Server struct { Name string }
type handler interface { serve() }
type ID = string
func New() *Server { x := 1; var y int; return nil }
func (s *Server) Run() {}
func TestRun(t *testing.T) {}
"#,
        "7: Constant Version exported
         7: Constant minor
         9: Variable Default exported
         11: Struct Server exported
         12: Interface handler
         13: Type ID exported
         14: Function New exported
         14: Variable y nested
         15: Method Run exported nested
         16: Function TestRun exported
         3: Static fmt
         4: Static example.com/mod/api, itself as api
         5: Static example.com/mod/driver, itself as _
         16: a test",
    );
}

#[test]
fn a_java_file_has_types_and_members() {
    check(
        Language::Java,
        r#"package com.example;
import com.example.util.Strings;
import static com.example.util.Checks.notNull;
import java.util.*;
/** About. */
public final class Reader {
  private int size;
  public String read() { int local = 1; return ""; }
  @Test void reads() {}
}
interface Source {}
"#,
        "6: Class Reader exported
         7: Field size nested
         8: Method read exported nested
         9: Method reads nested
         11: Interface Source
         2: Static com.example.util, Strings
         3: Static com.example.util.Checks, notNull
         4: Static java.util, *
         9: a test
         5: a comment",
    );
}

#[test]
fn what_cannot_be_parsed_is_said_and_the_rest_is_read() {
    let text = "from .a import b\n\ndef good():\n    pass\n\nclass ((:\n\ndef later():\n    pass\n";
    let outline = parse(Language::Python, text);
    assert!(!outline.broken.is_empty());
    assert_eq!(outline.imports.len(), 1);
    assert!(outline.symbols.iter().any(|symbol| symbol.name == "good"));
}

#[test]
fn words_before_a_type_parameter_hide_nothing() {
    for (text, is_broken) in [
        ("interface A<in T, in out V> {}\nclass B<out T = U> {}\ntype C<in T> = T\n", false),
        ("interface A<in T {}\nclass B {}\n", true),
        ("const a b = 1\n", true),
    ] {
        assert_eq!(!parse(Language::TypeScript, text).broken.is_empty(), is_broken, "{text}");
    }
}

#[test]
fn a_text_that_is_too_large_is_not_read() {
    let text = "x = 1\n".repeat(MAX_BYTES / 6 + 1);
    let outline = parse(Language::Python, &text);
    assert_eq!(outline.broken, [Span { start: 0, end: text.len() }]);
    assert!(outline.symbols.is_empty());
}

#[test]
fn deep_nesting_ends_and_is_said_to_be_unread() {
    for (language, open) in
        [(Language::Rust, "{"), (Language::Python, "("), (Language::JavaScript, "["), (Language::Go, "{")]
    {
        let text = format!("x = {}", open.repeat(20_000));
        assert!(!parse(language, &text).broken.is_empty(), "{language:?}");
    }
    let nested = format!("x = {}1{}\n", "(".repeat(3_000), ")".repeat(3_000));
    assert!(!parse(Language::Python, &nested).broken.is_empty());
}

fn check_parse(language: Language, text: &str) {
    let outline = parse(language, text);
    assert_eq!(outline, parse(language, text), "the same twice");
    let spans = outline
        .symbols
        .iter()
        .flat_map(|symbol| [symbol.span, symbol.name_span])
        .chain(outline.imports.iter().flat_map(|import| [import.span, import.module_span]))
        .chain(outline.imports.iter().flat_map(|import| import.names.iter().map(|name| name.span)))
        .chain(
            outline
                .comments
                .iter()
                .chain(&outline.strings)
                .chain(&outline.tests)
                .chain(&outline.broken)
                .copied(),
        );
    for span in spans {
        assert!(text.get(span.start..span.end).is_some(), "{span:?} is a part of the text");
    }
}

#[test]
fn strings_of_every_language_are_noted() {
    let cases = [
        (Language::Go, "package a\nvar b = \"x\" + `y`\n", vec!["\"x\"", "`y`"]),
        (Language::Java, "class A { String b = \"x\"; }\n", vec!["\"x\""]),
        (Language::JavaScript, "f('x', `y`);\n", vec!["'x'", "`y`"]),
        (Language::Php, "<?php f('x', \"y\", <<<A\nz\nA);\n", vec!["'x'", "\"y\"", "<<<A\nz\nA"]),
        (Language::Ruby, "f('x', \"y\", <<~A)\n  z\nA\n", vec!["'x'", "\"y\"", "\n  z\nA"]),
        (Language::Python, "f('x', \"\"\"y\"\"\")\n", vec!["'x'", "\"\"\"y\"\"\""]),
        (Language::Rust, "fn f() { g(\"x\"); h!(r\"y\", \"z\"); }\n", vec!["\"x\"", "r\"y\"", "\"z\""]),
    ];
    for (language, text, expected) in cases {
        let outline = parse(language, text);
        let found: Vec<&str> = outline.strings.iter().map(|span| span.of(text)).collect();
        for string in expected {
            assert!(found.contains(&string), "{string} in {found:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_have_an_outline(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        for language in ALL {
            check_parse(*language, &text);
        }
    }

    #[test]
    fn pieces_of_code_in_any_order_have_an_outline(pieces in proptest::collection::vec(piece(), 0..60)) {
        let text = pieces.concat();
        for language in ALL {
            check_parse(*language, &text);
        }
    }
}

fn piece() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "import ",
        "from ",
        "export ",
        "use ",
        "mod ",
        "{",
        "}",
        "(",
        ")",
        "'",
        "\"",
        "`",
        "${",
        "\n",
        "    ",
        "\t",
        "def f():",
        "class A",
        "fn f()",
        "func ",
        "type ",
        "*",
        " as ",
        ".",
        "::",
        ";",
        ",",
        "#[cfg(x)]",
        "/*",
        "*/",
        "//",
        "#",
        "é",
        "\u{0}",
        "=>",
        "<a>",
        "</a>",
        "if ",
        "try:",
        "=",
        "default ",
        "x",
        "1",
        "b\"",
        "r#\"",
        "\\",
    ])
}
