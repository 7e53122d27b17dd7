//! Tolerances of assertions about numbers.

/// The tolerance of an assertion, beside the rest of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tolerance {
    /// Text of the assertion before the number.
    pub before: String,
    /// Parts per billion, the more the looser.
    pub parts: u128,
    pub unit: Unit,
}

/// Unit of a tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Difference from the expected number.
    Amount,
    /// Share of the expected number.
    Share,
    /// Last digit that has to agree.
    Digit,
}

const BILLION: u128 = 1_000_000_000;
/// Number that stands for infinity.
const ENDLESS: f64 = 1e27;

/// Words of a tolerance that is named, with their units.
const LIMITS: &[Named] = &[
    Named { word: "abs=", unit: Unit::Amount },
    Named { word: "abs:", unit: Unit::Amount },
    Named { word: "abs_tol=", unit: Unit::Amount },
    Named { word: "atol=", unit: Unit::Amount },
    Named { word: "delta=", unit: Unit::Amount },
    Named { word: "delta:", unit: Unit::Amount },
    Named { word: "epsilon=", unit: Unit::Amount },
    Named { word: "tolerance=", unit: Unit::Amount },
    Named { word: "be_within(", unit: Unit::Amount },
    Named { word: ".Within(", unit: Unit::Amount },
    Named { word: "within(", unit: Unit::Amount },
    Named { word: "offset(", unit: Unit::Amount },
    Named { word: "rel=", unit: Unit::Share },
    Named { word: "rel_tol=", unit: Unit::Share },
    Named { word: "rtol=", unit: Unit::Share },
    Named { word: "max_relative=", unit: Unit::Share },
    Named { word: "withPercentage(", unit: Unit::Share },
    Named { word: "decimal=", unit: Unit::Digit },
    Named { word: "places=", unit: Unit::Digit },
];
/// Calls whose last argument is a tolerance, with its unit.
const LAST: &[Named] = &[
    Named { word: "toBeCloseTo(", unit: Unit::Digit },
    Named { word: "assertAlmostEqual(", unit: Unit::Digit },
    Named { word: "assert_almost_equal(", unit: Unit::Digit },
    Named { word: "InEpsilon(", unit: Unit::Share },
    Named { word: "approx(", unit: Unit::Share },
    Named { word: "InDelta(", unit: Unit::Amount },
    Named { word: "EqualsWithDelta(", unit: Unit::Amount },
    Named { word: "BeApproximately(", unit: Unit::Amount },
    Named { word: "_NEAR(", unit: Unit::Amount },
    Named { word: "approximately(", unit: Unit::Amount },
    Named { word: "assert_in_delta", unit: Unit::Amount },
    Named { word: "assert_in_epsilon", unit: Unit::Share },
    Named { word: "closeTo(", unit: Unit::Amount },
];
/// Calls whose third argument is a tolerance.
const THIRD: &[&str] = &["assertArrayEquals(", "assertEquals(", "Assert.AreEqual(", "Assert.Equal("];

struct Named {
    word: &'static str,
    unit: Unit,
}

impl Tolerance {
    pub(super) fn new(before: String, number: f64, unit: Unit) -> Self {
        let amount = if unit == Unit::Digit { 10_f64.powf(-number) } else { number };
        Self { before, parts: parts_of(amount), unit }
    }

    /// Returns whether numbers pass that are more than a tenth away from the expected one, in parts per billion.
    pub fn is_wide(&self, expected: Option<u128>) -> bool {
        let parts = self.parts;
        match (self.unit, expected) {
            (Unit::Share, _) => parts * 10 > BILLION,
            (Unit::Amount, Some(0)) => parts * 2 >= BILLION,
            // No other whole number passes.
            (Unit::Amount, Some(whole)) if parts < BILLION && whole % BILLION == 0 => false,
            (Unit::Amount, Some(expected)) => parts * 10 > expected,
            (Unit::Digit, Some(0)) => parts >= BILLION,
            // Half of the last digit is tolerated. Zero passes as well, or a tenth of the number does.
            (Unit::Digit, Some(expected)) => parts >= 2 * expected || parts > BILLION && parts * 5 > expected,
            (Unit::Amount | Unit::Digit, None) => parts >= parts_of(ENDLESS),
        }
    }
}

/// Returns the tolerance that an assertion names.
pub(super) fn tolerance(text: &str) -> Option<Tolerance> {
    for Named { word, unit } in LIMITS {
        let Some((before, number)) = number_behind(text, word) else { continue };
        let percent = if *word == "withPercentage(" { 100.0 } else { 1.0 };
        return Some(Tolerance::new(before, number / percent, *unit));
    }
    let mut text = text;
    // A message may stand behind the number.
    while let Some((before, last)) = text.rsplit_once(',').filter(|(_, last)| last.starts_with('"')) {
        text = before;
        if last.contains('(') {
            return None;
        }
    }
    let (before, last) = text.rsplit_once(',')?;
    let last = last.trim_end_matches([')', ';']);
    let number = number(last)?;
    if let Some(named) = LAST.iter().find(|named| text.contains(named.word)) {
        return Some(Tolerance::new(before.to_owned(), number, named.unit));
    }
    let call = THIRD.iter().find_map(|word| text.split_once(word))?;
    let is_message = call.1.starts_with('"');
    let has_three = call.1.matches(',').count() >= 2 && !is_message;
    let is_of_digits = text.contains("Assert.Equal(") && last.bytes().all(|sign| sign.is_ascii_digit());
    let unit = if is_of_digits { Unit::Digit } else { Unit::Amount };
    has_three.then(|| Tolerance::new(before.to_owned(), number, unit))
}

/// Returns the number behind a word, and the text before it.
fn number_behind(text: &str, word: &str) -> Option<(String, f64)> {
    let at = text.find(word)? + word.len();
    let rest = &text[at..];
    let end = rest.find([',', ')', ']', ';']).unwrap_or(rest.len());
    Some((text[..at].to_owned(), number(&rest[..end])?))
}

/// Returns a number that is written out, or as a product or a power of numbers.
pub(super) fn number(text: &str) -> Option<f64> {
    const ENDS: &[&str] = &["f32", "f64", "f", "F", "d", "D", "L", "m", "M"];
    const LARGEST: &[&str] = &["inf", "Inf", "MAX", "Max", "maxsize"];
    const LONGEST: usize = 40;
    if text.len() > LONGEST {
        return None;
    }
    let text = text.trim_matches(['(', ')']);
    if let Some((base, power)) = text.split_once("**") {
        return Some(number(base)?.powf(number(power)?));
    }
    if let Some((one, other)) = text.split_once('*') {
        return Some(number(one)? * number(other)?);
    }
    let is_name = text.starts_with(|first: char| first.is_alphabetic());
    if is_name && LARGEST.iter().any(|word| text.contains(word)) {
        return Some(ENDLESS);
    }
    let digits = text.replace('_', "");
    if !digits.contains(|sign: char| sign.is_ascii_digit()) {
        return None;
    }
    let end = ENDS.iter().find_map(|end| digits.strip_suffix(end));
    digits.parse().ok().or_else(|| end?.parse().ok())
}

/// Returns the size of a number in parts per billion.
pub(super) fn parts_of(number: f64) -> u128 {
    let size = number.abs();
    if size.is_nan() { 0 } else { (size.min(ENDLESS) * 1e9).round() as u128 }
}

#[cfg(test)]
mod tests {
    use super::{number, parts_of, tolerance};

    #[test]
    fn numbers_are_read_in_the_spellings_of_several_languages() {
        for (text, expected) in [
            ("500", Some(500.0)),
            ("-9", Some(-9.0)),
            ("10_000", Some(1e4)),
            ("1e6", Some(1e6)),
            ("0.5f", Some(0.5)),
            ("1_000.0_f64", Some(1e3)),
            ("10**6", Some(1e6)),
            ("10*1000", Some(1e4)),
            ("float(\"inf\"", Some(super::ENDLESS)),
            ("Number.MAX_VALUE", Some(super::ENDLESS)),
            ("limit", None),
            ("max_delta", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }

    #[test]
    fn wide_tolerances_are_told_from_narrow_ones() {
        for (text, expected, is_wide) in [
            ("self.assertAlmostEqual(x,500,delta=1e6)", 500.0, true),
            ("self.assertAlmostEqual(x,500,delta=0.1)", 500.0, false),
            ("self.assertAlmostEqual(x,3.5,places=1)", 3.5, false),
            ("expect(x).toBeCloseTo(500,-9)", 500.0, true),
            ("expect(x).toBeCloseTo(500,0)", 500.0, false),
            ("expect(x).toBeCloseTo(0.01,2)", 0.01, false),
            ("expect(x).toBeCloseTo(0.001,2)", 0.001, true),
            ("assert x==pytest.approx(500,rel=0.5)", 500.0, true),
            ("assert x==pytest.approx(500,0.01)", 500.0, false),
            ("assertEquals(500,x,10000.0)", 500.0, true),
            ("assertEquals(500.0,x,1e-6)", 500.0, false),
            ("assertEquals(3,x,0.5)", 3.0, false),
            ("assert.InDelta(t,500,x,10000,\"wrong\")", 500.0, true),
            ("assertThat(x).isCloseTo(500.0,withPercentage(5))", 500.0, false),
            ("assertThat(x).isCloseTo(500.0,within(900.0))", 500.0, true),
            ("Assert.Equal(500.0,x,3)", 500.0, false),
            ("assert_abs_diff_eq!(x,0.0,epsilon=1e-9)", 0.0, false),
        ] {
            let found = tolerance(text).is_some_and(|found| found.is_wide(Some(parts_of(expected))));
            assert_eq!(found, is_wide, "{text}");
        }
        assert!(tolerance("assertEquals(\"wrong\",x,500)").is_none());
    }
}
