//! Builds repositories from raw objects, so that they may hold what git itself refuses.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use git2::{ObjectType, Oid, Repository};

/// Default time of a commit: 2024-05-01 12:00 UTC.
const TIME: i64 = 1_714_564_800;

/// Files of `.git` that are read in every run, with the refs of [`change`].
pub(crate) const GIT_FILES: [&str; 9] = [
    "HEAD",
    "config",
    "commondir",
    "packed-refs",
    "shallow",
    "info/grafts",
    "objects/info/alternates",
    "refs/heads/main",
    "refs/heads/topic",
];

/// A repository in a directory of its own.
pub(crate) struct Repo {
    home: tempfile::TempDir,
    pub(crate) git: Repository,
}

/// The files of a tree: path to mode and object.
#[derive(Clone, Default)]
pub(crate) struct Files(BTreeMap<Vec<u8>, (&'static str, Content)>);

/// An entry of a tree.
struct Entry<'a> {
    mode: &'a str,
    name: &'a [u8],
    id: Oid,
}

#[derive(Clone)]
enum Content {
    Bytes(Vec<u8>),
    Object(Oid),
}

impl Files {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn from_texts(files: &[(&str, &str)]) -> Self {
        files.iter().fold(Self::new(), |all, (path, text)| all.with(path, text))
    }

    pub(crate) fn with(self, path: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) -> Self {
        self.mode("100644", path, bytes)
    }

    pub(crate) fn mode(
        mut self,
        mode: &'static str,
        path: impl AsRef<[u8]>,
        bytes: impl AsRef<[u8]>,
    ) -> Self {
        self.0.insert(path.as_ref().to_vec(), (mode, Content::Bytes(bytes.as_ref().to_vec())));
        self
    }

    pub(crate) fn object(mut self, mode: &'static str, path: impl AsRef<[u8]>, id: Oid) -> Self {
        self.0.insert(path.as_ref().to_vec(), (mode, Content::Object(id)));
        self
    }

    pub(crate) fn without(mut self, path: &str) -> Self {
        self.0.remove(path.as_bytes());
        self
    }
}

impl Drop for Repo {
    fn drop(&mut self) {
        super::kept::keep_documents(self.home.path());
    }
}

impl Repo {
    /// An empty repository with a checkout, nothing checked out.
    pub(crate) fn new() -> Self {
        let home = super::temp();
        let mut options = git2::RepositoryInitOptions::new();
        options.initial_head("topic");
        let git = Repository::init_opts(home.path().join("repo"), &options).unwrap();
        Self { home, git }
    }

    /// The checkout.
    pub(crate) fn path(&self) -> PathBuf {
        self.home.path().join("repo")
    }

    /// A path beside the checkout that goes away with it.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn blob(&self, bytes: &[u8]) -> Oid {
        self.write(ObjectType::Blob, bytes)
    }

    /// Any object, whatever its bytes are.
    pub(crate) fn write(&self, kind: ObjectType, bytes: &[u8]) -> Oid {
        self.git.odb().unwrap().write(kind, bytes).unwrap()
    }

    /// A tree of exactly these entries in exactly this order.
    pub(crate) fn raw_tree<'a>(&self, entries: impl IntoIterator<Item = (&'a str, &'a [u8], Oid)>) -> Oid {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend_from_slice(mode.as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(name);
            bytes.push(0);
            bytes.extend_from_slice(id.as_bytes());
        }
        self.write(ObjectType::Tree, &bytes)
    }

    /// A well-formed tree.
    pub(crate) fn tree(&self, files: &Files) -> Oid {
        let mut directories: BTreeMap<&[u8], Files> = BTreeMap::new();
        // By git's sort key: the name of a directory counts with a slash.
        let mut entries: BTreeMap<Vec<u8>, Entry<'_>> = BTreeMap::new();
        for (path, (mode, content)) in &files.0 {
            match path.iter().position(|&byte| byte == b'/') {
                Some(slash) => {
                    let inside = directories.entry(&path[..slash]).or_default();
                    inside.0.insert(path[slash + 1..].to_vec(), (mode, content.clone()));
                }
                None => {
                    let id = match content {
                        Content::Bytes(bytes) => self.blob(bytes),
                        Content::Object(id) => *id,
                    };
                    entries.insert(path.clone(), Entry { mode, name: path, id });
                }
            }
        }
        for (name, inside) in &directories {
            let entry = Entry { mode: "40000", name, id: self.tree(inside) };
            entries.insert([name, b"/".as_slice()].concat(), entry);
        }
        self.raw_tree(entries.values().map(|entry| (entry.mode, entry.name, entry.id)))
    }

    /// Returns the last commit of a branch.
    pub(crate) fn tip(&self, branch: &str) -> Oid {
        self.git.refname_to_id(&format!("refs/heads/{branch}")).unwrap()
    }

    pub(crate) fn tree_at_tip(&self, branch: &str) -> Oid {
        self.git.find_commit(self.tip(branch)).unwrap().tree_id()
    }

    pub(crate) fn blob_at_tip(&self, branch: &str, path: &str) -> Oid {
        let tree = self.git.find_tree(self.tree_at_tip(branch)).unwrap();
        tree.get_path(Path::new(path)).unwrap().id()
    }

    pub(crate) fn commit(&self, tree: Oid, parents: &[Oid]) -> Oid {
        self.commit_at(tree, parents, TIME)
    }

    pub(crate) fn commit_at(&self, tree: Oid, parents: &[Oid], time: i64) -> Oid {
        self.write_commit(tree, parents, time, "A commit")
    }

    /// A commit with a message of its own.
    pub(crate) fn commit_saying(&self, message: &str, tree: Oid, parents: &[Oid]) -> Oid {
        self.write_commit(tree, parents, TIME, message)
    }

    fn write_commit(&self, tree: Oid, parents: &[Oid], time: i64, message: &str) -> Oid {
        let parents: String = parents.iter().map(|parent| format!("parent {parent}\n")).collect();
        let who = format!("A U Thor <a@example.com> {time} +0000");
        let text = format!("tree {tree}\n{parents}author {who}\ncommitter {who}\n\n{message}\n");
        self.write(ObjectType::Commit, text.as_bytes())
    }

    pub(crate) fn reference(&self, name: &str, id: Oid) {
        self.git.reference(name, id, true, "set").unwrap();
    }

    /// Sets `main` and `topic` to a commit of the one tree and, on top of it, a commit of the other.
    pub(crate) fn change_trees(&self, base: Oid, head: Oid) -> (Oid, Oid) {
        let base = self.commit(base, &[]);
        let head = self.commit(head, &[base]);
        self.reference("refs/heads/main", base);
        self.reference("refs/heads/topic", head);
        (base, head)
    }

    /// Sets `main` and `topic` like [`Repo::change_trees`], from files.
    pub(crate) fn change(&self, base: &Files, head: &Files) -> (Oid, Oid) {
        self.change_trees(self.tree(base), self.tree(head))
    }

    /// A request to judge `topic` against `main`, with the artifact root beside the checkout.
    pub(crate) fn judge(&self) -> super::Program {
        let out = self.beside("out");
        super::qa_skill(["run", "--base", "main", "--head", "topic"])
            .arg("--repo")
            .arg(self.path())
            .arg("--out")
            .arg(out)
    }

    /// The one run of [`Repo::judge`].
    pub(crate) fn run_dir(&self) -> super::RunDir {
        super::RunDir::only(&self.beside("out"))
    }
}

/// A repository whose `topic` changes `main` from the one set of files to the other.
pub(crate) fn change(base: &[(&str, &str)], head: &[(&str, &str)]) -> Repo {
    let repo = Repo::new();
    repo.change(&Files::from_texts(base), &Files::from_texts(head));
    repo
}

/// Runs the git command line for ordinary fixtures: clones, packs, worktrees.
pub(crate) fn git(directory: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .current_dir(directory)
        .args(["-c", "protocol.file.allow=always", "-c", "gc.auto=0", "-c", "maintenance.auto=false"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
