//! Compares the committed policy of both sides as policies and not as text.

use std::collections::BTreeMap;

use super::{POLICY_UNREADABLE, POLICY_WEAKENED, RUBRIC_CHANGED, whole};
use crate::contract::{Draft, DraftExt, Inspection};
use qa_contracts::v1::{Registry, Side, WeakenedSetting};
use qa_core::packet::{Line, Packet};
use qa_core::policy::file::parse_waivers;
use qa_core::policy::weakening::weakened;
use qa_core::policy::{Overrides, POLICY_PATH, Policy, PolicyError, WAIVERS_PATH};

/// Returns whether this is the policy, which is compared as a whole.
pub(super) fn is_policy(path: &[u8]) -> bool {
    path == POLICY_PATH.as_bytes()
}

pub(super) fn inspect(packet: &Packet<'_>, registry: &Registry) -> Inspection {
    if !is_policy(packet.path().as_bytes()) {
        return Inspection::default();
    }
    let read = |text: Option<&str>| Policy::parse(text, &Overrides::default(), registry);
    let drafts = match (read(packet.text.full_base.as_deref()), read(packet.text.full_head.as_deref())) {
        // A base that cannot be read ends the run before any lens; here it says nothing about the change.
        (Err(_), _) => Vec::new(),
        (Ok(_), Err(error)) => unreadable(packet, &error).into_iter().collect(),
        (Ok(base), Ok(head)) => report(packet, weakened(&base, &head)),
    };
    Inspection { drafts, facts: Vec::new() }
}

/// Reports waivers that could be read at the base, or were not there, and cannot be read at head.
pub(super) fn inspect_waivers(packet: &Packet<'_>, registry: &Registry) -> Option<Draft> {
    let is_readable = |text: Option<&str>| text.is_none_or(|text| parse_waivers(text, registry).is_ok());
    let head = packet.text.full_head.as_deref()?;
    let error = parse_waivers(head, registry).err()?;
    let draft = unreadable(packet, &PolicyError::Text(error))?;
    is_readable(packet.text.full_base.as_deref()).then_some(draft)
}

/// Reports a link, a submodule or a directory in the place of a file of the gate, and a file in the place of its folder.
pub(super) fn inspect_place(packet: &Packet<'_>) -> Option<Draft> {
    let path = packet.path().as_bytes();
    let mode = packet.file.new_mode.as_deref()?;
    let is_file = matches!(mode, "100644" | "100755");
    let is_taken = |own: &str| {
        let below = path.strip_prefix(own.as_bytes())?;
        Some(below.starts_with(b"/") || below.is_empty() && !is_file)
    };
    let is_own_taken = [POLICY_PATH, WAIVERS_PATH].into_iter().any(|own| is_taken(own) == Some(true));
    if path != b".qa-skill" && !is_own_taken {
        return None;
    }
    let summary =
        "the gate's own files could not be read after a merge, and no later change would get a verdict";
    Some(Draft::on_file(POLICY_UNREADABLE, packet.path(), Side::Head, summary))
}

/// Makes a draft on the line that names the rubric at head, or the first that is added.
pub(super) fn rubric_line(packet: &Packet<'_>) -> Option<Draft> {
    let names = |line: &Line<'_>| line.text.contains("rubric");
    let line = packet.added().find(names).or_else(|| packet.added().next())?;
    Some(Draft::on_line(RUBRIC_CHANGED, packet, &line, whole(line.text), ""))
}

/// After a merge nobody would get a verdict any more, because a policy that cannot be read is an error.
fn unreadable(packet: &Packet<'_>, error: &PolicyError) -> Option<Draft> {
    let stated = match error {
        PolicyError::Text(error) => Some(error.line as u64),
        PolicyError::Glob(_) => None,
    };
    let line = packet.added().find(|line| Some(line.number) == stated).or_else(|| packet.added().next());
    let summary = "the file could not be read after a merge, and no later change would get a verdict";
    let draft = match line {
        Some(line) => Draft::on_line(POLICY_UNREADABLE, packet, &line, whole(line.text), summary),
        None => {
            let line = packet.removed().next()?;
            Draft::on_base_line(POLICY_UNREADABLE, packet, &line, whole(line.text), summary)
        }
    };
    Some(draft.with("error", error.to_string()))
}

/// One finding per line, with all settings that stand or fall with it.
fn report(packet: &Packet<'_>, settings: Vec<WeakenedSetting>) -> Vec<Draft> {
    let mut by_line: BTreeMap<(bool, u64), (Line<'_>, Vec<WeakenedSetting>)> = BTreeMap::new();
    for setting in settings {
        let added = anchor(packet.added().collect(), &setting);
        let removed = || anchor(packet.removed().collect(), &setting);
        let Some((on_base, line)) =
            added.map(|line| (false, line)).or_else(|| removed().map(|line| (true, line)))
        else {
            continue;
        };
        by_line.entry((on_base, line.number)).or_insert((line, Vec::new())).1.push(setting);
    }
    by_line
        .into_iter()
        .map(|((on_base, _), (line, settings))| {
            let summary = match settings.as_slice() {
                [one] => format!("{} becomes less strict: {} instead of {}", one.name, one.head, one.base),
                many => format!("{} settings become less strict", many.len()),
            };
            let span = whole(line.text);
            let draft = if on_base {
                Draft::on_base_line(POLICY_WEAKENED, packet, &line, span, summary)
            } else {
                Draft::on_line(POLICY_WEAKENED, packet, &line, span, summary)
            };
            let settings = serde_json::to_value(&settings).expect("settings are made of strings");
            draft.with("weakened", settings)
        })
        .collect()
}

/// The line that names the setting most closely: its last word, then the rule or lens it is about, then the preset,
/// then the first line there is.
fn anchor<'a>(lines: Vec<Line<'a>>, setting: &WeakenedSetting) -> Option<Line<'a>> {
    let leaf = setting.name.rsplit('.').next().unwrap_or("");
    let about = setting.name.split('.').nth(1).unwrap_or("");
    let key = |word: &str| {
        lines.iter().find(|line| line.text.trim_start().trim_start_matches('"').starts_with(word)).copied()
    };
    let mention =
        |word: &str| lines.iter().find(|line| !word.is_empty() && line.text.contains(word)).copied();
    let strength =
        || setting.name.starts_with("rules.").then(|| mention(about).and_then(|_| key("strength"))).flatten();
    key(leaf)
        .or_else(strength)
        .or_else(|| mention(about))
        .or_else(|| key("preset"))
        .or_else(|| key("strength"))
        .or_else(|| lines.first().copied())
}
