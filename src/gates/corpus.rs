//! Runs the pages in `tests/corpus/gates`: each is the documentation of a tool and real outputs of it at once.

use std::path::PathBuf;

use super::ALL;
use super::contract::{
    CommandOutput, Diagnostic, Output, Places, Project, ReportError, ReportFormat, Source, Stream, TestCase,
    Tool,
};
use super::judge::{Judged, judge};
use crate::contracts::limits::MAX_REPORT_BYTES;

/// One case of a page.
#[derive(Debug, Default, Clone)]
struct Case {
    title: String,
    blocks: Vec<(String, String)>,
    expect: String,
}

struct Page {
    name: String,
    title: String,
    prose: String,
    cases: Vec<Case>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/gates")
}

fn pages() -> Vec<Page> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<Page> = entries.map(|path| read_page(&path)).collect();
    pages.sort_by(|left, right| left.name.cmp(&right.name));
    pages
}

fn read_page(path: &std::path::Path) -> Page {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
    let mut page = Page { name, title: String::new(), prose: String::new(), cases: Vec::new() };
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix("# ") {
            page.title = title.to_owned();
        } else if let Some(title) = line.strip_prefix("## ") {
            page.cases.push(Case { title: title.to_owned(), ..Case::default() });
        } else if let Some(opening) = line.strip_prefix("~~~") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "~~~").collect();
            let block: String = block.iter().map(|line| format!("{line}\n")).collect();
            let case = page.cases.last_mut().expect("a block stands in a case");
            if opening == "expect" {
                case.expect = block;
            } else {
                case.blocks.push((opening.to_owned(), block));
            }
        } else {
            page.prose.push_str(line);
        }
    }
    page
}

impl Case {
    fn block(&self, name: &str) -> Option<&str> {
        self.blocks.iter().find(|(opening, _)| opening == name).map(|(_, text)| text.as_str())
    }

    fn word(&self, name: &str) -> &str {
        self.block(name).unwrap_or("").trim()
    }

    fn import(&self) -> Option<(ReportFormat, &[u8])> {
        let named = |(opening, text): &'_ (String, String)| -> Option<(ReportFormat, *const String)> {
            let format = opening.strip_prefix("import ")?;
            Some((ReportFormat::parse(format).unwrap_or_else(|| panic!("no format {format}")), text))
        };
        let found = self.blocks.iter().position(|block| named(block).is_some())?;
        let (format, _) = named(&self.blocks[found])?;
        Some((format, self.blocks[found].1.as_bytes()))
    }

    fn places(&self) -> Places<'_> {
        Places { roots: &[], directory: self.word("directory"), module: self.word("module") }
    }

    fn source(&self) -> Source<'_> {
        match self.import() {
            Some((format, report)) => Source::Import { format, report },
            None => Source::Command(CommandOutput {
                stdout: self.block("stdout").unwrap_or("").as_bytes(),
                stderr: self.block("stderr").unwrap_or("").as_bytes(),
                report_file: self.block("file").map(str::as_bytes),
                exit: self.word("exit").parse().ok(),
                capped: false,
            }),
        }
    }

    fn judged(&self, tool: &dyn Tool) -> Result<Judged, ReportError> {
        judge(tool, &Output { source: self.source(), places: self.places() })
    }

    fn is_detection(&self) -> bool {
        self.title.starts_with("detects: ")
    }

    fn detected(&self, tool: &dyn Tool) -> String {
        let manifests: Vec<(&str, &str)> = self
            .blocks
            .iter()
            .filter_map(|(opening, text)| Some((opening.strip_prefix("manifest ")?, text.as_str())))
            .collect();
        let paths: Vec<&str> = self.block("paths").unwrap_or("").lines().collect();
        let directory = self.word("directory");
        let Some(found) = tool.detect(&Project { directory, manifests: &manifests, paths: &paths }) else {
            return "not used\n".to_owned();
        };
        let mut shown = format!("{}\n", found.argv.join(" "));
        if found.directory != directory || !directory.is_empty() {
            shown += &format!("in {}\n", if found.directory.is_empty() { "." } else { &found.directory });
        }
        shown
    }
}

fn place(path: Option<&crate::contracts::ids::RepoPath>, line: Option<u32>, column: Option<u32>) -> String {
    let number = |number: Option<u32>| number.map(|number| format!(":{number}")).unwrap_or_default();
    format!("{}{}{}", path.map_or("-".to_owned(), ToString::to_string), number(line), number(column))
}

fn shown_diagnostic(diagnostic: &Diagnostic) -> String {
    let at = place(diagnostic.path.as_ref(), diagnostic.line, diagnostic.column);
    let end = match (diagnostic.end_line, diagnostic.end_column) {
        (None, None) => String::new(),
        (line, column) => {
            format!("-{}{}", line.unwrap_or(0), column.map(|at| format!(":{at}")).unwrap_or_default())
        }
    };
    let rule = diagnostic.rule.as_deref().unwrap_or("-");
    let message = diagnostic.message.replace('\n', "\n  | ");
    format!("{} {at}{end} {rule} {message}", diagnostic.severity.text())
}

fn shown_test(test: &TestCase) -> String {
    let mut shown =
        format!("{} {} ({})", test.outcome.text(), test.id, place(test.path.as_ref(), test.line, None));
    if test.attempts > 1 {
        shown += &format!(" tried {} times", test.attempts);
    }
    for story in &test.stories {
        let step = story.step.map(|step| format!(".{step}")).unwrap_or_default();
        shown += &format!(" shows {}{step}", story.feature);
    }
    for attachment in &test.attachments {
        let path = attachment.path.as_ref().map_or("-".to_owned(), ToString::to_string);
        shown += &format!("\n  + {} {path} {}", attachment.name, attachment.media_type);
    }
    if let Some(message) = &test.message {
        shown += &format!("\n  | {}", message.replace('\n', "\n  | "));
    }
    shown
}

fn shown(judged: &Result<Judged, ReportError>) -> String {
    let judged = match judged {
        Err(error) => {
            return format!("refused: {}: {error}\n", error.kind())
                .replace('\n', "\n  | ")
                .trim_end_matches("  | ")
                .to_owned();
        }
        Ok(judged) => judged,
    };
    let report = &judged.report;
    let mut lines = vec![if judged.passed { "passed" } else { "failed" }.to_owned()];
    let tool = report.tool.iter().map(|tool| {
        format!("made by {} {}", tool.name, tool.version.as_deref().unwrap_or("")).trim_end().to_owned()
    });
    lines.extend(tool);
    lines.extend(report.commit.iter().map(|commit| format!("of commit {commit}")));
    lines.extend(report.diagnostics.iter().map(shown_diagnostic));
    lines.extend(report.tests.iter().map(shown_test));
    lines.iter().map(|line| format!("{}\n", line.replace(" \n", "\n").trim_end())).collect()
}

fn tool(name: &str) -> &'static dyn Tool {
    *ALL.iter().find(|tool| tool.spec().id == name).unwrap_or_else(|| panic!("no tool {name}"))
}

fn each_report(mut look: impl FnMut(&Page, &Case, &dyn Tool)) {
    for page in pages() {
        for case in page.cases.iter().filter(|case| !case.is_detection()) {
            look(&page, case, tool(&page.name));
        }
    }
}

/// Writes what was found into the page, for `git diff` to show to whoever asked for it.
fn restate(name: &str, case: &Case, found: &str) {
    let path = folder().join(format!("{name}.md"));
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(&format!("## {}\n", case.title)).unwrap();
    let old = format!("~~~expect\n{}~~~\n", case.expect);
    let new = format!("~~~expect\n{found}~~~\n");
    let rest = rest.replacen(&old, &new, 1);
    std::fs::write(&path, format!("{before}## {}\n{rest}", case.title)).unwrap();
}

#[test]
fn every_case_of_every_page_gives_exactly_the_result_it_states() {
    let mut wrong = Vec::new();
    for page in pages() {
        let tool = tool(&page.name);
        for case in &page.cases {
            let found = if case.is_detection() { case.detected(tool) } else { shown(&case.judged(tool)) };
            if found != case.expect && std::env::var_os("UPDATE_CORPUS").is_some() {
                restate(&page.name, case, &found);
            } else if found != case.expect {
                wrong.push(format!(
                    "{}.md, {}\n--- stated\n{}--- found\n{found}",
                    page.name, case.title, case.expect
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_tool_has_a_page_and_every_page_a_tool() {
    let ids: Vec<&str> = ALL.iter().map(|tool| tool.spec().id).collect();
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(ids, sorted, "the tools are sorted by id");
    let pages = pages();
    assert_eq!(ids, pages.iter().map(|page| page.name.as_str()).collect::<Vec<_>>());
    for page in &pages {
        assert_eq!(page.title, page.name);
        assert!(page.prose.len() > 300, "{} is explained", page.name);
        let file = format!("src/gates/{}.rs", page.name.replace('-', "_"));
        assert!(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(&file).exists(), "{file} is not there");
        for kind in ["detects: ", "passes: ", "fails: ", "refused: "] {
            assert!(
                page.cases.iter().any(|case| case.title.starts_with(kind)),
                "{} shows no {kind}",
                page.name
            );
        }
    }
}

#[test]
fn the_kind_of_a_case_is_the_result_it_states() {
    each_report(|page, case, _| {
        let word = case.title.split(": ").next().unwrap();
        let first = match word {
            "passes" => "passed\n",
            "fails" => "failed\n",
            "refused" => "refused: ",
            other => panic!("{}.md: no kind {other:?}", page.name),
        };
        assert!(case.expect.starts_with(first), "{}.md, {}", page.name, case.title);
    });
}

/// Tools whose report is a sequence of parts: cut between two of them, it looks like one of fewer parts. A command of
/// ours that prints too much says so in [`CommandOutput::capped`]; a file that was cut there cannot be told.
const WITHOUT_END: &[&str] = &["go-test", "go-vet", "tsc", "cargo-test"];

impl Case {
    /// The block that holds the report, which is what the mutations change.
    fn report_block(&self, tool: &dyn Tool) -> Option<usize> {
        let position = |name: &str| {
            self.blocks.iter().position(|(opening, text)| opening == name && !text.trim().is_empty())
        };
        let import = self.blocks.iter().position(|(opening, _)| opening.starts_with("import "));
        let own = match tool.spec().stream {
            Stream::Stdout => position("stdout"),
            Stream::Stderr => position("stderr"),
            Stream::Both => position("stdout").or(position("stderr")),
            Stream::File => position("file"),
        };
        import.or(own)
    }

    fn with_report(
        &self,
        block: usize,
        report: &[u8],
        exit: Option<&str>,
        tool: &dyn Tool,
    ) -> Result<Judged, ReportError> {
        let mut case = self.clone();
        case.blocks[block].1 = String::new();
        if let Some((_, text)) = case.blocks.iter_mut().find(|(opening, _)| opening == "exit")
            && let Some(exit) = exit
        {
            *text = exit.to_owned();
        }
        let mut source = case.source();
        match &mut source {
            Source::Import { report: bytes, .. } => *bytes = report,
            Source::Command(command) => match self.blocks[block].0.as_str() {
                "stdout" => command.stdout = report,
                "stderr" => command.stderr = report,
                _ => command.report_file = Some(report),
            },
        }
        judge(tool, &Output { source, places: case.places() })
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

fn is_about_the_status(diagnostic: &Diagnostic) -> bool {
    diagnostic.rule.as_deref() == Some(super::judge::EXIT_STATUS)
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
        if let Source::Command(command) = case.source() {
            let source = Source::Command(CommandOutput { capped: true, ..command });
            let judged = judge(tool, &Output { source, places: case.places() });
            assert!(!judged.is_ok_and(|judged| judged.passed), "{}.md, {}", page.name, case.title);
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
            let places = Places { roots: &[], directory: "", module: "" };
            let (stdout, stderr) = match spec.stream {
                Stream::Stdout | Stream::Both => (other, &b""[..]),
                Stream::Stderr => (&b""[..], other),
                Stream::File => (&b""[..], &b""[..]),
            };
            let report_file = Some(other).filter(|_| spec.stream == Stream::File);
            let command = CommandOutput { stdout, stderr, report_file, exit: Some(0), capped: false };
            let imports = spec.formats.iter().map(|&format| Source::Import { format, report: other });
            for source in imports.chain([Source::Command(command)]) {
                let passed = judge(*tool, &Output { source, places }).is_ok_and(|judged| judged.passed);
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
        let missing =
            CommandOutput { stdout: b"", stderr: b"", report_file: None, exit: Some(0), capped: false };
        let places = Places { roots: &[], directory: "", module: "" };
        assert!(judge(*tool, &Output { source: Source::Command(missing), places }).is_err(), "{}", spec.id);
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
            // Test programs may print what they like between the lines of cargo and below them.
            let printed = page.name == "cargo-test" && !tail.starts_with('{');
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
        let places = Places { roots: &[], directory: "", module: "" };
        let source = Source::Import { format: tool.spec().formats[0], report: &report };
        let judged = judge(*tool, &Output { source, places });
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

/// The table of tools in `docs/gates.md`.
fn table() -> String {
    let mut table =
        "| Tool | Gate | Language | Looks at | Imported from |\n|---|---|---|---|---|\n".to_owned();
    for spec in ALL.iter().map(|tool| tool.spec()) {
        let formats: Vec<String> = spec.formats.iter().map(|format| format!("`{}`", format.text())).collect();
        let page = format!("[`{0}`](../tests/corpus/gates/{0}.md)", spec.id);
        let (gate, language) = (spec.gate.text(), spec.language.text());
        table += &format!("| {page} | `{gate}` | {language} | {} | {} |\n", spec.about, formats.join(", "));
    }
    table
}

#[test]
fn the_documentation_lists_every_tool_as_it_is() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/gates.md");
    let page = std::fs::read_to_string(path).unwrap();
    assert!(page.contains(&table()), "docs/gates.md should have this table:\n{}", table());
    for format in ReportFormat::ALL {
        assert!(page.contains(&format!("- `{}`", format.text())), "docs/gates.md explains {}", format.text());
        assert!(
            ALL.iter().any(|tool| tool.spec().formats.contains(format)),
            "{} is read for no tool",
            format.text()
        );
    }
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
        let judged = super::readers::read(format, report.as_bytes(), &places)
            .map(|report| report.finish().totals.ran());
        assert!(
            judged.is_ok() || matches!(judged, Err(ReportError::TooLarge(_))),
            "{}: {judged:?}",
            format.text()
        );
    }
}
