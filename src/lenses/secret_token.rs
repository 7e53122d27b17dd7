//! Reports the secrets masked in added lines: which format, where, and never what.

use std::ops::Range;

use crate::contracts::v1::{
    LensClass, MaskedSecret, PresetStrengths, ScopeStrengths, Severity, Side, Strength,
};
use crate::core::packet::{HunkView, Line, Packet, column};
use crate::core::secrets::{self, Kind};
use crate::lenses::contract::{Draft, Inspection, Lens, LensSpec, RuleSpec, presets};

/// The longest quote, in bytes; a certificate store on one line is not evidence anyone reads.
const LONGEST_QUOTE: usize = 240;

/// What ships must not carry a secret, and generated files ship too. Tests, documentation and vendored files are full
/// of keys made to be published (every hit of the common scanners on 7,986 merged commits was one), so there a finding
/// asks for a look and does not stop anybody.
const BY_SCOPE: ScopeStrengths = ScopeStrengths {
    product: Strength::Block,
    test: Strength::Advise,
    docs: Strength::Advise,
    generated: Strength::Block,
    vendored: Strength::Advise,
};

/// A vendor's format is rarely wrong, so a repository that guards itself stops it wherever it stands.
const GUARDED: ScopeStrengths = ScopeStrengths {
    product: Strength::Block,
    test: Strength::Block,
    docs: Strength::Advise,
    generated: Strength::Block,
    vendored: Strength::Block,
};

const CERTAIN: PresetStrengths = presets(BY_SCOPE, GUARDED);
const LIKELY: PresetStrengths = presets(BY_SCOPE, BY_SCOPE);

const PROVIDER: &str = "secret-token/provider-token";
const PRIVATE_KEY: &str = "secret-token/private-key";
const URL: &str = "secret-token/credential-url";
const GENERIC: &str = "secret-token/generic-credential";

/// The lens.
#[derive(Debug)]
pub(crate) struct SecretToken;

static SPEC: LensSpec = LensSpec {
    id: "secret-token",
    version: "1",
    class: LensClass::Security,
    title: "Finds credentials in added lines.",
    required_by_default: true,
    triggers: &["**"],
    trigger_symbols: &[],
    rules: &[
        RuleSpec {
            id: PROVIDER,
            title: "A token in a vendor's format is added.",
            severity: Severity::Critical,
            strengths: CERTAIN,
            fix: "Revoke the token at the vendor, it is in the history from now on, then read its successor from the \
                  environment or a secret store.",
            moves: true,
        },
        RuleSpec {
            id: PRIVATE_KEY,
            title: "A private key is added.",
            severity: Severity::Critical,
            strengths: CERTAIN,
            fix: "Replace the key pair, it is in the history from now on, and keep the new key outside the repository; \
                  let tests generate theirs.",
            moves: true,
        },
        RuleSpec {
            id: URL,
            title: "A URL with a password is added.",
            severity: Severity::High,
            strengths: LIKELY,
            fix: "Change the password, then compose the URL from the environment at run time.",
            moves: true,
        },
        RuleSpec {
            id: GENERIC,
            title: "A random value is assigned to a name that says it is a secret.",
            severity: Severity::High,
            strengths: LIKELY,
            fix: "If the value is in use, change it and read its successor from the environment or a secret store; if it \
                  is a sample, make it say so, as `example-token`.",
            moves: true,
        },
    ],
};

impl Lens for SecretToken {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let drafts = packet
            .hunks()
            .flat_map(|hunk| {
                let secrets = packet.hunk_secrets().filter(move |secret| lies_in(&hunk.added_span(), secret));
                secrets.filter_map(move |secret| draft(packet, &hunk, secret))
            })
            .collect();
        Inspection { drafts, facts: Vec::new() }
    }
}

/// Whether any masked byte is inside the added lines.
fn lies_in(added: &Range<usize>, secret: &MaskedSecret) -> bool {
    (secret.start as usize) < added.end && added.start < secret.end as usize
}

fn draft(packet: &Packet<'_>, hunk: &HunkView<'_>, secret: &MaskedSecret) -> Option<Draft> {
    let detector = secrets::detector(&secret.detector)?;
    let rule = match detector.kind {
        Kind::Provider => PROVIDER,
        Kind::PrivateKey => PRIVATE_KEY,
        Kind::CredentialUrl => URL,
        Kind::Generic => GENERIC,
    };
    let span = secret.start as usize..secret.end as usize;
    let lines = touched(hunk, &span);
    let (first, last) = (lines.first()?, lines.last()?);
    let quoted = quoted(first, &span, lines.len() > 1);
    let whole_lines = lines.len() > 1;
    Some(
        Draft {
            rule,
            file: packet.path().clone(),
            side: Side::Head,
            start_line: first.number,
            end_line: last.number,
            start_column: if whole_lines { 0 } else { column(first.text, quoted.start) },
            end_column: if whole_lines { 0 } else { column(first.text, quoted.end) },
            quote: first.text[quoted].to_owned(),
            summary: format!("{} added", capitalised(detector.title)),
            detail: std::collections::BTreeMap::new(),
            severity: (detector.id == "json-web-token").then_some(Severity::Medium),
        }
        .with("detector", detector.id),
    )
}

/// The added lines a secret is on, with the marker line of a key that begins below it.
fn touched<'a>(hunk: &HunkView<'a>, span: &Range<usize>) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    let mut marker = None;
    for line in hunk.added() {
        let end = line.offset + line.text.len();
        if line.offset < span.end && span.start < end {
            lines.extend(marker.take());
            lines.push(line);
        } else if end <= span.start {
            marker = line.text.contains("-----BEGIN ").then_some(line);
        }
    }
    lines
}

/// What of the first line to show: all of it where the secret goes on below, else up to the end of the secret, so that
/// the name the value has stands in the quote.
fn quoted(line: &Line<'_>, span: &Range<usize>, whole: bool) -> Range<usize> {
    if whole {
        return 0..line.text.len();
    }
    let secret = span.start.saturating_sub(line.offset)..(span.end - line.offset).min(line.text.len());
    let indent = line.text.len() - line.text.trim_start().len();
    let earliest = line.text.ceil_char_boundary(secret.start.saturating_sub(LONGEST_QUOTE / 2));
    let start = indent.max(earliest).min(secret.start);
    let end = line.text.floor_char_boundary(secret.end.min(start + LONGEST_QUOTE));
    start..end
}

fn capitalised(title: &str) -> String {
    let mut letters = title.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
