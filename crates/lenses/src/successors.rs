//! Tools that do the work of others: successors, umbrellas, and the families behind general words such as `lint`.

use std::collections::BTreeSet;

/// Purposes and their tools; a command that names only the purpose is replaced by any tool for it.
const FAMILIES: &[(&[&str], &[&str])] = &[
    (
        &["test", "tests"],
        &[
            "pytest",
            "tox",
            "nox",
            "jest",
            "vitest",
            "mocha",
            "ava",
            "nextest",
            "ctest",
            "rspec",
            "phpunit",
            "gotestsum",
            "richgo",
        ],
    ),
    (
        &["lint", "lints", "linter", "vet"],
        &[
            "eslint",
            "golangci",
            "golangci-lint",
            "clippy",
            "ruff",
            "flake8",
            "pylint",
            "staticcheck",
            "revive",
            "rubocop",
            "biome",
            "oxlint",
            "detekt",
            "swiftlint",
            "checkstyle",
            "shellcheck",
            "stylelint",
        ],
    ),
    (
        &["fmt", "format"],
        &[
            "prettier",
            "rustfmt",
            "gofmt",
            "gofumpt",
            "goimports",
            "black",
            "ruff",
            "biome",
            "dprint",
            "oxfmt",
            "spotless",
            "ktlint",
            "golangci",
            "golangci-lint",
            "pint",
            "scalafmt",
        ],
    ),
    (
        &["typecheck", "type-check", "typing"],
        &["mypy", "pyright", "basedpyright", "tsc", "ty", "pyrefly", "pyre"],
    ),
    (&["audit"], &["deny", "trivy", "osv-scanner", "grype", "pip-audit"]),
];

/// A tool, and tools whose work it does: because it was renamed, merged or split, or contains them.
const COVERS: &[(&str, &[&str])] = &[
    // Python.
    (
        "ruff",
        &[
            "flake8",
            "isort",
            "pyupgrade",
            "pycodestyle",
            "pydocstyle",
            "pyflakes",
            "pylint",
            "autoflake",
            "black",
            "bandit",
            "reorder-python-imports",
            "autopep8",
            "yapf",
            "eradicate",
            "mccabe",
            "pep8",
            "setup-cfg-fmt",
            "docformatter",
            "add-trailing-comma",
            "blacken-docs",
            "pygrep-hooks",
            "debug-statements",
        ],
    ),
    ("ruff-format", &["black", "autopep8", "yapf"]),
    ("flake8", &["pycodestyle", "pyflakes", "mccabe", "pep8", "pylama"]),
    ("pycodestyle", &["pep8"]),
    ("black", &["yapf", "autopep8"]),
    ("isort", &["reorder-python-imports"]),
    ("pyright", &["mypy", "pyre"]),
    ("basedpyright", &["pyright", "mypy"]),
    ("ty", &["mypy", "pyright"]),
    ("pyrefly", &["mypy", "pyright", "pyre"]),
    ("mypy", &["pyright", "pyre", "pytype"]),
    ("pytest", &["nosetests", "nose", "unittest"]),
    ("pip-audit", &["safety"]),
    // JavaScript and TypeScript.
    ("eslint", &["jshint", "jslint", "jscs", "tslint", "standard", "xo"]),
    ("biome", &["eslint", "prettier", "rome", "tslint", "standard"]),
    ("oxlint", &["eslint", "tslint"]),
    ("oxfmt", &["prettier", "dprint"]),
    ("dprint", &["prettier"]),
    ("prettier", &["dprint", "standard"]),
    ("vitest", &["jest", "mocha", "ava", "karma", "jasmine", "tape", "uvu"]),
    ("jest", &["mocha", "jasmine", "karma", "ava", "tape"]),
    ("playwright", &["cypress", "puppeteer", "protractor", "nightwatch"]),
    ("cypress", &["protractor", "nightwatch"]),
    ("publint", &["attw"]),
    // Go; the linters of golangci-lint are what may stand in its configuration.
    (
        "golangci-lint",
        &[
            "gometalinter",
            "golint",
            "vet",
            "gofmt",
            "goimports",
            "gofumpt",
            "staticcheck",
            "gosec",
            "gas",
            "errcheck",
            "ineffassign",
            "unused",
            "gosimple",
            "megacheck",
            "misspell",
            "revive",
            "deadcode",
            "structcheck",
            "varcheck",
            "unconvert",
            "gocyclo",
        ],
    ),
    ("gosec", &["gas"]),
    ("staticcheck", &["megacheck", "gosimple", "stylecheck", "unused"]),
    ("unused", &["megacheck", "deadcode", "structcheck", "varcheck"]),
    ("gosimple", &["megacheck"]),
    ("govet", &["vet", "vetshadow", "maligned"]),
    ("revive", &["golint", "nosnakecase", "ifshort"]),
    ("stylecheck", &["golint"]),
    ("exportloopref", &["scopelint"]),
    ("copyloopvar", &["exportloopref", "scopelint"]),
    ("mnd", &["gomnd"]),
    ("err113", &["goerr113"]),
    ("exhaustruct", &["exhaustivestruct"]),
    ("loggercheck", &["logrlint"]),
    ("usetesting", &["tenv"]),
    ("gofumpt", &["gofmt"]),
    ("goimports", &["gofmt"]),
    ("gotestsum", &["richgo"]),
    // Rust.
    ("nextest", &["test"]),
    ("deny", &["audit"]),
    // Ruby, PHP, Java, Kotlin, Swift and the rest.
    ("standard", &["rubocop"]),
    ("phpcs", &["php-cs-fixer"]),
    ("php-cs-fixer", &["phpcs"]),
    ("pint", &["php-cs-fixer", "phpcs"]),
    ("phpstan", &["psalm", "phan"]),
    ("psalm", &["phpstan", "phan"]),
    ("spotbugs", &["findbugs"]),
    ("stylelint", &["sass-lint", "scss-lint"]),
    ("trivy", &["clair", "tfsec", "anchore"]),
    ("gitleaks", &["detect-secrets", "trufflehog", "git-secrets"]),
    ("trufflehog", &["gitleaks", "detect-secrets"]),
    ("zizmor", &["actionlint", "zizmor-action"]),
    // The action uploads what it finds.
    ("zizmor-action", &["actionlint", "upload-sarif", "zizmor"]),
    ("prek", &["pre-commit"]),
    ("pre-commit", &["prek"]),
];

/// Linters that their runner accepts by name and that have reported nothing for years, so that none takes their place.
const WITHOUT_EFFECT: &[&str] = &[
    "golint",
    "interfacer",
    "maligned",
    "scopelint",
    "deadcode",
    "structcheck",
    "varcheck",
    "nosnakecase",
    "ifshort",
    "exhaustivestruct",
    "execinquery",
    "exportloopref",
    "typecheck",
];

/// Returns whether a tool does the work of another.
pub(crate) fn covers(new: &str, old: &str) -> bool {
    let other_name = if new == "golangci" { "golangci-lint" } else { new };
    let is_listed =
        COVERS.iter().any(|(own, covered)| [new, other_name].contains(own) && covered.contains(&old));
    let is_general = FAMILIES
        .iter()
        .any(|(words, tools)| words.contains(&old) && (words.contains(&new) || tools.contains(&new)));
    new == old || is_listed || is_general
}

/// Returns whether one of several tools does the work of another.
pub(crate) fn cover(new: &BTreeSet<String>, old: &str) -> bool {
    new.iter().any(|new| covers(new, old))
}

/// Returns whether a linter is deprecated without effect, so that listing it reports nothing.
pub(crate) fn is_without_effect(linter: &str) -> bool {
    WITHOUT_EFFECT.contains(&linter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_covers_what_it_contains_and_not_the_other_way_round() {
        let cases: &[(&str, &str, bool)] = &[
            ("ruff", "flake8", true),
            ("flake8", "ruff", false),
            ("golangci", "gofmt", true),
            ("gofmt", "golangci-lint", false),
            ("pytest", "test", true),
            ("eslint", "test", false),
            ("gosec", "gas", true),
            ("prek", "pre-commit", true),
            ("zizmor-action", "upload-sarif", true),
            ("upload-sarif", "zizmor-action", false),
            ("codeql", "upload-sarif", false),
        ];
        for (new, old, expected) in cases {
            assert_eq!(covers(new, old), *expected, "{new} for {old}");
        }
    }
}
