#!/usr/bin/env bash
# Builds a repository that shows what qa-skill says of a pull request: `examples/build.sh DIRECTORY`. Each branch beside main
# is a pull request, and its commit's message says what it tries. Needs git alone, and asks nobody.
#
# Everyone gets the same commits: names and dates are fixed. examples/README.md has the verdict of each branch.
set -euo pipefail

repository=${1:?a directory that does not exist yet}
[ ! -e "$repository" ] || {
    echo "examples: $repository exists already" >&2
    exit 1
}
mkdir -p "$repository"
cd "$repository"

git_here() {
    GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null \
        GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z' \
        git -c user.name=example -c user.email=example@example.invalid -c core.autocrlf=false "$@"
}

# Writes a file from standard input.
file() {
    mkdir -p "$(dirname "$1")"
    cat > "$1"
}

# Edits a file by arguments of sed.
edit() {
    sed "${@:2}" "$1" > .git/edited
    cat .git/edited > "$1"
}

# Begins a pull request at main.
branch() { git_here switch -q -c "$1" main; }

commit() {
    git_here add -A
    git_here commit -q -m "$1"
}

git_here init -q -b main .
file .gitignore <<< '.qa-skill/runs/'
file .qa-skill/policy.toml << 'TOML'
version = 1
preset = "guarded"
repo-id = "example/shop"

[limits]
max-blob-bytes = 65536

[[import-boundary]]
from = ["shop/core/**"]
must-not-import = ["shop/web/**"]
reason = "the core knows nothing of the web"
TOML
file .github/workflows/ci.yml << 'YAML'
name: ci
on: { pull_request: }
permissions: {}
jobs:
  test:
    runs-on: ubuntu-24.04
    permissions: { contents: read }
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with: { persist-credentials: false }
      - run: ruff check .
      - run: pytest
YAML
file shop/__init__.py < /dev/null
file shop/core/__init__.py < /dev/null
file shop/core/account.py << 'PY'
"""Accounts, and moving money between them."""


class Account:
    def __init__(self, balance):
        self.balance = balance


def transfer(source, target, amount):
    if amount <= 0:
        raise ValueError("the amount must be positive")
    if amount > source.balance:
        raise ValueError("the balance is too low")
    source.balance -= amount
    target.balance += amount
PY
file shop/web/__init__.py < /dev/null
file shop/web/page.py << 'PY'
"""The page that shows an account."""

from shop.core.account import Account, transfer


def show(account: Account) -> str:
    return f"balance: {account.balance}"


def pay(source: Account, target: Account, amount: int) -> str:
    transfer(source, target, amount)
    return show(source)
PY
file tests/test_account.py << 'PY'
import pytest

from shop.core.account import Account, transfer


def test_money_moves():
    source, target = Account(10), Account(0)
    transfer(source, target, 4)
    assert source.balance == 6
    assert target.balance == 4


def test_a_negative_amount_is_refused():
    with pytest.raises(ValueError):
        transfer(Account(10), Account(0), -1)
PY
file pyproject.toml << 'TOML'
[project]
name = "shop"
version = "1.0.0"

[tool.ruff.lint]
select = ["E", "F", "B"]
TOML
file feature_list.json << 'JSON'
[
  {"id": 1, "description": "Money can be moved", "passes": true},
  {"id": 2, "description": "An account shows its history", "passes": false}
]
JSON
file settings.toml <<< 'port = 8080'
commit 'Add a shop'

branch clean
file shop/core/history.py << 'PY'
"""What happened to an account."""


def describe(amounts):
    return [f"moved {amount}" for amount in amounts]
PY
file tests/test_history.py << 'PY'
from shop.core.history import describe


def test_each_amount_is_described():
    assert describe([4]) == ["moved 4"]
PY
commit 'Describe what happened to an account, with a test'

branch leaked-token
# Put together here, so that no scanner takes this file for a leak; it opens nothing.
token="ghp_""9Jx2kQ7vTzR4mWc8Ld1Yb6HnPf3Gs5Ae0UoK"
file shop/web/settings.py <<< "GITHUB_TOKEN = \"$token\""
commit 'Commit a token'

branch reordered-text
printf 'LEVEL = "user\xe2\x80\xae# only admins"\n' | file shop/web/access.py
commit 'Hide what a comparison compares'

branch conflict
{
    printf '<<<<%s main\nport = 8081\n' '<<<'
    printf '====%s\nport = 9090\n' '==='
    printf '>>>>%s topic\n' '>>>'
} | file settings.toml
commit 'Commit a merge that was never finished'

branch skipped-test
edit tests/test_account.py 's/^def test_a_negative/@pytest.mark.skip\n&/'
commit 'Skip a test'

branch removed-assertion
edit tests/test_account.py '/assert target.balance/d'
commit 'Remove an assertion'

branch detected-test
edit shop/core/account.py -e 's/^class Account/import os\n\n\n&/' \
    -e 's/^    if amount <= 0:/    if "PYTEST_CURRENT_TEST" in os.environ and amount <= 0:/'
commit 'Check amounts where a test runs and nowhere else'

branch weaker-linter
edit pyproject.toml 's/select = .*/select = ["E"]/'
commit 'Select fewer rules of the linter'

branch weaker-ci
edit .github/workflows/ci.yml 's/- run: pytest/- run: pytest || true/'
commit 'Let the tests fail in CI'

branch script-injection
# shellcheck disable=SC2016 # an expression of GitHub, not of this shell
edit .github/workflows/ci.yml 's/- run: ruff check \./- run: echo "${{ github.event.pull_request.title }}"\n      &/'
commit 'Put the title of a pull request into a script'

branch weaker-policy
edit .qa-skill/policy.toml 's/preset = "guarded"/preset = "advisory"/'
edit tests/test_account.py 's/^def test_a_negative/@pytest.mark.skip\n&/'
commit 'Weaken the policy in the change that it would stop'

branch crossed-boundary
file shop/core/report.py << 'PY'
"""Reports about accounts."""

from shop.web.page import show


def report(accounts):
    return [show(account) for account in accounts]
PY
commit 'Import the web into the core'

branch broken-caller
edit shop/core/account.py 's/def transfer(source, target, amount):/def move(source, target, amount):/'
edit tests/test_account.py 's/transfer/move/g'
commit 'Rename a function, and forget a caller in a file that does not change'

branch tls-off
file shop/web/client.py << 'PY'
"""Rates of another server."""

import urllib.request
import ssl


def rates(address):
    context = ssl._create_unverified_context()
    with urllib.request.urlopen(address, context=context) as answer:
        return answer.read()
PY
commit 'Accept any certificate'

branch feature-passes
edit feature_list.json 's/"passes": false/"passes": true/'
commit 'Mark a feature as passing without the run that shows it'

branch unread-file
file settings.toml <<< 'port = 8081'
# More than the policy lets a run read.
for line in $(seq 1 6000); do echo "row $line of a table"; done | file shop/core/table.py
commit 'Add a file that is too large to be read'

git_here switch -q main
