//! Artifacts of a repository's past runs: listed by exact name, verified, and downloaded without the token.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::time::Duration;

use serde::Deserialize;

use super::exchange::{PublishResponse, in_query, send_with_retries, server_message, without_signatures};
use super::{ArtifactError, ArtifactName, MOST_NAMES};
use qa_contracts::ids::Sha256Hex;
use qa_contracts::secret::Secret;
use qa_core::canonical::Hasher;
use qa_core::masking::sanitize_cut;
use qa_run::http::{Http, HttpError, HttpReply, HttpRequest, Method};

const PER_PAGE: usize = 100;
/// Page limit of a listing, which is the newest 5,000 artifacts: all jobs share the token's 1,000 requests per hour.
const MOST_PAGES: usize = 50;
const API_VERSION: &str = "2022-11-28";
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(600);

/// A repository, through the REST API.
pub(crate) struct Repository<'a> {
    pub(crate) http: &'a dyn Http,
    /// Base URL of the REST API, without a slash at its end.
    pub(crate) api: String,
    /// Owner and name.
    pub(crate) name: String,
    pub(crate) token: Option<Secret>,
}

/// An artifact, as the API lists it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ListedArtifact {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) size_in_bytes: u64,
    #[serde(default)]
    pub(crate) expired: bool,
    /// RFC 3339 in UTC; times compare as texts.
    #[serde(default)]
    pub(crate) created_at: Option<String>,
    /// `sha256:` and the digest of the archive.
    #[serde(default)]
    pub(crate) digest: Option<String>,
    #[serde(default)]
    pub(crate) workflow_run: Option<ListedRun>,
}

/// The workflow run of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ListedRun {
    #[serde(default)]
    pub(crate) id: Option<u64>,
    #[serde(default)]
    pub(crate) repository_id: Option<u64>,
    #[serde(default)]
    pub(crate) head_repository_id: Option<u64>,
    #[serde(default)]
    pub(crate) head_sha: Option<String>,
}

impl ListedArtifact {
    /// Returns whether code of another repository may have written it, or its origin is unknown.
    pub(crate) fn is_foreign(&self) -> bool {
        match &self.workflow_run {
            Some(ListedRun { repository_id: Some(repository), head_repository_id: Some(head), .. }) => {
                repository != head
            }
            _ => true,
        }
    }
}

/// Result of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listing {
    /// Newest first.
    pub(crate) artifacts: Vec<ListedArtifact>,
    /// True if the listing was not cut at its limit.
    pub(crate) complete: bool,
}

#[derive(Deserialize)]
pub(super) struct Page {
    pub(super) artifacts: Vec<ListedArtifact>,
}

impl Repository<'_> {
    /// Lists the artifacts of a name since a time, expired and foreign ones included. Includes `NAME-2`, `NAME-3` and so on,
    /// which further jobs of a workflow run use.
    pub(crate) fn list_since(&self, name: &ArtifactName, oldest: &str) -> Result<Listing, ArtifactError> {
        let mut all = self.list(name, oldest)?;
        for ordinal in 2..=MOST_NAMES {
            let more = self.list(&name.ordinal(ordinal), oldest)?;
            if more.artifacts.is_empty() {
                break;
            }
            all.artifacts.extend(more.artifacts);
            all.complete &= more.complete;
        }
        all.artifacts.sort_by_key(|artifact| std::cmp::Reverse(artifact.id));
        Ok(all)
    }

    /// Lists the artifacts of an exact name since a time, and possibly some older ones.
    pub(super) fn list(&self, name: &ArtifactName, oldest: &str) -> Result<Listing, ArtifactError> {
        let mut artifacts: Vec<ListedArtifact> = Vec::new();
        let mut complete = false;
        for page in 1..=MOST_PAGES {
            let name = in_query(name.as_str());
            let route = format!("actions/artifacts?name={name}&per_page={PER_PAGE}&page={page}");
            let found = self.fetch_json::<Page>("list the artifacts", &route)?.artifacts;
            // Sorted by date, newest first, so the artifacts after an old one are older.
            let last_date = found.last().and_then(|artifact| artifact.created_at.as_deref());
            complete = found.len() < PER_PAGE || matches!(last_date, Some(date) if date < oldest);
            artifacts.extend(found);
            if complete {
                break;
            }
        }
        artifacts.retain(|artifact| artifact.name == name.as_str());
        artifacts.sort_by_key(|artifact| std::cmp::Reverse(artifact.id));
        // New artifacts push old ones to the next page during the listing.
        artifacts.dedup_by_key(|artifact| artifact.id);
        Ok(Listing { artifacts, complete })
    }

    /// Downloads an artifact of at most `cap` bytes to an empty file, verifies the listed digest, if there is one, and returns
    /// the digest.
    pub(crate) fn download(
        &self,
        artifact: &ListedArtifact,
        cap: u64,
        to: &mut File,
    ) -> Result<Sha256Hex, ArtifactError> {
        let what = format!("download the artifact {}", artifact.id);
        self.check_name()?;
        if artifact.size_in_bytes > cap {
            return Err(unavailable(&what, format!("it is larger than {cap} bytes")));
        }
        let url = format!("{}/repos/{}/actions/artifacts/{}/zip", self.api, self.name, artifact.id);
        let mut sink = Hashing { file: to, hasher: Hasher::default() };
        // A download URL is valid for a minute, so every attempt requests a new one.
        let response = send_with_retries(self.http, &url, "download", &|_| true, || {
            let (reply, body) = self.http.fetch(self.authorized(&url))?;
            if ![301, 302, 303, 307, 308].contains(&reply.status) {
                return Ok((
                    HttpReply { status: if reply.is_success() { 421 } else { reply.status }, ..reply },
                    body,
                ));
            }
            let Some(place) = reply.header("location").filter(|place| is_secure(place)) else {
                return Ok((HttpReply { status: 421, headers: Vec::new() }, Vec::new()));
            };
            sink.restart()?;
            let mut request = HttpRequest::new(Method::Get, place);
            request.max_response_bytes = cap;
            request.timeout = DOWNLOAD_TIMEOUT;
            let mut reply = self.http.send(request, &mut sink)?;
            reply.headers.retain(|(name, _)| name != "location");
            Ok((reply, Vec::new()))
        });
        let response = response.map_err(|error| ArtifactError::unavailable(&what, error))?;
        match response.reply.status {
            200 => {}
            410 => return Err(unavailable(&what, "it has expired")),
            421 => return Err(unavailable(&what, "the response has no download URL")),
            _ => return Err(self.refused(&what, &response)),
        }
        let sha256 = sink.hasher.finish();
        match &artifact.digest {
            Some(digest) if *digest != format!("sha256:{sha256}") => {
                let listed = sanitize_cut(digest, 100);
                Err(unavailable(&what, format!("its digest is sha256:{sha256}, and {listed} is listed")))
            }
            _ => Ok(sha256),
        }
    }

    pub(super) fn authorized(&self, url: &str) -> HttpRequest {
        let bearer = self.token.as_ref().and_then(|token| Secret::new(&format!("Bearer {}", token.expose())));
        HttpRequest::new(Method::Get, url)
            .header("accept", "application/vnd.github+json")
            .header("x-github-api-version", API_VERSION)
            .authorization(bearer)
    }

    /// Validates the name, which becomes part of URLs that the token is sent to.
    pub(super) fn check_name(&self) -> Result<(), ArtifactError> {
        let parts: Vec<&str> = self.name.split('/').collect();
        if parts.len() == 2 && parts.into_iter().all(is_plain_name) {
            return Ok(());
        }
        let reason = format!("`{}` is not the name of a repository", sanitize_cut(&self.name, 100));
        Err(ArtifactError::Unavailable { what: "find artifacts".to_owned(), reason })
    }

    pub(super) fn refused(&self, what: &str, response: &PublishResponse) -> ArtifactError {
        let secrets: Vec<&Secret> = self.token.iter().collect();
        let mut reason = server_message(&secrets, response.reply.status, &response.body);
        if [401, 403, 404].contains(&response.reply.status) {
            reason.push_str(" (the token needs `actions: read`)");
        }
        ArtifactError::Unavailable { what: what.to_owned(), reason: without_signatures(&reason) }
    }
}

/// Returns whether a URL is encrypted or local.
fn is_secure(place: &str) -> bool {
    let Ok(uri) = place.parse::<http::Uri>() else { return false };
    match (uri.scheme_str(), uri.host()) {
        (Some("https"), Some(_)) => true,
        (Some("http"), Some(host)) => is_local(host),
        _ => false,
    }
}

fn unavailable(what: &str, reason: impl Into<String>) -> ArtifactError {
    ArtifactError::Unavailable { what: what.to_owned(), reason: reason.into() }
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name != "."
        && name != ".."
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// Returns whether a host is this machine, by its reserved names.
pub(super) fn is_local(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost") || host == "[::1]" || host == "127.0.0.1"
}

/// Writes a download to a file and computes its digest.
struct Hashing<'a> {
    file: &'a mut File,
    hasher: Hasher,
}

impl Hashing<'_> {
    fn restart(&mut self) -> Result<(), HttpError> {
        self.hasher = Hasher::default();
        self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0))).map(|_| ()).map_err(|error| {
            HttpError::Sink { host: "the artifact's host".to_owned(), reason: error.to_string() }
        })
    }
}

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write_all(bytes)?;
        self.hasher.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
#[path = "repository_tests.rs"]
mod tests;
