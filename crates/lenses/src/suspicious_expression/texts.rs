//! Strings that are read by a language of their own: formats, templates, regular expressions.

use std::sync::LazyLock;

use regex::Regex;

use super::rules;
use super::site::{Check, Found, Site, last_name};
use qa_reading::expressions::{Expression, Form, Operator};
use qa_reading::syntax::Language;

pub(super) const PERCENT: Check =
    Check::new(rules::FORMAT_ARGUMENTS, "format takes another number of arguments", percent);
pub(super) const FORMAT: Check =
    Check::new(rules::FORMAT_ARGUMENTS, "format takes another number of arguments", format).of_calls(FORMATS);
pub(super) const PREFIX: Check =
    Check::new(rules::MISSING_INTERPOLATION, "text names parameters in braces and is no template", prefix);
pub(super) const RETURNED: Check =
    Check::new(rules::MISSING_INTERPOLATION, "text names parameters in braces and is no template", returned);
pub(super) const COMMA: Check =
    Check::new(rules::MISSING_COMMA, "two texts become one entry, as no comma is between them", comma);
pub(super) const BACKTRACKING: Check = Check::new(
    rules::BACKTRACKING,
    "repeated group has a repetition in it, which takes exponential time",
    literal,
);
pub(super) const BACKTRACKING_CALL: Check = Check::new(
    rules::BACKTRACKING,
    "repeated group has a repetition in it, which takes exponential time",
    given,
)
.of_calls(&[
    "compile",
    "match",
    "search",
    "fullmatch",
    "sub",
    "findall",
    "finditer",
    "split",
    "RegExp",
    "Regex",
    "IsMatch",
    "matches",
    "preg_match",
    "preg_match_all",
    "preg_replace",
    "preg_split",
]);

const FORMATS: &[&str] = &[
    "format",
    "Format",
    "printf",
    "sprintf",
    "Printf",
    "Sprintf",
    "Errorf",
    "Fatalf",
    "Logf",
    "Panicf",
    "Fprintf",
    "debug",
    "info",
    "warning",
    "error",
    "critical",
    "exception",
    "formatted",
];

/// Returns the number of values that a format in the manner of `printf` takes; `None` where it names or numbers them.
fn conversions(format: &str, language: Language) -> Option<usize> {
    static CONVERSION: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"%(?:[-+#0,(]|'.)*(\*|\d+)?(?:\.(\*|\d+)?)?(?:[hlLqjzt]+)?([a-zA-Z%])")
            .expect("a valid pattern")
    });
    static NAMED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"%(?:\(|<|\{|\[|\d+\$)").expect("a valid pattern"));
    if NAMED.is_match(format) {
        return None;
    }
    let mut count = 0;
    for found in CONVERSION.captures_iter(format) {
        let letter = &found[3];
        let takes_none = letter == "%" || letter == "n" && language == Language::Java;
        let stars =
            [1, 2].iter().filter(|group| found.get(**group).is_some_and(|part| part.as_str() == "*")).count();
        count += stars + usize::from(!takes_none);
    }
    // A sign that begins no conversion is an error of its own, or text of another kind.
    let signs = format.replace("%%", "").matches('%').count();
    let read = CONVERSION.find_iter(&format.replace("%%", "")).count();
    (signs == read).then_some(count)
}

/// Returns whether arguments are not all written out one by one.
fn is_spread(arguments: &[Expression<'_>]) -> bool {
    arguments.iter().any(|given| {
        let kind = given.kind();
        kind.contains("splat")
            || kind.contains("spread")
            || kind.contains("variadic")
            || kind.contains("unpack")
    })
}

fn percent(site: &Site<'_>) -> Found {
    let Form::Binary { left, operator: Operator::Remainder, right } = site.form else { return Vec::new() };
    let language = site.language();
    let Some(count) = left.joined_text().and_then(|text| conversions(&text, language)) else {
        return Vec::new();
    };
    let given = match (language, right.form()) {
        (Language::Python, Form::Tuple) | (Language::Ruby, Form::List) => {
            let items = right.unwrapped().children();
            if is_spread(&items) {
                return Vec::new();
            }
            items.len()
        }
        (Language::Python, Form::Text(_) | Form::Number(_) | Form::Template) => 1,
        _ => return Vec::new(),
    };
    site.if_true(count != given)
}

fn format(site: &Site<'_>) -> Found {
    let Form::Call { object, name, .. } = site.form else { return Vec::new() };
    let arguments = site.arguments();
    if is_spread(&arguments) {
        return Vec::new();
    }
    let owner = object.and_then(last_name);
    match (site.language(), name) {
        (Language::Python, "format") => braces(site, object, &arguments),
        (Language::CSharp, "Format")
            if object.is_some_and(|object| matches!(object.source(), "string" | "String")) =>
        {
            numbered(site, &arguments)
        }
        (Language::Python, "debug" | "info" | "warning" | "error" | "critical" | "exception") => {
            let is_log =
                owner.is_some_and(|owner| owner.to_lowercase().trim_start_matches('_').starts_with("log"));
            if is_log { logged(site, &arguments) } else { Vec::new() }
        }
        (Language::Go, "Printf" | "Sprintf" | "Errorf" | "Fatalf" | "Logf" | "Panicf") => {
            let is_known = owner.is_some_and(|owner| matches!(owner, "fmt" | "log" | "t" | "b"));
            if is_known { counted(site, &arguments, 0) } else { Vec::new() }
        }
        (Language::Go, "Fprintf") if owner == Some("fmt") => counted(site, &arguments, 1),
        (Language::Java, "format") if owner == Some("String") => {
            let position = usize::from(arguments.first().is_some_and(|first| first.joined_text().is_none()));
            counted(site, &arguments, position)
        }
        (Language::Php, "sprintf" | "printf") | (Language::Ruby, "format" | "sprintf" | "printf")
            if object.is_none() =>
        {
            counted(site, &arguments, 0)
        }
        _ => Vec::new(),
    }
}

/// Reports a call whose format at a position takes another number of values than stand behind it.
fn counted(site: &Site<'_>, arguments: &[Expression<'_>], position: usize) -> Found {
    let Some(text) = arguments.get(position).and_then(|format| format.joined_text()) else {
        return Vec::new();
    };
    let Some(count) = conversions(&text, site.language()) else { return Vec::new() };
    let values = &arguments[position + 1..];
    // A single argument may be an array of all values.
    let may_be_all =
        values.len() == 1 && count > 1 && matches!(site.language(), Language::Java | Language::Ruby);
    site.if_true(count != values.len() && !may_be_all)
}

fn logged(site: &Site<'_>, arguments: &[Expression<'_>]) -> Found {
    let values: Vec<_> =
        arguments.iter().skip(1).filter(|given| !matches!(given.form(), Form::Pair { .. })).collect();
    let Some(text) = arguments.first().and_then(|format| format.joined_text()) else { return Vec::new() };
    let Some(count) = conversions(&text, site.language()) else { return Vec::new() };
    let is_map = values.len() == 1 && values[0].form() == Form::Record;
    // Loguru and others fill braces.
    let has_braces = count == 0 && text.contains('{');
    site.if_true(!values.is_empty() && !is_map && !has_braces && count != values.len())
}

static FIELD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{([A-Za-z_]\w*|\d+)?(?:[.\[][^{}]*)?(?:![rsa])?(?:[:,][^{}]*)?\}").expect("a valid pattern")
});

fn braces(site: &Site<'_>, object: Option<Expression<'_>>, arguments: &[Expression<'_>]) -> Found {
    let Some(text) = object.and_then(Expression::joined_text) else { return Vec::new() };
    let text = text.replace("{{", "").replace("}}", "");
    if text.matches('{').count() != FIELD.find_iter(&text).count() {
        return Vec::new();
    }
    let named: Vec<&str> = arguments
        .iter()
        .filter_map(
            |given| if let Form::Pair { name, .. } = given.form() { Some(name.source()) } else { None },
        )
        .collect();
    let positional = arguments.len() - named.len();
    let (mut automatic, mut highest, mut is_unknown) = (0, 0, false);
    for field in FIELD.captures_iter(&text) {
        match field.get(1).map(|name| name.as_str()) {
            None => automatic += 1,
            Some(name) => match name.parse::<usize>() {
                Ok(number) => highest = highest.max(number.saturating_add(1)),
                Err(_) => is_unknown |= !named.contains(&name),
            },
        }
    }
    site.if_true(automatic.max(highest) > positional || is_unknown)
}

fn numbered(site: &Site<'_>, arguments: &[Expression<'_>]) -> Found {
    let Some(text) = arguments.first().and_then(|format| format.joined_text()) else { return Vec::new() };
    let text = text.replace("{{", "").replace("}}", "");
    let numbers = FIELD.captures_iter(&text).filter_map(|field| field.get(1)?.as_str().parse::<usize>().ok());
    let highest = numbers.map(|number| number.saturating_add(1)).max().unwrap_or(0);
    site.if_true(highest > arguments.len() - 1 && arguments.len() > 2)
}

/// Calls that show a text as it is.
const SHOWS: &[&str] = &["print", "debug", "info", "warn", "warning", "error", "log", "critical"];

fn prefix(site: &Site<'_>) -> Found {
    static NAMES: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(\$?)\{([A-Za-z_]\w*)\}").expect("a valid pattern"));
    let Form::Call { name, is_new, .. } = site.form else { return Vec::new() };
    let is_error = name.ends_with("Error") || name.ends_with("Exception");
    let is_judged = site.language() == Language::Python && (is_error || SHOWS.contains(&name))
        || site.is_ecma() && (is_error && is_new || SHOWS.contains(&name));
    if !is_judged {
        return Vec::new();
    }
    let [only] = site.arguments()[..] else { return Vec::new() };
    let Form::Text(text) = only.form() else { return Vec::new() };
    let Some(function) = site.expression.function() else { return Vec::new() };
    let parameters = function.parameters();
    let mut found = NAMES.captures_iter(&text).filter(|name| name[1].is_empty() != site.is_ecma()).peekable();
    let is_named = found.peek().is_some()
        && found.all(|name| parameters.contains(&name.get(2).map_or("", |name| name.as_str())));
    let is_template = only.source().starts_with('`');
    if is_named && !is_template { vec![only.span()] } else { Vec::new() }
}

/// Finds a plain string with parameters in braces that a function returns.
fn returned(site: &Site<'_>) -> Found {
    static NAMES: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(\$?)\{([A-Za-z_]\w*)\}").expect("a valid pattern"));
    let is_judged = site.is_ecma() || site.language() == Language::CSharp;
    if !is_judged || site.expression.kind() != "return_statement" {
        return Vec::new();
    }
    let [only] = site.expression.children()[..] else { return Vec::new() };
    let Form::Text(text) = only.form() else { return Vec::new() };
    let Some(function) = site.expression.function().filter(|_| !only.source().starts_with(['`', '$'])) else {
        return Vec::new();
    };
    let parameters = function.parameters();
    let mut names = NAMES.captures_iter(&text).filter(|name| name[1].is_empty() != site.is_ecma()).peekable();
    let is_named = names.peek().is_some() && names.all(|name| parameters.contains(&&name[2]));
    if is_named { vec![only.span()] } else { Vec::new() }
}

fn comma(site: &Site<'_>) -> Found {
    if !matches!(site.language(), Language::Python | Language::C | Language::Cpp) {
        return Vec::new();
    }
    let items = site.expression.unwrapped().children();
    let (joined, single): (Vec<Expression<'_>>, Vec<Expression<'_>>) =
        items.into_iter().partition(|item| item.kind() == "concatenated_string");
    let [joined] = joined[..] else { return Vec::new() };
    let parts = joined.children();
    let [first, last] = parts[..] else { return Vec::new() };
    let is_list_of_words = single.len() >= 2 && single.iter().chain(&parts).all(|item| is_word(*item));
    if is_list_of_words { vec![last.span(), first.span()] } else { Vec::new() }
}

/// Returns whether an entry of a list is one word, which nobody breaks over lines.
fn is_word(item: Expression<'_>) -> bool {
    static WORD: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^[\w./*@:-]{1,40}$").expect("a valid pattern"));
    item.text_value().is_some_and(|text| WORD.is_match(&text))
}

fn literal(site: &Site<'_>) -> Found {
    let is_judged = site.is_ecma() || site.language() == Language::Ruby;
    site.if_true(is_judged && is_exponential(site.expression.source()))
}

fn given(site: &Site<'_>) -> Found {
    let Form::Call { object, name, .. } = site.form else { return Vec::new() };
    let owner = object.and_then(last_name);
    let is_judged = match site.language() {
        Language::Python => matches!(owner, Some("re" | "regex")),
        Language::Java => {
            owner == Some("Pattern") && name == "compile" || name == "matches" && object.is_some()
        }
        Language::JavaScript | Language::TypeScript | Language::Tsx => name == "RegExp",
        Language::CSharp => name == "Regex" || owner == Some("Regex"),
        Language::Php => name.starts_with("preg_"),
        Language::C | Language::Cpp | Language::Go | Language::Kotlin | Language::Ruby | Language::Rust => {
            false
        }
    };
    let is_second = site.language() == Language::CSharp && name == "IsMatch" && site.arguments().len() > 1;
    let pattern = site.arguments().get(usize::from(is_second)).copied().filter(|_| is_judged);
    let Some((pattern, source)) = pattern.and_then(|given| Some((given, given.text_value()?))) else {
        return Vec::new();
    };
    if is_exponential(&source) { vec![pattern.span()] } else { Vec::new() }
}

/// Returns whether a repeated group holds one repetition that may match all of it, and something has to follow.
fn is_exponential(pattern: &str) -> bool {
    static NESTED: LazyLock<Regex> = LazyLock::new(|| {
        let atom = r"(?:\\[wdsWDS]|\[(?:[^\]\\]|\\.)+\]|\.|[A-Za-z0-9])";
        let optional = r"(?:(?:\\[wdsWDS.,-]|\[(?:[^\]\\]|\\.)+\]|[ ,.;-])[*?])?";
        Regex::new(&format!(r"\((?:\?:)?{optional}{atom}[+*]{optional}\)(?:[+*]|\{{\d+,\}})(.?)(.?)"))
            .expect("a valid pattern")
    });
    NESTED.captures_iter(pattern).any(|found| {
        let next = found.get(1).map_or("", |next| next.as_str());
        let is_possessive = next == "+";
        !is_possessive && !next.is_empty() && !matches!(next, "/" | ")" | "|" | "?" | "*")
    })
}

#[cfg(test)]
mod tests {
    use super::{conversions, is_exponential};
    use qa_reading::syntax::Language;

    #[test]
    fn repetitions_in_repetitions_are_exponential_where_something_follows() {
        for (pattern, expected) in [
            (r"^(\w+\s?)*$", true),
            (r"(a+)+b", true),
            (r"^(?:[a-z]+)*\.com", true),
            (r"(\d+)*$", true),
            (r"^(\w+\.)+$", false),
            (r"(a+)+", false),
            (r"(a+)++b", false),
            (r"(ab)+c", false),
            (r"(a+b)*c", false),
            (r"(?:\\.|[^\\])*x", false),
        ] {
            assert_eq!(is_exponential(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn values_of_a_format_are_counted() {
        for (format, expected) in [
            ("%s of %d", Some(2)),
            ("%d%%", Some(1)),
            ("%-10s|%5.2f", Some(2)),
            ("%*d", Some(2)),
            ("%(name)s", None),
            ("%1$s", None),
            ("100% sure", None),
            ("none", Some(0)),
        ] {
            assert_eq!(conversions(format, Language::Python), expected, "{format}");
        }
    }
}
