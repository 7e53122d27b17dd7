//! The program against parts that nobody here wrote. `scripts/foreign.sh` installs them; where they are missing a test
//! says so and ends, and in CI it fails.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests start processes and wait for them")]
#![allow(clippy::print_stderr, reason = "a skipped test says why")]

mod artifact_client;
mod documents;
mod hiding;
mod imported;
mod mcp;
mod openapi;
mod packages;
mod providers;
mod sarif;
#[path = "../it/support/mod.rs"]
#[allow(dead_code, unused_imports, unreachable_pub, reason = "each test binary uses its own part of it")]
mod support;
mod webhooks;
mod workflows;
