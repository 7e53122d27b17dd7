//! Pages and files written from the registry and the list of codes; `make registry` writes them.

use qa_contracts::codes::{Code, CodeClass};
use qa_contracts::schema;
use qa_contracts::v1::{GateName, Registry, ScopeStrengths, Strength};
use qa_formats::check_run::CheckConclusion;

use crate::scratch::{project, read, run_bash};

/// Compares a file with what it should say, and writes it when asked to.
pub(crate) fn is_current(path: &str, text: &str) {
    let full = project().join(path);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&full, text).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    let published = std::fs::read_to_string(&full).unwrap_or_default();
    assert!(published == text, "{path} is not current; `make registry` writes it");
}

fn document(name: &str) -> String {
    let output = run_bash(&project(), &format!("qa-skill schema {name}"));
    assert!(output.status.success(), "{output:#?}");
    String::from_utf8(output.stdout).expect("the document is UTF-8")
}

fn registry() -> Registry {
    serde_json::from_str(&document("registry")).expect("the registry has the type of its contract")
}

#[test]
fn generated_skill_files_are_current_and_valid() {
    for name in ["manifest", "registry"] {
        let text = document(name);
        is_current(&format!("skill/{name}.v1.json"), &text);
        let value: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        let schema = schema::find(&format!("{name}.v1")).expect("it has a schema");
        assert_eq!(schema.faults(&value), [], "{name}");
    }
}

fn letters(strengths: &ScopeStrengths) -> String {
    let letter = |strength| match strength {
        Strength::Block => "B",
        Strength::Ratchet => "R",
        Strength::Advise => "A",
        Strength::Off => "–",
    };
    let ScopeStrengths { product, test, docs, generated, vendored } = *strengths;
    format!("`{}`", [product, test, docs, generated, vendored].map(letter).join(" "))
}

#[test]
fn generated_index_of_rules_is_current() {
    let mut page = "\
# Rules

Written by `make registry`; do not edit. Each rule links to its page, which says what it finds, how to fix it, how to
waive it, and shows cases that hit and cases that do not. `qa-skill explain <rule>` prints the same text.

The letters are the strength in **product, test, docs, generated, vendored** files, in this order: `B` blocks, `R` is a
ratchet (blocks where the base already complies), `A` advises, `–` is off.
"
    .to_owned();
    for lens in registry().lenses {
        let required = if lens.required_by_default { "required" } else { "not required" };
        page.push_str(&format!(
            "\n## {}\n\n{}. Class {}, version {}, {required} by default.\n\n",
            lens.lens_id, lens.title, lens.lens_class, lens.lens_version
        ));
        page.push_str(
            "| Rule | What it finds | Severity | default | guarded | advisory |\n|---|---|---|---|---|---|\n",
        );
        for rule in lens.rules {
            let anchor = rule.rule_id.replace('/', "");
            let is_gate = GateName::ALL.iter().any(|gate| gate.as_str() == lens.lens_id);
            let page_of_rule = match (is_gate, lens.lens_id.starts_with("review-")) {
                (true, _) => "gates.md#rules".to_owned(),
                (false, true) => format!("reviews.md#{anchor}"),
                (false, false) => format!("../tests/corpus/lenses/{}.md#{anchor}", lens.lens_id),
            };
            page.push_str(&format!(
                "| [`{}`]({page_of_rule}) | {} | {} | {} | {} | {} |\n",
                rule.rule_id,
                rule.title,
                rule.severity,
                letters(&rule.strengths.default),
                letters(&rule.strengths.guarded),
                letters(&rule.strengths.advisory),
            ));
        }
    }
    is_current("docs/rules.md", &page);
}

fn sources(folder: &std::path::Path, all: &mut String) {
    for entry in std::fs::read_dir(folder).expect("src/ can be read") {
        let path = entry.expect("an entry can be read").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            sources(&path, all);
        } else if name.ends_with(".rs")
            && !["codes.rs", "sample.rs"].contains(&name)
            && !name.contains("tests")
        {
            all.push_str(&std::fs::read_to_string(&path).expect("a source can be read"));
        }
    }
}

/// Returns an example of each code, by its name.
fn examples_of_codes() -> Vec<(String, String)> {
    let text = read("src/app/code_examples.txt");
    let pair = |line: &str| {
        let (code, example) = line.split_once(": ").expect("a code and its example");
        assert!(example.ends_with('.'), "{line}");
        let (first, rest) = example.split_at(1);
        (code.to_owned(), format!("{}{rest}", first.to_uppercase()))
    };
    text.lines().map(pair).collect()
}

#[test]
fn every_code_is_explained_with_its_example() {
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    let script =
        format!("for code in {}; do echo \"= $code\"; qa-skill explain $code; done", codes.join(" "));
    let output = run_bash(&project(), &script);
    assert!(output.status.success(), "{output:#?}");
    let printed = String::from_utf8(output.stdout).expect("the output is UTF-8");
    let pages: Vec<String> =
        printed.split("\n= ").map(|page| page.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(pages.len(), codes.len());
    for (code, example) in examples_of_codes() {
        let page = pages
            .iter()
            .find(|page| page.trim_start_matches("= ").starts_with(&format!("{code} ")))
            .expect("a page");
        // The first letter is a capital one where the example is a paragraph of its own.
        assert!(page.contains("For example: ") && page.contains(&example[1..]), "{page}");
    }
}

#[test]
fn generated_list_of_codes_is_current() {
    let mut source = String::new();
    sources(&project().join("crates"), &mut source);
    sources(&project().join("src"), &mut source);
    let is_produced = |code: &Code| {
        let name = format!("Code::{code:?}");
        source
            .match_indices(&name)
            .any(|(at, _)| !source[at + name.len()..].starts_with(|next: char| next.is_ascii_alphanumeric()))
    };
    let mut page = "\
# Codes

Written by `make registry`; do not edit. A code is the stable name of one way to warn, to degrade or to fail. It stands
in the terminal report, in `error[CODE]` on standard error, in the artifacts and in SARIF; its text never changes.

A notice and a degradation end no run; a required lens that degrades leaves it without a verdict. Every other code can
stand beside a result too, such as that of a review that is not required. Exit and check run are those of a run that the
code ends without a verdict.

| Class | What it asks for | Sent again | Last phase of the run |
|---|---|---|---|
| notice | nothing; worth knowing | no | |
| degradation | something was narrowed, replaced or left out, and the record says what | no | |
| transient | try again unchanged | up to six times, after 1, 2, 4, 8, 16 and 32 s | `paused_manual`; `idle` if it was cancelled or superseded |
| user recoverable | change a setting, the policy or the command line | no | `paused_manual` |
| terminal | no verdict is possible as things stand | no | `idle` |

`qa-skill explain CODE` prints what a code means with the way out, and the example below.

| Code | Class | Exit | Check run | What it means and the way out |
|---|---|---|---|---|
"
    .to_owned();
    let mut codes: Vec<Code> = Code::ALL.to_vec();
    codes.sort_by_key(|code| code.as_str());
    let examples = examples_of_codes();
    let known: Vec<&str> = examples.iter().map(|(code, _)| code.as_str()).collect();
    assert_eq!(
        known,
        codes.iter().map(|code| code.as_str()).collect::<Vec<_>>(),
        "each code has one example"
    );
    for code in &codes {
        let class = match code.class() {
            CodeClass::Notice => "notice",
            CodeClass::Degradation => "degradation",
            CodeClass::Transient => "transient",
            CodeClass::UserRecoverable => "user recoverable",
            CodeClass::Terminal => "terminal",
        };
        let (exit, check_run) = match code.class() {
            CodeClass::Notice | CodeClass::Degradation => (String::new(), ""),
            CodeClass::Transient | CodeClass::UserRecoverable | CodeClass::Terminal => {
                let exit = qa_skill::Exit::without_verdict(*code) as u8;
                (exit.to_string(), CheckConclusion::without_verdict(*code).as_str())
            }
        };
        let hint = code.hint().replace('|', "\\|").replace('<', "\\<");
        let name = code.as_str();
        let link = format!("[`{name}`](#{})", name.to_lowercase());
        page.push_str(&format!("| {link} | {class} | {exit} | {check_run} | {hint} |\n"));
    }
    page.push_str("\n## Examples\n");
    for (code, example) in &examples {
        page.push_str(&format!("\n### {code}\n\n{}\n", example.replace('<', "\\<")));
    }
    let unused: Vec<&Code> = codes.iter().filter(|code| !is_produced(code)).collect();
    assert!(unused.is_empty(), "nothing gives {unused:?}");
    is_current("docs/codes.md", &page);
}

/// Returns a count and its rate per 1,000, with one decimal.
fn per_thousand(count: u64, judged: u64) -> String {
    let tenths = (count * 10_000 + judged / 2) / judged;
    format!("{count} ({}.{})", tenths / 10, tenths % 10)
}

#[test]
fn generated_trade_of_rules_is_current() {
    const HEAD: &str = "| rule | blocks in `default` | blocks in `guarded` | read | of these wrong |\n|---|---:|---:|---:|---:|\n";
    let trade: serde_json::Value =
        serde_json::from_str(&read("evaluation/trade.json")).expect("the figures are JSON");
    let judged = trade["judged"].as_u64().expect("the figures count the judged commits");
    let mut rows = Vec::new();
    for (rule, counts) in trade["rules"].as_object().expect("the figures list rules") {
        let [in_default, in_guarded, examined, wrong] =
            ["blockedInDefault", "blockedInGuarded", "read", "wrong"]
                .map(|name| counts[name].as_u64().unwrap_or_else(|| panic!("{rule} has no {name}")));
        assert!(wrong <= examined && examined <= in_default.max(in_guarded), "{rule}: {counts}");
        let (in_default, in_guarded) = (per_thousand(in_default, judged), per_thousand(in_guarded, judged));
        rows.push(format!("| `{rule}` | {in_default} | {in_guarded} | {examined} | {wrong} |"));
    }
    let page = read("docs/precision.md");
    let (before, rest) = page.split_once(HEAD).expect("the page has the table");
    let (_, after) = rest.split_once("\n\n").expect("a paragraph is below");
    is_current("docs/precision.md", &format!("{before}{HEAD}{}\n\n{after}", rows.join("\n")));
}
