//! Go: modules of import paths, and what a go.mod requires.

use super::super::contract::Lookups;
use super::Judgement;
use super::manifest::{above, is_below, nearly};
use qa_reading::go_mod;

pub(super) fn judged(lookups: &dyn Lookups, path: &str, import: &str) -> Option<Judgement> {
    let (host, _) = import.split_once('/')?;
    if !host.contains('.') {
        return None;
    }
    let manifests =
        above(lookups, path, &|name| matches!(name, "go.mod" | "go.work" | "WORKSPACE" | "MODULE.bazel"));
    // A workspace or another build may bring modules that this one does not require.
    if manifests.iter().any(|manifest| manifest.name() != "go.mod") {
        return None;
    }
    let manifest = manifests.first()?;
    let Ok(directives) = go_mod::directives(&manifest.text) else {
        lookups.stop_short();
        return None;
    };
    let words = directives.iter().flat_map(|directive| &directive.words).map(|word| word.text.as_str());
    let words: Vec<&str> = words.filter(|word| word.contains('.') && word.contains('/')).collect();
    let module = directives.iter().find(|directive| directive.verb == "module")?;
    let own = module.words.first()?.text.as_str();
    if is_below(import, own) || words.iter().any(|word| is_below(import, word)) {
        return None;
    }
    // A module's path is a prefix of the import; its own parts are what a slip can be in.
    let resembles = words.iter().find(|word| {
        let parts = word.split('/').count();
        let prefix: Vec<&str> = import.split('/').take(parts).collect();
        nearly(&prefix.join("/"), [**word]).is_some()
    });
    let resembles = resembles.map(|word| (*word).to_owned());
    Some(Judgement { package: import.to_owned(), manifest: manifest.path.clone(), resembles })
}
