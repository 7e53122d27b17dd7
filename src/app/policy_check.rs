//! `qa-skill policy-check`: checks the policy in force and shows the origin of each setting.

use std::path::{Path, PathBuf};

use clap::Args;

use super::cli::BaseArgs;
use super::console::write_stdout;
use super::exit::{Exit, Failure};
use super::inputs::{Request, open, policy_in_file, read_policy};
use qa_contracts::codes::Code;
use qa_contracts::v1::{Rubric, Scope, SettingOrigin};
use qa_core::canonical;
use qa_core::policy::{GatePolicy, POLICY_PATH, Policy, in_scope};

/// Number of merged changes after which a rubric is reported as old.
const OLD_AFTER: usize = 400;
/// Number of first-parent commits that are searched for the rubric's.
const MAX_SEARCHED: usize = 20_000;

#[derive(Args)]
pub(super) struct PolicyCheckArgs {
    #[command(flatten)]
    base: BaseArgs,
    /// An uncommitted policy file, instead of the policy of the base
    #[arg(long, value_name = "FILE", conflicts_with_all = ["base", "repo"])]
    file: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn print(arguments: PolicyCheckArgs) -> Result<Exit, Failure> {
    let request = arguments.base.into_request("HEAD".to_owned());
    write_stdout(&policy_check(&request, arguments.file.as_deref())?).map(|()| Exit::Pass)
}

/// Checks the policy of the base, or of an uncommitted file.
fn policy_check(request: &Request, file: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let registry = qa_lenses::registry();
    let mut age = None;
    let (policy, source) = match file {
        Some(path) => {
            let file = policy_in_file(path, &request.overrides, &registry)?;
            (file.policy, file.display_path)
        }
        None => {
            let opened = open(request)?;
            let in_force =
                read_policy(&opened.objects, opened.resolved.sides(), &request.overrides, &registry)?;
            let file =
                if in_force.texts.base_policy.is_some() { POLICY_PATH } else { "no policy file, defaults" };
            let base = &opened.resolved.base;
            if let Some(rubric) = &in_force.rubric {
                let since = opened.repository.merged_since(base, &rubric.commit, MAX_SEARCHED)?;
                age = Some(describe_age(rubric, since));
            }
            (in_force.policy, format!("{file} at base {} {}", base.short(), opened.resolved.base_choice()))
        }
    };
    let mut text = table(&policy, &request.observer.settings(&policy), &source);
    text.extend(age);
    Ok(text.into_bytes())
}

/// Describes the rubric in force and the number of changes merged since it was mined.
fn describe_age(rubric: &Rubric, since: Option<usize>) -> String {
    let hash = rubric.rubric_hash.short();
    let named = format!(
        "\nrubric {} ({hash}): {} conventions of {}",
        rubric.rubric_version,
        rubric.conventions.len(),
        rubric.commit.short()
    );
    match since {
        Some(changes) if changes > OLD_AFTER => {
            format!("{named}, {changes} changes ago\n{}: {}\n", Code::RubricOld, Code::RubricOld.hint())
        }
        Some(changes) => format!("{named}, {changes} changes ago\n"),
        None => format!("{named}, which is not among the last {MAX_SEARCHED} changes here\n"),
    }
}

fn yes_or_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

fn table(policy: &Policy, settings: &[SettingOrigin], source: &str) -> String {
    let digest = canonical::digest(policy).expect("settings have a canonical form");
    let mut text =
        format!("policy: {source}\ndigest: {digest}\n\n{:<34} {:<22} {}\n", "setting", "value", "from");
    for setting in settings {
        text.push_str(&format!("{:<34} {:<22} {}\n", setting.name, setting.value, setting.origin));
    }
    text.push_str(&format!("\n{:<20} {:<8} {:<9} {}\n", "lens", "enabled", "required", "ignores"));
    for (id, lens) in &policy.lenses {
        text.push_str(&format!(
            "{id:<20} {:<8} {:<9} {}\n",
            yes_or_no(lens.enabled),
            yes_or_no(lens.required),
            lens.ignore.join(" ")
        ));
    }
    if !policy.gates.is_empty() {
        text.push_str(&format!("\n{:<20} {:<12} {:<16} {}\n", "gate", "tool", "format", "report"));
    }
    for (gate, settings) in &policy.gates {
        for report in &settings.reports {
            let format = report.format.as_deref().unwrap_or("its own");
            let base = match &report.base {
                Some(base) => format!(", base {base}"),
                None => String::new(),
            };
            text.push_str(&format!(
                "{:<20} {:<12} {format:<16} {}{base}\n",
                gate.as_str(),
                report.writer(),
                report.path
            ));
        }
    }
    let execution = &policy.execution;
    for (gate, settings) in policy.gates.iter().filter(|(_, settings)| !settings.run.is_empty()) {
        text.push_str(&format!(
            "{:<20} {:<12} {:<16} it runs the tool\n",
            gate.as_str(),
            settings.run.join(" "),
            "its own"
        ));
    }
    for (gate, settings) in &policy.gates {
        for command in &settings.commands {
            text.push_str(&format!(
                "{:<20} {:<12} {:<16} it runs {}\n",
                gate.as_str(),
                command.writer(),
                command.format.as_deref().unwrap_or("its own"),
                qa_core::escape::visible(&command.run.join(" "))
            ));
        }
    }
    if policy.gates.values().any(GatePolicy::has_commands) {
        let classes: Vec<&str> = execution.lens_classes.iter().map(|class| class.as_str()).collect();
        text.push_str(&format!("\n{:<20} {}\n", "profile", execution.profile.as_str()));
        text.push_str(&format!(
            "{:<20} {}\n",
            "lens classes",
            if classes.is_empty() { "none".to_owned() } else { classes.join(" ") }
        ));
        for rule in &execution.allow {
            text.push_str(&format!(
                "{:<20} {}\n",
                "allowed",
                qa_core::escape::visible(&rule.prefix.join(" "))
            ));
        }
    }
    if !policy.models.is_empty() {
        text.push_str(&format!("\n{:<20} {:<18} {:<34} {}\n", "model", "provider", "id", "endpoint"));
    }
    for (name, model) in &policy.models {
        let endpoint = model.endpoint.as_deref().unwrap_or("its own");
        text.push_str(&format!(
            "{name:<20} {:<18} {:<34} {endpoint}\n",
            model.provider.as_str(),
            model.model
        ));
    }
    text.push_str(&format!("\n{:<42}", "rule"));
    Scope::ALL.iter().for_each(|scope| text.push_str(&format!(" {:<9}", scope.as_str())));
    text.push('\n');
    for (id, strengths) in &policy.rules {
        text.push_str(&format!("{id:<42}"));
        Scope::ALL
            .iter()
            .for_each(|scope| text.push_str(&format!(" {:<9}", in_scope(strengths, *scope).as_str())));
        text.push('\n');
    }
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
}
