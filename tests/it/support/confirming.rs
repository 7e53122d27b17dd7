//! Two models: one reviews and one is asked to confirm what the first finds.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::answers::{CHAT, MESSAGES, answer, policy};
use super::reviews::{FAULT, finding, findings, packet, repository, reviewing};
use super::server::Request;
use super::{Repo, Response, Server};

/// A rule that blocks, so that its findings are put to the second model.
pub(crate) const BLOCK: &str = "[rules.\"review-security/injection\"]\nstrength = \"block\"\n";

/// A policy whose review asks the model `review`, and whose findings `second` confirms.
pub(crate) fn confirming(url: &str, settings: &str) -> String {
    let second = policy(MESSAGES, url, "").replace("[models.review]", "[models.second]");
    format!("{}\n{second}", reviewing(CHAT, url, &format!("confirm-model = \"second\"\n{settings}\n{BLOCK}")))
}

/// A claim of a request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) label: String,
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) says: String,
}

/// The claims of a request to confirm a finding; none in a request for a review.
pub(crate) fn claims(request: &Request) -> Vec<Asked> {
    let packet = packet(request);
    let lines: Vec<&str> = packet.lines().collect();
    let starts = lines.iter().enumerate().filter_map(|(at, line)| Some((at, line.strip_prefix("claim ")?)));
    let member = |at: usize, name: &str| -> String {
        let rest = lines[at].strip_prefix(&format!("  {name} ")).unwrap_or_else(|| panic!("{packet}"));
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        values.next().unwrap().unwrap()
    };
    starts
        .map(|(at, label)| Asked {
            label: label.to_owned(),
            file: member(at + 2, "file"),
            text: member(at + 3, "text"),
            says: member(at + 4, "says"),
        })
        .collect()
}

/// A verdict on a claim, with its own line as evidence.
pub(crate) fn verdict(claim: &Asked, word: &str) -> Value {
    json!({
        "claim": claim.label, "evidenceQuote": claim.text, "verdict": word,
        "reason": format!("By the file it is {word}."),
    })
}

/// The verdicts of a model that upholds what was planted, and says `word` of files of the change.
pub(crate) fn verdicts(request: &Request, word: &str) -> Vec<Value> {
    let is_planted = |claim: &Asked| claim.file.starts_with("src/") && claim.file.contains('_');
    let words = |claim: &Asked| if is_planted(claim) { "upheld" } else { word }.to_owned();
    claims(request).iter().map(|claim| verdict(claim, &words(claim))).collect()
}

/// The dialect that a request has.
pub(crate) fn surface(request: &Request) -> &'static str {
    if request.path().ends_with("/messages") { MESSAGES } else { CHAT }
}

/// An answer of verdicts.
pub(crate) fn answered(request: &Request, verdicts: &[Value]) -> Response {
    let text = json!({ "verdicts": verdicts }).to_string();
    Response::json(200, &answer(surface(request), &text))
}

/// Next answers of both models about a finding.
pub(crate) struct Words {
    pub(crate) second: String,
    pub(crate) own: String,
}

/// Two models on one server, and what they say of what they are asked to confirm.
pub(crate) struct Models {
    pub(crate) server: Server,
    pub(crate) words: Arc<Mutex<Words>>,
    pub(crate) finds: Arc<Mutex<Vec<Value>>>,
}

impl Models {
    pub(crate) fn new(second: &str, own: &str) -> Self {
        let words = Words { second: second.to_owned(), own: own.to_owned() };
        let (words, finds) = (Arc::new(Mutex::new(words)), Arc::new(Mutex::new(vec![finding()])));
        let (said, found) = (Arc::clone(&words), Arc::clone(&finds));
        let server = Server::start(move |request| {
            if claims(request).is_empty() {
                return findings(CHAT, &found.lock().unwrap());
            }
            let words = said.lock().unwrap();
            let word = if surface(request) == MESSAGES { &words.second } else { &words.own };
            answered(request, &verdicts(request, word))
        });
        Self { server, words, finds }
    }

    /// The change that has [`FAULT`].
    pub(crate) fn faulty(&self, settings: &str) -> Repo {
        repository(&confirming(&self.server.url(), settings), &[("app.py", FAULT)])
    }

    /// Questions so far: `review` for findings, `second` and `own` for a confirmation.
    pub(crate) fn asked(&self) -> Vec<&'static str> {
        let requests = self.server.requests();
        let kind = |request: &Request| match (claims(request).is_empty(), surface(request)) {
            (true, _) => "review",
            (false, MESSAGES) => "second",
            (false, _) => "own",
        };
        requests.iter().map(kind).collect()
    }
}
