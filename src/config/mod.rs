//! The environment as typed settings; the one owner of envy.

mod action;
mod artifacts;
mod git;
mod inputs;
mod pace;
mod provider_keys;
mod reports;

use serde::Deserialize;
use terminal_size::terminal_size_of;

pub(crate) use action::{ActionEnvironment, Context, in_actions};
pub(crate) use artifacts::{ArtifactEnvironment, now};
pub(crate) use git::{git_account_directory, git_configuration_files, home, index_file};
pub(crate) use inputs::{
    ActionCommand, DrivePause, DriveWord, Inputs, ObjectSource, SettingsError, Surfaces,
};
pub(crate) use pace::pace;
pub(crate) use provider_keys::{provider_key, provider_keys};
pub(crate) use reports::Workspace;

/// Variables of the terminal.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Environment {
    no_color: Option<String>,
    clicolor_force: Option<String>,
    columns: Option<String>,
    term: Option<String>,
}

/// Limits of the output's width, in columns.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=160;

impl Environment {
    /// Reads the process environment. A variable that is not Unicode counts as absent.
    pub(crate) fn from_process() -> Self {
        envy::from_iter(variables()).unwrap_or_default()
    }

    /// Width of the terminal in columns, 100 by default.
    pub(crate) fn width(&self) -> usize {
        let columns = self.columns.as_ref().and_then(|columns| columns.parse::<usize>().ok());
        let columns = columns.or_else(|| Some(usize::from(terminal_size_of(std::io::stdout())?.0.0)));
        let columns = columns.unwrap_or(100);
        columns.clamp(*WIDTHS.start(), *WIDTHS.end())
    }

    /// Returns whether lines for people are broken: on a terminal, and where `COLUMNS` names the width.
    pub(crate) fn has_width(&self, terminal: bool) -> bool {
        terminal || self.columns.is_some()
    }

    /// Returns whether color is wanted, by <https://no-color.org> and <https://bixense.com/clicolors>.
    pub(crate) fn color(&self, terminal: bool) -> bool {
        if !matches!(self.no_color.as_deref(), None | Some("")) {
            return false;
        }
        let is_forced = !matches!(self.clicolor_force.as_deref(), None | Some("" | "0"));
        is_forced || terminal && self.term.as_deref() != Some("dumb")
    }
}

/// Returns the variables of the process that are Unicode and have names in upper case.
///
/// envy ignores the case of names, and an earlier step of a job may set any variable that the runner does not: `INPUT_Preset`
/// must not set an unset input.
fn variables() -> impl Iterator<Item = (String, String)> {
    let unicode = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    unicode.filter(|(name, _)| !name.contains(char::is_lowercase))
}

/// Returns the name of a variable of the runner that is not Unicode, which must not count as unset.
fn variable_that_is_not_unicode() -> Option<String> {
    std::env::vars_os().find_map(|(name, value)| {
        let name = name.into_string().ok()?;
        let is_ours = name.starts_with("INPUT_") || name.starts_with("GITHUB_");
        (is_ours && value.to_str().is_none()).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_wins_over_everything_and_a_pipe_has_none() {
        let of = |no_color: &str, force: &str, terminal| {
            let text = |value: &str| Some(value.to_owned());
            Environment { no_color: text(no_color), clicolor_force: text(force), ..Environment::default() }
                .color(terminal)
        };
        assert!(of("", "", true));
        assert!(!of("", "", false));
        assert!(of("", "1", false));
        assert!(!of("1", "1", true));
    }
}
