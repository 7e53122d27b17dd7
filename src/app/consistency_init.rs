//! `qa-skill consistency-init`: drafts a rubric of the conventions that a commit and its history follow.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;

use super::console;
use super::exit::{Exit, Failure};
use super::inputs::rubric_at;
use super::progress::TerminalProgress;
use crate::git::{GitObjects, OpenRepository};
use crate::store::rubrics;
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::schema;
use qa_contracts::v1::{Convention, Rubric, RubricDifference, RubricDraft, Strength};
use qa_core::canonical;
use qa_core::escape::visible;
use qa_core::policy::{Overrides, POLICY_PATH};
use qa_core::rubric;
use qa_run::inputs::effective_policy;
use qa_run::keys::ENGINE_VERSION;
use qa_run::mining::{Mining, MiningReport};
use qa_run::ports::{Cancellation, Objects};

#[derive(Args)]
pub(crate) struct InitArgs {
    /// The repository, or any directory inside its checkout
    #[arg(long, default_value = ".", value_name = "DIR")]
    repo: PathBuf,
    /// The commit whose conventions are drafted: a branch, tag or commit
    #[arg(long, default_value = "HEAD", value_name = "REV")]
    base: String,
    /// Directory of the draft; by default .qa-skill/rubrics/drafts in the checkout
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Number of merged changes that each convention is tested on, at most half of the history
    #[arg(long, default_value_t = 400, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=5000))]
    history: u64,
    /// Number of worker threads; the result does not depend on it
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64))]
    jobs: u64,
    /// Hide the progress
    #[arg(long, short)]
    quiet: bool,
}

/// Drafts the rubric and writes it.
pub(crate) fn write_draft(arguments: &InitArgs, cancellation: &Cancellation) -> Result<Exit, Failure> {
    let repository = OpenRepository::discover(&arguments.repo)?;
    let named = visible(&arguments.base);
    let commit = repository.commit_named(&arguments.base)?.ok_or_else(|| {
        Failure::usage(
            format!("`{named}` names no commit of this repository"),
            "pass --base with a commit, branch or tag",
        )
    })?;
    let objects = GitObjects::new(&repository)?;
    let progress = TerminalProgress::new(arguments.quiet);
    let draft = draft(&repository, &objects, &commit, arguments, cancellation, &progress);
    progress.clear();
    let draft = draft?;
    let directory = match &arguments.out {
        Some(directory) => {
            std::fs::create_dir_all(directory)
                .map_err(|error| console::write_failure(&directory.display().to_string(), &error))?;
            directory.clone()
        }
        None => rubrics::drafts(&repository.root.join(".qa-skill"))?,
    };
    write(&draft, &directory)?;
    console::write_stdout(describe(&draft, arguments.history, &directory).as_bytes()).map(|()| Exit::Pass)
}

fn draft(
    repository: &OpenRepository,
    objects: &GitObjects,
    commit: &CommitId,
    arguments: &InitArgs,
    cancellation: &Cancellation,
    progress: &TerminalProgress,
) -> Result<RubricDraft, Failure> {
    let registry = qa_lenses::registry();
    let text = super::inputs::text_in_force(objects, commit, POLICY_PATH)?;
    let policy = effective_policy(text.as_deref(), &Overrides::default(), &registry)
        .map_err(|error| Failure::policy(POLICY_PATH, &error))?;
    let most = usize::try_from(arguments.history).unwrap_or(usize::MAX);
    // Conventions are tested on changes after the commit that they are mined from, so that commit needs a history too.
    let line = repository.merged(commit.as_str(), most.saturating_mul(2))?;
    let tested = most.min(line.len() / 2);
    let history: Vec<(CommitId, CommitId)> =
        line.into_iter().take(tested).map(|merged| (merged.resolved.head, merged.resolved.base)).collect();
    let mining = Mining {
        objects,
        commit,
        history: &history,
        scopes: &policy.scope_globs(),
        workers: arguments.jobs,
        cancellation,
        progress,
    };
    let MiningReport { mined, files_read, files_left_out, changes } = mining.mine()?;
    let newest = newest_rubric(objects, commit)?;
    Ok(RubricDraft {
        schema_version: Default::default(),
        draft_version: match &newest {
            Some(rubric) => rubric.rubric_version + 1,
            None => 1,
        },
        engine_version: ENGINE_VERSION.to_owned(),
        commit: commit.clone(),
        commit_time: repository.time_of(commit)?,
        changes,
        files_read,
        files_left_out,
        difference: newest.map(|rubric| difference(&rubric, &mined.conventions)),
        conventions: mined.conventions,
        rejected: mined.rejected,
    })
}

/// Returns the newest frozen rubric of a commit.
fn newest_rubric(objects: &GitObjects, commit: &CommitId) -> Result<Option<Rubric>, Failure> {
    let names = objects.files_in(commit, rubric::RUBRICS)?;
    let Some(version) = names.iter().filter_map(|(name, _)| rubric::version_of(name)).max() else {
        return Ok(None);
    };
    let text = rubric_at(objects, commit, &rubric::path_of(version))?;
    let rubric = rubric::parse(text.as_deref(), version, None);
    rubric.map(Some).map_err(|error| {
        let reason = visible(&error.to_string());
        Failure::with_code(error.code(), format!("failed to read the rubric: {reason}"))
    })
}

fn difference(frozen: &Rubric, drafted: &[Convention]) -> RubricDifference {
    let now: BTreeMap<&str, &Convention> =
        drafted.iter().map(|convention| (convention.id.as_str(), convention)).collect();
    let frozen_ids = frozen.conventions.iter().map(|convention| &convention.id);
    let known: BTreeSet<&String> = frozen_ids.chain(&frozen.rejected).collect();
    let added = drafted.iter().filter(|convention| !known.contains(&convention.id));
    let gone = frozen.conventions.iter().filter(|convention| !now.contains_key(convention.id.as_str()));
    let fallen = frozen.conventions.iter().filter_map(|was| {
        let is = now.get(was.id.as_str())?;
        (is.confidence_permille < was.confidence_permille).then(|| {
            let (from, to) = (was.confidence_permille, is.confidence_permille);
            format!("{}: {from} ‰ before, {to} ‰ now", was.statement)
        })
    });
    RubricDifference {
        rubric_version: frozen.rubric_version,
        added: added.map(|convention| convention.statement.clone()).collect(),
        gone: gone.map(|convention| convention.statement.clone()).collect(),
        fallen: fallen.collect(),
    }
}

fn name_of(draft: &RubricDraft, ending: &str) -> String {
    format!("{}-{}.{ending}", draft.draft_version, draft.commit.short())
}

fn write(draft: &RubricDraft, directory: &Path) -> Result<(), Failure> {
    let value = serde_json::to_value(draft).expect("contract types are JSON");
    let schema = schema::find("rubric-draft.v1").expect("the schema is built in");
    if let Some(fault) = schema.faults(&value).first() {
        let message = format!("the draft does not match its schema at {}: {}", fault.pointer, fault.message);
        return Err(Failure::with_code(Code::InternalError, message));
    }
    let mut json = canonical::to_vec(&value).expect("a draft has a canonical form");
    json.push(b'\n');
    console::write_document(&directory.join(name_of(draft, "json")), &json)?;
    let markdown = qa_formats::rubric_draft::markdown(draft);
    console::write_document(&directory.join(name_of(draft, "md")), markdown.as_bytes())?;
    let page = qa_formats::html::rubric::page(draft);
    console::write_document(&directory.join(name_of(draft, "html")), page.as_bytes())
}

fn count_by_strength(draft: &RubricDraft, strength: Strength) -> usize {
    draft.conventions.iter().filter(|convention| convention.strength == strength).count()
}

fn describe(draft: &RubricDraft, asked: u64, directory: &Path) -> String {
    let shown = visible(&directory.join(name_of(draft, "json")).display().to_string());
    let mut text = format!(
        "draft {} of {}: {} conventions to block, {} to advise, {} rejected; {} files, {} merged changes\n",
        draft.draft_version,
        draft.commit.short(),
        count_by_strength(draft, Strength::Block),
        count_by_strength(draft, Strength::Advise),
        draft.rejected.len(),
        draft.files_read,
        draft.changes,
    );
    if draft.changes < asked {
        text.push_str(
            "the history is short, so fewer conventions are proposed to block; in a shallow clone run `git fetch --unshallow` first\n",
        );
    }
    if let Some(difference) = &draft.difference {
        text.push_str(&format!(
            "since version {}: {} new, {} gone, {} followed less often\n",
            difference.rubric_version,
            difference.added.len(),
            difference.gone.len(),
            difference.fallen.len(),
        ));
    }
    text.push_str(&format!(
        "{shown}\nread the .md or .html beside it, then: qa-skill consistency-approve {shown}\n"
    ));
    text
}
