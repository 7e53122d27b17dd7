//! Types that gain a member while a switch over all of them, or a class that has to write it, stays in another file.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::super::contract::{Draft, Lookups};
use super::super::imports::{Family, are_too_many, join, split};
use super::facts::{Change, is_of_callers};
use super::place::{Place, followed, places};
use super::{UNCOVERED_MEMBER, UNIMPLEMENTED_MEMBER};
use crate::mentions::has_word;
use qa_contracts::v1::{ChangeKind, DefinitionKind, MentionKind, PlacedName, Side};
use qa_core::packet::Packet;
use qa_reading::callers;
use qa_reading::members::{self, Form, Implementer, Label, ListedType, Switch};

/// Maximum number of types of a change that are searched for.
const MOST_TYPES: usize = 12;
/// Maximum number of files with the name of a type that are read.
const MOST_FILES: usize = 120;
/// Maximum number of places that a finding names.
const MOST_NAMED: usize = 5;
/// A switch over fewer labels may be about these alone.
const FEWEST_LABELS: usize = 2;

/// Types of a file that gain members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Gains {
    pub(super) path: String,
    package: Option<String>,
    types: Vec<Gain>,
}

/// A type that gains members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Gain {
    name: String,
    form: Listing,
    /// Members at the base.
    before: BTreeSet<String>,
    gained: Vec<PlacedName>,
}

/// The way in which a type has its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Listing {
    Constants,
    Enumeration,
    Interface,
    Union,
}

impl From<Form> for Listing {
    fn from(form: Form) -> Self {
        match form {
            Form::Constants => Self::Constants,
            Form::Enumeration => Self::Enumeration,
            Form::Interface => Self::Interface,
            Form::Union => Self::Union,
        }
    }
}

/// Returns whether a hunk may add a member to a type.
pub(super) fn is_touched(packet: &Packet<'_>) -> bool {
    let is_compared = !matches!(packet.file.kind, ChangeKind::Added | ChangeKind::Deleted);
    is_compared
        && is_of_callers(&packet.path().to_text())
        && packet.hunks().any(|hunk| hunk.added().any(|line| may_gain(line.text)))
}

/// Returns whether a line may be a member: one constant, a part of a union, or a signature without a body.
fn may_gain(line: &str) -> bool {
    let code = line.trim();
    let is_code = !code.is_empty() && !["//", "#", "*", "/*"].iter().any(|mark| code.starts_with(mark));
    let is_constant = !code.contains(['(', '.']) || code.ends_with(',');
    let is_signature = code.contains(')') || code.ends_with([';', ':']);
    is_code && (is_constant || is_signature)
}

/// Returns the types of a changed file that gain members.
pub(super) fn gains(packet: &Packet<'_>) -> Option<Gains> {
    let path = std::str::from_utf8(packet.path().as_bytes()).ok()?.to_owned();
    let (base, head) = (packet.text.full_base.as_deref()?, packet.text.full_head.as_deref()?);
    if !is_touched(packet) || !may_list(head) {
        return None;
    }
    let added: BTreeSet<u64> = packet.added().map(|line| line.number).collect();
    let mut after = members::types(&path, head);
    after.retain(|listed| listed.members.iter().any(|member| added.contains(&u64::from(member.line))));
    // Most changes add no member, and the earlier version need not be parsed for them.
    if after.is_empty() {
        return None;
    }
    let old = packet.file.old_path.as_ref().unwrap_or(packet.path()).to_text();
    let before = members::types(&old, base);
    let types: Vec<Gain> = after.into_iter().filter_map(|after| gain(&before, after, &added)).collect();
    if types.is_empty() {
        return None;
    }
    Some(Gains { package: callers::surface(&path, head).package, path, types })
}

/// Returns whether a file may have a type whose members others list.
fn may_list(text: &str) -> bool {
    const WORDS: &[&str] = &["Enum", "abstract", "const (", "enum ", "interface", "trait ", "type "];
    WORDS.iter().any(|word| text.contains(word))
}

fn gain(before: &[ListedType], after: ListedType, added: &BTreeSet<u64>) -> Option<Gain> {
    let mut same = before.iter().filter(|before| before.name == after.name && before.form == after.form);
    let (same, None) = (same.next()?, same.next()) else { return None };
    if same.is_open || after.is_open || after.name.is_empty() {
        return None;
    }
    let known: BTreeSet<String> = same.members.iter().map(|member| member.name.clone()).collect();
    // The last constant of a group may be their number.
    let gained = after.members.iter().filter(|member| {
        let is_new = !known.contains(&member.name) && added.contains(&u64::from(member.line));
        is_new && (after.form == Form::Interface || !is_number_of(&member.name))
    });
    let gained: Vec<PlacedName> = gained.cloned().collect();
    // A member that goes is one that is renamed.
    let is_renamed = known.iter().any(|old| after.members.iter().all(|member| member.name != *old));
    let is_listed = !gained.is_empty() && !is_renamed;
    is_listed.then(|| Gain { name: after.name, form: after.form.into(), before: known, gained })
}

/// Returns whether a declared type is some members of another one: `Kind.A | Kind.B`, `Exclude<Kind, Kind.C>`.
fn is_part_of(declared: &str, whole: &str) -> bool {
    has_word(MentionKind::Ecma, declared, whole)
        && (declared.contains(&format!("{whole}.")) || declared.contains(&format!("<{whole},")))
}

/// Returns whether a path is that of a test.
pub(super) fn is_of_tests(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_named = [".test.", ".spec.", "_test.", "Test.", "Tests."].iter().any(|part| name.contains(part));
    is_named
        || name.starts_with("test_")
        || path.split('/').any(|part| matches!(part, "__tests__" | "spec" | "test" | "tests"))
}

/// Returns whether a constant has the name of the number of all others, or of their end.
fn is_number_of(name: &str) -> bool {
    const WORDS: &[&str] =
        &["count", "end", "last", "len", "limit", "max", "num", "number", "sentinel", "size", "total"];
    let name = name.to_lowercase();
    WORDS.iter().any(|word| name.starts_with(word) || name.ends_with(word))
}

/// Returns the findings about members that other files leave out.
pub(super) fn drafts(change: &Change, lookups: &dyn Lookups) -> Vec<Draft> {
    let all = change.gains.iter().flat_map(|gains| gains.types.iter().map(move |gain| (gains, gain)));
    let all: Vec<(&Gains, &Gain)> = all.collect();
    if all.len() > MOST_TYPES {
        lookups.stop_short();
    }
    let found = all.into_iter().take(MOST_TYPES).filter_map(|(gains, gain)| {
        let seen = Searched { change, lookups, gains, gain };
        let left = seen.left();
        let (rule, summary) = match gain.form {
            Listing::Interface => (
                UNIMPLEMENTED_MEMBER,
                "a member is added that a class in another file has to write and does not have",
            ),
            Listing::Constants | Listing::Enumeration | Listing::Union => (
                UNCOVERED_MEMBER,
                "a member is added while a switch in another file lists only the earlier ones",
            ),
        };
        let shown: Vec<&str> = left.iter().take(MOST_NAMED).map(String::as_str).collect();
        let draft = change.draft(rule, Side::Head, &gains.path, gain.gained.first()?, summary)?;
        (!left.is_empty()).then(|| draft.with("listedIn", shown))
    });
    found.collect()
}

/// A type that gains members, in a change.
struct Searched<'c> {
    change: &'c Change,
    lookups: &'c dyn Lookups,
    gains: &'c Gains,
    gain: &'c Gain,
}

impl Searched<'_> {
    /// Returns the places of other files that leave the members out.
    fn left(&self) -> Vec<String> {
        let Some(kind) = self.gains.path.parse_family() else { return Vec::new() };
        let Some(word) = self.word() else { return Vec::new() };
        let found = self.lookups.mentions(Side::Head, kind, std::slice::from_ref(word));
        are_too_many(self.lookups, &found, MOST_FILES);
        let mut left = Vec::new();
        let others = found.paths.iter().filter(|path| **path != self.gains.path && is_of_callers(path));
        for path in others.take(MOST_FILES) {
            left.extend(self.left_in(kind, path, word).into_iter().map(|line| format!("{path}:{line}")));
        }
        left
    }

    /// Returns the word that every file has which lists the members.
    fn word(&self) -> Option<&String> {
        match self.gain.form {
            Listing::Constants => self.gain.before.first(),
            Listing::Enumeration | Listing::Interface | Listing::Union => Some(&self.gain.name),
        }
    }

    /// Returns the lines of a file that leave the members out.
    fn left_in(&self, kind: MentionKind, path: &str, word: &str) -> Vec<u32> {
        let Some(text) = self.lookups.text(Side::Head, path) else { return Vec::new() };
        if is_made_up(&text) {
            return Vec::new();
        }
        let is_known = self.gain.gained.iter().any(|gained| has_word(kind, &text, &gained.name));
        if is_known || !self.may_leave(&text) || !self.leads_here(kind, path, word) {
            return Vec::new();
        }
        let lines: Vec<u32> = match self.gain.form {
            // A switch of a test is about the members that the test has.
            Listing::Constants | Listing::Enumeration | Listing::Union if is_of_tests(path) => Vec::new(),
            Listing::Interface => {
                let all = members::implementers(path, &text);
                all.into_iter().filter(|each| self.is_left_by(path, each)).map(|each| each.line).collect()
            }
            Listing::Constants | Listing::Enumeration | Listing::Union => {
                let all = members::switches(path, &text);
                all.into_iter().filter(|each| self.is_over(each)).map(|each| each.line).collect()
            }
        };
        lines.into_iter().filter(|line| !self.change.is_added(path, *line)).collect()
    }

    fn may_leave(&self, text: &str) -> bool {
        match self.gain.form {
            Listing::Interface => true,
            Listing::Constants | Listing::Enumeration | Listing::Union => {
                text.contains("switch") || text.contains("match")
            }
        }
    }

    /// Returns whether every use of the word in a file is one of the type that gains members.
    fn leads_here(&self, kind: MentionKind, path: &str, word: &str) -> bool {
        let place = Place::new(&self.gains.path, self.gains.package.as_deref(), None, word);
        let words = [word.to_owned()];
        let uses = self.lookups.uses(Side::Head, path, &words);
        let mut uses = uses.iter().flat_map(|uses| uses.iter()).peekable();
        let is_beside = kind == MentionKind::Go && split(path).0 == split(&self.gains.path).0;
        if is_beside {
            let own = self.lookups.surface(Side::Head, path);
            return own.is_some_and(|own| own.package == self.gains.package && !own.conditional);
        }
        uses.peek().is_some()
            && uses.all(|used| {
                places(self.lookups, Side::Head, path, used).into_iter().any(|found| {
                    found == place || followed(self.lookups, Side::Head, found).as_ref() == Some(&place)
                })
            })
    }

    /// Returns whether a switch names each of the earlier members and nothing else.
    fn is_over(&self, switch: &Switch) -> bool {
        let names: BTreeSet<&String> = switch.labels.iter().map(|label| &label.name).collect();
        let is_typed = !switch.subject_types.is_empty()
            && switch.subject_types.iter().all(|declared| *declared == self.gain.name);
        let is_part = switch.subject_types.iter().any(|declared| is_part_of(declared, &self.gain.name));
        names.len() >= FEWEST_LABELS
            && !is_part
            && names.into_iter().eq(&self.gain.before)
            && switch.labels.iter().all(|label| self.is_ours(label, is_typed))
    }

    /// Returns whether a label is one of the type. Without its owner it is, where the variable is declared as one of it.
    fn is_ours(&self, label: &Label, is_typed: bool) -> bool {
        label.is_text == (self.gain.form == Listing::Union)
            && match (&label.owner, self.gain.form) {
                (_, Listing::Constants) => true,
                (Some(owner), Listing::Enumeration) => *owner == self.gain.name,
                (None, Listing::Enumeration | Listing::Union) => is_typed,
                (Some(_), Listing::Union) | (_, Listing::Interface) => false,
            }
    }

    /// Returns whether a class has to write the members and has one of them nowhere.
    fn is_left_by(&self, path: &str, class: &Implementer) -> bool {
        let is_sole = class.bases.iter().all(|base| *base == self.gain.name || is_harmless(base));
        if !class.bases.contains(&self.gain.name) || !is_sole || class.is_merged {
            return false;
        }
        match path.parse_family() {
            Some(MentionKind::Go) => self.is_left_by_go(path, class),
            // A class between an abstract one and those that are made needs no member.
            Some(MentionKind::Python) => !self.is_extended(&class.name),
            Some(
                MentionKind::C
                | MentionKind::CSharp
                | MentionKind::Configuration
                | MentionKind::Ecma
                | MentionKind::Java
                | MentionKind::Lockfile
                | MentionKind::Php
                | MentionKind::Ruby
                | MentionKind::Rust,
            )
            | None => true,
        }
    }

    /// Returns whether a type of Go, all of whose methods are known, lacks a member.
    fn is_left_by_go(&self, path: &str, class: &Implementer) -> bool {
        let directory = split(path).0;
        let mut is_declared = false;
        for file in self.lookups.files_in(Side::Head, directory).iter().filter(|file| file.ends_with(".go")) {
            let Some(surface) = self.lookups.surface(Side::Head, &join(directory, file)) else {
                return false;
            };
            for each in &surface.definitions {
                let is_own = each.owner.as_ref() == Some(&class.name);
                if is_own && self.gain.gained.iter().any(|gained| gained.name == each.name.name) {
                    return false;
                }
                let is_type = each.owner.is_none() && each.name.name == class.name;
                if is_type && (each.open || each.kind != DefinitionKind::Type) {
                    return false;
                }
                is_declared |= is_type;
            }
        }
        is_declared
    }

    /// Returns whether some class may have another one as its base.
    fn is_extended(&self, name: &str) -> bool {
        let found = self.lookups.mentions(Side::Head, MentionKind::Python, &[name.to_owned()]);
        !found.complete
            || found.paths.len() > MOST_FILES
            || found.paths.iter().any(|path| {
                let text = self.lookups.text(Side::Head, path);
                text.is_none_or(|text| text.split("class ").skip(1).any(|after| is_based_on(after, name)))
            })
    }
}

/// Returns whether the head of a class of Python, the text after its keyword, names a base.
fn is_based_on(after: &str, base: &str) -> bool {
    let head = after.split(':').next().unwrap_or(after);
    head.split_once('(').is_some_and(|(_, bases)| has_word(MentionKind::Python, bases, base))
}

/// Returns whether classes of a file may get members that their text does not have.
fn is_made_up(text: &str) -> bool {
    const WORDS: &[&str] =
        &[".prototype", "@AutoImplement", "@Delegate", "__PHP", "import lombok", "setattr("];
    WORDS.iter().any(|word| text.contains(word))
}

/// Returns whether a base gives a class no members.
fn is_harmless(base: &str) -> bool {
    const PLAIN: &[&str] = &[
        "ArrayAccess",
        "AutoCloseable",
        "Cloneable",
        "Closeable",
        "Comparable",
        "Countable",
        "IDisposable",
        "IEquatable",
        "IteratorAggregate",
        "JsonSerializable",
        "Runnable",
        "Serializable",
        "Stringable",
        "object",
    ];
    PLAIN.contains(&base)
}
