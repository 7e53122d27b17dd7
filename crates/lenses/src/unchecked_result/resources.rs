//! Resources that a function opens or takes, and never gives back or hands on.

use super::seen::{Seen, is_one_of, last_name, receiver};
use super::{CANCEL, LOCK, RESOURCE};
use qa_reading::syntax::{Language, Span};
use qa_reading::values::{Act, Bind, Body, Call, Event, Fate, Statement, StatementKind};

/// A call that opens something.
struct Row {
    languages: &'static [Language],
    callees: &'static [&'static str],
    /// Members that give it back.
    releases: &'static [&'static str],
    /// Member that is what has to be given back, where it is not the result itself.
    part: &'static str,
    noun: &'static str,
}

const ROWS: &[Row] = &[
    Row {
        languages: &[Language::Python],
        callees: PYTHON_OPENS,
        releases: &["close"],
        part: "",
        noun: "file",
    },
    Row {
        languages: &[Language::Python],
        callees: &["socket.socket", "socket.create_connection", "sqlite3.connect"],
        releases: &["close", "detach"],
        part: "",
        noun: "connection",
    },
    Row {
        languages: &[Language::Go],
        callees: &["os.Create", "os.CreateTemp", "os.Open", "os.OpenFile"],
        releases: &["Close"],
        part: "",
        noun: "file",
    },
    Row {
        languages: &[Language::Go],
        callees: &["http.Get", "http.Head", "http.Post", "http.PostForm", "http.DefaultClient.Do"],
        releases: &["Close"],
        part: "Body",
        noun: "body of the response",
    },
    Row {
        languages: &[Language::Go],
        callees: &["time.NewTicker"],
        releases: &["Stop"],
        part: "",
        noun: "ticker",
    },
    Row {
        languages: &[Language::Go],
        callees: &["db.Query", "db.QueryContext", "tx.Query", "tx.QueryContext"],
        releases: &["Close"],
        part: "",
        noun: "result of the query",
    },
    Row {
        languages: &[Language::Go],
        callees: &["net.Dial", "net.DialTimeout", "net.Listen", "sql.Open"],
        releases: &["Close"],
        part: "",
        noun: "connection",
    },
    Row {
        languages: &[Language::Java],
        callees: &[
            "FileInputStream",
            "FileOutputStream",
            "FileReader",
            "FileWriter",
            "Files.list",
            "Files.newBufferedReader",
            "Files.newBufferedWriter",
            "Files.newInputStream",
            "Files.newOutputStream",
            "Files.walk",
            "RandomAccessFile",
            "ServerSocket",
            "Socket",
        ],
        releases: &["close"],
        part: "",
        noun: "file or connection",
    },
    Row { languages: &[Language::Php], callees: &["fopen"], releases: &["fclose"], part: "", noun: "file" },
    Row {
        languages: &[Language::CSharp],
        callees: &[
            "File.Create",
            "File.Open",
            "File.OpenRead",
            "File.OpenText",
            "File.OpenWrite",
            "FileStream",
            "StreamReader",
            "StreamWriter",
            "TcpClient",
        ],
        releases: &["Close", "CloseAsync", "Dispose", "DisposeAsync"],
        part: "",
        noun: "file or connection",
    },
];

/// Functions of PHP that use a file and do not take ownership.
const PHP_READERS: &[&str] = &[
    "feof",
    "fflush",
    "fgetc",
    "fgetcsv",
    "fgets",
    "flock",
    "fputcsv",
    "fputs",
    "fread",
    "fseek",
    "ftell",
    "fwrite",
    "rewind",
    "stream_get_contents",
];
const PYTHON_OPENS: &[&str] =
    &["bz2.open", "codecs.open", "gzip.open", "io.open", "lzma.open", "open", "os.fdopen"];

/// Functions that read a file to its end and leave it open.
const PYTHON_READERS: &[&str] =
    &["json.load", "pickle.load", "plistlib.load", "tomllib.load", "yaml.load", "yaml.safe_load"];

/// Calls that take a body of a response and do not close it.
const READERS: &[&str] = &[
    "bufio.NewReader",
    "bufio.NewScanner",
    "html.Parse",
    "io.Copy",
    "io.LimitReader",
    "io.ReadAll",
    "ioutil.ReadAll",
    "json.NewDecoder",
    "xml.NewDecoder",
];

/// Reports what is opened and not closed.
pub(super) fn inspect(seen: &mut Seen<'_>) {
    let mut found = Vec::new();
    for body in seen.bodies.iter().filter(|body| !body.is_module) {
        for call in body.calls().into_iter().filter(|call| !call.is_nested) {
            let mut rows = ROWS.iter().filter(|row| row.languages.contains(&seen.language));
            let Some(row) = rows.find(|row| is_open(call, row.callees)) else { continue };
            let is_lost = match &call.fate {
                // The file object that `open(…).read()` makes is nobody's.
                Fate::Member(name, true) => {
                    row.part.is_empty() && !row.releases.contains(&name.as_str()) && name != "detach"
                }
                Fate::Dropped => true,
                Fate::Argument(callee) => {
                    seen.language == Language::Python && is_one_of(callee, PYTHON_READERS)
                }
                Fate::Bound => body.bind_of(call).is_some_and(|bind| row.is_left_open(body, bind, seen.text)),
                Fate::Indexed(_) | Fate::Member(..) | Fate::Other => false,
            };
            if is_lost {
                let summary = format!("the {} is never given back: call {}", row.noun, row.releases[0]);
                found.push((call.span, summary));
            }
        }
    }
    for (place, summary) in found {
        seen.report(RESOURCE, &[place], summary);
    }
    cancels(seen);
    locks(seen);
}

/// Returns whether a call opens something: a name without a dot is a function and no method.
fn is_open(call: &Call, callees: &[&str]) -> bool {
    callees.iter().any(|name| match name.contains('.') {
        true => is_one_of(&call.callee, &[name]),
        // The name of a class may be qualified.
        false => {
            let is_class = name.starts_with(char::is_uppercase);
            call.callee == *name || is_class && call.callee.rsplit('.').next() == Some(*name)
        }
    })
}

impl Row {
    /// Returns whether a function uses what it opened, and neither closes it nor lets it go.
    fn is_left_open(&self, body: &Body, bind: &Bind, text: &str) -> bool {
        let Some(target) = bind.targets.first().filter(|target| !target.name.is_empty()) else {
            return false;
        };
        let declaration = text[..target.span.start].rsplit(['\n', ';', '{', '(']).next().unwrap_or_default();
        if declaration.contains("using ") || target.name == "_" {
            return false;
        }
        let events = body.events();
        let mut uses = events.iter().filter(|event| event.name == target.name && event.act != Act::Written);
        let is_let_go = uses.any(|event| !self.keeps(event));
        let is_written_once =
            events.iter().filter(|event| event.name == target.name && event.act == Act::Written).count() == 1;
        is_written_once && !is_let_go
    }

    /// Returns whether a use leaves the resource with the function, and open.
    fn keeps(&self, event: &Event) -> bool {
        match &event.act {
            Act::Member(..) if event.is_nested => false,
            Act::Member(name, false) if name == self.part => {
                event.argument_of.as_deref().is_some_and(|callee| is_one_of(callee, READERS))
            }
            Act::Member(name, _) => {
                !self.releases.contains(&name.as_str()) && !CHAINS.contains(&name.as_str())
            }
            Act::Indexed => true,
            Act::Read if self.releases == ["fclose"] => {
                event.argument_of.as_deref().is_some_and(|callee| PHP_READERS.contains(&callee))
            }
            Act::Called | Act::OptionalMember | Act::Read | Act::Written => false,
        }
    }
}

/// Members whose result holds the resource.
const CHAINS: &[&str] = &[
    "__enter__",
    "makefile",
    "fileno",
    "Fd",
    "getChannel",
    "getInputStream",
    "getOutputStream",
    "GetStream",
];

/// Reports functions that end a context, where they are dropped.
fn cancels(seen: &mut Seen<'_>) {
    const CONTEXTS: &[&str] = &["context.WithCancel", "context.WithDeadline", "context.WithTimeout"];
    let mut found: Vec<Span> = Vec::new();
    for body in seen.bodies.iter().filter(|_| seen.language == Language::Go) {
        for call in body.calls().into_iter().filter(|call| CONTEXTS.contains(&call.callee.as_str())) {
            let cancel = body.bind_of(call).and_then(|bind| bind.targets.get(1));
            found.extend(cancel.filter(|cancel| cancel.name == "_").map(|cancel| cancel.span));
        }
    }
    for place in found {
        seen.report(
            CANCEL,
            &[place],
            "the function that ends the context is dropped, so that the context stays",
        );
    }
}

/// A call that takes a lock, and the one that gives it back.
struct Pair {
    languages: &'static [Language],
    takes: &'static str,
    gives: &'static [&'static str],
}

const PAIRS: &[Pair] = &[
    Pair { languages: &[Language::Go], takes: "Lock", gives: &["Unlock"] },
    Pair { languages: &[Language::Go], takes: "RLock", gives: &["RUnlock"] },
    Pair { languages: &[Language::Java], takes: "lock", gives: &["unlock"] },
    Pair { languages: &[Language::Python], takes: "acquire", gives: &["release", "notify", "locked"] },
    Pair { languages: &[Language::CSharp], takes: "EnterReadLock", gives: &["ExitReadLock"] },
    Pair { languages: &[Language::CSharp], takes: "EnterWriteLock", gives: &["ExitWriteLock"] },
    Pair { languages: &[Language::CSharp], takes: "Enter", gives: &["Exit"] },
    Pair { languages: &[Language::CSharp], takes: "Wait", gives: &["Release"] },
];

/// Names of functions that take a lock for their caller.
const TAKING: &[&str] = &["acquire", "begin", "enter", "lock", "open", "start", "wait"];

/// Reports locks that a function takes where nothing in the file gives them back.
fn locks(seen: &mut Seen<'_>) {
    let left: Vec<[Span; 2]> = seen.bodies.iter().flat_map(|body| left_locked(seen.language, body)).collect();
    for places in left {
        seen.report(LOCK, &places, "the function may return before it releases the lock");
    }
    let mut found: Vec<Span> = Vec::new();
    for body in seen.bodies.iter().filter(|body| !body.is_module) {
        let name = body.name.to_lowercase();
        if TAKING.iter().any(|word| name.contains(word)) {
            continue;
        }
        for call in body.calls().into_iter().filter(|call| !call.is_nested && call.fate == Fate::Dropped) {
            let taken = last_name(&call.callee);
            let pair =
                PAIRS.iter().find(|pair| pair.languages.contains(&seen.language) && pair.takes == taken);
            let Some(pair) = pair else { continue };
            let what = match taken {
                "Enter" if call.callee == "Monitor.Enter" => "Monitor",
                "Enter" => continue,
                _ => last_name(receiver(call)),
            };
            if is_lock(what) && !is_given_back(seen.text, what, pair) {
                found.push(call.span);
            }
        }
    }
    for place in found {
        seen.report(LOCK, &[place], "the lock is taken, and nothing in the file releases it");
    }
}

/// Finds locks that a block acquires and releases, where a statement between the two leaves the function.
fn left_locked(language: Language, body: &Body) -> Vec<[Span; 2]> {
    let mut found = Vec::new();
    for (block, is_tried) in body.blocks() {
        for (index, statement) in block.statements.iter().enumerate() {
            let Some((call, pair)) =
                only_call(statement).and_then(|call| Some((call, taken_by(language, call)?)))
            else {
                continue;
            };
            let after = &block.statements[index + 1..];
            let lock = receiver(call);
            let end =
                after.iter().position(|later| only_call(later).is_some() && gives_back(later, lock, pair));
            let Some(end) = end else { continue };
            let between = &after[..end];
            let leaves = between.iter().find(|later| leaves(later) && !gives_back(later, lock, pair));
            let is_safe = is_tried
                || between
                    .iter()
                    .any(|later| matches!(later.kind, StatementKind::Try | StatementKind::Defer));
            found.extend(leaves.filter(|_| !is_safe).map(|leaving| [call.span, leaving.span]));
        }
    }
    found
}

fn only_call(statement: &Statement) -> Option<&Call> {
    let mut calls = statement.calls.iter().filter(|call| call.fate == Fate::Dropped && !call.is_nested);
    calls.next().filter(|_| statement.kind == StatementKind::Call)
}

fn taken_by(language: Language, call: &Call) -> Option<&'static Pair> {
    let name = last_name(&call.callee);
    PAIRS
        .iter()
        .find(|pair| pair.languages.contains(&language) && pair.takes == name && !receiver(call).is_empty())
}

/// Returns whether a statement, or one inside of it, releases a lock.
fn gives_back(statement: &Statement, lock: &str, pair: &Pair) -> bool {
    let mut calls = statement.calls.iter();
    calls.any(|call| receiver(call) == lock && pair.gives.contains(&last_name(&call.callee)))
        || statement
            .blocks
            .iter()
            .flat_map(|block| &block.statements)
            .any(|inside| gives_back(inside, lock, pair))
}

/// Returns whether a statement, or one inside of it, leaves the function.
fn leaves(statement: &Statement) -> bool {
    matches!(statement.kind, StatementKind::Return | StatementKind::Throw)
        || statement.blocks.iter().flat_map(|block| &block.statements).any(leaves)
}

fn is_lock(name: &str) -> bool {
    let small = name.to_lowercase();
    ["lock", "mu", "mutex", "monitor", "sem", "semaphore", "mtx"].iter().any(|word| small.ends_with(word))
}

fn is_given_back(text: &str, lock: &str, pair: &Pair) -> bool {
    pair.gives
        .iter()
        .any(|give| text.contains(&format!("{lock}.{give}")) || text.contains(&format!("{lock}::{give}")))
}
