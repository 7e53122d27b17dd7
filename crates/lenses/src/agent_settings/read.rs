//! Reads a file with settings of an agent as a list of settings, each with what it is compared by and its places.

use qa_reading::documents::{Document, Entry, Format, Node, ReadError};
use qa_reading::shell::Script;
use qa_reading::syntax::Span;

use super::commands;
use super::entries::{Permission, is_any_command_line};
use super::rows::{Meaning, Notation, SettingsFile};
use crate::workflows::model::front_matter;

/// Kind of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Lets an agent do anything.
    Bypass,
    /// The gate's own hook.
    GateHook,
    /// A command that runs unasked.
    Hook,
    /// A command that runs unasked and executes what it downloads.
    NetworkHook,
    /// Keeps hooks from running.
    NoHooks,
    /// Keeps an agent from something.
    Refusal,
    /// A server, a plug-in, or the address of a model.
    Server,
    /// Lets an agent do more.
    Wide,
}

/// A text with its place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) span: Span,
}

impl Token {
    fn new(text: &str, span: Span) -> Self {
        Self { text: text.to_owned(), span }
    }

    fn of(node: Node<'_>) -> Self {
        Self::new(node.text().unwrap_or_default(), node.span())
    }
}

/// A setting.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) kind: Kind,
    /// Text that is equal for equal settings of a kind, however they are written.
    pub(super) identity: String,
    /// Name of the server, hook event or key that it belongs to.
    pub(super) group: String,
    /// Places to quote, in the order of preference.
    pub(super) tokens: Vec<Token>,
    pub(super) summary: &'static str,
    compared: Compared,
}

/// Extent of a setting that may be lost.
#[derive(Debug, Clone)]
enum Compared {
    Identity,
    Refusal { permission: Permission, weight: u8 },
    GateHook { matcher: Option<String>, timeout: Option<f64>, is_answered: bool },
}

impl Setting {
    fn new(kind: Kind, identity: String, tokens: Vec<Token>, summary: &'static str) -> Self {
        Self { kind, identity, group: String::new(), tokens, summary, compared: Compared::Identity }
    }

    fn in_group(mut self, group: &str) -> Self {
        group.clone_into(&mut self.group);
        self
    }

    /// Texts of its tokens.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().map(|token| token.text.as_str())
    }

    /// Returns whether a setting of head does what one of the base did: refuses as much, or runs the gate as often.
    pub(super) fn keeps(&self, old: &Self) -> bool {
        match (&self.compared, &old.compared) {
            (
                Compared::Refusal { permission, weight },
                Compared::Refusal { permission: before, weight: least },
            ) => weight >= least && permission.covers(before),
            (
                Compared::GateHook { matcher, timeout, is_answered },
                Compared::GateHook { matcher: before, timeout: least, .. },
            ) => {
                let is_kept = self.identity == old.identity || *is_answered;
                let is_shorter = matches!((timeout, least), (Some(now), Some(least)) if now < least);
                self.group == old.group
                    && is_kept
                    && !is_shorter
                    && covers_tools(matcher.as_deref(), before.as_deref())
            }
            _ => false,
        }
    }
}

/// Returns whether a hook for some tools, or for all, runs for those of another one.
fn covers_tools(new: Option<&str>, old: Option<&str>) -> bool {
    let Some(new) = new else { return true };
    let Some(old) = old else { return false };
    let new: Vec<&str> = new.split('|').map(str::trim).collect();
    old.split('|').all(|tool| new.contains(&tool.trim()))
}

const ANYTHING: &str = "an agent is allowed to do anything without asking";
const ANY_COMMAND: &str = "an agent may run any command without asking";
const LOOSENED: &str = "a limit of an agent is loosened for everyone";
const REFUSED: &str = "a refusal in an agent's settings is removed or narrowed";
const RUNS: &str = "a command is run unasked by an agent or editor";
const DOWNLOADS: &str = "a command that runs unasked executes what it downloads or is piped";
const SERVER: &str = "an agent gets a server with another command or address";
const ENABLED: &str = "a server or plug-in is switched on for everyone";
const ADDRESS: &str = "requests to the model are sent to another address";
const NO_HOOKS: &str = "hooks of an agent no longer run";
const GATE: &str = "the gate's hook is removed, or its answer no longer reaches the agent";

/// Reads the settings of a file.
///
/// # Errors
/// A text that the agent could not read either.
pub(super) fn settings(file: &SettingsFile, text: &str) -> Result<Vec<Setting>, ReadError> {
    let document = match file.notation {
        // An agent passes over an empty file.
        Notation::Whole(_) if text.trim().is_empty() => return Ok(Vec::new()),
        Notation::Whole(format) => Document::parse(format, text)?,
        // Markdown may begin with a rule, and what is no front matter has no settings.
        Notation::FrontMatter => match Document::parse(Format::Yaml, &text[..front_matter(text)]) {
            Ok(document) => document,
            Err(_) => return Ok(Vec::new()),
        },
    };
    let mut reader = Reader { settings: Vec::new() };
    for row in file.rows {
        let mut values = Vec::new();
        values_at(document.root(), row.path, &mut values);
        for value in values {
            reader.read(value, &row.path.join("."), row.meaning);
        }
    }
    Ok(reader.settings)
}

/// Collects the values at a path, in which `*` is any name.
fn values_at<'d>(node: Node<'d>, path: &[&str], found: &mut Vec<Node<'d>>) {
    let [first, rest @ ..] = path else {
        found.push(node);
        return;
    };
    for entry in node.entries().filter(|entry| *first == "*" || entry.key == *first) {
        values_at(entry.value, rest, found);
    }
}

struct Reader {
    settings: Vec<Setting>,
}

impl Reader {
    fn read(&mut self, value: Node<'_>, key: &str, meaning: Meaning) {
        let word = value.text().unwrap_or_default();
        match meaning {
            Meaning::Bypass(words) if words.contains(&word) => {
                let identity = format!("{key}={word}");
                self.settings.push(Setting::new(Kind::Bypass, identity, vec![Token::of(value)], ANYTHING));
            }
            Meaning::Widens(words) if words.contains(&word) => {
                let identity = format!("{key}={word}");
                self.settings.push(Setting::new(Kind::Wide, identity, vec![Token::of(value)], LOOSENED));
            }
            Meaning::Guards(words) => {
                let is_on = !matches!(word, "" | "false" | "null");
                if words.contains(&word) || words.is_empty() && is_on {
                    self.refuse(key, Token::of(value), 2);
                }
            }
            Meaning::Bypass(_) | Meaning::Widens(_) => {}
            Meaning::Tools => {
                self.allow(value, |text| Permission::new(text).is_any_command());
            }
            Meaning::Commands => self.allow(value, is_any_command_line),
            Meaning::Refused(weight) => {
                for token in switched(value, is_refused) {
                    self.refuse(&token.text.clone(), token, weight);
                }
            }
            Meaning::Hooks => self.hooks(value),
            Meaning::HooksOff(words) => {
                let token = words_of(value).into_iter().find(|token| words.contains(&token.text.as_str()));
                if let Some(token) = token {
                    self.settings.push(Setting::new(Kind::NoHooks, String::new(), vec![token], NO_HOOKS));
                }
            }
            Meaning::Command => self.command(&words_of(value), ""),
            Meaning::Servers => value.entries().for_each(|entry| self.server(entry)),
            Meaning::Enabled => {
                for token in switched(value, is_allowed) {
                    let identity = format!("enabled {}", token.text);
                    self.settings.push(Setting::new(Kind::Server, identity, vec![token], ENABLED));
                }
            }
            Meaning::Address if !word.is_empty() => {
                let identity = format!("address {word}");
                let setting = Setting::new(Kind::Server, identity, vec![Token::of(value)], ADDRESS);
                self.settings.push(setting.in_group(key));
            }
            Meaning::Address => {}
            Meaning::Tasks => value.items().for_each(|task| self.task(task)),
        }
    }

    fn refuse(&mut self, text: &str, token: Token, weight: u8) {
        let compared = Compared::Refusal { permission: Permission::new(text), weight };
        let setting = Setting::new(Kind::Refusal, text.to_owned(), vec![token], REFUSED);
        self.settings.push(Setting { compared, ..setting });
    }

    /// Reads entries of what is allowed, of which only those that are true of any command count.
    fn allow(&mut self, value: Node<'_>, is_any_command: fn(&str) -> bool) {
        for token in switched(value, is_allowed).into_iter().filter(|token| is_any_command(&token.text)) {
            let identity = token.text.split_whitespace().collect();
            self.settings.push(Setting::new(Kind::Wide, identity, vec![token], ANY_COMMAND));
        }
    }

    /// Reads a command that runs unasked, from its program and arguments.
    fn command(&mut self, tokens: &[Token], group: &str) {
        let text = command_line(tokens);
        if text.is_empty() {
            return;
        }
        let script = commands::parse(&text);
        if commands::is_gate_alone(&script) {
            return;
        }
        let setting = Setting::new(Kind::Hook, collapsed(&text), tokens.to_vec(), RUNS);
        self.executable(&script, setting.in_group(group));
    }

    /// Adds a setting with a command, which may let an agent do anything and may execute what it downloads.
    fn executable(&mut self, script: &Script, setting: Setting) {
        if commands::is_unrestricted(script) {
            self.settings.push(Setting { kind: Kind::Bypass, summary: ANYTHING, ..setting.clone() });
        }
        self.settings.push(match commands::runs_download(script) {
            true => Setting { kind: Kind::NetworkHook, summary: DOWNLOADS, ..setting },
            false => setting,
        });
    }

    /// Reads hooks by event: commands, alone or in groups for some tools.
    fn hooks(&mut self, hooks: Node<'_>) {
        for event in hooks.entries() {
            for item in event.value.items() {
                let matcher = item.get("matcher");
                let group = item.get("hooks");
                let inner = group.into_iter().flat_map(Node::items);
                for hook in inner.chain(group.is_none().then_some(item)) {
                    self.hook(hook, event.key, matcher);
                }
            }
        }
    }

    fn hook(&mut self, hook: Node<'_>, event: &str, matcher: Option<Node<'_>>) {
        for name in ["command", "bash", "powershell", "windows", "linux", "osx", "url"] {
            let Some(value) = hook.get(name) else { continue };
            let mut tokens = words_of(value);
            if name == "command" {
                tokens.extend(hook.get("args").into_iter().flat_map(words_of));
            }
            self.gate_hook(hook, &tokens, event, matcher);
            self.command(&tokens, event);
        }
    }

    fn gate_hook(&mut self, hook: Node<'_>, words: &[Token], event: &str, matcher: Option<Node<'_>>) {
        let text = command_line(words);
        let script = commands::parse(&text);
        if !commands::has_gate_hook(&script) {
            return;
        }
        let timeout = hook.get("timeout").or(hook.get("timeoutSec"));
        let tools = matcher.and_then(Node::text).filter(|tools| !matches!(*tools, "" | "*"));
        let compared = Compared::GateHook {
            matcher: tools.map(str::to_owned),
            timeout: timeout.and_then(Node::text).and_then(|text| text.parse().ok()),
            is_answered: commands::is_gate_hook(&script),
        };
        let mut tokens = words.to_vec();
        tokens.extend(timeout.into_iter().chain(matcher).map(Token::of));
        let setting = Setting::new(Kind::GateHook, collapsed(&text), tokens, GATE).in_group(event);
        self.settings.push(Setting { compared, ..setting });
    }

    fn server(&mut self, server: Entry<'_>) {
        let node = server.value;
        let [disabled, enabled] = ["disabled", "enabled"].map(|name| node.get(name).and_then(Node::flag));
        if disabled == Some(true) || enabled == Some(false) {
            return;
        }
        let command = node.get("command");
        // Zed has the program as a member.
        let command = command.and_then(|command| command.get("path")).or(command);
        let mut words: Vec<Token> = command.into_iter().flat_map(words_of).collect();
        let outer = [node.get("args"), node.at(&["command", "args"])];
        words.extend(outer.into_iter().flatten().flat_map(words_of));
        let addresses = ["url", "httpUrl", "serverUrl"];
        let addresses: Vec<Token> =
            addresses.into_iter().filter_map(|name| node.get(name)).map(Token::of).collect();
        let script = commands::parse(&command_line(&words));
        let identity: Vec<&str> =
            words.iter().chain(&addresses).map(|token| unversioned(&token.text)).collect();
        let identity = identity.join(" ");
        if identity.is_empty() {
            return;
        }
        let mut tokens = vec![Token::new(server.key, server.key_span)];
        tokens.extend(words.into_iter().chain(addresses));
        self.executable(&script, Setting::new(Kind::Server, identity, tokens, SERVER).in_group(server.key));
        for name in ["trust", "alwaysAllow", "autoApprove"] {
            let Some(value) = node.get(name) else { continue };
            if value.flag() == Some(true) || value.texts().contains(&"*") {
                let identity = format!("{name} {}", server.key);
                self.settings.push(Setting::new(Kind::Wide, identity, vec![Token::of(value)], LOOSENED));
            }
        }
    }

    /// Reads a task, if it runs when the directory is opened.
    fn task(&mut self, task: Node<'_>) {
        let runs_on = task.at(&["runOptions", "runOn"]);
        if runs_on.and_then(Node::text) != Some("folderOpen") {
            return;
        }
        let mut tokens = Vec::new();
        let systems = ["windows", "linux", "osx"].into_iter().filter_map(|name| task.get(name));
        for node in std::iter::once(task).chain(systems) {
            let members = ["command", "script", "args", "dependsOn"];
            tokens.extend(members.into_iter().filter_map(|name| node.get(name)).flat_map(words_of));
        }
        tokens.extend(runs_on.map(Token::of));
        let (last, words) = tokens.split_last().expect("the event is a token");
        let first = self.settings.len();
        self.command(words, "folderOpen");
        for setting in &mut self.settings[first..] {
            setting.tokens.push(last.clone());
        }
    }
}

/// Returns the entries of a list, and the names of a map whose values say so.
fn switched(value: Node<'_>, is_meant: fn(Node<'_>) -> bool) -> Vec<Token> {
    let mut tokens: Vec<Token> = value.items().filter(|item| item.text().is_some()).map(Token::of).collect();
    let members = value.entries().filter(|entry| is_meant(entry.value));
    tokens.extend(members.map(|entry| Token::new(entry.key, entry.key_span)));
    tokens
}

fn is_allowed(value: Node<'_>) -> bool {
    let value = value.get("approve").unwrap_or(value);
    value.flag() == Some(true) || value.text() == Some("allow")
}

fn is_refused(value: Node<'_>) -> bool {
    let value = value.get("approve").unwrap_or(value);
    value.flag() == Some(false) || matches!(value.text(), Some("ask" | "deny"))
}

/// Returns the texts of a scalar or a list with their places.
fn words_of(node: Node<'_>) -> Vec<Token> {
    match node.text() {
        Some(_) => vec![Token::of(node)],
        None => node.items().filter(|item| item.text().is_some()).map(Token::of).collect(),
    }
}

/// Returns the line that a shell would read: a command that is one text as it is, else its words.
fn command_line(tokens: &[Token]) -> String {
    let [first, rest @ ..] = tokens else { return String::new() };
    let mut line = first.text.trim().to_owned();
    for token in rest {
        let is_plain = !token.text.contains(char::is_whitespace) || token.text.contains('\'');
        line.push(' ');
        line.push_str(&if is_plain { token.text.clone() } else { format!("'{}'", token.text) });
    }
    line
}

fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a package's name without its version, which updates change.
fn unversioned(word: &str) -> &str {
    for sign in ["@", "=="] {
        if let Some((name, version)) = word.rsplit_once(sign)
            && (version == "latest" || version.starts_with(|first: char| first.is_ascii_digit()))
            && version.chars().all(|next| next.is_ascii_alphanumeric() || ".-+".contains(next))
        {
            return name;
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::{covers_tools, unversioned};

    #[test]
    fn packages_are_compared_without_their_versions() {
        let cases = [
            ("@acme/server@1.2.3", "@acme/server"),
            ("server@latest", "server"),
            ("server==1.0", "server"),
            ("@acme/server", "@acme/server"),
            ("https://a@x.test/mcp", "https://a@x.test/mcp"),
            ("server@https://x.test/a.tgz", "server@https://x.test/a.tgz"),
            ("server@npm:other", "server@npm:other"),
        ];
        for (word, expected) in cases {
            assert_eq!(unversioned(word), expected);
        }
    }

    #[test]
    fn a_hook_covers_the_tools_that_it_runs_for() {
        let cases = [
            (None, Some("Edit"), true),
            (Some("Write|Edit"), Some("Edit|Write"), true),
            (Some("Write"), Some("Edit|Write"), false),
            (Some("Write"), None, false),
        ];
        for (new, old, expected) in cases {
            assert_eq!(covers_tools(new, old), expected, "{new:?} {old:?}");
        }
    }
}
