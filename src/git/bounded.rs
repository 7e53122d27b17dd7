//! Bounds the memory that one object takes: its header says kind and size, and is read before its content.
//!
//! An earlier step of a job can put any content under a known id, and a hash can only be computed of what was read.

use std::io::Read;

use git2::{Commit, ObjectType, Odb, OdbObject, Oid, Repository, Tree};

use super::error::GitError;
use super::guard::LooseFile;

/// Size of the largest commit or tag that is read, in bytes.
const MAX_COMMIT_BYTES: u64 = 16 << 20;
/// Size of the largest tree that is read, in bytes: a directory of some 500,000 files.
const MAX_TREE_BYTES: u64 = 32 << 20;
/// Size of the largest blob whose hash is computed, in bytes. GitHub takes files up to 100 MiB.
pub(super) const MAX_BLOB_BYTES: u64 = 512 << 20;
/// Largest factor by which compression makes an object of many kilobytes longer, with room to spare.
const MAX_EXPANSION: u64 = 2;
/// Longest chain of tags that name each other.
const MAX_TAGS: usize = 16;

/// Kind and size that an object claims. The hash does not cover them until the content is read.
pub(super) struct Header {
    pub(super) kind: ObjectType,
    pub(super) bytes: u64,
}

/// Reads the header of an object. An object that claims to be larger than its kind may be is an error.
pub(super) fn read_header(odb: &Odb<'_>, id: Oid) -> Result<Header, GitError> {
    let header = claimed_header(odb, id)?;
    let most = match header.kind {
        ObjectType::Tree => MAX_TREE_BYTES,
        ObjectType::Blob => MAX_BLOB_BYTES,
        ObjectType::Commit | ObjectType::Tag | ObjectType::Any => MAX_COMMIT_BYTES,
    };
    if header.bytes > most {
        let Header { kind, bytes } = header;
        return Err(GitError::ObjectTooLarge { kind, id: id.to_string(), bytes, most });
    }
    Ok(header)
}

/// Reads the header of an object, whatever size it claims.
pub(super) fn claimed_header(odb: &Odb<'_>, id: Oid) -> Result<Header, GitError> {
    if let Some(reason) = crate::faults::object() {
        return Err(GitError::ObjectMissing { id: id.to_string(), reason: reason.to_owned() });
    }
    let (bytes, kind) = odb.read_header(id).map_err(|error| GitError::object(id, &error))?;
    Ok(Header { kind, bytes: bytes as u64 })
}

/// Reads an object.
pub(super) fn read<'a>(odb: &'a Odb<'_>, id: Oid) -> Result<OdbObject<'a>, GitError> {
    read_header(odb, id)?;
    odb.read(id).map_err(|error| GitError::object(id, &error))
}

/// Reads a tree.
pub(super) fn read_tree<'a>(odb: &'a Odb<'_>, id: Oid) -> Result<OdbObject<'a>, GitError> {
    let object = read(odb, id)?;
    if object.kind() == ObjectType::Tree {
        return Ok(object);
    }
    Err(GitError::TreeMalformed { id: id.to_string(), reason: "it is not a tree".to_owned() })
}

/// Finds a tree, as libgit2 parses it.
pub(super) fn find_tree(repository: &Repository, id: Oid) -> Result<Tree<'_>, GitError> {
    read_header(&objects_of(repository)?, id)?;
    repository.find_tree(id).map_err(|error| GitError::object(id, &error))
}

/// Finds a commit.
pub(super) fn find_commit(repository: &Repository, id: Oid) -> Result<Commit<'_>, GitError> {
    read_header(&objects_of(repository)?, id)?;
    repository.find_commit(id).map_err(|error| GitError::object(id, &error))
}

/// Finds the parent of a commit; `None` where the commit has no such parent or it is not here.
pub(super) fn find_parent<'a>(
    repository: &'a Repository,
    commit: &Commit<'_>,
    position: usize,
) -> Option<Commit<'a>> {
    find_commit(repository, commit.parent_id(position).ok()?).ok()
}

/// Finds the commit that an object is or, as an annotated tag, names; `None` where it is or names another kind, or is
/// not here.
pub(super) fn peel_to_commit(repository: &Repository, mut id: Oid) -> Result<Option<Commit<'_>>, GitError> {
    let odb = objects_of(repository)?;
    for _ in 0..MAX_TAGS {
        if !odb.exists(id) {
            return Ok(None);
        }
        match read_header(&odb, id)?.kind {
            ObjectType::Tag => {
                let tag = repository.find_tag(id).map_err(|error| GitError::object(id, &error))?;
                id = tag.target_id();
            }
            ObjectType::Commit => return find_commit(repository, id).map(Some),
            // Read for its hash: another kind may have been planted under the id of a commit.
            ObjectType::Tree | ObjectType::Blob | ObjectType::Any => return read(&odb, id).map(|_| None),
        }
    }
    Ok(None)
}

/// Returns the objects of a repository.
pub(super) fn objects_of(repository: &Repository) -> Result<Odb<'_>, GitError> {
    repository.odb().map_err(|error| GitError::Other(error.message().to_owned()))
}

/// Checks the larger files of loose objects. libgit2 reads the whole of a file, also behind the end of its object, and
/// commits and trees of a history without asking here.
pub(super) fn check_loose(odb: &Odb<'_>, files: &[LooseFile]) -> Result<(), GitError> {
    for file in files {
        // libgit2 also reads a notation of old versions of git, whose header does not bound the content.
        let claimed = claimed_header(odb, file.id).ok().filter(|_| is_zlib(file));
        let Some(claimed) = claimed else {
            return Err(file.refused("it is no object as git writes it".to_owned()));
        };
        // Large blobs may be here. They are refused where they are read.
        if claimed.kind != ObjectType::Blob {
            read_header(odb, file.id)?;
        }
        if file.bytes / MAX_EXPANSION > claimed.bytes {
            return Err(file.refused(format!("its {} bytes hold an object of {}", file.bytes, claimed.bytes)));
        }
    }
    Ok(())
}

/// Returns whether a file begins as zlib's format does.
fn is_zlib(file: &LooseFile) -> bool {
    let mut begin = [0; 2];
    let is_read = std::fs::File::open(&file.path).and_then(|mut file| file.read_exact(&mut begin));
    is_read.is_ok() && begin[0] & 0x8f == 0x08 && u16::from_be_bytes(begin) % 31 == 0
}
