//! Reads the statements of a file: a statement, the DSSE envelope of one, or Sigstore bundles, one a line.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::masking::sanitize_cut;
use qa_contracts::limits::MAX_ATTESTATION_BYTES;
use qa_contracts::strict_json;
use qa_contracts::v1::{PredicateType, StatementType};

/// Type of a payload that is an in-toto statement.
const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// Error of an attestation that was refused. Completes "failed to accept …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttestationError {
    #[error("it has more than {MAX_ATTESTATION_BYTES} bytes")]
    TooLarge,
    #[error("it is not JSON: {0}")]
    NotJson(String),
    #[error("its payload is {0}, and that of an in-toto statement is {PAYLOAD_TYPE}")]
    OtherPayload(String),
    #[error("its payload is not in base64")]
    NotBase64,
    #[error("it is a statement and has another one as its payload")]
    TwoStatements,
    #[error("it is not an in-toto statement of version 1")]
    NotStatement,
    #[error("its predicate is {0}, and not a SLSA verification summary of version 1")]
    OtherPredicate(String),
}

/// Returns the statements of a file, at least one. The signatures of bundles are not verified: that needs the roots of
/// Sigstore, and is what `gh attestation verify` does.
pub fn read(bytes: &[u8]) -> Result<Vec<Value>, AttestationError> {
    if bytes.len() > MAX_ATTESTATION_BYTES {
        return Err(AttestationError::TooLarge);
    }
    let whole = match strict_json::parse(bytes) {
        Ok(document) => return Ok(vec![read_document(document)?]),
        Err(error) => not_json(&error),
    };
    let lines: Vec<&[u8]> =
        bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).collect();
    // A single line that is no JSON is reported by the error of the whole, which names the place.
    if lines.len() < 2 {
        return Err(whole);
    }
    lines
        .into_iter()
        .map(|line| read_document(strict_json::parse(line).map_err(|_| whole.clone())?))
        .collect()
}

fn not_json(error: &dyn std::fmt::Display) -> AttestationError {
    AttestationError::NotJson(sanitize_cut(&error.to_string(), 200))
}

fn read_document(document: Value) -> Result<Value, AttestationError> {
    let envelope = document.get("dsseEnvelope").unwrap_or(&document);
    match envelope.get("payload") {
        // Another reader would take the outer statement.
        Some(_) if document.get("_type").is_some() => Err(AttestationError::TwoStatements),
        Some(payload) => check_statement(read_payload(envelope, payload)?),
        None => check_statement(document),
    }
}

fn read_payload(envelope: &Value, payload: &Value) -> Result<Value, AttestationError> {
    if envelope["payloadType"] != PAYLOAD_TYPE {
        return Err(AttestationError::OtherPayload(shown(&envelope["payloadType"])));
    }
    let text = payload.as_str().ok_or(AttestationError::NotBase64)?;
    let bytes = STANDARD.decode(text).map_err(|_| AttestationError::NotBase64)?;
    strict_json::parse(&bytes).map_err(|error| not_json(&error))
}

fn check_statement(statement: Value) -> Result<Value, AttestationError> {
    if !is_constant(&statement["_type"], StatementType::V1) {
        return Err(AttestationError::NotStatement);
    }
    if !is_constant(&statement["predicateType"], PredicateType::V1) {
        return Err(AttestationError::OtherPredicate(shown(&statement["predicateType"])));
    }
    Ok(statement)
}

fn is_constant(value: &Value, constant: impl serde::Serialize) -> bool {
    serde_json::to_value(constant).is_ok_and(|constant| *value == constant)
}

/// Returns a value for a message.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "absent".to_owned(),
        Value::String(text) => sanitize_cut(text, 200),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            sanitize_cut(&value.to_string(), 200)
        }
    }
}
