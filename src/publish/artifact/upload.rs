//! Uploads one artifact: creates it, sends its blocks to the store that the service names, and finalizes it.

use std::io::Read;
use std::time::Duration;

use base64::Engine;
use serde_json::{Value, json};

use super::exchange::{PublishResponse, in_query, send_with_retries, server_message};
use super::{ArtifactError, ArtifactName, RunService};
use qa_contracts::ids::Sha256Hex;
use qa_contracts::secret::Secret;
use qa_run::http::{Http, HttpRequest, Method};

/// Size of a block, which is in memory while it is sent.
const BLOCK_BYTES: usize = if cfg!(test) { 8 << 10 } else { 8 << 20 };
/// Version of the store's protocol.
const STORE_VERSION: &str = "2023-11-03";
const BLOCK_TIMEOUT: Duration = Duration::from_secs(300);
/// Version of the service's protocol, the first with content types.
const PROTOCOL_VERSION: u64 = 7;

/// Content of an upload.
pub(crate) struct Upload<'a> {
    pub(crate) name: &'a ArtifactName,
    /// The archive, from its first byte.
    pub(crate) archive: &'a mut dyn Read,
    pub(crate) bytes: u64,
    pub(crate) sha256: &'a Sha256Hex,
    /// Expiry, as RFC 3339.
    pub(crate) expires_at: Option<String>,
    /// Seed for retry jitter.
    pub(crate) seed: &'a str,
}

/// Outcome of the upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Uploaded {
    pub(crate) id: u64,
    /// True if an earlier attempt uploaded the same bytes.
    pub(crate) already_there: bool,
}

/// Uploads an artifact. A retry after any failure is safe: an existing artifact with the same digest counts as uploaded, and
/// one with another digest is never overwritten.
pub(crate) fn upload(
    http: &dyn Http,
    service: &RunService,
    upload: &mut Upload<'_>,
) -> Result<Uploaded, ArtifactError> {
    let calls = Calls { http, service, name: upload.name, seed: upload.seed, signature: None };
    let url = match calls.create(upload)? {
        Created::At(url) => url,
        Created::Same(id) => return Ok(Uploaded { id, already_there: true }),
    };
    let calls = Calls { signature: signature(&url), ..calls };
    calls.send_blocks(&url, upload)?;
    let id = calls.finalize(upload)?;
    Ok(Uploaded { id, already_there: false })
}

/// Response to the creation of an artifact.
enum Created {
    /// URL that its bytes are sent to.
    At(String),
    /// An artifact of this name with the same bytes.
    Same(u64),
}

/// Properties of a finalized artifact.
struct Present {
    id: u64,
    digest: Option<String>,
}

struct Calls<'a> {
    http: &'a dyn Http,
    service: &'a RunService,
    name: &'a ArtifactName,
    seed: &'a str,
    /// Credential for the store, once it is known.
    signature: Option<Secret>,
}

impl Calls<'_> {
    fn create(&self, upload: &Upload<'_>) -> Result<Created, ArtifactError> {
        const WHAT: &str = "create the artifact";
        let mut body = json!({
            "name": self.name.as_str(), "version": PROTOCOL_VERSION, "mime_type": "application/zip"
        });
        if let Some(expires_at) = &upload.expires_at {
            body["expires_at"] = expires_at.as_str().into();
        }
        let response = self.call(WHAT, "CreateArtifact", body.clone())?;
        if response.reply.status != 409 {
            return self.signed_url(WHAT, &response).map(Created::At);
        }
        match self.find_finalized()? {
            Some(present) if present.digest.as_deref() == Some(&digest_text(upload.sha256)) => {
                Ok(Created::Same(present.id))
            }
            // No artifact of the name is final, and an attempt had no response, so its unfinished artifact is in the way.
            None if response.uncertain => {
                let removed = self.call("remove the unfinished artifact", "DeleteArtifact", json!({"name": self.name.as_str()}))?;
                if !removed.reply.is_success() {
                    return Err(self.taken("an attempt without a response left an unfinished artifact, which could not be removed"));
                }
                let response = self.call(WHAT, "CreateArtifact", body)?;
                match response.reply.status {
                    409 => Err(self.taken("another job or step is uploading it")),
                    _ => self.signed_url(WHAT, &response).map(Created::At),
                }
            }
            None => Err(self.taken("another job or step, or an earlier attempt, began an upload of this name and did not finish it")),
            Some(_) if self.service.run_attempt > 1 => Err(self.taken(
                "an earlier attempt of this run uploaded other contents under this name, and artifacts are never overwritten",
            )),
            Some(_) => Err(self.taken("this run uploaded other contents under this name, and artifacts are never overwritten")),
        }
    }

    fn taken(&self, reason: &str) -> ArtifactError {
        ArtifactError::NameTaken {
            name: qa_core::masking::sanitize_cut(self.name.as_str(), 100),
            reason: reason.to_owned(),
        }
    }

    fn signed_url(&self, what: &'static str, response: &PublishResponse) -> Result<String, ArtifactError> {
        let value = self.accepted(what, response)?;
        let url = member(&value, "signed_upload_url").and_then(Value::as_str).unwrap_or_default();
        let uri: http::Uri = url.parse().map_err(|_| upload_error(what, "the response has no upload URL"))?;
        match (uri.scheme_str(), uri.host(), uri.query()) {
            (Some("https"), Some(_), Some(_)) => Ok(url.to_owned()),
            (Some("http"), Some(host), Some(_)) if super::repository::is_local(host) => Ok(url.to_owned()),
            _ => Err(upload_error(what, "the upload URL is not a signed https URL")),
        }
    }

    /// Returns the newest finalized artifact of this name in this run.
    fn find_finalized(&self) -> Result<Option<Present>, ArtifactError> {
        const WHAT: &str = "find the artifact";
        let response = self.call(WHAT, "ListArtifacts", json!({"name_filter": self.name.as_str()}))?;
        if response.reply.status == 404 {
            return Ok(None);
        }
        let value = match response.reply.is_success().then(|| serde_json::from_slice::<Value>(&response.body))
        {
            Some(Ok(value)) => value,
            _ => return Err(self.refused(WHAT, &response)),
        };
        let listed = value.get("artifacts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let of_name =
            listed.iter().filter(|item| item.get("name").and_then(Value::as_str) == Some(self.name.as_str()));
        let present = of_name.filter_map(|item| {
            let digest = member(item, "digest");
            let digest = digest.and_then(|digest| digest.as_str().or_else(|| digest.get("value")?.as_str()));
            Some(Present { id: number(member(item, "database_id")?)?, digest: digest.map(str::to_owned) })
        });
        Ok(present.max_by_key(|present| present.id))
    }

    fn send_blocks(&self, url: &str, upload: &mut Upload<'_>) -> Result<(), ArtifactError> {
        const WHAT: &str = "send the artifact to the store";
        let mut list = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
        let mut sent = 0;
        for number in 0u32.. {
            let mut block = Vec::new();
            let read = upload.archive.take(BLOCK_BYTES as u64).read_to_end(&mut block);
            read.map_err(|error| ArtifactError::Upload { what: WHAT, reason: error.to_string() })?;
            if block.is_empty() {
                break;
            }
            sent += block.len() as u64;
            // All ids of a blob have to be of one length.
            let id = base64::engine::general_purpose::STANDARD.encode(format!("qa-skill-{number:06}"));
            let query = format!("comp=block&blockid={}", in_query(&id));
            self.put_to_store(WHAT, &format!("{WHAT} {number}"), url, &query, &[], &block)?;
            list.push_str(&format!("<Latest>{id}</Latest>"));
        }
        if sent != upload.bytes {
            let reason = format!("the archive has {sent} bytes instead of {}", upload.bytes);
            return Err(ArtifactError::Upload { what: WHAT, reason });
        }
        list.push_str("</BlockList>");
        let headers = [("x-ms-blob-content-type", "application/zip"), ("content-type", "application/xml")];
        self.put_to_store(
            "join the artifact's blocks",
            "join",
            url,
            "comp=blocklist",
            &headers,
            list.as_bytes(),
        )
    }

    /// Sends a request to the store. The signed URL authorizes it; the store's host gets no token.
    fn put_to_store(
        &self,
        what: &'static str,
        operation: &str,
        url: &str,
        query: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<(), ArtifactError> {
        let response = send_with_retries(self.http, self.seed, operation, &|_| true, || {
            let request =
                HttpRequest::new(Method::Put, format!("{url}&{query}")).header("x-ms-version", STORE_VERSION);
            let mut request =
                headers.iter().fold(request, |request, (name, value)| request.header(name, *value));
            request.timeout = BLOCK_TIMEOUT;
            self.http.fetch(request.body(body.to_vec()))
        });
        let response = response.map_err(|error| ArtifactError::upload(what, error))?;
        // The store answers each write with 201; another 2xx is that of a proxy, which stored nothing.
        if response.reply.status == 201 {
            return Ok(());
        }
        Err(self.refused(what, &response))
    }

    fn finalize(&self, upload: &Upload<'_>) -> Result<u64, ArtifactError> {
        const WHAT: &str = "finalize the artifact";
        let body = json!({
            "name": self.name.as_str(), "size": upload.bytes.to_string(), "hash": digest_text(upload.sha256)
        });
        let response = self.call(WHAT, "FinalizeArtifact", body)?;
        // An attempt without a response may have finalized it; then the next one is refused.
        if response.uncertain
            && !response.reply.is_success()
            && let Some(present) = self.find_finalized()?
            && present.digest.as_deref() == Some(&digest_text(upload.sha256))
        {
            return Ok(present.id);
        }
        let value = self.accepted(WHAT, &response)?;
        member(&value, "artifact_id")
            .and_then(number)
            .ok_or_else(|| upload_error(WHAT, "the response has no id"))
    }

    /// Calls a method of the service, with the ids of run and job.
    fn call(
        &self,
        what: &'static str,
        method: &str,
        mut body: Value,
    ) -> Result<PublishResponse, ArtifactError> {
        let service = self.service;
        body["workflow_run_backend_id"] = service.workflow_run.as_str().into();
        body["workflow_job_run_backend_id"] = service.workflow_job_run.as_str().into();
        let url = format!("{}/twirp/github.actions.results.api.v1.ArtifactService/{method}", service.origin);
        let response = send_with_retries(self.http, self.seed, method, &is_json, || {
            let bearer = Secret::new(&format!("Bearer {}", service.token.expose()));
            let request = HttpRequest::new(Method::Post, url.as_str())
                .header("content-type", "application/json")
                .header("accept", "application/json")
                .authorization(bearer)
                .body(body.to_string().into_bytes());
            self.http.fetch(request)
        });
        response.map_err(|error| ArtifactError::upload(what, error))
    }

    fn accepted(&self, what: &'static str, response: &PublishResponse) -> Result<Value, ArtifactError> {
        let value = serde_json::from_slice::<Value>(&response.body).ok().filter(|value| value["ok"] == true);
        value.filter(|_| response.reply.is_success()).ok_or_else(|| self.refused(what, response))
    }

    fn refused(&self, what: &'static str, response: &PublishResponse) -> ArtifactError {
        let secrets: Vec<&Secret> = self.signature.iter().chain([&self.service.token]).collect();
        ArtifactError::Upload {
            what,
            reason: server_message(&secrets, response.reply.status, &response.body),
        }
    }
}

fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<Value>(body).is_ok()
}

fn upload_error(what: &'static str, reason: &str) -> ArtifactError {
    ArtifactError::Upload { what, reason: reason.to_owned() }
}

fn digest_text(sha256: &Sha256Hex) -> String {
    format!("sha256:{sha256}")
}

/// Returns a member in either spelling: servers send `artifact_id` or `artifactId`.
fn member<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let mut camel = String::new();
    let mut words = name.split('_');
    camel.push_str(words.next().unwrap_or_default());
    words.for_each(|word| {
        camel.push_str(&word[..1].to_ascii_uppercase());
        camel.push_str(&word[1..]);
    });
    value.get(name).or_else(|| value.get(&camel))
}

/// Parses a 64-bit number, which the service writes as text.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Returns the signature of a signed URL, as it is encoded there.
fn signature(url: &str) -> Option<Secret> {
    let query = url.split_once('?')?.1;
    Secret::new(query.split('&').find_map(|pair| pair.strip_prefix("sig="))?)
}

#[cfg(test)]
#[path = "upload_tests.rs"]
mod tests;
