//! Refuses policies that are well-formed and could not be followed.

use std::collections::BTreeSet;

use super::file::{
    PolicyTextError, check_known, check_version, line_of_key, line_of_rule, line_of_table, rule_header,
};
use super::settings::NUMBERS;
use super::{drive, observer, reviews};
use crate::gates;
use crate::masking::sanitize_cut;
use crate::permissions::{ExecutionPolicy, check_examples};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{GateName, PermissionProfileId, PolicyFile, PolicyGate, Registry};

/// Maximum length of a model's name, in bytes; it becomes part of file names and tables.
const MAX_MODEL_NAME: usize = 40;

/// Checks a parsed file. The text gives errors their lines.
pub(super) fn check(text: &str, file: &PolicyFile, registry: &Registry) -> Result<(), PolicyTextError> {
    check_version(file.version, text)?;
    check_names(text, file, registry)?;
    check_ranges(text, file)?;
    if let Some(id) = &file.repo_id
        && !is_repo_id(id)
    {
        let message = "repo-id must be `owner/name` of letters, digits, `.`, `_` and `-`".to_owned();
        return Err(PolicyTextError::at_line_of(text, "repo-id", message));
    }
    if file.consistency.hash.is_some() && file.consistency.rubric.is_none() {
        let message = "[consistency] has a hash and names no rubric".to_owned();
        return Err(PolicyTextError::at_line_of(text, "hash", message));
    }
    check_gates(text, file)?;
    reviews::check(text, file)?;
    observer::check(text, file, registry)?;
    drive::check(text, file)?;
    check_execution(text, file)?;
    check_models(text, file)
}

/// Checks the names of lenses and rules.
fn check_names(text: &str, file: &PolicyFile, registry: &Registry) -> Result<(), PolicyTextError> {
    let (gates, lenses): (BTreeSet<&str>, BTreeSet<&str>) =
        registry.lenses.iter().map(|lens| lens.lens_id.as_str()).partition(|id| gates::find(id).is_some());
    let rules: BTreeSet<&str> =
        registry.lenses.iter().flat_map(|lens| &lens.rules).map(|rule| rule.rule_id.as_str()).collect();
    for name in file.lenses.keys() {
        if gates.contains(name.as_str()) {
            let message = format!("`{name}` is a gate; its settings are in [gates.{name}]");
            return Err(PolicyTextError::at_line_of(text, name, message));
        }
        check_known(text, "lens", name, &lenses)?;
    }
    for lens in &registry.lenses {
        let Some(stated) = file.lenses.get(&lens.lens_id) else { continue };
        let is_needed = stated.required.unwrap_or(lens.required_by_default);
        if stated.enabled == Some(false) && is_needed && !reviews::is_review(&lens.lens_id) {
            let id = &lens.lens_id;
            let message = format!(
                "`{id}` is disabled and required, so no change could pass; set `required = false` too"
            );
            let line = line_of_table(text, &format!("[lenses.{id}]"));
            return Err(PolicyTextError { line, message, suggestion: None });
        }
    }
    for name in file.rules.keys() {
        if let Some(message) = without_lens(name, &rules) {
            let line = line_of_rule(text, name);
            return Err(PolicyTextError { line, message, suggestion: None });
        }
        check_known(text, "rule", name, &rules)?;
    }
    Ok(())
}

/// Most keys that a message names for a lens.
const MOST_KEYS: usize = 5;

/// Returns the keys to write in the place of a lens, or of a rule's name without its lens; `None` for any other name.
fn without_lens(name: &str, rules: &BTreeSet<&str>) -> Option<String> {
    let mut of_lens = Vec::new();
    let mut called_so = Vec::new();
    for rule in rules {
        match rule.split_once('/') {
            Some((lens, _)) if lens == name => of_lens.push(rule_header(rule)),
            Some((_, own)) if own == name => called_so.push(rule_header(rule)),
            Some(_) | None => {}
        }
    }
    let rest = if of_lens.len() > MOST_KEYS { ", or another rule of the lens" } else { "" };
    of_lens.truncate(MOST_KEYS);
    if !of_lens.is_empty() {
        let keys = of_lens.join(" or ");
        return Some(format!("`{name}` is a lens, and the key of a rule is LENS/RULE: write {keys}{rest}"));
    }
    let keys = called_so.join(" or ");
    (!keys.is_empty())
        .then(|| format!("`{name}` lacks its lens; the key of a rule is LENS/RULE: write {keys}"))
}

fn check_ranges(text: &str, file: &PolicyFile) -> Result<(), PolicyTextError> {
    for setting in NUMBERS {
        let range = setting.least..=setting.most;
        if let Some(value) = (setting.stated)(file).filter(|value| !range.contains(value)) {
            let message =
                format!("{} is {value}, it must be from {} to {}", setting.name, setting.least, setting.most);
            return Err(PolicyTextError { line: line_of_key(text, setting.name), message, suggestion: None });
        }
    }
    Ok(())
}

fn is_repo_id(id: &str) -> bool {
    (1..=200).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte))
}

/// Checks the names of models, which become parts of file names.
fn check_models(text: &str, file: &PolicyFile) -> Result<(), PolicyTextError> {
    for name in file.models.keys() {
        let is_plain =
            name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if name.is_empty() || name.len() > MAX_MODEL_NAME || !is_plain {
            let shown = sanitize_cut(name, 80);
            let message = format!(
                "the model's name `{shown}` is not 1 to {MAX_MODEL_NAME} lower-case letters, digits and hyphens"
            );
            return Err(PolicyTextError::at_line_of(text, name, message));
        }
    }
    Ok(())
}

/// Checks the gates. A report that no run could read would end every run, so it is refused with the policy.
fn check_gates(text: &str, file: &PolicyFile) -> Result<(), PolicyTextError> {
    for (name, gate) in &file.gates {
        let runs = !gate.run.is_empty() || !gate.command.is_empty();
        if gate.reports.is_empty() && !runs && gate.tests_of.is_empty() {
            let message =
                format!("gate `{name}` neither names a report nor runs a tool, so it could never pass");
            return Err(PolicyTextError::at_line_of(text, name.as_str(), message));
        }
        for of in &gate.tests_of {
            let has_tests =
                of.runs_tests() && *of != GateName::StoryValidation && file.gates.contains_key(of);
            if *name != GateName::StoryValidation || !has_tests {
                let message = format!(
                    "gate `{name}` cannot read the tests of `{of}`; `story_validation` reads those of declared gates with tests"
                );
                return Err(PolicyTextError::at_line_of(text, "tests-of", message));
            }
        }
        if gate.confirm == Some(true) && !runs {
            let message = format!("gate `{name}` runs no command that could run once more; remove `confirm`");
            return Err(PolicyTextError::at_line_of(text, "confirm", message));
        }
        if name.runs_tests() && !gate.except.is_empty() {
            let message = format!("gate `{name}` has tests, which look at no files; remove `except`");
            return Err(PolicyTextError::at_line_of(text, "except", message));
        }
        if *name != GateName::StoryValidation && !gate.features.is_empty() {
            let message = format!(
                "gate `{name}` is about no feature; the paths of features are those of `story_validation`"
            );
            return Err(PolicyTextError::at_line_of(text, "features", message));
        }
        if let Some(feature) = gate.features.iter().find(|feature| feature.paths.is_empty()) {
            let message = format!("feature {} has no paths, so no change could be about it", feature.id);
            return Err(PolicyTextError::at_line_of(text, "paths", message));
        }
        check_reports(text, *name, gate)?;
        check_commands(text, *name, file)?;
    }
    Ok(())
}

/// Checks the commands of a gate.
fn check_commands(text: &str, name: GateName, file: &PolicyFile) -> Result<(), PolicyTextError> {
    let execution = ExecutionPolicy::from_file(file);
    let may_run = execution.profile != PermissionProfileId::ReadOnly
        && execution.lens_classes.contains(&gates::class(name));
    let mut names = BTreeSet::new();
    for command in &file.gates[&name].command {
        let line = sanitize_cut(&command.run.join(" "), 80);
        let program = command.run.first().map(String::as_str).unwrap_or_default();
        let problem = if program.is_empty() || program.contains('/') {
            Some(format!("the command `{line}` does not begin with the plain name of a program"))
        } else if may_run && !execution.allows(&command.run) {
            // A run would reject the change, and every other.
            Some(format!(
                "no prefix of execution.allow has `{line}`, so no change could pass; add an [[execution.allow]] for it"
            ))
        } else if !names.insert(command.writer()) {
            Some(format!("gate `{name}` has two commands of `{}`; give each a name", command.writer()))
        } else {
            let paths = [command.report.as_deref(), command.directory.as_deref()];
            paths
                .into_iter()
                .flatten()
                .find(|path| !is_inside(path))
                .map(|path| format!("`{}` is not a path below the repository's root", sanitize_cut(path, 80)))
        };
        if let Some(message) = problem {
            let line = line_of_table(text, &format!("[[gates.{name}.command]]"));
            return Err(PolicyTextError { line, message, suggestion: None });
        }
    }
    Ok(())
}

fn check_reports(text: &str, name: GateName, gate: &PolicyGate) -> Result<(), PolicyTextError> {
    let mut seen = BTreeSet::new();
    for report in &gate.reports {
        let paths = [Some(&report.path), report.base.as_ref()];
        for path in paths.into_iter().flatten() {
            let shown = sanitize_cut(path, 80);
            if !is_inside(path) {
                let message = format!("`{shown}` is not a path below the repository's root");
                return Err(PolicyTextError::at_line_of(text, path, message));
            }
            if !seen.insert(path) {
                let message = format!("gate `{name}` names the report `{shown}` twice");
                return Err(PolicyTextError::at_line_of(text, path, message));
            }
        }
        if let Some(directory) = report.directory.as_ref().filter(|directory| !is_inside(directory)) {
            let shown = sanitize_cut(directory, 80);
            let message = format!("`{shown}` is not a directory below the repository's root");
            return Err(PolicyTextError::at_line_of(text, directory, message));
        }
    }
    Ok(())
}

/// Checks `[execution]`. A rule that allows other commands than its author believes would be worse than none.
fn check_execution(text: &str, file: &PolicyFile) -> Result<(), PolicyTextError> {
    for rule in &file.execution.allow {
        let program = rule.prefix.first().map(String::as_str).unwrap_or_default();
        check_examples(rule).map_err(|message| PolicyTextError::at_line_of(text, program, message))?;
    }
    for toolchain in &file.execution.toolchains {
        let path = &toolchain.path;
        let plain = path.strip_prefix('/').unwrap_or(path);
        if !is_inside(plain) {
            let message =
                format!("`{}` is neither an absolute path nor one below the root", sanitize_cut(path, 80));
            return Err(PolicyTextError::at_line_of(text, path, message));
        }
    }
    for name in file.execution.environment.keys() {
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let fixed = ["HOME", "LC_ALL", "LOGNAME", "PATH", "PWD", "TMPDIR", "TZ", "USER"];
        if name.is_empty() || !is_plain || fixed.contains(&name.as_str()) {
            let message = format!("the variable `{}` cannot be set for commands", sanitize_cut(name, 80));
            return Err(PolicyTextError::at_line_of(text, name, message));
        }
    }
    Ok(())
}

/// Returns whether a path is relative, plain and safe, with `/` between its parts.
fn is_inside(path: &str) -> bool {
    RepoPath::from_bytes(path.as_bytes()).is_ok()
        && !path.contains('\\')
        && !path.chars().any(char::is_control)
}
