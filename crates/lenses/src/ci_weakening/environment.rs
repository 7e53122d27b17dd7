//! Spells the variables of a workflow's environment in one way.
//!
//! `${{ matrix.target }}` and a variable that holds it are the same to a command, and advice against injection into scripts asks for
//! the second.

use std::collections::BTreeMap;

use qa_reading::shell::{Command, Script, Word};
use qa_reading::workflow::{Member, Value};

use crate::pattern::Pattern;

/// Variables of the environment by name, with the expression that is all of the value, if the value is one.
#[derive(Debug, Clone, Default)]
pub(super) struct Environment {
    expressions: BTreeMap<String, Option<String>>,
}

/// An expression of GitHub, or a variable of a shell.
static EXPANSION: Pattern = Pattern::new(r"\$\{\{\s*(.+?)\s*\}\}|\$\{(\w+)\}|\$(\w+)");

impl Environment {
    /// Adds variables, in the place of those of the same names.
    pub(super) fn extend(&mut self, env: &[Member<'_>]) {
        for member in env {
            self.expressions.insert(member.name.to_owned(), whole_expression(member));
        }
    }

    /// Forgets the values, which earlier steps may have replaced.
    pub(super) fn forget_values(&mut self) {
        self.expressions.values_mut().for_each(|expression| *expression = None);
    }

    /// Forgets the variables if one of them names a file that a shell runs first, or if the command line of the shell may set them.
    pub(super) fn forget_unless_plain(&mut self, shell: Option<Value<'_>>) {
        let is_plain = shell.is_none_or(|shell| shell.constant().is_some_and(|line| is_plain(&line)));
        if !is_plain || ["BASH_ENV", "ENV"].iter().any(|name| self.expressions.contains_key(*name)) {
            self.expressions.clear();
        }
    }

    /// Returns a word of a script with its variables as expressions, as far as the script cannot set them.
    pub(super) fn spell(&self, word: &Word, script: &Script, text: &str) -> String {
        let written = word.text();
        if word.expansions.is_empty() {
            // In single quotes a variable is text.
            return written.replace('$', "\\$");
        }
        let mut spelled = String::new();
        let mut end = 0;
        for groups in EXPANSION.captures_all(written) {
            let (Some(whole), Some(inner)) = (groups.get(0), groups.first_group()) else { continue };
            spelled.push_str(&written[end..whole.start()]);
            end = whole.end();
            let expression = match groups.get(1) {
                Some(expression) => Some(self.without_variable(expression.as_str()).to_owned()),
                None => self.expression_of(inner.as_str(), script, text),
            };
            match expression {
                Some(expression) => spelled.push_str(&format!("${{{{ {expression} }}}}")),
                None => spelled.push_str(whole.as_str()),
            }
        }
        spelled.push_str(&written[end..]);
        spelled
    }

    /// Returns an expression, or the one that the variable holds which it names.
    fn without_variable<'e>(&'e self, expression: &'e str) -> &'e str {
        let held = expression.strip_prefix("env.").and_then(|name| self.expressions.get(name));
        held.and_then(Option::as_deref).unwrap_or(expression)
    }

    /// Returns the expression that a variable of a script holds; `None` where the script may set the variable.
    fn expression_of(&self, name: &str, script: &Script, text: &str) -> Option<String> {
        let held = self.expressions.get(name)?;
        if sets(text, name) || script.commands.iter().any(sets_unseen) {
            return None;
        }
        Some(held.clone().unwrap_or_else(|| format!("env.{name}")))
    }
}

/// Returns whether the command line of a shell has nothing but its name and options that run no other file.
fn is_plain(shell: &str) -> bool {
    shell.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" -{}".contains(&byte))
        && !["rcfile", "init"].iter().any(|option| shell.contains(option))
}

/// Returns the expression that is all of a variable's value.
fn whole_expression(member: &Member<'_>) -> Option<String> {
    let template = member.value.template()?;
    let [embedded] = template.expressions.as_slice() else { return None };
    let is_whole = embedded.span.start == 0 && embedded.span.end == template.text().len();
    let inner = template.text().strip_prefix("${{")?.strip_suffix("}}")?;
    is_whole.then(|| inner.trim().to_owned())
}

/// Returns whether a script names a variable in any other way than by its value.
fn sets(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(start, _)| {
        let (before, after) = (&text[..start], &text[start + name.len()..]);
        let is_part = before.ends_with(is_of_name) || after.starts_with(is_of_name);
        let is_value = before.ends_with('$')
            || before.ends_with("${") && after.starts_with('}')
            || before.ends_with("env.");
        !is_part && !is_value
    })
}

fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// Returns whether a command may set a variable whose name it does not spell: by running text in the shell itself, or by a name that
/// the shell makes.
fn sets_unseen(command: &Command) -> bool {
    const SETTERS: &[&str] = &[
        "declare",
        "export",
        "getopts",
        "local",
        "mapfile",
        "printf",
        "read",
        "readarray",
        "readonly",
        "typeset",
        "unset",
    ];
    match command.program() {
        Some("." | "eval" | "source") => true,
        Some(program) if SETTERS.contains(&program) => command.words.iter().any(has_made_name),
        Some(_) | None => false,
    }
}

/// Returns whether the name in an assignment, or a whole word without one, is made by the shell.
fn has_made_name(word: &Word) -> bool {
    let name = word.text().split('=').next().unwrap_or_default();
    word.constant().is_none() && name.contains(['$', '`'])
}
