# Sourced by what runs containers, which want root, as does a workspace that belongs to another user: `as_root` is what
# to put before a command. `cannot REASON` says that nothing is tested and ends the script, well or, in CI, badly.

cannot() {
    echo "$(basename "$0" .sh): $1, so the image is not tested" >&2
    [ -z "${CI:-}${GITHUB_ACTIONS:-}" ]
    exit
}

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    sudo --non-interactive true 2> /dev/null || cannot "this is not root"
    as_root=(sudo --non-interactive env "PATH=$PATH" "HOME=$HOME" ${GITHUB_ACTIONS:+"GITHUB_ACTIONS=$GITHUB_ACTIONS"} ${CI:+"CI=$CI"} ${STAND_IN:+"STAND_IN=$STAND_IN"})
fi
