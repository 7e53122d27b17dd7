#!/usr/bin/env bash
# Builds the image and runs the tests of the action against it, as GitHub's runner would run it. Where no container can
# run it says so and is content; in CI that is a failure. With --install-only it stops before the build, with --build-only
# behind it; with --built it tests the image that is there.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=scripts/as-root.sh
source scripts/as-root.sh
# An image that was built before says nothing of this one.
[ "${1:-}" != --build-only ] || "${as_root[@]}" rm -f target/image/name
if ! docker info > /dev/null 2>&1; then
    scripts/install-tools.sh buildah podman runc || cannot "buildah, podman and runc cannot be installed"
    # The least that a container can be: this machine's own programs in a directory of their own.
    root=$(mktemp -d)
    trap 'rm -rf "$root"' EXIT
    mkdir "$root/usr"
    ln -s usr/bin "$root/bin"
    ln -s usr/lib "$root/lib"
    ln -s usr/lib64 "$root/lib64"
    "${as_root[@]}" scripts/container-run.sh --volume /usr:/usr:ro --rootfs "$root" /usr/bin/true ||
        cannot "no container can run here"
fi

status=0
if [ "${1:-}" = --install-only ]; then
    "${as_root[@]}" scripts/image.sh --install-only || status=$?
    [ "$status" -ne 75 ] || cannot "what the image is made of cannot be had"
    exit "$status"
fi

cargo=${CARGO:-cargo}
# shellcheck disable=SC2206 # CARGO_FLAGS is a list of options
flags=(${CARGO_FLAGS:-} --locked)
archive=target/image/qa-skill.oci.tar
[ "${1:-}" = --built ] || "${as_root[@]}" scripts/image.sh "$archive" || status=$?
[ "$status" -eq 0 ] || [ "$status" -eq 75 ] || exit "$status"
[ "$status" -eq 0 ] && [ -e target/image/name ] || cannot "what the image is made of cannot be had"
size=$(stat --format %s "$archive")
echo "the image has $size bytes compressed"
[ "$size" -lt 15000000 ]
[ "${1:-}" != --build-only ] || exit 0

# The whole workspace, as scripts/test.sh builds it: a package alone has other features, and half of it is compiled again.
tests=$("$cargo" test "${flags[@]}" --workspace --test it --no-run --message-format json |
    sed -n '/"kind":\["test"\]/s/.*"executable":"\([^"]*\)".*/\1/p')
# A container outlives whoever kills its client, so killing is tested without;
# and waits for the network are as long without.
"${as_root[@]}" env QA_SKILL_BINARY="$PWD/scripts/as-runner.sh" "$tests" --test-threads "$((2 * $(nproc)))" \
    action:: action_publish:: drives_in_image:: rehearsal:: life:: --skip killed --skip no_fault_of_the_network

# The image on a laptop, as docs/laptop.md has it.
"${as_root[@]}" scripts/laptop-container.sh
