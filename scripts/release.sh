#!/usr/bin/env bash
# The steps of a release: `scripts/release.sh STEP ARGUMENTS`. .github/workflows/release.yml runs them in the order of
# this file, and docs/releasing.md says what each is for and what to do when one fails.
set -euo pipefail
cd "$(dirname "$0")/.."

pattern='sha256:[0-9a-f]{64}'
architectures=(x86_64 aarch64)
# What there is an archive for. setup/setup.sh and cargo-binstall ask for these names.
targets=(
    aarch64-apple-darwin aarch64-pc-windows-msvc aarch64-unknown-linux-musl
    x86_64-apple-darwin x86_64-pc-windows-msvc x86_64-unknown-linux-musl
)

fail() {
    echo "${GITHUB_ACTIONS:+::error::}release: $1" >&2
    exit 1
}

# Prints where images of this repository are kept; names of images are in lower case.
repository_image() { echo "ghcr.io/${GITHUB_REPOSITORY,,}"; }

# Runs git with the job's token, which is kept off command lines and out of files.
server_git() {
    local authorization
    authorization=$(printf 'x-access-token:%s' "${TOKEN:-}" | base64 --wrap=0)
    GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="http.${GITHUB_SERVER_URL:-}/.extraheader" \
        GIT_CONFIG_VALUE_0="AUTHORIZATION: basic $authorization" git -c core.hooksPath=/dev/null "$@"
}

# Prints the digest that a registry has for an image.
registry_digest() {
    local found
    found=$(docker buildx imagetools inspect --format '{{json .Manifest.Digest}}' "$1" | tr -d '"')
    [[ $found =~ ^$pattern$ ]] || fail "the registry gives no digest for $1: $found"
    echo "$found"
}

# Prints every image that a Dockerfile takes from a registry: all but its own stages and the empty one. A form that is
# not parsed here, such as a variable or an option, is printed as it stands and counts as an image without a digest.
images() {
    awk '
        tolower($1) == "from" {
            if ($2 != "scratch" && !($2 in stages)) print $2
            if (tolower($3) == "as") stages[$4] = 1
        }
        tolower($0) ~ /^#[ \t]*syntax[ \t]*=/ { print }
        {
            for (word = 1; word <= NF; word++)
                if ($word ~ /^--/ && match($word, /[-,]from=[^,]*/)) {
                    name = substr($word, RSTART + 6, RLENGTH - 6)
                    if (!(name in stages)) print name
                }
        }
    ' "$1"
}

# Refuses a Dockerfile with an image that has no digest.
check_pinned() {
    local named image
    named=$(images "$1")
    [ -n "$named" ] || fail "the Dockerfile names no image"
    while read -r image; do
        [[ $image =~ @$pattern$ ]] || fail "the Dockerfile names $image without a digest"
    done <<< "$named"
}

# Prints the versions that have a tag.
released() {
    server_git ls-remote --refs origin 'refs/tags/v*.*.*' |
        sed -n 's|.*refs/tags/v\([0-9]*\.[0-9]*\.[0-9]*\)$|\1|p'
}

# Refuses a version that is older than a released one: the major tag never moves back.
check_newest() {
    local tags newest
    tags=$(released)
    newest=$(printf '%s\n' "$tags" "$1" | sort --version-sort | tail -n 1)
    [ "$newest" = "$1" ] || fail "v$newest is released and newer than v$1"
}

# check VERSION: refuses a version that cannot be released from this checkout.
check() {
    local version=$1 tags
    [[ $version =~ ^(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}$ ]] || fail "$version is not a version such as 1.2.3"
    [ "${GITHUB_REF:-}" = refs/heads/main ] || fail "releases are made on main, not on ${GITHUB_REF:-no ref}"
    grep -qxF "version = \"$version\"" Cargo.toml || fail "Cargo.toml has another version than $version"
    [ -n "$(notes "$version")" ] || fail "CHANGELOG.md has no section [$version]"
    tags=$(released)
    ! grep -qxF "$version" <<< "$tags" ||
        fail "v$version exists already; re-run the failed jobs of the run that made it, or release a new version"
    check_newest "$version"
}

# digests: prints each image of the Dockerfile that has no digest with the one that its registry gives for it.
digests() {
    local image named found
    named=$(images Dockerfile)
    for image in $named; do
        [[ ! $image =~ @$pattern$ ]] || continue
        found=$(registry_digest "$image")
        echo "$image@$found"
    done
}

# pin IMAGE@DIGEST…: writes digests, as `digests` prints them, into the Dockerfile: all that are missing or none.
pin() {
    local image pinned next
    pinned=$(mktemp)
    next=$(mktemp)
    cp Dockerfile "$pinned"
    for image in "$@"; do
        [[ $image =~ ^[a-zA-Z0-9._/:-]+@$pattern$ ]] || fail "$image is not an image with a digest"
        awk -v name="${image%@*}" -v image="$image" '
            tolower($1) == "from" && $2 == name { $2 = image; found = 1 }
            { print }
            END { exit !found }
        ' "$pinned" > "$next" || fail "no FROM of the Dockerfile names ${image%@*}"
        mv "$next" "$pinned"
    done
    check_pinned "$pinned"
    cat "$pinned" > Dockerfile
}

# build VERSION: builds both images for this machine's architecture, tries them, and pushes them. Leaves the binary, the
# list of packages and the digests in built/.
build() {
    local version=$1 architecture image full container
    check_pinned Dockerfile
    architecture=$(uname -m)
    image=$(repository_image):v$version-$architecture
    full=$(repository_image):v$version-full-$architecture
    mkdir -p built
    # Its tag, and options. One manifest and no index around it, so that both architectures can be joined.
    build_image() {
        BUILDX_NO_DEFAULT_ATTESTATIONS=1 docker build --build-arg SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" \
            --label org.opencontainers.image.source="$GITHUB_SERVER_URL/$GITHUB_REPOSITORY" \
            --label org.opencontainers.image.revision="$GITHUB_SHA" \
            --label org.opencontainers.image.version="$version" \
            --tag "$1" "${@:2}" .
    }
    # Compressed as by scripts/image.sh; `docker push` has no option for it.
    push_image() {
        skopeo copy --quiet --dest-compress-format gzip --dest-compress-level 9 "docker-daemon:$1" "docker://$1"
    }
    scripts/install-tools.sh skopeo
    build_image "$image"
    build_image "$full" --target full
    container=$(docker create "$image")
    docker cp "$container:/qa-skill" "built/qa-skill-$architecture-unknown-linux-musl"
    docker rm "$container" > /dev/null
    QA_SKILL=$PWD/built/qa-skill-$architecture-unknown-linux-musl scripts/demo.sh
    IMAGE=$full scripts/container-full.sh
    docker run --rm --entrypoint dpkg-query "$full" --show > "built/full-image-packages-$architecture.txt"
    log_in
    push_image "$image"
    push_image "$full"
    registry_digest "$image" > "built/digest-$architecture"
    registry_digest "$full" > "built/digest-full-$architecture"
}

# package TARGET PROGRAM: lays out what the archive for a system holds: the program with its completions, and the licences.
package() {
    local target=$1 program=$2 directory=built/archive-$1/qa-skill-$1 shell name=qa-skill
    [[ " ${targets[*]} " == *" $target "* ]] || fail "there is no archive for $target"
    [[ $target != *-windows-* ]] || name=qa-skill.exe
    mkdir -p "$directory/completions"
    cp "$program" "$directory/$name"
    for shell in bash elvish fish powershell zsh; do
        "$program" completions "$shell" > "$directory/completions/qa-skill.$shell"
    done
    cp README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$directory/"
}

# Prints the manual page: what the program prints as help of each command.
manual() {
    awk -v version="$1" '
        function escaped(text) { gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text); return "\\&" text }
        BEGIN {
            print ".TH QA\\-SKILL 1 \"\" \"qa\\-skill " version "\"\n.SH NAME"
            print "qa\\-skill \\- deterministic pull\\-request gate whose verdict can be replayed byte for byte"
            print ".SH DESCRIPTION"
        }
        /^```/ { inside = !inside; print inside ? ".nf" : ".fi"; next }
        inside { print escaped($0) }
        !inside && /^## / { print ".SH \"" escaped(toupper(substr($0, 4))) "\"" }
    ' docs/reference/command-line.md
}

# Packs what `package` laid out on the machines of all systems, with the manual page of a version. The same files give the same
# bytes.
pack() {
    local target directory
    for target in "${targets[@]}"; do
        directory=built/archive-$target
        [ -d "$directory/qa-skill-$target/completions" ] || fail "nothing was built for $target"
        mkdir -p "$directory/qa-skill-$target/man"
        manual "$1" > "$directory/qa-skill-$target/man/qa-skill.1"
        # Artifacts of a workflow keep no modes.
        find "$directory" -type d -exec chmod 0755 {} + -o -type f -exec chmod 0644 {} +
        chmod 0755 "$directory/qa-skill-$target"/qa-skill*
        tar --create --directory "$directory" --sort=name --owner=0 --group=0 --numeric-owner --format=ustar \
            --mtime="@$(git log -1 --format=%ct)" "qa-skill-$target" | gzip --no-name -9 > "built/qa-skill-$target.tar.gz"
        rm -r "$directory"
    done
}

log_in() { docker login ghcr.io --username "$GITHUB_ACTOR" --password-stdin <<< "$TOKEN"; }

# join VERSION: makes one image of those for each architecture, archives for each system, and checksums of what built/ has.
# The images' digests become the step's outputs.
join() {
    local version=$1 kind tag architecture found parts
    log_in
    for kind in '' -full; do
        parts=()
        for architecture in "${architectures[@]}"; do
            found=$(cat "built/digest$kind-$architecture")
            parts+=("$(repository_image)@$found")
        done
        tag=$(repository_image):v$version$kind
        docker buildx imagetools create --tag "$tag" "${parts[@]}"
        found=$(registry_digest "$tag")
        echo "digest$kind=$found" >> "$GITHUB_OUTPUT"
    done
    rm built/digest*
    pack "$version"
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) packaging/packages.py "$version" "$(release_url "$version")" built
    (cd built && sha256sum -- * > SHA256SUMS)
}

# pull VERSION DIGEST…: pulls images without credentials, and asks the program in them for its version.
pull() {
    local version=$1 digest image answer
    DOCKER_CONFIG=$(mktemp -d)
    export DOCKER_CONFIG
    for digest in "${@:2}"; do
        [[ $digest =~ ^$pattern$ ]] || fail "$digest is not a digest"
        image=$(repository_image)@$digest
        docker pull --quiet "$image" ||
            fail "$image cannot be pulled without credentials. A package is private when it is made: set it to public in \
its settings ($GITHUB_SERVER_URL/$GITHUB_REPOSITORY, Packages) and re-run the failed jobs. No tag is made yet"
        answer=$(docker run --rm "$image" --version)
        [[ $answer == "qa-skill $version (sources "* ]] || fail "$image says that it is $answer"
    done
}

# Prints where a release has its files.
release_url() { echo "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/releases/download/v$1"; }

# Writes what the setup action downloads at this version: the address, and the digest of each archive.
write_setup_release() {
    local target name found
    [ -f built/SHA256SUMS ] || fail "there is no built/SHA256SUMS"
    release_url "$1" > setup/release.txt
    for target in "${targets[@]}"; do
        name=qa-skill-$target.tar.gz
        found=$(awk -v name="$name" '$2 == name { print $1 }' built/SHA256SUMS)
        [[ sha256:$found =~ ^$pattern$ ]] || fail "built/SHA256SUMS has no digest of $name"
        echo "$found  $name" >> setup/release.txt
    done
}

# tag VERSION DIGEST: makes the version tag: a commit on top of this one, whose action.yml names the image by digest, whose
# Dockerfile, pinned before, is the one it was built from, and whose setup/release.txt has the digests of the archives.
# Prints the commit. The same digests give the same commit, so a second run accepts the tag of the first.
tag() {
    local version=$1 image commit date found file blob bot='github-actions[bot]'
    local mail='41898282+github-actions[bot]@users.noreply.github.com'
    [[ $2 =~ ^$pattern$ ]] || fail "$2 is not a digest"
    check_pinned Dockerfile
    write_setup_release "$version"
    image=docker://$(repository_image)@$2
    sed -i "s|^  image: Dockerfile\$|  image: $image|" action.yml
    [ "$(grep '^  image:' action.yml)" = "  image: $image" ] || fail "action.yml has no line 'image: Dockerfile'"
    # Written as objects, so that no filter and no hook changes it.
    GIT_INDEX_FILE=$(mktemp -u)
    export GIT_INDEX_FILE
    git read-tree HEAD
    for file in Dockerfile action.yml setup/release.txt; do
        blob=$(git hash-object -w --no-filters "$file")
        git update-index --add --cacheinfo "100644,$blob,$file"
    done
    date=$(git log -1 --format=%cI)
    commit=$(GIT_AUTHOR_NAME=$bot GIT_AUTHOR_EMAIL=$mail GIT_AUTHOR_DATE=$date \
        GIT_COMMITTER_NAME=$bot GIT_COMMITTER_EMAIL=$mail GIT_COMMITTER_DATE=$date \
        git commit-tree -p HEAD -m "Name the image of v$version" "$(git write-tree)")
    rm "$GIT_INDEX_FILE"
    found=$(server_git ls-remote --refs origin "refs/tags/v$version" | cut -f 1)
    [ "${found:-$commit}" = "$commit" ] || fail "v$version is at $found and is not moved; release a new version"
    [ -n "$found" ] || server_git push --quiet origin "$commit:refs/tags/v$version"
    echo "$commit"
}

# publish VERSION DIGEST FULL_DIGEST: makes the release of the tag, as a draft until every file of built/ is there. One
# that is published is left alone.
publish() {
    local version=$1 state image
    image=$(repository_image)
    state=$(gh release view "v$version" --json isDraft --jq .isDraft 2> /dev/null || true)
    [ "$state" != false ] || return 0
    if [ "$state" != true ]; then
        printf '%s\n\n### Images\n\n- %s@%s\n- with tools for gates: %s@%s\n' \
            "$(notes "$version")" "$image" "$2" "$image" "$3" |
            gh release create "v$version" --draft --verify-tag --title "v$version" --notes-file -
    fi
    gh release upload "v$version" --clobber built/*
    gh release edit "v$version" --draft=false
}

# Prints the section of a version in CHANGELOG.md, without its heading.
notes() {
    awk -v heading="## [$1]" '
        /^## / { inside = index($0, heading) == 1; next }
        inside { print }
    ' CHANGELOG.md
}

# move VERSION COMMIT: moves the major tag, such as v1, to the commit of the version tag.
move() {
    local major=v${1%%.*}
    check_newest "$1"
    server_git push --quiet --force origin "$2:refs/tags/$major"
}

case ${1:-} in
    check | digests | pin | build | package | join | pull | tag | publish | move) "$@" ;;
    *) fail "no step is called '${1:-}'" ;;
esac
