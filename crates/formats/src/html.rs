//! `html`: one self-contained page with the findings in their hunks, the coverage and the proof.

pub mod drive;
mod filter;
mod finding;
pub mod ledger;
mod pictures;
pub mod rubric;
mod sections;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::common::{counted, extent, findings, further_reasons, reason, uncommitted, verdict_word};
use crate::contract::{Format, FormatSpec, Report};
use crate::gaps::gaps;
use filter::Filter;
use qa_contracts::v1::{Conclusion, Finding};
use qa_core::canonical::sha256;
use qa_core::escape::{visible, visible_cut};

/// The style sheet; it stands in the page, so that one file is all there is.
const STYLE: &str = include_str!("html/style.css");
/// The most sentences of the rationale.
const MAX_RATIONALE: usize = 30;

/// HTML page without scripts or requests.
pub(crate) struct Html;

impl Format for Html {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec { id: "html", title: "One self-contained page", file: Some("report.html") }
    }

    fn render(&self, report: &Report<'_>) -> Vec<u8> {
        let mut bytes = page(report).into_string().into_bytes();
        bytes.push(b'\n');
        bytes
    }
}

fn page(report: &Report<'_>) -> Markup {
    let word = verdict_word(report.result.final_verdict.conclusion);
    let all = findings(report);
    let filter = Filter::new(&all[..all.len().min(finding::MAX_SHOWN)]);
    let filter_style = filter.style();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy_of(&[STYLE, &filter_style], pictures::any(report)));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                meta name="robots" content="noindex";
                title { (word) " · qa-skill · " (visible(&report.input.repo_id)) }
                style { (PreEscaped(STYLE)) }
                style { (PreEscaped(&filter_style)) }
            }
            body {
                a.skip href="#main" { "Skip to the result" }
                (banner(report))
                main.page id="main" { (body(report, &all, &filter)) }
            }
        }
    }
}

fn body(report: &Report<'_>, all: &[&Finding], filter: &Filter<'_>) -> Markup {
    let gaps = gaps(report);
    let mut parts = [
        ("findings", "Findings", finding::section(report, all, filter)),
        ("gaps", "Not looked at", sections::not_looked_at(&gaps)),
        ("reviews", "Reviews by a model", sections::reviews(report)),
        ("gates", "Quality gates", sections::gates(report)),
        ("pictures", "Pictures", pictures::section(report)),
        ("codes", "Codes", sections::codes(report)),
        ("preview", "Policy preview", sections::preview(report)),
        ("coverage", "Coverage", sections::coverage(report, all)),
        ("plans", "Lenses", sections::plans(report)),
        ("sensitivity", "Sensitivity", sections::sensitivity(report)),
        ("cross-check", "Cross-check", sections::cross_check(report)),
        ("proof", "Proof", sections::proof(report)),
    ];
    if report.result.final_verdict.conclusion == Conclusion::CouldNotComplete {
        // The gaps are the message of such a run, so they precede the findings.
        parts[..4].rotate_left(1);
    }
    let parts: Vec<_> = parts.into_iter().filter(|(_, _, markup)| !markup.0.is_empty()).collect();
    html! {
        (sections::numbers(report, all))
        nav.contents aria-label="Contents" {
            ul { @for (id, title, _) in &parts { li { a href={ "#" (id) } { (title) } } } }
        }
        @for (_, _, markup) in &parts { (markup) }
    }
}

fn banner(report: &Report<'_>) -> Markup {
    let verdict = &report.result.final_verdict;
    let symbol = match verdict.conclusion {
        Conclusion::Pass => "✔",
        Conclusion::Fail => "✖",
        Conclusion::CouldNotComplete => "◌",
    };
    let reasons = further_reasons(report);
    let rest = reasons.len().saturating_sub(MAX_RATIONALE);
    html! {
        header.banner.(verdict.conclusion.as_str()) {
            div.page {
                p.name {
                    "qa-skill · " (visible(&report.input.repo_id)) " · "
                    code { (report.input.merge_base_sha.short()) } " → "
                    @match uncommitted(report) {
                        Some(content) => (content.as_str()),
                        None => code { (report.input.head_sha.short()) },
                    }
                }
                h1 { span aria-hidden="true" { (symbol) " " } (verdict_word(verdict.conclusion)) }
                p.reason { (reason(report)) }
                p.extent { (extent(report)) "." }
                @if !reasons.is_empty() {
                    ul {
                        @for line in reasons.iter().take(MAX_RATIONALE) { li { (visible_cut(line, 600)) } }
                        @if rest > 0 { li { (counted(rest, "more reason")) " in final-verdict.json" } }
                    }
                }
            }
        }
    }
}

/// Returns the content security policy: nothing may be loaded or run; styles are named by their digests, so that not even
/// injected style would apply. Pictures stand in the page itself.
fn policy_of(styles: &[&str], has_pictures: bool) -> String {
    let digests = styles.iter().map(|style| base64(sha256(style.as_bytes()).as_str()));
    let styles: Vec<String> = digests.map(|digest| format!("'sha256-{digest}'")).collect();
    let styles = styles.join(" ");
    let pictures = if has_pictures { " img-src data:;" } else { "" };
    format!("default-src 'none'; style-src {styles};{pictures} base-uri 'none'; form-action 'none'")
}

/// The base64 form of bytes given as hexadecimal digits.
fn base64(hex: &str) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let nibbles: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    // Three nibbles are twelve bits are two signs.
    let mut out = String::new();
    for three in nibbles.chunks(3) {
        let bits = three.iter().fold(0, |bits, nibble| bits << 4 | nibble) << (4 * (3 - three.len()));
        out.push(char::from(SIGNS[(bits >> 6) as usize]));
        if three.len() > 1 {
            out.push(char::from(SIGNS[(bits & 63) as usize]));
        }
    }
    while !out.len().is_multiple_of(4) {
        out.push('=');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use crate::tests::elements;

    fn text(sample: &sample::Sample) -> String {
        String::from_utf8(Html.render(&sample.report(false))).unwrap()
    }

    #[test]
    fn the_page_is_well_formed_and_loads_and_runs_nothing() {
        let tags = regex::Regex::new("<[^>]* (?:src|style|on[a-z]+)=").unwrap();
        let picture = regex::Regex::new(
            "<img (src=\"data:image/(?:png|jpeg);base64,[A-Za-z0-9+/]+=*\") alt=\"[^\"<>]*\">",
        )
        .unwrap();
        let links = regex::Regex::new("href=\"([^\"]*)\"").unwrap();
        for (name, sample) in sample::all() {
            let page = text(&sample);
            let names = elements(&page.replace(STYLE, ""));
            let page = picture.replace_all(&page, "");
            assert!(!page.contains("<img"), "{name}");
            for banned in ["script", "link", "iframe", "object", "form", "base", "svg"] {
                assert!(!names.contains(banned), "{name}: {banned}");
            }
            assert!(!tags.is_match(&page), "{name}");
            assert!(links.captures_iter(&page).all(|link| link[1].starts_with('#')), "{name}");
        }
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import") && !STYLE.contains('<'));
    }

    #[test]
    fn every_link_inside_the_page_has_its_target() {
        let links = regex::Regex::new("href=\"#([^\"]*)\"").unwrap();
        for (name, sample) in sample::all() {
            let page = text(&sample);
            for link in links.captures_iter(&page) {
                let count = page.matches(&format!("id=\"{}\"", &link[1])).count();
                assert_eq!(count, 1, "{name}: {}", &link[1]);
            }
        }
    }

    #[test]
    fn a_large_run_stays_small_and_says_what_is_left_out() {
        let page = text(&sample::large(10_000, 20_000));
        assert!(page.len() < 4_000_000, "{}", page.len());
        assert!(page.contains("lens-results.json") && page.contains("coverage.json"));
    }

    #[test]
    fn what_is_missing_comes_first_where_that_is_the_message() {
        let order =
            |page: String| page.find("id=\"gaps\"").zip(page.find("id=\"findings\"")).map(|(a, b)| a < b);
        assert_eq!(order(text(&sample::incomplete())), Some(true));
        assert_eq!(order(text(&sample::large(10, 20))), Some(false));
    }

    #[test]
    fn the_style_is_allowed_by_its_digest() {
        assert_eq!(base64("00"), "AA==");
        assert_eq!(base64("ffff"), "//8=");
        assert_eq!(base64("000102"), "AAEC");
        assert_eq!(base64(&"ff".repeat(32)), format!("{}8=", "/".repeat(42)));
    }
}
