//! `qa-skill observe`: prints the ledger of a pull request. `verify --ledger` holds its last turn against a run.

use std::path::{Path, PathBuf};

use clap::Args;

use super::console;
use super::exit::{Exit, Failure};
use super::verify::Verified;
use crate::store::{Entry, read_ledger};
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::{LedgerTurn, ObserverMode, RecordedObserver};
use qa_core::escape::without_runner_commands;
use qa_core::masking::sanitize;

#[derive(Args)]
pub(crate) struct ObserveArgs {
    /// The ledger: the observer-ledger.json that was written beside the last run of a pull request
    #[arg(long, value_name = "FILE")]
    ledger: PathBuf,
    /// Output format: a table of the turns, the ledger itself, or one self-contained page
    #[arg(long, value_parser = ["text", "json", "html"], default_value = "text")]
    format: String,
}

/// Prints a ledger whose chain holds.
pub(crate) fn observe(arguments: &ObserveArgs) -> Result<Exit, Failure> {
    let ledger = read_ledger(&arguments.ledger)?;
    let bytes = match arguments.format.as_str() {
        "json" => Entry::artifact(&ledger)?.bytes(),
        "html" => qa_formats::html::ledger::page(&ledger).into_bytes(),
        _ => without_runner_commands(&qa_formats::ledger::text(&ledger)).into_bytes(),
    };
    console::write_stdout(&bytes).map(|()| Exit::Pass)
}

/// A property that a run and the turn of a ledger have both.
struct Property {
    name: &'static str,
    in_ledger: String,
    in_run: String,
}

/// Checks that the last turn of a ledger is about a verified run, and describes it.
pub(super) fn check_last_turn(path: &Path, verified: &Verified) -> Result<String, Failure> {
    let ledger = read_ledger(path)?;
    let entry = ledger.entries.last().expect("a ledger that was read has an entry");
    let turn = &entry.turn;
    let mut properties = vec![Property {
        name: "repository",
        in_ledger: ledger.repo_id.clone(),
        in_run: verified.input.repo_id.clone(),
    }];
    properties.extend(properties_of(turn, verified));
    if let Some(Property { name, in_ledger, in_run }) =
        properties.into_iter().find(|property| property.in_ledger != property.in_run)
    {
        let (in_ledger, in_run) = (sanitize(&in_ledger), sanitize(&in_run));
        let message = format!(
            "the {name} of turn {} of the ledger is {in_ledger}, and that of the run is {in_run}",
            turn.number
        );
        let hint = "pass the ledger that was written beside this run, or verify the run of the ledger's last turn; \
                    `qa-skill observe --ledger FILE` prints the turns";
        let failure = Failure::with_code(Code::ExpectationUnmet, message);
        return Err(Failure { hint: hint.to_owned(), ..failure });
    }
    Ok(format!("the run is turn {}, whose digest is {}", turn.number, entry.digest))
}

fn properties_of(turn: &LedgerTurn, verified: &Verified) -> [Property; 8] {
    let (input, hashes) = (&verified.input, &verified.run.hashes);
    // A run without an observer defers nothing.
    let observer = verified.config_preimage.observer.clone();
    let observer =
        observer.unwrap_or(RecordedObserver { mode: ObserverMode::CrossCheck, deferred: Vec::new() });
    let listed_plans = &observer.deferred[..observer.deferred.len().min(turn.deferred.len())];
    let plans_beyond = (observer.deferred.len() - listed_plans.len()) as u64;
    let merge_bases: Vec<CommitId> =
        [&input.merge_base_sha].into_iter().chain(&input.other_merge_bases).cloned().collect();
    let listed = &merge_bases[..merge_bases.len().min(turn.merge_bases.len())];
    let beyond = (merge_bases.len() - listed.len()) as u64;
    [
        Property {
            name: "execution key",
            in_ledger: turn.execution_key.to_string(),
            in_run: hashes.execution_key.to_string(),
        },
        Property {
            name: "run digest",
            in_ledger: turn.run_digest.to_string(),
            in_run: hashes.run_digest.to_string(),
        },
        Property { name: "base", in_ledger: turn.base_sha.to_string(), in_run: input.base_sha.to_string() },
        Property {
            name: "merge base",
            in_ledger: enumerate(turn.merge_bases.iter().map(CommitId::as_str), turn.merge_bases_unlisted),
            in_run: enumerate(listed.iter().map(CommitId::as_str), beyond),
        },
        Property { name: "head", in_ledger: turn.head_sha.to_string(), in_run: input.head_sha.to_string() },
        Property { name: "mode", in_ledger: turn.mode.to_string(), in_run: observer.mode.to_string() },
        Property {
            name: "list of deferred plans",
            in_ledger: enumerate(turn.deferred.iter().map(String::as_str), turn.deferred_unlisted),
            in_run: enumerate(listed_plans.iter().map(String::as_str), plans_beyond),
        },
        Property {
            name: "conclusion",
            in_ledger: turn.conclusion.to_string(),
            in_run: verified.conclusion.to_string(),
        },
    ]
}

/// Lists words, with the number of those that a ledger does not list.
fn enumerate<'w>(words: impl Iterator<Item = &'w str>, unlisted: u64) -> String {
    let listed = words.collect::<Vec<_>>().join(", ");
    match unlisted {
        0 => listed,
        unlisted => format!("{listed} and {unlisted} more"),
    }
}
