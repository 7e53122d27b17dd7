//! Where models are asked: the endpoints with a name, and which addresses may stand in for them.

use std::net::Ipv6Addr;

use qa_contracts::v1::{AdapterId, AuthScheme, Surface};

/// Where requests of a binding go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// The name of a known one, or [`CUSTOM`].
    pub(crate) id: String,
    /// What the path of a surface is appended to; no slash at its end.
    pub(crate) base_url: String,
}

/// What an address that has no name is called.
pub(super) const CUSTOM: &str = "custom";

/// An endpoint with a name.
pub(super) struct Known {
    pub(super) id: &'static str,
    pub(super) base_url: &'static str,
    pub(super) adapter: AdapterId,
    /// What it speaks, the default first.
    pub(super) surfaces: &'static [Surface],
    /// How it takes keys.
    pub(super) auth_schemes: &'static [AuthScheme],
    /// Whether it has tiers of service.
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

/// The endpoint with a name.
pub(super) fn known(id: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.id == id)
}

/// The endpoint that a policy means by a name or an address, or what is wrong with it. The message does not repeat the
/// address: it may hold a key.
pub(super) fn parse(text: &str) -> Result<Endpoint, &'static str> {
    let base_url = match known(text) {
        Some(known) => known.base_url,
        None => checked(text)?,
    };
    // An address that has a name is asked in the same way under either.
    let id = KNOWN.iter().find(|known| known.base_url == base_url).map_or(CUSTOM, |known| known.id);
    Ok(Endpoint { id: id.to_owned(), base_url: base_url.to_owned() })
}

/// An address without its last slash. What is allowed is narrow enough that no two programs read it differently.
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
    let is_plain = |segment: &str| {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        !["", ".", ".."].contains(&segment) && segment.bytes().all(is_allowed)
    };
    if !path.split('/').skip(1).all(is_plain) {
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

/// The host of `host` or `host:port`.
fn host(authority: &str) -> Option<&str> {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    if authority.starts_with('[') {
        let end = authority.find(']')?;
        authority[1..end].parse::<Ipv6Addr>().ok()?;
        let (host, port) = authority.split_at(end + 1);
        return (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some(host);
    }
    let (host, port) = authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    (host.split('.').all(is_label) && port.is_none_or(is_port)).then_some(host)
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
