//! The review of growth: time, memory and handles that follow data or load.

use super::contract::{Canary, ReviewSpec};
use crate::contract::{everywhere, presets, rule};
use qa_contracts::v1::{LensClass, PresetStrengths, ScopeStrengths, Severity, Strength};

// Tests and examples run on little data, and nobody waits for them in production.
const SCOPES: ScopeStrengths = ScopeStrengths {
    test: Strength::Off,
    docs: Strength::Off,
    generated: Strength::Off,
    vendored: Strength::Off,
    ..everywhere(Strength::Advise)
};
const ADVISE: PresetStrengths = presets(SCOPES, SCOPES);

pub(super) static SPEC: ReviewSpec = ReviewSpec {
    id: "review-performance",
    version: "1",
    class: LensClass::Performance,
    title: "Costs that grow with data or load",
    prompt: include_str!("prompts/performance.v1.md"),
    rules: &[
        rule(
            "review-performance/blocking-in-async",
            "Code on an event loop or in an asynchronous function waits or computes without giving way",
            Severity::Medium,
            ADVISE,
            "Await the asynchronous form of the call, or hand the work to a thread or a queue.",
        ),
        rule(
            "review-performance/quadratic-growth",
            "For each item of a growing collection, a growing collection is searched, copied or sorted",
            Severity::Medium,
            ADVISE,
            "Build a set, a map or a sorted list once, before the loop.",
        ),
        rule(
            "review-performance/query-in-loop",
            "A loop asks a database or a service once for each item, though one question for all of them would do",
            Severity::Medium,
            ADVISE,
            "Ask for all items with one query, and look the answers up in the loop.",
        ),
        rule(
            "review-performance/resource-not-released",
            "A file, connection, lock or timer that is opened again and again stays open on some path",
            Severity::High,
            ADVISE,
            "Release it where the language does so on every path, such as `with`, `defer`, `using` or `finally`.",
        ),
        rule(
            "review-performance/unbounded-memory",
            "Something that outlives the call grows with each request, or input without a limit is read as a whole",
            Severity::Medium,
            ADVISE,
            "Bound its size, let entries expire, or read the input in parts.",
        ),
    ],
    canaries: &[
        Canary {
            rule: "review-performance/query-in-loop",
            extension: "py",
            lines: &[
                "def {}_order_lines(connection, order_ids):",
                "    \"\"\"Returns the lines of all orders of a year, in the order of their ids.\"\"\"",
                "    lines = []",
                "    for order_id in order_ids:",
                "        rows = connection.execute(",
                "            \"SELECT product, amount FROM {}_lines WHERE order_id = ?\", (order_id,)",
                "        )",
                "        lines.extend(rows.fetchall())",
                "    return lines",
            ],
            claim: "Every order costs a query of its own.",
            faulty: 4..=8,
        },
        Canary {
            rule: "review-performance/quadratic-growth",
            extension: "js",
            lines: &[
                "// Lists the addresses of an imported file, often a few hundred thousand, each once.",
                "function {}Addresses(rows) {",
                "  const addresses = [];",
                "  for (const row of rows) {",
                "    if (!addresses.includes(row.address)) {",
                "      addresses.push(row.address);",
                "    }",
                "  }",
                "  return addresses;",
                "}",
                "",
                "module.exports = {}Addresses;",
            ],
            claim: "Every row searches all addresses that were found so far.",
            faulty: 4..=7,
        },
    ],
};
