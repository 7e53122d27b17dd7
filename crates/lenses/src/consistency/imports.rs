//! Which directories import which, and which library does a job.

use super::sighting::{Sighting, Source};
use qa_contracts::v1::{ConventionFamily, Scope};
use qa_reading::syntax::Language;

/// A job, the language, and the libraries that do it: how an import of each begins, and its name.
type Job = (&'static str, &'static [Language], &'static [(&'static str, &'static str)]);

const ECMA: &[Language] = &[Language::JavaScript, Language::Tsx, Language::TypeScript];

const JOBS: &[Job] = &[
    (
        "testing",
        &[Language::Java],
        &[
            ("org.junit.jupiter", "JUnit 5"),
            ("org.junit", "JUnit 4"),
            ("junit.framework", "JUnit 3"),
            ("org.testng", "TestNG"),
        ],
    ),
    (
        "assertions",
        &[Language::Java],
        &[
            ("com.google.common.truth", "Truth"),
            ("org.hamcrest", "Hamcrest"),
            ("org.assertj", "AssertJ"),
            ("org.junit.Assert", "JUnit's own"),
            ("org.junit.jupiter.api.Assertions", "JUnit's own"),
            ("junit.framework.Assert", "JUnit's own"),
        ],
    ),
    (
        "logging",
        &[Language::Java],
        &[
            ("org.slf4j", "SLF4J"),
            ("org.apache.logging.log4j", "Log4j"),
            ("org.apache.log4j", "Log4j 1"),
            ("org.apache.commons.logging", "Commons Logging"),
            ("java.util.logging", "java.util.logging"),
        ],
    ),
    (
        "testing",
        ECMA,
        &[
            ("vitest", "vitest"),
            ("@jest/globals", "jest"),
            ("mocha", "mocha"),
            ("ava", "ava"),
            ("node:test", "node:test"),
            ("tape", "tape"),
            ("uvu", "uvu"),
            ("bun:test", "bun:test"),
        ],
    ),
    (
        "colours",
        ECMA,
        &[
            ("picocolors", "picocolors"),
            ("chalk", "chalk"),
            ("kleur", "kleur"),
            ("colors", "colors"),
            ("ansi-colors", "ansi-colors"),
        ],
    ),
    (
        "dates",
        ECMA,
        &[("moment", "moment"), ("dayjs", "dayjs"), ("date-fns", "date-fns"), ("luxon", "luxon")],
    ),
    (
        "logging",
        ECMA,
        &[("winston", "winston"), ("pino", "pino"), ("bunyan", "bunyan"), ("loglevel", "loglevel")],
    ),
    (
        "requests",
        ECMA,
        &[
            ("axios", "axios"),
            ("got", "got"),
            ("node-fetch", "node-fetch"),
            ("undici", "undici"),
            ("ky", "ky"),
        ],
    ),
    ("testing", &[Language::Python], &[("pytest", "pytest"), ("unittest", "unittest"), ("nose", "nose")]),
    (
        "logging",
        &[Language::Python],
        &[("logging", "logging"), ("loguru", "loguru"), ("structlog", "structlog")],
    ),
    (
        "requests",
        &[Language::Python],
        &[("requests", "requests"), ("httpx", "httpx"), ("aiohttp", "aiohttp"), ("urllib.request", "urllib")],
    ),
    (
        "assertions",
        &[Language::Go],
        &[
            ("github.com/stretchr/testify", "testify"),
            ("github.com/onsi/gomega", "gomega"),
            ("gotest.tools", "gotest.tools"),
        ],
    ),
    (
        "logging",
        &[Language::Go],
        &[
            ("log/slog", "slog"),
            ("log", "log"),
            ("go.uber.org/zap", "zap"),
            ("github.com/sirupsen/logrus", "logrus"),
            ("github.com/rs/zerolog", "zerolog"),
        ],
    ),
    ("errors", &[Language::Go], &[("github.com/pkg/errors", "pkg/errors"), ("errors", "errors")]),
    ("errors", &[Language::Rust], &[("anyhow", "anyhow"), ("eyre", "eyre"), ("color_eyre", "eyre")]),
    ("logging", &[Language::Rust], &[("tracing", "tracing"), ("log", "log"), ("slog", "slog")]),
];

pub(super) fn sightings(source: &Source<'_>, all: &mut Vec<Sighting>) {
    for import in &source.outline.imports {
        if import.type_only || !source.is_whole(import.span) {
            continue;
        }
        for (job, languages, libraries) in JOBS {
            if !languages.contains(&source.language) {
                continue;
            }
            if let Some((_, library)) = libraries.iter().find(|(start, _)| begins(&import.module, start)) {
                let new = source.sighting(
                    ConventionFamily::Library,
                    job,
                    library,
                    library,
                    Some(import.module_span),
                );
                let is_known = all
                    .iter()
                    .any(|old| (old.family, old.topic, &old.value) == (new.family, new.topic, &new.value));
                if !is_known {
                    all.push(new);
                }
            }
        }
        if source.part == Scope::Product
            && !import.guarded
            && !source.is_test(import.span.start)
            && let Some(target) = target(source.language, source.path, &import.module)
        {
            let (family, span) = (ConventionFamily::ImportDirection, Some(import.module_span));
            all.push(source.sighting(family, "", &target, &target, span));
        }
    }
}

fn begins(module: &str, start: &str) -> bool {
    module.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '/', ':']))
}

/// Returns the position of a file as imports of its language name it: a path from the root of the repository or of its
/// packages. `None` for languages whose imports cannot be mapped to paths.
pub(crate) fn position(language: Language, path: &str) -> Option<&str> {
    match language {
        Language::JavaScript | Language::Rust | Language::Tsx | Language::TypeScript => Some(path),
        Language::Python => {
            Some(path.strip_prefix("src/").or_else(|| path.strip_prefix("lib/")).unwrap_or(path))
        }
        Language::Java | Language::Kotlin => ["/java/", "/kotlin/", "/src/"]
            .iter()
            .find_map(|root| path.split_once(root))
            .map(|(_, rest)| rest),
        Language::C | Language::CSharp | Language::Cpp | Language::Go | Language::Php | Language::Ruby => {
            None
        }
    }
}

/// Resolves an import to a position, or returns `None` if the importing file and the module's name are not enough.
fn target(language: Language, path: &str, module: &str) -> Option<String> {
    let here = position(language, path)?;
    let directory: Vec<&str> =
        here.rsplit_once('/').map_or(Vec::new(), |(above, _)| above.split('/').collect());
    match language {
        Language::JavaScript | Language::Tsx | Language::TypeScript => {
            if !module.starts_with('.') {
                return None;
            }
            let mut parts = directory;
            for part in module.split('/') {
                match part {
                    "." | "" => {}
                    ".." => {
                        parts.pop()?;
                    }
                    part => parts.push(part),
                }
            }
            Some(parts.join("/"))
        }
        Language::Python => {
            let dots = module.len() - module.trim_start_matches('.').len();
            let named = module[dots..].split('.').filter(|part| !part.is_empty());
            if dots == 0 {
                // Only what the file's own package has is known to be here.
                let own = directory.first()?;
                return begins(module, own).then(|| named.collect::<Vec<_>>().join("/"));
            }
            let above = directory.len().checked_sub(dots - 1)?;
            Some(directory[..above].iter().copied().chain(named).collect::<Vec<_>>().join("/"))
        }
        Language::Java | Language::Kotlin => Some(module.replace('.', "/")),
        Language::Rust => {
            let inside = module.strip_prefix("crate::")?;
            let crate_root = &here[..here.find("src/")? + "src".len()];
            Some(format!("{crate_root}/{}", inside.replace("::", "/")))
        }
        Language::C | Language::CSharp | Language::Cpp | Language::Go | Language::Php | Language::Ruby => {
            None
        }
    }
}
