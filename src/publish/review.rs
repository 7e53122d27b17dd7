//! Reviews of a pull request that suggest edits, each of which is posted once.

use serde::Deserialize;
use serde_json::{Value, json};

use super::GitHub;
use super::client::Operation;
use super::conversation::{Entry, Ownership};
use super::error::{Permission, PublishError};
use qa_contracts::ids::CommitId;
use qa_formats::suggestion::Suggestion;
use qa_run::http::Method;

const SUGGEST: Operation =
    Operation { what: "suggest edits on the pull request", needs: Permission::PullRequests };

/// Suggestions for one head of a pull request.
pub(crate) struct Review<'a> {
    pub(crate) number: u64,
    /// Commit whose lines they replace.
    pub(crate) head: &'a CommitId,
    /// The token's account.
    pub(crate) author_login: &'a str,
    /// Markdown above the suggestions, which GitHub requires.
    pub(crate) body: &'a str,
    pub(crate) suggestions: &'a [Suggestion],
}

/// Outcome of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reviewed {
    /// Number of new suggestions; 0 where all exist, and nothing was posted.
    Posted(usize),
    /// The pull request has another head, so nothing was posted.
    HeadMoved,
}

#[derive(Deserialize)]
struct Pull {
    head: Head,
}

#[derive(Deserialize)]
struct Head {
    sha: String,
}

impl GitHub {
    /// Posts the suggestions that the pull request does not have in one review. Each attempt lists the existing ones first, also
    /// resolved ones and those that later pushes made outdated.
    pub(crate) fn suggest(&self, review: &Review<'_>) -> Result<Reviewed, PublishError> {
        let pull = format!("/pulls/{}", review.number);
        self.client.with_retries(SUGGEST, || {
            let now: Pull = self.client.request_json(SUGGEST, Method::Get, &pull, None)?;
            if now.head.sha != review.head.as_str() {
                return Ok(Reviewed::HeadMoved);
            }
            let list = format!("{pull}/comments");
            let existing = self.client.list(SUGGEST, &list, |page: Vec<Entry>| page)?;
            let new = review.suggestions.iter().filter(|suggestion| {
                let ownership = ownership(review, suggestion);
                !existing.iter().any(|entry| ownership.owns(entry))
            });
            let comments: Vec<Value> = new.map(|suggestion| comment(review, suggestion)).collect();
            if !comments.is_empty() {
                let new = json!({
                    "commit_id": review.head, "event": "COMMENT", "body": review.body, "comments": comments,
                });
                self.client.send(SUGGEST, Method::Post, &format!("{pull}/reviews"), Some(&new))?;
            }
            Ok(Reviewed::Posted(comments.len()))
        })
    }
}

fn ownership<'a>(review: &Review<'a>, suggestion: &'a Suggestion) -> Ownership<'a> {
    Ownership { marker: &suggestion.marker, author_login: review.author_login }
}

/// Returns a suggestion as GitHub takes it: a range only where it has more than one line.
fn comment(review: &Review<'_>, suggestion: &Suggestion) -> Value {
    let Suggestion { path, lines, body, .. } = suggestion;
    let body = ownership(review, suggestion).sign(body);
    let mut comment = json!({ "path": path, "line": lines.end(), "side": "RIGHT", "body": body });
    if lines.start() < lines.end() {
        comment["start_line"] = json!(lines.start());
        comment["start_side"] = json!("RIGHT");
    }
    comment
}
