//! Pages of reference that are written from the program itself; `make registry` writes them.

use serde_json::Value;

use crate::generated::is_current;
use crate::scratch::{project, run_bash};

/// Returns what the program prints in a terminal of fixed width.
fn printed(arguments: &str) -> String {
    let output = run_bash(&project(), &format!("COLUMNS=100 qa-skill {arguments}"));
    assert!(output.status.success(), "{output:#?}");
    String::from_utf8(output.stdout).expect("the output is UTF-8")
}

#[test]
fn generated_reference_of_the_command_line_is_current() {
    let help = printed("--help");
    let (_, list) = help.split_once("\nCommands:\n").expect("the help lists the commands");
    let (list, _) = list.split_once("\n\n").expect("a paragraph is below");
    let is_name = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let names = list.lines().filter(is_name).filter_map(|line| line.split_whitespace().next());
    let mut page = format!(
        "# Command line\n\nWritten by `make registry` from what the program prints; do not edit. `qa-skill help COMMAND` prints \
         the same.\n\n```text\n{}\n```\n",
        help.trim_end()
    );
    let mut count = 0;
    for name in names.filter(|name| *name != "help") {
        let help = printed(&format!("{name} --help"));
        page.push_str(&format!("\n## qa-skill {name}\n\n```text\n{}\n```\n", help.trim_end()));
        count += 1;
    }
    assert!(count >= 20, "{count}");
    is_current("docs/reference/command-line.md", &page);
}

/// Rows of the reference of the policy, in the order of the keys.
struct PolicyRows<'a> {
    schema: &'a Value,
    rows: Vec<String>,
}

impl PolicyRows<'_> {
    /// Returns the definition that a member refers to, or the member itself.
    fn definition<'b>(&'b self, member: &'b Value) -> &'b Value {
        let options = member["anyOf"].as_array();
        let member = options.and_then(|options| options.first()).unwrap_or(member);
        let name = member["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
        name.map_or(member, |name| &self.schema["$defs"][name])
    }

    /// Returns a setting's values in words.
    fn values(&self, member: &Value) -> String {
        let definition = self.definition(member);
        if let Some(names) = definition["enum"].as_array() {
            let names: Vec<String> =
                names.iter().filter_map(Value::as_str).map(|name| format!("`{name}`")).collect();
            return names.join(", ");
        }
        // A member that may be absent has two types, and the second one is that of nothing.
        let kinds = &definition["type"];
        let kind = kinds.as_array().and_then(|kinds| kinds.first()).unwrap_or(kinds).as_str();
        let words = match kind {
            Some("array") => {
                let values = self.values(&definition["items"]);
                return match values.strip_prefix("list ") {
                    Some(rest) => format!("list of lists {rest}"),
                    None if values.starts_with('`') => format!("list of {values}"),
                    None => format!("list of {values}s"),
                };
            }
            Some("boolean") => "`true`, `false`",
            Some("integer") => "number",
            Some("object") => "table",
            _ => "string",
        };
        words.to_owned()
    }

    fn push(&mut self, key: &str, member: &Value) {
        let definition = self.definition(member).clone();
        let inner = match definition["type"].as_str() {
            Some("array") => Some((format!("{key}[]"), self.definition(&definition["items"]).clone())),
            Some("object") if definition["additionalProperties"].is_object() => {
                Some((format!("{key}.NAME"), self.definition(&definition["additionalProperties"]).clone()))
            }
            Some("object") => Some((key.to_owned(), definition.clone())),
            _ => None,
        };
        if let Some((key, definition)) = inner
            && let Some(members) = definition["properties"].as_object()
        {
            for (name, member) in members {
                self.push(&format!("{key}.{name}"), member);
            }
            return;
        }
        let meaning = member["description"].as_str().unwrap_or_default();
        let escaped = |text: &str| text.replace('\n', " ").replace('|', "\\|");
        self.rows.push(format!("| `{key}` | {} | {} |\n", self.values(member), escaped(meaning)));
    }
}

#[test]
fn generated_reference_of_the_policy_is_current() {
    let schema: Value = serde_json::from_str(&printed("schema policy.v1")).expect("the schema is JSON");
    let mut table = PolicyRows { schema: &schema, rows: Vec::new() };
    for (key, member) in schema["properties"].as_object().expect("the policy has settings") {
        table.push(key, member);
    }
    assert!(table.rows.len() >= 100, "{}", table.rows.len());
    let page = format!(
        "# Settings of the policy\n\nWritten by `make registry` from the schema `policy.v1`; do not edit. `NAME` is a name of \
         your own, or the id of what the table is about, and `[]` an item of a list. \
         [policy.example.toml](../policy.example.toml) shows every setting with its default, and [policy.md](../policy.md) \
         explains them.\n\n| Setting | Values | Meaning |\n|---|---|---|\n{}",
        table.rows.concat()
    );
    is_current("docs/reference/policy.md", &page);
}
