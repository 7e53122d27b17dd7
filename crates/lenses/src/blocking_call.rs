//! Blocking calls in asynchronous functions, which hold up everything that runs beside them.

use super::calls::{CallRule, Calls, Quoted};
use super::contract::{Inspection, Lens, LensSpec, Need, everywhere, presets, text_rule};
use qa_contracts::v1::{ChangedFile, FileText, LensClass, ScopeStrengths, Severity, Strength};
use qa_core::packet::Packet;
use qa_reading::patterns::{Context, Definition, Variable};

const IN_ASYNC: &str = "blocking-call/in-async-function";

const OFF: ScopeStrengths = everywhere(Strength::Off);

static SPEC: LensSpec = LensSpec {
    id: "blocking-call",
    version: "6",
    class: LensClass::Performance,
    title: "Blocking calls in asynchronous code",
    required_by_default: true,
    triggers: &["**/*.py", "**/*.rs"],
    page: include_str!(concat!(env!("OUT_DIR"), "/blocking-call.md")),
    rules: &[text_rule(
        IN_ASYNC,
        "Blocking call in an asynchronous function",
        Severity::Medium,
        presets(
            ScopeStrengths { product: Strength::Advise, ..OFF },
            ScopeStrengths { product: Strength::Block, ..OFF },
        ),
        "Await the asynchronous form of the call, or run it in a thread.",
    )],
};

static CALLS: Calls = Calls::new(&[CallRule {
    id: IN_ASYNC,
    summary: "blocking call in an asynchronous function",
    rows: &[
        Definition::new(&["python"], &["$F(...)"]).with(&[BLOCKING]).reporting("F").inside(ASYNC),
        Definition::new(&["rust"], &["$F(...)"]).with(&[BLOCKING_IN_RUST]).reporting("F").inside(ASYNC),
    ],
    quoted: Quoted::Part,
}]);

const ASYNC: &[Context] = &[Context::AsyncFunction];
const BLOCKING: Variable = Variable::one_of(
    "F",
    &[
        "time.sleep",
        "requests.delete",
        "requests.get",
        "requests.head",
        "requests.options",
        "requests.patch",
        "requests.post",
        "requests.put",
        "requests.request",
        "urllib.request.urlopen",
        "subprocess.call",
        "subprocess.check_call",
        "subprocess.check_output",
        "subprocess.run",
    ],
);
const BLOCKING_IN_RUST: Variable = Variable::one_of(
    "F",
    &[
        "std::thread::sleep",
        "reqwest::blocking::get",
        "reqwest::blocking::Client::new",
        "reqwest::blocking::Client::builder",
    ],
);

pub(crate) struct BlockingCall;

impl Lens for BlockingCall {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        CALLS.need(file)
    }

    /// Requests whole files, since the function around a call may be unchanged.
    fn wants_whole_file(&self, file: &ChangedFile, hunks: &FileText) -> bool {
        CALLS.wants_whole_file(file, hunks)
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        if packet.text.full_head.as_deref().is_some_and(|text| text.contains("async")) {
            CALLS.inspect(packet)
        } else {
            Inspection::default()
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_pattern_compiles() {
        super::CALLS.check();
    }
}
