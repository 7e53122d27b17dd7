//! Shared by the tests of the dialects: a prompt, a binding, and a check of failures.

use serde_json::{Value, json};

use super::contract::{Prompt, Provider};
use super::models;
use qa_contracts::codes::Code;
use qa_contracts::v1::{AuthScheme, ModelBinding, ProviderBinding, SamplingMode, Surface};
use qa_core::canonical;

pub(super) fn prompt() -> Prompt {
    Prompt {
        instructions: "review".to_owned(),
        packet: "diff".to_owned(),
        schema_name: "result",
        schema: json!({"type": "object"}),
    }
}

/// A greedy binding that leaves out whatever may be left out.
pub(super) fn binding(surface: Surface, endpoint_id: &str) -> ProviderBinding {
    let spec = super::find(surface).spec();
    ProviderBinding {
        binding_id: "main".to_owned(),
        adapter_id: spec.adapter_id,
        adapter_version: spec.version.to_owned(),
        model_id: "m-1".to_owned(),
        temperature: 0,
        top_p: 1,
        max_tokens: 16_000,
        seed: None,
        timeout_ms: 600_000,
        retry_max: 2,
        retry_backoff_ms: vec![500, 1500],
        model: Some(ModelBinding {
            surface,
            endpoint_id: endpoint_id.to_owned(),
            api_version: spec.api_versions.first().map(|version| (*version).to_owned()),
            auth_scheme: AuthScheme::Bearer,
            sampling: SamplingMode::Greedy,
            effort: None,
            service_tier: None,
            retry_after_cap_ms: 60_000,
            capability_table_sha256: models::capability_table_sha256(),
            price_table_sha256: models::price_table_sha256(),
        }),
    }
}

/// The bytes of a body as they are sent.
pub(super) fn sent(provider: &dyn Provider, prompt: &Prompt, binding: &ProviderBinding) -> String {
    let body = provider.body(prompt, binding, binding.model.as_ref().unwrap());
    String::from_utf8(canonical::to_vec(&body).unwrap()).unwrap()
}

/// Reads each body and those that no dialect can answer with.
pub(super) fn check_failures(provider: &dyn Provider, cases: &[(Value, Code, bool)]) {
    for (body, code, is_transient) in cases {
        let failed = provider.decode_reply(body).unwrap_err();
        assert_eq!((failed.code, failed.is_transient), (*code, *is_transient), "{body}");
    }
    for body in [json!(null), json!([]), json!({}), json!("{}"), json!(1e300), json!([{"choices": []}])] {
        assert_eq!(provider.decode_reply(&body).unwrap_err().code, Code::ProviderOutputInvalid, "{body}");
    }
}
