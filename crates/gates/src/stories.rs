//! Checks that each step of a feature has a passing test, bound to it by the test's tags or by a bindings file.

use std::collections::{BTreeMap, BTreeSet};

use super::report::{Outcome, TestCase};
use qa_contracts::v1::{FeatureList, StepNumber, StoryBindings};

/// A test with the project that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectTest {
    /// Directory of the project, from the root of the repository; empty for the root.
    pub directory: String,
    pub test: TestCase,
    /// True if the test's body does nothing, so that its success shows nothing.
    pub is_idle: bool,
}

/// A step of a feature that no test verifies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnverifiedStep {
    pub feature: u64,
    /// The step's number, from 1; 0 for a feature without steps.
    pub step: u32,
    /// The step's text.
    pub text: String,
    pub reason: Reason,
}

/// Reason for which a step is not verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// No test is bound to the step.
    Unbound,
    /// All tests bound to the step were skipped.
    Skipped,
    /// No test bound to the step checks anything; the id of one.
    Idle(String),
    /// A test bound to the step failed; its id.
    Failed(String),
    /// The bindings name a test that is in no report; its id.
    Missing(String),
}

/// Result of checking the steps of features against tests.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StepCoverage {
    pub unverified: Vec<UnverifiedStep>,
    /// Number of checked steps.
    pub steps: u64,
    /// Features and steps that tests or bindings name and the list does not contain.
    pub unknown: BTreeSet<(u64, Option<u32>)>,
}

/// Returns the features to verify: the current ones, and those marked as passing, to detect regressions.
pub fn required_features(list: &FeatureList, current: impl IntoIterator<Item = u64>) -> BTreeSet<u64> {
    list.0.iter().filter(|feature| feature.passes).map(|feature| feature.id).chain(current).collect()
}

/// Returns the list with the last steps of features that the base has and the list dropped: a change does not choose
/// what it has to show.
pub fn with_steps_of_base(mut list: FeatureList, base: &FeatureList) -> FeatureList {
    for feature in &mut list.0 {
        let Some(before) = base.0.iter().find(|before| before.id == feature.id) else { continue };
        feature.steps.extend(before.steps.iter().skip(feature.steps.len()).cloned());
    }
    list
}

/// Checks the steps of the required features against tests. A step is verified if a test bound to it passed, and none
/// bound to it failed or is missing. A test without effect verifies nothing. A test is bound by its tags or by the bindings of its feature. A test that is
/// tagged with the feature alone verifies no single step.
pub fn check_steps(
    list: &FeatureList,
    required: &BTreeSet<u64>,
    tests: &[ProjectTest],
    bindings: &BTreeMap<u64, StoryBindings>,
) -> StepCoverage {
    let mut coverage = StepCoverage::default();
    for feature in list.0.iter().filter(|feature| required.contains(&feature.id)) {
        if feature.steps.is_empty() {
            coverage.check_step(feature.id, 0, feature.description.clone(), &[], tests);
        }
        for (step, text) in (1..).zip(&feature.steps) {
            let named = match bindings.get(&feature.id).and_then(|steps| steps.0.get(&StepNumber(step))) {
                Some(ids) => ids.ids(),
                None => &[],
            };
            coverage.check_step(feature.id, step, text.to_text(), named, tests);
        }
    }
    let by_tests = tests.iter().flat_map(|test| &test.test.stories).map(|story| (story.feature, story.step));
    let by_files = bindings.iter().flat_map(|(feature, StoryBindings(steps))| {
        steps.keys().map(|StepNumber(step)| (*feature, Some(*step)))
    });
    coverage.unknown =
        by_tests.chain(by_files).filter(|(feature, step)| !is_listed(list, *feature, *step)).collect();
    coverage
}

/// Returns whether the list contains a feature and, where a step is given, that step.
fn is_listed(list: &FeatureList, feature: u64, step: Option<u32>) -> bool {
    let Some(feature) = list.0.iter().find(|listed| listed.id == feature) else { return false };
    match step {
        Some(step) => step > 0 && step as usize <= feature.steps.len(),
        None => true,
    }
}

impl StepCoverage {
    fn check_step(&mut self, feature: u64, step: u32, text: String, named: &[String], tests: &[ProjectTest]) {
        self.steps += 1;
        let missing = named.iter().find(|id| !tests.iter().any(|test| is_bound(test, id)));
        let bound: Vec<&ProjectTest> = tests
            .iter()
            .filter(|test| is_tagged(&test.test, feature, step) || named.iter().any(|id| is_bound(test, id)))
            .collect();
        let failed = bound.iter().find(|test| test.test.outcome.fails());
        let mut ran = bound.iter().filter(|test| test.test.outcome != Outcome::Skipped).peekable();
        let reason = match (failed, missing, ran.peek()) {
            (Some(test), _, _) => Reason::Failed(test.test.id.clone()),
            (None, Some(id), _) => Reason::Missing(id.clone()),
            (None, None, None) if bound.is_empty() => Reason::Unbound,
            (None, None, None) => Reason::Skipped,
            (None, None, Some(first)) => {
                let idle = first.test.id.clone();
                if ran.any(|test| !test.is_idle) {
                    return;
                }
                Reason::Idle(idle)
            }
        };
        self.unverified.push(UnverifiedStep { feature, step, text, reason });
    }
}

/// Returns whether a test is tagged with a step. Step 0 matches any tag of the feature.
fn is_tagged(test: &TestCase, feature: u64, step: u32) -> bool {
    test.stories.iter().any(|story| story.feature == feature && (step == 0 || story.step == Some(step)))
}

/// Returns the ids of tests that are bound to steps of the required features, by tags or bindings.
pub fn bound_tests<'t>(
    required: &BTreeSet<u64>,
    tests: &'t [ProjectTest],
    bindings: &BTreeMap<u64, StoryBindings>,
) -> Vec<&'t ProjectTest> {
    let named: Vec<&String> = bindings
        .values()
        .flat_map(|StoryBindings(steps)| steps.values())
        .flat_map(|tests| tests.ids())
        .collect();
    let is_tagged = |test: &TestCase| test.stories.iter().any(|story| required.contains(&story.feature));
    tests.iter().filter(|test| is_tagged(&test.test) || named.iter().any(|id| is_bound(test, id))).collect()
}

/// Returns whether a binding names a test, by its id in the report or by pytest's node id. It also names all
/// parameters of a test (`id[…]`) and repeated ids (`id #2`). Two projects may have tests of one id, so an id that does
/// not contain the project's directory has to follow it: `web/login > greets`.
fn is_bound(ProjectTest { directory, test, .. }: &ProjectTest, binding: &str) -> bool {
    let is_qualified = [format!("{directory}/"), format!("{}.", directory.replace('/', "."))]
        .iter()
        .any(|prefix| test.id.starts_with(prefix.as_str()));
    let within = match binding.strip_prefix(directory.as_str()).and_then(|rest| rest.strip_prefix('/')) {
        _ if directory.is_empty() || is_qualified => binding,
        Some(within) => within,
        None => return false,
    };
    is_instance(&test.id, within) || matches!(pytest_id(within), Some(id) if is_instance(&test.id, &id))
}

/// Returns whether a test's id is `id`, `id[…]` or `id #…`.
fn is_instance(test: &str, id: &str) -> bool {
    match test.strip_prefix(id) {
        Some(rest) => rest.is_empty() || rest.starts_with('[') || rest.starts_with(" #"),
        None => false,
    }
}

/// Converts pytest's node id `tests/test_sum.py::TestSum::test_adds` to the id in reports,
/// `tests.test_sum.TestSum::test_adds`.
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
    use crate::report::Story;
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

    fn test(feature: u64, step: Option<u32>, outcome: Outcome) -> ProjectTest {
        let test = TestCase {
            id: format!("shows {feature} {step:?}"),
            outcome,
            path: None,
            line: None,
            message: None,
            attempts: 1,
            stories: vec![Story { feature, step }],
            attachments: Vec::new(),
        };
        ProjectTest { directory: String::new(), test, is_idle: false }
    }

    #[test]
    fn a_step_is_shown_by_a_test_that_passes_and_by_none_that_fails() {
        let list = FeatureList(vec![feature(42, 1, false)]);
        let required = required_features(&list, Some(42));
        use Outcome::{Errored, Failed, Flaky, Passed, Skipped};
        let failed = || Some(Reason::Failed("shows 42 Some(1)".to_owned()));
        for (outcomes, reason) in [
            (vec![], Some(Reason::Unbound)),
            (vec![Passed], None),
            (vec![Flaky], None),
            (vec![Skipped], Some(Reason::Skipped)),
            (vec![Skipped, Passed], None),
            (vec![Passed, Failed], failed()),
            (vec![Errored, Passed], failed()),
        ] {
            let tests: Vec<ProjectTest> =
                outcomes.iter().map(|outcome| test(42, Some(1), *outcome)).collect();
            let found = check_steps(&list, &required, &tests, &BTreeMap::new()).unverified;
            assert_eq!(found.into_iter().map(|step| step.reason).next(), reason, "{outcomes:?}");
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
        let found = check_steps(&list, &required_features(&list, None), &tests, &BTreeMap::new());
        let unverified: Vec<(u64, u32)> =
            found.unverified.iter().map(|step| (step.feature, step.step)).collect();
        assert_eq!((unverified, found.steps), (vec![(1, 2)], 3));
        let found = check_steps(&list, &required_features(&list, Some(2)), &tests, &BTreeMap::new());
        assert!(found.unverified.iter().any(|step| step.feature == 2));
    }

    #[test]
    fn steps_that_a_change_removes_have_to_be_shown() {
        let (base, head) = (FeatureList(vec![feature(1, 3, false)]), FeatureList(vec![feature(1, 1, false)]));
        assert_eq!(with_steps_of_base(head, &base), base);
        let longer = FeatureList(vec![feature(1, 4, false), feature(2, 1, false)]);
        assert_eq!(with_steps_of_base(longer.clone(), &base), longer);
    }

    #[test]
    fn a_tag_of_an_unknown_feature_or_step_is_reported() {
        let list = FeatureList(vec![feature(1, 2, true)]);
        let tests = [test(1, Some(3), Outcome::Passed), test(9, None, Outcome::Passed)];
        let found = check_steps(&list, &required_features(&list, None), &tests, &BTreeMap::new());
        assert_eq!(found.unknown, BTreeSet::from([(1, Some(3)), (9, None)]));
    }

    fn named(id: &str, outcome: Outcome) -> ProjectTest {
        let mut named = test(0, None, outcome);
        (named.test.id, named.test.stories) = (id.to_owned(), Vec::new());
        named
    }

    #[test]
    fn a_test_of_another_project_shows_nothing() {
        let list = FeatureList(vec![feature(42, 1, true)]);
        let required = required_features(&list, None);
        for (directory, id, binding, is_shown) in [
            ("a", "tests.test_sum::test_adds", "a/tests/test_sum.py::test_adds", true),
            ("a", "tests.test_sum::test_adds", "a/tests.test_sum::test_adds[one]", false),
            ("a", "tests.test_sum::test_adds[one]", "a/tests.test_sum::test_adds", true),
            ("b", "tests.test_sum::test_adds", "a/tests/test_sum.py::test_adds", false),
            ("b", "tests.test_sum::test_adds", "tests/test_sum.py::test_adds", false),
            ("a", "a/sum.test.ts > adds", "a/sum.test.ts > adds", true),
            ("b", "b/sum.test.ts > adds", "a/sum.test.ts > adds", false),
            ("a/b", "a.b.tests.test_sum::test_adds", "a/b/tests/test_sum.py::test_adds", true),
            ("", "a.tests.test_sum::test_adds", "a/tests/test_sum.py::test_adds", true),
        ] {
            let bindings =
                BTreeMap::from([(42, serde_json::from_value(serde_json::json!({ "1": binding })).unwrap())]);
            let test = ProjectTest { directory: directory.to_owned(), ..named(id, Outcome::Passed) };
            let found = check_steps(&list, &required, &[test], &bindings);
            assert_eq!(found.unverified.is_empty(), is_shown, "{binding} in {directory}: {id}");
        }
    }

    #[test]
    fn a_test_without_effect_shows_no_step() {
        let list = FeatureList(vec![feature(42, 1, true)]);
        let required = required_features(&list, None);
        let idle = ProjectTest { is_idle: true, ..test(42, Some(1), Outcome::Passed) };
        for (tests, reason) in [
            (vec![idle.clone()], Some(Reason::Idle("shows 42 Some(1)".to_owned()))),
            (
                vec![idle.clone(), test(42, Some(1), Outcome::Skipped)],
                Some(Reason::Idle("shows 42 Some(1)".to_owned())),
            ),
            (vec![idle, test(42, Some(1), Outcome::Passed)], None),
        ] {
            let found = check_steps(&list, &required, &tests, &BTreeMap::new()).unverified;
            assert_eq!(found.into_iter().map(|step| step.reason).next(), reason, "{tests:?}");
        }
    }

    #[test]
    fn a_test_that_a_file_names_shows_a_step_and_one_that_is_gone_does_not() {
        let list = FeatureList(vec![feature(42, 1, true)]);
        let required = required_features(&list, None);
        use Outcome::{Failed, Passed, Skipped};
        let bindings = r#"{"1": ["sums", "tests/test_sum.py::test_adds"], "2": "sums"}"#;
        let bindings = BTreeMap::from([(42, serde_json::from_str(bindings).unwrap())]);
        let adds = "tests.test_sum::test_adds";
        for (tests, reason) in [
            (vec![named("sums", Passed), named(adds, Passed)], None),
            (vec![named("sums", Passed), named(adds, Skipped)], None),
            (vec![named("sums", Skipped), named(adds, Skipped)], Some(Reason::Skipped)),
            (
                vec![named("sums", Passed), named("sums #2", Failed), named(adds, Passed)],
                Some(Reason::Failed("sums #2".into())),
            ),
            (vec![named("sums", Passed)], Some(Reason::Missing("tests/test_sum.py::test_adds".into()))),
            (
                vec![named("sums", Passed), named("tests.test_sum::test_adds_none", Passed)],
                Some(Reason::Missing("tests/test_sum.py::test_adds".into())),
            ),
            (vec![named(adds, Passed), test(42, Some(1), Passed)], Some(Reason::Missing("sums".into()))),
            (
                vec![named("sums", Passed), named(adds, Passed), test(42, Some(1), Failed)],
                Some(Reason::Failed("shows 42 Some(1)".into())),
            ),
            (vec![named("sums", Passed), named("tests.test_sum::test_adds[two]", Passed)], None),
        ] {
            let found = check_steps(&list, &required, &tests, &bindings);
            assert_eq!(found.unverified.into_iter().map(|step| step.reason).next(), reason, "{tests:?}");
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
