//! Responses of providers, valid by their own SDKs (`tests/foreign/providers.rs`), and policies that use them.

use serde_json::{Value, json};

pub(crate) const CHAT: &str = "openai.chat";
pub(crate) const RESPONSES: &str = "openai.responses";
pub(crate) const MESSAGES: &str = "anthropic.messages";
pub(crate) const SURFACES: [&str; 3] = [CHAT, RESPONSES, MESSAGES];

/// Returns a policy with one model, `review`, at a URL; `more` adds or overrides settings.
pub(crate) fn policy(surface: &str, url: &str, more: &str) -> String {
    let (provider, model, base) = match surface {
        MESSAGES => ("anthropic-claude", "claude-opus-5-5", url.to_owned()),
        _ => ("openai-codex", "gpt-4.1-2025-04-14", format!("{url}/v1")),
    };
    let own = [("provider", provider), ("model", model), ("surface", surface), ("endpoint", &base)];
    let own = own.iter().filter(|(name, _)| !sets(more, name));
    let own: String = own.map(|(name, value)| format!("{name} = \"{value}\"\n")).collect();
    format!("[models.review]\n{own}{more}\n")
}

fn sets(settings: &str, name: &str) -> bool {
    settings.lines().any(|line| line.starts_with(&format!("{name} =")))
}

/// Returns a response with a text, in the form of a surface.
pub(crate) fn answer(surface: &str, text: &str) -> Value {
    match surface {
        CHAT => json!({
            "id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-4.1-2025-04-14",
            "choices": [{
                "index": 0, "finish_reason": "stop", "logprobs": null,
                "message": {"role": "assistant", "content": text, "refusal": null},
            }],
            "usage": {
                "prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 0}, "completion_tokens": 100,
                "completion_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 1100,
            },
        }),
        RESPONSES => json!({
            "id": "r1", "object": "response", "created_at": 1.0, "status": "completed", "error": null,
            "incomplete_details": null, "instructions": null, "metadata": {}, "model": "gpt-4.1-2025-04-14",
            "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "temperature": 0.0, "top_p": 1.0,
            "service_tier": "default",
            "output": [
                {"type": "reasoning", "id": "rs1", "summary": []},
                {"type": "message", "id": "m1", "role": "assistant", "status": "completed",
                 "content": [{"type": "output_text", "text": text, "annotations": []}]},
            ],
            "usage": {
                "input_tokens": 1000, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": 100, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 1100,
            },
        }),
        _ => json!({
            "id": "m1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
            "content": [
                {"type": "thinking", "thinking": "", "signature": "x"},
                {"type": "text", "text": text, "citations": null},
            ],
            "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {
                "input_tokens": 1000, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                "output_tokens": 100,
            },
        }),
    }
}
