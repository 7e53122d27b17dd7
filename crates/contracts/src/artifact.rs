//! What makes a contract type an artifact: its schema name, its file and its volatile members.

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

    /// The same artifact as several smaller ones, for artifacts with a long list: the list is cut and everything else
    /// repeated. As the schema judges each item of the list by itself, the whole is valid exactly when all parts are, and
    /// a part at a time takes far less memory. Together they have every item; empty when the artifact is validated whole.
    fn parts(&self) -> impl Iterator<Item = Self> {
        std::iter::empty()
    }

    /// The artifact without the items of that list, where it is only one and is written part by part as well.
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
