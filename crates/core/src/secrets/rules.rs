//! The token formats that vendors publish, as data: keywords and patterns.

use std::ops::RangeInclusive;

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

/// One detector as findings name it.
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

    const fn kind(mut self, kind: Kind) -> Self {
        self.detector.kind = kind;
        self
    }
}

const fn vendor_value(
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

/// Tables of self-describing tokens, in order of precedence.
pub(super) static TABLES: &[&[Token]] =
    &[super::cloud::TOKENS, super::forge::TOKENS, super::service::TOKENS, OTHER];

/// Keys of formats that belong to no vendor.
static OTHER: &[Token] = &[
    provider(
        "age-secret-key",
        "age secret key",
        &["age-secret-key-1"],
        "AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
    )
    .kind(Kind::PrivateKey),
    provider(
        "putty-private-key",
        "PuTTY private key",
        &["private-lines: "],
        r"Private-Lines: \d{1,3}\r?\n((?:[A-Za-z0-9+/=]{4,76}\r?\n){1,80})",
    )
    .kind(Kind::PrivateKey),
    provider(
        "wireguard-private-key",
        "WireGuard private key",
        &["privatekey = ", "presharedkey = "],
        "(?:PrivateKey|PresharedKey) = ([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)",
    )
    .kind(Kind::PrivateKey),
    provider(
        "jwk-private-exponent",
        "private JSON web key",
        &["\"d\""],
        r#""d"\s{0,4}:\s{0,4}"([A-Za-z0-9_-]{42,700})""#,
    )
    .kind(Kind::PrivateKey),
];

/// Values that are recognised by a vendor's name.
pub(super) static VENDOR_VALUES: &[VendorValue] = &[
    vendor_value(
        "aws-secret-access-key",
        "AWS secret access key",
        &["aws", "amazon", "secretaccesskey", "s3secret"],
        Alphabet::Base64,
        40..=40,
    ),
    vendor_value("adobe-client-secret", "Adobe client secret", &["adobe"], Alphabet::Hex, 32..=32),
    vendor_value("algolia-api-key", "Algolia API key", &["algolia"], Alphabet::Hex, 32..=32),
    vendor_value(
        "alibaba-access-key-secret",
        "Alibaba Cloud access key secret",
        &["alibaba", "aliyun", "alicloud"],
        Alphabet::Alnum,
        30..=30,
    ),
    vendor_value(
        "artifactory-api-key",
        "Artifactory API key",
        &["artifactory", "jfrog"],
        Alphabet::Alnum,
        64..=73,
    ),
    vendor_value("asana-client-secret", "Asana client secret", &["asana"], Alphabet::Alnum, 32..=32),
    vendor_value("auth0-client-secret", "Auth0 client secret", &["auth0"], Alphabet::Url, 32..=80),
    vendor_value(
        "bitbucket-client-secret",
        "Bitbucket client secret",
        &["bitbucket"],
        Alphabet::Url,
        32..=64,
    ),
    vendor_value("bitly-access-token", "Bitly access token", &["bitly"], Alphabet::Hex, 40..=40),
    vendor_value("box-client-secret", "Box client secret", &["box"], Alphabet::Alnum, 32..=32),
    vendor_value("circleci-token", "CircleCI token", &["circleci", "circletoken"], Alphabet::Hex, 40..=40),
    vendor_value(
        "cloudflare-api-token",
        "Cloudflare API token",
        &["cloudflare", "cfapi"],
        Alphabet::Url,
        37..=40,
    ),
    vendor_value("codecov-token", "Codecov token", &["codecov"], Alphabet::Uuid, 36..=36),
    vendor_value("codecov-access-token", "Codecov access token", &["codecov"], Alphabet::Alnum, 32..=32),
    vendor_value("cohere-api-key", "Cohere API key", &["cohere", "coapikey"], Alphabet::Alnum, 40..=40),
    vendor_value("coinbase-access-token", "Coinbase access token", &["coinbase"], Alphabet::Url, 64..=64),
    vendor_value("confluent-secret", "Confluent secret", &["confluent"], Alphabet::Base64, 64..=64),
    vendor_value("contentful-token", "Contentful token", &["contentful"], Alphabet::Url, 43..=43),
    vendor_value("datadog-api-key", "Datadog API key", &["datadog", "ddapi"], Alphabet::Hex, 32..=32),
    vendor_value(
        "datadog-app-key",
        "Datadog application key",
        &["datadog", "ddapp"],
        Alphabet::Alnum,
        40..=40,
    ),
    vendor_value("discord-client-secret", "Discord client secret", &["discord"], Alphabet::Url, 32..=32),
    vendor_value("dropbox-app-secret", "Dropbox app secret", &["dropbox"], Alphabet::Alnum, 15..=15),
    vendor_value("elastic-api-key", "Elastic API key", &["elastic"], Alphabet::Base64, 56..=64),
    vendor_value(
        "facebook-app-secret",
        "Facebook app secret",
        &["facebook", "fbapp", "fbsecret"],
        Alphabet::Hex,
        32..=32,
    ),
    vendor_value("fastly-api-token", "Fastly API token", &["fastly"], Alphabet::Url, 32..=32),
    vendor_value("heroku-api-key", "Heroku API key", &["heroku"], Alphabet::Uuid, 36..=36),
    vendor_value("linkedin-client-secret", "LinkedIn client secret", &["linkedin"], Alphabet::Alnum, 16..=16),
    vendor_value("mailgun-api-key", "Mailgun API key", &["mailgun"], Alphabet::Hex, 32..=32),
    vendor_value("mistral-api-key", "Mistral API key", &["mistral"], Alphabet::Alnum, 32..=32),
    vendor_value("netlify-access-token", "Netlify access token", &["netlify"], Alphabet::Url, 40..=64),
    vendor_value("okta-api-token", "Okta API token", &["okta"], Alphabet::Url, 42..=42),
    vendor_value("opsgenie-api-key", "Opsgenie API key", &["opsgenie"], Alphabet::Uuid, 36..=36),
    vendor_value("pagerduty-api-key", "PagerDuty API key", &["pagerduty"], Alphabet::Url, 20..=20),
    vendor_value("paypal-client-secret", "PayPal client secret", &["paypal"], Alphabet::Url, 80..=80),
    vendor_value("plaid-secret", "Plaid secret", &["plaid"], Alphabet::Hex, 30..=30),
    vendor_value("rapidapi-key", "RapidAPI key", &["rapidapi"], Alphabet::Url, 50..=50),
    vendor_value("sauce-access-key", "Sauce Labs access key", &["sauce"], Alphabet::Uuid, 36..=36),
    vendor_value("snyk-token", "Snyk token", &["snyk"], Alphabet::Uuid, 36..=36),
    vendor_value("sourcegraph-access-token", "Sourcegraph token", &["sourcegraph"], Alphabet::Hex, 40..=40),
    vendor_value("sentry-auth-token", "Sentry token", &["sentry"], Alphabet::Hex, 64..=64),
    vendor_value("linear-client-secret", "Linear client secret", &["linear"], Alphabet::Hex, 32..=32),
    vendor_value(
        "confluent-access-token",
        "Confluent access token",
        &["confluent"],
        Alphabet::Alnum,
        16..=16,
    ),
    vendor_value("airtable-api-key", "Airtable API key", &["airtable"], Alphabet::Alnum, 17..=17),
    vendor_value("sumologic-access", "Sumo Logic access key", &["sumo"], Alphabet::Alnum, 14..=64),
    vendor_value(
        "atlassian-api-token",
        "Atlassian API token",
        &["atlassian", "jira", "confluence"],
        Alphabet::Alnum,
        24..=24,
    ),
    vendor_value("kucoin-secret", "KuCoin secret", &["kucoin"], Alphabet::Uuid, 36..=36),
    vendor_value("sonar-login-token", "Sonar token", &["sonar"], Alphabet::Hex, 40..=40),
    vendor_value("splunk-token", "Splunk token", &["splunk"], Alphabet::Uuid, 36..=36),
    vendor_value("spotify-client-secret", "Spotify client secret", &["spotify"], Alphabet::Hex, 32..=32),
    vendor_value("travis-token", "Travis CI token", &["travis"], Alphabet::Url, 22..=22),
    vendor_value("twilio-auth-token", "Twilio auth token", &["twilio"], Alphabet::Hex, 32..=32),
    vendor_value("twitch-client-secret", "Twitch client secret", &["twitch"], Alphabet::Alnum, 30..=30),
    vendor_value("twitter-secret", "Twitter secret", &["twitter"], Alphabet::Alnum, 25..=50),
    vendor_value("vercel-token", "Vercel token", &["vercel"], Alphabet::Alnum, 24..=24),
    vendor_value("wandb-api-key", "Weights & Biases API key", &["wandb"], Alphabet::Hex, 40..=40),
    vendor_value("zendesk-secret", "Zendesk secret", &["zendesk"], Alphabet::Alnum, 40..=40),
];

/// Returns every detector; two may share one id.
pub(super) fn all() -> impl Iterator<Item = &'static Detector> {
    let tokens = TABLES.iter().copied().flatten().chain(super::service::SHAPES).map(|token| &token.detector);
    CODED.iter().copied().chain(tokens).chain(VENDOR_VALUES.iter().map(|value| &value.detector))
}
