//! `openai.chat`: how OpenAI's Chat Completions API and the servers that speak it are asked, and what they answer.

use serde_json::{Value, json};

use super::contract::{Echoed, Failed, Fault, Prompt, Provider, ProviderSpec, Reply, TokenUsage};
use super::models::{self, bare};
use super::parts::{
    absent, add_openai_settings, answer, cut_off, invalid, list, name, only, openai_fault, refused, required,
};
use qa_contracts::v1::{AdapterId, AuthScheme, ModelBinding, ProviderBinding, Surface};

/// Dialect of OpenAI's Chat Completions API.
pub(super) struct OpenaiChat;

impl Provider for OpenaiChat {
    fn spec(&self) -> &'static ProviderSpec {
        &ProviderSpec {
            surface: Surface::OpenaiChat,
            adapter_id: AdapterId::OpenaiCodex,
            version: "1",
            path: "/chat/completions",
            api_versions: &[],
            auth_schemes: &[AuthScheme::Bearer, AuthScheme::ApiKey],
            service_tiers: &["default", "flex", "priority"],
            has_seed: true,
        }
    }

    fn body(&self, prompt: &Prompt, binding: &ProviderBinding, model: &ModelBinding) -> Value {
        // The other servers of this dialect know the words of its first version, and some refuse any member they do not
        // know; what OpenAI would keep without `store` they are not known to keep.
        let is_openai = model.endpoint_id == "openai";
        let system = if is_openai { "developer" } else { "system" };
        let mut body = json!({
            "messages": [
                {"content": prompt.instructions, "role": system},
                {"content": prompt.packet, "role": "user"},
            ],
            "model": binding.model_id,
            "response_format": {
                "json_schema": {"name": prompt.schema_name, "schema": prompt.schema, "strict": true},
                "type": "json_schema",
            },
        });
        // Models that reason refuse the older word everywhere.
        let reasons = models::find(bare(&binding.model_id)).is_some_and(|model| !model.efforts.is_empty());
        let cap = if is_openai || reasons { "max_completion_tokens" } else { "max_tokens" };
        body[cap] = json!(binding.max_tokens);
        if is_openai {
            body["store"] = json!(false);
        }
        if let Some(effort) = model.effort {
            body["reasoning_effort"] = json!(effort);
        }
        if let Some(seed) = binding.seed {
            body["seed"] = json!(seed);
        }
        add_openai_settings(&mut body, binding, model);
        body
    }

    fn decode_reply(&self, body: &Value) -> Result<Reply, Failed> {
        let [choice] = list(body, "choices")? else {
            return Err(invalid("there is not exactly one choice"));
        };
        let message = &choice["message"];
        match message["refusal"].as_str() {
            Some("") => {}
            Some(said) => return Err(refused(said)),
            None if message["refusal"].is_null() => {}
            None => return Err(invalid("`refusal` is no text")),
        }
        match required(choice, "finish_reason")? {
            "stop" => {}
            "length" => return Err(cut_off("length")),
            "content_filter" => return Err(refused("a filter stopped the answer")),
            other => return Err(invalid(&format!("the answer ended for the reason {other:?}"))),
        }
        // A choice that calls a tool or has an error is no answer, whatever its finish reason.
        absent(choice, "error")?;
        absent(message, "tool_calls")?;
        absent(message, "function_call")?;
        only(message, "role", "assistant")?;
        let text = answer(required(message, "content")?.to_owned())?;
        Ok(Reply { text, echoed: echoed(body), usage: usage(&body["usage"]) })
    }

    fn fault(&self, body: &Value) -> Fault {
        openai_fault(body)
    }
}

fn echoed(body: &Value) -> Echoed {
    Echoed {
        model: name(&body["model"]),
        service_tier: name(&body["service_tier"]),
        system_fingerprint: name(&body["system_fingerprint"]),
        ..Echoed::default()
    }
}

fn usage(usage: &Value) -> TokenUsage {
    TokenUsage {
        input: usage["prompt_tokens"].as_u64(),
        cached_input: usage["prompt_tokens_details"]["cached_tokens"].as_u64(),
        cache_write: usage["prompt_tokens_details"]["cache_write_tokens"].as_u64(),
        output: usage["completion_tokens"].as_u64(),
        reasoning: usage["completion_tokens_details"]["reasoning_tokens"].as_u64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{binding, check_failures, prompt, sent};
    use qa_contracts::codes::Code;
    use qa_contracts::v1::{Effort, SamplingMode};

    const OPENAI: &str = r#"{"max_completion_tokens":16000,"messages":[{"content":"review","role":"developer"},{"content":"diff","role":"user"}],"model":"m-1","reasoning_effort":"none","response_format":{"json_schema":{"name":"result","schema":{"type":"object"},"strict":true},"type":"json_schema"},"seed":7,"service_tier":"default","store":false,"temperature":0,"top_p":1}"#;
    const CUSTOM: &str = r#"{"max_tokens":16000,"messages":[{"content":"review","role":"system"},{"content":"diff","role":"user"}],"model":"m-1","response_format":{"json_schema":{"name":"result","schema":{"type":"object"},"strict":true},"type":"json_schema"}}"#;

    #[test]
    fn the_body_is_what_the_binding_says_and_gateways_get_no_newer_words() {
        let mut openai = binding(Surface::OpenaiChat, "openai");
        openai.seed = Some(7);
        let model = openai.model.as_mut().unwrap();
        (model.effort, model.service_tier) = (Some(Effort::None), Some("default".to_owned()));
        assert_eq!(sent(&OpenaiChat, &prompt(), &openai), OPENAI);
        let mut custom = binding(Surface::OpenaiChat, "custom");
        custom.model.as_mut().unwrap().sampling = SamplingMode::ModelFixed;
        assert_eq!(sent(&OpenaiChat, &prompt(), &custom), CUSTOM);
    }

    #[test]
    fn an_answer_is_the_content_of_its_one_choice() {
        let body = json!({
            "model": "m-1", "system_fingerprint": "b11669", "service_tier": "default", "timings": {},
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "{}", "refusal": "", "role": "assistant"}}],
            "usage": {
                "prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 1},
                "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 3},
            },
        });
        let expected = Reply {
            text: "{}".to_owned(),
            echoed: Echoed {
                model: Some("m-1".to_owned()),
                service_tier: Some("default".to_owned()),
                system_fingerprint: Some("b11669".to_owned()),
                ..Echoed::default()
            },
            usage: TokenUsage {
                input: Some(9),
                cached_input: Some(2),
                cache_write: Some(1),
                output: Some(5),
                reasoning: Some(3),
            },
        };
        assert_eq!(OpenaiChat.decode_reply(&body), Ok(expected));
    }

    #[test]
    fn every_other_end_has_its_code() {
        let ended =
            |reason: &str| json!({"choices": [{"finish_reason": reason, "message": {"content": "{}"}}]});
        let message = |message: Value| json!({"choices": [{"finish_reason": "stop", "message": message}]});
        let choice = json!({"finish_reason": "stop", "message": {"content": "{}"}});
        let invalid = Code::ProviderOutputInvalid;
        check_failures(
            &OpenaiChat,
            &[
                (ended("length"), Code::ProviderIncomplete, false),
                (ended("content_filter"), Code::ProviderRefusal, false),
                (message(json!({"content": null, "refusal": "no"})), Code::ProviderRefusal, false),
                (message(json!({"content": "{}", "refusal": {"why": 1}})), invalid, false),
                (ended("tool_calls"), invalid, false),
                (ended("function_call"), invalid, false),
                (ended("Stop"), invalid, false),
                (message(json!({"content": null})), invalid, false),
                (message(json!({"content": ""})), invalid, false),
                (message(json!({"content": [{"type": "text", "text": "{}"}]})), invalid, false),
                (message(json!("{}")), invalid, false),
                (json!({"choices": [{"finish_reason": null, "message": {"content": "{}"}}]}), invalid, false),
                (json!({"choices": [choice, choice]}), invalid, false),
                (json!({"choices": []}), invalid, false),
                (json!({"error": {"message": "m"}}), invalid, false),
            ],
        );
    }
}
