//! `qa-skill rehearse`: every fault at every operation in every phase, and the conclusion that the run comes to.
//!
//! Each case is a process of this program, as the step of a pull request, against stand-ins of GitHub, git and models.

mod cases;
mod judge;
mod scene;
mod stand_in;
mod step;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use clap::builder::PossibleValuesParser;

use self::cases::{Case, cases};
use self::judge::{Judgement, Reference};
use self::scene::Scene;
use self::step::{Actor, Observed};
use super::console;
use super::exit::{Exit, Failure};
use super::option_values::parse_shard;
use super::progress::TerminalProgress;
use crate::faults::KINDS;
use qa_core::shard::Shard;
use qa_run::ports::{Cancellation, Progress};

#[derive(Args)]
pub(crate) struct RehearseArgs {
    /// The repository whose policy at HEAD judges the change, or any directory inside its checkout
    #[arg(long, default_value = ".", value_name = "DIR")]
    repository: PathBuf,
    /// Only this kind of fault; repeatable
    #[arg(long = "fault", value_name = "KIND", value_parser = PossibleValuesParser::new(KINDS.iter().map(|(name, _)| *name)))]
    faults: Vec<String>,
    /// Only each N-th case, from the K-th
    #[arg(long, value_name = "K/N", value_parser = parse_shard)]
    shard: Option<Shard>,
}

/// A case with what came of it.
struct Row {
    case: Case,
    observed: Observed,
    judgement: Judgement,
}

/// Rehearses, prints the table, and fails if a fault made a pass.
pub(crate) fn rehearse(arguments: &RehearseArgs, cancellation: &Arc<Cancellation>) -> Result<Exit, Failure> {
    let scene = Scene::prepare(&arguments.repository)?;
    let mut all = Vec::new();
    let mut references = Vec::new();
    let (mut actor, mut another) = (Actor::new(&scene, 0)?, Actor::new(&scene, 1)?);
    for (change, _) in scene.changes.iter().enumerate() {
        let reference =
            Reference::new(actor.run(change, "", cancellation)?, &another.run(change, "", cancellation)?)?;
        all.extend(cases(change, &reference.observed.calls, &arguments.faults));
        references.push(reference);
    }
    drop((actor, another));
    if let Some(Shard { number, of }) = arguments.shard {
        let (skipped, step) = (usize::try_from(number - 1), usize::try_from(of));
        let (Ok(skipped), Ok(step)) = (skipped, step) else { unreachable!("a shard is at most 256") };
        all = all.into_iter().skip(skipped).step_by(step).collect();
    }
    let rows = play(&scene, all, &references, cancellation)?;
    console::write_stdout(table(&scene, &references, &rows).as_bytes())?;
    if rows.iter().any(|row| row.judgement == Judgement::PassByFault) {
        return Ok(Exit::Fail);
    }
    let without_end = rows.iter().filter(|row| !row.judgement.is_known()).count();
    if without_end > 0 {
        let message =
            format!("{without_end} cases show nothing: their fault met no call, or they did not end");
        return Err(Failure { exit: Exit::CouldNotComplete, ..Failure::usage(message, "") });
    }
    Ok(Exit::Pass)
}

/// Plays cases on several threads, in order of their position.
fn play(
    scene: &Scene,
    cases: Vec<Case>,
    references: &[Reference],
    cancellation: &Arc<Cancellation>,
) -> Result<Vec<Row>, Failure> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let progress = TerminalProgress::new(false);
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let played: Result<(), Failure> = std::thread::scope(|scope| {
        let actors: Vec<_> = (2..=threads + 1)
            .map(|number| {
                scope.spawn({
                    let (cases, next, rows, progress) = (&cases, &next, &rows, &progress);
                    move || -> Result<(), Failure> {
                        let mut actor = Actor::new(scene, number)?;
                        loop {
                            cancellation.check()?;
                            let position = next.fetch_add(1, Ordering::Relaxed);
                            let Some(case) = cases.get(position) else { return Ok(()) };
                            let observed = actor.run(case.change, &case.fault, cancellation)?;
                            let judgement = references[case.change].judge(case, &observed);
                            let row = Row { case: case.clone(), observed, judgement };
                            progress.step("rehearse", position + 1, cases.len());
                            rows.lock().unwrap_or_else(PoisonError::into_inner).push((position, row));
                        }
                    }
                })
            })
            .collect();
        let ended = actors.into_iter().map(|actor| actor.join().expect("an actor does not panic"));
        ended.collect::<Vec<_>>().into_iter().collect()
    });
    progress.clear();
    played?;
    let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort_by_key(|(position, _)| *position);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

fn end_of_line(observed: &Observed, judgement: &str) -> String {
    let Observed { check, exit, code, .. } = observed;
    let exit = match exit {
        Some(exit) => exit.to_string(),
        None => "killed".to_owned(),
    };
    format!("{check:<16} {exit:<6} {code:<26} {judgement}\n")
}

fn table(scene: &Scene, references: &[Reference], rows: &[Row]) -> String {
    let widest = rows.iter().map(|row| row.case.fault.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (change, reference) in scene.changes.iter().zip(references) {
        out.push_str(&format!("{:<8} {:<widest$} {:<21} ", change.name, "-", "-"));
        out.push_str(&end_of_line(&reference.observed, "undisturbed"));
    }
    for Row { case, observed, judgement } in rows {
        let change = scene.changes[case.change].name;
        out.push_str(&format!("{change:<8} {:<widest$} {:<21} ", case.fault, case.phase));
        out.push_str(&end_of_line(observed, judgement.as_str()));
    }
    let mut counts: Vec<String> = Vec::new();
    for judgement in Judgement::ALL {
        let count = rows.iter().filter(|row| row.judgement == judgement).count();
        counts.push(format!("{count} {}", judgement.as_str()));
    }
    out.push_str(&format!("{} cases: {}\n", rows.len(), counts.join(", ")));
    out
}
