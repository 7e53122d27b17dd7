//! Part of the fake for reviews of pull requests: all comments of one review are taken, or none.

use serde_json::{Value, json};

use super::{BOT, Call, Errors, Response, problem};

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Review {
    pub(crate) id: u64,
    /// Of the pull request.
    pub(crate) number: u64,
    pub(crate) commit_id: String,
    pub(crate) body: String,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ReviewComment {
    pub(crate) id: u64,
    /// Of the pull request.
    pub(crate) number: u64,
    pub(crate) review: u64,
    pub(crate) author: String,
    pub(crate) body: String,
    pub(crate) path: String,
    /// First and last line at head.
    pub(crate) lines: (u64, u64),
}

impl Call<'_> {
    pub(super) fn list_review_comments(&self, number: u64) -> Response {
        let comments = self.state.review_comments.iter().filter(|comment| comment.number == number);
        let shown: Vec<Value> = comments.map(|comment| self.names.review_comment(comment)).collect();
        self.page(&shown, |page| json!(page))
    }

    pub(super) fn create_review(&mut self, number: u64) -> Response {
        let Some(head) = self.state.pulls.get(&number).cloned() else {
            return problem(404, "Not Found", &[]);
        };
        // Without an event it is pending: its author alone sees it, and has one of them at most.
        if self.body.get("event").is_none() {
            if self.state.pending_review.is_some() {
                return problem(
                    422,
                    "Unprocessable Entity",
                    &["User can only have one pending review".to_owned()],
                );
            }
            let review = Review { id: self.state.id(), number, commit_id: head, body: String::new() };
            self.state.pending_review = Some(review.id);
            return Response::json(200, &self.names.review(&review));
        }
        let mut errors = Errors::default();
        let body = self.text("body").unwrap_or_default();
        errors.expect(self.body["event"] == "COMMENT" && !body.is_empty(), "event or body is missing");
        errors.expect(self.body["commit_id"] == head.as_str(), "commit_id is not part of the pull request");
        let comments = self.body["comments"].as_array().cloned().unwrap_or_default();
        for comment in &comments {
            errors.expect(has_known_members(comment), "unknown member of a comment");
            let text = comment["body"].as_str().unwrap_or_default();
            errors.expect((1..=65_536).contains(&text.chars().count()), "body is missing or too long");
            match self.state.diffs.get(comment["path"].as_str().unwrap_or_default()) {
                Some(hunks) => errors.0.extend(line_fault(comment, hunks).map(str::to_owned)),
                None => errors.0.push("Path could not be resolved".to_owned()),
            }
        }
        if !errors.0.is_empty() {
            return problem(422, "Unprocessable Entity", &errors.0);
        }
        let review = Review { id: self.state.id(), number, commit_id: head, body };
        for comment in &comments {
            let id = self.state.id();
            let [path, body] = ["path", "body"].map(|name| comment[name].as_str().unwrap().to_owned());
            let last = comment["line"].as_u64().unwrap();
            let lines = (comment["start_line"].as_u64().unwrap_or(last), last);
            let author = BOT.to_owned();
            self.state.review_comments.push(ReviewComment {
                id,
                number,
                review: review.id,
                author,
                body,
                path,
                lines,
            });
        }
        let shown = self.names.review(&review);
        self.state.reviews.push(review);
        Response::json(200, &shown)
    }
}

impl Call<'_> {
    pub(super) fn delete_review(&mut self, id: u64) -> Response {
        if self.state.pending_review != Some(id) {
            return problem(404, "Not Found", &[]);
        }
        self.state.pending_review = None;
        Response::json(200, &json!({ "id": id }))
    }
}

fn has_known_members(comment: &Value) -> bool {
    let known = ["path", "body", "line", "side", "start_line", "start_side"];
    comment.as_object().is_some_and(|members| members.keys().all(|name| known.contains(&name.as_str())))
}

/// The fault of the lines of a comment on the head's side of a diff, in GitHub's words.
fn line_fault(comment: &Value, hunks: &[(u64, u64)]) -> Option<&'static str> {
    let Some(last) = comment["line"].as_u64().filter(|_| comment["side"] == "RIGHT") else {
        return Some("Pull request review thread line must be part of the diff");
    };
    let Some((from, to)) = hunks.iter().find(|(from, to)| (*from..=*to).contains(&last)) else {
        return Some("Pull request review thread line must be part of the diff");
    };
    let first = comment["start_line"].as_u64()?;
    if first >= last || comment["start_side"] != "RIGHT" {
        return Some("Pull request review thread start line must precede the end line.");
    }
    (!(*from..=*to).contains(&first))
        .then_some("Pull request review thread start line must be part of the same hunk as the line.")
}
