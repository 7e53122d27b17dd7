//! Holds every rule to its findings in every spelling: each case of each page, rewritten by the formatters of its language
//! and by hand (`tests/foreign/formatters.py`), has the findings that it states, at the same tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::ALL;
use super::contract::{Draft, Lens};
use super::corpus::{self, Case, CaseVersion};
use qa_contracts::v1::Side;
use qa_core::policy::Policy;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A case that a spelling makes another one.
struct Other {
    rule: &'static str,
    /// Begin of the title, without its kind.
    title: &'static str,
    /// Begin of the names of spellings; empty for all.
    spelling: &'static str,
}

const fn other(rule: &'static str, title: &'static str, spelling: &'static str) -> Other {
    Other { rule, title, spelling }
}

impl Other {
    fn is_of(&self, case: &Case, spelling: &str) -> bool {
        let kinds = ["hit: ", "near miss: ", "outside the diff: "];
        let title = kinds.iter().find_map(|kind| case.title.strip_prefix(kind)).unwrap_or_default();
        case.rule == self.rule && title.starts_with(self.title) && spelling.starts_with(self.spelling)
    }
}

/// Cases whose spelling is what they are about, and places that a spelling moves to another line of the same change.
const OTHERS: &[Other] = &[
    // A formatter removes or escapes what is hidden, and rewrites the lines that hold it.
    other("trojan-source/hidden-text", "", "prettier"),
    other("trojan-source/invisible-character", "tag characters in configuration", "yaml flow"),
    other("trojan-source/invisible-in-prose", "an old soft hyphen", "prettier narrow"),
    other("merge-leftover/conflict-marker", "a conflict in a document", "prettier"),
    other("merge-leftover/conflict-marker", "a conflict in a string", "black"),
    other("merge-leftover/conflict-marker", "a conflict in a string", "ruff"),
    other("feature-guard/list-unreadable", "a comma too many", "prettier"),
    // Two texts that are joined become one, and nothing shows that they were two.
    other("suspicious-expression/missing-comma", "as it is", "ruff"),
    // A rewriter by hand loses comments, bases of numbers and marks of lines.
    other("policy-weakening/policy-weakened", "a comment above a loose setting", "toml"),
    other("lint-weakening/threshold-lowered", "numbers of TOML with parted digits", "toml"),
    other("weak-test/checks-nothing", "", "by hand"),
    // Calls that start a debugger are looked for in the text, so that one in pieces excuses less.
    other("merge-leftover/debugger-statement", "a debugger that a program builds on", "by hand"),
    other("test-weakening/test-removed", "renamed with an emptied body", "by hand"),
    // A word is looked for in other files as it is written, to excuse: an escape in it excuses nothing.
    other("phantom-dependency/lockfile-behind", "", "json escaped"),
    other("phantom-dependency/undeclared-package", "declared, in the repository", "json escaped"),
    other("unresolved-import/missing-module", "a configuration has the word", "json escaped"),
    // On one line, what is new and what was there are on one changed line. A run tells them apart later, by the base.
    other("dangerous-call/command-injection", "other programs", "ruff wide"),
    other("dangerous-call/tls-verification-off", "a check of one's own", "ruff wide"),
    // The finding is about the file, or about keys that share a table, and stands on another of its lines.
    other("ci-weakening/ci-removed", "a workflow is deleted", "yaml"),
    other("ci-weakening/ci-removed", "what a workflow checks is left to one that runs at night", "yaml"),
    other("lint-weakening/lint-disabled", "", "toml dotted"),
    other("lint-weakening/lint-disabled", "a linter goes while another", "yaml flow"),
    // A token in quotes can be read, so that the target is compared.
    other("lint-weakening/lint-disabled", "a target in a file that a masked token makes unreadable", ""),
    other("lint-weakening/lint-disabled", "a formatter is taken out", "yaml flow"),
    other("policy-weakening/policy-weakened", "a mode, a lens and a rule", "toml dotted"),
    other("policy-weakening/waiver-added", "a waiver that was the reason", "taplo sorted"),
    other("workflow-hardening/credentials-in-artifact", "a setting that goes away", "yaml flow"),
    // Of lists in lines of their own a shard goes without an added line, and the finding stands on the next change.
    other("ci-weakening/ci-softened", "some of the shards", "yaml block"),
    // An alias is another word in the line that is quoted.
    other("lint-weakening/lint-disabled", "another linter is left out", "yaml aliases"),
];

/// The other spellings of a text, by name.
type Spellings = BTreeMap<String, String>;

/// Returns the spellings of each version, or `None` where the formatters are not installed.
#[expect(clippy::disallowed_methods, reason = "a test starts the formatters")]
fn spellings_of(versions: &[CaseVersion]) -> Option<BTreeMap<CaseVersion, Spellings>> {
    let root = Path::new(ROOT);
    let (python, packages) = (root.join(".venv/bin/python"), root.join("target/foreign"));
    let is_installed =
        root.join(".venv/bin/taplo").exists() && packages.join("node_modules/prettier").exists();
    if !is_installed {
        assert!(std::env::var_os("CI").is_none(), "scripts/foreign.sh installs the formatters");
        eprintln!("skipped: the formatters are not installed; scripts/foreign.sh does it");
        return None;
    }
    let mut command = Command::new(python);
    command.arg(root.join("tests/foreign/formatters.py"));
    command
        .arg(format!("{}:{}", root.join(".venv/bin").display(), packages.join("python/bin").display()))
        .arg(packages);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let cases =
        versions.iter().map(|version| serde_json::json!({ "path": version.path, "text": version.text }));
    let input = cases.collect::<serde_json::Value>().to_string();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "the formatters failed");
    let answers: Vec<Spellings> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answers.len(), versions.len());
    Some(versions.iter().cloned().zip(answers).collect())
}

/// A finding without its line, which moves.
#[derive(Debug, Clone)]
struct Sighting {
    file: String,
    is_base: bool,
    rule: String,
    /// Letters and digits of the quote, and of the line that it stands on.
    token: String,
    line: String,
}

impl Sighting {
    fn new(draft: &Draft, case: &Case) -> Self {
        let file = draft.file.to_text().into_owned();
        let is_base = draft.side == Side::Base;
        let sides =
            case.files.iter().filter_map(|one| if is_base { one.old.as_ref() } else { one.new.as_ref() });
        let text = sides.filter(|version| version.path == file).map(|version| version.text.as_str()).next();
        let lines = text.unwrap_or_default().lines().skip(draft.start_line.saturating_sub(1) as usize);
        let line = lines.map(letters).next().unwrap_or_default();
        Self { file, is_base, rule: draft.rule.to_string(), token: letters(&draft.quote), line }
    }

    /// Returns true if another finding of the rule is at the place of this one. A formatter may break the line that is
    /// quoted, and may put two places on one line, which then have one finding. A bracket is the place of what it holds.
    fn is_covered_by(&self, other: &Self) -> bool {
        let is_alike = (&self.file, self.is_base, &self.rule) == (&other.file, other.is_base, &other.rule);
        let (token, theirs) = (&self.token, &other.token);
        let is_bracket = token.is_empty() || theirs.is_empty();
        let is_part = token.contains(theirs) || theirs.contains(token);
        is_alike && (is_bracket || is_part || other.line.contains(token) || self.line.contains(theirs))
    }
}

/// Returns the letters and digits of a text, with its escapes decoded.
fn letters(text: &str) -> String {
    static ESCAPES: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\\(?:u\{([0-9A-Fa-f]+)\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))").unwrap()
    });
    let decoded = ESCAPES.replace_all(text, |escape: &Captures<'_>| {
        let digits = (1..4).find_map(|group| escape.get(group)).expect("each branch has digits");
        let letter = u32::from_str_radix(digits.as_str(), 16).ok().and_then(char::from_u32);
        letter.map(String::from).unwrap_or_default()
    });
    decoded.chars().filter(|letter| letter.is_alphanumeric()).collect()
}

fn sightings(lenses: &[&dyn Lens], case: &Case, policy: &Policy) -> Vec<Sighting> {
    let files: Vec<_> = case.files.iter().map(corpus::changed_file).collect();
    let drafts = lenses.iter().flat_map(|lens| corpus::run_lens_under(*lens, &files, policy));
    drafts.map(|draft| Sighting::new(&draft, case)).collect()
}

/// Returns the findings that have none at their place in the other list.
fn uncovered<'a>(found: &'a [Sighting], others: &[Sighting]) -> Vec<&'a Sighting> {
    found.iter().filter(|one| !others.iter().any(|other| one.is_covered_by(other))).collect()
}

/// Returns the case with every version in one spelling; `None` if one side of a file has it and the other does not.
fn respelled(case: &Case, name: &str, spellings: &BTreeMap<CaseVersion, Spellings>) -> Option<Case> {
    let mut other = case.clone();
    for file in &mut other.files {
        let mut is_respelled = Vec::new();
        for version in [&mut file.old, &mut file.new].into_iter().flatten() {
            let text = spellings[version].get(name);
            is_respelled.push(text.is_some());
            version.text = text.unwrap_or(&version.text).clone();
        }
        if is_respelled == [true, false] || is_respelled == [false, true] {
            return None;
        }
    }
    Some(other)
}

fn versions(case: &Case) -> impl Iterator<Item = &CaseVersion> {
    case.files.iter().flat_map(|file| [&file.old, &file.new]).flatten()
}

/// Cases of a rule, and their spellings.
#[derive(Debug, Default)]
struct Counts {
    hits: usize,
    near_misses: usize,
    spellings: usize,
}

/// Compares the findings of a case with those of its spellings; `is_held` is given the spellings where they are the
/// same, and the text of a difference is returned for each other one.
fn compare(
    page: &str,
    case: &Case,
    spellings: &BTreeMap<CaseVersion, Spellings>,
    mut is_held: impl FnMut(&str),
) -> Vec<String> {
    let policy = corpus::policy(case.policy.as_deref());
    let is_meant = |lens: &&&dyn Lens| {
        let id = lens.spec().id;
        id == page || case.expect.iter().any(|line| line.contains(&format!(" {id}/")))
    };
    let lenses: Vec<&dyn Lens> = ALL.iter().filter(is_meant).copied().collect();
    let names: BTreeSet<&String> = versions(case).flat_map(|version| spellings[version].keys()).collect();
    let stated = sightings(&lenses, case, &policy);
    let mut wrong = Vec::new();
    for name in names.into_iter().filter(|name| !OTHERS.iter().any(|other| other.is_of(case, name))) {
        let Some(other) = respelled(case, name, spellings) else { continue };
        let found = sightings(&lenses, &other, &policy);
        let (lost, gained) = (uncovered(&stated, &found), uncovered(&found, &stated));
        if lost.is_empty() && gained.is_empty() {
            is_held(name);
            continue;
        }
        let texts: String =
            versions(&other).map(|version| format!("{}:\n{}", version.path, version.text)).collect();
        wrong.push(format!(
            "{}, {}, {name}\n  lost {lost:#?}\n  gained {gained:#?}\n{texts}",
            case.rule, case.title
        ));
    }
    wrong
}

#[test]
fn every_case_has_its_findings_in_every_spelling() {
    let pages = corpus::pages();
    let all: BTreeSet<CaseVersion> =
        pages.iter().flat_map(|page| &page.cases).flat_map(versions).cloned().collect();
    let Some(spellings) = spellings_of(&Vec::from_iter(all)) else { return };
    let mut wrong = Vec::new();
    let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
    for page in &pages {
        for case in &page.cases {
            let counts = counts.entry(&case.rule).or_default();
            counts.hits += usize::from(case.title.starts_with("hit: "));
            counts.near_misses += usize::from(case.title.starts_with("near miss: "));
            wrong.extend(compare(&page.name, case, &spellings, |name| {
                counts.spellings += usize::from(!OPTIONAL.iter().any(|tool| name.starts_with(tool)));
            }));
        }
    }
    assert!(wrong.is_empty(), "{}\n{} differ", wrong.join("\n"), wrong.len());
    is_documented(&counts);
}

/// Formatters that are not installed everywhere, so that what they write is not counted.
const OPTIONAL: &[&str] = &["clang-format", "gofmt"];

/// Holds the table of docs/precision.md to the counts: a rule has at least as many cases as the table says, and about as
/// many spellings. `UPDATE_DOCS`
/// writes it.
fn is_documented(counts: &BTreeMap<&str, Counts>) {
    const HEAD: &str = "| rule | hits | near misses | spellings of them |\n|---|---:|---:|---:|\n";
    let path = Path::new(ROOT).join("docs/precision.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(HEAD).expect("the page has the table");
    let (table, after) = rest.split_once("\n\n").expect("a paragraph is below");
    let row = |(rule, Counts { hits, near_misses, spellings }): (&&str, &Counts)| {
        format!("| `{rule}` | {hits} | {near_misses} | {spellings} |")
    };
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let rows: Vec<String> = counts.iter().map(row).collect();
        std::fs::write(path, format!("{before}{HEAD}{}\n\n{after}", rows.join("\n"))).unwrap();
        return;
    }
    let mut documented = BTreeSet::new();
    for line in table.lines() {
        let cells: Vec<&str> = line.trim_matches(['|', ' ']).split(" | ").collect();
        let [rule, numbers @ ..] = cells.as_slice() else { panic!("{line}") };
        let rule = rule.trim_matches('`');
        let Counts { hits, near_misses, spellings } =
            counts.get(rule).unwrap_or_else(|| panic!("no cases: {line}"));
        let documented_numbers: Vec<usize> = numbers.iter().map(|number| number.parse().unwrap()).collect();
        let [least_hits, least_near_misses, least_spellings] = documented_numbers[..] else {
            panic!("{line}")
        };
        // A text that one release of a formatter writes another one may refuse.
        let is_held =
            least_hits <= *hits && least_near_misses <= *near_misses && least_spellings * 3 / 4 <= *spellings;
        assert!(is_held, "there are {hits}, {near_misses}, {spellings}: {line}");
        documented.insert(rule);
    }
    let rules: BTreeSet<&str> = counts.keys().copied().collect();
    assert_eq!(documented, rules, "UPDATE_DOCS=1 writes the table");
}
