#!/usr/bin/env bash
# Shows the gate at work: on a pull request with planted faults, and on this repository's own last commit.
#
#   scripts/demo.sh [directory]     where to leave the repository and the runs; a new temporary directory without one
#
# QA_SKILL names the binary, `qa-skill` on PATH without it. The exit code is 0 when every step ended as described.
set -euo pipefail

qa_skill=${QA_SKILL:-qa-skill}
directory=${1:-$(mktemp -d)}
mkdir -p "$directory"
repository=$directory/repository
project=$(cd "$(dirname "$0")/.." && pwd)

say() { printf '\n== %s\n' "$*"; }

# Runs a command and holds it to an exit code.
expect() {
    local wanted=$1 got=0
    shift
    "$@" || got=$?
    if [ "$got" -ne "$wanted" ]; then
        printf 'demo: `%s` ended with %s, expected %s\n' "$*" "$got" "$wanted" >&2
        exit 1
    fi
    printf '(exit code %s, as expected)\n' "$got"
}

# Fixed names and dates, so that everyone gets the same commits and the same execution key.
git_here() {
    GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null \
        GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z' \
        git -C "$repository" -c user.name=demo -c user.email=demo@example.invalid -c core.autocrlf=false "$@"
}

say "a repository with a clean base"
rm -rf "$repository"
mkdir -p "$repository/app" "$repository/tests"
git_here init -q -b main
cat > "$repository/app/transfer.py" <<'PY'
def transfer(account, amount):
    if amount <= 0:
        raise ValueError("the amount must be positive")
    account.balance -= amount
PY
cat > "$repository/tests/test_transfer.py" <<'PY'
import pytest

from app.transfer import transfer


def test_a_negative_amount_is_refused(account):
    with pytest.raises(ValueError):
        transfer(account, -1)
PY
printf 'port = 8080\n' > "$repository/settings.toml"
git_here add -A
git_here commit -q -m 'Add transfers'

say "a pull request with planted faults: a token, a conflict marker, reordered text, a skipped test"
git_here switch -q -c topic
# Assembled here, so that no scanner takes this repository for a leak; it opens nothing.
token="ghp_""9Jx2kQ7vTzR4mWc8Ld1Yb6HnPf3Gs5Ae0UoK"
printf 'GITHUB_TOKEN = "%s"\n' "$token" > "$repository/app/settings.py"
{
    printf '<<<<%s main\n' '<<<'
    printf 'port = 8081\n'
    printf '====%s\n' '==='
    printf 'port = 9090\n'
    printf '>>>>%s topic\n' '>>>'
} > "$repository/settings.toml"
# U+202E turns what follows around on the screen; the interpreter reads it as it stands.
printf 'LEVEL = "user\xe2\x80\xae# only admins"\n' > "$repository/app/access.py"
sed -i 's/^def test_a_neg/@pytest.mark.skip\n&/' "$repository/tests/test_transfer.py"
git_here add -A
git_here commit -q -m 'Make transfers faster'

run=(run --repo "$repository" --base main --head topic --out "$directory/out")
say "qa-skill ${run[*]}"
expect 1 "$qa_skill" "${run[@]}"

key=$("$qa_skill" "${run[@]}" --format json | sed 's/.*"executionKey":"\([0-9a-f]*\)".*/\1/' || true)
kept=$directory/out/runs/$key
say "the proof is kept in $kept"
ls "$kept"
if grep -rq "$token" "$kept"; then
    echo 'demo: the token stands in the run directory' >&2
    exit 1
fi
printf '(the token stands in none of these files)\n'

say "qa-skill verify, from the recording alone"
expect 0 "$qa_skill" verify "$kept"
say "qa-skill verify --repo, from the repository's own objects"
expect 0 "$qa_skill" verify "$kept" --repo "$repository"

say "a verdict that somebody edited is refused"
cp -r "$kept" "$directory/edited"
sed -i 's/"status":"FAIL"/"status":"PASS"/' "$directory/edited/final-verdict.json"
expect 3 "$qa_skill" verify "$directory/edited"
rm -r "$directory/edited"

if git -C "$project" rev-parse -q --verify HEAD~1 > /dev/null 2>&1; then
    own=(run --repo "$project" --base HEAD~1 --out "$directory/own")
    say "this repository's own last commit: qa-skill ${own[*]}"
    got=0
    "$qa_skill" "${own[@]}" || got=$?
    printf '(exit code %s)\n' "$got"
    case $got in 0 | 1 | 3) ;; *) exit 1 ;; esac
else
    say "this checkout has no history, so its own last commit is not judged"
fi

say "open the report: $kept/report.html"
