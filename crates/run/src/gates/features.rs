//! Checks the steps of features against the tests of the gate `story_validation`.

use std::collections::{BTreeMap, BTreeSet};

use super::named_features::{FeatureEvidence, NamedFeature, NamedFeatures};
use super::{FEATURE_LIST, GateError, GateOutcome, STORIES, WORKFLOW_STATE, headline};
use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{FeatureList, GateName, RecordedGates, RecordedStory, RunMode, Side, StoryBindings};
use qa_contracts::{schema, strict_json};
use qa_core::escape::harmless;
use qa_core::features::FeatureDocument;
use qa_core::findings::Statement;
use qa_core::gates::{GateRule, rule_id};
use qa_core::json_places;
use qa_core::masking::sanitize_cut;
use qa_gates::stories::{self, ProjectTest, Reason, UnverifiedStep};

impl GateOutcome {
    /// Reports each step of the required features that no test verifies.
    pub(super) fn check_features(
        &mut self,
        mode: RunMode,
        evidence: FeatureEvidence<'_>,
        tests: &[ProjectTest],
    ) {
        let features = match Features::parse(evidence) {
            Ok(features) => features,
            Err(error) => {
                self.passed = false;
                self.errors.insert(error.code);
                self.summary.push(error.problem);
                return;
            }
        };
        self.summary.push(match &features.current {
            Some(NamedFeature { id, source }) => format!("the feature is {id}, which {source} names"),
            None => format!(
                "no trailer `Feature:`, no label `feature:`, no path of the policy and no {WORKFLOW_STATE} of the base names a feature"
            ),
        });
        let coverage = stories::check_steps(&features.list, &features.required, tests, &features.bindings);
        self.summary.push(format!(
            "{} of {} steps shown",
            coverage.steps - coverage.unverified.len() as u64,
            coverage.steps
        ));
        if coverage.steps == 0 {
            self.passed = false;
            self.errors.insert(Code::GateNothingRan);
        }
        for step in &coverage.unverified {
            let statement = features.statement(step, mode);
            self.passed &= statement.severity > GateRule::Failure.severity();
            self.statements.push(statement);
        }
        for (feature, step) in &coverage.unknown {
            let step = step.map(|step| format!(" step {step}")).unwrap_or_default();
            self.summary
                .push(format!("a test or {STORIES}/{feature}.json names feature {feature}{step}, which {FEATURE_LIST} does not have"));
        }
    }
}

/// Features at head, with those whose steps tests have to verify.
struct Features<'a> {
    text: &'a str,
    /// Features at head, with the steps that the base asks for and head does not.
    list: FeatureList,
    /// The feature that is worked on.
    current: Option<NamedFeature>,
    required: BTreeSet<u64>,
    bindings: BTreeMap<u64, StoryBindings>,
}

/// Returns the tests that are bound to a step that has to be verified.
pub(super) fn bound_tests<'t>(
    evidence: FeatureEvidence<'_>,
    tests: &'t [ProjectTest],
) -> Vec<&'t ProjectTest> {
    match Features::parse(evidence) {
        Ok(features) => stories::bound_tests(&features.required, tests, &features.bindings),
        Err(_) => Vec::new(),
    }
}

/// Returns the features whose steps tests have to verify.
pub(super) fn required_features(evidence: FeatureEvidence<'_>) -> BTreeSet<u64> {
    // An unreadable list is reported by `check_features`.
    Features::parse(evidence).map(|features| features.required).unwrap_or_default()
}

/// Returns the path of the file that binds tests to the steps of a feature.
pub(super) fn bindings_path(feature: u64) -> String {
    format!("{STORIES}/{feature}.json")
}

fn parse_bindings(story: &RecordedStory) -> Result<StoryBindings, String> {
    let text = story.text.as_deref().ok_or("it is not UTF-8 or too large")?;
    let value = strict_json::parse(text.as_bytes()).map_err(|error| error.to_string())?;
    let schema = schema::find("story-bindings.v1").expect("the schema is embedded");
    if let Some(fault) = schema.faults(&value).into_iter().next() {
        let line = json_places::line(text, json_places::find(text, &fault.pointer).start);
        return Err(format!("line {line}, {}: {}", fault.pointer, fault.message));
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}

impl<'a> Features<'a> {
    fn parse(evidence: FeatureEvidence<'a>) -> Result<Self, GateError> {
        let recorded = evidence.recorded;
        let Some(text) = recorded.feature_list.as_deref() else {
            let problem = format!("there is no {FEATURE_LIST} at head");
            return Err(GateError::new(Code::FeatureListInvalid, problem));
        };
        let list =
            FeatureDocument::parse(text).and_then(|document| document.list(text)).map_err(|error| {
                GateError::new(error.code(), format!("failed to read {FEATURE_LIST}: {error}"))
            })?;
        let base = base_list(recorded);
        let passing: BTreeSet<u64> =
            base.0.iter().filter(|feature| feature.passes).map(|feature| feature.id).collect();
        let NamedFeatures { current, all } = evidence.named_features(&passing)?;
        if let Some(unknown) = all.iter().find(|named| !list.0.iter().any(|feature| feature.id == named.id)) {
            let problem = format!(
                "{FEATURE_LIST} does not have feature {}, which {} names",
                unknown.id, unknown.source
            );
            return Err(GateError::new(Code::FeatureListInvalid, problem));
        }
        let mut required = stories::required_features(&list, all.iter().map(|named| named.id));
        required.extend(passing);
        let list = stories::with_steps_of_base(list, &base);
        let mut bindings = BTreeMap::new();
        for story in &recorded.stories {
            let parsed = parse_bindings(story).map_err(|problem| {
                let path = bindings_path(story.feature_id);
                let problem = format!("failed to read {path}: {}", sanitize_cut(&problem, 300));
                GateError::new(Code::StoryBindingsInvalid, problem)
            })?;
            bindings.insert(story.feature_id, parsed);
        }
        Ok(Self { text, list, current, required, bindings })
    }

    /// Returns a statement for an unverified step, at its line. A step without a test is a failure in strict mode alone.
    fn statement(&self, step: &UnverifiedStep, mode: RunMode) -> Statement {
        let number = if step.step == 0 { String::new() } else { format!(" step {}", step.step) };
        let (rule, why) = match (&step.reason, mode) {
            (Reason::Unbound, RunMode::Strict) => (GateRule::Failure, "no test is bound to it".to_owned()),
            (Reason::Unbound, RunMode::BestEffort) => {
                (GateRule::Warning, "no test is bound to it".to_owned())
            }
            (Reason::Skipped, _) => (GateRule::Failure, "its tests were skipped".to_owned()),
            (Reason::Idle(test), _) => (GateRule::Failure, format!("{test} passes and checks nothing")),
            (Reason::Failed(test), _) => (GateRule::Failure, format!("{test} failed")),
            (Reason::Missing(test), _) => {
                let path = bindings_path(step.feature);
                (GateRule::Failure, format!("{path} names {test}, and no test of that id was run"))
            }
        };
        let position = self.list.0.iter().position(|feature| feature.id == step.feature).unwrap_or(0);
        let pointer = match step.step {
            0 => format!("/{position}"),
            number => format!("/{position}/steps/{}", number - 1),
        };
        let line = json_places::line(self.text, json_places::find(self.text, &pointer).start);
        let gate = GateName::StoryValidation;
        Statement {
            rule_id: rule_id(gate, rule),
            severity: rule.severity(),
            fix: match step.reason {
                Reason::Unbound => {
                    format!(
                        "Tag the test that shows it with `@feature:{} @step:{}`.",
                        step.feature, step.step
                    )
                }
                Reason::Missing(_) => format!(
                    "Run the test, or give its id in {} as the report has it, below the directory of its project.",
                    bindings_path(step.feature)
                ),
                Reason::Idle(_) => "Let the test check what the step asks for.".to_owned(),
                Reason::Skipped | Reason::Failed(_) => rule.fix().to_owned(),
            },
            edit: None,
            moves: false,
            file: RepoPath::from_bytes(FEATURE_LIST.as_bytes()).expect("a plain path"),
            side: Side::Head,
            start_line: line,
            end_line: line,
            start_column: 0,
            end_column: 0,
            quote: String::new(),
            value: None,
            subject: harmless(&format!("feature {}{number}: {}", step.feature, step.text)),
            operand: None,
            summary: headline(&format!("feature {}{number} is not shown: {why}", step.feature)),
            detail: BTreeMap::from([("step".to_owned(), step.step.into())]),
            doubt: None,
        }
    }
}

/// Returns the features at the base; none where the base has no readable list, which then asks for nothing.
fn base_list(recorded: &RecordedGates) -> FeatureList {
    let Some(text) = recorded.base_feature_list.as_deref() else { return FeatureList::default() };
    FeatureDocument::parse(text).and_then(|document| document.list(text)).unwrap_or_default()
}

/// Returns the current feature with its description, if the run checks steps of features.
pub fn current_feature(evidence: FeatureEvidence<'_>) -> Option<(u64, String)> {
    let features = Features::parse(evidence).ok()?;
    let current = features.current?;
    let found = features.list.0.into_iter().find(|feature| feature.id == current.id)?;
    Some((found.id, found.description))
}
