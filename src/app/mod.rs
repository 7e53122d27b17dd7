//! The composition root: commands, the wiring of ports, and what the process says and returns.

mod action;
mod agent_words;
mod answers;
mod artifact_commands;
mod ask_models;
mod attestation;
mod baseline;
mod calibrate;
mod check;
mod cli;
mod client;
#[cfg(target_os = "linux")]
mod command_sandbox;
mod consistency_approve;
mod consistency_check;
mod consistency_init;
mod console;
mod delta;
mod doctor;
mod doctor_repository;
mod drift;
mod drift_check;
#[cfg(target_os = "linux")]
mod drive;
mod exit;
mod explain;
mod feature_update;
mod finished;
mod fix;
mod hook;
mod init;
mod input_document;
mod inputs;
mod judged_run;
mod log;
#[cfg(feature = "mcp")]
mod mcp;
mod observe_command;
mod observer;
mod option_values;
mod plan_command;
mod policy_check;
mod policy_difference;
mod prepare;
mod progress;
mod pull_request;
mod record_command;
#[cfg(feature = "dev-faults")]
mod rehearse;
mod route_command;
mod run_args;
mod safe_edits;
#[cfg(target_os = "linux")]
mod sandbox_command;
mod schema_command;
mod shard;
mod skill_command;
mod skill_input;
mod store_run;
mod uncommitted_args;
mod upgrade;
mod upload;
mod usage_tip;
mod verify;
mod verify_command;
mod verify_drift;
mod verify_drive;
mod watchdog;
mod workflow_command;

pub use cli::main_with;
pub use exit::Exit;
