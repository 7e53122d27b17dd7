//! Formatters that write: they put right what they find and succeed, so that they check nothing.

/// Commands of a formatter, with the options that decide whether it writes.
struct Writer {
    tool: &'static str,
    /// First operand that is about formatting; empty for a tool that does nothing else.
    subcommand: &'static str,
    /// Options by which alone it writes; none where it writes unasked.
    writes: &'static [&'static str],
    /// Options by which it reports a difference.
    checks: &'static [&'static str],
}

const fn unasked(tool: &'static str, subcommand: &'static str, checks: &'static [&'static str]) -> Writer {
    Writer { tool, subcommand, writes: &[], checks }
}

const fn asked(
    tool: &'static str,
    subcommand: &'static str,
    writes: &'static [&'static str],
    checks: &'static [&'static str],
) -> Writer {
    Writer { tool, subcommand, writes, checks }
}

const WRITERS: &[Writer] = &[
    unasked("alejandra", "", &["--check", "-c"]),
    asked("autopep8", "", &["--in-place", "-i"], &["--diff", "--exit-code", "-d"]),
    asked("biome", "format", &["--fix", "--write"], &[]),
    unasked("black", "", &["--check", "--diff"]),
    asked("buf", "format", &["--write", "-w"], &["--diff", "--exit-code", "-d"]),
    unasked("cargo", "fmt", &["--check"]),
    asked("clang-format", "", &["-i"], &["--Werror", "--dry-run", "-Werror", "-n"]),
    unasked("dart", "format", &["--output", "--set-exit-if-changed", "-o"]),
    unasked("deno", "fmt", &["--check"]),
    unasked("dotnet", "format", &["--verify-no-changes"]),
    unasked("dprint", "fmt", &[]),
    asked("gofmt", "", &["-w"], &["-d"]),
    asked("gofumpt", "", &["-w"], &["-d"]),
    asked("goimports", "", &["-w"], &["-d"]),
    unasked("gradle", "spotlessApply", &[]),
    unasked("gradlew", "spotlessApply", &[]),
    unasked("isort", "", &["--check", "--check-only", "--diff", "-c"]),
    unasked("mix", "format", &["--check-formatted", "--dry-run"]),
    unasked("mvn", "spotless:apply", &[]),
    unasked("mvnw", "spotless:apply", &[]),
    unasked("nixfmt", "", &["--check", "-c"]),
    unasked("oxfmt", "", &["--check", "--list-different"]),
    unasked("php-cs-fixer", "fix", &["--dry-run"]),
    unasked("pint", "", &["--test"]),
    asked("prettier", "", &["--write", "-w"], &["--check", "--list-different", "-c", "-l"]),
    unasked("ruff", "format", &["--check", "--diff"]),
    unasked("rustfmt", "", &["--check"]),
    unasked("scalafmt", "", &["--check", "--list", "--test"]),
    asked("shfmt", "", &["--write", "-w"], &["--diff", "-d"]),
    unasked("stylua", "", &["--check"]),
    unasked("swiftformat", "", &["--dryrun", "--lint"]),
    unasked("taplo", "fmt", &["--check"]),
    unasked("taplo", "format", &["--check"]),
    unasked("terraform", "fmt", &["--check", "-check"]),
    unasked("tofu", "fmt", &["--check", "-check"]),
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

/// Returns whether a command that only writes puts right what another one checks with the same tool.
pub(super) fn forestalls(writing: &str, checking: &str) -> bool {
    let (Some(writing), Some(checking)) = (Run::new(writing), Run::new(checking)) else { return false };
    let is_same = std::ptr::eq(writing.writer, checking.writer);
    is_same && writing.only_writes() && !checking.only_writes() && writing.covers(&checking)
}

/// Returns whether a command fails where files differ from what is committed.
pub(super) fn judges_differences(command: &str) -> bool {
    const ENDS: &[&str] = &["--exit-code", "--quiet"];
    const EMPTY: &[&str] = &["[ -z ", "[[ -z ", "test -z "];
    let words: Vec<&str> = command.split_whitespace().collect();
    let is_diff = matches!(
        words.as_slice(),
        ["git", "diff" | "diff-files" | "diff-index", ..] | ["git", "--no-pager", "diff", ..]
    );
    let fails = words.iter().any(|word| ENDS.contains(word));
    // Other commits, and what is staged, are no differences that a job made.
    let is_own = !words.iter().any(|word| {
        matches!(*word, "--cached" | "--staged" | "main" | "master")
            || ["$", "..", "@", "^", "origin/", "~"].iter().any(|sign| word.contains(sign))
    });
    let is_empty = EMPTY.iter().any(|test| command.starts_with(test));
    is_diff && fails && is_own || is_empty && looks_at_differences(command)
}

/// Returns whether a command may judge differences, by a status or a diff that a condition or a variable takes.
pub(super) fn may_judge_differences(command: &str) -> bool {
    let takes = ["$(git ", "`git "].iter().any(|begin| command.contains(begin));
    let is_diff = command.starts_with("git ") && command.contains("diff");
    judges_differences(command)
        || takes && looks_at_differences(command)
        || is_diff && ["--exit-code", "--quiet"].iter().any(|end| command.contains(end))
}

/// Returns whether a command looks at differences from what is committed, by which a formatter before it becomes a check.
pub(super) fn looks_at_differences(command: &str) -> bool {
    const LOOKS: &[&str] =
        &["git diff", "git status", "git ls-files", "changed-files", "git-status", "git update-index"];
    LOOKS.iter().any(|look| command.contains(look)) || command.contains("git -C") && command.contains("diff")
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
            task if task.contains("potless") => operands.any(|word| word.ends_with(task)),
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
        let writes = self.writer.writes.is_empty() || self.has_option(self.writer.writes);
        let is_computed = self.words.iter().any(|word| COMPUTED.iter().any(|mark| word.contains(mark)));
        writes && !self.has_option(self.writer.checks) && !is_computed
    }

    /// Returns whether it works on all files that another run of the tool works on, by their words.
    fn covers(&self, other: &Self) -> bool {
        const ALL: &[&str] = &[".", "./", "./...", "**/*", "**"];
        let mut own = self.operands().peekable();
        own.peek().is_none()
            || self.operands().any(|operand| ALL.contains(&operand))
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
        self.words.iter().any(|word| options.contains(&word.split('=').next().unwrap_or(word)))
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
        ] {
            assert_eq!(forestalls(writing, checking), expected, "{writing}, {checking}");
        }
    }

    #[test]
    fn a_command_that_fails_by_differences_is_told_from_one_that_shows_them() {
        for (command, expected) in [
            ("git diff --exit-code", true),
            ("git diff --exit-code -- src/gen", true),
            ("git diff-index --quiet HEAD", true),
            ("[ -z \"$(git status --porcelain)\" ]", true),
            ("test -z \"$(gofmt -l .)\"", false),
            ("git diff", false),
            ("git diff --cached --quiet", false),
            ("git diff --quiet origin/main -- docs", false),
            ("git diff --quiet HEAD~1", false),
            ("git status --porcelain", false),
        ] {
            assert_eq!(judges_differences(command), expected, "{command}");
        }
    }

    #[test]
    fn a_look_at_differences_is_known() {
        for (command, expected) in [
            ("git diff --exit-code", true),
            ("test -z \"$(git status --porcelain)\"", true),
            ("git -C sub diff --quiet", true),
            ("uses tj-actions/verify-changed-files", true),
            ("git commit -m a", false),
            ("diff a b", false),
        ] {
            assert_eq!(looks_at_differences(command), expected, "{command}");
        }
    }
}
