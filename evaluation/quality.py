#!/usr/bin/env python3
"""Judges the newest merged commits of repositories and counts what the gate would have said about each.

    quality.py [--binary FILE] [--count N] [--presets default guarded] [--verify] [--json FILE] REPOSITORY ...

Every first-parent commit C that has a parent is judged as the change C^1...C. Merged commits were accepted by people, so
a block is a claim to be read: wrong, true but tolerated, or real. Checked for every run: the exit code is one that is
documented, a quote stands at its lines (`*` stands for a masked byte), no PASS without one complete look at a file. A run
that could not complete on an ordinary commit is a defect and listed. Never quote a rate from fewer than 3,000 commits.
"""

import argparse
import collections
import concurrent.futures
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EXITS = {0: "pass", 1: "fail", 3: "could not complete"}


def git(repository, *arguments):
    return subprocess.run(["git", "-C", repository, *arguments], capture_output=True, check=True).stdout


def commits(repository, count):
    listed = git(repository, "rev-list", "--first-parent", "--min-parents=1", f"--max-count={count}", "HEAD")
    return listed.decode().split()


def run_gate(binary, repository, base, head, preset, out):
    """Runs the program once: how it ended, and the run directories it left."""
    command = [binary, "run", "--repo", repository, "--base", base, "--head", head, "--preset", preset]
    command += ["--jobs", "1", "--out", out, "--format", "json", "--quiet"]
    result = subprocess.run(command, capture_output=True, timeout=600)
    runs = os.path.join(out, "runs")
    runs = [os.path.join(runs, name) for name in os.listdir(runs)] if os.path.isdir(runs) else []
    return result, [run for run in runs if os.path.isfile(os.path.join(run, "hashes.json"))]


def judge(options, repository, commit, preset):
    """One run: a record of what came out and of everything that is wrong with it."""
    out = tempfile.mkdtemp(dir=options.scratch)
    record = {"repository": name_of(repository), "commit": commit, "preset": preset, "defects": [], "findings": []}
    try:
        result, runs = run_gate(options.binary, repository, f"{commit}^1", commit, preset, out)
        record["exit"] = result.returncode
        if result.returncode not in EXITS:
            record["defects"].append(f"exit {result.returncode}: {result.stderr.decode(errors='replace')[:400]}")
        if len(runs) != 1:
            record["defects"].append(f"{len(runs)} run directories: {result.stderr.decode(errors='replace')[:400]}")
        else:
            look(record, repository, runs[0])
            if options.verify:
                verify(record, options, repository, runs[0])
    except subprocess.TimeoutExpired:
        record.update(exit=None)
        record["defects"].append("no end within ten minutes")
    finally:
        shutil.rmtree(out)
    return record


def read(run, name):
    with open(os.path.join(run, name), encoding="utf-8") as file:
        return json.load(file)


def look(record, repository, run):
    verdict, coverage = read(run, "final-verdict.json"), read(run, "coverage.json")
    files = {file["path"]: file for file in read(run, "change-set.json")["files"]}
    record["conclusion"] = verdict["conclusion"]
    record["codes"] = verdict.get("errorCodes", [])
    record["files"] = len(files)
    results = read(run, "lens-results.json")["lensResults"]
    record["codes"] += [code for result in results for code in result["errorCodes"]]
    if verdict["conclusion"] == "pass" and coverage["fullCells"] == 0:
        record["defects"].append("PASS without one complete look at a file")
    if EXITS.get(record["exit"], "").replace(" ", "_") != verdict["conclusion"]:
        record["defects"].append(f"exit {record['exit']} with {verdict['conclusion']}")
    if record["exit"] == 3 and files:
        record["defects"].append(f"could not complete: {' '.join(sorted(set(record['codes'])))}")
    blobs = {}
    for result in results:
        for finding in result["findings"]:
            evidence = finding["evidence"]
            record["findings"].append({
                "rule": finding["ruleId"], "blocking": finding["blocking"], "origin": finding["origin"],
                "file": finding["file"], "line": finding["startLine"], "scope": finding["scope"],
                "summary": finding["summary"], "quote": evidence.get("quote", ""), "side": evidence.get("side"),
            })  # fmt: skip
            fault = misquoted(repository, files.get(finding["file"]), finding, blobs)
            if fault:
                record["defects"].append(f"{finding['ruleId']} {finding['file']}:{finding['startLine']}: {fault}")


def misquoted(repository, file, finding, blobs):
    """What is wrong with a quote, read from the repository by git and not by what is measured."""
    evidence = finding["evidence"]
    quote = evidence.get("quote", "")
    if file is None:
        return "the file is not in the change"
    if not quote:
        return None
    blob = file["oldBlob"] if evidence.get("side") == "base" else file["newBlob"]
    if blob is None:
        return "the side quoted does not exist"
    if blob not in blobs:
        text = git(repository, "cat-file", "blob", blob)
        encoding = "utf-16" if text[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
        blobs[blob] = text.decode(encoding, errors="replace").split("\n")
    lines = blobs[blob][finding["startLine"] - 1 : finding["endLine"]]
    return None if any(stands_in(quote, line) for line in lines) else f"the quote {quote[:80]!r} is not there"


def stands_in(quote, line):
    if quote in line:
        return True
    # Characters that would act on a terminal are shown escaped, and secrets are masked byte for byte.
    if "\\u{" in quote:
        shown = "".join(each if each.isprintable() or each == "\t" else f"\\u{{{ord(each):x}}}" for each in line)
        return quote in shown or quote.lower() in shown.lower()
    mask, text = quote.encode(), line.encode()
    return b"*" in mask and any(
        all(want == 0x2A or want == have for want, have in zip(mask, text[at : at + len(mask)]))
        for at in range(len(text) - len(mask) + 1)
    )


def verify(record, options, repository, run):
    for extra in ([], ["--repo", repository]):
        result = subprocess.run([options.binary, "verify", run, *extra], capture_output=True, timeout=600)
        if result.returncode != 0:
            text = result.stderr.decode(errors="replace")[:400]
            record["defects"].append(f"verify {' '.join(extra[:1])} gave {result.returncode}: {text}")


def name_of(repository):
    path = os.path.abspath(repository)
    path = os.path.dirname(path) if os.path.basename(path) in ("repo", ".git") else path
    return os.path.basename(path).replace("+", "/")


def wilson(hits, total):
    """The 95 % Wilson interval of a rate, per 1,000."""
    if total == 0:
        return 0.0, 0.0
    z, rate = 1.959964, hits / total
    middle = rate + z * z / (2 * total)
    spread = z * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total * total))
    scale = 1000 / (1 + z * z / total)
    return max(0.0, (middle - spread) * scale), (middle + spread) * scale


def rate(hits, total):
    low, high = wilson(hits, total)
    return f"{hits * 1000 / max(total, 1):.1f} ({low:.1f}-{high:.1f})"


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def report(records, presets):
    out = []
    for preset in presets:
        mine = [record for record in records if record["preset"] == preset]
        total = len(mine)
        blocked = [record for record in mine if any(finding["blocking"] for finding in record["findings"])]
        advisory = [sum(not f["blocking"] and f["origin"] == "introduced" for f in r["findings"]) for r in mine]
        out += [f"## Preset {preset}", "", f"{total} commits; exits: " + ", ".join(
            f"{EXITS.get(code, code)} {count}" for code, count in sorted(
                collections.Counter(record["exit"] for record in mine).items(), key=str)), ""]  # fmt: skip
        out += [f"Blocked {len(blocked)}: {rate(len(blocked), total)} per 1,000. Advisory findings per commit: mean "
                f"{statistics.mean(advisory or [0]):.3f}, median {statistics.median(advisory or [0]):.0f}.", ""]  # fmt: skip
        out += ["| repository | commits | blocked | advised |", "|---|---:|---:|---:|"]
        for name in sorted({record["repository"] for record in mine}):
            here = [record for record in mine if record["repository"] == name]
            stops = sum(record in blocked for record in here)
            advised = sum(any(not f["blocking"] and f["origin"] == "introduced" for f in r["findings"]) for r in here)
            out.append(f"| {name} | {len(here)} | {stops} | {advised} |")
        out += ["", "| rule | commits blocked, per 1,000 | commits advised, per 1,000 | findings |", "|---|---:|---:|---:|"]
        for rule in sorted({f["rule"] for r in mine for f in r["findings"]}):
            has = lambda record, blocking: any(
                f["rule"] == rule and f["blocking"] == blocking and f["origin"] == "introduced" for f in record["findings"]
            )
            stops, advised = (sum(has(record, flag) for record in mine) for flag in (True, False))
            findings = sum(f["rule"] == rule for r in mine for f in r["findings"])
            out.append(f"| {rule} | {stops}: {rate(stops, total)} | {advised}: {rate(advised, total)} | {findings} |")
        out += ["", "| blocked commit | rule | place | summary | quote |", "|---|---|---|---|---|"]
        for record in blocked:
            for finding in (finding for finding in record["findings"] if finding["blocking"]):
                out.append("| " + " | ".join(map(cell, [
                    f"{record['repository']} {record['commit'][:12]}", finding["rule"],
                    f"{finding['file']}:{finding['line']}", finding["summary"], finding["quote"][:80],
                ])) + " |")  # fmt: skip
        out.append("")
    out += ["## Defects", ""]
    defects = [(record, defect) for record in records for defect in record["defects"]]
    out += [f"- {r['repository']} {r['commit'][:12]} {r['preset']}: {defect}" for r, defect in defects] or ["none"]
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(HERE, "..", "target"))
    parser.add_argument("--binary", default=os.path.join(target, "release", "qa-skill"))
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--presets", nargs="*", default=["default", "guarded"])
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--scratch", metavar="DIR", help="where run directories are written for a moment")
    parser.add_argument("--json", metavar="FILE", help="where every record goes")
    parser.add_argument("repositories", nargs="+", metavar="REPOSITORY")
    options = parser.parse_args()
    options.binary = os.path.abspath(options.binary)
    work = [
        (options, repository, commit, preset)
        for repository in map(os.path.abspath, options.repositories)
        for commit in commits(repository, options.count)
        for preset in options.presets
    ]
    records = []
    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        for record in pool.map(lambda item: judge(*item), work):
            records.append(record)
            if len(records) % 200 == 0:
                print(f"{len(records)} of {len(work)} runs", file=sys.stderr, flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(records, file, indent=1)
    print(report(records, options.presets), end="")
    return 1 if any(record["defects"] for record in records) else 0


if __name__ == "__main__":
    sys.exit(main())
