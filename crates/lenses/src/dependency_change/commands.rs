//! Variables and options by which commands take packages from elsewhere, in Dockerfiles, Makefiles and workflows.

use super::manifests::Meaning::{self, Any, Is, Registry};
use super::manifests::{Claim, OPTIONS, constant, row_claims};
use qa_reading::dockerfile::{self, Variable};
use qa_reading::documents::{Document, Format, Step};
use qa_reading::makefile::Makefile;
use qa_reading::shell::{Options, Script, Word};
use qa_reading::syntax::Span;

const VARIABLES: &[(&str, Meaning)] = &[
    ("GOINSECURE", Any),
    ("GONOSUMCHECK", Any),
    ("GONOSUMDB", Any),
    ("GOSUMDB", Is("off")),
    ("NPM_CONFIG_REGISTRY", Registry),
    ("NPM_CONFIG_STRICT_SSL", Is("false")),
    ("PIP_EXTRA_INDEX_URL", Registry),
    ("PIP_INDEX_URL", Registry),
    ("PIP_TRUSTED_HOST", Any),
    ("UV_DEFAULT_INDEX", Registry),
    ("UV_EXTRA_INDEX_URL", Registry),
    ("UV_INDEX_URL", Registry),
    ("UV_INSECURE_HOST", Any),
    ("npm_config_registry", Registry),
    ("npm_config_strict_ssl", Is("false")),
];
/// Programs whose options name registries.
const PROGRAMS: &[&str] = &["npm", "pip", "pip3", "pnpm", "python", "python3", "uv", "yarn"];

/// Notation of a file with commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Commands {
    Dockerfile,
    Makefile,
    /// Scripts, and variables alone, as go.env has them.
    Shell,
    Workflow,
}

/// Returns whether changed lines may set one of the variables or options.
pub(super) fn may_set(hunks: &str) -> bool {
    let words = VARIABLES.iter().map(|(name, _)| *name);
    let options = OPTIONS.iter().map(|(name, _)| *name).filter(|name| name.starts_with("--"));
    words.chain(options).any(|word| hunks.contains(word))
        || hunks.contains(" -i ")
        || hunks.contains("config") && hunks.contains("set ")
}

impl Commands {
    /// Returns the notation of a file by its path in lower case.
    pub(super) fn for_path(path: &str) -> Option<Self> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        match name {
            "go.env" => Some(Self::Shell),
            "makefile" => Some(Self::Makefile),
            _ if name.starts_with("dockerfile") => Some(Self::Dockerfile),
            _ if name.ends_with(".sh") || name.ends_with(".bash") => Some(Self::Shell),
            _ if folder == ".github/workflows" && (name.ends_with(".yml") || name.ends_with(".yaml")) => {
                Some(Self::Workflow)
            }
            _ => None,
        }
    }

    /// Returns what a file sets. One that cannot be parsed is not run either.
    pub(super) fn claims(self, text: &str) -> Vec<Claim> {
        match self {
            Self::Shell => script_claims(&Script::parse(text, Options::default())),
            Self::Dockerfile => dockerfile_claims(text),
            Self::Makefile => makefile_claims(text),
            Self::Workflow => workflow_claims(text),
        }
    }
}

fn script_claims(script: &Script) -> Vec<Claim> {
    let mut claims = Vec::new();
    for command in &script.commands {
        for assignment in &command.assignments {
            let value = constant(&assignment.value);
            claims.extend(row_claims(VARIABLES, &assignment.name, value, assignment.span));
        }
        if !command.program().is_some_and(|program| PROGRAMS.contains(&program)) {
            continue;
        }
        let words = command.arguments();
        claims.extend(stored_setting(words));
        for (at, word) in words.iter().enumerate() {
            let (name, value) = match word.text().split_once('=') {
                Some((name, value)) if word.constant().is_some() => (name, value),
                Some(_) => continue,
                None => (word.text(), words.get(at + 1).map(constant).unwrap_or_default()),
            };
            claims.extend(row_claims(OPTIONS, name, value, word.span));
        }
    }
    claims
}

/// Returns the setting that a command such as `pip config set global.trusted-host HOST` stores.
fn stored_setting(words: &[Word]) -> Vec<Claim> {
    let plain: Vec<&Word> = words.iter().filter(|word| !word.text().starts_with('-')).collect();
    let Some(set) = plain.windows(2).position(|pair| pair[0].text() == "config" && pair[1].text() == "set")
    else {
        return Vec::new();
    };
    let Some((word, behind)) = plain[set + 2..].split_first() else { return Vec::new() };
    let (name, value) = match word.text().split_once('=') {
        Some((name, value)) => (name, value),
        None => (word.text(), behind.first().map(|word| constant(word)).unwrap_or_default()),
    };
    // pip has sections, as in `global.index-url`.
    let name = name.rsplit('.').next().unwrap_or(name);
    row_claims(OPTIONS, &format!("--{name}"), value, word.span)
}

fn dockerfile_claims(text: &str) -> Vec<Claim> {
    let mut claims = Vec::new();
    for instruction in dockerfile::instructions(text).unwrap_or_default() {
        for Variable { name, value } in instruction.variables() {
            let value = value.map(|value| value.text).unwrap_or_default();
            claims.extend(row_claims(VARIABLES, &name.text, &value, name.span));
        }
        let Some(script) = instruction.script() else { continue };
        let found = script_claims(&Script::parse(&script.text, Options::default()));
        claims.extend(found.into_iter().map(|claim| claim.placed(|at| script.source_of(at))));
    }
    claims
}

fn makefile_claims(text: &str) -> Vec<Claim> {
    let makefile = Makefile::parse(text);
    let mut claims = Vec::new();
    for variable in &makefile.variables {
        let name = variable.name.text.trim_start_matches("export ").trim();
        claims.extend(row_claims(VARIABLES, name, &variable.value.text, variable.name.span));
    }
    for line in makefile.rules.iter().flat_map(|rule| &rule.recipe) {
        let script = Script::parse_template(&line.script.text, makefile.options(), &line.expansions);
        let found = script_claims(&script).into_iter();
        claims.extend(found.map(|claim| claim.placed(|at| line.script.source_of(at))));
    }
    claims
}

fn workflow_claims(text: &str) -> Vec<Claim> {
    let mut claims = Vec::new();
    let Ok(document) = Document::parse(Format::Yaml, text) else { return claims };
    for leaf in document.roots().filter_map(|root| root.leaves().ok()).flatten() {
        let Some(value) = leaf.value.text() else { continue };
        match leaf.path.as_slice() {
            [.., Step::Key("env"), Step::Key(name)] => {
                claims.extend(row_claims(VARIABLES, name, value, leaf.value.span()));
            }
            [.., Step::Key("run")] => {
                let found = script_claims(&Script::parse(value, Options::default())).into_iter();
                claims.extend(found.map(|claim| claim.placed(|at| leaf.value.place_of(at))));
            }
            _ => {}
        }
    }
    claims
}

impl Claim {
    /// Moves a claim about a part of a text to its place in the file.
    fn placed(self, place: impl Fn(usize) -> usize) -> Self {
        let last = self.span.end.saturating_sub(1).max(self.span.start);
        let (start, end) = (place(self.span.start), place(last) + (self.span.end - last));
        Self { span: Span { start, end: end.max(start) }, ..self }
    }
}
