//! Java: imports by their words, up to the semicolon.

use super::super::outline::{Import, ImportKind, Span};
use super::{Budget, import, name};

const WORD: &str = "import";

/// Returns `None` where something stands in an import that only a parse can leave out.
pub(super) fn imports(text: &str) -> Option<Vec<Import>> {
    let mut budget = Budget::new(text);
    let mut found = Vec::new();
    for (start, _) in text.match_indices(WORD) {
        let after = start + WORD.len();
        if text[..start].ends_with(is_part) || text[after..].starts_with(is_part) {
            continue;
        }
        let Some(length) = text[after..].find(';') else { break };
        budget.spend(length)?;
        let end = after + length;
        let whole = Span { start, end: end + 1 };
        match path(text, Span { start: after, end }) {
            Path::Plain { is_star, span } => found.push(placed(text, whole, span, is_star)),
            Path::Other => {}
            Path::Unclear => return None,
        }
    }
    Some(found)
}

/// The words between `import` and its semicolon.
enum Path {
    Plain {
        is_star: bool,
        span: Span,
    },
    /// No import, in a text or a comment.
    Other,
    Unclear,
}

fn path(text: &str, span: Span) -> Path {
    let words = span.of(text);
    let mut each = words.split_whitespace();
    let (first, second) = (each.next(), each.next());
    let path = match (first, second) {
        (Some("static"), Some(path)) | (Some(path), None) => path,
        (Some(_), Some(_)) | (None, _) => "",
    };
    let is_path = path.chars().all(|character| is_part(character) || ".*".contains(character));
    if path.is_empty() || !is_path || each.next().is_some() {
        // A comment or a blank inside of the path.
        let is_import = !words.contains(['"', '\'', '=', '(', '{', '}']);
        return if is_import { Path::Unclear } else { Path::Other };
    }
    let start = span.start + words.rfind(path).unwrap_or(0);
    let plain = path.strip_suffix(".*");
    let length = plain.unwrap_or(path).len();
    Path::Plain { is_star: plain.is_some(), span: Span { start, end: start + length } }
}

fn placed(text: &str, whole: Span, path: Span, is_star: bool) -> Import {
    let last = path.of(text).rfind('.').filter(|_| !is_star);
    let module = Span { start: path.start, end: last.map_or(path.end, |at| path.start + at) };
    let mut placed = import(ImportKind::Static, text, whole, module);
    placed.star = is_star;
    placed.names.extend(last.map(|at| name(text, Span { start: path.start + at + 1, end: path.end })));
    placed
}

fn is_part(character: char) -> bool {
    character.is_alphanumeric() || "_$".contains(character)
}
