//! Projects that leave a solution of Visual Studio while they stay in the repository: nothing builds or tests them.

use std::collections::BTreeMap;

use qa_contracts::v1::{ChangedFile, Side};
use qa_reading::syntax::Span;

use super::in_force::joined;
use super::{LINT, TESTS};
use crate::changes::Change;
use crate::contract::{Draft, Lookups};

/// Returns whether a file is a solution at the base or at head.
pub(super) fn is_changed_solution(file: &ChangedFile) -> bool {
    let names = [Some(&file.path), file.old_path.as_ref()];
    names.into_iter().flatten().any(|path| is_solution(&path.to_text()))
}

fn is_solution(path: &str) -> bool {
    path.ends_with(".slnx") || path.ends_with(".sln")
}

/// Reports projects that no solution of the change or of its directory names any more.
pub(super) fn drafts(changes: &[Change], lookups: &dyn Lookups) -> Vec<Draft> {
    let mut kept = BTreeMap::new();
    for change in changes {
        for side in [Side::Base, Side::Head] {
            let Some(path) = change.path(side).filter(|path| is_solution(path)) else { continue };
            let directory = path.rsplit_once('/').map(|(directory, _)| directory).unwrap_or_default();
            let names = lookups.files_in(Side::Head, directory).into_iter();
            let beside = names.map(|name| joined(directory, &name)).filter(|path| is_solution(path));
            let own = change.path(Side::Head).map(str::to_owned);
            for solution in beside.chain(own) {
                kept.extend(projects(&solution, Side::Head, lookups));
            }
        }
    }
    let mut drafts = Vec::new();
    for change in changes {
        let Some(path) = change.path(Side::Base).filter(|path| is_solution(path)) else { continue };
        for (project, span) in projects(path, Side::Base, lookups) {
            if kept.contains_key(&project) || !lookups.is_present(Side::Head, &project) {
                continue;
            }
            let name = project.to_lowercase();
            let is_of_tests = name.contains("test") || name.contains("spec");
            let rule = if is_of_tests { TESTS } else { LINT };
            let summary = "project is removed from the solution";
            let draft = change
                .on_line(rule, Side::Base, Some(span), summary, lookups)
                .unwrap_or_else(|| change.on_any_line(rule, Side::Head, summary, lookups));
            drafts.push(draft.with("project", project));
        }
    }
    drafts
}

/// Returns the projects that a solution names, by their paths in the repository, with the places of the names.
fn projects(solution: &str, side: Side, lookups: &dyn Lookups) -> BTreeMap<String, Span> {
    let mut found = BTreeMap::new();
    let Some(text) = lookups.text(side, solution) else { return found };
    let directory = solution.rsplit_once('/').map(|(directory, _)| directory).unwrap_or_default();
    let mut start = 0;
    for (position, quoted) in text.split(['"', '\'']).enumerate() {
        let span = Span { start, end: start + quoted.len() };
        start = span.end + 1;
        let is_named = position > 0 && quoted.ends_with("proj") && !quoted.contains('\n');
        if is_named {
            let path = quoted.replace('\\', "/");
            found.insert(joined(directory, path.trim_start_matches("./")), span);
        }
    }
    found
}
