//! Reads the answer of an agent: the last line of its output, or what its exit stands for.

use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{DispatchOutcome, DispatchResult, DriveExit};
use qa_contracts::{schema, strict_json};

/// Name of the schema, by which a line is taken for an answer.
const SCHEMA: &str = "dispatch-result.v1";

/// Maximum number of characters of a summary.
const MOST_CHARACTERS: usize = 4000;

/// Returns the answer in an output, or the one that the exit stands for. The error says why a line that is meant as an answer is
/// none.
pub fn answer(output: &str, exit: &DriveExit, envelope: &Sha256Hex) -> Result<DispatchResult, String> {
    let last = output.lines().rev().map(str::trim).find(|line| !line.is_empty());
    match last.filter(|line| line.starts_with('{') && line.contains(SCHEMA)) {
        Some(line) => {
            let stated = parse(line)?;
            if stated.envelope_id != *envelope {
                return Err("it answers another envelope".to_owned());
            }
            Ok(match exit.code {
                Some(0) => stated,
                Some(_) | None => DispatchResult { outcome: DispatchOutcome::Failed, ..stated },
            })
        }
        None => Ok(by_exit(exit, envelope)),
    }
}

fn parse(line: &str) -> Result<DispatchResult, String> {
    let value = strict_json::parse(line.as_bytes()).map_err(|error| error.to_string())?;
    let schema = schema::find(SCHEMA).ok_or("no schema")?;
    match schema.faults(&value).into_iter().next() {
        Some(fault) => Err(format!("#{}: {}", fault.pointer, fault.message)),
        None => serde_json::from_value(value).map_err(|error| error.to_string()),
    }
}

/// Returns the answer of a model.
pub fn by_model(outcome: DispatchOutcome, summary: &str, envelope: &Sha256Hex) -> DispatchResult {
    DispatchResult {
        schema_version: Default::default(),
        envelope_id: envelope.clone(),
        outcome,
        summary: summary.chars().take(MOST_CHARACTERS).collect(),
        expected: String::new(),
    }
}

/// Returns the answer of an agent that gives none.
pub fn by_exit(exit: &DriveExit, envelope: &Sha256Hex) -> DispatchResult {
    DispatchResult {
        schema_version: Default::default(),
        envelope_id: envelope.clone(),
        outcome: match exit.code {
            Some(0) => DispatchOutcome::Done,
            Some(_) | None => DispatchOutcome::Failed,
        },
        summary: String::new(),
        expected: String::new(),
    }
}
