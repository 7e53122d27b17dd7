#!/usr/bin/env bash
# Installs the parts that others wrote, into target/foreign, and runs the tests against them. With --install-only it
# stops before the tests. Without npm it says so and is content; in CI that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
    @actions/artifact@6.2.1 # GitHub's own artifact client
    azurite@3.35.0          # Microsoft's emulator of the store
)

if ! command -v npm > /dev/null || ! command -v node > /dev/null; then
    echo "foreign parts: node and npm are not installed, so what others wrote is not tested against" >&2
    [ -z "${CI:-}" ]
    exit
fi

directory=target/foreign
mkdir -p "$directory"
wanted=$(printf '%s\n' "${packages[@]}")
if [ "$(cat "$directory/installed" 2> /dev/null)" != "$wanted" ]; then
    rm -f "$directory/installed"
    # The override: a dependency of a dependency whose newest release is not published everywhere.
    printf '%s\n' '{"private": true, "overrides": {"typedarray.prototype.slice": "1.0.5"}}' > "$directory/package.json"
    npm install --prefix "$directory" --no-audit --no-fund --no-package-lock --loglevel=error "${packages[@]}"
    printf '%s\n' "$wanted" > "$directory/installed"
fi
[ "${1:-}" != --install-only ] || exit 0

cargo=${CARGO:-cargo}
# shellcheck disable=SC2206 # CARGO_FLAGS is a list of options
flags=(${CARGO_FLAGS:-} --locked)
exec "$cargo" nextest run "${flags[@]}" --test foreign
