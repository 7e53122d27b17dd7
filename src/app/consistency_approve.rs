//! `qa-skill consistency-approve`: freezes a new rubric from a draft and a person's decisions about it.

use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::console;
use super::exit::{Exit, Failure};
use crate::git::OpenRepository;
use crate::store::rubrics;
use qa_contracts::limits::MAX_RUBRIC_BYTES;
use qa_contracts::schema;
use qa_contracts::strict_json;
use qa_contracts::v1::{
    Convention, Decision, Rubric, RubricDecision, RubricDecisions, RubricDraft, Strength,
};
use qa_core::canonical;
use qa_core::classify::PathSet;
use qa_core::escape::visible;
use qa_core::rubric;

#[derive(Args)]
pub(crate) struct ApproveArgs {
    /// The draft, in JSON
    draft: PathBuf,
    /// The decisions, by the schema `rubric-decisions`; without this option they are asked for on the terminal
    #[arg(long, value_name = "FILE")]
    decisions: Option<PathBuf>,
    /// The repository, or any directory inside its checkout
    #[arg(long, default_value = ".", value_name = "DIR")]
    repo: PathBuf,
}

/// Reads or asks for the decisions, and freezes the next version.
pub(crate) fn freeze_rubric(arguments: &ApproveArgs) -> Result<Exit, Failure> {
    let root = OpenRepository::discover(&arguments.repo)?.root.join(".qa-skill");
    let draft: RubricDraft = read_document(&arguments.draft, "rubric-draft.v1")?;
    let decisions = match &arguments.decisions {
        Some(file) => read_document(file, "rubric-decisions.v1")?,
        None if std::io::stdin().is_terminal() => {
            let (mut input, mut output) = (std::io::stdin().lock(), std::io::stderr());
            match ask_decisions(&draft, &mut input, &mut output) {
                Some(decisions) => decisions,
                None => return Err(Failure::usage("the approval was cancelled", "nothing was written")),
            }
        }
        None => {
            return Err(Failure::usage(
                "there are no decisions, and standard input is not a terminal",
                "pass --decisions with a file, such as {\"schemaVersion\": \"rubric-decisions.v1\", \"others\": \"accept\"}",
            ));
        }
    };
    let names = rubrics::list(&root)?;
    let newest = names.iter().filter_map(|name| rubric::version_of(name)).max().unwrap_or(0);
    let frozen = apply_decisions(&draft, &decisions, draft.draft_version.max(newest + 1))?;
    let mut text = serde_json::to_string_pretty(&frozen).expect("contract types are JSON");
    text.push('\n');
    let name = format!("{}.json", frozen.rubric_version);
    let path = rubrics::freeze(&root, &name, text.as_bytes())?;
    let summary = format!(
        "froze version {}: {} conventions, {} rejected\n{}\nrubric hash           {}\nprompt template hash  {}\n\n\
         Commit it, and name it in .qa-skill/policy.toml:\n\n[consistency]\nrubric = {}\nhash = \"{}\"\n",
        frozen.rubric_version,
        frozen.conventions.len(),
        frozen.rejected.len(),
        visible(&path.display().to_string()),
        frozen.rubric_hash,
        frozen.prompt_template_hash,
        frozen.rubric_version,
        frozen.rubric_hash,
    );
    console::write_stdout(summary.as_bytes()).map(|()| Exit::Pass)
}

/// Reads a document of a schema.
fn read_document<T: serde::de::DeserializeOwned>(path: &Path, schema: &str) -> Result<T, Failure> {
    if let Err(error) = std::fs::metadata(path) {
        let path = visible(&path.display().to_string());
        let hint = "`qa-skill consistency-init` prints where it wrote the draft";
        return Err(Failure::usage(format!("failed to read {path}: {error}"), hint));
    }
    parse_document(path, schema).map_err(|reason| {
        let (path, reason) = (visible(&path.display().to_string()), visible(&reason));
        let hint = format!("`qa-skill schema {schema}` prints the schema");
        Failure::usage(format!("{path} is not a valid {schema}: {reason}"), hint)
    })
}

fn parse_document<T: serde::de::DeserializeOwned>(path: &Path, schema: &str) -> Result<T, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if metadata.len() > MAX_RUBRIC_BYTES as u64 {
        return Err(format!("it has more than {MAX_RUBRIC_BYTES} bytes"));
    }
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let value = strict_json::parse(&bytes).map_err(|error| error.to_string())?;
    let published = schema::find(schema).expect("the schema is built in");
    if let Some(first) = published.faults(&value).first() {
        return Err(format!("{} {}", first.pointer, first.message));
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}

/// Returns the rubric of a draft's accepted conventions.
fn apply_decisions(
    draft: &RubricDraft,
    decisions: &RubricDecisions,
    version: u64,
) -> Result<Rubric, Failure> {
    let mut by_id: BTreeMap<&str, &RubricDecision> = BTreeMap::new();
    for decision in &decisions.decisions {
        let id = visible(&decision.id);
        if !draft.conventions.iter().any(|convention| convention.id == decision.id) {
            return Err(Failure::usage(
                format!("the draft has no convention `{id}`"),
                "use the ids of this draft",
            ));
        }
        if by_id.insert(&decision.id, decision).is_some() {
            return Err(Failure::usage(
                format!("`{id}` has two decisions"),
                "keep one decision for each convention",
            ));
        }
    }
    let (mut conventions, mut rejected) = (Vec::new(), Vec::new());
    for convention in &draft.conventions {
        let decision = by_id.get(convention.id.as_str());
        let choice = match decision {
            Some(decision) => decision.decision,
            None => decisions.others,
        };
        match choice {
            Decision::Accept => conventions.push(edit_convention(convention, decision.copied())?),
            Decision::Reject => rejected.push(convention.id.clone()),
        }
    }
    rejected.sort();
    let mut frozen = Rubric {
        schema_version: Default::default(),
        rubric_version: version,
        rubric_hash: canonical::sha256(b""),
        prompt_template_hash: qa_lenses::reviews::conventions_template_hash(),
        draft_hash: canonical::digest(draft).expect("a draft has a canonical form"),
        engine_version: draft.engine_version.clone(),
        commit: draft.commit.clone(),
        commit_time: draft.commit_time,
        conventions,
        rejected,
    };
    frozen.rubric_hash = rubric::hash(&frozen);
    Ok(frozen)
}

fn edit_convention(
    convention: &Convention,
    decision: Option<&RubricDecision>,
) -> Result<Convention, Failure> {
    let mut convention = convention.clone();
    let Some(decision) = decision else { return Ok(convention) };
    if let Some(statement) = &decision.statement {
        convention.statement.clone_from(statement);
    }
    if let Some(paths) = &decision.paths {
        PathSet::new(paths.iter().map(String::as_str)).map_err(|error| {
            Failure::usage(visible(&error.to_string()), "correct the globs of the decision")
        })?;
        convention.paths.clone_from(paths);
    }
    match decision.strength {
        None => {}
        Some(strength @ (Strength::Block | Strength::Advise)) => convention.strength = strength,
        Some(Strength::Ratchet | Strength::Off) => {
            let message = format!("the strength of `{}` has to be block or advise", convention.id);
            return Err(Failure::usage(message, "to turn a convention off, reject it"));
        }
    }
    Ok(convention)
}

/// Asks about each convention. Returns `None` if the person quits.
fn ask_decisions(
    draft: &RubricDraft,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Option<RubricDecisions> {
    let mut decisions = RubricDecisions::default();
    let total = draft.conventions.len();
    for (index, convention) in draft.conventions.iter().enumerate() {
        let kept = convention.support - convention.exceptions;
        let shown = format!(
            "\n{} of {total}  {}\n  {} of {} places follow it; {}; proposed: {}\n",
            index + 1,
            visible(&convention.statement),
            kept,
            convention.support,
            visible(&convention.reason),
            convention.strength.as_str(),
        );
        output.write_all(shown.as_bytes()).ok()?;
        for witness in convention.exemplars.iter().take(2) {
            let line =
                format!("    {}:{}  {}\n", visible(&witness.path), witness.line, visible(&witness.text));
            output.write_all(line.as_bytes()).ok()?;
        }
        let Answer { decision, rest } = ask_decision(convention, input, output)?;
        decisions.decisions.extend(decision);
        if rest {
            decisions.others = Decision::Accept;
            break;
        }
    }
    Some(decisions)
}

struct Answer {
    decision: Option<RubricDecision>,
    /// True if all further conventions are accepted as proposed.
    rest: bool,
}

fn accepted(convention: &Convention) -> RubricDecision {
    RubricDecision {
        id: convention.id.clone(),
        decision: Decision::Accept,
        statement: None,
        paths: None,
        strength: None,
    }
}

fn accepted_with(convention: &Convention, strength: Strength) -> RubricDecision {
    RubricDecision { strength: Some(strength), ..accepted(convention) }
}

fn ask_decision(convention: &Convention, input: &mut dyn BufRead, output: &mut dyn Write) -> Option<Answer> {
    loop {
        output
            .write_all(b"  accept, block, advise, reject, edit, all the rest, quit [a/b/v/r/e/all/q]? ")
            .ok()?;
        output.flush().ok()?;
        let word = read_line(input)?;
        let decision = match word.as_str() {
            "a" | "accept" => accepted(convention),
            "b" | "block" => accepted_with(convention, Strength::Block),
            "v" | "advise" => accepted_with(convention, Strength::Advise),
            "r" | "reject" => RubricDecision { decision: Decision::Reject, ..accepted(convention) },
            "e" | "edit" => {
                output.write_all(b"  new sentence, or empty to keep it: ").ok()?;
                let statement = Some(read_line(input)?).filter(|text| !text.is_empty());
                output.write_all(b"  new globs, separated by spaces, or empty to keep them: ").ok()?;
                let globs: Vec<String> = read_line(input)?.split_whitespace().map(str::to_owned).collect();
                RubricDecision {
                    statement,
                    paths: Some(globs).filter(|globs| !globs.is_empty()),
                    ..accepted(convention)
                }
            }
            "all" => return Some(Answer { decision: None, rest: true }),
            "q" | "quit" => return None,
            _ => continue,
        };
        return Some(Answer { decision: Some(decision), rest: false });
    }
}

/// Reads a line, trimmed; `None` at the end of the input.
fn read_line(input: &mut dyn BufRead) -> Option<String> {
    let mut text = String::new();
    (input.read_line(&mut text).ok()? > 0).then(|| text.trim().to_owned())
}

#[cfg(test)]
#[path = "consistency_approve_tests.rs"]
mod tests;
