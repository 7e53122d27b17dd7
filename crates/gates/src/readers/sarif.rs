//! SARIF 2.1.0: results of static analysis, from any tool that writes it.

use serde_json::Value;

use super::json::{
    child, document, flag, list, list_or_empty, object, optional_index, optional_string, position, string,
};
use super::sarif_levels::{Descriptors, NOTIFICATIONS, Position, RULES, severity};
use crate::report::ToolVersion;
use crate::report::{Diagnostic, DiagnosticSeverity, Places, Report, ReportError, ReportedPath};
use crate::text as clean;
use qa_contracts::ids::CommitId;

/// Maximum number of nested bases that a URI is resolved through.
const MAX_BASES: usize = 8;
/// Maximum number of arguments that are put into a message.
const MAX_ARGUMENTS: usize = 16;
/// Members of an invocation that are absent unless the tool failed.
const FAILURES: &[&str] = &["exitSignalName", "exitSignalNumber", "processStartFailureMessage"];

/// Members that a result may have.
const RESULT: &[&str] = &[
    "analysisTarget",
    "attachments",
    "baselineState",
    "codeFlows",
    "correlationGuid",
    "fingerprints",
    "fixes",
    "graphTraversals",
    "graphs",
    "guid",
    "hostedViewerUri",
    "kind",
    "level",
    "locations",
    "message",
    "occurrenceCount",
    "partialFingerprints",
    "properties",
    "provenance",
    "rank",
    "relatedLocations",
    "rule",
    "ruleId",
    "ruleIndex",
    "stacks",
    "suppressions",
    "taxa",
    "webRequest",
    "webResponse",
    "workItemUris",
];

/// Reads a report.
pub(crate) fn read_report(report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
    let value = document(report)?;
    object(&value, "the document")?;
    match string(&value, "version")? {
        "2.1.0" => {}
        other => return Err(ReportError::unreadable(format!("it is SARIF {other:?} and not 2.1.0"))),
    }
    if !list_or_empty(&value, "inlineExternalProperties")?.is_empty() {
        return Err(ReportError::Unfinished("parts of its runs stand outside of them".to_owned()));
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
    check_invocations(run, places, read)?;
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
        let revision = optional_string(object(control, "a revision")?, "revisionId")?;
        if let Some(id) = revision.filter(|id| !id.is_empty()) {
            let commit = CommitId::parse(id).map_err(|_| {
                ReportError::unreadable(format!("`revisionId` is {id:?}, which is no full id of a commit"))
            })?;
            read.add_commit(commit)?;
        }
    }
    let rules = Descriptors::new(run, &RULES)?;
    for result in list(run, "results")? {
        read.doubt = read.doubt.take().or_else(|| unknown_severity(result));
        if let Some(diagnostic) = read_result(object(result, "a result")?, &rules, run, places)? {
            read.diagnostics.push(diagnostic);
        }
    }
    Ok(())
}

/// Checks that every invocation, and that of a converter, did its work.
fn check_invocations(run: &Value, places: &Places<'_>, read: &mut Report) -> Result<(), ReportError> {
    let notifications = Descriptors::new(run, &NOTIFICATIONS)?;
    let converter = run.get("conversion").and_then(|conversion| conversion.get("invocation"));
    let own = list_or_empty(run, "invocations")?.iter().enumerate();
    let own = own.map(|(position, invocation)| (Some(position), invocation));
    for (position, invocation) in own.chain(converter.map(|invocation| (None, invocation))) {
        for kind in ["toolExecutionNotifications", "toolConfigurationNotifications"] {
            for notification in list_or_empty(invocation, kind)? {
                let descriptor = notifications.find_descriptor(object(notification, "a notification")?)?;
                let severity = notifications.severity(notification, descriptor, position)?;
                if severity == DiagnosticSeverity::Error {
                    let descriptor = descriptor.map(|position| notifications.get(position));
                    let said = said(child(notification, "message")?, descriptor)?;
                    return Err(ReportError::Unfinished(clean::message(&said, places)));
                }
            }
        }
        check_end(invocation, read)?;
    }
    Ok(())
}

fn check_end(invocation: &Value, read: &mut Report) -> Result<(), ReportError> {
    if !flag(invocation, "executionSuccessful")? {
        return Err(ReportError::Unfinished("`executionSuccessful` is false".to_owned()));
    }
    for member in FAILURES {
        if invocation.get(member).is_some_and(|stated| !stated.is_null()) {
            return Err(ReportError::Unfinished(format!("an invocation has `{member}`")));
        }
    }
    // Each tool has statuses of its own, which a record of the command is judged by.
    match invocation.get("exitCode").filter(|code| !code.is_null()).map(|code| (code, code.as_i64())) {
        None | Some((_, Some(0))) => {}
        Some((code, _)) => read.doubt = Some(format!("an invocation ended with `exitCode` {code}")),
    }
    Ok(())
}

/// Returns a doubt about a result that has no level and has another member instead, which may be its severity.
fn unknown_severity(result: &Value) -> Option<String> {
    let members = result.as_object().filter(|members| !members.contains_key("level"))?;
    let unknown = members.keys().find(|key| !RESULT.contains(&key.as_str()))?;
    let unknown = clean::head(unknown, clean::MAX_NAME);
    Some(format!("a result has no `level`, and has `{unknown}`, which is not of SARIF"))
}

fn read_result(
    result: &Value,
    rules: &Descriptors<'_>,
    run: &Value,
    places: &Places<'_>,
) -> Result<Option<Diagnostic>, ReportError> {
    let position = rules.find_rule(result)?;
    let is_gone = match optional_string(result, "baselineState")? {
        Some("absent") => true,
        None | Some("new" | "unchanged" | "updated") => false,
        Some(other) => return Err(ReportError::unreadable(format!("`baselineState` is {other:?}"))),
    };
    let severity = result_severity(result, rules, position)?;
    let Some(severity) = severity.filter(|_| !is_gone) else { return Ok(None) };
    if is_suppressed(result)? {
        return Ok(None);
    }
    let rule = position.map(|position| rules.get(position));
    let id = match optional_string(result, "ruleId")? {
        Some(id) => Some(id),
        None => rule.map(|rule| string(rule, "id")).transpose()?,
    };
    diagnostic(result, rule, id, severity, run, places).map(Some)
}

/// Returns the severity of a result; `None` for one that is no problem.
fn result_severity(
    result: &Value,
    rules: &Descriptors<'_>,
    rule: Option<Position>,
) -> Result<Option<DiagnosticSeverity>, ReportError> {
    let own = optional_string(result, "level")?.map(severity).transpose()?;
    match optional_string(result, "kind")? {
        None | Some("fail") => {
            let provenance = result.get("provenance").unwrap_or(&Value::Null);
            rules.severity(result, rule, optional_index(provenance, "invocationIndex")?).map(Some)
        }
        // A level beside another kind contradicts it.
        Some("pass" | "informational" | "notApplicable") => {
            Ok(own.filter(|&level| level == DiagnosticSeverity::Error))
        }
        Some("open" | "review") => Ok(own.or(Some(DiagnosticSeverity::Warning))),
        Some(other) => Err(ReportError::unreadable(format!("`kind` is {other:?}"))),
    }
}

fn diagnostic(
    result: &Value,
    rule: Option<&Value>,
    id: Option<&str>,
    severity: DiagnosticSeverity,
    run: &Value,
    places: &Places<'_>,
) -> Result<Diagnostic, ReportError> {
    let place =
        list_or_empty(result, "locations")?.first().and_then(|location| location.get("physicalLocation"));
    let region = place.and_then(|place| place.get("region")).unwrap_or(&Value::Null);
    let artifact = place.and_then(|place| place.get("artifactLocation")).unwrap_or(&Value::Null);
    Ok(Diagnostic {
        path: address(artifact, run, places)?,
        line: position(region, "startLine")?,
        column: position(region, "startColumn")?,
        rule: id.map(|id| clean::name(id, places)),
        message: clean::message(&said(child(result, "message")?, rule)?, places),
        severity,
        end_line: position(region, "endLine")?,
        end_column: position(region, "endColumn")?,
    })
}

/// Returns whether a result is suppressed: not by a suppression that waits for a decision or was rejected.
fn is_suppressed(result: &Value) -> Result<bool, ReportError> {
    let suppressions = list_or_empty(result, "suppressions")?;
    for suppression in suppressions {
        let kind = string(suppression, "kind")?;
        if !matches!(kind, "inSource" | "external") {
            return Err(ReportError::unreadable(format!("`kind` of a suppression is {kind:?}")));
        }
        if optional_string(suppression, "status")?.is_some_and(|status| status != "accepted") {
            return Ok(false);
        }
    }
    Ok(!suppressions.is_empty())
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
fn address(artifact: &Value, run: &Value, places: &Places<'_>) -> Result<Option<ReportedPath>, ReportError> {
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
    Ok(clean::reported_uri(&full, places))
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
        let driver = r#"{"name":"x","rules":[{"id":"R1","defaultConfiguration":{"level":"error"},"messageStrings":{"m":{"text":"about {0}"}}},{"id":"R3"}]}"#;
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
            (r#""ruleId":"R3""#, Ok("warning - R3 t")),
            (r#""ruleId":"R1","level":"fatal""#, Err("unreadable")),
            (r#""ruleId":"R1","message":{"id":"m","arguments":["it"]}"#, Err("unreadable")),
            (r#""ruleId":"R1","kind":"pass""#, Ok("")),
            (r#""ruleId":"R1","kind":"notApplicable","level":"none""#, Ok("")),
            (r#""ruleId":"R1","kind":"informational","level":"error""#, Ok("error - R1 t")),
            (r#""ruleId":"R1","kind":"open""#, Ok("warning - R1 t")),
            (r#""ruleId":"R1","kind":"review","level":"error""#, Ok("error - R1 t")),
            (r#""ruleId":"R1","kind":"passed""#, Err("unreadable")),
            (r#""ruleId":"R1","baselineState":"absent""#, Ok("")),
            (r#""ruleId":"R1","baselineState":"unchanged""#, Ok("error - R1 t")),
            (r#""ruleId":"R1","baselineState":"gone""#, Err("unreadable")),
        ];
        for (members, expected) in cases {
            assert_eq!(result(members).as_deref(), expected.as_deref(), "{members}");
        }
    }

    #[test]
    fn a_suppression_counts_once_it_is_accepted() {
        let cases = [
            (r#"[]"#, Ok("error - R1 t")),
            (r#"[{"kind":"inSource"}]"#, Ok("")),
            (r#"[{"kind":"external","status":"accepted"}]"#, Ok("")),
            (r#"[{"kind":"external","status":"underReview"}]"#, Ok("error - R1 t")),
            (r#"[{"kind":"external","status":"rejected"}]"#, Ok("error - R1 t")),
            (r#"[{"kind":"external","status":"Accepted"}]"#, Ok("error - R1 t")),
            (r#"[{"kind":"inSource"},{"kind":"external","status":"rejected"}]"#, Ok("error - R1 t")),
            (r#"[{"kind":"somewhere"}]"#, Err("unreadable")),
            (r#"[null]"#, Err("unreadable")),
        ];
        for (suppressions, expected) in cases {
            let members = format!(r#""ruleId":"R1","suppressions":{suppressions}"#);
            assert_eq!(result(&members).as_deref(), expected.as_deref(), "{members}");
        }
    }

    /// Shows a result of the rules `A`, an error by default, and `B`, of an extension with an error and a warning.
    fn resolved(members: &str, invocations: &str) -> Result<String, &'static str> {
        let error = r#""defaultConfiguration":{"level":"error"}"#;
        let driver = format!(r#"{{"name":"x","rules":[{{"id":"A","guid":"g1",{error}}},{{"id":"W"}}]}}"#);
        let extension = format!(
            r#"{{"name":"e","guid":"g2","rules":[{{"id":"W"}},{{"id":"B",{error}}},{{"id":"D"}},{{"id":"D"}}]}}"#
        );
        shown(&format!(
            r#"{{"tool":{{"driver":{driver},"extensions":[{extension}]}},"invocations":[{invocations}],"results":[{{"message":{{"text":"t"}},{members}}}]}}"#
        ))
    }

    #[test]
    fn a_rule_is_found_wherever_it_is_described() {
        let cases = [
            (r#""ruleId":"W""#, Ok("warning - W t")),
            (r#""ruleId":"W","ruleIndex":-1"#, Ok("warning - W t")),
            (r#""ruleId":"A/1/2""#, Ok("error - A/1/2 t")),
            (r#""rule":{"guid":"g1"}"#, Ok("error - A t")),
            (r#""ruleId":"B","ruleIndex":1,"rule":{"toolComponent":{"index":0}}"#, Ok("error - B t")),
            (r#""ruleId":"B","rule":{"toolComponent":{"guid":"g2"}}"#, Ok("error - B t")),
            (r#""ruleId":"B/1","rule":{"toolComponent":{"name":"e"}}"#, Ok("error - B/1 t")),
            (r#""ruleId":"W","rule":{"index":0,"toolComponent":{"index":0}}"#, Ok("warning - W t")),
            // None of these is described, is described once, or is what its reference says.
            (r#""ruleId":"X""#, Ok("error - X t")),
            (r#""ruleId":"WX""#, Ok("error - WX t")),
            (r#""ruleId":"B""#, Ok("error - B t")),
            (r#""ruleId":"W","ruleIndex":7"#, Ok("error - W t")),
            (r#""ruleId":"A","ruleIndex":1"#, Ok("error - A t")),
            (r#""ruleId":"W","rule":{"id":"A"}"#, Ok("error - W t")),
            (r#""ruleId":"W","ruleIndex":1,"rule":{"index":0}"#, Ok("error - W t")),
            (r#""ruleId":"W","rule":{"guid":"g9"}"#, Ok("error - W t")),
            (r#""ruleId":"W","rule":{"toolComponent":{"index":1}}"#, Ok("error - W t")),
            (r#""ruleId":"W","rule":{"toolComponent":{"guid":"g9"}}"#, Ok("error - W t")),
            (r#""ruleId":"W","rule":{"toolComponent":{"name":"y"}}"#, Ok("error - W t")),
            (r#""ruleId":"D","rule":{"toolComponent":{"index":0}}"#, Ok("error - D t")),
            (r#""rank":1"#, Ok("error - - t")),
            (r#""ruleId":"W","ruleIndex":"1""#, Err("unreadable")),
            (r#""ruleId":"W","ruleIndex":0.5"#, Err("unreadable")),
        ];
        for (members, expected) in cases {
            assert_eq!(resolved(members, "").as_deref(), expected.as_deref(), "{members}");
        }
    }

    #[test]
    fn an_invocation_overrides_the_level_of_a_rule() {
        let one = |descriptor: &str, level: &str| {
            format!(
                r#"{{"executionSuccessful":true,"ruleConfigurationOverrides":[{{"descriptor":{descriptor},"configuration":{{"level":"{level}"}}}}]}}"#
            )
        };
        let warned = r#""ruleId":"W""#;
        let placed = r#""ruleId":"W","provenance":{"invocationIndex":0}"#;
        let lowered = r#""ruleId":"A","provenance":{"invocationIndex":0}"#;
        let cases = [
            (warned, one(r#"{"index":1}"#, "error"), Ok("error - W t")),
            (placed, one(r#"{"index":1}"#, "error"), Ok("error - W t")),
            (placed, one(r#"{"id":"W"}"#, "error"), Ok("error - W t")),
            (
                r#""ruleId":"W","provenance":{"invocationIndex":7}"#,
                one(r#"{"id":"W"}"#, "error"),
                Ok("error - W t"),
            ),
            // It is that of the extension.
            (placed, one(r#"{"index":0,"toolComponent":{"index":0}}"#, "error"), Ok("warning - W t")),
            (lowered, one(r#"{"id":"A"}"#, "note"), Ok("warning - A t")),
            // Without the number of its invocation a result counts by the strictest level.
            (r#""ruleId":"A""#, one(r#"{"id":"A"}"#, "note"), Ok("error - A t")),
            (
                r#""ruleId":"A","provenance":{"invocationIndex":1}"#,
                one(r#"{"id":"A"}"#, "note"),
                Ok("error - A t"),
            ),
            // Nobody knows which rule it is about.
            (placed, one(r#"{"id":"Y"}"#, "error"), Ok("error - W t")),
            (placed, one(r#"{"id":"Y"}"#, "note"), Ok("warning - W t")),
            (r#""ruleId":"W","level":"note""#, one(r#"{"id":"Y"}"#, "error"), Ok("warning - W t")),
            (placed, one(r#"{"id":"W"}"#, "fatal"), Err("unreadable")),
            (placed, one("null", "error"), Err("unreadable")),
        ];
        for (members, invocation, expected) in cases {
            let found = resolved(members, &invocation);
            assert_eq!(found.as_deref(), expected.as_deref(), "{members}, {invocation}");
        }
    }

    #[test]
    fn an_invocation_that_failed_is_no_result() {
        let level = r#""message":{"text":"no config"}"#;
        let cases = [
            (r#""exitCode":0,"exitSignalName":null"#.to_owned(), Ok("")),
            (r#""exitSignalName":"SIGKILL""#.to_owned(), Err("unfinished")),
            (r#""exitSignalNumber":9"#.to_owned(), Err("unfinished")),
            (r#""processStartFailureMessage":"not found""#.to_owned(), Err("unfinished")),
            (format!(r#""toolExecutionNotifications":[{{"level":"error",{level}}}]"#), Err("unfinished")),
            (format!(r#""toolConfigurationNotifications":[{{"level":"error",{level}}}]"#), Err("unfinished")),
            (format!(r#""toolExecutionNotifications":[{{"level":"warning",{level}}}]"#), Ok("")),
            (format!(r#""toolExecutionNotifications":[{{"level":"fatal",{level}}}]"#), Err("unreadable")),
            // Its descriptor has the level.
            (
                format!(r#""toolExecutionNotifications":[{{"descriptor":{{"id":"N"}},{level}}}]"#),
                Err("unfinished"),
            ),
            (format!(r#""toolExecutionNotifications":[{{"descriptor":{{"id":"M"}},{level}}}]"#), Ok("")),
            (r#""toolExecutionNotifications":{}"#.to_owned(), Err("unreadable")),
        ];
        for (members, expected) in cases {
            let driver = r#"{"name":"x","notifications":[{"id":"N","defaultConfiguration":{"level":"error"}},{"id":"M"}]}"#;
            let ended = format!(r#"{{"executionSuccessful":true,{members}}}"#);
            let run = format!(r#"{{"tool":{{"driver":{driver}}},"results":[],"invocations":[{ended}]}}"#);
            assert_eq!(shown(&run).as_deref(), expected.as_deref(), "{members}");
            let conversion = format!(r#"{{"invocation":{ended}}}"#);
            let run = format!(r#"{{"tool":{{"driver":{driver}}},"results":[],"conversion":{conversion}}}"#);
            assert_eq!(shown(&run).as_deref(), expected.as_deref(), "{members} of a converter");
        }
        let converted = r#"{"tool":{"driver":{"name":"x"}},"results":[],"conversion":{"invocation":{"executionSuccessful":false}}}"#;
        assert_eq!(shown(converted), Err("unfinished"));
    }

    #[test]
    fn what_another_convention_may_mean_is_in_doubt() {
        let note = r#""ruleId":"W","message":{"text":"t"}"#;
        for (code, result, doubts) in [
            ("0", "", false),
            ("null", "", false),
            ("1", "", true),
            ("\"0\"", "", true),
            ("0", &format!("{{{note}}}"), false),
            ("0", &format!(r#"{{{note},"severity":"error"}}"#), true),
            ("0", &format!(r#"{{{note},"severity":"error","level":"note"}}"#), false),
        ] {
            let report = format!(
                r#"{{"version":"2.1.0","runs":[{{"tool":{{"driver":{{"name":"x","rules":[{{"id":"W"}}]}}}},"results":[{result}],"invocations":[{{"executionSuccessful":true,"exitCode":{code}}}]}}]}}"#
            );
            let places = Places { roots: &[], directory: "", module: "" };
            let read = read_report(report.as_bytes(), &places).unwrap();
            assert_eq!(read.doubt.is_some(), doubts, "{code}, {result}");
        }
    }

    #[test]
    fn a_place_is_found_through_its_bases() {
        let run = r#"{"tool":{"driver":{"name":"x"}},"originalUriBaseIds":{"ROOT":{"uri":"file:///github/workspace/"},"SRC":{"uri":"src","uriBaseId":"ROOT"}},"artifacts":[{"location":{"uri":"b.ts","uriBaseId":"SRC"}}],"results":[{"level":"note","message":{"text":"t"},"locations":[{"physicalLocation":{"artifactLocation":{"index":0}}}]}]}"#;
        assert_eq!(shown(run).unwrap(), "warning src/b.ts - t");
        let outside = run.replace("file:///github/workspace/", "file:///etc/");
        assert_eq!(shown(&outside).unwrap(), "warning file:///etc/src/b.ts - t");
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
    fn the_commit_is_the_one_that_all_runs_name() {
        let places = Places { roots: &[], directory: "", module: "" };
        let named = |ids: &[&str]| {
            let controls = ids.iter().map(|id| format!(r#"{{"revisionId":"{id}"}}"#));
            let runs = controls.map(|control| {
                format!(
                    r#"{{"tool":{{"driver":{{"name":"x","semanticVersion":"1.2.3"}}}},"results":[],"versionControlProvenance":[{control}]}}"#
                )
            });
            let runs: Vec<String> = runs.collect();
            let report = format!(r#"{{"version":"2.1.0","runs":[{}]}}"#, runs.join(","));
            read_report(report.as_bytes(), &places)
        };
        let (one, other) = ("01".repeat(20), "23".repeat(20));
        let read = named(&[&one, "", &one]).unwrap();
        assert_eq!(read.commit.unwrap().as_str(), one);
        assert_eq!(read.tool.unwrap().version.as_deref(), Some("1.2.3"));
        assert_eq!(named(&[""]).unwrap().commit, None);
        assert_eq!(named(&[&one, &other]).unwrap_err().kind(), "inconsistent");
        assert_eq!(named(&["main"]).unwrap_err().kind(), "unreadable");
        let inline = br#"{"version":"2.1.0","inlineExternalProperties":[{"results":[]}],"runs":[{"tool":{"driver":{"name":"x"}},"results":[]}]}"#;
        assert_eq!(read_report(inline, &places).unwrap_err().kind(), "unfinished");
    }
}
