//! The service that octocrab sends through: passes each request to the HTTP port, to the API's own URL and with the token.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response, Uri, header};
use http_body_util::BodyExt;
use octocrab::OctoBody;
use tower_service::Service;

use super::error::PublishError;
use qa_contracts::secret::Secret;
use qa_core::masking::sanitize_cut;
use qa_run::http::{Http, HttpError, HttpRequest, Method};

/// Size limit of a response: a page of a hundred large annotations.
const MAX_ANSWER_BYTES: u64 = 16 << 20;
/// Time limit of a request, enough to upload ten megabytes on a slow line.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Base URL of the API, which every request goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiBase {
    scheme: String,
    authority: String,
    /// Path, without a slash at its end.
    path: String,
}

impl ApiBase {
    pub(super) fn parse(url: &str) -> Result<Self, PublishError> {
        let uri: Uri = url.trim().parse().map_err(|_| not_a_base(url))?;
        let scheme = uri.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https"));
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'));
        match (scheme, authority, uri.query()) {
            (Some(scheme), Some(authority), None) => Ok(Self {
                scheme: scheme.to_owned(),
                authority: authority.as_str().to_ascii_lowercase(),
                path: uri.path().trim_end_matches('/').to_owned(),
            }),
            _ => Err(not_a_base(url)),
        }
    }

    /// Returns host and port, for messages.
    pub(super) fn host(&self) -> &str {
        &self.authority
    }

    /// Returns the URL of a route. One that names another host is refused, since every request has the token.
    fn join(&self, route: &Uri) -> Result<String, HttpError> {
        let is_elsewhere = match route.authority() {
            Some(authority) => {
                !authority.as_str().eq_ignore_ascii_case(&self.authority)
                    || route.scheme_str() != Some(self.scheme.as_str())
            }
            None => false,
        };
        let path = match route.path_and_query() {
            Some(path) => path.as_str(),
            None => "/",
        };
        if is_elsewhere || !path.starts_with('/') {
            return Err(HttpError::Url(sanitize_cut(&route.to_string(), 100)));
        }
        Ok(format!("{}://{}{}{path}", self.scheme, self.authority, self.path))
    }
}

/// The service. It blocks its runtime during a request, which has no other task.
#[derive(Clone)]
pub(super) struct PortService {
    pub(super) http: Arc<dyn Http>,
    pub(super) base: ApiBase,
    /// The value of the `Authorization` header.
    pub(super) authorization: Secret,
}

impl Service<Request<OctoBody>> for PortService {
    type Response = Response<OctoBody>;
    type Error = HttpError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<OctoBody>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { service.send(request).await })
    }
}

/// Returns the error for a URL, without parts that may hold a password or a token.
fn not_a_base(url: &str) -> PublishError {
    let shown = url.rsplit('@').next().and_then(|rest| rest.split(['?', '#']).next());
    let shown = sanitize_cut(shown.unwrap_or_default(), 100);
    PublishError::Settings(format!("`{shown}` is not the URL of an API"))
}

impl PortService {
    fn broken(&self, reason: String) -> HttpError {
        HttpError::Unreachable { host: self.base.authority.clone(), reason }
    }

    async fn send(self, request: Request<OctoBody>) -> Result<Response<OctoBody>, HttpError> {
        let (parts, body) = request.into_parts();
        let url = self.base.join(&parts.uri)?;
        let method = Method::parse(parts.method.as_str())
            .ok_or_else(|| self.broken(format!("the method {} is not supported", parts.method)))?;
        let body = body.collect().await.map_err(|error| self.broken(error.to_string()))?.to_bytes();
        let mut message = HttpRequest::new(method, url)
            .header("accept", "application/vnd.github+json")
            .authorization(Some(self.authorization.clone()))
            .body(body.to_vec());
        for (name, value) in &parts.headers {
            if matches!(*name, header::ACCEPT | header::AUTHORIZATION | header::CONTENT_LENGTH | header::HOST)
            {
                continue;
            }
            let value = value.to_str().map_err(|_| self.broken(format!("the header {name} is not text")))?;
            message = message.header(name.as_str(), value);
        }
        message.max_response_bytes = MAX_ANSWER_BYTES;
        message.timeout = TIMEOUT;
        let (reply, bytes) = self.http.fetch(message)?;
        let mut response = Response::builder().status(reply.status);
        for (name, value) in &reply.headers {
            response = response.header(name.as_str(), value.as_str());
        }
        response.body(OctoBody::from(bytes)).map_err(|error| self.broken(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_goes_to_the_api_and_to_no_other_host() {
        let base = ApiBase::parse("https://git.example/api/v3/").unwrap();
        let join = |route: &'static str| base.join(&Uri::from_static(route)).ok();
        assert_eq!(join("/repos/a/b?x=1").as_deref(), Some("https://git.example/api/v3/repos/a/b?x=1"));
        assert_eq!(join("https://git.example/repos").as_deref(), Some("https://git.example/api/v3/repos"));
        for elsewhere in
            ["https://evil.example/repos", "http://git.example/repos", "https://git.example:8443/x"]
        {
            assert_eq!(join(elsewhere), None, "{elsewhere}");
        }
    }

    #[test]
    fn an_address_that_is_none_is_named_without_what_may_be_secret() {
        for wrong in ["", "api.github.com", "ftp://a", "https://me:word@a", "https://a/?token=1", "/api"] {
            let error = ApiBase::parse(wrong).unwrap_err().to_string();
            assert!(!error.contains("word") && !error.contains("token=1"), "{error}");
        }
    }
}
