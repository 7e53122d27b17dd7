//! Holds the documentation site to the pages of the repository, and its builder to its checks.

use std::collections::BTreeSet;
use std::path::Path;

use crate::scratch::{project, read, run_bash};

/// Folders with pages, and those that are pages of the site in the root of the repository.
const FOLDERS: &[&str] = &["docs", "tests/corpus/lenses"];
const OTHERS: &[&str] = &[
    "AGENTS.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "SKILL.md",
    "evaluation/README.md",
    "examples/README.md",
];

fn pages_below(folder: &str, pages: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(project().join(folder)).expect("the folder can be read") {
        let entry = entry.expect("an entry");
        let path = format!("{folder}/{}", entry.file_name().to_str().expect("a plain name"));
        if entry.path().is_dir() {
            pages_below(&path, pages);
        } else if path.ends_with(".md") {
            pages.insert(path);
        }
    }
}

/// Returns the paths of all pages that are written for readers.
fn pages() -> BTreeSet<String> {
    let mut pages: BTreeSet<String> = OTHERS.iter().map(|page| (*page).to_owned()).collect();
    for folder in FOLDERS {
        pages_below(folder, &mut pages);
    }
    pages
}

/// Returns the lines of a page outside its fenced blocks.
fn lines_outside_blocks(text: &str) -> Vec<&str> {
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark && line == mark => fence = None,
            (None, None) => lines.push(line),
            _ => {}
        }
    }
    lines
}

/// Returns the anchor that forges give a heading.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|character| character.is_alphanumeric() || " -_".contains(*character));
    kept.map(|character| if character == ' ' { '-' } else { character }).collect()
}

fn links(text: &str) -> Vec<String> {
    let lines = lines_outside_blocks(text);
    let targets =
        lines.iter().flat_map(|line| line.split("](").skip(1)).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.to_owned()).collect()
}

#[test]
fn every_page_is_a_chapter_of_the_site_and_the_readme_is_its_first() {
    let listed = links(&read("site/SUMMARY.md"));
    assert_eq!(listed.first().map(String::as_str), Some("README.md"));
    assert_eq!(listed.len(), pages().len(), "each page is listed once");
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), pages());
}

#[test]
fn every_link_to_a_heading_finds_it() {
    let mut found = 0;
    for page in pages() {
        let folder = Path::new(&page).parent().expect("a page is in a folder");
        for link in links(&read(&page)).iter().filter(|link| !link.contains("://")) {
            let Some((path, heading)) = link.split_once('#') else { continue };
            let path = if path.is_empty() { Path::new(&page).to_owned() } else { folder.join(path) };
            let target = read(path.to_str().expect("a plain name"));
            let anchors = lines_outside_blocks(&target).into_iter().filter(|line| line.starts_with('#'));
            assert!(anchors.map(anchor).any(|anchor| anchor == heading), "{page} links to {link}");
            found += 1;
        }
    }
    assert!(found >= 100, "{found}");
}

/// A project of two pages with the builder of the site, and a program in place of mdbook that writes what it is given.
struct SmallSite(tempfile::TempDir);

impl SmallSite {
    fn new() -> Self {
        let site = Self(tempfile::tempdir().expect("a temporary directory can be made"));
        site.write("site/build.py", &read("site/build.py"));
        site.write("site/book.toml", "");
        site.write("site/SUMMARY.md", "[A](README.md)\n[B](docs/b.md)\n");
        site.write("README.md", "[b](docs/b.md#part)\n");
        site.write(
            "docs/b.md",
            "# B\n## Part\n[file](../data.json) [folder](../site)\n```\n[no](link)\n```\n",
        );
        site.write("data.json", "{}");
        site.write("mdbook", "#!/bin/sh\nmkdir -p \"$4\" && cp -r \"$(dirname \"$0\")/../html/.\" \"$4\"\n");
        site.write("html/index.html", "<a href='b.html#part'>b</a><a href='https://example.com'>c</a>");
        site.write("html/b.html", "<h2 id='part'>Part</h2><script src='a.js'></script>");
        site.write("html/a.js", "");
        site
    }

    fn write(&self, path: &str, text: &str) {
        let full = self.0.path().join(path);
        std::fs::create_dir_all(full.parent().expect("a file is in a folder")).expect("a folder can be made");
        std::fs::write(full, text).expect("a file can be written");
    }

    /// Builds the site, and returns whether it succeeds and what it prints. Another process copies the program: what a
    /// test has open for writing cannot be run.
    fn build(&self) -> (bool, String) {
        let script = "install -D -m 0755 mdbook bin/mdbook; python3 site/build.py --mdbook \"$PWD/bin/mdbook\" --source https://forge.example/blob/v1";
        let output = run_bash(self.0.path(), script);
        let printed = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(printed).expect("the output is UTF-8"))
    }
}

#[test]
fn links_to_files_that_are_no_pages_lead_to_the_forge() {
    let site = SmallSite::new();
    let (built, printed) = site.build();
    assert!(built && printed.contains("2 pages, 2 links"), "{printed}");
    let laid_out = std::fs::read_to_string(site.0.path().join("target/site/laid-out/src/docs/b.md"));
    assert_eq!(
        laid_out.expect("the page is laid out"),
        "# B\n## Part\n[file](https://forge.example/blob/v1/data.json) [folder](https://forge.example/tree/v1/site)\n```\n[no](link)\n```\n"
    );
}

#[test]
fn site_with_a_link_that_leads_nowhere_is_refused() {
    for (path, text, problem) in [
        ("README.md", "[gone](docs/gone.md)\n", "README.md links to docs/gone.md, which is not there"),
        ("site/SUMMARY.md", "[A](README.md)\n[B](README.md)\n", "SUMMARY.md lists README.md twice"),
        ("html/index.html", "<a href='gone.html'>b</a>", "index.html links to gone.html, which is not there"),
        (
            "html/index.html",
            "<a href='b.html#gone'>b</a>",
            "index.html links to b.html#gone, which has no such heading",
        ),
        ("html/b.html", "<img src='https://example.com/a.png'>", "b.html loads https://example.com/a.png"),
        ("mdbook", "#!/bin/sh\necho WARN page >&2\n", "WARN page"),
        ("mdbook", "#!/bin/sh\nexit 3\n", "mdbook ended with 3"),
    ] {
        let site = SmallSite::new();
        site.write(path, text);
        let (built, printed) = site.build();
        assert!(!built && printed.contains(problem), "{path} {text}: {printed}");
    }
}
