//! The story of a feature in three languages, each with its own test runner: from the first failing day to a feature that
//! is planned after completion, by reports of a step and by commands in the sandbox.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::gates_tools::{enterable, link_tree, policy};
use crate::support::fence::{As, can_be};
use crate::support::parts::{part, skip};
use crate::support::{Outcome, Repo, RunDir, git, qa_skill};

const LIST: &str = "feature_list.json";
const STATE: &str = "workflow-state.json";

/// A project with its test runner.
struct Project {
    /// Tool of the gate `unit_tests`, and the beginning of its command.
    tool: &'static str,
    prefix: &'static str,
    /// Directory of the installed tools, and its path in the checkout, if they have to be there.
    tools: PathBuf,
    inside: Option<&'static str>,
    /// Settings of the table `[execution]`.
    execution: &'static str,
    report: &'static str,
    /// Step that writes the report.
    script: String,
    files: &'static [(&'static str, &'static str)],
    /// Source and test of a feature, with the id of the test, where the feature may be wrong.
    feature: fn(u64, bool) -> Feature,
}

/// Files of a feature.
struct Feature {
    source: (String, String),
    test: (String, String),
    /// Id of the test for `stories/<id>.json`; `None` for a test with tags.
    id: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A step writes the report, by `qa-skill record`.
    Imported,
    /// The gate runs the tool.
    Sandboxed,
}

/// A checkout of the project on its way.
struct Story {
    project: Project,
    way: Way,
    repo: Repo,
    judged: u32,
}

impl Story {
    /// A repository with two features, the first of which is worked on.
    fn begin(project: Project, way: Way) -> Self {
        let repo = Repo::new();
        for directory in [repo.path(), repo.path().parent().unwrap().to_owned()] {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let story = Self { project, way, repo, judged: 0 };
        let inside = story.project.inside.map_or(story.project.tools.to_str().unwrap(), |inside| inside);
        let gate = match way {
            Way::Imported => format!(
                "[gates.unit_tests]\nreports = [{{ path = {:?}, tool = {:?} }}]\n",
                story.project.report, story.project.tool
            ),
            Way::Sandboxed => policy(
                &[inside],
                story.project.execution,
                &[story.project.prefix],
                &[("unit_tests", &[story.project.tool])],
            ),
        };
        story.write(
            ".qa-skill/policy.toml",
            &format!("{gate}[gates.story_validation]\ntests-of = [\"unit_tests\"]\n"),
        );
        story.write(".gitignore", "/node_modules\n/reports\n__pycache__\n");
        for (path, text) in story.project.files {
            story.write(path, text);
        }
        story.write(LIST, &features(2));
        if let Some(inside) = story.project.inside {
            link_tree(&story.project.tools, &story.repo.path().join(inside));
        }
        fs::create_dir_all(story.repo.path().join("reports")).unwrap();
        story.git(&["checkout", "-q", "-b", "main"]);
        story.workflow(&["--feature", "1", "--write"]).expect(0);
        story.commit("Plan two features");
        story
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.repo.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, arguments: &[&str]) {
        let mut all = vec!["-c", "user.name=a", "-c", "user.email=a@example.com"];
        all.extend(arguments);
        git(&self.repo.path(), &all);
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    fn branch(&self) {
        self.git(&["checkout", "-q", "-B", "topic"]);
    }

    /// Writes a feature with its test.
    fn develop(&self, id: u64, right: bool, message: &str) {
        let feature = (self.project.feature)(id, right);
        for (path, text) in [&feature.source, &feature.test] {
            self.write(path, text);
        }
        if let Some(test) = feature.id {
            self.write(&format!("stories/{id}.json"), &json!({ "1": test }).to_string());
        }
        self.commit(message);
    }

    fn workflow(&self, arguments: &[&str]) -> Outcome {
        let all = ["workflow", "--feature-list", LIST].into_iter().chain(arguments.iter().copied());
        qa_skill(all).within(&self.repo.path()).run()
    }

    /// Runs the tests, if a step does, and judges the change.
    #[track_caller]
    fn judge(&mut self, exit: i32) -> RunDir {
        if self.way == Way::Imported {
            let script = self.project.script.as_str();
            let step = qa_skill(["record", "--gate", "unit_tests", "--", "sh", "-c", script]);
            let step = step.env("HOME", self.repo.beside("home")).within(&self.repo.path());
            // Not bounded in what it may map: engines of JavaScript reserve far more than they use.
            let output = step.bare_command().output().unwrap();
            assert_eq!(output.status.code(), Some(exit), "{}", String::from_utf8_lossy(&output.stderr));
        }
        self.judged += 1;
        let out = self.repo.beside(&format!("out-{}", self.judged));
        let judge = qa_skill(["run", "--base", "main", "--head", "topic", "--repo"]).arg(self.repo.path());
        let judge = judge.arg("--out").arg(&out);
        Outcome::from_output(&judge.bare_command().output().unwrap()).expect(exit);
        let run = RunDir::only(&out);
        run.verify().run().expect(0);
        run
    }

    /// Merges the topic, applies the run, and returns the phase of the state.
    #[track_caller]
    fn merge(&self, run: &RunDir) -> Value {
        self.git(&["checkout", "-q", "main"]);
        self.git(&["merge", "-q", "--no-ff", "-m", "Merge", "topic"]);
        let head = self.repo.tip("topic").to_string();
        let run = run.0.to_str().unwrap();
        self.workflow(&["--write", "--propose", LIST, "--head", &head, "--run", run]).expect(0);
        self.git(&["add", "--all"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "Set the result"]);
        let state: Value = serde_json::from_slice(&fs::read(self.repo.path().join(STATE)).unwrap()).unwrap();
        state["current_state"].clone()
    }

    /// `passes` of each feature.
    fn passing(&self) -> Vec<bool> {
        let list: Value = serde_json::from_slice(&fs::read(self.repo.path().join(LIST)).unwrap()).unwrap();
        list.as_array().unwrap().iter().map(|feature| feature["passes"] == true).collect()
    }
}

/// A list of features that do not pass.
fn features(count: u64) -> String {
    let all: Vec<Value> = (1..=count)
        .map(|id| json!({"id": id, "description": format!("Number {id}"), "steps": ["Step 1: have it"], "passes": false}))
        .collect();
    serde_json::to_string_pretty(&all).unwrap() + "\n"
}

fn tell(project: Project, way: Way) {
    let mut story = Story::begin(project, way);
    story.branch();
    story.develop(1, false, "Add a number");
    let run = story.judge(1);
    let report = run.json("qa-report.json");
    assert_eq!(json!([report["status"], report["feature_id"]]), json!(["FAILED", 1]));
    let report = run.path("qa-report.json");
    let told = story.workflow(&["--event", "pull-request", "--report", report.to_str().unwrap()]).expect(0);
    assert!(told.text().contains("QA -> DEV_FEEDBACK\n"), "{}", told.text());
    story.develop(1, true, "Correct the number");
    let run = story.judge(0);
    assert_eq!(story.merge(&run), "QA_PASSED");
    assert_eq!(story.passing(), [true, false]);

    story.workflow(&["--feature", "2", "--write"]).expect(0);
    story.commit("Go on with feature 2");
    story.branch();
    story.develop(2, true, "Add another number");
    let run = story.judge(0);
    assert_eq!(story.merge(&run), "COMPLETE");
    assert_eq!(story.passing(), [true, true]);

    // After completion a feature is planned, which changes nothing yet, and then made.
    story.branch();
    let planned = features(3).lines().skip(17).collect::<Vec<_>>().join("\n");
    let list = fs::read_to_string(story.repo.path().join(LIST)).unwrap();
    let list = format!("{},\n{planned}\n", list.trim_end().trim_end_matches(']').trim_end());
    story.write(LIST, &list);
    story.commit("Plan a third number");
    let run = story.judge(0);
    assert_eq!(story.merge(&run), "COMPLETE");
    assert_eq!(story.passing(), [true, true, false]);
    story.branch();
    story.develop(3, true, "Add a third number\n\nFeature: 3");
    let run = story.judge(0);
    assert_eq!(run.json("qa-report.json")["feature_id"], 3);
    assert_eq!(story.merge(&run), "COMPLETE");
    assert_eq!(story.passing(), [true, true, true]);

    // What passed does not get lost.
    story.branch();
    story.develop(1, false, "Break the first number");
    let findings = story.judge(1).findings();
    assert!(findings.contains(&format!("story_validation/failure {LIST}:7")), "{findings:?}");
}

/// A project of Python with pytest, bound by ids. The test's name begins like its module's.
fn python() -> Option<Project> {
    let tools = part("target/foreign/python").filter(|_| can_be(As::Root))?;
    if !enterable(&tools) {
        eprintln!("SKIPPED: not every user may enter {}", tools.display());
        return None;
    }
    Some(Project {
        tool: "pytest",
        prefix: "pytest",
        script: format!("{}/bin/pytest -p no:cacheprovider --junitxml=reports/junit.xml", tools.display()),
        tools,
        inside: None,
        execution: "",
        report: "reports/junit.xml",
        files: &[(
            "pyproject.toml",
            "[project]\nname = \"numbers\"\nversion = \"1\"\n[tool.pytest.ini_options]\npythonpath = [\".\"]\n",
        )],
        feature: |id, right| Feature {
            source: (format!("number_{id}.py"), format!("VALUE = {}\n", if right { id } else { 0 })),
            test: (
                format!("test_number_{id}.py"),
                format!(
                    "from number_{id} import VALUE\n\n\ndef test_number_{id}_is_had():\n    assert VALUE == {id}\n"
                ),
            ),
            id: Some(format!("test_number_{id}.py::test_number_{id}_is_had")),
        },
    })
}

/// A project of JavaScript with Vitest, bound by tags.
fn javascript() -> Option<Project> {
    let tools = part("target/foreign/node/node_modules").filter(|_| can_be(As::Root))?;
    Some(Project {
        tool: "vitest",
        prefix: "vitest run",
        tools,
        inside: Some("node_modules"),
        execution: "",
        report: "reports/vitest.json",
        script: "node_modules/.bin/vitest run --reporter=json --outputFile=reports/vitest.json".to_owned(),
        files: &[(
            "package.json",
            "{\"private\": true, \"type\": \"module\", \"devDependencies\": {\"vitest\": \"4\"}}\n",
        )],
        feature: |id, right| Feature {
            source: (
                format!("src/number{id}.js"),
                format!("export const value = {};\n", if right { id } else { 0 }),
            ),
            test: (
                format!("tests/number{id}.test.js"),
                format!(
                    "import {{ expect, test }} from 'vitest';\nimport {{ value }} from '../src/number{id}.js';\n\ntest('is had @feature:{id} @step:1', () => {{\n  expect(value).toBe({id});\n}});\n"
                ),
            ),
            id: None,
        },
    })
}

/// A project of Go, bound by ids.
fn go() -> Option<Project> {
    let go = ["/usr/bin/go", "/usr/local/go/bin/go"].into_iter().find(|path| Path::new(path).exists());
    let Some(go) = go.filter(|_| can_be(As::Root)) else {
        skip("go is not installed for all users");
        return None;
    };
    Some(Project {
        tool: "go-test",
        prefix: "go test",
        tools: fs::canonicalize(go).unwrap().parent().unwrap().parent().unwrap().to_owned(),
        inside: None,
        execution: "environment = { GOFLAGS = \"-mod=readonly\", GOPROXY = \"off\", CGO_ENABLED = \"0\" }",
        report: "reports/go.json",
        script: format!("CGO_ENABLED=0 GOPROXY=off {go} test -json -count=1 ./... > reports/go.json"),
        files: &[("go.mod", "module example.com/numbers\n\ngo 1.19\n")],
        feature: |id, right| Feature {
            source: (
                format!("number{id}.go"),
                format!(
                    "package numbers\n\n// Number{id} is a number.\nconst Number{id} = {}\n",
                    if right { id } else { 0 }
                ),
            ),
            test: (
                format!("number{id}_test.go"),
                format!(
                    "package numbers\n\nimport \"testing\"\n\nfunc TestNumber{id}(t *testing.T) {{\n\tif Number{id} != {id} {{\n\t\tt.Fatal(\"wrong\")\n\t}}\n}}\n"
                ),
            ),
            id: Some(format!("example.com/numbers.TestNumber{id}")),
        },
    })
}

#[test]
fn a_feature_of_python_by_reports_of_a_step() {
    let Some(project) = python() else { return };
    tell(project, Way::Imported);
}

#[test]
fn a_feature_of_python_in_the_sandbox() {
    let Some(project) = python() else { return };
    tell(project, Way::Sandboxed);
}

#[test]
fn a_feature_of_javascript_by_reports_of_a_step() {
    let Some(project) = javascript() else { return };
    tell(project, Way::Imported);
}

#[test]
fn a_feature_of_javascript_in_the_sandbox() {
    let Some(project) = javascript() else { return };
    tell(project, Way::Sandboxed);
}

#[test]
fn a_feature_of_go_by_reports_of_a_step() {
    let Some(project) = go() else { return };
    tell(project, Way::Imported);
}
