#!/usr/bin/env bash
# Runs a container: with docker where its engine answers and the image is not an archive, else with podman and runc.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ " $* " != *" oci-archive:"* ]] && docker info > /dev/null 2>&1; then
    exec docker run --rm --network host "$@"
fi
state=$PWD/target/image/podman
# podman reads limits of its own that a container of its own could not raise here.
exec podman --storage-driver vfs --root "$state/root" --runroot "$state/run" --runtime runc run --rm --quiet \
    --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --network host "$@"
