//! What the program does as a whole, seen from outside: one binary, so that it is linked once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests start processes and wait for them, and may count in a HashMap"
)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a skipped test says why, and a drawn case its seed"
)]

mod action;
mod action_publish;
mod architecture;
mod attestation;
mod baseline;
mod baseline_commands;
#[cfg(target_os = "linux")]
mod bombs;
#[cfg(target_os = "linux")]
mod borders;
mod browser;
mod calibrate;
mod callers;
mod canaries;
mod canaries_beside;
mod cli;
mod commands;
mod commands_in_flight;
mod consistency;
mod delta;
mod determinism;
mod doctor_repository;
mod drift;
#[cfg(target_os = "linux")]
mod drive;
#[cfg(target_os = "linux")]
mod drive_coordinator;
#[cfg(target_os = "linux")]
mod drive_faults;
#[cfg(target_os = "linux")]
mod drive_local;
mod drive_model;
mod drives_by_label;
mod drives_in_image;
mod drives_manual;
mod drives_on_github;
mod fake_github;
mod faults;
mod features;
mod fix;
mod gates;
mod gates_base;
mod gates_command;
#[cfg(target_os = "linux")]
mod gates_confirm;
mod gates_features;
mod gates_formats;
mod gates_languages;
mod gates_limits;
mod gates_pictures;
mod gates_record;
mod gates_run;
mod gates_story;
mod gates_tools;
mod git;
mod hook;
mod hostile;
mod init;
mod injections;
mod inputs;
mod landing;
mod life;
mod limits;
mod lookups;
#[cfg(feature = "mcp")]
mod mcp;
mod members;
mod models;
mod observe;
mod observer;
mod observer_model;
mod options;
mod overlap;
mod phases;
mod planted;
mod policy;
mod proofs;
mod rehearsal;
mod rehearse;
#[cfg(target_os = "linux")]
mod release;
mod replay;
mod report_page;
mod reviews;
mod reviews_confirm;
mod reviews_live;
mod route_command;
#[cfg(target_os = "linux")]
mod sandbox;
mod sandbox_bounds;
#[cfg(target_os = "linux")]
mod sandbox_limits;
#[cfg(target_os = "linux")]
mod sandbox_tools;
mod scopes;
#[cfg(target_os = "linux")]
mod setup;
mod shards;
mod skill;
mod skill_input;
mod stage;
mod suggestions;
mod support;
#[cfg(target_os = "linux")]
mod torture;
mod turns;
mod turns_lost;
mod turns_reviews;
mod two_stages;
mod uncommitted;
mod unread;
mod upgrade;
mod verdict;
mod ways_out;
mod workflow;
