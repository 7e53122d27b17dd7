//! Tests that only one version of a file has, with their words.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::Range;
use std::sync::LazyLock;

use crate::pattern::Pattern;

use super::checks::{is_assertion, is_trivial};
use super::gone::{ENOUGH, Found, Shape, TELLING, borrowed, literals, share, words};
use super::names::{self, Test, alike};
use super::skips::is_skipped;
use super::version::{Version, only_side, reveal};
use super::{TEST_DELETED, TEST_REMOVED};
use crate::contract::{Draft, DraftExt, Fact, Inspection};
use qa_contracts::v1::ChangeKind;
use qa_core::canonical::sha256;
use qa_core::classify;
use qa_core::packet::{Line, Packet};
use qa_reading::syntax::{Branch, Span};

/// Matches lines of tests that run one body for many cases.
static TABLE: Pattern = Pattern::new(
    r"parametri[sz]e|\.each\b|\bsubTest\b|@(?:ParameterizedTest|DataProvider|\w+Source)\b|#\[(?:case|test_case|rstest)|\[(?:TestCase|InlineData|Theory)|\bt\.Run\(|(?i)\bfor\b.*\b(?:tests?|tt|tc|tcs|cases?|styles?|inputs?)\b",
);

/// Words common to most tests, ignored when comparing tests whose whole file is not known.
static COMMON: LazyLock<BTreeSet<&str>> = LazyLock::new(|| COMMON_WORDS.split_whitespace().collect());
const COMMON_WORDS: &str = "\
    assert assert_eq assert_ne assertEquals assertThat assertTrue assertFalse assertRaises async await \
    be build catch class const create def describe do else end eq equal err Err Error Equal Errorf \
    Exception expect False false fail Fatal Fatalf final fn for format from func function get if import \
    in int isEqualTo it len let match mock mut name new nil None not null of ok Ok path public pytest \
    raises require result return self set should Some std str string String super test testing then \
    throw throws to toBe toEqual to_string True true try unwrap use value var vec void with";

/// A file at base or at head, as far as it is known.
pub(super) struct Side<'a> {
    pub(super) language: Option<&'a str>,
    /// The text without comments and code that never runs.
    live: &'a str,
    /// Numbers of the lines on which an assertion begins that always holds.
    pub(super) trivial: &'a BTreeSet<u64>,
    pub(super) lines: Vec<&'a str>,
    pub(super) tests: Vec<Test>,
    /// Set where the tests come from the syntax tree, which has the begin and end of each.
    is_parsed: bool,
    /// The cached words of each test, read on first use, since a test is compared with many others.
    words: Vec<OnceCell<TestWords<'a>>>,
}

/// The assertions of a test that run in any case, and those that do not.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Certainty {
    /// Set where an assertion runs whenever the test does.
    pub(super) is_certain: bool,
    /// Condition of the first assertion that need not run.
    pub(super) guard: Option<Span>,
}

/// A statement that fails a test.
static FAILS: Pattern = Pattern::new(
    r"\b[tb]b?\.(?:Error|Fatal|Fail)\w*\(|\b(?:pytest\.|self\.)?fail\(|\braise\b|\bpanic!|\bthrow\b|\bunreachable!|\bassert\s+False\b",
);

/// A condition by which a test looks at the platform it runs on.
static PLATFORM: Pattern = Pattern::new(
    r"\bsys\.(?:platform|version_info|implementation)|\bhasattr\(\s*(?:os\s*,\s*[\x22\x27](?:chown|fork|getegid|geteuid|getgid|getuid|kill|killpg|link|mkfifo|nice|openpty|pipe2|posix_\w+|sched_\w+|setsid|statvfs|symlink|umask|uname)|select\s*,\s*[\x22\x27](?:epoll|kqueue|poll)|signal\s*,\s*[\x22\x27]SIG|socket\s*,\s*[\x22\x27](?:AF|IP|SO)_)|\bos\.name|\bplatform\.\w+\(|\bruntime\.GO|\bprocess\.(?:platform|version)|\bcfg!|\btesting\.Short|\b(?:is_|IS_|on_|ON_)?(?:windows|WINDOWS|win32|WIN32|linux|LINUX|macos|MACOS|darwin|DARWIN|pypy|PYPY)\b|\bPY\d|\bJavaVersion\b|\bSystem\.getProperty\(\s*\x22(?:java|os)\.|\bRuntime\.version\(|\bRuntimeInformation\b|\bEnvironment\.(?:OSVersion|Version)\b|\bOperatingSystem\.Is|\bSystemUtils\.(?:IS_|JAVA_)|\bPHP_(?:OS|VERSION)|\bRUBY_(?:ENGINE|PLATFORM|VERSION)\b",
);

/// Maximum branches of a test that are looked at, since each is compared with all others. Of a test with more, each
/// counts as one that guards.
const MOST_BRANCHES: usize = 64;

/// Returns the branches without which an assertion goes unnoticed: those that fail otherwise, or are themselves a check,
/// and those of platforms are left out.
fn guarding_branches<'b>(language: Option<&str>, text: &str, branches: &'b [Branch]) -> Vec<&'b Branch> {
    if branches.len() > MOST_BRANCHES {
        return branches.iter().collect();
    }
    branches.iter().filter(|branch| is_guarding(language, text, branches, branch)).collect()
}

fn is_guarding(language: Option<&str>, text: &str, branches: &[Branch], branch: &Branch) -> bool {
    let otherwise = branch.otherwise.of(text);
    let mut direct = branch.then.of(text).to_owned();
    let inner = branches.iter().filter(|inner| {
        inner.then != branch.then
            && branch.then.start <= inner.then.start
            && inner.then.end <= branch.then.end
    });
    for inner in inner {
        let (start, end) = (inner.then.start - branch.then.start, inner.then.end - branch.then.start);
        if direct.is_char_boundary(start) && direct.is_char_boundary(end) {
            direct.replace_range(start..end, &" ".repeat(end - start));
        }
    }
    !FAILS.is_match(otherwise)
        && !otherwise.lines().any(|line| is_assertion(language, line))
        && !FAILS.is_match(&direct)
        && !PLATFORM.is_match(branch.condition.of(text))
}

/// The words of a test.
struct TestWords<'a> {
    /// Number of lines with a known assertion.
    assertions: usize,
    /// Set where nothing in it can check anything: no known assertion and no call that could have one.
    is_hollow: bool,
    is_skipped: bool,
    words: BTreeSet<&'a str>,
    parts_of_name: BTreeSet<String>,
}

impl<'a> Side<'a> {
    /// The whole text.
    pub(super) fn whole(language: Option<&'a str>, version: &'a Version<'_>) -> Self {
        let lines: Vec<&str> = version.live.split('\n').map(|line| line.trim_end_matches('\r')).collect();
        let (tests, is_parsed) = (version.tests.clone(), version.is_parsed);
        let words = tests.iter().map(|_| OnceCell::new()).collect();
        Self { language, live: &version.live, trivial: &version.trivial, lines, tests, is_parsed, words }
    }

    fn words_of(&self, position: usize) -> &TestWords<'a> {
        self.words[position].get_or_init(|| {
            let (test, body) = (&self.tests[position], self.body(position));
            let assertions = body.iter().filter(|line| is_assertion(self.language, line)).count();
            let calls = body.iter().any(|line| line.contains('(') && !is_trivial(self.language, line));
            TestWords {
                assertions,
                is_hollow: assertions == 0 && !calls,
                is_skipped: test.off.is_some()
                    || !self.is_parsed && is_skipped(self.language, &self.lines[self.extent(position)]),
                words: words(body.iter().copied()),
                parts_of_name: names::words_of_name(&test.name),
            }
        })
    }

    /// Returns the lines of a test; the line of its name only where it has more than the name.
    pub(super) fn body(&self, position: usize) -> Vec<&'a str> {
        let test = &self.tests[position];
        if test.body != Span::default() {
            return test.body.of(self.live).lines().collect();
        }
        let name = self.lines[test.at].trim_end();
        let opens =
            name.ends_with(['{', ':', '(', ',', ')', '=']) || name.ends_with("do") || name.ends_with("=>");
        self.lines[test.at + usize::from(opens)..test.end].to_vec()
    }

    /// Returns whether a test has assertions that run whenever it does, and others that need not run.
    pub(super) fn certainty(&self, position: usize) -> Certainty {
        let test = &self.tests[position];
        let branches = guarding_branches(self.language, self.live, &test.branches);
        let mut certainty = Certainty::default();
        let mut start = test.body.start;
        for line in test.body.of(self.live).split_inclusive('\n') {
            if is_assertion(self.language, line) {
                let text = start + line.len() - line.trim_start().len();
                // A condition may stand on the line of what it decides.
                let guard = branches.iter().find(|branch| {
                    let end = start + line.len();
                    let begins_here = start <= branch.then.start && branch.then.start < end;
                    let before =
                        if begins_here { Span { start, end: branch.then.start } } else { Span::default() };
                    let at = if begins_here && !is_assertion(self.language, before.of(self.live)) {
                        branch.then.start
                    } else {
                        text
                    };
                    branch.then.start <= at && at < branch.then.end
                });
                match guard {
                    Some(branch) => certainty.guard = certainty.guard.or(Some(branch.condition)),
                    None => certainty.is_certain = true,
                }
            }
            start += line.len();
        }
        certainty
    }

    /// Returns a test with what is written above it, up to what is written above the next.
    fn extent(&self, position: usize) -> Range<usize> {
        let test = &self.tests[position];
        if self.is_parsed {
            return test.mark..test.end;
        }
        let above = position.checked_sub(1).map(|previous| self.tests[previous].at + 1).unwrap_or(0);
        let end = self.tests.get(position + 1).map(|next| self.top(next)).unwrap_or(test.end);
        self.top(test).clamp(above, test.at)..end.max(test.at + 1)
    }

    /// Returns the test in whose extent a line is: the last one named above it, or the next where the line is a mark of
    /// it.
    fn owner(&self, at: usize) -> Option<usize> {
        let next = self.tests.partition_point(|test| test.at <= at);
        let mut near = next.saturating_sub(1)..self.tests.len().min(next + 1);
        near.find(|&position| self.extent(position).contains(&at))
    }

    fn top(&self, test: &Test) -> usize {
        let mut top = test.mark;
        while top > 0 {
            let above = self.lines[top - 1].trim();
            let closes = above.ends_with([')', ']']).then(|| self.opening_of_mark(top - 1));
            top = match closes.flatten() {
                Some(opening) => opening,
                None if above.starts_with(['@', '#', '[', '/', '*']) => top - 1,
                None => break,
            };
        }
        top
    }

    /// Returns the begin of a mark of several lines that ends at a position: an annotation with no statement in between.
    fn opening_of_mark(&self, end: usize) -> Option<usize> {
        let mut lines = (end.saturating_sub(12)..=end).rev().take_while(|&at| {
            let line = self.lines[at].trim();
            !line.is_empty() && !line.ends_with([';', '{', '}', ':'])
        });
        lines.find(|&at| self.lines[at].trim_start().starts_with(['@', '#']))
    }

    /// Returns the number of assertions of some tests.
    fn assertions(&self, tests: impl Iterator<Item = usize>) -> usize {
        tests.map(|position| self.words_of(position).assertions).sum()
    }

    /// Returns the number of the line of an offset.
    pub(super) fn number_at(&self, offset: usize) -> u64 {
        self.live[..offset.min(self.live.len())].matches('\n').count() as u64 + 1
    }

    fn counts(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for test in &self.tests {
            *counts.entry(test.name.as_str()).or_insert(0) += 1;
        }
        counts
    }

    /// Returns the words of the lines that no hunk changes.
    fn staying(&self, packet: &Packet<'_>) -> BTreeSet<&'a str> {
        let changed: BTreeSet<u64> = packet.removed().map(|line| line.number).collect();
        let lines = (1..).zip(&self.lines);
        words(lines.filter(|(number, _)| !changed.contains(number)).map(|(_, line)| *line))
    }

    /// Returns the words that most tests of a file have in common, and those that stand outside of them.
    fn shared(&self) -> BTreeSet<&'a str> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for word in (0..self.tests.len()).flat_map(|position| &self.words_of(position).words) {
            *counts.entry(word).or_insert(0) += 1;
        }
        let above = self.tests.first().map(|first| first.at).unwrap_or_default();
        let most = self.tests.len().max(4) / 2;
        let common = counts.into_iter().filter(|(_, count)| *count > most).map(|(word, _)| word);
        words(self.lines[..above].iter().copied()).into_iter().chain(common).collect()
    }

    fn shape(&self, packet: &Packet<'_>, position: usize, staying: &BTreeSet<&str>) -> Shape {
        let read = self.words_of(position);
        let whole = self.extent(position);
        let table = TABLE.is_match(&self.lines[whole.clone()].join("\n"));
        // The cases of a table may stand above its name.
        let lines = if table { self.lines[whole].to_vec() } else { self.body(position) };
        let literals = literals(lines.iter().copied());
        let said = if table { words(lines.into_iter()) } else { read.words.clone() };
        Shape {
            path: packet.path().to_text().into_owned(),
            name: self.tests[position].name.clone(),
            is_collected: is_collected(packet, self.language),
            assertions: read.assertions,
            table,
            skipped: read.is_skipped,
            hidden: self.tests[position].is_hidden,
            file_gone: packet.file.kind == ChangeKind::Deleted,
            hollow: read.is_hollow,
            paired: false,
            body: digest_of(&self.body(position)),
            literals,
            own: telling(&read.words).filter(|word| !staying.contains(word)).map(str::to_owned).collect(),
            words: said.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// Returns the digest of a body that is long enough to tell one test from others, without blanks and comments; empty for
/// another.
fn digest_of(lines: &[&str]) -> String {
    const SHORTEST: usize = 40;
    let text: String = lines.iter().flat_map(|line| line.split_whitespace()).collect();
    if text.len() < SHORTEST { String::new() } else { sha256(text.as_bytes()).to_string() }
}

/// Returns the words that tests of every kind do not say.
fn telling<'w, 'a>(words: &'w BTreeSet<&'a str>) -> impl Iterator<Item = &'a str> + use<'w, 'a> {
    words.iter().copied().filter(|word| !COMMON.contains(word))
}

/// Returns whether a runner finds a file: some go by its name alone, others by its folder too.
fn is_collected(packet: &Packet<'_>, language: Option<&str>) -> bool {
    let path = packet.path().to_text();
    match language {
        Some("go" | "php" | "python" | "ruby") => classify::is_collected(packet.path()),
        Some("javascript" | "typescript") => {
            classify::is_collected(packet.path())
                || path.split('/').any(|part| matches!(part, "__tests__" | "test" | "tests" | "spec"))
        }
        _ => true,
    }
}

/// Returns the position of a line in the lines of its version.
fn position_of(line: &Line<'_>) -> usize {
    line.number as usize - 1
}

fn number_of(position: usize) -> u64 {
    position as u64 + 1
}

/// Returns whether an added line belongs to a test that only the new version has, by name. The marks of a test stand
/// above it.
pub(super) fn is_of_new_test(base: &Side<'_>, head: &Side<'_>, line: &Line<'_>) -> bool {
    let at = position_of(line);
    let is_mark = line.text.trim_start().starts_with(['@', '#', '[']);
    let owner = if is_mark {
        head.tests.iter().find(|test| test.at >= at)
    } else {
        head.tests.iter().rev().find(|test| test.at <= at && at < test.end)
    };
    owner.is_some_and(|test| base.tests.iter().all(|old| old.name != test.name))
}

/// Hunks so close together that a reader sees them as one place, and what they change.
#[derive(Default)]
struct Place<'a> {
    /// Tests of the base whose name or mark is removed, by position, with the line that tells.
    gone: Vec<PlacedLine<'a>>,
    /// Tests of head whose name is added, by position.
    come: Vec<usize>,
    /// Added lines, with their positions at head.
    added: Vec<PlacedLine<'a>>,
}

/// A test of head whose name is new.
struct NewTest {
    position: usize,
    /// Set where it is taken for a removed test under another name.
    is_paired: bool,
}

/// A line, with the position of its test at the base or its own at head.
struct PlacedLine<'a> {
    position: usize,
    line: Line<'a>,
}

fn places<'a>(packet: &Packet<'a>, base: &Side<'_>, head: &Side<'_>) -> Vec<Place<'a>> {
    /// The lines between them that a unified diff would show anyway.
    const APART: u64 = 6;
    let mut places: Vec<Place<'a>> = Vec::new();
    // The place and the line, by number.
    let mut removed = BTreeMap::new();
    let mut added = BTreeMap::new();
    let mut end = 0;
    for hunk in packet.hunks() {
        let start = hunk.hunk.old_start;
        if places.is_empty() || start > end + APART {
            places.push(Place::default());
        }
        end = start + hunk.hunk.old_lines;
        let place = places.len() - 1;
        removed.extend(hunk.removed().map(|line| (line.number, (place, line))));
        added.extend(hunk.added().map(|line| (line.number, (place, line))));
    }
    for (position, test) in base.tests.iter().enumerate() {
        let name = removed.get(&number_of(test.at));
        let mark =
            removed.get(&number_of(test.mark)).filter(|(place, _)| name.is_none_or(|name| name.0 != *place));
        for (place, line) in name.into_iter().chain(mark) {
            places[*place].gone.push(PlacedLine { position, line: *line });
        }
    }
    for (place, line) in added.values() {
        places[*place].added.push(PlacedLine { position: position_of(line), line: *line });
    }
    for (position, test) in head.tests.iter().enumerate() {
        if let Some((place, _)) = added.get(&number_of(test.at)) {
            places[*place].come.push(position);
        }
    }
    places
}

/// Tests that only one version has. In one place, a test that goes and one that comes are a renamed test, unless the
/// one that comes checks nothing.
pub(super) fn compare<'a>(packet: &Packet<'a>, base: &Side<'a>, head: &Side<'a>, seen: &mut Inspection) {
    let (base_names, head_names) = (base.counts(), head.counts());
    let (staying, grown) = (OnceCell::new(), OnceCell::new());
    let mut missing: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, count) in &base_names {
        let left = head_names.get(name).copied().unwrap_or_default();
        missing.insert(name, count.saturating_sub(left));
    }
    for place in places(packet, base, head) {
        let new = place
            .come
            .into_iter()
            .filter(|position| is_fewer(&head.tests[*position].name, &head_names, &base_names));
        let mut come: Vec<NewTest> = new.map(|position| NewTest { position, is_paired: false }).collect();
        let gone = place.gone.iter().map(|gone| gone.position);
        let gone: BTreeSet<usize> =
            gone.filter(|position| is_fewer(&base.tests[*position].name, &base_names, &head_names)).collect();
        let is_thinner =
            head.assertions(come.iter().map(|new| new.position)) < base.assertions(gone.into_iter());
        for PlacedLine { position, line } in place.gone {
            let name = &base.tests[position].name;
            if !is_fewer(name, &base_names, &head_names) {
                continue;
            }
            if let Some(missing) = missing.get_mut(name.as_str()) {
                *missing = missing.saturating_sub(1);
            }
            if let Some(nearest) = nearest(base, position, head, &come, is_thinner) {
                come[nearest].is_paired = true;
                continue;
            }
            let shape = base.shape(packet, position, staying.get_or_init(|| base.staying(packet)));
            if !is_taken_in(&shape, || grown.get_or_init(|| grown_tests(packet, head))) {
                let draft = removed_test(packet, &line, name);
                seen.facts.push(Fact::new(&Found::Removed(shape), Some(draft)));
            }
        }
        // The cases of a table may stand beside it, in a constant or a function.
        let beside = place.added.iter().filter(|placed| head.owner(placed.position).is_none());
        let beside: Vec<&str> = beside.map(|placed| placed.line.text).collect();
        seen.facts.extend(grown_tables(packet, head, &base_names, &place.added));
        seen.facts.extend(come.into_iter().map(|NewTest { position, is_paired }| {
            let mut shape = Shape { paired: is_paired, ..head.shape(packet, position, &BTreeSet::new()) };
            if shape.table {
                shape.words.extend(words(beside.iter().copied()).into_iter().map(str::to_owned));
                shape.literals.extend(literals(beside.iter().copied()));
            }
            // A removed test with a less telling name may have the words of this name in its body.
            shape.words.extend(
                words(std::iter::once(shape.name.as_str()))
                    .into_iter()
                    .map(str::to_owned)
                    .collect::<Vec<_>>(),
            );
            Fact::new(&Found::Added(shape), None)
        }));
    }
    if base.is_parsed && head.is_parsed {
        swallowed(packet, base, &missing, seen);
    }
}

/// Reports tests whose lines stay and are part of a comment or of a string from now on.
fn swallowed(packet: &Packet<'_>, base: &Side<'_>, missing: &BTreeMap<&str, usize>, seen: &mut Inspection) {
    let added: BTreeSet<u64> = packet.added().map(|line| line.number).collect();
    let removed: BTreeSet<u64> = packet.removed().map(|line| line.number).collect();
    let mut missing = missing.clone();
    for (position, test) in base.tests.iter().enumerate() {
        let Some(left) = missing.get_mut(test.name.as_str()).filter(|left| **left > 0) else { continue };
        if removed.contains(&number_of(test.at))
            || removed.contains(&number_of(test.mark))
            || added.is_empty()
        {
            continue;
        }
        *left -= 1;
        let shape = base.shape(packet, position, &BTreeSet::new());
        let draft = packet.added().find(|line| !line.text.trim().is_empty()).map(|line| {
            let span = super::whole(line.text);
            Draft::on_line(TEST_REMOVED, packet, &line, span, "test is removed and not moved")
                .with("test", test.name.clone())
        });
        seen.facts.push(Fact::new(&Found::Removed(shape), draft));
    }
}

/// Returns the new test most like an old one by name, of those that no other is taken for, that have something in
/// common with it, and that check something and run; the last of those that are alike as much.
/// In a place that asserts less than before, a test with less than half of the assertions is no renamed one.
fn nearest(
    base: &Side<'_>,
    old: usize,
    head: &Side<'_>,
    come: &[NewTest],
    is_thinner: bool,
) -> Option<usize> {
    let old_words = base.words_of(old);
    let own: BTreeSet<&str> = telling(&old_words.words).collect();
    let name = &base.tests[old].name;
    let unpaired = come.iter().enumerate().filter(|(_, new)| !new.is_paired);
    // Names are compared at once; the tests behind them only until one fits.
    let mut nearest: BinaryHeap<(usize, usize)> =
        unpaired.map(|(at, new)| (alike(name, &head.tests[new.position].name), at)).collect();
    while let Some((_, at)) = nearest.pop() {
        let new = head.words_of(come[at].position);
        let are_hidden = base.tests[old].is_hidden && head.tests[come[at].position].is_hidden;
        let is_weaker = old_words.assertions > 0 && new.is_hollow
            || !old_words.is_skipped && new.is_skipped && !are_hidden
            || is_thinner && new.assertions * 2 < old_words.assertions;
        let is_related = !old_words.parts_of_name.is_disjoint(&new.parts_of_name)
            || own.len() < TELLING
            || share(&own, &new.words) * 3 >= ENOUGH;
        if !is_weaker && is_related {
            return Some(at);
        }
    }
    None
}

/// Tests that stay and that added lines make a table of cases.
fn grown_tables(
    packet: &Packet<'_>,
    head: &Side<'_>,
    base_names: &BTreeMap<&str, usize>,
    added: &[PlacedLine<'_>],
) -> Vec<Fact> {
    let tables = added.iter().filter(|added| TABLE.is_match(added.line.text));
    let owners: BTreeSet<usize> = tables.filter_map(|added| head.owner(added.position)).collect();
    let grown =
        owners.into_iter().filter(|position| base_names.contains_key(head.tests[*position].name.as_str()));
    let facts =
        grown.map(|position| Fact::new(&Found::Grown(head.shape(packet, position, &BTreeSet::new())), None));
    facts.collect()
}

/// Returns the words of each hunk that adds to a test.
fn grown_tests<'a>(packet: &Packet<'a>, head: &Side<'_>) -> Vec<BTreeSet<&'a str>> {
    let hunks =
        packet.hunks().filter(|hunk| hunk.added().any(|line| head.owner(position_of(&line)).is_some()));
    hunks.map(|hunk| words(hunk.added().map(|line| line.text))).collect()
}

/// Returns whether lines added to a test that stays in the file say what only the removed test said: a case of a table.
fn is_taken_in<'g>(removed: &Shape, grown: impl FnOnce() -> &'g Vec<BTreeSet<&'g str>>) -> bool {
    let own = borrowed(&removed.own);
    own.len() >= TELLING && grown().iter().any(|says| share(&own, says) >= ENOUGH)
}

fn removed_test(packet: &Packet<'_>, line: &Line<'_>, name: &str) -> Draft {
    let text = line.text;
    let span = text.len() - text.trim_start().len()..text.trim_end().len();
    Draft::on_base_line(TEST_REMOVED, packet, line, span, "test is removed and not moved").with("test", name)
}

/// A file of tests that goes as a whole.
pub(super) fn deleted<'a>(packet: &Packet<'a>, seen: &mut Inspection) {
    let (text, language) = (only_side(packet), packet.file.language.as_deref());
    let mut version = Version::parse(&packet.path_by_language(), language, &text, None);
    reveal(&mut version, &mut Version::default());
    let side = Side::whole(language, &version);
    let lines: BTreeMap<u64, Line<'_>> = packet.removed().map(|line| (line.number, line)).collect();
    let (Some((_, first)), false) = (lines.first_key_value(), side.tests.is_empty()) else { return };
    let path = packet.path().to_text().into_owned();
    let span = 0..first.text.trim_end().len();
    let draft = Draft::on_base_line(
        TEST_DELETED,
        packet,
        first,
        span,
        "test file is deleted and its tests are not moved",
    )
    .with("tests", side.tests.len());
    seen.facts.push(Fact::new(&Found::Deleted { path }, Some(draft)));
    let shared = side.shared();
    seen.facts.extend(side.tests.iter().enumerate().map(|(position, test)| {
        let line = lines.get(&number_of(test.at)).unwrap_or(first);
        let draft = removed_test(packet, line, &test.name);
        Fact::new(&Found::InDeleted(side.shape(packet, position, &shared)), Some(draft))
    }));
}

/// Returns whether a version has fewer tests of a name than another.
fn is_fewer(name: &str, here: &BTreeMap<&str, usize>, there: &BTreeMap<&str, usize>) -> bool {
    there.get(name).copied().unwrap_or(0) < here[name]
}
