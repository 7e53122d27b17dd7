//! Parses files and does nothing else with them: what `evaluation/bench.py --parse` holds a whole run against.

use std::process::ExitCode;

use tree_sitter::{Language, Parser};

#[expect(clippy::print_stderr, reason = "an example is a program of its own")]
fn main() -> ExitCode {
    for path in std::env::args().skip(1) {
        if let Err(reason) = parse(&path) {
            eprintln!("{path}: {reason}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn parse(path: &str) -> Result<(), Box<dyn std::error::Error>> {
    let Some(language) = path.rsplit_once('.').and_then(|(_, ending)| grammar(ending)) else { return Ok(()) };
    let text = std::fs::read(path)?;
    let mut parser = Parser::new();
    parser.set_language(&language).map_err(|error| error.to_string())?;
    parser.parse(&text, None).ok_or("the parser gave up")?;
    Ok(())
}

fn grammar(ending: &str) -> Option<Language> {
    Some(match ending {
        "go" => tree_sitter_go::LANGUAGE.into(),
        "java" => tree_sitter_java::LANGUAGE.into(),
        "cjs" | "js" | "jsx" | "mjs" => tree_sitter_javascript::LANGUAGE.into(),
        "py" | "pyi" => tree_sitter_python::LANGUAGE.into(),
        "rs" => tree_sitter_rust::LANGUAGE.into(),
        "tsx" => tree_sitter_typescript::LANGUAGE_TSX.into(),
        "cts" | "mts" | "ts" => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        _ => return None,
    })
}
