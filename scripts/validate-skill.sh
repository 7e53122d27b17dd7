#!/usr/bin/env bash
# Holds SKILL.md to the Agent Skills specification with its reference library, skills-ref from PyPI.
#
# The specification wants the directory to have the skill's name, so a copy in such a directory is validated. The
# library lives in .venv, which git ignores.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.1.1
if ! .venv/bin/agentskills --version > /dev/null 2>&1; then
    python3 -c 'import ensurepip, venv' 2> /dev/null || scripts/install-tools.sh python3-venv
    python3 -m venv .venv
    .venv/bin/pip install --quiet --disable-pip-version-check "skills-ref==$version"
fi
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/qa-skill"
cp -r SKILL.md skill "$copy/qa-skill/"
.venv/bin/agentskills validate "$copy/qa-skill"
