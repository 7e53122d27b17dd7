//! Each form of a comment, and each role.

use serde_json::json;

use super::*;

fn comment(body: &str) -> Comment<'_> {
    Comment { body, is_on_pull_request: true, is_by_bot: false, is_edited: false }
}

#[test]
fn a_command_is_the_whole_first_line() {
    let key = "ab".repeat(32);
    let waive = Command::Ask(Query::Waive { finding: "abcdef".to_owned(), reason: "It IS known".to_owned() });
    let cases = [
        ("/qa status", Command::Ask(Query::Status)),
        ("/QA  Status \r\nthanks", Command::Ask(Query::Status)),
        ("/qa where am I", Command::Ask(Query::Status)),
        ("/qa\tplan", Command::Ask(Query::Plan)),
        ("/qa next", Command::Ask(Query::Plan)),
        (
            "/qa explain secret-token/provider-token",
            Command::Ask(Query::Explain("secret-token/provider-token".into())),
        ),
        ("/qa explain ABCDEF", Command::Ask(Query::Explain("abcdef".into()))),
        ("/qa report\n/qa stop", Command::Ask(Query::Report)),
        ("/qa help", Command::Ask(Query::Help)),
        ("/qa rerun", Command::Act(Action::Rerun)),
        ("/qa crosscheck", Command::Act(Action::Crosscheck)),
        ("/qa stop", Command::Act(Action::Stop)),
        ("/qa abort", Command::Act(Action::Stop)),
        (&format!("/qa approve {key}"), Command::Act(Action::Approve(key.clone()))),
        ("/qa resume", Command::Act(Action::Resume)),
        ("/qa fix", Command::Act(Action::Drive(None))),
        (
            "/qa  DRIVE  Add a `--json`  Flag",
            Command::Act(Action::Drive(Some("Add a `--json`  Flag".into()))),
        ),
        ("/qa approve", Command::Act(Action::Turn(None))),
        ("/qa  Edit  Keep `add`  AS it is", Command::Act(Action::Turn(Some("Keep `add`  AS it is".into())))),
        ("/qa waive ABCDEF  It IS known", waive),
    ];
    for (text, expected) in cases {
        assert_eq!(route(comment(text)), Ok(expected), "{text}");
    }
}

#[test]
fn text_that_is_no_command_gets_help() {
    let long = format!("/qa waive abcdef {}", "x".repeat(MAX_LINE));
    for text in [
        "/qa",
        "/qa ",
        "/qa please look at this",
        "/qa stop it",
        "/qa fix it",
        "/qa drive",
        "/qa status?",
        "/qa explain ../../etc",
        "/qa explain `id`",
        "/qa explain a b",
        "/qa edit",
        "/qa approve it",
        "/qa approve abcdef",
        "/qa approve $(id)",
        "/qa waive abcdef",
        "/qa waive abc known",
        "/qa re\u{200b}run",
        &long,
    ] {
        assert_eq!(route(comment(text)), Ok(Command::Ask(Query::Help)), "{text}");
    }
}

#[test]
fn a_comment_that_is_no_command_is_ignored_with_its_reason() {
    for body in [
        "",
        "\n/qa status",
        " /qa status",
        "    /qa status",
        "> /qa status",
        "```\n/qa status\n```",
        "`/qa status`",
        "please /qa status",
        "/qastatus",
        "/qa\u{a0}status",
        "/qa\u{200b} status",
        "\u{feff}/qa status",
        "/q",
        "é",
    ] {
        assert_eq!(route(comment(body)), Err(Ignored::NoCommand), "{body:?}");
    }
    let status = comment("/qa status");
    assert_eq!(route(Comment { is_by_bot: true, ..status }), Err(Ignored::Bot));
    assert_eq!(route(Comment { is_edited: true, ..status }), Err(Ignored::Edited));
    assert_eq!(route(Comment { is_on_pull_request: false, ..status }), Err(Ignored::NotAPullRequest));
}

#[test]
fn an_event_that_is_no_command_needs_no_request() {
    let event = json!({
        "action": "created", "issue": {"number": 7, "pull_request": {"url": "x"}},
        "comment": {"id": 9, "body": "/qa status", "user": {"login": "kim", "type": "User"}},
    });
    let with = |pointer: &str, value: Value| {
        let mut event = event.clone();
        *event.pointer_mut(pointer).unwrap() = value;
        comment_event(&event)
    };
    assert_eq!(comment_event(&event), Ok(Ok(CommentEvent { number: 7, comment: 9 })));
    assert_eq!(with("/action", "edited".into()), Ok(Err(Ignored::NotCreated)));
    assert_eq!(with("/issue/pull_request", Value::Null), Ok(Err(Ignored::NotAPullRequest)));
    assert_eq!(with("/comment/user/type", "Bot".into()), Ok(Err(Ignored::Bot)));
    assert_eq!(with("/comment/body", "hi".into()), Ok(Err(Ignored::NoCommand)));
    assert!(with("/comment/id", Value::Null).is_err() && comment_event(&json!([])).is_err());
}

#[test]
fn the_label_of_drives_is_a_command_of_the_person_who_sets_it() {
    let event = json!({
        "action": "labeled", "label": {"name": "qa:fix"},
        "pull_request": {"number": 7, "updated_at": "2026-01-02T03:04:05Z"},
        "sender": {"login": "wes", "id": 41, "type": "User"},
    });
    let with = |pointer: &str, value: Value| {
        let mut event = event.clone();
        *event.pointer_mut(pointer).unwrap() = value;
        label_event(&event)
    };
    let (login, since) = ("wes".to_owned(), "2026-01-02T03:04:05Z".to_owned());
    assert_eq!(label_event(&event), Ok(Ok(LabelEvent { number: 7, login, account: 41, since })));
    assert_eq!(with("/action", "unlabeled".into()), Ok(Err(Ignored::OtherLabel)));
    assert_eq!(with("/label/name", "qa:fixed".into()), Ok(Err(Ignored::OtherLabel)));
    assert_eq!(with("/sender/type", "Bot".into()), Ok(Err(Ignored::Bot)));
    assert_eq!(with("/sender/type", Value::Null), Ok(Err(Ignored::Bot)));
    assert!(with("/sender/id", Value::Null).is_err() && with("/pull_request", Value::Null).is_err());
    assert_eq!(label_event(&json!([])), Ok(Err(Ignored::OtherLabel)));
}

#[test]
fn a_role_is_what_the_api_says_and_a_name_alone_gives_none() {
    let cases = [
        ("admin", "admin", Role::Write),
        ("write", "maintain", Role::Write),
        ("write", "write", Role::Write),
        ("write", "our-releasers", Role::Write),
        ("read", "triage", Role::Triage),
        ("read", "read", Role::Reader),
        ("read", "admin", Role::Reader),
        ("none", "triage", Role::Reader),
        ("", "", Role::Reader),
    ];
    for (permission, role_name, expected) in cases {
        assert_eq!(Role::from_permission(permission, role_name), expected, "{permission} {role_name}");
    }
}

#[test]
fn the_author_reads_and_only_the_role_write_acts() {
    for (role, is_author, read, act) in [
        (Role::Reader, false, false, false),
        (Role::Reader, true, true, false),
        (Role::Triage, false, true, false),
        (Role::Triage, true, true, false),
        (Role::Write, false, true, true),
    ] {
        assert_eq!((role.may(Access::Read, is_author), role.may(Access::Act, is_author)), (read, act));
    }
}
