//! Finds the artifact of a workflow run by its name.

use super::exchange::in_query;
use super::repository::{ListedArtifact, Page, Repository};
use super::{ArtifactError, ArtifactName, MOST_NAMES};

impl Repository<'_> {
    /// Returns the newest artifact of a name that a workflow run has, unless it expired. Includes `NAME-2`, `NAME-3` and so on: a job
    /// that runs again has to store its artifact under the next of them.
    pub(crate) fn artifact_of_run(
        &self,
        name: &ArtifactName,
        run: u64,
    ) -> Result<Option<ListedArtifact>, ArtifactError> {
        let Some(mut newest) = self.newest_of_name(name, run)? else { return Ok(None) };
        for ordinal in 2..=MOST_NAMES {
            let Some(further) = self.newest_of_name(&name.ordinal(ordinal), run)? else { break };
            if further.id > newest.id {
                newest = further;
            }
        }
        Ok(Some(newest))
    }

    /// Returns the newest artifact of an exact name that a workflow run has, unless it expired.
    fn newest_of_name(&self, name: &ArtifactName, run: u64) -> Result<Option<ListedArtifact>, ArtifactError> {
        let route = format!("actions/runs/{run}/artifacts?name={}&per_page=100", in_query(name.as_str()));
        let found = self.fetch_json::<Page>("list the artifacts of a run", &route)?.artifacts;
        let usable = found.into_iter().filter(|artifact| artifact.name == name.as_str() && !artifact.expired);
        Ok(usable.max_by_key(|artifact| artifact.id))
    }
}
