//! Tools for other languages, and for several.

use qa_reading::documents::Format::{Ini, Json, Toml, Xml, Yaml};

use crate::lint_weakening::tool::Direction::{
    AtLeast, AtMost, Excludes, Includes, Level, Off, On, OnByDefault, Words,
};
use crate::lint_weakening::tool::{Scope, Tool, coverage, lint, place, threshold};

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "rubocop",
        places: &[place(".rubocop.yml", Yaml, &[]), place(".rubocop_todo.yml", Yaml, &[])],
        scope: Scope::Nearest,
        settings: &[
            lint(OnByDefault, &["* Enabled"]),
            lint(Off, &["AllCops DisabledByDefault"]),
            lint(Excludes, &["* Exclude"]),
            lint(AtMost, &["* Max"]),
            lint(Includes, &["require"]),
            lint(Includes, &["plugins"]),
            lint(Words(&["enable", "pending", "disable"]), &["AllCops NewCops"]),
            lint(Words(&["fatal", "error", "warning", "convention", "refactor", "info"]), &["* Severity"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "phpstan",
        places: &[
            place("phpstan*.neon", Yaml, &["parameters"]),
            place("phpstan*.neon.dist", Yaml, &["parameters"]),
        ],
        scope: Scope::File,
        settings: &[
            threshold(AtLeast, &["level"]),
            lint(Excludes, &["ignoreErrors"]),
            lint(Excludes, &["excludePaths", "excludes_analyse", "excludePaths *"]),
            lint(Includes, &["paths"]),
            lint(OnByDefault, &["reportUnmatchedIgnoredErrors"]),
            lint(OnByDefault, &["check*"]),
            lint(OnByDefault, &["report*"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "psalm",
        places: &[place("psalm.xml", Xml, &["psalm"]), place("psalm.xml.dist", Xml, &["psalm"])],
        scope: Scope::Nearest,
        settings: &[
            threshold(AtMost, &["@errorLevel"]),
            lint(Level, &["issueHandlers * @errorLevel"]),
            lint(Level, &["issueHandlers * errorLevel @type"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "phpcs",
        places: &[
            place(".phpcs.xml", Xml, &["ruleset"]),
            place("phpcs.xml", Xml, &["ruleset"]),
            place(".phpcs.xml.dist", Xml, &["ruleset"]),
            place("phpcs.xml.dist", Xml, &["ruleset"]),
        ],
        scope: Scope::Nearest,
        settings: &[
            lint(Includes, &["rule @ref"]),
            lint(Excludes, &["rule exclude @name"]),
            lint(Excludes, &["exclude-pattern #text"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "swiftlint",
        places: &[place(".swiftlint.yml", Yaml, &[])],
        scope: Scope::Nearest,
        settings: &[
            lint(Excludes, &["disabled_rules"]),
            lint(Includes, &["opt_in_rules"]),
            lint(Includes, &["only_rules"]),
            lint(Excludes, &["excluded"]),
            lint(On, &["strict"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "clang-tidy",
        places: &[place(".clang-tidy", Yaml, &[])],
        scope: Scope::Nearest,
        settings: &[lint(Includes, &["Checks"]), lint(Includes, &["WarningsAsErrors"])],
        umbrellas: &[],
    },
    Tool {
        name: "dart",
        places: &[place("analysis_options.yaml", Yaml, &[])],
        scope: Scope::Nearest,
        settings: &[
            lint(Level, &["analyzer errors *"]),
            lint(Excludes, &["analyzer exclude"]),
            lint(On, &["analyzer language *"]),
            lint(Includes, &["linter rules"]),
            lint(OnByDefault, &["linter rules *"]),
            lint(Includes, &["include"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "shellcheck",
        places: &[place(".shellcheckrc", Ini, &[]), place("shellcheckrc", Ini, &[])],
        scope: Scope::Nearest,
        settings: &[lint(Excludes, &["disable"]), lint(Includes, &["enable"])],
        umbrellas: &[],
    },
    Tool {
        name: "yamllint",
        places: &[
            place(".yamllint", Yaml, &[]),
            place(".yamllint.yml", Yaml, &[]),
            place(".yamllint.yaml", Yaml, &[]),
        ],
        scope: Scope::Nearest,
        settings: &[lint(Level, &["rules *", "rules * level"]), lint(Excludes, &["ignore"])],
        umbrellas: &[],
    },
    Tool {
        name: "hadolint",
        places: &[place(".hadolint.yaml", Yaml, &[]), place(".hadolint.yml", Yaml, &[])],
        scope: Scope::Nearest,
        settings: &[lint(Excludes, &["ignored"])],
        umbrellas: &[],
    },
    Tool {
        name: "zizmor",
        places: &[place("zizmor.yml", Yaml, &[]), place(".github/zizmor.yml", Yaml, &[])],
        scope: Scope::Nearest,
        settings: &[
            lint(Off, &["rules * disable"]),
            lint(Excludes, &["rules * ignore"]),
            lint(Words(&["hash-pin", "ref-pin", "any"]), &["rules unpinned-uses config policies *"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "ktlint",
        places: &[place("ktlint.yml", Yaml, &[])],
        scope: Scope::Nearest,
        settings: &[lint(OnByDefault, &["* active"])],
        umbrellas: &[],
    },
    Tool {
        name: "luacheck",
        places: &[place(".luacheckrc", Ini, &[])],
        scope: Scope::Nearest,
        settings: &[lint(Excludes, &["ignore"]), lint(Excludes, &["exclude_files"])],
        umbrellas: &[],
    },
    Tool {
        name: "credo",
        places: &[place(".credo.exs", Ini, &[])],
        scope: Scope::Nearest,
        settings: &[],
        umbrellas: &[],
    },
    Tool {
        name: "codecov",
        places: &[
            place("codecov.yml", Yaml, &[]),
            place(".codecov.yml", Yaml, &[]),
            place("codecov.yaml", Yaml, &[]),
            place(".codecov.yaml", Yaml, &[]),
            place(".github/codecov.yml", Yaml, &[]),
        ],
        scope: Scope::Nearest,
        settings: &[
            threshold(AtLeast, &["coverage status * target", "coverage status * * target"]),
            threshold(AtMost, &["coverage status * threshold", "coverage status * * threshold"]),
            threshold(Off, &["coverage status * informational", "coverage status * * informational"]),
            threshold(OnByDefault, &["coverage status"]),
            threshold(OnByDefault, &["coverage status *"]),
            threshold(
                Words(&["error", "failure", "ignore", "success"]),
                &["coverage status * if_ci_failed", "coverage status * * if_ci_failed"],
            ),
            threshold(
                Words(&["failure", "success"]),
                &["coverage status * if_not_found", "coverage status * * if_not_found"],
            ),
            threshold(OnByDefault, &["codecov require_ci_to_pass"]),
            threshold(Includes, &["coverage status * paths", "coverage status * * paths"]),
            coverage(Excludes, &["ignore"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "infection",
        places: &[place("infection.json", Json, &[]), place("infection.json5", Json, &[])],
        scope: Scope::Nearest,
        settings: &[threshold(AtLeast, &["minMsi"]), threshold(AtLeast, &["minCoveredMsi"])],
        umbrellas: &[],
    },
    Tool {
        name: "sonar",
        places: &[place("sonar-project.properties", Ini, &[])],
        scope: Scope::Nearest,
        settings: &[
            lint(Excludes, &["sonar.exclusions"]),
            coverage(Excludes, &["sonar.coverage.exclusions"]),
            lint(Excludes, &["sonar.issue.ignore.*"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "typos",
        places: &[place("typos.toml", Toml, &[]), place("_typos.toml", Toml, &[])],
        scope: Scope::Nearest,
        settings: &[lint(Excludes, &["files extend-exclude"])],
        umbrellas: &[],
    },
];
