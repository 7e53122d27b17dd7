#!/usr/bin/env bash
# Changes the files of .cargo/mutants.toml, fault by fault, and runs the tests of their crate. Fails with the changes that
# no test noticed; mutants.out has each as a diff.
set -euo pipefail
cd "$(dirname "$0")/.."

PATH=$(scripts/cargo-tool.sh mutants 27.1.0):$PATH
exec "${CARGO:-cargo}" mutants --package qa-core --no-shuffle "$@"
