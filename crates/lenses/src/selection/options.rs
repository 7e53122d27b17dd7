//! Options and operands of test runners and linters, as tables.

use Effect::{Excludes, Requires, Selects};

/// Effect of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Names a part that alone is looked at.
    Selects,
    /// Names a part that is left out, or makes a failure count for less.
    Excludes,
    /// Makes the tool look at more, or more strictly.
    Requires,
}

/// Options of some tools that have one effect.
pub(super) struct Row {
    /// Names of the tools; empty for all.
    pub(super) tools: &'static [&'static str],
    pub(super) effect: Effect,
    /// Spellings parted by `|`; a `*` at the end stands for any text. Options of one row select parts of one kind.
    pub(super) names: &'static str,
    /// True if the value is the next word, unless it stands behind `=`.
    pub(super) has_value: bool,
}

const fn row(tools: &'static [&'static str], effect: Effect, names: &'static str, has_value: bool) -> Row {
    Row { tools, effect, names, has_value }
}

pub(super) const PYTEST: &[&str] = &["pytest", "py.test"];
pub(super) const CARGO: &[&str] = &["cargo", "cross"];
/// The compiler of Rust, whose options Cargo hands on.
pub(super) const RUSTC: &[&str] = &["rustc"];
pub(super) const GO: &[&str] = &["go", "gotestsum"];
const NODE: &[&str] = &[
    "ava",
    "bun",
    "cypress",
    "jest",
    "mocha",
    "node",
    "npm",
    "playwright",
    "pnpm",
    "turbo",
    "vitest",
    "yarn",
];
/// Runners of tests that find a configuration of their own name.
const JEST: &[&str] = &["jest", "playwright", "vitest"];
const JVM: &[&str] = &["gradle", "gradlew", "mvn", "mvnw"];
const FORMATTERS: &[&str] = &["biome", "cargo", "dart", "prettier", "ruff", "rustfmt"];

/// Option of Maven that selects modules, and leaves out those with `!` or `-` before the name.
pub(super) const MODULES: &str = "-pl|--projects";

/// The options that are known. Of several rows for a word the first one counts.
pub(super) const ROWS: &[Row] = &[
    row(PYTEST, Selects, "-k", true),
    row(PYTEST, Selects, "-m", true),
    row(PYTEST, Selects, "-c|--config-file|--rootdir", true),
    row(PYTEST, Selects, "--lf|--last-failed|--sw|--stepwise|--pyargs", false),
    row(PYTEST, Excludes, "--deselect|--ignore|--ignore-glob|-o|--override-ini|--reruns", true),
    row(
        PYTEST,
        Excludes,
        "--co|--collect-only|--fixtures|--markers|--noconftest|--setup-only|--setup-plan",
        false,
    ),
    row(PYTEST, Excludes, "--suppress-no-test-exit-code|--suppress-tests-failed-exit-code", false),
    row(PYTEST, Excludes, "-p", true),
    row(PYTEST, Requires, "--doctest-modules", false),
    row(PYTEST, Requires, "--strict*", false),
    row(CARGO, Excludes, "-V|--version", false),
    row(CARGO, Selects, "-p|--package", true),
    row(CARGO, Selects, "-E|--filter-expr|--filterset", true),
    row(CARGO, Selects, "--bench|--bin|--example|--test", true),
    row(CARGO, Selects, "--benches|--bins|--doc|--examples|--lib|--tests", false),
    row(CARGO, Selects, "--ignored", false),
    row(CARGO, Excludes, "-A|--allow|--cap-lints|--exclude|--no-tests|--retries|--skip", true),
    row(CARGO, Excludes, "--no-default-features|--no-run", false),
    row(CARGO, Requires, "-D|--deny|-F|--forbid", true),
    row(CARGO, Requires, "--all|--workspace", false),
    row(CARGO, Requires, "--all-*", false),
    row(CARGO, Requires, "--include-ignored", false),
    row(RUSTC, Excludes, "-A|--allow|--cap-lints", true),
    row(RUSTC, Requires, "-D|--deny|-F|--forbid", true),
    row(GO, Selects, "-run|--run|-test.run", true),
    row(GO, Excludes, "-exec|-skip|-test.skip|-vet", true),
    row(GO, Excludes, "-c|-n|-short|-list", false),
    row(GO, Requires, "-race", false),
    row(&["node"], Excludes, "--test-skip-pattern", true),
    row(&["node"], Excludes, "--test-only|-c|--check", false),
    row(
        NODE,
        Selects,
        "-t|--testNamePattern|--testPathPattern|--testPathPatterns|--grep|-g|--fgrep|-f|--spec",
        true,
    ),
    row(
        NODE,
        Selects,
        "--changedSince|--filter|--findRelatedTests|--project|--runTestsByPath|--selectProjects",
        true,
    ),
    row(NODE, Selects, "-w|--test-name-pattern", true),
    row(NODE, Selects, "--changed|--onlyChanged|--only-changed|--onlyFailures", false),
    row(NODE, Excludes, "--grep-invert|--retries|--retry|--testPathIgnorePatterns", true),
    row(NODE, Excludes, "--if-present|--invert|--pass-with-no-tests|--passWithNoTests", false),
    row(NODE, Requires, "--forbid-only|--forbidOnly", false),
    row(NODE, Requires, "-r|--recursive|--workspaces|-ws", false),
    row(NODE, Selects, "--shard", true),
    row(JEST, Selects, "-c|--config", true),
    row(JVM, Selects, "-f|--file|-p|--project-dir|-b|--build-file", true),
    row(JVM, Excludes, "-rf|--resume-from", true),
    row(JVM, Selects, "--tests", true),
    row(JVM, Selects, MODULES, true),
    row(JVM, Selects, "-Dtest|-Dit.test|-Dgroups", false),
    row(JVM, Excludes, "-x|--exclude-task", true),
    row(JVM, Excludes, "-DexcludedGroups|-DskipITs|-Dcheckstyle.skip|-Dspotbugs.skip|-Dpmd.skip", false),
    row(JVM, Excludes, "-DskipTests|-Dmaven.test.skip", false),
    row(JVM, Excludes, "-DfailIfNoTests|-fn|--fail-never|-m|--dry-run", false),
    row(&["ruff", "flake8"], Selects, "--select", true),
    row(&["ruff", "flake8"], Excludes, "--extend-ignore|--extend-per-file-ignores|--per-file-ignores", true),
    row(&["mypy"], Selects, "-p|--package|-m|--module", true),
    row(&["mypy"], Excludes, "--allow*|--ignore-missing-imports|--no-strict*|--no-warn*", false),
    row(&["mypy"], Requires, "--disallow*", false),
    row(&["mypy"], Requires, "--strict*", false),
    row(&["pylint"], Selects, "--rcfile", true),
    row(&["pylint"], Excludes, "-E|--errors-only", false),
    row(&["pylint"], Excludes, "-d|--disable", true),
    row(&["bandit"], Excludes, "-s|--skip|-x", true),
    row(&["bandit"], Excludes, "-l|-ll|-lll", false),
    row(&["eslint", "oxlint"], Excludes, "--ignore-pattern|--rule", true),
    row(&["eslint"], Excludes, "--no-config-lookup|--no-error-on-unmatched-pattern|--no-eslintrc", false),
    row(&["eslint", "stylelint"], Requires, "--max-warnings", true),
    row(&["tsc", "vue-tsc"], Excludes, "--noCheck|--skipLibCheck", false),
    row(&["tsc", "vue-tsc"], Selects, "-p|--project", true),
    row(
        &["golangci-lint"],
        Selects,
        "--enable-only|--new-from-rev|--new-from-patch|--new-from-merge-base",
        true,
    ),
    row(&["golangci-lint"], Excludes, "-D|--disable|--issues-exit-code|--tests", true),
    row(&["golangci-lint"], Excludes, "--disable-all|--fast|--fast-only|-n|--new|--no-config", false),
    row(&["rubocop"], Selects, "--only", true),
    row(&["rubocop"], Excludes, "--except|--fail-level", true),
    row(&["rspec"], Selects, "-e|--example|-P|--pattern|-t|--tag", true),
    row(&["phpunit"], Selects, "--filter|--group|--testsuite", true),
    row(&["phpunit"], Excludes, "--do-not-fail*", false),
    row(&["phpunit"], Requires, "--fail-on*", false),
    row(&["ctest"], Selects, "-R|-L|--tests-regex|--label-regex", true),
    row(&["ctest"], Excludes, "-E|-LE|--exclude-regex|--label-exclude", true),
    row(&["dotnet"], Selects, "--filter", true),
    row(&["dotnet"], Requires, "--verify-no-changes", false),
    row(&["dotnet"], Selects, "--project|--test-modules", true),
    row(&["nox"], Selects, "-k|-s|-t|--session|--sessions|--tags", true),
    row(&["make", "gmake"], Excludes, "-i|--ignore-errors|-n|--dry-run|--just-print|-t|--touch", false),
    row(&["pre-commit"], Requires, "-a|--all-files", false),
    row(&["tox"], Excludes, "--notest", false),
    // They show differences and succeed.
    row(&["black", "isort"], Requires, "--check|--check-only", false),
    row(
        &["black", "isort"],
        Excludes,
        "--extend-exclude|--extend-skip|--extend-skip-glob|--force-exclude",
        true,
    ),
    row(FORMATTERS, Requires, "--check|--check-only|--diff|--list-different|-l|-c", false),
    row(&[], Requires, "--cov-fail-under|--fail-under|--fail-under-lines|--min-msi", true),
    row(&[], Excludes, "--dry-run|--exit-zero|--help|--no-verify", false),
    row(&[], Excludes, "--deselect*|--exclude*|--ignore*|--skip*", true),
];

/// Options that begin as those of the last row and leave out nothing that is checked.
pub(super) const HARMLESS: &[&str] =
    &["--exclude-newer", "--ignore-rust-version", "--ignore-scripts", "--skip-existing", "--skip-install"];

/// Plug-ins of pytest that choose no test and judge none.
const HARMLESS_PLUGINS: &[&str] = &["cacheprovider", "randomly", "sugar"];

/// Settings of pytest that say how it reports.
const REPORTING: &[&str] = &["cache_dir", "console_output_style", "junit_", "log_", "tmp_path_retention_"];

/// Returns whether an option of pytest loads a plug-in, blocks one that chooses no test, or sets how it reports.
pub(super) fn is_harmless_for_pytest(name: &str, value: &str) -> bool {
    match name {
        "-p" => value.strip_prefix("no:").is_none_or(|plugin| HARMLESS_PLUGINS.contains(&plugin)),
        "-o" | "--override-ini" => REPORTING.iter().any(|start| value.starts_with(start)),
        _ => false,
    }
}

/// Options that have no value and name no part, so that the word behind one is an operand.
pub(super) const FLAGS: &[&str] = &[
    "-b",
    "-l",
    "-q",
    "-qq",
    "-s",
    "-u",
    "-v",
    "-vv",
    "-x",
    "--all",
    "--ci",
    "--color",
    "--coverage",
    "--experimental-test-coverage",
    "--fix",
    "--frozen",
    "--locked",
    "--no-build",
    "--no-restore",
    "--nologo",
    "--offline",
    "--quiet",
    "--release",
    "--run",
    "--silent",
    "--test",
    "--verbose",
    "-race",
];

/// Tools whose operands are the files, packages or tests that they look at.
pub(super) const WITH_OPERANDS: &[&str] = &[
    "ava",
    "bandit",
    "black",
    "cargo",
    "cypress",
    "dotnet",
    "eslint",
    "flake8",
    "go",
    "golangci-lint",
    "isort",
    "jest",
    "mocha",
    "mypy",
    "oxlint",
    "phpunit",
    "playwright",
    "prettier",
    "py.test",
    "pylint",
    "pyright",
    "pytest",
    "rspec",
    "rubocop",
    "ruff",
    "standard",
    "stylelint",
    "vitest",
    "xo",
];
/// Tools behind those that call them, as in `uv run pytest`; all with operands, and these.
pub(super) const OTHERS: &[&str] =
    &["ctest", "gradle", "gradlew", "mvn", "mvnw", "nox", "pre-commit", "prek", "tox", "tsc", "vue-tsc"];

/// Variables of the environment that hold options, with the tools that read them.
pub(super) const VARIABLES: &[(&str, &[&str])] = &[
    ("GOFLAGS", GO),
    ("GRADLE_OPTS", JVM),
    ("MAKEFLAGS", &["gmake", "make"]),
    ("MAVEN_ARGS", JVM),
    ("MAVEN_OPTS", JVM),
    ("PREK_SKIP", &["pre-commit"]),
    ("PYTEST_ADDOPTS", &["make", "nox", "py.test", "pytest", "tox"]),
    ("RUSTDOCFLAGS", CARGO),
    ("RUSTFLAGS", CARGO),
    ("SKIP", &["pre-commit"]),
    ("TOX_SKIP_ENV", &["gmake", "make", "tox"]),
];

/// Words that name what a tool is to do.
pub(super) const SUBCOMMANDS: &[&str] = &[
    "b", "bench", "build", "c", "check", "clippy", "doc", "fmt", "format", "hack", "lint", "llvm-cov",
    "miri", "nextest", "run", "t", "test", "vet",
];
/// Operands that stand for all of a repository, or for all tests where the tool has none.
pub(super) const EVERYTHING: &[&str] = &["", "*", "**", ".", "..."];
pub(super) const ALL_TESTS: &[&str] = &["__tests__", "spec", "t", "test", "tests"];
