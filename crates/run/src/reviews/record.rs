//! Records of model replies: without secrets and account data, and complete enough to be judged again.

use serde_json::Value;

use super::request::SentRequest;
use crate::ask::{ModelExchange, ModelResponse};

use qa_contracts::codes::Code;
use qa_contracts::secret::Secret;
use qa_contracts::strict_json;
use qa_contracts::v1::{RecordedAttempt, RecordedHeader, RecordedReply, RecordedResponse};
use qa_core::masking::sanitize_cut;
use qa_core::{canonical, secrets};

/// Headers that are recorded; they describe the response and not the account.
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
/// Members of a body that are not recorded: they are internal to the provider or describe the account.
const MEMBERS: &[&str] = &["billing", "encrypted_content", "safety_identifier", "signature"];
/// Size limit of a recorded body that is not JSON, in bytes.
const MAX_OTHER_BYTES: usize = 64 << 10;
/// Length of the shortest key that is masked, in bytes: a shorter one is an ordinary word, which replies contain by
/// chance.
const MIN_KEY_BYTES: usize = 12;

/// Records a request that was sent.
pub(super) fn sent(
    request: &SentRequest<'_>,
    sample: u64,
    exchange: &ModelExchange,
    keys: &[Secret],
) -> RecordedReply {
    let attempts = exchange.attempts.iter();
    let attempts = attempts.map(|one| RecordedAttempt { status: one.status, code: one.code }).collect();
    let response = exchange.response.as_ref().map(|response| recorded_response(response, keys));
    let (code, problem) = match (&response, &exchange.result) {
        (None, Err(failed)) => (Some(failed.code), Some(masked_message(&failed.message, keys))),
        (None, Ok(_)) => (Some(Code::InternalError), Some("an answer without a body".to_owned())),
        (Some(_), _) => (None, None),
    };
    RecordedReply { attempts, response, code, problem, ..empty_record(request, sample) }
}

/// Records a request that was not sent, with the reason.
pub(super) fn refused(request: &SentRequest<'_>, sample: u64, code: Code, problem: &str) -> RecordedReply {
    RecordedReply { code: Some(code), problem: Some(problem.to_owned()), ..empty_record(request, sample) }
}

fn empty_record(request: &SentRequest<'_>, sample: u64) -> RecordedReply {
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

fn recorded_response(response: &ModelResponse, keys: &[Secret]) -> RecordedResponse {
    let ModelResponse { reply, body } = response;
    let mut headers: Vec<RecordedHeader> = reply
        .headers
        .iter()
        .filter(|(name, _)| HEADERS.contains(&name.as_str()))
        .map(|(name, value)| RecordedHeader { name: name.clone(), value: masked_message(value, keys) })
        .collect();
    headers.sort();
    RecordedResponse {
        status: reply.status,
        headers,
        body: recorded_body(body, keys),
        body_sha256: canonical::sha256(body),
    }
}

/// Returns the part of a body that is recorded. JSON is serialized again with each string masked by itself, also in the
/// document that a string contains, so that a key cannot hide behind escapes and a mask cannot span two strings.
fn recorded_body(body: &[u8], keys: &[Secret]) -> String {
    let Ok(mut value) = strict_json::parse(body) else {
        let mut text = without_secrets(&String::from_utf8_lossy(body), keys);
        text.truncate(text.floor_char_boundary(MAX_OTHER_BYTES));
        return text;
    };
    clean(&mut value, &|text| clean_answer(text, keys), keys);
    // JSON without a canonical form has numbers on which parsers disagree, and is no reply.
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

/// Masks a string, or the JSON document in it: the findings. Strings of that document are masked as plain text, since a
/// quote that is JSON itself must keep its form.
fn clean_answer(text: &str, keys: &[Secret]) -> String {
    match strict_json::parse(text.as_bytes()) {
        Ok(mut inner) if inner.is_object() || inner.is_array() => {
            clean(&mut inner, &|text| without_secrets(text, keys), keys);
            canonical_text(&inner).unwrap_or_else(|| without_secrets(text, keys))
        }
        Ok(_) | Err(_) => without_secrets(text, keys),
    }
}

fn without_secrets(text: &str, keys: &[Secret]) -> String {
    secrets::masked(masked(text, keys))
}

fn masked(text: &str, keys: &[Secret]) -> String {
    let long = keys.iter().filter(|key| key.expose().len() >= MIN_KEY_BYTES);
    long.fold(text.to_owned(), |text, key| key.masked_in(&text))
}

/// Masks and shortens a server's message for display.
fn masked_message(message: &str, keys: &[Secret]) -> String {
    sanitize_cut(&masked(message, keys), 300)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::HttpReply;

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
        let kept = recorded_response(&ModelResponse { reply, body: body.to_vec() }, &key);
        assert_eq!(kept.body, r#"{"a":[{}],"b":{"text":"***"},"c":"***"}"#);
        let headers: Vec<(&str, &str)> =
            kept.headers.iter().map(|header| (header.name.as_str(), header.value.as_str())).collect();
        assert_eq!(headers, [("content-type", "application/json"), ("x-request-id", "r ***")]);
        assert_eq!(kept.body_sha256, canonical::sha256(body));
        assert_eq!(recorded_body(b"no json: sk-verysecretvalue", &key), "no json: ***");
        assert_eq!(recorded_body(b"a local matter", &[Secret::new("local").unwrap()]), "a local matter");
        // The answer is a document in a text of a document.
        let twice = br#"{"text":"{\"findings\":[{\"summary\":\"sk\\u002dverysecretvalue\"}]}"}"#;
        let kept = r#"{"text":"{\"findings\":[{\"summary\":\"***\"}]}"}"#;
        assert_eq!(recorded_body(twice, &key), kept);
        // And a text of the answer may look like one.
        let quoted = br#"{"text":"{\"quote\":\"{\\\"a\\\": 1}\"}"}"#;
        assert_eq!(recorded_body(quoted, &key).as_bytes(), quoted);
    }

    #[test]
    fn a_mask_stays_within_its_text() {
        let begin = ["-----BEGIN ", "PRIVATE KEY-----"].concat();
        let end = ["-----END ", "PRIVATE KEY-----"].concat();
        let body = serde_json::json!({ "a": begin, "b": "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTU", "c": "src/some/path.py", "d": end });
        let kept: Value = serde_json::from_str(&recorded_body(body.to_string().as_bytes(), &[])).unwrap();
        assert_eq!((&kept["c"], &kept["a"]), (&body["c"], &body["a"]));
    }
}
