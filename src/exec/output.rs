//! Captures a command's output: keeps its beginning, counts and hashes all of it.

use std::io::{self, Read};

use qa_core::canonical::Hasher;
use qa_run::commands::{Captured, OUTPUT_FACTOR};

/// Reader of an output pipe or file: keeps the beginning, and counts and hashes all of it.
pub(super) struct Intake<R> {
    /// `None` once it ended.
    pub(super) pipe: Option<R>,
    kept: Vec<u8>,
    most_kept: u64,
    bytes: u64,
    hasher: Hasher,
}

impl<R: Read> Intake<R> {
    pub(super) fn new(pipe: R, most_kept: u64) -> Self {
        Self { pipe: Some(pipe), kept: Vec::new(), most_kept, bytes: 0, hasher: Hasher::default() }
    }

    /// Reads once from a pipe that has data. Returns whether the output exceeds its limit, after which the pipe is closed.
    pub(super) fn take_some(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let Some(pipe) = &mut self.pipe else { return Ok(false) };
        let count = match pipe.read(buffer) {
            Ok(0) => {
                self.pipe = None;
                return Ok(false);
            }
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(false),
            Err(error) => return Err(error),
        };
        let room = self.most_kept.saturating_sub(self.kept.len() as u64).min(count as u64);
        self.kept.extend_from_slice(&buffer[..usize::try_from(room).unwrap_or(count)]);
        self.hasher.update(&buffer[..count]);
        self.bytes += count as u64;
        let is_too_much = self.bytes > self.most_kept.saturating_mul(OUTPUT_FACTOR);
        if is_too_much {
            self.pipe = None;
        }
        Ok(is_too_much)
    }

    pub(super) fn finish(self) -> Captured {
        Captured { kept: self.kept, bytes: self.bytes, sha256: self.hasher.finish() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_core::canonical::sha256;

    #[test]
    fn what_is_beyond_the_limit_is_counted_and_hashed_and_not_kept() {
        let all = b"0123456789".repeat(3);
        let mut intake = Intake::new(&all[..], 4);
        let mut buffer = [0; 7];
        while intake.pipe.is_some() {
            assert!(!intake.take_some(&mut buffer).unwrap());
        }
        assert_eq!(intake.finish(), Captured { kept: b"0123".to_vec(), bytes: 30, sha256: sha256(&all) });
    }

    #[test]
    fn output_many_times_over_its_limit_is_too_much_and_read_no_further() {
        let all = [b'x'; 65];
        let mut intake = Intake::new(&all[..], 4);
        assert!(!intake.take_some(&mut [0; 64]).unwrap());
        assert!(intake.take_some(&mut [0; 64]).unwrap());
        assert!(intake.pipe.is_none());
    }
}
