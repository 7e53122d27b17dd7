//! A drafted rubric as one self-contained page.

use maud::{DOCTYPE, PreEscaped, html};

use super::STYLE;
use crate::rubric_draft::with_strength;
use qa_contracts::v1::{Convention, RubricDraft, Scope, Strength, Witness};
use qa_core::escape::visible;

/// Renders the page.
pub fn page(draft: &RubricDraft) -> String {
    let blocking: Vec<&Convention> = with_strength(draft, Strength::Block).collect();
    let advised: Vec<&Convention> = with_strength(draft, Strength::Advise).collect();
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(super::policy_of(&[super::STYLE], false));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                title { "Conventions, draft " (draft.draft_version) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main.page id="main" {
                    h1 { "Conventions of this repository: draft " (draft.draft_version) }
                    p {
                        "Mined from commit " code { (draft.commit) } " by qa-skill " (visible(&draft.engine_version)) ": "
                        (draft.files_read) " source files, tested on the last " (draft.changes) " merged changes. "
                        "A draft applies once it is approved."
                    }
                    @if let Some(difference) = &draft.difference {
                        h2 { "Since version " (difference.rubric_version) }
                        ul {
                            @for entry in &difference.added { li { "New: " (visible(entry)) } }
                            @for entry in &difference.gone { li { "No longer kept: " (visible(entry)) } }
                            @for entry in &difference.fallen { li { "Kept less: " (visible(entry)) } }
                        }
                    }
                    @for (title, list) in [("Proposed to block", &blocking), ("Proposed to advise", &advised)] {
                        @if !list.is_empty() { h2 { (title) } }
                        @for convention in list { (section(convention)) }
                    }
                    @if !draft.rejected.is_empty() {
                        h2 { "Considered and rejected" }
                        table {
                            thead { tr { th { "about" } th { "in" } th { "nearest form" } th { "keep it" } th { "why not" } } }
                            tbody {
                                @for rejected in &draft.rejected {
                                    tr {
                                        td { (rejected.family.as_str()) " " (visible(&rejected.topic)) }
                                        td { (visible(&rejected.language)) " " (part(rejected.part)) }
                                        td { code { (visible(&rejected.form)) } }
                                        td { (rejected.support - rejected.exceptions) " of " (rejected.support) }
                                        td { (visible(&rejected.reason)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    };
    markup.into_string() + "\n"
}

fn part(part: Scope) -> &'static str {
    if part == Scope::Test { "tests" } else { "product code" }
}

fn section(convention: &Convention) -> maud::Markup {
    let Convention { support, exceptions, back_test, .. } = convention;
    html! {
        h3 { (visible(&convention.statement)) }
        p {
            code { (convention.id) } " · " (part(convention.part)) " · "
            @for glob in &convention.paths { code { (visible(glob)) } " " }
        }
        p {
            (support - exceptions) " of " (support) " places keep it (" (convention.confidence_permille) " ‰, at least "
            (convention.lower_bound_permille) " ‰ with 95 % confidence). " (visible(&convention.reason)) "."
        }
        ul {
            @for witness in &convention.exemplars { (place("Kept", witness)) }
            @for witness in &convention.exceptions_listed { (place("Not kept", witness)) }
            @for commit in &back_test.commits { li { "Broken by " code { (commit.short()) } } }
        }
    }
}

fn place(title: &str, witness: &Witness) -> maud::Markup {
    html! {
        li { (title) ": " code { (visible(&witness.path)) ":" (witness.line) } " " code { (visible(&witness.text)) } }
    }
}
