"""Compares `run --worktree` and `run --staged` with a run of the commit, over the last changes of a repository.

usage: uncommitted.py QA_SKILL REPOSITORY [CHANGES]

Each change without a merge is undone in a clone: its parent is checked out, and the files of the change are put over it, staged
for every other change. Findings, plans with their hunks and the verdict have to be those of the commit.
"""

import json
import os
import subprocess
import sys
import tempfile

NOTES = ("STAGED_JUDGED", "WORKTREE_JUDGED")


def git(clone, *arguments):
    done = subprocess.run(["git", "-C", clone, *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"git {' '.join(arguments)}: {done.stderr}")
    return done.stdout.strip()


def judge(binary, clone, out, *options):
    """Returns exit code, processor time in milliseconds and result of a run."""
    before = os.times()
    command = [binary, "run", "--repo", clone, "--format", "json", "--quiet", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return done.returncode, 1000 * spent, json.loads(done.stdout)


def judgement(result):
    """Returns what has to be equal: everything but the names of the commit."""
    verdict = result["finalVerdict"]
    verdict["warningCodes"] = [code for code in verdict.get("warningCodes", []) if code not in NOTES]
    names = ("executionKey", "normalizedInputHash")
    text = json.dumps({name: value for name, value in result.items() if name not in names}, sort_keys=True)
    return text.replace(result["executionKey"], "KEY").replace(result["normalizedInputHash"], "INPUT")


def main(binary, repository, changes):
    with tempfile.TemporaryDirectory() as home:
        clone, out = os.path.join(home, "clone"), os.path.join(home, "out")
        subprocess.run(["git", "clone", "-q", repository, clone], check=True)
        commits = git(clone, "log", "--no-merges", "--format=%H %P", f"-{changes}").splitlines()
        commits = [line.split() for line in commits if len(line.split()) == 2]
        others, findings, times = 0, 0, {"commit": [], "--worktree": [], "--staged": []}
        for number, (commit, parent) in enumerate(commits):
            git(clone, "checkout", "-q", "-f", "--detach", parent)
            git(clone, "clean", "-q", "-fdx")
            git(clone, "restore", f"--source={commit}", "--worktree", "--", ":/")
            option = ("--worktree", "--staged")[number % 2]
            if option == "--staged":
                git(clone, "add", "-A", "-f")
            exit_here, spent, here = judge(binary, clone, out, option)
            times[option].append(spent)
            exit_there, spent, there = judge(
                binary, clone, out, "--base", parent, "--head", commit, "--out", out
            )
            times["commit"].append(spent)
            findings += sum(len(lens["findings"]) for lens in there["lensResults"])
            if exit_here != exit_there or judgement(here) != judgement(there):
                others += 1
                print(f"{commit} {option}: exit {exit_here} and {exit_there}")
        print(f"{len(commits)} changes, {findings} findings, {others} judged otherwise than the commit")
        for name, spent in times.items():
            spent.sort()
            if spent:
                middle, last = spent[len(spent) // 2], spent[-1]
                print(f"{name}: {middle:.0f} ms of processor time in the middle, {last:.0f} ms at most")
        return 1 if others else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 300))
