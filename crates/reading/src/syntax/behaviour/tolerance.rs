//! Tolerances of assertions about numbers.

/// The tolerance of an assertion, beside the rest of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tolerance {
    /// Text of the assertion before the number.
    pub before: String,
    /// Parts per billion, the more the looser.
    pub parts: u64,
}

/// Returns the tolerance that an assertion names.
pub(super) fn tolerance(text: &str) -> Option<Tolerance> {
    const LIMITS: &[&str] = &[
        "abs=",
        "abs_tol=",
        "atol=",
        "delta=",
        "epsilon=",
        "rel=",
        "rel_tol=",
        "rtol=",
        "tolerance=",
        "be_within(",
    ];
    const DIGITS: &[&str] = &["decimal=", "places="];
    let numbered = LIMITS.iter().find_map(|word| number_behind(text, word));
    if let Some((before, number)) = numbered {
        return Some(Tolerance { before, parts: parts_of(number) });
    }
    if let Some((before, digits)) = DIGITS.iter().find_map(|word| number_behind(text, word)) {
        return Some(Tolerance { before, parts: parts_of(10_f64.powf(-digits)) });
    }
    let last = text.rsplit_once(',').map(|(before, last)| (before, last.trim_end_matches([')', ';'])))?;
    let number: f64 = last.1.parse().ok()?;
    let is_of_digits = ["toBeCloseTo(", "assertAlmostEqual("].iter().any(|word| text.contains(word));
    let has_three = text.matches(',').count() >= 2;
    let is_within = ["InDelta(", "InEpsilon(", "NEAR(", "approximately(", "closeTo("]
        .iter()
        .any(|word| text.contains(word))
        || has_three && ["assertArrayEquals(", "assertEquals("].iter().any(|word| text.contains(word));
    let parts = match (is_within, is_of_digits) {
        (true, _) => parts_of(number),
        (false, true) => parts_of(10_f64.powf(-number)),
        (false, false) => return None,
    };
    Some(Tolerance { before: last.0.to_owned(), parts })
}

/// Returns the number behind a word, and the text before it.
fn number_behind(text: &str, word: &str) -> Option<(String, f64)> {
    let at = text.find(word)? + word.len();
    let rest = &text[at..];
    let end = rest.find([',', ')', ']', ';']).unwrap_or(rest.len());
    Some((text[..at].to_owned(), rest[..end].parse().ok()?))
}

/// Returns a tolerance in parts per billion.
fn parts_of(number: f64) -> u64 {
    const BILLION: f64 = 1e9;
    if number.is_finite() && number > 0.0 { (number * BILLION).min(1e18).round() as u64 } else { 0 }
}
