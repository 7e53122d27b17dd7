//! Compares the owners that paths have by the CODEOWNERS file that each platform reads.

use std::collections::{BTreeMap, BTreeSet};

use super::{CODEOWNERS, OWNERS_CHANGED};
use crate::changes::{Change, repo_path};
use crate::contract::{Draft, Lookups};
use qa_contracts::v1::Side;
use qa_reading::codeowners::{CodeOwners, OwnerRule};
use qa_reading::syntax::Span;

/// A platform with the paths where it looks, of which the first that is there wins.
struct Platform {
    /// Files of which one shows that the repository is on it; empty where that is always possible.
    signs: &'static [&'static str],
    places: &'static [&'static str],
}

static PLATFORMS: &[Platform] = &[
    Platform { signs: &[], places: &[".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"] },
    Platform {
        signs: &[".gitlab", ".gitlab-ci.yml"],
        places: &["CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"],
    },
    Platform {
        signs: &[".gitea", ".forgejo"],
        places: &["CODEOWNERS", "docs/CODEOWNERS", ".gitea/CODEOWNERS", ".forgejo/CODEOWNERS"],
    },
];

/// Returns whether a platform reads owners from a path.
pub(super) fn is_codeowners(path: &str) -> bool {
    PLATFORMS.iter().any(|platform| platform.places.contains(&path))
}

/// Lines of a CODEOWNERS file that count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// GitHub ignores a line with a syntax error, and has no sections.
    GitHub,
    /// Every line counts, as in sections of GitLab.
    Any,
}

impl Dialect {
    /// Returns the dialect of the base, so that a change cannot choose it.
    fn find(platform: &Platform, lookups: &dyn Lookups) -> Self {
        let is_of_gitlab = !lookups.is_present(Side::Base, ".github")
            && ([".gitlab", ".gitlab-ci.yml"].iter().any(|path| lookups.is_present(Side::Base, path))
                || has_sections(platform, lookups));
        if platform.signs.is_empty() && !is_of_gitlab { Self::GitHub } else { Self::Any }
    }
}

/// Returns whether the file that a platform reads at the base has sections.
fn has_sections(platform: &Platform, lookups: &dyn Lookups) -> bool {
    let path = platform.places.iter().find(|path| lookups.is_present(Side::Base, path));
    let text = path.and_then(|path| lookups.text(Side::Base, path));
    text.is_some_and(|text| !CodeOwners::parse(&text).sections.is_empty())
}

/// The file that a platform reads on one side.
struct InForce {
    path: &'static str,
    rules: CodeOwners,
    /// Lines that the platform ignores.
    ignored: Vec<OwnerRule>,
}

impl InForce {
    fn find(platform: &Platform, dialect: Dialect, side: Side, lookups: &dyn Lookups) -> Option<Self> {
        let path = platform.places.iter().find(|path| lookups.is_present(side, path))?;
        // A platform takes no rule from a file that is no text.
        let text = lookups.text(side, path).unwrap_or_default();
        let (rules, ignored) = match dialect {
            Dialect::GitHub => CodeOwners::take_ignored_by_github(&text),
            Dialect::Any => (CodeOwners::parse(&text), Vec::new()),
        };
        Some(Self { path, rules, ignored })
    }

    /// Returns the name of the section of a rule; none outside of sections.
    fn section_of(&self, rule: &OwnerRule) -> Option<&str> {
        let section = self.rules.sections.get(rule.section?)?;
        Some(section.name.text.as_str())
    }

    fn owners_of(&self, path: &str) -> BTreeSet<&str> {
        let rules = self.rules.rules_of(path);
        rules.into_iter().flat_map(|rule| &rule.owners).map(|owner| owner.text.as_str()).collect()
    }

    /// Returns whether a rule decides about the owners of a path.
    fn is_decided_by(&self, path: &str, rule: &OwnerRule) -> bool {
        self.rules.rules_of(path).iter().any(|other| std::ptr::eq(*other, rule))
    }

    /// Returns whether a rule of another version of the file has its pattern here.
    fn same_pattern<'r>(&'r self, other: &Self, rule: &OwnerRule) -> Option<&'r OwnerRule> {
        self.rules.rules.iter().rev().find(|own| {
            own.pattern.text == rule.pattern.text && self.section_of(own) == other.section_of(rule)
        })
    }
}

/// A rule by which paths have fewer or other owners than at the base.
struct Loss {
    rule: &'static str,
    summary: &'static str,
    /// Place in the file that is in force at head, or in that of the base.
    side: Side,
    span: Span,
    pattern: String,
}

/// Compares the owners of both trees, where a file of owners changed.
pub(super) fn compare(changes: &[Change], lookups: &dyn Lookups) -> Vec<Draft> {
    let mut drafts = BTreeMap::new();
    for platform in PLATFORMS {
        let is_used = [Side::Base, Side::Head]
            .into_iter()
            .any(|side| platform.signs.iter().any(|sign| lookups.is_present(side, sign)));
        if !platform.signs.is_empty() && !is_used {
            continue;
        }
        for draft in compare_on(platform, changes, lookups) {
            let key = (draft.file.clone(), draft.side, draft.start_line);
            drafts.entry(key).or_insert(draft);
        }
    }
    drafts.into_values().collect()
}

fn compare_on(platform: &Platform, changes: &[Change], lookups: &dyn Lookups) -> Vec<Draft> {
    let dialect = Dialect::find(platform, lookups);
    let Some(base) = InForce::find(platform, dialect, Side::Base, lookups) else { return Vec::new() };
    let Some(head) = InForce::find(platform, dialect, Side::Head, lookups) else {
        let owner = change_of(changes, Side::Base, base.path);
        let summary = match owner.and_then(|owner| owner.path(Side::Head)) {
            Some(_) => "CODEOWNERS is renamed and no longer in force",
            None => "CODEOWNERS is deleted",
        };
        let draft = owner.and_then(|owner| owner.on_line(CODEOWNERS, Side::Base, None, summary, lookups));
        let draft =
            draft.unwrap_or_else(|| Draft::on_file(CODEOWNERS, &repo_path(base.path), Side::Base, summary));
        return vec![draft];
    };
    let mut drafts = Vec::new();
    for loss in losses(&base, &head, lookups) {
        let (here, there) = match loss.side {
            Side::Base => ((Side::Base, base.path), (Side::Head, head.path)),
            Side::Head => ((Side::Head, head.path), (Side::Base, base.path)),
        };
        let places = [(here, Some(loss.span)), (there, None), (here, None)];
        let draft = places.into_iter().find_map(|((side, path), span)| {
            change_of(changes, side, path)?.on_line(loss.rule, side, span, loss.summary, lookups)
        });
        let draft = draft
            .unwrap_or_else(|| Draft::on_file(loss.rule, &repo_path(head.path), Side::Head, loss.summary));
        drafts.push(draft.with("pattern", loss.pattern));
    }
    drafts
}

fn change_of<'c>(changes: &'c [Change], side: Side, path: &str) -> Option<&'c Change> {
    changes.iter().find(|change| change.path(side) == Some(path))
}

fn losses(base: &InForce, head: &InForce, lookups: &dyn Lookups) -> Vec<Loss> {
    let of_base = base.rules.rules.iter().filter_map(|rule| loss_of_rule(base, head, rule, lookups));
    let of_head = head.rules.rules.iter().filter_map(|rule| loss_by_new_rule(base, head, rule));
    let of_files =
        own_file_without_owners(base, head).into_iter().chain(other_owners_of_gate(base, head, lookups));
    of_base.chain(of_head).chain(milder_sections(base, head)).chain(of_files).collect()
}

/// Finds a file of owners that moves to where nobody owns it, so that a later change of it needs no approval.
fn own_file_without_owners(base: &InForce, head: &InForce) -> Option<Loss> {
    let is_lost = base.path != head.path
        && !base.owners_of(base.path).is_empty()
        && head.owners_of(head.path).is_empty();
    let summary = "nobody owns the CODEOWNERS file at its new path";
    let (span, pattern) = (Span::default(), head.path.to_owned());
    is_lost.then_some(Loss { rule: CODEOWNERS, summary, side: Side::Head, span, pattern })
}

/// A file of the gate, at the base and at head.
struct OwnFile {
    base: String,
    head: String,
}

/// Finds the rules by which somebody who did not own a file of the gate does now. One owner's approval is enough, so an
/// added owner is as much as another one.
fn other_owners_of_gate(base: &InForce, head: &InForce, lookups: &dyn Lookups) -> Vec<Loss> {
    let workflows = lookups.files_in(Side::Base, ".github/workflows");
    let workflows = workflows.iter().map(|name| format!(".github/workflows/{name}"));
    let known = [".qa-skill/any", ".qa-skill/policy.toml", ".qa-skill/waivers.toml", ".github/any"];
    let known = known.into_iter().chain([".github/workflows/any.yml"]).map(str::to_owned);
    let files = known.chain(workflows).map(|path| OwnFile { base: path.clone(), head: path });
    let own = OwnFile { base: base.path.to_owned(), head: head.path.to_owned() };
    let mut found: BTreeMap<usize, Loss> = BTreeMap::new();
    for file in files.chain([own]) {
        let before = base.owners_of(&file.base);
        if before.is_empty() {
            continue;
        }
        for rule in head.rules.rules_of(&file.head) {
            if rule.owners.iter().any(|owner| !before.contains(owner.text.as_str())) {
                found.entry(rule.span.start).or_insert_with(|| Loss {
                    rule: OWNERS_CHANGED,
                    summary: "files of the gate have other code owners",
                    side: Side::Head,
                    span: rule.span,
                    pattern: rule.pattern.text.clone(),
                });
            }
        }
    }
    found.into_values().collect()
}

/// Returns paths that a rule names at the base: samples, and files of its folder where head has no rule like it.
fn paths_of(base: &InForce, head: &InForce, rule: &OwnerRule, lookups: &dyn Lookups) -> Vec<String> {
    /// Maximum number of files of one folder that are compared.
    const MOST_FILES: usize = 100;
    let mut paths = samples(&rule.pattern.text);
    let folder = rule.pattern.text.trim_matches('/');
    if head.same_pattern(base, rule).is_none() && !folder.contains(['*', '?', '[']) {
        let files = lookups.files_in(Side::Base, folder);
        paths.extend(files.iter().take(MOST_FILES).map(|name| format!("{folder}/{name}")));
    }
    paths.retain(|path| rule.matches(path));
    paths
}

/// Finds the loss of a rule's paths at head: the rule is gone, a later one decides in its place, or it has fewer owners.
fn loss_of_rule(base: &InForce, head: &InForce, rule: &OwnerRule, lookups: &dyn Lookups) -> Option<Loss> {
    let own: BTreeSet<&str> = rule.owners.iter().map(|owner| owner.text.as_str()).collect();
    let named = paths_of(base, head, rule, lookups);
    let paths: Vec<&String> = named.iter().filter(|path| base.is_decided_by(path, rule)).collect();
    // A rule that decided about nothing was overridden before; one without a known path is compared as it is written.
    let is_idle = paths.is_empty() && !named.is_empty();
    let is_kept = !paths.is_empty() && paths.iter().all(|path| own.is_subset(&head.owners_of(path)));
    if own.is_empty() || is_idle || is_kept {
        return None;
    }
    let pattern = rule.pattern.text.clone();
    // Whoever edits the file shows its owners what they lose; a new one that wins leaves theirs as it is.
    let is_shadowed = base.path != head.path && lookups.is_present(Side::Head, base.path);
    if is_shadowed {
        let span = head.rules.rules.first().map(|first| first.span).unwrap_or_default();
        let summary = "another CODEOWNERS file takes precedence over the existing one";
        return Some(Loss { rule: CODEOWNERS, summary, side: Side::Head, span, pattern });
    }
    let Some(same) = head.same_pattern(base, rule) else {
        // New rules take the place of one whose pattern is written in another way, or whose folder is gone.
        let is_replaced = !paths.is_empty()
            && paths.iter().all(|path| {
                let deciding = head.rules.rules_of(path);
                !deciding.is_empty()
                    && !deciding.iter().any(|rule| base.same_pattern(head, rule).is_some())
                    && !is_fewer(&head.owners_of(path), &own)
            });
        let folder = rule.pattern.text.trim_matches('/');
        let is_gone = !folder.contains(['*', '?', '['])
            && lookups.is_present(Side::Base, folder)
            && !lookups.is_present(Side::Head, folder);
        if is_replaced || is_gone {
            return None;
        }
        if let Some(ignored) = head.ignored.iter().rev().find(|ignored| ignored.pattern.text == pattern) {
            let summary = "a code owner rule has a syntax error, so GitHub ignores it";
            let span = ignored.span;
            return Some(Loss { rule: CODEOWNERS, summary, side: Side::Head, span, pattern });
        }
        let summary = "a code owner rule is removed";
        return Some(Loss { rule: CODEOWNERS, summary, side: Side::Base, span: rule.span, pattern });
    };
    if !paths.is_empty() && !paths.iter().any(|path| head.is_decided_by(path, same)) {
        let deciding = paths.iter().flat_map(|path| head.rules.rules_of(path)).next().unwrap_or(same);
        let summary = "a code owner rule is overridden by a later one";
        return Some(Loss { rule: CODEOWNERS, summary, side: Side::Head, span: deciding.span, pattern });
    }
    let now: BTreeSet<&str> = same.owners.iter().map(|owner| owner.text.as_str()).collect();
    let summary = "paths have fewer code owners";
    is_fewer(&now, &own).then_some(Loss {
        rule: CODEOWNERS,
        summary,
        side: Side::Head,
        span: same.span,
        pattern,
    })
}

/// Finds what a rule that only head has takes away: paths that had owners have none.
fn loss_by_new_rule(base: &InForce, head: &InForce, rule: &OwnerRule) -> Option<Loss> {
    if base.same_pattern(head, rule).is_some() || !rule.owners.is_empty() {
        return None;
    }
    let pattern = rule.pattern.text.clone();
    let is_loss = samples(&pattern)
        .iter()
        .any(|path| head.owners_of(path).is_empty() && !base.owners_of(path).is_empty());
    let summary = "paths have fewer code owners";
    is_loss.then_some(Loss { rule: CODEOWNERS, summary, side: Side::Head, span: rule.span, pattern })
}

/// Finds sections that ask for fewer approvals, or for none.
fn milder_sections<'s>(base: &'s InForce, head: &'s InForce) -> impl Iterator<Item = Loss> + use<'s> {
    head.rules.sections.iter().filter_map(|section| {
        let old = base.rules.sections.iter().find(|old| old.name.text == section.name.text)?;
        let fewer = section.approvals.unwrap_or(1) < old.approvals.unwrap_or(1);
        let is_milder = fewer || section.optional && !old.optional;
        let summary = "section of code owners requires fewer approvals";
        let (span, pattern) = (section.name.span, section.name.text.clone());
        is_milder.then_some(Loss { rule: CODEOWNERS, summary, side: Side::Head, span, pattern })
    })
}

fn is_fewer(now: &BTreeSet<&str>, before: &BTreeSet<&str>) -> bool {
    now.is_subset(before) && now.len() < before.len()
}

/// Makes paths that a pattern names: itself with its wildcards filled in, below a folder, and what is below it.
fn samples(pattern: &str) -> Vec<String> {
    let plain =
        pattern.trim_start_matches('/').replace("**", "any/deep").replace('*', "any").replace('?', "x");
    let folder = plain.trim_end_matches('/');
    let mut found = Vec::new();
    if !pattern.ends_with('/') {
        found.push(folder.to_owned());
        found.push(format!("any/{folder}"));
    }
    for below in ["any", "any/deep"] {
        found.push(format!("{folder}/{below}"));
        found.push(format!("any/{folder}/{below}"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_a_pattern_match_it() {
        for pattern in ["*", "*.js", "/docs/", "docs/*", "apps/", "/src/**/x.rs", "a?c", "**/logs"] {
            let read = CodeOwners::parse(&format!("{pattern} @a\n"));
            let hits = samples(pattern).iter().filter(|path| !read.rules_of(path).is_empty()).count();
            assert!(hits > 0, "{pattern}");
        }
    }
}
