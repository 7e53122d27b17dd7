//! Commands that fail a job where files differ from what is committed, and those that take such differences away.

use super::writers::is_known_tool;

/// Begins of commands by which a shell tests a text.
const TESTS: &[&str] = &["[ ", "[[ ", "test "];

/// Options by which git ends with a failure where something differs.
const ENDS: &[&str] = &["--exit-code", "--quiet"];

/// Returns whether a command fails where files differ from what is committed.
pub(super) fn judges_differences(command: &str) -> bool {
    let words = words_of_git(command);
    let is_diff = matches!(words.as_slice(), ["diff" | "diff-files" | "diff-index", ..]);
    let fails = words.iter().any(|word| ENDS.contains(word));
    // Other commits are no differences that a job made.
    let mut before_paths = words.iter().take_while(|word| **word != "--");
    let is_own = before_paths.clone().filter(|word| **word == "HEAD").count() < 2
        && !before_paths.any(|word| {
            matches!(*word, "main" | "master")
                || ["$", "..", "@", "^", "origin/", "~"].iter().any(|sign| word.contains(sign))
        });
    let compares = matches!(command.split_whitespace().next(), Some("cmp" | "diff"));
    is_diff && fails && is_own || compares || tested_output(command).is_some_and(looks_at_differences)
}

/// Returns whether a command may judge differences, by a status or a diff that a condition or a variable takes.
pub(super) fn may_judge_differences(command: &str) -> bool {
    let takes = ["$(git ", "`git "].iter().any(|begin| command.contains(begin));
    let is_diff = command.starts_with("git ") && command.contains("diff");
    let takes = takes && !["echo ", "printf "].iter().any(|begin| command.starts_with(begin));
    judges_differences(command)
        || takes && looks_at_differences(command)
        || is_diff && ENDS.iter().any(|end| command.contains(end))
}

/// Returns whether a command looks at differences from what is committed, by which a formatter before it becomes a check.
pub(super) fn looks_at_differences(command: &str) -> bool {
    const LOOKS: &[&str] =
        &["git diff", "git status", "git ls-files", "changed-files", "git-status", "git update-index"];
    LOOKS.iter().any(|look| command.contains(look)) || command.contains("git -C") && command.contains("diff")
}

/// Returns the command whose output a test of the shell looks at: `gofmt -l .` of `[ -z "$(gofmt -l .)" ]`.
pub(super) fn tested_output(command: &str) -> Option<&str> {
    if !TESTS.iter().any(|test| command.starts_with(test)) {
        return None;
    }
    let (_, behind) = command.split_once("$(").or_else(|| command.split_once('`'))?;
    let end = behind.rfind([')', '`'])?;
    Some(behind[..end].trim())
}

/// Returns the command whose output a test looks at, where it lists what a formatter or linter would report.
pub(super) fn tested_listing(command: &str) -> Option<&str> {
    tested_output(command).filter(|inner| is_known_tool(inner))
}

/// Returns whether a test of the shell succeeds where there is an output: the failure of the job is what it leads to.
pub(super) fn is_about_presence(command: &str) -> bool {
    const PRESENT: &[&str] = &[" -n ", " -ne 0", " -gt 0", " != \"\"", " != ]", " != 0", " > 0"];
    const ABSENT: &[&str] = &[" -z ", " -eq 0", " = ", " == ", " -lt 1"];
    let is_turned = command.contains("[ ! ") || command.starts_with("test ! ");
    let is_present = PRESENT.iter().any(|sign| command.contains(sign))
        || !ABSENT.iter().any(|sign| command.contains(sign)) && tested_output(command).is_some();
    is_present != is_turned
}

/// Returns whether a command of a statement of the shell is one that fails.
pub(super) fn has_failure(statement: &str) -> bool {
    let mut commands = statement.split(['\n', ';', '&', '|', '{', '}', '(', ')']);
    commands.any(|command| {
        let mut words = command.split_whitespace().skip_while(|word| matches!(*word, "do" | "else" | "then"));
        match words.next() {
            Some("false") => true,
            Some("exit" | "return") => words.next().is_some_and(|status| status.trim_matches('"') != "0"),
            Some(_) | None => false,
        }
    })
}

/// Returns whether a command takes away the differences that another one looks for: it stages, commits, stashes or undoes
/// all of them.
pub(super) fn takes_away(command: &str, look: &str) -> bool {
    const ALL: &[&str] = &[".", ":/", "*", "-f", "--force", "./"];
    if !look.contains("git ") {
        return false;
    }
    let words = words_of_git(command);
    let is_diff_of_files =
        words_of_git(look).first().is_some_and(|first| matches!(*first, "diff" | "diff-files"));
    match words.as_slice() {
        // They are staged: a diff of the files alone has them no more.
        ["add", ..] => {
            let is_kept = has_any(&words, &["-N", "--intent-to-add", "-n", "--dry-run"]);
            !is_kept && is_diff_of_files && !look.contains("HEAD") && !is_staged(look)
        }
        ["commit", rest @ ..] => !rest.is_empty(),
        ["stash"] | ["stash", "push" | "save" | "-u" | "--include-untracked" | "-q", ..] => true,
        ["reset", ..] => has_any(&words, &["--hard"]),
        ["checkout" | "restore", ..] => has_any(&words, ALL),
        ["update-index", ..] => has_any(&words, &["--assume-unchanged", "--skip-worktree"]),
        _ => false,
    }
}

fn has_any(words: &[&str], options: &[&str]) -> bool {
    words.iter().any(|word| options.contains(word))
}

/// Returns whether a look at differences is about what is staged.
pub(super) fn is_staged(look: &str) -> bool {
    look.contains("--cached") || look.contains("--staged")
}

/// Returns the words by which one look at differences leaves out what another one has.
pub(super) fn left_out(old: &str, new: &str) -> Vec<String> {
    const FILTERS: &[&str] = &["| grep -v", "| head -0", "| head -n 0", "> /dev/null"];
    let [old_text, new_text] = [old, new].map(|command| tested_output(command).unwrap_or(command));
    let [old, new] = [old_text, new_text].map(words_of_git);
    if old.first() != new.first() {
        return Vec::new();
    }
    // A path may stand without dashes before it.
    let has_paths = old.iter().skip(1).any(|word| !word.starts_with('-'));
    let own: Vec<&str> = new.iter().copied().map(|word| word.trim_matches(['"', '\''])).collect();
    let filters =
        FILTERS.iter().copied().filter(|filter| new_text.contains(filter) && !old_text.contains(filter));
    let loose = own.iter().copied().filter(|word| is_loose(word) && !old.contains(word));
    let narrow = paths(&own).filter(|word| !has_paths && !is_loose(word));
    loose.chain(narrow).chain(filters).map(str::to_owned).collect()
}

/// Returns whether a word of a look at differences leaves some of them out.
fn is_loose(word: &str) -> bool {
    const BEGINS: &[&str] =
        &["--diff-filter", "--ignore", "--untracked-files=no", "-I", "-b", "-uno", "-w", ":!", ":(exclude"];
    BEGINS.iter().any(|begin| word.starts_with(begin))
}

/// Returns whether a command only shows differences to whoever reads the log.
pub(super) fn only_shows(command: &str) -> bool {
    let words = words_of_git(command);
    let is_look = matches!(words.first(), Some(&("diff" | "status")));
    let is_read =
        has_any(&words, &["--exit-code", "--name-only", "--porcelain", "--quiet", "--short", "-s", "-z"]);
    is_look && !is_read && !words.iter().any(|word| word.starts_with("--porcelain"))
}

/// Returns whether a command fails where a lockfile is not up to date, or looks at the differences of one.
pub(super) fn is_about_lock(command: &str) -> bool {
    const OPTIONS: &[&str] = &["--frozen", "--frozen-lockfile", "--immutable", "--locked", "go.sum"];
    let words: Vec<&str> = command.split_whitespace().collect();
    let is_checked = matches!(words.as_slice(), ["npm", "ci" | "clean-install", ..])
        || has_any(&words, &["lock"]) && has_any(&words, &["--check"]);
    is_checked
        || has_any(&words, OPTIONS)
        || words.iter().any(|word| word.ends_with(".lock") || word.ends_with("-lock.json"))
}

/// Returns whether two commands name the same work, as `make generate` and `make check-generated` do.
pub(super) fn is_same_work(one: &str, other: &str) -> bool {
    let own = words_of_work(one);
    words_of_work(other).iter().any(|word| own.iter().any(|own| is_same_word(own, word)))
}

/// Length of words that count as a whole; of longer ones the begin does.
const SHORT: usize = 3;

fn is_same_word(one: &str, other: &str) -> bool {
    one == other || one.len().min(other.len()) > SHORT && (one.starts_with(other) || other.starts_with(one))
}

/// Returns the words of a command that tell its work, in small letters.
fn words_of_work(command: &str) -> Vec<String> {
    const COMMON: &[&str] = &[
        "bin", "bun", "bundle", "cargo", "check", "ci", "dev", "exec", "go", "install", "just", "lint",
        "make", "npm", "npx", "pip", "pnpm", "poetry", "python", "python3", "run", "scripts", "sh", "test",
        "tests", "uses", "verify", "yarn",
    ];
    let words = command.split(|sign: char| !sign.is_alphanumeric());
    let telling = words.filter(|word| word.len() >= SHORT && !COMMON.contains(word));
    telling.map(str::to_lowercase).collect()
}

/// Returns the paths that a look at differences is about: words behind `--`, or any that `git status` has, but for the
/// whole tree.
fn paths<'w>(words: &'w [&'w str]) -> impl Iterator<Item = &'w str> {
    let is_status = words.first() == Some(&"status");
    let behind = words.iter().skip_while(move |word| !is_status && **word != "--").skip(1);
    let behind = behind.filter(move |word| !is_status || !word.starts_with('-'));
    let named = behind.take_while(|word| !matches!(**word, "|" | "||" | "&&" | ";" | ">"));
    named.copied().filter(|word| !matches!(*word, "." | "./" | ":/"))
}

/// Returns the words of a command of git behind its own options.
fn words_of_git(command: &str) -> Vec<&str> {
    let mut words = command.split_whitespace().peekable();
    if words.next() != Some("git") {
        return Vec::new();
    }
    while let Some(option) = words.next_if(|word| word.starts_with('-')) {
        if matches!(option, "-C" | "-c" | "--git-dir" | "--work-tree") {
            words.next();
        }
    }
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_by_differences_is_told_from_one_that_shows_them() {
        for (command, expected) in [
            ("git diff --exit-code", true),
            ("git diff --exit-code -- src/gen", true),
            ("git -C sub -c core.pager=cat diff --quiet", true),
            ("git diff --cached --quiet", true),
            ("git diff-index --quiet HEAD", true),
            ("[ -z \"$(git status --porcelain)\" ]", true),
            ("[[ -n $(git status -s) ]]", true),
            ("test \"$(git status --porcelain | wc -l)\" -eq 0", true),
            ("git diff --exit-code -- $GENERATED", true),
            ("diff -r gen expected", true),
            ("git diff --exit-code HEAD HEAD", false),
            ("test -z \"$(gofmt -l .)\"", false),
            ("git diff", false),
            ("git diff --quiet origin/main -- docs", false),
            ("git diff --quiet HEAD~1", false),
            ("git status --porcelain", false),
        ] {
            assert_eq!(judges_differences(command), expected, "{command}");
        }
    }

    #[test]
    fn a_failure_is_a_command_and_no_word() {
        for (statement, expected) in [
            ("if x; then exit 1; fi", true),
            ("x && { echo no; exit $code; }", true),
            ("x || false", true),
            ("if x; then exit 0; fi", false),
            ("if x; then echo exit 1; fi", false),
            ("if x; then echo false; fi", false),
        ] {
            assert_eq!(has_failure(statement), expected, "{statement}");
        }
    }

    #[test]
    fn a_look_that_is_only_for_readers_is_known() {
        for (command, expected) in [
            ("git status", true),
            ("git diff --stat", true),
            ("git diff --exit-code", false),
            ("git status --porcelain=v2", false),
            ("git log", false),
        ] {
            assert_eq!(only_shows(command), expected, "{command}");
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

    #[test]
    fn a_test_is_told_by_what_makes_it_succeed() {
        for (command, expected) in [
            ("[ -n \"$(git status -s)\" ]", true),
            ("[ \"$(git status -s)\" ]", true),
            ("test \"$(git status -s | wc -l)\" -gt 0", true),
            ("[ ! -z \"$(git status -s)\" ]", true),
            ("[ ! -n \"$(git status -s)\" ]", false),
            ("[ -z \"$(git status -s)\" ]", false),
            ("[ \"$(git status -s)\" = \"\" ]", false),
        ] {
            assert_eq!(is_about_presence(command), expected, "{command}");
        }
    }

    #[test]
    fn differences_are_taken_away_by_what_a_look_does_not_see() {
        for (command, look, expected) in [
            ("git add -A", "git diff --exit-code", true),
            ("git add -A", "git diff --exit-code HEAD", false),
            ("git add -A", "git diff --cached --exit-code", false),
            ("git add -N .", "git diff --exit-code", false),
            ("git add -A", "[ -z \"$(git status --porcelain)\" ]", false),
            ("git commit -am x", "[ -z \"$(git status --porcelain)\" ]", true),
            ("git stash", "git diff --exit-code", true),
            ("git stash pop", "git diff --exit-code", false),
            ("git checkout -- .", "git diff --exit-code", true),
            ("git checkout main", "git diff --exit-code", false),
            ("git checkout -- package-lock.json", "git diff --exit-code", false),
            ("git reset --hard", "git diff --exit-code", true),
        ] {
            assert_eq!(takes_away(command, look), expected, "{command}, {look}");
        }
    }

    #[test]
    fn work_is_told_by_its_words() {
        for (one, other, expected) in [
            ("make generate", "make check-generated", true),
            ("black .", "black --check .", true),
            ("cargo run --bin schema", "cargo run --bin schema -- --check", true),
            ("cargo fmt", "cargo fmt --check", true),
            ("go mod tidy", "go mod tidy -diff", true),
            ("make generate", "make lint-docs", false),
            ("npm run build", "npm run test", false),
        ] {
            assert_eq!(is_same_work(one, other), expected, "{one}, {other}");
        }
    }

    #[test]
    fn a_look_that_leaves_something_out_is_told() {
        for (old, new, expected) in [
            ("git diff --exit-code", "git diff --exit-code -- docs", "docs"),
            ("git diff --exit-code -- src", "git diff --exit-code -- docs", ""),
            ("git diff --exit-code gen", "git --no-pager diff --exit-code -- gen", ""),
            ("git diff --exit-code", "git diff --exit-code -- . ':!gen'", ":!gen"),
            ("git diff --exit-code", "git diff -w --exit-code", "-w"),
            ("git diff --exit-code", "git diff --quiet", ""),
            ("[ -z $(git status -s) ]", "[ -z $(git status -s docs) ]", "docs"),
            ("[ -z $(git status -s) ]", "[ -z $(git status -s | grep -v gen/) ]", "| grep -v"),
            ("[ -z $(git status -s) ]", "[ $(git status -s | wc -l) -eq 0 ]", ""),
            ("git diff --exit-code", "[ -z \"$(git status -s)\" ]", ""),
            (
                "[ -z \"$(git status --porcelain)\" ]",
                "[ -z \"$(git status --porcelain --untracked-files=no)\" ]",
                "--untracked-files=no",
            ),
        ] {
            assert_eq!(left_out(old, new).join(" "), expected, "{old}, {new}");
        }
    }
}
