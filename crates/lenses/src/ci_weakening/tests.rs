//! Holds the lens to meaning: every case of the page in another spelling, and tables of small changes.

use std::collections::BTreeSet;

use qa_reading::documents::{Document, Format, Node, Plain};

use super::CiWeakening;
use crate::contract::Lens;
use crate::corpus::{CaseFile, CaseVersion, cases_of, changed_file, run_lens};
use qa_core::packet::Packet;

/// Returns what the lens finds, as `rule path:line`, with ` base` behind what is found there.
pub(super) fn findings(files: &[CaseFile]) -> Vec<String> {
    let files: Vec<_> = files.iter().map(changed_file).collect();
    let drafts = run_lens(&CiWeakening, &files);
    let shown = drafts.iter().map(|draft| {
        let rule = draft.rule.trim_start_matches("ci-weakening/");
        let side = if draft.side == qa_contracts::v1::Side::Base { " base" } else { "" };
        format!("{rule} {}:{}{side}", draft.file.to_text(), draft.start_line)
    });
    shown.collect()
}

pub(super) fn file(path: &str, base: &str, head: &str) -> CaseFile {
    let [old, new] = [base, head].map(|text| Some(CaseVersion::new(path, text)).filter(|_| text != "-"));
    CaseFile { old, new, modes: None }
}

/// Writes a value in flow style.
fn flow(node: Node<'_>, separator: &str) -> String {
    if node.is_map() {
        let members = node.entries().map(|entry| {
            format!("{}: {}", serde_json::to_string(entry.key).unwrap(), flow(entry.value, separator))
        });
        return format!(
            "{{{separator}{}{separator}}}",
            members.collect::<Vec<_>>().join(&format!(",{separator}"))
        );
    }
    if node.is_list() {
        let items: Vec<String> = node.items().map(|item| flow(item, separator)).collect();
        return format!("[{separator}{}{separator}]", items.join(&format!(",{separator}")));
    }
    let text = node.text().unwrap_or_default();
    match node.plain() {
        Some(Plain::Text(text)) => serde_json::to_string(text).unwrap(),
        Some(Plain::Null) | None => "null".to_owned(),
        Some(Plain::Flag(_) | Plain::Number(_) | Plain::Code(_)) => text.to_owned(),
    }
}

/// Rewrites a file of YAML in flow style; none for another file, or one that cannot be read.
fn in_flow_style(path: &str, text: &str, separator: &str) -> Option<String> {
    if !path.ends_with(".yml") && !path.ends_with(".yaml") {
        return None;
    }
    let document = Document::parse(Format::Yaml, text).ok()?;
    Some(flow(document.root(), separator) + "\n")
}

fn rewritten(file: &CaseFile, separator: &str) -> CaseFile {
    let [old, new] = [&file.old, &file.new].map(|side| {
        let version = side.as_ref()?;
        let text = in_flow_style(&version.path, &version.text, separator);
        Some(CaseVersion { text: text.unwrap_or_else(|| version.text.clone()), ..version.clone() })
    });
    CaseFile { old, new, modes: None }
}

#[test]
fn every_case_of_the_page_is_found_in_flow_style_too() {
    for case in cases_of(&CiWeakening) {
        let expected: BTreeSet<&str> = case
            .expect
            .iter()
            .filter_map(|line| line.split(' ').nth(1)?.strip_prefix("ci-weakening/"))
            .collect();
        for separator in ["", "\n"] {
            let files: Vec<CaseFile> = case.files.iter().map(|file| rewritten(file, separator)).collect();
            let found = findings(&files);
            let rules: BTreeSet<&str> = found.iter().filter_map(|line| line.split(' ').next()).collect();
            assert_eq!(rules, expected, "{} {separator:?}: {found:#?}\n{files:#?}", case.title);
        }
    }
}

#[test]
fn another_spelling_of_the_same_is_no_finding() {
    for case in cases_of(&CiWeakening) {
        for file in &case.files {
            let Some(CaseVersion { path, text }) = &file.old else { continue };
            let Some(flow) = in_flow_style(path, text, "\n") else { continue };
            for (base, head) in [(text, &flow), (&flow, text)] {
                let file = self::file(path, base, head);
                assert_eq!(findings(&[file]), [""; 0], "{}", case.title);
            }
        }
    }
}

pub(super) const CI: &str = ".github/workflows/ci.yml";

/// Returns whether each finding has an edit.
fn have_edits(files: &[CaseFile]) -> Vec<bool> {
    let files: Vec<_> = files.iter().map(changed_file).collect();
    let drafts = run_lens(&CiWeakening, &files);
    let edits = drafts.iter().map(|draft| {
        let own = files.iter().find(|(file, _)| file.path == draft.file);
        let (file, text) = own.expect("the file of the draft");
        let included = vec![true; file.hunks.len()];
        CiWeakening.edit(draft, &Packet { file, text, included: &included }).is_some()
    });
    edits.collect()
}

#[test]
fn a_line_comes_back_only_where_head_has_all_that_it_names() {
    let echo = "      - run: echo done\n";
    for (step, path, base, head, expected) in [
        ("pytest && ./ci/check.sh", "ci/check.sh", "make x", "make y", true),
        ("pytest && ./ci/check.sh", "ci/check.sh", "make x", "-", false),
        ("pytest tests/a", "tests/a/test_x.py", "x = 1", "-", false),
        ("mvn test -pl '!core,api'", "api/pom.xml", "<project/>", "-", false),
        ("mvn test -pl '!core,api'", "web/pom.xml", "<project/>", "-", true),
        ("make check", "Makefile", "check:\n\tpytest\n", "other:\n\tpytest\n", false),
        ("make check", "Makefile", "check:\n\tpytest\n", "check:\n\tpytest -v\n", true),
    ] {
        let before = workflow(&format!("      - run: {step}\n{echo}"));
        let files = [file(CI, &before, &workflow(echo)), file(path, base, head)];
        let found = have_edits(&files);
        assert!(
            !found.is_empty() && found.iter().all(|has_edit| *has_edit == expected),
            "{step} {head} {found:?}"
        );
    }
}

/// Returns a workflow with one job, whose steps are given.
pub(super) fn workflow(steps: &str) -> String {
    format!("on: pull_request\njobs:\n  test:\n    runs-on: x\n    steps:\n{steps}")
}

#[test]
fn a_step_that_no_longer_fails_is_softened_however_that_is_written() {
    let base = workflow("      - run: cargo test\n");
    for steps in [
        "      - run: cargo test\n        continue-on-error: ${{ true }}\n",
        "      - run: cargo test\n        continue-on-error: ${{ !cancelled() }}\n",
        "      - run: cargo test\n        continue-on-error: ${{ github.ref || true }}\n",
        "      - run: cargo test\n        continue-on-error: ${{ matrix.soft == 'x' || !false }}\n",
        "      - run: exit 0 && cargo test\n",
        "      - run: |\n          set +e\n          cargo test\n          echo code=$? >> $GITHUB_OUTPUT\n        id: t\n",
        "      - run: cargo test\n        \"continue-on-error\": 'true'\n",
        "      - {run: cargo test, continue-on-error: true}\n",
        "      - run: >-\n          cargo test\n          || true\n",
        "      - run: |\n          cargo test \\\n            || true\n",
        "      - run: \"cargo test || true\"\n",
        "      - run: cargo test || exit 0\n",
        "      - run: 'cargo test || :'\n",
        "      - run: cargo test; true\n        shell: bash {0}\n",
        "      - run: |\n          set +e\n          cargo test\n          true\n",
        "      - run: |\n          exit 0\n          cargo test\n",
        "      - run: if cargo test; then echo ok; fi\n",
        "      - run: cargo test\n        if: ${{ false }}\n",
        "      - run: cargo test\n        if: false && always()\n",
        "      - &step\n        run: cargo test || true\n",
        "      - run: bash -c 'cargo test || true'\n",
        "      - run: |\n          t() { cargo test; }\n",
        "      - run: if false; then cargo test; fi\n",
        "      - run: true || cargo test\n",
        "      - run: cargo test --no-run\n",
        "      - run: cargo test || true\n        shell: pwsh\n",
    ] {
        let found = findings(&[file(CI, &base, &workflow(steps))]);
        assert!(found.len() == 1 && found[0].starts_with("ci-softened "), "{steps}: {found:?}");
    }
}

#[test]
fn what_fails_as_before_is_no_finding() {
    let base = workflow("      - run: cargo test\n      - run: ./x.sh\n");
    for steps in [
        "      - run: ./x.sh\n      - name: tests\n        run: cargo test\n",
        "      - {run: cargo test}\n      - {\"run\": \"./x.sh\"}\n",
        "      - run: |\n          ./x.sh\n          cargo test\n",
        "      - run: |\n          set +e\n          cargo test\n          status=$?\n          echo done\n          exit $status\n      - run: ./x.sh\n",
        "      - run: cargo test | tee log\n        shell: bash\n      - run: ./x.sh\n",
        "      - run: cargo test || { echo failed; exit 1; }\n      - run: ./x.sh\n",
        "      - run: cargo test || cargo test\n      - run: ./x.sh\n",
        "      - run: cargo test --no-run\n      - run: cargo test\n      - run: ./x.sh\n",
        "      - run: |\n          t() { cargo test; }\n          t\n      - run: ./x.sh\n",
        "      - run: cargo test # || true\n      - run: ./x.sh\n",
        "      - run: cargo test\n        continue-on-error: false\n      - run: ./x.sh\n",
        "      - run: cargo test\n        if: always()\n      - run: ./x.sh\n",
        "      - run: cargo test\n      - run: rm -rf x || true\n      - run: ./x.sh\n",
    ] {
        assert_eq!(findings(&[file(CI, &base, &workflow(steps))]), [""; 0], "{steps}");
    }
}

#[test]
fn a_check_that_moves_to_where_ci_runs_it_is_still_there() {
    let base = workflow("      - run: cargo test\n      - run: cargo clippy\n");
    let rest = workflow("      - run: cargo test\n");
    let lint = "jobs:\n  lint:\n    steps:\n      - run: cargo clippy\n";
    let other = ".github/workflows/lint.yml";
    for (on, expected) in [
        ("on: pull_request\n", 0),
        ("on: [push, pull_request]\n", 0),
        ("on: workflow_dispatch\n", 1),
        ("on: push\n", 1),
        ("on: workflow_call\n", 1),
    ] {
        let files = [file(CI, &base, &rest), file(other, "-", &format!("{on}{lint}"))];
        assert_eq!(findings(&files).len(), expected, "{on}");
    }
    let call = rest.clone() + "  lint:\n    uses: ./.github/workflows/lint.yml\n";
    let called = format!("on: workflow_call\n{lint}");
    let files = [file(CI, &base, &call), file(other, "-", &called)];
    assert_eq!(findings(&files), [""; 0]);
    let files = [file(CI, &call, &rest), file(other, &called, &called)];
    assert_eq!(findings(&files), ["ci-removed .github/workflows/ci.yml:8 base"]);
    let files = [file(CI, &base, &rest), file("ci/off.yml", "-", &format!("on: pull_request\n{lint}"))];
    assert_eq!(findings(&files), ["ci-removed .github/workflows/ci.yml:7 base"]);
}

#[test]
fn a_workflow_that_is_renamed_away_is_removed() {
    let text = workflow("      - run: cargo test\n");
    for name in [".github/workflows/ci.yml.disabled", ".github/workflows/off/ci.yml", "ci.yml"] {
        let new = Some(CaseVersion::new(name, &text));
        let renamed = CaseFile { new, ..file(CI, &text, "-") };
        assert_eq!(findings(&[renamed]), ["ci-removed .github/workflows/ci.yml:1 base"], "{name}");
    }
    let new = Some(CaseVersion::new(".github/workflows/tests.yaml", &text));
    let renamed = CaseFile { new, ..file(CI, &text, "-") };
    assert_eq!(findings(&[renamed]), [""; 0]);
}

#[test]
fn lists_that_ci_calls_are_followed() {
    let calls = workflow("      - run: npm ci\n      - run: npm test\n");
    let ci = file(CI, &calls, &calls);
    for (head, expected) in [
        ("exit 0", vec!["ci-softened package.json:3"]),
        ("jest || true", vec!["ci-softened package.json:3"]),
        ("echo no tests", vec!["ci-softened package.json:3"]),
        ("node build.js", vec!["ci-removed package.json:3 base"]),
        ("jest --ci", vec![]),
        ("vitest run", vec![]),
    ] {
        let [old, new] =
            ["jest", head].map(|test| format!("{{\n  \"scripts\": {{\n    \"test\": \"{test}\"\n  }}\n}}\n"));
        let files = [ci.clone(), file("package.json", &old, &new)];
        assert_eq!(findings(&files), expected, "{head}");
    }
    let calls = workflow("      - run: make test\n");
    let ci = file(CI, &calls, &calls);
    for (base, head, expected) in [
        ("test:\n\tgo test ./...\n", "test:\n", vec!["ci-removed Makefile:2 base"]),
        ("test:\n\tgo test ./...\n", "test:\n\t-go test ./...\n", vec!["ci-softened Makefile:2"]),
        ("test:\n\tgo test ./...\n", "test:\n\t@true\n", vec!["ci-softened Makefile:2"]),
        ("test:\n\tgo test ./...\n", "test: unit\nunit:\n\tgo test ./...\n", vec![]),
        ("test: lint\nlint:\n\tgo vet .\n", "test:\nlint:\n\tgo vet .\n", vec!["ci-removed Makefile:1 base"]),
        ("x:\n\tgo test ./...\ntest: x\n", "x:\n\tgo test ./...\n", vec!["ci-removed Makefile:3 base"]),
        ("y:\n\tgo vet .\ntest:\n\tgo test\n", "test:\n\tgo test\n", vec![]),
    ] {
        assert_eq!(findings(&[ci.clone(), file("Makefile", base, head)]), expected, "{head}");
    }
    let calls = workflow("      - run: ./tools/ci.sh\n");
    let ci = file(CI, &calls, &calls);
    let script = "#!/bin/bash\nset -e\npytest\n";
    let files = [ci, file("tools/ci.sh", script, "#!/bin/bash\npytest\necho done\n")];
    assert_eq!(findings(&files), ["ci-softened tools/ci.sh:3"]);
}

#[test]
fn environments_of_tox_are_followed_to_where_they_are_configured() {
    let calls = workflow("      - run: tox -e typing\n");
    let ini = "[testenv:typing]\ncommands =\n    mypy src\n    pyright\n";
    let toml = "[tool.tox.env.typing]\ncommands = [\n  ['mypy', 'src'],\n  ['pyright'],\n]\n";
    let less = toml.replace("  ['pyright'],\n", "");
    let soft = ini.replace("pyright", "- pyright");
    for (head_ini, head_toml, expected) in [
        ("-", toml, &[][..]),
        ("-", &less, &["ci-removed tox.ini:4 base"]),
        (&soft, "", &["ci-softened tox.ini:4"]),
    ] {
        let files =
            [file(CI, &calls, &calls), file("tox.ini", ini, head_ini), file("pyproject.toml", "", head_toml)];
        assert_eq!(findings(&files), expected, "{head_ini} {head_toml}");
    }
}

#[test]
fn other_vendors_are_read_as_well() {
    for (path, base, head, expected) in [
        (
            ".gitlab-ci.yml",
            "t:\n  script:\n    - make lint\n    - pytest\n",
            "t:\n  script:\n    - make lint\n",
            "ci-removed",
        ),
        (
            ".gitlab-ci.yml",
            "t:\n  script: [pytest]\n",
            "t:\n  script: [pytest]\n  allow_failure: true\n",
            "ci-softened",
        ),
        (
            ".gitlab-ci.yml",
            "t:\n  script: [pytest]\n",
            "t:\n  script: [pytest]\n  when: manual\n",
            "ci-softened",
        ),
        (
            ".gitlab-ci.yml",
            "t:\n  script: [pytest]\n",
            "t:\n  script: [set +e, pytest, 'true']\n",
            "ci-softened",
        ),
        (
            ".gitlab-ci.yml",
            ".t:\n  script: [pytest]\nu:\n  extends: .t\n",
            ".t:\n  script: [pytest]\n",
            "ci-removed",
        ),
        (
            ".gitlab-ci.yml",
            "t:\n  script: [pytest]\n  rules:\n    - if: $CI_PIPELINE_SOURCE == 'merge_request_event'\n",
            "t:\n  script: [pytest]\n  rules:\n    - if: $CI_COMMIT_TAG\n",
            "ci-removed",
        ),
        (
            ".circleci/config.yml",
            "jobs:\n  a:\n    steps:\n      - run: npm test\nworkflows:\n  w:\n    jobs: [a]\n",
            "jobs:\n  a:\n    steps:\n      - run: npm test\nworkflows:\n  w:\n    jobs: []\n",
            "ci-removed",
        ),
        (
            ".circleci/config.yml",
            "jobs:\n  a:\n    steps:\n      - run: npm test\n",
            "jobs:\n  a:\n    steps:\n      - run:\n          command: npm test || true\n",
            "ci-softened",
        ),
        (
            "azure-pipelines.yml",
            "steps:\n  - script: npm test\n",
            "steps:\n  - script: npm test\n    continueOnError: true\n",
            "ci-softened",
        ),
        (
            "azure-pipelines.yml",
            "steps:\n  - bash: npm test\n",
            "steps:\n  - bash: npm test\n    enabled: false\n",
            "ci-softened",
        ),
        (
            "azure-pipelines.yml",
            "steps:\n  - bash: npm test\n",
            "pr: none\nsteps:\n  - bash: npm test\n",
            "ci-removed",
        ),
        (".travis.yml", "script:\n  - tox\n  - flake8\n", "script: tox\n", "ci-removed"),
        (
            "bitbucket-pipelines.yml",
            "pipelines:\n  default:\n    - step:\n        script: [tox]\n",
            "pipelines:\n  default: []\n",
            "ci-removed",
        ),
        (
            ".buildkite/pipeline.yml",
            "steps:\n  - command: tox\n",
            "steps:\n  - command: tox\n    soft_fail: true\n",
            "ci-softened",
        ),
        ("appveyor.yml", "test_script:\n  - cmd: tox\n", "test_script:\n  - cmd: echo off\n", "ci-softened"),
        (
            ".drone.yml",
            "kind: pipeline\nsteps:\n  - name: t\n    commands: [tox]\n",
            "kind: pipeline\nsteps:\n  - name: t\n    commands: [tox]\n    failure: ignore\n",
            "ci-softened",
        ),
        (
            "Jenkinsfile",
            "stage('a') {\n  sh 'tox'\n}\n",
            "stage('a') {\n  sh 'tox || true'\n}\n",
            "ci-softened",
        ),
        ("Jenkinsfile", "stage('a') {\n  sh '''\n    tox\n  '''\n}\n", "stage('a') {\n}\n", "ci-removed"),
    ] {
        let found = findings(&[file(path, base, head)]);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{path}: {found:?}\n{head}");
    }
}

#[test]
fn a_matrix_that_names_checks_is_part_of_them() {
    for (old, new, expected) in [
        ("lint, test, build", "test, build", &["ci-removed .github/workflows/ci.yml:6 base"][..]),
        ("lint, test", "test, lint", &[]),
    ] {
        let [base, head] = [old, new].map(|tasks| {
    format!(
    "on: push\njobs:\n  a:\n    strategy:\n      matrix:\n        task: [{tasks}]\n    steps:\n      - run: npm run ${{{{ matrix.task }}}}\n"
    )
    });
        assert_eq!(findings(&[file(CI, &base, &head)]), expected, "{new}");
    }
}

#[test]
fn a_file_that_cannot_be_read_any_more_is_a_finding() {
    let base = workflow("      - run: cargo test\n");
    let broken = base.replace("jobs:", "jobs: {");
    assert_eq!(findings(&[file(CI, &base, &broken)]).len(), 1);
    assert_eq!(findings(&[file(CI, &broken, &base)]), [""; 0]);
    let hooks = "repos:\n  - hooks:\n      - id: ruff\n";
    let found = findings(&[file(".pre-commit-config.yaml", hooks, "repos: [\n")]);
    assert!(found.len() == 1 && found[0].starts_with("hook-disabled "), "{found:?}");
}

#[test]
fn a_hook_that_no_longer_runs_is_disabled() {
    for (path, base, head, expected) in [
        (
            ".pre-commit-config.yaml",
            "repos:\n  - hooks:\n      - id: ruff\n",
            "repos:\n  - hooks:\n      - id: ruff\n        stages: [manual]\n",
            vec!["hook-disabled .pre-commit-config.yaml:4"],
        ),
        (
            "lefthook.yml",
            "pre-commit:\n  commands:\n    lint:\n      run: npm run lint\n",
            "pre-commit:\n  commands:\n    lint:\n      run: npm run lint\n      skip: true\n",
            vec!["hook-disabled lefthook.yml:5"],
        ),
        (
            ".overcommit.yml",
            "PreCommit:\n  RuboCop:\n    enabled: true\n",
            "PreCommit:\n  RuboCop:\n    enabled: false\n",
            vec!["hook-disabled .overcommit.yml:3"],
        ),
        (".husky/pre-commit", "npm test\n", "npm test || true\n", vec!["ci-softened .husky/pre-commit:1"]),
        (
            ".husky/pre-commit",
            "npm test\nnpm run lint\n",
            "npm test\n",
            vec!["hook-disabled .husky/pre-commit:2 base"],
        ),
        (".husky/pre-commit", "./a\n", "-", vec!["hook-disabled .husky/pre-commit:1 base"]),
        (".husky/pre-commit", "npm test\n", "exit 0\n", vec!["hook-disabled .husky/pre-commit:1"]),
    ] {
        assert_eq!(findings(&[file(path, base, head)]), expected, "{path} {head}");
    }
}
