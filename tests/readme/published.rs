//! Holds what catalogues and badges read of the repository to its files.

use qa_core::policy::{POLICY_PATH, WAIVERS_PATH};
use serde_json::Value;

use crate::scratch::{Scratch, project, read, run_bash};

fn json(path: &str) -> Value {
    serde_json::from_str(&read(path)).expect("the file is JSON")
}

fn member<'a>(entry: &'a Value, name: &str) -> &'a str {
    entry[name].as_str().expect("a text")
}

/// Returns a member at the top level of a YAML file.
fn top_level<'a>(yaml: &'a str, name: &str) -> &'a str {
    let found = yaml.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    found.unwrap_or_else(|| panic!("there is no {name}"))
}

#[test]
fn entries_of_schemastore_match_the_files_that_are_read() {
    let entries = json("packaging/schemastore/entries.json");
    let mut matched = Vec::new();
    for entry in entries.as_array().expect("a list") {
        // What the catalogue's own checks refuse.
        for text in [member(entry, "name"), member(entry, "description")] {
            assert!(
                !text.to_lowercase().contains("schema") && !text.ends_with(['"', ',', '.', ' ', '-']),
                "{text}"
            );
        }
        let patterns = entry["fileMatch"].as_array().expect("a list of patterns");
        matched.extend(patterns.iter().map(|pattern| pattern.as_str().expect("a pattern")));
        let (server, schema) = member(entry, "url").split_once("/main/").expect("a file of the branch");
        assert_eq!(server, "https://raw.githubusercontent.com/OWNER/qa-skill");
        let schema = read(schema);
        // Editors that know draft 7 alone can read a schema without newer keywords.
        for newer in
            ["prefixItems", "unevaluatedProperties", "dependentRequired", "dependentSchemas", "$dynamicRef"]
        {
            assert!(!schema.contains(&format!("\"{newer}\"")), "{newer}");
        }
    }
    assert_eq!(matched, [POLICY_PATH, WAIVERS_PATH].map(|path| format!("**/{path}")));
}

#[test]
fn negative_example_for_schemastore_is_refused() {
    let scratch = Scratch::new();
    let file = project().join("packaging/schemastore/negative/policy.toml");
    let output = run_bash(&scratch.checkout(), &format!("qa-skill policy-check --file '{}'", file.display()));
    assert_eq!(output.status.code(), Some(2), "{output:#?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("unknown field `mod`"), "{output:#?}");
}

#[test]
fn actions_have_what_the_marketplace_asks_for() {
    for path in ["action.yml", "setup/action.yml"] {
        let action = read(path);
        // Its form refuses 125 characters, and says so only when a release is drafted.
        assert!(top_level(&action, "description").chars().count() < 125, "{path}");
        assert!(!top_level(&action, "name").is_empty() && !top_level(&action, "author").is_empty(), "{path}");
        let (_, branding) = action.split_once("\nbranding:\n").expect("a branding");
        assert!(branding.starts_with("  icon: ") && branding.contains("\n  color: "), "{path}");
    }
}

#[test]
fn claims_for_the_badge_name_files_that_are_there() {
    let claims = json(".bestpractices.json");
    let claims = claims.as_object().expect("an object");
    let mut criteria = 0;
    for (name, status) in claims {
        let Some(criterion) = name.strip_suffix("_status") else { continue };
        assert!(["Met", "N/A"].contains(&status.as_str().expect("a text")), "{name}");
        let reason = claims.get(&format!("{criterion}_justification")).and_then(Value::as_str).expect(name);
        let mut files = 0;
        for rest in reason.split("https://github.com/OWNER/qa-skill/blob/main/").skip(1) {
            let path = rest.split(' ').next().expect("a beginning");
            assert!(project().join(path).is_file(), "{criterion}: {path}");
            files += 1;
        }
        assert!(files > 0, "{criterion} names no file");
        criteria += 1;
    }
    assert_eq!(claims.len(), 2 * criteria, "each status has a reason, and each reason a status");
    assert!(criteria >= 40, "{criteria}");
}
