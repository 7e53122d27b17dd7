//! Class, scope and language of a path, by its name alone.

mod attributes;
mod globs;
mod languages;
mod places;
mod runs_as;

use languages::language_of_extension;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{FileClass, Scope};

pub use attributes::Attributes;
pub use globs::{GlobError, PathSet, glob_directory, is_glob};
pub use languages::{language, language_of_start, path_by_language};
pub use places::{is_collected, is_git_hook, is_same_place};
pub use runs_as::{RunsAs, has_compiled_name, runs_as, runs_as_at};

/// Directory names of vendored code, at any depth.
const VENDORED_DIRS: &[&str] = &[
    "vendor",
    "vendored",
    "third_party",
    "third-party",
    "node_modules",
    "bower_components",
    "jspm_packages",
    // Directory for Yarn's own files and plug-ins.
    ".yarn",
    "pods",
    "carthage",
];
const TEST_DIRS: &[&str] = &[
    "test",
    "tests",
    "testing",
    "spec",
    "specs",
    "__tests__",
    "__tests_dts__",
    "dts-test",
    "test-d",
    "type-tests",
    "__mocks__",
    "__snapshots__",
    "testdata",
    "test-data",
    "test_data",
    "fixtures",
    "fixture",
    "e2e",
    "cypress",
    "playwright",
    "integration-tests",
    "integration_tests",
    "unittest",
    "unittests",
    "spec-helpers",
    "spec_helpers",
    "test-helpers",
    "test-support",
    "test_helpers",
    "test_support",
    "testhelpers",
    "testutil",
    "testutils",
    "test-utils",
    "test_utils",
    "benches",
    "bench",
    "benchmarks",
    "benchmark",
    "mocks",
    "snapshots",
];
/// Endings of a test file's name without its extension.
const TEST_ENDINGS: &[&str] =
    &["_test", "_tests", ".test", ".spec", "_spec", "-test", ".cy", ".e2e", "-spec"];
const DOCS_DIRS: &[&str] = &[
    "doc",
    "docs",
    "documentation",
    "_examples",
    "examples",
    "example",
    "samples",
    "sample",
    "site",
    "website",
    "man",
];
const GENERATED_DIRS: &[&str] = &["dist", "generated", "__generated__", "gen", "autogen"];
const INFRA_DIRS: &[&str] = &[
    ".github",
    ".gitlab",
    ".circleci",
    ".buildkite",
    ".azure-pipelines",
    "terraform",
    "helm",
    "k8s",
    "kubernetes",
    "ansible",
    "deploy",
    "deployment",
];

const DOCS_EXTENSIONS: &[&str] =
    &["md", "mdx", "markdown", "rst", "adoc", "asciidoc", "txt", "tex", "org", "pod", "1"];
const ASSET_EXTENSIONS: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "webp", "avif", "bmp", "ico", "icns", "tif", "tiff", "psd", "pdf", "woff",
    "woff2", "ttf", "otf", "eot", "mp3", "mp4", "m4a", "wav", "ogg", "flac", "webm", "mov", "avi", "zip",
    "gz", "tgz", "bz2", "xz", "zst", "7z", "tar", "jar", "war", "class", "o", "a", "so", "dylib", "dll",
    "exe", "wasm", "bin", "dat", "db", "sqlite", "pyc", "parquet", "npy", "onnx",
];
const CONFIG_EXTENSIONS: &[&str] = &[
    "json",
    "jsonc",
    "json5",
    "yml",
    "yaml",
    "toml",
    "ini",
    "cfg",
    "conf",
    "properties",
    "env",
    "xml",
    "plist",
    "lock",
    "editorconfig",
    "gradle",
    "sbt",
    "nix",
    "csproj",
    "sln",
    "props",
    "targets",
];
const INFRA_NAMES: &[&str] = &[
    "dockerfile",
    "containerfile",
    "makefile",
    "justfile",
    "jenkinsfile",
    "vagrantfile",
    "procfile",
    "rakefile",
    "gnumakefile",
    ".gitlab-ci.yml",
    ".travis.yml",
    "azure-pipelines.yml",
    "appveyor.yml",
    "docker-compose.yml",
    "docker-compose.yaml",
    "compose.yml",
    "compose.yaml",
    "action.yml",
    "action.yaml",
    "codeowners",
    ".dockerignore",
    ".pre-commit-config.yaml",
    "tox.ini",
    "noxfile.py",
];
/// Directories whose files a platform or git runs. Platforms read these names as they are spelled.
const EXECUTED_DIRS: &[&str] = &[
    ".azure-pipelines",
    ".buildkite",
    ".forgejo/workflows",
    ".git-hooks",
    ".gitea/workflows",
    ".githooks",
    ".github/actions",
    ".github/workflows",
    ".gitlab/ci",
    ".husky",
    ".semaphore",
    ".teamcity",
    ".woodpecker",
];
/// Files that a platform or git runs, by their path.
const EXECUTED_FILES: &[&str] = &[
    ".circleci/config.yml",
    ".cirrus.yml",
    ".drone.yml",
    ".gitlab-ci.yml",
    ".lefthook.yml",
    ".pre-commit-config.yaml",
    ".travis.yml",
    ".woodpecker.yml",
    "action.yaml",
    "action.yml",
    "appveyor.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "cloudbuild.yaml",
    "Jenkinsfile",
    "lefthook.yml",
];

/// Returns whether a platform or git runs a file by its path alone, whatever the file is called.
pub fn is_executed(path: &RepoPath) -> bool {
    let text = path.to_text();
    if EXECUTED_FILES.contains(&&*text) {
        return true;
    }
    let extension = text.rsplit_once('.').unwrap_or_default().1.to_lowercase();
    !DOCS_EXTENSIONS.contains(&extension.as_str())
        && EXECUTED_DIRS.iter().any(|directory| is_below(&text, directory))
}

fn is_below(path: &str, directory: &str) -> bool {
    match path.strip_prefix(directory) {
        Some(rest) => rest.starts_with('/'),
        None => false,
    }
}

/// Returns whether a file's name alone is that of a build or deployment definition.
fn is_infra(parts: &Parts) -> bool {
    INFRA_NAMES.contains(&parts.name.as_str())
        || parts.name.starts_with("dockerfile.")
        || parts.extension == "tf"
}

/// Parts of a path, all in lower case.
struct Parts {
    name: String,
    /// Words of the name without its extension: `LatestTest.java` has `latest` and `test`.
    words: Vec<String>,
    extension: String,
    directories: Vec<String>,
}

impl Parts {
    fn is_in(&self, names: &[&str]) -> bool {
        self.directories.iter().any(|directory| names.contains(&directory.as_str()))
    }
}

fn parts(path: &RepoPath) -> Parts {
    let spelled = path.to_text();
    let text = spelled.to_lowercase();
    let (directories, name) = text.rsplit_once('/').unwrap_or(("", &text));
    let spelled_name = spelled.rsplit('/').next().unwrap_or(&spelled);
    let stem = match spelled_name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => spelled_name,
    };
    let extension = match name.trim_start_matches('.').rsplit_once('.') {
        Some((_, extension)) if !extension.is_empty() => extension,
        _ if name.starts_with(".env") => "env",
        _ => "",
    };
    Parts {
        extension: extension.to_owned(),
        directories: directories.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect(),
        name: name.to_owned(),
        words: words(stem),
    }
}

/// Words of a name, which begin behind punctuation and at capitals.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut previous = '.';
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        // `aB` begins a word at B, and `ABc` at B as well.
        let is_before_lower = matches!(characters.peek(), Some(next) if next.is_lowercase());
        let begins = character.is_uppercase() && (!previous.is_uppercase() || is_before_lower);
        if (begins || !character.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        previous = character;
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Returns the class. Tests win over documentation, documentation over infrastructure, then configuration, source,
/// asset.
pub fn class(path: &RepoPath) -> FileClass {
    let parts = parts(path);
    let extension = parts.extension.as_str();
    if is_executed(path) {
        FileClass::Infra
    } else if ASSET_EXTENSIONS.contains(&extension) {
        FileClass::Asset
    } else if is_test_name(&parts) || parts.is_in(TEST_DIRS) {
        FileClass::Test
    } else if DOCS_EXTENSIONS.contains(&extension) && !is_requirements(&parts) {
        FileClass::Docs
    } else if is_infra(&parts) || parts.is_in(INFRA_DIRS) {
        FileClass::Infra
    } else if CONFIG_EXTENSIONS.contains(&extension) || is_requirements(&parts) || parts.name.starts_with('.')
    {
        FileClass::Config
    } else if language_of_extension(extension).is_some() {
        FileClass::Source
    } else if matches!(
        parts.name.as_str(),
        "license" | "readme" | "changelog" | "authors" | "notice" | "copying" | "changes"
    ) {
        FileClass::Docs
    } else {
        FileClass::Unknown
    }
}

fn is_requirements(parts: &Parts) -> bool {
    parts.extension == "txt"
        && (parts.name.contains("requirements")
            || parts.name.contains("constraints")
            || parts.name == "cmakelists.txt")
}

fn is_test_name(parts: &Parts) -> bool {
    let name = parts.name.as_str();
    let stem = name.strip_suffix(&format!(".{}", parts.extension)).unwrap_or(name);
    stem.starts_with("test_")
        || TEST_ENDINGS.iter().any(|ending| stem.ends_with(ending))
        || matches!(name, "conftest.py" | "tests.rs" | "test.rs" | "tests.py")
        || (matches!(parts.extension.as_str(), "java" | "kt" | "cs" | "scala" | "swift" | "php" | "groovy")
            && matches!(parts.words.last().map(String::as_str), Some("test" | "tests" | "spec")))
}

/// Endings of generated files whose first lines say so.
const MARKED_ENDINGS: &[&str] =
    &[".pb.go", "_pb2.py", "_pb2_grpc.py", ".pb.cc", ".pb.h", ".g.dart", ".designer.cs", ".generated.ts"];
/// Endings of generated files that hold nothing but what a tool writes.
const UNMARKED_ENDINGS: &[&str] = &[".min.js", ".min.css", ".map", ".snap"];

/// Returns what the base has to show before a file of this name counts as generated; `None` for other names.
fn generated_evidence(parts: &Parts) -> Option<Evidence> {
    let name = parts.name.as_str();
    if is_lockfile(name) {
        return Some(Evidence::NotNeeded);
    }
    if let Some(ending) = MARKED_ENDINGS.iter().find(|ending| name.ends_with(**ending)) {
        return Some(Evidence::Marker { ending });
    }
    if name.starts_with("zz_generated") {
        return Some(Evidence::Marker { ending: ".go" });
    }
    UNMARKED_ENDINGS.iter().any(|ending| name.ends_with(ending)).then_some(Evidence::Presence)
}

/// Returns whether the first lines of a file say that a program writes it.
pub fn is_marked_generated(bytes: &[u8]) -> bool {
    const MARKED_BYTES: usize = 2048;
    const MARKERS: &[&str] = &[
        "@generated",
        "<auto-generated",
        "auto-generated",
        "autogenerated",
        "automatically generated",
        "code generated by",
        "generated by",
    ];
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(MARKED_BYTES)]).to_lowercase();
    MARKERS.iter().any(|marker| start.contains(marker))
}

/// Directories of programs' inputs and outputs, which are not written as code.
pub const DATA_DIRS: &[&str] = &[
    "__fixtures__",
    "__snapshots__",
    "__testfixtures__",
    "cassettes",
    "fixture",
    "fixtures",
    "playground",
    "playgrounds",
    "snapshots",
    "template",
    "templates",
    "test-data",
    "test-files",
    "test_data",
    "test_files",
    "testdata",
    "testfiles",
];

/// Returns whether a file is an example or a program's input, so that its imports need not resolve.
pub fn is_example(path: &str) -> bool {
    const PLACES: &[&str] =
        &["corpus", "example", "examples", "node_modules", "sample", "samples", "third_party", "vendor"];
    path.split('/').any(|part| DATA_DIRS.contains(&part) || PLACES.contains(&part))
}

/// Returns whether a file name (lower case) is a package manager's lock file.
pub fn is_lockfile(name: &str) -> bool {
    matches!(
        name,
        "cargo.lock"
            | "package-lock.json"
            | "npm-shrinkwrap.json"
            | "yarn.lock"
            | "pnpm-lock.yaml"
            | "bun.lock"
            | "bun.lockb"
            | "poetry.lock"
            | "pdm.lock"
            | "uv.lock"
            | "pipfile.lock"
            | "go.sum"
            | "gemfile.lock"
            | "composer.lock"
            | "mix.lock"
            | "pubspec.lock"
            | "flake.lock"
            | "packages.lock.json"
            | "gradle.lockfile"
            | "podfile.lock"
            | "cartfile.resolved"
            | "package.resolved"
            | "deno.lock"
    )
}

/// Returns whether a file name (lower case) is that of a package's manifest.
pub fn is_manifest(name: &str) -> bool {
    matches!(
        name,
        "cargo.toml"
            | "package.json"
            | "pyproject.toml"
            | "pipfile"
            | "go.mod"
            | "gemfile"
            | "composer.json"
            | "mix.exs"
            | "pubspec.yaml"
            | "flake.nix"
            | "podfile"
            | "cartfile"
            | "package.swift"
            | "deno.json"
            | "deno.jsonc"
    )
}

/// Evidence in the base for a scope that a name claims. A change chooses names, so it must not choose its own rules by
/// them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// None: the rules of the scope are no laxer, or only a tool gives files this name.
    NotNeeded,
    /// A directory, by its path.
    Directory(String),
    /// A first line that says so, in the file or, where it is new, in a neighbour with this ending.
    Marker { ending: &'static str },
    /// The file itself.
    Presence,
}

/// Origin of a path's scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScopedBy {
    /// A glob of the policy.
    Policy(Scope),
    /// Its use: a platform or git runs it, so it is product code.
    Use,
    /// A name known here, or none.
    Name { scope: Scope, evidence: Evidence },
}

/// Returns the scope by names of tests and documentation alone.
pub fn scope_without_claim(path: &RepoPath, class: FileClass) -> Scope {
    let parts = parts(path);
    if class == FileClass::Test || parts.is_in(TEST_DIRS) {
        Scope::Test
    } else if class == FileClass::Docs || parts.is_in(DOCS_DIRS) {
        Scope::Docs
    } else {
        Scope::Product
    }
}

/// Returns the path down to its first directory of one of these names, as it is spelled.
fn directory_named(path: &RepoPath, names: &[&str]) -> Option<String> {
    let text = path.to_text();
    let (directories, _) = text.rsplit_once('/')?;
    let mut end = 0;
    for part in directories.split('/') {
        end += part.len();
        if names.contains(&part.to_lowercase().as_str()) {
            return Some(directories[..end].to_owned());
        }
        end += 1;
    }
    None
}

/// Globs of the policy for each scope, on top of the names known here.
#[derive(Debug, Clone)]
pub struct ScopeGlobs {
    sets: Vec<(Scope, PathSet)>,
}

impl ScopeGlobs {
    /// Compiles the policy's globs. Where several scopes match, the first of vendored, generated, test, docs, product wins.
    pub fn new<'a>(globs: impl Fn(Scope) -> &'a [String]) -> Result<Self, GlobError> {
        let order = [Scope::Vendored, Scope::Generated, Scope::Test, Scope::Docs, Scope::Product];
        let sets = order
            .into_iter()
            .map(|scope| Ok((scope, PathSet::new(globs(scope).iter().map(String::as_str))?)))
            .collect::<Result<_, GlobError>>()?;
        Ok(Self { sets })
    }

    /// Returns the scope of a path: the policy's globs first, then the built-in names, which nothing has to show.
    pub fn scope(&self, path: &RepoPath, class: FileClass) -> Scope {
        match self.scoped_by(path, class) {
            ScopedBy::Policy(scope) | ScopedBy::Name { scope, .. } => scope,
            ScopedBy::Use => Scope::Product,
        }
    }

    /// Returns the origin of a path's scope, with the evidence that a name needs.
    pub fn scoped_by(&self, path: &RepoPath, class: FileClass) -> ScopedBy {
        if let Some((scope, _)) = self.sets.iter().find(|(_, set)| set.matches(path)) {
            return ScopedBy::Policy(*scope);
        }
        if is_executed(path) {
            return ScopedBy::Use;
        }
        let parts = parts(path);
        let (scope, evidence) = if let Some(directory) = directory_named(path, VENDORED_DIRS) {
            (Scope::Vendored, Evidence::Directory(directory))
        } else if let Some(evidence) = generated_evidence(&parts) {
            (Scope::Generated, evidence)
        } else if let Some(directory) = directory_named(path, GENERATED_DIRS) {
            (Scope::Generated, Evidence::Directory(directory))
        } else {
            (scope_without_claim(path, class), Evidence::NotNeeded)
        };
        ScopedBy::Name { scope, evidence }
    }
}

#[cfg(test)]
mod tests;
