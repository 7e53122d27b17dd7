//! Methods that did something, refuse by now, and that nothing overrides.

use serde::{Deserialize, Serialize};

use super::STUBBED;
use super::compared::{Compared, Pair};
use super::expected::tightened;
use super::stubs::{BEHAVIOUR, UNIMPLEMENTED, is_abstract, is_meant, is_moved};
use crate::contract::{Draft, Fact, Lookups};
use crate::imports::Family;
use crate::pattern::Pattern;
use qa_contracts::v1::{MentionKind, Side};
use qa_reading::names::joins;
use qa_reading::syntax::Effect;

/// Words of a class that others extend.
static ANNOUNCED: Pattern = Pattern::new(
    r"\bABC\b|\bProtocol\b|\bclass (?:Abstract|Base)|(?i)abstract|child class|derived|interface|mixin|not supported|overrid|subclass|unsupported|must implement",
);
/// A method that is abstract if another class overrides it; the draft says where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RefusedMethod {
    language: MentionKind,
    method: String,
}

/// Returns the methods of a file that did something and refuse by now.
pub(super) fn inspect(compared: &Compared<'_>, pairs: &[Pair<'_>]) -> Vec<Fact> {
    let family = compared.packet.path().to_text().parse_family();
    let Some(language @ (MentionKind::Python | MentionKind::Ruby)) = family else { return Vec::new() };
    let refused = pairs.iter().filter(|pair| {
        let (before, now) = (pair.base.facts(), pair.head.facts());
        now.effect == Effect::Unimplemented
            && before.effect == Effect::Acts
            && before.deeds >= BEHAVIOUR
            && !is_moved(compared, pair)
            && is_abstract(
                compared.language,
                pair.head,
                compared.head.text,
                pair.head.span.of(compared.head.text),
            )
            && !pair.head.head.of(compared.head.text).contains("abstract")
    });
    let facts = refused.filter_map(|pair| {
        let (class, method) = pair.head.path.rsplit_once('.')?;
        let text = compared.head.text;
        let refusal = pair.head.facts().statement.of(text);
        // Whoever says why it refuses means it, and classes say that they are made to be extended.
        let has_message =
            tightened(refusal).split_once('(').is_some_and(|(_, message)| !message.starts_with(')'));
        let is_explained = has_message || ANNOUNCED.is_match(text) || is_meant(compared, pair.head);
        let is_overridden = definitions(method).iter().any(|word| {
            let whole = text.match_indices(word.as_str());
            let whole = whole.filter(|(at, _)| !text[at + word.len()..].starts_with(joins));
            whole.count() > usize::from(word.starts_with("def "))
        });
        let draft = compared.at_head(STUBBED, pair.head.facts().statement, UNIMPLEMENTED)?;
        let fact = RefusedMethod { language, method: method.to_owned() };
        (!class.is_empty() && !is_explained && !is_overridden).then(|| Fact::new(&fact, Some(draft)))
    });
    facts.collect()
}

/// Returns the words by which a class overrides a method.
fn definitions(method: &str) -> [String; 7] {
    [
        format!("def {method}"),
        format!("{method} ="),
        format!("\"{method}\""),
        format!("'{method}'"),
        format!(":{method}"),
        format!("{method}="),
        format!("alias {method}"),
    ]
}

/// Returns the drafts about methods that no other file overrides.
pub(super) fn drafts(facts: &[Fact], lookups: &dyn Lookups) -> Vec<Draft> {
    let refused = facts.iter().filter_map(|fact| {
        let RefusedMethod { language, method } = fact.read::<RefusedMethod>()?;
        let draft = fact.draft.clone()?;
        let found = lookups.mentions(Side::Head, language, &definitions(&method));
        let own = draft.file.to_text().into_owned();
        (found.complete && found.paths.iter().all(|path| *path == own)).then_some(draft)
    });
    refused.collect()
}
