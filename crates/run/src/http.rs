//! HTTP requests and responses as data, and the port that sends them; sockets are in `net/`.

use std::io::Write;
use std::time::Duration;

use super::control::Wait;
use super::ports::Cancellation;
use qa_contracts::codes::Code;
use qa_contracts::secret::Secret;
use qa_core::masking::sanitize_cut;

/// The methods in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// Returns the name in a request line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Parses the name in a request line.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Get, Self::Post, Self::Put, Self::Patch, Self::Delete]
            .into_iter()
            .find(|method| method.as_str() == text)
    }
}

/// HTTP request. The port never follows redirects: to follow one, the caller sends another request without the
/// authorization, so no token reaches a host it was not meant for.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    pub method: Method,
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// Credentials of the caller.
    pub authorization: Option<Secret>,
    /// Header of the credentials, in lower case.
    pub authorization_header: &'static str,
    /// True for an unencrypted request to this machine, which no proxy may see.
    pub is_local: bool,
    pub body: Vec<u8>,
    /// Size limit of the response; a longer one is an error.
    pub max_response_bytes: u64,
    /// Time limit from sending to the last byte of the response.
    pub timeout: Duration,
    /// Time limit without a byte from the server.
    pub idle_timeout: Duration,
}

impl HttpRequest {
    /// Returns a request without headers and body, for a response of at most 8 MiB within 30 seconds.
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Self {
            method,
            url: url.into(),
            headers: Vec::new(),
            authorization: None,
            authorization_header: "authorization",
            is_local: false,
            body: Vec::new(),
            max_response_bytes: 8 << 20,
            timeout: Duration::from_secs(30),
            idle_timeout: Duration::MAX,
        }
    }

    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub fn body(mut self, bytes: Vec<u8>) -> Self {
        self.body = bytes;
        self
    }

    pub fn authorization(mut self, value: Option<Secret>) -> Self {
        self.authorization = value;
        self
    }
}

/// Status and headers of a response; its body goes to the caller's sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpReply {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
}

impl HttpReply {
    /// Returns the first header of a name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns a copy of the first header of a name in lower case.
    pub fn owned_header(&self, name: &str) -> Option<String> {
        self.header(name).map(ToOwned::to_owned)
    }

    /// Returns the headers that announce the end of an endpoint: `Deprecation`, `Sunset`, and those of GitHub. `masked`
    /// masks secrets in a text, before it is cut.
    pub fn retirement(&self, masked: &dyn Fn(&str) -> String) -> Option<String> {
        let headers: Vec<String> = self
            .headers
            .iter()
            .filter(|(name, _)| is_retirement_header(name))
            .take(3)
            .map(|(name, value)| format!("{}: {}", sanitize_cut(name, 60), sanitize_cut(&masked(value), 60)))
            .collect();
        (!headers.is_empty()).then(|| headers.join(", "))
    }

    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

fn is_retirement_header(name: &str) -> bool {
    let is_github = name.starts_with("x-github-");
    matches!(name, "deprecation" | "sunset")
        || is_github && (name.contains("deprecat") || name.contains("sunset"))
}

/// Error of a request without a response. Its text has no header and no query, since these hold secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The connection failed or broke; it is unknown whether the server processed the request.
    #[error("{host} could not be reached: {reason}")]
    Unreachable { host: String, reason: String },
    #[error("{host} did not answer within {seconds} s")]
    Timeout { host: String, seconds: u64 },
    #[error("the answer of {host} is over {limit} bytes")]
    TooLarge { host: String, limit: u64, status: u16 },
    #[error("`{0}` is not a URL to send a request to")]
    Url(String),
    #[error("what {host} sent could not be written: {reason}")]
    Sink { host: String, reason: String },
    #[error("the run was cancelled")]
    Cancelled,
}

impl HttpError {
    /// Returns whether a retry may succeed.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Timeout { .. } => true,
            Self::TooLarge { .. } | Self::Url(_) | Self::Sink { .. } | Self::Cancelled => false,
        }
    }

    pub fn code(&self) -> Code {
        match self {
            Self::Cancelled => Code::Cancelled,
            Self::Unreachable { .. }
            | Self::Timeout { .. }
            | Self::TooLarge { .. }
            | Self::Url(_)
            | Self::Sink { .. } => Code::NetworkUnavailable,
        }
    }
}

/// Returns a URL for messages: scheme, host, port and path, without credentials and query.
pub fn shown_url(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or("");
    let plain = match plain.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{}", rest.rsplit('@').next().unwrap_or("")),
        None => plain.rsplit('@').next().unwrap_or("").to_owned(),
    };
    sanitize_cut(&plain, 100)
}

/// Sends requests. Called by adapters from any thread, one request at a time per caller; an implementation keeps the
/// limits of the request, ends early when the run is cancelled, and never follows a redirect.
pub trait Http: Send + Sync {
    /// Sends a request; the response's body goes to `sink` as it arrives, whatever the status.
    fn send(&self, request: HttpRequest, sink: &mut dyn Write) -> Result<HttpReply, HttpError>;

    /// Announces a wait and waits; ends early when the run is cancelled, which the next request reports. Returns false,
    /// and does neither, if the wait does not fit the time that is left for requests.
    fn wait(&self, wait: &Wait<'_>) -> bool;

    /// Names the operation of this thread's next requests, for a port that tells operations apart. Called before each attempt.
    fn begin(&self, _operation: &str) {}

    /// Sends a request and keeps the response's body in memory.
    fn fetch(&self, request: HttpRequest) -> Result<(HttpReply, Vec<u8>), HttpError> {
        let mut body = Vec::new();
        let reply = self.send(request, &mut body)?;
        Ok((reply, body))
    }
}

/// Waits for `time` in small steps, so that a cancelled run does not wait for it.
#[expect(clippy::disallowed_methods, reason = "this is the clock that waits go by: the port's own")]
pub fn pause_unless_cancelled(time: Duration, cancellation: &Cancellation) {
    const STEP: Duration = Duration::from_millis(50);
    let mut left = time;
    while cancellation.ending().is_none() && !left.is_zero() {
        let step = left.min(STEP);
        std::thread::sleep(step);
        left -= step;
    }
}

#[cfg(test)]
mod tests {
    use super::{HttpReply, shown_url};

    #[test]
    fn the_end_of_an_endpoint_is_read_from_three_kinds_of_headers() {
        let said = |headers: &[(&str, &str)]| {
            let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            HttpReply { status: 200, headers: headers.collect() }
                .retirement(&|text| text.replace("key", "***"))
        };
        assert_eq!(said(&[("date", "x"), ("x-github-media-type", "github.v3")]), None);
        assert_eq!(said(&[("sunset", "a\u{1b}[2J")]).as_deref(), Some("sunset: a\\u{1b}[2J"));
        assert_eq!(said(&[("sunset", "a key")]).as_deref(), Some("sunset: a ***"));
        let both = said(&[("deprecation", "@1"), ("x-github-api-deprecated", "yes")]);
        assert_eq!(both.as_deref(), Some("deprecation: @1, x-github-api-deprecated: yes"));
    }

    #[test]
    fn a_shown_address_has_no_password_and_no_query() {
        for (url, shown) in [
            ("https://user:password@host:8443/a/b?token=x#y", "https://host:8443/a/b"),
            ("https://p@ss@host/a", "https://host/a"),
            ("user:password@host", "host"),
            ("https://host", "https://host"),
            ("", ""),
        ] {
            assert_eq!(shown_url(url), shown);
        }
    }
}
