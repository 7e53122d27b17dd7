//! A file as the units that run its commands: jobs, targets, scripts, hooks.

use super::commands::Step;
use super::files::Kind;
use super::later::Later;
use super::legs::Legs;
use super::triggers::Triggers;
use super::{github, nox, pipeline, recipes};
use qa_reading::documents::ReadError;

/// Most commands of a unit that are held against those behind them.
const MAX_LATER: usize = 32;

/// The commands of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Source {
    pub(super) units: Vec<Unit>,
    pub(super) triggers: Triggers,
}

/// A job, a target, a script or a hook.
#[derive(Debug, Clone, Default)]
pub(super) struct Unit {
    pub(super) name: String,
    /// True if it runs only where something calls it.
    pub(super) is_called: bool,
    /// True if a call of all units of the file does not mean it.
    pub(super) is_left_out: bool,
    pub(super) steps: Vec<Step>,
    /// Systems that it runs on, and languages that it analyses.
    pub(super) legs: Legs,
}

impl Unit {
    /// Hands what each command does to those behind it on to them.
    fn hand_on(&mut self) {
        let mut so_far: Vec<Later> = Vec::new();
        for step in &mut self.steps {
            let is_check = !(step.checks.is_empty() && step.calls.is_empty());
            if is_check {
                step.earlier.clone_from(&so_far);
            }
            so_far.extend(step.later.iter().take(MAX_LATER.saturating_sub(so_far.len())).cloned());
        }
    }
}

impl Source {
    /// Reads a file.
    ///
    /// # Errors
    /// A text that the tool behind the file would refuse.
    pub(super) fn parse(kind: Kind, path: &str, text: &str) -> Result<Self, ReadError> {
        let mut source = match kind {
            Kind::Workflow => github::workflow(text),
            Kind::Action => github::action(text),
            Kind::Pipeline | Kind::Circle | Kind::HookList | Kind::Task => pipeline::parse(kind, text),
            Kind::Jenkins => Ok(recipes::jenkinsfile(text)),
            Kind::Hook | Kind::Script => Ok(recipes::script(path, text)),
            Kind::Make => Ok(recipes::makefile(text)),
            Kind::Just => Ok(recipes::justfile(text)),
            Kind::Package => recipes::package(text),
            Kind::Tox => recipes::tox(path, text),
            Kind::Nox => Ok(nox::sessions(text)),
        }?;
        source.units.iter_mut().for_each(Unit::hand_on);
        Ok(source)
    }

    /// Describes what the file runs and when, without the places; equal for texts that differ in spelling alone.
    pub(super) fn meaning(&self) -> Vec<String> {
        let mut meaning = self.triggers.meaning();
        for unit in &self.units {
            meaning.push(format!("{} {} {}", unit.name, unit.is_called, unit.is_left_out));
            meaning.push(unit.legs.meaning());
            for step in &unit.steps {
                let effects: Vec<_> = step.marks.iter().map(|mark| mark.effect).collect();
                let Step { text, checks, calls, directory, selection, .. } = step;
                let first: Vec<&str> = step.first_on_path.iter().map(|own| own.path.as_str()).collect();
                meaning.push(format!(
                    "{text} {checks:?} {calls:?} {effects:?} {directory} {selection:?} {first:?}"
                ));
            }
        }
        meaning
    }

    /// Returns the unit of a name, which is made where it is not there.
    pub(super) fn unit(&mut self, name: &str) -> &mut Unit {
        let position = self.units.iter().position(|unit| unit.name == name).unwrap_or_else(|| {
            self.units.push(Unit { name: name.to_owned(), ..Unit::default() });
            self.units.len() - 1
        });
        &mut self.units[position]
    }
}
