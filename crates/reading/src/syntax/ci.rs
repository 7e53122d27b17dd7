//! Conditions on the variables that a CI sets in every run: where a check counts, they are set.

use super::spelled::Speller;
use crate::names::joins;
use crate::tree::Node;

/// Variables that services set in every run of theirs.
const VARIABLES: &[&str] = &[
    "BUILDKITE",
    "CI",
    "CIRCLECI",
    "CONTINUOUS_INTEGRATION",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "JENKINS_URL",
    "TF_BUILD",
];
/// Names, in small letters without underscores, that tell by themselves that a run is one of a CI.
const NAMES: &[&str] = &[
    "inci",
    "isci",
    "isinci",
    "isonci",
    "isrunninginci",
    "isrunningonci",
    "onci",
    "runninginci",
    "runningonci",
];
/// Calls that read a variable, or tell that it is set; `::` and `?.` are dots.
const CALLS: &[&str] = &[
    "Deno.env.get",
    "Deno.env.has",
    "ENV.fetch",
    "ENV.has_key?",
    "ENV.include?",
    "ENV.key?",
    "GetEnvironmentVariable",
    "System.getenv",
    "env.var",
    "env.var_os",
    "environ.get",
    "getenv",
    "getenv().containsKey",
    "getenv().get",
    "option_env!",
    "os.Getenv",
    "os.LookupEnv",
    "process.env.hasOwnProperty",
];
/// Collections of variables that are asked for one in brackets, or by a member.
const COLLECTIONS: &[&str] =
    &["$_ENV", "$_SERVER", "Bun.env", "ENV", "env", "environ", "getenv()", "import.meta.env", "process.env"];
/// Functions whose value is that of their argument.
const WRAPPERS: &[&str] =
    &["Boolean", "bool", "int", "isset", "nonNull", "parseBoolean", "strtobool", "toBoolean"];
/// Functions whose value is the opposite of that of their argument.
const NEGATIONS: &[&str] = &["IsNullOrEmpty", "IsNullOrWhiteSpace", "empty", "isNull", "is_null"];
/// Ends of an expression that leave its truth as it is.
const NEUTRAL: &[&str] = &[
    "!",
    "?",
    ".ToLower()",
    ".ToLowerInvariant()",
    ".as_deref()",
    ".as_str()",
    ".downcase",
    ".is_ok()",
    ".is_some()",
    ".isNotBlank()",
    ".isNotEmpty()",
    ".isPresent()",
    ".lower()",
    ".orEmpty()",
    ".present?",
    ".strip()",
    ".toBoolean()",
    ".toLowerCase()",
    ".to_lowercase()",
    ".to_s",
    ".trim()",
    concat!(".unwrap", "()"),
    ".unwrap_or_default()",
    "is{}",
    "isnot{}",
    ".equals(\"true\")",
    ".equalsIgnoreCase(\"true\")",
    ".Equals(\"true\")",
];
/// Ends of an expression that turn its truth round.
const OPPOSITE: &[&str] =
    &[".blank?", ".empty?", ".isBlank()", ".isEmpty()", ".is_empty()", ".is_err()", ".is_none()", ".nil?"];
/// Values of a variable that is not set, or says no.
const UNSET: &[&str] = &[
    "\"\"",
    "\"0\"",
    "\"false\"",
    "False",
    "NULL",
    "None",
    "false",
    "nil",
    "null",
    "nullptr",
    "string.Empty",
    "undefined",
];
/// Values of a variable that is set.
const SET: &[&str] = &["\"1\"", "\"True\"", "\"true\"", "True", "true", "Ok(\"true\")", "Some(\"true\")"];
/// Signs of a comparison, of which each comes before those that end it.
const COMPARISONS: &[(&str, bool)] =
    &[("!==", false), ("===", true), ("!=", false), ("==", true), ("isnot", false), ("is", true)];
/// Length of the longest condition that is looked at, in bytes.
const LONGEST: usize = 160;
/// Deeper conditions are not looked at.
const MAX_DEPTH: usize = 12;

/// Returns whether a name is that of a variable that a CI sets in every run.
pub fn is_ci_variable(name: &str) -> bool {
    VARIABLES.contains(&name)
}

/// Returns whether a name tells by itself that a run is one of a CI: `IS_CI`, `runningInCi()`.
pub(super) fn is_ci_name(path: &str) -> bool {
    let word = path.trim_end_matches("()").rsplit(['.', ':', '>', '$']).next().unwrap_or(path);
    let ends = word.len().checked_sub(2).and_then(|at| word.get(at..));
    ends.is_some_and(|end| end.eq_ignore_ascii_case("ci"))
        && NAMES.contains(&word.replace('_', "").to_lowercase().as_str())
}

/// Returns whether a text has a word that tells a CI.
pub(super) fn names_ci(text: &str) -> bool {
    let mut words = text.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_');
    words.any(|word| is_ci_variable(word) || is_ci_name(word))
}

/// Returns the value in a run of a CI of a condition that asks for one of its variables.
pub(super) fn value_in_ci(text: &str) -> Option<bool> {
    if text.len() > LONGEST || !VARIABLES.iter().any(|name| text.contains(name)) {
        return None;
    }
    // No question about a CI has one of the signs that begin a comment.
    let lines = text.lines().map(|line| line.split(['#', '/']).next().unwrap_or_default());
    let text: String = lines.flat_map(str::split_whitespace).collect();
    let text = text.replace('\'', "\"").replace("::", ".").replace("?.", ".").replace(",)", ")");
    truth(&text, 0)
}

impl Speller<'_> {
    /// Returns the value in a run of a CI of a condition of Go on a name that it binds first:
    /// `if _, ok := os.LookupEnv("CI"); ok`.
    pub(super) fn constant_of_bound(&self, node: Node<'_>, condition: Node<'_>) -> Option<bool> {
        let first = node.field("initializer")?;
        let (names, value) = (self.text_of(first.field("left")?), self.text_of(first.field("right")?));
        let name = names.rsplit(',').next()?.trim();
        let text = self.text_of(condition);
        let rest = text.trim_start_matches('!').strip_prefix(name)?;
        let is_negated = text.starts_with('!');
        let is_whole = !rest.starts_with(joins);
        let held = value_in_ci(&format!("{value}{rest}")).filter(|_| is_whole)?;
        Some(held != is_negated)
    }
}

fn truth(text: &str, depth: usize) -> Option<bool> {
    if depth > MAX_DEPTH {
        return None;
    }
    let depth = depth + 1;
    if let Some(negated) = text.strip_prefix('!').or_else(|| text.strip_prefix("not")) {
        return truth(negated, depth).map(|value| !value);
    }
    if let Some(value) = bound(text, depth).or_else(|| membership(text)) {
        return Some(value);
    }
    if let Some(before) = OPPOSITE.iter().find_map(|end| text.strip_suffix(end)) {
        return truth(before, depth).map(|value| !value);
    }
    if let Some(before) = NEUTRAL.iter().find_map(|end| text.strip_suffix(end)) {
        return truth(before, depth);
    }
    if is_read(text) {
        return Some(true);
    }
    if let Some((callee, argument)) = call(text) {
        let name = callee.rsplit('.').next().unwrap_or(callee);
        match name {
            "" => return truth(argument, depth),
            "is_ok_and" | "is_some_and" => return truth(callee.rsplit_once('.')?.0, depth),
            // `"true".equals(…)` of Java.
            "equals" | "equalsIgnoreCase" if callee.starts_with("\"true\".") => {
                return truth(argument, depth);
            }
            _ if WRAPPERS.contains(&name) => return truth(argument, depth),
            _ if NEGATIONS.contains(&name) => return truth(argument, depth).map(|value| !value),
            _ => {}
        }
    }
    compared(text, depth)
}

/// Returns the value of a comparison with a value that a variable has, or has not.
fn compared(text: &str, depth: usize) -> Option<bool> {
    let values = SET.iter().map(|value| (value, true)).chain(UNSET.iter().map(|value| (value, false)));
    for (value, is_set) in values {
        let sides = [text.strip_suffix(value), text.strip_prefix(value)];
        for (sign, is_equal) in COMPARISONS {
            let left = sides[0].and_then(|before| before.strip_suffix(sign));
            let right = sides[1].and_then(|behind| behind.strip_prefix(sign));
            if let Some(read) = left.or(right) {
                return truth(read, depth + 1).map(|value| value == (is_set == *is_equal));
            }
        }
    }
    // `os.environ.get("CI") in ("true", "1")`.
    let (read, list) =
        text.rsplit_once("in(").or_else(|| text.rsplit_once("in[")).or_else(|| text.rsplit_once("in{"))?;
    let is_negated = read.ends_with("not");
    let read = read.strip_suffix("not").unwrap_or(read);
    let is_set = SET.iter().any(|value| list.contains(value));
    truth(read, depth + 1).filter(|_| is_set).map(|value| value != is_negated)
}

/// Returns the value of a condition of Rust that binds a variable: `let Ok(_) = env::var("CI")`.
fn bound(text: &str, depth: usize) -> Option<bool> {
    let (pattern, read) = text.strip_prefix("let")?.split_once(")=")?;
    let is_set = pattern.starts_with("Ok(") || pattern.starts_with("Some(");
    let is_unset = pattern.starts_with("Err(");
    truth(read, depth + 1).filter(|_| is_set || is_unset).map(|value| value == is_set)
}

/// Returns the value of `"CI" in os.environ`, and of its negation.
fn membership(text: &str) -> Option<bool> {
    let name = VARIABLES.iter().find_map(|name| text.strip_prefix(&format!("\"{name}\"")))?;
    match (name.strip_prefix("in"), name.strip_prefix("notin")) {
        (Some(rest), _) if is_collection(rest) => Some(true),
        (_, Some(rest)) if is_collection(rest) => Some(false),
        _ => None,
    }
}

/// Returns whether an expression is a variable and nothing more.
fn is_read(text: &str) -> bool {
    if let Some((collection, index)) = text.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
        return is_collection(collection.trim_end_matches('.')) && quoted(index).is_some_and(is_ci_variable);
    }
    if let Some((callee, arguments)) = call(text) {
        let name = arguments.split(',').next().unwrap_or(arguments);
        let is_plain = !arguments.contains('(') || arguments.ends_with("()");
        return is_plain
            && quoted(name).is_some_and(is_ci_variable)
            && CALLS.iter().any(|name| is_ending(callee, name));
    }
    let member = text.rsplit_once('.');
    member.is_some_and(|(collection, name)| is_ci_variable(name) && is_collection(collection))
}

fn is_collection(text: &str) -> bool {
    COLLECTIONS.iter().any(|name| is_ending(text, name))
}

/// Returns the callee and the arguments of a text that is one call; the callee of a text in parentheses is empty.
fn call(text: &str) -> Option<(&str, &str)> {
    let before = text.strip_suffix(')')?;
    let mut open = 1_usize;
    let at = before.char_indices().rev().find(|(_, sign)| {
        match sign {
            ')' => open += 1,
            '(' => open -= 1,
            _ => {}
        }
        open == 0
    });
    let (at, _) = at?;
    Some((&before[..at], &before[at + 1..]))
}

/// Returns whether a path is another one, or ends with it behind a dot, and has nothing but names in it.
fn is_ending(path: &str, name: &str) -> bool {
    let rest = path.strip_suffix(name);
    rest.is_some_and(|rest| {
        let is_path = rest.chars().all(|sign| sign.is_alphanumeric() || "_.\\".contains(sign));
        is_path && (rest.is_empty() || rest.ends_with(['.', '\\']))
    })
}

fn quoted(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::{is_ci_name, value_in_ci};

    #[test]
    fn conditions_on_a_ci_have_a_value_in_each_language() {
        for (condition, expected) in [
            ("std::env::var(\"CI\").is_ok()", Some(true)),
            ("env::var_os(\"GITHUB_ACTIONS\").is_none()", Some(false)),
            ("let Ok(_) = env::var(\"CI\")", Some(true)),
            ("let Err(_) = env::var(\"CI\")", Some(false)),
            ("env::var(\"CI\").as_deref() == Ok(\"true\")", Some(true)),
            ("option_env!(\"CI\").is_some()", Some(true)),
            ("env::var(\"CI\").is_ok_and(|ci| ci == \"true\")", Some(true)),
            ("os.Getenv(\"CI\") != \"\"", Some(true)),
            ("os.Getenv(\"GITLAB_CI\") == \"\"", Some(false)),
            ("os.environ.get(\"CI\", \"false\").lower() == \"true\"", Some(true)),
            ("'CI' not in os.environ", Some(false)),
            ("os.getenv('CI') in ('1', 'true')", Some(true)),
            ("os.environ['CONTINUOUS_INTEGRATION'] is not None", Some(true)),
            ("process.env.CI === 'true'", Some(true)),
            ("!process.env.CI", Some(false)),
            ("process.env['CI'] === undefined", Some(false)),
            ("Boolean(process.env?.CI)", Some(true)),
            ("import.meta.env.CI", Some(true)),
            ("System.getenv(\"CI\") == null", Some(false)),
            ("null != System.getenv(\"CI\")", Some(true)),
            ("\"true\".equals(System.getenv(\"CI\"))", Some(true)),
            ("Boolean.parseBoolean(System.getenv(\"CI\"))", Some(true)),
            ("System.getenv().containsKey(\"CI\")", Some(true)),
            ("System.getenv(\"CI\")?.toBoolean() == true", Some(true)),
            ("string.IsNullOrEmpty(Environment.GetEnvironmentVariable(\"CI\"))", Some(false)),
            ("Environment.GetEnvironmentVariable(\"TF_BUILD\") is not null", Some(true)),
            ("getenv('CI') !== false", Some(true)),
            ("isset($_SERVER['CI'])", Some(true)),
            ("empty($_ENV['CI'])", Some(false)),
            ("ENV.fetch('CI', nil)", Some(true)),
            ("ENV['CI'].nil?", Some(false)),
            ("std::getenv(\"CI\") != nullptr", Some(true)),
            ("os.environ.get(\"CI_TOKEN\")", None),
            ("os.environ.get(\"CI\") == \"slow\"", None),
            ("mock(\"CI\")", None),
            ("process.env.CIRRUS", None),
            ("run(os.environ.get(\"CI\"))", None),
        ] {
            assert_eq!(value_in_ci(condition), expected, "{condition}");
        }
    }

    #[test]
    fn names_tell_a_ci() {
        for (name, expected) in [
            ("IS_CI", true),
            ("helpers.isCI", true),
            ("running_in_ci()", true),
            ("isCircle", false),
            ("ci", false),
        ] {
            assert_eq!(is_ci_name(name), expected, "{name}");
        }
    }
}
