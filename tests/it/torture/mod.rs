//! Torture in bulk: one change judged under many drawn circumstances, bits flipped in what a run stored, processes killed
//! at any moment.
//!
//! `QA_SKILL_TORTURE` says how much: `full`, or words such as `runs=300 kills=20 seed=7 case=31`. Without it a bounded
//! form runs, with a fixed seed, so that a build does not fail by a draw that no other build makes. Every case is drawn
//! from the seed and its number alone and can be repeated by itself; of a kill the delay is repeated, and the machine
//! decides what it hits.

mod changes;
mod circumstances;
mod flips;
mod kills;
mod tamperings;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::Random;

/// Cases that fail before the rest is not run.
const MOST_FAULTS: usize = 5;
/// Threads that run cases, for each processor: a case mostly waits for processes and the disk.
const WORKERS: usize = 2;

/// Numbers of cases, and the seed they are drawn from.
#[derive(Clone, Copy)]
struct Amounts {
    /// Repositories that are generated.
    changes: usize,
    /// Runs under drawn circumstances.
    runs: usize,
    /// Flipped bits.
    flips: usize,
    /// Other damage to a run directory.
    tamperings: usize,
    /// Processes killed or left without room.
    kills: usize,
    seed: u64,
    /// The only case to run.
    case: Option<usize>,
}

impl Amounts {
    const BOUNDED: Self =
        Self { changes: 1, runs: 60, flips: 250, tamperings: 60, kills: 40, seed: 20_240_501, case: None };
    const FULL: Self =
        Self { changes: 8, runs: 2000, flips: 2000, tamperings: 500, kills: 500, ..Self::BOUNDED };

    fn from_environment() -> Self {
        std::env::var("QA_SKILL_TORTURE").map_or(Self::BOUNDED, |words| Self::parse(&words))
    }

    fn parse(words: &str) -> Self {
        let mut amounts = Self::BOUNDED;
        for word in words.split_whitespace() {
            let (name, number) = word.split_once('=').unwrap_or((word, ""));
            let number =
                || number.parse().unwrap_or_else(|_| panic!("QA_SKILL_TORTURE: no number in `{word}`"));
            match name {
                "full" => amounts = Self { seed: amounts.seed, case: amounts.case, ..Self::FULL },
                "changes" => amounts.changes = number(),
                "runs" => amounts.runs = number(),
                "flips" => amounts.flips = number(),
                "tamperings" => amounts.tamperings = number(),
                "kills" => amounts.kills = number(),
                "seed" => amounts.seed = number() as u64,
                "case" => amounts.case = Some(number()),
                _ => panic!("QA_SKILL_TORTURE: unknown word `{word}`"),
            }
        }
        amounts
    }

    /// Returns the generator of one case.
    fn random(&self, case: usize) -> Random {
        // The finalizer of SplitMix64: neighbouring seeds and cases begin far apart.
        let mut state = self.seed.wrapping_add((case as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Random((state ^ (state >> 31)) | 1)
    }

    /// Returns the generator of one change, which no case has.
    fn for_change(&self, number: usize) -> Random {
        Self { seed: !self.seed, ..*self }.random(number)
    }

    /// Runs `count` cases on several threads. Fails with every case that returned a fault or panicked, and with the words
    /// that repeat it.
    fn for_each(
        &self,
        kind: &str,
        count: usize,
        run: impl Fn(&mut Random, usize) -> Result<(), String> + Sync,
    ) {
        let Self { seed, changes, .. } = *self;
        let (first, end) = self.case.map_or((0, count), |case| (case, case + 1));
        println!("{kind}: cases {first} to {end}, seed {seed}");
        let (next, faults) = (AtomicUsize::new(first), Mutex::new(Vec::new()));
        let work = || {
            loop {
                let case = next.fetch_add(1, Ordering::Relaxed);
                if case >= end || faults.lock().unwrap().len() >= MOST_FAULTS {
                    return;
                }
                if case > first && case % 100 == 0 {
                    eprintln!("{kind}: {case} of {count}");
                }
                let outcome = catch_unwind(AssertUnwindSafe(|| run(&mut self.random(case), case)));
                if let Err(fault) = outcome.unwrap_or_else(|panic| Err(message(&*panic))) {
                    let repeat = format!(
                        "QA_SKILL_TORTURE='{kind}={count} changes={changes} seed={seed} case={case}'"
                    );
                    faults.lock().unwrap().push(format!("case {case}: {fault}\n  to repeat: {repeat}"));
                }
            }
        };
        let workers = WORKERS * std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
        let faults = faults.into_inner().unwrap();
        assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
        println!("{kind}: {} cases, none failed", end - first);
    }
}

/// Returns the message of a panic.
fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

#[test]
fn words_choose_amounts_and_a_case_is_drawn_from_seed_and_number() {
    let amounts = Amounts::parse("seed=7 full kills=20 case=31");
    assert_eq!((amounts.runs, amounts.kills, amounts.seed, amounts.case), (2000, 20, 7, Some(31)));
    let full = Amounts::parse("full");
    assert_eq!((full.runs, full.flips, full.kills), (2000, 2000, 500));
    assert_eq!(Amounts::parse("").runs, Amounts::BOUNDED.runs);
    assert!(catch_unwind(|| Amounts::parse("kill=20")).is_err());
    assert_eq!(amounts.random(31).next(), amounts.random(31).next());
    let first: std::collections::BTreeSet<u64> = (0..1000).map(|case| amounts.random(case).next()).collect();
    assert_eq!(first.len(), 1000);
}

#[test]
fn a_case_that_fails_is_reported_with_the_words_that_repeat_it() {
    let amounts = Amounts::parse("seed=7");
    let outcome = catch_unwind(|| {
        amounts.for_each("runs", 50, |_, case| if case == 31 { Err("wrong".to_owned()) } else { Ok(()) });
    });
    let told = message(&*outcome.unwrap_err());
    assert!(told.contains("case 31: wrong") && told.contains("'runs=50 changes=1 seed=7 case=31'"), "{told}");
}
