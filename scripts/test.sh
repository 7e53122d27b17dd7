#!/usr/bin/env bash
# All tests, with nextest where it is installed, the validation of the skill, and the image.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
# shellcheck disable=SC2206 # CARGO_FLAGS is a list of options
flags=(${CARGO_FLAGS:-} --locked)
step() { printf '\n== %s\n' "$*"; "$@"; }

scripts/install-tools.sh git strace
step scripts/foreign.sh --install-only
if "$cargo" nextest --version > /dev/null 2>&1; then
    step "$cargo" nextest run "${flags[@]}" --workspace
else
    step "$cargo" test "${flags[@]}" --workspace --lib --bins --tests
fi
step scripts/validate-skill.sh
step scripts/validate-workflows.sh
step scripts/container.sh
