//! Places that answer for several jobs at once: what they wait for, and whose failure they allow.

use std::collections::{BTreeMap, BTreeSet};

use qa_contracts::v1::Side;
use qa_reading::documents::{Document, Format, Node};
use qa_reading::syntax::Span;
use qa_reading::workflow::{Job, Step, Workflow};

use super::conditions::Known;
use super::files::Kind;
use super::verdict::{Results, Verdict};

/// Action that fails where one of the jobs does that its job needs.
pub(super) const ALLS_GREEN: &str = "re-actors/alls-green@";
/// Its inputs with jobs whose failure or absence it allows.
const ALLOWED: &[&str] = &["allowed-failures", "allowed-skips"];
/// Maps of pipelines that have a list of jobs whose failure is allowed.
const MATRICES: &[&str] = &["jobs", "matrix"];

/// A place where more failures are allowed than before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Loosened {
    /// Places that may be the cause, the likeliest first; the one on a changed line is.
    pub(super) places: Vec<(Side, Span)>,
    pub(super) summary: &'static str,
}

impl Loosened {
    fn new(side: Side, span: Span, summary: &'static str) -> Self {
        Self { places: vec![(side, span)], summary }
    }
}

/// Returns where the later version of a file allows failures that the earlier one did not; none where a version cannot
/// be parsed, which is reported by itself.
pub(super) fn loosened(kind: Kind, base: &str, head: &str) -> Vec<Loosened> {
    let [Ok(base), Ok(head)] = [base, head].map(|text| Document::parse(Format::Yaml, text)) else {
        return Vec::new();
    };
    if kind != Kind::Workflow {
        return allowed_failures(&base, &head);
    }
    let [Ok(older), Ok(newer)] = [&base, &head].map(Workflow::parse) else { return Vec::new() };
    let [before, now] = [&older, &newer].map(|workflow| Known {
        events: workflow.triggers.iter().map(|trigger| trigger.name.to_owned()).collect(),
        ..Known::default()
    });
    let mut found = Vec::new();
    for job in &newer.jobs {
        let Some(old) = older.jobs.iter().find(|old| old.id == job.id) else { continue };
        if answers_for_needs(old, base.text()) && answers_for_needs(job, head.text()) {
            found.extend(needs_lost(&newer, old, job));
        }
        found.extend(allowed_more(old, job));
        let (old, new) = (
            Judge { job: old, jobs: &older.jobs, known: &before },
            Judge { job, jobs: &newer.jobs, known: &now },
        );
        found.extend(old.lost_verdict(&new));
    }
    found
}

/// A job with those beside it, whose results it may look at.
struct Judge<'a> {
    job: &'a Job<'a>,
    jobs: &'a [Job<'a>],
    known: &'a Known,
}

impl Judge<'_> {
    /// Returns the results of the jobs that this one needs, where one of them fails.
    fn results_without<'r>(&'r self, lost: Option<&str>) -> Results<'r> {
        let needs = self.job.needs.iter().filter_map(|need| need.constant());
        let needs = needs.filter_map(|id| self.jobs.iter().find(|job| job.id == id));
        let by_job = needs.map(|job| {
            let is_skipped = job.condition.is_none() && ids(job).any(|(id, _)| lost == Some(id.as_str()));
            let result = match lost {
                Some(id) if id == job.id => "failure",
                Some(_) if is_skipped => "skipped",
                Some(_) | None => "success",
            };
            (job.id, result)
        });
        Results { by_job: by_job.collect(), known: self.known }
    }

    /// Returns the place by which this job passes at head where a job that it needs fails, and did not before.
    fn lost_verdict(&self, new: &Self) -> Option<Loosened> {
        let summary = "failure of a job no longer counts: the job that answers for all passes";
        if self.results_without(None).verdict(self.job) == Verdict::Fails {
            return None;
        }
        for (id, _) in ids(self.job).filter(|(id, _)| ids(new.job).any(|(own, _)| own == *id)) {
            let (before, now) = (self.results_without(Some(&id)), new.results_without(Some(&id)));
            let is_lost =
                before.verdict(self.job) >= Verdict::Likely && now.verdict(new.job) == Verdict::Passes;
            if is_lost {
                return Some(Loosened { places: self.causes(&before, new, &now), summary });
            }
        }
        None
    }

    /// Returns the places of the job at head that may keep it from failing, and those at the base that made it fail.
    fn causes(&self, before: &Results<'_>, new: &Self, now: &Results<'_>) -> Vec<(Side, Span)> {
        let mut places = Vec::new();
        let condition = new.job.condition.map(|condition| condition.value);
        places.extend(
            condition.into_iter().chain(new.job.continue_on_error).map(|own| (Side::Head, own.span())),
        );
        if !now.runs(new.job) {
            places.extend(self.job.condition.map(|condition| (Side::Base, condition.value.span())));
        }
        let known: Vec<Vec<String>> = self.job.steps.iter().map(texts_of).collect();
        for step in new.job.steps.iter().filter(|step| !known.contains(&texts_of(step))) {
            let condition = step.condition.map(|condition| condition.value);
            let run = step.run.map(|run| run.value);
            let own = condition.into_iter().chain(step.continue_on_error).chain(run);
            let inputs = step.with.iter().map(|member| member.value);
            places.extend(own.chain(inputs).map(|value| (Side::Head, value.span())));
        }
        let judges = self.job.steps.iter();
        let judges = judges.filter(|step| before.verdict_of_step(self.job, step) >= Verdict::Likely);
        places.extend(judges.map(|step| (Side::Base, step.value.span())));
        places
    }
}

/// Returns the texts of a step, which are those of another one where nothing of it changes.
fn texts_of(step: &Step<'_>) -> Vec<String> {
    let leaves = step.value.node().leaves().unwrap_or_default();
    leaves.iter().filter_map(|leaf| leaf.value.text()).map(str::to_owned).collect()
}

/// Returns whether a job runs whatever became of the jobs that it needs, and looks at their results.
fn answers_for_needs(job: &Job<'_>, text: &str) -> bool {
    let condition = job.condition.map(|condition| condition.value.span().of(text)).unwrap_or_default();
    let runs_always = ["always()", "cancelled()", "failure()"].iter().any(|word| condition.contains(word));
    let whole: String = job.value.span().of(text).to_lowercase().split_whitespace().collect();
    let looks_at = whole.contains("tojson(needs)") || whole.contains("needs.") && whole.contains(".result");
    runs_always && looks_at
}

/// Returns the jobs that a job waited for and no longer waits for, neither itself nor through another.
fn needs_lost(newer: &Workflow<'_>, old: &Job<'_>, new: &Job<'_>) -> Vec<Loosened> {
    let needs: BTreeMap<&str, BTreeSet<String>> =
        newer.jobs.iter().map(|job| (job.id, ids(job).map(|(id, _)| id).collect())).collect();
    let mut reached: BTreeSet<String> = BTreeSet::new();
    let mut pending: Vec<String> = ids(new).map(|(id, _)| id).collect();
    while let Some(id) = pending.pop() {
        if reached.insert(id.clone()) {
            pending.extend(needs.get(id.as_str()).into_iter().flatten().cloned());
        }
    }
    let lost = ids(old).filter(|(id, _)| needs.contains_key(id.as_str()) && !reached.contains(id));
    let summary = "failure of a job no longer counts: the job that answers for all does not wait for it";
    lost.map(|(_, span)| Loosened::new(Side::Base, span, summary)).collect()
}

fn ids<'j>(job: &'j Job<'j>) -> impl Iterator<Item = (String, Span)> + use<'j> {
    job.needs.iter().filter_map(|need| Some((need.constant()?.into_owned(), need.span())))
}

/// Returns the inputs by which a job's step allows more jobs to fail, or to be left out.
fn allowed_more(old: &Job<'_>, new: &Job<'_>) -> Vec<Loosened> {
    let [before, now] = [old, new].map(|job| {
        let steps = job.steps.iter().filter(|step| {
            step.uses.and_then(|uses| uses.constant()).is_some_and(|uses| uses.starts_with(ALLS_GREEN))
        });
        steps.collect::<Vec<_>>()
    });
    let mut found = Vec::new();
    let Some(before) = before.first() else { return found };
    for name in ALLOWED {
        let known = before.input(name).and_then(|value| value.node().text()).unwrap_or_default();
        for value in now.iter().filter_map(|step| step.input(name)) {
            let text = value.node().text().unwrap_or_default();
            let mut more = text.split(',').map(str::trim).filter(|job| !job.is_empty());
            let old: Vec<&str> = known.split(',').map(str::trim).collect();
            if more.any(|job| !old.contains(&job)) {
                let summary = "failure or absence of a job is now allowed";
                found.push(Loosened::new(Side::Head, value.span(), summary));
            }
        }
    }
    found
}

/// Returns the entries of lists of allowed failures that are new and are about what ran before.
fn allowed_failures(base: &Document<'_>, head: &Document<'_>) -> Vec<Loosened> {
    let known: BTreeSet<Vec<(String, String)>> = lists(base).flat_map(Node::items).map(meaning).collect();
    let new = lists(head).flat_map(Node::items).filter(|entry| {
        let own = meaning(*entry);
        let ran_before = own.iter().all(|(_, value)| base.text().contains(value.as_str()));
        !own.is_empty() && ran_before && !known.contains(&own)
    });
    let summary = "failure of a job is now allowed";
    new.map(|entry| Loosened::new(Side::Head, entry.span(), summary)).collect()
}

fn lists<'d>(document: &'d Document<'_>) -> impl Iterator<Item = Node<'d>> {
    let root = document.root();
    MATRICES.iter().filter_map(move |name| root.at(&[*name, "allow_failures"]))
}

/// Returns the members of an entry with their values, which are those of the jobs it is about.
fn meaning(entry: Node<'_>) -> Vec<(String, String)> {
    let members = entry.entries().filter_map(|member| Some((member.key, member.value.text()?)));
    let mut all: Vec<_> = members.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    all.sort();
    all
}
