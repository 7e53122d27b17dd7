//! GitHub's own artifact client and Microsoft's store: both read what we upload, and we read what they do.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::parts::packages;
use crate::support::server::Request;
use crate::support::{
    Files, Program, Random, Repo, Response, RunDir, Server, change, qa_skill, sha256, temp,
};

const ACCOUNT: &str = "qa";
/// The base64 form of "not a secret".
const KEY: &str = "bm90IGEgc2VjcmV0";
/// Unsigned, with the scope that names run and job.
const TOKEN: &str = "eyJhbGciOiJub25lIn0.eyJzY3AiOiJBY3Rpb25zLlJlc3VsdHM6cnVuOmpvYiJ9.c2lnbmF0dXJl";
const NAMES: [&str; 4] = ["ours", "theirs", "small", "tampered"];

/// The store, ended with the test.
struct Store {
    process: Child,
    url: String,
    _home: tempfile::TempDir,
}

impl Store {
    fn start(packages: &Path) -> Self {
        let home = temp();
        let mut process = Command::new("node")
            .arg(packages.join("node_modules/azurite/dist/src/blob/main.js"))
            .args([
                "--blobHost",
                "127.0.0.1",
                "--blobPort",
                "0",
                "--skipApiVersionCheck",
                "--disableTelemetry",
                "--inMemoryPersistence",
            ])
            .env("AZURITE_ACCOUNTS", format!("{ACCOUNT}:{KEY}"))
            .current_dir(home.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // It says where it listens once it does.
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = lines.find_map(|line| {
            line.unwrap().split_once("successfully listens on ").map(|(_, url)| url.to_owned())
        });
        let url = format!("{}/{ACCOUNT}", line.expect("the store did not start").trim());
        // Whatever it says later is read, so that it never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, url, _home: home }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _already_ended = self.process.kill();
        let _already_ended = self.process.wait();
    }
}

/// Runs a command of the script with the environment of a workflow's action.
fn client(packages: &Path, server: &str, arguments: &[&str]) -> Value {
    let output = Command::new("node")
        .args(["--input-type=module", "--eval", include_str!("artifact_client.mjs"), "--"])
        .args(arguments)
        .current_dir(packages)
        .env("ACTIONS_RUNTIME_TOKEN", TOKEN)
        .env("ACTIONS_RESULTS_URL", server)
        .env("GITHUB_SERVER_URL", "http://github.localhost")
        .env("GITHUB_WORKSPACE", packages)
        .env("GITHUB_RETENTION_DAYS", "90")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("RESULT "));
    let line = line.unwrap_or_else(|| panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr)));
    serde_json::from_str(line).unwrap()
}

/// The half of the service that is not the store.
#[derive(Clone, Default)]
struct Service(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    signed: BTreeMap<String, String>,
    /// Size and hash of each finished artifact, by name.
    finished: BTreeMap<String, (String, String)>,
}

impl Service {
    fn start(&self) -> Server {
        let service = self.clone();
        Server::start(move |request| service.answer(request))
    }

    fn answer(&self, request: &Request) -> Response {
        let mut state = self.0.lock().unwrap();
        let body = request.json();
        let name = body["name"].as_str().unwrap_or_default().to_owned();
        assert_eq!(request.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
        assert_eq!(
            (&body["workflow_run_backend_id"], &body["workflow_job_run_backend_id"]),
            (&json!("run"), &json!("job"))
        );
        match request.path().rsplit('/').next().unwrap() {
            "CreateArtifact" if state.finished.contains_key(&name) => Response::json(
                409,
                &json!({"code": "already_exists", "msg": "an artifact with this name already exists on the workflow run"}),
            ),
            "CreateArtifact" => {
                Response::json(200, &json!({"ok": true, "signed_upload_url": state.signed[&name]}))
            }
            "FinalizeArtifact" => {
                let text = |member: &str| body[member].as_str().unwrap().to_owned();
                state.finished.insert(name.clone(), (text("size"), text("hash")));
                Response::json(200, &json!({"ok": true, "artifact_id": id(&name).to_string()}))
            }
            "ListArtifacts" => {
                let items = state.finished.iter().map(|(name, (size, hash))| {
                    json!({
                        "workflow_run_backend_id": "run", "workflow_job_run_backend_id": "job",
                        "database_id": id(name).to_string(), "name": name, "size": size, "digest": hash
                    })
                });
                let wanted =
                    |item: &Value| body["id_filter"].is_null() || body["id_filter"] == item["database_id"];
                Response::json(200, &json!({"artifacts": items.filter(wanted).collect::<Vec<_>>()}))
            }
            "GetSignedArtifactURL" => Response::json(200, &json!({"signed_url": state.signed[&name]})),
            other => panic!("{other}"),
        }
    }
}

fn id(name: &str) -> usize {
    101 + NAMES.iter().position(|known| *known == name).unwrap()
}

fn upload(server: &Server, run: &RunDir, name: &str) -> Program {
    qa_skill(["upload", "--retention-days", "3", "--name", name])
        .arg(&run.0)
        .env("ACTIONS_RUNTIME_TOKEN", TOKEN)
        .env("ACTIONS_RESULTS_URL", format!("{}/", server.url()))
        .env("GITHUB_SERVER_URL", "http://github.localhost")
        .env("GITHUB_RETENTION_DAYS", "90")
}

/// A run whose archive is more than one block long: text that nothing can compress well.
fn large_run() -> Repo {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut random = Random(0xb10c);
    let mut files = Files::new();
    for number in 0..16 {
        let line = |_| -> String {
            let sign = |_| char::from(SIGNS[random.below(SIGNS.len())]);
            (0..48).map(sign).chain(['\n']).collect()
        };
        files = files.with(format!("data/{number}.txt"), (0..16_000).map(line).collect::<String>());
    }
    let repo = Repo::new();
    repo.change(&Files::from_texts(&[("a", "")]), &files.with("a", ""));
    repo.judge().run();
    repo
}

/// The members of a message and what kind of value each has.
fn shape(request: &Request) -> Vec<(String, &'static str)> {
    let body = request.json();
    let kind = |value: &Value| if value.is_string() { "text" } else { "number" };
    let members = body.as_object().unwrap().iter();
    members.map(|(name, value)| (name.clone(), kind(value))).collect()
}

#[test]
fn the_official_client_and_we_read_each_others_artifacts() {
    let Some(packages) = packages(&["@actions/artifact", "azurite"]) else { return };
    let store = Store::start(&packages);
    let service = Service::default();
    let server = service.start();
    let mut sign = vec!["sign", &store.url, ACCOUNT, KEY];
    sign.extend(NAMES);
    let signed = client(&packages, &server.url(), &sign);
    service.0.lock().unwrap().signed = serde_json::from_value(signed).unwrap();

    // Ours, read by them.
    let repo = large_run();
    let run = repo.run_dir();
    let said = upload(&server, &run, "ours").run().expect(0).text();
    let (size, hash) = service.0.lock().unwrap().finished["ours"].clone();
    assert!(size.parse::<u64>().unwrap() > 8 << 20, "one block is no test: {size}");
    assert!(said.contains(hash.strip_prefix("sha256:").unwrap()), "{said}");
    let listed = client(&packages, &server.url(), &["list"]);
    assert_eq!((&listed[0]["name"], &listed[0]["digest"]), (&json!("ours"), &json!(hash)));
    let place = repo.beside("downloaded");
    let downloaded = client(&packages, &server.url(), &["download", "101", place.to_str().unwrap(), &hash]);
    assert_eq!(downloaded["digestMismatch"], json!(false), "{downloaded}");
    let theirs = RunDir(place.join(run.0.file_name().unwrap()));
    assert_eq!(theirs.files(), run.files());
    assert!(run.files().iter().all(|name| theirs.bytes(name) == run.bytes(name)));
    qa_skill(["drift-check"]).arg(&place).run().expect(0);

    // Theirs, read by us.
    let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    repo.judge().run().expect(0);
    let run = repo.run_dir();
    let root = repo.beside("out/runs");
    let files: Vec<String> =
        run.files().iter().map(|name| run.path(name).to_str().unwrap().to_owned()).collect();
    let mut arguments = vec!["upload", "theirs", root.to_str().unwrap()];
    arguments.extend(files.iter().map(String::as_str));
    let uploaded = client(&packages, &server.url(), &arguments);
    assert_eq!(uploaded["id"], json!(102), "{uploaded}");
    let url = service.0.lock().unwrap().signed["theirs"].clone();
    let archive = fetch(&url);
    assert_eq!(format!("sha256:{}", sha256(&archive)), service.0.lock().unwrap().finished["theirs"].1);
    let path = repo.beside("theirs.zip");
    std::fs::write(&path, archive).unwrap();
    let report = qa_skill(["drift-check", "--format", "json"]).arg(&path).run().expect(0).json();
    assert_eq!((report["runs"].as_array().unwrap().len(), &report["status"]), (1, &json!("same")));

    // What both say to the service has the same members of the same kinds.
    for method in ["CreateArtifact", "FinalizeArtifact"] {
        let requests = server.requests();
        let of = |name: &str| {
            let found = requests
                .iter()
                .find(|request| request.path().ends_with(method) && request.json()["name"] == name);
            found.map(|request| {
                (shape(request), request.header("content-type").map(str::to_owned), request.path().to_owned())
            })
        };
        assert_eq!(of("ours"), of("theirs"), "{method}");
    }

    // A name that is taken is taken for both.
    assert!(upload(&server, &run, "small").run().expect(0).text().starts_with("uploaded"));
    assert!(upload(&server, &run, "small").run().expect(0).text().starts_with("already uploaded"));
    upload(&server, &run, "theirs").run().expect_code(3, "ARTIFACT_NAME_TAKEN");
    let mut again = arguments;
    again[1] = "ours";
    let refused = client(&packages, &server.url(), &again);
    assert!(refused["error"].as_str().unwrap().contains("already exists"), "{refused}");

    // The store checks the signature, and nothing of it is shown.
    let tampered = service.0.lock().unwrap().signed["tampered"].replace("sig=", "sig=AAAA");
    service.0.lock().unwrap().signed.insert("tampered".to_owned(), tampered.clone());
    let outcome = upload(&server, &run, "tampered").run().expect_code(3, "ARTIFACT_UPLOAD_FAILED");
    let signature = tampered.split("sig=").nth(1).unwrap().split('&').next().unwrap();
    assert!(outcome.stderr.contains("403") && !outcome.stderr.contains(signature), "{}", outcome.stderr);
}

/// A plain download, by another program.
fn fetch(url: &str) -> Vec<u8> {
    let script = "const answer = await fetch(process.argv[1]); process.stdout.write(Buffer.from(await answer.arrayBuffer()));";
    let output =
        Command::new("node").args(["--input-type=module", "--eval", script, "--", url]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
