//! Legs of a matrix: the operating systems that a job runs on, and the languages that it analyses.

use std::collections::{BTreeMap, BTreeSet};

use qa_contracts::v1::Side;
use qa_reading::syntax::Span;
use qa_reading::workflow::{Job, Value};

use super::files::Kind;
use super::tree::Place;
use super::{ChangeSet, SOFTENED};

/// Beginnings of the names of runners, with the name of the system.
const SYSTEMS: &[(&str, &str)] =
    &[("linux", "Linux"), ("mac", "macOS"), ("osx", "macOS"), ("ubuntu", "Linux"), ("windows", "Windows")];
/// Names of a matrix that stand for languages to analyse.
const LANGUAGES: &[&str] = &["language", "languages"];
/// Action that chooses the languages of an analysis.
const ANALYSIS: &str = "codeql-action/init";

/// The systems and languages of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Legs {
    systems: BTreeSet<String>,
    languages: BTreeSet<String>,
    /// Place of the matrix, or of what names the one system.
    pub(super) span: Span,
    /// True if a part of them is computed.
    is_computed: bool,
}

impl Legs {
    /// Reads the legs of a job, given the values of its matrix.
    pub(super) fn new(job: &Job<'_>, matrix: &BTreeMap<String, Vec<String>>) -> Self {
        let mut legs = Self::default();
        let strategy = job.strategy.and_then(|strategy| strategy.get("matrix"));
        if let Some(value) = strategy.or(job.runs_on) {
            legs.span = value.span();
            legs.is_computed |= strategy.is_some() && value.constant().is_none() && matrix.is_empty();
        }
        let runner = job.runs_on.and_then(Value::constant);
        legs.systems.extend(runner.as_deref().and_then(system));
        for (name, values) in matrix {
            legs.is_computed |= values.iter().any(|value| value.contains("${{"));
            legs.systems.extend(values.iter().filter_map(|value| system(value)));
            if LANGUAGES.contains(&name.as_str()) {
                legs.languages.extend(values.iter().cloned());
            }
        }
        for step in &job.steps {
            let uses = step.uses.and_then(Value::constant).unwrap_or_default();
            let Some(input) = step.input("languages").filter(|_| uses.contains(ANALYSIS)) else { continue };
            let Some(list) = input.constant() else { continue };
            legs.languages.extend(list.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned));
        }
        legs
    }

    /// Describes the legs without their places.
    pub(super) fn meaning(&self) -> String {
        format!("{:?} {:?} {}", self.systems, self.languages, self.is_computed)
    }

    /// Returns the legs that head no longer has, where it has others of the kind.
    fn lost(&self, head: &Self) -> Vec<String> {
        let mut lost = Vec::new();
        for (old, new) in [(&self.systems, &head.systems), (&self.languages, &head.languages)] {
            // A job that came to run on one system after another is not compared.
            if new.len() < old.len() && !new.is_empty() {
                lost.extend(old.difference(new).cloned());
            }
        }
        lost
    }
}

/// Returns the operating system that the name of a runner begins with.
fn system(name: &str) -> Option<String> {
    let name = name.to_lowercase();
    let known = SYSTEMS.iter().find(|(start, _)| name.starts_with(start));
    known.map(|(_, system)| (*system).to_owned())
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
            for unit in &old.units {
                let is_check =
                    |step: &super::commands::Step| !step.checks.is_empty() || !step.calls.is_empty();
                let Some(head) = new.units.iter().find(|head| head.name == unit.name) else { continue };
                if head.legs.is_computed || unit.legs.is_computed || !unit.steps.iter().any(is_check) {
                    continue;
                }
                let mut lost = unit.legs.lost(&head.legs);
                for other in &new.units {
                    if !old.units.iter().any(|known| known.name == other.name) {
                        let legs = &other.legs;
                        lost.retain(|name| !legs.systems.contains(name) && !legs.languages.contains(name));
                    }
                }
                if !lost.is_empty() {
                    let place = Place { path: path.into(), span: head.legs.span };
                    let summary = "CI check runs on fewer systems or languages than before";
                    self.add_with(SOFTENED, Side::Head, std::iter::once(&place), summary, &lost);
                }
            }
        }
    }
}
