//! Permission of plans to execute commands (S003-112…116): a profile, lens classes and command prefixes, all from the
//! base's policy.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::masking::sanitize_cut;
use crate::policy::settings;
use qa_contracts::v1::{
    ExecutionCommandSpec, LensClass, PermissionProfile, PermissionProfileId, PolicyFile, PolicyPrefix,
    PolicyToolchain, WorktreeMode,
};

/// `[execution]` with its defaults. Its canonical form is part of every execution key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionPolicy {
    pub profile: PermissionProfileId,
    /// Sorted.
    pub lens_classes: Vec<LensClass>,
    pub fork_heads: bool,
    /// Sorted.
    pub allow: Vec<PolicyPrefix>,
    /// In the policy's order, which is the search order for programs.
    pub toolchains: Vec<PolicyToolchain>,
    pub environment: BTreeMap<String, String>,
    pub limits: CommandBounds,
}

/// Limits of executed commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandBounds {
    pub(crate) max_commands_per_plan: u64,
    pub timeout_seconds: u64,
    pub max_stdout_bytes: u64,
    pub max_stderr_bytes: u64,
    pub disk_mib: u64,
    pub memory_mib: Option<u64>,
    pub processes: u64,
}

impl ExecutionPolicy {
    /// Returns the settings of `[execution]`, with defaults for absent ones.
    pub(crate) fn from_file(policy: &PolicyFile) -> Self {
        let file = &policy.execution;
        let mut lens_classes = file.lens_classes.clone();
        lens_classes.sort();
        lens_classes.dedup();
        let mut allow = file.allow.clone();
        allow.sort();
        Self {
            profile: file.profile.unwrap_or(PermissionProfileId::ReadOnly),
            lens_classes,
            fork_heads: file.fork_heads.unwrap_or(false),
            allow,
            toolchains: file.toolchains.clone(),
            environment: file.environment.clone(),
            limits: CommandBounds {
                max_commands_per_plan: settings::MAX_COMMANDS_PER_PLAN.value(policy),
                timeout_seconds: settings::TIMEOUT_SECONDS.value(policy),
                max_stdout_bytes: settings::MAX_STDOUT_BYTES.value(policy),
                max_stderr_bytes: settings::MAX_STDERR_BYTES.value(policy),
                disk_mib: settings::DISK_MIB.value(policy),
                memory_mib: file.limits.memory_mib,
                processes: settings::PROCESSES.value(policy),
            },
        }
    }

    /// Returns whether commands may open internet sockets.
    pub fn network(&self) -> bool {
        match self.profile {
            PermissionProfileId::ExecSandboxed => true,
            PermissionProfileId::ReadOnly | PermissionProfileId::ExecSandboxedNetworkOff => false,
        }
    }

    /// Returns the profiles of a run: the one that executes nothing and, where the policy chose another, that one.
    pub fn profiles(&self) -> Vec<PermissionProfile> {
        let read_only = PermissionProfile {
            profile_id: PermissionProfileId::ReadOnly,
            read_only: true,
            allow_network: false,
            worktree_mode: WorktreeMode::None,
            allowed_command_prefixes: Vec::new(),
            max_commands_per_plan: 0,
            command_timeout_ms: 0,
            max_stdout_bytes: 0,
            max_stderr_bytes: 0,
        };
        if self.profile == PermissionProfileId::ReadOnly {
            return vec![read_only];
        }
        let chosen = PermissionProfile {
            profile_id: self.profile,
            read_only: false,
            allow_network: self.network(),
            worktree_mode: WorktreeMode::Ephemeral,
            allowed_command_prefixes: self.allow.iter().map(|rule| rule.prefix.clone()).collect(),
            max_commands_per_plan: self.limits.max_commands_per_plan,
            command_timeout_ms: self.limits.timeout_seconds * 1000,
            max_stdout_bytes: self.limits.max_stdout_bytes,
            max_stderr_bytes: self.limits.max_stderr_bytes,
        };
        vec![read_only, chosen]
    }

    /// Decides whether a lens may execute its commands.
    pub fn permission(
        &self,
        lens_id: &str,
        class: LensClass,
        commands: &[ExecutionCommandSpec],
    ) -> Permission {
        if commands.is_empty() {
            return Permission::Granted;
        }
        if self.profile == PermissionProfileId::ReadOnly {
            return Permission::Denied("the permission profile is read_only".to_owned());
        }
        if !self.lens_classes.contains(&class) {
            return Permission::Denied(format!(
                "execution.lens-classes does not have {}, the class of {lens_id}",
                class.as_str()
            ));
        }
        let most = self.limits.max_commands_per_plan;
        if commands.len() as u64 > most {
            return Permission::Violation(format!(
                "{lens_id} wants {} commands, and the policy allows {most}",
                commands.len()
            ));
        }
        match commands.iter().find(|spec| !self.allows(&spec.command)) {
            None => Permission::Granted,
            Some(spec) => Permission::Violation(format!(
                "no prefix of execution.allow has `{}`",
                sanitize_cut(&spec.command.join(" "), 200)
            )),
        }
    }

    /// Returns whether a prefix allows the command.
    pub(crate) fn allows(&self, command: &[String]) -> bool {
        self.allow.iter().any(|rule| has_prefix(command, &rule.prefix))
    }
}

/// Compares word by word, so that `cargo test` allows neither `cargo testing` nor `cargo`.
fn has_prefix(command: &[String], prefix: &[String]) -> bool {
    !prefix.is_empty() && command.starts_with(prefix)
}

/// Decision on a plan's commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permission {
    /// All commands may run.
    Granted,
    /// No command may run, for this reason; the plan has no result.
    Denied(String),
    /// No command may run, and the whole run is rejected: the policy's author believes another command is allowed.
    Violation(String),
}

/// Checks a rule against its own examples. The error is a sentence about the rule's prefix.
pub(crate) fn check_examples(rule: &PolicyPrefix) -> Result<(), String> {
    let prefix = sanitize_cut(&rule.prefix.join(" "), 80);
    let first = rule.prefix.first().map(String::as_str).unwrap_or_default();
    if first.is_empty() || first.contains('/') {
        return Err(format!("the prefix `{prefix}` does not begin with the plain name of a program"));
    }
    if rule.matches.is_empty() || rule.not_match.is_empty() {
        return Err(format!("the prefix `{prefix}` needs an example of both `match` and `not-match`"));
    }
    if let Some(example) = rule.matches.iter().find(|example| !has_prefix(example, &rule.prefix)) {
        let example = sanitize_cut(&example.join(" "), 80);
        return Err(format!("the prefix `{prefix}` does not match its own example `{example}`"));
    }
    if let Some(example) = rule.not_match.iter().find(|example| has_prefix(example, &rule.prefix)) {
        let example = sanitize_cut(&example.join(" "), 80);
        return Err(format!(
            "the prefix `{prefix}` matches `{example}`, of which its `not-match` says that it does not"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_contracts::v1::{CwdMode, PolicyExecution, Side};

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn rule(prefix: &str, matches: &str, not_match: &str) -> PolicyPrefix {
        PolicyPrefix {
            prefix: words(prefix),
            matches: vec![words(matches)],
            not_match: vec![words(not_match)],
        }
    }

    fn policy(profile: Option<PermissionProfileId>, classes: &[LensClass]) -> ExecutionPolicy {
        let execution = PolicyExecution {
            profile,
            lens_classes: classes.to_vec(),
            allow: vec![rule("ruff check", "ruff check .", "ruff format")],
            ..PolicyExecution::default()
        };
        ExecutionPolicy::from_file(&PolicyFile { execution, ..PolicyFile::default() })
    }

    fn plan(commands: &[Vec<String>]) -> Vec<ExecutionCommandSpec> {
        let spec = |(ordinal, command): (usize, &Vec<String>)| ExecutionCommandSpec {
            ordinal: ordinal as u64,
            command: command.clone(),
            cwd_mode: CwdMode::EphemeralWorktree,
            purpose: "lint".to_owned(),
            directory: String::new(),
            side: Side::Head,
        };
        commands.iter().enumerate().map(spec).collect()
    }

    impl ExecutionPolicy {
        fn of_lint(&self, commands: &[ExecutionCommandSpec]) -> Permission {
            self.permission("lint", LensClass::Style, commands)
        }
    }

    #[test]
    fn nothing_is_executed_unless_profile_and_class_both_say_so() {
        let network_off = Some(PermissionProfileId::ExecSandboxedNetworkOff);
        let ruff = plan(&[words("ruff check .")]);
        let denied = |permission| matches!(permission, Permission::Denied(_));
        assert!(denied(policy(None, &[LensClass::Style]).of_lint(&ruff)));
        assert!(denied(policy(Some(PermissionProfileId::ReadOnly), &[LensClass::Style]).of_lint(&ruff)));
        assert!(denied(policy(network_off, &[]).of_lint(&ruff)));
        assert!(denied(policy(network_off, &[LensClass::Security]).of_lint(&ruff)));
        assert_eq!(policy(network_off, &[LensClass::Style]).of_lint(&ruff), Permission::Granted);
        assert_eq!(policy(None, &[]).of_lint(&plan(&[])), Permission::Granted);
    }

    #[test]
    fn a_command_outside_every_prefix_rejects_the_run() {
        let policy = policy(Some(PermissionProfileId::ExecSandboxed), &[LensClass::Style]);
        let violates = |commands: &[&str]| {
            let commands: Vec<Vec<String>> = commands.iter().map(|text| words(text)).collect();
            matches!(policy.of_lint(&plan(&commands)), Permission::Violation(_))
        };
        assert!(!violates(&["ruff check ."]));
        for command in
            ["ruff", "ruff format", "ruff  check", "./ruff check", "/usr/bin/ruff check", "ruff checks"]
        {
            assert!(violates(&[command]), "{command}");
        }
        assert!(violates(&["ruff check .", "sh -c true"]));
        assert!(violates(&["ruff check ."; 65]));
    }

    /// Whatever is changed about an allowed command's first words, it is not allowed any more.
    #[test]
    fn no_mutation_of_an_allowed_beginning_is_allowed() {
        let policy = policy(Some(PermissionProfileId::ExecSandboxed), &[LensClass::Style]);
        let mut tried = 0;
        for word in 0..2 {
            for position in 0..=5 {
                for byte in 1..=255u8 {
                    let mut command = words("ruff check .");
                    let mut bytes = command[word].clone().into_bytes();
                    let position = position.min(bytes.len());
                    for inserted in [true, false] {
                        if inserted {
                            bytes.insert(position, byte);
                        } else {
                            bytes.remove(position);
                            if position < bytes.len() {
                                bytes[position] = byte;
                            }
                        }
                        command[word] = String::from_utf8_lossy(&bytes).into_owned();
                        let same = command[..2] == words("ruff check")[..];
                        let granted = policy.of_lint(&plan(&[command.clone()])) == Permission::Granted;
                        assert_eq!(granted, same, "{command:?}");
                        tried += 1;
                    }
                }
            }
        }
        assert!(tried > 6_000);
    }

    #[test]
    fn a_rule_that_is_not_what_its_examples_say_is_refused() {
        assert_eq!(check_examples(&rule("ruff check", "ruff check", "ruff")), Ok(()));
        let wrong = [
            rule("ruff check", "ruff format", "ruff"),
            rule("ruff check", "ruff check .", "ruff check --fix"),
            rule("./ruff check", "./ruff check", "ruff"),
            PolicyPrefix { prefix: Vec::new(), ..rule("a", "a", "b") },
            PolicyPrefix { matches: Vec::new(), ..rule("a", "a", "b") },
            PolicyPrefix { not_match: Vec::new(), ..rule("a", "a", "b") },
        ];
        for rule in wrong {
            assert!(check_examples(&rule).is_err(), "{rule:?}");
        }
    }
}
