//! Holds the tables of the documentation to what the binary does.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::scratch::{Scratch, project, read, run_bash};

/// The first cells of the table below a heading, without backticks.
fn first_cells(page: &str, heading: &str) -> Vec<String> {
    let text = read(page);
    let section = text.split(&format!("\n{heading}\n")).nth(1).unwrap_or_else(|| panic!("{page}: {heading}"));
    section
        .lines()
        .take_while(|line| !line.starts_with('#'))
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .skip(1)
        .map(|cell| cell.trim_matches('`').to_owned())
        .collect()
}

fn files_below(folder: &Path, prefix: &str) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let entry = entry.expect("an entry can be read");
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            files.extend(files_below(&entry.path(), &format!("{name}/")));
        } else {
            files.insert(name);
        }
    }
    files
}

fn run_directory(scratch: &Scratch) -> PathBuf {
    let runs = scratch.checkout().join(".qa-skill/runs");
    let mut found: Vec<PathBuf> = std::fs::read_dir(runs)
        .expect("a run was kept")
        .map(|entry| entry.expect("an entry can be read").path())
        .filter(|path| path.is_dir())
        .collect();
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

#[test]
fn the_files_of_a_run_are_those_of_the_table() {
    let scratch = Scratch::new();
    // With gates that read and that run, an import to follow, and a model that has no key here, since their files are
    // there only then.
    scratch.commit_on_topic("use.py", "from shape import area\n\nprint(area(2, 3))\n");
    let model = "[models.m]\nprovider = \"openai-codex\"\nmodel = \"gpt-5.5\"\n\
                 [lenses.review-security]\nmodel = \"m\"\n";
    let gate = "[gates.lint]\nreports = [{ path = \"ruff.json\", tool = \"ruff\" }]\n\
                [gates.type_check]\nrequired = false\nrun = [\"mypy\"]\n";
    scratch.commit_on_base("mypy.ini", "[mypy]\n");
    scratch.commit_on_base(".qa-skill/policy.toml", &format!("mode = \"best_effort\"\n{gate}{model}"));
    let output = run_bash(&scratch.checkout(), "echo '[]' > ruff.json && qa-skill run");
    assert!(output.status.success(), "{output:#?}");
    let kept = files_below(&run_directory(&scratch), "");
    let in_docs = first_cells("docs/artifacts.md", "## Files");
    assert_eq!(in_docs.into_iter().collect::<BTreeSet<_>>(), kept, "docs/artifacts.md");
}

fn exit_code(place: &Path, command: &str) -> i32 {
    let output = run_bash(place, command);
    output.status.code().unwrap_or_else(|| panic!("`{command}` was killed: {output:#?}"))
}

/// Edits the verdict of a run and makes all digests fit again, as a careful forger would.
fn forge(run: &Path) {
    let hex =
        |bytes: &[u8]| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let verdict = std::fs::read_to_string(run.join("final-verdict.json")).expect("a verdict was kept");
    let forged = verdict.replace("nothing blocks", "nothing matters");
    assert_ne!(verdict, forged);
    std::fs::write(run.join("final-verdict.json"), &forged).expect("a file can be written");
    let mut hashes: Value =
        serde_json::from_str(&std::fs::read_to_string(run.join("hashes.json")).expect("a manifest was kept"))
            .expect("it is JSON");
    let mut digests = Vec::new();
    for file in hashes["files"].as_array_mut().expect("a list") {
        if file["path"] == "final-verdict.json" {
            file["full"] = hex(forged.as_bytes()).into();
            file["bytes"] = forged.len().into();
            file["deterministic"] = hex(forged.trim_end().as_bytes()).into();
        }
        digests.push(Value::Array(vec![file["path"].clone(), file["deterministic"].clone()]));
    }
    hashes["runDigest"] = hex(Value::Array(digests).to_string().as_bytes()).into();
    std::fs::write(run.join("hashes.json"), format!("{hashes}\n")).expect("a file can be written");
}

#[test]
fn exit_codes_are_those_of_the_table() {
    let mut seen = BTreeSet::new();
    let mut see = |place: &Path, command: &str, expected: i32| {
        assert_eq!(exit_code(place, command), expected, "{command}");
        seen.insert(expected.to_string());
    };
    let scratch = Scratch::new();
    let place = scratch.checkout();
    see(&place, "qa-skill run", 0);
    see(&place, "qa-skill run --nonsense", 2);
    see(&place, "qa-skill run --base topic", 3);
    let faulty = Scratch::new();
    faulty.commit_on_topic("settings.toml", &Scratch::conflict());
    see(&faulty.checkout(), "qa-skill run", 1);
    let broken = Scratch::new();
    broken.commit_on_base(".qa-skill/policy.toml", "presett = \"guarded\"\n");
    see(&broken.checkout(), "qa-skill run", 2);
    let forged = Scratch::new();
    see(&forged.checkout(), "qa-skill run", 0);
    forge(&run_directory(&forged));
    see(&forged.checkout(), "qa-skill verify .qa-skill/runs/*/", 4);

    // 70 is a defect of the program: there is no honest way to ask for one.
    seen.insert("70".to_owned());
    let documented: BTreeSet<String> = first_cells("README.md", "## Exit codes").into_iter().collect();
    assert_eq!(seen, documented);
}

#[test]
fn presets_are_those_of_the_table() {
    let presets = first_cells("docs/policy.md", "## Presets");
    let scratch = Scratch::new();
    for preset in &presets {
        assert_eq!(exit_code(&scratch.checkout(), &format!("qa-skill policy-check --preset {preset}")), 0);
    }
    assert_eq!(presets, ["default", "guarded", "advisory"]);
}

#[test]
fn formats_are_those_of_the_table() {
    let scratch = Scratch::new();
    let listed = first_cells("README.md", "## Outputs");
    let formats = qa_formats::ALL.iter().map(|format| format.spec().id.to_owned());
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), formats.collect(), "README.md");
    for format in listed {
        let command = format!("qa-skill run --format {format}");
        assert_eq!(exit_code(&scratch.checkout(), &command), 0, "{command}");
    }
}

#[test]
fn every_script_of_the_evaluation_is_in_its_table() {
    let scripts: BTreeSet<String> = files_below(&project().join("evaluation"), "")
        .into_iter()
        .filter(|name| !name.contains('/') && name != "README.md")
        .collect();
    let text = read("evaluation/README.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let listed: BTreeSet<String> =
        rows.flat_map(|cell| cell.split(", ")).map(|name| name.trim_matches('`').to_owned()).collect();
    assert_eq!(listed, scripts, "evaluation/README.md");
}

#[test]
fn every_promise_of_a_verdict_has_a_test() {
    let text = read("SECURITY.md");
    let section = text.split("\n## What a verdict proves\n").nth(1).expect("the section is there");
    let section = section.split("\n## ").next().expect("it has a beginning");
    let rows: Vec<Vec<&str>> = section
        .lines()
        .filter_map(|line| Some(line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect()))
        .skip(1)
        .collect();
    let pairs: Vec<(&str, &str)> = rows.iter().map(|cells| (cells[0], cells[1])).collect();
    let attackers = ["contributor", "earlier step", "another job", "runner", "registry"];
    let everybody: Vec<(&str, &str)> = ["maintainer", "auditor", "deploy step"]
        .into_iter()
        .flat_map(|reader| attackers.map(|attacker| (reader, attacker)))
        .collect();
    assert_eq!(pairs, everybody);
    for cells in &rows {
        let names: Vec<&str> = cells[3].split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "{cells:?}");
        for name in names {
            let (file, test) = name.split_once("::").expect("a file and a test");
            let source = read(&format!("tests/it/{file}.rs"));
            assert!(source.contains(&format!("#[test]\nfn {test}()")), "{name}");
        }
    }
}

#[test]
fn the_files_that_contributing_names_are_there() {
    let text = read("CONTRIBUTING.md");
    let (_, sections) = text.split_once("\n## Add a lens\n").expect("the sections begin there");
    let (sections, _) = sections.split_once("\n## Style\n").expect("and end there");
    let mut found = 0;
    for name in sections.split('`').skip(1).step_by(2) {
        let is_path = name.contains('/') && !name.contains([' ', '<', ':', '"', '=']);
        let is_below = ["crates/", "src/", "tests/", "docs/", "skill/", "evaluation/", "schemas/"]
            .iter()
            .any(|root| name.starts_with(root));
        if is_path && is_below && !name.contains("machine_path") && !name.contains("machine-path") {
            assert!(project().join(name).exists(), "CONTRIBUTING.md names {name}");
            found += 1;
        }
    }
    assert!(found >= 20, "{found}");
}

/// An addition that is there, and the files that name it, as a section of CONTRIBUTING.md says for the next one.
struct Addition {
    section: &'static str,
    /// Words that name the addition; a file with one of them counts.
    words: &'static [&'static str],
    /// Folders and files that are searched.
    roots: &'static [&'static str],
    /// The files that a person writes, then those that `make registry` writes.
    files: &'static [&'static str],
    /// The files that use it.
    users: &'static [&'static str],
}

const ADDITIONS: &[Addition] = &[
    Addition {
        section: "Add a lens",
        words: &["forgotten-await", "forgotten_await", "ForgottenAwait"],
        roots: &["crates", "schemas", "skill", "src", "tests/corpus", "tests/it", "docs/rules.md"],
        files: &[
            "crates/lenses/src/forgotten_await.rs",
            "crates/lenses/src/lib.rs",
            "tests/corpus/lenses/forgotten-await.md",
            "tests/corpus/behaviour.txt",
            "docs/rules.md",
            "skill/registry.v1.json",
        ],
        users: &[],
    },
    Addition {
        section: "Add an output format",
        words: &["\"junit\"", "junit::Junit"],
        roots: &["crates/core", "crates/formats", "crates/run", "schemas", "skill", "src", "tests/it"],
        files: &["crates/formats/src/junit.rs", "crates/formats/src/lib.rs"],
        users: &[],
    },
    Addition {
        section: "Add an input of the action",
        words: &["require-artifact", "require_artifact"],
        roots: &[
            "crates",
            "schemas",
            "skill",
            "src",
            "tests/it",
            "tests/proofs",
            "action.yml",
            "docs/action.md",
        ],
        files: &[
            "src/config/inputs.rs",
            "tests/it/inputs.rs",
            "tests/proofs/inputs.txt",
            "action.yml",
            "docs/action.md",
        ],
        users: &["src/app/action/artifact.rs", "src/app/action/mod.rs"],
    },
    Addition {
        section: "Add a number to the policy",
        words: &["max-tree-entries", "max_tree_entries"],
        roots: &["crates", "schemas", "skill", "src", "tests/it", "tests/proofs", "action.yml", "docs"],
        files: &[
            "crates/contracts/src/v1/policy.rs",
            "crates/core/src/policy/effective.rs",
            "crates/core/src/policy/resolve.rs",
            "crates/core/src/policy/settings.rs",
            "docs/policy.example.toml",
            "docs/reference/policy.md",
            "schemas/v1/policy.v1.schema.json",
            "tests/it/limits.rs",
            "tests/proofs/policy-keys.txt",
        ],
        users: &["crates/run/src/gather.rs", "src/git/walk.rs"],
    },
];

#[test]
fn an_addition_is_named_in_the_files_that_contributing_promises() {
    for addition in ADDITIONS {
        let mut naming = BTreeSet::new();
        for root in addition.roots {
            let place = project().join(root);
            let files = if place.is_dir() {
                files_below(&place, &format!("{root}/"))
            } else {
                BTreeSet::from([(*root).to_owned()])
            };
            naming.extend(files.into_iter().filter(|file| {
                let bytes = std::fs::read(project().join(file)).expect("a file can be read");
                let text = String::from_utf8_lossy(&bytes);
                addition.words.iter().any(|word| text.contains(word))
            }));
        }
        let promised = addition.files.iter().chain(addition.users).map(|file| (*file).to_owned());
        assert_eq!(naming, promised.collect(), "CONTRIBUTING.md, \"{}\"", addition.section);
        let text = read("CONTRIBUTING.md");
        let (_, section) = text.split_once(&format!("\n## {}\n", addition.section)).expect(addition.section);
        let section = section.split("\n## ").next().expect("it has a beginning");
        for file in addition.files {
            let name = file.replace("forgotten_await", "<id>").replace("forgotten-await", "<id>");
            let name = name.replace("/junit", "/<format>");
            assert!(section.contains(&name), "CONTRIBUTING.md, \"{}\": {name}", addition.section);
        }
    }
}
