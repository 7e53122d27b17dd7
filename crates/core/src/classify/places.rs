//! Tells whether two paths are held to the same rules, so that a file may be renamed from one to the other.

use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{FileClass, Scope};

use super::{
    Parts, RunsAs, ScopeGlobs, class, is_executed, is_test_name, languages::language_of_extension, parts,
    runs_as,
};

/// Hooks that git runs, of which a hook directory has one file each.
const GIT_HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Returns whether git runs a file of this name in its directory of hooks.
pub fn is_git_hook(name: &str) -> bool {
    GIT_HOOKS.contains(&name)
}

/// Returns whether a test runner that goes by names collects a file.
pub fn is_collected(path: &RepoPath) -> bool {
    is_collected_name(&parts(path))
}

fn is_collected_name(parts: &Parts) -> bool {
    let is_known = match parts.extension.as_str() {
        "go" => parts.name.ends_with("_test.go") && !parts.name.starts_with(['_', '.']),
        extension => language_of_extension(extension).is_some(),
    };
    is_known && is_test_name(parts) && !is_left_out(parts)
}

/// Returns whether a directory of the path is one that the language's runners leave out by default.
fn is_left_out(parts: &Parts) -> bool {
    let is_left_out = |directory: &str| match parts.extension.as_str() {
        "go" => directory == "testdata" || directory == "vendor" || directory.starts_with(['_', '.']),
        "py" => {
            matches!(directory, "build" | "cvs" | "dist" | "node_modules" | "venv" | "_darcs")
                || directory.starts_with('.')
                || directory.ends_with(".egg")
        }
        "cjs" | "cts" | "js" | "jsx" | "mjs" | "mts" | "ts" | "tsx" => {
            matches!(directory, "dist" | "node_modules") || directory.starts_with('.')
        }
        _ => false,
    };
    parts.directories.iter().any(|directory| is_left_out(directory))
}

/// Attributes by which rules and tools treat a file, derived from its path.
#[derive(PartialEq, Eq)]
struct Place {
    class: FileClass,
    scope: Scope,
    runs_as: RunsAs,
    /// Extension of a file that a platform runs, as it is spelled: a workflow by another ending is none.
    executed: Option<String>,
    /// Name of the hook that git runs it as.
    hook: Option<String>,
    /// True if a test runner collects it by its name.
    is_collected: bool,
    /// Path below the directory of our own policy, where each file means something else.
    own: Option<Vec<u8>>,
}

impl Place {
    /// Returns whether rules hold this place to no more than another. What moves out of the product is judged by its old
    /// scope as well, for a rename must not take changed lines to where nobody looks.
    fn is_milder_than(&self, other: &Self) -> bool {
        let Self { class, scope, runs_as, executed, hook, is_collected, own } = self;
        let becomes_test = *class == FileClass::Test && other.class == FileClass::Source;
        other.scope == Scope::Product
            && *scope != Scope::Product
            && (*class == other.class || becomes_test)
            && (runs_as, executed, hook) == (&other.runs_as, &other.executed, &other.hook)
            && (*is_collected || !other.is_collected)
            && *own == other.own
    }

    fn new(path: &RepoPath, globs: &ScopeGlobs) -> Self {
        let class = class(path);
        let parts = parts(path);
        let is_own = path.as_bytes().starts_with(b".qa-skill/");
        let spelled = path.to_text();
        let name = spelled.rsplit('/').next().unwrap_or(&spelled);
        Self {
            class,
            scope: globs.scope(path, class),
            runs_as: runs_as(path, None),
            executed: is_executed(path).then(|| match name.rsplit_once('.') {
                Some((_, "yaml")) => "yml".to_owned(),
                ending => ending.unwrap_or_default().1.to_owned(),
            }),
            hook: is_git_hook(&parts.name).then(|| parts.name.clone()),
            is_collected: is_collected_name(&parts),
            own: is_own.then(|| path.as_bytes().to_vec()),
        }
    }
}

/// Returns whether a file that moves from one path to the other stays under the same rules, or comes under milder ones.
/// A file that moves under stricter rules counts as a deleted and an added one: a name must not choose what its content
/// is held to, nor hide that a check is gone. Which paths each lens reads is for the caller to compare.
pub fn is_same_place(old: &RepoPath, new: &RepoPath, globs: &ScopeGlobs) -> bool {
    let (old, new) = (Place::new(old, globs), Place::new(new, globs));
    old == new || new.is_milder_than(&old)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rename_stays_under_the_same_rules_or_is_none() {
        let globs = ScopeGlobs::new(|_| &[]).unwrap();
        let cases = [
            ("src/a.py", "src/b/c.py", true),
            ("src/a.js", "src/a.ts", true),
            ("tests/test_a.py", "tests/unit/test_b.py", true),
            (".github/workflows/ci.yml", ".github/workflows/build.yaml", true),
            (".github/workflows/ci.yml", ".github/workflows/build.yml", true),
            ("logo.png", "img/logo.png", true),
            ("README.md", "docs/README.md", true),
            ("docs/e.yml", ".github/workflows/e.yml", false),
            (".github/workflows/ci.yml", ".github/workflows/ci.yml.off", false),
            (".github/workflows/ci.yml", ".github/workflows/ci.YML", false),
            (".github/workflows/ci.yml", ".GitHub/workflows/ci.yml", false),
            (".husky/pre-commit", ".husky/pre-commit.off", false),
            (".qa-skill/policy.toml", ".qa-skill/policy.toml.bak", false),
            ("old.toml", ".qa-skill/policy.toml", false),
            ("tests/test_a.py", "tests/a_old.py", false),
            ("tests/test_a.py", "tests/test_a.py.bak", false),
            ("a_test.go", "b_test.go", true),
            ("a_test.go", "a_tests.go", false),
            ("tests/test_a.json", "tests/test_a.yaml", true),
            ("docs/t.md", "src/t.py", false),
            ("vendor/a.py", "src/a.py", false),
            ("src/a.py", "src/test_a.py", true),
            ("src/test_a.py", "src/a.py", false),
            ("docs/a.py", "tests/test_a.py", false),
            ("src/a.py", "vendor/a.py", true),
            ("Cargo.lock", "vendor/Cargo.lock", false),
            ("CODEOWNERS", "vendor/CODEOWNERS", true),
            ("docs/b.txt", ".env", false),
            ("a.txt", ".npmrc", false),
        ];
        for (old, new, expected) in cases {
            let path = |name: &str| RepoPath::from_bytes(name.as_bytes()).unwrap();
            assert_eq!(is_same_place(&path(old), &path(new), &globs), expected, "{old} -> {new}");
        }
    }
}
