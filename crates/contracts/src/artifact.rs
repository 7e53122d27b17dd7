//! Artifacts: contract types with a schema name, a file in the run directory and volatile members.

use serde::{Serialize, de::DeserializeOwned};

/// A JSON document of the run directory.
///
/// The store calls this when it writes and reads; an implementer names a schema that exists in `schemas/v1` and lists
/// exactly the members that schema marks `x-volatile` (a test compares both).
pub trait Artifact: Serialize + DeserializeOwned {
    /// The schema name, which is also the value of the `schemaVersion` member: `final-verdict.v1`.
    const SCHEMA: &'static str;
    /// The file inside the run directory: `final-verdict.json`.
    const FILE: &'static str;
    /// Top-level members that may differ between two runs of one key (times, counters); drift ignores them.
    const VOLATILE: &'static [&'static str] = &[];

    /// Splits an artifact with a long list into several smaller ones: the list is cut, and everything else is repeated.
    /// The schema judges each item of the list by itself, so the whole is valid exactly when all parts are, and
    /// validating a part at a time takes far less memory. Returns nothing when the artifact is validated whole.
    fn parts(&self) -> impl Iterator<Item = Self> {
        std::iter::empty()
    }

    /// Returns the artifact without the items of its list, if it has one list and is written part by part as well.
    fn frame(&self) -> Option<Self> {
        None
    }
}

macro_rules! schema_tag {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub enum $name {
            #[doc = concat!("`", $text, "`")]
            #[default]
            #[serde(rename = $text)]
            V1,
        }
    )*};
}
pub(crate) use schema_tag;
