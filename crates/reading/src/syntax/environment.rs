//! Expressions that read variables of the environment: whoever runs a program chooses what they come to.

use super::shape::{Shape, shape};
use super::spelled::{Speller, parts};
use crate::tree::Node;

/// Names by which the languages read the environment.
const READERS: &[&str] = &[
    "$_ENV[",
    "Boolean.getBoolean(",
    "Bun.env.",
    "Deno.env.",
    "ENV.fetch(",
    "ENV.has_key?(",
    "ENV.key?(",
    "ENV[",
    "Environment.GetEnvironmentVariable(",
    "Integer.getInteger(",
    "LookupEnv(",
    "System.getProperty(",
    "System.getProperties()",
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
/// Begins of the names of properties that every run of a program on the JVM has.
const PROPERTIES: &[&str] =
    &["\"file.", "\"java.", "\"jdk.", "\"line.separator", "\"os.", "\"path.separator", "\"sun.", "\"user."];
/// Size of the longest expression that is looked at, in bytes: a condition is short, and a table is long.
const MAX_BYTES: usize = 300;

impl Speller<'_> {
    /// Returns whether an expression reads a variable of the environment, itself or by a name of the file.
    pub(super) fn reads_environment(&self, node: Node<'_>) -> bool {
        let text = self.text_of(node);
        let is_platform = names(text).any(|name| PLATFORMS.contains(&name))
            || PROPERTIES.iter().any(|property| text.contains(property));
        if text.len() > MAX_BYTES || is_platform {
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
