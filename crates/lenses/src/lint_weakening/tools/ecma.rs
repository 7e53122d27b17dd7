//! Tools for JavaScript and TypeScript.

use qa_reading::documents::Format::{Ecma, Ignore, Json, Yaml};

use crate::lint_weakening::tool::Direction::{
    AtLeast, AtMost, Excludes, Includes, Level, Off, On, OnByDefault, Only,
};
use crate::lint_weakening::tool::{Place, Scope, Setting, Tool, Umbrella, coverage, lint, place, threshold};

/// Options that TypeScript's `strict` switches on.
const STRICT: &[&str] = &[
    "compilerOptions noImplicitAny",
    "compilerOptions noImplicitThis",
    "compilerOptions alwaysStrict",
    "compilerOptions strictNullChecks",
    "compilerOptions strictFunctionTypes",
    "compilerOptions strictBindCallApply",
    "compilerOptions strictPropertyInitialization",
    "compilerOptions strictBuiltinIteratorReturn",
    "compilerOptions useUnknownInCatchVariables",
];

const TSC: &[Setting] = &[
    lint(On, &["compilerOptions strict"]),
    lint(On, &["compilerOptions noImplicitAny"]),
    lint(On, &["compilerOptions noImplicitThis"]),
    lint(On, &["compilerOptions alwaysStrict"]),
    lint(On, &["compilerOptions strictNullChecks"]),
    lint(On, &["compilerOptions strictFunctionTypes"]),
    lint(On, &["compilerOptions strictBindCallApply"]),
    lint(On, &["compilerOptions strictPropertyInitialization"]),
    lint(On, &["compilerOptions strictBuiltinIteratorReturn"]),
    lint(On, &["compilerOptions useUnknownInCatchVariables"]),
    lint(On, &["compilerOptions noImplicitReturns"]),
    lint(On, &["compilerOptions noImplicitOverride"]),
    lint(On, &["compilerOptions noUnusedLocals"]),
    lint(On, &["compilerOptions noUnusedParameters"]),
    lint(On, &["compilerOptions noUncheckedIndexedAccess"]),
    lint(On, &["compilerOptions noUncheckedSideEffectImports"]),
    lint(On, &["compilerOptions noFallthroughCasesInSwitch"]),
    lint(On, &["compilerOptions noPropertyAccessFromIndexSignature"]),
    lint(On, &["compilerOptions exactOptionalPropertyTypes"]),
    lint(On, &["compilerOptions checkJs"]),
    lint(OnByDefault, &["compilerOptions forceConsistentCasingInFileNames"]),
    lint(Off, &["compilerOptions allowUnreachableCode"]),
    lint(Off, &["compilerOptions allowUnusedLabels"]),
    lint(Off, &["compilerOptions noCheck"]),
    lint(Off, &["compilerOptions skipLibCheck"]),
    lint(Excludes, &["exclude"]),
];

/// Places of ESLint's configuration; the flat form wins over the older ones.
const ESLINT: &[Place] = &[
    place("eslint.config.js", Ecma, &[]),
    place("eslint.config.mjs", Ecma, &[]),
    place("eslint.config.cjs", Ecma, &[]),
    place("eslint.config.ts", Ecma, &[]),
    place("eslint.config.mts", Ecma, &[]),
    place("eslint.config.cts", Ecma, &[]),
    place(".eslintrc.js", Ecma, &[]),
    place(".eslintrc.cjs", Ecma, &[]),
    place(".eslintrc.yaml", Yaml, &[]),
    place(".eslintrc.yml", Yaml, &[]),
    place(".eslintrc.json", Json, &[]),
    place(".eslintrc", Yaml, &[]),
    place("package.json", Json, &["eslintConfig"]),
];

const PATTERNS: &[Setting] = &[lint(Excludes, &["patterns"])];

/// Returns a tool that has its ignored paths in a file of their own.
const fn of_list(name: &'static str, places: &'static [Place]) -> Tool {
    Tool { name, places, scope: Scope::Nearest, settings: PATTERNS, umbrellas: &[] }
}

const JEST_COVERAGE: &[Setting] = &[
    threshold(AtLeast, &["coverageThreshold * *"]),
    coverage(Excludes, &["coveragePathIgnorePatterns"]),
    coverage(On, &["collectCoverage"]),
    coverage(Only(&[]), &["collectCoverageFrom"]),
];

/// Returns a linter whose settings are a member of `package.json`.
const fn of_package(name: &'static str, places: &'static [Place], settings: &'static [Setting]) -> Tool {
    Tool { name, places, scope: Scope::Nearest, settings, umbrellas: &[] }
}

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "tsc",
        places: &[place("tsconfig*.json", Json, &[]), place("jsconfig*.json", Json, &[])],
        scope: Scope::File,
        settings: TSC,
        umbrellas: &[Umbrella { setting: "compilerOptions strict", value: "true", implies: STRICT }],
    },
    Tool {
        name: "eslint",
        places: ESLINT,
        scope: Scope::Cascade,
        settings: &[
            lint(Level, &["rules *", "[files] rules *", "overrides [files] rules *"]),
            lint(Includes, &["extends", "[files] extends"]),
            lint(Excludes, &["ignorePatterns", "[files] ignores"]),
            lint(Includes, &["plugins"]),
            lint(OnByDefault, &["reportUnusedDisableDirectives"]),
            lint(Level, &["[files] linterOptions reportUnusedDisableDirectives"]),
            lint(On, &["noInlineConfig", "[files] linterOptions noInlineConfig"]),
        ],
        umbrellas: &[],
    },
    of_list("eslintignore", &[place(".eslintignore", Ignore, &[])]),
    of_list("prettier", &[place(".prettierignore", Ignore, &[])]),
    of_list("stylelintignore", &[place(".stylelintignore", Ignore, &[])]),
    of_package("standard", &[place("package.json", Json, &["standard"])], &[lint(Excludes, &["ignore"])]),
    of_package(
        "semistandard",
        &[place("package.json", Json, &["semistandard"])],
        &[lint(Excludes, &["ignore"])],
    ),
    of_package(
        "ts-standard",
        &[place("package.json", Json, &["ts-standard"])],
        &[lint(Excludes, &["ignore"])],
    ),
    of_package("xo", &[place("package.json", Json, &["xo"])], &[lint(Excludes, &["ignores"])]),
    Tool {
        name: "stylelint",
        places: &[
            place("stylelint.config.js", Ecma, &[]),
            place("stylelint.config.mjs", Ecma, &[]),
            place("stylelint.config.cjs", Ecma, &[]),
            place(".stylelintrc.js", Ecma, &[]),
            place(".stylelintrc.cjs", Ecma, &[]),
            place(".stylelintrc.json", Json, &[]),
            place(".stylelintrc.yaml", Yaml, &[]),
            place(".stylelintrc.yml", Yaml, &[]),
            place(".stylelintrc", Yaml, &[]),
            place("package.json", Json, &["stylelint"]),
        ],
        scope: Scope::Nearest,
        settings: &[
            lint(Level, &["rules *", "overrides [files] rules *"]),
            lint(Includes, &["extends"]),
            lint(Excludes, &["ignoreFiles"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "biome",
        places: &[place("biome.json", Json, &[]), place("biome.jsonc", Json, &[])],
        scope: Scope::Nearest,
        settings: &[
            lint(OnByDefault, &["linter enabled"]),
            lint(OnByDefault, &["linter rules recommended"]),
            lint(OnByDefault, &["linter rules * recommended"]),
            lint(On, &["linter rules all"]),
            lint(Level, &["linter rules * *"]),
            lint(Level, &["overrides [includes] linter rules * *", "overrides [include] linter rules * *"]),
            lint(OnByDefault, &["overrides [includes] linter enabled", "overrides [include] linter enabled"]),
            lint(
                OnByDefault,
                &[
                    "overrides [includes] linter rules * recommended",
                    "overrides [include] linter rules * recommended",
                ],
            ),
            lint(
                OnByDefault,
                &[
                    "overrides [includes] linter rules recommended",
                    "overrides [include] linter rules recommended",
                ],
            ),
            lint(OnByDefault, &["formatter enabled"]),
            lint(Excludes, &["files ignore", "linter ignore"]),
            lint(Only(&[]), &["files includes", "files include"]),
            lint(Only(&[]), &["linter includes", "linter include"]),
            lint(Only(&[]), &["formatter includes", "formatter include"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "oxlint",
        places: &[place(".oxlintrc.json", Json, &[]), place(".oxlintrc.jsonc", Json, &[])],
        scope: Scope::Nearest,
        settings: &[
            lint(Level, &["rules *", "overrides [files] rules *"]),
            lint(Level, &["categories *"]),
            lint(Includes, &["plugins"]),
            lint(Excludes, &["ignorePatterns"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "tslint",
        places: &[place("tslint.json", Json, &[])],
        scope: Scope::Nearest,
        settings: &[lint(Level, &["rules *"]), lint(Includes, &["extends"])],
        umbrellas: &[],
    },
    Tool {
        name: "jest",
        places: &[
            place("jest.config.js", Ecma, &[]),
            place("jest.config.cjs", Ecma, &[]),
            place("jest.config.mjs", Ecma, &[]),
            place("jest.config.ts", Ecma, &[]),
            place("jest.config.json", Json, &[]),
            place("package.json", Json, &["jest"]),
        ],
        scope: Scope::Nearest,
        settings: JEST_COVERAGE,
        umbrellas: &[],
    },
    Tool {
        name: "vitest",
        places: &[place("vitest.config.*", Ecma, &[]), place("vite.config.*", Ecma, &[])],
        scope: Scope::Nearest,
        settings: &[
            threshold(AtLeast, &["test coverage thresholds *", "test coverage *"]),
            threshold(AtLeast, &["test coverage thresholds * *"]),
            coverage(Excludes, &["test coverage exclude"]),
            coverage(On, &["test coverage enabled"]),
            coverage(Only(&[]), &["test coverage include"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "nyc",
        places: &[
            place(".nycrc", Yaml, &[]),
            place(".nycrc.json", Json, &[]),
            place(".nycrc.yml", Yaml, &[]),
            place("nyc.config.js", Ecma, &[]),
            place(".c8rc.json", Json, &[]),
            place(".c8rc", Yaml, &[]),
            place("package.json", Json, &["nyc"]),
            place("package.json", Json, &["c8"]),
        ],
        scope: Scope::Nearest,
        settings: &[
            threshold(AtLeast, &["branches"]),
            threshold(AtLeast, &["functions"]),
            threshold(AtLeast, &["lines"]),
            threshold(AtLeast, &["statements"]),
            threshold(On, &["check-coverage"]),
            coverage(Excludes, &["exclude"]),
            coverage(Only(&[]), &["include"]),
            coverage(On, &["all"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "stryker",
        places: &[place("stryker.conf.*", Ecma, &[]), place("stryker.config.*", Ecma, &[])],
        scope: Scope::Nearest,
        settings: &[
            threshold(AtLeast, &["thresholds *"]),
            coverage(Excludes, &["mutator excludedMutations"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "size-limit",
        places: &[place(".size-limit.json", Json, &[]), place("package.json", Json, &["size-limit"])],
        scope: Scope::Nearest,
        settings: &[threshold(AtMost, &["[path] limit"])],
        umbrellas: &[],
    },
];
