//! The HTTP client, on a thread of its own for synchronous callers.

use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};

use qa_contracts::secret::Secret;
use qa_core::masking::sanitize_cut;
use qa_run::control::Wait;
use qa_run::http::{Http, HttpError, HttpReply, HttpRequest, pause_unless_cancelled, shown_url};
use qa_run::ports::Cancellation;

/// Number of chunks of a response that may wait to be written.
const CHUNKS_AHEAD: usize = 32;
/// Polling interval of a waiting caller for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Message of the client's thread to the caller.
enum Event {
    Head(HttpReply),
    Chunk(Vec<u8>),
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
    /// Deadline of all requests.
    deadline: Instant,
    /// Values that are masked in errors.
    secrets: Mutex<Vec<Secret>>,
    notices: Notices,
}

/// Notices of a client for whoever watches the run.
#[derive(Clone, Copy)]
pub(crate) struct Notices {
    /// A server announces the end of an endpoint.
    pub(crate) retiring: fn(endpoint: &str, notice: &str),
    /// A request is sent again after a wait.
    pub(crate) waiting: fn(wait: &Wait<'_>),
}

/// A request in progress.
struct Exchange {
    events: Receiver<Event>,
    /// Permits for chunks that the thread may read ahead.
    capacity: Arc<Semaphore>,
}

fn builder() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(concat!("qa-skill/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .referer(false)
}

fn not_created(reason: String) -> HttpError {
    HttpError::Unreachable { host: "any host".to_owned(), reason }
}

impl NetClient {
    /// Creates a client; `budget` is the time limit of all its requests together.
    pub(crate) fn new(
        budget: Duration,
        cancellation: Arc<Cancellation>,
        notices: Notices,
    ) -> Result<Self, HttpError> {
        // An error means that a provider is installed already.
        let _already_installed = rustls::crypto::ring::default_provider().install_default();
        let client = builder().build().map_err(|error| not_created(cause(&error)))?;
        let local = builder().no_proxy().build().map_err(|error| not_created(cause(&error)))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| not_created(error.to_string()))?;
        let handle = runtime.handle().clone();
        let (thread, ended) = oneshot::channel::<()>();
        std::thread::spawn(move || {
            let _sender_is_gone = runtime.block_on(ended);
            // Abandons requests that no caller waits for.
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
            notices,
        })
    }

    fn masked(&self, text: &str) -> String {
        let secrets = self.secrets.lock().expect("nothing panics while it holds the list");
        let masked = secrets.iter().fold(text.to_owned(), |text, secret| secret.masked_in(&text));
        sanitize_cut(&masked, 300)
    }

    fn start(&self, request: HttpRequest, host: &str) -> Result<Exchange, HttpError> {
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
                    reason: "the token has characters that are not allowed in a header".to_owned(),
                }
            })?;
            value.set_sensitive(true);
            builder = builder.header(request.authorization_header, value);
            let mut secrets = self.secrets.lock().expect("nothing panics while it holds the list");
            // A server may quote the key without its scheme.
            let key = secret.expose().rsplit(' ').next().and_then(Secret::new);
            for secret in [Some(secret.clone()), key].into_iter().flatten() {
                if !secrets.contains(&secret) {
                    secrets.push(secret);
                }
            }
        }
        let request = builder.build().map_err(|_| HttpError::Url(host.to_owned()))?;
        let (events, receiver) = channel();
        let capacity = Arc::new(Semaphore::new(CHUNKS_AHEAD));
        self.runtime.spawn(perform(client.clone(), request, events, Arc::clone(&capacity)));
        Ok(Exchange { events: receiver, capacity })
    }
}

impl Http for NetClient {
    fn send(&self, request: HttpRequest, sink: &mut dyn Write) -> Result<HttpReply, HttpError> {
        let host = host(&request.url)?;
        self.cancellation.check().map_err(|_| HttpError::Cancelled)?;
        let limit = request.max_response_bytes;
        let endpoint = format!("{} {}", request.method.as_str(), shown_url(&request.url));
        let allowed = request.timeout.min(self.deadline.saturating_duration_since(Instant::now()));
        let until = Instant::now() + allowed;
        let idle = request.idle_timeout;
        if allowed.is_zero() {
            return Err(HttpError::Timeout { host, seconds: 0 });
        }
        let Exchange { events, capacity } = self.start(request, &host)?;
        let mut head = None;
        let mut received = 0u64;
        let mut last_event = Instant::now();
        loop {
            self.cancellation.check().map_err(|_| HttpError::Cancelled)?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(HttpError::Timeout { host, seconds: allowed.as_secs() });
            }
            let event = events.recv_timeout(left.min(POLL_INTERVAL));
            if event.is_ok() {
                last_event = Instant::now();
            } else if last_event.elapsed() >= idle {
                return Err(HttpError::Timeout { host, seconds: idle.as_secs() });
            }
            match event {
                Ok(Event::Head(reply)) => {
                    if let Some(notice) = reply.retirement(&|text| self.masked(text)) {
                        (self.notices.retiring)(&self.masked(&endpoint), &notice);
                    }
                    head = Some(reply);
                }
                Ok(Event::Chunk(bytes)) => {
                    capacity.add_permits(1);
                    received += bytes.len() as u64;
                    if received > limit {
                        let status = head.map(|head| head.status).unwrap_or_default();
                        return Err(HttpError::TooLarge { host, limit, status });
                    }
                    if let Err(error) = sink.write_all(&bytes) {
                        return Err(HttpError::Sink { host, reason: error.to_string() });
                    }
                }
                Ok(Event::End) => {
                    return head.ok_or_else(|| unreachable_host(host, "the response has no head"));
                }
                Ok(Event::Failed(reason)) => return Err(unreachable_host(host, &self.masked(&reason))),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(unreachable_host(host, "the client ended"));
                }
            }
        }
    }

    fn wait(&self, wait: &Wait<'_>) -> bool {
        if wait.time >= self.deadline.saturating_duration_since(Instant::now()) {
            return false;
        }
        (self.notices.waiting)(wait);
        self.cancellation.journal.begin_wait(wait);
        pause_unless_cancelled(wait.time, &self.cancellation);
        self.cancellation.journal.end_wait();
        true
    }
}

fn unreachable_host(host: String, reason: &str) -> HttpError {
    HttpError::Unreachable { host, reason: reason.to_owned() }
}

/// Performs one request. Ends early if the caller dropped its receiver.
async fn perform(
    client: reqwest::Client,
    request: reqwest::Request,
    events: Sender<Event>,
    capacity: Arc<Semaphore>,
) {
    let mut response = match client.execute(request).await {
        Ok(response) => response,
        Err(error) => {
            let _nobody_waits = events.send(Event::Failed(cause(&error.without_url())));
            return;
        }
    };
    let headers = response.headers().iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let head = HttpReply { status: response.status().as_u16(), headers: headers.collect() };
    if events.send(Event::Head(head)).is_err() {
        return;
    }
    loop {
        let next = match response.chunk().await {
            Ok(Some(bytes)) => Event::Chunk(bytes.to_vec()),
            Ok(None) => Event::End,
            Err(error) => Event::Failed(cause(&error.without_url())),
        };
        let more = matches!(next, Event::Chunk(_));
        if more {
            match capacity.acquire().await {
                Ok(permit) => permit.forget(),
                Err(_) => return,
            }
        }
        if events.send(next).is_err() || !more {
            return;
        }
    }
}

/// Returns the message of an error with that of its innermost cause.
fn cause(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    if std::ptr::addr_eq(innermost, error) { error.to_string() } else { format!("{error}: {innermost}") }
}

/// Returns host and port of an HTTP URL, without its path or query.
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

    const SILENT: Notices = Notices { retiring: |_, _| {}, waiting: |_| {} };
    use qa_run::http::Method;

    #[test]
    fn a_server_that_is_silent_is_left_before_the_whole_time_is_over() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let hour = Duration::from_secs(3600);
        let client = NetClient::new(hour, Arc::default(), SILENT).unwrap();
        let mut request = HttpRequest::new(Method::Get, url);
        request.timeout = hour;
        request.idle_timeout = Duration::from_millis(200);
        // Connections are made and nothing is ever said.
        let error = client.fetch(request).unwrap_err();
        assert!(matches!(error, HttpError::Timeout { .. }), "{error}");
    }
}
