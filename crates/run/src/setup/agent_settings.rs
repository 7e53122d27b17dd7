//! Adds hooks to the settings file of an agent or brings them up to date, and leaves every other byte of it as it is.

use serde_json::{Map, Value};

use super::agent_command::{runs_hook, updated_command};
use qa_reading::documents::{Document, Format, Node, Plain, ReadError};
use qa_reading::syntax::Span;

/// Number of places of a settings file that are edited at most.
const MAX_EDITS: usize = 64;

/// Reason why a settings file is left alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsFileError {
    #[error("it is no JSON: {0}")]
    Unreadable(#[from] ReadError),
    #[error("{0} is not what hooks are added to")]
    Unusual(String),
    #[error("it has more than {MAX_EDITS} hooks of qa-skill to bring up to date")]
    TooMany,
}

/// Hooks that a settings file should have.
#[derive(Debug, Clone, Copy)]
pub struct WantedHooks<'a> {
    /// Value of `--agent`, by which commands of ours are recognised.
    pub agent: &'a str,
    pub hooks: &'a [WantedHook],
    /// Number that the file needs as `version`, where the agent asks for one.
    pub version: Option<u64>,
}

/// Entry of the list of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedHook {
    pub event: &'static str,
    /// A command with its options, or a group with a list of one such command in `hooks`.
    pub entry: Value,
}

/// Returns a settings file with the hooks. One that runs `qa-skill hook` for the agent is brought up to date where it stands, and
/// further ones of its event are removed. Hooks of others, their order, comments, other members and line ends stay.
pub fn with_hooks(text: &str, wanted: &WantedHooks<'_>) -> Result<String, SettingsFileError> {
    let line_end = if text.split_inclusive('\n').next().is_some_and(|line| line.ends_with("\r\n")) {
        "\r\n"
    } else {
        "\n"
    };
    let mut edited = text.to_owned();
    // Each edit makes one list one step more like what is wanted; the places of the next one are those of the new text.
    for _ in 0..=MAX_EDITS {
        let Some(edit) = next_edit(&edited, wanted)? else { return Ok(edited) };
        edited.replace_range(edit.span.start..edit.span.end, &edit.text.replace('\n', line_end));
    }
    Err(SettingsFileError::TooMany)
}

/// Replacement of a part of the text.
struct Edit {
    span: Span,
    text: String,
}

fn next_edit(text: &str, wanted: &WantedHooks<'_>) -> Result<Option<Edit>, SettingsFileError> {
    let document = Document::parse(Format::Json, text)?;
    let root = document.root();
    if !root.is_map() {
        return Err(SettingsFileError::Unusual("the text".to_owned()));
    }
    for hook in wanted.hooks {
        if let Some(edit) = next_edit_of(text, root, hook, wanted.agent)? {
            return Ok(Some(edit));
        }
    }
    let version = wanted.version.filter(|_| root.get("version").is_none());
    Ok(version.map(|version| Member { name: "version", value: version.into() }.first_in(root, 1)))
}

fn next_edit_of(
    text: &str,
    root: Node<'_>,
    wanted: &WantedHook,
    agent: &str,
) -> Result<Option<Edit>, SettingsFileError> {
    let (event, entry) = (wanted.event, &wanted.entry);
    let Some(hooks) = root.get("hooks") else {
        let member = Member { name: "hooks", value: serde_json::json!({ event: [entry] }) };
        return Ok(Some(member.first_in(root, 1)));
    };
    if !hooks.is_map() {
        return Err(SettingsFileError::Unusual("its member `hooks`".to_owned()));
    }
    let Some(list) = hooks.get(event) else {
        let member = Member { name: event, value: serde_json::json!([entry]) };
        return Ok(Some(member.first_in(hooks, 2)));
    };
    if !list.is_list() {
        return Err(SettingsFileError::Unusual(format!("its member `hooks.{event}`")));
    }
    let list = EventList { text, list, entry, agent };
    Ok(list.next_edit())
}

/// Hooks of ours in an item of the list of an event.
enum Share<'d> {
    /// The item runs nothing else.
    Whole(Node<'d>),
    /// The item is a group, which has hooks of others too.
    Part { group: Node<'d>, ours: Node<'d> },
}

/// List of the hooks of an event.
struct EventList<'a> {
    text: &'a str,
    list: Node<'a>,
    /// The entry that is wanted.
    entry: &'a Value,
    agent: &'a str,
}

impl<'a> EventList<'a> {
    /// Returns the edit that brings the hook up to date or takes a second one away, if one is left to do.
    fn next_edit(&self) -> Option<Edit> {
        let shares: Vec<Share<'a>> = self.list.items().filter_map(|item| self.share(item)).collect();
        let whole = shares.iter().position(|share| matches!(share, Share::Whole(_)));
        let kept = whole.or_else(|| {
            shares.iter().position(
                |share| matches!(share, Share::Part { group, .. } if self.has_wanted_matcher(*group)),
            )
        });
        let Some(kept) = kept else {
            return Some(match shares.first() {
                Some(Share::Part { group, ours }) => self.insert_behind(*group, *ours),
                Some(Share::Whole(_)) | None => {
                    Member { name: "", value: self.entry.clone() }.first_in(self.list, 3)
                }
            });
        };
        let updated = match &shares[kept] {
            Share::Whole(item) => self.replacement(*item, &self.updated_item(&to_value(*item))),
            Share::Part { ours, .. } => self.replacement(*ours, &self.updated_hook(&to_value(*ours))),
        };
        updated.or_else(|| {
            let second = shares.iter().enumerate().find(|(index, _)| *index != kept);
            let doubled = match &shares[kept] {
                Share::Part { group, .. } => self.second_in(*group),
                Share::Whole(_) => None,
            };
            doubled.or_else(|| second.and_then(|(_, share)| removal(self.list, share)))
        })
    }

    fn share(&self, item: Node<'a>) -> Option<Share<'a>> {
        let Some(hooks) = item.get("hooks").filter(|hooks| hooks.is_list()) else {
            return self.is_ours(item).then_some(Share::Whole(item));
        };
        let ours = hooks.items().find(|hook| self.is_ours(*hook))?;
        match hooks.items().all(|hook| self.is_ours(hook)) {
            true => Some(Share::Whole(item)),
            false => Some(Share::Part { group: item, ours }),
        }
    }

    /// Returns whether a hook has a command of ours in a member of its own.
    fn is_ours(&self, hook: Node<'_>) -> bool {
        hook.entries().any(|entry| entry.value.text().is_some_and(|text| runs_hook(text, self.agent)))
    }

    fn has_wanted_matcher(&self, group: Node<'_>) -> bool {
        let matcher = group.get("matcher").map(to_value);
        self.entry.get("hooks").is_some() && matcher.as_ref() == self.entry.get("matcher")
    }

    /// Returns the removal of a second hook of ours in a group.
    fn second_in(&self, group: Node<'a>) -> Option<Edit> {
        let hooks = group.get("hooks")?;
        let second = hooks.items().filter(|hook| self.is_ours(*hook)).nth(1)?;
        without_item(hooks, second)
    }

    /// Returns an item of the list as it should be. Its command keeps what a person added, and unknown members stay.
    fn updated_item(&self, now: &Value) -> Value {
        let hook_now = match now.get("hooks").and_then(Value::as_array) {
            Some(hooks) => hooks.first(),
            None => Some(now),
        };
        let hook = self.updated_hook(hook_now.unwrap_or(&Value::Null));
        let grouped = [now, self.entry].map(|value| value.get("hooks").is_some());
        let mut item = match grouped {
            [true, true] => with_members(now, self.entry, "hooks"),
            [false, false] => hook.clone(),
            _ => self.entry.clone(),
        };
        if let Some(members) = item.as_object_mut() {
            if grouped[1] {
                members.insert("hooks".to_owned(), Value::Array(vec![hook]));
            }
            if self.entry.get("matcher").is_none() {
                members.remove("matcher");
            }
        }
        item
    }

    /// Returns a hook as it should be.
    fn updated_hook(&self, now: &Value) -> Value {
        let wanted = self.entry.pointer("/hooks/0").unwrap_or(self.entry);
        let mut hook = with_members(now, wanted, "");
        let commands_now = now.as_object().into_iter().flatten();
        for (name, text) in commands_now {
            let (Some(text), Some(new)) = (text.as_str(), wanted.get(name).and_then(Value::as_str)) else {
                continue;
            };
            if runs_hook(text, self.agent) && runs_hook(new, self.agent) {
                hook[name] = updated_command(text, new, self.agent).into();
            }
        }
        hook
    }

    fn replacement(&self, now: Node<'_>, wanted: &Value) -> Option<Edit> {
        let indent = self.indent_of(now);
        (to_value(now) != *wanted).then(|| Edit { span: now.span(), text: rendered(wanted, indent) })
    }

    /// Returns the insertion of an item of its own for a hook that stands in a group with another matcher.
    fn insert_behind(&self, group: Node<'_>, ours: Node<'_>) -> Edit {
        let indent = self.indent_of(group);
        let item = self.updated_item(&to_value(ours));
        let item = match (item.get("hooks").is_some(), self.entry.get("hooks").is_some()) {
            (false, true) => {
                let mut grouped = self.entry.clone();
                grouped["hooks"] = Value::Array(vec![self.updated_hook(&to_value(ours))]);
                grouped
            }
            _ => item,
        };
        let end = group.span().end;
        Edit { span: Span { start: end, end }, text: format!(",\n{indent}{}", rendered(&item, indent)) }
    }

    /// Returns the blanks before the line of a value.
    fn indent_of(&self, node: Node<'_>) -> &'a str {
        let before = self.text.get(..node.span().start).unwrap_or_default();
        let line = &self.text[before.rfind('\n').map_or(0, |at| at + 1)..];
        let length = line.len() - line.trim_start_matches([' ', '\t']).len();
        &line[..length]
    }
}

fn removal(list: Node<'_>, share: &Share<'_>) -> Option<Edit> {
    match share {
        Share::Whole(item) => without_item(list, *item),
        Share::Part { group, ours } => without_item(group.get("hooks")?, *ours),
    }
}

/// Returns the removal of an item of a list with the comma beside it.
fn without_item(list: Node<'_>, item: Node<'_>) -> Option<Edit> {
    let spans: Vec<Span> = list.items().map(Node::span).collect();
    let at = spans.iter().position(|span| *span == item.span())?;
    let span = match (spans.get(at + 1), at.checked_sub(1)) {
        (Some(next), _) => Span { start: spans[at].start, end: next.start },
        (None, Some(before)) => Span { start: spans[before].end, end: spans[at].end },
        (None, None) => spans[at],
    };
    Some(Edit { span, text: String::new() })
}

/// Returns an object with the members of another one but for one name.
fn with_members(now: &Value, wanted: &Value, except: &str) -> Value {
    let mut members: Map<String, Value> = now.as_object().cloned().unwrap_or_default();
    for (name, value) in wanted.as_object().into_iter().flatten().filter(|(name, _)| *name != except) {
        members.insert(name.clone(), value.clone());
    }
    Value::Object(members)
}

fn to_value(node: Node<'_>) -> Value {
    if node.is_map() {
        return node.entries().map(|entry| (entry.key.to_owned(), to_value(entry.value))).collect();
    }
    if node.is_list() {
        return node.items().map(to_value).collect();
    }
    match node.plain() {
        Some(Plain::Flag(flag)) => flag.into(),
        // A number in a notation that JSON lacks is equal to none that is wanted.
        Some(Plain::Number(text)) => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        Some(Plain::Text(text) | Plain::Code(text)) => text.into(),
        Some(Plain::Null) | None => Value::Null,
    }
}

fn rendered(value: &Value, indent: &str) -> String {
    let text = serde_json::to_string_pretty(value).expect("a value can be written");
    text.replace('\n', &format!("\n{indent}"))
}

/// A member of an object, or an item of a list where it has no name.
struct Member<'a> {
    name: &'a str,
    value: Value,
}

impl Member<'_> {
    /// Puts the member before all others of a container, where no comma or comment is in the way.
    fn first_in(&self, container: Node<'_>, depth: usize) -> Edit {
        let is_empty = container.entries().next().is_none() && container.items().next().is_none();
        let indent = "  ".repeat(depth);
        let name = match self.name {
            "" => String::new(),
            name => format!("{}: ", Value::from(name)),
        };
        let value = rendered(&self.value, &indent);
        let end = if is_empty { format!("\n{}", "  ".repeat(depth - 1)) } else { ",".to_owned() };
        let start = container.span().start + 1;
        Edit { span: Span { start, end: start }, text: format!("\n{indent}{name}{value}{end}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const COMMAND: &str = "qa-skill hook --agent codex";

    fn edit(text: &str, entry: &Value, version: Option<u64>) -> Result<String, SettingsFileError> {
        let hooks = [WantedHook { event: "Stop", entry: entry.clone() }];
        with_hooks(text, &WantedHooks { agent: "codex", hooks: &hooks, version })
    }

    /// Edits a file whose agent has a list of commands; a second edit changes nothing.
    fn add(text: &str) -> Result<String, SettingsFileError> {
        twice(text, &json!({ "command": COMMAND, "timeout": 9 }))
    }

    fn twice(text: &str, entry: &Value) -> Result<String, SettingsFileError> {
        let once = edit(text, entry, None)?;
        assert_eq!(edit(&once, entry, None).as_ref(), Ok(&once));
        Ok(once)
    }

    #[test]
    fn a_hook_is_added_and_all_else_stays() {
        let added = format!("{{\n        \"command\": \"{COMMAND}\",\n        \"timeout\": 9\n      }}");
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
            assert_eq!(add(text).unwrap(), expected);
        }
        // A command for another agent is another one.
        let other = format!("{{\"hooks\":{{\"Stop\":[{{\"command\":\"{COMMAND}-2\"}}]}}}}");
        assert!(add(&other).unwrap().contains(added.as_str()));
    }

    #[test]
    fn hooks_of_ours_are_brought_up_to_date_where_they_stand() {
        let ours = format!("{{\n  \"command\": \"{COMMAND}\",\n  \"timeout\": 9\n}}");
        let ours = ours.as_str();
        let file = |list: &str| format!("{{\"hooks\":{{\"Stop\":[{list}]}}}}");
        for (now, expected) in [
            (format!("1, {{\"command\":\"{COMMAND}\"}}, 2"), format!("1, {ours}, 2")),
            (
                format!("{{\"command\":\"/a/{COMMAND} --base x\", \"matcher\": \"*\", \"mine\": true}}, 2"),
                format!(
                    "{{\n  \"command\": \"/a/{COMMAND} --base x\",\n  \"mine\": true,\n  \"timeout\": 9\n}}, 2"
                ),
            ),
            (format!("{{\"timeout\":9, \"command\":\"{COMMAND}\"}}"), String::new()),
            // A second one goes, wherever it stands.
            (
                format!(
                    "{{\"timeout\":9,\"command\":\"{COMMAND}\"}}, 2, {{\"command\":\"{COMMAND} --base x\"}}"
                ),
                format!("{{\"timeout\":9,\"command\":\"{COMMAND}\"}}, 2"),
            ),
            (
                format!("{{\"command\":\"{COMMAND}\"}}, {{\"command\":\"/b/{COMMAND}\"}}, 2"),
                format!("{ours}, 2"),
            ),
            (format!("{{\"hooks\":[{{\"command\":\"{COMMAND}\"}}]}}"), ours.to_owned()),
        ] {
            let expected = if expected.is_empty() { &now } else { &expected };
            assert_eq!(add(&file(&now)).unwrap(), file(expected));
        }
    }

    #[test]
    fn hooks_of_others_in_a_group_stay_as_they_are() {
        let entry = json!({ "matcher": "Edit", "hooks": [{ "command": COMMAND }] });
        let file = |list: &str| format!("{{\"hooks\":{{\"Stop\":[{list}]}}}}");
        let own = |matcher: &str, command: &str| {
            format!("{{\"matcher\":\"{matcher}\",\"hooks\":[{{\"command\":\"{command}\"}}]}}")
        };
        let shared = |matcher: &str, commands: &str| {
            format!(
                "{{\"matcher\":\"{matcher}\",\"hooks\":[{{\"command\":\"x\"}}{commands},{{\"command\":\"y\"}}]}}"
            )
        };
        let hook = |command: &str| format!(",{{\"command\":\"{command}\"}}");
        let moved =
            |command: &str| rendered(&json!({ "matcher": "Edit", "hooks": [{ "command": command }] }), "");
        let path = format!("/a/{COMMAND}");
        for (now, expected) in [
            (own("Write", &path), moved(&path)),
            (shared("Edit", &hook(&path)), shared("Edit", &hook(&path))),
            (shared("Edit", &(hook(&path) + &hook(COMMAND))), shared("Edit", &hook(&path))),
            (shared("Write", &hook(&path)), format!("{},\n{}", shared("Write", ""), moved(&path))),
            (
                format!("{}, {}", shared("Write", &hook(&path)), own("Edit", COMMAND)),
                format!("{}, {}", shared("Write", ""), own("Edit", COMMAND)),
            ),
        ] {
            assert_eq!(twice(&file(&now), &entry).unwrap(), file(&expected));
        }
    }

    #[test]
    fn line_ends_and_a_missing_last_one_stay() {
        let lines = ["{", "  \"a\": 1,", "  \"hooks\": { \"Stop\": [", "  ] }", "}"];
        let unix = add(&lines.join("\n")).unwrap();
        assert!(!unix.ends_with('\n') && unix.contains("\n      {\n"), "{unix}");
        assert_eq!(add(&lines.join("\r\n")).unwrap(), unix.replace('\n', "\r\n"));
    }

    #[test]
    fn a_version_is_added_where_the_agent_asks_for_one() {
        let entry = json!({ "command": COMMAND });
        let added = edit("{\"hooks\":{}}", &entry, Some(1)).unwrap();
        assert!(added.starts_with("{\n  \"version\": 1,\"hooks\":{\n"), "{added}");
        for (text, version) in [("{\"version\": 2}", Some(1)), ("{}", None)] {
            let added = edit(text, &entry, version).unwrap();
            assert!(!added.contains("\"version\": 1"), "{added}");
        }
    }

    #[test]
    fn a_file_of_another_form_is_left_alone() {
        for text in ["", "[]", "{", "{\"hooks\": []}", "{\"hooks\": {\"Stop\": {}}}", "{\"hooks\": null}"] {
            assert!(add(text).is_err(), "{text}");
        }
        let many =
            format!("{{\"hooks\":{{\"Stop\":[{}1]}}}}", format!("{{\"command\":\"{COMMAND}\"}},").repeat(99));
        assert_eq!(add(&many), Err(SettingsFileError::TooMany));
    }
}
