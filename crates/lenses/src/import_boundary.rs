//! Imports across a line that the policy or the layout of the repository draws.

use super::contract::{Draft, Fact, Inspection, Lens, LensSpec, Lookups, RuleSpec, everywhere, presets};
use super::imports::{self, Change, Family, reached, split};
use super::parsed;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    FileClass, LensClass, MentionKind, PlacedImport, PolicyImportBoundary, Scope, ScopeStrengths, Severity,
    Side, Strength,
};
use qa_core::classify::{self, PathSet, ScopeGlobs};
use qa_core::packet::Packet;
use qa_core::policy::Policy;

const FORBIDDEN: &str = "import-boundary/forbidden-edge";
const TEST: &str = "import-boundary/product-imports-test";

/// Maximum number of base files that are read to see whether they import a test as well.
const MOST_ASKED: usize = 200;

static SPEC: LensSpec = LensSpec {
    id: "import-boundary",
    version: "4",
    class: LensClass::Architecture,
    title: "Imports across a boundary",
    required_by_default: true,
    triggers: parsed::CODE,
    page: include_str!(concat!(env!("OUT_DIR"), "/import-boundary.md")),
    rules: &[
        RuleSpec {
            id: FORBIDDEN,
            title: "Import crosses a boundary of the policy",
            severity: Severity::High,
            strengths: presets(everywhere(Strength::Block), everywhere(Strength::Block)),
            fix: "Move what is needed to a place that both may import, or turn the dependency round.",
            moves: true,
        },
        RuleSpec {
            id: TEST,
            title: "Product code imports a test",
            severity: Severity::High,
            strengths: presets(PRODUCT, PRODUCT),
            fix: "Move what is needed out of the tests.",
            moves: true,
        },
    ],
};

const PRODUCT: ScopeStrengths = ScopeStrengths { product: Strength::Block, ..everywhere(Strength::Off) };

pub(crate) struct ImportBoundary;

impl Lens for ImportBoundary {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        Inspection { drafts: Vec::new(), facts: imports::added(packet) }
    }

    fn look_up(&self, facts: &[Fact], policy: &Policy, lookups: &dyn Lookups) -> Vec<Draft> {
        let change = Change::new(facts);
        let lines = Lines {
            drawn: policy.import_boundaries.iter().filter_map(Drawn::new).collect(),
            scopes: policy.scope_globs(),
        };
        let mut drafts = Vec::new();
        for path in change.added.keys() {
            let Some(from) = change.paths.get(path) else { continue };
            let drawn: Vec<&Drawn<'_>> = lines.drawn.iter().filter(|drawn| drawn.holds(from)).collect();
            let is_product = lines.is_product(from);
            if drawn.is_empty() && !(is_product && may_not_test(path)) {
                continue;
            }
            let written = imports::written(lookups, path);
            for import in written.iter().filter(|import| change.is_added(path, import.module.line)) {
                for to in reached(lookups, Side::Head, path, import) {
                    let Ok(target) = RepoPath::from_bytes(to.as_bytes()) else { continue };
                    if !is_test(&to) && !drawn.iter().any(|drawn| drawn.to.matches(&target)) {
                        continue;
                    }
                    let Some(import) = imports::parsed(lookups, path, import) else { continue };
                    let Some(finding) = lines.crossed(lookups, &drawn, is_product, path, &import, &target)
                    else {
                        continue;
                    };
                    let is_by_name = path.ends_with(".java") || path.ends_with(".rs");
                    let name = if is_by_name { import.names.first() } else { None };
                    let name = name.unwrap_or(&import.module);
                    let draft = change.on_name(finding.rule, Side::Head, path, name, finding.summary);
                    let draft = draft.map(|draft| draft.with("imports", to));
                    drafts.extend(draft.map(|draft| match finding.reason {
                        Some(reason) => draft.with("reason", reason),
                        None => draft,
                    }));
                }
            }
        }
        drafts
    }
}

/// Compiled import boundary of the policy.
struct Drawn<'p> {
    from: PathSet,
    to: PathSet,
    except: PathSet,
    reason: &'p str,
}

impl<'p> Drawn<'p> {
    fn new(boundary: &'p PolicyImportBoundary) -> Option<Self> {
        Some(Self {
            from: path_set(&boundary.from)?,
            to: path_set(&boundary.must_not_import)?,
            except: path_set(&boundary.except)?,
            reason: &boundary.reason,
        })
    }

    fn holds(&self, file: &RepoPath) -> bool {
        self.from.matches(file) && !self.except.matches(file)
    }
}

fn path_set(globs: &[String]) -> Option<PathSet> {
    PathSet::new(globs.iter().map(String::as_str)).ok()
}

struct Lines<'p> {
    drawn: Vec<Drawn<'p>>,
    scopes: ScopeGlobs,
}

struct Crossed {
    rule: &'static str,
    summary: &'static str,
    reason: Option<String>,
}

impl Lines<'_> {
    fn is_product(&self, file: &RepoPath) -> bool {
        let class = classify::class(file);
        class == FileClass::Source && self.scopes.scope(file, class) == Scope::Product
    }

    fn crossed(
        &self,
        lookups: &dyn Lookups,
        drawn: &[&Drawn<'_>],
        is_product: bool,
        path: &str,
        import: &PlacedImport,
        to: &RepoPath,
    ) -> Option<Crossed> {
        // The import may have stood there before, in other words; what the base has is asked for last.
        if let Some(drawn) = drawn.iter().find(|drawn| drawn.to.matches(to)) {
            if imports_already(lookups, path, import) {
                return None;
            }
            let summary = "a file is imported that the policy keeps from this one";
            return Some(Crossed { rule: FORBIDDEN, summary, reason: Some(drawn.reason.to_owned()) });
        }
        let target = to.to_text();
        let judged = is_product && import.is_firm() && may_not_test(path) && is_test(&target);
        let is_new = judged && !imports_already(lookups, path, import);
        (is_new && !self.others_do(lookups, path, &target)).then_some(Crossed {
            rule: TEST,
            summary: "product code imports a test",
            reason: None,
        })
    }

    /// Returns whether product code of the base already imports that test, or another file of its directory.
    fn others_do(&self, lookups: &dyn Lookups, path: &str, target: &str) -> bool {
        let (directory, name) = split(target);
        let stem = name.split('.').next().unwrap_or(name);
        let words = [stem, split(directory).1].map(str::to_owned);
        let kind = path.parse_family().unwrap_or(MentionKind::Configuration);
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let found = lookups.mentions(Side::Base, kind, &words);
        imports::are_too_many(lookups, &found, MOST_ASKED)
            || found.paths.iter().any(|importer| self.imports_from(lookups, importer, directory))
    }

    /// Returns whether a file is product code that imports one of a directory at the base.
    fn imports_from(&self, lookups: &dyn Lookups, importer: &str, directory: &str) -> bool {
        RepoPath::from_bytes(importer.as_bytes()).is_ok_and(|file| self.is_product(&file))
            && imports::has_import(lookups, Side::Base, importer, &|import| {
                reached(lookups, Side::Base, importer, import).iter().any(|file| split(file).0 == directory)
            })
    }
}

fn imports_already(lookups: &dyn Lookups, path: &str, import: &PlacedImport) -> bool {
    imports::has_import(lookups, Side::Base, path, &|other| is_within(import, other))
}

/// Returns whether an import gets no more than another one does. What is there for types alone is not loaded.
fn is_within(import: &PlacedImport, other: &PlacedImport) -> bool {
    other.module.name == import.module.name
        && (import.types_alone || !other.types_alone)
        && (other.names.is_empty()
            || import.names.iter().all(|name| other.names.iter().any(|known| known.name == name.name)))
}

/// Returns whether a product file may import no test. A declaration of a part of a crate, and what tests are run with,
/// are no product.
fn may_not_test(path: &str) -> bool {
    !path.ends_with(".rs") && !serves_tests(path)
}

/// Returns whether a path is certainly a test. Names such as `testing` also occur in products.
fn is_test(path: &str) -> bool {
    let (directory, name) = split(path);
    let stem = name.split('.').next().unwrap_or(name);
    directory.split('/').any(|part| matches!(part, "__tests__" | "__tests_dts__" | "test" | "tests"))
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || name.contains(".test.")
        || name.contains(".spec.")
        || name == "conftest.py"
}

/// Returns whether a file may serve tests, or be run by hand, whatever its scope.
fn serves_tests(path: &str) -> bool {
    const PARTS: &[&str] = &[
        "bench",
        "check",
        "config",
        "demo",
        "dev",
        "e2e",
        "example",
        "fixture",
        "mock",
        "playground",
        "script",
        "setup",
        "spec",
        "stories",
        "story",
        "task",
        "test",
        "tool",
    ];
    let path = path.to_lowercase();
    PARTS.iter().any(|part| path.contains(part))
}
