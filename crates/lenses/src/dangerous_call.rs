//! Calls that run, load, show or trust what somebody else wrote: few per language, and only where the line says so.

use std::ops::Range;
use std::sync::LazyLock;

use super::contract::{Draft, Inspection, Lens, LensSpec, Need, everywhere, presets, text_rule};
use super::idioms::{Idiom, Table, code};
use super::pattern::Pattern;
use super::scan;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangeKind, ChangedFile, FileClass, LensClass, PresetStrengths, ScopeStrengths, Severity, Strength,
};
use qa_core::classify;
use qa_core::packet::Packet;

const COMMAND: &str = "dangerous-call/command-injection";
const DYNAMIC: &str = "dangerous-call/dynamic-code";
const HTML: &str = "dangerous-call/html-injection";
const TLS: &str = "dangerous-call/tls-verification-off";
const LOAD: &str = "dangerous-call/unsafe-deserialization";

const ADVISE: ScopeStrengths =
    ScopeStrengths { generated: Strength::Off, vendored: Strength::Off, ..everywhere(Strength::Advise) };
const BLOCK: ScopeStrengths = ScopeStrengths { product: Strength::Block, ..ADVISE };
const RATCHET: ScopeStrengths = ScopeStrengths { product: Strength::Ratchet, ..ADVISE };
const ALWAYS: PresetStrengths = presets(BLOCK, BLOCK);
const RATCHETED: PresetStrengths = presets(RATCHET, BLOCK);
const GUARDED: PresetStrengths = presets(ADVISE, BLOCK);

static SPEC: LensSpec = LensSpec {
    id: "dangerous-call",
    version: "1",
    class: LensClass::Security,
    title: "Calls that run, load, show or trust what somebody else wrote",
    required_by_default: true,
    // One glob for each ending: those are looked up and need no automaton.
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
        "**/*.cs",
        "**/*.rb",
        "**/*.rake",
        "**/*.php",
        "**/*.sh",
        "**/*.bash",
        "**/*.zsh",
    ],
    trigger_symbols: &[],
    page: include_str!("../../../tests/corpus/lenses/dangerous-call.md"),
    rules: &[
        text_rule(
            COMMAND,
            "A command for a shell is put together from parts",
            Severity::High,
            RATCHETED,
            "Give the program its arguments as a list, without a shell.",
        ),
        text_rule(
            DYNAMIC,
            "A text that is not written here is run as a program",
            Severity::High,
            RATCHETED,
            "Read the text as data, or call what is meant by name.",
        ),
        text_rule(
            HTML,
            "A text that is not written here becomes part of a page as it stands",
            Severity::Medium,
            GUARDED,
            "Set the text as text, or clean it first.",
        ),
        text_rule(
            TLS,
            "The certificate of the other side is no longer checked",
            Severity::High,
            ALWAYS,
            "Trust the certificate that is meant by name, and keep the check.",
        ),
        text_rule(
            LOAD,
            "Data is read in a way that lets it run code",
            Severity::High,
            RATCHETED,
            "Read the data with a loader that builds plain values only.",
        ),
    ],
};

const JS: &[&str] = &["javascript", "typescript", "html"];
const PY: &[&str] = &["python"];
const JVM: &[&str] = &["java", "kotlin", "scala"];

static COMMANDS: LazyLock<Table> = LazyLock::new(|| {
    const IDIOMS: &[Idiom] = &[
        code(
            PY,
            "shell",
            r#"\b(subprocess\.\w+\(\s*(?:f["']|[A-Za-z_]|["'][^"']*["']\s*[%+.]).*\bshell\s*=\s*True\b)"#,
        ),
        code(
            PY,
            "shell",
            r#"(?:^\s*|[=(,:]\s*|\breturn\s+)((?:run|call|check_call|check_output|Popen)\(\s*(?:f["']|[A-Za-z_]|["'][^"']*["']\s*[%+.]).*\bshell\s*=\s*True\b)"#,
        ),
        code(
            PY,
            "os.",
            r#"\b(os\.(?:system|popen)\(\s*(?:f["'][^"']*\{|[A-Za-z_][\w.]*\s*[)+%]|["'][^"']*["']\s*(?:[%+]|\.format)))"#,
        ),
        code(
            JS,
            "exec",
            r#"(?:^|[^\w.$]|\bchild_process['"]\)\.)((?:(?:child_process|childProcess|cp)\.)?exec(?:Sync)?\s*\(\s*(?:`[^`]*\$\{|"[^"]*"\s*\+|'[^']*'\s*\+))"#,
        ),
        code(
            JS,
            "exec",
            r"(?:^|[^\w.$])((?:(?:child_process|childProcess|cp)\.exec(?:Sync)?|execSync)\s*\(\s*[A-Za-z_$][\w.$]*\s*[,)+])",
        ),
        code(
            JS,
            "shell",
            r"(?:^|[^\w$])(spawn(?:Sync)?\s*\(\s*(?:[A-Za-z_$][\w.$]*\s*[,+]|`[^`]*\$\{).*\bshell\s*:\s*true\b)",
        ),
        code(
            &["go"],
            "exec.Command",
            r#"\b(exec\.Command(?:Context)?\((?:\w+,\s*)?"(?:/bin/)?(?:ba|z)?sh",\s*"-\w*c",\s*(?:[A-Za-z_]|"[^"]*"\s*\+))"#,
        ),
        code(&["rust"], "arg", r#"(\.arg\("-c"\)\s*\.arg\(\s*(?:&?format!|&?[a-z_]\w*\s*[,)]))"#),
        code(&["rust"], "args", r#"(\.args\(\s*&?\[\s*"-c",\s*&?(?:format!|[a-z_]\w*\s*[,\]]))"#),
        code(JVM, ".exec(", r#"(?i:(runtime\w*(?:\(\))?\.exec\(\s*(?:"[^"]*"\s*\+|\w+\s*[+)])))"#),
        code(
            JVM,
            "ProcessBuilder",
            r#"\b(ProcessBuilder\(\s*"(?:(?:/bin/)?(?:ba|z|da)?sh",\s*"-\w*c|cmd(?:\.exe)?",\s*"/c)",\s*(?:[A-Za-z_]|"[^"]*"\s*\+))"#,
        ),
        code(
            &["ruby"],
            "#{",
            r#"(?:^|[^\w.:])((?:system|exec|spawn)[\s(]\s*"[^"]*#\{[^"]*"\s*\)?\s*(?:$|[;}&|]|if\b|unless\b|or\b))"#,
        ),
        code(
            &["php"],
            "(",
            r#"(?:^|[^\w>:$])((?:shell_exec|exec|system|passthru|popen|proc_open)\s*\(\s*(?:\$\w+\s*[).]|"[^"]*\$|'[^']*'\s*\.))"#,
        ),
    ];
    Table::new(IDIOMS)
});

static PROGRAMS: LazyLock<Table> = LazyLock::new(|| {
    const IDIOMS: &[Idiom] = &[
        code(PY, "(", r#"(?:^|[^\w.])((?:eval|exec)\s*\(\s*(?:f["'][^"']*\{|[A-Za-z_][\w.]*\s*[,)\[(+%]))"#),
        code(
            JS,
            "eval",
            r"(?:^|[^\w.$])((?:(?:window|globalThis)\.)?eval\s*\(\s*(?:[A-Za-z_$][\w.$]*\s*[)+(\[]|`[^`]*\$\{))",
        ),
        code(
            JS,
            "Function",
            r#"\b(new\s+Function\s*\((?:[^()]*,\s*)?(?:[A-Za-z_$][\w.$]*\s*[)+]|`[^`]*\$\{|"[^"]*"\s*\+|'[^']*'\s*\+))"#,
        ),
        code(JS, "Function", r#"(?:^|[^\w.$])(Function\s*\(\s*(?:`[^`]*\$\{|"[^"]*"\s*\+|'[^']*'\s*\+))"#),
        code(
            JS,
            "vm.",
            r"\b(vm\.(?:runIn(?:New|This)?Context|compileFunction|Script)\s*\(\s*[A-Za-z_$][\w.$]*\s*[,)+])",
        ),
        code(&["ruby"], "eval", r"(?:^|[^\w.])(eval[\s(]\s*[a-z_]\w*\s*\)?\s*$)"),
        code(&["php"], "eval", r"(?:^|[^\w>:$])(eval\s*\(\s*\$)"),
    ];
    Table::new(IDIOMS)
});

static PAGES: LazyLock<Table> = LazyLock::new(|| {
    const IDIOMS: &[Idiom] = &[
        code(
            JS,
            "erHTML",
            r#"(\.(?:inner|outer)HTML\s*\+?=\s*(?:[A-Za-z_$][\w.$]*\s*[;+\[(,]|[A-Za-z_$][\w.$]*$|`[^`]*\$\{|["'][^"']*["']\s*\+))"#,
        ),
        code(
            JS,
            "dangerouslySetInnerHTML",
            r"\b(dangerouslySetInnerHTML\s*=\s*\{\{\s*__html:\s*(?:[A-Za-z_$][\w.$]*\s*[}(\[+|?]|`[^`]*\$\{))",
        ),
        code(
            JS,
            "insertAdjacentHTML",
            r"(\.insertAdjacentHTML\s*\(\s*[^,]+,\s*(?:[A-Za-z_$][\w.$]*\s*[)+]|`[^`]*\$\{))",
        ),
        code(
            JS,
            "document.write",
            r"\b(document\.write(?:ln)?\s*\(\s*(?:[A-Za-z_$][\w.$]*\s*[)+]|`[^`]*\$\{))",
        ),
    ];
    Table::new(IDIOMS)
});

static TRUST: LazyLock<Table> = LazyLock::new(|| {
    const IDIOMS: &[Idiom] = &[
        code(
            PY,
            "verify",
            r"\.(?:get|post|put|patch|delete|head|options|request|send|stream|Client|AsyncClient|Session)\(.*\b(verify\s*=\s*False)\b",
        ),
        code(PY, "verify", r"\b((?:requests|session|sess|client|s)\.verify\s*=\s*False)\b"),
        code(PY, "ssl", r"\b(ssl\._create_unverified_context)\b"),
        code(PY, "check_hostname", r"\b(check_hostname\s*=\s*False)\b"),
        code(
            PY,
            "CERT_NONE",
            r#"\b(cert_reqs=(?:ssl\.CERT_NONE|["']CERT_NONE["'])|verify_mode\s*=\s*ssl\.CERT_NONE)"#,
        ),
        code(PY, "verify_ssl", r"\b(verify_ssl\s*=\s*False)\b"),
        code(PY, "ssl", r"\b((?:aiohttp\.)?TCPConnector\(.*\bssl\s*=\s*False)\b"),
        code(JS, "rejectUnauthorized", r"\b(rejectUnauthorized\s*:\s*false)\b"),
        code(
            JS,
            "NODE_TLS_REJECT_UNAUTHORIZED",
            r#"(process\.env(?:\.|\[["'])NODE_TLS_REJECT_UNAUTHORIZED(?:["']\])?\s*=\s*["']?0)"#,
        ),
        code(JS, "strictSSL", r"\b(strictSSL\s*:\s*false)\b"),
        code(&["go"], "InsecureSkipVerify", r"\b(InsecureSkipVerify\s*[:=]\s*true)\b"),
        code(&["go"], "InsecureIgnoreHostKey", r"\b(ssh\.InsecureIgnoreHostKey\(\))"),
        code(
            &["rust"],
            "danger_accept_invalid",
            r"\b(danger_accept_invalid_(?:certs|hostnames)\(\s*true\s*\))",
        ),
        code(&["rust"], "SslVerifyMode", r"\b(SslVerifyMode::NONE)\b"),
        code(
            JVM,
            "ostnameVerifier",
            r"(?i:(hostnameverifier\(\s*\(?\s*(?:\w+\s+)?\w+\s*,\s*(?:\w+\s+)?\w+\s*\)?\s*->\s*true)\s*\))",
        ),
        code(
            &["kotlin"],
            "ostnameVerifier",
            r"((?:h|H)ostnameVerifier\s*\{\s*\w+\s*,\s*\w+\s*->\s*true\s*\})",
        ),
        code(JVM, "HostnameVerifier", r"\b((?:new\s+)?NoopHostnameVerifier\b(?:\(\)|\.INSTANCE))"),
        code(JVM, "ALLOW_ALL_HOSTNAME_VERIFIER", r"\b(ALLOW_ALL_HOSTNAME_VERIFIER)\b"),
        code(JVM, "InsecureTrustManagerFactory", r"\b(InsecureTrustManagerFactory\.INSTANCE)\b"),
        code(&["c#"], "DangerousAcceptAny", r"\b(DangerousAcceptAnyServerCertificateValidator)\b"),
        code(&["ruby"], "VERIFY_NONE", r"\b(OpenSSL::SSL::VERIFY_NONE)\b"),
        code(
            &["php"],
            "CURLOPT_SSL_VERIFY",
            r"\b(CURLOPT_SSL_VERIFY(?:PEER|HOST)\s*(?:,|=>)\s*(?:false|0))\b",
        ),
        code(&["shell"], "curl", r"\b(curl\s(?:.*\s)?(?:--insecure|-[a-zA-Z]*k[a-zA-Z]*))(?:\s|$)"),
        code(&["shell"], "--no-check-certificate", r"\bwget\s.*(--no-check-certificate)\b"),
        code(&["shell"], "GIT_SSL_NO_VERIFY", r"\b(GIT_SSL_NO_VERIFY=(?:1|true))\b"),
        code(&["shell"], "sslVerify", r"\b(http\.sslVerify[= ]\s*false)\b"),
    ];
    Table::new(IDIOMS)
});

static LOADERS: LazyLock<Table> = LazyLock::new(|| {
    const IDIOMS: &[Idiom] = &[
        code(PY, "yaml.load", r"\b(yaml\.load(?:_all)?\s*\((?:[^,()]|\([^()]*\))*\))"),
        code(PY, "Loader", r"\b(yaml\.load(?:_all)?\s*\(.*\bLoader\s*=\s*(?:yaml\.)?(?:Unsafe|C)?Loader)\b"),
        code(PY, "unsafe_load", r"\b(yaml\.unsafe_load(?:_all)?\s*\()"),
        code(
            PY,
            ".load",
            r"\b((?:pickle|cPickle|dill|cloudpickle|marshal|jsonpickle)\.loads?\s*\(\s*[A-Za-z_][\w.]*\s*[,)\[(+])",
        ),
        code(JVM, "ObjectInputStream", r"\b(new\s+ObjectInputStream\s*\([^)]*\)+\s*\.\s*readObject)\b"),
        code(&["ruby"], ".", r"\b(Marshal\.load[\s(]\s*[a-z_@]|YAML\.unsafe_load\b)"),
        code(&["php"], "unserialize", r"(?:^|[^\w>:$])(unserialize\s*\(\s*\$\w+\s*\))"),
        code(&["c#"], "BinaryFormatter", r"\b(new\s+BinaryFormatter\s*\()"),
    ];
    Table::new(IDIOMS)
});

/// A call that a formatter spread over lines, the last of which makes it what it is.
struct Spread {
    languages: &'static [&'static str],
    last: Pattern,
    first: Pattern,
    /// Whether the first line opens a parenthesis that the last one stands in.
    opens: bool,
}

/// How many lines of a call are looked at.
const SPREAD_LINES: usize = 8;

static SPREAD: [Spread; 2] = [
    Spread {
        languages: PY,
        last: Pattern::new(r"^\s*(shell\s*=\s*True|verify\s*=\s*False)\b"),
        first: Pattern::new(r"\($"),
        opens: true,
    },
    Spread {
        languages: &["rust"],
        last: Pattern::new(r"^\s*(\.arg\(\s*(?:&?format!|&?[a-z_]\w*\s*\)))"),
        first: Pattern::new(r#"^\s*\.arg\("-c"\)$"#),
        opens: false,
    },
];

/// What makes a line harmless: the text is cleaned, the data was written on the same line, or the other side is this
/// machine.
static CLEANED: Pattern = Pattern::new(r"(?i)sanitiz|purify|escape|trusted|quote\(");
static WRITTEN_HERE: Pattern = Pattern::new(r"\bloads?\s*\(\s*(?:\w+\.)?dumps?\s*\(");
static THIS_MACHINE: Pattern = Pattern::new(r"localhost|127\.0\.0\.1|\[::1\]");

/// A rule with what it looks for.
struct Look {
    rule: &'static str,
    table: &'static LazyLock<Table>,
    harmless: Option<&'static Pattern>,
    summary: &'static str,
}

static LOOKS: &[Look] = &[
    Look {
        rule: COMMAND,
        table: &COMMANDS,
        harmless: Some(&CLEANED),
        summary: "a command for a shell is put together from parts",
    },
    Look {
        rule: DYNAMIC,
        table: &PROGRAMS,
        harmless: None,
        summary: "a text that is not written here is run",
    },
    Look {
        rule: HTML,
        table: &PAGES,
        harmless: Some(&CLEANED),
        summary: "a text becomes part of a page as it stands",
    },
    Look {
        rule: TLS,
        table: &TRUST,
        harmless: Some(&THIS_MACHINE),
        summary: "whoever answers is trusted, whatever certificate they show",
    },
    Look {
        rule: LOAD,
        table: &LOADERS,
        harmless: Some(&WRITTEN_HERE),
        summary: "data is read in a way that lets it run code",
    },
];

impl Look {
    fn find(&self, language: Option<&str>, line: &str, parts: &scan::Parts) -> Option<Range<usize>> {
        let span = self.table.find(language, line, parts)?;
        let harmless = self.harmless.is_some_and(|harmless| harmless.is_match(line));
        (!harmless).then_some(span)
    }

    /// As [`Look::find`], where the call begins on a line above; the nearest is last.
    fn find_spread(
        &self,
        language: Option<&str>,
        above: &[&str],
        line: &str,
        parts: &scan::Parts,
    ) -> Option<Range<usize>> {
        let known = |form: &&Spread| language.is_some_and(|language| form.languages.contains(&language));
        let form = SPREAD.iter().find(known)?;
        let part = form.last.captures(line)?.first_group()?.range();
        if parts.at(part.start) != scan::Kind::Code {
            return None;
        }
        let mut call = String::new();
        for text in above.iter().rev().take(SPREAD_LINES).map(|text| text.trim()) {
            call = format!("{text} {call}");
            let open = !form.opens || call.matches('(').count() > call.matches(')').count();
            if open && form.first.is_match(text) {
                let whole = format!("{call}{}", line.trim());
                return self.find(language, &whole, &scan::Parts::default()).map(|_| part);
            }
        }
        None
    }
}

/// The lens.
pub(crate) struct DangerousCall;

impl Lens for DangerousCall {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        let read = file.kind != ChangeKind::Deleted && file.class != FileClass::Docs;
        if read { Need::Hunks } else { Need::Nothing }
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let language = packet.file.language.as_deref();
        let mut drafts = Vec::new();
        for hunk in packet.hunks() {
            let text = &packet.text.text[hunk.added_span()];
            let looks: Vec<&Look> =
                LOOKS.iter().filter(|look| look.table.may_match(language, text)).collect();
            if looks.is_empty() {
                continue;
            }
            let mut above: Vec<&str> = hunk.before().map(|line| line.text).collect();
            for (line, parts) in scan::added(language, hunk) {
                for look in &looks {
                    let spread = || look.find_spread(language, &above, line.text, &parts);
                    if let Some(span) = look.find(language, line.text, &parts).or_else(spread) {
                        drafts.push(Draft::on_line(look.rule, packet, &line, span, look.summary));
                    }
                }
                above.push(line.text);
            }
        }
        Inspection { drafts, facts: Vec::new() }
    }

    fn complies(&self, rule: &str, file: &RepoPath, text: &str) -> Option<bool> {
        let language = classify::language(file);
        let look = LOOKS.iter().find(|look| look.rule == rule)?;
        if !look.table.knows(language) {
            return None;
        }
        let mut scanner = scan::Scanner::new(language, true);
        Some(!text.lines().any(|line| look.find(language, line, &scanner.line(line)).is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        LOOKS.iter().for_each(|look| look.table.check());
        CLEANED.check();
        SPREAD.iter().for_each(|form| {
            form.last.check();
            form.first.check();
        });
        THIS_MACHINE.check();
        WRITTEN_HERE.check();
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
