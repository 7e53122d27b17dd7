//! Reads Dockerfiles as instructions: flags, words, heredocs, and the scripts that `RUN` hands to a shell.

use crate::documents::{Document, Format, ReadError};
use crate::lines::Part;
use crate::shell::{Decoded, Interpreter, Options};
use crate::syntax::Span;

const KEYWORDS: &[&str] = &[
    "ADD",
    "ARG",
    "CMD",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "EXPOSE",
    "FROM",
    "HEALTHCHECK",
    "LABEL",
    "MAINTAINER",
    "ONBUILD",
    "RUN",
    "SHELL",
    "STOPSIGNAL",
    "USER",
    "VOLUME",
    "WORKDIR",
];

/// An instruction with the lines that it goes on in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// In capitals; of `ONBUILD RUN` it is `RUN`.
    pub keyword: String,
    /// `ONBUILD`
    pub deferred: bool,
    /// `--mount=type=secret`: name without dashes, and value.
    pub flags: Vec<Flag>,
    /// Text behind the flags, without line ends that an escape takes away, and without comments between.
    pub arguments: Decoded,
    /// Elements of the JSON form: `["make", "test"]`.
    pub exec: Option<Vec<Part>>,
    pub heredocs: Vec<Heredoc>,
    /// Shell that runs `RUN` and other scripts here, by the last `SHELL` of the stage.
    pub interpreter: Interpreter,
    pub span: Span,
}

/// `--name=value`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    pub name: Part,
    pub value: Option<Part>,
}

/// Text of `<<EOF`, up to its delimiter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heredoc {
    pub delimiter: String,
    /// Text without the tabs that `<<-` takes away.
    pub text: Decoded,
}

/// Parts of `FROM image:tag@digest AS alias`; variables stay as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub name: Part,
    pub tag: Option<Part>,
    pub digest: Option<Part>,
    pub alias: Option<Part>,
}

/// Reads the instructions of a Dockerfile, in order.
///
/// # Errors
/// A line that begins with no instruction, or a heredoc without an end.
pub fn instructions(text: &str) -> Result<Vec<Instruction>, ReadError> {
    let mut reader =
        Reader { text, at: text.len() - text.trim_start_matches('\u{feff}').len(), escape: '\\' };
    reader.directives();
    let mut found: Vec<Instruction> = Vec::new();
    let default = Interpreter::Shell(Options::default());
    let mut interpreter = default;
    while let Some(logical) = reader.logical_line() {
        let mut instruction = reader.instruction(&logical)?;
        match (instruction.keyword.as_str(), &instruction.exec) {
            ("FROM", _) => interpreter = default,
            ("SHELL", Some(words)) => {
                let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
                // A shell of one word has no settings of a workflow.
                interpreter = Interpreter::of_command(&format!("{} -", words.join(" ")));
            }
            _ => {}
        }
        instruction.interpreter = interpreter;
        found.push(instruction);
    }
    Ok(found)
}

impl Instruction {
    /// Words of the arguments; those of the JSON form where it has one.
    pub fn words(&self) -> Vec<Part> {
        match &self.exec {
            Some(words) => words.clone(),
            None => words_of(&self.arguments),
        }
    }

    /// Script that the shell of the instruction runs; none for the JSON form.
    pub fn script(&self) -> Option<Decoded> {
        let is_script = matches!(self.keyword.as_str(), "RUN" | "CMD" | "ENTRYPOINT" | "HEALTHCHECK");
        if !is_script || self.exec.is_some() {
            return None;
        }
        let text = self.arguments.text.trim();
        let [first, ..] = self.heredocs.as_slice() else { return Some(self.arguments.clone()) };
        if text.starts_with("<<") && !text.contains(char::is_whitespace) {
            return Some(first.text.clone());
        }
        let mut script = self.arguments.clone();
        for heredoc in &self.heredocs {
            script.push("\n", heredoc.text.source_of(0).saturating_sub(1));
            script.append(&heredoc.text);
            script.push(&heredoc.delimiter, heredoc.text.source_of(heredoc.text.text.len()));
        }
        script.push("\n", self.span.end);
        Some(script)
    }

    /// Image of a `FROM`.
    pub fn image(&self) -> Option<Image> {
        if self.keyword != "FROM" {
            return None;
        }
        let words = words_of(&self.arguments);
        let reference = words.first()?;
        let alias =
            words.get(1).filter(|word| word.text.eq_ignore_ascii_case("as")).and(words.get(2)).cloned();
        let text = reference.text.as_str();
        let mut end = text.len();
        let mut digest = None;
        if let Some(at) = find_outside(text, '@') {
            digest = Some(reference.slice(at + 1..end));
            end = at;
        }
        let mut tag = None;
        // A colon before a slash is the port of a registry.
        if let Some(at) = find_outside(&text[..end], ':').filter(|at| !text[*at..end].contains('/')) {
            tag = Some(reference.slice(at + 1..end));
            end = at;
        }
        Some(Image { name: reference.slice(0..end), tag, digest, alias })
    }

    /// Returns the variables of `ENV` and `ARG`; expansions stay as written.
    pub fn variables(&self) -> Vec<Variable> {
        let words = words_of(&self.arguments);
        match (self.keyword.as_str(), words.as_slice()) {
            ("ENV", [name, value, ..]) if !name.text.contains('=') => {
                let last = words.last().unwrap_or(value);
                let at = self.arguments.text.find(&value.text).unwrap_or(0);
                let text = self.arguments.text[at..].trim_end();
                let span = Span { start: value.span.start, end: last.span.end };
                vec![Variable { name: name.clone(), value: Some(Part::new(text, span)) }]
            }
            ("ENV" | "ARG", words) => words.iter().map(split_variable).collect(),
            _ => Vec::new(),
        }
    }
}

/// A variable of `ENV` or `ARG`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: Part,
    pub value: Option<Part>,
}

fn split_variable(word: &Part) -> Variable {
    let Some((name, value)) = word.text.split_once('=') else {
        return Variable { name: word.clone(), value: None };
    };
    let mut value_part = word.slice(word.text.len() - value.len()..word.text.len());
    value_part.text = value.trim_matches(['"', '\'']).to_owned();
    Variable { name: word.slice(0..name.len()), value: Some(value_part) }
}

/// Last place of a sign that stands in no `${…}`.
fn find_outside(text: &str, sign: char) -> Option<usize> {
    let (mut depth, mut found) = (0usize, None);
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ if character == sign && depth == 0 => found = Some(at),
            _ => {}
        }
    }
    found
}

/// Splits at blanks outside of quotes.
fn words_of(arguments: &Decoded) -> Vec<Part> {
    let text = arguments.text.as_str();
    let mut found = Vec::new();
    let (mut begin, mut quote, mut escaped) = (None, None, false);
    for (at, character) in text.char_indices().chain([(text.len(), ' ')]) {
        let is_blank = character.is_whitespace() && quote.is_none() && !escaped || at == text.len();
        match (begin, is_blank) {
            (Some(start), true) => {
                let span = Span { start: arguments.source_of(start), end: arguments.source_of(at - 1) + 1 };
                found.push(Part::new(&text[start..at], span));
                begin = None;
            }
            (None, false) => begin = Some(at),
            (Some(_), false) | (None, true) => {}
        }
        if quote == Some(character) && !escaped {
            quote = None;
        } else if quote.is_none() && matches!(character, '"' | '\'') && !escaped {
            quote = Some(character);
        }
        escaped = character == '\\' && !escaped;
    }
    found
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    escape: char,
}

/// Lines of one instruction.
struct Logical {
    content: Decoded,
    span: Span,
}

impl<'t> Reader<'t> {
    fn line(&mut self) -> Option<(&'t str, usize)> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let line = rest.split_inclusive('\n').next()?;
        let start = self.at;
        self.at += line.len();
        Some((line.trim_end_matches(['\n', '\r']), start))
    }

    /// Reads `# escape=` at the top.
    fn directives(&mut self) {
        loop {
            let before = self.at;
            let Some((line, _)) = self.line() else { return };
            let directive = line.trim_start().strip_prefix('#').and_then(|line| line.split_once('='));
            let Some((name, value)) =
                directive.filter(|(name, _)| !name.trim().contains(char::is_whitespace))
            else {
                self.at = before;
                return;
            };
            if name.trim().eq_ignore_ascii_case("escape") {
                self.escape = value.trim().chars().next().unwrap_or('\\');
            }
        }
    }

    fn logical_line(&mut self) -> Option<Logical> {
        let mut content = Decoded::default();
        let mut span: Option<Span> = None;
        while let Some((line, start)) = self.line() {
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with('#') {
                continue;
            }
            let lead = if span.is_none() { line.len() - line.trim_start().len() } else { 0 };
            let body = line.trim_end();
            let goes_on = body.ends_with(self.escape);
            let kept = if goes_on { &body[..body.len() - self.escape.len_utf8()] } else { body };
            content.push(kept.get(lead..).unwrap_or_default(), start + lead);
            let end = start + body.len();
            span = Some(Span { end, ..span.unwrap_or(Span { start: start + lead, end }) });
            if !goes_on {
                break;
            }
        }
        span.map(|span| Logical { content, span })
    }

    fn instruction(&mut self, logical: &Logical) -> Result<Instruction, ReadError> {
        let content = &logical.content;
        let (mut deferred, mut from) = (false, 0);
        let keyword = loop {
            let (word, next) = next_word(&content.text, from);
            let keyword = word.to_ascii_uppercase();
            if !KEYWORDS.contains(&keyword.as_str()) {
                let message = format!("`{word}` is no instruction");
                return Err(ReadError::Syntax { message, at: content.source_of(next - word.len()) });
            }
            from = next;
            if keyword != "ONBUILD" {
                break keyword;
            }
            deferred = true;
        };
        let mut flags = Vec::new();
        loop {
            let (word, next) = next_word(&content.text, from);
            if !word.starts_with("--") || word.len() == 2 {
                break;
            }
            flags.push(flag(content, word, next - word.len()));
            from = next;
        }
        let (_, next) = next_word(&content.text, from);
        let (word, _) = next_word(&content.text, from);
        let arguments = content.from(next - word.len());
        let mut span = logical.span;
        let mut heredocs = Vec::new();
        if matches!(keyword.as_str(), "RUN" | "COPY" | "ADD") {
            for sign in heredoc_signs(&arguments.text) {
                heredocs.push(self.heredoc(sign, span)?);
                span.end = self.text[..self.at].trim_end_matches(['\n', '\r']).len();
            }
        }
        let exec = exec_form(&arguments);
        let interpreter = Interpreter::Other;
        Ok(Instruction { keyword, deferred, flags, arguments, exec, heredocs, interpreter, span })
    }

    fn heredoc(&mut self, sign: HeredocSign, from: Span) -> Result<Heredoc, ReadError> {
        let HeredocSign { delimiter, strips_tabs } = sign;
        let mut text = Decoded::default();
        while let Some((line, start)) = self.line() {
            let tabs = if strips_tabs { line.len() - line.trim_start_matches('\t').len() } else { 0 };
            if line[tabs..] == delimiter {
                return Ok(Heredoc { delimiter, text });
            }
            text.push(&self.text[start + tabs..self.at], start + tabs);
        }
        Err(ReadError::Syntax { message: format!("the heredoc {delimiter} has no end"), at: from.start })
    }
}

/// Returns the word behind blanks at a place, and the place behind it.
fn next_word(text: &str, from: usize) -> (&str, usize) {
    let rest = &text[from..];
    let begin = from + rest.len() - rest.trim_start().len();
    let length = text[begin..].find(char::is_whitespace).unwrap_or(text.len() - begin);
    (&text[begin..begin + length], begin + length)
}

fn flag(content: &Decoded, word: &str, at: usize) -> Flag {
    let name = word[2..].split('=').next().unwrap_or_default();
    let name_at = content.source_of(at + 2);
    let value = word.split_once('=').map(|(_, value)| {
        let start = content.source_of(at + word.len() - value.len());
        Part::new(value, Span { start, end: start + value.len() })
    });
    Flag { name: Part::new(name, Span { start: name_at, end: name_at + name.len() }), value }
}

/// The begin of a heredoc: `<<EOF`, `<<-EOF` or `<<"EOF"`.
struct HeredocSign {
    delimiter: String,
    strips_tabs: bool,
}

fn heredoc_signs(text: &str) -> Vec<HeredocSign> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("<<") {
        let before = text[..at].chars().next_back();
        let is_sign = before.is_none_or(|before| before.is_whitespace() || before.is_ascii_digit());
        let rest = &text[at + 2..];
        let strips_tabs = rest.starts_with('-');
        let rest = rest.strip_prefix('-').unwrap_or(rest);
        let word =
            rest.split(|next: char| next.is_whitespace() || ";&|<>()".contains(next)).next().unwrap_or("");
        let delimiter = word.trim_matches(['"', '\'']);
        let is_name = delimiter.starts_with(|first: char| first.is_alphabetic() || first == '_');
        if is_sign && is_name {
            found.push(HeredocSign { delimiter: delimiter.to_owned(), strips_tabs });
        }
    }
    found
}

/// Reads `["a", "b"]`; anything else is a text for a shell.
fn exec_form(arguments: &Decoded) -> Option<Vec<Part>> {
    let text = arguments.text.trim_end();
    if !text.starts_with('[') {
        return None;
    }
    let document = Document::parse(Format::Json, text).ok()?;
    let root = document.root();
    let mut words = Vec::new();
    for item in root.items() {
        let span = item.span();
        // Docker reads JSON without liberties: other quotes make it a text for a shell.
        let word = item.text().filter(|_| span.of(text).starts_with('"'))?;
        let start = arguments.source_of(span.start);
        words.push(Part::new(word, Span { start, end: arguments.source_of(span.end - 1) + 1 }));
    }
    root.is_list().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::Script;

    fn text_of(part: &Option<Part>) -> &str {
        part.as_ref().map(|part| part.text.as_str()).unwrap_or_default()
    }

    fn rendered(text: &str) -> Vec<String> {
        let found = instructions(text).unwrap();
        let lines = found.iter().map(|instruction| {
            let mut words = vec![instruction.keyword.clone()];
            for Flag { name, value } in &instruction.flags {
                words.push(format!("--{}={}", name.text, text_of(value)));
            }
            let parts = instruction.words();
            for part in &parts {
                assert!(text.get(part.span.start..part.span.end).is_some(), "{part:?}");
            }
            words.extend(parts.into_iter().map(|part| part.text));
            words.join(" ")
        });
        lines.collect()
    }

    #[test]
    fn instructions_go_on_over_lines_and_comments() {
        let expected = ["FROM a", "RUN --mount=type=cache make test", "CMD make test"];
        for text in [
            "FROM a\nRUN --mount=type=cache make test\nCMD [\"make\", \"test\"]\n",
            "from a\r\n\n# c\nrun --mount=type=cache \\\n  # c\n\n  make \\  \n test\ncmd [ \"make\",\\\n\"test\" ]",
            "# escape=`\nFROM a\nRUN --mount=type=cache `\n make test\nCMD [\"make\", \"te\\u0073t\"]\n",
        ] {
            assert_eq!(rendered(text), expected, "{text}");
        }
        assert_eq!(rendered("FROM a\nRUN ['make']\n")[1], "RUN ['make']");
        assert!(instructions("FROM a\nMAKE x\n").is_err() && instructions("RUN <<E\nx\n").is_err());
    }

    #[test]
    fn an_image_has_name_tag_digest_and_alias() {
        for (text, expected) in [
            ("FROM a", "a|||"),
            ("FROM --platform=x h:5000/a/b:1.0@sha256:x as Build", "h:5000/a/b|1.0|sha256:x|Build"),
            ("FROM h:5000/a", "h:5000/a|||"),
            ("FROM a:${TAG:-1@2}", "a|${TAG:-1@2}||"),
            ("FROM ${IMAGE:-a:1}", "${IMAGE:-a:1}|||"),
        ] {
            let image = instructions(text).unwrap()[0].image().unwrap();
            let [tag, digest, alias] = [&image.tag, &image.digest, &image.alias].map(text_of);
            assert_eq!(format!("{}|{tag}|{digest}|{alias}", image.name.text), expected, "{text}");
        }
    }

    #[test]
    fn scripts_of_run_are_shell() {
        for text in [
            "RUN a && \\\n  # c\n  make test\n",
            "RUN <<EOF\na\nmake test\nEOF\n",
            "RUN bash -e <<-'EOF'\n\ta\n\tmake test\n\tEOF\n",
            "ONBUILD RUN make test",
        ] {
            let instruction = &instructions(text).unwrap()[0];
            let script = instruction.script().unwrap();
            let parsed = Script::parse(&script.text, Options::default());
            let command = parsed.commands.iter().find(|command| command.program() == Some("make")).unwrap();
            let place = script.source_of(command.words[1].span.start);
            assert!(text[place..].starts_with("test"), "{text}");
            assert!(parsed.broken.is_empty(), "{text}");
        }
        assert!(instructions("RUN [\"a\"]").unwrap()[0].script().is_none());
    }

    #[test]
    fn shell_holds_until_the_next_stage() {
        let text = "FROM a\nSHELL [\"/bin/bash\", \"-o\", \"pipefail\", \"-c\"]\nRUN x\nFROM b\nRUN x\nSHELL [\"pwsh\"]\nRUN x\n";
        let found = instructions(text).unwrap();
        let pipefail = Options { pipefail: true, ..Options::default() };
        assert_eq!(found[2].interpreter, Interpreter::Shell(pipefail));
        assert_eq!(found[4].interpreter, Interpreter::Shell(Options::default()));
        assert_eq!(found[6].interpreter, Interpreter::Other);
    }

    #[test]
    fn variables_have_names_and_values() {
        for (text, expected) in [
            ("ENV A=1 B=\"c d\"", "A=1 B=c d"),
            ("ENV A b c", "A=b c"),
            ("ARG A", "A"),
            ("ARG A=${B:-c}", "A=${B:-c}"),
        ] {
            let variables = instructions(text).unwrap()[0].variables();
            let shown: Vec<String> = variables
                .iter()
                .map(|Variable { name, value }| {
                    let value = value.as_ref().map(|value| format!("={}", value.text)).unwrap_or_default();
                    format!("{}{value}", name.text)
                })
                .collect();
            assert_eq!(shown.join(" "), expected, "{text}");
        }
    }
}
