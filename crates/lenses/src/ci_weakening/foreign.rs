//! Reads scripts line by line where their language is no shell's, or their grammar is not known.

use qa_reading::shell::Script;
use qa_reading::syntax::Span;

use super::commands::{Effect, Mark, Spelled, Step, Surroundings, step_of};
use super::powershell;
use crate::pattern::Pattern;

/// Reads the lines of a script in another language as commands.
pub(super) fn foreign(text: &str, around: &Surroundings) -> Vec<Step> {
    let mut steps = lines(text, Span { start: 0, end: text.len() }, around);
    powershell::soften(text, &mut steps);
    steps
}

/// Reads lines that the shell's grammar does not know, as far as no command begins there.
pub(super) fn unread(text: &str, broken: Span, script: &Script, around: &Surroundings) -> Vec<Step> {
    let mut steps = lines(text, broken, around);
    steps.retain(|step| {
        let mut commands = script.commands.iter();
        !commands.any(|command| (step.span.start..step.span.end).contains(&command.span.start))
    });
    steps
}

fn lines(text: &str, within: Span, around: &Surroundings) -> Vec<Step> {
    static SUCCESS: Pattern = Pattern::new(r"(?:\|\||;)\s*(?:true|exit 0|:)\s*$");
    let mut steps = Vec::new();
    let mut at = 0;
    for raw in text.split_inclusive('\n') {
        let start = at;
        at += raw.len();
        let line = raw.trim();
        let start = start + raw.find(line).unwrap_or(0);
        let span = Span { start, end: start + line.len() };
        if line.is_empty()
            || line.starts_with(['#', '/'])
            || span.end < within.start
            || within.end < span.start
        {
            continue;
        }
        let success = SUCCESS.find(line).map(|found| found.range());
        let command = &line[..success.as_ref().map(|range| range.start).unwrap_or(line.len())];
        let mut words = Vec::new();
        let mut end = 0;
        for word in command.split_whitespace() {
            let begin = end + command[end..].find(word).unwrap_or(0);
            end = begin + word.len();
            let text = word.trim_matches(['"', '\'']).to_owned();
            words.push(Spelled { text, span: Span { start: start + begin, end: start + end } });
        }
        for mut step in step_of(&words, &around.directory, &around.matrix) {
            step.span = span;
            if let Some(range) = &success {
                let span = Span { start: start + range.start, end: start + range.end };
                step.marks.push(Mark { effect: Effect::Ignored, span });
            }
            steps.push(step);
        }
    }
    steps
}
