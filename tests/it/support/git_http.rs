//! A repository over HTTP, as git itself serves it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::server::{Request, Response};

/// Name of the repository on the server.
pub(crate) const NAME: &str = "acme/widget";

/// Answers as `git http-backend` does (CGI, RFC 3875).
pub(crate) fn git_answer(project: &Path, request: &Request) -> Response {
    let service = request.path().strip_prefix(&format!("/{NAME}"));
    let Some(service) = service.map(|path| path.strip_prefix(".git").unwrap_or(path)) else {
        return Response::new(404, "no such repository");
    };
    let (_, query) = request.target.split_once('?').unwrap_or_default();
    let mut child = Command::new("git")
        .arg("http-backend")
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("GIT_PROJECT_ROOT", project)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .env("PATH_INFO", service)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", &request.method)
        .env("CONTENT_TYPE", request.header("content-type").unwrap_or(""))
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .env("GIT_PROTOCOL", request.header("git-protocol").unwrap_or(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let body = Arc::new(request.body.clone());
    let writer = std::thread::spawn(move || {
        let _it_may_answer_before_it_has_read_everything = stdin.write_all(&body);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let end = output.stdout.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let mut response = Response::new(200, &output.stdout[end + 4..]);
    for line in String::from_utf8_lossy(&output.stdout[..end]).lines() {
        let (name, value) = line.split_once(": ").unwrap();
        match name {
            "Status" => response.status = value[..3].parse().unwrap(),
            name => response = response.header(name, value),
        }
    }
    response
}
