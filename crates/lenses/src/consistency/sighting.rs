//! What one file says about conventions: each thing that keeps or breaks one, with its place.

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
    /// What of the family; empty where there is nothing to tell apart.
    pub(crate) topic: &'static str,
    /// The language, or the ending of file names.
    pub(crate) language: Cow<'static, str>,
    /// What it is: a name, or a word for what is done.
    pub(crate) value: String,
    /// What tells it from others with the same value.
    pub(crate) name: String,
    /// Where it stands; nowhere when it is about the file.
    pub span: Option<Span>,
}

/// Whether a file is to keep conventions: product code's or tests'. What is there to be read by programs, and what is
/// made by them, keeps none.
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

/// Whether a file is there for programs to read: nobody names or documents those as if they were code.
fn is_data(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(directories, _)| directories.split('/').any(is_data_directory))
        || path.ends_with(".d.ts")
}

fn is_data_directory(name: &str) -> bool {
    const TIMED: &[&str] = &["bench", "benches", "benchmark", "benchmarks"];
    classify::DATA_DIRS.contains(&name) || TIMED.contains(&name) || name.starts_with("template-")
}

/// Whether what a family is about is said by the path alone.
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

/// Whether what a family is about stands in a line, and is not a matter of the whole file.
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
    /// Whether a part of the text was understood.
    pub(crate) fn is_whole(&self, span: Span) -> bool {
        !self.outline.broken.iter().any(|broken| broken.touches(span))
    }

    /// Whether a part of the text stands in a test.
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

/// Whether a value keeps a form.
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
