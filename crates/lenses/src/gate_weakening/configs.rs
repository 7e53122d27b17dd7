//! Which tool a configuration belongs to, and what it means that one goes, or comes and wins over the others.

use std::collections::BTreeSet;

use super::files::{MANIFEST_GONE, MANIFEST_MOVED, MANIFEST_NEW, place};
use super::{LINT, ci, lint, tools, whole};
use crate::contract::{Draft, Fact, Inspection};
use crate::pattern::Pattern;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangeKind, Scope, Side};
use qa_core::classify::{self, ScopeGlobs};
use qa_core::packet::{Line, Packet};

/// Facts about a tool and a folder, as `tool folder`.
const GONE: &str = "lint configuration deleted";
const SET: &str = "lint configuration added";
const WINS: &str = "lint configuration that wins over others";
/// Facts about a tool.
const NAMED: &str = "linter named";
const KNOWN: &str = "linter known before";

/// How the names of files begin and end that configure one tool.
const STARTS: &[(&str, &str, &str)] = &[
    (".eslintrc", "", "eslint"),
    ("eslint.config.", "", "eslint"),
    (".stylelintrc", "", "stylelint"),
    ("stylelint.config.", "", "stylelint"),
    (".rubocop", "", "rubocop"),
    (".golangci", "", "golangci-lint"),
    ("tsconfig", ".json", "tsc"),
    ("biome.json", "", "biome"),
    (".oxlintrc", "", "oxlint"),
    ("phpstan.", "", "phpstan"),
    ("psalm.xml", "", "psalm"),
    ("detekt", "ml", "detekt"),
    (".swiftlint", "", "swiftlint"),
    ("checkstyle", ".xml", "checkstyle"),
    (".credo", "", "credo"),
    ("tslint", ".json", "tslint"),
    ("jsconfig", ".json", "tsc"),
];
const NAMES: &[(&str, &str)] = &[
    (".flake8", "flake8"),
    ("ruff.toml", "ruff"),
    (".ruff.toml", "ruff"),
    ("mypy.ini", "mypy"),
    (".mypy.ini", "mypy"),
    (".pylintrc", "pylint"),
    ("pylintrc", "pylint"),
    ("pyrightconfig.json", "pyright"),
    ("clippy.toml", "clippy"),
    (".clippy.toml", "clippy"),
    ("analysis_options.yaml", "dart"),
    (".clang-tidy", "clang-tidy"),
    ("staticcheck.conf", "staticcheck"),
    (".luacheckrc", "luacheck"),
    (".shellcheckrc", "shellcheck"),
    ("ktlint.yml", "ktlint"),
    ("revive.toml", "revive"),
    (".bandit", "bandit"),
    ("deny.toml", "cargo-deny"),
    (".phpcs.xml", "phpcs"),
    ("phpcs.xml", "phpcs"),
    ("phpcs.xml.dist", "phpcs"),
];

/// Tools that read one configuration for a file, the nearest or the first of several names, and forget the others.
const ONE_WINS: &[&str] = &[
    "biome",
    "clang-tidy",
    "eslint",
    "golangci-lint",
    "mypy",
    "oxlint",
    "pylint",
    "pyright",
    "rubocop",
    "ruff",
    "stylelint",
    "swiftlint",
];

/// A line by which a configuration builds on another one of the repository.
static BUILDS_ON: Pattern = Pattern::new(
    r#"^\s*(?:["']?(?:extends?|inherit_from|parent_config|InheritParentConfig)["']?\s*[:=]\s*\[?\s*(?:["']?\.{0,2}/|["'](?:[\w-]*/)?(?:pyproject\.toml|\.?ruff\.toml|//)|true\b|["']?\.\w)|-\s*["']?\.\.?/[\w./-]*\.rubocop)"#,
);
/// A line by which a configuration of ESLint stops looking in the folders above.
static IS_ROOT: Pattern = Pattern::new(r#"^\s*["']?root["']?\s*:\s*true\b"#);

/// What is put behind a name so that nothing reads the file.
const PUT_ASIDE: &[&str] =
    &["bak", "backup", "disabled", "example", "off", "old", "orig", "sample", "template"];

/// The tool that a file configures, when it configures nothing else.
fn tool(path: &str) -> Option<&'static str> {
    let name = lint::name(path);
    if name.rsplit_once('.').is_some_and(|(_, extension)| PUT_ASIDE.contains(&extension)) {
        return None;
    }
    let whole = NAMES.iter().find(|(own, _)| *own == name).map(|(_, tool)| *tool);
    let begun = || STARTS.iter().find(|(start, end, _)| name.starts_with(start) && name.ends_with(end));
    whole.or_else(|| begun().map(|(_, _, tool)| *tool))
}

/// Whether a path configures linters or type checkers and nothing else.
pub(super) fn is_lint_config(path: &str) -> bool {
    tool(path).is_some()
}

/// The first word of the name of a section, as tools choose it.
pub(super) fn section_tool(line: &str) -> Option<&str> {
    let name = line.trim().strip_prefix('[')?.trim_start_matches('[').split(']').next()?;
    name.trim_start_matches("tool.").split(['.', '-', ':']).next()
}

/// The tool that a line of a shared configuration begins to configure, or goes on with.
fn shared_tool<'a>(path: &str, lines: &[&'a str], at: usize) -> Option<&'a str> {
    if lint::name(path) == "package.json" {
        let line = lines.get(at)?.trim_start();
        return ["eslint", "stylelint"].into_iter().find(|tool| {
            line.strip_prefix('"').and_then(|line| line.strip_prefix(tool)).is_some_and(|rest| {
                rest.starts_with("Config\"") || rest.starts_with('"') && rest.ends_with('{')
            })
        });
    }
    let header = lint::section(lines, at + 1);
    match section_tool(header)? {
        "lints" | "workspace" if header.contains("lints.clippy") => Some("clippy"),
        tool => Some(tool),
    }
}

fn tools_of<'a>(path: &str, text: &'a str) -> BTreeSet<&'a str> {
    let lines: Vec<&str> = text.lines().collect();
    (0..lines.len()).filter_map(|at| shared_tool(path, &lines, at)).collect()
}

fn folder(path: &RepoPath) -> String {
    place(&path.to_text()).0.to_owned()
}

fn says_something(line: &Line<'_>) -> bool {
    let text = line.text.trim();
    !text.is_empty() && !text.starts_with(['#', ';']) && !text.starts_with("//") && !text.starts_with("/*")
}

/// Looks at one file.
pub(super) fn inspect(packet: &Packet<'_>, seen: &mut Inspection) {
    let path = packet.path().to_text().into_owned();
    let old = packet.file.old_path.as_ref().unwrap_or(packet.path());
    let gone = packet.file.kind == ChangeKind::Deleted;
    let was = tool(&old.to_text()).filter(|_| packet.file.kind != ChangeKind::Added);
    let is = tool(&path).filter(|_| !gone);
    let stays = was == is && folder(old) == folder(packet.path());
    let mut fact = |kind: &'static str, tool: &str, folder: &str, draft| {
        seen.facts.push(Fact { kind: kind.into(), name: format!("{tool} {folder}"), draft });
    };
    if let Some(tool) = was.filter(|_| !stays && is_ours(old) && !names_a_version_only(packet)) {
        fact(GONE, tool, &folder(old), Some(removal(packet, old)));
    }
    if let Some(tool) = is {
        let says = !stays || packet.added().any(|line| says_something(&line));
        if says && packet.file.scope != Scope::Vendored {
            fact(SET, tool, &folder(packet.path()), None);
        }
        let wins = !stays && ONE_WINS.contains(&tool) && packet.file.scope == Scope::Product;
        match packet.text.full_head.as_deref().filter(|_| wins) {
            Some(head) if builds_on_another(tool, packet, head) => {
                seen.drafts.extend(lint::loosened(packet, &path, head));
            }
            Some(_) | None if wins => fact(WINS, tool, &folder(packet.path()), Some(arrival(packet, tool))),
            Some(_) | None => {}
        }
    }
    if lint::is_shared_config(&path) {
        let base = packet.text.full_base.as_deref().unwrap_or("");
        let lines: Vec<&str> = packet.text.full_head.as_deref().unwrap_or("").lines().collect();
        let added = packet.added().filter(says_something);
        let set: BTreeSet<&str> =
            added.filter_map(|line| shared_tool(&path, &lines, line.number as usize - 1)).collect();
        set.iter().for_each(|tool| fact(SET, tool, &folder(packet.path()), None));
        let head = packet.text.full_head.as_deref().unwrap_or("");
        let stay = tools_of(&path, head);
        let gone = tools_of(&path, base);
        gone.difference(&stay).for_each(|tool| fact(GONE, tool, &folder(old), None));
    }
    if names_tools(&path) {
        mentions(packet, seen);
    }
}

/// Whether a path is of the product, by its name alone: what a change calls a file later says nothing about it.
fn is_ours(path: &RepoPath) -> bool {
    let built_in = ScopeGlobs::new(|_| &[]).expect("no globs are globs");
    built_in.scope(path, classify::class(path)) == Scope::Product
}

/// Whether a deleted configuration told a linter which compiler to think of and nothing else.
fn names_a_version_only(packet: &Packet<'_>) -> bool {
    let mut lines = packet.removed().filter(says_something).peekable();
    lines.peek().is_some() && lines.all(|line| line.text.trim_start().starts_with("msrv"))
}

fn removal(packet: &Packet<'_>, old: &RepoPath) -> Draft {
    if packet.file.kind != ChangeKind::Deleted {
        let summary = "the configuration of a linter is renamed and no longer read where it was";
        return Draft::on_file(LINT, old, Side::Base, summary);
    }
    let summary = "the configuration of a linter is deleted";
    match packet.removed().next() {
        Some(line) => Draft::on_base_line(LINT, packet, &line, whole(line.text), summary),
        None => Draft::on_file(LINT, old, Side::Base, summary),
    }
}

fn arrival(packet: &Packet<'_>, tool: &'static str) -> Draft {
    let summary = format!("a configuration of {tool} comes that wins over the others it has");
    let line = packet.added().find(says_something).or_else(|| packet.added().next());
    match line {
        Some(line) => Draft::on_line(LINT, packet, &line, whole(line.text), summary),
        None => Draft::on_file(LINT, packet.path(), Side::Head, summary),
    }
}

/// Whether a new configuration keeps what another says, so that its own lines are all there is to look at.
fn builds_on_another(tool: &str, packet: &Packet<'_>, head: &str) -> bool {
    let cascades = lint::name(&packet.path().to_text()).starts_with(".eslintrc")
        && !folder(packet.path()).is_empty()
        && !head.lines().any(|line| IS_ROOT.is_match(line));
    // A shared set of rules that ESLint extends by a path has to be there; it need not be what was in force.
    cascades || tool != "eslint" && head.lines().any(|line| BUILDS_ON.is_match(line))
}

/// Whether a file names the linters that are used: dependencies, commands, hooks.
fn names_tools(path: &str) -> bool {
    let name = lint::name(path);
    lint::is_shared_config(path)
        || ci::is_workflow(path)
        || matches!(name.as_str(), ".pre-commit-config.yaml" | "makefile" | "justfile" | "noxfile.py")
        || matches!(name.as_str(), "pipfile" | "gemfile" | "podfile" | "cmakelists.txt")
        || name.contains("requirements")
}

/// Which linters a file names anew, and which it named before.
fn mentions(packet: &Packet<'_>, seen: &mut Inspection) {
    let base = packet.text.full_base.as_deref();
    for tool in ONE_WINS {
        let names = |line: Line<'_>| says_something(&line) && line.text.to_lowercase().contains(tool);
        let before = base.is_some_and(|base| base.to_lowercase().contains(tool))
            || packet.removed().any(names)
            || packet.hunks().any(|hunk| hunk.before().chain(hunk.after()).any(names));
        let kind = if before { KNOWN } else { NAMED };
        if before || packet.added().any(names) {
            seen.facts.push(Fact { kind: kind.into(), name: (*tool).to_owned(), draft: None });
        }
    }
}

/// Whether what a configuration of the compiler was for is said in that of another tool.
fn is_part(tool: &str, new: &str) -> bool {
    tool == "tsc" && new == "eslint"
}

/// Whether a folder is another one or has it inside.
fn holds(outer: &str, inner: &str) -> bool {
    outer.is_empty() || inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A configuration that goes while one of the same tool or its successor comes was replaced; one that goes with its
/// package had nothing else to look at. One that comes wins over others, unless it takes the place of one that goes, or
/// its package or its tool is new.
pub(super) fn conclude(facts: &[Fact]) -> Vec<Draft> {
    let of = |kind: &'static str| facts.iter().filter(move |fact| fact.kind == kind);
    let parts = |fact: &'_ Fact| -> (String, String) {
        let (tool, folder) = fact.name.split_once(' ').unwrap_or((&fact.name, ""));
        (tool.to_owned(), folder.to_owned())
    };
    let set: Vec<(String, String)> = of(SET).map(parts).collect();
    let gone: Vec<(String, String)> = of(GONE).map(parts).collect();
    let has = |kind: &'static str, folder: &str| of(kind).any(|fact| fact.name == folder);
    let is_replaced = |(tool, folder): &(String, String)| {
        // Which file of the same tool takes over what is for whoever reviews it to see; whether one wins is told below.
        set.iter().any(|(new, place)| {
            new == tool || tools::covers(new, tool) && holds(place, folder) || is_part(tool, new)
        })
    };
    let removed = of(GONE).filter(|fact| {
        let gone = parts(fact);
        let package_gone =
            !gone.1.is_empty() && (has(MANIFEST_GONE, &gone.1) || has(MANIFEST_MOVED, &gone.1));
        !package_gone && !is_replaced(&gone)
    });
    let new_package = |folder: &str| of(MANIFEST_NEW).any(|fact| holds(&fact.name, folder));
    let won = of(WINS).filter(|fact| {
        let (tool, folder) = parts(fact);
        let replaces = gone.iter().any(|(old, place)| tools::covers(&tool, old) && holds(&folder, place));
        let is_new = has(NAMED, &tool) && !has(KNOWN, &tool);
        !replaces && !is_new && !new_package(&folder)
    });
    removed.chain(won).filter_map(|fact| fact.draft.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_and_a_key_tell_their_tool() {
        for (path, line, expected) in [
            ("pyproject.toml", "[tool.ruff.lint]", Some("ruff")),
            ("setup.cfg", "[mypy-tests.*]", Some("mypy")),
            ("Cargo.toml", "[workspace.lints.clippy]", Some("clippy")),
            ("package.json", "  \"eslintConfig\": {", Some("eslint")),
            ("package.json", "  \"stylelint\": \"^1\",", None),
        ] {
            assert_eq!(shared_tool(path, &[line], 0), expected, "{line}");
        }
    }

    #[test]
    fn a_configuration_that_builds_on_another_is_told_from_one_that_takes_a_set_of_rules() {
        for (line, expected) in [
            ("extend = \"../pyproject.toml\"", true),
            ("extend = \"../ruff.toml\"", true),
            ("inherit_from: ../.rubocop.yml", true),
            ("  - '../.rubocop.yml'", true),
            ("  \"extends\": \"//\",", true),
            ("  \"extends\": [\"stylelint-config-standard\"]", false),
            ("extend-ignore = [\"E501\"]", false),
        ] {
            assert_eq!(BUILDS_ON.is_match(line), expected, "{line}");
        }
        assert!(IS_ROOT.is_match("  root: true,"));
    }

    #[test]
    fn a_folder_holds_itself_and_what_is_inside() {
        for (outer, inner, expected) in
            [("", "a", true), ("a", "a", true), ("a", "a/b", true), ("a", "ab", false), ("a/b", "a", false)]
        {
            assert_eq!(holds(outer, inner), expected, "{outer} {inner}");
        }
    }
}
