//! The readers of reports, one per format: bytes to data, or a refusal.

use super::report::{Places, Report, ReportError, ReportFormat};

mod cargo_json;
mod checkstyle;
mod eslint_json;
pub(crate) mod go;
mod jest_json;
mod json;
pub(crate) mod junit;
mod junit_outcome;
pub(crate) mod libtest;
pub(crate) mod likely;
mod mypy;
mod playwright_json;
mod ruff_json;
mod sarif;
mod sarif_levels;
mod tap;
mod tap_point;
mod tsc_text;
pub(crate) mod xml;

/// Returns the line or column, from 1, that a group of a pattern matched.
fn matched_position(found: &regex::Captures<'_>, group: &str) -> Option<u32> {
    found.name(group).and_then(|text| text.as_str().parse().ok()).filter(|&at| at > 0)
}

/// Reads a report of a format.
pub(crate) fn read_report(
    format: ReportFormat,
    report: &[u8],
    places: &Places<'_>,
) -> Result<Report, ReportError> {
    match format {
        ReportFormat::CargoJson => cargo_json::read_report(report, places),
        ReportFormat::CargoTest => libtest::read_cargo_test(report, places, &[]),
        ReportFormat::Checkstyle => checkstyle::read_report(report, places),
        ReportFormat::EslintJson => eslint_json::read_report(report, places),
        ReportFormat::GoTestJson => go::read_test(report, places),
        ReportFormat::GoVetJson => go::read_vet(report, places),
        ReportFormat::JestJson => jest_json::read_report(report, places),
        ReportFormat::Junit => junit::read_report(report, places, junit::Dialect::Other),
        ReportFormat::LibtestJson => libtest::read_json(report, places),
        ReportFormat::MypyJson => mypy::read_json(report, places),
        ReportFormat::MypyText => mypy::read_text(report, places),
        ReportFormat::PlaywrightJson => playwright_json::read_report(report, places),
        ReportFormat::RuffJson => ruff_json::read_report(report, places),
        ReportFormat::Sarif => sarif::read_report(report, places),
        ReportFormat::Tap => tap::read_report(report, places),
        ReportFormat::TscText => tsc_text::read_report(report, places),
    }
}
