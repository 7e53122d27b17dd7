//! Whether each step of a feature has a test that passes: tests say what they show by tags, features list their steps.

use std::collections::BTreeSet;

use super::report::{Outcome, TestCase};
use crate::contracts::v1::FeatureList;

/// A step that is not shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unshown {
    pub(crate) feature: u64,
    /// The step's number, from 1; 0 for a feature without steps.
    pub(crate) step: u32,
    /// What the step says.
    pub(crate) text: String,
    pub(crate) why: Why,
}

/// Why a step is not shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// No test says that it shows it.
    Unbound,
    /// The tests that do were not run.
    Skipped,
    /// A test that does failed; its id.
    Failed(String),
}

/// What the features come to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) unshown: Vec<Unshown>,
    /// How many steps were looked at.
    pub(crate) steps: u64,
    /// Features and steps that tests name and the list does not have.
    pub(crate) unknown: BTreeSet<(u64, Option<u32>)>,
}

/// The features that have to be shown: the one that is worked on, and those said to pass, so that none is lost.
pub(crate) fn wanted(list: &FeatureList, current: Option<u64>) -> BTreeSet<u64> {
    list.0.iter().filter(|feature| feature.passes).map(|feature| feature.id).chain(current).collect()
}

/// Holds tests against the steps of the wanted features. A step is shown when a test that names it passed and none
/// that names it failed; a test that names the feature alone shows no single step.
pub(crate) fn shown(list: &FeatureList, wanted: &BTreeSet<u64>, tests: &[TestCase]) -> Shown {
    let mut shown = Shown::default();
    for feature in list.0.iter().filter(|feature| wanted.contains(&feature.id)) {
        if feature.steps.is_empty() {
            shown.look(feature.id, 0, feature.description.clone(), tests);
        }
        for (step, text) in (1..).zip(&feature.steps) {
            shown.look(feature.id, step, text.text(), tests);
        }
    }
    let named = tests.iter().flat_map(|test| &test.stories);
    shown.unknown = named
        .filter(|story| {
            let feature = list.0.iter().find(|feature| feature.id == story.feature);
            let steps = feature.map(|feature| feature.steps.len());
            steps.is_none_or(|steps| story.step.is_some_and(|step| step == 0 || step as usize > steps))
        })
        .map(|story| (story.feature, story.step))
        .collect();
    shown
}

impl Shown {
    fn look(&mut self, feature: u64, step: u32, text: String, tests: &[TestCase]) {
        self.steps += 1;
        let binds = |test: &&TestCase| {
            test.stories
                .iter()
                .any(|story| story.feature == feature && (step == 0 || story.step == Some(step)))
        };
        let bound: Vec<&TestCase> = tests.iter().filter(binds).collect();
        let failed = bound.iter().find(|test| test.outcome.fails());
        let why = match failed {
            Some(test) => Why::Failed(test.id.clone()),
            None if bound.is_empty() => Why::Unbound,
            None if bound.iter().all(|test| test.outcome == Outcome::Skipped) => Why::Skipped,
            None => return,
        };
        self.unshown.push(Unshown { feature, step, text, why });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::v1::{Feature, FeatureStep};
    use crate::gates::report::Story;

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
            let found = shown(&list, &wanted, &tests).unshown;
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
        let found = shown(&list, &wanted(&list, None), &tests);
        let unshown: Vec<(u64, u32)> = found.unshown.iter().map(|step| (step.feature, step.step)).collect();
        assert_eq!((unshown, found.steps), (vec![(1, 2)], 3));
        let found = shown(&list, &wanted(&list, Some(2)), &tests);
        assert!(found.unshown.iter().any(|step| step.feature == 2));
    }

    #[test]
    fn a_tag_that_names_nothing_is_told() {
        let list = FeatureList(vec![feature(1, 2, true)]);
        let tests = [test(1, Some(3), Outcome::Passed), test(9, None, Outcome::Passed)];
        let found = shown(&list, &wanted(&list, None), &tests);
        assert_eq!(found.unknown, BTreeSet::from([(1, Some(3)), (9, None)]));
    }
}
