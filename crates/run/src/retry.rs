//! Waits between attempts at requests (decision C-2): one loop for GitHub's API, git, artifacts and models, with seeded
//! jitter, so that a replay waits alike.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use super::control::Wait;
use super::http::{Http, HttpError};
use qa_contracts::codes::Code;
use qa_core::canonical;

/// Waits between seven attempts in seconds, before jitter (S001-48).
const SECONDS: [u64; 6] = [1, 2, 4, 8, 16, 32];

/// Budget of all waits for one server; a CI job is billed by the minute.
const TOTAL_WAIT: Duration = Duration::from_secs(120);

/// Budget of waits between attempts, shared by all requests to one server.
#[derive(Debug)]
pub struct WaitBudget(Mutex<Duration>);

impl Default for WaitBudget {
    fn default() -> Self {
        Self(Mutex::new(TOTAL_WAIT))
    }
}

impl WaitBudget {
    /// Takes a wait from the budget, or returns false if it does not fit.
    pub fn spend(&self, wait: Duration) -> bool {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match left.checked_sub(wait) {
            Some(rest) => {
                *left = rest;
                true
            }
            None => false,
        }
    }
}

/// Waits of one operation.
pub struct RetryPolicy<'a> {
    /// Name of the operation for messages and metrics.
    pub operation: &'a str,
    /// Waits before the retries, unless the server asks for a longer one.
    pub waits: Vec<Duration>,
    /// Longest wait that a server may ask for; a longer one ends the attempts.
    pub longest: Duration,
    /// Budget that the operation shares with others.
    pub budget: Option<&'a WaitBudget>,
}

impl<'a> RetryPolicy<'a> {
    /// Returns the policy of requests to infrastructure: six waits, each with a jitter of up to a tenth either way, which
    /// spreads shards and is the same for the same run (S001-49).
    pub fn infrastructure(seed: &str, operation: &'a str) -> Self {
        let waits = SECONDS.iter().enumerate();
        let waits = waits.map(|(attempt, seconds)| jittered(seed, operation, attempt, seconds * 1000));
        Self { operation, waits: waits.collect(), longest: TOTAL_WAIT, budget: None }
    }

    /// Takes each wait from a budget as well.
    pub fn within(self, budget: &'a WaitBudget) -> Self {
        Self { budget: Some(budget), ..self }
    }
}

fn jittered(seed: &str, operation: &str, attempt: usize, base: u64) -> Duration {
    let digest = canonical::digest(&(seed, operation, attempt as u64)).expect("texts have a canonical form");
    let byte = u64::from_str_radix(&digest.as_str()[..4], 16).expect("a digest is hexadecimal");
    let spread = base / 5;
    Duration::from_millis(base - base / 10 + byte * spread / 0xffff)
}

/// Outcome of one attempt.
pub struct Attempted<R> {
    /// Result of the operation if there is no further attempt.
    pub result: R,
    /// Set if another attempt may succeed.
    pub transient: Option<Transient>,
}

/// Reason why another attempt may succeed.
pub struct Transient {
    pub code: Code,
    /// Text that may be shown.
    pub reason: String,
    /// Wait that the server asks for.
    pub hint: Option<Duration>,
}

impl Transient {
    /// Describes a request without a response, or returns `None` if another attempt cannot succeed.
    pub fn unanswered(error: &HttpError) -> Option<Self> {
        error.is_transient().then(|| Self { code: error.code(), reason: error.to_string(), hint: None })
    }
}

/// Makes attempts until one is final or no wait is left, and returns the result of the last one. Every wait is announced. A
/// cancelled run ends the wait, and the next attempt reports it.
pub fn with_retries<R>(
    http: &dyn Http,
    policy: &RetryPolicy<'_>,
    mut attempt: impl FnMut() -> Attempted<R>,
) -> R {
    let mut waits = policy.waits.iter().zip(1..);
    loop {
        http.begin(policy.operation);
        let Attempted { result, transient } = attempt();
        let Some(Transient { code, reason, hint }) = transient else { return result };
        let hint = hint.unwrap_or_default();
        let Some((usual, retry)) = waits.next().filter(|_| hint <= policy.longest) else {
            return result;
        };
        let time = hint.max(*usual);
        if policy.budget.is_some_and(|budget| !budget.spend(time)) {
            return result;
        }
        let of = policy.waits.len();
        if !http.wait(&Wait { operation: policy.operation, retry, of, time, code, reason: &reason }) {
            return result;
        }
    }
}

/// Returns the wait that a server requests: `retry-after` in seconds, or the time until an exhausted rate limit resets.
/// The reset is an instant, so it is measured from the server's own `date`.
pub fn server_hint(header: impl Fn(&str) -> Option<String>) -> Option<Duration> {
    if let Some(seconds) = header("retry-after").and_then(|text| text.trim().parse().ok()) {
        return Some(Duration::from_secs(seconds));
    }
    if header("x-ratelimit-remaining")?.trim() != "0" {
        return None;
    }
    let reset: u64 = header("x-ratelimit-reset")?.trim().parse().ok()?;
    let reset = UNIX_EPOCH + Duration::from_secs(reset);
    let now = httpdate::parse_http_date(&header("date")?).ok()?;
    Some(reset.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_waits_double_within_a_tenth_and_are_the_same_for_the_same_run() {
        let waits = |seed: &str| RetryPolicy::infrastructure(seed, "create").waits;
        for (wait, seconds) in waits("key").iter().zip([1u64, 2, 4, 8, 16, 32]) {
            let waited = wait.as_millis() as u64;
            assert!((seconds * 900..=seconds * 1100).contains(&waited), "{waited}");
        }
        assert_eq!((waits("key").len(), waits("key")), (6, waits("key")));
        assert_ne!(waits("key"), waits("other"));
    }

    #[test]
    fn a_server_is_waited_for_as_long_as_it_asks() {
        let of = |headers: &'static [(&str, &str)]| {
            server_hint(|name| {
                headers.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(of(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        let reset = &[
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "784111787"),
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ];
        assert_eq!(of(reset), Some(Duration::from_secs(10)));
        assert_eq!(of(&[("x-ratelimit-remaining", "3"), ("x-ratelimit-reset", "784111787")]), None);
        assert_eq!(of(&[]), None);
    }
}
