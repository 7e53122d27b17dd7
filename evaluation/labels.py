#!/usr/bin/env python3
"""Holds the rules about workflows against the labels of another tool's own tests.

Takes a checkout (or a bare copy) of zizmor, reads which findings its tests expect in which of its inputs, gives each
input to qa-skill as an added workflow, and counts per rule how many labels it finds: at a line that the label marks, or
within five lines of its first. Inputs where the tests expect nothing are counted apart. Nothing of that checkout is kept.

Usage: evaluation/labels.py --binary target/release/qa-skill CHECKOUT
"""

import argparse
import collections
import json
import os
import re
import subprocess
import tempfile

TESTS = "crates/zizmor/tests/integration"
LABEL = re.compile(r"^\s*(?:error|warning|help|info)\[([\w-]+)\]", re.M)
PLACE = re.compile(r"-->\s*@@INPUT@@:(\d+):\d+")
# A numbered line that is underlined below, or that is inside of a mark over several lines.
MARKED = re.compile(r"^\s*(\d+) \|(?: [/|] .*| [^\n]*\n\s*\|[ |]*[\^-].*)$", re.M)
INPUT = re.compile(r'input_under_test\(\s*"([^"]+\.ya?ml)"\s*,?\s*\)')
# What the two tools say in other words; labels of other rules are left out.
SAME = {
    "artipacked": {"credentials-in-artifact", "persisted-credentials"},
    "cache-poisoning": {"cache-poisoning"},
    "dangerous-triggers": {"privileged-trigger", "untrusted-checkout", "unvetted-checkout"},
    "excessive-permissions": {"broad-permissions", "default-permissions", "excessive-permissions"},
    "secrets-inherit": {"secrets-inherited"},
    "self-hosted-runner": {"self-hosted-runner"},
    "template-injection": {"expression-in-script", "script-injection"},
    "unpinned-images": {"unpinned-action", "unpinned-image"},
    "unpinned-uses": {"first-party-by-name", "pin-loosened", "unpinned-action"},
}
NEAR = 5


def git(checkout, *arguments):
    return subprocess.run(["git", "-C", checkout, *arguments], check=True, capture_output=True).stdout.decode()


def labels(checkout):
    """Each input with the findings that a test expects there: rule and line. The same input may be in several tests."""
    expected, quiet = collections.defaultdict(set), set()
    names = git(checkout, "ls-tree", "-r", "--name-only", "HEAD", TESTS + "/audit").split()
    for name in names:
        text = git(checkout, "show", f"HEAD:{name}")
        for test in re.split(r"^#\[test\]|^fn |^    #\[test\]", text, flags=re.M):
            for call in re.split(r"assert_snapshot!", test)[1:]:
                inputs = set(INPUT.findall(call))
                if len(inputs) != 1:
                    continue
                (path,) = inputs
                if "No findings to report" in call:
                    quiet.add(path)
                parts = LABEL.split(call)
                for rule, rest in zip(parts[1::2], parts[2::2]):
                    place = PLACE.search(rest)
                    if place:
                        marked = {int(place[1]), *map(int, MARKED.findall(rest))}
                        expected[path].add((rule, int(place[1]), frozenset(marked)))
    return expected, quiet - set(expected)


def judged(binary, text, path):
    """The findings on a file that a change adds: rule and lines."""
    with tempfile.TemporaryDirectory() as top:
        repo, out = os.path.join(top, "repo"), os.path.join(top, "out")
        run = lambda *arguments: subprocess.run(
            ["git", "-C", repo, "-c", "user.name=n", "-c", "user.email=n@example.com", *arguments], check=True, capture_output=True
        )
        subprocess.run(["git", "init", "-q", "-b", "main", repo], check=True)
        run("commit", "-q", "--allow-empty", "-m", "base")
        run("checkout", "-q", "-b", "topic")
        action = re.search(r"^runs:", text, re.M) is not None
        place = ".github/actions/a/action.yml" if action else ".github/workflows/" + os.path.basename(path)
        os.makedirs(os.path.join(repo, os.path.dirname(place)))
        with open(os.path.join(repo, place), "w", encoding="utf-8") as file:
            file.write(text)
        run("add", "-A")
        run("commit", "-q", "-m", "head")
        command = [binary, "run", "--repo", repo, "--base", "main", "--head", "topic", "--out", out, "--quiet",
                   "--preset", "guarded", "--lens", "workflow-hardening", "--lens", "workflow-conventions",
                   "--format", "json"]  # fmt: skip
        result = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
    found = [finding for lens in result["lensResults"] for finding in lens["findings"]]
    return [(finding["ruleId"], finding["startLine"], finding["endLine"]) for finding in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--show", action="store_true", help="list what was missed, and what was said where nothing is expected")
    parser.add_argument("checkout")
    arguments = parser.parse_args()
    expected, quiet = labels(arguments.checkout)
    rules = collections.defaultdict(collections.Counter)
    for path in sorted(set(expected) | quiet):
        try:
            text = git(arguments.checkout, "show", f"HEAD:{TESTS}/test-data/{path}")
        except subprocess.CalledProcessError:
            continue
        found = judged(arguments.binary, text, path)
        if path in quiet:
            rules["(nothing expected)"].update(inputs=1, said=bool(found))
            if found and arguments.show:
                print(f"quiet {path}: {sorted(found)}")
        for rule, line, marked in sorted((each for each in expected.get(path, ()) if each[0] in SAME), key=lambda e: e[:2]):
            own = [(start, end) for name, start, end in found if name.split("/")[1] in SAME[rule]]
            at = any(start <= each <= end for start, end in own for each in marked)
            near = at or any(start - NEAR <= line <= end + NEAR for start, end in own)
            rules[rule].update(labels=1, at=at, near=near)
            if not near and arguments.show:
                print(f"missed {rule} {path}:{line}")
    print(f"{'rule':<28} labels  at the line  within {NEAR} lines")
    for rule, counts in sorted(rules.items(), key=lambda item: -item[1]["labels"]):
        if counts["labels"]:
            print(f"{rule:<28} {counts['labels']:>6}  {counts['at']:>11}  {counts['near']:>13}")
    silent = rules["(nothing expected)"]
    print(f"inputs where nothing is expected: {silent['inputs']}, with a finding: {silent['said']}")


if __name__ == "__main__":
    main()
