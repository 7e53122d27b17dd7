//! Waivers to be copied: the entry of a finding, with what a person has to add.

use std::fmt::Write;

use qa_contracts::v1::{Finding, Severity};
use qa_core::escape::visible;
use qa_core::policy::file::{OPEN_OWNER, OPEN_REASON};

/// Entries of a waiver beside those of its finding.
pub struct WaiverTerms<'a> {
    pub owner: &'a str,
    pub reason: &'a str,
    /// The last day, as YYYY-MM-DD.
    pub expires: &'a str,
}

/// Terms that a person replaces. No policy is read with this date, so an entry that was only copied waives nothing.
pub const OPEN_TERMS: WaiverTerms<'_> =
    WaiverTerms { owner: OPEN_OWNER, reason: OPEN_REASON, expires: "YYYY-MM-DD" };

/// Advice above entries.
pub(crate) const ADVICE: &str =
    "To waive a finding, complete its entry and commit it to .qa-skill/waivers.toml on the base branch:";

/// Returns the entry of `.qa-skill/waivers.toml` that waives a finding.
pub fn waiver_entry(finding: &Finding, terms: &WaiverTerms<'_>) -> String {
    let mut entry = "[[waiver]]\n".to_owned();
    for (key, value) in [
        ("rule", finding.rule_id.as_str()),
        ("evidence-hash", finding.evidence_hash.as_str()),
        ("owner", terms.owner),
        ("reason", terms.reason),
        ("expires", terms.expires),
    ] {
        let _infallible = writeln!(entry, "{key} = {}", toml_string(value));
    }
    entry
}

/// Returns the blocking findings whose entries are shown to be copied, in order: one waives all with its evidence hash.
/// Nobody should have those at hand for what is critical.
pub(crate) fn entries<'a>(findings: &[&'a Finding]) -> Vec<&'a Finding> {
    let mut entries: Vec<&Finding> = Vec::new();
    for finding in findings.iter().filter(|one| one.blocking && one.severity != Severity::Critical) {
        let is_known = entries
            .iter()
            .any(|known| known.rule_id == finding.rule_id && known.evidence_hash == finding.evidence_hash);
        if !is_known {
            entries.push(finding);
        }
    }
    entries
}

/// Returns a text as a basic string of TOML, which is one of JSON where nothing is invisible.
fn toml_string(text: &str) -> String {
    serde_json::Value::from(visible(text)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::findings;
    use crate::sample;
    use qa_core::policy::file::parse_waivers;

    #[test]
    fn a_string_ends_where_it_ends() {
        assert_eq!(toml_string("a\"\n\\b\u{202e}"), "\"a\\\"\\\\u{a}\\\\b\\\\u{202e}\"");
    }

    #[test]
    fn an_entry_waives_once_a_person_completed_it() {
        let sample = sample::fail();
        let report = sample.report(false);
        let all = findings(&report);
        let entries = entries(&all);
        assert_eq!(entries.len(), 1, "what is critical has none");
        let entry = waiver_entry(entries[0], &OPEN_TERMS);
        assert!(parse_waivers(&entry, &sample.registry).is_err());
        for date in ["\"2031-02-03\"", "2031-02-03"] {
            let dated = entry.replace("\"YYYY-MM-DD\"", date);
            let owned = dated.replace(OPEN_OWNER, "alice");
            assert!([&dated, &owned].iter().all(|open| parse_waivers(open, &sample.registry).is_err()));
            let complete = owned.replace(OPEN_REASON, "rotated, and the old one is revoked");
            let waiver = parse_waivers(&complete, &sample.registry).unwrap().waiver.remove(0);
            assert_eq!(waiver.expires, "2031-02-03");
            assert_eq!(waiver.evidence_hash, entries[0].evidence_hash.as_str());
        }
        assert_eq!(super::entries(&[entries[0], entries[0]]).len(), 1);
    }
}
