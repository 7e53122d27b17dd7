#!/usr/bin/env bash
# Everything that can be said without running the program.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
# shellcheck disable=SC2206 # CARGO_FLAGS is a list of options
flags=(${CARGO_FLAGS:-} --locked)
step() { printf '\n== %s\n' "$*"; "$@"; }

step "$cargo" fmt --check
# One pass over everything. A test binary that needs what clippy.toml forbids allows it at its head.
step "$cargo" clippy "${flags[@]}" --workspace --all-targets -- -D warnings
# Links in comments go where they say.
# Private items are documented too, so that comments may name them.
RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" step "$cargo" doc "${flags[@]}" --workspace --lib --no-deps --document-private-items
step scripts/deny.sh
