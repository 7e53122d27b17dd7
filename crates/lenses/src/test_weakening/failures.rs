//! Statements that failed a test, or checked something, and skip it now: `t.Fatal(err)` that becomes `t.Skip(err)`.

use super::checks::is_assertion;
use super::tests_by_hunk::{Side, is_of_new_test};
use super::{TEST_SKIPPED, whole};
use crate::contract::{Draft, DraftExt};
use crate::pattern::Pattern;
use crate::scan;
use qa_core::packet::{HunkView, Line, Packet};

const SUMMARY: &str = "test is skipped where it failed";

/// A statement that fails a test.
static FAILS: Pattern = Pattern::new(
    r"^\s*(?:\}?\s*else\s*\{\s*)?(?:(?:\w+\.)*(?:Fatalf?|FailNow|Errorf?)\(|(?:pytest\.|self\.|this\.|\$this->|Assert(?:ions)?\.|assert\.|expect\.|t\.)?(?:[Ff]ail|flunk|FAIL)\b\s*[(\x22']|(?:raise|throw)\b|panic!)",
);
/// A statement that skips a test, whatever its language.
static SKIPS: Pattern = Pattern::new(
    r"^\s*(?:\}?\s*else\s*\{\s*)?(?:(?:t|b|f|tb|s\.T\(\))\.(?:Skip|Skipf|SkipNow)\(|(?:pytest|self|this|ctx|context|t|test)\.(?:skip|skipTest|xfail)\(|raise\s+(?:\w+\.)*(?:SkipTest|Skipped)\b|skip\b\s*[(\x22']|\$this->markTest(?:Skipped|Incomplete)\(|Assert\.(?:Ignore|Inconclusive|Skip)\(|Assumptions\.abort\(|throw\s+new\s+(?:\w+\.)*(?:TestAbortedException|AssumptionViolatedException|SkipException|IgnoreException)\b|GTEST_SKIP\b)",
);
/// A check whose failure skips the test.
static ASSUMES: Pattern = Pattern::new(
    r"^\s*(?:(?:\w+\.)*(?:assumeTrue|assumeFalse|assumeThat|assumeNotNull|assumeNoException)\(|Assume\.That\(|assume\()",
);

/// Returns the skips that stand in the place of a failure in a test which both versions have.
pub(super) fn inspect(packet: &Packet<'_>, base: &Side<'_>, head: &Side<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for hunk in packet.hunks() {
        let gone = of_kind(packet, hunk);
        let [fewer_failures, fewer_checks] = [gone.failures(), gone.checks()];
        let skips = gone.new_skips.into_iter().take(fewer_failures.max(fewer_checks));
        let assumptions = gone.new_assumptions.into_iter().take(fewer_checks);
        let new = skips.chain(assumptions).filter(|line| !is_of_new_test(base, head, line));
        drafts.extend(new.map(|line| Draft::on_line(TEST_SKIPPED, packet, &line, whole(line.text), SUMMARY)));
    }
    drafts
}

/// Counts of statements that a hunk removes and adds, with the lines of new skips.
#[derive(Default)]
struct Turned<'a> {
    failures_gone: usize,
    failures_new: usize,
    checks_gone: usize,
    checks_new: usize,
    new_skips: Vec<Line<'a>>,
    new_assumptions: Vec<Line<'a>>,
}

impl Turned<'_> {
    fn failures(&self) -> usize {
        self.failures_gone.saturating_sub(self.failures_new)
    }

    fn checks(&self) -> usize {
        self.checks_gone.saturating_sub(self.checks_new)
    }
}

fn of_kind<'a>(packet: &Packet<'a>, hunk: HunkView<'a>) -> Turned<'a> {
    let language = packet.file.language.as_deref();
    let mut turned = Turned::default();
    let (mut skips_gone, mut assumptions_gone) = (0, 0);
    for (line, _) in scan::removed(language, hunk) {
        if SKIPS.is_match(line.text) {
            skips_gone += 1;
        } else if FAILS.is_match(line.text) {
            turned.failures_gone += 1;
        } else if ASSUMES.is_match(line.text) {
            assumptions_gone += 1;
        } else if is_assertion(language, line.text) {
            turned.checks_gone += 1;
        }
    }
    for (line, _) in scan::added(language, hunk) {
        if SKIPS.is_match(line.text) {
            turned.new_skips.push(line);
        } else if FAILS.is_match(line.text) {
            turned.failures_new += 1;
        } else if ASSUMES.is_match(line.text) {
            turned.new_assumptions.push(line);
        } else if is_assertion(language, line.text) {
            turned.checks_new += 1;
        }
    }
    turned.new_skips.drain(..skips_gone.min(turned.new_skips.len()));
    turned.new_assumptions.drain(..assumptions_gone.min(turned.new_assumptions.len()));
    turned
}

#[cfg(test)]
mod tests {
    use super::{ASSUMES, FAILS, SKIPS};

    #[test]
    fn failures_and_skips_are_told_apart() {
        for (line, fails, skips) in [
            ("\t\tt.Fatalf(\"no: %v\", err)", true, false),
            ("\t\tt.Skipf(\"no: %v\", err)", false, true),
            ("        pytest.fail(\"no\")", true, false),
            ("        pytest.skip(\"no\")", false, true),
            ("        self.skipTest(\"no\")", false, true),
            ("        raise unittest.SkipTest", true, true),
            ("      flunk 'no'", true, false),
            ("      skip 'no'", false, true),
            ("      skip_before_action :a", false, false),
            ("        $this->fail('no');", true, false),
            ("        $this->markTestSkipped('no');", false, true),
            ("        Assert.Fail(\"no\");", true, false),
            ("        Assert.Inconclusive(\"no\");", false, true),
            ("    panic!(\"no\");", true, false),
        ] {
            assert_eq!((FAILS.is_match(line), SKIPS.is_match(line)), (fails, skips), "{line}");
        }
        assert!(ASSUMES.is_match("        Assumptions.assumeTrue(total > 1);"));
    }
}
