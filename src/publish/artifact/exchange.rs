//! Retries requests to the artifact services, and records whether a server may have processed one without a response.

use std::time::Duration;

use qa_contracts::codes::Code;
use qa_contracts::secret::Secret;
use qa_core::masking::sanitize_cut;
use qa_run::http::{Http, HttpError, HttpReply};
use qa_run::retry::{self, Attempted, RetryPolicy, Transient};

/// Longest wait that a server may request; a longer one ends the attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Outcome of a request.
pub(super) struct PublishResponse {
    pub(super) reply: HttpReply,
    pub(super) body: Vec<u8>,
    /// True if an earlier attempt had no response, so that the server may have processed it.
    pub(super) uncertain: bool,
}

/// Sends a request up to seven times; `once` makes an attempt. A response is final unless its status is transient, or it is
/// a success whose body is not `usable`.
pub(super) fn send_with_retries(
    http: &dyn Http,
    seed: &str,
    operation: &str,
    usable: &dyn Fn(&[u8]) -> bool,
    mut once: impl FnMut() -> Result<(HttpReply, Vec<u8>), HttpError>,
) -> Result<PublishResponse, HttpError> {
    let policy = RetryPolicy { longest: LONGEST_WAIT, ..RetryPolicy::infrastructure(seed, operation) };
    let mut uncertain = false;
    retry::with_retries(http, &policy, || {
        let outcome = once();
        let transient = match &outcome {
            Ok((reply, body)) => transient(reply, usable(body)),
            Err(error) => Transient::unanswered(error),
        };
        let before = uncertain;
        // A rate-limited request was not processed; any other may have been.
        uncertain |=
            transient.is_some() && !matches!(&outcome, Ok((reply, _)) if [403, 429].contains(&reply.status));
        let result = outcome.map(|(reply, body)| PublishResponse { reply, body, uncertain: before });
        Attempted { result, transient }
    })
}

/// Returns the reason to send a request again that has a response, if there is one. A 403 is a rate limit if the server
/// says how long to wait, else it is final.
fn transient(reply: &HttpReply, usable: bool) -> Option<Transient> {
    let hint = retry::server_hint(|name| reply.header(name).map(str::to_owned));
    let status = reply.status;
    let reason = match status {
        408 | 429 | 500 | 502 | 503 | 504 => format!("the server answered {status}"),
        403 if hint.is_some() => format!("the server answered {status}"),
        200..=299 if !usable => "the response is malformed".to_owned(),
        _ => return None,
    };
    Some(Transient { code: Code::NetworkUnavailable, reason, hint })
}

/// Returns a server's message for display: without secrets, signatures of signed URLs and control characters, and cut.
pub(super) fn server_message(secrets: &[&Secret], status: u16, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4096)]);
    let message = serde_json::from_slice::<serde_json::Value>(body).ok().and_then(|value| {
        let message = value.get("msg").or_else(|| value.get("message"))?;
        Some(message.as_str()?.to_owned())
    });
    let text = message.unwrap_or_else(|| text.into_owned());
    let text = secrets.iter().fold(text, |text, secret| secret.masked_in(&text));
    let text = sanitize_cut(without_signatures(&text).trim(), 300);
    if text.is_empty() {
        format!("the server answered {status}")
    } else {
        format!("the server answered {status}: {text}")
    }
}

/// Masks the value of every `sig` parameter, which authorizes writes to the store.
pub(super) fn without_signatures(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.to_ascii_lowercase().find("sig=") {
        let (before, after) = rest.split_at(at + 4);
        out.push_str(before);
        out.push_str("***");
        rest = after.trim_start_matches(|character: char| {
            character.is_ascii_alphanumeric() || "%+/=_-.~".contains(character)
        });
    }
    out + rest
}

/// Encodes a text as a value of a query.
pub(super) fn in_query(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
        out
    })
}

#[cfg(test)]
#[path = "scripted_tests.rs"]
pub(super) mod scripted;

#[cfg(test)]
mod tests {
    use super::scripted::{Scripted, json, lost};
    use super::*;
    use qa_run::http::{HttpRequest, Method};

    fn send(http: &dyn Http) -> Result<PublishResponse, HttpError> {
        send_with_retries(http, "seed", "op", &|body| body.starts_with(b"{"), || {
            http.fetch(HttpRequest::new(Method::Get, "http://a/"))
        })
    }

    #[test]
    fn what_may_pass_is_asked_again_six_times_and_what_may_not_once() {
        for (status, tries) in
            [(500, 7), (503, 7), (429, 7), (408, 7), (400, 1), (401, 1), (403, 1), (404, 1), (409, 1)]
        {
            let http = Scripted::new(move |_, _| json(status, serde_json::json!({})));
            assert_eq!(send(&http).unwrap().reply.status, status);
            assert_eq!(http.requests.lock().unwrap().len(), tries, "{status}");
        }
        let http = Scripted::new(|_, _| lost());
        assert!(send(&http).is_err());
        assert_eq!((http.requests.lock().unwrap().len(), http.waited.lock().unwrap().len()), (7, 6));
    }

    #[test]
    fn a_lost_answer_and_a_broken_one_leave_a_doubt_and_a_full_queue_does_not() {
        type Odd = fn() -> super::scripted::Answer;
        let cases: [(Odd, bool); 4] = [
            (|| lost(), true),
            (|| json(502, serde_json::json!({})), true),
            (|| Ok((200, Vec::new(), b"<html>".to_vec())), true),
            (|| Ok((429, vec![("retry-after", "2".to_owned())], Vec::new())), false),
        ];
        for (odd, uncertain) in cases {
            let http = Scripted::new(
                move |number, _| if number == 0 { odd() } else { json(200, serde_json::json!({})) },
            );
            assert_eq!(send(&http).unwrap().uncertain, uncertain);
        }
    }

    #[test]
    fn a_server_is_waited_for_as_long_as_it_asks_but_not_for_an_hour() {
        for (seconds, tries) in [("7", 2), ("3600", 1)] {
            let http = Scripted::new(move |number, _| {
                let status = if number == 0 { 403 } else { 204 };
                Ok((status, vec![("retry-after", seconds.to_owned())], b"{".to_vec()))
            });
            assert_eq!(send(&http).unwrap().reply.status == 204, tries == 2);
            assert_eq!(http.requests.lock().unwrap().len(), tries);
            assert!(http.waited.lock().unwrap().iter().all(|wait| *wait == Duration::from_secs(7)));
        }
    }

    #[test]
    fn a_message_shows_neither_token_nor_signature() {
        let token = Secret::new("tok-123").unwrap();
        let body =
            br#"{"code":"x","msg":"bad tok-123 for https://h/c/b?sv=1&sig=aB%2Bc%3D&se=2 and SIG=q/w= end"}"#;
        assert_eq!(
            server_message(&[&token], 400, body),
            "the server answered 400: bad *** for https://h/c/b?sv=1&sig=***&se=2 and SIG=*** end"
        );
        assert_eq!(server_message(&[], 502, b""), "the server answered 502");
        assert_eq!(server_message(&[], 502, b"a\x1b[1m"), "the server answered 502: a\\u{1b}[1m");
    }
}
