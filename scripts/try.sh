#!/usr/bin/env bash
# Holds a binary to a change that passes and to one that fails. QA_SKILL names it. Needs git and bash alone, so that it runs
# on every system that a release has a binary for.
set -euo pipefail

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null

commit() {
    git add -A
    git -c user.name=try -c user.email=try@example.invalid commit -q -m "$1"
}

# Runs the binary and holds it to an exit code.
expect() {
    local wanted=$1 got=0
    shift
    "$QA_SKILL" "$@" || got=$?
    [ "$got" -eq "$wanted" ] || {
        echo "try: \`qa-skill $*\` ended with $got, expected $wanted" >&2
        exit 1
    }
}

git init -q -b main .
git config core.autocrlf false
printf '.qa-skill/\n' > .gitignore
printf 'def area(width, height):\n    return width * height\n' > shape.py
commit 'Add shapes'
git switch -q -c passes
printf 'def area(width, height):\n    return abs(width * height)\n' > shape.py
commit 'Areas are positive'
git switch -q -c fails main
# Put together here, so that this file has no conflict.
{
    printf '<<<<%s main\nport = 1\n' '<<<'
    printf '====%s\nport = 2\n' '==='
    printf '>>>>%s topic\n' '>>>'
} > settings.toml
commit 'Merge ports'

expect 0 --version
expect 0 run --base main --head passes --out passes
expect 0 verify passes/runs/*
expect 0 verify passes/runs/* --repo .
expect 1 run --base main --head fails --out fails
expect 0 verify fails/runs/*
expect 3 run --base main --head main --out nothing
echo 'try: every command ended as expected'
