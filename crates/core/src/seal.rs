//! Seals data with a keyed hash, so that nobody without the key can make it.

use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use sha2::Sha256;

use super::canonical::{self, CanonicalError};
use qa_contracts::ids::Sha256Hex;
use qa_contracts::secret::Secret;

/// Domain separator: prevents a seal from being valid for another use of the key.
const PURPOSE: &[u8] = b"qa-skill reply v1\0";

/// Returns the seal over a value's canonical JSON.
pub fn seal<T: Serialize + ?Sized>(value: &T, key: &Secret) -> Result<Sha256Hex, CanonicalError> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key.expose().as_bytes()).expect("any length is a key");
    mac.update(PURPOSE);
    mac.update(&canonical::to_vec(value)?);
    // Hashing the code once more makes a comparison in variable time harmless.
    Ok(canonical::sha256(&mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_follows_value_and_key() {
        let of = |value: &str, key: &str| seal(value, &Secret::new(key).unwrap()).unwrap();
        assert_eq!(of("a", "k"), of("a", "k"));
        assert_ne!(of("a", "k"), of("a", "l"));
        assert_ne!(of("a", "k"), of("b", "k"));
    }
}
