//! Times in another unit than their receiver takes.

use super::assignments::{Unit, differs, unit_of};
use super::rules;
use super::site::{Check, Found, Site, last_name};
use qa_reading::expressions::{Expression, Form, Operator};
use qa_reading::syntax::Language;

pub(super) const MADE: Check =
    Check::new(rules::UNIT_MISMATCH, "value is in another unit than the function takes", made).of_calls(&[
        "Duration",
        "FromHours",
        "FromMilliseconds",
        "FromMinutes",
        "FromSeconds",
        "Sleep",
        "from_millis",
        "from_secs",
        "from_secs_f64",
        "ofHours",
        "ofMillis",
        "ofMinutes",
        "ofSeconds",
    ]);
pub(super) const MOMENT: Check =
    Check::new(rules::UNIT_MISMATCH, "time and what is added to it are in different units", moment);

fn unit_of_value(value: Expression<'_>) -> Option<Unit> {
    let is_name = matches!(value.form(), Form::Name(_) | Form::Member { .. });
    is_name.then(|| last_name(value).and_then(unit_of)).flatten()
}

fn made(site: &Site<'_>) -> Found {
    let Form::Call { object: Some(object), name, .. } = site.form else { return Vec::new() };
    let [given] = site.arguments()[..] else { return Vec::new() };
    let unit = match (site.language(), last_name(object), name) {
        (Language::Rust, Some("Duration"), "from_secs" | "from_secs_f64") => "s",
        (Language::Rust, Some("Duration"), "from_millis") => "ms",
        (Language::CSharp, Some("TimeSpan"), "FromSeconds") => "s",
        (Language::CSharp, Some("TimeSpan"), "FromMilliseconds") => "ms",
        (Language::CSharp, Some("TimeSpan"), "FromMinutes") => "min",
        (Language::CSharp, Some("TimeSpan"), "FromHours") => "h",
        (Language::CSharp, Some("Thread"), "Sleep") => "ms",
        (Language::Java | Language::Kotlin, Some("Duration"), "ofSeconds") => "s",
        (Language::Java | Language::Kotlin, Some("Duration"), "ofMillis") => "ms",
        (Language::Java | Language::Kotlin, Some("Duration"), "ofMinutes") => "min",
        (Language::Java | Language::Kotlin, Some("Duration"), "ofHours") => "h",
        // `time.Duration(n) * time.Second` takes a number of seconds.
        (Language::Go, Some("time"), "Duration") if !is_multiplied(site.expression) => "ns",
        _ => return Vec::new(),
    };
    site.if_true(differs(Some(("time", unit)), unit_of_value(given)))
}

fn is_multiplied(call: Expression<'_>) -> bool {
    let around = call.ancestors().find(|node| node.unwrapped() == *node);
    around.is_some_and(|around| matches!(around.written_operator(), "*" | "*="))
}

fn moment(site: &Site<'_>) -> Found {
    let Form::Binary { left, operator: Operator::Plus | Operator::Minus, right } = site.form else {
        return Vec::new();
    };
    let wrong = [(left, right), (right, left)].into_iter().any(|(now, added)| {
        let Form::Call { object, name, .. } = now.form() else { return false };
        let unit = match (site.language(), object.and_then(last_name), name) {
            (Language::JavaScript | Language::Tsx | Language::TypeScript, Some("Date"), "now") => "ms",
            (Language::Java | Language::Kotlin, Some("System"), "currentTimeMillis") => "ms",
            (Language::Python, Some("time"), "time" | "monotonic") => "s",
            (Language::Php, None, "time") => "s",
            _ => return false,
        };
        differs(Some(("time", unit)), unit_of_value(added))
    });
    site.if_true(wrong)
}
