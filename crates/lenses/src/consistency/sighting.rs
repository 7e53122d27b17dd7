//! Sightings of one file: each thing that keeps or breaks a convention, with its place.

use std::borrow::Cow;

use super::case::{Fit, Style};
use super::header;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ConventionFamily, FileClass, Scope};
use qa_core::classify;
use qa_reading::syntax::{Language, Outline, Span};

/// A thing that may keep or break a convention.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sighting {
    pub(crate) family: ConventionFamily,
    /// Part of the family, such as `handlers`; empty if the family has only one.
    pub(crate) topic: &'static str,
    /// The language, or the ending of file names.
    pub(crate) language: Cow<'static, str>,
    /// Name as written, or a word such as `swallowed` for what the code does.
    pub(crate) value: String,
    /// Name that distinguishes the sighting from others with the same value.
    pub(crate) name: String,
    /// Byte range in the file; `None` for a sighting of the file as a whole.
    pub span: Option<Span>,
}

/// Returns whether conventions apply to a file: product and test code that is neither data for programs nor generated
/// or vendored.
pub fn keeps_conventions(path: &RepoPath, scope: Scope) -> bool {
    let is_code = matches!(classify::class(path), FileClass::Source | FileClass::Test);
    let is_part = match scope {
        Scope::Product | Scope::Test => true,
        Scope::Docs | Scope::Generated | Scope::Vendored => false,
    };
    is_code
        && is_part
        && std::str::from_utf8(path.as_bytes())
            .is_ok_and(|text| text.bytes().all(|byte| byte >= b' ' && byte != 127) && !is_data(text))
}

/// Returns whether a file is data for programs, a benchmark, a template or declarations, which do not follow the names
/// and documentation of other code.
fn is_data(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(directories, _)| directories.split('/').any(is_data_directory))
        || path.ends_with(".d.ts")
}

fn is_data_directory(name: &str) -> bool {
    const TIMED: &[&str] = &["bench", "benches", "benchmark", "benchmarks"];
    classify::DATA_DIRS.contains(&name) || TIMED.contains(&name) || name.starts_with("template-")
}

/// Returns whether the path alone shows if a family's conventions are kept.
pub(crate) fn is_of_path(family: ConventionFamily) -> bool {
    match family {
        ConventionFamily::FileName | ConventionFamily::TestPlacement => true,
        ConventionFamily::ConstantName
        | ConventionFamily::ErrorIdiom
        | ConventionFamily::FunctionName
        | ConventionFamily::ImportDirection
        | ConventionFamily::Library
        | ConventionFamily::LicenceHeader
        | ConventionFamily::MethodName
        | ConventionFamily::PublicDoc
        | ConventionFamily::TypeName
        | ConventionFamily::CoChange => false,
    }
}

/// Returns whether sightings of a family have a line; others are about the path, the whole file or several files.
pub fn has_line(family: ConventionFamily) -> bool {
    !is_of_path(family) && !matches!(family, ConventionFamily::LicenceHeader | ConventionFamily::CoChange)
}

/// A parsed file.
pub(crate) struct Source<'a> {
    pub(crate) path: &'a str,
    pub(crate) part: Scope,
    pub(crate) language: Language,
    pub(crate) text: &'a str,
    pub(crate) outline: &'a Outline,
}

impl Source<'_> {
    /// Returns whether a byte range was parsed without errors.
    pub(crate) fn is_whole(&self, span: Span) -> bool {
        !self.outline.broken.iter().any(|broken| broken.touches(span))
    }

    /// Returns whether a byte offset is in test code.
    pub(crate) fn is_test(&self, at: usize) -> bool {
        self.part == Scope::Test || self.outline.tests.iter().any(|test| (test.start..test.end).contains(&at))
    }

    pub(crate) fn sighting(
        &self,
        family: ConventionFamily,
        topic: &'static str,
        value: &str,
        name: &str,
        span: Option<Span>,
    ) -> Sighting {
        let language = Cow::Borrowed(word(self.language));
        Sighting { family, topic, language, value: value.to_owned(), name: name.to_owned(), span }
    }
}

/// The name of a language; the two kinds of TypeScript are one.
pub(crate) fn word(language: Language) -> &'static str {
    match language {
        Language::C => "c",
        Language::CSharp => "c#",
        Language::Cpp => "c++",
        Language::Go => "go",
        Language::Java => "java",
        Language::Kotlin => "kotlin",
        Language::JavaScript => "javascript",
        Language::Php => "php",
        Language::Python => "python",
        Language::Ruby => "ruby",
        Language::Rust => "rust",
        Language::Tsx | Language::TypeScript => "typescript",
    }
}

/// Compares a value with the form that a convention asks for.
pub(crate) fn fit(family: ConventionFamily, form: &str, value: &str) -> Fit {
    match family {
        ConventionFamily::FileName
        | ConventionFamily::FunctionName
        | ConventionFamily::MethodName
        | ConventionFamily::TypeName
        | ConventionFamily::ConstantName => {
            Style::from_text(form).map_or(Fit::Silent, |style| style.fit(value))
        }
        ConventionFamily::LicenceHeader => header::fit(form, value),
        ConventionFamily::TestPlacement
        | ConventionFamily::PublicDoc
        | ConventionFamily::ErrorIdiom
        | ConventionFamily::Library => {
            if value == form {
                Fit::Keeps
            } else {
                Fit::Breaks
            }
        }
        // The form is what is not imported.
        ConventionFamily::ImportDirection => {
            let inside =
                value.strip_prefix(form).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            if inside { Fit::Breaks } else { Fit::Keeps }
        }
        ConventionFamily::CoChange => Fit::Silent,
    }
}
