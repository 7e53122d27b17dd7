//! Masks secrets in a file's text before anything else sees it.

use super::{canonical, secrets};
use crate::contracts::ids::Sha256Hex;
use crate::contracts::v1::{FileText, MaskedSecret, TextPlace};

/// Masks every secret before anything else sees the text: lenses, artifacts and reports only know the masked form.
/// Returns the digests of the values in the order of [`FileText::secrets`].
pub(crate) fn mask_secrets(text: &mut FileText) -> Vec<Sha256Hex> {
    let mut found: Vec<(MaskedSecret, Sha256Hex)> = Vec::new();
    let mut mask = |place: TextPlace, text: &mut String| {
        let spans = secrets::find(text);
        let offset = |offset: usize| u32::try_from(offset).expect("texts are bounded well below 4 GiB");
        found.extend(spans.iter().map(|span| {
            let digest = canonical::sha256(&text.as_bytes()[span.start..span.end]);
            let (start, end) = (offset(span.start), offset(span.end));
            (MaskedSecret { place, start, end, detector: span.detector.to_owned(), value: 0 }, digest)
        }));
        secrets::mask(text, &spans);
    };
    mask(TextPlace::Hunks, &mut text.text);
    if let Some(whole) = &mut text.full_base {
        mask(TextPlace::FullBase, whole);
    }
    if let Some(whole) = &mut text.full_head {
        mask(TextPlace::FullHead, whole);
    }
    found.sort();
    let (secrets, digests) = found.into_iter().unzip();
    text.secrets = secrets;
    digests
}
