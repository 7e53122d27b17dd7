//! What makes a rubric frozen: its place, its version, its digest; everything else is refused.

use crate::canonical;
use qa_contracts::codes::Code;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::schema;
use qa_contracts::strict_json;
use qa_contracts::v1::Rubric;

/// Where frozen rubrics are committed.
pub const RUBRICS: &str = ".qa-skill/rubrics";

/// Why a rubric is not in force. Completes "failed to read the rubric: …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RubricError {
    #[error("{path} is not there at the base")]
    Missing { path: String },
    #[error("{path} is no rubric: {reason}")]
    NotARubric { path: String, reason: String },
    #[error("{path} is version {found}")]
    AnotherVersion { path: String, found: u64 },
    #[error("{path} was changed after it was approved: its content has the hash {found}")]
    Changed { path: String, found: Sha256Hex },
    #[error("{path} has the hash {found}, and the policy names another")]
    NotTheNamed { path: String, found: Sha256Hex },
}

impl RubricError {
    pub fn code(&self) -> Code {
        match self {
            Self::Missing { .. }
            | Self::NotARubric { .. }
            | Self::AnotherVersion { .. }
            | Self::Changed { .. }
            | Self::NotTheNamed { .. } => Code::RubricNotFrozen,
        }
    }
}

/// The file of a version.
pub fn path_of(version: u64) -> String {
    format!("{RUBRICS}/{version}.json")
}

/// The version of a file directly among the rubrics.
pub fn version_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".json")?;
    let version: u64 = digits.parse().ok()?;
    (version > 0 && version.to_string() == digits).then_some(version)
}

/// The digest of everything in a rubric but itself.
pub fn hash(rubric: &Rubric) -> Sha256Hex {
    let mut value = serde_json::to_value(rubric).expect("contract types are JSON");
    if let serde_json::Value::Object(members) = &mut value {
        members.remove("rubricHash");
    }
    canonical::digest(&value).expect("a rubric has a canonical form")
}

/// Reads the rubric that a policy names, from the text that the base has at its place.
pub fn read(text: Option<&str>, version: u64, named: Option<&str>) -> Result<Rubric, RubricError> {
    let path = path_of(version);
    let Some(text) = text else { return Err(RubricError::Missing { path }) };
    let fault = |reason: String| RubricError::NotARubric { path: path.clone(), reason };
    let value = strict_json::parse(text.as_bytes()).map_err(|error| fault(error.to_string()))?;
    let published = schema::find("rubric.v1").expect("the schema is built in");
    if let Some(first) = published.faults(&value).first() {
        return Err(fault(format!("{} {}", first.pointer, first.message)));
    }
    let rubric: Rubric = serde_json::from_value(value).map_err(|error| fault(error.to_string()))?;
    if rubric.rubric_version != version {
        return Err(RubricError::AnotherVersion { path, found: rubric.rubric_version });
    }
    let found = hash(&rubric);
    if found != rubric.rubric_hash {
        return Err(RubricError::Changed { path, found });
    }
    if named.is_some_and(|named| named != found.as_str()) {
        return Err(RubricError::NotTheNamed { path, found });
    }
    for convention in &rubric.conventions {
        let globs = convention.paths.iter().map(String::as_str);
        super::classify::PathSet::new(globs).map_err(|error| fault(error.to_string()))?;
    }
    Ok(rubric)
}
