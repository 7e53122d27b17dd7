//! Classifies identifiers by the kind of secret they name, and values by the words in them.

use super::plausible;

/// Words that make a name that of a secret.
#[rustfmt::skip]
const SECRET: &[&str] = &[
    "password", "passwd", "pwd", "passphrase", "passcode", "passw", "pswd", "secret", "secrets", "token",
    "credential", "credentials", "creds", "apikey", "accesskey", "secretkey", "authkey", "authtoken",
    "accesstoken", "apitoken", "privatekey", "clientsecret", "apisecret", "bearer", "psk", "userpass",
    "dbpass", "dbpassword", "rootpassword", "mysqlpwd", "sshpass", "signingkey", "encryptionkey", "masterkey",
    "accountkey", "sharedkey", "oauthtoken", "pgpassword", "refreshtoken", "usertoken", "bottoken",
    "authpassword", "appsecret", "appkey", "consumerkey", "consumersecret", "mypassword",
];

/// Words that do so only as the last one.
#[rustfmt::skip]
const SECRET_AT_END: &[&str] = &[
    "pass", "auth", "authorization", "pat", "pw", "jwt", "oauth",
];

/// Words that make a key after them a secret one.
#[rustfmt::skip]
const SECRET_KEY: &[&str] = &[
    "api", "access", "secret", "private", "auth", "account", "encryption", "encrypt", "encrypted", "signing",
    "sign", "master", "shared", "service", "storage", "app", "application", "consumer", "admin", "deploy",
    "webhook", "subscription", "license", "integration", "crypt", "crypto", "cipher", "aes", "hmac", "jwt",
    "session", "cookie", "root", "write", "read", "server", "decryption", "client", "developer", "rest",
    "functions", "function", "instrumentation", "ingest", "ingestion", "account",
];

/// Words that make a key after them an index or a name.
#[rustfmt::skip]
const OTHER_KEY: &[&str] = &[
    "map", "item", "row", "column", "group", "object", "field", "state", "store", "cached", "query", "config", "settings",
    "parent", "child", "node", "event", "message", "error", "data", "user", "react", "unique", "composite", "hot", "short",
    "arrow", "enter", "tab", "escape", "shift", "control", "alt", "meta", "label", "bucket", "s3", "blob", "file", "path", "new",
    "old", "current", "this", "that", "some", "other", "each", "dict", "hash", "lookup", "asset", "image", "video", "song",
    "game", "product", "order", "issue", "ticket", "jira", "project", "build", "artifact", "release", "host", "known", "gpg",
];

/// Words after a secret's name that make it the name of a property of the secret.
#[rustfmt::skip]
const ABOUT: &[&str] = &[
    "id", "ids", "name", "names", "url", "urls", "uri", "endpoint", "path", "file", "filename", "files",
    "dir", "type", "types", "kind", "length", "len", "size", "count", "limit", "max", "min", "expiry",
    "expires", "expiration", "ttl", "timeout", "field", "fields", "label", "placeholder", "hint", "message",
    "msg", "error", "errors", "title", "description", "desc", "text", "prompt", "regex", "regexp", "pattern",
    "format", "header", "headers", "param", "parameter", "prefix", "suffix", "env", "var", "variable",
    "class", "style", "color", "icon", "input", "form", "page", "policy", "rules", "rule", "strength",
    "algorithm", "alg", "method", "mode", "scheme", "provider", "issuer", "audience", "scope", "scopes",
    "ref", "reference", "store", "manager", "version", "index", "position", "pos", "offset", "row", "column",
    "col", "selector", "enabled", "required", "valid", "status", "state", "event", "action", "handler",
    "callback", "alias", "arn", "stream", "iterator", "map", "list", "set", "table", "class", "model",
    "schema", "source", "address", "contract", "symbol", "mint", "uuid", "guid", "date", "time", "at",
    "created", "updated", "rotation", "link", "href", "help", "info", "note", "comment", "example",
];

/// Words that make a name that of a public value, at any position.
#[rustfmt::skip]
const PUBLIC: &[&str] = &[
    "public", "pub", "csrf", "xsrf", "next", "prev", "previous", "page", "cursor", "continuation", "sync",
    "sort", "cache", "idempotency", "nonce", "etag", "integrity", "commit", "revision", "fingerprint",
    "thumbprint", "primary", "foreign", "partition", "translation", "locale", "hash", "hashed", "digest",
    "checksum", "sha", "sha1", "sha256", "sha512", "md5", "crc", "crc32", "css", "dom", "xml", "encoded",
    "invalid", "expected", "site", "publishable", "pagination", "resume", "recaptcha", "captcha", "lookup",
    "design", "unicode", "sri", "etags", "cid", "txid", "erc20", "lock", "content",
    "mock", "mocked", "fake", "dummy", "example", "sample", "stub", "authenticity", "verification", "antiforgery", "i18n",
];

/// Placeholder and default passwords, read after digits that stand for letters.
#[rustfmt::skip]
const WEAK: &[&str] = &[
    "password", "passwd", "passw", "secret", "changeme", "change_me", "change-me", "example", "placeholder",
    "redacted", "dummy", "sample", "fake", "xxxx", "****", "....", "your", "insert", "replace", "todo",
    "admin", "welcome", "letmein", "qwerty", "hunter", "test", "demo", "foobar", "foo_bar", "foo-bar",
    "default", "masked", "hidden", "invalid", "mytoken", "mykey", "my_", "my-", "apikey", "api_key",
    "api-key", "token", "undefined", "null", "none", "goes_here", "goeshere", "12345678", "abcdefg",
    "credential", "notreal", "notasecret", "correcthorse", "staple", "iloveyou", "trustno", "dragon",
    "monkey", "supersecure", "private", "localhost", "mock", "bogus", "random", "value", "string", "lorem",
    "ipsum", "deadbeef", "cafebabe",
];

/// Kind of secret that a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    /// Chosen by people, so it may be short.
    Password,
    /// Generated by machines.
    Token,
    /// A key of an unknown kind.
    Key,
}

/// Returns the words of an identifier in lower case: parts in snake, kebab, dotted and camel case.
fn split(name: &[u8]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut fresh = true;
    for (at, &byte) in name.iter().enumerate() {
        if !byte.is_ascii_alphanumeric() {
            fresh = true;
            continue;
        }
        let after_lower = at > 0 && (name[at - 1].is_ascii_lowercase() || name[at - 1].is_ascii_digit());
        let before_lower = matches!(name.get(at + 1), Some(next) if next.is_ascii_lowercase());
        let after_upper = at > 0 && name[at - 1].is_ascii_uppercase();
        if byte.is_ascii_uppercase() && (after_lower || (after_upper && before_lower)) {
            fresh = true;
        }
        if fresh {
            words.push(String::new());
            fresh = false;
        }
        if let Some(word) = words.last_mut() {
            word.push(byte.to_ascii_lowercase() as char);
        }
    }
    words
}

/// Returns the kind of secret that an identifier names; `None` when it names none.
pub(super) fn naming(name: &[u8]) -> Option<Naming> {
    let mut words = split(name);
    // A number at the end distinguishes copies.
    while let [_, .., last] = words.as_slice()
        && last.bytes().all(|byte| byte.is_ascii_digit())
    {
        words.pop();
    }
    if words.iter().any(|word| PUBLIC.contains(&word.as_str())) {
        return None;
    }
    let last = words.len().checked_sub(1)?;
    let certain = (0..words.len()).rev().find(|&at| {
        let word = words[at].trim_end_matches(|digit: char| digit.is_ascii_digit());
        SECRET.contains(&word)
            || (at == last && SECRET_AT_END.contains(&word))
            || (matches!(word, "key" | "keys") && at > 0 && SECRET_KEY.contains(&words[at - 1].as_str()))
    });
    let Some(at) = certain else {
        let key = last > 0 && words[last] == "key" && !OTHER_KEY.contains(&words[last - 1].as_str());
        return key.then_some(Naming::Key);
    };
    if words[at + 1..].iter().any(|word| ABOUT.contains(&word.as_str())) {
        return None;
    }
    let word = words[at].as_str();
    let chosen =
        word.contains("pass") || matches!(word, "pwd" | "pswd" | "pw" | "psk") || word.ends_with("pwd");
    Some(if chosen { Naming::Password } else { Naming::Token })
}

/// Returns whether a value contains the words of a placeholder, a default or an everyday password.
pub(super) fn is_weak(value: &[u8]) -> bool {
    // In a long random value a word of four letters turns up by chance.
    let shortest = if value.len() > 20 { 5 } else { 0 };
    plausible::spells(value, WEAK.iter().copied().filter(|word| word.len() >= shortest))
}

/// Returns whether a value is filled in elsewhere: a variable, a template, a call, a format.
pub(super) fn is_filled_in(value: &[u8]) -> bool {
    #[rustfmt::skip]
    const MARKS: &[&str] = &[
        "${", "{{", "}}", "#{", "%{", "$(", "<%", "%(", "{0}", "{}", "()", "env.", "process.", "env[",
        "vault:", "secretref", "[a-z", "[0-9", "[^", "(?", ".*", "a-za-z", "{8}-", "valuefrom", "arn:",
        "ssm:", "${{", "::", "=>", "->", "&&", "||", "==", "://",
    ];
    let mark = MARKS.iter().any(|mark| plausible::contains(value, mark.as_bytes()));
    let variable = match value {
        [b'$', first, ..] => {
            (first.is_ascii_alphabetic() || *first == b'_')
                && value[1..].iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        }
        [b'%', .., b'%'] | [b'<', .., b'>'] | [b'{', .., b'}'] | [b'[', .., b']'] | [b'(', .., b')'] => true,
        // Values encrypted for the repository, as sops and jasypt write them.
        [b'E', b'N', b'C', b'[' | b'(', ..] => true,
        [b'_', b'_', .., b'_', b'_'] | [b'@', .., b'@'] => true,
        _ => false,
    };
    // A letter after a percent sign is a directive only where it ends there.
    let directive = value.windows(2).enumerate().any(|(at, pair)| {
        let in_word = matches!(value.get(at + 2), Some(next) if next.is_ascii_alphanumeric());
        matches!(pair, b"%s" | b"%d" | b"%v") && !in_word
    });
    mark || variable || directive
}

/// Returns whether a value is the path of a file, by where it begins: a home directory, a variable or a directory that
/// every system has.
pub(super) fn is_path(value: &[u8]) -> bool {
    const ROOTS: &[&str] = &[
        "/Users/", "/etc/", "/home/", "/mnt/", "/opt/", "/root/", "/run/", "/srv/", "/tmp/", "/usr/", "/var/",
    ];
    if ROOTS.iter().any(|root| value.starts_with(root.as_bytes())) {
        return true;
    }
    let is_of_name: fn(&u8) -> bool = match value.first() {
        Some(b'~') => |byte| byte.is_ascii_lowercase() || *byte == b'_',
        Some(b'$') => |byte| byte.is_ascii_uppercase() || *byte == b'_',
        Some(_) | None => return false,
    };
    value[1..].iter().find(|byte| !is_of_name(byte)) == Some(&b'/')
}

/// Returns whether a value is an identifier, a path, a version or a phrase: its parts are all words or short numbers, or
/// at least three of them are words.
pub(super) fn is_name(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| !byte.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let words = parts.clone().filter(|part| part.len() >= 3 && part.iter().all(u8::is_ascii_alphabetic));
    if words.filter(|part| plausible::reads_as_words(part)).count() >= 3 {
        return true;
    }
    parts.all(|part| {
        let letters = part.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let rest = &part[letters..];
        let numbered = (rest.len() <= 4 || letters == 0) && rest.iter().all(u8::is_ascii_digit);
        numbered && (letters <= 3 || plausible::reads_as_words(&part[..letters]))
    })
}
