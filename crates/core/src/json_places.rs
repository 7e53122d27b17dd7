//! Finds the byte ranges of values in a well-formed JSON text, to quote or edit them.

use std::ops::Range;

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberPlace {
    /// Decoded name.
    pub(crate) name: String,
    /// Byte range of the name with its quotes.
    pub key: Range<usize>,
    /// Byte range of the value.
    pub value: Range<usize>,
}

/// Returns the place of the whole value. Every function of this module expects a text that a parser accepted; for
/// another text it returns too little, but neither panics nor loops.
pub(crate) fn root(text: &str) -> Range<usize> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    value_at(text, skip_blanks(text, start))
}

/// Returns the places of an array's items.
pub(crate) fn items(text: &str, array: Range<usize>) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut at = array.start + 1;
    while at < array.end {
        let item = value_at(text, skip_blanks(text, at));
        if item.is_empty() {
            break;
        }
        at = skip_blanks(text, item.end) + 1;
        places.push(item);
    }
    places
}

/// Returns the places of an object's members.
pub(crate) fn members(text: &str, object: Range<usize>) -> Vec<MemberPlace> {
    let mut places = Vec::new();
    let mut at = object.start + 1;
    while at < object.end {
        let key = value_at(text, skip_blanks(text, at));
        let Some(name) = text.get(key.clone()).and_then(|name| serde_json::from_str(name).ok()) else {
            break;
        };
        let colon = skip_blanks(text, key.end);
        let value = value_at(text, skip_blanks(text, colon + 1));
        if value.is_empty() {
            break;
        }
        at = skip_blanks(text, value.end) + 1;
        places.push(MemberPlace { name, key, value });
    }
    places
}

/// Returns the place that a JSON pointer leads to, or that of the last existing value on its way.
pub fn find(text: &str, pointer: &str) -> Range<usize> {
    let mut place = root(text);
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        let inside = match text.as_bytes().get(place.start) {
            Some(b'[') => {
                token.parse().ok().and_then(|index: usize| items(text, place.clone()).into_iter().nth(index))
            }
            Some(b'{') => members(text, place.clone())
                .into_iter()
                .find(|member| member.name == token)
                .map(|member| member.value),
            _ => None,
        };
        match inside {
            Some(inside) => place = inside,
            None => break,
        }
    }
    place
}

/// Offsets at which the lines of a text begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineStarts(Vec<usize>);

impl LineStarts {
    pub fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(offset, _)| offset + 1);
        Self(std::iter::once(0).chain(ends).collect())
    }

    /// Returns the line of an offset, from 1, and the offset at which that line begins.
    pub fn line(&self, offset: usize) -> (u64, usize) {
        let number = self.0.partition_point(|start| *start <= offset);
        (number as u64, self.0[number - 1])
    }
}

/// Returns the line of an offset, from 1.
pub fn line(text: &str, offset: usize) -> u64 {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() as u64 + 1
}

fn skip_blanks(text: &str, from: usize) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or(&[]);
    from + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
}

/// Returns the place of the value that begins at an offset; empty when there is none.
fn value_at(text: &str, start: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let start = start.min(bytes.len());
    let mut depth = 0_usize;
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = string_end(bytes, at),
            b'[' | b'{' => {
                depth += 1;
                at += 1;
            }
            b']' | b'}' if depth == 0 => return start..at,
            b']' | b'}' => {
                depth -= 1;
                at += 1;
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return start..at,
            // Inside a container, or inside a number or a word, which a delimiter ends.
            _ => {
                at += 1;
                continue;
            }
        }
        if depth == 0 {
            return start..at;
        }
    }
    start..at
}

/// Returns the offset behind the closing quote of the string that begins at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    /// Every value of a text with its pointer, read back from its place.
    fn check(text: &str, place: Range<usize>, pointer: &str, value: &Value) {
        assert_eq!(&serde_json::from_str::<Value>(&text[place.clone()]).unwrap(), value, "{pointer}");
        assert_eq!(find(text, pointer), place, "{pointer}");
        match value {
            Value::Array(list) => {
                let places = items(text, place);
                assert_eq!(places.len(), list.len());
                for (index, (place, value)) in places.into_iter().zip(list).enumerate() {
                    check(text, place, &format!("{pointer}/{index}"), value);
                }
            }
            Value::Object(map) => {
                let places = members(text, place);
                assert_eq!(places.len(), map.len());
                for member in places {
                    let token = member.name.replace('~', "~0").replace('/', "~1");
                    check(text, member.value, &format!("{pointer}/{token}"), &map[&member.name]);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-z\"\\\\{}\\[\\],:/~ \n\u{e4}]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-z\"~/ ]{0,3}", inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_value_stands_where_its_pointer_leads(value in json(), pretty in any::<bool>()) {
            let text = if pretty {
                format!("\u{feff}\n {}\r\n", serde_json::to_string_pretty(&value).unwrap())
            } else {
                value.to_string()
            };
            check(&text, root(&text), "", &value);
        }

        #[test]
        fn text_that_is_not_json_does_no_harm(text in "[\\[\\]{}\":,\\\\a1 \n]{0,24}") {
            let place = root(&text);
            items(&text, place.clone());
            members(&text, place);
            find(&text, "/a/0/1");
        }
    }

    #[test]
    fn lines_count_from_1() {
        let text = "[\n1,\n  2]";
        assert_eq!([0, 1, 2, 6, 999].map(|offset| line(text, offset)), [1, 1, 2, 3, 3]);
        let starts = LineStarts::new(text);
        let found = [0, 1, 2, 6, 999].map(|offset| starts.line(offset));
        assert_eq!(found, [(1, 0), (1, 0), (2, 2), (3, 5), (3, 5)]);
    }
}
