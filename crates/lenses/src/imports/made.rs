//! Tells from a configuration or a script whether a build makes a file.

use super::target::split;
use qa_reading::documents::{Document, Format, Step};

/// Words of keys below which a configuration has commands, or files that are made or left alone as such.
const MAKING: &[&str] = &[
    "build",
    "cmd",
    "codegen",
    "command",
    "commands",
    "dest",
    "destination",
    "emit",
    "exclude",
    "excluded",
    "excludes",
    "exec",
    "gen",
    "generate",
    "generated",
    "generates",
    "generator",
    "generators",
    "ignore",
    "ignored",
    "ignores",
    "make",
    "out",
    "outfile",
    "output",
    "outputs",
    "run",
    "script",
    "scripts",
    "target",
    "targets",
    "task",
    "tasks",
    "write",
    "writes",
];

/// Returns whether a file that builds read says that a missing file, given without its ending, is made. A text that
/// cannot be parsed may say anything.
pub(super) fn makes(configuration: &str, text: &str, missing: &str) -> bool {
    let name = split(configuration).1;
    // Ignore files are evaluated elsewhere, and our own policy makes no files.
    if name.ends_with("ignore") || configuration.starts_with(".qa-skill/") {
        return false;
    }
    let format = match name.rsplit_once('.') {
        Some((_, "json" | "json5")) => Format::Json,
        Some((_, "toml")) => Format::Toml,
        Some((_, "yaml" | "yml")) => Format::Yaml,
        Some((_, "cfg" | "ini")) => Format::Ini,
        Some(_) | None => return text.lines().any(|line| is_statement(line) && names(line, missing)),
    };
    let Ok(document) = Document::parse(format, text) else { return true };
    let is_of_generator = is_making(name);
    document.roots().any(|root| {
        let Ok(leaves) = root.leaves() else { return true };
        leaves.iter().any(|leaf| {
            let is_named = keys(&leaf.path).chain(leaf.value.text()).any(|text| names(text, missing));
            is_named && (is_of_generator || keys(&leaf.path).any(is_making))
        })
    })
}

/// Returns the keys of a path inside a document.
fn keys<'p>(path: &'p [Step<'_>]) -> impl Iterator<Item = &'p str> {
    path.iter().filter_map(|step| match step {
        Step::Key(key) => Some(*key),
        Step::Item(_) => None,
    })
}

/// Returns whether one of the words of a key says that something is made.
fn is_making(key: &str) -> bool {
    let mut words = vec![String::new()];
    for character in key.chars() {
        if !character.is_alphanumeric() || character.is_uppercase() {
            words.push(String::new());
        }
        if character.is_alphanumeric() {
            words.last_mut().expect("there is a first word").extend(character.to_lowercase());
        }
    }
    words.iter().any(|word| MAKING.contains(&word.as_str()))
}

/// Returns whether a line of a script does more than show a text or name what a build reads.
fn is_statement(line: &str) -> bool {
    const OTHERS: &[&str] = &["#", "//", "--", ";", "echo ", "@echo ", "rem "];
    let line = line.trim_start();
    !OTHERS.iter().any(|other| line.starts_with(other)) && !line.contains("rerun-if-changed")
}

/// Returns whether a text has the path of a file, as far as it gives the directory.
fn names(text: &str, missing: &str) -> bool {
    let (directory, stem) = split(missing);
    let parent = split(directory).1;
    text.match_indices(stem).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + stem.len()..]);
        if before.ends_with(|last: char| last.is_alphanumeric() || "_-.".contains(last))
            || after.starts_with(|next: char| next.is_alphanumeric() || "_-".contains(next))
        {
            return false;
        }
        let Some(path) = before.strip_suffix('/') else { return true };
        let above = path.rsplit(|other: char| !other.is_alphanumeric() && !"_-.".contains(other)).next();
        match above {
            Some(above) if !above.is_empty() && !above.starts_with('.') => {
                above == parent || path.ends_with(&format!("${above}"))
            }
            Some(_) | None => true,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_a_file_is_told_from_what_only_names_it() {
        let makes_it = [
            ("Makefile", "src/buffer.rs: src/buffer.in\n\t./gen $< > $@\n"),
            ("build.sh", "protoc --out \"$OUT/buffer.rs\"\n"),
            ("build.rs", "fn main() { write(\"src/buffer.rs\", code()); }\n"),
            ("package.json", "{\"scripts\": {\"pre\": \"gen > src/buffer.ts\"}}"),
            ("codegen.yml", "src/buffer.ts:\n  plugins: [typescript]\n"),
            ("rustfmt.toml", "ignore = [\"src/buffer.rs\"]\n"),
            (".github/workflows/ci.yml", "jobs: {a: {steps: [{run: ./gen src/buffer.rs}]}}\n"),
            ("project.json", "{\"outputFile\": \"./src/buffer.ts\"}"),
            ("broken.json", "{\"buffer"),
        ];
        for (name, text) in makes_it {
            assert!(makes(name, text, "src/buffer"), "{name} {text}");
        }
        let names_it = [
            ("Makefile", "# buffer.rs is made by hand\n"),
            ("Makefile", "docs/buffer.rs: x\n"),
            ("build.rs", "fn main() {\n    println!(\"cargo:rerun-if-changed=src/buffer.rs\");\n}\n"),
            ("run.sh", "echo buffer.rs\n"),
            (".qa-skill/rubrics/1.json", "{\"generated\": \"src/buffer.rs\"}"),
            ("rubrics/1.json", "{\"quote\": \"src/buffer.rs\"}"),
            ("notes.toml", "a = \"src/buffer.rs\"\n"),
            ("config.yml", "files: [buffer.rs]\n"),
            (".gitignore", "/docs/buffer.rs\n"),
            ("package.json", "{\"scripts\": {\"pre\": \"gen > src/ring-buffer.ts\"}}"),
        ];
        for (name, text) in names_it {
            assert!(!makes(name, text, "src/buffer"), "{name} {text}");
        }
    }
}
