//! Manifests and settings of package managers, as rows: which values name a source, a registry or a script.

use std::sync::OnceLock;

use super::address::{Origin, forge_path, is_local};
use super::nuget;
use super::{FLOATING, INSTALL, REGISTRY, SOURCE};
use qa_reading::documents::{Document, Format, ReadError, Step};
use qa_reading::go_mod;
use qa_reading::packages::{Repeated, repeated_keys};
use qa_reading::patterns::{Code, Definition, ParsedText, Pattern, Patterns};
use qa_reading::requirements::{Requirement, requirements};
use qa_reading::shell::{Options, Script, Word};
use qa_reading::syntax::Span;

use Meaning::{Address, Any, Directory, Floating, Is, Override, Python, Registry, Runs, Version};

/// A statement of a manifest that a rule looks for. Two with the same identity say the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) rule: &'static str,
    pub(super) identity: String,
    pub(super) summary: &'static str,
    pub(super) span: Span,
}

/// Claims of a manifest, and the keys that it has twice.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    pub(super) claims: Vec<Claim>,
    pub(super) repeated: Vec<Repeated>,
}

/// Meaning of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Address of a repository or an archive.
    Address,
    /// Any value breaks the rule.
    Any,
    /// Directory in the place of a published package.
    Directory,
    /// Version of NuGet, which floats where a `*` stands in it.
    Floating,
    /// This value switches a check off.
    Is(&'static str),
    /// Like [`Meaning::Version`], for a replacement of a dependency, which may also be a directory.
    Override,
    /// Requirements of Python, some of which have addresses.
    Python,
    /// Addresses of registries.
    Registry,
    /// Script that runs on installation.
    Runs,
    /// Version or address, as npm reads it.
    Version,
}

/// Files of one notation with the same rows.
#[derive(Debug)]
pub(super) struct Kind {
    /// Ends of paths, in lower case; behind a `*`, those of names.
    names: &'static [&'static str],
    notation: Notation,
}

#[derive(Debug)]
enum Notation {
    /// Key paths with their meanings; see [`matches()`].
    Document(Format, &'static [(&'static str, Meaning)]),
    Gemfile,
    Go,
    Requirements,
    SetupPy,
    /// Lines of words, as yarn 1 reads its settings.
    Words(&'static [(&'static str, Meaning)]),
}

const PYTHON: &[(&str, Meaning)] = &[
    ("** *dependencies []", Python),
    ("** *dependencies * []", Python),
    ("dependency-groups * []", Python),
    ("build-system requires []", Python),
    ("** *dependencies * ** git", Address),
    ("** *dependencies * ** url", Address),
    ("tool uv sources ** git", Address),
    ("tool uv sources ** url", Address),
    ("*packages * git", Address),
    ("*packages * file", Address),
    ("** index [] url", Registry),
    ("** source [] url", Registry),
    ("** source [] verify-ssl", Is("false")),
    ("** index-url", Registry),
    ("** extra-index-url **", Registry),
    ("** find-links **", Registry),
    ("** allow-insecure-host **", Any),
];
const CARGO: &[(&str, Meaning)] = &[
    ("** *dependencies * git", Address),
    ("** *dependencies * registry", Any),
    ("** *dependencies * registry-index", Registry),
    ("patch * * git", Address),
    ("patch * * path", Directory),
    ("replace * git", Address),
    ("replace * path", Directory),
    ("source * replace-with", Any),
    ("source * registry", Registry),
    ("source * git", Registry),
    ("registries * index", Registry),
    ("registry index", Registry),
    ("registry default", Any),
];
/// Options of pip in files and commands, and of other programs in commands.
pub(super) const OPTIONS: &[(&str, Meaning)] = &[
    ("-f", Registry),
    ("-i", Registry),
    ("--allow-insecure-host", Any),
    ("--default-index", Registry),
    ("--extra-index-url", Registry),
    ("--find-links", Registry),
    ("--index", Registry),
    ("--index-url", Registry),
    ("--registry", Registry),
    ("--strict-ssl", Is("false")),
    ("--trusted-host", Any),
];

static KINDS: &[Kind] = &[
    Kind {
        names: &["package.json"],
        notation: Notation::Document(
            Format::Json,
            &[
                ("scripts preinstall", Runs),
                ("scripts install", Runs),
                ("scripts postinstall", Runs),
                ("scripts preprepare", Runs),
                ("scripts prepare", Runs),
                ("scripts postprepare", Runs),
                ("*ependencies *", Version),
                ("overrides **", Override),
                ("pnpm overrides **", Override),
                ("resolutions **", Override),
            ],
        ),
    },
    Kind {
        names: &["pnpm-workspace.yaml"],
        notation: Notation::Document(
            Format::Yaml,
            &[
                ("catalog *", Version),
                ("catalogs * *", Version),
                ("overrides **", Override),
                ("registry", Registry),
                ("registries *", Registry),
                ("strictssl", Is("false")),
            ],
        ),
    },
    Kind {
        names: &[".npmrc"],
        notation: Notation::Document(Format::Npmrc, &[("*registry", Registry), ("strict-ssl", Is("false"))]),
    },
    Kind {
        names: &[".yarnrc.yml"],
        notation: Notation::Document(
            Format::Yaml,
            &[
                ("** npmregistryserver", Registry),
                ("enablestrictssl", Is("false")),
                ("checksumbehavior", Is("ignore")),
                ("checksumbehavior", Is("update")),
                ("unsafehttpwhitelist **", Any),
            ],
        ),
    },
    Kind {
        names: &[".yarnrc"],
        notation: Notation::Words(&[("*registry", Registry), ("strict-ssl", Is("false"))]),
    },
    Kind {
        names: &["pip.conf", "pip.ini"],
        notation: Notation::Document(
            Format::Ini,
            &[
                ("* index-url", Registry),
                ("* extra-index-url", Registry),
                ("* find-links", Registry),
                ("* trusted-host", Any),
            ],
        ),
    },
    Kind {
        names: &["setup.cfg"],
        notation: Notation::Document(
            Format::Ini,
            &[
                ("options cmdclass", Runs),
                ("options *", Python),
                ("options.extras-require *", Python),
                ("easy-install index-url", Registry),
                ("easy-install find-links", Registry),
            ],
        ),
    },
    Kind {
        names: &["pyproject.toml", "uv.toml", "pipfile"],
        notation: Notation::Document(Format::Toml, PYTHON),
    },
    Kind { names: &["setup.py"], notation: Notation::SetupPy },
    Kind {
        names: &["cargo.toml", ".cargo/config", ".cargo/config.toml"],
        notation: Notation::Document(Format::Toml, CARGO),
    },
    Kind {
        names: &["composer.json"],
        notation: Notation::Document(
            Format::Json,
            &[
                ("scripts *-install-cmd **", Runs),
                ("scripts *-update-cmd **", Runs),
                ("scripts *-autoload-dump **", Runs),
                ("scripts *-package-install **", Runs),
                ("scripts *-create-project-cmd **", Runs),
                ("repositories * url", Registry),
                ("config secure-http", Is("false")),
                ("config disable-tls", Is("true")),
            ],
        ),
    },
    Kind { names: &["go.mod", "go.work"], notation: Notation::Go },
    Kind { names: &["gemfile", "gems.rb"], notation: Notation::Gemfile },
    Kind {
        names: &[nuget::SETTINGS],
        notation: Notation::Document(
            Format::Xml,
            &[
                ("configuration packagesources add @value", Registry),
                ("configuration packagesources add @allowinsecureconnections", Is("true")),
                ("configuration packagesources add @allowinsecureconnections", Is("True")),
            ],
        ),
    },
    Kind {
        names: &[
            "*.csproj",
            "*.fsproj",
            "*.vbproj",
            "directory.build.props",
            "directory.build.targets",
            "directory.packages.props",
        ],
        notation: Notation::Document(
            Format::Xml,
            &[
                ("** packagereference @version", Floating),
                ("** packagereference @versionoverride", Floating),
                ("** packagereference version #text", Floating),
                ("** packageversion @version", Floating),
                ("** packageversion version #text", Floating),
                ("** globalpackagereference @version", Floating),
                ("** restoresources #text", Registry),
                ("** restoreadditionalprojectsources #text", Registry),
            ],
        ),
    },
];
static REQUIREMENTS: Kind = Kind { names: &[], notation: Notation::Requirements };

impl Kind {
    /// Returns the kind of a manifest by its path in lower case.
    pub(super) fn for_path(path: &str) -> Option<&'static Self> {
        let named = KINDS.iter().find(|kind| {
            kind.names.iter().any(|name| match name.strip_prefix('*') {
                Some(ending) => path.ends_with(ending),
                None => {
                    let folder = path.strip_suffix(name);
                    folder.is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
                }
            })
        });
        named.or(is_requirements(path).then_some(&REQUIREMENTS))
    }

    /// Returns whether it is NuGet's file of settings.
    pub(super) fn is_of_nuget(&self) -> bool {
        self.names.contains(&nuget::SETTINGS)
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// A text that the package manager would refuse.
    pub(super) fn parse(&self, text: &str) -> Result<Manifest, ReadError> {
        let mut manifest = Manifest::default();
        match &self.notation {
            Notation::Document(format, rows) => {
                let document = Document::parse(*format, text)?;
                manifest.repeated = repeated_keys(&document);
                // `key[]` of npm is one element of a list.
                manifest.repeated.retain(|repeated| !repeated.name.ends_with("[]"));
                manifest.claims = document_claims(&document, rows)?;
            }
            Notation::Gemfile => manifest.claims = gemfile_claims(text),
            Notation::Go => {
                for directive in go_mod::directives(text)? {
                    let Some(replacement) = directive.replacement() else { continue };
                    if replacement.by_version.is_some() {
                        let by = replacement.by;
                        manifest.claims.push(Claim::source(by.text.clone(), FROM_ELSEWHERE, by.span));
                    }
                }
            }
            Notation::Requirements => {
                for requirement in requirements(text)? {
                    match requirement {
                        Requirement::Option { name, value: Some(value), .. } => {
                            manifest.claims.extend(row_claims(OPTIONS, &name.text, &value.text, value.span));
                        }
                        Requirement::Option { value: None, .. } => {}
                        Requirement::Package(package) => {
                            let address = package.address;
                            manifest.claims.extend(
                                address.iter().flat_map(|part| Address.claims("", &part.text, part.span)),
                            );
                        }
                    }
                }
            }
            Notation::SetupPy => manifest.claims = setup_claims(text),
            Notation::Words(rows) => {
                for command in Script::parse(text, Options::default()).commands {
                    let [name, value, ..] = command.words.as_slice() else { continue };
                    manifest.claims.extend(row_claims(rows, name.text(), value.text(), value.span));
                }
            }
        }
        Ok(manifest)
    }
}

/// Returns whether a file has requirements or constraints of pip.
fn is_requirements(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let in_folder = folder.rsplit('/').next() == Some("requirements");
    let is_text = name.ends_with(".txt") || name.ends_with(".in") && !name.contains("constraints");
    is_text && (in_folder || name.contains("requirements") || name.contains("constraints"))
}

fn document_claims(document: &Document<'_>, rows: &[(&str, Meaning)]) -> Result<Vec<Claim>, ReadError> {
    let mut claims = Vec::new();
    for root in document.roots() {
        for leaf in root.leaves()? {
            let Some(text) = leaf.value.text() else { continue };
            let path: Vec<String> = leaf.path.iter().map(step_text).collect();
            let meaning = rows.iter().find(|(row, meaning)| {
                matches(&row.split(' ').collect::<Vec<_>>(), &path)
                    && !matches!(meaning, Is(value) if *value != text)
            });
            if let Some((_, meaning)) = meaning {
                claims.extend(meaning.claims(&path.join(" "), text, leaf.value.span()));
            }
        }
    }
    Ok(claims)
}

fn step_text(step: &Step<'_>) -> String {
    match step {
        Step::Key(key) => key.to_lowercase().replace('_', "-"),
        Step::Item(_) => "[]".to_owned(),
    }
}

/// Returns whether a key path is of a row: `*` stands for any part of one name, `**` for any number of steps.
fn matches(row: &[&str], path: &[String]) -> bool {
    let Some((first, rest)) = row.split_first() else { return path.is_empty() };
    if *first == "**" {
        return (0..=path.len()).any(|skipped| matches(rest, &path[skipped..]));
    }
    let Some((step, below)) = path.split_first() else { return false };
    is_named(first, step) && matches(rest, below)
}

fn is_named(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
        None => pattern == name,
    }
}

/// Returns the claims of a setting of a name.
pub(super) fn row_claims(rows: &[(&str, Meaning)], name: &str, value: &str, span: Span) -> Vec<Claim> {
    let row = rows.iter().find(|(row, _)| is_named(row, name));
    row.map(|(_, meaning)| meaning.claims(name, value, span)).unwrap_or_default()
}

const FROM_ELSEWHERE: &str = "a dependency comes from a repository or an address and not from a registry";
const PLAIN: &str = "a dependency is fetched without encryption";
const ON_INSTALLATION: &str = "a script runs on every machine that installs the package";
/// Programs that install hooks of git and nothing else.
const HOOKS: &[&str] = &["husky", "husky install", "husky || true", "lefthook install", "simple-git-hooks"];

impl Claim {
    fn source(identity: String, summary: &'static str, span: Span) -> Self {
        Self { rule: SOURCE, identity, summary, span }
    }

    /// Returns a claim about an address, which says the same with another version.
    fn address(origin: &Origin, address: &str, span: Span) -> Self {
        let summary = if origin.is_plain { PLAIN } else { FROM_ELSEWHERE };
        let without_version = address.split(['#', '?']).next().unwrap_or(address);
        let identity = if origin.is_repository { origin.name.as_str() } else { without_version };
        Self::source(format!("{identity} {}", origin.is_plain), summary, span)
    }
}

/// Returns the name of the package that an override puts in the place of another one.
fn replacement<'v>(name: &str, value: &'v str) -> Option<&'v str> {
    let alias = value.strip_prefix("npm:")?;
    let end = alias.rfind('@').filter(|at| *at > 0).unwrap_or(alias.len());
    let other = &alias[..end];
    let is_own = name.match_indices(other).any(|(at, _)| {
        let (before, behind) = (&name[..at], &name[at + other.len()..]);
        (before.is_empty() || before.ends_with([' ', '/', '>']))
            && (behind.is_empty() || behind.starts_with('@'))
    });
    // The same package under another scope, or in another form of module.
    let is_variant = own_name(name) == own_name(other);
    (!is_own && !is_variant && !other.is_empty()).then_some(other)
}

/// Returns the name of a package without its scope, its version and its form.
fn own_name(name: &str) -> &str {
    let last = name.rsplit([' ', '/', '>']).next().unwrap_or(name);
    let last = last.split('@').next().unwrap_or(last);
    ["-cjs", "-es", "-esm"].iter().find_map(|form| last.strip_suffix(form)).unwrap_or(last)
}

impl Meaning {
    /// Returns the claims of a value.
    pub(super) fn claims(self, name: &str, value: &str, span: Span) -> Vec<Claim> {
        let identity = format!("{name} {value}");
        match self {
            Runs if value.is_empty() || HOOKS.contains(&value) => Vec::new(),
            Runs => vec![Claim { rule: INSTALL, identity, summary: ON_INSTALLATION, span }],
            Override if is_local(value) => {
                let summary = "published package is replaced by a local directory";
                vec![Claim::source(value.to_owned(), summary, span)]
            }
            Override if value.starts_with("npm:") => {
                let other = replacement(name, value);
                let summary = "package is replaced by another one";
                other.map(|other| Claim::source(other.to_owned(), summary, span)).into_iter().collect()
            }
            Directory => Override.claims(name, &format!("./{value}"), span),
            Version | Override => {
                let origin = Origin::parse(value).or_else(|| forge_path(value));
                origin.iter().map(|origin| Claim::address(origin, value, span)).collect()
            }
            Address => {
                Origin::parse(value).iter().map(|origin| Claim::address(origin, value, span)).collect()
            }
            Python => python_addresses(value)
                .into_iter()
                .flat_map(|address| Address.claims(name, address.of(value), span))
                .collect(),
            Registry => {
                let words = value.split([' ', '\t', '\n', ';']).filter_map(Origin::parse);
                let foreign =
                    words.filter(|origin| !origin.is_public_registry() && !origin.is_this_machine());
                let summary = "packages come from another registry";
                foreign
                    .map(|origin| Claim {
                        rule: REGISTRY,
                        identity: format!("{name} {origin:?}"),
                        summary,
                        span,
                    })
                    .collect()
            }
            Floating if !value.contains('*') => Vec::new(),
            Floating => {
                let summary =
                    "version of a package is a pattern, so that another version comes without a change";
                vec![Claim { rule: FLOATING, identity, summary, span }]
            }
            Any if matches!(value, "" | "crates-io" | "localhost" | "127.0.0.1") => Vec::new(),
            Is(expected) if value != expected => Vec::new(),
            Any | Is(_) => {
                vec![Claim { rule: REGISTRY, identity, summary: "package verification is disabled", span }]
            }
        }
    }
}

/// Finds the addresses in requirements of Python: of a repository, behind `@`, or of an archive.
fn python_addresses(text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("://") {
        let start =
            text[..at].trim_end_matches(|letter: char| letter.is_ascii_alphanumeric() || letter == '+').len();
        let length = text[at..].find(|letter: char| letter.is_whitespace() || "\"';,)".contains(letter));
        let address = Span { start, end: length.map(|length| at + length).unwrap_or(text.len()) };
        let before = text[..start].trim_end();
        let line = before.rsplit('\n').next().unwrap_or(before);
        let is_repository =
            ["git", "hg", "svn", "bzr"].iter().any(|scheme| text[start..at].starts_with(scheme));
        let is_archive = [".whl", ".zip", ".tar.gz"].iter().any(|ending| address.of(text).ends_with(ending));
        let is_comment = line.trim_start().starts_with('#');
        if !is_comment && (is_repository || is_archive || before.ends_with('@')) {
            found.push(address);
        }
    }
    found
}

/// Returns the values that patterns report, without quotes.
fn reported(patterns: &[Pattern], path: &str, text: &str) -> Vec<Span> {
    let Some(parsed) = ParsedText::parse(path, text) else { return Vec::new() };
    let patterns: Patterns<'_> = patterns.iter().collect();
    let found = patterns.find(&Code::new(text, &parsed), None);
    let spans = found.matches.into_iter().map(|found| found.report);
    spans
        .map(|span| {
            let value = span.of(text);
            let inner = value.trim_matches(['"', '\'']);
            let start = span.start + (value.len() - value.trim_start_matches(['"', '\'']).len());
            Span { start, end: start + inner.len() }
        })
        .collect()
}

fn compiled(code: &'static [&'static str], report: &'static str, language: &str) -> Vec<Pattern> {
    Pattern::compile(&Definition::new(&[], code).reporting(report), language)
        .expect("the tests compile every pattern")
}

/// Claims of a setup.py: addresses in its requirements, and commands of its own, which pip runs.
fn setup_claims(text: &str) -> Vec<Claim> {
    static COMMANDS: OnceLock<Vec<Pattern>> = OnceLock::new();
    let commands = COMMANDS.get_or_init(|| {
        compiled(&["setup(..., cmdclass=$X)", "setuptools.setup(..., cmdclass=$X)"], "X", "python")
    });
    let mut claims: Vec<Claim> = Vec::new();
    for address in python_addresses(text) {
        claims.extend(Address.claims("", address.of(text), address));
    }
    for span in reported(commands, "setup.py", text) {
        claims.extend(Runs.claims("cmdclass", span.of(text), span));
    }
    claims
}

/// Claims of a Gemfile.
fn gemfile_claims(text: &str) -> Vec<Claim> {
    static SOURCES: OnceLock<Vec<Pattern>> = OnceLock::new();
    static FORGES: OnceLock<Vec<Pattern>> = OnceLock::new();
    static REGISTRIES: OnceLock<Vec<Pattern>> = OnceLock::new();
    let sources = SOURCES.get_or_init(|| compiled(&["gem(..., git: $X)", "git($X, ...)"], "X", "ruby"));
    let forges = FORGES.get_or_init(|| {
        let code =
            &["gem(..., github: $X)", "gem(..., bitbucket: $X)", "gem(..., gist: $X)", "github($X, ...)"];
        compiled(code, "X", "ruby")
    });
    let registries =
        REGISTRIES.get_or_init(|| compiled(&["source($X)", "gem(..., source: $X)"], "X", "ruby"));
    let mut claims = Vec::new();
    for (patterns, meaning) in [(sources, Address), (forges, Version), (registries, Registry)] {
        for span in reported(patterns, "gems.rb", text) {
            claims.extend(meaning.claims("source", span.of(text), span));
        }
    }
    claims
}

/// Returns the value of a word that no expansion decides.
pub(super) fn constant(word: &Word) -> &str {
    word.constant().unwrap_or_default()
}
