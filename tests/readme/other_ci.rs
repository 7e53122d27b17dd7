//! Runs the pipelines of other services as their documentation has them.

use super::{Scratch, block, blocks, read, run_bash};

const PAGE: &str = "docs/other-ci.md";

/// A service, and what its jobs of a change into `main` find in the environment, by the documentation of the service.
const SERVICES: &[(&str, &str)] = &[
    ("groovy jenkins", "CHANGE_TARGET=main CHANGE_ID=7"),
    ("yaml azure", "SYSTEM_PULLREQUEST_TARGETBRANCH=refs/heads/main"),
    ("yaml bitbucket", "BITBUCKET_PR_DESTINATION_BRANCH=main BITBUCKET_PR_ID=7"),
    ("yaml circleci", "CIRCLE_BRANCH=topic"),
    ("yaml forgejo", "GITHUB_BASE_REF=main GITHUB_HEAD_REF=topic"),
    ("yaml gitlab", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main CI_PIPELINE_SOURCE=merge_request_event"),
];

/// Returns the commands of a pipeline: those that name the target, fetch it and judge.
fn commands(pipeline: &str) -> String {
    let lines = pipeline.lines().map(|line| line.trim_start().trim_start_matches("- "));
    let own = lines.filter(|line| {
        ["git fetch ", "qa-skill run ", "set -e", "target="]
            .iter()
            .any(|beginning| line.starts_with(beginning))
    });
    own.fold(String::new(), |all, line| all + line + "\n")
}

/// Leaves what a service checks out: a commit, and no branch.
const CHECKED_OUT: &str = "
    git checkout -q --detach
    git branch -q -D main topic
    git remote set-head origin --delete
    git update-ref -d refs/remotes/origin/main";

#[test]
fn the_pipeline_of_each_service_judges_the_change() {
    for (service, variables) in SERVICES {
        let commands = commands(&block(PAGE, service));
        assert_eq!(commands.matches("qa-skill run ").count(), 1, "{service}");
        let judge = format!("export {variables}\n{commands}");
        let scratch = Scratch::new();
        scratch.commit_on_topic("settings.toml", &Scratch::conflict());
        for (commit, expected) in [("HEAD", 1), ("HEAD~1", 0)] {
            let checkout = format!(
                "git -C origin.git fetch -q ../checkout topic:topic; rm -rf job; git clone -q -b topic origin.git job; cd job; git branch -q main origin/main; git reset -q --hard {commit}\n{CHECKED_OUT}"
            );
            let output = run_bash(scratch.path(), &checkout);
            assert!(output.status.success(), "{output:#?}");
            let output = run_bash(&scratch.path().join("job"), &judge);
            assert_eq!(output.status.code(), Some(expected), "{service}: {output:#?}");
        }
    }
}

#[test]
fn the_component_has_the_job_of_the_page() {
    let component = read("examples/gitlab-component/templates/qa-skill.yml");
    let component = component
        .replace("$[[ inputs.repository ]]", "OWNER/qa-skill")
        .replace("$[[ inputs.version ]]", "vX.Y.Z")
        .replace("$[[ inputs.sha256 ]]", "SHA256")
        .replace("  stage: $[[ inputs.stage ]]\n", "");
    let (_, job) = component.split_once("\n---\n").unwrap();
    let pipeline = block(PAGE, "yaml gitlab");
    assert_eq!(job, &pipeline[pipeline.find("qa-skill:\n").unwrap()..]);
}

#[test]
fn every_pipeline_of_the_page_is_run() {
    let written: Vec<String> = blocks(PAGE).into_iter().map(|block| block.info).collect();
    let mut pipelines: Vec<&str> =
        written.iter().map(String::as_str).filter(|info| !info.starts_with("sh")).collect();
    pipelines.sort_unstable();
    let run: Vec<&str> = SERVICES.iter().map(|(service, _)| *service).collect();
    assert_eq!(pipelines, run);
}
