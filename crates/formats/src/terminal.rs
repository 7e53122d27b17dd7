//! `terminal`: what a person reads at a prompt or in a log.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::causes::{Cause, by_rule, causes, listed, place_line};
use crate::common::{
    Files, codes, counted, elsewhere, evidence_number, extent, findings_here, further_reasons, gate_word,
    is_on_base, location, message_lines, model_reviews, note, quality_gates, reason, shown_settings,
    uncommitted, verdict_word,
};
use crate::contract::{Format, FormatSpec, Report};
use crate::edit::{Reader, edit_lines, edit_title};
use crate::excerpt::{ExcerptLine, Sides, excerpt, shown_text};
use crate::gaps::{FileGap, gaps};
use crate::why::special_reason;
use crate::wrap::wrap;
use qa_contracts::codes::Code;
use qa_contracts::v1::{Conclusion, Finding, ItemOutcome, LensStatus};
use qa_core::escape::{shell_word, visible, visible_cut};
use qa_core::masking::sanitize;

/// From this many groups of findings on, those that do not block are counted by rule instead of shown.
const MANY: usize = 50;
/// The most blocking groups shown whole; findings after them get a line each.
const MAX_WHOLE: usize = 30;
/// The most blocking findings shown with a line after those shown whole, and the most further places of one group.
const MAX_SHOWN: usize = 200;
/// The most further places shown of a group that does not block.
const MAX_ADVISORY_PLACES: usize = 5;
/// The most lines of any list below the findings.
const MAX_LIST: usize = 20;

/// Number of lines from which on the verdict is said again below them.
const LONG: usize = 40;

const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[1;91m";
const GREEN: &str = "\x1b[1;92m";
const YELLOW: &str = "\x1b[1;93m";
const DIM: &str = "\x1b[2m";

/// Coloured text for a terminal.
pub(crate) struct Terminal;

impl Format for Terminal {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec {
            id: "terminal",
            title: "For the terminal: verdict, findings with excerpts, next steps",
            file: None,
        }
    }

    fn render(&self, report: &Report<'_>) -> Vec<u8> {
        let mut page = Page {
            out: String::new(),
            color: report.terminal.color,
            width: report.terminal.width.clamp(40, 160),
        };
        verdict(&mut page, report);
        let incomplete = report.result.final_verdict.conclusion == Conclusion::CouldNotComplete;
        let parts: [fn(&mut Page, &Report<'_>); 5] = [all_findings, not_looked_at, reviews, gates, notes];
        // The gaps are the message of a run that could not complete, so they come first.
        for part in if incomplete { [parts[1], parts[2], parts[3], parts[4], parts[0]] } else { parts } {
            part(&mut page, report);
        }
        preview(&mut page, report);
        cross_check(&mut page, report);
        proof(&mut page, report);
        last_line(&mut page, report);
        disarmed(&page.out).into_bytes()
    }
}

/// A runner obeys the older form of its commands wherever it stands in a line, also in one that is only quoted.
fn disarmed(text: &str) -> String {
    text.replace("##[", "## [")
}

/// Text that knows the terminal's width and whether it may be coloured.
struct Page {
    out: String,
    color: bool,
    width: usize,
}

impl Page {
    fn paint(&self, style: &str, text: &str) -> String {
        if self.color && !style.is_empty() { format!("{style}{text}\x1b[0m") } else { text.to_owned() }
    }

    fn heading(&mut self, text: &str) {
        let painted = self.paint(BOLD, text);
        self.out.truncate(self.out.trim_end().len());
        self.out.push_str(&format!("\n\n{painted}\n"));
    }

    /// A line that begins with `lead` and whose further lines are indented as wide as it.
    fn item(&mut self, lead: &str, style: &str, text: &str) {
        let indent = lead.chars().count();
        let lines = wrap(&visible(text), self.width.saturating_sub(indent).max(20));
        let painted = self.paint(style, lead);
        self.out.push_str(&format!("{painted}{}\n", lines.join(&format!("\n{}", " ".repeat(indent)))));
    }

    /// A line to be copied, which stays whole at any width.
    fn unbroken(&mut self, lead: &str, style: &str, text: &str) {
        let painted = self.paint(style, lead);
        self.out.push_str(&format!("{painted}{}\n", visible(text)));
    }

    fn left_out(&mut self, shown: usize, total: usize, noun: &str) {
        if total > shown {
            let rest = counted(total - shown, noun);
            self.item("  … ", DIM, &format!("and {rest} more, all in lens-results.json and coverage.json"));
        }
    }
}

fn verdict(page: &mut Page, report: &Report<'_>) {
    headline(page, report);
    for line in further_reasons(report).into_iter().take(MAX_LIST) {
        page.item("  ", "", &visible_cut(line, 400));
    }
}

fn headline(page: &mut Page, report: &Report<'_>) {
    let verdict = &report.result.final_verdict;
    let style = match verdict.conclusion {
        Conclusion::Pass => GREEN,
        Conclusion::Fail => RED,
        Conclusion::CouldNotComplete => YELLOW,
    };
    page.item(&format!("{}  ", verdict_word(verdict.conclusion)), style, &reason(report));
}

fn all_findings(page: &mut Page, report: &Report<'_>) {
    let (all, before) = findings_here(report);
    let (files, split) = (Files::new(report), all.partition_point(|finding| finding.blocking));
    let (blocking, advice) = all.split_at(split);
    if !blocking.is_empty() {
        page.heading(&format!("Blocking ({})", listed(blocking)));
        let groups = causes(blocking);
        for cause in groups.iter().take(MAX_WHOLE) {
            one_cause(page, report, &files, cause);
        }
        let rest: Vec<&Finding> = groups.iter().skip(MAX_WHOLE).flat_map(Cause::places).collect();
        for finding in rest.iter().take(MAX_SHOWN) {
            let (severity, rule) = (finding.severity.as_str(), &finding.rule_id);
            let summary = visible_cut(&finding.summary, 120);
            page.item("  ", "", &format!("{severity}[{rule}] {}: {summary}", location(finding)));
        }
        page.left_out(MAX_SHOWN, rest.len(), "blocking finding");
    }
    if let Some(text) = elsewhere(before) {
        page.item("", "", &text);
    }
    if advice.is_empty() {
        return;
    }
    page.heading(&format!("Not blocking ({})", listed(advice)));
    let groups = causes(advice);
    if groups.len() <= MANY {
        for cause in &groups {
            one_cause(page, report, &files, cause);
        }
        return;
    }
    let rules = by_rule(advice);
    for (rule, (_, count)) in rules.iter().take(MAX_LIST) {
        page.item(&format!("  {count:>7}  "), "", rule);
    }
    page.left_out(MAX_LIST, rules.len(), "rule");
    page.item("  ", DIM, "counted by rule; the report lists each");
}

/// Wraps each line of a text by itself.
fn wrapped_lines(text: &str, width: usize) -> String {
    let lines: Vec<String> = text.lines().flat_map(|line| wrap(line, width)).collect();
    lines.join("\n")
}

fn one_cause(page: &mut Page, report: &Report<'_>, files: &Files<'_>, cause: &Cause<'_>) {
    let finding = cause.first();
    let lines = excerpt(report, files, finding, 2, Sides::Own);
    let source = source_of(&lines, is_on_base(finding));
    let path = finding.file.to_string();
    let column = evidence_number(finding, "startColumn");
    let level = if finding.blocking { Level::ERROR } else { Level::WARNING };
    let title = match cause.others().len() {
        0 => visible_cut(&finding.summary, 300),
        others => format!("{} ({})", visible_cut(&finding.summary, 300), counted(others + 1, "place")),
    };
    // One line at any width: problem matchers read it whole.
    let title = level.with_name(finding.severity.as_str()).primary_title(title).id(finding.rule_id.as_str());
    let line = finding.start_line;
    let place = if column > 0 { format!("{path}:{line}:{column}") } else { format!("{path}:{line}") };
    let mut group = Group::with_title(title);
    let mut shown_place = None;
    match source {
        None => group = group.element(Origin::path(place.as_str())),
        Some((text, first, span)) => {
            let before = text[..span.start].rsplit('\n').next().unwrap_or_default();
            shown_place = Some(format!("{path}:{line}:{}", before.chars().count() + 1));
            let snippet = Snippet::source(text)
                .line_start(first)
                .fold(false)
                .path(path.as_str())
                .annotation(AnnotationKind::Primary.span(span));
            group = group.element(snippet);
        }
    }
    let width = page.width.saturating_sub(14);
    if !cause.others().is_empty() {
        group =
            group.element(Level::NOTE.with_name("also").message(other_places(report, files, cause, width)));
    }
    for (name, text) in footers(report, finding, &shown_text(&lines)) {
        // A command to be copied is not broken, and neither is a line of code.
        let lines = if name == "more" || name == "edit" { text } else { wrapped_lines(&text, width) };
        group = group.element(Level::NOTE.with_name(name).message(lines));
    }
    let renderer = if page.color { Renderer::styled() } else { Renderer::plain() };
    let text = renderer.term_width(page.width).render(&[group]);
    // The column of the text as shown is another one: tabs are wider, characters are escaped, long lines are cut.
    match (text.split_once('\n'), shown_place) {
        (Some((title, rest)), Some(shown)) => {
            page.out.push_str(title);
            page.out.push('\n');
            page.out.push_str(&rest.replacen(&shown, &place, 1));
        }
        _ => page.out.push_str(&text),
    }
    page.out.push_str("\n\n");
}

/// Returns the further places of a group, a line each.
fn other_places(report: &Report<'_>, files: &Files<'_>, cause: &Cause<'_>, width: usize) -> String {
    let others = cause.others();
    let most = if cause.first().blocking { MAX_SHOWN } else { MAX_ADVISORY_PLACES };
    let mut lines: Vec<String> = others
        .iter()
        .take(most)
        .map(|finding| {
            let place = place_line(report, files, finding, width);
            visible_cut(
                &format!("{}  {}", place.location, place.line),
                width.max(place.location.chars().count()),
            )
        })
        .collect();
    if others.len() > most {
        lines.push(format!("and {}, all in lens-results.json", counted(others.len() - most, "more place")));
    }
    // The sign before each line keeps a path from being read as a workflow command.
    lines.join("\n| ")
}

/// The excerpt as one text, its first line number and the marked bytes.
fn source_of(lines: &[ExcerptLine], on_base: bool) -> Option<(String, usize, std::ops::Range<usize>)> {
    let first = lines.first().and_then(|line| if on_base { line.old } else { line.new })?;
    let mut text = String::new();
    let mut span: Option<std::ops::Range<usize>> = None;
    for line in lines {
        text.push_str(&line.before);
        let start = text.len();
        text.push_str(&line.marked);
        if line.flagged {
            let begin = match span {
                Some(span) => span.start,
                None => start,
            };
            span = Some(begin..text.len());
        }
        text.push_str(&line.after);
        text.push('\n');
    }
    Some((text, usize::try_from(first).ok()?, span?))
}

fn footers(report: &Report<'_>, finding: &Finding, shown: &str) -> Vec<(&'static str, String)> {
    let mut footers = Vec::new();
    if is_on_base(finding) {
        footers.push((
            "where",
            "in text that the change removes; the line number is that of the base".to_owned(),
        ));
    }
    let said = message_lines(finding);
    if !said.is_empty() {
        // The sign before each line keeps one from being read as a workflow command.
        footers.push(("message", said.join("\n| ")));
    }
    footers.extend(note(finding, shown).map(|note| ("note", visible_cut(&note, 600))));
    footers.extend(special_reason(finding).map(|reason| ("why", visible_cut(&reason, 600))));
    footers.push(("fix", visible_cut(&finding.fix, 600)));
    if let Some(title) = edit_title(report, finding, Reader::OfTerminal).filter(|_| finding.blocking) {
        // The sign before each line keeps one from being read as a workflow command.
        let lines = edit_lines(report, finding).into_iter().map(|line| format!("\n| {line}"));
        footers.push(("edit", title + &lines.collect::<String>()));
    }
    for code in &finding.codes {
        footers.push(("code", format!("{code}: {}", code.hint())));
    }
    // A run that is stored has the finding with its waiver; of another the rule alone can be explained.
    let topic = match report.run_directory {
        Some(_) => finding.finding_id.short().to_owned(),
        None => visible(&finding.rule_id),
    };
    footers.push(("more", format!("qa-skill explain {topic}")));
    footers
}

fn not_looked_at(page: &mut Page, report: &Report<'_>) {
    let gaps = gaps(report);
    if gaps.is_empty() {
        return;
    }
    page.heading("Not looked at");
    if let Some(missing) = gaps.missing_sentence(str::to_owned) {
        page.item("  - ", DIM, &missing);
    }
    for gap in gaps.plans.iter().take(MAX_LIST) {
        let codes: Vec<&str> = gap.codes.iter().map(|code| code.as_str()).collect();
        let subject = gap.subject(str::to_owned);
        page.item("  - ", DIM, &format!("{subject} {}: {}", gap.status, codes.join(", ")));
    }
    page.left_out(MAX_LIST, gaps.plans.len(), "lens group");
    for gap in gaps.files.iter().take(MAX_LIST) {
        page.item("  - ", DIM, &file_gap(gap));
    }
    page.left_out(MAX_LIST, gaps.files.len(), "file");
}

fn reviews(page: &mut Page, report: &Report<'_>) {
    let reviews = model_reviews(report);
    if reviews.is_empty() {
        return;
    }
    page.heading("Reviews by a model");
    for review in reviews.iter().take(MAX_LIST) {
        let style = if review.status == LensStatus::Completed { GREEN } else { RED };
        let required = if review.required { "" } else { " (not required)" };
        page.item("  - ", style, &format!("{} {}{required}", review.plan, review.status));
        for note in review.notes.iter().take(MAX_LIST) {
            page.item("    ", DIM, &visible_cut(note, 300));
        }
    }
    page.left_out(MAX_LIST, reviews.len(), "review");
}

fn gates(page: &mut Page, report: &Report<'_>) {
    let gates = quality_gates(report);
    if gates.is_empty() {
        return;
    }
    page.heading("Quality gates");
    for gate in &gates {
        let style = if gate.passed { GREEN } else { RED };
        let required = if gate.required { "" } else { " (not required)" };
        page.item("  - ", style, &format!("{} {}{required}", gate.gate_name, gate_word(gate)));
        for note in gate.notes.iter().take(MAX_LIST) {
            page.item("    ", DIM, &visible_cut(note, 300));
        }
        page.left_out(MAX_LIST, gate.notes.len(), "report");
    }
}

fn file_gap(gap: &FileGap<'_>) -> String {
    let code = gap.code.map(Code::as_str);
    let why: Vec<&str> = gap.reasons.iter().copied().chain(code).collect();
    format!("{}: {} looked at {} ({})", gap.file, gap.plans.join(", "), gap.looked_at, why.join("; "))
}

fn notes(page: &mut Page, report: &Report<'_>) {
    let codes = codes(report);
    if codes.is_empty() {
        return;
    }
    page.heading("Codes");
    for (kind, code) in codes {
        let style = match kind {
            "error" => RED,
            "warning" => YELLOW,
            _ => DIM,
        };
        let lead = page.paint(style, &format!("  {kind:<8}"));
        page.out.push_str(&lead);
        page.out.push_str(code.as_str());
        page.out.push('\n');
        page.item("          ", "", code.hint());
    }
}

fn preview(page: &mut Page, report: &Report<'_>) {
    let Some(preview) = &report.result.final_verdict.policy_preview else { return };
    page.heading("Policy preview (not binding: the base's policy decided)");
    match (&preview.conclusion, &preview.error) {
        (Some(conclusion), _) => page.item(
            "  ",
            "",
            &format!(
                "under the new policy: {}, {} would block",
                verdict_word(*conclusion),
                counted(preview.blocking_findings as usize, "finding")
            ),
        ),
        (None, error) => {
            let error = error.as_deref().unwrap_or("unknown reason");
            page.item("  ", "", &format!("the new policy cannot be read: {}", visible_cut(error, 300)));
        }
    }
    let shown = shown_settings(preview);
    for setting in shown.settings.iter().take(MAX_LIST) {
        let [base, head] = [&setting.base, &setting.head].map(|value| visible_cut(value, 120));
        page.item("  weaker  ", YELLOW, &format!("{}: {base} → {head}", visible_cut(&setting.name, 200)));
    }
    page.left_out(MAX_LIST, shown.settings.len(), "setting");
    if shown.of_rules > 0 {
        let rest = counted(shown.of_rules, "setting");
        page.item("  … ", DIM, &format!("and {rest} of rules, all in final-verdict.json"));
    }
}

fn cross_check(page: &mut Page, report: &Report<'_>) {
    let items: Vec<_> =
        report.cross_check.items.iter().filter(|item| item.outcome == ItemOutcome::Failed).collect();
    if items.is_empty() {
        return;
    }
    page.heading("Cross-check failed");
    for item in items {
        page.item("  failed  ", RED, &format!("{}: {}", item.item, visible_cut(&item.detail, 400)));
    }
}

fn proof(page: &mut Page, report: &Report<'_>) {
    page.heading("Proof");
    if let Some(base) = &report.base {
        page.item("  base    ", DIM, &format!("{} {}", report.input.base_sha.short(), base.reason));
        for code in base.codes {
            page.item("          ", "", &format!("{code}: {}", code.hint()));
        }
    }
    let head = report.input.head_sha.short();
    // The person who names no head may expect the files of the checkout to be judged.
    let head = match report.input.head_ref == "HEAD" {
        _ if uncommitted(report).is_some() => {
            "no commit: nothing is stored, and nothing is proved about a commit".to_owned()
        }
        true => format!("{head}; what is not committed is not judged; --worktree judges it"),
        false => head.to_owned(),
    };
    page.item("  head    ", DIM, &head);
    page.item("  checked ", DIM, &extent(report));
    match report.run_directory {
        Some(directory) => {
            let command = format!("qa-skill verify {}", shell_word(&sanitize(directory)));
            page.unbroken("  verify  ", DIM, &command);
        }
        None => page.item("  key     ", DIM, report.result.execution_key.as_str()),
    }
    if report.replayed {
        page.item("  replay  ", DIM, "an earlier run of the same key has the same result");
    }
}

/// Says the verdict once more where it has scrolled away, with what to do about it.
fn last_line(page: &mut Page, report: &Report<'_>) {
    if page.out.lines().count() < LONG {
        return;
    }
    page.out.push('\n');
    headline(page, report);
    if report.result.final_verdict.conclusion == Conclusion::Fail && report.run_directory.is_some() {
        page.item("      ", DIM, "to explain or to waive a finding: qa-skill explain FINDING");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn text(sample: &sample::Sample, color: bool) -> String {
        String::from_utf8(Terminal.render(&sample.report(color))).unwrap()
    }

    #[test]
    fn a_run_that_fails_is_shown_with_every_finding_at_its_line() {
        insta::assert_snapshot!("fail", text(&sample::fail(), false));
    }

    #[test]
    fn without_colour_there_is_no_escape_byte_and_with_it_only_styles() {
        let styles = regex::Regex::new("\x1b\\[[0-9;]*m").unwrap();
        for (name, sample) in sample::all() {
            assert!(!text(&sample, false).contains('\x1b'), "{name}");
            let colored = text(&sample, true);
            assert!(!styles.replace_all(&colored, "").contains('\x1b'), "{name}");
        }
    }

    #[test]
    fn many_findings_are_counted_by_rule_and_blocking_ones_stay_whole() {
        let sample = sample::large(300, 3000);
        let text = text(&sample, false);
        let report = sample.report(false);
        let (all, _) = findings_here(&report);
        let blocking: Vec<&&Finding> = all.iter().filter(|finding| finding.blocking).collect();
        assert_eq!(blocking.len(), 75);
        assert!(
            text.contains("critical[secret-token/github-token]") && text.contains("(75 places)"),
            "{text}"
        );
        assert!(blocking.iter().all(|finding| text.contains(&location(finding))), "{text}");
        assert!(text.contains("and 2,919 more places, all in lens-results.json"), "{text}");
    }

    #[test]
    fn findings_that_differ_are_shown_one_by_one_or_counted_by_rule() {
        let mut sample = sample::large(300, 3000);
        crate::tests::tell_apart(&mut sample);
        let text = text(&sample, false);
        assert_eq!(text.matches("critical[secret-token/github-token]").count(), 75);
        assert!(text.contains("     2925  debug-leftover/dbg"), "{text}");
    }

    #[test]
    fn a_quoted_line_commands_no_runner() {
        let mut sample = sample::fail();
        for text in sample.texts.values_mut() {
            text.text = text.text.replace("let", "##[");
        }
        let shown = String::from_utf8(Terminal.render(&sample.report(false))).unwrap();
        assert!(shown.contains("## [") && !shown.contains("##["), "{shown}");
    }

    #[test]
    fn the_problem_matcher_finds_rule_message_and_place_of_each_finding_shown() {
        let matcher: serde_json::Value =
            serde_json::from_str(include_str!("../../../docs/problem-matcher.json")).unwrap();
        let pattern = |index: usize| {
            let text = matcher["problemMatcher"][0]["pattern"][index]["regexp"].as_str().unwrap();
            regex::Regex::new(text).unwrap()
        };
        let (title, place) = (pattern(0), pattern(1));
        let shown = text(&sample::fail(), false);
        let lines: Vec<&str> = shown.lines().collect();
        let found: Vec<String> = lines
            .windows(2)
            .filter_map(|pair| {
                let (title, place) = (title.captures(pair[0])?, place.captures(pair[1])?);
                let column = place.get(3).map_or("", |column| column.as_str());
                Some(format!("{} {}:{}:{column} {}", &title[2], &place[1], &place[2], &title[3]))
            })
            .collect();
        assert_eq!(found[0], "secret-token/github-token src/config.rs:13:20 a GitHub token is added");
        assert_eq!(found.len(), lines.iter().filter(|line| line.trim_start().starts_with("--> ")).count());
    }
}
