//! Findings of earlier reviews of an observed pull request, from its stored turns.
//!
//! A finding whose hunk did not change stays, whatever a model says later. Replies of earlier runs have these findings as
//! well, but a cache may be lost, and an artifact that the ledger names is there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::surfaces::annotate;
use super::turn_before::{BUDGET, TurnBefore, Turns};
use crate::app::client::client;
use crate::app::exit::Failure;
use crate::config::ActionEnvironment;
use qa_contracts::v1::ObserverLedger;
use qa_core::policy::Policy;
use qa_run::ports::Cancellation;
use qa_run::reviews::StoredHunk;

/// Finds what reviews of this turn found before. The reason why it is not known is a notice.
pub(super) fn find(
    environment: &ActionEnvironment,
    before: &TurnBefore,
    policy: &Policy,
    deferred: &[String],
    cancellation: &Arc<Cancellation>,
) -> Result<Vec<StoredHunk>, Failure> {
    let reviews = policy.lenses.iter().filter(|(_, lens)| lens.enabled && lens.review.is_some());
    let asked = reviews.map(|(id, _)| id.as_str()).filter(|id| !deferred.iter().any(|name| name == id));
    let turns = last_turns(&before.ledger, asked);
    let found = read(environment, before, &turns, cancellation);
    cancellation.check()?;
    Ok(found.unwrap_or_else(|reason| {
        let text = format!("findings of earlier reviews are those of stored replies alone: {reason}");
        annotate("notice", "qa-skill observer", &text);
        Vec::new()
    }))
}

/// Returns the reviews by the position of the last listed turn that did not defer them.
fn last_turns<'a>(
    ledger: &ObserverLedger,
    reviews: impl Iterator<Item = &'a str>,
) -> BTreeMap<usize, BTreeSet<&'a str>> {
    let mut turns: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    for review in reviews {
        let has_asked = |deferred: &[String]| !deferred.iter().any(|name| name == review);
        let position = ledger.entries.iter().rposition(|entry| has_asked(&entry.turn.deferred));
        if let Some(position) = position {
            turns.entry(position).or_default().insert(review);
        }
    }
    turns
}

fn read(
    environment: &ActionEnvironment,
    before: &TurnBefore,
    turns: &BTreeMap<usize, BTreeSet<&str>>,
    cancellation: &Arc<Cancellation>,
) -> Result<Vec<StoredHunk>, String> {
    let ledger = &before.ledger;
    let mut all = Vec::new();
    for (position, reviews) in turns {
        let fetched;
        let stored = if position + 1 == ledger.entries.len() {
            &before.stored
        } else {
            let http = client(BUDGET, cancellation).map_err(|error| error.to_string())?;
            let head = &ledger.entries[*position].turn.head_sha;
            let listed = Turns::new(environment, &http, cancellation)?.listed(ledger, head)?;
            fetched =
                listed.ok_or_else(|| format!("the artifact of {} is not there any more", head.short()))?;
            &fetched
        };
        let hunks = stored.reviewed_hunks(ledger.pull_request, cancellation);
        let hunks = hunks.map_err(|failure| failure.message)?;
        all.extend(hunks.into_iter().filter(|hunk| reviews.contains(hunk.findings.lens_id.as_str())));
    }
    Ok(all)
}
