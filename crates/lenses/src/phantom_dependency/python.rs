//! Python: modules whose distribution has the same name, and what requirements name.

use super::super::contract::Lookups;
use super::super::imports::STANDARD_MODULES;
use super::Judgement;
use super::known::PYTHON;
use super::manifest::{Manifest, above, document, is_near, nearly, words};
use qa_reading::documents::{Document, Format};
use qa_reading::requirements::{Requirement, requirements};

const MANIFESTS: &[&str] = &["Pipfile", "pyproject.toml", "setup.cfg", "setup.py"];

pub(super) fn judged(lookups: &dyn Lookups, path: &str, module: &str) -> Option<Judgement> {
    let top = module.split('.').next().filter(|top| !top.is_empty() && !top.starts_with('_'))?;
    if STANDARD_MODULES.binary_search(&top).is_ok() {
        return None;
    }
    let manifests = above(lookups, path, &|name| {
        MANIFESTS.contains(&name) || name.contains("requirements") && name.ends_with(".txt")
    });
    let Some(stated) = manifests.iter().map(Stated::read).collect::<Option<Vec<_>>>() else {
        lookups.stop_short();
        return None;
    };
    let position = stated.iter().position(|stated| stated.has_dependencies)?;
    let names: Vec<&String> = stated.iter().flat_map(|stated| &stated.names).collect();
    let own = normal(top);
    if names.iter().any(|name| is_called_after(name, &own)) || is_near(lookups, path, top) {
        return None;
    }
    let is_known = PYTHON.binary_search(&top).is_ok();
    let known = PYTHON.iter().chain(STANDARD_MODULES).copied();
    let declared = names.iter().map(|name| name.as_str()).filter(|name| PYTHON.contains(name));
    let resembles = nearly(&own, declared).or_else(|| nearly(top, known)).filter(|_| !is_known);
    // Of other names it is not known which distribution has them.
    (is_known || resembles.is_some()).then(|| Judgement {
        package: top.to_owned(),
        manifest: stated[position].path.clone(),
        resembles: resembles.map(str::to_owned),
    })
}

/// Returns whether a distribution is called after a module: `python_dateutil` after `dateutil`, `pyyaml` after `yaml`. A letter
/// more or less makes the name of another package: `requests` is not called after `request`.
fn is_called_after(distribution: &str, module: &str) -> bool {
    const OTHERS: &[(&str, &str)] = &[("attrs", "attr"), ("torchvision", "torch"), ("torchaudio", "torch")];
    const BEFORE: &[&str] = &["lib", "py", "python"];
    const BEHIND: &[&str] = &["client", "lib", "py", "python"];
    let is_known = OTHERS.contains(&(distribution, module));
    let is_marked = distribution.match_indices(module).any(|(at, _)| {
        let before = distribution[..at].rsplit('_').next().unwrap_or_default();
        let behind = distribution[at + module.len()..].split('_').next().unwrap_or_default();
        let behind = behind.trim_matches(|sign: char| sign.is_ascii_digit());
        (before.is_empty() || BEFORE.contains(&before)) && (behind.is_empty() || BEHIND.contains(&behind))
    });
    is_known || is_marked
}

/// Names that a manifest states.
struct Stated {
    path: String,
    /// Words that may be distributions, as they are compared.
    names: Vec<String>,
    has_dependencies: bool,
}

impl Stated {
    /// Reads a manifest, or returns `None` where its tool cannot.
    fn read(manifest: &Manifest) -> Option<Self> {
        let (names, has_dependencies) = match manifest.name() {
            "Pipfile" | "pyproject.toml" => Self::of_document(&document(Format::Toml, &manifest.text)?),
            "setup.cfg" => Self::of_document(&document(Format::Ini, &manifest.text)?),
            "setup.py" => {
                let has_dependencies = manifest.text.contains("install_requires");
                (distributions(&manifest.text).collect(), has_dependencies)
            }
            _ => {
                let mut names = Vec::new();
                for requirement in requirements(&manifest.text).ok()? {
                    let Requirement::Package(package) = requirement else { continue };
                    let parts = package.name.iter().chain(&package.address);
                    names.extend(parts.flat_map(|part| distributions(&part.text)));
                }
                (names, true)
            }
        };
        Some(Self { path: manifest.path.clone(), names, has_dependencies })
    }

    fn of_document(document: &Document<'_>) -> (Vec<String>, bool) {
        let words = words(document);
        let mut keys = words.iter().flat_map(|words| &words.keys);
        let has_dependencies = keys
            .any(|key| key.contains("dependencies") || key.contains("requires") || key.ends_with("packages"));
        let texts = words.iter().flat_map(|words| words.keys.iter().chain([&words.text]));
        (texts.flat_map(|text| distributions(text)).collect(), has_dependencies)
    }
}

/// The words of a text that may be distributions, as they are compared.
fn distributions(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !(letter.is_ascii_alphanumeric() || "-_.".contains(letter)))
        .filter(|word| word.len() > 1)
        .map(normal)
}

fn normal(name: &str) -> String {
    name.to_lowercase().replace(['-', '.'], "_")
}

#[cfg(test)]
mod tests {
    use super::is_called_after;

    #[test]
    fn a_distribution_is_called_after_its_module_and_not_after_a_part_of_its_name() {
        for (distribution, module, expected) in [
            ("requests", "requests", true),
            ("requests", "request", false),
            ("pandas", "panda", false),
            ("flask", "lask", false),
            ("python_dateutil", "dateutil", true),
            ("pyyaml", "yaml", true),
            ("pyjwt", "jwt", true),
            ("gitpython", "git", true),
            ("dnspython", "dns", true),
            ("beautifulsoup4", "beautifulsoup", true),
            ("psycopg2_binary", "psycopg2", true),
            ("psycopg2_binary", "psycopg", true),
            ("google_cloud_storage", "google", true),
            ("zope_interface", "zope", true),
            ("markdown_it_py", "markdown_it", true),
            ("attrs", "attr", true),
            ("djangorestframework", "django", false),
        ] {
            assert_eq!(is_called_after(distribution, module), expected, "{distribution}, {module}");
        }
    }
}
