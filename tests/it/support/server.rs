//! An HTTP server on loopback whose answers and faults a test decides.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A request as it arrived.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    /// A value of the query, decoded.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        let (_, query) = self.target.split_once('?')?;
        let pair = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
        Some(percent_decoded(pair))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or(serde_json::Value::Null)
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits: Vec<u8> = rest.by_ref().take(2).collect();
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
            }
            b'+' => bytes.push(b' '),
            other => bytes.push(other),
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// An answer, and how it is spoilt on its way.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) spoilt: Spoilt,
}

/// Fault of a response after the server acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Spoilt {
    #[default]
    Not,
    /// The connection is closed instead of answering.
    Reset,
    /// Half the body, then the connection is closed.
    Truncated,
    /// Nothing for so long.
    Slow(Duration),
}

impl Response {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), spoilt: Spoilt::Not }
    }

    pub(crate) fn json(status: u16, value: &serde_json::Value) -> Self {
        Self::new(status, value.to_string()).header("content-type", "application/json; charset=utf-8")
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn spoilt(mut self, spoilt: Spoilt) -> Self {
        self.spoilt = spoilt;
        self
    }
}

/// Answers requests until it is dropped.
pub(crate) struct Server {
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
    ended: Arc<AtomicBool>,
}

impl Server {
    /// Starts on a free port; `answer` is called for each request, from several threads.
    pub(crate) fn start(answer: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let ended = Arc::new(AtomicBool::new(false));
        let answer = Arc::new(answer);
        let (log, over) = (Arc::clone(&requests), Arc::clone(&ended));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                std::thread::spawn(move || converse(&stream, &log, &*answer));
            }
        });
        Self { port, requests, ended }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Every request so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _nobody_there = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn converse(stream: &TcpStream, log: &Mutex<Vec<Request>>, answer: &dyn Fn(&Request) -> Response) {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader, stream) {
        log.lock().unwrap().push(request.clone());
        let response = answer(&request);
        if write_response(stream, &response).is_err() || response.spoilt != Spoilt::Not {
            let _already_closed = stream.shutdown(Shutdown::Both);
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<&TcpStream>, mut stream: &TcpStream) -> Option<Request> {
    let mut first = String::new();
    if reader.read_line(&mut first).ok()? == 0 {
        return None;
    }
    let mut words = first.split_whitespace();
    let mut request = Request {
        method: words.next()?.to_owned(),
        target: origin_form(words.next()?),
        ..Request::default()
    };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    if request.header("expect").is_some() {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
    }
    if request.header("transfer-encoding").unwrap_or_default().contains("chunked") {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim().split(';').next()?, 16).ok()?;
            let mut chunk = vec![0; size + 2];
            reader.read_exact(&mut chunk).ok()?;
            if size == 0 {
                break;
            }
            request.body.extend_from_slice(&chunk[..size]);
        }
    } else if let Some(length) = request.header("content-length") {
        request.body = vec![0; length.parse().ok()?];
        reader.read_exact(&mut request.body).ok()?;
    }
    Some(request)
}

/// A proxy is sent whole addresses.
fn origin_form(target: &str) -> String {
    match target.strip_prefix("http://") {
        Some(rest) => match rest.find('/') {
            Some(slash) => rest[slash..].to_owned(),
            None => "/".to_owned(),
        },
        None => target.to_owned(),
    }
}

fn write_response(mut stream: &TcpStream, response: &Response) -> std::io::Result<()> {
    match response.spoilt {
        Spoilt::Reset => return Ok(()),
        Spoilt::Slow(time) => std::thread::sleep(time),
        Spoilt::Not | Spoilt::Truncated => {}
    }
    let mut head =
        format!("HTTP/1.1 {} Scripted\r\ncontent-length: {}\r\n", response.status, response.body.len());
    for (name, value) in &response.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    let shown =
        if response.spoilt == Spoilt::Truncated { response.body.len() / 2 } else { response.body.len() };
    stream.write_all(&response.body[..shown])?;
    stream.flush()
}
