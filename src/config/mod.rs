//! Reads the environment, once, into typed settings; the one owner of envy.

mod action;
mod artifacts;
mod inputs;
mod pace;
mod provider_keys;
mod reports;

use serde::Deserialize;

pub(crate) use action::{ActionEnvironment, Context, in_actions};
pub(crate) use artifacts::{ArtifactEnvironment, now};
pub(crate) use inputs::{ActionCommand, Inputs, ObjectSource, SettingsError, Surfaces};
pub(crate) use pace::pace;
pub(crate) use provider_keys::{provider_key, provider_keys};
pub(crate) use reports::Workspace;

/// Settings of the terminal in the environment.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Environment {
    no_color: Option<String>,
    clicolor_force: Option<String>,
    columns: Option<String>,
    term: Option<String>,
}

/// The narrowest and widest output worth making.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=160;

impl Environment {
    /// Reads the process environment. A variable that is not Unicode counts as absent.
    pub(crate) fn read() -> Self {
        envy::from_iter(variables()).unwrap_or_default()
    }

    /// Columns of the terminal.
    pub(crate) fn width(&self) -> usize {
        let stated = self.columns.as_ref().and_then(|columns| columns.parse::<usize>().ok()).unwrap_or(100);
        stated.clamp(*WIDTHS.start(), *WIDTHS.end())
    }

    /// Returns whether color is wanted, by <https://no-color.org> and <https://bixense.com/clicolors>.
    pub(crate) fn color(&self, terminal: bool) -> bool {
        let set = |value: &Option<String>| value.as_ref().is_some_and(|value| !value.is_empty());
        if set(&self.no_color) {
            return false;
        }
        let forced = set(&self.clicolor_force) && self.clicolor_force.as_deref() != Some("0");
        forced || terminal && self.term.as_deref() != Some("dumb")
    }
}

/// Returns the variables of the process that are Unicode and named in capitals.
///
/// envy reads names without regard to case, and an earlier step of a job may set any variable that the runner does not:
/// `INPUT_Preset` must not stand in for an input that is not set.
fn variables() -> impl Iterator<Item = (String, String)> {
    let unicode = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    unicode.filter(|(name, _)| !name.contains(char::is_lowercase))
}

/// Returns the name of a variable of the runner that is not Unicode: it must not count as one that is not set.
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
