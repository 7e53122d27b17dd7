//! The upload against a service and a store in memory that behave, misbehave and lose answers.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::super::exchange::scripted::{Answer, Scripted, json as answer, lost, token};
use super::*;
use qa_core::canonical::sha256;
use qa_run::http::HttpError;

const SIGNED: &str = "https://store.example/c/b.zip?sv=1&sig=aB%2Bc%3D&se=2";

fn service(run_attempt: u64) -> RunService {
    let token = token("Actions.Results:run-1:job-2");
    RunService::new("https://github.com", Some("https://results.example/x/"), Some(&token), run_attempt)
        .unwrap()
}

fn send(http: &dyn Http, service: &RunService, bytes: &[u8]) -> Result<Uploaded, ArtifactError> {
    let name = ArtifactName::new("qa-skill-run").unwrap();
    let mut archive = bytes;
    let sha256 = sha256(bytes);
    let expires_at = Some("2026-12-21T00:07:08.226Z".to_owned());
    let size = bytes.len() as u64;
    upload(
        http,
        service,
        &mut Upload {
            name: &name,
            archive: &mut archive,
            bytes: size,
            sha256: &sha256,
            expires_at,
            seed: "7",
        },
    )
}

fn method(request: &HttpRequest) -> &str {
    request.url.rsplit('/').next().unwrap()
}

/// State of the artifact service and the blob store.
#[derive(Default)]
struct World {
    announced: bool,
    /// Id and digest.
    finished: Option<(u64, String)>,
    blocks: BTreeMap<String, Vec<u8>>,
    blob: Vec<u8>,
}

impl World {
    /// Acts on a request as the real ones do.
    fn act(&mut self, request: &HttpRequest) -> Answer {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        if let Some((_, query)) = request.url.split_once("&comp=") {
            return self.store(query, &request.body);
        }
        match method(request) {
            "CreateArtifact" if self.announced => answer(
                409,
                json!({"code": "already_exists", "msg": "an artifact with this name already exists on the workflow run"}),
            ),
            "CreateArtifact" => {
                self.announced = true;
                answer(200, json!({"ok": true, "signed_upload_url": SIGNED}))
            }
            "FinalizeArtifact" if self.finished.is_some() => answer(404, json!({"msg": "no such upload"})),
            "FinalizeArtifact" => {
                assert_eq!(body["hash"], format!("sha256:{}", sha256(&self.blob)));
                assert_eq!(body["size"], self.blob.len().to_string());
                self.finished = Some((101, body["hash"].as_str().unwrap().to_owned()));
                answer(200, json!({"ok": true, "artifact_id": "101"}))
            }
            "ListArtifacts" => {
                let item = |(id, digest): &(u64, String)| json!({"name": body["name_filter"], "databaseId": id.to_string(), "digest": digest});
                answer(200, json!({"artifacts": self.finished.iter().map(item).collect::<Vec<_>>()}))
            }
            "DeleteArtifact" => {
                self.announced = false;
                answer(200, json!({"ok": true, "artifact_id": "100"}))
            }
            other => panic!("{other}"),
        }
    }

    fn store(&mut self, query: &str, body: &[u8]) -> Answer {
        if let Some(id) = query.strip_prefix("block&blockid=") {
            self.blocks.insert(id.replace("%3D", "="), body.to_vec());
        } else {
            assert_eq!(query, "blocklist");
            let text = String::from_utf8(body.to_vec()).unwrap();
            self.blob = text
                .split("<Latest>")
                .skip(1)
                .flat_map(|part| self.blocks[part.split('<').next().unwrap()].clone())
                .collect();
        }
        Ok((201, Vec::new(), Vec::new()))
    }
}

/// A server that acts, and of some requests loses the answer.
fn losing(world: &Mutex<World>, lose: impl Fn(usize, &HttpRequest) -> bool + Send) -> impl Http {
    Scripted::new(move |number, request: &HttpRequest| {
        let answer = world.lock().unwrap().act(request);
        if lose(number, request) { lost() } else { answer }
    })
}

#[test]
fn an_artifact_is_announced_sent_in_blocks_and_made_final() {
    let bytes: Vec<u8> = (0..2 * BLOCK_BYTES + 5).map(|number| (number % 251) as u8).collect();
    let world = Mutex::new(World::default());
    let http = Scripted::new(|_, request: &HttpRequest| world.lock().unwrap().act(request));
    let service = service(1);
    assert_eq!(send(&http, &service, &bytes).unwrap(), Uploaded { id: 101, already_there: false });
    assert!(world.lock().unwrap().blob == bytes);
    const CALL: &str = "POST https://results.example/twirp/github.actions.results.api.v1.ArtifactService";
    let block = |number: u32| {
        format!(
            "PUT {SIGNED}&comp=block&blockid={}",
            in_query(&base64::engine::general_purpose::STANDARD.encode(format!("qa-skill-{number:06}")))
        )
    };
    assert_eq!(
        http.targets(),
        [
            format!("{CALL}/CreateArtifact"),
            block(0),
            block(1),
            block(2),
            format!("PUT {SIGNED}&comp=blocklist"),
            format!("{CALL}/FinalizeArtifact"),
        ]
    );
    let requests = http.requests.lock().unwrap();
    let created: Value = serde_json::from_slice(&requests[0].body).unwrap();
    assert_eq!(
        created,
        json!({
            "workflow_run_backend_id": "run-1", "workflow_job_run_backend_id": "job-2", "name": "qa-skill-run",
            "version": 7, "mime_type": "application/zip", "expires_at": "2026-12-21T00:07:08.226Z"
        })
    );
    for request in requests.iter() {
        let to_store = request.url.starts_with("https://store.example");
        assert_eq!(request.authorization.is_none(), to_store, "{}", request.url);
        assert!(request.body.len() <= BLOCK_BYTES);
        let names: Vec<&str> = request.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.contains(&"x-ms-version"), to_store, "{names:?}");
    }
    assert!(
        requests[4].headers.contains(&("x-ms-blob-content-type".to_owned(), "application/zip".to_owned()))
    );
}

#[test]
fn whichever_answer_is_lost_there_is_one_whole_artifact_in_the_end() {
    let bytes = vec![7; BLOCK_BYTES + 1];
    for lost_one in 0..5 {
        let world = Mutex::new(World::default());
        let http = losing(&world, move |number, _| number == lost_one);
        let uploaded = send(&http, &service(1), &bytes).unwrap();
        assert_eq!(uploaded.id, 101, "request {lost_one}");
        let world = world.lock().unwrap();
        assert!(world.blob == bytes && world.finished.is_some(), "request {lost_one}");
    }
}

#[test]
fn the_same_bytes_from_an_earlier_try_count_and_others_are_never_overwritten() {
    let world = Mutex::new(World::default());
    let http = losing(&world, |_, _| false);
    send(&http, &service(1), b"one").unwrap();
    assert_eq!(send(&http, &service(1), b"one").unwrap(), Uploaded { id: 101, already_there: true });
    for (attempt, reason) in [(1, "never overwritten"), (2, "an earlier attempt of this run")] {
        let error = send(&http, &service(attempt), b"two").unwrap_err();
        assert_eq!(error.code(), qa_contracts::codes::Code::ArtifactNameTaken);
        assert!(error.to_string().contains(reason), "{error}");
    }
    assert_eq!(world.lock().unwrap().blob, b"one");
    assert!(world.lock().unwrap().announced);
}

#[test]
fn an_unfinished_upload_of_somebody_else_is_not_removed() {
    let world = Mutex::new(World { announced: true, ..World::default() });
    let http = losing(&world, |_, _| false);
    let error = send(&http, &service(1), b"one").unwrap_err();
    assert!(
        matches!(&error, ArtifactError::NameTaken { reason, .. } if reason.contains("did not finish it")),
        "{error}"
    );
    assert!(world.lock().unwrap().announced);
}

#[test]
fn both_spellings_of_an_answer_are_read_and_an_odd_address_is_not_used() {
    let service = service(1);
    let http = Scripted::new(|_, request: &HttpRequest| match method(request) {
        "CreateArtifact" => answer(200, json!({"ok": true, "signedUploadUrl": SIGNED})),
        "FinalizeArtifact" => answer(200, json!({"ok": true, "artifactId": "9007199254740993"})),
        _ => Ok((201, Vec::new(), Vec::new())),
    });
    assert_eq!(send(&http, &service, b"x").unwrap().id, 9_007_199_254_740_993);
    for url in [
        "",
        "store.example/x?sig=1",
        "http://store.example/x?sig=1",
        "https://store.example/x",
        "file:///x?sig=1",
    ] {
        let http = Scripted::new(move |_, _: &HttpRequest| {
            answer(200, json!({"ok": true, "signed_upload_url": url}))
        });
        assert!(send(&http, &service, b"x").is_err(), "{url}");
        assert_eq!(http.targets().len(), 1, "{url}");
    }
}

#[test]
fn no_failure_shows_the_token_or_the_signature() {
    let service = service(1);
    let secret = service.token.expose().to_owned();
    for step in ["CreateArtifact", "comp=block&", "comp=blocklist", "FinalizeArtifact"] {
        for (status, body) in [
            (400, format!("{{\"msg\":\"bad {secret} sig=aB%2Bc%3D\"}}")),
            (403, format!("<Error>{SIGNED} {secret} aB%2Bc%3D</Error>")),
            (200, format!("{{\"ok\":false,\"msg\":\"{secret}\"}}")),
            (302, "{}".to_owned()),
        ] {
            let world = Mutex::new(World::default());
            let http = Scripted::new(|_, request: &HttpRequest| {
                let usual = world.lock().unwrap().act(request);
                if request.url.contains(step) {
                    Ok((status, Vec::new(), body.clone().into_bytes()))
                } else {
                    usual
                }
            });
            let result = send(&http, &service, b"x");
            let error = result.unwrap_err();
            let mut text = format!("{error} {error:?}");
            if step == "CreateArtifact" {
                // Nobody knows the signature yet, so only its place in an address tells it.
                text = text.replace("*** aB%2Bc%3D", "");
            }
            assert!(!text.contains(&secret) && !text.contains("aB%2Bc"), "{text}");
        }
    }
}

#[test]
fn a_cancelled_upload_says_so() {
    let http = Scripted::new(|_, _: &HttpRequest| Err(HttpError::Cancelled));
    assert_eq!(send(&http, &service(1), b"x").unwrap_err().code(), qa_contracts::codes::Code::Cancelled);
}
