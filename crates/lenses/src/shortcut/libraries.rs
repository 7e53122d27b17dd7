//! Libraries of assertions in the place of which a test loads a file of the repository that fails nothing.

use serde::{Deserialize, Serialize};

use super::WEAKENED;
use crate::contract::{Draft, DraftExt, Fact, Lookups};
use crate::imports::walked;
use crate::pattern::Pattern;
use qa_contracts::v1::{Scope, Side};
use qa_core::packet::Packet;

/// A library of assertions that a file loads: its name in the file, then its module.
static LIBRARY: Pattern = Pattern::new(concat!(
    r#"\b(assert|expect|should)\b[^=]*=\s*require\(\s*["'](?:node:)?(?:assert|assert/strict|chai|expect|expect\.js|should|power-assert|uvu/assert)["']\s*\)"#,
    r#"|\bimport\s+(?:\*\s+as\s+|\{\s*)?(assert|expect|should)\b[^"']*from\s+["'](?:node:)?(?:assert|assert/strict|chai|expect|vitest|@jest/globals|should|uvu/assert)["']"#,
    r#"|"github\.com/stretchr/testify/(assert|require)""#,
));
/// A file of the repository that is loaded by such a name.
static OWN: Pattern = Pattern::new(concat!(
    r#"\b(?:assert|expect|should)\b[^=]*=\s*require\(\s*["'](\.[^"']*)["']\s*\)"#,
    r#"|\bimport\s+(?:\*\s+as\s+|\{\s*)?(?:assert|expect|should)\b[^"']*from\s+["'](\.[^"']*)["']"#,
    r#"|"([\w./-]+/(?:assert|require))""#,
));
/// Words of a library that fails, or hands the call on to one that does.
static FAILS: Pattern = Pattern::new(
    r#"\b(?:throw|fail\w*|raise|reject|panic|Error\w*|Fatal\w*|FailNow)\b|["'](?:node:)?(?:@jest/globals|assert|chai|expect|power-assert|should|uvu|vitest)|testify/"#,
);
/// Ends of the name of a module.
const ENDINGS: &[&str] =
    &["", ".js", ".cjs", ".mjs", ".ts", ".tsx", ".jsx", "/index.js", "/index.ts", "/index.mjs"];

/// A file that takes the place of a library of assertions; the draft says where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OwnLibrary {
    /// Directory of the test.
    beside: String,
    /// Module as the test names it.
    library: String,
}

/// Returns the files by which a test replaces a library of assertions that it loaded.
pub(super) fn inspect(packet: &Packet<'_>) -> Vec<Fact> {
    if packet.file.scope != Scope::Test || packet.removed().all(|line| !LIBRARY.is_match(line.text)) {
        return Vec::new();
    }
    let path = packet.path().to_text();
    let beside = path.rsplit_once('/').map(|(directory, _)| directory).unwrap_or_default();
    let mut facts = Vec::new();
    for line in packet.added() {
        let found = OWN.captures(line.text).filter(|_| !LIBRARY.is_match(line.text));
        let Some(library) = found.as_ref().and_then(|found| found.first_group()) else { continue };
        let summary = "the library of assertions is replaced by one that fails nothing";
        let draft = Draft::on_line(WEAKENED, packet, &line, library.range(), summary);
        let own = OwnLibrary { beside: beside.to_owned(), library: library.as_str().to_owned() };
        facts.push(Fact::new(&own, Some(draft)));
    }
    facts
}

/// Returns the drafts about files in which nothing fails.
pub(super) fn drafts(facts: &[Fact], lookups: &dyn Lookups) -> Vec<Draft> {
    let own = facts.iter().filter_map(|fact| Some((fact.read::<OwnLibrary>()?, fact.draft.as_ref()?)));
    let idle = own.filter(|(library, _)| library.text(lookups).is_some_and(|text| !FAILS.is_match(&text)));
    idle.map(|(_, draft)| draft.clone()).collect()
}

impl OwnLibrary {
    /// Returns the text of the library at head; `None` where it is no file of the repository.
    fn text(&self, lookups: &dyn Lookups) -> Option<String> {
        if !self.library.starts_with('.') {
            return package_of_go(&self.library, lookups);
        }
        let path = walked(&self.beside, &self.library)?;
        let stem = path.strip_suffix(".js").unwrap_or(&path);
        let mut paths = [path.as_str(), stem]
            .into_iter()
            .flat_map(|path| ENDINGS.iter().map(move |ending| format!("{path}{ending}")));
        paths.find_map(|path| lookups.text(Side::Head, &path)).map(|text| text.to_string())
    }
}

/// Returns the texts of a package of the repository's own module.
fn package_of_go(import: &str, lookups: &dyn Lookups) -> Option<String> {
    let manifest = lookups.text(Side::Head, "go.mod")?;
    let module = manifest.lines().find_map(|line| line.trim().strip_prefix("module "))?.trim();
    let directory = import.strip_prefix(module)?.strip_prefix('/')?;
    let names = lookups.files_in(Side::Head, directory);
    let paths = names.iter().filter(|name| name.ends_with(".go")).map(|name| format!("{directory}/{name}"));
    let texts: Vec<String> =
        paths.filter_map(|path| Some(lookups.text(Side::Head, &path)?.to_string())).collect();
    let code: Vec<String> = texts.iter().map(|text| without_imports(text)).collect();
    (!texts.is_empty()).then(|| code.join("\n"))
}

/// Returns a text of Go without its imports, which say nothing of what its functions do.
fn without_imports(text: &str) -> String {
    let mut code = String::new();
    let mut is_inside = false;
    for line in text.lines() {
        let begins = line.trim_start().starts_with("import");
        if !begins && !is_inside {
            code.push_str(line);
            code.push('\n');
        }
        is_inside = !line.contains(')') && (is_inside || begins && line.contains('('));
    }
    code
}

#[cfg(test)]
mod tests {
    #[test]
    fn imports_are_no_code() {
        let text = "package a\n\nimport \"fmt\"\n\nimport (\n\t\"x/require\"\n)\n\nfunc Equal() {}\n";
        assert_eq!(super::without_imports(text), "package a\n\n\n\nfunc Equal() {}\n");
    }

    #[test]
    fn every_pattern_compiles() {
        for pattern in [&super::LIBRARY, &super::OWN, &super::FAILS] {
            pattern.check();
        }
    }
}
