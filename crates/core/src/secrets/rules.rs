//! The token formats that vendors publish, as data: keywords and patterns.

use super::detector::{Alphabet, CODED, Detector, Kind, Token, VendorValue, provider, vendor_value};

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
