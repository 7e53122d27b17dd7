//! Runs the pages in `tests/corpus/lenses`: each is the documentation of a lens and its cases at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::ALL;
use super::contract::{Draft, Lens, Lookups, Need};
use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangeKind, ChangedFile, FileText, MentionKind, ModuleOutline, ModuleSurface, PlacedImport, PlacedUse,
    RecordedMentions, Side,
};
use qa_core::classify::{self, ScopeGlobs};
use qa_core::diff::{Content, content, diff_file};
use qa_core::packet::Packet;
use qa_core::plan::is_triggered;
use qa_core::policy::{Overrides, Policy};
use qa_core::{masking, secrets};
use qa_reading::{callers, outlines};

/// The two versions of a case's files.
#[derive(Debug, Default, Clone)]
pub(crate) struct Case {
    pub(crate) title: String,
    pub(crate) rule: String,
    pub(crate) files: Vec<CaseFile>,
    pub(crate) policy: Option<String>,
    /// Lines `path:line rule`, with ` base` behind those of the base.
    pub(crate) expect: Vec<String>,
}

impl Case {
    /// Returns the file of a path, which may be new.
    fn file(&mut self, path: &str) -> &mut CaseFile {
        let known = self.files.iter().position(|file| {
            [&file.old, &file.new].into_iter().flatten().any(|version| version.path == path)
        });
        let at = known.unwrap_or(self.files.len());
        if known.is_none() {
            self.files.push(CaseFile::default());
        }
        &mut self.files[at]
    }
}

/// File of a case, at base and at head.
#[derive(Debug, Default, Clone)]
pub(crate) struct CaseFile {
    pub(crate) old: Option<CaseVersion>,
    pub(crate) new: Option<CaseVersion>,
    /// The git modes, where a case gives them.
    pub(crate) modes: Option<Modes>,
}

/// A file at base or at head of a case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CaseVersion {
    pub(crate) path: String,
    pub(crate) text: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Modes {
    pub(crate) old: String,
    pub(crate) new: String,
}

impl CaseVersion {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    fn repo_path(&self) -> RepoPath {
        RepoPath::from_bytes(self.path.as_bytes()).expect("a usable path")
    }

    /// Returns the text as git would have it; empty where it is binary.
    fn content(&self, mode: &str) -> String {
        match content(self.text.as_bytes(), classify::runs_as(&self.repo_path(), Some(mode))) {
            Content::Text(text) => String::from_utf8_lossy(&text).into_owned(),
            Content::Binary => String::new(),
        }
    }
}

impl CaseFile {
    /// Returns a file that stays at its path.
    pub(crate) fn edited(path: &str, old: &str, new: &str) -> Self {
        let [old, new] = [old, new].map(|text| Some(CaseVersion::new(path, text)));
        Self { old, new, modes: None }
    }
}

#[derive(Debug, Default)]
struct Section {
    rule: String,
    prose: String,
    cases_elsewhere: bool,
}

#[derive(Default)]
pub(crate) struct Page {
    /// The name of its file.
    pub(crate) name: String,
    title: String,
    sections: Vec<Section>,
    pub(crate) cases: Vec<Case>,
}

/// Returns where the pages are.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/lenses")
}

pub(crate) fn pages() -> Vec<Page> {
    let mut pages: Vec<Page> = Vec::from_iter(std::fs::read_dir(folder()).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        Page { name, ..parse_page(&std::fs::read_to_string(&path).unwrap()) }
    }));
    pages.sort_by(|left, right| left.name.cmp(&right.name));
    pages
}

/// Returns the cases of a lens's page.
pub(crate) fn cases_of(lens: &dyn Lens) -> Vec<Case> {
    let path = folder().join(format!("{}.md", lens.spec().id));
    parse_page(&std::fs::read_to_string(path).unwrap()).cases
}

/// Undoes what keeps a page from being taken for the real thing by scanners and by git.
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let end = rest[start..].find("}}").map(|length| start + length + 2).unwrap_or(rest.len());
        out.push_str(&rest[..start]);
        let inside = rest[start..end].trim_start_matches("{{").trim_end_matches("}}");
        if let Some(hex) = inside.strip_prefix("u:") {
            out.push(u32::from_str_radix(hex, 16).ok().and_then(char::from_u32).expect("a code point"));
        } else if inside != "+" {
            out.push_str(&rest[start..end]);
        }
        rest = &rest[end..];
    }
    out + rest
}

fn parse_page(text: &str) -> Page {
    let mut page = Page::default();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix("# ") {
            page.title = title.to_owned();
        } else if let Some(rule) = line.strip_prefix("## ") {
            page.sections.push(Section { rule: rule.trim().to_owned(), ..Section::default() });
        } else if let Some(title) = line.strip_prefix("### ") {
            let rule = page.sections.last().expect("a case stands below a rule").rule.clone();
            page.cases.push(Case { title: title.to_owned(), rule, ..Case::default() });
        } else if let Some(opening) = line.strip_prefix("~~~") {
            let block: String =
                lines.by_ref().take_while(|line| *line != "~~~").map(|line| format!("{line}\n")).collect();
            let case = page.cases.last_mut().expect("a block stands in a case");
            let is_cut = block.lines().any(|line| {
                let begins = ["~~~", "### hit: ", "### near miss: ", "### outside the diff: "];
                begins.iter().any(|begin| line.starts_with(begin))
            });
            assert!(!is_cut, "a block without its end in {}: {}", case.rule, case.title);
            read_block(case, opening, &unescape(&block));
        } else if line == "(cases: elsewhere)" {
            page.sections.last_mut().expect("below a rule").cases_elsewhere = true;
        } else if let Some(section) = page.sections.last_mut() {
            section.prose.push_str(line);
        }
    }
    page
}

fn read_block(case: &mut Case, opening: &str, block: &str) {
    let (word, argument) = opening.split_once(' ').unwrap_or((opening, ""));
    let argument = unescape(argument);
    match word {
        "base" => case.file(&argument).old = Some(CaseVersion::new(&argument, block)),
        "head" => case.file(&argument).new = Some(CaseVersion::new(&argument, block)),
        "rename" => {
            let (old, new) = argument.split_once(" -> ").expect("~~~rename OLD -> NEW");
            let [old, new] = [old, new].map(|path| Some(CaseVersion::new(path, block)));
            case.files.push(CaseFile { old, new, modes: None });
        }
        "mode" => {
            let (path, modes) = argument.split_once(' ').expect("~~~mode PATH OLD -> NEW");
            let (old, new) = modes.split_once(" -> ").expect("~~~mode PATH OLD -> NEW");
            case.file(path).modes = Some(Modes { old: old.to_owned(), new: new.to_owned() });
        }
        "policy" => case.policy = Some(block.to_owned()),
        "expect" => case.expect.extend(block.lines().map(str::to_owned)),
        other => panic!("unknown block {other:?}"),
    }
}

/// Returns a case's file as the change set and the recording would hold it.
pub(crate) fn changed_file(file: &CaseFile) -> (ChangedFile, FileText) {
    let [old_path, new_path] = [&file.old, &file.new].map(|side| side.as_ref().map(CaseVersion::repo_path));
    let modes = file.modes.clone();
    let Modes { old: old_mode, new: new_mode } =
        modes.unwrap_or_else(|| Modes { old: "100644".to_owned(), new: "100644".to_owned() });
    let kind = match (&old_path, &new_path) {
        (None, _) => ChangeKind::Added,
        (_, None) => ChangeKind::Deleted,
        (old, new) if old != new => ChangeKind::Renamed,
        _ if old_mode.starts_with("100") != new_mode.starts_with("100") => ChangeKind::TypeChanged,
        _ if old_mode != new_mode && file.old == file.new => ChangeKind::ModeChanged,
        _ => ChangeKind::Modified,
    };
    let name = new_path.clone().or(old_path.clone()).expect("a file has a side");
    let class = classify::class(&name);
    let [old, new] = [(&file.old, &old_mode), (&file.new, &new_mode)]
        .map(|(side, mode)| side.as_ref().map(|version| version.content(mode)));
    let binary = [(&file.old, &old), (&file.new, &new)].into_iter().any(|(side, content)| {
        content.as_ref().is_some_and(String::is_empty)
            && side.as_ref().is_some_and(|version| !version.text.is_empty())
    });
    let [old_bytes, new_bytes] = [&old, &new].map(|side| side.as_deref().unwrap_or_default().as_bytes());
    let diff = diff_file(old_bytes, new_bytes, 1 << 20);
    let mut text = diff.text;
    (text.full_base, text.full_head) = (old, new);
    masking::mask_secrets(&mut text, &[], |_| {});
    let masked = masking::masked_name(&name);
    let holds_secret = masked.is_some();
    let changed = ChangedFile {
        old_path: old_path.clone().filter(|old| *old != name),
        old_mode: old_path.is_some().then_some(old_mode),
        new_mode: new_path.is_some().then_some(new_mode),
        old_blob: None,
        new_blob: None,
        scope: ScopeGlobs::new(|_| &[]).unwrap().scope(&name, class),
        scope_reason: qa_contracts::v1::ScopeReason::Name,
        language: classify::language(&name).map(str::to_owned),
        path: masked.unwrap_or(name),
        kind,
        class,
        text: !binary || !diff.hunks.is_empty(),
        hunks: diff.hunks,
        codes: [(binary, Code::BinaryContent), (holds_secret, Code::SecretInName)]
            .into_iter()
            .filter_map(|(holds, code)| holds.then_some(code))
            .collect(),
    };
    (changed, text)
}

/// Runs one lens over files, giving each file what the lens said it needs and no more.
pub(crate) fn run_lens(lens: &dyn Lens, files: &[(ChangedFile, FileText)]) -> Vec<Draft> {
    run_lens_under(lens, files, &policy(None))
}

/// Returns the policy of a case; the default one where it has none.
pub(crate) fn policy(text: Option<&str>) -> Policy {
    Policy::parse(text, &Overrides::default(), &super::registry()).expect("a policy that can be read")
}

pub(crate) fn run_lens_under(
    lens: &dyn Lens,
    files: &[(ChangedFile, FileText)],
    policy: &Policy,
) -> Vec<Draft> {
    let triggers = lens.spec().triggers;
    let globs = classify::PathSet::new(triggers.iter().copied()).unwrap();
    let mut facts = Vec::new();
    let mut drafts = Vec::new();
    for (file, text) in files {
        // A file that both trees have alike is there to be looked up.
        let is_same = file.text && text.full_base == text.full_head && file.old_path.is_none();
        if is_same && file.kind == ChangeKind::Modified {
            continue;
        }
        if !is_triggered(&globs, file) {
            continue;
        }
        let mut text = text.clone();
        let need = match lens.need(file) {
            Need::WholeFile if !lens.wants_whole_file(file, &text) => Need::Hunks,
            need @ (Need::Nothing | Need::Hunks | Need::WholeFile) => need,
        };
        if need != Need::WholeFile {
            (text.full_base, text.full_head) = (None, None);
        }
        let included = vec![need != Need::Nothing; file.hunks.len()];
        let seen = lens.inspect(&Packet { file, text: &text, included: &included });
        drafts.extend(seen.drafts);
        facts.extend(seen.facts);
    }
    drafts.extend(lens.conclude(&facts));
    drafts.extend(lens.look_up(&facts, policy, &CaseTrees(files)));
    drafts
}

/// The two trees of a case.
struct CaseTrees<'a>(&'a [(ChangedFile, FileText)]);

impl CaseTrees<'_> {
    /// Regular files with their texts.
    fn files(&self, side: Side) -> Vec<(String, &str)> {
        let is_link = |(file, _): &&(ChangedFile, FileText)| {
            let mode = match side {
                Side::Base => &file.old_mode,
                Side::Head => &file.new_mode,
            };
            mode.as_deref() == Some("120000")
        };
        Self::entries(self.0.iter().filter(|file| !is_link(file)), side)
    }

    fn entries<'f>(
        files: impl Iterator<Item = &'f (ChangedFile, FileText)>,
        side: Side,
    ) -> Vec<(String, &'f str)> {
        let versions = files.map(|(file, text)| match side {
            Side::Base => (file.old_path.as_ref().unwrap_or(&file.path), text.full_base.as_deref()),
            Side::Head => (&file.path, text.full_head.as_deref()),
        });
        versions.filter_map(|(path, text)| Some((path.to_text().into_owned(), text?))).collect()
    }

    fn masked(&self, side: Side, path: &str) -> Option<String> {
        let found = self.files(side).into_iter().find(|(file, _)| file == path);
        found.map(|(_, text)| secrets::masked(text.to_owned()))
    }
}

impl Lookups for CaseTrees<'_> {
    fn is_present(&self, side: Side, path: &str) -> bool {
        let all = Self::entries(self.0.iter(), side);
        all.iter().any(|(file, _)| file == path || file.starts_with(&format!("{path}/")))
    }

    fn files_in(&self, side: Side, directory: &str) -> Vec<String> {
        let mut names = Vec::new();
        for (path, _) in self.files(side) {
            let (own, name) = path.rsplit_once('/').unwrap_or(("", &path));
            if own == directory {
                names.push(name.to_owned());
            }
        }
        names
    }

    fn outline(&self, side: Side, path: &str) -> Option<Arc<ModuleOutline>> {
        self.masked(side, path).map(|text| Arc::new(outlines::outline(path, &text)))
    }

    fn imports(&self, side: Side, path: &str) -> Option<Arc<[PlacedImport]>> {
        self.masked(side, path).map(|text| outlines::imports(path, &text).into())
    }

    fn surface(&self, side: Side, path: &str) -> Option<Arc<ModuleSurface>> {
        self.masked(side, path).map(|text| Arc::new(callers::surface(path, &text)))
    }

    fn uses(&self, side: Side, path: &str, words: &[String]) -> Option<Arc<[PlacedUse]>> {
        self.masked(side, path).map(|text| callers::uses(path, &text, words).into())
    }

    fn text(&self, side: Side, path: &str) -> Option<Arc<str>> {
        self.masked(side, path).map(Arc::from)
    }

    fn mentions(&self, side: Side, kind: MentionKind, words: &[String]) -> RecordedMentions {
        use crate::mentions::{has_word, is_of};
        let files = self
            .files(side)
            .into_iter()
            .filter(|(path, text)| is_of(kind, path) && words.iter().any(|word| has_word(kind, text, word)));
        let paths = files.map(|(path, _)| path).collect();
        RecordedMentions { side, kind, words: words.to_vec(), paths, complete: true }
    }

    fn stop_short(&self) {}
}

fn rendered(draft: &Draft) -> String {
    let side = if draft.side == Side::Base { " base" } else { "" };
    format!("{}:{} {}{side}", draft.file.to_text(), draft.start_line, draft.rule)
}

/// Holds every draft to what the evidence check will ask of it.
fn verify_quote(case: &Case, draft: &Draft) {
    if draft.quote.is_empty() {
        return;
    }
    let mut versions = case
        .files
        .iter()
        .filter_map(|file| if draft.side == Side::Base { file.old.as_ref() } else { file.new.as_ref() });
    let version = versions
        .find(|version| version.path.as_bytes() == draft.file.as_bytes())
        .unwrap_or_else(|| panic!("{}: {} names no file of its side", case.title, rendered(draft)));
    let raw = version.text.split_inclusive('\n').nth(draft.start_line as usize - 1).unwrap_or("");
    let line = qa_core::packet::trim_line_end(raw);
    let (from, to) = (draft.start_column.max(1) as usize - 1, draft.end_column as usize);
    let found: String = match to {
        0 => line.to_owned(),
        _ => line.chars().take(to - 1).skip(from).collect(),
    };
    let verbatim = found.chars().count() == draft.quote.chars().count()
        && qa_core::crosscheck::stands_in(&draft.quote, &found);
    assert!(verbatim, "{}: {} quotes {:?}, there is {found:?}", case.title, rendered(draft), draft.quote);
}

#[test]
fn every_case_of_every_page_gives_exactly_the_findings_it_states() {
    let mut wrong = Vec::new();
    for page in pages() {
        for mut case in page.cases {
            case.files.sort_by_key(|file| file.new.clone().or(file.old.clone()).map(|version| version.path));
            let files: Vec<_> = case.files.iter().map(changed_file).collect();
            let policy = policy(case.policy.as_deref());
            let mut found = Vec::new();
            // Workflows in the cases of other pages are short and break these conventions.
            let all = ALL.iter().map(|lens| (lens, lens.spec().id));
            let asked = all.filter(|(_, id)| *id != "workflow-conventions" || page.name == *id);
            for (lens, _) in asked {
                for draft in run_lens_under(*lens, &files, &policy) {
                    let rules = lens.spec().rules;
                    assert!(rules.iter().any(|rule| rule.id == draft.rule), "{} is not declared", draft.rule);
                    verify_quote(&case, &draft);
                    found.push(rendered(&draft));
                }
            }
            found.sort();
            let mut expected = case.expect.clone();
            expected.sort();
            if found != expected {
                wrong.push(format!(
                    "{}.md, {} / {}:\n  found {found:#?}\n  expected {expected:#?}",
                    page.name, case.rule, case.title
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_lens_wants_a_whole_file_that_its_triggers_do_not_match() {
    for lens in ALL {
        let triggers = classify::PathSet::new(lens.spec().triggers.iter().copied()).unwrap();
        let files = pages().into_iter().flat_map(|page| page.cases).flat_map(|case| case.files);
        for (file, text) in files.map(|file| changed_file(&file)) {
            let outside = !is_triggered(&triggers, &file);
            let wants = lens.need(&file) == Need::WholeFile && lens.wants_whole_file(&file, &text);
            assert!(!(outside && wants), "{} wants the whole of {}", lens.spec().id, file.path);
        }
    }
}

#[test]
fn every_lens_has_a_page_and_every_page_a_lens() {
    let ids: Vec<&str> = ALL.iter().map(|lens| lens.spec().id).collect();
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(ids, sorted, "the registry is sorted by id");
    let pages = pages();
    assert_eq!(ids, pages.iter().map(|page| page.name.as_str()).collect::<Vec<_>>());
    for page in &pages {
        assert_eq!(page.title, page.name);
        let module = page.name.replace('-', "_");
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
        let exists =
            folder.join(format!("{module}.rs")).exists() || folder.join(&module).join("mod.rs").exists();
        assert!(exists, "{} stands in a file of its name", page.name);
    }
}

#[test]
fn every_rule_has_a_section_with_prose_and_each_kind_of_case() {
    let pages: BTreeMap<String, Page> = pages().into_iter().map(|page| (page.name.clone(), page)).collect();
    for lens in ALL {
        let spec = lens.spec();
        let page = &pages[spec.id];
        let rules: Vec<&str> = spec.rules.iter().map(|rule| rule.id).collect();
        let mut sorted = rules.clone();
        sorted.sort_unstable();
        assert_eq!(rules, sorted, "the rules are sorted by id");
        let sections: BTreeSet<&str> = page.sections.iter().map(|section| section.rule.as_str()).collect();
        assert_eq!(sections, rules.iter().copied().collect(), "{} has one section per rule", spec.id);
        for section in &page.sections {
            assert!(section.rule.starts_with(&format!("{}/", spec.id)));
            assert!(section.prose.len() > 400, "{} is explained", section.rule);
            assert!(section.prose.contains("waiver"), "{} says how to waive", section.rule);
            for kind in ["hit: ", "near miss: ", "outside the diff: "] {
                let shown =
                    page.cases.iter().any(|case| case.rule == section.rule && case.title.starts_with(kind));
                assert!(shown || section.cases_elsewhere, "{} shows a {kind}", section.rule);
            }
            for case in page.cases.iter().filter(|case| case.rule == section.rule) {
                let hits = case.expect.iter().any(|line| line.contains(&section.rule));
                assert_eq!(hits, case.title.starts_with("hit: "), "{}: {}", section.rule, case.title);
            }
        }
    }
}

#[test]
fn the_sample_of_contributing_compiles_and_does_what_its_page_says() {
    let guide = super::sample::MachinePath.spec().page;
    let [code, page] = ["rust", "markdown"].map(|language| {
        let (_, rest) = guide.split_once(&format!("```{language}\n")).unwrap();
        rest.split_once("\n```").unwrap().0.to_owned() + "\n"
    });
    let sample = include_str!("sample.rs");
    let page_of_lens = "concat!(env!(\"OUT_DIR\"), \"/machine-path.md\")";
    assert_eq!(code.replace(page_of_lens, "\"../../../CONTRIBUTING.md\""), sample);
    let cases = parse_page(&page).cases;
    assert_eq!(cases.len(), 3);
    for case in cases {
        let files: Vec<_> = case.files.iter().map(changed_file).collect();
        let found: Vec<String> = run_lens(&super::sample::MachinePath, &files).iter().map(rendered).collect();
        assert_eq!(found, case.expect, "{}", case.title);
    }
}
