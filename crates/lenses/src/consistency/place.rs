//! Sightings of the directories of test files.

use super::sighting::{Sighting, word};
use qa_contracts::v1::ConventionFamily;
use qa_reading::syntax::Language;

/// Beside what is tested.
pub(crate) const BESIDE: &str = "beside";

/// The directory a file of tests stands in, as far as directories say it; only for files that are named as tests.
pub(super) fn of_test(path: &str) -> Option<Sighting> {
    const PLACES: &[&str] = &["__tests__", "spec", "specs", "test", "tests"];
    let language = Language::from_path(path)?;
    let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    let named = match language {
        Language::Python => stem.starts_with("test_") || stem.ends_with("_test"),
        Language::Java | Language::Kotlin | Language::Php => stem.ends_with("Test"),
        Language::CSharp => stem.ends_with("Test") || stem.ends_with("Tests"),
        Language::JavaScript | Language::Tsx | Language::TypeScript => {
            name.contains(".test.") || name.contains(".spec.")
        }
        Language::C | Language::Cpp | Language::Go => stem.ends_with("_test"),
        Language::Ruby => stem.starts_with("test_") || stem.ends_with("_test") || stem.ends_with("_spec"),
        // Its build tool says where tests are.
        Language::Rust => false,
    };
    let place = directories.split('/').rev().find(|part| PLACES.contains(part)).unwrap_or(BESIDE);
    named.then(|| Sighting {
        family: ConventionFamily::TestPlacement,
        topic: "",
        language: word(language).into(),
        value: place.to_owned(),
        name: name.to_owned(),
        span: None,
    })
}
