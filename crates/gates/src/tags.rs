//! Reads the features and steps that a test claims to verify from its name, tags and properties: `@feature:42 @step:3`.

use super::report::{Story, sort_stories};

/// Returns the stories tagged in a test's texts, given from the outer suites inwards. A step belongs to the last feature
/// before it; a feature without steps stands for the feature as a whole.
pub(crate) fn stories<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Story> {
    let mut reader = StoryReader::default();
    texts.into_iter().for_each(|text| reader.read_tags(text));
    reader.finish()
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '@' | ':')
}

/// Collects stories from tags, and from the members that some formats have for them.
#[derive(Debug, Default)]
pub(crate) struct StoryReader {
    found: Vec<Story>,
    feature: Option<u64>,
    has_step: bool,
}

impl StoryReader {
    /// Adds the tags of a text.
    pub(crate) fn read_tags(&mut self, text: &str) {
        for word in text.split(|character: char| !is_word(character)) {
            if let Some((kind, number)) = word.strip_prefix('@').and_then(|word| word.split_once(':')) {
                self.add(kind, number);
            }
        }
    }

    /// Adds a `feature` or a `step`. Ignores other kinds and invalid numbers.
    pub(crate) fn add(&mut self, kind: &str, number: &str) {
        match kind {
            "feature" => {
                self.close();
                self.feature = plain_number(number);
            }
            "step" => {
                let step = plain_number(number).and_then(|number| u32::try_from(number).ok());
                if let (Some(feature), Some(step)) = (self.feature, step) {
                    self.has_step = true;
                    self.found.push(Story { feature, step: Some(step) });
                }
            }
            _ => {}
        }
    }

    /// Returns the stories, sorted and without duplicates.
    pub(crate) fn finish(mut self) -> Vec<Story> {
        self.close();
        sort_stories(&mut self.found);
        self.found
    }

    fn close(&mut self) {
        if let Some(feature) = self.feature.take().filter(|_| !self.has_step) {
            self.found.push(Story { feature, step: None });
        }
        self.has_step = false;
    }
}

/// Parses a number of digits alone, without sign or leading zero, and small enough for every JSON reader.
fn plain_number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits && !text.starts_with('0'))?;
    (number <= qa_contracts::limits::MAX_SAFE_INTEGER).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(texts: &[&str]) -> String {
        let each = |story: &Story| match story.step {
            Some(step) => format!("{}.{step}", story.feature),
            None => story.feature.to_string(),
        };
        stories(texts.iter().copied()).iter().map(each).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_step_belongs_to_the_feature_before_it() {
        let cases: &[(&[&str], &str)] = &[
            (&["login @feature:42 @step:3"], "42.3"),
            (&["login @feature:42", "fills @step:1 @step:2"], "42.1 42.2"),
            (&["@feature:42"], "42"),
            (&["@feature:1 @step:1 @feature:2"], "1.1 2"),
            (&["test_login[@feature:42-@step:3]"], "42.3"),
            (&["@step:3 without a feature"], ""),
            (&["TestAdd/@feature:42_@step:1"], "42.1"),
            (&["mail@feature:42"], ""),
            (&["@feature:042 @feature:-1 @feature: @feature:9007199254740993"], ""),
            (&["@feature:0x1"], ""),
        ];
        for (texts, expected) in cases {
            assert_eq!(shown(texts), *expected, "{texts:?}");
        }
    }
}
