//! Lockfiles of every kind, written in other ways and with one checksum swapped.

use super::*;
use crate::corpus::{CaseFile, CaseVersion, changed_file, run_lens};
use qa_reading::documents::{Document, Format, Node};

/// A lockfile with the notation that it can be written in again.
struct Sample {
    name: &'static str,
    format: Option<Format>,
    text: String,
}

fn sample(name: &'static str, format: Option<Format>, text: &str) -> Sample {
    // Each mark stands for a checksum of its own.
    let marks =
        [('1', "hex", 64), ('2', "hex", 64), ('3', "base64", 86), ('4', "base64", 86), ('5', "hex", 40)];
    let text = marks.iter().fold(text.to_owned(), |text, (mark, kind, length)| {
        let letter = char::from(b'a' + *mark as u8 - b'1');
        let padding = if *kind == "hex" { "" } else { "==" };
        text.replace(&format!("§{mark}"), &(letter.to_string().repeat(*length) + padding))
    });
    Sample { name, format, text }
}

fn samples() -> Vec<Sample> {
    use Format::{Json, Toml, Yaml};
    let npm = r#"{"lockfileVersion": 3, "packages": {"": {"name": "shop"},
        "node_modules/left": {"version": "1.0.0", "resolved": "https://registry.npmjs.org/left/-/left-1.0.0.tgz", "integrity": "sha512-§3"},
        "node_modules/right": {"version": "2.0.0", "resolved": "https://registry.npmjs.org/right/-/right-2.0.0.tgz", "integrity": "sha512-§4"}}}"#;
    let npm_1 = r#"{"lockfileVersion": 1, "dependencies": {"left": {"version": "1.0.0", "integrity": "sha512-§3",
        "dependencies": {"right": {"version": "2.0.0", "integrity": "sha512-§4"}}}}}"#;
    let pnpm = "lockfileVersion: '9.0'\npackages:\n  left@1.0.0:\n    resolution: {integrity: sha512-§3}\n  '@a/right@2.0.0':\n    resolution:\n      integrity: sha512-§4\n";
    let yarn = "# yarn lockfile v1\n\nleft@^1.0.0:\n  version \"1.0.0\"\n  resolved \"https://registry.yarnpkg.com/left/-/left-1.0.0.tgz#§5\"\n  integrity sha512-§3\n\n\"@a/right@2\":\n  version \"2.0.0\"\n  integrity sha512-§4\n";
    let berry = "__metadata:\n  version: 8\n\"left@npm:^1.0.0\":\n  version: 1.0.0\n  resolution: \"left@npm:1.0.0\"\n  checksum: 10c0/§1\n\"right@npm:^2.0.0\":\n  version: 2.0.0\n  resolution: \"right@npm:2.0.0\"\n  checksum: 10c0/§2\n";
    let bun = r#"{"lockfileVersion": 1, "packages": {"left": ["left@1.0.0", "", {}, "sha512-§3"], "right": ["right@2.0.0", "", {}, "sha512-§4"],}}"#;
    let cargo = "version = 4\n\n[[package]]\nname = \"left\"\nversion = \"1.0.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"§1\"\n\n[[package]]\nname = \"right\"\nversion = \"2.0.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"§2\"\n";
    let poetry = "[[package]]\nname = \"left\"\nversion = \"1.0.0\"\nfiles = [\n    {file = \"left-1.0.0.tar.gz\", hash = \"sha256:§1\"},\n    {file = \"left-1.0.0-py3-none-any.whl\", hash = \"sha256:§2\"},\n]\n";
    let uv = "version = 1\n[[package]]\nname = \"left\"\nversion = \"1.0.0\"\nsource = { registry = \"https://pypi.org/simple\" }\nsdist = { url = \"https://files.pythonhosted.org/a/left-1.0.0.tar.gz\", hash = \"sha256:§1\" }\nwheels = [{ url = \"https://files.pythonhosted.org/a/left.whl\", hash = \"sha256:§2\" }]\n";
    let pipfile =
        r#"{"_meta": {}, "default": {"left": {"version": "==1.0.0", "hashes": ["sha256:§1", "sha256:§2"]}}}"#;
    let go = "example.org/left v1.0.0 h1:§3\nexample.org/left v1.0.0/go.mod h1:§4\n";
    let gemfile = "GEM\n  remote: https://rubygems.org/\n  specs:\n    left (1.0.0)\n    right (2.0.0)\n\nCHECKSUMS\n  left (1.0.0) sha256=§1\n  right (2.0.0) sha256=§2\n";
    let composer = r#"{"packages": [{"name": "a/left", "version": "1.0.0", "dist": {"url": "https://api.github.com/repos/a/left/zipball/x", "reference": "§5", "shasum": "§1"}}]}"#;
    let nuget = r#"{"version": 1, "dependencies": {"net8.0": {"Left": {"resolved": "1.0.0", "contentHash": "§3"}, "Right": {"resolved": "2.0.0", "contentHash": "§4"}}}}"#;
    vec![
        sample("package-lock.json", Some(Json), npm),
        sample("npm-shrinkwrap.json", Some(Json), npm_1),
        sample("pnpm-lock.yaml", Some(Yaml), pnpm),
        sample("yarn.lock", None, yarn),
        sample("yarn.lock", Some(Yaml), berry),
        sample("bun.lock", Some(Json), bun),
        sample("Cargo.lock", Some(Toml), cargo),
        sample("poetry.lock", Some(Toml), poetry),
        sample("uv.lock", Some(Toml), uv),
        sample("Pipfile.lock", Some(Json), pipfile),
        sample("go.sum", None, go),
        sample("Gemfile.lock", None, gemfile),
        sample("composer.lock", Some(Json), composer),
        sample("packages.lock.json", Some(Json), nuget),
    ]
}

/// Writes a value with the members of maps in reverse; in TOML as inline tables.
fn rewritten(node: Node<'_>, separator: &str, line: &str) -> String {
    if node.is_map() {
        let members = node.entries().map(|entry| {
            format!("{line}{:?}{separator}{}", entry.key, rewritten(entry.value, separator, line))
        });
        let mut members: Vec<String> = members.collect();
        members.reverse();
        return format!("{{{}}}", members.join(","));
    }
    if node.is_list() {
        let items: Vec<String> = node.items().map(|item| rewritten(item, separator, line)).collect();
        return format!("[{}]", items.join(", "));
    }
    let text = node.text().unwrap_or_default();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.to_owned() } else { format!("{text:?}") }
}

/// Returns the text in other spellings, its own first.
fn spellings(sample: &Sample) -> Vec<String> {
    let mut all = vec![sample.text.clone(), sample.text.replace('\n', "\r\n")];
    match sample.format {
        Some(format) => {
            let document = Document::parse(format, &sample.text).unwrap();
            if format == Format::Toml {
                let members = document.root().entries();
                all.push(
                    members
                        .map(|entry| format!("{}={}\n", entry.key, rewritten(entry.value, "=", "")))
                        .collect(),
                );
            } else {
                all.extend(["", "\n"].map(|line| rewritten(document.root(), ": ", line)));
            }
        }
        None if sample.name == "go.sum" => {
            let mut lines: Vec<String> =
                sample.text.lines().map(|line| line.replace(' ', "\t") + "\n").collect();
            lines.reverse();
            all.push(lines.concat());
        }
        None => all.push(sample.text.replace('\n', "  \n")),
    }
    all
}

fn inspect(name: &str, base: Option<&str>, head: &str) -> Inspection {
    let old = base.map(|base| CaseVersion::new(name, base));
    let (file, text) = changed_file(&CaseFile { old, ..CaseFile::edited(name, "", head) });
    let included = vec![true; file.hunks.len()];
    DependencyChange.inspect(&Packet { file: &file, text: &text, included: &included })
}

fn drafts(name: &str, base: &str, head: &str) -> Vec<Draft> {
    run_lens(&DependencyChange, &[changed_file(&CaseFile::edited(name, base, head))])
}

#[test]
fn a_lockfile_that_is_written_in_another_way_is_no_finding() {
    for sample in samples() {
        for spelling in spellings(&sample) {
            assert_eq!(drafts(sample.name, &sample.text, &spelling), [], "{} {spelling}", sample.name);
            assert_eq!(drafts(sample.name, &spelling, &sample.text), [], "{} {spelling}", sample.name);
        }
    }
}

#[test]
fn one_swapped_checksum_is_found_on_its_line_in_every_spelling() {
    for sample in samples() {
        let format = qa_reading::packages::LockFormat::from_file_name(sample.name).unwrap();
        let packages = qa_reading::packages::locked_packages(format, &sample.text).unwrap();
        let sums = packages.iter().flat_map(|package| &package.checksums);
        let digests: Vec<String> =
            sums.map(|checksum| locks::digest(&checksum.sum.text).to_owned()).collect();
        assert!(!digests.is_empty(), "{}", sample.name);
        for (digest, spelling) in
            digests.iter().flat_map(|digest| spellings(&sample).into_iter().map(move |text| (digest, text)))
        {
            let swapped = format!("0{}", &digest[1..]);
            let head = spelling.replace(digest.as_str(), &swapped);
            let found = drafts(sample.name, &sample.text, &head);
            let [draft] = found.as_slice() else { panic!("{}: {found:?}\n{head}", sample.name) };
            assert_eq!(draft.rule, CHANGED, "{head}");
            let line = head.lines().nth(draft.start_line as usize - 1).unwrap();
            assert!(line.contains(&swapped), "{}: {line}\n{head}", sample.name);
        }
    }
}

#[test]
fn what_cannot_be_compared_is_a_fact_that_leaves_the_lens_incomplete() {
    let deep = "[".repeat(300) + &"]".repeat(300);
    for (name, base, head) in [
        ("Cargo.lock", None, "{"),
        ("Cargo.lock", Some("{"), "{ }"),
        ("package-lock.json", Some("{\"lockfileVersion\": 3}"), deep.as_str()),
        ("package.json", None, "{"),
    ] {
        assert_eq!(inspect(name, base, head), uncompared(), "{name} {head}");
    }
    for (name, base, head) in [("yarn.lock", None, ""), ("templates/package.json", None, "{{ name }}")] {
        assert_eq!(inspect(name, base, head), Inspection::default(), "{name} {head}");
    }
}
