#!/usr/bin/env python3
"""Rewrites files by formatters and asks whether the gate finds the same faults at the same tokens.

    metamorphic.py [--binary FILE] [--files N] [--seed N] [--json FILE] REPOSITORY ...

Two properties are counted, with the spellings of `tests/foreign/formatters.py`:

- Natural faults. A change adds files of a repository, those with findings first. The same files in another spelling have
  to get the same findings: by rule, and by the letters and digits of the quote and its line, since lines move.
- Reformatting. A change rewrites files that are there. It weakens nothing, so it has to get no finding.

Planted faults are those of `recall_kinds`, in the file where they stand: base and head in another spelling, and the twin
of each fault as well. Formatters are those that `scripts/foreign.sh --install-only` installs, so this runs in the Python of
`.venv`, and rustfmt, gofmt and clang-format of the PATH. Nothing is written to the repositories.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import quality
import recall
from recall_kinds import KINDS

ROOT = os.path.join(quality.HERE, "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "foreign"))
import formatters  # noqa: E402

ENDINGS = ("py", "pyi", "js", "mjs", "cjs", "jsx", "ts", "tsx", "rs", "go", "java", "rb", "sh", "cs", "c", "cc", "h")
SETTINGS = ("json", "yml", "yaml", "toml", "ini", "cfg", "xml", "coveragerc", "flake8", "pylintrc")
LARGEST = 100_000


def judge(options, lab, base, head, preset="guarded"):
    """Returns the findings of a change with their quotes, the exit code, and quotes that are not at their lines."""
    out = tempfile.mkdtemp(dir=options.scratch)
    try:
        result, runs = quality.run_gate(options.binary, lab.path, base, head, preset, out)
        record = {"exit": result.returncode, "findings": [], "defects": []}
        if len(runs) == 1:
            quality.look(record, lab.path, runs[0])
        elif result.returncode not in (0, 1):
            record["defects"].append(result.stderr.decode(errors="replace")[:300])
        return record
    finally:
        shutil.rmtree(out)


def letters(text):
    """Returns the letters and digits of a text, with its escapes decoded."""
    decode = lambda match: chr(int(match[1] or match[2] or match[3], 16))
    text = re.sub(r"\\(?:u\{([0-9A-Fa-f]+)\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))", decode, text)
    return "".join(filter(str.isalnum, text))


def is_covered(finding, texts, other, other_texts):
    """Whether another finding of the rule is at the place of one. A formatter may break the line that is quoted, and may
    put two places on one line, which then have one finding. A bracket is the place of what it holds."""
    if any(finding[name] != other[name] for name in ("file", "rule", "side", "origin")):
        return False
    mine, theirs = letters(finding["quote"]), letters(other["quote"])
    lines = (line_of(finding, texts), line_of(other, other_texts))
    return not mine or not theirs or mine in theirs or theirs in mine or mine in lines[1] or theirs in lines[0]


def line_of(finding, texts):
    lines = texts.get(finding["file"], "").split("\n") if finding["side"] == "head" else []
    return letters(lines[finding["line"] - 1]) if finding["line"] <= len(lines) else ""


def unmatched(left, left_texts, right, right_texts):
    """Returns the findings of each list that the other one lacks."""
    lost = [one for one in left if not any(is_covered(one, left_texts, other, right_texts) for other in right)]
    gained = [one for one in right if not any(is_covered(one, right_texts, other, left_texts) for other in left)]
    return lost, gained


def sampled(lab, options):
    """Returns paths with their texts: those that have findings when all files are added, then others by chance."""
    head = lab.commits[0]
    listed = quality.git(lab.path, "ls-tree", "-r", "-l", "-z", head).decode(errors="replace").split("\0")
    texts = {}
    for line in filter(None, listed):
        fields, path = line.split("\t", 1)
        mode, _, blob, size = fields.split()
        ending = path.rsplit(".", 1)[-1].lower()
        if mode.startswith("100") and int(size) <= LARGEST and ending in ENDINGS + SETTINGS:
            texts[path] = blob
    chance = random.Random(f"{options.seed} {lab.name}")
    pool = chance.sample(sorted(texts), min(len(texts), 40 * options.files))
    base = lab.changed(head, {path: None for path in pool}, head)
    record = judge(options, lab, base, lab.changed(head, {}, base))
    spoken = collections.Counter(finding["file"] for finding in record["findings"] if finding["origin"] == "introduced")
    # Settings are few and have most readers, so they have half of the rest.
    order = [path for path in pool if path in spoken][: options.files * 2 // 3]
    others = [path for path in pool if path not in order]
    settings = [path for path in others if path.rsplit(".", 1)[-1].lower() in SETTINGS]
    order += settings[: (options.files - len(order)) // 2]
    order += [path for path in others if path not in order][: options.files - len(order)]
    chosen = {}
    for path in order:
        try:
            chosen[path] = quality.git(lab.path, "cat-file", "blob", texts[path]).decode()
        except UnicodeDecodeError:
            continue
    # Formatters change the line ends that they find, and escape control characters.
    return head, {path: text for path, text in chosen.items() if not re.search("[\0-\x08\x0b-\x1f]", text)}


def by_spelling(texts, options):
    """Returns the files of each spelling."""
    cases = [{"path": path, "text": text} for path, text in texts.items()]
    spelled = formatters.rewrite_all(options.programs, options.packages, cases)
    found = collections.defaultdict(dict)
    for case, each in zip(cases, spelled):
        for name, text in each.items():
            found[name][case["path"]] = text
    return found


def in_files(record, paths):
    return [finding for finding in record["findings"] if finding["file"] in paths]


def natural(options, lab):
    """One record for each spelling of the files of a repository."""
    head, texts = sampled(lab, options)
    records = []
    for name, spelled in sorted(by_spelling(texts, options).items()):
        without = lab.changed(head, {path: None for path in spelled}, head)
        plain = judge(options, lab, without, lab.changed(without, {path: texts[path] for path in spelled}, without))
        other = judge(options, lab, without, lab.changed(without, spelled, without))
        lost, gained = unmatched(in_files(plain, spelled), texts, in_files(other, spelled), spelled)
        here = lab.changed(head, {}, head)
        again = judge(options, lab, here, lab.changed(head, spelled, here))
        records.append({
            "property": "natural", "repository": lab.name, "spelling": name, "files": len(spelled),
            "findings": in_files(plain, spelled), "lost": lost, "gained": gained,
            "exits": [plain["exit"], other["exit"], again["exit"]],
            "reformatted": [finding for finding in again["findings"] if finding["origin"] == "introduced"],
            "defects": plain["defects"] + other["defects"] + again["defects"],
        })  # fmt: skip
    return records


def planted(options, lab, kind, commit, case):
    """One record for each spelling of a file with a planted fault."""
    base = quality.git(lab.path, "rev-parse", f"{commit}^1").decode().strip()
    plain = commit
    if case.under:
        base = lab.changed(base, case.under, base)
        plain = lab.changed(commit, case.under, base)
    old = lab.text(base, case.path)
    sides = {side: getattr(case, side).get(case.path) for side in ("fault", "twin")}
    cases = [{"path": case.path, "text": text or ""} for text in (old, *sides.values())]
    olds, *news = formatters.rewrite_all(options.programs, options.packages, cases)
    records = []
    for side, spelled in zip(sides, news):
        edits = getattr(case, side)
        before = None
        for name, text in spelled.items():
            if old and name not in olds:
                continue
            before = before or judge(options, lab, base, lab.changed(plain, edits, base))
            there = lab.changed(base, {case.path: olds[name]}, base) if old else base
            after = judge(options, lab, there, lab.changed(plain, edits | {case.path: text}, there))
            mine, theirs = in_files(before, [case.path]), in_files(after, [case.path])
            lost, gained = unmatched(mine, edits, theirs, {case.path: text})
            records.append({
                "property": side, "repository": lab.name, "spelling": name, "files": 1, "kind": kind.name,
                "variant": case.variant, "commit": commit, "findings": mine,
                "lost": lost, "gained": gained, "exits": [before["exit"], after["exit"]], "reformatted": [],
                "text": text, "defects": before["defects"] + after["defects"],
            })  # fmt: skip
    return records


class Lab(recall.Lab):
    """A repository that borrows objects, with the texts of its commits."""

    def text(self, commit, path):
        result = subprocess.run(["git", "-C", self.path, "show", f"{commit}:{path}"], capture_output=True)
        return result.stdout.decode(errors="replace") if result.returncode == 0 else None


def table(records, column, values):
    """One row for each value: findings and how many of them every spelling has too."""
    out = [f"| {column} | files × spellings | findings | found in the other spelling | other findings there |"]
    out.append("|---|---:|---:|---|---:|")
    for value in values:
        mine = [record for record in records if value in (record[column], "all")]
        total = sum(len(record["findings"]) for record in mine)
        lost, gained = (sum(len(record[side]) for record in mine) for side in ("lost", "gained"))
        files = sum(record["files"] for record in mine)
        out.append(f"| {value} | {files} | {total} | {recall.share(total - lost, total)} | {gained} |")
    return out + [""]


def by_rule(records):
    counts = collections.defaultdict(lambda: [0, 0, 0])
    for record in records:
        for at, side in enumerate(("findings", "lost", "gained")):
            for finding in record[side]:
                counts[finding["rule"]][at] += 1
    out = ["| rule | findings | found in the other spelling | other findings there |", "|---|---:|---|---:|"]
    for rule, (total, lost, gained) in sorted(counts.items()):
        out.append(f"| {rule} | {total} | {recall.share(total - lost, total)} | {gained} |")
    return out + [""]


def report(records):
    out = []
    for title, properties in (("Natural faults", ["natural"]), ("Planted faults", ["fault"]), ("Their twins", ["twin"])):
        mine = [record for record in records if record["property"] in properties]
        if mine:
            out += [f"## {title}", ""]
            out += table(mine, "spelling", sorted({record["spelling"] for record in mine}) + ["all"])
            out += by_rule(mine)
    natural_records = [record for record in records if record["property"] == "natural"]
    spoken = [(record, finding) for record in natural_records for finding in record["reformatted"]]
    files = sum(record["files"] for record in natural_records)
    blocking = sum(finding["blocking"] for _, finding in spoken)
    out += ["## Reformatting", "", f"{files} rewritten files: {len(spoken)} findings, {blocking} of them block.", ""]
    counts = collections.Counter((finding["rule"], record["spelling"]) for record, finding in spoken)
    out += ["| rule | spelling | findings |", "|---|---|---:|"]
    out += [f"| {rule} | {spelling} | {count} |" for (rule, spelling), count in sorted(counts.items())] + [""]
    out += ["## Differing", ""]
    for record in records:
        place = f"{record['repository']} {record.get('commit', '')[:12]} {record.get('kind', '')} {record['spelling']}"
        for side in ("lost", "gained", "reformatted"):
            for finding in record[side]:
                out.append(f"- {side}: {place}: {finding['rule']} {finding['file']}:{finding['line']} {finding['quote'][:100]!r} ({finding['summary'][:120]})")
        out += [f"- defect: {place}: {defect}" for defect in record["defects"]]
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
    parser.add_argument("--binary", default=os.path.join(target, "release", "qa-skill"))
    parser.add_argument("--files", type=int, default=30, help="files of each repository")
    parser.add_argument("--cases", type=int, default=1, help="planted faults of each kind in each repository")
    parser.add_argument("--count", type=int, default=60, help="merged commits to plant faults in")
    parser.add_argument("--kinds", nargs="*")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--json", metavar="FILE", help="where every record goes")
    parser.add_argument("repositories", nargs="+", metavar="REPOSITORY")
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    options.packages = os.path.join(target, "foreign")
    options.programs = ":".join([os.path.dirname(sys.executable), os.path.join(options.packages, "python", "bin")])
    records = []
    with tempfile.TemporaryDirectory() as options.scratch, concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        jobs = []
        for lab in (Lab(options, os.path.abspath(path)) for path in options.repositories):
            jobs.append((lab, pool.submit(natural, options, lab)))
            for made in recall.cases(options, lab) if options.cases else ():
                jobs.append((lab, pool.submit(planted, options, lab, *made)))
        for lab, job in jobs:
            records += job.result()
            print(f"{lab.name}: {len(records)} records", file=sys.stderr, flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(records, file, indent=1)
    print(report(records), end="")


if __name__ == "__main__":
    main()
