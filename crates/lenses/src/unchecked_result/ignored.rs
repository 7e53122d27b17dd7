//! Calls whose result is the only sign of failure, as statements.

use super::seen::{Seen, is_one_of, last_name, receiver};
use super::{ERROR, PARTIAL, STATUS, TASK};
use qa_reading::syntax::Language;
use qa_reading::values::{Body, Call, Fate};

/// A call whose result must not be dropped.
struct Row {
    rule: &'static str,
    languages: &'static [Language],
    callees: &'static [&'static str],
    /// Numbers of arguments with which it is that call.
    arguments: std::ops::RangeInclusive<usize>,
    only: Only,
    summary: &'static str,
}

/// Condition on a call beyond its name.
enum Only {
    Always,
    /// The text of one of the arguments begins with one of these.
    With(&'static [&'static str]),
    /// The receiver's name is that of a stream.
    OnStreams,
    /// The function around is asynchronous.
    InAsynchronous,
}

const PYTHON: &[Language] = &[Language::Python];
const JAVA: &[Language] = &[Language::Java];
const ECMA: &[Language] = &[Language::JavaScript, Language::Tsx, Language::TypeScript];
const GO: &[Language] = &[Language::Go];
const CSHARP: &[Language] = &[Language::CSharp];
const C: &[Language] = &[Language::C, Language::Cpp];

const NOT_ENTERED: &str = "the lock may not be taken, and the result that says so is dropped";
const PART: &str = "fewer bytes may be read than asked for, and their number is dropped";

const ROWS: &[Row] = &[
    Row {
        rule: STATUS,
        languages: JAVA,
        callees: &[".createNewFile", ".mkdir", ".mkdirs"],
        arguments: 0..=0,
        only: Only::Always,
        summary: "the file may not be created, and the result that says so is dropped",
    },
    Row {
        rule: STATUS,
        languages: JAVA,
        callees: &[".renameTo"],
        arguments: 1..=1,
        only: Only::Always,
        summary: "the file may not be renamed, and the result that says so is dropped",
    },
    Row {
        rule: STATUS,
        languages: JAVA,
        callees: &[".tryLock", ".tryAcquire"],
        arguments: 0..=3,
        only: Only::Always,
        summary: NOT_ENTERED,
    },
    Row {
        rule: STATUS,
        languages: CSHARP,
        callees: &["Monitor.TryEnter", ".TryEnterReadLock", ".TryEnterWriteLock"],
        arguments: 1..=2,
        only: Only::Always,
        summary: NOT_ENTERED,
    },
    Row {
        rule: STATUS,
        languages: GO,
        callees: &[".TryLock", ".TryRLock"],
        arguments: 0..=0,
        only: Only::Always,
        summary: NOT_ENTERED,
    },
    Row {
        rule: STATUS,
        languages: PYTHON,
        callees: &[".acquire"],
        arguments: 1..=2,
        only: Only::With(&["False", "block=False", "blocking=False", "timeout="]),
        summary: NOT_ENTERED,
    },
    Row {
        rule: PARTIAL,
        languages: JAVA,
        callees: &[".read"],
        arguments: 1..=3,
        only: Only::OnStreams,
        summary: PART,
    },
    Row {
        rule: PARTIAL,
        languages: CSHARP,
        callees: &[".Read", ".ReadAsync"],
        arguments: 3..=4,
        only: Only::OnStreams,
        summary: PART,
    },
    Row {
        rule: PARTIAL,
        languages: GO,
        callees: &[".Read"],
        arguments: 1..=1,
        only: Only::OnStreams,
        summary: PART,
    },
    Row {
        rule: PARTIAL,
        languages: C,
        callees: &["fread", "fscanf", "read", "recv", "scanf", "sscanf"],
        arguments: 2..=9,
        only: Only::Always,
        summary: "less may be read than asked for, and the number of items is dropped",
    },
    Row {
        rule: ERROR,
        languages: GO,
        callees: FALLIBLE,
        arguments: 0..=9,
        only: Only::Always,
        summary: "the call may fail, and its error is dropped",
    },
    Row {
        rule: TASK,
        languages: PYTHON,
        callees: &["asyncio.create_task", "asyncio.ensure_future", "loop.create_task"],
        arguments: 1..=3,
        only: Only::Always,
        summary: "nothing keeps the task, so that it may be collected before it ends, and its exception is lost",
    },
    Row {
        rule: TASK,
        languages: ECMA,
        callees: &["Promise"],
        arguments: 1..=1,
        only: Only::InAsynchronous,
        summary: "nothing waits for the promise",
    },
];

/// Functions of Go's standard library that fail for bad input or for want of a file.
const FALLIBLE: &[&str] = &[
    "http.Get",
    "http.ListenAndServe",
    "http.NewRequest",
    "http.NewRequestWithContext",
    "http.Post",
    "io.ReadAll",
    "json.Marshal",
    "json.MarshalIndent",
    "json.Unmarshal",
    "os.Create",
    "os.Mkdir",
    "os.MkdirAll",
    "os.Open",
    "os.OpenFile",
    "os.ReadFile",
    "os.Rename",
    "os.WriteFile",
    "regexp.Compile",
    "sql.Open",
    "strconv.Atoi",
    "strconv.ParseBool",
    "strconv.ParseFloat",
    "strconv.ParseInt",
    "strconv.ParseUint",
    "time.Parse",
    "time.ParseDuration",
    "url.Parse",
    "url.ParseQuery",
    "url.QueryUnescape",
    "xml.Unmarshal",
    "yaml.Unmarshal",
];

/// Reports the calls whose result is dropped.
pub(super) fn inspect(seen: &mut Seen<'_>) {
    let mut found = Vec::new();
    for body in &seen.bodies {
        for call in body.calls().into_iter().filter(|call| !call.is_nested) {
            let mut rows = ROWS.iter().filter(|row| row.languages.contains(&seen.language));
            let Some(row) = rows.find(|row| row.is_meant(body, call)) else { continue };
            let drops_error = row.rule == ERROR && drops_last(body, call);
            let is_awaited = row.rule == TASK && seen.text[..call.span.start].trim_end().ends_with("await");
            if call.fate == Fate::Dropped && !is_awaited || drops_error {
                found.push((row.rule, call.span, row.summary));
            }
        }
    }
    for (rule, place, summary) in found {
        seen.report(rule, &[place], summary);
    }
}

/// Returns whether the last result of a call is bound to `_`.
fn drops_last(body: &Body, call: &Call) -> bool {
    let last = body.bind_of(call).and_then(|bind| bind.targets.last());
    call.fate == Fate::Bound && last.is_some_and(|last| last.name == "_")
}

impl Row {
    fn is_meant(&self, body: &Body, call: &Call) -> bool {
        let holds = match self.only {
            Only::Always => true,
            Only::With(words) => begins_with(call, words),
            Only::OnStreams => is_stream(last_name(receiver(call))),
            Only::InAsynchronous => body.is_asynchronous,
        };
        holds && self.arguments.contains(&call.arguments.len()) && is_one_of(&call.callee, self.callees)
    }
}

/// Returns whether an argument of a call begins with one of some words.
fn begins_with(call: &Call, words: &[&str]) -> bool {
    call.arguments.iter().any(|argument| words.iter().any(|word| argument.starts_with(word)))
}

fn is_stream(name: &str) -> bool {
    const NAMES: &[&str] = &["body", "conn", "in", "input", "is", "r", "reader", "stream"];
    let small = name.to_lowercase();
    NAMES.contains(&small.as_str()) || ["stream", "reader", "input"].iter().any(|end| small.ends_with(end))
}
