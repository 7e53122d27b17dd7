//! Calls that hold up everything that runs beside an asynchronous function.

use std::sync::LazyLock;

use super::contract::{Draft, Inspection, Lens, LensSpec, Need, everywhere, presets, text_rule};
use super::idioms::{Idiom, Table, code};
use super::parsed::Parsed;
use super::scan;
use qa_contracts::v1::{ChangedFile, FileText, LensClass, ScopeStrengths, Severity, Strength};
use qa_core::classify;
use qa_core::packet::Packet;
use qa_reading::syntax::Language;

const IN_ASYNC: &str = "blocking-call/in-async-function";

const OFF: ScopeStrengths = everywhere(Strength::Off);

static SPEC: LensSpec = LensSpec {
    id: "blocking-call",
    version: "1",
    class: LensClass::Performance,
    title: "Calls that hold up asynchronous code",
    required_by_default: true,
    triggers: &["**/*.py", "**/*.rs"],
    trigger_symbols: &[],
    page: include_str!("../../../tests/corpus/lenses/blocking-call.md"),
    rules: &[text_rule(
        IN_ASYNC,
        "An asynchronous function makes a call that blocks its thread",
        Severity::Medium,
        presets(
            ScopeStrengths { product: Strength::Advise, ..OFF },
            ScopeStrengths { product: Strength::Block, ..OFF },
        ),
        "Await the asynchronous form of the call, or hand it to a thread of its own.",
    )],
};

static CALLS: LazyLock<Table> = LazyLock::new(|| {
    const IDIOMS: &[Idiom] = &[
        code(&["python"], "sleep", r"(?:^|[^\w.])(time\.sleep\()"),
        code(
            &["python"],
            "requests",
            r"(?:^|[^\w.])(requests\.(?:delete|get|head|options|patch|post|put|request)\()",
        ),
        code(&["python"], "urlopen", r"(?:^|[^\w.])(urllib\.request\.urlopen\()"),
        code(&["python"], "subprocess", r"(?:^|[^\w.])(subprocess\.(?:call|check_call|check_output|run)\()"),
        code(&["rust"], "sleep", r"(?:^|[^\w:])((?:std::)?thread::sleep\()"),
        code(&["rust"], "blocking", r"(?:^|[^\w:])(reqwest::blocking::(?:get|Client)\b)"),
    ];
    Table::new(IDIOMS)
});

/// The lens.
pub(crate) struct BlockingCall;

impl Lens for BlockingCall {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        match Language::of(&file.path.to_text()) {
            Some(Language::Python | Language::Rust) => Need::WholeFile,
            Some(
                Language::Go | Language::Java | Language::JavaScript | Language::Tsx | Language::TypeScript,
            )
            | None => Need::Hunks,
        }
    }

    /// Whether added lines have such a call; the function around it may be older.
    fn wants_whole_file(&self, file: &ChangedFile, hunks: &FileText) -> bool {
        CALLS.may_match(classify::language(&file.path), &hunks.text)
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let name = classify::language(packet.path());
        let file = packet.text.full_head.as_deref();
        let file = file.filter(|text| text.contains("async") && CALLS.may_match(name, text));
        let concerned = || packet.added().filter(|line| CALLS.may_match(name, line.text));
        let path = packet.path().to_text();
        let Some(file) = file.and_then(|text| Parsed::around(&path, text, concerned())) else {
            return Inspection::default();
        };
        let mut drafts = Vec::new();
        for line in concerned() {
            let mut scanner = scan::Scanner::new(name, true);
            let Some(found) = CALLS.find(name, line.text, &scanner.line(line.text)) else { continue };
            let Some(at) = file.start(&line).map(|start| start + found.start) else { continue };
            if file.is_sound(at) && file.outline.is_asynchronous(at) {
                let summary = "an asynchronous function makes a call that blocks its thread";
                drafts.push(Draft::on_line(IN_ASYNC, packet, &line, found, summary));
            }
        }
        Inspection { drafts, facts: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_idiom_compiles() {
        super::CALLS.check();
    }
}
