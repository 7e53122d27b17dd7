//! Entries of permissions, such as `Bash(git diff:*)`: what they let run, and which of them cover others.

/// Tools that run commands.
const SHELL_TOOLS: &[&str] = &["bash", "powershell", "run_shell_command", "shell", "shelltool"];
/// Programs that run the command or program that they are given.
const RUNNERS: &[&str] = &[
    "ash",
    "bash",
    "command",
    "dash",
    "doas",
    "env",
    "eval",
    "exec",
    "fish",
    "ksh",
    "nohup",
    "powershell",
    "pwsh",
    "sh",
    "su",
    "sudo",
    "xargs",
    "zsh",
];
/// Patterns of VS Code that are true of every command.
const ANYTHING: &[&str] =
    &["*", "**", "/.*/", "/.+/", "/^.*$/", "/^.+$/", "/^/", "/(.*)/", "/^(.*)$/", "/[\\s\\S]*/"];

/// A permission: the name of a tool and what follows in brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Permission {
    tool: String,
    /// Begin of what it covers, or all of it.
    start: String,
    is_open: bool,
}

impl Permission {
    pub(super) fn new(text: &str) -> Self {
        let text = text.trim();
        let Some((tool, rest)) = text.split_once('(') else {
            return Self { tool: text.to_owned(), start: String::new(), is_open: true };
        };
        let inside = rest.strip_suffix(')').unwrap_or(rest).trim();
        let is_open = inside.is_empty() || inside.ends_with('*');
        let start = inside.trim_end_matches('*').trim_end_matches(':').trim();
        Self { tool: tool.trim().to_owned(), start: start.to_owned(), is_open }
    }

    /// Returns whether whatever another one is true of, this one is true of.
    pub(super) fn covers(&self, other: &Self) -> bool {
        if self.tool != other.tool {
            return self.tool == "*" && self.is_open && self.start.is_empty();
        }
        match self.is_open {
            true => other.start.starts_with(&self.start),
            false => !other.is_open && self.start == other.start,
        }
    }

    /// Returns whether it is true of any command.
    pub(super) fn is_any_command(&self) -> bool {
        if !self.is_open {
            return false;
        }
        if self.tool == "*" {
            return self.start.is_empty();
        }
        let is_shell = SHELL_TOOLS.contains(&self.tool.to_lowercase().as_str());
        is_shell && (self.start.is_empty() || runs_anything(&self.start))
    }
}

/// Returns whether a command that may go on in any way runs whatever it is given.
fn runs_anything(start: &str) -> bool {
    let mut words = start.split_whitespace();
    let Some(program) = words.next() else { return true };
    let program = program.rsplit('/').next().unwrap_or(program);
    RUNNERS.contains(&program) && words.all(|word| word.starts_with('-') || RUNNERS.contains(&word))
}

/// Returns whether an entry of commands that run unasked is true of any command.
pub(super) fn is_any_command_line(text: &str) -> bool {
    let text = text.trim();
    ANYTHING.contains(&text)
        || !text.starts_with('/') && runs_anything(text.trim_end_matches([':', '*']).trim())
}

#[cfg(test)]
mod tests {
    use super::{Permission, is_any_command_line};

    #[test]
    fn entries_allow_any_command_or_some() {
        let cases = [
            ("Bash", true),
            ("Bash(*)", true),
            ("Bash( :* )", true),
            ("*", true),
            ("Bash(sudo:*)", true),
            ("Bash(bash -c:*)", true),
            ("Bash(/bin/sh *)", true),
            ("run_shell_command", true),
            ("Bash(git:*)", false),
            ("Bash(bash)", false),
            ("Bash(bash scripts/test.sh:*)", false),
            ("Bash(npm run test:*)", false),
            ("Read", false),
            ("mcp__github__*", false),
        ];
        for (text, expected) in cases {
            assert_eq!(Permission::new(text).is_any_command(), expected, "{text}");
        }
        for (text, expected) in [("/.*/", true), ("bash", true), ("git status", false), ("/^git .*$/", false)]
        {
            assert_eq!(is_any_command_line(text), expected, "{text}");
        }
    }

    #[test]
    fn a_wider_entry_covers_a_narrower_one() {
        let cases = [
            ("Bash", "Bash(curl:*)", true),
            ("Bash(curl *)", "Bash(curl:*)", true),
            ("Bash(curl:*)", "Bash(curl -X POST:*)", true),
            ("Read(./.env*)", "Read(./.env)", true),
            ("Read(./.env)", "Read(./.env*)", false),
            ("Bash(curl -X POST:*)", "Bash(curl:*)", false),
            ("Read", "Bash(curl:*)", false),
        ];
        for (wide, narrow, expected) in cases {
            assert_eq!(Permission::new(wide).covers(&Permission::new(narrow)), expected, "{wide} {narrow}");
        }
    }
}
