//! `junit`: one suite per lens and one case per rule, for dashboards that know tests.

use std::collections::{BTreeMap, BTreeSet};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

use crate::common::{counted, is_withheld, location, plan_name, reason, rules};
use crate::contract::{Format, FormatSpec, Report};
use crate::why::message;
use qa_contracts::codes::Code;
use qa_contracts::v1::{Finding, LensPlan, LensResult, LensStatus};
use qa_core::escape::visible;
use qa_core::observer::is_deferred;

/// The most findings written out for one rule.
const MAX_PER_RULE: usize = 100;

/// JUnit XML, for test dashboards.
pub(crate) struct Junit;

impl Format for Junit {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec { id: "junit", title: "JUnit XML for test dashboards", file: Some("junit.xml") }
    }

    fn render(&self, report: &Report<'_>) -> Vec<u8> {
        let mut suites: Vec<Suite<'_>> =
            report.result.lens_plans.iter().map(|plan| suite(report, plan)).collect();
        // Each lens completed, and the run has no verdict all the same.
        suites.extend(is_withheld(report).then(|| withheld(report)));
        let mut out = Xml(Writer::new_with_indent(Vec::new(), b' ', 2));
        out.event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)));
        let total = suites.iter().fold(Totals::default(), |sum, suite| sum.plus(suite.totals()));
        out.open("testsuites", &total.attributes("qa-skill"));
        for suite in &suites {
            out.open("testsuite", &suite.totals().attributes(&suite.name));
            for case in &suite.cases {
                write_case(&mut out, &suite.name, case);
            }
            out.close("testsuite");
        }
        out.close("testsuites");
        let mut bytes = out.0.into_inner();
        bytes.push(b'\n');
        bytes
    }
}

struct Suite<'a> {
    name: String,
    cases: Vec<Case<'a>>,
}

struct Case<'a> {
    name: String,
    outcome: Outcome,
    blocking: Vec<&'a Finding>,
    advice: Vec<&'a Finding>,
}

enum Outcome {
    /// Decided by the findings.
    Ran,
    /// The rule did not run.
    Skipped(String),
    /// The rule has no usable result.
    Error(String),
}

#[derive(Default, Clone, Copy)]
struct Totals {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Totals {
    fn plus(self, other: Self) -> Self {
        Self {
            tests: self.tests + other.tests,
            failures: self.failures + other.failures,
            errors: self.errors + other.errors,
            skipped: self.skipped + other.skipped,
        }
    }

    fn attributes(self, name: &str) -> Vec<(&'static str, String)> {
        vec![
            ("name", name.to_owned()),
            ("tests", self.tests.to_string()),
            ("failures", self.failures.to_string()),
            ("errors", self.errors.to_string()),
            ("skipped", self.skipped.to_string()),
            ("time", "0".to_owned()),
        ]
    }
}

impl Suite<'_> {
    fn totals(&self) -> Totals {
        let mut totals = Totals { tests: self.cases.len(), ..Totals::default() };
        for case in &self.cases {
            match case.outcome {
                Outcome::Error(_) => totals.errors += 1,
                Outcome::Skipped(_) if case.blocking.is_empty() => totals.skipped += 1,
                Outcome::Ran | Outcome::Skipped(_) => {
                    totals.failures += usize::from(!case.blocking.is_empty())
                }
            }
        }
        totals
    }
}

/// Returns the suite of a run whose mode may not pass.
fn withheld<'a>(report: &Report<'_>) -> Suite<'a> {
    let outcome = Outcome::Error(format!("{}: {}", Code::CadenceDeferred, reason(report)));
    let case = Case { name: "verdict".to_owned(), outcome, blocking: Vec::new(), advice: Vec::new() };
    Suite { name: "observer".to_owned(), cases: vec![case] }
}

fn suite<'a>(report: &Report<'a>, plan: &'a LensPlan) -> Suite<'a> {
    let result = report.result.lens_results.iter().find(|result| result.plan_ordinal == plan.plan_ordinal);
    let mut by_rule: BTreeMap<&str, (Vec<&Finding>, Vec<&Finding>)> = BTreeMap::new();
    for finding in result.map(|result| result.findings.as_slice()).unwrap_or_default() {
        let entry = by_rule.entry(&finding.rule_id).or_default();
        if finding.blocking { entry.0.push(finding) } else { entry.1.push(finding) }
    }
    let lens = report.registry.lenses.iter().find(|lens| lens.lens_id == plan.lens_id);
    let mut names: BTreeSet<&str> = by_rule.keys().copied().collect();
    names.extend(lens.iter().flat_map(|lens| &lens.rules).map(|rule| rule.rule_id.as_str()));
    let titles = rules(report);
    let cases = names.into_iter().map(|rule| {
        let (blocking, advice) = by_rule.remove(rule).unwrap_or_default();
        let title = titles.get(rule).map(|rule| format!(": {}", rule.title)).unwrap_or_default();
        Case { name: format!("{rule}{title}"), outcome: outcome(plan, result), blocking, advice }
    });
    Suite { name: plan_name(plan), cases: cases.collect() }
}

fn outcome(plan: &LensPlan, result: Option<&LensResult>) -> Outcome {
    let Some(result) = result else {
        return Outcome::Error("the lens has no result".to_owned());
    };
    let codes: Vec<String> =
        result.error_codes.iter().map(|&code: &Code| format!("{code}: {}", code.hint())).collect();
    let codes = codes.join("\n");
    match result.status {
        LensStatus::Completed => Outcome::Ran,
        // A check that reads this report counts skipped as passed.
        LensStatus::Skipped if is_deferred(plan) => Outcome::Error(codes),
        LensStatus::Skipped => Outcome::Skipped(codes),
        // An optional lens that is degraded is not green, and no error either.
        LensStatus::Degraded if !plan.required => Outcome::Skipped(codes),
        LensStatus::Degraded | LensStatus::Failed => {
            Outcome::Error(format!("lens {}: {codes}", result.status))
        }
    }
}

fn write_case(out: &mut Xml, suite: &str, case: &Case<'_>) {
    out.open(
        "testcase",
        &[("classname", suite.to_owned()), ("name", case.name.clone()), ("time", "0".to_owned())],
    );
    match &case.outcome {
        Outcome::Ran => {}
        Outcome::Skipped(text) if case.blocking.is_empty() => {
            out.element("skipped", &[("message", text.clone())], "");
        }
        Outcome::Skipped(_) => {}
        Outcome::Error(text) => {
            out.element("error", &[("message", text.clone()), ("type", "incomplete".to_owned())], text)
        }
    }
    if !case.blocking.is_empty() {
        let message = counted(case.blocking.len(), "blocking finding");
        out.element(
            "failure",
            &[("message", message), ("type", "blocking".to_owned())],
            &listed(&case.blocking),
        );
    }
    if !case.advice.is_empty() {
        out.element("system-out", &[], &listed(&case.advice));
    }
    out.close("testcase");
}

fn listed(findings: &[&Finding]) -> String {
    let shown = findings.iter().take(MAX_PER_RULE);
    let mut texts: Vec<String> =
        shown.map(|finding| format!("{}: {}", visible(&location(finding)), message(finding))).collect();
    if findings.len() > MAX_PER_RULE {
        let rest = counted(findings.len() - MAX_PER_RULE, "finding");
        texts.push(format!("{rest} more, all in lens-results.json"));
    }
    texts.join("\n\n")
}

struct Xml(Writer<Vec<u8>>);

impl Xml {
    fn event(&mut self, event: Event<'_>) {
        self.0.write_event(event).expect("writing into memory does not fail");
    }

    fn open(&mut self, name: &str, attributes: &[(&'static str, String)]) {
        let mut start = BytesStart::new(name);
        for (name, value) in attributes {
            start.push_attribute((*name, legal(value).as_str()));
        }
        self.event(Event::Start(start));
    }

    fn close(&mut self, name: &str) {
        self.event(Event::End(BytesEnd::new(name)));
    }

    fn element(&mut self, name: &str, attributes: &[(&'static str, String)], text: &str) {
        self.open(name, attributes);
        self.event(Event::Text(BytesText::new(&legal(text))));
        self.close(name);
    }
}

/// Text XML 1.0 can hold and every surface can show: harmless lines without the two noncharacters XML forbids, none of
/// which begins as a workflow command does, because a document on standard output is also a job's log.
fn legal(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(harmless_line).collect();
    lines.join("\n").replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}")
}

/// Escapes a line so that the runner takes it for no workflow command.
fn harmless_line(line: &str) -> String {
    let shown = visible(line);
    let is_command = ["::", "##["].iter().any(|sign| shown.trim_start().starts_with(sign));
    if is_command { format!("./{}", shown.trim_start()) } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// Reads the document and returns how often each element starts.
    fn elements(xml: &str) -> BTreeMap<String, usize> {
        let mut reader = quick_xml::Reader::from_str(xml);
        let mut counts = BTreeMap::new();
        loop {
            match reader.read_event().unwrap() {
                Event::Eof => return counts,
                Event::Start(start) | Event::Empty(start) => {
                    for attribute in start.attributes() {
                        attribute.unwrap();
                    }
                    *counts.entry(start.name().as_ref().to_owned()).or_default() += 1;
                }
                Event::End(_) | Event::Text(_) | Event::CData(_) | Event::Comment(_) => {}
                Event::Decl(_) | Event::PI(_) | Event::DocType(_) | Event::GeneralRef(_) => {}
            }
        }
    }

    fn text(sample: &sample::Sample) -> String {
        String::from_utf8(Junit.render(&sample.report(false))).unwrap()
    }

    #[test]
    fn only_our_elements_are_in_the_document() {
        let known = ["testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out"]
            .map(str::to_owned);
        for (name, sample) in sample::all() {
            let counts = elements(&text(&sample));
            assert!(counts.keys().all(|element| known.contains(element)), "{name}: {counts:?}");
        }
    }

    #[test]
    fn blocking_findings_fail_their_rule_and_others_only_speak() {
        let counts = elements(&text(&sample::fail()));
        assert_eq!((counts["testsuite"], counts["testcase"]), (2, 6));
        assert_eq!((counts["failure"], counts["system-out"]), (2, 4));
        assert_eq!(counts.get("error"), None);
    }

    #[test]
    fn a_failed_lens_is_an_error_of_each_of_its_rules() {
        assert_eq!(elements(&text(&sample::incomplete()))["error"], 2);
    }

    #[test]
    fn a_deferred_plan_is_an_error_although_it_was_skipped() {
        let mut sample = sample::pass();
        let skipped = &mut sample.result.lens_results[0];
        skipped.status = LensStatus::Skipped;
        skipped.error_codes = vec![Code::CadenceDeferred];
        assert_eq!(elements(&text(&sample)).get("error"), None);
        sample.result.lens_plans[0].planning_codes = vec![Code::CadenceDeferred];
        let counts = elements(&text(&sample));
        assert!(counts["error"] > 0 && !counts.contains_key("skipped"), "{counts:?}");
    }

    #[test]
    fn a_run_whose_mode_may_not_pass_is_an_error_although_nothing_waits() {
        let mut sample = sample::pass();
        sample.result.final_verdict.conclusion = qa_contracts::v1::Conclusion::CouldNotComplete;
        sample.result.final_verdict.error_codes = vec![Code::CadenceDeferred];
        let page = text(&sample);
        assert_eq!(elements(&page)["error"], 1, "{page}");
        assert!(page.contains("nothing was deferred; by the policy"), "{page}");
        sample.result.final_verdict.error_codes = vec![Code::CadenceDeferred, Code::CrossCheckFailed];
        assert!(!text(&sample).contains("nothing was deferred"));
    }

    #[test]
    fn characters_xml_forbids_are_spelled_out() {
        assert_eq!(legal("a\u{0}\u{ffff}\n\u{fffe}b"), "a\\u{0}\\u{ffff}\n\\u{fffe}b");
    }
}
