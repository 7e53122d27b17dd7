//! Checks that the reports of a gate cover the changed files that its tools are for.

use std::collections::BTreeMap;

use super::{Evidence, GateOutcome, GateReport};
use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangedFile, GateLook, GateName, Scope};
use qa_core::classify::PathSet;
use qa_core::escape::harmless;
use qa_gates::contract::ToolSpec;

/// Maximum number of omitted files that a message names.
const MOST_NAMED: usize = 5;

/// Files that a report covers.
pub(crate) struct ReportScope {
    pub(crate) tool: &'static ToolSpec,
    /// Directory that the report is about; empty for the root.
    pub(crate) directory: String,
    /// Globs of the policy; `None` for all files below the directory.
    pub(crate) covers: Option<PathSet>,
}

impl ReportScope {
    /// Returns the scope of a report by its settings in the policy. The policy's globs were checked when it was read.
    pub(crate) fn new(tool: &'static ToolSpec, directory: &str, covers: &[String]) -> Self {
        let covers = (!covers.is_empty())
            .then(|| PathSet::new(covers.iter().map(String::as_str)).expect("the policy has valid globs"));
        Self { tool, directory: directory.to_owned(), covers }
    }

    /// Returns whether the tool is for a file, where it ran. Of a tool that is not known the policy says it.
    fn is_for(&self, path: &RepoPath) -> bool {
        if self.tool.is_generic() {
            return self.covers.as_ref().is_some_and(|covers| covers.matches(path));
        }
        path.is_below(&self.directory) && self.tool.is_for(path)
    }
}

impl GateReport {
    fn look(&self, path: &RepoPath) -> GateLook {
        match (&self.judged.report.looked_at, &self.scope.covers) {
            (Some(files), _) if files.contains(path) => GateLook::Listed,
            (None, Some(covers)) if covers.matches(path) => GateLook::Declared,
            (None, None) => GateLook::Declared,
            (Some(_), _) | (None, Some(_)) => GateLook::Omitted,
        }
    }
}

impl GateOutcome {
    /// Records the gate's looks at changed files, and fails if a file was omitted.
    pub(super) fn check_scope(&mut self, gate: GateName, reports: &[GateReport], evidence: &Evidence<'_>) {
        let Some(settings) = evidence.policy.gates.get(&gate) else { return };
        let except =
            PathSet::new(settings.except.iter().map(String::as_str)).expect("the policy has valid globs");
        for file in evidence.change_set.files.iter().filter(|file| is_checkable(file)) {
            let looks = reports.iter().filter(|report| report.scope.is_for(&file.path));
            let Some(look) = looks.map(|report| report.look(&file.path)).min() else { continue };
            let is_excepted = look == GateLook::Omitted && except.matches(&file.path);
            self.looks.insert(file.path.clone(), if is_excepted { GateLook::Excepted } else { look });
        }
        let omitted = self.paths(GateLook::Omitted);
        if !omitted.is_empty() {
            let problem = format!("no report covers {}, which the change touches", named(&omitted));
            self.fail(gate.as_str(), Code::GateScopeIncomplete, &problem);
        }
        let declared = self.paths(GateLook::Declared);
        if !declared.is_empty() {
            self.summary.push(format!(
                "that the tool looked at {} is only declared: the format of its report lists no files",
                named(&declared)
            ));
        }
    }

    fn paths(&self, look: GateLook) -> Vec<&RepoPath> {
        self.looks.iter().filter(|(_, found)| **found == look).map(|(path, _)| path).collect()
    }
}

/// Returns whether tools look at a file: a regular file at head that is neither generated nor vendored.
fn is_checkable(file: &ChangedFile) -> bool {
    let is_regular = matches!(file.new_mode.as_deref(), Some(mode) if mode.starts_with("100"));
    is_regular
        && match file.scope {
            Scope::Product | Scope::Test | Scope::Docs => true,
            Scope::Generated | Scope::Vendored => false,
        }
}

/// Names the first files of a list.
fn named(paths: &[&RepoPath]) -> String {
    let first: Vec<String> = paths.iter().take(MOST_NAMED).map(|path| harmless(&path.to_text())).collect();
    match paths.len().saturating_sub(MOST_NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more files", first.join(", ")),
    }
}

/// Looks of one gate at changed files.
pub(crate) type Looks = BTreeMap<RepoPath, GateLook>;
