"""Other people's tools that are measured beside us: which versions, and how they get into a directory of their own.

What cannot be installed is skipped and said so. Nothing here asks the network for more than the package.
"""

import json
import os
import shutil
import subprocess
import sys

# The program, and what PyPI calls the package that brings it.
PACKAGES = {
    "ast-grep": "ast-grep-cli==0.51.1",
    "bandit": "bandit==1.9.4",
    "detect-secrets": "detect-secrets==1.5.0",
    "detect-secrets-hook": "detect-secrets==1.5.0",
    "kingfisher": "kingfisher-bin==2.14.0",
    "ruff": "ruff==0.17.6",
    "semgrep": "semgrep==1.182.0",
    "zizmor": "zizmor==1.32.0",
}
SECRETLINT = ["secretlint@13.0.6", "@secretlint/secretlint-rule-preset-recommend@13.0.7"]


def installed(scratch, names):
    """Installs programs from PyPI into an environment of their own: their names with their paths, as far as it went."""
    environment = os.path.join(scratch, "venv")
    if not os.path.isdir(environment):
        if subprocess.run([sys.executable, "-m", "venv", environment], stderr=subprocess.DEVNULL).returncode:
            print(f"{' '.join(names)} skipped: no environment of their own could be made", file=sys.stderr)
            return {}
    program = lambda name: os.path.join(environment, "bin", name)
    found = {}
    for name in names:
        install = [program("pip"), "install", "--quiet", "--disable-pip-version-check", PACKAGES[name]]
        if subprocess.run(install).returncode == 0:
            found[name] = program(name)
        else:
            print(f"{name} skipped: {PACKAGES[name]} could not be installed", file=sys.stderr)
    return found


def secretlint(scratch):
    """The command of secretlint with the rules that it recommends; none where npm is not there or installs nothing."""
    install = ["npm", "install", "--silent", "--ignore-scripts", "--prefix", scratch, *SECRETLINT]
    if not shutil.which("npm") or subprocess.run(install, stdout=subprocess.DEVNULL).returncode:
        print(f"secretlint skipped: {SECRETLINT[0]} could not be installed", file=sys.stderr)
        return []
    configuration = os.path.join(scratch, "secretlintrc.json")
    with open(configuration, "w", encoding="utf-8") as file:
        json.dump({"rules": [{"id": "@secretlint/secretlint-rule-preset-recommend"}]}, file)
    return [os.path.join(scratch, "node_modules", ".bin", "secretlint"), "--secretlintrc", configuration]
