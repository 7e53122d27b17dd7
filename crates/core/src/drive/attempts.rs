//! Attempts of drives on GitHub: each is a workflow run, whose name says what it drives.
//!
//! A run keeps its name, so names are what attempts are counted by; who may write to the repository can delete runs. A workflow takes
//! the name from its inputs, with `run-name`.

use qa_contracts::ids::CommitId;

/// Start of the names of branches with results of drives.
pub const BRANCH_PREFIX: &str = "qa/fix-";

/// A workflow run that was started by hand.
#[derive(Debug, Clone, Copy)]
pub struct NamedDrive<'a> {
    pub name: &'a str,
    /// Number of its attempts.
    pub attempts: u64,
}

/// Numbers of attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attempts {
    /// Those about the pull request.
    pub of_pull_request: u64,
    /// Those among them about its head, or about a head that the name does not have.
    pub of_head: u64,
}

/// Returns the name of the workflow run that drives a head of a pull request.
pub fn run_name(pull_request: u64, head: &CommitId) -> String {
    format!("{}{head}", start_of_name(pull_request))
}

/// Returns whether a workflow run is about a pull request.
pub fn is_about(name: &str, pull_request: u64) -> bool {
    name == start_of_name(pull_request).trim_end() || name.starts_with(&start_of_name(pull_request))
}

/// Counts attempts about a pull request and about its head.
pub fn count<'a>(
    runs: impl IntoIterator<Item = NamedDrive<'a>>,
    pull_request: u64,
    head: &CommitId,
) -> Attempts {
    let start = start_of_name(pull_request);
    let mut counted = Attempts::default();
    for run in runs.into_iter().filter(|run| is_about(run.name, pull_request)) {
        counted.of_pull_request = counted.of_pull_request.saturating_add(run.attempts);
        let rest = run.name.strip_prefix(&start).unwrap_or_default().trim();
        // Everything that is not another commit may be about this head.
        let is_other = CommitId::parse(rest).is_ok_and(|named| named != *head);
        if !is_other {
            counted.of_head = counted.of_head.saturating_add(run.attempts);
        }
    }
    counted
}

/// Returns the name of the branch with the result of a drive.
pub fn branch_name(pull_request: u64, result: &CommitId) -> String {
    format!("{BRANCH_PREFIX}{pull_request}-{}", result.short())
}

fn start_of_name(pull_request: u64) -> String {
    format!("drive #{pull_request} at ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_counted_by_names_of_runs() {
        let [head, other] = ["a1", "b2"].map(|two| CommitId::parse(&two.repeat(20)).unwrap());
        let names = [run_name(7, &head), run_name(7, &other), run_name(71, &head), "drive #7 at".to_owned()];
        let runs = names.iter().map(|name| NamedDrive { name, attempts: 1 });
        assert_eq!(count(runs, 7, &head), Attempts { of_pull_request: 3, of_head: 2 });
        let odd = ["drive #7 at  ".to_owned() + head.as_str(), "drive #7 at HEAD".to_owned()];
        let runs = odd.iter().map(|name| NamedDrive { name, attempts: 1 });
        assert_eq!(count(runs, 7, &head), Attempts { of_pull_request: 2, of_head: 2 });
        let again = [NamedDrive { name: &names[0], attempts: 4 }, NamedDrive { name: "drive", attempts: 1 }];
        assert_eq!(count(again, 7, &head), Attempts { of_pull_request: 4, of_head: 4 });
        assert_eq!(count([], 7, &head), Attempts::default());
        assert!(is_about("drive #7 at ", 7) && is_about("drive #7 at", 7) && !is_about("drive #7", 7));
    }
}
