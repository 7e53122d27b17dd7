//! Keys of providers, from the environment alone (S003-15).

use crate::contracts::secret::Secret;

/// The key in a variable; one that is not Unicode is none. The name has to be exact: two that differ in case are two.
pub(crate) fn provider_key(variable: &str) -> Option<Secret> {
    Secret::new(&std::env::var(variable).ok()?)
}
