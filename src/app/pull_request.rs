//! A pull request as a recorded setting, and the refs of it that hold a run's commits.

use qa_contracts::v1::SettingOrigin;

const NAME: &str = "pull-request";

/// The setting a run records.
pub(crate) fn pull_request_setting(number: u64) -> SettingOrigin {
    SettingOrigin { name: NAME.to_owned(), value: number.to_string(), origin: "input".to_owned() }
}

/// The number that a run recorded. An artifact is not trusted: nothing but a number is taken from it.
pub(crate) fn recorded_pull_request(settings: &[SettingOrigin]) -> Option<u64> {
    settings.iter().find(|setting| setting.name == NAME)?.value.parse().ok()
}

/// The head's ref leads to the head, the test merge's to the base as well.
pub(crate) fn pull_request_refs(number: u64) -> Vec<String> {
    ["head", "merge"].map(|side| format!("refs/pull/{number}/{side}")).to_vec()
}
