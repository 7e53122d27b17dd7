//! A drafted rubric as Markdown: what its maintainer reads before approving it.

use std::fmt::Write as _;

use qa_contracts::v1::{Convention, RubricDraft, Scope, Strength, Witness};
use qa_core::escape::{markdown as escaped, markdown_cell_code, markdown_code};

/// Number of exceptions that are shown; the JSON lists more.
const SHOWN_EXCEPTIONS: usize = 8;

pub(crate) fn with_strength(draft: &RubricDraft, strength: Strength) -> impl Iterator<Item = &Convention> {
    draft.conventions.iter().filter(move |convention| convention.strength == strength)
}

/// Renders the document.
pub fn markdown(draft: &RubricDraft) -> String {
    let mut out = String::new();

    let _infallible = write!(
        out,
        "# Conventions of this repository: draft {}\n\n\
         Mined from commit `{}` by qa-skill {}: {} source files, tested on the last {} merged changes.\n\
         This draft is not in force. `qa-skill consistency-approve` asks for decisions and freezes the accepted conventions.\n\n\
         {} conventions are proposed to block, {} to be advised; {} candidates were rejected.\n\n",
        draft.draft_version,
        draft.commit,
        escaped(&draft.engine_version),
        draft.files_read,
        draft.changes,
        with_strength(draft, Strength::Block).count(),
        with_strength(draft, Strength::Advise).count(),
        draft.rejected.len(),
    );
    difference(draft, &mut out);
    for (title, strength) in
        [("Proposed to block", Strength::Block), ("Proposed to advise", Strength::Advise)]
    {
        if with_strength(draft, strength).next().is_some() {
            let _infallible = write!(out, "## {title}\n\n");
        }
        with_strength(draft, strength).for_each(|convention| section(convention, &mut out));
    }
    if !draft.rejected.is_empty() {
        out.push_str("## Considered and rejected\n\n| about | in | nearest form | keep it | why not |\n|---|---|---|---|---|\n");
        for rejected in &draft.rejected {
            let topic =
                if rejected.topic.is_empty() { String::new() } else { format!(" ({})", rejected.topic) };
            let _infallible = writeln!(
                out,
                "| {}{} | {} {} | {} | {} of {} | {} |",
                rejected.family.as_str(),
                escaped(&topic),
                escaped(&rejected.language),
                part(rejected.part),
                markdown_cell_code(&rejected.form),
                rejected.support - rejected.exceptions,
                rejected.support,
                escaped(&rejected.reason),
            );
        }
    }
    if draft.files_left_out > 0 {
        let _infallible = write!(
            out,
            "\n{} files were left out: too large, not UTF-8, or beyond the bound on files.\n",
            draft.files_left_out
        );
    }
    out
}

fn part(part: Scope) -> &'static str {
    if part == Scope::Test { "tests" } else { "product code" }
}

fn difference(draft: &RubricDraft, out: &mut String) {
    let Some(difference) = &draft.difference else { return };
    let _infallible = write!(out, "## Since version {}\n\n", difference.rubric_version);
    let lists =
        [("New", &difference.added), ("No longer kept", &difference.gone), ("Kept less", &difference.fallen)];
    for (title, list) in lists {
        for entry in list {
            let _infallible = writeln!(out, "- {title}: {}", escaped(entry));
        }
    }
    if lists.iter().all(|(_, list)| list.is_empty()) {
        out.push_str("No difference.\n");
    }
    out.push('\n');
}

fn section(convention: &Convention, out: &mut String) {
    let Convention { support, exceptions, back_test, .. } = convention;
    let globs: Vec<String> = convention.paths.iter().map(|glob| markdown_code(glob)).collect();
    let _infallible = write!(
        out,
        "### {}\n\n`{}` · {} · {}\n\n{} of {support} places keep it ({} ‰, at least {} ‰ with 95 % confidence). {}.\n\n",
        escaped(&convention.statement),
        convention.id,
        part(convention.part),
        globs.join(", "),
        support - exceptions,
        convention.confidence_permille,
        convention.lower_bound_permille,
        escaped(&convention.reason),
    );
    places("Kept", &convention.exemplars, usize::MAX, out);
    places("Not kept", &convention.exceptions_listed, SHOWN_EXCEPTIONS, out);
    if !back_test.commits.is_empty() {
        let commits: Vec<String> =
            back_test.commits.iter().map(|commit| format!("`{}`", commit.short())).collect();
        let _infallible = writeln!(out, "- Broken by {}", commits.join(", "));
    }
    out.push('\n');
}

fn places(title: &str, witnesses: &[Witness], most: usize, out: &mut String) {
    for witness in witnesses.iter().take(most) {
        let text = if witness.text.is_empty() {
            String::new()
        } else {
            format!(" {}", markdown_code(&witness.text))
        };
        let place = markdown_code(&format!("{}:{}", witness.path, witness.line));
        let _infallible = writeln!(out, "- {title}: {place}{text}");
    }
}
