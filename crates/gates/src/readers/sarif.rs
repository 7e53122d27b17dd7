//! SARIF 2.1.0: results of static analysis, from any tool that writes it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::json::{child, document, flag, list, list_or_empty, object, optional_string, position, string};
use crate::report::ToolVersion;
use crate::report::{Diagnostic, DiagnosticSeverity, Places, Report, ReportError};
use crate::text as clean;
use qa_contracts::ids::CommitId;

/// How often a base of addresses may name another base.
const MAX_BASES: usize = 8;
/// How many arguments of a message are put in.
const MAX_ARGUMENTS: usize = 16;

/// Reads a report.
pub(crate) fn read_report(report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
    let value = document(report)?;
    object(&value, "the document")?;
    match string(&value, "version")? {
        "2.1.0" => {}
        other => return Err(ReportError::unreadable(format!("it is SARIF {other:?} and not 2.1.0"))),
    }
    let mut read = Report::default();
    let runs = list(&value, "runs")?;
    if runs.is_empty() {
        return Err(ReportError::Nothing("it has no run".to_owned()));
    }
    for run in runs {
        read_run(object(run, "a run")?, places, &mut read)?;
    }
    Ok(read)
}

fn read_run(run: &Value, places: &Places<'_>, read: &mut Report) -> Result<(), ReportError> {
    let driver = child(child(run, "tool")?, "driver")?;
    for invocation in list_or_empty(run, "invocations")? {
        if !flag(invocation, "executionSuccessful")? {
            return Err(ReportError::Unfinished("`executionSuccessful` is false".to_owned()));
        }
    }
    if run.get("externalPropertyFileReferences").is_some() {
        return Err(ReportError::Unfinished("parts of it are in other files".to_owned()));
    }
    if run.get("results").is_none_or(Value::is_null) {
        return Err(ReportError::Unfinished("a run has no list of results".to_owned()));
    }
    let version = optional_string(driver, "semanticVersion")?.or(optional_string(driver, "version")?);
    read.tool = Some(ToolVersion {
        name: clean::name(string(driver, "name")?, places),
        version: version.map(|version| clean::name(version, places)),
    });
    for control in list_or_empty(run, "versionControlProvenance")? {
        read.commit = optional_string(control, "revisionId")?
            .and_then(|id| CommitId::parse(id).ok())
            .or(read.commit.take());
    }
    let rules = Rules::new(driver)?;
    for result in list(run, "results")? {
        if let Some(diagnostic) = read_result(object(result, "a result")?, &rules, run, places)? {
            read.diagnostics.push(diagnostic);
        }
    }
    Ok(())
}

fn read_result(
    result: &Value,
    rules: &Rules<'_>,
    run: &Value,
    places: &Places<'_>,
) -> Result<Option<Diagnostic>, ReportError> {
    let is_fault = optional_string(result, "kind")?.is_none_or(|kind| kind == "fail");
    let is_gone = optional_string(result, "baselineState")? == Some("absent");
    if !is_fault || is_gone || is_suppressed(result)? {
        return Ok(None);
    }
    let rule = rules.find(result)?;
    let level = optional_string(result, "level")?
        .or_else(|| rule?.get("defaultConfiguration")?.get("level")?.as_str());
    let severity = match level.unwrap_or("warning") {
        "error" => DiagnosticSeverity::Error,
        "warning" | "note" | "none" => DiagnosticSeverity::Warning,
        other => return Err(ReportError::unreadable(format!("`level` is {other:?}"))),
    };
    let id = match optional_string(result, "ruleId")? {
        Some(id) => Some(id),
        None => rule.map(|rule| string(rule, "id")).transpose()?,
    };
    let place =
        list_or_empty(result, "locations")?.first().and_then(|location| location.get("physicalLocation"));
    let region = place.and_then(|place| place.get("region")).unwrap_or(&Value::Null);
    let artifact = place.and_then(|place| place.get("artifactLocation")).unwrap_or(&Value::Null);
    Ok(Some(Diagnostic {
        path: address(artifact, run, places)?,
        line: position(region, "startLine")?,
        column: position(region, "startColumn")?,
        rule: id.map(|id| clean::name(id, places)),
        message: clean::message(&said(child(result, "message")?, rule)?, places),
        severity,
        end_line: position(region, "endLine")?,
        end_column: position(region, "endColumn")?,
    }))
}

/// A suppression counts unless it waits for a decision or was rejected.
fn is_suppressed(result: &Value) -> Result<bool, ReportError> {
    let suppressions = list_or_empty(result, "suppressions")?;
    let decided: Vec<bool> = suppressions.iter().map(is_accepted).collect::<Result<_, _>>()?;
    Ok(!decided.is_empty() && decided.into_iter().all(|accepted| accepted))
}

fn is_accepted(suppression: &Value) -> Result<bool, ReportError> {
    Ok(optional_string(suppression, "status")?.is_none_or(|status| status == "accepted"))
}

/// The rules of a run, by place and by id.
struct Rules<'a> {
    listed: &'a [Value],
    named: BTreeMap<&'a str, &'a Value>,
}

impl<'a> Rules<'a> {
    fn new(driver: &'a Value) -> Result<Self, ReportError> {
        let listed = list_or_empty(driver, "rules")?;
        let named = listed.iter().filter_map(|rule| Some((rule.get("id")?.as_str()?, rule))).collect();
        Ok(Self { listed, named })
    }

    fn find(&self, result: &Value) -> Result<Option<&'a Value>, ReportError> {
        let reference = result.get("rule").unwrap_or(&Value::Null);
        let index = result.get("ruleIndex").or(reference.get("index")).and_then(Value::as_u64);
        if let Some(found) = index.and_then(|index| self.listed.get(usize::try_from(index).ok()?)) {
            return Ok(Some(found));
        }
        let id = optional_string(result, "ruleId")?.or(optional_string(reference, "id")?);
        Ok(id.and_then(|id| self.named.get(id).copied()))
    }
}

fn said(message: &Value, rule: Option<&Value>) -> Result<String, ReportError> {
    if let Some(text) = optional_string(message, "text")?.or(optional_string(message, "markdown")?) {
        return Ok(text.to_owned());
    }
    let id = string(message, "id")?;
    let template = rule.and_then(|rule| rule.get("messageStrings")?.get(id)?.get("text")?.as_str());
    let mut said = clean::head(template.unwrap_or(id), clean::MAX_MESSAGE).to_owned();
    for (index, argument) in list_or_empty(message, "arguments")?.iter().enumerate().take(MAX_ARGUMENTS) {
        said = said
            .replace(&format!("{{{index}}}"), clean::head(argument.as_str().unwrap_or(""), clean::MAX_NAME));
    }
    Ok(said)
}

/// The file of a result: its address, below the addresses that the run gives to the names of its bases.
fn address(
    artifact: &Value,
    run: &Value,
    places: &Places<'_>,
) -> Result<Option<qa_contracts::ids::RepoPath>, ReportError> {
    let location = if artifact.get("uri").is_none() {
        listed_location(artifact, run).unwrap_or(artifact)
    } else {
        artifact
    };
    let Some(uri) = optional_string(location, "uri")? else { return Ok(None) };
    let mut full = uri.to_owned();
    let mut base = optional_string(location, "uriBaseId")?;
    for _ in 0..MAX_BASES {
        let known = base.and_then(|base| run.get("originalUriBaseIds")?.get(base));
        let Some(known) = known else { break };
        if full.contains("://") {
            break;
        }
        let above = optional_string(known, "uri")?.unwrap_or("");
        full = if above.is_empty() || above.ends_with('/') {
            format!("{above}{full}")
        } else {
            format!("{above}/{full}")
        };
        base = optional_string(known, "uriBaseId")?;
    }
    Ok(clean::uri_path(&full, places))
}

/// Returns the location of an artifact that is only a position in the run's list.
fn listed_location<'r>(artifact: &Value, run: &'r Value) -> Option<&'r Value> {
    let index = usize::try_from(artifact.get("index")?.as_u64()?).ok()?;
    run.get("artifacts")?.get(index)?.get("location")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(run: &str) -> Result<String, &'static str> {
        let places = Places { roots: &[], directory: "", module: "" };
        let report = format!(r#"{{"version":"2.1.0","runs":[{run}]}}"#);
        let read = read_report(report.as_bytes(), &places).map_err(|error| error.kind())?;
        let one = |it: &Diagnostic| {
            let path = it.path.as_ref().map_or("-".to_owned(), ToString::to_string);
            format!("{} {path} {} {}", it.severity.as_str(), it.rule.as_deref().unwrap_or("-"), it.message)
        };
        Ok(read.diagnostics.iter().map(one).collect::<Vec<_>>().join("; "))
    }

    fn result(members: &str) -> Result<String, &'static str> {
        let driver = r#"{"name":"x","rules":[{"id":"R1","defaultConfiguration":{"level":"error"},"messageStrings":{"m":{"text":"about {0}"}}}]}"#;
        shown(&format!(
            r#"{{"tool":{{"driver":{driver}}},"results":[{{"message":{{"text":"t"}},{members}}}]}}"#
        ))
    }

    #[test]
    fn a_result_counts_by_its_level_and_kind() {
        let cases = [
            (r#""ruleId":"R1""#, Ok("error - R1 t")),
            (r#""ruleIndex":0"#, Ok("error - R1 t")),
            (r#""rule":{"index":0},"level":"note""#, Ok("warning - R1 t")),
            (r#""ruleId":"R2""#, Ok("warning - R2 t")),
            (r#""ruleId":"R1","kind":"pass""#, Ok("")),
            (r#""ruleId":"R1","baselineState":"absent""#, Ok("")),
            (r#""ruleId":"R1","suppressions":[{"kind":"inSource"}]"#, Ok("")),
            (
                r#""ruleId":"R1","suppressions":[{"kind":"external","status":"underReview"}]"#,
                Ok("error - R1 t"),
            ),
            (r#""ruleId":"R1","level":"fatal""#, Err("unreadable")),
            (r#""ruleId":"R1","message":{"id":"m","arguments":["it"]}"#, Err("unreadable")),
        ];
        for (members, expected) in cases {
            assert_eq!(result(members).as_deref(), expected.as_deref(), "{members}");
        }
    }

    #[test]
    fn a_place_is_found_through_its_bases() {
        let run = r#"{"tool":{"driver":{"name":"x"}},"originalUriBaseIds":{"ROOT":{"uri":"file:///github/workspace/"},"SRC":{"uri":"src","uriBaseId":"ROOT"}},"artifacts":[{"location":{"uri":"b.ts","uriBaseId":"SRC"}}],"results":[{"message":{"text":"t"},"locations":[{"physicalLocation":{"artifactLocation":{"index":0}}}]}]}"#;
        assert_eq!(shown(run).unwrap(), "warning src/b.ts - t");
        let outside = run.replace("file:///github/workspace/", "file:///etc/");
        assert_eq!(shown(&outside).unwrap(), "warning - - t");
    }

    #[test]
    fn a_run_that_did_not_finish_is_no_result() {
        let tool = r#""tool":{"driver":{"name":"x"}}"#;
        assert_eq!(shown(&format!(r#"{{{tool},"results":[]}}"#)).unwrap(), "");
        for members in [
            "".to_owned(),
            r#","results":null"#.to_owned(),
            r#","results":[],"invocations":[{"executionSuccessful":false}]"#.to_owned(),
            r#","results":[],"externalPropertyFileReferences":{}"#.to_owned(),
        ] {
            assert_eq!(shown(&format!("{{{tool}{members}}}")), Err("unfinished"), "{members}");
        }
        assert_eq!(shown(""), Err("nothing"));
        let places = Places { roots: &[], directory: "", module: "" };
        assert!(read_report(br#"{"version":"2.0.0","runs":[]}"#, &places).is_err());
    }

    #[test]
    fn the_commit_is_the_one_the_run_names() {
        let places = Places { roots: &[], directory: "", module: "" };
        let report = br#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x","semanticVersion":"1.2.3"}},"results":[],"versionControlProvenance":[{"repositoryUri":"https://example.com","revisionId":"0123456789abcdef0123456789abcdef01234567"}]}]}"#;
        let read = read_report(report, &places).unwrap();
        assert_eq!(read.commit.unwrap().as_str(), "0123456789abcdef0123456789abcdef01234567");
        assert_eq!(read.tool.unwrap().version.as_deref(), Some("1.2.3"));
    }
}
