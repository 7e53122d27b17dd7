//! An HTTP server in memory, whose answers a test decides.

use std::io::Write;
use std::sync::Mutex;

use base64::Engine;

use super::*;
use qa_run::control::Wait;
use qa_run::http::HttpRequest;

/// Status, headers and body, or none of them.
pub(crate) type Answer = Result<(u16, Vec<(&'static str, String)>, Vec<u8>), HttpError>;

/// Answers by a function and keeps what it was asked and how long it was waited for.
pub(crate) struct Scripted<F> {
    answer: Mutex<F>,
    pub(crate) requests: Mutex<Vec<HttpRequest>>,
    pub(crate) waited: Mutex<Vec<Duration>>,
}

impl<F: FnMut(usize, &HttpRequest) -> Answer + Send> Scripted<F> {
    pub(crate) fn new(answer: F) -> Self {
        Self { answer: Mutex::new(answer), requests: Mutex::default(), waited: Mutex::default() }
    }

    pub(crate) fn targets(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|request| format!("{} {}", request.method.as_str(), request.url)).collect()
    }
}

impl<F: FnMut(usize, &HttpRequest) -> Answer + Send> Http for Scripted<F> {
    fn send(&self, request: HttpRequest, sink: &mut dyn Write) -> Result<HttpReply, HttpError> {
        let number = self.requests.lock().unwrap().len();
        let answer = (self.answer.lock().unwrap())(number, &request);
        let limit = request.max_response_bytes;
        self.requests.lock().unwrap().push(request);
        let (status, headers, body) = answer?;
        if body.len() as u64 > limit {
            return Err(HttpError::TooLarge { host: "scripted".to_owned(), limit, status: 200 });
        }
        sink.write_all(&body).unwrap();
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(HttpReply { status, headers })
    }

    fn wait(&self, wait: &Wait<'_>) -> bool {
        self.waited.lock().unwrap().push(wait.time);
        true
    }
}

pub(crate) fn lost() -> Answer {
    Err(HttpError::Unreachable { host: "scripted".to_owned(), reason: "reset".to_owned() })
}

pub(crate) fn json(status: u16, value: serde_json::Value) -> Answer {
    Ok((status, Vec::new(), value.to_string().into_bytes()))
}

/// An unsigned token with these scopes.
pub(crate) fn token(scopes: &str) -> Secret {
    let payload = base64::engine::general_purpose::URL_SAFE_NO_PAD
        .encode(format!("{{\"scp\":\"{scopes}\",\"n\":\"öÿ?~\"}}"));
    Secret::new(&format!("eyJhbGciOiJub25lIn0.{payload}.c2lnbmVk")).unwrap()
}
