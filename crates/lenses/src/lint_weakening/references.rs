//! Project references of TypeScript: a configuration that checks no file itself and names the projects that do.

use std::collections::BTreeSet;
use std::sync::Arc;

use qa_contracts::v1::Side;
use qa_reading::documents::{Document, Format, Node};

use super::compare::{self, Weakening};
use super::in_force::{Found, ancestors, joined, resolved};
use super::tool::Tool;
use super::{BUILT, Comparison, place_of};
use crate::pattern::Pattern;

/// A command that builds referenced projects; without `--build`, the compiler looks at none of them.
static BUILDS: Pattern = Pattern::new(r"\btsc[^\n;&|]*\s(?:-b|--build)\b");
const WORKFLOWS: &str = ".github/workflows";

/// Files that a configuration of TypeScript checks, and the projects that it names.
#[derive(Debug, Default)]
struct Project {
    directory: String,
    /// Patterns below the root of the repository; `None` where everything below the directory is checked.
    include: Option<BTreeSet<String>>,
    exclude: BTreeSet<String>,
    /// Paths of the configurations that it names.
    references: Vec<String>,
}

impl Comparison<'_> {
    /// Returns whether a configuration hands all of its files to projects that have the setting which it loses, and a
    /// command builds these.
    pub(super) fn is_kept_by_references(
        &self,
        tool: &'static Tool,
        weakening: &Weakening,
        base: &Found,
        head: &Found,
    ) -> bool {
        if tool.name != "tsc" || weakening.head.is_some() {
            return false;
        }
        let [Some(old_path), Some(path)] = [base.files.first(), head.files.first()] else { return false };
        let Some(old) = self.project(Side::Base, old_path) else { return false };
        let Some(new) = self.project(Side::Head, path) else { return false };
        let Some(old_include) = &old.include else { return false };
        let checks_nothing = new.include.as_ref().is_some_and(BTreeSet::is_empty);
        if !checks_nothing || !self.builds(&new.directory) {
            return false;
        }
        let mut projects = Vec::new();
        for reference in &new.references {
            let Some(project) = self.project(Side::Head, reference) else {
                // The files of a submodule were none of this repository.
                if self.lookups.is_present(Side::Head, reference) {
                    continue;
                }
                return false;
            };
            let Some((place, _)) = place_of(tool, reference) else { return false };
            let found = self.head.of_file(tool, place, reference);
            let weaker = compare::weakenings(tool, &base.configuration, &found.configuration);
            if weaker.iter().any(|other| other.key == weakening.key) {
                return false;
            }
            projects.push(project);
        }
        old_include.iter().all(|pattern| projects.iter().any(|project| project.covers(pattern, &old)))
    }

    fn project(&self, side: Side, path: &str) -> Option<Project> {
        let text = self.lookups.text(side, path)?;
        Project::read(path, Document::parse(Format::Json, &text).ok()?.root())
    }

    /// Returns whether a script of a package or a workflow builds projects.
    fn builds(&self, directory: &str) -> bool {
        let mut packages = ancestors(directory).into_iter().map(|above| joined(above, "package.json"));
        let workflows = self.lookups.files_in(Side::Head, WORKFLOWS);
        let mut workflows = workflows.iter().map(|name| joined(WORKFLOWS, name));
        packages.any(|path| self.text(&path).is_some_and(|text| has_building_script(&text)))
            || workflows.any(|path| self.text(&path).is_some_and(|text| BUILDS.is_match(&text)))
    }

    fn text(&self, path: &str) -> Option<Arc<str>> {
        self.lookups.text(Side::Head, path)
    }
}

/// Returns whether a script of a manifest builds projects.
fn has_building_script(manifest: &str) -> bool {
    let Ok(document) = Document::parse(Format::Json, manifest) else { return false };
    let scripts = document.root().get("scripts");
    let mut commands = scripts.into_iter().flat_map(|scripts| scripts.entries());
    commands.any(|script| script.value.text().is_some_and(|command| BUILDS.is_match(command)))
}

impl Project {
    /// Reads a configuration; none where it lists single files.
    fn read(path: &str, root: Node<'_>) -> Option<Self> {
        let directory = path.rsplit_once('/').map(|(directory, _)| directory).unwrap_or_default();
        let files = root.get("files").map(|files| files.items().count());
        let include = root.get("include").map(|include| patterns(path, include));
        let include = match (files, include) {
            (None, include) => include,
            (Some(0), include) => Some(include.unwrap_or_default()),
            (Some(_), _) => return None,
        };
        let mut references = Vec::new();
        if let Some(list) = root.get("references") {
            for item in list.items() {
                let named = resolved(path, item.get("path")?.text()?)?;
                let is_file = named.ends_with(".json");
                references.push(if is_file { named } else { joined(&named, "tsconfig.json") });
            }
        }
        let exclude = root.get("exclude").map(|exclude| patterns(path, exclude)).unwrap_or_default();
        Some(Self { directory: directory.to_owned(), include, exclude, references })
    }

    /// Returns whether the project checks the files of a pattern, and leaves out no more of them than an earlier one did.
    fn covers(&self, pattern: &str, old: &Self) -> bool {
        let whole = joined(&self.directory, "**/*");
        let is_below = self.directory.is_empty() || pattern.starts_with(&format!("{}/", self.directory));
        let is_looked_at = match &self.include {
            None => is_below,
            Some(own) => own.contains(pattern) || is_below && own.contains(&whole),
        };
        let mut left_out = self.exclude.iter().filter(|own| !old.exclude.contains(*own));
        is_looked_at && left_out.all(|own| is_built(own))
    }
}

/// Returns whether a pattern is a directory that a build writes.
fn is_built(pattern: &str) -> bool {
    let directory = pattern.trim_end_matches("/**/*");
    BUILT.contains(&directory.rsplit('/').next().unwrap_or(directory))
}

/// Returns the patterns of a list as paths below the root of the repository.
fn patterns(path: &str, list: Node<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for text in list.texts() {
        let pattern = resolved(path, text).unwrap_or_else(|| text.to_owned());
        let is_directory = !pattern.rsplit('/').next().is_some_and(|name| name.contains(['*', '.']));
        found.insert(if is_directory { joined(&pattern, "**/*") } else { pattern });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_builds_projects_is_known() {
        BUILDS.check();
        for (line, expected) in [
            ("run: pnpm tsc --build --pretty", true),
            ("vue-tsc -b && vite build", true),
            ("tsc --noEmit", false),
            ("tsc --noEmit && vite -b", false),
        ] {
            assert_eq!(BUILDS.is_match(line), expected, "{line}");
        }
    }

    #[test]
    fn a_project_checks_what_its_lists_name() {
        let read =
            |path: &str, text: &str| Project::read(path, Document::parse(Format::Json, text).unwrap().root());
        let old = read("tsconfig.json", r#"{"include":["src/**/*.ts"],"exclude":["node_modules"]}"#).unwrap();
        for (text, expected) in [
            ("{}", true),
            (r#"{"include":["./**/*.ts"]}"#, true),
            (r#"{"include":["."]}"#, true),
            (r#"{"include":["**/*"],"exclude":["dist"]}"#, true),
            (r#"{"include":["lib/**/*.ts"]}"#, false),
            (r#"{"include":["**/*"],"exclude":["legacy"]}"#, false),
            (r#"{"files":[]}"#, false),
        ] {
            let project = read("src/tsconfig.json", text).unwrap();
            assert_eq!(project.covers("src/**/*.ts", &old), expected, "{text}");
            assert!(!project.covers("test/**/*.ts", &old), "{text}");
        }
        assert!(read("src/tsconfig.json", r#"{"files":["a.ts"]}"#).is_none());
    }
}
