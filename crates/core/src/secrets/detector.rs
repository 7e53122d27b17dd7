//! A detector and what it looks for, as types.

use std::ops::{Range, RangeInclusive};
use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

/// Kind of secret that a detector finds; it decides the rule of the finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A token in a format that only one vendor uses.
    Provider,
    /// Private key material.
    PrivateKey,
    /// A password or token inside a URL.
    CredentialUrl,
    /// A value that is recognised by its name and its randomness only.
    Generic,
}

/// Detector as findings name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detector {
    /// Kebab-case; recorded in artifacts, so never renamed.
    pub id: &'static str,
    /// Noun phrase without article for the secrets that it finds.
    pub title: &'static str,
    pub kind: Kind,
}

/// A token that is recognised by its own text.
///
/// The pattern is tried at keywords only, anchored at the token's start: at the keyword, or up to `back` bytes before it.
/// The match of capture group 1 is masked; without a group, everything after the keyword is.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) detector: Detector,
    /// Lower-case literals; the pattern itself is case-sensitive.
    pub(super) keywords: &'static [&'static str],
    pub(super) pattern: &'static str,
    pub(super) back: Back,
    /// Minimum Shannon entropy of the masked part, in thousandths of a bit for each byte; 0 for the default.
    pub(super) entropy: u32,
}

/// Start of a token, relative to its keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Back {
    /// At the keyword.
    None,
    /// This number of bytes before the keyword.
    Exactly(usize),
    /// At the start of the run of letters and digits before the keyword, at most this number of bytes before it.
    Run(usize),
}

/// A value without a format of its own, recognised by a vendor's name in the identifier that it is assigned to.
#[derive(Debug)]
pub(super) struct VendorValue {
    pub(super) detector: Detector,
    /// Lower-case names; the identifier without separators has at least one of them.
    pub(super) names: &'static [&'static str],
    pub(super) alphabet: Alphabet,
    /// Lengths in bytes.
    pub(super) length: RangeInclusive<usize>,
}

/// Characters of a vendor's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    /// Hexadecimal digits.
    Hex,
    /// Letters and digits.
    Alnum,
    /// Letters, digits, `-` and `_`.
    Url,
    /// Letters, digits, `+`, `/` and `=` at the end.
    Base64,
    /// 8-4-4-4-12 hexadecimal digits.
    Uuid,
}

pub(super) const fn provider(
    id: &'static str,
    title: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
) -> Token {
    Token {
        detector: Detector { id, title, kind: Kind::Provider },
        keywords,
        pattern,
        back: Back::None,
        entropy: 0,
    }
}

impl Token {
    pub(super) const fn back(self, back: Back) -> Self {
        Self { back, ..self }
    }

    pub(super) const fn entropy(self, entropy: u32) -> Self {
        Self { entropy, ..self }
    }

    pub(super) const fn kind(mut self, kind: Kind) -> Self {
        self.detector.kind = kind;
        self
    }
}

pub(super) const fn vendor_value(
    id: &'static str,
    title: &'static str,
    names: &'static [&'static str],
    alphabet: Alphabet,
    length: RangeInclusive<usize>,
) -> VendorValue {
    VendorValue { detector: Detector { id, title, kind: Kind::Provider }, names, alphabet, length }
}

/// Detector of [`super::scan`]'s pairs of an access key id and its secret.
pub(super) static AWS_SECRET: Detector =
    Detector { id: "aws-secret-access-key", title: "AWS secret access key", kind: Kind::Provider };
pub(super) static PRIVATE_KEY: Detector =
    Detector { id: "private-key", title: "private key", kind: Kind::PrivateKey };
pub(super) static CREDENTIAL_URL: Detector =
    Detector { id: "credential-url", title: "password in a URL", kind: Kind::CredentialUrl };
pub(super) static BASIC_AUTH: Detector =
    Detector { id: "basic-authorization", title: "basic authorization header", kind: Kind::Generic };
pub(super) static BEARER: Detector =
    Detector { id: "bearer-token", title: "bearer token", kind: Kind::Generic };
pub(super) static JWT: Detector =
    Detector { id: "json-web-token", title: "signed JSON web token", kind: Kind::Generic };
pub(super) static GENERIC: Detector =
    Detector { id: "generic-credential", title: "credential in an assignment", kind: Kind::Generic };

/// Detectors that are code and not data.
pub(super) static CODED: &[&Detector] =
    &[&AWS_SECRET, &PRIVATE_KEY, &CREDENTIAL_URL, &BASIC_AUTH, &BEARER, &JWT, &GENERIC];

/// A candidate, before overlaps are resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) span: Range<usize>,
    /// The span with what the format has around it, such as a prefix, which is public.
    pub(super) whole: Range<usize>,
    pub(super) detector: &'static Detector,
}

impl Found {
    pub(super) fn new(span: Range<usize>, detector: &'static Detector) -> Self {
        Self { whole: span.clone(), span, detector }
    }

    /// Sets the text that the format has around the secret.
    pub(super) fn within(self, whole: Range<usize>) -> Self {
        Self { whole, ..self }
    }
}

/// A token with its pattern.
pub(super) struct Compiled {
    pub(super) token: &'static Token,
    regex: OnceLock<Option<Regex>>,
}

impl Compiled {
    pub(super) fn new(token: &'static Token) -> Self {
        Self { token, regex: OnceLock::new() }
    }

    /// Returns the anchored pattern, which is compiled when its keyword first occurs.
    pub(super) fn regex(&self) -> Option<&Regex> {
        self.regex
            .get_or_init(|| {
                RegexBuilder::new(&format!("^(?:{})", self.token.pattern)).unicode(false).build().ok()
            })
            .as_ref()
    }
}
