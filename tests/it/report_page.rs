//! The page of a run in a real browser: what it says to a screen reader, what fits a screen, and what its filters leave.

use std::path::Path;

use serde_json::{Value, json};

use crate::observe::measured;
use crate::support::parts::part;
use crate::support::{Files, Repo};

/// Opens a page in each width and colour scheme and on paper, asks axe for violations with all details open, and uses
/// the filters by keyboard.
const USE: &str = "\
const [modules, executablePath, page] = process.argv.slice(1);
const { chromium } = require(`${modules}/playwright`);
const axe = require('fs').readFileSync(`${modules}/axe-core/axe.min.js`, 'utf8');
(async () => {
  const browser = await chromium.launch({ executablePath });
  const violations = [];
  for (const width of [360, 1200]) for (const colorScheme of ['light', 'dark']) for (const media of ['screen', 'print']) {
    const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme, bypassCSP: true });
    const tab = await context.newPage();
    await tab.emulateMedia({ media, colorScheme });
    await tab.goto(`file://${page}`);
    await tab.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true; }));
    await tab.evaluate(axe);
    const found = await tab.evaluate(() => axe.run(document, { resultTypes: ['violations'] }));
    for (const one of found.violations) {
      violations.push(`${one.id} at ${width} ${colorScheme} ${media}: ${one.nodes[0].html.slice(0, 200)}`);
    }
    await context.close();
  }
  const tab = await browser.newPage({ viewport: { width: 1200, height: 800 } });
  await tab.goto(`file://${page}`);
  const shown = (selector) => tab.locator(`${selector}:visible`).count();
  const counts = { all: [await shown('.card'), await shown('.place')] };
  const choose = async (id, name) => {
    await tab.focus(`#${id}`);
    await tab.keyboard.type(name);
    await tab.keyboard.press('Enter');
    return [await shown('.card'), await shown('.place')];
  };
  counts.rule = await choose('show-rule', 'trojan');
  counts.ruleAgain = await choose('show-rule', 'any');
  counts.file = await choose('show-file', 'src/one.py');
  await choose('show-file', 'any');
  await tab.click('.more > summary');
  counts.opened = [await shown('.card'), await shown('.place')];
  await browser.close();
  console.log(JSON.stringify({ violations, counts }));
})();
";

/// A run with one cause in two files, one of them twice, and another cause.
fn judged() -> Repo {
    let repo = Repo::new();
    let conflict = "a = 1\n<<<<<<< ours\nb = 2\n=======\nb = 3\n>>>>>>> theirs\n";
    let base = Files::from_texts(&[("src/one.py", "a = 1\n"), ("src/two.py", "a = 1\n")]);
    let head = base
        .clone()
        .with("src/one.py", format!("{conflict}c = 1\nd = 1\n{conflict}"))
        .with("src/two.py", conflict)
        .with("src/three.py", "access = \"user\u{202e} \u{2066}# admin\u{2069} \u{2066}\"\n");
    repo.change(&base, &head);
    repo.judge().run().expect(1);
    repo
}

fn used(page: &Path) -> Option<Value> {
    let modules = part("target/foreign/node/node_modules")?;
    let program = part("target/foreign/browser")?;
    let mut node = std::process::Command::new("node");
    let output = node.args(["-e", USE]).arg(&modules).arg(&program).arg(page).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn the_page_of_a_run_is_accessible_and_its_filters_leave_what_is_chosen() {
    let repo = judged();
    let Some(used) = used(&repo.run_dir().path("report.html")) else { return };
    assert_eq!(used["violations"], json!([]));
    let counts = &used["counts"];
    assert_eq!(counts["all"], json!([2, 2]), "a card for each cause, with its first place: {counts}");
    assert_eq!(counts["rule"], json!([1, 1]), "{counts}");
    assert_eq!(counts["ruleAgain"], counts["all"], "{counts}");
    assert_eq!(counts["file"], json!([1, 1]), "{counts}");
    assert_eq!(counts["opened"], json!([2, 4]), "{counts}");
}

#[test]
fn the_page_of_a_run_shows_every_lens_on_a_desk_and_never_scrolls_as_a_whole() {
    let repo = judged();
    let page = repo.run_dir().path("report.html");
    let Some(widths) = measured(&page) else { return };
    let [narrow, wide] = [&widths[0], &widths[2]].map(|pair| pair[0].as_u64().unwrap());
    assert_eq!((narrow, wide, &widths[2][1]), (360, 1200, &Value::from(0)), "{widths}");
}
