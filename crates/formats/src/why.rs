//! The reason why a finding blocks or does not, in one sentence, and the message of a finding that has it.

use crate::common::{counted, evidence_text, is_on_base, message_lines, note, without_blanks};
use qa_contracts::v1::{Finding, FindingOrigin, Scope, Strength};
use qa_core::escape::{visible, visible_cut};

/// Returns the reason why a finding blocks or does not where the heading above it does not say as much: that its rule does.
pub(crate) fn special_reason(finding: &Finding) -> Option<String> {
    let reason = why(finding);
    (reason != PLAIN_BLOCK && reason != PLAIN_ADVICE).then_some(reason)
}

const PLAIN_BLOCK: &str = "blocks: the rule blocks";
const PLAIN_ADVICE: &str = "does not block: the rule is advisory";

/// Returns one sentence about the reason why a finding blocks or does not.
pub(crate) fn why(finding: &Finding) -> String {
    if finding.blocking {
        return format!("blocks: {}", why_blocks(finding));
    }
    let because = if let Some(waiver) = &finding.waiver {
        format!("waived by {} until {}: {}", waiver.owner, waiver.expires, waiver.reason)
    } else if let Some(reason) = crate::doubt::reason(&finding.codes) {
        reason.to_owned()
    } else if finding.origin == FindingOrigin::PreExisting {
        "pre-existing, the base has the same text".to_owned()
    } else {
        why_advises(finding)
    };
    format!("does not block: {because}")
}

fn why_blocks(finding: &Finding) -> String {
    let scope = finding.scope;
    match (finding.strength, &finding.ratchet) {
        (Strength::Block, _) => format!("the rule blocks{}", in_scope(scope)),
        (Strength::Ratchet, Some(ratchet)) => format!(
            "{} of {} places at the base comply, and the ratchet needs {}",
            ratchet.complying,
            ratchet.support,
            percent(ratchet.theta_permille)
        ),
        (Strength::Ratchet | Strength::Advise | Strength::Off, _) => {
            format!("severity {} reaches the policy's blocking threshold", finding.severity)
        }
    }
}

fn why_advises(finding: &Finding) -> String {
    let scope = finding.scope;
    match (finding.strength, &finding.ratchet) {
        (Strength::Ratchet, Some(ratchet)) if ratchet.support < ratchet.min_support => format!(
            "the base has {} to compare with, and the ratchet needs {}",
            counted(usize::try_from(ratchet.support).unwrap_or(usize::MAX), "place"),
            ratchet.min_support
        ),
        (Strength::Ratchet, Some(ratchet)) => format!(
            "{} of {} places at the base comply, and the ratchet needs {}",
            ratchet.complying,
            ratchet.support,
            percent(ratchet.theta_permille)
        ),
        (Strength::Ratchet, None) => "the base has no place for the ratchet to compare with".to_owned(),
        (Strength::Block, _) => "below the policy's blocking threshold".to_owned(),
        (Strength::Advise | Strength::Off, _) => format!("the rule is advisory{}", in_scope(scope)),
    }
}

/// Names a scope whose files are judged differently. Product is the scope of all others, such as workflows.
fn in_scope(scope: Scope) -> String {
    if scope == Scope::Product { String::new() } else { format!(" in {scope} files") }
}

fn percent(permille: u16) -> String {
    match permille % 10 {
        0 => format!("{} %", permille / 10),
        tenth => format!("{}.{tenth} %", permille / 10),
    }
}

/// The finding's message with what a reader needs when nothing else is shown; harmless, its lines are ours.
pub(crate) fn message(finding: &Finding) -> String {
    let place = match is_on_base(finding) {
        true => format!(" (line {} of the base)", finding.start_line),
        false => String::new(),
    };
    let quote = match evidence_text(finding, "quote") {
        "" => String::new(),
        quote => format!("\nQuote: {}", visible_cut(quote, 200)),
    };
    let quoted = without_blanks(evidence_text(finding, "quote"));
    let note =
        note(finding, &quoted).map(|note| format!("\nNote: {}", visible_cut(&note, 200))).unwrap_or_default();
    let said: String = message_lines(finding).iter().map(|line| format!("\n  | {line}")).collect();
    let said = if said.is_empty() { said } else { format!("\nMessage:{said}") };
    let why =
        special_reason(finding).map(|reason| format!("\nWhy: {}.", visible(&reason))).unwrap_or_default();
    let [summary, fix] = [&finding.summary, &finding.fix].map(|text| visible(text));
    format!("{summary}{place}.{quote}{said}{note}{why}\nFix: {fix}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::findings;
    use crate::sample;
    use qa_contracts::codes::Code;
    use qa_contracts::v1::RatchetEvidence;

    #[test]
    fn every_way_to_block_or_not_has_its_reason() {
        let sample = sample::fail();
        let report = sample.report(false);
        let plain = Finding { waiver: None, ..findings(&report)[4].clone() };
        let ratchet = |support, complying| {
            Some(RatchetEvidence { theta_permille: 900, min_support: 20, support, complying, holds: false })
        };
        let check = |change: &dyn Fn(&mut Finding), expected: &str| {
            let mut finding = plain.clone();
            change(&mut finding);
            assert_eq!(why(&finding), expected);
        };
        check(&|_| {}, "does not block: the rule is advisory");
        check(&|one| one.scope = Scope::Test, "does not block: the rule is advisory in test files");
        check(&|one| one.blocking = true, "blocks: severity medium reaches the policy's blocking threshold");
        check(
            &|one| (one.strength, one.ratchet) = (Strength::Ratchet, ratchet(3, 3)),
            "does not block: the base has 3 places to compare with, and the ratchet needs 20",
        );
        check(
            &|one| (one.strength, one.ratchet) = (Strength::Ratchet, ratchet(30, 20)),
            "does not block: 20 of 30 places at the base comply, and the ratchet needs 90 %",
        );
        check(
            &|one| one.codes = vec![Code::EvidenceUnverified],
            "does not block: the quoted text was not found at that location, so it cannot block",
        );
        check(
            &|one| one.origin = FindingOrigin::PreExisting,
            "does not block: pre-existing, the base has the same text",
        );
    }
}
