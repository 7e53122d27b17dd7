//! Reads JSON reports member by member: what is missing or of another type is an error that names it.

use serde_json::Value;

use crate::report::ReportError;
use qa_contracts::strict_json;

/// Parses a report that is one document.
pub(crate) fn document(report: &[u8]) -> Result<Value, ReportError> {
    strict_json::parse(report).map_err(|error| ReportError::unreadable(error.to_string()))
}

/// Checks that a value is an object, and returns it. `what` names it in the error.
pub(crate) fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Value, ReportError> {
    if value.is_object() { Ok(value) } else { Err(ReportError::unreadable(format!("{what} is no object"))) }
}

/// The lines of a text, without the empty ones, numbered from 1.
pub(crate) fn lines(report: &[u8]) -> Result<impl Iterator<Item = (usize, &str)>, ReportError> {
    let text = std::str::from_utf8(report).map_err(|_| ReportError::unreadable("it is not UTF-8"))?;
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim_end()));
    Ok(numbered.filter(|(_, line)| !line.is_empty()))
}

/// A line that is one object.
pub(crate) fn line(number: usize, text: &str) -> Result<Value, ReportError> {
    let value = strict_json::parse(text.as_bytes())
        .map_err(|error| ReportError::unreadable(format!("line {number}: {error}")))?;
    if value.is_object() {
        Ok(value)
    } else {
        Err(ReportError::unreadable(format!("line {number}: it is no object")))
    }
}

/// A document that is a list.
pub(crate) fn items(value: &Value) -> Result<&[Value], ReportError> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| ReportError::unreadable("the document is no list"))
}

fn member<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.get(key).filter(|member| !member.is_null())
}

fn wrong(key: &str, what: &str) -> ReportError {
    ReportError::unreadable(format!("`{key}` is missing or is no {what}"))
}

/// A list that has to be there.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> Result<&'a [Value], ReportError> {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).ok_or_else(|| wrong(key, "list"))
}

/// A list that may be absent.
pub(crate) fn list_or_empty<'a>(value: &'a Value, key: &str) -> Result<&'a [Value], ReportError> {
    if member(value, key).is_none() { Ok(&[]) } else { list(value, key) }
}

/// An object that has to be there.
pub(crate) fn child<'a>(value: &'a Value, key: &str) -> Result<&'a Value, ReportError> {
    value.get(key).filter(|child| child.is_object()).ok_or_else(|| wrong(key, "object"))
}

/// A text that has to be there.
pub(crate) fn string<'a>(value: &'a Value, key: &str) -> Result<&'a str, ReportError> {
    value.get(key).and_then(Value::as_str).ok_or_else(|| wrong(key, "text"))
}

/// A text that may be absent.
pub(crate) fn optional_string<'a>(value: &'a Value, key: &str) -> Result<Option<&'a str>, ReportError> {
    if member(value, key).is_none() { Ok(None) } else { string(value, key).map(Some) }
}

/// A number, not negative, that has to be there.
pub(crate) fn number(value: &Value, key: &str) -> Result<u64, ReportError> {
    value.get(key).and_then(Value::as_u64).ok_or_else(|| wrong(key, "number"))
}

/// A truth value that has to be there.
pub(crate) fn flag(value: &Value, key: &str) -> Result<bool, ReportError> {
    value.get(key).and_then(Value::as_bool).ok_or_else(|| wrong(key, "truth value"))
}

/// A truth value that may be absent, which means no.
pub(crate) fn flag_or_false(value: &Value, key: &str) -> Result<bool, ReportError> {
    if member(value, key).is_none() { Ok(false) } else { flag(value, key) }
}

/// A position in a list that may be absent; writers of SARIF also state it as -1.
pub(crate) fn optional_index(value: &Value, key: &str) -> Result<Option<usize>, ReportError> {
    match member(value, key) {
        None => Ok(None),
        Some(found) => {
            let index = found.as_i64().ok_or_else(|| wrong(key, "position"))?;
            Ok(usize::try_from(index).ok())
        }
    }
}

/// A line or a column; tools write 0 or a negative number, or leave it out, when there is none.
pub(crate) fn position(value: &Value, key: &str) -> Result<Option<u32>, ReportError> {
    match member(value, key) {
        None => Ok(None),
        Some(found) if found.is_number() => Ok(found.as_u64().and_then(placed)),
        Some(_) => Err(wrong(key, "number")),
    }
}

/// A number as a line or a column, if it can be one.
pub(crate) fn placed(number: u64) -> Option<u32> {
    u32::try_from(number).ok().filter(|&number| number > 0)
}
