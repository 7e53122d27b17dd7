//! The origin of a repository over HTTP, as git itself serves it, and the checkouts that a runner makes of it.

use std::path::PathBuf;
use std::rc::Rc;

use git2::Oid;

pub(crate) use super::git_http::{NAME, git_answer};
use super::repo::{Files, Repo, git};
use super::server::Server;

/// Time of the first commit.
const START: i64 = 1_714_000_000;

/// Commits files, `minutes` after the first commit.
fn commit_after(repo: &Repo, files: &Files, parents: &[Oid], minutes: i64) -> Oid {
    repo.commit_at(repo.tree(files), parents, START + minutes * 60)
}

/// A pull request on a main branch that has gone on since.
pub(crate) struct Origin {
    pub(crate) repo: Rc<Repo>,
    /// The pull request's number.
    pub(crate) number: u64,
    /// The ref that its event ran for.
    pub(crate) merge_ref: String,
    pub(crate) base: Oid,
    pub(crate) fork_point: Oid,
    pub(crate) head: Oid,
    pub(crate) merge: Oid,
}

impl Origin {
    /// `main` with seven commits, and a topic of three that was cut off after the second.
    pub(crate) fn with_topic(topic: &Files) -> Self {
        let start = Files::from_texts(&[("src/app.py", "value = 1\n"), ("README.md", "# Widget\n")]);
        Self::from_start(&start, topic)
    }

    /// Like [`Origin::with_topic`], with other files at the beginning.
    pub(crate) fn from_start(start: &Files, topic: &Files) -> Self {
        let repo = Repo::new();
        let root = commit_after(&repo, start, &[], 0);
        let fork_point = commit_after(&repo, &start.clone().with("docs/a.md", "one\n"), &[root], 1);
        let mut base = fork_point;
        for step in 2..7 {
            base = commit_after(
                &repo,
                &start.clone().with("docs/a.md", format!("step {step}\n")),
                &[base],
                step,
            );
        }
        repo.reference("refs/heads/main", base);
        repo.git.set_head("refs/heads/main").unwrap();
        git(&repo.path(), &["config", "uploadpack.allowFilter", "true"]);
        Self::opened(Rc::new(repo), 7, base, fork_point, topic)
    }

    /// A pull request on the tip of `main`, so that its head and its merge have one tree.
    pub(crate) fn up_to_date(topic: &Files) -> Self {
        let Self { repo, base, .. } = Self::with_topic(topic);
        let head = commit_after(&repo, topic, &[base], 40);
        let merge = commit_after(&repo, topic, &[base, head], 41);
        let merge_ref = "refs/pull/8/merge".to_owned();
        repo.reference("refs/pull/8/head", head);
        repo.reference(&merge_ref, merge);
        Self { repo, number: 8, merge_ref, base, fork_point: base, head, merge }
    }

    /// Another pull request of the same origin.
    pub(crate) fn another(&self, number: u64, topic: &Files) -> Self {
        Self::opened(Rc::clone(&self.repo), number, self.base, self.fork_point, topic)
    }

    fn opened(repo: Rc<Repo>, number: u64, base: Oid, fork_point: Oid, topic: &Files) -> Self {
        let mut head = fork_point;
        for step in 0..2 {
            head =
                commit_after(&repo, &topic.clone().with("notes.md", format!("{step}\n")), &[head], 10 + step);
        }
        let head = commit_after(&repo, topic, &[head], 20);
        let merge = commit_after(&repo, &topic.clone().with("docs/a.md", "step 6\n"), &[base, head], 30);
        let merge_ref = format!("refs/pull/{number}/merge");
        repo.reference(&format!("refs/pull/{number}/head"), head);
        repo.reference(&merge_ref, merge);
        Self { repo, number, merge_ref, base, fork_point, head, merge }
    }

    /// Serves it with `git http-backend`.
    pub(crate) fn serve(&self) -> Server {
        let project = self.repo.path().join(".git");
        Server::start(move |request| git_answer(&project, request))
    }

    /// A checkout as actions/checkout leaves it on `pull_request`; 0 fetches all history of all branches.
    pub(crate) fn checkout(&self, server: &Server, depth: u32) -> PathBuf {
        self.checkout_at(self.repo.beside(&format!("checkout-{depth}")), server, depth)
    }

    /// Makes a checkout like [`Origin::checkout`] at a path.
    pub(crate) fn checkout_at(&self, place: PathBuf, server: &Server, depth: u32) -> PathBuf {
        std::fs::create_dir_all(&place).unwrap();
        let url = format!("file://{}", self.repo.path().display());
        let tracked = format!("refs/remotes/pull/{}/merge", self.number);
        let refspec = format!("+{}:{tracked}", self.merge);
        let depth = format!("--depth={depth}");
        git(&place, &["init", "-q"]);
        if depth == "--depth=0" {
            git(&place, &["fetch", "-q", "--no-tags", &url, "+refs/heads/*:refs/remotes/origin/*", &refspec]);
        } else {
            git(&place, &["fetch", "-q", "--no-tags", &depth, &url, &refspec]);
        }
        git(&place, &["remote", "add", "origin", &format!("{}/{NAME}", server.url())]);
        git(&place, &["checkout", "-q", "--detach", &tracked]);
        place
    }
}
