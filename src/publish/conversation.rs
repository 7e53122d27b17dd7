//! The one comment of a pull request and the one issue about drift, identified by a marker and their author.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};

use super::GitHub;
use super::client::{Operation, encoded};
use super::error::{AttemptError, Permission, PublishError};
use super::limits::{self, MAX_TITLE};
use qa_run::http::Method;

const COMMENT: Operation = Operation { what: "comment on the pull request", needs: Permission::PullRequests };
/// Prefix of the line in an issue's body that stores the ids of problems.
const PROBLEMS: &str = "<!-- problems: ";
const END: &str = " -->";
/// Maximum number of problem ids in an issue's body, which holds the report as well.
const MAX_PROBLEMS: usize = 1000;
const ISSUE: Operation = Operation { what: "report drift in an issue", needs: Permission::Issues };

/// Identifies texts of this program: their first line is the marker and they are by the author. Either alone is not enough,
/// since anyone can write the marker, and the author can write other texts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ownership<'a> {
    /// An HTML comment on one line.
    pub(crate) marker: &'a str,
    /// The token's account, for example `github-actions[bot]`.
    pub(crate) author_login: &'a str,
}

/// The one comment of a pull request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StickyComment<'a> {
    pub(crate) number: u64,
    pub(crate) ownership: Ownership<'a>,
    /// Markdown, without the marker.
    pub(crate) body: &'a str,
}

/// The one open issue about drift.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DriftIssue<'a> {
    pub(crate) ownership: Ownership<'a>,
    pub(crate) title: &'a str,
    /// Markdown, without the marker.
    pub(crate) body: &'a str,
    /// Labels of the issue. Issues without all of them are ignored, so removing one hands the issue over to a person.
    pub(crate) labels: &'a [&'a str],
    /// Ids of problems, as hexadecimal digits.
    pub(crate) problems: &'a BTreeSet<String>,
}

impl DriftIssue<'_> {
    /// Returns the body with its marker, the current problems and those of earlier nights.
    fn signed(&self, before: &BTreeSet<String>) -> String {
        let problems: Vec<&str> =
            self.problems.union(before).map(String::as_str).take(MAX_PROBLEMS).collect();
        self.ownership.sign(&format!("{PROBLEMS}{}{END}\n{}", problems.join(" "), self.body))
    }
}

/// Outcome of a comment or an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Posted {
    Created,
    Updated,
    /// The existing text is equal.
    Unchanged,
}

/// A comment or an issue, as the API lists it.
#[derive(Debug, Deserialize)]
pub(super) struct Entry {
    /// Id of a comment.
    id: u64,
    /// Number of an issue.
    #[serde(default)]
    number: u64,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    body: Option<String>,
    /// `None` if the account was deleted.
    #[serde(default)]
    user: Option<User>,
    /// Present for pull requests, which lists of issues include.
    #[serde(default)]
    pull_request: Option<Value>,
    /// State of an issue, `open` or `closed`.
    #[serde(default)]
    state: Option<String>,
}

impl Entry {
    fn is_open(&self) -> bool {
        self.state.as_deref() != Some("closed")
    }

    /// Returns the ids of problems in an issue's body.
    fn problems(&self) -> BTreeSet<String> {
        let lines = self.body.as_deref().unwrap_or_default().lines();
        let mut stored = lines.filter_map(|line| line.strip_prefix(PROBLEMS)?.trim_end().strip_suffix(END));
        stored.next().unwrap_or_default().split(' ').filter(|id| !id.is_empty()).map(str::to_owned).collect()
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct User {
    pub(super) login: String,
}

impl Ownership<'_> {
    pub(super) fn owns(&self, entry: &Entry) -> bool {
        let Some(user) = &entry.user else { return false };
        user.login.eq_ignore_ascii_case(self.author_login)
            && entry.pull_request.is_none()
            && self.is_marked(entry)
    }

    /// Returns whether a text begins with the marker, whoever wrote it.
    pub(super) fn is_marked(&self, entry: &Entry) -> bool {
        let text = entry.body.as_deref().unwrap_or_default();
        let rest = text.strip_prefix(self.marker);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['\n', '\r']))
    }

    pub(super) fn sign(&self, body: &str) -> String {
        limits::markdown(&format!("{}\n{body}", self.marker))
    }
}

impl GitHub {
    /// Creates or updates the comment, and removes duplicates of it.
    pub(crate) fn sticky_comment(&self, comment: &StickyComment<'_>) -> Result<Posted, PublishError> {
        let body = comment.ownership.sign(comment.body);
        let change = json!({ "body": body });
        let list = format!("/issues/{}/comments", comment.number);
        self.client.with_retries(COMMENT, || {
            let mut owned = self.owned(COMMENT, &list, comment.ownership)?;
            if owned.is_empty() {
                let _created: Entry =
                    self.client.request_json(COMMENT, Method::Post, &list, Some(&change))?;
                return Ok(Posted::Created);
            }
            // Two concurrent runs may have created two; the oldest is kept, since people may have answered to it.
            for extra in owned.split_off(1) {
                self.remove_comment(extra.id)?;
            }
            if same_text(owned[0].body.as_deref(), &body) {
                return Ok(Posted::Unchanged);
            }
            let route = format!("/issues/comments/{}", owned[0].id);
            let _updated: Entry = self.client.request_json(COMMENT, Method::Patch, &route, Some(&change))?;
            Ok(Posted::Updated)
        })
    }

    /// Returns whether a pull request has an owned comment.
    pub(crate) fn has_comment(&self, number: u64, ownership: Ownership<'_>) -> Result<bool, PublishError> {
        let list = format!("/issues/{number}/comments");
        self.client.with_retries(COMMENT, || Ok(!self.owned(COMMENT, &list, ownership)?.is_empty()))
    }

    /// Opens or updates the issue. Problems of a closed issue do not open another one; new problems do.
    pub(crate) fn drift_issue(&self, issue: &DriftIssue<'_>) -> Result<Posted, PublishError> {
        let title = limits::plain(issue.title, MAX_TITLE);
        let labels = encoded(&issue.labels.join(","));
        let list = format!("/issues?state=all&sort=created&direction=asc&labels={labels}");
        self.client.with_retries(ISSUE, || {
            let owned = self.owned(ISSUE, &list, issue.ownership)?;
            let (open, closed): (Vec<&Entry>, Vec<&Entry>) = owned.iter().partition(|entry| entry.is_open());
            let known: BTreeSet<String> = closed.iter().flat_map(|entry| entry.problems()).collect();
            let Some(first) = open.first() else {
                if !issue.problems.is_empty() && issue.problems.is_subset(&known) {
                    return Ok(Posted::Unchanged);
                }
                let body = issue.signed(&BTreeSet::new());
                let new = json!({ "title": title, "body": body, "labels": issue.labels });
                let _created: Entry = self.client.request_json(ISSUE, Method::Post, "/issues", Some(&new))?;
                return Ok(Posted::Created);
            };
            let body = issue.signed(&first.problems());
            if same_text(first.body.as_deref(), &body) && first.title.as_deref() == Some(title.as_str()) {
                return Ok(Posted::Unchanged);
            }
            let change = json!({ "title": title, "body": body });
            let route = format!("/issues/{}", first.number);
            let _updated: Entry = self.client.request_json(ISSUE, Method::Patch, &route, Some(&change))?;
            Ok(Posted::Updated)
        })
    }

    /// Returns the owned texts of a list, oldest first.
    fn owned(
        &self,
        operation: Operation,
        list: &str,
        ownership: Ownership<'_>,
    ) -> Result<Vec<Entry>, AttemptError> {
        let all = self.client.list(operation, list, |page: Vec<Entry>| page)?;
        let mut owned: Vec<Entry> = all.into_iter().filter(|entry| ownership.owns(entry)).collect();
        owned.sort_by_key(|entry| entry.id);
        Ok(owned)
    }

    fn remove_comment(&self, id: u64) -> Result<(), AttemptError> {
        let route = format!("/issues/comments/{id}");
        match self.client.send(COMMENT, Method::Delete, &route, None) {
            // An earlier attempt without a response removed it.
            Err(AttemptError::Final(PublishError::Forbidden { status: 404, .. })) => Ok(()),
            other => other.map(drop),
        }
    }
}

/// Returns whether two texts are equal except for line ends, which servers change.
fn same_text(existing: Option<&str>, wanted: &str) -> bool {
    let Some(existing) = existing else { return false };
    existing.replace("\r\n", "\n").trim_end() == wanted.trim_end()
}
