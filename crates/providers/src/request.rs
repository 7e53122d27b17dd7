//! The bytes of a request, and the hash that a recording of its answer is kept under.

use serde::Serialize;
use serde_json::Value;

use super::contract::{Prompt, Provider};
use qa_contracts::ids::Sha256Hex;
use qa_contracts::secret::Secret;
use qa_contracts::v1::{AuthScheme, ProviderBinding, Surface};
use qa_core::canonical;

/// Request without the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// URL that it is posted to.
    pub url: String,
    /// Names in lower case and values, by name.
    pub headers: Vec<(String, String)>,
    /// Canonical JSON.
    pub body: Vec<u8>,
    /// Equal requests have equal hashes, whoever sends them, when, and through which address.
    pub request_hash: Sha256Hex,
}

/// Preimage of the request hash.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Hashed<'a> {
    surface: Surface,
    api_version: Option<&'a str>,
    endpoint_id: &'a str,
    path: &'a str,
    body: &'a Value,
}

/// Encodes a prompt. `base_url` has no trailing slash, and the binding is of the same provider.
pub(crate) fn encode(
    provider: &dyn Provider,
    prompt: &Prompt,
    binding: &ProviderBinding,
    base_url: &str,
) -> Encoded {
    const CANONICAL: &str = "a resolved binding and our own schemas have no number that JSON would lose";
    let spec = provider.spec();
    let model = binding.model.as_ref().expect("only the built-in binding has no model, and it asks none");
    let body = provider.body(prompt, binding, model);
    let hashed = Hashed {
        surface: model.surface,
        api_version: model.api_version.as_deref(),
        endpoint_id: &model.endpoint_id,
        path: spec.path,
        body: &body,
    };
    let mut headers = vec![
        ("accept".to_owned(), "application/json".to_owned()),
        ("content-type".to_owned(), "application/json".to_owned()),
    ];
    if let Some(version) = &model.api_version {
        headers.insert(1, ("anthropic-version".to_owned(), version.clone()));
    }
    Encoded {
        url: format!("{base_url}{}", spec.path),
        headers,
        request_hash: canonical::digest(&hashed).expect(CANONICAL),
        body: canonical::to_vec(&body).expect(CANONICAL),
    }
}

/// The header that carries a key.
pub fn authorization(scheme: AuthScheme, key: &Secret) -> (&'static str, Secret) {
    match scheme {
        AuthScheme::Bearer => {
            let value = format!("Bearer {}", key.expose());
            ("authorization", Secret::new(&value).expect("it begins with a word"))
        }
        AuthScheme::XApiKey => ("x-api-key", key.clone()),
        AuthScheme::ApiKey => ("api-key", key.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;
    use crate::sample::{binding, prompt};

    #[test]
    fn a_request_is_its_address_headers_and_canonical_body() {
        let binding = binding(Surface::AnthropicMessages, "anthropic");
        let encoded =
            encode(find(Surface::AnthropicMessages), &prompt(), &binding, "https://api.anthropic.com");
        let body = r#"{"max_tokens":16000,"messages":[{"content":"diff","role":"user"}],"model":"m-1","output_config":{"format":{"schema":{"type":"object"},"type":"json_schema"}},"system":"review","temperature":0}"#;
        let hashed = format!(
            r#"{{"apiVersion":"2026-10-21","body":{body},"endpointId":"anthropic","path":"/v1/messages","surface":"anthropic.messages"}}"#
        );
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = Encoded {
            url: "https://api.anthropic.com/v1/messages".to_owned(),
            headers: vec![
                pair("accept", "application/json"),
                pair("anthropic-version", "2026-10-21"),
                pair("content-type", "application/json"),
            ],
            body: body.as_bytes().to_vec(),
            request_hash: canonical::sha256(hashed.as_bytes()),
        };
        assert_eq!(encoded, expected);
    }

    #[test]
    fn the_hash_covers_what_is_asked_and_not_the_address() {
        let responses = find(Surface::OpenaiResponses);
        let openai = binding(Surface::OpenaiResponses, "openai");
        let of = |binding: &ProviderBinding, base: &str| encode(responses, &prompt(), binding, base);
        let first = of(&openai, "https://api.openai.com/v1");
        assert_eq!(first.url, "https://api.openai.com/v1/responses");
        assert_eq!(first.headers.len(), 2);
        assert_eq!(first.request_hash, of(&openai, "http://localhost:1").request_hash);
        let custom = of(&binding(Surface::OpenaiResponses, "custom"), "http://localhost:1");
        assert_eq!(first.body, custom.body);
        assert_ne!(first.request_hash, custom.request_hash);
        let mut longer = openai;
        longer.max_tokens += 1;
        assert_ne!(first.request_hash, of(&longer, "http://localhost:1").request_hash);
    }

    #[test]
    fn a_key_goes_where_the_scheme_says() {
        let key = Secret::new("k").unwrap();
        let shown: Vec<(&str, String)> = AuthScheme::ALL
            .iter()
            .map(|scheme| authorization(*scheme, &key))
            .map(|(name, value)| (name, value.expose().to_owned()))
            .collect();
        let pair = |name, value: &str| (name, value.to_owned());
        assert_eq!(shown, [pair("authorization", "Bearer k"), pair("x-api-key", "k"), pair("api-key", "k")]);
    }
}
