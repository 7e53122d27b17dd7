//! `qa-skill doctor`: whether the models of the policy can be asked, and what would be sent to them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::client::client;
use super::console;
use super::exit::{Exit, Failure};
use super::inputs::{Request, open, policy_in_file, read_policy};
use crate::config::provider_key;
use qa_contracts::codes::Code;
use qa_contracts::secret::Secret;
use qa_contracts::strict_json;
use qa_contracts::v1::ModelBinding;
use qa_core::calendar;
use qa_core::escape::visible;
use qa_core::masking::sanitize_cut;
use qa_core::policy::{Overrides, Policy};
use qa_providers::contract::{Prompt, Reply};
use qa_providers::model::Model;
use qa_providers::models;
use qa_providers::request::Encoded;
use qa_run::ask::{ModelExchange, ModelRequest};
use qa_run::ports::Cancellation;

/// The longest wait for the one answer, whatever the policy lets a review take.
const DEADLINE: Duration = Duration::from_secs(60);
/// The two numbers that a model is to add.
const ADDENDS: [i64; 2] = [17, 25];

#[derive(Args)]
pub(super) struct DoctorArgs {
    /// Only this model of the policy; all of them without it
    #[arg(value_name = "MODEL")]
    model: Option<String>,
    /// The repository, or any directory inside its checkout
    #[arg(long, default_value = ".", value_name = "DIR")]
    repo: PathBuf,
    /// The base whose policy is read: a branch, tag or commit; by default origin/HEAD, origin/main, origin/master
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// A policy file that is not committed yet
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Say what would be sent, and send nothing
    #[arg(long)]
    dry_run: bool,
}

/// Checks models one after the other; one that cannot be asked is no reason to leave out the next.
pub(super) fn doctor(arguments: &DoctorArgs, cancellation: &Arc<Cancellation>) -> Result<Exit, Failure> {
    let policy = policy(arguments)?;
    let known: Vec<&str> = policy.models.keys().map(String::as_str).collect();
    if let Some(asked) = arguments.model.as_ref().filter(|asked| !known.contains(&asked.as_str())) {
        let hint = match known.is_empty() {
            true => "it names none; docs/models.md shows how".to_owned(),
            false => format!("it names {}", known.join(", ")),
        };
        return Err(Failure::usage(format!("the policy names no model `{}`", sanitize_cut(asked, 80)), hint));
    }
    if known.is_empty() {
        console::write_stdout(
            b"the policy names no model, so there is nothing to test; docs/models.md shows how to name one\n",
        )?;
        return Ok(Exit::Pass);
    }
    let mut exit = Exit::Pass;
    let chosen = |name: &str| arguments.model.as_deref().is_none_or(|asked| asked == name);
    for (name, stated) in policy.models.iter().filter(|(name, _)| chosen(name)) {
        let model = Model::of(name, stated).expect("reading the policy has resolved it once");
        let request = model.request(&question());
        let key = provider_key(model.key_variable());
        console::write_stdout(described(name, &model, &request, key.is_some()).as_bytes())?;
        if arguments.dry_run {
            continue;
        }
        let verdict = match &key {
            Some(key) => ask(&model, &request, key, cancellation)?,
            None => Err((
                Code::ProviderAuthError,
                format!("{} is not set, so nothing was sent", model.key_variable()),
            )),
        };
        if verdict.is_err() {
            exit = Exit::CouldNotComplete;
        }
        console::write_stdout(result(&verdict).as_bytes())?;
    }
    Ok(exit)
}

/// Sends the request, prints the attempts, and returns the result.
fn ask(
    model: &Model,
    request: &Encoded,
    key: &Secret,
    cancellation: &Arc<Cancellation>,
) -> Result<Result<(), (Code, String)>, Failure> {
    let binding = &model.binding;
    let deadline = DEADLINE.min(Duration::from_millis(binding.timeout_ms));
    let wait = binding.model.as_ref().map_or(0, |model| model.retry_after_cap_ms);
    let budget = (deadline + Duration::from_millis(wait)) * (u32::from(binding.retry_max) + 1);
    let http = client(budget, cancellation)?;
    console::say(&format!("asking, for at most {} s an attempt\n", deadline.as_secs()));
    let request = ModelRequest { provider: model.provider, binding, request, key, deadline };
    let asked = request.send(&http)?;
    console::write_stdout(answered(model, &asked, key).as_bytes())?;
    Ok(verdict(model, &asked, key))
}

fn policy(arguments: &DoctorArgs) -> Result<Policy, Failure> {
    let registry = qa_lenses::registry();
    let overrides = Overrides::default();
    if let Some(path) = &arguments.file {
        return Ok(policy_in_file(path, &overrides, &registry)?.0);
    }
    let request = Request {
        repository: arguments.repo.clone(),
        base: arguments.base.clone(),
        head: "HEAD".to_owned(),
        test_merge: None,
        overrides: overrides.clone(),
        artifact_root: None,
        refresh: false,
        head_trust: super::inputs::HeadTrust::Own,
        models: super::ask_models::ModelUse::default(),
        settings: Vec::new(),
    };
    let opened = open(&request)?;
    Ok(read_policy(&opened.objects, opened.resolved.sides(), &overrides, &registry)?.policy)
}

fn question() -> Prompt {
    Prompt {
        instructions: "Add the two numbers and answer with their sum, as JSON.".to_owned(),
        packet: format!("{} {}", ADDENDS[0], ADDENDS[1]),
        schema_name: "sum",
        schema: json!({
            "type": "object",
            "properties": { "sum": { "type": "integer" } },
            "required": ["sum"],
            "additionalProperties": false,
        }),
    }
}

/// Describes the request line by line.
fn described(name: &str, model: &Model, request: &Encoded, has_key: bool) -> String {
    let Model { binding, .. } = model;
    let Some(ModelBinding { surface, api_version, auth_scheme, sampling, effort, service_tier, .. }) =
        &binding.model
    else {
        return String::new();
    };
    let or_nothing = |value: Option<&str>| value.unwrap_or("not sent").to_owned();
    let key = match has_key {
        true => format!("{} is set and is sent as {auth_scheme}", model.key_variable()),
        false => format!("{} is not set", model.key_variable()),
    };
    let lines = [
        ("provider", format!("{} {}, {surface}", binding.adapter_id, binding.adapter_version)),
        ("model", binding.model_id.clone()),
        ("address", request.url.clone()),
        ("version", or_nothing(api_version.as_deref())),
        ("sampling", format!("{sampling}")),
        ("effort", or_nothing(effort.map(qa_contracts::v1::Effort::as_str))),
        ("tier", or_nothing(service_tier.as_deref())),
        ("retires", retires(&binding.model_id)),
        ("answer", format!("at most {} tokens within {} s", binding.max_tokens, binding.timeout_ms / 1000)),
        ("key", key),
        ("request", format!("{} bytes, {}", request.body.len(), request.request_hash.short())),
        ("body", String::from_utf8_lossy(&request.body).into_owned()),
    ];
    let mut text = format!("model {name}\n");
    for (label, value) in lines {
        text.push_str(&format!("  {label:<10} {}\n", visible(&value)));
    }
    text
}

/// Returns the retirement of a model by the table, and whether it is soon. Only this command uses the clock for it; the
/// output of a run follows from its commits.
fn retires(model_id: &str) -> String {
    const SOON_DAYS: i64 = 90;
    let Some(date) = models::find(models::bare(model_id)).and_then(|model| model.retires.as_deref()) else {
        return "no date known".to_owned();
    };
    let since = crate::config::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
    let today = i64::try_from(since).unwrap_or(0);
    let is_over = |days: i64| date <= calendar::day(today + days * 86_400).as_str();
    match (is_over(0), is_over(SOON_DAYS)) {
        (true, _) => format!("{date}, which is over; name another model on the base branch"),
        (false, true) => format!("{date}, within {SOON_DAYS} days; name another model on the base branch"),
        (false, false) => date.to_owned(),
    }
}

/// Describes the attempts and the reply line by line.
fn answered(model: &Model, asked: &ModelExchange, key: &Secret) -> String {
    let mut text = String::new();
    for (index, attempt) in asked.attempts.iter().enumerate() {
        let status = attempt.status.map_or("no answer".to_owned(), |status| format!("status {status}"));
        let code = attempt.code.map_or(String::new(), |code| format!(", {code}"));
        text.push_str(&format!("  {:<10} {}: {status}{code}\n", "attempt", index + 1));
    }
    let Ok(reply) = &asked.result else { return text };
    text.push_str(&format!("  {:<10} {}\n", "used", used(model, reply)));
    let notice = match &reply.echoed.model {
        None => "the answer does not say which model gave it".to_owned(),
        Some(echoed) if model.is_alias_of(echoed) => {
            let code = Code::ModelAliasUnpinned;
            format!("{code}: {} answered; {}", masked_message(echoed, key), code.hint())
        }
        // The same, or another one, which the result says.
        Some(_) => return text,
    };
    text + &format!("  {:<10} {notice}\n", "notice")
}

/// Masks and escapes a server's message.
fn masked_message(message: &str, key: &Secret) -> String {
    sanitize_cut(&key.masked_in(message), 300)
}

fn used(model: &Model, reply: &Reply) -> String {
    let tokens = |count: Option<u64>| count.map_or("unknown".to_owned(), |count| count.to_string());
    let cost = model.cost_micro_usd(reply.echoed.service_tier.as_deref(), reply.usage);
    let cost = cost.map_or("cost unknown".to_owned(), |cost| {
        format!("{} USD by its maker's list", qa_core::usage::usd(cost))
    });
    format!("{} tokens in, {} out, {cost}", tokens(reply.usage.input), tokens(reply.usage.output))
}

/// Checks that the reply is the correct sum, from the requested model or a version of it. This detects endpoints that
/// ignore the schema.
fn verdict(model: &Model, asked: &ModelExchange, key: &Secret) -> Result<(), (Code, String)> {
    let reply =
        asked.result.as_ref().map_err(|failed| (failed.code, masked_message(&failed.message, key)))?;
    let invalid = |said: String| Err((Code::ProviderOutputInvalid, said));
    let wanted = &model.binding.model_id;
    if let Some(echoed) = &reply.echoed.model
        && !model.is_answered_by(echoed)
    {
        return invalid(format!("{} answered in the place of {wanted}", masked_message(echoed, key)));
    }
    let wanted = json!({ "sum": ADDENDS.iter().sum::<i64>() });
    // As strictly as a review's answer is read: an array is no object, and nothing stands twice.
    if strict_json::parse(reply.text.as_bytes()).is_ok_and(|answer| answer == wanted) {
        return Ok(());
    }
    invalid(format!("it answered `{}`, and `{wanted}` was asked for", masked_message(&reply.text, key)))
}

fn result(verdict: &Result<(), (Code, String)>) -> String {
    match verdict {
        Ok(()) => format!("  {:<10} the reply is correct\n", "result"),
        Err((code, said)) => format!("  {:<10} {code}: {said}\n  {:<10} {}\n", "result", "", code.hint()),
    }
}
