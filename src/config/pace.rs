//! `CODE_QA_*`: cadence and cooldown of the observer (S000-19, 20), which replace those of the policy.

use serde::Deserialize;

use qa_core::observer::{Cadence, Pace};

#[derive(Debug, Default, Deserialize)]
struct Raw {
    code_qa_cadence: Option<String>,
    code_qa_review_cooldown_turns: Option<String>,
}

/// Returns the values that the environment sets.
pub(crate) fn pace() -> Pace {
    from_variables(super::variables())
}

fn from_variables(variables: impl Iterator<Item = (String, String)>) -> Pace {
    let raw: Raw = envy::from_iter(variables).unwrap_or_default();
    Pace {
        cadence: match raw.code_qa_cadence.as_deref().map(str::trim) {
            Some("off") => Some(Cadence::Off),
            text => text.and_then(turns).map(Cadence::Every),
        },
        cooldown: raw.code_qa_review_cooldown_turns.as_deref().and_then(turns),
    }
}

/// Parses a positive number; any other value counts as absent.
fn turns(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|turns: &u64| *turns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Pace {
        from_variables(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn zero_and_nonsense_count_as_absent_and_off_is_off() {
        assert_eq!(of(&[]), Pace::default());
        let five = Pace { cadence: Some(Cadence::Every(5)), cooldown: None };
        assert_eq!(of(&[("CODE_QA_CADENCE", "5")]), five);
        let off = Pace { cadence: Some(Cadence::Off), cooldown: Some(2) };
        assert_eq!(of(&[("CODE_QA_CADENCE", " off "), ("CODE_QA_REVIEW_COOLDOWN_TURNS", "2")]), off);
        for nonsense in ["0", "-1", "three", "", "99999999999999999999"] {
            let variables = [("CODE_QA_CADENCE", nonsense), ("CODE_QA_REVIEW_COOLDOWN_TURNS", nonsense)];
            assert_eq!(of(&variables), Pace::default(), "{nonsense}");
        }
    }
}
