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
step "$cargo" clippy "${flags[@]}" --lib --bins -- -D warnings
step "$cargo" clippy "${flags[@]}" --all-targets -- -D warnings -A clippy::disallowed_methods -A clippy::disallowed_types \
    -A clippy::print_stdout -A clippy::print_stderr
# Links in comments go where they say.
RUSTDOCFLAGS="-D warnings" step "$cargo" doc "${flags[@]}" --lib --no-deps --document-private-items
# The compiler keeps the pure half from touching the world. Nothing calls most of it then, so that warnings about unused
# code say nothing and are shown only when it does not build.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
printf '\n== %s check %s --lib --no-default-features\n' "$cargo" "${flags[*]}"
"$cargo" check "${flags[@]}" --lib --no-default-features > "$log" 2>&1 || {
    cat "$log"
    exit 1
}
step scripts/deny.sh
