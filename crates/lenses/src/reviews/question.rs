//! The request of a review about some files: the instructions, the packet, and the schema of the answer.

use serde_json::Value;

use super::answer::{self, ModelFinding};
use super::clean::Cleaned;
use super::contract::{Canary, ReviewSpec};
use super::packet::{FileBlock, fenced};
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::Rubric;
use qa_core::canonical;
use qa_core::policy::reviews::CONSISTENCY;

/// Words that stand in canaries, one of them in each: a model must not know what it will be shown.
const WORDS: [&str; 16] = [
    "amber", "basil", "cedar", "delta", "ember", "fjord", "grove", "hazel", "inlet", "jasper", "kelp",
    "linen", "maple", "nectar", "ochre", "pearl",
];

/// Returns whether a path is one of the change.
pub(super) type Taken<'t> = &'t dyn Fn(&str) -> bool;

/// A request to a model.
pub struct Question {
    /// The task, in our words alone.
    pub instructions: String,
    /// The change, fenced.
    pub packet: String,
    /// The JSON schema of the answer.
    pub schema: Value,
    /// Counts of what was removed from the text.
    pub cleaned: Cleaned,
    /// The defect that nobody wrote.
    pub planted: Option<Planted>,
}

/// A canary in a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planted {
    /// Its file, which the change does not have.
    pub path: String,
    /// The rule that it breaks.
    pub(super) rule: &'static str,
    /// Its fault, in one sentence.
    pub(super) claim: &'static str,
    /// The lines of its fault.
    lines: std::ops::RangeInclusive<u64>,
    /// The text of those lines.
    pub(super) faulty: Vec<String>,
    pub(super) block: String,
}

impl Planted {
    /// Returns whether a finding about its file names its fault, and quotes it.
    pub fn is_named_by(&self, said: &ModelFinding) -> bool {
        let quoted = said.evidence_quote.lines().map(str::trim).find(|line| !line.is_empty());
        said.file == self.path
            && said.start_line <= *self.lines.end()
            && said.end_line >= *self.lines.start()
            && quoted.is_some_and(|quote| self.faulty.iter().any(|line| line.contains(quote)))
    }

    /// Returns the line that a claim about its fault names, with its text: the longest, which says most.
    pub(super) fn claimed_line(&self) -> (u64, &str) {
        let lines = self.lines.clone().zip(&self.faulty);
        let longest = lines.max_by_key(|(_, line)| line.len());
        longest.map_or((1, ""), |(number, line)| (number, line.trim()))
    }
}

/// Returns the digest of what a model is told to do, whatever it is asked about.
pub fn prompt_template_hash(spec: &ReviewSpec) -> Sha256Hex {
    let rules: Vec<(&str, &str)> = spec.rules.iter().map(|rule| (rule.id, rule.title)).collect();
    let ids: Vec<&str> = spec.rules.iter().map(|rule| rule.id).collect();
    canonical::digest(&(spec.id, spec.prompt, rules, answer::schema(&ids)))
        .expect("texts have a canonical form")
}

/// Returns the ids that an answer may name. The review of conventions names those of the rubric.
pub fn rule_ids<'a>(spec: &'a ReviewSpec, rubric: Option<&'a Rubric>) -> Vec<&'a str> {
    match rubric.filter(|_| spec.id == CONSISTENCY) {
        Some(rubric) => rubric.conventions.iter().map(|convention| convention.id.as_str()).collect(),
        None => spec.rules.iter().map(|rule| rule.id).collect(),
    }
}

/// Returns the instructions with what the answer may be about.
pub fn instructions(spec: &ReviewSpec, rubric: Option<&Rubric>) -> String {
    let mut text = spec.prompt.to_owned();
    match rubric.filter(|_| spec.id == CONSISTENCY) {
        Some(rubric) => {
            text.push_str("\n# Conventions\n\n");
            for convention in &rubric.conventions {
                let paths = convention.paths.join(", ");
                text.push_str(&format!("- `{}` ({paths}): {}\n", convention.id, convention.statement));
            }
        }
        None => {
            text.push_str("\n# Rules\n\n");
            spec.rules.iter().for_each(|rule| text.push_str(&format!("- `{}`: {}\n", rule.id, rule.title)));
        }
    }
    text
}

/// Returns the request about some files. The seed chooses the canary, where one is wanted and the review has one; its
/// path is not one of the change, since findings about it are not reported.
pub fn question(
    spec: &'static ReviewSpec,
    rubric: Option<&Rubric>,
    files: Vec<FileBlock>,
    seed: Option<&Sha256Hex>,
    is_taken: Taken<'_>,
) -> Question {
    let cleaned = files.iter().fold(Cleaned::default(), |sum, file| sum.with(file.cleaned));
    let mut blocks: Vec<String> = files.into_iter().map(|file| file.text).collect();
    let planted = seed.and_then(|seed| planted(spec.canaries, seed, is_taken));
    if let (Some(planted), Some(seed)) = (&planted, seed) {
        let place = numbers(seed)[2] % (blocks.len() + 1);
        blocks.insert(place, planted.block.clone());
    }
    Question {
        instructions: instructions(spec, rubric),
        packet: fenced(&blocks),
        schema: answer::schema(&rule_ids(spec, rubric)),
        cleaned,
        planted,
    }
}

/// Numbers that a seed gives.
fn numbers(seed: &Sha256Hex) -> [usize; 4] {
    [0, 4, 8, 12]
        .map(|at| usize::from_str_radix(&seed.as_str()[at..at + 4], 16).expect("a digest is hexadecimal"))
}

pub(super) fn planted(canaries: &'static [Canary], seed: &Sha256Hex, is_taken: Taken<'_>) -> Option<Planted> {
    let [which, first, _, second] = numbers(seed);
    let canary = canaries.get(which % canaries.len().max(1))?;
    let (first, second) = (WORDS[first % WORDS.len()], WORDS[second % WORDS.len()]);
    let mut paths =
        (22..=64).map(|end| format!("src/{first}/{second}_{}.{}", &seed.as_str()[16..end], canary.extension));
    let path = paths.find(|path| !is_taken(path))?;
    let language = match canary.extension {
        "py" => "python",
        "js" => "javascript",
        _ => "text",
    };
    let mut block = format!("file \"{path}\" added {language} product\nhunk 1\n");
    let text: Vec<String> = canary.lines.iter().map(|line| line.replace("{}", first)).collect();
    for (number, line) in (1..).zip(&text) {
        block.push_str(&format!("{number:>6} + | {line}\n"));
    }
    let faulty = (1..).zip(text).filter(|(number, _)| canary.faulty.contains(number));
    let faulty = faulty.map(|(_, line)| line).collect();
    let Canary { rule, claim, .. } = *canary;
    Some(Planted { path, rule, claim, lines: canary.faulty.clone(), faulty, block })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reviews::{ALL, find};

    fn seed(text: &str) -> Sha256Hex {
        canonical::sha256(text.as_bytes())
    }

    fn security_question(blocks: &[&str], seed: Option<&Sha256Hex>) -> Question {
        let files =
            blocks.iter().map(|block| FileBlock { text: (*block).to_owned(), cleaned: Cleaned::default() });
        question(find("review-security").unwrap(), None, files.collect(), seed, &|_| false)
    }

    #[test]
    fn the_goal_stands_in_every_question_and_the_schema_names_its_rules_alone() {
        for spec in ALL.iter().filter(|spec| spec.id != CONSISTENCY) {
            let question = question(spec, None, Vec::new(), None, &|_| false);
            assert!(question.instructions.starts_with(spec.prompt));
            for rule in spec.rules {
                assert!(
                    question.instructions.contains(rule.id) && question.schema.to_string().contains(rule.id)
                );
            }
        }
    }

    #[test]
    fn a_canary_is_one_of_the_files_and_differs_from_change_to_change() {
        let plain = security_question(&["one\n", "two\n"], None);
        assert_eq!(plain.planted, None);
        let mut seen = std::collections::BTreeSet::new();
        for text in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            let question = security_question(&["one\n", "two\n"], Some(&seed(text)));
            let planted = question.planted.unwrap();
            assert!(question.packet.contains(&planted.block) && question.packet.contains("one\n"));
            assert!(!planted.block.contains("{}"), "{}", planted.block);
            assert_eq!(planted, security_question(&["one\n"], Some(&seed(text))).planted.unwrap());
            seen.insert(planted.path);
        }
        assert_eq!(seen.len(), 8);
    }

    #[test]
    fn a_canary_stands_in_no_file_of_the_change() {
        let spec = find("review-security").unwrap();
        let seed = seed("a");
        let first = planted(spec.canaries, &seed, &|_| false).unwrap().path;
        let second = planted(spec.canaries, &seed, &|path| path == first).unwrap().path;
        assert_ne!(first, second);
        assert!(planted(spec.canaries, &seed, &|_| true).is_none());
    }

    #[test]
    fn the_hash_of_a_template_follows_what_the_model_is_told() {
        let hashes: std::collections::BTreeSet<_> =
            ALL.iter().map(|spec| prompt_template_hash(spec)).collect();
        assert_eq!(hashes.len(), ALL.len());
    }
}
