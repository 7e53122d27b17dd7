#!/usr/bin/env bash
# Holds both actions, the workflows and dependabot.yml to GitHub's schemas (check-jsonschema) and to zizmor's audits, both
# from PyPI.
#
# `./` instead of `$/` is of low severity and stays: the newer form does not work on GitHub Enterprise Server.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=(zizmor==1.32.0 check-jsonschema==0.39.0)
python3 -c 'import ensurepip, venv' 2> /dev/null || scripts/install-tools.sh python3-venv
[ -x .venv/bin/pip ] || python3 -m venv .venv
.venv/bin/pip install --quiet --disable-pip-version-check "${tools[@]}"
.venv/bin/check-jsonschema --builtin-schema vendor.github-actions action.yml setup/action.yml
.venv/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
.venv/bin/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
.venv/bin/zizmor --offline --quiet --min-severity medium .github action.yml setup/action.yml
