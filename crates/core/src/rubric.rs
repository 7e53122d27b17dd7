//! Reads frozen rubrics and refuses those whose path, version or digest is not the expected one.

use crate::canonical;
use crate::classify::PathSet;
use qa_contracts::codes::Code;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::schema;
use qa_contracts::strict_json;
use qa_contracts::v1::Rubric;

/// Directory of frozen rubrics.
pub const RUBRICS: &str = ".qa-skill/rubrics";

/// Error of a rubric that is not in force. Completes "failed to read the rubric: …".
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

/// Returns the path of a version.
pub fn path_of(version: u64) -> String {
    format!("{RUBRICS}/{version}.json")
}

/// Returns the version of a file in [`RUBRICS`], by its name.
pub fn version_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".json")?;
    let version: u64 = digits.parse().ok()?;
    (version > 0 && version.to_string() == digits).then_some(version)
}

/// Returns the digest of a rubric without its `rubricHash`.
pub fn hash(rubric: &Rubric) -> Sha256Hex {
    let mut value = serde_json::to_value(rubric).expect("contract types are JSON");
    if let serde_json::Value::Object(members) = &mut value {
        members.remove("rubricHash");
    }
    canonical::digest(&value).expect("a rubric has a canonical form")
}

/// Parses the rubric of a policy from its text at the base. `named` is the hash in the policy.
pub fn parse(text: Option<&str>, version: u64, named: Option<&str>) -> Result<Rubric, RubricError> {
    let path = path_of(version);
    let Some(text) = text else { return Err(RubricError::Missing { path }) };
    let rubric = match parse_contract(text) {
        Ok(rubric) => rubric,
        Err(reason) => return Err(RubricError::NotARubric { path, reason }),
    };
    if rubric.rubric_version != version {
        return Err(RubricError::AnotherVersion { path, found: rubric.rubric_version });
    }
    let found = hash(&rubric);
    if found != rubric.rubric_hash {
        return Err(RubricError::Changed { path, found });
    }
    if let Some(named) = named
        && named != found.as_str()
    {
        return Err(RubricError::NotTheNamed { path, found });
    }
    for convention in &rubric.conventions {
        if let Err(error) = PathSet::new(convention.paths.iter().map(String::as_str)) {
            return Err(RubricError::NotARubric { path, reason: error.to_string() });
        }
    }
    Ok(rubric)
}

fn parse_contract(text: &str) -> Result<Rubric, String> {
    let value = strict_json::parse(text.as_bytes()).map_err(|error| error.to_string())?;
    let published = schema::find("rubric.v1").expect("the schema is built in");
    if let Some(first) = published.faults(&value).first() {
        return Err(format!("{} {}", first.pointer, first.message));
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}
