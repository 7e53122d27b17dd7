//! Holds attestations against a verified run.

use std::path::Path;

use super::exit::Failure;
use super::verify::Verified;
use crate::store::read_attestation;
use qa_contracts::codes::Code;
use qa_contracts::v1::{Statement, VerificationResult};
use qa_core::attestation::first_difference;

/// Fails unless every statement of a file is that of a run. Returns what the statement says.
pub(super) fn check_attestation(path: &Path, verified: &Verified) -> Result<String, Failure> {
    let attested = read_attestation(path)?;
    let Some(statement) = &verified.statement else {
        let message = "the run does not record the tree of its head, so no statement follows from it";
        return Err(Failure::with_code(Code::ExpectationUnmet, message));
    };
    if let Some(difference) = attested.iter().find_map(|one| first_difference(one, statement)) {
        let message = format!(
            "the {} of the attestation is {}, and that of the run is {}",
            difference.name, difference.in_attestation, difference.in_run
        );
        let hint = "pass the attestation of this run: `gh attestation download` finds it by the run's statement.intoto.json";
        let failure = Failure::with_code(Code::ExpectationUnmet, message);
        return Err(Failure { hint: hint.to_owned(), ..failure });
    }
    Ok(describe(statement))
}

fn describe(statement: &Statement) -> String {
    let signature = "`gh attestation verify` checks who signed it";
    let levels = &statement.predicate.verified_levels;
    match statement.predicate.verification_result {
        VerificationResult::Failed => format!("it is about this run: FAILED; {signature}"),
        VerificationResult::Passed if levels.is_empty() => {
            format!("it is about this run: PASSED without a level; {signature}")
        }
        VerificationResult::Passed => {
            let names: Vec<&str> = levels.iter().map(|level| level.name()).collect();
            format!("it is about this run: PASSED at {}; {signature}", names.join(", "))
        }
    }
}
