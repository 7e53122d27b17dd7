//! The house rules that the compiler does not keep: directions, owners, sizes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

/// Modules of one number are siblings and do not know each other.
const RANKS: &[(u8, &[&str])] = &[
    (0, &["contracts"]),
    (1, &["core", "syntax"]),
    (2, &["lenses", "providers", "gates", "formats"]),
    (3, &["run"]),
    (4, &["config", "git", "net", "exec", "store", "publish"]),
    (5, &["app"]),
];

/// Who may name a third-party crate: paths below `src` that begin so. A crate that is not listed may not be used.
const OWNERS: &[(&str, &[&str])] = &[
    ("annotate_snippets", &["formats/terminal"]),
    ("anyhow", &["app/"]),
    ("base64", &["core/pictures.rs", "git/", "publish/"]),
    ("clap", &["app/"]),
    ("clap_complete", &["app/"]),
    ("envy", &["config/"]),
    ("flate2", &["publish/"]),
    ("git2", &["git/"]),
    ("globset", &["core/classify.rs"]),
    ("hmac", &["core/seal.rs"]),
    ("http", &["publish/"]),
    ("http_body_util", &["publish/"]),
    ("httpdate", &["run/retry.rs"]),
    ("imara_diff", &["core/diff/"]),
    ("jsonschema", &["contracts/schema.rs"]),
    ("landlock", &["exec/"]),
    ("libc", &["exec/"]),
    ("maud", &["formats/html"]),
    ("memchr", &["core/diff/", "git/tree.rs", "lenses/idioms.rs", "store/archive/", "syntax/skeleton/"]),
    ("mimalloc", &["main.rs"]),
    ("nix", &["exec/"]),
    ("octocrab", &["publish/"]),
    ("proptest", &["core/", "formats/", "syntax/"]),
    ("quick_xml", &["formats/junit.rs", "gates/readers/xml.rs"]),
    ("regex", &["core/secrets/", "lenses/", "formats/", "gates/readers/", "gates/steady.rs"]),
    ("reqwest", &["net/"]),
    ("rustls", &["net/"]),
    ("ryu_js", &["core/canonical.rs"]),
    ("schemars", &["contracts/"]),
    ("seccompiler", &["exec/"]),
    ("serde_json_canonicalizer", &["core/canonical_tests.rs"]),
    ("sha2", &["core/canonical.rs", "core/canonical_tests.rs", "core/seal.rs"]),
    ("strsim", &["app/explain.rs", "core/policy_text.rs"]),
    ("tempfile", &["app/", "exec/", "git/", "publish/artifact/", "store/"]),
    ("tokio", &["main.rs", "net/", "publish/"]),
    ("toml", &["core/policy_text.rs"]),
    ("tower_service", &["publish/"]),
    ("tracing", &["app/"]),
    ("tracing_subscriber", &["app/"]),
    ("tree_sitter", &["syntax/"]),
    ("tree_sitter_go", &["syntax/"]),
    ("tree_sitter_java", &["syntax/"]),
    ("tree_sitter_javascript", &["syntax/"]),
    ("tree_sitter_python", &["syntax/"]),
    ("tree_sitter_rust", &["syntax/"]),
    ("tree_sitter_typescript", &["syntax/"]),
    ("unicode_security", &["lenses/trojan_source/"]),
    ("zip", &["store/"]),
    // The words every module speaks.
    ("serde", &[""]),
    ("serde_json", &[""]),
    ("thiserror", &[""]),
];

/// Longer than 600 lines. Nothing may be added here.
const TOO_LONG: &[&str] = &[];

struct Source {
    /// Relative to `src`.
    path: String,
    text: String,
}

impl Source {
    /// The lines without comments, numbered from 1.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(index, line)| (index + 1, line));
        lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// As [`Source::code`], up to the unit tests at the end of the file.
    fn shipped(&self) -> impl Iterator<Item = (usize, &str)> {
        let tests = self.text.lines().position(|line| line == "mod tests {").map_or(usize::MAX, |line| line);
        let is_test = self.is_test();
        self.code().filter(move |(number, _)| !is_test && *number <= tests)
    }

    fn is_test(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap();
        name == "tests.rs" || name.ends_with("_tests.rs") || ["corpus.rs", "sample.rs"].contains(&name)
    }

    fn module(&self) -> &str {
        self.path.split(['/', '.']).next().unwrap()
    }
}

fn sources() -> Vec<Source> {
    let mut pending = vec![PathBuf::from(SOURCE)];
    let mut sources = Vec::new();
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let relative = path.strip_prefix(SOURCE).unwrap().to_str().unwrap().to_owned();
            sources.push(Source { path: relative, text: std::fs::read_to_string(&path).unwrap() });
        }
    }
    sources.sort_by(|left, right| left.path.cmp(&right.path));
    assert!(sources.len() > 50, "the sources are not where they should be");
    sources
}

fn rank(module: &str) -> Option<u8> {
    RANKS.iter().find(|(_, modules)| modules.contains(&module)).map(|(rank, _)| *rank)
}

/// Identifiers that follow each `prefix` in a line, when `prefix` is a word of its own.
fn after<'a>(line: &'a str, prefix: &str) -> Vec<&'a str> {
    let word = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(prefix)
        .filter(|(start, _)| !line[..*start].ends_with(|before: char| word(before) || before == ':'))
        .map(|(start, _)| {
            let rest = &line[start + prefix.len()..];
            &rest[..rest.find(|character| !word(character)).unwrap_or(rest.len())]
        })
        .collect()
}

#[track_caller]
fn none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn imports_go_to_a_lower_rank_or_stay_inside_their_module() {
    let mut faults = Vec::new();
    for source in sources() {
        let module = source.module();
        // A test may look at more than what it tests does.
        if ["main", "lib"].contains(&module) || source.is_test() {
            continue;
        }
        let own = rank(module).unwrap_or_else(|| panic!("{} is in a module without a rank", source.path));
        for (number, line) in source.code() {
            for target in after(line, "crate::").into_iter().chain(after(line, "$crate::")) {
                let allowed = target == module || rank(target).is_some_and(|rank| rank < own);
                if !allowed {
                    faults.push(format!("{}:{number}: `{target}` from `{module}`", source.path));
                }
            }
        }
    }
    none(&faults);
}

#[test]
fn a_lens_never_imports_another_lens() {
    let sources = sources();
    let list = sources.iter().find(|source| source.path == "lenses/mod.rs").unwrap();
    let all = list.text.split_once("&[\n").unwrap().1.split_once("];").unwrap().0;
    let lenses: Vec<&str> = after(all, "&");
    assert!(lenses.len() >= 4 && lenses.contains(&"merge_leftover"), "{lenses:?}");
    let mut faults = Vec::new();
    for source in &sources {
        let Some(inside) = source.path.strip_prefix("lenses/") else { continue };
        let own = inside.split(['/', '.']).next().unwrap();
        if !lenses.contains(&own) {
            continue;
        }
        let up =
            if inside.contains('/') && !inside.ends_with("/mod.rs") { "super::super::" } else { "super::" };
        for (number, line) in source.code() {
            for target in after(line, up).into_iter().chain(after(line, "crate::lenses::")) {
                if target != own && lenses.contains(&target) {
                    faults.push(format!("{}:{number}: the lens `{target}`", source.path));
                }
            }
        }
    }
    none(&faults);
}

/// Formats get texts that are masked already; elsewhere a text is cut after its secrets are masked.
#[test]
fn nothing_but_a_format_cuts_a_text_that_may_have_a_secret() {
    let may =
        |path: &str| path.starts_with("formats/") || ["core/escape.rs", "core/masking.rs"].contains(&path);
    let mut faults = Vec::new();
    for source in sources().iter().filter(|source| !may(&source.path)) {
        for (number, _) in source.shipped().filter(|(_, line)| line.contains("visible_cut")) {
            faults.push(format!("{}:{number}: call `masking::shown_cut`", source.path));
        }
    }
    none(&faults);
}

#[test]
fn every_third_party_crate_has_one_owner() {
    let manifest = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
    let owners: BTreeMap<&str, &[&str]> = OWNERS.iter().copied().collect();
    let mut section = "";
    let mut faults = Vec::new();
    let mut crates = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if [
            "[dependencies]",
            "[dev-dependencies]",
            "[target.'cfg(target_os = \"linux\")'.dependencies]",
            "[target.'cfg(target_env = \"musl\")'.dependencies]",
        ]
        .contains(&section)
            && let Some((name, _)) = line.split_once(" =")
        {
            crates.push(name.replace('-', "_"));
        }
    }
    assert!(crates.len() > 15, "{crates:?}");
    for name in crates.iter().filter(|name| !owners.contains_key(name.as_str()) && *name != "tempfile") {
        faults.push(format!("{name} has no owner"));
    }
    for source in sources() {
        for (number, line) in source.code() {
            for (name, owned_by) in &owners {
                let named = line.contains(&format!("use {name}")) && after(line, "use ").contains(name)
                    || line.contains(&format!("{name}::")) && is_path(line, name);
                if named && !owned_by.iter().any(|owner| source.path.starts_with(owner)) {
                    faults.push(format!("{}:{number}: {name}", source.path));
                }
            }
        }
    }
    none(&faults);
}

/// Whether a line has `name::` as the beginning of a path, outside a string.
fn is_path(line: &str, name: &str) -> bool {
    line.match_indices(&format!("{name}::")).any(|(start, _)| {
        let before = &line[..start];
        let joined = before.ends_with(|last: char| last.is_alphanumeric() || last == '_' || last == ':');
        !joined && before.matches('"').count().is_multiple_of(2)
    })
}

#[test]
fn every_file_says_what_it_knows_and_is_short() {
    let mut faults = Vec::new();
    for source in sources() {
        if !source.text.starts_with("//! ") {
            faults.push(format!("{}: the first line is not `//!`", source.path));
        }
        let lines = source.text.lines().count();
        if (lines > 600) != TOO_LONG.contains(&source.path.as_str()) {
            faults.push(format!("{}: {lines} lines; the limit is 600", source.path));
        }
    }
    none(&faults);
}

#[test]
fn nothing_outside_tests_unwraps() {
    let mut faults = Vec::new();
    for source in sources() {
        for (number, line) in source.shipped() {
            if line.contains(".unwrap()") || line.contains(".unwrap_err()") {
                faults.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    none(&faults);
}

#[test]
fn the_pure_half_builds_without_the_world() {
    // A directory of its own: the build that runs this test holds the lock of the usual one.
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target"), PathBuf::from);
    let output = Command::new(env!("CARGO"))
        .args(["check", "--lib", "--no-default-features", "--offline", "--quiet", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .arg("--target-dir")
        .arg(target.join("pure-half"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
