//! The imports of a text, found by its statements without a parse.

mod ecma;
mod java;
mod python;
mod rust;
mod tokens;

use super::Language;
use super::outline::{Import, ImportKind, ImportedName, Span};

/// Returns every import of a text that a parse would find, and perhaps more: what only looks like one, in a comment or
/// in a string over several lines. Where it stands is not looked into, but for the indentation of Python. Null where it
/// cannot be told: a language whose imports are no plain statements, an odd text, one that was made to be slow.
pub(crate) fn written_imports(language: Language, text: &str) -> Option<Vec<Import>> {
    match language {
        Language::Java => java::imports(text),
        Language::JavaScript | Language::Tsx | Language::TypeScript => ecma::imports(text),
        Language::Python => python::imports(text),
        Language::Rust => rust::imports(text),
        Language::C
        | Language::CSharp
        | Language::Cpp
        | Language::Go
        | Language::Kotlin
        | Language::Php
        | Language::Ruby => None,
    }
}

/// The bytes that may still be scanned in a text.
struct Budget(usize);

impl Budget {
    /// Scanned bytes per byte of the text, at most.
    const MOST_READINGS: usize = 8;
    const FREE_BYTES: usize = 1 << 16;

    fn new(text: &str) -> Self {
        Self(Self::FREE_BYTES + text.len() * Self::MOST_READINGS)
    }

    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.checked_sub(bytes)?;
        Some(())
    }
}

fn import(kind: ImportKind, text: &str, span: Span, module: Span) -> Import {
    Import {
        kind,
        module: module.of(text).to_owned(),
        module_span: module,
        names: Vec::new(),
        alias: None,
        star: false,
        type_only: false,
        erased: false,
        top_level: true,
        conditional: false,
        guarded: false,
        span,
    }
}

fn name(text: &str, span: Span) -> ImportedName {
    ImportedName { name: span.of(text).to_owned(), alias: None, span }
}

#[cfg(test)]
mod tests {
    use super::super::pieces::texts;
    use super::super::{ImportKind, Language, parse};
    use super::*;

    const ECMA: &[&str] = &[
        "import a from './a'",
        "import a, { b as c } from './a'",
        "import './b'",
        "export * from './c'",
        "export {\n  d,\n} from './d'",
        "f()",
        "f(`\n",
        "`)",
        "/*",
        "*/",
        "// '",
        ";",
        "\n",
        " ",
        "}",
        "{",
        "import {",
        "} from './e'",
        "export type { T } from './f'",
        "import type { U } from './u'",
        "import { type V, w } from './v'",
        "import g = require('./g')",
        "const h = 'import '",
        "k(...require('k'))",
        "do f(); while (0) ",
        "if (0) { require('l') } require('l')",
        "require('i')",
        "const j = import(`j`)",
        "export {",
        "import\n",
        "from",
        "\"",
        "'",
    ];
    const JAVA: &[&str] = &[
        "import a.b.C;",
        "import static a.b.C.d;",
        "import a.b.*;",
        "import\n a.E ;",
        "import a . F;",
        "import a./* b */G;",
        "package a.b;",
        "class H {",
        "}",
        "/*",
        "*/",
        "// import the rest",
        "// don't",
        "String i = \"import j.K;\";",
        "\"",
        ";",
        "import",
        " ",
        "static",
        "l.M",
        "void n() { o(); }",
    ];
    const PYTHON: &[&str] = &[
        "import a",
        "import a.b as c, d",
        "from . import e",
        "from ..f.g import (h,  # why\n    i as j,\n)",
        "from k import \\\n    l, \\\n    m",
        "from n import *",
        "f()",
        "\"\"\"",
        "(",
        ")",
        "#",
        "f(); import q",
        "if o: from p import r",
        "    import s; from t import (\n  u)",
        "    v = \\",
        "\tw()",
        "if o:",
        "try:",
        "except E: pass",
        "def p():",
        "from the start",
        "x = 1",
    ];

    const RUST: &[&str] = &[
        "use crate::a;",
        "pub use crate::b::{self, c as d, e::*};",
        "pub(crate) use crate::f::{\n  // g\n  h,\n};",
        "mod i;",
        "#[cfg(test)]\nmod j;",
        "pub mod k;",
        "mod l { use crate::m; }",
        "use std::n;",
        "fn o() {",
        "}",
        "macro_rules! p { () => {",
        "} }",
        "/*",
        "*/",
        "// pub",
        "use crate::q::r#r;",
        "mod r#s;",
        "use {crate::t, ::u::v};",
        "use crate::*;",
        "w!(",
        ")",
        ";",
        "use",
        "pub",
        "crate::x::",
        " ",
        "let y = \"use crate::z;\";",
        "use crate::{a, b::{c, d}}; use crate :: e as _;",
        "\"",
        "'",
    ];

    fn spans_of_names(import: &Import) -> impl Iterator<Item = Span> {
        import.names.iter().map(|name| name.span)
    }

    #[test]
    fn nothing_that_a_parse_finds_is_left_out() {
        // Any line of Python is a statement to the parser, whatever stands before it.
        let languages = [
            (Language::TypeScript, ECMA, 3),
            (Language::Java, JAVA, 2),
            (Language::Python, PYTHON, 1),
            (Language::Rust, RUST, 2),
        ];
        for (language, pieces, joined) in languages {
            let mut compared = 0;
            for text in texts(pieces, joined) {
                let outline = parse(language, &text);
                let matters =
                    |import: &&Import| language != Language::Python || import.kind != ImportKind::Call;
                let Some(written) = written_imports(language, &text) else { continue };
                for import in outline.imports.iter().filter(matters).filter(|_| outline.broken.is_empty()) {
                    compared += 1;
                    // The parser takes a wrong indentation for none.
                    let line = text[..import.span.start].rsplit('\n').next().unwrap();
                    let is_firm = import.top_level && !import.conditional && !import.guarded;
                    let is_firm = is_firm && !line.starts_with([' ', '\t']);
                    let is_found = written.iter().any(|found| {
                        (found.kind, &found.module, found.module_span, found.star)
                            == (import.kind, &import.module, import.module_span, import.star)
                            && spans_of_names(found).eq(spans_of_names(import))
                            && (found.top_level || !is_firm)
                            && (!found.type_only || import.type_only)
                    });
                    assert!(is_found, "{text}\n{import:?}\n{written:?}");
                }
            }
            assert!(compared > 1_000, "{compared}");
        }
    }
}
