//! A model of a pull request on GitHub, by GitHub's own rules, and every trace of up to six events through it.
//!
//! The rules: a check run that is successful, neutral or skipped lets a required name pass; of several with one name on one
//! commit the newest counts; a commit keeps its check runs whatever becomes of its pull request; a draft is not merged, and
//! can be ready and merged at once; a merge queue asks for the name on the head of the merge group; what happens on GitHub
//! waits for no run. What a run concludes is not modelled: the product's own functions say it, from the event's payload to
//! the conclusion of the check run.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use qa_contracts::codes::Code;
use qa_contracts::v1::{
    ChangeSet, Conclusion, Coverage, CrossCheck, LensPlan, LensResult, LensStatus, UsageMetrics,
};
use qa_core::event::{RunnerVariables, Task, task};
use qa_core::observer::{EarlierTurns, Pace, Settings, decide, defer_plans};
use qa_core::plan::reserve;
use qa_core::policy::{Overrides, Policy};
use qa_core::verdict::{Grounds, ObserverGrounds, verdict};
use qa_formats::check_run::CheckConclusion;

/// Length of the longest trace.
const LONGEST: u8 = 6;
const HEAD: &str = "1111111111111111111111111111111111111111";
const BASE: &str = "2222222222222222222222222222222222222222";
const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// An event of a pull request, of its queue, or of its runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Event {
    Ready,
    Back,
    Synchronize,
    /// The branch goes back to the first head.
    ForcePush,
    Reopened,
    Enqueued,
    BaseChanged,
    /// A person starts the newest run of the head again.
    ReRun,
    /// The newest unfinished run is cancelled.
    Cancelled,
    MergeAttempted,
}

const EVENTS: [Event; 10] = [
    Event::Ready,
    Event::Back,
    Event::Synchronize,
    Event::ForcePush,
    Event::Reopened,
    Event::Enqueued,
    Event::BaseChanged,
    Event::ReRun,
    Event::Cancelled,
    Event::MergeAttempted,
];

/// Progress of a run before the next event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Progress {
    /// It waits for a runner, and no check run of it exists.
    Queued,
    /// Its check run is in progress.
    Started,
    Concluded,
}

const STAGES: [Progress; 3] = [Progress::Queued, Progress::Started, Progress::Concluded];

/// A head, as far as a trace can come back to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Head {
    First,
    /// The newest push.
    Latest,
    /// An earlier push, which no event leads back to.
    Gone,
}

/// A run, with what it will conclude.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Run {
    head: Head,
    base: u8,
    is_draft: bool,
    conclusion: CheckConclusionWord,
    /// True if nothing was deferred.
    is_complete: bool,
    progress: Progress,
}

/// GitHub's word for a conclusion.
type CheckConclusionWord = &'static str;

fn passes(conclusion: CheckConclusionWord) -> bool {
    matches!(conclusion, "success" | "neutral" | "skipped")
}

/// Settings of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Setup {
    /// Index of the policy of the base.
    policy: usize,
    /// True if the turns before are known.
    remembers: bool,
    /// True if the workflow runs on every event that docs/observer.md names, and not on GitHub's default ones alone.
    all_types: bool,
    has_queue: bool,
    /// True if drafts are judged under another name than the required one.
    other_name: bool,
}

/// The pull request and its runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    is_draft: bool,
    head: Head,
    base: u8,
    /// Newest check run with the required name of the first head, and of the latest.
    checks: [Option<Run>; 2],
    /// Runs without a conclusion, the oldest first. Those that are started may still be the newest check run of a head.
    pending: Vec<Run>,
    /// Newest run of the pull request, which can be started again.
    newest: Option<Run>,
    turns: u64,
    last_due: Option<u64>,
}

/// Kind of merge that must not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Hole {
    /// A head with a plan that no run executed.
    Deferred,
    /// A head without a verdict.
    Unread,
    /// A head that was judged against another base.
    OtherBase,
}

type Judged = (CheckConclusionWord, bool, bool);

/// Policy, trigger and turns before of a run.
type Question = (usize, String, Option<(u64, Option<u64>)>);

/// The product between an event and a check run.
struct Product {
    policies: Vec<Policy>,
    /// Replaces the conclusion of a run, to show that the model notices a wrong one.
    broken: Option<fn(CheckConclusion, bool) -> CheckConclusion>,
    known: RefCell<HashMap<Question, Judged>>,
}

const REVIEW: &str = "
[models.m]
provider = \"openai-codex\"
model = \"gpt-4.1-2025-04-14\"
[lenses.review-security]
model = \"m\"
[gates.unit_tests]
run = [\"pytest\"]
";

fn policies() -> Vec<Policy> {
    let all = "execute = [\"bootstrap\", \"cadence\", \"cross-check\"]\ncadence = 1\n";
    let tables = [
        String::new(),
        "[observer]\nenabled = true\ncadence = 2\n".to_owned(),
        format!("mode = \"best_effort\"\n[observer]\nenabled = true\n{all}"),
        format!("[observer]\nenabled = true\n{all}pass = [\"cross-check\"]\n"),
    ];
    let parse = |table: &String| {
        let text = format!("{table}{REVIEW}");
        Policy::parse(Some(&text), &Overrides::default(), &qa_lenses::registry()).unwrap()
    };
    tables.iter().map(parse).collect()
}

fn plan(ordinal: u64, lens: &str, review: Value) -> LensPlan {
    serde_json::from_value(json!({
        "schemaVersion": "lens-plan.v1", "planOrdinal": ordinal, "lensId": lens, "subLensId": null,
        "lensVersion": "1", "lensClass": "security", "required": false, "blockingPolicy": "rule_defined",
        "providerBindingId": "builtin", "permissionProfileId": "read_only", "scopeDigest": ZEROS,
        "changedFiles": ["a.py"], "fullContextFiles": [], "omittedFiles": [], "executionCommands": [],
        "maxInputTokens": 0, "maxOutputTokens": 0, "maxCostUsd": null, "overflowPolicy": "stop",
        "omittedHunks": [], "planningCodes": [], "review": review
    }))
    .unwrap()
}

fn result(plan: &LensPlan, status: LensStatus, codes: &[Code]) -> LensResult {
    serde_json::from_value(json!({
        "schemaVersion": "lens-result.v1", "planOrdinal": plan.plan_ordinal, "lensId": plan.lens_id,
        "subLensId": null, "lensVersion": "1", "status": status, "degraded": status != LensStatus::Completed,
        "findings": [], "evidenceSummary": [], "usage": UsageMetrics::NONE, "errorCodes": codes,
        "warningCodes": [], "executionAudit": null, "adapterResponseHash": ZEROS
    }))
    .unwrap()
}

fn change_set() -> ChangeSet {
    serde_json::from_value(json!({
        "schemaVersion": "change-set.v1", "baseSha": BASE, "mergeBaseSha": BASE, "otherMergeBases": [],
        "landing": "change", "landingTree": null, "headSha": HEAD, "baseTime": 0,
        "renames": {"exact": 0, "inexact": 0, "notCompared": 0}, "files": []
    }))
    .unwrap()
}

impl Product {
    fn new() -> Self {
        Self { policies: policies(), broken: None, known: RefCell::default() }
    }

    /// Returns the conclusion of a run of a clean change, and whether it executed every plan, and whether what waits was
    /// due.
    fn judge(&self, setup: Setup, trigger: &Trigger<'_>, earlier: Option<EarlierTurns>) -> Judged {
        let turns = earlier.map(|earlier| (earlier.turns, earlier.last_due));
        let key = (setup.policy, format!("{trigger:?}"), turns);
        if let Some(known) = self.known.borrow().get(&key) {
            return *known;
        }
        let judged = self.derive(&self.policies[setup.policy], trigger, earlier);
        self.known.borrow_mut().insert(key, judged);
        judged
    }

    fn derive(&self, policy: &Policy, trigger: &Trigger<'_>, earlier: Option<EarlierTurns>) -> Judged {
        let occasion = trigger.change().occasion_in(trigger.attempt);
        let decision =
            Settings::new(policy, Pace::default()).map(|settings| decide(occasion, earlier, &settings));
        let review = json!({
            "promptTemplateHash": ZEROS, "tokenEstimator": "bytes-3", "samples": 1, "agree": 1, "canary": false
        });
        let mut plans = [
            plan(0, "secret-token", Value::Null),
            plan(1, "review-security", review),
            plan(2, "unit_tests", Value::Null),
        ];
        if let Some(decision) = &decision {
            defer_plans(&mut plans, &decision.deferred.iter().cloned().collect());
        }
        let refusals = reserve(&plans, policy);
        let results: Vec<LensResult> = plans
            .iter()
            .zip(&refusals)
            .map(|(plan, refusal)| match refusal {
                Some(refusal) => result(plan, refusal.status, &[refusal.code]),
                None => result(plan, LensStatus::Completed, &[]),
            })
            .collect();
        let is_complete = refusals.iter().all(Option::is_none);
        let verdict = verdict(&Grounds {
            mode: policy.mode,
            required_lens_ids: &BTreeSet::new(),
            plans: &plans,
            results: &results.iter().collect::<Vec<_>>(),
            change_set: &change_set(),
            coverage: &Coverage {
                schema_version: Default::default(),
                full_cells: 1,
                incomplete_cells: 0,
                rows: Vec::new(),
            },
            cross_check: Some(&CrossCheck {
                schema_version: Default::default(),
                passed: true,
                items: Vec::new(),
            }),
            empty_may_pass: false,
            notices: &[],
            stage: policy.stage,
            observer: decision.as_ref().zip(policy.observer.as_ref()).map(|(decision, observer)| {
                let may_pass = observer.pass.contains(&decision.mode);
                ObserverGrounds { mode: decision.mode, may_pass, lost_ledger: false }
            }),
            policy_preview: None,
        });
        assert_ne!(verdict.conclusion, Conclusion::Fail, "the change is clean");
        let conclusion = CheckConclusion::from_verdict(verdict.conclusion, false);
        let conclusion = match self.broken {
            Some(broken) => broken(conclusion, is_complete),
            None => conclusion,
        };
        (conclusion.as_str(), is_complete, decision.is_some_and(|decision| decision.due))
    }
}

/// The cause of a run.
#[derive(Debug)]
struct Trigger<'a> {
    name: &'a str,
    action: &'a str,
    is_draft: bool,
    attempt: &'a str,
}

impl Trigger<'_> {
    /// Returns the change that the event's payload names.
    fn change(&self) -> qa_core::event::Change {
        let group = format!("refs/heads/gh-readonly-queue/main/pr-7-{BASE}");
        let (git_ref, payload) = match self.name {
            "merge_group" => (group.as_str(), json!({"merge_group": {"head_sha": HEAD, "base_sha": BASE}})),
            _ => (
                "refs/pull/7/merge",
                json!({"action": self.action, "number": 7, "pull_request": {
                    "number": 7, "draft": self.is_draft, "head": {"sha": HEAD, "repo": {"id": 1}},
                    "base": {"sha": BASE, "ref": "main", "repo": {"id": 1}}
                }}),
            ),
        };
        let base_ref = if self.name == "pull_request" { "main" } else { "" };
        let runner = RunnerVariables { name: self.name, sha: HEAD, git_ref, base_ref };
        match task(runner, &payload) {
            Ok(Task::Check(change)) => change,
            other => panic!("{other:?}"),
        }
    }
}

impl State {
    fn opened(is_draft: bool) -> Self {
        Self {
            is_draft,
            head: Head::First,
            base: 0,
            checks: [None; 2],
            pending: Vec::new(),
            newest: None,
            turns: 0,
            last_due: None,
        }
    }

    /// Returns why the head should not be merged now, where GitHub would merge it; `Err` where GitHub would not.
    fn merge(&self, setup: Setup) -> Result<Option<Hole>, ()> {
        // With a queue the group's head is judged in full before it lands, whatever the pull request's checks say.
        if self.is_draft || setup.has_queue {
            return Err(());
        }
        let check = self.check().ok_or(())?;
        if check.progress != Progress::Concluded || !passes(check.conclusion) {
            return Err(());
        }
        Ok(self.hole(check))
    }

    fn check(&self) -> Option<Run> {
        self.checks[self.head as usize]
    }

    fn hole(&self, check: Run) -> Option<Hole> {
        match check {
            Run { is_complete: false, .. } => Some(Hole::Deferred),
            Run { head, .. } if head != self.head => Some(Hole::Unread),
            Run { base, .. } if base != self.base => Some(Hole::OtherBase),
            _ => None,
        }
    }

    /// Lets a run make or complete the check run of its head.
    fn show(&mut self, setup: Setup, run: Run, before: Progress) {
        if setup.other_name && run.is_draft {
            return;
        }
        let Some(slot) = self.checks.get_mut(run.head as usize) else { return };
        // A check run that was created later stays the newest one.
        let is_newest = before == Progress::Queued || *slot == Some(Run { progress: before, ..run });
        if is_newest {
            *slot = Some(run);
        }
    }

    /// Lets a run begin and get as far as `progress`.
    fn begin(&mut self, setup: Setup, run: Run) {
        self.newest = Some(run);
        match run.progress {
            Progress::Queued => {}
            Progress::Started | Progress::Concluded => self.show(setup, run, Progress::Queued),
        }
        if run.progress != Progress::Concluded {
            self.pending.push(run);
        }
        // A concurrency group has one run in progress and one that waits.
        if self.pending.len() > 2 {
            self.conclude_oldest(setup);
        }
    }

    /// Lets the oldest pending run conclude.
    fn conclude_oldest(&mut self, setup: Setup) {
        let run = self.pending.remove(0);
        self.show(setup, Run { progress: Progress::Concluded, ..run }, run.progress);
    }

    /// Returns the state after a push, or after a push back to the first head.
    fn moved(&self, head: Head) -> Self {
        let mut state = self.clone();
        state.head = head;
        state.checks[Head::Latest as usize] = None;
        for run in state.pending.iter_mut().chain(&mut state.newest) {
            if run.head == Head::Latest {
                run.head = Head::Gone;
            }
        }
        state
    }
}

/// Enumerates traces of one setup.
struct Enumeration<'a> {
    product: &'a Product,
    setup: Setup,
    /// Number of traces from a state, by the number of events that are left.
    traces: Vec<HashMap<State, u64>>,
    holes: BTreeSet<Hole>,
    merges: u64,
}

impl Enumeration<'_> {
    /// Returns the states after a trigger, one for each progress of its run.
    fn triggered(&self, state: &State, trigger: &Trigger<'_>) -> Vec<State> {
        let is_listed = matches!(trigger.action, "opened" | "synchronize" | "reopened");
        if !is_listed && !self.setup.all_types && trigger.attempt == "1" {
            return vec![state.clone()];
        }
        let earlier = self.setup.remembers.then_some(EarlierTurns {
            turns: state.turns,
            last_due: state.last_due,
            has_diff: true,
            // The change is clean.
            failed_cross_check: false,
        });
        let earlier = earlier.filter(|earlier| earlier.turns > 0);
        let (conclusion, is_complete, is_due) = self.product.judge(self.setup, trigger, earlier);
        STAGES
            .into_iter()
            .map(|progress| {
                let mut state = state.clone();
                if self.setup.remembers {
                    state.turns += 1;
                    state.last_due = if is_due { Some(state.turns) } else { state.last_due };
                }
                let (head, base, is_draft) = (state.head, state.base, trigger.is_draft);
                state.begin(self.setup, Run { head, base, is_draft, conclusion, is_complete, progress });
                state
            })
            .collect()
    }

    /// Returns the states after an event; none where it cannot happen.
    fn after(&self, state: &State, event: Event) -> Vec<State> {
        let trigger = |action: &'static str, is_draft: bool| Trigger {
            name: "pull_request",
            action,
            is_draft,
            attempt: "1",
        };
        match event {
            Event::Ready if state.is_draft => {
                let ready = State { is_draft: false, ..state.clone() };
                self.triggered(&ready, &trigger("ready_for_review", false))
            }
            Event::Back if !state.is_draft => {
                let draft = State { is_draft: true, ..state.clone() };
                self.triggered(&draft, &trigger("converted_to_draft", true))
            }
            Event::Synchronize => {
                self.triggered(&state.moved(Head::Latest), &trigger("synchronize", state.is_draft))
            }
            Event::ForcePush if state.head != Head::First => {
                self.triggered(&state.moved(Head::First), &trigger("synchronize", state.is_draft))
            }
            Event::Reopened => self.triggered(state, &trigger("reopened", state.is_draft)),
            Event::BaseChanged => {
                let other = State { base: 1 - state.base, ..state.clone() };
                self.triggered(&other, &trigger("edited", state.is_draft))
            }
            Event::ReRun => match state.newest {
                // It has the payload of the run that it repeats, and judges that run's commits.
                Some(newest) if newest.progress == Progress::Concluded => {
                    let again = Trigger { attempt: "2", ..trigger("synchronize", newest.is_draft) };
                    let (conclusion, is_complete, _) = self.product.judge(self.setup, &again, None);
                    let repeated = |progress: Progress| {
                        let mut state = state.clone();
                        state.begin(self.setup, Run { conclusion, is_complete, progress, ..newest });
                        state
                    };
                    STAGES.into_iter().map(repeated).collect()
                }
                _ => Vec::new(),
            },
            Event::Cancelled => match state.pending.last() {
                Some(&run) => {
                    let mut state = state.clone();
                    state.pending.pop();
                    let ended = Run { conclusion: CheckConclusion::Cancelled.as_str(), ..run };
                    if run.progress == Progress::Started {
                        for slot in state.checks.iter_mut().filter(|slot| **slot == Some(run)) {
                            *slot = Some(Run { progress: Progress::Concluded, ..ended });
                        }
                    }
                    vec![state]
                }
                None => Vec::new(),
            },
            Event::Enqueued if self.setup.has_queue && !state.is_draft => self.enqueued(state),
            Event::MergeAttempted if state.merge(self.setup).is_ok() => vec![state.clone()],
            Event::Ready | Event::Back | Event::ForcePush | Event::Enqueued | Event::MergeAttempted => {
                Vec::new()
            }
        }
    }

    /// A queue takes a head whose checks pass, and lands the group whose own check run passes.
    fn enqueued(&self, state: &State) -> Vec<State> {
        let check = state.check();
        if !matches!(check, Some(check) if check.progress == Progress::Concluded && passes(check.conclusion))
        {
            return Vec::new();
        }
        let group =
            Trigger { name: "merge_group", action: "checks_requested", is_draft: false, attempt: "1" };
        let (conclusion, is_complete, _) = self.product.judge(self.setup, &group, None);
        assert!(!passes(conclusion) || is_complete, "a merge group that lands is judged in full");
        vec![state.clone()]
    }

    fn try_merge(&mut self, state: &State) {
        if let Ok(hole) = state.merge(self.setup) {
            self.merges += 1;
            self.holes.extend(hole);
        }
    }

    /// Counts the ends of traces without events left: pending runs may conclude or not.
    fn count_ends(&mut self, state: &State) -> u64 {
        let mut count = 1;
        self.try_merge(state);
        let mut later = state.clone();
        while !later.pending.is_empty() {
            later.conclude_oldest(self.setup);
            self.try_merge(&later);
            count += 1;
        }
        count
    }

    /// Counts the traces of at most `left` events from a state, and looks for holes at every point of each.
    fn count(&mut self, state: &State, left: u8) -> u64 {
        if left == 0 {
            return self.count_ends(state);
        }
        if let Some(&known) = self.traces[usize::from(left)].get(state) {
            return known;
        }
        self.try_merge(state);
        let mut count = 1;
        for event in EVENTS {
            for next in self.after(state, event) {
                count += self.count(&next, left - 1);
            }
        }
        // Runs conclude at any time, which is no event of the pull request.
        if !state.pending.is_empty() {
            let mut later = state.clone();
            later.conclude_oldest(self.setup);
            count += self.count(&later, left);
        }
        self.traces[usize::from(left)].insert(state.clone(), count);
        count
    }
}

/// Setups that differ in everything that a run can depend on.
fn setups() -> Vec<Setup> {
    let usual = Setup { policy: 1, remembers: true, all_types: true, has_queue: false, other_name: false };
    vec![
        usual,
        Setup { policy: 0, ..usual },
        Setup { policy: 2, ..usual },
        Setup { policy: 3, ..usual },
        Setup { remembers: false, ..usual },
        Setup { all_types: false, ..usual },
        Setup { other_name: true, ..usual },
        Setup { has_queue: true, ..usual },
    ]
}

/// Returns the holes of a setup, and the numbers of its traces and of the points where something is merged.
fn explore(product: &Product, setup: Setup) -> (BTreeSet<Hole>, u64, u64) {
    let mut enumeration = Enumeration {
        product,
        setup,
        traces: vec![HashMap::new(); usize::from(LONGEST)],
        holes: BTreeSet::new(),
        merges: 0,
    };
    let mut traces = 0;
    for is_draft in [true, false] {
        let opened = Trigger { name: "pull_request", action: "opened", is_draft, attempt: "1" };
        for state in enumeration.triggered(&State::opened(is_draft), &opened) {
            traces += enumeration.count(&state, LONGEST - 1);
        }
    }
    (enumeration.holes, traces, enumeration.merges)
}

#[test]
fn no_trace_of_events_merges_what_was_deferred_or_not_read() {
    let product = Product::new();
    let mut all = 0;
    for setup in setups() {
        let (holes, traces, merges) = explore(&product, setup);
        // GitHub keeps the check runs of a head whose pull request gets another base, until the next run begins. A merge
        // queue closes this window, which has nothing to do with drafts.
        let expected = if setup.has_queue { vec![] } else { vec![Hole::OtherBase] };
        assert_eq!(holes.into_iter().collect::<Vec<_>>(), expected, "{setup:?}");
        assert_eq!(merges > 0, !setup.has_queue, "{setup:?} merges something");
        all += traces;
    }
    assert!(all > 1_000_000, "{all} traces");
}

#[test]
fn the_model_notices_a_draft_that_leaves_a_passing_check_run() {
    let neutral: fn(CheckConclusion, bool) -> CheckConclusion = |conclusion, is_complete| match is_complete {
        true => conclusion,
        false => CheckConclusion::Neutral,
    };
    let product = Product { broken: Some(neutral), ..Product::new() };
    for setup in [setups()[0], setups()[6]] {
        let (holes, ..) = explore(&product, setup);
        // Under another name even a passing check run of a draft opens nothing.
        assert_eq!(holes.contains(&Hole::Deferred), !setup.other_name, "{setup:?}");
    }
}
