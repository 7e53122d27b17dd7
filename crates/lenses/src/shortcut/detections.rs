//! Product code that detects a test run, except to log less or to use the test mode of a service.

use super::DETECTED;
use super::rows::DETECTIONS;
use crate::contract::{Draft, DraftExt, Inspection};
use crate::pattern::Pattern;
use qa_core::packet::Packet;

/// Statements that write to a log, or set one up.
static LOGGING: Pattern = Pattern::new(
    r"^(?:await\s+)?(?:\w+\.)*(?:console\.\w+|log(?:ger)?(?:\.\w+)*|debug|morgan|pino|winston)\s*\(|^\w+\.use\(\s*(?:morgan|logger|pino\w*|\w*[lL]ogg\w*)\b",
);
/// A service that has a test mode of its own.
static SERVICE: Pattern = Pattern::new(r"(?i)\b(?:stripe|paypal|braintree|adyen|livemode|sandbox)");
/// Variables that set such a mode.
const MODES: &[&str] = &["IS_TEST", "TEST_MODE", "TESTING"];
/// Longest call that is read, over its lines.
const LONGEST_CALL: usize = 80;
/// Longest branch that is read.
const LONGEST: usize = 400;

/// Returns the places at which product code detects a test run.
pub(super) fn inspect(packet: &Packet<'_>) -> Inspection {
    let mut found = DETECTIONS.inspect(packet);
    if packet.file.language.as_deref() == Some("ruby") {
        found.drafts.extend(looks_for_runner(packet));
        return found;
    }
    let Some(text) = packet.text.full_head.as_deref().filter(|_| !found.drafts.is_empty()) else {
        return found;
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    found.drafts.retain(|draft| {
        let first = usize::try_from(draft.start_line.saturating_sub(1)).unwrap_or(usize::MAX);
        let column = usize::try_from(draft.start_column.saturating_sub(1)).unwrap_or_default();
        let rest: String = lines.iter().skip(first).take(12).copied().collect();
        let behind =
            rest.get(column..).and_then(|rest| rest.strip_prefix(draft.quote.as_str())).unwrap_or_default();
        let call: String = rest.get(column..).unwrap_or_default().chars().take(LONGEST_CALL).collect();
        let is_mode = MODES.iter().any(|mode| call.contains(mode)) && SERVICE.is_match(text);
        !(is_mode || draft.quote.contains("NODE_ENV") && only_logs(behind))
    });
    found
}

/// A look at the runner of tests in Ruby, which loads a constant of its name.
static RUNNER: Pattern =
    Pattern::new(r"\bdefined\?[\s(]*(?:::)?(?:Minitest|RSpec|Test::Unit)\b[\w:]*\)?|\$TESTING\b");
/// Code that is for the runner: it loads, extends or configures it.
static FOR_RUNNER: Pattern = Pattern::new(
    r"\b(?:autoload|extend|include|load|prepend|require|require_relative)\b|(?:Minitest|RSpec|Test::Unit)(?:\.|::\w+\.)",
);
/// Number of lines behind a condition that may be for the runner.
const LINES_BEHIND: u64 = 2;

/// Returns the lines of Ruby that look for a runner of tests, other than to serve it.
fn looks_for_runner(packet: &Packet<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for line in packet.added().filter(|line| !line.text.trim_start().starts_with('#')) {
        let Some(found) = RUNNER.find(line.text) else { continue };
        let is_known = packet.removed().any(|old| RUNNER.is_match(old.text));
        let near = line.number..=line.number + LINES_BEHIND;
        let mut around = packet.added().filter(|other| near.contains(&other.number));
        let is_for_runner = around.any(|other| FOR_RUNNER.is_match(other.text));
        if !is_known && !is_for_runner {
            let summary = "product code checks whether it runs under test";
            drafts.push(Draft::on_line(DETECTED, packet, &line, found.range(), summary));
        }
    }
    drafts
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
    fn branches_that_only_log_are_told_from_others() {
        LOGGING.check();
        SERVICE.check();
        RUNNER.check();
        FOR_RUNNER.check();
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
