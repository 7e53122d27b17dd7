//! Changes run directories as somebody would who knows how they are made.

use std::io::Write;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{RunDir, qa_skill};

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn canonical(value: &Value) -> Vec<u8> {
    serde_json_canonicalizer::to_vec(value).unwrap()
}

/// The statement, which contains the run digest and is no part of it.
const STATEMENT: &str = "statement.intoto.json";

/// The members that may differ between two runs of one key.
fn volatile(file: &str) -> &'static [&'static str] {
    match file {
        "input.normalized.json" => {
            &["repoRoot", "baseRef", "headRef", "maxConcurrency", "artifactRoot", "testMergeSha", "settings"]
        }
        "metrics.json" => &["machine"],
        "qa-report.json" => &["timestamp", "duration_total_ms"],
        "trace.json" => &["baseRule", "baseCodes", "machine"],
        _ => &[],
    }
}

fn deterministic(name: &str, bytes: &[u8]) -> String {
    if !name.ends_with(".json") {
        return sha256(bytes);
    }
    let mut value: Value = serde_json::from_slice(bytes).unwrap();
    volatile(name).iter().for_each(|member| {
        value.as_object_mut().unwrap().remove(*member);
    });
    sha256(&canonical(&value))
}

/// Makes the manifest fit the files again, as a careful forger would.
pub(crate) fn repair(run: &RunDir, keep_deterministic: bool) {
    let mut hashes = run.json("hashes.json");
    let before = run.digests();
    let files: Vec<Value> = run
        .files()
        .into_iter()
        .filter(|name| name != "hashes.json" && name != STATEMENT)
        .map(|name| {
            let bytes = run.bytes(&name);
            let kept = before.get(&name).filter(|_| keep_deterministic).cloned();
            let deterministic = kept.unwrap_or_else(|| deterministic(&name, &bytes));
            serde_json::json!({
                "path": name, "bytes": bytes.len(), "full": sha256(&bytes), "deterministic": deterministic
            })
        })
        .collect();
    let list: Vec<Value> =
        files.iter().map(|file| serde_json::json!([file["path"], file["deterministic"]])).collect();
    hashes["runDigest"] = sha256(&canonical(&list.into())).into();
    hashes["files"] = files.into();
    write_json(run, "hashes.json", &hashes);
    if run.path(STATEMENT).exists() {
        let mut statement = run.json(STATEMENT);
        let named = &mut statement["predicate"]["inputAttestations"][0];
        named["digest"]["sha256"] = hashes["runDigest"].clone();
        named["uri"] = format!("urn:qa-skill:run:{}", hashes["executionKey"].as_str().unwrap()).into();
        write_json(run, STATEMENT, &statement);
    }
}

pub(crate) fn write_json(run: &RunDir, name: &str, value: &Value) {
    let mut bytes = canonical(value);
    bytes.push(b'\n');
    std::fs::write(run.path(name), bytes).unwrap();
}

/// Changes one member of one artifact and writes it back in canonical form.
pub(crate) fn tamper(run: &RunDir, name: &str, pointer: &str, to: Value) {
    let mut value = run.json(name);
    let member = value.pointer_mut(pointer).unwrap_or_else(|| panic!("{name} has no {pointer}"));
    assert_ne!(*member, to, "{name}#{pointer} says so already");
    *member = to;
    write_json(run, name, &value);
}

/// Makes the results of a forged run fit, difference by difference, as the program names them, until one names the code.
pub(crate) fn follow_differences(run: &RunDir, code: &str) {
    for _ in 0..10 {
        repair(run, false);
        run.verify().run().expect_code(4, "DETERMINISM_DRIFT_DETECTED");
        let report = qa_skill(["drift-check", "--format", "json"]).arg(&run.0).run().expect(4).json();
        let difference: &Value = &report["runs"][0]["difference"];
        let (path, pointer) = (difference["file"].as_str().unwrap(), difference["pointer"].as_str().unwrap());
        let derived = difference["derived"].as_str().unwrap();
        let mut file = run.json(path);
        let member = file.pointer_mut(pointer).unwrap();
        match serde_json::from_str(derived) {
            Ok(value) if value == code => return,
            Ok(value) => *member = value,
            // A list of another length: of codes there is one, and the next difference says which.
            Err(_) if ["/errorCodes", "/warningCodes"].iter().any(|end| pointer.ends_with(end)) => {
                *member = serde_json::json!(["NOTHING_TO_JUDGE"]);
            }
            Err(_) => panic!("{difference}"),
        }
        write_json(run, path, &file);
    }
    panic!("no difference names {code}");
}

/// Makes the names that follow from a run's trace fit it again, as if that run had really been made so.
pub(crate) fn rekey(run: &mut RunDir) {
    let mut trace = run.json("trace.json");
    trace["executionKeyPreimage"]["configHash"] = sha256(&canonical(&trace["configPreimage"])).into();
    let key = sha256(&canonical(&trace["executionKeyPreimage"]));
    trace["executionKey"] = key.as_str().into();
    write_json(run, "trace.json", &trace);
    tamper(run, "hashes.json", "/executionKey", key.as_str().into());
    repair(run, false);
    let renamed = run.0.with_file_name(key);
    std::fs::rename(&run.0, &renamed).unwrap();
    run.0 = renamed;
}

/// The archive of a run as an upload makes it: one directory, named by the key.
pub(crate) fn archive(run: &RunDir) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in run.files() {
        let path = format!("{}/{name}", run.0.file_name().unwrap().to_str().unwrap());
        writer.start_file(path, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(&run.bytes(&name)).unwrap();
    }
    writer.finish().unwrap().into_inner()
}
