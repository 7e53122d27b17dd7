#!/usr/bin/env bash
# Judges a checkout with the image as docs/laptop.md has it: mounted at its own path, as its owner.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
image=$(cat "$here/target/image/name")
checkout=$(mktemp -d)
trap 'rm -rf "$checkout"' EXIT
git() { command git -C "$checkout" -c user.name=a -c user.email=a@b -c safe.directory='*' "$@"; }
git init -q --initial-branch main
echo 'a = 1' > "$checkout/a.py"
git add a.py && git commit -q -m "Begin"
printf '%s\n' '<<<<<<< ours' 'a = 2' '=======' 'a = 3' '>>>>>>> theirs' > "$checkout/a.py"
git commit -q -a -m "Merge the other side"
chown -R 1000:1000 "$checkout"
cd "$checkout"
judge() {
    local status=0
    "$here/scripts/container-run.sh" --user 1000:1000 --volume "$checkout:$checkout" --workdir "$checkout" "$image" "$@" || status=$?
    echo "exit code $status"
}
expect() {
    local output
    output=$(judge "${@:2}" 2>&1)
    [[ $output == *"exit code $1" ]] || { echo "expected exit code $1 of: ${*:2}"; echo "$output"; exit 1; }
}
expect 1 run --base HEAD~1
expect 0 verify .qa-skill/runs/*/
expect 0 plan --base HEAD~1
expect 2 mcp --repo .
expect 1 run --worktree --base HEAD~1
# As root, a file that an edit replaces stays its owner's.
sed -i '/[<=>]\{7\}/d' a.py
echo 'breakpoint()' >> a.py
"$here/scripts/container-run.sh" --volume "$checkout:$checkout" --workdir "$checkout" "$image" fix --worktree --apply > /dev/null 2>&1 || true
if grep -q breakpoint a.py; then echo "fix left the statement in a.py"; exit 1; fi
foreign=$(find "$checkout" ! -user 1000)
[ -z "$foreign" ] || { echo "not of the owner: $foreign"; exit 1; }
