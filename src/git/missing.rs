//! Tells why a name stands for no commit here, and what to do about it.

use std::fmt;
use std::fs;
use std::path::Path;

use git2::Repository;

use super::guard;
use super::open::OpenRepository;
use super::refs::NAME_CHARACTERS;
use qa_contracts::ids::CommitId;
use qa_core::masking::sanitize_cut;
use qa_core::nearest::nearest;

/// Way to the commits that a shallow clone lacks.
pub(super) const UNSHALLOW: &str = "this clone is shallow: complete it with `git fetch --unshallow`, in a workflow with \
    `fetch-depth: 0` of actions/checkout";
/// Number of ref names among which a near one is searched.
const MAX_NAMES: usize = 10_000;

/// A name that stands for no commit here.
#[derive(Debug)]
pub(crate) struct MissingCommit {
    name: String,
    cause: Cause,
}

/// Most likely cause of a missing commit.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cause {
    /// The name is empty, as an unset variable makes it.
    Empty,
    /// A range, which names two commits.
    Range,
    /// A tree or another object that is no commit, such as `HEAD^{tree}`.
    OtherObject,
    /// No commit was made yet on the branch that is checked out.
    Unborn,
    /// A full id, whose commit was not fetched.
    NotFetched,
    /// The history of a shallow clone ends before it.
    CutOff,
    /// The history is not that long.
    BeforeFirst,
    /// A mistake in the name of this ref.
    Misspelt(String),
    /// No ref has the name or one like it.
    NoRef,
}

impl fmt::Display for MissingCommit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        match self.cause {
            Cause::Empty => out.write_str("``: the name is empty"),
            Cause::Range => out.write_str(", which is a range and no commit"),
            Cause::OtherObject => out.write_str(", which is no commit"),
            Cause::Unborn => out.write_str(", which has no commit yet"),
            Cause::BeforeFirst => out.write_str(", which is before the first commit"),
            Cause::NotFetched | Cause::CutOff | Cause::Misspelt(_) | Cause::NoRef => Ok(()),
        }
    }
}

impl MissingCommit {
    /// Returns the hint for the option that holds the name.
    pub(super) fn hint(&self, option: &str) -> String {
        let name = &self.name;
        match &self.cause {
            Cause::Empty => format!("check the variable that was to hold the name, or leave out {option}"),
            Cause::Range => {
                "name one commit with each option: --base for the side before the dots, --head for the other"
                    .to_owned()
            }
            Cause::OtherObject => {
                format!("leave out the braces: {option} takes a branch, a tag or a commit id")
            }
            Cause::Unborn => "commit first, or judge the files with --staged or --worktree".to_owned(),
            Cause::NotFetched => {
                format!(
                    "fetch it with `git fetch origin {name}`, or name a repository that has it with --repo"
                )
            }
            Cause::CutOff => UNSHALLOW.to_owned(),
            Cause::BeforeFirst => format!("name a later commit with {option}; `git log` lists them"),
            Cause::Misspelt(near) => format!("did you mean `{near}`?"),
            Cause::NoRef => match branch_of_origin(name) {
                Some(branch) => format!(
                    "correct {option}, or fetch the branch with \
                     `git fetch origin {branch}:refs/remotes/origin/{branch}` and name it origin/{branch}; in a \
                     workflow `fetch-depth: 0` of actions/checkout fetches every branch"
                ),
                None => format!("{option} takes a branch, a tag or a commit id, with any number of ^ and ~N"),
            },
        }
    }

    /// Finds the likely cause for a name of which `start`, before any `^` and `~`, stands for a commit or not.
    pub(super) fn new(repository: &OpenRepository, name: &str, start_is_here: bool) -> Self {
        let cut = name.find(['^', '~']).unwrap_or(name.len());
        let (start, steps) = name.split_at(cut);
        let cause = if name.is_empty() {
            Cause::Empty
        } else if name.contains("..") {
            Cause::Range
        } else if name.contains("^{") {
            Cause::OtherObject
        } else if start_is_here {
            if repository.is_shallow() { Cause::CutOff } else { Cause::BeforeFirst }
        } else if matches!(start, "HEAD" | "@") {
            Cause::Unborn
        } else if CommitId::parse(start).is_ok() {
            Cause::NotFetched
        } else {
            let names = ref_names(repository.checkout());
            // A ref of this very name leads to no commit.
            let others = names.iter().map(String::as_str).filter(|name| *name != start);
            match nearest(start, others) {
                Some(near) => Cause::Misspelt(sanitize_cut(&format!("{near}{steps}"), NAME_CHARACTERS)),
                None => Cause::NoRef,
            }
        };
        Self { name: sanitize_cut(name, NAME_CHARACTERS), cause }
    }
}

/// Returns the branch that a name has at the origin, if it can stand in a command as it is.
fn branch_of_origin(name: &str) -> Option<&str> {
    let prefixes = ["refs/remotes/origin/", "refs/heads/", "origin/"];
    let branch = prefixes.into_iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    let is_plain = branch.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte));
    (is_plain && !branch.is_empty() && !branch.starts_with('-')).then_some(branch)
}

/// Returns the short names of branches, remote branches and tags. No file of a ref is opened; what cannot be listed is left
/// out, since the names are only suggestions.
fn ref_names(repository: &Repository) -> Vec<String> {
    let mut names = Vec::new();
    let refs = repository.commondir().join("refs");
    for kind in ["heads", "remotes", "tags"] {
        list_below(&refs.join(kind), "", &mut names);
    }
    let packed = guard::read_list(&repository.commondir().join("packed-refs")).unwrap_or_default();
    let packed = String::from_utf8_lossy(&packed);
    let packed = packed.lines().filter_map(|line| line.split_once(' ')?.1.strip_prefix("refs/"));
    let short = packed.filter_map(|full| Some(full.split_once('/')?.1.to_owned()));
    names.extend(short.take(MAX_NAMES));
    names
}

fn list_below(directory: &Path, prefix: &str, names: &mut Vec<String>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let name = format!("{prefix}{name}");
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && names.len() < MAX_NAMES => {
                list_below(&entry.path(), &format!("{name}/"), names);
            }
            Ok(kind) if kind.is_file() => names.push(name),
            _ => {}
        }
    }
}
