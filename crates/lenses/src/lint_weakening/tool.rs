//! The words that the tables of tools are written in: where a tool finds its configuration, and which settings make it
//! look at less.

use qa_reading::documents::Format;

/// A linter, type checker or coverage tool.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// Places of its configuration, the first that a directory has wins.
    pub(super) places: &'static [Place],
    pub(super) scope: Scope,
    pub(super) settings: &'static [Setting],
    /// Settings that switch on others.
    pub(super) umbrellas: &'static [Umbrella],
}

/// Directories that a configuration is in force for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Each file by itself: commands name it, and no other takes its place.
    File,
    /// Each file by itself, those of tests as well; others of its kind add to it.
    Project,
    /// Its directory and all below, up to the next configuration, which hides it.
    Nearest,
    /// Its directory and all below; configurations below add to it, unless they say `root: true`.
    Cascade,
}

/// A file, and the part of it that configures the tool.
#[derive(Debug)]
pub(super) struct Place {
    /// Name of the file; a `*` stands for any text.
    pub(super) file: &'static str,
    pub(super) format: Format,
    /// Path of names to the part; empty for the whole file.
    pub(super) section: &'static [&'static str],
}

/// A setting by which a tool looks at more or less.
#[derive(Debug)]
pub(super) struct Setting {
    /// Spellings of its key path below the section, the first of which is its name.
    ///
    /// Segments are parted by spaces. `*` is any name, and tells one setting from another; `**` is any path. `[]` is any
    /// element of a list, and `[name]` one whose member `name` tells it from another.
    pub(super) paths: &'static [&'static str],
    pub(super) direction: Direction,
    pub(super) aspect: Aspect,
}

/// Direction in which a change of a value makes a tool look at less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// Switching off; off where it is not set.
    On,
    /// Switching off; on where it is not set.
    OnByDefault,
    /// A switch that turns checking off: switching on weakens.
    Off,
    /// A lower level: error, warning, off.
    Level,
    /// A smaller number, or none.
    AtLeast,
    /// A larger number, or none.
    AtMost,
    /// A list of what is checked: fewer entries weaken.
    Includes,
    /// A list of what is not checked: more entries weaken.
    Excludes,
    /// A list of what is not checked that begins with these entries where it is not set.
    ExcludesBeyond(&'static [&'static str]),
    /// A list of what alone is checked, these entries where it is not set, or all where there are none: fewer entries
    /// weaken, and an entry with `!` before it.
    Only(&'static [&'static str]),
    /// A number that is 0 where it is not set: a larger one weakens.
    UpFromZero,
    /// The options of a command of this tool.
    Options(&'static str),
    /// Severity of a diagnostic of Roslyn: a lower one than before, if that was a warning or an error, or a new one that
    /// reports nothing.
    Severity,
    /// Severity of a style, alone or behind the preferred value: as [`Self::Severity`], but a new one weakens nothing.
    StyleSeverity,
    /// A later word of a list from strict to lax, in any case.
    Words(&'static [&'static str]),
}

/// Rule that a weaker setting breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aspect {
    Lint,
    Threshold,
    Coverage,
    /// Tests that run.
    Tests,
}

/// A value that implies that other settings are on.
#[derive(Debug)]
pub(super) struct Umbrella {
    /// Name of the setting and its value.
    pub(super) setting: &'static str,
    pub(super) value: &'static str,
    /// Names of the settings that it switches on.
    pub(super) implies: &'static [&'static str],
}

pub(super) const fn place(file: &'static str, format: Format, section: &'static [&'static str]) -> Place {
    Place { file, format, section }
}

/// Returns a setting of what is reported.
pub(super) const fn lint(direction: Direction, paths: &'static [&'static str]) -> Setting {
    Setting { paths, direction, aspect: Aspect::Lint }
}

/// Returns a number that code has to reach.
pub(super) const fn threshold(direction: Direction, paths: &'static [&'static str]) -> Setting {
    Setting { paths, direction, aspect: Aspect::Threshold }
}

/// Returns a setting of which code counts for coverage.
pub(super) const fn coverage(direction: Direction, paths: &'static [&'static str]) -> Setting {
    Setting { paths, direction, aspect: Aspect::Coverage }
}

/// Returns a setting of which tests run.
pub(super) const fn tests(direction: Direction, paths: &'static [&'static str]) -> Setting {
    Setting { paths, direction, aspect: Aspect::Tests }
}

impl Tool {
    /// Returns whether files of tests count for the comparison.
    pub(super) fn looks_at_tests(&self) -> bool {
        self.runs_tests() || self.scope == Scope::Project
    }

    /// Returns whether the tool runs tests, which it does without any configuration too.
    pub(super) fn runs_tests(&self) -> bool {
        self.settings.iter().all(|setting| setting.aspect == Aspect::Tests)
    }
}

impl Place {
    /// Returns the directory that a path configures, if the path is of this place.
    pub(super) fn directory<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (file_directory, file) = match self.file.rsplit_once('/') {
            Some((directory, file)) => (Some(directory), file),
            None => (None, self.file),
        };
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let is_named = match file.split_once('*') {
            Some((start, end)) => {
                name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
            }
            None => name == file,
        };
        if !is_named {
            return None;
        }
        match file_directory {
            None => Some(directory),
            Some(own) if directory == own => Some(""),
            Some(own) => directory.strip_suffix(own)?.strip_suffix('/'),
        }
    }
}
