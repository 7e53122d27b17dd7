//! The review of structure: boundaries, copies, lost errors, shared state, broken promises.

use super::contract::{Canary, ReviewSpec};
use crate::contract::{everywhere, presets, rule};
use qa_contracts::v1::{LensClass, PresetStrengths, ScopeStrengths, Severity, Strength};

// Tests and examples copy, reach inside and keep state for good reasons of their own.
const SCOPES: ScopeStrengths = ScopeStrengths {
    test: Strength::Off,
    docs: Strength::Off,
    generated: Strength::Off,
    vendored: Strength::Off,
    ..everywhere(Strength::Advise)
};
const ADVISE: PresetStrengths = presets(SCOPES, SCOPES);

pub(super) static SPEC: ReviewSpec = ReviewSpec {
    id: "review-architecture",
    version: "1",
    class: LensClass::Architecture,
    title: "Structure that a change works against",
    prompt: include_str!("prompts/architecture.v1.md"),
    rules: &[
        rule(
            "review-architecture/boundary-bypassed",
            "Added code reaches around an interface that its neighbours use",
            Severity::Medium,
            ADVISE,
            "Go through the interface, and extend it where it lacks something.",
        ),
        rule(
            "review-architecture/duplicate-of-existing",
            "An added block does what another block of the packet does, so that both have to be changed together",
            Severity::Low,
            ADVISE,
            "Call the other block, or move what both do to one place.",
        ),
        rule(
            "review-architecture/error-swallowed",
            "Added code drops an error and goes on as if nothing had failed",
            Severity::High,
            ADVISE,
            "Hand the error to the caller, or answer with a result that says what failed.",
        ),
        rule(
            "review-architecture/global-state",
            "A variable that outlives the call is changed while requests, tasks or threads run and share it",
            Severity::High,
            ADVISE,
            "Keep the value in the call, the request or an object of its own, or guard it.",
        ),
        rule(
            "review-architecture/public-contract-broken",
            "Something that others call or read takes or gives something else now, without a version or a default",
            Severity::High,
            ADVISE,
            "Keep the old form working, or give the new one a name or version of its own.",
        ),
    ],
    canaries: &[
        Canary {
            rule: "review-architecture/error-swallowed",
            extension: "py",
            lines: &[
                "def store_{}_invoice(store, invoice):",
                "    \"\"\"Stores the invoice and returns the number that the customer gets.\"\"\"",
                "    number = store.next_number()",
                "    try:",
                "        store.write(number, invoice)",
                "    except Exception:",
                "        pass",
                "    return number",
            ],
            claim: "A number is returned although the invoice may not have been stored.",
            faulty: 4..=8,
        },
        Canary {
            rule: "review-architecture/global-state",
            extension: "js",
            lines: &[
                "const { loadBasket, loadCustomer } = require(\"./store\");",
                "",
                "let {}Customer = null;",
                "",
                "async function {}Checkout(request, response) {",
                "  {}Customer = await loadCustomer(request.session.customerId);",
                "  const basket = await loadBasket(request.session.basketId);",
                "  const sum = basket.lines.reduce((all, line) => all + line.price, 0);",
                "  response.json({ name: {}Customer.name, total: sum * {}Customer.rate });",
                "}",
                "",
                "module.exports = {}Checkout;",
            ],
            claim: "Requests at the same time share one customer.",
            faulty: 3..=9,
        },
    ],
};
