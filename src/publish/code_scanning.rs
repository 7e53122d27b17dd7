//! Uploads a SARIF file to code scanning, compressed and within GitHub's size limit.

use std::io::Write;

use base64::Engine;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Deserialize;
use serde_json::json;

use super::GitHub;
use super::client::Operation;
use super::error::{Permission, PublishError};
use qa_contracts::ids::CommitId;
use qa_run::http::Method;

/// Size limit of a compressed upload at GitHub.
const MAX_PACKED: usize = 10 << 20;

const UPLOAD: Operation =
    Operation { what: "upload SARIF to code scanning", needs: Permission::SecurityEvents };

/// Results to upload, with the commit that they are about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SarifUpload<'a> {
    /// GITHUB_SHA: on a pull request the merge commit.
    pub(crate) commit: &'a CommitId,
    /// A full name such as `refs/pull/7/merge`.
    pub(crate) git_ref: &'a str,
    /// Content of the file.
    pub(crate) sarif: &'a [u8],
    /// Path of the checkout as a `file:` URL.
    pub(crate) checkout_uri: &'a str,
    pub(crate) tool: &'a str,
}

#[derive(Deserialize)]
struct Receipt {
    #[serde(default)]
    id: Option<String>,
}

impl GitHub {
    /// Uploads the file and returns the receipt's id; GitHub processes the file later. An upload replaces an earlier one of
    /// the same commit, tool and category, so it can be retried.
    pub(crate) fn upload_sarif(&self, upload: &SarifUpload<'_>) -> Result<Option<String>, PublishError> {
        let packed = compress(upload.sarif, MAX_PACKED)?;
        let body = json!({
            "commit_sha": upload.commit.as_str(),
            "ref": upload.git_ref,
            "sarif": base64::engine::general_purpose::STANDARD.encode(packed),
            "checkout_uri": upload.checkout_uri,
            "tool_name": upload.tool,
        });
        self.client.with_retries(UPLOAD, || {
            let receipt: Receipt =
                self.client.request_json(UPLOAD, Method::Post, "/code-scanning/sarifs", Some(&body))?;
            Ok(receipt.id)
        })
    }
}

/// Compresses a file. Equal files give equal bytes: the header has neither a time nor a name.
fn compress(bytes: &[u8], limit: usize) -> Result<Vec<u8>, PublishError> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("writing into memory does not fail");
    let packed = encoder.finish().expect("writing into memory does not fail");
    match packed.len() {
        size if size > limit => Err(PublishError::TooLarge { what: UPLOAD.what, bytes: size, limit }),
        _ => Ok(packed),
    }
}

#[cfg(test)]
mod tests {
    use super::compress;

    #[test]
    fn a_file_is_packed_alike_every_time_and_refused_when_it_is_too_large() {
        let file = b"{\"version\":\"2.1.0\"}".repeat(100);
        let bytes = compress(&file, 100).unwrap();
        assert_eq!(Ok(&bytes), compress(&file, bytes.len()).as_ref());
        assert_eq!(bytes[4..8], [0; 4], "the time in the header");
        let error = compress(&file, bytes.len() - 1).unwrap_err();
        assert_eq!(error.code().as_str(), "PUBLISH_REFUSED");
    }
}
