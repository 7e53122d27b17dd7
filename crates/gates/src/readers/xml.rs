//! Reads XML into a tree: one root, no document type, no entity but the five of XML itself, bounded in depth.

use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::report::ReportError;

/// The deepest nesting.
const MAX_DEPTH: usize = 64;
/// The most elements.
const MAX_ELEMENTS: usize = 1_000_000;
/// The most attributes of an element.
const MAX_ATTRIBUTES: usize = 64;

/// An element with its attributes, text and children.
#[derive(Debug, Default)]
pub(crate) struct Element {
    /// The name without its prefix.
    pub(crate) name: String,
    /// Values by whole name.
    pub(crate) attributes: Vec<(String, String)>,
    /// The text directly in it.
    pub(crate) text: String,
    /// The elements directly in it.
    pub(crate) children: Vec<Element>,
}

impl Element {
    /// Returns the first element of a name directly in this one.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Returns the first element, this one or one in it, that has one of the names in any case.
    pub(crate) fn find(&self, names: &[&str]) -> Option<&Self> {
        if names.iter().any(|name| name.eq_ignore_ascii_case(&self.name)) {
            return Some(self);
        }
        self.children.iter().find_map(|child| child.find(names))
    }

    /// Writes the element as XML.
    #[cfg(test)]
    pub(crate) fn write(&self, report: &mut String) {
        report.push_str(&format!("<{}", self.name));
        for (name, value) in &self.attributes {
            report.push_str(&format!(" {name}=\"{}\"", quick_xml::escape::escape(value.as_str())));
        }
        report.push_str(&format!(">{}", quick_xml::escape::escape(self.text.as_str())));
        self.children.iter().for_each(|child| child.write(report));
        report.push_str(&format!("</{}>", self.name));
    }

    /// Returns the value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

fn unreadable(error: impl std::fmt::Display) -> ReportError {
    ReportError::unreadable(format!("it is not well-formed XML: {error}"))
}

/// Reads one document.
pub(crate) fn parse(report: &[u8]) -> Result<Element, ReportError> {
    let text = std::str::from_utf8(report).map_err(|_| ReportError::unreadable("it is not UTF-8"))?;
    let mut reader = Reader::from_str(text);
    // The element at the bottom stands for the document.
    let mut open = vec![Element::default()];
    let mut elements = 0;
    loop {
        elements += 1;
        if elements > MAX_ELEMENTS {
            return Err(ReportError::TooLarge(format!("it has more than {MAX_ELEMENTS} elements and texts")));
        }
        match reader.read_event().map_err(unreadable)? {
            Event::Start(start) => {
                if open.len() > MAX_DEPTH {
                    return Err(ReportError::TooLarge(format!("nesting is deeper than {MAX_DEPTH}")));
                }
                open.push(element(&start)?);
            }
            Event::Empty(start) => add(&mut open, element(&start)?),
            Event::End(_) => {
                let closed = open.pop().filter(|_| !open.is_empty());
                add(&mut open, closed.ok_or_else(|| unreadable("an end without a start"))?);
            }
            Event::Text(text) => push(&mut open, &text.into_inner()),
            Event::CData(text) => push(&mut open, &text.into_inner()),
            Event::GeneralRef(reference) => {
                let character = reference.resolve_char_ref().map_err(unreadable)?;
                match (character, resolve_predefined_entity(&reference)) {
                    (Some(character), _) => push(&mut open, character.encode_utf8(&mut [0; 4])),
                    (None, Some(text)) => push(&mut open, text),
                    (None, None) => {
                        return Err(unreadable(format!("the entity {:?} is not of XML", &*reference)));
                    }
                }
            }
            Event::DocType(_) => {
                return Err(ReportError::unreadable("it has a document type, which reports have not"));
            }
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) => {}
            Event::Eof => break,
        }
    }
    let document = open.pop().filter(|_| open.is_empty());
    let Some(mut document) = document else { return Err(ReportError::unreadable("it ends before its end")) };
    match (document.children.pop(), document.children.is_empty() && document.text.trim().is_empty()) {
        (Some(root), true) => Ok(root),
        _ => Err(ReportError::unreadable("it is not one XML document")),
    }
}

fn element(start: &BytesStart<'_>) -> Result<Element, ReportError> {
    let mut attributes = Vec::new();
    // The iterator refuses a name that appears twice.
    for attribute in start.attributes() {
        if attributes.len() == MAX_ATTRIBUTES {
            return Err(ReportError::TooLarge(format!(
                "an element has more than {MAX_ATTRIBUTES} attributes"
            )));
        }
        let attribute = attribute.map_err(unreadable)?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(unreadable)?;
        // The formats have no attribute with a prefix, so that one never stands for the plain one of its name.
        attributes.push((attribute.key.into_inner().to_owned(), value.into_owned()));
    }
    let name = start.local_name().as_ref().to_owned();
    Ok(Element { name, attributes, ..Element::default() })
}

fn add(open: &mut [Element], child: Element) {
    if let Some(parent) = open.last_mut() {
        parent.children.push(child);
    }
}

fn push(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_with_its_text() {
        let root =
            parse(b"<?xml version=\"1.0\"?><a x='1&lt;2'><!-- c -->b&amp;<![CDATA[<c>]]>&#10;<d/></a>\n")
                .unwrap();
        assert_eq!(
            (root.name.as_str(), root.attribute("x"), root.text.as_str()),
            ("a", Some("1<2"), "b&<c>\n")
        );
        assert_eq!(root.children.iter().filter(|child| child.name == "d").count(), 1);
    }

    #[test]
    fn a_prefix_makes_another_attribute_and_the_same_element() {
        let root = parse(b"<n:a xmlns:n='urn:n' n:x='1' x='2'><n:B n:y='3'/></n:a>").unwrap();
        assert_eq!((root.name.as_str(), root.attribute("x")), ("a", Some("2")));
        let inner = root.find(&["c", "b"]).unwrap();
        assert_eq!((inner.name.as_str(), inner.attribute("y")), ("B", None));
    }

    #[test]
    fn what_readers_would_disagree_about_is_refused() {
        let bomb = "<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;\">]><a>&c;</a>";
        let deep = "<a>".repeat(65) + &"</a>".repeat(65);
        let cases = [
            bomb,
            &deep,
            "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>",
            "<a>&b;</a>",
            "<a x='&b;'/>",
            "<a x='1' x='2'/>",
            "<a><b></a></b>",
            "<a>",
            "<a",
            "</a>",
            "<a/><b/>",
            "<a/>text",
            "text",
            "",
            "<a>&#xD800;</a>",
        ];
        for text in cases {
            assert!(parse(text.as_bytes()).is_err(), "{text} was accepted");
        }
        assert!(parse(b"<a>\xff</a>").is_err());
    }
}
