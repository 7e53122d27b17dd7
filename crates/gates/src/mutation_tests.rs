//! Effect of cutting, lengthening or reversing a recorded report, or of another exit status.

use super::ALL;
use super::contract::{Diagnostic, Places, ReportError, ReportFormat, Stream, Tool};
use super::corpus::{Case, CaseOutput, Page, each_report, shown};
use super::judge::{EXIT_STATUS, Judged};
use qa_contracts::limits::MAX_REPORT_BYTES;

/// Tools whose report is a sequence of parts: cut between two of them, it looks like one of fewer parts. A command of
/// ours that prints too much says so in [`super::contract::CommandOutput::capped`]; a file that was cut there cannot be told. Of TAP only
/// comments and what tests print may be missing, as its plan counts the tests.
const WITHOUT_END: &[&str] = &["go-test", "go-vet", "tsc", "cargo-test", "tap"];

impl Case {
    /// The block that holds the report, which is what the mutations change.
    pub(super) fn report_block(&self, tool: &dyn Tool) -> Option<usize> {
        let position = |name: &str| {
            self.blocks.iter().position(|(opening, text)| opening == name && !text.trim().is_empty())
        };
        let import = self.blocks.iter().position(|(opening, _)| opening.starts_with("import "));
        let own = match tool.spec().stream {
            Stream::Stdout => position("stdout"),
            Stream::Both => position("stdout").or(position("stderr")),
            Stream::File => position("file"),
        };
        import.or(own)
    }

    pub(super) fn with_report(
        &self,
        block: usize,
        report: &[u8],
        exit: Option<&str>,
        tool: &dyn Tool,
    ) -> Result<Judged, ReportError> {
        let mut output = self.output();
        if let Some(exit) = exit {
            output.exit = exit.parse().ok();
        }
        match self.blocks[block].0.as_str() {
            "stdout" => output.stdout = report,
            "stderr" => output.stderr = report,
            _ => output.reports = vec![report],
        }
        output.judged(tool)
    }
}

/// Offsets all over a report, each end of a line among them.
fn offsets(report: &[u8]) -> Vec<usize> {
    let ends = report.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let step = report.len() / 200 + 1;
    let mut offsets: Vec<usize> = (0..report.len()).step_by(step).chain(ends).collect();
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

fn each_mutable(mut look: impl FnMut(&Page, &Case, &dyn Tool, usize, &[u8])) {
    let mut seen = 0;
    each_report(|page, case, tool| {
        if let Some(block) = case.report_block(tool) {
            look(page, case, tool, block, case.blocks[block].1.as_bytes());
            seen += 1;
        }
    });
    assert!(seen > 60, "{seen} reports");
}

#[test]
fn a_report_that_was_cut_anywhere_never_passes() {
    each_mutable(|page, case, tool, block, report| {
        let whole = case.judged(tool);
        let passed = whole.as_ref().is_ok_and(|judged| judged.passed);
        for end in offsets(report).into_iter().filter(|&end| end < report.trim_ascii_end().len()) {
            let Ok(cut) = case.with_report(block, &report[..end], None, tool) else { continue };
            let shown = || format!("{}.md, {}: cut at {end} it passes", page.name, case.title);
            // vet ends with status 0 whatever it found, so that nothing but its whole output will do.
            let is_vet = page.name == "go-vet" && case.import().is_none();
            assert!(passed || !cut.passed || is_vet, "{}", shown());
            if cut.passed {
                let between = report[end - 1] == b'\n' || report[end] == b'\n';
                let between = between || page.name == "cargo-test";
                assert!(WITHOUT_END.contains(&page.name.as_str()) && between, "{}", shown());
            }
        }
    });
}

#[test]
fn a_clean_status_never_turns_a_fault_into_a_pass() {
    each_mutable(|page, case, tool, block, report| {
        let Ok(whole) = case.judged(tool) else { return };
        if !whole.report.totals.has_faults() || whole.report.diagnostics.iter().any(is_about_the_status) {
            return;
        }
        for end in offsets(report).into_iter().chain([report.len()]) {
            let judged = case.with_report(block, &report[..end], Some("0"), tool);
            let between = end < report.len() && WITHOUT_END.contains(&page.name.as_str());
            let passed = judged.is_ok_and(|judged| judged.passed);
            assert!(!passed || between, "{}.md, {}: cut at {end} it passes", page.name, case.title);
        }
    });
}

pub(super) fn is_about_the_status(diagnostic: &Diagnostic) -> bool {
    diagnostic.rule.as_deref() == Some(EXIT_STATUS)
}

#[test]
fn no_status_but_clean_ever_passes() {
    each_mutable(|page, case, tool, block, report| {
        if case.import().is_some() {
            return;
        }
        for exit in ["1", "2", "3", "4", "5", "6", "101", "127", "134", "137", "255", "-1", ""] {
            let passed = case.with_report(block, report, Some(exit), tool).is_ok_and(|judged| judged.passed);
            assert!(!passed, "{}.md, {}: with status {exit:?} it passes", page.name, case.title);
        }
    });
}

#[test]
fn output_over_a_limit_never_passes() {
    each_mutable(|page, case, tool, _, _| {
        let output = CaseOutput { capped: true, ..case.output() };
        if output.import.is_none() {
            let passed = output.judged(tool).is_ok_and(|judged| judged.passed);
            assert!(!passed, "{}.md, {}", page.name, case.title);
        }
    });
}

#[test]
fn nothing_and_anything_else_never_passes() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_xml = "<testsuite>".repeat(100_000);
    let others = [
        "",
        " ",
        "\n",
        "null",
        "0",
        "true",
        "\"\"",
        "{}",
        "[]]",
        "[null]",
        "[[]]",
        "[{}]",
        "{\"a\":1}",
        "ok",
        "PASS",
        "\u{0}",
        "<html/>",
        "<testsuites/>",
        "<testsuite tests='1'/>",
        "{\"success\":true}",
        "{\"testResults\":[]}",
        "{\"version\":\"2.1.0\",\"runs\":[]}",
        "{\"reason\":\"x\"}",
        "test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        &deep,
        &deep_xml,
    ];
    for tool in ALL {
        let spec = tool.spec();
        for other in others {
            let other = other.as_bytes();
            let (stdout, reports) = match spec.stream {
                Stream::Stdout | Stream::Both => (other, Vec::new()),
                Stream::File => (&b""[..], vec![other]),
            };
            let own = CaseOutput { stdout, reports, ..nothing() };
            let imports = spec.formats.iter().map(|&format| CaseOutput {
                import: Some(format),
                reports: vec![other],
                ..nothing()
            });
            for output in imports.chain([own]) {
                let passed = output.judged(*tool).is_ok_and(|judged| judged.passed);
                // The whole of what newer versions of Go print for one clean package.
                let is_clean = spec.id == "go-vet" && other == b"{}";
                assert!(
                    !passed || is_clean,
                    "{}: {:?} passes",
                    spec.id,
                    String::from_utf8_lossy(&other[..other.len().min(60)])
                );
            }
        }
        assert!(nothing().judged(*tool).is_err(), "{}", spec.id);
    }
}

/// Leavings of a command that does nothing and ends well.
fn nothing() -> CaseOutput<'static> {
    CaseOutput {
        import: None,
        reports: Vec::new(),
        stdout: b"",
        stderr: b"",
        exit: Some(0),
        capped: false,
        places: Places { roots: &[], directory: "", module: "" },
    }
}

#[test]
fn what_stands_behind_a_report_never_makes_it_pass() {
    each_mutable(|page, case, tool, block, report| {
        let whole = case.judged(tool);
        for tail in ["}", "]", "{}", "[]", "null", "<testsuite/>", "garbage", "\u{0}"] {
            let longer = [report, tail.as_bytes(), b"\n"].concat();
            let judged = case.with_report(block, &longer, None, tool);
            let passed = judged.as_ref().is_ok_and(|judged| judged.passed);
            let same = judged == whole;
            // Test programs may print what they like between the lines of cargo and TAP and below them.
            let printed = page.name == "cargo-test" && !tail.starts_with('{') || page.name == "tap";
            let empty = tail == "{}" && page.name == "go-vet";
            assert!(
                !passed || (same && (printed || empty)),
                "{}.md, {}: with {tail:?} it passes",
                page.name,
                case.title
            );
        }
    });
}

#[test]
fn a_byte_order_mark_changes_nothing() {
    each_mutable(|page, case, tool, block, report| {
        // Two streams of a command of ours are read as one, in which it would stand anywhere.
        if tool.spec().stream == Stream::Both && case.import().is_none() {
            return;
        }
        let marked = [b"\xef\xbb\xbf", report].concat();
        let (name, title) = (&page.name, &case.title);
        assert_eq!(case.with_report(block, &marked, None, tool), case.judged(tool), "{name}.md, {title}");
    });
}

#[test]
fn the_order_of_a_report_decides_nothing() {
    let mut turned = 0;
    each_mutable(|page, case, tool, block, report| {
        let parsed = serde_json::from_slice(report).ok().filter(|_| case.judged(tool).is_ok());
        let Some(serde_json::Value::Array(mut entries)) = parsed else { return };
        entries.reverse();
        let reversed = serde_json::to_vec(&entries).unwrap();
        assert_eq!(
            case.with_report(block, &reversed, None, tool),
            case.judged(tool),
            "{}.md, {}",
            page.name,
            case.title
        );
        turned += 1;
    });
    assert!(turned > 8, "{turned} reports");
}

#[test]
fn a_report_over_the_limit_is_not_read() {
    let report = vec![b' '; MAX_REPORT_BYTES + 1];
    for tool in ALL {
        let import = Some(tool.spec().formats[0]);
        let judged = CaseOutput { import, reports: vec![&report], ..nothing() }.judged(*tool);
        assert!(matches!(judged, Err(ReportError::TooLarge(_))), "{}", tool.spec().id);
    }
}

#[test]
fn places_of_this_machine_never_stand_in_a_result() {
    each_report(|page, case, tool| {
        let shown = shown(&case.judged(tool));
        for place in ["/github/workspace/", "\u{1b}", "\u{7}"] {
            assert!(!shown.contains(place), "{}.md, {}: {shown}", page.name, case.title);
        }
    });
}

#[test]
fn a_report_made_to_take_long_does_not() {
    let many = 20_000;
    let attributes: String = (0..many).map(|number| format!(" a{number}='1'")).collect();
    let runners = "/home/runner/work/a/a/".repeat(many);
    let tags: String = (1..many).map(|number| format!("@feature:{number} @step:1 ")).collect();
    let failures = "a.py:1".repeat(many);
    let rules = r#"{"id":"R"},"#.repeat(many) + r#"{"id":"Q"}"#;
    let results =
        r#"{"ruleId":"Q","message":{"text":"t"}},"#.repeat(many) + r#"{"ruleId":"Q","message":{"text":"t"}}"#;
    let reports = [
        (ReportFormat::Junit, format!("<testsuite{attributes}/>")),
        (ReportFormat::Junit, format!("<testsuite><testcase name='{tags}'/></testsuite>")),
        (
            ReportFormat::Junit,
            format!(
                "<testsuite><testcase name='a' file='a.py'><failure>{failures}</failure></testcase></testsuite>"
            ),
        ),
        (
            ReportFormat::MypyText,
            format!("a.py:1: error: {runners}\nFound 1 error in 1 file (checked 1 source file)\n"),
        ),
        (
            ReportFormat::Sarif,
            format!(
                r#"{{"version":"2.1.0","runs":[{{"tool":{{"driver":{{"name":"x","rules":[{rules}]}}}},"results":[{results}]}}]}}"#
            ),
        ),
    ];
    for (format, report) in reports {
        let places = Places { roots: &[], directory: "", module: "" };
        let judged = super::readers::read_report(format, report.as_bytes(), &places)
            .map(|report| report.finish().totals.ran());
        assert!(
            judged.is_ok() || matches!(judged, Err(ReportError::TooLarge(_))),
            "{}: {judged:?}",
            format.as_str()
        );
    }
}
