//! Finds our own texts in a conversation: one comment of a pull request, or one open issue, by a marker and the author.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};

use super::GitHub;
use super::client::{Operation, encoded};
use super::error::{Permission, PublishError, Trouble};
use super::limits::{self, MAX_TITLE};
use qa_run::http::Method;

const COMMENT: Operation = Operation { what: "comment on the pull request", needs: Permission::PullRequests };
/// The line of an issue's body that remembers problems.
const PROBLEMS: &str = "<!-- problems: ";
const END: &str = " -->";
/// Number of problem ids stored in an issue. More do not fit into its body beside the report.
const MAX_PROBLEMS: usize = 1000;
const ISSUE: Operation = Operation { what: "report drift in an issue", needs: Permission::Issues };

/// Identifies our own texts: those that begin with the marker as their first line and are by the author. Anyone can
/// write the marker, and the author can write other texts; only both together prove that a text is ours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ownership<'a> {
    /// An HTML comment on one line.
    pub(crate) marker: &'a str,
    /// The account the token belongs to, for example `github-actions[bot]`.
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
    /// Only issues with all of them are looked through; who takes one off has taken the issue over.
    pub(crate) labels: &'a [&'a str],
    /// Ids of what is wrong, words of hexadecimal digits.
    pub(crate) problems: &'a BTreeSet<String>,
}

impl DriftIssue<'_> {
    /// The body with its marker and the problems of this night and of those before.
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
    /// It said the same already.
    Unchanged,
}

/// A comment or an issue as it is listed.
#[derive(Debug, Deserialize)]
struct Entry {
    /// Of a comment.
    id: u64,
    /// Of an issue.
    #[serde(default)]
    number: u64,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    body: Option<String>,
    /// Null when the account is gone.
    #[serde(default)]
    user: Option<User>,
    /// Lists of issues hold pull requests too; those have this.
    #[serde(default)]
    pull_request: Option<Value>,
    /// `open` or `closed`, of an issue.
    #[serde(default)]
    state: Option<String>,
}

impl Entry {
    fn is_open(&self) -> bool {
        self.state.as_deref() != Some("closed")
    }

    /// The problems that an issue of ours remembers.
    fn problems(&self) -> BTreeSet<String> {
        let lines = self.body.as_deref().unwrap_or_default().lines();
        let mut remembered =
            lines.filter_map(|line| line.strip_prefix(PROBLEMS)?.trim_end().strip_suffix(END));
        remembered
            .next()
            .unwrap_or_default()
            .split(' ')
            .filter(|id| !id.is_empty())
            .map(str::to_owned)
            .collect()
    }
}

#[derive(Debug, Deserialize)]
struct User {
    login: String,
}

impl Ownership<'_> {
    fn holds(&self, entry: &Entry) -> bool {
        let author =
            entry.user.as_ref().is_some_and(|user| user.login.eq_ignore_ascii_case(self.author_login));
        let text = entry.body.as_deref().unwrap_or_default();
        let rest = text.strip_prefix(self.marker);
        author
            && entry.pull_request.is_none()
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['\n', '\r']))
    }

    fn sign(&self, body: &str) -> String {
        limits::markdown(&format!("{}\n{body}", self.marker))
    }
}

impl GitHub {
    /// Makes or updates the comment, so that there is exactly one of ours.
    pub(crate) fn sticky_comment(&self, comment: &StickyComment<'_>) -> Result<Posted, PublishError> {
        let body = comment.ownership.sign(comment.body);
        let change = json!({ "body": body });
        let list = format!("/issues/{}/comments", comment.number);
        self.client.persist(COMMENT, || {
            let mut ours = self.ours(COMMENT, &list, comment.ownership)?;
            if ours.is_empty() {
                let _made: Entry = self.client.ask(COMMENT, Method::Post, &list, Some(&change))?;
                return Ok(Posted::Created);
            }
            // Two can only come from two runs at once; the oldest stays where people answered to it.
            for extra in ours.split_off(1) {
                self.remove_comment(extra.id)?;
            }
            if same_text(ours[0].body.as_deref(), &body) {
                return Ok(Posted::Unchanged);
            }
            let route = format!("/issues/comments/{}", ours[0].id);
            let _changed: Entry = self.client.ask(COMMENT, Method::Patch, &route, Some(&change))?;
            Ok(Posted::Updated)
        })
    }

    /// Opens or updates the issue, which remembers its problems. Whoever closes it has seen those: they open none again,
    /// and another problem does.
    pub(crate) fn drift_issue(&self, issue: &DriftIssue<'_>) -> Result<Posted, PublishError> {
        let title = limits::plain(issue.title, MAX_TITLE);
        let labels = encoded(&issue.labels.join(","));
        let list = format!("/issues?state=all&sort=created&direction=asc&labels={labels}");
        self.client.persist(ISSUE, || {
            let ours = self.ours(ISSUE, &list, issue.ownership)?;
            let (open, closed): (Vec<&Entry>, Vec<&Entry>) = ours.iter().partition(|entry| entry.is_open());
            let known: BTreeSet<String> = closed.iter().flat_map(|entry| entry.problems()).collect();
            let Some(first) = open.first() else {
                if !issue.problems.is_empty() && issue.problems.is_subset(&known) {
                    return Ok(Posted::Unchanged);
                }
                let body = issue.signed(&BTreeSet::new());
                let new = json!({ "title": title, "body": body, "labels": issue.labels });
                let _made: Entry = self.client.ask(ISSUE, Method::Post, "/issues", Some(&new))?;
                return Ok(Posted::Created);
            };
            let body = issue.signed(&first.problems());
            if same_text(first.body.as_deref(), &body) && first.title.as_deref() == Some(title.as_str()) {
                return Ok(Posted::Unchanged);
            }
            let change = json!({ "title": title, "body": body });
            let route = format!("/issues/{}", first.number);
            let _changed: Entry = self.client.ask(ISSUE, Method::Patch, &route, Some(&change))?;
            Ok(Posted::Updated)
        })
    }

    /// Returns our own texts in a list, oldest first.
    fn ours(
        &self,
        operation: Operation,
        list: &str,
        ownership: Ownership<'_>,
    ) -> Result<Vec<Entry>, Trouble> {
        let all = self.client.list(operation, list, |page: Vec<Entry>| page)?;
        let mut ours: Vec<Entry> = all.into_iter().filter(|entry| ownership.holds(entry)).collect();
        ours.sort_by_key(|entry| entry.id);
        Ok(ours)
    }

    fn remove_comment(&self, id: u64) -> Result<(), Trouble> {
        let route = format!("/issues/comments/{id}");
        match self.client.send(COMMENT, Method::Delete, &route, None) {
            // An earlier attempt removed it, and its answer was lost.
            Err(Trouble::Final(PublishError::Forbidden { status: 404, .. })) => Ok(()),
            other => other.map(drop),
        }
    }
}

/// Returns whether a text is as intended, whatever a server does to line ends.
fn same_text(there: Option<&str>, wanted: &str) -> bool {
    there.is_some_and(|there| there.replace("\r\n", "\n").trim_end() == wanted.trim_end())
}
