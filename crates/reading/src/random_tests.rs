//! Every reader on random texts: none panics, and every place stands inside of its text.

use proptest::prelude::*;

use crate::documents::{Document, Format, Node};
use crate::packages::{LockFormat, LockedPackage, Part, locked_packages};
use crate::shell::{Options, Script};
use crate::syntax::Span;
use crate::workflow::{Value, Workflow};
use crate::{codeowners, dockerfile, go_mod, ignore, makefile, requirements};

const FORMATS: &[Format] = &[
    Format::EditorConfig,
    Format::Ignore,
    Format::Ini,
    Format::Json,
    Format::Npmrc,
    Format::Toml,
    Format::Xml,
    Format::Yaml,
];
const LOCKS: &[LockFormat] = &[
    LockFormat::Bun,
    LockFormat::Cargo,
    LockFormat::Gemfile,
    LockFormat::GoSum,
    LockFormat::Gradle,
    LockFormat::Mix,
    LockFormat::Npm,
    LockFormat::Pnpm,
    LockFormat::Podfile,
    LockFormat::Python,
    LockFormat::Yarn,
];
/// Parts that texts of every format are made of.
const PIECES: &[&str] = &[
    "a",
    "é",
    "𝄞",
    "\u{feff}",
    "\u{a0}",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\\",
    "\\\n",
    "'",
    "\"",
    "\"\"\"",
    "'''",
    "`",
    "{",
    "}",
    "[",
    "]",
    "[[",
    "]]",
    "(",
    ")",
    "<",
    ">",
    "</a>",
    "<a ",
    "/>",
    "&lt;",
    "<![CDATA[",
    "]]>",
    "<!--",
    ":",
    ": ",
    "- ",
    "? ",
    "| \n",
    ">-\n ",
    "&a ",
    "*a",
    "<<: ",
    "!t ",
    "---\n",
    "...\n",
    "%",
    "%{",
    "# ",
    ";",
    "=",
    " = ",
    ":=",
    ",",
    "@",
    "^1",
    "1",
    "0.5",
    "v1.0.0",
    "sha512-x",
    "\\u00e9",
    "\\x41",
    "true",
    "null",
    "name",
    "version",
    "packages",
    "package",
    "checksum",
    "dependencies",
    "lockfileVersion",
    "__metadata",
    "resolution",
    "FROM ",
    "RUN ",
    "ENV ",
    "COPY ",
    "<<E",
    "\nE\n",
    "ONBUILD ",
    "$",
    "$$",
    "$(",
    "${",
    "${{ ",
    " }}",
    "${{ 'é' }}",
    "${{ format('a{0}𝄞', 1) }}",
    "on: push\njobs:\n  a:\n    steps:\n    - run: ",
    "\n    - uses: ",
    "|",
    "&&",
    "define ",
    "include ",
    "require",
    "=> ",
    "--hash=",
    "-r ",
    "-e ",
    "git+https://h/a",
    "*",
    "**/",
    "!",
    "[^a-",
    "GEM\n",
    "  specs:\n",
    "//",
];

fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat())
}

#[track_caller]
fn inside(text: &str, span: Span) {
    assert!(text.get(span.start..span.end).is_some(), "{span:?} of {text:?}");
}

#[track_caller]
fn part_inside(text: &str, part: &Part) {
    inside(text, part.span);
}

fn packages_inside(text: &str, packages: &[LockedPackage]) {
    for package in packages {
        inside(text, package.span);
        part_inside(text, &package.name);
        for part in package.version.iter().chain(&package.source) {
            part_inside(text, part);
        }
        for checksum in &package.checksums {
            part_inside(text, &checksum.sum);
        }
    }
}

fn node_inside(text: &str, node: Node<'_>) {
    inside(text, node.span());
    inside(text, node.definition());
    let Some(decoded) = node.text() else { return };
    let mut before = 0;
    for (offset, _) in decoded.char_indices() {
        let place = node.place_of(offset);
        assert!(text.is_char_boundary(place), "{place} of {decoded:?} in {text:?}");
        assert!(place >= before, "{place} of {decoded:?} in {text:?}");
        before = place;
    }
    let template = Value::new(node).template().unwrap_or_default();
    for (offset, character) in template.text().char_indices() {
        let span = Span { start: offset, end: offset + character.len_utf8() };
        let place = template.place(span);
        assert!(text.is_char_boundary(place.start), "{place:?} of {span:?} in {text:?}");
        assert!(place.start <= place.end && place.end <= text.len(), "{place:?} of {span:?} in {text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn documents(text in any_text()) {
        for format in FORMATS {
            let Ok(document) = Document::parse(*format, &text) else { continue };
            for root in document.roots() {
                for leaf in root.leaves().unwrap_or_default() {
                    node_inside(&text, leaf.value);
                }
            }
            for shadowed in document.shadowed() {
                inside(&text, shadowed.entry.key_span);
                inside(&text, shadowed.by);
            }
        }
    }

    #[test]
    fn workflows(text in any_text()) {
        let text = format!("jobs:\n  a:\n    steps:\n    - run: {text}");
        let Ok(document) = Document::parse(Format::Yaml, &text) else { return Ok(()) };
        let Ok(workflow) = Workflow::parse(&document) else { return Ok(()) };
        for step in workflow.jobs.iter().flat_map(|job| &job.steps) {
            node_inside(&text, step.value.node());
            let Some(parsed) = step.run.and_then(|run| run.parse()) else { continue };
            for command in &parsed.script.commands {
                let place = parsed.template.place(command.span);
                assert!(place.start <= place.end && place.end <= text.len(), "{place:?} in {text:?}");
            }
        }
    }

    #[test]
    fn lockfiles(text in any_text()) {
        for format in LOCKS {
            if let Ok(packages) = locked_packages(*format, &text) {
                packages_inside(&text, &packages);
            }
        }
    }

    #[test]
    fn dockerfiles(text in any_text()) {
        for instruction in dockerfile::instructions(&text).unwrap_or_default() {
            inside(&text, instruction.span);
            for word in instruction.words() {
                part_inside(&text, &word);
            }
            for dockerfile::Variable { name, value } in instruction.variables() {
                part_inside(&text, &name);
                value.iter().for_each(|value| part_inside(&text, value));
            }
            if let Some(image) = instruction.image() {
                part_inside(&text, &image.name);
            }
            if let Some(script) = instruction.script() {
                Script::parse(&script.text, Options::default());
                for (offset, _) in script.text.char_indices() {
                    prop_assert!(text.is_char_boundary(script.source_of(offset)), "{:?} {:?}", text, script);
                }
            }
        }
    }

    #[test]
    fn makefiles(text in any_text()) {
        let read = makefile::Makefile::parse(&text);
        for rule in &read.rules {
            inside(&text, rule.span);
            rule.targets.iter().chain(&rule.prerequisites).for_each(|part| part_inside(&text, part));
            for line in &rule.recipe {
                inside(&text, line.span);
                line.parse(read.options());
            }
        }
        for variable in &read.variables {
            part_inside(&text, &variable.name);
            part_inside(&text, &variable.value);
        }
        read.broken.iter().for_each(|span| inside(&text, *span));
    }

    #[test]
    fn lists(text in any_text()) {
        let owners = codeowners::CodeOwners::parse(&text);
        owners.rules_of("a/é/b");
        owners.rules.iter().for_each(|rule| inside(&text, rule.span));
        for dialect in [ignore::IgnoreDialect::Git, ignore::IgnoreDialect::Docker] {
            let patterns = ignore::ignore_patterns(dialect, &text);
            ignore::ignored_by(&patterns, "a/é/b");
            patterns.iter().for_each(|pattern| inside(&text, pattern.span));
        }
    }

    #[test]
    fn manifests(text in any_text()) {
        for directive in go_mod::directives(&text).unwrap_or_default() {
            inside(&text, directive.span);
            directive.words.iter().for_each(|word| part_inside(&text, word));
            directive.replacement();
        }
        for requirement in requirements::requirements(&text).unwrap_or_default() {
            match requirement {
                requirements::Requirement::Option { name, value, span } => {
                    inside(&text, span);
                    part_inside(&text, &name);
                    value.iter().for_each(|value| part_inside(&text, value));
                }
                requirements::Requirement::Package(package) => {
                    inside(&text, package.span);
                    let parts = package.name.iter().chain(&package.specifier).chain(&package.address);
                    parts.chain(&package.hashes).chain(&package.marker).for_each(|part| part_inside(&text, part));
                }
            }
        }
    }
}

/// A reader whose time grows with the square of a line would not come to an end here.
#[test]
fn long_lines_take_time_with_their_length() {
    for piece in
        ["a ", "$(", "${", "\\\n", "<<A ", "[", "{", "#", "// ", "a:", "a=", "\"", "\\", "@", "*", " -"]
    {
        let text = piece.repeat(20_000);
        for start in [
            "",
            "RUN ",
            "ENV ",
            "FROM ",
            "a: ",
            "a:\n\t",
            "require ",
            "-r ",
            "a[",
            "* ",
            "GEM\n  specs:\n    ",
        ] {
            let text = format!("{start}{text}");
            makefile::Makefile::parse(&text);
            codeowners::CodeOwners::parse(&text).rules_of("a/b");
            let patterns = ignore::ignore_patterns(ignore::IgnoreDialect::Git, &text);
            ignore::ignored_by(&patterns, "a/b");
            let _ = go_mod::directives(&text);
            let _ = requirements::requirements(&text);
            if let Ok(read) = dockerfile::instructions(&text) {
                read.iter().for_each(|instruction| drop((instruction.words(), instruction.variables())));
            }
            for format in [
                LockFormat::Gemfile,
                LockFormat::GoSum,
                LockFormat::Gradle,
                LockFormat::Mix,
                LockFormat::Yarn,
            ] {
                let _ = locked_packages(format, &text);
            }
        }
    }
}
