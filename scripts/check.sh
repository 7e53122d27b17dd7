#!/usr/bin/env bash
# Everything that can be said without running the program.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
# shellcheck disable=SC2206 # CARGO_FLAGS is a list of options
flags=(${CARGO_FLAGS:-} --locked)
step() { printf '\n== %s\n' "$*"; "$@"; }

step "$cargo" fmt --check
# What ships obeys all of clippy.toml. Tests start processes and may count in a HashMap, so they are linted without its
# two lists; everything else holds for them as well.
step "$cargo" clippy "${flags[@]}" --workspace --lib --bins -- -D warnings
step "$cargo" clippy "${flags[@]}" --workspace --all-targets -- -D warnings -A clippy::disallowed_methods -A clippy::disallowed_types \
    -A clippy::print_stdout -A clippy::print_stderr
# Links in comments go where they say.
# Private items are documented too, so that comments may name them.
RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" step "$cargo" doc "${flags[@]}" --workspace --lib --no-deps --document-private-items
step scripts/deny.sh
