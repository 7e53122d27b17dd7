//! Languages of files: by their endings, by names that tools know, and by the first line of what an interpreter runs.

use std::borrow::Cow;

use super::parts;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::ChangedFile;

/// Languages with their endings, the usual one first.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("c", &["c", "h"]),
    ("c++", &["cc", "cpp", "cxx", "hh", "hpp", "hxx", "ipp"]),
    ("c#", &["cs"]),
    ("css", &["css", "scss", "sass", "less"]),
    ("dart", &["dart"]),
    ("elixir", &["ex", "exs"]),
    ("erlang", &["erl", "hrl"]),
    ("go", &["go"]),
    ("haskell", &["hs"]),
    ("html", &["html", "htm", "vue", "svelte", "astro"]),
    ("java", &["java"]),
    ("javascript", &["js", "mjs", "cjs", "jsx"]),
    ("kotlin", &["kt", "kts"]),
    ("lua", &["lua"]),
    ("objective-c", &["m", "mm"]),
    ("perl", &["pl", "pm"]),
    ("php", &["php"]),
    ("protobuf", &["proto"]),
    ("python", &["py", "pyi", "pyx"]),
    ("r", &["r"]),
    ("ruby", &["rb", "rake"]),
    ("rust", &["rs"]),
    ("scala", &["scala"]),
    ("shell", &["sh", "bash", "bat", "cmd", "fish", "ps1", "zsh"]),
    ("sql", &["sql"]),
    ("swift", &["swift"]),
    ("terraform", &["tf", "tfvars"]),
    ("typescript", &["ts", "tsx", "mts", "cts"]),
    ("zig", &["zig"]),
];

/// Rarer endings, which no lens has to know: [`path_by_language`] puts a usual one behind them.
const RARE_ENDINGS: &[(&str, &[&str])] = &[
    ("c++", &["c++", "h++", "inl", "tcc"]),
    ("javascript", &["es6", "jsm"]),
    ("php", &["php3", "php4", "php5", "php7", "php8", "phtml"]),
    ("python", &["pyw", "wsgi"]),
    ("ruby", &["gemspec", "jbuilder", "podspec", "rbw", "ru", "thor"]),
    ("shell", &["command", "ksh"]),
];

/// Names that tools read as text of a language, by that language.
const LANGUAGE_NAMES: &[(&str, &[&str])] = &[
    ("javascript", &["jakefile"]),
    ("perl", &["cpanfile"]),
    ("python", &["sconscript", "sconstruct", "wscript"]),
    (
        "ruby",
        &[
            "appraisals",
            "berksfile",
            "brewfile",
            "capfile",
            "dangerfile",
            "fastfile",
            "gemfile",
            "guardfile",
            "podfile",
            "puppetfile",
            "rakefile",
            "steepfile",
            "thorfile",
            "vagrantfile",
        ],
    ),
    ("shell", &["apkbuild", "pkgbuild"]),
];

/// Number of lines that may name an interpreter, and bytes of one that are looked at.
const MOST_LINES: usize = 2;
const LONGEST_LINE: usize = 256;

/// Programs of the first line of a script that are not called as their language is.
const INTERPRETERS: &[(&str, &[&str])] = &[
    ("javascript", &["node", "nodejs"]),
    ("python", &["ipython", "pypy", "pythonw", "uv"]),
    ("r", &["rscript"]),
    ("ruby", &["jruby", "rake", "truffleruby"]),
    ("rust", &["rust-script"]),
    ("shell", &["ash", "bash", "busybox", "dash", "fish", "ksh", "mksh", "sh", "zsh"]),
    ("typescript", &["bun", "deno", "ts-node", "tsx"]),
];

/// Returns the language of a path, by its ending or its name.
pub fn language(path: &RepoPath) -> Option<&'static str> {
    let parts = parts(path);
    language_of_extension(&parts.extension).or_else(|| named(LANGUAGE_NAMES, &parts.name))
}

/// Returns the language of an ending in lower case.
pub(super) fn language_of_extension(extension: &str) -> Option<&'static str> {
    named(LANGUAGES, extension).or_else(|| named(RARE_ENDINGS, extension))
}

/// Returns the language whose list has a word.
fn named(table: &'static [(&'static str, &'static [&'static str])], word: &str) -> Option<&'static str> {
    table.iter().find(|(_, words)| words.contains(&word)).map(|(language, _)| *language)
}

/// Returns the language of a file by its path, and by its first lines where that says none: an interpreter that they name
/// is a comment to whoever imports the file, so it does not stand against an ending.
pub fn language_of_start(path: &RepoPath, start: &[u8]) -> Option<&'static str> {
    language(path).or_else(|| interpreted(start))
}

/// Returns the language of the interpreter that the first lines of a file name, whatever starts it: `uv run`, `nix-shell`.
fn interpreted(start: &[u8]) -> Option<&'static str> {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let page = start.trim_ascii_start();
    let is_page = page.get(..5).is_some_and(|begin| begin.eq_ignore_ascii_case(b"<?php"));
    if is_page || page.starts_with(b"<?=") {
        return Some("php");
    }
    let lines = start.split(|byte| *byte == b'\n').map_while(|line| line.strip_prefix(b"#!"));
    lines.take(MOST_LINES).find_map(|line| {
        let line = String::from_utf8_lossy(line.get(..LONGEST_LINE).unwrap_or(line));
        line.split_whitespace().find_map(language_of_program)
    })
}

/// Returns the language of a program, by its name without directory and version.
fn language_of_program(word: &str) -> Option<&'static str> {
    let word = word.strip_prefix("-S").unwrap_or(word).to_lowercase();
    let name = word.rsplit('/').next().unwrap_or(&word);
    let name = name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.');
    named(INTERPRETERS, name).or_else(|| LANGUAGES.iter().map(|(own, _)| *own).find(|own| *own == name))
}

/// Returns the path by which a changed file is read: its own where the ending is a usual one of its language as it is
/// spelled, else its own with the usual ending of that language behind it. `bin/deploy` with a first line that names Python
/// is read as `bin/deploy.py`.
pub fn path_by_language(file: &ChangedFile) -> Cow<'_, str> {
    let path = file.path.to_text();
    let language = file.language.as_deref();
    let Some((_, endings)) = LANGUAGES.iter().find(|(own, _)| Some(*own) == language) else { return path };
    let name = path.rsplit('/').next().unwrap_or(&path);
    match name.rsplit_once('.') {
        Some((_, ending)) if endings.contains(&ending) => path,
        _ => Cow::Owned(format!("{path}.{}", endings[0])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_contracts::v1::{ChangeKind, FileClass, Scope, ScopeReason};

    #[test]
    fn an_interpreter_says_the_language_where_no_name_does() {
        let cases = [
            ("bin/deploy", "#!/usr/bin/env python3\n", Some("python")),
            ("bin/deploy", "#!/usr/bin/env -S uv run --script\n", Some("python")),
            ("bin/deploy", "#!/usr/bin/env -Spython3.12 -u\n", Some("python")),
            ("bin/deploy", "#!/usr/bin/env NODE_ENV=x node\n", Some("javascript")),
            ("bin/deploy", "#! /usr/local/bin/ruby -w\n", Some("ruby")),
            ("bin/deploy", "#!/usr/bin/env -u HOME python3\n", Some("python")),
            ("bin/deploy", "#!/usr/bin/env nix-shell\n#! nix-shell -i python3\n", Some("python")),
            ("bin/deploy", "#!/usr/bin/env -S poetry run python\n", Some("python")),
            // A module that is imported is what its ending says.
            ("src/a.py", "#!/usr/bin/env node\n", Some("python")),
            ("src/a.py", "#!/bin/sh\n", Some("python")),
            ("bin/deploy.ts", "#!/usr/bin/env node\n", Some("typescript")),
            ("bin/deploy.js", "#!/usr/bin/env node\n", Some("javascript")),
            ("bin/deploy", "#!/bin/sh", Some("shell")),
            ("page.inc", "<?php\n", Some("php")),
            ("page.inc", "\u{feff}<?PHP\n", Some("php")),
            ("src/main.rs", "#![allow(dead_code)]\n", Some("rust")),
            ("bin/deploy", "#!/usr/bin/awk -f\n", None),
            ("bin/deploy", "#!", None),
            ("bin/deploy", "python\n", None),
            ("Rakefile", "task :default\n", Some("ruby")),
        ];
        for (path, start, expected) in cases {
            let path = RepoPath::from_bytes(path.as_bytes()).unwrap();
            assert_eq!(language_of_start(&path, start.as_bytes()), expected, "{start}");
        }
    }

    #[test]
    fn a_file_is_read_by_a_usual_ending_of_its_language() {
        let cases = [
            ("src/a.py", Some("python"), "src/a.py"),
            ("src/a.PY", Some("python"), "src/a.PY.py"),
            ("src/a.pyw", Some("python"), "src/a.pyw.py"),
            ("bin/deploy", Some("python"), "bin/deploy.py"),
            ("bin/deploy.sh", Some("python"), "bin/deploy.sh.py"),
            ("Rakefile", Some("ruby"), "Rakefile.rb"),
            ("page.vue", Some("html"), "page.vue"),
            ("Makefile", None, "Makefile"),
        ];
        for (path, language, expected) in cases {
            let file = changed_file(path, language);
            assert_eq!(path_by_language(&file), expected);
        }
    }

    fn changed_file(path: &str, language: Option<&str>) -> ChangedFile {
        ChangedFile {
            path: RepoPath::from_bytes(path.as_bytes()).unwrap(),
            old_path: None,
            kind: ChangeKind::Added,
            old_mode: None,
            new_mode: Some("100644".into()),
            old_blob: None,
            new_blob: None,
            class: FileClass::Source,
            scope: Scope::Product,
            scope_reason: ScopeReason::Name,
            language: language.map(str::to_owned),
            text: true,
            hunks: Vec::new(),
            codes: Vec::new(),
        }
    }
}
