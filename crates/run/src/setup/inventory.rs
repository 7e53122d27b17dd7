//! Takes an inventory of a commit before the gate is set up: languages, tests, CI, tools, and files that silence a linter.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use crate::ports::{BlobRead, Cancellation, MAX_LISTED_FILES, ObjectReader, Objects, PortError};
use qa_contracts::ids::{BlobId, CommitId, RepoPath};
use qa_contracts::v1::{FileClass, GateName, RecordedManifest, Scope};
use qa_core::classify::{self, ScopeGlobs};
use qa_core::secrets;
use qa_gates::manifests::{ManifestUse, directory_of, manifest_use};
use qa_gates::selection::select_commands;
use qa_lenses::contract::Lens;

/// Number of manifests that are read at most.
const MAX_MANIFESTS: usize = 2_000;
/// Size of the largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Number of source files that are searched for suppressions at most.
const MAX_SEARCHED: usize = 2_000;
/// Rule whose files without a finding comply.
const SUPPRESSION: &str = "suppression/added";

/// Kind of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolKind {
    Tests,
    /// Linters and type checkers.
    Linter,
}

/// A tool that the repository uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundTool {
    pub kind: ToolKind,
    pub name: &'static str,
    /// The gate that reads its reports; `None` for a tool that is known by name alone.
    pub gate: Option<GateName>,
}

/// Number of files of a language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageCount {
    pub name: &'static str,
    pub files: usize,
}

/// Number of source files that were searched for comments which silence a linter, and of those that have one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Silenced {
    pub searched: usize,
    pub found: usize,
    /// False if there are more source files than were searched.
    pub is_complete: bool,
}

/// Content of a commit, as far as setting up the gate depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    pub files: usize,
    /// False if the tree has more files than were listed.
    pub is_complete: bool,
    /// Languages of source and test files that are not vendored or generated, the most frequent first.
    pub languages: Vec<LanguageCount>,
    pub tests: usize,
    /// CI services with a configuration, sorted.
    pub ci: BTreeSet<&'static str>,
    pub tools: BTreeSet<FoundTool>,
    pub silenced: Silenced,
}

/// Takes the inventory of a commit.
pub fn take_inventory(
    objects: &dyn Objects,
    commit: &CommitId,
    cancellation: &Cancellation,
) -> Result<Inventory, PortError> {
    let listing = Listing::read(objects, commit)?;
    let reader = objects.reader()?;
    let manifests = read_manifests(&listing.manifests, &*reader, cancellation)?;
    let mut languages: Vec<LanguageCount> =
        listing.languages.into_iter().map(|(name, files)| LanguageCount { name, files }).collect();
    languages.sort_by(|left, right| right.files.cmp(&left.files).then_with(|| left.name.cmp(right.name)));
    let mut tools = listing.tools;
    tools.extend(gate_tools(&manifests));
    let searched = listing.sources.into_sorted_vec();
    Ok(Inventory {
        files: listing.files,
        is_complete: listing.files < MAX_LISTED_FILES,
        languages,
        tests: listing.tests,
        ci: listing.ci,
        tools,
        silenced: Silenced {
            is_complete: listing.source_count == searched.len(),
            ..count_silenced(&searched, &*reader, cancellation)?
        },
    })
}

/// Facts that the names of files give.
#[derive(Default)]
struct Listing {
    files: usize,
    languages: BTreeMap<&'static str, usize>,
    tests: usize,
    ci: BTreeSet<&'static str>,
    tools: BTreeSet<FoundTool>,
    manifests: Vec<(RepoPath, BlobId)>,
    /// The source files with the lowest ids, which are spread over the tree as good as at random.
    sources: BinaryHeap<(BlobId, RepoPath)>,
    source_count: usize,
}

impl Listing {
    fn read(objects: &dyn Objects, commit: &CommitId) -> Result<Self, PortError> {
        let globs = ScopeGlobs::new(|_| &[]).expect("no globs are globs");
        let mut listing = Self::default();
        objects.files_at(commit, &mut |path, id| listing.add(&globs, path, id))?;
        Ok(listing)
    }

    fn add(&mut self, globs: &ScopeGlobs, path: RepoPath, id: BlobId) {
        self.files += 1;
        self.ci.extend(ci_service(&path.to_text()));
        let class = classify::class(&path);
        if !matches!(globs.scope(&path, class), Scope::Product | Scope::Test | Scope::Docs) {
            return;
        }
        let text = path.to_text();
        let name = text.rsplit('/').next().unwrap_or(&text);
        self.tools.extend(known_tool(name));
        if manifest_use(name) != ManifestUse::None && self.manifests.len() < MAX_MANIFESTS {
            self.manifests.push((path.clone(), id.clone()));
        }
        let Some(language) = classify::language(&path) else { return };
        if matches!(class, FileClass::Source | FileClass::Test) {
            *self.languages.entry(language).or_default() += 1;
            self.tests += usize::from(class == FileClass::Test);
            self.source_count += 1;
            self.sources.push((id, path));
            if self.sources.len() > MAX_SEARCHED {
                self.sources.pop();
            }
        }
    }
}

fn read_manifests(
    listed: &[(RepoPath, BlobId)],
    reader: &dyn ObjectReader,
    cancellation: &Cancellation,
) -> Result<Vec<RecordedManifest>, PortError> {
    let mut manifests = Vec::new();
    for (path, id) in listed {
        cancellation.check()?;
        let text = match reader.blob(id, MAX_FILE_BYTES)? {
            BlobRead::Content(bytes) => String::from_utf8(bytes).ok().map(secrets::masked),
            BlobRead::TooLarge { .. } => None,
        };
        manifests.push(RecordedManifest { path: path.clone(), text });
    }
    manifests.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(manifests)
}

/// Returns the tools of gates that projects of these manifests use.
fn gate_tools(manifests: &[RecordedManifest]) -> BTreeSet<FoundTool> {
    let directories = manifests.iter().map(|manifest| Some(directory_of(&manifest.path)));
    let projects = directories.map(|directory| (directory, directory)).collect();
    let tools: Vec<_> = qa_gates::ALL.iter().copied().filter(|tool| !tool.spec().is_generic()).collect();
    let commands = select_commands(&tools, false, &projects, &[], manifests).commands;
    commands
        .iter()
        .filter_map(|command| {
            let spec = command.tool.spec();
            let gate = *spec.gates.first()?;
            let kind = if gate.runs_tests() { ToolKind::Tests } else { ToolKind::Linter };
            Some(FoundTool { kind, name: spec.id, gate: Some(gate) })
        })
        .collect()
}

fn count_silenced(
    files: &[(BlobId, RepoPath)],
    reader: &dyn ObjectReader,
    cancellation: &Cancellation,
) -> Result<Silenced, PortError> {
    let lens: Option<&dyn Lens> = qa_lenses::ALL.iter().copied().find(|lens| lens.spec().id == "suppression");
    let lens = lens.expect("the lens is in the registry");
    let mut silenced = Silenced::default();
    for (id, path) in files {
        cancellation.check()?;
        let BlobRead::Content(bytes) = reader.blob(id, MAX_FILE_BYTES)? else { continue };
        silenced.searched += 1;
        let complies = lens.complies(SUPPRESSION, path, &String::from_utf8_lossy(&bytes));
        silenced.found += usize::from(complies == Some(false));
    }
    Ok(silenced)
}

/// CI services by the paths of their configurations; a path that ends with a slash is a directory.
const CI_SERVICES: &[(&str, &str)] = &[
    (".github/workflows/", "GitHub Actions"),
    (".gitlab-ci.yml", "GitLab CI"),
    (".circleci/config.yml", "CircleCI"),
    (".travis.yml", "Travis CI"),
    (".cirrus.yml", "Cirrus CI"),
    (".drone.yml", "Drone"),
    (".woodpecker.yml", "Woodpecker"),
    (".woodpecker/", "Woodpecker"),
    (".buildkite/", "Buildkite"),
    (".teamcity/", "TeamCity"),
    (".semaphore/", "Semaphore"),
    ("Jenkinsfile", "Jenkins"),
    ("azure-pipelines.yml", "Azure Pipelines"),
    ("appveyor.yml", "AppVeyor"),
    (".appveyor.yml", "AppVeyor"),
    ("bitbucket-pipelines.yml", "Bitbucket Pipelines"),
];

fn ci_service(path: &str) -> Option<&'static str> {
    let is_configuration =
        |known: &str| if known.ends_with('/') { path.starts_with(known) } else { path == known };
    CI_SERVICES.iter().find(|(known, _)| is_configuration(known)).map(|(_, service)| *service)
}

/// Names of files that show a tool without a reader of its own; a name that begins with `*` is an ending.
const KNOWN_TOOLS: &[(&str, ToolKind, &str)] = &[
    ("pom.xml", ToolKind::Tests, "maven"),
    ("build.gradle", ToolKind::Tests, "gradle"),
    ("build.gradle.kts", ToolKind::Tests, "gradle"),
    ("*.csproj", ToolKind::Tests, "dotnet"),
    ("*.fsproj", ToolKind::Tests, "dotnet"),
    ("*.tests.ps1", ToolKind::Tests, "pester"),
    ("phpunit.xml", ToolKind::Tests, "phpunit"),
    ("phpunit.xml.dist", ToolKind::Tests, "phpunit"),
    (".rspec", ToolKind::Tests, "rspec"),
    ("tox.ini", ToolKind::Tests, "tox"),
    ("noxfile.py", ToolKind::Tests, "nox"),
    ("mix.exs", ToolKind::Tests, "mix"),
    (".rubocop.yml", ToolKind::Linter, "rubocop"),
    (".golangci.yml", ToolKind::Linter, "golangci-lint"),
    (".golangci.yaml", ToolKind::Linter, "golangci-lint"),
    (".golangci.toml", ToolKind::Linter, "golangci-lint"),
    ("phpstan.neon", ToolKind::Linter, "phpstan"),
    ("phpstan.neon.dist", ToolKind::Linter, "phpstan"),
    ("psalm.xml", ToolKind::Linter, "psalm"),
    ("phpcs.xml", ToolKind::Linter, "phpcs"),
    ("phpcs.xml.dist", ToolKind::Linter, "phpcs"),
    ("checkstyle.xml", ToolKind::Linter, "checkstyle"),
    (".flake8", ToolKind::Linter, "flake8"),
    (".pylintrc", ToolKind::Linter, "pylint"),
    ("biome.json", ToolKind::Linter, "biome"),
    ("biome.jsonc", ToolKind::Linter, "biome"),
    (".clang-tidy", ToolKind::Linter, "clang-tidy"),
    (".swiftlint.yml", ToolKind::Linter, "swiftlint"),
    ("detekt.yml", ToolKind::Linter, "detekt"),
    ("*.ruleset", ToolKind::Linter, "roslyn analyzers"),
    (".globalconfig", ToolKind::Linter, "roslyn analyzers"),
    ("stylecop.json", ToolKind::Linter, "stylecop"),
    ("psscriptanalyzersettings.psd1", ToolKind::Linter, "psscriptanalyzer"),
    (".shellcheckrc", ToolKind::Linter, "shellcheck"),
    (".pre-commit-config.yaml", ToolKind::Linter, "pre-commit"),
];

fn known_tool(name: &str) -> Option<FoundTool> {
    // Tools of Windows take names in any case.
    let lower = name.to_lowercase();
    let (_, kind, tool) = KNOWN_TOOLS.iter().find(|(known, _, _)| match known.strip_prefix('*') {
        Some(ending) => lower.ends_with(ending),
        None => name == *known || lower == *known,
    })?;
    Some(FoundTool { kind: *kind, name: tool, gate: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixed_tree::FixedTree;

    fn inventory(files: &[(&str, &str)]) -> Inventory {
        let paths = files.iter().enumerate().map(|(number, (path, _))| ((*path).to_owned(), number));
        let read = |number: usize, _| Ok(BlobRead::Content(files[number].1.as_bytes().to_vec()));
        let objects = FixedTree { files: paths.collect(), read };
        let commit = CommitId::parse(&"0".repeat(40)).unwrap();
        take_inventory(&objects, &commit, &Cancellation::default()).unwrap()
    }

    fn tools(files: &[(&str, &str)]) -> Vec<&'static str> {
        inventory(files).tools.iter().map(|tool| tool.name).collect()
    }

    #[test]
    fn tools_are_found_by_manifests_and_by_names() {
        for (path, text, expected) in [
            ("Cargo.toml", "[package]\nname = \"a\"\n", &["cargo-test", "clippy"][..]),
            ("go.mod", "module a\n", &["go-test", "go-vet"]),
            ("a/.golangci.yml", "", &["golangci-lint"]),
            ("pyproject.toml", "[tool.ruff]\n[tool.pytest.ini_options]\n", &["pytest", "ruff"]),
            ("web/package.json", "{\"devDependencies\": {\"jest\": \"1\"}}", &["jest"]),
            ("pom.xml", "", &["maven"]),
            ("a/b.csproj", "", &["dotnet"]),
            ("eng/Analyzers.ruleset", "", &["roslyn analyzers"]),
            ("tests/Get-Item.Tests.ps1", "", &["pester"]),
            ("PSScriptAnalyzerSettings.psd1", "", &["psscriptanalyzer"]),
            ("vendor/a/pom.xml", "", &[]),
            ("README.md", "# pom.xml", &[]),
        ] {
            assert_eq!(tools(&[(path, text)]), expected, "{path}");
        }
    }

    #[test]
    fn languages_tests_and_services_are_counted_without_what_others_wrote() {
        let found = inventory(&[
            ("src/a.py", "a = 1  # noqa\n"),
            ("src/b.py", "b = 1\n"),
            ("tests/test_a.py", "def test_a(): assert True\n"),
            ("web/a.ts", "export const a = 1;\n"),
            ("vendor/c.py", "c = 1  # noqa\n"),
            (".github/workflows/ci.yml", "on: push\n"),
            (".gitlab-ci.yml", ""),
            ("docs/.travis.yml", ""),
        ]);
        let languages: Vec<_> = found.languages.iter().map(|count| (count.name, count.files)).collect();
        assert_eq!(languages, [("python", 3), ("typescript", 1)]);
        assert_eq!(found.ci.iter().copied().collect::<Vec<_>>(), ["GitHub Actions", "GitLab CI"]);
        assert_eq!((found.files, found.tests, found.is_complete), (8, 1, true));
        assert_eq!(found.silenced, Silenced { searched: 4, found: 1, is_complete: true });
    }

    #[test]
    fn an_empty_tree_has_nothing() {
        let expected = Inventory {
            is_complete: true,
            silenced: Silenced { is_complete: true, ..Silenced::default() },
            ..Inventory::default()
        };
        assert_eq!(inventory(&[]), expected);
    }
}
