//! A real browser inside the fence: Playwright drives it over the pages of a small shop, and what it says decides.

use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::fence::{As, Yard, can_be};
use crate::support::parts::part;
use crate::support::{Files, Outcome, Repo, copy_tree};

const POLICY: &str = "\
[gates.browser_tests]
reports = [{ path = \"reports/playwright.json\", tool = \"playwright\" }]
[gates.story_validation]
reports = [{ path = \"reports/playwright.json\", tool = \"playwright\" }]
";
const CONFIGURATION: &str = "\
module.exports = {
  testDir: 'tests',
  workers: 1,
  use: { screenshot: 'only-on-failure', launchOptions: { executablePath: process.env.BROWSER_PATH } },
};
";
const PAGE: &str = "\
<!doctype html>
<title>Shop</title>
<button id=add>Add</button> <button id=remove>Remove</button> <output id=count>0</output>
<script src=cart.js></script>
";
const CART: &str = "\
let count = 0;
const show = () => { document.getElementById('count').value = count; };
document.getElementById('add').onclick = () => { count += 1; show(); };
document.getElementById('remove').onclick = () => { count = Math.max(0, count - 1); show(); };
";
const TESTS: &str = "\
const { test, expect } = require('@playwright/test');
test.beforeEach(({ page }) => page.goto(`file://${__dirname}/../index.html`));
test('what is added counts', { tag: ['@feature:1', '@step:1'] }, async ({ page }) => {
  await page.click('#add');
  await expect(page.locator('#count')).toHaveText('1', { timeout: 2000 });
});
test('nothing is taken from an empty cart', { tag: ['@feature:1', '@step:2'] }, async ({ page }) => {
  await page.click('#remove');
  await expect(page.locator('#count')).toHaveText('0', { timeout: 2000 });
});
";
/// A page asks whoever listens at `PORT` of this machine.
const REACHES_OUT: &str = "\
const { test, expect } = require('@playwright/test');
test('the page and the test are alone', async ({ page }) => {
  const url = `http://127.0.0.1:${process.env.PORT}/`;
  await expect(page.goto(url)).rejects.toThrow(/net::ERR_/);
  await expect(fetch(url)).rejects.toThrow('fetch failed');
});
";
const SERVED: &str = "\
const { test, expect } = require('@playwright/test');
test('the page comes from the server of the tests', async ({ page }) => {
  const server = require('http').createServer((asked, answer) => answer.end('<h1>' + asked.url.slice(1) + '</h1>'));
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  await page.goto(`http://127.0.0.1:${server.address().port}/open`);
  await expect(page.locator('h1')).toHaveText('open');
  server.close();
});
";

/// What is needed of others: Playwright and its browser.
struct Browser {
    modules: PathBuf,
    program: PathBuf,
}

impl Browser {
    fn find() -> Option<Self> {
        let modules = part("target/foreign/node/node_modules")?;
        Some(Self { modules, program: part("target/foreign/browser")?.canonicalize().unwrap() })
    }

    /// What npm would put into a project's `node_modules`.
    fn install(&self, modules: &Path) {
        for name in ["@playwright", "playwright", "playwright-core"] {
            copy_tree(&self.modules.join(name), &modules.join(name));
        }
        std::fs::create_dir(modules.join(".bin")).unwrap();
        symlink("../playwright/cli.js", modules.join(".bin/playwright")).unwrap();
    }

    /// The policy of gates that run the tests themselves.
    fn policy(&self) -> String {
        let (program, place) = (self.program.display(), self.program.parent().unwrap().display());
        format!(
            "[execution]\n\
             profile = \"exec_sandboxed_network_off\"\n\
             lens-classes = [\"consistency\"]\n\
             toolchains = [{{ path = \"node_modules\" }}, {{ path = \"{place}\" }}]\n\
             environment = {{ BROWSER_PATH = \"{program}\" }}\n\
             [[execution.allow]]\n\
             prefix = [\"playwright\", \"test\"]\n\
             match = [[\"playwright\", \"test\", \"--reporter=json\"]]\n\
             not-match = [[\"playwright\", \"install\"]]\n\
             [gates.browser_tests]\n\
             run = [\"playwright\"]\n\
             [gates.story_validation]\n\
             tests-of = [\"browser_tests\"]\n"
        )
    }

    /// A change of the shop whose tests the gates run.
    fn ready(&self, cart: &str) -> Repo {
        let repo = Repo::new();
        let policy = self.policy();
        let file = (".qa-skill/policy.toml", policy.as_str());
        repo.change(&shop(&[file]), &shop(&[file, ("cart.js", cart)]));
        // Every user has to be able to enter what commands read.
        std::fs::set_permissions(repo.path().parent().unwrap(), PermissionsExt::from_mode(0o755)).unwrap();
        self.install(&repo.path().join("node_modules"));
        repo
    }

    /// Runs tests over a tree, inside the fence.
    fn test(&self, user: As, repo: &Repo, options: &[&str]) -> Outcome {
        let yard = Yard::new(user);
        let modules = yard.path("tools/node_modules");
        self.install(&modules);
        let modules = modules.to_str().unwrap();
        let program = self.program.to_str().unwrap();
        let path = repo.path();
        let (path, set_modules) = (path.to_str().unwrap(), format!("NODE_PATH={modules}"));
        let set_program = format!("BROWSER_PATH={program}");
        let readable = self.program.parent().and_then(Path::to_str).unwrap();
        let mut all = vec!["--repo", path, "--rev", "topic", "--env", &set_modules, "--env", &set_program];
        all.extend(["--readable", readable]);
        all.extend(options);
        let playwright = format!("{modules}/playwright/cli.js");
        let reporter = "--reporter=json";
        yard.run(&all, &["node", &playwright, "test", reporter, "--forbid-only"])
    }
}

/// Files of the shop, some of them replaced.
fn shop(replaced: &[(&str, &str)]) -> Files {
    let features = json!([{
        "id": 1, "category": "functional", "description": "A cart can be filled",
        "steps": ["Step 1: add something", "Step 2: take nothing from an empty cart"], "passes": true
    }]);
    let features = serde_json::to_string_pretty(&features).unwrap() + "\n";
    let files = Files::from_texts(&[
        (".qa-skill/policy.toml", POLICY),
        ("package.json", "{ \"private\": true }\n"),
        ("playwright.config.js", CONFIGURATION),
        ("feature_list.json", &features),
        ("index.html", PAGE),
        ("cart.js", CART),
        ("tests/cart.spec.js", TESTS),
    ]);
    replaced.iter().fold(files, |files, (path, text)| files.with(path, text))
}

/// A change of the shop, judged by what the browser said of it.
fn judged(browser: &Browser, user: As, cart: &str) -> (Repo, i32) {
    let repo = Repo::new();
    repo.change(&shop(&[]), &shop(&[("cart.js", cart)]));
    let outcome = browser.test(user, &repo, &[]);
    let document = outcome.json();
    let printed = document["stdout"]["text"].as_str().unwrap();
    let said: Value = serde_json::from_str(printed).unwrap_or_else(|_| panic!("{document:#}"));
    // As if a step of the workflow had run it in the workspace.
    let configuration = Path::new(said["config"]["configFile"].as_str().unwrap());
    let report = printed.replace(configuration.parent().unwrap().to_str().unwrap(), "/github/workspace");
    let place = repo.path().join("reports");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("playwright.json"), report).unwrap();
    (repo, outcome.exit)
}

/// Another way to write the cart that is as good.
fn rewritten() -> String {
    CART.replace("count += 1", "count = count + 1")
}

/// A cart from which more is taken than is in it.
fn broken() -> String {
    CART.replace("Math.max(0, count - 1)", "count - 1")
}

#[test]
fn a_feature_whose_tests_pass_in_the_browser_passes_the_gates() {
    let Some(browser) = Browser::find() else { return };
    for user in [As::Root, As::Nobody] {
        if !can_be(user) {
            continue;
        }
        let (repo, exit) = judged(&browser, user, &rewritten());
        assert_eq!(exit, 0);
        repo.judge().run().expect(0);
        let report = repo.run_dir().json("qa-report.json");
        assert_eq!(json!([report["status"], report["summary"]]), json!(["PASSED", "2 of 2 gates passed"]));
    }
}

#[test]
fn a_step_that_breaks_in_the_browser_fails_with_its_place_and_its_picture() {
    let Some(browser) = Browser::find() else { return };
    if !can_be(As::Root) {
        return;
    }
    let (repo, exit) = judged(&browser, As::Root, &broken());
    assert_eq!(exit, 1);
    repo.judge().run().expect(1);
    assert_eq!(
        repo.run_dir().findings(),
        ["browser_tests/failure tests/cart.spec.js:9", "story_validation/failure feature_list.json:9"]
    );
    let report = repo.run_dir().json("qa-report.json");
    let pictures = report["screenshots"].as_array().unwrap();
    assert_eq!(pictures.len(), 1, "{report:#}");
    let picture = pictures[0].as_str().unwrap();
    assert!(picture.starts_with("test-results/cart-nothing-is-taken"), "{picture}");
    let fixes = report["priority_fixes"].to_string();
    assert!(fixes.contains("[browser_tests] tests/cart.spec.js:9"), "{fixes}");
}

/// Judges without a bound on addresses: Node asks for far more than it uses.
fn judged_unbounded(repo: &Repo) -> Outcome {
    Outcome::from_output(&repo.judge().bare_command().output().unwrap())
}

#[test]
fn gates_run_the_tests_in_the_browser_themselves_and_a_replay_does_not() {
    let Some(browser) = Browser::find() else { return };
    let good = browser.ready(&rewritten());
    judged_unbounded(&good).expect(0);
    let report = good.run_dir().json("qa-report.json");
    assert_eq!(json!([report["status"], report["summary"]]), json!(["PASSED", "2 of 2 gates passed"]));

    let bad = browser.ready(&broken());
    judged_unbounded(&bad).expect(1);
    let place =
        ["browser_tests/failure tests/cart.spec.js:9", "story_validation/failure feature_list.json:9"];
    assert_eq!(bad.run_dir().findings(), place);
    let report = bad.run_dir().json("qa-report.json");
    assert_eq!(report["screenshots"].as_array().unwrap().len(), 1, "{report:#}");
    let page = String::from_utf8(bad.run_dir().bytes("report.html")).unwrap();
    assert!(page.contains("<img src=\"data:image/png;base64,") && page.contains("shows feature 1 step 2"));
    assert!(bad.run_dir().files().iter().any(|file| file.starts_with("screenshots/")));
    std::fs::remove_dir_all(bad.path().join("node_modules")).unwrap();
    bad.run_dir().verify().run().expect(0);
}

#[test]
fn without_a_network_neither_the_page_nor_the_test_reaches_this_machine() {
    let Some(browser) = Browser::find() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("PORT={}", listener.local_addr().unwrap().port());
    for user in [As::Root, As::Nobody] {
        if !can_be(user) {
            continue;
        }
        let repo = Repo::new();
        repo.change(&Files::new(), &shop(&[("tests/cart.spec.js", REACHES_OUT)]));
        let outcome = browser.test(user, &repo, &["--env", &port]);
        assert_eq!(outcome.exit, 0, "{}", outcome.text());
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "somebody connected");
    }
}

#[test]
fn with_a_network_the_browser_loads_what_a_server_of_the_tests_serves() {
    let Some(browser) = Browser::find() else { return };
    let repo = Repo::new();
    repo.change(&Files::new(), &shop(&[("tests/cart.spec.js", SERVED)]));
    let served = browser.test(As::Nobody, &repo, &["--network"]);
    assert_eq!(served.exit, 0, "{}", served.text());
    let alone = browser.test(As::Nobody, &repo, &[]);
    assert_eq!(alone.exit, 1, "{}", alone.text());
    assert!(alone.text().contains("EPERM"), "{}", alone.text());
}
