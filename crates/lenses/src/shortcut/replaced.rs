//! Setups of tests that put something else in the place of product code which tests call.

use serde::{Deserialize, Serialize};

use super::MOCKED;
use crate::contract::{Draft, DraftExt, Fact, Lookups};
use crate::imports::walked;
use crate::mentions::has_word;
use crate::pattern::Pattern;
use qa_contracts::v1::{ChangeKind, MentionKind, Side};
use qa_core::packet::Packet;

/// Names of files that run before all tests of JavaScript.
static SETUP: Pattern = Pattern::new(
    r"^(?:jest|vitest)[.-]?setup\b|^setup[.-]?(?:files?|jest|tests?|vitest)\b|^setup(?:Tests?|Jest|Vitest)\b|^test-?setup\b",
);
/// A mock of a module with a factory.
static MODULE: Pattern = Pattern::new(r#"\b(?:jest|vi)\.(?:mock|doMock)\(\s*["'`]([^"'`]+)["'`]\s*,"#);
/// A function of a module that something else takes the place of when the file is loaded.
static ASSIGNED: Pattern = Pattern::new(
    r"^([A-Za-z_][\w.]*)\.([a-z_]\w*)\s*=\s*(?:lambda\b|(?:\w+\.)?(?:Async|Magic)?Mock\(|[a-z_]\w*\s*$)",
);
/// A function of a module that a fixture replaces.
static PATCHED: Pattern = Pattern::new(r#"\b(?:setattr|patch)\(\s*["']([\w.]+)\.([a-z_]\w*)["']"#);
/// Maximum number of lines between a fixture's head and what it replaces.
const FIXTURE_LINES: usize = 8;
/// Maximum number of test files that are read for a replaced name.
const MOST_FILES: usize = 20;

/// Product code that a setup replaces; the draft says where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Replaced {
    /// Path of the module without its ending, from the root or from a directory of sources.
    module: String,
    /// Name of a function of it; none for all of the module.
    function: Option<String>,
}

/// Returns the product code that a setup replaces from now on.
pub(super) fn inspect(packet: &Packet<'_>) -> Vec<Fact> {
    let path = packet.path().to_text();
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", &path));
    if packet.file.kind == ChangeKind::Deleted {
        return Vec::new();
    }
    match name {
        "conftest.py" | "sitecustomize.py" | "usercustomize.py" => in_python(packet),
        _ if SETUP.is_match(name) => in_ecma(packet, directory),
        _ => Vec::new(),
    }
}

const SUMMARY: &str = "the code under test is replaced for all tests";

fn in_ecma(packet: &Packet<'_>, directory: &str) -> Vec<Fact> {
    let added: Vec<_> = packet.added().collect();
    let is_partial = ["requireActual", "importActual", "importOriginal"]
        .iter()
        .any(|word| added.iter().any(|line| line.text.contains(word)));
    let mut facts = Vec::new();
    for line in added.iter().filter(|_| !is_partial) {
        let Some(target) = MODULE.captures(line.text).and_then(|found| found.get(1)) else { continue };
        let Some(module) = own_module(directory, target.as_str())
            .filter(|_| !packet.removed().any(|line| line.text.contains(target.as_str())))
        else {
            continue;
        };
        let draft = Draft::on_line(MOCKED, packet, line, target.range(), SUMMARY);
        facts.push(Fact::new(&Replaced { module, function: None }, Some(draft)));
    }
    facts
}

/// Returns the path of a module of the repository that a setup names.
fn own_module(directory: &str, target: &str) -> Option<String> {
    let short = target.strip_prefix("@/").or_else(|| target.strip_prefix("~/"));
    if let Some(path) = short {
        return Some(path.to_owned());
    }
    if target.starts_with("src/") {
        return Some(target.to_owned());
    }
    if !target.starts_with('.') {
        return None;
    }
    let path = walked(directory, target)?;
    Some(
        path.rsplit_once('.')
            .filter(|(_, end)| !end.contains('/'))
            .map_or(path.clone(), |(stem, _)| stem.to_owned()),
    )
}

fn in_python(packet: &Packet<'_>) -> Vec<Fact> {
    let lines: Vec<_> = packet.added().collect();
    let mut facts = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let found = ASSIGNED.captures(line.text).or_else(|| {
            let before = &lines[at.saturating_sub(FIXTURE_LINES)..at];
            let is_automatic = before.iter().any(|line| line.text.contains("autouse=True"));
            PATCHED.captures(line.text).filter(|_| is_automatic)
        });
        let Some([module, function]) = found.as_ref().and_then(|found| Some([found.get(1)?, found.get(2)?]))
        else {
            continue;
        };
        let draft = Draft::on_line(MOCKED, packet, line, module.start()..function.end(), SUMMARY);
        let replaced = Replaced {
            module: module.as_str().replace('.', "/"),
            function: Some(function.as_str().to_owned()),
        };
        facts.push(Fact::new(&replaced, Some(draft)));
    }
    facts
}

/// Returns the drafts about code of the repository that tests call.
pub(super) fn drafts(facts: &[Fact], lookups: &dyn Lookups) -> Vec<Draft> {
    let replaced = facts.iter().filter_map(|fact| Some((fact.read::<Replaced>()?, fact.draft.as_ref()?)));
    let of_tests = replaced.filter(|(replaced, _)| match &replaced.function {
        Some(function) => calls_function(&replaced.module, function, lookups),
        None => has_test(&replaced.module, lookups),
    });
    of_tests.map(|(_, draft)| draft.clone()).collect()
}

/// Returns whether a test calls a function of a module of the product by the name of the module.
fn calls_function(module: &str, function: &str, lookups: &dyn Lookups) -> bool {
    let name = module.rsplit('/').next().unwrap_or(module);
    let is_own = ["", "src/", "lib/"].iter().any(|root| {
        lookups.is_present(Side::Head, &format!("{root}{module}.py"))
            || lookups.is_present(Side::Head, &format!("{root}{module}/__init__.py"))
    });
    if !is_own {
        return false;
    }
    let found = lookups.mentions(Side::Head, MentionKind::Python, &[function.to_owned()]);
    let call = format!("{name}.{function}(");
    let tests = found.paths.iter().filter(|path| {
        let file = path.rsplit('/').next().unwrap_or(path);
        file.starts_with("test_") || file.ends_with("_test.py")
    });
    let mut texts = tests.take(MOST_FILES).filter_map(|path| lookups.text(Side::Head, path));
    texts.any(|text| {
        text.contains(&call)
            || text.contains(&format!("import {function}")) && text.contains(&format!("{function}("))
    })
}

/// Returns whether a module of the repository has a test of its name, which gets the mock as well.
fn has_test(module: &str, lookups: &dyn Lookups) -> bool {
    let (folder, stem) = module.rsplit_once('/').unwrap_or(("", module));
    let folders = [folder.to_owned(), format!("src/{folder}"), format!("app/{folder}")];
    let is_own = folders.iter().any(|folder| {
        let files = lookups.files_in(Side::Head, folder.trim_end_matches('/'));
        files.iter().any(|file| file.split('.').next() == Some(stem))
    });
    if !is_own {
        return false;
    }
    let found = lookups.mentions(Side::Head, MentionKind::Ecma, &[stem.to_owned()]);
    let tests = found.paths.iter().filter(|path| {
        let file = path.rsplit('/').next().unwrap_or(path);
        let rest = file.strip_prefix(stem);
        rest.is_some_and(|rest| rest.starts_with(".test.") || rest.starts_with(".spec."))
    });
    let mut texts = tests.take(MOST_FILES).filter_map(|path| lookups.text(Side::Head, path));
    texts.any(|text| {
        let is_actual = ["Actual", "importOriginal", "unmock"].iter().any(|word| text.contains(word));
        !is_actual && has_word(MentionKind::Ecma, &text, stem)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for pattern in [&SETUP, &MODULE, &ASSIGNED, &PATCHED] {
            pattern.check();
        }
    }

    #[test]
    fn setups_are_told_by_their_names() {
        for (name, expected) in [
            ("jest.setup.ts", true),
            ("setupTests.js", true),
            ("vitest-setup.ts", true),
            ("setup-tests.ts", true),
            ("setup.ts", false),
            ("cart.test.ts", false),
        ] {
            assert_eq!(SETUP.is_match(name), expected, "{name}");
        }
    }

    #[test]
    fn modules_of_the_repository_are_found_from_a_setup() {
        for (directory, target, expected) in [
            ("", "./src/total", Some("src/total")),
            ("test", "../src/total.ts", Some("src/total")),
            ("test", "@/total", Some("total")),
            ("", "next/router", None),
        ] {
            assert_eq!(own_module(directory, target).as_deref(), expected, "{target}");
        }
    }
}
