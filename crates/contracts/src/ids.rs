//! Identifiers: digests, object ids and repository paths.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Error of a string that is not a valid identifier. Completes "failed to read …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is not lower-case hexadecimal of the expected length.
    #[error("{kind}: expected {expected} lower-case hexadecimal digits")]
    Hex {
        /// Kind of identifier.
        kind: &'static str,
        /// Number of its digits.
        expected: &'static str,
    },
    /// The path could name something outside the tree, or is beyond a limit.
    #[error("path {path}: {reason}")]
    Path {
        /// The path, escaped for display.
        path: String,
        /// Rule that the path breaks.
        reason: &'static str,
    },
}

fn is_lower_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

macro_rules! hex_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $expected:literal, $pattern:literal, |$length:ident| $ok:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub struct $name(#[cfg_attr(test, schemars(regex(pattern = $pattern)))] String);

        impl $name {
            /// Parses the identifier and refuses anything but lower-case hexadecimal of its length.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                let $length = text.len();
                if $ok && is_lower_hex(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(IdError::Hex { kind: $kind, expected: $expected })
                }
            }

            /// Returns the hexadecimal text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Returns the first twelve digits, for display.
            #[must_use]
            pub fn short(&self) -> &str {
                &self.0[..12]
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(out, "{}({})", stringify!($name), self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
                Self::parse(&String::deserialize(source)?).map_err(de::Error::custom)
            }
        }
    };
}

hex_id!(
    /// A SHA-256 digest as 64 lower-case hexadecimal digits.
    Sha256Hex, "sha256 digest", "64", "^[0-9a-f]{64}$", |length| length == 64
);
hex_id!(
    /// The name of a run: the SHA-256 over its canonical preimage (S003-97).
    ExecutionKey, "execution key", "64", "^[0-9a-f]{64}$", |length| length == 64
);
hex_id!(
    /// A commit, by its full object id.
    CommitId, "commit id", "40", "^[0-9a-f]{40}$", |length| length == 40
);
hex_id!(
    /// A blob (file content, symlink target) or submodule commit, by its full object id.
    BlobId, "blob id", "40", "^[0-9a-f]{40}$", |length| length == 40
);
hex_id!(
    /// A tree, by its full object id.
    TreeId, "tree id", "40", "^[0-9a-f]{40}$", |length| length == 40
);

impl From<Sha256Hex> for ExecutionKey {
    fn from(digest: Sha256Hex) -> Self {
        Self(digest.0)
    }
}

/// A path inside the repository: bytes as git stores them, never interpreted by a file system.
///
/// A value of this type has no `.git`, `.` or `..` component, is relative, and is within the length limits, so
/// joining it to a directory of ours stays inside that directory. In JSON and on every surface it appears in its
/// escaped form: bytes that are not UTF-8, control and invisible characters and `%` are written `%XX`, which loses
/// nothing and can be read back.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(Box<[u8]>);

/// The longest path accepted, in bytes.
pub const MAX_PATH_BYTES: usize = 4096;
/// The longest path component accepted, in bytes.
pub const MAX_COMPONENT_BYTES: usize = 255;

impl RepoPath {
    /// Accepts a path as it stands in a git tree.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, IdError> {
        if bytes.is_empty() {
            return Err(path_error(bytes, "is empty"));
        }
        if bytes.len() > MAX_PATH_BYTES {
            return Err(path_error(bytes, "is longer than 4096 bytes"));
        }
        if bytes.contains(&0) {
            return Err(path_error(bytes, "contains a NUL byte"));
        }
        for component in bytes.split(|&byte| byte == b'/') {
            if let Some(reason) = component_fault(component) {
                return Err(path_error(bytes, reason));
            }
        }
        Ok(Self(bytes.into()))
    }

    /// Parses the escaped form.
    pub fn parse_escaped(text: &str) -> Result<Self, IdError> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((&first, tail)) = rest.split_first() {
            if first == b'%' {
                let digits = tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
                let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) else {
                    return Err(path_error(text.as_bytes(), "has a broken % escape"));
                };
                bytes.push(byte);
                rest = &tail[2..];
            } else {
                bytes.push(first);
                rest = tail;
            }
        }
        Self::from_bytes(&bytes)
    }

    /// Returns the bytes as git stores them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the path as text, with replacement characters for bytes that are not UTF-8.
    #[must_use]
    pub fn to_text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// Returns whether the path is inside a directory; every path is inside the root, which is empty.
    #[must_use]
    pub fn is_below(&self, directory: &str) -> bool {
        let rest = self.0.strip_prefix(directory.as_bytes());
        directory.is_empty() || rest.is_some_and(|rest| rest.starts_with(b"/"))
    }

    /// Returns the last component.
    #[must_use]
    pub fn file_name(&self) -> &[u8] {
        self.0.rsplit(|&byte| byte == b'/').next().unwrap_or(&self.0)
    }
}

/// Returns the reason why git would refuse to check out a tree entry of this name; `None` if it would not.
fn component_fault(component: &[u8]) -> Option<&'static str> {
    if component.is_empty() {
        return Some("has an empty component");
    }
    if component.len() > MAX_COMPONENT_BYTES {
        return Some("has a component longer than 255 bytes");
    }
    // A backslash is part of a name, and on Windows a separator, so the parts between are checked too.
    component.split(|&byte| byte == b'\\').find_map(name_fault)
}

fn name_fault(component: &[u8]) -> Option<&'static str> {
    if component == b"." || component == b".." {
        return Some("has a `.` or `..` component");
    }
    if component.is_ascii() {
        return is_git_directory(component).then_some("has a `.git` component");
    }
    // HFS+ ignores these code points and NTFS has short names, so that these spell `.git` on such systems.
    let folded: String = String::from_utf8_lossy(component)
        .chars()
        .filter(|character| !matches!(character, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'))
        .flat_map(char::to_lowercase)
        .collect();
    is_git_directory(folded.as_bytes()).then_some("has a `.git` component")
}

/// Returns whether an operating system treats a name as `.git`.
fn is_git_directory(name: &[u8]) -> bool {
    let Some(last) = name.iter().rposition(|byte| !matches!(byte, b' ' | b'.')) else { return false };
    let name = &name[..=last];
    name.eq_ignore_ascii_case(b".git")
        || name.eq_ignore_ascii_case(b"git~1")
        || matches!(name.get(..5), Some(begin) if begin.eq_ignore_ascii_case(b".git:"))
}

/// Returns whether a character is invisible or changes how the text around it looks.
#[must_use]
pub fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn path_error(bytes: &[u8], reason: &'static str) -> IdError {
    IdError::Path { path: escape_path(bytes), reason }
}

/// Returns the escaped form of path bytes; see [`RepoPath`].
#[must_use]
pub fn escape_path(bytes: &[u8]) -> String {
    let mut escaped = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character == '%' || is_unprintable(character) {
                push_escaped(&mut escaped, character.encode_utf8(&mut [0; 4]).as_bytes());
            } else {
                escaped.push(character);
            }
        }
        push_escaped(&mut escaped, chunk.invalid());
    }
    escaped
}

fn push_escaped(escaped: &mut String, bytes: &[u8]) {
    for byte in bytes {
        escaped.push_str(&format!("%{byte:02X}"));
    }
}

/// Returns the text of path bytes that need no escape, such as those of nearly every path.
fn plain_path(bytes: &[u8]) -> Option<&str> {
    let plain = bytes.iter().all(|byte| matches!(byte, b' '..=b'~') && *byte != b'%');
    if plain { std::str::from_utf8(bytes).ok() } else { None }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match plain_path(&self.0) {
            Some(text) => out.write_str(text),
            None => out.write_str(&escape_path(&self.0)),
        }
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RepoPath({self})")
    }
}

impl Serialize for RepoPath {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        match plain_path(&self.0) {
            Some(text) => sink.serialize_str(text),
            None => sink.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for RepoPath {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        Self::parse_escaped(&String::deserialize(source)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
impl schemars::JsonSchema for RepoPath {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "RepoPath".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A path inside the repository; bytes that are not printable UTF-8, and `%`, are written %XX.",
            "type": "string", "minLength": 1, "maxLength": 12288
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_accepted_path_survives_the_escaped_form() {
        let names: &[&[u8]] = &[
            b"src/main.rs",
            b"with space/\"quoted\"",
            b"tab\tand\nnewline",
            b"\xff\xfe not utf-8",
            "é/\u{202e}gpj.exe".as_bytes(),
            b"-dash",
            b"__proto__",
            b"100%/a%41",
            b"::error file=x::y",
            b"\x1b[31mred",
        ];
        for bytes in names {
            let path = RepoPath::from_bytes(bytes).unwrap();
            let escaped = path.to_string();
            assert_eq!(RepoPath::parse_escaped(&escaped).unwrap(), path, "{escaped}");
            assert!(!escaped.chars().any(is_unprintable), "{escaped}");
        }
    }

    #[test]
    fn names_git_refuses_to_check_out_are_refused() {
        let long = "a/".repeat(2500) + "a";
        let component = "x".repeat(256);
        let names = [
            "",
            "/abs",
            "a//b",
            "a/",
            ".",
            "..",
            "../x",
            "a/../b",
            ".git/hooks/post-checkout",
            ".GiT/x",
            "GIT~1/x",
            ".g\u{200c}it/x",
            ".git /x",
            ".git./x",
            "..\\x",
            "a\0b",
            &long,
            &component,
        ];
        for name in names {
            assert!(RepoPath::from_bytes(name.as_bytes()).is_err(), "{name:?} was accepted");
        }
    }

    #[test]
    fn digests_are_lower_case_and_of_full_length() {
        assert!(Sha256Hex::parse(&"a".repeat(64)).is_ok());
        assert!(Sha256Hex::parse(&"A".repeat(64)).is_err());
        assert!(CommitId::parse("HEAD").is_err());
        assert!(CommitId::parse(&"0".repeat(39)).is_err());
    }
}
