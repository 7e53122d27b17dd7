//! The providers' dialects: each a file here and an entry in [`ALL`].

mod anthropic_messages;
pub(crate) mod binding;
pub mod contract;
pub(crate) mod endpoint;
pub mod model;
pub mod models;
mod openai_chat;
mod openai_responses;
pub mod outcome;
mod parts;
pub mod request;
#[cfg(test)]
mod sample;

use contract::Provider;
use qa_contracts::v1::Surface;

/// Every dialect, by surface.
pub(crate) static ALL: &[&dyn Provider] =
    &[&anthropic_messages::AnthropicMessages, &openai_chat::OpenaiChat, &openai_responses::OpenaiResponses];

/// The dialect of a surface.
pub(crate) fn find(surface: Surface) -> &'static dyn Provider {
    ALL.iter()
        .copied()
        .find(|provider| provider.spec().surface == surface)
        .expect("every surface has its dialect")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_surface_has_one_dialect_and_the_list_is_sorted() {
        for surface in Surface::ALL {
            assert_eq!(find(*surface).spec().surface, *surface);
        }
        let names: Vec<&str> = ALL.iter().map(|provider| provider.spec().surface.as_str()).collect();
        assert!(names.is_sorted() && names.len() == Surface::ALL.len(), "{names:?}");
    }
}
