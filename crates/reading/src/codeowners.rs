//! Reads CODEOWNERS of GitHub and GitLab: patterns with owners, where the last match wins.

use crate::glob;
use crate::lines::{Line, Part, lines};
use crate::syntax::Span;

/// A pattern with its owners.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerRule {
    /// The pattern without escapes of blanks and `#`.
    pub pattern: Part,
    /// Owners on the line; those of the section where the line has none.
    pub owners: Vec<Part>,
    /// Position in [`CodeOwners::sections`].
    pub section: Option<usize>,
    pub span: Span,
}

/// A section of GitLab's dialect: `^[Name][2] @owner`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub name: Part,
    /// Approvals that are not required.
    pub optional: bool,
    pub approvals: Option<u32>,
    pub owners: Vec<Part>,
}

/// The rules of a file, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeOwners {
    pub rules: Vec<OwnerRule>,
    pub sections: Vec<Section>,
}

impl CodeOwners {
    /// Reads a file. A line without owners takes them away from a path, but in a section with owners.
    pub fn parse(text: &str) -> Self {
        let mut read = Self::default();
        for line in lines(text).filter(|line| !line.text.starts_with('#')) {
            if let Some(section) = section(line) {
                read.sections.push(section);
                continue;
            }
            let words = words(line.text);
            let Some((pattern, owners)) = words.split_first() else { continue };
            let place = line.part(pattern).span;
            let section = read.sections.len().checked_sub(1);
            let mut owners: Vec<Part> = owners.iter().map(|owner| line.part(owner)).collect();
            if let Some(section) = section.filter(|_| owners.is_empty()) {
                owners.clone_from(&read.sections[section].owners);
            }
            let pattern = Part::new(pattern.replace("\\ ", " ").replace("\\#", "#"), place);
            read.rules.push(OwnerRule { pattern, owners, section, span: line.span() });
        }
        read
    }

    /// Takes out the lines that GitHub ignores and returns them: those with an owner that is neither `@user`, `@org/team`
    /// nor an address, and those with a pattern that begins with `!` or an escaped `#`, or has brackets. A header of a
    /// section is such a line too, so its owners are nobody's.
    pub fn take_ignored_by_github(text: &str) -> (Self, Vec<OwnerRule>) {
        let mut read = Self::default();
        let mut ignored = Vec::new();
        for line in lines(text).filter(|line| !line.text.starts_with('#')) {
            let words = words(line.text);
            let Some((pattern, owners)) = words.split_first() else { continue };
            let rule = OwnerRule {
                pattern: Part::new(pattern.replace("\\ ", " "), line.part(pattern).span),
                owners: owners.iter().map(|owner| line.part(owner)).collect(),
                section: None,
                span: line.span(),
            };
            let is_pattern = !pattern.starts_with(['!', '^']) && !pattern.contains(['[', ']']);
            if is_pattern && !pattern.starts_with("\\#") && owners.iter().all(|owner| is_owner(owner)) {
                read.rules.push(rule);
            } else {
                ignored.push(rule);
            }
        }
        (read, ignored)
    }

    /// Returns the rules that decide about a path: the last that matches, of each section.
    pub fn rules_of(&self, path: &str) -> Vec<&OwnerRule> {
        let mut found: Vec<&OwnerRule> = Vec::new();
        for rule in self.rules.iter().rev().filter(|rule| rule.matches(path)) {
            if found.iter().all(|later| later.section != rule.section) {
                found.push(rule);
            }
        }
        found.reverse();
        found
    }
}

impl OwnerRule {
    /// Returns whether the pattern names a path or a folder around it.
    pub fn matches(&self, path: &str) -> bool {
        let text = self.pattern.text.as_str();
        if text == "*" {
            return true;
        }
        let only_folders = text.ends_with('/');
        let pattern = text.trim_end_matches('/');
        let anchored = pattern.contains('/');
        let pattern = pattern.trim_start_matches('/');
        // `docs/*` names the files of a folder and not those of folders inside of it.
        let only_whole = pattern.ends_with("/*");
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.into_iter().any(|end| {
            let is_whole = end == path.len();
            let part = &path[..end];
            let name = part.rsplit('/').next().unwrap_or(part);
            (!is_whole || !only_folders)
                && (is_whole || !only_whole)
                && glob::matches(pattern, if anchored { part } else { name })
        })
    }
}

/// Reads `[Name]`, `^[Name]` and `[Name][approvals]` with default owners.
fn section(line: Line<'_>) -> Option<Section> {
    let optional = line.text.starts_with('^');
    let (name, mut rest) = line.text.trim_start_matches('^').strip_prefix('[')?.split_once(']')?;
    let mut approvals = None;
    if let Some((number, owners)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        approvals = number.trim().parse().ok();
        rest = owners;
    }
    // A class of a pattern, as in `[ab].txt @owner`, has no blank behind it.
    if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
        return None;
    }
    let owners = words(rest).iter().map(|owner| line.part(owner)).collect();
    Some(Section { name: line.part(name), optional, approvals, owners })
}

/// Returns whether a word is a user, a team or an address on GitHub.
fn is_owner(word: &str) -> bool {
    match (word.strip_prefix('@'), word.split_once('@')) {
        (Some(name), _) => name.split('/').count() <= 2 && name.split('/').all(is_name),
        (None, Some((local, domain))) => !local.is_empty() && domain.contains('.') && is_name(domain),
        (None, None) => false,
    }
}

/// Returns whether a text can be the name of an account, a team or a host.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|sign| sign.is_alphanumeric() || matches!(sign, '-' | '_' | '.'))
}

/// Splits at blanks that no backslash escapes, up to a comment.
fn words(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut begin = None;
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        if character.is_whitespace() && !escaped {
            found.extend(begin.take().map(|begin: usize| &text[begin..at]));
        } else if character == '#' && begin.is_none() {
            return found;
        } else if begin.is_none() {
            begin = Some(at);
        }
        escaped = character == '\\' && !escaped;
    }
    found.extend(begin.map(|begin| &text[begin..]));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(text: &str, path: &str) -> Vec<String> {
        let file = CodeOwners::parse(text);
        let rules = file.rules_of(path);
        let owners = rules.iter().map(|rule| {
            let names: Vec<&str> = rule.owners.iter().map(|owner| owner.text.as_str()).collect();
            names.join(" ")
        });
        owners.collect()
    }

    #[test]
    fn the_last_match_wins() {
        let text = "# c\n*  @all\n*.js @js # note\n/docs/ @docs\napps/ @apps\n/docs/free\n/src/* @top\na\\ b @blank\n";
        for (path, expected) in [
            ("x", "@all"),
            ("a/b.js", "@js"),
            ("docs/a.js", "@docs"),
            ("a/docs/b", "@all"),
            ("x/apps/y", "@apps"),
            ("docs/free", ""),
            ("src/a", "@top"),
            ("src/a/b", "@all"),
            ("a b", "@blank"),
        ] {
            assert_eq!(owners(text, path), [expected], "{path}");
        }
    }

    #[test]
    fn lines_that_github_ignores_decide_nothing() {
        for (line, expected) in [
            ("/a/ @user", true),
            ("/a/ @org/team x.y@example.org # why", true),
            ("/a/", true),
            ("/a\\ b/ @user", true),
            ("/a/ security", false),
            ("/a/ @user security", false),
            ("/a/ @", false),
            ("/a/ @org/", false),
            ("/a/ @org/team/more", false),
            ("/a/ user@host", false),
            ("[b]/ @user", false),
            ("/a/[xy].c @user", false),
            ("!/a/ @user", false),
            ("\\#a @user", false),
            ("^[Code][2] @user", false),
        ] {
            let (read, ignored) = CodeOwners::take_ignored_by_github(&format!("{line}\n"));
            assert_eq!(
                (read.rules.len(), ignored.len()),
                (usize::from(expected), usize::from(!expected)),
                "{line}"
            );
        }
    }

    #[test]
    fn sections_of_gitlab_decide_each_for_itself() {
        let text = "* @all\n[Docs][2] @d1 @d2\n*.md\n^[Code]\n*.rs @r\n";
        assert_eq!(owners(text, "a.md"), ["@all", "@d1 @d2"]);
        assert_eq!(owners(text, "a.rs"), ["@all", "@r"]);
        let file = CodeOwners::parse(text);
        assert_eq!((file.sections[0].approvals, file.sections[1].optional), (Some(2), true));
    }
}
