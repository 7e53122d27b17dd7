//! Settings of NuGet that keep other sources out, and that a change removes.

use qa_reading::documents::{Document, Format, Node};
use qa_reading::syntax::Span;

use super::{Finding, Place, REGISTRY};

/// Name of the file of settings, in lower case.
pub(super) const SETTINGS: &str = "nuget.config";

/// Returns the findings of a file of settings that loses what keeps other sources out.
pub(super) fn lost(base: &str, head: &str) -> Vec<Finding> {
    let (Some(old), Some(new)) = (Barriers::parse(base), Barriers::parse(head)) else { return Vec::new() };
    let pairs = [
        (old.clear, new.clear, "sources of other files of settings are used again"),
        (old.mapping, new.mapping, "packages may come from any source again"),
    ];
    pairs
        .into_iter()
        .filter(|(old, new, _)| old.is_some() && new.is_none())
        .filter_map(|(old, _, summary)| Some(Finding::new(REGISTRY, summary, vec![Place::base(old?)])))
        .collect()
}

/// Places of the elements that keep other sources out.
struct Barriers {
    clear: Option<Span>,
    mapping: Option<Span>,
}

impl Barriers {
    fn parse(text: &str) -> Option<Self> {
        let document = Document::parse(Format::Xml, text).ok()?;
        let configuration = document.root().get("configuration")?;
        let sources = configuration.get("packageSources");
        let mapping = configuration.get("packageSourceMapping");
        let has_pattern =
            |mapping: &Node<'_>| mapping.all("packageSource").any(|source| source.get("package").is_some());
        Some(Self {
            clear: sources.and_then(|sources| sources.get("clear")).map(Node::span),
            mapping: mapping.filter(has_pattern).map(Node::span),
        })
    }
}
