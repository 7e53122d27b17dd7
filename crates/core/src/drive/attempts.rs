//! Attempts of drives on GitHub: each is a workflow run, whose name says what it drives.
//!
//! A run keeps its name, so names are what attempts are counted by; who may write to the repository can delete runs. A workflow takes
//! the name from its inputs, with `run-name`. A run that goes on with a drive that waited for a person is part of that drive, once.

use std::collections::BTreeSet;
use std::fmt;

use qa_contracts::ids::{CommitId, Sha256Hex};

/// Start of the names of branches with results of drives.
pub const BRANCH_PREFIX: &str = "qa/fix-";

/// A workflow run that was started by hand.
#[derive(Debug, Clone, Copy)]
pub struct NamedDrive<'a> {
    /// Id of the run. Later runs have greater ones.
    pub id: u64,
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

/// Stored session that waits for a person, written as `RUN@SHA256`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingSession {
    /// Id of the workflow run that stored it.
    pub run: u64,
    /// Digest of the session.
    pub digest: Sha256Hex,
}

impl WaitingSession {
    /// Parses the written form.
    pub fn parse(text: &str) -> Option<Self> {
        let (run, digest) = text.split_once('@')?;
        let session = Self { run: run.parse().ok()?, digest: Sha256Hex::parse(digest).ok()? };
        (session.to_string() == text).then_some(session)
    }
}

impl fmt::Display for WaitingSession {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", self.run, self.digest)
    }
}

/// Separates the head in the name of a run from the session that it goes on with.
const GOES_ON: &str = " from ";

/// Returns the name of the workflow run that drives a head of a pull request, or that goes on with a drive of it.
pub fn run_name(pull_request: u64, head: &CommitId, session: Option<&WaitingSession>) -> String {
    let start = start_of_name(pull_request);
    match session {
        Some(session) => format!("{start}{head}{GOES_ON}{session}"),
        None => format!("{start}{head}"),
    }
}

/// Returns the session that a workflow run goes on with, by its name.
pub fn session_of(name: &str) -> Option<WaitingSession> {
    WaitingSession::parse(name.split_once(GOES_ON)?.1.trim_end())
}

/// Returns whether a workflow run is about a pull request.
pub fn is_about(name: &str, pull_request: u64) -> bool {
    name == start_of_name(pull_request).trim_end() || name.starts_with(&start_of_name(pull_request))
}

/// Counts attempts about a pull request and about its head. The first attempt of the first run that goes on with the session of an
/// earlier run is part of the drive of that one; all others count.
pub fn count<'a>(
    runs: impl IntoIterator<Item = NamedDrive<'a>>,
    pull_request: u64,
    head: &CommitId,
) -> Attempts {
    let start = start_of_name(pull_request);
    let mut counted = Attempts::default();
    let mut runs: Vec<NamedDrive<'a>> =
        runs.into_iter().filter(|run| is_about(run.name, pull_request)).collect();
    runs.sort_by_key(|run| run.id);
    let (mut earlier, mut continued) = (BTreeSet::new(), BTreeSet::new());
    for run in runs {
        let session = session_of(run.name).filter(|session| earlier.contains(&session.run));
        let is_part = session.is_some_and(|session| continued.insert(session.run));
        earlier.insert(run.id);
        let attempts = run.attempts.saturating_sub(u64::from(is_part));
        counted.of_pull_request = counted.of_pull_request.saturating_add(attempts);
        let rest = run.name.strip_prefix(&start).unwrap_or_default();
        let named = rest.split_once(GOES_ON).map_or(rest, |(head, _)| head).trim();
        // Everything that is not another commit may be about this head.
        let is_other = CommitId::parse(named).is_ok_and(|named| named != *head);
        if !is_other {
            counted.of_head = counted.of_head.saturating_add(attempts);
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
        let names = [
            run_name(7, &head, None),
            run_name(7, &other, None),
            run_name(71, &head, None),
            "drive #7 at".to_owned(),
        ];
        let runs = names.iter().zip(1..).map(|(name, id)| NamedDrive { id, name, attempts: 1 });
        assert_eq!(count(runs, 7, &head), Attempts { of_pull_request: 3, of_head: 2 });
        let odd = ["drive #7 at  ".to_owned() + head.as_str(), "drive #7 at HEAD".to_owned()];
        let runs = odd.iter().zip(1..).map(|(name, id)| NamedDrive { id, name, attempts: 1 });
        assert_eq!(count(runs, 7, &head), Attempts { of_pull_request: 2, of_head: 2 });
        let again = [
            NamedDrive { id: 1, name: &names[0], attempts: 4 },
            NamedDrive { id: 2, name: "drive", attempts: 1 },
        ];
        assert_eq!(count(again, 7, &head), Attempts { of_pull_request: 4, of_head: 4 });
        assert_eq!(count([], 7, &head), Attempts::default());
        assert!(is_about("drive #7 at ", 7) && is_about("drive #7 at", 7) && !is_about("drive #7", 7));
    }

    #[test]
    fn a_run_that_goes_on_is_part_of_its_drive_once() {
        let head = CommitId::parse(&"a1".repeat(20)).unwrap();
        let session = |run| WaitingSession { run, digest: Sha256Hex::parse(&"0f".repeat(32)).unwrap() };
        let name = |from: Option<u64>| run_name(7, &head, from.map(session).as_ref());
        let counted = |runs: &[(u64, Option<u64>, u64)]| {
            let names: Vec<String> = runs.iter().map(|(_, from, _)| name(*from)).collect();
            let runs = runs.iter().zip(&names);
            count(
                runs.map(|((id, _, attempts), name)| NamedDrive { id: *id, name, attempts: *attempts }),
                7,
                &head,
            )
        };
        let both = |number| Attempts { of_pull_request: number, of_head: number };
        // The order of the list has no part in it.
        assert_eq!(counted(&[(3, Some(2), 1), (2, Some(1), 1), (1, None, 1)]), both(1));
        // A second run from the same session, another attempt of a run, and one from a run that is none of these.
        assert_eq!(counted(&[(1, None, 1), (2, Some(1), 1), (3, Some(1), 1)]), both(2));
        assert_eq!(counted(&[(1, None, 1), (2, Some(1), 3)]), both(3));
        assert_eq!(counted(&[(1, None, 1), (3, Some(9), 1), (4, Some(5), 1), (5, Some(5), 1)]), both(4));
        assert_eq!(session_of(&name(Some(4))), Some(session(4)));
        for text in ["4", "4@ab", "04@0f", "@", "x@y"] {
            assert_eq!(WaitingSession::parse(text), None, "{text}");
        }
        assert_eq!(session_of(&name(None)), None);
    }
}
