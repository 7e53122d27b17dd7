//! Pictures that tests left: which are kept in a run and shown, and that none of them can do anything but be looked at.

use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::{Files, Repo, qa_skill, repair, sha256};

const POLICY: &str = "\
[gates.browser_tests]
reports = [{ path = \"reports/playwright.json\", tool = \"playwright\" }]
";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nwhat is in it does not matter here";
const JPEG: &[u8] = b"\xff\xd8\xff\xe0likewise";

/// A change whose browser test failed and left files of these names.
fn failed_with(pictures: &[&str]) -> Repo {
    let repo = Repo::new();
    let files = [(".qa-skill/policy.toml", POLICY), ("src/a.js", "const a = 1;\n")];
    let base = Files::from_texts(&files);
    repo.change(&base, &Files::from_texts(&files).with("src/a.js", "const a = 2;\n"));
    let attachments: Vec<Value> = pictures
        .iter()
        .map(|name| {
            let path = format!("/github/workspace/test-results/{name}");
            json!({ "name": "screenshot", "contentType": "image/png", "path": path })
        })
        .collect();
    let error = json!({ "message": "Error: no", "location": { "file": "/github/workspace/tests/a.spec.js", "line": 3, "column": 1 } });
    let result = json!({ "status": "failed", "error": error, "errors": [error], "retry": 0, "attachments": attachments });
    let test = json!({
        "expectedStatus": "passed", "projectName": "", "status": "unexpected", "annotations": [],
        "results": [result]
    });
    let spec = json!({
        "title": "counts <b>", "ok": false, "tags": ["feature:1", "step:2"], "file": "a.spec.js", "line": 3,
        "tests": [test]
    });
    let report = json!({
        "config": { "rootDir": "/github/workspace/tests", "version": "1.65.1" },
        "suites": [{ "title": "a.spec.js", "file": "a.spec.js", "specs": [spec] }],
        "errors": [], "stats": { "expected": 0, "skipped": 0, "unexpected": 1, "flaky": 0 }
    });
    put(&repo, "reports/playwright.json", report.to_string());
    repo
}

fn put(repo: &Repo, path: &str, bytes: impl AsRef<[u8]>) {
    let path = repo.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn kept(repo: &Repo) -> Vec<String> {
    let files = repo.run_dir().files();
    files.into_iter().filter(|file| file.starts_with("screenshots/")).collect()
}

fn page(repo: &Repo) -> String {
    String::from_utf8(repo.run_dir().bytes("report.html")).unwrap()
}

#[test]
fn a_picture_is_kept_with_its_digest_and_shown_with_its_test_and_step() {
    let repo = failed_with(&["a/failed.png", "a/named.jpeg"]);
    put(&repo, "test-results/a/failed.png", PNG);
    put(&repo, "test-results/a/named.jpeg", JPEG);
    repo.judge().run().expect(1);
    let mut expected =
        vec![format!("screenshots/{}.png", sha256(PNG)), format!("screenshots/{}.jpg", sha256(JPEG))];
    expected.sort();
    assert_eq!(kept(&repo), expected);
    assert_eq!(repo.run_dir().bytes(&format!("screenshots/{}.png", sha256(PNG))), PNG);
    let page = page(&repo);
    assert!(page.contains("<img src=\"data:image/png;base64,iVBORw0KGgp"), "{page}");
    assert!(page.contains("<img src=\"data:image/jpeg;base64,/9j/"), "{page}");
    assert!(page.contains("img-src data:;"), "{page}");
    assert!(page.contains("counts &lt;b&gt;</strong> shows feature 1 step 2"), "{page}");
    // The same from the record alone, and the same again from the workspace.
    let run = repo.run_dir();
    run.verify().run().expect(0);
    repo.judge().run().expect(1);
    std::fs::remove_dir_all(repo.path().join("test-results")).unwrap();
    run.verify().run().expect(0);
}

#[test]
fn what_is_missing_or_no_picture_is_listed_and_changes_nothing() {
    let large = [PNG, &vec![0; 2 << 20]].concat();
    let cases: [(&str, Option<&[u8]>, &str); 4] = [
        ("gone.png", None, "it is not there"),
        ("markup.png", Some(b"<svg onload=alert(1)>"), "neither PNG nor JPEG"),
        ("large.png", Some(&large), "more than 2097152 bytes"),
        ("other.gif", Some(b"GIF89a"), "neither PNG nor JPEG"),
    ];
    for (name, bytes, problem) in cases {
        let repo = failed_with(&[name]);
        if let Some(bytes) = bytes {
            put(&repo, &format!("test-results/{name}"), bytes);
        }
        repo.judge().run().expect(1);
        assert_eq!(kept(&repo), [""; 0], "{name}");
        let page = page(&repo);
        assert!(
            page.contains(problem) && !page.contains("<img") && !page.contains("img-src"),
            "{name}: {page}"
        );
        assert_eq!(repo.run_dir().findings(), ["browser_tests/failure tests/a.spec.js:3"]);
        repo.run_dir().verify().run().expect(0);
    }
}

#[test]
fn a_link_and_an_old_picture_are_not_taken() {
    let linked = failed_with(&["a.png"]);
    std::fs::write(linked.beside("secret.png"), PNG).unwrap();
    std::fs::create_dir(linked.path().join("test-results")).unwrap();
    symlink(linked.beside("secret.png"), linked.path().join("test-results/a.png")).unwrap();
    linked.judge().run().expect(1);
    assert_eq!(kept(&linked), [""; 0]);

    let old = failed_with(&["a.png"]);
    put(&old, "test-results/a.png", PNG);
    let file = std::fs::File::options().write(true).open(old.path().join("test-results/a.png")).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)).unwrap();
    old.judge().run().expect(1);
    assert_eq!(kept(&old), [""; 0]);
    assert!(page(&old).contains("before the commit that is judged"));

    // A record names the commit of the report, so that no clock decides about its pictures either.
    let report = old.path().join("reports/playwright.json");
    std::fs::rename(&report, old.path().join("written")).unwrap();
    put(&old, ".qa-skill/policy.toml", POLICY);
    qa_skill([
        "record",
        "--gate",
        "browser_tests",
        "--",
        "sh",
        "-c",
        "cp written reports/playwright.json; exit 1",
    ])
    .within(&old.path())
    .run()
    .expect(1);
    std::fs::remove_dir_all(old.beside("out")).unwrap();
    old.judge().run().expect(1);
    assert_eq!(kept(&old), [format!("screenshots/{}.png", sha256(PNG))]);
}

#[test]
fn twenty_pictures_are_kept_and_the_rest_is_listed() {
    let names: Vec<String> = (0..25).map(|number| format!("{number:02}.png")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let repo = failed_with(&names);
    for (number, name) in names.iter().enumerate() {
        put(&repo, &format!("test-results/{name}"), [PNG, &[u8::try_from(number).unwrap()]].concat());
    }
    repo.judge().run().expect(1);
    assert_eq!(kept(&repo).len(), 20);
    let page = page(&repo);
    assert_eq!(page.matches("<img ").count(), 20);
    assert_eq!(page.matches("a run keeps 20 pictures at most").count(), 5);
    assert!(page.contains("<small>20 of 25</small>"), "{page}");
}

#[test]
fn a_picture_that_was_exchanged_in_a_run_is_found_out() {
    let repo = failed_with(&["a.png"]);
    put(&repo, "test-results/a.png", PNG);
    repo.judge().run().expect(1);
    let run = repo.run_dir().copy_to(&repo.beside("copy"));
    let other = [PNG, b"!"].concat();
    std::fs::write(run.path(&kept(&repo)[0]), other).unwrap();
    run.verify().run().expect_code(3, "ARTIFACT_SCHEMA_INVALID");
    repair(&run, false);
    run.verify().run().expect(4);
}
