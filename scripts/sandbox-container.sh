#!/usr/bin/env bash
# Tries to get out of the fence inside containers, as GitHub's runner starts them: podman over runc with the default
# seccomp profile and the default capabilities, as root and as uid 1001.
#
# It needs root, cc, and what it installs. The container's system is a small Debian made here; QA_SKILL names a binary,
# by default the static one of scripts/image.sh's target, else a debug build.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ]; then
    echo "sandbox-container: not root, so containers are not tested" >&2
    [ -z "${CI:-}" ]
    exit
fi
scripts/install-tools.sh podman runc mmdebstrap
target=${CARGO_TARGET_DIR:-target}
binary=${QA_SKILL:-$target/$(uname -m)-unknown-linux-musl/release/qa-skill}
[ -x "$binary" ] || binary=$target/debug/qa-skill
echo "sandbox-container: $binary"
state=$PWD/target/sandbox-container
mkdir -p "$state"

[ -s "$state/base.tar" ] || mmdebstrap --variant=minbase --include=python3-minimal bookworm "$state/base.tar"
run=/run/qa-skill-sandbox-$(cksum <<< "$PWD" | cut -d ' ' -f 1)
engine=(podman --storage-driver vfs --root "$state/root" --runroot "$run" --runtime runc)
image=localhost/qa-skill-sandbox-base
"${engine[@]}" image exists "$image" || "${engine[@]}" import --quiet "$state/base.tar" "$image" > /dev/null

work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
install -m 0755 "$binary" "$work/qa-skill"
for name in probes storm; do cc -static -O1 -o "$work/$name" "tests/it/probes/$name.c"; done

# What must not be reached: laid in the container by whoever runs the gate there, as on the host.
cat > "$work/inside.sh" <<'INSIDE'
set -eu
umask 022
outside=$(mktemp -d)
chmod 777 "$outside"
mkdir -m 777 "$outside/file_commands"
for name in bait to-unlink to-rename to-take file_commands/set_env; do echo x > "$outside/$name"; chmod 666 "$outside/$name"; done
echo x > "$outside/world"
echo x > "$outside/secret"; chmod 600 "$outside/secret"
printf '#!/bin/sh\necho run_file hit\n' > "$outside/tool"; chmod 755 "$outside/tool"
env -i TOKEN=canary-in-container sleep 300 &
# Port 9 stands for any: making the socket is what counts.
/q/qa-skill sandbox --empty --readable /q --timeout 60 --json -- /q/probes "$outside" $! 9 canary-in-container > "$outside/../result.json"
kill $!
cat "$outside/../result.json"
INSIDE

run() {
    "${engine[@]}" run --rm --quiet --network host --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 \
        --volume "$work:/q:ro" "$@"
}
expect() {
    python3 - "$1" "$work/out.json" "$2" <<'PYTHON'
import json, sys
identity, path, allowed = sys.argv[1], sys.argv[2], set(sys.argv[3].split())
document = json.load(open(path))
lines = document["stdout"]["text"].splitlines()
hits = {line.rsplit(" ", 1)[0] for line in lines if line.endswith(" hit")}
assert document["layers"]["identity"] == identity, document["layers"]
assert document["exit"]["code"] == 0 and len(lines) > 110, document
assert hits == allowed, f"more: {sorted(hits - allowed)}; fewer: {sorted(allowed - hits)}"
print(f"{identity}: {len(lines) - len(hits)} of {len(lines)} attempts blocked, Landlock {document['layers']['landlockAbi']}")
PYTHON
}
controls="memory_file pair_of_sockets start_thread write_here write_null write_temporary"
seen="read_command_line stat_file"
run "$image" sh /q/inside.sh > "$work/out.json"
expect private-uid "$controls semaphore_file $seen"
run --user 1001:1001 "$image" sh /q/inside.sh > "$work/out.json"
expect own-uid "$controls $seen bind_victim change_mode change_owner change_times list_open_files"

echo "storms, with the program as the first process of the container"
run --entrypoint /q/qa-skill "$image" sandbox --empty --readable /q --times 20 --processes 64 -- /q/storm 16 | grep left
run --entrypoint /q/qa-skill "$image" sandbox --empty -- python3 -c 'print(1 + 1)' | grep -F '| 2'

echo "with root that may not change users, there is no fence and no command"
if run --cap-drop SETUID "$image" /q/qa-skill sandbox --empty -- touch /started 2> "$work/refusal"; then exit 1; fi
grep -F 'EXECUTION_DENIED' "$work/refusal"
