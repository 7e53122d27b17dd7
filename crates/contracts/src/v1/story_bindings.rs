//! `stories/<id>.json`: which tests show which step of a feature, for tests whose names cannot say it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Tests by the number of the step they show, from 1.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StoryBindings(pub BTreeMap<StepNumber, TestIds>);

/// A number as a member's name: digits without a leading zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct StepNumber(pub u32);

/// The ids of tests, as reports have them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum TestIds {
    /// One.
    One(#[cfg_attr(test, schemars(length(min = 1)))] String),
    /// Several, all of which have to pass.
    Several(#[cfg_attr(test, schemars(length(min = 1), inner(length(min = 1))))] Vec<String>),
}

impl TestIds {
    /// Returns the ids of tests.
    pub fn ids(&self) -> &[String] {
        match self {
            Self::One(id) => std::slice::from_ref(id),
            Self::Several(ids) => ids,
        }
    }
}

impl From<StepNumber> for String {
    fn from(StepNumber(number): StepNumber) -> Self {
        number.to_string()
    }
}

impl TryFrom<String> for StepNumber {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let number = text.parse().ok().filter(|number: &u32| *number > 0 && number.to_string() == text);
        number.map(Self).ok_or_else(|| format!("{text} is not the number of a step"))
    }
}

#[cfg(test)]
impl schemars::JsonSchema for StepNumber {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StepNumber".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A number as a member's name: digits without a leading zero.",
            "type": "string",
            "pattern": "^[1-9][0-9]{0,8}$"
        })
    }
}
