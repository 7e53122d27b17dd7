#!/usr/bin/env bash
# Judges recent commits of a repository one by one, each against its first parent, and counts what the gate would have
# said. Merged commits are honest work for the most part, so what blocks here is either a find or a false alarm.
#
#   scripts/quality.sh [repository] [count]     by default this repository and 50 commits
set -euo pipefail

qa_skill=${QA_SKILL:-qa-skill}
repository=${1:-$(cd "$(dirname "$0")/.." && pwd)}
count=${2:-50}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

declare -A seen=()
while read -r commit; do
    got=0
    "$qa_skill" run --quiet --repo "$repository" --base "$commit^" --head "$commit" --out "$out" \
        > "$out/report" 2>&1 || got=$?
    seen[$got]=$((${seen[$got]:-0} + 1))
    if [ "$got" -ne 0 ]; then
        git -C "$repository" log -1 --format='%h %s' "$commit"
        grep -E '^(PASS|FAIL|COULD|error)|^[a-z]+\[|^ *--> ' "$out/report" | sed 's/^/    /'
    fi
done < <(git -C "$repository" rev-list --first-parent --max-count="$count" --min-parents=1 HEAD)

printf 'pass %s, fail %s, could not complete %s' "${seen[0]:-0}" "${seen[1]:-0}" "${seen[3]:-0}"
printf ', usage %s, drift %s, defect %s\n' "${seen[2]:-0}" "${seen[4]:-0}" "${seen[70]:-0}"
[ -z "${seen[70]:-}" ] && [ -z "${seen[4]:-}" ]
