#!/usr/bin/env bash
# Runs the action's image as GitHub's runner does: mounts, translated variables, root in a workspace of uid 1001, no
# arguments of its own. Tests use it instead of the binary: QA_SKILL_BINARY=scripts/as-runner.sh.
# The image is what scripts/image.sh left.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
image=$(cat "$here/target/image/name")
# A test bounds what the program may map; an engine itself needs more.
prlimit --pid $$ --as=unlimited:unlimited 2> /dev/null || true

# Host path and where the runner mounts it; the last that matches wins, as in the runner.
mounts=() from=() to=()
mount() {
    [ -n "$1" ] || return 0
    mounts+=(--volume "$1:$2")
    from+=("$1") to+=("$2")
}
mount "${GITHUB_WORKSPACE:-}" /github/workspace
mount "${RUNNER_TEMP:-}" /github/runner_temp
[ -z "${GITHUB_EVENT_PATH:-}" ] || mount "$(dirname "$GITHUB_EVENT_PATH")" /github/workflow
# Hosted runners' user, or another one's.
owner=${WORKSPACE_OWNER:-1001}
chown -R "$owner:$owner" "${GITHUB_WORKSPACE:-/nonexistent}" 2> /dev/null || true
socket=/var/run/docker.sock
if [ ! -e "$socket" ]; then
    socket=$here/target/image/docker.sock
    touch "$socket"
fi

variables=()
for name in $(compgen -e | grep -iE '^(GITHUB_|INPUT_|ACTIONS_|RUNNER_|QA_FAULTS$|TZ$|.*_API_KEY$|https?_proxy$|no_proxy$)' || true) $(env | sed -n 's/^\(INPUT_[A-Z]*-[A-Z-]*\)=.*/\1/p'); do
    value=$(printenv "$name")
    for index in "${!from[@]}"; do
        [[ $value != "${from[$index]}"* ]] || value="${to[$index]}${value#"${from[$index]}"}"
    done
    variables+=(--env "$name=$value")
done
exec "$here/scripts/container-run.sh" --workdir /github/workspace --volume "$socket:/var/run/docker.sock" \
    "${mounts[@]}" "${variables[@]}" --env GITHUB_ACTIONS=true --env CI=true "$image" "$@"
