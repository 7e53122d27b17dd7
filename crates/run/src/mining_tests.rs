//! Reads of a history by mining, counted at the port.

use std::sync::Mutex;

use super::*;
use crate::ports::{ObjectCounters, TreeChange, TreeEntry};
use qa_contracts::v1::{ConventionFamily, Strength};
use qa_core::canonical;

type Tree = BTreeMap<String, String>;

/// A line of commits in memory, oldest first, that notes which blobs are read.
struct Line {
    trees: Vec<Tree>,
    read: Mutex<Vec<String>>,
}

fn commit(number: usize) -> CommitId {
    CommitId::parse(&format!("{number:040x}")).unwrap()
}

fn blob(text: &str) -> BlobId {
    BlobId::parse(&canonical::sha256(text.as_bytes()).as_str()[..40]).unwrap()
}

impl Line {
    fn tree(&self, id: &CommitId) -> &Tree {
        &self.trees[usize::from_str_radix(id.as_str(), 16).unwrap()]
    }
}

impl Objects for Line {
    fn compare(&self, old: &CommitId, new: &CommitId, _: u64) -> Result<Vec<TreeChange>, PortError> {
        let (old, new) = (self.tree(old), self.tree(new));
        let entry = |tree: &Tree, path: &String| {
            tree.get(path).map(|text| TreeEntry { mode: "100644", id: blob(text) })
        };
        let paths = old.keys().chain(new.keys()).collect::<std::collections::BTreeSet<_>>();
        let change = |path: &String| TreeChange {
            path: RepoPath::from_bytes(path.as_bytes()).unwrap(),
            secret: false,
            old: entry(old, path),
            new: entry(new, path),
        };
        Ok(paths.into_iter().map(change).filter(|change| change.old != change.new).collect())
    }

    fn file_at(&self, id: &CommitId, path: &str) -> Result<Option<BlobId>, PortError> {
        Ok(self.tree(id).get(path).map(|text| blob(text)))
    }

    fn is_tracked_at(&self, id: &CommitId, path: &str) -> Result<bool, PortError> {
        Ok(self.tree(id).contains_key(path))
    }

    fn files_in(&self, _: &CommitId, _: &str) -> Result<Vec<(String, BlobId)>, PortError> {
        Ok(Vec::new())
    }

    fn files_at(&self, id: &CommitId, each: &mut dyn FnMut(RepoPath, BlobId)) -> Result<(), PortError> {
        for (path, text) in self.tree(id) {
            each(RepoPath::from_bytes(path.as_bytes()).unwrap(), blob(text));
        }
        Ok(())
    }

    fn reader(&self) -> Result<Box<dyn ObjectReader + '_>, PortError> {
        Ok(Box::new(Reading(self)))
    }

    fn counters(&self) -> ObjectCounters {
        ObjectCounters::default()
    }
}

struct Reading<'a>(&'a Line);

impl ObjectReader for Reading<'_> {
    fn blob(&self, id: &BlobId, _: u64) -> Result<BlobRead, PortError> {
        let text = self.0.trees.iter().flat_map(BTreeMap::values).find(|text| blob(text) == *id).unwrap();
        self.0.read.lock().unwrap().push(text.clone());
        Ok(BlobRead::Content(text.clone().into_bytes()))
    }
}

struct Silent;

impl Progress for Silent {
    fn step(&self, _: &'static str, _: usize, _: usize) {}
}

fn module(name: &str) -> String {
    format!("def {name}(item):\n    return item\n")
}

/// Forty modules of one mind, and the changes merged after them, oldest first, each a file and its new text.
fn line(changes: &[(&str, &str)]) -> Line {
    let first: Tree =
        (0..40).map(|number| (format!("src/item_{number}.py"), module(&format!("read_{number}")))).collect();
    let mut trees = vec![first];
    for (path, text) in changes {
        let mut tree = trees.last().unwrap().clone();
        tree.insert((*path).to_owned(), (*text).to_owned());
        trees.push(tree);
    }
    Line { trees, read: Mutex::default() }
}

fn mine(line: &Line, last: usize) -> Vec<Convention> {
    let history: Vec<(CommitId, CommitId)> =
        (1..=last).rev().map(|number| (commit(number), commit(number - 1))).collect();
    let mining = Mining {
        objects: line,
        commit: &commit(last),
        history: &history,
        scopes: &ScopeGlobs::new(|_| &[]).unwrap(),
        workers: 1,
        cancellation: &Cancellation::default(),
        progress: &Silent,
    };
    mining.mine().unwrap().mined.conventions
}

/// The texts that were read and are not of the last commit, sorted, and how functions are named as tried on the changes.
fn tried(line: &Line) -> (Vec<String>, Convention) {
    let last = line.trees.len() - 1;
    let conventions = mine(line, last);
    let mut of_functions = conventions.into_iter().filter(|one| one.family == ConventionFamily::FunctionName);
    let of_functions = of_functions.find(|one| one.language == "python").unwrap();
    let mut read = line.read.lock().unwrap().clone();
    read.retain(|text| !line.trees[last].values().any(|here| here == text));
    read.sort();
    (read, of_functions)
}

fn dug(line: &Line) -> (Vec<String>, u64) {
    let (read, of_functions) = tried(line);
    (read, of_functions.back_test.broken)
}

#[test]
fn what_was_there_before_a_change_is_read_only_where_something_after_it_breaks_a_convention() {
    let (kept, bent) = (module("read_more"), module("readMore"));
    // The last version of a file is known from the commit itself, and the first from the commit before all changes.
    assert_eq!(dug(&line(&[("src/item_1.py", &kept)])), (vec![module("read_1")], 0));
    // A version in between is read, once.
    let changes = [("src/item_1.py", bent.as_str()), ("src/item_1.py", kept.as_str())];
    assert_eq!(dug(&line(&changes)), (vec![bent, module("read_1")], 1));
}

#[test]
fn what_broke_a_convention_before_a_change_is_not_held_against_it() {
    let bent = module("readMore");
    let (longer, kept) = (format!("{bent}\n\nlimit = 1\n"), module("read_more"));
    let changes: Vec<(&str, &str)> =
        [&bent, &longer, &kept].into_iter().map(|text| ("src/item_1.py", text.as_str())).collect();
    let (_, broken) = dug(&line(&changes));
    assert_eq!(broken, 1);
}

#[test]
fn a_history_is_not_read_for_languages_without_conventions() {
    let changes = [("src/a.go", "package a\n\nfunc A() {}\n"), ("src/a.go", "package a\n\nfunc B() {}\n")];
    assert_eq!(dug(&line(&changes)), (Vec::new(), 0));
}

#[test]
fn a_convention_blocks_where_enough_changes_kept_what_an_earlier_commit_knew() {
    let kept: Vec<String> = (0..10).map(|number| module(&format!("read_more_{number}"))).collect();
    let mut changes: Vec<(&str, &str)> = kept.iter().map(|text| ("src/more.py", text.as_str())).collect();
    let (_, few) = tried(&line(&changes[..4]));
    assert_eq!((few.strength, few.back_test.touched), (Strength::Advise, 4));
    assert_eq!(few.reason, "only 4 of the last 4 merged changes touch it, too few to tell");
    let (_, enough) = tried(&line(&changes));
    assert_eq!(enough.strength, Strength::Block, "{}", enough.reason);
    assert_eq!(enough.back_test.since, Some(commit(0)));
    assert!(enough.reason.starts_with("held in 10 of 10 merged changes that touch it, of 10 since 0000"));

    // The last commit, which was mined with the exception, forgives it; the first does not.
    let bent = module("readMore");
    changes.push(("src/other.py", &bent));
    let (_, broken) = tried(&line(&changes));
    assert_eq!((broken.strength, broken.back_test.broken), (Strength::Advise, 1));
    assert_eq!(broken.reason, "1 of the last 11 merged changes broke it");
}

#[test]
fn a_convention_that_an_earlier_commit_did_not_keep_is_advised() {
    let kept: Vec<(String, String)> = (0..12)
        .map(|number| (format!("src/more_{number}.rs"), format!("fn read_more_{number}() {{}}\n")))
        .collect();
    let changes: Vec<(&str, &str)> = kept.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let world = line(&changes);
    let last = world.trees.len() - 1;
    let mined = mine(&world, last);
    let young = mined.iter().find(|convention| convention.language == "rust").unwrap();
    assert_eq!((young.strength, &young.back_test.since), (Strength::Advise, &None));
    assert_eq!(young.reason, "the code did not keep it before the last 12 merged changes");
}
