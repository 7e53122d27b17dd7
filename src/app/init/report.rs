//! Renders what `init` found, measured and plans, as text for a terminal. Pure.

use std::fmt::Write;

use super::plan::{Forge, Plan, PlannedFile, Step};
use super::preset;
use qa_contracts::v1::{Calibration, Preset};
use qa_core::diff::diff_file;
use qa_core::escape::{shell_word, visible, without_runner_commands};
use qa_core::masking::{sanitize, sanitize_cut};
use qa_formats::counted;
use qa_run::setup::{FoundTool, Inventory, ToolKind};

/// Number of languages that are listed.
const LANGUAGES_LISTED: usize = 5;
/// Number of stopped changes that are listed for a preset.
const CHANGES_LISTED: usize = 5;
/// Number of findings that are listed for a change.
const FINDINGS_LISTED: usize = 2;
/// Number of rules that are listed.
const RULES_LISTED: usize = 3;
/// Number of lines that are shown of a file.
const LINES_SHOWN: usize = 60;

/// Difference between the presets that a share of stopped changes does not show.
const LEFT_TO_GUARDED: &str = "  default only advises on skipped tests, softened CI, loosened linters and a weaker policy; guarded blocks them\n";

/// Measured presets, or the reason why none was.
pub(super) enum Measurement {
    Done(Measured),
    Skipped(Chosen),
}

/// Source of a preset that is chosen before anything is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chosen {
    ByOption,
    /// By a policy that `init` wrote before.
    ByPolicy,
}

impl Measurement {
    pub(super) fn proposed(&self) -> Option<Preset> {
        match self {
            Self::Done(measured) => Some(measured.proposed),
            Self::Skipped(_) => None,
        }
    }

    /// Returns the numbers behind the presets in one line.
    pub(super) fn numbers(&self) -> String {
        match self {
            Self::Done(measured) => measured.numbers(),
            Self::Skipped(_) => "nothing, because the preset was chosen by --preset".to_owned(),
        }
    }
}

/// Result of measuring the presets.
pub(super) struct Measured {
    /// Name of the branch whose history was measured.
    pub(super) branch: String,
    /// True if the branch is the default branch, as far as the checkout knows.
    pub(super) is_default_branch: bool,
    /// Costs of `default` and `guarded`; empty where the history has no change.
    pub(super) costs: Vec<Calibration>,
    /// Number of changes that were asked for.
    pub(super) asked: u64,
    /// True if the clone is shallow, so that there are more changes than it has.
    pub(super) is_shallow: bool,
    pub(super) proposed: Preset,
}

impl Measured {
    fn shown_branch(&self) -> String {
        let branch = visible(&self.branch);
        if self.is_default_branch { format!("the default branch ({branch})") } else { branch }
    }

    fn cost(&self, preset: Preset) -> Option<&Calibration> {
        self.costs.iter().find(|cost| cost.preset == preset)
    }

    fn numbers(&self) -> String {
        let (Some(first), Some(guarded)) = (self.cost(Preset::Default), self.cost(Preset::Guarded)) else {
            return "the history has no merged change to measure presets on".to_owned();
        };
        let changes = preset::judged(first);
        format!(
            "of the last {} up to {}, default would have stopped {} and guarded {}",
            counted(usize::try_from(changes).unwrap_or(usize::MAX), "merged change"),
            first.head_sha.short(),
            preset::stopped(first),
            preset::stopped(guarded),
        )
    }
}

/// Renders the inventory of a commit.
pub(super) fn found(inventory: &Inventory, commit: &str) -> String {
    let mut text = format!("Found at {commit}\n");
    let more = if inventory.is_complete { "" } else { " or more; the rest was not looked at" };
    let mut languages: Vec<String> = inventory
        .languages
        .iter()
        .take(LANGUAGES_LISTED)
        .map(|count| format!("{} {}", count.name, count.files))
        .collect();
    let others = inventory.languages.len().saturating_sub(LANGUAGES_LISTED);
    languages.extend((others > 0).then(|| format!("{others} more")));
    line(&mut text, "files", &format!("{}{more}", counted(inventory.files, "file")));
    line(&mut text, "languages", &list_or(&languages, "no source files"));
    let tests = counted(inventory.tests, "test file");
    let tools = names(inventory, ToolKind::Tests);
    let tests = if tools.is_empty() { tests } else { format!("{tests}; {}", tools.join(", ")) };
    line(&mut text, "tests", &tests);
    line(&mut text, "linters", &list_or(&names(inventory, ToolKind::Linter), "none that is known"));
    let services: Vec<String> = inventory.ci.iter().map(|service| (*service).to_owned()).collect();
    line(&mut text, "CI", &list_or(&services, "none that is known"));
    let silenced = &inventory.silenced;
    let of = if silenced.is_complete { "" } else { " that were searched" };
    let suppressions = format!(
        "{} of {}{of} silence a linter; only what a change adds is reported",
        silenced.found,
        counted(silenced.searched, "source file"),
    );
    line(&mut text, "suppressions", &suppressions);
    text
}

fn line(text: &mut String, label: &str, value: &str) {
    let _ = writeln!(text, "  {label:<12}  {value}");
}

fn list_or(items: &[String], none: &str) -> String {
    if items.is_empty() { none.to_owned() } else { items.join(", ") }
}

fn names(inventory: &Inventory, kind: ToolKind) -> Vec<String> {
    let tools = inventory.tools.iter().filter(|tool| tool.kind == kind);
    tools.map(|tool| tool.name.to_owned()).collect()
}

/// Renders the shares of the presets and what they would have stopped, or the reason why nothing was measured.
pub(super) fn measurement(measurement: &Measurement) -> String {
    match measurement {
        Measurement::Done(measured) => self::measured(measured),
        Measurement::Skipped(Chosen::ByOption) => {
            "\nPresets\n  not measured, because --preset names one; `qa-skill calibrate --preset NAME` measures it\n".to_owned()
        }
        Measurement::Skipped(Chosen::ByPolicy) => {
            "\nPresets\n  not measured again, because the policy has one; `qa-skill calibrate --preset NAME` measures another\n"
                .to_owned()
        }
    }
}

fn measured(measured: &Measured) -> String {
    let Some(first) = measured.costs.first() else {
        return format!(
            "\nPresets\n  {} has no commit with a parent, so there is no change to measure presets on\n",
            measured.shown_branch()
        );
    };
    let mut text = format!(
        "\nPresets, measured on the last {} of {}, up to {}\n",
        counted(usize::try_from(first.changes).unwrap_or(usize::MAX), "merged change"),
        measured.shown_branch(),
        first.head_sha.short(),
    );
    text.push_str("  advisory  would have stopped none: it reports and blocks nothing\n");
    for cost in &measured.costs {
        let (stopped, judged) = (preset::stopped(cost), preset::judged(cost));
        let share = if judged == 0 { 0.0 } else { 100.0 * stopped as f64 / judged as f64 };
        let _ = writeln!(
            text,
            "  {:<8}  would have stopped {stopped} of {judged} ({share:.1} %; by the 95 % interval at most {:.1} %)",
            cost.preset.as_str(),
            preset::most_stopped(cost) / 10.0
        );
    }
    text.push_str(LEFT_TO_GUARDED);
    unjudged(&mut text, first);
    if measured.is_shallow && first.changes < measured.asked {
        text.push_str("  the clone is shallow; `git fetch --unshallow` gives more changes to measure on\n");
    }
    if first.changes == measured.asked && preset::is_undecided(&measured.costs) {
        let _ = writeln!(
            text,
            "  so few changes cannot show that guarded stops at most {} %; `--last {}` measures more",
            preset::GUARDED_PERMILLE / 10.0,
            preset::MANY_CHANGES
        );
    }
    for cost in &measured.costs {
        stopped_changes(&mut text, cost, measured);
    }
    let dearest = measured.costs.last().unwrap_or(first);
    dearest_rules(&mut text, dearest);
    text
}

fn unjudged(text: &mut String, cost: &Calibration) {
    let codes: std::collections::BTreeSet<&str> =
        cost.without_verdict.iter().flat_map(|change| &change.codes).map(|code| code.as_str()).collect();
    if !cost.without_verdict.is_empty() {
        let count = counted(cost.without_verdict.len(), "change");
        let codes: Vec<&str> = codes.into_iter().collect();
        let _ = writeln!(text, "  without a verdict: {count} ({})", codes.join(" "));
    }
}

/// Lists the changes that a preset would have stopped, and `default` would not.
fn stopped_changes(text: &mut String, cost: &Calibration, measured: &Measured) {
    let laxer = measured.cost(Preset::Default).filter(|_| cost.preset != Preset::Default);
    let is_new =
        |commit| laxer.is_none_or(|laxer| laxer.blocked.iter().all(|change| change.commit != commit));
    let changes: Vec<_> = cost.blocked.iter().filter(|change| is_new(change.commit.clone())).collect();
    if changes.is_empty() {
        return;
    }
    let preset = cost.preset.as_str();
    let besides = if laxer.is_some_and(|laxer| !laxer.blocked.is_empty()) { " besides" } else { "" };
    let _ = writeln!(text, "\nStopped by {preset}{besides}, newest first");
    for change in changes.iter().take(CHANGES_LISTED) {
        let subject = without_runner_commands(&change.subject);
        let _ = writeln!(text, "  {} {subject}", change.commit.short());
        for finding in change.findings.iter().take(FINDINGS_LISTED) {
            let place = sanitize_cut(&finding.file.to_text(), 120);
            let _ = writeln!(text, "      {} {place}:{}", finding.rule_id, finding.line);
        }
        let rest = change.blocking.saturating_sub(FINDINGS_LISTED as u64);
        if rest > 0 {
            let _ = writeln!(text, "      and {rest} more");
        }
    }
    let rest = changes.len().saturating_sub(CHANGES_LISTED);
    if rest > 0 {
        let head = shell_word(&measured.branch);
        let _ = writeln!(
            text,
            "  and {rest} more: qa-skill calibrate --preset {preset} --last {} --head {head}",
            measured.asked
        );
    }
}

/// Names the rules that stopped most changes, with the setting that makes each advise.
fn dearest_rules(text: &mut String, cost: &Calibration) {
    let rules: Vec<_> =
        cost.rules.iter().filter(|rule| rule.blocked_changes > 0).take(RULES_LISTED).collect();
    if rules.is_empty() {
        return;
    }
    let preset = cost.preset.as_str();
    let _ = writeln!(
        text,
        "\nRules that stopped most by {preset}; these lines in the policy would let each advise"
    );
    for rule in rules {
        let changes = counted(usize::try_from(rule.blocked_changes).unwrap_or(usize::MAX), "change");
        let _ = writeln!(
            text,
            "  [rules.\"{}\"]\n  strength = \"advise\"  # {changes}, {} by this rule alone",
            rule.rule_id, rule.blocked_alone
        );
    }
}

/// Renders the preset of the plan, and the files with what becomes of each.
pub(super) fn planned(plan: &Plan, proposed: Option<Preset>) -> String {
    let mut text = format!("\nPreset: {}", plan.preset.as_str());
    if let Some(proposed) = proposed {
        if plan.preset == proposed {
            text.push_str(" (proposed)\n");
        } else {
            let _ = writeln!(text, " (proposed: {})", proposed.as_str());
        }
        let _ = writeln!(text, "  rule: {}", preset::RULE);
    } else {
        text.push('\n');
    }
    if let Some(source) = &plan.source {
        let (pin, path) = (&source.pin, sanitize_cut(&source.path, 200));
        let _ = writeln!(text, "\nAction: {pin}, which {path} names; --uses chooses another commit");
    }
    text.push_str("\nFiles\n");
    text + &files(&plan.files)
}

/// Renders the options that write the planned files at once.
pub(super) fn without_measuring(preset: Preset) -> String {
    format!("\nTo write these files without measuring again, add --yes --preset {}.\n", preset.as_str())
}

/// Renders the way to the commit of the action, without which no workflow is written.
pub(super) fn missing_action() -> &'static str {
    "\nNothing is written without the commit of the action. To get it, where OWNER is\n\
     the account that this program is from:\n  \
     1. choose a release vX.Y.Z of https://github.com/OWNER/qa-skill/releases\n  \
     2. git ls-remote https://github.com/OWNER/qa-skill vX.Y.Z  prints COMMIT\n  \
     3. qa-skill init --uses OWNER/qa-skill@COMMIT  shows the plan and asks\n"
}

/// Renders the reason for a plan without workflows.
pub(super) fn other_forge(forge: Forge) -> &'static str {
    match forge {
        Forge::GitHub => "",
        Forge::GitLab => {
            "\nThe pipeline here is GitLab's, so no workflow of GitHub is written: docs/other-ci.md, \"GitLab\", has the job for \
             .gitlab-ci.yml.\nIf the repository is on GitHub as well, pass --uses.\n"
        }
    }
}

/// Renders files with what becomes of each.
pub(in crate::app) fn files(files: &[PlannedFile]) -> String {
    let mut text = String::new();
    for file in files {
        planned_file(&mut text, file);
    }
    text
}

fn planned_file(text: &mut String, file: &PlannedFile) {
    let path = sanitize(&file.path);
    match &file.step {
        Step::Create { text: new } => {
            let _ = writeln!(text, "  new        {path}");
            lines(text, "", new);
        }
        Step::Update { old, text: new } => {
            let _ = writeln!(text, "  changed    {path}");
            lines(text, old, new);
        }
        Step::Unchanged => {
            let _ = writeln!(text, "  unchanged  {path}");
        }
        Step::Leave { reason } => {
            let _ = writeln!(text, "  left       {path}: {reason}");
        }
        Step::Withhold { old, text: new } => {
            let _ = writeln!(text, "  withheld   {path}: COMMIT is not known");
            lines(text, old, new);
        }
    }
    if let Some(note) = &file.note {
        let _ = writeln!(text, "      note: {note}");
    }
}

/// Shows the removed and added lines of a file.
fn lines(text: &mut String, old: &str, new: &str) {
    let diff = diff_file(old.as_bytes(), new.as_bytes(), u64::MAX);
    let mut shown: Vec<String> = Vec::new();
    for cuts in &diff.text.cuts {
        let [before, removed, added] = [cuts.before, cuts.removed, cuts.added].map(|end| end as usize);
        let part = |range: std::ops::Range<usize>| diff.text.text.get(range).unwrap_or_default();
        shown.extend(part(before..removed).lines().map(|line| format!("-{}", sanitize(line))));
        shown.extend(part(removed..added).lines().map(|line| format!("+{}", sanitize(line))));
    }
    for line in shown.iter().take(LINES_SHOWN) {
        let _ = writeln!(text, "      {}", without_runner_commands(line));
    }
    let rest = shown.len().saturating_sub(LINES_SHOWN);
    if rest > 0 {
        let _ = writeln!(text, "      and {} more", counted(rest, "line"));
    }
}

/// Renders the question before files are written.
pub(super) fn question(count: usize) -> String {
    match count {
        1 => "Write this file? [y/N] ".to_owned(),
        count => format!("Write these {count} files? [y/N] "),
    }
}

/// Facts that the steps left to the person depend on.
pub(super) struct NextSteps {
    pub(super) forge: Forge,
    /// True if the configuration of pre-commit has the hook.
    pub(super) has_hook: bool,
}

/// Renders the steps that are left to the person.
pub(super) fn next_steps(written: usize, inventory: &Inventory, steps: &NextSteps) -> String {
    let mut text = format!("\nWrote {}. Next:\n", counted(written, "file"));
    let hook = steps.has_hook.then_some(&"in each clone with qa-skill installed: `pre-commit install`");
    for (number, words) in (1..).zip(steps_of(steps.forge).iter().chain(hook)) {
        let _ = writeln!(text, "  {number}. {words}");
    }
    let readable: Vec<&str> =
        inventory.tools.iter().filter(|tool| has_reader(tool)).map(|tool| tool.name).collect();
    if !readable.is_empty() {
        let _ = writeln!(
            text,
            "Reports of {} can decide too; docs/gates-ci.md has the steps.",
            readable.join(", ")
        );
    }
    text
}

fn steps_of(forge: Forge) -> &'static [&'static str] {
    match forge {
        Forge::GitHub => &[
            "commit the files on a branch, push it and open a pull request",
            "merge it: the policy of the base branch is the one in force",
            "make the job `qa-skill` a required status check, not `qa-skill verdict`",
            "`qa-skill doctor --repository` names the ways around the gate still open",
        ],
        Forge::GitLab => &[
            "add the job of docs/other-ci.md, \"GitLab\", to .gitlab-ci.yml",
            "commit the files on a branch, push it and open a merge request",
            "merge it: the policy of the target branch is the one in force",
            "let merge requests be merged only where their pipeline succeeded",
            "let a pipeline execution policy keep the job",
        ],
    }
}

fn has_reader(tool: &FoundTool) -> bool {
    tool.gate.is_some()
}
