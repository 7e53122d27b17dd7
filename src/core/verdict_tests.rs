//! The verdict on plain values: what keeps it from PASS, and that nothing added ever brings it there.
