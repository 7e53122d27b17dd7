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
step "$cargo" nextest run "${flags[@]}" --workspace
step scripts/validate-skill.sh
step scripts/validate-workflows.sh
step scripts/container.sh
