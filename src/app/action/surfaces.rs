//! Outputs, job summary and annotations of a step, and printed text that the runner takes no commands from.

use std::fs::OpenOptions;
use std::io::Read;
use std::path::Path;

use crate::app::console;
use crate::app::exit::Failure;
use crate::faults;
use qa_contracts::codes::Code;
use qa_core::escape::{visible, workflow_message, workflow_property};
use qa_core::secrets;

/// Size limit of a step's job summary: GitHub drops a larger one as a whole.
const MAX_SUMMARY_BYTES: u64 = 1_048_576;

/// The runner's files for outputs and the job summary. Writes to an empty path are dropped.
pub(crate) struct Runner {
    output: String,
    summary: String,
}

/// Outputs of a step, as lines of the runner's file.
#[derive(Default)]
pub(crate) struct Outputs {
    lines: String,
}

impl Outputs {
    /// Sets an output. Values are ids, words, counts and paths; a line break in one is escaped.
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.lines.push_str(&format!("{name}={}\n", visible(value)));
        self
    }
}

impl Runner {
    pub(crate) fn new(output: &str, summary: &str) -> Self {
        Self { output: output.to_owned(), summary: summary.to_owned() }
    }

    /// Writes outputs of the step.
    pub(crate) fn write_outputs(&self, outputs: &Outputs) -> Result<(), Failure> {
        append("output", &self.output, outputs.lines.as_bytes())
    }

    /// Appends to the job summary, or appends a note if GitHub would drop the summary for its size.
    pub(crate) fn summary(&self, markdown: &[u8]) -> Result<(), Failure> {
        let size = match std::fs::metadata(&self.summary) {
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        };
        if size + markdown.len() as u64 >= MAX_SUMMARY_BYTES {
            return append(
                "summary",
                &self.summary,
                b"\nThe summary would be over 1 MiB; it is in the run artifact.\n",
            );
        }
        append("summary", &self.summary, markdown)
    }
}

/// Appends to a file of the runner; `name` is its purpose.
fn append(name: &str, path: &str, bytes: &[u8]) -> Result<(), Failure> {
    if path.is_empty() {
        return Ok(());
    }
    let written = OpenOptions::new().append(true).create(true).open(Path::new(path));
    written.and_then(|mut file| faults::write_all(&mut file, name, bytes)).map_err(|error| {
        let path = qa_core::escape::visible(path);
        Failure::with_code(Code::ArtifactWriteFailed, format!("failed to write {path}: {error}"))
    })
}

/// Prints text that may quote the change. The runner takes commands from a step's output, some of them anywhere in a line,
/// so they are stopped meanwhile with a random token.
pub(crate) fn print_quoting(text: &[u8]) -> Result<(), Failure> {
    let token = random_token()?;
    let mut out = format!("::stop-commands::{token}\n").into_bytes();
    out.extend_from_slice(text);
    out.extend_from_slice(format!("\n::{token}::\n").as_bytes());
    console::write_stdout(&out)
}

fn random_token() -> Result<String, Failure> {
    let mut bytes = [0u8; 16];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    read.map_err(|error| {
        Failure::with_code(Code::InternalError, format!("failed to read random bytes: {error}"))
    })?;
    Ok(format!("qa-skill-{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}

/// Prints an annotation without a file and line. `kind` is `notice`, `warning` or `error`.
pub(crate) fn annotate(kind: &str, title: &str, text: &str) {
    let text = workflow_message(&secrets::masked(text.to_owned()));
    let command = format!("::{kind} title={}::{text}\n", workflow_property(title));
    let _nobody_listens = console::write_stdout(command.as_bytes());
}
