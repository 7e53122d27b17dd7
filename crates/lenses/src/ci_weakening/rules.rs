//! Rules of GitLab that decide whether a job runs for a change, and whether its failure counts.

use qa_reading::documents::Node;

use super::commands::Effect;
use super::pipeline::is_never;
use crate::pattern::Pattern;

/// Variables that are set in every pipeline.
static ALWAYS: Pattern = Pattern::new(
    r#"^\$\{?(?:CI|GITLAB_CI|CI_COMMIT_(?:SHA|REF_NAME|REF_SLUG|SHORT_SHA)|CI_PIPELINE_(?:ID|IID|SOURCE|URL)|CI_JOB_(?:ID|NAME|TOKEN)|CI_PROJECT_(?:ID|NAME|PATH|URL)|CI_SERVER)\}?(?:\s*(?:==\s*["']true["']|!=\s*(?:null|["'](?:disabled|never|nobody|none)?["'])|=~\s*/(?:\.\*|\.)?/))?$"#,
);

/// Two texts that are written out.
static TEXTS: Pattern = Pattern::new(r#"^["']([^"']*)["']\s*(==|!=)\s*["']([^"']*)["']$"#);

/// Conditions of pipelines that no change starts.
static OF_OTHER_EVENTS: Pattern = Pattern::new(
    r#"CI_PIPELINE_SOURCE\}?\s*==\s*["'](?:api|chat|external|ondemand_dast_scan|parent_pipeline|pipeline|schedule|trigger|web|webide)["']|\$CI_COMMIT_TAG(?:$|\s*(?:=~|&&|!=))"#,
);

/// Conditions of pipelines of merge requests.
static OF_CHANGES: Pattern = Pattern::new(
    r#"merge_request_event|external_pull_request_event|CI_MERGE_REQUEST_I?ID|CI_OPEN_MERGE_REQUESTS"#,
);

/// Returns what a list of rules does to its job: the first one that holds counts.
pub(super) fn effect(rules: Node<'_>) -> Option<Effect> {
    let mut live: Vec<Node<'_>> = Vec::new();
    let mut count = 0;
    for rule in rules.items() {
        count += 1;
        if !rule.get("if").is_some_and(is_never) {
            live.push(rule);
        }
        if holds_always(rule) {
            break;
        }
    }
    if count == 0 {
        return None;
    }
    if live.iter().all(|rule| never_runs(*rule)) {
        return Some(Effect::Never);
    }
    live.iter().filter_map(|rule| effect_of_rule(*rule)).max()
}

fn never_runs(rule: Node<'_>) -> bool {
    matches!(rule.get("when").and_then(Node::text), Some("never" | "manual"))
}

/// Returns whether a rule holds in every pipeline.
fn holds_always(rule: Node<'_>) -> bool {
    if !rule.is_map() || ["changes", "exists"].iter().any(|name| rule.get(name).is_some()) {
        return false;
    }
    let Some(condition) = rule.get("if") else { return true };
    let text = condition.text().unwrap_or_default().trim();
    let are_equal = TEXTS.captures(text).is_some_and(|groups| {
        (groups.get(1).map(|side| side.as_str()) == groups.get(3).map(|side| side.as_str()))
            == groups.get(2).is_some_and(|sign| sign.as_str() == "==")
    });
    condition.flag() == Some(true) || are_equal || ALWAYS.is_match(text)
}

/// Returns what a rule does to the failure of its job in pipelines of changes.
fn effect_of_rule(rule: Node<'_>) -> Option<Effect> {
    let allowed = rule.get("allow_failure")?;
    let is_allowed = allowed.flag() == Some(true) || allowed.get("exit_codes").is_some();
    let condition = rule.get("if").and_then(Node::text).unwrap_or_default();
    if !is_allowed || never_runs(rule) || OF_OTHER_EVENTS.is_match(condition) {
        None
    } else if condition.is_empty() || OF_CHANGES.is_match(condition) || holds_always(rule) {
        Some(Effect::Ignored)
    } else {
        Some(Effect::Excused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_what_they_are_for() {
        ALWAYS.check();
        TEXTS.check();
        OF_OTHER_EVENTS.check();
        OF_CHANGES.check();
    }
}
