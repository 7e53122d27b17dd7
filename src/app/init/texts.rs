//! Texts of the files that `init` writes, and of those that it updates. Pure.

use std::collections::BTreeSet;

use qa_contracts::v1::Preset;
use qa_core::policy::POLICY_PATH;
use qa_run::setup::{ActionPin, owners_of};

/// First line of a workflow that `init` wrote.
const MARKER: &str = "# Written by qa-skill init, which updates this file when it runs again; remove this line to keep your edits.";
/// Second line of a policy that `init` wrote, behind the address of its schema.
const POLICY_MARKER: &str = "# Written by qa-skill init, which keeps your edits when it runs again.";
/// Beginning of the line with the numbers behind a preset.
const MEASURED: &str = "# Measured by init: ";
/// First and last line of the rules in CODEOWNERS.
const OWNERS_BEGIN: &str = "# qa-skill init: begin";
const OWNERS_END: &str = "# qa-skill init: end";
/// Directory of the workflows and of what else rules the repository on GitHub.
const GITHUB: &str = "/.github/";
/// Name of the action in the templates; what follows on its line is a comment for readers of the documentation.
const PLACEHOLDER: &str = "OWNER/qa-skill@COMMIT";

/// A workflow that `init` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkflowKind {
    /// Judges pull requests.
    Gate,
    /// Replays stored verdicts.
    Nightly,
}

impl WorkflowKind {
    pub(super) const ALL: [Self; 2] = [Self::Gate, Self::Nightly];

    /// Returns the path of the file.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Gate => ".github/workflows/qa-skill.yml",
            Self::Nightly => ".github/workflows/qa-skill-nightly.yml",
        }
    }

    /// Returns the workflow as the documentation has it.
    fn template(self) -> &'static str {
        match self {
            Self::Gate => include_str!("gate.yml"),
            Self::Nightly => include_str!("nightly.yml"),
        }
    }

    /// Returns the file's text with the action's commit, or with its placeholder to show. Other actions keep the commits that the
    /// file has now, which may be newer than those of the template.
    pub(super) fn render(self, action: Option<&ActionPin>, now: Option<&str>) -> String {
        let now_pinned = action.and_then(|action| {
            let lines = now.unwrap_or_default().lines();
            let mut uses = lines.filter_map(|line| Some(line.split_once("uses: ")?.1.trim_end()));
            uses.find(|uses| {
                pinned_use(uses, action.repository()).is_some() && uses.contains(action.commit())
            })
        });
        let action = match (action, now_pinned) {
            (None, _) => PLACEHOLDER.to_owned(),
            (Some(action), Some(now)) if action.version().is_none() => now.to_owned(),
            (Some(action), _) => action.with_version(),
        };
        let mut text = format!("{MARKER}\n");
        for line in self.template().lines() {
            let rendered = match line.split_once(PLACEHOLDER) {
                Some((before, _)) => format!("{before}{action}"),
                None => with_pin_of(line, now.unwrap_or_default()),
            };
            text.push_str(&rendered);
            text.push('\n');
        }
        text
    }
}

/// Returns a line with the pinned commit that `now` has for the same action.
fn with_pin_of(line: &str, now: &str) -> String {
    let Some((before, uses)) = line.split_once("uses: ") else { return line.to_owned() };
    let name = uses.split('@').next().unwrap_or_default();
    let steps = now.lines().filter(|line| !line.trim_start().starts_with('#'));
    let pinned = steps.filter_map(|line| pinned_use(line.split_once("uses: ")?.1.trim_end(), name)).next();
    format!("{before}uses: {}", pinned.unwrap_or(uses))
}

/// Returns what a line uses, if that is a commit of an action and nothing follows but a comment.
fn pinned_use<'a>(uses: &'a str, action: &str) -> Option<&'a str> {
    let reference = uses.strip_prefix(action)?.strip_prefix('@')?;
    let (commit, rest) = reference.split_at_checked(40)?;
    let is_alone = rest.is_empty() || rest.starts_with(' ') && rest.trim_start().starts_with('#');
    (is_alone && commit.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(uses)
}

/// Returns whether `init` wrote a workflow.
pub(super) fn is_our_workflow(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.trim_end() == MARKER)
}

/// Returns whether `init` wrote a policy, edited since or not.
pub(super) fn is_our_policy(text: &str) -> bool {
    text.lines().any(|line| line.trim_end() == POLICY_MARKER)
}

/// Returns the line that names the schema of a policy, for editors.
fn schema_line(action: &ActionPin) -> String {
    let (repository, commit) = (action.repository(), action.commit());
    format!(
        "#:schema https://raw.githubusercontent.com/{repository}/{commit}/schemas/v1/policy.v1.schema.json\n"
    )
}

/// Returns a new policy with a preset and the numbers behind it.
pub(super) fn new_policy(action: Option<&ActionPin>, preset: Preset, numbers: &str) -> String {
    let schema = action.map(schema_line).unwrap_or_default();
    format!(
        "{schema}{POLICY_MARKER}\n# It is in force once it is on the base branch; `qa-skill policy-check --all` shows every setting.\nversion = 1\n\n{MEASURED}{numbers}\npreset = \"{}\"\n",
        preset.as_str()
    )
}

/// Returns a policy with the schema of an action's commit, if `init` wrote the policy.
pub(super) fn with_schema(policy: &str, action: &ActionPin) -> String {
    match policy.split_once('\n') {
        Some((first, rest)) if first.starts_with("#:schema ") && rest.starts_with(POLICY_MARKER) => {
            format!("{}{rest}", schema_line(action))
        }
        _ => policy.to_owned(),
    }
}

/// Returns a policy with another preset. The caller checks that the result is read so: the line may be written in a way
/// that is not found here.
pub(super) fn with_preset(policy: &str, preset: Preset, numbers: &str) -> String {
    let mut setting = format!("preset = \"{}\"", preset.as_str());
    let mut lines: Vec<&str> = policy.lines().collect();
    let top = lines.iter().position(|line| line.trim_start().starts_with('[')).unwrap_or(lines.len());
    let measured = format!("{MEASURED}{numbers}");
    match lines[..top].iter().position(|line| is_key(line, "preset")) {
        Some(at) => {
            setting.push_str(comment_of(lines[at]));
            lines[at] = &setting;
            if at > 0 && lines[at - 1].starts_with(MEASURED) {
                lines[at - 1] = &measured;
            } else {
                lines.insert(at, &measured);
            }
        }
        None => {
            let version = lines[..top].iter().position(|line| is_key(line, "version"));
            let at = version.map_or(0, |at| at + 1);
            lines.splice(at..at, [measured.as_str(), setting.as_str()]);
        }
    }
    lines.join("\n") + "\n"
}

fn is_key(line: &str, key: &str) -> bool {
    line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
}

/// Returns the comment behind a preset, with the blanks before it.
fn comment_of(line: &str) -> &str {
    let before = line.split('#').next().unwrap_or(line).trim_end();
    &line[before.len()..]
}

/// Returns CODEOWNERS with owners for paths, in a block of ours at its end, or as it is where the owners have them already.
/// Other rules in the block stay.
pub(super) fn with_owners(codeowners: &str, paths: &[&str], owners: &[String]) -> String {
    if paths.iter().all(|path| owners_of_rule(codeowners, path) == owners) {
        return codeowners.to_owned();
    }
    let width = paths.iter().map(|path| path.len()).max().unwrap_or(0);
    let rules: String = paths.iter().map(|path| format!("{path:<width$} {}\n", owners.join(" "))).collect();
    // The last match wins, so a block that is not the last thing in the file moves there.
    let (mut text, inside) = without_block(codeowners);
    let is_ours = |line: &&str| line.split_whitespace().next().is_some_and(|path| paths.contains(&path));
    let others: String = inside.split_inclusive('\n').filter(|line| !is_ours(line)).collect();
    let block = format!("{OWNERS_BEGIN}\n{others}{rules}{OWNERS_END}\n");
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text + &block
}

/// Returns the owners whom the other rules name for paths and the new ones leave out.
pub(super) fn replaced_owners(codeowners: &str, paths: &[&str], owners: &[String]) -> BTreeSet<String> {
    let (others, _) = without_block(codeowners);
    let before = paths.iter().flat_map(|path| owners_of_rule(&others, path));
    before.filter(|owner| !owners.contains(owner)).collect()
}

/// Returns the owners of the files that a rule of ours is for; of a directory, those of files that may be in it.
fn owners_of_rule(codeowners: &str, rule: &str) -> Vec<String> {
    let path = rule.trim_start_matches('/');
    let files: &[&str] = match rule {
        GITHUB => &[".github/dependabot.yml", WorkflowKind::Gate.path()],
        _ if path.ends_with('/') => &[POLICY_PATH],
        _ => &[path],
    };
    let mut owners: Vec<String> = Vec::new();
    for owner in files.iter().flat_map(|file| owners_of(codeowners, file)) {
        if !owners.contains(&owner) {
            owners.push(owner);
        }
    }
    owners
}

/// Returns CODEOWNERS without the block of ours, and the lines in that.
fn without_block(codeowners: &str) -> (String, String) {
    let lines: Vec<&str> = codeowners.split_inclusive('\n').collect();
    let end = lines.iter().rposition(|line| line.trim_end() == OWNERS_END);
    let begin = end.and_then(|end| lines[..end].iter().rposition(|line| line.trim_end() == OWNERS_BEGIN));
    match begin.zip(end) {
        Some((begin, end)) => {
            ([&lines[..begin], &lines[end + 1..]].concat().concat(), lines[begin + 1..end].concat())
        }
        None => (codeowners.to_owned(), String::new()),
    }
}

/// Returns a text with the line ends that a file has now: each line that stays keeps its own, and new ones have that of the
/// first line.
pub(super) fn with_line_ends_of(now: &str, text: &str) -> String {
    let mut before = now.split_inclusive('\n');
    let first = if now.split_inclusive('\n').next().is_some_and(|line| line.ends_with("\r\n")) {
        "\r\n"
    } else {
        "\n"
    };
    let mut written = String::new();
    for line in text.split_inclusive('\n') {
        let mut rest = before.clone();
        let same = rest.find(|old| old.trim_end_matches(['\r', '\n']) == line.trim_end_matches('\n'));
        match same {
            Some(old) if old.ends_with('\n') && line.ends_with('\n') => {
                written.push_str(old);
                before = rest;
            }
            Some(_) | None => {
                written.push_str(line.trim_end_matches('\n'));
                written.push_str(if line.ends_with('\n') { first } else { "" });
            }
        }
    }
    written
}

/// Returns the paths that owners get: the policy, the pipelines or everything that GitHub runs, and CODEOWNERS itself.
pub(super) fn owned_paths(workflows: &[&str], codeowners: &str) -> Vec<String> {
    let directory = POLICY_PATH.split('/').next().unwrap_or_default();
    let mut paths = vec![format!("/{directory}/")];
    for path in workflows.iter().copied().chain([codeowners]) {
        // On GitHub any other workflow can report under the name of the gate's job.
        let path = format!("/{path}");
        let owned = if path.starts_with(GITHUB) { GITHUB.to_owned() } else { path };
        if !paths.contains(&owned) {
            paths.push(owned);
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_taken_from_a_step_that_has_nothing_but_a_comment_behind_it() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let line = "      - uses: actions/checkout@v7";
        for (now, kept) in [
            (format!("- uses: actions/checkout@{commit} # v6"), format!("@{commit} # v6")),
            (format!("- uses: actions/checkout@{commit}"), format!("@{commit}")),
            (format!("- {{ uses: actions/checkout@{commit} }}"), "@v7".to_owned()),
            (format!("# x; uses: actions/checkout@{commit}"), "@v7".to_owned()),
            (format!("- uses: actions/checkout@{commit}  : {{"), "@v7".to_owned()),
            (format!("- uses: actions/checkout@{commit}0"), "@v7".to_owned()),
        ] {
            assert_eq!(with_pin_of(line, &now), format!("      - uses: actions/checkout{kept}"), "{now}");
        }
    }

    #[test]
    fn each_line_keeps_its_end() {
        for (now, text, expected) in [
            ("a\nb\n", "a\nc\nb\n", "a\nc\nb\n"),
            ("a\r\nb\r\n", "a\nc\nb\n", "a\r\nc\r\nb\r\n"),
            ("a\nb\r\nc\n", "a\nb\nc\nd\n", "a\nb\r\nc\nd\n"),
            ("a\r\nb", "a\nb\nc\n", "a\r\nb\r\nc\r\n"),
            ("", "a\n", "a\n"),
        ] {
            assert_eq!(with_line_ends_of(now, text), expected, "{now:?}");
        }
    }

    #[test]
    fn owners_who_lose_files_are_named() {
        let owners = ["@dev".to_owned()];
        let lost = |codeowners: &str| replaced_owners(codeowners, &["/.qa-skill/", "/CODEOWNERS"], &owners);
        assert_eq!(lost("/.qa-skill/ @security @dev\n"), BTreeSet::from(["@security".to_owned()]));
        assert_eq!(lost("/src/ @security\n"), BTreeSet::new());
        // Those of our own block were named before.
        assert_eq!(lost("# qa-skill init: begin\n/.qa-skill/ @sam\n# qa-skill init: end\n"), BTreeSet::new());
    }
}
