//! The HTTP client of a run, and what people are told when a server says that an endpoint will end.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::console::say;
use crate::config::in_actions;
use crate::net::NetClient;
use qa_core::escape::{workflow_message, workflow_property};
use qa_run::http::HttpError;
use qa_run::ports::Cancellation;

/// Retirement notices that were logged, by endpoint; a run has several clients.
static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// A client all of whose requests together may take `budget`.
pub(crate) fn client(budget: Duration, cancellation: &Arc<Cancellation>) -> Result<NetClient, HttpError> {
    NetClient::new(budget, Arc::clone(cancellation), warn_once)
}

/// Warns on standard error, where the runner reads commands as well: standard output may be a document.
fn warn_once(endpoint: &str, said: &str) {
    let mut told = TOLD.lock().expect("nothing panics while it holds the set");
    if !told.insert(without_numbers(endpoint)) {
        return;
    }
    let text = format!("the server announces the end of {endpoint} ({said})");
    say(&if in_actions() {
        format!("::warning title={}::{}\n", workflow_property("qa-skill"), workflow_message(&text))
    } else {
        format!("warning: {text}\n")
    });
}

/// An endpoint whatever it is asked about.
fn without_numbers(endpoint: &str) -> String {
    let parts = endpoint.split('/').map(|part| match part.bytes().all(|byte| byte.is_ascii_digit()) {
        true => "N",
        false => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_endpoint_is_the_same_for_every_number() {
        let pages = [
            "GET https://a/repos/o/r/check-runs/12/annotations",
            "GET https://a/repos/o/r/check-runs/7/annotations",
        ];
        assert_eq!(without_numbers(pages[0]), without_numbers(pages[1]));
        assert_ne!(without_numbers(pages[0]), without_numbers("GET https://a/repos/o/r/check-runs"));
    }
}
