//! The one owner of reqwest: the one HTTP client, with its deadlines, limits and proxies.

mod client;

pub(crate) use client::{NetClient, Notices};
