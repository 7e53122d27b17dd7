//! Checks the tools that a policy's gates name: that they exist, and that what is said about them means something.

use std::collections::BTreeSet;

use qa_contracts::v1::{GateName, PolicyCommand, PolicyReport};
use qa_core::masking::sanitize_cut;
use qa_core::policy::Policy;
use qa_core::policy::file::{self, PolicyTextError};
use qa_gates::contract::ToolSpec;

/// Maximum length of the name of a tool.
const MAX_NAME: usize = 40;

/// A report or command of the policy, as far as they have the same settings.
struct Declared<'a> {
    gate: GateName,
    /// Header of its table, to find its line by.
    table: String,
    tool: &'a str,
    format: Option<&'a str>,
    name: Option<&'a str>,
    covers: &'a [String],
    has_module: bool,
    is_command: bool,
}

/// Checks that each gate runs and reads tools of its own, in formats of theirs.
pub(crate) fn check(policy: &Policy, text: &str) -> Result<(), PolicyTextError> {
    for (gate, settings) in &policy.gates {
        let own = specs().filter(|spec| spec.gates.contains(gate) && !spec.is_generic());
        let own: BTreeSet<&str> = own.map(|spec| spec.id).collect();
        for id in &settings.run {
            file::check_known(text, &format!("tool that gate {gate} runs"), id, &own)?;
        }
        let reports = settings.reports.iter().map(|report| Declared::from_report(*gate, report));
        let commands = settings.commands.iter().map(|command| Declared::from_command(*gate, command));
        for declared in reports.chain(commands) {
            declared.check(text)?;
        }
    }
    Ok(())
}

fn specs() -> impl Iterator<Item = &'static ToolSpec> {
    qa_gates::ALL.iter().map(|tool| tool.spec())
}

impl<'a> Declared<'a> {
    fn from_report(gate: GateName, report: &'a PolicyReport) -> Self {
        Self {
            gate,
            table: format!("[[gates.{gate}.reports]]"),
            tool: &report.tool,
            format: report.format.as_deref(),
            name: report.name.as_deref(),
            covers: &report.covers,
            has_module: report.module.is_some(),
            is_command: false,
        }
    }

    fn from_command(gate: GateName, command: &'a PolicyCommand) -> Self {
        Self {
            gate,
            table: format!("[[gates.{gate}.command]]"),
            tool: command.tool_id(),
            format: command.format.as_deref(),
            name: command.name.as_deref(),
            covers: &command.covers,
            has_module: command.module.is_some(),
            is_command: true,
        }
    }

    fn check(&self, text: &str) -> Result<(), PolicyTextError> {
        let (gate, tool) = (self.gate, self.tool);
        if tool.is_empty() {
            let message =
                format!("a command of gate {gate} needs `format`, or the `tool` that writes its report");
            return Err(self.error(text, message));
        }
        let names: BTreeSet<&str> = specs().filter(|spec| spec.serves(gate)).map(|spec| spec.id).collect();
        file::check_known(text, &format!("tool of gate {gate}"), tool, &names)?;
        let spec = specs().find(|spec| spec.id == tool).expect("it is among the known ones");
        let formats: BTreeSet<&str> = spec.formats.iter().map(|format| format.as_str()).collect();
        let format = self.format.unwrap_or(spec.formats[0].as_str());
        file::check_known(text, &format!("report format of {tool}"), format, &formats)?;
        match self.fault(spec, format) {
            Some(message) => Err(self.error(text, message)),
            None => Ok(()),
        }
    }

    fn error(&self, text: &str, message: String) -> PolicyTextError {
        PolicyTextError { line: file::line_of_table(text, &self.table), message, suggestion: None }
    }

    /// Returns what is wrong with the settings of a known tool.
    fn fault(&self, spec: &ToolSpec, format: &str) -> Option<String> {
        let (gate, tool) = (self.gate, self.tool);
        match self.name {
            None if spec.is_generic() => {
                return Some(format!(
                    "gate {gate} needs the `name` of what writes {format}, for its findings"
                ));
            }
            Some(name) if !is_name(name) => {
                let shown = sanitize_cut(name, 80);
                let message =
                    "is not 1 to 40 letters, digits, `.`, `_`, `+` and `-` that begin with a letter or digit";
                return Some(format!("the name `{shown}` {message}"));
            }
            Some(_) if !spec.is_generic() => {
                return Some(format!("`{tool}` has its own name; remove `name`"));
            }
            Some(name) => {
                let mut own = specs().filter(|spec| spec.serves(gate) && !spec.is_generic());
                if let Some(spec) = own.find(|spec| spec.id.eq_ignore_ascii_case(name)) {
                    return Some(format!("`{name}` has a reader of its own; set `tool = \"{}\"`", spec.id));
                }
            }
            None => {}
        }
        if self.has_module && !spec.names_packages() {
            return Some(format!("`module` is for tools of Go, and {tool} is none; remove `module`"));
        }
        let has_covers = !self.covers.is_empty();
        if gate.runs_tests() && has_covers && !self.is_command {
            return Some(format!("gate {gate} has tests, which look at no files; remove `covers`"));
        }
        if !gate.runs_tests() && spec.is_generic() && !has_covers {
            return Some(format!(
                "gate {gate} needs `covers`: nothing else says for which files {format} is written"
            ));
        }
        let lists_files = spec.formats.iter().any(|known| known.as_str() == format && known.lists_files());
        let is_said_twice = lists_files && has_covers && !self.is_command;
        is_said_twice.then(|| format!("a report of {format} lists its files, so it needs no `covers`"))
    }
}

fn is_name(name: &str) -> bool {
    name.len() <= MAX_NAME
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte))
}
