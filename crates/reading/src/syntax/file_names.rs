//! Names that the top of a test file imports or sets, and conditions under which a file of Go is built.

use super::Language;
use super::needs::{and, or};
use super::spelled::{FRAMEWORKS, Speller, parts};
use crate::tree::Node;

/// Modules of JavaScript whose default export makes a test.
const TEST_MODULES: &[&str] = &["ava", "node:test", "tap", "tape", "test", "uvu", "zora"];
/// Names of test modules of Python that an import of everything brings in.
const STARRED: &[&str] =
    &["SkipTest", "expectedFailure", "importorskip", "mark", "skip", "skipIf", "skipUnless", "xfail"];

impl<'t> Speller<'t> {
    /// Notes the names that a block imports or sets.
    pub(super) fn note_names(&mut self, block: Node<'_>) {
        for statement in block.named_children() {
            let inner = match statement.word() {
                "export_statement" => statement.field("declaration").unwrap_or(statement),
                _ => statement,
            };
            match inner.word() {
                "expression_statement" => {
                    parts(inner).into_iter().for_each(|node| self.note_assignment(node))
                }
                "assignment" => self.note_assignment(inner),
                "lexical_declaration" | "variable_declaration" => {
                    parts(inner).into_iter().for_each(|node| self.note_declarator(node));
                }
                "const_declaration" | "var_declaration" => {
                    parts(inner).into_iter().for_each(|node| self.note_constant(node));
                }
                "const_item" | "static_item" => self.note_constant(inner),
                "import_statement" if self.language == Language::Python => self.note_module(inner),
                "import_statement" => self.note_ecma_import(inner),
                "import_from_statement" => self.note_from_import(inner),
                "using_directive" => self.note_using(inner),
                _ => {}
            }
        }
    }

    /// Notes the parameters of Go that are tests.
    pub(super) fn note_parameters(&mut self) {
        if self.language != Language::Go {
            return;
        }
        let text = self.text;
        for (at, _) in text.match_indices("testing.") {
            let before = text[..at].trim_end_matches('*').trim_end();
            let start = before.rfind(|sign: char| !sign.is_alphanumeric() && sign != '_').map(|at| at + 1);
            let name = &before[start.unwrap_or_default()..];
            let is_test =
                ["T ", "T)", "T,", "B)", "TB", "F)"].iter().any(|kind| text[at + 8..].starts_with(kind));
            if is_test && !name.is_empty() {
                self.note_alias(name, "t".to_owned());
            }
        }
    }

    fn note_assignment(&mut self, node: Node<'_>) {
        let (Some(left), Some(right)) = (node.field("left"), node.field("right")) else {
            return;
        };
        let is_fixed = left.word() == "constant"
            || self.language == Language::Python
            || node.word() == "assignment_expression" && right.word() == "member_expression";
        if node.word().starts_with("assignment")
            && is_fixed
            && matches!(left.word(), "identifier" | "constant")
        {
            self.note_name(self.text_of(left), right);
        }
    }

    fn note_constant(&mut self, node: Node<'_>) {
        if let (Some(name), Some(value)) = (node.field("name"), node.field("value")) {
            self.note_name(self.text_of(name), value);
        }
    }

    fn note_declarator(&mut self, node: Node<'_>) {
        let (Some(name), Some(value)) = (node.field("name"), node.field("value")) else {
            return;
        };
        let required = self.required_module(value);
        match (name.word(), required) {
            ("identifier", Some(module)) => self.note_ecma_module(self.text_of(name), &module),
            ("identifier", None) => self.note_name(self.text_of(name), value),
            ("object_pattern", required) => {
                let object = match required {
                    Some(_) => String::new(),
                    None => self.path(value).unwrap_or_else(|| "?".to_owned()),
                };
                for member in parts(name) {
                    let (key, own) = match member.field("key").zip(member.field("value")) {
                        Some((key, own)) => (self.text_of(key), self.text_of(own)),
                        None => (self.text_of(member), self.text_of(member)),
                    };
                    let path = if object.is_empty() { key.to_owned() } else { format!("{object}.{key}") };
                    self.note_alias(own, path);
                }
            }
            _ => {}
        }
    }

    /// Returns the module that a call of `require` loads.
    fn required_module(&self, value: Node<'_>) -> Option<String> {
        let arguments = value.field("arguments").filter(|_| value.word() == "call_expression")?;
        let function = self.text_of(value.field("function")?);
        let module = self.string(parts(arguments).first().copied()?)?;
        (function == "require").then_some(module)
    }

    fn note_ecma_module(&mut self, name: &'t str, module: &str) {
        match TEST_MODULES.contains(&module) {
            true => self.note_alias(name, "test".to_owned()),
            // Words of a framework are known by themselves, wherever they come from.
            false if FRAMEWORKS.contains(&module) => {
                self.note_alias(name, String::new());
            }
            false => {}
        }
    }

    fn note_ecma_import(&mut self, node: Node<'_>) {
        let module = node.field("source").and_then(|source| self.string(source));
        let Some(module) = module else { return };
        for clause in parts(node).into_iter().filter(|part| part.word() == "import_clause").flat_map(parts) {
            match clause.word() {
                "identifier" => self.note_ecma_module(self.text_of(clause), &module),
                "namespace_import" => {
                    let name = parts(clause).last().map(|name| self.text_of(*name));
                    name.into_iter().for_each(|name| self.note_ecma_module(name, &module));
                }
                "named_imports" => {
                    for specifier in parts(clause) {
                        let alias = specifier.field("alias").map(|alias| self.text_of(alias));
                        let name = specifier.field("name").map(|name| self.text_of(name));
                        if let (Some(alias), Some(name)) = (alias, name) {
                            let name = if name == "default" { "test" } else { name };
                            self.note_alias(alias, name.to_owned());
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn note_module(&mut self, node: Node<'_>) {
        for import in parts(node).into_iter().filter(|part| part.word() == "aliased_import") {
            let alias = import.field("alias").map(|alias| self.text_of(alias));
            let name = import.field("name").map(|name| self.text_of(name).to_owned());
            if let (Some(alias), Some(name)) = (alias, name) {
                self.note_alias(alias, name);
            }
        }
    }

    fn note_from_import(&mut self, node: Node<'_>) {
        let Some(module) = node.field("module_name") else { return };
        let module = self.text_of(module);
        for name in parts(node).into_iter().skip(1) {
            match name.word() {
                "wildcard_import" if matches!(module, "pytest" | "unittest" | "unittest.case" | "nose") => {
                    for word in STARRED {
                        self.note_alias(word, format!("{module}.{word}"));
                    }
                }
                "aliased_import" => {
                    let alias = name.field("alias").map(|alias| self.text_of(alias));
                    let name = name.field("name").map(|name| self.text_of(name));
                    if let (Some(alias), Some(name)) = (alias, name) {
                        self.note_alias(alias, format!("{module}.{name}"));
                    }
                }
                "dotted_name" => {
                    self.note_alias(self.text_of(name), format!("{module}.{}", self.text_of(name)))
                }
                _ => {}
            }
        }
    }

    /// Notes a type of C# under another name.
    fn note_using(&mut self, node: Node<'_>) {
        let Some(alias) = node.field("name") else { return };
        let path = parts(node).into_iter().rfind(|part| *part != alias).and_then(|path| self.path(path));
        if let Some(path) = path {
            self.note_alias(self.text_of(alias), path);
        }
    }
}

/// Returns whether a build constraint of Go holds, as far as it is not about a platform; `None` for any other comment.
pub(super) fn constraint(comment: &str) -> Option<Option<bool>> {
    let text = comment.strip_prefix("//")?.trim_start();
    if let Some(expression) = comment.strip_prefix("//go:build").filter(|rest| rest.starts_with([' ', '\t']))
    {
        return Some(Constraint { rest: expression }.either());
    }
    let alternatives = text.strip_prefix("+build").filter(|rest| rest.starts_with([' ', '\t']))?;
    let alternatives = alternatives.split_whitespace().map(|all| {
        let terms = all.split(',').map(|term| Constraint { rest: term }.term());
        terms.reduce(and).flatten()
    });
    Some(alternatives.reduce(or).flatten())
}

/// Rest of a constraint that is evaluated from its beginning.
struct Constraint<'t> {
    rest: &'t str,
}

impl Constraint<'_> {
    fn takes(&mut self, sign: &str) -> bool {
        match self.rest.trim_start().strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn either(&mut self) -> Option<bool> {
        let mut value = self.both();
        while self.takes("||") {
            value = or(value, self.both());
        }
        value
    }

    fn both(&mut self) -> Option<bool> {
        let mut value = self.term();
        while self.takes("&&") {
            value = and(value, self.term());
        }
        value
    }

    /// A word that is no platform has to be given to a build, which by itself gives none.
    fn term(&mut self) -> Option<bool> {
        const PLATFORMS: &[&str] = &[
            "386",
            "aix",
            "amd64",
            "android",
            "arm",
            "arm64",
            "asan",
            "boringcrypto",
            "cgo",
            "darwin",
            "dragonfly",
            "freebsd",
            "gc",
            "gccgo",
            "illumos",
            "ios",
            "js",
            "linux",
            "loong64",
            "mips",
            "mips64",
            "mips64le",
            "mipsle",
            "msan",
            "netbsd",
            "openbsd",
            "plan9",
            "ppc64",
            "ppc64le",
            "race",
            "riscv64",
            "s390x",
            "solaris",
            "unix",
            "wasip1",
            "wasm",
            "windows",
        ];
        let mut negations = 0;
        while self.takes("!") {
            negations += 1;
        }
        let value = if self.takes("(") {
            let value = self.either();
            self.takes(")");
            value
        } else {
            let rest = self.rest.trim_start();
            let is_word = |sign: char| sign.is_alphanumeric() || "._".contains(sign);
            let word = &rest[..rest.find(|sign| !is_word(sign)).unwrap_or(rest.len())];
            self.rest = &rest[word.len()..];
            let is_platform =
                PLATFORMS.contains(&word) || word.starts_with("go1.") || word.starts_with("goexperiment.");
            (!is_platform).then_some(false)
        };
        if negations % 2 == 1 { value.map(|value| !value) } else { value }
    }
}

#[cfg(test)]
mod tests {
    use super::constraint;

    #[test]
    fn a_build_constraint_of_a_platform_excludes_nothing() {
        for (text, expected) in [
            ("//go:build ignore", Some(Some(false))),
            ("// +build never", Some(Some(false))),
            ("// +build never,linux", Some(Some(false))),
            ("// +build never linux", Some(None)),
            ("//go:build integration", Some(Some(false))),
            ("//go:build linux && (never)", Some(Some(false))),
            ("//go:build !(linux || !never)", Some(Some(false))),
            ("//go:build linux", Some(None)),
            ("//go:build !race", Some(None)),
            ("//go:build !integration", Some(Some(true))),
            ("//go:build go1.20", Some(None)),
            ("// go:build never", None),
            ("// builds", None),
        ] {
            assert_eq!(constraint(text), expected, "{text}");
        }
    }
}
