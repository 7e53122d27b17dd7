//! The jobs of a workflow: which are new as a whole and which are gone.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// A job: its name and its lines, from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Job<'a> {
    pub(super) name: &'a str,
    pub(super) lines: RangeInclusive<u64>,
}

/// The jobs below `jobs:`, in order; empty for a workflow that is written in another way.
pub(super) fn jobs(text: &str) -> Vec<Job<'_>> {
    let mut found: Vec<Job<'_>> = Vec::new();
    let mut depth: Option<usize> = None;
    let mut inside = false;
    for (number, line) in (1..).zip(text.lines()) {
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if indent == 0 {
            inside = text.trim_end_matches(' ') == "jobs:";
            depth = None;
            continue;
        }
        if !inside {
            continue;
        }
        let own = *depth.get_or_insert(indent);
        if indent == own
            && let Some((name, _)) = text.split_once(':')
        {
            found.push(Job { name: name.trim_matches(['"', '\'']), lines: number..=number });
        } else if let Some(job) = found.last_mut() {
            job.lines = *job.lines.start()..=number;
        }
    }
    found
}

/// The lines of jobs that only the new version has and of which no line stood there before.
pub(super) fn new_lines(base: &str, head: &str, added: &BTreeSet<u64>) -> BTreeSet<u64> {
    let before: BTreeSet<&str> = jobs(base).iter().map(|job| job.name).collect();
    let text: Vec<&str> = head.lines().collect();
    let blank = |number: u64| text.get(number as usize - 1).is_none_or(|line| line.trim().is_empty());
    jobs(head)
        .into_iter()
        .filter(|job| !before.contains(job.name))
        .filter(|job| job.lines.clone().all(|number| added.contains(&number) || blank(number)))
        .flat_map(|job| job.lines)
        .collect()
}

/// Whether a job of the old version has no successor of its name.
pub(super) fn any_gone(base: &str, head: &str) -> bool {
    let after: BTreeSet<&str> = jobs(head).iter().map(|job| job.name).collect();
    jobs(base).iter().any(|job| !after.contains(job.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "on: push\njobs:\n  a:\n    steps: []\n";
    const NEW: &str =
        "on: push\njobs:\n  a:\n    steps: []\n\n  # Other.\n  b:\n    steps: []\n\nenv:\n  c: d\n";

    #[test]
    fn jobs_are_found_by_depth() {
        assert_eq!(jobs(NEW), [Job { name: "a", lines: 3..=4 }, Job { name: "b", lines: 7..=8 }]);
    }

    #[test]
    fn a_job_is_new_when_all_of_it_is() {
        assert_eq!(new_lines(OLD, NEW, &(5..=11).collect()), BTreeSet::from([7, 8]));
        assert!(new_lines(OLD, NEW, &BTreeSet::from([7])).is_empty());
        assert!(!any_gone(OLD, NEW) && any_gone(NEW, OLD));
    }
}
