//! Calls that execute, deserialize, render or trust foreign input: few per language, and only where the line says so.

mod commands;
mod edited;
mod loaders;
mod pages;
mod paths;
mod programs;
mod queries;
mod shell;
mod trust;

use super::calls::{CallRule, Calls, Quoted, operand};
use super::contract::{Draft, Inspection, Lens, LensSpec, Need, everywhere, presets, text_rule};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangeKind, ChangedFile, FileClass, FileText, LensClass, PresetStrengths, ScopeStrengths, Severity,
    Strength,
};
use qa_core::packet::Packet;

const COMMAND: &str = "dangerous-call/command-injection";
const DYNAMIC: &str = "dangerous-call/dynamic-code";
const HTML: &str = "dangerous-call/html-injection";
const PATH: &str = "dangerous-call/path-from-request";
const QUERY: &str = "dangerous-call/query-injection";
const TLS: &str = "dangerous-call/tls-verification-off";
const LOAD: &str = "dangerous-call/unsafe-deserialization";

const ADVISE: ScopeStrengths =
    ScopeStrengths { generated: Strength::Off, vendored: Strength::Off, ..everywhere(Strength::Advise) };
const BLOCK: ScopeStrengths = ScopeStrengths { product: Strength::Block, ..ADVISE };
const RATCHET: ScopeStrengths = ScopeStrengths { product: Strength::Ratchet, ..ADVISE };
const ALWAYS: PresetStrengths = presets(BLOCK, BLOCK);
const RATCHETED: PresetStrengths = presets(RATCHET, BLOCK);
const GUARDED: PresetStrengths = presets(ADVISE, BLOCK);
/// Tables, columns and marks of parameters, and names that were looked up before, look the same.
const ADVISED: PresetStrengths = presets(ADVISE, ADVISE);

static SPEC: LensSpec = LensSpec {
    id: "dangerous-call",
    version: "12",
    class: LensClass::Security,
    title: "Calls that execute, deserialize, render or trust foreign input",
    required_by_default: true,
    // Plain globs, one per extension, are looked up and need no automaton.
    triggers: &[
        "**/*.py",
        "**/*.pyi",
        "**/*.js",
        "**/*.mjs",
        "**/*.cjs",
        "**/*.jsx",
        "**/*.ts",
        "**/*.tsx",
        "**/*.mts",
        "**/*.cts",
        "**/*.vue",
        "**/*.svelte",
        "**/*.go",
        "**/*.rs",
        "**/*.java",
        "**/*.kt",
        "**/*.kts",
        "**/*.scala",
        "**/*.c",
        "**/*.cc",
        "**/*.cpp",
        "**/*.cs",
        "**/*.cxx",
        "**/*.h",
        "**/*.hh",
        "**/*.hpp",
        "**/*.hxx",
        "**/*.ipp",
        "**/*.rb",
        "**/*.rake",
        "**/*.php",
        "**/*.sh",
        "**/*.bash",
        "**/*.zsh",
        "**/*.yml",
        "**/*.yaml",
        "**/Containerfile",
        "**/Dockerfile*",
        "**/*.dockerfile",
        "**/GNUmakefile",
        "**/Makefile",
        "**/makefile",
        "**/*.mk",
        "**/package.json",
    ],
    page: include_str!(concat!(env!("OUT_DIR"), "/dangerous-call.md")),
    rules: &[
        text_rule(
            COMMAND,
            "Shell command is built from a non-literal string",
            Severity::High,
            RATCHETED,
            "Pass the arguments as a list, without a shell.",
        ),
        text_rule(
            DYNAMIC,
            "Dynamic code execution of a non-literal string",
            Severity::High,
            RATCHETED,
            "Parse the text as data, or call the function by name.",
        ),
        text_rule(
            HTML,
            "Unescaped text is inserted into HTML",
            Severity::Medium,
            GUARDED,
            "Set it as text content, or sanitize it first.",
        ),
        text_rule(
            PATH,
            "File is opened by a name from a request",
            Severity::High,
            ADVISED,
            "Keep the last part of the name only, or look the name up in a list.",
        ),
        text_rule(
            QUERY,
            "Value is put into the text of a query",
            Severity::High,
            ADVISED,
            "Pass the value as a parameter of the query.",
        ),
        text_rule(
            TLS,
            "TLS certificate verification is disabled",
            Severity::High,
            ALWAYS,
            "Keep the verification on; to trust a private CA, pass its certificate.",
        ),
        text_rule(
            LOAD,
            "Unsafe deserialization of untrusted data",
            Severity::High,
            RATCHETED,
            "Read the data as plain values: as JSON, or with the safe loader of the language's YAML library.",
        ),
    ],
};

const C: &[&str] = &["c"];
const CS: &[&str] = &["c#"];
const GO: &[&str] = &["go"];
const JAVA: &[&str] = &["java"];
const JS: &[&str] = &["javascript"];
const JVM: &[&str] = &["java", "kotlin", "scala"];
const KOTLIN: &[&str] = &["kotlin"];
const PHP: &[&str] = &["php"];
const PY: &[&str] = &["python"];
const RUBY: &[&str] = &["ruby"];
const RUST: &[&str] = &["rust"];

/// A text that something cleans or quotes.
const CLEANED: &str = r"(?i)sanitiz|purify|escape|trusted|quote\(";
/// The other side is this machine.
const THIS_MACHINE: &str = r"localhost|127\.0\.0\.1|\[::1\]";

static CALLS: Calls = Calls::new(&[
    CallRule {
        id: COMMAND,
        summary: "shell command is built from a non-literal string",
        rows: commands::ROWS,
        quoted: Quoted::Call,
    },
    CallRule {
        id: DYNAMIC,
        summary: "dynamic code execution of a non-literal string",
        rows: programs::ROWS,
        quoted: Quoted::Call,
    },
    CallRule {
        id: HTML,
        summary: "unescaped text is inserted into HTML",
        rows: pages::ROWS,
        quoted: Quoted::Call,
    },
    CallRule {
        id: PATH,
        summary: "file is opened by a name from a request",
        rows: paths::ROWS,
        quoted: Quoted::Call,
    },
    CallRule {
        id: QUERY,
        summary: "value is put into the text of a query",
        rows: queries::ROWS,
        quoted: Quoted::Call,
    },
    CallRule { id: TLS, summary: TRUSTED, rows: trust::ROWS, quoted: Quoted::Part },
    CallRule {
        id: LOAD,
        summary: "unsafe deserialization of untrusted data",
        rows: loaders::ROWS,
        quoted: Quoted::Call,
    },
]);

const TRUSTED: &str = "TLS certificate verification is disabled";

pub(crate) struct DangerousCall;

impl Lens for DangerousCall {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        let is_read = file.kind != ChangeKind::Deleted && file.class != FileClass::Docs;
        if !is_read {
            return Need::Nothing;
        }
        if shell::is_read(file) { Need::WholeFile } else { CALLS.need(file) }
    }

    fn wants_whole_file(&self, file: &ChangedFile, hunks: &FileText) -> bool {
        CALLS.wants_whole_file(file, hunks) || shell::is_read(file) && shell::may_match(&hunks.text)
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let mut inspection = CALLS.inspect(packet);
        edited::leave_out(packet, &mut inspection.drafts);
        shell::inspect(packet, &mut inspection);
        inspection
    }

    fn operand(&self, draft: &Draft) -> Option<String> {
        operand(draft)
    }

    fn complies(&self, rule: &str, file: &RepoPath, text: &str) -> Option<bool> {
        let of_scripts = (rule == TLS).then(|| shell::complies(file, text)).flatten();
        of_scripts.or_else(|| CALLS.complies(rule, &file.to_text(), text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_contracts::v1::Side;
    use qa_core::findings::EXPRESSION;

    #[test]
    fn every_pattern_compiles() {
        CALLS.check();
    }

    #[test]
    fn an_operand_is_what_another_receiver_or_loader_does_not_change() {
        for (quote, expected) in [
            ("ctx.check_hostname = False", Some("check_hostname=False")),
            ("self.a.context.check_hostname =  False", Some("check_hostname=False")),
            ("this->client.verify = false", Some("verify=false")),
            ("pickle.load(file)", Some("(file)")),
            ("new ObjectInputStream(file.open())", Some("(file.open())")),
            ("OpenSSL::SSL::VERIFY_NONE", None),
            ("new BinaryFormatter()", None),
            ("verify=False", None),
            ("a.b == c", None),
            ("el.innerHTML = `", None),
            ("el.innerHTML =", None),
            ("el.innerHTML = a +", None),
            ("eval(str(x)", None),
        ] {
            assert_eq!(operand(&quoting(quote)).as_deref(), expected, "{quote}");
        }
        for (quote, expression, expected) in [
            ("verify=False", "requests.get(url,verify=False)", Some("verify=False")),
            ("rejectUnauthorized: false", "{rejectUnauthorized:false}", Some("rejectUnauthorized:false")),
            ("subprocess.run(", "subprocess.run(f'{x}',shell=True,)", Some("(f'{x}',shell=True)")),
            ("el.innerHTML =", "el.innerHTML=a+b", Some("innerHTML=a+b")),
            ("el.innerHTML = a", "el.innerHTML=a.b()", Some("innerHTML=a.b()")),
            ("f", "f.eval(a)", Some("(a)")),
        ] {
            let draft = quoting(quote).with(EXPRESSION, expression);
            assert_eq!(operand(&draft).as_deref(), expected, "{expression}");
        }
    }

    fn quoting(quote: &str) -> Draft {
        let path = RepoPath::from_bytes(b"a.py").unwrap();
        Draft { quote: quote.to_owned(), ..Draft::on_file(TLS, &path, Side::Head, "") }
    }

    #[test]
    fn a_file_without_such_calls_complies() {
        let path = RepoPath::from_bytes(b"a.py").unwrap();
        for (text, expected) in [("x = 1\n", true), ("eval(x)\n", false), ("# eval(x)\n", true)] {
            assert_eq!(DangerousCall.complies(DYNAMIC, &path, text), Some(expected), "{text}");
        }
        assert_eq!(DangerousCall.complies(DYNAMIC, &RepoPath::from_bytes(b"a.txt").unwrap(), ""), None);
    }
}
