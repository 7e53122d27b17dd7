//! Applies the edits of all hits of all pages: each mends its finding, and none brings another.

use std::collections::{BTreeMap, BTreeSet};

use super::ALL;
use super::contract::{Draft, Lens};
use super::corpus::{Case, CaseFile, changed_file, pages, policy, run_lens_under};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangedFile, Edit, EditSafety, FileText};
use qa_core::edits::{apply, by_file, is_harmless};
use qa_core::findings::ALSO_ON_LINES;
use qa_core::packet::Packet;

/// Rules whose hits have an edit, at least one of the corpus.
const EDITED: &[&str] = &[
    "ci-weakening/ci-removed",
    "ci-weakening/ci-softened",
    "ci-weakening/hook-disabled",
    "lint-weakening/coverage-excluded",
    "lint-weakening/lint-disabled",
    "lint-weakening/tests-excluded",
    "lint-weakening/tests-redirected",
    "lint-weakening/threshold-lowered",
    "merge-leftover/debugger-statement",
    "merge-leftover/focused-test",
    "policy-weakening/codeowners-weakened",
    "policy-weakening/policy-weakened",
    "test-weakening/test-skipped",
    "trojan-source/bidi-control",
    "trojan-source/hidden-text",
    "trojan-source/invisible-character",
    "trojan-source/invisible-in-prose",
    "workflow-hardening/pin-loosened",
];

/// Edits that a run leaves out, since another lens finds more with them: a test that is not focused any more has to check
/// something, and one that moved is out of the directories of its runner again.
const LEFT_OUT: &[(&str, &str)] = &[
    ("hit: the spellings of several frameworks", "weak-test/checks-nothing"),
    ("hit: tests move to where nothing looks for them", "lint-weakening/tests-excluded"),
];

type Gathered = Vec<(ChangedFile, FileText)>;

fn gather(case: &Case) -> Gathered {
    let mut files = case.files.clone();
    files.sort_by_key(|file| file.new.clone().or(file.old.clone()).map(|version| version.path));
    files.iter().map(changed_file).collect()
}

fn drafts(files: &Gathered, case: &Case) -> Vec<(&'static dyn Lens, Draft)> {
    let policy = policy(case.policy.as_deref());
    let all = ALL.iter().filter(|lens| lens.spec().id != "workflow-conventions");
    let found = all.flat_map(|lens| {
        run_lens_under(*lens, files, &policy).into_iter().map(|draft| (*lens, draft)).collect::<Vec<_>>()
    });
    found.collect()
}

/// Returns the edit of a draft as a run would have it.
fn edit_of(lens: &dyn Lens, draft: &Draft, files: &Gathered) -> Option<Edit> {
    let is_own = |file: &ChangedFile| {
        file.path == draft.file || file.old_path.as_ref().is_some_and(|old| *old == draft.file)
    };
    let (file, text) = files.iter().find(|(file, _)| is_own(file))?;
    let included = vec![true; file.hunks.len()];
    let packet = Packet { file, text, included: &included };
    let stands_for_more = draft.detail.contains_key(ALSO_ON_LINES);
    let edit = if stands_for_more { None } else { lens.edit(draft, &packet) };
    edit.filter(|edit| is_harmless(edit, &packet))
}

/// Returns a case with edits applied at head.
fn edited(case: &Case, edits: &[&Edit]) -> Case {
    let mut case = case.clone();
    for (path, replacements) in by_file(edits.iter().copied()) {
        let is_own = |file: &&mut CaseFile| {
            file.new.as_ref().is_some_and(|version| version.path.as_bytes() == path.as_bytes())
        };
        let file = case.files.iter_mut().find(is_own).expect("an edit is of a file at head");
        let version = file.new.as_mut().unwrap();
        let bytes = apply(version.text.as_bytes(), &replacements).expect("an edit applies to its own text");
        version.text = String::from_utf8(bytes).unwrap();
    }
    case
}

/// Counts findings by file and rule.
fn counts(found: &[(&'static dyn Lens, Draft)]) -> BTreeMap<(RepoPath, String), usize> {
    let mut counts = BTreeMap::new();
    for (_, draft) in found {
        let more = draft.detail.get(ALSO_ON_LINES).and_then(|lines| lines.as_array()).map_or(0, Vec::len);
        *counts.entry((draft.file.clone(), draft.rule.to_string())).or_default() += 1 + more;
    }
    counts
}

/// Says what is wrong with the findings after edits of some drafts.
fn faults(
    before: &[(&'static dyn Lens, Draft)],
    after: &[(&'static dyn Lens, Draft)],
    mended: &[&Draft],
) -> Vec<String> {
    let (before, after) = (counts(before), counts(after));
    let mut faults = Vec::new();
    for draft in mended {
        let key = (draft.file.clone(), draft.rule.to_string());
        if after.get(&key).copied().unwrap_or(0) >= before[&key] {
            faults.push(format!("{}:{} {} stays", draft.file, draft.start_line, draft.rule));
        }
    }
    let new = after.iter().filter(|(key, count)| before.get(key).copied().unwrap_or(0) < **count);
    faults.extend(new.map(|((file, rule), _)| format!("{file} {rule} is new")));
    faults
}

#[test]
fn edits_of_all_hits_mend_their_findings_and_bring_no_other() {
    let (mut wrong, mut rules, mut without) = (Vec::new(), BTreeSet::new(), BTreeMap::new());
    for page in pages() {
        for case in page.cases {
            let files = gather(&case);
            let found = drafts(&files, &case);
            let mut all: Vec<(&Draft, Edit)> = Vec::new();
            for (lens, draft) in &found {
                match edit_of(*lens, draft, &files) {
                    Some(edit) => all.push((draft, edit)),
                    None => *without.entry(draft.rule.to_string()).or_insert(0) += 1,
                }
            }
            for (draft, edit) in &all {
                let after = edited(&case, &[edit]);
                if edit.safety == EditSafety::Unsafe {
                    *without.entry(format!("{} (unsafe)", draft.rule)).or_insert(0) += 1;
                    continue;
                }
                rules.insert(draft.rule.to_string());
                let found_after = drafts(&gather(&after), &after);
                let mut faults = faults(&found, &found_after, &[draft]);
                faults.retain(|fault| {
                    !LEFT_OUT.iter().any(|(title, rule)| case.title == *title && fault.contains(rule))
                });
                if !faults.is_empty() {
                    let head: Vec<&str> = after
                        .files
                        .iter()
                        .filter_map(|file| Some(file.new.as_ref()?.text.as_str()))
                        .collect();
                    wrong.push(format!(
                        "{}: {}: {faults:?}\n{edit:#?}\n{}",
                        page.name,
                        case.title,
                        head.join("\n----\n")
                    ));
                }
            }
        }
    }
    if std::env::var_os("SHOW_EDITS").is_some() {
        println!("{rules:#?}\n{without:#?}");
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(rules.iter().map(String::as_str).collect::<Vec<_>>(), EDITED);
}

/// Returns the head of a file with the safe edits of all its findings, or none without a safe edit.
fn mended(path: &str, old: &str, new: &str) -> Option<String> {
    let case = Case { files: vec![CaseFile::edited(path, old, new)], ..Case::default() };
    let files = gather(&case);
    let found = drafts(&files, &case);
    assert!(!found.is_empty(), "{new} has a finding");
    let edits: Vec<Edit> = found.iter().filter_map(|(lens, draft)| edit_of(*lens, draft, &files)).collect();
    let safe: Vec<&Edit> = edits.iter().filter(|edit| edit.safety == EditSafety::Safe).collect();
    let after = edited(&case, &safe);
    let text = after.files.into_iter().next()?.new?.text;
    (!safe.is_empty()).then_some(text)
}

#[test]
fn what_a_leftover_stands_beside_decides_about_its_edit() {
    let cases = [
        (
            "a.py",
            "def f():\n    x = 1\n    breakpoint()\n    return x\n",
            Some("def f():\n    x = 1\n    return x\n"),
        ),
        // A block without a statement is no program.
        ("a.py", "if x:\n    breakpoint()\n", None),
        ("a.py", "x = 1; breakpoint()\n", None),
        ("a.js", "f();\ndebugger;\ng();\n", Some("f();\ng();\n")),
        // The next statement would be the condition's.
        ("a.js", "if (x)\n  debugger;\ng();\n", None),
        ("a.js", "if (x) { debugger; }\n", None),
        ("a.rs", "fn f() {\n    let y = dbg!(a + b);\n}\n", Some("fn f() {\n    let y = a + b;\n}\n")),
        // Without its brackets the product would be another one.
        ("a.rs", "fn f() {\n    let y = dbg!(a + b) * 2;\n}\n", None),
        ("a.rs", "fn f() {\n    dbg!(&url);\n    g();\n}\n", Some("fn f() {\n    g();\n}\n")),
        ("a.rs", "fn f() {\n    dbg!(g(x));\n}\n", Some("fn f() {\n    g(x);\n}\n")),
        ("a.php", "<?php\nvar_dump(f($x));\n", None),
        ("a.php", "<?php\nvar_dump($x);\n", Some("<?php\n")),
    ];
    for (path, head, expected) in cases {
        assert_eq!(mended(path, "", head).as_deref(), expected, "{head}");
    }
}

#[test]
fn a_skip_goes_with_the_condition_that_has_nothing_else() {
    let go = |inside: &str| {
        format!(
            "package a\n\nfunc TestX(t *testing.T) {{\n{inside}\tif f() != 1 {{\n\t\tt.Fatal(1)\n\t}}\n}}\n"
        )
    };
    let python = |inside: &str| format!("import pytest\n\n\ndef test_x():\n{inside}    assert f() == 1\n");
    let ruby = |inside: &str| format!("def test_x\n{inside}  assert_equal 1, f\nend\n");
    let kotlin = |import: &str, mark: &str, end: &str| {
        format!(
            "import org.junit.Test\n{import}\nclass A {{\n{mark}    @Test\n    fun x() {{\n        assertEquals(1, f())\n    }}\n}}\n{end}"
        )
    };
    let ignore = "import org.junit.Ignore\n";
    let cases = [
        ("a_test.go", go(""), go("\tif testing.Short() {\n\t\tt.Skip(\"slow\")\n\t}\n"), Some(go(""))),
        (
            "a_test.go",
            go("\tif testing.Short() {\n\t\tg()\n\t}\n"),
            go("\tif testing.Short() {\n\t\tg()\n\t\tt.Skip(\"slow\")\n\t}\n"),
            Some(go("\tif testing.Short() {\n\t\tg()\n\t}\n")),
        ),
        // Without the call the condition, which stood there before, decides nothing.
        (
            "a_test.go",
            go("\tif testing.Short() {\n\t}\n"),
            go("\tif testing.Short() {\n\t\tt.Skip(\"slow\")\n\t}\n"),
            None,
        ),
        ("test_a.py", python(""), python("    pytest.skip(\"later\")\n"), Some(python(""))),
        ("test_a.rb", ruby(""), ruby("  skip(\"later\")\n"), Some(ruby(""))),
        (
            "src/test/kotlin/ATest.kt",
            kotlin("", "", ""),
            kotlin(ignore, "    @Ignore(\"later\")\n", ""),
            Some(kotlin("", "", "")),
        ),
        // Another test has the mark as well.
        (
            "src/test/kotlin/ATest.kt",
            kotlin("", "", "\n@Ignore class B\n"),
            kotlin(ignore, "    @Ignore(\"later\")\n", "\n@Ignore class B\n"),
            Some(kotlin(ignore, "", "\n@Ignore class B\n")),
        ),
    ];
    for (path, base, head, expected) in cases {
        assert_eq!(mended(path, &base, &head), expected, "{head}");
    }
}

#[test]
fn a_restored_line_takes_no_other_change_with_it() {
    let path = "pyproject.toml";
    let base = "[tool.coverage.report]\nfail_under = 90\nprecision = 1\n";
    // The other value stays as the change has it.
    let two = "[tool.coverage.report]\nfail_under = 50\nprecision = 2\n";
    let mended_two = "[tool.coverage.report]\nfail_under = 90\nprecision = 2\n";
    assert_eq!(mended(path, base, two).as_deref(), Some(mended_two));
    // The line is replaced by others, so that only a person knows what is meant.
    let other = "[tool.coverage.report]\nexclude_also = []\nprecision = 2\nsort = \"Cover\"\n";
    assert_eq!(mended(path, base, other), None);
}

#[test]
fn a_command_comes_back_only_among_the_commands_that_it_had() {
    let path = ".github/workflows/ci.yml";
    let workflow = |script: &str| {
        format!(
            "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: |\n          make all\n{script}"
        )
    };
    let base = workflow("          cd lib\n          pytest tests\n");
    let alone = workflow("          cd lib\n          pytest tests/unit\n");
    assert_eq!(mended(path, &base, &alone).as_deref(), Some(&*base));
    // In another directory the old words mean another test.
    let moved = workflow("          pytest lib/tests/unit\n");
    assert_eq!(mended(path, &base, &moved), None);
    let other = workflow("          cd src\n          pytest tests/unit\n");
    assert_eq!(mended(path, &base, &other), None);
}
