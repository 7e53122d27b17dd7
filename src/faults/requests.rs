//! Fault injection at the HTTP port.

use std::cell::RefCell;
use std::io::{self, Write};
use std::time::Duration;

use super::kind::{HttpFault, slug};
use super::{FAULTS, Kind, Port};
use qa_run::control::Wait;
use qa_run::http::{Http, HttpError, HttpReply, HttpRequest, pause_unless_cancelled};

/// Divisor of waits where there is a stand-in for every server.
const HASTE: u32 = 200;
/// Time of a slow answer.
const SLOW: Duration = Duration::from_secs(5);

thread_local! {
    /// Operation of the thread's next requests.
    static OPERATION: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A client with fault injection.
pub(crate) struct Around<H>(H);

/// Puts the faults of the process in front of a client.
pub(crate) fn around<H: Http>(http: H) -> Around<H> {
    Around(http)
}

/// Returns a time as it is where there is a stand-in for every server.
fn hasty(time: Duration) -> Duration {
    match FAULTS.get().is_some_and(|faults| faults.loopback.is_some()) {
        true => time / HASTE,
        false => time,
    }
}

fn pause(time: Duration) {
    if let Some(faults) = FAULTS.get() {
        pause_unless_cancelled(hasty(time), &faults.cancellation);
    }
}

/// Sends a request for another host to the stand-in.
fn routed(mut request: HttpRequest) -> HttpRequest {
    if let Some(loopback) = FAULTS.get().and_then(|faults| faults.loopback.as_deref())
        && let Some((_, rest)) = request.url.split_once("://")
    {
        let path = rest.find('/').map_or("", |slash| &rest[slash..]);
        request.url = format!("{loopback}{path}");
        request.is_local = true;
    }
    request
}

fn reply(status: u16, headers: &[(&str, &str)]) -> HttpReply {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    HttpReply { status, headers: headers.collect() }
}

fn unreachable_host(host: String, reason: &str) -> HttpError {
    HttpError::Unreachable { host, reason: reason.to_owned() }
}

/// Writes a body in place of the server.
fn answer(host: String, reply: HttpReply, body: &[u8], sink: &mut dyn Write) -> Result<HttpReply, HttpError> {
    match sink.write_all(body) {
        Ok(()) => Ok(reply),
        Err(error) => Err(HttpError::Sink { host, reason: error.to_string() }),
    }
}

impl<H: Http> Around<H> {
    fn fail(
        &self,
        fault: HttpFault,
        request: HttpRequest,
        sink: &mut dyn Write,
    ) -> Result<HttpReply, HttpError> {
        let host = request.url.split('/').nth(2).unwrap_or_default().to_owned();
        let json = [("content-type", "application/json")];
        match fault {
            HttpFault::Refused => Err(unreachable_host(host, "connection refused")),
            HttpFault::Disconnect => {
                Err(unreachable_host(host, "the connection was closed before the request was sent"))
            }
            HttpFault::Lost => {
                self.0.send(request, &mut io::sink())?;
                Err(unreachable_host(host, "the connection was closed before the response was complete"))
            }
            HttpFault::Hang => {
                pause(request.timeout);
                Err(HttpError::Timeout { host, seconds: request.timeout.as_secs() })
            }
            HttpFault::Slow => {
                pause(SLOW);
                self.0.send(request, sink)
            }
            HttpFault::Cut => {
                let (reply, body) = self.0.fetch(request)?;
                answer(host, reply, &body[..body.len() / 2], sink)
            }
            HttpFault::Garbled => {
                let head = self.0.send(request, &mut io::sink())?;
                answer(host, reply(head.status, &json), br#"{"unexpected":[]}"#, sink)
            }
            HttpFault::Empty => {
                let head = self.0.send(request, &mut io::sink())?;
                Ok(reply(head.status, &[]))
            }
            HttpFault::Page => {
                let head = reply(200, &[("content-type", "text/html")]);
                answer(host, head, b"<!doctype html><title>Sign in</title><p>Sign in to this network.", sink)
            }
            HttpFault::Redirect => Ok(reply(302, &[("location", "https://elsewhere.invalid/")])),
            HttpFault::Limited => answer(host, reply(429, &[("retry-after", "1")]), b"{}", sink),
            HttpFault::Status(status) => {
                answer(host, reply(status, &json), br#"{"message":"on purpose"}"#, sink)
            }
        }
    }
}

impl<H: Http> Http for Around<H> {
    fn begin(&self, operation: &str) {
        OPERATION.set(slug(operation));
    }

    fn send(&self, request: HttpRequest, sink: &mut dyn Write) -> Result<HttpReply, HttpError> {
        let operation = OPERATION.with_borrow(Clone::clone);
        let struck = super::strike(Port::Http, &operation);
        let request = routed(request);
        match struck {
            Some(Kind::Http(fault)) => self.fail(fault, request, sink),
            _ => self.0.send(request, sink),
        }
    }

    fn wait(&self, wait: &Wait<'_>) -> bool {
        self.0.wait(&Wait { time: hasty(wait.time), ..wait.clone() })
    }
}
