//! `qa-skill doctor`: sends one small request to each model of the policy and checks the reply; with `--repository` it checks the
//! setup of the gate instead.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::client::client;
use super::console;
use super::doctor_repository::check_repository;
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

/// Time limit of an attempt, even if the policy allows reviews more.
const DEADLINE: Duration = Duration::from_secs(60);
/// The two numbers that the model has to add.
const ADDENDS: [i64; 2] = [17, 25];

#[derive(Args)]
pub(super) struct DoctorArgs {
    /// Name of a model in the policy; by default all of them
    #[arg(value_name = "MODEL")]
    model: Option<String>,
    /// The repository, or any directory inside its checkout
    #[arg(long, default_value = ".", value_name = "DIR")]
    repo: PathBuf,
    /// The commit whose policy is read: a branch, tag or commit; by default origin/HEAD, origin/main, origin/master, or
    /// without a remote another branch called main or master
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// An uncommitted policy file, instead of the policy of the base
    #[arg(long, value_name = "FILE", conflicts_with_all = ["base", "repo"])]
    file: Option<PathBuf>,
    /// Print the requests without sending them
    #[arg(long)]
    dry_run: bool,
    /// Check the setup of the gate instead of the models: workflows or the pipeline, owners, policy and, on GitHub with a token in
    /// GITHUB_TOKEN, the rules of the default branch. Other forges' settings are not read
    #[arg(long, conflicts_with_all = ["model", "file", "dry_run"])]
    repository: bool,
}

/// Checks the models one after the other. A failure of one does not stop the next.
pub(super) fn doctor(arguments: &DoctorArgs, cancellation: &Arc<Cancellation>) -> Result<Exit, Failure> {
    if arguments.repository {
        return check_repository(&arguments.repo, arguments.base.as_deref(), cancellation);
    }
    let policy = policy(arguments)?;
    let known: Vec<&str> = policy.models.keys().map(String::as_str).collect();
    if let Some(model) = arguments.model.as_ref().filter(|model| !known.contains(&model.as_str())) {
        let hint = match known.is_empty() {
            true => "it names none; docs/models.md shows how to name one".to_owned(),
            false => format!("it names {}", known.join(", ")),
        };
        return Err(Failure::usage(format!("the policy names no model `{}`", sanitize_cut(model, 80)), hint));
    }
    if known.is_empty() {
        console::write_stdout(
            b"the policy names no model, so no request was sent; docs/models.md shows how to name one\n\
              `qa-skill doctor --repository` checks workflows, owners and branch rules\n",
        )?;
        return Ok(Exit::Pass);
    }
    let mut exit = Exit::Pass;
    for (name, policy_model) in &policy.models {
        if arguments.model.as_ref().unwrap_or(name) != name {
            continue;
        }
        let model = Model::new(name, policy_model).expect("reading the policy has resolved it once");
        let request = model.request(&question());
        let key = provider_key(model.key_variable());
        console::write_stdout(describe_request(name, &model, &request, key.is_some()).as_bytes())?;
        if arguments.dry_run {
            continue;
        }
        let checked = match &key {
            Some(key) => {
                let exchange = send_question(&model, &request, key, cancellation)?;
                console::write_stdout(describe_exchange(&model, &exchange, key).as_bytes())?;
                check_reply(&model, &exchange, key)
            }
            None => Err(Problem {
                code: Code::ProviderAuthError,
                message: format!("{} is not set, so nothing was sent", model.key_variable()),
            }),
        };
        if checked.is_err() {
            exit = Exit::CouldNotComplete;
        }
        console::write_stdout(describe_result(&checked).as_bytes())?;
    }
    Ok(exit)
}

/// Reason why a model did not pass the check.
struct Problem {
    code: Code,
    message: String,
}

/// Sends the request, with retries.
fn send_question(
    model: &Model,
    request: &Encoded,
    key: &Secret,
    cancellation: &Arc<Cancellation>,
) -> Result<ModelExchange, Failure> {
    let binding = &model.binding;
    let deadline = DEADLINE.min(Duration::from_millis(binding.timeout_ms));
    let wait = match &binding.model {
        Some(model) => model.retry_after_cap_ms,
        None => 0,
    };
    let budget = (deadline + Duration::from_millis(wait)) * (u32::from(binding.retry_max) + 1);
    let http = client(budget, cancellation)?;
    console::write_stderr(&format!(
        "sending the request, with at most {} s per attempt\n",
        deadline.as_secs()
    ));
    let request = ModelRequest { provider: model.provider, binding, request, key, deadline };
    Ok(request.send(&http)?)
}

fn policy(arguments: &DoctorArgs) -> Result<Policy, Failure> {
    let registry = qa_lenses::registry();
    let overrides = Overrides::default();
    if let Some(path) = &arguments.file {
        return Ok(policy_in_file(path, &overrides, &registry)?.policy);
    }
    let request = Request::of_base(&arguments.repo, arguments.base.as_deref());
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
fn describe_request(name: &str, model: &Model, request: &Encoded, has_key: bool) -> String {
    let Model { binding, .. } = model;
    let Some(ModelBinding { surface, api_version, auth_scheme, sampling, effort, service_tier, .. }) =
        &binding.model
    else {
        return String::new();
    };
    let key = match has_key {
        true => format!("{} is set and is sent as {auth_scheme}", model.key_variable()),
        false => format!("{} is not set", model.key_variable()),
    };
    let lines = [
        ("provider", format!("{} {}, {surface}", binding.adapter_id, binding.adapter_version)),
        ("model", binding.model_id.clone()),
        ("address", request.url.clone()),
        ("version", or_not_sent(api_version.as_deref())),
        ("sampling", format!("{sampling}")),
        ("effort", or_not_sent(effort.map(qa_contracts::v1::Effort::as_str))),
        ("tier", or_not_sent(service_tier.as_deref())),
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

fn or_not_sent(value: Option<&str>) -> String {
    value.unwrap_or("not sent").to_owned()
}

/// Returns the retirement date of a model by the table, with a warning if it is near. Only this command compares it with the
/// clock; the output of a run follows from its commits.
fn retires(model_id: &str) -> String {
    const SOON_DAYS: i64 = 90;
    let Some(date) = models::find(models::bare(model_id)).and_then(|model| model.retires.as_deref()) else {
        return "no date known".to_owned();
    };
    let since = crate::config::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
    let today = i64::try_from(since).unwrap_or(0);
    let is_over = date <= calendar::day(today).as_str();
    let is_soon = date <= calendar::day(today + SOON_DAYS * 86_400).as_str();
    match (is_over, is_soon) {
        (true, _) => format!("{date}, which has passed; name another model on the base branch"),
        (false, true) => format!("{date}, within {SOON_DAYS} days; name another model on the base branch"),
        (false, false) => date.to_owned(),
    }
}

/// Describes the attempts and the reply line by line.
fn describe_exchange(model: &Model, exchange: &ModelExchange, key: &Secret) -> String {
    let mut text = String::new();
    for (index, attempt) in exchange.attempts.iter().enumerate() {
        let status = match attempt.status {
            Some(status) => format!("status {status}"),
            None => "no answer".to_owned(),
        };
        let code = match attempt.code {
            Some(code) => format!(", {code}"),
            None => String::new(),
        };
        text.push_str(&format!("  {:<10} {}: {status}{code}\n", "attempt", index + 1));
    }
    let Ok(reply) = &exchange.result else { return text };
    text.push_str(&format!("  {:<10} {}\n", "used", used(model, reply)));
    let notice = match &reply.echoed.model {
        None => "the answer does not name its model".to_owned(),
        Some(echoed) if model.is_alias_of(echoed) => {
            let code = Code::ModelAliasUnpinned;
            format!("{code}: {} answered; {}", masked_message(echoed, key), code.hint())
        }
        // The requested model, or another one, which the result reports.
        Some(_) => return text,
    };
    text + &format!("  {:<10} {notice}\n", "notice")
}

/// Masks and escapes a server's message.
fn masked_message(message: &str, key: &Secret) -> String {
    sanitize_cut(&key.masked_in(message), 300)
}

fn used(model: &Model, reply: &Reply) -> String {
    let cost = model.cost_micro_usd(reply.echoed.service_tier.as_deref(), reply.usage);
    let cost = match cost {
        Some(cost) => format!("{} USD at list price", qa_core::usage::usd(cost)),
        None => "cost unknown".to_owned(),
    };
    let (input, output) = (count_or_unknown(reply.usage.input), count_or_unknown(reply.usage.output));
    format!("{input} tokens in, {output} out, {cost}")
}

fn count_or_unknown(count: Option<u64>) -> String {
    match count {
        Some(count) => count.to_string(),
        None => "unknown".to_owned(),
    }
}

/// Checks that the reply is the correct sum, from the requested model or a version of it. This detects endpoints that
/// ignore the schema.
fn check_reply(model: &Model, exchange: &ModelExchange, key: &Secret) -> Result<(), Problem> {
    let reply = exchange
        .result
        .as_ref()
        .map_err(|failed| Problem { code: failed.code, message: masked_message(&failed.message, key) })?;
    let wanted = &model.binding.model_id;
    if let Some(echoed) = &reply.echoed.model
        && !model.is_answered_by(echoed)
    {
        let message = format!("{} answered instead of {wanted}", masked_message(echoed, key));
        return Err(Problem { code: Code::ProviderOutputInvalid, message });
    }
    let wanted = json!({ "sum": ADDENDS.iter().sum::<i64>() });
    // Parsed as strictly as a review's answer.
    if strict_json::parse(reply.text.as_bytes()).is_ok_and(|answer| answer == wanted) {
        return Ok(());
    }
    let message = format!("it answered `{}` instead of `{wanted}`", masked_message(&reply.text, key));
    Err(Problem { code: Code::ProviderOutputInvalid, message })
}

fn describe_result(checked: &Result<(), Problem>) -> String {
    match checked {
        Ok(()) => format!("  {:<10} the reply is correct\n", "result"),
        Err(Problem { code, message }) => {
            format!("  {:<10} {code}: {message}\n  {:<10} {}\n", "result", "", code.hint())
        }
    }
}
