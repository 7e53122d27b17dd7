//! Test runners: which tests they look for, and which of their failures count.

use qa_reading::documents::Format::{Ecma, Ini, Json, Toml, Xml, Yaml};

use crate::lint_weakening::tool::Direction::{
    Excludes, ExcludesBeyond, Includes, Off, On, OnByDefault, Only, Options, UpFromZero,
};
use crate::lint_weakening::tool::{Place, Scope, Tool, place, tests};

/// Directories in which pytest looks for no tests unless it is told otherwise.
const NOT_RECURSED: &[&str] =
    &["*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}"];

/// Patterns that vitest leaves out unless it is told otherwise.
const VITEST_EXCLUDED: &[&str] = &[
    "...configDefaults.exclude",
    "configDefaults.exclude",
    "**/node_modules/**",
    "**/dist/**",
    "**/cypress/**",
    "**/.{idea,git,cache,output,temp}/**",
    "**/{karma,rollup,webpack,vite,vitest,jest,ava,babel,nyc,cypress,tsup,build,eslint,prettier}.config.*",
];

const JEST: &[Place] = &[
    place("jest.config.*", Ecma, &[]),
    place("jest.config.json", Json, &[]),
    place("package.json", Json, &["jest"]),
];

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "pytest",
        places: &[
            place("pytest.toml", Toml, &["pytest"]),
            place(".pytest.toml", Toml, &["pytest"]),
            place("pytest.ini", Ini, &["pytest"]),
            place(".pytest.ini", Ini, &["pytest"]),
            place("pyproject.toml", Toml, &["tool", "pytest", "ini_options"]),
            place("pyproject.toml", Toml, &["tool", "pytest"]),
            place("tox.ini", Ini, &["pytest"]),
            place("setup.cfg", Ini, &["tool:pytest"]),
        ],
        scope: Scope::Nearest,
        settings: &[
            tests(Options("pytest"), &["addopts"]),
            tests(Only(&[]), &["testpaths"]),
            tests(Only(&["test_*.py", "*_test.py"]), &["python_files"]),
            tests(Only(&["Test"]), &["python_classes"]),
            tests(Only(&["test"]), &["python_functions"]),
            tests(ExcludesBeyond(NOT_RECURSED), &["norecursedirs"]),
            tests(On, &["xfail_strict", "strict_xfail"]),
            tests(On, &["strict"]),
            tests(On, &["strict_config"]),
            tests(On, &["strict_markers"]),
            tests(UpFromZero, &["reruns"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "jest",
        places: JEST,
        scope: Scope::Nearest,
        settings: &[
            tests(
                Only(&["**/__tests__/**/*.[jt]s?(x)", "**/?(*.)+(spec|test).[jt]s?(x)"]),
                &["testMatch", "projects [displayName] testMatch"],
            ),
            tests(Only(&[]), &["testRegex", "projects [displayName] testRegex"]),
            tests(Only(&[]), &["roots", "projects [displayName] roots"]),
            tests(
                ExcludesBeyond(&["/node_modules/"]),
                &["testPathIgnorePatterns", "projects [displayName] testPathIgnorePatterns"],
            ),
            tests(Excludes, &["modulePathIgnorePatterns"]),
            tests(Only(&[]), &["testNamePattern"]),
            tests(Off, &["passWithNoTests"]),
            tests(On, &["errorOnDeprecated"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "vitest",
        places: &[place("vitest.config.*", Ecma, &[]), place("vite.config.*", Ecma, &[])],
        scope: Scope::Nearest,
        settings: &[
            tests(Only(&["**/*.{test,spec}.?(c|m)[jt]s?(x)"]), &["test include"]),
            tests(ExcludesBeyond(VITEST_EXCLUDED), &["test exclude"]),
            tests(Only(&[]), &["test dir"]),
            tests(Only(&[]), &["test testNamePattern"]),
            tests(Off, &["test passWithNoTests"]),
            tests(Off, &["test allowOnly"]),
            tests(Off, &["test dangerouslyIgnoreUnhandledErrors"]),
            tests(On, &["test typecheck enabled"]),
            tests(Off, &["test typecheck ignoreSourceErrors"]),
            tests(UpFromZero, &["test retry"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "mocha",
        places: &[
            place(".mocharc.js", Ecma, &[]),
            place(".mocharc.cjs", Ecma, &[]),
            place(".mocharc.mjs", Ecma, &[]),
            place(".mocharc.yaml", Yaml, &[]),
            place(".mocharc.yml", Yaml, &[]),
            place(".mocharc.jsonc", Json, &[]),
            place(".mocharc.json", Json, &[]),
            place("package.json", Json, &["mocha"]),
        ],
        scope: Scope::Nearest,
        settings: &[
            tests(Only(&[]), &["spec"]),
            tests(Excludes, &["ignore", "exclude"]),
            tests(Only(&[]), &["grep", "fgrep", "g", "f"]),
            tests(Off, &["invert", "i"]),
            tests(Off, &["dry-run"]),
            tests(Off, &["pass-on-failing-test-suite"]),
            tests(On, &["forbid-only", "forbidOnly"]),
            tests(On, &["forbid-pending", "forbidPending"]),
            tests(On, &["fail-zero"]),
            tests(UpFromZero, &["retries"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "playwright",
        places: &[place("playwright.config.*", Ecma, &[])],
        scope: Scope::Nearest,
        settings: &[
            tests(Only(&[]), &["testDir"]),
            tests(Only(&[]), &["testMatch", "projects [name] testMatch"]),
            tests(Excludes, &["testIgnore", "projects [name] testIgnore"]),
            tests(Only(&[]), &["grep", "projects [name] grep"]),
            tests(Excludes, &["grepInvert", "projects [name] grepInvert"]),
            tests(On, &["forbidOnly"]),
            tests(UpFromZero, &["retries", "projects [name] retries"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "cypress",
        places: &[place("cypress.config.*", Ecma, &[])],
        scope: Scope::Nearest,
        settings: &[
            tests(Only(&[]), &["* specPattern"]),
            tests(Excludes, &["* excludeSpecPattern"]),
            tests(UpFromZero, &["retries", "retries runMode"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "ava",
        places: &[place("ava.config.*", Ecma, &[]), place("package.json", Json, &["ava"])],
        scope: Scope::Nearest,
        settings: &[
            tests(Only(&[]), &["files"]),
            tests(Only(&[]), &["match"]),
            tests(OnByDefault, &["failWithoutAssertions"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "cargo test",
        places: &[place("Cargo.toml", Toml, &[])],
        scope: Scope::File,
        settings: &[
            tests(OnByDefault, &["lib test"]),
            tests(OnByDefault, &["lib doctest"]),
            tests(OnByDefault, &["lib harness"]),
            tests(OnByDefault, &["test [name] test"]),
            tests(OnByDefault, &["test [name] harness"]),
            tests(OnByDefault, &["bin [name] test"]),
            tests(Excludes, &["test [name] required-features"]),
            tests(OnByDefault, &["package autotests"]),
            tests(Excludes, &["workspace exclude"]),
            tests(Includes, &["workspace members"]),
            tests(Only(&[]), &["workspace default-members"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "nextest",
        places: &[place(".config/nextest.toml", Toml, &[])],
        scope: Scope::Nearest,
        settings: &[
            tests(Only(&[]), &["profile * default-filter"]),
            tests(UpFromZero, &["profile * retries", "profile * retries count"]),
            tests(UpFromZero, &["profile * overrides [filter] retries"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "insta",
        places: &[
            place(".config/insta.yaml", Yaml, &[]),
            place("insta.yaml", Yaml, &[]),
            place(".insta.yaml", Yaml, &[]),
        ],
        scope: Scope::Nearest,
        settings: &[tests(Off, &["behavior force_pass"])],
        umbrellas: &[],
    },
    Tool {
        name: "surefire",
        places: &[place("pom.xml", Xml, &["project"])],
        scope: Scope::File,
        settings: &[
            tests(Off, &["** skipTests #text"]),
            tests(Off, &["** skipITs #text"]),
            tests(Off, &["** maven.test.skip #text"]),
            tests(Off, &["** testFailureIgnore #text", "** maven.test.failure.ignore #text"]),
            tests(OnByDefault, &["** failIfNoTests #text"]),
            tests(
                Off,
                &[
                    "** [artifactId=maven-surefire-plugin] ** skip #text",
                    "** [artifactId=maven-failsafe-plugin] ** skip #text",
                ],
            ),
            tests(
                Excludes,
                &[
                    "** [artifactId=maven-surefire-plugin] ** excludes exclude #text",
                    "** [artifactId=maven-failsafe-plugin] ** excludes exclude #text",
                ],
            ),
            tests(Excludes, &["** excludedGroups #text"]),
            tests(
                Only(&[]),
                &[
                    "** [artifactId=maven-surefire-plugin] ** includes include #text",
                    "** [artifactId=maven-failsafe-plugin] ** includes include #text",
                ],
            ),
            tests(Only(&[]), &["** groups #text"]),
            tests(UpFromZero, &["** rerunFailingTestsCount #text"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "phpunit",
        places: &[
            place("phpunit.xml", Xml, &["phpunit"]),
            place("phpunit.dist.xml", Xml, &["phpunit"]),
            place("phpunit.xml.dist", Xml, &["phpunit"]),
        ],
        scope: Scope::Nearest,
        settings: &[
            tests(Includes, &["testsuites testsuite directory #text", "testsuite directory #text"]),
            tests(Includes, &["testsuites testsuite file #text"]),
            tests(Excludes, &["testsuites testsuite exclude #text", "testsuite exclude #text"]),
            tests(Excludes, &["groups exclude group #text"]),
            tests(Only(&[]), &["groups include group #text"]),
            tests(Only(&[]), &["@defaultTestSuite"]),
            tests(On, &["@failOnWarning"]),
            tests(On, &["@failOnRisky"]),
            tests(On, &["@failOnDeprecation"]),
            tests(On, &["@failOnEmptyTestSuite"]),
            tests(On, &["@failOnIncomplete"]),
            tests(On, &["@failOnSkipped"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "maven",
        // Words on lines are one plain text of YAML.
        places: &[place(".mvn/maven.config", Yaml, &[])],
        scope: Scope::Nearest,
        settings: &[tests(Options("mvn"), &["**"])],
        umbrellas: &[],
    },
    Tool {
        name: "rspec",
        // Words on lines are one plain text of YAML.
        places: &[place(".rspec", Yaml, &[])],
        scope: Scope::Nearest,
        settings: &[tests(Options("rspec"), &["**"])],
        umbrellas: &[],
    },
];
