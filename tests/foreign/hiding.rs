//! Commands of the tools themselves that fail and leave a report in which every test passes.
//!
//! Such a report without the record of its command must not pass, whether it shows the failure or its tool is in the
//! table of those that hide it.

use std::process::Command;

use crate::support::parts::part;
use crate::support::{Files, Repo};

/// A project whose command fails beside tests that all pass.
struct Failing {
    tool: &'static str,
    format: &'static str,
    gate: &'static str,
    files: &'static [(&'static str, &'static str)],
    command: &'static [&'static str],
    /// True if the report hides the failure.
    hides: bool,
}

const REPORT: &str = "reports/report";
const VITEST: &[(&str, &str)] = &[(
    "a.test.js",
    "import { test } from 'vitest';\ntest('adds', () => { setTimeout(() => { throw new Error('late'); }, 0); });\ntest('waits', () => new Promise((done) => setTimeout(done, 50)));\n",
)];
const PLAYWRIGHT: &[(&str, &str)] = &[
    (
        "playwright.config.js",
        "const outputFile = 'reports/report';\nmodule.exports = { globalTeardown: './down.js', reporter: [[process.env.FORMAT, { outputFile }]] };\n",
    ),
    ("down.js", "module.exports = async () => { throw new Error('down'); };\n"),
    ("a.spec.js", "const { test } = require('@playwright/test');\ntest('adds', () => {});\n"),
];

const NODE: &[Failing] = &[
    Failing {
        tool: "vitest",
        format: "jest-json",
        gate: "unit_tests",
        files: VITEST,
        command: &["vitest", "run", "--reporter=json", "--outputFile=reports/report"],
        hides: true,
    },
    Failing {
        tool: "vitest",
        format: "junit",
        gate: "unit_tests",
        files: VITEST,
        command: &["vitest", "run", "--reporter=junit", "--outputFile=reports/report"],
        hides: true,
    },
    Failing {
        tool: "jest",
        format: "jest-json",
        gate: "unit_tests",
        files: &[
            (
                "package.json",
                "{\"jest\": {\"collectCoverage\": true, \"coverageThreshold\": {\"global\": {\"lines\": 99}}}}",
            ),
            ("a.js", "exports.one = () => 1;\nexports.two = () => {\n  return 2;\n};\n"),
            (
                "a.test.js",
                "const { one } = require('./a');\ntest('one', () => { expect(one()).toBe(1); });\n",
            ),
        ],
        command: &["jest", "--ci", "--json", "--outputFile=reports/report"],
        hides: false,
    },
    Failing {
        tool: "jest",
        format: "jest-json",
        gate: "unit_tests",
        files: &[
            ("package.json", "{}"),
            ("a.test.js", "test('adds', () => { setTimeout(() => { throw new Error('late'); }, 0); });\n"),
        ],
        command: &["jest", "--ci", "--json", "--outputFile=reports/report"],
        hides: true,
    },
    Failing {
        tool: "playwright",
        format: "playwright-json",
        gate: "browser_tests",
        files: PLAYWRIGHT,
        command: &["playwright", "test"],
        hides: false,
    },
    Failing {
        tool: "playwright",
        format: "junit",
        gate: "browser_tests",
        files: PLAYWRIGHT,
        command: &["playwright", "test"],
        hides: true,
    },
];

const PYTHON: &[Failing] = &[
    Failing {
        tool: "pytest",
        format: "junit",
        gate: "unit_tests",
        files: &[
            ("test_a.py", "def test_one():\n    assert True\n"),
            ("conftest.py", "def pytest_sessionfinish(session):\n    session.exitstatus = 1\n"),
        ],
        command: &["pytest", "--junitxml=reports/report"],
        hides: true,
    },
    Failing {
        tool: "pytest",
        format: "junit",
        gate: "unit_tests",
        files: &[
            (
                "conftest.py",
                "import pytest\n\n\n@pytest.fixture(scope='session', autouse=True)\ndef base():\n    yield\n    raise RuntimeError('down')\n",
            ),
            ("test_a.py", "def test_one():\n    assert True\n"),
        ],
        command: &["pytest", "--junitxml=reports/report"],
        hides: false,
    },
];

impl Failing {
    fn check(&self, programs: &std::path::Path) {
        let shown = format!("{} as {}", self.tool, self.format);
        for record in ["", ", record = \"optional\""] {
            let policy = format!(
                "[gates.{}]\nreports = [{{ path = \"{REPORT}\", tool = \"{}\", format = \"{}\"{record} }}]\n",
                self.gate, self.tool, self.format
            );
            let repo = Repo::new();
            let base = Files::from_texts(self.files).with(".qa-skill/policy.toml", policy);
            repo.change(&base, &base.clone().with("notes.txt", "changed\n"));
            for (path, text) in self.files {
                std::fs::write(repo.path().join(path), text).unwrap();
            }
            std::fs::create_dir(repo.path().join("reports")).unwrap();
            if programs.ends_with(".bin") {
                let packages = programs.parent().unwrap();
                std::os::unix::fs::symlink(packages, repo.path().join("node_modules")).unwrap();
            }
            let status = Command::new(programs.join(self.command[0]))
                .args(&self.command[1..])
                .current_dir(repo.path())
                .env("FORMAT", self.format.trim_start_matches("playwright-"))
                .output()
                .unwrap();
            assert_eq!(status.status.code(), Some(1), "{shown}: {status:?}");
            assert!(repo.path().join(REPORT).exists(), "{shown}: {status:?}");
            let expected = match (self.hides, record.is_empty()) {
                (false, _) => 1,
                (true, true) => 3,
                // Nothing but the missing record stood against it.
                (true, false) => 0,
            };
            let outcome = repo.judge().run();
            assert_eq!(outcome.exit, expected, "{shown}{record}: {}", outcome.text());
        }
    }
}

#[test]
fn a_report_that_hides_how_its_command_ended_is_no_result() {
    if let Some(node) = part("target/foreign/node/node_modules/.bin") {
        NODE.iter().for_each(|failing| failing.check(&node));
    }
    if let Some(python) = part("target/foreign/python/bin") {
        PYTHON.iter().for_each(|failing| failing.check(&python));
    }
}
