//! Configurations by which linters, type checkers and coverage look at less.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::configs::{self, is_lint_config};
use super::suppressions::{self, NEVER_RUN};
use super::{COVERAGE, LINT, THRESHOLD, thresholds, tools, whole};
use crate::contract::{Draft, Inspection};
use crate::idioms::{Idiom, Table, anywhere};
use crate::pattern::Pattern;
use crate::scan;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::Scope;
use qa_core::packet::{HunkView, Line, Packet};

const LOOKS_AT_LESS: &str = "a linter looks at less";

/// One line of a configuration that loosens a linter or a type checker.
static LOOSE_IDIOMS: &[Idiom] = &[
    anywhere("off", r#"(?:^|[{,])\s*["']?[@\w][\w@/.-]*["']?\s*:\s*\[?\s*(["']off["'])"#),
    anywhere("off", r#"^\s*["']?[\w@.-]*/?[a-z][\w-]*-[\w-]+["']?\s*:\s*(off)\s*$"#),
    anywhere("0", r#"(?:^|[{,])\s*["'][@\w][\w@/.-]*-[\w@/.-]*["']\s*:\s*\[?\s*(0)\b"#),
    anywhere(
        "false",
        r#"["'](?:strict\w*|noImplicit\w+|noUnused\w+|noUnchecked\w+|noFallthrough\w+|noPropertyAccess\w+|exactOptionalPropertyTypes|useUnknownInCatchVariables|alwaysStrict|forceConsistentCasingInFileNames|checkJs)["']\s*:\s*(false)\b"#,
    ),
    anywhere("true", r#"["'](?:allowUnreachableCode|allowUnusedLabels|noCheck)["']\s*:\s*(true)\b"#),
    anywhere(
        "alse",
        r"^\s*(?:strict|disallow_\w+|check_untyped_defs|warn_(?:return_any|unreachable|unused_\w+|redundant_casts)|no_implicit_\w+|strict_\w+)\s*=\s*([Ff]alse)\b",
    ),
    anywhere(
        "rue",
        r"^\s*(?:ignore_errors|ignore_missing_imports|allow_untyped_\w+|allow_redefinition|disable_all_checks|exit-zero|exit_zero)\s*=\s*([Tt]rue)\b",
    ),
    anywhere("follow_imports", r#"^\s*follow_imports\s*=\s*(["']?(?:skip|silent)["']?)"#),
    anywhere("TypeChecking", r#"["']?typeCheckingMode["']?\s*[:=]\s*["'](off|basic)["']"#),
    anywhere("report", r#"["']?report[A-Z]\w+["']?\s*[:=]\s*(["'](?:none|information)["']|false)"#),
    anywhere("allow", r#"^\s*[\w-]+\s*=\s*(?:\{\s*level\s*=\s*)?(["']allow["'])"#),
    anywhere("Enabled", r"^\s+Enabled:\s*(false)\b"),
    anywhere("DisabledByDefault", r"DisabledByDefault:\s*(true)\b"),
    anywhere("disable-all", r"^\s*disable-all:\s*(true)\b"),
    anywhere("enabled", r#"["'](?:enabled|recommended)["']\s*:\s*(false)\b"#),
    anywhere("active", r"^\s+active:\s*(false)\b"),
    anywhere("severity", r#"<property\s+name="severity"\s+value=("ignore")"#),
];
static LOOSE: LazyLock<Table> = LazyLock::new(|| Table::new(LOOSE_IDIOMS));

static OPENS_LIST: Pattern = Pattern::new(r#"^\s*["']?([\w.-]+)["']?\s*(?:[:=]\s*(?:\[.*)?)$"#);

/// A rule that is on because it is named.
static NAMED_RULE: Pattern = Pattern::new(r#"^\s*<(?:module|rule)\s+(?:name|ref|key)="([^"]+)"#);

/// A rule that is an error.
static DENY: Pattern = Pattern::new(
    r#"^\s*["']?([@\w][\w@/.-]*)["']?\s*[:=]\s*\[?\s*(?:\{\s*level\s*=\s*)?["']?(?:error|deny|forbid|2)\b"#,
);
static CHECKSTYLE_ERROR: Pattern = Pattern::new(r#"^\s*<property\s+name="severity"\s+value="error""#);

/// Lists of what a linter leaves out, and of what it looks for.
const LEFT_OUT: &[&str] = &[
    "ignore",
    "extend-ignore",
    "extend_ignore",
    "disable",
    "disabled_rules",
    "per-file-ignores",
    "disable_error_code",
    "ignoreerrors",
    "disabled",
    "lint.ignore",
    "unfixable-ignore",
];
const LOOKED_FOR: &[&str] = &[
    "select",
    "extend-select",
    "extend_select",
    "enable",
    "opt_in_rules",
    "extends",
    "lint.select",
    "enable_error_code",
];
const UNCOVERED_LISTS: &[&str] = &[
    "omit",
    "exclude_lines",
    "exclude_also",
    "coveragepathignorepatterns",
    "ignore",
    "exclude",
    "exclude_file",
];

pub(super) fn name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_lowercase()
}

/// Files that configure many things, each in a section of its own.
pub(super) fn is_shared_config(path: &str) -> bool {
    matches!(name(path).as_str(), "pyproject.toml" | "setup.cfg" | "tox.ini" | "cargo.toml" | "package.json")
}

pub(super) fn is_coverage_config(path: &str) -> bool {
    let name = name(path);
    matches!(
        name.as_str(),
        ".coveragerc"
            | "codecov.yml"
            | ".codecov.yml"
            | "codecov.yaml"
            | ".codecov.yaml"
            | ".nycrc"
            | ".nycrc.json"
            | ".c8rc.json"
            | "tarpaulin.toml"
            | ".simplecov"
            | "infection.json"
            | "infection.json5"
            | ".coveralls.yml"
    ) || ["jest.config.", "vitest.config.", "vite.config.", "karma.conf.", "stryker.conf"]
        .iter()
        .any(|start| name.starts_with(start))
}

fn is_config(path: &str) -> bool {
    is_lint_config(path) || is_shared_config(path) || is_coverage_config(path)
}

/// Whether the whole text of a file is needed.
pub(super) fn needs_whole_file(path: &RepoPath) -> bool {
    is_config(&path.to_text())
}

/// Looks at one file.
pub(super) fn inspect(packet: &Packet<'_>) -> Inspection {
    let path = packet.path().to_text().into_owned();
    let mut seen = Inspection::default();
    if is_config(&path) {
        seen.drafts.extend(compared(packet, &path));
    }
    configs::inspect(packet, &mut seen);
    let workflow = super::ci::is_workflow(&path)
        || matches!(name(&path).as_str(), "makefile" | "justfile" | "noxfile.py");
    if is_config(&path) || workflow {
        seen.drafts.extend(packet.hunks().flat_map(|hunk| thresholds::lowered(packet, &path, &hunk)));
    }
    if matches!(packet.file.scope, Scope::Product | Scope::Test)
        && packet.file.language.is_some()
        && !scan::is_prose(packet.path())
    {
        suppressions::inspect(packet, &mut seen);
    }
    seen
}

/// What both versions of a configuration say, compared.
fn compared(packet: &Packet<'_>, path: &str) -> Vec<Draft> {
    let (Some(base), Some(head)) = (packet.text.full_base.as_deref(), packet.text.full_head.as_deref())
    else {
        return Vec::new();
    };
    let mut drafts = Vec::new();
    let (base, head) = (Lines::new(base), Lines::new(head));
    for hunk in packet.hunks() {
        let old: BTreeSet<String> = hunk.removed().map(|line| squeezed(line.text)).collect();
        let mut loose_before: Vec<Line<'_>> =
            hunk.removed().filter(|line| loosens(path, &base, line).is_some()).collect();
        let loose: Vec<Draft> = hunk
            .added()
            .filter(|line| !old.contains(&squeezed(line.text)))
            .filter_map(|line| {
                let (rule, span) =
                    loosens(path, &head, &line).or_else(|| downgraded(path, &head, &line, &hunk))?;
                if rule == LINT && is_of_new_tool(&base, section(&head, line.number as usize - 1)) {
                    return None;
                }
                let same = loose_before.iter().position(|before| key(before.text) == key(line.text));
                if let Some(before) = same.map(|position| loose_before.remove(position))
                    && (key(line.text).is_none() || words(line.text).is_subset(&words(before.text)))
                {
                    return None;
                }
                let summary = if rule == LINT { LOOKS_AT_LESS } else { "code is taken out of the coverage" };
                Some(Draft::on_line(rule, packet, &line, span, summary))
            })
            .collect();
        // One edit of one place is one finding.
        if loose.is_empty() {
            drafts.extend(tightenings_gone(packet, path, &hunk, &base, &head));
        }
        drafts.extend(loose);
    }
    drafts
}

/// The lines of a new configuration by which a linter looks at less than by the one it builds on.
pub(super) fn loosened(packet: &Packet<'_>, path: &str, head: &str) -> Vec<Draft> {
    let lines = Lines::new(head);
    let loose = packet.added().filter_map(|line| {
        let (rule, span) = loosens(path, &lines, &line).filter(|(rule, _)| *rule == LINT)?;
        Some(Draft::on_line(rule, packet, &line, span, LOOKS_AT_LESS))
    });
    loose.collect()
}

/// The lines of a configuration.
struct Lines<'a> {
    all: Vec<&'a str>,
    /// The first that has the key under which a `package.json` configures a linter.
    lint_key: Option<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let all: Vec<&str> = text.lines().collect();
        let lint_key = all.iter().position(|line| line.contains("\"eslintConfig\""));
        Self { all, lint_key }
    }
}

impl<'a> std::ops::Deref for Lines<'a> {
    type Target = [&'a str];

    fn deref(&self) -> &[&'a str] {
        &self.all
    }
}

/// Whether a section configures a tool of which the old version knew nothing: what it leaves out was never looked at.
/// Sections outside of `tool` may win over a tool's own file, and so loosen what stands there.
fn is_of_new_tool(base: &[&str], section: &str) -> bool {
    section.starts_with("[tool.")
        && configs::section_tool(section)
            .is_some_and(|own| !base.iter().any(|line| configs::section_tool(line) == Some(own)))
}

/// What a line of configuration sets; an entry of a list sets nothing by itself.
fn key(line: &str) -> Option<&str> {
    line.split_once(['=', ':'])
        .map(|(key, _)| key.trim().trim_matches(['"', '\'']))
        .filter(|key| !key.starts_with('-'))
}

/// The values of a line of configuration.
fn words(line: &str) -> BTreeSet<&str> {
    line.split(|character: char| {
        !character.is_alphanumeric() && !matches!(character, '-' | '_' | '/' | '.' | '*')
    })
    .filter(|word| !word.is_empty())
    .collect()
}

/// A rule that was an error and is a warning now.
fn downgraded(
    path: &str,
    lines: &Lines<'_>,
    line: &Line<'_>,
    hunk: &HunkView<'_>,
) -> Option<(&'static str, std::ops::Range<usize>)> {
    static WARNS: Pattern = Pattern::new(
        r#"^\s*(?:["']?[@\w][\w@/.-]*["']?\s*[:=]\s*\[?\s*(?:\{\s*level\s*=\s*)?|<property\s+name="severity"\s+value=)(["']?(?:warn(?:ing)?|1)\b["']?)"#,
    );
    let narrowed = key(line.text).is_some_and(|own| LOOKED_FOR.contains(&own.to_lowercase().as_str()))
        && hunk.removed().any(|old| {
            let (before, after) = (words(old.text), words(line.text));
            key(old.text) == key(line.text) && after.len() < before.len() && after.is_subset(&before)
        });
    if narrowed && lint_section(path, lines, line.number as usize - 1) {
        return Some((LINT, whole(line.text)));
    }
    let found = WARNS.captures(line.text)?.get(1)?;
    let is_error = |text: &str| DENY.is_match(text) || CHECKSTYLE_ERROR.is_match(text);
    let is_same = |other: &Line<'_>| is_error(other.text) && key(other.text) == key(line.text);
    let denied = hunk.removed().any(|old| is_same(&old)) && !hunk.added().any(|new| is_same(&new));
    (denied && lint_section(path, lines, line.number as usize - 1)).then(|| (LINT, found.range()))
}

fn squeezed(line: &str) -> String {
    line.trim().trim_end_matches(',').chars().filter(|character| !character.is_whitespace()).collect()
}

/// The section a line of TOML or INI stands in.
pub(super) fn section<'a>(lines: &[&'a str], at: usize) -> &'a str {
    lines[..at.min(lines.len())].iter().rev().find(|line| line.starts_with('[')).copied().unwrap_or("")
}

/// The key whose list a line stands in, in lower case.
fn list_key(lines: &[&str], at: usize) -> Option<String> {
    let line = lines.get(at)?;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(line);
    if let Some((key, rest)) = line.split_once(['=', ':'])
        && rest.trim_start().starts_with('[')
    {
        return Some(key.trim().trim_matches(['"', '\'']).to_lowercase());
    }
    let above = lines[..at].iter().rev().take(200).find(|above| {
        let text = above.trim();
        !text.is_empty()
            && !text.starts_with(['#', '/'])
            && (indent(above) < own
                || indent(above) == own && !text.starts_with('-') && line.trim_start().starts_with('-'))
    })?;
    OPENS_LIST.captures(above).map(|captures| captures[1].to_lowercase())
}

fn lint_section(path: &str, lines: &Lines<'_>, at: usize) -> bool {
    const TOOLS: &[&str] = &[
        "ruff",
        "flake8",
        "mypy",
        "pylint",
        "pyright",
        "lints",
        "bandit",
        "isort",
        "pydocstyle",
        "basedpyright",
        "ty.",
    ];
    is_lint_config(path)
        || is_shared_config(path) && !name(path).ends_with(".json") && {
            let section = section(lines, at);
            TOOLS.iter().any(|tool| section.contains(tool))
        }
        || lines.lint_key.is_some_and(|key| key < at) && name(path) == "package.json"
}

fn coverage_section(path: &str, lines: &[&str], at: usize) -> bool {
    is_coverage_config(path)
        || is_shared_config(path) && section(lines, at).contains("coverage")
        || name(path) == "package.json"
}

/// What an added line of configuration loosens, and where.
fn loosens(path: &str, lines: &Lines<'_>, line: &Line<'_>) -> Option<(&'static str, std::ops::Range<usize>)> {
    let at = (line.number as usize).checked_sub(1)?;
    let text = line.text.trim();
    if text.is_empty() || text.starts_with(['#', '/', ';']) || matches!(text, "]" | "}" | "],") {
        return None;
    }
    // Other people's packages may come without types.
    let foreign = text.starts_with("ignore_missing_imports") && section(lines, at).starts_with("[mypy-");
    if lint_section(path, lines, at) && !foreign {
        if let Some(span) = LOOSE.find(None, line.text, &scan::Parts::default()) {
            return Some((LINT, span));
        }
        let is_entry =
            text.starts_with(['-', '"', '\'']) || text.contains('[') || name(path).ends_with("flake8");
        if is_entry
            && list_key(lines, at).is_some_and(|key| LEFT_OUT.contains(&key.as_str()))
            && !text.ends_with('[')
        {
            return Some((LINT, whole(line.text)));
        }
        let inline = text.split_once('=').map(|(key, value)| (key.trim().to_lowercase(), value.trim()));
        if inline.is_some_and(|(key, value)| {
            LEFT_OUT.contains(&key.as_str()) && !value.is_empty() && !value.starts_with('[')
        }) {
            return Some((LINT, whole(line.text)));
        }
    }
    if coverage_section(path, lines, at) && !NEVER_RUN.is_match(text) {
        let key =
            list_key(lines, at).or_else(|| text.split_once('=').map(|(key, _)| key.trim().to_lowercase()));
        let wide = if is_coverage_config(path) && !name(path).contains("vite") && !name(path).contains("jest")
        {
            UNCOVERED_LISTS
        } else {
            &UNCOVERED_LISTS[..4]
        };
        if key.is_some_and(|key| wide.contains(&key.as_str())) && !text.ends_with(['[', '=', ':']) {
            return Some((COVERAGE, whole(line.text)));
        }
    }
    None
}

/// Removed lines that asked for more: a rule of a list, a strict setting, a threshold.
fn tightenings_gone(
    packet: &Packet<'_>,
    path: &str,
    hunk: &HunkView<'_>,
    base: &Lines<'_>,
    head: &Lines<'_>,
) -> Vec<Draft> {
    static STRICT: Pattern = Pattern::new(
        r#"["']?\b(strict\w*|noImplicit\w+|noUnused\w+|noUnchecked\w+|exactOptional\w+|disallow_\w+|check_untyped_defs|fail_under|cov-fail-under|max-warnings|coverageThreshold)\b["']?\s*[:=]\s*(?:true|True|\d|\{)"#,
    );
    let mut drafts = Vec::new();
    let come = hunk.added().count();
    for line in hunk.removed() {
        let at = line.number as usize - 1;
        let text = line.text.trim();
        if text.starts_with(['#', '/']) {
            continue;
        }
        let gone = |word: &str| {
            !head.iter().any(|line| line.contains(word) && !line.trim_start().starts_with(['#', '/']))
        };
        let lint = lint_section(path, base, at);
        let strict = STRICT
            .captures(text)
            .filter(|_| lint || coverage_section(path, base, at))
            .map(|found| found[1].to_owned());
        let denied = DENY
            .captures(text)
            .or_else(|| NAMED_RULE.captures(text).filter(|_| come == 0))
            .filter(|_| lint)
            .map(|found| found[1].to_owned())
            .filter(|rule| !is_under_another_name(rule, packet));
        let entry = text.trim_start_matches("- ").trim_end_matches(',').trim_matches(['"', '\'']);
        let in_list = lint
            && come == 0
            && !entry.is_empty()
            && text.starts_with(['-', '"', '\''])
            && !text.contains(": ")
            && list_key(base, at).is_some_and(|key| LOOKED_FOR.contains(&key.as_str()));
        let contained = |setting: &String| {
            let own = section(base, at);
            let is_above =
                |(at, line): (usize, &&str)| tools::is_umbrella(line, setting) && section(head, at) == own;
            head.iter().enumerate().any(is_above)
        };
        let strict = strict.filter(|setting| !contained(setting));
        let in_list = in_list && !is_succeeded(entry, base, head);
        let word = strict.or(denied).or_else(|| in_list.then(|| entry.to_owned()));
        if let Some(word) = word.filter(|word| gone(word)) {
            let rule = if word.contains("under") || word.contains("max-warn") || word.contains("Threshold") {
                THRESHOLD
            } else {
                LINT
            };
            let summary = if rule == LINT { LOOKS_AT_LESS } else { "a threshold is removed" };
            drafts.push(Draft::on_base_line(rule, packet, &line, whole(line.text), summary));
        }
    }
    drafts
}

/// Whether a rule comes as an error in the same file under the name of another plug-in.
fn is_under_another_name(rule: &str, packet: &Packet<'_>) -> bool {
    let own = rule.rsplit('/').next().unwrap_or(rule);
    let added: Vec<Line<'_>> = packet.added().collect();
    own.contains('-')
        && added.iter().enumerate().any(|(at, line)| {
            let is_other = key(line.text)
                .is_some_and(|key| key != rule && key.rsplit('/').next() == Some(own) && key.contains('/'));
            // The level may stand on the line below an opening bracket.
            let next = added
                .get(at + 1)
                .filter(|_| line.text.trim_end().ends_with('['))
                .map_or("", |next| next.text);
            is_other && (DENY.is_match(line.text) || next.contains("error"))
        })
}

/// Whether a linter taken off a list no longer did anything, or another that is named from now on does its work. One
/// that was named before does it only when the configuration is written for another version of the runner.
fn is_succeeded(entry: &str, base: &[&str], head: &[&str]) -> bool {
    let named = |lines: &[&str]| -> BTreeSet<String> {
        let items = lines.iter().map(|line| line.trim()).filter(|line| line.starts_with(['-', '"', '\'']));
        items
            .map(|line| line.trim_start_matches("- ").split(" #").next().unwrap_or("").trim_end_matches(','))
            .map(|item| item.trim().trim_matches(['"', '\'']).to_owned())
            .collect()
    };
    let version =
        |lines: &[&str]| lines.iter().find(|line| line.starts_with("version")).map(|line| line.to_string());
    let (before, mut after) = (named(base), named(head));
    if version(base) == version(head) {
        after.retain(|entry| !before.contains(entry));
    }
    tools::is_without_effect(entry) || tools::cover(&after, entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        LOOSE.check();
        assert!(NAMED_RULE.is_match("<module name=\"A\"/>") && DENY.is_match("'no-eval': 2"));
        assert!(OPENS_LIST.is_match("ignore = ["));
    }
}
