//! Tests of edits on texts.

use super::*;
use crate::canonical::sha256;
use qa_contracts::v1::{Edit, EditSafety};
use serde_json::json;

fn path(text: &str) -> RepoPath {
    RepoPath::from_bytes(text.as_bytes()).unwrap()
}

/// A replacement of a range given as `line:column`, with the text that stands there.
fn replace(from: [u64; 2], to: [u64; 2], old: &str, text: &str) -> Replacement {
    Replacement {
        file: path("a.py"),
        start_line: from[0],
        start_column: from[1],
        end_line: to[0],
        end_column: to[1],
        replaced_sha256: sha256(old.as_bytes()),
        text: text.to_owned(),
    }
}

fn applied(text: &str, replacements: &[Replacement]) -> Result<String, EditError> {
    let all: Vec<&Replacement> = replacements.iter().collect();
    apply(text.as_bytes(), &all).map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn everything_outside_of_a_range_stays_as_it_is() {
    let cases = [
        ("a\nb\nc\n", replace([2, 1], [3, 1], "b\n", ""), "a\nc\n"),
        ("a\r\nb\r\nc\r\n", replace([2, 1], [3, 1], "b\r\n", "x\r\n"), "a\r\nx\r\nc\r\n"),
        ("a\nb", replace([2, 1], [2, 2], "b", ""), "a\n"),
        ("a\nb", replace([2, 1], [3, 1], "b\n", ""), "a\n"),
        ("a\nb", replace([2, 1], [3, 1], "b\n", "x\ny\n"), "a\nx\ny"),
        ("a\nb", replace([2, 2], [2, 2], "", "c"), "a\nbc"),
        ("a\n", replace([2, 1], [2, 1], "", "b\n"), "a\nb\n"),
        ("", replace([1, 1], [1, 1], "", "b\n"), "b\n"),
        ("\u{feff}é\tb\n", replace([1, 4], [1, 5], "b", "c"), "\u{feff}é\tc\n"),
    ];
    for (text, replacement, expected) in cases {
        assert_eq!(applied(text, &[replacement]).as_deref(), Ok(expected), "{text:?}");
    }
}

#[test]
fn bytes_that_are_no_text_stay_and_are_no_place_for_columns() {
    let text = b"caf\xe9\nb\n";
    let whole = replace([2, 1], [3, 1], "b\n", "c\n");
    assert_eq!(apply(text, &[&whole]).unwrap(), b"caf\xe9\nc\n");
    let inside = replace([1, 2], [1, 3], "a", "o");
    assert_eq!(apply(text, &[&inside]), Err(EditError::PlaceMissing(1)));
}

#[test]
fn an_edit_of_another_text_is_refused() {
    let edit = replace([2, 1], [3, 1], "b\n", "");
    assert_eq!(applied("a\nB\nc\n", std::slice::from_ref(&edit)), Err(EditError::OtherText(2)));
    assert_eq!(applied("a\n", std::slice::from_ref(&edit)), Err(EditError::PlaceMissing(3)));
    assert_eq!(applied("a\nb", &[replace([3, 1], [3, 1], "", "c\n")]), Err(EditError::PlaceMissing(3)));
    assert_eq!(applied("a\nb\r\nc\n", &[edit]), Err(EditError::OtherText(2)));
    assert_eq!(applied("ab\n", &[replace([1, 3], [1, 1], "", "")]), Err(EditError::PlaceMissing(1)));
    assert_eq!(applied("ab\n", &[replace([1, 9], [1, 9], "", "")]), Err(EditError::PlaceMissing(1)));
    assert_eq!(applied("ab\n", &[replace([0, 1], [1, 1], "", "")]), Err(EditError::PlaceMissing(0)));
}

#[test]
fn equal_replacements_are_one_and_overlapping_ones_none() {
    let (first, same) = (replace([1, 1], [1, 3], "ab", "x"), replace([1, 1], [1, 3], "ab", "x"));
    assert_eq!(applied("abc\n", &[first.clone(), same]).as_deref(), Ok("xc\n"));
    let beside = replace([1, 3], [1, 4], "c", "y");
    assert_eq!(applied("abc\n", &[beside.clone(), first.clone()]).as_deref(), Ok("xy\n"));
    let across = replace([1, 2], [1, 4], "bc", "z");
    assert_eq!(applied("abc\n", &[first, across]), Err(EditError::Overlap(1)));
    let [one, other] = ["p", "q"].map(|text| replace([1, 1], [1, 1], "", text));
    assert_eq!(applied("abc\n", &[one, other]), Err(EditError::Overlap(1)));
}

fn finding(rule: &str, edit: Option<Vec<Replacement>>) -> Finding {
    let digest = sha256(rule.as_bytes());
    let finding: Finding = serde_json::from_value(json!({
        "findingId": digest, "lensId": "r", "subLensId": null, "ruleId": rule, "severity": "high", "blocking": true,
        "file": "a.py", "startLine": 1, "endLine": 1, "summary": "", "evidence": {"quote": "x"},
        "evidenceHash": digest, "origin": "introduced", "scope": "product", "strength": "block", "ratchet": null,
        "waiver": null, "fix": "", "edit": null, "codes": []
    }))
    .unwrap();
    let edit =
        edit.map(|replacements| Edit { safety: EditSafety::Safe, title: "Edit".to_owned(), replacements });
    Finding { edit, ..finding }
}

#[test]
fn of_edits_that_overlap_the_first_is_chosen() {
    let one = finding("r/one", Some(vec![replace([1, 1], [1, 3], "ab", "x")]));
    let equal = finding(
        "r/equal",
        Some(vec![replace([1, 1], [1, 3], "ab", "x"), replace([3, 1], [4, 1], "c\n", "")]),
    );
    let across = finding("r/across", Some(vec![replace([1, 2], [1, 4], "bc", "z")]));
    let none = finding("r/none", None);
    let selection = select([&one, &none, &across, &equal]);
    assert_eq!(selection.chosen, [&one, &equal]);
    assert_eq!(selection.overlapping, [&across]);
}

#[test]
fn an_edit_that_mends_nothing_or_brings_something_new_has_failed() {
    let edit = |line: u64| Some(vec![replace([line, 1], [line + 1, 1], "x\n", "")]);
    let (one, other) = (finding("r/one", edit(1)), finding("r/other", edit(5)));
    let new = finding("r/new", None);
    let elsewhere = Finding { file: path("b.py"), ..new.clone() };
    let before = [&one, &other];
    let failed = |after: &[&Finding]| failed_edits(Judged { before: &before, after }, &before);
    assert_eq!(failed(&[]), [] as [usize; 0]);
    assert_eq!(failed(&[&other]), [1]);
    assert_eq!(failed(&[&new]), [0, 1]);
    assert_eq!(failed(&[&elsewhere]), [0, 1]);
    // Of two equal findings one is left that has no edit.
    let twin = finding("r/one", None);
    let judged = Judged { before: &[&one, &twin], after: &[&twin] };
    assert_eq!(failed_edits(judged, &[&one]), [] as [usize; 0]);
}

fn patched(name: &str, text: &str, replacements: &[Replacement]) -> String {
    let all: Vec<&Replacement> = replacements.iter().collect();
    String::from_utf8(patch(&path(name), text.as_bytes(), &all).unwrap()).unwrap()
}

#[test]
fn a_patch_is_as_git_writes_it() {
    let text = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14";
    let edits = [
        replace([2, 1], [3, 1], "2\n", ""),
        replace([5, 1], [5, 1], "", "new\n"),
        replace([14, 2], [14, 3], "4", "5"),
        replace([14, 1], [14, 2], "1", "2"),
    ];
    let expected = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,7 +1,7 @@\n 1\n-2\n 3\n 4\n+new\n 5\n 6\n 7\n\
        @@ -11,4 +11,4 @@\n 11\n 12\n 13\n-14\n\\ No newline at end of file\n+25\n\\ No newline at end of file\n";
    assert_eq!(patched("a.py", text, &edits), expected);
    let all = patched("a.py", "x\n", &[replace([1, 1], [2, 1], "x\n", "")]);
    assert!(all.ends_with("@@ -1,1 +0,0 @@\n-x\n"), "{all}");
    let unended = patched("a.py", "x\ny", &[replace([2, 1], [3, 1], "y\n", "z\n")]);
    let end = "\n\\ No newline at end of file\n";
    assert!(unended.ends_with(&format!("@@ -1,2 +1,2 @@\n x\n-y{end}+z{end}")), "{unended}");
    let joined = patched("a.py", "x\ny\n", &[replace([1, 2], [2, 1], "\n", "")]);
    assert!(joined.ends_with("@@ -1,2 +1,1 @@\n-x\n-y\n+xy\n"), "{joined}");
}

#[test]
fn names_in_a_patch_are_quoted_as_git_quotes_them() {
    let header = |name: &str| {
        let patch = patched(name, "x\n", &[replace([1, 1], [2, 1], "x\n", "")]);
        patch.lines().nth(2).unwrap().to_owned()
    };
    assert_eq!(header("src/a.py"), "+++ b/src/a.py");
    assert_eq!(header("a b.py"), "+++ b/a b.py\t");
    assert_eq!(header("a\n\"é\\"), r#"+++ "b/a\n\"\303\251\\""#);
    assert_eq!(header("a\u{1b}"), r#"+++ "b/a\033""#);
}

#[test]
fn an_edit_that_hides_something_or_is_of_another_file_is_refused() {
    use crate::diff::diff_file;
    use crate::packet::Packet;
    use qa_contracts::v1::{ChangedFile, MaskedSecret, TextPlace};

    let diff = diff_file(b"a\nb\n", b"a\nx\nb\n", 1 << 20);
    let mut file: ChangedFile = serde_json::from_value(json!({
        "path": "a.py", "oldPath": null, "kind": "modified", "oldMode": "100644", "newMode": "100644",
        "oldBlob": null, "newBlob": null, "class": "source", "scope": "product", "scopeReason": "name",
        "language": "python", "text": true, "hunks": [], "codes": []
    }))
    .unwrap();
    file.hunks = diff.hunks;
    let mut text = diff.text;
    let refuses = |file: &ChangedFile,
                   text: &qa_contracts::v1::FileText,
                   replacements: Vec<Replacement>,
                   title: &str| {
        let edit = Edit { safety: EditSafety::Safe, title: title.to_owned(), replacements };
        let included = vec![true; file.hunks.len()];
        !is_harmless(&edit, &Packet { file, text, included: &included })
    };
    let good = || vec![replace([2, 1], [3, 1], "x\n", "y\r\n")];
    assert!(!refuses(&file, &text, good(), "Edit"));
    assert!(refuses(&file, &text, good(), "Edit\u{202e}"));
    assert!(refuses(&file, &text, Vec::new(), "Edit"));
    assert!(refuses(&file, &text, vec![replace([2, 1], [3, 1], "x\n", "\u{1b}[31m")], "Edit"));
    assert!(refuses(&file, &text, vec![replace([2, 1], [3, 1], "x\n", &"y".repeat(20_000))], "Edit"));
    assert!(refuses(&file, &text, vec![replace([2, 1], [3, 1], "x\n", "y"); 51], "Edit"));
    let elsewhere = Replacement { file: path("b.py"), ..replace([2, 1], [3, 1], "x\n", "y\n") };
    assert!(refuses(&file, &text, vec![elsewhere], "Edit"));
    assert!(refuses(&file, &text, vec![replace([9, 1], [10, 1], "x\n", "y\n")], "Edit"));
    let link = ChangedFile { new_mode: Some("120000".to_owned()), ..file.clone() };
    assert!(refuses(&link, &text, good(), "Edit"));
    text.secrets.push(MaskedSecret {
        place: TextPlace::Hunks,
        start: 0,
        end: 1,
        detector: "provider".to_owned(),
        value: 0,
    });
    assert!(refuses(&file, &text, good(), "Edit"));
}
