//! Expressions that read variables of the environment: whoever runs a program chooses what they come to.

use tree_sitter::Node;

use super::shape::{Shape, shape};
use super::spelled::{Speller, parts};

/// Names by which the languages read the environment.
const READERS: &[&str] = &[
    "$_ENV[",
    "Bun.env.",
    "Deno.env.",
    "ENV.fetch(",
    "ENV.has_key?(",
    "ENV.key?(",
    "ENV[",
    "Environment.GetEnvironmentVariable(",
    "LookupEnv(",
    "env::var(",
    "env::var_os(",
    "getenv(",
    "import.meta.env.",
    "option_env!(",
    "os.Getenv(",
    "os.environ",
    "process.env.",
    "process.env[",
];
/// Variables that tell on which service or platform a run is: what they choose runs elsewhere.
const PLATFORMS: &[&str] = &[
    "APPVEYOR",
    "BUILDKITE",
    "CI",
    "CIRCLECI",
    "CIRRUS",
    "CIRRUS_CI",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "JENKINS_URL",
    "MSYSTEM",
    "OSTYPE",
    "RUNNER_OS",
    "TF_BUILD",
    "TRAVIS",
    "WSL_DISTRO_NAME",
];
/// Size of the longest expression that is looked at, in bytes: a condition is short, and a table is long.
const MAX_BYTES: usize = 300;

impl Speller<'_> {
    /// Returns whether an expression reads a variable of the environment, itself or by a name of the file.
    pub(super) fn reads_environment(&self, node: Node<'_>) -> bool {
        let text = self.text_of(node);
        if text.len() > MAX_BYTES || names(text).any(|name| PLATFORMS.contains(&name)) {
            return false;
        }
        READERS.iter().any(|reader| text.contains(reader)) || self.names_environment(node)
    }

    fn names_environment(&self, node: Node<'_>) -> bool {
        if matches!(shape(node), Shape::Name) {
            let known = self.names.get(self.text_of(node));
            return known.is_some_and(|known| known.value.reads_environment);
        }
        parts(node).into_iter().any(|part| self.names_environment(part))
    }
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_')
}
