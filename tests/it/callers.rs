//! Callers that no longer fit what they call are found in files that the change does not touch, recorded and replayed.

use crate::support::{Repo, RunDir, change, qa_skill, temp};

const LENS: &str = "broken-caller";

/// Names go and parameters change in Python, Go and Rust, every caller stays as it was, and a new one invents a name.
fn left_behind() -> Repo {
    let package = ("app/__init__.py", "");
    let callers = [
        package,
        (
            "app/command.py",
            "from . import load\n\n\ndef run():\n    load.keep(1, c=2)\n    return load.load(\"a\", mode=1)\n",
        ),
        ("app/word.py", "keeps = 1\n"),
        ("go.mod", "module example.org/shop\n\ngo 1.22\n"),
        ("cart/print.go", "package cart\n\nfunc Print() int {\n\treturn total()\n}\n"),
        ("cart/total_windows.go", "package cart\n\nfunc window() int {\n\treturn 0\n}\n"),
        ("src/main.rs", "mod cart;\n\nfn main() {\n    cart::Cart::new(1);\n}\n"),
        (
            "web/orders.ts",
            "import { Prices } from './prices';\n\nexport function total(): number {\n  const prices = new Prices();\n  return prices.gross();\n}\n",
        ),
    ];
    let base = [
        (
            "app/load.py",
            "def load(path, *, mode):\n    return path, mode\n\n\ndef keep(a, b=1, /, *c, **d):\n    return a\n\n\nclass Box(dict):\n    pass\n",
        ),
        ("cart/total.go", "package cart\n\nfunc total() int {\n\treturn 0\n}\n"),
        (
            "src/cart.rs",
            "pub struct Cart;\n\nimpl Cart {\n    pub fn new(size: u32) -> Self {\n        Cart\n    }\n}\n",
        ),
        (
            "web/prices.ts",
            "export class Prices {\n  gross() {\n    return 1;\n  }\n\n  static net() {\n    return 2;\n  }\n}\n",
        ),
    ];
    let head = [
        ("app/extra.py", "from . import load\n\n\ndef extra():\n    return load.keeps()\n"),
        (
            "app/load.py",
            "def load(path, *, way):\n    return path, way\n\n\ndef keep(a, b=2, /, *c, **d):\n    return a\n\n\nclass Box(dict):\n    pass\n",
        ),
        ("cart/total.go", "package cart\n\nfunc sum() int {\n\treturn 0\n}\n"),
        (
            "src/cart.rs",
            "pub struct Cart;\n\nimpl Cart {\n    pub fn new() -> Self {\n        Cart\n    }\n}\n",
        ),
        (
            "web/prices.ts",
            "export class Prices {\n  private gross() {\n    return 1;\n  }\n\n  static net() {\n    return 2;\n  }\n}\n",
        ),
    ];
    change(&[&callers[..], &base[..]].concat(), &[&callers[..], &head[..]].concat())
}

fn judge(repo: &Repo, jobs: &str, exit: i32) -> RunDir {
    let out = repo.beside(jobs);
    let program =
        qa_skill(["run", "--base", "main", "--head", "topic", "--preset", "guarded", "--jobs", jobs]);
    program.arg("--out").arg(&out).arg("--repo").arg(repo.path()).run().expect(exit);
    RunDir::only(&out)
}

fn text(value: &serde_json::Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn found(run: &RunDir) -> Vec<(String, String)> {
    let results = run.json("lens-results.json");
    let findings = results["lensResults"][run.position(LENS)]["findings"].as_array().unwrap().clone();
    findings.iter().map(|finding| (text(&finding["file"]), text(&finding["ruleId"]))).collect()
}

#[test]
fn callers_in_untouched_files_are_found_and_replayed_without_the_repository() {
    let repo = left_behind();
    let run = judge(&repo, "1", 1);
    let expected = [
        ("app/extra.py", "broken-caller/missing-member"),
        ("app/load.py", "broken-caller/changed-parameters"),
        ("cart/total.go", "broken-caller/removed-name"),
        ("src/cart.rs", "broken-caller/changed-parameters"),
        ("web/prices.ts", "broken-caller/removed-name"),
    ];
    let mut found = found(&run);
    found.sort();
    assert_eq!(found, expected.map(|(file, rule)| (file.to_owned(), rule.to_owned())));
    let summary = String::from_utf8(run.bytes("summary.md")).unwrap();
    assert!(summary.contains("app/command.py&#58;6"), "{summary}");
    run.verify().arg("--repo").arg(repo.path()).run().expect(0);
    let elsewhere = temp();
    let copy = run.copy_to(&elsewhere.path().join("copy"));
    let again = judge(&repo, "3", 1);
    assert_eq!(again.bytes("recordings/lookups.json"), run.bytes("recordings/lookups.json"));
    drop(repo);
    copy.verify().run().expect(0);
}

#[test]
fn a_forged_answer_about_callers_is_caught() {
    use crate::support::{repair, tamper};
    let repo = left_behind();
    let run = judge(&repo, "1", 1);
    let elsewhere = temp();
    for (number, list) in ["surfaces", "uses"].iter().enumerate() {
        let copy = run.copy_to(&elsewhere.path().join(number.to_string()));
        tamper(&copy, "recordings/lookups.json", &format!("/{list}"), serde_json::json!([]));
        repair(&copy, false);
        let outcome = copy.verify().run();
        assert!([3, 4].contains(&outcome.exit), "{list}: {}", outcome.text());
    }
}

#[test]
fn a_missing_member_that_the_base_used_as_well_is_not_new() {
    let store = "class Store:\n    pass\n";
    let kept = [
        ("app/__init__.py", ""),
        ("app/word.py", "keeps = 1\n"),
        ("app/old.py", "from . import store\n\n\ndef old():\n    return store.take()\n"),
        (
            "src/cart.rs",
            "pub struct Cart;\n\nimpl Cart {\n    pub fn new() -> Self {\n        Cart\n    }\n}\n",
        ),
        ("src/main.rs", "mod cart;\nmod further;\nmod old;\n"),
        ("src/old.rs", "fn old() {\n    crate::cart::take();\n}\n"),
    ];
    // The base may have the name from elsewhere.
    let open = format!("from .word import *\n\n\n{store}");
    let base = [&kept[..], &[("app/store.py", &open)]].concat();
    let head = [
        ("app/further.py", "from . import store\n\n\ndef further():\n    return store.take()\n"),
        ("app/store.py", store),
        ("src/further.rs", "fn further() {\n    crate::cart::take();\n}\n"),
    ];
    let repo = change(&base, &[&kept[..], &head[..]].concat());
    let run = judge(&repo, "1", 0);
    assert_eq!(found(&run), []);
    run.verify().run().expect(0);
}

#[test]
fn a_renamed_function_with_all_its_callers_passes() {
    let package = ("app/__init__.py", "");
    let repo = change(
        &[
            package,
            ("app/load.py", "def load(path):\n    return path\n"),
            ("app/command.py", "from . import load\n\n\ndef run():\n    return load.load(1)\n"),
        ],
        &[
            package,
            ("app/load.py", "def read(path, mode):\n    return path, mode\n"),
            ("app/command.py", "from . import load\n\n\ndef run():\n    return load.read(1, 2)\n"),
        ],
    );
    repo.judge().run().expect(0);
    assert_eq!(found(&repo.run_dir()), []);
}
