//! The readers of reports, one per format: bytes to data, or a refusal.

use super::contract::{Places, Report, ReportError, ReportFormat};

mod eslint_json;
mod json;
pub(crate) mod junit;
mod ruff_json;
mod sarif;
mod xml;

/// Reads a report of a format.
pub(crate) fn read(format: ReportFormat, report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
    match format {
        ReportFormat::EslintJson => eslint_json::read(report, places),
        ReportFormat::Junit => junit::read(report, places, 1),
        ReportFormat::Sarif => sarif::read(report, places),
        ReportFormat::RuffJson => ruff_json::read(report, places),
        ReportFormat::CargoJson
        | ReportFormat::CargoTest
        | ReportFormat::GoTestJson
        | ReportFormat::GoVetJson
        | ReportFormat::JestJson
        | ReportFormat::LibtestJson
        | ReportFormat::MypyJson
        | ReportFormat::MypyText
        | ReportFormat::PlaywrightJson
        | ReportFormat::TscText => Err(ReportError::Format(format)),
    }
}
