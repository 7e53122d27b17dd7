#!/usr/bin/env python3
"""Puts known faults into merged commits and asks whether the gate finds each one, and leaves its clean twin alone.

    recall.py [--binary FILE] [--cases N] [--count N] [--kinds NAME ...] [--presets default guarded] [--json FILE] REPOSITORY ...

A case is a merged commit C that the preset passes, judged twice more as the change C^1...C': with a fault added, and with
what an honest author would have written in its place. A pair is right when the first does not pass and the second does.
Findings of the fault's rule at its very lines are counted apart, whether they block or advise. The faults are written as
people write them, also in ways that the lenses do not know, so that what is missed shows. Nothing is written to the
repositories; what is made up lies in a temporary one that borrows their objects.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import quality
from recall_kinds import KINDS, Tree

EXITS = quality.EXITS


class Lab:
    """A bare repository that borrows the objects of another one."""

    def __init__(self, repository, scratch):
        self.name = quality.name_of(repository)
        self.path = os.path.join(scratch, self.name.replace("/", "+") + ".git")
        subprocess.run(["git", "init", "--quiet", "--bare", self.path], check=True)
        objects = os.path.join(repository, quality.git(repository, "rev-parse", "--git-dir").decode().strip(), "objects")
        with open(os.path.join(self.path, "objects", "info", "alternates"), "w", encoding="utf-8") as file:
            file.write(os.path.abspath(objects) + "\n")

    def changed(self, commit, edits):
        """A commit beside `commit` with other texts, of the same parent."""
        index = os.path.join(self.path, f"index-{commit}-{random.getrandbits(64):x}")
        environment = dict(os.environ, GIT_INDEX_FILE=index, GIT_DIR=self.path)
        for name in ("AUTHOR", "COMMITTER"):
            environment |= {f"GIT_{name}_NAME": "a", f"GIT_{name}_EMAIL": "a@b", f"GIT_{name}_DATE": "1700000000 +0000"}
        run = lambda *words, **more: subprocess.run(
            ["git", *words], env=environment, capture_output=True, check=True, **more
        ).stdout.decode().strip()  # fmt: skip
        try:
            run("read-tree", commit)
            for path, text in edits.items():
                blob = run("hash-object", "-w", "--stdin", input=text.encode())
                mode = run("ls-files", "--stage", "--", f":(top,literal){path}").partition(" ")[0] or "100644"
                run("update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}")
            return run("commit-tree", run("write-tree", "--missing-ok"), "-p", f"{commit}^1", "-m", "case")
        finally:
            os.path.exists(index) and os.remove(index)


def judge(options, lab, base, head, preset):
    out = tempfile.mkdtemp(dir=options.scratch)
    try:
        result, runs = quality.run_gate(options.binary, lab.path, base, head, preset, out)
        if len(runs) != 1:
            return {"exit": result.returncode, "findings": []}
        findings = [
            {key: finding[key] for key in ("ruleId", "blocking", "origin", "file", "startLine", "endLine")}
            for lens in quality.read(runs[0], "lens-results.json")["lensResults"]
            for finding in lens["findings"]
        ]
        return {"exit": result.returncode, "findings": findings}
    finally:
        shutil.rmtree(out)


def cases(options, lab, repository):
    """The cases of one repository: spread over its newest commits, the same for everyone."""
    commits = quality.commits(repository, options.count)
    for kind in KINDS:
        if options.kinds and kind.name not in options.kinds and kind.group not in options.kinds:
            continue
        chance = random.Random(f"{lab.name} {kind.name}")
        order = chance.sample(commits, len(commits))
        made = 0
        for commit in order[: options.cases * 6]:
            if made == options.cases:
                break
            case = kind.make(Tree(repository, commit), chance)
            if case is not None:
                made += 1
                yield kind, commit, case


def attempt(options, lab, kind, commit, case):
    """One record for each preset that passes the commit as it is."""
    base = f"{commit}^1"
    base = quality.git(lab.path, "rev-parse", base).decode().strip()
    heads = {side: lab.changed(commit, case.texts(side)) for side in ("fault", "twin")}
    records = []
    for preset in options.presets:
        plain = judge(options, lab, base, commit, preset)
        if plain["exit"] != 0:
            continue
        old = {(each["ruleId"], each["file"]) for each in plain["findings"]}
        fault, twin = (judge(options, lab, base, heads[side], preset) for side in ("fault", "twin"))
        new = [each for each in fault["findings"] if each["origin"] == "introduced"]
        mine = [each for each in new if each["ruleId"] in kind.rules and each["file"] == case.path]
        exact = [each for each in mine if each["startLine"] in case.lines]
        records.append({
            "repository": lab.name, "commit": commit, "kind": kind.name, "group": kind.group, "preset": preset,
            "variant": case.variant, "language": case.language, "path": case.path, "lines": sorted(case.lines),
            "caught": fault["exit"] == 1, "quiet": twin["exit"] == 0, "found": bool(mine), "exact": bool(exact),
            "extra": sum(each not in mine and (each["ruleId"], each["file"]) not in old for each in new),
            "spoken": [each for each in twin["findings"]
                       if each["ruleId"] in kind.rules and (each["ruleId"], each["file"]) not in old],
            "exits": [fault["exit"], twin["exit"]],
            "by": sorted({each["ruleId"] for each in new if each["blocking"]}),
            "twinBy": sorted({each["ruleId"] for each in twin["findings"] if each["blocking"]}),
        })  # fmt: skip
    return records


def share(hits, total):
    low, high = (each / 10 for each in quality.wilson(hits, total))
    return f"{hits}/{total} = {100 * hits / max(total, 1):.1f} % ({low:.1f}-{high:.1f})"


def report(records, presets):
    out = []
    for preset in presets:
        mine = [record for record in records if record["preset"] == preset]
        out += [f"## Preset {preset}", "", f"{len(mine)} pairs.", ""]
        head = "| kind | pairs right | found by its rule | at its very line, of those found | twins spoken about | other findings |"
        out += [head, "|---|---|---|---|---:|---:|"]
        for name in [kind.name for kind in KINDS] + sorted({r["group"] for r in mine}) + ["all"]:
            here = [r for r in mine if name in (r["kind"], r["group"], "all")]
            if here:
                found = [r for r in here if r["found"]]
                out.append(
                    f"| {name} | {share(sum(r['caught'] and r['quiet'] for r in here), len(here))} "
                    f"| {share(len(found), len(here))} | {share(sum(r['exact'] for r in found), len(found))} "
                    f"| {sum(bool(r['spoken']) for r in here)} | {sum(r['extra'] for r in here)} |"
                )
        out += ["", "| not right | n |", "|---|---:|"]
        wrong = collections.Counter(
            f"{r['kind']} {r['language']} {r['variant']}: " + ("found, not blocked" if r["found"] and not r["caught"] else
            "not found" if not r["caught"] else "twin: " + " ".join(r["twinBy"]))
            for r in mine if not (r["caught"] and r["quiet"])
        )  # fmt: skip
        out += [f"| {quality.cell(what)} | {count} |" for what, count in sorted(wrong.items())] or ["| none | 0 |"]
        out.append("")
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(quality.HERE, "..", "target"))
    parser.add_argument("--binary", default=os.path.join(target, "release", "qa-skill"))
    parser.add_argument("--cases", type=int, default=20, help="for each kind and repository")
    parser.add_argument("--count", type=int, default=400, help="commits to choose from")
    parser.add_argument("--kinds", nargs="*", default=[], help="kinds or groups of them")
    parser.add_argument("--presets", nargs="*", default=["default", "guarded"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", metavar="FILE", help="where every record goes")
    parser.add_argument("repositories", nargs="+", metavar="REPOSITORY")
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    records = []
    with tempfile.TemporaryDirectory() as options.scratch:
        with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
            for repository in map(os.path.abspath, options.repositories):
                lab = Lab(repository, options.scratch)
                jobs = [pool.submit(attempt, options, lab, *case) for case in cases(options, lab, repository)]
                records += [record for job in jobs for record in job.result()]
                print(f"{lab.name}: {len(jobs)} cases", file=sys.stderr, flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(records, file, indent=1)
    print(report(records, options.presets), end="")


if __name__ == "__main__":
    main()
