//! Reads the words of a command as what a test runner or linter looks at: parts that it selects, parts that it leaves
//! out, and options that make it stricter.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::command_words::{ListedPackages, is_about_addresses, is_usual_file};
use options::Effect::{Excludes, Requires, Selects};
use options::{
    ALL_TESTS, CARGO, EVERYTHING, FLAGS, GO, HARMLESS, MODULES, OTHERS, PYTEST, ROWS, RUSTC, Row,
    SUBCOMMANDS, VARIABLES, WITH_OPERANDS, is_harmless_for_pytest,
};

mod options;

/// Runner of tests that does other work without its option.
const NODE: &str = "node";
const RUNS_TESTS: &str = "--test";

/// The parts that a command looks at.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Selection {
    tool: String,
    /// Values of the options that select, by the first name of their row.
    selected: BTreeMap<&'static str, BTreeSet<String>>,
    excluded: BTreeSet<String>,
    /// First names of the options that are required, with their values.
    required: BTreeSet<String>,
    operands: BTreeSet<String>,
    /// Words behind options that nobody knows: values or operands.
    unsure: BTreeSet<String>,
    /// True if a part is chosen by a matrix or by the arguments of a script.
    is_computed: bool,
    spellings: Spellings,
}

/// The words of [`Selection::narrowed_by`] as the command has them. Two selections that differ in these are the same.
#[derive(Debug, Clone, Default)]
struct Spellings(BTreeMap<String, String>);

impl PartialEq for Spellings {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Spellings {}

impl PartialOrd for Spellings {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Spellings {
    fn cmp(&self, _other: &Self) -> Ordering {
        Ordering::Equal
    }
}

impl Selection {
    /// Reads the words of a command.
    pub(crate) fn of_command(words: &[&str]) -> Self {
        let base =
            |word: &str| word.rsplit('/').next().unwrap_or_default().trim_end_matches(".cmd").to_owned();
        let before = words.iter().take_while(|word| **word != "--").take(8);
        let behind_runner = before.clone().position(|word| {
            let name = base(word);
            WITH_OPERANDS.contains(&name.as_str())
                || OTHERS.contains(&name.as_str())
                || name == NODE && words.contains(&RUNS_TESTS)
        });
        let at = behind_runner.unwrap_or_default();
        match words.get(at) {
            Some(tool) => Self::of_options(&base(tool), &words[at + 1..]),
            None => Self::default(),
        }
    }

    /// Reads the options that an action gets for the tool in its name.
    pub(crate) fn of_action(action: &str, words: &[&str]) -> Self {
        let tools = WITH_OPERANDS.iter().filter(|tool| action.contains(**tool));
        let tool = tools.max_by_key(|tool| tool.len());
        Self::of_options(tool.copied().unwrap_or(action), words)
    }

    /// Reads the options and operands of a tool.
    pub(crate) fn of_options(tool: &str, words: &[&str]) -> Self {
        // It runs the same hooks and has the same options.
        let tool = if tool == "prek" { "pre-commit" } else { tool };
        let mut selection = Self { tool: tool.to_owned(), ..Self::default() };
        let has_operands = WITH_OPERANDS.contains(&tool) || tool == NODE && words.contains(&RUNS_TESTS);
        let mut is_behind_dashes = false;
        let mut may_be_value = false;
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            let ambiguous = std::mem::take(&mut may_be_value);
            if *word == "--" {
                is_behind_dashes = true;
            } else if word.starts_with('-') && word.len() > 1 {
                let option = SplitOption::new(tool, word);
                let Some(row) = option.row else {
                    may_be_value = option.value.is_none() && !FLAGS.contains(&option.name);
                    continue;
                };
                let value = match option.value {
                    Some(value) => Some(value),
                    None if row.has_value => words
                        .next_if(|next| !next.starts_with('-') || next.contains(' ') || row.names == MODULES)
                        .copied(),
                    None => None,
                };
                let written = match value {
                    Some("") if option.value.is_none() => format!("{word} \"\""),
                    Some(value) if option.value.is_none() => format!("{word} {value}"),
                    Some(_) | None => (*word).to_owned(),
                };
                selection.add(row, option.name, value, &written);
            } else if let Some(listed) = ListedPackages::new(word).filter(|_| GO.contains(&tool)) {
                selection.operands.extend(listed.packages.into_iter().map(normalized));
                selection.excluded.extend(listed.filters.into_iter().map(str::to_owned));
            } else if tool == "dotnet" && (word.ends_with(".sln") || word.ends_with(".slnx")) {
                // A solution stands for all of its projects.
            } else if is_computed(word) {
                selection.is_computed = true;
            } else if word.starts_with('+') || !(has_operands || is_behind_dashes) {
            } else if ambiguous {
                selection.unsure.insert(normalized(word));
            } else if !SUBCOMMANDS.contains(word) || !selection.operands.is_empty() {
                selection.operands.insert(normalized(word));
            }
        }
        selection
    }

    fn add(&mut self, row: &'static Row, name: &str, value: Option<&str>, written: &str) {
        let value = value.map(|value| value.trim_matches(['"', '\''])).unwrap_or_default();
        let first = row.names.split('|').next().unwrap_or(row.names);
        let own = if first.ends_with('*') { name } else { first };
        let text = if value.is_empty() { name.to_owned() } else { format!("{name} {value}") };
        match row.effect {
            Selects if is_computed(value) => self.is_computed = true,
            Selects if row.names == MODULES => self.add_modules(first, value, written),
            Selects if is_usual_file(&self.tool, value) => {}
            // Targets of a build are of one kind, whatever selects them.
            Selects
                if CARGO.contains(&self.tool.as_str()) && name.starts_with("--") && name != "--package" =>
            {
                self.select("--lib", &text, written);
            }
            Selects => self.select(first, value, written),
            Excludes if PYTEST.contains(&self.tool.as_str()) && is_harmless_for_pytest(name, value) => {}
            Excludes if matches!(value, "0" | "false") && name != "--issues-exit-code" => {}
            Excludes => self.exclude(text, written),
            Requires if value.is_empty() => self.require(own.to_owned(), written),
            // A number may change; another rule compares it.
            Requires if value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => {
                self.require(own.to_owned(), written);
            }
            Requires => self.require(format!("{own} {value}"), written),
        }
    }

    /// Adds the modules of a list, each of which is looked at or left out.
    fn add_modules(&mut self, option: &'static str, list: &str, written: &str) {
        for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let name = normalized(part.trim_start_matches(['!', '+', '-', '?']));
            match part.starts_with(['!', '-']) {
                true => self.exclude(format!("{option} !{name}"), written),
                false => self.select(option, &name, written),
            }
        }
    }

    fn select(&mut self, kind: &'static str, value: &str, written: &str) {
        self.spell(format!("{kind} {value}"), written);
        self.selected.entry(kind).or_default().insert(value.to_owned());
    }

    fn exclude(&mut self, text: String, written: &str) {
        self.spell(text.clone(), written);
        self.excluded.insert(text);
    }

    fn require(&mut self, option: String, written: &str) {
        self.spell(format!("without {option}"), &format!("without {written}"));
        self.required.insert(option);
    }

    fn spell(&mut self, words: String, written: &str) {
        self.spellings.0.insert(words, written.to_owned());
    }

    /// Returns words of [`Self::narrowed_by`] as the command has them.
    pub(crate) fn as_written<'w>(&'w self, words: &'w str) -> &'w str {
        self.spellings.0.get(words).map(String::as_str).unwrap_or(words)
    }

    /// Modules that alone are looked at.
    pub(crate) fn modules(&self) -> impl Iterator<Item = &str> {
        self.selected.get("-pl").into_iter().flatten().map(String::as_str)
    }

    /// Modules that are left out.
    pub(crate) fn modules_left_out(&self) -> impl Iterator<Item = &str> {
        self.excluded.iter().filter_map(|text| text.strip_prefix("-pl !"))
    }

    /// Adds the options that a variable of the environment holds for the tool.
    pub(crate) fn add_variable(&mut self, name: &str, value: &str) {
        if !self.reads(name) {
            return;
        }
        let more = Self::of_options(&self.tool, &value.split_whitespace().collect::<Vec<_>>());
        self.excluded.extend(more.excluded);
        self.required.extend(more.required);
        self.spellings.0.extend(more.spellings.0);
        for (kind, values) in more.selected {
            self.selected.entry(kind).or_default().extend(values);
        }
        if matches!(name, "PREK_SKIP" | "SKIP" | "TOX_SKIP_ENV") {
            self.excluded.extend(value.split(',').map(|part| format!("{name} {part}")));
        }
    }

    /// Returns whether the options that a variable of the environment holds are those of the tool.
    pub(crate) fn reads(&self, variable: &str) -> bool {
        VARIABLES.iter().any(|(own, tools)| *own == variable && tools.contains(&self.tool.as_str()))
    }

    /// Files, packages or tests that the command names.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &str> {
        self.operands.iter().map(String::as_str)
    }

    pub(crate) fn has_operand(&self, part: &str) -> bool {
        self.operands.contains(part)
    }

    /// Name of the tool.
    pub(crate) fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the words by which a newer command looks at less, in the order of their kinds; none where it does not.
    pub(crate) fn narrowed_by(&self, new: &Self) -> Vec<String> {
        let gained = new.excluded.difference(&self.excluded).filter(|words| !self.never_had_module(words));
        let mut found: Vec<String> = gained.cloned().collect();
        if self.tool == new.tool {
            found.extend(self.required.difference(&new.required).map(|option| format!("without {option}")));
        }
        for (kind, values) in &new.selected {
            let is_narrower = match self.selected.get(kind) {
                Some(old) => !old.is_subset(values),
                None => !self.is_computed,
            };
            if is_narrower {
                found.extend(values.iter().map(|value| format!("{kind} {value}")));
            }
        }
        if self.narrows_operands(new) {
            found.extend(new.operands.iter().cloned());
        }
        found
    }

    /// Returns whether words leave out a module that is none of those that alone are looked at.
    fn never_had_module(&self, words: &str) -> bool {
        let module = words.strip_prefix("-pl !");
        module.is_some_and(|left_out| {
            self.modules().next().is_some() && self.modules().all(|own| own != left_out)
        })
    }

    fn narrows_operands(&self, new: &Self) -> bool {
        if new.operands.is_empty() || new.is_computed || self.is_computed {
            return false;
        }
        if self.operands.is_empty() {
            let mut operands = new.operands.iter();
            return !operands.any(|operand| is_all_of(operand) || self.unsure.contains(operand));
        }
        let mut old = self.operands.iter().filter(|operand| !new.unsure.contains(*operand));
        old.any(|part| !new.operands.iter().any(|whole| is_within(part, whole)))
    }

    /// Returns whether words by which the command looks at less name a part that it leaves out.
    pub(crate) fn leaves_out(&self, words: &str) -> bool {
        self.excluded.contains(words) || words.contains(" not ")
    }

    /// Returns whether other commands together look at what this one names, each in the same way.
    pub(crate) fn is_split_among(&self, parts: &[&Self]) -> bool {
        let is_alike = |part: &&Self| {
            let whole = Self { operands: self.operands.clone(), ..(**part).clone() };
            self.narrowed_by(&whole).is_empty()
        };
        let is_named = |operand: &String| parts.iter().any(|part| part.operands.contains(operand));
        !self.operands.is_empty() && parts.iter().all(is_alike) && self.operands.iter().all(is_named)
    }

    /// Returns whether the command selects what another one leaves out: `-m slow` for `-m "not slow"`.
    pub(crate) fn makes_up_for(&self, words: &str) -> bool {
        let part = words.split_once(' ').map(|(_, value)| value).unwrap_or(words);
        let selected = self.selected.values().flatten().filter(|value| !value.starts_with("not "));
        let selected = selected.chain(&self.operands);
        let mut selected = selected.map(|value| value.rsplit(' ').next().unwrap_or(value));
        let part = part.rsplit(' ').next().unwrap_or(part).trim_start_matches('!');
        !part.is_empty() && selected.any(|value| value == part)
    }
}

/// An option with what is known of it.
struct SplitOption<'w> {
    name: &'w str,
    value: Option<&'w str>,
    row: Option<&'static Row>,
}

impl<'w> SplitOption<'w> {
    fn new(tool: &str, word: &'w str) -> Self {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let row = row_of(tool, name);
        // `-kname`, for tools whose long options have two dashes.
        let has_short_options = PYTEST.contains(&tool) || CARGO.contains(&tool) || RUSTC.contains(&tool);
        if row.is_none() && has_short_options && !name.starts_with("--") && word.is_char_boundary(2) {
            let (short, rest) = word.split_at(2.min(word.len()));
            let row = row_of(tool, short).filter(|row| row.has_value && !rest.is_empty());
            return Self { name: short, value: row.map(|_| rest), row };
        }
        Self { name, value, row }
    }
}

fn row_of(tool: &str, name: &str) -> Option<&'static Row> {
    // What Node loads first chooses no test.
    let is_loaded = tool == NODE && matches!(name, "-r" | "-w");
    if HARMLESS.contains(&name) || is_about_addresses(tool, name) || is_loaded {
        return None;
    }
    ROWS.iter().find(|row| {
        let is_of_tool = row.tools.is_empty() || row.tools.contains(&tool);
        is_of_tool
            && row.names.split('|').any(|own| match own.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => name == own,
            })
    })
}

/// Returns whether a word stands for what a matrix or the caller of a script chooses.
fn is_computed(word: &str) -> bool {
    let is_passed_on =
        ["$@", "$*", "ARGS", "FLAGS", "OPTS", "posargs"].iter().any(|name| word.contains(name));
    word.contains("matrix.") || is_passed_on && word.contains(['$', '{'])
}

/// Returns a part without what makes no difference: `./a/` is `a`.
fn normalized(word: &str) -> String {
    word.trim_matches(['"', '\'']).trim_start_matches("./").trim_end_matches('/').to_owned()
}

/// Returns whether a part stands for all tests or files of a repository.
pub(crate) fn is_everything(part: &str) -> bool {
    let part = part.trim_start_matches("<rootDir>").trim_start_matches(['.', '/']).trim_end_matches('/');
    EVERYTHING.contains(&part) || ALL_TESTS.contains(&part)
}

/// Returns whether a part is a pattern for all files below a directory that stands for everything: `test/**/*.js`.
fn is_all_of(part: &str) -> bool {
    let (directory, rest) = part.split_once("**").unwrap_or((part, ""));
    let is_pattern = rest.is_empty() || rest.starts_with("/*") && !rest[2..].contains('/');
    is_everything(directory) && is_pattern
}

/// Returns whether a part is all or a part of another one: a file of a directory, a test of a file.
pub(crate) fn is_within(part: &str, whole: &str) -> bool {
    let root = whole.trim_end_matches("...").trim_end_matches(['*', '/']);
    let rest = part.strip_prefix(root);
    part == whole
        || whole.contains('*') && !whole.contains('/') && is_match(whole, part)
        || EVERYTHING.contains(&whole) && !(whole == "." && part.ends_with("..."))
        || !root.is_empty()
            && rest.is_some_and(|rest| rest.is_empty() && whole != root || rest.starts_with(['/', ':']))
}

/// Returns whether a text has the pieces of a pattern, which `*` parts, in their order.
fn is_match(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
    let last = pieces.next_back().unwrap_or_default();
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_looks_at_less_says_by_which_words() {
        for (old, new, expected) in [
            ("cargo test", "cargo test -p other", "-p other"),
            ("cargo test -p a", "cargo test -p a -p b", ""),
            ("cargo test -p a", "cargo test -p b", "-p b"),
            ("cargo test", "cargo test -- --skip slow", "--skip slow"),
            ("cargo test", "cargo test --lib", "--lib --lib"),
            ("cargo test --lib", "cargo test --lib --bins", ""),
            ("cargo test --workspace", "cargo test", "without --all"),
            ("cargo test --all", "cargo test --workspace --locked", ""),
            ("cargo test", "cargo +nightly test --release", ""),
            ("cargo test", "cargo test one_test", "one_test"),
            ("cargo test", "cargo test -pother", "-p other"),
            ("cargo clippy -- -D warnings", "cargo clippy", "without -D warnings"),
            ("cargo fmt --check", "cargo fmt", "without --check"),
            ("cargo fmt --check", "cargo fmt --all -- --check", ""),
            ("pytest", "pytest -q -n auto tests", ""),
            ("pytest", "pytest -q tests/unit", "tests/unit"),
            ("pytest tests/unit", "pytest tests", ""),
            ("pytest tests", "pytest tests/unit", "tests/unit"),
            ("pytest tests", "uv run pytest tests -x --maxfail=1", ""),
            ("pytest", "python -m pytest --ignore=tests/a", "--ignore tests/a"),
            ("pytest", "pytest -kslow", "-k slow"),
            ("go test ./...", "go test ./sub", "sub"),
            ("go test ./...", "go test ./sub/...", "sub/..."),
            ("go test ./...", "go test -v -count=1 ./...", ""),
            ("go test ./...", "go test -exec true ./...", "-exec true"),
            ("jest", "jest --shard=1/4", "--shard 1/4"),
            ("jest", "jest --shard=${{matrix.shard}}", ""),
            ("jest", "jest -c other.js", "-c other.js"),
            ("jest", "jest --config jest.config.ts", ""),
            ("mvn verify", "mvn -f sub/pom.xml verify", "-f sub/pom.xml"),
            ("mvn verify", "mvn -f pom.xml verify", ""),
            ("mvn verify", "mvn verify -pl a,b", "-pl a, -pl b"),
            ("mvn verify -pl a,b", "mvn verify --projects=b", "-pl b"),
            ("mvn verify -pl a", "mvn verify -pl b,a/", ""),
            ("mvn verify", "mvn verify --projects !a,-b", "-pl !a, -pl !b"),
            ("mvn verify", "mvn verify -pl -a -B", "-pl !a"),
            ("mvn verify -pl -a,!b", "mvn verify -pl !b", ""),
            ("mvn verify -pl !b", "mvn verify --projects !b,!a", "-pl !a"),
            ("mvn verify -pl !b", "mvn verify", ""),
            ("mvn verify -pl a", "mvn verify -pl !b", ""),
            ("mvn verify -pl a,b", "mvn verify -pl !b", "-pl !b"),
            ("pre-commit run --all-files", "prek run -a", ""),
            ("pre-commit run --all-files", "uvx prek run", "without -a"),
            ("npm test", "npm test -- --testPathPattern unit", "-t unit"),
            ("npm test", "npm test -- unit", "unit"),
            ("npm test", "npm test --silent", ""),
            ("ruff check .", "ruff check src", "src"),
            ("ruff check", "ruff check .", ""),
            ("mypy src", "mypy --strict src", ""),
            ("pytest", "pytest ${{ matrix.args }}", ""),
            ("pytest", "pytest \"$@\"", ""),
            ("make test", "make -i test", "-i"),
            ("eslint --max-warnings 0 .", "eslint .", "without --max-warnings"),
            ("eslint --max-warnings 0 .", "eslint --max-warnings=9 .", ""),
            ("standard", "standard index.js", "index.js"),
            ("c8 -r lcov node --test", "c8 -r lcov node --test test/unit", "test/unit"),
            ("node --test", "node --test test", ""),
            ("node --test", "node --test 'test/**/*.test.js'", ""),
            ("node --test", "node --test --test-name-pattern=a", "-w a"),
            ("node --test", "node --test --test-skip-pattern a", "--test-skip-pattern a"),
            ("node --test", "node --test --test-only", "--test-only"),
            ("node --test", "node --test --test-reporter spec", ""),
            ("node --test", "node -r ./setup.js --test", ""),
            ("mocha", "mocha test/**/*.spec.js", ""),
            ("mocha", "mocha test/**/unit/*.js", "test/**/unit/*.js"),
        ] {
            let [old, new] =
                [old, new].map(|text| Selection::of_command(&text.split_whitespace().collect::<Vec<_>>()));
            assert_eq!(old.narrowed_by(&new).join(", "), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn words_are_shown_as_the_command_has_them() {
        for (command, words, expected) in [
            ("mvn verify --projects !a,!b", "-pl !b", "--projects !a,!b"),
            ("npm test -- --testPathPattern unit", "-t unit", "--testPathPattern unit"),
            ("cargo test --lib", "--lib --lib", "--lib"),
            ("cargo test --workspace", "without --all", "without --workspace"),
            ("pytest --ignore=a", "--ignore a", "--ignore=a"),
            ("pytest a", "a", "a"),
        ] {
            let selection = Selection::of_command(&command.split_whitespace().collect::<Vec<_>>());
            assert_eq!(selection.as_written(words), expected, "{command}");
        }
    }
}
