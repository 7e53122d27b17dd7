//! Keeps the policy out of archives that git makes of a commit, by a line of its attributes. Pure.

use qa_core::policy::POLICY_PATH;
use qa_reading::glob;

/// Line of attributes that keeps the policy out of archives.
const EXPORT_IGNORE: &str = "/.qa-skill export-ignore";

/// Returns attributes with a line that keeps the policy's directory out of archives. They stay as they are where they keep
/// nothing out of them, or that directory already.
#[must_use]
pub fn with_export_ignore(attributes: &str) -> String {
    let (mut lists_any, mut is_kept_out) = (false, false);
    for line in attributes.lines() {
        let mut words = line.split_whitespace();
        let Some(pattern) = words.next().filter(|word| !word.starts_with('#')) else { continue };
        for word in words {
            let is_set = word == "export-ignore";
            if is_set || ["-export-ignore", "!export-ignore"].contains(&word) {
                lists_any |= is_set;
                is_kept_out = if names_directory(pattern) { is_set } else { is_kept_out };
            }
        }
    }
    if !lists_any || is_kept_out {
        return attributes.to_owned();
    }
    let end = if attributes.ends_with('\n') { "" } else { "\n" };
    format!("{attributes}{end}{EXPORT_IGNORE}\n")
}

/// Returns whether a pattern of attributes matches the policy's directory in the root, or everything in it.
fn names_directory(pattern: &str) -> bool {
    let directory = POLICY_PATH.split('/').next().unwrap_or_default();
    let pattern = pattern.trim_start_matches('/');
    let pattern = ["/**", "/*", "/"].iter().find_map(|end| pattern.strip_suffix(end)).unwrap_or(pattern);
    glob::matches(pattern, directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_keep_the_policy_out_of_archives_where_they_keep_out_others() {
        const LINE: &str = "/.qa-skill export-ignore\n";
        for (attributes, added) in [
            ("/tests export-ignore\n", true),
            ("/tests   text export-ignore", true),
            ("/.qa-skill export-ignore\n/.qa-skill -export-ignore\n", true),
            ("/tests/* export-ignore\n/.github/** export-ignore\n", true),
            ("", false),
            ("*.php text eol=lf\n", false),
            ("# /tests export-ignore\n", false),
            ("/tests -export-ignore\n", false),
            ("/tests export-ignore\n/.qa-skill/ export-ignore\n", false),
            ("/tests export-ignore\n.qa-skill/** export-ignore\n", false),
            ("/.* export-ignore\n", false),
            ("* export-ignore\n", false),
        ] {
            let written = with_export_ignore(attributes);
            let end = if attributes.ends_with('\n') { "" } else { "\n" };
            let expected = if added { format!("{attributes}{end}{LINE}") } else { attributes.to_owned() };
            assert_eq!(written, expected, "{attributes}");
            assert_eq!(with_export_ignore(&written), written, "{attributes}");
        }
    }
}
