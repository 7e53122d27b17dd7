//! Masks secrets in names and texts before anything else sees them.

use std::collections::BTreeMap;

use super::diff::lossy;
use super::escape::{visible, visible_cut};
use super::packet::Packet;
use super::secrets::SecretSpan;
use super::{canonical, secrets};
use qa_contracts::ids::{RepoPath, Sha256Hex};
use qa_contracts::v1::{ChangedFile, FileText, MaskedSecret, TextPlace};

/// Masks every secret of the hunks, including those of [`keys_across`], and then of the full versions, which `add_whole`
/// adds after it has seen the masked hunks. Lenses, artifacts and reports get the masked form only.
///
/// Returns the digests of the values in the order of [`FileText::secrets`].
pub fn mask_secrets(
    text: &mut FileText,
    keys: &[SecretSpan],
    add_whole: impl FnOnce(&mut FileText),
) -> Vec<Sha256Hex> {
    let mut found = mask(TextPlace::Hunks, &mut text.text, keys);
    add_whole(text);
    if let Some(whole) = &mut text.full_base {
        found.extend(mask(TextPlace::FullBase, whole, &[]));
    }
    if let Some(whole) = &mut text.full_head {
        found.extend(mask(TextPlace::FullHead, whole, &[]));
    }
    found.sort();
    let (secrets, digests) = found.into_iter().unzip();
    text.secrets = secrets;
    digests
}

fn mask(place: TextPlace, text: &mut String, keys: &[SecretSpan]) -> Vec<(MaskedSecret, Sha256Hex)> {
    let spans = secrets::find_with(text, keys);
    let mut found = Vec::with_capacity(spans.len());
    for span in &spans {
        let digest = canonical::sha256(&text.as_bytes()[span.start..span.end]);
        let (start, end) = (to_offset(span.start), to_offset(span.end));
        let secret = MaskedSecret { place, start, end, detector: span.detector.to_owned(), value: 0 };
        found.push((secret, digest));
    }
    secrets::mask(text, &spans);
    found
}

fn to_offset(offset: usize) -> u32 {
    u32::try_from(offset).expect("texts are bounded well below 4 GiB")
}

/// Finds the lines of private keys in hunks that do not include the key's first line.
pub fn keys_across(file: &ChangedFile, text: &FileText, versions: [&[u8]; 2]) -> Vec<SecretSpan> {
    let [old, new] = versions.map(key_lines);
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    let included = vec![true; file.hunks.len()];
    let packet = Packet { file, text, included: &included };
    let mut spans = Vec::new();
    for hunk in packet.hunks() {
        let at_head = hunk.before().chain(hunk.added()).chain(hunk.after()).map(|line| (line, &new));
        for (line, keys) in hunk.removed().map(|line| (line, &old)).chain(at_head) {
            spans.extend(keys.get(&line.number).into_iter().flatten().map(|key| SecretSpan {
                start: line.offset + key.start,
                end: line.offset + key.end,
                ..*key
            }));
        }
    }
    spans
}

/// Returns the private keys of a version by line number; offsets count from the start of the line.
fn key_lines(version: &[u8]) -> BTreeMap<u64, Vec<SecretSpan>> {
    let text = lossy(version);
    let mut found: BTreeMap<u64, Vec<SecretSpan>> = BTreeMap::new();
    if !text.contains("PRIVATE KEY") {
        return found;
    }
    let (mut number, mut begin) = (1, 0);
    for span in secrets::find(&text) {
        if let Some(last) = text[begin..span.start].rfind('\n') {
            number += text[begin..span.start].matches('\n').count() as u64;
            begin += last + 1;
        }
        if let Some(detector) = secrets::detector(span.detector)
            && detector.kind == secrets::Kind::PrivateKey
        {
            let from_begin = SecretSpan { start: span.start - begin, end: span.end - begin, ..span };
            found.entry(number).or_default().push(from_begin);
        }
    }
    found
}

/// Masks vendors' tokens in a path, byte for byte; `None` when it has none. Values that are only random stay, because
/// many file names contain digests.
pub fn masked_name(path: &RepoPath) -> Option<RepoPath> {
    // Other bytes are no part of a token.
    let ascii = path.as_bytes().iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { '?' });
    let mut masked = path.as_bytes().to_vec();
    for span in secrets::find(&ascii.collect::<String>()) {
        let detector = secrets::detector(span.detector).expect("spans name a detector");
        if detector.kind == secrets::Kind::Provider {
            let end = span.end.min(endings(path.as_bytes(), span.end)).max(span.start);
            for byte in masked[span.start..end].iter_mut().filter(|byte| **byte != b'/') {
                *byte = b'*';
            }
        }
    }
    (masked != path.as_bytes()).then(|| RepoPath::from_bytes(&masked).expect("stars are as good as letters"))
}

/// Returns the offset at which the endings of the file name around `at` begin, such as `.test.js`. They stay unmasked,
/// because they tell which program reads a file.
fn endings(path: &[u8], at: usize) -> usize {
    const LONGEST_ENDING: usize = 10;
    let mut begin = match path[at..].iter().position(|byte| *byte == b'/') {
        Some(slash) => at + slash,
        None => path.len(),
    };
    while let Some(dot) = path[..begin].iter().rposition(|byte| !byte.is_ascii_alphanumeric()) {
        if path[dot] != b'.' || !(2..=LONGEST_ENDING + 1).contains(&(begin - dot)) {
            break;
        }
        begin = dot;
    }
    begin
}

/// Makes untrusted text printable: masks secrets and escapes invisible characters.
pub fn sanitize(text: &str) -> String {
    visible(&secrets::masked(text.to_owned()))
}

/// Like [`sanitize`], cut to at most `limit` characters. Secrets are masked before the cut, because no detector matches
/// half of one.
pub fn sanitize_cut(text: &str, limit: usize) -> String {
    visible_cut(&secrets::masked(text.to_owned()), limit)
}
