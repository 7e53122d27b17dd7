#!/usr/bin/env bash
# Runs every fuzz target for SECONDS_EACH seconds, from its seeds and from what earlier runs found. A broken promise ends
# it and leaves the bytes in fuzz/artifacts; put them into fuzz/seeds, where `cargo test` runs them from then on.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${SECONDS_EACH:-60}
toolchain=${FUZZ_TOOLCHAIN:-nightly}
rustup run "$toolchain" rustc --version > /dev/null 2>&1 || rustup toolchain install "$toolchain" --profile minimal
PATH=$(scripts/cargo-tool.sh fuzz 0.13.2):$PATH
# The versions that the program is built with.
cp Cargo.lock fuzz/Cargo.lock
for program in fuzz/fuzz_targets/*.rs; do
    target=$(basename "$program" .rs)
    printf '\n== %s\n' "$target"
    mkdir -p "fuzz/corpus/$target"
    cargo "+$toolchain" fuzz run "$target" "fuzz/corpus/$target" "fuzz/seeds/$target" -- \
        -max_total_time="$seconds" -max_len=65536 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1
done
