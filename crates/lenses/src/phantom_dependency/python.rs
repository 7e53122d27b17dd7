//! Python: modules whose distribution has the same name, and what requirements name.

use super::super::contract::Lookups;
use super::super::imports::STANDARD_MODULES;
use super::Judgement;
use super::known::PYTHON;
use super::manifest::{above, is_near, nearly};

const MANIFESTS: &[&str] = &["Pipfile", "pyproject.toml", "setup.cfg", "setup.py"];

pub(super) fn judged(lookups: &dyn Lookups, path: &str, module: &str) -> Option<Judgement> {
    let top = module.split('.').next().filter(|top| !top.is_empty() && !top.starts_with('_'))?;
    if STANDARD_MODULES.binary_search(&top).is_ok() {
        return None;
    }
    let manifests = above(lookups, path, &|name| {
        MANIFESTS.contains(&name) || name.contains("requirements") && name.ends_with(".txt")
    });
    let lines = || manifests.iter().flat_map(|(_, lines)| lines);
    let names: Vec<String> = lines().flat_map(|line| words(line)).collect();
    let says = |line: &String| {
        line.contains("dependencies") || line.contains("install_requires") || line.contains("requires =")
    };
    let stated = manifests.iter().find(|(path, lines)| path.ends_with(".txt") || lines.iter().any(says));
    let (manifest, _) = stated?;
    // A distribution may be called after its module, with something before or behind.
    let own = normal(top);
    if names.iter().any(|name| name.contains(&own)) || is_near(lookups, path, top) {
        return None;
    }
    let is_known = PYTHON.binary_search(&top).is_ok();
    let known = PYTHON.iter().chain(STANDARD_MODULES).copied();
    let declared = names.iter().map(String::as_str).filter(|name| PYTHON.contains(name));
    let resembles = nearly(&own, declared).or_else(|| nearly(top, known)).filter(|_| !is_known);
    // Of other names it is not known which distribution has them.
    (is_known || resembles.is_some()).then(|| Judgement {
        package: top.to_owned(),
        manifest: manifest.clone(),
        resembles: resembles.map(str::to_owned),
    })
}

/// The words of a line that may be distributions, as they are compared.
fn words(line: &str) -> impl Iterator<Item = String> {
    line.split(|letter: char| !(letter.is_ascii_alphanumeric() || "-_.".contains(letter)))
        .filter(|word| word.len() > 1)
        .map(normal)
}

fn normal(name: &str) -> String {
    name.to_lowercase().replace(['-', '.'], "_")
}
