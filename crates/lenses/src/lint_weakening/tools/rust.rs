//! Tools for Rust.

use qa_reading::documents::Format::Toml;

use crate::lint_weakening::tool::Direction::{AtMost, Excludes, Includes, Level, Off, Options};
use crate::lint_weakening::tool::{Scope, Tool, coverage, lint, place};

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "clippy",
        places: &[place("Cargo.toml", Toml, &[])],
        scope: Scope::File,
        settings: &[lint(Level, &["lints * *", "workspace lints * *"])],
        umbrellas: &[],
    },
    Tool {
        name: "clippy.toml",
        places: &[place(".clippy.toml", Toml, &[]), place("clippy.toml", Toml, &[])],
        scope: Scope::Nearest,
        settings: &[
            lint(AtMost, &["cognitive-complexity-threshold"]),
            lint(AtMost, &["too-many-arguments-threshold"]),
            lint(AtMost, &["too-many-lines-threshold"]),
            lint(AtMost, &["type-complexity-threshold"]),
            lint(Includes, &["disallowed-methods"]),
            lint(Includes, &["disallowed-types"]),
            lint(Includes, &["disallowed-macros"]),
            lint(Off, &["allow-*"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "cargo-deny",
        places: &[place("deny.toml", Toml, &[]), place(".cargo/deny.toml", Toml, &[])],
        scope: Scope::Nearest,
        settings: &[
            lint(Excludes, &["advisories ignore"]),
            lint(Level, &["advisories *"]),
            lint(Level, &["bans multiple-versions"]),
            lint(Level, &["bans wildcards"]),
            lint(Includes, &["bans deny"]),
            lint(Excludes, &["bans skip"]),
            lint(Excludes, &["bans skip-tree"]),
            lint(Excludes, &["licenses allow"]),
            lint(Excludes, &["licenses exceptions"]),
            lint(Level, &["sources unknown-registry"]),
            lint(Level, &["sources unknown-git"]),
            lint(Excludes, &["sources allow-git"]),
            lint(Excludes, &["sources allow-registry"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "cargo configuration",
        places: &[place(".cargo/config.toml", Toml, &[]), place(".cargo/config", Toml, &[])],
        scope: Scope::Nearest,
        settings: &[
            lint(Options("rustc"), &["build rustflags"]),
            lint(Options("rustc"), &["target * rustflags"]),
            lint(Options("rustc"), &["env RUSTFLAGS", "env RUSTFLAGS value"]),
            lint(Options("rustc"), &["host rustflags"]),
            lint(Level, &["build warnings"]),
            lint(Options("cargo"), &["alias *"]),
            // A runner `true` runs no test.
            lint(Off, &["target * runner"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "tarpaulin",
        places: &[place("tarpaulin.toml", Toml, &[]), place(".tarpaulin.toml", Toml, &[])],
        scope: Scope::Nearest,
        settings: &[
            crate::lint_weakening::tool::threshold(
                crate::lint_weakening::tool::Direction::AtLeast,
                &["* fail-under"],
            ),
            coverage(Excludes, &["* exclude-files"]),
        ],
        umbrellas: &[],
    },
];
