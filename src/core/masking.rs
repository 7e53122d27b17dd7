//! Masks secrets in a file's text before anything else sees it.

use super::{canonical, secrets};
use crate::contracts::ids::Sha256Hex;
use crate::contracts::v1::{FileText, MaskedSecret, TextPlace};

/// Masks every secret of the hunks, then of the whole versions that `add_whole` puts beside them once it has seen the
/// masked hunks: lenses, artifacts and reports only know the masked form. Returns the digests of the values in the order
/// of [`FileText::secrets`].
pub(crate) fn mask_secrets(text: &mut FileText, add_whole: impl FnOnce(&mut FileText)) -> Vec<Sha256Hex> {
    let mut found = mask(TextPlace::Hunks, &mut text.text);
    add_whole(text);
    if let Some(whole) = &mut text.full_base {
        found.extend(mask(TextPlace::FullBase, whole));
    }
    if let Some(whole) = &mut text.full_head {
        found.extend(mask(TextPlace::FullHead, whole));
    }
    found.sort();
    let (secrets, digests) = found.into_iter().unzip();
    text.secrets = secrets;
    digests
}

fn mask(place: TextPlace, text: &mut String) -> Vec<(MaskedSecret, Sha256Hex)> {
    let spans = secrets::find(text);
    let offset = |offset: usize| u32::try_from(offset).expect("texts are bounded well below 4 GiB");
    let masked = |span: &secrets::SecretSpan| {
        let digest = canonical::sha256(&text.as_bytes()[span.start..span.end]);
        let (start, end) = (offset(span.start), offset(span.end));
        (MaskedSecret { place, start, end, detector: span.detector.to_owned(), value: 0 }, digest)
    };
    let found = spans.iter().map(masked).collect();
    secrets::mask(text, &spans);
    found
}
