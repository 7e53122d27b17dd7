//! The pull request as a recorded setting, and its refs.

use qa_contracts::v1::SettingOrigin;

const NAME: &str = "pull-request";

/// Returns the setting that a run records.
pub(crate) fn pull_request_setting(number: u64) -> SettingOrigin {
    SettingOrigin { name: NAME.to_owned(), value: number.to_string(), origin: "input".to_owned() }
}

/// Returns the number that a run recorded. An artifact is not trusted, so any other text is ignored.
pub(crate) fn recorded_pull_request(settings: &[SettingOrigin]) -> Option<u64> {
    settings.iter().find(|setting| setting.name == NAME)?.value.parse().ok()
}

/// Returns the refs of a pull request: `head` reaches its head, `merge` the base as well.
pub(crate) fn pull_request_refs(number: u64) -> Vec<String> {
    ["head", "merge"].map(|side| format!("refs/pull/{number}/{side}")).to_vec()
}
