//! JavaScript and TypeScript: relative specifiers and the names of ECMAScript modules.

use super::super::contract::Lookups;
use super::target::{Has, Target, has_stem, join, split, walked};
use qa_contracts::v1::{ImportForm, Side};

const ENDINGS: &[&str] = &["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];
const DECLARATIONS: &[&str] = &["d.ts", "d.mts", "d.cts"];
/// Maximum number of files through which a re-exported name is followed.
const MAX_STEPS: usize = 6;

pub(super) fn target(lookups: &dyn Lookups, side: Side, importer: &str, specifier: &str) -> Target {
    let relative =
        specifier == "." || specifier == ".." || specifier.starts_with("./") || specifier.starts_with("../");
    let plain =
        specifier.chars().all(|character| character.is_alphanumeric() || "._-/@$+".contains(character));
    if !relative || !plain {
        return Target::Unsure;
    }
    let Some(path) = walked(split(importer).0, specifier) else { return Target::Unsure };
    if specifier.ends_with('/') || specifier.ends_with('.') {
        return index_of(lookups, side, &path);
    }
    let (directory, name) = split(&path);
    let files = lookups.files_in(side, directory);
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_code = ENDINGS.contains(&ending);
    if files.iter().any(|file| file == name) {
        return if is_code && !name.ends_with(".d.ts") { Target::File(path) } else { Target::Unsure };
    }
    // A specifier may have the ending that the file gets when it is built.
    let built: &[&str] = match ending {
        "js" => &["ts", "tsx", "d.ts", "jsx"],
        "jsx" => &["tsx", "d.ts"],
        "mjs" => &["mts", "d.mts"],
        "cjs" => &["cts", "d.cts"],
        _ => &[],
    };
    let mut found = with_endings(&files, stem, built);
    found.extend(with_endings(&files, name, ENDINGS));
    found.extend(with_endings(&files, name, DECLARATIONS));
    match found.as_slice() {
        [only] if !only.contains(".d.") => return Target::File(join(directory, only)),
        [] => {}
        _ => return Target::Unsure,
    }
    // Another ending is known to whatever loads it.
    if !ending.is_empty() && !is_code || has_stem(&files, name) || has_stem(&files, stem) && is_code {
        return Target::Unsure;
    }
    if lookups.is_present(side, &path) {
        return index_of(lookups, side, &path);
    }
    let missing = if is_code { join(directory, stem) } else { path };
    // A link is no regular file.
    if ENDINGS.iter().any(|ending| lookups.is_present(side, &format!("{missing}.{ending}"))) {
        return Target::Unsure;
    }
    Target::Missing(missing)
}

/// Returns those of some files that are a stem with one of some endings, in the order of the endings.
fn with_endings(files: &[String], stem: &str, endings: &[&str]) -> Vec<String> {
    let named = endings.iter().map(|ending| format!("{stem}.{ending}"));
    named.filter(|candidate| files.contains(candidate)).collect()
}

fn index_of(lookups: &dyn Lookups, side: Side, directory: &str) -> Target {
    let files = lookups.files_in(side, directory);
    let found: Vec<String> = ENDINGS
        .iter()
        .map(|ending| format!("index.{ending}"))
        .filter(|candidate| files.contains(candidate))
        .collect();
    let described = files.iter().any(|file| file == "package.json" || file == "index.d.ts");
    match found.as_slice() {
        [only] if !described => Target::File(join(directory, only)),
        _ => Target::Unsure,
    }
}

pub(super) fn has(lookups: &dyn Lookups, side: Side, file: &str, name: &str, steps: usize) -> Has {
    let Some(outline) = lookups.outline(side, file).filter(|_| !file.contains(".d.")) else {
        return Has::Unsure;
    };
    if outline.names.iter().any(|known| known.name == name) {
        return Has::Yes;
    }
    if outline.open || steps > MAX_STEPS {
        return Has::Unsure;
    }
    // `export *` passes on all names but the default.
    let stars = outline.imports.iter().filter(|import| import.form == ImportForm::Reexport && import.star);
    let mut answer = Has::No;
    for import in stars.filter(|_| name != "default") {
        let further = match target(lookups, side, file, &import.module.name) {
            Target::File(next) => has(lookups, side, &next, name, steps + 1),
            Target::Missing(_) | Target::Unsure => Has::Unsure,
        };
        match further {
            Has::Yes => return Has::Yes,
            Has::Unsure => answer = Has::Unsure,
            Has::No => {}
        }
    }
    match answer == Has::No && is_declared(lookups, side, file, name) {
        true => Has::Unsure,
        false => answer,
    }
}

/// Returns whether declarations beside a file, which TypeScript reads in its place, may have a name. They say nothing of
/// one that the file had at the base.
fn is_declared(lookups: &dyn Lookups, side: Side, file: &str, name: &str) -> bool {
    let (directory, file_name) = split(file);
    let stem = file_name.rsplit_once('.').map_or(file_name, |(stem, _)| stem);
    let beside = with_endings(&lookups.files_in(side, directory), stem, DECLARATIONS);
    let may_have = beside.iter().any(|declarations| {
        lookups.outline(side, &join(directory, declarations)).is_none_or(|outline| {
            outline.open
                || outline.names.iter().any(|known| known.name == name)
                || outline.imports.iter().any(|import| import.form == ImportForm::Reexport && import.star)
        })
    });
    let at_base = lookups.outline(Side::Base, file).filter(|_| may_have);
    may_have && !at_base.is_some_and(|outline| outline.names.iter().any(|known| known.name == name))
}
