#!/usr/bin/env bash
# Builds the image and runs the tests of the action against it, as GitHub's runner would run it.
#
# It needs root, for containers and for a workspace of another user. STAND_IN=1 stands in for images of a registry.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ]; then
    echo "container: not root, so the image is not tested" >&2
    [ -z "${CI:-}" ]
    exit
fi
cargo=${CARGO:-cargo}
# shellcheck disable=SC2206 # CARGO_FLAGS is a list of options
flags=(${CARGO_FLAGS:-} --locked)

scripts/install-tools.sh podman runc
scripts/image.sh target/image/qa-skill.oci.tar
size=$(stat --format %s target/image/qa-skill.oci.tar)
echo "the image has $size bytes compressed"
[ "$size" -lt 15000000 ]
# One at a time: each unpacks the image. A container outlives whoever kills its client, so killing is tested without.
export QA_SKILL_BINARY=$PWD/scripts/as-runner.sh
exec "$cargo" nextest run "${flags[@]}" --test it --test-threads 1 \
    -E 'test(/^action(_publish)?::/) - test(killed) - test(no_fault_of_the_network)'
