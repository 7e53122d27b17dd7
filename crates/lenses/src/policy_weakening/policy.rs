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
    let [base, head] = [&packet.text.full_base, &packet.text.full_head]
        .map(|text| Policy::parse(text.as_deref(), &Overrides::default(), registry));
    let drafts = match (base, head) {
        // A base that cannot be read ends the run before any lens; here it says nothing about the change.
        (Err(_), _) => Vec::new(),
        (Ok(_), Err(error)) => unreadable(packet, &error).into_iter().collect(),
        (Ok(base), Ok(head)) => report(packet, weakened(&base, &head)),
    };
    Inspection { drafts, facts: Vec::new() }
}

/// Reports waivers that could be read at the base, or were not there, and cannot be read at head.
pub(super) fn inspect_waivers(packet: &Packet<'_>, registry: &Registry) -> Option<Draft> {
    let head = packet.text.full_head.as_deref()?;
    let error = parse_waivers(head, registry).err()?;
    if let Some(base) = packet.text.full_base.as_deref() {
        parse_waivers(base, registry).ok()?;
    }
    unreadable(packet, &PolicyError::Text(error))
}

/// Reports a link, a submodule or a directory in the place of a file of the gate, and a file in the place of its folder.
pub(super) fn inspect_place(packet: &Packet<'_>) -> Option<Draft> {
    let path = packet.path().as_bytes();
    let mode = packet.file.new_mode.as_deref()?;
    let is_file = matches!(mode, "100644" | "100755");
    let is_own_taken = [POLICY_PATH, WAIVERS_PATH].into_iter().any(|own| {
        let below = path.strip_prefix(own.as_bytes());
        below.is_some_and(|below| below.starts_with(b"/") || below.is_empty() && !is_file)
    });
    if path != b".qa-skill" && !is_own_taken {
        return None;
    }
    let summary =
        "configuration of the gate would be unreadable, so no change would get a verdict after a merge";
    Some(Draft::on_file(POLICY_UNREADABLE, packet.path(), Side::Head, summary))
}

/// Makes a draft on the line that names the rubric at head, or the first that is added.
pub(super) fn rubric_line(packet: &Packet<'_>) -> Option<Draft> {
    let line = packet.added().find(|line| line.text.contains("rubric"));
    let line = line.or_else(|| packet.added().next())?;
    Some(Draft::on_line(RUBRIC_CHANGED, packet, &line, whole(line.text), ""))
}

/// After a merge nobody would get a verdict any more, because a policy that cannot be read is an error.
fn unreadable(packet: &Packet<'_>, error: &PolicyError) -> Option<Draft> {
    let stated = match error {
        PolicyError::Text(error) => Some(error.line as u64),
        PolicyError::Glob { place, .. } => place.map(|place| place.line as u64),
    };
    let line = packet.added().find(|line| Some(line.number) == stated).or_else(|| packet.added().next());
    let summary = "file cannot be parsed, so no change would get a verdict after a merge";
    let draft = match line {
        Some(line) => Draft::on_line(POLICY_UNREADABLE, packet, &line, whole(line.text), summary),
        None => {
            let line = packet.removed().next()?;
            Draft::on_base_line(POLICY_UNREADABLE, packet, &line, whole(line.text), summary)
        }
    };
    Some(draft.with("error", error.to_string()))
}

/// Reports one finding per line, with all weakened settings that the line stands for.
fn report(packet: &Packet<'_>, settings: Vec<WeakenedSetting>) -> Vec<Draft> {
    let mut on_head: BTreeMap<u64, Weakened<'_>> = BTreeMap::new();
    let mut on_base: BTreeMap<u64, Weakened<'_>> = BTreeMap::new();
    for setting in settings {
        let (lines, line) = if let Some(line) = anchor(packet.added().collect(), &setting) {
            (&mut on_head, line)
        } else if let Some(line) = anchor(packet.removed().collect(), &setting) {
            (&mut on_base, line)
        } else {
            continue;
        };
        let weakened = lines.entry(line.number).or_insert(Weakened { line, settings: Vec::new() });
        weakened.settings.push(setting);
    }
    let on_head = on_head.values().map(|Weakened { line, settings }| {
        Draft::on_line(POLICY_WEAKENED, packet, line, whole(line.text), summary(settings))
            .with("weakened", to_json(settings))
    });
    let on_base = on_base.values().map(|Weakened { line, settings }| {
        Draft::on_base_line(POLICY_WEAKENED, packet, line, whole(line.text), summary(settings))
            .with("weakened", to_json(settings))
    });
    on_head.chain(on_base).collect()
}

/// Weakened settings of one line.
struct Weakened<'a> {
    line: Line<'a>,
    settings: Vec<WeakenedSetting>,
}

fn summary(settings: &[WeakenedSetting]) -> String {
    match settings {
        [one] => format!("{} is weakened: {} instead of {}", one.name, one.head, one.base),
        many => match many.iter().find(|one| one.name == "preset") {
            Some(preset) => format!(
                "preset is weakened from {} to {}, and {} settings with it",
                preset.base,
                preset.head,
                many.len() - 1
            ),
            None => format!("{} settings are weakened", many.len()),
        },
    }
}

fn to_json(settings: &[WeakenedSetting]) -> serde_json::Value {
    serde_json::to_value(settings).expect("settings are made of strings")
}

/// Returns the line that names the setting most closely: its last word, then the rule or lens it is about, then the
/// preset, then the first line there is.
fn anchor<'a>(lines: Vec<Line<'a>>, setting: &WeakenedSetting) -> Option<Line<'a>> {
    let leaf = setting.name.rsplit('.').next().unwrap_or("");
    let about = setting.name.split('.').nth(1).unwrap_or("");
    let mention = lines.iter().find(|line| !about.is_empty() && line.text.contains(about));
    let strength = line_of_key(&lines, "strength");
    let own_strength = strength.filter(|_| mention.is_some() && setting.name.starts_with("rules."));
    line_of_key(&lines, leaf)
        .or(own_strength)
        .or(mention)
        .or_else(|| line_of_key(&lines, "preset"))
        .or(strength)
        .or(lines.first())
        .copied()
}

fn line_of_key<'l, 'a>(lines: &'l [Line<'a>], key: &str) -> Option<&'l Line<'a>> {
    lines.iter().find(|line| line.text.trim_start().trim_start_matches('"').starts_with(key))
}
