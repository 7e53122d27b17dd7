//! Answers to commands: fixed templates over a verified run, in Markdown. No text of a comment is in them.

use std::fmt::Write as _;

use crate::common::{counted, location, plan_name, verdict_word};
use crate::waive::{WaiverTerms, waiver_entry};
use qa_contracts::codes::Code;
use qa_contracts::v1::{ChangeSet, Conclusion, Finding, RunPhase, SkillResult};
use qa_core::escape::{markdown, markdown_block, markdown_cell_code, markdown_code, visible_cut};
use qa_core::findings::all_places;

/// Maximum number of plans in a table.
const MAX_PLANS: usize = 80;
/// Maximum number of fixes in a report.
const MAX_FIXES: usize = 20;
/// Limit of a finding's summary in a report, in characters.
const MAX_SUMMARY: usize = 300;

/// Commands, who may give them, and their effects.
pub const HELP: &str = "\
A command is the whole first line of a new comment on a pull request.

| Command | For | Effect |
|---|---|---|
| `/qa status`, `/qa where am i` | author, triage | phase and verdict of this head |
| `/qa plan`, `/qa next` | author, triage | the plans of this head, and the next step |
| `/qa explain ID` | author, triage | a rule, a lens, or a finding by the first six or more digits of its id |
| `/qa report` | author, triage | the fixes, as a block for a coding agent |
| `/qa help` | author, triage | this table |
| `/qa rerun`, `/qa crosscheck` | write | judge this head again, in full |
| `/qa stop`, `/qa abort` | write | cancel the run of this head that is in progress, or end a drive that waits |
| `/qa resume` | write | let a drive that waits go on, or else continue a paused run: its failed jobs run again |
| `/qa approve KEY` | write | the same, only if the run still has this execution key |
| `/qa fix` | write | [drive](drive.md) an agent until this change passes |
| `/qa drive GOAL` | write | drive it towards this goal |
| `/qa approve` | write | let the turn begin that a [drive waits](drive.md#a-person-on-the-way-on-github) with |
| `/qa edit TEXT` | write | the same, and the agent gets the text |
| label `qa:fix` | write | as `/qa fix`; the label is taken away |
| `/qa waive ID REASON` | write | the waiver of a finding, to commit; nothing is written |
";

/// A verified run.
#[derive(Clone, Copy)]
pub struct Judged<'a> {
    pub result: &'a SkillResult,
    pub change_set: &'a ChangeSet,
    pub phase: RunPhase,
}

impl<'a> Judged<'a> {
    /// Renders the phase and the verdict.
    pub fn status(&self) -> String {
        let verdict = &self.result.final_verdict;
        let blocking = all_places(&verdict.blocking_findings);
        let all = all_places(self.result.lens_results.iter().flat_map(|result| &result.findings));
        let mut text = format!(
            "**{}** for {} against {}; phase `{}`.\n\n",
            verdict_word(verdict.conclusion),
            markdown_code(self.change_set.head_sha.short()),
            markdown_code(self.change_set.base_sha.short()),
            self.phase
        );
        text.push_str(&format!(
            "- {}, {}\n- execution key `{}`\n",
            counted(blocking, "blocking finding"),
            counted(all - blocking, "advisory finding"),
            self.result.execution_key
        ));
        for code in verdict.error_codes.iter().chain(&verdict.warning_codes) {
            let _infallible = writeln!(text, "- `{code}`: {}", code.hint());
        }
        text.push_str(&format!("\n{}\n", self.next_step()));
        text
    }

    /// Returns the next step in one sentence.
    fn next_step(&self) -> &'static str {
        match self.result.final_verdict.conclusion {
            Conclusion::Pass => "Nothing is left to do.",
            Conclusion::Fail => "Next: fix what blocks and push. `/qa report` lists the fixes.",
            Conclusion::CouldNotComplete => {
                "Next: do what the codes above say, then `/qa resume`; a push starts a new run."
            }
        }
    }

    /// Renders the plans in queue order, and the next step.
    pub fn plan(&self) -> String {
        let plans = &self.result.lens_plans;
        let mut text = format!(
            "{} for {}.\n\n| Plan | Required | Files | Left out | Status |\n|---|---|---|---|---|\n",
            counted(plans.len(), "plan"),
            markdown_code(self.change_set.head_sha.short())
        );
        for (plan, result) in plans.iter().zip(&self.result.lens_results).take(MAX_PLANS) {
            let _infallible = writeln!(
                text,
                "| {} | {} | {} | {} | {} |",
                markdown_cell_code(&plan_name(plan)),
                if plan.required { "yes" } else { "no" },
                plan.changed_files.len(),
                plan.omitted_files.len(),
                result.status
            );
        }
        let more = plans.len().saturating_sub(MAX_PLANS);
        if more > 0 {
            let _infallible =
                writeln!(text, "\n{} more in `lens-plan.json` of the run.", counted(more, "plan"));
        }
        if self.result.final_verdict.conclusion == Conclusion::CouldNotComplete {
            text.push_str(&code_lines(&self.result.final_verdict.error_codes));
        }
        text.push_str(&format!("\n{}\n", self.next_step()));
        text
    }

    /// Renders what blocks as a block that an agent can take.
    pub fn report(&self) -> String {
        let verdict = &self.result.final_verdict;
        let fixes = &verdict.blocking_findings;
        let mut lines = vec![format!(
            "{} at {} ({})",
            verdict_word(verdict.conclusion),
            self.change_set.head_sha,
            counted(fixes.len(), "blocking finding")
        )];
        for (number, finding) in fixes.iter().take(MAX_FIXES).enumerate() {
            let summary = visible_cut(&finding.summary, MAX_SUMMARY);
            lines.push(format!("{}. {} {}: {summary}", number + 1, location(finding), finding.rule_id));
            lines.push(format!("   fix: {}", visible_cut(&finding.fix, MAX_SUMMARY)));
        }
        let more = fixes.len().saturating_sub(MAX_FIXES);
        if more > 0 {
            lines.push(format!("{more} more in lens-results.json of the run"));
        }
        lines.extend(verdict.error_codes.iter().map(|code| format!("{code}: {}", code.hint())));
        markdown_block("text", &lines.join("\n"))
    }

    /// Returns the finding whose id begins with some digits; of several the first.
    pub fn find(&self, digits: &str) -> Option<&'a Finding> {
        let mut findings = self.result.lens_results.iter().flat_map(|result| &result.findings);
        findings.find(|finding| finding.finding_id.as_str().starts_with(digits))
    }

    /// Renders the waiver of a finding and the file that it belongs in.
    pub fn waiver(&self, finding: &Finding, terms: &WaiverTerms<'_>) -> String {
        format!(
            "Commit this to `.qa-skill/waivers.toml` on the base branch. Nothing is waived until then.\n\n{}",
            markdown_block("toml", &waiver_entry(finding, terms))
        )
    }
}

/// Renders the details of a finding.
pub fn finding(finding: &Finding) -> String {
    let quote = finding.evidence.get("quote").and_then(serde_json::Value::as_str).unwrap_or_default();
    let rows = [
        ("Place", markdown_code(&location(finding))),
        ("Finding", markdown_code(finding.finding_id.as_str())),
        ("Evidence hash", markdown_code(finding.evidence_hash.as_str())),
        ("Severity", finding.severity.to_string()),
        ("Blocks", if finding.blocking { "yes" } else { "no" }.to_owned()),
        ("Quote", markdown_code(&visible_cut(quote, 200))),
        ("Fix", markdown(&visible_cut(&finding.fix, MAX_SUMMARY))),
    ];
    let mut text = format!(
        "{}: {}\n\n",
        markdown_code(&finding.rule_id),
        markdown(&visible_cut(&finding.summary, MAX_SUMMARY))
    );
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        let _infallible = writeln!(text, "- {name}: {value}");
    }
    text
}

fn code_lines(codes: &[Code]) -> String {
    let lines: Vec<String> = codes.iter().map(|code| format!("\n- `{code}`: {}", code.hint())).collect();
    if lines.is_empty() { String::new() } else { format!("{}\n", lines.concat()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use qa_core::policy::file::parse_waivers;

    fn judged(sample: &sample::Sample) -> Judged<'_> {
        let report = sample.report(false);
        Judged { result: report.result, change_set: report.change_set, phase: RunPhase::Idle }
    }

    #[test]
    fn help_is_the_table_of_the_documentation() {
        let (_, table) = HELP.split_once("\n\n").unwrap();
        assert!(include_str!("../../../docs/commands.md").contains(table));
    }

    #[test]
    fn each_verdict_has_its_next_step() {
        for (sample, word, next) in [
            (sample::pass(), "**PASS**", "Nothing is left"),
            (sample::fail(), "**FAIL**", "`/qa report`"),
            (sample::incomplete(), "**COULD NOT COMPLETE**", "`/qa resume`"),
        ] {
            let (status, plan) = (judged(&sample).status(), judged(&sample).plan());
            assert!(status.starts_with(word) && status.contains(next), "{status}");
            assert!(plan.contains("| Plan |") && plan.contains(next), "{plan}");
        }
    }

    #[test]
    fn a_report_lists_what_blocks_and_counts_the_rest() {
        let mut sample = sample::fail();
        let blocking = &mut sample.result.final_verdict.blocking_findings;
        *blocking = blocking.iter().cycle().take(30).cloned().collect();
        let text = judged(&sample).report();
        assert!(text.contains("\n20. ") && !text.contains("\n21. "), "{text}");
        assert!(text.contains("10 more in lens-results.json"), "{text}");
        assert!(text.starts_with("```text\nFAIL at ") && text.ends_with("\n```\n"), "{text}");
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds_and_a_string_ends_where_it_ends() {
        assert_eq!(markdown_block("text", "a\n````\nb"), "`````text\na\n````\nb\n`````\n");
    }

    #[test]
    fn a_waiver_is_one_that_the_policy_reads() {
        let sample = sample::fail();
        let judged = judged(&sample);
        let found = &judged.result.final_verdict.blocking_findings[0];
        let digits = &found.finding_id.as_str()[..8];
        assert_eq!(judged.find(digits).map(|finding| &finding.evidence_hash), Some(&found.evidence_hash));
        let terms = WaiverTerms { owner: "@kim", reason: "a \"b\"", expires: "2099-12-31" };
        let text = judged.waiver(found, &terms);
        let (_, toml) = text.split_once("```toml\n").unwrap();
        let (toml, _) = toml.split_once("\n```").unwrap();
        let parsed = parse_waivers(toml, &sample.registry).unwrap();
        assert_eq!(parsed.waiver[0].reason, "a \"b\"");
    }
}
