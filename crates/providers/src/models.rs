//! What models accept and what they cost, as far as it is known; two tables that `evaluation/models.py` makes.

use std::sync::LazyLock;

use serde::Deserialize;

use super::contract::TokenUsage;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::{AdapterId, Effort, SamplingSupport};
use qa_core::canonical;

const MODELS_JSON: &[u8] = include_bytes!("models.v1.json");
const PRICES_JSON: &[u8] = include_bytes!("prices.v1.json");

static MODELS: LazyLock<ModelTable> =
    LazyLock::new(|| serde_json::from_slice(MODELS_JSON).expect("the table of models is tested"));
static PRICES: LazyLock<PriceTable> =
    LazyLock::new(|| serde_json::from_slice(PRICES_JSON).expect("the table of prices is tested"));
static MODELS_SHA256: LazyLock<Sha256Hex> = LazyLock::new(|| canonical::sha256(MODELS_JSON));
static PRICES_SHA256: LazyLock<Sha256Hex> = LazyLock::new(|| canonical::sha256(PRICES_JSON));

/// A model and what it accepts.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Model {
    /// The key, by which the table is sorted.
    pub(crate) id: String,
    /// Whose model it is.
    pub(crate) adapter: AdapterId,
    /// Which sampling parameters it takes.
    pub(crate) sampling: SamplingSupport,
    /// Which efforts it knows, the least first.
    pub(crate) efforts: Vec<Effort>,
    /// The one it uses when none is sent; null when nobody says.
    pub(crate) default_effort: Option<Effort>,
    /// The most tokens of one answer.
    pub(crate) max_output_tokens: u64,
    /// Whether it can be held to a schema.
    pub(crate) structured_output: bool,
    /// The day it is switched off, as `YYYY-MM-DD`; null when none is announced.
    pub retires: Option<String>,
}

/// What a model costs, in 1e-12 US dollars for a token; null when it is not known.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Price {
    id: String,
    input: u64,
    output: u64,
    cached_input: Option<u64>,
    cache_write: Option<u64>,
    /// The longest input these prices hold for; null when they hold for any.
    input_limit: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(not(test), expect(dead_code, reason = "the head of the file is for people"))]
struct ModelTable {
    schema_version: String,
    date: String,
    source: String,
    notice: String,
    models: Vec<Model>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(not(test), expect(dead_code, reason = "the head of the file is for people"))]
struct PriceTable {
    schema_version: String,
    date: String,
    source: String,
    notice: String,
    prices: Vec<Price>,
}

/// The model of an id, exactly as it is written.
pub fn find(id: &str) -> Option<&'static Model> {
    let models = &MODELS.models;
    models.binary_search_by(|model| model.id.as_str().cmp(id)).ok().map(|index| &models[index])
}

/// The id without the maker's name that resellers put before it.
pub fn bare(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

/// The digest over the table of what models accept.
pub(crate) fn capability_table_sha256() -> Sha256Hex {
    MODELS_SHA256.clone()
}

/// The digest over the table of prices.
pub(crate) fn price_table_sha256() -> Sha256Hex {
    PRICES_SHA256.clone()
}

/// What an answer cost in millionths of a US dollar, rounded up; null where a number that matters is not known.
///
/// `service_tier` is what the provider says it used, or else what it was asked for. The prices are those of the
/// provider itself, in its standard tier; whoever resells the model may ask for others.
pub(crate) fn cost_micro_usd(model: &str, service_tier: Option<&str>, usage: TokenUsage) -> Option<u64> {
    if !matches!(service_tier, None | Some("default" | "standard" | "standard_only")) {
        return None;
    }
    let prices = &PRICES.prices;
    let price = &prices[prices.binary_search_by(|price| price.id.as_str().cmp(model)).ok()?];
    let input = usage.input?;
    if price.input_limit.is_some_and(|limit| input > limit) {
        return None;
    }
    let (cached, cached_cost) = part(usage.cached_input, price.cached_input)?;
    let (written, written_cost) = part(usage.cache_write, price.cache_write)?;
    let plain = input.checked_sub(cached)?.checked_sub(written)?;
    let output_cost = cost(usage.output?, price.output);
    let total = cost(plain, price.input) + cached_cost + written_cost + output_cost;
    u64::try_from(total.div_ceil(1_000_000)).ok()
}

/// Tokens that have a price of their own, and what they cost. Where there is neither a count nor a price there are
/// none; a count without a price and a price without a count are something that is not known.
fn part(tokens: Option<u64>, price: Option<u64>) -> Option<(u64, u128)> {
    match (tokens, price) {
        (Some(tokens), Some(price)) => Some((tokens, cost(tokens, price))),
        (None | Some(0), None) => Some((0, 0)),
        (Some(_), None) | (None, Some(_)) => None,
    }
}

fn cost(tokens: u64, price: u64) -> u128 {
    // Four of these fit easily: the table's prices are far below 2^60.
    u128::from(tokens) * u128::from(price)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_are_sorted_and_of_the_same_models() {
        let models: Vec<&str> = MODELS.models.iter().map(|model| model.id.as_str()).collect();
        let prices: Vec<&str> = PRICES.prices.iter().map(|price| price.id.as_str()).collect();
        assert_eq!(models, prices);
        assert!(models.windows(2).all(|pair| pair[0] < pair[1]) && models.len() > 40, "{models:?}");
        assert_eq!(
            (MODELS.schema_version.as_str(), PRICES.schema_version.as_str()),
            ("models.v1", "prices.v1")
        );
        for head in [&MODELS.date, &MODELS.source, &MODELS.notice] {
            assert!([&PRICES.date, &PRICES.source, &PRICES.notice].contains(&head), "{head}");
        }
        assert_ne!(capability_table_sha256(), price_table_sha256());
    }

    #[test]
    fn no_model_contradicts_itself() {
        for model in &MODELS.models {
            assert!(model.efforts.is_sorted(), "{model:?}");
            assert!(model.default_effort.is_none_or(|effort| model.efforts.contains(&effort)), "{model:?}");
            assert!(!model.id.ends_with("-latest") && model.adapter != AdapterId::Builtin, "{model:?}");
            assert!(model.retires.as_deref().is_none_or(|day| *day > *MODELS.date), "{model:?}");
        }
    }

    #[test]
    fn models_accept_what_their_makers_say() {
        use Effort::{High, Low, Max, Medium, Minimal, None, Xhigh};
        use SamplingSupport::{Always, Never, WithoutEffort};
        let cases: &[(&str, SamplingSupport, &[Effort], Option<Effort>)] = &[
            ("gpt-4.1", Always, &[], Option::None),
            ("gpt-5", Never, &[Minimal, Low, Medium, High], Option::None),
            ("gpt-5.1", WithoutEffort, &[None, Low, Medium, High], Some(None)),
            ("gpt-5.5", WithoutEffort, &[None, Low, Medium, High, Xhigh], Some(Medium)),
            ("gpt-6-astra", Never, &[Low, Medium, High, Xhigh, Max], Option::None),
            ("gpt-6.1-sol", Never, &[Low, Medium, High, Xhigh, Max], Option::None),
            ("gpt-5-pro", Never, &[Low, Medium, High], Option::None),
            ("claude-sonnet-4-5", Always, &[], Option::None),
            ("claude-opus-4-6", WithoutEffort, &[Low, Medium, High, Max], Option::None),
            ("claude-opus-4-7", Never, &[Low, Medium, High, Xhigh, Max], Option::None),
            ("claude-opus-5-5", Never, &[Low, Medium, High, Xhigh, Max], Option::None),
            ("claude-haiku-5-5", Never, &[Low, Medium, High, Xhigh, Max], Option::None),
        ];
        for (id, sampling, efforts, default) in cases {
            let model = find(id).unwrap();
            assert_eq!(
                (model.sampling, model.efforts.as_slice(), model.default_effort),
                (*sampling, *efforts, *default),
                "{id}"
            );
        }
        assert_eq!(find("gpt-4o").unwrap().retires.as_deref(), Some("2027-01-14"));
        assert_eq!((find("gpt-5.5x"), find("")), (Option::None, Option::None));
    }

    fn usage(input: u64, cached: Option<u64>, written: Option<u64>, output: u64) -> TokenUsage {
        let (input, output) = (Some(input), Some(output));
        TokenUsage { input, cached_input: cached, cache_write: written, output, reasoning: None }
    }

    #[test]
    fn costs_are_whole_millionths_and_unknown_where_a_number_is_missing() {
        let zero = usage(0, Some(0), Some(0), 0);
        let cases = [
            // 1,000 at 4 dollars, 200 at 0.2, 100 at 5, 500 at 20 for a million.
            ("claude-opus-5-5", usage(1300, Some(200), Some(100), 500), Some(14_540)),
            // A tenth of a millionth is rounded up.
            ("claude-haiku-5-5", usage(1, Some(0), Some(0), 0), Some(1)),
            ("claude-haiku-5-5", usage(20, Some(0), Some(0), 0), Some(2)),
            ("claude-opus-5-5", zero, Some(0)),
            // OpenAI counts no writing to the cache where it costs nothing.
            ("gpt-5.5", usage(1000, Some(400), None, 100), Some(6200)),
            ("gpt-5.5", usage(1000, Some(400), Some(0), 100), Some(6200)),
            ("gpt-5.5", usage(1000, Some(400), Some(1), 100), None),
            ("gpt-5.5", usage(1000, None, None, 100), None),
            ("gpt-5.5", usage(272_000, Some(0), None, 0), Some(1_360_000)),
            ("gpt-5.5", usage(272_001, Some(0), None, 0), None),
            ("claude-opus-5-5", usage(10, Some(11), Some(0), 0), None),
            ("claude-opus-5-5", TokenUsage { input: None, ..zero }, None),
            ("claude-opus-5-5", TokenUsage { output: None, ..zero }, None),
            ("claude-opus-5-5", usage(u64::MAX, Some(0), Some(0), u64::MAX), None),
            ("unheard-of", zero, None),
        ];
        for (model, usage, expected) in cases {
            assert_eq!(cost_micro_usd(model, None, usage), expected, "{model} {usage:?}");
        }
    }

    #[test]
    fn only_the_standard_tier_has_a_known_price() {
        let cost = |tier| cost_micro_usd("gpt-4.1", tier, usage(1000, Some(0), None, 0));
        for tier in [None, Some("default"), Some("standard"), Some("standard_only")] {
            assert_eq!(cost(tier), Some(2000), "{tier:?}");
        }
        for tier in ["flex", "priority", "auto", "batch", ""] {
            assert_eq!(cost(Some(tier)), None, "{tier}");
        }
    }
}
