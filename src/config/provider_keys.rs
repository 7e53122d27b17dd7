//! Keys of providers, which come from the environment only (S003-15).

use qa_contracts::secret::Secret;

/// Variables with secrets that no record may contain.
const VARIABLES: &[&str] = &["ACTIONS_RUNTIME_TOKEN", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "OPENAI_API_KEY"];

/// Returns the key in a variable, by its exact name; `None` if it is unset or not Unicode.
pub(crate) fn provider_key(variable: &str) -> Option<Secret> {
    Secret::new(&std::env::var(variable).ok()?)
}

/// Returns the secrets of the environment.
pub(crate) fn provider_keys() -> Vec<Secret> {
    VARIABLES.iter().filter_map(|variable| provider_key(variable)).collect()
}
