//! The checks that CI and hooks run in one of the two trees, each as often as something calls it.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use qa_contracts::v1::Side;
use qa_reading::documents::ReadError;
use qa_reading::syntax::Span;

use super::calls::{Call, joined};
use super::commands::{Effect, Mark, Step};
use super::files::{DIRECTORIES, Kind, is_script_of_ci};
use super::forestalled;
use super::later::{Cause, Later};
use super::names::names_of_checks;
use super::source::{Source, Unit};
use super::triggers::Reach;
use crate::changes::Change;
use crate::contract::Lookups;
use crate::selection::Selection;

/// Deepest chain of calls that is followed.
const MAX_CALLS: usize = 16;
/// Most checks of one tree.
const MAX_CHECKS: usize = 20_000;

/// A place in a file of one tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) path: Rc<str>,
    pub(super) span: Span,
}

/// The job, target or script that a command belongs to; its file goes by its path at head.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct UnitKey {
    pub(super) file: Rc<str>,
    pub(super) name: String,
}

/// The program that runs a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Runner {
    Ci,
    Hook,
    /// Nobody as far as the repository tells: a list or a script by whose name people run it.
    Unknown,
}

/// The path of a file, with a job in it.
pub(super) type Job = (Rc<str>, Rc<str>);

/// A command that runs, with what softens it on the way.
#[derive(Debug, Clone)]
pub(super) struct Check {
    pub(super) unit: UnitKey,
    /// The job by which it runs: a unit of its root.
    job: Rc<str>,
    pub(super) text: String,
    /// Words that name what it checks; none where that is what it calls.
    pub(super) checks: BTreeSet<String>,
    /// True for a formatter that writes in a run that looks at no difference.
    pub(super) only_writes: bool,
    pub(super) marks: Vec<PlacedMark>,
    /// Its own place, then those of the calls that lead to it.
    pub(super) places: Vec<Place>,
    pub(super) runner: Runner,
    /// Path of the file by which it runs.
    pub(super) root: Rc<str>,
    /// Path of that file at head, or at the base where head has it no more.
    pub(super) pipeline: Rc<str>,
    pub(super) reach: Reach,
    pub(super) does_nothing: bool,
    pub(super) selection: Selection,
    pub(super) directory: String,
    /// True if it, or a call that leads to it, stands in a text that a script writes to a file or a pipe.
    pub(super) is_written: bool,
}

/// A mark with its file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PlacedMark {
    pub(super) effect: Effect,
    pub(super) place: Place,
}

impl Check {
    /// Returns the worst that the marks do to it; none where its failure counts.
    pub(super) fn effect(&self) -> Option<Effect> {
        self.marks.iter().map(|mark| mark.effect).max()
    }

    /// Returns whether its failure, or its run, is lost altogether.
    pub(super) fn is_lost(&self) -> bool {
        self.effect() > Some(Effect::Sometimes)
    }

    /// Returns whether it checks something.
    pub(super) fn is_check(&self) -> bool {
        !self.checks.is_empty() && !self.only_writes
    }

    /// Returns whether it checks something, in a run that begins with a file.
    pub(super) fn is_check_below(&self, root: &str) -> bool {
        *self.root == *root && self.is_check()
    }

    /// Returns whether a hook runs it and it does something.
    pub(super) fn is_run_by_hook(&self, hook: &str) -> bool {
        self.runner == Runner::Hook && *self.root == *hook && !self.does_nothing
    }

    /// Returns whether it may run in the same checkout as another one: in the same job, as far as that is known.
    pub(super) fn may_follow(&self, other: &Self) -> bool {
        let mut is_called = [self, other].into_iter().map(|check| check.unit.file != check.pipeline);
        self.root == other.root && (self.unit == other.unit || is_called.any(|is_called| is_called))
    }

    /// Returns the file by which it runs, with the job in it.
    pub(super) fn job(&self) -> Job {
        (Rc::clone(&self.root), Rc::clone(&self.job))
    }

    /// Returns the same job by the path of its file at head.
    pub(super) fn in_pipeline(&self) -> Job {
        (Rc::clone(&self.pipeline), Rc::clone(&self.job))
    }

    /// Returns whether it runs in the same job as another one, and does not lead to it.
    pub(super) fn is_with(&self, other: &Self) -> bool {
        let leads_to_it = self.places.first().is_some_and(|place| other.places.contains(place));
        self.root == other.root && self.job == other.job && !leads_to_it
    }

    pub(super) fn program(&self) -> &str {
        let mut words = self.text.split(' ');
        let first = words.next().unwrap_or_default();
        if first == "uses" { words.next().unwrap_or_default() } else { first }
    }
}

/// Merge base or head tree, with the checks found in it so far.
pub(super) struct Tree<'a> {
    side: Side,
    lookups: &'a dyn Lookups,
    changes: &'a [Change],
    sources: BTreeMap<String, Option<Rc<Source>>>,
    /// Files of the tree that run something and cannot be read.
    pub(super) unreadable: BTreeMap<String, Option<ReadError>>,
    visited: BTreeMap<Visit, Outcome>,
    pub(super) checks: Vec<Check>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Visit {
    path: Rc<str>,
    unit: String,
    effect: Option<Effect>,
    runner: Runner,
    reach: Reach,
    is_written: bool,
    more: Rc<[String]>,
}

/// The result of following a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Outcome {
    has_checks: bool,
    does_something: bool,
}

/// The way on which a unit is reached.
#[derive(Debug, Clone)]
struct Way {
    marks: Vec<PlacedMark>,
    places: Vec<Place>,
    runner: Runner,
    root: Rc<str>,
    job: Rc<str>,
    pipeline: Rc<str>,
    reach: Reach,
    is_written: bool,
    /// Words that a caller hands on to the commands of a session.
    more: Rc<[String]>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(side: Side, changes: &'a [Change], lookups: &'a dyn Lookups) -> Self {
        Self {
            side,
            lookups,
            changes,
            sources: BTreeMap::new(),
            unreadable: BTreeMap::new(),
            visited: BTreeMap::new(),
            checks: Vec::new(),
        }
    }

    /// Returns a file of the tree; none where it is not there or cannot be read.
    pub(super) fn source(&mut self, path: &str) -> Option<Rc<Source>> {
        if let Some(source) = self.sources.get(path) {
            return source.clone();
        }
        let source = self.read_source(path).map(Rc::new);
        self.sources.insert(path.to_owned(), source.clone());
        source
    }

    fn read_source(&mut self, path: &str) -> Option<Source> {
        let kind = Kind::for_path(path).unwrap_or(Kind::Script);
        let is_changed = self.changes.iter().any(|change| change.path(self.side) == Some(path));
        // Unchanged files are the same in both trees.
        let side = if is_changed { self.side } else { Side::Head };
        let is_new = self.changes.iter().any(|change| change.path(Side::Head) == Some(path));
        if !is_changed && self.side == Side::Base && is_new {
            return None;
        }
        let Some(text) = self.lookups.text(side, path) else {
            if is_changed {
                self.unreadable.insert(path.to_owned(), None);
            }
            return None;
        };
        match Source::parse(kind, path, &text) {
            Ok(source) => Some(source),
            Err(error) => {
                self.unreadable.insert(path.to_owned(), Some(error));
                None
            }
        }
    }

    /// Path at head of a file of this tree.
    fn name_at_head(&self, path: &str) -> Rc<str> {
        let renamed = self.changes.iter().find(|change| change.path(self.side) == Some(path));
        renamed.and_then(|change| change.path(Side::Head)).unwrap_or(path).into()
    }

    /// Collects what runs: by pipelines, by hooks, and in lists and scripts that changed.
    pub(super) fn collect(&mut self, unchanged: &[String]) {
        let own: Vec<&str> = self.changes.iter().filter_map(|change| change.path(self.side)).collect();
        let roots = unchanged.iter().map(String::as_str).chain(own.iter().copied());
        let roots: BTreeSet<&str> =
            roots.filter(|path| Kind::for_path(path).is_some_and(Kind::is_root)).collect();
        for path in roots {
            let Some(source) = self.source(path) else { continue };
            let runner =
                if Kind::for_path(path).is_some_and(Kind::is_hook) { Runner::Hook } else { Runner::Ci };
            let reach = source.triggers.reach();
            let way = self.way(path, runner, reach);
            // A workflow that others call runs where they do.
            let is_called = source.triggers.is_callable() && reach == Reach::Nothing;
            for unit in source.units.iter().filter(|unit| !unit.is_called && !is_called) {
                let way = Way { job: unit.name.as_str().into(), ..way.clone() };
                self.visit(path, unit, &way, 0);
            }
        }
        for path in own {
            let is_root = Kind::for_path(path).is_none_or(Kind::is_root);
            let Some(source) = (if is_root { None } else { self.source(path) }) else { continue };
            for unit in &source.units {
                let is_own = is_script_of_ci(path) || !names_of_checks(&unit.name).is_empty();
                let is_hook = Kind::for_path(path) == Some(Kind::HookList);
                let is_visited =
                    self.visited.keys().any(|visit| &*visit.path == path && visit.unit == unit.name);
                if (is_own || is_hook) && !is_visited {
                    let way = self.way(path, Runner::Unknown, Reach::Nothing);
                    let way = Way { job: unit.name.as_str().into(), ..way };
                    self.visit(path, unit, &way, 0);
                }
            }
        }
        if !forestalled::find(&mut self.checks) {
            self.lookups.stop_short();
        }
    }

    fn way(&self, root: &str, runner: Runner, reach: Reach) -> Way {
        let pipeline = self.name_at_head(root);
        Way {
            marks: Vec::new(),
            places: Vec::new(),
            runner,
            root: root.into(),
            job: "".into(),
            pipeline,
            reach,
            is_written: false,
            more: Rc::default(),
        }
    }

    fn visit(&mut self, path: &str, unit: &Unit, way: &Way, depth: usize) -> Outcome {
        let effect = way.marks.iter().map(|mark| mark.effect).max();
        let path: Rc<str> = path.into();
        let visit = Visit {
            path: Rc::clone(&path),
            unit: unit.name.clone(),
            effect,
            runner: way.runner,
            reach: way.reach,
            is_written: way.is_written,
            more: Rc::clone(&way.more),
        };
        if let Some(outcome) = self.visited.get(&visit) {
            return *outcome;
        }
        let mut outcome = Outcome { has_checks: false, does_something: false };
        self.visited.insert(visit.clone(), Outcome { does_something: true, ..outcome });
        let key = UnitKey { file: self.name_at_head(&path), name: unit.name.clone() };
        for step in &unit.steps {
            if self.checks.len() >= MAX_CHECKS {
                self.lookups.stop_short();
                break;
            }
            let own = self.step(&path, &key, step, way, depth);
            outcome.has_checks |= own.has_checks;
            outcome.does_something |= own.does_something;
        }
        self.visited.insert(visit, outcome);
        outcome
    }

    fn step(&mut self, path: &Rc<str>, unit: &UnitKey, step: &Step, way: &Way, depth: usize) -> Outcome {
        let marks = step.marks.iter().map(|mark| PlacedMark {
            effect: mark.effect,
            place: Place { path: Rc::clone(path), span: mark.span },
        });
        let mut marks: Vec<PlacedMark> = marks.chain(way.marks.iter().cloned()).collect();
        let spoiled = step.earlier.iter().filter_map(|earlier| self.spoiled(earlier));
        marks.extend(spoiled.map(|mark| PlacedMark {
            effect: mark.effect,
            place: Place { path: Rc::clone(path), span: mark.span },
        }));
        if let Some(planted) = self.planted(step) {
            let place = Place { path: Rc::clone(path), span: planted };
            marks.push(PlacedMark { effect: Effect::Never, place });
        }
        let places = std::iter::once(step.span).chain(step.settings.iter().copied());
        let places = places.map(|span| Place { path: Rc::clone(path), span });
        let places: Vec<Place> = places.chain(way.places.iter().cloned()).collect();
        let is_written = way.is_written || step.is_written;
        let position = self.checks.len();
        // What is handed on stands behind the words of each command that checks something.
        let (mut text, mut selection) = (step.text.clone(), step.selection.clone());
        if !way.more.is_empty() && !step.checks.is_empty() {
            text = format!("{text} {}", way.more.join(" "));
            selection = Selection::of_command(&text.split_whitespace().collect::<Vec<_>>());
        }
        self.checks.push(Check {
            unit: unit.clone(),
            job: Rc::clone(&way.job),
            text,
            checks: step.checks.clone(),
            only_writes: false,
            marks: marks.clone(),
            places: places.clone(),
            runner: way.runner,
            root: Rc::clone(&way.root),
            pipeline: Rc::clone(&way.pipeline),
            reach: way.reach,
            does_nothing: step.does_nothing,
            selection,
            directory: directory_of(path, &step.directory),
            is_written,
        });
        let more = if step.more.is_empty() { Rc::clone(&way.more) } else { step.more.clone().into() };
        let below = Way { marks, places, is_written, more, ..way.clone() };
        let mut called: Option<Outcome> = None;
        for call in &step.calls {
            if depth >= MAX_CALLS {
                break;
            }
            for target in self.resolve(call, path) {
                let Some(unit) = target.source.units.get(target.position) else { continue };
                let own = self.visit(&target.path, unit, &below, depth + 1);
                let so_far = called.get_or_insert(own);
                so_far.has_checks |= own.has_checks;
                so_far.does_something |= own.does_something;
            }
        }
        // A name says what it checks only as long as what it stands for is unknown.
        if called.is_some_and(|called| called.has_checks || !called.does_something) {
            self.checks[position].checks = BTreeSet::new();
        }
        self.checks[position].does_nothing |= called.is_some_and(|called| !called.does_something);
        Outcome {
            has_checks: !self.checks[position].checks.is_empty()
                || called.is_some_and(|called| called.has_checks),
            does_something: match called {
                Some(called) => called.does_something,
                None => !step.does_nothing,
            },
        }
    }

    /// Returns the mark that an earlier command leaves on a later one.
    fn spoiled(&self, earlier: &Later) -> Option<Mark> {
        let effect = match &earlier.cause {
            Cause::Effect(effect) => Some(*effect),
            Cause::Replaced(path) => {
                let is_file = self.lookups.is_present(self.side, path);
                let is_there = is_file || !self.lookups.files_in(self.side, path).is_empty();
                is_there.then_some(Effect::Partial)
            }
        }?;
        Some(Mark { effect, span: earlier.span })
    }

    /// Returns the place that puts a directory of the repository with a program of a command's name before all others.
    fn planted(&self, step: &Step) -> Option<Span> {
        let program = step.text.split(' ').next().filter(|program| !program.contains(['/', '$']))?;
        let mut directories = step.first_on_path.iter().filter(|_| !step.checks.is_empty());
        let holds = |path: &str| self.lookups.files_in(self.side, path).iter().any(|name| name == program);
        directories.find(|directory| holds(&directory.path)).map(|directory| directory.span)
    }

    /// Returns whether something has the name that a call of a file has.
    pub(super) fn has_target(&mut self, call: &Call, from: &str) -> bool {
        !self.resolve(call, from).is_empty()
    }

    /// Returns the units that a call stands for.
    fn resolve(&mut self, call: &Call, from: &str) -> Vec<Target> {
        match call {
            Call::Unit(name) => self.units(from, name),
            Call::File(path) => {
                let extension = path.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
                if path.contains('$') || Kind::for_path(path).is_none() && extension.is_some() {
                    return Vec::new();
                }
                let Some(source) = self.source(path) else { return Vec::new() };
                let all = 0..source.units.len();
                all.map(|position| Target { path: path.clone(), source: Rc::clone(&source), position })
                    .collect()
            }
            Call::Listed { list, directory, name } => {
                // Sessions and commands of a project by their names, which no other file has.
                let is_own = *list == Kind::Nox || name.contains(' ');
                // A list that calls itself, or runs in its own directory, does so there.
                let is_list =
                    Kind::for_path(from).is_some_and(|kind| !kind.is_root() && kind != Kind::Script);
                let is_there = Kind::for_path(from) == Some(*list) || is_own && is_list;
                let directory = match is_there && directory.is_empty() {
                    true => from.rsplit_once('/').map(|(directory, _)| directory).unwrap_or_default(),
                    false => directory.as_str(),
                };
                let mut own = self.lists_in(*list, directory);
                // Hatch reads a file of its own instead of the project's.
                if name.starts_with("hatch ") && own.iter().any(|path| path.ends_with("hatch.toml")) {
                    own.retain(|path| path.ends_with("hatch.toml"));
                }
                let mut found: Vec<Target> = own.iter().flat_map(|path| self.units(path, name)).collect();
                if found.is_empty() && !is_own {
                    let changed = self.changes.iter().filter_map(|change| change.path(self.side));
                    let changed: Vec<String> = changed
                        .filter(|path| Kind::for_path(path) == Some(*list))
                        .map(str::to_owned)
                        .collect();
                    found.extend(changed.iter().flat_map(|path| self.units(path, name)));
                }
                found
            }
        }
    }

    fn lists_in(&self, list: Kind, directory: &str) -> Vec<String> {
        let names = self.lookups.files_in(self.side, directory);
        let paths = names.into_iter().map(|name| joined(directory, &name));
        let mut lists: Vec<String> = paths.filter(|path| Kind::for_path(path) == Some(list)).collect();
        if list == Kind::Make && lists.len() > 1 {
            self.keep_first_makefile(&mut lists);
        }
        lists
    }

    /// Leaves the file that make reads, where a directory has several. It may include the others.
    fn keep_first_makefile(&self, lists: &mut Vec<String>) {
        lists.sort_by_key(|path| place_of_makefile(path));
        let text = self.lookups.text(self.side, &lists[0]);
        if text.is_some_and(|text| {
            !text.lines().any(|line| line.trim_start_matches(['-', 's']).starts_with("include"))
        }) {
            lists.truncate(1);
        }
    }

    /// Returns the units of a name in a file.
    fn units(&mut self, path: &str, name: &str) -> Vec<Target> {
        let Some(source) = self.source(path) else { return Vec::new() };
        let is_all = matches!(Kind::for_path(path), Some(Kind::Nox | Kind::Tox));
        let own = source.units.iter().enumerate();
        let found: Vec<usize> = if name.is_empty() && !is_all {
            // Names with a dot are settings of make.
            own.filter(|(_, unit)| !unit.name.starts_with('.')).map(|(at, _)| at).take(1).collect()
        } else {
            let own = own.filter(|(_, unit)| match name.strip_suffix('*') {
                Some(start) => unit.name.starts_with(start),
                None => unit.name == name || name.is_empty() && !unit.is_left_out,
            });
            own.map(|(at, _)| at).collect()
        };
        let targets = found.into_iter().map(|position| Target {
            path: path.to_owned(),
            source: Rc::clone(&source),
            position,
        });
        targets.collect()
    }
}

/// Returns the directory that a command of a file works in: the file's own, where its tool runs commands there.
fn directory_of(path: &str, directory: &str) -> String {
    let own = path.rsplit_once('/').map(|(own, _)| own);
    match own.filter(|_| matches!(Kind::for_path(path), Some(Kind::Nox | Kind::Tox))) {
        Some(own) => joined(own, directory),
        None => directory.to_owned(),
    }
}

/// Returns the place of a file in the order in which make looks for one.
fn place_of_makefile(path: &str) -> usize {
    const ORDER: &[&str] = &["GNUmakefile", "makefile", "Makefile"];
    let name = path.rsplit('/').next().unwrap_or(path);
    ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len())
}

/// A unit with the path of its file.
#[derive(Debug, Clone)]
struct Target {
    path: String,
    source: Rc<Source>,
    /// Position of the unit in the file.
    position: usize,
}

/// Returns the pipelines at head that did not change.
pub(super) fn unchanged_pipelines(changes: &[Change], lookups: &dyn Lookups) -> Vec<String> {
    let mut found = Vec::new();
    for directory in DIRECTORIES.iter().map(|directory| directory.path).chain([""]) {
        for name in lookups.files_in(Side::Head, directory) {
            let path = joined(directory, &name);
            let is_changed = changes.iter().any(|change| change.path(Side::Head) == Some(&path));
            if !is_changed && Kind::for_path(&path).is_some_and(Kind::is_root) {
                found.push(path);
            }
        }
    }
    found
}
