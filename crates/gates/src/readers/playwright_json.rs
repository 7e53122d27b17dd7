//! Playwright's reporter `json`: suites of specs, each with a test per project and a result per attempt.

use serde_json::Value;

use super::json::{child, document, list, list_or_empty, number, object, optional_string, position, string};
use crate::report::ToolVersion;
use crate::report::{
    Attachment, Diagnostic, DiagnosticSeverity, Outcome, Places, Report, ReportError, ReportedPath, TestCase,
};
use crate::tags::StoryReader;
use crate::text as clean;
use qa_contracts::ids::CommitId;

/// The deepest nesting of suites.
const MAX_SUITES: usize = 32;

/// Reads a report.
pub(crate) fn read_report(report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
    let value = document(report)?;
    object(&value, "the document")?;
    let config = child(&value, "config")?;
    let context = Context { places, root: optional_string(config, "rootDir")?.unwrap_or("") };
    let mut read = Report { commit: commit(config), ..Report::default() };
    read.tool = optional_string(config, "version")?.map(|version| ToolVersion {
        name: "playwright".to_owned(),
        version: Some(clean::name(version, places)),
    });
    for suite in list(&value, "suites")? {
        context.suite(object(suite, "a suite")?, &mut Vec::new(), &mut read)?;
    }
    for error in list(&value, "errors")? {
        let said = optional_string(error, "message")?
            .or(optional_string(error, "value")?)
            .unwrap_or("an error without a message");
        // Playwright counts this among the errors; it is a run that had nothing to do.
        if said != "Error: No tests found" || !read.tests.is_empty() {
            read.diagnostics.push(context.error(error, said)?);
        }
    }
    let stats = child(&value, "stats")?;
    for (key, outcomes) in [
        ("expected", &[Outcome::Passed] as &[Outcome]),
        ("unexpected", &[Outcome::Failed, Outcome::Errored]),
        ("flaky", &[Outcome::Flaky]),
        ("skipped", &[Outcome::Skipped]),
    ] {
        let found = read.tests.iter().filter(|test| outcomes.contains(&test.outcome)).count() as u64;
        let stated = number(stats, key)?;
        if stated != found {
            return Err(ReportError::Inconsistent(format!(
                "`stats.{key}` is {stated} and {found} are there"
            )));
        }
    }
    Ok(read)
}

fn commit(config: &Value) -> Option<CommitId> {
    let metadata = config.get("metadata")?;
    let stated = metadata.pointer("/gitCommit/hash").or(metadata.pointer("/ci/commitHash"))?;
    CommitId::parse(stated.as_str()?).ok()
}

struct Context<'a> {
    places: &'a Places<'a>,
    /// Directory that paths of test files are relative to.
    root: &'a str,
}

impl<'a> Context<'a> {
    fn suite(
        &self,
        suite: &'a Value,
        titles: &mut Vec<&'a str>,
        read: &mut Report,
    ) -> Result<(), ReportError> {
        if titles.len() >= MAX_SUITES {
            return Err(ReportError::TooLarge(format!("suites nest deeper than {MAX_SUITES}")));
        }
        titles.push(string(suite, "title")?);
        for spec in list(suite, "specs")? {
            for test in list(object(spec, "a spec")?, "tests")? {
                read.tests.push(self.test(spec, object(test, "a test")?, titles)?);
            }
        }
        for inner in list_or_empty(suite, "suites")? {
            self.suite(object(inner, "a suite")?, titles, read)?;
        }
        titles.pop();
        Ok(())
    }

    fn test(&self, spec: &Value, test: &Value, suites: &[&str]) -> Result<TestCase, ReportError> {
        let file = string(spec, "file")?;
        let path = self.path(file);
        let results = list(test, "results")?;
        let interrupted =
            results.last().map(|result| string(result, "status")).transpose()? == Some("interrupted");
        let outcome = match string(test, "status")? {
            "expected" => Outcome::Passed,
            "unexpected" if interrupted => Outcome::Errored,
            "unexpected" => Outcome::Failed,
            "flaky" => Outcome::Flaky,
            "skipped" => Outcome::Skipped,
            other => return Err(ReportError::unreadable(format!("`status` of a test is {other:?}"))),
        };
        let faulty = outcome.fails() || outcome == Outcome::Flaky;
        let error =
            results.iter().find_map(|result| result.get("error").filter(|error| error.is_object() && faulty));
        let location = error.and_then(|error| error.get("location")).unwrap_or(&Value::Null);
        let is_here =
            path.is_some() && optional_string(location, "file")?.and_then(|file| self.path(file)) == path;
        let failed_at = if is_here { position(location, "line")? } else { None };
        let mut attachments = Vec::new();
        for attachment in results
            .iter()
            .map(|result| list_or_empty(result, "attachments"))
            .collect::<Result<Vec<_>, _>>()?
        {
            for one in attachment {
                attachments.push(self.attachment(one)?);
            }
        }
        Ok(TestCase {
            id: self.id(spec, test, suites)?,
            outcome,
            line: failed_at.or(position(spec, "line")?),
            path,
            message: match error {
                Some(error) => {
                    optional_string(error, "message")?.map(|said| clean::message(said, self.places))
                }
                None => None,
            },
            attempts: u32::try_from(results.len()).unwrap_or(u32::MAX),
            stories: stories(spec, test, suites)?,
            attachments,
        })
    }

    /// The file, the suites, the title and the project; the outermost suite is the file.
    fn id(&self, spec: &Value, test: &Value, suites: &[&str]) -> Result<String, ReportError> {
        let mut words = suites.to_vec();
        words.push(string(spec, "title")?);
        let project = optional_string(test, "projectName")?.filter(|name| !name.is_empty());
        let project = project.map(|name| format!(" [{name}]")).unwrap_or_default();
        Ok(clean::name(&format!("{}{project}", words.join(" > ")), self.places))
    }

    fn path(&self, file: &str) -> Option<ReportedPath> {
        let is_absolute = file.starts_with('/') || file.get(1..2) == Some(":");
        if is_absolute || self.root.is_empty() {
            clean::reported_path(file, self.places)
        } else {
            clean::reported_path(&format!("{}/{file}", self.root), self.places)
        }
    }

    fn attachment(&self, attachment: &Value) -> Result<Attachment, ReportError> {
        let path = optional_string(attachment, "path")?.and_then(|path| self.path(path));
        Ok(Attachment {
            path: path.and_then(|path| path.in_repository().cloned()),
            name: clean::name(string(attachment, "name")?, self.places),
            media_type: clean::name(optional_string(attachment, "contentType")?.unwrap_or(""), self.places),
        })
    }

    fn error(&self, error: &Value, said: &str) -> Result<Diagnostic, ReportError> {
        let location = error.get("location").unwrap_or(&Value::Null);
        Ok(Diagnostic {
            path: optional_string(location, "file")?.and_then(|file| self.path(file)),
            line: position(location, "line")?,
            column: position(location, "column")?,
            rule: None,
            message: clean::message(said, self.places),
            severity: DiagnosticSeverity::Error,
            end_line: None,
            end_column: None,
        })
    }
}

fn stories(spec: &Value, test: &Value, suites: &[&str]) -> Result<Vec<crate::report::Story>, ReportError> {
    let mut reader = StoryReader::default();
    suites.iter().for_each(|title| reader.read_tags(title));
    reader.read_tags(string(spec, "title")?);
    for tag in list_or_empty(spec, "tags")? {
        let tag = tag.as_str().ok_or_else(|| ReportError::unreadable("a tag is no text"))?;
        reader.read_tags(&format!("@{}", tag.trim_start_matches('@')));
    }
    for annotation in list_or_empty(test, "annotations")? {
        reader.add(string(annotation, "type")?, optional_string(annotation, "description")?.unwrap_or(""));
    }
    Ok(reader.finish())
}
