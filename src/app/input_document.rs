//! `run --input`: reads the normalised input of a run, requests that run, and refuses to judge another one.

use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::drift::first_difference;
use super::exit::Failure;
use super::inputs::Request;
use super::skill_input::decisive_members;
use qa_contracts::artifact::Artifact;
use qa_contracts::codes::Code;
use qa_contracts::limits::MAX_POLICY_BYTES;
use qa_contracts::v1::SkillInput;
use qa_contracts::{schema, strict_json};
use qa_core::masking::{sanitize, sanitize_cut};
use qa_core::policy::Overrides;

/// Reads a document from a file, or from standard input for `-`.
pub(crate) fn read_document(path: &Path) -> Result<SkillInput, Failure> {
    let shown =
        if path == Path::new("-") { "standard input" } else { &sanitize(&path.display().to_string()) };
    let bytes = read_bytes(path).map_err(|error| unreadable(shown, &error.to_string()))?;
    let value = strict_json::parse(&bytes).map_err(|error| unreadable(shown, &error.to_string()))?;
    let schema = schema::find(SkillInput::SCHEMA).expect("every schema is embedded");
    if let Some(fault) = schema.faults(&value).into_iter().next() {
        let place = if fault.pointer.is_empty() { String::new() } else { format!("{}: ", fault.pointer) };
        return Err(unreadable(shown, &format!("{place}{}", fault.message)));
    }
    SkillInput::deserialize(&value).map_err(|error| unreadable(shown, &error.to_string()))
}

fn read_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let source: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(std::fs::File::open(path)?),
    };
    let mut bytes = Vec::new();
    source.take(MAX_POLICY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_POLICY_BYTES {
        let message = format!("it is larger than {MAX_POLICY_BYTES} bytes");
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

fn unreadable(shown: &str, reason: &str) -> Failure {
    let reason = sanitize_cut(reason, 300);
    let failure = Failure::with_code(Code::InputInvalid, format!("failed to read {shown}: {reason}"));
    let hint = "pass a skill-input document: `qa-skill plan --format input` prints one, and every run stores \
                its own as input.normalized.json; `qa-skill schema skill-input` prints the schema";
    Failure { hint: hint.to_owned(), ..failure }
}

impl Request {
    /// Returns the request for the run of a document. Paths stay those of the command line: a document names those of the
    /// machine that wrote it.
    pub(crate) fn of_document(self, document: SkillInput) -> Self {
        let workers = self.overrides.max_concurrency.unwrap_or(document.max_concurrency);
        Self {
            base: Some(document.base_sha.as_str().to_owned()),
            head: document.head_sha.as_str().to_owned(),
            test_merge: document.test_merge_sha.clone(),
            overrides: Overrides {
                mode: document.overrides.mode,
                preset: document.overrides.preset,
                max_concurrency: Some(workers),
                lens_ids: document.requested_lens_ids.clone(),
                stage: document.overrides.stage,
            },
            document: Some(Box::new(document)),
            ..self
        }
    }
}

/// Fails if the run of a request has another input than the request's document says.
pub(crate) fn confirm(request: &Request, run: &SkillInput) -> Result<(), Failure> {
    let Some(document) = &request.document else { return Ok(()) };
    let [expected, actual] = [document, run].map(|input| Value::Object(decisive_members(input)));
    let Some(difference) = first_difference(&expected, &actual, String::new()) else { return Ok(()) };
    let message = format!(
        "the document is of another run: {} is {} here, and {} in the document",
        difference.pointer, difference.derived, difference.recorded
    );
    let hint = "the base's policy, the reports of gates, the repository and the engine decide these members; judge \
                where they are as in the document, or print the input of this run with `qa-skill plan --format input`";
    Err(Failure { hint: hint.to_owned(), ..Failure::with_code(Code::ExpectationUnmet, message) })
}
