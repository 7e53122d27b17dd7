//! Legs of a matrix: the operating systems that a job runs on, and the languages that it analyses.

use std::collections::{BTreeMap, BTreeSet};

use qa_contracts::v1::Side;
use qa_reading::documents::{Leaf, Step};
use qa_reading::syntax::Span;
use qa_reading::workflow::{Job, Value};

use super::files::Kind;
use super::source::Unit;
use super::tree::Place;
use super::{ChangeSet, NARROWED_MATRIX, SOFTENED, commands};

/// Beginnings of the names of runners, with the name of the system.
const SYSTEMS: &[(&str, &str)] =
    &[("linux", "Linux"), ("mac", "macOS"), ("osx", "macOS"), ("ubuntu", "Linux"), ("windows", "Windows")];
/// Names of a matrix that stand for languages to analyse.
const LANGUAGES: &[&str] = &["language", "languages"];
/// Action that chooses the languages of an analysis.
const ANALYSIS: &str = "codeql-action/init";

/// The systems and languages of a job, with the places that name them.
#[derive(Debug, Clone, Default)]
pub(super) struct Legs {
    systems: BTreeMap<String, Span>,
    languages: BTreeMap<String, Span>,
    /// True if a part of them is computed.
    is_computed: bool,
}

impl Legs {
    /// Reads the legs of a job.
    pub(super) fn new(job: &Job<'_>) -> Self {
        let mut legs = Self::default();
        if let Some(runner) = job.runs_on
            && let Some(text) = runner.constant()
        {
            legs.note_system(&text, runner.span());
        }
        let matrix = job.strategy.and_then(|strategy| strategy.get("matrix"));
        for leaf in matrix.and_then(|matrix| matrix.node().leaves().ok()).unwrap_or_default() {
            legs.note_leaf(&leaf);
        }
        for step in &job.steps {
            let uses = step.uses.and_then(Value::constant).unwrap_or_default();
            let Some(input) = step.input("languages").filter(|_| uses.contains(ANALYSIS)) else { continue };
            let list = input.constant().unwrap_or_default();
            for name in list.split([',', ' ']).filter(|name| !name.is_empty()) {
                legs.languages.entry(name.to_owned()).or_insert(input.span());
            }
        }
        legs
    }

    fn note_system(&mut self, text: &str, span: Span) {
        if let Some(system) = system(text) {
            self.systems.entry(system).or_insert(span);
        }
    }

    /// Notes a value of a matrix.
    fn note_leaf(&mut self, leaf: &Leaf<'_>) {
        let mut keys = leaf.path.iter().filter_map(|step| match step {
            Step::Key(key) => Some(*key),
            Step::Item(_) => None,
        });
        let first = keys.next();
        let last = keys.next_back().or(first).unwrap_or_default();
        let Some(text) = leaf.value.text().filter(|_| first != Some("exclude")) else { return };
        self.is_computed |= text.contains("${{");
        self.note_system(text, leaf.value.span());
        if LANGUAGES.contains(&last) {
            self.languages.entry(text.to_owned()).or_insert(leaf.value.span());
        }
    }

    /// Describes the legs without their places.
    pub(super) fn meaning(&self) -> String {
        format!("{:?} {:?} {}", self.systems.keys(), self.languages.keys(), self.is_computed)
    }

    /// Returns the legs that head no longer has, where it has fewer of the kind and any, with their places.
    fn lost(&self, head: &Self) -> BTreeMap<String, Span> {
        let mut lost = BTreeMap::new();
        for (old, new) in [(&self.systems, &head.systems), (&self.languages, &head.languages)] {
            if new.len() < old.len() && !new.is_empty() {
                let gone = old.iter().filter(|(name, _)| !new.contains_key(*name));
                lost.extend(gone.map(|(name, span)| (name.clone(), *span)));
            }
        }
        lost
    }

    fn has(&self, name: &str) -> bool {
        self.systems.contains_key(name) || self.languages.contains_key(name)
    }
}

/// Returns the operating system that the name of a runner begins with.
fn system(name: &str) -> Option<String> {
    let name = name.to_lowercase();
    let known = SYSTEMS.iter().find(|(start, _)| name.starts_with(start));
    known.map(|(_, system)| (*system).to_owned())
}

/// Returns whether a command checks something, or may by what it calls.
fn is_check(step: &commands::Step) -> bool {
    !step.checks.is_empty() || !step.calls.is_empty()
}

impl ChangeSet<'_> {
    /// Reports jobs with checks that run on fewer systems, or analyse fewer languages, and no new job of the file does.
    pub(super) fn legs(&mut self) {
        for change in self.changes {
            let (Some(old_path), Some(path)) = (change.path(Side::Base), change.path(Side::Head)) else {
                continue;
            };
            if !Kind::is_workflow(path) {
                continue;
            }
            let (Some(old), Some(new)) = (self.base.source(old_path), self.head.source(path)) else {
                continue;
            };
            let old_names: BTreeSet<&str> = old.units.iter().map(|unit| unit.name.as_str()).collect();
            let mut by_name: BTreeMap<&str, &Unit> = BTreeMap::new();
            for unit in &new.units {
                by_name.entry(&unit.name).or_insert(unit);
            }
            let added: Vec<&Unit> =
                new.units.iter().filter(|unit| !old_names.contains(unit.name.as_str())).collect();
            for unit in &old.units {
                let Some(head) = by_name.get(unit.name.as_str()) else { continue };
                if head.legs.is_computed || unit.legs.is_computed || !unit.steps.iter().any(is_check) {
                    continue;
                }
                let mut lost = unit.legs.lost(&head.legs);
                lost.retain(|name, _| !added.iter().any(|other| other.legs.has(name)));
                let names: Vec<String> = lost.keys().cloned().collect();
                if let Some(span) = lost.into_values().next() {
                    let place = Place { path: old_path.into(), span };
                    let place = std::iter::once(&place);
                    self.add_with(SOFTENED, Side::Base, place, NARROWED_MATRIX, &names);
                }
            }
        }
    }
}
