//! `feature_list.json`: what a product should do, and which of it passes (S004-42…46). Names are the seed's.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The list, in the order in which features are worked on. Ids are unique.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FeatureList(pub Vec<Feature>);

/// One feature. Members that are not named here mean nothing to the gate and are left as they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Feature {
    /// Permanent identifier.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub id: u64,
    /// `functional` or `style`; other words are taken as they are.
    #[serde(default)]
    pub category: String,
    /// Behaviour of the product, in words.
    pub description: String,
    /// Steps that show the behaviour.
    #[serde(default)]
    pub steps: Vec<FeatureStep>,
    /// True if QA has seen the feature pass. Only QA sets it.
    pub passes: bool,
    /// True if QA has judged the feature.
    #[serde(default)]
    pub qa_validated: bool,
    /// Time of QA's last run, as ISO 8601.
    #[serde(default)]
    pub last_qa_run: Option<String>,
    /// Notes of QA.
    #[serde(default)]
    pub qa_notes: Option<String>,
    /// The report of QA's last look.
    #[serde(default)]
    pub qa_report_path: Option<String>,
}

/// One step: `Step N: …`, or an action with what it acts on.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(into = "Value")]
pub enum FeatureStep {
    /// Step as a sentence.
    Text(String),
    /// An action with its members.
    Action(Map<String, Value>),
}

impl FeatureStep {
    /// Returns the step in words.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Action(members) => Value::Object(members.clone()).to_string(),
        }
    }
}

impl From<FeatureStep> for Value {
    fn from(step: FeatureStep) -> Self {
        match step {
            FeatureStep::Text(text) => Self::String(text),
            FeatureStep::Action(members) => Self::Object(members),
        }
    }
}

impl<'de> Deserialize<'de> for FeatureStep {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        match Value::deserialize(source)? {
            Value::String(text) => Ok(Self::Text(text)),
            Value::Object(members) => Ok(Self::Action(members)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                Err(serde::de::Error::custom("a step is a string or an object"))
            }
        }
    }
}

#[cfg(test)]
impl schemars::JsonSchema for FeatureStep {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FeatureStep".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "One step: `Step N: …`, or an action with what it acts on.",
            "type": ["string", "object"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_a_sentence_or_an_action_and_nothing_else() {
        let steps = r#"["Step 1: open the page",{"action":"click","selector":"a"}]"#;
        let read: Vec<FeatureStep> = serde_json::from_str(steps).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), steps);
        for wrong in ["[1]", "[null]", "[[]]", "[true]"] {
            assert!(serde_json::from_str::<Vec<FeatureStep>>(wrong).is_err(), "{wrong}");
        }
    }
}
