//! Product code that detects a test run, except to log less or to use the test mode of a service.

use super::rows::DETECTIONS;
use crate::contract::Inspection;
use crate::pattern::Pattern;
use crate::scan::{Kind, Scanner};
use qa_core::classify;
use qa_core::packet::Packet;

/// Statements that write to a log, or set one up.
static LOGGING: Pattern = Pattern::new(
    r"^(?:await\s+)?(?:\w+\.)*(?:console\.\w+|log(?:ger)?(?:\.\w+)*|debug|morgan|pino|winston)\s*\(|^\w+\.use\(\s*(?:morgan|logger|pino\w*|\w*[lL]ogg\w*)\b",
);
/// A service that has a test mode of its own.
static SERVICE: Pattern = Pattern::new(r"(?i)\b(?:stripe|paypal|braintree|adyen|livemode|sandbox)");
/// Variables that set such a mode.
const MODES: &[&str] = &["IS_TEST", "TEST_MODE", "TESTING"];
/// Begin of a statement that depends on a condition.
static CONDITION: Pattern = Pattern::new(r"^(?:else\s+if|elif|elsif|if|unless|while)\b");
static ASSIGNS: Pattern = Pattern::new(r"[^=!<>]=[^=]");
/// Ends of a line whose statement goes on in the next one.
const OPENS: [char; 7] = ['(', '[', '=', ',', '?', '&', '|'];
/// Lines of a statement, or of a branch, that are read.
const MOST_LINES: usize = 6;
/// Longest call that is read, over its lines.
const LONGEST_CALL: usize = 80;
/// Longest branch that is read.
const LONGEST: usize = 400;

/// Returns the places at which product code detects a test run.
pub(super) fn inspect(packet: &Packet<'_>) -> Inspection {
    let mut found = DETECTIONS.inspect(packet);
    let Some(text) = packet.text.full_head.as_deref().filter(|_| !found.drafts.is_empty()) else {
        return found;
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let language = classify::language(packet.path());
    found.drafts.retain(|draft| {
        let first = usize::try_from(draft.start_line.saturating_sub(1)).unwrap_or(usize::MAX);
        let column = usize::try_from(draft.start_column.saturating_sub(1)).unwrap_or_default();
        let rest: String = lines.iter().skip(first).take(12).copied().collect();
        let behind =
            rest.get(column..).and_then(|rest| rest.strip_prefix(draft.quote.as_str())).unwrap_or_default();
        let call: String = rest.get(column..).unwrap_or_default().chars().take(LONGEST_CALL).collect();
        let is_mode = MODES.iter().any(|mode| call.contains(mode)) && sets_service(&lines, first, language);
        !(is_mode || draft.quote.contains("NODE_ENV") && only_logs(behind))
    });
    found
}

/// Returns whether the statement around a line sets up a service, or is a condition of statements that do. Comments do
/// not count.
fn sets_service(lines: &[&str], at: usize, language: Option<&str>) -> bool {
    let first = first_line(lines, at, language);
    let (mut statement, mut last) = (String::new(), first);
    for line in first..lines.len().min(first + 2 * MOST_LINES) {
        statement.push_str(code_at(lines, line, language));
        last = line;
        if line >= at && !is_open(&statement) {
            break;
        }
    }
    if !CONDITION.is_match(statement.trim_start_matches(['}', ' ', '\t'])) {
        return sets_up(&statement);
    }
    let depth = indentation(lines[first]);
    let inside = lines[last + 1..].iter().take(MOST_LINES);
    let count = inside.take_while(|line| indentation(line) > depth).count();
    let mut statement = String::new();
    for line in last + 1..=last + count {
        statement.push_str(code_at(lines, line, language));
        if is_open(&statement) {
            continue;
        }
        if !sets_up(&statement) {
            return false;
        }
        statement.clear();
    }
    count > 0 && statement.is_empty()
}

/// Returns whether a statement goes on, because a bracket of it is open.
fn is_open(statement: &str) -> bool {
    statement.matches(['(', '[']).count() > statement.matches([')', ']']).count()
}

/// Returns the line of the outermost bracket that is open before a line, without leaving the block around it.
fn first_line(lines: &[&str], at: usize, language: Option<&str>) -> usize {
    let (mut first, mut depth, mut deepest) = (at, 0i32, 0);
    for line in (at.saturating_sub(MOST_LINES)..at).rev() {
        let code = code_at(lines, line, language);
        if code.ends_with(['{', ':', ';']) {
            break;
        }
        for sign in code.chars() {
            depth += i32::from(matches!(sign, '(' | '[')) - i32::from(matches!(sign, ')' | ']'));
        }
        if depth > deepest || code.ends_with(OPENS) && line + 1 == first {
            (first, deepest) = (line, depth.max(deepest));
        }
    }
    first
}

/// Returns whether a statement assigns something that has to do with a service.
fn sets_up(statement: &str) -> bool {
    SERVICE.is_match(statement) && ASSIGNS.is_match(statement)
}

/// Returns a line without the comment at its end.
fn code_at<'l>(lines: &[&'l str], at: usize, language: Option<&str>) -> &'l str {
    let line = lines[at];
    let parts = Scanner::new(language, false).line(line);
    parts.first(Kind::Comment).map_or(line, |start| &line[..start]).trim_end()
}

fn indentation(line: &str) -> usize {
    let line = line.trim_end();
    line.len() - line.trim_start().len()
}

/// Returns whether the guarded branch does nothing but log.
fn only_logs(behind: &str) -> bool {
    let short = behind.char_indices().nth(LONGEST).map_or(behind, |(end, _)| &behind[..end]);
    let rest = short.trim_start();
    if let Some(guarded) = rest.strip_prefix("&&") {
        return LOGGING.is_match(guarded.trim_start());
    }
    let Some(guarded) = rest.strip_prefix(')').map(str::trim_start) else { return false };
    let Some(block) = guarded.strip_prefix('{') else { return LOGGING.is_match(guarded) };
    let Some(end) = block.find('}').filter(|end| !block[end + 1..].trim_start().starts_with("else")) else {
        return false;
    };
    let mut statements =
        block[..end].split([';', '\n']).map(str::trim).filter(|one| !one.is_empty()).peekable();
    statements.peek().is_some() && statements.all(|one| LOGGING.is_match(one) || one.starts_with("//"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_set_up_a_service_are_told_from_others() {
        for (text, at, expected) in [
            ("stripe.api_key = TEST if os.environ.get('TEST_MODE') else LIVE", 0, true),
            ("stripe.api_key = (\n    TEST if os.environ.get('TEST_MODE') else LIVE\n)", 1, true),
            (
                "stripe.api_key = (\n    TEST\n    if os.environ.get(\n        'TEST_MODE'\n    )\n    else LIVE\n)",
                2,
                true,
            ),
            ("stripe.charge(TEST)\nskip = os.environ.get('TEST_MODE')", 1, false),
            ("if os.environ.get('TEST_MODE'):\n    stripe.api_key = TEST\nrun()", 0, true),
            ("if os.environ.get('TEST_MODE'):\n    stripe.api_key = TEST\n    return True", 0, false),
            ("if os.environ.get('TEST_MODE'):  # the sandbox\n    return True", 0, false),
            ("# the sandbox of stripe\nskip = os.environ.get('TEST_MODE')", 1, false),
            ("import stripe\nskip = os.environ.get('TEST_MODE')", 1, false),
        ] {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            assert_eq!(sets_service(&lines, at, Some("python")), expected, "{text}");
        }
    }

    #[test]
    fn branches_that_only_log_are_told_from_others() {
        LOGGING.check();
        SERVICE.check();
        CONDITION.check();
        ASSIGNS.check();
        for (behind, expected) in [
            (") {\n  app.use(morgan('dev'))\n}\n", true),
            (") app.use(logger('combined'));", true),
            (" && console.log('started');", true),
            (") {\n  logger.info('a');\n  console.warn('b');\n}", true),
            (") {\n  charge(card);\n}", false),
            (") {\n  console.log('a');\n} else { charge(card); }", false),
            (") {\n  app.use(authenticate());\n}", false),
            (" ? 1 : 2", false),
        ] {
            assert_eq!(only_logs(behind), expected, "{behind}");
        }
    }
}
