//! Lists changed at random and written in many ways: what is found, and that each quote stands on a changed line.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::corpus::{CaseFile, changed_file, run_lens};
use qa_contracts::v1::{FileText, Side};

/// A generator that gives the same numbers everywhere (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }
}

fn judged(base: &str, head: &str) -> (ChangedFile, FileText, Vec<Draft>) {
    let (file, text) = changed_file(&CaseFile::edited(FILE_NAME, base, head));
    let drafts = run_lens(&FeatureGuard, &[(file.clone(), text.clone())]);
    (file, text, drafts)
}

fn rules(drafts: &[Draft]) -> BTreeSet<&str> {
    drafts.iter().map(|draft| &*draft.rule).collect()
}

/// Renders a list in one of five layouts: compact, indented, with tabs, one feature per line, or one long line behind a
/// BOM.
fn written(list: &[Value], way: usize) -> String {
    let value = Value::Array(list.to_vec());
    match way {
        0 => value.to_string(),
        1 => format!("{}\n", serde_json::to_string_pretty(&value).unwrap()),
        2 => serde_json::to_string_pretty(&value).unwrap().replace("  ", "\t").replace('\n', "\r\n"),
        3 => {
            let lines: Vec<String> = list.iter().map(Value::to_string).collect();
            format!("[\n{}\n]\n", lines.join(",\n"))
        }
        _ => format!("\u{feff} {value}\n\n"),
    }
}

fn list(random: &mut Random) -> Vec<Value> {
    (0..2 + random.below(5))
        .map(|id| {
            let step = format!("Step 1: open page {id}");
            json!({
                "id": id, "category": "functional", "description": format!("Behaviour{id} is seen"),
                "steps": [step], "passes": random.below(2) == 0, "qa_notes": null,
            })
        })
        .collect()
}

#[test]
fn each_kind_of_change_is_found_however_the_list_is_written() {
    let mut random = Random(0x5eed);
    for round in 0..600 {
        let base = list(&mut random);
        let mut head = base.clone();
        let at = random.below(base.len());
        let expected: &[&str] = match round % 9 {
            0 => &[],
            1 => {
                let passes = head[at]["passes"] == true;
                head[at]["passes"] = (!passes).into();
                if passes { &[QA_FIELD] } else { &[PASSES_SET] }
            }
            2 => {
                head.remove(at);
                &[REMOVED]
            }
            3 => {
                head[at]["description"] = format!("Behaviour{at} is seen twice").into();
                &[REDEFINED]
            }
            4 => {
                head[at]["description"] = "Another thing".into();
                head[at]["steps"] = json!(["Step 1: look"]);
                &[REPLACED]
            }
            5 => {
                head.insert(at, json!({"id": 77, "description": "Later", "passes": true}));
                &[ADDED_PASSING]
            }
            6 => {
                head.push(base[at].clone());
                &[DUPLICATE_ID]
            }
            7 => {
                head.rotate_left(1);
                &[REORDERED]
            }
            _ => {
                head[at]["qa_notes"] = "it works".into();
                &[QA_FIELD]
            }
        };
        let (base, head) = (written(&base, random.below(5)), written(&head, random.below(5)));
        let (file, text, drafts) = judged(&base, &head);
        assert_eq!(rules(&drafts), expected.iter().copied().collect(), "{base}\n{head}");
        let included = vec![true; file.hunks.len()];
        let packet = Packet { file: &file, text: &text, included: &included };
        for draft in &drafts {
            let lines: Vec<_> = match draft.side {
                Side::Base => packet.removed().collect(),
                Side::Head => packet.added().collect(),
            };
            let stands =
                lines.iter().any(|line| line.number == draft.start_line && line.text.contains(&draft.quote));
            assert!(stands && !draft.quote.is_empty(), "{draft:?}\n{base}\n{head}");
        }
    }
}

#[test]
fn a_masked_secret_in_a_note_hides_nothing() {
    let token = format!("gh{}{}", "p_", "9Jx2kQ7vTzR4mWc8Ld1Yb6HnPf3Gs5Ae0UoK");
    let [base, head] = [(false, ""), (true, token.as_str())].map(|(passes, note)| {
        format!("[{{\"id\": 1, \"description\": \"d\", \"passes\": {passes}, \"qa_notes\": \"{note}\"}}]")
    });
    let (_, text, drafts) = judged(&base, &head);
    assert!(!text.secrets.is_empty() && !text.full_head.unwrap().contains(&token));
    assert_eq!(rules(&drafts), BTreeSet::from([PASSES_SET]));
}

#[test]
fn a_list_that_changes_everywhere_is_told_in_a_few_findings_bound_to_all() {
    let [failing, passing] = [false, true].map(|passes| -> Vec<Value> {
        (0..5000)
            .map(|id| json!({"id": id, "description": format!("Behaviour{id}"), "passes": passes}))
            .collect()
    });
    for way in [0, 3] {
        let (base, head) = (written(&failing, way), written(&passing, way));
        let (_, _, drafts) = judged(&base, &head);
        assert_eq!(drafts.len(), MOST_FINDINGS);
        let named: BTreeSet<u64> = drafts
            .iter()
            .flat_map(|draft| {
                let others = draft.detail.get("alsoFeatures").and_then(Value::as_array).cloned();
                std::iter::once(draft.detail["feature"].clone()).chain(others.unwrap_or_default())
            })
            .map(|id| id.as_u64().unwrap())
            .collect();
        assert_eq!(named, (0..5000).collect());
    }
    let (_, _, removed) = judged(&written(&failing, 3), "[]");
    assert_eq!((removed.len(), rules(&removed)), (MOST_FINDINGS, BTreeSet::from([REMOVED])));
    let broken: Vec<Value> = (0..5000).map(|_| json!({"id": "x", "passes": 1})).collect();
    let (_, _, broken) = judged(&written(&failing[..1], 3), &written(&broken, 3));
    assert_eq!(rules(&broken), BTreeSet::from([LIST_UNREADABLE, REMOVED]));
}
