//! Tips for command lines that name a range, or a value that begins with a hyphen, as git takes them.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};
use qa_core::masking::sanitize_cut;

/// Most characters of an argument that a tip repeats.
const MOST_CHARACTERS: usize = 80;

/// Adds the tip for an argument that is not known, if there is one, in the place of clap's own.
pub(super) fn add_tip(error: &mut clap::Error, arguments: &[OsString]) {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return };
    if let Some(tip) = tip(unknown, arguments) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
}

/// Returns the tip for an argument that is not known.
fn tip(unknown: &str, arguments: &[OsString]) -> Option<String> {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let option = words.windows(2).find(|pair| pair[1] == unknown).map(|pair| pair[0]);
    if let Some(option) = option.filter(|option| ["--base", "--head"].contains(option)) {
        let value = sanitize_cut(unknown, MOST_CHARACTERS);
        return Some(format!("a value that begins with a hyphen follows `=`: {option}={value}"));
    }
    let (base, head) = unknown.split_once("...").or_else(|| unknown.split_once(".."))?;
    if unknown.starts_with('-') {
        return None;
    }
    let [base, head] = [base, head].map(|side| match side {
        "" => "HEAD".to_owned(),
        side => sanitize_cut(side, MOST_CHARACTERS),
    });
    Some(format!("the two sides of a change are named by options: --base {base} --head {head}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_and_a_value_with_a_hyphen_have_a_tip() {
        let tip_of = |line: &str, unknown: &str| {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            tip(unknown, &arguments)
        };
        for range in ["main..HEAD", "main...HEAD", "main.."] {
            let tip = tip_of(&format!("qa-skill run {range}"), range).unwrap();
            assert!(tip.ends_with(": --base main --head HEAD"), "{tip}");
        }
        let tip = tip_of("qa-skill run --base -x", "-x").unwrap();
        assert!(tip.ends_with(": --base=-x"), "{tip}");
        for unknown in ["--colour", "main", "--a..b"] {
            assert_eq!(tip_of(&format!("qa-skill run {unknown}"), unknown), None);
        }
    }
}
