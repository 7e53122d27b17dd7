//! Secrets from generators that are not cryptographic.

use super::rules;
use super::site::{Check, Found, Site, last_name};
use qa_reading::expressions::{Expression, Form};
use qa_reading::syntax::Language;

pub(super) const WEAK: Check =
    Check::new(rules::WEAK_RANDOM, "secret is made of numbers that can be guessed", weak).of_calls(&[
        "Random",
        "choice",
        "choices",
        "getrandbits",
        "mt_rand",
        "rand",
        "randint",
        "random",
        "randrange",
        "sample",
        "uniqid",
    ]);

/// Words in the names of secrets.
const SECRETS: &[&str] =
    &["apikey", "credential", "csrf", "nonce", "otp", "passwd", "password", "salt", "secret", "token"];
/// Words that exclude a name with one of those.
const OTHERS: &[&str] =
    &["count", "dummy", "example", "fake", "index", "length", "mock", "sample", "size", "test"];

fn weak(site: &Site<'_>) -> Found {
    let Form::Call { object, name, is_new } = site.form else { return Vec::new() };
    let owner = object.and_then(last_name);
    let is_weak = match site.language() {
        Language::JavaScript | Language::Tsx | Language::TypeScript => {
            owner == Some("Math") && name == "random"
        }
        Language::Python => owner == Some("random"),
        Language::Java | Language::CSharp => {
            is_new && name == "Random" || owner == Some("Math") && name == "random"
        }
        Language::Php => object.is_none() && matches!(name, "mt_rand" | "rand" | "uniqid"),
        Language::Ruby => object.is_none() && name == "rand",
        Language::C | Language::Cpp | Language::Go | Language::Kotlin | Language::Rust => false,
    };
    site.if_true(is_weak && is_for_secret(site.expression))
}

/// Returns whether the target of a value, or the function around it, has the name of a secret.
fn is_for_secret(value: Expression<'_>) -> bool {
    for around in value.ancestors() {
        let form = around.form();
        if let Form::Assign { target, .. } | Form::Declare { target, .. } | Form::Pair { name: target, .. } =
            form
        {
            if last_name(target).is_some_and(names_secret) {
                return true;
            }
        } else if around.is_function()
            && let Some(name) = around.defined_name()
        {
            return names_secret(name.source());
        }
    }
    false
}

fn names_secret(name: &str) -> bool {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        if letter.is_uppercase() || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.iter().any(|word| SECRETS.contains(&word.as_str()))
        && !words.iter().any(|word| OTHERS.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::names_secret;

    #[test]
    fn names_of_secrets_are_told_from_others() {
        for (name, expected) in [
            ("new_token", true),
            ("newSessionToken", true),
            ("csrf", true),
            ("tokenize", false),
            ("token_count", false),
            ("tokens", false),
            ("testToken", false),
        ] {
            assert_eq!(names_secret(name), expected, "{name}");
        }
    }
}
