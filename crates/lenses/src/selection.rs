//! Reads the words of a command as what a test runner or linter looks at: parts that it selects, parts that it leaves
//! out, and options that make it stricter.

use std::collections::{BTreeMap, BTreeSet};

use crate::command_words::{ListedPackages, is_about_addresses, is_usual_file};

/// Effect of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Names a part that alone is looked at.
    Selects,
    /// Names a part that is left out, or makes a failure count for less.
    Excludes,
    /// Makes the tool look at more, or more strictly.
    Requires,
}

/// Options of some tools that have one effect.
struct Row {
    /// Names of the tools; empty for all.
    tools: &'static [&'static str],
    effect: Effect,
    /// Spellings parted by `|`; a `*` at the end stands for any text. Options of one row select parts of one kind.
    names: &'static str,
    /// True if the value is the next word, unless it stands behind `=`.
    has_value: bool,
}

const fn row(tools: &'static [&'static str], effect: Effect, names: &'static str, has_value: bool) -> Row {
    Row { tools, effect, names, has_value }
}

use Effect::{Excludes, Requires, Selects};

const PYTEST: &[&str] = &["pytest", "py.test"];
const CARGO: &[&str] = &["cargo", "cross"];
const GO: &[&str] = &["go", "gotestsum"];
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
/// The compiler of Rust, whose options Cargo hands on.
const RUSTC: &[&str] = &["rustc"];
const JVM: &[&str] = &["gradle", "gradlew", "mvn", "mvnw"];
const FORMATTERS: &[&str] = &["black", "biome", "cargo", "isort", "prettier", "ruff", "rustfmt", "dart"];

/// The options that are known. Of several rows for a word the first one counts.
const ROWS: &[Row] = &[
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
    row(JVM, Selects, "--tests|-pl|--projects", true),
    row(JVM, Selects, "-Dtest|-Dit.test|-Dgroups", false),
    row(JVM, Excludes, "-x|--exclude-task", true),
    row(JVM, Excludes, "-DexcludedGroups|-DskipITs|-Dcheckstyle.skip|-Dspotbugs.skip|-Dpmd.skip", false),
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
    row(&["nox"], Selects, "-k|-s|-t|--session|--sessions|--tags", true),
    row(&["make", "gmake"], Excludes, "-i|--ignore-errors|-n|--dry-run|--just-print|-t|--touch", false),
    row(&["pre-commit"], Requires, "-a|--all-files", false),
    row(&["tox"], Excludes, "--notest", false),
    row(FORMATTERS, Requires, "--check|--check-only|--diff|--list-different|-l|-c", false),
    row(&[], Requires, "--cov-fail-under|--fail-under|--fail-under-lines|--min-msi", true),
    row(&[], Excludes, "--dry-run|--exit-zero|--help|--no-verify", false),
    row(&[], Excludes, "--deselect*|--exclude*|--ignore*|--skip*", true),
];

/// Options that begin as those of the last row and leave out nothing that is checked.
const HARMLESS: &[&str] =
    &["--exclude-newer", "--ignore-rust-version", "--ignore-scripts", "--skip-existing", "--skip-install"];

/// Plug-ins of pytest that choose no test and judge none.
const HARMLESS_PLUGINS: &[&str] = &["cacheprovider", "randomly", "sugar"];

/// Settings of pytest that say how it reports.
const REPORTING: &[&str] = &["cache_dir", "console_output_style", "junit_", "log_", "tmp_path_retention_"];

/// Returns whether an option of pytest loads a plug-in, blocks one that chooses no test, or sets how it reports.
fn is_harmless_for_pytest(name: &str, value: &str) -> bool {
    match name {
        "-p" => value.strip_prefix("no:").is_none_or(|plugin| HARMLESS_PLUGINS.contains(&plugin)),
        "-o" | "--override-ini" => REPORTING.iter().any(|start| value.starts_with(start)),
        _ => false,
    }
}

/// Options that have no value and name no part, so that the word behind one is an operand.
const FLAGS: &[&str] = &[
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
    "--fix",
    "--frozen",
    "--locked",
    "--offline",
    "--quiet",
    "--release",
    "--run",
    "--silent",
    "--verbose",
    "-race",
];

/// Tools whose operands are the files, packages or tests that they look at.
const WITH_OPERANDS: &[&str] = &[
    "ava",
    "bandit",
    "black",
    "cargo",
    "cypress",
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
    "stylelint",
    "vitest",
];
/// Tools behind those that call them, as in `uv run pytest`; all with operands, and these.
const OTHERS: &[&str] =
    &["ctest", "gradle", "gradlew", "mvn", "mvnw", "nox", "pre-commit", "tox", "tsc", "vue-tsc"];

/// Variables of the environment that hold options, with the tools that read them.
const VARIABLES: &[(&str, &[&str])] = &[
    ("GOFLAGS", GO),
    ("GRADLE_OPTS", JVM),
    ("MAKEFLAGS", &["gmake", "make"]),
    ("MAVEN_ARGS", JVM),
    ("PYTEST_ADDOPTS", &["make", "nox", "py.test", "pytest", "tox"]),
    ("RUSTDOCFLAGS", CARGO),
    ("RUSTFLAGS", CARGO),
    ("SKIP", &["pre-commit"]),
    ("TOX_SKIP_ENV", &["gmake", "make", "tox"]),
];

/// Words that name what a tool is to do.
const SUBCOMMANDS: &[&str] = &[
    "b", "bench", "build", "c", "check", "clippy", "doc", "fmt", "format", "hack", "lint", "llvm-cov",
    "miri", "nextest", "run", "t", "test", "vet",
];
/// Operands that stand for all of a repository, or for all tests where the tool has none.
const EVERYTHING: &[&str] = &["", "*", "**", ".", "..."];
const ALL_TESTS: &[&str] = &["__tests__", "spec", "t", "test", "tests"];

/// The parts that a command looks at.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Selection {
    tool: String,
    /// Values of the options that select, by the first name of their row.
    selected: BTreeMap<&'static str, BTreeSet<String>>,
    excluded: BTreeSet<String>,
    /// First names of the options that are required, with their values.
    required: BTreeSet<String>,
    operands: BTreeSet<String>,
    /// Words behind options that nobody knows: values or operands.
    unsure: BTreeSet<String>,
    /// True if a part is chosen by a matrix or by the arguments of a script.
    is_computed: bool,
}

impl Selection {
    /// Reads the words of a command.
    pub(crate) fn of_command(words: &[&str]) -> Self {
        let base =
            |word: &str| word.rsplit('/').next().unwrap_or_default().trim_end_matches(".cmd").to_owned();
        let before = words.iter().take_while(|word| **word != "--").take(8);
        let behind_runner = before.clone().position(|word| {
            let name = base(word);
            WITH_OPERANDS.contains(&name.as_str()) || OTHERS.contains(&name.as_str())
        });
        let at = behind_runner.unwrap_or_default();
        match words.get(at) {
            Some(tool) => Self::of_options(&base(tool), &words[at + 1..]),
            None => Self::default(),
        }
    }

    /// Reads the options that an action gets for the tool in its name.
    pub(crate) fn of_action(action: &str, words: &[&str]) -> Self {
        let tools = WITH_OPERANDS.iter().filter(|tool| action.contains(**tool));
        let tool = tools.max_by_key(|tool| tool.len());
        Self::of_options(tool.copied().unwrap_or(action), words)
    }

    /// Reads the options and operands of a tool.
    pub(crate) fn of_options(tool: &str, words: &[&str]) -> Self {
        let mut selection = Self { tool: tool.to_owned(), ..Self::default() };
        let has_operands = WITH_OPERANDS.contains(&tool);
        let mut is_behind_dashes = false;
        let mut may_be_value = false;
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            let ambiguous = std::mem::take(&mut may_be_value);
            if *word == "--" {
                is_behind_dashes = true;
            } else if word.starts_with('-') && word.len() > 1 {
                let option = SplitOption::new(tool, word);
                let Some(row) = option.row else {
                    may_be_value = option.value.is_none() && !FLAGS.contains(&option.name);
                    continue;
                };
                let value = match option.value {
                    Some(value) => Some(value),
                    None if row.has_value => {
                        words.next_if(|next| !next.starts_with('-') || next.contains(' ')).copied()
                    }
                    None => None,
                };
                selection.add(row, option.name, value);
            } else if let Some(listed) = ListedPackages::new(word).filter(|_| GO.contains(&tool)) {
                selection.operands.extend(listed.packages.into_iter().map(normalized));
                selection.excluded.extend(listed.filters.into_iter().map(str::to_owned));
            } else if is_computed(word) {
                selection.is_computed = true;
            } else if word.starts_with('+') || !(has_operands || is_behind_dashes) {
            } else if ambiguous {
                selection.unsure.insert(normalized(word));
            } else if !SUBCOMMANDS.contains(word) || !selection.operands.is_empty() {
                selection.operands.insert(normalized(word));
            }
        }
        selection
    }

    fn add(&mut self, row: &'static Row, name: &str, value: Option<&str>) {
        let value = value.map(|value| value.trim_matches(['"', '\''])).unwrap_or_default();
        let first = row.names.split('|').next().unwrap_or(row.names);
        let own = if first.ends_with('*') { name } else { first };
        let text = if value.is_empty() { name.to_owned() } else { format!("{name} {value}") };
        match row.effect {
            Selects if is_computed(value) => self.is_computed = true,
            Selects if is_usual_file(&self.tool, value) => {}
            // Targets of a build are of one kind, whatever selects them.
            Selects
                if CARGO.contains(&self.tool.as_str()) && name.starts_with("--") && name != "--package" =>
            {
                self.selected.entry("--lib").or_default().insert(text);
            }
            Selects => drop(self.selected.entry(first).or_default().insert(value.to_owned())),
            Excludes if PYTEST.contains(&self.tool.as_str()) && is_harmless_for_pytest(name, value) => {}
            Excludes if matches!(value, "0" | "false") && name != "--issues-exit-code" => {}
            Excludes => drop(self.excluded.insert(text)),
            Requires if value.is_empty() => drop(self.required.insert(own.to_owned())),
            // A number may change; another rule compares it.
            Requires if value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => {
                self.required.insert(own.to_owned());
            }
            Requires => drop(self.required.insert(format!("{own} {value}"))),
        }
    }

    /// Adds the options that a variable of the environment holds for the tool.
    pub(crate) fn add_variable(&mut self, name: &str, value: &str) {
        let is_own = VARIABLES.iter().any(|(own, tools)| *own == name && tools.contains(&self.tool.as_str()));
        if !is_own {
            return;
        }
        let more = Self::of_options(&self.tool, &value.split_whitespace().collect::<Vec<_>>());
        self.excluded.extend(more.excluded);
        self.required.extend(more.required);
        for (kind, values) in more.selected {
            self.selected.entry(kind).or_default().extend(values);
        }
        if matches!(name, "SKIP" | "TOX_SKIP_ENV") {
            self.excluded.extend(value.split(',').map(|part| format!("{name} {part}")));
        }
    }

    /// Files, packages or tests that the command names.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &str> {
        self.operands.iter().map(String::as_str)
    }

    pub(crate) fn has_operand(&self, part: &str) -> bool {
        self.operands.contains(part)
    }

    /// Name of the tool.
    pub(crate) fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the words by which a newer command looks at less, in the order of their kinds; none where it does not.
    pub(crate) fn narrowed_by(&self, new: &Self) -> Vec<String> {
        let mut found: Vec<String> = new.excluded.difference(&self.excluded).cloned().collect();
        if self.tool == new.tool {
            found.extend(self.required.difference(&new.required).map(|option| format!("without {option}")));
        }
        for (kind, values) in &new.selected {
            let is_narrower = match self.selected.get(kind) {
                Some(old) => !old.is_subset(values),
                None => !self.is_computed,
            };
            if is_narrower {
                found.extend(values.iter().map(|value| format!("{kind} {value}")));
            }
        }
        if self.narrows_operands(new) {
            found.extend(new.operands.iter().cloned());
        }
        found
    }

    fn narrows_operands(&self, new: &Self) -> bool {
        if new.operands.is_empty() || new.is_computed || self.is_computed {
            return false;
        }
        if self.operands.is_empty() {
            let is_all = |operand: &String| is_everything(operand) || self.unsure.contains(operand);
            return !new.operands.iter().any(is_all);
        }
        let mut old = self.operands.iter().filter(|operand| !new.unsure.contains(*operand));
        old.any(|part| !new.operands.iter().any(|whole| is_within(part, whole)))
    }

    /// Returns whether words by which the command looks at less name a part that it leaves out.
    pub(crate) fn leaves_out(&self, words: &str) -> bool {
        self.excluded.contains(words) || words.contains(" not ")
    }

    /// Returns whether other commands together look at what this one names, each in the same way.
    pub(crate) fn is_split_among(&self, parts: &[&Self]) -> bool {
        let is_alike = |part: &&Self| {
            let whole = Self { operands: self.operands.clone(), ..(**part).clone() };
            self.narrowed_by(&whole).is_empty()
        };
        let is_named = |operand: &String| parts.iter().any(|part| part.operands.contains(operand));
        !self.operands.is_empty() && parts.iter().all(is_alike) && self.operands.iter().all(is_named)
    }

    /// Returns whether the command selects what another one leaves out: `-m slow` for `-m "not slow"`.
    pub(crate) fn makes_up_for(&self, words: &str) -> bool {
        let part = words.split_once(' ').map(|(_, value)| value).unwrap_or(words);
        let selected = self.selected.values().flatten().filter(|value| !value.starts_with("not "));
        let selected = selected.chain(&self.operands);
        let mut selected = selected.map(|value| value.rsplit(' ').next().unwrap_or(value));
        let part = part.rsplit(' ').next().unwrap_or(part);
        !part.is_empty() && selected.any(|value| value == part)
    }
}

/// An option with what is known of it.
struct SplitOption<'w> {
    name: &'w str,
    value: Option<&'w str>,
    row: Option<&'static Row>,
}

impl<'w> SplitOption<'w> {
    fn new(tool: &str, word: &'w str) -> Self {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let row = row_of(tool, name);
        // `-kname`, for tools whose long options have two dashes.
        let has_short_options = PYTEST.contains(&tool) || CARGO.contains(&tool) || RUSTC.contains(&tool);
        if row.is_none() && has_short_options && !name.starts_with("--") && word.is_char_boundary(2) {
            let (short, rest) = word.split_at(2.min(word.len()));
            let row = row_of(tool, short).filter(|row| row.has_value && !rest.is_empty());
            return Self { name: short, value: row.map(|_| rest), row };
        }
        Self { name, value, row }
    }
}

fn row_of(tool: &str, name: &str) -> Option<&'static Row> {
    if HARMLESS.contains(&name) || is_about_addresses(tool, name) {
        return None;
    }
    ROWS.iter().find(|row| {
        let is_of_tool = row.tools.is_empty() || row.tools.contains(&tool);
        is_of_tool
            && row.names.split('|').any(|own| match own.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => name == own,
            })
    })
}

/// Returns whether a word stands for what a matrix or the caller of a script chooses.
fn is_computed(word: &str) -> bool {
    let is_passed_on =
        ["$@", "$*", "ARGS", "FLAGS", "OPTS", "posargs"].iter().any(|name| word.contains(name));
    word.contains("matrix.") || is_passed_on && word.contains(['$', '{'])
}

/// Returns a part without what makes no difference: `./a/` is `a`.
fn normalized(word: &str) -> String {
    word.trim_matches(['"', '\'']).trim_start_matches("./").trim_end_matches('/').to_owned()
}

/// Returns whether a part stands for all tests or files of a repository.
pub(crate) fn is_everything(part: &str) -> bool {
    let part = part.trim_start_matches("<rootDir>").trim_start_matches(['.', '/']).trim_end_matches('/');
    EVERYTHING.contains(&part) || ALL_TESTS.contains(&part)
}

/// Returns whether a part is all or a part of another one: a file of a directory, a test of a file.
pub(crate) fn is_within(part: &str, whole: &str) -> bool {
    let root = whole.trim_end_matches("...").trim_end_matches(['*', '/']);
    let rest = part.strip_prefix(root);
    part == whole
        || whole.contains('*') && !whole.contains('/') && is_match(whole, part)
        || EVERYTHING.contains(&whole) && !(whole == "." && part.ends_with("..."))
        || !root.is_empty()
            && rest.is_some_and(|rest| rest.is_empty() && whole != root || rest.starts_with(['/', ':']))
}

/// Returns whether a text has the pieces of a pattern, which `*` parts, in their order.
fn is_match(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let last = pieces.next_back().unwrap_or_default();
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_looks_at_less_says_by_which_words() {
        for (old, new, expected) in [
            ("cargo test", "cargo test -p other", "-p other"),
            ("cargo test -p a", "cargo test -p a -p b", ""),
            ("cargo test -p a", "cargo test -p b", "-p b"),
            ("cargo test", "cargo test -- --skip slow", "--skip slow"),
            ("cargo test", "cargo test --lib", "--lib --lib"),
            ("cargo test --lib", "cargo test --lib --bins", ""),
            ("cargo test --workspace", "cargo test", "without --all"),
            ("cargo test --all", "cargo test --workspace --locked", ""),
            ("cargo test", "cargo +nightly test --release", ""),
            ("cargo test", "cargo test one_test", "one_test"),
            ("cargo test", "cargo test -pother", "-p other"),
            ("cargo clippy -- -D warnings", "cargo clippy", "without -D warnings"),
            ("cargo fmt --check", "cargo fmt", "without --check"),
            ("cargo fmt --check", "cargo fmt --all -- --check", ""),
            ("pytest", "pytest -q -n auto tests", ""),
            ("pytest", "pytest -q tests/unit", "tests/unit"),
            ("pytest tests/unit", "pytest tests", ""),
            ("pytest tests", "pytest tests/unit", "tests/unit"),
            ("pytest tests", "uv run pytest tests -x --maxfail=1", ""),
            ("pytest", "python -m pytest --ignore=tests/a", "--ignore tests/a"),
            ("pytest", "pytest -kslow", "-k slow"),
            ("go test ./...", "go test ./sub", "sub"),
            ("go test ./...", "go test ./sub/...", "sub/..."),
            ("go test ./...", "go test -v -count=1 ./...", ""),
            ("go test ./...", "go test -exec true ./...", "-exec true"),
            ("jest", "jest --shard=1/4", "--shard 1/4"),
            ("jest", "jest --shard=${{matrix.shard}}", ""),
            ("jest", "jest -c other.js", "-c other.js"),
            ("jest", "jest --config jest.config.ts", ""),
            ("mvn verify", "mvn -f sub/pom.xml verify", "-f sub/pom.xml"),
            ("mvn verify", "mvn -f pom.xml verify", ""),
            ("npm test", "npm test -- --testPathPattern unit", "-t unit"),
            ("npm test", "npm test -- unit", "unit"),
            ("npm test", "npm test --silent", ""),
            ("ruff check .", "ruff check src", "src"),
            ("ruff check", "ruff check .", ""),
            ("mypy src", "mypy --strict src", ""),
            ("pytest", "pytest ${{ matrix.args }}", ""),
            ("pytest", "pytest \"$@\"", ""),
            ("make test", "make -i test", "-i"),
            ("eslint --max-warnings 0 .", "eslint .", "without --max-warnings"),
            ("eslint --max-warnings 0 .", "eslint --max-warnings=9 .", ""),
        ] {
            let [old, new] =
                [old, new].map(|text| Selection::of_command(&text.split_whitespace().collect::<Vec<_>>()));
            assert_eq!(old.narrowed_by(&new).join(", "), expected, "{old:?} {new:?}");
        }
    }
}
