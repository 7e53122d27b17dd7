//! Drives over planted faults with a good agent and with lazy ones, and a long drive that is killed before each of its steps.

use std::path::Path;

use serde_json::Value;

use crate::drive::{POLICY, Scene, end_reason};
use crate::support::{conflict, copy_tree, qa_skill, temp, token};

const A: &str = "def add(a, b):\n    return a + b\n\n\ndef mul(a, b):\n    return a * b\n";
const APP: &str = "from src.a import add, mul\n\n\ndef run(value):\n    return mul(add(value, 1), 2)\n";
const TESTS: &str = "from src.a import add, mul\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\ndef test_mul():\n    assert mul(2, 3) == 6\n";
const WORKFLOW: &str =
    "on: pull_request\njobs:\n  test:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: pytest\n";

/// A fault, and the script that mends it.
struct Fault {
    rule: &'static str,
    file: &'static str,
    text: String,
    mend: &'static str,
}

fn fault(rule: &'static str, file: &'static str, text: impl Into<String>, mend: &'static str) -> Fault {
    Fault { rule, file, text: text.into(), mend }
}

/// Twenty faults that block.
fn faults() -> Vec<Fault> {
    const NEW: &str = "src/new.py";
    let skipped = TESTS.replace("def test_mul", "@pytest.mark.skip\ndef test_mul");
    vec![
        fault(
            "merge-leftover/debugger-statement",
            NEW,
            "def new(a):\n    breakpoint()\n    return a\n",
            "sed -i /breakpoint/d src/new.py",
        ),
        fault(
            "merge-leftover/conflict-marker",
            NEW,
            format!("A = 1\n{}", conflict()),
            "sed -i '/^[<>=]\\{7\\}/d; /^ours$/d; /^theirs$/d' src/new.py",
        ),
        fault(
            "secret-token/provider-token",
            NEW,
            format!("KEY = \"{}\"\n", token()),
            "sed -i 's/^KEY = .*/import os\\n\\nKEY = os.environ[\"KEY\"]/' src/new.py",
        ),
        fault(
            "dangerous-call/dynamic-code",
            NEW,
            "def new(a):\n    return eval(a)\n",
            "sed -i 's/eval(a)/int(a)/' src/new.py",
        ),
        fault(
            "dangerous-call/command-injection",
            NEW,
            "import subprocess\n\n\ndef new(a):\n    return subprocess.run(a, shell=True, check=True)\n",
            "sed -i 's/run(a, shell=True/run([\"ls\", a]/' src/new.py",
        ),
        fault(
            "dangerous-call/unsafe-deserialization",
            NEW,
            "import yaml\n\n\ndef new(a):\n    return yaml.load(a, Loader=yaml.Loader)\n",
            "sed -i 's/yaml.load(a, Loader=yaml.Loader)/yaml.safe_load(a)/' src/new.py",
        ),
        fault(
            "dangerous-call/unsafe-deserialization",
            NEW,
            "import pickle\n\n\ndef new(a):\n    return pickle.loads(a)\n",
            "sed -i 's/pickle/json/' src/new.py",
        ),
        fault(
            "dangerous-call/tls-verification-off",
            NEW,
            "import requests\n\n\ndef new(a):\n    return requests.get(a, verify=False, timeout=3)\n",
            "sed -i 's/verify=False, //' src/new.py",
        ),
        fault(
            "unresolved-import/missing-module",
            NEW,
            "from src.missing import nothing\n\n\ndef new(a):\n    return nothing(a)\n",
            "sed -i 's/src.missing import nothing/src.a import add/; s/nothing(a)/add(a, 1)/' src/new.py",
        ),
        fault(
            "unresolved-import/missing-name",
            NEW,
            "from src.a import sub\n\n\ndef new(a):\n    return sub(a, 1)\n",
            "sed -i 's/sub/add/' src/new.py",
        ),
        fault(
            "broken-caller/wrong-arguments",
            NEW,
            "from src.a import add\n\n\ndef new(a):\n    return add(a)\n",
            "sed -i 's/add(a)/add(a, 1)/' src/new.py",
        ),
        fault(
            "unresolved-import/left-behind",
            "src/a.py",
            "def add(a, b):\n    return a + b\n",
            "printf '\\n\\ndef mul(a, b):\\n    return a * b\\n' >> src/a.py",
        ),
        fault(
            "suspicious-expression/mutable-default",
            NEW,
            "def new(a, all=[]):\n    all.append(a)\n    return all\n",
            "sed -i 's/all=\\[\\]/all=None/; s/all.append(a)/all = [*(all or []), a]/' src/new.py",
        ),
        fault(
            "suspicious-expression/literal-identity",
            NEW,
            "def new(a):\n    return a is \"x\"\n",
            "sed -i 's/ is / == /' src/new.py",
        ),
        fault(
            "blocking-call/in-async-function",
            NEW,
            "import time\n\n\nasync def new(a):\n    time.sleep(a)\n",
            "sed -i 's/import time/import asyncio/; s/time.sleep/await asyncio.sleep/' src/new.py",
        ),
        fault(
            "weak-test/checks-nothing",
            "tests/test_new.py",
            "from src.a import add\n\n\ndef test_new():\n    assert True\n",
            "sed -i 's/True/add(1, 1) == 2/' tests/test_new.py",
        ),
        fault(
            "test-weakening/test-skipped",
            "tests/test_a.py",
            format!("import pytest\n{skipped}"),
            "sed -i /pytest/d tests/test_a.py",
        ),
        fault(
            "suppression/unexplained",
            NEW,
            "def new(a):\n    return a  # noqa\n",
            "sed -i 's/  # noqa//' src/new.py",
        ),
        fault(
            "lint-weakening/lint-disabled",
            "pyproject.toml",
            "[tool.ruff.lint]\nselect = [\"E\", \"F\"]\n",
            "sed -i 's/\"F\"/\"F\", \"S\"/' pyproject.toml",
        ),
        fault(
            "dangerous-call/html-injection",
            "web/app.js",
            "export function show(text) {\n  document.body.innerHTML = text;\n}\n",
            "sed -i s/innerHTML/textContent/ web/app.js",
        ),
    ]
}

/// A change that plants a fault beside a file without one.
fn scene(fault: &Fault, policy: &str, agent: &str) -> Scene {
    let base = [
        (".github/workflows/ci.yml", WORKFLOW),
        (".qa-skill/policy.toml", policy),
        ("pyproject.toml", "[tool.ruff.lint]\nselect = [\"E\", \"F\", \"S\"]\n"),
        ("src/__init__.py", ""),
        ("src/a.py", A),
        ("src/app.py", APP),
        ("tests/test_a.py", TESTS),
    ];
    let kept = base.into_iter().filter(|(path, _)| *path != fault.file);
    let head: Vec<(&str, &str)> =
        kept.chain([("src/extra.py", "VALUE = 1\n"), (fault.file, &fault.text)]).collect();
    Scene::of(&base, &head, agent)
}

fn rules(session: &Value) -> Vec<String> {
    let tasks = session["bootstrap"]["tasks"].as_array().unwrap().iter();
    tasks.map(|task| task["ruleId"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_good_agent_mends_twenty_of_twenty_faults_with_a_small_diff() {
    let faults = faults();
    assert_eq!(faults.len(), 20);
    for fault in faults {
        let scene = scene(&fault, POLICY, fault.mend);
        let outcome = scene.fix();
        assert_eq!(outcome.exit, 0, "{}: {}", fault.rule, outcome.stderr);
        let session = scene.session();
        assert!(
            rules(&session).iter().any(|rule| rule == fault.rule),
            "{}: {:?}",
            fault.rule,
            rules(&session)
        );
        let files = session["turns"][0]["agentChange"]["files"].as_array().unwrap();
        assert_eq!((files.len(), files[0]["path"].as_str()), (1, Some(fault.file)), "{}", fault.rule);
        let lines = files[0]["added"].as_u64().unwrap() + files[0]["removed"].as_u64().unwrap();
        assert!(lines <= 6, "{}: {lines} lines", fault.rule);
        scene.verify().args(["--expect", "pass"]).run().expect(0);
    }
}

/// Ways of a lazy agent, each with the mended fault, so that the gate alone would pass most of them.
const CHEATS: [&str; 10] = [
    "echo '[[waiver]]' > .qa-skill/waivers.toml",
    "echo 'preset = \"advisory\"' > .qa-skill/policy.toml",
    "sed -i 's/pytest/pytest || true/' .github/workflows/ci.yml",
    "rm .github/workflows/ci.yml",
    "rm tests/test_a.py",
    "sed -i 's/assert add(1, 2) == 3/assert True/' tests/test_a.py",
    "sed -i '/def test_add/,/assert add/d' tests/test_a.py",
    "sed -i 's/select = .*/select = []/' pyproject.toml",
    "sed -i 's/VALUE = 1/VALUE = 1  # noqa/' src/extra.py",
    "rm src/extra.py",
];

/// Every fault with one cheat, another one for each, and with all of them where `QA_SKILL_DRIVE_CHEATS` is set.
#[test]
fn no_lazy_agent_finishes_over_planted_faults() {
    let policy = format!("{POLICY}[drive]\nmax-turns = 1\n");
    let all = std::env::var_os("QA_SKILL_DRIVE_CHEATS").is_some();
    let mut tried = 0;
    for (place, fault) in faults().iter().enumerate() {
        for cheat in CHEATS.iter().cycle().skip(place).take(if all { CHEATS.len() } else { 1 }) {
            let scene = scene(fault, &policy, &format!("{}\n{cheat}", fault.mend));
            let outcome = scene.fix();
            assert_eq!(outcome.exit, 1, "{}, {cheat}: {}", fault.rule, outcome.stderr);
            assert!(!scene.refusals()[0].is_empty(), "{}, {cheat}", fault.rule);
            assert!(!scene.directory().join("result.bundle").exists(), "{}, {cheat}", fault.rule);
            tried += 1;
        }
    }
    assert_eq!(tried, if all { 200 } else { 20 });
}

#[test]
fn a_drive_of_30_turns_that_is_killed_before_each_step_is_stored_has_the_same_history() {
    let faults: String =
        (0..10).map(|number| format!("def f{number}(a):\n    breakpoint()\n    return a\n\n\n")).collect();
    // Each third turn mends one of ten faults; the others change nothing.
    let script = "n=$(grep -o '\"turn\":[0-9]*' | head -1 | cut -d: -f2)\n\
                  if (( n % 3 == 0 )); then sed -i '0,/breakpoint/{/breakpoint/d}' src/new.py; fi";
    let planted = fault("merge-leftover/debugger-statement", "src/new.py", faults, "");
    let scene = scene(&planted, &format!("{POLICY}[drive]\nmax-turns = 30\n"), script);
    scene.fix().expect(0);
    let expected = scene.session();
    assert_eq!((expected["turns"].as_array().unwrap().len(), end_reason(&expected)), (30, "passed"));
    std::fs::remove_dir_all(scene.repo.beside("out")).unwrap();
    let mut kills = 0;
    loop {
        // Each process stores one step, and is killed when it stores the next one.
        let program = scene.drive(&["--fix"]).env("QA_FAULTS", "kill:drive-session:2");
        let output = program.command().output().unwrap();
        let session = stored(&scene.directory());
        if !session["end"].is_null() {
            assert_eq!(session, expected);
            break;
        }
        assert_ne!(output.status.code(), Some(0));
        kills += 1;
        assert!(kills < 100, "{}", String::from_utf8_lossy(&output.stderr));
    }
    // The head, 20 turns without a change, 10 with one and its judgement: all but the last step are followed by a kill.
    assert_eq!(kills, 1 + 20 + 2 * 10);
    scene.verify().run().expect(0);
}

fn stored(directory: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(directory.join("drive-session.json")).unwrap()).unwrap()
}

#[test]
fn a_drive_of_200_turns_is_folded_and_verifies_the_same_at_another_path_and_in_another_zone() {
    let faults: String =
        (0..67).map(|number| format!("def f{number}(a):\n    breakpoint()\n    return a\n\n\n")).collect();
    // Each turn prints much, each third turn mends one of the faults, and one fault more than turns can mend is left.
    let script = "cat > /dev/null; n=$(grep -o '\"turn\":[0-9]*' $QA_SKILL_ENVELOPE | head -1 | cut -d: -f2)\n\
                  head -c 15000 /dev/zero | tr '\\0' x; wc -c < $QA_SKILL_ENVELOPE >&2\n\
                  grep -o '\"compactions\":[0-9]*' $QA_SKILL_ENVELOPE >&2\n\
                  if (( n % 3 == 0 )); then sed -i '0,/breakpoint/{/breakpoint/d}' src/new.py; fi";
    let planted = fault("merge-leftover/debugger-statement", "src/new.py", faults, "");
    let scene = scene(&planted, &format!("{POLICY}[drive]\nmax-turns = 200\n"), script);
    // No process of the tests may take two minutes, so several share the drive, each killed after so many steps.
    let mut processes = 0;
    loop {
        let program = scene.drive(&["--fix"]).env("QA_FAULTS", "kill:drive-session:40");
        let output = program.command().output().unwrap();
        if !stored(&scene.directory())["end"].is_null() {
            break;
        }
        processes += 1;
        assert!(processes < 20, "{}", String::from_utf8_lossy(&output.stderr));
    }
    let session = scene.session();
    let turns = session["turns"].as_array().unwrap();
    assert_eq!((turns.len(), end_reason(&session)), (200, "turns"));
    let mut folds = Vec::new();
    for turn in turns {
        let mut told = turn["stderr"]["text"].as_str().unwrap().lines();
        let bytes: usize = told.next().unwrap().trim().parse().unwrap();
        assert!(bytes / 4 <= 200_000, "turn {}: {bytes}", turn["number"]);
        folds.extend(told.next().map(str::to_owned));
    }
    folds.dedup();
    assert!(folds.len() >= 4, "{folds:?}");
    let here = scene.verify().run().expect(0).text();
    let other = temp();
    let moved = other.path().join("another place").join("session");
    copy_tree(&scene.directory(), &moved);
    std::fs::remove_dir_all(scene.repo.beside("out")).unwrap();
    std::fs::remove_dir_all(scene.repo.path()).unwrap();
    let program = qa_skill(["verify"]).arg(&moved).env("TZ", "Pacific/Kiritimati").env("LC_ALL", "C");
    assert_eq!(program.within(other.path()).run().expect(0).text(), here);
    let show = qa_skill(["drive", "--status"]).arg(&moved).args(["--format", "html"]);
    let page = show.env("TZ", "Pacific/Kiritimati").within(other.path()).run().expect(0).text();
    assert_eq!(page, std::fs::read_to_string(moved.join("drive.html")).unwrap());
}
