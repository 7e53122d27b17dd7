//! Run directories as a stranger sees them: files, JSON and the manifest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A run directory.
pub(crate) struct RunDir(pub(crate) PathBuf);

/// The run directories below an artifact root, without what is hidden.
pub(crate) fn runs_in(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(root.join("runs"))
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir() && !path.file_name().unwrap().to_string_lossy().starts_with('.'))
        .collect();
    found.sort();
    found
}

impl RunDir {
    /// The only run below an artifact root.
    pub(crate) fn only(root: &Path) -> Self {
        let mut runs = runs_in(root);
        assert_eq!(runs.len(), 1, "{runs:?}");
        Self(runs.remove(0))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.bytes(name)).unwrap()
    }

    /// The deterministic digest of each file, by path.
    pub(crate) fn digests(&self) -> BTreeMap<String, String> {
        let hashes = self.json("hashes.json");
        let files = hashes["files"].as_array().unwrap();
        files.iter().map(|file| (text(&file["path"]), text(&file["deterministic"]))).collect()
    }

    pub(crate) fn run_digest(&self) -> String {
        self.json("hashes.json")["runDigest"].as_str().unwrap().to_owned()
    }

    /// The position of a lens among the results.
    pub(crate) fn position(&self, lens: &str) -> usize {
        let results = self.json("lens-results.json");
        let all = results["lensResults"].as_array().unwrap();
        all.iter().position(|result| result["lensId"] == lens).unwrap()
    }

    /// `rule file:line` of every finding of all lenses, in the order of the results.
    pub(crate) fn findings(&self) -> Vec<String> {
        let results = self.json("lens-results.json");
        let all = results["lensResults"].as_array().unwrap();
        let findings = all.iter().flat_map(|result| result["findings"].as_array().unwrap());
        findings
            .map(|finding| {
                format!(
                    "{} {}:{}",
                    finding["ruleId"].as_str().unwrap(),
                    finding["file"].as_str().unwrap(),
                    finding["startLine"]
                )
            })
            .collect()
    }

    /// The changed files by path.
    pub(crate) fn changed(&self) -> BTreeMap<String, Value> {
        let change_set = self.json("change-set.json");
        let files = change_set["files"].as_array().unwrap().clone();
        files.into_iter().map(|file| (file["path"].as_str().unwrap().to_owned(), file)).collect()
    }

    /// Every file below the directory, by relative path.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut pending = vec![self.0.clone()];
        while let Some(directory) = pending.pop() {
            for entry in std::fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    pending.push(path);
                } else {
                    names.push(path.strip_prefix(&self.0).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        names.sort();
        names
    }

    pub(crate) fn verify(&self) -> super::Program {
        super::qa_skill(["verify"]).arg(&self.0)
    }

    /// A copy to be damaged.
    pub(crate) fn copy_to(&self, to: &Path) -> Self {
        copy_tree(&self.0, to);
        Self(to.to_owned())
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Copies a directory with everything below it.
pub(crate) fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy_tree(&entry.path(), &target);
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(entry.path()).unwrap(), target).unwrap();
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
