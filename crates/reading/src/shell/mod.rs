//! Reads shell scripts as commands: their words, their places in the script, and the fate of their failures.

mod command;
mod expressions;
mod fate;
mod list;
mod programs;
mod walk;
mod words;

#[cfg(test)]
mod tests;

pub use expressions::embedded;
pub use fate::{Loss, Lost};
pub use programs::Interpreter;
pub use words::{Decoded, Word};

use crate::syntax::Span;

/// Longest script in bytes that is parsed.
pub const MAX_BYTES: usize = 1 << 19;
/// Scripts inside of scripts, as in `sh -c "sh -c '…'"`, that are parsed.
pub const MAX_INTERPRETERS: usize = 4;

/// Settings of a shell that decide where a failure ends a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// `set -e`
    pub errexit: bool,
    /// `set -o pipefail`
    pub pipefail: bool,
    /// `set -u`
    pub nounset: bool,
    /// `set -n`: commands are read and not run.
    pub noexec: bool,
}

/// The commands of a script, in the order of their begins but for those of an inner script, which follow its command.
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub commands: Vec<Command>,
    /// Places that could not be parsed: all of a script that is too large.
    pub broken: Vec<Span>,
    frames: Vec<Frame>,
}

/// A simple command.
#[derive(Debug, Clone)]
pub struct Command {
    pub span: Span,
    /// The program and its arguments as written, wrappers such as `sudo` among them; empty for assignments alone.
    pub words: Vec<Word>,
    /// Assignments before the program, or of `export` and the like.
    pub assignments: Vec<Assignment>,
    pub redirections: Vec<Redirection>,
    /// Settings in force when the command begins.
    pub options: Options,
    /// Reason why a failure leaves the script successful; none where the failure shows.
    pub lost: Option<Lost>,
    /// Position of the command in [`Script::commands`] that hands this one to an interpreter, as `sh -c` does.
    pub interpreted_by: Option<usize>,
    /// True for a command of a text that the script writes to a file or a pipe, which may hold another text by the time
    /// a shell reads it.
    pub is_written: bool,
    /// Position in [`Command::words`] of the program behind wrappers.
    program: usize,
    frame: Option<usize>,
}

/// `name=value`
#[derive(Debug, Clone)]
pub struct Assignment {
    pub name: String,
    pub value: Word,
    pub span: Span,
    /// `name+=value`
    pub appends: bool,
}

/// `2>file`, `<<EOF` and the like.
#[derive(Debug, Clone)]
pub struct Redirection {
    /// The sign: `>`, `>>`, `&>`, `<<`, `<<<`.
    pub operator: String,
    /// Number before the sign.
    pub descriptor: Option<String>,
    /// File or descriptor; the delimiter of a heredoc.
    pub target: Word,
    /// Text of a heredoc.
    pub heredoc: Option<Decoded>,
    pub span: Span,
}

/// A construct around commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Surrounding {
    /// A stage of a pipeline; the last one gives it its status, unless `pipefail` holds.
    Pipeline {
        last: bool,
    },
    /// Left of `&&`.
    AndLeft,
    /// Right of `&&`: runs if the left side succeeds.
    AndRight,
    /// Left of `||`.
    OrLeft,
    /// Right of `||`: runs if the left side fails.
    OrRight,
    Negated,
    Background,
    /// Condition of `if` or `elif`.
    IfCondition,
    /// Condition of `while` or `until`.
    LoopCondition,
    /// Body of `if`, `elif`, `else` or of a case.
    Branch,
    LoopBody,
    Function(String),
    Subshell,
    /// `$(…)`, `` `…` ``, `<(…)`
    Substitution,
    /// Text handed to a shell by `sh -c`, `eval` or a heredoc.
    Interpreted,
}

#[derive(Debug, Clone)]
struct Frame {
    surrounding: Surrounding,
    span: Span,
    outer: Option<usize>,
}

impl Script {
    /// Parses a script that a shell runs with these settings at first. GitHub's expressions `${{ … }}` may stand
    /// everywhere and count as expansions.
    pub fn parse(text: &str, options: Options) -> Self {
        walk::parse(text, options, &[], 0)
    }

    /// Parses a script in which another program replaces some places, in order, before the shell reads it, as make
    /// does with `$(CC)`.
    pub fn parse_template(text: &str, options: Options, expansions: &[Span]) -> Self {
        walk::parse(text, options, expansions, 0)
    }

    /// Constructs around a command, the innermost first, with their places.
    pub fn surroundings(&self, command: &Command) -> impl Iterator<Item = (&Surrounding, Span)> {
        let mut next = command.frame;
        std::iter::from_fn(move || {
            let frame = self.frames.get(next?)?;
            next = frame.outer;
            Some((&frame.surrounding, frame.span))
        })
    }

    /// Name of the innermost function around a command.
    pub fn function_of(&self, command: &Command) -> Option<&str> {
        self.surroundings(command).find_map(|(surrounding, _)| {
            if let Surrounding::Function(name) = surrounding { Some(name.as_str()) } else { None }
        })
    }
}

/// Settings that the options of a shell stand for.
pub(crate) fn options_of<'w>(words: impl Iterator<Item = &'w str>) -> Options {
    let mut options = Options::default();
    programs::apply_options(words, &mut options);
    options
}

impl Command {
    /// Returns the program and its arguments without wrappers: `make test` of `sudo env X=1 make test`.
    pub fn effective(&self) -> &[Word] {
        self.words.get(self.program..).unwrap_or_default()
    }

    /// Name of the program without its folder; none where an expansion decides.
    pub fn program(&self) -> Option<&str> {
        programs::base_name(self.effective().first()?)
    }

    /// Arguments of the program.
    pub fn arguments(&self) -> &[Word] {
        self.effective().get(1..).unwrap_or_default()
    }
}
