//! Finds the vendor of a value that is assigned to a name.

use std::sync::LazyLock;

use super::detector::{Alphabet, Compiled, Detector, VendorValue};
use super::plausible::is_token_byte;
use super::{plausible, rules, service};

static SHAPES: LazyLock<Vec<Compiled>> =
    LazyLock::new(|| service::SHAPES.iter().map(Compiled::new).collect());

/// Returns the detector of the vendor whose format an assigned value has.
pub(super) fn find_vendor_by_format(value: &[u8]) -> Option<&'static Detector> {
    SHAPES
        .iter()
        .find(|compiled| {
            let found = compiled.regex().and_then(|regex| regex.find(value));
            matches!(found, Some(found) if found.end() == value.len()) && plausible::is_token(value, 3000)
        })
        .map(|compiled| &compiled.token.detector)
}

/// Returns the detector of the vendor whose name an identifier contains and whose values look like this one.
pub(super) fn find_vendor_by_name(name: &[u8], value: &[u8]) -> Option<&'static Detector> {
    let plain: Vec<u8> =
        name.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect();
    rules::VENDOR_VALUES
        .iter()
        .find(|rule| {
            rule.length.contains(&value.len())
                && rule.names.iter().any(|vendor| plausible::contains(&plain, vendor.as_bytes()))
                && fits(rule, value)
        })
        .map(|rule| &rule.detector)
}

fn fits(rule: &VendorValue, value: &[u8]) -> bool {
    let shape = plausible::Shape::new(value);
    let alphabet = match rule.alphabet {
        Alphabet::Hex => value.iter().all(u8::is_ascii_hexdigit),
        Alphabet::Alnum => value.iter().all(u8::is_ascii_alphanumeric),
        Alphabet::Url => value.iter().all(|byte| is_token_byte(*byte)),
        Alphabet::Base64 => {
            value.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
        }
        Alphabet::Uuid => value.iter().enumerate().all(|(at, byte)| {
            if matches!(at, 8 | 13 | 18 | 23) { *byte == b'-' } else { byte.is_ascii_hexdigit() }
        }),
    };
    alphabet && shape.digits > 0 && shape.lower + shape.upper > 0 && plausible::is_token(value, 0)
}
