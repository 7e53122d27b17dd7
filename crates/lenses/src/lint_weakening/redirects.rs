//! Configuration that leads the tests to another module than the one that they name.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::REDIRECTED;
use super::in_force::{ancestors, joined};
use crate::changes::Change;
use crate::contract::{Draft, DraftExt, Fact, Lookups};
use crate::pattern::Pattern;
use qa_contracts::v1::{ChangedFile, FileClass, Side};
use qa_core::packet::Packet;
use qa_reading::documents::{Document, Format, Node};
use qa_reading::syntax::Span;

/// A map from names of modules to the files that stand for them.
struct Map {
    /// Name of the file; a `*` stands for any text.
    file: &'static str,
    format: Format,
    path: &'static [&'static str],
}

const MAPS: &[Map] = &[
    Map { file: "jest.config.*", format: Format::Ecma, path: &["moduleNameMapper"] },
    Map { file: "jest.config.json", format: Format::Json, path: &["moduleNameMapper"] },
    Map { file: "package.json", format: Format::Json, path: &["jest", "moduleNameMapper"] },
    Map { file: "package.json", format: Format::Json, path: &["imports"] },
    Map { file: "tsconfig*.json", format: Format::Json, path: &["compilerOptions", "paths"] },
    Map { file: "jsconfig*.json", format: Format::Json, path: &["compilerOptions", "paths"] },
    Map { file: "vite.config.*", format: Format::Ecma, path: &["resolve", "alias"] },
    Map { file: "vite.config.*", format: Format::Ecma, path: &["test", "alias"] },
    Map { file: "vitest.config.*", format: Format::Ecma, path: &["resolve", "alias"] },
    Map { file: "vitest.config.*", format: Format::Ecma, path: &["test", "alias"] },
    Map { file: "deno.json", format: Format::Json, path: &["imports"] },
];
/// Lists of directories in which Python looks for modules first.
const LISTS: &[Map] = &[
    Map {
        file: "pyproject.toml",
        format: Format::Toml,
        path: &["tool", "pytest", "ini_options", "pythonpath"],
    },
    Map { file: "pytest.ini", format: Format::Ini, path: &["pytest", "pythonpath"] },
    Map { file: "tox.ini", format: Format::Ini, path: &["pytest", "pythonpath"] },
    Map { file: "setup.cfg", format: Format::Ini, path: &["tool:pytest", "pythonpath"] },
];

/// Directories whose files stand in for others in tests.
const STANDS_IN: &[&str] = &[
    "__fixtures__",
    "__mocks__",
    "__tests__",
    "fake",
    "fakes",
    "fixtures",
    "mock",
    "mocks",
    "spec",
    "stub",
    "stubs",
    "test",
    "tests",
];
/// Directories of code that is shipped.
const SOURCES: &[&str] = &["", "src", "lib", "app"];
/// Signs that a name of a module has in a pattern, or before a path.
const SIGNS: &[char] = &['^', '$', '\\', '(', ')', '*', '?', '+', '|'];

/// Variables of a command by which Python or Node looks for modules.
static MODULE_PATH: Pattern =
    Pattern::new(r#"\b(?:PYTHONPATH|NODE_PATH)\b["']?\s*[:=]{1,2}\s*["']?([\w./:$(){}-]+)"#);

/// A directory in which a command looks for modules from now on; the draft says where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ModulePath {
    directory: String,
}

/// Returns whether a file maps names of modules, at the base or at head.
pub(super) fn maps(file: &ChangedFile) -> bool {
    let path = file.path.to_text();
    MAPS.iter().chain(LISTS).any(|map| map.is(&path))
}

/// Returns the directories that a file with commands newly looks for modules in.
pub(super) fn module_paths(packet: &Packet<'_>) -> Vec<Fact> {
    let name = packet.path().to_text();
    if packet.file.class != FileClass::Infra && !name.ends_with("tox.ini") && !name.ends_with("package.json")
    {
        return Vec::new();
    }
    let old: BTreeSet<String> = packet.removed().flat_map(|line| directories(line.text)).collect();
    let mut facts = Vec::new();
    for line in packet.added().filter(|line| line.text.contains("_PATH") || line.text.contains("PYTHONPATH"))
    {
        for directory in directories(line.text).into_iter().filter(|own| !old.contains(own)) {
            let span = line.text.len() - line.text.trim_start().len()..line.text.trim_end().len();
            let draft = Draft::on_line(REDIRECTED, packet, &line, span, SUMMARY);
            facts.push(Fact::new(&ModulePath { directory }, Some(draft)));
        }
    }
    facts
}

const SUMMARY: &str = "tests load another module in place of the one under test";

fn directories(line: &str) -> Vec<String> {
    let found = MODULE_PATH.captures_all(line);
    let values = found.iter().filter_map(|found| found.get(1));
    let parts = values.flat_map(|value| value.as_str().split(':'));
    let parts = parts.map(|part| part.rsplit(['}', ')']).next().unwrap_or_default());
    parts
        .map(|part| part.trim_matches('/').trim_start_matches("./").to_owned())
        .filter(|part| !part.is_empty())
        .collect()
}

impl Map {
    fn is(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        match self.file.split_once('*') {
            Some((start, end)) => {
                name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
            }
            None => name == self.file,
        }
    }
}

/// A name that is mapped, with the texts of its target.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Target {
    paths: Vec<String>,
    span: Span,
}

/// Reports what changed configuration leads tests to.
pub(super) fn drafts(changes: &[Change], facts: &[Fact], lookups: &dyn Lookups) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = facts
        .iter()
        .filter_map(|fact| {
            let own: ModulePath = fact.read()?;
            hides_module(lookups, &own.directory).then(|| fact.draft.clone()).flatten()
        })
        .collect();
    for change in changes {
        let Some(path) = change.path(Side::Head) else { continue };
        for map in MAPS.iter().filter(|map| map.is(path)) {
            drafts.extend(mapped(map, change, path, lookups));
        }
        for map in LISTS.iter().filter(|map| map.is(path)) {
            drafts.extend(listed(map, change, path, lookups));
        }
    }
    drafts
}

fn mapped(map: &Map, change: &Change, path: &str, lookups: &dyn Lookups) -> Vec<Draft> {
    let head = read(map, lookups.text(Side::Head, path).as_deref());
    if head.is_empty() {
        return Vec::new();
    }
    let old = change.path(Side::Base).and_then(|path| lookups.text(Side::Base, path));
    let base = read(map, old.as_deref());
    let directory = path.rsplit_once('/').map(|(directory, _)| directory).unwrap_or_default();
    let new = head
        .iter()
        .filter(|(name, target)| base.get(*name).is_none_or(|before| before.paths != target.paths));
    let led = new.filter(|(name, target)| {
        let before = base.get(*name).map(|before| before.paths.as_slice()).unwrap_or_default();
        let mut gained = target.paths.iter().filter(|path| !before.contains(path));
        let is_own = is_own_name(name, base.keys().chain(head.keys()));
        gained.any(|to| leads_away(directory, name, before, is_own, to, lookups))
    });
    led.filter_map(|(_, target)| change.on_line(REDIRECTED, Side::Head, Some(target.span), SUMMARY, lookups))
        .collect()
}

/// Reads the mapped names of a configuration; none where it cannot be read.
fn read(map: &Map, text: Option<&str>) -> BTreeMap<String, Target> {
    let Some(text) = text else { return BTreeMap::new() };
    let Ok(document) = Document::parse(map.format, text) else { return BTreeMap::new() };
    let Some(section) = document.root().at(map.path) else { return BTreeMap::new() };
    let mut found = BTreeMap::new();
    for entry in section.entries() {
        found.insert(entry.key.to_owned(), target(entry.value));
    }
    // Vite also takes a list of `{ find, replacement }`.
    for item in section.items() {
        let (Some(find), Some(replacement)) = (item.get("find"), item.get("replacement")) else { continue };
        let name = find.text().unwrap_or_else(|| find.span().of(text).trim_matches('/'));
        found.insert(name.to_owned(), target(replacement));
    }
    found
}

fn target(value: Node<'_>) -> Target {
    let mut paths: Vec<String> = value.texts().into_iter().map(str::to_owned).collect();
    if let Ok(leaves) = value.leaves() {
        paths.extend(leaves.iter().filter_map(|leaf| leaf.value.text()).map(str::to_owned));
    }
    Target { paths, span: value.span() }
}

/// Returns whether a name of a module of the product leads to a file that stands in for it.
fn leads_away(
    directory: &str,
    name: &str,
    before: &[String],
    is_own: bool,
    to: &str,
    lookups: &dyn Lookups,
) -> bool {
    let to = own_path(directory, to);
    let stands_in = to.split('/').any(|part| STANDS_IN.contains(&part));
    let (folder, stem) = folder_and_stem(&to);
    let is_file = lookups.files_in(Side::Head, folder).iter().any(|file| stem_of(file) == stem);
    if !stands_in || !is_file || to.contains(['*', '$']) {
        return false;
    }
    let was_product = before.iter().any(|path| {
        let path = own_path(directory, path);
        !path.split('/').any(|part| STANDS_IN.contains(&part)) && is_module(lookups, &path)
    });
    was_product || is_own && is_of_product(directory, name, &to, lookups)
}

/// Returns whether a name is one of the repository's own modules, and not of a package with a scope: one that is relative
/// or short for a directory, or whose scope other names of the map share with a pattern.
fn is_own_name<'n>(name: &str, mut all: impl Iterator<Item = &'n String>) -> bool {
    let plain = name.trim_start_matches('^');
    let Some((scope, _)) =
        plain.split_once('/').filter(|(scope, _)| scope.len() > 1 && scope.starts_with('@'))
    else {
        return true;
    };
    all.any(|other| {
        let rest = other.trim_start_matches('^').strip_prefix(scope);
        rest.is_some_and(|rest| rest.starts_with("/*") || rest.starts_with("/("))
    })
}

/// Returns whether a mapped name is that of a module of the product.
fn is_of_product(directory: &str, name: &str, to: &str, lookups: &dyn Lookups) -> bool {
    let name = name.replace("\\.", ".").replace("\\/", "/").replace(SIGNS, "");
    let is_path = name.contains('/') || name.starts_with(['#', '~', '@', '.']);
    let path = name.trim_start_matches(['.', '/', '#', '~', '@']);
    if !is_path || path.is_empty() {
        return false;
    }
    let shorter = path.split_once('/').map(|(_, rest)| rest);
    let mut candidates = Vec::new();
    for base in ancestors(directory) {
        for source in SOURCES {
            let folder = joined(base, source);
            candidates.extend([Some(path), shorter].into_iter().flatten().map(|own| joined(&folder, own)));
        }
    }
    candidates.iter().any(|candidate| {
        let candidate = candidate.trim_start_matches('/');
        let (own, other) = (folder_and_stem(candidate), folder_and_stem(to));
        let is_test = candidate.split('/').any(|part| STANDS_IN.contains(&part));
        own != other && !is_test && is_module(lookups, candidate)
    })
}

/// Returns whether a path, with or without an ending, is a module of JavaScript or TypeScript.
fn is_module(lookups: &dyn Lookups, path: &str) -> bool {
    let (folder, stem) = folder_and_stem(path);
    lookups.files_in(Side::Head, folder).iter().any(|file| stem_of(file) == stem && is_code(file))
}

fn is_code(file: &str) -> bool {
    let ending = file.rsplit('.').next().unwrap_or_default();
    matches!(ending, "cjs" | "cts" | "js" | "jsx" | "mjs" | "mts" | "ts" | "tsx") && !file.contains(".d.")
}

fn own_path(directory: &str, path: &str) -> String {
    let path = path.trim_start_matches("<rootDir>").trim_start_matches('/');
    joined(directory, path.trim_start_matches("./"))
}

fn folder_and_stem(path: &str) -> (&str, &str) {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    (folder, stem_of(file))
}

fn stem_of(file: &str) -> &str {
    file.split('.').next().unwrap_or(file)
}

fn listed(map: &Map, change: &Change, path: &str, lookups: &dyn Lookups) -> Option<Draft> {
    let head = lookups.text(Side::Head, path)?;
    let document = Document::parse(map.format, &head).ok()?;
    let value = document.root().at(map.path)?;
    let directory = path.rsplit_once('/').map(|(directory, _)| directory).unwrap_or_default();
    let old = change.path(Side::Base).and_then(|path| lookups.text(Side::Base, path));
    let before = old.as_deref().map(|text| directories_of(map, text)).unwrap_or_default();
    let hiding = directories_of(map, &head).into_iter().find(|own| {
        !before.contains(own) && hides_module(lookups, joined(directory, own).trim_end_matches('/'))
    });
    hiding?;
    change.on_line(REDIRECTED, Side::Head, Some(value.span()), SUMMARY, lookups)
}

fn directories_of(map: &Map, text: &str) -> Vec<String> {
    let Ok(document) = Document::parse(map.format, text) else { return Vec::new() };
    let Some(value) = document.root().at(map.path) else { return Vec::new() };
    let words = match value.text() {
        Some(text) => text.split_whitespace().map(str::to_owned).collect(),
        None => value.texts().into_iter().map(str::to_owned).collect::<Vec<_>>(),
    };
    words.into_iter().map(|word| word.trim_start_matches("./").trim_end_matches('/').to_owned()).collect()
}

/// Returns whether a directory has a module of Python that goes before one of the product of the same name.
fn hides_module(lookups: &dyn Lookups, directory: &str) -> bool {
    const NO_MODULES: &[&str] = &["__init__", "__main__", "conftest", "setup"];
    if SOURCES.contains(&directory) {
        return false;
    }
    let roots = ["", "src", "lib"];
    let own = lookups.files_in(Side::Head, directory);
    let modules = own.iter().filter_map(|file| file.strip_suffix(".py"));
    modules.filter(|module| !NO_MODULES.contains(module) && !module.starts_with("test_")).any(|module| {
        roots.iter().any(|root| {
            lookups.is_present(Side::Head, joined(root, &format!("{module}.py")).as_str())
                || lookups.is_present(Side::Head, joined(root, &format!("{module}/__init__.py")).as_str())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        MODULE_PATH.check();
    }

    #[test]
    fn directories_of_modules_are_read_from_commands() {
        for (line, expected) in [
            ("\tPYTHONPATH=tests/fakes pytest tests", "tests/fakes"),
            ("  PYTHONPATH: ./tests/fakes", "tests/fakes"),
            ("export PYTHONPATH=\"src:tests/fakes\"", "src tests/fakes"),
            ("PYTHONPATH=$(pwd)/stubs:$PYTHONPATH", "stubs $PYTHONPATH"),
            ("echo PYTHONPATH", ""),
        ] {
            assert_eq!(directories(line).join(" "), expected, "{line}");
        }
    }
}
