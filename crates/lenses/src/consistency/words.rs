//! The sentences of conventions, and what to do when one is broken.

use super::case::Style;
use super::{errors, header, place};
use qa_contracts::v1::{Convention, ConventionFamily, Scope};

/// A convention as a maintainer would say it.
pub(super) fn statement(
    family: ConventionFamily,
    language: &str,
    part: Scope,
    topic: &str,
    paths: &[String],
    form: &str,
) -> String {
    let test = if part == Scope::Test { " of tests" } else { "" };
    let name = language_name(language);
    let what = match family {
        ConventionFamily::FileName => format!("`.{language}` files{test} are named in {form}"),
        ConventionFamily::FunctionName => format!("{name} functions{test} are named in {form}"),
        ConventionFamily::MethodName => format!("{name} methods{test} are named in {form}"),
        ConventionFamily::TypeName => format!("{name} types{test} are named in {form}"),
        ConventionFamily::ConstantName => format!("{name} constants{test} are named in {form}"),
        ConventionFamily::TestPlacement if form == place::BESIDE => {
            format!("{name} tests stand beside what they test, and not in a directory of tests")
        }
        ConventionFamily::TestPlacement => format!("{name} tests stand in a directory named `{form}`"),
        ConventionFamily::LicenceHeader => match header::first_words(form) {
            Some(words) => format!("{name} files{test} begin with the notice `{words}`"),
            None => format!("{name} files{test} begin with a notice about their licence"),
        },
        ConventionFamily::PublicDoc => format!("public {topic} in {name} have a documentation comment"),
        ConventionFamily::ErrorIdiom => match (topic, language) {
            (errors::THROWN, _) => format!("{name} code throws errors, and not text"),
            (errors::RESULTS, _) => {
                format!("{name} code passes failures on with `?` and does not unwrap them")
            }
            (_, "python") => {
                format!("{name} code names the exceptions it catches, and does something about broad ones")
            }
            (_, "go") => format!("{name} code does not throw errors away"),
            (_, _) => format!("{name} code does something about what it catches"),
        },
        ConventionFamily::ImportDirection => {
            let to = paths.first().map_or("", |glob| glob.trim_start_matches("**/").trim_end_matches("/**"));
            return format!("`{to}` does not import `{form}`, which imports it");
        }
        ConventionFamily::Library if part == Scope::Test => format!("{name} tests use {form} for {topic}"),
        ConventionFamily::Library => format!("{name} code uses {form} for {topic}"),
        ConventionFamily::CoChange => return format!("when `{topic}` changes, `{form}` changes too"),
    };
    match paths.first().map(String::as_str) {
        Some("**") | None => what,
        Some(glob) => format!("in `{}`, {what}", glob.trim_end_matches("/**")),
    }
}

fn language_name(language: &str) -> &str {
    match language {
        "go" => "Go",
        "java" => "Java",
        "javascript" => "JavaScript",
        "python" => "Python",
        "rust" => "Rust",
        "typescript" => "TypeScript",
        other => other,
    }
}

/// The form that keeps a convention, for something that does not.
pub(super) fn conforming(convention: &Convention, path: &str, value: &str) -> String {
    match convention.family {
        ConventionFamily::FileName => {
            let (stem, rest) =
                path.rsplit('/').next().and_then(|name| name.split_once('.')).unwrap_or((value, ""));
            let stem = Style::from_text(&convention.form)
                .map_or_else(|| stem.to_owned(), |style| style.rewrite(stem));
            format!("call it `{stem}.{rest}`")
        }
        ConventionFamily::FunctionName
        | ConventionFamily::MethodName
        | ConventionFamily::TypeName
        | ConventionFamily::ConstantName => {
            let name = Style::from_text(&convention.form)
                .map_or_else(|| value.to_owned(), |style| style.rewrite(value));
            format!("call it `{name}`")
        }
        ConventionFamily::TestPlacement if convention.form == place::BESIDE => {
            "put it beside the file it tests".to_owned()
        }
        ConventionFamily::TestPlacement => format!("put it into a directory named `{}`", convention.form),
        ConventionFamily::LicenceHeader => "begin it with the notice that the other files have".to_owned(),
        ConventionFamily::PublicDoc => "say in a documentation comment what it is for".to_owned(),
        ConventionFamily::ErrorIdiom => match convention.topic.as_str() {
            errors::THROWN => "throw a new `Error` with that text".to_owned(),
            errors::RESULTS => "pass the failure on with `?`".to_owned(),
            _ => "handle the error, pass it on, or say in a comment why it may be dropped".to_owned(),
        },
        ConventionFamily::ImportDirection => "move what is needed to where both may import it".to_owned(),
        ConventionFamily::Library => format!("use {}", convention.form),
        ConventionFamily::CoChange => format!("change `{}` too, or say why it stays", convention.form),
    }
}
