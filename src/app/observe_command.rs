//! `qa-skill observe`: prints the ledger of a pull request. `verify --ledger` holds its last turn against a run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;

use super::console;
use super::exit::{Exit, Failure};
use super::pull_request::recorded_pull_request;
use super::verify::Verified;
use crate::store::{Entry, read_ledger};
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::{LedgerTurn, LensPlanList, ObserverMode};
use qa_core::escape::without_runner_commands;
use qa_core::masking::sanitize;
use qa_core::observer::deferred_plans;

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
    let mut properties = vec![
        Property {
            name: "repository",
            in_ledger: ledger.repo_id.clone(),
            in_run: verified.input.repo_id.clone(),
        },
        Property {
            name: "pull request",
            in_ledger: number_or_none(ledger.pull_request),
            in_run: number_or_none(recorded_pull_request(&verified.input.settings)),
        },
    ];
    let plans = verified.run.artifact::<LensPlanList>()?.lens_plans;
    properties.extend(properties_of(turn, verified, &deferred_plans(&plans)));
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

fn number_or_none(number: Option<u64>) -> String {
    number.map_or_else(|| "none".to_owned(), |number| number.to_string())
}

fn properties_of(turn: &LedgerTurn, verified: &Verified, deferred: &BTreeSet<String>) -> [Property; 8] {
    let (input, hashes) = (&verified.input, &verified.run.hashes);
    // A run without an observer judges everything.
    let mode = match &verified.config_preimage.observer {
        Some(observer) => observer.mode,
        None => ObserverMode::CrossCheck,
    };
    let listed_plans = deferred.iter().take(turn.deferred.len());
    let plans_beyond = deferred.len().saturating_sub(turn.deferred.len()) as u64;
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
        Property { name: "mode", in_ledger: turn.mode.to_string(), in_run: mode.to_string() },
        Property {
            name: "list of deferred plans",
            in_ledger: enumerate(turn.deferred.iter().map(String::as_str), turn.deferred_unlisted),
            in_run: enumerate(listed_plans.map(String::as_str), plans_beyond),
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
