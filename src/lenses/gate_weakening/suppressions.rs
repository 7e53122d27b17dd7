//! Comments and attributes that silence a linter or take code out of the coverage.

use std::sync::LazyLock;

use super::{BLANKET, COVERAGE, SUPPRESSION};
use crate::contracts::ids::RepoPath;
use crate::contracts::v1::Scope;
use crate::core::classify;
use crate::core::packet::Packet;
use crate::lenses::contract::{Draft, Inspection};
use crate::lenses::idioms::{Idiom, Place, Table, code};
use crate::lenses::pattern::Pattern;
use crate::lenses::scan;

const fn comment(languages: &'static [&'static str], literal: &'static str, pattern: &'static str) -> Idiom {
    Idiom { languages, literal, pattern, place: Place::Comment }
}

const JS: &[&str] = &["javascript", "typescript", "html", "css"];

/// For a whole file, or for every rule.
static BLANKET_IDIOMS: &[Idiom] = &[
    comment(JS, "eslint-disable", r"(/\*\s*eslint-disable\s*(?:\*/|--|$|\s+[\w@]))"),
    comment(JS, "@ts-nocheck", r"(@ts-nocheck)\b"),
    comment(JS, "oxlint-disable", r"(/\*\s*oxlint-disable\s*\*/)"),
    comment(JS, "biome-ignore-all", r"(biome-ignore-all)\b"),
    comment(&["python"], "noqa", r"(#\s*(?:flake8|ruff):\s*noqa)\b"),
    comment(&["python"], "mypy:", r"(#\s*mypy:\s*ignore-errors)\b"),
    comment(&["python"], "pylint:", r"(#\s*pylint:\s*(?:skip-file|disable=all))\b"),
    comment(&["python"], "pyright:", r"^\s*(#\s*pyright:\s*(?:ignore|basic|off)\b)"),
    comment(&["python"], "type:", r"^(#\s*type:\s*ignore)\s*$"),
    code(&["rust"], "#![allow", r"(#!\[allow\((?:warnings|clippy::all|clippy::pedantic|unused|dead_code)\b)"),
    comment(&["php"], "phpcs:ignoreFile", r"(phpcs:ignoreFile)"),
    comment(&["ruby"], "rubocop:disable all", r"(rubocop:disable all)\b"),
    comment(&["swift"], "swiftlint:disable all", r"(swiftlint:disable all)\b"),
    comment(&["go"], "nolint", r"^\s*(//\s*nolint(?::all)?)\s*$"),
    code(&["java", "kotlin"], "all", r#"(@SuppressWarnings\(\s*"all"\s*\)|@Suppress\(\s*"all"\s*\))"#),
    code(&["c#"], "#pragma", r"^\s*(#pragma\s+warning\s+disable)\s*$"),
];
static BLANKETS: LazyLock<Table> = LazyLock::new(|| Table::new(BLANKET_IDIOMS));

/// For one place and one rule.
static SUPPRESSION_IDIOMS: &[Idiom] = &[
    comment(JS, "lint-disable-", r"((?:es|ox|style)lint-disable-(?:next-)?line)\b"),
    comment(JS, "@ts-", r"(@ts-(?:ignore|expect-error))\b"),
    comment(JS, "biome-ignore", r"(biome-ignore)\s"),
    comment(JS, "flint-ignore", r"(tslint:disable|flint-ignore)"),
    comment(&["python"], "noqa", r"(#\s*noqa)\b"),
    comment(&["python"], "ignore", r"(#\s*(?:type|ty|pyright|pyre|mypy):\s*ignore)\b"),
    comment(&["python"], "pylint", r"(#\s*pylint:\s*disable)"),
    comment(&["python"], "nosec", r"(#\s*nosec)\b"),
    code(&["rust"], "allow(", r"(#!?\[(?:cfg_attr\([^)]*,\s*)?(?:allow|expect)\()"),
    comment(&["go"], "nolint", r"(//\s*nolint)\b"),
    comment(&["go"], "#nosec", r"(#nosec)\b"),
    code(
        &["java", "kotlin", "scala"],
        "@Suppress",
        r"(@(?:Suppress|SuppressWarnings|SuppressLint|SuppressFBWarnings))\b",
    ),
    comment(&[], "NOSONAR", r"(NOSONAR)\b"),
    comment(&["c", "c++", "objective-c"], "NOLINT", r"(NOLINT\w*)\b"),
    code(
        &["c", "c++", "objective-c"],
        "diagnostic ignored",
        r"(#pragma\s+(?:GCC|clang)\s+diagnostic\s+ignored)\b",
    ),
    code(&["c#"], "#pragma", r"(#pragma\s+warning\s+disable)\b"),
    code(&["c#"], "SuppressMessage", r"(\[(?:assembly:\s*)?SuppressMessage)\b"),
    comment(&["ruby"], "rubocop:disable", r"(rubocop:(?:disable|todo))\b"),
    comment(&["php"], "ignore", r"(@?phpstan-ignore[\w-]*|@psalm-suppress|phpcs:ignore)\b"),
    comment(&["swift"], "swiftlint:disable", r"(swiftlint:disable)\b"),
    comment(&["kotlin"], "ktlint-disable", r"(ktlint-disable)\b"),
    comment(&["dart"], "ignore", r"(//\s*ignore(?:_for_file)?:)"),
    comment(&["shell"], "shellcheck disable", r"(shellcheck disable)\b"),
    comment(&["elixir"], "credo:disable", r"(credo:disable)"),
];
static SUPPRESSIONS: LazyLock<Table> = LazyLock::new(|| Table::new(SUPPRESSION_IDIOMS));

static UNCOVERED_IDIOMS: &[Idiom] = &[
    comment(&["python"], "pragma", r"(#\s*pragma:\s*no\s*(?:cover|branch))\b"),
    comment(JS, "ignore", r"((?:istanbul|c8|v8|node:coverage)\s+(?:ignore|disable))\b"),
    comment(&["c", "c++", "rust", "go"], "LCOV_EXCL", r"(LCOV_EXCL_\w+)"),
    code(&["rust"], "coverage", r"(#!?\[(?:cfg_attr\([^)]*,\s*)?coverage\(off\))"),
    comment(&["go", "dart"], "cov", r"(coverage:\s?ignore[\w-]*|//\s*coverage-ignore)"),
    comment(&["php"], "@codeCoverageIgnore", r"(@codeCoverageIgnore\w*)"),
    comment(&["ruby"], ":nocov:", r"(:nocov:)"),
    code(&["c#"], "ExcludeFromCodeCoverage", r"(\[ExcludeFromCodeCoverage)"),
    code(&["java", "kotlin"], "Generated", r"^\s*(@(?:ExcludeFromJacocoGeneratedReport|JacocoGenerated))\b"),
    comment(&["swift", "scala"], "overage", r"(\$COVERAGE-OFF\$)"),
];
static UNCOVERED: LazyLock<Table> = LazyLock::new(|| Table::new(UNCOVERED_IDIOMS));

/// Code that only exists for readers and type checkers, or that no test can run.
pub(super) static NEVER_RUN: Pattern = Pattern::new(
    r"TYPE_CHECKING|__name__|__main__|NotImplemented|overload|abstractmethod|\.\{3\}|\.\.\.|unreachable|assert_never|Protocol",
);

/// Comments and attributes that come without another going from the same hunk.
pub(super) fn inspect(packet: &Packet<'_>, seen: &mut Inspection) {
    let language = packet.file.language.as_deref();
    let product = packet.file.scope == Scope::Product;
    let tables: [(&'static str, &Table, &str); 3] = [
        (BLANKET, &BLANKETS, "a whole file is taken out of a check"),
        (COVERAGE, &UNCOVERED, "code is taken out of the coverage"),
        (SUPPRESSION, &SUPPRESSIONS, "a warning is suppressed"),
    ];
    for hunk in packet.hunks() {
        let text = &packet.text.text[hunk.added_span()];
        let tables: Vec<_> = tables
            .iter()
            .filter(|(rule, table, _)| (product || *rule == BLANKET) && table.may_match(language, text))
            .collect();
        if tables.is_empty() {
            continue;
        }
        let mut old: Vec<usize> = tables
            .iter()
            .map(|(_, table, _)| {
                let removed = scan::removed(language, hunk);
                removed.filter(|(line, parts)| table.find(language, line.text, parts).is_some()).count()
            })
            .collect();
        for (line, parts) in scan::added(language, hunk) {
            for (position, (rule, table, summary)) in tables.iter().enumerate() {
                if let Some(span) = table.find(language, line.text, &parts) {
                    if *rule == COVERAGE && NEVER_RUN.is_match(line.text) {
                        break;
                    }
                    if old[position] > 0 {
                        old[position] -= 1;
                    } else {
                        seen.drafts.push(Draft::on_line(rule, packet, &line, span, *summary));
                    }
                    break;
                }
            }
        }
    }
}

/// Whether a base file is free of suppressions, for the ratchet.
pub(super) fn complies(file: &RepoPath, text: &str) -> Option<bool> {
    let language = classify::language(file);
    language?;
    let mut scanner = scan::Scanner::new(language, true);
    Some(!text.lines().any(|line| {
        let parts = scanner.line(line);
        SUPPRESSIONS.find(language, line, &parts).is_some() || BLANKETS.find(language, line, &parts).is_some()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for table in [&BLANKETS, &SUPPRESSIONS, &UNCOVERED] {
            table.check();
        }
        assert!(NEVER_RUN.is_match("if TYPE_CHECKING:"));
    }

    #[test]
    fn a_base_file_without_suppressions_complies() {
        let path = RepoPath::from_bytes(b"a.py").unwrap();
        assert_eq!(complies(&path, "x = 1  # noqa\n"), Some(false));
        assert_eq!(complies(&path, "x = '# noqa'\n"), Some(true));
    }
}
