//! Keys of providers, from the environment alone (S003-15).

use qa_contracts::secret::Secret;

/// Every variable that holds something no record may have.
const VARIABLES: &[&str] = &["ACTIONS_RUNTIME_TOKEN", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "OPENAI_API_KEY"];

/// The key in a variable; one that is not Unicode is none. The name has to be exact: two that differ in case are two.
pub(crate) fn provider_key(variable: &str) -> Option<Secret> {
    Secret::new(&std::env::var(variable).ok()?)
}

/// The secrets of the environment.
pub(crate) fn provider_keys() -> Vec<Secret> {
    VARIABLES.iter().filter_map(|variable| provider_key(variable)).collect()
}
