//! Java: files of the packages below the source roots of a module, which Maven and Gradle lay out alike.

use super::super::contract::Lookups;
use super::target::{Target, has_stem, join, split};
use qa_contracts::v1::{MentionKind, PlacedImport, Side};

/// Source sets beside that of the importing file.
const SETS: &[&str] = &["main", "test", "testFixtures"];
/// Directories of a source set whose content a build may turn into classes.
const OTHER_SOURCES: &[&str] =
    &["antlr", "antlr4", "avro", "groovy", "java-templates", "javacc", "jooq", "kotlin", "proto", "scala"];
/// Words of builds that make sources, or that run annotation processors, which do.
const GENERATING: &[&str] = &[
    "annotationProcessor",
    "apply from",
    "antlr",
    "auto-value",
    "autovalue",
    "avro",
    "build-helper",
    "codegen",
    "dagger",
    "generat",
    "immutables",
    "javacc",
    "jaxb",
    "jooq",
    "kapt",
    "ksp",
    "lombok",
    "mapstruct",
    "openapi",
    "processor",
    "protobuf",
    "querydsl",
    "swagger",
    "templating",
    "thrift",
    "wsdl",
    "xjc",
];
const BUILDS: &[&str] = &["build.gradle", "build.gradle.kts", "pom.xml"];
/// Most files that are read for a class that another file may define.
const MOST_READ: usize = 40;

/// The source set that a file belongs to.
struct SourceSet<'p> {
    /// The `src` directory.
    sources: &'p str,
    name: &'p str,
}

impl<'p> SourceSet<'p> {
    /// Returns the source set of a path such as `module/src/main/java/…`.
    fn of(path: &'p str) -> Option<Self> {
        let (set, _) = path.split_once("/java/")?;
        let (sources, name) = split(set);
        (split(sources).1 == "src").then_some(Self { sources, name })
    }

    /// Returns the source sets of the same module, its own first.
    fn all(&self) -> impl Iterator<Item = String> {
        let others = SETS.iter().copied().filter(|set| *set != self.name);
        std::iter::once(self.name).chain(others).map(|name| join(self.sources, name))
    }
}

/// The class that an import needs, by its package as a directory.
struct Class<'i> {
    directory: String,
    name: &'i str,
}

impl<'i> Class<'i> {
    /// Returns the outermost class: names of packages begin with a small letter, those of classes with a capital one.
    fn of(import: &'i PlacedImport) -> Option<Self> {
        let names = import.names.iter().map(|name| name.name.as_str());
        let parts: Vec<&str> = import.module.name.split('.').chain(names).collect();
        let at = parts.iter().position(|part| part.starts_with(char::is_uppercase))?;
        (at > 0).then(|| Self { directory: parts[..at].join("/"), name: parts[at] })
    }
}

pub(super) fn target(lookups: &dyn Lookups, side: Side, importer: &str, import: &PlacedImport) -> Target {
    let Some(set) = SourceSet::of(importer) else { return Target::Unsure };
    let Some(class) = Class::of(import) else { return package(lookups, side, &set, import) };
    let first: Vec<&str> = class.directory.splitn(3, '/').take(2).collect();
    let (mut missing, mut is_in_package) = (None, false);
    for set in set.all() {
        let root = join(&set, "java");
        // Most packages belong to libraries.
        if !lookups.is_present(side, &join(&root, &first.join("/"))) {
            continue;
        }
        let directory = join(&root, &class.directory);
        let files = lookups.files_in(side, &directory);
        if files.iter().any(|file| *file == format!("{}.java", class.name)) {
            return Target::File(join(&directory, &format!("{}.java", class.name)));
        }
        let is_other_language =
            OTHER_SOURCES.iter().any(|other| lookups.is_present(side, &join(&set, other)));
        if has_stem(&files, class.name) || is_other_language {
            return Target::Unsure;
        }
        // The source set that has the package is where the class would be.
        let has_package = files.iter().any(|file| file.ends_with(".java"));
        if missing.is_none() || has_package && !is_in_package {
            missing = Some(join(&directory, class.name));
            is_in_package = has_package;
        }
    }
    match missing {
        Some(missing) => Target::Missing(missing),
        None => Target::Unsure,
    }
}

/// Returns the first file of a package that is imported as a whole.
fn package(lookups: &dyn Lookups, side: Side, set: &SourceSet<'_>, import: &PlacedImport) -> Target {
    for set in set.all().filter(|_| import.star) {
        let directory = join(&join(&set, "java"), &import.module.name.replace('.', "/"));
        let files = lookups.files_in(side, &directory);
        if let Some(file) = files.iter().find(|file| file.ends_with(".java")) {
            return Target::File(join(&directory, file));
        }
    }
    Target::Unsure
}

/// Returns whether something else than a file of its own may provide a class that a change begins to import: a library
/// that shares the package, another file, or a build that makes sources.
pub(super) fn may_be_provided(lookups: &dyn Lookups, importer: &str, missing: &str) -> bool {
    let (directory, class) = split(missing);
    let files = lookups.files_in(Side::Head, directory);
    if !files.iter().any(|file| file.ends_with(".java")) || !is_plain_build(lookups, importer) {
        return true;
    }
    let found = lookups.mentions(Side::Head, MentionKind::Java, &[class.to_owned()]);
    let defines = |path: &String| {
        let outline = lookups.outline(Side::Head, path);
        outline.is_none_or(|outline| outline.open || outline.names.iter().any(|name| name.name == class))
    };
    !found.complete || found.paths.len() > MOST_READ || found.paths.iter().any(defines)
}

/// Returns whether the builds of a module, and of the projects around it, make no sources as far as they say. A module
/// without a build that can be read is built in an unknown way.
fn is_plain_build(lookups: &dyn Lookups, importer: &str) -> bool {
    let mut directory = split(importer).0;
    let mut builds = 0;
    loop {
        let files = lookups.files_in(Side::Head, directory);
        for build in BUILDS.iter().filter(|build| files.iter().any(|file| file == *build)) {
            let text = lookups.text(Side::Head, &join(directory, build));
            if text.is_none_or(|text| GENERATING.iter().any(|word| text.contains(word))) {
                return false;
            }
            builds += 1;
        }
        if directory.is_empty() {
            return builds > 0;
        }
        directory = split(directory).0;
    }
}
