//! Lock files line by line: what was locked, by which checksum, from which host.

use std::collections::{BTreeMap, BTreeSet};

use super::{CHANGED, ELSEWHERE, REMOVED, draft, fold, host};
use crate::contract::Draft;
use crate::pattern::Pattern;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangedFile, FileText};
use qa_core::packet::{HunkView, Line, Packet};

/// A family of lock files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Npm,
    Yarn,
    Pnpm,
    Bun,
    Cargo,
    Go,
    Python,
    Ruby,
}

impl Format {
    pub(super) fn of(path: &RepoPath) -> Option<Self> {
        match path.file_name() {
            b"package-lock.json" | b"npm-shrinkwrap.json" => Some(Self::Npm),
            b"yarn.lock" => Some(Self::Yarn),
            b"pnpm-lock.yaml" => Some(Self::Pnpm),
            b"bun.lock" => Some(Self::Bun),
            b"Cargo.lock" => Some(Self::Cargo),
            b"go.sum" => Some(Self::Go),
            b"poetry.lock" | b"pdm.lock" | b"uv.lock" => Some(Self::Python),
            b"Gemfile.lock" => Some(Self::Ruby),
            _ => None,
        }
    }

    /// The checksum on a line of its own, in an entry that says elsewhere what it is of.
    fn sum(self, line: &str) -> Option<&str> {
        static SUM: Pattern = Pattern::new(concat!(
            r#"^\s+"integrity":\s*"([^"]+)"|^\s+integrity\s+"?([^\s"]+)"?$|^\s+checksum:\s*"?([^\s"]+)"?$"#,
            r#"|^\s+resolution:\s*\{[^}]*\bintegrity:\s*([^\s,}]+)|^checksum = "([^"]+)"$"#,
        ));
        match self {
            Self::Npm | Self::Yarn | Self::Pnpm | Self::Cargo => {
                SUM.captures(line)?.first_group().map(|group| group.as_str())
            }
            Self::Bun | Self::Go | Self::Python | Self::Ruby => None,
        }
    }

    /// What a line with its own checksum is about, and the checksum.
    fn keyed(self, line: &str) -> Option<(&str, &str)> {
        static GO: Pattern = Pattern::new(r"^(\S+ v\S+) (h1:\S+)$");
        static PYTHON: Pattern = Pattern::new(r#"\b(?:file|url) = "(?:[^"]*/)?([^"/]+)", hash = "([^"]+)""#);
        static RUBY: Pattern = Pattern::new(r"^\s+(\S+ \([^)]+\)) (sha256=[0-9a-f]+)$");
        static BUN: Pattern = Pattern::new(r#"^\s+"[^"]+": \["([^"]+@[^"]+)",.*"(sha\d+-[^"]+)"\],?$"#);
        let pattern = match self {
            Self::Go => &GO,
            Self::Python => &PYTHON,
            Self::Ruby => &RUBY,
            Self::Bun => &BUN,
            Self::Npm | Self::Yarn | Self::Pnpm | Self::Cargo => return None,
        };
        let groups = pattern.captures(line)?;
        Some((groups.get(1)?.as_str(), groups.get(2)?.as_str()))
    }

    /// Whether a line says alone what an entry is: name and version, or the address that holds both.
    fn says_all(self, line: &str) -> bool {
        let text = line.trim_start();
        match self {
            Self::Npm => text.starts_with("\"resolved\":"),
            Self::Yarn => text.starts_with("resolved ") || text.starts_with("resolution:"),
            Self::Pnpm => !text.starts_with("resolution:") && text.ends_with(':') && text.contains('@'),
            Self::Cargo | Self::Bun | Self::Go | Self::Python | Self::Ruby => false,
        }
    }

    /// Whether a line says the version and nothing else.
    fn says_version(self, line: &str) -> bool {
        let text = line.trim_start();
        match self {
            Self::Npm => text.starts_with("\"version\":"),
            Self::Yarn => text.starts_with("version ") || text.starts_with("version:"),
            Self::Cargo => text.starts_with("version = "),
            Self::Pnpm | Self::Bun | Self::Go | Self::Python | Self::Ruby => false,
        }
    }

    /// Whether a line begins an entry, and so says the name.
    fn begins(self, line: &str) -> bool {
        match self {
            Self::Npm => line.trim_end().ends_with('{'),
            Self::Yarn => !line.starts_with([' ', '#']) && line.ends_with(':'),
            Self::Pnpm => self.says_all(line),
            Self::Cargo => line.starts_with("name = "),
            Self::Bun | Self::Go | Self::Python | Self::Ruby => false,
        }
    }
}

/// The registries that everybody uses, and what they hand packages out by.
const KNOWN_HOSTS: &[&str] = &[
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "npm.jsr.io",
    "npm.pkg.github.com",
    "files.pythonhosted.org",
    "pypi.org",
    "github.com",
    "index.crates.io",
    "static.crates.io",
    "rubygems.org",
    "codeload.github.com",
    "opencollective.com",
];

/// The host that a line takes a package from, unless it is one that everybody uses.
fn foreign_host(line: &str) -> Option<&str> {
    let text = line.trim_start();
    let says = [
        "\"resolved\":",
        "resolved ",
        "resolution:",
        "source = ",
        "{ url = ",
        "sdist = ",
        "remote:",
        "tarball:",
    ];
    let found = says.iter().any(|says| text.starts_with(says)).then(|| host(text)).flatten()?;
    (!KNOWN_HOSTS.contains(&found)).then_some(found)
}

/// Where checksums of an entry stand far below its name, and where a host has to be looked for in all of the file.
pub(super) fn wants_whole_file(file: &ChangedFile, hunks: &FileText) -> bool {
    let begins = std::iter::once(0).chain(hunks.cuts.iter().map(|cuts| cuts.after));
    let yarn = Format::of(&file.path) == Some(Format::Yarn);
    begins.zip(&hunks.cuts).any(|(begin, cuts)| {
        let part = |from: u32, to: u32| &hunks.text[from as usize..to as usize];
        let (before, removed) = (part(begin, cuts.before), part(cuts.before, cuts.removed));
        let added = part(cuts.removed, cuts.added);
        let sum = |text: &str| text.lines().any(|line| line.starts_with("  checksum:"));
        let alone = || !before.contains("  resolution:") && !added.contains("  resolution:");
        yarn && sum(removed) && sum(added) && alone()
            || added.lines().any(|line| foreign_host(line).is_some())
    })
}

/// Looks at one lock file.
pub(super) fn inspect(packet: &Packet<'_>, format: Format, drafts: &mut Vec<Draft>) {
    let new: BTreeSet<u64> = packet.added().map(|line| line.number).collect();
    let head: Vec<&str> =
        packet.text.full_head.as_deref().map(|text| text.lines().collect()).unwrap_or_default();
    for hunk in packet.hunks() {
        changed(packet, format, &hunk, &head, &new, drafts);
        removed(packet, format, &hunk, &new, drafts);
    }
    keyed(packet, format, drafts);
    elsewhere(packet, drafts);
    for rule in [CHANGED, REMOVED, ELSEWHERE] {
        fold(drafts, rule);
    }
}

/// Whether two checksums are of one kind, so that they may be compared.
fn comparable(old: &str, new: &str) -> bool {
    let kind = |sum: &str| sum.split_once(['-', ':', '/', '=']).map(|(kind, _)| kind.to_owned());
    old != new
        && kind(old) == kind(new)
        && old.len() == new.len()
        && !old.starts_with('*')
        && !new.starts_with('*')
}

const OTHER: &str = "the same version has another checksum than before";

/// A checksum that is replaced in an entry whose name and version stay.
fn changed(
    packet: &Packet<'_>,
    format: Format,
    hunk: &HunkView<'_>,
    head: &[&str],
    new: &BTreeSet<u64>,
    drafts: &mut Vec<Draft>,
) {
    let old: Vec<&str> = hunk.removed().filter_map(|line| format.sum(line.text)).collect();
    if old.is_empty() {
        return;
    }
    let added: Vec<Line<'_>> = hunk.added().collect();
    let sums: Vec<(&Line<'_>, &str)> =
        added.iter().filter_map(|line| Some((line, format.sum(line.text)?))).collect();
    // With as many checksums on both sides the first takes the place of the first.
    if sums.len() != old.len() {
        return;
    }
    let before: Vec<(u64, &str)> =
        hunk.before().chain(added.iter().copied()).map(|line| (line.number, line.text)).collect();
    for ((line, sum), old) in sums.into_iter().zip(old) {
        let above: Box<dyn Iterator<Item = (u64, &str)>> = if head.is_empty() {
            Box::new(before.iter().rev().copied().filter(|(number, _)| *number < line.number))
        } else {
            let at = (line.number as usize - 1).min(head.len());
            Box::new(head[..at].iter().enumerate().rev().map(|(index, text)| (index as u64 + 1, *text)))
        };
        if comparable(old, sum) && stays(format, above, new) {
            drafts.push(draft(CHANGED, packet, line, sum, OTHER).with("was", old));
        }
    }
}

/// Whether the entry that the lines above belong to, nearest first, has the name and the version it had.
fn stays<'t>(format: Format, above: impl Iterator<Item = (u64, &'t str)>, new: &BTreeSet<u64>) -> bool {
    let mut version = false;
    for (number, text) in above {
        let same = !new.contains(&number);
        if format.says_all(text) && same {
            return true;
        }
        if format.says_version(text) {
            if !same {
                return false;
            }
            version = true;
        }
        if format.begins(text) {
            return same && version;
        }
    }
    false
}

/// A checksum that goes while its entry stays.
fn removed(
    packet: &Packet<'_>,
    format: Format,
    hunk: &HunkView<'_>,
    new: &BTreeSet<u64>,
    drafts: &mut Vec<Draft>,
) {
    let gone: Vec<Line<'_>> = hunk.removed().collect();
    let only = !gone.is_empty()
        && gone.iter().all(|line| {
            format.sum(line.text).is_some() || format.says_all(line.text) && format != Format::Pnpm
        });
    let Some(first) = gone.iter().find(|line| format.sum(line.text).is_some()).filter(|_| only) else {
        return;
    };
    if hunk.added().any(|line| format.sum(line.text).is_some() || format.begins(line.text)) {
        return;
    }
    let above: Vec<(u64, &str)> = hunk.before().map(|line| (line.number, line.text)).collect();
    if stays(format, above.into_iter().rev(), new) {
        let sum = format.sum(first.text).expect("it was found by its checksum");
        let start = first.text.find(sum).unwrap_or(0);
        let summary = "a locked version loses its checksum";
        drafts.push(Draft::on_base_line(REMOVED, packet, first, start..start + sum.len(), summary));
    }
}

/// Lines that say alone what they are the checksum of.
fn keyed(packet: &Packet<'_>, format: Format, drafts: &mut Vec<Draft>) {
    let old: BTreeMap<&str, &str> = packet.removed().filter_map(|line| format.keyed(line.text)).collect();
    if old.is_empty() {
        return;
    }
    for line in packet.added() {
        let Some((name, sum)) = format.keyed(line.text) else { continue };
        if let Some(was) = old.get(name).filter(|was| comparable(was, sum)) {
            drafts.push(draft(CHANGED, packet, &line, sum, OTHER).with("was", *was).with("of", name));
        }
    }
}

/// Hosts that the file did not name before, unless all of it comes from there.
fn elsewhere(packet: &Packet<'_>, drafts: &mut Vec<Draft>) {
    let (Some(base), Some(head)) = (packet.text.full_base.as_deref(), packet.text.full_head.as_deref())
    else {
        return;
    };
    let lines = packet.added().filter_map(|line| Some((line, foreign_host(line.text)?)));
    for (line, host) in lines.filter(|(_, host)| !base.contains(&format!("//{host}"))) {
        let count = |wanted: &dyn Fn(&str) -> bool| head.lines().filter(|line| wanted(line)).count();
        let there = count(&|line| foreign_host(line) == Some(host));
        let hosts = ["\"resolved\":", "  resolved ", "  resolution:", "{ url = ", "tarball:", "source = "];
        let all = count(&|line| line.contains("://") && hosts.iter().any(|says| line.contains(says)));
        if there * 2 <= all {
            let summary = "a locked package comes from a host that the lock file did not name before";
            drafts.push(draft(ELSEWHERE, packet, &line, host, summary));
        }
    }
}
