//! Workflows, CI scripts and commit hooks that check less than before.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::{CI_REMOVED, CI_SOFTENED, HOOK_DISABLED, jobs, recipes, whole};
use crate::contract::{Draft, Fact, Inspection};
use crate::idioms::{Idiom, Table, anywhere};
use crate::pattern::Pattern;
use crate::scan;
use crate::successors;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::ChangeKind;
use qa_core::classify;
use qa_core::packet::{HunkView, Line, Packet};

const WORKFLOW_DELETED: &str = "workflow deleted";
const COMMAND_REMOVED: &str = "command removed";
const COMMAND_ADDED: &str = "command added";
const COMMAND_OF_DELETED: &str = "command of deleted workflow";
/// A check that no step of a job that stood before runs any more, and a job that is gone.
const CHECK_LEFT: &str = "check left";
const SOFT_IN_NEW_JOB: &str = "softened in a new job";
const HOOK_DELETED: &str = "hook deleted";
const HOOK_ADDED: &str = "hook added";

/// In workflows and the scripts that they run.
static SOFT_IDIOMS: &[Idiom] = &[
    anywhere("continue-on-error", r#"^\s*(?:-\s*)?(continue-on-error:\s*["']?true\b)"#),
    anywhere("continueOnError", r#"^\s*(?:-\s*)?(continueOnError:\s*["']?true\b)"#),
    anywhere("allow_failure", r"^\s*(?:-\s*)?(allow_failure:\s*true\b)"),
    anywhere("ailure", r"^\s*(?:-\s*)?((?:ignore_?failure|ignoreFailure)\s*[:=]\s*true\b)"),
    anywhere("soft_fail", r"^\s*(?:-\s*)?(soft_fail:\s*true\b)"),
    anywhere("if:", r#"^\s*(?:-\s*)?(if:\s*["']?(?:\$\{\{\s*)?false\b)"#),
    anywhere("||", r#"(\|\|\s*(?:true|:|exit 0|echo\b[^|&]*))["']?\s*,?\s*(?:#.*)?$"#),
    anywhere("; true", r#"(;\s*true)["']?\s*,?\s*$"#),
    anywhere("set +e", r"^\s*(?:-\s*)?(?:run:\s*)?(set \+e)\b"),
    anywhere("run:", r"^\s*(?:-\s*)?(run:\s*(?:exit 0|true|:)\s*)$"),
    anywhere(
        "\":",
        r#"^\s*"(?:test|lint|check|typecheck|type-check)[\w:-]*"\s*:\s*("(?:echo\b[^"\\&]*|true|exit 0|:)")"#,
    ),
    anywhere("--no-verify", r"(\s--no-verify)\b"),
    anywhere("assWithNoTests", r"(--passWithNoTests)\b"),
    anywhere("pass-with-no-tests", r"(--pass-with-no-tests)\b"),
    anywhere("--exit-zero", r"(--exit-zero)\b"),
    anywhere("kipTests", r"(-DskipTests)(?:\s|=true|$)"),
    anywhere("maven.test", r"(-Dmaven\.test\.(?:skip|failure\.ignore)(?:=true)?)(?:\s|$)"),
    anywhere("-x ", r"gradlew?\b.*\s(-x\s+(?:test|check|lint)\w*)"),
];
static SOFT: LazyLock<Table> = LazyLock::new(|| Table::new(SOFT_IDIOMS));

/// Cleaning up, looking around and reporting may fail without any check failing.
static HARMLESS: Pattern = Pattern::new(
    r"^[`(]?(?:sudo\s+)?(?:rm|mkdir|kill|pkill|killall|grep|egrep|rg|which|command -v|type|docker (?:rm|stop|kill|logs|network|volume|container|image|compose down|pull)|git (?:diff|fetch|tag|branch|config|stash|rev-parse|describe|log|commit|remote|checkout|worktree|clean|push|merge-base|ls-remote)|gh|cat|ls|cp|mv|ln|touch|chmod|chown|umount|mount|read|wait|curl|wget|find|brew|apt|apt-get|choco|kubectl|systemctl|launchctl|sysctl|ulimit|rustup|jq|sed|awk|diff|cmp|expr|let|unset|popd|pushd|cd|tar|unzip|gzip|ps|sleep|test -\w|\[\[?|codecov|lsof|df|du|free|uname|env)\s",
);

/// What checks a change, by the words its commands and actions use.
static CHECK: Pattern = Pattern::new(
    r"(?i)(?:\b|_)(tests?|tox|nox|pytest|unittest|jest|vitest|mocha|ava|cypress|playwright|e2e|lint|lints|linter|eslint|golangci|golangci-lint|clippy|fmt|format|prettier|rustfmt|gofmt|black|isort|ruff|flake8|pylint|mypy|pyright|tsc|typecheck|type-check|typing|vet|staticcheck|check|checks|verify|audit|deny|codeql|codeql-action|semgrep|scan|trivy|gosec|bandit|coverage|nextest|miri|shellcheck|actionlint|zizmor|pre-commit|rubocop|rspec|phpunit|phpstan|psalm|checkstyle|spotless|spotbugs|ktlint|detekt|swiftlint|ctest|rake|biome|stylelint|dependency-review-action|scorecard-action|attw|publint|knip)(?:\b|_)",
);

static SCRIPT_KEY: Pattern = Pattern::new(
    r#"^\s*(?:-\s+)?(?:(?:run|uses|script|command|cmd|bash|pwsh|powershell):\s*(?:[|>][+-]?\s*$)?)?"#,
);

static TRIGGER: Pattern = Pattern::new(r"\b(pull_request|merge_group|merge_request_event)\b");

/// Paths whose change needs no test.
static NO_CODE: Pattern = Pattern::new(
    r"(?i)\.(?:md|mdx|txt|rst|adoc|png|jpe?g|svg|gif|ipynb)\b|doc|readme|licen[cs]e|changelog|changes|news|authors|examples?|samples?|website|\.github|\.vscode|\.idea|\.gitignore|\.gitattributes|\.editorconfig|codeowners|assets|images|img",
);

/// Whether a path is a CI system's own file.
pub(super) fn is_workflow(path: &str) -> bool {
    const NAMES: &[&str] = &[
        ".gitlab-ci.yml",
        ".travis.yml",
        "azure-pipelines.yml",
        "appveyor.yml",
        ".appveyor.yml",
        "bitbucket-pipelines.yml",
        ".cirrus.yml",
        ".drone.yml",
        "jenkinsfile",
        "cloudbuild.yaml",
        ".woodpecker.yml",
    ];
    let lower = path.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or("");
    let yaml = name.ends_with(".yml") || name.ends_with(".yaml");
    let folder = [
        ".github/workflows/",
        ".circleci/",
        ".buildkite/",
        ".gitlab/",
        ".azure-pipelines/",
        ".forgejo/workflows/",
        ".gitea/workflows/",
    ];
    NAMES.contains(&name)
        || yaml && folder.iter().any(|folder| lower.starts_with(folder))
        || matches!(name, "action.yml" | "action.yaml") && lower.starts_with(".github/")
}

/// Whether a path is a script that CI runs or a list of commands.
fn is_script(path: &str) -> bool {
    let lower = path.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or("");
    let shell = [".sh", ".bash"].iter().any(|end| name.ends_with(end)) || !name.contains('.');
    let folder = ["ci/", ".ci/", ".github/", "script/", "scripts/", ".circleci/", ".buildkite/"];
    matches!(
        name,
        "makefile" | "gnumakefile" | "justfile" | "tox.ini" | "package.json" | "taskfile.yml" | "rakefile"
    ) || shell
        && folder.iter().any(|folder| lower.starts_with(folder) || lower.contains(&format!("/{folder}")))
}

/// Whether a path is a list of commit hooks, or one hook.
pub(super) fn is_hook(path: &str) -> bool {
    let lower = path.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or("");
    let own = [".husky/", ".githooks/", ".git-hooks/", ".hooks/"].iter().any(|folder| lower.contains(folder));
    own && classify::is_git_hook(name)
        || matches!(
            name,
            ".pre-commit-config.yaml"
                | ".pre-commit-config.yml"
                | "lefthook.yml"
                | "lefthook.yaml"
                | ".lefthook.yml"
                | ".overcommit.yml"
        )
}

/// Whether the whole text of a file is needed.
pub(super) fn needs_whole_file(path: &RepoPath) -> bool {
    let path = path.to_text();
    is_workflow(&path) || is_hook(&path) || recipes::is_list(&path)
}

/// Looks at one file.
pub(super) fn inspect(packet: &Packet<'_>) -> Inspection {
    let path = packet.path().to_text().into_owned();
    let mut seen = Inspection::default();
    if is_workflow(&path) || is_script(&path) || is_hook(&path) {
        soften(packet, &path, &mut seen);
    }
    if is_workflow(&path) {
        workflow(packet, &mut seen);
    } else if recipes::is_list(&path) {
        recipes::inspect(packet, &path, &mut seen);
    }
    if is_hook(&path) {
        hook(packet, &mut seen);
    }
    seen
}

/// The added lines of jobs that are new as a whole, in a workflow that stays.
fn lines_of_new_jobs(packet: &Packet<'_>) -> BTreeSet<u64> {
    let head = packet.text.full_head.as_deref().unwrap_or("");
    let base = packet.text.full_base.as_deref().unwrap_or("");
    jobs::new_lines(base, head, &packet.added().map(|line| line.number).collect())
}

/// What softens a job that is new takes nothing away, unless the job takes the place of another: that is seen in the
/// end.
fn soften(packet: &Packet<'_>, path: &str, seen: &mut Inspection) {
    let drafts = softened(packet, path);
    let new =
        if is_workflow(path) && !drafts.is_empty() { lines_of_new_jobs(packet) } else { BTreeSet::new() };
    for draft in drafts {
        if new.contains(&draft.start_line) {
            let name = draft.quote.clone();
            seen.facts.push(Fact {
                kind: SOFT_IN_NEW_JOB.into(),
                name,
                draft: Some(draft),
                ..Fact::default()
            });
        } else {
            seen.drafts.push(draft);
        }
    }
}

fn softened(packet: &Packet<'_>, path: &str) -> Vec<Draft> {
    let workflow = is_workflow(path);
    let counts = |line: &Line<'_>| {
        let span = SOFT.find(None, line.text, &scan::Parts::default())?;
        let found = &line.text[span.clone()];
        let comment = line.text.trim_start().starts_with(['#', '/']);
        let command = &line.text[..span.start];
        let last = command.rsplit(['|', ';', '&']).next().unwrap_or("").trim_start();
        let last = last.trim_start_matches("- ").trim_start_matches("run:").trim_start();
        let spares = found.starts_with(['|', ';'])
            && (HARMLESS.is_match(&format!("{last} ")) || !workflow && !CHECK.is_match(command));
        let script_only = !workflow && found.starts_with("set +e");
        (!comment && !spares && !script_only).then_some(span)
    };
    let mut drafts = Vec::new();
    for hunk in packet.hunks() {
        let text = &packet.text.text[hunk.added_span()];
        if !SOFT.may_match(None, text) && !text.contains("exit 0") {
            continue;
        }
        let old = hunk.removed().filter(|line| counts(line).is_some()).count();
        // A new step may build without tests because another one runs them.
        let replaces = hunk.removed().any(|line| CHECK.is_match(line.text) || line.text.contains("mvn"));
        drafts.extend(workflow.then(|| early_success(packet, &hunk)).flatten());
        let found = hunk.added().filter_map(|line| {
            let summary = "a failure of CI is ignored from now on";
            let fits = |span: &std::ops::Range<usize>| {
                replaces || !["-D", "-x"].iter().any(|option| line.text[span.clone()].starts_with(option))
            };
            counts(&line).filter(fits).map(|span| Draft::on_line(CI_SOFTENED, packet, &line, span, summary))
        });
        drafts.extend(found.skip(old));
    }
    drafts
}

/// `exit 0` right after a check, outside of a condition.
fn early_success(packet: &Packet<'_>, hunk: &HunkView<'_>) -> Option<Draft> {
    let mut previous = hunk.before().last().map_or("", |line| line.text);
    hunk.added().find_map(|line| {
        let follows = command(previous).is_some_and(|command| !checks("run:", &command).is_empty());
        let found = line.text.trim() == "exit 0" && follows && !previous.trim_end().ends_with(['{', '(']);
        previous = line.text;
        let summary = "a failure of CI is ignored from now on";
        found.then(|| Draft::on_line(CI_SOFTENED, packet, &line, whole(line.text), summary))
    })
}

/// The command of a line, without what YAML puts around it and without the version of an action.
fn command(line: &str) -> Option<String> {
    let text = line.trim();
    if text.is_empty() || text.starts_with(['#', '/']) {
        return None;
    }
    let start = SCRIPT_KEY.find(line).map_or(0, |key| key.end());
    let rest = line[start..].trim().trim_matches(['"', '\'']);
    let rest = if text.contains("uses:") { rest.split(['@', ' ']).next().unwrap_or("") } else { rest };
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// The words of a command that say what it checks; a key of YAML is no command.
fn checks(line: &str, command: &str) -> BTreeSet<String> {
    static KEY: Pattern = Pattern::new(r"^[\w-]+:(?:\s|$)");
    static NO_COMMAND: Pattern = Pattern::new(
        r"^(?:\{|(?:curl|wget|chmod|export|source)\b|actions/(?:checkout|cache|setup-|upload-|download-)|echo\b|if\b|git\b|.*\bpublish\b|\$\{\{|\[|[\w./*-]+$|cd\b|mkdir\b|.*\b(?:pip|npm|yarn|pnpm|brew|apt|apt-get|gem|go|rustup|cargo|uv|choco)(?:\s+\S+)?\s+(?:install|add|i)\b)",
    );
    let lone_word = !command.contains([' ', '/']) && !line.contains("run:");
    let keyed = KEY.is_match(command);
    let prose = line.trim_start().trim_start_matches("- ").starts_with("name:");
    let excluded = NO_COMMAND.is_match(command) && !line.contains("uses:") && !line.contains("run:");
    if keyed || prose || lone_word || excluded || command.starts_with("actions/") {
        return BTreeSet::new();
    }
    CHECK.captures_all(command).iter().map(|word| word[0].trim_matches('_').to_lowercase()).collect()
}

/// Whether a workflow runs for changes: for pull requests, or for pushes that are not of tags alone. One that does not
/// name its events in the usual way is taken to.
fn judges_changes<'a>(lines: impl Iterator<Item = &'a str>) -> bool {
    let lines: Vec<&str> = lines.map(|line| line.split(" #").next().unwrap_or("")).collect();
    let is_top = |line: &str| !line.is_empty() && !line.starts_with([' ', '#']);
    let events = lines.iter().position(|line| line.starts_with("on:") || line.starts_with("\"on\":"));
    let block = events.map_or(&lines[..], |start| {
        let rest = &lines[start + 1..];
        let end = rest.iter().position(|line| is_top(line)).unwrap_or(rest.len());
        &lines[start..=start + end]
    });
    let says = |word: &str| block.iter().any(|line| line.contains(word));
    block.iter().any(|line| TRIGGER.is_match(line))
        || says("pull_request")
        || says("push") && (!says("tags:") || says("branches"))
}

fn workflow(packet: &Packet<'_>, seen: &mut Inspection) {
    let fact =
        |kind: &'static str, name: String, draft| Fact { kind: kind.into(), name, draft, ..Fact::default() };
    for line in packet.added() {
        if let Some(command) = command(line.text) {
            recipes::call(&command, true, seen);
            seen.facts.push(fact(COMMAND_ADDED, command, None));
        }
    }
    let base = packet.text.full_base.as_deref();
    if packet.file.kind == ChangeKind::Deleted {
        seen.facts.push(fact(CHECK_LEFT, String::new(), None));
        let lines: Vec<Line<'_>> = packet.removed().collect();
        let triggered = judges_changes(lines.iter().map(|line| line.text));
        let runs = |line: &Line<'_>| {
            line.text.contains("run:")
                || command(line.text).is_some_and(|command| !checks(line.text, &command).is_empty())
        };
        let judges = !packet.path().to_text().starts_with(".github/") || triggered && lines.iter().any(runs);
        if let Some(first) = lines.first().filter(|_| judges) {
            let path = packet.path().to_text().into_owned();
            let span = whole(first.text);
            let draft = Draft::on_base_line(CI_REMOVED, packet, first, span, "a workflow is deleted");
            seen.facts.push(fact(WORKFLOW_DELETED, path.clone(), Some(draft)));
            for line in &lines {
                if let Some(command) =
                    command(line.text).filter(|command| !checks(line.text, command).is_empty())
                {
                    seen.facts.push(fact(COMMAND_OF_DELETED, format!("{path}\n{command}"), None));
                }
            }
        }
        return;
    }
    let (Some(base), Some(head)) = (base, packet.text.full_head.as_deref()) else { return };
    let staying: BTreeSet<String> = head.lines().filter_map(command).collect();
    staying.iter().for_each(|command| recipes::call(command, false, seen));
    let in_new_jobs = lines_of_new_jobs(packet);
    let words_of_added = |wanted: &dyn Fn(&Line<'_>) -> bool| -> BTreeSet<String> {
        let added = packet.added().filter(|line| wanted(line));
        added
            .filter_map(|line| command(line.text).map(|command| checks(line.text, &command)))
            .flatten()
            .collect()
    };
    let new_words = words_of_added(&|_| true);
    let old_jobs_words = words_of_added(&|line| !in_new_jobs.contains(&line.number));
    if jobs::any_gone(base, head) {
        seen.facts.push(fact(CHECK_LEFT, String::new(), None));
    }
    let mut reported = BTreeSet::new();
    for line in packet.removed() {
        let Some(command) = command(line.text) else { continue };
        let words = checks(line.text, &command);
        let stays = staying.contains(&command);
        if !stays && !words.is_subset(&old_jobs_words) {
            seen.facts.push(fact(CHECK_LEFT, command.clone(), None));
        }
        let replaced = stays || words.iter().any(|word| successors::cover(&new_words, word));
        if words.is_empty() || replaced || !reported.insert(command.clone()) {
            continue;
        }
        let draft =
            Draft::on_base_line(CI_REMOVED, packet, &line, whole(line.text), "a check is removed from CI");
        seen.facts.push(fact(COMMAND_REMOVED, command, Some(draft)));
    }
    seen.drafts.extend(trigger_removed(packet, head));
    seen.drafts.extend(narrowed(packet, head));
}

fn trigger_removed(packet: &Packet<'_>, head: &str) -> Option<Draft> {
    let uncommented = |line: &str| !line.trim_start().starts_with('#');
    packet.removed().filter(|line| uncommented(line.text)).find_map(|line| {
        let found = TRIGGER.find(line.text).filter(|_| !line.text.contains("github."))?;
        let event = found.as_str();
        let stays =
            head.lines().any(|line| uncommented(line) && line.contains(event) && !line.contains("github."));
        (!stays).then(|| {
            let summary = "a workflow no longer runs for pull requests";
            Draft::on_base_line(CI_REMOVED, packet, &line, found.range(), summary)
        })
    })
}

/// Entries of `paths-ignore` that name code.
fn narrowed(packet: &Packet<'_>, head: &str) -> Vec<Draft> {
    if !head.contains("paths-ignore") {
        return Vec::new();
    }
    let lines: Vec<&str> = head.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let in_list = |at: usize| {
        let own = indent(lines[at]);
        let key = lines[..at].iter().rev().find(|line| {
            !line.trim().is_empty() && !line.trim_start().starts_with(['-', '#']) && indent(line) <= own
        });
        lines[at].trim_start().starts_with("- ") && key.is_some_and(|key| key.trim() == "paths-ignore:")
    };
    packet
        .added()
        .filter(|line| {
            let inline = line.text.trim_start().starts_with("paths-ignore: [");
            let at = line.number as usize - 1;
            (inline || at < lines.len() && in_list(at)) && !NO_CODE.is_match(line.text)
        })
        .map(|line| {
            let summary = "a workflow no longer runs for changes of these paths";
            Draft::on_line(CI_REMOVED, packet, &line, whole(line.text), summary)
        })
        .collect()
}

fn hook(packet: &Packet<'_>, seen: &mut Inspection) {
    let is_entry = |line: &str| {
        let text = line.trim();
        !text.is_empty() && !text.starts_with('#') && !text.starts_with(". ")
    };
    let fact =
        |kind: &'static str, draft| Fact { kind: kind.into(), name: String::new(), draft, ..Fact::default() };
    if packet.file.kind == ChangeKind::Added {
        seen.facts.push(fact(HOOK_ADDED, None));
    }
    let head = packet.text.full_head.as_deref().unwrap_or("");
    let first = packet.removed().find(|line| is_entry(line.text));
    if packet.file.kind == ChangeKind::Deleted || !head.lines().any(is_entry) {
        if let Some(line) = packet.removed().next().filter(|_| first.is_some()) {
            let line = if packet.file.kind == ChangeKind::Deleted { line } else { first.unwrap_or(line) };
            let summary = "a commit hook is removed";
            let draft = Draft::on_base_line(HOOK_DISABLED, packet, &line, whole(line.text), summary);
            seen.facts.push(fact(HOOK_DELETED, Some(draft)));
        }
        return;
    }
    let key = |line: &str| {
        let text = line.trim().trim_start_matches("- ");
        let (key, value) = text.split_once(':')?;
        matches!(key, "id" | "run").then(|| value.split(" #").next().unwrap_or("").trim().to_owned())
    };
    let staying: BTreeSet<String> = head.lines().filter_map(key).collect();
    let before: BTreeSet<String> =
        packet.text.full_base.as_deref().unwrap_or("").lines().filter_map(key).collect();
    let is_new = |line: &Line<'_>| key(line.text).is_some_and(|entry| !before.contains(&entry));
    let is_gone = |line: &Line<'_>| key(line.text).is_some_and(|entry| !staying.contains(&entry));
    let come: BTreeSet<String> = packet.added().filter(is_new).filter_map(|line| key(line.text)).collect();
    let is_covered = |line: &Line<'_>| key(line.text).is_some_and(|entry| successors::cover(&come, &entry));
    let gone: Vec<Line<'_>> = packet.removed().filter(is_gone).collect();
    // Each hook that comes takes the place of those whose work it does, or else of one.
    let used = come
        .iter()
        .filter(|new| gone.iter().filter_map(|line| key(line.text)).any(|old| successors::covers(new, &old)))
        .count();
    let (gone, come): (Vec<Line<'_>>, usize) =
        (gone.into_iter().filter(|line| !is_covered(line)).collect(), come.len() - used);
    if let Some(line) = gone.first().filter(|_| gone.len() > come) {
        let summary = "a commit hook is removed";
        let draft = Draft::on_base_line(HOOK_DISABLED, packet, line, whole(line.text), summary);
        seen.facts.push(fact(HOOK_DELETED, Some(draft)));
    }
}

/// Commands and hooks that come back elsewhere in the change are moved.
pub(super) fn conclude(facts: &[Fact]) -> Vec<Draft> {
    let of = |kind: &'static str| facts.iter().filter(move |fact| fact.kind == kind);
    let added: BTreeSet<&str> = of(COMMAND_ADDED).map(|fact| fact.name.as_str()).collect();
    // Another CI system writes the same check in other words.
    let gained = recipes::gained(facts);
    let new_words: BTreeSet<String> =
        added.iter().chain(&gained).flat_map(|command| checks("run:", command)).collect();
    let is_moved = |command: &str| {
        added.contains(command)
            || gained.iter().any(|gained| gained.contains(command))
            || checks("run:", command).iter().any(|word| successors::cover(&new_words, word))
    };
    let mut drafts: Vec<Draft> = of(COMMAND_REMOVED)
        .filter(|fact| !is_moved(&fact.name))
        .filter_map(|fact| fact.draft.clone())
        .collect();
    for workflow in of(WORKFLOW_DELETED) {
        let own: BTreeSet<&str> = of(COMMAND_OF_DELETED)
            .filter_map(|fact| fact.name.split_once('\n'))
            .filter(|(path, _)| *path == workflow.name)
            .map(|(_, command)| command)
            .collect();
        let moved = own.iter().filter(|command| is_moved(command)).count();
        if own.is_empty() || moved * 2 < own.len() {
            drafts.extend(workflow.draft.clone());
        }
    }
    if of(CHECK_LEFT).next().is_some() {
        drafts.extend(of(SOFT_IN_NEW_JOB).filter_map(|fact| fact.draft.clone()));
    }
    if of(HOOK_ADDED).next().is_none() {
        drafts.extend(of(HOOK_DELETED).filter_map(|fact| fact.draft.clone()));
    }
    drafts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        SOFT.check();
        assert!(is_workflow(".github/workflows/ci.yml"));
        assert!(is_hook(".husky/pre-commit"));
        for name in [".husky/.gitignore", ".husky/pre-commit.off", ".husky/lib.sh"] {
            assert!(!is_hook(name), "{name}");
        }
        assert_eq!(command("      - run: cargo test --all").as_deref(), Some("cargo test --all"));
        assert!(
            HARMLESS.is_match("rm -rf x ") && CHECK.is_match("cargo test") && NO_CODE.is_match("- '**.md'")
        );
        assert!(!checks("      - run: cargo test", "cargo test").is_empty());
        assert!(checks("    needs: [test]", "needs: [test]").is_empty());
        assert!(TRIGGER.is_match("on: [push, pull_request]"));
    }
}
