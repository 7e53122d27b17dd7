//! Hooks of coding agents: parses their events, and answers in the format of each agent. Pure.

mod agents;
mod install;
mod text;

pub use agents::{ALL, HookFormat};
pub use install::{AgentFiles, HookEntry};
pub use text::{HookOutcome, HookReport, NotJudged};

use serde::Deserialize;
use serde_json::Value;

use text::UNCHANGED;

use qa_core::escape::visible_cut;

/// Size limit of an event, in bytes. Events after a tool have the whole text of the edited file.
pub const MAX_EVENT_BYTES: usize = 16 << 20;
/// Limit of the files that an edit names. Further ones are judged when the agent stops.
const MAX_EDITED: usize = 500;
/// Members of a tool's input that name a file.
const FILE_MEMBERS: [&str; 4] = ["file_path", "filePath", "path", "notebook_path"];
/// Members of a tool's input that may be a patch.
const PATCH_MEMBERS: [&str; 3] = ["command", "input", "patch"];
/// First line of a patch of Codex.
const PATCH_START: &str = "*** Begin Patch";
/// Beginnings of the lines that name files in a patch of Codex.
const PATCH_LINES: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Move to: ", "*** Delete File: "];

/// An event that is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookEvent {
    /// Directory that the agent works in.
    pub directory: String,
    pub moment: Moment,
}

/// Point of an agent's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// The agent is about to end its turn. `continued` is true if a hook kept it from that before, or the person ended it.
    Stop { continued: bool },
    /// A tool ran. `files` are the paths that it names, absolute or from the directory of the event; empty for a tool that names
    /// none.
    Edit { files: Vec<String> },
}

/// Answer to an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookAnswer {
    /// JSON document for standard output.
    pub document: String,
    /// Text for a person, on standard error.
    pub note: Option<String>,
}

/// Error of an event that is not judged. Completes "failed to read the event: ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookEventError {
    #[error("it is larger than {MAX_EVENT_BYTES} bytes")]
    TooLarge,
    #[error("{0}")]
    Json(String),
    #[error("it has no `{0}`")]
    Missing(&'static str),
    #[error("`{name}` is not judged; these are: {known}")]
    Unknown { name: String, known: String },
}

/// Members of events that decide. All others are ignored, and one of these that is there twice is an error.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawEvent {
    hook_event_name: Option<String>,
    cwd: Option<String>,
    stop_hook_active: Option<bool>,
    // Of one agent each: another may have members of these names.
    workspace_roots: Value,
    loop_count: Value,
    status: Value,
    tool_input: Value,
}

impl HookFormat {
    /// Returns the format of an agent.
    pub fn find(id: &str) -> Option<&'static Self> {
        ALL.iter().find(|format| format.id == id)
    }

    /// Parses an event of this agent.
    pub fn parse(&self, bytes: &[u8]) -> Result<HookEvent, HookEventError> {
        if bytes.len() > MAX_EVENT_BYTES {
            return Err(HookEventError::TooLarge);
        }
        let raw: RawEvent = serde_json::from_slice(bytes)
            .map_err(|error| HookEventError::Json(visible_cut(&error.to_string(), 200)))?;
        let name = raw.hook_event_name.as_deref().ok_or(HookEventError::Missing("hook_event_name"))?;
        let moment = if self.stop.contains(&name) {
            Moment::Stop { continued: (self.continued)(&raw)? }
        } else if self.edit == name {
            Moment::Edit { files: edited_files(&raw.tool_input) }
        } else {
            let known = self.stop.iter().chain([&self.edit]).copied().collect::<Vec<_>>().join(", ");
            return Err(HookEventError::Unknown { name: visible_cut(name, 80), known });
        };
        let root = raw.workspace_roots.get(0).and_then(Value::as_str).map(str::to_owned);
        let directory = root.or(raw.cwd).filter(|path| path.starts_with('/'));
        Ok(HookEvent { directory: directory.ok_or(HookEventError::Missing(self.directory))?, moment })
    }

    /// Answers an event.
    pub fn answer(&self, moment: &Moment, report: &HookReport<'_>) -> HookAnswer {
        let (document, note) = match moment {
            Moment::Edit { .. } if report.is_empty() => (Value::Null, None),
            Moment::Edit { .. } => ((self.feedback)(&text::feedback(report)), None),
            Moment::Stop { .. } if report.outcome == HookOutcome::Passed => (Value::Null, None),
            Moment::Stop { .. } if report.outcome == HookOutcome::Unchanged => {
                ((self.notice)(UNCHANGED), Some(format!("{UNCHANGED}\n")))
            }
            Moment::Stop { continued: false } => ((self.block)(&text::reason(report)), None),
            Moment::Stop { continued: true } => {
                let text = text::notice(report);
                ((self.notice)(&text), Some(text))
            }
        };
        let document = if document.is_null() { "{}".to_owned() } else { document.to_string() };
        HookAnswer { document, note }
    }
}

/// Returns the members of an object that are texts, of those with some names.
fn texts<'v>(input: &'v Value, names: &'static [&'static str]) -> impl Iterator<Item = &'v str> {
    names.iter().filter_map(|name| input.get(name).and_then(Value::as_str))
}

/// Returns the files that a tool's input names; none for one with a command, which may have changed any.
fn edited_files(input: &Value) -> Vec<String> {
    let mut patches = texts(input, &PATCH_MEMBERS).chain(input.as_str()).peekable();
    let has_patch = patches.peek().is_some();
    let mut files: Vec<String> = Vec::new();
    if !has_patch {
        files.extend(texts(input, &FILE_MEMBERS).map(str::to_owned));
    }
    let patches = patches.filter(|text| text.trim_start().starts_with(PATCH_START));
    for line in patches.flat_map(str::lines) {
        files.extend(PATCH_LINES.iter().find_map(|start| line.strip_prefix(start)).map(str::to_owned));
    }
    files.truncate(MAX_EDITED);
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use qa_contracts::codes::Code;
    use serde_json::json;

    fn format(id: &str) -> &'static HookFormat {
        HookFormat::find(id).unwrap()
    }

    fn parse(id: &str, event: &Value) -> Result<HookEvent, HookEventError> {
        format(id).parse(event.to_string().as_bytes())
    }

    #[test]
    fn an_event_says_where_when_and_which_files() {
        let stop = |continued| Moment::Stop { continued };
        let edit =
            |files: &[&str]| Moment::Edit { files: files.iter().map(|file| (*file).to_owned()).collect() };
        let patch = "*** Begin Patch\n*** Update File: a b.py\n@@\n-x\n*** Add File: /r/c\n+*** Add File: no\n*** End Patch";
        let cases = [
            ("claude-code", json!({"hook_event_name": "Stop", "stop_hook_active": false}), stop(false)),
            ("claude-code", json!({"hook_event_name": "SubagentStop", "stop_hook_active": true}), stop(true)),
            (
                "claude-code",
                json!({"hook_event_name": "PostToolUse", "tool_name": "Write", "tool_input": {"file_path": "/r/a", "content": "x"}}),
                edit(&["/r/a"]),
            ),
            (
                "claude-code",
                json!({"hook_event_name": "PostToolUse", "tool_input": {"command": "ls"}, "tool_response": {"a": 1}}),
                edit(&[]),
            ),
            (
                "codex",
                json!({"hook_event_name": "Stop", "stop_hook_active": true, "turn_id": "1"}),
                stop(true),
            ),
            (
                "codex",
                json!({"hook_event_name": "PostToolUse", "tool_name": "apply_patch", "tool_input": {"command": patch}}),
                edit(&["a b.py", "/r/c"]),
            ),
            // A shell command may have changed any file, whatever its text names.
            (
                "codex",
                json!({"hook_event_name": "PostToolUse", "tool_input": {"command": format!("cat <<E\n{patch}\nE\ncp x y"), "path": "z"}}),
                edit(&[]),
            ),
            (
                "claude-code",
                json!({"hook_event_name": "Stop", "stop_hook_active": false, "status": {}, "workspace_roots": null}),
                stop(false),
            ),
            ("gemini", json!({"hook_event_name": "AfterAgent", "stop_hook_active": false}), stop(false)),
            (
                "gemini",
                json!({"hook_event_name": "AfterTool", "tool_input": {"file_path": "a.py"}}),
                edit(&["a.py"]),
            ),
            (
                "cursor",
                json!({"hook_event_name": "stop", "status": "completed", "loop_count": 0}),
                stop(false),
            ),
            (
                "cursor",
                json!({"hook_event_name": "stop", "status": "completed", "loop_count": 1}),
                stop(true),
            ),
            ("cursor", json!({"hook_event_name": "stop", "status": "aborted", "loop_count": 0}), stop(true)),
            ("cursor", json!({"hook_event_name": "postToolUse", "tool_input": {"path": "a"}}), edit(&["a"])),
            ("copilot", json!({"hook_event_name": "Stop", "stop_hook_active": false}), stop(false)),
            (
                "copilot",
                json!({"hook_event_name": "PostToolUse", "tool_input": {"path": "/r/a", "file_text": "x"}}),
                edit(&["/r/a"]),
            ),
        ];
        for (id, mut event, moment) in cases {
            event["cwd"] = "/r".into();
            event["of a later version"] = json!([{"x": 18446744073709551615u64}]);
            let expected = HookEvent { directory: "/r".to_owned(), moment };
            assert_eq!(parse(id, &event), Ok(expected), "{id}: {event}");
        }
        let event = json!({"hook_event_name": "stop", "status": "completed", "loop_count": 0, "workspace_roots": ["/w", "/x"]});
        assert_eq!(parse("cursor", &event).unwrap().directory, "/w");
    }

    #[test]
    fn an_event_without_what_decides_is_refused() {
        let refused = |id: &str, text: &str| format(id).parse(text.as_bytes()).unwrap_err().to_string();
        for (id, text, words) in [
            ("claude-code", "", "EOF"),
            ("claude-code", "[]", "no `hook_event_name`"),
            ("claude-code", "7", "invalid type"),
            ("claude-code", r#"{"cwd":"/r"}"#, "no `hook_event_name`"),
            (
                "claude-code",
                r#"{"hook_event_name":"PreToolUse","cwd":"/r"}"#,
                "Stop, SubagentStop, PostToolUse",
            ),
            ("claude-code", r#"{"hook_event_name":"Stop","stop_hook_active":false}"#, "no `cwd`"),
            ("claude-code", r#"{"hook_event_name":"Stop","stop_hook_active":false,"cwd":"r"}"#, "no `cwd`"),
            // Without it, an agent could be kept at work for ever.
            ("claude-code", r#"{"hook_event_name":"Stop","cwd":"/r"}"#, "no `stop_hook_active`"),
            ("cursor", r#"{"hook_event_name":"stop","cwd":"/r","status":"completed"}"#, "no `loop_count`"),
            ("copilot", r#"{"hook_event_name":"SubagentStop","cwd":"/r"}"#, "is not judged"),
            (
                "claude-code",
                r#"{"hook_event_name":"Stop","cwd":"/r","stop_hook_active":"false"}"#,
                "a boolean",
            ),
            ("claude-code", r#"{"hook_event_name":"Stop","hook_event_name":"x","cwd":"/r"}"#, "duplicate"),
        ] {
            assert!(refused(id, text).contains(words), "{}", refused(id, text));
        }
        let large = format!("\"{}\"", "x".repeat(MAX_EVENT_BYTES));
        assert_eq!(format("codex").parse(large.as_bytes()), Err(HookEventError::TooLarge));
        let deep = format!("{{\"tool_input\":{}", "[".repeat(100_000));
        assert!(refused("codex", &deep).contains("recursion"), "{}", refused("codex", &deep));
    }

    fn answers(id: &str, report: &HookReport<'_>) -> [Value; 3] {
        let moments = [
            Moment::Stop { continued: false },
            Moment::Stop { continued: true },
            Moment::Edit { files: Vec::new() },
        ];
        moments.map(|moment| serde_json::from_str(&format(id).answer(&moment, report).document).unwrap())
    }

    #[test]
    fn each_agent_is_answered_in_its_own_members() {
        let sample = sample::fail();
        let findings = sample.result.final_verdict.blocking_findings.iter().collect();
        let report = HookReport { findings, ..HookReport::default() };
        let members = [
            ("claude-code", ["/reason", "/systemMessage", "/reason"]),
            ("codex", ["/reason", "/systemMessage", "/hookSpecificOutput/additionalContext"]),
            ("gemini", ["/reason", "/systemMessage", "/hookSpecificOutput/additionalContext"]),
            ("cursor", ["/followup_message", "", "/additional_context"]),
            ("copilot", ["/reason", "", "/additionalContext"]),
        ];
        assert_eq!(
            members.map(|(id, _)| id).to_vec(),
            ALL.iter().map(|format| format.id).collect::<Vec<_>>()
        );
        for (id, pointers) in members {
            let answers = answers(id, &report);
            for (answer, pointer) in answers.iter().zip(pointers) {
                let text = if pointer.is_empty() { None } else { answer.pointer(pointer) };
                match text.and_then(Value::as_str) {
                    Some(text) => assert!(text.contains("FAIL: 2 findings block"), "{id}: {text}"),
                    None => assert_eq!((pointer, answer), ("", &json!({})), "{id}"),
                }
            }
            let decision = if id == "gemini" { "deny" } else { "block" };
            if id != "cursor" {
                assert_eq!(answers[0]["decision"], decision, "{id}");
            }
            assert_eq!(answers[1].get("decision"), None, "{id}");
            // Nothing that is clean says anything.
            let clean = HookReport { outcome: HookOutcome::Passed, ..HookReport::default() };
            assert_eq!(self::answers(id, &clean), [json!({}), json!({}), json!({})], "{id}");
            // An empty change keeps nobody at work, and is not called clean either.
            let unchanged = HookReport { outcome: HookOutcome::Unchanged, ..HookReport::default() };
            let stop = Moment::Stop { continued: false };
            let answer = format(id).answer(&stop, &unchanged);
            assert!(answer.note.unwrap().contains("nothing was judged"), "{id}");
            assert!(!answer.document.contains("\"decision\""), "{id}: {}", answer.document);
        }
    }

    #[test]
    fn no_moment_is_silent_about_a_run_that_did_not_complete() {
        let failed = HookReport {
            failure: Some(NotJudged { code: Code::PolicyInvalid, message: "line 3", hint: "correct it" }),
            ..HookReport::default()
        };
        let incomplete = HookReport { codes: vec![Code::PolicyInvalid], ..HookReport::default() };
        // Even without a reason, which would be a defect.
        let unnamed = HookReport::default();
        for report in [&failed, &incomplete] {
            for answer in answers("claude-code", report) {
                let text = answer.to_string();
                assert!(text.contains("COULD NOT COMPLETE") && text.contains("POLICY_INVALID"), "{text}");
            }
        }
        let [stop, again, _] = answers("claude-code", &unnamed);
        assert_eq!(stop["decision"], "block");
        assert!(again["systemMessage"].as_str().unwrap().contains("not judged"), "{again}");
    }
}
