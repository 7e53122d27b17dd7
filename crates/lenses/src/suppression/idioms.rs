//! Comments and attributes that silence a linter, a type checker or the coverage, by language.

use std::sync::LazyLock;

use crate::idioms::{Idiom, Place, Table, code};

const fn comment(languages: &'static [&'static str], literal: &'static str, pattern: &'static str) -> Idiom {
    Idiom { languages, literal, pattern, place: Place::Comment }
}

const JS: &[&str] = &["javascript", "typescript", "html", "css"];

/// For a whole file, or for every rule.
static BLANKET_IDIOMS: &[Idiom] = &[
    comment(JS, "lint-disable", r"(/\*\s*(?:es|ox|style)lint-disable)\s*(?:\*/|--|$|\s[\w@])"),
    // Rules that a comment sets for its file.
    comment(JS, "eslint", r#"(/\*\s*eslint)\s+[^*]*?:\s*\[?\s*(?:["']?off\b|0\b)"#),
    comment(JS, "@ts-nocheck", r"(@ts-nocheck)\b"),
    comment(JS, "deno-lint-ignore-file", r"(deno-lint-ignore-file)\b"),
    comment(JS, "biome-ignore-all", r"(biome-ignore-all)\b"),
    comment(&["python"], "noqa", r"(#\s*(?:flake8|ruff):\s*noqa)\b"),
    comment(&["python"], "mypy:", r"(#\s*mypy:\s*(?:ignore-errors|disable-error-code))\b"),
    comment(&["python"], "pytype:", r"(#\s*pytype:\s*skip-file)\b"),
    comment(&["python"], "pyright:", r"^\s*(#\s*pyright:\s*report\w+)\s*=\s*(?:false|none)\b"),
    comment(&["python"], "pylint:", r"(#\s*pylint:\s*(?:skip-file|disable=all))\b"),
    comment(&["python"], "pyright:", r"^\s*(#\s*pyright:\s*(?:ignore|basic|off)\b)"),
    comment(&["python"], "type:", r"^(#\s*type:\s*ignore)\s*$"),
    code(
        &["rust"],
        "!",
        r"(#\s*!\s*\[\s*(?:cfg_attr\s*\(.*?,\s*)?(?:allow|expect)\s*\()(?:[^)]*[,\s])?(?:warnings|clippy\s*::\s*(?:all|pedantic)|unused|dead_code)(?:[\s,)/]|$)",
    ),
    comment(&["php"], "phpcs:ignoreFile", r"(phpcs:ignoreFile)"),
    comment(&["ruby"], "rubocop:disable all", r"(rubocop:disable all)\b"),
    comment(&["swift"], "swiftlint:disable all", r"(swiftlint:disable all)\b"),
    comment(&["go"], "nolint", r"^\s*(//\s*nolint(?::all)?)\s*$"),
    comment(&["go"], "lint:file-ignore", r"(//\s*lint:file-ignore)\b"),
    comment(&["go"], "revive:disable", r"^\s*(//\s*revive:disable)(?:\s|$)"),
    comment(&["java"], "CHECKSTYLE", r"(CHECKSTYLE[.:]\s*OFF)\b"),
    code(
        &["java", "kotlin"],
        "all",
        r#"(@\s*(?:java\.lang\.)?Suppress(?:Warnings)?\s*\((?:[^)]*[{,=\s])?"all"[^)]*\))"#,
    ),
    code(&["c#"], "#pragma", r"^\s*(#pragma\s+warning\s+disable)\s*$"),
];
pub(super) static BLANKETS: LazyLock<Table> = LazyLock::new(|| Table::new(BLANKET_IDIOMS));

/// For one place and one rule.
static SUPPRESSION_IDIOMS: &[Idiom] = &[
    comment(JS, "lint-disable-", r"((?:es|ox|style)lint-disable-(?:next-)?line)\b"),
    comment(JS, "@ts-", r"(@ts-(?:ignore|expect-error))\b"),
    comment(JS, "biome-ignore", r"(biome-ignore)\s"),
    comment(JS, "tslint:disable", r"(tslint:disable)"),
    comment(JS, "flint-ignore", r"(flint-ignore)"),
    comment(JS, "deno-lint-ignore", r"(deno-lint-ignore)\s"),
    comment(JS, "$Flow", r"(\$Flow(?:FixMe|Ignore|Issue|ExpectedError))"),
    comment(&["python"], "noqa", r"(#\s*noqa)\b"),
    // Case means nothing here.
    comment(&["python"], "NOQA", r"(#\s*NOQA)\b"),
    comment(&["python"], "NoQA", r"(#\s*NoQA)\b"),
    comment(&["python"], "Noqa", r"(#\s*Noqa)\b"),
    comment(&["python"], "ignore", r"(#\s*(?:type|ty|(?:based)?pyright|pyre|mypy|ruff):\s*ignore)\b"),
    comment(&["python"], "pyre-", r"(#\s*pyre-(?:ignore|fixme))\b"),
    comment(&["python"], "pytype:", r"(#\s*pytype:\s*disable)\b"),
    comment(&["python"], "ruff:", r"(#\s*ruff:\s*disable)\b"),
    code(&["python"], "no_type_check", r"^\s*(@(?:\w+\.)*no_type_check)\b"),
    comment(&["python"], "pylint", r"(#\s*pylint:\s*disable)"),
    comment(&["python"], "nosec", r"(#\s*nosec)\b"),
    code(&["rust"], "allow", r"(#\s*!?\s*\[\s*(?:cfg_attr\s*\(.*?,\s*)?allow\s*(?:/\*.*?\*/\s*)?\()"),
    code(&["rust"], "expect", r"(#\s*!?\s*\[\s*(?:cfg_attr\s*\(.*?,\s*)?expect\s*(?:/\*.*?\*/\s*)?\()"),
    comment(&["go"], "nolint", r"(//\s*nolint)\b"),
    comment(&["go"], "#nosec", r"(#nosec)\b"),
    comment(&["go"], "lint:ignore", r"(//\s*lint:ignore)\b"),
    comment(&["go"], "revive:disable-", r"(//\s*revive:disable-(?:next-)?line)\b"),
    code(
        &["java", "kotlin", "scala"],
        "Suppress",
        r"(@\s*(?:java\.lang\.)?(?:Suppress|SuppressWarnings|SuppressLint|SuppressFBWarnings))\b",
    ),
    comment(&["java"], "NOPMD", r"(NOPMD)\b"),
    comment(&[], "NOSONAR", r"(NOSONAR)\b"),
    comment(&[], "nosem", r"(nosem(?:grep)?)\b"),
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
pub(super) static SUPPRESSIONS: LazyLock<Table> = LazyLock::new(|| Table::new(SUPPRESSION_IDIOMS));

static UNCOVERED_IDIOMS: &[Idiom] = &[
    comment(&["python"], "pragma", r"(#\s*pragma[:\s]?\s*(?:no|NO)\s*(?:cover|COVER|branch|BRANCH))\b"),
    comment(&["python"], "PRAGMA", r"(#\s*PRAGMA[:\s]?\s*(?:no|NO)\s*(?:cover|COVER|branch|BRANCH))\b"),
    comment(JS, "ignore", r"((?:istanbul|c8|v8|node:coverage)\s+(?:ignore|disable))\b"),
    comment(&["c", "c++", "rust", "go"], "LCOV_EXCL", r"(LCOV_EXCL_\w+)"),
    code(&["rust"], "coverage", r"(#\s*!?\s*\[\s*(?:cfg_attr\s*\([^)]*,\s*)?coverage\s*\(\s*off\s*\))"),
    comment(&["go", "dart"], "cov", r"(coverage:\s?ignore[\w-]*|//\s*coverage-ignore)"),
    comment(&["php"], "@codeCoverageIgnore", r"(@codeCoverageIgnore\w*)"),
    comment(&["ruby"], ":nocov:", r"(:nocov:)"),
    code(&["c#"], "ExcludeFromCodeCoverage", r"(\[ExcludeFromCodeCoverage)"),
    code(&["java", "kotlin"], "Generated", r"(@(?:ExcludeFromJacocoGeneratedReport|JacocoGenerated))\b"),
    comment(&["swift", "scala"], "overage", r"(\$COVERAGE-OFF\$)"),
];
pub(super) static UNCOVERED: LazyLock<Table> = LazyLock::new(|| Table::new(UNCOVERED_IDIOMS));
