//! Changes of what git knows about a file beside its text: executable bits, links, submodules, stand-ins, programs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::contract::{Draft, DraftExt, Fact, Inspection, Lens, LensSpec, Need, everywhere, presets, rule};
use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangeKind, ChangedFile, FileClass, LensClass, PresetStrengths, ScopeStrengths, Severity, Side, Strength,
};
use qa_core::packet::{Line, Packet};

const BIT_ADDED: &str = "permission-change/executable-data";
const SWAPPED: &str = "permission-change/file-type-swapped";
const BIT_REMOVED: &str = "permission-change/lost-executable-bit";
const LFS: &str = "permission-change/lfs-pointer-swapped";
const OUTSIDE: &str = "permission-change/link-leaves-repository";
const PROGRAM: &str = "permission-change/program-added";
const URL: &str = "permission-change/submodule-source-changed";
const UNLISTED: &str = "permission-change/submodule-unlisted";

const EXECUTABLE: &str = "100755";
const LINK: &str = "120000";
const SUBMODULE: &str = "160000";
const POINTER: &str = "version https://git-lfs.github.com/spec/";

const NOTICE: ScopeStrengths = ScopeStrengths { vendored: Strength::Off, ..everywhere(Strength::Advise) };
const SHIPPED: ScopeStrengths = ScopeStrengths { product: Strength::Block, ..NOTICE };
const ADVISED: PresetStrengths = presets(NOTICE, NOTICE);
const GUARDED: PresetStrengths = presets(NOTICE, SHIPPED);
const ALWAYS: PresetStrengths = presets(SHIPPED, SHIPPED);

static SPEC: LensSpec = LensSpec {
    id: "permission-change",
    version: "1",
    class: LensClass::Security,
    title: "Executable bits, links, submodules and stand-ins that change what a path is",
    required_by_default: true,
    triggers: &["**"],
    page: include_str!(concat!(env!("OUT_DIR"), "/permission-change.md")),
    rules: &[
        rule(
            BIT_ADDED,
            "A file that is no program becomes executable",
            Severity::Low,
            ADVISED,
            "Take the bit away with `git update-index --chmod=-x`.",
        ),
        rule(
            SWAPPED,
            "A file becomes a link or a submodule, or the reverse",
            Severity::Medium,
            GUARDED,
            "Keep what it was, or replace it in a change of its own that says why.",
        ),
        rule(
            LFS,
            "Git LFS pointer is replaced by content, or content by a pointer",
            Severity::Medium,
            GUARDED,
            "Add the file again with Git LFS installed, or change .gitattributes in the same change.",
        ),
        rule(
            OUTSIDE,
            "A link leads out of the repository",
            Severity::High,
            ALWAYS,
            "Link to a file of the repository by a relative path, or copy it.",
        ),
        rule(
            BIT_REMOVED,
            "A script is no longer executable",
            Severity::Medium,
            ADVISED,
            "Give the bit back with `git update-index --chmod=+x`.",
        ),
        rule(
            PROGRAM,
            "Compiled program is added",
            Severity::Medium,
            GUARDED,
            "Build it from source where it is used, or fetch it by its checksum.",
        ),
        rule(
            URL,
            "A submodule comes from another place than before",
            Severity::Medium,
            GUARDED,
            "Keep the place, or change it in a change of its own that an owner approves.",
        ),
        rule(
            UNLISTED,
            "A repository inside the repository is not listed in .gitmodules",
            Severity::Medium,
            GUARDED,
            "Add it with `git submodule add`, or add its files instead of its commit.",
        ),
    ],
};

/// A fact about one file. The findings of submodules and pointers depend on what other files say.
#[derive(Serialize, Deserialize)]
enum Found {
    SubmoduleAdded {
        path: String,
    },
    /// An entry of `.gitmodules` at head.
    SubmoduleListed {
        path: String,
    },
    PointerSwapped,
    /// A line of `.gitattributes` about Git LFS is added or removed.
    LfsAttributeChanged,
}

pub(crate) struct PermissionChange;

impl Lens for PermissionChange {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    /// Nearly every file changes nothing but its text, and costs no more than this.
    fn need(&self, file: &ChangedFile) -> Need {
        let bit = is_plain(file) && file.old_mode.is_some() && file.old_mode != file.new_mode;
        let name = file.path.file_name();
        if bit || name == b".gitmodules" || name == b".gitattributes" {
            Need::WholeFile
        } else if file.kind == ChangeKind::Added || !is_plain(file) || may_be_pointer(file) {
            Need::Hunks
        } else {
            Need::Nothing
        }
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let mut seen = Inspection::default();
        let file = packet.file;
        match file.path.file_name() {
            b".gitmodules" => submodules(packet, &mut seen),
            b".gitattributes" => attributes(packet, &mut seen),
            _ => {}
        }
        if file.kind == ChangeKind::Deleted {
            return seen;
        }
        seen.drafts.extend(swapped(packet));
        seen.drafts.extend(link(packet));
        seen.drafts.extend(bits(packet));
        seen.drafts.extend(program(packet));
        seen.facts.extend(pointer(packet));
        let is_new = file.old_mode.as_deref() != Some(SUBMODULE);
        if is_new && file.new_mode.as_deref() == Some(SUBMODULE) {
            let summary = "a repository inside the repository, whose place is not listed in .gitmodules";
            let draft = Draft::on_file(UNLISTED, packet.path(), Side::Head, summary);
            let path = packet.path().to_text().into_owned();
            seen.facts.push(Fact::new(&Found::SubmoduleAdded { path }, Some(draft)));
        }
        seen
    }

    fn conclude(&self, facts: &[Fact]) -> Vec<Draft> {
        let mut listed = BTreeSet::new();
        let mut submodules = Vec::new();
        let mut swaps = Vec::new();
        let mut is_lfs_changed = false;
        for fact in facts {
            match fact.read::<Found>() {
                Some(Found::SubmoduleAdded { path }) => submodules.push((path, &fact.draft)),
                Some(Found::SubmoduleListed { path }) => drop(listed.insert(path)),
                Some(Found::PointerSwapped) => swaps.push(&fact.draft),
                Some(Found::LfsAttributeChanged) => is_lfs_changed = true,
                None => {}
            }
        }
        submodules.retain(|(path, _)| !listed.contains(path));
        if is_lfs_changed {
            swaps.clear();
        }
        submodules.into_iter().map(|(_, draft)| draft).chain(swaps).filter_map(Clone::clone).collect()
    }
}

/// Returns whether each side that exists is a regular file.
fn is_plain(file: &ChangedFile) -> bool {
    [&file.old_mode, &file.new_mode].into_iter().flatten().all(|mode| mode.starts_with("100"))
}

/// Returns whether the first lines of a side changed and are as few as those of a Git LFS pointer.
fn may_be_pointer(file: &ChangedFile) -> bool {
    const LINES: u64 = 6;
    file.hunks.first().is_some_and(|hunk| {
        hunk.old_start <= 1 && (1..=LINES).contains(&hunk.old_lines)
            || hunk.new_start <= 1 && (1..=LINES).contains(&hunk.new_lines)
    })
}

/// Returns the word for what a mode makes of a file.
fn type_of(mode: &str) -> &'static str {
    match mode {
        LINK => "link",
        SUBMODULE => "submodule",
        _ => "file",
    }
}

fn swapped(packet: &Packet<'_>) -> Option<Draft> {
    let file = packet.file;
    let (old, new) = (type_of(file.old_mode.as_deref()?), type_of(file.new_mode.as_deref()?));
    (old != new).then(|| {
        let summary = format!("a {old} becomes a {new}");
        Draft::on_file(SWAPPED, packet.path(), Side::Head, summary).with("was", old).with("is", new)
    })
}

fn link(packet: &Packet<'_>) -> Option<Draft> {
    if packet.file.new_mode.as_deref() != Some(LINK) {
        return None;
    }
    let line = packet.added().next()?;
    let place = packet.path().to_text();
    leaves(&place, line.text).then(|| {
        let summary = "a link leads out of the repository";
        Draft::on_line(OUTSIDE, packet, &line, 0..line.text.len(), summary)
    })
}

/// Returns whether a link's target is outside the commit. `/dev/null` does not count: it is the usual way to mask a
/// file.
fn leaves(place: &str, target: &str) -> bool {
    if target == "/dev/null" {
        return false;
    }
    let drive = target.as_bytes().get(1) == Some(&b':') && target.as_bytes()[0].is_ascii_alphabetic();
    if target.starts_with(['/', '\\', '~']) || drive {
        return true;
    }
    let mut stack: Vec<&str> = place.split('/').collect();
    stack.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." if stack.pop().is_none() => return true,
            ".." => {}
            part => stack.push(part),
        }
    }
    stack.first().is_some_and(|first| first.eq_ignore_ascii_case(".git"))
}

fn bits(packet: &Packet<'_>) -> Option<Draft> {
    let file = packet.file;
    let new = file.new_mode.as_deref()?;
    if !is_plain(file) || file.old_mode.as_deref() == Some(new) {
        return None;
    }
    let first = first_line(packet);
    if new == EXECUTABLE {
        let named_as_data = is_data(&file.path, file.class) && !is_program(&file.path);
        return (named_as_data && !first.starts_with("#!") && !begins_program(first)).then(|| {
            let summary = "a file that is no program becomes executable";
            Draft::on_file(BIT_ADDED, packet.path(), Side::Head, summary)
        });
    }
    let script = file.old_mode.as_deref() == Some(EXECUTABLE) && first.starts_with("#!");
    script.then(|| {
        let summary = "a script is no longer executable";
        Draft::on_file(BIT_REMOVED, packet.path(), Side::Head, summary).with("interpreter", first)
    })
}

/// The first line at head, as far as the packet shows it.
fn first_line<'a>(packet: &Packet<'a>) -> &'a str {
    let shown = packet.added().next().filter(|line| line.number == 1).map(|line| line.text);
    let whole = packet.text.full_head.as_deref().and_then(|text| text.lines().next());
    shown.or(whole).unwrap_or("")
}

/// Returns whether a file's name shows that it is not executed directly.
fn is_data(path: &RepoPath, class: FileClass) -> bool {
    const COMPILED: &[&str] = &[
        "c", "h", "cc", "cpp", "hpp", "cs", "css", "scss", "go", "html", "java", "kt", "proto", "rs",
        "swift", "ts", "tsx", "jsx", "vue", "svelte", "sql", "svg", "scala", "dart", "zig", "csv", "tsv",
        "map",
    ];
    const NAMES: &[&[u8]] = &[b"LICENSE", b"README", b"CHANGELOG", b".gitignore", b".gitattributes"];
    let ending = ending(path);
    match class {
        FileClass::Docs => !ending.is_empty() || NAMES.contains(&path.file_name()),
        FileClass::Asset => !matches!(ending.as_str(), "bin" | "dat" | "class"),
        FileClass::Config => matches!(
            ending.as_str(),
            "json" | "yml" | "yaml" | "toml" | "ini" | "cfg" | "properties" | "xml" | "plist" | "lock"
        ),
        FileClass::Source | FileClass::Test | FileClass::Infra | FileClass::Unknown => {
            COMPILED.contains(&ending.as_str()) || NAMES.contains(&path.file_name())
        }
    }
}

fn ending(path: &RepoPath) -> String {
    let name = String::from_utf8_lossy(path.file_name()).to_lowercase();
    name.rsplit_once('.').map_or_else(String::new, |(_, ending)| ending.to_owned())
}

/// Returns whether a file's name is that of a compiled or packaged program.
fn is_program(path: &RepoPath) -> bool {
    const PROGRAMS: &[&str] = &[
        "exe", "dll", "so", "dylib", "a", "o", "lib", "class", "jar", "war", "pyc", "pyd", "wasm", "node",
        "msi", "com", "scr", "apk", "deb", "rpm", "ko",
    ];
    let name = String::from_utf8_lossy(path.file_name()).to_lowercase();
    PROGRAMS.contains(&ending(path).as_str()) || name.contains(".so.")
}

fn begins_program(first: &str) -> bool {
    first.starts_with("\u{7f}ELF") || first.starts_with("MZ\u{fffd}") || first.starts_with("!<arch>")
}

/// A compiled program is known by its name or, where the content is taken for text, by how it begins.
fn program(packet: &Packet<'_>) -> Option<Draft> {
    let file = packet.file;
    if file.kind != ChangeKind::Added || !is_plain(file) {
        return None;
    }
    let named = is_program(&file.path) && file.codes.contains(&Code::BinaryContent);
    if named {
        let summary = "a compiled program is added, which nobody can read";
        return Some(Draft::on_file(PROGRAM, packet.path(), Side::Head, summary));
    }
    let line = packet.added().next()?;
    (line.number == 1 && begins_program(line.text)).then(|| {
        let summary = "a compiled program is added under the name of a text";
        Draft::on_file(PROGRAM, packet.path(), Side::Head, summary)
    })
}

fn begins_pointer(line: &Line<'_>) -> bool {
    line.number == 1 && line.text.starts_with(POINTER)
}

/// A stand-in of Git LFS is a text of few lines; what takes its place is the content itself, or the reverse.
fn pointer(packet: &Packet<'_>) -> Option<Fact> {
    let file = packet.file;
    if file.old_mode.is_none() || !is_plain(file) {
        return None;
    }
    let was = packet.removed().next().as_ref().is_some_and(begins_pointer);
    let is = packet.added().next().as_ref().is_some_and(begins_pointer);
    let summary = match (was, is) {
        (true, false) => "the stand-in of a large file is replaced by other content",
        (false, true) => "content is replaced by the stand-in of a large file",
        (true, true) | (false, false) => return None,
    };
    let draft = Draft::on_file(LFS, packet.path(), Side::Head, summary);
    Some(Fact::new(&Found::PointerSwapped, Some(draft)))
}

/// Whoever begins or ends to keep large files elsewhere says so in the attributes.
fn attributes(packet: &Packet<'_>, seen: &mut Inspection) {
    if packet.added().chain(packet.removed()).any(|line| line.text.contains("filter=lfs")) {
        seen.facts.push(Fact::new(&Found::LfsAttributeChanged, None));
    }
}

/// The submodules of a list: name, path and URL, each with its line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Listed<'a> {
    name: &'a str,
    path: &'a str,
    url: &'a str,
    line: u64,
}

fn listed(text: &str) -> Vec<Listed<'_>> {
    let mut found: Vec<Listed<'_>> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("[submodule").and_then(|rest| rest.strip_suffix(']')) {
            found.push(Listed { name: name.trim().trim_matches('"'), ..Listed::default() });
        } else if let (Some(last), Some((key, value))) = (found.last_mut(), line.split_once('=')) {
            match key.trim() {
                "path" => last.path = value.trim(),
                "url" => (last.url, last.line) = (value.trim(), number),
                _ => {}
            }
        }
    }
    found
}

fn submodules(packet: &Packet<'_>, seen: &mut Inspection) {
    let before = listed(packet.text.full_base.as_deref().unwrap_or_default());
    for module in listed(packet.text.full_head.as_deref().unwrap_or_default()) {
        seen.facts.push(Fact::new(&Found::SubmoduleListed { path: module.path.to_owned() }, None));
        let old = before.iter().find(|old| old.name == module.name || old.path == module.path);
        let Some(old) = old.filter(|old| place(old.url) != place(module.url)) else { continue };
        if let Some(line) = packet.added().find(|line| line.number == module.line) {
            let lead = line.text.len() - line.text.trim_start().len();
            let span = lead..line.text.trim_end().len().max(lead);
            let summary = "a submodule comes from another place than before";
            seen.drafts.push(Draft::on_line(URL, packet, &line, span, summary).with("was", old.url));
        }
    }
}

/// Normalizes a repository URL to host and path, so that https, ssh and git URLs of one repository are equal.
fn place(url: &str) -> String {
    let url = url.trim_end_matches('/').trim_end_matches(".git");
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    rest.replacen(':', "/", 1).trim_start_matches("www.").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leaves_by_a_root_a_drive_or_one_step_too_many() {
        let cases = [
            ("a/b", "../c", false),
            ("a/b", "../../c", true),
            ("a", "/etc/passwd", true),
            ("a", "/dev/null", false),
            ("a", "C:/x", true),
            ("a/b", "../.git/config", true),
            ("a/b", "./c/../../d", false),
            ("a", "~/x", true),
        ];
        for (place, target, expected) in cases {
            assert_eq!(leaves(place, target), expected, "{place} -> {target}");
        }
    }

    #[test]
    fn a_place_is_the_same_by_every_protocol() {
        let same = ["https://github.com/A/b.git", "git@github.com:a/b", "git://github.com/a/b/"];
        for url in same {
            assert_eq!(place(url), "github.com/a/b");
        }
        assert_ne!(place("https://github.com/a/b"), place("https://github.com/c/b"));
    }
}
