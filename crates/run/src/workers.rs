//! Spreads work over a fixed number of threads and gives results back in the order of the work.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::ports::PortError;

/// Number of items that a thread takes at a time: objects next to each other in a pack are read together.
const MOST_IN_BATCH: usize = 16;
/// Number of batches that each thread's share of a short list is cut into, as one item may take longer than all others.
const BATCHES_EACH: usize = 32;

/// Start of a batch, with its results.
type Batch<R> = (usize, Result<Vec<R>, PortError>);

/// Maps like [`map`], for slow items, so that each is taken alone.
pub(super) fn each<R: Send>(
    count: usize,
    workers: u64,
    each: impl Fn(usize) -> Result<R, PortError> + Sync,
) -> Result<Vec<R>, PortError> {
    map_by(1, count, workers, || Ok(()), |(), position| each(position))
}

/// Maps every position from 0 to `count`. `prepare` makes each thread's own state. The first error by position wins,
/// whichever thread met one first, so the outcome does not depend on timing.
pub(super) fn map<S, R: Send>(
    count: usize,
    workers: u64,
    prepare: impl Fn() -> Result<S, PortError> + Sync,
    each: impl Fn(&S, usize) -> Result<R, PortError> + Sync,
) -> Result<Vec<R>, PortError> {
    let threads = usize::try_from(workers).unwrap_or(1).max(1);
    let batch = count.div_ceil(threads.saturating_mul(BATCHES_EACH)).clamp(1, MOST_IN_BATCH);
    map_by(batch, count, workers, prepare, each)
}

/// Makes items on several threads, and gives each to this one as it comes; at most one waits for each thread. The first
/// error that comes ends it.
pub fn in_any_order<T: Send, E: Send>(
    count: usize,
    workers: u64,
    make: impl Fn(usize) -> Result<T, E> + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = usize::try_from(workers).unwrap_or(1).min(count);
    if threads < 2 {
        return (0..count).try_for_each(|position| take(make(position)?));
    }
    let next = AtomicUsize::new(0);
    let (sender, receiver) = std::sync::mpsc::sync_channel(0);
    std::thread::scope(|scope| {
        for sender in std::iter::repeat_n(sender, threads) {
            let (next, make) = (&next, &make);
            scope.spawn(move || {
                loop {
                    let position = next.fetch_add(1, Ordering::Relaxed);
                    // The receiver is gone after an error.
                    if position >= count || sender.send(make(position)).is_err() {
                        return;
                    }
                }
            });
        }
        receiver.into_iter().try_for_each(|made| take(made?))
    })
}

/// Does two things, at the same time if there is more than one worker.
pub(super) fn both<A, B: Send, E: Send>(
    workers: u64,
    here: impl FnOnce() -> Result<A, E>,
    beside: impl FnOnce() -> Result<B, E> + Send,
) -> Result<(A, B), E> {
    if workers < 2 {
        return Ok((here()?, beside()?));
    }
    std::thread::scope(|scope| {
        let other = scope.spawn(beside);
        let one = here();
        let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((one?, other?))
    })
}

fn map_by<S, R: Send>(
    batch: usize,
    count: usize,
    workers: u64,
    prepare: impl Fn() -> Result<S, PortError> + Sync,
    each: impl Fn(&S, usize) -> Result<R, PortError> + Sync,
) -> Result<Vec<R>, PortError> {
    let threads = usize::try_from(workers).unwrap_or(1).min(count.div_ceil(batch)).max(1);
    if threads == 1 {
        let state = prepare()?;
        return (0..count).map(|position| each(&state, position)).collect();
    }
    let next = AtomicUsize::new(0);
    let batches: Mutex<Vec<Batch<R>>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let state = prepare();
                loop {
                    let start = next.fetch_add(batch, Ordering::Relaxed);
                    if start >= count {
                        return;
                    }
                    let range = start..(start + batch).min(count);
                    let result = match &state {
                        Ok(state) => range.map(|position| each(state, position)).collect(),
                        Err(error) => Err(error.clone()),
                    };
                    batches.lock().expect("a panic while holding this ends the scope").push((start, result));
                }
            });
        }
    });
    let mut batches = batches.into_inner().expect("the scope has ended");
    batches.sort_by_key(|(start, _)| *start);
    let mut all = Vec::with_capacity(count);
    for (_, batch) in batches {
        all.extend(batch?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_contracts::codes::Code;

    #[test]
    fn order_and_errors_do_not_depend_on_the_number_of_threads() {
        for workers in [1, 2, 7, 64] {
            let squares = map(1000, workers, || Ok(()), |(), position| Ok(position * position)).unwrap();
            assert!(squares.iter().enumerate().all(|(position, square)| *square == position * position));
            let error = map(
                1000,
                workers,
                || Ok(()),
                |(), position| {
                    let message = position.to_string();
                    if position % 300 == 299 {
                        Err(PortError { code: Code::Cancelled, message, hint: "" })
                    } else {
                        Ok(())
                    }
                },
            );
            assert_eq!(error.unwrap_err().message, "299");
        }
    }

    #[test]
    fn items_arrive_once_each_until_something_fails() {
        for workers in [1, 2, 7] {
            let mut arrived = Vec::new();
            let made = in_any_order(100, workers, Ok::<_, usize>, |item| {
                arrived.push(item);
                Ok(())
            });
            arrived.sort_unstable();
            assert_eq!((made, arrived), (Ok(()), (0..100).collect()));
            let fails = |position| if position == 40 { Err(position) } else { Ok(position) };
            assert_eq!(in_any_order(100, workers, fails, |_| Ok(())), Err(40));
            let mut taken = 0;
            let full = in_any_order(100, workers, Ok, |_| {
                taken += 1;
                if taken < 5 { Ok(()) } else { Err(taken) }
            });
            assert_eq!(full, Err(5));
        }
        assert_eq!(in_any_order(0, 4, |_| Err::<(), _>(()), Ok), Ok(()));
    }

    #[test]
    fn two_things_are_done_at_the_same_time_if_there_are_two_workers() {
        for workers in [1, 2] {
            let thread = || Ok::<_, ()>(std::thread::current().id());
            let threads = both(workers, thread, thread).unwrap();
            assert_eq!(threads.0, std::thread::current().id());
            assert_eq!(threads.1 == threads.0, workers == 1);
        }
        assert_eq!(both(1, || Err::<(), _>(1), || -> Result<(), _> { panic!("beside") }), Err(1));
        let panicked = std::panic::catch_unwind(|| {
            both(2, || Ok::<_, ()>(()), || -> Result<(), _> { panic!("beside") })
        });
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"beside"));
    }
}
