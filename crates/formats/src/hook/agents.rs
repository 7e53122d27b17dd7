//! The agents whose hooks are known: names of their events, and members of their answers.

use serde_json::{Value, json};

use super::install::{CLAUDE_CODE, CODEX, COPILOT, CURSOR, GEMINI, Places};
use super::{HookEventError, RawEvent};

/// Format of an agent's hooks, by its maker's documentation.
pub struct HookFormat {
    /// Value of `--agent`.
    pub id: &'static str,
    /// Events before the agent ends its turn.
    pub(super) stop: &'static [&'static str],
    /// Event after a tool ran.
    pub(super) edit: &'static str,
    /// Member with the directory that the agent works in.
    pub(super) directory: &'static str,
    /// Returns whether a hook continued the turn before.
    pub(super) continued: fn(&RawEvent) -> Result<bool, HookEventError>,
    /// Keeps the agent at work on a text.
    pub(super) block: fn(&str) -> Value,
    /// Shows the agent a text beside the result of its tool.
    pub(super) feedback: fn(&str) -> Value,
    /// Shows the person a text; null where the agent documents no member for it.
    pub(super) notice: fn(&str) -> Value,
    /// Files of skills and hooks.
    pub(super) places: &'static Places,
}

/// Every agent. `docs/recipes/agents.md` names the pages that these formats are taken from.
pub static ALL: &[HookFormat] = &[
    HookFormat {
        id: "claude-code",
        stop: &["Stop", "SubagentStop"],
        edit: "PostToolUse",
        directory: "cwd",
        continued: by_flag,
        block: decision_block,
        feedback: decision_block,
        notice: system_message,
        places: &CLAUDE_CODE,
    },
    HookFormat {
        id: "codex",
        stop: &["Stop", "SubagentStop"],
        edit: "PostToolUse",
        directory: "cwd",
        continued: by_flag,
        block: decision_block,
        // A decision would take the place of what the tool printed.
        feedback: |text| json!({ "hookSpecificOutput": { "hookEventName": "PostToolUse", "additionalContext": text } }),
        notice: system_message,
        places: &CODEX,
    },
    HookFormat {
        id: "gemini",
        stop: &["AfterAgent"],
        edit: "AfterTool",
        directory: "cwd",
        continued: by_flag,
        block: |text| json!({ "decision": "deny", "reason": text }),
        // A denial would hide the result of the tool.
        feedback: |text| json!({ "hookSpecificOutput": { "hookEventName": "AfterTool", "additionalContext": text } }),
        notice: system_message,
        places: &GEMINI,
    },
    HookFormat {
        id: "cursor",
        stop: &["stop"],
        edit: "postToolUse",
        directory: "workspace_roots",
        continued: by_count,
        block: |text| json!({ "followup_message": text }),
        feedback: |text| json!({ "additional_context": text }),
        notice: |_| Value::Null,
        places: &CURSOR,
    },
    // Events that are configured by these names, and not by those in camel case, have a name in them.
    HookFormat {
        id: "copilot",
        // The end of a subagent has no `stop_hook_active`.
        stop: &["Stop"],
        edit: "PostToolUse",
        directory: "cwd",
        continued: by_flag,
        block: decision_block,
        feedback: |text| json!({ "additionalContext": text }),
        notice: |_| Value::Null,
        places: &COPILOT,
    },
];

/// An event without the flag is refused: nothing else bounds how often the agent is kept at work.
fn by_flag(event: &RawEvent) -> Result<bool, HookEventError> {
    event.stop_hook_active.ok_or(HookEventError::Missing("stop_hook_active"))
}

/// A turn that the person aborted, or that failed, is not continued either.
fn by_count(event: &RawEvent) -> Result<bool, HookEventError> {
    let count = event.loop_count.as_u64().ok_or(HookEventError::Missing("loop_count"))?;
    Ok(count > 0 || event.status != "completed")
}

fn decision_block(text: &str) -> Value {
    json!({ "decision": "block", "reason": text })
}

fn system_message(text: &str) -> Value {
    json!({ "systemMessage": text })
}
