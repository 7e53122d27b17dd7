//! Prism, a proxy that validates requests and responses against GitHub's own API description.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;

use super::origin::NAME;
use super::server::{Request, Response, Server};
use super::step::TOKEN;

/// Prism between the program and a GitHub, ended with the test.
pub(crate) struct Prism {
    process: Child,
    log: Receiver<String>,
    pub(crate) address: String,
}

impl Prism {
    pub(crate) fn start(github: &Server) -> Option<Self> {
        let program = super::parts::packages(&["@stoplight/prism-cli"])?
            .join("node_modules/@stoplight/prism-cli/dist/index.js");
        let description = super::parts::part("target/foreign/github.json")?;
        let mut process = Command::new("node")
            .arg(program)
            .args(["proxy", "--host", "127.0.0.1", "--port", "0", "--errors", "--multiprocess", "false"])
            .arg(description)
            .arg(github.url())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let (sender, log) = channel();
        // Read as it is written: Prism waits when nobody does.
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let mut prism = Self { process, log, address: String::new() };
        let line = prism.read_until("Prism is listening on ").pop().unwrap();
        let (_, url) = line.split_once("listening on http://").unwrap();
        prism.address = url.trim().to_owned();
        Some(prism)
    }

    /// The log up to the first line that has these words.
    pub(crate) fn read_until(&self, words: &str) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        while !matches!(lines.last(), Some(line) if line.contains(words)) {
            let line = self.log.recv().unwrap_or_else(|_| panic!("Prism ended: {lines:?}"));
            lines.push(line);
        }
        lines
    }

    /// Sends a request by hand and gives the status and the text of the answer.
    pub(crate) fn send(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, String) {
        let headers =
            [("authorization", format!("Bearer {TOKEN}")), ("content-type", "application/json".into())];
        let request = Request {
            method: method.to_owned(),
            target: format!("/repos/{NAME}{path}"),
            headers: headers.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            body: body.map(|body| body.to_string().into_bytes()).unwrap_or_default(),
        };
        let answer = forward(&self.address, &request);
        (answer.status, String::from_utf8(answer.body).unwrap())
    }
}

/// Sends a request to an address and gives the answer.
pub(crate) fn forward(address: &str, request: &Request) -> Response {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut head = format!("{} {} HTTP/1.1\r\nhost: {address}\r\n", request.method, request.target);
    let ours = ["host", "connection", "content-length"];
    for (name, value) in request.headers.iter().filter(|(name, _)| !ours.contains(&name.as_str())) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\nconnection: close\r\n\r\n", request.body.len()));
    stream.write_all(&[head.as_bytes(), &request.body].concat()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap().to_ascii_lowercase();
    assert!(head.contains("content-length: ") || end + 4 == answer.len(), "{head}");
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Response::new(status, &answer[end + 4..]).header("content-type", "application/json")
}

impl Drop for Prism {
    fn drop(&mut self) {
        let _already_ended = self.process.kill();
        let _already_ended = self.process.wait();
    }
}
