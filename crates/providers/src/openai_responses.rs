//! `openai.responses`: how OpenAI's Responses API is asked, and what its answers say.

use serde_json::{Value, json};

use super::contract::{Echoed, Failed, Fault, Prompt, Provider, ProviderSpec, Reply, TokenUsage};
use super::outcome::terminal_word;
use super::parts::{
    absent, add_openai_settings, answer, cut_off, invalid, list, name, only, openai_fault, refused, required,
};
use qa_contracts::codes::Code;
use qa_contracts::v1::{AdapterId, AuthScheme, ModelBinding, ProviderBinding, Surface};

/// Dialect of OpenAI's Responses API.
pub(super) struct OpenaiResponses;

impl Provider for OpenaiResponses {
    fn spec(&self) -> &'static ProviderSpec {
        &ProviderSpec {
            surface: Surface::OpenaiResponses,
            adapter_id: AdapterId::OpenaiCodex,
            version: "1",
            path: "/responses",
            api_versions: &[],
            auth_schemes: &[AuthScheme::Bearer, AuthScheme::ApiKey],
            service_tiers: &["default", "flex", "priority"],
            has_seed: false,
        }
    }

    fn body(&self, prompt: &Prompt, binding: &ProviderBinding, model: &ModelBinding) -> Value {
        let mut body = json!({
            "input": [{"content": prompt.packet, "role": "user"}],
            "instructions": prompt.instructions,
            "max_output_tokens": binding.max_tokens,
            "model": binding.model_id,
            // Unset, the provider keeps what it was sent for a month.
            "store": false,
            "text": {"format": {
                "name": prompt.schema_name,
                "schema": prompt.schema,
                "strict": true,
                "type": "json_schema",
            }},
        });
        if let Some(effort) = model.effort {
            body["reasoning"] = json!({"effort": effort});
        }
        add_openai_settings(&mut body, binding, model);
        body
    }

    fn decode_reply(&self, body: &Value) -> Result<Reply, Failed> {
        match required(body, "status")? {
            "completed" => absent(body, "incomplete_details")?,
            "incomplete" => return Err(incomplete(&body["incomplete_details"])),
            "failed" => return Err(failed(&openai_fault(body))),
            other => return Err(invalid(&format!("the status is {other:?}"))),
        }
        let mut text = String::new();
        for item in list(body, "output")? {
            match required(item, "type")? {
                "message" => text.push_str(&message(item)?),
                "reasoning" => {}
                other => {
                    return Err(invalid(&format!("there is an item {other:?}, which was not asked for")));
                }
            }
        }
        Ok(Reply { text: answer(text)?, echoed: echoed(body), usage: usage(&body["usage"]) })
    }

    fn fault(&self, body: &Value) -> Fault {
        openai_fault(body)
    }
}

/// Returns the text that a message adds to the reply. Commentary adds none; a refusal anywhere is an error.
fn message(item: &Value) -> Result<String, Failed> {
    let mut text = String::new();
    only(item, "status", "completed")?;
    only(item, "role", "assistant")?;
    for part in list(item, "content")? {
        match required(part, "type")? {
            "output_text" => text.push_str(required(part, "text")?),
            "refusal" => return Err(refused(part["refusal"].as_str().unwrap_or_default())),
            other => return Err(invalid(&format!("a message has a part {other:?}"))),
        }
    }
    match item["phase"].as_str() {
        Some("final_answer") => Ok(text),
        Some("commentary") => Ok(String::new()),
        None if item["phase"].is_null() => Ok(text),
        phase => Err(invalid(&format!("a message is of the phase {phase:?}"))),
    }
}

fn incomplete(details: &Value) -> Failed {
    match details["reason"].as_str() {
        Some(reason @ ("max_output_tokens" | "max_messages" | "steered")) => cut_off(reason),
        Some("content_filter") => refused("a filter stopped the answer"),
        reason => invalid(&format!("the answer is incomplete for the reason {reason:?}")),
    }
}

/// The API reports some failures with the status of a success.
fn failed(fault: &Fault) -> Failed {
    let said = format!("{}: {}", fault.word, fault.message);
    if let Some(code) = terminal_word(fault) {
        return Failed::terminal(code, &said);
    }
    match fault.word.as_str() {
        "server_error" => Failed::transient(Code::ProviderUnavailable, &said),
        "rate_limit_exceeded" => Failed::transient(Code::ProviderRateLimit, &said),
        "data_residency_mismatch" => Failed::terminal(Code::ProviderRequestRejected, &said),
        _ => invalid(&said),
    }
}

fn echoed(body: &Value) -> Echoed {
    Echoed {
        model: name(&body["model"]),
        temperature: body["temperature"].as_f64(),
        top_p: body["top_p"].as_f64(),
        effort: name(&body["reasoning"]["effort"]),
        service_tier: name(&body["service_tier"]),
        system_fingerprint: None,
    }
}

fn usage(usage: &Value) -> TokenUsage {
    TokenUsage {
        input: usage["input_tokens"].as_u64(),
        cached_input: usage["input_tokens_details"]["cached_tokens"].as_u64(),
        cache_write: usage["input_tokens_details"]["cache_write_tokens"].as_u64(),
        output: usage["output_tokens"].as_u64(),
        reasoning: usage["output_tokens_details"]["reasoning_tokens"].as_u64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{binding, check_failures, prompt, sent};
    use qa_contracts::v1::{Effort, SamplingMode};

    const GREEDY: &str = r#"{"input":[{"content":"diff","role":"user"}],"instructions":"review","max_output_tokens":16000,"model":"m-1","service_tier":"default","store":false,"temperature":0,"text":{"format":{"name":"result","schema":{"type":"object"},"strict":true,"type":"json_schema"}},"top_p":1}"#;
    const REASONED: &str = r#"{"input":[{"content":"diff","role":"user"}],"instructions":"review","max_output_tokens":16000,"model":"m-1","reasoning":{"effort":"xhigh"},"store":false,"text":{"format":{"name":"result","schema":{"type":"object"},"strict":true,"type":"json_schema"}}}"#;

    #[test]
    fn the_body_is_what_the_binding_says() {
        let mut binding = binding(Surface::OpenaiResponses, "openai");
        binding.model.as_mut().unwrap().service_tier = Some("default".to_owned());
        assert_eq!(sent(&OpenaiResponses, &prompt(), &binding), GREEDY);
        let model = binding.model.as_mut().unwrap();
        (model.sampling, model.effort, model.service_tier) =
            (SamplingMode::ModelFixed, Some(Effort::Xhigh), None);
        assert_eq!(sent(&OpenaiResponses, &prompt(), &binding), REASONED);
    }

    #[test]
    fn an_answer_is_the_text_of_its_final_messages() {
        let body = json!({
            "status": "completed", "model": "m-1-2026", "temperature": 1.0, "top_p": 0.98, "service_tier": "default",
            "reasoning": {"effort": "medium"}, "user": null, "billing": {"payer": "x"},
            "output": [
                {"type": "reasoning", "summary": []},
                {"type": "message", "phase": "commentary", "content": [{"type": "output_text", "text": "hm"}]},
                {"type": "message", "content": [{"type": "output_text", "text": "{\"a\""}]},
                {"type": "message", "phase": "final_answer", "content": [
                    {"type": "output_text", "text": ":1", "annotations": []}, {"type": "output_text", "text": "}"}]},
            ],
            "usage": {
                "input_tokens": 100, "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 10},
                "output_tokens": 30, "output_tokens_details": {"reasoning_tokens": 20},
            },
        });
        let expected = Reply {
            text: r#"{"a":1}"#.to_owned(),
            echoed: Echoed {
                model: Some("m-1-2026".to_owned()),
                temperature: Some(1.0),
                top_p: Some(0.98),
                effort: Some("medium".to_owned()),
                service_tier: Some("default".to_owned()),
                system_fingerprint: None,
            },
            usage: TokenUsage {
                input: Some(100),
                cached_input: Some(40),
                cache_write: Some(10),
                output: Some(30),
                reasoning: Some(20),
            },
        };
        assert_eq!(OpenaiResponses.decode_reply(&body), Ok(expected));
    }

    #[test]
    fn every_other_end_has_its_code() {
        let failed = |code: &str| json!({"status": "failed", "error": {"code": code, "message": "m"}});
        let incomplete =
            |reason: &str| json!({"status": "incomplete", "incomplete_details": {"reason": reason}});
        let output = |items: Value| json!({"status": "completed", "output": items});
        let message = |part: Value| output(json!([{"type": "message", "content": [part]}]));
        let ok = json!({"type": "output_text", "text": "{}"});
        check_failures(
            &OpenaiResponses,
            &[
                (message(json!({"type": "refusal", "refusal": "no"})), Code::ProviderRefusal, false),
                (
                    output(json!([
                        {"type": "message", "phase": "commentary", "content": [{"type": "refusal"}]},
                        {"type": "message", "content": [ok]},
                    ])),
                    Code::ProviderRefusal,
                    false,
                ),
                (incomplete("max_output_tokens"), Code::ProviderIncomplete, false),
                (incomplete("max_messages"), Code::ProviderIncomplete, false),
                (incomplete("steered"), Code::ProviderIncomplete, false),
                (incomplete("content_filter"), Code::ProviderRefusal, false),
                (incomplete("tired"), Code::ProviderOutputInvalid, false),
                (json!({"status": "incomplete"}), Code::ProviderOutputInvalid, false),
                (failed("server_error"), Code::ProviderUnavailable, true),
                (failed("rate_limit_exceeded"), Code::ProviderRateLimit, true),
                (failed("invalid_prompt"), Code::ProviderRefusal, false),
                (failed("bio_policy"), Code::ProviderRefusal, false),
                (failed("misalignment_policy_violation"), Code::ProviderRefusal, false),
                (failed("data_residency_mismatch"), Code::ProviderRequestRejected, false),
                (failed("insufficient_quota"), Code::ProviderQuotaExhausted, false),
                (failed("context_length_exceeded"), Code::ContextBoundExceeded, false),
                (failed("new_reason"), Code::ProviderOutputInvalid, false),
                (json!({"status": "failed", "error": null}), Code::ProviderOutputInvalid, false),
                (json!({"status": "queued"}), Code::ProviderOutputInvalid, false),
                (json!({"status": 1}), Code::ProviderOutputInvalid, false),
                (json!({"status": "completed"}), Code::ProviderOutputInvalid, false),
                (output(json!([])), Code::ProviderOutputInvalid, false),
                (output(json!({})), Code::ProviderOutputInvalid, false),
                (output(json!([null])), Code::ProviderOutputInvalid, false),
                (output(json!([{"type": "function_call"}])), Code::ProviderOutputInvalid, false),
                (output(json!([{"type": "message"}])), Code::ProviderOutputInvalid, false),
                (
                    output(json!([{"type": "message", "phase": 1, "content": [ok]}])),
                    Code::ProviderOutputInvalid,
                    false,
                ),
                (
                    output(json!([{"type": "message", "phase": "draft", "content": [ok]}])),
                    Code::ProviderOutputInvalid,
                    false,
                ),
                (
                    output(json!([{"type": "message", "phase": "commentary", "content": [ok]}])),
                    Code::ProviderOutputInvalid,
                    false,
                ),
                (message(json!({"type": "output_text", "text": " \n"})), Code::ProviderOutputInvalid, false),
                (message(json!({"type": "output_text", "text": ["{}"]})), Code::ProviderOutputInvalid, false),
                (message(json!({"type": "output_image"})), Code::ProviderOutputInvalid, false),
            ],
        );
    }

    #[test]
    fn numbers_that_are_none_are_unknown() {
        let odd = json!({"input_tokens": "7", "output_tokens": -1, "output_tokens_details": [], "input_tokens_details": 1e300});
        assert_eq!(usage(&odd), TokenUsage::default());
    }
}
