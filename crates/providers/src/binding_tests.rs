//! Bindings that [`super::resolve`] returns for policies.

use super::*;
use qa_contracts::v1::PolicyModelCapabilities;

fn model(provider: AdapterId, id: &str) -> PolicyModel {
    PolicyModel {
        provider,
        model: id.to_owned(),
        surface: None,
        endpoint: None,
        api_version: None,
        auth_scheme: None,
        sampling: None,
        effort: None,
        service_tier: None,
        max_output_tokens: None,
        timeout_seconds: None,
        seed: None,
        capabilities: None,
    }
}

fn openai(id: &str) -> PolicyModel {
    model(AdapterId::OpenaiCodex, id)
}

fn claude(id: &str) -> PolicyModel {
    model(AdapterId::AnthropicClaude, id)
}

fn capabilities(sampling: SamplingSupport, efforts: &[Effort]) -> Option<PolicyModelCapabilities> {
    Some(PolicyModelCapabilities { sampling, efforts: efforts.to_vec(), max_output_tokens: 4096 })
}

#[test]
fn an_anthropic_model_gets_every_default() {
    let expected = ProviderBinding {
        binding_id: "main".to_owned(),
        adapter_id: AdapterId::AnthropicClaude,
        adapter_version: "1".to_owned(),
        model_id: "claude-opus-5-5".to_owned(),
        temperature: 0,
        top_p: 1,
        max_tokens: 16_000,
        seed: None,
        timeout_ms: 600_000,
        retry_max: 2,
        retry_backoff_ms: vec![500, 1500],
        model: Some(ModelBinding {
            surface: Surface::AnthropicMessages,
            endpoint_id: "anthropic".to_owned(),
            api_version: Some("2026-10-21".to_owned()),
            auth_scheme: AuthScheme::Bearer,
            sampling: SamplingMode::ModelFixed,
            effort: None,
            service_tier: Some("standard_only".to_owned()),
            retry_after_cap_ms: 60_000,
            capability_table_sha256: models::capability_table_sha256(),
            price_table_sha256: models::price_table_sha256(),
        }),
    };
    let endpoint = Endpoint { id: "anthropic".to_owned(), base_url: "https://api.anthropic.com".to_owned() };
    assert_eq!(resolve("main", &claude("claude-opus-5-5")), Ok((expected, endpoint)));
}

/// Formats the parts of a binding in which models and endpoints differ.
fn shown(model: &PolicyModel) -> String {
    let (binding, endpoint) = resolve("main", model).unwrap();
    let model = binding.model.unwrap();
    let effort = model.effort.map_or("-", Effort::as_str);
    let (tier, version) =
        (model.service_tier.as_deref().unwrap_or("-"), model.api_version.as_deref().unwrap_or("-"));
    assert_eq!(model.endpoint_id, endpoint.id);
    let (surface, sampling, auth) = (model.surface, model.sampling, model.auth_scheme);
    format!("{surface} {} {version} {auth} {sampling} {effort} {tier} {}", endpoint.id, binding.max_tokens)
}

#[test]
fn defaults_follow_the_model_and_the_endpoint() {
    let github = |id: &str| PolicyModel { endpoint: Some("github-models".to_owned()), ..openai(id) };
    let custom =
        |model: PolicyModel| PolicyModel { endpoint: Some("https://gate.example/v1".to_owned()), ..model };
    let older = |id: &str| PolicyModel { api_version: Some("2023-06-01".to_owned()), ..claude(id) };
    let with = |effort: Effort, model: PolicyModel| PolicyModel { effort: Some(effort), ..model };
    let stated = |sampling: SamplingSupport, efforts: &[Effort], model: PolicyModel| PolicyModel {
        capabilities: capabilities(sampling, efforts),
        ..model
    };
    let cases = [
        (openai("gpt-4.1"), "openai.responses openai - bearer greedy - default 8000"),
        (openai("gpt-5.1"), "openai.responses openai - bearer greedy none default 8000"),
        (openai("gpt-5.5"), "openai.responses openai - bearer model_fixed medium default 16000"),
        (with(Effort::None, openai("gpt-5.5")), "openai.responses openai - bearer greedy none default 8000"),
        (openai("gpt-6-sol"), "openai.responses openai - bearer model_fixed - default 16000"),
        (openai("gpt-6-astra"), "openai.responses openai - bearer model_fixed - default 16000"),
        (github("openai/gpt-4.1"), "openai.chat github-models - bearer greedy - - 8000"),
        (custom(openai("x/gpt-5.1")), "openai.responses custom - bearer greedy none - 8000"),
        (
            claude("claude-opus-4-6"),
            "anthropic.messages anthropic 2026-10-21 bearer model_fixed - standard_only 16000",
        ),
        (
            older("claude-opus-4-6"),
            "anthropic.messages anthropic 2023-06-01 bearer greedy - standard_only 8000",
        ),
        (
            older("claude-haiku-4-5"),
            "anthropic.messages anthropic 2023-06-01 bearer greedy - standard_only 8000",
        ),
        (
            with(Effort::Low, older("claude-opus-4-6")),
            "anthropic.messages anthropic 2023-06-01 bearer model_fixed low standard_only 16000",
        ),
        (
            older("claude-opus-5-5"),
            "anthropic.messages anthropic 2023-06-01 bearer model_fixed - standard_only 16000",
        ),
        (
            custom(stated(SamplingSupport::Always, &[], openai("local"))),
            "openai.responses custom - bearer greedy - - 4096",
        ),
        (
            custom(stated(SamplingSupport::WithoutEffort, &[], openai("local"))),
            "openai.responses custom - bearer greedy - - 4096",
        ),
        (
            custom(stated(SamplingSupport::WithoutEffort, &[Effort::Low], openai("local"))),
            "openai.responses custom - bearer model_fixed - - 4096",
        ),
        // The table's model of that id is spoken to in another way.
        (
            custom(stated(SamplingSupport::Never, &[], openai("anthropic/claude-opus-5-5"))),
            "openai.responses custom - bearer model_fixed - - 4096",
        ),
    ];
    for (model, expected) in cases {
        assert_eq!(shown(&model), expected, "{model:?}");
    }
}

#[test]
fn settings_of_the_policy_are_kept() {
    let asked = PolicyModel {
        surface: Some(Surface::OpenaiChat),
        auth_scheme: Some(AuthScheme::ApiKey),
        sampling: Some(SamplingMode::ModelFixed),
        effort: Some(Effort::Xhigh),
        service_tier: Some("flex".to_owned()),
        max_output_tokens: Some(21_333),
        timeout_seconds: Some(3600),
        seed: Some(MAX_SEED),
        ..openai("gpt-5.5")
    };
    assert_eq!(shown(&asked), "openai.chat openai - api-key model_fixed xhigh flex 21333");
    let (binding, _) = resolve("main", &asked).unwrap();
    assert_eq!((binding.timeout_ms, binding.seed), (3_600_000, Some(MAX_SEED)));
    let least =
        PolicyModel { max_output_tokens: Some(16), timeout_seconds: Some(1), ..claude("claude-opus-5-5") };
    let (binding, _) = resolve("main", &least).unwrap();
    assert_eq!((binding.max_tokens, binding.timeout_ms), (16, 1000));
    let key = PolicyModel { auth_scheme: Some(AuthScheme::XApiKey), ..claude("claude-opus-5-5") };
    assert!(shown(&key).contains("x-api-key"));
}

#[test]
fn settings_that_cannot_be_kept_are_named_with_the_way_out() {
    let text = |text: &str| Some(text.to_owned());
    let endpoint = |name: &str, model: PolicyModel| PolicyModel { endpoint: text(name), ..model };
    let surface = |surface: Surface, model: PolicyModel| PolicyModel { surface: Some(surface), ..model };
    let tier = |tier: &str, model: PolicyModel| PolicyModel { service_tier: text(tier), ..model };
    let tokens = |tokens: u64, model: PolicyModel| PolicyModel { max_output_tokens: Some(tokens), ..model };
    let greedy = |model: PolicyModel| PolicyModel { sampling: Some(SamplingMode::Greedy), ..model };
    let version = |version: &str, model: PolicyModel| PolicyModel { api_version: text(version), ..model };
    let with = |effort: Effort, model: PolicyModel| PolicyModel { effort: Some(effort), ..model };
    let auth = |scheme: AuthScheme, model: PolicyModel| PolicyModel { auth_scheme: Some(scheme), ..model };
    let seconds = |seconds: u64| PolicyModel { timeout_seconds: Some(seconds), ..openai("gpt-5.5") };
    let seed = |seed: u64, model: PolicyModel| PolicyModel { seed: Some(seed), ..model };
    let stated = |efforts: &[Effort], model: PolicyModel| PolicyModel {
        capabilities: capabilities(SamplingSupport::Always, efforts),
        ..model
    };
    let mut tiny = stated(&[], openai("local"));
    tiny.capabilities.as_mut().unwrap().max_output_tokens = 15;
    let gpt = || openai("gpt-5.5");
    let opus = || claude("claude-opus-5-5");
    let cases = [
        (model(AdapterId::Builtin, "none"), "provider is builtin", "openai-codex"),
        (
            openai("claude-opus-5-5"),
            "provider is openai-codex, but claude-opus-5-5 is a model of",
            "say anthropic-claude",
        ),
        (openai(""), "model is no id", "exact id"),
        (openai("gpt 5.5"), "model is no id", "exact id"),
        (openai("gpt-5.5\u{202e}"), "model is no id", "exact id"),
        (openai(&"x".repeat(201)), "model is no id", "exact id"),
        (openai("gpt-5.1-chat-latest"), "model is gpt-5.1-chat-latest, a name that moves", "exact id"),
        (stated(&[], openai("my-latest")), "model is my-latest, a name that moves", "exact id"),
        (openai("unheard-of"), "model is unheard-of, of which nothing is known", "`capabilities`"),
        (openai("openai/gpt-5.5"), "model is openai/gpt-5.5, of which nothing", "`capabilities`"),
        (
            endpoint("https://gate.example", openai("anthropic/claude-opus-5-5")),
            "model is anthropic/claude-opus-5-5, of which nothing",
            "`capabilities`",
        ),
        (openai("gpt-5.5-pro"), "model is gpt-5.5-pro, which cannot be held to a schema", "another model"),
        (stated(&[], gpt()), "capabilities are stated", "leave them out"),
        (
            endpoint("github-models", stated(&[], openai("openai/gpt-5.5"))),
            "capabilities are stated",
            "leave them out",
        ),
        (tiny, "capabilities.max-output-tokens is 15", "at least 16"),
        (endpoint("azure", gpt()), "endpoint is neither", "github-models"),
        (endpoint("http://gate.example", gpt()), "endpoint sends the key and the code in the clear", "https"),
        (endpoint("https://k@gate.example", gpt()), "endpoint holds credentials", "https"),
        (endpoint("anthropic", gpt()), "endpoint is anthropic, which does not speak", "`provider`"),
        (endpoint("github-models", opus()), "endpoint is github-models, which does not speak", "`provider`"),
        (surface(Surface::AnthropicMessages, gpt()), "surface is anthropic.messages", "`provider`"),
        (surface(Surface::OpenaiChat, opus()), "surface is openai.chat", "`provider`"),
        (
            surface(Surface::OpenaiResponses, endpoint("github-models", openai("openai/gpt-5.5"))),
            "surface is openai.responses, which github-models does not have",
            "say openai.chat",
        ),
        (version("2023-06-01", gpt()), "api-version is \"2023-06-01\"", "leave it out"),
        (version("2024-01-01", opus()), "api-version is \"2024-01-01\"", "say 2026-10-21 or 2023-06-01"),
        (auth(AuthScheme::XApiKey, gpt()), "auth-scheme is x-api-key", "bearer or api-key"),
        (auth(AuthScheme::ApiKey, opus()), "auth-scheme is api-key", "bearer or x-api-key"),
        (
            auth(AuthScheme::ApiKey, endpoint("github-models", openai("openai/gpt-5.5"))),
            "auth-scheme is api-key",
            "say bearer",
        ),
        (with(Effort::Max, gpt()), "effort is max", "none or low or medium or high or xhigh"),
        (with(Effort::Low, openai("gpt-4.1")), "effort is low", "leave it out"),
        (with(Effort::None, stated(&[Effort::None], claude("new"))), "effort is none", "leave it out"),
        (
            greedy(gpt()),
            "sampling is greedy, but the model takes temperature only where `effort` is none",
            "model_fixed",
        ),
        (greedy(openai("gpt-6-sol")), "sampling is greedy, but the model takes", "model_fixed"),
        (greedy(openai("gpt-6-astra")), "sampling is greedy, but the model refuses", "model_fixed"),
        (greedy(opus()), "sampling is greedy, but the model refuses", "model_fixed"),
        (greedy(claude("claude-haiku-4-5")), "sampling is greedy, but this version", "model_fixed"),
        (
            greedy(with(Effort::Low, version("2023-06-01", claude("claude-opus-4-6")))),
            "sampling is greedy, but the model takes temperature only where no `effort` is set",
            "model_fixed",
        ),
        (tier("turbo", gpt()), "service-tier is \"turbo\"", "default or flex or priority"),
        (tier("default", opus()), "service-tier is \"default\"", "standard_only or auto"),
        (
            tier("default", endpoint("github-models", openai("openai/gpt-5.5"))),
            "service-tier is \"default\", which github-models does not have",
            "leave it out",
        ),
        (tokens(15, gpt()), "max-output-tokens is 15", "say 16 to 21333"),
        (tokens(21_334, gpt()), "max-output-tokens is 21334", "say 16 to 21333"),
        (tokens(16_385, openai("gpt-4o")), "max-output-tokens is 16385", "say 16 to 16384"),
        (seconds(0), "timeout-seconds is 0", "say 1 to 3600"),
        (seconds(3601), "timeout-seconds is 3601", "say 1 to 3600"),
        (seed(1, gpt()), "seed is set, but openai.responses has none", "leave it out"),
        (seed(1, opus()), "seed is set, but anthropic.messages has none", "leave it out"),
        (seed(MAX_SEED + 1, surface(Surface::OpenaiChat, gpt())), "seed is 2147483648", "2147483647"),
    ];
    for (model, problem, way_out) in cases {
        let error = resolve("main", &model).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with(&format!("models.main.{problem}")), "{message}");
        assert!(message.rsplit_once("; ").unwrap().1.contains(way_out), "{message}");
    }
}

#[test]
fn a_message_shows_what_a_name_hides() {
    let error = resolve("a\u{202e}b", &openai("x\ny")).unwrap_err().to_string();
    assert!(error.starts_with("models.a\\u{202e}b.model is no id of a model: \"x\\ny\""), "{error}");
}
