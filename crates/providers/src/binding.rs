//! Resolves a model of the policy to a binding: every default made explicit, and every setting that cannot be honored
//! refused before any request is sent.

use super::contract::ProviderSpec;
use super::endpoint::{self, CUSTOM, Known};
use super::{anthropic_messages, models};
use qa_contracts::v1::{
    AdapterId, AuthScheme, Effort, ModelBinding, PolicyModel, ProviderBinding, SamplingMode, SamplingSupport,
    Surface,
};
use qa_core::masking;

pub(crate) use super::endpoint::Endpoint;

/// Tokens of a reply (S003-131).
const REPLY_TOKENS: u64 = 8_000;
/// Tokens of a reply that the model reasons about before, which counts as well: fewer may leave nothing for the reply.
const REASONED_REPLY_TOKENS: u64 = 16_000;
/// More may take longer than the ten minutes a provider keeps a connection open that is silent.
const CEILING_MAX_TOKENS: u64 = 21_333;
/// The least that a provider accepts.
const FLOOR_MAX_TOKENS: u64 = 16;
const DEFAULT_TIMEOUT_SECONDS: u64 = 600;
const MAX_TIMEOUT_SECONDS: u64 = 3600;
const MAX_SEED: u64 = (1 << 31) - 1;
const RETRY_AFTER_CAP_MS: u64 = 60_000;
/// The longest id of a model.
const MAX_MODEL_BYTES: usize = 200;

/// A setting that cannot be kept. It is an error of the policy, and reported as one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("models.{name}.{setting} {problem}; {way_out}")]
pub(crate) struct BindingError {
    name: String,
    setting: &'static str,
    problem: String,
    way_out: String,
}

/// A [`BindingError`] that does not know the model's name yet.
struct Wrong(&'static str, String, String);

fn wrong(setting: &'static str, problem: impl Into<String>, way_out: impl Into<String>) -> Wrong {
    Wrong(setting, problem.into(), way_out.into())
}

/// Settings that a model accepts, from the table or from the policy.
struct Accepts {
    sampling: SamplingSupport,
    efforts: Vec<Effort>,
    default_effort: Option<Effort>,
    max_output_tokens: u64,
}

/// Endpoint of a model, with its dialect.
struct Place {
    endpoint: Endpoint,
    /// Null for an address without a name.
    known: Option<&'static Known>,
    spec: &'static ProviderSpec,
}

/// The binding of the policy's model `name`, and where it is asked.
pub(crate) fn resolve(name: &str, model: &PolicyModel) -> Result<(ProviderBinding, Endpoint), BindingError> {
    settle(name, model).map_err(|Wrong(setting, problem, way_out)| BindingError {
        name: masking::sanitize_cut(name, MAX_MODEL_BYTES),
        setting,
        problem: masking::sanitize_cut(&problem, 400),
        way_out,
    })
}

fn settle(name: &str, model: &PolicyModel) -> Result<(ProviderBinding, Endpoint), Wrong> {
    let place = place(model)?;
    let spec = place.spec;
    check_model_id(&model.model)?;
    let accepts = accepts(model, &place)?;
    let api_version = api_version(model, spec)?;
    let effort = effort(model, &accepts, spec.surface)?;
    let sampling = sampling(model, &accepts, api_version.as_deref(), effort)?;
    // A model that takes no sampling parameters reasons, asked or not.
    let reasons = sampling == SamplingMode::ModelFixed || !matches!(effort, None | Some(Effort::None));
    let binding = ProviderBinding {
        binding_id: name.to_owned(),
        adapter_id: spec.adapter_id,
        adapter_version: spec.version.to_owned(),
        model_id: model.model.clone(),
        temperature: 0,
        top_p: 1,
        max_tokens: max_tokens(model, &accepts, reasons)?,
        seed: seed(model, spec)?,
        timeout_ms: timeout_ms(model)?,
        retry_max: 2,
        retry_backoff_ms: vec![500, 1500],
        model: Some(ModelBinding {
            surface: spec.surface,
            endpoint_id: place.endpoint.id.clone(),
            sampling,
            api_version,
            auth_scheme: auth_scheme(model, &place)?,
            effort,
            service_tier: service_tier(model, &place)?,
            retry_after_cap_ms: RETRY_AFTER_CAP_MS,
            capability_table_sha256: models::capability_table_sha256(),
            price_table_sha256: models::price_table_sha256(),
        }),
    };
    Ok((binding, place.endpoint))
}

fn place(model: &PolicyModel) -> Result<Place, Wrong> {
    let own = match model.provider {
        AdapterId::Builtin => {
            return Err(wrong(
                "provider",
                "is builtin, which asks no model",
                "say openai-codex or anthropic-claude",
            ));
        }
        AdapterId::OpenaiCodex => "openai",
        AdapterId::AnthropicClaude => "anthropic",
    };
    let names = "say openai, anthropic, github-models, or an address that begins with https";
    let endpoint = endpoint::parse(model.endpoint.as_deref().unwrap_or(own))
        .map_err(|problem| wrong("endpoint", problem, names))?;
    let known = endpoint::known(&endpoint.id);
    if known.is_some_and(|known| known.adapter != model.provider) {
        let problem = format!("is {}, which does not speak as {} does", endpoint.id, model.provider);
        return Err(wrong("endpoint", problem, "leave it out, or change `provider`"));
    }
    let default = known.or_else(|| endpoint::known(own)).expect("the own endpoint is known").surfaces[0];
    let spec = super::find(model.surface.unwrap_or(default)).spec();
    if spec.adapter_id != model.provider {
        let problem = format!("is {}, which is not spoken by {}", spec.surface, model.provider);
        return Err(wrong("surface", problem, "leave it out, or change `provider`"));
    }
    if known.is_some_and(|known| !known.surfaces.contains(&spec.surface)) {
        let problem = format!("is {}, which {} does not have", spec.surface, endpoint.id);
        return Err(wrong("surface", problem, format!("leave it out, or say {default}")));
    }
    Ok(Place { endpoint, known, spec })
}

fn check_model_id(id: &str) -> Result<(), Wrong> {
    let exact = "give the model's exact id";
    if id.is_empty() || id.len() > MAX_MODEL_BYTES || !id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong("model", format!("is no id of a model: {id:?}"), exact));
    }
    if id.ends_with("-latest") {
        return Err(wrong("model", format!("is {id}, a name that moves from model to model"), exact));
    }
    Ok(())
}

/// Returns the maker's model behind a reseller's id.
fn find_resold(model: &PolicyModel, place: &Place) -> Option<&'static models::Model> {
    if ![CUSTOM, "github-models"].contains(&place.endpoint.id.as_str()) {
        return None;
    }
    let (_, id) = model.model.rsplit_once('/')?;
    models::find(id).filter(|known| known.adapter == model.provider)
}

/// Returns the settings that a model accepts, from the table or else from the policy. Resellers put the maker's name
/// before the id; such an id is looked up only where that model has the same interface.
fn accepts(model: &PolicyModel, place: &Place) -> Result<Accepts, Wrong> {
    let known = models::find(&model.model).or_else(|| find_resold(model, place));
    match (known, &model.capabilities) {
        (Some(known), _) if known.adapter != model.provider => {
            let problem = format!("is {}, but {} is a model of {}", model.provider, known.id, known.adapter);
            Err(wrong("provider", problem, format!("say {}", known.adapter)))
        }
        (Some(known), Some(_)) => Err(wrong(
            "capabilities",
            format!("are stated, but those of {} are known", known.id),
            "leave them out",
        )),
        (Some(known), None) if !known.structured_output => {
            let problem = format!("is {}, which cannot be held to a schema", model.model);
            Err(wrong("model", problem, "choose another model"))
        }
        (Some(known), None) => Ok(Accepts {
            sampling: known.sampling,
            efforts: known.efforts.clone(),
            default_effort: known.default_effort,
            max_output_tokens: known.max_output_tokens,
        }),
        (None, Some(stated)) if stated.max_output_tokens < FLOOR_MAX_TOKENS => {
            let problem = format!("is {}, too little for any answer", stated.max_output_tokens);
            Err(wrong("capabilities.max-output-tokens", problem, format!("say at least {FLOOR_MAX_TOKENS}")))
        }
        (None, Some(stated)) => Ok(Accepts {
            sampling: stated.sampling,
            efforts: stated.efforts.clone(),
            default_effort: None,
            max_output_tokens: stated.max_output_tokens,
        }),
        (None, None) => {
            let problem = format!("is {}, of which nothing is known", model.model);
            Err(wrong("model", problem, "correct it, or state what it accepts in `capabilities`"))
        }
    }
}

fn api_version(model: &PolicyModel, spec: &ProviderSpec) -> Result<Option<String>, Wrong> {
    match &model.api_version {
        None => Ok(spec.api_versions.first().map(|version| (*version).to_owned())),
        Some(version) if spec.api_versions.contains(&version.as_str()) => Ok(Some(version.clone())),
        Some(version) => {
            let problem = format!("is {version:?}, which {} does not have", spec.surface);
            Err(wrong("api-version", problem, one_of(spec.api_versions)))
        }
    }
}

fn effort(model: &PolicyModel, accepts: &Accepts, surface: Surface) -> Result<Option<Effort>, Wrong> {
    let Some(effort) = model.effort else { return Ok(accepts.default_effort) };
    let has_word = match surface {
        Surface::OpenaiResponses | Surface::OpenaiChat => true,
        Surface::AnthropicMessages => !matches!(effort, Effort::None | Effort::Minimal),
    };
    if !has_word || !accepts.efforts.contains(&effort) {
        let words: Vec<&str> = accepts.efforts.iter().map(|effort| effort.as_str()).collect();
        let problem = format!("is {effort}, which {} on {surface} does not accept", model.model);
        return Err(wrong("effort", problem, one_of(&words)));
    }
    Ok(Some(effort))
}

fn sampling(
    model: &PolicyModel,
    accepts: &Accepts,
    api_version: Option<&str>,
    effort: Option<Effort>,
) -> Result<SamplingMode, Wrong> {
    match (model.sampling, against_greedy(accepts, api_version, effort)) {
        (None | Some(SamplingMode::Greedy), None) => Ok(SamplingMode::Greedy),
        (None, Some(_)) | (Some(SamplingMode::ModelFixed), _) => Ok(SamplingMode::ModelFixed),
        (Some(SamplingMode::Greedy), Some(against)) => {
            let problem = format!("is greedy, but {against}");
            Err(wrong("sampling", problem, "leave it out, or say model_fixed"))
        }
    }
}

/// Returns the reason why temperature and top_p cannot be sent, or `None`.
fn against_greedy(
    accepts: &Accepts,
    api_version: Option<&str>,
    effort: Option<Effort>,
) -> Option<&'static str> {
    let is_without_effort = match (api_version, effort) {
        // OpenAI's models reason by a default of their own where nothing is sent, if they reason at all; Anthropic's
        // of this kind only when they are asked to. Only the latter's API has versions.
        (_, Some(effort)) => effort == Effort::None,
        (Some(_), None) => true,
        (None, None) => accepts.efforts.is_empty(),
    };
    match accepts.sampling {
        SamplingSupport::Never => Some("the model refuses temperature and top_p"),
        SamplingSupport::Always | SamplingSupport::WithoutEffort
            if api_version == Some(anthropic_messages::WITHOUT_SAMPLING) =>
        {
            Some("this version of the API refuses temperature; `api-version` 2023-06-01 takes it")
        }
        SamplingSupport::Always => None,
        SamplingSupport::WithoutEffort if is_without_effort => None,
        SamplingSupport::WithoutEffort if api_version.is_some() => {
            Some("the model takes temperature only where no `effort` is set")
        }
        SamplingSupport::WithoutEffort => Some("the model takes temperature only where `effort` is none"),
    }
}

fn auth_scheme(model: &PolicyModel, place: &Place) -> Result<AuthScheme, Wrong> {
    let schemes = match place.known {
        Some(known) => known.auth_schemes,
        None => place.spec.auth_schemes,
    };
    match model.auth_scheme {
        None => Ok(schemes[0]),
        Some(scheme) if schemes.contains(&scheme) => Ok(scheme),
        Some(scheme) => {
            let words: Vec<&str> = schemes.iter().map(|scheme| scheme.as_str()).collect();
            let problem = format!("is {scheme}, which is not taken there");
            Err(wrong("auth-scheme", problem, one_of(&words)))
        }
    }
}

/// An address without a name may not know the setting at all, so that nothing is sent unless it is asked for.
fn service_tier(model: &PolicyModel, place: &Place) -> Result<Option<String>, Wrong> {
    let tiers = place.spec.service_tiers;
    let has_tiers = place.known.is_none_or(|known| known.has_service_tiers);
    match &model.service_tier {
        None => Ok(place.known.filter(|_| has_tiers).map(|_| tiers[0].to_owned())),
        Some(tier) if has_tiers && tiers.contains(&tier.as_str()) => Ok(Some(tier.clone())),
        Some(tier) => {
            let problem = format!("is {tier:?}, which {} does not have", place.endpoint.id);
            Err(wrong("service-tier", problem, one_of(if has_tiers { tiers } else { &[] })))
        }
    }
}

fn max_tokens(model: &PolicyModel, accepts: &Accepts, reasons: bool) -> Result<u64, Wrong> {
    let ceiling = accepts.max_output_tokens.min(CEILING_MAX_TOKENS);
    let default = if reasons { REASONED_REPLY_TOKENS } else { REPLY_TOKENS };
    let tokens = model.max_output_tokens.unwrap_or(ceiling.min(default));
    if (FLOOR_MAX_TOKENS..=ceiling).contains(&tokens) {
        return Ok(tokens);
    }
    Err(wrong("max-output-tokens", format!("is {tokens}"), format!("say {FLOOR_MAX_TOKENS} to {ceiling}")))
}

fn timeout_ms(model: &PolicyModel) -> Result<u64, Wrong> {
    let seconds = model.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS);
    if (1..=MAX_TIMEOUT_SECONDS).contains(&seconds) {
        return Ok(seconds * 1000);
    }
    Err(wrong("timeout-seconds", format!("is {seconds}"), format!("say 1 to {MAX_TIMEOUT_SECONDS}")))
}

fn seed(model: &PolicyModel, spec: &ProviderSpec) -> Result<Option<u64>, Wrong> {
    match model.seed {
        Some(_) if !spec.has_seed => {
            let problem = format!("is set, but {} has none", spec.surface);
            Err(wrong("seed", problem, "leave it out"))
        }
        Some(seed) if seed > MAX_SEED => {
            Err(wrong("seed", format!("is {seed}"), format!("say 0 to {MAX_SEED}")))
        }
        seed => Ok(seed),
    }
}

/// The way out where a word is not one of a list.
fn one_of(words: &[&str]) -> String {
    if words.is_empty() {
        "leave it out".to_owned()
    } else {
        format!("leave it out, or say {}", words.join(" or "))
    }
}

#[cfg(test)]
#[path = "binding_tests.rs"]
mod tests;
