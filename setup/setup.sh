#!/usr/bin/env bash
# The steps of the setup action: `setup/setup.sh fetch`, `build` and `finish`, each with the variables that action.yml gives
# it. It needs bash, curl, tar and a program for SHA-256, which the runners of all three systems have.
#
# setup/release.txt is in the commit of a release alone: its first line is the address of the archives, each other line a
# digest with an archive's name. An archive counts only with its digest, wherever it comes from, so no file that this
# commit does not vouch for is unpacked. The tool cache keeps the archive and not the program, and is checked as well.
set -euo pipefail
# macOS has a bash without it, where a failure in a substitution ends the step at its assignment.
shopt -s inherit_errexit 2> /dev/null || true

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
release=$here/release.txt
work=${RUNNER_TEMP:?}/qa-skill-setup
built=$RUNNER_TEMP/qa-skill-build

fail() {
    echo "::error title=qa-skill setup::$1" >&2
    exit 1
}

# Prints the name of the system and the architecture that archives have, or nothing where there is none.
target() {
    case "${RUNNER_OS:-} ${RUNNER_ARCH:-}" in
        "Linux X64") echo x86_64-unknown-linux-musl ;;
        "Linux ARM64") echo aarch64-unknown-linux-musl ;;
        "macOS X64") echo x86_64-apple-darwin ;;
        "macOS ARM64") echo aarch64-apple-darwin ;;
        "Windows X64") echo x86_64-pc-windows-msvc ;;
        "Windows ARM64") echo aarch64-pc-windows-msvc ;;
    esac
}

program() { [ "${RUNNER_OS:-}" = Windows ] && echo qa-skill.exe || echo qa-skill; }

# Prints the SHA-256 of a file.
digest() {
    if command -v sha256sum > /dev/null; then
        sha256sum < "$1"
    else
        shasum -a 256 < "$1"
    fi | cut -c 1-64
}

# Prints the digest that this commit has for an archive.
expected() {
    local found
    found=$(awk -v name="$1" 'NR > 1 && $2 == name { print $1 }' "$release")
    [[ $found =~ ^[0-9a-f]{64}$ ]] || fail "setup/release.txt has no digest of $1. Way out: compile with \`build: always\`"
    echo "$found"
}

# Prints a key that changes with everything that is compiled.
build_key() {
    # shellcheck disable=SC2016 # the inner shell expands it
    (cd "$here/.." && find Cargo.toml Cargo.lock src crates schemas skill docs tests/corpus -type f -print0 |
        LC_ALL=C sort -z | xargs -0 sh -c 'for file; do echo "$file"; cat "$file"; done' sh) > "$work/sources" || fail "the sources that came with the action are not whole"
    echo "qa-skill-setup-${RUNNER_OS:-}-${RUNNER_ARCH:-}-$(digest "$work/sources")"
}

# Downloads an archive to a file.
download() {
    local status=0
    case $1 in
        https://* | http://127.0.0.1:* | http://localhost:*) ;;
        *) fail "$1 is not an address that begins with https. Way out: correct \`download-url\`" ;;
    esac
    curl --fail --silent --show-error --location --retry "${QA_SKILL_SETUP_RETRIES:-4}" --retry-connrefused \
        --connect-timeout 20 --max-time 300 --output "$2" "$1" || status=$?
    [ "$status" -eq 0 ] || fail "$1 could not be downloaded whole (curl ended with $status). Ways out: run the job again; \
name a mirror in \`download-url\`; or compile with \`build: always\`"
}

# Verifies the provenance of an archive, as the input asks.
verify_provenance() {
    local archive=$1 address=$2 repository
    case ${INPUT_PROVENANCE:-auto} in
        off) return ;;
        auto) if ! command -v gh > /dev/null || [ -z "${GH_TOKEN:-}" ]; then
            echo "qa-skill setup: the digest is that of the action's commit; gh or a token is missing, so provenance is not verified"
            return
        fi ;;
        required) ;;
        *) fail "\`provenance\` is ${INPUT_PROVENANCE}; it is auto, required or off" ;;
    esac
    repository=$(sed -n 's|^https://github\.com/\([^/]*/[^/]*\)/releases/download/v.*$|\1|p' <<< "$address")
    [ -n "$repository" ] || fail "$address is no release of github.com, whose provenance gh could verify. Way out: \
\`provenance: off\` relies on the digest in the action's commit"
    command -v gh > /dev/null || fail "gh is not there to verify the provenance. Way out: install it, or \`provenance: off\`"
    GH_HOST=github.com gh attestation verify "$archive" --repo "$repository" \
        --signer-workflow "$repository/.github/workflows/release.yml" > /dev/null ||
        fail "the provenance of the archive could not be verified. Way out: \`provenance: off\` relies on the digest in the \
action's commit"
}

# Puts the release's archive into the tool cache, and unpacks it. Where this commit has none, leaves a key for a build.
fetch() {
    local name address version kept expected key source=tool-cache
    rm -rf "$work"
    mkdir -p "$work"
    case ${INPUT_BUILD:-auto} in
        auto | always | never) ;;
        *) fail "\`build\` is ${INPUT_BUILD}; it is auto, always or never" ;;
    esac
    if [ "${INPUT_BUILD:-auto}" = always ] || { [ ! -e "$release" ] && [ "${INPUT_BUILD:-auto}" = auto ]; }; then
        rm -rf "$built"
        key=$(build_key)
        echo "build-key=$key" >> "$GITHUB_OUTPUT"
        return
    fi
    [ -e "$release" ] || fail "this commit of the action is not of a release, so there is nothing to download. Ways out: pin \
the commit of a release's tag, or compile with \`build: auto\`"
    name=qa-skill-$(target).tar.gz
    [ "$name" != qa-skill-.tar.gz ] ||
        fail "there is no binary for ${RUNNER_OS:-} on ${RUNNER_ARCH:-}. Way out: compile with \`build: always\`"
    expected=$(expected "$name")
    address=$(head -n 1 "$release")
    version=${address##*/v}
    kept=${RUNNER_TOOL_CACHE:-$work}/qa-skill/$version/$name
    if [ ! -f "$kept" ] || [ "$(digest "$kept")" != "$expected" ]; then
        source=release
        download "${INPUT_DOWNLOAD_URL:-$address}/$name" "$work/$name"
        [ "$(digest "$work/$name")" = "$expected" ] ||
            fail "$name is not the archive of this release: its SHA-256 is $(digest "$work/$name") and not $expected. Nothing \
of it was used. Report it where you got the action from; \`build: always\` compiles instead"
    fi
    # A copy, so that what is unpacked is what was checked.
    [ "$source" = release ] || cp "$kept" "$work/$name"
    [ "$(digest "$work/$name")" = "$expected" ] || fail "$kept changed while it was read"
    if [ "$source" = release ] || [ "${INPUT_PROVENANCE:-auto}" = required ]; then
        verify_provenance "$work/$name" "$address"
    fi
    if [ "$source" = release ] && [ -n "${RUNNER_TOOL_CACHE:-}" ]; then
        # Another job of the machine sees the whole archive or none. A cache that cannot be written costs a download.
        mkdir -p "$(dirname "$kept")" && cp "$work/$name" "$kept.$$" && mv -f "$kept.$$" "$kept" ||
            echo "::warning title=qa-skill setup::the archive could not be kept in the tool cache"
    fi
    # A relative name: tar takes what is before a colon, as in `D:`, for another machine.
    (cd "$work" && tar -xzf "$name" && mkdir bin && mv "${name%.tar.gz}/$(program)" bin/)
    printf '%s\n%s\n' "$source" "$version" > "$work/unpacked"
}

# Compiles the sources that the action came with.
build() {
    command -v cargo > /dev/null || fail "this commit of the action is not of a release, and cargo is not there to compile it. \
Ways out: pin the commit of a release's tag, or install Rust in an earlier step"
    cargo install --locked --path "$here/.." --root "$built" --target-dir "$RUNNER_TEMP/qa-skill-target" ||
        fail "cargo could not compile qa-skill; its message is above. Ways out: pin the commit of a release's tag, or give the \
job a network and a C compiler"
}

# Asks the program for its version, and puts it on the PATH.
finish() {
    local source=build directory=$built/bin wanted='' answer path
    [ "${CACHE_HIT:-}" != true ] || source=build-cache
    if [ -f "$work/unpacked" ]; then
        source=$(sed -n 1p "$work/unpacked")
        wanted=$(sed -n 2p "$work/unpacked")
        directory=$work/bin
    fi
    path=$directory/$(program)
    answer=$("$path" --version) || fail "$path does not start on this machine"
    [ -z "$wanted" ] || [ "$answer" = "qa-skill $wanted" ] || fail "$path says that it is $answer, not qa-skill $wanted"
    echo "$directory" >> "$GITHUB_PATH"
    printf 'version=%s\npath=%s\nsource=%s\n' "${answer#qa-skill }" "$path" "$source" >> "$GITHUB_OUTPUT"
    echo "$answer, from: $source"
}

case ${1:-} in
    fetch | build | finish) "$1" ;;
    *) fail "no step is called '${1:-}'" ;;
esac
