//! Helpers of all dialects: access to members of unknown type, and the shapes of errors.

use serde_json::{Value, json};

use super::contract::{Failed, Fault};
use qa_contracts::codes::Code;
use qa_contracts::v1::{ModelBinding, ProviderBinding, SamplingMode};

/// Returns the failure of a reply with an unexpected structure.
pub(super) fn invalid(message: &str) -> Failed {
    Failed::terminal(Code::ProviderOutputInvalid, message)
}

/// Returns the failure of a reply that stopped at a limit.
pub(super) fn cut_off(reason: &str) -> Failed {
    Failed::terminal(Code::ProviderIncomplete, &format!("the answer was cut off: {reason}"))
}

/// Returns the failure of a request that the model declined.
pub(super) fn refused(message: &str) -> Failed {
    Failed::terminal(Code::ProviderRefusal, message)
}

/// Returns a member that must be a string.
pub(super) fn required<'a>(value: &'a Value, member: &str) -> Result<&'a str, Failed> {
    value[member].as_str().ok_or_else(|| invalid(&format!("`{member}` is missing or no text")))
}

/// Returns a member that must be a list.
pub(super) fn list<'a>(value: &'a Value, member: &str) -> Result<&'a [Value], Failed> {
    let items = value[member].as_array().map(Vec::as_slice);
    items.ok_or_else(|| invalid(&format!("`{member}` is missing or no list")))
}

/// Returns a reply's text, which may not be blank.
pub(super) fn answer(text: String) -> Result<String, Failed> {
    if text.trim().is_empty() { Err(invalid("the answer is empty")) } else { Ok(text) }
}

/// Returns a string value.
pub(super) fn name(value: &Value) -> Option<String> {
    value.as_str().map(ToOwned::to_owned)
}

/// Refuses a reply with a member that a complete one lacks or has empty.
pub(super) fn absent(value: &Value, member: &str) -> Result<(), Failed> {
    let value = &value[member];
    if value.is_null() || value.as_array().is_some_and(Vec::is_empty) {
        return Ok(());
    }
    Err(invalid(&format!("a complete answer has `{member}`: {value}")))
}

/// Refuses a member with any other value than one string.
pub(super) fn only(value: &Value, member: &str, word: &str) -> Result<(), Failed> {
    let value = &value[member];
    if value.is_null() || value == word {
        return Ok(());
    }
    Err(invalid(&format!("`{member}` is {value}, not {word}")))
}

/// Adds what the OpenAI surfaces call alike.
pub(super) fn add_openai_settings(body: &mut Value, binding: &ProviderBinding, model: &ModelBinding) {
    match model.sampling {
        SamplingMode::Greedy => {
            body["temperature"] = json!(binding.temperature);
            body["top_p"] = json!(binding.top_p);
        }
        SamplingMode::ModelFixed => {}
    }
    if let Some(tier) = &model.service_tier {
        body["service_tier"] = json!(tier);
    }
}

/// `{error:{message,type,param,code}}`. The code is the more exact word, but some servers repeat the status there, as a
/// number or as text; then the type says more.
pub(super) fn openai_fault(body: &Value) -> Fault {
    let error = &body["error"];
    let code = error["code"].as_str().filter(|code| !code.is_empty() && code.parse::<u16>().is_err());
    let word = code.or_else(|| error["type"].as_str()).unwrap_or_default();
    let message = error["message"].as_str().or_else(|| error.as_str()).unwrap_or_default();
    Fault { word: word.to_owned(), message: message.to_owned() }
}
