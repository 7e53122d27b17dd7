//! Requests that get no answer until they are released, so that a test can kill the process that waits.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};

use super::server::{Response, Spoilt};

/// Counts requests and holds one of them. Its clones count and hold together.
#[derive(Clone, Default)]
pub(crate) struct Holder(Arc<(Mutex<Counted>, Condvar)>);

#[derive(Default)]
struct Counted {
    requests: usize,
    planned: Option<Planned>,
    is_released: bool,
}

struct Planned {
    request: usize,
    acts: bool,
    reached: Sender<String>,
}

impl Holder {
    /// Never answers the `request`-th request from now, counted from 1, after acting on it or not. The receiver is told its
    /// name when it has come that far.
    pub(crate) fn hold(&self, request: usize, acts: bool) -> Receiver<String> {
        let (reached, receiver) = channel();
        let mut counted = self.0.0.lock().unwrap();
        let request = counted.requests + request;
        counted.planned = Some(Planned { request, acts, reached });
        counted.is_released = false;
        receiver
    }

    /// Closes the connection of the request that is held.
    pub(crate) fn release(&self) {
        let mut counted = self.0.0.lock().unwrap();
        counted.planned = None;
        counted.is_released = true;
        self.0.1.notify_all();
    }

    /// Returns the number of requests so far.
    pub(crate) fn requests(&self) -> usize {
        self.0.0.lock().unwrap().requests
    }

    /// Answers a request, if it is not the one to hold.
    pub(crate) fn answer(&self, name: &str, act: impl FnOnce() -> Response) -> Response {
        let planned = {
            let mut counted = self.0.0.lock().unwrap();
            counted.requests += 1;
            let now = counted.requests;
            counted.planned.take_if(|planned| planned.request == now)
        };
        let Some(Planned { acts, reached, .. }) = planned else { return act() };
        if acts {
            let _lost_answer = act();
        }
        let _nobody_listens = reached.send(name.to_owned());
        let counted = self.0.0.lock().unwrap();
        let _released = self.0.1.wait_while(counted, |counted| !counted.is_released).unwrap();
        Response::new(500, "").spoilt(Spoilt::Reset)
    }
}
