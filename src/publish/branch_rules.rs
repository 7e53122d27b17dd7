//! Rules of the default branch: which status checks it requires, and whether it has a merge queue.

use serde::Deserialize;

use super::client::{Operation, encoded};
use super::error::Permission;
use super::{GitHub, PublishError};
use qa_run::http::Method;
use qa_run::setup::BranchRules;

const READ: Operation =
    Operation { what: "read the rules of the default branch", needs: Permission::Contents };

#[derive(Deserialize)]
struct Repository {
    default_branch: String,
}

/// A rule of a ruleset.
#[derive(Deserialize)]
struct Rule {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    parameters: Option<Parameters>,
}

#[derive(Deserialize)]
struct Parameters {
    #[serde(default)]
    required_status_checks: Vec<RequiredCheck>,
}

#[derive(Deserialize)]
struct RequiredCheck {
    context: String,
}

/// A branch with its classic protection.
#[derive(Deserialize)]
struct Branch {
    #[serde(default)]
    protection: Option<Protection>,
}

#[derive(Deserialize)]
struct Protection {
    #[serde(default)]
    required_status_checks: Option<ClassicChecks>,
}

#[derive(Deserialize)]
struct ClassicChecks {
    #[serde(default)]
    contexts: Vec<String>,
}

impl GitHub {
    /// Returns the rules of rulesets and of the classic protection together.
    pub(crate) fn branch_rules(&self) -> Result<BranchRules, PublishError> {
        self.client.with_retries(READ, || {
            let repository: Repository = self.client.request_json(READ, Method::Get, "", None)?;
            let branch = encoded(&repository.default_branch);
            let rules =
                self.client.list(READ, &format!("/rules/branches/{branch}"), |page: Vec<Rule>| page)?;
            let classic: Branch =
                self.client.request_json(READ, Method::Get, &format!("/branches/{branch}"), None)?;
            let has_merge_queue = rules.iter().any(|rule| rule.kind == "merge_queue");
            let checks = rules.into_iter().filter_map(|rule| rule.parameters);
            let checks = checks.flat_map(|parameters| parameters.required_status_checks);
            let classic = classic.protection.and_then(|protection| protection.required_status_checks);
            let classic = classic.into_iter().flat_map(|checks| checks.contexts);
            let required = checks.map(|check| check.context).chain(classic).collect();
            Ok(BranchRules { required, has_merge_queue })
        })
    }
}
