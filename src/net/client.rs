//! The HTTP client on a thread of its own, so that synchronous callers can use it from anywhere.

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

use qa_contracts::secret::Secret;
use qa_core::masking::sanitize_cut;
use qa_run::http::{Http, HttpError, HttpReply, HttpRequest, pause_unless_cancelled, shown_url};
use qa_run::ports::Cancellation;

/// Number of chunks of a response that may wait to be written.
const PIECES_AHEAD: usize = 32;
/// Polling interval of a waiting caller for cancellation.
const LOOK: Duration = Duration::from_millis(50);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Message of the client's thread to the caller.
enum News {
    Head(HttpReply),
    Piece(Vec<u8>),
    End,
    Failed(String),
}

/// The HTTP client.
pub(crate) struct NetClient {
    client: reqwest::Client,
    /// The same without any proxy.
    local: reqwest::Client,
    runtime: Handle,
    /// Dropped with the client, which ends the thread.
    _thread: oneshot::Sender<()>,
    cancellation: Arc<Cancellation>,
    /// No request outlives it.
    deadline: Instant,
    /// Values that must not stand in an error's text.
    secrets: Mutex<Vec<Secret>>,
    warn: Warn,
}

/// Told when a server says that what was asked for will end: which endpoint, and what it says.
pub(crate) type Warn = fn(endpoint: &str, said: &str);

impl NetClient {
    /// A client all of whose requests together may take `budget`.
    pub(crate) fn new(
        budget: Duration,
        cancellation: Arc<Cancellation>,
        warn: Warn,
    ) -> Result<Self, HttpError> {
        let failed = |reason: String| HttpError::Unreachable { host: "any host".to_owned(), reason };
        // An error says that a provider is installed, which is all that is wanted.
        let _already_installed = rustls::crypto::ring::default_provider().install_default();
        let builder = || {
            reqwest::Client::builder()
                .user_agent(concat!("qa-skill/", env!("CARGO_PKG_VERSION")))
                .redirect(reqwest::redirect::Policy::none())
                .connect_timeout(CONNECT_TIMEOUT)
                .referer(false)
        };
        let client = builder().build().map_err(|error| failed(cause(&error)))?;
        let local = builder().no_proxy().build().map_err(|error| failed(cause(&error)))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let handle = runtime.handle().clone();
        let (thread, ended) = oneshot::channel::<()>();
        std::thread::spawn(move || {
            let _sender_is_gone = runtime.block_on(ended);
            // Requests nobody waits for any more are not waited for here either.
            runtime.shutdown_background();
        });
        Ok(Self {
            client,
            local,
            runtime: handle,
            _thread: thread,
            cancellation,
            deadline: Instant::now() + budget,
            secrets: Mutex::default(),
            warn,
        })
    }

    fn masked(&self, text: &str) -> String {
        let secrets = self.secrets.lock().expect("nothing panics while it holds the list");
        let masked = secrets.iter().fold(text.to_owned(), |text, secret| secret.masked_in(&text));
        sanitize_cut(&masked, 300)
    }

    fn start(&self, request: HttpRequest, host: &str) -> Result<(Receiver<News>, Arc<Semaphore>), HttpError> {
        let url = |_| HttpError::Url(host.to_owned());
        let method = reqwest::Method::from_bytes(request.method.as_str().as_bytes())
            .expect("every method of the port is one of HTTP's");
        let client = if request.is_local { &self.local } else { &self.client };
        let mut builder = client.request(method, &request.url).body(request.body);
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        if let Some(secret) = request.authorization {
            let mut value = reqwest::header::HeaderValue::from_str(secret.expose()).map_err(|_| {
                HttpError::Unreachable {
                    host: host.to_owned(),
                    reason: "the token has characters that no header may hold".to_owned(),
                }
            })?;
            value.set_sensitive(true);
            builder = builder.header(request.authorization_header, value);
            let mut secrets = self.secrets.lock().expect("nothing panics while it holds the list");
            // A server may say the key back without the scheme before it.
            let key = secret.expose().rsplit(' ').next().and_then(Secret::new);
            for secret in [Some(secret.clone()), key].into_iter().flatten() {
                if !secrets.contains(&secret) {
                    secrets.push(secret);
                }
            }
        }
        let request = builder.build().map_err(url)?;
        let (news, receiver) = channel();
        let room = Arc::new(Semaphore::new(PIECES_AHEAD));
        self.runtime.spawn(perform(client.clone(), request, news, Arc::clone(&room)));
        Ok((receiver, room))
    }
}

impl Http for NetClient {
    fn send(&self, request: HttpRequest, sink: &mut dyn Write) -> Result<HttpReply, HttpError> {
        let host = host(&request.url)?;
        let limit = request.max_response_bytes;
        let endpoint = format!("{} {}", request.method.as_str(), shown_url(&request.url));
        let allowed = request.timeout.min(self.deadline.saturating_duration_since(Instant::now()));
        let until = Instant::now() + allowed;
        let timeout = || HttpError::Timeout { host: host.clone(), seconds: allowed.as_secs() };
        let idle = request.idle_timeout;
        if allowed.is_zero() {
            return Err(timeout());
        }
        let (receiver, room) = self.start(request, &host)?;
        let mut head = None;
        let mut received = 0u64;
        let mut heard = Instant::now();
        loop {
            self.cancellation.check().map_err(|_| HttpError::Cancelled)?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(timeout());
            }
            let broken = |reason| HttpError::Unreachable { host: host.clone(), reason };
            let news = receiver.recv_timeout(left.min(LOOK));
            if news.is_ok() {
                heard = Instant::now();
            } else if heard.elapsed() >= idle {
                return Err(HttpError::Timeout { host, seconds: idle.as_secs() });
            }
            match news {
                Ok(News::Head(reply)) => {
                    if let Some(said) = reply.retirement(&|text| self.masked(text)) {
                        (self.warn)(&self.masked(&endpoint), &said);
                    }
                    head = Some(reply);
                }
                Ok(News::Piece(bytes)) => {
                    room.add_permits(1);
                    received += bytes.len() as u64;
                    if received > limit {
                        let status = head.map_or(0, |head| head.status);
                        return Err(HttpError::TooLarge { host, limit, status });
                    }
                    let failed = |error: std::io::Error| HttpError::Sink {
                        host: host.clone(),
                        reason: error.to_string(),
                    };
                    sink.write_all(&bytes).map_err(failed)?;
                }
                Ok(News::End) => return head.ok_or_else(|| broken("the answer has no head".to_owned())),
                Ok(News::Failed(reason)) => return Err(broken(self.masked(&reason))),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(broken("the client ended".to_owned())),
            }
        }
    }

    fn pause(&self, time: Duration) -> Result<(), HttpError> {
        pause_unless_cancelled(
            time.min(self.deadline.saturating_duration_since(Instant::now())),
            &self.cancellation,
        )
    }
}

/// Performs one request. When the caller is gone nothing can be told, and the request ends.
async fn perform(
    client: reqwest::Client,
    request: reqwest::Request,
    news: Sender<News>,
    room: Arc<Semaphore>,
) {
    let mut response = match client.execute(request).await {
        Ok(response) => response,
        Err(error) => {
            let _nobody_waits = news.send(News::Failed(cause(&error.without_url())));
            return;
        }
    };
    let headers = response.headers().iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let head = HttpReply { status: response.status().as_u16(), headers: headers.collect() };
    if news.send(News::Head(head)).is_err() {
        return;
    }
    loop {
        let next = match response.chunk().await {
            Ok(Some(bytes)) => News::Piece(bytes.to_vec()),
            Ok(None) => News::End,
            Err(error) => News::Failed(cause(&error.without_url())),
        };
        let more = matches!(next, News::Piece(_));
        if more {
            match room.acquire().await {
                Ok(permit) => permit.forget(),
                Err(_) => return,
            }
        }
        if news.send(next).is_err() || !more {
            return;
        }
    }
}

/// The innermost reason, which is the one a person can act on.
fn cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    if std::ptr::addr_eq(innermost, error) { error.to_string() } else { format!("{error}: {innermost}") }
}

/// Host and port of a URL that can be sent to; never its path or query.
fn host(url: &str) -> Result<String, HttpError> {
    let parsed = reqwest::Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let host = parsed.as_ref().and_then(|url| url.host_str());
    let host = host.ok_or_else(|| HttpError::Url(shown_url(url)))?;
    Ok(match parsed.as_ref().and_then(reqwest::Url::port) {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_run::http::Method;

    #[test]
    fn a_server_that_is_silent_is_left_before_the_whole_time_is_over() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let hour = Duration::from_secs(3600);
        let client = NetClient::new(hour, Arc::default(), |_, _| {}).unwrap();
        let mut request = HttpRequest::new(Method::Get, url);
        request.timeout = hour;
        request.idle_timeout = Duration::from_millis(200);
        // Connections are made and nothing is ever said.
        let error = client.fetch(request).unwrap_err();
        assert!(matches!(error, HttpError::Timeout { .. }), "{error}");
    }
}
