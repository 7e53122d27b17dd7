//! Uploads one artifact: announced, sent in blocks to the store the service names, and made final with its digest.

use std::io::Read;
use std::time::Duration;

use base64::Engine;
use serde_json::{Value, json};

use super::exchange::{PublishResponse, ask, in_query, server_message};
use super::{ArtifactError, ArtifactName, RunService};
use qa_contracts::ids::Sha256Hex;
use qa_contracts::secret::Secret;
use qa_run::http::{Http, HttpRequest, Method};

/// A block is in memory while it is sent.
const BLOCK_BYTES: usize = if cfg!(test) { 8 << 10 } else { 8 << 20 };
/// A version of the store's protocol that all of it understands.
const STORE_VERSION: &str = "2023-11-03";
const BLOCK_TIMEOUT: Duration = Duration::from_secs(300);
/// Protocol version sent to the service, which has content types.
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
    /// Makes the waits of this run its own.
    pub(crate) seed: &'a str,
}

/// Outcome of the upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Uploaded {
    pub(crate) id: u64,
    /// The same bytes were there already, from an earlier try.
    pub(crate) already_there: bool,
}

/// Uploads an artifact. Trying again after any failure is safe: what is there with the same digest counts as uploaded,
/// what is there with another is never overwritten.
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

/// Response to the announcement of an artifact.
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
        const WHAT: &str = "announce the artifact";
        let mut body = json!({
            "name": self.name.text(), "version": PROTOCOL_VERSION, "mime_type": "application/zip"
        });
        if let Some(expires_at) = &upload.expires_at {
            body["expires_at"] = expires_at.as_str().into();
        }
        let response = self.call(WHAT, "CreateArtifact", body.clone())?;
        if response.reply.status != 409 {
            return self.signed_url(WHAT, &response).map(Created::At);
        }
        match self.find()? {
            Some(present) if present.digest.as_deref() == Some(&digest_text(upload.sha256)) => {
                Ok(Created::Same(present.id))
            }
            // Nothing of the name is final, and a try of ours had no answer: what is in the way is what it left.
            None if response.uncertain => {
                let removed = self.call("remove the unfinished artifact", "DeleteArtifact", json!({"name": self.name.text()}))?;
                if !removed.reply.is_success() {
                    return Err(self.taken("an announcement of ours had no answer, and what it left could not be removed"));
                }
                let response = self.call(WHAT, "CreateArtifact", body)?;
                match response.reply.status {
                    409 => Err(self.taken("it is being uploaded by another job or step")),
                    _ => self.signed_url(WHAT, &response).map(Created::At),
                }
            }
            None => Err(self.taken("an upload of this name was begun by another job or step, or by an earlier try that was ended, and is not finished")),
            Some(_) if self.service.run_attempt > 1 => Err(self.taken(
                "this run has one of this name with other contents; artifacts of earlier attempts stay and are never overwritten",
            )),
            Some(_) => Err(self.taken("this run has one of this name with other contents, and artifacts are never overwritten")),
        }
    }

    fn taken(&self, reason: &str) -> ArtifactError {
        ArtifactError::NameTaken {
            name: qa_core::masking::sanitize_cut(self.name.text(), 100),
            reason: reason.to_owned(),
        }
    }

    fn signed_url(&self, what: &'static str, response: &PublishResponse) -> Result<String, ArtifactError> {
        let value = self.accepted(what, response)?;
        let url = member(&value, "signed_upload_url").and_then(Value::as_str).unwrap_or_default();
        let wrong = |reason: &str| ArtifactError::Upload { what, reason: reason.to_owned() };
        let uri: http::Uri = url.parse().map_err(|_| wrong("the service named no address to upload to"))?;
        match (uri.scheme_str(), uri.host(), uri.query()) {
            (Some("https"), Some(_), Some(_)) => Ok(url.to_owned()),
            (Some("http"), Some(host), Some(_)) if super::repository::is_local(host) => Ok(url.to_owned()),
            _ => Err(wrong("the service named no signed https address to upload to")),
        }
    }

    /// The artifact of this name that is final in this run, the newest of several.
    fn find(&self) -> Result<Option<Present>, ArtifactError> {
        const WHAT: &str = "look for the artifact";
        let response = self.call(WHAT, "ListArtifacts", json!({"name_filter": self.name.text()}))?;
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
            listed.iter().filter(|item| item.get("name").and_then(Value::as_str) == Some(self.name.text()));
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
            self.put(WHAT, &format!("{WHAT} {number}"), url, &query, &[], &block)?;
            list.push_str(&format!("<Latest>{id}</Latest>"));
        }
        if sent != upload.bytes {
            let reason = format!("the archive has {sent} bytes and not {}", upload.bytes);
            return Err(ArtifactError::Upload { what: WHAT, reason });
        }
        list.push_str("</BlockList>");
        let headers = [("x-ms-blob-content-type", "application/zip"), ("content-type", "application/xml")];
        self.put("join the artifact's blocks", "join", url, "comp=blocklist", &headers, list.as_bytes())
    }

    /// One request to the store. It is of another host, so it gets no token: the address itself is the permission.
    fn put(
        &self,
        what: &'static str,
        operation: &str,
        url: &str,
        query: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<(), ArtifactError> {
        let response = ask(self.http, self.seed, operation, &|_| true, || {
            let request =
                HttpRequest::new(Method::Put, format!("{url}&{query}")).header("x-ms-version", STORE_VERSION);
            let mut request =
                headers.iter().fold(request, |request, (name, value)| request.header(name, *value));
            request.timeout = BLOCK_TIMEOUT;
            self.http.fetch(request.body(body.to_vec()))
        });
        let response = response.map_err(|error| ArtifactError::upload(what, error))?;
        if response.reply.is_success() {
            return Ok(());
        }
        Err(self.refused(what, &response))
    }

    fn finalize(&self, upload: &Upload<'_>) -> Result<u64, ArtifactError> {
        const WHAT: &str = "make the artifact final";
        let body = json!({
            "name": self.name.text(), "size": upload.bytes.to_string(), "hash": digest_text(upload.sha256)
        });
        let response = self.call(WHAT, "FinalizeArtifact", body)?;
        // A try whose answer was lost may have done it, and then the next one is refused.
        if response.uncertain
            && !response.reply.is_success()
            && let Some(present) = self.find()?
            && present.digest.as_deref() == Some(&digest_text(upload.sha256))
        {
            return Ok(present.id);
        }
        let value = self.accepted(WHAT, &response)?;
        member(&value, "artifact_id")
            .and_then(number)
            .ok_or_else(|| ArtifactError::Upload { what: WHAT, reason: "the service gave no id".to_owned() })
    }

    /// One call of the service, with the ids of run and job in it.
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
        let is_json = |body: &[u8]| serde_json::from_slice::<Value>(body).is_ok();
        let response = ask(self.http, self.seed, method, &is_json, || {
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

fn digest_text(sha256: &Sha256Hex) -> String {
    format!("sha256:{sha256}")
}

/// A member in either spelling: servers answer `artifact_id` or `artifactId`.
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

/// A 64-bit number, which JSON of this kind writes as text.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// The signature of a signed address as it stands there.
fn signature(url: &str) -> Option<Secret> {
    let query = url.split_once('?')?.1;
    Secret::new(query.split('&').find_map(|pair| pair.strip_prefix("sig="))?)
}

#[cfg(test)]
#[path = "upload_tests.rs"]
mod tests;
