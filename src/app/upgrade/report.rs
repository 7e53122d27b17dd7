//! Renders the difference of two versions as text.

use std::fmt::Write;

use qa_contracts::v1::{ComparedChange, RuleUpgrade, Upgrade};
use qa_core::escape::visible;
use qa_core::masking::sanitize_cut;
use qa_formats::counted;

/// Number of changes that are listed of a rule, and of those that are not compared.
const LISTED: usize = 10;

pub(super) fn render_text(upgrade: &Upgrade) -> String {
    let changes = usize::try_from(upgrade.changes).unwrap_or(usize::MAX);
    let mut text = format!(
        "{} up to {}, judged by {} (preset {})\n\nfrom {}\nto   {}\n\n",
        counted(changes, "merged change"),
        upgrade.head_sha.short(),
        upgrade.policy,
        upgrade.preset.as_str(),
        sanitize_cut(&upgrade.from_engine, 120),
        upgrade.to_engine,
    );
    let newly: usize = upgrade.rules.iter().map(|rule| rule.newly_blocked.len()).sum();
    let no_longer: usize = upgrade.rules.iter().map(|rule| rule.no_longer_blocked.len()).sum();
    let same: u64 = upgrade.rules.iter().map(|rule| rule.blocked_in_both).sum();
    let _ = writeln!(text, "newly blocks       {newly}");
    let _ = writeln!(text, "no longer blocks   {no_longer}");
    let _ = writeln!(text, "blocks in both     {same}");
    let _ = writeln!(text, "not compared       {}", upgrade.not_compared.len());
    text.push_str("Each is a rule at a change. Quality gates and reviews are not included.\n");
    upgrade.rules.iter().for_each(|rule| push_rule(&mut text, rule));
    if !upgrade.not_compared.is_empty() {
        text.push_str("\nWithout a verdict of both versions, so not compared:\n");
        push_changes(&mut text, "  ", &upgrade.not_compared);
    }
    if !upgrade.lenses.is_empty() {
        text.push_str("\nLenses with another version:\n");
    }
    for lens in &upgrade.lenses {
        let [from, to] = [&lens.from, &lens.to].map(|version| match version {
            Some(version) => sanitize_cut(version, 20),
            None => "none".to_owned(),
        });
        let _ = writeln!(text, "  {:<32} {from} -> {to}", sanitize_cut(&lens.lens_id, 60));
    }
    if let Some(pinned) = &upgrade.pinned {
        let name = pinned.split('@').next().unwrap_or_default();
        let _ = writeln!(
            text,
            "\nThe workflow here uses {}. To move it to the commit of the new release:\n  qa-skill init --uses {}@COMMIT",
            visible(pinned),
            visible(name)
        );
    }
    text
}

fn push_rule(text: &mut String, rule: &RuleUpgrade) {
    let name = match &rule.rule_id {
        Some(id) => sanitize_cut(id, 100),
        None => "a required lens failed".to_owned(),
    };
    let (before, now) = (rule.advisory_before, rule.advisory_now);
    let _ = writeln!(
        text,
        "\n{name}: blocks {} in both, advisory findings {before} -> {now}",
        rule.blocked_in_both
    );
    for (word, changes) in
        [("newly blocked", &rule.newly_blocked), ("no longer blocked", &rule.no_longer_blocked)]
    {
        if !changes.is_empty() {
            let _ = writeln!(text, "  {word}:");
            push_changes(text, "    ", changes);
        }
    }
}

fn push_changes(text: &mut String, indent: &str, changes: &[ComparedChange]) {
    for change in changes.iter().take(LISTED) {
        let _ = writeln!(text, "{indent}{} {}", change.commit.short(), sanitize_cut(&change.subject, 120));
    }
    let rest = changes.len().saturating_sub(LISTED);
    if rest > 0 {
        let _ = writeln!(text, "{indent}… and {rest} more");
    }
}
