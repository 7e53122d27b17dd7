#!/usr/bin/env bash
# Builds the action's image, real Dockerfile and all: with docker where its engine answers, else with buildah.
#
# `scripts/image.sh [ARCHIVE]` writes the image as an OCI archive. Without a registry the images that FROM names cannot
# be pulled; STAND_IN=1 makes one out of Debian packages and this machine's own toolchain.
set -euo pipefail
cd "$(dirname "$0")/.."

archive=${1:-target/image/qa-skill.oci.tar}
name=localhost/qa-skill:latest
epoch=$(git log -1 --format=%ct 2> /dev/null || echo 0)
mkdir -p "$(dirname "$archive")"
rm -f "$archive"

if [ "${STAND_IN:-}" = "" ] && docker info > /dev/null 2>&1; then
    docker build --build-arg SOURCE_DATE_EPOCH="$epoch" --tag "$name" .
    docker save --output "$archive" "$name"
    exit
fi

scripts/install-tools.sh buildah
buildah=(buildah --storage-driver vfs)
mounts=()
if [ "${STAND_IN:-}" != "" ]; then
    scripts/install-tools.sh mmdebstrap
    from=$(sed -n 's/^FROM \(.*\) AS build$/\1/p' Dockerfile)
    if ! "${buildah[@]}" inspect --type image "$from" > /dev/null 2>&1; then
        base=$(mktemp --suffix=.tar)
        trap 'rm -f "$base"' EXIT
        mmdebstrap --quiet --variant=minbase --include=gcc,libc6-dev,musl-tools,ca-certificates,git bookworm "$base"
        container=$("${buildah[@]}" from scratch)
        "${buildah[@]}" add --quiet "$container" "$base" / > /dev/null
        # As the official image sets them.
        "${buildah[@]}" config --env RUSTUP_HOME=/usr/local/rustup --env CARGO_HOME=/usr/local/cargo \
            --env PATH=/usr/local/cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
        "${buildah[@]}" commit --quiet --rm "$container" "$from" > /dev/null
    fi
    rustup target add x86_64-unknown-linux-musl
    mounts=(
        --volume "${RUSTUP_HOME:-$HOME/.rustup}:/usr/local/rustup:ro"
        --volume "${CARGO_HOME:-$HOME/.cargo}:/usr/local/cargo"
        --volume /etc/ssl/certs/ca-certificates.crt:/etc/ssl/certs/ca-certificates.crt:ro
    )
fi
"${buildah[@]}" build --isolation chroot --pull-never --layers=false --timestamp "$epoch" \
    --build-arg SOURCE_DATE_EPOCH="$epoch" "${mounts[@]}" --tag "$name" .
"${buildah[@]}" push --quiet "$name" "oci-archive:$archive:latest"
ls -l "$archive"
