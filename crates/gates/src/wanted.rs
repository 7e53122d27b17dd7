//! Which commands a change calls for: the tools of a gate, in the projects that its files belong to.

use std::collections::{BTreeMap, BTreeSet};

use super::contract::{CommandTemplate, Language, Project, Tool};
use super::{eslint, jest, mypy, playwright, project, pytest, ruff, vitest};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{RecordedManifest, Side};

/// Files whose text says what a project is made of.
const READ: &[&str] = &[
    ".mypy.ini",
    "Cargo.toml",
    "Pipfile",
    "go.mod",
    "mypy.ini",
    "package.json",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "tsconfig.json",
];
/// Files whose name says it.
const NAMED: &[&[&str]] = &[
    project::PYTHON,
    eslint::CONFIGURATIONS,
    jest::CONFIGURATIONS,
    mypy::CONFIGURATIONS,
    playwright::CONFIGURATIONS,
    pytest::CONFIGURATIONS,
    ruff::CONFIGURATIONS,
    vitest::CONFIGURATIONS,
];

/// What has to be known of a file to decide about tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decides {
    /// Nothing: no tool asks for it.
    Not,
    /// That it is there.
    ByName,
    /// What it says.
    ByText,
}

/// Whether a file of that name decides about tools.
pub fn decides(name: &str) -> Decides {
    if READ.contains(&name) || name.starts_with("requirements") && name.ends_with(".txt") {
        Decides::ByText
    } else if NAMED.iter().any(|names| names.contains(&name)) {
        Decides::ByName
    } else {
        Decides::Not
    }
}

/// A directory and everything above it, nearest first; the root is the empty one.
pub fn upwards(directory: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(directory), |directory| {
        (!directory.is_empty()).then(|| directory.rsplit_once('/').map_or("", |(above, _)| above))
    })
}

/// The directory of a path, as far down as it is text: no tool could be told of another.
pub fn directory_of(path: &RepoPath) -> &str {
    let bytes = path.as_bytes();
    let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let text = std::str::from_utf8(&bytes[..valid]).unwrap_or_default();
    text.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// A command that a plan wants to run.
pub struct Wanted {
    pub tool: &'static dyn Tool,
    pub template: CommandTemplate,
    pub side: Side,
}

/// What a gate would run.
#[derive(Default)]
pub struct Calls {
    /// By tool and directory; a command of the base stands after the one of head that it is held against.
    pub commands: Vec<Wanted>,
    /// Tools that a project of the base uses and head's does not any more, with the project's directory.
    pub lost: BTreeSet<(&'static str, String)>,
}

/// The commands of some tools for a change, whose files are given as their directories before and after.
pub fn calls(
    tools: &[&'static dyn Tool],
    run_base: bool,
    changed: &BTreeSet<(Option<&str>, Option<&str>)>,
    base: &[RecordedManifest],
    head: &[RecordedManifest],
) -> Calls {
    let (mut base, mut head) = (Tree::new(base), Tree::new(head));
    let mut calls = Calls::default();
    for &tool in tools {
        let mut templates: BTreeMap<String, CommandTemplate> = BTreeMap::new();
        for (old, new) in changed {
            let mut wanted = Vec::new();
            wanted.extend(new.or(*old).and_then(|directory| head.nearest(tool, directory)));
            // The project that the file belonged to as well: a change could put a laxer one between.
            if let Some(before) = old.and_then(|directory| base.nearest(tool, directory)) {
                match head.nearest(tool, &before.directory) {
                    Some(after) => wanted.push(after),
                    None => drop(calls.lost.insert((tool.spec().id, before.directory))),
                }
            }
            templates.extend(wanted.into_iter().map(|template| (template.directory.clone(), template)));
        }
        for (directory, template) in templates {
            let before = if run_base { base.at(tool, &directory) } else { None };
            calls.commands.push(Wanted { tool, template, side: Side::Head });
            calls.commands.extend(before.map(|template| Wanted { tool, template, side: Side::Base }));
        }
    }
    calls
}

/// The deciding files of one commit, and what was found out from them.
struct Tree<'a> {
    /// By directory.
    files: BTreeMap<&'a str, Vec<(&'a str, Option<&'a str>)>>,
    known: BTreeMap<(&'static str, String), Option<CommandTemplate>>,
}

impl<'a> Tree<'a> {
    fn new(recorded: &'a [RecordedManifest]) -> Self {
        let mut files: BTreeMap<&str, Vec<(&str, Option<&str>)>> = BTreeMap::new();
        for file in recorded {
            let Ok(path) = std::str::from_utf8(file.path.as_bytes()) else { continue };
            files.entry(directory_of(&file.path)).or_default().push((path, file.text.as_deref()));
        }
        Self { files, known: BTreeMap::new() }
    }

    /// The command of the nearest project, in a directory or above it.
    fn nearest(&mut self, tool: &'static dyn Tool, directory: &str) -> Option<CommandTemplate> {
        upwards(directory).find_map(|directory| self.at(tool, directory))
    }

    /// The command for the project of a directory.
    fn at(&mut self, tool: &'static dyn Tool, directory: &str) -> Option<CommandTemplate> {
        let key = (tool.spec().id, directory.to_owned());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        // What stands above says nothing of a project below, which its tools could not even be told of: the one above
        // has it among its own files. Cargo alone looks for the root of a workspace itself.
        let far = if tool.spec().language == Language::Rust { usize::MAX } else { 1 };
        let directories = upwards(directory).take(far);
        let above: Vec<_> =
            directories.filter_map(|directory| self.files.get(directory)).flatten().copied().collect();
        let manifests: Vec<(&str, &str)> =
            above.iter().filter_map(|(path, text)| Some((*path, (*text)?))).collect();
        let mut paths: Vec<&str> = above.iter().map(|(path, _)| *path).collect();
        paths.sort_unstable();
        let found = tool.detect(&Project { directory, manifests: &manifests, paths: &paths });
        self.known.insert(key, found.clone());
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> Vec<RecordedManifest> {
        let file = |(path, text): &(&str, &str)| RecordedManifest {
            path: RepoPath::from_bytes(path.as_bytes()).unwrap(),
            text: (decides(path.rsplit('/').next().unwrap()) == Decides::ByText).then(|| (*text).to_owned()),
        };
        files.iter().map(file).collect()
    }

    fn shown(calls: &Calls) -> Vec<String> {
        let of = |wanted: &Wanted| {
            format!("{} in {:?} at {:?}", wanted.tool.spec().id, wanted.template.directory, wanted.side)
        };
        calls.commands.iter().map(of).collect()
    }

    fn at<'a>(directories: &[&'a str]) -> BTreeSet<(Option<&'a str>, Option<&'a str>)> {
        directories.iter().map(|directory| (Some(*directory), Some(*directory))).collect()
    }

    const RUFF: &str = "[project]\nname = \"a\"\n[tool.ruff]\n";

    #[test]
    fn each_changed_file_calls_for_the_nearest_project_above_it() {
        let ruff = super::super::find("ruff").unwrap();
        let tree = files(&[
            ("pyproject.toml", RUFF),
            ("services/a/pyproject.toml", RUFF),
            ("web/package.json", "{}"),
        ]);
        let of = |directories: &[&str]| shown(&calls(&[ruff], true, &at(directories), &tree, &tree));
        assert_eq!(
            of(&["services/a/deep/er"]),
            ["ruff in \"services/a\" at Head", "ruff in \"services/a\" at Base"]
        );
        assert_eq!(of(&["docs"]), ["ruff in \"\" at Head", "ruff in \"\" at Base"]);
        assert_eq!(of(&["services/a", "services/a/b", "web"]).len(), 4);
        assert_eq!(shown(&calls(&[ruff], false, &at(&["docs"]), &tree, &tree)), ["ruff in \"\" at Head"]);
        assert_eq!(shown(&calls(&[ruff], true, &at(&["docs"]), &[], &tree)), ["ruff in \"\" at Head"]);
    }

    #[test]
    fn a_project_without_the_tool_belongs_to_the_one_above_that_has_it() {
        let vitest = super::super::find("vitest").unwrap();
        let clippy = super::super::find("clippy").unwrap();
        let tree = files(&[
            ("package.json", r#"{"devDependencies": {"vitest": "4"}}"#),
            ("vitest.config.ts", ""),
            ("packages/a/package.json", "{}"),
            ("Cargo.toml", "[workspace]\n"),
            ("crates/b/Cargo.toml", "[package]\n"),
        ]);
        let of = |tool, directory| shown(&calls(&[tool], false, &at(&[directory]), &tree, &tree));
        assert_eq!(of(vitest, "packages/a/src"), ["vitest in \"\" at Head"]);
        assert_eq!(of(clippy, "crates/b/src"), ["clippy in \"\" at Head"]);
    }

    #[test]
    fn a_project_put_between_a_file_and_its_own_hides_nothing() {
        let ruff = super::super::find("ruff").unwrap();
        let before = files(&[("pyproject.toml", RUFF)]);
        let after = files(&[("pyproject.toml", RUFF), ("src/ruff.toml", "")]);
        let between = calls(&[ruff], false, &at(&["src"]), &before, &after);
        assert_eq!(shown(&between), ["ruff in \"\" at Head", "ruff in \"src\" at Head"]);
        let merged = calls(&[ruff], false, &at(&["src"]), &after, &before);
        assert_eq!((shown(&merged), merged.lost.len()), (vec!["ruff in \"\" at Head".to_owned()], 0));
    }

    #[test]
    fn a_directory_whose_name_is_no_text_belongs_to_what_is_above_it() {
        let of = |path: &[u8]| directory_of(&RepoPath::from_bytes(path).unwrap()).to_owned();
        assert_eq!(of(b"a/b/c.py"), "a/b");
        assert_eq!(of(b"a/\xff/c.py"), "a");
        assert_eq!(of(b"a/b\xff/c/d.py"), "a");
        assert_eq!(of(b"\xff"), "");
    }

    #[test]
    fn a_tool_that_head_does_not_use_any_more_is_lost_and_not_untouched() {
        let ruff = super::super::find("ruff").unwrap();
        let before = files(&[("a/pyproject.toml", RUFF)]);
        let after = files(&[("a/pyproject.toml", "[project]\nname = \"a\"\n")]);
        let lost = calls(&[ruff], true, &at(&["a/src"]), &before, &after);
        assert_eq!((shown(&lost).len(), lost.lost), (0, BTreeSet::from([("ruff", "a".to_owned())])));
        let moved = BTreeSet::from([(Some("a/src"), Some("b/src"))]);
        assert_eq!(calls(&[ruff], true, &moved, &before, &[]).lost.len(), 1);
        let untouched = calls(&[ruff], true, &at(&["docs"]), &before, &after);
        assert!(untouched.commands.is_empty() && untouched.lost.is_empty());
    }

    #[test]
    fn the_way_up_ends_at_the_root() {
        assert_eq!(upwards("a/b").collect::<Vec<_>>(), ["a/b", "a", ""]);
        assert_eq!(upwards("").collect::<Vec<_>>(), [""]);
    }
}
