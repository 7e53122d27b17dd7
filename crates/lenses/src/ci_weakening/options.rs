//! Options by which a command does less than it seems to, or whose failure they hide.

use super::commands::{Effect, Spelled};
use super::later::effect_of_option;
use super::names::names_of_checks;

/// Options that make a tool succeed whatever it finds.
const SOFT_OPTIONS: &[&str] =
    &["--exit-zero", "--no-verify", "--pass-with-no-tests", "--passWithNoTests", "--exit-code=0"];
/// Options that leave out tests, or their run.
const PARTIAL_OPTIONS: &[&str] = &[
    "--co",
    "--collect-only",
    "--help",
    "--ignored",
    "--list",
    "--list-tests",
    "--listTests",
    "--no-run",
    "--version",
    "-DskipTests",
    "-Dmaven.test.failure.ignore",
    "-Dmaven.test.skip",
];

/// Properties by which MSBuild checks less, with the values that do so.
const PROPERTIES: &[&str] = &[
    "CollectCoverage=false",
    "EnableNETAnalyzers=false",
    "NuGetAudit=false",
    "RunAnalyzers=false",
    "RunAnalyzersDuringBuild=false",
    "Threshold=0",
    "TreatWarningsAsErrors=false",
];
/// Options of MSBuild that set a property.
const PROPERTY_OPTIONS: &[&str] = &["-p:", "/p:", "--property:", "-property:", "/property:"];

/// Returns whether a word sets a property of MSBuild by which it checks less.
fn is_lax_property(word: &str) -> bool {
    let mut options = PROPERTY_OPTIONS.iter().filter_map(|option| word.strip_prefix(option));
    options.any(|property| PROPERTIES.iter().any(|known| known.eq_ignore_ascii_case(property)))
}

/// Returns what an option does to the command it belongs to.
pub(super) fn softens(words: &[Spelled], position: usize) -> Option<Effect> {
    let word = words[position].text.as_str();
    if SOFT_OPTIONS.contains(&word) {
        return Some(Effect::Ignored);
    }
    if is_lax_property(word) {
        return Some(Effect::Partial);
    }
    let name = word.strip_suffix("=true").unwrap_or(word);
    if name == "--version" && chooses_version(words, position) {
        return None;
    }
    if PARTIAL_OPTIONS.contains(&name) {
        return Some(Effect::Partial);
    }
    let program = words.first().map(|first| first.text.rsplit('/').next().unwrap_or_default());
    // Behind `python -m`, `uv run` and the like stands the program that has the options.
    let mut before = words[..position].iter().map(|word| word.text.as_str());
    let tool = if before.any(|word| word == "tox") { Some("tox") } else { program };
    let is_set_apart = words[..position].iter().any(|word| word.text == "--");
    if let Some(effect) = tool.filter(|_| !is_set_apart).and_then(|tool| effect_of_option(tool, word)) {
        return Some(effect);
    }
    if word == "--if-present" {
        let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        // With many packages it leaves out those without such a script.
        let is_of_many =
            ["--recursive", "--workspaces", "-r", "-ws"].iter().any(|option| text.contains(option));
        return if is_of_many || names_of_checks(&text.join(" ")).is_empty() {
            None
        } else {
            Some(Effect::Partial)
        };
    }
    let is_gradle = words.first().is_some_and(|first| first.text.contains("gradle"));
    let before = position.checked_sub(1).map(|before| words[before].text.as_str());
    let is_excluded = before == Some("-x") && is_excluded_task(word);
    let excludes = word == "-x" && words.get(position + 1).is_some_and(|next| is_excluded_task(&next.text));
    if is_gradle && (is_excluded || excludes) { Some(Effect::Partial) } else { None }
}

/// Returns whether `--version` has a version behind it, in a command that checks nothing: it chooses what is installed.
fn chooses_version(words: &[Spelled], position: usize) -> bool {
    let Some(value) = words.get(position + 1) else { return false };
    let value = value.text.trim_start_matches(['<', '>', '=', '~', '^', '!', ' ', 'v']);
    let is_version = value.starts_with(|first: char| first.is_ascii_digit() || first == '$');
    let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    is_version && names_of_checks(&text.join(" ")).is_empty()
}

fn is_excluded_task(word: &str) -> bool {
    let task = word.rsplit(':').next().unwrap_or(word);
    ["test", "check", "lint"].iter().any(|start| task.starts_with(start))
}
