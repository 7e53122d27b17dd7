//! Files that a search for words covers, and the words in them.

use qa_contracts::v1::MentionKind;
use qa_core::classify;
use qa_reading::names::places;
use qa_reading::syntax::Language;

/// Returns whether a text has a word, with nothing around it that would make it another one. A part between hyphens in a
/// configuration is part of a longer name, such as that of a rule.
pub fn has_word(kind: MentionKind, text: &str, word: &str) -> bool {
    places(text, word).any(|place| {
        let is_part = text[..place.start].ends_with('-') && text[place.end..].starts_with('-');
        kind != MentionKind::Configuration || !is_part
    })
}

/// Returns whether a file is searched. Examples are not, since they bind nobody.
pub fn is_of(kind: MentionKind, path: &str) -> bool {
    let language = Language::from_path(path).filter(|_| !classify::is_example(path));
    match kind {
        MentionKind::C => matches!(language, Some(Language::C | Language::Cpp)),
        MentionKind::CSharp => language == Some(Language::CSharp),
        MentionKind::Configuration => is_configuration(path) && !classify::is_example(path),
        MentionKind::Ecma => {
            matches!(language, Some(Language::JavaScript | Language::TypeScript | Language::Tsx))
        }
        MentionKind::Go => language == Some(Language::Go),
        MentionKind::Java => language == Some(Language::Java),
        MentionKind::Lockfile => {
            let name = path.rsplit('/').next().unwrap_or(path);
            classify::is_lockfile(&name.to_ascii_lowercase()) && !classify::is_example(path)
        }
        MentionKind::Php => language == Some(Language::Php),
        MentionKind::Python => language == Some(Language::Python),
        MentionKind::Ruby => language == Some(Language::Ruby),
        MentionKind::Rust => language == Some(Language::Rust),
    }
}

fn is_configuration(path: &str) -> bool {
    const ENDINGS: &[&str] = &[
        "bazel",
        "build",
        "bzl",
        "cfg",
        "cmake",
        "gitignore",
        "gradle",
        "in",
        "ini",
        "json",
        "json5",
        "mk",
        "nix",
        "pro",
        "proto",
        "sh",
        "toml",
        "yaml",
        "yml",
    ];
    const NAMES: &[&str] = &[
        ".npmignore",
        "BUILD",
        "CMakeLists.txt",
        "Dockerfile",
        "Gulpfile.js",
        "Justfile",
        "Makefile",
        "Pipfile",
        "build.rs",
        "gulpfile.js",
        "justfile",
        "noxfile.py",
        "setup.py",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let configures = stem.ends_with(".config") || stem.ends_with(".conf");
    let requires = ending == "txt" && ["requirements", "constraints"].iter().any(|word| path.contains(word));
    (ENDINGS.contains(&ending) || NAMES.contains(&name) || configures || requires)
        && !classify::is_lockfile(name)
}
