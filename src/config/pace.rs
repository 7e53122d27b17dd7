//! `CODE_QA_*`: cadence of wider reviews by a model (S000-19, 20). The values are recorded and shown, and no verdict depends
//! on them (P1).

use serde::Deserialize;

use qa_contracts::v1::SettingOrigin;

const CADENCE: u64 = 3;
const COOLDOWN: u64 = 1;

#[derive(Debug, Default, Deserialize)]
struct Raw {
    code_qa_cadence: Option<String>,
    code_qa_review_cooldown_turns: Option<String>,
}

/// Returns the effective values with their origins.
pub(crate) fn pace() -> Vec<SettingOrigin> {
    from_variables(super::variables())
}

fn from_variables(variables: impl Iterator<Item = (String, String)>) -> Vec<SettingOrigin> {
    let raw: Raw = envy::from_iter(variables).unwrap_or_default();
    let cadence = raw.code_qa_cadence.as_deref().map(str::trim);
    vec![
        match cadence {
            Some("off") => setting("observer.cadence", "off".to_owned(), "environment"),
            text => positive_or("observer.cadence", text, CADENCE),
        },
        positive_or("observer.review-cooldown-turns", raw.code_qa_review_cooldown_turns.as_deref(), COOLDOWN),
    ]
}

/// Parses a positive number; any other value means the default.
fn positive_or(name: &str, text: Option<&str>, default: u64) -> SettingOrigin {
    match text.and_then(|text| text.trim().parse().ok()).filter(|turns: &u64| *turns > 0) {
        Some(turns) => setting(name, turns.to_string(), "environment"),
        None => setting(name, default.to_string(), "default"),
    }
}

fn setting(name: &str, value: String, origin: &str) -> SettingOrigin {
    SettingOrigin { name: name.to_owned(), value, origin: origin.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Vec<String> {
        let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let settings = from_variables(owned).into_iter();
        settings.map(|setting| format!("{} {}", setting.value, setting.origin)).collect()
    }

    #[test]
    fn zero_and_nonsense_mean_the_default_and_off_is_off() {
        assert_eq!(of(&[]), ["3 default", "1 default"]);
        assert_eq!(of(&[("CODE_QA_CADENCE", "5")]), ["5 environment", "1 default"]);
        assert_eq!(of(&[("CODE_QA_CADENCE", "off")]), ["off environment", "1 default"]);
        for nonsense in ["0", "-1", "three", "", "99999999999999999999"] {
            let variables = [("CODE_QA_CADENCE", nonsense), ("CODE_QA_REVIEW_COOLDOWN_TURNS", nonsense)];
            assert_eq!(of(&variables), ["3 default", "1 default"], "{nonsense}");
        }
    }
}
