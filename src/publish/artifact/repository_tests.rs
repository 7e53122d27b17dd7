//! Listing and downloading against an interface in memory.

use std::io::Read;

use serde_json::{Value, json};

use super::super::exchange::scripted::{Answer, Scripted, json as answer, lost};
use super::*;
use qa_core::canonical::sha256;

fn repository(http: &dyn Http) -> Repository<'_> {
    Repository {
        http,
        api: "https://api.example".to_owned(),
        name: "o/r".to_owned(),
        token: Secret::new("tok-en"),
    }
}

fn item(id: u64) -> Value {
    json!({
        "id": id, "name": "qa-skill-run", "size_in_bytes": 5, "expired": false, "created_at": "2026-01-02T03:04:05Z",
        "digest": null, "expires_at": null, "node_id": "x",
        "workflow_run": {"id": 1, "repository_id": 7, "head_repository_id": 7, "head_sha": "0"}
    })
}

fn listed(value: Value) -> ListedArtifact {
    serde_json::from_value(value).unwrap()
}

fn name() -> ArtifactName {
    ArtifactName::new("qa-skill-run").unwrap()
}

fn fetched(
    http: &dyn Http,
    artifact: &ListedArtifact,
    cap: u64,
) -> Result<(Sha256Hex, Vec<u8>), ArtifactError> {
    let mut file = tempfile::tempfile().unwrap();
    let sha256 = repository(http).download(artifact, cap, &mut file)?;
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.read_to_end(&mut bytes).unwrap();
    Ok((sha256, bytes))
}

fn redirect(to: &str) -> Answer {
    Ok((302, vec![("location", to.to_owned())], b"moved".to_vec()))
}

#[test]
fn every_page_is_read_once_newest_first_and_no_more_than_fifty() {
    let http = Scripted::new(|number, _: &HttpRequest| {
        // The second page begins with what a new artifact pushed off the first.
        let from = if number == 0 { 0 } else { 99 };
        let items: Vec<Value> =
            (from..from + if number == 0 { 100 } else { 30 }).map(|id| item(1000 - id)).collect();
        answer(200, json!({"total_count": 129, "artifacts": items}))
    });
    let listing = repository(&http).list(&name(), "").unwrap();
    let ids: Vec<u64> = listing.artifacts.iter().map(|artifact| artifact.id).collect();
    assert_eq!((ids, listing.complete), ((872..=1000).rev().collect(), true));
    assert_eq!(
        http.targets()[1],
        "GET https://api.example/repos/o/r/actions/artifacts?name=qa-skill-run&per_page=100&page=2"
    );
    assert_eq!(http.requests.lock().unwrap()[0].authorization, Secret::new("Bearer tok-en"));

    let endless = Scripted::new(|number, _: &HttpRequest| {
        let items: Vec<Value> = (0..100).map(|id| item(number as u64 * 100 + id)).collect();
        answer(200, json!({"artifacts": items}))
    });
    let listing = repository(&endless).list(&name(), "").unwrap();
    assert_eq!((listing.artifacts.len(), listing.complete, endless.targets().len()), (5000, false, 50));
}

#[test]
fn pages_end_where_artifacts_are_too_old() {
    let http = Scripted::new(|number, _: &HttpRequest| {
        let date = format!("2026-11-{:02}T00:00:00Z", 20 - number);
        let item = |id| {
            let mut item = item(10_000 - number as u64 * 100 - id);
            item["created_at"] = date.clone().into();
            item
        };
        answer(200, json!({"artifacts": (0..100).map(item).collect::<Vec<Value>>()}))
    });
    let listing = repository(&http).list(&name(), "2026-11-19T00:00:00Z").unwrap();
    assert_eq!((listing.complete, http.targets().len()), (true, 3));
}

#[test]
fn artifacts_that_found_their_name_taken_are_listed_with_it() {
    let http = Scripted::new(|_, request: &HttpRequest| {
        let named = |wanted: &str, id| {
            let mut item = item(id);
            item["name"] = wanted.into();
            item
        };
        let items = if request.url.contains("name=qa-skill-run&") {
            vec![named("qa-skill-run", 5)]
        } else if request.url.contains("name=qa-skill-run-2&") {
            vec![named("qa-skill-run-2", 6), named("qa-skill-run-20", 7)]
        } else {
            Vec::new()
        };
        answer(200, json!({"artifacts": items}))
    });
    let listing = repository(&http).list_since(&name(), "").unwrap();
    let ids: Vec<u64> = listing.artifacts.iter().map(|artifact| artifact.id).collect();
    assert_eq!((ids, http.targets().len()), (vec![6, 5], 3));
}

#[test]
fn a_listing_that_fails_is_not_an_empty_one() {
    for (status, body) in [
        (404, json!({"message": "Not Found"})),
        (401, json!({})),
        (403, json!({"message": "tok-en"})),
        (200, json!({"message": "x"})),
        (500, json!({})),
    ] {
        let http = Scripted::new(move |_, _: &HttpRequest| answer(status, body.clone()));
        let error = repository(&http).list(&name(), "").unwrap_err();
        assert_eq!(error.code(), qa_contracts::codes::Code::ArtifactUnavailable);
        assert!(!error.to_string().contains("tok-en"), "{error}");
    }
    for wrong in ["", "o", "o/r/x", "../x", "o/..", "o/r?x", "o/r#", "o r/x", "/r"] {
        let http = Scripted::new(|_, _: &HttpRequest| answer(200, json!({"artifacts": []})));
        let repository = Repository { name: wrong.to_owned(), ..repository(&http) };
        assert!(repository.list(&name(), "").is_err() && http.targets().is_empty(), "{wrong}");
    }
}

#[test]
fn only_what_the_repository_itself_made_is_its_own() {
    assert!(!listed(item(1)).is_foreign());
    for run in [
        json!(null),
        json!({}),
        json!({"repository_id": 7}),
        json!({"repository_id": 7, "head_repository_id": null}),
        json!({"repository_id": 7, "head_repository_id": 8}),
    ] {
        let mut value = item(1);
        value["workflow_run"] = run.clone();
        assert!(listed(value).is_foreign(), "{run}");
    }
}

#[test]
fn the_token_stays_with_the_interface_when_the_bytes_are_elsewhere() {
    let http = Scripted::new(|number, _: &HttpRequest| match number {
        0 => redirect("https://store.example/z?sig=1"),
        _ => Ok((200, Vec::new(), b"bytes".to_vec())),
    });
    let (digest, bytes) = fetched(&http, &listed(item(42)), 10).unwrap();
    assert_eq!((digest, bytes), (sha256(b"bytes"), b"bytes".to_vec()));
    assert_eq!(
        http.targets(),
        ["GET https://api.example/repos/o/r/actions/artifacts/42/zip", "GET https://store.example/z?sig=1"]
    );
    let requests = http.requests.lock().unwrap();
    assert!(requests[0].authorization.is_some() && requests[1].authorization.is_none());
    assert!(!format!("{:?}", requests[1]).contains("authorization\", \"B"));
}

#[test]
fn a_broken_download_starts_again_with_a_new_address() {
    let http = Scripted::new(|number, _: &HttpRequest| match number {
        0 => redirect("https://store.example/1"),
        1 => lost(),
        2 => redirect("https://store.example/2"),
        3 => Ok((503, Vec::new(), b"busy".to_vec())),
        4 => redirect("https://store.example/3"),
        _ => Ok((200, Vec::new(), b"bytes".to_vec())),
    });
    assert_eq!(fetched(&http, &listed(item(1)), 10).unwrap().1, b"bytes");
}

#[test]
fn what_is_too_large_expired_misplaced_or_not_what_was_listed_is_not_taken() {
    let through = |second: (u16, &'static [u8])| {
        move |number: usize, _: &HttpRequest| match number % 2 {
            0 => redirect("https://store.example/z?sig=geheim"),
            _ => Ok((second.0, Vec::new(), second.1.to_vec())),
        }
    };
    let refuses = |http: &dyn Http, artifact: &ListedArtifact, reason: &str| {
        let error = fetched(http, artifact, 10).unwrap_err().to_string();
        assert!(error.contains(reason) && !error.contains("geheim"), "{error}");
    };
    refuses(&Scripted::new(through((200, b"more than ten"))), &listed(item(1)), "over 10 bytes");
    let mut large = item(1);
    large["size_in_bytes"] = 11.into();
    let http = Scripted::new(through((200, b"bytes")));
    refuses(&http, &listed(large), "larger than 10");
    assert!(http.targets().is_empty());
    let mut other = item(1);
    other["digest"] = format!("sha256:{}", sha256(b"other")).into();
    refuses(&Scripted::new(through((200, b"bytes"))), &listed(other), "is listed");
    refuses(&Scripted::new(through((302, b"again"))), &listed(item(1)), "302");
    refuses(
        &Scripted::new(|_, _: &HttpRequest| answer(410, json!({"message": "Gone"}))),
        &listed(item(1)),
        "expired",
    );
    refuses(
        &Scripted::new(|_, _: &HttpRequest| answer(403, json!({"message": "no"}))),
        &listed(item(1)),
        "actions: read",
    );
    refuses(&Scripted::new(|_, _: &HttpRequest| answer(200, json!({}))), &listed(item(1)), "no download URL");
    for place in ["http://store.example/z", "ftp://store.example/z", "/relative", ""] {
        let http = Scripted::new(move |_, _: &HttpRequest| redirect(place));
        refuses(&http, &listed(item(1)), "no download URL");
        assert_eq!(http.targets().len(), 1, "{place}");
    }
}
