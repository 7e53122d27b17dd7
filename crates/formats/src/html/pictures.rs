//! The pictures that tests left, each with the test and the steps it shows. They stand in the page itself: a page that is
//! moved keeps them, and it names no other file.

use maud::{Markup, html};

use crate::contract::Report;
use qa_core::escape::{visible, visible_cut};
use qa_core::pictures::{MAX_PICTURES, Screenshot};

/// The most pictures that are listed as missing.
const MAX_MISSING: usize = 5 * MAX_PICTURES;

/// Returns whether there is a picture.
pub(super) fn any(report: &Report<'_>) -> bool {
    report.screenshots.iter().any(|screenshot| screenshot.picture.is_ok())
}

pub(super) fn section(report: &Report<'_>) -> Markup {
    if report.screenshots.is_empty() {
        return html! {};
    }
    let missing: Vec<(&Screenshot, &String)> = report
        .screenshots
        .iter()
        .filter_map(|screenshot| Some((screenshot, screenshot.picture.as_ref().err()?)))
        .collect();
    html! {
        section aria-labelledby="pictures" {
            h2 id="pictures" { "Pictures" small { (report.screenshots.len() - missing.len()) " of " (report.screenshots.len()) } }
            @for screenshot in report.screenshots {
                @if let Ok(picture) = &screenshot.picture {
                    figure {
                        img src=(picture.address()) alt={ "Picture left by " (visible_cut(&screenshot.test, 200)) };
                        figcaption {
                            (what(screenshot))
                            " " code.muted { (visible(&screenshot.path.to_string())) }
                        }
                    }
                }
            }
            @if !missing.is_empty() {
                ul.plain {
                    @for (screenshot, problem) in missing.iter().take(MAX_MISSING) {
                        li {
                            span.tag.degraded { "not here" } " " code { (visible_cut(&screenshot.path.to_string(), 300)) }
                            ": " (visible_cut(problem, 300)) "; " (what(screenshot))
                        }
                    }
                }
                (super::sections::left_out(MAX_MISSING, missing.len(), "picture", "qa-report.json"))
            }
        }
    }
}

fn what(screenshot: &Screenshot) -> Markup {
    html! {
        strong { (visible_cut(&screenshot.test, 400)) }
        @if !screenshot.steps.is_empty() { " shows " (screenshot.steps.join(", ")) }
    }
}
