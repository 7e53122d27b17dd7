//! Lines of PowerShell by which the failures of the commands around them count for nothing.

use qa_reading::syntax::Span;

use super::commands::{Effect, Mark, Step};
use crate::pattern::Pattern;

/// Preference by which errors do not end the script.
static GOES_ON: Pattern =
    Pattern::new(r#"(?i)^\$ErrorActionPreference\s*=\s*["']?(?:SilentlyContinue|Ignore|Continue)["']?;?$"#);
/// Words of a handler that fails all the same.
static FAILS: Pattern = Pattern::new(r"(?i)\b(?:throw|exit\s+[1-9$]|Write-Error|process\.exit\([1-9])");

/// Adds marks to the commands of a script whose failures are lost.
pub(super) fn soften(text: &str, steps: &mut [Step]) {
    let mut depth = 0_usize;
    let mut at = 0;
    for raw in text.split_inclusive('\n') {
        let start = at + (raw.len() - raw.trim_start().len());
        at += raw.len();
        let line = raw.trim();
        let span = Span { start, end: start + line.len() };
        if line.starts_with('#') {
            continue;
        }
        if depth == 0 && line.trim_end_matches(';').eq_ignore_ascii_case("exit 0") {
            mark(steps, Span { start: 0, end: start }, span);
        }
        if depth == 0 && GOES_ON.is_match(line) {
            mark(steps, Span { start: span.end, end: text.len() }, span);
        }
        depth += line.matches('{').count();
        depth = depth.saturating_sub(line.matches('}').count());
    }
    for (position, _) in text.match_indices("try") {
        let Some(attempt) = Attempt::new(text, position) else { continue };
        if !FAILS.is_match(attempt.handler.of(text)) {
            mark(steps, attempt.body, attempt.handler);
            mark_around(steps, attempt.body, attempt.handler);
        }
    }
}

fn mark(steps: &mut [Step], within: Span, cause: Span) {
    for step in steps {
        let is_inside = within.start <= step.span.start && step.span.end <= within.end;
        if is_inside && !step.does_nothing {
            step.marks.push(Mark { effect: Effect::Ignored, span: cause });
        }
    }
}

/// Marks a line that has all of a body on it.
fn mark_around(steps: &mut [Step], body: Span, cause: Span) {
    for step in steps {
        if step.span.start < body.start && body.end < step.span.end {
            step.marks.push(Mark { effect: Effect::Ignored, span: cause });
        }
    }
}

/// The body of a `try` and its handler from `catch` on.
struct Attempt {
    body: Span,
    handler: Span,
}

impl Attempt {
    /// Reads the statement at a word `try`.
    fn new(text: &str, at: usize) -> Option<Self> {
        if text[..at].ends_with(|sign: char| sign.is_alphanumeric() || "_-$.".contains(sign)) {
            return None;
        }
        let body = block(text, at + "try".len())?;
        let behind = &text[body.end..];
        let start = body.end + (behind.len() - behind.trim_start().len());
        let word = text.get(start..start + "catch".len())?;
        if !word.eq_ignore_ascii_case("catch") {
            return None;
        }
        let open = start + text[start..].find('{')?;
        let handler = block(text, open)?;
        Some(Self { body, handler: Span { start, end: handler.end } })
    }
}

/// Returns the braces that begin at a place, blanks before them aside, with what is in them.
fn block(text: &str, from: usize) -> Option<Span> {
    let rest = text.get(from..)?;
    let start = from + (rest.len() - rest.trim_start().len());
    if !text[start..].starts_with('{') {
        return None;
    }
    let mut depth = 0_usize;
    for (at, sign) in text[start..].char_indices() {
        match sign {
            '{' => depth += 1,
            '}' if depth == 1 => return Some(Span { start, end: start + at + 1 }),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::ci_weakening::commands::{Surroundings, steps};

    #[test]
    fn every_pattern_compiles() {
        super::GOES_ON.check();
        super::FAILS.check();
    }

    #[test]
    fn a_lost_failure_is_a_mark() {
        for (text, expected) in [
            ("./build.ps1", 0),
            ("./build.ps1\nexit 0", 1),
            ("./build.ps1\nif ($x) {\n  exit 0\n}", 0),
            ("./build.ps1; exit 0", 1),
            ("try { ./build.ps1 } catch { }", 1),
            ("try\n{\n  ./build.ps1\n}\ncatch\n{\n  Write-Host $_\n}", 1),
            ("try {\n  ./build.ps1\n} catch {\n  throw\n}", 0),
            ("$ErrorActionPreference = 'SilentlyContinue'\n./build.ps1", 1),
            ("$ErrorActionPreference = 'Stop'\n./build.ps1", 0),
        ] {
            let steps = steps(text, &Surroundings::default());
            let own = steps.iter().filter(|step| step.text.contains("build.ps1"));
            let marks = own.flat_map(|step| &step.marks).count();
            assert_eq!(marks, expected, "{text}");
        }
    }
}
