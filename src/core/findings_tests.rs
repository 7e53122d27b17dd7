//! What becomes of a statement: identity, origin, strength, waiver, and so whether it blocks.
