//! Reads the settings of a table from a configuration, in whatever spelling they are written.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use qa_reading::documents::{Document, Format, Node, Plain, ReadError, Step};
use qa_reading::syntax::Span;

use super::tool::{Direction, Place, Scope, Setting, Tool};
use crate::selection::Selection;

/// Members by which configurations build on others.
const EXTENDS: &[&str] = &["extends", "extend", "inherit_from"];
/// Files that configure other things than one tool.
const SHARED: &[&str] = &["Cargo.toml", "package.json", "pom.xml", "pyproject.toml", "setup.cfg", "tox.ini"];

/// Members that tell a tool about versions and nothing about what to report.
const VERSIONS: &[&str] = &["msrv", "python_version", "pythonVersion", "target-version"];

/// The identity of a setting within its configuration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// Position in the tool's table.
    pub(super) setting: usize,
    /// Names that `*` stands for, such as that of a rule.
    pub(super) names: Vec<String>,
    /// Part of the code that the setting is for, as the configuration names it.
    pub(super) part: String,
}

/// A value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Flag(bool),
    /// 0 for off, 1 for a warning, 2 for an error.
    Level(u8),
    Number(f64),
    Entries(BTreeSet<String>),
    Word(String),
    Options(Box<Selection>),
    /// A value that is not literal.
    Unknown,
}

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Located {
    pub(super) value: Value,
    /// Path of the file.
    pub(super) path: String,
    /// Place of the value, and of each entry of a list.
    pub(super) span: Span,
    pub(super) entries: Vec<PlacedEntry>,
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlacedEntry {
    pub(super) text: String,
    pub(super) span: Span,
}

/// The settings of one file.
#[derive(Debug, Clone, Default)]
pub(super) struct Configuration {
    pub(super) values: BTreeMap<Key, Located>,
    /// Paths of other configurations of the repository that this one builds on.
    pub(super) builds_on: Vec<String>,
    /// True if no configuration of a directory above counts.
    pub(super) is_root: bool,
    /// True if it says nothing but which version of a language or compiler is meant.
    pub(super) is_about_versions: bool,
    /// True if it takes over settings that are not written here.
    pub(super) is_partly_unknown: bool,
    /// True if each value in it is that of a known setting.
    pub(super) is_known: bool,
}

/// Reads the settings of a tool from a file; none where the file has no part for the tool.
pub(super) fn read_settings(
    tool: &Tool,
    place: &Place,
    path: &str,
    text: &str,
) -> Result<Option<Configuration>, ReadError> {
    // NEON is written with tabs, which YAML does not know.
    let text = if path.contains(".neon") { Cow::Owned(text.replace('\t', " ")) } else { Cow::Borrowed(text) };
    // MSBuild is not alone in naming files `.props`.
    let is_markup = text.trim_start_matches('\u{feff}').trim_start().starts_with('<');
    if tool.scope == Scope::Project && place.format == Format::Xml && !is_markup {
        return Ok(None);
    }
    let document = Document::parse(place.format, &text)?;
    let Some(section) = document.root().at(place.section) else { return Ok(None) };
    let mut configuration = Configuration::default();
    for (position, setting) in tool.settings.iter().enumerate() {
        for spelling in setting.paths {
            let mut found = Vec::new();
            let segments: Vec<&str> = spelling.split(' ').collect();
            collect(section, &segments, &Way::default(), &mut found);
            for (way, node) in found {
                let key = way.key(position, setting);
                configuration.add(key, located(setting, path, node));
            }
        }
    }
    configuration.read_base(section);
    let mut names = section.entries().map(|entry| entry.key).peekable();
    configuration.is_about_versions = names.peek().is_some() && names.all(|name| VERSIONS.contains(&name));
    let known: Vec<Span> = configuration.values.values().map(|located| located.span).collect();
    configuration.is_known = is_known(section, &known);
    // The section of a manifest of Maven is all of it.
    let is_whole = place.section.is_empty() || place.format == Format::Xml;
    let is_empty = configuration.values.is_empty() && (is_whole || section.entries().next().is_none());
    Ok(if is_shared(path) && is_empty { None } else { Some(configuration) })
}

/// Returns whether each value below a node is that of a known setting.
fn is_known(node: Node<'_>, known: &[Span]) -> bool {
    let own = node.span();
    known.iter().any(|span| span.start <= own.start && own.end <= span.end)
        || node.is_map() && node.entries().all(|entry| is_known(entry.value, known))
        || node.is_list() && node.items().all(|item| is_known(item, known))
}

/// Returns whether a file configures other things than one tool.
pub(super) fn is_shared(path: &str) -> bool {
    SHARED.contains(&path.rsplit('/').next().unwrap_or(path))
}

impl Configuration {
    /// Adds a value. Of a list, entries add up; of everything else the last value counts.
    fn add(&mut self, key: Key, new: Located) {
        match self.values.get_mut(&key) {
            Some(Located { value: Value::Entries(all), entries, .. }) => {
                if let Value::Entries(more) = new.value {
                    all.extend(more);
                    entries.extend(new.entries);
                }
            }
            Some(old) => *old = new,
            None => {
                self.values.insert(key, new);
            }
        }
    }

    /// Reads which other configurations this one builds on.
    fn read_base(&mut self, section: Node<'_>) {
        for name in EXTENDS {
            let Some(node) = section.get(name) else { continue };
            for text in node.texts() {
                let is_file = text.starts_with('.') || text.contains('/') && text.ends_with(".toml");
                match is_file {
                    true => self.builds_on.push(text.to_owned()),
                    false => self.is_partly_unknown = true,
                }
            }
        }
        let has_code = section.items().any(|item| matches!(item.plain(), Some(Plain::Code(_))));
        self.is_partly_unknown |= has_code || section.get("...").is_some();
        self.is_root = section.get("root").and_then(Node::flag) == Some(true);
    }
}

/// The keys on the way from the section to a value.
#[derive(Debug, Clone, Default)]
struct Way {
    names: Vec<String>,
    parts: Vec<String>,
}

impl Way {
    fn with_part(&self, name: &str) -> Self {
        let mut way = self.clone();
        way.names.push(name.to_owned());
        way
    }

    fn key(&self, position: usize, setting: &Setting) -> Key {
        let mut names = self.names.clone();
        if setting.direction == Direction::Level
            && let Some(rule) = names.last_mut()
        {
            // A rule that moves to another plug-in keeps its own name.
            *rule = rule.rsplit('/').next().unwrap_or_default().to_owned();
        }
        Key { setting: position, names, part: self.parts.join(" ") }
    }
}

/// Collects the values that a path of a table leads to.
fn collect<'d>(node: Node<'d>, path: &[&str], way: &Way, found: &mut Vec<(Way, Node<'d>)>) {
    let [segment, rest @ ..] = path else {
        found.push((way.clone(), node));
        return;
    };
    if *segment == "**" {
        collect(node, rest, way, found);
        for entry in node.entries() {
            collect(entry.value, path, way, found);
        }
        for item in node.items() {
            collect(item, path, way, found);
        }
        return;
    }
    if let Some(filter) = segment.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let elements: Vec<Node<'d>> = if node.is_list() { node.items().collect() } else { vec![node] };
        for element in elements {
            let (member, wanted) = filter.split_once('=').unwrap_or((filter, ""));
            let named = element.get(member).map(|named| named.get("#text").unwrap_or(named));
            let texts = named.map(Node::texts).unwrap_or_default();
            if wanted.is_empty() {
                let mut way = way.clone();
                way.parts.push(texts.join(","));
                collect(element, rest, &way, found);
            } else if texts.contains(&wanted) {
                collect(element, rest, way, found);
            }
        }
        return;
    }
    for entry in node.entries() {
        match segment.split_once('*') {
            Some((start, end)) if entry.key.starts_with(start) && entry.key.ends_with(end) => {
                collect(entry.value, rest, &way.with_part(entry.key), found);
            }
            None if entry.key == *segment => collect(entry.value, rest, way, found),
            Some(_) | None => {}
        }
    }
}

fn located(setting: &Setting, path: &str, node: Node<'_>) -> Located {
    let mut entries = Vec::new();
    let value = match setting.direction {
        Direction::On | Direction::OnByDefault | Direction::Off => match node.flag() {
            Some(flag) => Value::Flag(flag),
            None => Value::Unknown,
        },
        Direction::Level => level(node),
        Direction::Severity | Direction::StyleSeverity => severity(node),
        Direction::AtLeast | Direction::AtMost | Direction::UpFromZero => match number(node) {
            Some(number) => Value::Number(number),
            None => Value::Unknown,
        },
        Direction::Includes | Direction::Excludes | Direction::ExcludesBeyond(_) | Direction::Only(_) => {
            entries = entries_of(node);
            Value::Entries(entries.iter().map(|entry| entry.text.clone()).collect())
        }
        Direction::Options(tool) => {
            entries = entries_of(node);
            Value::Options(Box::new(Selection::of_options(tool, &words_of(node))))
        }
        Direction::Words(_) => match node.text() {
            Some(text) => Value::Word(text.to_owned()),
            None => Value::Unknown,
        },
    };
    Located { value, path: path.to_owned(), span: node.span(), entries }
}

/// Returns the words of options: the items of a list, or those of a text, of which quotes keep some together.
fn words_of(node: Node<'_>) -> Vec<&str> {
    let Some(text) = node.text() else { return node.texts() };
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' | '\'' => rest[1..].find(first).map(|end| end + 2),
            _ => rest.find(char::is_whitespace),
        };
        let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
        words.push(word.trim_matches(['"', '\'']));
        rest = behind.trim_start();
    }
    words
}

/// Reads a level: a word, a number, a list that begins with one, or a map with a member `level`.
fn level(node: Node<'_>) -> Value {
    if let Some(first) = node.items().next() {
        return level(first);
    }
    if let Some(member) = node.get("level") {
        return level(member);
    }
    let Some(plain) = node.plain() else { return Value::Unknown };
    Value::Level(match plain {
        Plain::Null | Plain::Flag(false) => 0,
        Plain::Flag(true) => 2,
        Plain::Number("0") => 0,
        Plain::Number("1") => 1,
        Plain::Number(_) => 2,
        Plain::Code(_) => return Value::Unknown,
        Plain::Text(word) => match word.to_lowercase().as_str() {
            "off" | "none" | "ignore" | "allow" | "disable" | "disabled" | "suppress" | "false" => 0,
            "warn" | "warning" | "info" | "information" | "hint" | "on" => 1,
            _ => 2,
        },
    })
}

/// Reads a severity of Roslyn, alone or behind a value and a colon: 0 for an error up to 4 for none.
fn severity(node: Node<'_>) -> Value {
    let word = node.text().and_then(|text| text.rsplit(':').next()).unwrap_or_default();
    match word.trim().to_ascii_lowercase().as_str() {
        "error" => Value::Number(0.0),
        "warning" => Value::Number(1.0),
        "suggestion" | "info" => Value::Number(2.0),
        "silent" | "hidden" | "refactoring" => Value::Number(3.0),
        "none" => Value::Number(4.0),
        _ => Value::Unknown,
    }
}

/// Reads a number, also with a percent sign, parted digits or another base.
fn number(node: Node<'_>) -> Option<f64> {
    let text = node.text()?.trim().trim_end_matches('%').trim().replace('_', "");
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            return u32::from_str_radix(digits, radix).ok().map(f64::from);
        }
    }
    text.parse().ok()
}

/// Reads the entries of a list, or of a text that parts them by commas, blanks or lines.
fn entries_of(node: Node<'_>) -> Vec<PlacedEntry> {
    if let Some(text) = node.text() {
        let mut entries = Vec::new();
        let mut line_start = 0;
        for line in text.split('\n') {
            // A line of a longer value may be a comment.
            if !line.trim_start().starts_with('#') {
                entries.extend(words_on(node, line, line_start));
            }
            line_start += line.len() + 1;
        }
        return entries;
    }
    let items = node.items().map(|item| PlacedEntry { text: entry_text(item), span: item.span() });
    let members =
        node.entries().map(|entry| PlacedEntry { text: entry.key.to_owned(), span: entry.value.span() });
    items.chain(members).collect()
}

/// Returns the words of a line that begins at a place of a text.
fn words_on(node: Node<'_>, line: &str, line_start: usize) -> Vec<PlacedEntry> {
    let mut entries = Vec::new();
    let mut at = line_start;
    for word in line.split([',', ' ', '\t', ';']) {
        if !word.is_empty() && !word.starts_with('#') {
            let start = node.place_of(at);
            let span = Span { start, end: start + word.len() };
            entries.push(PlacedEntry { text: word.to_owned(), span });
        }
        at += word.len() + 1;
    }
    entries
}

/// Text of an entry; of a map, its members in the order of their names, each on a line.
fn entry_text(node: Node<'_>) -> String {
    if let Some(text) = node.text() {
        return text.to_owned();
    }
    let Ok(leaves) = node.leaves() else { return String::new() };
    let mut words: Vec<String> = Vec::with_capacity(leaves.len());
    for leaf in leaves {
        let keys = leaf.path.iter().map(|step| match step {
            Step::Key(key) => (*key).to_owned(),
            Step::Item(at) => at.to_string(),
        });
        let value = leaf.value.text().unwrap_or_default().replace('\n', " ");
        words.push(format!("{}: {value}", keys.collect::<Vec<_>>().join(".")));
    }
    words.sort();
    words.join("\n")
}

/// Format of a configuration that another one names by its path.
pub(super) fn format_of(path: &str) -> Option<Format> {
    let (_, extension) = path.rsplit_once('.')?;
    Some(match extension {
        "cfg" | "ini" => Format::Ini,
        "cjs" | "cts" | "js" | "mjs" | "mts" | "ts" => Format::Ecma,
        "json" | "json5" | "jsonc" => Format::Json,
        "toml" => Format::Toml,
        "xml" => Format::Xml,
        "yaml" | "yml" => Format::Yaml,
        _ => return None,
    })
}
