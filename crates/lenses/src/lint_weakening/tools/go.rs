//! Tools for Go.

use qa_reading::documents::Format::{Json, Toml, Yaml};

use crate::lint_weakening::tool::Direction::{
    AtMost, Excludes, Includes, Level, Off, On, OnByDefault, Only, Words,
};
use crate::lint_weakening::tool::{Scope, Tool, Umbrella, lint, place};

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "golangci-lint",
        places: &[
            place(".golangci.yml", Yaml, &[]),
            place(".golangci.yaml", Yaml, &[]),
            place(".golangci.toml", Toml, &[]),
            place(".golangci.json", Json, &[]),
        ],
        scope: Scope::Nearest,
        settings: &[
            lint(Includes, &["linters enable"]),
            lint(Includes, &["formatters enable"]),
            lint(Excludes, &["formatters exclusions paths"]),
            lint(Excludes, &["linters disable"]),
            lint(On, &["linters enable-all"]),
            lint(Off, &["linters disable-all"]),
            lint(Words(&["all", "standard", "fast", "none"]), &["linters default"]),
            lint(OnByDefault, &["run tests"]),
            lint(OnByDefault, &["run issues-exit-code"]),
            lint(Off, &["linters fast"]),
            lint(Off, &["issues new"]),
            lint(Only(&[]), &["issues new-from-rev"]),
            lint(Only(&[]), &["issues new-from-merge-base"]),
            lint(Only(&[]), &["issues new-from-patch"]),
            lint(Words(&["disable", "strict", "lax"]), &["linters exclusions generated"]),
            lint(Excludes, &["issues exclude"]),
            lint(Excludes, &["issues exclude-rules", "linters exclusions rules"]),
            lint(Excludes, &["issues exclude-dirs", "run skip-dirs", "linters exclusions paths"]),
            lint(Excludes, &["issues exclude-files", "run skip-files"]),
            lint(Excludes, &["linters exclusions presets"]),
            lint(Excludes, &["linters-settings staticcheck checks", "linters settings staticcheck checks"]),
            lint(Excludes, &["linters-settings gosec excludes", "linters settings gosec excludes"]),
            lint(AtMost, &["linters-settings * min-complexity", "linters settings * min-complexity"]),
        ],
        umbrellas: &[Umbrella { setting: "linters default", value: "all", implies: &["linters enable-all"] }],
    },
    Tool {
        name: "staticcheck",
        places: &[place("staticcheck.conf", Toml, &[])],
        scope: Scope::Nearest,
        settings: &[lint(Includes, &["checks"])],
        umbrellas: &[],
    },
    Tool {
        name: "revive",
        places: &[place("revive.toml", Toml, &[])],
        scope: Scope::Nearest,
        settings: &[
            lint(Level, &["severity"]),
            lint(Off, &["rule * disabled"]),
            lint(Excludes, &["exclude"]),
        ],
        umbrellas: &[],
    },
];
