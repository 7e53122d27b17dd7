//! Destinations of imports, and the paths they are found at.

/// Destination of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Target {
    File(String),
    /// No file is at the only path it could have; the path has no ending.
    Missing(String),
    /// The repository alone does not decide.
    Unsure,
}

/// Answer to the question whether a file defines a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Has {
    Yes,
    No,
    Unsure,
}

/// Splits a path into its directory and its name.
pub(in super::super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Joins a directory, which may be the root, and a name.
pub(in super::super) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

/// Returns whether a file of a directory has this stem, whatever its ending.
pub(in super::super) fn has_stem(files: &[String], stem: &str) -> bool {
    files.iter().any(|file| {
        let begins = file.len() > stem.len()
            && file.is_char_boundary(stem.len())
            && file[..stem.len()].eq_ignore_ascii_case(stem);
        begins && file[stem.len()..].starts_with('.') || file.eq_ignore_ascii_case(stem)
    })
}

/// Returns the path that a relative one leads to from a directory; `None` above the root.
pub(crate) fn walked(directory: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}
