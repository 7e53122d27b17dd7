//! Words by which commands name what they check.

use std::collections::BTreeSet;

use super::differences::{judges_differences, tested_listing};
use crate::pattern::Pattern;

/// Cleaning up, looking around and reporting may fail without any check failing.
static HARMLESS: Pattern = Pattern::new(
    r"^(?:rm|mkdir|kill|pkill|killall|grep|egrep|rg|which|command -v|type|docker (?:rm|stop|kill|logs|network|volume|container|image|compose down|pull|login|push)|git (?:diff|fetch|tag|branch|config|stash|rev-parse|describe|log|commit|remote|checkout|worktree|clean|push|merge-base|ls-remote|clone|submodule)|gh|cat|ls|cp|mv|ln|touch|chmod|chown|umount|mount|read|wait|curl|wget|find|brew|apt|apt-get|choco|kubectl|systemctl|launchctl|sysctl|ulimit|rustup|jq|sed|awk|diff|cmp|expr|let|unset|popd|pushd|cd|tar|unzip|gzip|ps|sleep|test|\[\[?|codecov|lsof|df|du|free|uname|env|export|source|\.|set|echo|printf|tee|local|declare|return|exit|true|false|:|trap|shift|eval|head|tail|sort|wc|xargs|date|mktemp)(?:\s|$)",
);

/// Words by which commands and actions name what they check.
static CHECK: Pattern = Pattern::new(
    r"(?i)(?:\b|_)(tests?|tox|nox|pytest|unittest|jest|vitest|mocha|ava|cypress|playwright|e2e|lint|lints|linter|eslint|golangci|golangci-lint|clippy|fmt|format|prettier|rustfmt|gofmt|black|isort|ruff|flake8|pylint|mypy|pyright|tsc|typecheck|type-check|typing|vet|staticcheck|check|checks|verify|audit|deny|codeql|codeql-action|semgrep|scan|trivy|gosec|bandit|coverage|nextest|miri|shellcheck|actionlint|zizmor-action|zizmor|prek|pre-commit|rubocop|rspec|phpunit|phpstan|psalm|checkstyle|spotless|spotbugs|ktlint|detekt|swiftlint|ctest|rake|biome|stylelint|dependency-review-action|scorecard-action|attw|publint|knip|qa-skill|warnaserror|build\.(?:cmd|ps1))(?:\b|_)",
);

/// Linters whose names are common words, so that they count as programs only.
static LINTER: Pattern =
    Pattern::new(r"^(?:npx |yarn |pnpm (?:exec )?|bunx )?(?:semistandard|standard|ts-standard|xo)(?:\s|$)");

/// Commands whose words name no check.
static NO_CHECK: Pattern = Pattern::new(
    r"^uses codecov/|^uses actions/(?:checkout|cache|setup-|upload-|download-)|\bpublish\b|^(?:\S*\s(?:-m\s)?)?(?:pip3?|npm|yarn|pnpm|brew|apt|apt-get|gem|go|rustup|cargo|uv|choco|composer|bundle)(?:\s+\S+)?\s+(?:install|add|i)\b",
);

/// Action that uploads the results of another tool, and the word for its work.
const UPLOAD_OF_RESULTS: &str = "codeql-action/upload-sarif";
pub(super) const UPLOAD: &str = "upload-sarif";
/// Work of a command that fails where files differ from what is committed.
pub(super) const DIFFERENCES: &str = "differences";

/// Returns whether a command may fail without any check failing.
pub(super) fn is_harmless(text: &str) -> bool {
    static PLUMBING: Pattern =
        Pattern::new(r"^uses (?:actions/(?:checkout|cache|setup-|upload-|download-)|codecov/)");
    HARMLESS.is_match(text) || PLUMBING.is_match(text)
}

/// Returns the words that name what a text checks.
pub(super) fn names_of_checks(text: &str) -> BTreeSet<String> {
    if judges_differences(text) {
        return BTreeSet::from([DIFFERENCES.to_owned()]);
    }
    if let Some(listing) = tested_listing(text) {
        return names_of_checks(listing);
    }
    if NO_CHECK.is_match(text) || HARMLESS.is_match(text) {
        return BTreeSet::new();
    }
    let mut found = BTreeSet::new();
    if LINTER.is_match(text) {
        found.insert("lint".to_owned());
    }
    let program = text.split_whitespace().next().unwrap_or_default();
    let is_of_gradle = matches!(program.rsplit('/').next(), Some("gradle" | "gradlew"));
    for word in text.split_whitespace() {
        // An option names a check by all of its name: `--check`, and not `--check-url`.
        let name = word.trim_start_matches('-');
        let is_option = name.len() < word.len();
        let name = if is_option { name.split('=').next().unwrap_or(name) } else { name };
        if name.contains("://") || !is_option && name.contains('=') {
            continue;
        }
        // It reports what another step found.
        if name.ends_with(UPLOAD_OF_RESULTS) {
            found.insert(UPLOAD.to_owned());
            continue;
        }
        // Tasks of Gradle are one word: `spotlessCheck`.
        let parted = if is_of_gradle { parted(name) } else { name.to_owned() };
        for groups in CHECK.captures_all(&parted) {
            let check = groups[0].trim_matches('_').to_lowercase();
            if !is_option || check.len() == name.len() {
                found.insert(check);
            }
        }
    }
    found
}

/// Returns a name with a dash before each capital inside of it.
fn parted(name: &str) -> String {
    let mut parted = String::new();
    for sign in name.chars() {
        if sign.is_uppercase() && parted.ends_with(|before: char| before.is_lowercase()) {
            parted.push('-');
        }
        parted.push(sign);
    }
    parted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_names_a_check_by_all_of_its_name() {
        for (text, expected) in [
            ("twine upload --check-url https://test.example/simple", ""),
            ("tool --no-verify-access", ""),
            ("black --check src", "black check"),
            ("uses golangci/golangci-lint-action", "golangci lint"),
            ("uses actions/setup-python", ""),
            ("npm install jest", ""),
            ("python3.8 -m pip install nox", ""),
            ("./test.sh", "test"),
            ("uses github/codeql-action/analyze", "codeql"),
            ("uses github/codeql-action/upload-sarif", "upload-sarif"),
            ("uses zizmorcore/zizmor-action", "zizmor-action"),
            ("uvx zizmor .", "zizmor"),
            ("prek run --all-files", "prek"),
            ("./gradlew :app:spotlessCheck", "check spotless"),
            ("./gradlew publishToMavenLocal", ""),
        ] {
            let found: Vec<String> = names_of_checks(text).into_iter().collect();
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }
}
