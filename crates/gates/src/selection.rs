//! Selects the commands to run for a change: a gate's tools, in the projects that the changed files belong to.

use std::collections::{BTreeMap, BTreeSet};

use super::contract::{CommandTemplate, Language, Project, ReportFiles, Tool};
use super::declared_reader;
use super::manifests::{directory_of, upwards};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{GateName, PolicyCommand, RecordedManifest, Side};
use qa_core::classify::PathSet;

/// A command to run on one side of the change.
#[derive(Clone)]
pub struct SelectedCommand {
    pub tool: &'static dyn Tool,
    /// Name of the tool in findings.
    pub name: String,
    pub template: CommandTemplate,
    /// Globs of the policy for the files that the command is for.
    pub covers: Vec<String>,
    pub side: Side,
}

impl SelectedCommand {
    /// Returns a detected command of a tool.
    fn new(tool: &'static dyn Tool, template: CommandTemplate, side: Side) -> Self {
        Self { tool, name: tool.spec().id.to_owned(), template, covers: Vec::new(), side }
    }
}

/// The commands of a gate.
#[derive(Default)]
pub struct Selection {
    /// Sorted by tool and directory; a command of the base follows the one of head that it is compared with.
    pub commands: Vec<SelectedCommand>,
    /// Tools that a project uses in the base and not at head, with the project's directory.
    pub lost: BTreeSet<(&'static str, String)>,
}

/// Selects the commands of `tools` for a change. `changed` has the directories of its files in the base and at head.
pub fn select_commands(
    tools: &[&'static dyn Tool],
    run_base: bool,
    changed: &BTreeSet<(Option<&str>, Option<&str>)>,
    base: &[RecordedManifest],
    head: &[RecordedManifest],
) -> Selection {
    let (mut base, mut head) = (ProjectTree::new(base), ProjectTree::new(head));
    let mut selection = Selection::default();
    for &tool in tools {
        let mut templates: BTreeMap<String, CommandTemplate> = BTreeMap::new();
        for (old, new) in changed {
            let mut found = Vec::new();
            found.extend(new.or(*old).and_then(|directory| head.nearest(tool, directory)));
            // Also the file's project in the base: a change could insert a laxer one below it.
            if let Some(before) = old.and_then(|directory| base.nearest(tool, directory)) {
                match head.nearest(tool, &before.directory) {
                    Some(after) => found.push(after),
                    None => drop(selection.lost.insert((tool.spec().id, before.directory))),
                }
            }
            templates.extend(found.into_iter().map(|template| (template.directory.clone(), template)));
        }
        for (directory, template) in templates {
            let before = if run_base { base.command(tool, &directory) } else { None };
            selection.commands.push(SelectedCommand::new(tool, template, Side::Head));
            let base_command = before.map(|template| SelectedCommand::new(tool, template, Side::Base));
            selection.commands.extend(base_command);
        }
    }
    selection
}

/// Selects the policy's own commands for a change of these files, by their paths at the base and at head. Those of tools
/// that do not exist are left out; the policy is refused for them.
pub fn select_declared(
    gate: GateName,
    commands: &[PolicyCommand],
    run_base: bool,
    changed: &BTreeSet<&RepoPath>,
) -> Vec<SelectedCommand> {
    let mut selected = Vec::new();
    for command in commands.iter().filter(|command| is_called_for(command, changed)) {
        let Some((tool, format)) = declared_reader(command.tool_id(), command.format.as_deref()) else {
            continue;
        };
        let template = CommandTemplate {
            argv: command.run.clone(),
            directory: command.directory.clone().unwrap_or_default(),
            report_files: command.report.clone().map(ReportFiles::Matching),
            format: Some(format),
            version_argv: vec![command.run[0].clone(), "--version".to_owned()],
            retries: gate.runs_tests(),
            module: command.module.clone().unwrap_or_default(),
        };
        let head = SelectedCommand {
            name: command.writer().to_owned(),
            covers: command.covers.clone(),
            ..SelectedCommand::new(tool, template, Side::Head)
        };
        let base = run_base.then(|| SelectedCommand { side: Side::Base, ..head.clone() });
        selected.push(head);
        selected.extend(base);
    }
    selected
}

/// Returns whether one of the files is among those that the command is for.
fn is_called_for(command: &PolicyCommand, changed: &BTreeSet<&RepoPath>) -> bool {
    if command.covers.is_empty() {
        return changed.iter().any(|path| path.is_below(command.directory.as_deref().unwrap_or_default()));
    }
    let covers = PathSet::new(command.covers.iter().map(String::as_str)).expect("the policy has valid globs");
    changed.iter().any(|path| covers.matches(path))
}

/// Manifests of one commit, and the commands detected from them.
struct ProjectTree<'a> {
    /// By directory.
    manifests: BTreeMap<&'a str, Vec<Manifest<'a>>>,
    /// Detected commands, by tool and directory.
    detected: BTreeMap<(&'static str, String), Option<CommandTemplate>>,
}

/// A file that the detection of tools depends on.
#[derive(Clone, Copy)]
struct Manifest<'a> {
    path: &'a str,
    text: Option<&'a str>,
}

impl<'a> ProjectTree<'a> {
    fn new(recorded: &'a [RecordedManifest]) -> Self {
        let mut manifests: BTreeMap<&str, Vec<Manifest<'_>>> = BTreeMap::new();
        for file in recorded {
            let Ok(path) = std::str::from_utf8(file.path.as_bytes()) else { continue };
            let manifest = Manifest { path, text: file.text.as_deref() };
            manifests.entry(directory_of(&file.path)).or_default().push(manifest);
        }
        Self { manifests, detected: BTreeMap::new() }
    }

    /// Returns the command of the nearest project, in a directory or above it.
    fn nearest(&mut self, tool: &'static dyn Tool, directory: &str) -> Option<CommandTemplate> {
        upwards(directory).find_map(|directory| self.command(tool, directory))
    }

    /// Returns the command for the project in a directory.
    fn command(&mut self, tool: &'static dyn Tool, directory: &str) -> Option<CommandTemplate> {
        let key = (tool.spec().id, directory.to_owned());
        if let Some(detected) = self.detected.get(&key) {
            return detected.clone();
        }
        // Only Cargo searches the directories above for its workspace. For other tools a project above covers the files
        // below it with a command of its own.
        let depth = if tool.spec().language == Language::Rust { usize::MAX } else { 1 };
        let directories = upwards(directory).take(depth);
        let above: Vec<Manifest<'_>> =
            directories.filter_map(|directory| self.manifests.get(directory)).flatten().copied().collect();
        let manifests: Vec<(&str, &str)> =
            above.iter().filter_map(|manifest| Some((manifest.path, manifest.text?))).collect();
        let mut paths: Vec<&str> = above.iter().map(|manifest| manifest.path).collect();
        paths.sort_unstable();
        let found = tool.detect(&Project { directory, manifests: &manifests, paths: &paths });
        self.detected.insert(key, found.clone());
        found
    }
}

#[cfg(test)]
mod tests {
    use qa_contracts::ids::RepoPath;

    use super::super::manifests::{ManifestUse, manifest_use};
    use super::*;

    fn files(files: &[(&str, &str)]) -> Vec<RecordedManifest> {
        let file = |(path, text): &(&str, &str)| RecordedManifest {
            path: RepoPath::from_bytes(path.as_bytes()).unwrap(),
            text: (manifest_use(path.rsplit('/').next().unwrap()) == ManifestUse::ByText)
                .then(|| (*text).to_owned()),
        };
        files.iter().map(file).collect()
    }

    fn shown(selection: &Selection) -> Vec<String> {
        let of = |command: &SelectedCommand| {
            format!("{} in {:?} at {:?}", command.tool.spec().id, command.template.directory, command.side)
        };
        selection.commands.iter().map(of).collect()
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
        let of =
            |directories: &[&str]| shown(&select_commands(&[ruff], true, &at(directories), &tree, &tree));
        assert_eq!(
            of(&["services/a/deep/er"]),
            ["ruff in \"services/a\" at Head", "ruff in \"services/a\" at Base"]
        );
        assert_eq!(of(&["docs"]), ["ruff in \"\" at Head", "ruff in \"\" at Base"]);
        assert_eq!(of(&["services/a", "services/a/b", "web"]).len(), 4);
        assert_eq!(
            shown(&select_commands(&[ruff], false, &at(&["docs"]), &tree, &tree)),
            ["ruff in \"\" at Head"]
        );
        assert_eq!(
            shown(&select_commands(&[ruff], true, &at(&["docs"]), &[], &tree)),
            ["ruff in \"\" at Head"]
        );
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
        let of = |tool, directory| shown(&select_commands(&[tool], false, &at(&[directory]), &tree, &tree));
        assert_eq!(of(vitest, "packages/a/src"), ["vitest in \"\" at Head"]);
        assert_eq!(of(clippy, "crates/b/src"), ["clippy in \"\" at Head"]);
    }

    #[test]
    fn a_project_put_between_a_file_and_its_own_hides_nothing() {
        let ruff = super::super::find("ruff").unwrap();
        let before = files(&[("pyproject.toml", RUFF)]);
        let after = files(&[("pyproject.toml", RUFF), ("src/ruff.toml", "")]);
        let between = select_commands(&[ruff], false, &at(&["src"]), &before, &after);
        assert_eq!(shown(&between), ["ruff in \"\" at Head", "ruff in \"src\" at Head"]);
        let merged = select_commands(&[ruff], false, &at(&["src"]), &after, &before);
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
        let lost = select_commands(&[ruff], true, &at(&["a/src"]), &before, &after);
        assert_eq!((shown(&lost).len(), lost.lost), (0, BTreeSet::from([("ruff", "a".to_owned())])));
        let moved = BTreeSet::from([(Some("a/src"), Some("b/src"))]);
        assert_eq!(select_commands(&[ruff], true, &moved, &before, &[]).lost.len(), 1);
        let untouched = select_commands(&[ruff], true, &at(&["docs"]), &before, &after);
        assert!(untouched.commands.is_empty() && untouched.lost.is_empty());
    }

    #[test]
    fn the_way_up_ends_at_the_root() {
        assert_eq!(upwards("a/b").collect::<Vec<_>>(), ["a/b", "a", ""]);
        assert_eq!(upwards("").collect::<Vec<_>>(), [""]);
    }
}
