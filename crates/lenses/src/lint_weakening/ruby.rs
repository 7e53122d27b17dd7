//! Settings of SimpleCov and RSpec, which stand in code, compared over all files that set up tests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{COVERAGE, LINTED, TESTS, THRESHOLD};
use crate::changes::Change;
use crate::contract::{Draft, Fact, Lookups};
use crate::pattern::Pattern;
use qa_contracts::v1::{ChangedFile, MentionKind, Scope, Side};
use qa_core::packet::Packet;
use qa_reading::syntax::Span;

/// Numbers that coverage has to reach, or by which it may sink.
static NUMBERS: Pattern = Pattern::new(
    r"(?m)^[^#\n]*?\b(minimum_coverage(?:_by_file)?|maximum_coverage_drop)\b[\s(]*((?::?(?:line|branch)\s*(?::|=>)\s*)?\d+(?:\.\d+)?(?:\s*,\s*(?::?(?:line|branch)\s*(?::|=>)\s*)?\d+(?:\.\d+)?)*)",
);
/// One of these numbers, with the name of what is measured.
static NUMBER: Pattern = Pattern::new(r"(?:\b(line|branch)\s*(?::|=>)\s*)?(\d+(?:\.\d+)?)");
/// A setting that leaves files out of coverage, with parts of their paths.
static FILTER: Pattern = Pattern::new(
    r#"(?m)^[^#\n]*?(\badd_filter[\s(]+(\[[^\]]*\]?|%w[\[({][^\])}]*|"[^"\n]*"?|'[^'\n]*'?|/[^\n]*|%[^"'\n]*))"#,
);
/// A text in a list of these parts.
static TEXT: Pattern = Pattern::new(r#"["'/]([^"'\n]+)["']?"#);
/// Parts of paths that hold no product code.
static BESIDE: Pattern = Pattern::new(
    r"(?i)(?:^|[/_.-])(?:bin|bundle|config|coverage|db|demo|docs?|examples?|features|gems|generated|generators|logs?|node_modules|rails|spec|support|tasks|templates|tests?|tmp|vendor|version)(?:$|[/_.-])",
);
/// A call by which SimpleCov begins to measure.
static STARTS: Pattern = Pattern::new(r"(?m)^[^#\n]*\bSimpleCov\.start\b");
/// A setting of RSpec by which examples with a tag do not run.
static EXCLUDED: Pattern =
    Pattern::new(r"(?m)^[ \t]*(\w+\.(?:filter_run_excluding\b|exclusion_filter(?:[ \t]*=|\[))[ \t]*\S.*)");
/// Conditions on what an example needs to run.
static NEEDS: Pattern =
    Pattern::new(r"\b(?:if|unless)\b.*(?:RUBY_\w+|Gem::Version|defined\?|ENV\b|[a-z]\w*\?)");

/// A changed file in which a Ruby project sets up its tests.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RubySetup {
    setup: Change,
}

/// Returns whether a Ruby project may set up its tests in a file, at the base or at head.
pub(super) fn may_configure(file: &ChangedFile) -> bool {
    let names = [Some(&file.path), file.old_path.as_ref()];
    names.into_iter().flatten().any(|path| {
        let name = String::from_utf8_lossy(path.file_name()).to_lowercase();
        let is_ruby = name.ends_with(".rb");
        name == ".simplecov"
            || name == "rakefile"
            || is_ruby && ["cov", "helper", "setup"].iter().any(|word| name.contains(word))
    })
}

/// Returns the fact about a changed file that sets up tests.
pub(super) fn setup(packet: &Packet<'_>) -> Fact {
    let scopes = [LINTED, &[Scope::Test]].concat();
    Fact::new(&RubySetup { setup: Change::new(packet, &scopes) }, None)
}

/// Returns what the changed files that set up tests weaken together: a setting that moves from one to another is the same.
pub(super) fn drafts(facts: &[Fact], lookups: &dyn Lookups) -> Vec<Draft> {
    let setups: Vec<RubySetup> = facts.iter().filter_map(Fact::read).collect();
    let [base, head] = [Side::Base, Side::Head].map(|side| Settings::read(&setups, side, lookups));
    let mut drafts = lowered(&base, &head, &setups, lookups);
    drafts.extend(left_out(&base, &head, &setups, lookups));
    drafts.extend(excluded(&base, &head, &setups, lookups));
    drafts
}

/// A setting and its place.
#[derive(Debug)]
struct Setting {
    /// Position of its file among the changed ones.
    file: usize,
    span: Span,
    /// Value as it is compared.
    value: String,
}

/// The settings of all changed files on one side.
#[derive(Debug, Default)]
struct Settings {
    /// Numbers by the name of the setting and of what it measures.
    numbers: BTreeMap<String, Vec<Setting>>,
    filters: Vec<Setting>,
    exclusions: Vec<Setting>,
    starts: bool,
}

impl Settings {
    fn read(setups: &[RubySetup], side: Side, lookups: &dyn Lookups) -> Self {
        let mut settings = Self::default();
        for (file, setup) in setups.iter().enumerate() {
            let text = setup.setup.path(side).and_then(|path| lookups.text(side, path));
            if let Some(text) = text {
                settings.add(file, &text);
            }
        }
        settings
    }

    fn add(&mut self, file: usize, text: &str) {
        self.starts |= STARTS.is_match(text);
        for groups in NUMBERS.captures_all(text) {
            let Some(list) = groups.get(2) else { continue };
            for number in NUMBER.captures_all(list.as_str()) {
                let measured = number.get(1).map_or("line", |group| group.as_str());
                let Some(digits) = number.get(2) else { continue };
                let start = list.start() + digits.start();
                let span = Span { start, end: start + digits.as_str().len() };
                let setting = Setting { file, span, value: digits.as_str().to_owned() };
                self.numbers.entry(format!("{} {measured}", &groups[1])).or_default().push(setting);
            }
        }
        for groups in FILTER.captures_all(text) {
            let (Some(call), Some(value)) = (groups.get(1), groups.get(2)) else { continue };
            let span = Span { start: call.start(), end: call.end() };
            let paths = paths_of(value.as_str()).into_iter();
            self.filters.extend(paths.map(|value| Setting { file, span, value }));
        }
        for groups in EXCLUDED.captures_all(text) {
            let Some(line) = groups.get(1).filter(|line| !NEEDS.is_match(line.as_str())) else { continue };
            let span = Span { start: line.start(), end: line.start() + line.as_str().trim_end().len() };
            self.exclusions.push(Setting { file, span, value: String::new() });
        }
    }
}

/// Returns the parts of paths in the argument of a filter.
fn paths_of(argument: &str) -> Vec<String> {
    if let Some(words) = argument.strip_prefix("%w") {
        let words = words.trim_start_matches(|open: char| !open.is_alphanumeric() && !"/._".contains(open));
        return words.split_whitespace().map(str::to_owned).collect();
    }
    if argument.starts_with('[') {
        return TEXT.captures_all(argument).iter().map(|text| text[1].to_owned()).collect();
    }
    let inner = argument.get(1..).unwrap_or_default().trim_end_matches(['"', '\'', ')', ' ']);
    if inner.is_empty() { Vec::new() } else { vec![inner.to_owned()] }
}

/// Returns the settings that one side has and the other one lacks, each as often as it is missing there.
fn beyond<'s>(own: &[&'s Setting], other: &[&Setting]) -> Vec<&'s Setting> {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for setting in other {
        *left.entry(setting.value.as_str()).or_default() += 1;
    }
    let mut beyond = Vec::new();
    for &setting in own {
        match left.get_mut(setting.value.as_str()) {
            Some(count) if *count > 0 => *count -= 1,
            Some(_) | None => beyond.push(setting),
        }
    }
    beyond
}

/// Settings of one name before a change and after it.
struct Replaced<'s> {
    before: &'s Setting,
    after: &'s Setting,
}

/// Settings of one name that change: those that another value replaces, and those that are gone.
struct Changed<'s> {
    replaced: Vec<Replaced<'s>>,
    gone: Vec<&'s Setting>,
}

impl<'s> Changed<'s> {
    /// Compares each file with itself first: an equal value in another file, which may never be loaded, does not stand for
    /// one that is replaced in its own. The weakest value of a file counts, whatever else stands in it: a later call
    /// overrides an earlier one, and a text may only look like a call.
    fn new(name: &str, base: &'s [Setting], head: &'s [Setting], files: usize) -> Self {
        let (mut replaced, mut gone, mut added) = (Vec::new(), Vec::new(), Vec::new());
        for file in 0..files {
            let [old, new] = [base, head].map(|side| side.iter().filter(move |one| one.file == file));
            let (old, new): (Vec<&Setting>, Vec<&Setting>) = (old.collect(), new.collect());
            if let (Some(before), Some(after)) = (weakest(name, &old), weakest(name, &new)) {
                replaced.push(Replaced { before, after });
                let lost = beyond(&old, &new).into_iter().skip(beyond(&new, &old).len());
                gone.extend(lost);
                continue;
            }
            gone.extend(old);
            added.extend(new);
        }
        // An equal value in another file is one that moved.
        let lost = beyond(&gone, &added);
        let mut others = beyond(&added, &gone).into_iter();
        let mut gone = Vec::new();
        for before in lost {
            match others.next() {
                Some(after) => replaced.push(Replaced { before, after }),
                None => gone.push(before),
            }
        }
        Self { replaced, gone }
    }
}

/// Reports numbers that ask for less than those of the same name before, or that are gone.
fn lowered(base: &Settings, head: &Settings, setups: &[RubySetup], lookups: &dyn Lookups) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (name, old) in &base.numbers {
        let new = head.numbers.get(name).map(Vec::as_slice).unwrap_or_default();
        let changed = Changed::new(name, old, new, setups.len());
        for Replaced { before, after } in changed.replaced {
            if is_lower(name, &before.value, &after.value) {
                let setup = &setups[after.file].setup;
                let summary = "quality threshold is lowered";
                let draft = setup.on_line(THRESHOLD, Side::Head, Some(after.span), summary, lookups);
                drafts.extend(draft.map(|draft| draft.with("before", before.value.clone())));
            }
        }
        for setting in changed.gone.into_iter().filter(|_| head.starts) {
            let setup = &setups[setting.file].setup;
            let summary = "quality threshold is removed";
            drafts.extend(setup.on_line(THRESHOLD, Side::Base, Some(setting.span), summary, lookups));
        }
    }
    drafts
}

/// Returns the number that asks for least.
fn weakest<'s>(name: &str, settings: &[&'s Setting]) -> Option<&'s Setting> {
    settings.iter().copied().reduce(|least, next| match is_lower(name, &least.value, &next.value) {
        true => next,
        false => least,
    })
}

/// Returns whether a number asks for less than another one of its name; one that cannot be read does not.
fn is_lower(name: &str, old: &str, new: &str) -> bool {
    let (Ok(old), Ok(new)) = (old.parse::<f64>(), new.parse::<f64>()) else { return false };
    if name.starts_with("maximum") { new > old } else { new < old }
}

/// Reports product files that are left out of coverage, unless nothing of the base measured any.
fn left_out(base: &Settings, head: &Settings, setups: &[RubySetup], lookups: &dyn Lookups) -> Vec<Draft> {
    let [old, new] = [base, head].map(|side| side.filters.iter().collect::<Vec<_>>());
    let new = beyond(&new, &old);
    let new: Vec<&Setting> = new.into_iter().filter(|filter| !BESIDE.is_match(&filter.value)).collect();
    // A project that begins to measure says what counts.
    if new.is_empty() || head.starts && !base.starts && !measures(lookups) {
        return Vec::new();
    }
    let drafts = new.into_iter().filter_map(|filter| {
        let setup = &setups[filter.file].setup;
        setup.on_line(COVERAGE, Side::Head, Some(filter.span), "code is left out of coverage", lookups)
    });
    let mut drafts: Vec<Draft> = drafts.collect();
    drafts.dedup_by(|next, previous| next.file == previous.file && next.start_line == previous.start_line);
    drafts
}

/// Returns whether any file of the base may start SimpleCov.
fn measures(lookups: &dyn Lookups) -> bool {
    let found = lookups.mentions(Side::Base, MentionKind::Ruby, &["SimpleCov".to_owned()]);
    let others = [".simplecov", "Rakefile"].map(|path| lookups.text(Side::Base, path));
    let has_others = others.into_iter().flatten().any(|text| text.contains("SimpleCov"));
    has_others || !found.paths.is_empty() || !found.complete
}

/// Reports tags by which examples no longer run, without a need that they have.
fn excluded(base: &Settings, head: &Settings, setups: &[RubySetup], lookups: &dyn Lookups) -> Vec<Draft> {
    let added = head.exclusions.len().saturating_sub(base.exclusions.len());
    let drafts = head.exclusions.iter().filter_map(|setting| {
        let setup = &setups[setting.file].setup;
        setup.on_line(TESTS, Side::Head, Some(setting.span), "examples with a tag no longer run", lookups)
    });
    drafts.take(added).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_pattern_compiles() {
        use super::{BESIDE, EXCLUDED, FILTER, NEEDS, NUMBER, NUMBERS, STARTS, TEXT};
        for pattern in [&NUMBERS, &NUMBER, &FILTER, &TEXT, &BESIDE, &STARTS, &EXCLUDED, &NEEDS] {
            pattern.check();
        }
    }

    #[test]
    fn every_spelling_of_a_filter_names_its_paths() {
        for (text, expected) in [
            ("add_filter \"/lib/a\"", vec!["/lib/a"]),
            ("add_filter %w", vec![]),
            ("add_filter %w[]", vec![]),
            ("add_filter('/lib/a')", vec!["/lib/a"]),
            ("add_filter(\n  \"/lib/a\"\n)", vec!["/lib/a"]),
            ("add_filter [\"/lib/a\", '/lib/b']", vec!["/lib/a", "/lib/b"]),
            ("add_filter %w[/lib/a /lib/b]", vec!["/lib/a", "/lib/b"]),
            ("SimpleCov.start { add_filter \"/lib/a\" }", vec!["/lib/a"]),
            ("# add_filter \"/lib/a\"", vec![]),
            ("add_filter \"\"", vec![]),
        ] {
            let mut settings = super::Settings::default();
            settings.add(0, text);
            let paths: Vec<&str> = settings.filters.iter().map(|filter| filter.value.as_str()).collect();
            assert_eq!(paths, expected, "{text}");
        }
    }
}
