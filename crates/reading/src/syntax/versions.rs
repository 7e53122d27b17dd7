//! Conditions on the version of the language, which hold for all versions that anybody still runs tests with, or for none.

/// Length in bytes of the longest condition that is looked at.
const LONGEST: usize = 160;

/// A version of a runtime that code may ask for.
struct Runtime {
    /// Ways to ask for it, without white space.
    names: &'static [&'static str],
    /// Version below which no project of today runs its tests.
    oldest: [u32; 2],
    /// Version above which there is none.
    newest: [u32; 2],
}

const RUNTIMES: &[Runtime] = &[
    Runtime { names: &["Gem::Version.new(RUBY_VERSION)", "RUBY_VERSION"], oldest: [2, 6], newest: [9, 0] },
    Runtime { names: &["sys.version_info", "sys.version_info[:2]"], oldest: [3, 7], newest: [3, 99] },
    Runtime { names: &["sys.version_info.major", "sys.version_info[0]"], oldest: [3, 0], newest: [3, 0] },
    Runtime {
        names: &[
            "Number(process.versions.node.split(\".\")[0])",
            "parseInt(process.versions.node)",
            "parseInt(process.versions.node,10)",
            "process.versions.node",
            "process.versions.node.split(\".\")[0]",
        ],
        oldest: [12, 0],
        newest: [99, 0],
    },
    Runtime { names: &["PHP_MAJOR_VERSION", "\\PHP_MAJOR_VERSION"], oldest: [7, 0], newest: [9, 0] },
    Runtime { names: &["PHP_VERSION_ID", "\\PHP_VERSION_ID"], oldest: [70_200, 0], newest: [99_999, 0] },
];
/// Conditions that every run meets.
const MET: &[&str] = &[
    "RUBY_PLATFORM",
    "RUBY_VERSION",
    "process.platform",
    "process.version",
    "process.version.startsWith(\"v\")",
    "process.versions.node",
    "runtime.GOOS!=\"\"",
    "strings.HasPrefix(runtime.Version(),\"go\")",
    "sys.platform",
    "sys.version_info",
];
/// Comparison of the version on its left with another one.
struct Comparison {
    sign: &'static str,
    /// True if it holds for larger versions.
    is_above: bool,
    /// True if it holds for the same version.
    may_equal: bool,
}

/// Comparisons, each before those whose sign begins its own.
const COMPARISONS: &[Comparison] = &[
    Comparison { sign: ">=", is_above: true, may_equal: true },
    Comparison { sign: "<=", is_above: false, may_equal: true },
    Comparison { sign: ">", is_above: true, may_equal: false },
    Comparison { sign: "<", is_above: false, may_equal: false },
];

/// Returns the value of a condition that is the same for all versions of today.
pub(super) fn value_of_version(text: &str) -> Option<bool> {
    if text.len() > LONGEST || !text.contains(['V', 'v', 'p', 'G', 'P']) {
        return None;
    }
    let text: String = text.split_whitespace().collect();
    let text = text.replace('\'', "\"");
    if MET.contains(&text.as_str()) {
        return Some(true);
    }
    if let Some(value) = value_of_equality(&text) {
        return Some(value);
    }
    let comparison = COMPARISONS.iter().find(|comparison| text.contains(comparison.sign))?;
    let Comparison { sign, is_above, may_equal } = *comparison;
    let (left, right) = text.split_once(sign)?;
    let (runtime, wanted, is_above) = match (runtime_of(left), runtime_of(right)) {
        (Some(runtime), None) => (runtime, version_of(right)?, is_above),
        (None, Some(runtime)) => (runtime, version_of(left)?, !is_above),
        (Some(_), Some(_)) | (None, None) => return None,
    };
    // `>= 2.6` holds for all from 2.6 on, and `> 2.6` for all above it.
    let is_exact = is_above == may_equal;
    let is_old = wanted < runtime.oldest || is_exact && wanted == runtime.oldest;
    let is_new = wanted > runtime.newest || !is_exact && wanted == runtime.newest;
    match (is_old, is_new) {
        (true, _) => Some(is_above),
        (false, true) => Some(!is_above),
        (false, false) => None,
    }
}

/// Returns the value of a comparison with a number of which there is one alone, such as the major version of Python.
fn value_of_equality(text: &str) -> Option<bool> {
    let is_unequal = text.contains("!=");
    let (left, right) = text.split_once(if is_unequal { "!=" } else { "==" })?;
    let (runtime, wanted) = match (runtime_of(left), runtime_of(right)) {
        (Some(runtime), None) => (runtime, version_of(right)?),
        (None, Some(runtime)) => (runtime, version_of(left)?),
        (Some(_), Some(_)) | (None, None) => return None,
    };
    (runtime.oldest == runtime.newest).then_some((wanted == runtime.oldest) != is_unequal)
}

fn runtime_of(text: &str) -> Option<&'static Runtime> {
    RUNTIMES.iter().find(|runtime| runtime.names.contains(&text))
}

/// Returns the first two numbers of a version: `"2.6"`, `(3, 8)`, `Gem::Version.new("3")`.
fn version_of(text: &str) -> Option<[u32; 2]> {
    let inner =
        text.strip_prefix("Gem::Version.new(").and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    let inner = inner.trim_matches(['"', '(', ')']);
    let mut numbers = inner.split(['.', ',']).filter(|number| !number.is_empty());
    let first = numbers.next()?.parse().ok()?;
    let second = match numbers.next() {
        Some(second) => second.parse().ok()?,
        None => 0,
    };
    Some([first, second])
}

#[cfg(test)]
mod tests {
    use super::value_of_version;

    #[test]
    fn a_condition_on_versions_that_nobody_runs_has_a_value() {
        for (condition, expected) in [
            ("RUBY_VERSION >= \"2.6\"", Some(true)),
            ("RUBY_VERSION < '2.4.0'", Some(false)),
            ("RUBY_VERSION > '2.6'", None),
            ("RUBY_VERSION <= '2.6'", None),
            ("'2.5' <= RUBY_VERSION", Some(true)),
            ("RUBY_VERSION >= \"3.4\"", None),
            ("RUBY_VERSION < \"3.1\"", None),
            ("Gem::Version.new(RUBY_VERSION) >= Gem::Version.new(\"2.3\")", Some(true)),
            ("RUBY_ENGINE == 'jruby'", None),
            ("sys.version_info >= (3,)", Some(true)),
            ("sys.version_info[0] < 3", Some(false)),
            ("sys.version_info >= (3, 13)", None),
            ("sys.version_info.major >= 3", Some(true)),
            ("sys.version_info[0] <= 3", Some(true)),
            ("sys.version_info.major > 3", Some(false)),
            ("sys.version_info.major < 4", Some(true)),
            ("sys.version_info <= (3, 11)", None),
            ("sys.version_info < (99, 0)", Some(true)),
            ("sys.version_info[0] == 3", Some(true)),
            ("3 != sys.version_info.major", Some(false)),
            ("sys.version_info[:2] == (3, 7)", None),
            ("process.version.startsWith('v')", Some(true)),
            ("process.version.startsWith('v18')", None),
            ("parseInt(process.versions.node, 10) >= 8", Some(true)),
            ("process.versions.node.split('.')[0] >= 22", None),
            ("PHP_VERSION_ID >= 70000", Some(true)),
            ("PHP_VERSION_ID < 80400", None),
            ("process.platform === 'win32'", None),
            ("x > 2", None),
        ] {
            assert_eq!(value_of_version(condition), expected, "{condition}");
        }
    }
}
