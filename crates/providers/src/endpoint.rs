//! Endpoints of models: the known ones, and the rules for custom URLs.

use std::net::Ipv6Addr;

use qa_contracts::v1::{AdapterId, AuthScheme, Surface};

/// Endpoint of a binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// Name of a known endpoint, or [`CUSTOM`].
    pub(crate) id: String,
    /// Base URL without a trailing slash, which the path of a surface is appended to.
    pub(crate) base_url: String,
}

/// Id of endpoints that are not known.
pub(super) const CUSTOM: &str = "custom";

/// An endpoint with a name.
pub(super) struct Known {
    pub(super) id: &'static str,
    pub(super) base_url: &'static str,
    pub(super) adapter: AdapterId,
    /// Dialects, the default first.
    pub(super) surfaces: &'static [Surface],
    /// Supported headers for keys, the default first.
    pub(super) auth_schemes: &'static [AuthScheme],
    /// True if it has service tiers.
    pub(super) has_service_tiers: bool,
}

/// Every endpoint with a name; for each adapter its own one first.
pub(super) static KNOWN: &[Known] = &[
    Known {
        id: "anthropic",
        base_url: "https://api.anthropic.com",
        adapter: AdapterId::AnthropicClaude,
        surfaces: &[Surface::AnthropicMessages],
        auth_schemes: &[AuthScheme::Bearer, AuthScheme::XApiKey],
        has_service_tiers: true,
    },
    Known {
        id: "openai",
        base_url: "https://api.openai.com/v1",
        adapter: AdapterId::OpenaiCodex,
        surfaces: &[Surface::OpenaiResponses, Surface::OpenaiChat],
        auth_schemes: &[AuthScheme::Bearer, AuthScheme::ApiKey],
        has_service_tiers: true,
    },
    Known {
        id: "github-models",
        base_url: "https://models.github.ai/inference",
        adapter: AdapterId::OpenaiCodex,
        surfaces: &[Surface::OpenaiChat],
        auth_schemes: &[AuthScheme::Bearer],
        has_service_tiers: false,
    },
];

/// Returns the known endpoint of a name.
pub(super) fn known(id: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.id == id)
}

/// Parses an endpoint's name or URL. The error does not repeat the URL, which may contain a key.
pub(super) fn parse(text: &str) -> Result<Endpoint, &'static str> {
    let base_url = match known(text) {
        Some(known) => known.base_url,
        None => checked(text)?,
    };
    // An address that has a name is asked in the same way under either.
    let id = match KNOWN.iter().find(|known| known.base_url == base_url) {
        Some(known) => known.id,
        None => CUSTOM,
    };
    Ok(Endpoint { id: id.to_owned(), base_url: base_url.to_owned() })
}

/// Checks a URL and removes its trailing slash. The accepted syntax is narrow enough that all programs parse it alike.
fn checked(text: &str) -> Result<&str, &'static str> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err("is neither the name of an endpoint nor an address");
    };
    if rest.contains('@') {
        return Err("holds credentials");
    }
    if rest.contains(['?', '#']) {
        return Err("has a query or a fragment");
    }
    let rest = rest.trim_end_matches('/');
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host(authority).ok_or("has no usable host")?;
    if !path.split('/').skip(1).all(is_plain_segment) {
        return Err("has a path of other than plain words");
    }
    match scheme {
        "https" => {}
        "http" if ["127.0.0.1", "[::1]", "localhost"].contains(&host) => {}
        "http" => return Err("sends the key and the code in the clear"),
        _ => return Err("is no address that begins with https"),
    }
    Ok(&text[..scheme.len() + "://".len() + rest.len()])
}

fn is_plain_segment(segment: &str) -> bool {
    !["", ".", ".."].contains(&segment)
        && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

/// Returns the host of `host` or `host:port`.
fn host(authority: &str) -> Option<&str> {
    if authority.starts_with('[') {
        let end = authority.find(']')?;
        authority[1..end].parse::<Ipv6Addr>().ok()?;
        let (host, port) = authority.split_at(end + 1);
        return (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some(host);
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    (host.split('.').all(is_label) && port.is_none_or(is_port)).then_some(host)
}

fn is_port(port: &str) -> bool {
    port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
}

fn is_label(label: &str) -> bool {
    !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_endpoints() {
        let cases = [
            ("openai", "openai", "https://api.openai.com/v1"),
            ("anthropic", "anthropic", "https://api.anthropic.com"),
            ("github-models", "github-models", "https://models.github.ai/inference"),
            ("https://api.openai.com/v1/", "openai", "https://api.openai.com/v1"),
            ("https://eu.api.openai.com/v1", CUSTOM, "https://eu.api.openai.com/v1"),
            ("https://gate.example:8443/a-b/v1.0//", CUSTOM, "https://gate.example:8443/a-b/v1.0"),
            ("http://127.0.0.1:8080", CUSTOM, "http://127.0.0.1:8080"),
            ("http://[::1]:8080/v1", CUSTOM, "http://[::1]:8080/v1"),
            ("http://localhost/", CUSTOM, "http://localhost"),
        ];
        for (text, id, base_url) in cases {
            let expected = Endpoint { id: id.to_owned(), base_url: base_url.to_owned() };
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn other_addresses_are_refused_without_being_repeated() {
        let cases = [
            ("", "neither"),
            ("OpenAI", "neither"),
            ("api.openai.com/v1", "neither"),
            ("ftp://gate.example", "begins with https"),
            ("HTTPS://gate.example", "begins with https"),
            ("http://gate.example", "in the clear"),
            ("http://127.0.0.1.gate.example", "in the clear"),
            ("http://[::2]", "in the clear"),
            ("https://key:secret@gate.example", "credentials"),
            ("http://localhost@gate.example", "credentials"),
            ("https://gate.example/v1?key=secret", "query"),
            ("https://gate.example/#secret", "fragment"),
            ("https://", "host"),
            ("https:///v1", "host"),
            ("https://gate example", "host"),
            ("https://gate.example\\.evil.example", "host"),
            ("https://gate..example", "host"),
            ("https://gäte.example", "host"),
            ("https://gate.example:port", "host"),
            ("https://gate.example:+80", "host"),
            ("https://gate.example:70000", "host"),
            ("https://[::1", "host"),
            ("https://[gate]", "host"),
            ("https://gate.example/a/../b", "path"),
            ("https://gate.example/%2e%2e/b", "path"),
            ("https://gate.example//v1", "path"),
            ("https://gate.example/a\nb", "path"),
        ];
        for (text, problem) in cases {
            let said = parse(text).unwrap_err();
            assert!(said.contains(problem) && !said.contains("secret"), "{text}: {said}");
        }
    }
}
