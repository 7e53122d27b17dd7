//! The five quality gates as the registry, the planner and the policy know them: lenses whose evidence is a report.

use super::policy::strengths::everywhere;
use qa_contracts::v1::{
    GateName, LensClass, PresetStrengths, RegistryLens, RegistryRule, Severity, Strength,
};

/// Version of the gates in the execution key; raised whenever the same report may give another result.
const VERSION: &str = "3";

/// Rule of a gate: the part of the rule's id after the slash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateRule {
    /// The tool reports an error.
    Error,
    /// A test case failed.
    Failure,
    /// A test failed in one attempt and passed in another.
    Flaky,
    /// The tool reports a warning.
    Warning,
}

impl GateRule {
    fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Failure => "failure",
            Self::Flaky => "flaky",
            Self::Warning => "warning",
        }
    }

    pub fn severity(self) -> Severity {
        match self {
            Self::Error | Self::Failure => Severity::High,
            Self::Flaky => Severity::Medium,
            Self::Warning => Severity::Low,
        }
    }

    fn strengths(self) -> PresetStrengths {
        let strength = match self {
            Self::Error | Self::Failure => Strength::Block,
            Self::Flaky | Self::Warning => Strength::Advise,
        };
        PresetStrengths {
            default: everywhere(strength),
            guarded: everywhere(strength),
            advisory: everywhere(Strength::Advise),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Error => "The tool reports an error",
            Self::Failure => "A test failed",
            Self::Flaky => "A test failed in one attempt and passed in another",
            Self::Warning => "The tool reports a warning",
        }
    }

    /// Returns the advice for a finding of the rule.
    pub fn fix(self) -> &'static str {
        match self {
            Self::Error => "Mend what the tool names, or change its configuration in a change of its own.",
            Self::Failure => "Make the test pass; its message says what it expected.",
            Self::Flaky => "Find out why the test does not always end the same way.",
            Self::Warning => "Mend what the tool names, or turn the warning off in its configuration.",
        }
    }
}

/// Returns the gate with a lens id, or `None` for another lens.
pub fn find(lens_id: &str) -> Option<GateName> {
    GateName::ALL.iter().copied().find(|gate| gate.as_str() == lens_id)
}

/// Returns the id of a gate's rule.
pub fn rule_id(gate: GateName, rule: GateRule) -> String {
    format!("{gate}/{}", rule.as_str())
}

/// Returns the class of a gate's lens.
pub fn class(gate: GateName) -> LensClass {
    match gate {
        GateName::Lint => LensClass::Style,
        GateName::TypeCheck => LensClass::Architecture,
        GateName::UnitTests | GateName::BrowserTests | GateName::StoryValidation => LensClass::Consistency,
    }
}

/// Returns the gates' entries in the registry.
pub fn entries() -> impl Iterator<Item = RegistryLens> {
    GateName::ALL.iter().map(|&gate| {
        let title = match gate {
            GateName::Lint => "What the repository's linters report",
            GateName::TypeCheck => "What the repository's type checkers and compilers report",
            GateName::UnitTests => "How the repository's unit tests end",
            GateName::BrowserTests => "How the repository's browser tests end",
            GateName::StoryValidation => "Whether each step of a feature has a test that passes",
        };
        let rules = [GateRule::Error, GateRule::Failure, GateRule::Flaky, GateRule::Warning];
        RegistryLens {
            lens_id: gate.as_str().to_owned(),
            lens_version: VERSION.to_owned(),
            lens_class: class(gate),
            title: title.to_owned(),
            required_by_default: true,
            triggers: Vec::new(),
            rules: rules
                .into_iter()
                .map(|rule| RegistryRule {
                    rule_id: rule_id(gate, rule),
                    title: rule.title().to_owned(),
                    severity: rule.severity(),
                    strengths: rule.strengths(),
                })
                .collect(),
        }
    })
}
