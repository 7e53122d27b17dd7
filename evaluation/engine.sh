#!/usr/bin/env bash
# Asks a real engine with made-up weights, llama-server as Debian packages it, in all three dialects: `make engine`.
#
# Its chat surface keeps to the schema, so that the answer has the form and the wrong content; its other two ignore the
# schema, and a prompt longer than its context is refused. None of this may look like an answer, neither to `doctor` nor
# in a review; and what a review was told once is derived again whatever the engine says with another number of threads.
# It needs root for a directory with its own libraries, and nothing but loopback.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ]; then
    echo "engine: not root, so no engine is asked" >&2
    exit 75
fi
scripts/install-tools.sh mmdebstrap
state=$PWD/target/engine
mkdir -p "$state"
if [ ! -x "$state/root/usr/bin/llama-server" ]; then
    rm -rf "$state/root"
    # The engine is too new for a stable release. The index may be days old, its signature is checked all the same.
    mmdebstrap --quiet --variant=extract --include=llama.cpp-tools --aptopt='Acquire::Check-Valid-Until "false"' sid \
        "$state/root"
    for directory in bin lib lib64; do ln -sfn "usr/$directory" "$state/root/$directory"; done
fi
[ -x "$state/venv/bin/python" ] || python3 -m venv "$state/venv"
"$state/venv/bin/pip" install --quiet --disable-pip-version-check gguf==0.19.0
"$state/venv/bin/python" evaluation/tiny_model.py "$state/root/tiny.gguf"
exec scripts/with-binary.sh python3 evaluation/engine.py "$state/root"
