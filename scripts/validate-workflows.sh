#!/usr/bin/env bash
# Holds both actions, the workflows and dependabot.yml to GitHub's schemas (check-jsonschema) and to zizmor's audits, both
# from PyPI, and the example of a policy to its own schema.
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
.venv/bin/check-jsonschema --schemafile schemas/v1/policy.v1.schema.json docs/policy.example.toml
if .venv/bin/check-jsonschema --schemafile schemas/v1/policy.v1.schema.json packaging/schemastore/negative/policy.toml > /dev/null; then
    echo "the schema of the policy accepts packaging/schemastore/negative/policy.toml" >&2
    exit 1
fi
.venv/bin/zizmor --offline --quiet --min-severity medium .github action.yml setup/action.yml
