//! Numbers of coverage and quality that ask for less than before.

use super::THRESHOLD;
use super::lint::{is_coverage_config, name};
use crate::contract::Draft;
use crate::pattern::Pattern;
use qa_core::packet::{HunkView, Line, Packet};

static NUMBER: Pattern = Pattern::new(
    r#"(?:^|[\s"',{\[-])(fail[_-]under(?:-lines|-functions|-regions)?|cov-fail-under|minimum_coverage|coverage_threshold|min_?[cC]overage|minimum|branches|functions|lines|statements|target|threshold|max-warnings|maxWarnings|level|COVERAGE_(?:MIN|THRESHOLD)\w*|MIN(?:IMUM)?_COVERAGE\w*|msi|min-msi|break|high|low)["']?(?:\s*[:=]\s*|\s+)["']?(\d+(?:\.\d+)?)"#,
);

/// Keys that mean a threshold whatever stands around them.
static SURE: Pattern = Pattern::new(r"(?i)fail[_-]under|cov|max-?warnings|msi");

/// Pairs the numbers of a hunk by key and order, and reports those that ask for less.
pub(super) fn lowered(packet: &Packet<'_>, path: &str, hunk: &HunkView<'_>) -> Vec<Draft> {
    let codecov = name(path).contains("codecov");
    let threshold_nearby = is_coverage_config(path)
        || packet
            .text
            .full_head
            .as_deref()
            .is_some_and(|head| head.contains("hreshold") || head.contains("c8") || head.contains("nyc"));
    let numbers = |line: &Line<'_>| -> Option<(String, f64, std::ops::Range<usize>)> {
        let captures = NUMBER.captures(line.text)?;
        let key = captures[1].to_owned();
        let phpstan = key == "level" && name(path).starts_with("phpstan");
        let general = threshold_nearby && key != "level";
        (SURE.is_match(&key) || general || phpstan)
            .then(|| Some((key, captures[2].parse().ok()?, captures.get(2)?.range())))?
    };
    let mut old: Vec<(String, f64)> =
        hunk.removed().filter_map(|line| numbers(&line)).map(|(key, number, _)| (key, number)).collect();
    let mut drafts = Vec::new();
    for line in hunk.added() {
        let Some((key, new, span)) = numbers(&line) else { continue };
        let Some(position) = old.iter().position(|(other, _)| *other == key) else { continue };
        let (_, before) = old.remove(position);
        let tolerance = key.to_lowercase().contains("warnings") || codecov && key == "threshold";
        if if tolerance { new > before } else { new < before } {
            let summary = "a threshold asks for less than before";
            drafts.push(
                Draft::on_line(THRESHOLD, packet, &line, span, summary).with("before", before.to_string()),
            );
        }
    }
    drafts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(NUMBER.is_match("fail_under = 80") && SURE.is_match("fail_under"));
    }
}
