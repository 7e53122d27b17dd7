//! The entry of the hook in a configuration of pre-commit. Pure.

use std::ops::Range;

use qa_run::setup::ActionPin;

/// Path of the configuration.
pub(super) const PRE_COMMIT: &str = ".pre-commit-config.yaml";

/// The hook's repository and revision, as the configuration names them.
pub(super) struct Hook {
    url: String,
    revision: String,
}

impl Hook {
    /// Returns the hook of an action; without one, with placeholders.
    pub(super) fn new(action: Option<&ActionPin>) -> Self {
        let Some(action) = action else {
            return Self {
                url: "https://github.com/OWNER/qa-skill".to_owned(),
                revision: "COMMIT".to_owned(),
            };
        };
        // The form of `pre-commit autoupdate --freeze`.
        let revision = match action.version() {
            Some(version) => format!("{}  # frozen: {version}", action.commit()),
            None => action.commit().to_owned(),
        };
        Self { url: format!("https://github.com/{}", action.repository()), revision }
    }

    /// Returns a configuration with the hook: a new one for an empty text, else with an entry at the end of `repos`, or with
    /// the revision of the entry that is there. `None` where `repos` is no list in block form.
    pub(super) fn added_to(&self, now: &str) -> Option<String> {
        if now.trim().is_empty() {
            return Some(format!("repos:\n{}", self.entry("  ")));
        }
        let lines: Vec<&str> = now.lines().collect();
        let list = EntryList::find(&lines)?;
        if let Some(entry) = self.own_entry(&lines, &list) {
            return self.with_revision(&lines, entry);
        }
        let last =
            list.begin + lines[list.begin..list.end].iter().rposition(|line| !line.trim().is_empty())?;
        let (before, after) = lines.split_at(last + 1);
        let mut text = before.join("\n") + "\n" + &self.entry(list.indent);
        for line in after {
            text.push_str(line);
            text.push('\n');
        }
        Some(text)
    }

    /// Returns whether a configuration has the hook's repository.
    pub(super) fn is_in(&self, now: &str) -> bool {
        let lines: Vec<&str> = now.lines().collect();
        EntryList::find(&lines).is_some_and(|list| self.own_entry(&lines, &list).is_some())
    }

    /// Returns the lines of the entry with the hook's repository.
    fn own_entry(&self, lines: &[&str], list: &EntryList<'_>) -> Option<Range<usize>> {
        list.entries(lines).into_iter().find(|entry| {
            let mut urls = lines[entry.clone()].iter().filter_map(|line| value_of(line, "repo"));
            urls.any(|url| url.strip_suffix(".git").unwrap_or(url) == self.url)
        })
    }

    fn entry(&self, indent: &str) -> String {
        let Self { url, revision } = self;
        format!(
            "{indent}- repo: {url}\n{indent}  rev: {revision}\n{indent}  hooks:\n{indent}    - id: qa-skill\n\
             {indent}      language: system  # the installed binary; without this line pre-commit compiles one\n"
        )
    }

    /// Replaces the revision of an entry. The comment behind an unchanged one stays where the action has no version.
    fn with_revision(&self, lines: &[&str], mut entry: Range<usize>) -> Option<String> {
        let place = entry.find(|&at| value_of(lines[at], "rev").is_some())?;
        let (before, _) = lines[place].split_once("rev:")?;
        let changed = format!("{before}rev: {}", self.revision);
        let mut lines = lines.to_vec();
        if value_of(lines[place], "rev") != Some(self.revision.as_str()) {
            lines[place] = &changed;
        }
        Some(lines.join("\n") + "\n")
    }
}

/// The list below `repos`: its lines, and the indentation of its entries.
struct EntryList<'a> {
    begin: usize,
    end: usize,
    indent: &'a str,
}

impl<'a> EntryList<'a> {
    /// Returns `None` where `repos` is no list in block form with an entry.
    fn find(lines: &[&'a str]) -> Option<Self> {
        let begin = lines.iter().position(|line| without_comment(line) == "repos:")? + 1;
        let length = lines[begin..].iter().position(|line| ends_block(line));
        let end = length.map_or(lines.len(), |length| begin + length);
        let first = lines[begin..end].iter().find(|line| line.trim_start().starts_with("- "))?;
        let indent = &first[..first.len() - first.trim_start().len()];
        Some(Self { begin, end, indent })
    }

    /// Returns the lines of each entry.
    fn entries(&self, lines: &[&str]) -> Vec<Range<usize>> {
        let begins = (self.begin..self.end)
            .filter(|&at| lines[at].strip_prefix(self.indent).is_some_and(|rest| rest.starts_with("- ")));
        let begins: Vec<usize> = begins.collect();
        let ends = begins.iter().skip(1).copied().chain([self.end]);
        begins.iter().zip(ends).map(|(begin, end)| *begin..end).collect()
    }
}

/// Returns whether a line begins another key than `repos`.
fn ends_block(line: &str) -> bool {
    !line.starts_with([' ', '-', '#']) && !line.trim().is_empty()
}

/// Returns the value of a key on a line, without quotes and comment.
fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let line = without_comment(line).trim_start();
    let value = line.strip_prefix("- ").unwrap_or(line).trim_start().strip_prefix(key)?.strip_prefix(':')?;
    Some(value.trim().trim_matches(['"', '\'']))
}

fn without_comment(line: &str) -> &str {
    let end = line.find(" #").unwrap_or(line.len());
    line[..end].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(digit: &str, version: &str) -> ActionPin {
        ActionPin::parse(&format!("acme/qa-skill@{}{version}", digit.repeat(40))).unwrap()
    }

    #[test]
    fn the_hook_is_added_at_the_end_of_the_list_and_later_moved_to_another_commit() {
        let first = Hook::new(Some(&pin("1", " # v1.0.0")));
        let one = "1".repeat(40);
        let ours = |indent: &str| {
            format!(
                "{indent}- repo: https://github.com/acme/qa-skill\n{indent}  rev: {one}  # frozen: v1.0.0\n\
                 {indent}  hooks:\n{indent}    - id: qa-skill\n{indent}      language: system  # the installed binary; without this line pre-commit compiles one\n"
            )
        };
        for (now, expected) in [
            (String::new(), format!("repos:\n{}", ours("  "))),
            (
                "repos:  # all\n- repo: https://a/b\n  rev: v1\n  hooks: [{id: a}]\n\nci:\n  autofix_prs: false\n".to_owned(),
                format!(
                    "repos:  # all\n- repo: https://a/b\n  rev: v1\n  hooks: [{{id: a}}]\n{}\nci:\n  autofix_prs: false\n",
                    ours("")
                ),
            ),
            (
                "exclude: x\nrepos:\n  - repo: local\n    hooks: []".to_owned(),
                format!("exclude: x\nrepos:\n  - repo: local\n    hooks: []\n{}", ours("  ")),
            ),
        ] {
            let text = first.added_to(&now).unwrap();
            assert_eq!(text, expected);
            assert_eq!(first.added_to(&text), Some(text.clone()));
            assert_eq!(Hook::new(Some(&pin("1", ""))).added_to(&text), Some(text.clone()), "the version stays");
            assert!(first.is_in(&text) && !first.is_in(&now));
            let moved = Hook::new(Some(&pin("2", ""))).added_to(&text).unwrap();
            assert_eq!(moved, expected.replace(&format!("{one}  # frozen: v1.0.0"), &"2".repeat(40)));
        }
        let ours_after_its_revision =
            "repos:\n- rev: v0\n  repo: https://github.com/acme/qa-skill\n- repo: https://a/b\n  rev: v4\n";
        let moved = first.added_to(ours_after_its_revision).unwrap();
        assert_eq!(moved, ours_after_its_revision.replace("v0", &format!("{one}  # frozen: v1.0.0")));
        assert!(first.is_in(&ours_after_its_revision.replace("qa-skill\n", "qa-skill.git\n")));
        for now in ["repos: []\n", "exclude: x\n", "repos:\n"] {
            assert_eq!(first.added_to(now), None, "{now}");
            assert!(!first.is_in(now), "{now}");
        }
    }
}
