//! Rules of the default branch: which status checks it requires, and whether it has a merge queue.

use std::collections::BTreeMap;

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
    #[serde(default)]
    require_code_owner_review: bool,
}

#[derive(Deserialize)]
struct RequiredCheck {
    context: String,
    /// Of rulesets.
    #[serde(default)]
    integration_id: Option<i64>,
    /// Of the classic protection.
    #[serde(default)]
    app_id: Option<i64>,
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
    enabled: bool,
    #[serde(default)]
    required_status_checks: Option<ClassicChecks>,
}

#[derive(Deserialize)]
struct ClassicChecks {
    #[serde(default)]
    enforcement_level: String,
    #[serde(default)]
    contexts: Vec<String>,
    #[serde(default)]
    checks: Vec<RequiredCheck>,
}

impl GitHub {
    /// Returns the rules of rulesets and of the classic protection together.
    pub(crate) fn branch_rules(&self) -> Result<BranchRules, PublishError> {
        self.client.with_retries(READ, || {
            let repository: Repository = self.client.request_json(READ, Method::Get, "", None)?;
            let encoded = encoded(&repository.default_branch);
            let rules =
                self.client.list(READ, &format!("/rules/branches/{encoded}"), |page: Vec<Rule>| page)?;
            let classic: Branch =
                self.client.request_json(READ, Method::Get, &format!("/branches/{encoded}"), None)?;
            let protection = classic.protection.filter(|protection| protection.enabled);
            let has_merge_queue = rules.iter().any(|rule| rule.kind == "merge_queue");
            let parameters: Vec<Parameters> = rules.into_iter().filter_map(|rule| rule.parameters).collect();
            let requires_owners = match parameters.iter().any(|rule| rule.require_code_owner_review) {
                true => Some(true),
                false if protection.is_some() => None,
                false => Some(false),
            };
            let mut required = BTreeMap::new();
            let classic = protection.and_then(|protection| protection.required_status_checks);
            for checks in classic.into_iter().filter(|checks| checks.enforcement_level != "off") {
                required.extend(checks.contexts.into_iter().map(|context| (context, false)));
                let bound = checks.checks.into_iter();
                required.extend(bound.map(|check| (check.context, check.app_id.is_some_and(|app| app > 0))));
            }
            for check in parameters.into_iter().flat_map(|parameters| parameters.required_status_checks) {
                *required.entry(check.context).or_insert(false) |= check.integration_id.is_some();
            }
            let branch = repository.default_branch;
            Ok(BranchRules { branch, required, has_merge_queue, requires_owners })
        })
    }
}
