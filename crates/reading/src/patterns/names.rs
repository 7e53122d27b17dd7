//! Resolves names through the imports of their file: `l(x)` below `from yaml import load as l` is `yaml.load(x)`.

use std::collections::{BTreeMap, BTreeSet};

use super::Code;
use super::assignments::{Assignments, Scope, defines, is_pattern};
use super::grammar::Grammar;
use super::shape::{Callee, LONGEST_CHAIN, Node, Shape};
use crate::syntax::Span;
use crate::tree::Node as Parsed;

/// Names that a file binds.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    /// Dotted names of other modules, by the name here.
    imports: BTreeMap<String, String>,
    /// Names that the file defines.
    locals: BTreeSet<String>,
    /// Names and members that the file sets.
    pub(super) assignments: Assignments,
    /// Modules that are imported, each with its statement.
    pub(super) modules: Vec<ImportedModule>,
}

/// An imported module, with its statement.
#[derive(Debug)]
pub(super) struct ImportedModule {
    pub(super) name: String,
    pub(super) span: Span,
}

/// A variable that is another name of an imported one.
struct Alias {
    name: String,
    path: String,
}

/// A dotted name, as far as the file says what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Resolved {
    /// Starts at a module that the file imports.
    Imported(String),
    /// Starts at a name that the file does not bind: one of the language, or of a module imported as a whole.
    Unbound(String),
}

impl Bindings {
    /// Returns the last part of what a name was imported as, if that is another name.
    pub(super) fn original(&self, name: &str) -> Option<&str> {
        let path = self.imports.get(name)?;
        path.rsplit(['.', '/']).next()
    }

    pub(super) fn resolve(&self, grammar: Grammar, path: &str) -> Option<Resolved> {
        let root = path.split('.').next().unwrap_or(path);
        let rest = &path[root.len()..];
        let resolved = match self.imports.get(root) {
            Some(import) => Resolved::Imported(format!("{import}{rest}")),
            None if self.locals.contains(root) => return None,
            None => Resolved::Unbound(path.to_owned()),
        };
        let globals: &[&str] = match grammar {
            Grammar::JavaScript | Grammar::Tsx | Grammar::TypeScript => {
                &["window.", "globalThis.", "global.", "self."]
            }
            Grammar::Python => &["builtins.", "__builtins__."],
            Grammar::Ruby => &["Kernel."],
            Grammar::Java => &["java.lang."],
            Grammar::Bash | Grammar::Go | Grammar::Php | Grammar::Plain(_) | Grammar::Rust => &[],
        };
        let (Resolved::Imported(path) | Resolved::Unbound(path)) = &resolved;
        let bare = globals.iter().find_map(|global| path.strip_prefix(global));
        match bare {
            Some(bare) => Some(Resolved::Unbound(bare.to_owned())),
            None => Some(resolved),
        }
    }
}

impl<'t> Code<'t> {
    /// Returns the dotted name that a node is, as it is written.
    pub(super) fn path(&self, node: Node<'t>) -> Option<String> {
        let mut names: Vec<String> = Vec::new();
        let mut next = Some(node);
        while let Some(node) = next.take().filter(|_| names.len() < LONGEST_CHAIN) {
            let shape = self.shape(node);
            if let Shape::Pair(name, value) = &shape
                && name.span == self.span(*value)
            {
                names.push(name.text.to_string());
                names.reverse();
                return Some(names.join("."));
            }
            if let Shape::Member(object, name) = shape {
                names.push(name.text.into_owned());
                next = Some(object);
            } else if let Shape::Other("await_expression", _, children) = shape {
                next = children.first().copied();
            } else {
                names.push(self.root_name(shape)?);
                names.reverse();
                return Some(names.join("."));
            }
        }
        None
    }

    /// Returns what a dotted name begins with: a name, or a module that a call loads. That is known by its own name, and
    /// `require` is not part of it.
    fn root_name(&self, shape: Shape<'t>) -> Option<String> {
        if let Shape::Name(name) = shape {
            return Some(name.into_owned());
        }
        let Shape::Call(callee, arguments) = shape else { return None };
        let name = self.callee_path(&callee)?;
        if !matches!(name.as_str(), "require" | "import" | "__import__" | "importlib.import_module") {
            return None;
        }
        let module = self.text_value(*arguments.first()?)?;
        Some(format!("\u{0}{}", module_name(self.parsed.grammar, &module)))
    }

    pub(super) fn callee_path(&self, callee: &Callee<'t>) -> Option<String> {
        match callee {
            Callee::Node(node) => self.path(*node),
            Callee::Method(None, name) => Some(name.text.to_string()),
            Callee::Method(Some(object), name) => Some(format!("{}.{}", self.path(*object)?, name.text)),
        }
    }

    /// Returns what a dotted name is by the file's imports, or `None` where the file itself defines its first part.
    pub(super) fn resolved(&self, path: &str) -> Option<Resolved> {
        match path.strip_prefix('\u{0}') {
            Some(module) => Some(Resolved::Imported(module.to_owned())),
            None => self.bindings().resolve(self.parsed.grammar, path),
        }
    }

    /// Collects the names that the file binds.
    pub(super) fn collect(&self) -> Bindings {
        let mut found =
            Found { code: self, bindings: Bindings::default(), aliases: Vec::new(), scope: Scope::FILE };
        if let Some(tree) = self.parsed.tree.parsed() {
            found.walk(tree);
        }
        let Found { mut bindings, aliases, .. } = found;
        bindings.assignments.resolve(self.parsed.grammar);
        for Alias { name, path } in aliases {
            let resolved = match path.strip_prefix('\u{0}') {
                Some(module) => Some(Resolved::Imported(module.to_owned())),
                None => bindings.resolve(self.parsed.grammar, &path),
            };
            match resolved {
                Some(Resolved::Imported(path)) => drop(bindings.imports.insert(name, path)),
                Some(Resolved::Unbound(path)) if !path.contains('.') && path != name => {
                    bindings.imports.insert(name, path);
                }
                Some(Resolved::Unbound(_)) | None => drop(bindings.locals.insert(name)),
            }
        }
        bindings
    }
}

/// Returns the name that patterns call a module by.
fn module_name(grammar: Grammar, module: &str) -> String {
    let is_ecma = grammar.family() == Grammar::JavaScript;
    module.strip_prefix("node:").filter(|_| is_ecma).unwrap_or(module).to_owned()
}

/// An ancestor of the current node.
#[derive(Debug, Clone, Copy)]
struct Level<'t> {
    /// Set where names are defined.
    defines: bool,
    kind: &'t str,
    /// Scope of the names inside.
    scope: Scope,
    /// Scope of the node's own name.
    outer: Scope,
}

impl Level<'_> {
    const FILE: Self = Self { defines: false, kind: "", scope: Scope::FILE, outer: Scope::FILE };
}

struct Found<'c, 't> {
    code: &'c Code<'t>,
    bindings: Bindings,
    /// Names that are set to a dotted name.
    aliases: Vec<Alias>,
    /// Scope of the names in the current node.
    scope: Scope,
}

impl<'t> Found<'_, 't> {
    fn text(&self, node: Parsed<'_>) -> &'t str {
        self.code.node_text(Node::Parsed(node))
    }

    /// Returns the text of a field of a node; empty where the node has none.
    fn field_text(&self, node: Parsed<'_>, field: &str) -> &'t str {
        node.field(field).map(|child| self.text(child)).unwrap_or_default()
    }

    fn import(&mut self, name: &str, path: String) {
        self.bindings.imports.insert(name.to_owned(), path);
        self.bindings.assignments.define(name, self.scope);
    }

    fn module(&mut self, module: &str, statement: Parsed<'_>) {
        let span = self.code.span(Node::Parsed(statement));
        self.bindings.modules.push(ImportedModule { name: module.to_owned(), span });
    }

    /// Visits every node once.
    fn walk(&mut self, tree: &'t crate::tree::Tree) {
        let mut cursor = tree.walk();
        let mut levels: Vec<Level<'t>> = Vec::new();
        loop {
            let node = cursor.node();
            let level = levels.last().copied().unwrap_or(Level::FILE);
            let Level { defines: within, kind: parent, .. } = level;
            let is_leaf = node.child_count() == 0;
            let is_sign = is_leaf && !node.is_named();
            let field = if is_sign { None } else { cursor.field_name() };
            // The name of a function or a class is known around it.
            self.scope = if field == Some("name") { level.outer } else { level.scope };
            let is_value = matches!(field, Some("value" | "right" | "type" | "body"));
            let is_key = field == Some("key") || field == Some("value") && parent == "pair";
            let is_value = is_value && parent != "pair_pattern";
            let defined =
                !is_sign && !is_value && (defines(parent, field) || within && is_pattern(parent) && !is_key);
            let descends = !is_leaf && self.visit(node);
            let is_name = is_leaf && !is_sign || node.word() == "variable_name";
            if is_name && defined {
                let name = self.text(node);
                self.bindings.locals.insert(name.to_owned());
                self.bindings.assignments.define(name, self.scope);
            }
            if descends && cursor.goto_first_child() {
                let inner = self.bindings.assignments.enter(self.code, node);
                levels.push(Level {
                    defines: defined,
                    kind: node.word(),
                    scope: inner.unwrap_or(self.scope),
                    outer: self.scope,
                });
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
                levels.pop();
            }
        }
    }

    /// Notes what a node imports; returns whether its children are to be visited.
    fn visit(&mut self, node: Parsed<'t>) -> bool {
        match node.word() {
            "import_statement" if self.code.parsed.grammar == Grammar::Python => self.python_import(node),
            "import_from_statement" => self.python_from(node),
            "import_statement" => self.ecma_import(node),
            "import_spec" => self.go_import(node),
            "use_declaration" => {
                if let Some(tree) = node.field("argument") {
                    self.rust_use(tree, String::new(), 0);
                }
            }
            "import_declaration" if self.code.parsed.grammar == Grammar::Java => self.java_import(node),
            "namespace_use_clause" => self.php_use(node),
            // Members of a class are not called by their bare name.
            "class_definition" | "class_declaration" => {
                if let Some(name) = node.field("name") {
                    self.bindings.locals.insert(self.text(name).to_owned());
                }
                return true;
            }
            "assignment" | "variable_declarator" | "assignment_expression" => {
                self.note_values(node);
                return !self.alias(node);
            }
            "assignment_pattern"
            | "assignment_statement"
            | "const_element"
            | "default_parameter"
            | "field_definition"
            | "object_assignment_pattern"
            | "operator_assignment"
            | "optional_parameter"
            | "property_element"
            | "property_promotion_parameter"
            | "public_field_definition"
            | "required_parameter"
            | "simple_parameter"
            | "static_variable_declaration"
            | "typed_default_parameter"
            | "const_spec"
            | "var_spec"
            | "short_var_declaration"
            | "const_item"
            | "static_item"
            | "let_declaration"
            | "augmented_assignment"
            | "augmented_assignment_expression"
            | "named_expression" => {
                self.note_values(node);
                return true;
            }
            // A name that is declared global or of an outer function may be set here.
            "global_statement" | "nonlocal_statement" => {
                for name in node.named_children() {
                    self.bindings.assignments.define(self.code.node_text(Node::Parsed(name)), Scope::FILE);
                }
                return true;
            }
            // Whoever has the address may set it.
            "unary_expression" | "reference_expression" if self.text(node).starts_with('&') => {
                let operand = self.code.unwrapped(Node::Parsed(node));
                self.bindings.assignments.set(self.code.node_text(operand), self.scope, None);
                return true;
            }
            _ => return true,
        }
        false
    }

    fn python_import(&mut self, node: Parsed<'t>) {
        for child in node.fields("name") {
            let (name, alias) = match child.word() {
                "aliased_import" => (child.field("name"), child.field("alias")),
                _ => (Some(child), None),
            };
            let Some(module) = name.map(|name| self.text(name)) else { continue };
            self.module(module, node);
            match alias {
                Some(alias) => self.import(self.text(alias), module.to_owned()),
                None => {
                    let first = module.split('.').next().unwrap_or(module);
                    self.import(first, first.to_owned());
                }
            }
        }
    }

    fn python_from(&mut self, node: Parsed<'t>) {
        let Some(module) = node.field("module_name").map(|module| self.text(module)) else {
            return;
        };
        self.module(module, node);
        for child in node.fields("name") {
            let (name, alias) = match child.word() {
                "aliased_import" => (child.field("name"), child.field("alias")),
                _ => (Some(child), None),
            };
            let Some(name) = name else { continue };
            self.import(self.text(alias.unwrap_or(name)), format!("{module}.{}", self.text(name)));
        }
    }

    fn ecma_import(&mut self, node: Parsed<'t>) {
        let clause = node.named_children().find(|child| child.word().ends_with("_clause"));
        let source = node.field("source");
        let source = source.or_else(|| clause.and_then(|clause| clause.field("source")));
        let Some(module) = source.and_then(|source| self.code.text_value(Node::Parsed(source))) else {
            return;
        };
        let module = module_name(self.code.parsed.grammar, &module);
        self.module(&module, node);
        let Some(clause) = clause else { return };
        for child in clause.named_children() {
            match child.word() {
                "identifier" => self.import(self.text(child), module.clone()),
                "namespace_import" => {
                    if let Some(name) = child.named_child(0) {
                        self.import(self.text(name), module.clone());
                    }
                }
                "named_imports" => self.named_imports(child, &module),
                _ => {}
            }
        }
    }

    fn named_imports(&mut self, list: Parsed<'t>, module: &str) {
        for specifier in list.named_children() {
            let Some(name) = specifier.field("name") else { continue };
            let alias = specifier.field("alias").unwrap_or(name);
            let path = match self.text(name) {
                "default" => module.to_owned(),
                name => format!("{module}.{name}"),
            };
            self.import(self.text(alias), path);
        }
    }

    fn go_import(&mut self, node: Parsed<'t>) {
        let path = node.field("path");
        let Some(path) = path.and_then(|path| self.code.text_value(Node::Parsed(path))) else { return };
        let name = match node.field("name") {
            Some(name) => self.text(name),
            None => go_package_name(&path),
        };
        self.import(name, path.clone());
    }

    fn rust_use(&mut self, tree: Parsed<'t>, prefix: String, depth: usize) {
        if depth > LONGEST_CHAIN {
            return;
        }
        match tree.word() {
            "scoped_use_list" => {
                if let Some(list) = tree.field("list") {
                    let prefix = joined_rust_path(&prefix, self.field_text(tree, "path"));
                    self.rust_use(list, prefix, depth + 1);
                }
            }
            "use_list" => {
                for child in tree.named_children() {
                    self.rust_use(child, prefix.clone(), depth + 1);
                }
            }
            "use_as_clause" => {
                let path = joined_rust_path(&prefix, self.field_text(tree, "path"));
                self.import(self.field_text(tree, "alias"), path);
            }
            "self" => {
                let last = prefix.rsplit('.').next().unwrap_or("").to_owned();
                self.import(&last, prefix);
            }
            "identifier" | "scoped_identifier" => {
                let path = joined_rust_path(&prefix, self.text(tree));
                let last = path.rsplit('.').next().unwrap_or("").to_owned();
                self.import(&last, path);
            }
            _ => {}
        }
    }

    fn java_import(&mut self, node: Parsed<'t>) {
        if node.named_children().any(|child| child.word() == "asterisk") {
            return;
        }
        let Some(path) = node.named_child(0).map(|path| self.text(path)) else { return };
        self.import(path.rsplit('.').next().unwrap_or(path), path.to_owned());
    }

    fn php_use(&mut self, node: Parsed<'t>) {
        let Some(path) = node.named_child(0).map(|path| self.text(path).replace('\\', ".")) else { return };
        let alias = node.field("alias").map(|alias| self.text(alias));
        let last = path.rsplit('.').next().unwrap_or("").to_owned();
        self.import(alias.unwrap_or(&last), path.trim_start_matches('.').to_owned());
    }

    fn note_values(&mut self, node: Parsed<'t>) {
        self.bindings.assignments.note(self.code, node, self.scope);
    }

    /// Notes a name that is set to a dotted name, or to the names of a module's members.
    fn alias(&mut self, node: Parsed<'t>) -> bool {
        let left = node.field("left").or_else(|| node.field("name"));
        let right = node.field("right").or_else(|| node.field("value"));
        let (Some(left), Some(right)) = (left, right) else { return false };
        let Some(path) = self.aliased(Node::Parsed(right)) else { return false };
        match left.word() {
            "identifier" => {
                let name = self.text(left).to_owned();
                // The walk does not come to the name; one that is set is counted as such.
                if node.word() != "assignment_expression" {
                    self.bindings.assignments.define(&name, self.scope);
                }
                self.aliases.push(Alias { name, path });
                true
            }
            "object_pattern" => {
                for child in left.named_children() {
                    let (key, name) = match child.word() {
                        "pair_pattern" => (child.field("key"), child.field("value")),
                        "object_assignment_pattern" => (child.field("left"), None),
                        _ => (Some(child), None),
                    };
                    let name = name.and_then(|name| name.field("left").or(Some(name)));
                    let Some(key) = key else { continue };
                    let name = self.text(name.unwrap_or(key)).to_owned();
                    self.bindings.assignments.define(&name, self.scope);
                    self.aliases.push(Alias { name, path: format!("{path}.{}", self.text(key)) });
                }
                true
            }
            _ => false,
        }
    }

    /// Returns the dotted name that a value is; `promisify(exec)` is as good as `exec`.
    fn aliased(&self, value: Node<'t>) -> Option<String> {
        if let Shape::Call(callee, arguments) = self.code.shape(value)
            && let Some(name) = self.code.callee_path(&callee)
            && name.rsplit('.').next() == Some("promisify")
        {
            return self.code.path(*arguments.first()?);
        }
        self.code.path(value)
    }
}

/// Returns the name of the package that an import path of Go has: its last part that is no version.
fn go_package_name(path: &str) -> &str {
    let last = path.rsplit('/').find(|part| !is_go_version(part)).unwrap_or(path);
    last.split_once(".v").map(|(name, _)| name).unwrap_or(last)
}

fn is_go_version(part: &str) -> bool {
    part.strip_prefix('v').is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Returns a path of Rust behind another, with dots.
fn joined_rust_path(before: &str, path: &str) -> String {
    let path = path.replace("::", ".");
    if before.is_empty() { path } else { format!("{before}.{path}") }
}
