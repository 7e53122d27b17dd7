//! The steps of features, held against the tests of the gate `story_validation`.

use std::collections::{BTreeMap, BTreeSet};

use super::{FEATURE_LIST, GateOutcome, STORIES, WORKFLOW_STATE, headline};
use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{FeatureList, GateName, RecordedGates, RecordedStory, RunMode, Side, StoryBindings};
use qa_contracts::{schema, strict_json};
use qa_core::escape::harmless;
use qa_core::features::FeatureDocument;
use qa_core::findings::Statement;
use qa_core::gates::{GateRule, rule_id};
use qa_core::masking::sanitize_cut;
use qa_core::{json_places, workflow};
use qa_gates::contract::TestCase;
use qa_gates::stories::{self, Reason, UnverifiedStep};

impl GateOutcome {
    /// Every step of the wanted features has to be shown by a test.
    pub(super) fn hold_against_features(
        &mut self,
        mode: RunMode,
        recorded: &RecordedGates,
        tests: &[TestCase],
    ) {
        let features = match Features::read(recorded) {
            Ok(features) => features,
            Err((code, problem)) => {
                self.passed = false;
                self.errors.insert(code);
                self.summary.push(problem);
                return;
            }
        };
        let shown = stories::check_steps(&features.list, &features.wanted, tests, &features.bindings);
        self.summary.push(format!(
            "{} of {} steps shown",
            shown.steps - shown.unverified.len() as u64,
            shown.steps
        ));
        if shown.steps == 0 {
            self.passed = false;
            self.errors.insert(Code::GateNothingRan);
        }
        for step in &shown.unverified {
            let statement = features.statement(step, mode);
            self.passed &= statement.severity > GateRule::Failure.severity();
            self.statements.push(statement);
        }
        for (feature, step) in &shown.unknown {
            let step = step.map_or(String::new(), |step| format!(" step {step}"));
            self.summary
                .push(format!("a test or {STORIES}/{feature}.json names feature {feature}{step}, which {FEATURE_LIST} does not have"));
        }
    }
}

/// The features at head, and which of them have to be shown.
struct Features<'a> {
    text: &'a str,
    list: FeatureList,
    wanted: BTreeSet<u64>,
    bindings: BTreeMap<u64, StoryBindings>,
}

/// The features whose steps have to be shown, by a list and a state at head.
pub(super) fn wanted(recorded: &RecordedGates) -> BTreeSet<u64> {
    // A list that cannot be read is told where it is held against tests.
    Features::read(recorded).map(|features| features.wanted).unwrap_or_default()
}

/// Where the bindings of a feature stand.
pub(super) fn bindings_path(feature: u64) -> String {
    format!("{STORIES}/{feature}.json")
}

fn bindings(story: &RecordedStory) -> Result<StoryBindings, String> {
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
    fn read(recorded: &'a RecordedGates) -> Result<Self, (Code, String)> {
        let absent = || (Code::FeatureListInvalid, format!("there is no {FEATURE_LIST} at head"));
        let text = recorded.feature_list.as_deref().ok_or_else(absent)?;
        let list = FeatureDocument::parse(text).and_then(|document| document.list(text));
        let list = list.map_err(|error| (error.code(), format!("failed to read {FEATURE_LIST}: {error}")))?;
        let current = current_feature_id(recorded)?;
        if let Some(current) = current.filter(|current| !list.0.iter().any(|feature| feature.id == *current))
        {
            let problem =
                format!("{FEATURE_LIST} does not have feature {current}, which {WORKFLOW_STATE} names");
            return Err((Code::FeatureListInvalid, problem));
        }
        let wanted = stories::required_features(&list, current);
        let read = |story: &RecordedStory| match bindings(story) {
            Ok(bindings) => Ok((story.feature_id, bindings)),
            Err(problem) => {
                let path = bindings_path(story.feature_id);
                Err((
                    Code::StoryBindingsInvalid,
                    format!("failed to read {path}: {}", sanitize_cut(&problem, 300)),
                ))
            }
        };
        let bindings = recorded.stories.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self { text, list, wanted, bindings })
    }

    /// A step that is not shown, where it stands. One that no test claims is a failure in strict runs alone.
    fn statement(&self, step: &UnverifiedStep, mode: RunMode) -> Statement {
        let number = if step.step == 0 { String::new() } else { format!(" step {}", step.step) };
        let (rule, why) = match (&step.reason, mode) {
            (Reason::Unbound, RunMode::Strict) => (GateRule::Failure, "no test is bound to it".to_owned()),
            (Reason::Unbound, RunMode::BestEffort) => {
                (GateRule::Warning, "no test is bound to it".to_owned())
            }
            (Reason::Skipped, _) => (GateRule::Failure, "its tests were skipped".to_owned()),
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
                    "Run the test, or give its id in {} as the report has it.",
                    bindings_path(step.feature)
                ),
                Reason::Skipped | Reason::Failed(_) => rule.fix().to_owned(),
            },
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
            summary: headline(&format!("feature {}{number} is not shown: {why}", step.feature)),
            detail: BTreeMap::from([("step".to_owned(), step.step.into())]),
            doubt: None,
        }
    }
}

/// The feature that is worked on, as head's workflow state has it.
fn current_feature_id(recorded: &RecordedGates) -> Result<Option<u64>, (Code, String)> {
    let Some(text) = &recorded.workflow_state else { return Ok(None) };
    let state = workflow::parse_state(text.as_bytes())
        .map_err(|error| (error.code(), format!("failed to read {WORKFLOW_STATE}: {error}")))?;
    Ok(state.current_feature_id)
}

/// The feature that is worked on, with its description, where steps of features are looked at.
pub fn current_feature(recorded: &RecordedGates) -> Option<(u64, String)> {
    let features = Features::read(recorded).ok()?;
    let current = current_feature_id(recorded).ok().flatten()?;
    let found = features.list.0.into_iter().find(|feature| feature.id == current)?;
    Some((found.id, found.description))
}
