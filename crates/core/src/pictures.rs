//! Screenshots that tests left: the accepted formats and sizes, their form in a recording and their place in a run.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::canonical;
use qa_contracts::ids::{RepoPath, Sha256Hex};
use qa_contracts::v1::RecordedPicture;

/// Maximum size of a picture, in bytes.
pub const MAX_PICTURE_BYTES: usize = 2 << 20;
/// Maximum size of all pictures of a run, in bytes. Base64 in a recording and in a page adds a third.
pub const MAX_ALL_BYTES: usize = 8 << 20;
/// Maximum number of pictures of a run.
pub const MAX_PICTURES: usize = 20;

/// Format of a picture by its first bytes, whatever a report or a file name calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Png,
    Jpeg,
}

impl Kind {
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if bytes.starts_with(b"\xff\xd8\xff") {
            Some(Self::Jpeg)
        } else {
            None
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
        }
    }
}

/// PNG or JPEG image within the size limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    kind: Kind,
    pub(crate) sha256: Sha256Hex,
    pub bytes: Vec<u8>,
}

impl Picture {
    /// Returns the picture, or the reason why it is not accepted.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, String> {
        if bytes.len() > MAX_PICTURE_BYTES {
            return Err(format!("it has more than {MAX_PICTURE_BYTES} bytes"));
        }
        let kind = Kind::from_bytes(&bytes).ok_or("it is neither PNG nor JPEG")?;
        Ok(Self { kind, sha256: canonical::sha256(&bytes), bytes })
    }

    /// Returns the form that a recording has.
    pub fn recorded(&self, path: RepoPath) -> RecordedPicture {
        let data = Some(STANDARD.encode(&self.bytes));
        RecordedPicture { path, sha256: Some(self.sha256.clone()), data, problem: None }
    }

    /// Returns the picture of a recording, or the reason why there is none.
    fn from_recorded(recorded: &RecordedPicture) -> Result<Self, String> {
        let Some(data) = &recorded.data else {
            return Err(recorded.problem.clone().unwrap_or_else(|| "it was not recorded".to_owned()));
        };
        let bytes = STANDARD.decode(data).map_err(|error| format!("its recording is damaged: {error}"))?;
        let picture = Self::from_bytes(bytes)?;
        if recorded.sha256.as_ref() != Some(&picture.sha256) {
            return Err("its recording has another digest".to_owned());
        }
        Ok(picture)
    }

    /// Returns the path in the run directory.
    pub fn file(&self) -> String {
        format!("screenshots/{}.{}", self.sha256, self.kind.extension())
    }

    /// Returns the picture as a `data:` URL, so that a page needs no other file.
    pub fn address(&self) -> String {
        format!("data:{};base64,{}", self.kind.media_type(), STANDARD.encode(&self.bytes))
    }
}

/// A picture that a report lists, with its test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screenshot {
    /// Path in the report.
    pub path: RepoPath,
    /// Test that left it.
    pub test: String,
    /// Steps of features that the test proves, in words.
    pub steps: Vec<String>,
    /// The picture, or the reason why it is missing.
    pub picture: Result<Picture, String>,
}

/// Returns the picture of a path among recorded ones.
pub fn find<'a>(
    path: &RepoPath,
    recorded: impl Iterator<Item = &'a RecordedPicture>,
) -> Result<Picture, String> {
    let mut found = Err(format!("a run keeps {MAX_PICTURES} pictures at most"));
    for one in recorded.filter(|one| one.path == *path) {
        found = Picture::from_recorded(one);
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
            let picture = Picture::from_bytes(bytes.to_vec()).unwrap();
            let recorded = picture.recorded(path());
            assert_eq!(find(&path(), [&recorded].into_iter()), Ok(picture));
        }
        let picture = Picture::from_bytes(PNG.to_vec()).unwrap();
        assert_eq!(picture.address(), "data:image/png;base64,iVBORw0KGgpyZXN0");
        assert_eq!(picture.file(), format!("screenshots/{}.png", canonical::sha256(PNG)));
    }

    #[test]
    fn what_is_no_picture_by_its_bytes_is_none() {
        for bytes in [b"<svg/>".to_vec(), b"GIF89a".to_vec(), b"\x89PNG".to_vec(), Vec::new()] {
            assert!(Picture::from_bytes(bytes).unwrap_err().contains("neither"));
        }
        let mut large = PNG.to_vec();
        large.resize(MAX_PICTURE_BYTES + 1, 0);
        assert!(Picture::from_bytes(large).unwrap_err().contains("more than"));
    }

    #[test]
    fn a_recording_that_was_edited_shows_nothing() {
        let recorded = Picture::from_bytes(PNG.to_vec()).unwrap().recorded(path());
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
