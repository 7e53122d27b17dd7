//! Workflows and actions in many spellings.

use super::{Access, Action, Reference, Secrets, Value, Workflow};
use crate::documents::{Document, Format, ReadError};
use crate::shell::{Interpreter, Word};

fn with_workflow<R>(text: &str, then: impl FnOnce(&Workflow<'_>) -> R) -> R {
    let document = Document::parse(Format::Yaml, text).expect(text);
    let workflow = Workflow::parse(&document).expect(text);
    then(&workflow)
}

fn text_of(value: Option<Value<'_>>) -> String {
    value.and_then(Value::constant).unwrap_or_default().into_owned()
}

/// Jobs and steps with the words of their scripts and the lines on which these stand.
fn line_of(source: &str, at: usize) -> usize {
    source[..at].matches('\n').count() + 1
}

fn rendered(workflow: &Workflow<'_>, source: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for job in &workflow.jobs {
        lines.push(format!("{} {}@{}", job.id, text_of(job.runs_on), line_of(source, job.id_span.start)));
        for step in &job.steps {
            if let Some(uses) = step.uses {
                lines.push(format!(" {}@{}", text_of(Some(uses)), line_of(source, uses.definition().start)));
            }
            let Some(parsed) = step.run.and_then(|run| run.parse()) else { continue };
            assert!(parsed.script.broken.is_empty(), "{source}");
            for command in &parsed.script.commands {
                let words: Vec<&str> = command.words.iter().map(Word::text).collect();
                let place = parsed.template.place(command.span);
                lines.push(format!(" {}@{}", words.join("|"), line_of(source, place.start)));
            }
        }
    }
    lines
}

#[test]
fn spelling_changes_no_value() {
    let expected = ["a x", " b/c@v1", " make|test", " curl|u", " sh|x"];
    let texts = [
        "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n    - uses: b/c@v1\n    - run: |\n        make test\n        curl u\n        sh x\n",
        "{\"on\": \"push\", \"jobs\": {\"a\": {\"runs-on\": \"x\", \"steps\": [{\"uses\": \"b/c@v1\"},\n{\"r\\u0075n\": \"make test\\ncurl u\\nsh \\u0078\"}]}}}",
        "on: push\nx: &steps\n- {uses: b/c@v1}\n- {run: 'make test\n\n    curl u\n\n    sh x'}\njobs:\n  a: {runs-on: x, steps: *steps}\n",
        "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n    - uses: b/c@v1\n    - run: >-\n        make test;\n        curl u\n\n        sh x\n",
        "on: push\nx: &job\n  runs-on: x\n  steps:\n  - {uses: b/c@v1}\n  - run: \"make test\\n\\\n      curl u; sh \\\n      x\"\njobs:\n  a:\n    <<: *job\n",
        "on: push\njobs:\n  a:\n    runs-on: ${{ 'x' }}\n    steps:\n    - uses: b/c@v1\n    - run: ${{ 'make' }} test; curl ${{\n        format('{0}', 'u') }}; sh x\n",
    ];
    for source in texts {
        let lines = with_workflow(source, |workflow| rendered(workflow, source));
        let texts: Vec<&str> = lines.iter().filter_map(|line| Some(line.rsplit_once('@')?.0)).collect();
        assert_eq!(texts, expected, "{source}");
    }
}

#[test]
fn places_are_those_of_the_file() {
    let source = "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n    - run: >\n        make a\n        b &&\n        make c\n    - run: |2\n            make d\n          make e\n    - run: \"make f\\n\\\n        make \\x67\"\n    - run: make h ${{\n        github.ref }} && make\n        i\n";
    let expected = [
        "a x@3",
        " make|a|b@7",
        " make|c@9",
        " make|d@11",
        " make|e@12",
        " make|f@13",
        " make|g@14",
        " make|h|${{ github.ref }}@15",
        " make|i@16",
    ];
    with_workflow(source, |workflow| assert_eq!(rendered(workflow, source), expected));
}

#[test]
fn triggers_permissions_and_calls() {
    let source = "on:\n  push: {branches: [main]}\n  pull_request:\npermissions: {contents: write, issues: read}\njobs:\n  a:\n    permissions: write-all\n    uses: $/.github/workflows/b.yml\n    secrets: inherit\n  b:\n    uses: ./.github/workflows/b.yml\n    secrets: {k: v}\n    continue-on-error: ${{ true }}\n    if: ${{ github.ref && false }}\n";
    with_workflow(source, |workflow| {
        let names: Vec<&str> = workflow.triggers.iter().map(|trigger| trigger.name).collect();
        assert_eq!(names, ["push", "pull_request"]);
        assert_eq!(workflow.triggers[0].filter("branches"), ["main"]);
        let permissions = workflow.permissions.as_ref().expect("it has some");
        let writes: Vec<&str> = permissions.writes().map(|grant| grant.scope).collect();
        assert_eq!(writes, ["contents"]);
        let [a, b] = workflow.jobs.as_slice() else { panic!("two jobs") };
        assert_eq!(a.permissions.as_ref().expect("it has some").all, Some(Access::Write));
        assert!(matches!(a.secrets, Some(Secrets::Inherited(_))));
        assert!(matches!(&b.secrets, Some(Secrets::Named(named)) if named.len() == 1));
        let references: Vec<_> = workflow.jobs.iter().map(|job| text_of(job.uses)).collect();
        for reference in &references {
            assert_eq!(Reference::parse(reference), Some(Reference::Local(".github/workflows/b.yml")));
        }
        assert_eq!(b.continue_on_error.and_then(Value::flag), Some(true));
        assert_eq!(b.condition.and_then(super::Condition::constant), Some(false));
    });
}

#[test]
fn the_shell_decides_what_a_script_is() {
    let cases = [
        ("runs-on: ubuntu-latest", "", "shell true false"),
        ("runs-on: windows-latest", "", "other"),
        ("runs-on: [self-hosted, Windows]", "shell: bash", "shell true true"),
        ("runs-on: x", "shell: pwsh", "other"),
        ("runs-on: x", "shell: ${{ 'python' }}", "other"),
        ("runs-on: x", "shell: ${{ matrix.shell }}", "shell true false"),
        ("runs-on: x\n    defaults: {run: {shell: cmd}}", "", "other"),
        ("runs-on: x", "shell: bash --noprofile {0}", "shell false false"),
    ];
    for (job, step, expected) in cases {
        let source = format!("on: push\njobs:\n  a:\n    {job}\n    steps:\n    - run: make\n      {step}\n");
        with_workflow(&source, |workflow| {
            let shell = match workflow.jobs[0].steps[0].run.expect("it has one").interpreter {
                Interpreter::Shell(options) => format!("shell {} {}", options.errexit, options.pipefail),
                Interpreter::Other => "other".to_owned(),
            };
            assert_eq!(shell, expected, "{source}");
        });
    }
}

#[test]
fn conditions_that_constants_decide() {
    let cases = [
        ("false", Some(false)),
        ("${{ false }}", Some(false)),
        ("${{ !true || '' }}", Some(false)),
        ("\"github.ref == 'a' && 0\"", Some(false)),
        ("always()", Some(true)),
        ("${{ false }} && x", Some(true)),
        ("github.ref == 'a'", None),
        ("a b", None),
    ];
    for (condition, expected) in cases {
        let source = format!("on: push\njobs:\n  a:\n    if: {condition}\n    runs-on: x\n");
        with_workflow(&source, |workflow| {
            let condition = workflow.jobs[0].condition.expect("it has one");
            assert_eq!(condition.constant(), expected, "{source}");
        });
    }
}

#[test]
fn actions_of_every_kind() {
    let cases = [
        ("runs: {using: composite, steps: [{run: make, shell: bash}]}", Some("composite 1  ")),
        ("runs: {using: node24, main: a.js, post: b.js}", Some("node24 0  main,post")),
        ("runs: {using: docker, image: 'docker://a:1'}", Some("docker 0 docker://a:1 ")),
        ("tasks: []", None),
        ("- a", None),
    ];
    for (source, expected) in cases {
        let document = Document::parse(Format::Yaml, source).expect(source);
        let action = Action::parse(&document).expect(source);
        let shown = action.map(|action| {
            let names: Vec<&str> = action.entry_points.iter().map(|member| member.name).collect();
            let image = text_of(action.image);
            format!("{} {} {image} {}", text_of(Some(action.using)), action.steps.len(), names.join(","))
        });
        assert_eq!(shown.as_deref(), expected, "{source}");
    }
}

#[test]
fn files_that_github_refuses_are_errors() {
    let cases = [
        ("", "the file is no map"),
        ("on: push", "the workflow has no `jobs`"),
        ("jobs: [a]", "`jobs` is no map"),
        ("jobs: {a: b}", "a job is no map"),
        ("jobs: {a: {steps: {}}}", "`steps` is no list"),
        ("jobs: {a: {steps: [b]}}", "a step is no map"),
        ("jobs: {a: {steps: [{run: [b]}]}}", "`run` is no text"),
        ("jobs: {}\n---\njobs: {}", "the file holds more than one document"),
    ];
    for (source, expected) in cases {
        let document = Document::parse(Format::Yaml, source).expect(source);
        match Workflow::parse(&document) {
            Err(ReadError::Syntax { message, .. }) => assert_eq!(message, expected, "{source}"),
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[test]
fn aliases_that_stand_for_too_much_are_an_error() {
    let steps = "- &s {run: a}\n".to_owned() + &"- *s\n".repeat(2000);
    let jobs: String = (0..2000).map(|job| format!("  j{job}: {{steps: *x}}\n")).collect();
    let source = format!("x: &x\n{steps}jobs:\n{jobs}");
    let document = Document::parse(Format::Yaml, &source).expect("it is YAML");
    assert_eq!(Workflow::parse(&document).expect_err("it is too large"), ReadError::TooLarge);
}
