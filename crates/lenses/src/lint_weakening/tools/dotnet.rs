//! Tools for .NET: properties of MSBuild, severities of Roslyn's analyzers, Stryker.NET and VSTest.

use qa_reading::documents::Format::{EditorConfig, Json, Xml};

use crate::lint_weakening::tool::Direction::{
    AtLeast, Excludes, ExcludesBeyond, Includes, On, OnByDefault, Only, Severity, StyleSeverity, Words,
};
use crate::lint_weakening::tool::{Scope, Tool, coverage, lint, place, tests, threshold};

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "MSBuild",
        places: &[
            place("*.csproj", Xml, &["Project"]),
            place("*.fsproj", Xml, &["Project"]),
            place("*.vbproj", Xml, &["Project"]),
            place("*.props", Xml, &["Project"]),
            place("*.targets", Xml, &["Project"]),
        ],
        scope: Scope::Project,
        settings: &[
            lint(ExcludesBeyond(&["$(NoWarn)"]), &["** PropertyGroup NoWarn #text"]),
            lint(
                ExcludesBeyond(&["$(WarningsNotAsErrors)"]),
                &["** PropertyGroup WarningsNotAsErrors #text"],
            ),
            lint(Includes, &["** PropertyGroup WarningsAsErrors #text"]),
            lint(On, &["** PropertyGroup TreatWarningsAsErrors #text"]),
            lint(OnByDefault, &["** PropertyGroup TreatWarningsAsErrors #text"]),
            lint(On, &["** PropertyGroup MSBuildTreatWarningsAsErrors #text"]),
            lint(OnByDefault, &["** PropertyGroup MSBuildTreatWarningsAsErrors #text"]),
            lint(OnByDefault, &["** PropertyGroup CodeAnalysisTreatWarningsAsErrors #text"]),
            lint(OnByDefault, &["** PropertyGroup RunAnalyzers #text"]),
            lint(OnByDefault, &["** PropertyGroup RunAnalyzersDuringBuild #text"]),
            lint(OnByDefault, &["** PropertyGroup EnableNETAnalyzers #text"]),
            lint(On, &["** PropertyGroup EnforceCodeStyleInBuild #text"]),
            lint(OnByDefault, &["** PropertyGroup EnforceCodeStyleInBuild #text"]),
            lint(OnByDefault, &["** PropertyGroup NuGetAudit #text"]),
            lint(Words(ANALYSIS_LEVELS), &["** PropertyGroup AnalysisLevel #text"]),
            lint(Words(ANALYSIS_MODES), &["** PropertyGroup AnalysisMode #text"]),
            lint(
                Words(&["enable", "warnings", "annotations", "disable"]),
                &["** PropertyGroup Nullable #text"],
            ),
            threshold(AtLeast, &["** PropertyGroup Threshold #text"]),
            threshold(AtLeast, &["** PropertyGroup MutationScore #text"]),
            threshold(On, &["** PropertyGroup CollectCoverage #text"]),
            coverage(ExcludesBeyond(&["$(Exclude)"]), &["** PropertyGroup Exclude #text"]),
            coverage(ExcludesBeyond(&["$(ExcludeByFile)"]), &["** PropertyGroup ExcludeByFile #text"]),
            tests(OnByDefault, &["** PropertyGroup IsTestProject #text"]),
            tests(Excludes, &["** ItemGroup Compile @Remove"]),
            tests(Excludes, &["** PropertyGroup RunSettingsFilePath #text"]),
            tests(Excludes, &["** PropertyGroup VSTestTestCaseFilter #text"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "Roslyn analyzers",
        places: &[place(".editorconfig", EditorConfig, &[]), place("*.globalconfig", EditorConfig, &[])],
        scope: Scope::Project,
        settings: &[
            lint(Severity, &["dotnet_diagnostic.*.severity", "* dotnet_diagnostic.*.severity"]),
            lint(
                Severity,
                &["dotnet_analyzer_diagnostic.*severity", "* dotnet_analyzer_diagnostic.*severity"],
            ),
            lint(StyleSeverity, &["dotnet_naming_rule.*.severity", "* dotnet_naming_rule.*.severity"]),
            lint(StyleSeverity, &["csharp_*", "* csharp_*"]),
            lint(StyleSeverity, &["dotnet_style_*", "* dotnet_style_*"]),
            lint(OnByDefault, &["is_global"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "Roslyn rule set",
        places: &[place("*.ruleset", Xml, &["RuleSet"])],
        scope: Scope::Project,
        settings: &[
            lint(Severity, &["Rules Rule [@Id] @Action"]),
            lint(Severity, &["IncludeAll @Action"]),
            lint(Severity, &["Include [@Path] @Action"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "Stryker.NET",
        places: &[place("stryker-config.json", Json, &["stryker-config"])],
        scope: Scope::Project,
        settings: &[
            threshold(AtLeast, &["thresholds *"]),
            lint(Words(&["Complete", "Advanced", "Standard", "Basic"]), &["mutation-level"]),
            coverage(Excludes, &["ignore-mutations"]),
            coverage(Excludes, &["ignore-methods"]),
            coverage(Only(&[]), &["mutate"]),
        ],
        umbrellas: &[],
    },
    Tool {
        name: "VSTest",
        places: &[place("*.runsettings", Xml, &["RunSettings"])],
        scope: Scope::Project,
        settings: &[
            tests(Excludes, &["RunConfiguration TestCaseFilter #text"]),
            coverage(Excludes, &["** ModulePaths Exclude ModulePath #text"]),
            coverage(Excludes, &["** Configuration Exclude #text"]),
            coverage(Excludes, &["** Configuration ExcludeByFile #text"]),
        ],
        umbrellas: &[],
    },
];

/// Values of `AnalysisLevel` from strict to lax.
const ANALYSIS_LEVELS: &[&str] = &[
    "latest-all",
    "preview-all",
    "latest-recommended",
    "preview-recommended",
    "latest-minimum",
    "preview-minimum",
    "preview",
    "latest",
    "10.0",
    "9.0",
    "8.0",
    "7.0",
    "6.0",
    "5.0",
    "5",
    "4",
    "none",
];

/// Values of `AnalysisMode` from strict to lax.
const ANALYSIS_MODES: &[&str] =
    &["All", "AllEnabledByDefault", "Recommended", "Minimum", "Default", "None", "AllDisabledByDefault"];
