//! Tools for Java and Kotlin.

use qa_reading::documents::Format::{Xml, Yaml};

use crate::lint_weakening::tool::Direction::{AtLeast, AtMost, Excludes, Includes, Level, Off, OnByDefault};
use crate::lint_weakening::tool::{Scope, Tool, lint, place, threshold};

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "checkstyle",
        places: &[place("checkstyle*.xml", Xml, &[])],
        scope: Scope::File,
        settings: &[
            lint(Level, &["module property [@name=severity] @value"]),
            lint(Includes, &["** module @name"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "checkstyle suppressions",
        places: &[place("*suppressions*.xml", Xml, &["suppressions"])],
        scope: Scope::File,
        settings: &[lint(Excludes, &["suppress @checks"]), lint(Excludes, &["suppress @files"])],
        umbrellas: &[],
    },
    Tool {
        name: "pmd",
        places: &[place("pmd*.xml", Xml, &[]), place("ruleset*.xml", Xml, &[])],
        scope: Scope::File,
        settings: &[
            lint(Includes, &["ruleset rule @ref"]),
            lint(Excludes, &["ruleset rule exclude @name"]),
            lint(Excludes, &["ruleset exclude-pattern #text"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "spotbugs",
        places: &[place("spotbugs-exclude*.xml", Xml, &[]), place("findbugs-exclude*.xml", Xml, &[])],
        scope: Scope::File,
        settings: &[lint(Excludes, &["FindBugsFilter Match ** @name"]), lint(Excludes, &["** Bug @pattern"])],
        umbrellas: &[],
    },
    Tool {
        name: "detekt",
        places: &[place("detekt*.yml", Yaml, &[]), place("detekt*.yaml", Yaml, &[])],
        scope: Scope::File,
        settings: &[
            lint(OnByDefault, &["* active"]),
            lint(OnByDefault, &["* * active"]),
            lint(AtMost, &["build maxIssues"]),
            lint(AtMost, &["* * threshold"]),
            lint(Off, &["config warningsAsErrors"]),
            lint(Excludes, &["* excludes"]),
            lint(Excludes, &["* * excludes"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "jacoco",
        places: &[place("pom.xml", Xml, &["project"])],
        scope: Scope::File,
        settings: &[threshold(AtLeast, &["** limit minimum #text"])],
        umbrellas: &[],
    },
    Tool {
        name: "plug-ins of Maven",
        places: &[place("pom.xml", Xml, &["project"])],
        scope: Scope::File,
        settings: &[
            lint(Off, &["** checkstyle.skip #text"]),
            lint(OnByDefault, &["** failOnViolation #text"]),
            lint(OnByDefault, &["** failsOnError #text"]),
            lint(OnByDefault, &["** failOnError #text"]),
        ],
        umbrellas: &[],
    },
];
