#!/usr/bin/env bash
# All checks, all tests, the validation of the skill, the documentation site, and the image.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
# shellcheck disable=SC2206 # CARGO_FLAGS is a list of options
flags=(${CARGO_FLAGS:-} --locked)
step() { printf '\n== %s\n' "$*"; "$@"; }

cat << 'TEXT'
make test runs for about fifty minutes on two cores. It installs what is missing, and nothing that is there:
  by apt-get, with sudo where it is no root:
               git; strace for tests of faults; python3-venv; golang-go and chromium-headless-shell for tests of gates
               and pages; buildah, podman, runc and mmdebstrap for the image, where docker does not answer
  by npm, pip  clients, parsers, formatters and linters of others that the tests compare with, into target/ and .venv
  by cargo     nextest, deny and mdbook, into target/tools
It needs some ten gigabytes below target/. Part by part: CONTRIBUTING.md.
TEXT

# CI builds once, so it skips what only makes a second build faster.
[ -z "${CI:-}" ] || export CARGO_INCREMENTAL=0

# Packages arrive while the checks compile: the network and the processors have nothing to wait for each other. What
# both would install comes before.
scripts/install-tools.sh git strace
PATH=$(scripts/cargo-tool.sh deny 0.20.2):$(scripts/cargo-tool.sh nextest 0.9.148):$PATH
log=$(mktemp)
documents=$(mktemp -d)
beside=
trap '[ -z "$beside" ] || kill -- -"$beside" 2> /dev/null || true; rm -rf "$log" "$documents"' EXIT
# Runs a command beside the others, in a group of its own, so that all of it ends where this script does.
fork() {
    set -m
    "$@" > "$log" 2>&1 &
    beside=$!
    set +m
}
# Waits for what runs beside, and prints what it said.
join() {
    local status=0
    wait "$beside" || status=$?
    beside=
    printf '\n== %s meanwhile\n' "$1"
    cat "$log"
    return "$status"
}
install_rest() { scripts/foreign.sh --install-only && scripts/container.sh --install-only; }
fork install_rest
scripts/check.sh
join installed
# Compiled first, so that two compilers do not compete.
step "$cargo" nextest run "${flags[@]}" --workspace --no-run
# The image is built while tests wait for servers and deadlines.
fork nice -n 19 scripts/container.sh --build-only

# Twice as many as there are processors: many tests wait for a server, a deadline or the disk. The test of all documents comes
# after those that leave them, which it would run again.
of_documents='test(=members::every_member_of_an_artifact_takes_two_values)'
export QA_SKILL_TEST_DOCUMENTS=$documents
step "$cargo" nextest run "${flags[@]}" --workspace --test-threads "$((2 * $(nproc)))" -E "not $of_documents"
step "$cargo" nextest run "${flags[@]}" --workspace --test it -E "$of_documents"
unset QA_SKILL_TEST_DOCUMENTS
step scripts/validate-skill.sh
step scripts/site.sh
step scripts/validate-workflows.sh
join 'the image, built'
step scripts/container.sh --built
