//! Compares the policy of the working tree with the one in force, setting by setting.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::inputs::{Request, policy_in_file};
use qa_contracts::v1::{Registry, Scope, ScopeStrengths};
use qa_core::escape::visible;
use qa_core::masking::sanitize_cut;
use qa_core::policy::weakening::weakened;
use qa_core::policy::{POLICY_PATH, Policy, in_scope};
use qa_formats::counted;

/// Number of differences that are listed.
const LISTED: usize = 40;

/// The policy in force, with the text of its file.
pub(super) struct InForce<'a> {
    pub(super) policy: &'a Policy,
    /// `None` where the base has no policy file.
    pub(super) text: Option<&'a str>,
}

impl InForce<'_> {
    /// Describes how the policy file of a checkout differs from the one in force; `None` where it does not, or there is no
    /// checkout.
    pub(super) fn describe_working_tree(
        &self,
        root: &Path,
        request: &Request,
        registry: &Registry,
    ) -> Option<String> {
        std::fs::symlink_metadata(root.join(".git")).ok()?;
        let path = root.join(POLICY_PATH);
        if std::fs::symlink_metadata(&path).is_err() {
            self.text?;
            return Some(format!(
                "\nThe working tree has no {POLICY_PATH}. The one of the base stays in force until its removal is merged.\n"
            ));
        }
        let file = match policy_in_file(&path, &request.overrides, registry) {
            Ok(file) => file,
            Err(failure) => {
                return Some(format!(
                    "\nThe {POLICY_PATH} of the working tree is not in force, and cannot be: {}\n",
                    visible(&failure.message)
                ));
            }
        };
        let differences = differences(self.policy, &file.policy);
        if differences.is_empty() {
            return None;
        }
        let weaker = weakened(self.policy, &file.policy).len();
        Some(render(&differences, weaker))
    }
}

/// A setting with its values.
struct Difference {
    name: String,
    in_force: String,
    working_tree: String,
}

fn render(differences: &[Difference], weaker: usize) -> String {
    let mut text = format!(
        "\nThe {POLICY_PATH} of the working tree is not the one in force: it is once it is on the base branch.\n\
         {} would change, {weaker} of them weakened:\n",
        counted(differences.len(), "setting")
    );
    for Difference { name, in_force, working_tree } in differences.iter().take(LISTED) {
        text.push_str(&format!("  {name}: {in_force} -> {working_tree}\n"));
    }
    let rest = differences.len().saturating_sub(LISTED);
    if rest > 0 {
        text.push_str(&format!(
            "  and {rest} more; `qa-skill policy-check --file {POLICY_PATH}` shows that policy\n"
        ));
    }
    text
}

fn differences(in_force: &Policy, working_tree: &Policy) -> Vec<Difference> {
    let (in_force, working_tree) = (values(in_force), values(working_tree));
    let names: BTreeSet<&String> = in_force.keys().chain(working_tree.keys()).collect();
    let differing = names.into_iter().filter(|name| in_force.get(*name) != working_tree.get(*name));
    differing
        .map(|name| Difference {
            name: visible(name),
            in_force: shown(in_force.get(name)),
            working_tree: shown(working_tree.get(name)),
        })
        .collect()
}

fn shown(value: Option<&String>) -> String {
    match value {
        Some(value) if !value.is_empty() => sanitize_cut(value, 120),
        Some(_) | None => "none".to_owned(),
    }
}

/// Returns the settings of a policy as text, by names like those in its file.
fn values(policy: &Policy) -> BTreeMap<String, String> {
    let mut values: BTreeMap<String, String> =
        policy.settings.iter().map(|setting| (setting.name.clone(), setting.value.clone())).collect();
    for (id, strengths) in &policy.rules {
        values.insert(format!("rules.{id}"), describe_strengths(strengths));
    }
    // What has a table of its own is compared as a whole.
    let whole = serde_json::to_value(policy).unwrap_or_default();
    for (member, name) in [
        ("lenses", "lenses"),
        ("gates", "gates"),
        ("models", "models"),
        ("execution", "execution"),
        ("scopes", "scopes"),
        ("observer", "observer"),
        ("consistency", "consistency"),
        ("importBoundaries", "import-boundary"),
    ] {
        match whole.get(member) {
            Some(Value::Object(members)) => {
                values
                    .extend(members.iter().map(|(key, value)| (format!("{name}.{key}"), value.to_string())));
            }
            Some(Value::Null) | None => {}
            Some(value) => {
                values.insert(name.to_owned(), value.to_string());
            }
        }
    }
    values
}

/// Returns the strength of a rule, or one for each kind of file where they differ.
fn describe_strengths(strengths: &ScopeStrengths) -> String {
    let first = in_scope(strengths, Scope::Product);
    if Scope::ALL.iter().all(|scope| in_scope(strengths, *scope) == first) {
        return first.as_str().to_owned();
    }
    let words = Scope::ALL.iter().map(|scope| format!("{scope} {}", in_scope(strengths, *scope).as_str()));
    words.collect::<Vec<_>>().join(", ")
}
