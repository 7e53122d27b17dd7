//! Weakened linters, type checkers, coverage and test runners.
//!
//! The settings in force for a directory are read at the base and at head, wherever they stand and however they are
//! written, and compared one by one. So a value that moves to a file that wins counts, and a reformatted file does not.

mod commands;
mod compare;
mod dotnet;
mod in_force;
mod moved;
mod parts;
mod projects;
mod redirects;
mod references;
mod ruby;
mod settings;
mod solutions;
mod tool;
mod tools;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use compare::Weakening;
use dotnet::Versions;
use in_force::{Found, Tree, Unreadable};
use parts::{BUILT, LOCKS, is_anchored};
use serde::{Deserialize, Serialize};

use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangedFile, Edit, LensClass, PresetStrengths, Scope as FileScope, ScopeStrengths, Severity, Side,
    Strength,
};
use qa_core::classify::is_example;
use qa_core::packet::Packet;
use qa_core::policy::Policy;
use qa_reading::documents::{Document, Format, ReadError};
use qa_reading::names::joins;
use qa_reading::syntax::Span;
use settings::Located;
use tool::{Aspect, Direction, Place, Scope, Tool};

use super::changes::{Change, repo_path};
use super::contract::{Draft, Fact, Inspection, Lens, LensSpec, Lookups, Need, everywhere, presets, rule};
use super::{edits, selection, successors};

/// Name of the entries of a list of ignored paths.
const PATTERNS: &str = "patterns";
const COVERAGE: &str = "lint-weakening/coverage-excluded";
const LINT: &str = "lint-weakening/lint-disabled";
const REDIRECTED: &str = "lint-weakening/tests-redirected";
const TESTS: &str = "lint-weakening/tests-excluded";
const THRESHOLD: &str = "lint-weakening/threshold-lowered";

const ADVISE: ScopeStrengths = ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Advise) };
const GUARDED: PresetStrengths =
    presets(ADVISE, ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Block) });

static SPEC: LensSpec = LensSpec {
    id: "lint-weakening",
    version: "21",
    class: LensClass::Security,
    title: "Weakened linters, type checkers, coverage and test runners",
    required_by_default: true,
    triggers: &["**"],
    page: include_str!(concat!(env!("OUT_DIR"), "/lint-weakening.md")),
    rules: &[
        rule(
            COVERAGE,
            "Files or lines are excluded from coverage by configuration",
            Severity::Low,
            GUARDED,
            "Test the code instead of excluding it.",
        ),
        rule(
            LINT,
            "Linter or type checker configuration is weakened",
            Severity::Medium,
            GUARDED,
            "Fix the reported problems, or suppress the rule in one place, with a reason.",
        ),
        rule(
            TESTS,
            "Configuration of a test runner runs fewer tests",
            Severity::Medium,
            GUARDED,
            "Let the tests run, or mark the one that cannot as skipped, with a reason.",
        ),
        rule(
            REDIRECTED,
            "Configuration leads tests to another module than they name",
            Severity::High,
            GUARDED,
            "Let the tests load the module that is shipped, and mock what it depends on.",
        ),
        rule(
            THRESHOLD,
            "Quality threshold is lowered or removed",
            Severity::Medium,
            GUARDED,
            "Keep the threshold, or raise the coverage to it.",
        ),
    ],
};

/// Tools that look at everything where they have no configuration, so that a first one may weaken them.
const UNCONFIGURED: &[&str] = &["cargo configuration", "semistandard", "standard", "ts-standard", "xo"];

/// Compares the configuration of tools.
pub(crate) struct LintWeakening;

impl Lens for LintWeakening {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        let is_concerned = configures(file)
            || solutions::is_changed_solution(file)
            || redirects::maps(file)
            || commands::has_commands(file)
            || ruby::may_configure(file)
            || file.old_path.is_some();
        if is_concerned { Need::Hunks } else { Need::Nothing }
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let file = packet.file;
        let mut seen = Inspection::default();
        if commands::has_commands(file) {
            seen.drafts.extend(packet.hunks().flat_map(|hunk| commands::lowered(packet, &hunk)));
        }
        if ruby::may_configure(file) {
            seen.facts.push(ruby::setup(packet));
        }
        if let Some(old_path) = &file.old_path {
            let [from, to] = [old_path, &file.path].map(|path| path.to_text().into_owned());
            seen.facts.push(Fact::new(&Renamed { from, to }, None));
        }
        seen.facts.extend(redirects::module_paths(packet));
        let is_compared = configures(file) || redirects::maps(file) || solutions::is_changed_solution(file);
        if !is_compared {
            return seen;
        }
        let changed = Changed {
            linters: Change::new(packet, LINTED),
            runners: Change::new(packet, &[LINTED, &[FileScope::Test]].concat()),
        };
        seen.facts.push(Fact::new(&changed, None));
        seen
    }

    fn edit(&self, draft: &Draft, packet: &Packet<'_>) -> Option<Edit> {
        edits::restore(draft, packet)
    }

    fn look_up(&self, facts: &[Fact], _policy: &Policy, lookups: &dyn Lookups) -> Vec<Draft> {
        let changed: Vec<Changed> = facts.iter().filter_map(Fact::read).collect();
        let renamed: Vec<Renamed> = facts.iter().filter_map(Fact::read).collect();
        let mut drafts = moved::drafts(&renamed, lookups);
        drafts.extend(ruby::drafts(facts, lookups));
        let (linters, runners): (Vec<Change>, Vec<Change>) =
            changed.into_iter().map(|changed| (changed.linters, changed.runners)).unzip();
        drafts.extend(Comparison::new(&linters, &renamed, lookups).drafts(|tool| !tool.looks_at_tests()));
        drafts.extend(Comparison::new(&runners, &renamed, lookups).drafts(Tool::looks_at_tests));
        drafts.extend(solutions::drafts(&runners, lookups));
        drafts.extend(redirects::drafts(&runners, facts, lookups));
        drafts
    }
}

/// Scopes whose files linters look at, as far as this lens is concerned.
const LINTED: &[FileScope] = &[FileScope::Product, FileScope::Docs, FileScope::Generated];

/// A changed file that configures tools: for linters, which may be laxer about tests, and for runners of tests.
#[derive(Debug, Serialize, Deserialize)]
struct Changed {
    linters: Change,
    runners: Change,
}

/// A file that has another path at head.
#[derive(Debug, Serialize, Deserialize)]
struct Renamed {
    from: String,
    to: String,
}

/// Returns whether a file of that name may configure a tool, at the base or at head.
fn configures(file: &ChangedFile) -> bool {
    let names = [Some(&file.path), file.old_path.as_ref()];
    names.into_iter().flatten().any(|path| {
        let path = path.to_text();
        tools::all_tools().any(|tool| tool.places.iter().any(|place| place.directory(&path).is_some()))
    })
}

/// Compares the two trees, where files changed that configure a tool.
struct Comparison<'a> {
    changes: &'a [Change],
    renamed: &'a [Renamed],
    lookups: &'a dyn Lookups,
    base: Tree<'a>,
    head: Tree<'a>,
    /// Names of tools that have a configuration at head in a changed file and had none at the base.
    new_tools: BTreeSet<&'static str>,
}

impl<'a> Comparison<'a> {
    fn new(changes: &'a [Change], renamed: &'a [Renamed], lookups: &'a dyn Lookups) -> Self {
        let base = Tree { side: Side::Base, lookups };
        let head = Tree { side: Side::Head, lookups };
        let mut comparison = Self { changes, renamed, lookups, base, head, new_tools: BTreeSet::new() };
        comparison.new_tools = comparison.find_new_tools();
        comparison
    }

    fn find_new_tools(&self) -> BTreeSet<&'static str> {
        let mut new = BTreeSet::new();
        for tool in tools::all_tools() {
            for change in self.changes {
                let Some(directory) = change.path(Side::Head).and_then(|path| directory_of(tool, path))
                else {
                    continue;
                };
                let head = self.head.in_force(tool, directory);
                let is_read = !head.files.is_empty() && head.unreadable.is_none();
                if is_read && self.base.in_force(tool, directory).files.is_empty() {
                    new.insert(tool.name);
                }
            }
        }
        new
    }

    /// Compares the configurations of some tools.
    fn drafts(&self, is_compared: fn(&Tool) -> bool) -> Vec<Draft> {
        let mut drafts: BTreeMap<(RepoPath, u64, Cow<'static, str>, String), Draft> = BTreeMap::new();
        for tool in tools::all_tools().filter(|tool| is_compared(tool)) {
            for draft in self.drafts_of(tool) {
                let key = (draft.file.clone(), draft.start_line, draft.rule.clone(), draft.summary.clone());
                drafts.entry(key).or_insert(draft);
            }
        }
        drafts.into_values().collect()
    }

    fn drafts_of(&self, tool: &'static Tool) -> Vec<Draft> {
        let mut drafts = Vec::new();
        let mut done = BTreeSet::new();
        let versions = self.versions(tool);
        for change in self.changes {
            if matches!(tool.scope, Scope::File | Scope::Project) {
                drafts.extend(self.compare_file(tool, change, &versions));
                continue;
            }
            for path in [change.path(Side::Base), change.path(Side::Head)].into_iter().flatten() {
                let Some(directory) = directory_of(tool, path) else { continue };
                if done.insert(directory) {
                    let mut base = self.base.in_force(tool, directory);
                    let head = self.head.in_force(tool, directory);
                    let is_first = base.files.is_empty() && base.unreadable.is_none();
                    let is_new = is_first && !head.files.is_empty();
                    if is_new && UNCONFIGURED.contains(&tool.name) && self.was_used(tool, path) {
                        base.files.push(path.to_owned());
                    }
                    drafts.extend(self.compare(tool, change, directory, &base, &head, &versions));
                }
            }
        }
        drafts
    }

    /// Returns whether the base looked at its code with a tool that needs no configuration: its manifest names the tool.
    fn was_used(&self, tool: &Tool, path: &str) -> bool {
        if !path.ends_with("package.json") {
            return true;
        }
        let Some(text) = self.lookups.text(Side::Base, path) else { return false };
        // A manifest that cannot be read may name it.
        let Ok(document) = Document::parse(Format::Json, &text) else { return true };
        let lists = ["dependencies", "devDependencies"].map(|list| document.root().get(list));
        lists.into_iter().flatten().any(|list| list.get(tool.name).is_some())
    }

    /// Compares a file that configures a tool by itself with what it was.
    fn compare_file(&self, tool: &'static Tool, change: &Change, versions: &[Versions]) -> Vec<Draft> {
        let at_head = change.path(Side::Head).and_then(|path| place_of(tool, path));
        let Some((place, path)) = change.path(Side::Base).and_then(|path| place_of(tool, path)) else {
            let Some((place, path)) = at_head else { return Vec::new() };
            return self.compare_new_file(tool, place, path, change, versions);
        };
        let mut base = self.base.of_file(tool, place, path);
        let head = match at_head {
            Some((place, path)) => self.head.of_file(tool, place, path),
            None => Found::default(),
        };
        // A linter that needs no table runs with its defaults, so a first table that only silences is weaker than none.
        if base.files.is_empty() && base.unreadable.is_none() && head.configuration.only_silences() {
            base.files.push(path.to_owned());
        }
        let directory = directory_of(tool, path).unwrap_or_default();
        self.compare(tool, change, directory, &base, &head, versions)
    }

    /// Compares a file that is new in a directory with the nearest one of its name above, which was in force before.
    fn compare_new_file(
        &self,
        tool: &'static Tool,
        place: &'static Place,
        path: &str,
        change: &Change,
        versions: &[Versions],
    ) -> Vec<Draft> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut above = in_force::ancestors(directory).into_iter().skip(1);
        let nearest = above.find_map(|above| {
            let path = in_force::joined(above, name);
            self.lookups.is_present(Side::Base, &path).then_some(path)
        });
        let head = self.head.of_file(tool, place, path);
        if tool.scope == Scope::Project {
            if path.ends_with("proj") || nearest.is_none() && !only_silences(tool, &head) {
                return Vec::new();
            }
            let base = Found { files: vec![path.to_owned()], ..Found::default() };
            return self.compare(tool, change, directory, &base, &head, versions);
        }
        let (Some(nearest), true) = (nearest, place.section.is_empty() && !tool.runs_tests()) else {
            return Vec::new();
        };
        let base = self.base.of_file(tool, place, &nearest);
        self.compare(tool, change, directory, &base, &head, versions)
    }

    fn compare(
        &self,
        tool: &'static Tool,
        change: &Change,
        directory: &str,
        base: &Found,
        head: &Found,
        versions: &[Versions],
    ) -> Vec<Draft> {
        if let Some(unreadable) = &head.unreadable
            && !base.files.is_empty()
            && (base.unreadable.is_none() || self.is_edited(&unreadable.path))
        {
            return vec![self.unreadable(tool, unreadable, change)];
        }
        if base.files.is_empty() && !tool.runs_tests() || self.is_new_directory(directory) {
            return Vec::new();
        }
        let is_project = tool.scope == Scope::Project;
        if is_project && head.files.is_empty() && base.files.iter().any(|path| path.ends_with("proj")) {
            return Vec::new();
        }
        if head.files.is_empty() && !tool.runs_tests() && !is_project {
            let known = &base.configuration;
            if known.is_about_versions || compare::only_relaxes(tool, known) {
                return Vec::new();
            }
            let is_replaced = self.new_tools.iter().any(|new| successors::covers(new, tool.name));
            let is_gone = self.lookups.files_in(Side::Head, directory).is_empty() && !directory.is_empty();
            if is_replaced || is_gone {
                return Vec::new();
            }
            return vec![self.removed(tool, base, change)];
        }
        let weakenings = compare::weakenings(tool, &base.configuration, &head.configuration);
        weakenings
            .iter()
            .filter(|weakening| !self.is_about_gone_parts(weakening, directory))
            .filter(|weakening| !self.leaves_out_nothing(tool, weakening, directory))
            .filter(|weakening| !self.is_moved(tool, weakening, directory, versions))
            .filter(|weakening| !self.is_without_tests(tool, weakening, directory))
            .filter(|weakening| !self.is_of_all_tests(tool, weakening, directory))
            .filter(|weakening| !self.is_kept_by_references(tool, weakening, base, head))
            .map(|weakening| self.draft(tool, weakening, change))
            .collect()
    }

    /// Returns whether all that a list has lost is gone from the repository, and the list names the places to which files
    /// of it went; or whether all that a list of what is left out has gained is gone.
    fn is_about_gone_parts(&self, weakening: &Weakening, directory: &str) -> bool {
        !weakening.entries.is_empty()
            && weakening.entries.iter().all(|entry| {
                let path = in_force::joined(directory, entry);
                self.lookups.is_present(Side::Base, &path)
                    && !self.lookups.is_present(Side::Head, &path)
                    && (leaves_out(weakening.direction) || self.is_followed(weakening, entry, directory))
            })
    }

    /// Returns whether the value at head no longer names a part, and names the places to which its files went.
    fn is_followed(&self, weakening: &Weakening, lost: &str, directory: &str) -> bool {
        let named = weakening.head.iter().flat_map(|located| &located.entries);
        let named: Vec<String> =
            named.map(|entry| in_force::joined(directory, entry.text.trim_start_matches("./"))).collect();
        let lost = in_force::joined(directory, lost);
        let mut moved = self.renamed.iter().filter(|file| selection::is_within(&file.from, &lost));
        !named.contains(&lost)
            && moved.all(|file| named.iter().any(|place| selection::is_within(&file.to, place)))
    }

    /// Returns whether all that a list has gained takes nothing away that was looked at: directories that a build writes and
    /// the repository does not have, paths that the base does not have, lockfiles for a formatter, and entries in another
    /// spelling. A pattern that fits such a name anywhere may leave out code below.
    fn leaves_out_nothing(&self, tool: &Tool, weakening: &Weakening, directory: &str) -> bool {
        let known = weakening.base.iter().flat_map(|base| &base.entries);
        let known: Vec<&str> = known.map(|entry| entry.text.trim_matches('/')).collect();
        leaves_out(weakening.direction)
            && !weakening.entries.is_empty()
            && weakening.entries.iter().all(|entry| {
                let path = entry.trim_start_matches("<rootDir>");
                let name = path.trim_matches(|sign| sign == '*' || sign == '/');
                let whole = entry.trim_matches('/');
                let place = in_force::joined(directory, name);
                let is_list = weakening.setting == PATTERNS;
                // Sources may have these names somewhere below.
                let is_told = is_list && whole == name && !matches!(name, "build" | "dist" | "target");
                let is_built = BUILT.contains(&name) && (is_told || is_anchored(tool, weakening, entry));
                let is_path =
                    name.contains('/') && whole.chars().all(|sign| joins(sign) || "-./@".contains(sign));
                let is_moved = self.renamed.iter().any(|file| selection::is_within(&file.to, &place));
                is_built && !self.lookups.is_present(Side::Head, &place)
                    || is_path && is_list && !is_moved && !self.lookups.is_present(Side::Base, &place)
                    || is_list && (LOCKS.contains(&whole) || known.contains(&whole))
            })
    }

    /// Returns whether a file that could not be parsed at the base either is changed, and is neither an example nor a text
    /// that a template engine makes into another one.
    fn is_edited(&self, path: &str) -> bool {
        let is_template = is_example(path) || path.contains("{{");
        !is_template && self.changes.iter().any(|change| change.path(Side::Head) == Some(path))
    }

    /// Returns whether a directory came with the change: nothing in it was looked at before.
    fn is_new_directory(&self, directory: &str) -> bool {
        !directory.is_empty() && !self.lookups.is_present(Side::Base, directory)
    }

    fn removed(&self, tool: &Tool, base: &Found, change: &Change) -> Draft {
        let path = base.files.first().map(String::as_str).unwrap_or_default();
        let summary = format!("configuration of {} is removed", tool.name);
        let owner =
            self.changes.iter().find(|change| change.path(Side::Base) == Some(path)).unwrap_or(change);
        owner
            .on_line(LINT, Side::Base, None, &summary, self.lookups)
            .or_else(|| owner.on_line(LINT, Side::Head, None, &summary, self.lookups))
            .unwrap_or_else(|| Draft::on_file(LINT, &repo_path(path), Side::Base, summary))
    }

    fn unreadable(&self, tool: &Tool, unreadable: &Unreadable, change: &Change) -> Draft {
        // A file of many tools is one fault.
        let summary = match settings::is_shared(&unreadable.path) {
            true => "configuration cannot be parsed".to_owned(),
            false => format!("configuration of {} cannot be parsed", tool.name),
        };
        let owner = self.changes.iter().find(|change| change.path(Side::Head) == Some(&unreadable.path));
        let owner = owner.unwrap_or(change);
        let at = match unreadable.error {
            ReadError::Syntax { at, .. } => Some(Span { start: at, end: at }),
            ReadError::TooLarge | ReadError::TooDeep => None,
        };
        let draft = owner
            .on_line(LINT, Side::Head, at, &summary, self.lookups)
            .or_else(|| owner.on_line(LINT, Side::Head, None, &summary, self.lookups))
            .or_else(|| owner.on_line(LINT, Side::Base, None, &summary, self.lookups));
        let draft =
            draft.unwrap_or_else(|| Draft::on_file(LINT, &repo_path(&unreadable.path), Side::Head, summary));
        draft.with("error", unreadable.error.to_string())
    }

    /// Makes the finding: on the value at head where that is new, else on the value that went, else where the change
    /// brought it about.
    fn draft(&self, tool: &Tool, weakening: &Weakening, change: &Change) -> Draft {
        let rule = match weakening.aspect {
            Aspect::Coverage => COVERAGE,
            Aspect::Lint => LINT,
            Aspect::Tests => TESTS,
            Aspect::Threshold => THRESHOLD,
        };
        let verb = match weakening.head {
            Some(_) => "is weakened",
            None => "is removed",
        };
        let summary = match weakening.setting.as_str() {
            PATTERNS => format!("more paths are ignored by {}", tool.name.trim_end_matches("ignore")),
            setting => format!("`{setting}` of {} {verb}", tool.name),
        };
        let on_head = self.on_value(rule, weakening, Side::Head, &summary);
        let on_base = self.on_value(rule, weakening, Side::Base, &summary);
        let on_value = if self.is_lost_line(weakening) { on_base.or(on_head) } else { on_head.or(on_base) };
        let draft = on_value.unwrap_or_else(|| change.on_any_line(rule, Side::Head, &summary, self.lookups));
        let entries: Vec<String> = weakening.entries.iter().map(|entry| entry.replace('\n', ", ")).collect();
        if entries.is_empty() { draft } else { draft.with("entries", entries) }
    }

    /// Returns whether entries went from a list that had each on a line of its own.
    fn is_lost_line(&self, weakening: &Weakening) -> bool {
        let Some(base) = &weakening.base else { return false };
        let Some(text) = self.lookups.text(Side::Base, &base.path) else { return false };
        let is_lost = base.entries.iter().any(|entry| weakening.entries.contains(&entry.text));
        is_lost && base.span.of(&text).contains('\n')
    }

    /// Makes a draft on the value of one side, or on an entry of it that makes the list weaker.
    fn on_value(
        &self,
        rule: &'static str,
        weakening: &Weakening,
        side: Side,
        summary: &str,
    ) -> Option<Draft> {
        let located = match side {
            Side::Base => weakening.base.as_ref()?,
            Side::Head => weakening.head.as_ref()?,
        };
        let owner = self.changes.iter().find(|change| change.path(side) == Some(&located.path))?;
        let spans = spans_of(weakening, located);
        spans.into_iter().find_map(|span| owner.on_line(rule, side, Some(span), summary, self.lookups))
    }
}

/// Returns whether a list names what is not looked at.
fn leaves_out(direction: Direction) -> bool {
    matches!(direction, Direction::Excludes | Direction::ExcludesBeyond(_))
}

/// Places of the entries that make a list weaker, or of the value.
fn spans_of(weakening: &Weakening, located: &Located) -> Vec<Span> {
    let entries = located.entries.iter().filter(|entry| weakening.entries.contains(&entry.text));
    let mut spans: Vec<Span> = entries.map(|entry| entry.span).collect();
    spans.push(located.span);
    spans
}

/// Returns whether all that a new configuration does is to make its tool look at less.
fn only_silences(tool: &Tool, head: &Found) -> bool {
    let none = compare::InForce::default();
    let weakenings = compare::weakenings(tool, &none, &head.configuration);
    let silencing: BTreeSet<Span> =
        weakenings.iter().filter_map(|weakening| Some(weakening.head.as_ref()?.span)).collect();
    let all: BTreeSet<Span> = head.configuration.values.values().map(|located| located.span).collect();
    !all.is_empty() && silencing == all
}

fn place_of<'p>(tool: &'static Tool, path: &'p str) -> Option<(&'static Place, &'p str)> {
    let place = tool.places.iter().find(|place| place.directory(path).is_some())?;
    Some((place, path))
}

fn directory_of<'p>(tool: &Tool, path: &'p str) -> Option<&'p str> {
    tool.places.iter().find_map(|place| place.directory(path))
}
