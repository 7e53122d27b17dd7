//! Collects the parts of one simple command.

use super::fate::Context;
use super::list::span_of;
use super::programs::Inner;
use super::walk::Walker;
use super::words::Word;
use super::{Assignment, Command, Frame, Redirection, Script, programs};
use crate::syntax::Span;
use crate::tree::Node;

impl Walker<'_> {
    /// Adds a command, what its substitutions run, and the scripts that it hands to a shell.
    pub(super) fn command(&mut self, node: Node<'_>, redirects: &[Node<'_>], context: Context) {
        let parts = self.split_assignments(node);
        let fate = context.fate(self.options);
        let mut command = Command::new(self.frame, span_of(node), self.options);
        if let Some(first) = parts.first() {
            command.span.start = first.start_byte();
        }
        command.lost = fate;
        self.add_parts(&parts, &mut command);
        for redirect in redirects {
            self.redirect(*redirect, &mut command);
            command.span.end = command.span.end.max(end_of_sign(*redirect));
        }
        command.program = programs::behind_wrappers(&command.words);
        self.apply_settings(&command);
        // Only an assignment alone has the status of its substitutions.
        let hides = !command.words.is_empty();
        self.script.commands.push(command);
        let index = self.script.commands.len() - 1;
        for part in parts.iter().chain(redirects) {
            if hides {
                self.substitutions(*part, context);
            } else {
                self.substitutions_with(*part, context, fate);
            }
        }
        self.interpret(index, fate);
    }

    /// Returns the parts of a command. The grammar takes assignments on lines above for a part of it: those become
    /// commands of their own.
    fn split_assignments<'n>(&mut self, node: Node<'n>) -> Vec<Node<'n>> {
        if matches!(node.word(), "variable_assignment" | "test_command") {
            return vec![node];
        }
        let mut parts: Vec<Node<'n>> = node.children().collect();
        parts.retain(|part| part.word() != "comment");
        let last_assignment = parts.iter().take_while(|part| part.word() == "variable_assignment").count();
        for index in (0..last_assignment.min(parts.len().saturating_sub(1))).rev() {
            let between = Span { start: parts[index].end_byte(), end: parts[index + 1].start_byte() };
            let text = between.of(self.decoder.text).replace("\\\n", "");
            if text.contains('\n') {
                let rest = parts.split_off(index + 1);
                for part in parts {
                    self.command(part, &[], Context::TOP);
                }
                return rest;
            }
        }
        parts
    }

    fn add_parts(&self, parts: &[Node<'_>], command: &mut Command) {
        let mut at = 0;
        while let Some(&part) = parts.get(at) {
            at += 1;
            match part.word() {
                "variable_assignment" => command.assignments.extend(self.assignment(part)),
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => self.redirect(part, command),
                "test_command" => self.test(part, command),
                _ => {
                    let begin = at - 1;
                    while parts.get(at).is_some_and(|next| self.are_one_word(parts[at - 1], *next)) {
                        at += 1;
                    }
                    command.words.push(self.decoder.word(&parts[begin..at]));
                }
            }
        }
    }

    /// Returns whether nothing, or a line end that a backslash takes away, stands between two parts.
    fn are_one_word(&self, left: Node<'_>, right: Node<'_>) -> bool {
        let between = Span { start: left.end_byte(), end: right.start_byte() };
        matches!(between.of(self.decoder.text), "" | "\\\n")
    }

    /// Takes the leaves of `[[ … ]]` for words.
    fn test(&self, node: Node<'_>, command: &mut Command) {
        let mut pending = vec![node];
        while let Some(inner) = pending.pop() {
            let is_expression = inner.word().ends_with("_expression") || inner == node;
            if is_expression && inner.child_count() > 0 {
                let begin = pending.len();
                pending.extend(inner.children());
                pending[begin..].reverse();
            } else {
                command.words.push(self.decoder.word(&[inner]));
            }
        }
    }

    fn assignment(&self, node: Node<'_>) -> Option<Assignment> {
        let name = span_of(node.field("name")?).of(self.decoder.text).to_owned();
        let value = node.field("value");
        let value = value.map(|value| self.decoder.word(&[value])).unwrap_or_default();
        let appends = node.children().any(|child| child.word() == "+=");
        Some(Assignment { name, value, span: span_of(node), appends })
    }

    /// Adds a redirection. The grammar takes arguments behind a file for further files: those become words.
    fn redirect(&self, node: Node<'_>, command: &mut Command) {
        let mut redirection = Redirection {
            operator: String::new(),
            descriptor: None,
            target: Word::default(),
            heredoc: None,
            span: Span { start: node.start_byte(), end: end_of_sign(node) },
        };
        let mut targets: Vec<Node<'_>> = Vec::new();
        let mut body = None;
        for child in node.children() {
            let text = span_of(child).of(self.decoder.text);
            match child.word() {
                "file_descriptor" => redirection.descriptor = Some(text.to_owned()),
                "heredoc_body" => body = Some(child),
                "heredoc_start" => targets.push(child),
                "heredoc_end" | "file_redirect" | "herestring_redirect" | "pipeline" => {}
                _ if node.field("right") == Some(child) => {}
                _ if node.word() == "heredoc_redirect" && child.is_named() => {
                    command.words.push(self.decoder.word(&[child]));
                }
                _ if child.is_named() => targets.push(child),
                _ if redirection.operator.is_empty() => redirection.operator = text.to_owned(),
                _ => {}
            }
        }
        let first = targets.partition_point(|target| {
            targets.first().is_some_and(|first| target.start_byte() <= first.end_byte())
        });
        redirection.target = self.decoder.word(&targets[..first]);
        for target in &targets[first..] {
            command.words.push(self.decoder.word(&[*target]));
        }
        if let Some(body) = body {
            let delimiter = targets.first().map(|start| span_of(*start)).unwrap_or_default();
            let is_raw = delimiter.of(self.decoder.text).contains(['\'', '"', '\\']);
            let strips_tabs = redirection.operator == "<<-";
            redirection.heredoc = Some(self.decoder.heredoc(body, is_raw, strips_tabs));
        }
        if let Some(first) = redirection.heredoc.is_none().then(|| targets.get(first.max(1) - 1)).flatten() {
            redirection.span.end = first.end_byte();
        }
        command.redirections.push(redirection);
    }

    /// Follows `set`, and notes a trap that makes every end a success.
    fn apply_settings(&mut self, command: &Command) {
        let arguments = command.arguments().iter().map(Word::text);
        match command.program() {
            Some("set") => {
                let had = self.options.errexit;
                programs::apply_options(arguments, &mut self.options);
                if had != self.options.errexit || !self.options.errexit {
                    self.errexit_off = (!self.options.errexit && had).then_some(command.span);
                }
            }
            Some("trap") => {
                let words: Vec<&str> = arguments.collect();
                let ends = words.iter().skip(1).any(|word| matches!(*word, "EXIT" | "ERR" | "0"));
                if ends && words.first().is_some_and(|action| action.contains("exit 0")) {
                    self.trap = Some(command.span);
                }
            }
            Some(_) | None => {}
        }
    }

    /// Takes over the commands of an inner script, at their places in this one.
    pub(super) fn adopt(&mut self, inner: Script, handed: &Inner, by: usize, fate: super::fate::Fate) {
        let text = &handed.text;
        let (commands, frames) = (self.script.commands.len(), self.script.frames.len());
        let outer = self.frame;
        self.script.frames.extend(inner.frames.into_iter().map(|frame| Frame {
            span: text.source_span(frame.span),
            outer: frame.outer.map(|outer| outer + frames).or(outer),
            surrounding: frame.surrounding,
        }));
        // A part of a written text that cannot be parsed belongs to the command that runs the text.
        let start = self.script.commands[by].span.start;
        let place =
            |span| if handed.is_written { Span { start, end: start } } else { text.source_span(span) };
        self.script.broken.extend(inner.broken.into_iter().map(place));
        for mut command in inner.commands {
            command.move_by(&|span| text.source_span(span));
            command.frame = command.frame.map(|frame| frame + frames).or(outer);
            command.interpreted_by = command.interpreted_by.map(|index| index + commands).or(Some(by));
            command.is_written |= handed.is_written;
            command.lost = command.lost.or(fate);
            self.script.commands.push(command);
        }
    }
}

impl Command {
    fn move_by(&mut self, place: &impl Fn(Span) -> Span) {
        self.span = place(self.span);
        if let Some(lost) = &mut self.lost {
            lost.span = place(lost.span);
        }
        for word in &mut self.words {
            word.move_by(place);
        }
        for assignment in &mut self.assignments {
            assignment.span = place(assignment.span);
            assignment.value.move_by(place);
        }
        for redirection in &mut self.redirections {
            redirection.span = place(redirection.span);
            redirection.target.move_by(place);
            if let Some(heredoc) = &mut redirection.heredoc {
                heredoc.move_by(place);
            }
        }
    }
}

/// End of a redirection on its own line: of a heredoc, that of its delimiter.
fn end_of_sign(node: Node<'_>) -> usize {
    let start = node.children().find(|child| child.word() == "heredoc_start");
    start.unwrap_or(node).end_byte()
}
