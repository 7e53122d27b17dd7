//! Weakened CI and commit hooks.
//!
//! The commands that run are collected at the base and at head, through targets, scripts and workflows that others call,
//! and compared one by one. So a check that moves, or is written in another way, is still there.

mod aggregates;
mod calls;
mod commands;
mod compare;
mod conditions;
mod differences;
mod environment;
mod explained;
mod files;
mod foreign;
mod forestalled;
mod github;
mod guards;
mod hooks;
mod later;
mod legs;
mod locks;
mod missing;
mod names;
mod nox;
mod options;
mod pipeline;
mod powershell;
mod recipes;
mod rules;
#[cfg(test)]
mod session_tests;
mod shards;
mod shells;
#[cfg(test)]
mod situation_tests;
mod source;
mod tasks;
#[cfg(test)]
mod tests;
mod tree;
mod triggers;
mod truth;
mod verdict;
mod writers;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangedFile, Edit, LensClass, PresetStrengths, Scope, ScopeStrengths, Severity, Side, Strength,
};
use qa_core::packet::Packet;
use qa_core::policy::Policy;
use qa_reading::documents::ReadError;
use qa_reading::syntax::Span;

use super::changes::{Change, repo_path};
use super::contract::{Draft, Fact, Inspection, Lens, LensSpec, Lookups, Need, everywhere, presets, rule};
use super::edits;
use super::pattern::Pattern;
use compare::{Comparison, Weakening};
use files::Kind;
use tree::{Check, Place, Runner, Tree, UnitKey};
use triggers::Reach;

const REMOVED: &str = "ci-weakening/ci-removed";
const SOFTENED: &str = "ci-weakening/ci-softened";
/// Summaries of checks that look at less, and may fail as before.
const NARROWED: &str = "CI check now looks at less than before";
const NARROWED_TASK: &str = "check of a task now looks at less than before";
const NARROWED_MATRIX: &str = "CI check runs on fewer systems or languages than before";
const PARTIAL: &str = "CI check now leaves out a part of its work";
const REPAIRED: &str = "CI check puts right a part of what it finds, and fails for the rest only";
const HOOK: &str = "ci-weakening/hook-disabled";

const ADVISE: ScopeStrengths = ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Advise) };
const GUARDED: PresetStrengths =
    presets(ADVISE, ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Block) });

static SPEC: LensSpec = LensSpec {
    id: "ci-weakening",
    version: "21",
    class: LensClass::Security,
    title: "Weakened CI and commit hooks",
    required_by_default: true,
    triggers: &["**"],
    page: include_str!(concat!(env!("OUT_DIR"), "/ci-weakening.md")),
    rules: &[
        rule(
            REMOVED,
            "CI check, trigger or workflow is removed",
            Severity::High,
            GUARDED,
            "Keep the check, or replace it in the same change.",
        ),
        rule(
            SOFTENED,
            "CI failure is ignored",
            Severity::High,
            GUARDED,
            "Let the step fail, or fix what makes it fail.",
        ),
        rule(
            HOOK,
            "Commit hook is removed or emptied",
            Severity::Medium,
            GUARDED,
            "Keep the hook, or run the same check in CI.",
        ),
    ],
};

/// Scopes in which files of a repository run its checks: all but other people's code.
const OWN: &[Scope] = &[Scope::Product, Scope::Test, Scope::Docs, Scope::Generated];

/// Compares what CI and hooks run.
pub(crate) struct CiWeakening;

impl Lens for CiWeakening {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn fix(&self, draft: &Draft) -> Option<&'static str> {
        let looks_at_less =
            [NARROWED, NARROWED_TASK, NARROWED_MATRIX, PARTIAL].contains(&draft.summary.as_str());
        looks_at_less.then_some(
            "Let the check look at all that it looked at before; to leave a part out for a while, ask a maintainer for a waiver.",
        )
    }

    fn need(&self, file: &ChangedFile) -> Need {
        if runs(file) || tasks::has_tasks(file) { Need::Hunks } else { Need::Nothing }
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let mut facts =
            if runs(packet.file) { vec![Fact::new(&Change::new(packet, OWN), None)] } else { Vec::new() };
        facts.extend(tasks::has_tasks(packet.file).then(|| tasks::fact(packet)));
        Inspection { drafts: Vec::new(), facts }
    }

    fn edit(&self, draft: &Draft, packet: &Packet<'_>) -> Option<Edit> {
        edits::restore(draft, packet).filter(|edit| !missing::names_missing_part(edit, draft))
    }

    fn look_up(&self, facts: &[Fact], _policy: &Policy, lookups: &dyn Lookups) -> Vec<Draft> {
        let changes: Vec<Change> = facts.iter().filter_map(Fact::read).collect();
        let mut change_set = ChangeSet {
            base: Tree::new(Side::Base, &changes, lookups),
            head: Tree::new(Side::Head, &changes, lookups),
            changes: &changes,
            lookups,
            drafts: BTreeMap::new(),
            missing: BTreeMap::new(),
        };
        if change_set.changes_what_runs() {
            change_set.compare();
        }
        change_set.aggregates();
        // Sessions that CI calls are compared already.
        tasks::drafts(facts, lookups).into_iter().for_each(|draft| change_set.keep(draft));
        change_set.drafts.into_values().collect()
    }
}

/// Returns whether a file of that name runs something, at the base or at head.
fn runs(file: &ChangedFile) -> bool {
    let names = [Some(&file.path), file.old_path.as_ref()];
    names.into_iter().flatten().any(|path: &RepoPath| Kind::for_path(&path.to_text()).is_some())
}

/// Words by which a workflow for `pull_request_target` checks out the code of the pull request all the same.
static CHECKS_OUT_HEAD: Pattern =
    Pattern::new(r"github\.(?:event\.pull_request\.(?:head|number)|event\.number|head_ref)|refs/pull/");

/// Order of findings, which are one for each line and rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    file: RepoPath,
    side: Side,
    line: u64,
    rule: Cow<'static, str>,
}

/// The two trees, where files changed that run something.
struct ChangeSet<'a> {
    base: Tree<'a>,
    head: Tree<'a>,
    changes: &'a [Change],
    lookups: &'a dyn Lookups,
    drafts: BTreeMap<Key, Draft>,
    /// Parts that the removed lines of a file of the base name and head no longer has.
    missing: BTreeMap<String, Vec<String>>,
}

impl ChangeSet<'_> {
    /// Returns whether any file runs something else than before.
    fn changes_what_runs(&mut self) -> bool {
        self.changes.iter().any(|change| {
            let (base, head) = (change.path(Side::Base), change.path(Side::Head));
            let is_list =
                [base, head].into_iter().flatten().any(|path| Kind::for_path(path) == Some(Kind::HookList));
            let is_renamed = base.and_then(Kind::for_path) != head.and_then(Kind::for_path);
            let old = base.and_then(|path| self.base.source(path));
            let new = head.and_then(|path| self.head.source(path));
            is_list || is_renamed || old.map(|source| source.meaning()) != new.map(|source| source.meaning())
        })
    }

    fn compare(&mut self) {
        let unreadable = self.unreadable();
        let unchanged = match self.changes.iter().any(Self::concerns_commands) {
            true => tree::unchanged_pipelines(self.changes, self.lookups),
            false => Vec::new(),
        };
        self.base.collect(&unchanged);
        self.head.collect(&unchanged);
        let mut base = std::mem::take(&mut self.base.checks);
        let head = std::mem::take(&mut self.head.checks);
        base.retain(|check| !unreadable.contains(&*check.root));
        let comparison = Comparison::new(&base, &head);
        let weakenings = comparison.weakenings();
        self.removed(&base, &head, &comparison, &weakenings);
        for weakening in &weakenings {
            match weakening {
                Weakening::Softened { head, marks } => {
                    for mark in marks {
                        let summary = match mark.effect {
                            commands::Effect::Never => "CI check no longer runs",
                            commands::Effect::Inverted => "CI failure now counts as a success",
                            commands::Effect::Repaired => REPAIRED,
                            commands::Effect::Sometimes => "CI check now runs under a condition only",
                            commands::Effect::Partial => PARTIAL,
                            commands::Effect::Answered => {
                                "a program of the repository may answer for the CI check"
                            }
                            commands::Effect::Forestalled => {
                                "a step before the CI check puts right, or takes away, what it looks for"
                            }
                            commands::Effect::Baseless => {
                                "no step before the CI check makes what it compares any more"
                            }
                            commands::Effect::Excused => "CI failure is now ignored in a part of the runs",
                            commands::Effect::Ignored => "CI failure is now ignored",
                        };
                        let places = std::iter::once(&mark.place).chain(&head.places);
                        self.add(SOFTENED, Side::Head, places, summary);
                    }
                }
                Weakening::Narrowed { base, head, words } => {
                    let words = self.unexplained(base, head, words);
                    if !words.is_empty() {
                        self.add_with(SOFTENED, Side::Head, head.places.iter(), NARROWED, &words);
                    }
                }
                Weakening::Moved { base, head } if self.has_moved(&base.directory, &head.directory) => {}
                Weakening::Moved { head, .. } => {
                    let summary = "CI check now runs in another directory";
                    self.add(SOFTENED, Side::Head, head.places.iter(), summary);
                }
                Weakening::Replaced { head } => {
                    let rule = if head.runner == Runner::Hook { HOOK } else { SOFTENED };
                    let summary = "check is replaced by a command that does nothing";
                    self.add(rule, Side::Head, head.places.iter(), summary);
                }
                Weakening::Removed(_) => {}
            }
        }
        self.triggers(&base, &comparison, &unreadable);
        self.legs();
        self.hooks(&base, &head, &unreadable);
        self.locks(&base, &head);
    }

    /// Reports places that answer for several jobs and allow more of them to fail.
    fn aggregates(&mut self) {
        for change in self.changes {
            let (Some(old_path), Some(path)) = (change.path(Side::Base), change.path(Side::Head)) else {
                continue;
            };
            let kind = Kind::for_path(path);
            let Some(kind) = kind.filter(|kind| matches!(kind, Kind::Pipeline | Kind::Workflow)) else {
                continue;
            };
            let [base, head] = [(Side::Base, old_path), (Side::Head, path)]
                .map(|(side, path)| self.lookups.text(side, path));
            let (Some(base), Some(head)) = (base, head) else { continue };
            for loosened in aggregates::loosened(kind, &base, &head) {
                let places = loosened.places.iter();
                let draft = places.copied().find_map(|(side, span)| {
                    change.on_line(SOFTENED, side, Some(span), loosened.summary, self.lookups)
                });
                let side = loosened.places.first().map_or(Side::Head, |(side, _)| *side);
                self.keep(
                    draft.unwrap_or_else(|| {
                        change.on_any_line(SOFTENED, side, loosened.summary, self.lookups)
                    }),
                );
            }
        }
    }

    /// Returns whether a change may concern more than a list of hooks.
    fn concerns_commands(change: &Change) -> bool {
        let kinds = [Side::Base, Side::Head].map(|side| change.path(side).and_then(Kind::for_path));
        kinds.into_iter().flatten().any(|kind| kind != Kind::HookList)
    }

    /// Reports files that could be read at the base and cannot be read at head, and returns their paths at the base.
    fn unreadable(&mut self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for change in self.changes {
            let (Some(base), Some(head)) = (change.path(Side::Base), change.path(Side::Head)) else {
                continue;
            };
            let (Some(old_kind), Some(kind)) = (Kind::for_path(base), Kind::for_path(head)) else { continue };
            if !kind.is_root() && kind != Kind::HookList && kind != Kind::Action {
                continue;
            }
            let is_readable = self.base.source(base).is_some();
            self.head.source(head);
            let Some(error) = self.head.unreadable.get(head).filter(|_| is_readable) else { continue };
            let at = match error {
                Some(ReadError::Syntax { at, .. }) => Some(Span { start: *at, end: *at }),
                Some(ReadError::TooLarge | ReadError::TooDeep) | None => None,
            };
            let rule = if old_kind.is_hook() { HOOK } else { REMOVED };
            let summary = match rule {
                HOOK => "configuration of commit hooks cannot be parsed",
                _ => "workflow cannot be parsed",
            };
            let draft = change
                .on_line(rule, Side::Head, at, summary, self.lookups)
                .unwrap_or_else(|| change.on_any_line(rule, Side::Head, summary, self.lookups));
            let draft = match error {
                Some(error) => draft.with("error", error.to_string()),
                None => draft,
            };
            found.insert(base.to_owned());
            self.keep(draft);
        }
        found
    }

    /// Reports what is gone: a workflow as a whole where all of it is, else each check by itself.
    fn removed(
        &mut self,
        base: &[Check],
        head: &[Check],
        comparison: &Comparison<'_>,
        weakenings: &[Weakening<'_>],
    ) {
        let mut gone: Vec<&Check> = Vec::new();
        for weakening in weakenings {
            if let Weakening::Removed(check) = weakening {
                gone.push(check);
            }
        }
        for change in self.changes {
            let Some(path) = change.path(Side::Base) else { continue };
            if !Kind::is_workflow(path) || change.path(Side::Head).is_some_and(Kind::is_workflow) {
                continue;
            }
            let lost = gone.iter().filter(|check| *check.root == *path).count();
            let own = base.iter().filter(|check| *check.root == *path && check.reach > Reach::Nothing);
            let checks = own.clone().filter(|check| check.is_check() && !check.is_lost()).count();
            let runs = own.clone().filter(|check| !check.text.starts_with("uses ")).count();
            let moved = comparison.pairs().filter(|(old, _)| *old.root == *path).count();
            let is_judge = own.clone().next().is_some();
            let is_lost = if checks > 0 { lost == checks } else { runs > 0 && moved == 0 };
            gone.retain(|check| *check.root != *path || is_judge && !is_lost);
            if is_judge && is_lost {
                let summary = match change.path(Side::Head) {
                    Some(_) => "workflow is renamed to a path that CI does not read",
                    None => "workflow is deleted",
                };
                let draft = change.on_line(REMOVED, Side::Base, None, summary, self.lookups);
                self.keep(
                    draft.unwrap_or_else(|| Draft::on_file(REMOVED, &repo_path(path), Side::Base, summary)),
                );
            }
        }
        // Nobody knows whether a session or command of the same name still does it.
        let opaque = head.iter().filter(|other| other.text == nox::OPAQUE);
        let opaque: BTreeSet<&UnitKey> = opaque.map(|other| &other.unit).collect();
        gone.retain(|check| !opaque.contains(&check.unit));
        for check in gone {
            match check.runner {
                Runner::Ci if self.is_run_as_hook(check, head) => {}
                Runner::Ci => self.add(REMOVED, Side::Base, check.places.iter(), "check is removed from CI"),
                Runner::Hook if self.has_new_hooks() => {}
                Runner::Hook => self.add(HOOK, Side::Base, check.places.iter(), "commit hook is removed"),
                Runner::Unknown => {}
            }
        }
    }

    /// Returns whether a hook does the work of a check, where CI runs all hooks over all files as often.
    fn is_run_as_hook(&self, check: &Check, head: &[Check]) -> bool {
        let mut runs =
            head.iter().filter(|other| compare::may_replace(check, other) && other.effect().is_none());
        let entries =
            runs.any(|other| hooks::runs_all(&other.text)).then(|| self.entries(Side::Head, hooks::LIST));
        let entries = entries.flatten().unwrap_or_default();
        check.checks.iter().any(|word| entries.iter().any(|hook| hook.covers(word)))
    }

    /// Returns whether hooks come in a file of another tool, which take the place of all others.
    fn has_new_hooks(&mut self) -> bool {
        self.changes.iter().any(|change| {
            let [was_hook, is_hook] = [Side::Base, Side::Head]
                .map(|side| change.path(side).and_then(Kind::for_path).is_some_and(Kind::is_hook));
            if was_hook || !is_hook {
                return false;
            }
            let path = change.path(Side::Head).unwrap_or_default();
            let runs = self.head.source(path).is_some_and(|source| {
                source.units.iter().flat_map(|unit| &unit.steps).any(|step| !step.does_nothing)
            });
            runs || self.entries(Side::Head, path).is_some_and(|entries| !entries.is_empty())
        })
    }

    fn entries(&self, side: Side, path: &str) -> Option<Vec<hooks::Entry>> {
        if Kind::for_path(path) != Some(Kind::HookList) {
            return None;
        }
        hooks::entries(&self.lookups.text(side, path)?).ok()
    }

    /// Reports events that a workflow no longer runs for.
    fn triggers(&mut self, base: &[Check], comparison: &Comparison<'_>, unreadable: &BTreeSet<String>) {
        for change in self.changes {
            let (Some(old_path), Some(path)) = (change.path(Side::Base), change.path(Side::Head)) else {
                continue;
            };
            if unreadable.contains(old_path) || !Kind::for_path(path).is_some_and(Kind::is_root) {
                continue;
            }
            let (Some(old), Some(new)) = (self.base.source(old_path), self.head.source(path)) else {
                continue;
            };
            for narrowing in old.triggers.narrowings(&new.triggers) {
                let own = base.iter().filter(|check| check.is_check_below(old_path)).count();
                let text = self.lookups.text(Side::Head, path).unwrap_or_default();
                if narrowing.is_for_base && (own == 0 || CHECKS_OUT_HEAD.is_match(&text)) {
                    continue;
                }
                let mut elsewhere = 0;
                for (check, partner) in comparison.pairs().filter(|(check, _)| check.is_check_below(old_path))
                {
                    let is_moved = partner.root != check.root && *partner.root != *path;
                    let runs = self.head.source(&partner.root);
                    let runs = runs.is_some_and(|source| source.triggers.runs_for(&narrowing.event));
                    elsewhere += usize::from(is_moved && runs);
                }
                if own > 0 && elsewhere == own {
                    continue;
                }
                let summary = match (narrowing.is_removal, narrowing.event.as_str()) {
                    _ if narrowing.is_for_base => "workflow no longer runs on the code of pull requests",
                    (true, "push") => "workflow no longer runs for pushes",
                    (true, "merge_group") => "workflow no longer runs for the merge queue",
                    (true, _) => "workflow no longer runs for pull requests",
                    (false, _) => "workflow no longer runs for every change",
                };
                let place = Place {
                    path: if narrowing.side == Side::Base { old_path.into() } else { path.into() },
                    span: narrowing.span,
                };
                self.add(REMOVED, narrowing.side, std::iter::once(&place), summary);
            }
        }
    }

    /// Reports hooks that go from a list, and hooks whose last command goes.
    fn hooks(&mut self, base: &[Check], head: &[Check], unreadable: &BTreeSet<String>) {
        if self.has_new_hooks() {
            return;
        }
        for change in self.changes {
            let Some(path) = change.path(Side::Base).filter(|path| !unreadable.contains(*path)) else {
                continue;
            };
            if let Some(entries) = self.entries(Side::Base, path) {
                let new = change.path(Side::Head).and_then(|path| self.entries(Side::Head, path));
                for lost in hooks::lost_hooks(&entries, &new.unwrap_or_default()) {
                    let path = change.path(lost.side).unwrap_or_default();
                    let place = Place { path: path.into(), span: lost.span };
                    let summary = match lost.side {
                        Side::Base => "commit hook is removed",
                        Side::Head => "commit hook no longer runs, or looks at less",
                    };
                    self.add(HOOK, lost.side, std::iter::once(&place), summary);
                }
            } else if Kind::for_path(path) == Some(Kind::Hook) {
                let first = base.iter().find(|check| check.is_run_by_hook(path));
                let stays = change
                    .path(Side::Head)
                    .is_some_and(|path| head.iter().any(|check| check.is_run_by_hook(path)));
                let is_reported =
                    self.drafts.keys().any(|key| key.rule == HOOK && key.file.as_bytes() == path.as_bytes());
                if let Some(first) = first.filter(|_| !stays && !is_reported) {
                    self.add(HOOK, Side::Base, first.places.iter(), "commit hook is removed");
                }
            }
        }
    }

    /// Reports at the first of some places that stands on a changed line, or else where the change is.
    fn add<'p>(
        &mut self,
        rule: &'static str,
        side: Side,
        places: impl Iterator<Item = &'p Place>,
        summary: &'static str,
    ) {
        self.add_with(rule, side, places, summary, &[]);
    }

    /// Reports as [`Self::add`] does, with the words by which a check is weaker.
    fn add_with<'p>(
        &mut self,
        rule: &'static str,
        side: Side,
        places: impl Iterator<Item = &'p Place>,
        summary: &'static str,
        words: &[String],
    ) {
        let with_words = |draft: Draft| match words {
            [] => draft,
            words => draft.with("words", words.to_vec()),
        };
        let mut fallback = None;
        for place in places {
            let change = self.changes.iter().find(|change| change.path(side) == Some(&*place.path));
            let Some(change) = change else { continue };
            if let Some(draft) = change.on_line(rule, side, Some(place.span), summary, self.lookups) {
                return self.keep(with_words(draft));
            }
            fallback.get_or_insert(change);
        }
        if let Some(change) = fallback.or(self.changes.first()) {
            self.keep(with_words(change.on_any_line(rule, side, summary, self.lookups)));
        }
    }

    fn keep(&mut self, draft: Draft) {
        let draft = self.with_missing_parts(draft);
        let key = Key {
            file: draft.file.clone(),
            side: draft.side,
            line: draft.start_line,
            rule: draft.rule.clone(),
        };
        self.drafts.entry(key).or_insert(draft);
    }
}
