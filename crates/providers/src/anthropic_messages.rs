//! `anthropic.messages`: how Anthropic's Messages API is asked, and what its answers say.

use serde_json::{Value, json};

use super::contract::{Echoed, Failed, Fault, Prompt, Provider, ProviderSpec, Reply, TokenUsage};
use super::parts::{answer, cut_off, invalid, list, name, refused, required};
use qa_contracts::v1::{AdapterId, AuthScheme, ModelBinding, ProviderBinding, SamplingMode, Surface};

/// The version of the API that refuses every sampling parameter.
pub(super) const WITHOUT_SAMPLING: &str = "2026-10-21";

/// Dialect of Anthropic's Messages API.
pub(super) struct AnthropicMessages;

impl Provider for AnthropicMessages {
    fn spec(&self) -> &'static ProviderSpec {
        &ProviderSpec {
            surface: Surface::AnthropicMessages,
            adapter_id: AdapterId::AnthropicClaude,
            version: "1",
            path: "/v1/messages",
            api_versions: &[WITHOUT_SAMPLING, "2023-06-01"],
            auth_schemes: &[AuthScheme::Bearer, AuthScheme::XApiKey],
            service_tiers: &["standard_only", "auto"],
            has_seed: false,
        }
    }

    fn body(&self, prompt: &Prompt, binding: &ProviderBinding, model: &ModelBinding) -> Value {
        let mut body = json!({
            "max_tokens": binding.max_tokens,
            "messages": [{"content": prompt.packet, "role": "user"}],
            "model": binding.model_id,
            "output_config": {"format": {"schema": prompt.schema, "type": "json_schema"}},
            "system": prompt.instructions,
        });
        if let Some(effort) = model.effort {
            body["output_config"]["effort"] = json!(effort);
            body["thinking"] = json!({"type": "adaptive"});
        }
        match model.sampling {
            // Every model that takes the one refuses both together. Without `top_p` nothing is cut off, which is what
            // 1 means.
            SamplingMode::Greedy => body["temperature"] = json!(binding.temperature),
            SamplingMode::ModelFixed => {}
        }
        if let Some(tier) = &model.service_tier {
            body["service_tier"] = json!(tier);
        }
        body
    }

    fn decode_reply(&self, body: &Value) -> Result<Reply, Failed> {
        match required(body, "stop_reason")? {
            "end_turn" | "stop_sequence" => {}
            reason @ ("max_tokens" | "model_context_window_exceeded") => return Err(cut_off(reason)),
            "refusal" => return Err(refused(body["stop_details"]["category"].as_str().unwrap_or_default())),
            other => return Err(invalid(&format!("the answer ended for the reason {other:?}"))),
        }
        let mut text = String::new();
        for block in list(body, "content")? {
            match required(block, "type")? {
                "text" => text.push_str(required(block, "text")?),
                "thinking" | "redacted_thinking" => {}
                other => {
                    return Err(invalid(&format!("there is a block {other:?}, which was not asked for")));
                }
            }
        }
        Ok(Reply { text: answer(text)?, echoed: echoed(body), usage: usage(&body["usage"]) })
    }

    fn fault(&self, body: &Value) -> Fault {
        let error = &body["error"];
        let word = error["details"]["error_code"].as_str().or_else(|| error["type"].as_str());
        let message = error["message"].as_str().or_else(|| error.as_str());
        Fault { word: word.unwrap_or_default().to_owned(), message: message.unwrap_or_default().to_owned() }
    }
}

fn echoed(body: &Value) -> Echoed {
    Echoed {
        model: name(&body["model"]),
        service_tier: name(&body["usage"]["service_tier"]),
        ..Echoed::default()
    }
}

/// `input_tokens` are those that have nothing to do with the cache; the others come on top.
fn usage(usage: &Value) -> TokenUsage {
    let cached_input = usage["cache_read_input_tokens"].as_u64();
    let cache_write = usage["cache_creation_input_tokens"].as_u64();
    let input = usage["input_tokens"]
        .as_u64()
        .and_then(|uncached| uncached.checked_add(cached_input.unwrap_or(0)))
        .and_then(|tokens| tokens.checked_add(cache_write.unwrap_or(0)));
    TokenUsage {
        input,
        cached_input,
        cache_write,
        output: usage["output_tokens"].as_u64(),
        reasoning: usage["output_tokens_details"]["thinking_tokens"].as_u64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{binding, check_failures, prompt, sent};
    use qa_contracts::codes::Code;
    use qa_contracts::v1::Effort;

    const GREEDY: &str = r#"{"max_tokens":16000,"messages":[{"content":"diff","role":"user"}],"model":"m-1","output_config":{"format":{"schema":{"type":"object"},"type":"json_schema"}},"system":"review","temperature":0}"#;
    const REASONED: &str = r#"{"max_tokens":16000,"messages":[{"content":"diff","role":"user"}],"model":"m-1","output_config":{"effort":"medium","format":{"schema":{"type":"object"},"type":"json_schema"}},"service_tier":"standard_only","system":"review","thinking":{"type":"adaptive"}}"#;

    #[test]
    fn the_body_is_what_the_binding_says() {
        let mut binding = binding(Surface::AnthropicMessages, "anthropic");
        assert_eq!(sent(&AnthropicMessages, &prompt(), &binding), GREEDY);
        let model = binding.model.as_mut().unwrap();
        model.sampling = SamplingMode::ModelFixed;
        (model.effort, model.service_tier) = (Some(Effort::Medium), Some("standard_only".to_owned()));
        assert_eq!(sent(&AnthropicMessages, &prompt(), &binding), REASONED);
    }

    #[test]
    fn an_answer_is_its_text_blocks_and_all_input_counts() {
        for reason in ["end_turn", "stop_sequence"] {
            let body = json!({
                "type": "message", "model": "m-1", "stop_reason": reason, "stop_sequence": null,
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "redacted_thinking"},
                    {"type": "text", "text": "{\"a\""}, {"type": "text", "text": ":1}"},
                ],
                "usage": {
                    "input_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 30,
                    "output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}, "service_tier": "standard",
                },
            });
            let expected = Reply {
                text: r#"{"a":1}"#.to_owned(),
                echoed: Echoed {
                    model: Some("m-1".to_owned()),
                    service_tier: Some("standard".to_owned()),
                    ..Echoed::default()
                },
                usage: TokenUsage {
                    input: Some(60),
                    cached_input: Some(20),
                    cache_write: Some(30),
                    output: Some(9),
                    reasoning: Some(4),
                },
            };
            assert_eq!(AnthropicMessages.decode_reply(&body), Ok(expected));
        }
    }

    #[test]
    fn every_other_end_has_its_code() {
        let text = json!([{"type": "text", "text": "{}"}]);
        let ended = |reason: Value| json!({"stop_reason": reason, "content": text});
        let content = |content: Value| json!({"stop_reason": "end_turn", "content": content});
        let refusal =
            json!({"stop_reason": "refusal", "stop_details": {"category": "cyber"}, "content": text});
        assert_eq!(AnthropicMessages.decode_reply(&refusal).unwrap_err().message, "cyber");
        let invalid = Code::ProviderOutputInvalid;
        check_failures(
            &AnthropicMessages,
            &[
                (refusal, Code::ProviderRefusal, false),
                (ended(json!("max_tokens")), Code::ProviderIncomplete, false),
                (ended(json!("model_context_window_exceeded")), Code::ProviderIncomplete, false),
                (ended(json!("tool_use")), invalid, false),
                (ended(json!("pause_turn")), invalid, false),
                (ended(json!("bored")), invalid, false),
                (ended(json!(null)), invalid, false),
                (content(json!([])), invalid, false),
                (content(json!("{}")), invalid, false),
                (content(json!([{"type": "text", "text": ""}])), invalid, false),
                (content(json!([{"type": "text", "text": 1}])), invalid, false),
                (content(json!([{"type": "tool_use", "input": {}}])), invalid, false),
                (content(json!([["text"]])), invalid, false),
                (json!({"type": "error", "error": {"type": "api_error"}}), invalid, false),
            ],
        );
    }

    #[test]
    fn sums_that_do_not_fit_and_numbers_that_are_none_are_unknown() {
        let huge = json!({"input_tokens": u64::MAX, "cache_read_input_tokens": 1, "output_tokens": "1"});
        assert_eq!(usage(&huge), TokenUsage { cached_input: Some(1), ..TokenUsage::default() });
        assert_eq!(usage(&json!({"input_tokens": 3})).input, Some(3));
        assert_eq!(usage(&json!([1])), TokenUsage::default());
    }
}
