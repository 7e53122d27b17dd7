//! GitHub's own parser of actions and workflows, given ours, and copies of ours with a fault each.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::parts::part;
use crate::support::temp;

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
    files.push(ours("action.yml"));
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
    assert_eq!(files.len(), 11);
    if let Some((fine, said)) = parse(&files) {
        assert!(fine, "{said}");
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
