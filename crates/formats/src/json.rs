//! `json`: the result artifact itself, byte for byte as it is stored, for programs.

use crate::contract::{Format, FormatSpec, Report};
use qa_core::canonical;

/// The whole result as JSON.
pub(crate) struct Json;

impl Format for Json {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec { id: "json", title: "The whole result as canonical JSON (skill-result.v1)", file: None }
    }

    fn render(&self, report: &Report<'_>) -> Vec<u8> {
        let mut bytes = canonical::to_vec(report.result).expect(
            "a result holds only numbers canonical JSON can write: it was made from validated artifacts",
        );
        bytes.push(b'\n');
        bytes
    }
}
