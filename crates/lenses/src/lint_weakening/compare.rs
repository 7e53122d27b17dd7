//! Compares the settings in force at the base and at head: which of them make a tool look at less.

use std::collections::{BTreeMap, BTreeSet};

use super::settings::{Key, Located, Value};
use super::tool::{Aspect, Direction, Setting, Tool};
use crate::selection::{self, Selection};
use crate::successors;

/// A setting by which a tool looks at less than before.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Weakening {
    pub(super) aspect: Aspect,
    pub(super) direction: Direction,
    pub(super) key: Key,
    /// Name of the setting as the tool's documentation has it.
    pub(super) setting: String,
    pub(super) base: Option<Located>,
    pub(super) head: Option<Located>,
    /// Entries that were lost or gained.
    pub(super) entries: Vec<String>,
}

/// Settings in force for a part of the tree.
pub(super) type InForce = super::settings::Configuration;

/// Lists what is weaker at head, in the order of the tool's table.
pub(super) fn weakenings(tool: &Tool, base: &InForce, head: &InForce) -> Vec<Weakening> {
    let keys: BTreeSet<&Key> = base.values.keys().chain(head.values.keys()).collect();
    let mut found = Vec::new();
    for key in keys {
        let setting = &tool.settings[key.setting];
        let (old, new) = (base.values.get(key), head.values.get(key));
        let Some(mut entries) = weaker(setting, old, new) else { continue };
        if setting.paths.contains(&"issues exclude-rules") {
            let new_linters = new_linters(tool, base, head);
            entries.retain(|entry| !is_about(entry, &new_linters));
            if entries.is_empty() {
                continue;
            }
        }
        if key.names.iter().any(|name| may_be_tests(name)) && !entries.is_empty() {
            entries.retain(|entry| !IN_TESTS.contains(&entry.as_str()));
            if entries.is_empty() {
                continue;
            }
        }
        let is_implied = is_implied(tool, head, key) && new.is_none();
        // A setting that goes while others come from elsewhere may be among those.
        let may_be_elsewhere = new.is_none() && head.is_partly_unknown && gains_a_base(base, head);
        if !is_implied && !may_be_elsewhere {
            found.push(Weakening {
                aspect: setting.aspect,
                direction: setting.direction,
                key: key.clone(),
                setting: name(setting, key),
                base: old.cloned(),
                head: new.cloned(),
                entries,
            });
        }
    }
    found
}

/// Rules about what tests are made of: `assert`.
const IN_TESTS: &[&str] = &["S101"];

/// Returns whether a pattern of paths names tests.
fn may_be_tests(pattern: &str) -> bool {
    let mut parts = pattern.split(['/', '.']);
    parts.any(|part| {
        matches!(part, "test" | "testing" | "tests") || part.starts_with("test_") || part.ends_with("_test")
    })
}

/// Returns whether a configuration does nothing but relax what its tool checks without it.
pub(super) fn only_relaxes(tool: &Tool, base: &InForce) -> bool {
    let has_all = base.is_known && base.builds_on.is_empty() && !base.is_partly_unknown;
    has_all
        && !base.values.is_empty()
        && base.values.iter().all(|(key, located)| is_relaxing(tool, key, located))
        && weakenings(tool, base, &InForce::default()).is_empty()
}

/// Returns whether a value is known and belongs to a setting that has no entries unless it is set.
fn is_relaxing(tool: &Tool, key: &Key, located: &Located) -> bool {
    let has_defaults =
        matches!(tool.settings[key.setting].direction, Direction::ExcludesBeyond(_) | Direction::Options(_));
    located.value != Value::Unknown && !has_defaults
}

/// Returns the linters that head runs and the base did not: what is excluded from them was not looked at before.
fn new_linters(tool: &Tool, base: &InForce, head: &InForce) -> BTreeSet<String> {
    let [enabled, disabled] = ["linters enable", "linters disable"].map(|path| {
        [base, head].map(|side| entries(value_of(tool, side, path)).cloned().unwrap_or_default())
    });
    let gained = enabled[1].difference(&enabled[0]).filter(|linter| !runs_unasked(tool, base, linter));
    gained.chain(disabled[0].difference(&disabled[1])).cloned().collect()
}

/// Linters that golangci-lint runs unless it is told otherwise.
const STANDARD: &[&str] =
    &["errcheck", "gosimple", "govet", "ineffassign", "staticcheck", "typecheck", "unused"];

/// Returns whether a linter runs without being named, and is not left out.
fn runs_unasked(tool: &Tool, side: &InForce, linter: &str) -> bool {
    let is_disabled =
        entries(value_of(tool, side, "linters disable")).is_some_and(|all| all.contains(linter));
    let is_any =
        is_set(tool, side, "linters enable-all", "true") || is_set(tool, side, "linters default", "all");
    let is_none =
        is_set(tool, side, "linters disable-all", "true") || is_set(tool, side, "linters default", "none");
    !is_disabled && (is_any || STANDARD.contains(&linter) && !is_none)
}

fn is_set(tool: &Tool, side: &InForce, path: &str, word: &str) -> bool {
    value_of(tool, side, path).is_some_and(|value| is_word(value, word))
}

/// Returns the value of a setting that there is once.
fn value_of<'v>(tool: &Tool, side: &'v InForce, path: &str) -> Option<&'v Value> {
    let mut values = side.values.iter().filter(|(key, _)| tool.settings[key.setting].paths[0] == path);
    values.next().map(|(_, located)| &located.value)
}

/// Returns whether a rule of exclusion names linters, and none but some.
fn is_about(rule: &str, linters: &BTreeSet<String>) -> bool {
    let named = rule.lines().filter_map(|line| line.strip_prefix("linters."));
    let mut named = named.filter_map(|line| line.split_once(": ")).peekable();
    named.peek().is_some() && named.all(|(_, linter)| linters.contains(linter))
}

/// Returns whether head builds on something that the base did not build on.
fn gains_a_base(base: &InForce, head: &InForce) -> bool {
    !base.is_partly_unknown || head.builds_on != base.builds_on
}

fn name(setting: &Setting, key: &Key) -> String {
    let is_name = |segment: &&str| segment.contains('*') && *segment != "**" && !segment.starts_with('[');
    let spelling =
        setting.paths.iter().find(|path| path.split(' ').filter(is_name).count() == key.names.len());
    let mut names = key.names.iter();
    let mut words = Vec::new();
    for segment in spelling.unwrap_or(&setting.paths[0]).split(' ') {
        match segment {
            "**" | "#text" | "ItemGroup" | "PropertyGroup" => {}
            _ if segment.starts_with('[') => {}
            _ if segment.contains('*') => words.extend(names.next().map(String::as_str)),
            _ => words.push(segment),
        }
    }
    if words.is_empty() { "options".to_owned() } else { words.join(".") }
}

/// Returns whether an umbrella of head switches a setting on.
fn is_implied(tool: &Tool, head: &InForce, key: &Key) -> bool {
    let name = tool.settings[key.setting].paths[0];
    tool.umbrellas.iter().any(|umbrella| {
        let spread = tool.settings.iter().position(|setting| setting.paths[0] == umbrella.setting);
        let Some(position) = spread else { return false };
        let own = Key { setting: position, names: Vec::new(), part: key.part.clone() };
        let value = head.values.get(&own).map(|located| &located.value);
        umbrella.implies.contains(&name) && value.is_some_and(|value| is_word(value, umbrella.value))
    })
}

fn is_word(value: &Value, word: &str) -> bool {
    match value {
        Value::Flag(flag) => word == flag.to_string(),
        Value::Word(own) => word == own,
        Value::Level(_) | Value::Number(_) | Value::Entries(_) | Value::Options(_) | Value::Unknown => false,
    }
}

/// Severities of Roslyn as numbers.
const WARNING: f64 = 1.0;
const SILENT: f64 = 3.0;

/// Returns the entries by which a value is weaker, or none where it is not.
pub(super) fn weaker(setting: &Setting, old: Option<&Located>, new: Option<&Located>) -> Option<Vec<String>> {
    let (old, new) = (old.map(|located| &located.value), new.map(|located| &located.value));
    if old == new || matches!(old, Some(Value::Unknown)) || matches!(new, Some(Value::Unknown)) {
        return None;
    }
    let is_weaker = match setting.direction {
        Direction::On => is_true(old) && !is_true(new),
        Direction::OnByDefault => is_false(new) && !is_false(old),
        Direction::Off => is_true(new) && !is_true(old),
        Direction::Level => match (old, new) {
            (Some(Value::Level(old)), Some(Value::Level(new))) => new < old,
            (None, Some(Value::Level(new))) => *new == 0,
            (Some(Value::Level(old)), None) => *old > 0,
            _ => false,
        },
        Direction::Severity => match (old, new) {
            (Some(Value::Number(old)), Some(Value::Number(new))) => *old <= WARNING && new > old,
            (Some(Value::Number(old)), None) => *old <= WARNING,
            (None, Some(Value::Number(new))) => *new >= SILENT,
            _ => false,
        },
        Direction::StyleSeverity => match (old, new) {
            (Some(Value::Number(old)), Some(Value::Number(new))) => *old <= WARNING && new > old,
            (Some(Value::Number(old)), None) => *old <= WARNING,
            _ => false,
        },
        Direction::AtLeast => match (old, new) {
            (Some(Value::Number(old)), Some(Value::Number(new))) => new < old,
            (Some(Value::Number(old)), None) => *old > 0.0,
            _ => false,
        },
        Direction::AtMost => match (old, new) {
            (Some(Value::Number(old)), Some(Value::Number(new))) => new > old,
            (Some(Value::Number(_)), None) => true,
            _ => false,
        },
        Direction::Words(order) => match (rank(order, old), rank(order, new)) {
            (Some(old), Some(new)) => new > old,
            (Some(old), None) => old == 0,
            (None, Some(new)) => new + 1 == order.len(),
            (None, None) => false,
        },
        Direction::UpFromZero => match (old, new) {
            (Some(Value::Number(old)), Some(Value::Number(new))) => new > old,
            (None, Some(Value::Number(new))) => *new > 0.0,
            _ => false,
        },
        Direction::Includes => return lost_entries(entries(old), entries(new)),
        Direction::Excludes => return gained(entries(old), entries(new), &[]),
        Direction::ExcludesBeyond(usual) => return gained(entries(old), entries(new), usual),
        Direction::Only(usual) => return narrowed(entries(old), entries(new), usual),
        Direction::Options(_) => return narrowed_options(old, new),
    };
    if is_weaker { Some(Vec::new()) } else { None }
}

fn is_true(value: Option<&Value>) -> bool {
    matches!(value, Some(Value::Flag(true)))
}

fn is_false(value: Option<&Value>) -> bool {
    matches!(value, Some(Value::Flag(false)))
}

fn rank(order: &[&str], value: Option<&Value>) -> Option<usize> {
    match value {
        Some(Value::Word(word)) => order.iter().position(|known| known.eq_ignore_ascii_case(word)),
        _ => None,
    }
}

fn entries(value: Option<&Value>) -> Option<&BTreeSet<String>> {
    match value {
        Some(Value::Entries(entries)) => Some(entries),
        _ => None,
    }
}

/// Entries of a list of what is looked for that no entry of head stands for.
fn lost_entries(old: Option<&BTreeSet<String>>, new: Option<&BTreeSet<String>>) -> Option<Vec<String>> {
    let none = BTreeSet::new();
    let (old, new) = (old?, new.unwrap_or(&none));
    let mut lost = Vec::new();
    for entry in old {
        // A tool that was listed before does the work of another only as much as it did.
        let is_covered = new
            .iter()
            .any(|other| includes(other, entry) || !old.contains(other) && successors::covers(other, entry));
        if !is_covered && !successors::is_without_effect(entry) {
            lost.push(entry.clone());
        }
    }
    if lost.is_empty() { None } else { Some(lost) }
}

/// Entries of a list of what is left out that no entry of the base stands for.
fn gained(
    old: Option<&BTreeSet<String>>,
    new: Option<&BTreeSet<String>>,
    usual: &[&str],
) -> Option<Vec<String>> {
    let none = BTreeSet::new();
    let (old, new) = (old.unwrap_or(&none), new?);
    let (had, has) = (accepted(old), accepted(new));
    let gained: Vec<String> = new
        .iter()
        .filter(|entry| !usual.contains(&entry.as_str()) && !old.iter().any(|other| includes(other, entry)))
        .filter(|entry| accepted_in(entry).is_none_or(|(path, _)| has.get(path) > had.get(path)))
        .cloned()
        .collect();
    if gained.is_empty() { None } else { Some(gained) }
}

/// Returns how many failures the entries of a baseline accept in each file: one may be told in other words than before.
fn accepted(entries: &BTreeSet<String>) -> BTreeMap<&str, u64> {
    let mut all = BTreeMap::new();
    for (path, count) in entries.iter().filter_map(|entry| accepted_in(entry)) {
        *all.entry(path).or_default() += count;
    }
    all
}

/// Returns the file for which an entry of a baseline accepts some failures, with their number; `None` for one that accepts
/// any number.
fn accepted_in(entry: &str) -> Option<(&str, u64)> {
    let path = entry.lines().find_map(|line| line.strip_prefix("path: "))?;
    let count = entry.lines().find_map(|line| line.strip_prefix("count: "))?;
    Some((path, count.parse().ok()?))
}

/// Entries by which a list of what alone is looked at is narrower: those that it lost, or, where it was not set, those
/// that it has now; and those that it leaves out by a `!`.
fn narrowed(
    old: Option<&BTreeSet<String>>,
    new: Option<&BTreeSet<String>>,
    usual: &[&str],
) -> Option<Vec<String>> {
    let new = new.filter(|entries| !entries.is_empty())?;
    let usual: BTreeSet<String> = usual.iter().map(|entry| (*entry).to_owned()).collect();
    let was_set = old.filter(|entries| !entries.is_empty());
    let (left_out, looked_at): (Vec<&String>, Vec<&String>) =
        new.iter().partition(|entry| entry.starts_with('!'));
    let mut found: Vec<String> = left_out
        .into_iter()
        .filter(|entry| was_set.is_none_or(|old| !old.contains(*entry)))
        .cloned()
        .collect();
    let is_covered = |part: &String| looked_at.iter().any(|whole| selection::is_within(part, whole));
    let is_everything = |entry: &&String| selection::is_everything(entry);
    match was_set {
        None if usual.is_empty() && !looked_at.iter().any(is_everything) => {
            found.extend(looked_at.into_iter().cloned());
        }
        old => {
            let old = old.unwrap_or(&usual).iter();
            found.extend(old.filter(|entry| !entry.starts_with('!') && !is_covered(entry)).cloned());
        }
    }
    if found.is_empty() { None } else { Some(found) }
}

/// Words by which the options of a tool make it look at less.
fn narrowed_options(old: Option<&Value>, new: Option<&Value>) -> Option<Vec<String>> {
    let [old, new] = [old, new].map(|value| match value {
        Some(Value::Options(options)) => Some(options.as_ref()),
        Some(_) | None => None,
    });
    let none = Selection::of_options(old.or(new)?.tool(), &[]);
    let words = old.unwrap_or(&none).narrowed_by(new.unwrap_or(&none));
    if words.is_empty() { None } else { Some(words) }
}

/// Returns whether a code stands for another: `E` for `E501`, `ALL` for every code.
fn includes(general: &str, special: &str) -> bool {
    general == special
        || is_rule_code(general)
            && is_rule_code(special)
            && (general == "ALL" || special.starts_with(general))
}

/// Returns whether a text is a code of a rule, such as `E501`, or a prefix of codes.
fn is_rule_code(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}
