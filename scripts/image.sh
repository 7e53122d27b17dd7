#!/usr/bin/env bash
# Builds the action's image, real Dockerfile and all: with docker where its engine answers, else with buildah.
#
# `scripts/image.sh [ARCHIVE]` leaves the image as an archive, compressed, and in target/image/name how an engine is told
# of it. Where the images that FROM names cannot be pulled, or with STAND_IN=1, one made of Debian packages and this
# machine's own toolchain stands in for them. Status 75 says that not even that can be had.
set -euo pipefail
cd "$(dirname "$0")/.."

unavailable() {
    echo "image: $1" >&2
    exit 75
}

archive=${1:-target/image/qa-skill.oci.tar}
name=localhost/qa-skill:latest
epoch=$(git log -1 --format=%ct 2> /dev/null || echo 0)
mkdir -p "$(dirname "$archive")" target/image
rm -f "$archive"

if [ "${STAND_IN:-}" = "" ] && docker info > /dev/null 2>&1; then
    docker build --build-arg SOURCE_DATE_EPOCH="$epoch" --tag "$name" .
    docker save "$name" | gzip > "$archive"
    echo "$name" > target/image/name
    ls -l "$archive"
    exit
fi

scripts/install-tools.sh buildah || unavailable "buildah cannot be installed"
buildah=(buildah --storage-driver vfs)
from=$(sed -n 's/^FROM \(.*\) AS build$/\1/p' Dockerfile)
# What cargo compiled for the last image: it saves minutes and changes no byte.
mkdir -p target/image/build
options=(--volume "$PWD/target/image/build:/build/target")
if [ "${STAND_IN:-}" != "" ] ||
    ! timeout 300 "${buildah[@]}" pull --quiet --policy always "$from" > /dev/null 2>&1; then
    echo "image: $from is not to be had, so this machine's own toolchain stands in for it" >&2
    scripts/install-tools.sh mmdebstrap || unavailable "mmdebstrap cannot be installed"
    stand_in=localhost/qa-skill-stand-in:bookworm
    if ! "${buildah[@]}" inspect --type image "$stand_in" > /dev/null 2>&1; then
        base=$(mktemp --suffix=.tar)
        trap 'rm -f "$base"' EXIT
        mmdebstrap --quiet --variant=minbase --include=gcc,libc6-dev,musl-tools,ca-certificates,git bookworm "$base" ||
            unavailable "packages of Debian cannot be had"
        container=$("${buildah[@]}" from scratch)
        "${buildah[@]}" add --quiet "$container" "$base" / > /dev/null
        # As the official image sets them.
        "${buildah[@]}" config --env RUSTUP_HOME=/usr/local/rustup --env CARGO_HOME=/usr/local/cargo \
            --env PATH=/usr/local/cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
        "${buildah[@]}" commit --quiet --rm "$container" "$stand_in" > /dev/null
    fi
    rustup target list --installed | grep -qx x86_64-unknown-linux-musl ||
        rustup target add x86_64-unknown-linux-musl || unavailable "the target for musl cannot be had"
    options+=(
        --from "$stand_in"
        --volume "${RUSTUP_HOME:-$HOME/.rustup}:/usr/local/rustup:ro"
        --volume "${CARGO_HOME:-$HOME/.cargo}:/usr/local/cargo"
        --volume /etc/ssl/certs/ca-certificates.crt:/etc/ssl/certs/ca-certificates.crt:ro
    )
fi
"${buildah[@]}" build --isolation chroot --pull-never --layers=false --timestamp "$epoch" \
    --build-arg SOURCE_DATE_EPOCH="$epoch" "${options[@]}" --tag "$name" .
"${buildah[@]}" push --quiet "$name" "oci-archive:$archive:latest"
echo "oci-archive:$(realpath "$archive")" > target/image/name
ls -l "$archive"
