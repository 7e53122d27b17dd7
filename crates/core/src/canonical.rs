//! RFC 8785 canonical JSON and the digests over it; the one place that hashes.

use std::borrow::Cow;
use std::fmt;

use serde::ser::{self, Serialize};
use sha2::{Digest, Sha256};

use qa_contracts::ids::Sha256Hex;
use qa_contracts::limits::MAX_SAFE_INTEGER;

/// Error of a value that has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to write canonical JSON: {0}")]
pub struct CanonicalError(String);

impl ser::Error for CanonicalError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// Returns the canonical bytes of a value, without a final line end.
///
/// Arrays keep their order (C-21); integers beyond 2^53-1 and numbers that are not finite are errors, because RFC 8785
/// would silently merge or drop them.
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    let mut out = Vec::with_capacity(1024);
    value.serialize(Writer { out: &mut out })?;
    Ok(out)
}

/// Returns the SHA-256 of bytes.
pub fn sha256(bytes: &[u8]) -> Sha256Hex {
    hex(Sha256::digest(bytes).as_slice())
}

/// Returns the SHA-256 of bytes, and of the same bytes followed by a line end, hashing the common prefix once.
pub fn sha256_and_of_line(bytes: &[u8]) -> (Sha256Hex, Sha256Hex) {
    let hasher = Sha256::new_with_prefix(bytes);
    let line = hasher.clone().chain_update(b"\n").finalize();
    (hex(hasher.finalize().as_slice()), hex(line.as_slice()))
}

/// Incremental SHA-256, for bytes that come in parts.
#[derive(Clone, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Hashes the next part.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of all parts.
    pub fn finish(self) -> Sha256Hex {
        hex(self.0.finalize().as_slice())
    }
}

fn hex(digest: &[u8]) -> Sha256Hex {
    let mut text = String::with_capacity(64);
    for byte in digest {
        text.push(char::from_digit(u32::from(byte >> 4), 16).expect("a nibble is a digit"));
        text.push(char::from_digit(u32::from(byte & 15), 16).expect("a nibble is a digit"));
    }
    Sha256Hex::parse(&text).expect("64 lower-case digits were just written")
}

/// Returns the SHA-256 of a value's canonical bytes.
pub fn digest<T: Serialize + ?Sized>(value: &T) -> Result<Sha256Hex, CanonicalError> {
    Ok(sha256(&to_vec(value)?))
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

impl Writer<'_> {
    fn integer(self, text: &str, magnitude: u128) -> Result<(), CanonicalError> {
        if magnitude > u128::from(MAX_SAFE_INTEGER) {
            return Err(CanonicalError(format!("integer {text} is beyond 2^53-1")));
        }
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Writes a string. Nearly all bytes are copied, so the loop over them makes no call: tests write gigabytes with a program that is
/// hardly optimised, where the loop of `serde_json` makes four for each byte.
fn write_string(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    out.push(b'"');
    let (mut copied, mut at) = (0, 0);
    while at < bytes.len() {
        let byte = bytes[at];
        if byte < b' ' || byte == b'"' || byte == b'\\' {
            out.extend_from_slice(&bytes[copied..at]);
            write_escape(out, byte);
            copied = at + 1;
        }
        at += 1;
    }
    out.extend_from_slice(&bytes[copied..]);
    out.push(b'"');
}

/// Writes the escape that RFC 8785 requires: short forms for the usual controls, lower-case `\u00xx` for the others.
fn write_escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        _ => {
            let digits = [byte >> 4, byte & 15].map(|nibble| b"0123456789abcdef"[usize::from(nibble)]);
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&digits);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Member of an object, with its start in the output.
struct Member {
    key: Cow<'static, str>,
    start: usize,
}

/// Writes members as they come, and sorts them at the end where they came out of order.
struct ObjectWriter<'a> {
    out: &'a mut Vec<u8>,
    members: Vec<Member>,
    sorted: bool,
}

fn utf16_order(left: &str, right: &str) -> std::cmp::Ordering {
    if left.is_ascii() && right.is_ascii() {
        return left.cmp(right);
    }
    left.encode_utf16().cmp(right.encode_utf16())
}

impl<'a> ObjectWriter<'a> {
    fn new(out: &'a mut Vec<u8>, members: usize) -> Self {
        out.push(b'{');
        Self { out, members: Vec::with_capacity(members), sorted: true }
    }

    fn key(&mut self, key: Cow<'static, str>) -> Result<(), CanonicalError> {
        if let Some(last) = self.members.last() {
            self.sorted &= utf16_order(&last.key, &key).is_lt();
            self.out.push(b',');
        }
        let start = self.out.len();
        write_string(self.out, &key);
        self.out.push(b':');
        self.members.push(Member { key, start });
        Ok(())
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        value.serialize(Writer { out: &mut *self.out })
    }

    fn finish(self) -> Result<(), CanonicalError> {
        let Self { out, members, sorted } = self;
        if !sorted {
            sort_members(out, members)?;
        }
        out.push(b'}');
        Ok(())
    }
}

fn sort_members(out: &mut Vec<u8>, members: Vec<Member>) -> Result<(), CanonicalError> {
    let begin = members[0].start;
    let ends: Vec<usize> = members.iter().skip(1).map(|next| next.start - 1).chain([out.len()]).collect();
    let mut spans: Vec<(Member, usize)> = members.into_iter().zip(ends).collect();
    spans.sort_by(|(left, _), (right, _)| utf16_order(&left.key, &right.key));
    if let Some(pair) = spans.windows(2).find(|pair| pair[0].0.key == pair[1].0.key) {
        return Err(CanonicalError(format!("key {:?} appears twice", pair[0].0.key)));
    }
    let written = out.split_off(begin);
    for (index, (member, end)) in spans.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&written[member.start - begin..end - begin]);
    }
    Ok(())
}

/// Writes the items of an array in the order they come.
struct ArrayWriter<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
    /// Closing bytes: `]`, and `}` as well inside an enum variant.
    close: &'static [u8],
}

impl<'a> ArrayWriter<'a> {
    fn new(out: &'a mut Vec<u8>, close: &'static [u8]) -> Self {
        out.push(b'[');
        Self { out, first: true, close }
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
        value.serialize(Writer { out: &mut *self.out })
    }

    fn finish(self) {
        self.out.extend_from_slice(self.close);
    }
}

macro_rules! integers {
    ($($method:ident: $type:ty, $magnitude:expr;)*) => {$(
        fn $method(self, value: $type) -> Result<(), CanonicalError> {
            let magnitude: fn($type) -> u128 = $magnitude;
            self.integer(&value.to_string(), magnitude(value))
        }
    )*};
}

impl<'a> ser::Serializer for Writer<'a> {
    type Ok = ();
    type Error = CanonicalError;
    type SerializeSeq = ArrayWriter<'a>;
    type SerializeTuple = ArrayWriter<'a>;
    type SerializeTupleStruct = ArrayWriter<'a>;
    type SerializeTupleVariant = ArrayWriter<'a>;
    type SerializeMap = ObjectWriter<'a>;
    type SerializeStruct = ObjectWriter<'a>;
    type SerializeStructVariant = ser::Impossible<(), CanonicalError>;

    integers! {
        serialize_i8: i8, |value| value.unsigned_abs().into();
        serialize_i16: i16, |value| value.unsigned_abs().into();
        serialize_i32: i32, |value| value.unsigned_abs().into();
        serialize_i64: i64, |value| value.unsigned_abs().into();
        serialize_u8: u8, Into::into;
        serialize_u16: u16, Into::into;
        serialize_u32: u32, Into::into;
        serialize_u64: u64, Into::into;
    }

    fn serialize_bool(self, value: bool) -> Result<(), CanonicalError> {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), CanonicalError> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), CanonicalError> {
        if !value.is_finite() {
            return Err(CanonicalError(format!("{value} is not a JSON number")));
        }
        self.out.extend_from_slice(ryu_js::Buffer::new().format_finite(value).as_bytes());
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), CanonicalError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), CanonicalError> {
        write_string(self.out, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), CanonicalError> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), CanonicalError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), CanonicalError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), CanonicalError> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), CanonicalError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), CanonicalError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), CanonicalError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), CanonicalError> {
        let mut object = ObjectWriter::new(self.out, 1);
        object.key(Cow::Borrowed(variant))?;
        object.value(value)?;
        object.finish()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<ArrayWriter<'a>, CanonicalError> {
        Ok(ArrayWriter::new(self.out, b"]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<ArrayWriter<'a>, CanonicalError> {
        Ok(ArrayWriter::new(self.out, b"]"))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<ArrayWriter<'a>, CanonicalError> {
        Ok(ArrayWriter::new(self.out, b"]"))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<ArrayWriter<'a>, CanonicalError> {
        self.out.push(b'{');
        write_string(self.out, variant);
        self.out.push(b':');
        Ok(ArrayWriter::new(self.out, b"]}"))
    }

    fn serialize_map(self, members: Option<usize>) -> Result<ObjectWriter<'a>, CanonicalError> {
        Ok(ObjectWriter::new(self.out, members.unwrap_or(8)))
    }

    fn serialize_struct(self, _: &'static str, members: usize) -> Result<ObjectWriter<'a>, CanonicalError> {
        Ok(ObjectWriter::new(self.out, members))
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, CanonicalError> {
        Err(CanonicalError(format!("{name} is an enum with named members, which no contract uses")))
    }
}

macro_rules! arrays {
    ($($name:ident, $method:ident;)*) => {$(
        impl ser::$name for ArrayWriter<'_> {
            type Ok = ();
            type Error = CanonicalError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
                self.item(value)
            }

            fn end(self) -> Result<(), CanonicalError> {
                self.finish();
                Ok(())
            }
        }
    )*};
}

arrays! {
    SerializeSeq, serialize_element;
    SerializeTuple, serialize_element;
    SerializeTupleStruct, serialize_field;
    SerializeTupleVariant, serialize_field;
}

impl ser::SerializeMap for ObjectWriter<'_> {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), CanonicalError> {
        // Every key of ours is a string or writes itself as one; anything else is a defect of the contract.
        let key = serde_json::to_value(key).map_err(ser::Error::custom)?;
        match key.as_str() {
            Some(key) => self.key(Cow::Owned(key.to_owned())),
            None => Err(CanonicalError(format!("key {key} is not a string"))),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), CanonicalError> {
        self.value(value)
    }

    fn end(self) -> Result<(), CanonicalError> {
        self.finish()
    }
}

impl ser::SerializeStruct for ObjectWriter<'_> {
    type Ok = ();
    type Error = CanonicalError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), CanonicalError> {
        self.key(Cow::Borrowed(key))?;
        self.value(value)
    }

    fn end(self) -> Result<(), CanonicalError> {
        self.finish()
    }
}

#[cfg(test)]
#[path = "canonical_tests.rs"]
mod tests;
