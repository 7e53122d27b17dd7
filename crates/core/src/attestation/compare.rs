//! Holds an attested statement against the one that follows from a run, member by member.

use serde_json::Value;

use super::read::shown;
use crate::canonical;
use qa_contracts::v1::Statement;

/// First difference between an attestation and a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementDifference {
    /// The property: `head`, `policy`, `list of levels`.
    pub name: &'static str,
    pub in_attestation: String,
    pub in_run: String,
}

/// A property of a statement, with its place.
struct Property {
    name: &'static str,
    pointer: &'static str,
}

impl Property {
    const fn new(name: &'static str, pointer: &'static str) -> Self {
        Self { name, pointer }
    }
}

/// Properties in the order of comparison. A whole follows its parts, for members that no run writes.
const PROPERTIES: [Property; 15] = [
    Property::new("repository", "/predicate/resourceUri"),
    Property::new("head", "/subject/0/digest/gitCommit"),
    Property::new("tree", "/subject/1/digest/gitTree"),
    Property::new("merged tree", "/subject/2/digest/gitTree"),
    Property::new("list of subjects", "/subject"),
    Property::new("policy", "/predicate/policy/digest/sha256"),
    Property::new("place of the policy", "/predicate/policy"),
    Property::new("execution key", "/predicate/inputAttestations/0/uri"),
    Property::new("run digest", "/predicate/inputAttestations/0/digest/sha256"),
    Property::new("list of runs", "/predicate/inputAttestations"),
    Property::new("verdict", "/predicate/verificationResult"),
    Property::new("list of levels", "/predicate/verifiedLevels"),
    Property::new("verifier", "/predicate/verifier"),
    Property::new("predicate", "/predicate"),
    Property::new("statement", ""),
];

/// Returns the first difference between an attested statement and that of a run: repository, head, trees, policy, execution
/// key, run digest, verdict, levels, verifier, then everything else.
///
/// GitHub's action names the file that it attests as subject and not what the file names. Such a statement has to name the
/// file of the run by its digest, which is compared last.
pub fn first_difference(attested: &Value, of_run: &Statement) -> Option<StatementDifference> {
    let mut expected = serde_json::to_value(of_run).expect("a statement is a JSON value");
    let names_files = names_files(attested);
    if names_files {
        expected["subject"] = attested["subject"].clone();
    }
    let found = PROPERTIES.iter().find_map(|property| difference(property, attested, &expected));
    if found.is_some() || !names_files {
        return found;
    }
    let digest = file_digest(of_run);
    // The action may list other files beside it.
    let is_named = subjects(attested).any(|subject| subject["digest"]["sha256"] == digest.as_str());
    (!is_named).then(|| StatementDifference {
        name: "digest of the statement",
        in_attestation: shown(&attested["subject"]),
        in_run: digest,
    })
}

fn difference(property: &Property, attested: &Value, expected: &Value) -> Option<StatementDifference> {
    let [in_attestation, in_run] =
        [attested, expected].map(|statement| statement.pointer(property.pointer).unwrap_or(&Value::Null));
    (in_attestation != in_run).then(|| StatementDifference {
        name: property.name,
        in_attestation: shown(in_attestation),
        in_run: shown(in_run),
    })
}

fn subjects(statement: &Value) -> impl Iterator<Item = &Value> {
    statement["subject"].as_array().into_iter().flatten()
}

/// Returns whether a statement names files by SHA-256, and nothing else.
fn names_files(statement: &Value) -> bool {
    let mut subjects = subjects(statement).peekable();
    subjects.peek().is_some() && subjects.all(|subject| is_sha256(&subject["digest"]))
}

fn is_sha256(digest: &Value) -> bool {
    digest["sha256"].is_string() && digest.as_object().is_some_and(|algorithms| algorithms.len() == 1)
}

/// Returns the digest over the file of a statement.
fn file_digest(statement: &Statement) -> String {
    let mut bytes = canonical::to_vec(statement).expect("words and ids have a canonical form");
    bytes.push(b'\n');
    canonical::sha256(&bytes).as_str().to_owned()
}
