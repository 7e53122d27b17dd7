//! `qa-skill skill`: prints the skill for coding agents, or writes it and their hooks where they look for them.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::console::write_stdout;
use super::exit::{Exit, Failure};
use super::init::files::{check_target, read_file, write_file};
use super::init::plan::{PlannedFile, Step};
use super::init::{ConfirmationArgs, is_confirmed, report};
use crate::git::OpenRepository;
use qa_contracts::codes::Code;
use qa_core::canonical;
use qa_core::masking::sanitize_cut;
use qa_formats::counted;
use qa_formats::hook::{ALL, HookFormat};
use qa_run::setup::{WantedHook, WantedHooks, with_hooks};

/// Examples in the help.
pub(super) const EXAMPLES: &str = "\
Examples:
  qa-skill skill                                     print the skill
  qa-skill skill --agent claude-code --hooks         show the files, and ask
  qa-skill skill --agent codex --agent gemini --yes  write without asking
  qa-skill skill --agent cursor --hooks --user       for all repositories";

const SKILL: &str = include_str!("../../SKILL.md");
/// Beginning of the last line of an installed skill; the digest of the text above follows.
const MARKER: &str =
    "<!-- Written by qa-skill skill, which replaces this file while it is not edited. sha256: ";
const MARKER_END: &str = " -->\n";

#[derive(Args)]
pub(super) struct SkillArgs {
    /// Install for this agent; repeatable. Without one, the skill is printed
    #[arg(long = "agent", value_name = "NAME", value_parser = PossibleValuesParser::new(ALL.iter().map(|format| format.id)))]
    agents: Vec<String>,
    /// Add the hooks to the agent's settings or bring them up to date, so that it is told what blocks; other members of the
    /// file stay, and so does a skill that was edited
    #[arg(long, requires = "agents")]
    hooks: bool,
    /// The repository, or any directory inside its checkout
    #[arg(long, default_value = ".", value_name = "DIR")]
    repo: PathBuf,
    /// Install in the account's home directory instead of the repository
    #[arg(long, conflicts_with = "repo")]
    user: bool,
    #[command(flatten)]
    confirmation: ConfirmationArgs,
    /// Replace a skill of the same name that this command did not write, or that was edited
    #[arg(long)]
    force: bool,
}

/// Prints the skill, or shows the plan, asks, and writes the files.
pub(super) fn skill(arguments: &SkillArgs) -> Result<Exit, Failure> {
    if arguments.agents.is_empty() {
        return write_stdout(SKILL.as_bytes()).map(|()| Exit::Pass);
    }
    let root = root(arguments)?;
    let mut files: Vec<PlannedFile> = Vec::new();
    for id in &arguments.agents {
        let format = HookFormat::find(id).expect("the command line allows known agents only");
        let paths = format.files(arguments.user);
        files.push(plan_skill(&root, paths.skill, arguments)?);
        if arguments.hooks {
            files.push(plan_settings(&root, format, arguments.user)?);
        }
    }
    files.sort_by(|left, right| left.path.cmp(&right.path));
    files.dedup();
    let shown = sanitize_cut(&root.display().to_string(), 300);
    write_stdout(format!("Files below {shown}\n{}", report::files(&files)).as_bytes())?;
    let texts: Vec<(&str, &str)> =
        files.iter().filter_map(|file| Some((file.path.as_str(), file.text()?))).collect();
    if texts.is_empty() {
        return write_stdout(b"\nNothing to write.\n").map(|()| Exit::Pass);
    }
    if !is_confirmed(&arguments.confirmation, texts.len())? {
        return write_stdout(b"\nNothing was written.\n").map(|()| Exit::Pass);
    }
    files.iter().try_for_each(|file| check_target(&root, file))?;
    texts.iter().try_for_each(|(path, text)| write_file(&root, path, text))?;
    let left = files.iter().filter(|file| matches!(file.step, Step::Leave { .. }));
    let left: String = left.map(|file| format!("{} was left as it is.\n", file.path)).collect();
    let wrote = format!("\nWrote {}.\n{left}", counted(texts.len(), "file"));
    write_stdout(wrote.as_bytes()).map(|()| Exit::Pass)
}

/// Returns the directory that paths begin at.
fn root(arguments: &SkillArgs) -> Result<PathBuf, Failure> {
    if arguments.user {
        let hint = "set HOME, or leave out --user";
        let home = crate::config::home().filter(|home| home.is_absolute() && home.is_dir());
        return home.ok_or_else(|| Failure::usage("there is no home directory to install to", hint));
    }
    let root = OpenRepository::discover(&arguments.repo)?.root;
    if std::fs::symlink_metadata(root.join(".git")).is_err() {
        let message = "a bare repository has no checkout to write files to";
        return Err(Failure::usage(message, "run it in a clone, or pass --user"));
    }
    Ok(root)
}

/// Returns the text of an installed skill.
fn installed() -> String {
    format!("{SKILL}\n{MARKER}{}{MARKER_END}", canonical::sha256(SKILL.as_bytes()))
}

/// Returns whether any version of this command wrote a text, and nobody edited it since.
fn is_ours(text: &str) -> bool {
    let parts = text.strip_suffix(MARKER_END).and_then(|text| text.rsplit_once(MARKER));
    let Some((skill, digest)) = parts else { return false };
    skill.strip_suffix('\n').is_some_and(|skill| canonical::sha256(skill.as_bytes()).as_str() == digest)
}

/// Plans the file of the skill. One that is not ours is left as it is where hooks can be installed beside it, and else an error.
fn plan_skill(root: &std::path::Path, path: &str, arguments: &SkillArgs) -> Result<PlannedFile, Failure> {
    let text = installed();
    let step = match read_file(root, path)?.map(|file| file.text) {
        None => Step::Create { text },
        Some(Some(old)) if old == text => Step::Unchanged,
        Some(Some(old)) if arguments.force || is_ours(&old) => Step::Update { old, text },
        Some(old) => {
            let other = NotOurs { is_text: old.is_some() };
            if !arguments.hooks {
                return Err(other.failure(path));
            }
            Step::Leave { reason: other.reason().to_owned() }
        }
    };
    Ok(PlannedFile { path: path.to_owned(), step, note: None })
}

/// A file at the place of the skill that is not replaced.
struct NotOurs {
    /// False for one that is not UTF-8 or too large, which is never replaced.
    is_text: bool,
}

impl NotOurs {
    fn reason(&self) -> &'static str {
        match self.is_text {
            true => "it was edited or not written by this command; --force replaces it",
            false => "it is not UTF-8, or has more than 1 MiB, and is not replaced; remove it for the skill",
        }
    }

    fn failure(&self, path: &str) -> Failure {
        if self.is_text {
            let message = format!("{path} is there, and was edited or not written by this command");
            return Failure::with_code(Code::InitFileNotOurs, message);
        }
        let message = format!("{path} is there, and is not UTF-8 or has more than 1 MiB");
        let hint = "rename or remove the file; nothing was written, and --force does not replace it";
        Failure { hint: hint.to_owned(), ..Failure::with_code(Code::InitFileNotOurs, message) }
    }
}

fn plan_settings(root: &std::path::Path, format: &HookFormat, user: bool) -> Result<PlannedFile, Failure> {
    let files = format.files(user);
    let path = files.settings;
    let now = read_file(root, path)?;
    let old = match &now {
        None => "{}\n".to_owned(),
        Some(file) => {
            let unreadable = "it is not UTF-8, or has more than 1 MiB";
            file.text.clone().ok_or_else(|| settings_failure(path, unreadable))?
        }
    };
    let hooks = format.entries().map(|entry| WantedHook { event: entry.event, entry: entry.value });
    let wanted = WantedHooks { agent: format.id, hooks: &hooks, version: files.version };
    let text = with_hooks(&old, &wanted).map_err(|error| settings_failure(path, &error.to_string()))?;
    let step = match now {
        None => Step::Create { text },
        Some(_) if text == old => Step::Unchanged,
        Some(_) => Step::Update { old, text },
    };
    Ok(PlannedFile { path: path.to_owned(), step, note: None })
}

fn settings_failure(path: &str, reason: &str) -> Failure {
    let message = format!("failed to add hooks to {path}: {}", sanitize_cut(reason, 200));
    let hint = "correct the file, which --force does not replace, or add the hooks by hand as docs/recipes/agents.md shows";
    Failure { hint: hint.to_owned(), ..Failure::with_code(Code::InitFileNotOurs, message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_skill_that_nobody_edited_is_ours() {
        let earlier = format!("old\n\n{MARKER}{}{MARKER_END}", canonical::sha256(b"old\n"));
        assert!(is_ours(&installed()) && is_ours(&earlier));
        for text in
            [SKILL, "", &earlier.replace("old", "new"), &format!("{earlier}x"), &earlier.replace(" -->", "")]
        {
            assert!(!is_ours(text), "{text:.80}");
        }
    }
}
