//! Runs the pages in `tests/corpus/gates`: each is the documentation of a tool and real outputs of it at once.

use std::path::PathBuf;

use super::ALL;
use super::contract::{
    CommandOutput, Diagnostic, ImportEnd, Output, Places, Project, ReportError, ReportFile, ReportFormat,
    Source, TestCase, Tool,
};
use super::judge::{Judged, judge};

/// Case of a page.
#[derive(Debug, Default, Clone)]
pub(super) struct Case {
    pub(super) title: String,
    pub(super) blocks: Vec<(String, String)>,
    expect: String,
}

pub(super) struct Page {
    pub(super) name: String,
    title: String,
    prose: String,
    cases: Vec<Case>,
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/gates")
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

    pub(super) fn import(&self) -> Option<(ReportFormat, &[u8])> {
        let named = |(opening, text): &'_ (String, String)| -> Option<(ReportFormat, *const String)> {
            let format = opening.strip_prefix("import ")?;
            Some((ReportFormat::parse(format).unwrap_or_else(|| panic!("no format {format}")), text))
        };
        let found = self.blocks.iter().position(|block| named(block).is_some())?;
        let (format, _) = named(&self.blocks[found])?;
        Some((format, self.blocks[found].1.as_bytes()))
    }

    pub(super) fn places(&self) -> Places<'_> {
        Places { roots: &[], directory: self.word("directory"), module: self.word("module") }
    }

    pub(super) fn output(&self) -> CaseOutput<'_> {
        let import = self.import();
        let files = self.blocks.iter().filter(|(opening, _)| opening == "file");
        let mut reports: Vec<&[u8]> = files.map(|(_, text)| text.as_bytes()).collect();
        reports.extend(import.map(|(_, report)| report));
        CaseOutput {
            import: import.map(|(format, _)| format),
            reports,
            stdout: self.block("stdout").unwrap_or("").as_bytes(),
            stderr: self.block("stderr").unwrap_or("").as_bytes(),
            exit: self.word("exit").parse().ok(),
            capped: false,
            places: self.places(),
        }
    }

    pub(super) fn judged(&self, tool: &dyn Tool) -> Result<Judged, ReportError> {
        self.output().judged(tool)
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

/// Output of a tool in a case: files to import, or what its command left.
pub(super) struct CaseOutput<'a> {
    pub(super) import: Option<ReportFormat>,
    pub(super) reports: Vec<&'a [u8]>,
    pub(super) stdout: &'a [u8],
    pub(super) stderr: &'a [u8],
    pub(super) exit: Option<i32>,
    pub(super) capped: bool,
    pub(super) places: Places<'a>,
}

impl CaseOutput<'_> {
    pub(super) fn judged(&self, tool: &dyn Tool) -> Result<Judged, ReportError> {
        let spec = tool.spec();
        let mut reports = self.reports.clone();
        // The report of a command of the policy, which has no reader of its own.
        let format = spec.is_generic().then(|| spec.formats[0]);
        if format.is_some() && reports.is_empty() {
            reports.push(self.stdout);
        }
        let files: Vec<ReportFile<'_>> =
            reports.iter().map(|bytes| ReportFile { path: "report", bytes }).collect();
        let source = match self.import {
            Some(format) => Source::Import { format, reports: &files, end: ImportEnd::Unknown },
            None => Source::Command(CommandOutput {
                stdout: self.stdout,
                stderr: self.stderr,
                reports: &files,
                format,
                exit: self.exit,
                capped: self.capped,
            }),
        };
        judge(tool, &Output { gate: spec.gates[0], source, places: self.places })
    }
}

fn place(path: Option<&super::report::ReportedPath>, line: Option<u32>, column: Option<u32>) -> String {
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
    format!("{} {at}{end} {rule} {message}", diagnostic.severity.as_str())
}

fn shown_test(test: &TestCase) -> String {
    let mut shown =
        format!("{} {} ({})", test.outcome.as_str(), test.id, place(test.path.as_ref(), test.line, None));
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

pub(super) fn shown(judged: &Result<Judged, ReportError>) -> String {
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
    lines.extend(report.partial.iter().map(|why| format!("not everything: {why}")));
    lines.extend(report.diagnostics.iter().map(shown_diagnostic));
    lines.extend(report.tests.iter().map(shown_test));
    lines.iter().map(|line| format!("{}\n", line.replace(" \n", "\n").trim_end())).collect()
}

fn tool(name: &str) -> &'static dyn Tool {
    *ALL.iter().find(|tool| tool.spec().id == name).unwrap_or_else(|| panic!("no tool {name}"))
}

pub(super) fn each_report(mut look: impl FnMut(&Page, &Case, &dyn Tool)) {
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
        let is_generic = tool(&page.name).spec().is_generic();
        let file = match is_generic {
            true => "src/generic.rs".to_owned(),
            false => format!("src/{}.rs", page.name.replace('-', "_")),
        };
        assert!(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(&file).exists(), "{file} is not there");
        let kinds = ["detects: ", "passes: ", "fails: ", "refused: "];
        for kind in &kinds[usize::from(is_generic)..] {
            assert!(
                page.cases.iter().any(|case| case.title.starts_with(*kind)),
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

/// The table of tools in `docs/gates.md`.
fn table() -> String {
    let mut table =
        "| Tool | Gate | Language | Looks at | Imported from |\n|---|---|---|---|---|\n".to_owned();
    for spec in ALL.iter().map(|tool| tool.spec()) {
        let formats: Vec<String> =
            spec.formats.iter().map(|format| format!("`{}`", format.as_str())).collect();
        let page = format!("[`{0}`](../tests/corpus/gates/{0}.md)", spec.id);
        let gates: Vec<String> = spec.gates.iter().map(|gate| format!("`{gate}`")).collect();
        let (gates, language) = (gates.join(", "), spec.language.as_str());
        table += &format!("| {page} | {gates} | {language} | {} | {} |\n", spec.about, formats.join(", "));
    }
    table
}

#[test]
fn the_documentation_lists_every_tool_as_it_is() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/gates.md");
    let page = std::fs::read_to_string(path).unwrap();
    assert!(page.contains(&table()), "docs/gates.md should have this table:\n{}", table());
    for format in ReportFormat::ALL {
        assert!(
            page.contains(&format!("- `{}`", format.as_str())),
            "docs/gates.md explains {}",
            format.as_str()
        );
        assert!(
            ALL.iter().any(|tool| tool.spec().formats.contains(format)),
            "{} is read for no tool",
            format.as_str()
        );
    }
}
