//! Waits between attempts at requests to infrastructure (decision C-2), with seeded jitter, so that a replay waits alike.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use qa_core::canonical;

/// Waits between six attempts in seconds, before jitter.
const SECONDS: [u64; 5] = [1, 2, 4, 8, 16];

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

/// Returns the wait before attempt `attempt + 2` of an operation, or `None` if there is no further attempt. The jitter of
/// up to a tenth either way spreads shards and is the same for the same run.
pub fn backoff(seed: &str, operation: &str, attempt: usize) -> Option<Duration> {
    let base = SECONDS.get(attempt)? * 1000;
    let digest = canonical::digest(&(seed, operation, attempt as u64)).expect("texts have a canonical form");
    let byte = u64::from_str_radix(&digest.as_str()[..4], 16).expect("a digest is hexadecimal");
    let spread = base / 5;
    Some(Duration::from_millis(base - base / 10 + byte * spread / 0xffff))
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
    fn five_waits_double_within_a_tenth_and_are_the_same_for_the_same_run() {
        for (attempt, seconds) in [1u64, 2, 4, 8, 16].into_iter().enumerate() {
            let waited = backoff("key", "create", attempt).unwrap().as_millis() as u64;
            assert!((seconds * 900..=seconds * 1100).contains(&waited), "{waited}");
            assert_eq!(backoff("key", "create", attempt), backoff("key", "create", attempt));
        }
        assert_eq!(backoff("key", "create", 5), None);
        assert_ne!(backoff("key", "create", 4), backoff("other", "create", 4));
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
