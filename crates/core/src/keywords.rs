//! Finds every keyword of a list in one pass, letters in any case: a hash table of three-byte prefixes, then a full
//! comparison.

/// Length of the hashed prefix, in bytes.
const BEGINNING: usize = 3;
/// Length of the shortest keyword, in bytes. A keyword of two bytes has an entry for each byte that may follow it.
const SHORTEST: usize = 2;
/// Binary logarithm of the table's size: small enough for the L1 cache, large enough to be mostly empty.
const TABLE_BITS: u32 = 13;
/// Number of bytes that are searched before hits are passed on, which bounds the number of waiting hits.
const BLOCK: usize = 1 << 16;

/// Search table over a list of keywords. Building it takes microseconds; an Aho-Corasick automaton over the same words
/// takes milliseconds.
pub(crate) struct Keywords {
    /// For each hashed prefix, 1 + the position of the first keyword with it in `chain`; 0 for none.
    heads: Box<[u16; 1 << TABLE_BITS]>,
    chain: Vec<Link>,
}

/// A keyword in the table.
struct Link {
    bytes: &'static [u8],
    /// Position in the list.
    keyword: usize,
    /// Next keyword with the same hash, as in [`Keywords::heads`].
    next: u16,
}

/// Occurrence of a keyword, ordered as hits are passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hit {
    pub(crate) end: usize,
    pub(crate) start: usize,
    /// The keyword's position in the list.
    pub(crate) keyword: usize,
}

/// Maps ASCII capitals to small letters. The other bytes that become equal are told apart by the full comparison.
const fn folded(byte: u8) -> u32 {
    (byte | 0x20) as u32
}

fn hash(beginning: u32) -> usize {
    (beginning.wrapping_mul(0x9e37_79b1) >> (u32::BITS - TABLE_BITS)) as usize
}

impl Keywords {
    /// Builds the table.
    ///
    /// # Panics
    ///
    /// When a keyword has fewer than two bytes.
    pub(crate) fn new(keywords: &[&'static str]) -> Self {
        let mut table =
            Self { heads: Box::new([0; 1 << TABLE_BITS]), chain: Vec::with_capacity(keywords.len()) };
        for (keyword, word) in keywords.iter().enumerate() {
            let bytes = word.as_bytes();
            assert!(bytes.len() >= SHORTEST, "{word:?} is too short to look for");
            let beginning = bytes.iter().take(BEGINNING).fold(0, |all, &byte| all << 8 | folded(byte));
            if bytes.len() < BEGINNING {
                let third = (0..=u8::MAX).filter(|&byte| folded(byte) == u32::from(byte));
                third.for_each(|byte| table.insert(beginning << 8 | folded(byte), bytes, keyword));
            } else {
                table.insert(beginning, bytes, keyword);
            }
        }
        table
    }

    fn insert(&mut self, beginning: u32, bytes: &'static [u8], keyword: usize) {
        let head = &mut self.heads[hash(beginning)];
        self.chain.push(Link { bytes, keyword, next: *head });
        *head = u16::try_from(self.chain.len()).expect("there are far fewer than 65,535 keywords");
    }

    /// Calls `hit` with every occurrence, including overlapping ones, sorted by end and then by start.
    pub(crate) fn each(&self, text: &[u8], mut hit: impl FnMut(Hit)) {
        let mut waiting: Vec<Hit> = Vec::new();
        let last = text.len().saturating_sub(SHORTEST - 1);
        let mut from = 0;
        while from < last {
            let to = last.min(from + BLOCK);
            self.block(text, from..to, &mut waiting);
            waiting.sort_unstable();
            // Later hits start at `to` or behind, so none of them ends before what ends here.
            let ready = if to == last { waiting.len() } else { waiting.partition_point(|hit| hit.end <= to) };
            waiting.drain(..ready).for_each(&mut hit);
            from = to;
        }
    }

    /// Collects the hits that start in a part of the text.
    fn block(&self, text: &[u8], starts: std::ops::Range<usize>, hits: &mut Vec<Hit>) {
        let mut beginning = folded(text[starts.start]) << 8 | folded(text[starts.start + 1]);
        let thirds = &text[starts.start + 2..text.len().min(starts.end + 2)];
        for (step, byte) in thirds.iter().enumerate() {
            beginning = (beginning << 8 | folded(*byte)) & 0xff_ffff;
            let head = self.heads[hash(beginning)];
            if head != 0 {
                self.compare_chain(text, starts.start + step, head, hits);
            }
        }
        if starts.end + 2 > text.len() {
            // A two-byte keyword at the end of the text has no third byte; no keyword has a NUL.
            let head = self.heads[hash((beginning << 8 | folded(0)) & 0xff_ffff)];
            self.compare_chain(text, starts.end - 1, head, hits);
        }
    }

    /// Collects the keywords of a chain that the text has at `start`.
    fn compare_chain(&self, text: &[u8], start: usize, head: u16, hits: &mut Vec<Hit>) {
        let mut next = head;
        while let Some(position) = next.checked_sub(1) {
            let link = &self.chain[usize::from(position)];
            let end = start + link.bytes.len();
            if let Some(found) = text.get(start..end)
                && found.eq_ignore_ascii_case(link.bytes)
            {
                hits.push(Hit { end, start, keyword: link.keyword });
            }
            next = link.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WORDS: &[&str] = &["key", "KEY", "eye", "keyeye", "_pw", "key ", "://", "token", "key", "yk", "2/"];

    fn found(text: &[u8]) -> Vec<(usize, usize, usize)> {
        let mut hits = Vec::new();
        Keywords::new(WORDS).each(text, |hit| hits.push((hit.end, hit.start, hit.keyword)));
        hits
    }

    fn looked_up(text: &[u8]) -> Vec<(usize, usize, usize)> {
        let mut hits = Vec::new();
        for (keyword, word) in WORDS.iter().enumerate() {
            for start in 0..text.len() {
                let end = start + word.len();
                if text.get(start..end).is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes())) {
                    hits.push((end, start, keyword));
                }
            }
        }
        hits.sort_unstable();
        hits
    }

    proptest! {
        #[test]
        fn every_keyword_is_found_in_order(text in "[keyKEY_pw2:/ \u{7f}\u{e9}]{0,60}") {
            prop_assert_eq!(found(text.as_bytes()), looked_up(text.as_bytes()));
        }
    }

    #[test]
    fn keywords_across_the_end_of_a_block_are_found_once() {
        for shift in 0..8 {
            let mut text = vec![b'.'; BLOCK - shift];
            text.extend_from_slice(b"keyeye key token");
            assert_eq!(found(&text), looked_up(&text), "{shift}");
        }
    }
}
