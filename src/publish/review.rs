//! Reviews of a pull request that suggest edits, each of which is posted once.

use serde::Deserialize;
use serde_json::{Value, json};

use super::GitHub;
use super::client::Operation;
use super::conversation::{Entry, Ownership, User};
use super::error::{AttemptError, Permission, PublishError};
use qa_contracts::ids::CommitId;
use qa_core::masking::sanitize_cut;
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
    /// Numbers of new suggestions, and of those at places that GitHub's diff does not have.
    Posted { new: usize, refused: usize },
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

/// A review as the API answers with it.
#[derive(Deserialize)]
struct PostedReview {
    id: u64,
    /// The token's account.
    user: User,
}

impl GitHub {
    /// Posts the suggestions that the pull request does not have in one review. Each attempt lists the existing ones first, also
    /// resolved ones and those that later pushes made outdated. GitHub takes all of a review or nothing, so after a refusal each of
    /// them is a review of its own.
    ///
    /// # Errors
    /// [`PublishError::OtherAuthor`] where the token's account is not `author_login`: its suggestions would be posted again with
    /// each push. Markers of others show nothing, so where one is there, the account is asked for first.
    pub(crate) fn suggest(&self, review: &Review<'_>) -> Result<Reviewed, PublishError> {
        let pull = format!("/pulls/{}", review.number);
        self.client.with_retries(SUGGEST, || {
            let now: Pull = self.client.request_json(SUGGEST, Method::Get, &pull, None)?;
            if now.head.sha != review.head.as_str() {
                return Ok(Reviewed::HeadMoved);
            }
            let list = format!("{pull}/comments");
            let existing = self.client.list(SUGGEST, &list, |page: Vec<Entry>| page)?;
            let mut comments = Vec::new();
            let mut is_marked_by_others = false;
            for suggestion in review.suggestions {
                let ownership = ownership(review, suggestion);
                if !existing.iter().any(|entry| ownership.owns(entry)) {
                    is_marked_by_others |= existing.iter().any(|entry| ownership.is_marked(entry));
                    comments.push(comment(review, suggestion));
                }
            }
            if is_marked_by_others {
                self.check_account(review)?;
            }
            match self.post_review(review, &comments) {
                Err(refusal) if is_refused(&refusal) && comments.len() > 1 => {
                    let new = self.post_each(review, &comments)?;
                    let refused = comments.len() - new;
                    if new == 0 { Err(refusal) } else { Ok(Reviewed::Posted { new, refused }) }
                }
                posted => posted.map(|()| Reviewed::Posted { new: comments.len(), refused: 0 }),
            }
        })
    }

    /// Posts each comment as a review of its own. Returns how many GitHub took.
    fn post_each(&self, review: &Review<'_>, comments: &[Value]) -> Result<usize, AttemptError> {
        let mut taken = 0;
        for comment in comments {
            match self.post_review(review, std::slice::from_ref(comment)) {
                Ok(()) => taken += 1,
                Err(error) if is_refused(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }

    fn post_review(&self, review: &Review<'_>, comments: &[Value]) -> Result<(), AttemptError> {
        if comments.is_empty() {
            return Ok(());
        }
        let new = json!({
            "commit_id": review.head, "event": "COMMENT", "body": review.body, "comments": comments,
        });
        let reviews = format!("/pulls/{}/reviews", review.number);
        let answer = self.client.send(SUGGEST, Method::Post, &reviews, Some(&new))?;
        match serde_json::from_slice::<PostedReview>(&answer) {
            Ok(posted) => check_author(review, &posted.user),
            // It is posted, and only its author is not known.
            Err(_) => Ok(()),
        }
    }

    /// Checks the token's account by a review that is never submitted, which nobody else sees.
    fn check_account(&self, review: &Review<'_>) -> Result<(), AttemptError> {
        let reviews = format!("/pulls/{}/reviews", review.number);
        let pending = json!({ "commit_id": review.head });
        let pending: PostedReview =
            self.client.request_json(SUGGEST, Method::Post, &reviews, Some(&pending))?;
        let route = format!("{reviews}/{}", pending.id);
        self.client.send(SUGGEST, Method::Delete, &route, None)?;
        check_author(review, &pending.user)
    }
}

fn check_author(review: &Review<'_>, user: &User) -> Result<(), AttemptError> {
    if user.login.eq_ignore_ascii_case(review.author_login) {
        return Ok(());
    }
    let actual = sanitize_cut(&user.login, 100);
    Err(AttemptError::Final(PublishError::OtherAuthor { what: SUGGEST.what, actual }))
}

/// Returns whether GitHub found a fault in what it was sent.
fn is_refused(error: &AttemptError) -> bool {
    matches!(error, AttemptError::Final(PublishError::Refused { status: 422, .. }))
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
