//! Reasons why a finding does not block although its rule does, by its codes.

use qa_contracts::codes::Code;

/// Each code that keeps a finding from blocking, with its reason.
const REASONS: &[(Code, &str)] = &[
    (Code::EvidenceUnverified, "the quoted text was not found at that location, so it cannot block"),
    (Code::ReviewRejected, "the confirming model and the review's own reject it"),
    (Code::ReviewUnstable, "the confirming model and the review's own disagree about it"),
    (Code::ReviewLate, "an earlier review of the same lines did not report it"),
    (Code::ReviewNotAgreed, "too few of the model's answers have it"),
];

/// Returns the reason that codes of a finding give, or `None` if none of them keeps it from blocking.
pub(crate) fn reason(codes: &[Code]) -> Option<&'static str> {
    REASONS.iter().find(|(code, _)| codes.contains(code)).map(|(_, reason)| *reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_its_reason_and_other_codes_have_none() {
        for (code, expected) in REASONS {
            assert_eq!(reason(&[Code::WaiverExpired, *code]), Some(*expected));
        }
        assert_eq!(reason(&[Code::WaiverExpired]), None);
    }
}
