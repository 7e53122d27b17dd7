//! Trust in an address by a piece of it.

use std::sync::LazyLock;

use regex::Regex;

use super::rules;
use super::site::{Check, Found, Site, last_name};
use qa_reading::expressions::{Expression, Form};

pub(super) const PIECE: Check =
    Check::new(rules::ADDRESS_PIECE, "another host may begin, end or continue like this", piece).of_calls(&[
        "startsWith",
        "endsWith",
        "includes",
        "indexOf",
        "contains",
        "startswith",
        "endswith",
        "start_with?",
        "end_with?",
        "include?",
        "starts_with",
        "ends_with",
        "StartsWith",
        "EndsWith",
        "Contains",
        "HasPrefix",
        "HasSuffix",
        "str_starts_with",
        "str_ends_with",
        "str_contains",
        "strpos",
    ]);

fn piece(site: &Site<'_>) -> Found {
    static URL: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^https?://[\w-]+(?:\.[\w-]+)+$").expect("a valid pattern"));
    static HOST: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}$").expect("a valid pattern"));
    let Form::Call { object, name, .. } = site.form else { return Vec::new() };
    let arguments = site.arguments();
    let (subject, text) = match (object, &arguments[..]) {
        (Some(object), [only]) => (object, only.text_value()),
        (_, [subject, text]) => (*subject, text.text_value()),
        _ => return Vec::new(),
    };
    let Some(text) = text else { return Vec::new() };
    let lower = name.to_lowercase();
    let decides = site.expression.function().and_then(|function| function.defined_name());
    let decides = decides.is_some_and(|own| is_decision(own.source()));
    if decides
        && is_subject(subject, ADDRESSES)
        && (HOST.is_match(&text) && !lower.contains("start") || URL.is_match(&text))
    {
        return site.if_true(true);
    }
    let is_trusted = if lower.contains("start") || lower.contains("prefix") {
        is_subject(subject, WHOLE) && URL.is_match(&text)
    } else {
        is_subject(subject, HOSTS) && (HOST.is_match(&text) || URL.is_match(&text))
    };
    site.if_true(is_trusted)
}

/// Last words of names of hosts.
const HOSTS: &[&str] = &["host", "hostname", "origin", "referer", "referrer"];
/// Last words of names of addresses that somebody else chooses.
const WHOLE: &[&str] = &[
    "origin",
    "redirect",
    "referer",
    "referrer",
    "returnto",
    "returnurl",
    "redirecturl",
    "redirecturi",
    "callbackurl",
    "nexturl",
];

/// Suffixes of names of whole addresses.
const ADDRESSES: &[&str] = &["href", "uri", "url"];

/// Returns whether the name of a function is that of a trust decision.
fn is_decision(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "allow",
        "authoriz",
        "internal",
        "isours",
        "is_ours",
        "owned",
        "permit",
        "safe",
        "trust",
        "whitelist",
    ];
    let name = name.to_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

fn is_subject(subject: Expression<'_>, words: &[&str]) -> bool {
    let Some(name) = last_name(subject) else { return false };
    let name: String = name.to_lowercase().chars().filter(|letter| letter.is_alphanumeric()).collect();
    words.iter().any(|word| name.ends_with(word))
}
