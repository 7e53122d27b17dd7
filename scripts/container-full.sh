#!/usr/bin/env bash
# Builds the image with tools for gates and judges a small project in it that uses every tool there is, a browser among
# them: clean, and with a fault for each. What a project has to bring itself is installed with the image's own npm.
#
# Where no container can run it says so and is content; in a workflow that is a failure. IMAGE names one that is there.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=scripts/as-root.sh
source scripts/as-root.sh
docker info > /dev/null 2>&1 || scripts/install-tools.sh buildah podman runc || cannot "podman cannot be installed"
if [ -z "${IMAGE:-}" ]; then
    status=0
    "${as_root[@]}" scripts/image.sh --target full || status=$?
    [ "$status" -ne 75 ] || cannot "what the image is made of cannot be had"
    [ "$status" -eq 0 ]
    IMAGE=$(cat target/image/name-full)
fi

place=$(mktemp -d)
trap '"${as_root[@]}" rm -rf "$place"' EXIT
chmod 755 "$place"
cd "$place"
mkdir -p tests .qa-skill
cat > .qa-skill/policy.toml <<'POLICY'
[execution]
profile = "exec_sandboxed_network_off"
lens-classes = ["style", "architecture", "consistency"]
toolchains = [{ path = "node_modules" }]
environment = { BROWSER_PATH = "/usr/bin/chromium-headless-shell" }

[gates.lint]
run = ["eslint", "ruff"]
[gates.type_check]
run = ["mypy", "tsc"]
[gates.unit_tests]
run = ["pytest"]
[gates.browser_tests]
run = ["playwright"]
POLICY
for prefix in '"eslint", "."' '"ruff", "check"' '"mypy"' '"tsc"' '"pytest"' '"playwright", "test"'; do
    printf '[[execution.allow]]\nprefix = [%s]\nmatch = [[%s]]\nnot-match = [["x"]]\n' "$prefix" "$prefix"
done >> .qa-skill/policy.toml
printf '/node_modules\n/out\n' > .gitignore
printf '{ "private": true, "devDependencies": { "@playwright/test": "1.65.1" } }\n' > package.json
printf 'export default [{ files: ["*.mjs"], rules: { "no-unused-vars": "error" } }];\n' > eslint.config.mjs
printf '{ "compilerOptions": { "strict": true, "noEmit": true, "types": [] }, "files": ["sum.ts"] }\n' > tsconfig.json
printf '[project]\nname = "a"\nversion = "1"\n[tool.ruff]\n[tool.mypy]\n[tool.pytest.ini_options]\n' > pyproject.toml
printf 'export const one = 1;\n' > one.mjs
printf 'export const sum = (a: number, b: number): number => a + b;\n' > sum.ts
printf 'def add(a: int, b: int) -> int:\n    return a + b\n' > add.py
printf 'from add import add\n\n\ndef test_add() -> None:\n    assert add(1, 2) == 3\n' > test_add.py
printf '<!doctype html><title>Shop</title><h1>Open</h1>\n' > index.html
cat > playwright.config.mjs <<'CONFIGURATION'
import { defineConfig } from "@playwright/test";
export default defineConfig({
  testDir: "tests",
  use: { screenshot: "only-on-failure", launchOptions: { executablePath: process.env.BROWSER_PATH } },
});
CONFIGURATION
cat > tests/shop.spec.mjs <<'TEST'
import { test, expect } from "@playwright/test";
test("the shop is open", async ({ page }) => {
  await page.goto(new URL("../index.html", import.meta.url).href);
  await expect(page.locator("h1")).toHaveText("Open", { timeout: 2000 });
});
TEST
commit() {
    git add --all
    git -c user.name=test -c user.email=test@example.com commit --quiet --message "$1"
}
git init --quiet --initial-branch main .
commit base
git checkout --quiet -b clean
for file in one.mjs sum.ts index.html; do echo >> "$file"; done
echo '# The sum of two numbers.' >> add.py
commit clean
git checkout --quiet -b faulty main
echo 'const unused = 2;' >> one.mjs
echo 'export const wrong: number = "1";' >> sum.ts
printf 'import os\n\n\ndef add(a: int, b: int) -> int:\n    return a - b\n\n\nwrong: int = "1"\n' > add.py
sed -i s/Open/Closed/ index.html
commit faulty
cd - > /dev/null

run() { "${as_root[@]}" scripts/container-run.sh --volume "$place:/github/workspace" --workdir /github/workspace "$@"; }
# This machine may reach the registry by certificates of its own.
certificates=/etc/ssl/certs/ca-certificates.crt
run --volume "$certificates:$certificates:ro" --env NODE_EXTRA_CA_CERTS="$certificates" --entrypoint npm "$IMAGE" install --ignore-scripts --no-audit --no-fund --no-package-lock
judge() {
    local status=0
    run "${as_user[@]}" "$IMAGE" run --base main --head "$1" --out "out/$user/$1" --format json > "$place/$1.json" || status=$?
    python3 - "$place/$1.json" "$status" "$2" "${@:3}" <<'PYTHON'
import json, sys
path, status, expected, findings = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
result = json.load(open(path))
found = sorted({f"{finding['ruleId']} {finding['file']}" for plan in result["lensResults"] for finding in plan["findings"]})
verdict = result["finalVerdict"]
assert (status, found) == (expected, findings), f"exit {status}, {found}, {verdict['rationale']}"
print(f"{verdict['status']}: {', '.join(found) or 'no findings'}")
PYTHON
}
# A step runs as root; a job in a container may have another user.
for user in root 1001; do
    as_user=()
    if [ "$user" != root ]; then
        "${as_root[@]}" chown -R "$user:$user" "$place"
        as_user=(--user "$user:$user")
    fi
    echo "as $user:"
    judge clean 0
    judge faulty 1 "browser_tests/failure tests/shop.spec.mjs" "lint/error add.py" "lint/error one.mjs" \
        "type_check/error add.py" "type_check/error sum.ts" "unit_tests/failure test_add.py"
    ls "$place/out/$user"/faulty/runs/*/screenshots/*.png
done
