//! Words of commands that stand for more or for less than they say.

/// The packages that the output of `go list` stands for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ListedPackages<'w> {
    pub(crate) packages: Vec<&'w str>,
    /// Filters of the output, which leave packages out.
    pub(crate) filters: Vec<&'w str>,
}

impl<'w> ListedPackages<'w> {
    /// Reads a word in which a shell puts the output of `go list`; any other word is none.
    pub(crate) fn new(word: &'w str) -> Option<Self> {
        let inside = word.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
        let inside = inside.or_else(|| word.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')))?;
        let mut commands = inside.split('|').map(str::trim);
        let arguments = commands.next()?.strip_prefix("go list ")?;
        let packages = arguments.split_whitespace().filter(|word| !word.starts_with('-')).collect();
        // `./...` has no vendored package in any version that is in use.
        let filters = commands.filter(|filter| !is_about_vendored(filter)).collect();
        Some(Self { packages, filters })
    }
}

/// Returns whether a filter leaves out vendored packages and nothing else.
fn is_about_vendored(filter: &str) -> bool {
    let mut words = filter.split_whitespace().filter(|word| !word.starts_with('-'));
    let pattern = words.nth(1).map(|word| word.trim_matches(['"', '\'', '/']));
    pattern == Some("vendor") && words.next().is_none()
}

/// Returns whether a file is the one that a tool takes unasked.
pub(crate) fn is_usual_file(tool: &str, file: &str) -> bool {
    let file = file.trim_start_matches("./");
    let is_config = file.strip_prefix(tool).is_some_and(|rest| rest.starts_with(".config."));
    let is_manifest = ["build.gradle", "build.gradle.kts", "pom.xml"].contains(&file);
    is_config || is_manifest && ["gradle", "gradlew", "mvn", "mvnw"].contains(&tool)
}

/// Returns whether an option names addresses that a checker of links does not ask for; no code is left out by it.
pub(crate) fn is_about_addresses(tool: &str, option: &str) -> bool {
    let is_exclusion = option.starts_with("--exclude") && !option.starts_with("--exclude-path");
    is_exclusion && ["linkinator", "lychee"].iter().any(|own| tool.contains(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_a_list_are_named_by_its_arguments() {
        for (word, packages, filters) in [
            ("$(go list ./...)", "./...", ""),
            ("`go list ./a/... ./b`", "./a/... ./b", ""),
            ("$(go list ./... | grep -v /vendor/)", "./...", ""),
            ("$(go list ./... | grep -v '/vendor/')", "./...", ""),
            ("$(go list ./... | grep -v slow)", "./...", "grep -v slow"),
            ("$(go list ./... | grep -v vendor -e slow)", "./...", "grep -v vendor -e slow"),
            ("$(go list ./... | grep -v 'vendor/internal')", "./...", "grep -v 'vendor/internal'"),
        ] {
            let listed = ListedPackages::new(word).expect("a list");
            assert_eq!(
                (listed.packages.join(" "), listed.filters.join(" ")),
                (packages.into(), filters.into())
            );
        }
        for word in ["./...", "$(ls)", "$(go version)"] {
            assert_eq!(ListedPackages::new(word), None, "{word}");
        }
    }
}
