//! Secrets that each name the place they were put, so that a leak says where it comes from.

use super::{Outcome, Random};

/// Length of a piece of a secret that counts as a leak, in characters.
const PIECE: usize = 12;

/// Secrets by the place that each was put.
#[derive(Default)]
pub(crate) struct Canaries(pub(crate) Vec<(String, String)>);

impl Canaries {
    /// A new token in GitHub's format, without the prefix that stays readable.
    pub(crate) fn hatch(&mut self, place: &str) -> String {
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let mut random = Random(0x9e37_79b9 + self.0.len() as u64);
        let drawn = (0..37).map(|_| char::from(letters[random.below(letters.len())]));
        let body: String = drawn.skip(1).collect();
        self.0.push((place.to_owned(), body.clone()));
        format!("ghp_{body}")
    }

    /// A new token behind a prefix that leaves 24 of its characters before a limit of the text's length.
    pub(crate) fn hatch_across(&mut self, place: &str, limit: usize) -> String {
        format!("{} {}", "x".repeat(limit - 25), self.hatch(&format!("{place}, cut at {limit}")))
    }

    /// Says which secrets stand in what was said, whole or in part.
    pub(crate) fn heard_in(&self, said: &Said) -> Vec<String> {
        let mut heard = Vec::new();
        for (name, bytes) in &said.0 {
            let text = String::from_utf8_lossy(bytes);
            let leaks = |body: &String| (0..3).any(|at| text.contains(&body[at * PIECE..(at + 1) * PIECE]));
            let told = self.0.iter().filter(|(_, body)| leaks(body));
            heard.extend(told.map(|(place, _)| format!("the secret of {place} in {name}")));
        }
        heard
    }

    /// Fails if any secret stands in what was said.
    #[track_caller]
    pub(crate) fn assert_silent(&self, said: &Said) {
        let heard = self.heard_in(said);
        assert!(heard.is_empty(), "{heard:#?}");
    }
}

/// Everything that was written, printed or sent, by the name of where it was found.
#[derive(Default)]
pub(crate) struct Said(pub(crate) Vec<(String, Vec<u8>)>);

impl Said {
    pub(crate) fn bytes(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.0.push((name.into(), bytes.into()));
    }

    /// Both streams of a program.
    pub(crate) fn streams(&mut self, name: &str, outcome: &Outcome) {
        self.bytes(format!("standard output of {name}"), outcome.stdout.clone());
        self.bytes(format!("standard error of {name}"), outcome.stderr.clone());
    }

    /// Every file of a run, and the files' names.
    pub(crate) fn run(&mut self, run: &super::RunDir) {
        for name in run.files() {
            self.bytes("the name of an artifact", name.clone());
            self.bytes(name.clone(), run.bytes(&name));
        }
    }
}
