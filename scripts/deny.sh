#!/usr/bin/env bash
# Licences, bans and sources of everything linked in, and known advisories against it.
#
# cargo-deny is installed when it is missing. The advisories come from a repository of their own; where that cannot be
# reached they are skipped, visibly. Where a skip must be a failure, set QA_SKILL_REQUIRE_ADVISORIES=1.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
PATH=$(scripts/cargo-tool.sh deny 0.20.2):$PATH

# The trees of crates that lead to each line are left out; `cargo deny check` shows them.
"$cargo" deny --locked check --hide-inclusion-graph licenses bans sources

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if "$cargo" deny --locked check advisories > "$log" 2>&1; then
    cat "$log"
elif grep -q 'failed to fetch advisory database' "$log"; then
    echo 'SKIPPED: advisories, because their database could not be fetched:' >&2
    grep -m1 'fatal:\|failed to' "$log" >&2 || true
    [ -z "${QA_SKILL_REQUIRE_ADVISORIES:-}" ]
else
    cat "$log" >&2
    exit 1
fi
