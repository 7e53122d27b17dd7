#!/usr/bin/env bash
# Runs a container: with docker where its engine answers and has built the image, else with podman and runc.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ " $* " != *" localhost/qa-skill-by-buildah:"* ]] && docker info > /dev/null 2>&1; then
    exec docker run --rm --network host "$@"
fi
root=$PWD/target/image/podman/root
# podman takes no longer path here than 50 characters, and a clone may lie anywhere.
run=/run/qa-skill-$(cksum <<< "$PWD" | cut -d ' ' -f 1)
# podman reads limits of its own that a container of its own could not raise here.
exec podman --storage-driver vfs --root "$root" --runroot "$run" --runtime runc run --rm --quiet \
    --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --network host "$@"
