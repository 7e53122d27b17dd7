//! The artifact service of the running workflow: where it is, who we are to it, and until when it keeps things.

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
    /// 1 unless the run was started again.
    pub(super) run_attempt: u64,
}

impl RunService {
    /// Reads the address and the token. `server` is the host of the repository: only github.com, its tenants and local
    /// stand-ins have this service, a GitHub Enterprise Server has not.
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
            missing(
                "ACTIONS_RUNTIME_TOKEN is not set; the runner gives it to actions and not to `run:` steps",
            )
        })?;
        let results_url = results_url.ok_or_else(|| missing("ACTIONS_RESULTS_URL is not set"))?;
        let (workflow_run, workflow_job_run) = backend_ids(token.expose())
            .ok_or_else(|| missing("ACTIONS_RUNTIME_TOKEN does not say which run and job it is for"))?;
        let origin = origin(results_url).ok_or_else(|| missing("ACTIONS_RESULTS_URL is not an address"))?;
        Ok(Self { origin, token: token.clone(), workflow_run, workflow_job_run, run_attempt })
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

/// Run and job from the token's scopes. Nobody but the service can check its signature, and the service does.
fn backend_ids(token: &str) -> Option<(String, String)> {
    let payload = token.split('.').nth(1)?.trim_end_matches('=');
    let bytes = URL_SAFE_NO_PAD.decode(payload).or_else(|_| STANDARD_NO_PAD.decode(payload)).ok()?;
    let claims: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let scope =
        claims.get("scp")?.as_str()?.split(' ').find(|scope| scope.starts_with("Actions.Results:"))?;
    let parts: Vec<&str> = scope.split(':').collect();
    match parts[..] {
        [_, run, job] if !run.is_empty() && !job.is_empty() => Some((run.to_owned(), job.to_owned())),
        _ => None,
    }
}

/// Returns the expiry of an artifact kept for `days`, and the days until then, at most as many as the repository
/// allows. Without `days` the service's own default applies.
pub(crate) fn expiry(now: SystemTime, days: Option<u64>, most: Option<u64>) -> Option<(String, u64)> {
    let days = days?.max(1).min(most.filter(|most| *most > 0).unwrap_or(u64::MAX)).min(400);
    Some((moment(now.checked_add(Duration::from_secs(days * 86_400))?)?, days))
}

/// A time after 1970 as RFC 3339 in UTC.
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
        assert_eq!(ids("Actions.Example Actions.Results:r-1:j-2"), Some(("r-1".into(), "j-2".into())));
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
        assert_eq!(expiry(now, Some(1), Some(90)), Some(("2026-12-27T00:07:08.226Z".into(), 1)));
        assert_eq!(expiry(now, Some(500), Some(3)), Some(("2026-12-29T00:07:08.226Z".into(), 3)));
        assert_eq!(expiry(now, Some(0), None).unwrap().1, 1);
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
