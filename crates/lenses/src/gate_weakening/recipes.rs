//! Named lists of commands that CI calls by name: the targets of make and just, the scripts of a package, the
//! environments of tox.

use std::collections::{BTreeMap, BTreeSet};

use crate::pattern::Pattern;

use crate::contract::{Fact, Inspection};
use qa_core::packet::Packet;

const RECIPE: &str = "command of a recipe";
const CALL: &str = "command of CI";

/// A target that begins a list: `name: dependencies`, `[testenv:name]`.
static TARGET: Pattern =
    Pattern::new(r"^(?:@?([A-Za-z_][\w.%/-]*)[^:=#]*:(?:[^:=].*)?|\[testenv:?([\w-]*)\].*)$");
static SCRIPT: Pattern = Pattern::new(r#"^\s*"([\w:.-]+)"\s*:\s*"((?:[^"\\]|\\.)*)""#);
/// A call by name, with the names.
static CALLS: Pattern = Pattern::new(concat!(
    r"(?:^|[\s;&|(])(?:make|gmake|just|tox|(?:npm|pnpm|yarn|bun)(?:\s+run(?:-script)?)?)\b",
    r"((?:\s+(?:-[eC]\s+\S+|[\w.:/,%-]+=\S*|-\S+|[\w.:/,%-]+))*)",
));

/// Whether a path holds such lists.
pub(super) fn is_list(path: &str) -> bool {
    matches!(file_name(path).as_str(), "makefile" | "gnumakefile" | "justfile" | "package.json" | "tox.ini")
}

/// The commands of each target, with its dependencies written as calls.
fn recipes(path: &str, text: &str) -> Vec<(String, u64, String)> {
    let mut found = Vec::new();
    let mut target = String::new();
    let is_package = file_name(path) == "package.json";
    let mut in_scripts = false;
    for (number, line) in (1..).zip(text.lines()) {
        if is_package && !in_scripts {
            in_scripts = line.trim_start().starts_with("\"scripts\"");
        } else if is_package {
            in_scripts = !line.trim_start().starts_with('}');
            found.extend(
                SCRIPT.captures(line).map(|parts| (parts[1].to_owned(), number, parts[2].to_owned())),
            );
        } else if let Some(parts) = TARGET.captures(line) {
            target = parts.get(1).or(parts.get(2)).map_or("", |name| name.as_str()).to_owned();
            let needs = line.split_once(':').map_or("", |(_, needs)| needs).trim();
            if parts.get(1).is_some() && !needs.is_empty() {
                found.push((target.clone(), number, format!("make {needs}")));
            }
        // What begins with a dash may fail.
        } else if line.starts_with([' ', '\t'])
            && !target.is_empty()
            && !line.trim().is_empty()
            && !line.trim().starts_with('-')
        {
            found.push((target.clone(), number, line.trim().trim_start_matches('@').to_owned()));
        }
    }
    found
}

/// The names that a command calls.
fn called(command: &str) -> BTreeSet<&str> {
    let calls = CALLS.captures_all(command);
    calls
        .iter()
        .flat_map(|parts| parts.get(1).map_or("", |names| names.as_str()).split([' ', ',', '\t']))
        .filter(|word| !word.is_empty() && !word.starts_with('-') && !word.contains('='))
        .collect()
}

/// Tells the commands of a list and which of them are new.
pub(super) fn inspect(packet: &Packet<'_>, path: &str, seen: &mut Inspection) {
    let (Some(head), added) = (packet.text.full_head.as_deref(), packet.added()) else { return };
    let added: BTreeSet<u64> = added.map(|line| line.number).collect();
    if added.is_empty() {
        return;
    }
    let before: BTreeSet<String> = packet
        .text
        .full_base
        .iter()
        .flat_map(|base| recipes(path, base))
        .map(|(target, ..)| target)
        .collect();
    for (target, number, command) in recipes(path, head) {
        let is_new = added.contains(&number) || !before.contains(&target);
        let name = format!("{target}\n{}\n{command}", u8::from(is_new));
        seen.facts.push(Fact { kind: RECIPE.into(), name, draft: None, ..Fact::default() });
    }
}

/// Tells what a line of a workflow calls.
pub(super) fn call(command: &str, is_new: bool, seen: &mut Inspection) {
    static PROSE: Pattern = Pattern::new(r"^(?:-\s+)?(?:[\w-]+:(?:\s|$)|echo\b|printf\b)");
    if CALLS.is_match(command) && !PROSE.is_match(command) {
        let name = format!("{}\n{command}", u8::from(is_new));
        seen.facts.push(Fact { kind: CALL.into(), name, draft: None, ..Fact::default() });
    }
}

/// Commands that CI runs from now on and that stand in lists: all of a target that is newly called, the new ones of a
/// target that was called before.
pub(super) fn gained(facts: &[Fact]) -> Vec<&str> {
    let mut targets: BTreeMap<&str, Vec<(bool, &str)>> = BTreeMap::new();
    for fact in facts.iter().filter(|fact| fact.kind == RECIPE) {
        let Some((target, rest)) = fact.name.split_once('\n') else { continue };
        let Some((is_new, command)) = rest.split_once('\n') else { continue };
        targets.entry(target).or_default().push((is_new == "1", command));
    }
    let calls = facts.iter().filter(|fact| fact.kind == CALL).filter_map(|fact| fact.name.split_once('\n'));
    let mut open: Vec<(bool, &str)> = calls
        .flat_map(|(is_new, command)| called(command).into_iter().map(move |name| (is_new == "1", name)))
        .collect();
    let mut reached = BTreeSet::new();
    let mut commands = Vec::new();
    while let Some((newly, target)) = open.pop() {
        if !reached.insert((newly, target)) {
            continue;
        }
        for (is_new, command) in targets.get(target).into_iter().flatten() {
            let gains = newly || *is_new;
            if gains {
                commands.push(*command);
            }
            open.extend(called(command).into_iter().map(|name| (gains, name)));
        }
    }
    commands.sort_unstable();
    commands
}

/// Name of a file in lower case.
fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_commands_are_read_by_target() {
        let read = |path, text| -> Vec<(String, String)> {
            recipes(path, text).into_iter().map(|(target, _, command)| (target, command)).collect()
        };
        let pair = |target: &str, command: &str| (target.to_owned(), command.to_owned());
        let make = "X := 1\ntest: vet\n\t@go test ./...\n";
        assert_eq!(read("Makefile", make), [pair("test", "make vet"), pair("test", "go test ./...")]);
        let package = "{\n  \"scripts\": {\n    \"lint\": \"eslint .\"\n  }\n}\n";
        assert_eq!(read("package.json", package), [pair("lint", "eslint .")]);
        assert_eq!(read("tox.ini", "[testenv:lint]\ncommands =\n  ruff .\n"), [pair("lint", "ruff .")]);
    }

    #[test]
    fn a_call_names_its_targets() {
        let cases: &[(&str, &[&str])] = &[
            ("PATH=x make -j2 test lint", &["lint", "test"]),
            ("npm run build && npm test", &["build", "test"]),
            ("tox -e py,lint", &["lint", "py"]),
            ("remake test", &[]),
        ];
        for (command, expected) in cases {
            assert_eq!(called(command).into_iter().collect::<Vec<_>>(), *expected, "{command}");
        }
    }
}
