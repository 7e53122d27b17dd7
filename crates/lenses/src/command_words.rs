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

/// Options of `grep` by which it prints the lines without a pattern.
const INVERTED: &[&str] = &["--invert-match", "-Ev", "-Fv", "-v", "-vE", "-vF", "-ve"];
/// Those that change neither which lines nor how many patterns there are.
const PLAIN: &[&str] = &["-E", "-F", "-e"];

/// Returns whether a filter leaves out vendored packages and nothing else.
fn is_about_vendored(filter: &str) -> bool {
    let words: Vec<&str> = filter.split_whitespace().collect();
    let ["egrep" | "fgrep" | "grep", options @ .., pattern] = words.as_slice() else { return false };
    pattern.trim_matches(['"', '\'', '/']) == "vendor"
        && options.iter().any(|option| INVERTED.contains(option))
        && options.iter().all(|option| INVERTED.contains(option) || PLAIN.contains(option))
}

/// Returns the word that stands for what `xargs` adds to a command, given the text before it, where that is `go list`.
pub(crate) fn listed_before(text: &str) -> Option<String> {
    let text = text.replace("\\\n", " ");
    let commands = text.trim_end().strip_suffix('|')?.trim_end();
    let list = &commands[commands.rfind("go list ")?..];
    let lines: Vec<&str> = list.lines().map(str::trim).collect();
    let is_one = lines.iter().rev().skip(1).all(|line| line.ends_with('|'));
    (is_one && !list.contains([';', '&', ')', '`'])).then(|| format!("$({})", lines.join(" ")))
}

/// Extensions of the configurations that runners of JavaScript look for.
const EXTENSIONS: &[&str] = &["cjs", "cts", "js", "json", "mjs", "mts", "ts"];

/// Returns whether a file is the one that a tool takes unasked.
pub(crate) fn is_usual_file(tool: &str, file: &str) -> bool {
    let file = file.trim_start_matches("./");
    let is_config = file.split_once(".config.").is_some_and(|(name, extension)| {
        (name == tool || (tool, name) == ("vitest", "vite")) && EXTENSIONS.contains(&extension)
    });
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
            ("$(go list ./... | grep -v -e /vendor/)", "./...", ""),
            ("$(go list ./... | grep -v -e /vendor/ -e /slow/)", "./...", "grep -v -e /vendor/ -e /slow/"),
            ("$(go list ./... | grep -v -eslow vendor)", "./...", "grep -v -eslow vendor"),
            ("$(go list ./... | grep vendor)", "./...", "grep vendor"),
            ("$(go list ./... | awk '!/vendor/ && !/slow/')", "./...", "awk '!/vendor/ && !/slow/'"),
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

    #[test]
    fn packages_come_through_a_pipe() {
        for (text, expected) in [
            ("go list ./... | grep -v slow | ", Some("$(go list ./... | grep -v slow)")),
            ("cd a\ngo list ./... |\n  ", Some("$(go list ./...)")),
            ("go list ./... \\\n  | grep -v a |\n", Some("$(go list ./...    | grep -v a)")),
            ("go list ./... > all; cat all | ", None),
            ("go list ./...\ncat all | ", None),
            ("go list ./... ", None),
        ] {
            assert_eq!(listed_before(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_usual_file_has_the_name_of_its_tool_and_one_extension() {
        for (tool, file, expected) in [
            ("jest", "./jest.config.ts", true),
            ("jest", "jest.config.unit.js", false),
            ("jest", "jest.config.unit", false),
            ("jest", "vitest.config.ts", false),
            ("vitest", "vite.config.mts", true),
            ("playwright", "playwright.config.ts", true),
            ("playwright", "e2e/playwright.config.ts", false),
            ("mvn", "pom.xml", true),
            ("mvn", "sub/pom.xml", false),
        ] {
            assert_eq!(is_usual_file(tool, file), expected, "{tool} {file}");
        }
    }
}
