//! The artifact service of the running workflow: its URL, credentials and retention.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::ArtifactError;
use qa_contracts::secret::Secret;
use qa_core::calendar;
use qa_core::masking::sanitize_cut;

/// The service, as the environment of an action describes it.
#[derive(Debug, Clone)]
pub(crate) struct RunService {
    /// Scheme and host of the service.
    pub(super) origin: String,
    pub(super) token: Secret,
    pub(super) workflow_run: String,
    pub(super) workflow_job_run: String,
    /// 1 unless the run was restarted.
    pub(super) run_attempt: u64,
}

impl RunService {
    /// Parses the URL and the token. `server` is the host of the repository: github.com and its tenants have this service, a
    /// GitHub Enterprise Server does not.
    pub(crate) fn new(
        server: &str,
        results_url: Option<&str>,
        token: Option<&Secret>,
        run_attempt: u64,
    ) -> Result<Self, ArtifactError> {
        let host = server.parse::<http::Uri>().ok().and_then(|uri| Some(uri.host()?.to_ascii_lowercase()));
        let host = host.unwrap_or_else(|| "an unknown host".to_owned());
        if host != "github.com" && !host.ends_with(".ghe.com") && !host.ends_with(".localhost") {
            return Err(ArtifactError::UnsupportedHost { host: sanitize_cut(&host, 100) });
        }
        let token = token.ok_or_else(|| {
            missing("ACTIONS_RUNTIME_TOKEN is not set; the runner sets it for actions, not for `run:` steps")
        })?;
        let results_url = results_url.ok_or_else(|| missing("ACTIONS_RESULTS_URL is not set"))?;
        let ids = backend_ids(token.expose())
            .ok_or_else(|| missing("ACTIONS_RUNTIME_TOKEN does not name its run and job"))?;
        let origin = origin(results_url).ok_or_else(|| missing("ACTIONS_RESULTS_URL is not a URL"))?;
        Ok(Self {
            origin,
            token: token.clone(),
            workflow_run: ids.run,
            workflow_job_run: ids.job,
            run_attempt,
        })
    }
}

fn missing(text: &str) -> ArtifactError {
    ArtifactError::Environment(text.to_owned())
}

/// Returns the scheme, host and port of a URL, without its path, which is not the service's.
fn origin(url: &str) -> Option<String> {
    let uri: http::Uri = url.parse().ok()?;
    let scheme = uri.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https"))?;
    let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'))?;
    Some(format!("{scheme}://{authority}"))
}

/// Ids of a workflow run and its job.
#[derive(Debug, PartialEq, Eq)]
struct BackendIds {
    run: String,
    job: String,
}

/// Returns the ids in the token's scopes. Only the service can verify the token's signature, and it does.
fn backend_ids(token: &str) -> Option<BackendIds> {
    let payload = token.split('.').nth(1)?.trim_end_matches('=');
    let bytes = URL_SAFE_NO_PAD.decode(payload).or_else(|_| STANDARD_NO_PAD.decode(payload)).ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let scope =
        claims.get("scp")?.as_str()?.split(' ').find(|scope| scope.starts_with("Actions.Results:"))?;
    let parts: Vec<&str> = scope.split(':').collect();
    match parts[..] {
        [_, run, job] if !run.is_empty() && !job.is_empty() => {
            Some(BackendIds { run: run.to_owned(), job: job.to_owned() })
        }
        _ => None,
    }
}

/// Expiry of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expiry {
    /// RFC 3339 in UTC.
    pub(crate) moment: String,
    pub(crate) days: u64,
}

/// Returns the expiry of an artifact that is kept for `days`, or `most` of the repository if that is less. Without `days`
/// the service's own default applies.
pub(crate) fn expiry(now: SystemTime, days: Option<u64>, most: Option<u64>) -> Option<Expiry> {
    let days = days?.max(1).min(most.filter(|most| *most > 0).unwrap_or(u64::MAX)).min(400);
    Some(Expiry { moment: moment(now.checked_add(Duration::from_secs(days * 86_400))?)?, days })
}

/// Formats a time after 1970 as RFC 3339 in UTC.
pub(crate) fn moment(time: SystemTime) -> Option<String> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    Some(calendar::timestamp_millis(since))
}

#[cfg(test)]
mod tests {
    use super::super::exchange::scripted::token;
    use super::*;

    #[test]
    fn run_and_job_come_from_the_scope_of_three_parts() {
        let ids = |scopes: &str| backend_ids(token(scopes).expose());
        let expected = BackendIds { run: "r-1".to_owned(), job: "j-2".to_owned() };
        assert_eq!(ids("Actions.Example Actions.Results:r-1:j-2"), Some(expected));
        for scopes in [
            "",
            "Actions.Results",
            "Actions.Results:r",
            "Actions.Results:r:j:k",
            "Actions.Results::j",
            "Other:r:j",
        ] {
            assert_eq!(ids(scopes), None, "{scopes}");
        }
        for token in ["", "a", "a.b.c", "a.!!.c"] {
            assert_eq!(backend_ids(token), None, "{token}");
        }
    }

    #[test]
    fn only_hosts_that_have_the_service_are_asked() {
        let token = token("Actions.Results:r:j");
        let of =
            |server: &str| RunService::new(server, Some("https://results.example/path/"), Some(&token), 1);
        for server in
            ["https://github.com", "https://acme.ghe.com", "http://api.localhost:8080", "https://GitHub.com/"]
        {
            assert_eq!(of(server).unwrap().origin, "https://results.example", "{server}");
        }
        for server in [
            "https://ghes.example",
            "https://github.com.example",
            "https://notgithub.com",
            "",
            "https://ghe.com.evil",
        ] {
            assert!(matches!(of(server), Err(ArtifactError::UnsupportedHost { .. })), "{server}");
        }
        let missing = RunService::new("https://github.com", None, Some(&token), 1);
        assert!(matches!(missing, Err(ArtifactError::Environment(_))));
        let missing = RunService::new("https://github.com", Some("https://r"), None, 1);
        assert!(matches!(missing, Err(ArtifactError::Environment(_))));
    }

    #[test]
    fn an_end_is_within_what_the_repository_allows() {
        let now = UNIX_EPOCH + Duration::from_millis(1_798_243_628_226);
        assert_eq!(expiry(now, None, Some(90)), None);
        assert_eq!(
            expiry(now, Some(1), Some(90)),
            Some(Expiry { moment: "2026-12-27T00:07:08.226Z".to_owned(), days: 1 })
        );
        assert_eq!(
            expiry(now, Some(500), Some(3)),
            Some(Expiry { moment: "2026-12-29T00:07:08.226Z".to_owned(), days: 3 })
        );
        assert_eq!(expiry(now, Some(0), None).unwrap().days, 1);
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (4_107_542_399, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(moment(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap(), text);
        }
    }
}
