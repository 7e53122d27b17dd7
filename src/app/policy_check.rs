//! `qa-skill policy-check`: checks the policy in force and shows what differs from its preset, or every setting.

use std::path::{Path, PathBuf};

use clap::Args;

use super::console::write_page;
use super::exit::{Exit, Failure};
use super::inputs::{Request, open, policy_in_file, read_policy, waivers_in_file};
use super::policy_difference::InForce;
use super::prepare::seconds_since_1970;
use super::run_args::BaseArgs;
use qa_contracts::codes::Code;
use qa_contracts::v1::{Registry, Rubric, Scope, SettingOrigin, Strength};
use qa_core::calendar;
use qa_core::canonical;
use qa_core::escape::visible;
use qa_core::policy::{GatePolicy, Overrides, POLICY_PATH, Policy, WAIVERS_PATH, in_scope};
use qa_formats::counted;
use qa_run::inputs::effective_policy;

/// Number of merged changes after which a rubric is reported as old.
const OLD_AFTER: usize = 400;
/// Number of first-parent commits that are searched for the rubric's.
const MAX_SEARCHED: usize = 20_000;

#[derive(Args)]
pub(super) struct PolicyCheckArgs {
    #[command(flatten)]
    base: BaseArgs,
    /// An uncommitted policy file, or a waivers.toml, instead of the policy of the base
    #[arg(long, value_name = "FILE", conflicts_with_all = ["base", "repo"])]
    file: Option<PathBuf>,
    /// List every setting, lens and rule with its value and its origin, instead of those that differ from the preset
    #[arg(long)]
    all: bool,
}

/// Runs the command.
pub(super) fn print(arguments: PolicyCheckArgs) -> Result<Exit, Failure> {
    let request = arguments.base.into_request("HEAD".to_owned());
    write_page(&policy_check(&request, arguments.file.as_deref(), arguments.all)?).map(|()| Exit::Pass)
}

/// Checks the policy of the base, or of an uncommitted file.
fn policy_check(request: &Request, file: Option<&Path>, all: bool) -> Result<String, Failure> {
    let registry = qa_lenses::registry();
    if let Some(path) = file.filter(|path| path.file_name() == Path::new(WAIVERS_PATH).file_name()) {
        return check_waivers(path, &registry);
    }
    let (mut age, mut working_tree) = (None, None);
    let (policy, source) = match file {
        Some(path) => {
            let file = policy_in_file(path, &request.overrides, &registry)?;
            (file.policy, file.display_path)
        }
        None => {
            let opened = open(request)?;
            let in_force =
                read_policy(&opened.objects, opened.resolved.sides(), &request.overrides, &registry)?;
            let text = in_force.texts.base_policy.as_deref();
            let file = if text.is_some() { POLICY_PATH } else { "no policy file, defaults" };
            let base = &opened.resolved.base;
            if let Some(rubric) = &in_force.rubric {
                let since = opened.repository.merged_since(base, &rubric.commit, MAX_SEARCHED)?;
                age = Some(describe_age(rubric, since));
            }
            let compared = InForce { policy: &in_force.policy, text };
            working_tree = compared.describe_working_tree(&opened.repository.root, request, &registry);
            (in_force.policy, format!("{file} at base {} {}", base.short(), opened.resolved.base_choice()))
        }
    };
    let settings = request.observer.settings(&policy);
    let shown = if all {
        Shown::everything(&policy, &settings)
    } else {
        Shown::differing(&policy, &settings, &registry)
    };
    let digest = canonical::digest(&policy).expect("settings have a canonical form");
    let mut text = format!("policy: {source}\ndigest: {digest}\n");
    text.push_str(&summary(&policy));
    text.push_str(&table(&policy, &shown));
    if !all {
        text.push_str(&format!(
            "\nEverything else is as the preset `{}` has it; --all lists it.\n",
            policy.preset.as_str()
        ));
    }
    text.extend(age);
    text.extend(working_tree);
    Ok(text)
}

/// Checks an uncommitted file of waivers.
fn check_waivers(path: &Path, registry: &Registry) -> Result<String, Failure> {
    let file = waivers_in_file(path, registry)?;
    let mut text = format!(
        "{}: {} can be read\n",
        visible(&path.display().to_string()),
        counted(file.waiver.len(), "waiver")
    );
    let today = calendar::day(seconds_since_1970(crate::config::now()));
    for waiver in &file.waiver {
        let passed = match waiver.expires < today {
            true => " (this date has passed: from a base of a later day on, it waives nothing)",
            false => "",
        };
        let line = format!(
            "  {}, until {}{passed}, by {}: {}",
            waiver.rule, waiver.expires, waiver.owner, waiver.reason
        );
        text.push_str(&visible(&line));
        text.push('\n');
    }
    Ok(text)
}

/// Settings, lenses and rules that are listed.
struct Shown<'a> {
    settings: Vec<&'a SettingOrigin>,
    lenses: Vec<&'a str>,
    rules: Vec<&'a str>,
}

impl<'a> Shown<'a> {
    fn everything(policy: &'a Policy, settings: &'a [SettingOrigin]) -> Self {
        Self {
            settings: settings.iter().collect(),
            lenses: policy.lenses.keys().map(String::as_str).collect(),
            rules: policy.rules.keys().map(String::as_str).collect(),
        }
    }

    /// Selects what a policy without any other line than its preset would not have.
    fn differing(policy: &'a Policy, settings: &'a [SettingOrigin], registry: &Registry) -> Self {
        let overrides = Overrides { preset: Some(policy.preset), ..Overrides::default() };
        let Ok(preset) = effective_policy(None, &overrides, registry) else {
            return Self::everything(policy, settings);
        };
        let lenses = policy.lenses.iter().filter(|(id, lens)| preset.lenses.get(*id) != Some(*lens));
        let rules = policy.rules.iter().filter(|(id, rule)| preset.rules.get(*id) != Some(*rule));
        Self {
            settings: settings.iter().filter(|setting| setting.origin != "default").collect(),
            lenses: lenses.map(|(id, _)| id.as_str()).collect(),
            rules: rules.map(|(id, _)| id.as_str()).collect(),
        }
    }
}

/// Counts the rules by their strength in product files, and names the lenses that are not enabled.
fn summary(policy: &Policy) -> String {
    let disabled: Vec<&str> =
        policy.lenses.iter().filter(|(_, lens)| !lens.enabled).map(|(id, _)| id.as_str()).collect();
    format!(
        "rules:  {} block in product files, {} are ratchets, {} advise, {} are off\n\
         lenses: {} enabled, {} required; not enabled: {}\n",
        rules_with(policy, Strength::Block),
        rules_with(policy, Strength::Ratchet),
        rules_with(policy, Strength::Advise),
        rules_with(policy, Strength::Off),
        policy.lenses.len() - disabled.len(),
        policy.required_lens_ids().len(),
        if disabled.is_empty() { "none".to_owned() } else { disabled.join(" ") }
    )
}

fn rules_with(policy: &Policy, strength: Strength) -> usize {
    let in_product = policy.rules.values().map(|strengths| in_scope(strengths, Scope::Product));
    in_product.filter(|each| *each == strength).count()
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

fn table(policy: &Policy, shown: &Shown<'_>) -> String {
    let mut text = String::new();
    if !shown.settings.is_empty() {
        text.push_str(&format!("\n{:<34} {:<22} {}\n", "setting", "value", "from"));
    }
    for setting in &shown.settings {
        text.push_str(&format!("{:<34} {:<22} {}\n", setting.name, setting.value, setting.origin));
    }
    if !shown.lenses.is_empty() {
        text.push_str(&format!("\n{:<20} {:<8} {:<9} {}\n", "lens", "enabled", "required", "ignores"));
    }
    for (id, lens) in policy.lenses.iter().filter(|(id, _)| shown.lenses.contains(&id.as_str())) {
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
    if !shown.rules.is_empty() {
        text.push_str(&format!("\n{:<42}", "rule"));
        Scope::ALL.iter().for_each(|scope| text.push_str(&format!(" {:<9}", scope.as_str())));
        text.push('\n');
    }
    for (id, strengths) in policy.rules.iter().filter(|(id, _)| shown.rules.contains(&id.as_str())) {
        text.push_str(&format!("{id:<42}"));
        Scope::ALL
            .iter()
            .for_each(|scope| text.push_str(&format!(" {:<9}", in_scope(strengths, *scope).as_str())));
        text.push('\n');
    }
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
