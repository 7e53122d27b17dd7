//! Lookups that find nothing at times, whose result is used as if they always found something.

use super::seen::{Seen, is_one_of};
use super::{ENVIRONMENT, KEY, MATCH, OPTIONAL, SEARCH};
use qa_reading::syntax::{Language, Span};
use qa_reading::values::{Act, Body, Call, Fate};

/// A lookup with the uses that fail where it finds nothing.
struct Row {
    rule: &'static str,
    languages: &'static [Language],
    callees: &'static [&'static str],
    /// Number of arguments; a default is one more.
    arguments: usize,
    argument: Argument,
    uses: Uses,
}

/// The form that the first argument has to have.
enum Argument {
    Any,
    Function,
    Text,
}

/// Uses of a result that fail where there is none.
enum Uses {
    /// Any member, any index.
    Any,
    /// Members that only what is found has; an index where the list has `[]`.
    Members(&'static [&'static str]),
    /// Any but these, which nothing has too.
    AnyBut(&'static [&'static str]),
}

const ECMA: &[Language] = &[Language::JavaScript, Language::Tsx, Language::TypeScript];
const PYTHON: &[Language] = &[Language::Python];
const JAVA: &[Language] = &[Language::Java];
const GO: &[Language] = &[Language::Go];
const RUBY: &[Language] = &[Language::Ruby];
const CSHARP: &[Language] = &[Language::CSharp];
const PHP: &[Language] = &[Language::Php];

const TEXT_MEMBERS: &[&str] = &[
    "charAt",
    "encode",
    "endsWith",
    "endswith",
    "indexOf",
    "isEmpty",
    "length",
    "lower",
    "lstrip",
    "match",
    "partition",
    "replace",
    "rstrip",
    "slice",
    "split",
    "startsWith",
    "startswith",
    "strip",
    "substring",
    "toLowerCase",
    "toUpperCase",
    "trim",
    "upper",
];

const ROWS: &[Row] = &[
    Row {
        rule: MATCH,
        languages: PYTHON,
        callees: &[".match", ".search", ".fullmatch"],
        arguments: 2,
        argument: Argument::Any,
        uses: Uses::Members(&["end", "group", "groupdict", "groups", "span", "start"]),
    },
    Row {
        rule: MATCH,
        languages: PYTHON,
        callees: &[".match", ".search", ".fullmatch"],
        arguments: 1,
        argument: Argument::Any,
        uses: Uses::Members(&["end", "group", "groupdict", "groups", "span", "start"]),
    },
    Row {
        rule: MATCH,
        languages: ECMA,
        callees: &[".match", ".exec"],
        arguments: 1,
        argument: Argument::Any,
        uses: Uses::Members(&["[]", "groups", "index"]),
    },
    Row {
        rule: MATCH,
        languages: RUBY,
        callees: &[".match"],
        arguments: 1,
        argument: Argument::Any,
        uses: Uses::Members(&["[]", "captures", "named_captures", "post_match", "pre_match"]),
    },
    Row {
        rule: MATCH,
        languages: GO,
        callees: &[".FindStringSubmatch", ".FindSubmatch", ".FindStringIndex", ".FindIndex"],
        arguments: 1,
        argument: Argument::Any,
        uses: Uses::Members(&["[]"]),
    },
    Row {
        rule: ENVIRONMENT,
        languages: PYTHON,
        callees: &["environ.get", "os.getenv"],
        arguments: 1,
        argument: Argument::Text,
        uses: Uses::Any,
    },
    Row {
        rule: ENVIRONMENT,
        languages: JAVA,
        callees: &["System.getenv"],
        arguments: 1,
        argument: Argument::Text,
        uses: Uses::Any,
    },
    Row {
        rule: ENVIRONMENT,
        languages: CSHARP,
        callees: &["Environment.GetEnvironmentVariable"],
        arguments: 1,
        argument: Argument::Text,
        uses: Uses::Any,
    },
    Row {
        rule: SEARCH,
        languages: ECMA,
        callees: &[".find", ".findLast"],
        arguments: 1,
        argument: Argument::Function,
        uses: Uses::Any,
    },
    Row {
        rule: SEARCH,
        languages: ECMA,
        callees: &[".querySelector", "document.getElementById"],
        arguments: 1,
        argument: Argument::Any,
        uses: Uses::Any,
    },
    Row {
        rule: SEARCH,
        languages: PYTHON,
        callees: &["shutil.which", "inspect.getmodule", "importlib.util.find_spec"],
        arguments: 1,
        argument: Argument::Any,
        uses: Uses::Any,
    },
    Row {
        rule: SEARCH,
        languages: PYTHON,
        callees: &[".find"],
        arguments: 1,
        argument: Argument::Text,
        uses: Uses::Members(&["attrib", "find", "findall", "get_text", "iter", "tag", "text"]),
    },
    Row {
        rule: SEARCH,
        languages: CSHARP,
        callees: &[".FirstOrDefault", ".SingleOrDefault", ".LastOrDefault"],
        arguments: 1,
        argument: Argument::Any,
        uses: Uses::AnyBut(VALUE_MEMBERS),
    },
    Row {
        rule: SEARCH,
        languages: CSHARP,
        callees: &[".FirstOrDefault", ".SingleOrDefault", ".LastOrDefault"],
        arguments: 0,
        argument: Argument::Any,
        uses: Uses::AnyBut(VALUE_MEMBERS),
    },
    Row {
        rule: SEARCH,
        languages: RUBY,
        callees: &[".find_by"],
        arguments: 1,
        argument: Argument::Any,
        uses: Uses::AnyBut(&["blank?", "inspect", "nil?", "present?", "presence", "to_a", "to_s", "try"]),
    },
    Row {
        rule: SEARCH,
        languages: RUBY,
        callees: &[".detect", ".find"],
        arguments: 0,
        argument: Argument::Any,
        uses: Uses::AnyBut(&["blank?", "inspect", "nil?", "present?", "presence", "to_a", "to_s", "try"]),
    },
    Row {
        rule: SEARCH,
        languages: PHP,
        callees: &[".querySelector", ".getElementById"],
        arguments: 1,
        argument: Argument::Any,
        uses: Uses::Any,
    },
    Row {
        rule: KEY,
        languages: PYTHON,
        callees: &[".get"],
        arguments: 1,
        argument: Argument::Text,
        uses: Uses::Members(&[
            "encode",
            "endswith",
            "get",
            "items",
            "keys",
            "lower",
            "lstrip",
            "partition",
            "rstrip",
            "split",
            "startswith",
            "strip",
            "upper",
            "values",
        ]),
    },
    Row {
        rule: KEY,
        languages: JAVA,
        callees: &[".get"],
        arguments: 1,
        argument: Argument::Text,
        uses: Uses::Any,
    },
    Row {
        rule: KEY,
        languages: ECMA,
        callees: &[".get", ".getAttribute", "localStorage.getItem", "sessionStorage.getItem"],
        arguments: 1,
        argument: Argument::Text,
        uses: Uses::Members(TEXT_MEMBERS),
    },
    Row {
        rule: OPTIONAL,
        languages: JAVA,
        callees: &[".findAny", ".findFirst"],
        arguments: 0,
        argument: Argument::Any,
        uses: Uses::Members(&["get", "getAsDouble", "getAsInt", "getAsLong"]),
    },
    Row {
        rule: OPTIONAL,
        languages: JAVA,
        callees: &[".findById", ".max", ".min", ".reduce"],
        arguments: 1,
        argument: Argument::Any,
        uses: Uses::Members(&["get", "getAsDouble", "getAsInt", "getAsLong"]),
    },
];

/// Members that the empty values of C# have too.
const VALUE_MEMBERS: &[&str] = &["Equals", "GetHashCode", "HasValue", "Key", "ToString", "Value"];

/// Functions that fail for nothing.
const FAIL_FOR_NONE: &[&str] = &["Path", "float", "int", "json.loads", "len", "open", "os.path.join"];

/// Reports the lookups whose result is used without a look at it.
pub(super) fn inspect(seen: &mut Seen<'_>) {
    let mut found = Vec::new();
    for body in &seen.bodies {
        for call in body.calls() {
            let mut rows = ROWS.iter().filter(|row| row.languages.contains(&seen.language));
            let Some(row) = rows.find(|row| row.is_lookup(call)) else { continue };
            let place = match &call.fate {
                fate if row.fails(fate) => Some(call.span),
                Fate::Bound => row.failing_use(body, call),
                Fate::Argument(callee) if row.rule == ENVIRONMENT && is_one_of(callee, FAIL_FOR_NONE) => {
                    Some(call.span)
                }
                Fate::Argument(_) | Fate::Dropped | Fate::Indexed(_) | Fate::Member(..) | Fate::Other => None,
            };
            let place =
                place.filter(|place| row.rule != MATCH || !is_vouched_for(seen.text, call.span, *place));
            if let Some(place) = place.filter(|_| !call.is_nested && is_asked_once(seen.text, call)) {
                found.push((row.rule, [place, call.span]));
            }
        }
    }
    for (rule, places) in found {
        seen.report(rule, &places, summary(rule));
    }
}

fn summary(rule: &str) -> &'static str {
    match rule {
        MATCH => "the result of a match is used, and nothing checks that there is one",
        ENVIRONMENT => "an environment variable is used, and nothing checks that it is set",
        KEY => "the value of a key is used, and nothing checks that the key is there",
        OPTIONAL => "the value of an Optional is taken, and nothing checks that there is one",
        _ => "the result of a search is used, and nothing checks that there is one",
    }
}

impl Row {
    fn is_lookup(&self, call: &Call) -> bool {
        let first = call.arguments.first().map(String::as_str).unwrap_or_default();
        let has_form = match self.argument {
            Argument::Any => true,
            Argument::Function => first.contains("=>") || first.starts_with("function"),
            Argument::Text => first.starts_with(['"', '\'']),
        };
        call.arguments.len() == self.arguments && has_form && is_one_of(&call.callee, self.callees)
    }

    /// Returns whether a use fails where nothing was found.
    fn fails(&self, fate: &Fate) -> bool {
        match (&self.uses, fate) {
            (Uses::Any, Fate::Member(..) | Fate::Indexed(_)) => true,
            (Uses::AnyBut(harmless), Fate::Member(name, _)) => !harmless.contains(&name.as_str()),
            (Uses::AnyBut(_), Fate::Indexed(_)) => true,
            (Uses::Members(members), Fate::Member(name, _)) => members.contains(&name.as_str()),
            (Uses::Members(members), Fate::Indexed(_)) => members.contains(&"[]"),
            _ => false,
        }
    }

    fn fails_by(&self, act: &Act) -> bool {
        match act {
            Act::Member(name, is_called) => self.fails(&Fate::Member(name.clone(), *is_called)),
            Act::Indexed => self.fails(&Fate::Indexed(String::new())),
            Act::Called | Act::OptionalMember | Act::Read | Act::Written => false,
        }
    }

    /// Returns the use of a name bound to the lookup that fails, if it is all that becomes of the name: another use, be it
    /// a condition or a call, may be the check.
    fn failing_use(&self, body: &Body, call: &Call) -> Option<Span> {
        let name = &body.bind_of(call)?.targets.first()?.name;
        let events: Vec<_> = body.events().into_iter().filter(|event| event.name == *name).collect();
        let mut uses = events.iter().filter(|event| event.act != Act::Written);
        let first = uses.next()?;
        let writes = events.iter().filter(|event| event.act == Act::Written).count();
        let all_alike = events.iter().all(|event| {
            event.act == Act::Written || !event.is_nested && event.is_certain && self.fails_by(&event.act)
        });
        (writes == 1 && all_alike).then_some(first.span)
    }
}

/// Returns whether a lookup stands in a file once: a second one may be the check of the first.
fn is_asked_once(text: &str, call: &Call) -> bool {
    let (spelled, whole) = (squashed(call.span.of(text)), squashed(text));
    let key =
        call.arguments.first().map(|first| squashed(first.as_str())).filter(|first| first.starts_with('"'));
    let is_key_once = key.is_none_or(|key| whole.matches(key.as_str()).count() == 1);
    whole.matches(spelled.as_str()).count() == 1 && (is_key_once || !spelled.contains("env"))
}

/// Returns whether who wrote a match tells a checker of types that there is one: by a cast, a comment or `!`.
fn is_vouched_for(text: &str, call: Span, place: Span) -> bool {
    const ABOVE: &[&str] = &["@ts-expect-error", "@ts-ignore", "@type {"];
    const BESIDE: &[&str] = &["@type {", "pyright: ignore", "type: ignore"];
    let after = text.get(call.end..).unwrap_or_default().trim_start_matches([')', ' ']);
    let is_cast = ["as ", "satisfies "].iter().any(|word| after.starts_with(word));
    let is_asserted = after.starts_with('!') && !after.starts_with("!=");
    let is_commented = [call, place].iter().any(|span| {
        let (above, own) = lines_around(text, *span);
        ABOVE.iter().any(|word| above.contains(word)) || BESIDE.iter().any(|word| own.contains(word))
    });
    is_cast || is_asserted || is_commented
}

/// Returns the line above a part of a text, and those that the part stands on.
fn lines_around(text: &str, span: Span) -> (&str, &str) {
    let before = text.get(..span.start).unwrap_or_default();
    let (earlier, _) = before.rsplit_once('\n').unwrap_or_default();
    let above = earlier.rsplit('\n').next().unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let end = text.get(span.end..).and_then(|rest| rest.find('\n')).map_or(text.len(), |at| span.end + at);
    (above, text.get(start..end).unwrap_or_default())
}

/// Returns a text without white space, with one kind of quotes and without trailing commas.
fn squashed(text: &str) -> String {
    let text: String = text.split_whitespace().collect();
    text.replace('\'', "\"").replace(",)", ")")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cast_or_a_comment_vouches_for_a_match() {
        let cases = [
            ("re.match(a, b).group(1)", false),
            ("re.match(a, b).group(1)  # type: ignore[union-attr]", true),
            ("c()  # type: ignore\nre.match(a, b).group(1)", false),
            ("c()\nre.match(a, b).group(1)  # pyright: ignore\nd()", true),
            ("(re.exec(a) as RegExpExecArray)[1]", true),
            ("re.exec(a)![1]", true),
            ("re.exec(a) != b", false),
            ("re.exec(a)[1]", false),
            ("// @ts-expect-error\nre.exec(a)[1]", true),
            ("const b = /** @type {RegExpExecArray} */ (re.exec(a))[1]", true),
        ];
        for (text, is_vouched) in cases {
            let start = text.find("re.").unwrap();
            let end = start + text[start..].find(')').unwrap() + 1;
            let call = Span { start, end };
            assert_eq!(is_vouched_for(text, call, call), is_vouched, "{text}");
        }
    }
}
