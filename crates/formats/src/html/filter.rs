//! Filters of the findings by standing, file and rule. They need no script: the style sheet hides what is not chosen.

use std::collections::BTreeMap;
use std::fmt::Write;

use maud::{Markup, html};

use crate::common::standing;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::Finding;
use qa_core::escape::{visible, visible_cut};

/// The most files and the most rules to choose from, those with most findings first.
const MAX_CHOICES: usize = 200;

/// Choices for the findings of a page.
pub(super) struct Filter<'a> {
    standings: Vec<(&'static str, usize)>,
    files: Choices<&'a RepoPath>,
    rules: Choices<&'a str>,
    total: usize,
}

impl<'a> Filter<'a> {
    pub(super) fn new(findings: &[&'a Finding]) -> Self {
        let standings = ["blocks", "advice", "pre-existing", "waived"]
            .map(|word| (word, findings.iter().filter(|finding| standing(finding) == word).count()));
        Self {
            standings: standings.into_iter().filter(|(_, count)| *count > 0).collect(),
            files: Choices::new(findings.iter().map(|finding| &finding.file)),
            rules: Choices::new(findings.iter().map(|finding| finding.rule_id.as_str())),
            total: findings.len(),
        }
    }

    /// Renders the controls; nothing where there is nothing to choose.
    pub(super) fn controls(&self) -> Markup {
        html! {
            @if self.total > 1 {
                fieldset.filter {
                    legend { "Show" }
                    input type="radio" name="show" id="show-all" checked;
                    label for="show-all" { "all " (self.total) }
                    @for (word, count) in &self.standings {
                        input type="radio" name="show" id={ "show-" (word) };
                        label for={ "show-" (word) } { (word) " " (count) }
                    }
                    (self.files.menu("file", "of file", |path| visible(&path.to_string())))
                    (self.rules.menu("rule", "of rule", visible))
                }
            }
        }
    }

    /// Returns the classes of a part of the page that is about these findings.
    pub(super) fn classes<'b>(&self, findings: impl Iterator<Item = &'b Finding> + Clone) -> String {
        let files =
            findings.clone().filter_map(|finding| self.files.number(&&finding.file)).map(|n| format!("f{n}"));
        let rules = findings
            .filter_map(|finding| self.rules.number(&finding.rule_id.as_str()))
            .map(|n| format!("r{n}"));
        let classes: std::collections::BTreeSet<String> = files.chain(rules).collect();
        classes.into_iter().collect::<Vec<_>>().join(" ")
    }

    /// Returns the rules of style that hide what is not chosen.
    pub(super) fn style(&self) -> String {
        let mut style = String::new();
        for (kind, count) in [("f", self.files.menu_size()), ("r", self.rules.menu_size())] {
            for number in 0..count {
                let chosen = format!("section:has(option.{kind}{number}:checked)");
                let hidden = format!("not(.{kind}{number}){{display:none}}");
                let _infallible = writeln!(style, "{chosen} .card:{hidden}{chosen} .place:{hidden}");
            }
        }
        style
    }
}

/// Values of the findings, those with most findings first.
struct Choices<T> {
    counts: Vec<(T, usize)>,
    numbers: BTreeMap<T, usize>,
}

impl<T: Ord + Copy> Choices<T> {
    fn new(values: impl Iterator<Item = T>) -> Self {
        let mut counts: BTreeMap<T, usize> = BTreeMap::new();
        for value in values {
            *counts.entry(value).or_default() += 1;
        }
        let mut counts: Vec<(T, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts.truncate(MAX_CHOICES);
        let numbers = counts.iter().enumerate().map(|(number, (value, _))| (*value, number)).collect();
        Self { counts, numbers }
    }

    /// Returns the number of choices; 0 where there is nothing to choose.
    fn menu_size(&self) -> usize {
        if self.counts.len() > 1 { self.counts.len() } else { 0 }
    }

    fn number(&self, value: &T) -> Option<usize> {
        self.numbers.get(value).copied().filter(|_| self.menu_size() > 0)
    }

    fn menu(&self, id: &str, label: &str, name: impl Fn(T) -> String) -> Markup {
        let class = &id[..1];
        html! {
            @if self.menu_size() > 0 {
                span.choice {
                    label for={ "show-" (id) } { (label) }
                    select id={ "show-" (id) } {
                        option { "any" }
                        @for (number, (value, count)) in self.counts.iter().enumerate() {
                            option class={ (class) (number) } { (visible_cut(&name(*value), 120)) " (" (count) ")" }
                        }
                    }
                }
            }
        }
    }
}
