//! Options of `fix`.

use clap::Args;

use crate::app::exit::Failure;
use crate::app::inputs::{ModelUse, Request};
use crate::app::run_args::BaseArgs;
use crate::git::Uncommitted;
use qa_core::nearest::nearest;

/// Examples and exit codes in the help.
pub(in crate::app) const EXAMPLES: &str = "\
Examples:
  qa-skill fix                     show the edits for the commits of the branch
  qa-skill fix --worktree --apply  write the safe edits for uncommitted changes
  qa-skill fix --diff | git apply  the same, through git

Exit codes are those of `run`: of the change as it is, and with --apply of the
change with its edits";

#[derive(Args)]
pub(in crate::app) struct FixArgs {
    #[command(flatten)]
    base: BaseArgs,
    /// The head: a branch, tag or commit
    #[arg(long, default_value = "HEAD", value_name = "REV")]
    head: String,
    /// Mend what is staged; the base is HEAD unless --base names another
    #[arg(long, conflicts_with = "head")]
    staged: bool,
    /// Mend the files of the working tree, untracked ones too; the base is HEAD unless --base names another
    #[arg(long, conflicts_with_all = ["head", "staged"])]
    worktree: bool,
    /// Only findings of this rule; repeatable
    #[arg(long = "rule", value_name = "RULE")]
    rules: Vec<String>,
    /// Print the safe edits as one patch for `git apply`
    #[arg(long, conflicts_with = "apply")]
    diff: bool,
    /// Write the safe edits to the working tree, and judge it again
    #[arg(long)]
    apply: bool,
}

/// Use of the edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// All edits are shown.
    Show,
    /// The safe ones are printed as a patch.
    Diff,
    /// The safe ones are written.
    Apply,
}

impl FixArgs {
    pub(super) fn mode(&self) -> Mode {
        match (self.diff, self.apply) {
            (true, _) => Mode::Diff,
            (false, true) => Mode::Apply,
            (false, false) => Mode::Show,
        }
    }

    /// Returns whether findings of a rule are mended.
    pub(super) fn wants(&self, rule: &str) -> bool {
        self.rules.is_empty() || self.rules.iter().any(|wanted| wanted == rule)
    }

    /// Returns the request of the run whose findings are mended. It asks no model and stores nothing.
    pub(super) fn request(&self) -> Result<Request, Failure> {
        for rule in &self.rules {
            check_rule(rule)?;
        }
        let uncommitted = match (self.staged, self.worktree) {
            (true, _) => Some(Uncommitted::Staged),
            (false, true) => Some(Uncommitted::Worktree),
            (false, false) => None,
        };
        let models = ModelUse { no_model: true, ..ModelUse::default() };
        let request = self.base.clone().into_request(self.head.clone());
        Ok(Request { uncommitted, models, stores_commits: false, ..request })
    }
}

/// Fails for a name that is no rule.
fn check_rule(name: &str) -> Result<(), Failure> {
    let registry = qa_lenses::registry();
    let rules = registry.lenses.iter().flat_map(|lens| &lens.rules);
    let known: Vec<&str> = rules.map(|rule| rule.rule_id.as_str()).collect();
    if known.contains(&name) {
        return Ok(());
    }
    let shown = qa_core::masking::sanitize_cut(name, 100);
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? docs/rules.md lists all rules"),
        None => "docs/rules.md lists all rules".to_owned(),
    };
    Err(Failure::usage(format!("there is no rule `{shown}`"), hint))
}
