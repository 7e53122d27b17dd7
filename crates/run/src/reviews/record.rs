//! What is kept of an answer: nothing of the account, nothing secret, and enough to judge it again.

use serde_json::Value;

use super::Request;
use crate::ask::ModelExchange;
use crate::http::HttpReply;
use qa_contracts::codes::Code;
use qa_contracts::secret::Secret;
use qa_contracts::strict_json;
use qa_contracts::v1::{RecordedAttempt, RecordedHeader, RecordedReply, RecordedResponse};
use qa_core::masking::sanitize_cut;
use qa_core::{canonical, secrets};

/// Headers that say something about the answer and nothing about the account.
const HEADERS: &[&str] = &[
    "anthropic-version",
    "content-type",
    "openai-version",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-request-id",
    "x-should-retry",
];
/// Members of a body that only mean something to the provider, or say something about the account.
const MEMBERS: &[&str] = &["billing", "encrypted_content", "safety_identifier", "signature"];
/// As much of a body is kept that is no JSON.
const MOST_OTHER_BYTES: usize = 64 << 10;
/// A shorter key is an ordinary word, which stands in answers by chance.
const SHORTEST_KEY: usize = 12;

/// The record of a question that was asked.
pub(super) fn asked(
    request: &Request<'_>,
    sample: u64,
    asked: &ModelExchange,
    keys: &[Secret],
) -> RecordedReply {
    let attempts = asked.attempts.iter();
    let attempts = attempts.map(|one| RecordedAttempt { status: one.status, code: one.code }).collect();
    let response = asked.answer.as_ref().map(|(reply, body)| response(reply, body, keys));
    let (code, problem) = match (&response, &asked.result) {
        (None, Err(failed)) => (Some(failed.code), Some(shown(&failed.said, keys))),
        (None, Ok(_)) => (Some(Code::InternalError), Some("an answer without a body".to_owned())),
        (Some(_), _) => (None, None),
    };
    RecordedReply { attempts, response, code, problem, ..unasked(request, sample) }
}

/// The record of a question that was not asked, and why.
pub(super) fn refused(request: &Request<'_>, sample: u64, code: Code, problem: &str) -> RecordedReply {
    RecordedReply { code: Some(code), problem: Some(problem.to_owned()), ..unasked(request, sample) }
}

fn unasked(request: &Request<'_>, sample: u64) -> RecordedReply {
    RecordedReply {
        request_hash: request.encoded.request_hash.clone(),
        sample,
        surface: request.model.provider.spec().surface,
        request_body_sha256: canonical::sha256(&request.encoded.body),
        attempts: Vec::new(),
        response: None,
        code: None,
        problem: None,
    }
}

fn response(reply: &HttpReply, body: &[u8], keys: &[Secret]) -> RecordedResponse {
    let kept = reply.headers.iter().filter(|(name, _)| HEADERS.contains(&name.as_str()));
    let mut headers: Vec<RecordedHeader> =
        kept.map(|(name, value)| RecordedHeader { name: name.clone(), value: shown(value, keys) }).collect();
    headers.sort();
    RecordedResponse {
        status: reply.status,
        headers,
        body: kept_body(body, keys),
        body_sha256: canonical::sha256(body),
    }
}

/// The body without what is not kept. JSON is written anew with each of its texts cleaned by itself, the answer within its
/// answer too, so that a key cannot hide behind escapes and a mask cannot reach from one text into the next.
fn kept_body(body: &[u8], keys: &[Secret]) -> String {
    let Ok(mut value) = strict_json::parse(body) else {
        let mut text = without_secrets(&String::from_utf8_lossy(body), keys);
        text.truncate(text.floor_char_boundary(MOST_OTHER_BYTES));
        return text;
    };
    clean(&mut value, &|text| clean_answer(text, keys), keys);
    // What has no canonical form has numbers that no two readers agree about, and is no answer.
    canonical_text(&value).unwrap_or_default()
}

fn canonical_text(value: &Value) -> Option<String> {
    String::from_utf8(canonical::to_vec(value).ok()?).ok()
}

fn clean(value: &mut Value, clean_text: &dyn Fn(&str) -> String, keys: &[Secret]) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !MEMBERS.contains(&name.as_str()));
            let cleaned = std::mem::take(members).into_iter().map(|(name, mut value)| {
                clean(&mut value, clean_text, keys);
                (without_secrets(&name, keys), value)
            });
            *members = cleaned.collect();
        }
        Value::Array(items) => items.iter_mut().for_each(|item| clean(item, clean_text, keys)),
        Value::String(text) => *text = clean_text(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A text, or the document that is written in it: the answer. Texts of the answer are only texts, since a quote that is a
/// document too has to stay as it is written.
fn clean_answer(text: &str, keys: &[Secret]) -> String {
    let inner = strict_json::parse(text.as_bytes()).ok();
    let inner = inner.filter(|inner| inner.is_object() || inner.is_array());
    let inner = inner.and_then(|mut inner| {
        clean(&mut inner, &|text| without_secrets(text, keys), keys);
        canonical_text(&inner)
    });
    inner.unwrap_or_else(|| without_secrets(text, keys))
}

fn without_secrets(text: &str, keys: &[Secret]) -> String {
    secrets::masked(masked(text, keys))
}

fn masked(text: &str, keys: &[Secret]) -> String {
    let long = keys.iter().filter(|key| key.expose().len() >= SHORTEST_KEY);
    long.fold(text.to_owned(), |text, key| key.masked_in(&text))
}

/// What a server says, for a person.
fn shown(said: &str, keys: &[Secret]) -> String {
    sanitize_cut(&masked(said, keys), 300)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_keys_nor_accounts_are_kept() {
        let key = [Secret::new("sk-verysecretvalue").unwrap()];
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let reply = HttpReply {
            status: 200,
            headers: vec![
                header("x-request-id", "r sk-verysecretvalue"),
                header("set-cookie", "a=b"),
                header("openai-organization", "o"),
                header("content-type", "application/json"),
            ],
        };
        let body = br#"{"b":{"signature":"s","text":"sk-verysecretvalue"},"a":[{"billing":{"x":1}}],"c":"sk\u002dverysecretvalue"}"#;
        let kept = response(&reply, body, &key);
        assert_eq!(kept.body, r#"{"a":[{}],"b":{"text":"***"},"c":"***"}"#);
        let headers: Vec<(&str, &str)> =
            kept.headers.iter().map(|header| (header.name.as_str(), header.value.as_str())).collect();
        assert_eq!(headers, [("content-type", "application/json"), ("x-request-id", "r ***")]);
        assert_eq!(kept.body_sha256, canonical::sha256(body));
        assert_eq!(kept_body(b"no json: sk-verysecretvalue", &key), "no json: ***");
        assert_eq!(kept_body(b"a local matter", &[Secret::new("local").unwrap()]), "a local matter");
        // The answer is a document in a text of a document.
        let twice = br#"{"text":"{\"findings\":[{\"summary\":\"sk\\u002dverysecretvalue\"}]}"}"#;
        let kept = r#"{"text":"{\"findings\":[{\"summary\":\"***\"}]}"}"#;
        assert_eq!(kept_body(twice, &key), kept);
        // And a text of the answer may look like one.
        let quoted = br#"{"text":"{\"quote\":\"{\\\"a\\\": 1}\"}"}"#;
        assert_eq!(kept_body(quoted, &key).as_bytes(), quoted);
    }

    #[test]
    fn a_mask_stays_within_its_text() {
        let begin = ["-----BEGIN ", "PRIVATE KEY-----"].concat();
        let end = ["-----END ", "PRIVATE KEY-----"].concat();
        let body = serde_json::json!({ "a": begin, "b": "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTU", "c": "src/some/path.py", "d": end });
        let kept: Value = serde_json::from_str(&kept_body(body.to_string().as_bytes(), &[])).unwrap();
        assert_eq!((&kept["c"], &kept["a"]), (&body["c"], &body["a"]));
    }
}
