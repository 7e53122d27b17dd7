//! Invariants of every format and every kind of run.

use crate::{ALL, sample};
use qa_contracts::codes::Code;
use qa_contracts::ids::is_unprintable;

fn render(id: &str, sample: &sample::Sample, color: bool) -> String {
    let format = ALL.iter().find(|format| format.spec().id == id).unwrap();
    String::from_utf8(format.render(&sample.report(color))).unwrap()
}

/// Checks that the tags of a page without style nest, and returns their names; void elements have no end.
pub(crate) fn elements(page: &str) -> std::collections::BTreeSet<String> {
    let void = ["!DOCTYPE", "meta", "input", "br", "col", "img"];
    let tag = regex::Regex::new(r#"<(/?)([!a-zA-Z0-9]+)((?: [a-z-]+(?:="[^"<>]*")?)*)>"#).unwrap();
    let (mut open, mut names, mut count) = (Vec::new(), std::collections::BTreeSet::new(), 0);
    for found in tag.captures_iter(page) {
        count += 1;
        names.insert(found[2].to_owned());
        if &found[1] == "/" {
            assert_eq!(open.pop().as_deref(), Some(&found[2]));
        } else if !void.contains(&&found[2]) {
            open.push(found[2].to_owned());
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert_eq!(page.matches('<').count(), count, "a stray sign");
    names
}

/// Gives each finding words of its own.
pub(crate) fn tell_apart(sample: &mut sample::Sample) {
    let findings = sample.result.lens_results.iter_mut().flat_map(|result| &mut result.findings);
    for (index, finding) in findings.enumerate() {
        finding.summary = format!("finding number {index}");
    }
}

#[test]
fn formats_are_sorted_by_id() {
    assert!(ALL.windows(2).all(|pair| pair[0].spec().id < pair[1].spec().id));
}

#[test]
fn nothing_invisible_leaves_through_any_format() {
    for (name, sample) in sample::all() {
        for format in ALL {
            let text = render(format.spec().id, &sample, false);
            // JSON spells control characters out and keeps the others: it is for programs.
            let is_json = matches!(format.spec().id, "json");
            let bad = text
                .chars()
                .find(|&c| c != '\n' && if is_json { c.is_ascii_control() } else { is_unprintable(c) });
            assert_eq!(bad, None, "{} of {name}", format.spec().id);
        }
    }
}

#[test]
fn the_same_report_gives_the_same_bytes() {
    for (name, sample) in sample::all() {
        for format in ALL {
            let id = format.spec().id;
            assert!(render(id, &sample, true) == render(id, &sample, true), "{id} of {name}");
        }
    }
}

#[test]
fn what_differs_between_machines_stays_out_of_kept_files() {
    for (name, sample) in sample::all() {
        for format in ALL.iter().filter(|format| format.spec().file.is_some()) {
            let id = format.spec().id;
            let text = render(id, &sample, false);
            assert!(!text.contains("volatile") && !text.contains(".qa-skill/runs/"), "{id} of {name}");
            assert!(text == render(id, &sample, true), "{id} of {name}");
        }
    }
}

/// Leaves everything where a person can look at it: `formats` beside the test's own directory.
#[test]
fn every_format_can_be_written_down() {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap().join("formats");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, sample) in sample::all() {
        for format in ALL {
            let id = format.spec().id;
            let file = format.spec().file.unwrap_or(id);
            std::fs::write(folder.join(format!("{name}-{file}")), render(id, &sample, id == "terminal"))
                .unwrap();
        }
    }
}

#[test]
fn no_format_names_a_head_commit_where_none_was_judged() {
    for (code, content) in
        [(Code::StagedJudged, "Staged changes: "), (Code::WorktreeJudged, "Working tree: ")]
    {
        for (name, mut sample) in sample::all() {
            sample.result.final_verdict.warning_codes.push(code);
            for format in ALL {
                let id = format.spec().id;
                let text = render(id, &sample, false);
                assert!(!text.contains(sample.input.head_sha.short()), "{id} of {name}: {text}");
            }
            assert!(render("json", &sample, false).contains(code.as_str()), "{name}");
            for id in ["terminal", "markdown", "html"] {
                let text = render(id, &sample, false);
                assert!(text.contains(content) && text.contains(code.as_str()), "{id} of {name}");
            }
        }
    }
}
