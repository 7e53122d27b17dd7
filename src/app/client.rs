//! The HTTP client of a run, and the warning about an endpoint whose server announces its end.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::console::write_stderr;
use crate::config::in_actions;
use crate::faults;
use crate::net::{NetClient, Notices};
use qa_core::escape::{without_runner_commands, workflow_message, workflow_property};
use qa_core::masking::sanitize_cut;
use qa_run::control::Wait;
use qa_run::http::HttpError;
use qa_run::ports::Cancellation;

/// The client, with fault injection in builds that have it.
pub(crate) type Client = faults::Around<NetClient>;

/// Endpoints whose retirement was logged; a run has several clients.
static WARNED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Returns a client; `budget` is the time limit of all its requests together.
pub(crate) fn client(budget: Duration, cancellation: &Arc<Cancellation>) -> Result<Client, HttpError> {
    let notices = Notices { retiring: warn_once, waiting: announce };
    NetClient::new(budget, Arc::clone(cancellation), notices).map(faults::around)
}

/// Warns on standard error, which the runner reads commands from as well; standard output may be a document.
fn warn_once(endpoint: &str, notice: &str) {
    let mut warned = WARNED.lock().expect("nothing panics while it holds the set");
    if !warned.insert(without_numbers(endpoint)) {
        return;
    }
    let text = format!("the server announces the end of {endpoint} ({notice})");
    write_stderr(&if in_actions() {
        format!("::warning title={}::{}\n", workflow_property("qa-skill"), workflow_message(&text))
    } else {
        format!("warning: {text}\n")
    });
}

/// Prints a wait before it begins (S001-51).
fn announce(wait: &Wait<'_>) {
    write_stderr(&format!("{}\n", without_runner_commands(&sanitize_cut(&wait.to_string(), 300))));
}

/// Returns an endpoint with its numbers replaced, so that requests about different items have the same.
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
