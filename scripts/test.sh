#!/usr/bin/env bash
# All tests, the validation of the skill, and the image.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
# shellcheck disable=SC2206 # CARGO_FLAGS is a list of options
flags=(${CARGO_FLAGS:-} --locked)
step() { printf '\n== %s\n' "$*"; "$@"; }

scripts/install-tools.sh git strace
step scripts/foreign.sh --install-only
PATH=$(scripts/cargo-tool.sh nextest 0.9.148):$PATH
# Twice as many as there are processors: many tests wait for a server, a deadline or the disk.
step "$cargo" nextest run "${flags[@]}" --workspace --test-threads "$((2 * $(nproc)))"
step scripts/validate-skill.sh
step scripts/validate-workflows.sh
step scripts/container.sh
