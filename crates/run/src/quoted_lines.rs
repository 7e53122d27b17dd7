//! Reads the lines a finding quotes a second time, from the blob itself or, offline, from the recording.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::gather::Texts;
use super::ports::{BlobRead, Objects};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangedFile, Side};
use qa_core::classify::runs_as_at;
use qa_core::diff::{Content, content};
use qa_core::packet::{Packet, trim_line_end};

/// Lines of blobs. The last blob stays at hand, because findings come file by file.
pub struct BlobLines<'a> {
    objects: &'a dyn Objects,
    files: BTreeMap<&'a RepoPath, &'a ChangedFile>,
    max_bytes: u64,
    last: RefCell<Option<((RepoPath, Side), String)>>,
}

impl<'a> BlobLines<'a> {
    pub fn new(objects: &'a dyn Objects, files: &'a [ChangedFile], max_bytes: u64) -> Self {
        let files = files.iter().map(|file| (&file.path, file)).collect();
        Self { objects, files, max_bytes, last: RefCell::new(None) }
    }

    pub fn lines(&self, path: &RepoPath, side: Side, start: u64, end: u64) -> Option<String> {
        let mut last = self.last.borrow_mut();
        let wanted = (path.clone(), side);
        if last.as_ref().is_none_or(|(held, _)| *held != wanted) {
            *last = Some((wanted, self.read(path, side)?));
        }
        let (_, text) = last.as_ref()?;
        let skip = usize::try_from(start.checked_sub(1)?).ok()?;
        let take = usize::try_from(end.checked_sub(start)? + 1).ok()?;
        let lines: Vec<&str> = text.split_inclusive('\n').skip(skip).take(take).map(trim_line_end).collect();
        (lines.len() == take).then(|| lines.join("\n"))
    }

    fn read(&self, path: &RepoPath, side: Side) -> Option<String> {
        let file = self.files.get(path)?;
        let id = match side {
            Side::Base => file.old_blob.as_ref()?,
            Side::Head => file.new_blob.as_ref()?,
        };
        let BlobRead::Content(bytes) = self.objects.reader().ok()?.blob(id, self.max_bytes).ok()? else {
            return None;
        };
        match content(&bytes, runs_as_at(file, side)) {
            Content::Text(text) => Some(String::from_utf8_lossy(&text).into_owned()),
            Content::Binary => None,
        }
    }
}

/// Lines of recorded hunks.
pub fn recorded_lines(
    files: &[ChangedFile],
    texts: &dyn Texts,
    path: &RepoPath,
    side: Side,
    start: u64,
    end: u64,
) -> Option<String> {
    let position = files.binary_search_by(|file| file.path.cmp(path)).ok()?;
    let text = texts.text(position).ok()?;
    let included = vec![true; files[position].hunks.len()];
    let packet = Packet { file: &files[position], text: &text, included: &included };
    let lines: BTreeMap<u64, &str> = match side {
        Side::Head => packet
            .hunks()
            .flat_map(|hunk| hunk.before().chain(hunk.added()).chain(hunk.after()))
            .map(|line| (line.number, line.text))
            .collect(),
        Side::Base => packet.removed().map(|line| (line.number, line.text)).collect(),
    };
    let count = end.checked_sub(start)? + 1;
    let lines: Vec<&str> = lines.range(start..=end).map(|(_, text)| *text).collect();
    (lines.len() as u64 == count).then(|| lines.join("\n"))
}
