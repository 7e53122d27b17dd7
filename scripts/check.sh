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
step "$cargo" clippy "${flags[@]}" --all-targets -- -D warnings -A clippy::disallowed_methods -A clippy::disallowed_types
# The compiler keeps the pure half from touching the world.
step "$cargo" check "${flags[@]}" --lib --no-default-features
step scripts/deny.sh
