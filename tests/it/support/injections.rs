//! Prompt injections against a reviewing model, and changes that contain them.

use std::collections::BTreeSet;

use git2::{ObjectType, Oid};

use super::reviews::reviewing;
use super::{Files, Repo, Server, conflict, token};

/// Number of texts in one change: a terminal shows at most 50 findings in full, and each text may have three.
const TOGETHER: usize = 10;
/// Maximum number of characters of a line that a model gets.
pub(crate) const SHOWN: usize = 2_000;

/// Place of a text in a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Line,
    Comment,
    BlockComment,
    Text,
    File,
    FileName,
    Removed,
    Heading,
    Markdown,
    MarkupComment,
    AltText,
    Title,
    Definition,
    Hidden,
    Commit,
}

impl Place {
    fn parse(word: &str) -> Self {
        match word {
            "line" => Self::Line,
            "comment" => Self::Comment,
            "block-comment" => Self::BlockComment,
            "string" => Self::Text,
            "file" => Self::File,
            "file-name" => Self::FileName,
            "removed" => Self::Removed,
            "heading" => Self::Heading,
            "markdown" => Self::Markdown,
            "markup-comment" => Self::MarkupComment,
            "alt-text" => Self::AltText,
            "title" => Self::Title,
            "definition" => Self::Definition,
            "hidden" => Self::Hidden,
            "commit" => Self::Commit,
            other => panic!("no place is called {other}"),
        }
    }

    /// Returns whether the rendered file does not show it, so that the model must not get it either.
    pub(crate) fn is_unseen(self) -> bool {
        matches!(self, Self::MarkupComment | Self::AltText | Self::Title | Self::Definition)
    }

    /// Returns whether text is removed before a model gets the file.
    pub(crate) fn is_cleaned(self) -> bool {
        self.is_unseen() || self == Self::Hidden
    }
}

/// One hostile text.
#[derive(Debug, Clone)]
pub(crate) struct Injection {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) text: String,
    pub(crate) path: String,
    /// True if a rule blocks a change that contains it.
    pub(crate) is_blocked: bool,
}

/// All of them, in the order of their files and names.
pub(crate) fn injections() -> Vec<Injection> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/injections");
    let mut files: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.retain(|path| path.extension() == Some("txt".as_ref()));
    files.iter().flat_map(|path| parse(&std::fs::read_to_string(path).unwrap())).collect()
}

fn parse(text: &str) -> Vec<Injection> {
    let text = format!("\n{text}");
    let sections = text.split("\n=== ").skip(1).map(|section| section.split_once('\n').unwrap());
    sections.map(|(head, text)| injection(head, &decoded(text.trim_end_matches('\n')))).collect()
}

fn injection(head: &str, text: &str) -> Injection {
    let mut parts = head.split(" | ");
    let name = parts.next().unwrap();
    let place = Place::parse(parts.next().unwrap());
    let is_blocked = name.ends_with('!');
    let name = name.trim_end_matches('!');
    let path = match (place, parts.next()) {
        (Place::File, Some(path)) => path.to_owned(),
        (Place::File, None) | (_, Some(_)) => panic!("{head}: only a file has a path"),
        (Place::FileName, None) => text.to_owned(),
        (Place::Line | Place::Hidden | Place::Removed, None) => format!("notes/{name}.txt"),
        (Place::Comment | Place::Text | Place::Heading | Place::Commit, None) => format!("src/{name}.py"),
        (Place::BlockComment, None) => format!("src/{name}.js"),
        (_, None) => format!("docs/{name}.md"),
    };
    Injection { name: name.to_owned(), place, text: text.to_owned(), path, is_blocked }
}

/// Replaces `\u{…}`, `\r` and `\rep{N:text}`.
fn decoded(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(Repeated { count, text, after }) = repeated(rest) {
            out.push_str(&decoded(text).repeat(count));
            rest = after;
        } else if let Some((digits, after)) = rest.strip_prefix("\\u{").and_then(|rest| rest.split_once('}'))
        {
            out.push(char::from_u32(u32::from_str_radix(digits, 16).unwrap()).unwrap());
            rest = after;
        } else if let Some(after) = rest.strip_prefix("\\r") {
            out.push('\r');
            rest = after;
        } else {
            out.push('\\');
            rest = &rest[1..];
        }
    }
    out + rest
}

/// A `\rep{N:text}`, and the text after it.
struct Repeated<'a> {
    count: usize,
    /// May have escapes with braces.
    text: &'a str,
    after: &'a str,
}

fn repeated(text: &str) -> Option<Repeated<'_>> {
    let (count, inner) = text.strip_prefix("\\rep{")?.split_once(':')?;
    let mut depth = 1;
    let end = inner.find(|character| {
        depth += match character {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        depth == 0
    })?;
    Some(Repeated { count: count.parse().unwrap(), text: &inner[..end], after: &inner[end + 1..] })
}

impl Injection {
    /// Returns the content of its file at head.
    fn head(&self) -> String {
        let text = &self.text;
        match self.place {
            Place::Line | Place::File | Place::Markdown | Place::Hidden => format!("{text}\n"),
            Place::Comment => {
                text.lines().map(|line| format!("# {line}\n")).collect::<String>() + "value = 1\n"
            }
            Place::BlockComment => format!("/*\n{text}\n*/\nexport const value = 1;\n"),
            Place::Text => format!("NOTE = \"\"\"\n{text}\n\"\"\"\n"),
            Place::FileName | Place::Commit => "value = 1\n".to_owned(),
            Place::Removed => "first\nlast\n".to_owned(),
            Place::Heading => format!("{text}\n{}    last = 2\n", "    same = 1\n".repeat(8)),
            Place::MarkupComment => format!("# Notes\n\n<!--\n{text}\n-->\n\nSeen.\n"),
            Place::AltText => format!("# Notes\n\n![{text}](picture.png)\n\nSeen.\n"),
            Place::Title => format!("# Notes\n\n<abbr title=\"{text}\">QA</abbr>\n\nSeen.\n"),
            Place::Definition => format!("# Notes\n\n[//]: # \"{text}\"\n\nSeen.\n"),
        }
    }

    /// Returns the content of its file at the base, if it exists there.
    fn base(&self) -> Option<String> {
        if self.place == Place::Removed {
            return Some(format!("first\n{}\nlast\n", self.text));
        }
        (self.place == Place::Heading).then(|| self.head().replace("last = 2", "last = 1"))
    }

    /// Returns its lines that a model may get.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        let lines = if self.place == Place::Commit { "" } else { &self.text };
        lines.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).filter(|line| !line.is_empty())
    }
}

/// A change with several texts.
struct Group {
    paths: BTreeSet<String>,
    injections: Vec<Injection>,
}

impl Group {
    fn accepts(&self, injection: &Injection) -> bool {
        self.injections.len() < TOGETHER
            && self.injections[0].is_blocked == injection.is_blocked
            && !self.paths.contains(&injection.path)
    }
}

/// Returns changes with several texts each, all texts together. Texts that a rule blocks have changes of their own.
pub(crate) fn together() -> Vec<Vec<Injection>> {
    let mut groups: Vec<Group> = Vec::new();
    for injection in injections() {
        match groups.iter_mut().find(|group| group.accepts(&injection)) {
            Some(group) => {
                group.paths.insert(injection.path.clone());
                group.injections.push(injection);
            }
            None => groups
                .push(Group { paths: BTreeSet::from([injection.path.clone()]), injections: vec![injection] }),
        }
    }
    groups.into_iter().map(|group| group.injections).collect()
}

/// Presence of faults that rules find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Faults {
    With,
    Without,
}

/// A change with the texts under a policy that asks the model of a server.
pub(crate) fn injected(
    texts: &[Injection],
    faults: Faults,
    server: &Server,
    surface: &str,
    settings: &str,
) -> Repo {
    let policy = reviewing(surface, &server.url(), settings);
    let policy = format!("{policy}\n[rules.\"review-security/injection\"]\nstrength = \"advise\"\n");
    let common = Files::from_texts(&[(".qa-skill/policy.toml", &policy), ("app.py", "value = 1\n")]);
    let (mut base, mut head) = (common.clone(), common.with("app.py", "value = 2\nother = value + 1\n"));
    for text in texts {
        if let Some(old) = text.base() {
            base = base.with(&text.path, old);
        }
        head = head.with(&text.path, text.head());
    }
    if faults == Faults::With {
        head = head.with("merged.py", format!("a = 1\n{}", conflict()));
        head = head.with("settings.py", format!("key = \"{}\"\n", token()));
    }
    let repo = Repo::new();
    let (base, head) = (repo.tree(&base), repo.tree(&head));
    let messages = texts.iter().filter(|text| text.place == Place::Commit).map(|text| text.text.as_str());
    let message = messages.collect::<Vec<_>>().join("\n\n");
    let base = repo.commit(base, &[]);
    repo.reference("refs/heads/main", base);
    let head = commit(&repo, head, base, if message.is_empty() { "A commit" } else { &message });
    repo.reference("refs/heads/topic", head);
    repo
}

fn commit(repo: &Repo, tree: Oid, parent: Oid, message: &str) -> Oid {
    let who = "A U Thor <a@example.com> 1714564800 +0000";
    let text = format!("tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\n{message}\n");
    repo.write(ObjectType::Commit, text.as_bytes())
}
