//! Holds the lens to checks that run as before, in a situation in which they check less.

use super::tests::{CI, file, findings, workflow};

const ON: &str = "on: [push, pull_request]\n";
const MATRIX: &str = "    strategy:\n      matrix:\n        ruby: [a, b, c]\n";
const INCLUDED: &str = "    strategy:\n      matrix:\n        ruby: [a, b]\n        include:\n          - {ruby: d, soft: yes}\n";

/// Returns a workflow with a job that has these settings.
fn with_settings(settings: &str, steps: &str) -> String {
    format!("{ON}jobs:\n  test:\n    runs-on: x\n{settings}    steps:\n{steps}")
}

#[test]
fn what_the_author_or_a_variable_decides_is_a_condition() {
    let steps = "      - run: cargo test\n";
    for (condition, is_weaker) in [
        ("github.event.pull_request.draft", true),
        ("!github.event.pull_request.draft", false),
        ("github.event.pull_request.draft == false", false),
        ("github.event.pull_request.draft != true", false),
        ("github.event_name != 'pull_request' || !github.event.pull_request.draft", false),
        ("vars.RUN_TESTS == 'yes'", true),
        ("vars.RUN_TESTS", true),
        ("contains(github.event.pull_request.labels.*.name, 'full-ci')", true),
        ("contains( GitHub.event.pull_request.labels.*.name , \"full\" )", true),
        ("!contains(github.event.pull_request.title, 'wip')", true),
        ("!startsWith(github.head_ref, 'docs/')", true),
        ("github.event.pull_request.user.login != 'x'", true),
        ("github.event_name == 'push' || contains(github.event.pull_request.body, 'x')", true),
        ("github.event_name == 'pull_request' || vars.RUN_TESTS", false),
        ("github.ref == 'refs/heads/main'", true),
        ("startsWith(github.ref, 'refs/tags/')", true),
        ("github.ref_name == 'main'", true),
        ("github.ref != 'refs/heads/main'", false),
        ("inputs.tests", true),
        ("!inputs.skip", false),
        ("github.repository == 'owner/name'", false),
        ("matrix.ruby == 'a'", false),
        ("runner.os == 'Linux'", false),
        ("needs.changes.outputs.code == 'true'", false),
        ("success() && !cancelled()", false),
        ("github.event.pull_request.head.repo.full_name == github.repository", false),
        ("!contains(github.event.head_commit.message, '[skip ci]')", false),
    ] {
        let quoted = condition.replace('"', "'").replace('\'', "''");
        let base = with_settings(MATRIX, steps);
        for head in [
            with_settings(&format!("{MATRIX}    if: '{quoted}'\n"), steps),
            with_settings(MATRIX, &format!("{steps}        if: '${{{{ {quoted} }}}}'\n")),
        ] {
            let found = findings(&[file(CI, &base, &head)]);
            assert_eq!(found.len() == 1, is_weaker, "{condition} {found:?}");
        }
    }
}

#[test]
fn a_failure_that_is_ignored_for_changes_or_for_most_legs_is_ignored() {
    let steps = "      - run: cargo test\n";
    for (matrix, expression, is_weaker) in [
        (MATRIX, "github.event_name == 'pull_request'", true),
        (MATRIX, "github.event_name != 'schedule'", true),
        (MATRIX, "github.event_name == 'schedule'", false),
        (MATRIX, "github.ref != 'refs/heads/main'", true),
        (MATRIX, "matrix.ruby != 'none'", true),
        (MATRIX, "matrix.ruby != 'c'", true),
        (MATRIX, "matrix.ruby == 'c'", false),
        (MATRIX, "matrix.ruby == 'c' || matrix.ruby == 'b'", true),
        (MATRIX, "matrix.experimental", false),
        (MATRIX, "contains(matrix.ruby, 'dev')", false),
        (INCLUDED, "matrix.soft == 'yes'", false),
        (INCLUDED, "matrix.soft", false),
        (MATRIX, "vars.LAX == 'yes'", true),
        (MATRIX, "contains(github.event.pull_request.labels.*.name, 'lax')", true),
        (MATRIX, "github.event.pull_request.draft", false),
    ] {
        let base = with_settings(matrix, steps);
        let head = with_settings(&format!("{matrix}    continue-on-error: ${{{{ {expression} }}}}\n"), steps);
        let found = findings(&[file(CI, &base, &head)]);
        assert_eq!(found.len() == 1, is_weaker, "{expression} {found:?}");
    }
}

#[test]
fn options_of_programs_that_call_others_count_for_what_they_call() {
    let list = "test:\n\tpytest\n";
    for (old, new, is_weaker) in [
        ("make test", "make -n test", true),
        ("make test", "make --dry-run test", true),
        ("make test", "make -i test", true),
        ("make test", "make -st test", true),
        ("make test", "make test -n", true),
        ("make test", "make MAKEFLAGS=n test", false),
        ("make test", "MAKEFLAGS=-n make test", true),
        ("make test", "export MAKEFLAGS=i && make test", true),
        ("make test", "make -j4 test", false),
        ("make test", "make -k test", false),
        ("make test", "PYTEST_ADDOPTS=--co make test", true),
        ("make test", "PYTEST_ADDOPTS='--color=yes' make test", false),
        ("make test", "timeout 1 make test", true),
        ("make test", "timeout 20m make test", false),
        ("tox", "tox --notest", true),
        ("tox", "python -m tox --notest", true),
        ("tox", "tox -p auto", false),
        ("npm test", "npm test --if-present", true),
        ("npm run build", "npm run build --if-present", false),
        ("go test ./...", "go test ./... || go vet ./...", true),
        ("go test ./...", "go vet ./... || go test ./...", true),
        ("npm test", "npm test || npm test -- --verbose", false),
        ("standard", "standard --fix", true),
        ("standard", "eslint .", false),
    ] {
        let [base, head] = [old, new].map(|step| workflow(&format!("      - run: {step}\n")));
        let found = findings(&[file(CI, &base, &head), file("Makefile", list, list)]);
        assert_eq!(!found.is_empty(), is_weaker, "{new} {found:?}");
    }
}

#[test]
fn what_stands_before_a_check_may_take_its_tests_or_its_strictness() {
    let list = "test:\n\tpytest\n";
    let test = "def test_a():\n    pass\n";
    let check = "      - run: make test\n";
    let base = workflow(check);
    for (step, is_weaker) in [
        ("rm -rf tests/slow", true),
        ("rm tests/slow/test_a.py", true),
        ("git rm -r tests/slow", true),
        ("rm -rf tests/output tests/__pycache__", false),
        ("rm -rf dist build", false),
        ("git checkout main -- tests/slow", true),
        ("git checkout -- tests/slow", false),
        ("git checkout HEAD -- tests/slow", false),
        ("git restore --source main tests/slow", true),
        ("find . -name 'test_*.py' -delete", true),
        ("find . -name '*.pyc' -delete", false),
        ("go env -w GOFLAGS=-run=NONE", true),
        ("go env -w GOPRIVATE=example.org", false),
        ("echo PYTEST_ADDOPTS=--co >> $GITHUB_ENV", true),
        ("echo \"MAKEFLAGS=n\" >> \"$GITHUB_ENV\"", true),
        ("echo COLOR=1 >> $GITHUB_ENV", false),
    ] {
        let step = format!("      - run: {step}\n");
        for (head, is_weaker) in
            [(workflow(&format!("{step}{check}")), is_weaker), (workflow(&format!("{check}{step}")), false)]
        {
            let files = [
                file(CI, &base, &head),
                file("Makefile", list, list),
                file("tests/slow/test_a.py", test, test),
            ];
            let found = findings(&files);
            assert_eq!(!found.is_empty(), is_weaker, "{head} {found:?}");
        }
    }
}

#[test]
fn a_variable_of_the_environment_counts_at_its_own_line() {
    let list = "test:\n\tpytest\n";
    let base = with_settings("", "      - run: make test\n");
    for (variable, is_weaker) in [
        ("PYTEST_ADDOPTS: --co", true),
        ("BASH_ENV: ./fake.sh", true),
        ("MAKEFLAGS: -n", true),
        ("NODE_OPTIONS: --require ./quiet.js", true),
        ("NODE_OPTIONS: --max-old-space-size=4096", false),
        ("PYTEST_ADDOPTS: --color=yes", false),
        ("BASH_ENV: ~/.profile", false),
        ("PATH: ./bin:/usr/bin:/bin", true),
        ("PATH: tools/fake", true),
        // Another step may have put the programs there.
        ("PATH: \"${{ github.workspace }}/flutter/bin:${{ env.PATH }}\"", false),
        ("PATH: ./node_modules/.bin:/usr/bin", false),
        ("PATH: /opt/tool/bin:/usr/bin", false),
        ("LD_PRELOAD: ./quiet.so", true),
        ("LD_PRELOAD: /usr/lib/libjemalloc.so", false),
        ("ENV: test", false),
    ] {
        let head = with_settings(&format!("    env:\n      {variable}\n"), "      - run: make test\n");
        let found = findings(&[file(CI, &base, &head), file("Makefile", list, list)]);
        let expected =
            if is_weaker { vec!["ci-softened .github/workflows/ci.yml:6".to_owned()] } else { vec![] };
        assert_eq!(found, expected, "{variable}");
    }
}

#[test]
fn a_list_of_environments_that_is_emptied_runs_none_of_them() {
    let ci = workflow("      - run: tox\n");
    let old = "[tox]\nenvlist = py{38,39}, lint\n[testenv]\ncommands = pytest\n";
    for (new, expected) in [
        (old.replace("py{38,39}, lint", ""), 1),
        (old.replace("{38,39}", "{39,310}"), 0),
        (old.replace("envlist", "env_list"), 0),
    ] {
        let found = findings(&[file(CI, &ci, &ci), file("tox.ini", old, &new)]);
        assert_eq!(found.len(), expected, "{new} {found:?}");
    }
}
