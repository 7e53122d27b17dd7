//! Commands of a shell that no longer ask for the certificate of the other side, in scripts and wherever scripts stand.

use super::{THIS_MACHINE, TLS, TRUSTED};
use crate::calls::AddedLines;
use crate::contract::{Draft, DraftExt, Fact, Inspection};
use crate::pattern::Pattern;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::ChangedFile;
use qa_core::classify;
use qa_core::packet::Packet;
use qa_reading::dockerfile::{self, Variable};
use qa_reading::documents::{Document, Format, Node, ReadError, Step};
use qa_reading::makefile::Makefile;
use qa_reading::shell::{Command, MAX_BYTES, Options, Script, Word};
use qa_reading::syntax::Span;

/// Words of which one stands in every match.
const WORDS: &[&str] = &[
    "curl",
    "no-check-certificate",
    "GIT_SSL_NO_VERIFY",
    "sslVerify",
    "strict-ssl",
    "NODE_TLS_REJECT_UNAUTHORIZED",
];
/// Variables that switch the check off, with the values that do.
const VARIABLES: &[(&str, &[&str])] =
    &[("GIT_SSL_NO_VERIFY", &["1", "true"]), ("NODE_TLS_REJECT_UNAUTHORIZED", &["0"])];
/// Names of the members of a configuration that hold scripts.
const SCRIPTS: &[&str] =
    &["run", "script", "before_script", "after_script", "command", "commands", "bash", "entry", "args"];
/// Short options of curl behind which the word goes on with a value.
const CURL_VALUES: &str = "AbcCdDeEFhHKmoPQrtTuUwxXyYz";

static HERE: Pattern = Pattern::new(THIS_MACHINE);

/// Notation around scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notation {
    Script,
    Dockerfile,
    Makefile,
    /// `package.json`, whose member `scripts` has nothing else.
    Manifest,
    Configuration,
}

fn notation(path: &RepoPath) -> Option<Notation> {
    let text = path.to_text();
    let name = text.rsplit('/').next().unwrap_or(&text);
    let (_, ending) = name.rsplit_once('.').unwrap_or_default();
    let is_makefile = matches!(name, "GNUmakefile" | "Makefile" | "makefile") || ending == "mk";
    let is_dockerfile = name.starts_with("Dockerfile") || name == "Containerfile" || ending == "dockerfile";
    let is_action = matches!(name, "action.yml" | "action.yaml");
    match ending {
        "bash" | "sh" | "zsh" => Some(Notation::Script),
        "json" if name == "package.json" => Some(Notation::Manifest),
        "yml" | "yaml" if is_action || classify::is_executed(path) => Some(Notation::Configuration),
        _ if is_makefile => Some(Notation::Makefile),
        _ if is_dockerfile => Some(Notation::Dockerfile),
        _ => None,
    }
}

/// Returns the notation of a changed file, whose language may come from more than its ending.
fn notation_of(file: &ChangedFile) -> Option<Notation> {
    let by_language = || RepoPath::from_bytes(classify::path_by_language(file).as_bytes()).ok();
    notation(&file.path).or_else(|| notation(&by_language()?))
}

/// Returns whether a file is, or has, scripts.
pub(super) fn is_read(file: &ChangedFile) -> bool {
    notation_of(file).is_some()
}

/// Returns whether a text has a word of a match.
pub(super) fn may_match(text: &str) -> bool {
    WORDS.iter().any(|word| text.contains(word))
}

/// Adds what the scripts of a file say on added lines.
pub(super) fn inspect(packet: &Packet<'_>, inspection: &mut Inspection) {
    let (Some(notation), Some(text)) = (notation_of(packet.file), packet.text.full_head.as_deref()) else {
        return;
    };
    if !packet.added().any(|line| may_match(line.text)) && !may_match(text) {
        return;
    }
    let lines = AddedLines::new(packet, text);
    let Ok(places) = places(notation, text) else {
        inspection.facts.push(Fact::unread());
        return;
    };
    for place in places {
        let Some((line, quote)) = lines.on(place) else { continue };
        let mut drafts = inspection.drafts.iter();
        if !drafts.any(|draft| draft.rule == TLS && draft.start_line == line.number) {
            inspection.drafts.push(Draft::on_line(TLS, packet, line, quote, TRUSTED));
        }
    }
}

/// Returns whether the scripts of a file keep the check, or `None` for a file that has none or cannot be read.
pub(super) fn complies(path: &RepoPath, text: &str) -> Option<bool> {
    Some(places(notation(path)?, text).ok()?.is_empty())
}

/// Returns the places in a text that switch the check off.
fn places(notation: Notation, text: &str) -> Result<Vec<Span>, ReadError> {
    match notation {
        Notation::Script => in_script(text, |offset| offset),
        Notation::Dockerfile => in_dockerfile(text),
        Notation::Makefile => in_makefile(text),
        Notation::Manifest => in_configuration(Format::Json, text),
        Notation::Configuration => in_configuration(Format::Yaml, text),
    }
}

fn in_script(text: &str, source_of: impl Fn(usize) -> usize) -> Result<Vec<Span>, ReadError> {
    if !may_match(text) {
        return Ok(Vec::new());
    }
    if text.len() > MAX_BYTES {
        return Err(ReadError::TooLarge);
    }
    Ok(placed(unchecked(&Script::parse(text, Options::default()), text), source_of))
}

/// Moves the places of a script to those of the file around it.
fn placed(spans: Vec<Span>, source_of: impl Fn(usize) -> usize) -> Vec<Span> {
    let placed = spans
        .into_iter()
        .map(|span| Span { start: source_of(span.start), end: source_of(span.end.saturating_sub(1)) + 1 });
    placed.collect()
}

fn in_dockerfile(text: &str) -> Result<Vec<Span>, ReadError> {
    let mut found = Vec::new();
    for instruction in dockerfile::instructions(text)? {
        for Variable { name, value } in instruction.variables() {
            let Some(value) = value else { continue };
            if switches_off(&name.text, &value.text) {
                found.push(Span { start: name.span.start, end: value.span.end });
            }
        }
        if let Some(script) = instruction.script() {
            found.extend(in_script(&script.text, |offset| script.source_of(offset))?);
        }
    }
    Ok(found)
}

fn in_makefile(text: &str) -> Result<Vec<Span>, ReadError> {
    let makefile = Makefile::parse(text);
    let mut found = Vec::new();
    for line in makefile.rules.iter().flat_map(|rule| &rule.recipe) {
        let script = &line.script;
        if script.text.len() > MAX_BYTES {
            return Err(ReadError::TooLarge);
        }
        if may_match(&script.text) {
            let spans = unchecked(&line.parse(makefile.options()), &script.text);
            found.extend(placed(spans, |offset| script.source_of(offset)));
        }
    }
    Ok(found)
}

fn in_configuration(format: Format, text: &str) -> Result<Vec<Span>, ReadError> {
    if !may_match(text) {
        return Ok(Vec::new());
    }
    let document = Document::parse(format, text)?;
    let mut found = Vec::new();
    for root in document.roots() {
        for leaf in root.leaves()? {
            let name = leaf.path.iter().rev().find_map(key);
            let Some((name, script)) = name.zip(leaf.value.text()) else { continue };
            if switches_off(name, script) {
                found.push(leaf.value.span());
            }
            let is_of_package = format == Format::Json && leaf.path.first().and_then(key) == Some("scripts");
            if SCRIPTS.contains(&name) || is_of_package {
                found.extend(in_value(leaf.value, script)?);
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn in_value(value: Node<'_>, script: &str) -> Result<Vec<Span>, ReadError> {
    in_script(script, |offset| value.place_of(offset))
}

fn key<'d>(step: &Step<'d>) -> Option<&'d str> {
    match step {
        Step::Key(key) => Some(key),
        Step::Item(_) => None,
    }
}

fn switches_off(name: &str, value: &str) -> bool {
    VARIABLES.iter().any(|(variable, values)| *variable == name && values.contains(&value))
}

/// Returns the places in a script that switch the check off.
fn unchecked(script: &Script, text: &str) -> Vec<Span> {
    let mut found = Vec::new();
    for command in &script.commands {
        if HERE.is_match(command.span.of(text)) {
            continue;
        }
        for assignment in &command.assignments {
            if assignment.value.constant().is_some_and(|value| switches_off(&assignment.name, value)) {
                found.push(assignment.span);
            }
        }
        found.extend(by_program(command, text));
    }
    found
}

/// Returns the option of a known program that switches the check off.
fn by_program(command: &Command, text: &str) -> Option<Span> {
    let arguments = command.arguments();
    match command.program()? {
        "curl" => {
            let option = arguments.iter().find(|word| word.constant().is_some_and(is_insecure))?;
            // The program and its option, where one line has both.
            let program = command.effective().first()?.span;
            let whole = Span { start: program.start, end: option.span.end };
            let is_on_one_line = text.get(whole.start..whole.end).is_some_and(|text| !text.contains('\n'));
            Some(if is_on_one_line { whole } else { option.span })
        }
        "wget" => option(arguments, &["--no-check-certificate"]),
        "git" => git(arguments),
        "npm" | "pnpm" | "yarn" => option(arguments, &["--strict-ssl=false", "--no-strict-ssl"])
            .or_else(|| pair(arguments, |name| name == "strict-ssl")),
        _ => None,
    }
}

/// Returns whether a word of curl is `--insecure`, or has `-k` among short options.
fn is_insecure(word: &str) -> bool {
    let Some(options) = word.strip_prefix('-') else { return false };
    if options.starts_with('-') {
        return options == "-insecure";
    }
    options.chars().take_while(|option| !CURL_VALUES.contains(*option)).any(|option| option == 'k')
}

fn git(arguments: &[Word]) -> Option<Span> {
    let setting = arguments.iter().find(|word| {
        let setting = word.constant().and_then(|word| word.split_once('='));
        setting.is_some_and(|(name, value)| is_ssl_verify(name) && is_false(value))
    });
    setting.map(|word| word.span).or_else(|| pair(arguments, is_ssl_verify))
}

/// Returns the place of a name with `false` behind it.
fn pair(arguments: &[Word], is_name: impl Fn(&str) -> bool) -> Option<Span> {
    let found = arguments.windows(2).find(|words| {
        let is_named = words[0].constant().is_some_and(&is_name);
        is_named && words[1].constant().is_some_and(is_false)
    })?;
    Some(Span { start: found[0].span.start, end: found[1].span.end })
}

fn is_false(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "false" | "0" | "no" | "off")
}

/// Returns the first argument that is one of some options.
fn option(arguments: &[Word], options: &[&str]) -> Option<Span> {
    let word = arguments.iter().find(|word| word.constant().is_some_and(|word| options.contains(&word)));
    word.map(|word| word.span)
}

/// Returns whether a setting of git is `http.sslVerify`, for all addresses or for one.
fn is_ssl_verify(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("http.") && name.ends_with(".sslverify")
}
