#!/usr/bin/env python3
"""Puts known faults into merged commits and asks whether the gate finds each one, and leaves its clean twin alone.

    recall.py [--binary FILE] [--cases N] [--count N] [--kinds NAME ...] [--seed N] [--peers NAME ...] [--json FILE]
              REPOSITORY ...

A case is a merged commit C that the preset passes, judged twice more as the change C^1...C': with a fault added, and with
what an honest author would have written in its place. A pair is right when the first does not pass and the second does.
Findings of the fault's rule at its very lines are counted apart, whether they block or advise. The faults are written as
people write them, also in ways that the lenses do not know, so that what is missed shows, and case after case in
another of four spellings: as written, over more lines, with other blanks, with other quotes or comments. Conventions are drafted before
all cases and approved as proposed; their kinds apply only where a plain count says that the repository keeps one. With
--peers other tools are given the same pairs: they are installed into a temporary directory, or skipped. Nothing is
written to the repositories; what is made up lies in a temporary one that borrows their objects.
"""

import argparse
import collections
import concurrent.futures
import functools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import quality
import recall_peers
from recall_kinds import KINDS, Tree, spellings
from recall_kinds.habits import Habits


class Lab:
    """A bare repository that borrows the objects of another one."""

    def __init__(self, options, repository):
        self.options, self.name = options, quality.name_of(repository)
        self.path = os.path.join(options.scratch, self.name.replace("/", "+") + ".git")
        subprocess.run(["git", "init", "--quiet", "--bare", self.path], check=True)
        objects = os.path.join(repository, quality.git(repository, "rev-parse", "--git-path", "objects").decode().strip())
        with open(os.path.join(self.path, "objects", "info", "alternates"), "w", encoding="utf-8") as file:
            file.write(os.path.abspath(objects) + "\n")
        self.commits = quality.commits(repository, options.count)
        self._trees, self._habits, self._conventions = {}, None, None
        self.plain = functools.lru_cache(None)(lambda base, head, preset: judge(options, self, base, head, preset))

    def tree(self, commit):
        if commit not in self._trees:
            self._trees[commit] = Tree(self.path, commit, self)
        return self._trees[commit]

    def before_all(self):
        """The commit before all that are judged, where conventions are drafted."""
        return quality.git(self.path, "rev-parse", f"{self.commits[-1]}^1").decode().strip()

    def habits(self):
        if self._habits is None:
            self._habits = Habits(self.tree(self.before_all()))
        return self._habits

    def conventions(self):
        """The rubric that is drafted before all cases, everything approved as proposed, and the policy that names it."""
        if self._conventions is None:
            place = os.path.join(self.options.scratch, self.name.replace("/", "+"))
            run = lambda *words: subprocess.run([self.options.binary, *words], capture_output=True, check=True)
            run("consistency-init", "--quiet", "--repo", self.path, "--base", self.before_all(), "--out", place)
            draft = next(os.path.join(place, name) for name in os.listdir(place) if name.endswith(".json"))
            decisions = os.path.join(place, "decisions")
            with open(decisions, "w", encoding="utf-8") as file:
                file.write('{"schemaVersion": "rubric-decisions.v1", "others": "accept"}')
            subprocess.run(["git", "init", "--quiet", os.path.join(place, "tree")], check=True)
            run("consistency-approve", "--decisions", decisions, "--repo", os.path.join(place, "tree"), draft)
            rubric = ".qa-skill/rubrics/1.json"
            with open(os.path.join(place, "tree", rubric), encoding="utf-8") as file:
                self._conventions = {rubric: file.read(), ".qa-skill/policy.toml": "[consistency]\nrubric = 1\n"}
        return self._conventions

    def changed(self, commit, edits, parent):
        """A commit with the files of another and some edits; `None` for a file that goes."""
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
                if text is None:
                    run("update-index", "-z", "--index-info", input=f"0 {'0' * 40}\t{path}\0".encode())
                    continue
                blob = run("hash-object", "-w", "--stdin", input=text.encode())
                mode = run("ls-files", "--stage", "--", f":(top,literal){path}").partition(" ")[0] or "100644"
                run("update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}")
            return run("commit-tree", run("write-tree", "--missing-ok"), "-p", parent, "-m", "case")
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


def cases(options, lab):
    """The cases of one repository: the same for everyone, out of commits that kinds share."""
    pool = random.Random(lab.name).sample(lab.commits, min(len(lab.commits), options.cases * 4))
    for kind in KINDS:
        if options.kinds and kind.name not in options.kinds and kind.group not in options.kinds:
            continue
        chance = random.Random(f"{options.seed} {lab.name} {kind.name}")
        made = 0
        for commit in chance.sample(pool, len(pool)):
            if made == options.cases:
                break
            case = kind.make(lab.tree(commit), chance)
            if case is None:
                continue
            # One spelling after the other; a case that has no other is judged as it is written.
            wanted = options.spellings[made % len(options.spellings)]
            other = spellings.spelled(case, lab.tree(commit), wanted)
            made += 1
            yield kind, commit, other or case, wanted if other else "written"


def attempt(options, lab, kind, commit, case, spelling):
    """One record for each preset that passes the commit as it is."""
    base, plain = quality.git(lab.path, "rev-parse", f"{commit}^1").decode().strip(), commit
    if case.under:
        base = lab.changed(base, case.under, base)
        plain = lab.changed(commit, case.under, base)
    heads = {side: lab.changed(plain, getattr(case, side), base) for side in ("fault", "twin")}
    records = []
    for preset in options.presets:
        before = lab.plain(base, plain, preset)
        record = {
            "repository": lab.name, "commit": commit, "kind": kind.name, "group": kind.group, "preset": preset,
            "variant": case.variant, "language": case.language, "path": case.path, "lines": sorted(case.lines),
            "spelling": spelling,
        }  # fmt: skip
        # An empty change passes nothing, and may still be given something to judge.
        if before["exit"] != 0 and before["findings"] or before["exit"] not in (0, 3):
            records.append(record | {"judged": False, "exits": [before["exit"]]})
            continue
        old = {(each["ruleId"], each["file"]) for each in before["findings"]}
        fault, twin = (judge(options, lab, base, heads[side], preset) for side in ("fault", "twin"))
        new = [each for each in fault["findings"] if each["origin"] == "introduced"]
        mine = [each for each in new if each["ruleId"] in kind.rules and (each["file"] == case.path or case.everywhere)]
        exact = [each for each in mine if case.everywhere or each["startLine"] in case.lines]
        other = [each for each in new if each not in mine and (each["ruleId"], each["file"]) not in old]
        beside = [each for each in other if each["file"] == case.path and each["startLine"] in case.lines]
        records.append(record | {
            "judged": {fault["exit"], twin["exit"]} <= {0, 1},
            "caught": fault["exit"] == 1, "quiet": twin["exit"] == 0, "found": bool(mine), "exact": bool(exact),
            "beside": beside, "extra": [each for each in other if each not in beside],
            "spoken": [each for each in twin["findings"]
                       if each["ruleId"] in kind.rules and (each["ruleId"], each["file"]) not in old],
            "twinNew": [each for each in twin["findings"] if (each["ruleId"], each["file"]) not in old],
            "exits": [fault["exit"], twin["exit"]], "heads": [base, heads["fault"], heads["twin"]],
            "at": sorted({each["startLine"] for each in mine}),
            "by": sorted({each["ruleId"] for each in new if each["blocking"]}),
            "twinBy": sorted({each["ruleId"] for each in twin["findings"] if each["blocking"]}),
        })  # fmt: skip
    return records


def share(hits, total):
    low, high = (each / 10 for each in quality.wilson(hits, total))
    return f"{hits}/{total} = {100 * hits / max(total, 1):.1f} % ({low:.1f}-{high:.1f})"


def is_right(record):
    return record["caught"] and record["quiet"]


def table(records, column, names):
    """One row for each name that a column has, and the numbers of its records."""
    out = [f"| {column} | pairs right | found by its rule | at its very line, of those found | twins spoken about | other findings at its lines | elsewhere |"]
    out.append("|---|---|---|---|---:|---:|---:|")
    for name in names:
        here = [record for record in records if name in (record[column], "all")]
        if here:
            found = [record for record in here if record["found"]]
            out.append(
                f"| {name} | {share(sum(map(is_right, here)), len(here))} | {share(len(found), len(here))} "
                f"| {share(sum(record['exact'] for record in found), len(found))} "
                f"| {sum(bool(record['spoken']) for record in here)} "
                f"| {sum(len(record['beside']) for record in here)} | {sum(len(record['extra']) for record in here)} |"
            )
    return out + [""]


def report(records, presets):
    out = []
    for preset in presets:
        asked = [record for record in records if record["preset"] == preset]
        mine = [record for record in asked if record["judged"]]
        out += [f"## Preset {preset}", "", f"{len(mine)} pairs; {len(asked) - len(mine)} more could not be judged.", ""]
        out += table(mine, "kind", [kind.name for kind in KINDS] + ["all"])
        out += table(mine, "group", dict.fromkeys(kind.group for kind in KINDS))
        out += table(mine, "language", sorted({record["language"] for record in mine}))
        out += table(mine, "spelling", spellings.NAMES)
        out += ["| not right | n |", "|---|---:|"]
        wrong = collections.Counter(
            f"{r['kind']} {r['language']} {r['spelling']} {r['variant']}: " + ("found, not blocked" if r["found"] and not r["caught"] else
            "not found" if not r["caught"] else "twin: " + " ".join(r["twinBy"]))
            for r in mine if not is_right(r)
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
    parser.add_argument("--seed", type=int, default=1, help="another one gives other cases")
    parser.add_argument("--kinds", nargs="*", default=[], help="kinds or groups of them")
    parser.add_argument("--presets", nargs="*", default=["default", "guarded"])
    parser.add_argument("--spellings", nargs="*", default=spellings.NAMES, choices=spellings.NAMES, help="in turn")
    parser.add_argument("--peers", nargs="*", default=[], choices=recall_peers.NAMES, help="tools to put beside")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", metavar="FILE", help="where every record goes")
    parser.add_argument("repositories", nargs="+", metavar="REPOSITORY")
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    records = []
    with tempfile.TemporaryDirectory() as options.scratch:
        tools = recall_peers.installed(options.peers, options.scratch) if options.peers else []
        with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
            for repository in map(os.path.abspath, options.repositories):
                lab = Lab(options, repository)
                jobs = [(case, pool.submit(attempt, options, lab, *case)) for case in cases(options, lab)]
                made = [(case, job.result()) for case, job in jobs]
                if tools:
                    recall_peers.compare(tools, lab, made, os.path.join(options.scratch, "beside", lab.name))
                records += [record for _, each in made for record in each]
                print(f"{lab.name}: {len(jobs)} cases", file=sys.stderr, flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(records, file, indent=1)
    print(report(records, options.presets), end="")
    if tools:
        print(recall_peers.report(records, options.presets), end="")


if __name__ == "__main__":
    main()
