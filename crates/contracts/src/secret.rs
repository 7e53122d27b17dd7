//! Secret values of the environment: tokens and keys that must not appear in messages or artifacts.

/// A secret. It has no `Display` and no `Serialize`, so it cannot enter a message or an artifact by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value; blank ones are no secret.
    #[must_use]
    pub fn new(value: &str) -> Option<Self> {
        let value = value.trim();
        (!value.is_empty()).then(|| Self(value.to_owned()))
    }

    /// Returns the value, for the code that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Masks every occurrence of the value in a text, for messages that quote a server's response.
    #[must_use]
    pub fn masked_in(&self, text: &str) -> String {
        text.replace(&self.0, "***")
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn a_secret_shows_nothing_of_itself_and_blank_is_none() {
        let secret = Secret::new(" abc\n").unwrap();
        assert_eq!((format!("{secret:?}").as_str(), secret.expose()), ("***", "abc"));
        assert_eq!(secret.masked_in("Bearer abc, abc"), "Bearer ***, ***");
        assert_eq!((Secret::new(""), Secret::new(" \n")), (None, None));
    }
}
