//! Whether each step of a feature has a test that passes: tests say what they show by tags, features list their steps.

use std::collections::{BTreeMap, BTreeSet};

use super::report::{Outcome, Story, TestCase};
use qa_contracts::v1::{FeatureList, StepNumber, StoryBindings, TestIds};

/// A step that is not shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unshown {
    pub feature: u64,
    /// The step's number, from 1; 0 for a feature without steps.
    pub step: u32,
    /// What the step says.
    pub text: String,
    pub why: Why,
}

/// Why a step is not shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// No test says that it shows it.
    Unbound,
    /// The tests that do were not run.
    Skipped,
    /// A test that does failed; its id.
    Failed(String),
    /// A test that was named for it is none of those that there are; its id.
    Missing(String),
}

/// What the features come to.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shown {
    pub unshown: Vec<Unshown>,
    /// How many steps were looked at.
    pub steps: u64,
    /// Features and steps that tests or files name and the list does not have.
    pub unknown: BTreeSet<(u64, Option<u32>)>,
}

/// The features that have to be shown: the one that is worked on, and those said to pass, so that none is lost.
pub fn wanted(list: &FeatureList, current: Option<u64>) -> BTreeSet<u64> {
    list.0.iter().filter(|feature| feature.passes).map(|feature| feature.id).chain(current).collect()
}

/// Holds tests against the steps of the wanted features. A step is shown when a test that is bound to it passed, and none
/// that is bound to it failed or is missing. A test is bound by its tags or by the bindings of its feature; one that
/// names the feature alone shows no single step.
pub fn shown(
    list: &FeatureList,
    wanted: &BTreeSet<u64>,
    tests: &[TestCase],
    bindings: &BTreeMap<u64, StoryBindings>,
) -> Shown {
    let mut shown = Shown::default();
    let nothing = StoryBindings::default();
    for feature in list.0.iter().filter(|feature| wanted.contains(&feature.id)) {
        let StoryBindings(named) = bindings.get(&feature.id).unwrap_or(&nothing);
        if feature.steps.is_empty() {
            shown.look(feature.id, 0, feature.description.clone(), &[], tests);
        }
        for (step, text) in (1..).zip(&feature.steps) {
            let named = named.get(&StepNumber(step)).map_or(&[][..], TestIds::ids);
            shown.look(feature.id, step, text.to_text(), named, tests);
        }
    }
    let by_tests = tests.iter().flat_map(|test| &test.stories).map(|story| (story.feature, story.step));
    let by_files = bindings.iter().flat_map(|(feature, StoryBindings(steps))| {
        steps.keys().map(|StepNumber(step)| (*feature, Some(*step)))
    });
    shown.unknown = by_tests
        .chain(by_files)
        .filter(|(feature, step)| {
            let feature = list.0.iter().find(|listed| listed.id == *feature);
            let steps = feature.map(|feature| feature.steps.len());
            steps.is_none_or(|steps| step.is_some_and(|step| step == 0 || step as usize > steps))
        })
        .collect();
    shown
}

impl Shown {
    fn look(&mut self, feature: u64, step: u32, text: String, named: &[String], tests: &[TestCase]) {
        self.steps += 1;
        let binds = |test: &&TestCase| {
            let tagged = |story: &Story| story.feature == feature && (step == 0 || story.step == Some(step));
            test.stories.iter().any(tagged) || named.iter().any(|id| is_named(&test.id, id))
        };
        let missing = named.iter().find(|id| !tests.iter().any(|test| is_named(&test.id, id)));
        let bound: Vec<&TestCase> = tests.iter().filter(binds).collect();
        let failed = bound.iter().find(|test| test.outcome.fails());
        let why = match (failed, missing) {
            (Some(test), _) => Why::Failed(test.id.clone()),
            (None, Some(id)) => Why::Missing(id.clone()),
            (None, None) if bound.is_empty() => Why::Unbound,
            (None, None) if bound.iter().all(|test| test.outcome == Outcome::Skipped) => Why::Skipped,
            (None, None) => return,
        };
        self.unshown.push(Unshown { feature, step, text, why });
    }
}

/// Whether a binding names a test: by the id of the report, or as pytest selects it. One that is run with several
/// parameters, or that a report has several times, is named as a whole.
fn is_named(test: &str, binding: &str) -> bool {
    let of = |id: &str| {
        test.strip_prefix(id)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('[') || rest.starts_with(" #"))
    };
    of(binding) || pytest_id(binding).is_some_and(|id| of(&id))
}

/// `tests/test_sum.py::TestSum::test_adds` as reports have it: `tests.test_sum.TestSum::test_adds`.
fn pytest_id(node: &str) -> Option<String> {
    let (file, test) = node.split_once(".py::")?;
    let module = file.replace('/', ".");
    Some(match test.split_once("::") {
        Some((class, test)) => format!("{module}.{}::{test}", class),
        None => format!("{module}::{test}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_contracts::v1::{Feature, FeatureStep};

    fn feature(id: u64, steps: usize, passes: bool) -> Feature {
        Feature {
            id,
            category: String::new(),
            description: format!("feature {id}"),
            steps: (1..=steps).map(|step| FeatureStep::Text(format!("Step {step}"))).collect(),
            passes,
            qa_validated: false,
            last_qa_run: None,
            qa_notes: None,
            qa_report_path: None,
        }
    }

    fn test(feature: u64, step: Option<u32>, outcome: Outcome) -> TestCase {
        TestCase {
            id: format!("shows {feature} {step:?}"),
            outcome,
            path: None,
            line: None,
            message: None,
            attempts: 1,
            stories: vec![Story { feature, step }],
            attachments: Vec::new(),
        }
    }

    #[test]
    fn a_step_is_shown_by_a_test_that_passes_and_by_none_that_fails() {
        let list = FeatureList(vec![feature(42, 1, false)]);
        let wanted = wanted(&list, Some(42));
        use Outcome::{Errored, Failed, Flaky, Passed, Skipped};
        let failed = || Some(Why::Failed("shows 42 Some(1)".to_owned()));
        for (outcomes, why) in [
            (vec![], Some(Why::Unbound)),
            (vec![Passed], None),
            (vec![Flaky], None),
            (vec![Skipped], Some(Why::Skipped)),
            (vec![Skipped, Passed], None),
            (vec![Passed, Failed], failed()),
            (vec![Errored, Passed], failed()),
        ] {
            let tests: Vec<TestCase> = outcomes.iter().map(|outcome| test(42, Some(1), *outcome)).collect();
            let found = shown(&list, &wanted, &tests, &BTreeMap::new()).unshown;
            assert_eq!(found.into_iter().map(|step| step.why).next(), why, "{outcomes:?}");
        }
    }

    #[test]
    fn every_step_needs_a_test_of_its_own_and_what_passes_has_to_go_on_passing() {
        let list = FeatureList(vec![feature(1, 2, true), feature(2, 1, false), feature(3, 0, true)]);
        let tests = [
            test(1, Some(1), Outcome::Passed),
            test(1, None, Outcome::Passed),
            test(3, None, Outcome::Passed),
        ];
        let found = shown(&list, &wanted(&list, None), &tests, &BTreeMap::new());
        let unshown: Vec<(u64, u32)> = found.unshown.iter().map(|step| (step.feature, step.step)).collect();
        assert_eq!((unshown, found.steps), (vec![(1, 2)], 3));
        let found = shown(&list, &wanted(&list, Some(2)), &tests, &BTreeMap::new());
        assert!(found.unshown.iter().any(|step| step.feature == 2));
    }

    #[test]
    fn a_tag_that_names_nothing_is_told() {
        let list = FeatureList(vec![feature(1, 2, true)]);
        let tests = [test(1, Some(3), Outcome::Passed), test(9, None, Outcome::Passed)];
        let found = shown(&list, &wanted(&list, None), &tests, &BTreeMap::new());
        assert_eq!(found.unknown, BTreeSet::from([(1, Some(3)), (9, None)]));
    }
    fn named(id: &str, outcome: Outcome) -> TestCase {
        TestCase { id: id.to_owned(), stories: Vec::new(), ..test(0, None, outcome) }
    }

    #[test]
    fn a_test_that_a_file_names_shows_a_step_and_one_that_is_gone_does_not() {
        let list = FeatureList(vec![feature(42, 1, true)]);
        let wanted = wanted(&list, None);
        use Outcome::{Failed, Passed, Skipped};
        let bindings = r#"{"1": ["sums", "tests/test_sum.py::test_adds"], "2": "sums"}"#;
        let bindings = BTreeMap::from([(42, serde_json::from_str(bindings).unwrap())]);
        let adds = "tests.test_sum::test_adds";
        for (tests, why) in [
            (vec![named("sums", Passed), named(adds, Passed)], None),
            (vec![named("sums", Passed), named(adds, Skipped)], None),
            (vec![named("sums", Skipped), named(adds, Skipped)], Some(Why::Skipped)),
            (
                vec![named("sums", Passed), named("sums #2", Failed), named(adds, Passed)],
                Some(Why::Failed("sums #2".into())),
            ),
            (vec![named("sums", Passed)], Some(Why::Missing("tests/test_sum.py::test_adds".into()))),
            (
                vec![named("sums", Passed), named("tests.test_sum::test_adds_none", Passed)],
                Some(Why::Missing("tests/test_sum.py::test_adds".into())),
            ),
            (vec![named(adds, Passed), test(42, Some(1), Passed)], Some(Why::Missing("sums".into()))),
            (
                vec![named("sums", Passed), named(adds, Passed), test(42, Some(1), Failed)],
                Some(Why::Failed("shows 42 Some(1)".into())),
            ),
            (vec![named("sums", Passed), named("tests.test_sum::test_adds[two]", Passed)], None),
        ] {
            let found = shown(&list, &wanted, &tests, &bindings);
            assert_eq!(found.unshown.into_iter().map(|step| step.why).next(), why, "{tests:?}");
            assert_eq!(found.unknown, BTreeSet::from([(42, Some(2))]));
        }
    }

    #[test]
    fn pytest_names_a_test_by_its_file_and_reports_do_by_its_module() {
        for (node, id) in [
            ("tests/test_sum.py::test_adds", Some("tests.test_sum::test_adds")),
            ("test_sum.py::TestSum::test_adds[1]", Some("test_sum.TestSum::test_adds[1]")),
            ("sum.test.ts > adds", None),
        ] {
            assert_eq!(pytest_id(node).as_deref(), id, "{node}");
        }
    }
}
