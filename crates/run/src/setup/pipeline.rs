//! Checks of the setup on forges other than GitHub: the pipeline, and the owners of its files. Settings of the forge are not
//! read, which an observation says.

use super::{Kind, Observation, Place, check_reports, place, problem};
use qa_contracts::v1::Preset;
use qa_core::policy::{POLICY_PATH, Policy, WAIVERS_PATH};
use qa_reading::codeowners::CodeOwners;
use qa_reading::documents::{Document, Format, Node};
use qa_reading::shell::{Options, Script};

/// Number of files without an owner that are named.
const FILES_NAMED: usize = 10;

/// A forge other than GitHub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherForge {
    GitLab,
    Bitbucket,
    AzureRepos,
}

impl OtherForge {
    pub const ALL: [Self; 3] = [Self::GitLab, Self::Bitbucket, Self::AzureRepos];

    /// Returns the path of the pipeline.
    pub fn pipeline(self) -> &'static str {
        match self {
            Self::GitLab => ".gitlab-ci.yml",
            Self::Bitbucket => "bitbucket-pipelines.yml",
            Self::AzureRepos => "azure-pipelines.yml",
        }
    }

    /// Returns the places of CODEOWNERS, of which the first that is there counts; none where the forge has no such file.
    pub fn codeowners(self) -> &'static [&'static str] {
        match self {
            Self::GitLab => &["CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"],
            Self::Bitbucket => &[".bitbucket/CODEOWNERS"],
            Self::AzureRepos => &[],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::GitLab => "GitLab",
            Self::Bitbucket => "Bitbucket",
            Self::AzureRepos => "Azure Repos",
        }
    }

    /// Returns the settings that make the verdict decide.
    fn settings(self) -> &'static str {
        match self {
            Self::GitLab => {
                "Settings, Merge requests: `Pipelines must succeed`, without `Skipped pipelines are considered successful`; Settings, Repository, Protected branches: nobody pushes, `Code owner approval`"
            }
            Self::Bitbucket => {
                "Repository settings, Branch restrictions: a minimum number of successful builds, and `Prevent a merge with unresolved merge checks`"
            }
            Self::AzureRepos => {
                "Branch policies of the target: `Build Validation` with this pipeline, required; `Automatically included reviewers` for the gate's files"
            }
        }
    }
}

/// Content of a repository on another forge that its setup is checked by.
pub struct OtherSetup<'a> {
    pub forge: OtherForge,
    /// Text of the pipeline; `None` where there is none, or it cannot be read as text.
    pub pipeline: Option<&'a str>,
    /// Path and text of the file that the forge reads owners from.
    pub codeowners: Option<(&'a str, &'a str)>,
    pub policy: &'a Policy,
    /// Tells whether git ignores a path.
    pub is_ignored: &'a dyn Fn(&str) -> bool,
}

/// Checks what the files show. Never empty: the settings of the forge are not seen.
pub fn check_other(setup: &OtherSetup<'_>) -> Vec<Observation> {
    let mut found = Vec::new();
    check_pipeline(setup, &mut found);
    if setup.policy.preset == Preset::Advisory {
        found.push(advisory());
    }
    check_owners(setup, &mut found);
    check_reports(setup.policy, setup.is_ignored, &mut found);
    found.push(unseen(
        "forge-settings",
        None,
        format!(
            "settings of {} are not read, so a change may be merged without the verdict",
            setup.forge.name()
        ),
        setup.forge.settings(),
    ));
    found
}

/// Reports the preset by which nothing blocks.
pub(super) fn advisory() -> Observation {
    problem(
        "advisory",
        None,
        "the policy has the preset `advisory`, by which nothing blocks",
        "write `preset = \"default\"` into .qa-skill/policy.toml",
    )
}

fn unseen(id: &'static str, place: Option<Place>, message: String, fix: &'static str) -> Observation {
    Observation { id, kind: Kind::Unseen, place, message, fix }
}

fn check_pipeline(setup: &OtherSetup<'_>, found: &mut Vec<Observation>) {
    let path = setup.forge.pipeline();
    let fix = "add the job of docs/other-ci.md to the pipeline of the default branch";
    let Some(text) = setup.pipeline else {
        found.push(problem("not-used", None, format!("there is no `{path}` that could run the gate"), fix));
        return;
    };
    let Ok(document) = Document::parse(Format::Yaml, text) else {
        let place = Place { path: path.to_owned(), line: 1 };
        let message = "the pipeline cannot be read".to_owned();
        found.push(unseen("workflow-unread", Some(place), message, "correct the file"));
        return;
    };
    let root = document.root();
    let runs = gate_runs(root);
    if runs.is_empty() {
        let has_others = root.get("include").is_some() || text.contains("template:");
        found.push(match has_others {
            true => unseen(
                "called-workflow",
                None,
                format!("`{path}` does not run qa-skill, and the files that it includes are not read"),
                "look there for `qa-skill run`, or let a job here run it",
            ),
            false => problem("not-used", None, format!("no job of `{path}` runs `qa-skill run`"), fix),
        });
    }
    for run in runs {
        if run.is_lost {
            let message =
                "the exit code of `qa-skill run` is lost, so the job passes when the verdict is FAIL";
            let fix = "let it be the last word of its line, without `||`, `;` or a pipe behind it";
            found.push(problem("failure-ignored", Some(place(path, text, run.node.span())), message, fix));
        }
    }
    if setup.forge == OtherForge::GitLab {
        for entry in root.entries().filter(|entry| !gate_runs(entry.value).is_empty()) {
            check_gitlab_job(path, text, entry.value, found);
        }
    }
}

/// A text of the pipeline that starts the gate.
struct GateRun<'d> {
    node: Node<'d>,
    /// True if the script succeeds although the command fails.
    is_lost: bool,
}

/// Returns the texts that run `qa-skill run` as commands of a shell. A document too large to be walked has none.
fn gate_runs<'d>(node: Node<'d>) -> Vec<GateRun<'d>> {
    let leaves = node.leaves().unwrap_or_default();
    let texts = leaves.iter().filter_map(|leaf| Some((leaf.value, leaf.value.text()?)));
    let mut runs = Vec::new();
    for (node, text) in texts.filter(|(_, text)| text.contains("qa-skill")) {
        let script = Script::parse(text, Options { errexit: true, ..Options::default() });
        let mut commands = script.commands.iter();
        let gate = commands.find(|command| match command.effective() {
            [program, subcommand, ..] => {
                program.text().rsplit('/').next() == Some("qa-skill") && subcommand.text() == "run"
            }
            _ => false,
        });
        runs.extend(gate.map(|command| GateRun { node, is_lost: command.lost.is_some() }));
    }
    runs
}

fn check_gitlab_job(path: &str, text: &str, job: Node<'_>, found: &mut Vec<Observation>) {
    let rules: Vec<Node<'_>> = job.get("rules").into_iter().flat_map(Node::items).collect();
    for part in std::iter::once(job).chain(rules.iter().copied()) {
        if let Some(flag) = part.get("allow_failure").filter(|flag| flag.flag() != Some(false)) {
            let message = "`allow_failure` lets the pipeline succeed when the verdict is FAIL";
            found.push(problem(
                "failure-ignored",
                Some(place(path, text, flag.span())),
                message,
                "remove it",
            ));
        }
        if let Some(when) = part.get("when").filter(|when| when.text() == Some("manual")) {
            let message =
                "the job waits for a person, and a pipeline succeeds without a manual job of a rule";
            found.push(problem("condition", Some(place(path, text, when.span())), message, "remove it"));
        }
        let filters = [part.get("changes"), part.at(&["only", "changes"]), part.at(&["except", "changes"])];
        for filter in filters.into_iter().flatten() {
            let message =
                "`changes` keeps the job from other merge requests, whose pipeline then succeeds without it";
            let fix = "leave the filter out; a run without anything to judge takes a second";
            found.push(problem("paths-filtered", Some(place(path, text, filter.span())), message, fix));
        }
    }
    if !text.contains("merge_request") {
        let message = "nothing in the pipeline starts it for merge requests";
        let fix = "add `rules: [{ if: $CI_PIPELINE_SOURCE == \"merge_request_event\" }]` to the job";
        found.push(problem("event-missing", Some(place(path, text, job.span())), message, fix));
    }
}

fn check_owners(setup: &OtherSetup<'_>, found: &mut Vec<Observation>) {
    let Some(first) = setup.forge.codeowners().first() else { return };
    let (file, text) = setup.codeowners.unwrap_or((first, ""));
    let owners = CodeOwners::parse(text);
    let paths = [POLICY_PATH, WAIVERS_PATH, file, setup.forge.pipeline()];
    let unowned = paths.iter().copied().filter(|path| {
        let rules = owners.rules_of(path);
        !rules.iter().flat_map(|rule| &rule.owners).any(|owner| owner.text.contains('@'))
    });
    let fix = "name owners of these files in CODEOWNERS, and require their approval";
    found.extend(unowned_files(&unowned.collect::<Vec<_>>()).map(|text| problem("unowned", None, text, fix)));
}

/// Describes files of the gate without an owner; `None` where there are none.
pub(super) fn unowned_files(paths: &[&str]) -> Option<String> {
    if paths.is_empty() {
        return None;
    }
    let named: Vec<String> = paths.iter().take(FILES_NAMED).map(|path| format!("`{path}`")).collect();
    let more = match paths.len().saturating_sub(FILES_NAMED) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let (verb, them) = if paths.len() == 1 { ("has", "it") } else { ("have", "them") };
    Some(format!(
        "{}{more} {verb} no code owner, so anybody who reviews may approve a change of {them}",
        named.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_core::policy::Overrides;

    const JOB: &str = "\
qa-skill:
  rules:
    - if: $CI_PIPELINE_SOURCE == \"merge_request_event\"
  script:
    - git fetch origin main
    - ./qa-skill run --base origin/main --head HEAD
";
    const OWNERS: &str = "* @acme/security\n";

    fn found(forge: OtherForge, pipeline: Option<&str>, owners: &str) -> Vec<String> {
        let policy = Policy::parse(None, &Overrides::default(), &qa_lenses::registry()).unwrap();
        let codeowners = forge.codeowners().first().map(|path| (*path, owners));
        let setup = OtherSetup { forge, pipeline, codeowners, policy: &policy, is_ignored: &|_| false };
        let all = check_other(&setup).into_iter();
        all.map(|found| match found.place {
            Some(place) => format!("{}:{}", found.id, place.line),
            None => found.id.to_owned(),
        })
        .collect()
    }

    #[test]
    fn settings_are_unseen_where_the_files_have_no_problem() {
        assert_eq!(found(OtherForge::GitLab, Some(JOB), OWNERS), ["forge-settings"]);
        for (forge, pipeline) in [
            (
                OtherForge::Bitbucket,
                "pipelines:\n  pull-requests:\n    '**':\n      - step:\n          script: [qa-skill run]\n",
            ),
            (
                OtherForge::AzureRepos,
                "steps:\n  - script: |\n      set -e\n      qa-skill run --base origin/main\n",
            ),
        ] {
            assert_eq!(found(forge, Some(pipeline), OWNERS), ["forge-settings"], "{forge:?}");
        }
    }

    #[test]
    fn each_problem_of_a_pipeline_is_reported() {
        for (pipeline, expected) in [
            (None, "not-used"),
            (Some("test: { script: [make] }\n".to_owned()), "not-used"),
            (Some(format!("# {}", JOB.replace('\n', "\n# "))), "not-used"),
            (Some(JOB.replace("./qa-skill run", "echo qa-skill run")), "not-used"),
            (Some("include: other.yml\n".to_owned()), "called-workflow"),
            (Some("a: [\n".to_owned()), "workflow-unread:1"),
            (Some(format!("{JOB}  allow_failure: true\n")), "failure-ignored:7"),
            (Some(JOB.replace("--head HEAD", "--head HEAD || true")), "failure-ignored:6"),
            (Some(JOB.replace("event\"\n", "event\"\n      when: manual\n")), "condition:4"),
            (Some(JOB.replace("event\"\n", "event\"\n      changes: [src/**]\n")), "paths-filtered:4"),
            (Some(JOB.replace("merge_request_event", "push")), "event-missing:2"),
        ] {
            let found = found(OtherForge::GitLab, pipeline.as_deref(), OWNERS);
            assert_eq!(found, [expected, "forge-settings"], "{pipeline:?}");
        }
        assert_eq!(found(OtherForge::GitLab, Some(JOB), "/src/ @dev\n"), ["unowned", "forge-settings"]);
        // A section's owners are those of its lines.
        assert_eq!(found(OtherForge::GitLab, Some(JOB), "[Gate] @acme/security\n*\n"), ["forge-settings"]);
    }

    #[test]
    fn files_without_an_owner_are_named() {
        assert_eq!(unowned_files(&[]), None);
        let text = unowned_files(&["a", "b"]).unwrap();
        assert_eq!(text, "`a`, `b` have no code owner, so anybody who reviews may approve a change of them");
        let many: Vec<String> = (0..12).map(|number| format!("f{number}")).collect();
        let text = unowned_files(&many.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        assert!(text.contains("`f9` and 2 more have") && !text.contains("f10"), "{text}");
    }
}
