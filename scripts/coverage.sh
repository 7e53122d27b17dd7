#!/usr/bin/env bash
# Runs all tests with counters in the code and prints the share of lines that ran, file by file and in all. Runs of the
# built program count too. In a workflow the totals are in the job's summary.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
# shellcheck disable=SC2206 # CARGO_FLAGS is a list of options
flags=(${CARGO_FLAGS:-} --locked)
scripts/install-tools.sh git strace
rustup component add llvm-tools > /dev/null 2>&1 || rustup component add llvm-tools-preview
PATH=$(scripts/cargo-tool.sh llvm-cov 0.9.1):$(scripts/cargo-tool.sh nextest 0.9.148):$PATH
"$cargo" llvm-cov nextest "${flags[@]}" --workspace --no-report
"$cargo" llvm-cov report --summary-only | tee target/coverage.txt
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || sed 's/^/    /' target/coverage.txt >> "$GITHUB_STEP_SUMMARY"
