//! A stand-in for the artifact service, its store, and the part of the REST interface that lists what is stored.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::server::{Request, Response, Server};
use super::sha256;

/// All of it on one port.
#[derive(Clone, Default)]
pub(crate) struct Hub(pub(crate) Arc<Mutex<HubState>>);

#[derive(Default)]
pub(crate) struct HubState {
    blocks: BTreeMap<String, Vec<u8>>,
    /// The finished archive of each name.
    pub(crate) blobs: BTreeMap<String, Vec<u8>>,
    joined: Vec<u8>,
    /// Listed artifacts, and the archive of each id.
    listed: Vec<Value>,
    archives: BTreeMap<u64, Vec<u8>>,
    /// Nothing can be stored.
    pub(crate) out_of_order: bool,
    /// URL that downloads are redirected to.
    pub(crate) store: String,
}

impl Hub {
    pub(crate) fn start(&self) -> Server {
        let hub = self.clone();
        Server::start(move |request| hub.answer(request))
    }

    pub(crate) fn answer(&self, request: &Request) -> Response {
        let mut state = self.0.lock().unwrap();
        let body = request.json();
        let name = body["name"].as_str().unwrap_or_default().to_owned();
        let path = request.path().to_owned();
        match path.rsplit('/').next().unwrap() {
            "CreateArtifact" if state.out_of_order => {
                Response::json(403, &json!({"code": "resource_exhausted", "msg": "the storage quota is hit"}))
            }
            "CreateArtifact" if state.blobs.contains_key(&name) => Response::json(
                409,
                &json!({"code": "already_exists", "msg": "an artifact with this name already exists"}),
            ),
            "CreateArtifact" => {
                let url = format!("http://{}/store?sig=signature", request.header("host").unwrap());
                Response::json(200, &json!({"ok": true, "signed_upload_url": url}))
            }
            "store" => {
                match request.query("blockid") {
                    Some(id) => drop(state.blocks.insert(id, request.body.clone())),
                    None => {
                        let list = String::from_utf8(request.body.clone()).unwrap();
                        let ids = list.split("<Latest>").skip(1).map(|part| part.split('<').next().unwrap());
                        let blocks: Option<Vec<_>> = ids.map(|id| state.blocks.get(id).cloned()).collect();
                        let Some(blocks) = blocks else {
                            return Response::new(400, "<Error><Code>InvalidBlockList</Code></Error>");
                        };
                        state.joined = blocks.concat();
                    }
                }
                Response::new(201, "")
            }
            "FinalizeArtifact" => {
                let joined = std::mem::take(&mut state.joined);
                if body["hash"] != format!("sha256:{}", sha256(&joined)) {
                    return Response::json(
                        400,
                        &json!({"code": "invalid_argument", "msg": "another digest"}),
                    );
                }
                state.blobs.insert(name, joined);
                Response::json(200, &json!({"ok": true, "artifact_id": "7"}))
            }
            "ListArtifacts" => {
                let items: Vec<Value> = state.blobs.iter().map(|(name, blob)| {
                    json!({"name": name, "database_id": "7", "digest": format!("sha256:{}", sha256(blob))})
                }).collect();
                Response::json(200, &json!({"artifacts": items}))
            }
            "artifacts" => {
                let first = request.query("page").as_deref() == Some("1");
                Response::json(
                    200,
                    &json!({"artifacts": if first { state.listed.clone() } else { Vec::new() }}),
                )
            }
            "zip" => {
                let id = path.rsplit('/').nth(1).unwrap();
                Response::new(302, "").header("location", format!("{}/archive/{id}?sig=x", state.store))
            }
            id if path.starts_with("/archive/") => {
                Response::new(200, state.archives[&id.parse::<u64>().unwrap()].clone())
            }
            _ => Response::json(404, &json!({"message": "Not Found"})),
        }
    }

    /// Puts an archive into the listing.
    pub(crate) fn list(&self, id: u64, archive: &[u8], change: impl Fn(&mut Value)) {
        let mut item = json!({
            "id": id, "name": "qa-skill-run", "size_in_bytes": archive.len(), "expired": false,
            "created_at": "2999-01-01T00:00:00Z", "digest": format!("sha256:{}", sha256(archive)),
            "workflow_run": {"id": 5, "repository_id": 9, "head_repository_id": 9}
        });
        change(&mut item);
        let mut state = self.0.lock().unwrap();
        state.listed.push(item);
        state.archives.insert(id, archive.to_vec());
    }
}

/// Unsigned, with the scope that names run and job.
pub(crate) fn runtime_token() -> String {
    "eyJhbGciOiJub25lIn0.eyJzY3AiOiJBY3Rpb25zLlJlc3VsdHM6cnVuOmpvYiJ9.c2lnbmF0dXJl".to_owned()
}
