//! Selects the commands of gates, and checks them against the policy's permissions.

use std::collections::BTreeSet;

use crate::ports::{BlobRead, Objects, PortError};
use qa_contracts::ids::{CommitId, RepoPath};
use qa_contracts::v1::{
    ChangeSet, CwdMode, ExecutionCommandSpec, GateName, RecordedExecution, RecordedManifest,
    RecordedObserver, Side,
};
use qa_core::gates::class;
use qa_core::permissions::Permission;
use qa_core::policy::{GatePolicy, Policy, deferred_name};
use qa_core::secrets;
use qa_gates::manifests::{ManifestUse, directory_of, manifest_use, upwards};
use qa_gates::selection::{SelectedCommand, Selection, select_commands, select_declared};

/// Size limit of manifests in bytes; the content of a larger one counts as unknown.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// Returns the commands that a gate runs for the change.
pub fn selected_commands(
    gate: GateName,
    policy: &Policy,
    change_set: &ChangeSet,
    recorded: &RecordedExecution,
) -> Selection {
    let Some(settings) = policy.gates.get(&gate).filter(|settings| settings.has_commands()) else {
        return Selection::default();
    };
    let tools: Vec<_> = settings.run.iter().filter_map(|id| qa_gates::find(id)).collect();
    let changed: BTreeSet<(Option<&str>, Option<&str>)> = changed(change_set).collect();
    let mut selection =
        select_commands(&tools, settings.run_base, &changed, &recorded.base_files, &recorded.head_files);
    let files = change_set.files.iter();
    let paths: BTreeSet<&RepoPath> =
        files.flat_map(|file| [Some(&file.path), file.old_path.as_ref()]).flatten().collect();
    let declared = select_declared(gate, &settings.commands, settings.run_base, &paths);
    selection.commands.extend(declared);
    selection
}

/// Returns whether the observer defers a gate's commands for this change: its own, or those of a gate whose tests it reads.
pub(crate) fn is_deferred(
    gate: GateName,
    observer: &RecordedObserver,
    policy: &Policy,
    change_set: &ChangeSet,
    recorded: &RecordedExecution,
) -> bool {
    let Some(settings) = policy.gates.get(&gate).filter(|_| waits(observer, gate)) else { return false };
    let read = settings.tests_of.iter().filter(|read| waits(observer, **read));
    std::iter::once(&gate)
        .chain(read)
        .any(|gate| !selected_commands(*gate, policy, change_set, recorded).commands.is_empty())
}

fn waits(observer: &RecordedObserver, gate: GateName) -> bool {
    observer.deferred.contains(&deferred_name(gate.as_str()))
}

/// Returns the names of the gates whose commands the observer defers for this change.
pub fn deferred_gates(
    observer: &RecordedObserver,
    policy: &Policy,
    change_set: &ChangeSet,
    recorded: &RecordedExecution,
) -> BTreeSet<String> {
    let gates =
        policy.gates.keys().filter(|gate| is_deferred(**gate, observer, policy, change_set, recorded));
    gates.map(|gate| deferred_name(gate.as_str())).collect()
}

/// Returns the directories of each file at the base and at head.
fn changed(change_set: &ChangeSet) -> impl Iterator<Item = (Option<&str>, Option<&str>)> {
    change_set.files.iter().map(|file| {
        let old = file.old_blob.is_some().then(|| file.old_path.as_ref().unwrap_or(&file.path));
        let new = file.new_blob.is_some().then_some(&file.path);
        (old.map(directory_of), new.map(directory_of))
    })
}

/// Returns the commands of a gate as its plan records them.
pub fn command_specs(gate: GateName, selection: &Selection) -> Vec<ExecutionCommandSpec> {
    (0..).zip(&selection.commands).map(|(ordinal, command)| command_spec(gate, ordinal, command)).collect()
}

fn command_spec(gate: GateName, ordinal: u64, command: &SelectedCommand) -> ExecutionCommandSpec {
    ExecutionCommandSpec {
        ordinal,
        command: command.template.argv.clone(),
        cwd_mode: CwdMode::EphemeralWorktree,
        purpose: match command.side {
            Side::Head => format!("{gate} of head with {}", command.name),
            Side::Base => format!("{gate} of the merge base, if head has faults"),
        },
        directory: command.template.directory.clone(),
        side: command.side,
    }
}

/// Returns the policy's permission for a gate's commands.
pub(crate) fn permission(gate: GateName, policy: &Policy, selection: &Selection) -> Permission {
    policy.execution.permission(gate.as_str(), class(gate), &command_specs(gate, selection))
}

/// Reads the manifests of a commit, which show the tools of its projects, in the directories of the change and above.
pub fn manifests(
    change_set: &ChangeSet,
    objects: &dyn Objects,
    commit: &CommitId,
) -> Result<Vec<RecordedManifest>, PortError> {
    let directories: BTreeSet<&str> =
        changed(change_set).flat_map(|(old, new)| [old, new]).flatten().flat_map(upwards).collect();
    let reader = objects.reader()?;
    let mut found = Vec::new();
    for directory in directories {
        for (name, id) in objects.files_in(commit, directory)? {
            let path = if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
            let Ok(path) = RepoPath::from_bytes(path.as_bytes()) else { continue };
            let text = match manifest_use(&name) {
                ManifestUse::None => continue,
                ManifestUse::ByName => None,
                ManifestUse::ByText => match reader.blob(&id, MAX_MANIFEST_BYTES)? {
                    BlobRead::Content(bytes) => String::from_utf8(bytes).ok().map(secrets::masked),
                    BlobRead::TooLarge { .. } => None,
                },
            };
            found.push(RecordedManifest { path, text });
        }
    }
    found.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(found)
}

/// Returns whether a gate runs tools itself.
pub fn has_commands(policy: &Policy) -> bool {
    policy.gates.values().any(GatePolicy::has_commands)
}
