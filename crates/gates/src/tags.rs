//! Finds in names, tags and properties of tests which feature and step they show: `@feature:42 @step:3`.

use super::report::Story;

/// The stories of a test from its texts, outer suites first: a step belongs to the feature named last before it, and a
/// feature without a step is shown as a whole.
pub(crate) fn stories<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Story> {
    let mut reader = StoryReader::default();
    texts.into_iter().for_each(|text| reader.read(text));
    reader.finish()
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '@' | ':')
}

/// Collects stories where a format has members for them.
#[derive(Debug, Default)]
pub(crate) struct StoryReader {
    found: Vec<Story>,
    feature: Option<u64>,
    has_step: bool,
}

impl StoryReader {
    /// Takes the tags of a text.
    pub(crate) fn read(&mut self, text: &str) {
        for word in text.split(|character: char| !is_word(character)) {
            if let Some((kind, number)) = word.strip_prefix('@').and_then(|word| word.split_once(':')) {
                self.add(kind, number);
            }
        }
    }

    /// Takes a `feature` or a `step`; anything else, and a number that is none, is no tag.
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

    /// The stories, sorted, each once.
    pub(crate) fn finish(mut self) -> Vec<Story> {
        self.close();
        in_order(&mut self.found);
        self.found
    }

    fn close(&mut self) {
        if let Some(feature) = self.feature.take().filter(|_| !self.has_step) {
            self.found.push(Story { feature, step: None });
        }
        self.has_step = false;
    }
}

/// Sorts, leaves each out but once, and leaves a whole feature out where steps of it are there.
pub(crate) fn in_order(stories: &mut Vec<Story>) {
    stories.sort();
    stories.dedup();
    let with_steps: Vec<u64> =
        stories.iter().filter(|story| story.step.is_some()).map(|story| story.feature).collect();
    stories.retain(|story| story.step.is_some() || with_steps.binary_search(&story.feature).is_err());
}

/// Digits alone: no sign, no leading zero, within what every reader of JSON keeps.
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
