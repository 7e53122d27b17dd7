#!/usr/bin/env bash
# Installs packages with apt-get when neither a command nor a package of that name is there.
set -euo pipefail

missing=()
for tool in "$@"; do
    command -v "$tool" > /dev/null || dpkg -s "$tool" > /dev/null 2>&1 || missing+=("$tool")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get > /dev/null; then
    echo "missing: ${missing[*]}; install them, there is no apt-get here to do it" >&2
    exit 1
fi
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
echo "installing ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
