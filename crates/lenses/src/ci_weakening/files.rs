//! Files that run checks, told by their paths.

use qa_core::classify;

/// The kind of a file that runs commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A workflow of GitHub, Forgejo or Gitea.
    Workflow,
    /// An action of the repository, which workflows use.
    Action,
    /// A pipeline of another vendor, in YAML.
    Pipeline,
    Circle,
    Jenkins,
    /// A list of commit hooks.
    HookList,
    /// A commit hook.
    Hook,
    Make,
    Just,
    Package,
    Task,
    Tox,
    Nox,
    Script,
}

/// Directories whose files are pipelines, and the kind of those.
pub(super) const DIRECTORIES: &[Directory] = &[
    Directory { path: ".buildkite", kind: Kind::Pipeline },
    Directory { path: ".circleci", kind: Kind::Circle },
    Directory { path: ".forgejo/workflows", kind: Kind::Workflow },
    Directory { path: ".gitea/workflows", kind: Kind::Workflow },
    Directory { path: ".github/workflows", kind: Kind::Workflow },
    Directory { path: ".gitlab", kind: Kind::Pipeline },
    Directory { path: ".gitlab/ci", kind: Kind::Pipeline },
    Directory { path: ".gitlab-ci", kind: Kind::Pipeline },
    Directory { path: ".azure-pipelines", kind: Kind::Pipeline },
    Directory { path: ".azuredevops", kind: Kind::Pipeline },
    Directory { path: ".woodpecker", kind: Kind::Pipeline },
];

/// A directory of pipelines.
#[derive(Debug)]
pub(super) struct Directory {
    pub(super) path: &'static str,
    kind: Kind,
}

/// Names of pipelines without their extension.
const PIPELINES: &[&str] = &[
    ".appveyor",
    ".cirrus",
    ".drone",
    ".gitlab-ci",
    ".travis",
    ".woodpecker",
    "appveyor",
    "azure-pipelines",
    "bitbucket-pipelines",
    "cloudbuild",
];

/// Directories of scripts that CI runs.
const SCRIPTS: &[&str] = &["ci", ".ci", ".github", "script", "scripts", ".circleci", ".buildkite"];

/// Directories of commit hooks.
const HOOKS: &[&str] = &[".husky", ".githooks", ".git-hooks", ".hooks"];

impl Kind {
    /// Returns whether a file is a workflow or pipeline that CI runs by itself.
    pub(super) fn is_workflow(path: &str) -> bool {
        Self::for_path(path).is_some_and(|kind| kind.is_root() && kind.is_ci())
    }

    /// Returns the kind of a file; none for one that runs nothing. Platforms read their own names as they are spelled.
    pub(super) fn for_path(path: &str) -> Option<Self> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        let is_yaml = matches!(extension, "yml" | "yaml");
        if is_yaml && let Some(own) = DIRECTORIES.iter().find(|own| own.path == directory) {
            return Some(own.kind);
        }
        Some(match name {
            "makefile" | "Makefile" | "GNUmakefile" => Self::Make,
            "package.json" => Self::Package,
            "hatch.toml" | "pyproject.toml" | "tox.ini" | "tox.toml" => Self::Tox,
            "noxfile.py" => Self::Nox,
            ".overcommit.yml" => Self::HookList,
            "action.yml" | "action.yaml" => Self::Action,
            _ if is_yaml && PIPELINES.contains(&stem) => Self::Pipeline,
            _ if is_yaml && stem.starts_with("azure-pipelines") => Self::Pipeline,
            _ if is_yaml && matches!(stem, ".pre-commit-config" | "lefthook" | ".lefthook") => Self::HookList,
            _ => return Self::for_any_case(&directory.to_lowercase(), &name.to_lowercase()),
        })
    }

    /// Returns the kind of a file of a tool that takes its name in any case, or of a script, by its path in lower case.
    fn for_any_case(directory: &str, name: &str) -> Option<Self> {
        let extension = name.rsplit_once('.').unwrap_or_default().1;
        Some(match name {
            "justfile" | ".justfile" => Self::Just,
            "taskfile.yml" | "taskfile.yaml" => Self::Task,
            "jenkinsfile" => Self::Jenkins,
            // What lies in CI's own directories beside scripts.
            "codeowners" | "license" | "notice" | "readme" if directory.starts_with('.') => return None,
            _ if is_in_one_of(directory, HOOKS) && classify::is_git_hook(name) => Self::Hook,
            _ if matches!(extension, "sh" | "bash") => Self::Script,
            _ if !name.contains('.') && is_in_one_of(directory, SCRIPTS) => Self::Script,
            _ => return None,
        })
    }

    /// Returns whether the file runs by itself, and not only where another one calls it.
    pub(super) fn is_root(self) -> bool {
        match self {
            Self::Workflow | Self::Pipeline | Self::Circle | Self::Jenkins | Self::Hook => true,
            Self::Action
            | Self::HookList
            | Self::Make
            | Self::Just
            | Self::Package
            | Self::Task
            | Self::Tox
            | Self::Nox
            | Self::Script => false,
        }
    }

    /// Returns whether the file is a pipeline or a part of one.
    pub(super) fn is_ci(self) -> bool {
        self.is_root() && self != Self::Hook || self == Self::Action
    }

    pub(super) fn is_hook(self) -> bool {
        matches!(self, Self::Hook | Self::HookList)
    }
}

/// Returns whether a script lies where CI has its own.
pub(super) fn is_script_of_ci(path: &str) -> bool {
    let path = path.to_lowercase();
    let directory = path.rsplit_once('/').map(|(directory, _)| directory).unwrap_or_default();
    directory.split('/').any(|part| SCRIPTS.contains(&part))
}

fn is_in_one_of(directory: &str, names: &[&str]) -> bool {
    directory.split('/').any(|part| names.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_tells_what_a_file_runs() {
        for (path, expected) in [
            (".github/workflows/ci.yml", Some(Kind::Workflow)),
            (".github/workflows/off/ci.yml", None),
            (".github/workflows/ci.yml.disabled", None),
            (".github/workflows/ci.YML", None),
            (".GitHub/workflows/ci.yml", None),
            (".github/CODEOWNERS", None),
            (".github/build", Some(Kind::Script)),
            ("script/license", Some(Kind::Script)),
            (".husky/pre-commit", Some(Kind::Hook)),
            (".husky/.gitignore", None),
            (".husky/pre-commit.off", None),
            (".gitlab-ci.yml", Some(Kind::Pipeline)),
            ("ci/azure-pipelines-nightly.yml", Some(Kind::Pipeline)),
            ("a/package.json", Some(Kind::Package)),
            ("ci/run", Some(Kind::Script)),
            ("src/run", None),
        ] {
            assert_eq!(Kind::for_path(path), expected, "{path}");
        }
    }
}
