//! Recognises commands of agents' hooks that start `qa-skill hook`, and brings them up to date.

use qa_reading::shell::{Command, Options, Script, Word};

/// Name of the program, as it is on the PATH.
const PROGRAM: &str = "qa-skill";
/// Options that a person may have added, and that a command without them gets back.
const KEPT_OPTIONS: [&str; 2] = ["--base", "--repo"];

/// Returns whether a command runs `qa-skill hook` for an agent, by any path of the program and with any other options.
pub(super) fn runs_hook(command: &str, agent: &str) -> bool {
    let script = Script::parse(command, Options::default());
    script.commands.iter().any(|command| is_hook(command, agent))
}

/// Returns a command that is there with the guard and the options that are wanted now. The path of its program stays, and options
/// that a person added; a command with anything else beside the hook stays as it is.
pub(super) fn updated_command(now: &str, wanted: &str, agent: &str) -> String {
    let (now_script, wanted_script) =
        (Script::parse(now, Options::default()), Script::parse(wanted, Options::default()));
    let Some(wanted_hook) = HookLine::find(wanted, &wanted_script, agent) else { return wanted.to_owned() };
    let Some(hook) = HookLine::find(now, &now_script, agent) else { return now.to_owned() };
    let guard = wanted_hook.guard_for(hook.program());
    if !hook.is_alone(&now_script) || !(hook.before.trim().is_empty() || hook.before == guard) {
        return now.to_owned();
    }
    let rest = wanted_hook.after_program();
    let mut updated = format!("{guard}{}{rest}", hook.program());
    for option in KEPT_OPTIONS {
        if let Some(words) = option_words(hook.command, option)
            && !rest.contains(&format!(" {option}"))
        {
            let texts = words.iter().map(|word| format!(" {}", word.span.of(now)));
            updated.extend(texts);
        }
    }
    updated
}

/// A command line with the command in it that is the hook.
struct HookLine<'a> {
    text: &'a str,
    command: &'a Command,
    /// Text before the hook.
    before: &'a str,
}

impl<'a> HookLine<'a> {
    fn find(text: &'a str, script: &'a Script, agent: &str) -> Option<Self> {
        let mut hooks = script.commands.iter().filter(|command| is_hook(command, agent));
        let command = hooks.next().filter(|_| hooks.next().is_none())?;
        let before = text.get(..command.words.first()?.span.start)?;
        Some(Self { text, command, before })
    }

    /// Returns the program as it is written.
    fn program(&self) -> &'a str {
        self.command.words[0].span.of(self.text)
    }

    fn after_program(&self) -> &'a str {
        &self.text[self.command.words[0].span.end..]
    }

    /// Returns the text before the hook as it is for another path of the program.
    fn guard_for(&self, program: &str) -> String {
        self.before.replacen(&format!(" {PROGRAM} "), &format!(" {program} "), 1)
    }

    /// Returns whether nothing follows the hook, and it is plain: without assignments, redirections and anything around it.
    fn is_alone(&self, script: &Script) -> bool {
        let command = self.command;
        let end = command.words.last().map_or(0, |word| word.span.end);
        command.words.len() == command.effective().len()
            && command.assignments.is_empty()
            && command.redirections.is_empty()
            && script.broken.is_empty()
            && script.surroundings(command).next().is_none()
            && self.text[end..].trim().is_empty()
    }
}

fn is_hook(command: &Command, agent: &str) -> bool {
    let [program, subcommand, ..] = command.effective() else { return false };
    let name = program.text().rsplit(['/', '\\']).next().unwrap_or_default();
    let is_ours = name.strip_suffix(".exe").unwrap_or(name) == PROGRAM && subcommand.text() == "hook";
    let named = option_words(command, "--agent").and_then(|words| words.last());
    is_ours && named.is_some_and(|word| word.text().strip_prefix("--agent=").unwrap_or(word.text()) == agent)
}

/// Returns the words of an option with its value: one for `--name=value`, two for `--name value`.
fn option_words<'c>(command: &'c Command, option: &str) -> Option<&'c [Word]> {
    let words = command.arguments();
    let at = words.iter().position(|word| {
        let rest = word.text().strip_prefix(option);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    })?;
    let length = if words[at].text() == option { 2 } else { 1 };
    words.get(at..at + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_recognised_by_what_it_runs() {
        for (command, expected) in [
            ("qa-skill hook --agent codex", true),
            ("/opt/qa/qa-skill hook --agent=codex --base HEAD", true),
            ("\"$HOME/my bin/qa-skill\" hook --base HEAD --agent 'codex'", true),
            ("cd sub && timeout 60 qa-skill hook --agent codex || true", true),
            ("qa-skill.exe hook --agent codex", true),
            ("qa-skill hook --agent codex-2", false),
            ("qa-skill hook --agent claude-code", false),
            ("qa-skill hook", false),
            ("qa-skill run --agent codex", false),
            ("not-qa-skill hook --agent codex", false),
            ("echo 'qa-skill hook --agent codex'", false),
            ("# qa-skill hook --agent codex", false),
        ] {
            assert_eq!(runs_hook(command, "codex"), expected, "{command}");
        }
    }

    #[test]
    fn the_program_and_options_of_a_person_stay() {
        const GUARD: &str =
            "command -v qa-skill >/dev/null 2>&1 || { echo 'qa-skill is gone' >&2; exit 0; }; ";
        let bare = "qa-skill hook --agent codex --repo \"${ROOT:-.}\"";
        let wanted = format!("{GUARD}{bare}");
        let at = |program: &str| {
            wanted.replacen(" qa-skill >", &format!(" {program} >"), 1).replacen(
                "qa-skill hook",
                &format!("{program} hook"),
                1,
            )
        };
        let kept = |command: &str| (command.to_owned(), command.to_owned());
        for (now, expected) in [
            ("qa-skill hook --agent codex".to_owned(), wanted.clone()),
            (bare.to_owned(), wanted.clone()),
            (wanted.clone(), wanted.clone()),
            (format!("{GUARD}qa-skill hook --agent codex"), wanted.clone()),
            ("/opt/qa-skill hook --agent=codex".to_owned(), at("/opt/qa-skill")),
            ("'/my bin/qa-skill' hook --agent codex".to_owned(), at("'/my bin/qa-skill'")),
            ("qa-skill hook --base main --agent codex --repo .".to_owned(), format!("{wanted} --base main")),
            ("qa-skill hook --agent codex --base=main".to_owned(), format!("{wanted} --base=main")),
            kept("qa-skill hook --agent codex || true"),
            kept("A=1 qa-skill hook --agent codex"),
            kept("(qa-skill hook --agent codex)"),
            kept("cd sub; qa-skill hook --agent codex"),
            kept(
                "command -v other >/dev/null 2>&1 || { echo 'qa-skill is gone' >&2; exit 0; }; qa-skill hook --agent codex",
            ),
            kept("qa-skill hook --agent codex; qa-skill hook --agent codex"),
        ] {
            assert_eq!(updated_command(&now, &wanted, "codex"), expected);
            assert_eq!(updated_command(&expected, &wanted, "codex"), expected);
        }
        let bare = "qa-skill hook --agent codex";
        let held = "qa-skill hook --agent codex --repo sub";
        assert_eq!(updated_command(held, bare, "codex"), held);
    }
}
