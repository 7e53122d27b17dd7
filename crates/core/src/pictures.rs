//! Pictures that tests left: what counts as one, how it stands in a recording, and where in a run.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::canonical;
use qa_contracts::ids::{RepoPath, Sha256Hex};
use qa_contracts::v1::RecordedPicture;

/// The most bytes of a picture.
pub const MAX_PICTURE_BYTES: usize = 2 << 20;
/// The most bytes of all pictures of a run. They stand in a recording and in a page, in base64, which is a third more.
pub const MAX_ALL_BYTES: usize = 8 << 20;
/// The most pictures of a run.
pub const MAX_PICTURES: usize = 20;

/// What a picture is by its first bytes; what a report or a name calls it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Png,
    Jpeg,
}

impl Kind {
    fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if bytes.starts_with(b"\xff\xd8\xff") {
            Some(Self::Jpeg)
        } else {
            None
        }
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Png => ("png", "image/png"),
            Self::Jpeg => ("jpg", "image/jpeg"),
        }
    }
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    kind: Kind,
    pub(crate) sha256: Sha256Hex,
    pub bytes: Vec<u8>,
}

impl Picture {
    /// The picture, or why it is none that is taken.
    pub fn of(bytes: Vec<u8>) -> Result<Self, String> {
        if bytes.len() > MAX_PICTURE_BYTES {
            return Err(format!("it has more than {MAX_PICTURE_BYTES} bytes"));
        }
        let kind = Kind::of(&bytes).ok_or("it is neither PNG nor JPEG")?;
        Ok(Self { kind, sha256: canonical::sha256(&bytes), bytes })
    }

    /// As a recording has it.
    pub fn recorded(&self, path: RepoPath) -> RecordedPicture {
        let data = Some(STANDARD.encode(&self.bytes));
        RecordedPicture { path, sha256: Some(self.sha256.clone()), data, problem: None }
    }

    /// From a recording, or why there is none.
    fn read(recorded: &RecordedPicture) -> Result<Self, String> {
        let Some(data) = &recorded.data else {
            return Err(recorded.problem.clone().unwrap_or_else(|| "it was not recorded".to_owned()));
        };
        let bytes = STANDARD.decode(data).map_err(|error| format!("its recording is damaged: {error}"))?;
        let picture = Self::of(bytes)?;
        if recorded.sha256.as_ref() != Some(&picture.sha256) {
            return Err("its recording has another digest".to_owned());
        }
        Ok(picture)
    }

    /// Where it is in the run directory.
    pub fn file(&self) -> String {
        format!("screenshots/{}.{}", self.sha256, self.kind.names().0)
    }

    /// All of it as an address, so that a page needs no other file.
    pub fn address(&self) -> String {
        format!("data:{};base64,{}", self.kind.names().1, STANDARD.encode(&self.bytes))
    }
}

/// A picture that a report names, with what it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screenshot {
    /// Where the report says that it is.
    pub path: RepoPath,
    /// The test that left it.
    pub test: String,
    /// The steps of features that the test shows, as people say it.
    pub steps: Vec<String>,
    /// The picture, or why it is not here.
    pub picture: Result<Picture, String>,
}

/// The picture of a path among recorded ones.
pub fn find<'a>(
    path: &RepoPath,
    recorded: impl Iterator<Item = &'a RecordedPicture>,
) -> Result<Picture, String> {
    let mut found = Err(format!("a run keeps {MAX_PICTURES} pictures at most"));
    for one in recorded.filter(|one| one.path == *path) {
        found = Picture::read(one);
        if found.is_ok() {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

    fn path() -> RepoPath {
        RepoPath::from_bytes(b"test-results/a.png").unwrap()
    }

    #[test]
    fn a_recorded_picture_is_the_same_picture() {
        for bytes in [PNG, b"\xff\xd8\xff\xe0rest"] {
            let picture = Picture::of(bytes.to_vec()).unwrap();
            let recorded = picture.recorded(path());
            assert_eq!(find(&path(), [&recorded].into_iter()), Ok(picture));
        }
        let picture = Picture::of(PNG.to_vec()).unwrap();
        assert_eq!(picture.address(), "data:image/png;base64,iVBORw0KGgpyZXN0");
        assert_eq!(picture.file(), format!("screenshots/{}.png", canonical::sha256(PNG)));
    }

    #[test]
    fn what_is_no_picture_by_its_bytes_is_none() {
        for bytes in [b"<svg/>".to_vec(), b"GIF89a".to_vec(), b"\x89PNG".to_vec(), Vec::new()] {
            assert!(Picture::of(bytes).unwrap_err().contains("neither"));
        }
        let mut large = PNG.to_vec();
        large.resize(MAX_PICTURE_BYTES + 1, 0);
        assert!(Picture::of(large).unwrap_err().contains("more than"));
    }

    #[test]
    fn a_recording_that_was_edited_shows_nothing() {
        let recorded = Picture::of(PNG.to_vec()).unwrap().recorded(path());
        let edited = [
            RecordedPicture { data: Some("\"><script>".to_owned()), ..recorded.clone() },
            RecordedPicture { data: Some(STANDARD.encode(b"<svg/>")), ..recorded.clone() },
            RecordedPicture { data: Some(STANDARD.encode(b"\xff\xd8\xffother")), ..recorded.clone() },
            RecordedPicture { sha256: None, ..recorded.clone() },
            RecordedPicture { data: None, ..recorded },
        ];
        for edited in &edited {
            assert!(find(&path(), [edited].into_iter()).is_err(), "{edited:?}");
        }
    }
}
