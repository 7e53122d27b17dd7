//! Reports the secrets masked in added lines and in names: which format, where, and never what.

use std::ops::Range;

use crate::contract::{Draft, Inspection, Lens, LensSpec, RuleSpec, everywhere, presets};
use qa_contracts::codes::Code;
use qa_contracts::v1::{
    ChangeKind, LensClass, MaskedSecret, PresetStrengths, ScopeStrengths, Severity, Side, Strength,
};
use qa_core::packet::{Line, Packet, column};
use qa_core::secrets::{self, Kind};

/// The longest quote, in bytes; a certificate store on one line is not evidence anyone reads.
const LONGEST_QUOTE: usize = 240;

/// Blocking in product and generated files, which ship. Tests, documentation and vendored files are full of passwords
/// made to be published (every hit of the common scanners on 7,986 merged commits was one), so there a finding is
/// advisory.
const BY_SCOPE: ScopeStrengths = ScopeStrengths {
    product: Strength::Block,
    test: Strength::Advise,
    docs: Strength::Advise,
    generated: Strength::Block,
    vendored: Strength::Advise,
};

/// Private keys and tokens in a vendor's format: samples say what they are, so a name such as `LICENSE` or
/// `deploy/id_rsa.txt` makes none of them one.
const CERTAIN: PresetStrengths =
    presets(ScopeStrengths { docs: Strength::Block, ..BY_SCOPE }, everywhere(Strength::Block));
const LIKELY: PresetStrengths = presets(BY_SCOPE, BY_SCOPE);

const PROVIDER: &str = "secret-token/provider-token";
const PRIVATE_KEY: &str = "secret-token/private-key";
const URL: &str = "secret-token/credential-url";
const GENERIC: &str = "secret-token/generic-credential";
const IN_NAME: &str = "secret-token/token-in-name";

#[derive(Debug)]
pub(crate) struct SecretToken;

static SPEC: LensSpec = LensSpec {
    id: "secret-token",
    version: "6",
    class: LensClass::Security,
    title: "Credentials in added lines",
    required_by_default: true,
    triggers: &["**"],
    page: include_str!(concat!(env!("OUT_DIR"), "/secret-token.md")),
    rules: &[
        RuleSpec {
            id: URL,
            title: "Password in a URL",
            severity: Severity::High,
            strengths: LIKELY,
            fix: "Change the password, then build the URL from the environment at run time.",
            moves: true,
        },
        RuleSpec {
            id: GENERIC,
            title: "Random value assigned to the name of a secret",
            severity: Severity::High,
            strengths: LIKELY,
            fix: "If the value is in use, change it and read its successor from the environment or a secret store; if it \
                  is a sample, make it say so, as `example-token`.",
            moves: true,
        },
        RuleSpec {
            id: PRIVATE_KEY,
            title: "Private key",
            severity: Severity::Critical,
            strengths: CERTAIN,
            fix: "Replace the key pair, a commit keeps it, and keep the new key outside the repository; \
                  let tests generate theirs.",
            moves: true,
        },
        RuleSpec {
            id: PROVIDER,
            title: "Token in a vendor's format",
            severity: Severity::Critical,
            strengths: CERTAIN,
            fix: "Revoke the token at the vendor first, since the history keeps it; then read the new one from the environment \
                  or a secret store.",
            moves: true,
        },
        RuleSpec {
            id: IN_NAME,
            title: "Token in the name of a file or directory",
            severity: Severity::Critical,
            strengths: CERTAIN,
            fix: "Revoke the token, since it stays in the history, then rename the file.",
            moves: false,
        },
    ],
};

impl Lens for SecretToken {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let file = packet.file;
        let is_named = matches!(file.kind, ChangeKind::Added | ChangeKind::Renamed);
        let mut drafts = Vec::new();
        if is_named && file.codes.contains(&Code::SecretInName) {
            let summary = "Token in the name of a file or directory";
            drafts.push(Draft::on_file(IN_NAME, packet.path(), Side::Head, summary));
        }
        for hunk in packet.hunks() {
            let lines: Vec<Line<'_>> = hunk.added().collect();
            let text = &packet.text.text;
            let secrets = packet.added_secrets(&hunk);
            let secrets = secrets.chunk_by(|one, next| of_one_key(one, next) || are_pieces(text, one, next));
            drafts.extend(secrets.filter_map(|secret| draft(packet, &lines, secret)));
        }
        Inspection { drafts, facts: Vec::new() }
    }

    /// Returns the secret: the same one in the same file is no new one, however its line is written.
    fn operand(&self, draft: &Draft) -> Option<String> {
        draft.value.filter(|value| *value != u32::MAX).map(|value| format!("secret {value}"))
    }
}

/// The longest gap between two lines of a private key, which are masked one by one, in bytes.
const KEY_GAP: u32 = 48;

/// Returns whether two secrets in a row are lines of one private key.
fn of_one_key(one: &MaskedSecret, next: &MaskedSecret) -> bool {
    let is_key = secrets::detector(&one.detector).is_some_and(|detector| detector.kind == Kind::PrivateKey);
    is_key && next.detector == one.detector && next.start.saturating_sub(one.end) <= KEY_GAP
}

/// Returns whether two secrets in a row are pieces of one token, in literals that are joined.
fn are_pieces(text: &str, one: &MaskedSecret, next: &MaskedSecret) -> bool {
    let between = text.get(one.end as usize..next.start as usize);
    one.detector == next.detector && between.is_some_and(secrets::joins_pieces)
}

/// Returns the finding about a secret that stands in a hunk's added lines; null for one that does not.
fn draft(packet: &Packet<'_>, added: &[Line<'_>], secret: &[MaskedSecret]) -> Option<Draft> {
    let detector = secrets::detector(&secret.first()?.detector)?;
    let rule = match detector.kind {
        Kind::Provider => PROVIDER,
        Kind::PrivateKey => PRIVATE_KEY,
        Kind::CredentialUrl => URL,
        Kind::Generic => GENERIC,
    };
    let span = secret.first()?.start as usize..secret.last()?.end as usize;
    let lines = touched(added, &span);
    let (first, last) = (lines.first()?, lines.last()?);
    let quoted = quoted(first, &span, lines.len() > 1);
    let whole_lines = lines.len() > 1;
    Some(
        Draft {
            start_line: first.number,
            end_line: last.number,
            start_column: if whole_lines { 0 } else { column(first.text, quoted.start) },
            end_column: if whole_lines { 0 } else { column(first.text, quoted.end) },
            quote: first.text[quoted].to_owned(),
            // Keys of one format begin and end alike.
            value: Some(secret[secret.len() / 2].value),
            severity: (detector.id == "json-web-token").then_some(Severity::Medium),
            ..Draft::on_file(
                rule,
                packet.path(),
                Side::Head,
                format!("{} added", capitalised(detector.title)),
            )
        }
        .with("detector", detector.id),
    )
}

/// Returns the added lines a secret is on, with the marker line of a key that begins below it.
fn touched<'l, 'a>(added: &'l [Line<'a>], span: &Range<usize>) -> &'l [Line<'a>] {
    let mut first = added.partition_point(|line| line.offset + line.text.len() <= span.start);
    let after = added.partition_point(|line| line.offset < span.end).max(first);
    if first > 0 && first < after && added[first - 1].text.contains("-----BEGIN ") {
        first -= 1;
    }
    &added[first..after]
}

/// Returns the part of the first line to quote: all of it where the secret goes on below, else up to the end of the
/// secret, so that the quote has the name of the value.
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

#[cfg(test)]
mod tests {
    use super::*;
    use qa_contracts::ids::RepoPath;
    use qa_contracts::v1::{ChangedFile, FileClass, FileText, Hunk, HunkCuts, Scope, TextPlace};

    /// Inspects one hunk made of those four parts, added at line 10, as the engine prepares it.
    fn inspect(parts: [&str; 4]) -> Vec<Draft> {
        let mut text = parts.concat();
        let mut end = 0;
        let [before, removed, added, after] = parts.map(|part| {
            end += part.len() as u32;
            end
        });
        let spans = secrets::find(&text);
        secrets::mask(&mut text, &spans);
        let secrets = spans
            .iter()
            .map(|span| MaskedSecret {
                place: TextPlace::Hunks,
                start: span.start as u32,
                end: span.end as u32,
                detector: span.detector.to_owned(),
                value: 0,
            })
            .collect();
        let file = ChangedFile {
            path: RepoPath::from_bytes(b"src/a.rs").expect("a plain path"),
            old_path: None,
            kind: ChangeKind::Modified,
            old_mode: None,
            new_mode: None,
            old_blob: None,
            new_blob: None,
            class: FileClass::Infra,
            scope: Scope::Product,
            scope_reason: qa_contracts::v1::ScopeReason::Name,
            language: None,
            text: true,
            hunks: vec![Hunk {
                ordinal: 0,
                old_start: 10,
                old_lines: parts[1].lines().count() as u64,
                new_start: 10,
                new_lines: parts[2].lines().count() as u64,
                section: String::new(),
            }],
            codes: Vec::new(),
        };
        let cuts = vec![HunkCuts { before, removed, added, after }];
        let text = FileText { text, cuts, full_base: None, full_head: None, secrets };
        SecretToken.inspect(&Packet { file: &file, text: &text, included: &[true] }).drafts
    }

    fn token() -> String {
        format!("gh{}{}", "p_", "9Jx2kQ7vTzR4mWc8Ld1Yb6HnPf3Gs5Ae0UoK")
    }

    #[test]
    fn a_token_is_quoted_masked_with_its_name() {
        let drafts = inspect(["", "", &format!("a\n  é = \"{}\"; x\n", token()), ""]);
        let [draft] = drafts.as_slice() else { panic!("{drafts:?}") };
        assert_eq!((&*draft.rule, draft.start_line, draft.end_line), (PROVIDER, 11, 11));
        assert_eq!(draft.quote, format!("é = \"ghp_{}", "*".repeat(36)));
        assert_eq!((draft.start_column, draft.end_column), (3, 48));
        assert_eq!(draft.summary, "GitHub token added");
        assert_eq!(draft.detail["detector"], "github-token");
    }

    #[test]
    fn secrets_in_removed_and_unchanged_lines_are_not_reported() {
        let line = format!("t = {}\n", token());
        assert_eq!(inspect([&line, &line, "t = env(\"T\")\n", &line]), []);
    }

    #[test]
    fn a_private_key_is_reported_from_its_marker_line_on() {
        let body = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg7dQ2xKz9vLr4Yt0S\nhRANCAAQm1pXc8JwZ5fUeB3oTg6G\n";
        let begin = format!("-----BEGIN {}-----\n", "PRIVATE KEY");
        let end = format!("-----END {}-----\n", "PRIVATE KEY");
        let drafts = inspect(["x\n", "", &format!("{begin}{body}{end}"), "y\n"]);
        let [draft] = drafts.as_slice() else { panic!("{drafts:?}") };
        assert_eq!(
            (&*draft.rule, draft.start_line, draft.end_line, draft.start_column),
            (PRIVATE_KEY, 10, 12, 0)
        );
        assert_eq!(draft.quote, begin.trim_end());
        // Only the body is new: the marker stays where it was.
        let drafts = inspect([&begin, "", body, &end]);
        assert_eq!(drafts.iter().map(|draft| draft.start_line).collect::<Vec<_>>(), [10]);
    }

    #[test]
    fn a_very_long_line_is_quoted_in_part() {
        let drafts = inspect(["", "", &format!("{}\"{}\"\n", "é".repeat(4000), token()), ""]);
        assert!(drafts[0].quote.len() <= LONGEST_QUOTE && drafts[0].quote.contains("ghp_*"));
    }
}
