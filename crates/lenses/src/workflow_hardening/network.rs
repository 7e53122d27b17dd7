//! Scripts that come from the network: piped into a shell, or downloaded and run by a later command.

use std::collections::BTreeMap;

use qa_reading::shell::{Command, Interpreter, Word};
use qa_reading::syntax::Span;
use qa_reading::workflow::{ParsedRun, Run};

use super::{FROM_NETWORK, Found};
use crate::contract::Census;
use crate::pattern::Pattern;
use crate::workflows::model::{Group, Model, pipelines_of, runs};

/// Downloads that are run, in scripts of other programs and in words that another machine runs.
static PIPED: Pattern = Pattern::new(concat!(
    r"\b((?:curl|wget)\b[^|;&]*\|\s*(?:sudo\s+(?:-\w+\s+)*)?(?:/usr)?(?:/bin/)?(?:env\s+)?(?:(?:ba|z|da|k)?sh|python3?|node|perl|ruby)\b)",
    r"|\b((?:ba|z|da)?sh\s+(?:-\w+\s+)*<\(\s*(?:curl|wget)\b)",
    r#"|\b((?:ba|z|da)?sh\s+-c\s+["']?\$\(\s*(?:curl|wget)\b)"#,
    r"|(?i:\b((?:iwr|irm|invoke-webrequest|invoke-restmethod)\b[^|;]*\|\s*(?:iex|invoke-expression)\b))",
    r"|(?i:\b((?:iex|invoke-expression)\b[^|;]*\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring)\b))",
));

const SUMMARY: &str = "a script is run as it comes from the network";

const FETCHERS: &[&str] = &["curl", "wget"];
const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "ksh", "zsh"];
const INTERPRETERS: &[&str] = &["python", "python3", "node", "perl", "ruby", "php"];
/// Programs that compare what was fetched with something known.
const CHECKERS: &[&str] = &[
    "b2sum",
    "cosign",
    "gpg",
    "gpgv",
    "md5sum",
    "minisign",
    "openssl",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "shasum",
    "slsa-verifier",
];
/// Programs that only show the words they get.
const PRINTERS: &[&str] = &["cat", "echo", "gh", "git", "grep", "printf", "sed"];

/// Looks at every script of a workflow or an action.
pub(super) fn audit(model: &Model<'_>, found: &mut Vec<Found>) {
    for group in model.groups() {
        for each in downloads(&group) {
            found.extend(each.found);
        }
    }
}

/// Returns for every script whether it runs nothing that comes from the network.
pub(super) fn census(model: &Model<'_>) -> Census {
    let groups = model.groups();
    groups.iter().flat_map(downloads).map(|each| each.found.is_empty()).collect()
}

/// Findings of one script.
struct OfScript {
    found: Vec<Found>,
}

/// A file that an earlier command downloaded.
struct Download {
    place: Span,
    words: String,
}

fn downloads(group: &Group<'_, '_>) -> Vec<OfScript> {
    let mut files: BTreeMap<String, Download> = BTreeMap::new();
    runs(group).map(|(_, run)| OfScript { found: of_script(&run, &mut files) }).collect()
}

fn of_script(run: &Run<'_>, files: &mut BTreeMap<String, Download>) -> Vec<Found> {
    let mut found = Vec::new();
    let parsed = run.parse();
    if let Some(parsed) = &parsed {
        let mut places: Vec<Span> = Vec::new();
        for command in &parsed.script.commands {
            let source = piped_from(parsed, command).or_else(|| substituted_from(parsed, command));
            if let Some(source) = source {
                let span = Span {
                    start: source.span.start.min(command.span.start),
                    end: source.span.end.max(command.span.end),
                };
                let is_known = places.iter().any(|known| known.start < span.end && span.start < known.end);
                if !is_known {
                    places.push(span);
                    let lead = parsed.template.place(source.span);
                    let each = new_finding(parsed, command.span, words_of(source));
                    found.push(each.from(lead.start).because([lead]));
                }
                continue;
            }
            follow(parsed, command, files, &mut found);
        }
        for command in &parsed.script.commands {
            let shows = command.program().is_some_and(|program| PRINTERS.contains(&program));
            let words = command.arguments().iter().filter(|_| !shows);
            for word in words.filter(|word| word.quoted && PIPED.is_match(word.text())) {
                let is_known =
                    places.iter().any(|known| known.start < word.span.end && word.span.start < known.end);
                if !is_known {
                    places.push(word.span);
                    found.push(new_finding(parsed, word.span, word.text().to_owned()));
                }
            }
        }
    }
    let is_read = parsed.is_some_and(|parsed| parsed.script.broken.is_empty());
    if !is_read || !matches!(run.interpreter, Interpreter::Shell(_)) {
        found.extend(by_text(run, &found));
    }
    for each in &mut found {
        each.because.push(run.value.span());
    }
    found
}

fn new_finding(parsed: &ParsedRun, span: Span, subject: String) -> Found {
    Found::at_place(FROM_NETWORK, parsed.template.place(span), subject, SUMMARY)
}

fn words_of(command: &Command) -> String {
    command.effective().iter().map(Word::text).collect::<Vec<_>>().join(" ")
}

fn is_fetch(command: &Command) -> bool {
    command.program().is_some_and(|program| FETCHERS.contains(&program))
}

/// Returns the command whose output a shell or another interpreter reads as its program in a pipeline.
fn piped_from<'s>(parsed: &'s ParsedRun, command: &Command) -> Option<&'s Command> {
    if !reads_program_from_input(command) {
        return None;
    }
    let pipelines: Vec<Span> = pipelines_of(parsed, command);
    parsed.script.commands.iter().find(|other| {
        is_fetch(other)
            && other.span.start < command.span.start
            && pipelines_of(parsed, other).iter().any(|pipeline| pipelines.contains(pipeline))
    })
}

/// Returns whether a command takes its input for a program: without a file, and without a program in its arguments.
fn reads_program_from_input(command: &Command) -> bool {
    let Some(program) = command.program() else { return false };
    let mut arguments = command.arguments().iter().map(Word::text);
    if SHELLS.contains(&program) {
        return match arguments.find(|word| !matches!(*word, "-o" | "pipefail") && *word != "-") {
            None => true,
            Some(first) if !first.starts_with(['-', '+']) => false,
            Some(first) => {
                let rest: Vec<&str> = std::iter::once(first).chain(arguments).collect();
                let short: String = rest
                    .iter()
                    .filter(|word| word.starts_with('-') && !word.starts_with("--"))
                    .copied()
                    .collect();
                short.contains('s')
                    || !short.contains('c')
                        && rest.iter().all(|word| word.starts_with(['-', '+']) || *word == "pipefail")
            }
        };
    }
    let is_interpreter = INTERPRETERS.contains(&program) || is_python(program);
    is_interpreter
        && arguments.all(|word| word == "-" || matches!(word, "-u" | "-B" | "-s" | "-E" | "-I" | "-W0"))
}

fn is_python(program: &str) -> bool {
    program
        .strip_prefix("python")
        .is_some_and(|version| version.chars().all(|next| next.is_ascii_digit() || next == '.'))
}

/// Returns the command whose output a command runs: `bash <(curl …)`, `sh -c "$(curl …)"`, `eval "$(curl …)"`.
fn substituted_from<'s>(parsed: &'s ParsedRun, command: &Command) -> Option<&'s Command> {
    let program = command.program()?;
    let runs_text = SHELLS.contains(&program)
        || INTERPRETERS.contains(&program)
        || is_python(program)
        || matches!(program, "eval" | "source" | ".");
    if !runs_text {
        return None;
    }
    let operand = command.arguments().iter().find(|word| !word.text().starts_with('-'));
    let input = command.redirections.iter().find(|redirection| redirection.operator == "<<<");
    let operand = operand.or(input.map(|input| &input.target))?;
    if !operand.text().starts_with(['$', '`', '<']) {
        return None;
    }
    fetched_in(parsed, operand)
}

/// Returns the download that an expansion of a word makes.
fn fetched_in<'s>(parsed: &'s ParsedRun, word: &Word) -> Option<&'s Command> {
    parsed.script.commands.iter().find(|other| {
        let mut expansions = word.expansions.iter();
        is_fetch(other)
            && expansions
                .any(|expansion| expansion.start <= other.span.start && other.span.end <= expansion.end)
    })
}

/// Follows files from the command that downloads them to the one that runs them.
fn follow(
    parsed: &ParsedRun,
    command: &Command,
    files: &mut BTreeMap<String, Download>,
    found: &mut Vec<Found>,
) {
    for assignment in &command.assignments {
        if let Some(fetch) = fetched_in(parsed, &assignment.value) {
            let download = Download { place: parsed.template.place(fetch.span), words: words_of(fetch) };
            files.insert(format!("${}", assignment.name), download);
        }
    }
    let words: Vec<&str> = command.effective().iter().map(Word::text).collect();
    let Some(first) = words.first() else { return };
    let program = first.rsplit('/').next().unwrap_or(first);
    if CHECKERS.contains(&program) || words.starts_with(&["gh", "attestation", "verify"]) {
        files.clear();
    } else if FETCHERS.contains(&program) {
        if let Some(file) = downloaded_file(parsed, command, program) {
            let download = Download { place: parsed.template.place(command.span), words: words.join(" ") };
            files.insert(normalized(&file), download);
        }
    } else if let Some(download) = run_file(program, &words).and_then(|file| files.get(&normalized(file))) {
        let finding = new_finding(parsed, command.span, download.words.clone());
        found.push(finding.because([download.place]));
    } else if matches!(program, "mv" | "cp")
        && let [.., from, to] = words.as_slice()
        && let Some(download) = files.get(&normalized(from))
    {
        let moved = Download { place: download.place, words: download.words.clone() };
        files.insert(normalized(to), moved);
    }
}

fn normalized(file: &str) -> String {
    file.trim_start_matches("./").replace("${", "$").replace('}', "")
}

/// Returns the file that a command runs.
fn run_file<'w>(program: &str, words: &[&'w str]) -> Option<&'w str> {
    let interprets = SHELLS.contains(&program)
        || INTERPRETERS.contains(&program)
        || is_python(program)
        || matches!(program, "source" | "." | "eval");
    if !interprets {
        return words.first().copied().filter(|word| word.contains('/'));
    }
    if let Some(at) = words.iter().position(|word| matches!(*word, "-c" | "-m")) {
        // A variable with what was downloaded is the program itself.
        return words.get(at + 1).copied().filter(|word| word.starts_with('$'));
    }
    words.iter().skip(1).copied().find(|word| !word.starts_with(['-', '+']))
}

/// Returns the file that `curl` or `wget` writes.
fn downloaded_file(parsed: &ParsedRun, command: &Command, program: &str) -> Option<String> {
    let output = command.redirections.iter().rev().find(|redirection| {
        matches!(redirection.operator.as_str(), ">" | ">>" | ">|") && redirection.descriptor.is_none()
    });
    if let Some(redirection) = output {
        return Some(redirection.target.text().to_owned());
    }
    let mut words = command.arguments().iter().map(Word::text);
    let (letter, long) = if program == "curl" { ('o', "--output") } else { ('O', "--output-document") };
    let (mut url, mut by_name) = (None, program == "wget");
    while let Some(word) = words.next() {
        if word == long {
            return words.next().map(str::to_owned);
        }
        if let Some(file) = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('=')) {
            return Some(file.to_owned());
        }
        if word.starts_with('-') && !word.starts_with("--") {
            if let Some(at) = word.find(letter) {
                let joined = &word[at + 1..];
                return if joined.is_empty() {
                    words.next().map(str::to_owned)
                } else {
                    Some(joined.to_owned())
                };
            }
            by_name |= program == "curl" && word.contains('O');
        } else if word == "--remote-name" {
            by_name = true;
        } else if word.contains("://") {
            url = Some(word);
        }
    }
    let url = url.filter(|_| by_name);
    if let Some(url) = url {
        let path = url.split(['?', '#']).next().unwrap_or(url);
        return path.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned);
    }
    let pipelines = pipelines_of(parsed, command);
    let tee = parsed.script.commands.iter().find(|other| {
        other.program() == Some("tee")
            && pipelines_of(parsed, other).iter().any(|pipeline| pipelines.contains(pipeline))
    })?;
    tee.arguments().iter().map(Word::text).find(|word| !word.starts_with('-')).map(str::to_owned)
}

/// Finds downloads by their text, in scripts that are no shell's and in ones that cannot be parsed.
fn by_text(run: &Run<'_>, known: &[Found]) -> Vec<Found> {
    let template = run.template();
    let mut found = Vec::new();
    let mut begin = 0;
    for line in template.text().split_inclusive('\n') {
        let start = begin;
        begin += line.len();
        if line.trim_start().starts_with('#') {
            continue;
        }
        let Some(range) = PIPED.captures(line).and_then(|groups| Some(groups.first_group()?.range())) else {
            continue;
        };
        let place = template.place(Span { start: start + range.start, end: start + range.end });
        let is_known =
            known.iter().any(|other| other.place.start <= place.start && place.start < other.place.end);
        if !is_known {
            found.push(Found::at_place(FROM_NETWORK, place, line[range].to_owned(), SUMMARY));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflows::model::Kind;
    use qa_reading::documents::{Document, Format};

    fn count(scripts: &[&str]) -> usize {
        let steps: String = scripts
            .iter()
            .map(|script| {
                let lines: Vec<String> = script.lines().map(|line| format!("        {line}\n")).collect();
                format!("    - run: |\n{}", lines.concat())
            })
            .collect();
        let text = format!("on: push\njobs:\n  a:\n    steps:\n{steps}");
        let document = Document::parse(Format::Yaml, &text);
        let model = Model::parse(Kind::Workflow, &document).expect("it is a workflow");
        let mut found = Vec::new();
        audit(&model, &mut found);
        found.len()
    }

    #[test]
    fn the_pattern_compiles() {
        PIPED.check();
    }

    #[test]
    fn a_program_from_the_network_is_found_in_every_form() {
        let cases: &[(&[&str], usize)] = &[
            (&["curl -sSf https://x.test/i.sh | sudo -E bash -s"], 1),
            (&["curl -sSf https://x.test/i.sh | bash -s -- --yes"], 1),
            (&["wget -qO- https://x.test | sh"], 1),
            (&["curl -sS https://x.test | python3 -"], 1),
            (&["curl https://x.test/a.gz | gunzip | sh"], 1),
            (&["curl https://x.test |\n  sh"], 1),
            (&["bash <(curl -s https://x.test)"], 1),
            (&["sh -c \"$(curl -fsSL https://x.test)\""], 1),
            (&["eval \"$(curl -fsSL https://x.test)\""], 1),
            (&["source <(curl -fsSL https://x.test)"], 1),
            (&["pwsh -c 'iwr https://x.test -useb | iex'"], 1),
            (&["ssh host 'curl https://x.test | sh'"], 1),
            (&["curl -o x https://x.test", "sh x"], 1),
            (&["curl -fsSLo x https://x.test", "chmod +x x && ./x"], 1),
            (&["wget https://x.test/i.sh", "bash ./i.sh"], 1),
            (&["curl -O https://x.test/i.sh; . i.sh"], 1),
            (&["curl https://x.test > /tmp/x\nsudo bash /tmp/x"], 1),
            (&["curl https://x.test | tee x\nsh x"], 1),
            (&["curl -o x https://x.test\nmv x y\nsh y"], 1),
            (&["curl https://x.test | tar xz"], 0),
            (&["curl -o a.sh https://x.test && sha256sum -c a && sh a.sh"], 0),
            (&["curl -o a.sh https://x.test", "gpg --verify a.sig a.sh", "sh a.sh"], 0),
            (&["curl https://x.test | shasum"], 0),
            (&["curl https://x.test | python3 -c 'import json'"], 0),
            (&["curl https://x.test | python3 -m json.tool"], 0),
            (&["curl https://x.test | node -e 'x'"], 0),
            (&["echo 'curl https://x.test | sh'"], 0),
            (&["# curl https://x.test | sh\ncurl -o x https://x.test\nsh y"], 0),
            (&["bash build.sh \"$(curl https://x.test)\""], 0),
        ];
        for (scripts, expected) in cases {
            assert_eq!(count(scripts), *expected, "{scripts:?}");
        }
    }
}
