//! Safe edits of findings become suggestions on the pull request: at lines that GitHub takes, each once, and whatever happens
//! to them the verdict stays.

use serde_json::json;

use crate::support::fake_github::{FakeGitHub, Fault, ReviewComment, Route};
use crate::support::origin::{NAME, Origin};
use crate::support::server::Server;
use crate::support::step::{Step, TOKEN};
use crate::support::{Files, Outcome, token};

/// A pull request on a GitHub that knows its diff.
struct Scene {
    origin: Origin,
    git: Server,
    github: FakeGitHub,
    api: Server,
}

const WORKFLOW: &str =
    "on: pull_request\njobs:\n  a:\n    steps:\n      - run: cargo test\n      - run: cargo clippy\n";

fn base() -> Files {
    Files::from_texts(&[("src/app.py", "value = 1\n"), (".github/workflows/a.yml", WORKFLOW)])
}

/// Changes with safe edits of every kind of place.
fn topic() -> Files {
    base()
        .with("docs/a.md", "one\n")
        .with("a.js", "export const a = 1;\ndebugger;\nexport const b = 2;\n")
        .with("crlf.js", "export const c = 1;\r\ndebugger;\r\nexport const d = 2;\r\n")
        .with("end.js", "export const e = 1;\ndebugger;")
        .with("name %41.js", "export const f = 1;\ndebugger;\n")
        .with("secret.js", format!("export const g = \"{}\";\ndebugger;\n", token()))
        .with("test/a.test.js", "describe.only(\"a ```` b\", () => {});\n")
        .with(".github/workflows/a.yml", WORKFLOW.replace("      - run: cargo clippy\n", ""))
}

impl Scene {
    fn new(topic: &Files) -> Self {
        let origin = Origin::from_start(&base(), topic);
        let (git, github) = (origin.serve(), FakeGitHub::new(NAME, TOKEN));
        let api = github.serve();
        let scene = Self { origin, git, github, api };
        scene.publish_diff();
        scene
    }

    /// Tells GitHub the head, and the hunks of its diff as git has them.
    fn publish_diff(&self) {
        let Origin { repo, fork_point, head, .. } = &self.origin;
        let arguments = ["-c", "core.quotePath=false", "diff", "-U3", &format!("{fork_point}...{head}")];
        let output =
            std::process::Command::new("git").args(arguments).current_dir(repo.path()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut state = self.github.state();
        state.pulls.insert(7, head.to_string());
        state.diffs.clear();
        let mut path = String::new();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("+++ b/") {
                path = name.trim_end_matches('\t').to_owned();
            } else if let Some(rest) = line.strip_prefix("@@ -") {
                let place = rest.split(['+', ' ']).nth(2).unwrap();
                let (from, count) = place.split_once(',').unwrap_or((place, "1"));
                let (from, count): (u64, u64) = (from.parse().unwrap(), count.parse().unwrap());
                state.diffs.entry(path.clone()).or_default().push((from, from + count - 1));
            }
        }
    }

    /// Pushes another head.
    fn push(&mut self, topic: &Files) {
        let repo = &self.origin.repo;
        self.origin.head = repo.commit(repo.tree(topic), &[self.origin.head]);
        let merged = topic.clone().with("docs/a.md", "step 6\n");
        self.origin.merge = repo.commit(repo.tree(&merged), &[self.origin.base, self.origin.head]);
        repo.reference("refs/pull/7/head", self.origin.head);
        repo.reference("refs/pull/7/merge", self.origin.merge);
        self.publish_diff();
    }

    fn run(&self) -> Outcome {
        self.run_with(|_| {})
    }

    fn run_with_author(&self, author: &str) -> Outcome {
        self.run_in(|_| {}, &[("INPUT_COMMENT-AUTHOR", author)])
    }

    fn run_with(&self, arrange: impl Fn(&mut Step<'_>)) -> Outcome {
        self.run_in(arrange, &[])
    }

    fn run_in(&self, arrange: impl Fn(&mut Step<'_>), inputs: &[(&str, &str)]) -> Outcome {
        std::fs::remove_dir_all(self.origin.repo.beside("checkout-2")).ok();
        let mut step = Step::on_pull_request(&self.origin, &self.git, 2);
        arrange(&mut step);
        let program = step
            .program()
            .env("GITHUB_API_URL", self.github.api_url(&self.api))
            .env("INPUT_SUGGESTIONS", "true")
            .env("INPUT_PRESET", "guarded");
        let outcome = inputs.iter().fold(program, |program, (name, value)| program.env(name, value)).run();
        assert_eq!(step.output("verdict"), "fail", "{}", outcome.stderr);
        outcome.expect(1)
    }

    /// Place and proposal of each suggestion.
    fn suggested(&self) -> Vec<(String, (u64, u64), String)> {
        let state = self.github.state();
        let proposal = |comment: &ReviewComment| {
            let (before, proposed) = comment.body.split_once("suggestion\n").unwrap();
            let fence = before.rsplit('\n').next().unwrap();
            assert!(fence.len() >= 3 && fence.bytes().all(|byte| byte == b'`'), "{}", comment.body);
            let (proposed, rest) = proposed.split_once(&format!("{fence}\n")).unwrap();
            assert!(!proposed.contains(fence), "{}", comment.body);
            assert_eq!(rest, "", "{}", comment.body);
            proposed.to_owned()
        };
        let of_us = state.review_comments.iter().filter(|comment| comment.author != "kim");
        of_us.map(|comment| (comment.path.clone(), comment.lines, proposal(comment))).collect()
    }
}

fn expected() -> Vec<(String, (u64, u64), String)> {
    [
        (".github/workflows/a.yml", (5, 5), "      - run: cargo test\n      - run: cargo clippy\n"),
        ("a.js", (2, 2), ""),
        ("name %41.js", (2, 2), ""),
        ("test/a.test.js", (1, 1), "describe(\"a ```` b\", () => {});\n"),
    ]
    .map(|(path, lines, proposed)| (path.to_owned(), lines, proposed.to_owned()))
    .to_vec()
}

#[test]
fn safe_edits_are_suggested_once_at_their_lines() {
    let mut scene = Scene::new(&topic());
    let outcome = scene.run();
    let mut suggested = scene.suggested();
    suggested.sort();
    assert_eq!(suggested, expected(), "{}", outcome.text());
    let text = outcome.text();
    assert!(
        text.contains("4 suggestions are new on the pull request. 2 safe edits are not suggested"),
        "{text}"
    );
    let (reviews, first) = {
        let state = scene.github.state();
        (state.reviews.clone(), state.review_comments[0].body.clone())
    };
    assert_eq!(reviews.len(), 1);
    assert_eq!(reviews[0].commit_id, scene.origin.head.to_string());
    assert!(
        first.starts_with("<!-- qa-skill suggestion: ") && first.contains("Restore the removed line:"),
        "{first}"
    );
    // Secrets are in no request.
    for request in scene.api.requests() {
        assert!(!String::from_utf8_lossy(&request.body).contains(&token()), "{request:?}");
    }
    assert!(scene.run().text().contains("0 suggestions are new"));
    // The lines move, and one of the findings is mended.
    let moved = topic().with("a.js", "// more\nexport const a = 1;\ndebugger;\nexport const b = 2;\n");
    scene.push(&moved.with("test/a.test.js", "describe(\"a ```` b\", () => {});\n"));
    scene.run();
    assert_eq!(scene.suggested().len(), 4);
    // Another fault in the same line is another suggestion, and a second one like the first is its own.
    scene.push(&topic().with("a.js", "debugger;\nexport const a = 1;\ndebugger;\nexport const b = 2;\n"));
    scene.run();
    assert_eq!(scene.suggested()[4..], [("a.js".to_owned(), (3, 3), String::new())]);
    assert_eq!(scene.github.state().reviews.len(), 2);
}

#[test]
fn suggestions_are_found_behind_a_page_of_comments_and_known_by_their_author() {
    let scene = Scene::new(&topic());
    let of_kim = |id, body: &str| ReviewComment {
        id,
        number: 7,
        author: "kim".to_owned(),
        body: body.to_owned(),
        path: "a.js".to_owned(),
        lines: (1, 1),
        review: 1,
    };
    let many = (0..150).map(|id| of_kim(10_000 + id, "Why?"));
    scene.github.state().review_comments.extend(many);
    scene.run();
    scene.run();
    assert_eq!(scene.suggested().len(), 4);
    // A stranger who writes our markers keeps nothing from being suggested.
    let mut state = scene.github.state();
    let bodies: Vec<String> = state.review_comments[150..].iter().map(|one| one.body.clone()).collect();
    state.review_comments.clear();
    state.review_comments.extend((0..).zip(&bodies).map(|(id, body)| of_kim(id, body)));
    drop(state);
    scene.run();
    assert_eq!(scene.suggested().len(), 4);
}

#[test]
fn a_wrong_author_is_told_and_nothing_is_posted_twice() {
    let mut scene = Scene::new(&topic());
    let run = |scene: &Scene| scene.run_with_author("someone[bot]").text();
    let told = "title=INPUT_INVALID::failed to suggest edits on the pull request: the token writes as \
                github-actions[bot], and comment-author is another account";
    let text = run(&scene);
    assert!(text.contains(told), "{text}");
    assert_eq!(scene.suggested().len(), 4);
    // Another push finds the same edits, and one more.
    scene.push(&topic().with("more.js", "export const h = 1;\ndebugger;\n"));
    let text = run(&scene);
    assert!(text.contains(told), "{text}");
    assert_eq!((scene.suggested().len(), scene.github.state().pending_review), (4, None));
    // With the right author all of them are recognized.
    let text = scene.run().text();
    assert!(text.contains("1 suggestion is new on the pull request."), "{text}");
    assert_eq!(scene.suggested().len(), 5);
}

#[test]
fn at_most_twenty_are_suggested_and_the_rest_is_counted() {
    let files = (0..25).fold(base().with("docs/a.md", "one\n"), |files, number| {
        files.with(format!("{number:02}.js"), format!("export const a = {number};\ndebugger;\n"))
    });
    let scene = Scene::new(&files);
    let left_out = "5 safe edits are not suggested";
    assert!(scene.run().text().contains(&format!("20 suggestions are new on the pull request. {left_out}")));
    assert_eq!(scene.suggested().len(), 20);
    assert!(scene.github.state().reviews[0].body.contains(left_out));
    // Another run does not post the others: they come when some of these are done.
    assert!(scene.run().text().contains("0 suggestions are new"));
}

#[test]
fn no_fault_of_a_review_changes_the_verdict_or_posts_twice() {
    let refused = |scene: &Scene, code: &str| {
        let text = scene.run().text();
        assert!(text.contains(&format!("title={code}::failed to suggest edits")), "{text}");
        assert!(scene.github.state().checks[0].conclusion.as_deref() == Some("failure"));
        assert_eq!(scene.suggested(), []);
    };
    // GitHub refuses the whole review for one line that is not in its diff.
    let scene = Scene::new(&topic());
    scene.github.state().diffs.insert("a.js".to_owned(), vec![(1, 1)]);
    let text = scene.run().text();
    assert!(
        text.contains("3 suggestions are new on the pull request. 1 other is refused by GitHub."),
        "{text}"
    );
    assert_eq!((scene.suggested().len(), scene.github.state().reviews.len()), (3, 3));
    // Another run posts none of them twice, and says what it could not post.
    assert!(scene.run().text().contains("title=PUBLISH_REFUSED::failed to suggest edits"));
    assert_eq!(scene.suggested().len(), 3);
    let scene = Scene::new(&topic());
    scene.github.state().diffs.clear();
    refused(&scene, "PUBLISH_REFUSED");
    let scene = Scene::new(&topic());
    scene.github.deny(Route::CreateReview);
    refused(&scene, "PUBLISH_FORBIDDEN");
    assert!(scene.run().text().contains("pull-requests: write"));
    let scene = Scene::new(&topic());
    scene.github.fault(Route::CreateReview, 1, Fault::ActThenAnswer(502));
    scene.run();
    assert_eq!((scene.suggested().len(), scene.github.state().reviews.len()), (4, 1));
}

#[test]
fn a_fork_and_a_stale_head_get_no_suggestion() {
    let scene = Scene::new(&topic());
    scene.github.read_only();
    let outcome = scene.run_with(|step| step.event["pull_request"]["head"]["repo"] = json!(null));
    assert!(outcome.text().contains("::notice title=PUBLISH_FORBIDDEN::failed to suggest edits"));
    let scene = Scene::new(&topic());
    scene.github.state().pulls.insert(7, "1".repeat(40));
    assert!(scene.run().text().contains("no edit is suggested"));
    assert_eq!(scene.github.state().reviews, []);
}

#[test]
fn a_judged_merge_has_other_lines_and_gets_no_suggestion() {
    let mut scene = Scene::new(&topic());
    // The test merge holds what neither side shows, so it is judged and not head alone.
    let repo = &scene.origin.repo;
    let merged = topic().with("docs/a.md", "step 6\n").with("merged.js", "export const m = 1;\ndebugger;\n");
    scene.origin.merge = repo.commit(repo.tree(&merged), &[scene.origin.base, scene.origin.head]);
    repo.reference("refs/pull/7/merge", scene.origin.merge);
    let outcome = scene.run();
    assert!(outcome.text().contains("safe edits are not suggested"), "{}", outcome.text());
    assert_eq!(scene.suggested(), []);
}
