//! Walks the tree of a script and collects its commands with what becomes of their failures.

use std::collections::BTreeMap;

use super::expressions::embedded;
use super::fate::{Context, Fate, Loss, Lost, Outcome, block_outcome};
use super::list::{Operand, Operator, Stage, flatten, span_of};
use super::words::Decoder;
use super::{Command, Frame, MAX_BYTES, MAX_INTERPRETERS, Options, Script, Surrounding, programs};
use crate::names::joins;
use crate::syntax::{Span, parse_script_once};
use crate::tree::Node;

/// Deeper constructs are broken places.
const MAX_DEPTH: usize = 120;
/// Longest pipeline that is parsed: the parser takes time with the square of its length.
const MAX_STAGES: usize = 500;
/// Most searches for a later use of a status in one script.
const MAX_SEARCHES: usize = 1_000;

pub(super) fn parse(text: &str, options: Options, expansions: &[Span], level: usize) -> Script {
    let whole = Span { start: 0, end: text.len() };
    let unread = Script { broken: vec![whole], ..Script::default() };
    if text.len() > MAX_BYTES || longest_pipeline(text) > MAX_STAGES {
        return unread;
    }
    // No shell would read these.
    let mut expressions = embedded(text);
    expressions.extend(expansions.iter().filter(|span| text.get(span.start..span.end).is_some()));
    expressions.sort_unstable();
    expressions.dedup_by(|next, before| next.start < before.end);
    let masked = masked(text, &expressions);
    let Some(tree) = parse_script_once(&masked) else { return unread };
    let mut walker = Walker {
        decoder: Decoder { text, expressions: &expressions },
        options,
        errexit_off: None,
        script: Script::default(),
        frame: None,
        depth: 0,
        level,
        searches: 0,
        trap: None,
        handed: programs::Handed::default(),
    };
    walker.script.broken = faults(tree.root_node());
    walker.block(tree.root_node(), Context::TOP);
    walker.finish()
}

/// Places that the grammar does not know, and those where a word is missing.
fn faults(root: Node<'_>) -> Vec<Span> {
    let mut found = Vec::new();
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        if node.is_error() || node.is_missing() {
            found.push(span_of(node));
        } else if node.has_error() {
            pending.extend(node.children());
        }
    }
    found.sort_unstable();
    found
}

/// Returns the most `|` that may belong to one pipeline.
fn longest_pipeline(text: &str) -> usize {
    let (mut longest, mut length, mut before) = (0, 0, b' ');
    for &byte in text.as_bytes() {
        match byte {
            b'|' => length += 1,
            b'\n' if !matches!(before, b'|' | b'\\') => length = 0,
            b';' | b'&' => length = 0,
            _ => {}
        }
        longest = longest.max(length);
        if !matches!(byte, b' ' | b'\t' | b'\r') {
            before = byte;
        }
    }
    longest
}

/// Puts a word of the same length in the place of every expression.
fn masked(text: &str, expressions: &[Span]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for expression in expressions {
        masked.push_str(&text[at..expression.start]);
        masked.extend(std::iter::repeat_n('x', expression.end - expression.start));
        at = expression.end;
    }
    masked.push_str(&text[at..]);
    masked
}

pub(super) struct Walker<'t> {
    pub(super) decoder: Decoder<'t>,
    pub(super) options: Options,
    /// Place of the `set +e` in force.
    pub(super) errexit_off: Option<Span>,
    pub(super) script: Script,
    pub(super) frame: Option<usize>,
    depth: usize,
    level: usize,
    searches: usize,
    /// Place of `trap 'exit 0' EXIT`.
    pub(super) trap: Option<Span>,
    /// Texts that the script writes and hands to shells.
    pub(super) handed: programs::Handed,
}

/// Returns whether a statement reads a variable: `$name`, `${name…}`, or its name in arithmetic.
fn has_variable(statement: &str, name: &str) -> bool {
    let is_arithmetic = statement.contains("((");
    statement.match_indices(name).any(|(at, _)| {
        let (before, after) = (&statement[..at], &statement[at + name.len()..]);
        let is_named = before.ends_with('$') || before.ends_with("${");
        !after.starts_with(joins) && (is_named || is_arithmetic && !before.ends_with(joins))
    })
}

/// Returns whether a statement may end a script with a failure.
fn may_end(statement: &str) -> bool {
    let words: Vec<&str> = statement.split(|sign: char| sign.is_whitespace() || sign == ';').collect();
    words.iter().enumerate().any(|(at, word)| {
        let word = word.trim_matches(|bracket| "{}()".contains(bracket));
        matches!(word, "exit" | "return" | "false") && words.get(at + 1) != Some(&"0")
    })
}

fn is_test(statement: &str) -> bool {
    ["[ ", "[[ ", "((", "test ", "case "].iter().any(|sign| statement.contains(sign))
}

impl Walker<'_> {
    /// Walks a list of statements.
    pub(super) fn block(&mut self, node: Node<'_>, context: Context) {
        let statements: Vec<Node<'_>> = node.children().collect();
        self.statements(&statements, context);
    }

    /// Walks statements; the last one gives the status.
    fn statements(&mut self, nodes: &[Node<'_>], context: Context) {
        let mut next: Option<Node<'_>> = None;
        // Positions of statements with the one that follows, found from the end.
        let mut pairs = Vec::new();
        for (index, node) in nodes.iter().enumerate().rev() {
            if node.is_named() && node.word() != "comment" {
                pairs.push((index, next));
                next = Some(*node);
            }
        }
        for (index, next) in pairs.into_iter().rev() {
            let node = nodes[index];
            let is_background = nodes.get(index + 1).is_some_and(|node| node.word() == "&");
            let mut inside = context;
            if let Some(next) = next {
                inside.status =
                    if self.reads_status(next) { None } else { Some(self.not_last(span_of(next))) };
                inside.success = None;
            }
            if is_background {
                self.background(node, inside);
            } else {
                self.statement(node, inside);
            }
        }
    }

    /// Loss of a statement that another one follows.
    fn not_last(&self, next: Span) -> Lost {
        match self.errexit_off {
            Some(span) => Lost { loss: Loss::ErrexitOff, span },
            None => Lost { loss: Loss::Followed, span: next },
        }
    }

    fn background(&mut self, node: Node<'_>, context: Context) {
        let span = span_of(node);
        let waited = ["wait $", "wait \"$", "wait -n"].iter().any(|wait| self.is_later(span.end, wait));
        let fate = if waited { None } else { Some(Lost { loss: Loss::Background, span }) };
        self.inside(Surrounding::Background, span, |walker| {
            walker.statement(node, context.subshell(fate));
        });
    }

    /// Returns whether a statement looks at the status of the one before, and something comes of it.
    fn reads_status(&mut self, node: Node<'_>) -> bool {
        let text = span_of(node).of(self.decoder.text);
        let first = text.lines().next().unwrap_or_default();
        if !first.contains("$?") && !first.contains("PIPESTATUS") {
            return false;
        }
        match node.word() {
            "variable_assignment" => self.is_kept(node),
            "if_statement" => may_end(text),
            _ => may_end(text) || is_test(text),
        }
    }

    /// Returns whether the next statement about the stages of a pipeline makes something of their status.
    fn reads_pipe_status(&mut self, end: usize) -> bool {
        if !self.is_later(end, "PIPESTATUS") {
            return false;
        }
        let rest = self.decoder.text.get(end..).unwrap_or_default();
        let at = rest.find("PIPESTATUS").expect("it stands behind the place");
        let start = rest[..at].rfind(['\n', ';']).map(|before| before + 1).unwrap_or_default();
        let statement = rest[start..].trim_start();
        let line = statement.split(['\n', ';']).next().unwrap_or_default();
        let name: &str = line.split('=').next().unwrap_or_default();
        if !name.is_empty() && name.len() < line.len() && name.chars().all(joins) {
            return self.is_kept_as(name, end + at);
        }
        let is_condition = line.starts_with("if ");
        may_end(if is_condition { statement } else { line }) || !is_condition && is_test(line)
    }

    /// Returns whether the script's status hangs on the value of an assignment: it ends with the value, or tests it and
    /// then ends.
    fn is_kept(&mut self, assignment: Node<'_>) -> bool {
        let text = span_of(assignment).of(self.decoder.text);
        let Some((name, value)) = text.split_once('=') else { return false };
        value != "0" && self.is_kept_as(name, assignment.end_byte())
    }

    /// Returns whether the script's status hangs on a variable that is set before a place.
    fn is_kept_as(&mut self, name: &str, from: usize) -> bool {
        if self.searches >= MAX_SEARCHES {
            return false;
        }
        self.searches += 1;
        let rest = self.decoder.text.get(from..).unwrap_or_default();
        let mut is_tested = false;
        for statement in rest.split(['\n', ';']) {
            let statement = statement.trim_start();
            let is_read = has_variable(statement, name);
            if !is_read && statement.starts_with(&format!("{name}=")) {
                return is_tested;
            }
            is_tested |= is_read && is_test(statement);
            if may_end(statement) && (is_read || is_tested) {
                return true;
            }
        }
        false
    }

    /// Returns whether what runs after a failure is an assignment that the script's status hangs on.
    fn keeps_failure(&mut self, node: Node<'_>) -> bool {
        node.word() == "variable_assignment" && self.is_kept(node)
    }

    /// Returns whether a text stands behind a place.
    fn is_later(&mut self, at: usize, text: &str) -> bool {
        self.searches += 1;
        self.searches <= MAX_SEARCHES && self.decoder.text.get(at..).is_some_and(|rest| rest.contains(text))
    }

    /// Runs a function with a construct around what it finds.
    pub(super) fn inside(&mut self, surrounding: Surrounding, span: Span, walk: impl FnOnce(&mut Self)) {
        let outer = self.frame;
        self.script.frames.push(Frame { surrounding, span, outer });
        self.frame = Some(self.script.frames.len() - 1);
        walk(self);
        self.frame = outer;
    }

    /// Runs a function whose settings do not reach what follows.
    fn scoped(&mut self, walk: impl FnOnce(&mut Self)) {
        let (options, errexit_off) = (self.options, self.errexit_off);
        walk(self);
        (self.options, self.errexit_off) = (options, errexit_off);
    }

    fn statement(&mut self, node: Node<'_>, context: Context) {
        if self.depth >= MAX_DEPTH {
            self.script.broken.push(span_of(node));
            return;
        }
        self.depth += 1;
        self.operands(&flatten(node), context);
        self.depth -= 1;
    }

    /// Walks `a && b || c`, which joins from the left.
    fn operands(&mut self, operands: &[Operand<'_>], context: Context) {
        let mut contexts = vec![context; operands.len()];
        for index in (1..operands.len()).rev() {
            let right = &operands[index];
            contexts[index - 1] = match right.stages.as_slice() {
                [stage] if right.operator == Operator::Or && self.keeps_failure(stage.node) => {
                    contexts[index].tested(None, right.span())
                }
                _ => contexts[index].left_of(right, self.options, self.decoder.text),
            };
        }
        for (index, operand) in operands.iter().enumerate() {
            let outer = self.frame;
            if index > 0 {
                let right = match operand.operator {
                    Operator::And => Surrounding::AndRight,
                    Operator::Or => Surrounding::OrRight,
                };
                self.enter(right, operands[index - 1].span());
            }
            if let Some(next) = operands.get(index + 1) {
                let left = match next.operator {
                    Operator::And => Surrounding::AndLeft,
                    Operator::Or => Surrounding::OrLeft,
                };
                self.enter(left, next.span());
            }
            self.pipeline(operand, contexts[index]);
            self.frame = outer;
        }
    }

    fn enter(&mut self, surrounding: Surrounding, span: Span) {
        self.script.frames.push(Frame { surrounding, span, outer: self.frame });
        self.frame = Some(self.script.frames.len() - 1);
    }

    fn pipeline(&mut self, operand: &Operand<'_>, mut context: Context) {
        if let Some(sign) = operand.negated {
            self.enter(Surrounding::Negated, sign);
            context = context.negated(sign, self.options);
        }
        let [stage] = operand.stages.as_slice() else {
            return self.stages(&operand.stages, context);
        };
        self.stage(stage, context);
    }

    fn stages(&mut self, stages: &[Stage<'_>], context: Context) {
        let whole = context.fate(self.options);
        let Some(last) = stages.last() else { return };
        let piped = Lost { loss: Loss::Pipe, span: span_of(last.node) };
        let reads = self.reads_pipe_status(last.node.end_byte());
        for (index, stage) in stages.iter().enumerate() {
            let is_last = index + 1 == stages.len();
            let fate = if is_last || self.options.pipefail || reads { whole } else { Some(piped) };
            let begin = self.script.commands.len();
            self.inside(Surrounding::Pipeline { last: is_last }, span_of(last.node), |walker| {
                walker.scoped(|walker| walker.stage(stage, context.subshell(fate)));
            });
            self.handed.piped = match &self.script.commands[begin..] {
                [only] if !is_last => programs::printed(only),
                _ => None,
            };
        }
    }

    fn stage(&mut self, stage: &Stage<'_>, context: Context) {
        let node = stage.node;
        let span = span_of(node);
        match node.word() {
            "command"
            | "declaration_command"
            | "unset_command"
            | "test_command"
            | "variable_assignment"
            | "variable_assignments"
            | "redirected_statement" => {
                self.command(node, &stage.redirects, context);
                return;
            }
            "if_statement" | "elif_clause" => self.conditional(node, context),
            "while_statement" => self.while_loop(node, context),
            "for_statement" | "c_style_for_statement" => {
                self.substitutions(node, context);
                self.body(node, context);
            }
            "case_statement" => {
                self.substitutions(node, context);
                for item in node.named_children().filter(|item| item.word() == "case_item") {
                    self.inside(Surrounding::Branch, span_of(item), |walker| walker.block(item, context));
                }
            }
            "function_definition" => self.function(node),
            "subshell" => self.inside(Surrounding::Subshell, span, |walker| {
                let status = context.fate(walker.options);
                walker.scoped(|walker| walker.block(node, context.subshell(status)));
            }),
            "compound_statement" | "do_group" | "else_clause" | "program" | "ERROR" => {
                self.block(node, context)
            }
            _ => self.substitutions(node, context),
        }
        for redirect in &stage.redirects {
            self.substitutions(*redirect, context);
        }
    }

    fn conditional(&mut self, node: Node<'_>, context: Context) {
        let span = span_of(node);
        let (mut conditions, mut body, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let mut is_body = false;
        for child in node.children() {
            match child.word() {
                "then" => is_body = true,
                "elif_clause" | "else_clause" => others.push(child),
                _ if is_body => body.push(child),
                _ => conditions.push(child),
            }
        }
        let source = self.decoder.text;
        let then = body.iter().filter(|node| node.is_named() && node.word() != "comment");
        let then = then.map(|node| super::fate::outcome(*node, source, 0)).fold(Outcome::Unknown, later);
        // An `else` of the `if` follows every `elif` as its sibling.
        let otherwise = match others.as_slice() {
            [only] if only.word() == "else_clause" => block_outcome(*only, source, 0),
            _ => Outcome::Unknown,
        };
        let tested = context.condition(then, otherwise, self.options, span);
        self.inside(Surrounding::IfCondition, span, |walker| walker.statements(&conditions, tested));
        self.inside(Surrounding::Branch, span, |walker| walker.statements(&body, context));
        for other in others {
            if other.word() == "elif_clause" {
                self.conditional(other, context);
            } else {
                self.inside(Surrounding::Branch, span_of(other), |walker| walker.block(other, context));
            }
        }
    }

    fn while_loop(&mut self, node: Node<'_>, context: Context) {
        let span = span_of(node);
        let conditions: Vec<Node<'_>> = node.fields("condition").collect();
        let text = span.of(self.decoder.text);
        let negated =
            conditions.first().is_some_and(|node| span_of(*node).of(self.decoder.text).starts_with('!'));
        // Such a loop goes on until the command succeeds.
        let repeats = text.starts_with("until") != negated
            && !["break", "exec ", "exit 0", "kill $$", "return 0"].iter().any(|end| text.contains(end));
        let lost = if repeats { None } else { Some(Lost { loss: Loss::LoopCondition, span }) };
        self.inside(Surrounding::LoopCondition, span, |walker| {
            let tested = Context { success: Some(lost), ..context.tested(lost, span) };
            walker.statements(&conditions, tested);
        });
        self.body(node, context);
    }

    /// Walks the body of a loop, which runs again after its last statement.
    fn body(&mut self, node: Node<'_>, context: Context) {
        let Some(body) = node.field("body") else { return };
        let status = Some(self.not_last(span_of(body)));
        self.inside(Surrounding::LoopBody, span_of(node), |walker| {
            walker.block(body, Context { status, success: None, ..context });
        });
    }

    fn function(&mut self, node: Node<'_>) {
        let Some(body) = node.field("body") else { return };
        let name = node.field("name").map(span_of).unwrap_or_default().of(self.decoder.text);
        self.inside(Surrounding::Function(name.to_owned()), span_of(node), |walker| {
            walker.scoped(|walker| walker.statement(body, Context::TOP));
        });
    }

    /// Walks the scripts in `$(…)` and the like below a node, whose status another command hides.
    pub(super) fn substitutions(&mut self, node: Node<'_>, context: Context) {
        let fate = Some(Lost { loss: Loss::Substitution, span: span_of(node) });
        self.substitutions_with(node, context, fate);
    }

    pub(super) fn substitutions_with(&mut self, node: Node<'_>, context: Context, fate: Fate) {
        let mut pending = vec![node];
        while let Some(inner) = pending.pop() {
            let kind = inner.word();
            if matches!(kind, "command_substitution" | "process_substitution") {
                self.substitution(inner, context, fate);
            } else if !matches!(kind, "do_group" | "case_item") {
                let begin = pending.len();
                let children = inner.named_children();
                // Commands on the line of a heredoc are walked as operands of their list.
                let is_heredoc = kind == "heredoc_redirect";
                pending.extend(children.filter(|child| !is_heredoc || child.word() == "heredoc_body"));
                pending[begin..].reverse();
            }
        }
    }

    fn substitution(&mut self, node: Node<'_>, context: Context, fate: Fate) {
        if self.depth >= MAX_DEPTH {
            self.script.broken.push(span_of(node));
            return;
        }
        self.depth += 1;
        self.inside(Surrounding::Substitution, span_of(node), |walker| {
            walker.scoped(|walker| {
                // Bash does not hand `set -e` on to `$(…)`.
                walker.options.errexit = false;
                walker.block(node, context.subshell(fate));
            });
        });
        self.depth -= 1;
    }

    /// Adds the commands of scripts that a command hands to a shell.
    pub(super) fn interpret(&mut self, index: usize, fate: Fate) {
        let command = &self.script.commands[index];
        let (span, frame) = (command.span, command.frame);
        let inner = programs::inner_scripts(command, &mut self.handed);
        self.handed.piped = None;
        self.handed.note_file(command);
        if self.level >= MAX_INTERPRETERS && !inner.is_empty() {
            self.script.broken.push(span);
            return;
        }
        for inner in &inner {
            let nested = parse(&inner.text.text, inner.options, &[], self.level + 1);
            self.frame = frame;
            self.enter(Surrounding::Interpreted, span);
            self.adopt(nested, inner, index, fate);
            self.frame = frame;
        }
    }

    fn finish(mut self) -> Script {
        hand_on_calls(&mut self.script);
        if let Some(span) = self.trap {
            for command in self.script.commands.iter_mut().filter(|command| command.span.start > span.start) {
                command.lost = command.lost.or(Some(Lost { loss: Loss::Trap, span }));
            }
        }
        self.script
    }
}

/// Joins the outcomes of statements in a row.
fn later(before: Outcome, next: Outcome) -> Outcome {
    if before == Outcome::Exits { before } else { next }
}

/// Hands the loss of every call of a function on to the commands inside of it. A call in a text that is written to a file
/// may never be made.
fn hand_on_calls(script: &mut Script) {
    let mut lost_calls: BTreeMap<String, Fate> = BTreeMap::new();
    for command in script.commands.iter().filter(|command| !command.is_written) {
        let Some(name) = command.program() else { continue };
        let entry = lost_calls.entry(name.to_owned()).or_insert(command.lost);
        if command.lost.is_none() {
            *entry = None;
        }
    }
    for index in 0..script.commands.len() {
        let command = &script.commands[index];
        if command.lost.is_some() {
            continue;
        }
        let lost = script.function_of(command).and_then(|name| lost_calls.get(name).copied().flatten());
        script.commands[index].lost = lost;
    }
}

impl Command {
    pub(super) fn new(frame: Option<usize>, span: Span, options: Options) -> Self {
        Self {
            span,
            words: Vec::new(),
            assignments: Vec::new(),
            redirections: Vec::new(),
            options,
            lost: None,
            interpreted_by: None,
            is_written: false,
            program: 0,
            frame,
        }
    }
}
