#!/usr/bin/env bash
# Builds an image, real Dockerfile and all: with docker where its engine answers, else with buildah.
#
# `scripts/image.sh [--target full] [ARCHIVE]` leaves in target/image/name, or in target/image/name-full, how an engine is
# told of it. The action's image is left as an archive too, compressed; the full one only where ARCHIVE names one. Where
# the images that FROM names cannot be pulled, or with STAND_IN=1, what is made of Debian packages and this machine's own
# toolchain stands in for them. Status 75 says that not even that can be had. With --install-only it stops before the
# build.
set -euo pipefail
cd "$(dirname "$0")/.."

unavailable() {
    echo "image: $1" >&2
    exit 75
}

install_only=false
if [ "${1:-}" = --install-only ]; then
    install_only=true
    shift
fi
target=()
archive=target/image/qa-skill.oci.tar
name=localhost/qa-skill:latest
name_file=target/image/name
if [ "${1:-}" = --target ]; then
    target=(--target "$2")
    archive=
    name=localhost/qa-skill:$2
    name_file=target/image/name-$2
    shift 2
fi
archive=${1:-$archive}
epoch=$(git log -1 --format=%ct 2> /dev/null || echo 0)
mkdir -p target/image
if ! $install_only; then
    rm -f "$name_file"
    [ -z "$archive" ] || { mkdir -p "$(dirname "$archive")" && rm -f "$archive"; }
fi

if [ "${STAND_IN:-}" = "" ] && docker info > /dev/null 2>&1; then
    ! $install_only || exit 0
    docker build "${target[@]}" --build-arg SOURCE_DATE_EPOCH="$epoch" --tag "$name" .
    echo "$name" > "$name_file"
    if [ -n "$archive" ]; then
        docker save "$name" | gzip -9 > "$archive"
        ls -l "$archive"
    fi
    exit
fi

scripts/install-tools.sh buildah || unavailable "buildah cannot be installed"
# Tells scripts/container-run.sh that docker does not have it.
name=${name/qa-skill/qa-skill-by-buildah}
buildah=(buildah --storage-driver vfs)
is_pulled() {
    [ "${STAND_IN:-}" = "" ] && timeout 300 "${buildah[@]}" pull --quiet --policy always "$1" > /dev/null 2>&1
}
# Makes an image of Debian packages, of a directory's files, and with variables, unless it is there already.
make_stand_in() {
    local image=$1 packages=$2 files=$3 base container variables=("${@:4}")
    ! "${buildah[@]}" inspect --type image "$image" > /dev/null 2>&1 || return 0
    scripts/install-tools.sh mmdebstrap || unavailable "mmdebstrap cannot be installed"
    base=$(mktemp --suffix=.tar)
    mmdebstrap --quiet --variant=minbase --include="$packages" bookworm "$base" || {
        rm "$base"
        unavailable "packages of Debian cannot be had"
    }
    container=$("${buildah[@]}" from scratch)
    "${buildah[@]}" add --quiet "$container" "$base" / > /dev/null
    rm "$base"
    [ -z "$files" ] || "${buildah[@]}" add --quiet "$container" "$files" / > /dev/null
    "${buildah[@]}" config "${variables[@]/#/--env=}" "$container"
    "${buildah[@]}" commit --quiet --rm "$container" "$image" > /dev/null
}

# What cargo compiled for the last image: it saves minutes and changes no byte.
mkdir -p target/image/build
options=(--volume "$PWD/target/image/build:/build/target")
certificates=/etc/ssl/certs/ca-certificates.crt
stands_in=false
from=$(sed -n 's/^FROM \(.*\) AS build$/\1/p' Dockerfile)
if ! is_pulled "$from"; then
    echo "image: $from is not to be had, so this machine's own toolchain stands in for it" >&2
    stand_in=localhost/qa-skill-stand-in:bookworm
    # Variables as the official image sets them.
    make_stand_in "$stand_in" gcc,libc6-dev,musl-tools,ca-certificates,git "" \
        RUSTUP_HOME=/usr/local/rustup CARGO_HOME=/usr/local/cargo \
        PATH=/usr/local/cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    rust_target=$(uname -m)-unknown-linux-musl
    rustup target list --installed | grep -qx "$rust_target" ||
        rustup target add "$rust_target" || unavailable "the target for musl cannot be had"
    options+=(
        --from "$stand_in"
        --volume "${RUSTUP_HOME:-$HOME/.rustup}:/usr/local/rustup:ro"
        --volume "${CARGO_HOME:-$HOME/.cargo}:/usr/local/cargo"
    )
    stands_in=true
fi
from=$(sed -n 's/^FROM \(.*\) AS full$/\1/p' Dockerfile)
if [ ${#target[@]} -gt 0 ] && ! is_pulled "$from"; then
    echo "image: $from is not to be had, so this machine's own node stands in for it" >&2
    command -v node > /dev/null && command -v npm > /dev/null || unavailable "node and npm are not installed"
    stand_in=localhost/qa-skill-stand-in-node:bookworm
    files=$(mktemp -d)
    trap 'rm -rf "$files"' EXIT
    # The places that they have in the official image.
    install -D "$(realpath "$(command -v node)")" "$files/usr/local/bin/node"
    mkdir -p "$files/usr/local/lib/node_modules"
    cp -r "$(npm root --global)/npm" "$files/usr/local/lib/node_modules/npm"
    for command in npm npx; do ln -s "../lib/node_modules/npm/bin/$command-cli.js" "$files/usr/local/bin/$command"; done
    # npm and pip have certificates of their own, and may have to trust this machine's.
    make_stand_in "$stand_in" ca-certificates,libstdc++6 "$files" \
        NODE_EXTRA_CA_CERTS="$certificates" PIP_CERT="$certificates"
    options+=(--build-context "$from=container-image://$stand_in")
    stands_in=true
fi
! $install_only || exit 0
! $stands_in || options+=(--volume "$certificates:$certificates:ro")
"${buildah[@]}" build --isolation chroot --pull-never --layers=false --timestamp "$epoch" \
    "${target[@]}" --build-arg SOURCE_DATE_EPOCH="$epoch" "${options[@]}" --tag "$name" .
# To where scripts/container-run.sh has its containers: an archive of it would be unpacked for each of them.
store=$PWD/target/image/podman
"${buildah[@]}" push --quiet "$name" "containers-storage:[vfs@$store/root+/run/qa-skill-$(cksum <<< "$PWD" | cut -d ' ' -f 1)]$name"
echo "$name" > "$name_file"
if [ -n "$archive" ]; then
    "${buildah[@]}" push --quiet --compression-format gzip --compression-level 9 "$name" "oci-archive:$archive:latest"
    ls -l "$archive"
fi
"${buildah[@]}" rmi "$name" > /dev/null
