//! Kinds of faults and their grammar: `KIND[:OPERATION][:CALL]`.

use std::fmt;
use std::io;

use qa_run::commands::Exit;

/// Port that a call goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Port {
    Http,
    /// Files of runs and of the runner.
    Storage,
    /// Git objects.
    Objects,
    /// Commands in the sandbox.
    Command,
    Clock,
}

impl Port {
    const ALL: [Self; 5] = [Self::Http, Self::Storage, Self::Objects, Self::Command, Self::Clock];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Storage => "storage",
            Self::Objects => "objects",
            Self::Command => "command",
            Self::Clock => "clock",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|port| port.name() == name)
    }
}

/// Way in which a request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HttpFault {
    /// No connection.
    Refused,
    /// The connection ends before the server has the request.
    Disconnect,
    /// The connection ends after the server acted.
    Lost,
    /// No answer within the time limit.
    Hang,
    /// A late answer.
    Slow,
    /// Half of the answer, as if it were all.
    Cut,
    /// The server acts and answers with JSON of another form.
    Garbled,
    /// The server acts and answers with nothing.
    Empty,
    /// The sign-in page of a proxy, as a success.
    Page,
    /// Sent to another host.
    Redirect,
    /// 429 with a wait.
    Limited,
    /// A status, and nothing done.
    Status(u16),
}

/// Way in which a call of the file system fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StorageFault {
    NoSpace,
    Denied,
    Broken,
    /// Half of the bytes, then no space.
    ShortWrite,
}

/// Way in which a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Http(HttpFault),
    Storage(StorageFault),
    /// A git object that cannot be read, for a reason.
    Object(&'static str),
    /// A command that ended so and did nothing.
    Command(Exit),
    /// The clock is years ahead, or behind.
    Clock {
        ahead: bool,
    },
    /// The process ends, at any port.
    Kill,
    /// A signal asks the run to end, at any port.
    Cancel,
}

/// All kinds by name.
pub(crate) const KINDS: &[(&str, Kind)] = &[
    ("refused", Kind::Http(HttpFault::Refused)),
    ("disconnect", Kind::Http(HttpFault::Disconnect)),
    ("lost", Kind::Http(HttpFault::Lost)),
    ("hang", Kind::Http(HttpFault::Hang)),
    ("slow", Kind::Http(HttpFault::Slow)),
    ("cut", Kind::Http(HttpFault::Cut)),
    ("garbled", Kind::Http(HttpFault::Garbled)),
    ("empty", Kind::Http(HttpFault::Empty)),
    ("page", Kind::Http(HttpFault::Page)),
    ("redirect", Kind::Http(HttpFault::Redirect)),
    ("limited", Kind::Http(HttpFault::Limited)),
    ("401", Kind::Http(HttpFault::Status(401))),
    ("403", Kind::Http(HttpFault::Status(403))),
    ("404", Kind::Http(HttpFault::Status(404))),
    ("409", Kind::Http(HttpFault::Status(409))),
    ("422", Kind::Http(HttpFault::Status(422))),
    ("429", Kind::Http(HttpFault::Status(429))),
    ("500", Kind::Http(HttpFault::Status(500))),
    ("503", Kind::Http(HttpFault::Status(503))),
    ("enospc", Kind::Storage(StorageFault::NoSpace)),
    ("eacces", Kind::Storage(StorageFault::Denied)),
    ("eio", Kind::Storage(StorageFault::Broken)),
    ("short", Kind::Storage(StorageFault::ShortWrite)),
    ("missing", Kind::Object("object not found")),
    ("damaged", Kind::Object("input/output error")),
    ("died", Kind::Command(Exit::Signal(9))),
    ("silent", Kind::Command(Exit::Code(0))),
    ("clock-ahead", Kind::Clock { ahead: true }),
    ("clock-behind", Kind::Clock { ahead: false }),
    ("kill", Kind::Kill),
    ("cancel", Kind::Cancel),
];

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        let found = KINDS.iter().find(|(_, kind)| *kind == self);
        found.expect("every kind is in the list").0
    }

    /// Returns whether the kind can happen at a port.
    pub(crate) fn strikes_at(self, port: Port) -> bool {
        match self {
            Self::Http(_) => port == Port::Http,
            Self::Storage(_) => port == Port::Storage,
            Self::Object(_) => port == Port::Objects,
            Self::Command(_) => port == Port::Command,
            Self::Clock { .. } => port == Port::Clock,
            Self::Kill | Self::Cancel => true,
        }
    }

    /// Returns whether the kind ends the process, so that no later call can meet it.
    pub(crate) fn is_an_end(self) -> bool {
        matches!(self, Self::Kill | Self::Cancel)
    }
}

impl StorageFault {
    pub(super) fn error(self) -> io::Error {
        match self {
            Self::NoSpace | Self::ShortWrite => io::ErrorKind::StorageFull.into(),
            Self::Denied => io::ErrorKind::PermissionDenied.into(),
            Self::Broken => io::Error::other("input/output error"),
        }
    }
}

/// Calls that a fault strikes, counted from 1 over the calls that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    All,
    Only(u64),
    From(u64),
}

impl Calls {
    pub(super) fn contains(self, call: u64) -> bool {
        match self {
            Self::All => true,
            Self::Only(number) => call == number,
            Self::From(number) => call >= number,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (digits, from) = match text.strip_suffix('+') {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        let number = digits.parse().ok().filter(|number| *number > 0)?;
        Some(if from { Self::From(number) } else { Self::Only(number) })
    }
}

/// Entry of the list of faults to inject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    /// Words of the operation's name, joined with hyphens; empty for any operation.
    pub(crate) place: String,
    pub(crate) calls: Calls,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.kind.name())?;
        if !self.place.is_empty() {
            write!(out, ":{}", self.place)?;
        }
        match self.calls {
            Calls::All => Ok(()),
            Calls::Only(number) => write!(out, ":{number}"),
            Calls::From(number) => write!(out, ":{number}+"),
        }
    }
}

/// Parses a list of faults. The error names the allowed kinds or the grammar.
pub(crate) fn parse(list: &str) -> Result<Vec<Fault>, String> {
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(parse_fault).collect()
}

fn parse_fault(entry: &str) -> Result<Fault, String> {
    let mut parts = entry.split(':');
    let name = parts.next().unwrap_or_default();
    let kind = KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
    let kind = kind.ok_or_else(|| {
        let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
        format!("`{entry}` has an unknown kind of fault; the kinds are {}", names.join(", "))
    })?;
    let mut fault = Fault { kind, place: String::new(), calls: Calls::All };
    for (position, part) in parts.enumerate() {
        match Calls::parse(part) {
            Some(calls) if fault.calls == Calls::All => fault.calls = calls,
            None if position == 0 && is_place(part) => fault.place = part.to_owned(),
            _ => {
                return Err(format!(
                    "`{entry}` is not KIND[:OPERATION][:CALL], for example 503:upload:1, enospc:store or kill:3+"
                ));
            }
        }
    }
    Ok(fault)
}

fn is_place(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_lowercase()) && slug(text) == text
}

/// Returns an operation's name as a word of the list: `start the check run` is `start-the-check-run`.
pub(super) fn slug(operation: &str) -> String {
    let plain = operation.chars().map(|character| match character {
        'a'..='z' | '0'..='9' => character,
        'A'..='Z' => character.to_ascii_lowercase(),
        _ => '-',
    });
    plain.collect()
}

/// Returns whether a place is the name of an operation or whole words of it.
pub(crate) fn matches(place: &str, operation: &str) -> bool {
    place.is_empty() || format!("-{operation}-").contains(&format!("-{place}-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_is_written() {
        let list = "disconnect:2,429:1,hang:upload,enospc:store,kill:3,503:start-the-check-run:2+,eio";
        let faults = parse(list).unwrap();
        let shown: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(shown.join(","), list);
        assert_eq!(parse(" , "), Ok(Vec::new()));
        for (name, kind) in KINDS {
            assert_eq!((parse(name).unwrap()[0].kind, kind.name()), (*kind, *name));
        }
    }

    #[test]
    fn a_list_with_a_mistake_names_the_way_out() {
        for (wrong, hint) in [
            ("hung", "the kinds are refused, disconnect,"),
            ("kill:0", "KIND[:OPERATION][:CALL]"),
            ("hang:upload:x", "KIND[:OPERATION][:CALL]"),
            ("hang:1:upload", "KIND[:OPERATION][:CALL]"),
            ("hang:upload:1:2", "KIND[:OPERATION][:CALL]"),
            ("hang:Start the check run", "KIND[:OPERATION][:CALL]"),
            ("hang::1", "KIND[:OPERATION][:CALL]"),
        ] {
            let error = parse(&format!("503:fetch,{wrong}")).unwrap_err();
            assert!(error.starts_with(&format!("`{wrong}` ")) && error.contains(hint), "{error}");
        }
    }

    #[test]
    fn a_place_is_whole_words_of_an_operation() {
        let operation = slug("start the check run");
        for place in ["", "check-run", "start", "start-the-check-run"] {
            assert!(matches(place, &operation), "{place}");
        }
        assert!(!matches("the-run", &operation) && !matches("tart", &operation));
        assert_eq!((slug("info/refs"), slug("openai.chat")), ("info-refs".into(), "openai-chat".into()));
    }
}
