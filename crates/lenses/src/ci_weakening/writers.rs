//! Formatters and linters that write: they put right what they find, so that they, and checks behind them, find less.

/// A command of a tool that puts right what it finds, with the options that decide whether it writes.
struct Writer {
    tool: &'static str,
    /// First operand of the command; empty for a tool without commands.
    subcommand: &'static str,
    writes: Writes,
    /// Options by which it reports a difference.
    checks: &'static [&'static str],
    /// Commands of the same group check the same.
    group: &'static str,
    after: After,
}

/// Condition under which a command writes.
enum Writes {
    Unasked,
    /// With one of these options.
    Asked(&'static [&'static str]),
    Never,
}

/// Outcome of a command that wrote.
#[derive(PartialEq, Eq)]
enum After {
    Succeeds,
    /// It fails where something is left that it cannot put right.
    JudgesRest,
    Fails,
}

const fn unasked(tool: &'static str, subcommand: &'static str, checks: &'static [&'static str]) -> Writer {
    Writer { tool, subcommand, writes: Writes::Unasked, checks, group: tool, after: After::Succeeds }
}

const fn asked(
    tool: &'static str,
    subcommand: &'static str,
    writes: &'static [&'static str],
    checks: &'static [&'static str],
) -> Writer {
    Writer { writes: Writes::Asked(writes), ..unasked(tool, subcommand, checks) }
}

/// A linter that repairs a part of what it finds.
const fn repairs(tool: &'static str, subcommand: &'static str, writes: &'static [&'static str]) -> Writer {
    Writer { after: After::JudgesRest, ..asked(tool, subcommand, writes, &[]) }
}

/// A command that only checks.
const fn checks(tool: &'static str, subcommand: &'static str) -> Writer {
    Writer { writes: Writes::Never, ..unasked(tool, subcommand, &[]) }
}

impl Writer {
    const fn of(self, group: &'static str) -> Self {
        Self { group, ..self }
    }
}

const WRITERS: &[Writer] = &[
    unasked("alejandra", "", &["--check", "-c"]),
    asked("autopep8", "", &["--in-place", "-i"], &["--diff", "--exit-code", "-d"]),
    asked("biome", "format", &["--fix", "--write"], &[]),
    repairs("biome", "check", &["--apply", "--apply-unsafe", "--fix", "--write"]),
    repairs("biome", "lint", &["--apply", "--apply-unsafe", "--fix", "--write"]),
    checks("biome", "ci"),
    unasked("black", "", &["--check", "--diff"]),
    asked("buf", "format", &["--write", "-w"], &["--diff", "--exit-code", "-d"]),
    repairs("cargo", "clippy", &["--fix"]).of("cargo clippy"),
    unasked("cargo", "fmt", &["--check"]).of("rustfmt"),
    asked("clang-format", "", &["-i"], &["--Werror", "--dry-run", "-Werror", "-n"]),
    unasked("dart", "format", &["--output", "--set-exit-if-changed", "-o"]),
    unasked("deno", "fmt", &["--check"]),
    unasked("dotnet", "format", &["--verify-no-changes"]),
    unasked("dprint", "fmt", &[]),
    checks("dprint", "check"),
    unasked("cargo", "sort", &["--check", "-c"]).of("cargo sort"),
    repairs("ava", "", &["--update-snapshots", "-u"]),
    repairs("bun", "test", &["--update-snapshots", "-u"]),
    repairs("cargo", "insta", &["--accept", "--accept-unseen", "--force-update-snapshots"]).of("cargo insta"),
    repairs("eslint", "", &["--fix"]),
    repairs("flutter", "test", &["--update-goldens"]),
    unasked("go", "fmt", &[]).of("gofmt"),
    repairs(
        "go",
        "test",
        &[
            "--update",
            "--update-golden",
            "-golden.update",
            "-test.update-golden",
            "-update",
            "-update-golden",
        ],
    ),
    asked("gofmt", "", &["-w"], &["-d"]),
    asked("gofumpt", "", &["-w"], &["-d"]),
    asked("goimports", "", &["-w"], &["-d"]),
    unasked("golangci-lint", "fmt", &["--diff", "-d"]).of("gofmt"),
    repairs("golangci-lint", "run", &["--fix"]),
    unasked("gradle", "spotlessApply", &[]).of("spotless"),
    checks("gradle", "spotlessCheck").of("spotless"),
    unasked("gradlew", "spotlessApply", &[]).of("spotless"),
    checks("gradlew", "spotlessCheck").of("spotless"),
    unasked("isort", "", &["--check", "--check-only", "--diff", "-c"]),
    repairs("jest", "", &["--updateSnapshot", "-u"]),
    repairs("ktlint", "", &["--format", "-F"]),
    repairs("markdownlint", "", &["--fix", "-f"]),
    repairs("markdownlint-cli2", "", &["--fix"]),
    unasked("mix", "format", &["--check-formatted", "--dry-run"]),
    unasked("mvn", "spotless:apply", &[]).of("spotless"),
    checks("mvn", "spotless:check").of("spotless"),
    unasked("mvnw", "spotless:apply", &[]).of("spotless"),
    checks("mvnw", "spotless:check").of("spotless"),
    unasked("nix", "fmt", &["--ci", "--fail-on-change"]).of("treefmt"),
    unasked("nixfmt", "", &["--check", "-c"]),
    unasked("oxfmt", "", &["--check", "--list-different"]),
    repairs("oxlint", "", &["--fix"]),
    unasked("php-cs-fixer", "fix", &["--dry-run"]),
    checks("php-cs-fixer", "check"),
    unasked("pint", "", &["--test"]),
    Writer { after: After::Fails, ..unasked("pre-commit", "run", &[]) }.of("pre-commit"),
    Writer { after: After::Fails, ..unasked("prek", "run", &[]) }.of("pre-commit"),
    repairs("playwright", "test", &["--update-snapshots", "-u"]),
    asked("prettier", "", &["--write", "-w"], &["--check", "--list-different", "-c", "-l"]),
    repairs(
        "pytest",
        "",
        &[
            "--force-regen",
            "--golden-update",
            "--inline-snapshot=create",
            "--inline-snapshot=create,fix",
            "--inline-snapshot=fix",
            "--inline-snapshot=update",
            "--mpl-generate-path",
            "--record-mode=rewrite",
            "--regen-all",
            "--snapshot-update",
            "--update-golden",
            "--update-goldens",
            "--update-snapshots",
        ],
    ),
    repairs("rubocop", "", &["--autocorrect", "--autocorrect-all", "--auto-correct", "-A", "-a"]),
    repairs("ruff", "check", &["--fix", "--fix-only"]).of("ruff check"),
    unasked("ruff", "format", &["--check", "--diff"]),
    unasked("rustfmt", "", &["--check"]),
    unasked("scalafmt", "", &["--check", "--list", "--test"]),
    asked("shfmt", "", &["--write", "-w"], &["--diff", "-d"]),
    repairs("standard", "", &["--fix"]),
    repairs("standardrb", "", &["--fix"]),
    repairs("stylelint", "", &["--fix"]),
    unasked("stylua", "", &["--check"]),
    unasked("swiftformat", "", &["--dryrun", "--lint"]),
    repairs("swiftlint", "", &["--autocorrect", "--fix"]),
    unasked("taplo", "fmt", &["--check"]),
    unasked("taplo", "format", &["--check"]),
    unasked("terraform", "fmt", &["--check", "-check"]),
    unasked("tofu", "fmt", &["--check", "-check"]),
    unasked("treefmt", "", &["--ci", "--fail-on-change"]),
    repairs("vitest", "", &["--update", "-u"]),
    repairs("xo", "", &["--fix"]),
    asked("yapf", "", &["--in-place", "-i"], &["--diff", "-d", "-q"]),
    unasked("zig", "fmt", &["--check"]),
];

/// Words before the name of a tool that start it.
const STARTERS: &[&str] = &[
    "bun", "bundle", "bunx", "command", "composer", "env", "exec", "hatch", "npm", "npx", "pdm", "php",
    "pipenv", "pipx", "pnpm", "poetry", "python", "python3", "run", "sudo", "time", "tool", "uv", "uvx",
    "xargs", "yarn",
];

/// Marks of words that another program replaces by options.
const COMPUTED: &[&str] = &["$@", "$*", "ARGS", "FLAGS", "OPTS", "OPTIONS", "matrix.", "posargs"];

/// A command that runs a formatter.
struct Run<'c> {
    writer: &'static Writer,
    /// Words behind the name of the tool.
    words: Vec<&'c str>,
}

/// Returns whether a command only formats files and writes them, so that it fails for no difference.
pub(super) fn only_writes(command: &str) -> bool {
    Run::new(command).is_some_and(|run| run.only_writes())
}

/// Returns whether a command runs a formatter or a linter of this table.
pub(super) fn is_known_tool(command: &str) -> bool {
    Run::new(command).is_some()
}

/// Returns whether a command runs a formatter or a linter that writes.
pub(super) fn writes(command: &str) -> bool {
    Run::new(command).is_some_and(|run| run.writes())
}

/// Returns whether a linter puts right a part of what it finds, so that only the rest makes it fail.
pub(super) fn repairs_before_it_judges(command: &str) -> bool {
    Run::new(command).is_some_and(|run| run.writes() && run.writer.after == After::JudgesRest)
}

/// Returns whether a command puts right what another one checks. One that fails where it wrote does so only where its
/// failure is lost.
pub(super) fn forestalls(writing: &str, is_lost: bool, checking: &str) -> bool {
    let (Some(writing), Some(checking)) = (Run::new(writing), Run::new(checking)) else { return false };
    let goes_on = is_lost || writing.writer.after != After::Fails;
    let may_fail = !checking.only_writes()
        && (is_lost || !std::ptr::eq(writing.writer, checking.writer) || !checking.writes());
    writing.writer.group == checking.writer.group
        && writing.writes()
        && goes_on
        && may_fail
        && writing.covers(&checking)
}

/// Returns a command without the option by which it only checks, whatever its tool: `manage.py makemigrations` of
/// `manage.py makemigrations --check`.
pub(super) fn without_check(command: &str) -> Option<String> {
    const CHECKS: &[&str] = &[
        "--check",
        "--check-only",
        "--ci",
        "--diff",
        "--dry-run",
        "--fail-on-change",
        "--test",
        "--verify",
        "--verify-no-changes",
        "-check",
        "-diff",
    ];
    let (checks, left): (Vec<&str>, Vec<&str>) =
        command.split_whitespace().partition(|word| CHECKS.contains(word));
    (!checks.is_empty()).then(|| left.join(" "))
}

/// Returns whether a word may stand before the name of a tool that a command runs.
fn is_before_tool(word: &str) -> bool {
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    word.starts_with('-') || word.contains('=') || is_number || STARTERS.contains(&word)
}

impl Writer {
    /// Returns whether words behind the name of the tool ask for its formatter.
    fn is_meant_by(&self, words: &[&str]) -> bool {
        let mut operands = words.iter().filter(|word| !word.starts_with(['-', '+']));
        match self.subcommand {
            "" => true,
            // Tasks of a build may stand in any order.
            task if self.group == "spotless" => operands.any(|word| word.ends_with(task)),
            task => operands.next() == Some(&task),
        }
    }
}

impl<'c> Run<'c> {
    fn new(command: &'c str) -> Option<Self> {
        let mut words = command.split_whitespace().skip_while(|word| is_before_tool(word));
        let name = words.next()?.rsplit('/').next().unwrap_or_default();
        let tool = name.trim_end_matches(".cmd").trim_end_matches(".exe");
        let words: Vec<&str> = words.collect();
        let mut own = WRITERS.iter().filter(|writer| writer.tool == tool);
        own.find(|writer| writer.is_meant_by(&words)).map(|writer| Self { writer, words })
    }

    fn only_writes(&self) -> bool {
        self.writes() && self.writer.after == After::Succeeds
    }

    fn writes(&self) -> bool {
        let writes = match self.writer.writes {
            Writes::Unasked => true,
            Writes::Asked(options) => self.has_option(options),
            Writes::Never => false,
        };
        let is_computed = self.words.iter().any(|word| COMPUTED.iter().any(|mark| word.contains(mark)));
        writes && !self.has_option(self.writer.checks) && !is_computed
    }

    /// Returns whether it works on all files that another run of the tool works on, by their words.
    fn covers(&self, other: &Self) -> bool {
        const ALL: &[&str] = &[".", "./", "./...", "--all-files"];
        let mut own = self.operands().peekable();
        let mut words = self.words.iter().map(|word| word.trim_matches(['"', '\'']));
        own.peek().is_none()
            || words.any(|word| ALL.contains(&word) || word.starts_with("*.") || word.starts_with("**"))
            || other.operands().next().is_some()
                && other.operands().all(|operand| self.operands().any(|own| own == operand))
    }

    /// Returns the words that are neither options nor the subcommand.
    fn operands(&self) -> impl Iterator<Item = &'c str> {
        let words =
            self.words.iter().copied().filter(|word| !word.starts_with(['-', '+', '&', '|', '>', '<']));
        words.filter(|word| *word != self.writer.subcommand)
    }

    fn has_option(&self, options: &[&str]) -> bool {
        self.words
            .iter()
            .filter(|word| !word.ends_with("=false") && !word.ends_with("=0"))
            .any(|word| options.contains(word) || options.contains(&word.split('=').next().unwrap_or(word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formatter_that_writes_is_told_from_one_that_checks() {
        for (command, expected) in [
            ("pnpm prettier --write --ignore-path \"\" $dir", true),
            ("npx prettier -w .", true),
            ("prettier .", false),
            ("prettier --check .", false),
            ("prettier --check --write .", false),
            ("eslint --fix .", false),
            ("black .", true),
            ("python -m black src", true),
            ("black --check src", false),
            ("black --diff src", false),
            ("uv run ruff format", true),
            ("ruff format --check", false),
            ("ruff check --fix", false),
            ("gofmt -w .", true),
            ("gofmt -l .", false),
            ("find . | xargs gofmt -w", false),
            ("xargs -n 1 gofmt -w", true),
            ("cargo fmt", true),
            ("cargo +nightly fmt --all", true),
            ("cargo fmt --all -- --check", false),
            ("cargo fmt $FMT_ARGS", false),
            ("cargo test", false),
            ("rustfmt src/lib.rs", true),
            ("isort .", true),
            ("isort --check-only .", false),
            ("clang-format -i a.c", true),
            ("clang-format --dry-run --Werror a.c", false),
            ("dprint fmt", true),
            ("dprint check", false),
            ("biome format --write", true),
            ("biome check --write", false),
            ("biome format", false),
            ("./gradlew spotlessApply", true),
            ("./gradlew build :app:spotlessApply", true),
            ("./gradlew spotlessCheck", false),
            ("terraform fmt -check", false),
            ("vendor/bin/php-cs-fixer fix", true),
            ("vendor/bin/php-cs-fixer fix --dry-run", false),
            ("pytest tests/black", false),
            ("make black", false),
        ] {
            assert_eq!(only_writes(command), expected, "{command}");
        }
    }

    #[test]
    fn a_command_loses_the_option_by_which_it_checks() {
        for (command, expected) in [
            ("python manage.py makemigrations --check", Some("python manage.py makemigrations")),
            ("go mod tidy -diff", Some("go mod tidy")),
            ("cargo test --locked", None),
        ] {
            assert_eq!(without_check(command).as_deref(), expected, "{command}");
        }
    }

    #[test]
    fn a_formatter_that_writes_forestalls_its_own_check() {
        for (writing, checking, expected) in [
            ("black .", "black --check .", true),
            ("black src", "black --check src", true),
            ("black docs", "black --check src", false),
            ("prettier --write docs/generated", "prettier --check src", false),
            ("terraform fmt /tmp/gen", "terraform fmt -check", false),
            ("gofmt -w internal/gen", "gofmt -d cmd", false),
            ("cargo fmt", "cargo fmt --check", true),
            ("npx prettier -w .", "yarn prettier --check .", true),
            ("black .", "ruff format --check", false),
            ("black --check .", "black --check .", false),
            ("black .", "black .", false),
            ("cargo fmt", "cargo test", false),
            ("npx eslint --fix .", "npx eslint .", true),
            ("eslint --fix src", "eslint test", false),
            ("ruff check --fix", "ruff format --check", false),
            ("cargo clippy --fix", "cargo clippy -- -D warnings", true),
            ("go fmt ./...", "gofmt -l .", true),
            ("./gradlew spotlessApply", "./gradlew build :app:spotlessCheck", true),
            ("biome check --write", "biome ci", true),
            ("cargo test", "cargo test --locked", false),
            ("npx jest -u", "npx jest --ci", true),
            ("pre-commit run --all-files", "pre-commit run --all-files", false),
        ] {
            assert_eq!(forestalls(writing, false, checking), expected, "{writing}, {checking}");
        }
    }
}
