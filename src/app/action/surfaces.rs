//! Messages of a step to the runner: outputs, the job summary, and text that cannot hold commands.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::Path;

use crate::app::console;
use crate::app::exit::Failure;
use qa_contracts::codes::Code;
use qa_core::escape::{visible, workflow_message, workflow_property};
use qa_core::secrets;

/// GitHub drops a job summary over 1 MiB whole; other steps write into theirs, so this is the bound of one.
const MAX_SUMMARY_BYTES: u64 = 1_048_576;

/// The files of the runner; a path that is not set has nobody who reads it.
pub(crate) struct Runner {
    output: String,
    summary: String,
}

impl Runner {
    pub(crate) fn new(output: &str, summary: &str) -> Self {
        Self { output: output.to_owned(), summary: summary.to_owned() }
    }

    /// Sets outputs. Values have no line breaks: they are ids, words, counts and paths we made.
    pub(crate) fn outputs(&self, values: &[(&str, String)]) -> Result<(), Failure> {
        let mut text = String::new();
        for (name, value) in values {
            text.push_str(&format!("{name}={}\n", visible(value)));
        }
        append(&self.output, text.as_bytes())
    }

    /// Adds to the job summary, unless that would make GitHub drop all of it.
    pub(crate) fn summary(&self, markdown: &[u8]) -> Result<(), Failure> {
        let there = std::fs::metadata(&self.summary).map_or(0, |metadata| metadata.len());
        if there + markdown.len() as u64 >= MAX_SUMMARY_BYTES {
            return append(&self.summary, b"\nThe summary would be over 1 MiB; it is in the run artifact.\n");
        }
        append(&self.summary, markdown)
    }
}

fn append(path: &str, bytes: &[u8]) -> Result<(), Failure> {
    if path.is_empty() {
        return Ok(());
    }
    let written = OpenOptions::new().append(true).create(true).open(Path::new(path));
    written.and_then(|mut file| file.write_all(bytes)).map_err(|error| {
        let path = qa_core::escape::visible(path);
        Failure::with_code(Code::ArtifactWriteFailed, format!("failed to write {path}: {error}"))
    })
}

/// Prints text that may quote the change. The runner reads commands out of what a step prints, some of them anywhere in
/// a line, so it is told to stop for as long as this lasts, by a word nobody can guess.
pub(crate) fn print_quoting(text: &[u8]) -> Result<(), Failure> {
    let word = unguessable()?;
    let mut out = format!("::stop-commands::{word}\n").into_bytes();
    out.extend_from_slice(text);
    out.extend_from_slice(format!("\n::{word}::\n").as_bytes());
    console::write_stdout(&out)
}

fn unguessable() -> Result<String, Failure> {
    let mut bytes = [0u8; 16];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    read.map_err(|error| {
        Failure::with_code(Code::InternalError, format!("failed to read random bytes: {error}"))
    })?;
    Ok(format!("qa-skill-{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}

/// An annotation without a place.
pub(crate) fn annotate(kind: &str, title: &str, text: &str) {
    let text = workflow_message(&secrets::masked(text.to_owned()));
    let command = format!("::{kind} title={}::{text}\n", workflow_property(title));
    let _nobody_listens = console::write_stdout(command.as_bytes());
}
