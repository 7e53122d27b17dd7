//! Number of nodes that were looked at, by which tests tell that work grows with a text and not with its square.

use std::cell::Cell;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// Counts one look at a node or another part of a text, in builds for tests and for debugging.
#[inline(always)]
pub fn count() {
    if cfg!(debug_assertions) {
        COUNT.with(|count| count.set(count.get() + 1));
    }
}

/// Returns the number of looks at nodes of this thread; 0 in optimised builds.
pub fn counted() -> usize {
    COUNT.with(Cell::get)
}
