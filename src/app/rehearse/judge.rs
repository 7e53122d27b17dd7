//! Judges a case against the undisturbed run of the same change.

use std::collections::BTreeMap;

use super::cases::Case;
use super::step::Observed;
use crate::app::exit::{Exit, Failure};
use qa_contracts::artifact::Artifact;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{FinalVerdict, QaReport, RecordedExecution};

/// The undisturbed run of a change.
pub(super) struct Reference {
    pub(super) observed: Observed,
    /// Files that all such runs share. Outputs of models differ from run to run, the verdict does not.
    proof: BTreeMap<String, Sha256Hex>,
}

/// Effect of a fault on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    /// The conclusion of the undisturbed run, with the same proof.
    Same,
    /// No conclusion.
    NoVerdict,
    /// A failure where the undisturbed run passes.
    FailByFault,
    /// A pass that the undisturbed run does not have, or without its proof.
    PassByFault,
    /// No call met the fault.
    NotMet,
    /// The process did not end in time.
    NoEnd,
}

impl Judgement {
    pub(super) const ALL: [Self; 6] =
        [Self::Same, Self::NoVerdict, Self::FailByFault, Self::PassByFault, Self::NotMet, Self::NoEnd];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::NoVerdict => "no verdict",
            Self::FailByFault => "FAIL by fault",
            Self::PassByFault => "PASS by fault",
            Self::NotMet => "not met",
            Self::NoEnd => "no end",
        }
    }

    /// Returns whether the case shows anything.
    pub(super) fn is_known(self) -> bool {
        !matches!(self, Self::NotMet | Self::NoEnd)
    }
}

impl Reference {
    /// Fails if two undisturbed runs have no verdict, or not the same: then no fault could change it.
    pub(super) fn new(observed: Observed, again: &Observed) -> Result<Self, Failure> {
        let proof = shared(&observed.files, &again.files);
        let is_verdict = matches!(observed.exit, Some(0 | 1)) && observed.exit == again.exit;
        if is_verdict
            && observed.passed() == (observed.exit == Some(0))
            && proof.contains_key(FinalVerdict::FILE)
        {
            return Ok(Self { observed, proof });
        }
        let message = format!(
            "the undisturbed run has no verdict: exit {:?}, check run {}\n{}",
            observed.exit, observed.check, observed.stderr
        );
        let hint = "rehearse a policy by which a change of one text file passes, with the toolchains that it names installed";
        Err(Failure { exit: Exit::CouldNotComplete, ..Failure::usage(message, hint) })
    }

    pub(super) fn judge(&self, case: &Case, observed: &Observed) -> Judgement {
        let is_proved = self.proof.iter().all(|(path, digest)| observed.files.get(path) == Some(digest));
        let is_same = is_proved && observed.is_uploaded;
        if observed.passed() && !(is_same && self.observed.passed()) {
            return Judgement::PassByFault;
        }
        if observed.is_late {
            return Judgement::NoEnd;
        }
        if !observed.calls.iter().any(|call| case.struck_by(call)) {
            return Judgement::NotMet;
        }
        if observed.failed() && self.observed.passed() {
            return Judgement::FailByFault;
        }
        if observed.passed() || observed.failed() { Judgement::Same } else { Judgement::NoVerdict }
    }
}

/// Returns the files that every undisturbed run has, by two of them. The times that commands took are equal in two runs by
/// chance, so what holds them is left out.
fn shared(
    one: &BTreeMap<String, Sha256Hex>,
    other: &BTreeMap<String, Sha256Hex>,
) -> BTreeMap<String, Sha256Hex> {
    let mut files = one.clone();
    files.retain(|path, digest| other.get(path) == Some(digest));
    if one.contains_key(RecordedExecution::FILE) {
        for timed in [RecordedExecution::FILE, QaReport::FILE] {
            files.remove(timed);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_core::canonical;

    fn files(all: &[(&str, &str)]) -> BTreeMap<String, Sha256Hex> {
        all.iter().map(|(path, text)| ((*path).to_owned(), canonical::sha256(text.as_bytes()))).collect()
    }

    #[test]
    fn runs_share_what_is_equal_and_holds_no_times_of_commands() {
        let (verdict, report, recording) = (FinalVerdict::FILE, QaReport::FILE, RecordedExecution::FILE);
        let plain = files(&[(verdict, "a"), (report, "b")]);
        let other = files(&[(verdict, "a"), (report, "c")]);
        let timed = files(&[(verdict, "a"), (report, "b"), (recording, "8 ms")]);
        assert!(shared(&plain, &plain).keys().eq([verdict, report]));
        assert!(shared(&plain, &other).keys().eq([verdict]));
        assert!(shared(&timed, &timed).keys().eq([verdict]));
    }
}
