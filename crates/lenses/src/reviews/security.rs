//! The review of security: an attacker's ways to what should be out of reach.

use super::contract::{Canary, ReviewSpec};
use crate::contract::{everywhere, presets, rule};
use qa_contracts::v1::{LensClass, PresetStrengths, ScopeStrengths, Severity, Strength};

// Tests attack and leak on purpose, and nobody but their authors can reach them.
const SCOPES: ScopeStrengths = ScopeStrengths {
    test: Strength::Off,
    generated: Strength::Off,
    vendored: Strength::Off,
    ..everywhere(Strength::Advise)
};
const ADVISE: PresetStrengths = presets(SCOPES, SCOPES);

pub(super) static SPEC: ReviewSpec = ReviewSpec {
    id: "review-security",
    version: "1",
    class: LensClass::Security,
    title: "Ways in for outsiders that a change opens",
    prompt: include_str!("prompts/security.v1.md"),
    rules: &[
        rule(
            "review-security/authorization-missing",
            "A handler lacks the check of who asks that its neighbours make",
            Severity::High,
            ADVISE,
            "Make the check that the neighbours make, before anything is read or changed.",
        ),
        rule(
            "review-security/injection",
            "Text from outside becomes part of a statement in another language without a parameter or quoting",
            Severity::High,
            ADVISE,
            "Pass the text as a parameter, or allow only values from a list.",
        ),
        rule(
            "review-security/path-traversal",
            "A name from outside becomes part of a path that nothing holds inside its directory",
            Severity::High,
            ADVISE,
            "Resolve the path and refuse it unless it stands below the directory, or look the name up in a list.",
        ),
        rule(
            "review-security/request-forgery",
            "A server fetches an address whose host somebody outside chose",
            Severity::High,
            ADVISE,
            "Choose the host from a list, and refuse redirects and private addresses.",
        ),
        rule(
            "review-security/sensitive-data-exposed",
            "A secret or personal data goes to a log, an error, an answer or an address that others read",
            Severity::Medium,
            ADVISE,
            "Leave the value out, or write an id or a masked form of it.",
        ),
        rule(
            "review-security/weak-cryptography",
            "A broken, guessable or homemade method protects a password, a token, a signature or a secret",
            Severity::Medium,
            ADVISE,
            "Use what a library has for the purpose: a slow hash for passwords, a secure source for tokens.",
        ),
    ],
    canaries: &[
        Canary {
            rule: "review-security/injection",
            extension: "py",
            lines: &[
                "def {}_stores(connection, request):",
                "    \"\"\"Returns the stores of the city that the request names.\"\"\"",
                "    city = request.args[\"city\"]",
                "    statement = \"SELECT id, name FROM {}_stores WHERE city = '\" + city + \"'\"",
                "    rows = connection.execute(statement).fetchall()",
                "    return [{\"id\": row[0], \"name\": row[1]} for row in rows]",
            ],
            claim: "The city that the request names becomes part of the statement.",
            faulty: 3..=5,
        },
        Canary {
            rule: "review-security/path-traversal",
            extension: "js",
            lines: &[
                "const fs = require(\"node:fs\");",
                "const path = require(\"node:path\");",
                "",
                "const {}Reports = path.join(__dirname, \"reports\");",
                "",
                "function {}Download(request, response) {",
                "  response.type(\"text/plain\");",
                "  const file = path.join({}Reports, request.query.name);",
                "  fs.createReadStream(file).pipe(response);",
                "}",
                "",
                "module.exports = {}Download;",
            ],
            claim: "The name in the request may lead out of the directory of reports.",
            faulty: 8..=9,
        },
    ],
};
