//! Distinguishes random values from words, names, placeholders and sequences.

/// For each first letter the second letters that follow it in English words and identifiers, as bits; together they
/// cover 95 % of the pairs in running text and 41 % in random text (counted over Rust sources and documentation).
const PAIRS: [u32; 26] = [
    0x17e_bd6f, 0x016_4b15, 0x11e_4d95, 0x056_4919, 0x1ef_f97f, 0x01e_4939, 0x016_6991, 0x01a_5111,
    0x2ae_f87f, 0x000_0010, 0x004_0110, 0x11c_c939, 0x014_d113, 0x03c_ed7d, 0x0fe_fd6f, 0x01e_c991,
    0x010_0000, 0x13e_fd7d, 0x11c_ddd5, 0x11e_d9bd, 0x00e_b97f, 0x000_4111, 0x006_6191, 0x008_8115,
    0x004_a000, 0x000_0010,
];

/// Returns the Shannon entropy in thousandths of a bit for each byte, in integers so that every machine agrees.
pub(super) fn entropy(value: &[u8]) -> u32 {
    if value.is_empty() {
        return 0;
    }
    let mut counts = [0u32; 256];
    for &byte in value {
        counts[usize::from(byte)] += 1;
    }
    let length = value.len() as u64;
    let weighted: u64 = counts.iter().map(|&count| u64::from(count) * log2(u64::from(count))).sum();
    ((log2(length).saturating_sub(weighted / length) * 1000) >> 16) as u32
}

/// Returns the binary logarithm in 1/65536; 0 for 0.
fn log2(value: u64) -> u64 {
    if value < 2 {
        return 0;
    }
    let whole = value.ilog2();
    let mut mantissa = ((u128::from(value) << 62) >> whole) as u64;
    let mut fraction = 0;
    for bit in (0..16).rev() {
        let square = (u128::from(mantissa) * u128::from(mantissa)) >> 62;
        if square >= 1 << 63 {
            fraction |= 1 << bit;
            mantissa = (square >> 1) as u64;
        } else {
            mantissa = square as u64;
        }
    }
    (u64::from(whole) << 16) | fraction
}

/// Counts of a value's kinds of characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) lower: usize,
    pub(super) upper: usize,
    pub(super) digits: usize,
    pub(super) symbols: usize,
    /// Number of changes from one kind to another; a capital before a small letter is no change.
    pub(super) switches: usize,
}

impl Shape {
    pub(super) fn new(value: &[u8]) -> Self {
        let mut shape = Self::default();
        let mut before = 0;
        for &byte in value {
            let kind = match byte {
                b'a'..=b'z' => 1,
                b'A'..=b'Z' => 2,
                b'0'..=b'9' => 3,
                _ => 4,
            };
            match kind {
                1 => shape.lower += 1,
                2 => shape.upper += 1,
                3 => shape.digits += 1,
                _ => shape.symbols += 1,
            }
            if before != 0 && kind != before && !(before == 2 && kind == 1) {
                shape.switches += 1;
            }
            before = kind;
        }
        shape
    }

    /// Returns the number of kinds, from 0 to 4.
    pub(super) fn kinds(self) -> usize {
        [self.lower, self.upper, self.digits, self.symbols].iter().filter(|&&count| count > 0).count()
    }
}

/// Counts over the runs of at least three letters in a value.
#[derive(Default)]
struct LetterPairs {
    all: usize,
    /// Pairs that are usual in words.
    usual: usize,
    /// Letters of the runs.
    covered: usize,
}

fn count_pairs(value: &[u8]) -> LetterPairs {
    let mut pairs = LetterPairs::default();
    for run in value.split(|byte| !byte.is_ascii_alphabetic()).filter(|run| run.len() >= 3) {
        pairs.covered += run.len();
        for pair in run.windows(2) {
            // A word boundary in camel case is no pair.
            if pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase() {
                continue;
            }
            pairs.all += 1;
            let row = PAIRS[usize::from(pair[0].to_ascii_lowercase() - b'a')];
            pairs.usual += usize::from((row >> (pair[1].to_ascii_lowercase() - b'a')) & 1 == 1);
        }
    }
    pairs
}

/// Returns whether a value consists mostly of letters that are more likely words than random.
pub(super) fn reads_as_words(value: &[u8]) -> bool {
    let LetterPairs { all, usual, covered } = count_pairs(value);
    let mostly = covered * 2 >= value.len();
    match all {
        0 | 1 => false,
        2..=7 => mostly && usual == all,
        _ => mostly && usual * 100 >= all * 82,
    }
}

/// Returns whether a large part of a value counts up, counts down or repeats.
pub(super) fn is_sequence(value: &[u8]) -> bool {
    if value.len() < 4 {
        return true;
    }
    let near = value
        .windows(2)
        .filter(|pair| pair[0].is_ascii_alphanumeric() && pair[0].abs_diff(pair[1]) <= 1)
        .count();
    if near * 2 >= value.len() {
        return true;
    }
    (2..=value.len().min(48) / 3).any(|period| repeats(value, period))
}

/// Returns whether at least 90 % of the bytes are the same as those one period before.
fn repeats(value: &[u8], period: usize) -> bool {
    let same = value.iter().zip(&value[period..]).filter(|(first, second)| first == second).count();
    same * 10 >= (value.len() - period) * 9
}

/// Returns whether `value` contains `needle`, in any case.
pub(super) fn contains(value: &[u8], needle: &[u8]) -> bool {
    value.windows(needle.len()).any(|part| {
        // Nearly all differ in the first byte.
        part[0].eq_ignore_ascii_case(&needle[0]) && part.eq_ignore_ascii_case(needle)
    })
}

/// Words of placeholders, unlikely enough by chance to count anywhere in a token.
#[rustfmt::skip]
const NOT_TOKENS: &[&str] = &[
    "example", "placeholder", "redacted", "changeme", "change_me", "change-me", "xxxxx", "*****", ".....",
    "-----", "_____", "00000000", "11111111", "your_", "your-", "yourtoken", "yourapi", "yourkey",
    "yoursecret", "insert", "replace", "dummy", "notreal", "not-real", "not_real", "deadbeefdeadbeef",
    "sample", "1234567890", "abcdefgh", "123456789a", "0123456789", "invalid", "masked", "hidden", "thisis",
    "this-is", "this_is", "notasecret", "fakefake", "faketoken", "fake_", "fake-", "-fake", "_fake",
    "mytoken", "my_token", "goes_here", "goes-here", "here_", "dontuse", "testtest",
];

/// Beginnings of tokens in vendors' documentation and emulators, without the public prefix: long enough to recognise a
/// token, and too short to be one.
const DOCUMENTED: &[&str] = &[
    "4eC39HqLyjWDarj",
    "BQokikJOvBiI2Hl",
    "26PHem9AhJZvU62",
    "tR3PYbcVNZZ796t",
    "16C7e42F292c691",
    "SyDdI0hCZtE6vyS",
    "SyDaGmWKa4JsXZ-",
    "Eby8vdM02xNOcqF",
    "C2y6yDjf5/R+ob0",
    "wJalrXUtnFEMI/K",
    "je7MtGbClwBF/2Z",
    "_5#y2L\"F4Q8z",
];

/// Returns whether a value is a placeholder or a token of a vendor's documentation.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    DOCUMENTED.iter().chain(NOT_TOKENS).any(|known| contains(value, known.as_bytes()))
}

/// Returns whether the masked part of a vendor's token could be random.
pub(super) fn is_token(body: &[u8], least_entropy: u32) -> bool {
    let least = match (least_entropy, body.len()) {
        (0, 0..=11) => 1800,
        (0, 12..=19) => 2300,
        (0, _) => 2700,
        (least, _) => least,
    };
    let hexadecimal = body.iter().all(u8::is_ascii_hexdigit);
    let few_digits = body.len() >= 16 && Shape::new(body).digits * 12 < body.len();
    let words = few_digits && !hexadecimal && reads_as_words(body);
    entropy(body) >= least && !words && !is_sequence(body) && !is_placeholder(body)
}

/// Returns whether a value spells one of `words`, also with `0`, `1`, `3`, `4`, `5`, `7`, `!`, `$` and `@` for letters.
pub(super) fn spells(value: &[u8], mut words: impl Iterator<Item = &'static str>) -> bool {
    let plain: Vec<u8> = value
        .iter()
        .map(|byte| match byte.to_ascii_lowercase() {
            b'0' => b'o',
            b'1' | b'!' => b'i',
            b'3' => b'e',
            b'4' | b'@' => b'a',
            b'5' | b'$' => b's',
            b'7' => b't',
            other => other,
        })
        .collect();
    words.any(|word| contains(value, word.as_bytes()) || contains(&plain, word.as_bytes()))
}

/// Returns whether a byte may be part of a token that stands in URLs.
pub(super) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}
