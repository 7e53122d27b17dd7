//! Secrets with the name of their place, so that a leak shows its source.

use super::{Outcome, Random};

/// Length of a piece of a secret that counts as a leak, in characters.
const PIECE: usize = 12;

/// Planted secrets.
#[derive(Default)]
pub(crate) struct Canaries(pub(crate) Vec<Canary>);

pub(crate) struct Canary {
    place: String,
    /// The secret without its readable prefix.
    pub(crate) body: String,
}

impl Canary {
    /// Returns whether a text contains the secret or a third of it.
    fn leaks_in(&self, text: &str) -> bool {
        (0..3).any(|at| text.contains(&self.body[at * PIECE..(at + 1) * PIECE]))
    }
}

impl Canaries {
    /// Returns a new token in GitHub's format.
    pub(crate) fn hatch(&mut self, place: &str) -> String {
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        let mut random = Random(0x9e37_79b9 + self.0.len() as u64);
        let drawn = (0..37).map(|_| char::from(letters[random.below(letters.len())]));
        let body: String = drawn.skip(1).collect();
        self.0.push(Canary { place: place.to_owned(), body: body.clone() });
        format!("ghp_{body}")
    }

    /// Returns a new token after a prefix that leaves 24 of its characters before a length limit.
    pub(crate) fn hatch_across(&mut self, place: &str, limit: usize) -> String {
        format!("{} {}", "x".repeat(limit - 25), self.hatch(&format!("{place}, cut at {limit}")))
    }

    /// Lists the secrets that an output contains, whole or in part.
    pub(crate) fn leaks_in(&self, recorded: &Recorded) -> Vec<String> {
        let mut leaks = Vec::new();
        for RecordedOutput { name, bytes } in &recorded.0 {
            let text = String::from_utf8_lossy(bytes);
            let leaked = self.0.iter().filter(|canary| canary.leaks_in(&text));
            leaks.extend(leaked.map(|canary| format!("the secret of {} in {name}", canary.place)));
        }
        leaks
    }

    /// Fails if an output contains a secret.
    #[track_caller]
    pub(crate) fn assert_no_leak(&self, recorded: &Recorded) {
        let leaks = self.leaks_in(recorded);
        assert!(leaks.is_empty(), "{leaks:#?}");
    }
}

/// Everything that was written, printed or sent.
#[derive(Default)]
pub(crate) struct Recorded(pub(crate) Vec<RecordedOutput>);

pub(crate) struct RecordedOutput {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

impl Recorded {
    pub(crate) fn bytes(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.0.push(RecordedOutput { name: name.into(), bytes: bytes.into() });
    }

    /// Records both streams of a program.
    pub(crate) fn streams(&mut self, name: &str, outcome: &Outcome) {
        self.bytes(format!("standard output of {name}"), outcome.stdout.clone());
        self.bytes(format!("standard error of {name}"), outcome.stderr.clone());
    }

    /// Records every file of a run, and its name.
    pub(crate) fn run(&mut self, run: &super::RunDir) {
        for name in run.files() {
            self.bytes("the name of an artifact", name.clone());
            self.bytes(name.clone(), run.bytes(&name));
        }
    }
}
