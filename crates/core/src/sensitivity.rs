//! Scores the sensitivity of a change by a fixed table of words and paths.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::keywords::Keywords;
use crate::packet::Packet;
use qa_contracts::v1::{
    ChangeKind, ChangeSensitivity, ChangedFile, FileClass, FileSensitivity, FileText, Scope,
    SensitivityReason, SensitivityTier, SizeBucket,
};

/// Number of changed lines that are read of a hunk; further lines rarely change its kind.
const SAMPLED_LINES: usize = 80;
/// Number of bytes that are read of a line.
const SAMPLED_BYTES: usize = 240;
/// Maximum that the number of files adds to the score of the highest one.
const MAX_BREADTH: u64 = 10;

/// A sign in the text of a hunk: any of these words, in lower case, adds the points once.
struct Sign {
    reason: &'static str,
    points: i32,
    words: &'static [&'static str],
}

const SIGNS: &[Sign] = &[
    Sign {
        reason: "access-control",
        points: 30,
        words: &[
            "auth",
            "permission",
            "password",
            "token",
            "secret",
            "crypt",
            "privilege",
            "sudo",
            "acl",
            "csrf",
            "session",
            "certificate",
        ],
    },
    Sign {
        reason: "concurrency",
        points: 18,
        words: &[
            "mutex",
            "rwlock",
            "atomic",
            "thread",
            "spawn",
            "goroutine",
            "channel",
            "semaphore",
            "synchronized",
            "race",
            "deadlock",
            "await",
        ],
    },
    Sign {
        reason: "data-schema",
        points: 22,
        words: &[
            "alter table",
            "create table",
            "drop table",
            "migration",
            "schema",
            "foreign key",
            "create index",
            "serialize",
            "protobuf",
        ],
    },
    Sign {
        reason: "process-or-network",
        points: 18,
        words: &["exec", "subprocess", "system(", "socket", "http", "tls", "request", "connect", "shell"],
    },
    Sign {
        reason: "memory-safety",
        points: 22,
        words: &["unsafe", "transmute", "malloc", "memcpy", "strcpy", "pointer", "ffi", "extern \"c\""],
    },
    Sign {
        reason: "error-handling",
        points: 10,
        words: &["catch", "except", "panic", "unwrap", "raise", "throw", "rollback", "retry", "timeout"],
    },
    Sign {
        reason: "money",
        points: 18,
        words: &["payment", "invoice", "price", "currency", "refund", "billing", "balance"],
    },
    Sign {
        reason: "deletion",
        points: 10,
        words: &["delete", "remove_dir", "rm -rf", "truncate", "purge", "destroy"],
    },
];

/// The words of all signs, and the position of each word's sign.
static WORDS: LazyLock<(Keywords, Vec<usize>)> = LazyLock::new(|| {
    let (words, signs): (Vec<_>, Vec<_>) = SIGNS
        .iter()
        .enumerate()
        .flat_map(|(position, sign)| sign.words.iter().map(move |word| (*word, position)))
        .unzip();
    (Keywords::new(&words), signs)
});

/// Marks the signs whose words a text has, in small letters or capitals.
fn mark_signs(text: &str, seen: &mut [bool; SIGNS.len()]) {
    let (keywords, signs) = &*WORDS;
    // A few letters beyond ASCII, such as the Kelvin sign, have an ASCII small form.
    let text = if text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(text.to_lowercase()) };
    keywords.each(text.as_bytes(), |hit| seen[signs[hit.keyword]] = true);
}

/// Paths that many others depend on.
const CRITICAL_PARTS: &[&str] =
    &["auth", "security", "crypto", "migrations", "migration", "payment", "payments", "core", "kernel"];

/// Scores one file and its hunks, in order.
pub fn file_sensitivity(file: &ChangedFile, text: &FileText) -> FileSensitivity {
    let (base_score, mut reasons) = path_reasons(file);
    let base_reasons = reasons.len();
    let included = vec![true; file.hunks.len()];
    let packet = Packet { file, text, included: &included };
    let mut highest: Option<u8> = None;
    let mut highest_reasons = reasons.clone();
    let mut hunk_scores = Vec::with_capacity(file.hunks.len());
    for hunk in packet.hunks() {
        let mut score = base_score;
        reasons.truncate(base_reasons);
        if file.scope == Scope::Product {
            let mut seen = [false; SIGNS.len()];
            mark_signs(&hunk.hunk.section, &mut seen);
            for line in hunk.added().chain(hunk.removed()).take(SAMPLED_LINES) {
                mark_signs(&line.text[..line.text.floor_char_boundary(SAMPLED_BYTES)], &mut seen);
            }
            for (sign, _) in SIGNS.iter().zip(seen).filter(|(_, seen)| *seen) {
                score += sign.points;
                reasons.push(Reason { name: sign.reason, points: sign.points });
            }
        }
        let lines = hunk.hunk.old_lines + hunk.hunk.new_lines;
        if lines > 100 {
            score += 8;
            reasons.push(Reason { name: "large-hunk", points: 8 });
        }
        let score = clamp(score);
        hunk_scores.push(score);
        if highest < Some(score) {
            highest = Some(score);
            highest_reasons = reasons.clone();
        }
    }
    let score = highest.unwrap_or(clamp(base_score));
    FileSensitivity {
        file: file.path.clone(),
        score,
        tier: tier(score),
        reasons: highest_reasons.into_iter().map(SensitivityReason::from).collect(),
        hunk_scores,
    }
}

/// A reason with the points that it adds.
#[derive(Clone, Copy)]
struct Reason {
    name: &'static str,
    points: i32,
}

impl From<Reason> for SensitivityReason {
    fn from(Reason { name, points }: Reason) -> Self {
        Self { reason: name.to_owned(), points }
    }
}

/// Returns the score of a file's path, class and kind of change, with the reasons.
fn path_reasons(file: &ChangedFile) -> (i32, Vec<Reason>) {
    let mut reasons = Vec::new();
    let (name, points) = match (file.scope, file.class) {
        (Scope::Docs, _) | (_, FileClass::Docs) => ("documentation", 4),
        (Scope::Test, _) | (_, FileClass::Test) => ("test", 10),
        (Scope::Generated, _) => ("generated", 6),
        (Scope::Vendored, _) => ("vendored", 20),
        (Scope::Product, FileClass::Asset) => ("asset", 4),
        (Scope::Product, FileClass::Infra) => ("build-or-deployment", 35),
        (Scope::Product, FileClass::Config) => ("configuration", 25),
        (Scope::Product, FileClass::Source) => ("program-text", 28),
        (Scope::Product, FileClass::Unknown) => ("unknown-kind", 20),
    };
    reasons.push(Reason { name, points });
    let mut score = points;
    let path = file.path.to_text().to_lowercase();
    if file.scope == Scope::Product
        && path.split(['/', '.', '_', '-']).any(|part| CRITICAL_PARTS.contains(&part))
    {
        score += 20;
        reasons.push(Reason { name: "shared-or-critical-path", points: 20 });
    }
    match file.kind {
        ChangeKind::ModeChanged | ChangeKind::TypeChanged => {
            score += 25;
            reasons.push(Reason { name: "mode-or-type", points: 25 });
        }
        ChangeKind::Deleted if file.scope == Scope::Product => {
            score += 10;
            reasons.push(Reason { name: "deleted", points: 10 });
        }
        ChangeKind::Added | ChangeKind::Deleted | ChangeKind::Modified | ChangeKind::Renamed => {}
    }
    (score, reasons)
}

fn clamp(score: i32) -> u8 {
    u8::try_from(score.clamp(0, 100)).expect("0 to 100 fits")
}

fn tier(score: u8) -> SensitivityTier {
    match score {
        0..=14 => SensitivityTier::Informational,
        15..=34 => SensitivityTier::Low,
        35..=59 => SensitivityTier::Moderate,
        60..=79 => SensitivityTier::High,
        _ => SensitivityTier::Critical,
    }
}

/// Scores the whole change from its files.
pub fn change_sensitivity(changed: &[ChangedFile], files: Vec<FileSensitivity>) -> ChangeSensitivity {
    let changed_files = changed.len() as u64;
    let changed_lines =
        changed.iter().flat_map(|file| &file.hunks).map(|hunk| hunk.old_lines + hunk.new_lines).sum();
    let highest = files.iter().map(|file| file.score).max().unwrap_or(0);
    let notable = files.iter().filter(|file| file.tier >= SensitivityTier::Moderate).count() as u64;
    let breadth = i32::try_from(notable.saturating_sub(1).min(MAX_BREADTH)).expect("at most ten");
    let score = clamp(i32::from(highest) + breadth);
    ChangeSensitivity {
        schema_version: Default::default(),
        score,
        tier: tier(score),
        bucket: bucket(changed_files, changed_lines),
        changed_files,
        changed_lines,
        files,
    }
}

/// Returns the size bucket of S003-125…127: the worse of files and lines.
pub(crate) fn bucket(files: u64, lines: u64) -> SizeBucket {
    if files > 80 || lines > 4000 {
        SizeBucket::Large
    } else if files > 20 || lines > 800 {
        SizeBucket::Medium
    } else {
        SizeBucket::Small
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worse_of_files_and_lines_gives_the_bucket() {
        let cases = [
            (20, 800, SizeBucket::Small),
            (21, 1, SizeBucket::Medium),
            (1, 801, SizeBucket::Medium),
            (80, 4000, SizeBucket::Medium),
            (81, 1, SizeBucket::Large),
            (5, 5000, SizeBucket::Large),
            (0, 0, SizeBucket::Small),
        ];
        for (files, lines, expected) in cases {
            assert_eq!(bucket(files, lines), expected, "{files} files, {lines} lines");
        }
    }

    #[test]
    fn every_score_has_one_tier() {
        let tiers: Vec<_> = [0, 14, 15, 34, 35, 59, 60, 79, 80, 100].map(tier).to_vec();
        use SensitivityTier::{Critical, High, Informational, Low, Moderate};
        assert_eq!(
            tiers,
            [Informational, Informational, Low, Low, Moderate, Moderate, High, High, Critical, Critical]
        );
    }
}
