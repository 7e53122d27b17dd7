//! Decodes responses of providers: the status, the error in the body, and the hint when to retry.

use std::time::Duration;

use serde_json::Value;

use super::contract::{Failed, Fault, Provider, Reply};
use super::parts::invalid;
use qa_contracts::codes::Code;
use qa_contracts::strict_json;
use qa_contracts::v1::Surface;

/// Words for an account that cannot pay, whatever the status.
const QUOTA: &[&str] = &[
    "billing_error",
    "contract_spend_limit_reached",
    "credit_balance_exhausted",
    "enforced_spend_limit_reached",
    "insufficient_quota",
];
/// Words for a request that is longer than the model reads.
const CONTEXT: &[&str] = &["context_length_exceeded", "exceed_context_size_error"];
/// Message of Anthropic for such a request, which has no error code of its own.
const CONTEXT_MESSAGE: &str = "prompt is too long";
/// Words for a request that a filter declines; `invalid_prompt` is what OpenAI calls a flagged one.
const REFUSAL: &[&str] = &["content_filter", "invalid_prompt"];

/// Decodes a response. `header` returns a header's value by its name in lower case.
pub fn decode(
    provider: &dyn Provider,
    status: u16,
    header: impl Fn(&str) -> Option<String>,
    body: &[u8],
) -> Result<Reply, Failed> {
    if (200..=299).contains(&status) {
        let body =
            strict_json::parse(body).map_err(|error| invalid(&format!("the answer is no JSON: {error}")))?;
        // A few servers report an error with the status of a success. The one dialect that does so by design has a
        // status for it in the body.
        let has_failed_status =
            provider.spec().surface == Surface::OpenaiResponses && body["status"] == "failed";
        if !body["error"].is_null() && !has_failed_status {
            let Fault { word, message } = provider.fault(&body);
            let code = terminal_word(&provider.fault(&body)).unwrap_or(Code::ProviderOutputInvalid);
            return Err(Failed::terminal(code, &format!("an error with status {status}: {word}: {message}")));
        }
        return provider.decode_reply(&body);
    }
    let fault = provider.fault(&strict_json::parse(body).unwrap_or(Value::Null));
    let (code, retry) = classify(status, &fault);
    let retry = match header("x-should-retry").as_deref().map(str::trim) {
        Some("true") => true,
        Some("false") => false,
        Some(_) | None => retry,
    };
    let parts = [&format!("status {status}"), &fault.word, &fault.message];
    let parts: Vec<&str> = parts.iter().map(|part| part.as_str()).filter(|part| !part.is_empty()).collect();
    let message = parts.join(": ");
    Err(if retry { Failed::transient(code, &message) } else { Failed::terminal(code, &message) })
}

/// Returns the wait that the server requests before a retry. A value that is not a number of seconds, such as a date,
/// counts as longer than any limit.
pub fn retry_hint(failed: &Failed, header: impl Fn(&str) -> Option<String>) -> Option<Duration> {
    if !failed.is_transient {
        // A few servers send the header with every response, successes included.
        return None;
    }
    match header("retry-after-ms").and_then(|text| parse_wait(&text, 0.001)) {
        Some(wait) => Some(wait),
        None => header("retry-after").and_then(|text| parse_wait(&text, 1.0)),
    }
}

/// Parses a wait; `unit` is its unit in seconds.
fn parse_wait(text: &str, unit: f64) -> Option<Duration> {
    if text.trim().is_empty() {
        return None;
    }
    let Ok(number) = text.trim().parse::<f64>() else { return Some(Duration::MAX) };
    (number >= 0.0).then(|| Duration::try_from_secs_f64(number * unit).unwrap_or(Duration::MAX))
}

/// Maps a status and an error to a code, and to whether a retry may succeed.
fn classify(status: u16, fault: &Fault) -> (Code, bool) {
    if (400..=499).contains(&status)
        && let Some(code) = terminal_word(fault)
    {
        return (code, false);
    }
    match status {
        401 | 403 => (Code::ProviderAuthError, false),
        402 => (Code::ProviderQuotaExhausted, false),
        404 => (Code::ProviderModelUnavailable, false),
        408 | 504 => (Code::ProviderTimeout, true),
        409 => (Code::ProviderUnavailable, true),
        413 => (Code::ContextBoundExceeded, false),
        429 => (Code::ProviderRateLimit, true),
        // A redirect is never followed: the key would go along.
        300..=499 => (Code::ProviderRequestRejected, false),
        500..=599 => (Code::ProviderUnavailable, true),
        _ => (Code::ProviderOutputInvalid, false),
    }
}

/// Returns the code of an error that is more specific than its status.
pub(super) fn terminal_word(fault: &Fault) -> Option<Code> {
    let word = fault.word.as_str();
    if QUOTA.contains(&word) {
        return Some(Code::ProviderQuotaExhausted);
    }
    if CONTEXT.contains(&word) || fault.message.contains(CONTEXT_MESSAGE) {
        return Some(Code::ContextBoundExceeded);
    }
    let is_refusal =
        REFUSAL.contains(&word) || word.ends_with("_policy") || word.ends_with("_policy_violation");
    is_refusal.then_some(Code::ProviderRefusal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;
    use qa_contracts::v1::Surface;

    fn failed(surface: Surface, status: u16, headers: &[(&str, &str)], body: &str) -> Failed {
        let header = |name: &str| {
            headers.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        decode(find(surface), status, header, body.as_bytes()).unwrap_err()
    }

    fn check(surface: Surface, cases: &[(u16, &str, Code, bool)]) {
        for (status, body, code, is_transient) in cases {
            let failed = failed(surface, *status, &[], body);
            assert_eq!((failed.code, failed.is_transient), (*code, *is_transient), "{status} {body}");
        }
    }

    /// The table of statuses, for a body that says nothing.
    const STATUSES: &[(u16, &str, Code, bool)] = &[
        (0, "", Code::ProviderOutputInvalid, false),
        (101, "", Code::ProviderOutputInvalid, false),
        (204, "", Code::ProviderOutputInvalid, false),
        (301, "", Code::ProviderRequestRejected, false),
        (307, "", Code::ProviderRequestRejected, false),
        (400, "", Code::ProviderRequestRejected, false),
        (401, "", Code::ProviderAuthError, false),
        (402, "", Code::ProviderQuotaExhausted, false),
        (403, "", Code::ProviderAuthError, false),
        (404, "", Code::ProviderModelUnavailable, false),
        (405, "", Code::ProviderRequestRejected, false),
        (408, "", Code::ProviderTimeout, true),
        (409, "", Code::ProviderUnavailable, true),
        (413, "", Code::ContextBoundExceeded, false),
        (422, "", Code::ProviderRequestRejected, false),
        (429, "", Code::ProviderRateLimit, true),
        (500, "", Code::ProviderUnavailable, true),
        (502, "<html>", Code::ProviderUnavailable, true),
        (503, "", Code::ProviderUnavailable, true),
        (504, "", Code::ProviderTimeout, true),
        (529, "", Code::ProviderUnavailable, true),
        (999, "", Code::ProviderOutputInvalid, false),
    ];

    #[test]
    fn every_status_has_its_code_in_every_dialect() {
        for surface in Surface::ALL {
            check(*surface, STATUSES);
        }
    }

    #[test]
    fn openai_errors_are_read_by_their_word() {
        let cases: &[(u16, &str, Code, bool)] = &[
            (429, r#"{"error":{"code":"insufficient_quota"}}"#, Code::ProviderQuotaExhausted, false),
            (
                429,
                r#"{"error":{"type":"insufficient_quota","code":null}}"#,
                Code::ProviderQuotaExhausted,
                false,
            ),
            (
                429,
                r#"{"error":{"code":"rate_limit_exceeded","type":"tokens"}}"#,
                Code::ProviderRateLimit,
                true,
            ),
            (429, r#"{"error":{"code":"slow_down"}}"#, Code::ProviderRateLimit, true),
            (503, r#"{"error":{"code":"server_is_overloaded"}}"#, Code::ProviderUnavailable, true),
            (400, r#"{"error":{"code":"context_length_exceeded"}}"#, Code::ContextBoundExceeded, false),
            (
                400,
                r#"{"error":{"code":400,"type":"exceed_context_size_error"}}"#,
                Code::ContextBoundExceeded,
                false,
            ),
            (
                400,
                r#"{"error":{"code":"400","type":"exceed_context_size_error"}}"#,
                Code::ContextBoundExceeded,
                false,
            ),
            (400, r#"{"error":{"code":"content_filter"}}"#, Code::ProviderRefusal, false),
            (400, r#"{"error":{"code":"cyber_policy"}}"#, Code::ProviderRefusal, false),
            (400, r#"{"error":{"code":"unsupported_value"}}"#, Code::ProviderRequestRejected, false),
            (401, r#"{"error":{"code":"invalid_api_key"}}"#, Code::ProviderAuthError, false),
            // A word of the request has no say over what the server itself lacks.
            (500, r#"{"error":{"code":"insufficient_quota"}}"#, Code::ProviderUnavailable, true),
        ];
        check(Surface::OpenaiChat, cases);
        check(Surface::OpenaiResponses, cases);
    }

    #[test]
    fn anthropic_errors_are_read_by_their_word() {
        let long = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#;
        let spent = r#"{"error":{"type":"invalid_request_error","details":{"error_code":"enforced_spend_limit_reached"}}}"#;
        let contract = r#"{"error":{"type":"rate_limit_error","details":{"error_code":"contract_spend_limit_reached"}}}"#;
        let credit =
            r#"{"error":{"type":"rate_limit_error","details":{"error_code":"credit_balance_exhausted"}}}"#;
        let ramp = r#"{"error":{"type":"rate_limit_error","details":{"error_code":"ramp_limit_exceeded"}}}"#;
        check(
            Surface::AnthropicMessages,
            &[
                (400, long, Code::ContextBoundExceeded, false),
                (400, spent, Code::ProviderQuotaExhausted, false),
                (429, contract, Code::ProviderQuotaExhausted, false),
                (429, credit, Code::ProviderQuotaExhausted, false),
                (429, ramp, Code::ProviderRateLimit, true),
                (403, r#"{"error":{"type":"billing_error"}}"#, Code::ProviderQuotaExhausted, false),
                (400, r#"{"error":{"type":"invalid_request_error"}}"#, Code::ProviderRequestRejected, false),
                (404, r#"{"error":{"type":"not_found_error"}}"#, Code::ProviderModelUnavailable, false),
                (529, r#"{"error":{"type":"overloaded_error"}}"#, Code::ProviderUnavailable, true),
            ],
        );
    }

    #[test]
    fn the_server_has_the_last_word_on_retries_but_not_on_an_answer() {
        for (status, said, is_transient) in [
            (429, "false", false),
            (500, "false", false),
            (400, "true", true),
            (400, " true ", true),
            (400, "yes", false),
        ] {
            let failed = failed(Surface::OpenaiChat, status, &[("x-should-retry", said)], "");
            assert_eq!(failed.is_transient, is_transient, "{status} {said}");
        }
        assert!(!failed(Surface::OpenaiChat, 200, &[("x-should-retry", "true")], "{}").is_transient);
    }

    #[test]
    fn a_success_that_readers_would_disagree_about_is_no_answer() {
        let choice = r#"{"finish_reason":"stop","message":{"content":"{}"}}"#;
        let good = format!(r#"{{"choices":[{choice}]}}"#);
        assert!(decode(find(Surface::OpenaiChat), 200, |_| None, good.as_bytes()).is_ok());
        let twice = format!(r#"{{"choices":[],"choices":[{choice}]}}"#);
        let deep = format!(r#"{{"choices":[{choice}],"x":{}{}}}"#, "[".repeat(70), "]".repeat(70));
        let huge = format!(r#"{{"choices":[{choice}],"x":1e400}}"#);
        let bodies: &[&[u8]] = &[
            b"",
            b"null",
            b"[]",
            b"<html>",
            b"{\"choices\":\"\xff\"}",
            twice.as_bytes(),
            deep.as_bytes(),
            huge.as_bytes(),
        ];
        for body in bodies {
            let failed = decode(find(Surface::OpenaiChat), 200, |_| None, body).unwrap_err();
            assert_eq!(failed.code, Code::ProviderOutputInvalid, "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn a_server_is_waited_for_only_where_asking_again_may_help() {
        let transient = Failed::transient(Code::ProviderRateLimit, "");
        let of = |failed: &Failed, headers: &[(&str, &str)]| {
            let find = |name: &str| headers.iter().find(|(known, _)| *known == name);
            retry_hint(failed, |name| find(name).map(|(_, value)| (*value).to_owned()))
        };
        type Headers<'a> = &'a [(&'a str, &'a str)];
        const FOR_EVER: u64 = u64::MAX;
        let cases: &[(Headers, Option<u64>)] = &[
            (&[("retry-after", "7")], Some(7000)),
            (&[("retry-after", " 0.25 ")], Some(250)),
            (&[("retry-after", "7"), ("retry-after-ms", "120")], Some(120)),
            (&[("retry-after", "7"), ("retry-after-ms", "soon")], Some(FOR_EVER)),
            (&[("retry-after", "7"), ("retry-after-ms", "-1")], Some(7000)),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "1e300")], Some(FOR_EVER)),
            (&[("retry-after", "inf")], Some(FOR_EVER)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(FOR_EVER)),
            (&[("retry-after", " ")], None),
            (&[], None),
        ];
        for (headers, milliseconds) in cases {
            let duration = |milliseconds: u64| match milliseconds {
                FOR_EVER => Duration::MAX,
                other => Duration::from_millis(other),
            };
            assert_eq!(of(&transient, headers), milliseconds.map(duration), "{headers:?}");
        }
        assert_eq!(of(&Failed::terminal(Code::ProviderAuthError, ""), &[("retry-after", "7")]), None);
    }
}
