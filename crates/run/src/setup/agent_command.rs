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

/// Returns a command that is there with the options that are wanted now. The path of its program stays, and options that a person
/// added; a command with anything beside the hook stays as it is.
pub(super) fn updated_command(now: &str, wanted: &str, agent: &str) -> String {
    let script = Script::parse(now, Options::default());
    let [command] = script.commands.as_slice() else { return now.to_owned() };
    let is_alone = command.words.len() == command.effective().len()
        && command.assignments.is_empty()
        && command.redirections.is_empty()
        && script.broken.is_empty()
        && script.surroundings(command).next().is_none()
        && command.span.of(now) == now.trim();
    if !is_alone || !is_hook(command, agent) {
        return now.to_owned();
    }
    let program = command.words[0].span.of(now);
    let Some(rest) = wanted.strip_prefix(PROGRAM) else { return wanted.to_owned() };
    let mut updated = format!("{program}{rest}");
    for option in KEPT_OPTIONS {
        if let Some(words) = option_words(command, option)
            && !rest.contains(&format!(" {option}"))
        {
            let texts = words.iter().map(|word| format!(" {}", word.span.of(now)));
            updated.extend(texts);
        }
    }
    updated
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
        let wanted = "qa-skill hook --agent codex --repo \"${ROOT:-.}\"";
        for (now, expected) in [
            ("qa-skill hook --agent codex", wanted.to_owned()),
            (wanted, wanted.to_owned()),
            ("/opt/qa-skill hook --agent=codex", format!("/opt/{wanted}")),
            ("'/my bin/qa-skill' hook --agent codex", wanted.replacen("qa-skill", "'/my bin/qa-skill'", 1)),
            ("qa-skill hook --base main --agent codex --repo .", format!("{wanted} --base main")),
            ("qa-skill hook --agent codex --base=main", format!("{wanted} --base=main")),
            ("qa-skill hook --agent codex || true", "qa-skill hook --agent codex || true".to_owned()),
            ("A=1 qa-skill hook --agent codex", "A=1 qa-skill hook --agent codex".to_owned()),
            ("(qa-skill hook --agent codex)", "(qa-skill hook --agent codex)".to_owned()),
        ] {
            assert_eq!(updated_command(now, wanted, "codex"), expected);
            assert_eq!(updated_command(&expected, wanted, "codex"), expected);
        }
        let bare = "qa-skill hook --agent codex";
        let held = "qa-skill hook --agent codex --repo sub";
        assert_eq!(updated_command(held, bare, "codex"), held);
    }
}
