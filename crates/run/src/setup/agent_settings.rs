//! Adds hooks to the settings file of an agent, and leaves every other byte of it as it is.

use serde_json::Value;

use qa_reading::documents::{Document, Format, Node, ReadError};

/// Reason why a settings file is left alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsFileError {
    #[error("it is no JSON: {0}")]
    Unreadable(#[from] ReadError),
    #[error("{0} is not what hooks are added to")]
    Unusual(String),
}

/// Returns a settings file with a hook for an event, or `None` if a hook of that event has a command with the mark. Comments and
/// other members stay.
pub fn with_hook(
    text: &str,
    event: &str,
    entry: &Value,
    mark: &str,
) -> Result<Option<String>, SettingsFileError> {
    let document = Document::parse(Format::Json, text)?;
    let root = document.root();
    if !root.is_map() {
        return Err(SettingsFileError::Unusual("the text".to_owned()));
    }
    let Some(hooks) = root.get("hooks") else {
        let member = Member { name: "hooks", value: serde_json::json!({ event: [entry] }) };
        return Ok(Some(member.first_in(text, root, 1)));
    };
    if !hooks.is_map() {
        return Err(SettingsFileError::Unusual("its member `hooks`".to_owned()));
    }
    let Some(list) = hooks.get(event) else {
        let member = Member { name: event, value: serde_json::json!([entry]) };
        return Ok(Some(member.first_in(text, hooks, 2)));
    };
    if !list.is_list() {
        return Err(SettingsFileError::Unusual(format!("its member `hooks.{event}`")));
    }
    let is_there =
        list.leaves()?.iter().any(|leaf| leaf.value.text().is_some_and(|text| has_mark(text, mark)));
    Ok((!is_there).then(|| Member { name: "", value: entry.clone() }.first_in(text, list, 3)))
}

/// Returns whether a command has the mark as words of its own.
fn has_mark(command: &str, mark: &str) -> bool {
    command.match_indices(mark).any(|(start, _)| {
        let rest = &command[start + mark.len()..];
        rest.is_empty() || rest.starts_with(' ')
    })
}

/// A member of an object, or an item of a list where it has no name.
struct Member<'a> {
    name: &'a str,
    value: Value,
}

impl Member<'_> {
    /// Puts the member before all others of a container, where no comma or comment is in the way.
    fn first_in(&self, text: &str, container: Node<'_>, depth: usize) -> String {
        let is_empty = container.entries().next().is_none() && container.items().next().is_none();
        let (before, after) = text.split_at(container.span().start + 1);
        let indent = "  ".repeat(depth);
        let name = match self.name {
            "" => String::new(),
            name => format!("{}: ", Value::from(name)),
        };
        let value = serde_json::to_string_pretty(&self.value).expect("a value can be written");
        let value = value.replace('\n', &format!("\n{indent}"));
        let end = if is_empty { format!("\n{}", "  ".repeat(depth - 1)) } else { ",".to_owned() };
        format!("{before}\n{indent}{name}{value}{end}{after}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MARK: &str = "qa-skill hook --agent claude-code";

    fn add(text: &str) -> Result<Option<String>, SettingsFileError> {
        with_hook(text, "Stop", &json!({ "command": MARK }), MARK)
    }

    #[test]
    fn a_hook_is_added_and_all_else_stays() {
        let added = format!("{{\n        \"command\": \"{MARK}\"\n      }}");
        let list = format!("\"Stop\": [\n      {added}\n    ]");
        for (text, expected) in [
            ("{}\n", format!("{{\n  \"hooks\": {{\n    {list}\n  }}\n}}\n")),
            (
                "\u{feff}{\n  // mine\n  \"model\": \"x\", // y\n}",
                format!(
                    "\u{feff}{{\n  \"hooks\": {{\n    {list}\n  }},\n  // mine\n  \"model\": \"x\", // y\n}}"
                ),
            ),
            ("{\"hooks\": {\"Other\": [1,]}}", format!("{{\"hooks\": {{\n    {list},\"Other\": [1,]}}}}")),
            (
                "{\"hooks\": {\"Stop\": [ {\"command\": \"x\"} /* z */ ]}}",
                format!("{{\"hooks\": {{\"Stop\": [\n      {added}, {{\"command\": \"x\"}} /* z */ ]}}}}"),
            ),
            ("{\"hooks\": {\"Stop\": []}}", format!("{{\"hooks\": {{\"Stop\": [\n      {added}\n    ]}}}}")),
        ] {
            let once = add(text).unwrap().unwrap();
            assert_eq!(once, expected);
            // Running it again changes nothing.
            assert_eq!(add(&once), Ok(None), "{once}");
        }
        // A command for another agent is another one.
        let other = format!("{{\"hooks\":{{\"Stop\":[{{\"command\":\"{MARK}-2\"}}]}}}}");
        assert!(add(&other).unwrap().is_some());
        let longer = format!("{{\"hooks\":{{\"Stop\":[{{\"command\":\"/bin/{MARK} --base HEAD\"}}]}}}}");
        assert_eq!(add(&longer), Ok(None));
    }

    #[test]
    fn a_file_of_another_form_is_left_alone() {
        for text in ["", "[]", "{", "{\"hooks\": []}", "{\"hooks\": {\"Stop\": {}}}", "{\"hooks\": null}"] {
            assert!(add(text).is_err(), "{text}");
        }
    }
}
