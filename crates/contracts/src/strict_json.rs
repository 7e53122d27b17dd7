//! Parses JSON strictly: duplicate keys, unsafe integers, and depth and size beyond the limits are errors.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::limits::{MAX_JSON_BYTES, MAX_JSON_DEPTH, MAX_JSON_STRING_BYTES, MAX_SAFE_INTEGER};

/// Error of a document that was refused. Completes "failed to read …".
#[derive(Debug, thiserror::Error)]
pub enum StrictJsonError {
    /// Larger than [`MAX_JSON_BYTES`].
    #[error("the document has {0} bytes, the limit is {MAX_JSON_BYTES}")]
    TooLarge(usize),
    /// Not JSON, or JSON that means different things to different readers.
    #[error("{0}")]
    Refused(#[from] serde_json::Error),
}

/// Parses one document.
pub fn parse(bytes: &[u8]) -> Result<Value, StrictJsonError> {
    if bytes.len() > MAX_JSON_BYTES {
        return Err(StrictJsonError::TooLarge(bytes.len()));
    }
    let mut source = serde_json::Deserializer::from_slice(bytes);
    let value = Strict { depth: 0 }.deserialize(&mut source)?;
    source.end()?;
    Ok(value)
}

#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
}

impl Strict {
    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        let depth = self.depth + 1;
        if depth > MAX_JSON_DEPTH {
            return Err(E::custom(format_args!("nesting is deeper than {MAX_JSON_DEPTH}")));
        }
        Ok(Self { depth })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        source.deserialize_any(self)
    }
}

fn unsafe_integer<E: de::Error>(shown: impl fmt::Display) -> E {
    E::custom(format_args!("integer {shown} is beyond 2^53-1; write it as a string"))
}

fn checked_string<E: de::Error>(text: &str) -> Result<(), E> {
    if text.len() > MAX_JSON_STRING_BYTES {
        return Err(E::custom(format_args!(
            "a string has {} bytes, the limit is {MAX_JSON_STRING_BYTES}",
            text.len()
        )));
    }
    Ok(())
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        if value > MAX_SAFE_INTEGER { Err(unsafe_integer(value)) } else { Ok(value.into()) }
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        if value.unsigned_abs() > MAX_SAFE_INTEGER { Err(unsafe_integer(value)) } else { Ok(value.into()) }
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        // An integer too long for u64 arrives here as a float; it must not pass as one.
        if value.fract() == 0.0 && value.abs() > MAX_SAFE_INTEGER as f64 {
            return Err(unsafe_integer(value));
        }
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number is not finite"))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        checked_string(text)?;
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let deeper = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(deeper)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let deeper = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            checked_string(&key)?;
            if map.contains_key(&key) {
                return Err(de::Error::custom(format_args!("key {key:?} appears twice")));
            }
            let value = entries.next_value_seed(deeper)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_that_readers_would_disagree_about_are_refused() {
        let deep = "[".repeat(65) + &"]".repeat(65);
        let long = format!("\"{}\"", "x".repeat(MAX_JSON_STRING_BYTES + 1));
        let cases = [
            r#"{"status":"FAIL","status":"PASS"}"#,
            r#"{"a":{"b":1,"b":1}}"#,
            "9007199254740992",
            "-9007199254740992",
            "18446744073709551616",
            "1e400",
            "NaN",
            r#""\ud800""#,
            "{} {}",
            "",
            &deep,
            &long,
        ];
        for text in cases {
            assert!(parse(text.as_bytes()).is_err(), "{} was accepted", &text[..text.len().min(60)]);
        }
    }

    #[test]
    fn ordinary_documents_and_odd_keys_are_read() {
        let text = r#"{"":9007199254740991,"__proto__":{"a":[1,-1,0.5,null,true]}}"#;
        assert_eq!(parse(text.as_bytes()).unwrap().to_string(), text);
    }
}
