//! Replies of models in earlier runs, one file for each request. Each is sealed with the provider's key, since others with
//! write access could forge a reply.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::StoreError;
use super::root::{ignored_directory, own_directory};
use qa_contracts::ids::Sha256Hex;
use qa_contracts::secret::Secret;
use qa_contracts::v1::{RecordedReply, ReviewedHunk};
use qa_core::canonical;
use qa_core::seal::seal;
use qa_run::reviews::ReplyStore;

/// Size limit of a stored file, in bytes; a larger one is ignored.
const MOST_BYTES: u64 = 8 << 20;

/// A directory of replies.
pub(crate) struct Replies {
    directory: PathBuf,
    /// Locked while the cost of a pull request is updated.
    spending: Mutex<()>,
}

/// Cost of a pull request.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Spent {
    pull_request: u64,
    micro_usd: u64,
}

/// Content of a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed<T> {
    #[serde(rename = "kept")]
    value: T,
    seal: Sha256Hex,
}

impl Replies {
    /// Opens the replies below an artifact root.
    pub(crate) fn below(root: &Path) -> Result<Self, StoreError> {
        let directory = root.join("replies");
        own_directory(root)?;
        ignored_directory(&directory)?;
        Ok(Self { directory, spending: Mutex::new(()) })
    }

    fn path(&self, request: &Sha256Hex, sample: u64) -> PathBuf {
        self.directory.join(format!("{request}-{sample}.json"))
    }

    fn path_of_hunk(&self, context: &Sha256Hex, hunk: &Sha256Hex) -> PathBuf {
        self.directory.join(format!("{}-{hunk}.hunk.json", context.short()))
    }

    fn path_of_spending(&self, pull_request: u64, key: &Secret) -> Option<PathBuf> {
        // The seal of a constant identifies the key without revealing it.
        let key_id = seal("spent", key).ok()?;
        Some(self.directory.join(format!("{pull_request}-{}.spent.json", key_id.short())))
    }

    /// Writes a sealed value atomically.
    fn write<T: Serialize>(&self, path: &Path, value: T, key: &Secret) -> Result<(), StoreError> {
        self.try_write(path, value, key).map_err(|error| StoreError::not_written(path, error))
    }

    fn try_write<T: Serialize>(&self, path: &Path, value: T, key: &Secret) -> std::io::Result<()> {
        let sealed = Sealed { seal: seal(&value, key).map_err(std::io::Error::other)?, value };
        let bytes = canonical::to_vec(&sealed).map_err(std::io::Error::other)?;
        let mut staged = tempfile::Builder::new().prefix(".tmp-").tempfile_in(&self.directory)?;
        staged.write_all(&bytes)?;
        staged.persist(path)?;
        Ok(())
    }

    /// Reads a value that was sealed with a key, or with any key if `key` is `None`.
    fn read_sealed<T: Serialize + DeserializeOwned>(path: &Path, key: Option<&Secret>) -> Option<T> {
        let metadata = fs::symlink_metadata(path).ok()?;
        if !metadata.is_file() || metadata.len() > MOST_BYTES {
            return None;
        }
        let Sealed { value, seal: expected } = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        if let Some(key) = key
            && seal(&value, key).ok()? != expected
        {
            return None;
        }
        Some(value)
    }
}

impl ReplyStore for Replies {
    fn reply(&self, request: &Sha256Hex, sample: u64, key: Option<&Secret>) -> Option<RecordedReply> {
        let reply: RecordedReply = Self::read_sealed(&self.path(request, sample), key)?;
        (reply.request_hash == *request && reply.sample == sample).then_some(reply)
    }

    fn save_reply(&self, reply: &RecordedReply, key: &Secret) {
        let path = self.path(&reply.request_hash, reply.sample);
        let _requested_again_next_time = self.write(&path, reply, key);
    }

    fn hunk(&self, context: &Sha256Hex, hunk: &Sha256Hex, key: Option<&Secret>) -> Option<ReviewedHunk> {
        let stored: ReviewedHunk = Self::read_sealed(&self.path_of_hunk(context, hunk), key)?;
        (stored.context == *context && stored.findings.hunk == *hunk).then_some(stored)
    }

    fn spent(&self, pull_request: u64, key: &Secret) -> u64 {
        let Some(path) = self.path_of_spending(pull_request, key) else { return 0 };
        match Self::read_sealed::<Spent>(&path, Some(key)) {
            Some(spent) if spent.pull_request == pull_request => spent.micro_usd,
            Some(_) | None => 0,
        }
    }

    fn add_spent(&self, pull_request: u64, micro_usd: u64, key: &Secret) {
        let _held = self.spending.lock();
        let micro_usd = self.spent(pull_request, key).saturating_add(micro_usd);
        if let Some(path) = self.path_of_spending(pull_request, key) {
            let _counted_in_this_run_only = self.write(&path, Spent { pull_request, micro_usd }, key);
        }
    }

    fn save_hunk(&self, stored: &ReviewedHunk, key: &Secret) {
        let path = self.path_of_hunk(&stored.context, &stored.findings.hunk);
        let _found_again_next_time = self.write(&path, stored, key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_contracts::v1::Surface;

    #[test]
    fn a_reply_is_found_by_whoever_has_the_key_it_was_kept_with() {
        let root = tempfile::tempdir().unwrap();
        let replies = Replies::below(root.path()).unwrap();
        let (key, other) = (Secret::new("one").unwrap(), Secret::new("two").unwrap());
        let hash = canonical::sha256(b"request");
        let reply = RecordedReply {
            request_hash: hash.clone(),
            sample: 1,
            surface: Surface::OpenaiChat,
            request_body_sha256: canonical::sha256(b"body"),
            attempts: Vec::new(),
            response: None,
            code: None,
            problem: Some("said".to_owned()),
        };
        assert_eq!(replies.reply(&hash, 1, Some(&key)), None);
        replies.save_reply(&reply, &key);
        assert_eq!(replies.reply(&hash, 1, Some(&key)), Some(reply.clone()));
        assert_eq!(replies.reply(&hash, 1, Some(&other)), None);
        assert_eq!(replies.reply(&hash, 1, None), Some(reply.clone()));
        assert_eq!(replies.reply(&hash, 2, None), None);
        let path = replies.path(&hash, 1);
        let planted = fs::read_to_string(&path).unwrap().replace("said", "fine");
        fs::write(&path, planted).unwrap();
        assert_eq!(replies.reply(&hash, 1, Some(&key)), None, "what was changed is not its owner's");
    }
}
